"""A strip chart of one chip: what its core and its links do, one row each, in characters."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.timeline import Core, LinkDirection, Port, union
from shardsim.units import format_seconds
from shardsim.vocabulary import DimensionKind

if TYPE_CHECKING:
    from shardsim.comparison import Run
    from shardsim.timeline import Track

__all__ = ["busiest_chip", "gantt"]

LEAST_CELLS = 10
MARGIN = len(" ") + len(" ") + len(" 100%")
MOST_CELLS = 64
MARKS = "123456789abcdefghijklmnopqrstuvwxyz"


def busiest_chip(run: Run) -> tuple[int, ...]:
    """The chip whose core and links are busy longest in all (the first of them)."""
    busy: dict[tuple[int, ...], int] = dict.fromkeys(run.timeline.chips, 0)
    for interval in run.timeline.intervals:
        busy[interval.track.chip] += interval.end - interval.start
    return max(busy, key=lambda chip: busy[chip]) if busy else ()


def gantt(run: Run, width: int = MOST_CELLS, page: int = 1000) -> list[str]:
    """The rows: a name, and a mark per column that says which step is running.

    A mark is the step's number in the table (1-9, then letters, then #). A column shows the step
    that is busy longest in it, `-` where the row is busy for less than half of it, and a dot where
    it is idle. A row in which nothing happens is left out.
    """
    timeline, mesh = run.timeline, run.plan.mesh
    end = max((activity.end for activity in timeline.activities), default=0)
    if end == 0:
        return []
    chip = busiest_chip(run)
    axes = mesh.axes_on
    rows: list[tuple[str, Track]] = [("core", Core(chip))]
    for index, dimension in enumerate(mesh.topology.dimensions):
        name = axes.get(index, dimension.name)
        for direction in (+1, -1):
            if dimension.kind is DimensionKind.SWITCH:
                way = "out" if direction > 0 else "in"
                rows.append((f"port {name} {way}", Port(chip, dimension.name, direction)))
            else:
                way = "+" if direction > 0 else "-"
                rows.append((f"link {name}{way}", LinkDirection(chip, dimension.name, direction)))
    busy = {
        name: [(i.start, i.end, i.step) for i in timeline.by_track[track]]
        for name, track in rows
        if track in timeline.by_track
    }
    label = max(len("link X+"), *map(len, busy))
    width = min(width, max(LEAST_CELLS, page - label - MARGIN))
    lines = [
        f" {name:>{label}} {_strip(spans, end, width)} {_share(spans, end)}"
        for name, spans in busy.items()
    ]
    scale = format_seconds(run.totals.simulated_seconds)
    return [*lines, f" {'':>{label}} 0{scale:>{width - 1}}"]


def _strip(spans: list[tuple[int, int, int]], end: int, width: int) -> str:
    marks = []
    for column in range(width):
        low, high = column * end, (column + 1) * end
        cover: dict[int, int] = {}
        for start, stop, step in spans:
            common = min(stop * width, high) - max(start * width, low)
            if common > 0:
                cover[step] = cover.get(step, 0) + common
        if 2 * sum(cover.values()) >= end:
            marks.append(_mark(max(cover, key=lambda step: (cover[step], -step))))
        else:
            marks.append("-" if cover else ".")
    return "".join(marks)


def _mark(step: int) -> str:
    return MARKS[step] if step < len(MARKS) else "#"


def _share(spans: list[tuple[int, int, int]], end: int) -> str:
    busy = sum(stop - start for start, stop in union((a, b) for a, b, _ in spans))
    share = Fraction(100 * busy, end)
    return f"{'<1' if share < 1 else round(share):>3}%"
