"""The records of the closed forms, and the sums they share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.units import Bytes, Seconds
from shardsim.vocabulary import LatencyModel, Relation

if TYPE_CHECKING:
    from shardsim.call import Call

__all__ = ["NOTHING", "CollectivePrice", "MatmulPrice", "Terms", "later", "sum_of_largest"]


@dataclass(frozen=True, slots=True)
class Terms:
    """A time in two parts: what bandwidth costs, and what latency costs."""

    bandwidth: Seconds
    latency: Seconds

    @property
    def total(self) -> Seconds:
        """The time."""
        return self.bandwidth + self.latency

    def __add__(self, other: Terms) -> Terms:
        return Terms(self.bandwidth + other.bandwidth, self.latency + other.latency)


NOTHING = Terms(Fraction(0), Fraction(0))


def later(*times: Terms) -> Terms:
    """The latest of several times; of equal ones the first."""
    return max(times, key=lambda terms: terms.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivePrice:
    """What a collective costs.

    Attributes:
        call: The collective.
        latency_model: What a hop costs.
        book: Seconds by the book's first-order formula (a wrapped ring is assumed).
        exact: Seconds by the closed form, in its two terms.
        estimate: Seconds to rank by: `exact`, or what is likely where that is only a lower bound.
        relation: How `exact` stands to the simulation of the collective alone.
        wire_bytes: Bytes that leave the busiest chip, forwarded ones included.
    """

    call: Call
    latency_model: LatencyModel
    book: Seconds
    exact: Terms
    estimate: Seconds
    relation: Relation
    wire_bytes: Bytes

    @property
    def book_formula(self) -> str:
        """`book` in words: `max(V/2w, 2a)`."""
        from shardsim.cost.book import book_in_words  # here, since it needs this module

        return book_in_words(self.call.kind, self.call.group.segments)

    @property
    def exact_formula(self) -> str:
        """`exact` in words: `3/4 V/w + 3a`."""
        from shardsim.cost.words import exact_in_words  # here, since it needs this module

        return exact_in_words(self.call, self.latency_model)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatmulPrice:
    """What a local matmul costs on one chip: seconds by FLOPs, by HBM traffic, and the larger.

    Attributes:
        compute: FLOPs, those of padding included, over the peak.
        memory: Bytes over the HBM bandwidth.
        waste: The share of the FLOPs that is padding to whole tiles.
    """

    compute: Seconds
    memory: Seconds
    waste: Fraction = Fraction(0)

    @property
    def useful(self) -> Seconds:
        """Seconds of the FLOPs without padding at the peak."""
        return self.compute * (1 - self.waste)

    @property
    def seconds(self) -> Seconds:
        """The roofline: max(FLOPs / peak, bytes / HBM bandwidth)."""
        return max(self.compute, self.memory)


def sum_of_largest(first: Fraction, count: int, unit: Seconds, floor: Seconds) -> Terms:
    """Sum of max(floor, (first + j) * unit) for j = 0 .. count - 1, split by which term is larger.

    The terms rise, so those below the floor come first; their number is a division, not a search.

    >>> sum_of_largest(Fraction(1), 4, Fraction(1), Fraction(2)).total
    Fraction(11, 1)
    """
    below = min(max(math.ceil(floor / unit - first), 0), count)
    above = count - below
    start = first + below
    return Terms(unit * (above * start + Fraction(above * (above - 1), 2)), below * floor)
