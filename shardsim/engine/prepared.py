"""What is known before anything runs: who takes part, which way, in how many ticks, how often."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.call import Call
from shardsim.collectives import StepProgram, has_switch_program, program_of
from shardsim.collectives.attached import Work, attached_to
from shardsim.planner import CollectiveStep, MatmulStep
from shardsim.timeline import Core
from shardsim.vocabulary import LatencyModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardsim.collectives import Lane, Send
    from shardsim.collectives.attached import Attached
    from shardsim.hardware import Link
    from shardsim.planner.decomposition import Decomposition
    from shardsim.planner.steps import Step
    from shardsim.timeline import Track
    from shardsim.topology import Coordinate, Hop, Topology
    from shardsim.units import Bytes, Seconds

__all__ = ["Load", "Prepared", "Programs", "load_of"]

Load = tuple[int, int, int]
"""A message's share of V: blocks (numerator, denominator), of so many; quicker than fractions."""
Programs = Callable[[Call, "Coordinate"], StepProgram]


class Prepared:
    """The steps of one run, with their programs, routes and durations.

    Attributes:
        steps: What is run.
        calls: The call of each step that is a collective.
        everyone: All chips.
        chips: Of each step, the chips that take part in it, and the switches that do.
        with_matmul: Of a collective that goes together with a matmul, by its index, the pair.
        with_collective: The same pairs, by the index of the matmul.
        ticks_per_second: With this everything at full speed takes whole ticks.
    """

    def __init__(
        self,
        topology: Topology,
        steps: Sequence[Step | Call],
        latency_model: LatencyModel,
        programs: Programs | None,
        decomposed: Sequence[Decomposition] = (),
    ) -> None:
        self.steps = steps
        self.calls = [_call_of(step) for step in steps]
        self.with_matmul = {pair.collective: pair for pair in decomposed}
        self.with_collective = {pair.matmul: pair for pair in decomposed}
        self.everyone: list[Coordinate] = sorted(topology.coordinates())
        self.chips = [self.everyone if call is None else _participants(call) for call in self.calls]
        self._latency_model = latency_model
        self._programs = programs or program_of
        self._routes: dict[tuple[int, Coordinate, int, int | None], tuple[Hop, ...]] = {}
        self._durations: dict[tuple[int, Load, int], tuple[int, int, Bytes]] = {}
        self.ticks_per_second = math.lcm(*self._denominators())

    def call(self, index: int) -> Call:
        """The call of a step that is a collective."""
        call = self.calls[index]
        assert call is not None
        return call

    def program(self, index: int, chip: Coordinate) -> StepProgram:
        """The step program of a chip."""
        if index in self.with_matmul:
            return self.attached(index, chip).program
        return self._programs(self.call(index), chip)

    def attached(self, index: int, chip: Coordinate) -> Attached:
        """The step program of a chip, with the matmul that goes with it."""
        pair = self.with_matmul[index]
        return attached_to(self.call(index), chip, pair.form, pair.parts)

    def works(self, index: int, chip: Coordinate) -> tuple[Work, ...]:
        """The parts in which a chip does a matmul."""
        if index in self.with_collective:
            return self.attached(self.with_collective[index].collective, chip).works
        return (Work(0),)

    def work_ticks(self, index: int, step: MatmulStep) -> int:
        """What each of them takes."""
        return self.ticks(self._work_seconds(index, step))

    def are_together(self, first: int, second: int) -> bool:
        """Whether two steps are a collective and the matmul that goes with it."""
        pair = self.with_matmul.get(first) or self.with_collective.get(first)
        return pair is not None and second in (pair.collective, pair.matmul)

    def route(self, index: int, chip: Coordinate, lane: Lane, send: Send) -> tuple[Hop, ...]:
        """The hops of a message."""
        key = (index, chip, lane.channel.segment, send.offset)
        if key not in self._routes:
            self._routes[key] = self.call(index).way(chip, lane.channel.segment, send.offset)
        return self._routes[key]

    def durations(self, index: int, load: Load, link: Link) -> tuple[int, int, Bytes]:
        """Ticks for which a message holds its link, ticks from then to its arrival, its bytes."""
        key = (index, load, id(link))
        if key not in self._durations:
            call = self.call(index)
            transfer = self.ticks(_transfer(call, load, link))
            latency = self.ticks(link.latency)
            if self._latency_model is LatencyModel.FLOOR:
                transfer, latency = max(transfer, latency), 0
            self._durations[key] = transfer, latency, call.size * _share(load)
        return self._durations[key]

    def ticks(self, seconds: Seconds) -> int:
        """Seconds as ticks."""
        ticks = seconds * self.ticks_per_second
        assert ticks.denominator == 1
        return ticks.numerator

    def requests(self) -> dict[Track, Counter[int]]:
        """How often each step will use each core and link."""
        requests: defaultdict[Track, Counter[int]] = defaultdict(Counter)
        for index, step in enumerate(self.steps):
            if isinstance(step, MatmulStep):
                for chip in self.chips[index]:
                    requests[Core(chip)][index] += len(self.works(index, chip))
            elif self.calls[index] is not None:
                for _, hops in self._hops(index):
                    for hop in hops:
                        for track in hop.tracks:
                            requests[track][index] += 1
        return requests

    def _work_seconds(self, index: int, step: MatmulStep) -> Seconds:
        pair = self.with_collective.get(index)
        return step.seconds if pair is None else pair.part_seconds

    def _hops(self, index: int) -> Iterator[tuple[Load, tuple[Hop, ...]]]:
        """Of every message of a collective: its share of V, and the hops it takes."""
        for chip in self.chips[index]:
            program = self.program(index, chip)
            for lane in program.lanes:
                for send in lane.sends:
                    yield load_of(send, program), self.route(index, chip, lane, send)

    def _denominators(self) -> set[int]:
        """Of everything that takes time."""
        found = {1}
        for index, step in enumerate(self.steps):
            call = self.calls[index]
            if isinstance(step, MatmulStep):
                found.add(self._work_seconds(index, step).denominator)
            if call is None:
                continue
            found.add(call.launch.denominator)
            seen = {
                (load, id(hop.link)): hop.link for load, hops in self._hops(index) for hop in hops
            }
            for (load, _), link in seen.items():
                found.add(link.latency.denominator)
                found.add(_transfer(call, load, link).denominator)
        return found


def load_of(send: Send, program: StepProgram) -> Load:
    """The share of V that a message carries."""
    return send.size.numerator, send.size.denominator, program.blocks


def _call_of(step: Step | Call) -> Call | None:
    if isinstance(step, CollectiveStep):
        return step.call
    return step if isinstance(step, Call) else None


def _participants(call: Call) -> list[Coordinate]:
    """The chips of a collective, and the switches that reduce in it."""
    hubs = call.group.hubs if has_switch_program(call.method) else ()
    return [*sorted(call.group.chips), *sorted(hubs)]


def _share(load: Load) -> Fraction:
    return Fraction(load[0], load[1] * load[2])


def _transfer(call: Call, load: Load, link: Link) -> Fraction:
    """Seconds that a message takes on a link, latency apart."""
    return _share(load) * call.size / (link.one_way_bandwidth * call.efficiency)
