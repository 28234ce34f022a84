"""One strategy as a scenario by itself: the base of the file with the strategy's keys instead.

A key that a strategy sets replaces the base's; `dims` and `dtype` are merged name by name. Every
value keeps its place in the file.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace

from shardsim.documents import Document, Mark, nearest
from shardsim.errors import Place, ScenarioError, Source
from shardsim.scenario.pairs import read_pairs

__all__ = ["MERGED", "base_without", "merged", "named", "with_extents"]

MERGED = ("dims", "dtype")


def merged(document: Document, strategy: str) -> Document:
    """The document of a strategy.

    Args:
        document: A file with `strategies`.
        strategy: The name of one that is a mapping.

    Raises:
        InputError: a text such as "I=64,J=64" cannot be read.

    >>> file = Document({"dims": "I=64,J=64", "strategies": {"wide": {"dims": {"J": "128"}}}})
    >>> merged(file, "wide").data
    {'dims': {'I': '64', 'J': '128'}}
    """
    own = document.at("strategies", strategy)
    for key in MERGED:
        document, own = named(document, key), named(own, key)
    base = {key: value for key, value in document.data.items() if key != "strategies"}
    data = {**base, **own.data}
    outer = {at: mark for at, mark in document.marks.items() if at[:1] != ("strategies",)}
    marks = {at: mark for at, mark in outer.items() if not at or at[0] not in own.data}
    for at, mark in own.marks.items():
        if at[:2] == own.path and at[2:]:
            marks[at[2:]] = mark
    for key in MERGED:
        before, after = base.get(key), own.data.get(key)
        if key == "dtype" and isinstance(before, str):  # the type of all that are not named
            before = {"default": before}
            outer = {(*at, "default") if at == (key,) else at: m for at, m in outer.items()}
        if isinstance(before, dict) and isinstance(after, dict):
            data[key] = {**before, **after}
            kept = (at for at in outer if at[:1] == (key,) and at[1:] and at[1] not in after)
            marks |= {at: outer[at] for at in kept}
    return Document(data, marks)


def base_without(
    document: Document, part: Document, strategy: str, key: str, used: Container[str]
) -> Document:
    """A strategy's document without what the base alone names under a key and nobody uses.

    Args:
        document: The file.
        part: The document of the strategy.
        strategy: Its name.
        key: `dims` or `dtype`.
        used: What its program has.
    """
    own = named(document.at("strategies", strategy), key).data.get(key)
    said = part.data.get(key)
    if not isinstance(said, dict):
        return part
    kept = own if isinstance(own, dict) else {}
    left = {name: value for name, value in said.items() if name in used or name in kept}
    return replace(part, data={**part.data, key: left})


def with_extents(document: Document, extents: Mapping[str, int]) -> Document:
    """The document of a file with other extents wherever it or a strategy has the dimensions.

    Raises:
        ScenarioError: nothing has one of the dimensions.

    >>> file = Document({"dims": "I=64,J=64", "strategies": {"wide": {"dims": {"J": 128}}}})
    >>> found = with_extents(file, {"J": 256}).data
    >>> found["dims"], found["strategies"]["wide"]["dims"]
    ({'I': '64', 'J': 256}, {'J': 256})
    """
    if not extents:
        return document
    known: dict[str, None] = {}
    document = _said(named(document, "dims"), extents, known)
    strategies = document.data.get("strategies")
    for name in strategies if isinstance(strategies, dict) else ():
        if not isinstance(strategies[name], dict):
            continue
        own = _said(named(document.at("strategies", name), "dims"), extents, known)
        data = {**document.data, "strategies": {**document.data["strategies"], name: own.data}}
        document = replace(document, data=data, marks=own.marks)
    for name in extents:
        if name not in known:
            why = f"the file has no dimension {name}; it has {', '.join(known) or 'none'}"
            raise ScenarioError(why, nearest(name, known) or "name one of them")
    return document


def _said(document: Document, extents: Mapping[str, int], known: dict[str, None]) -> Document:
    """One mapping with other extents where it says some; the dimensions of it become known."""
    dims = document.data.get("dims")
    if not isinstance(dims, dict):
        return document
    known.update(dict.fromkeys(dims))
    changed = {name: extents.get(name, value) for name, value in dims.items()}
    return replace(document, data={**document.data, "dims": changed})


def named(document: Document, key: str) -> Document:
    """The document with a mapping where it has a text such as "I=64,J=64"; else as it is.

    Raises:
        ScenarioError: a part of the text is no pair, or a name is given twice.

    >>> named(Document({"dtype": "A=int8,default=bf16"}), "dtype").data
    {'dtype': {'A': 'int8', 'default': 'bf16'}}
    """
    text = document.data.get(key)
    if not isinstance(text, str) or (key == "dtype" and "=" not in text):
        return document
    pairs = read_pairs(document, key)
    marks = dict(document.marks)
    for pair in pairs:
        if pair.name_place is not None and pair.word_place is not None:
            value = _source(str(pair.word), pair.word_place)
            path = (*document.path, key, pair.name)
            marks[path] = Mark(value, _source(pair.name, pair.name_place))
    data = {**document.data, key: {pair.name: pair.word for pair in pairs}}
    return replace(document, data=data, marks=marks)


def _source(text: str, place: Place) -> Source:
    return Source(text, place.origin, place.line, place.column, place.text)
