"""Runs and plans as text for people: tables that fit 100 columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shardsim.comparison import step_advice
from shardsim.comparison.rows import busiest_chip
from shardsim.planner import CollectiveStep, MatmulStep
from shardsim.program import arrays_of
from shardsim.report.gantt import gantt
from shardsim.report.overlap import exposure, together
from shardsim.report.parts import (
    BOUNDS,
    SIGNS,
    Advice,
    Sentence,
    StepText,
    axis_lines,
    calibration_lines,
    in_words,
    new_table,
    title,
)
from shardsim.report.ways import cheaper, shown, turning_points, ways
from shardsim.units import format_bytes, format_capacity, format_flops, format_seconds
from shardsim.vocabulary import Algorithm, DimensionKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from shardsim.comparison import Run
    from shardsim.planner import Plan, Step
    from shardsim.vocabulary import Objective

__all__ = ["plan_report", "run_report"]


def run_report(run: Run) -> RenderableType:
    """Head, why, steps with three times, totals, expectations, and a strip chart of one chip."""
    plan = run.plan
    simulated = [times.simulated for times in run.steps]
    parts: list[RenderableType] = [*_head(plan, run.scenario.name), *_why(plan)]
    parts += [title("Steps"), _steps(plan, simulated), *_notes(plan)]
    parts += _advice([one for one in run.advice if one[0] < plan.first_steps])
    parts += together(run)
    parts += [*cheaper(plan, run.scenario.options.objective), *turning_points(plan)]
    parts += [title("Totals"), _totals(run)]
    if run.totals.simulated_seconds:
        parts += exposure(run)
        chip = ", ".join(map(str, busiest_chip(run)))
        legend = "a number is the step, - busy less than half, . idle"
        parts += [title(f"The busiest chip, ({chip}): {legend}"), _Strip(run)]
    checks = run.checks()
    if checks:
        parts.append(title("Expectations"))
        parts += [
            Text(
                f"  {'met' if check.met else 'NOT MET'}: {check.text}",
                style="green" if check.met else "bold red",
            )
            for check in checks
        ]
    return Group(*parts)


def plan_report(plan: Plan, name: str, objective: Objective) -> RenderableType:
    """Head, why, steps by formula, and the alternatives."""
    parts: list[RenderableType] = [*_head(plan, name), *_why(plan)]
    parts += [title("Steps"), _steps(plan, None), *_notes(plan)]
    advice = [one for one in step_advice(plan) if one[0] < plan.first_steps]
    parts += [*_advice(advice), *cheaper(plan, objective)]
    parts += [*turning_points(plan), *ways(plan)]
    return Group(*parts)


@dataclass(frozen=True, slots=True)
class _Strip:
    """The strip chart, as wide as the terminal allows."""

    run: Run

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("\n".join(gantt(self.run, page=options.max_width)), no_wrap=True)


def _head(plan: Plan, name: str) -> list[RenderableType]:
    topology = plan.mesh.topology
    chip = topology.chip
    sizes = " ".join(f"{axis.name}={axis.size}" for axis in plan.mesh.axes)
    extents = " ".join(f"{dim}={size}" for dim, size in plan.program.extents)
    program = plan.program
    statements = [str(statement) for statement in program.written]
    lines: list[RenderableType] = []
    if name == "; ".join(statements):
        lines += [Text(text, style="bold") for text in statements]
    else:
        lines += [Text(name, style="bold"), *(Sentence(text) for text in statements)]
    if program.repeat > 1:
        lines.append(Sentence(f"{program.repeat} times, each time with weights of its own"))
    lines.append(Text(f"on {topology.name}: {topology.size:,} x {chip.title or chip.name}"))
    lines.append(Text(f"mesh {sizes}; dims {extents}; {_dtypes(plan)}"))
    lines += [
        Sentence(
            f"{one.dim} is padded from {one.asked:,} to {one.extent:,}, a multiple of {one.ways}: "
            f"{float(one.waste):.1%} of it is waste, and is priced like the rest"
        )
        for one in plan.program.padding
    ]
    kinds = dict.fromkeys(curve.kind.value for curve in topology.calibration.curves)
    measured = [f"{', '.join(kinds)} as measured"] if kinds else []
    real = [*measured, *calibration_lines(topology.calibration)]
    if real:
        lines.append(Sentence(f"real links: {'; '.join(real)}"))
    return [*lines, *(line for axis in plan.mesh.axes for line in axis_lines(axis))]


def _dtypes(plan: Plan) -> str:
    """The default element type, then those of arrays that have another."""
    default = plan.program.dtypes.default
    written = {a.name for statement in plan.program.written for a in arrays_of(statement)}
    values = [value.sharded for _, value in plan.inputs] + [v.sharded for v in plan.results]
    values = [value for value in values if value.array.name in written]
    others = {v.array.name: v.dtype.value for v in values if v.array.name}
    others = {name: dtype for name, dtype in others.items() if dtype != default.value}
    return ", ".join([default.value, *(f"{name} {dtype}" for name, dtype in others.items())])


def _why(plan: Plan) -> list[RenderableType]:
    """The rule for each axis; under its statement where there are several."""
    lines: list[RenderableType] = []
    choices = plan.first_choices
    for choice in choices:
        if len(choices) > 1 and choice.reasons:
            lines.append(Sentence(choice.text))
        indent = 2 if len(choices) > 1 else 0
        lines += [Padding(Sentence(reason), (0, 0, 0, indent)) for reason in choice.reasons]
    return [title("Why"), *lines] if lines else []


def _steps(plan: Plan, simulated: Sequence[Fraction] | None) -> RenderableType:
    steps, once = plan.steps, plan.first_steps
    if not steps:
        return Text("  nothing to do: no chip computes or communicates")
    names = ["#", "step", "works on", "book", "exact"]
    table = new_table(*names, *([] if simulated is None else ["simulated"]))
    for column in table.columns[2:]:
        column.justify = "right"
        column.no_wrap = True
    for index, step in enumerate(steps[:once]):
        row = [_work(step), *_formulas(step)]
        if simulated is not None:
            row.append("free" if not step.seconds else format_seconds(simulated[index]))
        table.add_row(Text(str(index + 1)), StepText(shown(step)), *(Text(cell) for cell in row))
    if once == len(steps):
        return table
    times = plan.program.repeat - 1
    more = f"and {times} times more: steps {once + 1} to {len(steps)}"
    return Group(table, Sentence(more))


def _work(step: Step) -> str:
    match step:
        case MatmulStep():
            by_flops = step.price.compute >= step.price.memory
            return format_flops(step.flops) if by_flops else f"{format_bytes(step.traffic)} of HBM"
        case CollectiveStep():
            return format_bytes(step.size)
        case _:
            return ""


def _formulas(step: Step) -> tuple[str, str]:
    match step:
        case CollectiveStep():
            bound = SIGNS[step.price.relation]
            return format_seconds(step.price.book), bound + format_seconds(step.seconds)
        case MatmulStep():
            return format_seconds(step.seconds), format_seconds(step.seconds)
        case _:
            return "free", "free"


def _notes(plan: Plan) -> list[RenderableType]:
    """What the numbers mean: what a step works on, and the formulas of each collective."""
    first = plan.steps[: plan.first_steps]
    collectives = [(i, s) for i, s in enumerate(first, 1) if isinstance(s, CollectiveStep)]
    notes = []
    if any(isinstance(step, MatmulStep) for step in plan.steps):
        notes.append("a matmul works on FLOPs, or on HBM traffic where that takes longer")
    if collectives:
        notes.append(
            "a collective works on V: the bytes of the whole array as one group of chips sees it"
        )
    for index, step in collectives:
        price = step.price
        bound = BOUNDS[price.relation]
        words = in_words(step.call)
        comma = "; " if words.startswith("on ") else ", "
        form = f"{bound}{price.exact_formula}{comma}{words}"
        notes.append(f"{index} exact, {_fabric(step)}: {form}")
        switched = any(s.kind is DimensionKind.SWITCH for s in step.call.group.segments)
        taken = "" if switched else ", any axis taken for a ring"
        notes.append(f"{index} book{taken}: {price.book_formula}")
    return [Sentence(note) for note in notes]


def _advice(advice: Sequence[tuple[int, str]]) -> list[RenderableType]:
    """What people should know of how a step's axes lie."""
    return [Advice(f"step {index + 1}: {text}") for index, text in advice]


def _fabric(step: CollectiveStep) -> str:
    """What a collective runs on, and how where there is a choice."""
    segments, method = step.call.group.segments, step.call.method
    on = " and ".join(f"a {segment.kind.value} of {segment.size}" for segment in segments)
    only = method.algorithms == (Algorithm.LINE,) and method.chunks == 1
    return f"on {on}" if only else f"on {on}, {method.name}"


def _totals(run: Run) -> Table:
    totals = run.totals
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
    capacity = run.plan.mesh.topology.chip.hbm_capacity
    fits = "fits in" if totals.peak_memory_bytes_per_chip <= capacity else "DOES NOT FIT in"
    rows = [
        (
            "simulated",
            format_seconds(totals.simulated_seconds),
            f"bound by {totals.bound}" if totals.simulated_seconds else "no step takes time",
        ),
        (
            "at least",
            format_seconds(totals.lower_bound_seconds),
            "ideal: the busiest core or link, latency apart",
        ),
        ("in turn", format_seconds(totals.upper_bound_seconds), "none: one step after the other"),
        (
            "compute",
            format_seconds(totals.compute_seconds),
            f"{float(totals.flops_utilization):.1%} of peak FLOP/s",
        ),
        (
            "communication",
            format_seconds(totals.communication_seconds),
            f"{format_seconds(totals.exposed_communication_seconds)} exposed, "
            f"{float(totals.overlap_fraction):.0%} hidden behind compute"
            if totals.communication_seconds
            else "nothing is sent",
        ),
        (
            "memory per chip",
            format_bytes(totals.peak_memory_bytes_per_chip),
            f"{fits} {format_capacity(capacity)}",
        ),
    ]
    if run.links:
        busiest = run.links[0]
        used = f"{busiest.name}: {float(busiest.utilization):.1%} of its bandwidth"
        rows.insert(5, ("busiest link", format_bytes(busiest.carried), used))
    for name, value, note in rows:
        table.add_row(Text(f"  {name}"), Text(value, justify="right"), Text(note))
    return table
