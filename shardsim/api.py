"""The Python interface: text in, plans and runs out. `import shardsim as ss` gives these names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardsim.comparison import Run
    from shardsim.notation import Statement
    from shardsim.planner import Plan
    from shardsim.scenario import Scenario

    What = Scenario | str | Statement | Sequence[str | Statement]

__all__ = ["plan", "run"]


def plan(what: What, **settings: Any) -> Plan:
    """Plans a line of notation (or several) on a machine.

    Args:
        what: The notation; or a scenario, which says all settings itself.
        settings: `topology` and `dims`; optionally `mesh`, `layout`, `dtype`, `policy`,
            `objective`, `algorithm`, `latency_model`, `name`: as in a scenario file.

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

    return plan_scenario(_scenario(what, settings))


def run(what: What, **settings: Any) -> Run:
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

    return run_scenario(_scenario(what, settings))


def _scenario(what: What, settings: Mapping[str, Any]) -> Scenario:
    """The scenario itself, or one of notation and settings; unknown settings are refused."""
    import inspect

    from shardsim.documents import nearest
    from shardsim.errors import ScenarioError
    from shardsim.notation import Statement
    from shardsim.scenario import Scenario, make_scenario

    if isinstance(what, Scenario):
        if settings:
            raise ScenarioError(
                f"{', '.join(settings)}: not together with a scenario, which says this itself",
                "leave the settings out, or give the notation instead of the scenario",
            )
        return what
    if not isinstance(what, str | list | tuple | Statement):
        raise ScenarioError(
            f"this takes notation or a Scenario, not a {type(what).__name__}",
            "give a line of notation with its settings, or load_scenario(file)",
        )
    if isinstance(what, str) and what.endswith((".yaml", ".yml")):
        raise ScenarioError(f"{what} is the name of a file", f"give load_scenario({what!r})")
    known = [name for name in inspect.signature(make_scenario).parameters if name != "program"]
    for name in settings:
        if name not in known:
            raise ScenarioError(
                f"unknown setting {name}; known: {', '.join(known)}",
                nearest(name, known) or "leave it out",
            )
    for name, example in (("topology", '"v5e:4x4"'), ("dims", '{"I": 8192}')):
        if name not in settings:
            raise ScenarioError(
                f"{name} is missing; a line of notation needs it", f"add {name}={example}"
            )
    return make_scenario(what, **settings)
