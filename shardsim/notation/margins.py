r"""What stands around a statement where it is pasted from, and does not belong to it.

The pieces are blanked, so that all other characters keep their places.
"""

from __future__ import annotations

import re

from shardsim.notation.names import looks_like_dtype

__all__ = ["without_margins"]

_BLANK = r"\s|[$`*~&]|&nbsp;|\\\\|\\[,;:! ]|\\end\s*\{[^{}]*\}|</[A-Za-z]+>"
_NUMBER = re.compile(r"\s*\d+[.)]\s+")
_COMPLETE = re.compile(rf"(?:[\])}}]|\\rbrac[ek])(?:{_BLANK}|[.;,]|\\q?quad|\\text\s*\{{)*\Z")
_STOP = re.compile(rf"[.;,](?=(?:{_BLANK})*\Z)")
_REMARK = re.compile(rf"[*_]{{0,2}}\(([^()\[\]{{}}_=<>]*)\)[*_]{{0,2}}(?=(?:{_BLANK}|\}})*\Z)")
_PROSE = re.compile(r"[a-z]{2}|\A\d+\Z")
_MEANING = re.compile(r"unreduced|partial|shard|replicat|local", re.IGNORECASE)


def without_margins(text: str) -> str:
    """The text with blanks for a list number, a display, a full stop and a remark behind it.

    >>> without_margins("2. A[I_X] -> A[I]. (Case 3)").strip()
    'A[I_X] -> A[I]'
    """
    number = _NUMBER.match(text)
    if number is not None:
        text = _blanked(text, number.start(), number.end())
    text = _without_stop(_without_display(text))
    remark = _REMARK.search(text)
    if remark is not None and _is_aside(remark[1]) and _COMPLETE.search(text[: remark.start()]):
        text = _without_stop(_blanked(text, remark.start(), remark.end()))
    return text


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def _without_stop(text: str) -> str:
    """The text without the full stop, comma or semicolon behind a complete statement."""
    stop = _STOP.search(text)
    if stop is None or _COMPLETE.search(text[: stop.start()]) is None:
        return text
    return _blanked(text, stop.start(), stop.end())


def _is_aside(remark: str) -> bool:
    """Whether the words in parentheses say nothing that a statement could say."""
    words = re.findall(r"\w+", remark)
    return (
        _PROSE.search(remark) is not None
        and _MEANING.search(remark) is None
        and not any(looks_like_dtype(word) for word in words)
    )


def _without_display(text: str) -> str:
    r"""Blanks the `\[` and `\]` around a LaTeX display, which are no brackets of an array."""
    bare = text.strip()
    inner = re.search(r"\\?[\[\]]", bare[2:])
    display = bare.startswith("\\[") and bare.endswith("\\]")
    if not display or inner is None or inner[0] != "[":
        return text
    last = text.rindex("\\]")
    return _blanked(_blanked(text, last, last + 2), text.index("\\["), text.index("\\[") + 2)
