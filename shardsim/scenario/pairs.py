"""Names with numbers or words: a mapping in a file, or a text such as "X=4,Y=4"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from shardsim.documents import Document, Faults, described
from shardsim.errors import Place, ScenarioError, Source
from shardsim.notation import parse_assignments
from shardsim.units import parse_count

__all__ = ["Pair", "extents_of", "name_place", "place_in", "read_pairs", "read_sizes"]

EXAMPLES = {"dims": "I=8192,J=8192", "layout": "X=x,Y=y", "dtype": "A=int8,default=bf16"}


def read_sizes(document: Document, key: str, what: str) -> dict[str, int]:
    """Names with whole numbers, from a mapping or from "I=8192,J=8192".

    Raises:
        InputError: one thing is wrong.
        InputErrors: several are.
    """
    data = document.at(key).data
    if isinstance(data, str):
        return parse_assignments(document.source(key) or data, what)
    faults = Faults()
    sizes = {}
    for name, value in data.items():
        place = document.place(key, name)
        said = "" if value is None else value
        size = faults.attempt(partial(parse_count, said, f"{what} {name}", place))
        sizes[name] = size or 0
    faults.raise_any()
    return sizes


def extents_of(dims: Mapping[str, object] | str | None) -> dict[str, int]:
    """Extents from Python values, or from a text as on the command line.

    Raises:
        InputError: one is not a whole number above 0, or the text is no pairs.

    >>> extents_of("I=8192,J=512"), extents_of({"I": "64"}), extents_of(None)
    ({'I': 8192, 'J': 512}, {'I': 64}, {})
    """
    if isinstance(dims, str):
        return parse_assignments(Source(dims, "--dims"), "dimension")
    if not isinstance(dims, Mapping | None):
        why = (
            f"dims must be a mapping or a text such as {EXAMPLES['dims']}; it is {described(dims)}"
        )
        raise ScenarioError(why, "write {I: 8192, J: 8192}")
    return {name: parse_count(value, f"dimension {name}") for name, value in (dims or {}).items()}


def name_place(document: Document, key: str, name: str) -> Place | None:
    """Where a name stands, in a mapping or in a text such as "I=8192,J=8192"."""
    source = document.source(key)
    if source is None or not isinstance(document.at(key).data, str):
        return document.key_place(key, name)
    return place_in(source, name) or document.place(key)


def place_in(source: Source, name: str) -> Place | None:
    """Where a name stands in a text such as "I=8192,J=8192"."""
    found = re.search(rf"(?:^|,)\s*({re.escape(name)})\s*=", source.text)
    return None if found is None else source.place(*found.span(1))


@dataclass(frozen=True, slots=True)
class Pair:
    """A name and a word, with their places."""

    name: str
    word: object
    name_place: Place | None
    word_place: Place | None


def read_pairs(document: Document, key: str) -> list[Pair]:
    """Names with words, from a mapping or from "A=int8,B=bf16".

    Raises:
        ScenarioError: a part of the text is no pair, or a name is given twice.
    """
    data = document.at(key).data
    if isinstance(data, dict):
        return [
            Pair(name, word, document.key_place(key, name), document.place(key, name))
            for name, word in data.items()
        ]
    source = document.source(key) or Source(data, key)
    way_out = f"write {EXAMPLES[key]}, with a comma between two"
    if not data.strip(", "):
        raise ScenarioError(f"{key} is empty", way_out, source.place(0))
    pairs: list[Pair] = []
    for part in re.finditer(r"[^,]+", data):
        blank = len(part[0]) - len(part[0].lstrip())
        place = source.place(min(part.start() + blank, part.end() - 1), part.end())
        name, equals, word = (piece.strip() for piece in part[0].partition("="))
        if not (name and equals and word) or "=" in word:
            why = f"expected NAME=WORD for {key}, found {part[0].strip()!r}"
            raise ScenarioError(why, way_out, place)
        if name in (pair.name for pair in pairs):
            raise ScenarioError(f"{name} is given twice in {key}", "give it once", place)
        start = part.end() - len(part[0].partition("=")[2].lstrip())
        pairs.append(Pair(name, word, place, source.place(start, start + len(word))))
    return pairs
