"""What stands in a picture: its texts with their places, and what they cover."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from shardsim.plot.canvas import styled

if TYPE_CHECKING:
    from shardsim.plot.canvas import Picture

SVG = "{http://www.w3.org/2000/svg}"


def texts_of(svg: str) -> list[str]:
    """The texts of an SVG, in order."""
    return [found.text or "" for found in ET.fromstring(svg).iter(f"{SVG}text")]


def tips_of(svg: str) -> list[str]:
    """What is said when something is pointed at; not the title of the whole."""
    return [found.text or "" for found in ET.fromstring(svg).iter(f"{SVG}title")][1:]


def boxes_of(picture: Picture) -> list[tuple[str, float, float, float, float]]:
    """Each text with the left, bottom, right and top of what it covers, in units of the page."""
    canvas = FigureCanvasAgg(picture.figure)
    with styled():
        canvas.draw()  # puts the names of axes below their ticks
    renderer = canvas.get_renderer()
    found = []
    for text in picture.figure.findobj(Text):
        assert isinstance(text, Text)
        if text.get_text() and text.get_visible() and not text.get_rotation() % 90:
            extent = text.get_window_extent(renderer)
            found.append((text.get_text(), extent.x0, extent.y0, extent.x1, extent.y1))
    return found


def outside(picture: Picture) -> list[str]:
    """The texts that leave the page."""
    width, height = picture.figure.get_size_inches() * 72
    return [
        text
        for text, left, low, right, high in boxes_of(picture)
        if left < -0.5 or low < -0.5 or right > width + 0.5 or high > height + 0.5
    ]


def on_lines(picture: Picture) -> list[str]:
    """The texts that cover a line of the charts."""
    points = [
        chart.transData.transform((x, y))
        for chart in picture.figure.axes[1:]
        for line in chart.lines
        for (x0, y0), (x1, y1) in itertools.pairwise(line.get_xydata().tolist())
        for step in range(401)
        for x, y in [(x0 * (x1 / x0) ** (step / 400), y0 * (y1 / y0) ** (step / 400))]
    ]
    return [
        text
        for text, left, low, right, high in boxes_of(picture)
        if any(left < x < right and low < y < high for x, y in points)
    ]


def overlaps(picture: Picture) -> list[tuple[str, str]]:
    """The pairs of texts that cover each other by more than a unit."""
    boxes = boxes_of(picture)
    return [
        (one[0], other[0])
        for index, one in enumerate(boxes)
        for other in boxes[index + 1 :]
        if one[1] + 1 < other[3]
        and other[1] + 1 < one[3]
        and one[2] + 1 < other[4]
        and other[2] + 1 < one[4]
    ]
