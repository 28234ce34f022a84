"""Topologies: chips and links as a graph, and when a dimension of a slice wraps."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from shardsim.catalogue.generations import Generation, WrapRule, fits, slice_topology
from shardsim.errors import TopologyError
from shardsim.hardware import Calibration, Curve, Link
from shardsim.timeline import Port
from shardsim.topology import Coordinate, Dimension, LinkKey, Topology
from shardsim.vocabulary import CollectiveKind, DimensionKind
from tests.machines import CHIP, LINK, machine

# the graph

GRAPHS = [
    # dimensions; chips; directed links: a ring of N > 1 has 2N a row, a line 2(N-1)
    ([(1, "line")], 1, 0),
    ([(1, "ring")], 1, 0),
    ([(2, "line")], 2, 2),
    ([(2, "ring")], 2, 4),
    ([(3, "line")], 3, 4),
    ([(3, "ring")], 3, 6),
    ([(4, "ring")], 4, 8),
    # 4 columns are lines of 2 (2 links each), 2 rows rings of 4 (8 links each)
    ([(2, "line"), (4, "ring")], 8, 4 * 2 + 2 * 8),
    # 12 rows of 2, 8 rows of 3, 6 rows of 4
    ([(2, "ring"), (3, "line"), (4, "ring")], 24, 12 * 4 + 8 * 4 + 6 * 8),
]


@pytest.mark.parametrize(("dimensions", "chips", "links"), GRAPHS, ids=range(len(GRAPHS)))
def test_chips_and_links(dimensions: list[tuple[int, str]], chips: int, links: int) -> None:
    topology = machine(*dimensions)
    graph = topology.graph()
    assert topology.size == graph.number_of_nodes() == chips
    assert graph.number_of_edges() == links
    rows = (topology.size // d.size * d.directed_links for d in topology.dimensions if d.size > 1)
    assert sum(rows) == links


def edges(*dimensions: tuple[int, str]) -> list[tuple[int, ...]]:
    """From, to, direction of the edges of a topology of one dimension."""
    graph = machine(*dimensions).graph()
    return sorted((a[0], b[0], key[1]) for a, b, key in graph.edges(keys=True))


EDGES = {
    "line of 3": ([(3, "line")], [(0, 1, 1), (1, 0, -1), (1, 2, 1), (2, 1, -1)]),
    "ring of 3": (
        [(3, "ring")],
        [(0, 1, 1), (0, 2, -1), (1, 0, -1), (1, 2, 1), (2, 0, 1), (2, 1, -1)],
    ),
    "line of 2, one cable": ([(2, "line")], [(0, 1, 1), (1, 0, -1)]),
    # a ring of 2 has two cables between its chips: each chip has a link in either direction
    "ring of 2, two cables": ([(2, "ring")], [(0, 1, -1), (0, 1, 1), (1, 0, -1), (1, 0, 1)]),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name: str) -> None:
    dimensions, expected = EDGES[name]
    assert edges(*dimensions) == expected


def test_degrees_in_a_plane() -> None:
    """Every chip of a ring has two links out; at the ends of a line it has one."""
    graph = machine((3, "line"), (4, "ring")).graph()
    for chip in graph.nodes:
        expected = 2 + (1 if chip[0] in (0, 2) else 2)
        assert graph.out_degree(chip) == graph.in_degree(chip) == expected


def test_what_an_edge_knows() -> None:
    thin, thick = Link(Fraction(10), Fraction(1)), Link(Fraction(20), Fraction(2))
    topology = Topology(
        name="two",
        chip=CHIP,
        dimensions=(
            Dimension(name="rows", size=2, kind=DimensionKind.LINE, link=thin),
            Dimension(name="columns", size=3, kind=DimensionKind.RING, link=thick),
        ),
    )
    graph = topology.graph()
    assert graph.name == "two"
    assert graph.edges[(0, 1), (1, 1), (0, +1)] == {
        "dimension": "rows",
        "direction": +1,
        "link": thin,
    }
    assert graph.edges[(1, 0), (1, 2), (1, -1)] == {
        "dimension": "columns",
        "direction": -1,
        "link": thick,
    }


def test_chips_in_row_major_order() -> None:
    topology = machine((2, "line"), (3, "line"))
    assert list(topology.coordinates()) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert topology.shape == (2, 3)


def test_topology_as_json() -> None:
    found = machine((2, "line")).to_dict()
    assert found == {
        "format": "shardsim/topology/1",
        "name": "2l",
        "chips": 2,
        "chip": {
            "name": "test",
            "title": "",
            "flops_per_second": {"bf16": 1e14, "int8": 2e14},
            "hbm_bandwidth_bytes_per_second": 1e12,
            "hbm_capacity_bytes": 16e9,
        },
        "dimensions": [
            {
                "name": "x",
                "size": 2,
                "kind": "line",
                "reason": "as given",
                "one_way_bandwidth_bytes_per_second": 45e9,
                "latency_seconds": 1e-6,
                "reduces": False,
            }
        ],
        "overrides": [],
        "missing": [],
        "calibration": {
            "efficiency": 1,
            "launch_overhead_seconds": 0.0,
            "collectives": [],
            "source": "",
            "band": "",
        },
    }


# switches, and what differs from the rest

PORTS = machine((2, "switch"), (3, "ring"))
SLOW = Link(Fraction(10**9), Fraction(3, 10**6))


def with_changes(
    topology: Topology, changed: dict[tuple[Coordinate, LinkKey], Link | None], *missing: Coordinate
) -> Topology:
    return replace(topology, changed=tuple(changed.items()), missing=frozenset(missing))


def test_a_switch_is_a_node_between_its_chips() -> None:
    graph = PORTS.graph()
    switches = sorted(node for node in graph.nodes if -1 in node)
    assert switches == [(-1, 0), (-1, 1), (-1, 2)]
    assert graph.number_of_nodes() == 6 + 3
    # a port out and one in for each chip, and two rings of 3
    assert graph.number_of_edges() == 6 * 2 + 2 * 6
    assert graph.has_edge((0, 1), (-1, 1), (0, +1))
    assert graph.has_edge((-1, 1), (0, 1), (0, -1))
    assert PORTS.dimensions[0].directed_links == 4


def test_the_way_through_a_switch() -> None:
    fast = with_changes(PORTS, {((0, 0), (0, +1)): SLOW})
    (hop,) = fast.route((0, 0), (1, 0))
    assert hop.to == (1, 0)
    assert hop.tracks == (Port((0, 0), "x", +1), Port((1, 0), "x", -1))
    assert hop.link == SLOW  # the slower port, and the later
    (back,) = fast.route((1, 0), (0, 0))
    assert back.link == LINK
    assert fast.to_switch((0, 0), 0).link == Link(SLOW.one_way_bandwidth, SLOW.latency / 2)
    assert fast.from_switch((0, 0), 0).link == Link(LINK.one_way_bandwidth, LINK.latency / 2)


def test_a_missing_chip_has_no_links() -> None:
    topology = with_changes(machine((3, "ring"), (3, "line")), {}, (1, 1))
    assert (topology.size, topology.is_regular) == (8, False)
    assert (1, 1) not in list(topology.coordinates())
    assert topology.link((0, 1), (0, +1)) is None
    assert topology.link((1, 1), (0, +1)) is None
    graph = topology.graph()
    # 9 chips had 3 x 6 + 3 x 4 links; the one in the middle had 8 to and from it
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (8, 30 - 8)


def test_a_detour_round_a_missing_link() -> None:
    ring = with_changes(machine((4, "ring")), {((0,), (0, +1)): None})
    assert [hop.to for hop in ring.route((0,), (1,))] == [(3,), (2,), (1,)]
    assert [hop.to for hop in ring.route((1,), (0,))] == [(0,)]
    line = with_changes(machine((3, "line")), {((0,), (0, +1)): None})
    with pytest.raises(TopologyError, match=r"no way leads from chip \(0\) to chip \(2\)"):
        line.route((0,), (2,))


APART = [
    (machine((3, "line")), {}, (), None),
    (machine((3, "line")), {((0,), (0, +1)): None}, (), ((0,), (1,))),
    (machine((3, "line")), {((1,), (0, -1)): None}, (), ((1,), (0,))),
    (machine((3, "line")), {}, ((1,),), ((0,), (2,))),
    (machine((3, "line")), {}, ((0,),), None),
    (machine((3, "ring")), {((0,), (0, +1)): None}, (), None),
    (machine((3, "ring")), {((0,), (0, +1)): None, ((0,), (0, -1)): None}, (), ((0,), (1,))),
    (machine((3, "switch")), {}, ((1,),), None),
    (machine((3, "switch")), {((2,), (0, +1)): None}, (), ((2,), (0,))),
    (machine((3, "switch")), {((2,), (0, -1)): None}, (), ((0,), (2,))),
    (PORTS, {((1, 2), (0, -1)): None}, (), None),
    (machine((1, "line")), {}, (), None),
]


@pytest.mark.parametrize(("topology", "changed", "missing", "ends"), APART, ids=range(len(APART)))
def test_chips_that_cannot_reach_each_other(
    topology: Topology,
    changed: dict[tuple[Coordinate, LinkKey], Link | None],
    missing: tuple[Coordinate, ...],
    ends: tuple[Coordinate, Coordinate] | None,
) -> None:
    assert with_changes(topology, changed, *missing).cut_apart() == ends


def test_what_differs_as_json() -> None:
    curve = Curve(
        kind=CollectiveKind.ALL_GATHER,
        chips=2,
        launch=Fraction(4, 10**6),
        points=((Fraction(1024), Fraction(1, 4)), (Fraction(1, 2), Fraction(1))),
    )
    calibration = Calibration(
        efficiency=Fraction(9, 10),
        launch_overhead=Fraction(5, 10**6),
        curves=(curve,),
        source="a table",
        band="10 %",
    )
    changed = {((0, 0), (0, +1)): SLOW, ((0, 1), (1, -1)): None, ((1, 1), (0, -1)): None}
    topology = replace(with_changes(PORTS, changed, (1, 2)), calibration=calibration)
    found = topology.to_dict()
    assert found["chips"] == 5
    assert found["overrides"] == [
        {
            "dimension": "x",
            "chip": [0, 0],
            "port": "out",
            "one_way_bandwidth_bytes_per_second": 10**9,
            "latency_seconds": 3e-6,
        },
        {"dimension": "y", "from": [0, 1], "to": [0, 0], "removed": True},
        {"dimension": "x", "chip": [1, 1], "port": "in", "removed": True},
    ]
    assert found["missing"] == [[1, 2]]
    assert found["calibration"] == {
        "efficiency": 0.9,
        "launch_overhead_seconds": 5e-6,
        "collectives": [
            {
                "op": "all_gather",
                "chips": 2,
                "launch_seconds": 4e-6,
                "points": [[1024, 0.25], [0.5, 1]],
            }
        ],
        "source": "a table",
        "band": "10 %",
    }
    assert [(d["kind"], d["reduces"]) for d in found["dimensions"]] == [
        ("switch", False),
        ("ring", False),
    ]


# when a dimension wraps


def generation(rule: WrapRule, rank: int, pod: tuple[int, ...] | None, chips: int) -> Generation:
    return Generation(chip=CHIP, rank=rank, pod=pod, pod_chips=chips, rule=rule, link=LINK)


CUBES = generation(WrapRule.CUBES, 3, (16, 16, 24), 6144)
LENGTH_16 = generation(WrapRule.LENGTH_16, 2, (16, 16), 256)
FULL_POD = generation(WrapRule.FULL_POD, 2, (32, 16), 512)

ONE = "1 chip: no link"
NOT_CUBES = "test wraps only when every dimension of the slice is a multiple of 4; "
SHORT = "test wraps a dimension only when it is 16 long; this one is "
LONG = "test wraps a dimension that is 16 long"


def in_cubes(shape: str) -> str:
    return f"every dimension of {shape} is a multiple of 4 (test joins 4x4x4 cubes)"


WRAPS = [
    (CUBES, (4, 4, 4), [("ring", in_cubes("4x4x4"))] * 3),
    (CUBES, (8, 4, 12), [("ring", in_cubes("8x4x12"))] * 3),
    (CUBES, (4, 4, 2), [("line", f"{NOT_CUBES}4x4x2 has a 2")] * 3),
    # the first that is no multiple of 4 is named
    (CUBES, (6, 4, 2), [("line", f"{NOT_CUBES}6x4x2 has a 6")] * 3),
    (CUBES, (4, 4, 1), [*[("line", f"{NOT_CUBES}4x4x1 has a 1")] * 2, ("line", ONE)]),
    # a shape of two sizes is one of three with a 1
    (CUBES, (8, 8), [("line", f"{NOT_CUBES}8x8x1 has a 1")] * 2),
    (LENGTH_16, (16, 16), [("ring", LONG)] * 2),
    (LENGTH_16, (8, 16), [("line", f"{SHORT}8"), ("ring", LONG)]),
    (LENGTH_16, (4, 4), [("line", f"{SHORT}4")] * 2),
    (LENGTH_16, (1, 16), [("line", ONE), ("ring", LONG)]),
    (
        FULL_POD,
        (32, 8),
        [
            ("line", "test wraps only in the full pod, 32x16; this slice is 32x8"),
            ("line", "test wraps only in the full pod, 32x16; this slice is 32x8"),
        ],
    ),
]


@pytest.mark.parametrize(("kind", "shape", "expected"), WRAPS, ids=range(len(WRAPS)))
def test_wraparound_and_why(
    kind: Generation, shape: tuple[int, ...], expected: list[tuple[str, str]]
) -> None:
    topology = slice_topology(kind, shape)
    assert [(d.kind.value, d.reason) for d in topology.dimensions] == expected
    assert topology.shape == shape
    assert topology.name == f"test:{'x'.join(map(str, shape))}"
    assert [d.name for d in topology.dimensions] == ["x", "y", "z"][: len(shape)]


# pods

FITS = [
    (CUBES, (16, 16, 24), True),
    # whichever way it is turned
    (CUBES, (24, 16, 16), True),
    (CUBES, (16, 24), True),
    (CUBES, (24, 24, 4), False),
    (CUBES, (28, 4, 4), False),
    (LENGTH_16, (16, 16), True),
    (LENGTH_16, (32, 8), False),
    (LENGTH_16, (17, 1), False),
    # without a shape of its own, a pod is a number of chips
    (generation(WrapRule.CUBES, 3, None, 64), (64, 1, 1), True),
    (generation(WrapRule.CUBES, 3, None, 64), (4, 4, 5), False),
    # the shape would fit, the chips are too many
    (generation(WrapRule.CUBES, 3, (16, 16, 24), 4096), (16, 16, 24), False),
]


@pytest.mark.parametrize(("kind", "shape", "inside"), FITS, ids=range(len(FITS)))
def test_fits(kind: Generation, shape: tuple[int, ...], inside: bool) -> None:
    assert fits(shape, kind) is inside


ERRORS = [
    (
        LENGTH_16,
        (4, 4, 4),
        "test:4x4x4 has 3 dimensions; test slices have 2 at most",
        "write 2 sizes, such as test:4x4",
    ),
    (
        LENGTH_16,
        (17, 1),
        "test:17x1 is larger than a test pod (16x16)",
        "choose a shape inside the pod, or describe a cluster of your own in a YAML file",
    ),
    (
        generation(WrapRule.CUBES, 3, None, 9216),
        (100, 100, 1),
        "test:100x100x1 is larger than a test pod (9,216 chips)",
        "choose a shape inside the pod, or describe a cluster of your own in a YAML file",
    ),
]


@pytest.mark.parametrize(("kind", "shape", "message", "hint"), ERRORS, ids=range(len(ERRORS)))
def test_slices_that_do_not_exist(
    kind: Generation, shape: tuple[int, ...], message: str, hint: str
) -> None:
    with pytest.raises(TopologyError) as caught:
        slice_topology(kind, shape)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_both_directions_of_a_cable() -> None:
    assert LINK.bidirectional_bandwidth == 90 * 10**9
