"""What follows for a machine as a whole, and what crosses its middle."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.catalogue import chip_names, facts, find_topology, one_chip
from shardsim.catalogue.bisection import bisection, links_together
from shardsim.hardware import Link
from shardsim.topology import Topology
from tests.command_line import command
from tests.machines import machine

FAST = {"like": "v5e:16x16", "bandwidth": "50 GB/s"}
KNOWN = [
    ("v5p:16x20x28", "chips", 8960),
    ("v5p:16x20x28", "bf16_flops_per_second", 4.11264e18),
    ("v5p:16x20x28", "hosts", 2240),
    ("v5p:16x20x28", "cores", 17920),
    ("v5e:16x16", "hosts", 32),
    ("v5e:16x16", "chips_per_host", 8),
    ("v5e:16x16", "hbm_capacity_bytes", 4.096e12),
    ("v5e:16x16", "hbm_bandwidth_bytes_per_second", 256 * 820e9),
    ("v5e:4x4", "hosts", 2),
    ("v5e:1", "hosts", 1),
    ("v5p", "vector_flops_per_second_per_core", 7.168e12),
    ("v5p", "vector_flops_per_second", 14.336e12),
    ("v5p", "vector_alus", 8192),
    ("v5p", "vmem_bytes", 2**27),
    ("v5p", "dcn_bytes_per_second_per_chip", 6.25e9),
    ("h100", "vector_alus", 16896),
    ("b200", "vector_alus", 18944),
    ("h100", "smem_bytes", 33.792e6),
    ("b200", "tmem_bytes", 148 * 256e3),
    ("h100:8", "l2_bytes", 400e6),
    ("b200", "l2_bytes", 126e6),
    (FAST, "bisection_bytes_per_second", 1.6e12),
    (FAST, "links_bytes_per_second", 51.2e12),
    ("v5e:16x16", "bisection_bytes_per_second", 1.44e12),
    ({"like": "v6e:16x16", "bandwidth": "100 GB/s"}, "bisection_bytes_per_second", 3.2e12),
    ("v4:16x16x16", "bisection_bytes_per_second", 23.04e12),
    ("v5e", "flops_per_dollar", 5.91e17),
    ("v5e", "int8_flops_per_dollar", 2 * 5.91e17),
    ("v5e:4x4", "usd_per_hour", 19.2),
    ("h100:8", "usd_per_hour", 86.4),
    ("h100:8", "node_bandwidth_bytes_per_second", 3.6e12),
    ("h100:8", "node_gpus_bytes_per_second", 3.6e12),
    ("a100:8", "node_bandwidth_bytes_per_second", 2.4e12),
    ("h100:8", "node_switches_bytes_per_second", 6.4e12),
    ("h100:8", "node_egress_bytes_per_second", 400e9),
    ("gb200:72", "node_egress_bytes_per_second", 3.6e12),
    ("h100:4x8", "nodes", 4),
    ("h100", "unit_to_spine_bytes_per_second", 12.8e12),
    ("h100", "spine_bytes_per_second", 51.2e12),
    ("h100", "spine_bytes_per_second_per_unit", 12.8e12),
    ("h100", "switch_bytes_per_second", 3.2e12),
    ("h100", "switches", 560),
    ("h100", "scale_out_gpus", 1024),
    ("h100", "gpus_per_unit", 256),
    # nodes of 8: the NICs are the narrowest, whatever is longer
    ("h100:4x8", "bisection_bytes_per_second", 2 * 8 * 50e9),
    ("2*v5e:16x16", "bisection_bytes_per_second", 256 * 3.125e9),
    ("h100:8", "bisection_bytes_per_second", 4 * 450e9),
]  # fmt: skip


@pytest.mark.parametrize(("on", "name", "value"), KNOWN)
def test_known_answers(on: object, name: str, value: float) -> None:
    found = facts(one_chip(on))[name]  # type: ignore[arg-type]
    assert found == Fraction(repr(value))


def test_what_no_figure_is_there_for_is_left_out() -> None:
    assert not {"vector_alus", "vmem_bytes", "usd_per_hour"} & set(facts(one_chip("7x")))
    assert "hosts" not in facts(one_chip("v2"))
    assert "node_bandwidth_bytes_per_second" not in facts(one_chip("v100"))
    assert "bisection_bytes_per_second" not in facts(one_chip("v5e"))
    assert "switches" not in facts(one_chip("b200"))
    own = {"name": "c", "flops_per_second": {"bf16": 1e14}, "hbm_bandwidth": 1e12}
    dimension = {"name": "x", "size": 2, "kind": "line", "bandwidth": "1 GB/s"}
    topology = find_topology({"chip": {**own, "hbm_capacity": 1e9}, "dimensions": [dimension]})
    assert set(facts(topology)) == {
        "chips", "bf16_flops_per_second", "hbm_capacity_bytes", "hbm_bandwidth_bytes_per_second",
        "bisection_bytes_per_second", "links_bytes_per_second",
    }  # fmt: skip


def test_no_fact_has_two_names() -> None:
    for name in chip_names():
        found = facts(one_chip(name))
        assert "scratchpad_bytes" not in found
        assert "bf16_flops_per_dollar" not in found
        assert ("node_gpus_bytes_per_second" in found) == (
            "node_switches_bytes_per_second" in found
        )


def test_facts_follow_changed_figures() -> None:
    changed = {
        "like": "h100:8",
        "bandwidth": "100 GB/s",
        "chip": {"cores": 66, "price": "5.4 USD/h", "clock": "1 GHz"},
    }
    before, after = facts(find_topology("h100:8")), facts(find_topology(changed))
    assert after["node_gpus_bytes_per_second"] == 800 * 10**9
    assert after["node_egress_bytes_per_second"] == before["node_egress_bytes_per_second"]
    assert after["smem_bytes"] * 2 == before["smem_bytes"]
    assert after["flops_per_dollar"] == 2 * before["flops_per_dollar"]
    assert after["vector_flops_per_second"] == 8 * 66 * 128 * 10**9


@given(st.sampled_from(["v5e:4x4", "v5e:16x16", "v4:4x4x4", "h100:2x8"]), st.integers(1, 9))
def test_totals_grow_with_the_chips(reference: str, times: int) -> None:
    one, many = find_topology(reference), facts(find_topology(reference))
    alone = facts(one_chip(reference.partition(":")[0]))
    for name in ("bf16_flops_per_second", "hbm_capacity_bytes", "cores"):
        assert many[name] == one.size * alone[name]
    slow = {"like": reference, "bandwidth": 10**9}
    fast = {"like": reference, "bandwidth": times * 10**9}
    for name in ("bisection_bytes_per_second", "links_bytes_per_second"):
        if "x8" not in reference:
            assert facts(find_topology(fast))[name] == times * facts(find_topology(slow))[name]


# The cut, beside networkx.

GRIDS = st.lists(
    st.tuples(st.integers(1, 6), st.sampled_from(["ring", "line"])), min_size=1, max_size=3
).filter(lambda dims: 2 <= math.prod(size for size, _ in dims) <= 36)


def flow(topology: Topology, index: int) -> Fraction:
    """The smallest cut between the first plane of a dimension and the one across it."""
    graph = nx.DiGraph()
    for start, end, data in topology.graph().edges(data=True):
        rate = data["link"].one_way_bandwidth
        known = graph.get_edge_data(start, end, {"capacity": 0})["capacity"]
        graph.add_edge(start, end, capacity=known + rate)
    dimension = topology.dimensions[index]
    across = dimension.size - 1 if dimension.kind.value == "line" else dimension.size // 2
    for chip in topology.coordinates():
        if chip[index] == 0:
            graph.add_edge("from", chip)
        elif chip[index] == across:
            graph.add_edge(chip, "to")
    value, _ = nx.minimum_cut(graph, "from", "to")
    return Fraction(value)


@given(GRIDS, st.integers(1, 100))
def test_the_least_of_the_smallest_cuts(dims: list[tuple[int, str]], rate: int) -> None:
    topology = machine(*dims, link=Link(Fraction(rate), Fraction(0)))
    wide = [index for index, size in enumerate(topology.shape) if size > 1]
    assert bisection(topology) == min(flow(topology, index) for index in wide)


@pytest.mark.parametrize(
    "dims",
    [
        [(4, "line"), (2, "line")],
        [(4, "ring"), (2, "line")],
        [(6, "ring"), (2, "line")],
        [(8, "line")],
        [(8, "ring")],
        [(3, "ring"), (4, "ring")],
        [(2, "line"), (2, "line"), (2, "line")],
    ],
)
def test_no_other_halves_are_cheaper_to_cut(dims: list[tuple[int, str]]) -> None:
    topology = machine(*dims, link=Link(Fraction(1), Fraction(0)))
    graph = topology.graph()
    chips = list(topology.coordinates())
    halves = itertools.combinations(chips, len(chips) // 2)
    least = min(
        sum(1 for a, b in graph.edges() if a in half and b not in half) for half in map(set, halves)
    )
    assert bisection(topology) == least


@given(GRIDS)
def test_all_links_are_the_edges_of_the_graph(dims: list[tuple[int, str]]) -> None:
    topology = machine(*dims, link=Link(Fraction(3), Fraction(0)))
    assert links_together(topology) == 3 * topology.graph().number_of_edges()


@given(GRIDS, st.data())
def test_links_that_differ_count_for_what_they_are(
    dims: list[tuple[int, str]], data: st.DataObject
) -> None:
    plain = machine(*dims, link=Link(Fraction(10), Fraction(0)))
    keys = [
        (chip, (index, way))
        for chip in plain.coordinates()
        for index in range(len(plain.shape))
        for way in (+1, -1)
        if plain.link(chip, (index, way)) is not None
    ]
    chip, key = data.draw(st.sampled_from(keys))
    rate = data.draw(st.sampled_from([4, 10, 25, None]))
    other = None if rate is None else Link(Fraction(rate), Fraction(0))
    topology = machine(*dims, link=Link(Fraction(10), Fraction(0)), changed=[((chip, key), other)])
    assert links_together(topology) == links_together(plain) - 10 + (rate or 0)
    before, after = bisection(plain), bisection(topology)
    assert before is not None
    assert after is not None
    assert after <= before if (rate or 0) <= 10 else after >= before


def test_a_slow_cable_across_the_middle() -> None:
    """4 x 4 lines of 45 GB/s; one cable of 15 GB/s along x between rows 1 and 2."""
    topology = find_topology("slow-link-4x4")
    assert bisection(topology) == (3 * 45 + 15) * 10**9


def test_a_slow_port() -> None:
    dims = [{"name": "gpu", "size": 4, "kind": "switch", "bandwidth": "10 GB/s"}]
    slow = {"chip": [0], "port": "out", "bandwidth": "4 GB/s"}
    topology = find_topology({"chip": "h100", "dimensions": dims, "overrides": [slow]})
    assert bisection(topology) == 14 * 10**9
    assert links_together(topology) == 74 * 10**9


def test_a_missing_chip() -> None:
    topology = machine((4, "line"), (2, "line"), missing=[(1, 0)])
    # along x one row of two is left across the middle; along y three columns have both chips
    assert bisection(topology) == topology.dimensions[0].link.one_way_bandwidth


def test_the_command_says_them() -> None:
    out = command("show", "v5e:16x16").out
    assert (
        "  all of it: bf16 50.4 PFLOP/s, HBM 4.10 TB = 3.73 TiB at 210 TB/s, 32 hosts\n"
        "  links: 46.1 TB/s all together; 1.44 TB/s from half to half, one way\n"
    ) in out
    assert ", 1 node\n" in command("show", "h100:8").out
