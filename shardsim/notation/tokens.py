"""Text to tokens: every spelling of a sign becomes one kind of token, decoration disappears.

A token keeps its place in the text as typed, so that a fault points at what the person sees.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from typing import NamedTuple

from shardsim.errors import NotationError, Source
from shardsim.notation.margins import without_margins
from shardsim.notation.names import LETTER, WORD
from shardsim.vocabulary import CollectiveKind

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


_DASH = "[-\u2010-\u2015\u2212]"  # hyphens, dashes, the minus sign
_BRACED = r"\{(?:[^{}]|\{[^{}]*\})*\}"
_HYPHENATED = "|".join(kind.value.replace("_", "-") for kind in CollectiveKind)
_TOP = rf"T(?![{LETTER}0-9])|{_command('top|intercal')}"

# In this order; the first that matches is taken. Names that are no `Kind` are handled apart.
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("ARROW", rf"\\?{_DASH}{{1,2}}(?:\\?>|&gt;)|&(?:rarr|#8594|#x2192);|[→⟶]"),
    ("ARROW", rf"{_command('to|(?:long)?rightarrow')}"),
    ("ARROW", rf"{_command('xrightarrow')}\s*(?:\[[^\[\]]*\]\s*)?{_BRACED}"),
    (
        "DOUBLE_ARROW",
        rf"={{1,3}}(?:>|&gt;)|[⇒⟹]|&rArr;|{_command('implies|(?:Long)?[Rr]ightarrow')}",
    ),
    ("TRANSPOSE", rf"\^\s*\{{?\s*(?:\\(?:text|math[a-z]+)\s*\{{)?(?:{_TOP})|ᵀ"),
    ("TRANSPOSE", rf"(?<=[{LETTER}0-9'])\.T(?=\s*\[)"),
    ("DOT", rf"&(?:middot|sdot|times|#183|#xb7);|{_command('cdot|times|ast|bullet')}"),
    ("WRAP", rf"{_command(_WRAPPERS)}\*?\s*\{{"),
    ("WRAP", rf"{_command('textcolor')}\s*\{{[^{{}}]*\}}\s*\{{"),
    ("WRAP", rf"\{{\s*{_command('bf|rm|it|tt|sf')}"),
    ("PRIME", r"&(?:prime|apos|rsquo|#39|#x27);"),
    ("PRIME", rf"['′’]+|\^?{_command('prime')}|\^\{{(?:\s*\\prime)+\s*\}}"),
    ("SKIP", rf"{_command('begin|end')}\s*\{{[^{{}}]*\}}(?:\{{[^{{}}]*\}})?"),
    ("SKIP", rf"{_command('[hv]space')}\*?\s*\{{[^{{}}]*\}}"),
    ("SKIP", _command(_SILENT + "|" + _WRAPPERS)),
    ("OPEN_CURLY", rf"\\{{0,2}}\{{|{_command('lbrace')}"),
    ("CLOSE_CURLY", rf"\\{{0,2}}\}}|{_command('rbrace')}"),
    ("SKIP", r"\\\\(?:\[[0-9][^\]\n]*\])?(?![\[\]_*])"),
    ("OPEN_SQUARE", rf"\\{{0,2}}\[|{_command('lbrack')}"),
    ("CLOSE_SQUARE", rf"\\{{0,2}}\]|{_command('rbrack')}"),
    ("SKIP", r"&(?:nbsp|#160|#xa0|ensp|emsp|thinsp);"),
    ("SKIP", r"\s+|[\u200b\u2060\ufeff]|\\[,;:!>()\s]|[&$~`]|\*\*"),
    ("SKIP", r"(?i:</?(?:b|strong|i|em|it|code|span|br)(?:\s[^<>]*)?/?>)"),
    ("DOT", r"\\{0,2}\*|[.@·⋅∙•∗×]"),
    ("UNDERSCORE", r"\\{0,2}_"),
    ("EQUALS", r":?="),
    ("OPEN_SUB", r"(?i:<sub>)"),
    ("CLOSE_SUB", r"(?i:</sub>)"),
    ("COMMA", r","),
    ("COLON", r":"),
    ("OPEN_ROUND", r"\("),
    ("CLOSE_ROUND", r"\)"),
    ("WORD", rf"(?i:{_HYPHENATED})"),
    ("WORD", WORD),
    ("JUNK", r"\\[A-Za-z]+|[^\W\d_]+|(?s:.)"),
)
_TOKEN = re.compile("|".join(f"(?P<{name}_{k}>{p})" for k, (name, p) in enumerate(_PATTERNS)))
_NAMES = [name for name, _ in _PATTERNS]

_ARROW_HINT = "an arrow is written ->"
_STRAY_HINTS = {
    **dict.fromkeys("->\u2013\u2014\u2212", _ARROW_HINT),
    "+": "multiply arrays only: write a dot, · or *",
    ";": "write one statement at a time",
    "/": "multiply arrays only; give sizes with --dims and --mesh",
    "^": "write no superscript; a prime is written A'",
    "<": "write a subscript as I_X or I<sub>X</sub>",
}
_TRANSPOSE_HINT = "swap the dimensions, such as W[F, D] for W[D, F]"


def cut(text: str, most: int = 40) -> str:
    """A piece of the text, cut to a length that fits into a message.

    >>> cut("A[I_X, J, K, L]", 10)
    'A[I_X, ...'
    """
    return text if len(text) <= most else text[: most - 3] + "..."


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
    joined = -1  # where a word begins that belongs to the `d` before it
    for match in _TOKEN.finditer(without_margins(text)):
        name = _NAMES[(match.lastindex or 1) - 1]
        start, end = match.span()
        if name in ("JUNK", "DOUBLE_ARROW", "TRANSPOSE"):
            raise _stray(source, match, name, tokens)
        if name == "PRIME":
            _add_prime(source, match, tokens)
        elif name == "WRAP":
            open_braces.append((name, start))
            joined = end if _is_differential(tokens, start) else -1
        elif name != "SKIP" and _is_visible(name, match[0], start, open_braces):
            kind = Kind[name]
            word = _normal(kind, match[0])
            if kind is Kind.WORD and start == joined:
                before = tokens.pop()
                word, start = before.text + word, before.start
            tokens.append(Token(kind, word, start, end))
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
        return text.replace("-", "")
    return "·" if kind is Kind.DOT else kind.value.strip("'")


def _is_differential(tokens: list[Token], start: int) -> bool:
    r"""Whether a `d` stands directly before, as in `d\text{Out}`, and is no subscript itself."""
    return (
        bool(tokens)
        and (tokens[-1].kind, tokens[-1].text, tokens[-1].end) == (Kind.WORD, "d", start)
        and (len(tokens) < 2 or tokens[-2].kind is not Kind.UNDERSCORE)
    )


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
    count = 1 if match[0][0] == "&" else match[0].count("prime") or len(match[0])
    end = match.end() if word is tokens[-1] else word.end
    tokens[words[-1]] = Token(Kind.WORD, word.text + "'" * count, word.start, end)


def _stray(source: Source, match: re.Match[str], name: str, tokens: list[Token]) -> NotationError:
    """The error for a piece of text that is no token."""
    text = match[0]
    place = source.place(*match.span())
    if name == "TRANSPOSE":
        return NotationError("the notation has no transpose", _TRANSPOSE_HINT, place)
    if name == "DOUBLE_ARROW":
        return NotationError(f"{shown(text)} has no meaning here", _ARROW_HINT, place)
    form = unicodedata.decomposition(text[0])
    if form.startswith("<sub>"):
        owner = cut(tokens[-1].text) if tokens and tokens[-1].kind is Kind.WORD else "I"
        letters = unicodedata.normalize("NFKC", text).upper()
        if letters.isdigit():
            return NotationError(
                f"{shown(text)} is a Unicode subscript, and a number is no axis",
                f"name the axis with a letter, {owner}_X; write a digit of a name as "
                f"{owner}{cut(letters)}",
                place,
            )
        return NotationError(
            f"{shown(text)} is a Unicode subscript, which only some letters have",
            f"write the subscript after an underscore: {owner}_{cut(letters)}",
            place,
        )
    if form.startswith("<super>"):
        return NotationError(f"{shown(text)} is a superscript", _STRAY_HINTS["^"], place)
    if text.startswith("\\") and len(text) > 1:
        return NotationError(
            f"the LaTeX command {cut(text)} has no meaning here",
            "write a dot as \\cdot, an arrow as \\rightarrow; leave other commands out",
            place,
        )
    hint = "write for example A[I, J_X] · B[J_X, K] -> C[I, K]"
    return NotationError(f"{shown(text)} has no meaning here", _STRAY_HINTS.get(text, hint), place)
