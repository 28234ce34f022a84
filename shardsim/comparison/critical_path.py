"""The critical path of a run: what waited for what, from the start to the end."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shardsim.planner import CollectiveStep
from shardsim.timeline import Core, Interval, Port
from shardsim.units import Seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shardsim.planner import Plan
    from shardsim.timeline import Timeline, Track
    from shardsim.topology import Coordinate

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


def critical_path(
    timeline: Timeline, plan: Plan, dependencies: Sequence[Sequence[int]], *, barrier: bool
) -> tuple[PathStep, ...]:
    """The pieces of the critical path, in order; together they take the whole time of the run.

    Walked backwards: from what ends last to what it waited for, and so on. A message waits for one
    that came before, for the core whose result it carries, for its link, and for the launch; a core
    for what it reads, and for the part before. Of several that ended just then the one of the same
    step is taken. A launch belongs to what it launches.

    Args:
        timeline: Of the run.
        plan: What was run.
        dependencies: For each step those that it waits for on each chip.
        barrier: Whether a step waits for the step before on all chips.
    """
    if not timeline.intervals:
        return ()
    past = _Past(timeline, plan, dependencies, barrier=barrier)
    last = max(past.events, key=lambda one: (one.arrival, one))
    end = max(last.arrival, *(a.end for a in timeline.activities))
    pieces: list[PathStep] = []
    here: Interval | None = last
    while here is not None:
        before = past.before(here)
        start = 0 if before is None else min(before.arrival, here.start)
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
    return tuple(reversed(pieces))


class _Past:
    """What ended where and when, and which of it something may have waited for."""

    def __init__(
        self,
        timeline: Timeline,
        plan: Plan,
        dependencies: Sequence[Sequence[int]],
        *,
        barrier: bool,
    ) -> None:
        topology = plan.mesh.topology
        self._topology = topology
        self._dimensions = {d.name: index for index, d in enumerate(topology.dimensions)}
        self._into = {
            (i.step, i.message, i.hop): i.track.chip
            for i in timeline.intervals
            if isinstance(i.track, Port) and i.track.direction < 0
        }
        out = {
            (i.step, i.message, i.hop)
            for i in timeline.intervals
            if isinstance(i.track, Port) and i.track.direction > 0
        }
        self.events = [
            i
            for i in timeline.intervals
            if not (isinstance(i.track, Port) and i.track.direction < 0)
            or (i.step, i.message, i.hop) not in out
        ]
        self._barrier = barrier
        self._causes = _causes(plan, dependencies)
        self._launches = {
            index: int(step.call.launch * timeline.ticks_per_second)
            for index, step in enumerate(plan.steps)
            if isinstance(step, CollectiveStep)
        }
        self._arrived: defaultdict[tuple[Coordinate, int, int], list[Interval]] = defaultdict(list)
        self._ended: defaultdict[tuple[int, int], list[Interval]] = defaultdict(list)
        self._on_track: dict[tuple[Track, int], Interval] = {}
        for one in self.events:
            self._arrived[self._comes_to(one), one.step, one.arrival].append(one)
            self._ended[one.step, one.arrival].append(one)
            self._on_track[one.track, one.end] = one

    def _comes_to(self, one: Interval) -> Coordinate:
        """Where its result is: on the chip of a core, or where a message goes."""
        if isinstance(one.track, Core):
            return one.track.chip
        if isinstance(one.track, Port):
            return self._into.get((one.step, one.message, one.hop), one.track.chip)
        link = (self._dimensions[one.track.dimension], one.track.direction)
        return self._topology.neighbour(one.track.chip, link) or one.track.chip

    def before(self, one: Interval) -> Interval | None:
        """What it waited for last; None where it waited for nothing."""
        found = list(self._of_the_same_step(one))
        if not found:
            found = [
                event
                for time in self._times(one)
                for step in self._causes[one.step]
                for event in self._arrived.get((one.track.chip, step, time), ())
            ]
        on_track = self._on_track.get((one.track, one.start))
        if on_track is not None:
            found.append(on_track)
        if not found and self._barrier and one.start:
            found = [
                event
                for time in self._times(one)
                for step in range(one.step)
                for event in self._ended.get((step, time), ())
            ]
        return max(found, key=lambda i: (i.step == one.step, i.step, i), default=None)

    def _of_the_same_step(self, one: Interval) -> Iterator[Interval]:
        """Messages of the step itself that came to the chip just before; never for a core."""
        if not isinstance(one.track, Core):
            for time in self._times(one):
                yield from self._arrived.get((one.track.chip, one.step, time), ())

    def _times(self, one: Interval) -> Iterable[int]:
        """When what it waited for may have ended: as it began, or a launch before."""
        launch = self._launches.get(one.step, 0)
        return dict.fromkeys((one.start, one.start - launch))


def _causes(plan: Plan, dependencies: Sequence[Sequence[int]]) -> list[set[int]]:
    """For each step those whose end on a chip may let it begin there.

    All that it follows from: a step in which a chip has nothing to do hands on what it waited for.
    """
    causes: list[set[int]] = []
    for before in dependencies:
        causes.append(set(before).union(*(causes[step] for step in before)))
    for pair in plan.decomposed:
        if pair.matmul < pair.collective:
            causes[pair.matmul].add(pair.collective)  # a part may wait for the sum that it joins
    return causes
