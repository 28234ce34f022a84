"""Simulated against closed form, and what the links of a run carried."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.call import make_call
from shardsim.comparison import traffic
from shardsim.timeline import LinkDirection, Port
from shardsim.verification.machine import scaled
from shardsim.verification.records import Breach, NotChecked, Side
from shardsim.vocabulary import Relation, TransferKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from shardsim.call import Call
    from shardsim.cost import CollectivePrice
    from shardsim.timeline import Timeline
    from shardsim.topology import Coordinate
    from shardsim.units import Bytes
    from shardsim.verification.cases import Case
    from shardsim.verification.machine import Machine
    from shardsim.verification.simulating import Simulator

__all__ = ["RELATIONS", "TRAFFIC_LAWS", "Sample", "nearer_with_more_chunks", "relation_holds"]

RELATIONS = {
    Relation.EQUAL: ("==", "simulated = closed form"),
    Relation.LOWER_BOUND: (">=", "simulated >= lower bound"),
    Relation.UPPER_BOUND: ("<=", "simulated <= upper bound"),
    Relation.LIMIT: (">=", "simulated >= limit of many chunks"),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One case, its price and its simulation."""

    case: Case
    call: Call
    price: CollectivePrice
    timeline: Timeline

    @classmethod
    def of(cls, machine: Machine, simulator: Simulator, case: Case) -> Sample:
        """Simulates a case.

        Raises:
            NotChecked: it is too large, or enough was simulated.
            SimulationError: it comes to a stop.
        """
        call = simulator.place(case, machine.mesh)
        price = case.cost.collective(call)
        return cls(case, call, price, simulator.run(call, case.latency_model))


def relation_holds(machine: Machine, sample: Sample) -> Breach | None:
    """Whether the simulation stands to the closed form as the form says."""
    simulated, exact = sample.timeline.makespan, sample.price.exact.total
    sign, name = RELATIONS[sample.price.relation]
    holds = {"==": simulated == exact, ">=": simulated >= exact, "<=": simulated <= exact}
    if holds[sign]:
        return None
    left = Side("simulated", simulated, "s", sample.case.command(machine))
    return Breach(left, sign, Side(name.split(maxsplit=2)[2], exact))


def nearer_with_more_chunks(
    machine: Machine, simulator: Simulator, sample: Sample
) -> Breach | None:
    """Whether twice the chunks come nearer to the limit, latency apart: a chunk costs a latency."""
    call, latency_model = sample.call, sample.case.latency_model
    group = scaled(call.group.mesh, latency=0).group(call.group.axes)
    methods = [replace(call.method, chunks=call.method.chunks * factor) for factor in (1, 2)]
    before, after = (
        simulator.run(make_call(call.kind, group, call.size, method), latency_model).makespan
        for method in methods
    )
    if after <= before:
        return None
    left = Side("twice the chunks, without latency", after, "s", sample.case.command(machine))
    return Breach(left, "<=", Side("before", before))


def _within_bandwidth(machine: Machine, sample: Sample) -> Breach | None:
    """No link carries more than its bandwidth allows."""
    uses = traffic(sample.timeline, sample.call.group.mesh.topology)
    most = max(uses, key=lambda use: use.utilization, default=None)
    if most is None or most.utilization <= 1:
        return None
    left = Side(f"share of {most.name}", most.utilization, "", sample.case.command(machine))
    return Breach(left, "<=", Side("all of it", Fraction(1)))


def _sent_and_received(sample: Sample) -> tuple[dict[Coordinate, Bytes], dict[Coordinate, Bytes]]:
    """Bytes that leave each chip, and bytes that come to each."""
    topology = sample.call.group.mesh.topology
    index = {dimension.name: at for at, dimension in enumerate(topology.dimensions)}
    sent: defaultdict[Coordinate, Bytes] = defaultdict(Fraction)
    received: defaultdict[Coordinate, Bytes] = defaultdict(Fraction)
    for interval in sample.timeline.intervals:
        match interval.track:
            case LinkDirection(chip=chip, dimension=name, direction=way):
                there = topology.neighbour(chip, (index[name], way))
                assert there is not None
                sent[chip] += interval.size
                received[there] += interval.size
            case Port(chip=chip, direction=way):
                (sent if way > 0 else received)[chip] += interval.size
    return sent, received


def _all_arrives(machine: Machine, sample: Sample) -> Breach | None:
    """What is sent is received, and each chip gets what it lacks at least."""
    sent, received = _sent_and_received(sample)
    out, into = sum(sent.values(), Fraction(0)), sum(received.values(), Fraction(0))
    command = sample.case.command(machine)
    if out != into:
        return Breach(Side("sent", out, "B", command), "==", Side("received", into, "B"))
    lacking = _lacking(sample.call)
    least = min((received.get(chip, Fraction(0)), chip) for chip in sample.call.group.chips)
    if least[0] >= lacking:
        return None
    left = Side(f"received by chip {least[1]}", least[0], "B", command)
    return Breach(left, ">=", Side("what it lacks", lacking, "B"))


def _lacking(call: Call) -> Bytes:
    """Bytes of the result that no chip has before."""
    n = call.group.size
    match call.kind.value:
        case "all_gather":
            return call.size * (n - 1) / n
        case "all_to_all":
            return call.size * (n - 1) / (n * n)
        case _:
            return Fraction(0)


def _on_the_wire(machine: Machine, sample: Sample) -> Breach | None:
    """The busiest chip sends what the formula says; at most that where `wire_bytes` is a bound."""
    sent, _ = _sent_and_received(sample)
    most, said = max(sent.values(), default=Fraction(0)), sample.price.wire_bytes
    segments = sample.call.group.segments
    alone = len(segments) == 1 and not segments[0].crossings
    physical = sample.call.group.is_physical
    if isinstance(sample.call.kind, TransferKind) and not physical:
        raise NotChecked("permutes and gathers over shared links, of which it is no bound")
    equal = physical if sample.call.kind is not TransferKind.GATHER else len(segments) == 1
    equal = equal or alone
    if (most == said) if equal else (most <= said):
        return None
    left = Side("sent by the busiest chip", most, "B", sample.case.command(machine))
    return Breach(left, "==" if equal else "<=", Side("wire bytes", said, "B"))


TRAFFIC_LAWS: tuple[tuple[str, Callable[[Machine, Sample], Breach | None]], ...] = (
    ("no link carries more than it can", _within_bandwidth),
    ("bytes sent = bytes received", _all_arrives),
    ("wire bytes at the busiest chip", _on_the_wire),
)
