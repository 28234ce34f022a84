"""Step programs on a line: what a chip sends depends on its position.

Written for the direction of rising positions; the other direction is the mirror image. The orders
are chosen so that no link ever waits between two messages when latency is zero: AllGather passes on
the nearest news first, ReduceScatter and AllToAll serve the farthest chip first.
"""

from __future__ import annotations

from shardsim.collectives.steps import Action, Lane, Need, Piece, Send
from shardsim.vocabulary import CollectiveKind

__all__ = ["line_lanes"]


def line_lanes(kind: CollectiveKind, size: int, position: int) -> tuple[Lane, ...]:
    """The lanes of the chip at `position` (0 to size - 1) on a line of `size` chips."""
    write = {
        CollectiveKind.ALL_GATHER: _gather,
        CollectiveKind.REDUCE_SCATTER: _scatter,
        CollectiveKind.ALL_TO_ALL: _exchange,
    }[kind]
    rising = write(size, position)
    falling = tuple(_mirrored(send) for send in write(size, size - 1 - position))
    lanes = (Lane(+1, rising), Lane(-1, falling))
    return tuple(lane for lane in lanes if lane.sends)


def _mirrored(send: Send) -> Send:
    return Send(
        tuple(Piece(tuple(-index for index in piece.block), piece.share) for piece in send.pieces),
        send.action,
        tuple(Need(-need.direction, need.count) for need in send.needs),
    )


def _after(count: int) -> tuple[Need, ...]:
    return (Need(+1, count),) if count else ()


def _gather(size: int, position: int) -> tuple[Send, ...]:
    """My own block, then those of the chips behind me as they come."""
    if position == size - 1:
        return ()
    return tuple(
        Send((Piece((-step,)),), Action.STORE, _after(step)) for step in range(position + 1)
    )


def _scatter(size: int, position: int) -> tuple[Send, ...]:
    """The sum for the last chip first; each joins what came from the chips behind me."""
    return tuple(
        Send(
            (Piece((target - position,)),),
            Action.ADD,
            _after(size - target if position else 0),
        )
        for target in range(size - 1, position, -1)
    )


def _exchange(size: int, position: int) -> tuple[Send, ...]:
    """Blocks for the last chip first; for each chip my own, then those from behind me.

    The chip behind sends me, for each target from the last down to me, one block from each of the
    `position` chips up to itself; so the block of chip `origin` is number `position - origin` of
    them.
    """
    sends = []
    for target in range(size - 1, position, -1):
        for origin in range(position, -1, -1):
            before = (size - 1 - target) * position + (position - origin)
            needs = _after(before if origin < position else 0)
            piece = Piece((origin - position, target - position))
            sends.append(Send((piece,), Action.STORE, needs))
    return tuple(sends)
