"""Strategies against sizes: how long each takes, and how much slower it is than the best."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.errors import InputError
from shardsim.plot.canvas import MARGIN, Page, page_width, styled, text_width
from shardsim.plot.colours import INK, shade
from shardsim.units import format_bytes, format_seconds

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from shardsim.comparison import Compared, Row
    from shardsim.plot.canvas import Picture

__all__ = ["draw_heatmap", "heatmap_picture", "write_heatmap"]

ABOVE, WIDE, HIGH, KEY = 112.0, 118.0, 50.0, 96.0
LONGEST = 44
"""Letters of a strategy's name."""
FULL = Fraction(4)
"""The darkest cell is so many times slower than the best of its size, or the slowest there is."""
SCALE = 220.0


@styled()
def heatmap_picture(name: str, columns: Sequence[tuple[str, Compared]]) -> Picture:
    """A cell for each strategy (down) and size (across) with its simulated time.

    The darker, the slower against the best of its column, which is framed. What does not fit in
    the memory of a chip is hatched.

    Args:
        name: What is compared.
        columns: Each size with its runs; all have the same strategies.

    Raises:
        InputError: there is no column.
    """
    if not columns:
        raise InputError("there is nothing to draw", "give one size or more")
    names = [row.name for row in columns[0][1].rows]
    cut = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in names]
    heading = (name, _said(columns))
    left = MARGIN + max(text_width(each, 13) for each in cut) + 14
    wide = max([WIDE, *(text_width(label, 13) + 14 for label, _ in columns)])
    bottom = ABOVE + HIGH * len(names)
    most = _most(columns)
    width = page_width(max(left + wide * len(columns) + MARGIN, MARGIN + 640), heading)
    page = Page(width, bottom + KEY, heading)
    for number, each in enumerate(cut):
        y = ABOVE + HIGH * (number + 0.5)
        page.text(left - 12, y, each, anchor="end", middle=True)
    for number, (label, compared) in enumerate(columns):
        x = left + wide * number
        page.text(x + wide / 2, ABOVE - 10, label, anchor="middle")
        for line, row in enumerate(compared.rows):
            _cell(page, (x, ABOVE + HIGH * line), wide, compared, row, most)
    for number, (_, compared) in enumerate(columns):
        line = next(at for at, row in enumerate(compared.rows) if row is compared.best)
        corner = (left + wide * number + 2, ABOVE + HIGH * line + 2)
        page.box(corner, (wide - 4, HIGH - 4), edge=INK, line=3.5)
    _key(page, bottom + 28, most, hatched=any(not r.fits for _, c in columns for r in c.rows))
    return page.picture()


def draw_heatmap(name: str, columns: Sequence[tuple[str, Compared]]) -> str:
    """The heat map, as the text of an SVG file; see `heatmap_picture`."""
    return heatmap_picture(name, columns).svg()


def write_heatmap(
    name: str, columns: Sequence[tuple[str, Compared]], path: str | os.PathLike[str]
) -> None:
    """Writes the heat map to a file, SVG or PNG by its name; see `heatmap_picture`.

    Raises:
        InputError: there is no column, or the file cannot be written; what was there is still.
    """
    heatmap_picture(name, columns).write(path, "the picture", "compare.svg")


def _said(columns: Sequence[tuple[str, Compared]]) -> str:
    """The machines."""
    machines = dict.fromkeys(
        row.run.plan.mesh.topology.name for _, compared in columns for row in compared.rows
    )
    return f"simulated on {', '.join(machines)}; the darker, the slower"


def _most(columns: Sequence[tuple[str, Compared]]) -> Fraction:
    """The slowdown of the darkest cells."""
    factors = [compared.slowdown(row) for _, compared in columns for row in compared.rows]
    return max([FULL, *(factor for factor in factors if factor is not None)])


def _share(factor: Fraction | None, most: Fraction) -> float:
    """How dark a cell is, from 0 to 1, on a logarithmic scale.

    >>> [_share(factor, Fraction(4)) for factor in (Fraction(1), Fraction(2), None)]
    [0.0, 0.5, 1.0]
    """
    if factor is None:
        return 1.0
    return max(0.0, math.log(factor) / math.log(most)) if factor > 0 else 0.0


def _cell(
    page: Page,
    corner: tuple[float, float],
    wide: float,
    compared: Compared,
    row: Row,
    most: Fraction,
) -> None:
    """One time, and below it how many times that of the best."""
    factor = compared.slowdown(row)
    second = "best" if row is compared.best else "" if factor is None else _times(factor)
    if not row.fits:
        second = "does not fit"
    memory = format_bytes(row.run.totals.peak_memory_bytes_per_chip)
    page.box(
        corner,
        (wide, HIGH),
        fill=shade(_share(factor, most)),
        edge="#ffffff" if row.fits else "#777777",
        line=1.5 if row.fits else 0.8,
        hatch=None if row.fits else "////",
        tip=f"{row.name}: {format_seconds(row.seconds)}, {memory} of memory on a chip",
    )
    x, y = corner[0] + wide / 2, corner[1] + HIGH / 2
    first = page.text(x, y - 9, format_seconds(row.seconds), anchor="middle", middle=True)
    below = page.text(x, y + 11, second, size=11, anchor="middle", middle=True)
    if not row.fits:
        for text in (first, below):
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.5})


def _times(factor: Fraction) -> str:
    """How many times as long.

    >>> _times(Fraction(9, 5)), _times(Fraction(1234)), _times(Fraction(1001, 1000))
    ('1.80x', '1,234x', '1.001x')
    """
    if factor >= 100:
        return f"{round(factor):,}x"
    near = factor != 1 and abs(factor - 1) < Fraction(1, 100)
    return f"{float(factor):.3f}x" if near else f"{float(factor):.2f}x"


def _key(page: Page, top: float, most: Fraction, *, hatched: bool) -> None:
    """What shades, frames and hatches mean."""
    steps = 11
    for step in range(steps):
        corner = (MARGIN + SCALE * step / steps, top)
        page.box(corner, (SCALE / steps, 16), fill=shade(step / (steps - 1)), edge=None)
    page.box((MARGIN, top), (SCALE, 16), line=0.8)
    page.text(MARGIN, top + 32, "as the best", size=12)
    page.text(MARGIN + SCALE, top + 32, f"{_times(most)} as long", size=12, anchor="end")
    page.box((MARGIN + SCALE + 34, top), (28, 16), edge=INK, line=3)
    page.text(MARGIN + SCALE + 70, top + 8, "best of its size", size=12, middle=True)
    if hatched:
        page.box((MARGIN + SCALE + 204, top), (28, 16), edge="#777777", hatch="////", line=0.8)
        page.text(MARGIN + SCALE + 240, top + 8, "does not fit in memory", size=12, middle=True)
