"""Bytes on the wire: how much leaves the busiest chip, forwarded bytes included."""

from __future__ import annotations

from fractions import Fraction

from shardsim.units import Bytes
from shardsim.vocabulary import Algorithm, CollectiveKind

__all__ = ["wire_bytes"]


def wire_bytes(kind: CollectiveKind, size: Bytes, n: int, algorithm: Algorithm) -> Bytes:
    """Bytes that leave the busiest chip in one collective of V = `size` bytes over `n` chips.

    - AllGather, ReduceScatter on a ring: (N-1)/N V, by any algorithm.
    - AllGather on a line: an inner chip sends its own block both ways, the others on: (N+1)/N V.
    - ReduceScatter on a line: (N-1)/N V.
    - AllReduce: the two together.
    - AllToAll, balanced or whole_shards: V/4 (N odd: (1-1/N^2) V/4); half_shards and one_direction:
      (N-1)/N V/2; on a line the middle chip sends floor(N^2/2) blocks, one less if N is even.

    Relation to the simulation: EQUAL (the largest sum over a chip's links).

    >>> wire_bytes(CollectiveKind.ALL_GATHER, Fraction(64), 4, Algorithm.BALANCED)
    Fraction(48, 1)
    """
    if n == 1:
        return Fraction(0)
    once = Fraction(size) * (n - 1) / n
    inner = Fraction(size) * (n + 1) / n if algorithm is Algorithm.LINE and n > 2 else once
    match kind:
        case CollectiveKind.ALL_GATHER:
            return inner
        case CollectiveKind.REDUCE_SCATTER:
            return once
        case CollectiveKind.ALL_REDUCE:
            return once + inner
        case CollectiveKind.ALL_TO_ALL:
            return _exchanged(Fraction(size) / (n * n), n, algorithm)


def _exchanged(block: Bytes, n: int, algorithm: Algorithm) -> Bytes:
    match algorithm:
        case Algorithm.BALANCED | Algorithm.WHOLE_SHARDS:
            return block * (n * n - n % 2) / 4
        case Algorithm.HALF_SHARDS | Algorithm.ONE_DIRECTION:
            return block * n * (n - 1) / 2
        case Algorithm.LINE:
            return block * (n * n // 2 - (1 if n % 2 == 0 else 0))
