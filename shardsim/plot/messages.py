"""A collective against its size: time above, busbw below."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.plot.axes import Sign, decades, legend, legend_height, linear, logarithmic
from shardsim.plot.canvas import Page, page_width, styled
from shardsim.plot.colours import DARK, INK, STROKES
from shardsim.plot.labels import Labels, Spot
from shardsim.units import format_bytes, format_rate, format_seconds
from shardsim.vocabulary import Relation

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from shardsim.comparison.sizes import Size, Sizes
    from shardsim.plot.canvas import Picture
    from shardsim.plot.colours import Stroke

__all__ = ["draw_messages", "messages_picture", "write_messages"]

LEFT, RIGHT, ABOVE, BELOW, BETWEEN = 104.0, 44.0, 76.0, 62.0, 30.0
WIDTH, TIME, RATE = 800.0, 340.0, 240.0
BOOK, EXACT, SIMULATED = STROKES[1], STROKES[0], STROKES[4]
STEPS = ((2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))
WORDS = {
    Relation.EQUAL: "",
    Relation.LOWER_BOUND: ", at least",
    Relation.UPPER_BOUND: ", at most",
    Relation.LIMIT: ", with many chunks",
}


@styled()
def messages_picture(sizes: Sizes) -> Picture:
    """Time of a collective in seconds, and busbw in bytes/s, against its size in bytes.

    Size and time are logarithmic. Across lie the latency, which is all that a small one takes, and
    the busbw that a large one comes near.
    """
    rows = sizes.rows
    heading = (
        f"{sizes.name}: {sizes.chips:,} chips",
        f"on {sizes.machine}; S is the size of {sizes.size_means}",
    )
    signs = _signs(rows)
    top = ABOVE + TIME + BETWEEN + RATE + BELOW
    page = Page(page_width(LEFT + WIDTH + RIGHT, heading), top + legend_height(signs) + 16, heading)
    above = page.chart(LEFT, ABOVE, WIDTH, TIME)
    below = page.chart(LEFT, ABOVE + TIME + BETWEEN, WIDTH, RATE)
    ends = (float(rows[0].size), float(max(rows[-1].size, rows[0].size * 2)))
    for chart in (above, below):
        step = 5 if ends[1] / ends[0] > 2**12 else 1
        logarithmic(chart, "x", ends, byte_size, base=2, step=step)
    above.tick_params(labelbottom=False)
    _times(page, above, sizes)
    _rates(page, below, sizes)
    below.set_xlabel("S")
    for chart, name in ((above, "time"), (below, "busbw")):
        chart.set_ylabel(name)
        chart.yaxis.set_label_coords(-78 / WIDTH, 0.5)
    legend(page, signs, top)
    return page.picture()


def draw_messages(sizes: Sizes) -> str:
    """The picture of a collective against its size, as the text of an SVG file."""
    return messages_picture(sizes).svg()


def write_messages(sizes: Sizes, path: str | os.PathLike[str]) -> None:
    """Writes the picture of a collective against its size to a file, SVG or PNG by its name.

    Raises:
        InputError: the file cannot be written; what was there before is still there.
    """
    messages_picture(sizes).write(path, "the picture", "collective.svg")


def byte_size(size: Fraction) -> str:
    """A size in powers of 1,024, where it is a round one.

    >>> byte_size(Fraction(2**15)), byte_size(Fraction(1000))
    ('32 KiB', '1 kB')
    """
    for scale, unit in STEPS:
        if size >= scale and size % scale == 0:
            return f"{int(size / scale)} {unit}B"
    return format_bytes(size)


def _signs(rows: Sequence[Size]) -> list[Sign]:
    words = {WORDS[row.relation]: None for row in rows}
    bound = next(iter(words)) if len(words) == 1 else " or a bound, by size"
    return [
        Sign(f"exact closed form{bound}", EXACT, marker=False),
        Sign("the book's formula", BOOK, marker=False),
        Sign("simulated", SIMULATED, line=False),
    ]


def _times(page: Page, chart: Axes, sizes: Sizes) -> None:
    """The upper chart: seconds, and the latency below which nothing goes."""
    rows = sizes.rows
    times = [time for row in rows for time in (row.book, row.exact, row.simulated) if time]
    low, high = decades(times or [Fraction(1)], 1)
    logarithmic(chart, "y", (10.0**low, 10.0**high), format_seconds)
    labels = Labels(page, chart)
    for size, time in [(row.size, row.simulated) for row in rows if row.simulated]:
        labels.keep(*page.place(chart, size, time))
    for name, look in (("exact", EXACT), ("book", BOOK)):
        found = [(row.size, getattr(row, name)) for row in rows]
        _line(page, chart, labels, [(x, y) for x, y in found if y], look)
    _points(chart, [(row.size, row.simulated) for row in rows if row.simulated])
    if sizes.floor:
        text = f"latency {format_seconds(sizes.floor)}"
        _across(page, chart, labels, sizes.floor, text, right=True)


def _rates(page: Page, chart: Axes, sizes: Sizes) -> None:
    """The lower chart: busbw, and what it comes near."""
    rows = sizes.rows
    most = [row.busbw(time) for row in rows for time in (row.book, row.exact) if time]
    linear(chart, max([*most, sizes.asymptote]) * Fraction(6, 5) or Fraction(1), format_rate, 4)
    labels = Labels(page, chart)
    done = [(row.size, row.busbw(row.simulated)) for row in rows if row.simulated]
    for x, y in done:
        labels.keep(*page.place(chart, x, y))
    for name, look in (("exact", EXACT), ("book", BOOK)):
        found = [(row.size, row.busbw(getattr(row, name))) for row in rows]
        _line(page, chart, labels, found, look)
    _points(chart, done)
    if sizes.asymptote:
        text = f"with large sizes {format_rate(sizes.asymptote)}"
        _across(page, chart, labels, sizes.asymptote, text, right=False)


def _line(
    page: Page,
    chart: Axes,
    labels: Labels,
    points: Sequence[tuple[Fraction, Fraction]],
    look: Stroke,
) -> None:
    xs, ys = [float(x) for x, _ in points], [float(y) for _, y in points]
    chart.plot(xs, ys, color=look.colour, linestyle=look.dash, zorder=3)
    places = [page.place(chart, x, y) for x, y in points]
    for start, end in itertools.pairwise(places):
        labels.avoid(start, end)


def _points(chart: Axes, points: Sequence[tuple[Fraction, Fraction]]) -> None:
    chart.plot(
        [float(x) for x, _ in points],
        [float(y) for _, y in points],
        linestyle="none",
        marker=SIMULATED.marker,
        color=SIMULATED.colour,
        markeredgecolor=DARK,
        markersize=8,
        zorder=5,
        clip_on=False,
    )


def _across(
    page: Page, chart: Axes, labels: Labels, value: Fraction, text: str, *, right: bool
) -> None:
    """A dotted line across at a value, with its name above or below."""
    chart.axhline(float(value), color=INK, linewidth=1.5, linestyle=(0, (1, 1)), zorder=2)
    (left, y), (end, _) = (page.place(chart, x, value) for x in chart.get_xlim())
    labels.avoid((left, y), (end, y))
    spots = []
    for away in (8.0, 120.0, 240.0):
        x, anchor = (end - away, "end") if right else (left + away, "start")
        spots += [Spot(x, y + drop, anchor, cost=away + drop) for drop in (-6.0, 17.0)]
    labels.put(text, spots)
