"""The roofline plot: FLOP/s attained against FLOPs per byte moved, both logarithmic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from shardsim.errors import InputError
from shardsim.plot.axes import Sign, decades, legend, legend_height, logarithmic
from shardsim.plot.canvas import Page, page_width, styled
from shardsim.plot.colours import DARK, INK, Stroke, stroke
from shardsim.plot.labels import Labels, Spot
from shardsim.plot.numbers import power_text, ratio_text
from shardsim.units import FlopsPerSecond, format_rate

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes

    from shardsim.plot.canvas import Picture
    from shardsim.units import BytesPerSecond

__all__ = ["Point", "Roof", "draw_roofline", "roofline_picture", "write_roofline"]

LEFT, RIGHT, ABOVE, BELOW = 116.0, 32.0, 76.0, 62.0
WIDTH, HEIGHT, LINE = 820.0, 500.0, 18.0
BOUND, FREE = "#e4e4e4", "#fafafa"
"""Behind what is bound by bytes, and what by computing."""
MEMORIES = ("HBM", "VMEM", "L2")
CLEAR = 20.0
"""The names of slopes keep so far from the loads, so that there is room for theirs."""
LOWEST = 1000
"""The plot goes down to the ridge over so much, or to the lowest point."""


class Roof(NamedTuple):
    """A machine.

    Attributes:
        name: For people: `v5e bf16`.
        peak: FLOP/s of its unit: the ceiling.
        slopes: Channels with their bytes/s: ("HBM", 819 GB/s); the first one makes the regions.
    """

    name: str
    peak: FlopsPerSecond
    slopes: tuple[tuple[str, BytesPerSecond], ...] = ()


class Point(NamedTuple):
    """A load.

    Attributes:
        label: For people.
        intensity: FLOPs per byte moved.
        attained: FLOP/s.
    """

    label: str
    intensity: Fraction
    attained: FlopsPerSecond


class _Plot(NamedTuple):
    """The page, its chart, and what has room on it; x from `ends[0]` to `ends[1]`."""

    page: Page
    chart: Axes
    labels: Labels
    ends: tuple[float, float]


@styled()
def roofline_picture(
    roofs: Sequence[Roof],
    points: Sequence[Point] = (),
    heading: tuple[str, str] = ("Roofline", ""),
) -> Picture:
    """The roofline plot of machines and loads.

    Across are FLOPs per byte moved, up FLOP/s attained. A slope is what a channel brings, the
    ceiling what the unit computes; where they meet is the ridge, with its intensity.

    Args:
        roofs: The machines; the regions are those of the first slope of the first of them,
            which is named there where there are several.
        points: The loads; one that moves or computes nothing is named below the plot.
        heading: What the picture shows, and below that where.

    Raises:
        InputError: there is no machine.
    """
    if not roofs:
        raise InputError("a roofline needs a machine", "give one Roof or more")
    drawn = [point for point in points if point.intensity > 0 and point.attained > 0]
    idle = [point.label for point in points if point not in drawn]
    notes = [f"not drawn, it moves or computes nothing: {label}" for label in idle]
    page, unnamed = _drawn(roofs, drawn, heading, notes)
    if unnamed:
        notes += [f"no room for its name: {_said(point)}" for point in unnamed]
        page, _ = _drawn(roofs, drawn, heading, notes)
    return page.picture()


def _drawn(
    roofs: Sequence[Roof], points: Sequence[Point], heading: tuple[str, str], notes: list[str]
) -> tuple[Page, list[Point]]:
    """The page, and the loads for whose names there was no room."""
    signs = [Sign(_ceiling(roof), stroke(index), marker=False) for index, roof in enumerate(roofs)]
    said = [sign.text + " " * 8 for sign in signs]
    top = ABOVE + HEIGHT + BELOW
    tall = top + legend_height(signs) + LINE * len(notes) + 16
    page = Page(page_width(LEFT + WIDTH + RIGHT, heading, [*notes, *said]), tall, heading)
    chart = page.chart(LEFT, ABOVE, WIDTH, HEIGHT)
    ends = _limits(chart, roofs, points)
    plot = _Plot(page, chart, Labels(page, chart), ends)
    _regions(plot, roofs[0], named=len(roofs) > 1)
    for index, roof in enumerate(roofs):
        _roof(plot, roof, stroke(index))
    for index, point in enumerate(points):
        _mark(plot, point, stroke(index))
    _name_slopes(plot, roofs)
    for index, roof in enumerate(roofs):
        _mark_ridge(plot, roof, stroke(index))
    for roof in roofs:
        _name_ridge(plot, roof)
    unnamed = [point for point in points if not _name_point(plot, point)]
    legend(page, signs, top)
    for line, note in enumerate(notes):
        page.text(24, top + legend_height(signs) + LINE * line, note, size=12, middle=True)
    return page, unnamed


def draw_roofline(
    roofs: Sequence[Roof],
    points: Sequence[Point] = (),
    heading: tuple[str, str] = ("Roofline", ""),
) -> str:
    """The roofline plot, as the text of an SVG file; see `roofline_picture`."""
    return roofline_picture(roofs, points, heading).svg()


def write_roofline(
    roofs: Sequence[Roof],
    path: str | os.PathLike[str],
    points: Sequence[Point] = (),
    heading: tuple[str, str] = ("Roofline", ""),
) -> None:
    """Writes the roofline plot to a file, SVG or PNG by its name.

    Raises:
        InputError: there is no machine, or the file cannot be written; what was there is still.
    """
    roofline_picture(roofs, points, heading).write(path, "the picture", "roofline.svg")


def _limits(chart: Axes, roofs: Sequence[Roof], points: Sequence[Point]) -> tuple[float, float]:
    """Sets the limits of both axes; those across."""
    ridges = [roof.peak / rate for roof in roofs for _, rate in roof.slopes]
    across = [*ridges, *(point.intensity for point in points)] or [Fraction(1)]
    low, high = decades(across, 5)
    rates = [*(roof.peak for roof in roofs), *(point.attained for point in points)]
    down, up = decades([*rates, min(roof.peak for roof in roofs) / LOWEST])
    ends = (10.0**low, 10.0**high)
    logarithmic(chart, "x", ends, power_text)
    logarithmic(chart, "y", (10.0**down, 10.0**up), lambda rate: format_rate(rate, "FLOP"))
    chart.set_xlabel("FLOPs per byte moved")
    chart.set_ylabel("FLOP/s attained")
    chart.yaxis.set_label_coords(-92 / WIDTH, 0.5)
    return ends


def _regions(plot: _Plot, roof: Roof, *, named: bool) -> None:
    """What is bound by the first slope, and what by computing; `named`: of which machine."""
    if not roof.slopes:
        return
    name, rate = roof.slopes[0]
    ridge = float(roof.peak / rate)
    plot.chart.axvspan(plot.ends[0], ridge, facecolor=BOUND, zorder=0)
    plot.chart.axvspan(ridge, plot.ends[1], facecolor=FREE, zorder=0)
    why = "memory" if name in MEMORIES else "communication"
    floor = plot.labels.inside.bottom - 8
    middle = plot.page.place(plot.chart, ridge, roof.peak)[0]
    whose = f"{roof.name}: " if named else ""
    for text, x in (
        (f"{whose}{why}-bound ({name})", (plot.labels.inside.left + middle) / 2),
        (f"{whose}compute-bound", (plot.labels.inside.right + middle) / 2),
    ):
        plot.labels.put(text, [Spot(x, floor)], weight="bold")


def _roof(plot: _Plot, roof: Roof, look: Stroke) -> None:
    """The ceiling and the slopes below it."""
    low, high = plot.ends
    bottom = plot.chart.get_ylim()[0]
    ridges = [float(roof.peak / rate) for _, rate in roof.slopes]
    drawn: dict[str, Any] = {"color": look.colour, "linestyle": look.dash, "zorder": 3}
    lines = [((min([*ridges, high]) if ridges else low, high), (float(roof.peak),) * 2)]
    for (_, rate), ridge in zip(roof.slopes, ridges, strict=True):
        start = max(low, bottom / float(rate))
        lines.append(((start, ridge), (start * float(rate), float(roof.peak))))
    for xs, ys in lines:
        plot.chart.plot(xs, ys, **drawn)
        ends = [plot.page.place(plot.chart, x, y) for x, y in zip(xs, ys, strict=True)]
        plot.labels.avoid(ends[0], ends[1])


def _ceiling(roof: Roof) -> str:
    slopes = ", ".join(f"{name} {format_rate(rate)}" for name, rate in roof.slopes)
    return f"{roof.name}: {format_rate(roof.peak, 'FLOP')}" + (f"; {slopes}" if slopes else "")


def _name_slopes(plot: _Plot, roofs: Sequence[Roof]) -> None:
    """The names of channels along their slopes; those that several machines share once."""
    by_rate: dict[tuple[str, Fraction], list[Roof]] = {}
    for roof in roofs:
        for name, rate in roof.slopes:
            by_rate.setdefault((name, rate), []).append(roof)
    alone = len({name for name, _ in by_rate}) == len(by_rate)
    for (name, rate), having in by_rate.items():
        top = max(having, key=lambda roof: roof.peak)
        owner = "" if alone else f"{top.name.split(' ')[0]} "
        text = f"{owner}{name} {format_rate(rate)}"
        plot.labels.put(text, _along(plot, float(rate), float(top.peak / rate)), clear=CLEAR)
    for roof in roofs:
        _name_ceiling(plot, roof)


def _along(plot: _Plot, rate: float, ridge: float) -> Iterator[Spot]:
    """Spots above and below a slope, from its middle outwards."""
    bottom = plot.chart.get_ylim()[0]
    low = max(plot.ends[0], bottom / rate)
    (x0, y0), (x1, y1) = (plot.page.place(plot.chart, x, x * rate) for x in (low, ridge))
    angle = math.degrees(math.atan2(y0 - y1, x1 - x0))
    across, up = -math.sin(math.radians(angle)), -math.cos(math.radians(angle))
    for far in (9.0, -9.0 - plot.labels.size * 0.75):
        for share in (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.2, 0.8):
            x, y = x0 + (x1 - x0) * share, y0 + (y1 - y0) * share
            cost = 100 * abs(share - 0.5) + (0 if far > 0 else 20)
            yield Spot(x + across * far, y + up * far, "middle", angle, cost)


def _name_ceiling(plot: _Plot, roof: Roof) -> None:
    """The name of a machine along its ceiling, at the right."""
    right, y = plot.page.place(plot.chart, plot.ends[1], float(roof.peak))
    text = f"{roof.name} {format_rate(roof.peak, 'FLOP')}"
    spots = [
        Spot(right - back, y + drop, "end", cost=back / 5 + max(drop, 0))
        for drop in (-6.0, plot.labels.size + 5)
        for back in (8.0, 90.0, 180.0, 270.0)
    ]
    plot.labels.put(text, spots)


def _mark_ridge(plot: _Plot, roof: Roof, look: Stroke) -> None:
    """A mark where the first slope meets the ceiling, and a line down from there."""
    if not roof.slopes:
        return
    x, y = plot.page.place(plot.chart, roof.peak / roof.slopes[0][1], roof.peak)
    end = (x, plot.labels.inside.bottom + 3)
    plot.page.line((x, y), end, color=look.colour, linewidth=1.2, linestyle=(0, (1, 2)))
    plot.page.line((x, y), (x, y), marker="|", markersize=14, color=INK, linewidth=0)
    plot.labels.avoid((x, y), end)


def _name_ridge(plot: _Plot, roof: Roof) -> None:
    """How many FLOPs per byte there are at the ridge, at the foot of its line."""
    if not roof.slopes:
        return
    ridge = roof.peak / roof.slopes[0][1]
    x, _ = plot.page.place(plot.chart, ridge, roof.peak)
    foot = plot.labels.inside.bottom - 26
    spots = [
        Spot(x + 6 * side, foot - 18 * step, "start" if side > 0 else "end", cost=18 * step)
        for step in range(8)
        for side in (1, -1)
    ]
    plot.labels.put(f"ridge {ratio_text(ridge)} FLOP/B", spots)


def _mark(plot: _Plot, point: Point, look: Stroke) -> None:
    """The marker of a load."""
    plot.chart.plot(
        [float(point.intensity)],
        [float(point.attained)],
        marker=look.marker,
        markersize=9,
        color=look.colour,
        markeredgecolor=DARK,
        linestyle="none",
        zorder=5,
    )
    plot.labels.keep(*plot.page.place(plot.chart, float(point.intensity), float(point.attained)))


def _name_point(plot: _Plot, point: Point) -> bool:
    """The name of a load beside its marker; false where there is no room."""
    x, y = plot.page.place(plot.chart, float(point.intensity), float(point.attained))
    return plot.labels.beside(point.label, x, y)


def _said(point: Point) -> str:
    rate = format_rate(point.attained, "FLOP")
    return f"{point.label}: {ratio_text(point.intensity)} FLOP/B, {rate}"
