"""The ladder of machines: bytes/s from the matrix unit down to the network."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from shardsim.catalogue.ladder import ladder, main_dtype
from shardsim.errors import InputError
from shardsim.plot.axes import decades
from shardsim.plot.canvas import MARGIN, Page, page_width, styled
from shardsim.plot.colours import GREY, colour
from shardsim.plot.numbers import ratio_text
from shardsim.units import format_rate
from shardsim.vocabulary import ChannelKind

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from shardsim.hardware import Chip
    from shardsim.plot.canvas import Picture

__all__ = ["draw_ladder", "ladder_picture", "write_ladder"]

ABOVE, GAP, HEAD, RUNG, BAR = 96.0, 28.0, 30.0, 36.0, 20.0
NAMES, BARS, VALUES = 96.0, 300.0, 178.0
COLUMN = NAMES + BARS + VALUES
NOTE = "logarithmic; of the matrix unit what it takes at one FLOP per byte"
NEEDED = "FLOP/B: FLOPs per byte that keep the matrix unit busy from there"
SHADES = {
    None: (30, 0.30, None),
    ChannelKind.VMEM: (45, 0.80, None),
    ChannelKind.L2: (45, 0.80, None),
    ChannelKind.HBM: (210, 0.55, None),
    ChannelKind.ICI: (190, 0.88, "///"),
    ChannelKind.NVLINK: (190, 0.88, "///"),
    ChannelKind.PCIE: (330, 0.66, None),
    ChannelKind.DCN: (100, 0.92, "..."),
    ChannelKind.INFINIBAND: (100, 0.92, "..."),
    ChannelKind.NETWORK: (100, 0.92, "..."),
}
"""Hue, luminance and hatch of each channel; None is the matrix unit."""


class _Rung(NamedTuple):
    """One bar.

    Attributes:
        kind: The channel; None of the matrix unit.
        name: Its name.
        rate: Bytes/s; of the matrix unit at one FLOP per byte.
        said: What is written beside it.
        slower: How many times as fast the bar above it is; None of the first.
    """

    kind: ChannelKind | None
    name: str
    rate: Fraction
    said: str
    slower: Fraction | None


@styled()
def ladder_picture(
    chips: Sequence[Chip], heading: tuple[str, str] = ("Bytes/s of one chip", NOTE)
) -> Picture:
    """For each chip a bar (logarithmic) for every channel, the fastest first.

    The first bar is what the matrix unit takes at one FLOP per byte; between two bars stands by how
    much the next is slower.

    Args:
        chips: The chips.
        heading: What the picture shows, and how.

    Raises:
        InputError: there is no chip.
    """
    if not chips:
        raise InputError("a ladder needs a chip", "name one or more")
    ladders = [(chip.title or chip.name, _rungs(chip)) for chip in chips]
    across = 1 if len(chips) == 1 else 2 if len(chips) < 7 else 3
    rows = [ladders[at : at + across] for at in range(0, len(ladders), across)]
    tall = [HEAD + 16 + RUNG * max(len(rungs) for _, rungs in row) for row in rows]
    width = page_width(MARGIN + across * (COLUMN + GAP), heading, [NEEDED])
    bottom = ABOVE + sum(tall) + GAP * (len(rows) - 1)
    page = Page(width, bottom + 36, heading)
    page.text(MARGIN, bottom + 14, NEEDED, size=12)
    rates = [rung.rate for _, rungs in ladders for rung in rungs]
    low, high = decades(rates, 1)
    ends = (low - 1, high)
    top = ABOVE
    for row, height in zip(rows, tall, strict=True):
        for column, (name, rungs) in enumerate(row):
            _ladder(page, (MARGIN + column * (COLUMN + GAP), top), name, rungs, ends)
        top += height + GAP
    return page.picture()


def draw_ladder(
    chips: Sequence[Chip], heading: tuple[str, str] = ("Bytes/s of one chip", NOTE)
) -> str:
    """The ladder of chips, as the text of an SVG file; see `ladder_picture`."""
    return ladder_picture(chips, heading).svg()


def write_ladder(
    chips: Sequence[Chip],
    path: str | os.PathLike[str],
    heading: tuple[str, str] = ("Bytes/s of one chip", NOTE),
) -> None:
    """Writes the ladder of chips to a file, SVG or PNG by its name.

    Raises:
        InputError: there is no chip, or the file cannot be written; what was there is still.
    """
    ladder_picture(chips, heading).write(path, "the picture", "ladder.svg")


def _rungs(chip: Chip) -> list[_Rung]:
    """What is drawn of a chip, the fastest first."""
    dtype = main_dtype(chip)
    peak = chip.peak(dtype)
    found = [_Rung(None, "matrix unit", peak, f"{format_rate(peak, 'FLOP')} {dtype.value}", None)]
    rungs = ladder(chip)
    ratios = [rungs[0].needed, *(rung.ratio for rung in rungs)]
    for rung, ratio in zip(rungs, ratios, strict=False):
        rate, kind = rung.channel.bandwidth, rung.channel.kind
        said = f"{format_rate(rate)}; {ratio_text(rung.needed)} FLOP/B"
        found.append(_Rung(kind, kind.label, rate, said, ratio))
    return found


def _ladder(
    page: Page,
    corner: tuple[float, float],
    name: str,
    rungs: Sequence[_Rung],
    ends: tuple[int, int],
) -> None:
    """The bars of one chip, with its name above."""
    left, top = corner[0] + NAMES, corner[1] + HEAD
    page.text(corner[0], corner[1] + 12, name, size=14, weight="bold")
    for power in range(ends[0], ends[1] + 1):
        x = left + BARS * (power - ends[0]) / (ends[1] - ends[0])
        bottom = top + RUNG * len(rungs) - (RUNG - BAR)
        page.line((x, top - 3), (x, bottom + 3), color="#dddddd", linewidth=0.8, zorder=0)
        if power % 3 == 0:
            page.text(x, bottom + 16, format_rate(Fraction(10) ** power), size=10, anchor="middle")
    for number, rung in enumerate(rungs):
        y = top + RUNG * number
        hue, light, hatch = SHADES[rung.kind]
        wide = max(2.0, BARS * (math.log10(rung.rate) - ends[0]) / (ends[1] - ends[0]))
        page.text(left - 10, y + BAR / 2, rung.name, size=12, anchor="end", middle=True)
        page.box((left, y), (wide, BAR), fill=colour(hue, light), hatch=hatch, tip=rung.said)
        said = page.text(left + wide + 8, y + BAR / 2, rung.said, size=12, middle=True)
        said.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5})
        if rung.slower is not None:
            ratio = f"÷ {ratio_text(rung.slower)}"
            x = left + 8
            page.line((x, y - (RUNG - BAR) + 2), (x, y - 2), color=GREY, linewidth=1.2)
            page.text(x + 8, y - (RUNG - BAR) / 2, ratio, size=11, middle=True)
