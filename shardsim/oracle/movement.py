"""Runs a collective's step program on real numbers, one group of chips at a time.

Blocks that a chip does not have yet are filled with rubbish, so a program that sends a block before
it has arrived gives a wrong answer instead of a lucky one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from shardsim.collectives import Action
from shardsim.errors import SimulationError
from shardsim.vocabulary import CollectiveKind, DimensionKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shardsim.collectives import Piece, StepProgram
    from shardsim.planner.steps import CollectiveStep

__all__ = ["Turn", "run_collective"]

RUBBISH = 1_000_003

Block = tuple[int, ...]
Blocks = dict[Block, "NDArray[Any]"]
Turn = tuple[int, int]
"""A position and a direction."""


def run_collective(
    step: CollectiveStep,
    locals_: list[NDArray[Any]],
    programs: list[StepProgram],
    pick: Callable[[Sequence[Turn]], Turn] | None = None,
) -> list[NDArray[Any]]:
    """What each chip of a group holds afterwards.

    Args:
        step: The collective.
        locals_: What each chip of the group holds before, by position.
        programs: Each chip's step program, by position.
        pick: Chooses which of the (position, direction) that may send goes next; by default the
            first. The answer must not depend on it.

    Raises:
        SimulationError: no chip may send, and not all is sent.
    """
    blocks = [_cut(step, position, array) for position, array in enumerate(locals_)]
    _exchange(step, blocks, programs, pick or (lambda ready: ready[0]))
    return [
        _join(step, position, blocks[position], array) for position, array in enumerate(locals_)
    ]


def _exchange(
    step: CollectiveStep,
    blocks: list[Blocks],
    programs: list[StepProgram],
    pick: Callable[[Sequence[Turn]], Turn],
) -> None:
    size = step.axis.size
    sent = {(at, lane.direction): 0 for at in range(size) for lane in programs[at].lanes}
    arrived = {(at, direction): 0 for at in range(size) for direction in (+1, -1)}
    while True:
        left = [key for key in sent if sent[key] < len(programs[key[0]].sends(key[1]))]
        if not left:
            return
        ready = [
            (at, direction)
            for at, direction in left
            if all(
                arrived[at, need.direction] >= need.count
                for need in programs[at].sends(direction)[sent[at, direction]].needs
            )
        ]
        if not ready:
            raise SimulationError(f"deadlock in {step.text}: {len(left)} lanes wait for each other")
        at, direction = pick(ready)
        send = programs[at].sends(direction)[sent[at, direction]]
        there = at + direction
        if step.axis.kind is DimensionKind.RING:
            there %= size
        for piece in send.pieces:
            _move(piece, blocks[at], blocks[there], at, size, send.action)
        sent[at, direction] += 1
        arrived[there, direction] += 1


def _move(piece: Piece, here: Blocks, there: Blocks, at: int, size: int, action: Action) -> None:
    block = tuple((at + index) % size for index in piece.block)
    length = here[block].size
    low, high = (math.floor(bound * length) for bound in piece.share)
    if action is Action.STORE:
        there[block][low:high] = here[block][low:high]
    else:
        there[block][low:high] += here[block][low:high]


def _rubbish(size: int, like: NDArray[Any]) -> NDArray[Any]:
    return np.full(size, RUBBISH, like.dtype)


def _dim(step: CollectiveStep, name: str) -> int:
    return step.operand.sharded.array.dim_names.index(name)


def _leaving(step: CollectiveStep) -> int:
    """The dimension that the axis leaves (AllGather, AllToAll)."""
    dims = step.operand.sharded.array.dims
    return next(index for index, dim in enumerate(dims) if step.axis.name in dim.axes)


def _flat(parts: list[NDArray[Any]]) -> list[NDArray[Any]]:
    return [np.array(part).reshape(-1) for part in parts]


def _cut(step: CollectiveStep, position: int, array: NDArray[Any]) -> Blocks:
    """A chip's blocks at the start."""
    size = step.axis.size
    match step.kind:
        case CollectiveKind.ALL_GATHER:
            blocks: Blocks = {(at,): _rubbish(array.size, array) for at in range(size)}
            blocks[position,] = array.reshape(-1).copy()
            return blocks
        case CollectiveKind.REDUCE_SCATTER:
            assert step.dim is not None
            parts = _flat(np.split(array, size, axis=_dim(step, step.dim)))
            return {(at,): part for at, part in enumerate(parts)}
        case CollectiveKind.ALL_REDUCE:
            bounds = [array.size * at // size for at in range(1, size)]
            parts = _flat(np.split(array.reshape(-1), bounds))
            return {(at,): part for at, part in enumerate(parts)}
        case CollectiveKind.ALL_TO_ALL:
            assert step.dim is not None
            parts = _flat(np.split(array, size, axis=_dim(step, step.dim)))
            blocks = {
                (origin, to): _rubbish(parts[0].size, array)
                for origin in range(size)
                for to in range(size)
            }
            blocks.update({(position, to): part for to, part in enumerate(parts)})
            return blocks


def _join(
    step: CollectiveStep, position: int, blocks: Blocks, before: NDArray[Any]
) -> NDArray[Any]:
    """What a chip holds at the end, from its blocks."""
    size = step.axis.size
    shape = step.result.sharded.local_shape
    match step.kind:
        case CollectiveKind.ALL_GATHER:
            parts = [blocks[at,].reshape(before.shape) for at in range(size)]
            return np.concatenate(parts, axis=_leaving(step))
        case CollectiveKind.REDUCE_SCATTER:
            return blocks[position,].reshape(shape)
        case CollectiveKind.ALL_REDUCE:
            return np.concatenate([blocks[at,] for at in range(size)]).reshape(shape)
        case CollectiveKind.ALL_TO_ALL:
            assert step.dim is not None
            cut = list(before.shape)
            cut[_dim(step, step.dim)] //= size
            parts = [blocks[at, position].reshape(cut) for at in range(size)]
            return np.concatenate(parts, axis=_leaving(step))
