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
    PngOption,
    RunSettings,
    StrategyOption,
    SvgOption,
    What,
    given,
    picture_paths,
    with_settings,
)
from shardsim.cli.output import EXPECTATION_FAILED, print_json, print_report, progress, say, status

if TYPE_CHECKING:
    from shardsim.comparison import Compared, Run
    from shardsim.comparison.over import Over

__all__ = ["compare", "plan", "run"]


@with_settings
def run(
    what: What,
    *,
    strategy: StrategyOption = None,
    trace: Annotated[
        Path | None, typer.Option(help="Write a trace for Perfetto (ui.perfetto.dev) here.")
    ] = None,
    svg: SvgOption = None,
    png: PngOption = None,
    source: FromOption = None,
    einsum: EinsumOption = None,
    as_json: JsonOption = False,
    **settings: Unpack[RunSettings],
) -> None:
    """Plan and simulate: each step's time by the book, exactly, and simulated.

    The picture shows what the core and the links of the busiest chip do.
    """
    from shardsim.comparison import run_scenario

    paths = picture_paths(svg, png)
    scenario = asked_scenario(what, strategy=strategy, source=source, einsum=einsum, **settings)
    with progress(scenario.program.mesh.topology.size):
        result = run_scenario(scenario)
    if trace is not None:
        from shardsim.perfetto import write_trace

        write_trace(result, trace)
        say(f"trace{_cut(result)} written to {trace}; open it at ui.perfetto.dev")
    for path in paths:
        from shardsim.plot import write_timeline

        write_timeline(result, path)
        say(f"picture written to {path}")
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
    over: Annotated[
        str | None,
        typer.Option(help="Also at these extents of a dimension, in all strategies: B=1024,2048."),
    ] = None,
    svg: SvgOption = None,
    png: PngOption = None,
    as_json: JsonOption = False,
    **settings: Unpack[RunSettings],
) -> None:
    """Run the strategies of a scenario file side by side: times, bytes, memory, and which is best.

    An option stands in for what the file says outside of its strategies; what a strategy sets
    itself stays. The picture is a heat map: strategies down, the extents of --over across.
    """
    from shardsim.comparison import run_comparison
    from shardsim.scenario import load_comparison

    paths, options = picture_paths(svg, png), given(**settings)
    comparison = load_comparison(file, **options)
    table = None if over is None else _over(file, over, options)
    with status() as note:
        compared = run_comparison(comparison, note)
    if paths:
        _heatmap(compared, table, paths)
    if as_json:
        found = compared.to_dict()
        print_json(found if table is None else {**found, "over": table.to_dict()})
    else:
        from rich.console import Group

        from shardsim.report import compare_report
        from shardsim.report.over import over_report

        more = [] if table is None else [over_report(table)]
        print_report(Group(compare_report(compared), *more))
    for name, text in compared.unmet():
        say(f"expectation of {name} not met: {text}")
    if compared.unmet():
        raise typer.Exit(EXPECTATION_FAILED)


def _over(file: str, text: str, options: dict[str, str]) -> Over:
    """The strategies at several extents of a dimension."""
    from shardsim.comparison.over import read_over, run_over

    with status() as note:
        return run_over(file, read_over(text), note, **options)


def _heatmap(compared: Compared, over: Over | None, paths: tuple[Path, ...]) -> None:
    """Writes the heat map: of several extents, or of the one that the file has."""
    from shardsim.plot.heatmap import write_heatmap

    columns = [("time", compared)]
    if over is not None:
        runs = (one for _, one in over.columns)
        columns = list(zip(over.labels, runs, strict=True))
    for path in paths:
        write_heatmap(compared.name, columns, path)
        say(f"picture written to {path}")
