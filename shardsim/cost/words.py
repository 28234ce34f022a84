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
    if kind is CollectiveKind.ALL_TO_ALL:
        text = _exchange(n, algorithm)
    elif kind is CollectiveKind.ALL_REDUCE:
        text = f"2 ({_gather(n, algorithm)})"
    else:
        text = _gather(n, algorithm)
    if latency_model is LatencyModel.FLOOR:
        return f"{text} without its latency, each message at least a"
    return text


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
    match algorithm:
        case Algorithm.BALANCED:
            return f"{n - 1}/{n} V/2w + {n // 2}a"
        case Algorithm.WHOLE_SHARDS:
            return f"{n // 2}/{n} V/w + {n // 2}a"
        case Algorithm.HALF_SHARDS:
            return f"{n - 1}/{n} V/2w + {n - 1}a"
        case Algorithm.ONE_DIRECTION | Algorithm.LINE:
            return f"{n - 1}/{n} V/w + {n - 1}a"


def _exchange(n: int, algorithm: Algorithm) -> str:
    even, squared = n % 2 == 0, n * n
    odd_share = f"{squared - 1}/{squared} "
    match algorithm:
        case Algorithm.BALANCED:
            return f"{'' if even else odd_share}V/8w + {n // 2}a"
        case Algorithm.WHOLE_SHARDS:
            return f"{f'{n + 2}/{n} ' if even else odd_share}V/8w + {n // 2}a"
        case Algorithm.HALF_SHARDS:
            return f"{n - 1}/{n} V/4w + {n - 1}a"
        case Algorithm.ONE_DIRECTION:
            return f"{n - 1}/{n} V/2w + {n - 1}a"
        case Algorithm.LINE:
            load = (n // 2) * ((n + 1) // 2)
            return f"max({load}/{squared} V/w + a, {n - 1}/{squared} V/w + {n - 1}a)"
