"""What pictures have in common: text in an SVG, numbers, and colours that differ in grey too."""

from __future__ import annotations

import colorsys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LETTER", "as_text", "colour", "new_page", "number", "page_width", "put_text"]

LETTER = 0.58  # the width of a letter, by the size of the type
LARGE, SMALL = 18.0, 13.0  # of the heading, and of what is below it
MARGIN = 24.0
FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"


def page_width(drawn: float, heading: tuple[str, str], notes: Sequence[str]) -> float:
    """How wide a page is on which a drawing, its heading and its notes have room."""
    longest = max(len(heading[0]) * LARGE / SMALL, *(len(line) for line in (heading[1], *notes)))
    return max(drawn, MARGIN + longest * SMALL * LETTER + MARGIN)


def new_page(width: float, height: float, heading: tuple[str, str]) -> ET.Element:
    """A white page with what it shows in bold, and below that where."""
    root = ET.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=number(width),
        height=number(height),
    )
    root.set("font-family", FONT)
    ET.SubElement(root, "title").text = _printable(" ".join(heading))
    ET.SubElement(root, "rect", width="100%", height="100%", fill="white")
    put_text(root, MARGIN, 32, heading[0], size=LARGE, weight="bold")
    put_text(root, MARGIN, 54, heading[1], size=SMALL)
    return root


def as_text(root: ET.Element) -> str:
    """The page as the text of an SVG file."""
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def put_text(
    parent: ET.Element,
    x: float,
    y: float,
    text: str,
    *,
    size: float,
    anchor: str = "start",
    weight: str = "normal",
) -> ET.Element:
    """A line of text."""
    found = ET.SubElement(parent, "text", x=number(x), y=number(y))
    found.set("font-size", number(size))
    found.set("text-anchor", anchor)
    found.set("font-weight", weight)
    found.text = _printable(text)
    return found


def colour(hue: int, luminance: float) -> str:
    """A colour of a hue (degrees) and a luminance.

    >>> colour(0, 0.5)
    '#cd6a6a'
    """
    light, dark = 1.0, 0.0
    for _ in range(12):
        middle = (light + dark) / 2
        red, green, blue = colorsys.hls_to_rgb(hue / 360, middle, 0.5)
        if 0.2126 * red + 0.7152 * green + 0.0722 * blue < luminance:
            dark = middle
        else:
            light = middle
    return "#" + "".join(f"{round(255 * one):02x}" for one in (red, green, blue))


def _printable(text: str) -> str:
    """The text without what XML has no sign for."""
    return "".join(char if char.isprintable() else "?" for char in text)


def number(value: float) -> str:
    """A number as short as it may be.

    >>> number(12.0), number(1.25)
    ('12', '1.2')
    """
    return f"{value:.1f}".removesuffix(".0")
