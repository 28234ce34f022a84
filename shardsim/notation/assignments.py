"""Names with whole numbers: `I=8192,J=8192`, as `--dims` and `--mesh` take them."""

from __future__ import annotations

import re

from shardsim.errors import NotationError, Source
from shardsim.notation.names import DIM_NAME
from shardsim.notation.tokens import LONGEST, cut, shown
from shardsim.units import parse_count

__all__ = ["parse_assignments"]


def parse_assignments(text: str | Source, what: str) -> dict[str, int]:
    """Reads `NAME=NUMBER` pairs with commas between them.

    Args:
        text: Such as "I=8192, J=8192".
        what: What a name stands for, for the errors: "dimension", "axis".

    Raises:
        NotationError: no pair, a pair without '=', a bad name, a name given twice.
        QuantityError: a number that is not whole, or out of range.

    >>> parse_assignments("I=8192, J=512", "dimension")
    {'I': 8192, 'J': 512}
    """
    if not isinstance(text, str | Source):
        raise NotationError(f"expected a text, not {type(text).__name__}", "write I=8192,J=8192")
    source = Source(text) if isinstance(text, str) else text
    if len(source.text) > LONGEST:
        raise NotationError(
            f"the text has {len(source.text)} characters, more than {LONGEST}", "write fewer pairs"
        )
    if not source.text.strip():
        raise NotationError(
            f"no {what} is given", "write NAME=NUMBER, such as I=8192,J=8192", source.place(0)
        )
    sizes: dict[str, int] = {}
    for part in re.finditer(r"[^,]+|(?<=,)(?=,|$)|^(?=,)", source.text):
        name, size = _pair(part[0], part.start(), source, what)
        if name in sizes:
            start = part.start() + part[0].index(name)
            both = f"as {sizes[name]} and as {size}" if sizes[name] != size else "twice"
            raise NotationError(
                f"{what} {cut(name)} is given {both}",
                f"give {name} once",
                source.place(start, start + len(name)),
            )
        sizes[name] = size
    return sizes


EXAMPLES = {"dimension": "I=8192,J=8192", "axis": "X=4,Y=4"}


def _pair(part: str, offset: int, source: Source, what: str) -> tuple[str, int]:
    """One NAME=NUMBER; `offset` is where it stands in the text."""
    start = offset + len(part) - len(part.lstrip())
    end = max(start, offset + len(part.rstrip()))
    name, equals, value = (piece.strip() for piece in part.partition("="))
    if not equals or "=" in value:
        found = shown(part.strip()) if part.strip() else "nothing"
        raise NotationError(
            f"expected one NAME=NUMBER for the {what}, found {found}",
            f"write {EXAMPLES.get(what, 'X=4,Y=4')}, with a comma between two",
            source.place(min(start, max(len(source.text) - 1, 0)), end if end > start else None),
        )
    if DIM_NAME.fullmatch(name) is None:
        raise NotationError(
            f"{shown(name)} is not the name of {'an' if what[0] in 'aeiou' else 'a'} {what}",
            "write a name as a letter, then letters and digits, such as I, X1 or data",
            source.place(start, start + max(1, len(name))),
        )
    place = source.place(max(start, end - max(1, len(value))), end)
    return name, parse_count(value, f"{what} {cut(name)}", place)
