"""One collective priced by formula, without simulating it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.comparison.collectives import PER_CHIP
from shardsim.comparison.running import calls_of
from shardsim.units import Bytes, BytesPerSecond, Seconds
from shardsim.vocabulary import TransferKind

if TYPE_CHECKING:
    from shardsim.cost import CollectivePrice
    from shardsim.scenario import Single

__all__ = ["Knees", "Priced", "knees", "price_asked"]

LARGE = Fraction(10**18)


@dataclass(frozen=True, slots=True)
class Priced:
    """A collective and its price, of several ways the one that takes longest."""

    price: CollectivePrice
    size: Bytes

    @property
    def chips(self) -> int:
        """Chips that take part together."""
        call = self.price.call
        return 2 if call.kind is TransferKind.SEND else call.group.size

    @property
    def benchmark_size(self) -> Bytes:
        """S in bytes: the size that a benchmark names."""
        return self.size / self.chips if self.price.call.kind in PER_CHIP else self.size


def price_asked(asked: Single) -> Priced:
    """Prices a collective that somebody asks for.

    Raises:
        PlanError, TopologyError: it cannot be done so.

    >>> from shardsim.scenario import make_collective
    >>> asked = make_collective("all_gather", size="32 MiB", topology="v5e:8x4", axes="Y")
    >>> round(float(price_asked(asked).price.exact.total) * 1e6, 1)
    562.2
    """
    calls, cost = calls_of(asked)
    prices = [cost.collective(call) for call in calls]
    longest = max(prices, key=lambda price: price.exact.total)
    return Priced(longest, sum((call.size for call in calls), Fraction(0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Knees:
    """The V in bytes at which latency takes as long as the bytes, and what is on either side.

    Attributes:
        book: By the book's formula, the larger of the two: below it nothing is gained by less.
        exact: By the closed form, the sum of both.
        book_latency: Seconds of next to nothing, by the book's formula.
        exact_latency: Likewise by the closed form: the latency, and what is waited for before.
        exact_algbw: S over the time of very much, by the closed form; 0 where it takes none.
    """

    book: Bytes
    exact: Bytes
    book_latency: Seconds
    exact_latency: Seconds
    exact_algbw: BytesPerSecond


def knees(asked: Single) -> Knees:
    """Where latency and bandwidth weigh the same, whatever size is asked for.

    Both forms are latency and bytes over bandwidth: the latency is what next to nothing takes, the
    bandwidth what very much takes.

    >>> from shardsim.scenario import make_collective
    >>> int(knees(make_collective("AG", size="1 MB", topology="v5e:16")).book)
    720000
    """
    tiny, huge = (price_asked(replace(asked, size=size)) for size in (1 / LARGE, LARGE))
    time = huge.price.exact.bandwidth
    rate = time / huge.size
    book_rate = huge.price.book / huge.size
    return Knees(
        book=tiny.price.book / book_rate if book_rate else Fraction(0),
        exact=tiny.price.exact.latency / rate if rate else Fraction(0),
        book_latency=tiny.price.book,
        exact_latency=tiny.price.exact.latency,
        exact_algbw=huge.benchmark_size / time if time else Fraction(0),
    )
