"""The book's first-order formulas, as a reader of the book would work them out, and as text.

They take every axis of a TPU as a wrapped ring with both directions (W = 2w), and the larger of
latency and bandwidth. Over k axes the bandwidth is k times as much and latencies add up. A GPU
behind a switch has W = w, without latency; between nodes each GPU moves its part of the data by its
own NIC. Source: "How to Scale Your Model", chapters "Sharded matrices" and "GPUs". Relation to the
simulation: V/W is an UPPER BOUND of the balanced ring with zero latency, and no bound on a line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.units import Bytes, Seconds
from shardsim.vocabulary import CallKind, CollectiveKind, DimensionKind, TransferKind

if TYPE_CHECKING:
    from shardsim.mesh import Segment

__all__ = ["book_in_words", "book_seconds"]


def book_seconds(kind: CallKind, size: Bytes, segments: Sequence[Segment]) -> Seconds:
    """The book's time of one collective.

    - AllGather, ReduceScatter: max(N/2 a, V/W); over k rings W is k times as much, and N/2 the sum
      of all. AllReduce: twice that. At a switch: V/w, without latency.
    - AllToAll: max(N/2 a, V/4W) on a ring, V max(N_i)/4NW over several with N chips; V/Nw at a
      switch.
    - Gather: (N-1)/N V over the links of a corner: one of each line, two of each ring.
    - Permute: max(a, V/Nw). Send: V/w + (N-1) a along N chips.

    Args:
        kind: Which collective.
        size: V, bytes as one group sees the array (see `cost.exact`).
        segments: The rings, lines and switches; none, or of one chip, cost nothing.

    >>> from shardsim.catalogue import find_topology
    >>> from shardsim.mesh import lay_mesh
    >>> y = lay_mesh(find_topology("v5e:8x4")).axis("Y").segments
    >>> float(book_seconds(CollectiveKind.ALL_GATHER, Fraction(33554432), y))
    0.000372827022222...
    """
    wide = [segment for segment in segments if segment.size > 1]
    if not wide:
        return Fraction(0)
    switches = [segment for segment in wide if segment.kind is DimensionKind.SWITCH]
    rings = [segment for segment in wide if segment.kind is not DimensionKind.SWITCH]
    times = []
    if rings:
        outside = math.prod(segment.size for segment in switches)
        times.append(_on_rings(kind, Fraction(size), rings, outside))
    for switch in switches:
        nearer = math.prod(segment.size for segment in _nearer(wide, switch))
        total = math.prod(segment.size for segment in wide)
        times.append(_at_switch(kind, Fraction(size), switch, nearer, total))
    factor = 2 if kind is CollectiveKind.ALL_REDUCE else 1
    return factor * max(times)


def _nearer(segments: Sequence[Segment], switch: Segment) -> list[Segment]:
    """Those with faster links; of equal ones those after it."""
    rate, at = switch.link.one_way_bandwidth, segments.index(switch)
    return [
        segment
        for index, segment in enumerate(segments)
        if (segment.link.one_way_bandwidth, index) > (rate, at)
    ]


def _on_rings(kind: CallKind, size: Bytes, rings: Sequence[Segment], outside: int) -> Seconds:
    """`outside`: how many such groups of rings the data is spread over."""
    latency = sum((Fraction(ring.size, 2) * ring.link.latency for ring in rings), Fraction(0))
    rate = sum((ring.link.bidirectional_bandwidth for ring in rings), Fraction(0))
    count = math.prod(ring.size for ring in rings)
    one_way, hop = rings[0].link.one_way_bandwidth, rings[0].link.latency
    match kind:
        case CollectiveKind.ALL_TO_ALL:
            share = size / outside / (4 * count)
            slowest = max(ring.size / ring.link.bidirectional_bandwidth for ring in rings)
            return max(latency, share * slowest)
        case TransferKind.GATHER:
            corner = sum((_ways(ring) * ring.link.one_way_bandwidth for ring in rings), Fraction(0))
            return size * (count - 1) / count / corner
        case TransferKind.PERMUTE:
            return max(hop, size / count / one_way)
        case TransferKind.SEND:
            return size / one_way + (count - 1) * hop
        case _:
            return max(latency, size / rate)


def _ways(ring: Segment) -> int:
    return 2 if ring.kind is DimensionKind.RING else 1


def _at_switch(kind: CallKind, size: Bytes, switch: Segment, nearer: int, total: int) -> Seconds:
    """V/w; what `nearer` chips next to each other share goes by all their ports."""
    rate, n = switch.link.one_way_bandwidth, switch.size
    match kind:
        case CollectiveKind.ALL_TO_ALL:
            return size / total / rate
        case TransferKind.GATHER:
            return size * (n - 1) / n / nearer / rate
        case TransferKind.PERMUTE:
            return size / n / rate
        case _:
            return size / nearer / rate


def book_in_words(kind: CallKind, segments: Sequence[Segment]) -> str:
    """The same as text.

    >>> from shardsim.catalogue import find_topology
    >>> from shardsim.mesh import lay_mesh
    >>> y = lay_mesh(find_topology("v5e:8x4")).axis("Y").segments
    >>> book_in_words(CollectiveKind.ALL_GATHER, y)
    'max(V/2w, 2a)'
    """
    wide = [segment for segment in segments if segment.size > 1]
    switches = [segment for segment in wide if segment.kind is DimensionKind.SWITCH]
    if not wide:
        return "0"
    if switches and len(switches) < len(wide):
        return "the slower of the rings and the switches"
    twice = "2 " if kind is CollectiveKind.ALL_REDUCE else ""
    if switches:
        text = _switch_in_words(kind, math.prod(segment.size for segment in wide))
        several = len(switches) > 1
        tiers = ", w of the slower tier" if several else ""
        if several and isinstance(kind, CollectiveKind) and kind is not CollectiveKind.ALL_TO_ALL:
            tiers += ", V spread over the chips nearer by"
        return f"{twice}{text}{tiers}"
    return f"{twice}{_rings_in_words(kind, wide)}"


def _switch_in_words(kind: CallKind, n: int) -> str:
    match kind:
        case CollectiveKind.ALL_TO_ALL | TransferKind.PERMUTE:
            return f"V/{n}w"
        case TransferKind.GATHER:
            return f"{n - 1}/{n} V/w"
        case _:
            return "V/w"


def _rings_in_words(kind: CallKind, rings: Sequence[Segment]) -> str:
    steps = sum((Fraction(ring.size, 2) for ring in rings), Fraction(0))
    latency = f"{steps}a" if steps.denominator == 1 else f"{steps} a"
    count = math.prod(ring.size for ring in rings)
    match kind:
        case CollectiveKind.ALL_TO_ALL:
            return f"max(V/{8 * count // max(ring.size for ring in rings)}w, {latency})"
        case TransferKind.GATHER:
            links = sum(_ways(ring) for ring in rings)
            return f"{count - 1}/{count} V/{'' if links == 1 else links}w"
        case TransferKind.PERMUTE:
            return f"max(V/{count}w, a)"
        case TransferKind.SEND:
            return f"V/w + {'' if count == 2 else count - 1}a"
        case _:
            return f"max(V/{2 * len(rings)}w, {latency})"
