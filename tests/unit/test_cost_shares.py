"""Shares that load all links alike, worked by hand."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from shardsim.cost import CostModel
from shardsim.cost.bounds import torus_bound
from shardsim.cost.shares import balanced_shares
from shardsim.hardware import Link
from shardsim.mesh import Segment, lay_mesh
from shardsim.vocabulary import CollectiveKind, Schedule
from tests.machines import LINK, call_on, machine, run_call

HALF = Fraction(1, 2)


def segments(*dimensions: tuple[int, str], links: list[Link] | None = None) -> tuple[Segment, ...]:
    return lay_mesh(machine(*dimensions, links=links)).segments


def loads(parts: tuple[Segment, ...], shares: dict[tuple[int, ...], Fraction]) -> list[Fraction]:
    """Seconds on a link of each segment, V being one byte: counted phase by phase."""
    found = [Fraction(0)] * len(parts)
    total = math.prod(part.size for part in parts)
    for order, share in shares.items():
        gathered = 1
        for at in order:
            part = parts[at]
            came = gathered * (part.size - 1)  # blocks that come along it
            links = 2 if part.kind.value == "ring" else 1
            found[at] += share * came / total / links / part.link.one_way_bandwidth
            gathered *= part.size
    return found


TWO = [
    # equal rings: half and half
    ([(4, "ring"), (4, "ring")], [HALF, HALF]),
    # 4 and 8: the first order loads them with 3 and 28, the second with 24 and 7, of 32 each:
    # 3 s + 24 (1 - s) = 28 s + 7 (1 - s)
    ([(4, "ring"), (8, "ring")], [Fraction(17, 42), Fraction(25, 42)]),
    # 16 and 20: 15 s + 300 (1 - s) = 304 s + 19 (1 - s)
    ([(16, "ring"), (20, "ring")], [Fraction(281, 570), Fraction(289, 570)]),
    # a ring has two links for a line's one: 3/2 s + 6 (1 - s) = 12 s + 3 (1 - s)
    ([(4, "ring"), (4, "line")], [Fraction(2, 9), Fraction(7, 9)]),
]


@pytest.mark.parametrize(("dimensions", "shares"), TWO)
@pytest.mark.parametrize("kind", [CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER])
def test_two_segments(
    kind: CollectiveKind, dimensions: list[tuple[int, str]], shares: list[Fraction]
) -> None:
    parts = segments(*dimensions)
    orders, found = balanced_shares(kind, parts)
    assert (orders, list(found)) == ([(0, 1), (1, 0)], shares)
    first, second = loads(parts, dict(zip(orders, found, strict=True)))
    assert first == second


def test_a_link_half_as_fast() -> None:
    """3 s + 12 (1 - s) = 2 (12 s + 3 (1 - s)): one third first along the fast ring."""
    slow = Link(LINK.one_way_bandwidth / 2, LINK.latency)
    orders, found = balanced_shares(
        CollectiveKind.ALL_GATHER, segments((4, "ring"), (4, "ring"), links=[LINK, slow])
    )
    assert dict(zip(orders, found, strict=True)) == {(0, 1): Fraction(2, 9), (1, 0): Fraction(7, 9)}


def test_where_no_shares_load_both_alike() -> None:
    """A link a hundred times as slow: whatever goes along it must go first."""
    slow = Link(LINK.one_way_bandwidth / 100, LINK.latency)
    orders, found = balanced_shares(
        CollectiveKind.ALL_GATHER, segments((4, "ring"), (4, "ring"), links=[LINK, slow])
    )
    assert dict(zip(orders, found, strict=True)) == {(0, 1): 0, (1, 0): 1}


THREE = [(4, 4, 4), (4, 4, 8), (16, 20, 28), (2, 3, 5), (3, 8, 4)]


@pytest.mark.parametrize("sizes", THREE)
def test_three_rings_are_loaded_alike(sizes: tuple[int, ...]) -> None:
    """Alike, and so with the least that any schedule can do: 2k links move all but a chip's own."""
    parts = segments(*((size, "ring") for size in sizes))
    orders, found = balanced_shares(CollectiveKind.ALL_GATHER, parts)
    assert sum(found) == 1
    assert min(found) >= 0
    (load,) = set(loads(parts, dict(zip(orders, found, strict=True))))
    total = math.prod(sizes)
    assert load == Fraction(total - 1, total) / (6 * LINK.one_way_bandwidth)
    assert load == torus_bound(CollectiveKind.ALL_GATHER, Fraction(1), parts)


@pytest.mark.parametrize("sizes", [(2, 3, 4), (3, 3, 5)])
def test_no_other_shares_of_three_do_better(sizes: tuple[int, ...]) -> None:
    """Over a grid of shares in twelfths of all six orders; lines and rings mixed."""
    kinds = ("ring", "line", "ring")
    parts = segments(*zip(sizes, kinds, strict=True))
    orders, found = balanced_shares(CollectiveKind.ALL_GATHER, parts)
    best = max(loads(parts, dict(zip(orders, found, strict=True))))
    every = list(itertools.permutations(range(3)))
    single = {order: loads(parts, {order: Fraction(1)}) for order in every}
    for cut in itertools.combinations_with_replacement(range(13), 5):
        ends = [0, *cut, 12]
        shares = [Fraction(high - low, 12) for low, high in itertools.pairwise(ends)]
        busiest = max(
            sum(share * single[order][at] for order, share in zip(every, shares, strict=True))
            for at in range(3)
        )
        assert best <= busiest


def test_more_than_three_have_equal_shares() -> None:
    orders, found = balanced_shares(
        CollectiveKind.ALL_GATHER, segments((2, "line"), (3, "line"), (2, "ring"), (4, "ring"))
    )
    assert orders == [(0, 1, 2, 3), (1, 2, 3, 0), (2, 3, 0, 1), (3, 0, 1, 2)]
    assert found == (Fraction(1, 4),) * 4


def test_an_all_to_all_has_equal_shares() -> None:
    """It loads a link alike in every order; in one order alone the rings would take turns."""
    orders, found = balanced_shares(CollectiveKind.ALL_TO_ALL, segments((4, "ring"), (6, "ring")))
    assert (orders, found) == ([(0, 1), (1, 0)], (HALF, HALF))


FREE = Link(LINK.one_way_bandwidth, Fraction(0))


UNEQUAL = [(4, 6), (2, 8), (2, 3, 4)]


@pytest.mark.parametrize("sizes", UNEQUAL)
def test_balanced_shares_reach_the_bound_in_chunks(sizes: tuple[int, ...]) -> None:
    """In one piece links wait for the phase before; equal shares overload one of them for good."""
    topology = machine(*((size, "ring") for size in sizes), link=FREE)
    bound = torus_bound(CollectiveKind.ALL_GATHER, Fraction(10**6), lay_mesh(topology).segments)

    def above(schedule: Schedule, chunks: int) -> Fraction:
        call = call_on(topology, CollectiveKind.ALL_GATHER, 10**6, schedule=schedule, chunks=chunks)
        return run_call(call).makespan / bound

    balanced = [above(Schedule.BALANCED, chunks) for chunks in (1, 2, 4, 16)]
    rotated = [above(Schedule.ROTATED, chunks) for chunks in (1, 2, 4, 16)]
    assert balanced == sorted(balanced, reverse=True)
    assert 1 <= balanced[-1] < Fraction(105, 100)
    assert len(set(rotated)) == 1
    assert balanced[-1] < rotated[0] < balanced[0]


def test_the_slowest_order_is_one_ring_after_the_other() -> None:
    topology = machine((4, "ring"), (6, "ring"), link=FREE)
    for kind in CollectiveKind:
        times = [
            run_call(call_on(topology, kind, 10**6, schedule=schedule)).makespan
            for schedule in (Schedule.ROTATED, Schedule.SEQUENTIAL)
        ]
        assert times == sorted(times)


@pytest.mark.parametrize("schedule", Schedule)
@pytest.mark.parametrize("sizes", [(4, 6), (3, 5), (3, 3), (2, 8), (2, 3, 4)])
@pytest.mark.parametrize("kind", CollectiveKind)
def test_no_schedule_is_below_what_the_links_can_do(
    kind: CollectiveKind, sizes: tuple[int, ...], schedule: Schedule
) -> None:
    topology = machine(*((size, "ring") for size in sizes), link=FREE)
    bound = torus_bound(kind, Fraction(10**6), lay_mesh(topology).segments)
    makespan = run_call(call_on(topology, kind, 10**6, schedule=schedule)).makespan
    assert makespan >= bound
    # equal shares over rings of any sizes exchange as fast as the longest can
    if kind is CollectiveKind.ALL_TO_ALL and schedule is not Schedule.SEQUENTIAL:
        assert makespan == bound


BOUNDS = [
    # V = 480 at 10 bytes/s: 15/16 V over four links, or over two of a corner of lines
    (CollectiveKind.ALL_GATHER, [(4, "ring"), (4, "ring")], Fraction(45, 4)),
    (CollectiveKind.ALL_REDUCE, [(4, "ring"), (4, "ring")], Fraction(45, 2)),
    (CollectiveKind.REDUCE_SCATTER, [(4, "line"), (4, "line")], Fraction(45, 2)),
    (CollectiveKind.ALL_GATHER, [(4, "ring"), (4, "line")], Fraction(15)),
    # V max(N) / 4N 2w
    (CollectiveKind.ALL_TO_ALL, [(4, "ring"), (4, "ring")], Fraction(3, 2)),
    (CollectiveKind.ALL_TO_ALL, [(4, "ring"), (8, "ring")], Fraction(3, 2)),
    (CollectiveKind.ALL_TO_ALL, [(4, "ring"), (8, "line")], Fraction(3)),
    # on odd ones 8/9 of V 3/36 2w
    (CollectiveKind.ALL_TO_ALL, [(3, "ring"), (3, "ring")], Fraction(16, 9)),
]


@pytest.mark.parametrize(("kind", "dimensions", "seconds"), BOUNDS)
def test_what_no_schedule_can_beat(
    kind: CollectiveKind, dimensions: list[tuple[int, str]], seconds: Fraction
) -> None:
    topology = machine(*dimensions, link=Link(Fraction(10), Fraction(0)))
    parts = lay_mesh(topology).segments
    assert torus_bound(kind, Fraction(480), parts) == seconds
    exact = CostModel().collective(call_on(topology, kind, 480)).exact.total
    assert exact >= seconds
