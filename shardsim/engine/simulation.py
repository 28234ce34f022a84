"""Runs a plan hop by hop on a topology: SimPy processes on integer ticks.

One process for each chip and lane of a collective, for each message on its further hops, and for
each chip's local matmul, or its parts where a collective goes with it. A message holds what its hop
goes over (a link; at a switch a port out and a port in) for size / bandwidth and arrives one
latency later (`additive`), or holds it for the larger of the two and arrives then (`floor`).
Between hops it is stored whole. In a plan, a core or a link does the steps that use it in the order
of the program. Nothing here knows a closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import simpy

from shardsim.call import Call
from shardsim.engine.cores import Cores
from shardsim.engine.prepared import Prepared, load_of
from shardsim.engine.resources import Inbox, InOrder, Rank, Server
from shardsim.errors import SimulationError
from shardsim.planner import MatmulStep, SliceStep
from shardsim.timeline import Activity, Core, Interval, Message, Timeline
from shardsim.topology import spot
from shardsim.vocabulary import Form, Overlap

if TYPE_CHECKING:
    from shardsim.collectives import Lane, Need, StepProgram
    from shardsim.engine.prepared import Load
    from shardsim.planner.decomposition import Decomposition
    from shardsim.timeline import Track
    from shardsim.topology import Coordinate, Hop

__all__ = ["Order", "Shuffle", "Simulation", "place_of"]

Process = Generator[simpy.Event, Any, None]
Shuffle = Callable[[Sequence[Any]], Sequence[Any]]
Order = Mapping["Track", Sequence[Rank]]
"""For each link, port or core the messages of a step in the order in which it serves them."""
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
    load: Load
    message: Message
    counted: tuple[int, int, int]
    hops: tuple[Hop, ...]


class Simulation:
    """The state of one run."""

    def __init__(
        self,
        prepared: Prepared,
        dependencies: Sequence[Sequence[int]],
        *,
        overlap: Overlap,
        order: Shuffle | None = None,
        in_order: bool = False,
        slowdown: Fraction = Fraction(1),
        orders: Mapping[int, Order] | None = None,
    ) -> None:
        self.prepared = prepared
        self.steps = prepared.steps
        self.overlap = overlap
        self.dependencies = dependencies
        self.order = order or list
        self.env = simpy.Environment()
        self.cores = Cores(self.env, slowdown)
        self.servers: dict[Track, Server] = {}
        self.parts: list[dict[Coordinate, _Part]] = [
            {chip: _Part(self.env) for chip in chips} for chips in prepared.chips
        ]
        self.in_order = in_order
        self.orders = orders or {}
        self.requests = prepared.requests() if in_order else {}
        self.intervals: list[Interval] = []
        self.barriers: dict[int, simpy.Event] = {}
        self.waiting: dict[Waiter, tuple[int, Need]] = {}

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
        real = set(self.prepared.everyone)
        activities = [
            Activity(index, chip, self._started(index, part), part.end)
            for index, parts in enumerate(self.parts)
            for chip, part in parts.items()
            if chip in real
        ]
        ticks = self.prepared.ticks_per_second
        return Timeline.in_whole_ticks(ticks, sorted(self.intervals), activities)

    def _started(self, index: int, part: _Part) -> int:
        """When a chip begins a step: a collective that waits for its links, when it has them."""
        call = self.prepared.calls[index]
        if call is None or part.begun is None:
            return part.start
        return max(part.start, part.begun - self.prepared.ticks(call.launch))

    # Cores and links.

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

    # Processes.

    def _processes(self, index: int, chip: Coordinate) -> list[Process]:
        step, part = self.steps[index], self.parts[index][chip]
        match step:
            case SliceStep():
                processes = [self._slice(index, chip)]
            case MatmulStep():
                processes = [self._multiply(index, chip, step)]
            case _:
                program = self.prepared.program(index, chip)
                processes = [self._send(index, chip, program, lane) for lane in program.lanes]
                processes.append(self._receive(index, chip, program))
        part.pending = len(processes)
        return [self._begin(index, chip), *processes]

    def _begin(self, index: int, chip: Coordinate) -> Process:
        """Waits for the step's inputs; then the chip takes part in it."""
        part, call = self.parts[index][chip], self.prepared.calls[index]
        if self.overlap is Overlap.NONE:
            yield self._barrier(index)
        else:
            earlier = [
                (self.parts[i][chip], self.prepared.are_together(i, index))
                for i in self.dependencies[index]
                if chip in self.parts[i]
            ]
            yield self.env.all_of([p.ready if alike else p.value for p, alike in earlier])
        part.start = self._now()
        if call is not None and call.launch and index not in self.prepared.with_matmul:
            yield self.env.timeout(self.prepared.ticks(call.launch))
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
        core, ticks = self._server(track), self.prepared.work_ticks(index, step)
        pair = self.prepared.with_collective.get(index)
        yield part.ready
        for number, work in enumerate(self.prepared.works(index, chip)):
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
        inbox = self.parts[pair.matmul][chip].inbox
        launch = self.prepared.call(pair.collective).launch
        if pair.form is Form.CHUNKS and launch:
            launched = self.env.timeout(self.prepared.ticks(launch))
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

    def _send(self, index: int, chip: Coordinate, program: StepProgram, lane: Lane) -> Process:
        """Sends a lane's messages in order: when what one needs is here and the link is free."""
        part, launch = self.parts[index][chip], self.prepared.call(index).launch
        channel = (*lane.channel,)
        pair = self.prepared.with_matmul.get(index)
        attached = None if pair is None else self.prepared.attached(index, chip)
        yield part.ready
        for number, send in enumerate(lane.sends):
            yield from self._arrived(index, chip, send.needs, (index, chip, channel, number))
            if pair is not None and attached is not None:
                works = self.parts[pair.matmul][chip].inbox
                yield works.wait(CORE, attached.waits(lane.channel, number))
                if launch and pair.form is not Form.CHUNKS:  # each message by itself
                    yield self.env.timeout(self.prepared.ticks(launch))
            flight = _Flight(
                index,
                load_of(send, program),
                Message(chip, channel, number),
                send.counted or lane.channel,
                self.prepared.route(index, chip, lane, send),
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
        held, latency, size = self.prepared.durations(flight.step, flight.load, hop.link)
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

    def _receive(self, index: int, chip: Coordinate, program: StepProgram) -> Process:
        """The result is here when every message has arrived, and the chip's own part is done."""
        part = self.parts[index][chip]
        yield part.ready
        yield from self._arrived(index, chip, program.receives, (index, chip, RECEIVER, 0))
        pair = self.prepared.with_matmul.get(index)
        if pair is not None and pair.matmul < index:
            yield self.parts[pair.matmul][chip].value
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
        step, call = self.steps[own], self.prepared.call(index)
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


def _way(call: Call, channel: tuple[int, int, int]) -> str:
    segment, direction, _ = channel
    name = call.group.segments[segment].name
    return f"{name}{'' if direction == 0 else '+' if direction > 0 else '-'}"
