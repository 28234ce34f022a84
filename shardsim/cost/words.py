"""The closed forms as text, so that a price can be read: `2 (3/4 V/w + 3a)`.

V is bytes as one group sees the array, w one-way bytes/s of one link, a the latency of one link. A
test evaluates the texts and holds them equal to the formulas.
"""

from __future__ import annotations

from shardsim.vocabulary import Algorithm, CollectiveKind, LatencyModel

__all__ = ["book_in_words", "exact_in_words"]


def exact_in_words(
    kind: CollectiveKind, n: int, algorithm: Algorithm, latency_model: LatencyModel
) -> str:
    """The closed form of a collective over `n` chips.

    >>> exact_in_words(
    ...     CollectiveKind.ALL_REDUCE, 4, Algorithm.LINE, LatencyModel.ADDITIVE
    ... )
    '2 (3/4 V/w + 3a)'
    """
    on_line = algorithm is Algorithm.LINE
    if kind is CollectiveKind.ALL_TO_ALL and on_line and latency_model is LatencyModel.ADDITIVE:
        return f"max({_load(n)} + a, {n - 1}/{n * n} V/w + {n - 1}a)"
    if kind is not CollectiveKind.ALL_TO_ALL:
        bandwidth = _gather(n, algorithm)
    else:
        bandwidth = _load(n) if on_line else _exchange(n, algorithm)
    both_ways = algorithm in {Algorithm.BALANCED, Algorithm.WHOLE_SHARDS}
    latencies = n // 2 if both_ways else n - 1
    floor = latency_model is LatencyModel.FLOOR
    text = bandwidth if floor else f"{bandwidth} + {latencies}a"
    if kind is CollectiveKind.ALL_REDUCE:
        text = f"2 ({text})"
    return f"{text}, a message taking at least a" if floor else text


def book_in_words(kind: CollectiveKind, n: int) -> str:
    """The book's first-order formula over `n` chips.

    >>> book_in_words(CollectiveKind.ALL_GATHER, 4)
    'max(V/2w, 2a)'
    """
    half = f"{n // 2}a" if n % 2 == 0 else f"{n}/2 a"
    match kind:
        case CollectiveKind.ALL_GATHER | CollectiveKind.REDUCE_SCATTER:
            return f"max(V/2w, {half})"
        case CollectiveKind.ALL_REDUCE:
            return f"2 max(V/2w, {half})"
        case CollectiveKind.ALL_TO_ALL:
            return f"max(V/8w, {half})"


def _gather(n: int, algorithm: Algorithm) -> str:
    """The bandwidth term of AllGather and ReduceScatter."""
    match algorithm:
        case Algorithm.BALANCED | Algorithm.HALF_SHARDS:
            return f"{n - 1}/{n} V/2w"
        case Algorithm.WHOLE_SHARDS:
            return f"{n // 2}/{n} V/w"
        case Algorithm.ONE_DIRECTION | Algorithm.LINE:
            return f"{n - 1}/{n} V/w"


def _exchange(n: int, algorithm: Algorithm) -> str:
    """The bandwidth term of AllToAll on a ring."""
    if algorithm is Algorithm.HALF_SHARDS:
        return f"{n - 1}/{n} V/4w"
    if algorithm is Algorithm.ONE_DIRECTION:
        return f"{n - 1}/{n} V/2w"
    if n % 2:
        return f"{n * n - 1}/{n * n} V/8w"
    return "V/8w" if algorithm is Algorithm.BALANCED else f"{n + 2}/{n} V/8w"


def _load(n: int) -> str:
    """What the middle link of a line carries in an AllToAll."""
    return f"{(n // 2) * ((n + 1) // 2)}/{n * n} V/w"
