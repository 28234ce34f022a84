"""The words of the notation: what may be a name, and how axes are written in a subscript."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shardsim.notation.subaxes import PART, sub_axis
from shardsim.vocabulary import DTYPE_ALIASES, CollectiveKind, Dtype

__all__ = [
    "ARRAY_NAME",
    "AXIS_NAME",
    "COLLECTIVES",
    "DIM_NAME",
    "DTYPES",
    "LETTER",
    "LOCAL",
    "NAME_AN_AXIS",
    "UNREDUCED",
    "WHOLE_AXIS_NAME",
    "WORD",
    "axes_text",
    "dims_text",
    "dtype_named",
    "is_local",
    "leading_collective",
    "looks_like_dtype",
    "split_capitals",
]

UPPER = "A-Z\u0391-\u03a9"  # Latin and Greek
LOWER = "a-z\u03b1-\u03c9"
LETTER = UPPER + LOWER
WORD = f"[{LETTER}0-9]+"

DIM_NAME = re.compile(f"[{LETTER}][{LETTER}0-9]*'*")
ARRAY_NAME = re.compile(f"[{LETTER}][{LETTER}0-9]*(?:_{WORD})*'*")
_WHOLE = f"[{UPPER}][0-9]*|(?=.*[{LOWER}])[{LETTER}][{LETTER}0-9]*"
WHOLE_AXIS_NAME = re.compile(_WHOLE)
AXIS_NAME = re.compile(f"(?:{_WHOLE})(?:{PART})?")  # an axis or a part of one, X:(1)2
NAME_AN_AXIS = (
    "name an axis with one capital letter (X, X1) or a word in lower case (data); "
    "write a part of one as X:(1)2"
)
_CAPITAL = re.compile(f"[{UPPER}][0-9]*'*")

LOCAL = "LOCAL"  # the subscript of a dot that leaves the result unreduced
UNREDUCED = "U"  # the word in {U_X}

DTYPES: dict[str, Dtype] = {**{dtype.value: dtype for dtype in Dtype}, **DTYPE_ALIASES}
_DTYPE_LIKE = re.compile(
    r"(?:u?int\d*|[usif](?:4|8|16|32|64|128)|b?float\d*|bf\d+|fp\d+|tf32)(?:_?e\dm\d\w*)?",
    re.IGNORECASE,
)
COLLECTIVES: dict[str, CollectiveKind] = {
    kind.value.replace("_", ""): kind for kind in CollectiveKind
}


def dtype_named(word: str) -> Dtype | None:
    """The element type of that name, in any case.

    >>> dtype_named("BF16"), dtype_named("uint8")
    (<Dtype.BF16: 'bf16'>, None)
    """
    return DTYPES.get(word.lower())


def looks_like_dtype(word: str) -> bool:
    """Whether a word is an element type somewhere, known here or not.

    >>> [word for word in ["s8", "u8", "fp8_e4m3", "S2", "fp8_scale"] if looks_like_dtype(word)]
    ['s8', 'u8', 'fp8_e4m3']
    """
    return dtype_named(word) is not None or _DTYPE_LIKE.fullmatch(word) is not None


def is_local(word: str) -> bool:
    """Whether a word of a dot's subscript is `LOCAL`, in any case."""
    return word.upper() == LOCAL


def split_capitals(word: str) -> tuple[str, ...]:
    """The names in one word of a subscript: capitals are a name each, anything else is one name.

    >>> split_capitals("XY"), split_capitals("X1Y2"), split_capitals("data")
    (('X', 'Y'), ('X1', 'Y2'), ('data',))
    """
    pieces = tuple(_CAPITAL.findall(word))
    return pieces if "".join(pieces) == word else (word,)


def axes_text(axes: Sequence[str]) -> str:
    """A subscript in its canonical form, with its underscore; nothing for no axes.

    >>> axes_text(["X", "Y"]), axes_text(["data"]), axes_text(["data", "X"])
    ('_XY', '_data', '_{data,X}')
    >>> axes_text(["X:(1)2"]), axes_text(["X:(2)2", "Y"])
    ('_{X:(1)2}', '_{X:(2)2,Y}')
    """
    if not axes:
        return ""
    alone = len(axes) == 1 and sub_axis(axes[0]) is None
    if alone or all(_CAPITAL.fullmatch(axis) for axis in axes):
        return "_" + "".join(axes)
    return "_{" + ",".join(axes) + "}"


def dims_text(dims: Sequence[str]) -> str:
    """The subscript of a dot that sums `dims`, with its underscore.

    >>> dims_text(["J"]), dims_text(["N", "H"]), dims_text([])
    ('_J', '_{N,H}', '_{}')
    """
    return f"_{dims[0]}" if len(dims) == 1 else "_{" + ",".join(dims) + "}"


def leading_collective(words: Sequence[str]) -> tuple[CollectiveKind, int] | None:
    """The collective that the first words name, and how many words that takes.

    >>> leading_collective(["all", "gather", "X"])
    (<CollectiveKind.ALL_GATHER: 'all_gather'>, 2)
    """
    joined = ""
    for count, word in enumerate(words[:3], 1):
        joined += word.lower()
        if joined in COLLECTIVES:
            return COLLECTIVES[joined], count
    return None
