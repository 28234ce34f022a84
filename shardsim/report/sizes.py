"""A collective at several sizes as a table: the three times, algbw and busbw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from shardsim.report.collective import size_in_words
from shardsim.report.parts import SIGNS, Sentence, new_table, title
from shardsim.units import format_rate, format_seconds

if TYPE_CHECKING:
    from shardsim.comparison.sizes import Sizes

__all__ = ["sizes_report"]


def sizes_report(sizes: Sizes) -> RenderableType:
    """A row for each size that was simulated, and what small and large ones come to."""
    table = new_table("S", "book", "exact", "simulated", "algbw", "busbw")
    for column in table.columns:
        column.justify = "right"
        column.no_wrap = True
    for row in sizes.rows:
        if row.simulated is None:
            continue
        cells = [
            size_in_words(row.size).split(" = ")[0],
            format_seconds(row.book),
            f"{SIGNS[row.relation]}{format_seconds(row.exact)}",
            format_seconds(row.simulated),
            format_rate(row.algbw(row.simulated)),
            format_rate(row.busbw(row.simulated)),
        ]
        table.add_row(*map(Text, cells))
    floor, rate = format_seconds(sizes.floor), format_rate(sizes.asymptote)
    ends = f"a small one takes its latency, {floor}; busbw of a large one comes near {rate}"
    return Group(title(f"Sizes of {sizes.size_means}"), table, Sentence(ends))
