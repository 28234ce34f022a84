"""A strip chart of one chip: what its core and its links do, one row each, in characters."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.comparison.rows import busiest_chip, rows_of
from shardsim.timeline import union
from shardsim.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardsim.comparison import Run
    from shardsim.comparison.rows import Bar

__all__ = ["gantt"]

LEAST_CELLS = 10
MARGIN = len(" ") + len(" ") + len(" 100%")
MOST_CELLS = 64
MARKS = "123456789abcdefghijklmnopqrstuvwxyz"


def gantt(run: Run, width: int = MOST_CELLS, page: int = 1000) -> list[str]:
    """The rows: a name, and a mark per column that says which step is running.

    A mark is the step's number in the table (1-9, then letters, then #). A column shows the step
    that is busy longest in it, `-` where the row is busy for less than half of it, and a dot where
    it is idle. A row in which nothing happens is left out. Repetitions are marked like the first.
    """
    end = max((activity.end for activity in run.timeline.activities), default=0)
    if end == 0:
        return []
    rows = rows_of(run, busiest_chip(run))
    rows = tuple(
        row._replace(bars=tuple(bar._replace(step=_first_time(run, bar.step)) for bar in row.bars))
        for row in rows
    )
    label = max([len("link X+"), *(len(row.name) for row in rows)])
    width = min(width, max(LEAST_CELLS, page - label - MARGIN))
    lines = [
        f" {row.name:>{label}} {_strip(row.bars, end, width)} {_share(row.bars, end)}"
        for row in rows
    ]
    scale = format_seconds(run.totals.simulated_seconds)
    return [*lines, f" {'':>{label}} 0{scale:>{width - 1}}"]


def _first_time(run: Run, step: int) -> int:
    """The same step the first time, where it is one of a repetition."""
    return run.plan.number_of(step) - 1 if run.plan.program.repeat > 1 else step


def _strip(bars: Sequence[Bar], end: int, width: int) -> str:
    marks = []
    for column in range(width):
        low, high = column * end, (column + 1) * end
        cover: dict[int, int] = {}
        for bar in bars:
            common = min(bar.end * width, high) - max(bar.start * width, low)
            if common > 0:
                cover[bar.step] = cover.get(bar.step, 0) + common
        if 2 * sum(cover.values()) >= end:
            marks.append(_mark(max(cover, key=lambda step: (cover[step], -step))))
        else:
            marks.append("-" if cover else ".")
    return "".join(marks)


def _mark(step: int) -> str:
    return MARKS[step] if step < len(MARKS) else "#"


def _share(bars: Sequence[Bar], end: int) -> str:
    busy = sum(stop - start for start, stop in union((bar.start, bar.end) for bar in bars))
    share = Fraction(100 * busy, end)
    return f"{'<1' if share < 1 else round(share):>3}%"
