"""Strategies at several extents of a dimension as a table: the times, the best of each marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from shardsim.report.parts import WIDTH, Sentence, new_table, title
from shardsim.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from shardsim.comparison import Compared
    from shardsim.comparison.over import Over

__all__ = ["over_report"]

LABEL = 30
CELL = 11


def over_report(over: Over) -> RenderableType:
    """Tables of simulated times: strategies down, extents across, as many as have room."""
    parts: list[RenderableType] = [
        title(f"Simulated times over {over.dim}: * the best, ! does not fit in memory")
    ]
    columns = list(zip(over.labels, (compared for _, compared in over.columns), strict=True))
    many = max(1, (WIDTH - LABEL) // CELL)
    for start in range(0, len(columns), many):
        parts.append(_table(columns[start : start + many]))
        if start + many < len(columns):
            parts.append(Text(""))
    parts += _flips(over)
    return Group(*parts)


def _table(columns: Sequence[tuple[str, Compared]]) -> Table:
    table = new_table("", *(label for label, _ in columns))
    table.padding = (0, 1, 0, 0)
    for column in table.columns[1:]:
        column.justify = "right"
        column.no_wrap = True
    for line, row in enumerate(columns[0][1].rows):
        cells = []
        for _, compared in columns:
            here = compared.rows[line]
            best = here is compared.best
            mark = "* " if best else "" if here.fits else "! "
            style = "bold green" if best else "" if here.fits else "bold red"
            cells.append(Text(f"{mark}{format_seconds(here.seconds)}", style=style))
        table.add_row(Text(row.name), *cells)
    return table


def _flips(over: Over) -> Iterator[RenderableType]:
    """Where another strategy becomes the best."""
    before = over.columns[0][1].best.name
    for extent, compared in over.columns[1:]:
        if compared.best.name != before:
            before = compared.best.name
            yield Sentence(f"from {over.dim}={extent:,} on {before} is the best")
