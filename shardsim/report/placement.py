"""A sharding as text: in all notations, and who holds which block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shardsim.inspection import View, described
from shardsim.report.parts import WIDTH, Sentence, new_table, title
from shardsim.units import format_bytes

if TYPE_CHECKING:
    from shardsim.inspection import Inspection

__all__ = ["placement_grid", "sharding_report"]

MOST_ROWS = 32


def sharding_report(one: Inspection) -> RenderableType:
    """A sharding: its texts, what one chip holds, and the grid of its blocks."""
    mesh = " ".join(f"{axis}={size}" for axis, size in one.sizes.items())
    table = new_table("notation", "text")
    for name, said in one.notations.items():
        text = Text(said.text) if said.text is not None else Text(f"- {said.why_not}", style="dim")
        table.add_row(name, text)
    parts: list[RenderableType] = [
        Text(str(one.array), style="bold"),
        Text(f"  on {one.machine}, mesh {mesh}; chips are numbered row-major over the mesh"),
        title("In other notations"),
        table,
        title("On one chip"),
    ]
    parts += [Sentence(line) for line in _local(one)]
    parts += [title("Who holds which block"), *placement_grid(one)]
    return Group(*parts)


def _local(one: Inspection) -> list[str]:
    """What a chip holds, and how often that is held."""
    lines = []
    if one.sized:
        shape = " x ".join(f"{extent:,}" for extent in one.local_shape) or "one element"
        bytes_ = format_bytes(one.local_bytes)
        dtype = one.array.dtype.value if one.array.dtype else ""
        lines.append(f"{shape} of {dtype}: {bytes_}")
    else:
        said = "--dims for the shape and the bytes" if one.array.dims else "--dtype for the bytes"
        lines.append(f"give {said}")
    copies = one.replication // one.partial
    chips = "chip" if copies == 1 else "chips"
    if one.partial > 1:
        lines.append(f"each partial sum is on {copies:,} {chips}")
    else:
        lines.append(f"each block is on {copies:,} {chips}")
    return lines


def placement_grid(one: Inspection) -> list[RenderableType]:
    """The blocks of an array in rows and columns, each with the chips that hold it."""
    view = View.of(one)
    names, heads, cells = _cells(one, view)
    if view.rows is None and len(names) < view.count(one)[1]:
        view = View(view.columns, None, view.others)  # down there is more room
        names, heads, cells = _cells(one, view)
    rows, columns = view.count(one)
    table = Table(box=box.SQUARE, show_lines=True, padding=(0, 1))
    table.add_column(Text(""))
    for name in names:
        table.add_column(Text(name), overflow="fold")
    for row, head in enumerate(heads):
        table.add_row(Text(head), *(Text(cell[row]) for cell in cells))
    lines: list[RenderableType] = []
    for position, way in ((view.rows, "down"), (view.columns, "across")):
        if position is not None:
            dim = one.array.dims[position]
            said = described(dim, one.extents.get(dim.name), one.grid[position])
            lines.append(Sentence(f"{way}: {said}"))
    lines.append(table)
    if len(cells) < columns:
        lines.append(Sentence(f"cut: the first {len(cells):,} of {columns:,} blocks across"))
    if len(heads) < rows:
        lines.append(Sentence(f"cut: the first {len(heads):,} of {rows:,} blocks down"))
    lines += [Sentence(remark) for remark in view.remarks(one)]
    return lines


def _cells(one: Inspection, view: View) -> tuple[list[str], list[str], list[list[str]]]:
    """The heads of the columns and of the rows, and the columns, as far as there is room."""
    rows, columns = view.count(one)
    heads = [_head(one, view.rows, row) for row in range(min(rows, MOST_ROWS))]
    room = WIDTH - max(map(len, heads)) - 4
    names: list[str] = []
    cells: list[list[str]] = []
    for column in range(columns):
        name = _head(one, view.columns, column)
        cell = [view.chips(one, row, column) for row in range(len(heads))]
        room -= max(len(text) for text in (name, *cell)) + 3
        if room < 0 and cells:
            break
        names.append(name)
        cells.append(cell)
    return names, heads, cells


def _head(one: Inspection, position: int | None, number: int) -> str:
    """The name of a row or a column: the indices that it has, or its number."""
    if position is None:
        return ""
    dim = one.array.dims[position]
    if one.grid[position] == 1:
        return dim.name
    if not one.sized:
        return f"{dim.name} {number}"
    size = one.local_shape[position]
    return f"{dim.name} {number * size}:{(number + 1) * size}"
