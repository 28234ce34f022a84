"""Groups of chips: places, numbers, peers, ways, and what lies under a collective's axes."""

from __future__ import annotations

import numpy as np
import pytest

from shardsim.hardware import Link
from shardsim.mesh import Group, Segment, lay_mesh
from shardsim.oracle import execute
from shardsim.timeline import LinkDirection
from shardsim.topology import Coordinate, LinkKey, Topology
from shardsim.vocabulary import CallKind, CollectiveKind, LatencyModel, TransferKind
from tests.machines import LINK, call_on, machine, planned, run_call

LONG = machine((16, "ring"))
SLOW = Link(LINK.one_way_bandwidth / 2, LINK.latency)
Changed = list[tuple[tuple[Coordinate, LinkKey], Link | None]]


def group(
    topology: Topology,
    axes: str,
    sizes: dict[str, int] | None = None,
    layout: dict[str, str] | None = None,
) -> Group:
    return lay_mesh(topology, sizes, layout).group(tuple(axes))


def written(segment: Segment) -> str:
    apart = f"/{segment.spacing}" if segment.spacing > 1 else ""
    return f"{segment.name} {segment.kind.value}{apart}"


def without(*cables: tuple[Coordinate, Coordinate, int]) -> Changed:
    """Both directions of the cables from one chip up a dimension to the other."""
    found: Changed = []
    for here, there, index in cables:
        found += [((here, (index, +1)), None), ((there, (index, -1)), None)]
    return found


# What lies under the axes.

FOURS = {"X": 4, "Y": 4}
JOINED = [
    # axes, segments: parts that make up the whole again are the whole, in either order
    (LONG, FOURS, None, "X", ["x:(1)4 ring/4"]),
    (LONG, FOURS, None, "Y", ["x:(4)4 line"]),
    (LONG, FOURS, None, "XY", ["x ring"]),
    (LONG, FOURS, None, "YX", ["x ring"]),
    (LONG, {"X": 2, "Y": 4, "Z": 2}, None, "XY", ["x:(1)8 ring/2"]),
    (LONG, {"X": 2, "Y": 4, "Z": 2}, None, "ZY", ["x:(2)8 line"]),
    (LONG, {"X": 2, "Y": 4, "Z": 2}, None, "ZXY", ["x ring"]),
    # with a gap between them they are not
    (LONG, {"X": 2, "Y": 4, "Z": 2}, None, "XZ", ["x:(1)2 ring/8", "x:(8)2 line"]),
    (machine((16, "line")), FOURS, None, "XY", ["x line"]),
    (machine((16, "switch")), FOURS, None, "YX", ["x switch"]),
    # of one axis over two dimensions, and another on the rest of one
    (
        machine((4, "ring"), (4, "ring")),
        {"X": 8, "Y": 2},
        None,
        "XY",
        ["x ring", "y ring"],
    ),
    (machine((4, "ring"), (4, "ring")), FOURS, None, "YX", ["y ring", "x ring"]),
    (LONG, FOURS, {"X": "x:(4)4", "Y": "x:(1)4"}, "XY", ["x ring"]),
    (LONG, {"X": 16, "A": 1}, None, "AX", ["x ring"]),
    (LONG, {"X": 16, "A": 1}, None, "A", []),
]


@pytest.mark.parametrize(
    ("topology", "sizes", "layout", "axes", "segments"), JOINED, ids=range(len(JOINED))
)
def test_segments_of_a_group(
    topology: Topology,
    sizes: dict[str, int],
    layout: dict[str, str] | None,
    axes: str,
    segments: list[str],
) -> None:
    found = group(topology, axes, sizes, layout)
    assert [written(segment) for segment in found.segments] == segments
    assert found.shape == tuple((segment.size, segment.kind) for segment in found.segments)
    total = 1
    for name in axes:
        total *= sizes[name]
    assert found.size == total


def test_numbers_follow_the_order_of_the_axes() -> None:
    """Chip 13 is 3, 1 along X, Y: number 13 over XY, and 1 x 4 + 3 over YX."""
    assert group(LONG, "XY", FOURS).number((13,)) == 13
    assert group(LONG, "YX", FOURS).number((13,)) == 7
    # the place on the joined ring is the chip's own either way
    assert group(LONG, "YX", FOURS).place((13,)) == (13,)
    assert group(LONG, "XY", FOURS).place((13,)) == (13,)


def test_instances_are_in_the_order_of_numbers() -> None:
    assert group(LONG, "X", FOURS).instances[1] == ((1,), (5,), (9,), (13,))
    assert group(LONG, "Y", FOURS).instances[1] == ((4,), (5,), (6,), (7,))
    (one,) = group(LONG, "YX", FOURS).instances
    assert one[:5] == ((0,), (4,), (8,), (12,), (1,))


@pytest.mark.parametrize("axes", ["X", "Y", "XY", "YX"])
def test_instances_part_the_chips(axes: str) -> None:
    found = group(machine((2, "ring"), (8, "line")), axes, {"X": 4, "Y": 4})
    chips = [chip for members in found.instances for chip in members]
    assert sorted(chips) == sorted(found.chips)
    for members in found.instances:
        assert [found.number(chip) for chip in members] == list(range(found.size))
        assert len({found.place(chip) for chip in members}) == found.size


# Peers and ways.

PEERS = [
    # group X of a ring of 16 cut 4 x 4: four chips on, and round the end
    ("X", (5,), +1, (9,)),
    ("X", (13,), +1, (1,)),
    ("X", (5,), -2, (13,)),
    ("Y", (5,), +1, (6,)),
    ("Y", (7,), +1, (4,)),
    ("XY", (15,), +1, (0,)),
    ("YX", (3,), +1, (4,)),
]


@pytest.mark.parametrize(("axes", "chip", "offset", "there"), PEERS)
def test_peers(axes: str, chip: Coordinate, offset: int, there: Coordinate) -> None:
    assert group(LONG, axes, FOURS).peer(chip, 0, offset) == there


def ways(found: Group, chip: Coordinate, offset: int, segment: int = 0) -> list[Coordinate]:
    return [hop.to for hop in found.route(chip, segment, offset)]


def test_a_step_along_a_part_is_several_hops() -> None:
    assert ways(group(LONG, "X", FOURS), (13,), +1) == [(14,), (15,), (0,), (1,)]
    assert ways(group(LONG, "X", FOURS), (1,), -1) == [(0,), (15,), (14,), (13,)]
    assert ways(group(LONG, "Y", FOURS), (5,), +1) == [(6,)]


def test_on_a_ring_a_message_goes_the_way_of_the_sign() -> None:
    ring = group(machine((5, "ring")), "X")
    assert ways(ring, (4,), +3) == [(0,), (1,), (2,)]
    assert ways(ring, (4,), -2) == [(3,), (2,)]
    (hop,) = ring.route((4,), 0, +1)
    assert (hop.tracks, hop.link) == ((LinkDirection((4,), "x", +1),), LINK)


def test_two_chips_with_two_cables_use_both() -> None:
    ring = group(machine((2, "ring")), "X")
    tracks = [ring.route((0,), 0, offset)[0].tracks[0] for offset in (+1, -1)]
    assert [str(track) for track in tracks] == ["x+", "x-"]


def test_on_a_line_a_message_goes_straight() -> None:
    """Three places up from the second of four is the first: one place down."""
    line = group(machine((4, "line")), "X")
    assert ways(line, (1,), +3) == [(0,)]
    assert ways(line, (3,), +1) == [(2,), (1,), (0,)]
    # parts of a ring that are neighbours are a line, and do not use its wraparound link
    assert ways(group(LONG, "Y", FOURS), (7,), +1) == [(6,), (5,), (4,)]


def test_at_a_switch_a_message_is_one_hop() -> None:
    found = group(machine((16, "switch")), "X", FOURS)
    (hop,) = found.route((1,), 0, +2)
    assert hop.to == (9,)
    assert [str(track) for track in hop.tracks] == ["x out", "x in"]


def test_along_a_second_segment() -> None:
    found = group(machine((2, "line"), (4, "ring")), "XY")
    assert found.peer((0, 3), 1, +1) == (0, 0)
    assert ways(found, (0, 3), +1, segment=1) == [(0, 0)]
    assert ways(found, (0, 3), +1, segment=0) == [(1, 3)]


# A ring that lost a link.

CUT = machine((6, "ring"), changed=without(((2,), (3,), 0)))


def test_a_ring_that_lost_a_link_is_a_line_from_there_on() -> None:
    found = group(CUT, "X")
    (segment,) = found.segments
    assert (written(segment), segment.is_physical) == ("x line", True)
    assert segment.reason == (
        "the link between chips (2) and (3) is missing, so the ring is a line"
    )
    assert [found.rank((at,)) for at in range(6)] == [(3,), (4,), (5,), (0,), (1,), (2,)]
    # places and numbers stay: data does not move because a link is gone
    assert [found.place((at,)) for at in range(6)] == [(at,) for at in range(6)]
    assert found.instances == (tuple((at,) for at in range(6)),)
    # the axis says so too
    assert lay_mesh(CUT).axis("X").segments == found.segments


def test_its_messages_go_over_the_links_that_are_left() -> None:
    found = group(CUT, "X")
    assert ways(found, (5,), +1) == [(0,)]
    assert ways(found, (2,), +1) == [(1,), (0,), (5,), (4,), (3,)]
    assert ways(found, (3,), -1) == [(4,), (5,), (0,), (1,), (2,)]


@pytest.mark.parametrize("direction", [+1, -1])
def test_one_direction_of_a_cable_is_enough(direction: int) -> None:
    lost = ((2,) if direction > 0 else (3,), (0, direction))
    found = group(machine((6, "ring"), changed=[(lost, None)]), "X")
    assert written(found.segments[0]) == "x line"
    assert found.rank((3,)) == (0,)


def test_rows_that_lost_different_links_begin_at_different_chips() -> None:
    topology = machine(
        (3, "line"), (6, "ring"), changed=without(((0, 2), (0, 3), 1), ((1, 4), (1, 5), 1))
    )
    found = group(topology, "Y")
    assert written(found.segments[0]) == "y line"
    begins = [chip for chip in found.chips if found.rank(chip) == (0,)]
    # the third row has lost nothing, and is a line like the others
    assert begins == [(0, 3), (1, 5), (2, 0)]
    assert [found.root_of((row, 0), 0) for row in range(3)] == [(3,), (1,), (0,)]
    # of all, the one whose line is longest on one side
    assert found.root_place(0) == (0,)


@pytest.mark.parametrize(
    "text",
    [
        "AllGather_Y A[I_XY] -> R[I_X]",
        "AllGather_XY A[I_XY] -> R[I]",
        "AllReduce_XY A[I]{U_XY} -> R[I]",
        "ReduceScatter_{YX,I} A[I]{U_XY} -> R[I_YX]",
    ],
)
def test_data_on_rows_that_lost_different_links(text: str) -> None:
    topology = machine(
        (2, "line"), (6, "ring"), changed=without(((0, 2), (0, 3), 1), ((1, 4), (1, 5), 1))
    )
    for extent in (24, 24 * 10**4):  # the small one in two steps, the other in one
        array = np.arange(extent)
        plan = planned(text, topology, {"I": extent})
        assert (execute(plan, {"A": array}) == array).all()


@pytest.mark.parametrize("lost", range(6))
@pytest.mark.parametrize("kind", [*list(CollectiveKind)[:3], TransferKind.GATHER])
def test_it_takes_as_long_as_a_line(kind: CallKind, lost: int) -> None:
    topology = machine((6, "ring"), changed=without(((lost,), ((lost + 1) % 6,), 0)))
    root = (lost + 1) % 6
    broken = run_call(call_on(topology, kind, 10**6, root=root))
    line = run_call(call_on(machine((6, "line")), kind, 10**6))
    assert broken.makespan == line.makespan
    used = {track for track in broken.by_track if isinstance(track, LinkDirection)}
    assert LinkDirection((lost,), "x", +1) not in used
    assert len(used) == (5 if kind is TransferKind.GATHER else 10)


# What single links carry.


def crossed(segment: Segment) -> list[tuple[int, int, int]]:
    """Steps up, steps down, and how many times slower than others the link is."""
    rates = [LINK.one_way_bandwidth / c.link.one_way_bandwidth for c in segment.crossings]
    return sorted(
        {(c.up, c.down, int(rate)) for c, rate in zip(segment.crossings, rates, strict=True)}
    )


def test_a_link_that_differs() -> None:
    slow: Changed = [(((2,), (0, +1)), SLOW)]
    (segment,) = group(machine((6, "ring"), changed=slow), "X").segments
    assert (written(segment), segment.is_physical, segment.congestion) == ("x ring", False, 1)
    assert crossed(segment) == [(0, 1, 1), (1, 0, 1), (1, 0, 2)]


def test_on_a_line_the_steps_are_named() -> None:
    """They carry different amounts; a step is named by its lower chip."""
    slow: Changed = [(((2,), (0, +1)), SLOW)]
    (segment,) = group(machine((4, "line"), changed=slow), "X").segments
    up = {c.up_steps: c.link for c in segment.crossings if c.up}
    down = {c.down_steps: c.link for c in segment.crossings if c.down}
    assert up == {(0,): LINK, (1,): LINK, (2,): SLOW}
    assert down == {(0,): LINK, (1,): LINK, (2,): LINK}


def test_a_port_that_differs() -> None:
    slow: Changed = [(((2,), (0, +1)), SLOW)]
    (segment,) = group(machine((4, "switch"), changed=slow), "X").segments
    # ports carry steps of both directions; those into which the slow one sends are as fast as ever
    assert crossed(segment) == [(1, 1, 1), (1, 1, 2)]


def test_a_detour_shares_links_with_others() -> None:
    """The row 0 of 2 x 3 lost its first cable: its step goes over the other row."""
    topology = machine((2, "line"), (3, "line"), changed=without(((0, 0), (0, 1), 1)))
    found = group(topology, "Y")
    (segment,) = found.segments
    assert ways(found, (0, 0), +1) == [(1, 0), (1, 1), (0, 1)]
    assert (segment.kind.value, segment.is_physical, segment.congestion) == ("line", False, 2)
    # alone: one row's own steps; shared: the first step of the other row
    assert (2, 0, 1) in crossed(segment)
    assert (0, 2, 1) in crossed(segment)
    # along the other dimension nothing has changed
    assert group(topology, "X").is_physical


def test_a_switch_without_a_port_is_gone_round() -> None:
    topology = machine((2, "switch"), (3, "ring"), changed=[(((0, 0), (0, +1)), None)])
    found = group(topology, "X")
    assert ways(found, (0, 0), +1) in ([(0, 1), (1, 1), (1, 0)], [(0, 2), (1, 2), (1, 0)])
    assert ways(found, (1, 0), +1) == [(0, 0)]
    assert not found.is_physical


# Each link carries what the segment says, whatever lies on it.

MACHINES = [
    (LONG, FOURS, "X"),
    (LONG, FOURS, "Y"),
    (LONG, FOURS, "XY"),
    (machine((16, "line")), FOURS, "X"),
    (machine((12, "line")), {"X": 2, "Y": 3, "Z": 2}, "Y"),
    (machine((2, "line"), (6, "ring"), changed=without(((0, 2), (0, 3), 1))), None, "Y"),
    (machine((2, "line"), (3, "line"), changed=without(((0, 0), (0, 1), 1))), None, "Y"),
]


@pytest.mark.parametrize(("topology", "sizes", "axes"), MACHINES)
def test_congestion_is_counted_hop_by_hop(
    topology: Topology, sizes: dict[str, int] | None, axes: str
) -> None:
    found = group(topology, axes, sizes)
    (segment,) = found.segments
    most = 0
    for offset in (+1, -1):
        counts: dict[object, int] = {}
        for chip in found.chips:
            at = found.rank(chip)[0] + offset
            if segment.kind.value == "line" and not 0 <= at < segment.size:
                continue
            for hop in found.route(chip, 0, offset):
                for track in hop.tracks:
                    counts[track] = counts.get(track, 0) + 1
        most = max(most, *counts.values())
    assert segment.congestion == most


@pytest.mark.parametrize("model", LatencyModel)
def test_two_groups_side_by_side_are_the_parts_of_a_line(model: LatencyModel) -> None:
    """Neighbours of a cut ring do as a line of their own does; the others do not disturb them."""
    for kind in CollectiveKind:
        part = run_call(call_on(LONG, kind, 10**5, "Y", FOURS, latency_model=model), model)
        line = run_call(call_on(machine((4, "line")), kind, 10**5, latency_model=model), model)
        assert part.makespan == line.makespan


def test_groups_are_made_once() -> None:
    mesh = lay_mesh(LONG, FOURS)
    assert mesh.group(("X",)) is mesh.group(("X",))


def test_groups_of_equal_meshes_are_equal() -> None:
    """So that calls and plans compare equal too."""
    one, other = group(LONG, "X", FOURS), group(LONG, "X", FOURS)
    assert one is not other
    assert one == other
    assert hash(one) == hash(other)
    assert one != group(LONG, "Y", FOURS)
    assert group(LONG, "XY", FOURS) != group(LONG, "YX", FOURS)
    assert one != group(machine((16, "line")), "X", FOURS)


def test_the_chips_of_a_group() -> None:
    found = group(LONG, "X", FOURS)
    assert all((at,) in found for at in range(16))
    assert (16,) not in found
