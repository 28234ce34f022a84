"""A plan simulated with the overlap that a scenario asks for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shardsim.comparison.exposure import exposed_by_step
from shardsim.vocabulary import Overlap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shardsim.overlap import Considered
    from shardsim.planner import Plan
    from shardsim.program import Options
    from shardsim.timeline import Timeline

__all__ = ["overlapped"]

MOST_TRIED = 6


def overlapped(plan: Plan, options: Options) -> tuple[Plan, tuple[Considered, ...], Timeline]:
    """The plan as it is done, what was considered, and its timeline.

    `auto` leaves apart what other work hides anyway, and what makes the whole run no shorter.
    """
    from shardsim.engine import simulate  # here, so that planning does not load it
    from shardsim.overlap import decompose
    from shardsim.scenario import cost_model

    def timed(some: Plan) -> Timeline:
        return simulate(
            some, options.overlap, slowdown=options.compute_slowdown, prefetch=options.prefetch
        )

    if options.overlap in (Overlap.NONE, Overlap.ASYNC):
        return plan, (), timed(plan)
    cost = cost_model(options)
    if options.overlap is Overlap.DECOMPOSED:
        made, considered = decompose(plan, cost, form=options.form)
        return made, considered, timed(made)
    plain = timed(plan)
    bared = exposed_by_step(plain, plan.collectives)
    hidden = "other work hides the communication already"
    kept = {step: hidden for step, (bare, _) in bared.items() if not bare}
    search = partial(decompose, plan, cost, form=options.form, only_faster=True)
    made, considered = search(apart=kept)
    together = timed(made) if made.decomposed else plain
    if together.makespan < plain.makespan or not made.decomposed:
        return made, considered, together
    return _one_by_one(search, timed, plain, kept, considered)


def _one_by_one(
    search: Callable[..., tuple[Plan, tuple[Considered, ...]]],
    timed: Callable[[Plan], Timeline],
    plain: Timeline,
    kept: dict[int, str],
    considered: Sequence[Considered],
) -> tuple[Plan, tuple[Considered, ...], Timeline]:
    """Where all pairs together are no faster: those that are, each tried by itself.

    Where there are many, none.
    """
    why = "in the whole run that would not be faster"
    asked = [one.given for one in considered if one.chosen is not None]
    kept = {**kept, **dict.fromkeys(asked, why)}
    best, told = search(apart=kept)
    timeline = plain
    for given in asked if len(asked) <= MOST_TRIED else ():
        fewer = {step: reason for step, reason in kept.items() if step != given}
        made, considered = search(apart=fewer)
        run = timed(made)
        if run.makespan < timeline.makespan:
            best, told, timeline, kept = made, considered, run, fewer
    return best, told, timeline
