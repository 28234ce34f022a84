"""Which method a collective takes where nobody says: the schedule over several segments."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.call import (
    WHOLE,
    Call,
    Method,
    Stream,
    choose_algorithm,
    in_shares,
    make_call,
    rotations,
)
from shardsim.cost.relations import exact_terms
from shardsim.cost.shares import balanced_shares
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    LatencyModel,
    Schedule,
    TransferKind,
)

if TYPE_CHECKING:
    from shardsim.hardware import Link
    from shardsim.mesh import Group
    from shardsim.units import Bytes, Seconds

__all__ = ["Wanted", "choose_method", "order_prices"]

MOST_ORDERS = 4
IN_CHUNKS = (Algorithm.REDUCE_BROADCAST, Algorithm.IN_NETWORK)
FEW_CHUNKS = 16
CHUNKS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody asks of collectives; None leaves it to the choice here."""

    algorithm: Algorithm | None = None
    schedule: Schedule | None = None
    chunks: int | None = None


def choose_method(
    kind: CallKind,
    group: Group,
    size: Bytes,
    wanted: Wanted,
    latency_model: LatencyModel,
) -> Method:
    """The method of a collective.

    Over several segments whose links are alike: rotated orders with equal shares. Where they
    differ: one tier after the other, in the cheapest order, so that the slow ones move the least.
    Where they are the same ones: one order.
    In one piece, but for the algorithms that live off chunks, and for balanced shares, whose orders
    wait for each other unless cut: of a few numbers of chunks the cheapest.
    """
    calibration = group.mesh.topology.calibration
    algorithms = tuple(
        choose_algorithm(wanted.algorithm, segment, kind, calibration) for segment in group.segments
    )
    count = len(group.segments)
    one = tuple(range(count))
    own_chunks = FEW_CHUNKS if any(word in IN_CHUNKS for word in algorithms) else 1
    chunks = own_chunks if wanted.chunks is None else wanted.chunks
    if count < 2 or kind in (TransferKind.PERMUTE, TransferKind.SEND):
        return Method(algorithms=algorithms, streams=(Stream(one),), chunks=chunks)
    schedule = wanted.schedule or _own_schedule(kind, group)
    match schedule:
        case Schedule.ROTATED:
            streams = rotations(count)
        case Schedule.BALANCED:
            streams = in_shares(*balanced_shares(kind, group.segments))
        case Schedule.SEQUENTIAL:
            streams = (Stream(_cheapest_order(kind, group, size, algorithms, latency_model)),)
        case Schedule.TIERED:
            streams = _tiered(kind, group, size, algorithms, latency_model)
    method = Method(algorithms=algorithms, streams=streams, schedule=schedule, chunks=chunks)
    if schedule is not Schedule.BALANCED or wanted.chunks is not None:
        return method
    cut = [replace(method, chunks=count) for count in CHUNKS]
    prices = [exact_terms(make_call(kind, group, size, one), latency_model).total for one in cut]
    return cut[prices.index(min(prices))]


def _own_schedule(kind: CallKind, group: Group) -> Schedule:
    """The schedule where nobody says one; an exchange loads all links alike in any order."""
    if group.shares_links:
        return Schedule.SEQUENTIAL
    tiers = _tiers(group)
    if kind is CollectiveKind.ALL_TO_ALL and len({link for link, _ in tiers}) == 1:
        return Schedule.ROTATED
    if all(len(tier) == 1 for tier in tiers.values()):
        return Schedule.SEQUENTIAL
    return Schedule.ROTATED if len(tiers) == 1 else Schedule.TIERED


def _tiers(group: Group) -> dict[tuple[Link, int], list[int]]:
    """Segments whose links are alike, and as crowded."""
    tiers: dict[tuple[Link, int], list[int]] = {}
    for index, segment in enumerate(group.segments):
        tiers.setdefault((segment.link, segment.congestion), []).append(index)
    return tiers


def _tiered(
    kind: CallKind,
    group: Group,
    size: Bytes,
    algorithms: tuple[Algorithm, ...],
    latency_model: LatencyModel,
) -> tuple[Stream, ...]:
    """Of the orders of tiers the cheapest, of equal ones that which comes to the slow ones first.

    In each tier stream i begins with its i-th segment.
    """
    tiers = sorted(_tiers(group).values(), key=lambda tier: _rate(group, tier[0]))
    count = math.lcm(*map(len, tiers))
    found: list[tuple[Seconds, int, tuple[Stream, ...]]] = []
    for ordered in itertools.permutations(tiers) if len(tiers) <= MOST_ORDERS else [tiers]:
        orders = [
            tuple(tier[(first + at) % len(tier)] for tier in ordered for at in range(len(tier)))
            for first in range(count)
        ]
        streams = in_shares(orders, (Fraction(1, count),) * count)
        method = Method(algorithms=algorithms, streams=streams, schedule=Schedule.TIERED)
        call = make_call(kind, group, size, method)
        found.append((exact_terms(call, latency_model).total, len(found), streams))
    return min(found)[2]


def _cheapest_order(
    kind: CallKind,
    group: Group,
    size: Bytes,
    algorithms: tuple[Algorithm, ...],
    latency_model: LatencyModel,
) -> tuple[int, ...]:
    """Of equal prices, the order that comes to the slow links first (for AllGather)."""
    count = len(group.segments)
    if count > MOST_ORDERS:
        return tuple(sorted(range(count), key=lambda at: _rate(group, at)))
    prices = order_prices(kind, group, size, algorithms, latency_model)
    return min(prices, key=lambda order: (prices[order], [_rate(group, at) for at in order]))


def _rate(group: Group, at: int) -> Fraction:
    return group.segments[at].link.one_way_bandwidth


def order_prices(
    kind: CallKind,
    group: Group,
    size: Bytes,
    algorithms: tuple[Algorithm, ...],
    latency_model: LatencyModel,
) -> dict[tuple[int, ...], Seconds]:
    """The closed form's seconds of each order of the segments, the whole data in one stream."""
    prices = {}
    for order in itertools.permutations(range(len(group.segments))):
        method = Method(algorithms=algorithms, streams=(Stream(order, WHOLE),))
        call: Call = make_call(kind, group, size, method)
        prices[order] = exact_terms(call, latency_model).total
    return prices
