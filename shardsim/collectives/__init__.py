"""Collectives as step programs: hops, and no formulas.

Each collective is written once, from the point of view of one chip. The engine reads the sizes and
the needs, the oracle the pieces, the exporter the names. Nothing here knows a bandwidth or a
latency.

    steps.py      the records of a program
    ring.py, line.py, switch.py    programs on one segment
    phases.py     which of them, and what arrives
    __init__.py   phases over several segments, streams and chunks put together

>>> from shardsim.call import Method, Stream
>>> from shardsim.vocabulary import Algorithm, CollectiveKind, DimensionKind
>>> method = Method(algorithms=(Algorithm.BALANCED,), streams=(Stream((0,)),))
>>> ring = ((4, DimensionKind.RING),)
>>> program = step_program(CollectiveKind.ALL_GATHER, ring, method, (0,))
>>> [str(send.size) for send in program.sends(Channel(0, +1))]
['1', '1/2']
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from shardsim.collectives.phases import permuted, phase_program
from shardsim.collectives.steps import (
    ALL,
    Action,
    Channel,
    Lane,
    Need,
    Piece,
    Send,
    StepProgram,
)
from shardsim.collectives.switch import reducing_switch
from shardsim.vocabulary import Algorithm, CallKind, CollectiveKind, DimensionKind, TransferKind

if TYPE_CHECKING:
    from shardsim.call import Call, Method, Stream
    from shardsim.topology import Coordinate

__all__ = [
    "ALL",
    "Action",
    "Channel",
    "Lane",
    "Need",
    "Piece",
    "Send",
    "StepProgram",
    "has_switch_program",
    "program_of",
    "step_program",
    "switch_program",
]

Shape = tuple[tuple[int, DimensionKind], ...]
Place = tuple[int, ...]

IN_ONE_PIECE = (Algorithm.IN_NETWORK, Algorithm.REDUCE_BROADCAST)


def program_of(call: Call, chip: Coordinate) -> StepProgram:
    """The step program of a chip (or of a switch that adds) in a call."""
    group = call.group
    if call.permutation is not None:
        return permuted(len(group.segments), group.size, call.permutation.targets[chip] != chip)
    if chip not in group:
        return switch_program(group.shape, call.method)
    root = group.root_of(chip, call.root) if call.kind is TransferKind.GATHER else None
    return step_program(
        call.kind, group.shape, call.method, group.rank(chip), shift=call.shift, root=root
    )


def has_switch_program(method: Method) -> bool:
    """Whether the switch itself takes part."""
    return Algorithm.IN_NETWORK in method.algorithms


def switch_program(shape: Shape, method: Method) -> StepProgram:
    """What the switch itself does, where it takes part."""
    return reducing_switch(shape[0][0], method.chunks)


def step_program(
    kind: CallKind,
    shape: Shape,
    method: Method,
    place: Place,
    *,
    shift: int = 1,
    root: Place | None = None,
) -> StepProgram:
    """What one chip of a group does in a collective.

    Args:
        kind: Which collective.
        shape: Size and kind of each segment of the group.
        method: Algorithms, and the orders in which the segments are gone through.
        place: Where the chip stands along each segment.
        shift: Permute: so many places up.
        root: Gather: the place of the chip that gets everything.

    On a segment after another, a chip starts when everything of the phase before it has arrived. A
    link serves the phases of several streams in the order of their number, then of the streams.
    """
    if not shape:
        return StepProgram((), (), 1)
    if kind not in (TransferKind.GATHER, TransferKind.SEND):  # all chips of a ring run the same
        alike = Algorithm.IN_NETWORK not in method.algorithms
        place = tuple(
            at if dimension is DimensionKind.LINE or not alike else 0
            for at, (_, dimension) in zip(place, shape, strict=True)
        )
    return _program(kind, shape, method, place, shift, root or (0,) * len(shape))


@lru_cache(maxsize=4096)
def _program(
    kind: CallKind, shape: Shape, method: Method, place: Place, shift: int, root: Place
) -> StepProgram:
    alone = kind in (TransferKind.PERMUTE, TransferKind.SEND)
    if alone or any(algorithm in IN_ONE_PIECE for algorithm in method.algorithms):
        ((size, dimension),) = shape
        return phase_program(
            kind,
            method.algorithms[0],
            dimension,
            size,
            place[0],
            chunks=method.chunks,
            shift=shift,
        )
    return _Composer(kind, shape, method, place, root).program()


@dataclass(frozen=True, slots=True)
class _Phase:
    """One stream's work on one segment: the segment's program, lifted to the whole group."""

    job: int
    number: int
    kind: CallKind
    position: int
    stream: Stream

    @property
    def segment(self) -> int:
        return self.stream.order[self.position]


class _Composer:
    """Puts the phases of all streams together to the program of one chip."""

    def __init__(
        self, kind: CallKind, shape: Shape, method: Method, place: Place, root: Place
    ) -> None:
        self.kind = kind
        self.shape = shape
        self.method = method
        self.place = place
        self.root = root

    def program(self) -> StepProgram:
        phases = [
            phase
            for job, stream in enumerate(self.method.jobs())
            for phase in self._phases(job, stream)
        ]
        phases.sort(key=lambda phase: (phase.number, phase.job))
        lanes: defaultdict[Channel, list[Send]] = defaultdict(list)
        arrived: defaultdict[Channel, int] = defaultdict(int)
        after: dict[int, dict[Channel, int]] = {}
        for number, phase in enumerate(phases):
            segment = phase.segment
            port = number if self.method.algorithms[segment] is Algorithm.DIRECT else 0
            alone = self._alone(phase)
            before = after.get(phase.job, {})
            for lane in alone.lanes:
                channel = lane.channel._replace(segment=segment)
                lanes[channel] += (
                    self._lifted(send, phase, before, arrived, port) for send in lane.sends
                )
            here = dict(before)
            for need in alone.receives:
                channel = need.channel._replace(segment=segment, port=port)
                arrived[channel] += need.count
                here[channel] = arrived[channel]
            after[phase.job] = here
        blocks = math.prod(size for size, _ in self.shape)
        return StepProgram(
            tuple(Lane(channel, tuple(sends)) for channel, sends in sorted(lanes.items())),
            tuple(Need(channel, count) for channel, count in sorted(arrived.items())),
            blocks**2 if self.kind is CollectiveKind.ALL_TO_ALL else blocks,
        )

    def _phases(self, job: int, stream: Stream) -> list[_Phase]:
        forwards = range(len(stream.order))
        backwards = range(len(stream.order) - 1, -1, -1)
        match self.kind:
            case CollectiveKind.ALL_REDUCE:
                scatter, gather = CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER
                todo = [(scatter, at) for at in backwards] + [(gather, at) for at in forwards]
            case CollectiveKind.REDUCE_SCATTER:
                todo = [(CollectiveKind.REDUCE_SCATTER, at) for at in backwards]
            case _:
                todo = [(self.kind, at) for at in forwards]  # type: ignore[misc]
        return [_Phase(job, number, kind, at, stream) for number, (kind, at) in enumerate(todo)]

    def _alone(self, phase: _Phase) -> StepProgram:
        """The segment's own program; a chip that has given away all it had gathers no more."""
        size, dimension = self.shape[phase.segment]
        gathered = phase.stream.order[: phase.position]
        if phase.kind is TransferKind.GATHER and any(
            self.place[segment] != self.root[segment] for segment in gathered
        ):
            return StepProgram((), (), size)
        return phase_program(
            phase.kind,
            self.method.algorithms[phase.segment],
            dimension,
            size,
            self.place[phase.segment],
            root=self.root[phase.segment],
        )

    def _lifted(
        self,
        send: Send,
        phase: _Phase,
        before: dict[Channel, int],
        arrived: defaultdict[Channel, int],
        port: int,
    ) -> Send:
        """A send of the segment's program among all phases."""
        needs = dict(before)
        for need in send.needs:
            channel = need.channel._replace(segment=phase.segment)
            needs[channel] = max(needs.get(channel, 0), arrived[channel] + need.count)
        return Send(
            send.offset,
            tuple(self._placed(piece, phase) for piece in send.pieces),
            send.action,
            tuple(Need(channel, count) for channel, count in needs.items()),
            Channel(phase.segment, 0, port) if port else None,
        )

    def _placed(self, piece: Piece, phase: _Phase) -> Piece:
        """A piece of the segment's program as a piece of the whole group's data.

        Along segments gathered before it stands for all blocks, along later ones for the chip's
        own. AllToAll: from all chips along segments exchanged before, to all along later ones.
        """
        gathered = phase.stream.order[: phase.position]
        later = phase.stream.order[phase.position + 1 :]
        rank = range(len(self.shape))
        first, *second = piece.block
        block: list[int | None] = [0 for _ in rank]
        block[phase.segment] = first
        for segment in gathered:
            block[segment] = ALL
        wide = gathered
        if second:
            to: list[int | None] = [0 for _ in rank]
            to[phase.segment] = second[0]
            for segment in later:
                to[segment] = ALL
            block += to
            wide = (*gathered, *later)
        low, high = phase.stream.share
        start, end = piece.share
        return Piece(
            tuple(block),
            (low + (high - low) * start, low + (high - low) * end),
            math.prod(self.shape[segment][0] for segment in wide),
        )
