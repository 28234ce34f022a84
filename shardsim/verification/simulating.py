"""Runs cases, as many as there is time for, on as few chips as show the same."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.collectives import program_of
from shardsim.engine import simulate_calls
from shardsim.verification.machine import reduced
from shardsim.verification.records import NotChecked
from shardsim.vocabulary import DimensionKind, LatencyModel, Relation, TransferKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from shardsim.call import Call
    from shardsim.collectives import StepProgram
    from shardsim.cost import CostModel
    from shardsim.mesh import Mesh
    from shardsim.timeline import Timeline
    from shardsim.topology import Coordinate
    from shardsim.units import Seconds
    from shardsim.verification.cases import Case

    Programs = Callable[[Call, Coordinate], StepProgram]

__all__ = ["ENOUGH", "MOST_HOPS", "Simulator", "hops_of", "never_decides", "on_few_chips"]

MOST_HOPS = 8_000
"""Hops of one run: more are not simulated."""

TOO_LARGE = f"of over {MOST_HOPS:,} hops"
ENOUGH = "for want of time"
SAMPLE = 5


def hops_of(call: Call) -> int:
    """About how many hops a run of a call takes: some chips' sends, times all chips."""
    group = call.group
    chips = list(group.chips)
    some = chips[:: max(1, len(chips) // SAMPLE)][:SAMPLE]
    total = 0
    for chip in some:
        for lane in program_of(call, chip).lanes:
            total += len(lane.sends) * group.segments[lane.channel.segment].stride
    return total * len(chips) // len(some)


def never_decides(call: Call) -> bool:
    """Whether no link ever has to choose between messages, so that later means later everywhere.

    So it is where each link carries the steps of one chip only, whatever its bandwidth: then a run
    is a longest path, and the laws of time hold of it exactly.
    """
    segments = call.group.segments
    if all(segment.is_physical for segment in segments):
        return True
    if call.kind is TransferKind.PERMUTE:
        return False
    return all(
        segment.kind is not DimensionKind.SWITCH
        and segment.stride == 1
        and all(crossing.up + crossing.down <= 1 for crossing in segment.crossings)
        for segment in segments
    )


def on_few_chips(case: Case, mesh: Mesh) -> Call:
    """The call on as few chips as show the same: those of the dimensions under its axes."""
    return case.call(reduced(mesh.group(case.axes)) or mesh)


@dataclass(slots=True)
class Simulator:
    """Runs calls within a budget, so that a verification comes to an end; the same every time.

    Attributes:
        budget: Hops that may still be simulated.
        programs: The step programs; the project's own by default.
    """

    budget: int
    programs: Programs | None = None

    def place(self, case: Case, mesh: Mesh) -> Call:
        """The call on few chips, to be simulated.

        Raises:
            NotChecked: it is too large.
        """
        call = on_few_chips(case, mesh)
        if len(list(call.group.chips)) > MOST_HOPS or hops_of(call) > MOST_HOPS:
            raise NotChecked(TOO_LARGE)
        return call

    def run(self, call: Call, latency_model: LatencyModel) -> Timeline:
        """Simulates a call.

        Raises:
            NotChecked: the budget is used up.
            SimulationError: it comes to a stop.
        """
        if self.budget <= 0:
            raise NotChecked(ENOUGH)
        self.budget -= hops_of(call) + len(list(call.group.chips)) // 8
        topology = call.group.mesh.topology
        return simulate_calls(topology, [call], latency_model, programs=self.programs)

    def seconds(self, call: Call, cost: CostModel) -> Seconds:
        """The time of a call: the closed form where it is EQUAL, else the simulation.

        Raises:
            NotChecked: neither is to be had, or laws of time do not hold of it.
        """
        price = cost.collective(call)
        if price.relation is Relation.EQUAL:
            return Fraction(price.exact.total)
        if not never_decides(call):
            raise NotChecked("whose messages wait for each other")
        if hops_of(call) > MOST_HOPS:
            raise NotChecked(TOO_LARGE)
        return self.run(call, cost.latency_model).makespan
