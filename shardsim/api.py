"""The Python interface: text in, plans and runs out. `import shardsim as ss` gives these names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from shardsim.comparison import CollectiveRun, Compared, Run
    from shardsim.notation import Statement
    from shardsim.planner import Plan
    from shardsim.rooflines import Answer
    from shardsim.scenario import Comparison, Scenario
    from shardsim.topology import Topology
    from shardsim.verification import Verification

    On = str | os.PathLike[str] | Mapping[str, object] | Topology
    What = Scenario | str | Statement | Sequence[str | Statement]

__all__ = ["collective", "compare", "plan", "roofline", "run", "verify"]


def plan(what: What, **settings: Any) -> Plan:
    """Plans a line of notation (or several) on a machine.

    Args:
        what: The notation, in which `-> C` leaves the sharding of a contraction's result open; or a
            scenario, which says all settings itself.
        settings: `topology` and `dims`; optionally `mesh`, `layout`, `devices`, `dtype`, `policy`,
            `objective`, `idle_axes`, `uneven`, `algorithm`, `schedule`, `chunks`, `tile`, `repeat`,
            `latency_model`, `efficiency`, `launch_overhead`, `name`: as in a scenario file.

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
        settings: With notation: as for `plan`, and `overlap`, `form`, `prefetch`,
            `compute_slowdown`.

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


def compare(what: Comparison | str | os.PathLike[str], **changes: str) -> Compared:
    """Runs the strategies of a scenario file side by side.

    Args:
        what: The file, or what `load_comparison` makes of it.
        changes: With a file: texts as on the command line that stand in for what it says outside
            of its strategies.

    Returns:
        What came out: `rows` with a `run` each, `best`, `slowdown(row)`, `to_dict()`.

    Raises:
        ShardsimError: the input is at fault; the message names the place and the way out.

    >>> found = compare("compare-sharded-contraction")
    >>> found.best.name, [row.fits for row in found.rows]
    ('scatter the products', [True, True, True])
    """
    from shardsim.comparison import run_comparison
    from shardsim.errors import ScenarioError
    from shardsim.scenario import Comparison, load_comparison

    if not isinstance(what, Comparison):
        return run_comparison(load_comparison(what, **changes))
    if changes:
        raise ScenarioError(
            f"{', '.join(changes)}: not together with a comparison, which says this itself",
            "leave them out, or give the file instead",
        )
    return run_comparison(what)


def collective(kind: str, **settings: Any) -> CollectiveRun:
    """Prices and simulates one collective by itself.

    Args:
        kind: all_gather, reduce_scatter, all_reduce, all_to_all, permute, gather or send, in any
            common spelling.
        settings: `size` (as benchmarks name it: of an AllToAll and a permute what one chip sends,
            else of the whole array) and `topology`; optionally `mesh`, `layout`, `devices`, `axes`,
            `algorithm`, `schedule`, `chunks`, `latency_model`, `efficiency`, `launch_overhead`; for
            a permute `shift`, for a gather `root`, for a send `start`, `end` and `ways`.

    Returns:
        The run: `simulated`, `price`, `algbw`, `busbw`, `wire_utilization`, `advice`, `to_dict()`.

    Raises:
        ShardsimError: the input is at fault; the message names the place and the way out.

    >>> result = collective("all_gather", size="32 MiB", topology="h100:8")
    >>> round(float(result.simulated) * 1e6, 1), result.simulated == result.price.exact.total
    (66.1, True)
    """
    from shardsim.comparison import run_asked
    from shardsim.scenario import make_collective

    _check_settings(settings, make_collective, "kind", size="32 MiB", topology="h100:8")
    return run_asked(make_collective(kind, **settings))


def roofline(
    what: str | Statement | Sequence[str | Statement] | None = None, *, on: On, **settings: Any
) -> Answer:
    """What binds one chip: how long it computes, and how long its bytes take by each channel.

    Args:
        what: Notation, one line or several; or nothing, with `flops` and `moved` (bytes).
        on: A chip (`v5e`), a slice (`v5e:4x4`), a topology file or the same as a mapping.
        settings: With notation `dims`; optionally `dtype`, `figures` (instead of the catalogue's),
            `through` (where operands come from), `fused`, `solve` (a dimension), `small`, `mesh`,
            `layout`, `devices`, `policy`, `objective`, `idle_axes`, `uneven`, `algorithm`,
            `schedule`, `chunks`, `latency_model`, `efficiency`, `launch_overhead`.

    Returns:
        The answer: `roofline` with its times and bounds; `solved`, for each channel the extent at
        which computing takes as long, `exact` and `approximate` (first order).

    Raises:
        ShardsimError: the input is at fault; the message names the place and the way out.

    >>> found = roofline("X[B, D] · W[D, F] -> Y[B, F]", on="v5e", dims="D=4096,F=4096", solve="B")
    >>> found.roofline.bound, [round(float(one.exact), 1) for one in found.solved]
    ('compute', [272.2])
    """
    from shardsim.rooflines import ask_roofline

    return ask_roofline(what, on=on, **settings)


def verify(topology: On, *, cases: int = 100, seed: int = 1, **mesh: Any) -> Verification:
    """Checks a machine: simulated times against closed forms, laws of time, real numbers.

    Args:
        topology: A reference, a topology file, a scenario file, a mapping or a topology.
        cases: Random cases of each check.
        seed: What they are drawn with; the same seed draws the same cases.
        mesh: `mesh`, `layout` and `devices`, as in a scenario file.

    Returns:
        What was found: `passed`, `checks`, `busiest`, `to_dict()`.

    Raises:
        ShardsimError: the input is at fault; the message names the place and the way out.

    >>> found = verify("ring-of-8", cases=4)
    >>> found.passed, found.checks[0].name
    (True, 'simulated = closed form')
    """
    from shardsim.errors import ScenarioError
    from shardsim.verification import find_machine, verify_machine

    if cases < 1:
        raise ScenarioError(f"{cases} cases check nothing", "give 1 or more")
    _check_settings(mesh, find_machine, "what")
    return verify_machine(find_machine(topology, **mesh), cases=cases, seed=seed)


def _scenario(what: What, settings: Mapping[str, Any]) -> Scenario:
    """The scenario itself, or one of notation and settings; unknown settings are refused."""
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
    _check_settings(settings, make_scenario, "program", topology="v5e:4x4", dims={"I": 8192})
    return make_scenario(what, **settings)


def _check_settings(
    settings: Mapping[str, Any], made_by: Callable[..., Any], first: str, **needed: object
) -> None:
    """Refuses unknown settings, and asks for those that are needed, each with an example."""
    import inspect

    from shardsim.documents import nearest
    from shardsim.errors import ScenarioError

    known = [name for name in inspect.signature(made_by).parameters if name != first]
    for name in settings:
        if name not in known:
            raise ScenarioError(
                f"unknown setting {name}; known: {', '.join(known)}",
                nearest(name, known) or "leave it out",
            )
    what = "a line of notation" if first == "program" else "a collective"
    for name, example in needed.items():
        if name not in settings:
            shown = f'"{example}"' if isinstance(example, str) else str(example).replace("'", '"')
            raise ScenarioError(f"{name} is missing; {what} needs it", f"add {name}={shown}")
