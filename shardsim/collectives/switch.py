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


Item = tuple[str, int, int]
"""A message between chip and switch: what it is, the round, the block's owner."""


def _outgoing(size: int, chunks: int, owner: int) -> list[Item]:
    """What a chip sends: its part of every sum, then, a round later, the sums that it owns."""
    items: list[Item] = []
    for round_ in range(chunks):
        items += [("part", round_, block) for block in range(size)]
        if round_:
            items.append(("sum", round_ - 1, owner))
    return [*items, ("sum", chunks - 1, owner)]


def _incoming(size: int, chunks: int, owner: int) -> list[Item]:
    """What the switch sends a chip: the sums that it owns, then, a round later, everybody's."""
    items: list[Item] = []
    for round_ in range(chunks):
        items.append(("own", round_, owner))
        if round_:
            items += [("copy", round_ - 1, block) for block in range(size)]
    return [*items, *(("copy", chunks - 1, block) for block in range(size))]


def _piece(item: Item, chunks: int, place: int) -> tuple[Piece, ...]:
    _, round_, block = item
    share = (Fraction(round_, chunks), Fraction(round_ + 1, chunks))
    return (Piece((block - place,), share),)


def reducing_chip(size: int, place: int, chunks: int) -> StepProgram:
    """What the chip at a place does when the switch adds; each of `size` blocks in `chunks`."""
    incoming = _incoming(size, chunks, place)
    down = Channel(0, -1, place)
    sends = []
    for item in _outgoing(size, chunks, place):
        what, round_, block = item
        pieces = _piece(item, chunks, place)
        if what == "part":
            sends.append(Send(None, pieces, Action.ADD))
        else:
            count = incoming.index(("own", round_, block)) + 1
            sends.append(Send(None, pieces, Action.STORE, (Need(down, count),)))
    lanes = (Lane(Channel(0, +1, place), tuple(sends)),)
    return StepProgram(lanes, (Need(down, len(incoming)),), size)


def reducing_switch(size: int, chunks: int) -> StepProgram:
    """What the switch does: a lane for each chip's port."""
    outgoing = [_outgoing(size, chunks, chip) for chip in range(size)]

    def after(chip: int, item: Item) -> Need:
        return Need(Channel(0, +1, chip), outgoing[chip].index(item) + 1)

    lanes = []
    for port in range(size):
        sends = []
        for item in _incoming(size, chunks, port):
            what, round_, block = item
            if what == "own":
                needs = tuple(after(chip, ("part", round_, block)) for chip in range(size))
            else:
                needs = (after(block, ("sum", round_, block)),)
            sends.append(Send(port, _piece(item, chunks, 0), Action.STORE, needs))
        lanes.append(Lane(Channel(0, -1, port), tuple(sends)))
    receives = tuple(Need(Channel(0, +1, chip), len(outgoing[chip])) for chip in range(size))
    return StepProgram(tuple(lanes), receives, size)
