"""What one chip does in a run: a row for its core and for each of its links."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.comparison.rows import busiest_chip, rows_of
from shardsim.plot.axes import round_step
from shardsim.plot.canvas import Page, page_width, styled, text_width
from shardsim.plot.colours import colour
from shardsim.timeline import without
from shardsim.topology import spot
from shardsim.units import format_seconds

if TYPE_CHECKING:
    import os

    from shardsim.comparison import Run
    from shardsim.comparison.rows import Bar
    from shardsim.plot.axes import round_step
from shardsim.plot.canvas import Picture

__all__ = ["draw_timeline", "timeline_picture", "write_timeline"]

LEFT, RIGHT, ABOVE, LINE = 96.0, 32.0, 92.0, 18.0
WIDTH, ROW, GAP = 880.0, 30.0, 8.0
LUMINANCE = (0.78, 0.60, 0.86, 0.69)
"""Of one step and the next: they can be told apart in grey too."""
EXPOSED = "#b00020"
MOST_STEPS = 12
"""Named under the picture."""
MOST_TICKS = 8
LONGEST = 110
"""Letters of a line."""
THINNEST = 0.4


@styled()
def timeline_picture(run: Run) -> Picture:
    """The picture of a run: the chip that is busiest.

    Across is time in seconds, down its core and its links. A bar has the number of its step; above
    the core stands when the chip communicates and does not compute.
    """
    timeline, chip = run.timeline, busiest_chip(run)
    end = max((activity.end for activity in timeline.activities), default=0)
    rows = rows_of(run, chip) if end else ()
    named = [*enumerate(run.plan.steps)][:MOST_STEPS]
    notes = [_cut(f"{index + 1}  {step.text}") for index, step in named]
    more = len(run.plan.steps) - len(named)
    notes += [f"and {more} more steps"] if more else []
    heading = (_cut(run.scenario.name), _said(run, chip))
    left = max([LEFT, *(text_width(row.name, 13) + 40 for row in rows)])
    tall = ABOVE + (ROW + GAP) * len(rows) + 34
    width = page_width(left + WIDTH + RIGHT, heading, notes)
    page = Page(width, tall + 30 + LINE * len(notes), heading)
    if end:
        _exposed(page, run, chip, end, left)
    for line, row in enumerate(rows):
        top = ABOVE + line * (ROW + GAP)
        page.text(left - 10, top + ROW * 0.66, row.name, anchor="end")
        page.box((left, top), (WIDTH, ROW), edge="#bbbbbb")
        for bar in row.bars:
            _bar(page, run, bar, end, (left, top))
    if end:
        _ticks(page, run, left, tall - 30)
    _names(page, notes, len(named), tall + 20)
    return page.picture()


def draw_timeline(run: Run) -> str:
    """The picture of a run, as the text of an SVG file: the chip that is busiest."""
    return timeline_picture(run).svg()


def write_timeline(run: Run, path: str | os.PathLike[str]) -> None:
    """Writes the picture of a run to a file, SVG or PNG by its name.

    Raises:
        InputError: the file cannot be written; what was there before is still there.
    """
    timeline_picture(run).write(path, "the picture", "timeline.svg")


def _said(run: Run, chip: tuple[int, ...]) -> str:
    """Where, and the totals."""
    totals = run.totals
    return (
        f"{run.plan.mesh.topology.name}, chip {spot(chip)}; "
        f"{format_seconds(totals.simulated_seconds)}: compute "
        f"{format_seconds(totals.compute_seconds)}, communication "
        f"{format_seconds(totals.communication_seconds)}, of which "
        f"{format_seconds(totals.exposed_communication_seconds)} exposed"
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _names(page: Page, notes: list[str], named: int, top: float) -> None:
    """What the numbers and colours stand for."""
    for line, note in enumerate(notes):
        at = top + LINE * line
        if line < named:
            page.box((24, at - 11), (12, 12), fill=_fill(line))
        page.text(44, at, note)


def _bar(page: Page, run: Run, bar: Bar, end: int, corner: tuple[float, float]) -> None:
    start, stop, step = bar
    left, width = WIDTH * start / end, max(WIDTH * (stop - start) / end, THINNEST)
    seconds = run.timeline.seconds
    page.box(
        (corner[0] + left, corner[1]),
        (width, ROW),
        fill=_fill(step),
        line=0.6 if width > 3 else 0,
        tip=f"{run.plan.steps[step].text}: {format_seconds(seconds(start))} to "
        f"{format_seconds(seconds(stop))}",
    )
    text = str(step + 1)
    if width > text_width(text, 12) + 6:
        x, y = corner[0] + left + width / 2, corner[1] + ROW * 0.66
        page.text(x, y, text, size=12, anchor="middle")


def _exposed(page: Page, run: Run, chip: tuple[int, ...], end: int, left: float) -> None:
    """Red above the core's row while the chip communicates and does not compute."""
    timeline = run.timeline
    talking = timeline.communicating(chip, run.plan.collectives)
    spans = without(talking, timeline.computing(chip))
    for start, stop in spans:
        at, width = left + WIDTH * start / end, WIDTH * (stop - start) / end
        page.box((at, ABOVE - 12), (width, 6), fill=EXPOSED, edge=None)
    if spans:
        page.text(left - 10, ABOVE - 6, "exposed", size=11, anchor="end")


def _ticks(page: Page, run: Run, left: float, below: float) -> None:
    """The time axis, in steps that a person would choose."""
    total = run.totals.simulated_seconds
    step = round_step(total / MOST_TICKS)
    at = Fraction(0)
    while at <= total:
        x = left + WIDTH * float(at / total)
        page.line((x, below - 4), (x, below + 2))
        page.text(x, below + 16, "0" if at == 0 else format_seconds(at), size=11, anchor="middle")
        at += step


def _fill(step: int) -> str:
    return colour(step * 67 % 360 + 200, LUMINANCE[step % len(LUMINANCE)])
