"""The most bytes that arrays take on a chip at once, as they come and go in a run."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.planner.memory import lifetimes

if TYPE_CHECKING:
    from shardsim.planner import Plan
    from shardsim.timeline import Timeline
    from shardsim.units import Bytes

__all__ = ["peak_in"]


def peak_in(timeline: Timeline, plan: Plan) -> Bytes:
    """The peak over all chips.

    Inputs stay, and so do results that no later statement reads. Another value is there from when
    the step that writes it begins to compute or to send on the chip, until the last step that reads
    it has ended there.
    """
    values = lifetimes(plan)
    kept = sum((value.size for value in values if value.made_by is None), Fraction(0))
    made = [value for value in values if value.made_by is not None]
    peak = kept
    for chip in timeline.chips:
        steps = {activity.step: activity for activity in timeline.by_chip[chip]}
        # at one time in the order of the steps; a step holds what it reads and writes together
        changes: list[tuple[int, int, int, Bytes]] = []
        for value in made:
            assert value.made_by is not None
            changes.append((steps[value.made_by].start, value.made_by, 0, value.size))
            if value.read_by:
                last = max(value.read_by, key=lambda step: (steps[step].end, step))
                changes.append((steps[last].end, last, 1, -value.size))
        held = kept
        for *_, change in sorted(changes):
            held += change
            peak = max(peak, held)
    return peak
