"""Closed forms of the collectives on one axis: formulas, and no hops.

Symbols: N chips; V bytes of the array as one group sees it (the gathered array for AllGather, the
unreduced local array for ReduceScatter and AllReduce, all shards together for AllToAll); w one-way
bytes/s of one link; a latency of one link. All results are exact seconds, in two terms.

Relation to the simulation: EQUAL, except AllToAll on a line with latency and more than three chips
(additive model), which is a LOWER BOUND. Source: "How to Scale Your Model", chapter "Sharded
matrices", for the first-order forms; the factors (N-1)/N and the split of the opposite block follow
from counting the bytes that must cross each link.
"""

from __future__ import annotations

from fractions import Fraction

from shardsim.cost.terms import Terms, sum_of_largest
from shardsim.hardware import Link
from shardsim.units import Bytes
from shardsim.vocabulary import Algorithm, CollectiveKind, LatencyModel, Relation

__all__ = ["all_gather", "all_reduce", "all_to_all", "exact_terms", "reduce_scatter", "relation"]

NOTHING = Terms(Fraction(0), Fraction(0))


def all_gather(
    size: Bytes, n: int, link: Link, algorithm: Algorithm, latency_model: LatencyModel
) -> Terms:
    """Time of AllGather: `A[I_X] -> A[I]`, each chip ends with all V bytes.

    Additive model, bandwidth and latency terms:

    - balanced: (N-1)/N V/2w and floor(N/2) a
    - whole_shards: floor(N/2)/N V/w and floor(N/2) a
    - half_shards: (N-1)/N V/2w and (N-1) a
    - one_direction, line: (N-1)/N V/w and (N-1) a

    Floor model: each block's term is max(a, its bytes / w) instead.

    Args:
        size: V, bytes of the gathered array.
        n: N, chips along the axis.
        link: One-way bandwidth and latency.
        algorithm: How the links are used.
        latency_model: `additive` or `floor`.

    Returns:
        Exact seconds. Relation to simulation: EQUAL.

    >>> from shardsim.hardware import Link
    >>> link = Link(Fraction(45 * 10**9), Fraction(0))
    >>> float(all_gather(Fraction(33554432), 4, link, Algorithm.LINE, LatencyModel.ADDITIVE).total)
    0.000559240533333...
    """
    if n == 1:
        return NOTHING
    w, a = link.one_way_bandwidth, link.latency
    whole = Fraction(size) / (n * w)
    if latency_model is LatencyModel.FLOOR:
        return _gather_floor(n, whole, a, algorithm)
    match algorithm:
        case Algorithm.BALANCED:
            return Terms((n - 1) * whole / 2, n // 2 * a)
        case Algorithm.WHOLE_SHARDS:
            return Terms(n // 2 * whole, n // 2 * a)
        case Algorithm.HALF_SHARDS:
            return Terms((n - 1) * whole / 2, (n - 1) * a)
        case Algorithm.ONE_DIRECTION | Algorithm.LINE:
            return Terms((n - 1) * whole, (n - 1) * a)


def _gather_floor(n: int, whole: Fraction, a: Fraction, algorithm: Algorithm) -> Terms:
    """Counts of blocks in sequence, each max(a, block)."""

    def blocks(count: int, block: Fraction) -> Terms:
        return Terms(count * block, Fraction(0)) if block > a else Terms(Fraction(0), count * a)

    match algorithm:
        case Algorithm.BALANCED:
            split = blocks(1, whole / 2) if n % 2 == 0 else NOTHING
            return blocks((n - 1) // 2, whole) + split
        case Algorithm.WHOLE_SHARDS:
            return blocks(n // 2, whole)
        case Algorithm.HALF_SHARDS:
            return blocks(n - 1, whole / 2)
        case Algorithm.ONE_DIRECTION | Algorithm.LINE:
            return blocks(n - 1, whole)


def reduce_scatter(
    size: Bytes, n: int, link: Link, algorithm: Algorithm, latency_model: LatencyModel
) -> Terms:
    """Time of ReduceScatter: `A[I]{U_X} -> A[I_X]`; AllGather run backwards, so the same time.

    Args:
        size: V, bytes of the unreduced array on one chip.
        n: N, chips along the axis.
        link: One-way bandwidth and latency.
        algorithm: How the links are used.
        latency_model: `additive` or `floor`.

    Returns:
        Exact seconds. Relation to simulation: EQUAL.
    """
    return all_gather(size, n, link, algorithm, latency_model)


def all_reduce(
    size: Bytes, n: int, link: Link, algorithm: Algorithm, latency_model: LatencyModel
) -> Terms:
    """Time of AllReduce: `A[I]{U_X} -> A[I]`; ReduceScatter, then AllGather: twice the time.

    Args:
        size: V, bytes of the unreduced array on one chip.
        n: N, chips along the axis.
        link: One-way bandwidth and latency.
        algorithm: How the links are used.
        latency_model: `additive` or `floor`.

    Returns:
        Exact seconds. Relation to simulation: EQUAL.
    """
    once = reduce_scatter(size, n, link, algorithm, latency_model)
    return once + once


def all_to_all(
    size: Bytes, n: int, link: Link, algorithm: Algorithm, latency_model: LatencyModel
) -> Terms:
    """Time of AllToAll: `A[I_X, J] -> A[I, J_X]`, each chip has V/N^2 bytes for each other.

    Additive model, bandwidth and latency terms:

    - balanced: N even V/8w, N odd (1-1/N^2) V/8w; floor(N/2) a
    - whole_shards: N even (1+2/N) V/8w, N odd as balanced; floor(N/2) a
    - half_shards: (N-1)/N V/4w and (N-1) a
    - one_direction: (N-1)/N V/2w and (N-1) a
    - line: the larger of the middle link's load, floor(N/2) ceil(N/2)/N^2 V/w + a, and the longest
      way, (N-1)(V/N^2w + a)

    Args:
        size: V, bytes of all shards of the group together.
        n: N, chips along the axis.
        link: One-way bandwidth and latency.
        algorithm: How the links are used.
        latency_model: `additive` or `floor`.

    Returns:
        Exact seconds. Relation to simulation: see `relation`.
    """
    if n == 1:
        return NOTHING
    w, a = link.one_way_bandwidth, link.latency
    block = Fraction(size) / (n * n * w)
    middle = (n // 2) * ((n + 1) // 2)
    if latency_model is LatencyModel.FLOOR:
        return _exchange_floor(n, block, a, algorithm, middle)
    match algorithm:
        case Algorithm.BALANCED:
            return Terms(block * (n * n - n % 2) / 8, n // 2 * a)
        case Algorithm.WHOLE_SHARDS:
            return Terms(block * (n * n + 2 * n if n % 2 == 0 else n * n - 1) / 8, n // 2 * a)
        case Algorithm.HALF_SHARDS:
            return Terms(block * n * (n - 1) / 4, (n - 1) * a)
        case Algorithm.ONE_DIRECTION:
            return Terms(block * n * (n - 1) / 2, (n - 1) * a)
        case Algorithm.LINE:
            load, way = Terms(middle * block, a), Terms((n - 1) * block, (n - 1) * a)
            return load if load.total >= way.total else way


def _exchange_floor(
    n: int, block: Fraction, a: Fraction, algorithm: Algorithm, middle: int
) -> Terms:
    """Messages shrink by one block a step: an arithmetic series with a floor."""
    match algorithm:
        case Algorithm.BALANCED:
            first = Fraction(1, 2) if n % 2 == 0 else Fraction(1)
            return sum_of_largest(first, n // 2, block, a)
        case Algorithm.WHOLE_SHARDS:
            return sum_of_largest(Fraction(1), n // 2, block, a)
        case Algorithm.HALF_SHARDS:
            return sum_of_largest(Fraction(1), n - 1, block / 2, a)
        case Algorithm.ONE_DIRECTION:
            return sum_of_largest(Fraction(1), n - 1, block, a)
        case Algorithm.LINE:
            load = middle * max(block, a)
            return Terms(load, Fraction(0)) if block > a else Terms(Fraction(0), load)


def exact_terms(
    kind: CollectiveKind,
    size: Bytes,
    n: int,
    link: Link,
    algorithm: Algorithm,
    latency_model: LatencyModel,
) -> Terms:
    """The closed form of any collective; see the function of its name."""
    form = {
        CollectiveKind.ALL_GATHER: all_gather,
        CollectiveKind.REDUCE_SCATTER: reduce_scatter,
        CollectiveKind.ALL_REDUCE: all_reduce,
        CollectiveKind.ALL_TO_ALL: all_to_all,
    }[kind]
    return form(size, n, link, algorithm, latency_model)


def relation(
    kind: CollectiveKind, n: int, link: Link, algorithm: Algorithm, latency_model: LatencyModel
) -> Relation:
    """How the closed form stands to the simulation of the collective alone."""
    if (
        kind is CollectiveKind.ALL_TO_ALL
        and algorithm is Algorithm.LINE
        and latency_model is LatencyModel.ADDITIVE
        and link.latency > 0
        and n > 3
    ):
        return Relation.LOWER_BOUND
    return Relation.EQUAL
