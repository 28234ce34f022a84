"""Collectives as step programs: hops, and no formulas.

Each collective is written once, from the point of view of one chip. The engine reads the sizes and
the needs, the oracle the pieces, the exporter the names. Nothing here knows a bandwidth or a
latency.

>>> from shardsim.vocabulary import Algorithm, CollectiveKind, DimensionKind
>>> program = step_program(
...     CollectiveKind.ALL_GATHER, Algorithm.BALANCED, DimensionKind.RING, size=4, position=0
... )
>>> [str(send.size) for send in program.sends(+1)]
['1', '1/2']
"""

from __future__ import annotations

from functools import lru_cache

from shardsim.collectives.line import line_lanes
from shardsim.collectives.ring import ring_lanes
from shardsim.collectives.steps import Action, Lane, Need, Piece, Send, StepProgram
from shardsim.errors import PlanError
from shardsim.vocabulary import Algorithm, CollectiveKind, DimensionKind

__all__ = [
    "Action",
    "Lane",
    "Need",
    "Piece",
    "Send",
    "StepProgram",
    "choose_algorithm",
    "step_program",
]


def choose_algorithm(wanted: Algorithm | None, kind: DimensionKind) -> Algorithm:
    """The algorithm to use on a dimension; by default `balanced` on a ring, `line` on a line.

    Raises:
        PlanError: `line` is asked for on a ring. Ring algorithms asked for on a line become `line`,
            since there is no other.
    """
    if kind is DimensionKind.LINE:
        return Algorithm.LINE
    if wanted is Algorithm.LINE:
        raise PlanError(
            "algorithm line needs a dimension without a wraparound link; this one is a ring",
            "choose balanced, whole_shards, half_shards or one_direction",
        )
    return wanted or Algorithm.BALANCED


@lru_cache(maxsize=4096)
def step_program(
    kind: CollectiveKind,
    algorithm: Algorithm,
    dimension: DimensionKind,
    *,
    size: int,
    position: int,
) -> StepProgram:
    """What the chip at `position` does in a collective over `size` chips of one dimension.

    AllReduce is ReduceScatter, then AllGather: a chip starts the second when everything of the
    first has arrived. A single chip does nothing.
    """
    blocks = size * size if kind is CollectiveKind.ALL_TO_ALL else size
    if kind is CollectiveKind.ALL_REDUCE:
        first = step_program(
            CollectiveKind.REDUCE_SCATTER, algorithm, dimension, size=size, position=position
        )
        second = step_program(
            CollectiveKind.ALL_GATHER, algorithm, dimension, size=size, position=position
        )
        return _in_sequence(first, second)
    lanes = _lanes(kind, algorithm, dimension, size, position)
    receives = []
    for direction in (+1, -1):
        behind = position - direction
        if dimension is DimensionKind.RING:
            behind %= size
        elif not 0 <= behind < size:
            continue
        there = _lanes(kind, algorithm, dimension, size, behind)
        count = sum(len(lane.sends) for lane in there if lane.direction == direction)
        if count:
            receives.append(Need(direction, count))
    return StepProgram(lanes, tuple(receives), blocks)


def _lanes(
    kind: CollectiveKind, algorithm: Algorithm, dimension: DimensionKind, size: int, position: int
) -> tuple[Lane, ...]:
    if size == 1:
        return ()
    if dimension is DimensionKind.RING:
        return ring_lanes(kind, algorithm, size)
    return line_lanes(kind, size, position)


def _in_sequence(first: StepProgram, second: StepProgram) -> StepProgram:
    """The second program's sends wait for all that arrives in the first."""
    lanes = []
    for direction in (+1, -1):
        later = tuple(
            Send(send.pieces, send.action, _shifted(send.needs, first.receives))
            for send in second.sends(direction)
        )
        sends = first.sends(direction) + later
        if sends:
            lanes.append(Lane(direction, sends))
    receives = tuple(
        Need(direction, first.arriving(direction) + second.arriving(direction))
        for direction in (+1, -1)
        if first.arriving(direction) + second.arriving(direction)
    )
    return StepProgram(tuple(lanes), receives, first.blocks)


def _shifted(needs: tuple[Need, ...], received: tuple[Need, ...]) -> tuple[Need, ...]:
    counts = {need.direction: need.count for need in received}
    for need in needs:
        counts[need.direction] = counts.get(need.direction, 0) + need.count
    return tuple(Need(direction, count) for direction, count in counts.items())
