"""The critical path of a run: what waited for what, from the start to the end."""

from __future__ import annotations

import bisect
from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shardsim.timeline import Core, Interval, Port
from shardsim.topology import spot
from shardsim.units import Seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.timeline import Timeline, Track
    from shardsim.topology import Coordinate, Topology

__all__ = ["PathStep", "critical_path"]


@dataclass(frozen=True, slots=True)
class PathStep:
    """One piece of the critical path: a step on one chip, or messages of it from chip to chip.

    Attributes:
        step: Index in the plan.
        computes: Whether a core is at work; else messages are under way.
        chip: Where the piece begins.
        start: From when.
        end: Until when; the next piece begins there.
    """

    step: int
    computes: bool
    chip: tuple[int, ...]
    start: Seconds
    end: Seconds

    @property
    def seconds(self) -> Seconds:
        """How long it is."""
        return self.end - self.start

    def to_dict(self) -> dict[str, Any]:
        """An entry of `critical_path` in the JSON."""
        return {
            "step": self.step,
            "chip": list(self.chip),
            "does": "compute" if self.computes else "communicate",
            "start_seconds": float(self.start),
            "end_seconds": float(self.end),
        }

    def __str__(self) -> str:
        return f"{self.step + 1} on {spot(self.chip)}"


def critical_path(timeline: Timeline, topology: Topology) -> tuple[PathStep, ...]:
    """The pieces of the critical path, in order; together they take the whole time of the run.

    Walked backwards: from what ends last to what ended when it began, on the same chip or link,
    and so on. Of several such the one of the same step is taken. A launch belongs to what it
    launches.
    """
    if not timeline.intervals:
        return ()
    past = _Past(timeline, topology)
    last = max(past.events, key=lambda one: (one.arrival, one))
    end = max(last.arrival, *(a.end for a in timeline.activities))
    pieces: list[PathStep] = []
    here: Interval | None = last
    while here is not None:
        before = past.before(here)
        start = here.start if before is None else min(before.arrival, here.start)
        piece = PathStep(
            here.step,
            isinstance(here.track, Core),
            here.track.chip,
            timeline.seconds(start),
            timeline.seconds(end),
        )
        after = pieces[-1] if pieces else None
        if after is not None and (after.step, after.computes) == (piece.step, piece.computes):
            pieces[-1] = replace(piece, end=after.end)
        else:
            pieces.append(piece)
        here, end = before, start
    pieces[-1] = replace(pieces[-1], start=Fraction(0))
    return tuple(reversed(pieces))


class _Past:
    """What had ended where, and when."""

    def __init__(self, timeline: Timeline, topology: Topology) -> None:
        self._topology = topology
        self._dimensions = {d.name: index for index, d in enumerate(topology.dimensions)}
        into = {
            (i.step, i.message, i.hop): i.track.chip
            for i in timeline.intervals
            if isinstance(i.track, Port) and i.track.direction < 0
        }
        self._into = into
        self.events = [
            i
            for i in timeline.intervals
            if not (isinstance(i.track, Port) and i.track.direction < 0 and self._has_twin(i))
        ]
        at_chip: defaultdict[Coordinate, list[tuple[int, Interval]]] = defaultdict(list)
        on_track: dict[tuple[Track, int], Interval] = {}
        for one in self.events:
            at_chip[self._comes_to(one)].append((one.arrival, one))
            on_track[one.track, one.end] = one
        self._at_chip = {chip: sorted(events) for chip, events in at_chip.items()}
        self._on_track = on_track

    def _has_twin(self, one: Interval) -> bool:
        """Whether the port that it comes out of has a record of the same hop."""
        assert one.message is not None
        return one.message.sender != one.track.chip

    def _comes_to(self, one: Interval) -> Coordinate:
        """Where its result is: on the chip of a core, or where a message goes."""
        if isinstance(one.track, Core):
            return one.track.chip
        key = (one.step, one.message, one.hop)
        if isinstance(one.track, Port):
            return self._into.get(key, one.track.chip)
        link = (self._dimensions[one.track.dimension], one.track.direction)
        return self._topology.neighbour(one.track.chip, link) or one.track.chip

    def before(self, one: Interval) -> Interval | None:
        """What it waited for; None where it waited for nothing."""
        candidates = [*self._ended(one.track.chip, one.start)]
        on_track = self._on_track.get((one.track, one.start))
        if on_track is not None:
            candidates.append(on_track)
        if candidates:
            return max(candidates, key=lambda i: (i.step == one.step, i.step, i))
        events = self._at_chip.get(one.track.chip, [])
        index = bisect.bisect_left(events, (one.start,))
        return events[index - 1][1] if index else None

    def _ended(self, chip: Coordinate, time: int) -> Iterator[Interval]:
        events = self._at_chip.get(chip, [])
        index = bisect.bisect_left(events, (time,))
        while index < len(events) and events[index][0] == time:
            yield events[index][1]
            index += 1
