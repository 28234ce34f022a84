"""One collective at many sizes: the closed forms at all of them, the simulation at some."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from shardsim.comparison.collectives import SIZE_MEANS, bus_share
from shardsim.comparison.prices import knees, price_asked
from shardsim.comparison.running import run_asked
from shardsim.documents import Faults
from shardsim.errors import ScenarioError, Source
from shardsim.units import Bytes, BytesPerSecond, Seconds, number, parse_quantity
from shardsim.vocabulary import CallKind, Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from shardsim.scenario import Single

__all__ = ["Size", "Sizes", "affordable", "over_sizes", "read_byte_sizes", "some_of", "spread"]

SMALLEST, LARGEST = Fraction(2**10), Fraction(2**30)
"""A spread goes from the one to the other at least."""
TIMES = 64
"""Or to so many times the size asked for."""
SOME = 6
"""So many sizes of a spread are simulated beside the one asked for."""
HOPS = 100_000
"""Fewer where all of them together would have more messages over links than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A collective of one size.

    Attributes:
        size: S in bytes, as benchmarks name it.
        book: Seconds by the book's formula.
        exact: Seconds by the closed form.
        relation: How `exact` stands to the simulation.
        method: The algorithm that does it.
        simulated: Seconds by simulation; None where it was not simulated.
        share: busbw over algbw.
    """

    size: Bytes
    book: Seconds
    exact: Seconds
    relation: Relation
    method: str
    simulated: Seconds | None
    share: Fraction

    @property
    def seconds(self) -> Seconds:
        """Simulated where it was, else exact."""
        return self.exact if self.simulated is None else self.simulated

    def algbw(self, seconds: Seconds) -> BytesPerSecond:
        """S over a time."""
        return self.size / seconds if seconds else Fraction(0)

    def busbw(self, seconds: Seconds) -> BytesPerSecond:
        """What a ring of messages sends from each chip, over a time."""
        return self.algbw(seconds) * self.share

    def to_dict(self) -> dict[str, Any]:
        """An entry of `sizes` in the JSON."""
        return {
            "benchmark_bytes": number(self.size),
            "algorithm": self.method,
            "book_seconds": float(self.book),
            "exact_seconds": float(self.exact),
            "relation": self.relation.value,
            "simulated_seconds": None if self.simulated is None else float(self.simulated),
            "algbw_bytes_per_second": float(self.algbw(self.seconds)),
            "busbw_bytes_per_second": float(self.busbw(self.seconds)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """A collective at many sizes.

    Attributes:
        kind: Which collective.
        machine: The name of the topology.
        axes: Over which axes; none of a send.
        chips: Chips that take part together.
        rows: The sizes, the smallest first.
        floor: Seconds of a collective without bytes: latency, and what is waited for before.
        asymptote: busbw of one without latency: what it comes near with large sizes.
    """

    kind: CallKind
    machine: str
    axes: tuple[str, ...]
    chips: int
    rows: tuple[Size, ...]
    floor: Seconds
    asymptote: BytesPerSecond

    @property
    def name(self) -> str:
        """The collective for people: `AllGather over X`."""
        notation = getattr(self.kind, "notation", self.kind.value.capitalize())
        return f"{notation} over {', '.join(self.axes)}" if self.axes else notation

    @property
    def size_means(self) -> str:
        """What S is the size of."""
        return SIZE_MEANS[self.kind]

    def to_dict(self) -> dict[str, Any]:
        """`sizes` in the JSON of `collective --json`."""
        return {
            "floor_seconds": float(self.floor),
            "asymptotic_busbw_bytes_per_second": float(self.asymptote),
            "rows": [row.to_dict() for row in self.rows],
        }


def over_sizes(
    asked: Single,
    sizes: Iterable[Bytes],
    simulated: Collection[Bytes] | None = None,
    progress: Callable[[str], None] = lambda _: None,
    known: Mapping[Bytes, Seconds] | None = None,
) -> Sizes:
    """Prices a collective at many sizes, and simulates it at some.

    Args:
        asked: The collective; its own size is not looked at.
        sizes: S in bytes.
        simulated: Which of them are simulated; all by default.
        progress: Is told what is simulated.
        known: What the simulation of a size came to before, in seconds: it is not done again.

    Raises:
        PlanError, TopologyError: it cannot be done so.

    >>> from shardsim.scenario import make_collective
    >>> asked = make_collective("AllGather", size="1 MiB", topology="h100:8")
    >>> found = over_sizes(asked, [Fraction(2**10), Fraction(2**30)])
    >>> [row.exact == row.simulated for row in found.rows], int(found.asymptote)
    ([True, True], 450000000000)
    """
    chips = 2 if asked.mesh is None else asked.mesh.ways(asked.axes)
    share = bus_share(asked.kind, chips)
    wanted = sorted(set(sizes))
    times = dict(known or {})
    left = [size for size in wanted if size not in times]
    left = [size for size in left if simulated is None or size in simulated]
    for count, size in enumerate(left, 1):
        progress(f"simulating {asked.topology.size:,} chips, {count} of {len(left)}")
        times[size] = run_asked(replace(asked, size=size)).simulated
    ends = knees(asked)
    return Sizes(
        kind=asked.kind,
        machine=asked.topology.name,
        axes=asked.axes,
        chips=chips,
        rows=tuple(_row(replace(asked, size=size), times.get(size), share) for size in wanted),
        floor=ends.exact_latency,
        asymptote=ends.exact_algbw * share,
    )


def _row(asked: Single, simulated: Seconds | None, share: Fraction) -> Size:
    """A collective of the size that is asked for; `share`: busbw over algbw."""
    price = price_asked(asked).price
    return Size(
        size=asked.size,
        book=price.book,
        exact=price.exact.total,
        relation=price.relation,
        method=price.call.method.name,
        simulated=simulated,
        share=share,
    )


def spread(size: Bytes) -> tuple[Bytes, ...]:
    """Powers of two from 1 KiB to 1 GiB, or to 64 times a size where that is more.

    >>> found = spread(Fraction(2**20))
    >>> len(found), int(found[0]), int(found[-1]) == 2**30
    (21, 1024, True)
    """
    found = [min(SMALLEST, Fraction(2) ** _power(size))]
    while found[-1] < max(LARGEST, TIMES * size):
        found.append(found[-1] * 2)
    return tuple(found)


def some_of(sizes: Sequence[Bytes], count: int = SOME) -> tuple[Bytes, ...]:
    """A few of many, evenly, the first and the last among them.

    >>> some_of([Fraction(n) for n in range(11)], 3)
    (Fraction(0, 1), Fraction(5, 1), Fraction(10, 1))
    """
    last = len(sizes) - 1
    count = min(count, len(sizes))
    if count < 2:
        return tuple(sizes[:count])
    return tuple(sizes[round(last * index / (count - 1))] for index in range(count))


def affordable(hops: int, count: int = SOME) -> int:
    """How many sizes are simulated beside the first, when one has so many messages over links.

    >>> affordable(1_000), affordable(24_000), affordable(80_000)
    (6, 3, 0)
    """
    return min(count, max(HOPS // max(hops, 1) - 1, 0))


def read_byte_sizes(text: str) -> tuple[Bytes, ...]:
    """The sizes of a text such as "1KiB,1MiB".

    Raises:
        InputError: one of them is no size.
        InputErrors: several are none.

    >>> [int(size) for size in read_byte_sizes("1KiB, 2 MB")]
    [1024, 2000000]
    """
    source, faults, found = Source(text, "--sizes"), Faults(), []
    for part in re.finditer(r"[^,]+", text):
        if part[0].strip():
            place = source.place(*part.span())
            read = partial(parse_quantity, part[0].strip(), "bytes", place)
            found.append(faults.attempt(read))
    faults.raise_any()
    sizes = [size for size in found if size is not None]
    if not sizes:
        raise ScenarioError("--sizes names no size", "write 1KiB,1MiB,1GiB", source.place(0))
    return tuple(sizes)


def _power(size: Bytes) -> int:
    """The largest power of two that is no more than a size.

    >>> _power(Fraction(1000)), _power(Fraction(1024)), _power(Fraction(1, 3))
    (9, 10, -2)
    """
    power = 0
    while Fraction(2) ** (power + 1) <= size:
        power += 1
    while Fraction(2) ** power > size:
        power -= 1
    return power
