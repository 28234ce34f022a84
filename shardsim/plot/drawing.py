"""What pictures have in common: text in an SVG, numbers, and colours that differ in grey too."""

from __future__ import annotations

import colorsys
from xml.etree import ElementTree as ET

__all__ = ["LETTER", "colour", "new_page", "number", "printable", "put_text"]

LETTER = 0.58  # the width of a letter, by the size of the type
FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"


def new_page(width: float, height: float, title: str) -> ET.Element:
    """An empty white page."""
    root = ET.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=number(width),
        height=number(height),
    )
    root.set("font-family", FONT)
    ET.SubElement(root, "title").text = printable(title)
    ET.SubElement(root, "rect", width="100%", height="100%", fill="white")
    return root


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
    found.text = printable(text)
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


def printable(text: str) -> str:
    """The text without what XML has no sign for."""
    return "".join(char if char.isprintable() else "?" for char in text)


def number(value: float) -> str:
    """A number as short as it may be.

    >>> number(12.0), number(1.25)
    ('12', '1.2')
    """
    return f"{value:.1f}".removesuffix(".0")
