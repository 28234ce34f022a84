"""Where the characters of a text stand in a file that spells it another way.

YAML folds lines, takes indentation away and knows escapes. All of that is white space, apart from
escapes and doubled quotes, which stand for one character each: so the visible characters of a
value are those of the file, one by one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from shardsim.errors import Place, Source

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Lines", "Spelling", "Written", "part", "pinned"]

_UNITS = {
    '"': re.compile(r"\\(?:x..|u.{4}|U.{8}|.)|\S", re.DOTALL),
    "'": re.compile(r"''|\S"),
}
_VISIBLE = re.compile(r"\S")
_BLANK_ESCAPES = "ntrvfNLP_"


class Lines:
    """The lines of a file, and the place of each of its characters."""

    def __init__(self, text: str, origin: str) -> None:
        ends = list(re.finditer(r"\r\n|\r|\n", text))
        self.text = text
        self.origin = origin
        self.starts = [0, *(end.end() for end in ends if end.end() < len(text))]
        self.texts = re.split(r"\r\n|\r|\n", text)[: len(self.starts)]

    def position(self, index: int) -> tuple[int, int]:
        """Line and column of a character, from 0; the end of its line for a line break."""
        row = bisect_right(self.starts, index) - 1
        return row, min(index - self.starts[row], len(self.texts[row]))


@dataclass(frozen=True, slots=True)
class Written(Source):
    """A text that asks where its characters stand.

    Attributes:
        place_of: The place of the characters from one to another of the whole text.
        offset: Where this part of it starts.
    """

    place_of: Callable[[int, int], Place] = field(kw_only=True)
    offset: int = field(kw_only=True, default=0)

    def place(self, start: int, end: int | None = None) -> Place:
        """The place of characters `start` to `end` of the text (by default one character)."""
        stop = start + 1 if end is None else end
        return self.place_of(self.offset + start, self.offset + stop)


def pinned(text: str, place: Place) -> Written:
    """A text all of which is said at one place: by an alias.

    >>> str(pinned("A[I]", Place("f", 2, 7, "  - &x *x")).place(3))
    'f:2:7'
    """
    return Written(text, place.origin, place.line, place.column, place_of=lambda _, __: place)


def part(source: Source, start: int, text: str, row: int) -> Source:
    """A line of a text, where it stands.

    Args:
        source: The text.
        start: The character of it at which the line starts.
        text: The line.
        row: How many lines are before it.
    """
    if isinstance(source, Written):
        return replace(source, text=text, offset=source.offset + start)
    column = source.column if row == 0 else 1
    context = source.context if text == source.text else None
    return Source(text, source.origin, source.line + row, column, context)


class Spelling:
    """A value and the stretch of a file that spells it; looked at when a place is asked for."""

    def __init__(self, value: str, lines: Lines, begin: int, end: int, style: str | None) -> None:
        self.value = value
        self.lines = lines
        self.begin = begin
        self.end = end
        self.style = style

    def place(self, start: int, stop: int) -> Place:
        """The place of some characters of the value, up to the end of their first line."""
        spans = self.spans[start : max(stop, start + 1)] or self.spans[-1:]
        row, column = self.lines.position(spans[0][0])
        last = max(end for begin, end in spans if self.lines.position(begin)[0] == row)
        width = max(1, last - spans[0][0])
        return Place(self.lines.origin, row + 1, column + 1, self.lines.texts[row], width)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """From where to where in the file each character is spelled; one more for the end."""
        spans: list[tuple[int, int]] = []
        units = units_of(self.lines.text, self.begin, self.end, self.style)
        before, seen = self.begin, 0
        for found in re.finditer(r"\S|\s+", self.value):
            if found[0].isspace():
                spans += self._blanks(found[0], before, units[seen : seen + 1])
                continue
            spans += units[seen : seen + 1] or [(before, before + 1)]
            seen += 1
            before = spans[-1][1]
        return [*spans, (before, before + 1)]

    def _blanks(
        self, blanks: str, before: int, after: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """White space: behind what is before it; at the start of a line, ahead of what is after."""
        indent = 0
        if after and self.lines.position(before)[0] != self.lines.position(after[0][0])[0]:
            indent = len(blanks) - 1 - blanks.rfind("\n")
        row, _ = self.lines.position(before)
        last = self.lines.starts[row] + len(self.lines.texts[row])
        starts = [min(before + k, last) for k in range(len(blanks) - indent)]
        starts += [after[0][0] - k for k in range(indent, 0, -1)]
        return [(start, start + 1) for start in starts]


def units_of(text: str, begin: int, end: int, style: str | None) -> list[tuple[int, int]]:
    r"""From where to where each visible character is spelled in a stretch of a file.

    >>> units_of(r'a \u00b7\tb', 0, 11, '"')
    [(0, 1), (2, 8), (10, 11)]
    """
    found = _UNITS.get(style or "", _VISIBLE).finditer(text, begin, end)
    return [unit.span() for unit in found if not _is_blank(unit[0])]


def _is_blank(unit: str) -> bool:
    """Whether an escape stands for white space, or for nothing: the end of a line."""
    if unit[0] != "\\" or len(unit) == 1:
        return False
    if len(unit) > 2:
        return chr(int(unit[2:], 16)).isspace()
    return unit[1] in _BLANK_ESCAPES or unit[1].isspace()
