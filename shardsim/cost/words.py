"""The closed forms as text, so that a price can be read: `2 (3/4 V/w + 3a)`.

V is bytes as one group sees the array, w one-way bytes/s of one link, a the latency of one link. A
test evaluates the texts and holds them equal to the formulas.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.cost.phases import Phase, phases
from shardsim.cost.relations import relation
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    DimensionKind,
    LatencyModel,
    Relation,
    Schedule,
    TransferKind,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardsim.call import Call
    from shardsim.mesh import Segment

__all__ = ["book_in_words", "exact_in_words", "phase_in_words"]


def exact_in_words(call: Call, latency_model: LatencyModel) -> str:
    """The closed form of a call."""
    text = _form(call, latency_model)
    if call.launch:
        text += " + launch"
    floor = latency_model is LatencyModel.FLOOR and call.group.size > 1
    return f"{text}, a message taking at least a" if floor else text


def _form(call: Call, latency_model: LatencyModel) -> str:
    segments, method = call.group.segments, call.method
    if call.group.size == 1:
        return "0"
    segment, algorithm = segments[0], method.algorithms[0]
    n, additive = segment.size, latency_model is LatencyModel.ADDITIVE
    if algorithm is Algorithm.IN_NETWORK:
        return f"{n + 1}/{n} V/w + 2a"
    if algorithm is Algorithm.REDUCE_BROADCAST:
        return _relayed(2 * (n // 2), method.chunks, additive=additive)
    if call.kind is TransferKind.SEND:
        return _relayed(n - 1, method.chunks, additive=additive)
    if call.kind is TransferKind.PERMUTE:
        hops = _shift_hops(call.shift % n, n, segment.kind) * segment.stride
        return _sum(f"{hops}/{n} V/w", hops, additive=additive)
    if relation(call, latency_model) is Relation.LOWER_BOUND and not (
        len(segments) == 1 and segment.is_physical
    ):
        return (
            "bytes of the busiest link / its w + a" if additive else "bytes of the busiest link/w"
        )
    if len(segments) == 1 and method.chunks == 1:
        return phase_in_words(call.kind, segment, algorithm, additive=additive)
    return _of_phases(call, additive=additive)


def _of_phases(call: Call, *, additive: bool) -> str:
    """The phases of one stream in a row; several streams and chunks are the longest chain."""
    segments, method = call.group.segments, call.method
    first = [phase for phase in phases(call) if phase.job == 0]
    alike = len({(s.size, s.kind, s.link) for s in segments}) == 1
    if method.schedule is Schedule.ROTATED and alike and method.chunks == 1:
        ring = segments[0].kind is DimensionKind.RING
        if call.kind is not CollectiveKind.ALL_TO_ALL and not ring:
            total, k = call.group.size, len(segments)
            steps = k * (segments[0].size - 1)
            once = _sum(f"{total - 1}/{total} V/{k}w", steps, additive=additive)
            return f"2 ({once})" if call.kind is CollectiveKind.ALL_REDUCE else once
        if call.kind is not CollectiveKind.ALL_TO_ALL and method.algorithms[0] in {
            Algorithm.BALANCED,
            Algorithm.HALF_SHARDS,
        }:
            total, k = call.group.size, len(segments)
            n = segments[0].size
            each = n // 2 if method.algorithms[0] is Algorithm.BALANCED else n - 1
            once = _sum(f"{total - 1}/{total} V/{2 * k}w", k * each, additive=additive)
            return f"2 ({once})" if call.kind is CollectiveKind.ALL_REDUCE else once
    chain = " then ".join(_phase(call, phase, additive=additive) for phase in first)
    jobs = len(list(method.jobs()))
    return chain if jobs == 1 else f"longest chain of {jobs} streams, the first: {chain}"


def _phase(call: Call, phase: Phase, *, additive: bool) -> str:
    segment = call.group.segments[phase.segment]
    algorithm = call.method.algorithms[phase.segment]
    share = Fraction(phase.size) / call.size
    text = phase_in_words(phase.kind, segment, algorithm, additive=additive)
    of = text if share == 1 else text.replace("V", f"({share} V)")
    return f"{segment.name}: {of}"


def phase_in_words(
    kind: CallKind, segment: Segment, algorithm: Algorithm, *, additive: bool
) -> str:
    """The closed form on one segment."""
    n, on_line = segment.size, segment.kind is DimensionKind.LINE
    if kind is CollectiveKind.ALL_REDUCE:
        once = phase_in_words(CollectiveKind.ALL_GATHER, segment, algorithm, additive=additive)
        return f"2 ({once})"
    if kind is CollectiveKind.ALL_TO_ALL and on_line and additive:
        return f"max({_load(n)} + a, {n - 1}/{n * n} V/w + {n - 1}a)"
    if kind is not CollectiveKind.ALL_TO_ALL:
        bandwidth = _gather(n, algorithm)
    else:
        bandwidth = _load(n) if on_line else _exchange(n, algorithm)
    match algorithm:
        case Algorithm.BALANCED | Algorithm.WHOLE_SHARDS:
            latencies = n // 2
        case Algorithm.DIRECT:
            latencies = 1
        case _:
            latencies = n - 1
    text = _sum(bandwidth, latencies, additive=additive)
    return text if segment.stride == 1 else f"{segment.stride} ({text})"


def _sum(bandwidth: str, latencies: int, *, additive: bool) -> str:
    return f"{bandwidth} + {'' if latencies == 1 else latencies}a" if additive else bandwidth


def _relayed(hops: int, chunks: int, *, additive: bool) -> str:
    count = chunks + hops - 1
    share = "V/w" if count == chunks else f"{Fraction(count, chunks)} V/w"
    return _sum(share, hops, additive=additive)


def _shift_hops(up: int, n: int, kind: DimensionKind) -> int:
    if kind is DimensionKind.SWITCH:
        return 1
    return max(up, n - up) if kind is DimensionKind.LINE else min(up, n - up)


def book_in_words(kind: CallKind, segments: Sequence[Segment]) -> str:
    """The book's first-order formula.

    >>> from shardsim.catalogue import find_topology
    >>> from shardsim.mesh import lay_mesh
    >>> y = lay_mesh(find_topology("v5e:8x4")).axis("Y").segments
    >>> book_in_words(CollectiveKind.ALL_GATHER, y)
    'max(V/2w, 2a)'
    """
    wide = [segment for segment in segments if segment.size > 1]
    switches = [segment for segment in wide if segment.kind is DimensionKind.SWITCH]
    rings = [segment for segment in wide if segment.kind is not DimensionKind.SWITCH]
    if not wide:
        return "0"
    if switches and rings:
        return "the slower of the rings and the switches"
    twice = "2 " if kind is CollectiveKind.ALL_REDUCE else ""
    if switches:
        if kind is CollectiveKind.ALL_TO_ALL or isinstance(kind, TransferKind):
            text = f"V/{switches[0].size}w"
        else:
            text = "V/w"
        if len(switches) == 1:
            return f"{twice}{text}"
        return f"{twice}the slower tier's {text}, V spread over the chips nearer by"
    steps = sum((Fraction(ring.size, 2) for ring in rings), Fraction(0))
    latency = f"{steps}a" if steps.denominator == 1 else f"{steps} a"
    k = len(rings)
    match kind:
        case CollectiveKind.ALL_TO_ALL:
            return f"max(V/{8 * k}w, {latency})"
        case TransferKind():
            return f"max(V/{rings[0].size}w, {latency})"
        case _:
            return f"{twice}max(V/{2 * k}w, {latency})"


def _gather(n: int, algorithm: Algorithm) -> str:
    """The bandwidth term of AllGather and ReduceScatter."""
    match algorithm:
        case Algorithm.BALANCED | Algorithm.HALF_SHARDS:
            return f"{n - 1}/{n} V/2w"
        case Algorithm.WHOLE_SHARDS:
            return f"{n // 2}/{n} V/w"
        case _:
            return f"{n - 1}/{n} V/w"


def _exchange(n: int, algorithm: Algorithm) -> str:
    """The bandwidth term of AllToAll on a ring or at a switch."""
    if algorithm is Algorithm.DIRECT:
        return f"{n - 1}/{n * n} V/w"
    if algorithm is Algorithm.HALF_SHARDS:
        return f"{n - 1}/{n} V/4w"
    if algorithm in {Algorithm.ONE_DIRECTION, Algorithm.RING}:
        return f"{n - 1}/{n} V/2w"
    if n % 2:
        return f"{n * n - 1}/{n * n} V/8w"
    return "V/8w" if algorithm is Algorithm.BALANCED else f"{n + 2}/{n} V/8w"


def _load(n: int) -> str:
    """What the middle link of a line carries in an AllToAll."""
    return f"{(n // 2) * ((n + 1) // 2)}/{n * n} V/w"
