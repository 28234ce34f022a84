"""The book's first-order formulas, as a reader of the book would work them out.

They take every axis as a wrapped ring with both directions (W = 2w), and the larger of latency and
bandwidth. Source: "How to Scale Your Model", chapter "Sharded matrices". Relation to the
simulation: V/W is an UPPER BOUND of the balanced ring with zero latency, and no bound on a line.
"""

from __future__ import annotations

from fractions import Fraction

from shardsim.hardware import Link
from shardsim.units import Bytes, Seconds
from shardsim.vocabulary import CollectiveKind

__all__ = ["book_seconds"]


def book_seconds(kind: CollectiveKind, size: Bytes, n: int, link: Link) -> Seconds:
    """The book's time of one collective.

    AllGather and ReduceScatter: max(N/2 a, V/W). AllReduce: twice that. AllToAll: max(N/2 a, V/4W).

    Args:
        kind: Which collective.
        size: V, bytes as one group sees the array (see `cost.exact`).
        n: N, chips along the axis; one chip costs nothing.
        link: One link, one way; W is twice its bandwidth.

    >>> link = Link(Fraction(45 * 10**9), Fraction(0))
    >>> float(book_seconds(CollectiveKind.ALL_GATHER, Fraction(33554432), 4, link))
    0.0003728270222222222
    """
    if n == 1:
        return Fraction(0)
    latency = Fraction(n, 2) * link.latency
    bandwidth = Fraction(size) / link.bidirectional_bandwidth
    match kind:
        case CollectiveKind.ALL_GATHER | CollectiveKind.REDUCE_SCATTER:
            return max(latency, bandwidth)
        case CollectiveKind.ALL_REDUCE:
            return 2 * max(latency, bandwidth)
        case CollectiveKind.ALL_TO_ALL:
            return max(latency, bandwidth / 4)
