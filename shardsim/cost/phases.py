"""What a call comes to segment by segment: which phases, on how many bytes, in which order.

A collective over several segments goes from one to the next in phases. In an AllGather each phase
gathers what the phases before it have gathered, so V grows by the segment's size; ReduceScatter
goes backwards; AllToAll exchanges the whole of a chip's data in every phase.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.units import Bytes
from shardsim.vocabulary import CallKind, CollectiveKind

if TYPE_CHECKING:
    from shardsim.call import Call

__all__ = ["Phase", "phases"]


@dataclass(frozen=True, slots=True)
class Phase:
    """One stream's work on one segment.

    Attributes:
        number: Its place in the stream.
        job: The stream's (and chunk's) place among all; links serve phases by (number, job).
        segment: Which segment of the group.
        kind: What it does there; the halves of AllReduce are phases of their own.
        size: V of the phase in bytes, as the chips along the segment see it.
    """

    number: int
    job: int
    segment: int
    kind: CallKind
    size: Bytes


def phases(call: Call) -> list[Phase]:
    """The phases of a call, in the order in which links serve them."""
    sizes = [segment.size for segment in call.group.segments]
    total = math.prod(sizes)
    found = []
    for job, (order, (low, high)) in enumerate(call.method.jobs()):
        share = call.size * (high - low)
        for number, (kind, position) in enumerate(_work(call.kind, len(order))):
            segment = order[position]
            if kind is CollectiveKind.ALL_TO_ALL:
                size = share * sizes[segment] / total
            else:
                gathered = math.prod(sizes[earlier] for earlier in order[: position + 1])
                size = share * Fraction(gathered, total)
            found.append(Phase(number, job, segment, kind, size))
    return sorted(found, key=lambda phase: (phase.number, phase.job))


def _work(kind: CallKind, count: int) -> list[tuple[CallKind, int]]:
    """Kind and place in the order of each phase."""
    scatter: list[tuple[CallKind, int]] = [
        (CollectiveKind.REDUCE_SCATTER, at) for at in reversed(range(count))
    ]
    gather: list[tuple[CallKind, int]] = [(CollectiveKind.ALL_GATHER, at) for at in range(count)]
    match kind:
        case CollectiveKind.REDUCE_SCATTER:
            return scatter
        case CollectiveKind.ALL_REDUCE:
            return scatter + gather
        case _:
            return [(kind, at) for _, at in gather]
