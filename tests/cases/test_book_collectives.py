"""Figures of "How to Scale Your Model" that one collective answers, printed and exact.

The printed figure is rounded by the book, and some were worked out with rounded bytes, so the
first-order seconds (`book_seconds`) are held to it within the book's rounding; the exact figure is
the bandwidth term of the closed form, which the simulation of the same collective agrees with.
What tests/book has of the chapter "Sharded Matrices" is not repeated.

Not covered, with the question:

- How many bytes a node's switch sends in an AllGather, or gets in an AllReduce that it adds (GPU
  chapter, quiz 4, questions 1 and 2). In the book each chip keeps its part of the sum to itself,
  and the switch gets B N; here a port carries all of the array and the chip's part of the sums,
  9/8 B, as in NVIDIA/nccl-tests issue 212.
- Bandwidths of spine switches as such, and of AllReduces that they add (quiz 3, and quiz 4,
  question 4).
- AllToAll with ragged or random parts (the appendix of the GPU chapter).
- Loading from the host (TPU chapter, question 6), which is no collective; its gather is here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import shardsim as ss
from shardsim.catalogue import find_topology
from shardsim.comparison import send_calls
from shardsim.vocabulary import Relation, Schedule, TransferKind
from tests.cases.figures import (
    A2A,
    AG,
    AR,
    GB,
    MS,
    RS,
    US,
    near,
    price,
    run,
    shows,
)

BF16 = 2
HALF_PERCENT = 0.005


# Chapter "How to Think About TPUs", question 5: 16 MiB from corner to corner of a v5e 4x4.


def corner_to_corner(ways: int, chunks: int) -> Any:
    topology = find_topology("v5e:4x4")
    return send_calls(
        topology, (0, 0), (3, 3), Fraction(2048 * 4096 * BF16), ways=ways, chunks=chunks
    )


def test_the_first_byte_takes_six_hops() -> None:
    found = corner_to_corner(2, 1)
    assert found.price.exact.latency == 6 * US


def test_two_ways_that_share_no_link() -> None:
    """V/2w = 186.41 us and six hops are 192.4 us, which many chunks come to; printed as 194."""
    chunks, hops = 512, 6
    found = corner_to_corner(2, chunks)
    assert found.price.relation is Relation.EQUAL
    assert found.simulated == found.price.exact.total
    limit = found.price.exact.bandwidth * chunks / (chunks + hops - 1)
    assert shows(limit, "186.41")
    assert shows(limit + hops * US, "192.414")
    assert near((limit + hops * US) / US, 194, 0.01)
    assert near(found.simulated / US, 192.414, 0.01)


def test_one_way_takes_twice_the_bytes_and_storing_all_of_them_six_times() -> None:
    assert near(corner_to_corner(1, 512).price.exact.bandwidth / US, 2 * 186.41, 0.01)
    assert shows(corner_to_corner(2, 1).price.exact.bandwidth, "1118.5")


# The same chapter, question 6: 15/16 of int8[131072, 131072] into a corner of a v5e 4x4.


@pytest.mark.parametrize(
    ("size", "figure"), [(16 * 10**9, "166.667"), (2**34, "178.957")], ids=["16 GB", "16 GiB"]
)
def test_a_gather_into_a_corner(size: int, figure: str) -> None:
    """The corner has two links. The printed 167 ms, thought hard to reach, can be reached."""
    found = run(TransferKind.GATHER, size, "v5e:4x4")
    assert shows(found.price.exact.bandwidth, figure, MS)
    assert near(found.simulated / MS, figure, 0.0001)


# Chapter "Sharded Matrices", question 2 and its asides: idle axes of a v4 4x4x4 help.

IDLE = [
    # axes, V, printed, first order, exact
    ("XZ", 1024 * 4096 * BF16 // 4, 11.5, "11.651", "10.923"),
    ("XYZ", 1024 * 4096 * BF16, 31, "31.069", "30.583"),
]


@pytest.mark.parametrize(("axes", "size", "printed", "book", "exact"), IDLE)
def test_idle_axes_carry_too(axes: str, size: int, printed: float, book: str, exact: str) -> None:
    found = run(AG, size, "v4:4x4x4", axes)
    assert near(found.price.book / US, printed, 0.02)
    assert shows(found.price.book, book)
    assert shows(found.price.exact.bandwidth, exact)
    assert found.simulated == found.price.exact.total


# The same chapter: what no AllGather over all axes can beat, (1 - 1/N) V over all links of a chip.


def test_three_axes_of_a_torus() -> None:
    for kind in (AG, RS):
        assert shows(price(kind, 10**9, "v4:4x4x4").exact.bandwidth, "3.64583", MS)


def test_two_axes_of_a_torus() -> None:
    assert shows(run(AG, 10**9, "v4:4x4x4", "XY").price.exact.bandwidth, "5.20833", MS)


# The same chapter, AllToAll over several axes, V max(N_i) / (4 N W). The book has no figures.


@pytest.mark.parametrize("shape", ["v4:4x4x4", "v5e:16x16"])
def test_all_to_all_on_a_torus(shape: str) -> None:
    found = price(A2A, 10**9, shape)
    assert shows(found.exact.bandwidth, "173.611")


# The same chapter, questions 5 and 7, of which the book answers a part.


def test_question_5_gathering_the_result_over_all_axes() -> None:
    found = price(AG, 8192 * 8192 * BF16, "v4:4x4x4")
    assert shows(found.book, "497.103")
    assert shows(found.exact.bandwidth, "489.335")


def test_question_7_activations_or_weights() -> None:
    """2x2 of a v5e has one link a dimension: 35.0 us for activations, 8.95 ms for weights."""
    activations, weights = 128 * 8192 * BF16, 8192 * 32768 * BF16
    found = [run(kind, activations, "v5e:2x2").price.exact.bandwidth for kind in (AG, RS)]
    assert shows(sum(found, Fraction(0)), "34.9525")
    assert shows(2 * run(AG, weights, "v5e:2x2").price.exact.bandwidth, "8.94785", MS)


# Chapter "Inference", appendix C: an 8-way collective below 360 kB is bound by latency.


def test_where_an_8_way_collective_is_bound_by_latency() -> None:
    def book(size: int) -> Fraction:
        return run(AG, size, "ring-of-8").price.book

    assert book(1) == book(360_000) == 4 * US
    assert book(360_001) > 4 * US
    assert book(720_000) == 8 * US


# Chapter "GPUs", quiz 2, question 3: AllGather of bf16[4096, 65536] in an H100 node.

IN_A_NODE = [
    # V, printed first order, printed exact
    (4096 * 65536 * BF16, 1190, "1043.92", 1040),
    # collectives, pop quiz 1: bf16[1024, 16384]; exact is ours
    (1024 * 16384 * BF16, 75, "65.245", 65.2),
]


@pytest.mark.parametrize(("size", "first_order", "exact", "printed"), IN_A_NODE)
def test_all_gather_in_a_node(size: int, first_order: int, exact: str, printed: float) -> None:
    found = run(AG, size, "h100:8")
    assert near(found.price.book / US, first_order, 0.01)
    assert shows(found.price.exact.bandwidth, exact)
    assert near(found.price.exact.bandwidth / US, printed, HALF_PERCENT)
    assert found.simulated == found.price.exact.total


def test_all_reduce_in_a_node_is_twice_that() -> None:
    once, twice = (run(kind, 2**29, "h100:8").price for kind in (AG, AR))
    assert twice.book == 2 * once.book
    assert twice.exact.bandwidth == 2 * once.exact.bandwidth


def test_all_to_all_in_a_node() -> None:
    """Collectives, pop quiz 2: V (N-1) / (W N^2), with V = 1 GB of ours."""
    assert shows(run(A2A, 10**9, "h100:8").price.exact.bandwidth, "243.056")


# The same chapter: bandwidths by level, N w / (N-1), of an AllGather over 1024 GPUs.

SUPERPOD = {
    "name": "1024 GPUs",
    "chip": "h100",
    "dimensions": [
        # 12.8 TB/s of a unit of 256 GPUs to the spine, and 400 GB/s of a node of 8: 50 GB/s a GPU
        {"name": "unit", "size": 4, "kind": "switch", "bandwidth": "50 GB/s", "latency": 0},
        {"name": "node", "size": 32, "kind": "switch", "bandwidth": "50 GB/s", "latency": 0},
        {"name": "gpu", "size": 8, "kind": "switch", "bandwidth": "450 GB/s", "latency": 0},
    ],
}
LEVELS = [
    # axis, GPUs that share the level's bandwidth, printed GB/s, to six digits
    ("Z", 1, 514, "514.286"),
    ("Y", 8, 413, "412.903"),
    ("X", 256, 17_100, "17066.7"),
]


@pytest.mark.parametrize(("axis", "spread", "printed", "figure"), LEVELS)
def test_bandwidth_of_a_level(axis: str, spread: int, printed: int, figure: str) -> None:
    array = Fraction(10**9)
    for kind in (AG, RS):
        bandwidth = array / price(kind, array / spread, SUPERPOD, axis).exact.total
        assert near(bandwidth / GB, printed, HALF_PERCENT)
        assert shows(bandwidth, figure, GB)


def test_the_slowest_level_is_what_many_chunks_come_to() -> None:
    """The printed 413 GB/s take all levels at work together; one after the other it is 226."""
    array = Fraction(10**9)
    row = Schedule.SEQUENTIAL
    alone = array / price(AG, array, SUPERPOD, schedule=row).exact.total
    many = array / price(AG, array, SUPERPOD, schedule=row, chunks=256).exact.total
    assert near(alone / GB, 226, HALF_PERCENT)
    assert near(many / GB, 413, 0.01)
    assert many < Fraction("412.904") * GB
    # first order, without N / (N-1): 400 GB/s of a node
    assert array / price(AG, array, SUPERPOD).book == 400 * GB


def test_between_two_nodes() -> None:
    """Quiz 4, question 5: 514 GB/s inside and 800 GB/s between; in a row 313."""
    array = Fraction(10**9)
    inside = array / run(AG, array, "h100:2x8", "Y").price.exact.bandwidth
    between = array / run(AG, array / 8, "h100:2x8", "X").price.exact.bandwidth
    assert near(inside / GB, 514, 0.001)
    assert between == 800 * GB
    both = array / run(AG, array, "h100:2x8").price.exact.bandwidth
    assert shows(both, "313", GB)
    assert 1 / both == 1 / inside + 1 / between
    assert array / price(AG, array, "h100:2x8").book == 400 * GB


def test_between_32_nodes() -> None:
    """Quiz 4, question 1: B (M-1)/M over 400 GB/s of a node, 2.42 ms for 1 GB."""
    found = price(AG, Fraction(10**9) / 8, "h100:32x8", "X")
    assert shows(found.exact.bandwidth, "2.42188", MS)
    assert shows(price(AG, 10**9, "h100:32x8").book, "2.50", MS)


def test_pop_quiz_3() -> None:
    """AllGather over 32 nodes of bf16[D_X, F_Y], Y = 8 GPUs: all NICs of a node work, 1.30 ms."""
    plan = ss.plan(
        "AllGather_X A[D_X, F_Y]",
        topology="h100:32x8",
        mesh={"X": 32, "Y": 8},
        dims={"D": 8192, "F": 32768},
    )
    (entry,) = plan.to_dict()["steps"]
    assert entry["bytes"] == 8192 * 32768 * BF16 // 8
    found = price(AG, entry["bytes"], "h100:32x8", "X")
    assert shows(found.exact.bandwidth, "1.30023", MS)
