"""Plain values that know where they stand, and faults that are collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from shardsim.documents.spelling import part, pinned
from shardsim.errors import InputError, InputErrors, Place, Source

__all__ = ["Document", "Faults", "Mark", "Steps", "plain"]

Steps = tuple[str | int, ...]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Mark:
    """Where an entry stands: its value, and its key where it has one."""

    value: Source
    key: Source | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """Plain values (mappings, lists, text, None) and their places.

    Without marks it is an ordinary Python mapping; its faults have no place.

    Attributes:
        data: The value at `path`.
        marks: Places by full path.
        path: Where `data` stands in the whole document.
    """

    data: Any
    marks: Mapping[Steps, Mark] = field(default_factory=dict)
    path: Steps = ()

    def at(self, *steps: str | int) -> Document:
        """The part of the document at a path."""
        data = self.data
        for step in steps:
            data = data[step]
        return replace(self, data=data, path=self.path + steps)

    def has(self, key: str) -> bool:
        """Whether the document is a mapping in which a key has a value."""
        return isinstance(self.data, Mapping) and self.data.get(key) is not None

    def source(self, *steps: str | int) -> Source | None:
        """A value as it is written; the nearest value around it where it has no mark of its own.

        A text that is written elsewhere, behind an alias, stands at the alias as a whole.
        """
        mark = self._mark(steps)
        if mark is None:
            return None
        data = self.at(*steps).data
        is_elsewhere = isinstance(data, str) and data != mark.value.text
        return pinned(data, mark.value.whole) if is_elsewhere else mark.value

    def place(self, *steps: str | int) -> Place | None:
        """The place of a value; of its key when the value starts on a later line."""
        mark = self._mark(steps)
        if mark is None:
            return None
        if mark.key is not None and mark.key.line != mark.value.line:
            return mark.key.whole
        return mark.value.whole

    def key_place(self, *steps: str | int) -> Place | None:
        """The place of a key, or of the value where there is no key."""
        mark = self._mark(steps)
        return None if mark is None else (mark.key or mark.value).whole

    def line_sources(self, *steps: str | int) -> list[Source]:
        """The lines of a text, each where it stands."""
        text = self.at(*steps).data
        around = self.source(*steps) or Source(text)
        sources: list[Source] = []
        start = 0
        for row, line in enumerate(text.split("\n")):
            sources.append(part(around, start, line, row))
            start += len(line) + 1
        return sources

    def _mark(self, steps: Steps) -> Mark | None:
        path = self.path + steps
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks.get(path)


class Faults:
    """Collects faults, so that a person is told all of them at once.

    >>> from shardsim.units import parse_count
    >>> faults = Faults()
    >>> faults.attempt(lambda: parse_count("8", "I")), faults.attempt(lambda: parse_count("", "J"))
    (8, None)
    >>> len(faults.errors)
    1
    """

    def __init__(self) -> None:
        """Starts without faults."""
        self.errors: list[InputError] = []

    def attempt(self, make: Callable[[], _T]) -> _T | None:
        """What `make` returns, or None after keeping what it raised."""
        try:
            return make()
        except InputErrors as several:
            self.errors += several.errors
        except InputError as error:
            self.errors.append(error)
        return None

    def raise_any(self) -> None:
        """Raises what was kept, in the order in which it stands; nothing when nothing was.

        Raises:
            InputError: the only fault.
            InputErrors: several faults.
        """
        if not self.errors:
            return
        if len(self.errors) == 1:
            raise self.errors[0]
        origins = [error.place.origin if error.place else "" for error in self.errors]

        def standing(error: InputError) -> tuple[int, int, int]:
            place = error.place
            line, column = (place.line, place.column) if place else (0, 0)
            return origins.index(place.origin if place else ""), line, column

        raise InputErrors(tuple(sorted(self.errors, key=standing)))


def plain(value: object) -> Any:
    """A Python value as a document holds it: mappings as dict, sequences as list.

    >>> plain({"program": ("A", "B")})
    {'program': ['A', 'B']}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value
