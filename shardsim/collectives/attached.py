"""Step programs with a matmul attached: which part of it each message brings, or waits for.

The programs are the collectives' own. An AllGather before a matmul: a part of the matmul may be
done when its block is here. A ReduceScatter after one: a message goes when the part that it adds is
done. An AllReduce after one: its program several times, each time after one more part. Nothing
here knows a second.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from shardsim.collectives import step_program
from shardsim.collectives.steps import WHOLE, Action, Channel, Lane, Need, Piece, Send, StepProgram
from shardsim.vocabulary import Algorithm, CollectiveKind, DimensionKind, Form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shardsim.call import Call, Method
    from shardsim.collectives import Place, Shape
    from shardsim.collectives.steps import Share
    from shardsim.topology import Coordinate
    from shardsim.vocabulary import CallKind

__all__ = ["Attached", "Work", "attached_to"]

FIRST_HALF: Share = (Fraction(0), Fraction(1, 2))
SECOND_HALF: Share = (Fraction(1, 2), Fraction(1))


class Work(NamedTuple):
    """A part of a matmul that is done by itself.

    Attributes:
        block: The block of the collective's data that it reads or makes, relative to the chip;
            of `chunks`, its number.
        share: Which share of that block.
        needs: The messages that must have arrived before.
    """

    block: int
    share: Share = WHOLE
    needs: tuple[Need, ...] = ()


class Attached(NamedTuple):
    """What one chip does in a collective and a matmul.

    Attributes:
        program: Of the collective.
        works: The parts of the matmul, in the order in which the core does them.
        before: For each channel, how many parts must be done before each of its sends; none where
            the collective comes first.
    """

    program: StepProgram
    works: tuple[Work, ...]
    before: dict[Channel, tuple[int, ...]]

    def waits(self, channel: Channel, number: int) -> int:
        """How many parts must be done before a send."""
        return self.before[channel][number] if channel in self.before else 0


def attached_to(call: Call, chip: Coordinate, form: Form, parts: int = 1) -> Attached:
    """What a chip does in a call and the matmul that goes with it.

    Args:
        call: An AllGather that the matmul reads, or a ReduceScatter or AllReduce of what it makes.
        chip: Which.
        form: How.
        parts: Into how many parts the matmul is cut, where the form leaves it open: `chunks`.
    """
    group = call.group
    place = group.rank(chip)
    if all(kind is not DimensionKind.LINE for _, kind in group.shape):
        place = (0,) * len(place)
    return _attached(call.kind, group.shape, call.method, place, form, parts)


@lru_cache(maxsize=4096)
def _attached(
    kind: CallKind, shape: Shape, method: Method, place: Place, form: Form, parts: int
) -> Attached:
    program = step_program(kind, shape, method, place)
    if form is Form.CHUNKS:
        return _in_chunks(program, parts)
    ((size, _),) = shape
    (here,) = place
    if kind is CollectiveKind.REDUCE_SCATTER:
        return _scattered(program, size, form)
    if method.algorithms == (Algorithm.DIRECT,):
        return _gathered_directly(program)
    others = {
        at % size: step_program(kind, shape, method, (at % size,)) for at in (here - 1, here + 1)
    }
    news = _news(others, size, here)
    if form is Form.HALF_CHUNKS:
        halves = [Work(0, FIRST_HALF), Work(0, SECOND_HALF)]
        halves += [Work(block, share, (need,)) for need, block, share in news]
        return Attached(program, tuple(halves), {})
    by_block: dict[int, list[Need]] = {0: []}
    for need, block, _ in news:
        by_block.setdefault(block, []).append(need)
    if form is Form.PAIRS:
        return _in_pairs(program, by_block)
    return Attached(program, tuple(Work(b, WHOLE, tuple(n)) for b, n in by_block.items()), {})


def _gathered_directly(program: StepProgram) -> Attached:
    """At a switch each message is a channel of its own: any may overtake any."""
    ((channel, sends),) = ((lane.channel, lane.sends) for lane in program.lanes)
    own = [channel._replace(port=number) for number in range(1, len(sends) + 1)]
    lane = Lane(channel, tuple(replace(s, counted=c) for s, c in zip(sends, own, strict=True)))
    receives = tuple(Need(c, 1) for c in own)
    size = program.blocks
    works = [Work(0), *(Work(size - c.port, WHOLE, (Need(c, 1),)) for c in own)]
    return Attached(StepProgram((lane,), receives, size), tuple(works), {})


def _news(others: Mapping[int, StepProgram], size: int, here: int) -> list[tuple[Need, int, Share]]:
    """What each message brings to a chip: its number on its channel, a block and a share of it.

    In the order in which messages come; the block is relative to the chip.
    """
    found = [
        (Need(lane.channel, number), (there + (piece.block[0] or 0) - here) % size, piece.share)
        for there, program in others.items()
        for lane in program.lanes
        for number, send in enumerate(lane.sends, start=1)
        if there != here and (there + (send.offset or 0)) % size == here
        for piece in send.pieces
    ]
    return sorted(found, key=lambda one: (one[0].count, -one[0].channel.direction))


def _in_pairs(program: StepProgram, by_block: Mapping[int, list[Need]]) -> Attached:
    """Two chunks a step: the one that is here and the first to come, then the next two, and so on.

    As a loop does it, both go on after the last step too, though nobody waits for them.
    """
    lanes = tuple(
        Lane(
            lane.channel,
            (
                *lane.sends,
                Send(
                    lane.channel.direction,
                    (Piece((-lane.channel.direction * len(lane.sends),)),),
                    Action.STORE,
                    (Need(lane.channel, len(lane.sends)),),
                ),
            ),
        )
        for lane in program.lanes
    )
    receives = tuple(Need(need.channel, need.count + 1) for need in program.receives)
    blocks, needs = list(by_block), list(by_block.values())
    works = []
    for first in range(0, len(blocks), 2):
        both = tuple(itertools.chain(*needs[first : first + 2]))
        works += [Work(block, WHOLE, both) for block in blocks[first : first + 2]]
    return Attached(StepProgram(lanes, receives, program.blocks), tuple(works), {})


def _scattered(program: StepProgram, size: int, form: Form) -> Attached:
    """A part of the matmul before each send; the one that stays here comes last."""
    works: list[Work] = []
    done: dict[tuple[int, Share], int] = {}
    before: dict[Channel, list[int]] = {lane.channel: [] for lane in program.lanes}
    sends = [
        (number, -lane.channel.direction, lane.channel, send)
        for lane in program.lanes
        for number, send in enumerate(lane.sends)
    ]
    for _, _, channel, send in sorted(sends, key=lambda one: one[:2]):
        (piece,) = send.pieces
        share = piece.share if form is Form.HALF_CHUNKS else WHOLE
        key = ((piece.block[0] or 0) % size, share)
        if key not in done:
            needs = send.needs if form is Form.UNPIPELINED else ()
            works.append(Work(*key, needs))
            done[key] = len(works)
        before[channel].append(done[key])
    if form is Form.HALF_CHUNKS:
        works += [Work(0, FIRST_HALF), Work(0, SECOND_HALF)]
    else:
        works.append(Work(0, WHOLE, program.receives if form is Form.UNPIPELINED else ()))
    return Attached(program, tuple(works), {c: tuple(counts) for c, counts in before.items()})


def _in_chunks(program: StepProgram, parts: int) -> Attached:
    """The program once for each part of the matmul, on that part of the data.

    Where several chips send on one channel, each part has channels of its own: one chip's next part
    may overtake this part of another.
    """
    per_part = {need.channel: need.count for need in program.receives}
    ports = 1 + max((channel.port for channel in per_part), default=0)

    def arriving(need: Need, part: int) -> Need:
        if need.channel.direction:
            return Need(need.channel, need.count + part * per_part[need.channel])
        return Need(_numbered(need.channel, part * ports), need.count)

    def later(send: Send, lane: Lane, part: int) -> Send:
        counted = send.counted or lane.channel
        return replace(
            send,
            pieces=tuple(_part_of(piece, part, parts) for piece in send.pieces),
            needs=tuple(arriving(need, part) for need in send.needs),
            counted=counted if counted.direction else _numbered(counted, part * ports),
        )

    numbers = range(parts)
    lanes = tuple(
        Lane(
            lane.channel, tuple(later(send, lane, part) for part in numbers for send in lane.sends)
        )
        for lane in program.lanes
    )
    before = {
        lane.channel: tuple(part + 1 for part in numbers for _ in lane.sends)
        for lane in program.lanes
    }
    receives = tuple(
        arriving(need, part)
        for need in program.receives
        for part in (numbers if not need.channel.direction else numbers[-1:])
    )
    works = tuple(Work(part) for part in numbers)
    return Attached(StepProgram(lanes, receives, program.blocks), works, before)


def _numbered(channel: Channel, port: int) -> Channel:
    return channel._replace(port=channel.port + port)


def _part_of(piece: Piece, part: int, parts: int) -> Piece:
    low, high = ((bound + part) / parts for bound in piece.share)
    return Piece(piece.block, (low, high), piece.count)
