"""The closed forms against tables worked by hand.

Everywhere V = 480 bytes and w = 10 bytes/s, so V/w is 48 s: a block of four is 12 s, a block of an
AllToAll over four (V/16) is 3 s.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.call import Call
from shardsim.cost import CostModel, Terms
from shardsim.cost.book import book_seconds
from shardsim.cost.exact import all_gather, all_to_all
from shardsim.cost.relations import exact_terms, relation
from shardsim.cost.terms import sum_of_largest
from shardsim.cost.wire import wire_bytes
from shardsim.errors import TopologyError
from shardsim.hardware import Link
from shardsim.matmul import MatmulShape
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    Dtype,
    LatencyModel,
    TransferKind,
)
from tests.machines import CHIP, RING_ALGORITHMS, call_on, machine, mesh_of

V = Fraction(480)
KINDS: dict[str, CallKind] = {
    "AG": CollectiveKind.ALL_GATHER,
    "RS": CollectiveKind.REDUCE_SCATTER,
    "AR": CollectiveKind.ALL_REDUCE,
    "A2A": CollectiveKind.ALL_TO_ALL,
}
LINES = (Algorithm.LINE, Algorithm.REDUCE_BROADCAST)
SWITCHES = (Algorithm.DIRECT, Algorithm.RING, Algorithm.IN_NETWORK)


def link(latency: Fraction | int) -> Link:
    return Link(Fraction(10), Fraction(latency))


def fabric(algorithm: Algorithm) -> str:
    """What an algorithm is for."""
    return "line" if algorithm in LINES else "switch" if algorithm in SWITCHES else "ring"


def called(kind: CallKind, algorithm: Algorithm | str, n: int, under: Link, **more: int) -> Call:
    """A collective of V bytes over one ring, line or switch of n chips."""
    asked = Algorithm(algorithm)
    return call_on(
        machine((n, fabric(asked)), link=under, reduces=True),
        kind,
        V,
        algorithm=asked,
        **more,  # type: ignore[arg-type]
    )


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
    # a switch: three blocks of 12 leave one port, one behind the other, or one after the other
    ("AG", "direct", 4, HALF, 36, HALF),
    ("AG", "ring", 4, HALF, 36, 3 * HALF),
    ("RS", "direct", 4, HALF, 36, HALF),
    ("AR", "direct", 4, HALF, 72, 1),
    ("AR", "ring", 4, HALF, 72, 3),
    ("AG", "direct", 2, HALF, 24, HALF),
    # three blocks of 3; as a ring 3 + 2 + 1
    ("A2A", "direct", 4, HALF, 9, HALF),
    ("A2A", "ring", 4, HALF, 18, 3 * HALF),
    # a switch that adds: four blocks of 12 go up, then the last sum down, up, and down as a copy
    ("AR", "in_network", 4, HALF, 84, 1),
    # a line's sums in one piece: to the middle and back, 2 x 2 hops of 48; of 2 x 1
    ("AR", "reduce_broadcast", 4, HALF, 192, 2),
    ("AR", "reduce_broadcast", 5, HALF, 192, 2),
    ("AR", "reduce_broadcast", 3, HALF, 96, 1),
    ("AR", "reduce_broadcast", 2, HALF, 96, 1),
]


@pytest.mark.parametrize(
    ("kind", "algorithm", "n", "latency", "bandwidth_term", "latency_term"), ADDITIVE
)
def test_additive(
    kind: str, algorithm: str, n: int, latency: Fraction, bandwidth_term: Fraction,
    latency_term: Fraction,
) -> None:  # fmt: skip
    found = exact_terms(called(KINDS[kind], algorithm, n, link(latency)), LatencyModel.ADDITIVE)
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
    # at a switch three blocks of 12, or of 3
    ("AG", "direct", 4, 7, 36, 0),
    ("AG", "direct", 4, 13, 0, 39),
    ("AG", "ring", 4, 13, 0, 39),
    ("A2A", "direct", 4, 2, 9, 0),
    ("A2A", "direct", 4, 4, 0, 12),
    # 9, 6 and 3, the last raised to 4
    ("A2A", "ring", 4, 4, 15, 4),
    # seven messages of 12, or of half of the latency from chip to chip
    ("AR", "in_network", 4, 7, 84, 0),
    ("AR", "in_network", 4, 26, 0, 91),
    ("AR", "reduce_broadcast", 4, 7, 192, 0),
    ("AR", "reduce_broadcast", 4, 50, 0, 200),
]


@pytest.mark.parametrize(
    ("kind", "algorithm", "n", "latency", "bandwidth_term", "latency_term"), FLOOR
)
def test_floor(
    kind: str, algorithm: str, n: int, latency: Fraction, bandwidth_term: Fraction,
    latency_term: Fraction,
) -> None:  # fmt: skip
    found = exact_terms(called(KINDS[kind], algorithm, n, link(latency)), LatencyModel.FLOOR)
    assert found == Terms(Fraction(bandwidth_term), Fraction(latency_term))


# Other transfers, in chunks and otherwise: what is asked, bandwidth term, latency term.

TRANSFERS = [
    # a block of 12 by one hop; two the shorter way; on a line those at the end go three hops back
    (TransferKind.PERMUTE, "balanced", 4, {"shift": 1}, 12, HALF),
    (TransferKind.PERMUTE, "balanced", 4, {"shift": 3}, 12, HALF),
    (TransferKind.PERMUTE, "balanced", 4, {"shift": 2}, 24, 1),
    (TransferKind.PERMUTE, "balanced", 4, {"shift": 4}, 0, 0),
    (TransferKind.PERMUTE, "line", 4, {"shift": 1}, 36, 3 * HALF),
    (TransferKind.PERMUTE, "line", 4, {"shift": 2}, 24, 1),
    (TransferKind.PERMUTE, "direct", 4, {"shift": 2}, 12, HALF),
    # all 48 over three hops: 3 x 48; in three chunks of 16, 3 + 3 - 1 of them
    (TransferKind.SEND, "line", 4, {}, 144, 3 * HALF),
    (TransferKind.SEND, "line", 4, {"chunks": 3}, 80, 3 * HALF),
    (TransferKind.SEND, "line", 2, {"chunks": 3}, 48, HALF),
    # h = 4: 3 + 4 - 1 chunks of 16
    (CollectiveKind.ALL_REDUCE, "reduce_broadcast", 4, {"chunks": 3}, 96, 2),
    # blocks of 12 in chunks of 4: 12 copies and 3 sums into a port, after the first part of 4
    (CollectiveKind.ALL_REDUCE, "in_network", 4, {"chunks": 3}, 64, HALF),
    # to chip 1 of a line: one block from below, two from above, 12 each
    (TransferKind.GATHER, "line", 4, {"root": 1}, 24, 1),
    (TransferKind.GATHER, "line", 4, {"root": 3}, 36, 3 * HALF),
    # N = 4: 6 of the opposite chip comes behind the neighbour's 12
    (TransferKind.GATHER, "balanced", 4, {"root": 2}, 18, HALF),
    # N = 5: two blocks of 48/5 each way, the second passed on
    (TransferKind.GATHER, "balanced", 5, {"root": 2}, Fraction(96, 5), 1),
    (TransferKind.GATHER, "whole_shards", 4, {"root": 2}, 24, 1),
    (TransferKind.GATHER, "one_direction", 4, {"root": 2}, 36, 3 * HALF),
    # three blocks into one port
    (TransferKind.GATHER, "direct", 4, {"root": 2}, 36, HALF),
]


@pytest.mark.parametrize(
    ("kind", "algorithm", "n", "more", "bandwidth_term", "latency_term"), TRANSFERS
)
def test_transfers(
    kind: CallKind, algorithm: str, n: int, more: dict[str, int], bandwidth_term: Fraction,
    latency_term: Fraction,
) -> None:  # fmt: skip
    found = exact_terms(called(kind, algorithm, n, link(HALF), **more), LatencyModel.ADDITIVE)
    assert found == Terms(Fraction(bandwidth_term), Fraction(latency_term))


def test_a_gather_on_a_ring_where_latency_is_long() -> None:
    """The opposite chip's half, of 6, comes two hops of 10 after the start: 6 + 10 twice."""
    call = called(TransferKind.GATHER, "balanced", 4, link(10))
    assert exact_terms(call, LatencyModel.ADDITIVE) == Terms(Fraction(12), Fraction(20))


TRANSFERS_BY_FLOOR = [
    # hops of max(7, 12), max(13, 12)
    (TransferKind.PERMUTE, "balanced", 4, 7, {"shift": 2}, 24, 0),
    (TransferKind.PERMUTE, "balanced", 4, 13, {"shift": 2}, 0, 26),
    # five chunks of 16, or of 17
    (TransferKind.SEND, "line", 4, 15, {"chunks": 3}, 80, 0),
    (TransferKind.SEND, "line", 4, 17, {"chunks": 3}, 0, 85),
    (TransferKind.GATHER, "line", 4, 13, {"root": 1}, 0, 26),
]


@pytest.mark.parametrize(
    ("kind", "algorithm", "n", "latency", "more", "bandwidth_term", "latency_term"),
    TRANSFERS_BY_FLOOR,
)
def test_transfers_by_floor(
    kind: CallKind, algorithm: str, n: int, latency: int, more: dict[str, int],
    bandwidth_term: Fraction, latency_term: Fraction,
) -> None:  # fmt: skip
    found = exact_terms(called(kind, algorithm, n, link(latency), **more), LatencyModel.FLOOR)
    assert found == Terms(Fraction(bandwidth_term), Fraction(latency_term))


@pytest.mark.parametrize("model", LatencyModel)
@pytest.mark.parametrize("algorithm", [a for a in Algorithm if a not in SWITCHES[2:] + LINES[1:]])
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_the_forms_of_single_segments(n: int, algorithm: Algorithm, model: LatencyModel) -> None:
    """What a call over one segment costs; ReduceScatter as AllGather, AllReduce as the two."""
    gather = all_gather(V, n, link(HALF), algorithm, model)
    exchange = all_to_all(V, n, link(HALF), algorithm, model)
    forms = {"AG": gather, "RS": gather, "AR": gather + gather, "A2A": exchange}
    for kind, form in forms.items():
        assert form == exact_terms(called(KINDS[kind], algorithm, n, link(HALF)), model)


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
    call = called(KINDS[kind], Algorithm.BALANCED, n, link(latency))
    assert book_seconds(call.kind, V, call.group.segments) == seconds
    # the book takes a line for a ring
    line = called(KINDS[kind], Algorithm.LINE, n, link(latency))
    assert book_seconds(call.kind, V, line.group.segments) == seconds


BOOK_OF_SEVERAL = [
    # kind, (size, what), seconds: two rings of W = 20, so V/40; latencies of 2 + 2 hops
    ("AG", [(4, "ring"), (4, "ring")], [1, 1], 12),
    ("AR", [(4, "ring"), (4, "ring")], [1, 1], 24),
    ("A2A", [(4, "ring"), (4, "ring")], [1, 1], 4),
    # the longest ring counts: V max(N) / 4NW
    ("A2A", [(4, "ring"), (4, "ring")], [0, 0], Fraction(3, 2)),
    ("A2A", [(4, "ring"), (8, "line")], [0, 0], Fraction(3, 2)),
    ("A2A", [(2, "ring"), (8, "line"), (3, "ring")], [0, 0, 0], 1),
    ("AG", [(4, "ring"), (4, "ring")], [100, 100], 400),
    ("AG", [(4, "ring"), (6, "line"), (2, "ring")], [1, 1, 1], 8),
    # a switch: V/w, w the port's, without latency; AllToAll V/Nw
    ("AG", [(4, "switch")], [100], 48),
    ("AR", [(4, "switch")], [100], 96),
    ("A2A", [(4, "switch")], [100], 12),
    # two tiers: V/8 to each chip of a node from outside, V inside it; the slower counts
    ("AG", [(4, "switch"), (8, "switch")], [1, 1], 48),
    ("A2A", [(4, "switch"), (8, "switch")], [1, 1], Fraction(48, 32)),
    # slices: V/16 to each chip by its own port, and V over two rings
    ("AG", [(2, "switch"), (4, "ring"), (4, "ring")], [0, 0, 0], 12),
]


@pytest.mark.parametrize(("kind", "dimensions", "latencies", "seconds"), BOOK_OF_SEVERAL)
def test_book_over_several(
    kind: str, dimensions: list[tuple[int, str]], latencies: list[int], seconds: Fraction
) -> None:
    topology = machine(*dimensions, links=[link(latency) for latency in latencies])
    call = call_on(topology, KINDS[kind], V)
    assert book_seconds(call.kind, V, call.group.segments) == seconds


def test_book_where_the_outer_tier_is_slower() -> None:
    """NICs of 1 byte/s: V/8 = 60 bytes by each, against V/10 inside."""
    outer, inner = Link(Fraction(1), Fraction(0)), link(0)
    call = call_on(machine((4, "switch"), (8, "switch"), links=[outer, inner]), KINDS["AG"], V)
    assert book_seconds(call.kind, V, call.group.segments) == 60


BOOK_OF_TRANSFERS = [
    # V/N over one link, or the latency
    (TransferKind.PERMUTE, "ring", 1, 12),
    (TransferKind.PERMUTE, "line", 1, 12),
    (TransferKind.PERMUTE, "switch", 1, 12),
    (TransferKind.PERMUTE, "ring", 13, 13),
    # three blocks of four over two links, or one
    (TransferKind.GATHER, "ring", 1, 18),
    (TransferKind.GATHER, "line", 1, 36),
    (TransferKind.GATHER, "switch", 1, 36),
    # all of V by one link, and three hops
    (TransferKind.SEND, "line", 1, 51),
    (TransferKind.SEND, "switch", 1, 48),
]


@pytest.mark.parametrize(("kind", "what", "latency", "seconds"), BOOK_OF_TRANSFERS)
def test_book_of_other_transfers(kind: TransferKind, what: str, latency: int, seconds: int) -> None:
    call = call_on(machine((4, what), link=link(latency)), kind, V)
    assert book_seconds(kind, V, call.group.segments) == seconds


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
    ("AG", "direct", 4, 360),
    ("AG", "ring", 4, 360),
    ("AR", "direct", 4, 720),
    # three blocks of 30; as a ring 3 + 2 + 1
    ("A2A", "direct", 4, 90),
    ("A2A", "ring", 4, 180),
    # all four parts and the own sum, 120 each
    ("AR", "in_network", 4, 600),
    # an inner chip of a line passes V inwards and V outwards; of two the one sends, the other back
    ("AR", "reduce_broadcast", 4, 960),
    ("AR", "reduce_broadcast", 3, 960),
    ("AR", "reduce_broadcast", 2, 480),
]


@pytest.mark.parametrize(("kind", "algorithm", "n", "size"), WIRE)
def test_bytes_on_the_wire(kind: str, algorithm: str, n: int, size: Fraction) -> None:
    assert wire_bytes(called(KINDS[kind], algorithm, n, link(1))) == size


WIRE_OF_TRANSFERS = [
    # a block of 120, by each hop; a line of 4, shifted by one: the last one's block goes back over
    # the inner chips, which send their own as well
    (TransferKind.PERMUTE, "balanced", 4, {"shift": 1}, 120),
    (TransferKind.PERMUTE, "balanced", 4, {"shift": 2}, 240),
    (TransferKind.PERMUTE, "line", 4, {"shift": 1}, 240),
    (TransferKind.PERMUTE, "direct", 4, {"shift": 2}, 120),
    (TransferKind.SEND, "line", 4, {"chunks": 3}, 480),
    # the root's neighbour
    (TransferKind.GATHER, "line", 4, {"root": 0}, 360),
    (TransferKind.GATHER, "line", 4, {"root": 2}, 240),
    (TransferKind.GATHER, "balanced", 4, {"root": 0}, 180),
    (TransferKind.GATHER, "whole_shards", 4, {"root": 0}, 240),
    (TransferKind.GATHER, "half_shards", 4, {"root": 0}, 240),
    (TransferKind.GATHER, "one_direction", 4, {"root": 0}, 360),
    (TransferKind.GATHER, "direct", 4, {"root": 0}, 120),
]


@pytest.mark.parametrize(("kind", "algorithm", "n", "more", "size"), WIRE_OF_TRANSFERS)
def test_bytes_on_the_wire_of_transfers(
    kind: CallKind, algorithm: str, n: int, more: dict[str, int], size: int
) -> None:
    assert wire_bytes(called(kind, algorithm, n, link(1), **more)) == size


WIRE_OF_SEVERAL = [
    # 480 in 16 blocks of 30: a chip of a torus sends 15 of them, whatever the order
    ("AG", [(4, "ring"), (4, "ring")], 450),
    ("RS", [(4, "ring"), (4, "ring")], 450),
    ("AR", [(4, "ring"), (4, "ring")], 900),
    # both phases exchange all of a chip's 30 bytes: V/4 of 120 each
    ("A2A", [(4, "ring"), (4, "ring")], 60),
    # in 6 blocks of 80: x first, 2 blocks; then 3 along y
    ("AG", [(3, "switch"), (2, "switch")], 400),
    # inner chips of both lines: 5/4 of 120 and of 480, half in either order
    ("AG", [(4, "line"), (4, "line")], 750),
]


@pytest.mark.parametrize(("kind", "dimensions", "size"), WIRE_OF_SEVERAL)
def test_bytes_on_the_wire_over_several(
    kind: str, dimensions: list[tuple[int, str]], size: int
) -> None:
    assert wire_bytes(call_on(machine(*dimensions, link=link(1)), KINDS[kind], V)) == size


@pytest.mark.parametrize("model", LatencyModel)
@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("kind", CollectiveKind)
def test_one_chip_costs_nothing(
    kind: CollectiveKind, algorithm: Algorithm, model: LatencyModel
) -> None:
    call = called(kind, algorithm, 1, link(1))
    assert exact_terms(call, model) == Terms(Fraction(0), Fraction(0))
    assert book_seconds(kind, V, call.group.segments) == 0
    assert wire_bytes(call) == 0


RELATIONS = [
    # only AllToAll on a line of four or more, with additive latency, has a bound instead of a time
    ("A2A", "line", 4, 1, "additive", "lower_bound"),
    ("A2A", "line", 3, 1, "additive", "equal"),
    ("A2A", "line", 4, 0, "additive", "equal"),
    ("A2A", "line", 4, 1, "floor", "equal"),
    ("A2A", "balanced", 4, 1, "additive", "equal"),
    ("AG", "line", 4, 1, "additive", "equal"),
    ("AR", "line", 64, 1, "additive", "equal"),
    ("AR", "reduce_broadcast", 5, 1, "additive", "equal"),
    ("AG", "direct", 8, 1, "additive", "equal"),
    ("A2A", "ring", 8, 1, "floor", "equal"),
    # the more chunks, the nearer
    ("AR", "in_network", 8, 1, "additive", "limit"),
]


@pytest.mark.parametrize(("kind", "algorithm", "n", "latency", "model", "expected"), RELATIONS)
def test_relation_to_the_simulation(
    kind: str, algorithm: str, n: int, latency: int, model: str, expected: str
) -> None:
    found = relation(called(KINDS[kind], algorithm, n, link(latency)), LatencyModel(model))
    assert found.value == expected


def test_sum_of_largest() -> None:
    # max(5, 1/2 x 2), max(5, 3/2 x 2), max(5, 5/2 x 2), max(5, 7/2 x 2): 5 + 5 + 5 + 7, the third
    # equal by either term and counted as bandwidth
    assert sum_of_largest(HALF, 4, Fraction(2), Fraction(5)) == Terms(Fraction(12), Fraction(10))
    assert sum_of_largest(HALF, 4, Fraction(2), Fraction(99)) == Terms(Fraction(0), Fraction(396))
    assert sum_of_largest(HALF, 4, Fraction(2), Fraction(0)) == Terms(Fraction(16), Fraction(0))
    assert sum_of_largest(HALF, 0, Fraction(2), Fraction(5)) == Terms(Fraction(0), Fraction(0))


def test_the_price_of_a_collective() -> None:
    cost = CostModel()
    group = mesh_of(machine((4, "ring"), link=link(HALF))).group(("X",))
    price = cost.collective(cost.call(CollectiveKind.ALL_GATHER, group, V))
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
    price = CostModel().matmul(
        MatmulShape(1, 1, 1, flops // 2), Fraction(traffic), Dtype(dtype), CHIP
    )
    assert (price.compute, price.memory, price.seconds) == (compute, memory, seconds)


def test_a_chip_without_a_figure_for_the_dtype() -> None:
    with pytest.raises(TopologyError) as caught:
        CostModel().matmul(MatmulShape(1, 1, 1, 1), Fraction(1), Dtype.F32, CHIP)
    assert caught.value.message == "chip test has no peak FLOP/s for f32; it has bf16, int8"
    assert caught.value.hint == (
        "choose one of these dtypes, or give the chip a figure of its own in a topology file"
    )
