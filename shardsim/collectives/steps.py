"""The records of a collective's step program: what a chip sends, where, and after what.

A program is SPMD: it is written from the point of view of one chip of a group, whose chips stand on
one or more segments (rings, lines, switches). It has lanes; the sends of a lane go out in order. A
send names pieces of the data (for the oracle and for people), their size in blocks (for the engine)
and the messages that must have arrived before (for both). It holds no seconds and no bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

__all__ = ["ALL", "Action", "Channel", "Lane", "Need", "Piece", "Send", "StepProgram"]

Share = tuple[Fraction, Fraction]
WHOLE: Share = (Fraction(0), Fraction(1))
ALL = None
"""In a block: all blocks along that segment."""

Block = tuple[int | None, ...]


class Action(StrEnum):
    """What the receiver does with a piece: `store` it, or `add` it to what it has."""

    STORE = "store"
    ADD = "add"


class Channel(NamedTuple):
    """What messages are counted by: they arrive on the channel that they were sent on.

    Attributes:
        segment: The segment of the group, by index.
        direction: +1 up and -1 down a ring or line (out of and into a chip at a switch that adds);
            0 where every send names its receiver.
        port: At a switch that adds, the chip whose port it is (+ N for the sums that are handed
            out); at another, the number of the phase.
    """

    segment: int
    direction: int
    port: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """A share [low, high) of one block, or of each of several.

    `block` is relative to the sender's place. It has one index for each segment where the data is
    cut in blocks by chip (AllGather, ReduceScatter, AllReduce), and two groups of them (from whom,
    to whom) where each chip has a block for every chip (AllToAll). An index may be `ALL`; `count`
    says how many blocks that makes.
    """

    block: Block
    share: Share = WHOLE
    count: int = 1

    @property
    def size(self) -> Fraction:
        """The size in blocks."""
        return self.count * (self.share[1] - self.share[0])


@dataclass(frozen=True, slots=True)
class Need:
    """The first `count` messages of a channel must have arrived here."""

    channel: Channel
    count: int


@dataclass(frozen=True, slots=True)
class Send:
    """One message.

    Attributes:
        offset: To the chip so many steps up (down, where negative) the lane's segment. None: to the
            switch itself. In the program of a switch: to the chip at that place.
        pieces: What it carries.
        action: What the receiver does with it.
        needs: What must have arrived before.
        counted: The channel that it arrives on; None: its lane's. Where several chips send to one,
            each phase of a collective has a channel of its own, since the next phase of one may
            overtake this phase of another.
        size: The size in blocks.
    """

    offset: int | None
    pieces: tuple[Piece, ...]
    action: Action
    needs: tuple[Need, ...] = ()
    counted: Channel | None = None
    size: Fraction = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        size = sum((piece.size for piece in self.pieces), Fraction(0))
        object.__setattr__(self, "size", size)


@dataclass(frozen=True, slots=True)
class Lane:
    """The sends of a chip on one channel, in order."""

    channel: Channel
    sends: tuple[Send, ...]


@dataclass(frozen=True, slots=True)
class StepProgram:
    """What one chip does in a collective.

    Attributes:
        lanes: At most one a channel.
        receives: How many messages arrive here, by channel.
        blocks: In how many equal blocks V is cut, so that a block's bytes are V / blocks.
    """

    lanes: tuple[Lane, ...]
    receives: tuple[Need, ...]
    blocks: int

    def sends(self, channel: Channel) -> tuple[Send, ...]:
        """The sends of one channel."""
        return next((lane.sends for lane in self.lanes if lane.channel == channel), ())

    def arriving(self, channel: Channel) -> int:
        """The number of messages that arrive on one channel."""
        return next((need.count for need in self.receives if need.channel == channel), 0)
