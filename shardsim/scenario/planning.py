"""A program planned by the options of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardsim.cost import CostModel, Wanted
from shardsim.planner import make_plan

if TYPE_CHECKING:
    from shardsim.planner import Plan
    from shardsim.program import Options, Program

__all__ = ["plan_program"]


def plan_program(program: Program, options: Options) -> Plan:
    """Plans a program.

    Raises:
        PlanError: a statement cannot be done; it says why.
    """
    return make_plan(
        program,
        CostModel(
            options.latency_model, Wanted(options.algorithm, options.schedule, options.chunks)
        ),
        policy=options.policy,
        objective=options.objective,
        idle_axes=options.idle_axes,
    )
