"""What a message carries, and which messages brought it: read off the step programs."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from shardsim.collectives import Action
from shardsim.engine import program_of
from shardsim.planner.steps import CollectiveStep
from shardsim.timeline import LinkDirection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardsim.collectives import Need, Piece, Send, StepProgram
    from shardsim.planner import Plan
    from shardsim.topology import Coordinate

__all__ = ["Hops", "Message"]

Block = tuple[int, ...]
Share = tuple[Fraction, Fraction]


class Message(NamedTuple):
    """A message: the link it is sent on, the index of the step, its number there from 0 on."""

    link: LinkDirection
    step: int
    sequence: int


class _Carried(NamedTuple):
    """Some of a block in message number `sequence` of a lane."""

    sequence: int
    action: Action
    share: Share


class Hops:
    """The messages of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._carried: dict[tuple[int, int], dict[tuple[int, Block], list[_Carried]]] = {}

    def send(self, message: Message) -> tuple[StepProgram, Send]:
        """The send in its step program."""
        program = program_of(self._step(message), self._position(message))
        return program, program.sends(message.link.direction)[message.sequence]

    def bytes(self, message: Message) -> Fraction:
        """How long the message is."""
        program, send = self.send(message)
        return send.size * self._step(message).size / program.blocks

    def receiver(self, message: Message) -> Coordinate:
        """The chip at the other end of the link."""
        link = message.link
        return _neighbour(self._step(message), link.chip, link.direction)

    def blocks(self, message: Message) -> list[str]:
        """The blocks it carries: `3`, or `0→3` (from whom, to whom); the share of a cut one."""
        _, send = self.send(message)
        texts = []
        for piece in send.pieces:
            text = "→".join(map(str, self._block(message, piece)))
            low, high = piece.share
            texts.append(text if piece.size == 1 else f"{text} [{low}, {high})")
        return texts

    def sources(self, message: Message) -> Iterable[Message]:
        """The messages that brought what it carries.

        A block that came as it is came by one message; a sum (ReduceScatter) by the last from each
        side. What the sender had by itself has no source.
        """
        _, send = self.send(message)
        sources: dict[Message, None] = {}
        for piece in send.pieces:
            block = self._block(message, piece)
            found = [self._latest(message, need, block, piece.share) for need in send.needs]
            came = [one for one in found if one is not None]
            whole = [source for source, action in came if action is Action.STORE]
            sources |= dict.fromkeys(whole or [source for source, _ in came])
        return sources

    def _latest(
        self, message: Message, need: Need, block: Block, share: Share
    ) -> tuple[Message, Action] | None:
        """Of the messages that are needed from one side, the last with some of a block."""
        step = self._step(message)
        behind = _neighbour(step, message.link.chip, -need.direction)
        link = LinkDirection(behind, message.link.dimension, need.direction)
        lane = self._lanes(message.step, self._plan.mesh.position(behind, step.axis.name))
        for one in reversed(lane.get((need.direction, block), ())):
            low, high = max(one.share[0], share[0]), min(one.share[1], share[1])
            if one.sequence < need.count and low < high:
                return Message(link, message.step, one.sequence), one.action
        return None

    def _lanes(self, index: int, position: int) -> dict[tuple[int, Block], list[_Carried]]:
        """What the chip at a position sends in a step, by direction and block, in order."""
        if (index, position) not in self._carried:
            step = self._plan.steps[index]
            assert isinstance(step, CollectiveStep)
            lanes = defaultdict(list)
            for lane in program_of(step, position).lanes:
                for sequence, send in enumerate(lane.sends):
                    for piece in send.pieces:
                        block = _absolute(piece, position, step.axis.size)
                        carried = _Carried(sequence, send.action, piece.share)
                        lanes[lane.direction, block].append(carried)
            self._carried[index, position] = dict(lanes)
        return self._carried[index, position]

    def _step(self, message: Message) -> CollectiveStep:
        step = self._plan.steps[message.step]
        assert isinstance(step, CollectiveStep)
        return step

    def _position(self, message: Message) -> int:
        return self._plan.mesh.position(message.link.chip, self._step(message).axis.name)

    def _block(self, message: Message, piece: Piece) -> Block:
        return _absolute(piece, self._position(message), self._step(message).axis.size)


def _absolute(piece: Piece, position: int, size: int) -> Block:
    return tuple((position + offset) % size for offset in piece.block)


def _neighbour(step: CollectiveStep, chip: Coordinate, direction: int) -> Coordinate:
    index = step.axis.index
    assert index is not None
    return (*chip[:index], (chip[index] + direction) % step.axis.size, *chip[index + 1 :])
