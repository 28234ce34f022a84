"""One ring, line or switch of chips under a mesh axis, and how it lies on the links.

Where each step along a segment is one link that no other step uses, a closed form is exact. Where a
step takes several links (dilation), or several steps share one (congestion), or links differ, the
crossings say which steps each link carries, and a formula can tell a bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from shardsim.hardware import Link
from shardsim.vocabulary import DimensionKind

if TYPE_CHECKING:
    from shardsim.topology import Dimension

__all__ = ["Crossing", "Segment", "piece_of"]


class Crossing(NamedTuple):
    """How often one link is crossed when every chip takes a step up, and when it takes one down.

    Along a line steps carry different amounts, so they are listed too, each by the rank of its
    lower end.
    """

    up: int
    down: int
    link: Link
    up_steps: tuple[int, ...] = ()
    down_steps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A ring, line or switch of `size` chips.

    Attributes:
        name: For people: `y`, or `y:(4)4` for a part of dimension y.
        size: Chips along it.
        kind: How they are connected.
        link: One link (one port, at a switch) as most are.
        spacing: How far apart its chips are along the dimension.
        crossings: What single links carry, each sort once; empty where each link carries one step.
        leaving: Of the steps up and down, how many links they take out of one chip, each sort once;
            empty where each chip sends one step up and one down.
        dimension: The topology dimension, by index; None for an order of chips.
        reduces: Whether the switch can add.
        reason: Why it is a ring or a line.
    """

    name: str
    size: int
    kind: DimensionKind
    link: Link
    reason: str
    spacing: int = 1
    crossings: tuple[Crossing, ...] = ()
    leaving: tuple[tuple[int, int], ...] = ()
    dimension: int | None = None
    reduces: bool = False

    @property
    def stride(self) -> int:
        """Links that one step takes, each shared by as many groups."""
        return 1 if self.kind is DimensionKind.SWITCH else self.spacing

    @property
    def is_physical(self) -> bool:
        """Whether all groups together use each link for one step at most, and all links alike."""
        return not self.crossings and self.stride == 1

    @property
    def congestion(self) -> int:
        """The most steps in one direction that one link carries."""
        crossed = (max(crossing.up, crossing.down) for crossing in self.crossings)
        return max(crossed, default=self.stride)


def piece_of(dimension: Dimension, index: int, spacing: int, size: int) -> Segment:
    """The chips of one dimension that are `spacing` apart, `size` of them in a row.

    All of a dimension is what the dimension is. A part of it: neighbours are a line, since the
    wraparound link is not among them; chips further apart step over others, whose links they share.
    """
    whole = spacing == 1 and size == dimension.size
    name = (
        dimension.name if whole else f"{dimension.name}:({dimension.size // spacing // size}){size}"
    )
    kind, reason = dimension.kind, dimension.reason
    if not whole and kind is DimensionKind.SWITCH:
        reason = f"{size} of the {dimension.size} chips at switch {dimension.name}"
    elif not whole and spacing == 1:
        lost = kind is DimensionKind.RING
        kind = DimensionKind.LINE
        reason = f"{size} neighbours of the {dimension.size} chips of {dimension.name}"
        reason += ": the wraparound link is not among theirs" if lost else ""
    elif not whole:
        around = spacing * size == dimension.size and kind is DimensionKind.RING
        kind = DimensionKind.RING if around else DimensionKind.LINE
        reason = (
            f"{size} chips of {dimension.name}, {spacing} apart: "
            f"a step is {spacing} hops, over links that {spacing} groups share"
        )
    return Segment(
        name=name,
        size=size,
        kind=kind,
        link=dimension.link,
        spacing=spacing,
        dimension=index,
        reduces=dimension.reduces,
        reason=reason,
    )
