"""A program planned by the options of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardsim.cost import CostModel, Wanted
from shardsim.planner import make_plan

if TYPE_CHECKING:
    from shardsim.planner import Plan
    from shardsim.program import Options, Program

__all__ = ["cost_model", "plan_program"]


def cost_model(options: Options) -> CostModel:
    """The closed forms by the options of a scenario."""
    wanted = Wanted(options.algorithm, options.schedule, options.chunks)
    return CostModel(options.latency_model, wanted, options.tile)


def plan_program(program: Program, options: Options) -> Plan:
    """Plans a program.

    Raises:
        PlanError: a statement cannot be done; it says why.
    """
    return make_plan(
        program,
        cost_model(options),
        policy=options.policy,
        objective=options.objective,
        idle_axes=options.idle_axes,
    )
