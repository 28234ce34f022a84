"""The page on which all pictures are drawn, and the files that it becomes.

A page is measured in units of 1/72 inch from its upper left corner; type is as large as it says in
these units. Text in an SVG is text: it can be searched. The same picture gives the same bytes.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shardsim.errors import InputError
from shardsim.files import special, write_whole
from shardsim.plot.colours import DARK

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

__all__ = ["MARGIN", "Page", "Picture", "file_kind", "page_width", "styled", "text_width"]

STYLE = Path(__file__).with_name("shardsim.mplstyle")
LARGE, SMALL, MARGIN = 18.0, 13.0, 24.0
"""The type of the heading, that of what is below it, and the margin."""
TIP = "tip-"
ANCHORS: dict[str, Literal["left", "center", "right"]] = {
    "start": "left",
    "middle": "center",
    "end": "right",
}
CACHE_NEWS = {
    "matplotlib": (
        "mkdir -p failed for path",
        "is not a writable directory",
        "created a temporary cache directory",
    ),
    "matplotlib.font_manager": ("building the font cache", "Could not save font_manager cache"),
}
"""What matplotlib logs of where it keeps its list of fonts: nothing that a user has to know."""


@contextmanager
def styled() -> Iterator[None]:
    """The style of this package, whatever the user's settings of matplotlib are.

    Raises:
        InputError: there is no folder at all in which matplotlib can keep its list of fonts.
    """
    for name in CACHE_NEWS:
        logging.getLogger(name).addFilter(_worth_saying)
    try:
        import matplotlib.style
    except OSError as error:
        raise InputError(
            "pictures need a folder to keep the list of fonts in, and none can be written",
            "set MPLCONFIGDIR to a folder that can",
        ) from error
    with matplotlib.style.context(STYLE, after_reset=True), warnings.catch_warnings():
        # a name in a script that the font lacks: a box stands for it, in an SVG the viewer's font
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _worth_saying(record: logging.LogRecord) -> bool:
    """Whether a message of matplotlib is about more than its own cache."""
    return not any(words in record.getMessage() for words in CACHE_NEWS.get(record.name, ()))


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """How wide a line of text is, in the font of the pictures.

    >>> 0 < text_width("il", 13) < text_width("MW", 13) < text_width("MW", 18)
    True
    """
    with styled():
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        properties = FontProperties(size=size)
        return float(text_to_path.get_text_width_height_descent(text, properties, ismath=False)[0])


def page_width(drawn: float, heading: tuple[str, str], notes: Sequence[str] = ()) -> float:
    """How wide a page is on which a drawing, its heading and its notes have room."""
    longest = max(text_width(line, SMALL) for line in (heading[1], *notes))
    return max(drawn, MARGIN + max(longest, text_width(heading[0], LARGE) * 1.12) + MARGIN)


def file_kind(path: str | os.PathLike[str]) -> Literal["svg", "png"]:
    """Which picture a file is by its name; a pipe or a device takes SVG.

    Raises:
        InputError: it ends in something else.

    >>> file_kind("a.svg"), file_kind("b/a.PNG")
    ('svg', 'png')
    """
    named = Path(path)
    match named.suffix.lower():
        case ".svg":
            return "svg"
        case ".png":
            return "png"
        case found:
            if special(named) is not None:  # a folder is refused where it is written
                return "svg"
            ends = f"it ends in {found}" if found else "it has no ending"
            raise InputError(
                f"{str(path)!r} names no picture: pictures are .svg or .png, and {ends}",
                f"write {named.stem}.svg or {named.stem}.png",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture that is ready.

    Attributes:
        figure: What is drawn.
        title: What it shows.
        tips: What is said when something is pointed at, by its number, in an SVG.
    """

    figure: Figure
    title: str
    tips: tuple[str, ...] = ()

    def svg(self) -> str:
        """The text of an SVG file."""
        file = io.StringIO()
        self._save(file, "svg", {"Date": None, "Creator": "shardsim", "Title": self.title})
        told = re.sub(rf'<g id="{TIP}(\d+)">', self._told, file.getvalue())
        return told[told.index("<svg") :]

    def png(self) -> bytes:
        """The bytes of a PNG file, two dots to a unit of the page."""
        file = io.BytesIO()
        self._save(file, "png", {"Software": "shardsim", "Title": self.title})
        return file.getvalue()

    def write(self, path: str | os.PathLike[str], what: str, example: str) -> None:
        """Writes a file, SVG or PNG by its name.

        Args:
            path: The file.
            what: What it is, for the error: "the picture".
            example: A name for it, where a folder is given: "timeline.svg".

        Raises:
            InputError: it is neither, or cannot be written; what was there before is still there.
        """
        kind = file_kind(path)
        write_whole(self.svg() if kind == "svg" else self.png(), path, what, example)

    def _save(self, file: Any, kind: str, metadata: dict[str, str | None]) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        with styled():
            canvas = FigureCanvasSVG(self.figure) if kind == "svg" else None
            if canvas is not None:
                canvas.print_svg(file, metadata=metadata)  # type: ignore[no-untyped-call]
            else:
                FigureCanvasAgg(self.figure)
                self.figure.savefig(file, format="png", dpi=144, metadata=metadata)

    def _told(self, found: re.Match[str]) -> str:
        return f"{found[0]}<title>{escape(self.tips[int(found[1])], quote=False)}</title>"


class Page:
    """A white page with a heading, on which things are put by their place in it."""

    def __init__(self, width: float, height: float, heading: tuple[str, str]) -> None:
        """A page with what it shows in bold, and below that where.

        Args:
            width: Units of 1/72 inch.
            height: Likewise.
            heading: The two lines.
        """
        from matplotlib.figure import Figure

        self.width, self.height = width, height
        self.title = printable(" ".join(heading))
        self.figure = Figure(figsize=(width / 72, height / 72), dpi=72)
        self.sheet = self.figure.add_axes((0, 0, 1, 1), zorder=10)
        self.sheet.set_xlim(0, width)
        self.sheet.set_ylim(height, 0)
        self.sheet.axis("off")
        self.tips: list[str] = []
        self.text(MARGIN, 32, heading[0], size=LARGE, weight="bold")
        self.text(MARGIN, 54, heading[1], size=SMALL)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = SMALL,
        anchor: str = "start",
        weight: str = "normal",
        middle: bool = False,
        turned: bool = False,
        colour: str | None = None,
    ) -> Text:
        """A line of text.

        Args:
            x: Where it starts, or where its middle or its end is.
            y: Its base line.
            text: What it says.
            size: Of the type.
            anchor: `start`, `middle` or `end`.
            weight: `normal` or `bold`.
            middle: `y` is its middle.
            turned: It is read upwards.
            colour: Of the type.
        """
        found = self.sheet.text(
            x,
            y,
            printable(text),
            fontsize=size,
            fontweight=weight,
            ha=ANCHORS[anchor],
            va="center_baseline" if middle else "baseline",
        )
        if turned:
            found.set(rotation=90, rotation_mode="anchor")
        if colour is not None:
            found.set_color(colour)
        return found

    def box(
        self,
        corner: tuple[float, float],
        sides: tuple[float, float],
        *,
        fill: str | None = None,
        edge: str | None = DARK,
        line: float = 1.0,
        tip: str | None = None,
        hatch: str | None = None,
    ) -> None:
        """A rectangle by its upper left corner, its width and its height; `tip` when pointed at."""
        from matplotlib.patches import Rectangle

        made = Rectangle(
            corner,
            *sides,
            facecolor=fill or "none",
            edgecolor=edge or "none",
            linewidth=line if edge else 0,
            hatch=hatch,
        )
        if tip is not None:
            made.set_gid(f"{TIP}{len(self.tips)}")
            self.tips.append(printable(tip))
        self.sheet.add_artist(made)
        made.set_clip_on(False)

    def line(self, start: tuple[float, float], end: tuple[float, float], **look: Any) -> None:
        """A straight line; `look` as matplotlib's lines have it."""
        from matplotlib.lines import Line2D

        drawn = {"color": DARK, "linewidth": 1.0, **look}
        found = Line2D([start[0], end[0]], [start[1], end[1]], **drawn)
        self.sheet.add_artist(found)
        found.set_clip_on(False)

    def chart(self, x: float, y: float, width: float, height: float) -> Axes:
        """Axes that fill a rectangle, given by its upper left corner."""
        return self.figure.add_axes(
            (
                x / self.width,
                1 - (y + height) / self.height,
                width / self.width,
                height / self.height,
            )
        )

    def place(self, chart: Axes, x: float | Fraction, y: float | Fraction) -> tuple[float, float]:
        """Where on the page a point of a chart lies, by its values on the axes."""
        across, up = chart.transData.transform((float(x), float(y)))
        return float(across), self.height - float(up)

    def picture(self) -> Picture:
        """What was drawn."""
        return Picture(figure=self.figure, title=self.title, tips=tuple(self.tips))


def printable(text: str) -> str:
    r"""The text without what XML has no sign for.

    >>> printable("a\x00b")
    'a?b'
    """
    return "".join(char if char.isprintable() else "?" for char in text)
