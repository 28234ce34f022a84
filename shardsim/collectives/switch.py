"""Step programs at one switch: every chip can send to every other.

`direct`: to each other chip in turn, each chip beginning with the next one up, so that no two send
to one at the same time. In the network: chips send everything to the switch, which adds; it hands
each sum to the chip that owns it, and that chip has it handed out to all.
"""

from __future__ import annotations

from fractions import Fraction

from shardsim.collectives.steps import Action, Channel, Lane, Need, Piece, Send, StepProgram
from shardsim.vocabulary import CallKind, CollectiveKind, TransferKind

__all__ = ["direct_lanes", "reducing_chip", "reducing_switch"]

DIRECT = Channel(0, 0)


def direct_lanes(kind: CallKind, size: int, to_root: int = 0) -> tuple[Lane, ...]:
    """The lane of a chip that sends straight to the others.

    `to_root`: steps up to the chip that gathers.
    """
    steps = range(1, size)
    match kind:
        case CollectiveKind.ALL_GATHER:
            sends = [Send(step, (Piece((0,)),), Action.STORE) for step in steps]
        case CollectiveKind.REDUCE_SCATTER:
            sends = [Send(step, (Piece((step,)),), Action.ADD) for step in steps]
        case CollectiveKind.ALL_TO_ALL:
            sends = [Send(step, (Piece((0, step)),), Action.STORE) for step in steps]
        case TransferKind.GATHER:
            away = to_root % size
            sends = [Send(away, (Piece((0,)),), Action.STORE)] if away else []
        case _:
            raise AssertionError(kind)
    return (Lane(DIRECT, tuple(sends)),) if sends else ()


def _chunk(block: int, chunk: int, chunks: int) -> tuple[Piece, ...]:
    share = (Fraction(chunk, chunks), Fraction(chunk + 1, chunks))
    return (Piece((block,), share),)


def reducing_chip(size: int, place: int, chunks: int) -> StepProgram:
    """What the chip at a place does when the switch adds; each of `size` blocks in `chunks`.

    It sends its part of every sum in one lane; in another, as soon as the switch has sent them, the
    sums of its own block, to be handed out. So neither waits for the other but at the port.
    """
    sums = Channel(0, -1, place)
    parts = [
        Send(None, _chunk(block - place, chunk, chunks), Action.ADD)
        for chunk in range(chunks)
        for block in range(size)
    ]
    own = [
        Send(None, _chunk(0, chunk, chunks), Action.STORE, (Need(sums, chunk + 1),))
        for chunk in range(chunks)
    ]
    lanes = (
        Lane(Channel(0, +1, place), tuple(parts)),
        Lane(Channel(0, +1, size + place), tuple(own)),
    )
    copies = Channel(0, -1, size + place)
    return StepProgram(lanes, (Need(sums, chunks), Need(copies, chunks * size)), size)


def reducing_switch(size: int, chunks: int) -> StepProgram:
    """What the switch does: for each chip's port a lane of sums, and one of everybody's sums."""
    lanes = []
    for port in range(size):
        sums = [
            Send(
                port,
                _chunk(port, chunk, chunks),
                Action.STORE,
                tuple(Need(Channel(0, +1, chip), chunk * size + port + 1) for chip in range(size)),
            )
            for chunk in range(chunks)
        ]
        copies = [
            Send(
                port,
                _chunk(block, chunk, chunks),
                Action.STORE,
                (Need(Channel(0, +1, size + block), chunk + 1),),
            )
            for chunk in range(chunks)
            for block in range(size)
        ]
        lanes.append(Lane(Channel(0, -1, port), tuple(sums)))
        lanes.append(Lane(Channel(0, -1, size + port), tuple(copies)))
    receives = tuple(Need(Channel(0, +1, chip), chunks * size) for chip in range(size)) + tuple(
        Need(Channel(0, +1, size + chip), chunks) for chip in range(size)
    )
    return StepProgram(tuple(lanes), receives, size)
