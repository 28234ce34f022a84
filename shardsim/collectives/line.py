"""Step programs on a line: what a chip sends depends on its position.

Written for the direction of rising positions; the other direction is the mirror image. The orders
are chosen so that no link ever waits between two messages when latency is zero: AllGather passes on
the nearest news first, ReduceScatter and AllToAll serve the farthest chip first.
"""

from __future__ import annotations

from fractions import Fraction

from shardsim.collectives.steps import ALL, Action, Channel, Lane, Need, Piece, Send
from shardsim.vocabulary import CallKind, CollectiveKind, TransferKind

__all__ = ["line_lanes", "middle_lanes", "relay_lanes"]


def line_lanes(kind: CallKind, size: int, position: int, root: int = 0) -> tuple[Lane, ...]:
    """The lanes of the chip at `position` (0 to size - 1) on a line of `size` chips.

    `root`: the position of the chip that gathers.
    """
    other = size - 1 - position
    match kind:
        case CollectiveKind.ALL_GATHER:
            rising, falling = _gather(size, position), _gather(size, other)
        case CollectiveKind.REDUCE_SCATTER:
            rising, falling = _scatter(size, position), _scatter(size, other)
        case CollectiveKind.ALL_TO_ALL:
            rising, falling = _exchange(size, position), _exchange(size, other)
        case TransferKind.GATHER:
            rising = _gather(size, position) if position < root else ()
            falling = _gather(size, other) if position > root else ()
        case _:
            raise AssertionError(kind)
    lanes = (
        Lane(Channel(0, +1), rising),
        Lane(Channel(0, -1), tuple(_mirrored(send) for send in falling)),
    )
    return tuple(lane for lane in lanes if lane.sends)


def middle_lanes(size: int, position: int, chunks: int) -> tuple[Lane, ...]:
    """AllReduce: sums flow to the middle chip and back, chunk by chunk, both ways at once."""
    middle = size // 2

    def lane(direction: int, action: Action, needs: list[int]) -> Lane:
        """All chunks one way; number i after i + 1 messages from each of some directions."""
        return Lane(
            Channel(0, direction),
            tuple(
                Send(
                    direction,
                    (Piece((ALL,), _chunk(i, chunks), size),),
                    action,
                    tuple(Need(Channel(0, way), i + 1) for way in needs),
                )
                for i in range(chunks)
            ),
        )

    if position == middle:
        sides = [way for way, there in ((+1, middle > 0), (-1, middle < size - 1)) if there]
        return tuple(lane(-way, Action.STORE, sides) for way in sides)
    inwards = +1 if position < middle else -1
    at_end = position in {0, size - 1}
    lanes = [lane(inwards, Action.ADD, [] if at_end else [inwards])]
    if not at_end:
        lanes.append(lane(-inwards, Action.STORE, [-inwards]))
    return tuple(lanes)


def relay_lanes(size: int, position: int, chunks: int) -> tuple[Lane, ...]:
    """The first chip's block goes to the last, chunk by chunk, stored and forwarded."""
    if position == size - 1:
        return ()
    return (
        Lane(
            Channel(0, +1),
            tuple(
                Send(
                    +1,
                    (Piece((-position,), _chunk(i, chunks)),),
                    Action.STORE,
                    _after(i + 1 if position else 0),
                )
                for i in range(chunks)
            ),
        ),
    )


def _chunk(index: int, chunks: int) -> tuple[Fraction, Fraction]:
    return Fraction(index, chunks), Fraction(index + 1, chunks)


def _mirrored(send: Send) -> Send:
    return Send(
        -1,
        tuple(
            Piece(tuple(-(index or 0) for index in piece.block), piece.share)
            for piece in send.pieces
        ),
        send.action,
        tuple(Need(Channel(0, -1), need.count) for need in send.needs),
    )


def _after(count: int) -> tuple[Need, ...]:
    return (Need(Channel(0, +1), count),) if count else ()


def _gather(size: int, position: int) -> tuple[Send, ...]:
    """My own block, then those of the chips behind me as they come."""
    if position == size - 1:
        return ()
    return tuple(
        Send(+1, (Piece((-step,)),), Action.STORE, _after(step)) for step in range(position + 1)
    )


def _scatter(size: int, position: int) -> tuple[Send, ...]:
    """The sum for the last chip first; each joins what came from the chips behind me."""
    return tuple(
        Send(
            +1,
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
            sends.append(Send(+1, (piece,), Action.STORE, needs))
    return tuple(sends)
