"""FLOP/s attained as a dimension grows, for several sizes of the others."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from shardsim.errors import InputError
from shardsim.plot.axes import Sign, legend, legend_height, linear, logarithmic
from shardsim.plot.canvas import Page, page_width, styled
from shardsim.plot.colours import DARK, INK, stroke
from shardsim.plot.labels import Labels, Spot
from shardsim.plot.numbers import extent_text
from shardsim.units import FlopsPerSecond, format_rate

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from shardsim.plot.canvas import Picture

__all__ = ["Curve", "attained_picture", "draw_attained", "write_attained"]

LEFT, RIGHT, ABOVE, BELOW = 116.0, 40.0, 76.0, 62.0
WIDTH, HEIGHT = 800.0, 420.0
MARKS = 8
"""Markers along a curve."""


class Curve(NamedTuple):
    """What is attained at several extents.

    Attributes:
        label: For people: `D = F = 4096`.
        xs: Extents of the dimension that grows.
        ys: FLOP/s at each.
        critical: The extent from which on computing binds; None where there is none.
    """

    label: str
    xs: tuple[int | Fraction, ...]
    ys: tuple[FlopsPerSecond, ...]
    critical: Fraction | None = None


@styled()
def attained_picture(
    curves: Sequence[Curve],
    *,
    peaks: Sequence[tuple[str, FlopsPerSecond]] = (),
    axis: str = "B",
    heading: tuple[str, str] = ("FLOP/s attained", ""),
) -> Picture:
    """FLOP/s attained against the extent of a dimension (logarithmic), from 0 up.

    Args:
        curves: One for each size of the other dimensions.
        peaks: What the units compute, each with a name: lines across.
        axis: What grows.
        heading: What the picture shows, and below that where.

    Raises:
        InputError: there is no curve with two extents.
    """
    if not any(len(curve.xs) > 1 for curve in curves):
        raise InputError("there is nothing to draw", "give a curve with two extents or more")
    signs = [Sign(_told(curve, axis), stroke(index)) for index, curve in enumerate(curves)]
    top = ABOVE + HEIGHT + BELOW
    wide = page_width(LEFT + WIDTH + RIGHT, heading, [sign.text + " " * 12 for sign in signs])
    page = Page(wide, top + legend_height(signs) + 16, heading)
    chart = page.chart(LEFT, ABOVE, WIDTH, HEIGHT)
    xs = [x for curve in curves for x in curve.xs]
    ys = [*(y for curve in curves for y in curve.ys), *(peak for _, peak in peaks)]
    ends = (float(min(xs)), float(max(xs)))
    logarithmic(chart, "x", ends, lambda value: f"{int(value):,}", base=2)
    linear(chart, max(ys) * Fraction(9, 8), lambda rate: format_rate(rate, "FLOP"))
    chart.set_xlabel(axis)
    chart.set_ylabel("FLOP/s attained")
    chart.yaxis.set_label_coords(-92 / WIDTH, 0.5)
    labels = Labels(page, chart)
    for name, peak in dict.fromkeys(peaks):
        _peak(page, chart, labels, (name, peak), ends)
    for index, curve in enumerate(curves):
        _curve(page, chart, labels, curve, index)
    for index, curve in enumerate(curves):
        _critical(page, chart, labels, curve, index, axis)
    legend(page, signs, top)
    return page.picture()


def draw_attained(
    curves: Sequence[Curve],
    *,
    peaks: Sequence[tuple[str, FlopsPerSecond]] = (),
    axis: str = "B",
    heading: tuple[str, str] = ("FLOP/s attained", ""),
) -> str:
    """FLOP/s attained, as the text of an SVG file; see `attained_picture`."""
    return attained_picture(curves, peaks=peaks, axis=axis, heading=heading).svg()


def write_attained(
    curves: Sequence[Curve],
    path: str | os.PathLike[str],
    *,
    peaks: Sequence[tuple[str, FlopsPerSecond]] = (),
    axis: str = "B",
    heading: tuple[str, str] = ("FLOP/s attained", ""),
) -> None:
    """Writes FLOP/s attained to a file, SVG or PNG by its name; see `attained_picture`.

    Raises:
        InputError: there is nothing to draw, or the file cannot be written.
    """
    picture = attained_picture(curves, peaks=peaks, axis=axis, heading=heading)
    picture.write(path, "the picture", "attained.svg")


def _told(curve: Curve, axis: str) -> str:
    """A curve for the legend."""
    if curve.critical is None:
        return curve.label
    return f"{curve.label}: bound by computing from {axis} = {extent_text(curve.critical)} on"


def _peak(
    page: Page,
    chart: Axes,
    labels: Labels,
    peak: tuple[str, FlopsPerSecond],
    ends: tuple[float, float],
) -> None:
    """A line across at what a unit computes, with its name."""
    name, rate = peak
    chart.axhline(float(rate), color=INK, linewidth=1.5, linestyle=(0, (1, 1)), zorder=2)
    (left, y), (right, _) = (page.place(chart, x, rate) for x in ends)
    labels.avoid((left, y), (right, y))
    spots = [Spot(left + 8 + away, y - 6, "start", cost=away) for away in (0, 150, 300)]
    labels.put(f"{name} {format_rate(rate, 'FLOP')}", spots)


def _curve(page: Page, chart: Axes, labels: Labels, curve: Curve, index: int) -> None:
    look = stroke(index)
    xs, ys = [float(x) for x in curve.xs], [float(y) for y in curve.ys]
    every = max(1, len(xs) // MARKS)
    chart.plot(
        xs,
        ys,
        color=look.colour,
        linestyle=look.dash,
        marker=look.marker,
        markevery=(index % every, every),
        markeredgecolor=DARK,
        markeredgewidth=0.6,
        clip_on=False,
        zorder=3,
    )
    places = [page.place(chart, x, y) for x, y in zip(xs, ys, strict=True)]
    for start, end in itertools.pairwise(places):
        labels.avoid(start, end)


def _critical(page: Page, chart: Axes, labels: Labels, curve: Curve, index: int, axis: str) -> None:
    """A line down from where computing begins to bind, with the extent at its foot."""
    if curve.critical is None or not curve.xs[0] <= curve.critical <= curve.xs[-1]:
        return
    x, y = page.place(chart, curve.critical, _at(curve, curve.critical))
    foot = (x, labels.inside.bottom + 3)
    page.line((x, y), foot, color=stroke(index).colour, linestyle=(0, (1, 2)), linewidth=1.2)
    page.line((x, y), (x, y), marker="|", markersize=14, color=INK, linewidth=0)
    labels.avoid((x, y), foot)
    spots = [
        Spot(x + 6 * side, foot[1] - 12 - 18 * step, "start" if side > 0 else "end", cost=18 * step)
        for step in range(10)
        for side in (1, -1)
    ]
    labels.put(f"{axis} = {extent_text(curve.critical)}", spots)


def _at(curve: Curve, x: Fraction) -> Fraction:
    """FLOP/s at an extent, between the two next to it.

    >>> _at(Curve("", (1, 3), (Fraction(10), Fraction(20))), Fraction(2))
    Fraction(15, 1)
    """
    for index in range(len(curve.xs) - 1):
        low, high = curve.xs[index], curve.xs[index + 1]
        if low <= x <= high:
            share = Fraction(x - low) / (high - low)
            return curve.ys[index] + (curve.ys[index + 1] - curve.ys[index]) * share
    return curve.ys[-1]
