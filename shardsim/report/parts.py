"""What reports are put together from: prose, titles, tables, and the lines about an axis.

Everything is built from `Text` and tables without markup: rich would take `q[b, t_x]` for a style.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shardsim.units import format_bytes, format_rate, format_seconds
from shardsim.vocabulary import Relation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from shardsim.call import Call
    from shardsim.hardware import Calibration
    from shardsim.mesh import Axis

__all__ = [
    "BOUNDS",
    "SIGNS",
    "Advice",
    "Sentence",
    "StepText",
    "axis_lines",
    "calibration_lines",
    "curve_lines",
    "in_words",
    "new_table",
    "render",
    "title",
]

WIDTH = 100
NO_BREAK = "\u00a0"
_COORDINATES = re.compile(r"\(\d+(?:, \d+)*\)")
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


def filled(text: str, width: int, first: str, rest: str) -> str:
    """Prose in lines; coordinates such as (0, 1) stay in one.

    Args:
        text: One line.
        width: Columns.
        first: What the first line starts with.
        rest: What the others start with.
    """
    kept = _COORDINATES.sub(lambda found: found[0].replace(" ", NO_BREAK), text)
    lines = textwrap.fill(
        kept, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    return lines.replace(NO_BREAK, " ")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A line of prose, indented, wrapped with its further lines indented more."""

    text: str
    style: str = ""

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(filled(self.text, options.max_width, "  ", "     "), style=self.style)


@dataclass(frozen=True, slots=True)
class Advice:
    """What a person should know before anything else: it stands out."""

    text: str

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(filled(self.text, options.max_width, "! ", "  "), style="bold yellow")


@dataclass(frozen=True, slots=True)
class StepText:
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


def title(text: str) -> RenderableType:
    """The heading of a part of a report."""
    return Padding(Text(text, style="bold"), (1, 0, 0, 0))


def new_table(*names: str) -> Table:
    """A table with a rule under its head."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))
    for name in names:
        table.add_column(Text(name), justify="left", overflow="fold")
    return table


def axis_lines(axis: Axis) -> Iterator[RenderableType]:
    """What an axis lies on: a sentence for each ring, line or switch."""
    if not axis.segments:
        yield Sentence(f"{axis.name}: {axis.reason}")
    for segment in axis.segments:
        link = segment.link
        rate = format_rate(link.one_way_bandwidth)
        step = f"{rate} one way, {format_seconds(link.latency)} a hop"
        along = "" if segment.name == axis.name else f" along {segment.name}"
        kind = f"{segment.size} chips, {segment.kind.value}{along}, {step}"
        yield Sentence(f"{axis.name}: {kind}: {segment.reason}")


def in_words(call: Call) -> str:
    """What w and a stand for in a call's formulas; by segment where they differ."""
    found: dict[str, list[str]] = {}
    for segment in call.group.segments:
        rate = format_rate(segment.link.one_way_bandwidth)
        if call.efficiency != 1:
            rate = f"{float(call.efficiency):.3g} x {rate}"
        values = f"w = {rate} one way, a = {format_seconds(segment.link.latency)}"
        found.setdefault(values, []).append(segment.name)
    launch = f"; launch = {format_seconds(call.launch)}" if call.launch else ""
    if len(found) == 1:
        return next(iter(found)) + launch
    return "; ".join(f"on {', '.join(on)} {values}" for values, on in found.items()) + launch


def calibration_lines(calibration: Calibration) -> Iterator[str]:
    """What stands between datasheet rates and real links, where it is from, how far it is off."""
    if calibration.efficiency != 1:
        yield f"messages reach {float(calibration.efficiency):.3g} of the bandwidth"
    if calibration.launch_overhead:
        overhead = format_seconds(calibration.launch_overhead)
        yield f"each collective waits {overhead} before its first message"
    if calibration.source:
        yield f"source: {calibration.source}"
    if calibration.band:
        yield f"error: {calibration.band}"


def curve_lines(calibration: Calibration) -> Iterator[str]:
    """The ends of each measured curve."""
    for curve in sorted(calibration.curves, key=lambda curve: (curve.kind, curve.chips)):
        said = f"{curve.kind.value}, {curve.chips} chips: launch {format_seconds(curve.launch)}"
        if curve.points:
            (small, slow), (large, fast) = curve.points[0], curve.points[-1]
            said += f", {float(slow):.3g} of the bandwidth up to {format_bytes(small)}"
            said += f", {float(fast):.3g} from {format_bytes(large)} on"
        yield said
