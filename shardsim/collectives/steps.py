"""The records of a collective's step program: what a chip sends, where, and after what.

A program is SPMD: it is written from the point of view of one chip. It has a lane for each link
direction; the sends of a lane go out in order, each to the next chip in that direction. A send
names pieces of the data (for the oracle and for people), their share of a block (for the engine:
its size) and the messages that must have arrived before (for both). It holds no seconds and no
bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

__all__ = ["Action", "Lane", "Need", "Piece", "Send", "StepProgram"]

Share = tuple[Fraction, Fraction]
WHOLE: Share = (Fraction(0), Fraction(1))


class Action(StrEnum):
    """What the receiver does with a piece: `store` it, or `add` it to what it has."""

    STORE = "store"
    ADD = "add"


@dataclass(frozen=True, slots=True)
class Piece:
    """A share [low, high) of one block.

    `block` is relative to the sender's position along the axis. It has one index where the data is
    cut in N blocks (AllGather, ReduceScatter, AllReduce), and two (from whom, to whom) where each
    of the N chips has a block for every chip (AllToAll).
    """

    block: tuple[int, ...]
    share: Share = WHOLE

    @property
    def size(self) -> Fraction:
        """The size in blocks."""
        return self.share[1] - self.share[0]


@dataclass(frozen=True, slots=True)
class Need:
    """The first `count` messages that travel in `direction` must have arrived here."""

    direction: int
    count: int


@dataclass(frozen=True, slots=True)
class Send:
    """One message to the next chip in the lane's direction."""

    pieces: tuple[Piece, ...]
    action: Action
    needs: tuple[Need, ...] = ()
    size: Fraction = field(init=False, compare=False, repr=False)
    """The size in blocks."""

    def __post_init__(self) -> None:
        size = sum((piece.size for piece in self.pieces), Fraction(0))
        object.__setattr__(self, "size", size)


@dataclass(frozen=True, slots=True)
class Lane:
    """The sends of a chip in one direction (+1 or -1), in order."""

    direction: int
    sends: tuple[Send, ...]


@dataclass(frozen=True, slots=True)
class StepProgram:
    """What one chip does in a collective.

    Attributes:
        lanes: At most one a direction.
        receives: How many messages arrive here, by direction.
        blocks: In how many equal blocks V is cut, so that a block's bytes are V / blocks.
    """

    lanes: tuple[Lane, ...]
    receives: tuple[Need, ...]
    blocks: int

    def sends(self, direction: int) -> tuple[Send, ...]:
        """The sends in one direction."""
        return next((lane.sends for lane in self.lanes if lane.direction == direction), ())

    def arriving(self, direction: int) -> int:
        """The number of messages that arrive travelling in one direction."""
        return next((need.count for need in self.receives if need.direction == direction), 0)
