"""Runs a plan hop by hop on a topology: SimPy processes on integer ticks.

One process for each chip and lane of a collective, for each message on its further hops, and for
each chip's local matmul. A message holds what its hop goes over (a link; at a switch a port out and
a port in) for size / bandwidth and arrives one latency later (`additive`), or holds it for the
larger of the two and arrives then (`floor`). Between hops it is stored whole. In a plan, a core or
a link does the steps that use it in the order of the program. Nothing here knows a closed form.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import simpy

from shardsim.call import Call
from shardsim.collectives import StepProgram, has_switch_program, program_of
from shardsim.engine.resources import Inbox, InOrder, Server
from shardsim.errors import SimulationError
from shardsim.planner import CollectiveStep, MatmulStep, Plan, SliceStep
from shardsim.timeline import Activity, Core, Interval, Message, Timeline
from shardsim.topology import spot
from shardsim.vocabulary import LatencyModel, Overlap

if TYPE_CHECKING:
    from shardsim.collectives import Lane, Need, Send
    from shardsim.hardware import Link
    from shardsim.planner.steps import Step
    from shardsim.timeline import Track
    from shardsim.topology import Coordinate, Hop, Topology

__all__ = ["simulate", "simulate_calls"]

Process = Generator[simpy.Event, Any, None]
Order = Callable[[Sequence[Any]], Sequence[Any]]
Programs = Callable[[Call, "Coordinate"], StepProgram]
Waiter = tuple[int, "Coordinate", tuple[int, int, int]]

MOST_LINES = 20
RECEIVER = (-1, 0, 0)
"""In place of a channel, who waits for a result and not to send."""


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
            starts on a chip as soon as its inputs are there; a core or a link that several steps
            use does them in the order of the program.
        programs: The step program of a call at a chip; by default the project's own.
        order: Reorders the processes before they are created; changes nothing.

    Returns:
        The timeline, in exact ticks.

    Raises:
        SimulationError: a deadlock; it says who waits for what.
    """
    return _Simulation(
        plan.mesh.topology,
        plan.steps,
        plan.dependencies(),
        latency_model=plan.latency_model,
        overlap=overlap,
        programs=programs,
        order=order,
        in_order=overlap is Overlap.ASYNC,
    ).run()


def simulate_calls(
    topology: Topology,
    calls: Sequence[Call],
    latency_model: LatencyModel = LatencyModel.ADDITIVE,
    *,
    programs: Programs | None = None,
    order: Order | None = None,
) -> Timeline:
    """Simulates collectives that start together, each step of the timeline one of them.

    They are independent: what they share serves whatever comes first.

    Raises:
        SimulationError: a deadlock; it says who waits for what.
    """
    return _Simulation(
        topology,
        calls,
        ((),) * len(calls),
        latency_model=latency_model,
        overlap=Overlap.ASYNC,
        programs=programs,
        order=order,
        in_order=False,
    ).run()


def call_of(step: Step | Call) -> Call | None:
    """The call of a step that is a collective."""
    if isinstance(step, CollectiveStep):
        return step.call
    return step if isinstance(step, Call) else None


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


class _Flight(NamedTuple):
    """A message on its way: its share of V, and the hops it takes."""

    step: int
    call: Call
    share: Fraction
    message: Message
    counted: tuple[int, int, int]
    hops: tuple[Hop, ...]


class _Simulation:
    """The state of one run."""

    def __init__(
        self,
        topology: Topology,
        steps: Sequence[Step | Call],
        dependencies: Sequence[Sequence[int]],
        *,
        latency_model: LatencyModel,
        overlap: Overlap,
        programs: Programs | None,
        order: Order | None,
        in_order: bool,
    ) -> None:
        self.topology = topology
        self.steps = steps
        self.latency_model = latency_model
        self.overlap = overlap
        self.dependencies = dependencies
        self.programs = programs or program_of
        self.order = order or list
        self.env = simpy.Environment()
        self.chips: list[Coordinate] = sorted(topology.coordinates())
        self.servers: dict[Track, Server] = {}
        self.parts: list[dict[Coordinate, _Part]] = [
            {chip: _Part(self.env) for chip in self._participants(step)} for step in steps
        ]
        self.routes: dict[tuple[int, Coordinate, int, int | None], tuple[Hop, ...]] = {}
        self.ticks_per_second = self._common_denominator()
        self.in_order = in_order
        self.requests = self._count_requests() if in_order else {}
        self.intervals: list[Interval] = []
        self.barriers: dict[int, simpy.Event] = {}
        self.durations: dict[tuple[int, Fraction, Link], tuple[int, int]] = {}
        self.waiting: dict[Waiter, tuple[int | None, Need]] = {}

    def _participants(self, step: Step | Call) -> list[Coordinate]:
        """The chips that take part in a step, and switches that do."""
        call = call_of(step)
        if call is None:
            return self.chips
        hubs = call.group.hubs if has_switch_program(call.method) else ()
        return [*sorted(call.group.chips), *sorted(hubs)]

    def run(self) -> Timeline:
        processes = [
            process
            for index, parts in enumerate(self.parts)
            for chip in parts
            for process in self._processes(index, chip)
        ]
        for process in self.order(processes):
            self.env.process(process)
        self.env.run()
        if not all(part.done.triggered for parts in self.parts for part in parts.values()):
            raise self._deadlock()
        real = set(self.chips)
        return Timeline(
            ticks_per_second=self.ticks_per_second,
            intervals=tuple(sorted(self.intervals)),
            activities=tuple(
                Activity(index, chip, part.start, part.end)
                for index, parts in enumerate(self.parts)
                for chip, part in parts.items()
                if chip in real
            ),
        )

    # Ways and durations.

    def _server(self, track: Track) -> Server:
        if track not in self.servers:
            several = self.in_order and len(self.requests[track]) > 1
            self.servers[track] = (
                InOrder(self.env, self.requests[track]) if several else Server(self.env)
            )
        return self.servers[track]

    def _route(self, index: int, chip: Coordinate, lane: Lane, send: Send) -> tuple[Hop, ...]:
        """The hops of a message."""
        call = call_of(self.steps[index])
        assert call is not None
        key = (index, chip, lane.channel.segment, send.offset)
        if key not in self.routes:
            self.routes[key] = call.way(chip, lane.channel.segment, send.offset)
        return self.routes[key]

    def _hops(self, index: int, call: Call) -> Iterator[tuple[Fraction, tuple[Hop, ...]]]:
        """Of every message of a collective: its share of V, and the hops it takes."""
        for chip in self.parts[index]:
            program = self.programs(call, chip)
            for lane in program.lanes:
                for send in lane.sends:
                    yield send.size / program.blocks, self._route(index, chip, lane, send)

    def _common_denominator(self) -> int:
        denominators = {1}
        for index, step in enumerate(self.steps):
            call = call_of(step)
            if isinstance(step, MatmulStep):
                denominators.add(step.seconds.denominator)
            if call is None:
                continue
            denominators.add(call.launch.denominator)
            seen = {(share, hop.link) for share, hops in self._hops(index, call) for hop in hops}
            for share, link in seen:
                denominators.add(link.latency.denominator)
                denominators.add(_transfer(call, share, link).denominator)
        return math.lcm(*denominators)

    def _count_requests(self) -> dict[Track, Counter[int]]:
        """How often each step will use each core and link."""
        requests: defaultdict[Track, Counter[int]] = defaultdict(Counter)
        for index, step in enumerate(self.steps):
            call = call_of(step)
            if isinstance(step, MatmulStep):
                for chip in self.parts[index]:
                    requests[Core(chip)][index] += 1
            elif call is not None:
                for _, hops in self._hops(index, call):
                    for hop in hops:
                        for track in hop.tracks:
                            requests[track][index] += 1
        return requests

    def _ticks(self, seconds: Fraction) -> int:
        ticks = seconds * self.ticks_per_second
        assert ticks.denominator == 1
        return ticks.numerator

    # Processes.

    def _processes(self, index: int, chip: Coordinate) -> list[Process]:
        step, part = self.steps[index], self.parts[index][chip]
        call = call_of(step)
        match step:
            case SliceStep():
                processes = [self._slice(index, chip)]
            case MatmulStep():
                processes = [self._multiply(index, chip, step)]
            case _:
                assert call is not None
                program = self.programs(call, chip)
                processes = [self._send(index, chip, call, program, lane) for lane in program.lanes]
                processes.append(self._receive(index, chip, program))
        part.pending = len(processes)
        return [self._begin(index, chip, call), *processes]

    def _begin(self, index: int, chip: Coordinate, call: Call | None) -> Process:
        """Waits for the step's inputs; then the chip takes part in it."""
        part = self.parts[index][chip]
        if self.overlap is Overlap.NONE:
            yield self._barrier(index)
        else:
            earlier = (self.parts[i].get(chip) for i in self.dependencies[index])
            yield self.env.all_of([p.value for p in earlier if p is not None])
        part.start = self._now()
        if call is not None and call.launch:
            yield self.env.timeout(self._ticks(call.launch))
        part.ready.succeed()

    def _barrier(self, index: int) -> simpy.Event:
        """When every chip has done the step before; one event for all."""
        if index not in self.barriers:
            before = [p.done for p in self.parts[index - 1].values()] if index else []
            self.barriers[index] = self.env.all_of(before)
        return self.barriers[index]

    def _slice(self, index: int, chip: Coordinate) -> Process:
        part = self.parts[index][chip]
        yield part.ready
        part.value.succeed()
        part.finish(self._now())

    def _multiply(self, index: int, chip: Coordinate, step: MatmulStep) -> Process:
        part, track = self.parts[index][chip], Core(chip)
        core = self._server(track)
        yield part.ready
        yield core.request((index,))
        start = self._now()
        yield self.env.timeout(self._ticks(step.seconds))
        end = self._now()
        self.intervals.append(Interval(track, start, end, end, index))
        core.release()
        part.value.succeed()
        part.finish(end)

    def _send(
        self, index: int, chip: Coordinate, call: Call, program: StepProgram, lane: Lane
    ) -> Process:
        """Sends a lane's messages in order: when what one needs is here and the link is free."""
        part = self.parts[index][chip]
        channel = (*lane.channel,)
        key = (index, chip, channel)
        yield part.ready
        for number, send in enumerate(lane.sends):
            for need in send.needs:
                if not part.inbox.has(need.channel, need.count):
                    self.waiting[key] = (number, need)
                    yield part.inbox.wait(need.channel, need.count)
                    del self.waiting[key]
            flight = _Flight(
                index,
                call,
                send.size / program.blocks,
                Message(chip, channel, number),
                send.counted or lane.channel,
                self._route(index, chip, lane, send),
            )
            latency = yield from self._hop(flight, 0)
            self._go_on(flight, latency)
        part.finish(self._now())

    def _hop(self, flight: _Flight, at: int) -> Generator[simpy.Event, Any, int]:
        """Holds what one hop goes over; gives the ticks from then to the message's arrival.

        What a hop holds together is asked for in one order everywhere (ports out before ports in),
        so that two messages never wait for each other.
        """
        hop, message = flight.hops[at], flight.message
        rank = (flight.step, message.number, *message.channel, *message.sender)
        for track in hop.tracks:
            yield self._server(track).request(rank)
        start = self._now()
        held, latency = self._durations(flight, hop)
        yield self.env.timeout(held)
        end = self._now()
        size = flight.call.size * flight.share
        for track in hop.tracks:
            self._server(track).release()
            self.intervals.append(
                Interval(track, start, end, end + latency, flight.step, message, at, size)
            )
        return latency

    def _go_on(self, flight: _Flight, latency: int) -> None:
        """The message arrives; where it is not at its end yet, it is stored and sent on."""
        arrival = self.env.timeout(latency)
        assert arrival.callbacks is not None
        if len(flight.hops) == 1:
            inbox = self.parts[flight.step][flight.hops[0].to].inbox
            arrival.callbacks.append(lambda _: inbox.put(flight.counted))
        else:
            self.env.process(self._further(flight, arrival))

    def _further(self, flight: _Flight, arrival: simpy.Event) -> Process:
        """The hops of a message after the first."""
        yield arrival
        for at in range(1, len(flight.hops)):
            latency = yield from self._hop(flight, at)
            yield self.env.timeout(latency)
        self.parts[flight.step][flight.hops[-1].to].inbox.put(flight.counted)

    def _durations(self, flight: _Flight, hop: Hop) -> tuple[int, int]:
        """Ticks for which a message holds its link, and ticks from then to its arrival."""
        key = (flight.step, flight.share, hop.link)
        if key not in self.durations:
            transfer = self._ticks(_transfer(flight.call, flight.share, hop.link))
            latency = self._ticks(hop.link.latency)
            by_floor = self.latency_model is LatencyModel.FLOOR
            self.durations[key] = (max(transfer, latency), 0) if by_floor else (transfer, latency)
        return self.durations[key]

    def _receive(self, index: int, chip: Coordinate, program: StepProgram) -> Process:
        """The result is here when every message has arrived."""
        part, key = self.parts[index][chip], (index, chip, RECEIVER)
        yield part.ready
        for need in program.receives:
            self.waiting[key] = (None, need)
            yield part.inbox.wait(need.channel, need.count)
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
        index, chip, channel = key
        step = self.steps[index]
        call = call_of(step)
        assert call is not None
        text = step.text if isinstance(step, CollectiveStep) else call.kind.value
        who = f"chip {spot(chip)} in {text}"
        what = (
            "to finish"
            if number is None
            else f"to send message {number + 1} on {_way(call, channel)}"
        )
        here = self.parts[index][chip].inbox.arrived[need.channel]
        way = _way(call, need.channel)
        return f"{who} waits {what}: {here} of {need.count} messages have come on {way}"


def _transfer(call: Call, share: Fraction, link: Link) -> Fraction:
    """Seconds that a message takes on a link, latency apart."""
    return share * call.size / (link.one_way_bandwidth * call.efficiency)


def _way(call: Call, channel: tuple[int, int, int]) -> str:
    segment, direction, _ = channel
    name = call.group.segments[segment].name
    return f"{name}{'' if direction == 0 else '+' if direction > 0 else '-'}"
