"""Runs a collective's step program on real numbers, one group of chips at a time.

Blocks that a chip does not have yet are filled with rubbish, so a program that sends a block before
it has arrived gives a wrong answer instead of a lucky one. A switch that adds begins with zeros.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from shardsim.collectives import Action, has_switch_program, program_of
from shardsim.errors import SimulationError
from shardsim.vocabulary import CollectiveKind, TransferKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from shardsim.call import Call
    from shardsim.collectives import Channel, Piece
    from shardsim.collectives.attached import Attached, Work
    from shardsim.planner.steps import CollectiveStep
    from shardsim.topology import Coordinate

__all__ = ["RUBBISH", "Blocks", "CoreWork", "Turn", "exchange", "run_collective", "within"]

RUBBISH = 1_000_003

Block = tuple[int, ...]
"""The place of a block's owner along each segment; AllToAll: from whom, then to whom."""

Blocks = dict[Block, "NDArray[Any]"]
Turn = tuple["Coordinate", "Channel | None"]
"""A chip (or a switch) and one of its lanes; None: its core."""


def run_collective(
    step: CollectiveStep,
    members: Sequence[Coordinate],
    shards: Mapping[Coordinate, NDArray[Any]],
    pick: Callable[[Sequence[Turn]], Turn] | None = None,
) -> dict[Coordinate, NDArray[Any]]:
    """What each chip of one group holds afterwards.

    Args:
        step: The collective.
        members: The chips of the group.
        shards: What each holds before.
        pick: Chooses which of the lanes that may send goes next; by default the first. The answer
            must not depend on it.

    Raises:
        SimulationError: no lane may send, and not all is sent.
    """
    blocks = {chip: _cut(step, chip, members, shards[chip]) for chip in members}
    exchange(step.call, members, blocks, pick)
    return {chip: _join(step, chip, members, blocks[chip], shards[chip]) for chip in members}


class CoreWork(Protocol):
    """What the core of a chip does between the messages of a call."""

    attached: Attached

    def do(self, work: Work) -> None:
        """Does one part of the matmul, on the blocks as they are now."""


def exchange(
    call: Call,
    members: Sequence[Coordinate],
    blocks: dict[Coordinate, Blocks],
    pick: Callable[[Sequence[Turn]], Turn] | None = None,
    cores: Mapping[Coordinate, CoreWork] | None = None,
) -> None:
    """Sends all messages of a call in one group; `blocks` of each chip change in place.

    Args:
        call: The collective.
        members: The chips of the group.
        blocks: What each chip has.
        pick: See `run_collective`.
        cores: The matmul that is done together with it, if one is.

    Raises:
        SimulationError: no lane may send, and not all is sent.
    """
    choose = pick or (lambda ready: ready[0])
    group = call.group
    parties = list(members)
    if has_switch_program(call.method):
        parties.append(group.hub(members[0]))
        blocks[parties[-1]] = {
            block: np.zeros_like(array) for block, array in blocks[members[0]].items()
        }
    working = cores or {}
    programs = {
        chip: working[chip].attached.program if working else program_of(call, chip)
        for chip in parties
    }
    lanes = {(chip, lane.channel): lane.sends for chip in parties for lane in programs[chip].lanes}
    works = {chip: core.attached.works for chip, core in working.items()}
    count: dict[Turn, int] = {(chip, None): len(parts) for chip, parts in works.items()}
    count |= {turn: len(sends) for turn, sends in lanes.items()}
    done = dict.fromkeys(count, 0)
    arrived: dict[Turn, int] = {}

    def may(turn: Turn) -> bool:
        chip, channel = turn
        number = done[turn]
        if channel is None:
            needs = works[chip][number].needs
        else:
            needs = lanes[chip, channel][number].needs
            parts = working[chip].attached.waits(channel, number) if working else 0
            if parts > done.get((chip, None), 0):
                return False
        return all(arrived.get((chip, need.channel), 0) >= need.count for need in needs)

    while True:
        left = [turn for turn in done if done[turn] < count[turn]]
        if not left:
            return
        ready = [turn for turn in left if may(turn)]
        if not ready:
            raise SimulationError(
                f"deadlock in {call.kind.value}: {len(left)} lanes wait for each other"
            )
        turn = choose(ready)
        chip, channel = turn
        number = done[turn]
        done[turn] += 1
        if channel is None:
            working[chip].do(works[chip][number])
            continue
        send = lanes[chip, channel][number]
        there = call.receiver(chip, channel.segment, send.offset)
        place = group.place(chip) if chip in group else (0,) * len(group.segments)
        for piece in send.pieces:
            for block in _named(call, piece, place):
                _move(piece, blocks[chip][block], blocks[there][block], send.action)
        counter = there, send.counted or channel
        arrived[counter] = arrived.get(counter, 0) + 1


def _named(call: Call, piece: Piece, place: Block) -> Iterator[Block]:
    """The blocks of a piece, whose indices are relative to the sender's place."""
    sizes = [segment.size for segment in call.group.segments]
    ranges = []
    for at, index in enumerate(piece.block):
        size = sizes[at % len(sizes)]
        mine = place[at % len(sizes)]
        ranges.append(range(size) if index is None else [(mine + index) % size])
    return itertools.product(*ranges)


def _move(piece: Piece, here: NDArray[Any], there: NDArray[Any], action: Action) -> None:
    low, high = (math.floor(bound * here.size) for bound in piece.share)
    if action is Action.STORE:
        there[low:high] = here[low:high]
    else:
        there[low:high] += here[low:high]


def _rubbish(size: int, like: NDArray[Any]) -> NDArray[Any]:
    return np.full(size, RUBBISH, like.dtype)


Region = tuple[slice, ...]


def within(inner: Region, outer: Region) -> Region:
    """The part that two regions have in common, counted from the start of the outer one."""
    return tuple(
        slice(max(a.start, b.start) - b.start, min(a.stop, b.stop) - b.start)
        for a, b in zip(inner, outer, strict=True)
    )


def _cut(
    step: CollectiveStep, chip: Coordinate, members: Sequence[Coordinate], array: NDArray[Any]
) -> Blocks:
    """A chip's blocks at the start."""
    group, before, after = step.call.group, step.operand.sharded, step.result.sharded
    here = before.block(chip)
    match step.kind:
        case CollectiveKind.ALL_GATHER | TransferKind.PERMUTE:
            blocks: Blocks = {group.place(one): _rubbish(array.size, array) for one in members}
            blocks[group.place(chip)] = array.reshape(-1).copy()
            return blocks
        case CollectiveKind.REDUCE_SCATTER:
            return {
                group.place(one): array[within(after.block(one), here)].flatten() for one in members
            }
        case CollectiveKind.ALL_REDUCE:
            flat, size = array.reshape(-1), len(members)
            bounds = [array.size * at // size for at in range(size + 1)]
            return {
                group.place(one): flat[bounds[at] : bounds[at + 1]].copy()
                for at, one in enumerate(members)
            }
        case _:
            blocks = {}
            for one in members:
                part = array[within(after.block(one), here)].flatten()
                for origin in members:
                    mine = origin == chip
                    blocks[*group.place(origin), *group.place(one)] = (
                        part if mine else _rubbish(part.size, array)
                    )
            return blocks


def _join(
    step: CollectiveStep,
    chip: Coordinate,
    members: Sequence[Coordinate],
    blocks: Blocks,
    array: NDArray[Any],
) -> NDArray[Any]:
    """What a chip holds at the end, from its blocks."""
    group, before, after = step.call.group, step.operand.sharded, step.result.sharded
    here = after.block(chip)
    shape = after.local_shape
    match step.kind:
        case CollectiveKind.REDUCE_SCATTER:
            return blocks[group.place(chip)].reshape(shape)
        case CollectiveKind.ALL_REDUCE:
            return np.concatenate([blocks[group.place(one)] for one in members]).reshape(shape)
        case TransferKind.PERMUTE:
            assert step.call.permutation is not None
            return blocks[group.place(step.call.permutation.sources[chip])].reshape(shape)
        case _:
            result = _rubbish(math.prod(shape), array).reshape(shape)
            for one in members:
                region = within(before.block(one), here)
                key = group.place(one)
                if step.kind is CollectiveKind.ALL_TO_ALL:
                    key = (*key, *group.place(chip))
                result[region] = blocks[key].reshape(result[region].shape)
            return result
