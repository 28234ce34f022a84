"""The book's first-order formulas, as a reader of the book would work them out.

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
from shardsim.vocabulary import CallKind, CollectiveKind, DimensionKind

if TYPE_CHECKING:
    from shardsim.mesh import Segment

__all__ = ["book_seconds"]


def book_seconds(kind: CallKind, size: Bytes, segments: Sequence[Segment]) -> Seconds:
    """The book's time of one collective.

    AllGather and ReduceScatter: max(N/2 a, V/W). AllReduce: twice that. AllToAll: max(N/2 a, V/4W)
    on rings, V/NW at a switch. Over k rings: W is k times as much, and N/2 is the sum of all. Other
    transfers: V/N over one link.

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
    times = [Fraction(0)]
    if rings:
        outside = math.prod(segment.size for segment in switches)
        times.append(_on_rings(kind, Fraction(size), rings, outside))
    for switch in switches:
        inside = math.prod(segment.size for segment in wide) // switch.size
        nearer = wide[wide.index(switch) + 1 :]
        spread = math.prod(segment.size for segment in nearer)
        times.append(_at_switch(kind, Fraction(size), switch, spread, inside))
    factor = 2 if kind is CollectiveKind.ALL_REDUCE else 1
    return factor * max(times)


def _on_rings(kind: CallKind, size: Bytes, rings: Sequence[Segment], outside: int) -> Seconds:
    latency = sum((Fraction(ring.size, 2) * ring.link.latency for ring in rings), Fraction(0))
    rate = sum((ring.link.bidirectional_bandwidth for ring in rings), Fraction(0))
    count = math.prod(ring.size for ring in rings)
    match kind:
        case CollectiveKind.ALL_TO_ALL:
            bandwidth = size / outside / 4 / rate
        case CollectiveKind.ALL_GATHER | CollectiveKind.REDUCE_SCATTER | CollectiveKind.ALL_REDUCE:
            bandwidth = size / rate
        case _:
            bandwidth = size / count / rings[0].link.one_way_bandwidth
    return max(latency, bandwidth)


def _at_switch(kind: CallKind, size: Bytes, switch: Segment, spread: int, others: int) -> Seconds:
    """V/W; what `spread` chips next to each other share goes by all their ports."""
    rate = switch.link.one_way_bandwidth
    match kind:
        case CollectiveKind.ALL_TO_ALL:
            return size / (switch.size * others) / rate
        case CollectiveKind.ALL_GATHER | CollectiveKind.REDUCE_SCATTER | CollectiveKind.ALL_REDUCE:
            return size / spread / rate
        case _:
            return size / switch.size / rate
