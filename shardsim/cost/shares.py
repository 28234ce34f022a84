"""Shares of the data for each order of the segments, so that all links are loaded alike.

With equal shares, rotated orders load unequal rings unequally: most bytes cross the ring that is
gathered last. Shares that even this out make the busiest link as little busy as can be.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.vocabulary import CollectiveKind, DimensionKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardsim.mesh import Segment
    from shardsim.vocabulary import CallKind

__all__ = ["balanced_shares"]

Order = tuple[int, ...]
MOST_SEGMENTS = 3


def balanced_shares(
    kind: CallKind, segments: Sequence[Segment]
) -> tuple[list[Order], tuple[Fraction, ...]]:
    """Orders of up to three segments, and their shares, that make the busiest link least busy.

    Two segments: the shares that load both alike, a closed form. Three: the best corner of the
    problem "least m with load of each segment <= m, shares >= 0 and 1 together", each corner solved
    exactly. More: equal shares of the rotated orders. AllToAll too: it loads a link alike in every
    order, and equal shares keep all links at work at once.

    >>> from shardsim.catalogue import find_topology
    >>> from shardsim.mesh import lay_mesh
    >>> segments = lay_mesh(find_topology("v5p:4x4x8")).segments[1:]
    >>> [str(share) for share in balanced_shares(CollectiveKind.ALL_GATHER, segments)[1]]
    ['17/42', '25/42']
    """
    count = len(segments)
    turned = [tuple((first + step) % count for step in range(count)) for first in range(count)]
    if count > MOST_SEGMENTS or kind is CollectiveKind.ALL_TO_ALL:
        return turned, (Fraction(1, count),) * count
    others = [order for order in itertools.permutations(range(count)) if order not in turned]
    best = _best_corner(segments, turned)
    every = _best_corner(segments, [*turned, *others])
    if every[0] < best[0]:
        return [*turned, *others], every[1]
    return turned, best[1]


def _best_corner(
    segments: Sequence[Segment], orders: Sequence[Order]
) -> tuple[Fraction, tuple[Fraction, ...]]:
    """The seconds of the busiest link, and the shares, where that is least."""
    count = len(segments)
    loads = [_loads(segments, order) for order in orders]
    best: tuple[Fraction, tuple[Fraction, ...]] | None = None
    for used in range(1, count + 1):
        for chosen in itertools.combinations(range(len(orders)), used):
            for tight in itertools.combinations(range(count), used):
                found = _corner([loads[at] for at in chosen], tight)
                if found is None or min(found) < 0:
                    continue
                shares = [Fraction(0)] * len(orders)
                for at, share in zip(chosen, found, strict=True):
                    shares[at] = share
                busiest = max(
                    sum((s * load[i] for s, load in zip(shares, loads, strict=True)), Fraction(0))
                    for i in range(count)
                )
                if best is None or busiest < best[0]:
                    best = busiest, tuple(shares)
    assert best is not None
    return best


def _loads(segments: Sequence[Segment], order: Order) -> list[Fraction]:
    """Seconds on a link of each segment, for all of a V of 1 byte in one order."""
    total = math.prod(segment.size for segment in segments)
    found = [Fraction(0)] * len(segments)
    gathered = 1
    for index in order:
        segment = segments[index]
        ways = 2 if segment.kind is DimensionKind.RING else 1
        rate = ways * segment.link.one_way_bandwidth
        gathered *= segment.size
        moved = Fraction(gathered, total) * Fraction(segment.size - 1, segment.size)
        found[index] = moved / rate
    return found


def _corner(loads: Sequence[Sequence[Fraction]], tight: Order) -> list[Fraction] | None:
    """Shares of some orders, 1 together, for which some segments are loaded alike."""
    count = len(loads)
    rows = [[Fraction(1)] * count + [Fraction(1)]]
    rows += [
        [*(load[tight[0]] - load[other] for load in loads), Fraction(0)] for other in tight[1:]
    ]
    return _solved(rows)


def _solved(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """Gauss-Jordan elimination, exact; None where there is no single answer."""
    count = len(rows)
    for column in range(count):
        pivot = next((row for row in range(column, count) if rows[row][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        head = rows[column][column]
        rows[column] = [value / head for value in rows[column]]
        for row in range(count):
            factor = rows[row][column]
            if row != column and factor:
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column], strict=True)]
    return [row[-1] for row in rows]
