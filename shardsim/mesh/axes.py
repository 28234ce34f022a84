"""Mesh axes, and the mesh: which chip stands where along each axis."""

from __future__ import annotations

import difflib
import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from shardsim.errors import MeshError, Place
from shardsim.mesh.cutting import cut_parts, spanned
from shardsim.mesh.group import Group
from shardsim.notation.subaxes import SubAxis, sub_axis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardsim.mesh.segments import Segment
    from shardsim.topology import Coordinate, Topology

__all__ = ["Axis", "Mesh", "Seat"]

Seat = tuple[int, ...]
"""Where a chip stands along each part of the mesh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One mesh axis: its size, and the rings, lines and switches under it, major first.

    An axis of size 1 has none.

    Attributes:
        name: As in the notation.
        size: Chips along it.
        parts: The parts of dimensions under it, as they were laid.
        segments: The same as a collective along it finds them: parts of one dimension that belong
            together are one, and a ring that lost a link is a line.
    """

    name: str
    size: int
    parts: tuple[Segment, ...] = ()
    segments: tuple[Segment, ...] = ()

    @property
    def where(self) -> str:
        """What it lies on, for people: `x`, or `x and y`."""
        return " and ".join(segment.name for segment in self.segments)

    @property
    def reason(self) -> str:
        """Why each segment is a ring or a line."""
        if not self.segments:
            return "1 chip: no link"
        if len(self.segments) == 1:
            return self.segments[0].reason
        return "; ".join(f"{part.name}: {part.reason}" for part in self.segments)


@dataclass(frozen=True, kw_only=True)
class Mesh:
    """Axes in order (major first) over a topology.

    Attributes:
        topology: The chips.
        axes: Their parts, in order, are those of a seat.
        order: The chips in row-major order of the axes, where somebody gave one; else each segment
            is a part of a dimension.
    """

    topology: Topology
    axes: tuple[Axis, ...]
    order: tuple[Coordinate, ...] | None = None

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Axis name to size, in order."""
        return {axis.name: axis.size for axis in self.axes}

    @cached_property
    def parts(self) -> tuple[Segment, ...]:
        """The parts of all axes, in order."""
        return tuple(part for axis in self.axes for part in axis.parts)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The segments of all axes, in order."""
        return tuple(segment for axis in self.axes for segment in axis.segments)

    @cached_property
    def _spans(self) -> dict[str, tuple[int, int]]:
        """Which parts are an axis's: from, to."""
        spans, start = {}, 0
        for axis in self.axes:
            spans[axis.name] = (start, start + len(axis.parts))
            start += len(axis.parts)
        return spans

    @cached_property
    def _by_name(self) -> dict[str, Axis]:
        return {axis.name: axis for axis in self.axes}

    def axis(self, name: str, place: Place | None = None) -> Axis:
        """The axis of that name, or the part of one: `X:(1)2` is the major half of X=4.

        Raises:
            MeshError: there is none; the message lists the axes.
        """
        if name in self._by_name:
            return self._by_name[name]
        part = sub_axis(name)
        if part is not None:
            return self._part(part, place)
        names = list(self.sizes)
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        near = near or [known for known in names if known.lower() == name.lower()]
        hint = f"did you mean {near[0]}?" if near else f"add {name}=SIZE to the mesh"
        raise MeshError(
            f"axis {name} is not in the mesh; the mesh has {', '.join(names)}", hint, place
        )

    def _part(self, part: SubAxis, place: Place | None) -> Axis:
        """A part of an axis, as an axis of its own."""
        whole = self.axis(part.axis, place)
        if whole.size % (part.before * part.size):
            raise MeshError(
                f"{part} is no part of {whole.name}={whole.size}",
                f"the parts before it times its own size must divide {whole.size}: "
                f"{whole.name}:(1)2 is the outer half of an even axis",
                place,
            )
        if cut_parts(whole.parts, self.topology, [part]) is None:
            sizes = " x ".join(str(p.size) for p in whole.parts)
            raise MeshError(
                f"{part} cuts across the parts that {whole.name}={whole.size} lies on ({sizes})",
                "take whole parts, or parts of one of them",
                place,
            )
        name = str(part)
        self._by_name[name] = Axis(name=name, size=part.size)
        segments = self.group((name,)).segments
        self._by_name[name] = Axis(name=name, size=part.size, segments=segments)
        return self._by_name[name]

    @cached_property
    def axes_on(self) -> Mapping[int, str]:
        """The axes that lie on each dimension, by index: `X`, or `X/Y` where several share it."""
        names: dict[int, list[str]] = {}
        for axis in self.axes:
            for segment in axis.segments:
                if segment.dimension is not None:
                    names.setdefault(segment.dimension, []).append(axis.name)
        return {index: "/".join(dict.fromkeys(on)) for index, on in names.items()}

    @cached_property
    def seats(self) -> Mapping[Coordinate, Seat]:
        """Where each chip stands along each part."""
        if self.order is not None:
            seats = itertools.product(*(range(part.size) for part in self.parts))
            return dict(zip(self.order, seats, strict=True))
        parts = [(s.dimension or 0, s.spacing, s.size) for s in self.parts]
        return {
            chip: tuple(chip[index] // spacing % size for index, spacing, size in parts)
            for chip in self.topology.coordinates()
        }

    @cached_property
    def chips(self) -> Mapping[Seat, Coordinate]:
        """The chip at each seat."""
        return {seat: chip for chip, seat in self.seats.items()}

    def position(self, chip: Coordinate, name: str) -> int:
        """Where a chip stands along an axis, or along a part of one."""
        part = sub_axis(name)
        if part is not None:
            after = self.axis(part.axis).size // (part.before * part.size)
            return self.position(chip, part.axis) // after % part.size
        start, end = self._spans.get(name, (0, 0))
        seat, position = self.seats[chip], 0
        for index in range(start, end):
            position = position * self.parts[index].size + seat[index]
        return position

    def group(self, names: tuple[str, ...]) -> Group:
        """The groups of chips that differ along some axes only, for one collective over them."""
        if names not in self._groups:
            parts = [part for part in map(sub_axis, names) if part is not None]
            finer = self._cut(parts) if parts else self
            self._groups[names] = Group(finer, names, finer.picked(names))
        return self._groups[names]

    def picked(self, names: tuple[str, ...]) -> tuple[int, ...]:
        """The indices of the parts under some axes, which parts of axes do not cut."""
        picked: list[int] = []
        for name in names:
            part = sub_axis(name)
            start, end = self._spans[name if part is None else part.axis]
            if part is not None:
                first, last = spanned(self.parts[start:end], part)
                start, end = start + first, start + last
            picked += range(start, end)
        return tuple(picked)

    def _cut(self, parts: Sequence[SubAxis]) -> Mesh:
        """The same mesh, the parts of its axes cut where those of the sub-axes begin and end."""
        axes = []
        for axis in self.axes:
            mine = [part for part in parts if part.axis == axis.name]
            cut = cut_parts(axis.parts, self.topology, mine)
            assert cut is not None
            axes.append(replace(axis, parts=cut))
        return Mesh(topology=self.topology, axes=tuple(axes), order=self.order)

    @cached_property
    def _groups(self) -> dict[tuple[str, ...], Group]:
        return {}

    def ways(self, names: tuple[str, ...]) -> int:
        """How many chips some axes tell apart."""
        return math.prod(self.axis(name).size for name in names)
