"""The commands that take a scenario: `run`, `plan`, `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from shardsim.cli.arguments import asked_scenario
from shardsim.cli.options import (
    EinsumOption,
    FromOption,
    JsonOption,
    PlanSettings,
    RunSettings,
    StrategyOption,
    What,
    given,
    with_settings,
)
from shardsim.cli.output import EXPECTATION_FAILED, print_json, print_report, progress, say, status

if TYPE_CHECKING:
    from shardsim.comparison import Run

__all__ = ["compare", "plan", "run"]


@with_settings
def run(
    what: What,
    *,
    strategy: StrategyOption = None,
    trace: Annotated[
        Path | None, typer.Option(help="Write a trace for Perfetto (ui.perfetto.dev) here.")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Write a picture of what the busiest chip does here.")
    ] = None,
    source: FromOption = None,
    einsum: EinsumOption = None,
    as_json: JsonOption = False,
    **settings: Unpack[RunSettings],
) -> None:
    """Plan and simulate: each step's time by the book, exactly, and simulated."""
    from shardsim.comparison import run_scenario

    scenario = asked_scenario(what, strategy=strategy, source=source, einsum=einsum, **settings)
    with progress(scenario.program.mesh.topology.size):
        result = run_scenario(scenario)
    if trace is not None:
        from shardsim.perfetto import write_trace

        write_trace(result, trace)
        say(f"trace{_cut(result)} written to {trace}; open it at ui.perfetto.dev")
    if svg is not None:
        from shardsim.plot import write_timeline

        write_timeline(result, svg)
        say(f"picture written to {svg}")
    if as_json:
        print_json(result.to_dict())
    else:
        from shardsim.report import run_report

        print_report(run_report(result))
    failed = [check.text for check in result.checks() if not check.met]
    for text in failed:
        say(f"expectation not met: {text}")
    if failed:
        raise typer.Exit(EXPECTATION_FAILED)


def _cut(result: Run) -> str:
    """How many of the chips a trace shows, where it does not show all."""
    from shardsim.perfetto import MOST_CHIPS

    chips = result.plan.mesh.topology.size
    return f" of the first {MOST_CHIPS} of {chips:,} chips" if chips > MOST_CHIPS else ""


@with_settings
def plan(
    what: What,
    *,
    strategy: StrategyOption = None,
    source: FromOption = None,
    einsum: EinsumOption = None,
    as_json: JsonOption = False,
    **settings: Unpack[PlanSettings],
) -> None:
    """Plan only: the steps, the rule behind them, and the other ways with their prices."""
    from shardsim.comparison import plan_scenario

    scenario = asked_scenario(what, strategy=strategy, source=source, einsum=einsum, **settings)
    made = plan_scenario(scenario)
    if as_json:
        print_json({"name": scenario.name, **made.to_dict()})
    else:
        from shardsim.report import plan_report

        print_report(plan_report(made, scenario.name, scenario.options.objective))


@with_settings
def compare(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A scenario file with strategies.")],
    *,
    as_json: JsonOption = False,
    **settings: Unpack[RunSettings],
) -> None:
    """Run the strategies of a scenario file side by side: times, bytes, memory, and which is best.

    An option stands in for what the file says outside of its strategies; what a strategy sets
    itself stays.
    """
    from shardsim.comparison import run_comparison
    from shardsim.scenario import load_comparison

    comparison = load_comparison(file, **given(**settings))
    with status() as note:
        compared = run_comparison(comparison, note)
    if as_json:
        print_json(compared.to_dict())
    else:
        from shardsim.report import compare_report

        print_report(compare_report(compared))
    for name, text in compared.unmet():
        say(f"expectation of {name} not met: {text}")
    if compared.unmet():
        raise typer.Exit(EXPECTATION_FAILED)
