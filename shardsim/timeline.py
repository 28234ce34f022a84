"""What happened when: intervals on resources, in exact ticks.

A tick is 1 / `ticks_per_second` seconds, chosen so that every duration of the run is a whole number
of ticks. A record may stand for several chips that behave alike (`chips_per_record`).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from shardsim.units import Bytes, Seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "Activity",
    "Core",
    "Interval",
    "LinkDirection",
    "Message",
    "Port",
    "Timeline",
    "Track",
    "union",
    "without",
]

Span = tuple[int, int]


class Core(NamedTuple):
    """The matrix unit of a chip."""

    chip: tuple[int, ...]

    def __str__(self) -> str:
        return "core"


class LinkDirection(NamedTuple):
    """The link that leaves a chip along a dimension, one way (+1 or -1)."""

    chip: tuple[int, ...]
    dimension: str
    direction: int

    def __str__(self) -> str:
        return f"{self.dimension}{'+' if self.direction > 0 else '-'}"


class Port(NamedTuple):
    """The port of a chip at the switch of a dimension: out (+1) or in (-1)."""

    chip: tuple[int, ...]
    dimension: str
    direction: int

    def __str__(self) -> str:
        return f"{self.dimension} {'out' if self.direction > 0 else 'in'}"


Track = Core | LinkDirection | Port


class Message(NamedTuple):
    """One message of a step: who sent it first, on which channel, its number there.

    A channel is (segment, direction, port), as in the step programs.
    """

    sender: tuple[int, ...]
    channel: tuple[int, int, int]
    number: int


class Interval(NamedTuple):
    """A resource is busy from `start` to `end` (ticks).

    Attributes:
        track: The core, link direction or port.
        start: From when.
        end: Until when.
        arrival: On a link, when the message is at the next chip; on a core, `end`.
        step: The index in the plan.
        message: What is sent; None on a core.
        hop: The number of the hop on the message's way, from 0 on.
        size: Bytes sent; 0 on a core.
    """

    track: Track
    start: int
    end: int
    arrival: int
    step: int
    message: Message | None = None
    hop: int = 0
    size: Bytes = Fraction(0)


class Activity(NamedTuple):
    """A chip takes part in a step from `start` (inputs there) to `end` (nothing more to do)."""

    step: int
    chip: tuple[int, ...]
    start: int
    end: int


def union(spans: Iterable[Span]) -> list[Span]:
    """The union of spans as disjoint spans in order.

    >>> union([(5, 7), (0, 2), (1, 3)])
    [(0, 3), (5, 7)]
    """
    merged: list[Span] = []
    for start, end in sorted(spans):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def length(spans: Iterable[Span]) -> int:
    """The ticks that disjoint spans cover.

    >>> length([(0, 3), (5, 7)])
    5
    """
    return sum(end - start for start, end in spans)


def without(spans: Iterable[Span], others: Iterable[Span]) -> list[Span]:
    """The parts of disjoint spans in order that no other covers.

    >>> without([(0, 5), (7, 9)], [(1, 2), (4, 8)])
    [(0, 1), (2, 4), (8, 9)]
    """
    covered = union(others)
    found: list[Span] = []
    first = 0
    for start, stop in spans:
        while first < len(covered) and covered[first][1] <= start:
            first += 1
        at = start
        for low, high in itertools.islice(covered, first, None):
            if low >= stop:
                break
            if low > at:
                found.append((at, low))
            at = high
        if at < stop:
            found.append((at, stop))
    return found


@dataclass(frozen=True)
class Timeline:
    """The records of one run, sorted, so that equal runs have equal timelines.

    Attributes:
        ticks_per_second: Ticks in a second.
        intervals: What each resource did; intervals of one resource never overlap.
        activities: When each chip took part in each step.
        chips_per_record: How many chips each record stands for.
    """

    ticks_per_second: int
    intervals: tuple[Interval, ...]
    activities: tuple[Activity, ...]
    chips_per_record: int = 1

    @classmethod
    def in_whole_ticks(
        cls, ticks_per_second: int, intervals: Sequence[Interval], activities: Sequence[Activity]
    ) -> Timeline:
        """From times that may be fractions of ticks: in finer ticks that make them whole."""
        times = [
            *(t for i in intervals for t in (i.start, i.end, i.arrival)),
            *(t for a in activities for t in (a.start, a.end)),
        ]
        if all(type(t) is int for t in times):
            return cls(ticks_per_second, tuple(intervals), tuple(activities))
        finer = math.lcm(*{t.denominator for t in times})
        return cls(
            ticks_per_second * finer,
            tuple(
                i._replace(
                    start=int(i.start * finer),
                    end=int(i.end * finer),
                    arrival=int(i.arrival * finer),
                )
                for i in intervals
            ),
            tuple(
                a._replace(start=int(a.start * finer), end=int(a.end * finer)) for a in activities
            ),
        )

    def seconds(self, ticks: int) -> Seconds:
        """Exact seconds."""
        return Fraction(ticks, self.ticks_per_second)

    @cached_property
    def makespan(self) -> Seconds:
        """When the last chip has done its last step."""
        return self.seconds(max((activity.end for activity in self.activities), default=0))

    @cached_property
    def by_track(self) -> dict[Track, tuple[Interval, ...]]:
        """The intervals of each resource, in time order."""
        tracks: defaultdict[Track, list[Interval]] = defaultdict(list)
        for interval in self.intervals:
            tracks[interval.track].append(interval)
        return {track: tuple(intervals) for track, intervals in tracks.items()}

    @cached_property
    def chips(self) -> tuple[tuple[int, ...], ...]:
        """The chips that have records, in order."""
        return tuple(dict.fromkeys(sorted(activity.chip for activity in self.activities)))

    def busy(self, track: Track) -> Seconds:
        """How long a resource is busy."""
        return self.seconds(sum(i.end - i.start for i in self.by_track.get(track, ())))

    def busiest(self) -> Seconds:
        """How long the busiest resource is busy: no run of this work is shorter."""
        return max((self.busy(track) for track in self.by_track), default=Fraction(0))

    def carried(self, track: Track) -> Bytes:
        """Bytes that a link or port has carried."""
        return sum((i.size for i in self.by_track.get(track, ())), Fraction(0))

    def step_span(self, step: int) -> tuple[Seconds, Seconds]:
        """From the first chip's start of a step to the last chip's end."""
        start, end = self._spans.get(step, (0, 0))
        return self.seconds(start), self.seconds(end)

    @cached_property
    def _spans(self) -> dict[int, Span]:
        spans: dict[int, Span] = {}
        for a in self.activities:
            start, end = spans.get(a.step, (a.start, a.end))
            spans[a.step] = (min(start, a.start), max(end, a.end))
        return spans

    def computing(self, chip: tuple[int, ...]) -> list[Span]:
        """When a chip's core is busy."""
        return [(i.start, i.end) for i in self.by_track.get(Core(chip), ())]

    def communicating(self, chip: tuple[int, ...], steps: frozenset[int]) -> list[Span]:
        """When a chip takes part in one of the given steps (the collectives), latency included."""
        return union((a.start, a.end) for a in self.by_chip[chip] if a.step in steps)

    @cached_property
    def by_chip(self) -> dict[tuple[int, ...], tuple[Activity, ...]]:
        """The activities of each chip."""
        chips: defaultdict[tuple[int, ...], list[Activity]] = defaultdict(list)
        for activity in self.activities:
            chips[activity.chip].append(activity)
        return {chip: tuple(activities) for chip, activities in chips.items()}
