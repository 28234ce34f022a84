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

from shardsim.mesh.lying import as_it_lies, tracks_of, with_crossings
from shardsim.mesh.segments import Segment, piece_of
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
        self.segments: tuple[Segment, ...] = tuple(segment for _, segment in joined)
        if mesh.order is not None or not mesh.topology.is_regular:
            for index in range(len(self.segments)):
                self._lay(index)

    def _lay(self, index: int) -> None:
        """Finds how a segment lies on links that are not all alike, or in an order of chips."""
        segment, starts = as_it_lies(self, index)
        self._starts.update({(index, chip): start for chip, start in starts.items()})
        self.segments = (*self.segments[:index], segment, *self.segments[index + 1 :])
        segment = with_crossings(self, index)
        self.segments = (*self.segments[:index], segment, *self.segments[index + 1 :])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and (self.axes, self.mesh) == (other.axes, other.mesh)

    def __hash__(self) -> int:
        return hash((self.axes, self.mesh.topology.name))

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

    @property
    def rows_differ(self) -> bool:
        """Whether a ring lost a link, so that chips of one place have not all the same rank."""
        return bool(self._starts)

    @cached_property
    def shares_links(self) -> bool:
        """Whether two segments use the same links or ports: parts of one dimension, or detours."""
        under = [s.dimension for s in self.segments if s.dimension is not None]
        if self.mesh.order is None and self.mesh.topology.is_regular:
            return len(set(under)) < len(under)
        used = [tracks_of(self, index) for index in range(len(self.segments))]
        return sum(map(len, used)) > len(set().union(*used))

    @cached_property
    def _places(self) -> Mapping[Coordinate, Place]:
        segments = self.mesh.parts
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
        return self._ranked(self.place(chip), chip)

    def _ranked(self, place: Place, chip: Coordinate) -> Place:
        """A place as the rows of a chip count it."""
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
        """The place (`rank`) of the chip with a number in its group.

        Where rows differ (rings that lost a link), along each segment the one farthest out.
        """
        if not self._starts:
            return self.place(self.instances[0][number])
        ranks = zip(*(self.root_of(chip, number) for chip in self.chips), strict=True)
        return tuple(
            _farthest_out(places, segment.size)
            for places, segment in zip(ranks, self.segments, strict=True)
        )

    def root_of(self, chip: Coordinate, number: int) -> Place:
        """The place of the chip with a number in a chip's group, as the chip's rows count it."""
        return self._ranked(self.place(self._fellows[chip][number]), chip)

    @cached_property
    def _fellows(self) -> Mapping[Coordinate, tuple[Coordinate, ...]]:
        return {chip: members for members in self.instances for chip in members}

    def peer(self, chip: Coordinate, segment: int, offset: int) -> Coordinate:
        """The chip so many steps up along a segment, round the end."""
        seat = list(self.mesh.seats[chip])
        position = (self.place(chip)[segment] + offset) % self.segments[segment].size
        for part in reversed(self._parts[segment]):
            position, seat[part] = divmod(position, self.mesh.parts[part].size)
        return self.mesh.chips[tuple(seat)]

    def most_leaving(self, segment: int, offset: int) -> int:
        """When every chip sends so many steps up, the most messages that leave one chip."""
        leaving: dict[Coordinate, int] = {}
        for chip in self.chips:
            for hop in self.route(chip, segment, offset):
                first = hop.tracks[0].chip
                leaving[first] = leaving.get(first, 0) + 1
        return max(leaving.values(), default=0)

    def route(self, chip: Coordinate, segment: int, offset: int) -> tuple[Hop, ...]:
        """The hops of a message to the chip so many steps up (down, where negative).

        On a ring it goes the way of the sign; on a line it goes straight; a switch is one hop.
        """
        there = self.peer(chip, segment, offset)
        topology, part = self.mesh.topology, self.segments[segment]
        if part.dimension is None:
            return self._along_order(chip, segment, offset)
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

    def _along_order(self, chip: Coordinate, segment: int, offset: int) -> tuple[Hop, ...]:
        """In an order whose neighbours are linked, from one to the next; else the shortest way."""
        part, topology = self.segments[segment], self.mesh.topology
        if part.crossings or part.kind is DimensionKind.SWITCH:
            return topology.route(chip, self.peer(chip, segment, offset))
        if part.kind is DimensionKind.LINE:
            place = self.place(chip)[segment]
            offset = (place + offset) % part.size - place
        if abs(offset) == 1:
            return topology.route(chip, self.peer(chip, segment, offset))
        hops: list[Hop] = []
        step = 1 if offset > 0 else -1
        for _ in range(abs(offset)):
            hops += topology.route(chip, self.peer(chip, segment, step))
            chip = hops[-1].to
        return tuple(hops)

    @cached_property
    def hubs(self) -> Mapping[Coordinate, tuple[Coordinate, ...]]:
        """Where the switch stands for each group, as a party of its own, and its chips by number.

        Groups at one switch have a hub each: their data do not mix.
        """
        (segment,) = self.segments
        assert segment.dimension is not None
        found: dict[Coordinate, tuple[Coordinate, ...]] = {}
        for chips in self.instances:
            hub = self.mesh.topology.switch(chips[0], segment.dimension)
            while hub in found:
                lower = hub[segment.dimension] - 1
                hub = (*hub[: segment.dimension], lower, *hub[segment.dimension + 1 :])
            found[hub] = chips
        return found

    @cached_property
    def _hub_of(self) -> Mapping[Coordinate, Coordinate]:
        return {chip: hub for hub, chips in self.hubs.items() for chip in chips}

    def hub(self, chip: Coordinate) -> Coordinate:
        """The hub of a chip's group."""
        return self._hub_of[chip]

    def receiver(self, sender: Coordinate, segment: int, offset: int | None) -> Coordinate:
        """Whom a send of a step program goes to: a chip by its offset, or (None) the hub.

        What a hub sends goes to the chip with that number.
        """
        if sender not in self:
            assert offset is not None
            return self.hubs[sender][offset]
        return self.hub(sender) if offset is None else self.peer(sender, segment, offset)

    def way(self, sender: Coordinate, segment: int, offset: int | None) -> tuple[Hop, ...]:
        """The hops of a send of a step program."""
        if sender in self and offset is not None:
            return self.route(sender, segment, offset)
        topology, dimension = self.mesh.topology, self.segments[segment].dimension
        assert dimension is not None
        there = self.receiver(sender, segment, offset)
        if sender in self:
            return (topology.to_switch(sender, dimension)._replace(to=there),)
        return (topology.from_switch(there, dimension),)


def _farthest_out(places: Iterable[int], size: int) -> int:
    """The place on a line that is farthest from the middle."""
    return max(places, key=lambda at: max(at, size - 1 - at))


def _joined(mesh: Mesh, picked: tuple[int, ...]) -> list[tuple[tuple[int, ...], Segment]]:
    """The segments of a group: mesh parts, parts of one dimension put together where they fit.

    Each comes with the mesh parts that it is made of, major first.
    """
    joined: list[tuple[tuple[int, ...], Segment]] = [
        ((index,), mesh.parts[index]) for index in picked
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
        joined[min(pair)] = ((*major, *minor), _together(mesh, outer, inner))
        del joined[max(pair)]


def _together(mesh: Mesh, outer: Segment, inner: Segment) -> Segment:
    """Two parts of one dimension as one segment."""
    assert outer.dimension is not None
    dimension, size = mesh.topology.dimensions[outer.dimension], outer.size * inner.size
    if outer.spacing == inner.spacing * inner.size:
        return piece_of(dimension, outer.dimension, inner.spacing, size)
    reason = f"{size} of the {dimension.size} chips at switch {dimension.name}"
    name = f"{dimension.name}:{outer.size}x{inner.size}"
    return replace(inner, name=name, size=size, reason=reason)


def _fit(outer: Segment, inner: Segment) -> bool:
    """Whether the outer part's chips are as far apart as the inner part is long.

    At a switch it is enough that they are further apart: all chips of it are linked.
    """
    if outer.dimension is None or outer.dimension != inner.dimension:
        return False
    if outer.kind is DimensionKind.SWITCH and inner.kind is DimensionKind.SWITCH:
        return outer.spacing > inner.spacing
    return outer.spacing == inner.spacing * inner.size
