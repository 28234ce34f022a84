"""What one chip does in a run, as SVG: a row for its core and for each of its links."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from shardsim.comparison.rows import busiest_chip, rows_of
from shardsim.files import write_whole
from shardsim.plot.drawing import LETTER, as_text, colour, new_page, number, page_width, put_text
from shardsim.timeline import without
from shardsim.topology import spot
from shardsim.units import format_seconds

if TYPE_CHECKING:
    import os

    from shardsim.comparison import Run
    from shardsim.comparison.rows import Bar

__all__ = ["draw_timeline", "write_timeline"]

LEFT, RIGHT, ABOVE, LINE = 96.0, 32.0, 92.0, 18.0
WIDTH, ROW, GAP = 880.0, 30.0, 8.0
LUMINANCE = (0.80, 0.62, 0.90, 0.71)
"""Of one step and the next: they can be told apart in grey too."""
EXPOSED = "#b00020"
MOST_STEPS = 12
"""Named under the picture."""
MOST_TICKS = 8
LONGEST = 110
"""Letters of a line."""


def draw_timeline(run: Run) -> str:
    """The picture of a run, as the text of an SVG file: the chip that is busiest."""
    timeline, chip = run.timeline, busiest_chip(run)
    end = max((activity.end for activity in timeline.activities), default=0)
    rows = rows_of(run, chip) if end else ()
    named = [*enumerate(run.plan.steps)][:MOST_STEPS]
    notes = [_cut(f"{index + 1}  {step.text}") for index, step in named]
    more = len(run.plan.steps) - len(named)
    notes += [f"and {more} more steps"] if more else []
    totals = run.totals
    said = (
        f"{format_seconds(totals.simulated_seconds)}: compute "
        f"{format_seconds(totals.compute_seconds)}, communication "
        f"{format_seconds(totals.communication_seconds)}, of which "
        f"{format_seconds(totals.exposed_communication_seconds)} exposed"
    )
    heading = (_cut(run.scenario.name), f"{run.plan.mesh.topology.name}, chip {spot(chip)}; {said}")
    names = max((len(row.name) for row in rows), default=0)
    left = max(LEFT, names * 13 * LETTER + 34)
    tall = ABOVE + (ROW + GAP) * len(rows) + 34
    page = page_width(left + WIDTH + RIGHT, heading, notes)
    root = new_page(page, tall + 30 + LINE * len(notes), heading)
    chart = ET.SubElement(root, "g", transform=f"translate({number(left)} 0)")
    if end:
        _exposed(chart, run, chip, end)
    for line, row in enumerate(rows):
        top = ABOVE + line * (ROW + GAP)
        put_text(chart, -10, top + ROW * 0.66, row.name, size=13, anchor="end")
        ET.SubElement(
            chart, "rect", x="0", y=number(top), width=number(WIDTH),
            height=number(ROW), fill="none", stroke="#bbbbbb",
        )  # fmt: skip
        for bar in row.bars:
            _bar(chart, run, bar, end, top)
    if end:
        _ticks(chart, run, tall - 30)
    for line, ((index, _), note) in enumerate(zip(named, notes, strict=False)):
        at = tall + 20 + LINE * line
        ET.SubElement(
            root, "rect", x="24", y=number(at - 11), width="12", height="12",
            fill=_fill(index), stroke="#333333",
        )  # fmt: skip
        put_text(root, 44, at, note, size=13)
    if more:
        put_text(root, 44, tall + 20 + LINE * len(named), notes[-1], size=13)
    return as_text(root)


def write_timeline(run: Run, path: str | os.PathLike[str]) -> None:
    """Writes the picture of a run to a file.

    Raises:
        InputError: the file cannot be written; what was there before is still there.
    """
    write_whole(draw_timeline(run), path, "the picture", "timeline.svg")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _bar(chart: ET.Element, run: Run, bar: Bar, end: int, top: float) -> None:
    start, stop, step = bar
    left, width = WIDTH * start / end, max(WIDTH * (stop - start) / end, 0.4)
    group = ET.SubElement(chart, "g")
    seconds = run.timeline.seconds
    ET.SubElement(group, "title").text = (
        f"{run.plan.steps[step].text}: {format_seconds(seconds(start))} to "
        f"{format_seconds(seconds(stop))}"
    )
    ET.SubElement(
        group, "rect", x=number(left), y=number(top), width=f"{width:.2f}", height=number(ROW),
        fill=_fill(step), stroke="#333333",
    ).set("stroke-width", "0.6" if width > 3 else "0")  # fmt: skip
    text = str(step + 1)
    if width > len(text) * 12 * LETTER + 6:
        put_text(group, left + width / 2, top + ROW * 0.66, text, size=12, anchor="middle")


def _exposed(chart: ET.Element, run: Run, chip: tuple[int, ...], end: int) -> None:
    """Red above the core's row while the chip communicates and does not compute."""
    timeline = run.timeline
    talking = timeline.communicating(chip, run.plan.collectives)
    spans = without(talking, timeline.computing(chip))
    for start, stop in spans:
        left, width = WIDTH * start / end, WIDTH * (stop - start) / end
        ET.SubElement(
            chart, "rect", x=f"{left:.2f}", y=number(ABOVE - 12), width=f"{width:.2f}",
            height="6", fill=EXPOSED,
        )  # fmt: skip
    if spans:
        put_text(chart, -10, ABOVE - 6, "exposed", size=11, anchor="end")


def _ticks(chart: ET.Element, run: Run, below: float) -> None:
    """The time axis, in steps that a person would choose."""
    total = run.totals.simulated_seconds
    step = _round_step(total / MOST_TICKS)
    at = Fraction(0)
    while at <= total:
        left = WIDTH * float(at / total)
        ET.SubElement(
            chart, "line", x1=number(left), x2=number(left), y1=number(below - 4),
            y2=number(below + 2), stroke="#333333",
        )  # fmt: skip
        text = "0" if at == 0 else format_seconds(at)
        put_text(chart, left, below + 16, text, size=11, anchor="middle")
        at += step


def _round_step(least: Fraction) -> Fraction:
    """1, 2 or 5 times a power of ten, at least so long.

    >>> _round_step(Fraction(3, 10)), _round_step(Fraction(17))
    (Fraction(1, 2), Fraction(20, 1))
    """
    power = Fraction(1)
    while power > least:
        power /= 10
    while power * 10 <= least:
        power *= 10
    return next(power * times for times in (1, 2, 5, 10) if power * times >= least)


def _fill(step: int) -> str:
    return colour(step * 67 % 360 + 200, LUMINANCE[step % len(LUMINANCE)])
