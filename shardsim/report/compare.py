"""Strategies side by side as text for people: a table, bars, and what each of them does."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from shardsim.planner import CollectiveStep, MatmulStep, SliceStep
from shardsim.report.parts import Advice, Sentence, new_table, title
from shardsim.units import format_bytes, format_capacity, format_flops, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from shardsim.comparison import Compared, Row
    from shardsim.comparison.runs import StepTimes
    from shardsim.planner import Plan, Step

__all__ = ["bar", "compare_report"]

LABEL = 30
BAR = 56


def compare_report(compared: Compared) -> RenderableType:
    """Head, table, bars, notes, steps and expectations of all strategies."""
    settings = [_settings(row.run.plan) for row in compared.rows]
    shared = [part for part in settings[0] if all(part in others for others in settings)]
    parts: list[RenderableType] = [Text(compared.name, style="bold")]
    if shared:
        parts.append(Sentence(_told(shared)))
    parts += [title("Strategies, simulated"), _table(compared), *_warnings(compared)]
    if any(row.seconds for row in compared.rows):
        legend = "= compute, # communication that nothing hides, . neither"
        parts += [title(f"Time of the last chip: {legend}"), *_bars(compared)]
    if any(row.note for row in compared.rows):
        parts.append(title("Notes"))
        parts += [Sentence(f"{row.name}: {row.note}") for row in compared.rows if row.note]
    parts.append(title("What each does"))
    for row, said in zip(compared.rows, settings, strict=True):
        own = _told([part for part in said if part not in shared])
        parts.append(Sentence(f"{row.name}{f', {own}' if own else ''}: {_steps(row)}"))
    parts += _expectations(compared)
    return Group(*parts)


def _settings(plan: Plan) -> list[tuple[str, str]]:
    """Where a plan runs and with which sizes, in parts that strategies may share, with a label."""
    topology, types = plan.mesh.topology, plan.program.dtypes
    chips = f"{topology.size:,} x {topology.chip.title or topology.chip.name}"
    return [
        ("on", f"{topology.name}: {chips}"),
        ("mesh", " ".join(f"{axis.name}={axis.size}" for axis in plan.mesh.axes)),
        *(("dims", f"{dim}={size}") for dim, size in plan.program.extents),
        ("dtype", types.default.value),
        *(("dtype", f"{name}={dtype.value}") for name, dtype in types.by_name),
    ]


def _told(settings: list[tuple[str, str]]) -> str:
    """Settings in a line, each label once.

    >>> _told([("mesh", "X=4"), ("dims", "I=64"), ("dims", "J=64")])
    'mesh X=4; dims I=64 J=64'
    """
    by_label: dict[str, list[str]] = {}
    for label, text in settings:
        by_label.setdefault(label, []).append(text)
    return "; ".join(f"{label} {' '.join(texts)}" for label, texts in by_label.items())


def _table(compared: Compared) -> Table:
    table = new_table(
        "",
        "time",
        "at least",
        "in turn",
        "exposed",
        "on wire",
        "memory",
        "bound by",
        "slower",
    )
    table.padding = (0, 1, 0, 0)
    for column in table.columns[1:]:
        column.no_wrap = True
        column.justify = "right"
    table.columns[7].justify = "left"
    for row in compared.rows:
        totals, best = row.run.totals, row is compared.best
        memory = format_bytes(totals.peak_memory_bytes_per_chip)
        cells = [
            format_seconds(row.seconds),
            format_seconds(totals.lower_bound_seconds),
            format_seconds(totals.upper_bound_seconds),
            format_seconds(totals.exposed_communication_seconds),
            format_bytes(row.wire_bytes),
            memory if row.fits else f"! {memory}",
            totals.bound if row.seconds else "nothing",
            "best" if best else _times(compared.slowdown(row)),
        ]
        style = "bold green" if best else "" if row.fits else "bold red"
        table.add_row(Text(row.name), *map(Text, cells), style=style)
    return table


def _times(factor: Fraction | None) -> str:
    """How many times as long, with three digits at most.

    >>> _times(Fraction(9, 5)), _times(Fraction(1001, 1000)), _times(Fraction(1234)), _times(None)
    ('1.8x', '1.001x', '1234x', '')
    """
    if factor is None:
        return ""
    if factor != 1 and abs(factor - 1) < Fraction(1, 100):
        return f"{float(factor):.4g}x"
    return f"{float(factor):.3g}x" if factor < 1000 else f"{round(factor)}x"


def _warnings(compared: Compared) -> Iterator[RenderableType]:
    """What does not fit, and strategies that do not compute the same."""
    for row in compared.rows:
        if not row.fits:
            held = format_bytes(row.run.totals.peak_memory_bytes_per_chip)
            capacity = format_capacity(row.run.plan.mesh.topology.chip.hbm_capacity)
            yield Advice(f"{row.name} does not fit: {held} on a chip that has {capacity}")
    if not any(row.fits for row in compared.rows):
        yield Advice("no strategy fits, so the quickest of all is called the best")
    if len(compared.by_work) == 1:
        return
    yield Advice("the strategies compute different things, and their FLOPs differ; those alike:")
    for work, group in compared.by_work.items():
        result = ", ".join(f"{dim}={size}" for dim, size in work)
        others = [
            f"{row.name} {_times(group.slowdown(row))}".rstrip()
            for row in group.rows
            if row is not group.best
        ]
        best = f"{group.best.name} best" if others else f"{group.best.name} alone"
        told = "; ".join([best, *others])
        yield Sentence(f"{result}, {format_flops(_flops(group.best))} a chip: {told}")


def _flops(row: Row) -> int:
    return sum(step.flops for step in row.run.plan.steps if isinstance(step, MatmulStep))


def _bars(compared: Compared) -> Iterator[RenderableType]:
    longest = max(row.seconds for row in compared.rows)
    label = min(LABEL, max(len(row.name) for row in compared.rows))
    for row in compared.rows:
        totals = row.run.totals
        portions = (
            totals.compute_seconds,
            totals.exposed_communication_seconds,
            row.seconds - totals.compute_seconds - totals.exposed_communication_seconds,
        )
        cut = row.name if len(row.name) <= label else f"{row.name[: label - 3]}..."
        drawn = bar([portion / longest for portion in portions], BAR)
        yield Text(f"  {cut:<{label}} {drawn} {format_seconds(row.seconds)}", no_wrap=True)


def bar(shares: list[Fraction], width: int) -> str:
    """Portions of a whole as characters: `=` the first, `#` the second, `.` what is left.

    Each end is where the portions up to it end, so that rounding adds up nowhere.

    >>> bar([Fraction(1, 4), Fraction(1, 2), Fraction(0)], 8)
    '==####'
    """
    ends, drawn = Fraction(0), ""
    for mark, share in zip("=#.", shares, strict=True):
        ends += share
        drawn += mark * (round(ends * width) - len(drawn))
    return drawn


def _steps(row: Row) -> str:
    """The steps in short, each with its simulated time."""
    if not row.run.steps:
        return "nothing to do"
    plan, steps = row.run.plan, row.run.steps
    first = range(plan.first_steps)
    told = ", ".join(_short(times) for times in steps[: plan.first_steps])
    for pair in plan.decomposed:
        if pair.collective in first:
            name = _name(plan.steps[pair.collective])
            told += f"; {name} and its matmul together: {pair.form.value}, "
            told += format_seconds(pair.seconds)
    times = f"; {plan.program.repeat} times" if plan.program.repeat > 1 else ""
    return told + times


def _short(times: StepTimes) -> str:
    step = times.step
    match step:
        case MatmulStep():
            name = step.result.sharded.array.name or ""
            told = f"matmul {name}".rstrip()
        case SliceStep():
            return f"slice {step.operand.sharded.array.name or ''}".rstrip()
        case CollectiveStep():
            told = _name(step)
    return f"{told} {format_seconds(times.simulated)}"


def _name(step: Step) -> str:
    """What stands before the first bracket: `AllGather_X A`."""
    return step.text.partition("[")[0].rstrip()


def _expectations(compared: Compared) -> list[RenderableType]:
    lines: list[RenderableType] = [
        Sentence(
            f"{'met' if check.met else 'NOT MET'}: {row.name}: {check.text}",
            "green" if check.met else "bold red",
        )
        for row in compared.rows
        for check in row.run.checks()
    ]
    return [title("Expectations"), *lines] if lines else []
