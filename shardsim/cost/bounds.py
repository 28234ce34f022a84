"""What a method cannot beat: the bytes on its busiest link, over the link's bandwidth.

Where steps share links, or a link is slower than the rest, chips get out of step and no closed form
is exact. The busiest link is still known: which steps cross it (see `mesh.segments`), and how many
bytes each step carries. Relation to the simulation: LOWER BOUND.
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
from shardsim.vocabulary import Algorithm, CollectiveKind, DimensionKind, LatencyModel, TransferKind

if TYPE_CHECKING:
    from shardsim.call import Call
    from shardsim.mesh import Segment

__all__ = ["busiest_link", "fastest_link", "torus_bound"]


def busiest_link(call: Call, latency_model: LatencyModel) -> Terms:
    """Time of the busiest link, and the latency of the last message that leaves it."""
    sizes: defaultdict[tuple[tuple[bool, int], Crossing], Bytes] = defaultdict(Fraction)
    for phase in phases(call):
        segment = call.group.segments[phase.segment]
        for crossing in _crossings(segment):
            sizes[_links(segment, phase.segment), crossing] += _carried(call, phase, crossing)
    times = [NOTHING]
    for (_, crossing), size in sizes.items():
        if size == 0:  # no message leaves it
            continue
        rate = crossing.link.one_way_bandwidth * call.efficiency
        last = crossing.link.latency if latency_model is LatencyModel.ADDITIVE else 0
        times.append(Terms(size / rate, Fraction(last)))
    if len(call.group.segments) == 1 and _chain_is_least(call):
        times.append(_at_best(call, latency_model))
    if call.kind is CollectiveKind.ALL_TO_ALL:
        times.append(_farthest_block(call, latency_model))
    return later(*times)


def _farthest_block(call: Call, latency_model: LatencyModel) -> Terms:
    """AllToAll: a block goes from one corner to the opposite one, stored at every chip between.

    Round a ring of an even number of chips half of it may go each way.
    """
    segments = call.group.segments
    block = call.size / call.group.size**2 / call.efficiency
    ways = []
    for _, (low, high) in call.method.jobs():
        way = NOTHING
        for segment, algorithm in zip(segments, call.method.algorithms, strict=True):
            link, n = fastest_link(segment), segment.size
            hops = {DimensionKind.LINE: n - 1, DimensionKind.RING: n // 2}.get(segment.kind, 1)
            seconds = block * (high - low) / link.one_way_bandwidth
            if n % 2 == 0 and algorithm in (Algorithm.BALANCED, Algorithm.HALF_SHARDS):
                seconds /= 2
            hop = Terms(seconds, link.latency)
            if latency_model is LatencyModel.FLOOR:
                hop = later(Terms(seconds, Fraction(0)), Terms(Fraction(0), link.latency))
            way = way + Terms(hop.bandwidth * hops, hop.latency * hops)
        ways.append(way)
    return later(*ways)


def _links(segment: Segment, index: int) -> tuple[bool, int]:
    """Which links a segment's are: its own, or the ports of a switch that other parts use too."""
    at_switch = segment.kind is DimensionKind.SWITCH and not segment.crossings
    if at_switch and segment.dimension is not None:
        return True, segment.dimension
    return False, index


def _carried(call: Call, phase: Phase, crossing: Crossing) -> Bytes:
    """Bytes of one phase on a link."""
    segment = call.group.segments[phase.segment]
    algorithm = call.method.algorithms[phase.segment]
    if phase.kind is TransferKind.GATHER:  # only the steps next to the root are busy
        if segment.crossings:
            return Fraction(0)
        up, down = phase_ways(call, phase, LatencyModel.ADDITIVE, UNIT)
        alone = len(call.group.segments) == 1  # else only the root's rows are busy in the end
        groups = 1 if alone else segment.stride
        return max(up.bandwidth, down.bandwidth) * call.efficiency / groups
    if crossing.up_steps or crossing.down_steps:
        return sum(
            (_of_step(phase, segment.size, step, up=True) for step in crossing.up_steps),
            Fraction(0),
        ) + sum(
            (_of_step(phase, segment.size, step, up=False) for step in crossing.down_steps),
            Fraction(0),
        )
    up_bytes, down_bytes = step_bytes(phase.kind, phase.size, segment, algorithm)
    return crossing.up * up_bytes + crossing.down * down_bytes


def _of_step(phase: Phase, n: int, step: int, *, up: bool) -> Bytes:
    """Bytes of one step of a line: what all chips below it have for those above, or the reverse.

    AllGather: the blocks of the chips behind. ReduceScatter: a sum for each chip ahead. AllToAll: a
    block of each chip behind for each ahead.
    """
    behind, ahead = (step + 1, n - 1 - step) if up else (n - 1 - step, step + 1)
    block = phase.size / n
    match phase.kind:
        case CollectiveKind.ALL_TO_ALL:
            return block / n * behind * ahead
        case CollectiveKind.REDUCE_SCATTER:
            return block * ahead
        case _:
            return block * behind


def _crossings(segment: Segment) -> tuple[Crossing, ...]:
    """What the links of a segment carry; where none is listed, all steps of one direction.

    On a line each step by itself: those in the middle and at the ends carry different amounts.
    """
    if segment.crossings:
        return segment.crossings
    link, shared = segment.link, segment.stride
    if segment.kind is DimensionKind.LINE:
        steps = [(step,) * shared for step in range(segment.size - 1)]
        ups = [Crossing(shared, 0, link, up_steps=step) for step in steps]
        return (*ups, *(Crossing(0, shared, link, down_steps=step) for step in steps))
    return Crossing(shared, 0, link), Crossing(0, shared, link)


def _chain_is_least(call: Call) -> bool:
    """Whether the closed form of a segment by itself is below every run on worse links."""
    (segment,) = call.group.segments
    on_line = segment.kind is DimensionKind.LINE
    return not (call.kind is CollectiveKind.ALL_TO_ALL and on_line)


def _at_best(call: Call, latency_model: LatencyModel) -> Terms:
    """The closed form, every step one hop over the fastest link.

    Where all steps are as many hops over links that are alike, the farthest chip's block alone
    takes that many times as long: it is stored and forwarded.
    """
    (segment,) = call.group.segments
    if call.method.chunks > 1:
        return NOTHING
    under: Link | None = None
    if segment.crossings or call.kind is TransferKind.GATHER:
        link = fastest_link(segment)
        under = Link(link.one_way_bandwidth * segment.stride, link.latency / segment.stride)
    chain = NOTHING
    for phase in phases(call):
        chain = chain + later(*phase_ways(call, phase, latency_model, under))
    return chain


def fastest_link(segment: Segment) -> Link:
    """The best bandwidth and the best latency of a segment's links."""
    links = [crossing.link for crossing in segment.crossings] or [segment.link]
    return Link(max(link.one_way_bandwidth for link in links), min(link.latency for link in links))


def torus_bound(kind: CollectiveKind, size: Bytes, segments: tuple[Segment, ...]) -> Seconds:
    """What no method over k rings can beat, latency apart.

    AllGather and ReduceScatter: every chip must get (or give away) all blocks but its own, over 2k
    links: (1 - 1/N) V / 2kw with N the number of chips (the sum of all rates, where they differ).
    AllReduce by the two: twice that (by trees it can be less). AllToAll: half of all data crosses
    the middle of the longest ring: V max(N_i) / (4 N 2w), on odd ones 1 - 1/N_i^2 of that. On
    lines, half of the links count (one each at the corner): k for 2k, and w for 2w.
    """
    sizes = [segment.size for segment in segments]
    total = math.prod(sizes)
    if kind is CollectiveKind.ALL_TO_ALL:
        return max(
            size
            * Fraction(n * n - n % 2, 4 * n * total)
            / (_ways(segment) * link.one_way_bandwidth)
            for segment in segments
            for n, link in [(segment.size, segment.link)]
        )
    rate = sum((_ways(part) * part.link.one_way_bandwidth for part in segments), Fraction(0))
    once = size * Fraction(total - 1, total) / rate
    return 2 * once if kind is CollectiveKind.ALL_REDUCE else once


def _ways(segment: Segment) -> int:
    return 2 if segment.kind is DimensionKind.RING else 1
