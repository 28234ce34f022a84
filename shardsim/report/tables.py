"""Runs, plans and topologies as text for people: tables that fit 100 columns.

Everything is built from `Text` and tables without markup: rich would take `q[b, t_x]` for a style.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shardsim.planner import CollectiveStep, MatmulStep, SliceStep
from shardsim.report.gantt import busiest_chip, gantt
from shardsim.units import format_bytes, format_flops, format_rate, format_seconds
from shardsim.vocabulary import Algorithm, Objective, Relation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction
    from typing import IO

    from shardsim.comparison import Run
    from shardsim.mesh import Axis, Mesh
    from shardsim.planner import Alternative, Plan, Step
    from shardsim.topology import Topology

__all__ = ["plan_report", "render", "run_report", "topology_report"]

WIDTH = 100
MOST_ALTERNATIVES = 6
SIGNS = {
    Relation.EQUAL: "",
    Relation.LOWER_BOUND: "≥ ",
    Relation.UPPER_BOUND: "≤ ",
    Relation.LIMIT: "→ ",
}
BOUNDS = {
    Relation.EQUAL: "",
    Relation.LOWER_BOUND: "at least ",
    Relation.UPPER_BOUND: "at most ",
    Relation.LIMIT: "with many chunks ",
}


def render(what: RenderableType, file: IO[str]) -> str:
    """The text of a report for a stream: 100 columns at most, colour only on a terminal."""
    console = Console(file=file, markup=False, highlight=False, emoji=False)
    if console.width > WIDTH or not console.is_terminal:
        console.width = WIDTH
    with console.capture() as captured:
        console.print(what)
    text = captured.get()
    if console.is_terminal:
        return text
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def run_report(run: Run) -> RenderableType:
    """Head, why, steps with three times, totals, expectations, and a strip chart of one chip."""
    plan = run.plan
    simulated = [times.simulated for times in run.steps]
    parts: list[RenderableType] = [*_head(plan, run.scenario.name), *_why(plan)]
    parts += [_title("Steps"), _steps(plan.steps, simulated), *_notes(plan)]
    parts += _cheaper(plan, run.scenario.options.objective)
    parts += [_title("Totals"), _totals(run)]
    if run.totals.simulated_seconds:
        chip = ", ".join(map(str, busiest_chip(run)))
        legend = "a number is the step, - busy less than half, . idle"
        parts += [_title(f"The busiest chip, ({chip}): {legend}"), _Strip(run)]
    checks = run.checks()
    if checks:
        parts.append(_title("Expectations"))
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
    parts += [_title("Steps"), _steps(plan.steps, None), *_notes(plan), *_cheaper(plan, objective)]
    for choice in plan.choices:
        if len(choice.alternatives) > 1:
            ways, taken = choice.alternatives, choice.chosen
            shown = [way for i, way in enumerate(ways) if i < MOST_ALTERNATIVES or way is taken]
            parts += [_title(f"Ways to do {choice.text}"), _ways(shown, taken)]
            if len(ways) > len(shown):
                parts.append(_Sentence(f"and {len(ways) - len(shown)} more (--json has them all)"))
    return Group(*parts)


def topology_report(topology: Topology, mesh: Mesh | None) -> RenderableType:
    """A topology: its chip, and each dimension with its links and the reason for its kind."""
    chip = topology.chip
    peaks = ", ".join(f"{dtype.value} {format_rate(rate, 'FLOP')}" for dtype, rate in chip.peaks)
    table = _table("dimension", "axis", "size", "kind", "one way", "both ways", "latency")
    table.columns[2].justify = "right"
    axis_of: dict[int | None, str] = {}
    for axis in () if mesh is None else mesh.axes:
        axis_of.update({segment.dimension: axis.name for segment in axis.segments})
    for index, dimension in enumerate(topology.dimensions):
        link = dimension.link
        table.add_row(
            dimension.name,
            axis_of.get(index, "-"),
            str(dimension.size),
            dimension.kind.value,
            format_rate(link.one_way_bandwidth),
            format_rate(link.bidirectional_bandwidth),
            format_seconds(link.latency),
        )
    why = [_Sentence(f"{d.name}: {d.kind.value}: {d.reason}") for d in topology.dimensions]
    links = sum(d.directed_links * (topology.size // d.size) for d in topology.dimensions)
    return Group(
        Text(f"{topology.name}: {topology.size:,} x {chip.title or chip.name}", style="bold"),
        Text(f"  each: {peaks}"),
        Text(f"        HBM {format_bytes(chip.hbm_capacity)} at {format_rate(chip.hbm_bandwidth)}"),
        Text(f"  together: {links:,} directed links"),
        _title("Dimensions"),
        table,
        _title("Why a ring or a line"),
        *why,
    )


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A line of prose, indented, wrapped with its further lines indented more."""

    text: str

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(
            textwrap.fill(
                self.text,
                options.max_width,
                initial_indent="  ",
                subsequent_indent="     ",
                break_on_hyphens=False,
            )
        )


@dataclass(frozen=True, slots=True)
class _StepText:
    """A step in the notation; one that is too long goes on in a new line before its result."""

    text: str

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        parts = [self.text] if len(self.text) <= width else self.text.split(" -> ")
        shown = [parts[0], *(f"  -> {part}" for part in parts[1:])]
        lines = (textwrap.fill(line, width, subsequent_indent="    ") for line in shown)
        yield Text("\n".join(lines))

    def __rich_measure__(self, _: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(40, len(self.text)), len(self.text)).clamp(0, options.max_width)


@dataclass(frozen=True, slots=True)
class _Strip:
    """The strip chart, as wide as the terminal allows."""

    run: Run

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("\n".join(gantt(self.run, page=options.max_width)), no_wrap=True)


def _title(text: str) -> RenderableType:
    return Padding(Text(text, style="bold"), (1, 0, 0, 0))


def _table(*names: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))
    for name in names:
        table.add_column(Text(name), justify="left", overflow="fold")
    return table


def _head(plan: Plan, name: str) -> list[RenderableType]:
    topology = plan.mesh.topology
    chip = topology.chip
    sizes = " ".join(f"{axis.name}={axis.size}" for axis in plan.mesh.axes)
    extents = " ".join(f"{dim}={size}" for dim, size in plan.program.extents)
    statements = [str(statement) for statement in plan.program.statements]
    lines: list[RenderableType] = []
    if name == "; ".join(statements):
        lines += [Text(text, style="bold") for text in statements]
    else:
        lines += [Text(name, style="bold"), *(_Sentence(text) for text in statements)]
    lines.append(Text(f"on {topology.name}: {topology.size:,} x {chip.title or chip.name}"))
    lines.append(Text(f"mesh {sizes}; dims {extents}; {_dtypes(plan)}"))
    return [*lines, *(line for axis in plan.mesh.axes for line in _axis(axis))]


def _dtypes(plan: Plan) -> str:
    """The default element type, then those of arrays that have another."""
    default = plan.program.dtypes.default
    values = [value.sharded for _, value in plan.inputs] + [v.sharded for v in plan.results]
    others = {v.array.name: v.dtype.value for v in values if v.array.name}
    others = {name: dtype for name, dtype in others.items() if dtype != default.value}
    return ", ".join([default.value, *(f"{name} {dtype}" for name, dtype in others.items())])


def _axis(axis: Axis) -> Iterator[RenderableType]:
    """What an axis lies on: a sentence for each ring, line or switch."""
    if not axis.segments:
        yield _Sentence(f"{axis.name}: {axis.reason}")
    for segment in axis.segments:
        link = segment.link
        rate = format_rate(link.one_way_bandwidth)
        step = f"{rate} one way, {format_seconds(link.latency)} a hop"
        along = "" if segment.name == axis.name else f" along {segment.name}"
        kind = f"{segment.size} chips, {segment.kind.value}{along}, {step}"
        yield _Sentence(f"{axis.name}: {kind}: {segment.reason}")


def _why(plan: Plan) -> list[RenderableType]:
    """The rule for each axis; under its statement where there are several."""
    lines: list[RenderableType] = []
    for choice in plan.choices:
        if len(plan.choices) > 1 and choice.reasons:
            lines.append(_Sentence(choice.text))
        indent = 2 if len(plan.choices) > 1 else 0
        lines += [Padding(_Sentence(reason), (0, 0, 0, indent)) for reason in choice.reasons]
    return [_title("Why"), *lines] if lines else []


def _steps(steps: Sequence[Step], simulated: Sequence[Fraction] | None) -> RenderableType:
    if not steps:
        return Text("  nothing to do: no chip computes or communicates")
    names = ["#", "step", "works on", "book", "exact"]
    table = _table(*names, *([] if simulated is None else ["simulated"]))
    for column in table.columns[2:]:
        column.justify = "right"
        column.no_wrap = True
    for index, step in enumerate(steps):
        row = [_work(step), *_formulas(step)]
        if simulated is not None:
            row.append("free" if not step.seconds else format_seconds(simulated[index]))
        table.add_row(Text(str(index + 1)), _StepText(_shown(step)), *(Text(cell) for cell in row))
    return table


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
    collectives = [(i, s) for i, s in enumerate(plan.steps, 1) if isinstance(s, CollectiveStep)]
    notes = []
    if any(isinstance(step, MatmulStep) for step in plan.steps):
        notes.append("a matmul works on FLOPs, or on HBM traffic where that takes longer")
    if collectives:
        notes.append(
            "a collective works on V: the bytes of the whole array as one group of chips sees it"
        )
    for index, step in collectives:
        price = step.price
        segment = step.call.group.segments[0]
        link = f"w = {format_rate(segment.link.one_way_bandwidth)} one way"
        hop = f"a = {format_seconds(segment.link.latency)}"
        bound = BOUNDS[price.relation]
        notes.append(f"{index} exact, {_fabric(step)}: {bound}{price.exact_formula}, {link}, {hop}")
        notes.append(f"{index} book, any axis taken for a ring: {price.book_formula}")
    return [_Sentence(note) for note in notes]


def _fabric(step: CollectiveStep) -> str:
    """What a collective runs on, and how where there is a choice."""
    segments, method = step.call.group.segments, step.call.method
    on = " and ".join(f"a {segment.kind.value} of {segment.size}" for segment in segments)
    only = method.algorithms == (Algorithm.LINE,) and method.chunks == 1
    return f"on {on}" if only else f"on {on}, {method.name}"


def _cheaper(plan: Plan, objective: Objective) -> list[RenderableType]:
    """Where the plan taken is not the cheapest, that is said."""
    lines: list[RenderableType] = []
    for choice in plan.choices:
        best, chosen = choice.alternatives[0], choice.chosen
        if objective is Objective.TIME:
            before, after = chosen.seconds, best.seconds
            gain = (
                "less time, step after step, with policy cheapest: "
                f"{format_seconds(before)} to {format_seconds(after)}"
            )
        else:
            before, after = chosen.wire_bytes, best.wire_bytes
            gain = (
                "fewer bytes per chip with policy cheapest: "
                f"{format_bytes(before)} to {format_bytes(after)}"
            )
        if 200 * (before - after) > before:
            lines.append(_Sentence(f"{float(1 - after / before):.0%} {gain}"))
            lines += [Padding(_StepText(_shown(step)), (0, 0, 0, 5)) for step in best.steps]
    return lines


def _shown(step: Step) -> str:
    """A step in the notation; a slice looks like no other step, so it is named."""
    return f"slice {step.text}" if isinstance(step, SliceStep) else step.text


def _ways(ways: Sequence[Alternative], taken: Alternative) -> Table:
    table = _table("", "exact", "wire/chip", "four rules", "steps")
    for column in table.columns[1:3]:
        column.justify = "right"
    for way in ways:
        table.add_row(
            Text("taken" if way is taken else ""),
            Text(format_seconds(way.seconds)),
            Text(format_bytes(way.wire_bytes)),
            Text("yes" if way.textbook else "no"),
            Group(*(_StepText(_shown(step)) for step in way.steps)),
        )
    return table


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
            "the busiest core or link, latency apart",
        ),
        ("at most", format_seconds(totals.upper_bound_seconds), "one step after the other"),
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
            f"{fits} {format_bytes(capacity)}",
        ),
    ]
    for name, value, note in rows:
        table.add_row(Text(f"  {name}"), Text(value, justify="right"), Text(note))
    return table
