"""What no schedule can beat: the bytes on the busiest link, over its bandwidth.

Where steps share links, or a link is slower than the rest, chips get out of step and no closed form
is exact. The busiest link is still known: which steps cross it (see `mesh.segments`), and how many
bytes a step carries. Relation to the simulation: LOWER BOUND.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.cost.phases import Phase, phases
from shardsim.cost.schedule import phase_ways
from shardsim.cost.terms import NOTHING, Terms, later
from shardsim.cost.wire import UNIT, step_bytes
from shardsim.hardware import Link
from shardsim.mesh import Crossing
from shardsim.units import Bytes, Seconds
from shardsim.vocabulary import CollectiveKind, DimensionKind, LatencyModel, TransferKind

if TYPE_CHECKING:
    from shardsim.call import Call
    from shardsim.mesh import Segment

__all__ = ["busiest_link", "fastest_link", "loads", "torus_bound"]


def loads(call: Call) -> dict[int, tuple[Bytes, Bytes]]:
    """Bytes that the busiest step up, and the busiest step down, of each segment carries."""
    found: defaultdict[int, list[Bytes]] = defaultdict(lambda: [Fraction(0), Fraction(0)])
    for phase in phases(call):
        ways = _step_bytes(call, phase)
        for way, size in enumerate(ways):
            found[phase.segment][way] += size
    return {index: (up, down) for index, (up, down) in found.items()}


def _step_bytes(call: Call, phase: Phase) -> tuple[Bytes, Bytes]:
    """Bytes of one phase on a step up and on one down: the busiest, or any where they differ.

    On a line the steps in the middle and at the ends carry different amounts; which of them cross a
    link that differs is not known here, so the least of them counts.
    """
    segment = call.group.segments[phase.segment]
    if phase.kind is TransferKind.GATHER and segment.crossings:
        return Fraction(0), Fraction(0)
    if segment.kind is DimensionKind.LINE and segment.crossings:
        block = phase.size / segment.size
        if phase.kind is CollectiveKind.ALL_TO_ALL:
            block *= Fraction(segment.size - 1, segment.size)
        return block, block
    algorithm = call.method.algorithms[phase.segment]
    if phase.kind is TransferKind.GATHER and segment.kind is DimensionKind.LINE:
        up, down = phase_ways(call, phase, LatencyModel.ADDITIVE, UNIT)
        scale = call.efficiency / segment.stride
        return up.bandwidth * scale, down.bandwidth * scale
    return step_bytes(phase.kind, phase.size, segment, algorithm)


def busiest_link(call: Call, latency_model: LatencyModel) -> Terms:
    """Time of the busiest link, and the latency of the last message that leaves it."""
    times = [NOTHING]
    for index, (up, down) in loads(call).items():
        segment = call.group.segments[index]
        for crossing in _crossings(segment):
            size = crossing.up * up + crossing.down * down
            rate = crossing.link.one_way_bandwidth * call.efficiency
            last = crossing.link.latency if latency_model is LatencyModel.ADDITIVE else 0
            times.append(Terms(size / rate, Fraction(last)))
    if len(call.group.segments) == 1 and _chain_is_least(call):
        times.append(_at_best(call, latency_model))
    return later(*times)


def _crossings(segment: Segment) -> tuple[Crossing, ...]:
    """What the links of a segment carry; each all steps of one direction where none is listed."""
    alike = (
        Crossing(segment.stride, 0, segment.link),
        Crossing(0, segment.stride, segment.link),
    )
    return segment.crossings or alike


def _chain_is_least(call: Call) -> bool:
    """Whether the closed form of a segment by itself is below every run on worse links."""
    (segment,) = call.group.segments
    on_line = segment.kind is DimensionKind.LINE
    return not (call.kind is CollectiveKind.ALL_TO_ALL and on_line)


def _at_best(call: Call, latency_model: LatencyModel) -> Terms:
    """The closed form, every step one hop over the fastest link."""
    (segment,) = call.group.segments
    ends = [NOTHING]
    chain = NOTHING
    link = fastest_link(segment)
    scaled = Link(link.one_way_bandwidth * segment.stride, link.latency / segment.stride)
    for phase in phases(call):
        chain = chain + later(*phase_ways(call, phase, latency_model, scaled))
        ends.append(chain)
    return ends[-1] if call.method.chunks == 1 else NOTHING


def fastest_link(segment: Segment) -> Link:
    """The best bandwidth and the best latency of a segment's links."""
    links = [crossing.link for crossing in segment.crossings] or [segment.link]
    return Link(max(link.one_way_bandwidth for link in links), min(link.latency for link in links))


def torus_bound(kind: CollectiveKind, size: Bytes, segments: tuple[Segment, ...]) -> Seconds:
    """What no method over k rings with equal links can beat, latency apart.

    AllGather and ReduceScatter: every chip must get (or give away) all blocks but its own, over 2k
    links: (1 - 1/N) V / 2kw with N the number of chips. AllReduce: twice that. AllToAll: half of
    all data crosses the middle of the longest ring: V max(N_i) / (4 N 2w). On lines, half of the
    links count (one each at the corner): k for 2k, and w for 2w.
    """
    rate = min(segment.link.one_way_bandwidth for segment in segments)
    sizes = [segment.size for segment in segments]
    total = math.prod(sizes)
    if kind is CollectiveKind.ALL_TO_ALL:
        return max(
            size * segment.size / (4 * total * _ways(segment) * segment.link.one_way_bandwidth)
            for segment in segments
        )
    links = sum(_ways(segment) for segment in segments)
    once = size * Fraction(total - 1, total) / (links * rate)
    return 2 * once if kind is CollectiveKind.ALL_REDUCE else once


def _ways(segment: Segment) -> int:
    return 2 if segment.kind is DimensionKind.RING else 1
