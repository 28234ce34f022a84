"""The axes that a plan moves one by one: whole mesh axes, or parts of them.

A plan may cut a dimension over half an axis. Which parts an axis has is decided once for a
statement: those that its arrays name, and all prime parts while there are few altogether.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardsim.errors import PlanError
from shardsim.notation.subaxes import SubAxis, sub_axis

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shardsim.mesh import Mesh

__all__ = ["MOST_ATOMS", "Atoms"]

MOST_ATOMS = 3
"""With more, axes are not cut further, and turning points are not planned anew: either would take
too long."""
MANY = 4
"""With more, permutes are not looked for, and contractions follow the four rules."""
MOST_IN_PLAY = 5
"""With more axes, or parts that arrays name, there is no search at all."""


@dataclass(frozen=True)
class Atoms:
    """The parts of some axes.

    Attributes:
        names: Of all atoms: axes in the order of the mesh, the parts of one major first. An axis
            in one part has its own name.
        sizes: Chips along each.
        parts: The atoms of each axis.
    """

    names: tuple[str, ...]
    sizes: Mapping[str, int]
    parts: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, mesh: Mesh, named: Iterable[str], *, cut: bool) -> Atoms:
        """The atoms of the axes among `named`, which may be parts of axes too.

        Args:
            mesh: Where.
            named: As they stand in arrays.
            cut: Whether to cut axes into prime parts, where few parts come of it.
        """
        bounds: dict[str, set[int]] = {}
        for name in named:
            part = sub_axis(name)
            inner = bounds.setdefault(name if part is None else part.axis, set())
            if part is not None:
                inner |= {part.before, part.before * part.size}
        axes = [name for name, size in mesh.sizes.items() if name in bounds and size > 1]
        coarse = {name: _bounds(name, mesh.sizes[name], bounds[name]) for name in axes}
        fine = {name: _refined(coarse[name]) for name in axes}
        count = sum(len(ends) - 1 for ends in coarse.values())
        if count > MOST_IN_PLAY:
            raise PlanError(
                f"{count} axes, or parts of axes, are in play here; plans are looked for over "
                f"{MOST_IN_PLAY} at most",
                "make one axis of those that always stand together, such as X=4 of two of 2",
            )
        few = sum(len(ends) - 1 for ends in fine.values()) <= MOST_ATOMS
        regular = mesh.order is None and mesh.topology.is_regular
        chosen = fine if cut and few and regular else coarse
        if chosen is fine:
            chosen = {
                name: fine[name] if _fits(mesh, name, fine[name]) else coarse[name] for name in axes
            }
        parts = {name: _parts(name, chosen[name]) for name in axes}
        sizes = {
            atom: high // low
            for name in axes
            for atom, low, high in zip(parts[name], chosen[name], chosen[name][1:], strict=False)
        }
        return cls(tuple(sizes), sizes, parts)

    @property
    def are_many(self) -> bool:
        """Whether there are so many that not all that could be done with them is looked for."""
        return len(self.names) > MANY

    def split(self, axes: Sequence[str]) -> tuple[str, ...]:
        """Axes, or parts of them, as atoms; those of size 1 are left out."""
        found: list[str] = []
        for name in axes:
            part = sub_axis(name)
            if part is None:
                found += self.parts.get(name, ())
            else:
                found += self._within(part)
        return tuple(found)

    def _within(self, part: SubAxis) -> Iterable[str]:
        before = 1
        for atom in self.parts[part.axis]:
            if part.before <= before < part.before * part.size:
                yield atom
            before *= self.sizes[atom]

    def joined(self, atoms: Sequence[str]) -> tuple[str, ...]:
        """Atoms as they are written: neighbours that make up an axis, or a part of one, as one.

        >>> from shardsim.scenario import make_mesh
        >>> atoms = Atoms.of(make_mesh("v5e:4x2"), ("X", "Y"), cut=True)
        >>> atoms.joined(("X:(1)2", "X:(2)2", "Y")), atoms.joined(("X:(2)2", "Y"))
        (('X', 'Y'), ('X:(2)2', 'Y'))
        """
        joined: list[SubAxis | str] = []
        for atom in atoms:
            part = sub_axis(atom)
            last = joined[-1] if joined else None
            if part is None:
                joined.append(atom)
            elif (
                isinstance(last, SubAxis)
                and last.axis == part.axis
                and last.before * last.size == part.before
            ):
                joined[-1] = SubAxis(part.axis, last.before, last.size * part.size)
            else:
                joined.append(part)
        return tuple(self._named(one) for one in joined)

    def _named(self, one: SubAxis | str) -> str:
        if isinstance(one, str):
            return one
        whole = math.prod(self.sizes[atom] for atom in self.parts[one.axis])
        return one.axis if one.size == whole else str(one)

    def in_order(self, atoms: Iterable[str]) -> tuple[str, ...]:
        """Some atoms in the order of the mesh."""
        chosen = set(atoms)
        return tuple(name for name in self.names if name in chosen)

    def ways(self, atoms: Iterable[str]) -> int:
        """How many chips some atoms tell apart."""
        return math.prod(self.sizes[atom] for atom in atoms)


def _bounds(axis: str, size: int, inner: set[int]) -> tuple[int, ...]:
    """Where the parts of an axis begin and end, in chips that are told apart before."""
    ends = tuple(sorted({1, size, *inner}))
    for low, high in itertools.pairwise(ends):
        if high % low:
            raise PlanError(
                f"parts of {axis}={size} begin or end at {low} and at {high}, and {low} does not "
                f"divide {high}: no way to cut {axis} has both",
                f"take parts of one way to cut it: {axis}:(1){low} and {axis}:({low})"
                f"{size // low}, or {axis}:(1){high} and {axis}:({high}){size // high}",
            )
    return ends


def _refined(bounds: tuple[int, ...]) -> tuple[int, ...]:
    """All parts cut into primes, large ones first."""
    ends = [1]
    for low, high in itertools.pairwise(bounds):
        rest = high // low
        factors = []
        divisor = 2
        while rest > 1:
            while rest % divisor == 0:
                factors.append(divisor)
                rest //= divisor
            divisor += 1
        for factor in reversed(factors):
            ends.append(ends[-1] * factor)
    return tuple(ends)


def _fits(mesh: Mesh, axis: str, ends: tuple[int, ...]) -> bool:
    """Whether the parts do not cut across the dimensions that the axis lies on."""
    from shardsim.mesh.cutting import cut_parts

    wanted = [SubAxis(axis, low, high // low) for low, high in itertools.pairwise(ends)]
    return cut_parts(mesh.axis(axis).parts, mesh.topology, wanted) is not None


def _parts(axis: str, ends: tuple[int, ...]) -> tuple[str, ...]:
    if len(ends) == 2:
        return (axis,)
    return tuple(str(SubAxis(axis, low, high // low)) for low, high in itertools.pairwise(ends))
