"""Processes, threads, slices, arrows and counters of a trace.

`ts` and `dur` are microseconds. Start and end are rounded to whole nanoseconds, each by itself, and
`dur` is what lies between; so slices that do not overlap in ticks do not overlap in the trace. The
exact ticks are in `args`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, Any

from shardsim.errors import InputError
from shardsim.perfetto.hops import Hops
from shardsim.perfetto.sources import Arrival, Inbox
from shardsim.planner.memory import lifetimes
from shardsim.planner.steps import MatmulStep
from shardsim.timeline import Activity, Core, Interval, LinkDirection, Port
from shardsim.topology import AT_SWITCH, spot
from shardsim.units import number
from shardsim.vocabulary import DimensionKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shardsim.comparison import Run
    from shardsim.timeline import Message, Track
    from shardsim.topology import Coordinate

__all__ = ["MOST_CHIPS", "trace_events"]

MOST_CHIPS = 64
MOST_BLOCKS_IN_A_NAME = 3
LARGEST_EXACT = 2**53
NAME, SLICE, LEAVE, ARRIVE, COUNTER = range(5)  # the order of events at equal times

Event = dict[str, Any]
Thread = tuple[int, int]
Change = tuple[int, Fraction]
Slice = tuple[int, "Message | None", int, "Track"]
"""A hop of a message on one of the tracks that it holds: step, message, hop, track."""


def trace_events(run: Run, *, chips: int = MOST_CHIPS) -> dict[str, Any]:
    """The trace of a run, as the object that a trace file holds.

    Args:
        run: What was simulated.
        chips: The most chips to show, first ones first; `otherData` says how many there are.

    Returns:
        `displayTimeUnit` (Perfetto heeds it only near the start of a file), `otherData` and
        `traceEvents`: names, then what happens, in the order of time.

    Raises:
        InputError: `chips` is less than 1.
    """
    if chips < 1:
        raise InputError(f"a trace of {chips} chips shows nothing", "show 1 chip or more")
    return _Trace(run, chips).to_dict()


class _Trace:
    """One trace in the making: the threads, and the events so far."""

    def __init__(self, run: Run, chips: int) -> None:
        self.run, self.plan, self.timeline = run, run.plan, run.timeline
        self.topology = run.plan.mesh.topology
        self.dimensions = {d.name: index for index, d in enumerate(self.topology.dimensions)}
        self.hops = Hops(run.plan)
        self.texts = [step.text for step in run.plan.steps]
        recorded = self.timeline.chips or tuple(self.topology.coordinates())
        self.chips = recorded[:chips]
        # Thread numbers are unique in the trace: some viewers look a thread up by its number alone.
        self.fresh = count(len(self.chips) + 1)
        self.threads: dict[Track, Thread] = {}
        self.origins: dict[Thread, int] = {}
        self.events: list[tuple[tuple[int, int, Thread], Event]] = []
        ends = (interval.arrival for interval in self.timeline.intervals)
        self.exact = int if max(ends, default=0) <= LARGEST_EXACT else str

    def to_dict(self) -> dict[str, Any]:
        for pid, chip in enumerate(self.chips, start=1):
            self._add_chip(pid, chip)
        self._add_flows()
        self.events.sort(key=lambda item: item[0])
        about = {
            "format": "shardsim/trace/1",
            "name": self.run.scenario.name,
            "topology": self.topology.name,
            "mesh": self.plan.mesh.sizes,
            "overlap": self.run.scenario.options.overlap.value,
            "latency_model": self.plan.latency_model.value,
            "simulated_seconds": float(self.timeline.makespan),
            "ticks_per_second": str(self.timeline.ticks_per_second),
            "chips_shown": len(self.chips),
            "chips_total": self.topology.size,
            "chips_per_record": self.timeline.chips_per_record,
        }
        events = [event for _, event in self.events]
        return {"displayTimeUnit": "ns", "otherData": about, "traceEvents": events}

    def _add_chip(self, pid: int, chip: Coordinate) -> None:
        lanes = _lanes(self.timeline.by_chip.get(chip, ()))
        tracks: dict[Track, str] = {Core(chip): "core", **self._links(chip)}
        names = ["steps", *(f"steps ({n})" for n in range(2, len(lanes) + 1)), *tracks.values()]
        threads = [(pid, next(self.fresh)) for _ in names]
        self.threads.update(zip(tracks, threads[-len(tracks) :], strict=True))
        self._name("process_name", threads[0], name=self._chip_name(chip))
        self._name("process_sort_index", threads[0], sort_index=pid)
        for order, (thread, name) in enumerate(zip(threads, names, strict=True)):
            self._name("thread_name", thread, name=name)
            self._name("thread_sort_index", thread, sort_index=order)
        for thread, lane in zip(threads, lanes, strict=False):
            for part in lane:
                step = self.plan.steps[part.step]
                args = {"step": part.step + 1, "op": step.op}
                times = part.start, part.end
                self._add_slice(thread, "step", self.texts[part.step], times, args)
        busy: list[Change] = []
        for track in tracks:
            for interval in self.timeline.by_track.get(track, ()):
                self._add_interval(interval)
                if interval.message is not None:
                    busy += [(interval.start, Fraction(1)), (interval.end, Fraction(-1))]
        self._add_counter(threads[0], "links", "busy", busy)
        self._add_counter(threads[0], "memory", "resident_bytes", self._memory(chip))

    # Names.

    def _name(self, what: str, thread: Thread, **args: str | int) -> None:
        self._add(NAME, "M", what, 0, thread, {"args": args})

    def _links(self, chip: Coordinate) -> dict[Track, str]:
        """The links and ports of a chip, used or not, with their names."""
        found: dict[Track, str] = {}
        for index, dimension in enumerate(self.topology.dimensions):
            name = dimension.name
            for direction in (+1, -1):
                if self.topology.link(chip, (index, direction)) is None:
                    continue
                if dimension.kind is DimensionKind.SWITCH:
                    way = "out" if direction > 0 else "in"
                    found[Port(chip, name, direction)] = f"{name} {way} port"
                else:
                    axes = self.plan.mesh.axes_on.get(index, name)
                    text = f"{axes}{'+' if direction > 0 else '-'} link (dimension {name})"
                    found[LinkDirection(chip, name, direction)] = text
        return found

    def _chip_name(self, chip: Coordinate) -> str:
        """A chip, or a switch: `chip (0, 3)`, `gpu switch (0, *)`."""
        at_switch = [index for index, at in enumerate(chip) if at <= AT_SWITCH]
        if not at_switch:
            return f"chip {spot(chip)}"
        dimension = self.topology.dimensions[at_switch[0]]
        place = ("*" if at <= AT_SWITCH else str(at) for at in chip)
        return f"{dimension.name} switch ({', '.join(place)})"

    # Slices.

    def _add_interval(self, interval: Interval) -> None:
        step, text = self.plan.steps[interval.step], self.texts[interval.step]
        category, name = "compute", text
        args: Event = {"step": interval.step + 1, "text": text}
        if isinstance(step, MatmulStep):
            args |= {"flops": step.flops, "hbm_bytes": number(step.traffic)}
        if interval.message is not None:
            message, sent = interval.message, self.hops.sent(interval.step, interval.message)
            category, name = "message", f"{text.partition(' ')[0]} {_some(sent.texts)}"
            args |= {
                "message": message.number + 1,
                "messages": sent.messages,
                "sender": self._chip_name(message.sender),
                "receiver": self._chip_name(sent.receiver),
                "hop": interval.hop + 1,
                "hops": len(sent.way),
                "to": self._chip_name(sent.way[interval.hop].to),
                "bytes": number(interval.size),
                "blocks": sent.texts,
                "action": sent.send.action.value,
                "arrival_ticks": self.exact(interval.arrival),
            }
        times = interval.start, interval.end
        self._add_slice(self.threads[interval.track], category, name, times, args)

    def _add_slice(
        self, thread: Thread, category: str, name: str, times: tuple[int, int], args: Event
    ) -> None:
        start, end = (self._ns(ticks) for ticks in times)
        first = self.origins.setdefault(thread, start)
        exact = {"start_ticks": self.exact(times[0]), "end_ticks": self.exact(times[1])}
        more = {"dur": _duration(start, end, first), "cat": category, "args": {**args, **exact}}
        self._add(SLICE, "X", name, start, thread, more)

    # Arrows.

    def _add_flows(self) -> None:
        """From slice to slice, where both are shown.

        From the message that brought a block to the one that carries it on; from hop to hop of a
        message; and through a switch, from port to port, which are held at the same time.
        """
        shown: dict[Slice, Interval] = {
            (interval.step, interval.message, interval.hop, interval.track): interval
            for interval in self.timeline.intervals
            if interval.message is not None and interval.track in self.threads
        }
        inboxes = self._inboxes()
        pairs = (
            (shown[earlier], later)
            for later in shown.values()
            for earlier in self._before(later, inboxes)
            if earlier in shown
        )
        for flow, (earlier, later) in enumerate(pairs, start=1):
            start, end = self._ns(earlier.start), self._ns(earlier.end)
            arrives = self._ns(later.start)
            leaves = min(max(start, end - 1), arrives)
            more = {"cat": "hop", "id": flow}
            self._add(LEAVE, "s", "hop", leaves, self.threads[earlier.track], more)
            self._add(ARRIVE, "f", "hop", arrives, self.threads[later.track], more | {"bp": "e"})

    def _before(
        self, interval: Interval, inboxes: dict[tuple[int, Coordinate], Inbox]
    ) -> Iterator[Slice]:
        """The slices that an arrow leads from to a slice."""
        step, message, hop = interval.step, interval.message, interval.hop
        assert message is not None
        sent = self.hops.sent(step, message)
        tracks = sent.way[hop].tracks
        if interval.track != tracks[0]:
            yield step, message, hop, tracks[0]
        elif hop > 0:
            yield step, message, hop - 1, sent.way[hop - 1].tracks[-1]
        elif (step, message.sender) in inboxes:
            for source in inboxes[step, message.sender].sources(sent.regions, interval.start):
                way = self.hops.sent(step, source).way
                yield step, source, len(way) - 1, way[-1].tracks[-1]

    def _inboxes(self) -> dict[tuple[int, Coordinate], Inbox]:
        """What comes to each chip that is shown, and to switches: the last hops of messages."""
        arrivals: defaultdict[tuple[int, Coordinate], list[Arrival]] = defaultdict(list)
        for track, intervals in self.timeline.by_track.items():
            ends_here = self._leads_to_shown(track)
            for interval in intervals:
                step, message = interval.step, interval.message
                if message is None or not (ends_here or self.hops.has_switch(step)):
                    continue
                sent = self.hops.sent(step, message)
                last = interval.hop == len(sent.way) - 1 and track == sent.way[-1].tracks[-1]
                if last:
                    arrival = Arrival(interval.arrival, message, sent.send.action, sent.regions)
                    arrivals[step, sent.receiver].append(arrival)
        return {key: Inbox(came, self.hops.sizes(key[0])) for key, came in arrivals.items()}

    def _leads_to_shown(self, track: Track) -> bool:
        """Whether messages on a track come to a chip that is shown."""
        if isinstance(track, LinkDirection):
            index = self.dimensions[track.dimension]
            there = self.topology.neighbour(track.chip, (index, track.direction))
            return there is not None and Core(there) in self.threads
        return isinstance(track, Port) and track.direction < 0 and track in self.threads

    # Counters.

    def _add_counter(self, thread: Thread, name: str, key: str, changes: Iterable[Change]) -> None:
        """A counter from 0 on; of several values in one nanosecond, the last."""
        value = Fraction(0)
        values = {0: value}
        for ticks, change in sorted(changes):
            value += change
            values[self._ns(ticks)] = value
        shown = None
        for ns, value in values.items():
            if value != shown:
                self._add(COUNTER, "C", name, ns, thread, {"args": {key: number(value)}})
                shown = value

    def _memory(self, chip: Coordinate) -> Iterator[Change]:
        """When the values of the plan come and go on a chip, by the rule of the peak memory."""
        parts = {part.step: part for part in self.timeline.by_chip.get(chip, ())}
        for value in lifetimes(self.plan):
            yield 0 if value.made_by is None else parts[value.made_by].start, value.size
            if value.read_by:
                yield max(parts[step].end for step in value.read_by), -value.size

    # Time.

    def _ns(self, ticks: int) -> int:
        """Whole nanoseconds; a later tick is never an earlier nanosecond."""
        per_second = self.timeline.ticks_per_second
        return (2 * 10**9 * ticks + per_second) // (2 * per_second)

    def _add(self, kind: int, phase: str, name: str, ns: int, thread: Thread, more: Event) -> None:
        """Keeps an event. Slices come before arrows, which bind to slices that are open."""
        event = {"name": name, "ph": phase, "ts": ns / 1000, "pid": thread[0], "tid": thread[1]}
        self.events.append(((ns, kind, thread), event | more))


def _lanes(activities: Iterable[Activity]) -> list[list[Activity]]:
    """Activities laid on as few threads as they need so as not to overlap."""
    lanes: list[list[Activity]] = []
    for activity in sorted(activities, key=lambda a: (a.start, a.end, a.step)):
        lane = next((lane for lane in lanes if lane[-1].end <= activity.start), None)
        if lane is None:
            lanes.append([activity])
        else:
            lane.append(activity)
    return lanes


def _duration(start: int, end: int, first: int) -> float:
    """Microseconds between two nanoseconds, safe for viewers that add in double precision.

    Some count from the first slice of the thread. Either way start + duration must not come out
    above the end, or the next slice seems to begin inside this one; so the last digit gives way.
    """
    start_us, end_us, first_us = start / 1000, end / 1000, first / 1000
    duration = (end - start) / 1000
    while start_us + duration > end_us or (start_us - first_us) + duration > end_us - first_us:
        duration -= math.ulp(end_us)
    return duration


def _some(blocks: list[str]) -> str:
    """The first blocks, for a name.

    >>> _some(["2 [0, 1/2)"]), _some(["0→1", "0→2", "0→3", "0→4"]), _some(["(*, 2)"])
    ('block 2 [0, 1/2)', 'blocks 0→1, 0→2, 0→3 and 1 more', 'blocks (*, 2)')
    """
    more = len(blocks) - MOST_BLOCKS_IN_A_NAME
    listed = ", ".join(blocks[:MOST_BLOCKS_IN_A_NAME]) + (f" and {more} more" if more > 0 else "")
    several = len(blocks) > 1 or "*" in blocks[0]
    return f"block{'s' if several else ''} {listed}"
