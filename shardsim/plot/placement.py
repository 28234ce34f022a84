"""An array as a rectangle cut in blocks: who holds which, as SVG.

Neighbours differ in luminance, so that the blocks can be told apart in grey too; what is written is
black on all of them.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from shardsim.files import write_whole
from shardsim.inspection import View, described
from shardsim.plot.drawing import LETTER, as_text, colour, new_page, number, page_width, put_text

if TYPE_CHECKING:
    import os

    from shardsim.inspection import Inspection

__all__ = ["draw_placement", "write_placement"]

MOST_BLOCKS = 64  # drawn in one direction
LONGEST, SHORTEST = 640.0, 180.0  # of the rectangle
FLATTEST = 2.6  # the sides of the rectangle differ by this factor at most
TYPE, SMALLEST = 14.0, 7.0
LEFT, RIGHT, ABOVE, LINE = 96.0, 24.0, 104.0, 18.0
SHADES = (0.95, 0.80, 0.65, 0.875, 0.725)  # luminance: neighbours differ by 0.15


def draw_placement(one: Inspection) -> str:
    """The drawing of a sharding, as the text of an SVG file."""
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
    root = new_page(page_width(LEFT + width + RIGHT, heading, notes), tall, heading)
    _edges(root, one, view, width, height)
    _blocks(root, one, view, (down, across), (width, height), size, turned=turned)
    _ticks(root, one, view, (down, across), (width, height))
    for line, note in enumerate(notes):
        put_text(root, 24, ABOVE + height + 24 + LINE * line, note, size=13)
    return as_text(root)


def write_placement(one: Inspection, path: str | os.PathLike[str]) -> None:
    """Writes the drawing of a sharding to a file.

    Raises:
        InputError: the file cannot be written; what was there before is still there.
    """
    write_whole(draw_placement(one), path, "the drawing", "sharding.svg")


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
    letters = max(len(view.chips(one, row, across - 1)) for row in (0, down - 1))
    least = across * (letters * 11 * LETTER + 12)  # so that a label has its room
    width = min(max(LONGEST if ratio >= 1 else LONGEST * ratio, least, SHORTEST), 2 * LONGEST)
    height = max(min(width / ratio, LONGEST), SHORTEST, down * 16.0)
    return width, height


def _edges(root: ET.Element, one: Inspection, view: View, width: float, height: float) -> None:
    """The dimensions with their extents, along the edges."""
    if view.columns is not None:
        dim = one.array.dims[view.columns]
        said = described(dim, one.extents.get(dim.name), one.grid[view.columns])
        put_text(root, LEFT + width / 2, ABOVE - 26, said, size=13, anchor="middle")
    if view.rows is not None:
        dim = one.array.dims[view.rows]
        said = described(dim, one.extents.get(dim.name), one.grid[view.rows])
        size = min(13.0, max(SMALLEST, (height + 60) / (len(said) * LETTER)))
        text = put_text(root, 0, 0, said, size=size, anchor="middle")
        text.set("transform", f"translate(32 {number(ABOVE + height / 2)}) rotate(-90)")


def _label_size(
    one: Inspection, view: View, count: tuple[int, int], sides: tuple[float, float]
) -> tuple[float, bool]:
    """The size of type with which the labels fit into the blocks, and whether they go upwards."""
    corners = {(row, column) for row in (0, count[0] - 1) for column in (0, count[1] - 1)}
    longest = max(len(view.chips(one, *corner)) for corner in corners)
    wide, high = sides[0] / count[1], sides[1] / count[0]
    flat = min(TYPE, (wide - 12) / (longest * LETTER), high - 4)
    upright = min(TYPE, (high - 12) / (longest * LETTER), wide - 4)
    return (upright, True) if flat < SMALLEST <= upright else (flat, False)


def _blocks(
    root: ET.Element,
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
        group = ET.SubElement(root, "g")
        ET.SubElement(group, "title").text = label
        ET.SubElement(
            group,
            "rect",
            x=number(LEFT + column * wide),
            y=number(ABOVE + row * high),
            width=number(wide),
            height=number(high),
            fill=_colour(row, column, count[1]),
            stroke="#333333",
        )
        if size >= SMALLEST:
            x, y = LEFT + (column + 0.5) * wide, ABOVE + (row + 0.5) * high
            text = put_text(group, x, y, label, size=size, anchor="middle")
            text.set("dy", "0.36em")
            if turned:
                text.set("transform", f"rotate(-90 {number(x)} {number(y)})")


def _ticks(
    root: ET.Element,
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
        longest = max(len(text) for text in texts) * 11 * LETTER if across else 11.0
        every = max(1, -int(-(longest + 4) // room))
        for k in range(0, marks, every):
            along = k * room if one.sized else (k + 0.5) * room
            if across:
                put_text(root, LEFT + along, ABOVE - 7, texts[k], size=11, anchor="middle")
            else:
                put_text(root, LEFT - 7, ABOVE + along + 4, texts[k], size=11, anchor="end")


def _colour(row: int, column: int, columns: int) -> str:
    """A shade of the luminance that the place has, in a hue of its own."""
    return colour((row * columns + column) * 47 % 360, SHADES[(row + column) % len(SHADES)])
