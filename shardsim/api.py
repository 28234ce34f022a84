"""The Python interface: text in, plans and runs out. `import shardsim as ss` gives these names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardsim.comparison import Run
    from shardsim.planner import Plan
    from shardsim.scenario import Scenario

__all__ = ["plan", "run"]


def plan(program: str | Sequence[str], **settings: Any) -> Plan:
    """Plans a line of notation (or several) on a machine.

    Args:
        program: The notation.
        settings: `topology` and `dims`; optionally `mesh`, `layout`, `dtype`, `policy`,
        `objective`,
            `algorithm`, `latency_model`: as in a scenario file.

    Returns:
        The plan: `steps`, `alternatives`, `to_dict()`.

    Raises:
        ShardsimError: the input is at fault; the message names the place and the way out.

    >>> made = plan("A[I, J_X] · B[J_X, K] -> C[I, K]", topology="v5e:4x4",
    ...             mesh={"X": 4, "Y": 4}, dims={"I": 512, "J": 512, "K": 512})
    >>> [step.op for step in made.steps]
    ['matmul', 'all_reduce']
    """
    from shardsim.comparison import plan_scenario
    from shardsim.scenario import make_scenario

    return plan_scenario(make_scenario(program, **settings))


def run(what: Scenario | str | Sequence[str], **settings: Any) -> Run:
    """Runs a scenario, or a line of notation (or several) with the settings of `plan`.

    Args:
        what: From `load_scenario`, or notation.
        settings: With notation: as for `plan`, and `overlap`.

    Returns:
        The run: `steps`, `totals`, `timeline`, `to_dict()`.

    Raises:
        ShardsimError: the input is at fault; the message names the place and the way out.

    >>> result = run("AllGather_Y A[E_Y, F]", topology="v5e:8x4", dims={"E": 2048, "F": 8192})
    >>> round(float(result.totals.simulated_seconds) * 1e6, 2)
    562.24
    """
    from shardsim.comparison import run_scenario
    from shardsim.scenario import Scenario, make_scenario

    scenario = what if isinstance(what, Scenario) else make_scenario(what, **settings)
    return run_scenario(scenario)
