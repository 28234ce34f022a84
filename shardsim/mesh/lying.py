"""How a segment of a group lies on the links, where they are not all alike or in no usual order.

A ring that lost a link is a line. An order of chips is a ring, a line, or neither. Where steps take
several links, share one, or links differ, the crossings say which steps each link carries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shardsim.mesh.segments import Crossing, Segment
from shardsim.timeline import LinkDirection, Port
from shardsim.topology import spot
from shardsim.vocabulary import DimensionKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shardsim.hardware import Link
    from shardsim.mesh.group import Group
    from shardsim.topology import Coordinate, Dimension, Hop

__all__ = ["as_it_lies", "tracks_of", "with_crossings"]

Track = LinkDirection | Port


def as_it_lies(group: Group, index: int) -> tuple[Segment, Mapping[Coordinate, int]]:
    """A segment as it is connected; and where it is a ring that lost links, where its lines begin.

    The latter is for each chip the place along the segment at which its line begins.
    """
    segment = group.segments[index]
    if segment.dimension is None:
        return _ordered(group, index), {}
    if segment.kind is DimensionKind.RING:
        return _cut(group, index)
    return segment, {}


def _cut(group: Group, index: int) -> tuple[Segment, Mapping[Coordinate, int]]:
    """A ring that lost a link is a line from there on; so are its sisters in other groups."""
    segment = group.segments[index]
    gaps: dict[Coordinate, Coordinate] = {}
    for chip in group.chips:
        after = group.peer(chip, index, +1)
        there, back = group.route(chip, index, +1), group.route(after, index, -1)
        if max(len(there), len(back)) > segment.stride:
            gaps[chip] = after
    if not gaps:
        return segment, {}
    starts = {
        group.peer(chip, index, offset): group.place(after)[index]
        for chip, after in gaps.items()
        for offset in range(segment.size)
    }
    chip, after = next(iter(gaps.items()))
    ends = f"chips {spot(chip)} and {spot(after)}"
    why = f"the link between {ends} is missing, so the ring is a line"
    return replace(segment, kind=DimensionKind.LINE, reason=why), starts


def _ordered(group: Group, index: int) -> Segment:
    """An order of chips: a ring or a line where neighbours in it are neighbours in the grid.

    Chips that are all at one switch stay at it, in whatever order.
    """
    segment, at_switch = group.segments[index], _switch_of_all(group, index)
    if at_switch is not None:
        why = f"{at_switch.reason}, in the order given"
        return replace(segment, kind=at_switch.kind, link=at_switch.link, reason=why)
    ring, line = True, True
    used: set[object] = set()
    used_inside: set[object] = set()
    far: tuple[Coordinate, Coordinate] | None = None
    for chip in group.chips:
        for offset in (+1, -1):
            hops = group.route(chip, index, offset)
            first = hops[0].tracks if hops else ()
            ring = ring and len(hops) == 1 and first not in used
            used.add(first)
            if not 0 <= group.place(chip)[index] + offset < segment.size:
                continue  # round the end
            if len(hops) != 1 or first in used_inside:
                line, far = False, far or (chip, group.peer(chip, index, offset))
            used_inside.add(first)
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
        why = f"NOT A PHYSICAL RING: chips {spot(far[0])} and {spot(far[1])} follow each other "
        why += "in the order given, and have no link of their own"
    return replace(segment, kind=kind, reason=why)


def _switch_of_all(group: Group, index: int) -> Dimension | None:
    """The switch at which the chips along a segment are, if they differ along it only."""
    apart = {
        at
        for chip in group.chips
        for at, (a, b) in enumerate(zip(chip, group.peer(chip, index, +1), strict=True))
        if a != b
    }
    if len(apart) != 1:
        return None
    dimension = group.mesh.topology.dimensions[apart.pop()]
    return dimension if dimension.kind is DimensionKind.SWITCH else None


def _steps(group: Group, index: int) -> Iterator[tuple[int, int, tuple[Hop, ...]]]:
    """All steps up (+1) and down (-1), with the rank of their lower end and their hops."""
    segment = group.segments[index]
    for chip in group.chips:
        rank = group.rank(chip)[index]
        for offset in (+1, -1):
            if segment.kind is DimensionKind.LINE and not 0 <= rank + offset < segment.size:
                continue
            yield offset, min(rank, rank + offset), group.route(chip, index, offset)


def tracks_of(group: Group, index: int) -> set[Track]:
    """The links and ports that the steps along a segment use."""
    return {track for _, _, hops in _steps(group, index) for hop in hops for track in hop.tracks}


def _own_link(group: Group, track: Track) -> Link:
    """A link or port by itself; a hop at a switch is as fast as the slower of its two ports."""
    topology = group.mesh.topology
    names = [dimension.name for dimension in topology.dimensions]
    link = topology.link(track.chip, (names.index(track.dimension), track.direction))
    assert link is not None
    return link


def with_crossings(group: Group, index: int) -> Segment:
    """Counts what each link carries when all chips take a step up, and one down."""
    segment = group.segments[index]
    ups: dict[Track, list[int]] = {}
    downs: dict[Track, list[int]] = {}
    links = {}
    farthest = 0
    for offset, lower, hops in _steps(group, index):
        farthest = max(farthest, len(hops))
        for hop in hops:
            for track in hop.tracks:
                (ups if offset > 0 else downs).setdefault(track, []).append(lower)
                links[track] = _own_link(group, track)
    found = set()
    for track, link in links.items():
        up, down = sorted(ups.get(track, [])), sorted(downs.get(track, []))
        on_line = segment.kind is DimensionKind.LINE
        steps = (tuple(up), tuple(down)) if on_line else ((), ())
        found.add(Crossing(len(up), len(down), link, *steps))
    own = (1, 1) if segment.kind is DimensionKind.SWITCH else (1, 0)
    alone = farthest == segment.stride == 1 and all(
        (crossing.up, crossing.down) in {own, (1, 0), (0, 1)} for crossing in found
    )
    if alone and all(crossing.link == segment.link for crossing in found):
        return segment
    ordered = sorted(found, key=lambda c: (c.up, c.down, -c.link.one_way_bandwidth, c[3:]))
    leaving = () if alone else _leaving(ups, downs)
    return replace(segment, crossings=tuple(ordered), leaving=leaving)


def _leaving(
    ups: Mapping[LinkDirection | Port, Sequence[int]],
    downs: Mapping[LinkDirection | Port, Sequence[int]],
) -> tuple[tuple[int, int], ...]:
    """Links that steps up, and steps down, take out of one chip; each sort of chip once."""
    chips: dict[Coordinate, list[int]] = {}
    for way, counts in enumerate((ups, downs)):
        for track, steps in counts.items():
            if track.direction > 0 or not isinstance(track, Port):
                chips.setdefault(track.chip, [0, 0])[way] += len(steps)
    return tuple(sorted({(up, down) for up, down in chips.values()}))
