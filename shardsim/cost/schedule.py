"""The time of phases that wait for each other: streams over several segments, and chunks.

A phase starts when the phase before it in its stream has arrived, and when the link has sent off
the phases that it serves before. So the whole is the longest chain of phases. With `T` the time of
a phase until its last message has arrived, and `B` until it is sent off (one latency less):

    start(p) = max(arrival of the phase before p in its stream, sent off of the phase before p on
    the link);  arrival(p) = start(p) + T(p);  sent off(p) = start(p) + B(p)

On rings and at switches all chips are alike, so this is EQUAL to the simulation. On lines chips in
the middle are done before those at the ends, and may start the next phase before others: the form
assumes that all start together, so it is an UPPER BOUND (a start that is later anywhere makes
nothing earlier), and EQUAL where the chips at the corners are held up by nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardsim.cost.exact import both_ways, gather_on_line, gather_on_ring
from shardsim.cost.phases import Phase, phases
from shardsim.cost.terms import NOTHING, Terms, later
from shardsim.hardware import Link
from shardsim.vocabulary import Algorithm, DimensionKind, LatencyModel, TransferKind

if TYPE_CHECKING:
    from shardsim.call import Call
    from shardsim.mesh import Segment

__all__ = ["effective_link", "longest_chain", "phase_ways"]


def effective_link(call: Call, segment: Segment, link: Link | None = None) -> Link:
    """The link as a closed form takes it: efficiency counted in, and steps of several hops.

    A step of s hops, on links that s groups share in turn, costs s times as much in both terms.
    """
    under = link or segment.link
    rate = under.one_way_bandwidth * call.efficiency / segment.stride
    return Link(rate, under.latency * segment.stride)


def phase_ways(
    call: Call, phase: Phase, latency_model: LatencyModel, link: Link | None = None
) -> tuple[Terms, Terms]:
    """The time of one phase up and down its segment, if all its chips start together."""
    segment = call.group.segments[phase.segment]
    under = effective_link(call, segment, link)
    algorithm = call.method.algorithms[phase.segment]
    if phase.kind is TransferKind.GATHER and segment.kind is DimensionKind.LINE:
        root = call.group.root_place(call.root)[phase.segment]
        return gather_on_line(phase.size, segment.size, under, root, latency_model)
    alone = len(call.group.segments) == 1 and call.method.chunks == 1
    halves = algorithm is Algorithm.BALANCED and segment.size % 2 == 0
    additive = latency_model is LatencyModel.ADDITIVE
    if phase.kind is TransferKind.GATHER and alone and halves and additive:
        time = gather_on_ring(phase.size, segment.size, under)
        return time, time
    return both_ways(phase.kind, phase.size, segment.size, under, algorithm, latency_model)


def longest_chain(call: Call, latency_model: LatencyModel) -> Terms:
    """The time of all phases, by the recurrence above."""
    arrived: dict[int, Terms] = {}
    sent: dict[tuple[int, int], Terms] = {}
    for phase in phases(call):
        before = arrived.get(phase.job, NOTHING)
        ends = []
        for way, time in enumerate(phase_ways(call, phase, latency_model)):
            if time == NOTHING:
                continue
            start = later(before, sent.get((phase.segment, way), NOTHING))
            ends.append(start + time)
            sent[phase.segment, way] = start + _sent_off(call, phase, time, latency_model)
        arrived[phase.job] = later(before, *ends)
    return later(NOTHING, *arrived.values())


def _sent_off(call: Call, phase: Phase, time: Terms, latency_model: LatencyModel) -> Terms:
    """The time until the last message has left its link."""
    if latency_model is LatencyModel.FLOOR:
        return time
    link = effective_link(call, call.group.segments[phase.segment])
    return Terms(time.bandwidth, time.latency - link.latency)
