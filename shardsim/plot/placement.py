"""An array as a rectangle cut in blocks: who holds which.

Neighbours differ in luminance, so that the blocks can be told apart in grey too; what is written is
black on all of them.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from shardsim.inspection import View, described
from shardsim.plot.canvas import Page, page_width, styled, text_width
from shardsim.plot.colours import colour

if TYPE_CHECKING:
    import os

    from shardsim.inspection import Inspection
    from shardsim.plot.canvas import Picture

__all__ = ["draw_placement", "placement_picture", "write_placement"]

MOST_BLOCKS = 64  # drawn in one direction
LONGEST, SHORTEST = 640.0, 180.0  # of the rectangle
FLATTEST = 2.6  # the sides of the rectangle differ by this factor at most
TYPE, SMALLEST = 14.0, 7.0
LEFT, RIGHT, ABOVE, LINE = 96.0, 24.0, 104.0, 18.0
SHADES = (0.95, 0.80, 0.65, 0.875, 0.725)  # luminance: neighbours differ by 0.15


@styled()
def placement_picture(one: Inspection) -> Picture:
    """The drawing of a sharding: a block for each part, in proportion to the extents."""
    view = View.of(one)
    rows, columns = view.count(one)
    down, across = min(rows, MOST_BLOCKS), min(columns, MOST_BLOCKS)
    width, height = _sides(one, view, down, across)
    notes = view.remarks(one)
    size, turned = _label_size(one, view, (down, across), (width, height))
    if size < SMALLEST:
        notes.append("the blocks are too small for the names of their chips: point at one")
    notes += [
        f"cut: the first {shown} of {count:,} blocks {way}"
        for shown, count, way in ((across, columns, "across"), (down, rows, "down"))
        if shown < count
    ]
    heading = (str(one.array), _mesh(one))
    tall = ABOVE + height + 16 + LINE * len(notes) + 12
    page = Page(page_width(LEFT + width + RIGHT, heading, notes), tall, heading)
    _edges(page, one, view, width, height)
    _blocks(page, one, view, (down, across), (width, height), size, turned=turned)
    _ticks(page, one, view, (down, across), (width, height))
    for line, note in enumerate(notes):
        page.text(24, ABOVE + height + 24 + LINE * line, note)
    return page.picture()


def draw_placement(one: Inspection) -> str:
    """The drawing of a sharding, as the text of an SVG file."""
    return placement_picture(one).svg()


def write_placement(one: Inspection, path: str | os.PathLike[str]) -> None:
    """Writes the drawing of a sharding to a file, SVG or PNG by its name.

    Raises:
        InputError: the file cannot be written; what was there before is still there.
    """
    placement_picture(one).write(path, "the drawing", "sharding.svg")


def _mesh(one: Inspection) -> str:
    sizes = " ".join(f"{axis}={size}" for axis, size in one.sizes.items())
    copies = one.replication // one.partial
    chips = "chip" if copies == 1 else "chips"
    what = "partial sum" if one.partial > 1 else "block"
    return f"{one.machine}, mesh {sizes}; each {what} on {copies:,} {chips}"


def _sides(one: Inspection, view: View, down: int, across: int) -> tuple[float, float]:
    """Width and height, in the proportion of the extents as far as that can be read."""
    if view.columns is None:
        return SHORTEST * 1.6, SHORTEST / 2
    if view.rows is None:
        return max(LONGEST, across * 15.0), 90.0
    ratio = 1.0
    if one.sized:
        names = one.array.dim_names
        ratio = one.extents[names[view.columns]] / one.extents[names[view.rows]]
    ratio = min(max(ratio, 1 / FLATTEST), FLATTEST)
    longest = max(text_width(view.chips(one, row, across - 1), 11) for row in (0, down - 1))
    least = across * (longest + 12)  # so that a label has its room
    width = min(max(LONGEST if ratio >= 1 else LONGEST * ratio, least, SHORTEST), 2 * LONGEST)
    height = max(min(width / ratio, LONGEST), SHORTEST, down * 16.0)
    return width, height


def _edges(page: Page, one: Inspection, view: View, width: float, height: float) -> None:
    """The dimensions with their extents, along the edges."""
    if view.columns is not None:
        dim = one.array.dims[view.columns]
        said = described(dim, one.extents.get(dim.name), one.grid[view.columns])
        page.text(LEFT + width / 2, ABOVE - 26, said, anchor="middle")
    if view.rows is not None:
        dim = one.array.dims[view.rows]
        said = described(dim, one.extents.get(dim.name), one.grid[view.rows])
        size = min(13.0, max(SMALLEST, 13 * (height + 60) / text_width(said, 13)))
        page.text(32, ABOVE + height / 2, said, size=size, anchor="middle", turned=True)


def _label_size(
    one: Inspection, view: View, count: tuple[int, int], sides: tuple[float, float]
) -> tuple[float, bool]:
    """The size of type with which the labels fit into the blocks, and whether they go upwards."""
    corners = {(row, column) for row in (0, count[0] - 1) for column in (0, count[1] - 1)}
    longest = max(text_width(view.chips(one, *corner), 1) for corner in corners) or 1.0
    wide, high = sides[0] / count[1], sides[1] / count[0]
    flat = min(TYPE, (wide - 12) / longest, high - 4)
    upright = min(TYPE, (high - 12) / longest, wide - 4)
    return (upright, True) if flat < SMALLEST <= upright else (flat, False)


def _blocks(
    page: Page,
    one: Inspection,
    view: View,
    count: tuple[int, int],
    sides: tuple[float, float],
    size: float,
    *,
    turned: bool,
) -> None:
    """A rectangle for each block, with its chips in it and in its tooltip."""
    wide, high = sides[0] / count[1], sides[1] / count[0]
    for row, column in itertools.product(range(count[0]), range(count[1])):
        label = view.chips(one, row, column)
        fill = _colour(row, column, count[1])
        page.box((LEFT + column * wide, ABOVE + row * high), (wide, high), fill=fill, tip=label)
        if size >= SMALLEST:
            x, y = LEFT + (column + 0.5) * wide, ABOVE + (row + 0.5) * high
            page.text(x, y, label, size=size, anchor="middle", middle=True, turned=turned)


def _ticks(
    page: Page,
    one: Inspection,
    view: View,
    count: tuple[int, int],
    sides: tuple[float, float],
) -> None:
    """Where the blocks begin: indices where the extents are known, else their numbers."""
    for position, blocks, side, across in (
        (view.columns, count[1], sides[0], True),
        (view.rows, count[0], sides[1], False),
    ):
        if position is None or one.grid[position] == 1:
            continue
        step = one.local_shape[position] if one.sized else 1
        room = side / blocks
        marks = blocks + 1 if one.sized else blocks
        texts = [str(k * step) for k in range(marks)]
        longest = max(text_width(text, 11) for text in texts) if across else 11.0
        every = max(1, -int(-(longest + 4) // room))
        for k in range(0, marks, every):
            along = k * room if one.sized else (k + 0.5) * room
            if across:
                page.text(LEFT + along, ABOVE - 7, texts[k], size=11, anchor="middle")
            else:
                page.text(LEFT - 7, ABOVE + along + 4, texts[k], size=11, anchor="end")


def _colour(row: int, column: int, columns: int) -> str:
    """A shade of the luminance that the place has, in a hue of its own."""
    return colour((row * columns + column) * 47 % 360, SHADES[(row + column) % len(SHADES)])
