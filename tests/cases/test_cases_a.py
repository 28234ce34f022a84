"""Known answers, first group: wraparound, and rings that are none.

Each is a mistake or a question from a public issue tracker or book, with the right figure. Figures
are microseconds of the bandwidth term, rounded as they stand here; a test of a collective also
holds that simulation and closed form agree as they say.

All cases of the group are here, but for two lines that no report has: the time "if wrapped" beside
a line (the ring is run as a machine of its own), and the measured time beside a modelled one (the
measurement itself: test_measured_collectives).
"""

from __future__ import annotations

import pytest

from shardsim.comparison import CollectiveRun
from shardsim.vocabulary import Algorithm, DimensionKind, Relation
from tests.cases.figures import AG, AR, GB, KIB, MIB, RS, US, one_dimension, run, shows

V = 32 * MIB  # 33,554,432 bytes: bf16[2048, 8192]
SQUARE = 128 * MIB  # bf16[8192, 8192]
NO_WRAP_8 = "v5e wraps a dimension only when it is 16 long; this one is 8"


def kind(found: CollectiveRun) -> DimensionKind:
    (segment,) = found.call.group.segments
    return segment.kind


def reason(found: CollectiveRun) -> str:
    (segment,) = found.call.group.segments
    return segment.reason


# A row of 8 of a v5e slice is a line. A ring visualiser of the book's figures
# (web application "scaling-book-viz") shows 373 us for it, which is the book's form of a ring of 8.


@pytest.mark.parametrize("slice_", ["v5e:8x1", "v5e:8x8"])
def test_a_row_of_8_is_a_line(slice_: str) -> None:
    found = run(AG, V, slice_, "X")
    assert kind(found) is DimensionKind.LINE
    assert reason(found) == NO_WRAP_8
    assert shows(found.price.exact.bandwidth, "652.4")
    assert found.price.exact.latency == 7 * US
    assert found.simulated == found.price.exact.total
    assert shows(found.price.book, "372.8")


def test_the_same_row_if_it_were_wrapped() -> None:
    found = run(AG, V, "ring-of-8")
    assert shows(found.price.exact.bandwidth, "326.2")
    assert shows(run(AG, V, "v5e:16x1", "X").price.exact.bandwidth, "349.5")
    whole = run(AG, V, "ring-of-8", algorithm=Algorithm.WHOLE_SHARDS)
    assert shows(whole.price.exact.bandwidth, "372.8")
    assert whole.price.exact.bandwidth == found.price.book


def test_on_2_chips_the_first_order_figure_of_a_ring_is_that_of_the_line() -> None:
    """The visualiser's 186 us for 8.39 MB are right for a pair; on all of 2x2 two links work."""
    pair = run(AR, 8 * MIB, "v5e:2x2", "X")
    assert shows(pair.price.exact.bandwidth, "186.4")
    assert pair.price.exact.bandwidth == pair.price.book
    assert shows(run(AR, 8 * MIB, "v5e:2x2").price.exact.bandwidth, "139.8")


# "How to Scale Your Model", chapter "Sharded Matrices", pop quiz 2: AllGather over Y of 8x4.


def test_pop_quiz_2() -> None:
    found = run(AG, V, "v5e:8x4", "Y")
    assert reason(found) == "v5e wraps a dimension only when it is 16 long; this one is 4"
    assert shows(found.price.exact.bandwidth, "559.2")
    assert found.simulated == found.price.exact.bandwidth + 3 * US
    assert shows(found.price.book, "372.8")
    ring = run(AG, V, one_dimension("ring", 4, "45 GB/s", "1 us", "v5e"))
    assert shows(ring.price.exact.bandwidth, "279.6")


def test_pop_quiz_2_on_a_small_array() -> None:
    """bf16[256, 256]: three hops of 1 us, and 2.2 us of bytes."""
    found = run(AG, 256 * 256 * 2, "v5e:8x4", "Y")
    assert shows(found.price.exact.bandwidth, "2.2")
    assert found.simulated == found.price.exact.bandwidth + 3 * US


# AI-Hypercomputer/maxtext PR 790: slices 2x2x1, 2x2x2 and 2x2x4 have no wraparound.


def test_a_dimension_of_4_in_a_slice_that_is_no_cube() -> None:
    found = run(AG, SQUARE, "v5p:2x2x4", "Z")
    assert kind(found) is DimensionKind.LINE
    assert reason(found) == (
        "v5p wraps only when every dimension of the slice is a multiple of 4; 2x2x4 has a 2"
    )
    assert shows(found.price.exact.bandwidth, "1118.5")


def test_a_dimension_of_4_in_a_cube() -> None:
    found = run(AG, SQUARE, "v5p:4x4x4", "Z")
    assert kind(found) is DimensionKind.RING
    assert shows(found.price.exact.bandwidth, "559.2")


@pytest.mark.parametrize("slice_", ["v4:2x2x1", "v4:2x2x2", "v4:2x2x4", "v5p:2x2x1", "v5p:2x2x2"])
def test_small_slices_have_no_ring(slice_: str) -> None:
    for axis in "XYZ":
        for segment in run(AG, V, slice_, axis).call.group.segments:
            assert segment.kind is DimensionKind.LINE


# tenstorrent/tt-metal PR 50946: with 2 chips the wraparound is the cable that is there already.


def test_a_pair_has_one_cable() -> None:
    found = run(AG, 8 * MIB, "v5e:2x1", "X")
    assert shows(found.price.exact.bandwidth, "93.2")
    same = run(AG, 8 * MIB, one_dimension("ring", 2, "45 GB/s"))
    assert kind(same) is DimensionKind.LINE
    assert "the wraparound would be the same cable" in reason(same)
    assert same.simulated == found.price.exact.bandwidth


def test_a_pair_with_two_cables_says_so() -> None:
    found = run(AG, 8 * MIB, one_dimension("ring", 2, "45 GB/s", links=2))
    assert kind(found) is DimensionKind.RING
    assert shows(found.simulated, "46.6")


# jax-ml/jax issue 20305: chips in the order of their numbers are no ring on a 2x2.

GOOD = [(0, 0), (0, 1), (1, 1), (1, 0)]
BAD = [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_an_order_that_is_no_ring() -> None:
    found = run(AG, SQUARE, "v5e:2x2", mesh={"X": 4}, devices=BAD)
    assert reason(found).startswith(
        "NOT A PHYSICAL RING: chips (0, 1) and (1, 0) follow each other"
    )
    assert found.price.relation is Relation.LOWER_BOUND
    assert shows(found.price.exact.bandwidth, "2237.0")
    assert found.simulated >= found.price.exact.total
    assert found.advice == (
        "X in the order given takes 2.24 ms; "
        "1.12 ms as a ring, layout X=ring: (0, 0), (0, 1), (1, 1), (1, 0)",
    )


def test_the_order_that_the_advice_names() -> None:
    found = run(AG, SQUARE, "v5e:2x2", mesh={"X": 4}, devices=GOOD)
    assert kind(found) is DimensionKind.RING
    assert shows(found.price.exact.bandwidth, "1118.5")
    assert found.advice == ()
    assert (
        found.simulated == run(AG, SQUARE, "v5e:2x2", mesh={"X": 4}, layout={"X": "ring"}).simulated
    )


# AI-Hypercomputer/torchprime PR 117: groups of four on a 16x16, chips 0, 1, 17, 16.


@pytest.mark.parametrize(("order", "figure"), [(GOOD, "1118.5"), (BAD, "2237.0")])
def test_all_squares_of_a_pod_at_once(order: list[tuple[int, int]], figure: str) -> None:
    devices = [
        (2 * row + r, 2 * column + c) for row in range(8) for column in range(8) for r, c in order
    ]
    found = run(AG, SQUARE, "v5e:16x16", "T", mesh={"D": 64, "T": 4}, devices=devices)
    assert shows(found.price.exact.bandwidth, figure)
    is_ring = order is GOOD
    assert found.call.group.is_physical is is_ring
    assert reason(found).startswith("NOT A PHYSICAL RING") is not is_ring


# tenstorrent/tt-metal issue 37099 and PR 41522: a ring of 8 has two schedules with the same bytes.

HALF_WAY, ALL_ROUND = Algorithm.BALANCED, Algorithm.HALF_SHARDS


@pytest.mark.parametrize("size", [32 * 256 * 2, 32 * 2048 * 2, 2 * 8 * 512 * 1024 * 2])
def test_half_way_round_takes_4_hops_and_all_the_way_7(size: int) -> None:
    short = run(RS, size, "ring-of-8", algorithm=HALF_WAY)
    long = run(RS, size, "ring-of-8", algorithm=ALL_ROUND)
    assert short.price.exact.latency == 4 * US
    assert long.price.exact.latency == 7 * US
    assert short.price.exact.bandwidth == long.price.exact.bandwidth
    assert short.price.wire_bytes == long.price.wire_bytes
    assert short.simulated < long.simulated
    assert run(RS, size, "ring-of-8").call.method.name == HALF_WAY


def test_the_two_schedules_differ_where_latency_counts() -> None:
    def ratio(size: int) -> float:
        long = run(RS, size, "ring-of-8", algorithm=ALL_ROUND)
        return float(long.simulated / run(RS, size, "ring-of-8", algorithm=HALF_WAY).simulated)

    assert ratio(16 * KIB) > 1.7
    assert ratio(16 * MIB) < 1.02


# PrincetonUniversity/LLMCompass issue 6, astra-sim/astra-sim issue 296: 8 NPUs, all connected,
# 100 MB, 50 GB/s, 10 ns.

NODE = one_dimension("switch", 8, "50 GB/s", "10 ns")


@pytest.mark.parametrize(
    ("algorithm", "steps"), [(Algorithm.RING, 14), (Algorithm.DIRECT, 2)], ids=str
)
def test_a_ring_among_all_connected_chips(algorithm: Algorithm, steps: int) -> None:
    """By one port each, both move the same bytes; the ring has 14 latencies, not 2."""
    found = run(AR, 10**8, NODE, algorithm=algorithm)
    assert found.price.exact.bandwidth == 2 * 10**8 * 7 / (8 * 50 * GB)
    assert shows(found.price.exact.bandwidth, "3500.0")
    assert found.price.exact.latency == steps * US / 100
    assert found.simulated == found.price.exact.total


def test_a_link_to_each_other_chip_is_seven_times_the_port() -> None:
    """Ports or links is for the topology to say: 7 links of 50 GB/s are a port of 350 GB/s."""
    found = run(AR, 10**8, one_dimension("switch", 8, "350 GB/s", "10 ns"))
    assert shows(found.price.exact.bandwidth, "500.0")
