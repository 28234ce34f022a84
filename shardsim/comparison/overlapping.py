"""A plan simulated with the overlap that a scenario asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shardsim.comparison.exposure import exposed_by_step
from shardsim.units import format_seconds
from shardsim.vocabulary import Overlap

if TYPE_CHECKING:
    from shardsim.overlap import Considered
    from shardsim.planner import Plan
    from shardsim.program import Options
    from shardsim.timeline import Timeline
    from shardsim.units import Seconds

__all__ = ["exposed", "overlapped"]


def overlapped(plan: Plan, options: Options) -> tuple[Plan, tuple[Considered, ...], Timeline]:
    """The plan as it is done, what was considered, and its timeline.

    `auto` leaves apart what other work hides anyway, and everything where the whole run would take
    longer.
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
    hidden = [step for step, seconds in exposed(plain, plan).items() if not seconds]
    made, considered = decompose(plan, cost, form=options.form, only_faster=True, apart=hidden)
    together = timed(made) if made.decomposed else plain
    if together.makespan < plain.makespan or not made.decomposed:
        return made, considered, together
    why = (
        f"one after the other: in the whole run together would take "
        f"{format_seconds(together.makespan)}, apart {format_seconds(plain.makespan)}"
    )
    _, again = decompose(plan, cost, form=options.form, only_faster=True, apart=plan.collectives)
    told = {one.text: one for one in considered if one.chosen is not None}
    return plan, tuple(replace(one, why=why) if one.text in told else one for one in again), plain


def exposed(timeline: Timeline, plan: Plan) -> dict[int, Seconds]:
    """For each collective how long it is exposed on the chip that finishes last."""
    if not timeline.activities:
        return {}
    return exposed_by_step(timeline, timeline.last_chip, plan.collectives)
