"""What one chip's core and links do in a run, row by row: for strip charts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from shardsim.timeline import Core, LinkDirection, Port
from shardsim.vocabulary import DimensionKind

if TYPE_CHECKING:
    from shardsim.comparison.runs import Run
    from shardsim.timeline import Track

__all__ = ["Bar", "Row", "busiest_chip", "rows_of"]


class Bar(NamedTuple):
    """A row is busy with a step from `start` to `end`, in ticks."""

    start: int
    end: int
    step: int


class Row(NamedTuple):
    """A core or a link direction, and when it is busy.

    `name` is for people: `link X+`; of an axis on several dimensions `link X.y+`.
    """

    name: str
    bars: tuple[Bar, ...]


def busiest_chip(run: Run) -> tuple[int, ...]:
    """The chip whose core and links are busy longest in all (the first of them)."""
    busy: dict[tuple[int, ...], int] = dict.fromkeys(run.timeline.chips, 0)
    for interval in run.timeline.intervals:
        busy[interval.track.chip] += interval.end - interval.start
    return max(busy, key=lambda chip: busy[chip]) if busy else ()


def rows_of(run: Run, chip: tuple[int, ...]) -> tuple[Row, ...]:
    """The rows of a chip: its core, then its links; one in which nothing happens is left out."""
    timeline, mesh = run.timeline, run.plan.mesh
    axes = mesh.axes_on
    rows: list[tuple[str, Track]] = [("core", Core(chip))]
    several = {axis for axis, count in Counter(axes.values()).items() if count > 1}
    for index, dimension in enumerate(mesh.topology.dimensions):
        name = axes.get(index, dimension.name)
        name = f"{name}.{dimension.name}" if name in several else name
        for direction in (+1, -1):
            if dimension.kind is DimensionKind.SWITCH:
                way = "out" if direction > 0 else "in"
                rows.append((f"port {name} {way}", Port(chip, dimension.name, direction)))
            else:
                way = "+" if direction > 0 else "-"
                rows.append((f"link {name}{way}", LinkDirection(chip, dimension.name, direction)))
    return tuple(
        Row(name, tuple(Bar(i.start, i.end, i.step) for i in timeline.by_track[track]))
        for name, track in rows
        if track in timeline.by_track
    )
