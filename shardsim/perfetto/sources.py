"""Which messages brought what a message carries."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from shardsim.collectives import ALL, Action
from shardsim.perfetto.hops import Region

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardsim.perfetto.hops import Block
    from shardsim.timeline import Message

__all__ = ["Arrival", "Inbox"]

Mask = tuple[bool, ...]
"""Which indices of a block are `ALL`."""

Index = dict[tuple[int | None, ...], "list[tuple[Arrival, Region]]"]


class Arrival(NamedTuple):
    """A message that has come to a chip, in whole, at some tick."""

    at: int
    message: Message
    action: Action
    regions: tuple[Region, ...]


class Inbox:
    """The messages that come to one chip (or switch) in one step.

    Args:
        arrivals: In any order.
        sizes: The size of each segment of the group.
    """

    def __init__(self, arrivals: Iterable[Arrival], sizes: tuple[int, ...]) -> None:
        self._sizes = sizes
        self._by_mask: defaultdict[Mask, list[tuple[Arrival, Region]]] = defaultdict(list)
        for arrival in sorted(arrivals, key=lambda arrival: arrival[:2]):
            for region in arrival.regions:
                self._by_mask[_mask(region.block)].append((arrival, region))
        self._indices: dict[tuple[Mask, Mask], Index] = {}

    def sources(self, regions: Iterable[Region], until: int) -> list[Message]:
        """The messages that had brought some of the regions by a tick.

        A block that came as it is came by one message. A sum came by several: of these, the last on
        each channel. What the chip had by itself has no source.
        """
        sources: dict[Message, None] = {}
        for region in regions:
            stored: list[Region] = []
            added: list[tuple[Message, Region]] = []
            for arrival, brought in self._like(region):
                common = _common(brought, region)
                if common is None or arrival.at > until:
                    continue
                if arrival.action is Action.STORE:
                    stored.append(common)
                    sources[arrival.message] = None
                else:
                    added.append((arrival.message, common))
            if added and stored and self._covers(stored, region):
                continue
            last = {
                message.channel: message
                for message, common in added
                if not self._covers(stored, common)
            }
            sources |= dict.fromkeys(last.values())
        return list(sources)

    def _like(self, region: Region) -> Iterable[tuple[Arrival, Region]]:
        """What may have some of a region: no index differs, where neither is `ALL`."""
        wanted = _mask(region.block)
        for mask, entries in self._by_mask.items():
            both = [not (a or b) for a, b in zip(mask, wanted, strict=True)]
            if (mask, wanted) not in self._indices:
                index: Index = {}
                for entry in entries:
                    index.setdefault(_picked(entry[1].block, both), []).append(entry)
                self._indices[mask, wanted] = index
            yield from self._indices[mask, wanted].get(_picked(region.block, both), ())

    def _covers(self, parts: list[Region], whole: Region) -> bool:
        """Whether parts that do not overlap make up a region."""
        if not parts:
            return False
        common = (_common(part, whole) for part in parts)
        covered = sum((self._size(part) for part in common if part is not None), Fraction(0))
        return covered >= self._size(whole)

    def _size(self, region: Region) -> Fraction:
        """In blocks."""
        rank = len(self._sizes)
        count = math.prod(
            self._sizes[at % rank] for at, index in enumerate(region.block) if index is ALL
        )
        low, high = region.share
        return count * (high - low)


def _mask(block: Block) -> Mask:
    return tuple(index is ALL for index in block)


def _picked(block: Block, which: list[bool]) -> tuple[int | None, ...]:
    return tuple(index for index, picked in zip(block, which, strict=True) if picked)


def _common(one: Region, other: Region) -> Region | None:
    """What two regions have in common.

    >>> from fractions import Fraction as F
    >>> half, whole = (F(1, 2), F(1)), (F(0), F(1))
    >>> _common(Region((ALL, 2), whole), Region((1, ALL), half)).text(2)
    '(1, 2) [1/2, 1)'
    >>> _common(Region((ALL, 2), whole), Region((1, 3), half))
    """
    low, high = one.share
    if one.share != other.share:
        low, high = max(low, other.share[0]), min(high, other.share[1])
        if low >= high:
            return None
    block: list[int | None] = []
    for a, b in zip(one.block, other.block, strict=True):
        if a is not ALL and b is not ALL and a != b:
            return None
        block.append(b if a is ALL else a)
    return Region(tuple(block), (low, high))
