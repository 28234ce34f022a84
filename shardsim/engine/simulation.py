"""Runs a plan hop by hop on a topology: SimPy processes on integer ticks.

One process for each chip and direction of a collective, and for each chip's local matmul. A message
holds its link for size / bandwidth and arrives one latency later (`additive`), or holds it for the
larger of the two and arrives then (`floor`). Nothing here knows a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import simpy

from shardsim.collectives import StepProgram, step_program
from shardsim.engine.resources import Inbox, Server
from shardsim.errors import SimulationError
from shardsim.planner.steps import CollectiveStep, MatmulStep, Plan, SliceStep
from shardsim.timeline import Activity, Core, Interval, LinkDirection, Timeline
from shardsim.vocabulary import LatencyModel, Overlap

if TYPE_CHECKING:
    from shardsim.collectives import Lane, Need
    from shardsim.topology import Coordinate

__all__ = ["simulate"]

Process = Generator[simpy.Event, Any, None]
Order = Callable[[Sequence[Any]], Sequence[Any]]
Programs = Callable[[CollectiveStep, int], StepProgram]
Waiter = tuple[int, "Coordinate", int]

MOST_LINES = 20


def simulate(
    plan: Plan,
    overlap: Overlap = Overlap.ASYNC,
    *,
    programs: Programs | None = None,
    order: Order | None = None,
) -> Timeline:
    """Simulates a plan.

    Args:
        plan: What to run; its topology and latency model are used.
        overlap: `none`: a step starts when every chip has finished the step before it. `async`: it
            starts on a chip as soon as its inputs are there.
        programs: The step program of a collective at a position; by default the project's own.
        order: Reorders the processes before they are created; changes nothing.

    Returns:
        The timeline, in exact ticks.

    Raises:
        SimulationError: a deadlock; it says who waits for what.
    """
    return _Simulation(plan, overlap, programs or program_of, order or list).run()


def program_of(step: CollectiveStep, position: int) -> StepProgram:
    """The step program of a chip at a position along the step's axis."""
    return step_program(
        step.kind, step.algorithm, step.axis.kind, size=step.axis.size, position=position
    )


class _Part:
    """One chip's part in one step.

    `ready`: the inputs are there. `value`: the result is there. `done`: nothing left to send
    either.
    """

    __slots__ = ("done", "end", "inbox", "pending", "ready", "start", "value")

    def __init__(self, env: simpy.Environment) -> None:
        self.ready = env.event()
        self.value = env.event()
        self.done = env.event()
        self.inbox = Inbox(env)
        self.pending = 0
        self.start = 0
        self.end = 0

    def finish(self, now: int) -> None:
        """One of the chip's processes of the step has ended."""
        self.pending -= 1
        if self.pending == 0:
            self.end = now
            self.done.succeed()


class _Simulation:
    """The state of one run."""

    def __init__(self, plan: Plan, overlap: Overlap, programs: Programs, order: Order) -> None:
        self.plan = plan
        self.overlap = overlap
        self.dependencies = plan.dependencies()
        self.programs = programs
        self.order = order
        self.env = simpy.Environment()
        topology = plan.mesh.topology
        graph = topology.graph()
        self.chips: list[Coordinate] = sorted(graph.nodes)
        self.names = [dimension.name for dimension in topology.dimensions]
        self.next_chip = {(a, key): b for a, b, key in graph.edges(keys=True)}
        self.links = {hop: Server(self.env) for hop in self.next_chip}
        self.cores = {chip: Server(self.env) for chip in self.chips}
        self.ticks_per_second = self._common_denominator()
        self.parts = [{chip: _Part(self.env) for chip in self.chips} for _ in plan.steps]
        self.intervals: list[Interval] = []
        self.durations: dict[tuple[int, int, int], tuple[int, int]] = {}
        self.waiting: dict[Waiter, tuple[int | None, Need]] = {}

    def run(self) -> Timeline:
        processes = [
            process
            for index in range(len(self.plan.steps))
            for chip in self.chips
            for process in self._processes(index, chip)
        ]
        for process in self.order(processes):
            self.env.process(process)
        self.env.run()
        if not all(part.done.triggered for parts in self.parts for part in parts.values()):
            raise self._deadlock()
        return Timeline(
            ticks_per_second=self.ticks_per_second,
            intervals=tuple(sorted(self.intervals)),
            activities=tuple(
                Activity(index, chip, part.start, part.end)
                for index, parts in enumerate(self.parts)
                for chip, part in parts.items()
            ),
        )

    # Durations.

    def _common_denominator(self) -> int:
        denominators = {1}
        for step in self.plan.steps:
            match step:
                case MatmulStep():
                    denominators.add(step.seconds.denominator)
                case CollectiveStep():
                    denominators.add(step.axis.link.latency.denominator)
                    for send in self._distinct_sends(step):
                        denominators.add(self._transfer(step, send).denominator)
        return math.lcm(*denominators)

    def _distinct_sends(self, step: CollectiveStep) -> list[Fraction]:
        return list(
            {
                send.size: None
                for position in range(step.axis.size)
                for lane in self.programs(step, position).lanes
                for send in lane.sends
            }
        )

    def _transfer(self, step: CollectiveStep, blocks: Fraction) -> Fraction:
        """Seconds that a message of so many blocks takes on a link, latency apart."""
        of_one = step.size / self.programs(step, 0).blocks
        return blocks * of_one / step.axis.link.one_way_bandwidth

    def _ticks(self, seconds: Fraction) -> int:
        ticks = seconds * self.ticks_per_second
        assert ticks.denominator == 1
        return ticks.numerator

    # Processes.

    def _processes(self, index: int, chip: Coordinate) -> list[Process]:
        step, part = self.plan.steps[index], self.parts[index][chip]
        match step:
            case SliceStep():
                processes = [self._slice(index, chip)]
            case MatmulStep():
                processes = [self._multiply(index, chip, step)]
            case _:
                program = self.programs(step, self.plan.mesh.position(chip, step.axis.name))
                processes = [self._send(index, chip, step, lane) for lane in program.lanes]
                processes.append(self._receive(index, chip, program))
        part.pending = len(processes)
        return [self._begin(index, chip), *processes]

    def _begin(self, index: int, chip: Coordinate) -> Process:
        """Waits for the step's inputs; then the chip takes part in it."""
        part = self.parts[index][chip]
        if self.overlap is Overlap.NONE:
            before = [p.done for p in self.parts[index - 1].values()] if index else []
        else:
            before = [self.parts[i][chip].value for i in self.dependencies[index]]
        yield self.env.all_of(before)
        part.start = self._now()
        part.ready.succeed()

    def _slice(self, index: int, chip: Coordinate) -> Process:
        part = self.parts[index][chip]
        yield part.ready
        part.value.succeed()
        part.finish(self._now())

    def _multiply(self, index: int, chip: Coordinate, step: MatmulStep) -> Process:
        part, core = self.parts[index][chip], self.cores[chip]
        yield part.ready
        yield core.request((index,))
        start = self._now()
        yield self.env.timeout(self._ticks(step.seconds))
        end = self._now()
        self.intervals.append(Interval(Core(chip), start, end, end, index, 0))
        core.release()
        part.value.succeed()
        part.finish(end)

    def _send(self, index: int, chip: Coordinate, step: CollectiveStep, lane: Lane) -> Process:
        """Sends a lane's messages in order: when what one needs is here and the link is free."""
        part = self.parts[index][chip]
        assert step.axis.index is not None
        hop = (chip, (step.axis.index, lane.direction))
        receiver = self.parts[index][self.next_chip[hop]].inbox
        track = LinkDirection(chip, self.names[step.axis.index], lane.direction)
        link, key = self.links[hop], (index, chip, lane.direction)
        yield part.ready
        for number, send in enumerate(lane.sends):
            for need in send.needs:
                if not part.inbox.has(need.direction, need.count):
                    self.waiting[key] = (number, need)
                    yield part.inbox.wait(need.direction, need.count)
                    del self.waiting[key]
            yield link.request((index, number))
            start = self._now()
            held, after = self._durations(index, step, send.size)
            yield self.env.timeout(held)
            end = self._now()
            link.release()
            self.intervals.append(Interval(track, start, end, end + after, index, number))
            self._deliver(receiver, lane.direction, after)
        part.finish(self._now())

    def _durations(self, index: int, step: CollectiveStep, blocks: Fraction) -> tuple[int, int]:
        """Ticks for which a message holds its link, and ticks from then to its arrival."""
        key = (index, blocks.numerator, blocks.denominator)
        if key not in self.durations:
            transfer = self._ticks(self._transfer(step, blocks))
            latency = self._ticks(step.axis.link.latency)
            by_floor = self.plan.latency_model is LatencyModel.FLOOR
            self.durations[key] = (max(transfer, latency), 0) if by_floor else (transfer, latency)
        return self.durations[key]

    def _deliver(self, inbox: Inbox, direction: int, after: int) -> None:
        arrival = self.env.timeout(after)
        assert arrival.callbacks is not None
        arrival.callbacks.append(lambda _: inbox.put(direction))

    def _receive(self, index: int, chip: Coordinate, program: StepProgram) -> Process:
        """The result is here when every message has arrived."""
        part, key = self.parts[index][chip], (index, chip, 0)
        yield part.ready
        for need in program.receives:
            self.waiting[key] = (None, need)
            yield part.inbox.wait(need.direction, need.count)
            del self.waiting[key]
        part.value.succeed()
        part.finish(self._now())

    def _now(self) -> int:
        return int(self.env.now)

    def _deadlock(self) -> SimulationError:
        lines = [
            self._describe(key, number, need)
            for key, (number, need) in sorted(self.waiting.items(), key=lambda item: item[0])
        ]
        more = [f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
        return SimulationError(
            f"deadlock: nothing can happen any more; waiting: {len(lines)}",
            (*lines[:MOST_LINES], *more),
        )

    def _describe(self, key: Waiter, number: int | None, need: Need) -> str:
        index, chip, direction = key
        step = self.plan.steps[index]
        assert isinstance(step, CollectiveStep)
        assert step.axis.index is not None
        name = self.names[step.axis.index]
        who = f"chip {chip} in {step.text}"
        what = (
            "to finish"
            if number is None
            else f"to send message {number + 1} on {_way(name, direction)}"
        )
        here = self.parts[index][chip].inbox.arrived[need.direction]
        way = _way(name, need.direction)
        return f"{who} waits {what}: {here} of {need.count} messages have come on {way}"


def _way(name: str, direction: int) -> str:
    return f"{name}{'+' if direction > 0 else '-'}"
