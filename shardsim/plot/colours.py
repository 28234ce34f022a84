"""Colours, dashes and markers that can be told apart in grey too."""

from __future__ import annotations

import colorsys
from typing import NamedTuple

__all__ = ["DARK", "GREY", "INK", "STROKES", "Stroke", "colour", "luminance", "shade", "stroke"]

INK, DARK, GREY = "#111111", "#333333", "#777777"
WEIGHTS = (0.2126, 0.7152, 0.0722)


class Stroke(NamedTuple):
    """How a line is drawn; neighbours differ in luminance, in dash and in marker."""

    colour: str
    dash: str | tuple[int, tuple[int, ...]]
    marker: str


def luminance(text: str) -> float:
    """How light a colour is, from 0 to 1.

    >>> luminance("#000000"), round(luminance("#ffffff"), 6), round(luminance("#ff0000"), 4)
    (0.0, 1.0, 0.2126)
    """
    parts = (int(text[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return sum(weight * part for weight, part in zip(WEIGHTS, parts, strict=True))


def colour(hue: int, light: float, saturation: float = 0.5) -> str:
    """A colour of a hue (degrees) and a luminance.

    >>> colour(0, 0.5)
    '#cd6a6a'
    """
    high, low = 1.0, 0.0
    found = "#000000"
    for _ in range(12):
        middle = (high + low) / 2
        rgb = colorsys.hls_to_rgb(hue / 360, middle, saturation)
        found = "#" + "".join(f"{round(255 * one):02x}" for one in rgb)
        weighed = sum(weight * one for weight, one in zip(WEIGHTS, rgb, strict=True))
        if weighed < light:
            low = middle
        else:
            high = middle
    return found


STROKES = (
    Stroke(colour(215, 0.22, 0.8), "solid", "o"),
    Stroke(colour(20, 0.46, 0.9), (0, (6, 3)), "s"),
    Stroke(colour(150, 0.30, 0.8), (0, (2, 2)), "^"),
    Stroke(colour(300, 0.50, 0.6), (0, (8, 2, 2, 2)), "D"),
    Stroke(colour(0, 0.14, 0.3), (0, (1, 1)), "v"),
    Stroke(colour(190, 0.56, 0.7), (0, (4, 1, 1, 1, 1, 1)), "P"),
)


def stroke(index: int) -> Stroke:
    """How the line of that number is drawn.

    >>> stroke(0) == stroke(6), stroke(0).marker, stroke(1).marker
    (True, 'o', 's')
    """
    return STROKES[index % len(STROKES)]


def shade(share: float) -> str:
    """A colour for a share from 0 (light) to 1 (dark), light enough for black type on it.

    >>> [round(luminance(shade(part)), 2) for part in (0, 0.5, 1)]
    [0.98, 0.78, 0.58]
    """
    part = min(max(share, 0.0), 1.0)
    return colour(round(40 - 12 * part), 0.98 - 0.40 * part, 0.55 + 0.2 * part)
