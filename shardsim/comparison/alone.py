"""The steps of a plan by themselves: how long each takes, and what that says of all together."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.planner import CollectiveStep

if TYPE_CHECKING:
    from shardsim.planner import Plan, Step
    from shardsim.timeline import Timeline, Track
    from shardsim.units import Seconds

__all__ = ["Alone"]


class Alone:
    """The steps of a plan by themselves; equal ones are simulated once."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._known: dict[object, Timeline] = {}

    def timeline(self, step: Step) -> Timeline:
        """One step, of this plan or of what is made of it."""
        from shardsim.engine import simulate_step  # here, so that planning does not load it

        key = _alike(step)
        if key not in self._known:
            self._known[key] = simulate_step(self.plan, step)
        return self._known[key]

    def in_turn(self) -> Seconds:
        """One after the other."""
        return sum((self.timeline(step).makespan for step in self.plan.steps), Fraction(0))

    def busiest(self) -> Seconds:
        """How long the busiest core or link is busy with all of them."""
        busy: dict[Track, Seconds] = {}
        steps = {_alike(step): step for step in self.plan.steps}
        for key, count in Counter(map(_alike, self.plan.steps)).items():
            timeline = self.timeline(steps[key])
            for track in timeline.by_track:
                busy[track] = busy.get(track, Fraction(0)) + count * timeline.busy(track)
        return max(busy.values(), default=Fraction(0))


def _alike(step: Step) -> object:
    """What steps that take as long by themselves have in common."""
    return step.call if isinstance(step, CollectiveStep) else step.seconds
