"""Communication that nothing hides: per step, per class of chips, and what is meant by it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from shardsim.timeline import length, without
from shardsim.units import Seconds

if TYPE_CHECKING:
    from shardsim.timeline import Timeline

__all__ = [
    "DEFINITION",
    "ChipClass",
    "Shares",
    "chip_classes",
    "exposed_by_step",
    "last_chip",
    "shares_of",
]

DEFINITION = "exposed: the chip takes part in a collective, and its core does nothing"


class Shares(NamedTuple):
    """What a chip does in a run.

    Attributes:
        compute: Seconds in which its core is busy.
        communication: Seconds in which it takes part in a collective, latency included.
        exposed: Seconds of these in which its core does nothing.
        end: When it has done its last step.
    """

    compute: Seconds
    communication: Seconds
    exposed: Seconds
    end: Seconds


@dataclass(frozen=True, slots=True)
class ChipClass:
    """Chips that spend their time alike.

    Attributes:
        chips: How many.
        example: One of them.
        shares: What each of them does.
    """

    chips: int
    example: tuple[int, ...]
    shares: Shares

    def to_dict(self) -> dict[str, Any]:
        """An entry of `chip_classes` in the JSON."""
        return {
            "chips": self.chips,
            "example": list(self.example),
            "compute_seconds": float(self.shares.compute),
            "communication_seconds": float(self.shares.communication),
            "exposed_communication_seconds": float(self.shares.exposed),
            "end_seconds": float(self.shares.end),
        }


def shares_of(timeline: Timeline, chip: tuple[int, ...], collectives: frozenset[int]) -> Shares:
    """What one chip does; `collectives`: the steps that are."""
    busy, talking = timeline.computing(chip), timeline.communicating(chip, collectives)
    return Shares(
        timeline.seconds(length(busy)),
        timeline.seconds(length(talking)),
        timeline.seconds(length(without(talking, busy))),
        timeline.seconds(max((a.end for a in timeline.by_chip.get(chip, ())), default=0)),
    )


def chip_classes(timeline: Timeline, collectives: frozenset[int]) -> tuple[ChipClass, ...]:
    """All chips in classes, the one with the most exposed communication first."""
    alike: defaultdict[Shares, list[tuple[int, ...]]] = defaultdict(list)
    for chip in timeline.chips:
        alike[shares_of(timeline, chip, collectives)].append(chip)
    found = (
        ChipClass(len(chips) * timeline.chips_per_record, chips[0], shares)
        for shares, chips in alike.items()
    )
    return tuple(sorted(found, key=lambda one: (-one.shares.exposed, one.example)))


def last_chip(timeline: Timeline, collectives: frozenset[int]) -> tuple[int, ...] | None:
    """The chip that finishes last; of several one with the most exposed communication."""
    if not timeline.activities:
        return None
    end = max(activity.end for activity in timeline.activities)
    last = sorted({a.chip for a in timeline.activities if a.end == end})
    return max(last, key=lambda chip: shares_of(timeline, chip, collectives).exposed)


def exposed_by_step(
    timeline: Timeline, collectives: frozenset[int]
) -> dict[int, tuple[Seconds, Seconds]]:
    """For each collective how long it is exposed, and how long it lasts, on the last chip.

    Where several go on at once and none is hidden, the time counts for each of them.
    """
    chip = last_chip(timeline, collectives)
    if chip is None:
        return {}
    busy = timeline.computing(chip)
    found: dict[int, tuple[Seconds, Seconds]] = {}
    for activity in timeline.by_chip[chip]:
        if activity.step in collectives:
            span = [(activity.start, activity.end)]
            bare = length(without(span, busy))
            found[activity.step] = timeline.seconds(bare), timeline.seconds(length(span))
    return found
