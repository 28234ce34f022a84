"""Runs a plan hop by hop on a topology: SimPy processes on integer ticks.

One process for each chip and lane of a collective, for each message on its further hops, and for
each chip's local matmul, or its parts where a collective goes with it. A message holds what its hop
goes over (a link; at a switch a port out and a port in) for size / bandwidth and arrives one
latency later (`additive`), or holds it for the larger of the two and arrives then (`floor`).
Between hops it is stored whole. In a plan, a core or a link does the steps that use it in the order
of the program. Nothing here knows a closed form.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import simpy

from shardsim.call import Call
from shardsim.collectives import StepProgram, has_switch_program, program_of
from shardsim.collectives.attached import Work, attached_to
from shardsim.engine.cores import Cores
from shardsim.engine.resources import Inbox, InOrder, Rank, Server
from shardsim.errors import SimulationError
from shardsim.planner import CollectiveStep, MatmulStep, SliceStep
from shardsim.timeline import Activity, Core, Interval, Message, Timeline
from shardsim.topology import spot
from shardsim.vocabulary import Form, LatencyModel, Overlap

if TYPE_CHECKING:
    from shardsim.collectives import Lane, Need, Send
    from shardsim.collectives.attached import Attached
    from shardsim.hardware import Link
    from shardsim.planner.decomposition import Decomposition
    from shardsim.planner.steps import Step
    from shardsim.timeline import Track
    from shardsim.topology import Coordinate, Hop, Topology
    from shardsim.units import Bytes, Seconds

__all__ = ["Order", "Programs", "Shuffle", "Simulation", "place_of"]

Process = Generator[simpy.Event, Any, None]
Shuffle = Callable[[Sequence[Any]], Sequence[Any]]
Order = Mapping["Track", Sequence[Rank]]
"""For each link, port or core the messages of a step in the order in which it serves them."""
Load = tuple[int, int, int]
"""A message's share of V: blocks (numerator, denominator), of so many; quicker than fractions."""
Programs = Callable[[Call, "Coordinate"], StepProgram]
Waiter = tuple[int, "Coordinate", tuple[int, int, int], int]
"""A step, a chip, what in it waits (a channel on which it sends, or one of the two below), and the
number of the message or part."""

MOST_LINES = 20
RECEIVER = (-1, 0, 0)
"""In place of a channel: who waits for a result and not to send."""
CORE = (-2, 0, 0)
"""In place of a channel: a core, and the parts of a matmul that it has done."""


def place_of(message: Message) -> Rank:
    """What tells a message from others of its step."""
    return (message.number, *message.channel, *message.sender)


def call_of(step: Step | Call) -> Call | None:
    """The call of a step that is a collective."""
    if isinstance(step, CollectiveStep):
        return step.call
    return step if isinstance(step, Call) else None


class _Part:
    """One chip's part in one step.

    `ready`: the inputs are there. `value`: the result is there. `done`: nothing left to send
    either. `begun`: when the first message from or to the chip goes.
    """

    __slots__ = ("begun", "done", "end", "inbox", "pending", "ready", "start", "value")

    def __init__(self, env: simpy.Environment) -> None:
        self.ready = env.event()
        self.value = env.event()
        self.done = env.event()
        self.inbox = Inbox(env)
        self.pending = 0
        self.start = 0
        self.begun: int | None = None
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
    load: Load
    message: Message
    counted: tuple[int, int, int]
    hops: tuple[Hop, ...]


class Simulation:
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
        order: Shuffle | None,
        in_order: bool,
        decomposed: Sequence[Decomposition] = (),
        slowdown: Fraction = Fraction(1),
        orders: Mapping[int, Order] | None = None,
    ) -> None:
        self.topology = topology
        self.steps = steps
        self.latency_model = latency_model
        self.overlap = overlap
        self.dependencies = dependencies
        self.programs = programs or program_of
        self.order = order or list
        self.env = simpy.Environment()
        self.with_matmul = {pair.collective: pair for pair in decomposed}
        self.with_collective = {pair.matmul: pair for pair in decomposed}
        self.together = {frozenset((pair.collective, pair.matmul)) for pair in decomposed}
        self.chips: list[Coordinate] = sorted(topology.coordinates())
        self.cores = Cores(self.env, slowdown)
        self.servers: dict[Track, Server] = {}
        self.parts: list[dict[Coordinate, _Part]] = [
            {chip: _Part(self.env) for chip in self._participants(step)} for step in steps
        ]
        self.routes: dict[tuple[int, Coordinate, int, int | None], tuple[Hop, ...]] = {}
        self.ticks_per_second = self._common_denominator()
        self.in_order = in_order
        self.orders = orders or {}
        self.requests = self._count_requests() if in_order else {}
        self.intervals: list[Interval] = []
        self.barriers: dict[int, simpy.Event] = {}
        self.durations: dict[tuple[int, Load, int], tuple[int, int, Bytes]] = {}
        self.waiting: dict[Waiter, tuple[int, Need]] = {}

    def _participants(self, step: Step | Call) -> list[Coordinate]:
        """The chips that take part in a step, and switches that do."""
        call = call_of(step)
        if call is None:
            return self.chips
        hubs = call.group.hubs if has_switch_program(call.method) else ()
        return [*sorted(call.group.chips), *sorted(hubs)]

    def run(self) -> Timeline:
        """Runs everything to its end.

        Raises:
            SimulationError: a deadlock; it says who waits for what.
        """
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
        activities = [
            Activity(index, chip, self._started(index, part), part.end)
            for index, parts in enumerate(self.parts)
            for chip, part in parts.items()
            if chip in real
        ]
        return Timeline.in_whole_ticks(self.ticks_per_second, sorted(self.intervals), activities)

    def _started(self, index: int, part: _Part) -> int:
        """When a chip begins a step: a collective that waits for its links, when it has them."""
        call = call_of(self.steps[index])
        if call is None or part.begun is None:
            return part.start
        return max(part.start, part.begun - self._ticks(call.launch))

    # Ways and durations.

    def _server(self, track: Track) -> Server:
        if track not in self.servers:
            self.servers[track] = self._new_server(track)
        return self.servers[track]

    def _new_server(self, track: Track) -> Server:
        if not self.in_order:
            return Server(self.env)
        steps = self.requests[track]
        orders = {i: self.orders[i][track] for i in steps if i in self.orders}
        return InOrder(self.env, steps, orders) if len(steps) > 1 or orders else Server(self.env)

    def _route(self, index: int, chip: Coordinate, lane: Lane, send: Send) -> tuple[Hop, ...]:
        """The hops of a message."""
        call = call_of(self.steps[index])
        assert call is not None
        key = (index, chip, lane.channel.segment, send.offset)
        if key not in self.routes:
            self.routes[key] = call.way(chip, lane.channel.segment, send.offset)
        return self.routes[key]

    def _hops(self, index: int, call: Call) -> Iterator[tuple[Load, tuple[Hop, ...]]]:
        """Of every message of a collective: its share of V, and the hops it takes."""
        for chip in self.parts[index]:
            program = self._program(index, call, chip)
            for lane in program.lanes:
                for send in lane.sends:
                    yield _load(send, program), self._route(index, chip, lane, send)

    def _program(self, index: int, call: Call, chip: Coordinate) -> StepProgram:
        """The step program of a chip."""
        if index in self.with_matmul:
            return self._attached(index, chip).program
        return self.programs(call, chip)

    def _attached(self, index: int, chip: Coordinate) -> Attached:
        """The step program of a chip, with the matmul that goes with it."""
        pair, call = self.with_matmul[index], call_of(self.steps[index])
        assert call is not None
        return attached_to(call, chip, pair.form, pair.parts)

    def _common_denominator(self) -> int:
        denominators = {1}
        for index, step in enumerate(self.steps):
            call = call_of(step)
            if isinstance(step, MatmulStep):
                denominators.add(self._work_seconds(index, step).denominator)
            if call is None:
                continue
            denominators.add(call.launch.denominator)
            seen = {
                (load, id(hop.link)): hop.link
                for load, hops in self._hops(index, call)
                for hop in hops
            }
            for (load, _), link in seen.items():
                denominators.add(link.latency.denominator)
                denominators.add(_transfer(call, load, link).denominator)
        return math.lcm(*denominators)

    def _count_requests(self) -> dict[Track, Counter[int]]:
        """How often each step will use each core and link."""
        requests: defaultdict[Track, Counter[int]] = defaultdict(Counter)
        for index, step in enumerate(self.steps):
            call = call_of(step)
            if isinstance(step, MatmulStep):
                for chip in self.parts[index]:
                    requests[Core(chip)][index] += len(self._works(index, chip))
            elif call is not None:
                for _, hops in self._hops(index, call):
                    for hop in hops:
                        for track in hop.tracks:
                            requests[track][index] += 1
        return requests

    def _works(self, index: int, chip: Coordinate) -> tuple[Work, ...]:
        """The parts in which a chip does a matmul."""
        if index in self.with_collective:
            return self._attached(self.with_collective[index].collective, chip).works
        return (Work(0),)

    def _work_seconds(self, index: int, step: MatmulStep) -> Seconds:
        """What each of them takes."""
        pair = self.with_collective.get(index)
        return step.seconds if pair is None else pair.part_seconds

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
                program = self._program(index, call, chip)
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
            earlier = [
                (self.parts[i][chip], {i, index} in self.together)
                for i in self.dependencies[index]
                if chip in self.parts[i]
            ]
            yield self.env.all_of([p.ready if alike else p.value for p, alike in earlier])
        part.start = self._now()
        if call is not None and call.launch and index not in self.with_matmul:
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
        """All at once, or each part when the messages that it needs are here."""
        part, track = self.parts[index][chip], Core(chip)
        core, ticks = self._server(track), self._ticks(self._work_seconds(index, step))
        pair = self.with_collective.get(index)
        yield part.ready
        for number, work in enumerate(self._works(index, chip)):
            if pair is not None:
                yield from self._arrived(
                    pair.collective, chip, work.needs, (index, chip, CORE, number)
                )
            yield core.request((index, number))
            start = self._now()
            yield from self.cores.work(chip, ticks)
            end = self._now()
            self.intervals.append(Interval(track, start, end, end, index))
            core.release()
            self._tell(pair, chip)
        part.value.succeed()
        part.finish(end)

    def _tell(self, pair: Decomposition | None, chip: Coordinate) -> None:
        """One more part is done: messages that wait for it may go.

        Where each part has a collective of its own, that one is launched now.
        """
        if pair is None:
            return
        inbox, call = self.parts[pair.matmul][chip].inbox, call_of(self.steps[pair.collective])
        if pair.form is Form.CHUNKS and call is not None and call.launch:
            launched = self.env.timeout(self._ticks(call.launch))
            assert launched.callbacks is not None
            launched.callbacks.append(lambda _: inbox.put(CORE))
        else:
            inbox.put(CORE)

    def _arrived(
        self, index: int, chip: Coordinate, needs: Iterable[Need], waiter: Waiter
    ) -> Process:
        """Waits until the messages of a step are here."""
        inbox = self.parts[index][chip].inbox
        for need in needs:
            if not inbox.has(need.channel, need.count):
                self.waiting[waiter] = (index, need)
                yield inbox.wait(need.channel, need.count)
                del self.waiting[waiter]

    def _send(
        self, index: int, chip: Coordinate, call: Call, program: StepProgram, lane: Lane
    ) -> Process:
        """Sends a lane's messages in order: when what one needs is here and the link is free."""
        part = self.parts[index][chip]
        channel = (*lane.channel,)
        pair = self.with_matmul.get(index)
        attached = None if pair is None else self._attached(index, chip)
        yield part.ready
        for number, send in enumerate(lane.sends):
            yield from self._arrived(index, chip, send.needs, (index, chip, channel, number))
            if pair is not None and attached is not None:
                works = self.parts[pair.matmul][chip].inbox
                yield works.wait(CORE, attached.waits(lane.channel, number))
                if call.launch and pair.form is not Form.CHUNKS:  # each message by itself
                    yield self.env.timeout(self._ticks(call.launch))
            flight = _Flight(
                index,
                call,
                _load(send, program),
                Message(chip, channel, number),
                send.counted or lane.channel,
                self._route(index, chip, lane, send),
            )
            latency = yield from self._hop(flight, 0)
            self._go_on(flight, latency)
        self._finish(part, chip)

    def _hop(self, flight: _Flight, at: int) -> Generator[simpy.Event, Any, int]:
        """Holds what one hop goes over; gives the ticks from then to the message's arrival.

        What a hop holds together is asked for in one order everywhere (ports out before ports in),
        so that two messages never wait for each other.
        """
        hop, message = flight.hops[at], flight.message
        rank = (flight.step, *place_of(message))
        for track in hop.tracks:
            yield self._server(track).request(rank)
        start = self._now()
        if at == 0:
            self._under_way(flight.step, message.sender)
        if hop is flight.hops[-1]:
            self._under_way(flight.step, hop.to)
        held, latency, size = self._durations(flight, hop)
        yield self.env.timeout(held)
        end = self._now()
        for track in hop.tracks:
            self._server(track).release()
            self.intervals.append(
                Interval(track, start, end, end + latency, flight.step, message, at, size)
            )
        return latency

    def _under_way(self, index: int, chip: Coordinate) -> None:
        """A message from or to a chip goes; with the first the chip takes part in the step."""
        part = self.parts[index][chip]
        if part.begun is None:
            part.begun = self._now()
            self.cores.talk(chip)

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

    def _durations(self, flight: _Flight, hop: Hop) -> tuple[int, int, Bytes]:
        """Ticks for which a message holds its link, ticks from then to its arrival, its bytes."""
        key = (flight.step, flight.load, id(hop.link))
        if key not in self.durations:
            transfer = self._ticks(_transfer(flight.call, flight.load, hop.link))
            latency = self._ticks(hop.link.latency)
            if self.latency_model is LatencyModel.FLOOR:
                transfer, latency = max(transfer, latency), 0
            self.durations[key] = transfer, latency, flight.call.size * _share(flight.load)
        return self.durations[key]

    def _receive(self, index: int, chip: Coordinate, program: StepProgram) -> Process:
        """The result is here when every message has arrived, and the chip's own part is done."""
        part = self.parts[index][chip]
        yield part.ready
        yield from self._arrived(index, chip, program.receives, (index, chip, RECEIVER, 0))
        if index in self.with_matmul and self.with_matmul[index].matmul < index:
            yield self.parts[self.with_matmul[index].matmul][chip].value
        part.value.succeed()
        self._finish(part, chip)

    def _finish(self, part: _Part, chip: Coordinate) -> None:
        """One of the chip's processes of a collective has ended."""
        part.finish(self._now())
        if part.done.triggered and part.begun is not None:
            self.cores.fall_silent(chip)

    def _now(self) -> int:
        """Ticks: whole ones, until a core that slows down leaves fractions (exact ones)."""
        return cast("int", self.env.now)

    def _deadlock(self) -> SimulationError:
        lines = [
            self._describe(waiter, index, need)
            for waiter, (index, need) in sorted(self.waiting.items(), key=lambda item: item[0])
        ]
        more = [f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
        return SimulationError(
            f"deadlock: nothing can happen any more; waiting: {len(lines)}",
            (*lines[:MOST_LINES], *more),
        )

    def _describe(self, waiter: Waiter, index: int, need: Need) -> str:
        """Who waits for messages of step `index`, for what, and how many have come."""
        own, chip, channel, number = waiter
        step, call = self.steps[own], call_of(self.steps[index])
        assert call is not None
        text = call.kind.value if isinstance(step, Call) else step.text
        who = f"chip {spot(chip)} in {text}"
        match channel:
            case _ if channel == RECEIVER:
                what = "to finish"
            case _ if channel == CORE:
                what = f"to do part {number + 1}"
            case _:
                what = f"to send message {number + 1} on {_way(call, channel)}"
        here = self.parts[index][chip].inbox.arrived[need.channel]
        way = _way(call, need.channel)
        return f"{who} waits {what}: {here} of {need.count} messages have come on {way}"


def _load(send: Send, program: StepProgram) -> Load:
    return send.size.numerator, send.size.denominator, program.blocks


def _share(load: Load) -> Fraction:
    return Fraction(load[0], load[1] * load[2])


def _transfer(call: Call, load: Load, link: Link) -> Fraction:
    """Seconds that a message takes on a link, latency apart."""
    return _share(load) * call.size / (link.one_way_bandwidth * call.efficiency)


def _way(call: Call, channel: tuple[int, int, int]) -> str:
    segment, direction, _ = channel
    name = call.group.segments[segment].name
    return f"{name}{'' if direction == 0 else '+' if direction > 0 else '-'}"
