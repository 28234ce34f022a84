"""Law: the simulation of tori and grids takes the time that a formula on paper says.

The formulas are written out here, with numbers worked out by hand; the cost module is not asked,
or has to give the same. V is the bytes of a collective, w the bandwidth one way, a the latency.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardsim.cost import CostModel, Wanted
from shardsim.engine import simulate_calls
from shardsim.hardware import Link
from shardsim.vocabulary import CallKind, DimensionKind, Schedule
from tests.relations import (
    ADDITIVE,
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    GATHERS,
    LINE,
    REDUCE_SCATTER,
    RING,
    Machine,
    Part,
    call_on,
    machine,
)

CASES = max(2, settings().max_examples // 10)
W, A = Fraction(45 * 10**9), Fraction(1, 10**6)
V = Fraction(3 * 2**20 + 1)
FREE = Link(Fraction(1), Fraction(0))


def grid(shape: tuple[int, ...], kind: DimensionKind, link: Link) -> Machine:
    return machine(*[Part(size, kind, link) for size in shape])


def simulated(
    found: Machine, kind: CallKind, size: Fraction, schedule: Schedule = Schedule.ROTATED
) -> Fraction:
    call = call_on(found, kind, size, Wanted(schedule=schedule, chunks=1), ADDITIVE)
    return simulate_calls(found.topology, [call]).makespan


def exact(
    found: Machine, kind: CallKind, size: Fraction, schedule: Schedule = Schedule.ROTATED
) -> Fraction:
    call = call_on(found, kind, size, Wanted(schedule=schedule, chunks=1), ADDITIVE)
    return CostModel().collective(call).exact.total


def on_equal_rings(n: int, k: int, size: Fraction, link: Link) -> Fraction:
    """(1 - 1/N) V / 2kw + k floor(n/2) a: what no method can beat, and its latencies."""
    w, a = link.one_way_bandwidth, link.latency
    return (1 - Fraction(1, n**k)) * size / (2 * k * w) + k * (n // 2) * a


@pytest.mark.parametrize("kind", GATHERS)
@pytest.mark.parametrize("shape", [(16, 16), (4, 4, 4), (8, 8, 8)])
def test_gathers_on_equal_rings(shape: tuple[int, ...], kind: CallKind) -> None:
    time = simulated(grid(shape, RING, Link(W, A)), kind, V)
    assert time == on_equal_rings(shape[0], len(shape), V, Link(W, A))


LINKS = st.builds(
    Link,
    st.fractions(min_value=1, max_value=50, max_denominator=7),
    st.fractions(min_value=0, max_value=9, max_denominator=7),
)
SIZES = st.fractions(min_value=1, max_value=999, max_denominator=9)


@settings(max_examples=CASES)
@given(st.integers(2, 5), st.sampled_from([1, 2, 3]), SIZES, LINKS)
def test_collectives_on_equal_rings_of_any_size(n: int, k: int, size: Fraction, link: Link) -> None:
    n = min(n, 3) if k == 3 else n
    found = grid((n,) * k, RING, link)
    once = on_equal_rings(n, k, size, link)
    assert simulated(found, ALL_GATHER, size) == once
    assert simulated(found, REDUCE_SCATTER, size) == once
    assert simulated(found, ALL_REDUCE, size) == 2 * once


@pytest.mark.parametrize("kind", GATHERS)
def test_gathers_on_4x4_lines(kind: CallKind) -> None:
    """A chip in the corner has two links: (15/16) V/2w, and six hops to the chip opposite."""
    time = simulated(grid((4, 4), LINE, Link(W, A)), kind, V)
    assert time == Fraction(15, 16) * V / (2 * W) + 6 * A


@settings(max_examples=CASES)
@given(st.integers(2, 4), st.sampled_from([2, 3]), SIZES, LINKS)
def test_gathers_on_equal_lines_of_any_size(n: int, k: int, size: Fraction, link: Link) -> None:
    """Half of the links of rings: (1 - 1/N) V/kw + k (n - 1) a."""
    n = min(n, 3) if k == 3 else n
    found = grid((n,) * k, LINE, link)
    w, a = link.one_way_bandwidth, link.latency
    expected = (1 - Fraction(1, n**k)) * size / (k * w) + k * (n - 1) * a
    assert simulated(found, ALL_GATHER, size) == expected
    assert simulated(found, REDUCE_SCATTER, size) == expected


@pytest.mark.parametrize("shape", [(4, 4), (8, 16), (16, 16)])
def test_all_to_all_reaches_the_bound_of_the_middle(shape: tuple[int, int]) -> None:
    """Half of all data crosses the middle of the longest ring: V max(N) / (4 N 2w)."""
    bound = V * max(shape) / (4 * math.prod(shape) * 2 * W)
    assert simulated(grid(shape, RING, Link(W, Fraction(0))), ALL_TO_ALL, V) == bound


@pytest.mark.parametrize("n", [4, 16])
def test_all_to_all_on_equal_rings_with_latency(n: int) -> None:
    """Two phases, each of n/2 hops."""
    bound = V * n / (4 * n * n * 2 * W)
    assert simulated(grid((n, n), RING, Link(W, A)), ALL_TO_ALL, V) == bound + 2 * (n // 2) * A


def test_all_to_all_on_a_grid_of_lines() -> None:
    """One way only crosses the middle: V max(N) / (4 N w) is a lower bound."""
    bound = V * 4 / (4 * 16 * W)
    assert simulated(grid((4, 4), LINE, Link(W, A)), ALL_TO_ALL, V) >= bound


# Unequal rings: three streams, each gathering along x, y, z in turn, begun at another one.


def in_three_streams(
    shape: tuple[int, int, int], shares: tuple[Fraction, Fraction, Fraction], link: Link
) -> Fraction:
    """AllGather of one byte, phase by phase: stream i is on ring i, then i + 1, then i + 2.

    A phase on a ring of n takes (n - 1) blocks of what the stream has gathered, both ways, and
    n/2 hops; it starts when the stream is there and the ring has sent off the stream before.
    """
    total = math.prod(shape)
    arrived = [Fraction(0)] * 3
    sent = [Fraction(0)] * 3
    held = [share / total for share in shares]
    for phase in range(3):
        for stream in range(3):
            ring = (stream + phase) % 3
            n = shape[ring]
            start = max(arrived[stream], sent[ring])
            busy = (n - 1) * held[stream] / (2 * link.one_way_bandwidth)
            arrived[stream] = start + busy + n // 2 * link.latency
            sent[ring] = arrived[stream] - link.latency
            held[stream] *= n
    return max(arrived)


THIRDS = (Fraction(1, 3),) * 3
LARGE, SMALL = (16, 20, 28), (4, 5, 7)


def test_equal_shares_on_16x20x28() -> None:
    """By hand, in units of V / (3 x 8960 x 2w).

    First phases end at 15, 19, 27. Second: y 19 + 16x19 = 323, z 27 + 20x27 = 567, x 27 + 28x15 =
    447. Third: z 567 + 320x27 = 9207, x 567 + 560x15 = 8967, y 447 + 448x19 = 8959.
    """
    found = grid(LARGE, RING, FREE)
    assert exact(found, ALL_GATHER, Fraction(1)) == Fraction(9207, 3 * 8960 * 2)
    assert in_three_streams(LARGE, THIRDS, FREE) == Fraction(9207, 3 * 8960 * 2)


@pytest.mark.parametrize("link", [FREE, Link(Fraction(3), Fraction(1, 700))])
def test_equal_shares_on_unequal_rings(link: Link) -> None:
    """The sort of torus that 16x20x28 is, small enough to simulate."""
    found = grid(SMALL, RING, link)
    expected = in_three_streams(SMALL, THIRDS, link)
    assert simulated(found, ALL_GATHER, Fraction(1)) == expected
    assert exact(found, ALL_GATHER, Fraction(1)) == expected
    assert exact(grid(LARGE, RING, link), ALL_GATHER, Fraction(1)) == in_three_streams(
        LARGE, THIRDS, link
    )


def loads(shape: tuple[int, int, int], shares: dict[tuple[int, ...], Fraction]) -> list[Fraction]:
    """Bytes on the links of each ring, both ways together, of an AllGather of one byte."""
    total = math.prod(shape)
    found = [Fraction(0)] * 3
    for order, share in shares.items():
        held = share / total
        for ring in order:
            found[ring] += held * (shape[ring] - 1)
            held *= shape[ring]
    return found


@pytest.mark.parametrize("shape", [LARGE, SMALL])
def test_balanced_shares_load_all_rings_alike(shape: tuple[int, int, int]) -> None:
    """Without latency they reach (1 - 1/N) V / 6w, which no method can beat."""
    found = grid(shape, RING, FREE)
    call = call_on(found, ALL_GATHER, Fraction(1), Wanted(schedule=Schedule.BALANCED), ADDITIVE)
    shares = {stream.order: stream.share[1] - stream.share[0] for stream in call.method.streams}
    assert sum(shares.values()) == 1
    per_ring = (1 - Fraction(1, math.prod(shape))) / 3
    assert loads(shape, shares) == [per_ring] * 3
    bound = per_ring / 2
    assert CostModel().collective(call).exact.total == bound  # in the chunks that it chooses
    in_one = exact(found, ALL_GATHER, Fraction(1), Schedule.BALANCED)
    assert bound < in_one < exact(found, ALL_GATHER, Fraction(1))
    assert set(shares) == {(0, 1, 2), (1, 2, 0), (2, 0, 1)}
    in_turn = (shares[0, 1, 2], shares[1, 2, 0], shares[2, 0, 1])
    assert in_one == in_three_streams(shape, in_turn, FREE)


@pytest.mark.parametrize("kind", [*GATHERS, ALL_REDUCE, ALL_TO_ALL])
@pytest.mark.parametrize("schedule", [Schedule.ROTATED, Schedule.BALANCED])
def test_a_small_torus_of_the_sort_of_16x20x28(kind: CallKind, schedule: Schedule) -> None:
    found = grid(SMALL, RING, Link(Fraction(3), Fraction(1, 700)))
    assert simulated(found, kind, Fraction(1), schedule) == exact(
        found, kind, Fraction(1), schedule
    )
