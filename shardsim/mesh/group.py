"""The chips that take part together in a collective over some mesh axes, and the ways between them.

Groups of the same axes run side by side: every chip is in exactly one. A chip's place in its group
is its position along each segment. Parts of one dimension that make up the whole again are one
segment of a group: a ring of 16 cut in 4 x 4 is a ring again for a collective over both axes.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from shardsim.hardware import Link
from shardsim.mesh.segments import Crossing, Segment, piece_of
from shardsim.timeline import LinkDirection, Port
from shardsim.vocabulary import DimensionKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shardsim.mesh.axes import Mesh
    from shardsim.topology import Coordinate, Hop

__all__ = ["Group", "Place"]

Place = tuple[int, ...]
"""Where a chip stands along each segment of its group."""


class Group:
    """All groups of chips that differ along some axes only.

    Attributes:
        mesh: Where.
        axes: The axes, major first: shards are numbered in this order.
        segments: The rings, lines and switches under them.
    """

    def __init__(self, mesh: Mesh, axes: tuple[str, ...], picked: tuple[int, ...]) -> None:
        self.mesh = mesh
        self.axes = axes
        joined = _joined(mesh, picked)
        self._parts = tuple(parts for parts, _ in joined)
        self._starts: dict[tuple[int, Coordinate], int] = {}
        segments = [segment for _, segment in joined]
        self.segments: tuple[Segment, ...] = tuple(segments)
        if mesh.order is not None or not mesh.topology.is_regular:
            for index in range(len(segments)):
                segments[index] = self._as_it_lies(index)
            self.segments = tuple(segments)

    @cached_property
    def size(self) -> int:
        """Chips in one group."""
        return math.prod(segment.size for segment in self.segments)

    @cached_property
    def shape(self) -> tuple[tuple[int, DimensionKind], ...]:
        """Size and kind of each segment: all that a step program needs to know."""
        return tuple((segment.size, segment.kind) for segment in self.segments)

    @cached_property
    def is_physical(self) -> bool:
        """Whether every step is one link that no other step uses."""
        return all(segment.is_physical for segment in self.segments)

    @cached_property
    def _places(self) -> Mapping[Coordinate, Place]:
        segments = self.mesh.segments
        places = {}
        for chip, seat in self.mesh.seats.items():
            place = []
            for parts in self._parts:
                position = 0
                for part in parts:
                    position = position * segments[part].size + seat[part]
                place.append(position)
            places[chip] = tuple(place)
        return places

    @property
    def chips(self) -> Iterable[Coordinate]:
        """All chips of all groups."""
        return self._places

    def __contains__(self, chip: Coordinate) -> bool:
        return chip in self._places

    def place(self, chip: Coordinate) -> Place:
        """Where a chip stands along each segment."""
        return self._places[chip]

    def rank(self, chip: Coordinate) -> Place:
        """As `place`, but along a ring that lost its link between two chips, from there on."""
        place = self.place(chip)
        if not self._starts:
            return place
        return tuple(
            (at - self._starts.get((index, chip), 0)) % segment.size
            for index, (at, segment) in enumerate(zip(place, self.segments, strict=True))
        )

    def number(self, chip: Coordinate) -> int:
        """The number of a chip's shard: its position along the axes, major first."""
        number = 0
        for name in self.axes:
            number = number * self.mesh.axis(name).size + self.mesh.position(chip, name)
        return number

    @cached_property
    def instances(self) -> tuple[tuple[Coordinate, ...], ...]:
        """The chips of each group, by number."""
        mine = {index for parts in self._parts for index in parts}
        groups: dict[tuple[int, ...], list[Coordinate]] = {}
        for chip, seat in self.mesh.seats.items():
            key = tuple(at for index, at in enumerate(seat) if index not in mine)
            groups.setdefault(key, []).append(chip)
        return tuple(tuple(sorted(chips, key=self.number)) for chips in groups.values())

    def root_place(self, number: int) -> Place:
        """The place (`rank`) of the chip with a number in its group."""
        return self.rank(self.instances[0][number])

    def peer(self, chip: Coordinate, segment: int, offset: int) -> Coordinate:
        """The chip so many steps up along a segment, round the end."""
        seat = list(self.mesh.seats[chip])
        position = (self.place(chip)[segment] + offset) % self.segments[segment].size
        for part in reversed(self._parts[segment]):
            position, seat[part] = divmod(position, self.mesh.segments[part].size)
        return self.mesh.chips[tuple(seat)]

    def route(self, chip: Coordinate, segment: int, offset: int) -> tuple[Hop, ...]:
        """The hops of a message to the chip so many steps up (down, where negative).

        On a ring it goes the way of the sign; on a line it goes straight; a switch is one hop.
        """
        there = self.peer(chip, segment, offset)
        topology, part = self.mesh.topology, self.segments[segment]
        if part.dimension is None:
            return topology.route(chip, there)
        if part.kind is DimensionKind.SWITCH:
            hop = topology.through_switch(chip, part.dimension, there)
            return (hop,) if hop is not None else topology.route(chip, there)
        if part.kind is DimensionKind.LINE:
            rank = self.rank(chip)[segment]
            offset = (rank + offset) % part.size - rank
        hops, here = [], chip
        for _ in range(abs(offset) * part.stride):
            step = topology.hop(here, (part.dimension, 1 if offset > 0 else -1))
            if step is None:
                return topology.route(chip, there)
            hops.append(step)
            here = step.to
        return tuple(hops)

    def _as_it_lies(self, index: int) -> Segment:
        """A segment with the crossings of its links, on a machine that is not regular."""
        segment = self.segments[index]
        if segment.kind is DimensionKind.SWITCH:
            return self._with_crossings(index, segment)
        if segment.dimension is not None and segment.kind is DimensionKind.RING:
            segment = self._cut(index, segment)
        elif segment.dimension is None:
            segment = self._ordered(index, segment)
        self.segments = (*self.segments[:index], segment, *self.segments[index + 1 :])
        return self._with_crossings(index, segment)

    def _cut(self, index: int, segment: Segment) -> Segment:
        """A ring that lost a link is a line from there on; so are its sisters in other groups."""
        gaps: dict[Coordinate, Coordinate] = {}
        for chip in self._places:
            after = self.peer(chip, index, +1)
            there, back = self.route(chip, index, +1), self.route(after, index, -1)
            if max(len(there), len(back)) > segment.stride:
                gaps[chip] = after
        if not gaps:
            return segment
        for chip, after in gaps.items():
            start = self.place(after)[index]
            for offset in range(segment.size):
                self._starts[index, self.peer(chip, index, offset)] = start
        chip, after = next(iter(gaps.items()))
        why = f"the link between chips {chip} and {after} is missing, so the ring is a line"
        return replace(segment, kind=DimensionKind.LINE, reason=why)

    def _ordered(self, index: int, segment: Segment) -> Segment:
        """An order of chips: a ring or a line where neighbours in it are neighbours in the grid."""
        ring, line = True, True
        used: set[object] = set()
        far: tuple[Coordinate, Coordinate] | None = None
        for chip in self._places:
            for offset in (+1, -1):
                hops = self.route(chip, index, offset)
                first = hops[0].tracks if hops else ()
                fits = len(hops) == 1 and first not in used
                used.add(first)
                at = self.place(chip)[index] + offset
                if not fits and 0 <= at < segment.size:
                    line, far = False, far or (chip, self.peer(chip, index, offset))
                ring = ring and fits
        if segment.size == 2:
            ring = False
        if ring:
            kind, why = DimensionKind.RING, "in the order given each chip is next to the one before"
        elif line:
            kind = DimensionKind.LINE
            why = "in the order given neighbours are linked, and the last is not next to the first"
        else:
            assert far is not None
            kind = DimensionKind.RING
            why = f"NOT A PHYSICAL RING: chips {far[0]} and {far[1]} follow each other "
            why += "in the order given, and have no link of their own"
        return replace(segment, kind=kind, reason=why)

    def _with_crossings(self, index: int, segment: Segment) -> Segment:
        """Counts what each link carries when all chips take a step up, and one down."""
        ups: dict[LinkDirection | Port, int] = {}
        downs: dict[LinkDirection | Port, int] = {}
        links: dict[LinkDirection | Port, Link] = {}
        farthest = 0
        for chip, rank in ((chip, self.rank(chip)[index]) for chip in self._places):
            for offset, counts in ((+1, ups), (-1, downs)):
                on_line = segment.kind is DimensionKind.LINE
                if on_line and not 0 <= rank + offset < segment.size:
                    continue
                hops = self.route(chip, index, offset)
                farthest = max(farthest, len(hops))
                for hop in hops:
                    for track in hop.tracks:
                        counts[track] = counts.get(track, 0) + 1
                        links[track] = hop.link
        found = {
            Crossing(ups.get(track, 0), downs.get(track, 0), link) for track, link in links.items()
        }
        plain = {Crossing(1, 0, segment.link), Crossing(0, 1, segment.link)}
        plain |= {Crossing(1, 1, segment.link)} if segment.kind is DimensionKind.SWITCH else set()
        if found <= plain and farthest == segment.stride == 1:
            return segment
        ordered = sorted(found, key=lambda c: (c.up, c.down, -c.link.one_way_bandwidth))
        chips: dict[Coordinate, list[int]] = {}
        for track in links:
            if track.direction > 0 or not isinstance(track, Port):
                sent = chips.setdefault(track.chip, [0, 0])
                sent[0] += ups.get(track, 0)
                sent[1] += downs.get(track, 0)
        leaving = tuple(sorted({(up, down) for up, down in chips.values()}))
        return replace(segment, crossings=tuple(ordered), leaving=leaving)


def _joined(mesh: Mesh, picked: tuple[int, ...]) -> list[tuple[tuple[int, ...], Segment]]:
    """The segments of a group: mesh segments, parts of one dimension put together where they fit.

    Each comes with the mesh segments that it is made of, major first.
    """
    joined: list[tuple[tuple[int, ...], Segment]] = [
        ((index,), mesh.segments[index]) for index in picked
    ]
    while True:
        pair = next(
            (
                (a, b)
                for a, b in itertools.permutations(range(len(joined)), 2)
                if _fit(joined[a][1], joined[b][1])
            ),
            None,
        )
        if pair is None:
            return joined
        (major, outer), (minor, inner) = joined[pair[0]], joined[pair[1]]
        assert outer.dimension is not None
        whole = piece_of(
            mesh.topology.dimensions[outer.dimension],
            outer.dimension,
            inner.spacing,
            outer.size * inner.size,
        )
        joined[min(pair)] = ((*major, *minor), whole)
        del joined[max(pair)]


def _fit(outer: Segment, inner: Segment) -> bool:
    """Whether the outer part's chips are as far apart as the inner part is long."""
    return (
        outer.dimension is not None
        and outer.dimension == inner.dimension
        and outer.spacing == inner.spacing * inner.size
    )
