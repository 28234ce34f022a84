"""Text to tokens: every spelling of a sign becomes one kind of token, decoration disappears.

A token keeps its place in the text as typed, so that a fault points at what the person sees.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from typing import NamedTuple

from shardsim.errors import NotationError, Source
from shardsim.notation.names import WORD

__all__ = ["LONGEST", "Kind", "Token", "cut", "shown", "tokenize"]

LONGEST = 10_000


class Kind(StrEnum):
    """The kinds of tokens; the value is how a message names one that it expected."""

    WORD = "a name"
    ARROW = "'->'"
    DOT = "a dot"
    EQUALS = "'='"
    UNDERSCORE = "'_'"
    COMMA = "','"
    COLON = "':'"
    OPEN_SQUARE = "'['"
    CLOSE_SQUARE = "']'"
    OPEN_ROUND = "'('"
    CLOSE_ROUND = "')'"
    OPEN_CURLY = "'{'"
    CLOSE_CURLY = "'}'"
    OPEN_SUB = "'<sub>'"
    CLOSE_SUB = "'</sub>'"
    END = "the end"


class Token(NamedTuple):
    """One token; `text` is normalized, `start` and `end` are offsets in the text as typed."""

    kind: Kind
    text: str
    start: int
    end: int


_WRAPPERS = (
    "text(?:bf|it|rm|tt|sf|normal)?|math(?:bf|rm|it|sf|tt|cal|bb)|operatorname|boldsymbol|bm"
    "|red|green|blue|purple|orange|gray"
)
_SILENT = "left|right|[bB]ig[lr]?|quad|qquad|bf|rm|it|tt|sf|small|displaystyle|nonumber|limits"


def _command(names: str) -> str:
    return rf"\\{{1,2}}(?:{names})(?![A-Za-z])"


# In this order; the first that matches is taken. The last three are not `Kind`s.
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("ARROW", rf"\\?-{{1,2}}\\?>|-{{1,2}}&gt;|&rarr;|[→⟶]|{_command('to|(?:long)?rightarrow')}"),
    ("DOT", rf"&(?:middot|sdot|times);|{_command('cdot|times|ast|bullet')}"),
    ("WRAP", rf"{_command(_WRAPPERS)}\*?\s*\{{"),
    ("WRAP", rf"{_command('textcolor')}\s*\{{[^{{}}]*\}}\s*\{{"),
    ("WRAP", rf"\{{\s*{_command('bf|rm|it|tt|sf')}"),
    ("PRIME", rf"['′’]+|\^?{_command('prime')}|\^\{{(?:\s*\\prime)+\s*\}}"),
    ("SKIP", rf"{_command('begin|end')}\s*\{{[^{{}}]*\}}(?:\{{[^{{}}]*\}})?"),
    ("SKIP", rf"{_command('[hv]space')}\*?\s*\{{[^{{}}]*\}}"),
    ("SKIP", _command(_SILENT + "|" + _WRAPPERS)),
    ("OPEN_CURLY", rf"\\{{0,2}}\{{|{_command('lbrace')}"),
    ("CLOSE_CURLY", rf"\\{{0,2}}\}}|{_command('rbrace')}"),
    ("SKIP", r"\\\\(?:\[[0-9][^\]\n]*\])?(?![\[\]_*])"),
    ("OPEN_SQUARE", rf"\\{{0,2}}\[|{_command('lbrack')}"),
    ("CLOSE_SQUARE", rf"\\{{0,2}}\]|{_command('rbrack')}"),
    ("SKIP", r"\s+|[\u200b\u2060\ufeff]|\\[,;:!>()\s]|[&$~`]|\*\*"),
    ("SKIP", r"</?(?:b|strong|i|em|it|code|span|br)(?:\s[^<>]*)?/?>"),
    ("DOT", r"\\{0,2}\*|[.@·⋅∙•∗×]"),
    ("UNDERSCORE", r"\\{0,2}_"),
    ("EQUALS", r":?="),
    ("OPEN_SUB", r"<sub>"),
    ("CLOSE_SUB", r"</sub>"),
    ("COMMA", r","),
    ("COLON", r":"),
    ("OPEN_ROUND", r"\("),
    ("CLOSE_ROUND", r"\)"),
    ("WORD", WORD),
    ("JUNK", r"\\[A-Za-z]+|[^\W\d_]+|(?s:.)"),
)
_TOKEN = re.compile("|".join(f"(?P<{name}_{k}>{p})" for k, (name, p) in enumerate(_PATTERNS)))
_NAMES = [name for name, _ in _PATTERNS]

_STRAY_HINTS = {
    "-": "an arrow is written ->",
    ">": "an arrow is written ->",
    "⇒": "an arrow is written ->",
    "=>": "an arrow is written ->",
    "+": "a statement multiplies arrays; it does not add them",
    ";": "write one statement at a time",
    "/": "a statement multiplies arrays; sizes go to --dims and --mesh",
    "^": "the notation has no superscripts; a prime is written A'",
    "<": "a subscript is written I_X or I<sub>X</sub>",
}


def cut(text: str) -> str:
    """A piece of the text, cut to a length that fits into a message."""
    return text if len(text) <= 40 else text[:37] + "..."


def shown(text: str) -> str:
    """The same in quotes, with what cannot be printed escaped."""
    short = cut(text)
    if not short.isprintable():
        return repr(short)
    return f'"{short}"' if "'" in short else f"'{short}'"


def tokenize(source: Source) -> list[Token]:
    r"""The tokens of a text, with one of kind `END` behind the last.

    Raises:
        NotationError: too long, a character that has no meaning, a brace that is never closed.

    >>> [token.text for token in tokenize(Source(r"\mathbf{A}[I_X] \cdot"))]
    ['A', '[', 'I', '_', 'X', ']', '·', '']
    """
    text = source.text
    if len(text) > LONGEST:
        raise NotationError(
            f"the text has {len(text)} characters, more than {LONGEST}",
            "write one statement at a time",
        )
    tokens: list[Token] = []
    open_braces: list[tuple[str, int]] = []
    for match in _TOKEN.finditer(_without_display_math(text)):
        name = _NAMES[(match.lastindex or 1) - 1]
        start, end = match.span()
        if name == "JUNK":
            raise _stray(source, match, tokens)
        if name == "PRIME":
            _add_prime(source, match, tokens)
        elif name == "WRAP":
            open_braces.append((name, start))
        elif name != "SKIP" and _is_visible(name, match[0], start, open_braces):
            kind = Kind[name]
            tokens.append(Token(kind, _normal(kind, match[0]), start, end))
    if open_braces:
        start = open_braces[-1][1]
        raise NotationError(
            "this '{' is never closed", "write the missing '}'", source.place(start)
        )
    end = tokens[-1].end if tokens else 0
    return [*tokens, Token(Kind.END, "", end, end)]


def _is_visible(name: str, text: str, start: int, open_braces: list[tuple[str, int]]) -> bool:
    r"""Keeps the stack of plain braces; False for one that closes a wrapper such as `\text{`."""
    if text == "{":
        open_braces.append((name, start))
    elif text == "}" and open_braces:
        return open_braces.pop()[0] != "WRAP"
    elif name == "CLOSE_CURLY" and open_braces and open_braces[-1][0] != "WRAP":
        open_braces.pop()
    return True


def _normal(kind: Kind, text: str) -> str:
    if kind is Kind.WORD:
        return text
    return "·" if kind is Kind.DOT else kind.value.strip("'")


def _add_prime(source: Source, match: re.Match[str], tokens: list[Token]) -> None:
    """Adds primes to the last word; a subscript may have closed since, as in `W_{in}'`."""
    behind = (Kind.WORD, Kind.CLOSE_CURLY, Kind.CLOSE_SUB)
    words = [k for k in range(max(0, len(tokens) - 2), len(tokens)) if tokens[k].kind is Kind.WORD]
    if not words or tokens[-1].kind not in behind:
        raise NotationError(
            "a prime belongs to the name before it",
            "write it behind a name, such as A' or W_in'",
            source.place(*match.span()),
        )
    word = tokens[words[-1]]
    count = match[0].count("prime") or len(match[0])
    end = match.end() if word is tokens[-1] else word.end
    tokens[words[-1]] = Token(Kind.WORD, word.text + "'" * count, word.start, end)


def _without_display_math(text: str) -> str:
    r"""Blanks the `\[` and `\]` around a LaTeX display, which are no brackets of an array."""
    bare = text.strip()
    inner = re.search(r"\\?[\[\]]", bare[2:])
    display = bare.startswith("\\[") and bare.endswith("\\]")
    if not display or inner is None or inner[0] != "[":
        return text
    first = text.index("\\[")
    last = text.rindex("\\]")
    return f"{text[:first]}  {text[first + 2 : last]}  {text[last + 2 :]}"


def _stray(source: Source, match: re.Match[str], tokens: list[Token]) -> NotationError:
    """The error for a piece of text that is no token."""
    text = match[0]
    place = source.place(*match.span())
    form = unicodedata.decomposition(text[0])
    if form.startswith("<sub>"):
        owner = tokens[-1].text if tokens else "I"
        letters = unicodedata.normalize("NFKC", text).upper()
        return NotationError(
            f"{shown(text)} is a Unicode subscript, which only some letters have",
            f"write the subscript after an underscore: {cut(owner)}_{cut(letters)}",
            place,
        )
    if form.startswith("<super>"):
        return NotationError(f"{shown(text)} is a superscript", _STRAY_HINTS["^"], place)
    if text.startswith("\\") and len(text) > 1:
        return NotationError(
            f"the LaTeX command {cut(text)} has no meaning here",
            "a dot is \\cdot, an arrow \\rightarrow; leave other commands out",
            place,
        )
    hint = "see the examples: A[I, J_X] · B[J_X, K] -> C[I, K]"
    return NotationError(f"{shown(text)} has no meaning here", _STRAY_HINTS.get(text, hint), place)
