"""What a message carries, and the way it takes: read off the step programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shardsim.collectives import ALL, has_switch_program, program_of
from shardsim.planner.steps import CollectiveStep

if TYPE_CHECKING:
    from fractions import Fraction

    from shardsim.call import Call
    from shardsim.collectives import Send
    from shardsim.planner import Plan
    from shardsim.timeline import Message
    from shardsim.topology import Coordinate, Hop

__all__ = ["Hops", "Region", "Sent"]

Block = tuple[int | None, ...]
Share = tuple["Fraction", "Fraction"]
Way = tuple["Hop", ...]


class Region(NamedTuple):
    """A share [low, high) of a block, or of each of several.

    `block` has places along the segments of the group (AllToAll: from whom, then to whom), `ALL`
    for all along one.
    """

    block: Block
    share: Share

    def text(self, segments: int) -> str:
        """For people: `3`, `0→3`; over two segments `(1, 2)`, `(*, 2)`; and the share of a cut one.

        >>> from fractions import Fraction as F
        >>> print(Region((0, 1, 2, ALL), (F(0), F(1))).text(2))
        (0, 1)→(2, *)
        >>> print(Region((3,), (F(0), F(1, 2))).text(1))
        3 [0, 1/2)
        """
        groups = [self.block[at : at + segments] for at in range(0, len(self.block), segments)]
        text = "→".join(map(_place_text, groups))
        low, high = self.share
        return text if high - low == 1 else f"{text} [{low}, {high})"


class Sent(NamedTuple):
    """A message as the step program of its sender has it.

    Attributes:
        send: The entry of the program.
        messages: How many its channel has in all.
        regions: What it carries.
        texts: The same, for people.
        way: The hops that it takes.
    """

    send: Send
    messages: int
    regions: tuple[Region, ...]
    texts: list[str]
    way: Way

    @property
    def receiver(self) -> Coordinate:
        """The chip (or the switch) that it is for."""
        return self.way[-1].to


class Hops:
    """The messages of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._calls = [
            step.call if isinstance(step, CollectiveStep) else None for step in plan.steps
        ]
        self._lanes: dict[tuple[int, Coordinate], dict[tuple[int, int, int], tuple[Send, ...]]] = {}
        self._ways: dict[tuple[int, Coordinate, int, int | None], Way] = {}
        self._sent: dict[tuple[int, Message], Sent] = {}

    def sizes(self, step: int) -> tuple[int, ...]:
        """The size of each segment under the collective of a step."""
        return tuple(segment.size for segment in self._call(step).group.segments)

    def has_switch(self, step: int) -> bool:
        """Whether a switch takes part in a step, to which messages go."""
        return has_switch_program(self._call(step).method)

    def sent(self, step: int, message: Message) -> Sent:
        """A message of a step."""
        key = step, message
        if key not in self._sent:
            lane = self._lanes_of(step, message.sender)[message.channel]
            send = lane[message.number]
            call = self._call(step)
            regions = _regions(call, message.sender, send)
            segments = len(call.group.segments)
            texts = [region.text(segments) for region in regions]
            way = self._way(step, message, send)
            self._sent[key] = Sent(send, len(lane), regions, texts, way)
        return self._sent[key]

    def _call(self, step: int) -> Call:
        call = self._calls[step]
        assert call is not None
        return call

    def _lanes_of(
        self, step: int, sender: Coordinate
    ) -> dict[tuple[int, int, int], tuple[Send, ...]]:
        """What a chip (or a switch that adds) sends in a step, by channel."""
        key = step, sender
        if key not in self._lanes:
            program = program_of(self._call(step), sender)
            self._lanes[key] = {lane.channel: lane.sends for lane in program.lanes}
        return self._lanes[key]

    def _way(self, step: int, message: Message, send: Send) -> Way:
        """The hops of a message."""
        call, (segment, _, _) = self._call(step), message.channel
        key = (step, message.sender, segment, send.offset)
        if key not in self._ways:
            self._ways[key] = call.way(message.sender, segment, send.offset)
        return self._ways[key]


def _regions(call: Call, sender: Coordinate, send: Send) -> tuple[Region, ...]:
    """What a send carries, by absolute places; those of a switch that adds are absolute already."""
    group = call.group
    sizes = [segment.size for segment in group.segments]
    place = group.place(sender) if sender in group else (0,) * len(sizes)
    rank = len(sizes)
    return tuple(
        Region(
            tuple(
                ALL if index is ALL else (place[at % rank] + index) % sizes[at % rank]
                for at, index in enumerate(piece.block)
            ),
            piece.share,
        )
        for piece in send.pieces
    )


def _place_text(place: Block) -> str:
    texts = ["*" if index is ALL else str(index) for index in place]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
