"""The closed forms against tables worked by hand.

Everywhere V = 480 bytes and w = 10 bytes/s, so V/w is 48 s: a block of four is 12 s, a block of an
AllToAll over four (V/16) is 3 s.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.cost import CostModel, Terms
from shardsim.cost.book import book_seconds
from shardsim.cost.exact import exact_terms, relation
from shardsim.cost.terms import sum_of_largest
from shardsim.cost.wire import wire_bytes
from shardsim.errors import TopologyError
from shardsim.hardware import Link
from shardsim.vocabulary import Algorithm, CollectiveKind, Dtype, LatencyModel
from tests.machines import CHIP, RING_ALGORITHMS, machine, mesh_of

V = Fraction(480)
KINDS = {
    "AG": CollectiveKind.ALL_GATHER,
    "RS": CollectiveKind.REDUCE_SCATTER,
    "AR": CollectiveKind.ALL_REDUCE,
    "A2A": CollectiveKind.ALL_TO_ALL,
}


def link(latency: Fraction | int) -> Link:
    return Link(Fraction(10), Fraction(latency))


HALF = Fraction(1, 2)

ADDITIVE = [
    # kind, algorithm, N, a; bandwidth term, latency term
    # AllGather: three blocks of 12 over two links; two hops
    ("AG", "balanced", 4, HALF, 18, 1),
    # two whole blocks on the busier link
    ("AG", "whole_shards", 4, HALF, 24, 1),
    # three half blocks each way, three hops
    ("AG", "half_shards", 4, HALF, 18, 3 * HALF),
    ("AG", "one_direction", 4, HALF, 36, 3 * HALF),
    ("AG", "line", 4, HALF, 36, 3 * HALF),
    # N = 5: blocks of 48/5; two whole ones each way
    ("AG", "balanced", 5, HALF, Fraction(96, 5), 1),
    ("AG", "whole_shards", 5, HALF, Fraction(96, 5), 1),
    ("AG", "half_shards", 5, HALF, Fraction(96, 5), 2),
    ("AG", "line", 5, HALF, Fraction(192, 5), 2),
    # N = 2: one block of 24, in halves over two cables, or whole
    ("AG", "balanced", 2, HALF, 12, HALF),
    ("AG", "whole_shards", 2, HALF, 24, HALF),
    ("AG", "half_shards", 2, HALF, 12, HALF),
    ("AG", "line", 2, HALF, 24, HALF),
    # N = 3: one block of 16 each way
    ("AG", "balanced", 3, HALF, 16, HALF),
    ("RS", "balanced", 4, HALF, 18, 1),
    ("RS", "line", 4, HALF, 36, 3 * HALF),
    # AllReduce: both, one after the other
    ("AR", "balanced", 4, HALF, 36, 2),
    ("AR", "line", 4, HALF, 72, 3),
    # AllToAll: on the busier link 1 1/2 + 1/2 blocks of 3; 2 + 1; 1 1/2 + 1 + 1/2; 3 + 2 + 1
    ("A2A", "balanced", 4, HALF, 6, 1),
    ("A2A", "whole_shards", 4, HALF, 9, 1),
    ("A2A", "half_shards", 4, HALF, 9, 3 * HALF),
    ("A2A", "one_direction", 4, HALF, 18, 3 * HALF),
    # four blocks cross the middle of the line, then one hop: 12 1/2; the longest way is 3 hops of
    # 3 1/2 = 10 1/2
    ("A2A", "line", 4, HALF, 12, HALF),
    # with a = 10 the longest way counts: 3 hops of 3 + 10 = 39, against 12 + 10
    ("A2A", "line", 4, 10, 9, 30),
    # N = 5: blocks of 48/25; 2 + 1 = 3 each way; 2 x 3 = 6 across the middle
    ("A2A", "balanced", 5, HALF, Fraction(144, 25), 1),
    ("A2A", "whole_shards", 5, HALF, Fraction(144, 25), 1),
    ("A2A", "line", 5, HALF, Fraction(288, 25), HALF),
    # N = 2: a block of 12 in halves, or whole
    ("A2A", "balanced", 2, HALF, 6, HALF),
    ("A2A", "whole_shards", 2, HALF, 12, HALF),
    ("A2A", "line", 2, HALF, 12, HALF),
    # N = 3: blocks of 16/3; two cross a link of the line; its longest way is two hops
    ("A2A", "line", 3, HALF, Fraction(32, 3), 1),
]


@pytest.mark.parametrize(
    ("kind", "algorithm", "n", "latency", "bandwidth_term", "latency_term"), ADDITIVE
)
def test_additive(
    kind: str, algorithm: str, n: int, latency: Fraction, bandwidth_term: Fraction,
    latency_term: Fraction,
) -> None:  # fmt: skip
    found = exact_terms(
        KINDS[kind], V, n, link(latency), Algorithm(algorithm), LatencyModel.ADDITIVE
    )
    assert found == Terms(Fraction(bandwidth_term), Fraction(latency_term))
    assert found.total == bandwidth_term + latency_term


FLOOR = [
    # kind, algorithm, N, a; bandwidth term, latency term: each message takes max(a, bytes / w)
    # a block of 12 s, then half a block: 6 s, raised to 7
    ("AG", "balanced", 4, 7, 12, 7),
    ("AG", "whole_shards", 4, 7, 24, 0),
    ("AG", "half_shards", 4, 7, 0, 21),
    ("AG", "one_direction", 4, 7, 36, 0),
    ("AG", "line", 4, 13, 0, 39),
    # a block just as long as the latency counts as latency
    ("AG", "line", 4, 12, 0, 36),
    ("AG", "balanced", 5, 7, Fraction(96, 5), 0),
    ("AR", "balanced", 4, 7, 24, 14),
    # messages of 4 1/2 and 1 1/2 s; 6 and 3; 4 1/2, 3 and 1 1/2; 9, 6 and 3: none below 4
    ("A2A", "balanced", 4, 4, 9 * HALF, 4),
    ("A2A", "whole_shards", 4, 4, 6, 4),
    ("A2A", "half_shards", 4, 4, 9 * HALF, 8),
    ("A2A", "one_direction", 4, 4, 15, 4),
    # four messages of 3 s across the middle of the line
    ("A2A", "line", 4, 4, 0, 16),
    ("A2A", "line", 4, 2, 12, 0),
]


@pytest.mark.parametrize(
    ("kind", "algorithm", "n", "latency", "bandwidth_term", "latency_term"), FLOOR
)
def test_floor(
    kind: str, algorithm: str, n: int, latency: Fraction, bandwidth_term: Fraction,
    latency_term: Fraction,
) -> None:  # fmt: skip
    found = exact_terms(KINDS[kind], V, n, link(latency), Algorithm(algorithm), LatencyModel.FLOOR)
    assert found == Terms(Fraction(bandwidth_term), Fraction(latency_term))


BOOK = [
    # V/W = 24 s; a ring of N has N/2 hops, "technically" rounded up
    ("AG", 4, 1, 24),
    ("RS", 4, 1, 24),
    ("AR", 4, 1, 48),
    ("A2A", 4, 1, 6),
    ("AG", 16, 1, 24),
    # latency-bound: N/2 hops of 100 s
    ("AG", 4, 100, 200),
    ("AR", 4, 100, 400),
    ("A2A", 4, 100, 200),
    ("AG", 5, 100, 250),
    # 6 s of bytes, 8 of latency
    ("A2A", 16, 1, 8),
]


@pytest.mark.parametrize(("kind", "n", "latency", "seconds"), BOOK)
def test_book(kind: str, n: int, latency: int, seconds: int) -> None:
    assert book_seconds(KINDS[kind], V, n, link(latency)) == seconds


WIRE = [
    # kind, algorithm, N, bytes that leave the busiest chip
    # three of four blocks of 120 leave each chip of a ring
    *(("AG", algorithm.value, 4, 360) for algorithm in RING_ALGORITHMS),
    ("RS", "balanced", 4, 360),
    ("AR", "balanced", 4, 720),
    # inside a line a chip sends its own block both ways and passes three others on: 5 blocks
    ("AG", "line", 4, 600),
    ("AG", "line", 5, 576),
    ("AG", "line", 2, 240),
    ("RS", "line", 4, 360),
    ("AR", "line", 4, 960),
    # blocks of 30: 1 1/2 + 1/2 each way; 3 + 1; 6 in all
    ("A2A", "balanced", 4, 120),
    ("A2A", "whole_shards", 4, 120),
    ("A2A", "half_shards", 4, 180),
    ("A2A", "one_direction", 4, 180),
    # blocks of 19.2: 3 each way
    ("A2A", "balanced", 5, Fraction(576, 5)),
    # line of 4, second chip: 4 blocks up (two of its own, two passed on) and 3 down
    ("A2A", "line", 4, 210),
    # line of 5, middle chip: 6 each way, of 19.2
    ("A2A", "line", 5, Fraction(1152, 5)),
    # line of 3, middle chip: 2 each way, of 160/3
    ("A2A", "line", 3, Fraction(640, 3)),
    ("A2A", "line", 2, 120),
]


@pytest.mark.parametrize(("kind", "algorithm", "n", "size"), WIRE)
def test_bytes_on_the_wire(kind: str, algorithm: str, n: int, size: Fraction) -> None:
    assert wire_bytes(KINDS[kind], V, n, Algorithm(algorithm)) == size


@pytest.mark.parametrize("model", LatencyModel)
@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("kind", CollectiveKind)
def test_one_chip_costs_nothing(
    kind: CollectiveKind, algorithm: Algorithm, model: LatencyModel
) -> None:
    assert exact_terms(kind, V, 1, link(1), algorithm, model) == Terms(Fraction(0), Fraction(0))
    assert book_seconds(kind, V, 1, link(1)) == 0
    assert wire_bytes(kind, V, 1, algorithm) == 0


RELATIONS = [
    # only AllToAll on a line of four or more, with additive latency, has a bound instead of a time
    ("A2A", "line", 4, 1, "additive", "lower_bound"),
    ("A2A", "line", 3, 1, "additive", "equal"),
    ("A2A", "line", 4, 0, "additive", "equal"),
    ("A2A", "line", 4, 1, "floor", "equal"),
    ("A2A", "balanced", 4, 1, "additive", "equal"),
    ("AG", "line", 4, 1, "additive", "equal"),
    ("AR", "line", 64, 1, "additive", "equal"),
]


@pytest.mark.parametrize(("kind", "algorithm", "n", "latency", "model", "expected"), RELATIONS)
def test_relation_to_the_simulation(
    kind: str, algorithm: str, n: int, latency: int, model: str, expected: str
) -> None:
    found = relation(KINDS[kind], n, link(latency), Algorithm(algorithm), LatencyModel(model))
    assert found.value == expected


def test_sum_of_largest() -> None:
    # max(5, 1/2 x 2), max(5, 3/2 x 2), max(5, 5/2 x 2), max(5, 7/2 x 2): 5 + 5 + 5 + 7, the third
    # equal by either term and counted as bandwidth
    assert sum_of_largest(HALF, 4, Fraction(2), Fraction(5)) == Terms(Fraction(12), Fraction(10))
    assert sum_of_largest(HALF, 4, Fraction(2), Fraction(99)) == Terms(Fraction(0), Fraction(396))
    assert sum_of_largest(HALF, 4, Fraction(2), Fraction(0)) == Terms(Fraction(16), Fraction(0))
    assert sum_of_largest(HALF, 0, Fraction(2), Fraction(5)) == Terms(Fraction(0), Fraction(0))


def test_the_price_of_a_collective() -> None:
    axis = mesh_of(machine((4, "ring"), link=link(HALF))).axis("X")
    price = CostModel().collective(CollectiveKind.ALL_GATHER, V, axis, Algorithm.BALANCED)
    assert price.book == 24
    assert price.exact == Terms(Fraction(18), Fraction(1))
    assert price.wire_bytes == 360
    assert price.relation.value == "equal"


ROOFLINE = [
    # The chip does 10^14 FLOP/s in bf16, twice that in int8, and reads 10^12 bytes/s
    (3 * 10**14, 10**12, "bf16", 3, 1, 3),
    (3 * 10**14, 10**12, "int8", Fraction(3, 2), 1, Fraction(3, 2)),
    (10**14, 5 * 10**12, "bf16", 1, 5, 5),
]


@pytest.mark.parametrize(("flops", "traffic", "dtype", "compute", "memory", "seconds"), ROOFLINE)
def test_the_price_of_a_matmul(
    flops: int, traffic: int, dtype: str, compute: Fraction, memory: Fraction, seconds: Fraction
) -> None:
    price = CostModel().matmul(flops, Fraction(traffic), Dtype(dtype), CHIP)
    assert (price.compute, price.memory, price.seconds) == (compute, memory, seconds)


def test_a_chip_without_a_figure_for_the_dtype() -> None:
    with pytest.raises(TopologyError) as caught:
        CostModel().matmul(1, Fraction(1), Dtype.F32, CHIP)
    assert caught.value.message == "chip test has no peak FLOP/s for f32; it has bf16, int8"
    assert caught.value.hint == (
        "choose one of these dtypes, or give the chip a figure of its own in a topology file"
    )
