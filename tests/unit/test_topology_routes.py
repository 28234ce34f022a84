"""Ways of messages: dimension by dimension, the shorter way round, and round what is missing."""

from __future__ import annotations

import itertools

import networkx as nx
import pytest

from shardsim.errors import TopologyError
from shardsim.hardware import Link
from shardsim.timeline import LinkDirection, Port
from shardsim.topology import Coordinate, LinkKey, Topology
from tests.machines import LINK, machine

SLOW = Link(LINK.one_way_bandwidth / 3, LINK.latency * 2)
Changed = list[tuple[tuple[Coordinate, LinkKey], Link | None]]


def ends(topology: Topology, start: Coordinate, end: Coordinate) -> list[Coordinate]:
    return [hop.to for hop in topology.route(start, end)]


WAYS: list[tuple[Topology, Coordinate, Coordinate, list[Coordinate]]] = [
    # nowhere
    (machine((4, "ring")), (1,), (1,), []),
    # the shorter way round; of equal ones up
    (machine((5, "ring")), (4,), (1,), [(0,), (1,)]),
    (machine((5, "ring")), (1,), (4,), [(0,), (4,)]),
    (machine((4, "ring")), (3,), (1,), [(0,), (1,)]),
    (machine((4, "ring")), (1,), (3,), [(2,), (3,)]),
    (machine((2, "ring")), (0,), (1,), [(1,)]),
    # straight
    (machine((5, "line")), (4,), (1,), [(3,), (2,), (1,)]),
    # the first dimension first
    (machine((3, "line"), (4, "ring")), (0, 0), (2, 3), [(1, 0), (2, 0), (2, 3)]),
    # one hop at a switch, however far
    (machine((8, "switch")), (7,), (2,), [(2,)]),
    # from node to node to the GPU of the same number, then inside the node
    (machine((4, "switch"), (8, "switch")), (0, 5), (3, 2), [(3, 5), (3, 2)]),
    (machine((2, "switch"), (4, "ring")), (0, 0), (1, 3), [(1, 0), (1, 3)]),
]


@pytest.mark.parametrize(("topology", "start", "end", "way"), WAYS, ids=range(len(WAYS)))
def test_ways(
    topology: Topology, start: Coordinate, end: Coordinate, way: list[Coordinate]
) -> None:
    assert ends(topology, start, end) == way


@pytest.mark.parametrize(
    "topology",
    [
        machine((4, "ring"), (3, "line")),
        machine((5, "ring"), (2, "ring")),
        machine((2, "line"), (2, "line"), (3, "ring")),
        machine((2, "switch"), (4, "ring")),
    ],
)
def test_ways_are_shortest_and_hang_together(topology: Topology) -> None:
    """As short as in the graph, where the way through a switch is two edges."""
    graph = topology.graph()
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    for start, end in itertools.permutations(topology.coordinates(), 2):
        hops = topology.route(start, end)
        edges = 0
        here = start
        for hop in hops:
            track = hop.tracks[0]
            assert track.chip == here
            edges += len(hop.tracks)
            here = hop.to
        assert here == end
        assert edges == lengths[start][end]


def test_a_hop_over_a_link() -> None:
    topology = machine((4, "ring"), (2, "line"), changed=[(((3, 0), (0, +1)), SLOW)])
    hop = topology.hop((3, 0), (0, +1))
    assert hop is not None
    assert (hop.tracks, hop.link, hop.to) == (
        (LinkDirection((3, 0), "x", +1),),
        SLOW,
        (0, 0),
    )
    back = topology.hop((0, 0), (0, -1))
    assert back is not None
    assert (back.link, back.to) == (LINK, (3, 0))


NO_HOPS: list[tuple[Topology, Coordinate, LinkKey]] = [
    (machine((4, "line")), (3,), (0, +1)),
    (machine((4, "line")), (0,), (0, -1)),
    (machine((1, "ring"), (2, "line")), (0, 0), (0, +1)),
    (machine((4, "switch")), (0,), (0, +1)),
    (machine((4, "ring"), changed=[(((1,), (0, +1)), None)]), (1,), (0, +1)),
    (machine((3, "line"), missing=[(1,)]), (0,), (0, +1)),
    (machine((3, "line"), missing=[(1,)]), (1,), (0, +1)),
]


@pytest.mark.parametrize(("topology", "chip", "key"), NO_HOPS, ids=range(len(NO_HOPS)))
def test_where_there_is_no_hop(topology: Topology, chip: Coordinate, key: LinkKey) -> None:
    assert topology.hop(chip, key) is None


# Ports.


def test_a_switch_holds_both_ports_at_the_slower_one_s_rate() -> None:
    """One has half of the bandwidth, the other three times the latency."""
    thin = Link(LINK.one_way_bandwidth / 2, LINK.latency)
    late = Link(LINK.one_way_bandwidth, LINK.latency * 3)
    changed: Changed = [(((0,), (0, +1)), thin), (((1,), (0, -1)), late)]
    topology = machine((3, "switch"), changed=changed)
    hop = topology.through_switch((0,), 0, (1,))
    assert hop is not None
    assert hop.tracks == (Port((0,), "x", +1), Port((1,), "x", -1))
    assert hop.link == Link(thin.one_way_bandwidth, late.latency)
    other = topology.through_switch((1,), 0, (2,))
    assert other is not None
    assert other.link == LINK


def test_a_switch_without_a_port() -> None:
    topology = machine((3, "switch"), changed=[(((0,), (0, +1)), None)])
    assert topology.through_switch((0,), 0, (1,)) is None
    assert topology.through_switch((1,), 0, (0,)) is not None
    with pytest.raises(TopologyError) as caught:
        topology.to_switch((0,), 0)
    assert caught.value.message == "no way leads from chip (0) to chip (-1) of 3s"


def test_to_a_switch_and_from_it_is_half_of_the_way() -> None:
    topology = machine((2, "switch"), (3, "switch"))
    there, back = topology.to_switch((1, 2), 0), topology.from_switch((1, 2), 0)
    assert (there.to, back.to) == ((-1, 2), (1, 2))
    assert (there.tracks, back.tracks) == (
        (Port((1, 2), "x", +1),),
        (Port((1, 2), "x", -1),),
    )
    half = Link(LINK.one_way_bandwidth, LINK.latency / 2)
    assert there.link == back.link == half
    assert topology.switch((1, 2), 1) == (1, -1)


# Detours.

SQUARE = [(2, "line"), (3, "line")]
DETOURS: list[tuple[Topology, Coordinate, Coordinate, list[Coordinate]]] = [
    # the long way round a ring
    (
        machine((5, "ring"), changed=[(((1,), (0, +1)), None)]),
        (0,),
        (2,),
        [(4,), (3,), (2,)],
    ),
    # over the other row
    (
        machine(*SQUARE, changed=[(((0, 0), (1, +1)), None)]),
        (0, 0),
        (0, 1),
        [(1, 0), (1, 1), (0, 1)],
    ),
    # round a chip that is missing
    (machine(*SQUARE, missing=[(0, 1)]), (0, 0), (0, 2), [(1, 0), (1, 1), (1, 2), (0, 2)]),
    # a node's GPU without a NIC goes through its neighbour's
    (
        machine((2, "switch"), (2, "switch"), changed=[(((0, 0), (0, +1)), None)]),
        (0, 0),
        (1, 0),
        [(0, 1), (1, 1), (1, 0)],
    ),
]


@pytest.mark.parametrize(("topology", "start", "end", "way"), DETOURS, ids=range(len(DETOURS)))
def test_detours(
    topology: Topology, start: Coordinate, end: Coordinate, way: list[Coordinate]
) -> None:
    assert ends(topology, start, end) == way


def test_the_way_back_is_not_changed_by_a_link_that_is_missing_one_way() -> None:
    topology = machine((5, "ring"), changed=[(((1,), (0, +1)), None)])
    assert ends(topology, (2,), (0,)) == [(1,), (0,)]


def test_no_way_at_all() -> None:
    topology = machine((3, "line"), changed=[(((1,), (0, +1)), None)])
    with pytest.raises(TopologyError) as caught:
        topology.route((0,), (2,))
    assert (caught.value.message, caught.value.hint) == (
        "no way leads from chip (0) to chip (2) of 3l",
        "leave more links in: these overrides cut the chips apart",
    )
