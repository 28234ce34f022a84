"""Axes that a person can read: round steps, powers with units, and what the lines stand for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from shardsim.plot.canvas import MARGIN, text_width
from shardsim.plot.colours import DARK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from shardsim.plot.canvas import Page
    from shardsim.plot.colours import Stroke

__all__ = ["Sign", "decades", "legend", "legend_height", "linear", "logarithmic", "round_step"]

MOST_TICKS = 10
LINE, SAMPLE = 19.0, 40.0


class Sign(NamedTuple):
    """A line of a legend: how something is drawn, and what it is.

    `line` and `marker` say which of the two are drawn.
    """

    text: str
    stroke: Stroke
    line: bool = True
    marker: bool = True


def round_step(least: Fraction) -> Fraction:
    """1, 2 or 5 times a power of ten, at least so long; 1 where nothing is asked for.

    >>> round_step(Fraction(3, 10)), round_step(Fraction(17))
    (Fraction(1, 2), Fraction(20, 1))
    """
    if least <= 0:
        return Fraction(1)
    power = Fraction(1)
    while power > least:
        power /= 10
    while power * 10 <= least:
        power *= 10
    return next(power * times for times in (1, 2, 5, 10) if power * times >= least)


def decades(values: Sequence[Fraction], room: int = 2) -> tuple[int, int]:
    """The powers of ten between which all values lie, with so many times as much room.

    >>> decades([Fraction(3), Fraction(70)]), decades([Fraction(6)])
    ((0, 3), (0, 2))
    """
    low = math.floor(math.log10(min(values) / room))
    return low, max(low + 1, math.ceil(math.log10(max(values) * room)))


def logarithmic(
    chart: Axes,
    way: str,
    ends: tuple[float, float],
    say: Callable[[Fraction], str],
    *,
    base: int = 10,
    step: int = 1,
) -> None:
    """Makes an axis logarithmic, with a text at powers of a base, at most ten of them.

    Args:
        chart: The axes.
        way: `x` or `y`.
        ends: From where to where.
        say: What a value is called.
        base: Of the powers.
        step: Only every so-manieth power: 10 with base 2.
    """
    axis = chart.xaxis if way == "x" else chart.yaxis
    first = math.ceil(math.log(ends[0], base) - 1e-9)
    last = math.floor(math.log(ends[1], base) + 1e-9)
    while (last - first) // step + 1 > MOST_TICKS:
        step += 1
    powers = [power for power in range(first, last + 1) if power % step == 0]
    if way == "x":
        chart.set_xscale("log", base=base)
        chart.set_xlim(*ends)
    else:
        chart.set_yscale("log", base=base)
        chart.set_ylim(*ends)
    values = [Fraction(base) ** power for power in powers]
    axis.set_ticks([float(value) for value in values], [say(value) for value in values])
    axis.set_ticks([], minor=True)


def linear(chart: Axes, most: Fraction, say: Callable[[Fraction], str], ticks: int = 6) -> None:
    """Makes the upward axis linear from 0, in round steps."""
    most = most if most > 0 else Fraction(1)
    step = round_step(most / ticks)
    values = [step * index for index in range(int(most / step) + 1)]
    chart.set_ylim(0, float(most))
    texts = ["0" if value == 0 else say(value) for value in values]
    chart.yaxis.set_ticks([float(value) for value in values], texts)


def legend_height(signs: Sequence[Sign]) -> float:
    """How much of the height of a page a legend takes."""
    return LINE * len(signs)


def legend(page: Page, signs: Sequence[Sign], top: float, left: float = MARGIN) -> float:
    """What lines and markers stand for, a line each; how wide it is."""
    for number, sign in enumerate(signs):
        y = top + LINE * number
        look = {"color": sign.stroke.colour, "linewidth": 2.0, "markeredgecolor": DARK}
        if sign.line:
            page.line((left, y), (left + SAMPLE, y), linestyle=sign.stroke.dash, **look)
        if sign.marker:
            middle = (left + SAMPLE / 2, y)
            page.line(middle, middle, marker=sign.stroke.marker, **look)
        page.text(left + SAMPLE + 10, y, sign.text, size=12, middle=True)
    return max((left + SAMPLE + 10 + text_width(sign.text, 12) for sign in signs), default=0.0)
