"""The program of one chip on one segment: a phase of a collective."""

from __future__ import annotations

from functools import lru_cache

from shardsim.collectives.line import line_lanes, middle_lanes, relay_lanes
from shardsim.collectives.ring import ring_lanes
from shardsim.collectives.steps import Action, Channel, Lane, Need, Piece, Send, StepProgram
from shardsim.collectives.switch import direct_lanes, reducing_chip
from shardsim.vocabulary import Algorithm, CallKind, CollectiveKind, DimensionKind, TransferKind

__all__ = ["phase_program"]


@lru_cache(maxsize=8192)
def phase_program(
    kind: CallKind,
    algorithm: Algorithm,
    dimension: DimensionKind,
    size: int,
    position: int,
    *,
    chunks: int = 1,
    shift: int = 1,
    root: int = 0,
) -> StepProgram:
    """What the chip at `position` of one segment does; AllReduce only where it is one phase.

    Args:
        kind: Which collective.
        algorithm: How it uses the segment.
        dimension: What the segment is.
        size: Chips along it.
        position: Where the chip stands.
        chunks: For the programs that are cut in chunks by themselves.
        shift: Permute: so many places up.
        root: Gather: the position of the chip that gets everything.
    """
    if algorithm is Algorithm.IN_NETWORK:
        return reducing_chip(size, position, chunks)

    def lanes(at: int) -> tuple[Lane, ...]:
        if size == 1:
            return ()
        if kind is TransferKind.PERMUTE:
            return _shifted(size, shift)
        if kind is TransferKind.SEND:
            return relay_lanes(size, at, chunks)
        if algorithm is Algorithm.REDUCE_BROADCAST:
            return middle_lanes(size, at, chunks)
        if dimension is DimensionKind.LINE:
            return line_lanes(kind, size, at, root)
        if algorithm is Algorithm.DIRECT:
            return direct_lanes(kind, size, root - at)
        return ring_lanes(kind, algorithm, size, root - at)

    mine = lanes(position)
    arriving: dict[Channel, int] = {}
    for there in range(size) if size > 1 else ():
        for lane in lanes(there) if _may_reach(kind, algorithm, size, there, position) else ():
            for send in lane.sends:
                if send.offset is not None and (there + send.offset) % size == position:
                    arriving[lane.channel] = arriving.get(lane.channel, 0) + 1
    receives = tuple(Need(channel, count) for channel, count in arriving.items())
    blocks = {CollectiveKind.ALL_TO_ALL: size * size, TransferKind.SEND: 1}.get(kind, size)
    return StepProgram(mine, receives, blocks)


def _may_reach(kind: CallKind, algorithm: Algorithm, size: int, there: int, here: int) -> bool:
    """Whether a chip may send to this one at all; saves looking at all chips of a long ring."""
    if kind is TransferKind.PERMUTE or algorithm is Algorithm.DIRECT:
        return there != here
    return (there - here) % size in {1, size - 1}


def permuted(segments: int, size: int, moves: bool) -> StepProgram:
    """One message to the chip that a table names, and one from another; or nothing.

    Args:
        segments: Of the group.
        size: Chips of the group.
        moves: Whether the chip's data goes elsewhere (and that of another chip comes here).
    """
    if not moves:
        return StepProgram((), (), size)
    channel = Channel(0, 0)
    send = Send(0, (Piece((0,) * segments),), Action.STORE)
    return StepProgram((Lane(channel, (send,)),), (Need(channel, 1),), size)


def _shifted(size: int, shift: int) -> tuple[Lane, ...]:
    """One message, so many places up, the shorter way round."""
    up = shift % size
    if up == 0:
        return ()
    offset = up if 2 * up <= size else up - size
    send = Send(offset, (Piece((0,)),), Action.STORE)
    return (Lane(Channel(0, 0), (send,)),)
