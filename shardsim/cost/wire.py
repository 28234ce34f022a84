"""Bytes on the wire: how much leaves the busiest chip, forwarded bytes included."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.cost.exact import both_ways
from shardsim.cost.permute import permute_bytes
from shardsim.cost.phases import Phase, phases
from shardsim.hardware import Link
from shardsim.units import Bytes
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    DimensionKind,
    LatencyModel,
    TransferKind,
)

if TYPE_CHECKING:
    from shardsim.call import Call
    from shardsim.mesh import Segment

UNIT = Link(Fraction(1), Fraction(0))

__all__ = ["phase_bytes", "step_bytes", "wire_bytes"]


def wire_bytes(call: Call) -> Bytes:
    """Bytes that leave the busiest chip in one call.

    The sum over its phases, see `phase_bytes`. In the network: every chip sends its part of all
    sums, and the sums that it owns: (N+1)/N V. Permute: V/N, times the hops of the longest way.

    Relation to the simulation: EQUAL (the largest sum over a chip's links). An UPPER BOUND where
    one chip need not be the busiest in every phase: a gather over several segments or over shared
    links, several segments of which one has steps over shared links, and lines whose steps are not
    all alike.
    """
    segments = call.group.segments
    if not segments or call.group.size == 1:
        return Fraction(0)
    if call.permutation is not None:
        return permute_bytes(call, call.permutation)
    n = segments[0].size
    if Algorithm.IN_NETWORK in call.method.algorithms:
        return call.size * (n + 1) / n
    if Algorithm.REDUCE_BROADCAST in call.method.algorithms:
        shared = segments[0].leaving or ((1, 1) if n > 2 else (1, 0),)
        return call.size * max(sum(ways) for ways in shared) * segments[0].stride
    if call.kind is TransferKind.SEND:
        through = max((ups for ups, _ in segments[0].leaving), default=segments[0].stride)
        return call.size * through
    if call.kind is TransferKind.PERMUTE:
        shift = call.shift % n
        on_line = segments[0].kind is DimensionKind.LINE
        if shift and (segments[0].leaving or (on_line and segments[0].stride > 1)):
            away = shift if 2 * shift <= n else shift - n
            return call.size / n * call.group.most_leaving(0, away)
        return call.size / n * _passed_on(shift, segments[0])
    total = Fraction(0)
    for phase in phases(call):
        segment = segments[phase.segment]
        algorithm = call.method.algorithms[phase.segment]
        if phase.kind is TransferKind.GATHER:
            total += _gathered(call, phase)
        elif segment.leaving:
            total += _shared(phase, segment, algorithm)
        else:
            total += phase_bytes(phase.kind, phase.size, segment, algorithm)
    return total


def _shared(phase: Phase, segment: Segment, algorithm: Algorithm) -> Bytes:
    """Each link that leaves the chip as busy as the busiest step."""
    high, low = step_bytes(phase.kind, phase.size, segment, algorithm)
    return max(high * ups + low * downs for ups, downs in segment.leaving)


def _gathered(call: Call, phase: Phase) -> Bytes:
    """Gather: what the chip next to the root sends; an UPPER BOUND where steps share links."""
    segment = call.group.segments[phase.segment]
    algorithm = call.method.algorithms[phase.segment]
    if segment.leaving:
        return _shared(phase, segment, algorithm)
    root = call.group.root_place(call.root)[phase.segment]
    return _to_root(phase.size, segment, algorithm, root) * segment.congestion


def _passed_on(shift: int, segment: Segment) -> int:
    """Permute: the most blocks that leave one chip, its own and those that others send through it.

    On a line blocks go up from the lower chips and down, over all chips between, from the upper.
    """
    n, least = segment.size, min(shift, segment.size - shift)
    match segment.kind:
        case DimensionKind.SWITCH:
            return 1 if shift else 0
        case DimensionKind.RING:
            return least * segment.stride
        case DimensionKind.LINE:
            return min(2 * least, n - 1) * segment.stride


def phase_bytes(kind: CallKind, size: Bytes, segment: Segment, algorithm: Algorithm) -> Bytes:
    """Bytes that leave the busiest chip in one phase of V = `size` bytes.

    Where a step takes s hops, over links that s groups share, a chip also passes on what s - 1
    steps of other groups carry: on a ring as much as its own, on a line N blocks both ways together
    (AllToAll: twice the middle step's).

    - AllGather, ReduceScatter on a ring or at a switch: (N-1)/N V, by any algorithm.
    - AllGather on a line: an inner chip sends its own block both ways, the others on: (N+1)/N V.
    - ReduceScatter on a line: (N-1)/N V.
    - AllReduce: the two together (as two phases).
    - AllToAll, balanced or whole_shards: V/4 (N odd: (1-1/N^2) V/4); half_shards, one_direction and
      ring: (N-1)/N V/2; direct: (N-1)/N^2 V; on a line the middle chip sends floor(N^2/2) blocks,
      one less if N is even.
    """
    n = segment.size
    if n == 1:
        return Fraction(0)
    block = Fraction(size) / n
    on_line = segment.kind is DimensionKind.LINE
    match kind:
        case CollectiveKind.ALL_GATHER:
            own, passed = block * (n + 1 if on_line and n > 2 else n - 1), block * n
        case CollectiveKind.ALL_TO_ALL:
            own = _exchanged(block / n, n, algorithm)
            passed = 2 * block / n * (n // 2) * ((n + 1) // 2)
        case _:
            own, passed = block * (n - 1), block * n
    return own + (segment.stride - 1) * (passed if on_line else own)


def _to_root(size: Bytes, segment: Segment, algorithm: Algorithm, root: int) -> Bytes:
    """Gather: what the chip next to the root sends, its own block and all from behind it."""
    n = segment.size
    block = Fraction(size) / n
    if segment.kind is DimensionKind.LINE:
        return block * max(root, n - 1 - root)
    match algorithm:
        case Algorithm.DIRECT:
            return block
        case Algorithm.ONE_DIRECTION | Algorithm.RING:
            return block * (n - 1)
        case Algorithm.HALF_SHARDS:
            return block * n / 2
        case Algorithm.WHOLE_SHARDS:
            return block * (n // 2)
        case _:
            return block * max(Fraction(1), Fraction(n - 1, 2))


def _exchanged(block: Bytes, n: int, algorithm: Algorithm) -> Bytes:
    match algorithm:
        case Algorithm.BALANCED | Algorithm.WHOLE_SHARDS:
            return block * (n * n - n % 2) / 4
        case Algorithm.HALF_SHARDS | Algorithm.ONE_DIRECTION | Algorithm.RING:
            return block * n * (n - 1) / 2
        case Algorithm.DIRECT:
            return block * (n - 1)
        case _:
            return block * (n * n // 2 - (1 if n % 2 == 0 else 0))


def step_bytes(
    kind: CallKind, size: Bytes, segment: Segment, algorithm: Algorithm
) -> tuple[Bytes, Bytes]:
    """Bytes that the busiest step up, and the busiest step down, of one phase carries.

    They keep their link busy without a gap where latency is nothing, so they are the closed form's
    bandwidth term at 1 byte/s.
    """
    up, down = both_ways(kind, size, segment.size, UNIT, algorithm, LatencyModel.ADDITIVE)
    return up.bandwidth, down.bandwidth
