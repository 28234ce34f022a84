"""The closed forms as text, so that a price can be read: `2 (3/4 V/w + 3a)`.

V is bytes as one group sees the array, w one-way bytes/s of one link, a the latency of one link. A
test evaluates the texts and holds them equal to the formulas.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.cost.permute import permute_in_words
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
    from shardsim.call import Call
    from shardsim.mesh import Segment

__all__ = ["exact_in_words", "phase_in_words"]


def exact_in_words(call: Call, latency_model: LatencyModel) -> str:
    """The closed form of a call."""
    if call.permutation is None:
        text = _form(call, latency_model)
    else:
        additive = latency_model is LatencyModel.ADDITIVE
        text = permute_in_words(call, call.permutation, additive=additive)
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
        return _in_network(n, method.chunks, additive=additive)
    if algorithm is Algorithm.REDUCE_BROADCAST:
        return _relayed(2 * (n // 2) * segment.stride, method.chunks, additive=additive)
    if call.kind is TransferKind.SEND:
        return _relayed((n - 1) * segment.stride, method.chunks, additive=additive)
    if call.kind is TransferKind.PERMUTE:
        hops = _shift_hops(call.shift % n, n, segment.kind) * segment.stride
        return _sum(f"{hops}/{n} V/w", hops, additive=additive) if hops else "0"
    in_one = len(segments) == 1 and method.chunks == 1
    if relation(call, latency_model) is Relation.LOWER_BOUND and not (
        in_one and segment.is_physical
    ):
        return (
            "bytes of the busiest link / its w + a" if additive else "bytes of the busiest link/w"
        )
    if in_one:
        return _of_one(call, segment, algorithm, additive=additive)
    return _of_phases(call, additive=additive)


def _of_one(call: Call, segment: Segment, algorithm: Algorithm, *, additive: bool) -> str:
    """One segment, one chunk; in a Gather on an even ring the opposite chip's halves come last."""
    if call.kind is not TransferKind.GATHER:
        return phase_in_words(call.kind, segment, algorithm, additive=additive)
    n, half = segment.size, segment.size // 2
    if algorithm is Algorithm.BALANCED and n % 2 == 0 and n > 2 and additive:
        queue = _sum(f"{n - 1}/{n} V/2w", half - 1, additive=additive)
        return f"max({queue}, {_sum('1/4 V/w', half, additive=additive)})"
    root = call.group.root_place(call.root)[0]
    return phase_in_words(call.kind, segment, algorithm, additive=additive, root=root)


def _of_phases(call: Call, *, additive: bool) -> str:
    """The phases of one stream in a row; several streams and chunks are the longest chain."""
    segments, method = call.group.segments, call.method
    first = [phase for phase in phases(call) if phase.job == 0]
    alike = len({(s.size, s.kind, s.link) for s in segments}) == 1
    to_one_on_lines = call.kind is TransferKind.GATHER and segments[0].kind is DimensionKind.LINE
    ways = _WAYS.get(method.algorithms[0])
    if (
        method.schedule is Schedule.ROTATED
        and alike
        and method.chunks == 1
        and call.kind is not CollectiveKind.ALL_TO_ALL
        and not to_one_on_lines
        and ways is not None
    ):
        total, k = call.group.size, len(segments)
        steps = k * _latencies(segments[0].size, method.algorithms[0])
        once = _sum(f"{total - 1}/{total} V/{ways * k}w", steps, additive=additive)
        return f"2 ({once})" if call.kind is CollectiveKind.ALL_REDUCE else once
    chain = " then ".join(_phase(call, phase, additive=additive) for phase in first)
    jobs = len(list(method.jobs()))
    return chain if jobs == 1 else f"longest chain of {jobs} streams, the first: {chain}"


def _phase(call: Call, phase: Phase, *, additive: bool) -> str:
    segment = call.group.segments[phase.segment]
    algorithm = call.method.algorithms[phase.segment]
    share = Fraction(phase.size) / call.size
    root = 0
    if call.kind is TransferKind.GATHER:
        root = call.group.root_place(call.root)[phase.segment]
    text = phase_in_words(phase.kind, segment, algorithm, additive=additive, root=root)
    of = text if share == 1 else text.replace("V", f"({share} V)")
    return f"{segment.name}: {of}"


def phase_in_words(
    kind: CallKind, segment: Segment, algorithm: Algorithm, *, additive: bool, root: int = 0
) -> str:
    """The closed form on one segment; `root`: where the chip that gathers stands on a line."""
    n, on_line = segment.size, segment.kind is DimensionKind.LINE
    if kind is CollectiveKind.ALL_REDUCE:
        once = phase_in_words(CollectiveKind.ALL_GATHER, segment, algorithm, additive=additive)
        return f"2 ({once})"
    if kind is CollectiveKind.ALL_TO_ALL and on_line and additive:
        return f"max({_load(n)} + a, {n - 1}/{n * n} V/w + {n - 1}a)"
    if kind is TransferKind.GATHER and on_line:
        hops = max(root, n - 1 - root)
        return _sum(f"{hops}/{n} V/w", hops, additive=additive)
    if kind is not CollectiveKind.ALL_TO_ALL:
        bandwidth = _gather(n, algorithm)
    else:
        bandwidth = _load(n) if on_line else _exchange(n, algorithm)
    text = _sum(bandwidth, _latencies(n, algorithm), additive=additive)
    return text if segment.stride == 1 else f"{segment.stride} ({text})"


_WAYS = {
    Algorithm.BALANCED: 2,
    Algorithm.HALF_SHARDS: 2,
    Algorithm.ONE_DIRECTION: 1,
    Algorithm.LINE: 1,
    Algorithm.DIRECT: 1,
    Algorithm.RING: 1,
}
"""Links of a segment that an AllGather loads alike; not all are, where shards stay whole."""


def _latencies(n: int, algorithm: Algorithm) -> int:
    match algorithm:
        case Algorithm.BALANCED | Algorithm.WHOLE_SHARDS:
            return n // 2
        case Algorithm.DIRECT:
            return 1
        case _:
            return n - 1


def _sum(bandwidth: str, latencies: int, *, additive: bool) -> str:
    return f"{bandwidth} + {'' if latencies == 1 else latencies}a" if additive else bandwidth


def _in_network(n: int, chunks: int, *, additive: bool) -> str:
    """A port in with all its copies, or the last sum after all parts."""
    at_port = Fraction((n + 1) * chunks + 1, n * chunks)
    last = Fraction(n * chunks + 3, n * chunks)
    if not additive:
        return f"{max(at_port, last)} V/w"
    return f"max({at_port} V/w + a, {last} V/w + 2a)"


def _relayed(hops: int, chunks: int, *, additive: bool) -> str:
    count = chunks + hops - 1
    share = "V/w" if count == chunks else f"{Fraction(count, chunks)} V/w"
    return _sum(share, hops, additive=additive)


def _shift_hops(up: int, n: int, kind: DimensionKind) -> int:
    if up == 0 or kind is DimensionKind.SWITCH:
        return min(up, 1)
    return max(up, n - up) if kind is DimensionKind.LINE else min(up, n - up)


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
