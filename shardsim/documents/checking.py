"""A document checked against a record: every fault a sentence with a place and a way out."""

from __future__ import annotations

import difflib
import re
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from shardsim.documents.document import Document, Faults, Steps
from shardsim.errors import InputError, InputErrors, NotYetError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic_core import ErrorDetails

__all__ = ["Record", "described", "nearest", "validate"]

LONGEST_VALUE = 40
_EXPECTED = {
    "string_type": "text",
    "dict_type": "a mapping of keys and values",
    "model_type": "a mapping of keys and values",
    "list_type": "a list",
    "tuple_type": "a list",
}
_KEY = "[key]"
_Model = TypeVar("_Model", bound="Record")


class Record(BaseModel):
    """The base of all forms of a file: no unknown keys, never changed.

    A form's `not_yet()` names keys that make sense but are not built.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def not_yet(cls) -> tuple[str, ...]:
        """Keys that are refused because nothing is built for them, not because they are wrong."""
        return ()


def validate(document: Document, form: type[_Model], what: str) -> _Model:
    """Reads a document as a record.

    Args:
        document: What was read.
        form: The record.
        what: What it is, for the errors: "the scenario".

    Raises:
        ScenarioError: one key or value is not of the form.
        InputErrors: several are not.
    """
    faults = Faults()
    try:
        return form.model_validate(document.data)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            faults.errors += _faults(detail, document, form, what)
    faults.raise_any()
    raise AssertionError("a ValidationError without faults")


def described(value: object) -> str:
    """A value as an error shows it: short, and in the words of the file.

    >>> described({}), described(None), described(True), described("abc")
    ('a mapping', 'nothing', 'true', "'abc'")
    >>> described(x for x in "abc")
    'a generator'
    """
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str() | bytes() | int() | float():
            pass
        case _:
            word = type(value).__name__
            return f"an {word}" if word[0] in "AEIOUaeiou" else f"a {word}"
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def nearest(word: object, known: Iterable[str]) -> str:
    """A hint with the known word that is most like `word`; empty when none is.

    >>> nearest("topolgy", ["mesh", "topology"])
    'did you mean topology?'
    """
    words = list(known)
    near = difflib.get_close_matches(str(word), words, n=1)
    near = near or [other for other in words if other.lower() == str(word).lower()]
    return f"did you mean {near[0]}?" if near else ""


def _faults(
    detail: ErrorDetails, document: Document, form: type[Record], what: str
) -> Iterator[InputError]:
    """The faults that one pydantic error stands for."""
    path: Steps = tuple(step for step in detail["loc"] if step != _KEY)
    is_key = _KEY in detail["loc"]
    place = document.key_place(*path) if is_key else document.place(*path)
    name = spelled(path) or what
    match detail["type"]:
        case "value_error":
            raised = detail["ctx"]["error"]
            several = raised.errors if isinstance(raised, InputErrors) else (raised,)
            yield from (_named(error, path, name).at(place) for error in several)
        case "missing":
            yield _missing(path, document, form, what)
        case "extra_forbidden":
            yield _unknown(path, document, form, what)
        case "enum":
            words = re.findall(r"'([^']+)'", detail["ctx"]["expected"])
            given = detail["input"]
            said = f"{name} must be one of {', '.join(words)}; it is {described(given)}"
            yield ScenarioError(said, nearest(given, words) or "write one of them", place)
        case kind if kind in _EXPECTED:
            said = f"{name} must be {_EXPECTED[kind]}; it is {described(detail['input'])}"
            yield ScenarioError(said, "", place)
        case _:
            yield ScenarioError(f"{name}: {detail['msg']}", "", place)


def _named(error: Exception, path: Steps, name: str) -> InputError:
    """A fault of a value, with the name of its key in the message."""
    if not isinstance(error, InputError):
        return ScenarioError(f"{name}: {error}")
    if not path:
        return error
    key = str(path[-1])
    begins = error.message.startswith(key)
    message = name + error.message.removeprefix(key) if begins else f"{name}: {error.message}"
    return type(error)(message, error.hint, error.place)


def _missing(path: Steps, document: Document, form: type[Record], what: str) -> InputError:
    *around, key = path
    inside = spelled(tuple(around)) or what
    required = [
        name for name, info in _form_at(form, around).model_fields.items() if info.is_required()
    ]
    return ScenarioError(
        f"{inside} has no key {key!r}",
        f"add it; required: {', '.join(required)}",
        document.key_place(*around),
    )


def _unknown(path: Steps, document: Document, form: type[Record], what: str) -> InputError:
    *around, key = path
    inside = spelled(tuple(around)) or what
    at = _form_at(form, around)
    allowed = ", ".join(at.model_fields)
    place = document.key_place(*path)
    if key in at.not_yet():
        return NotYetError(
            f"{key!r} in {inside} is not supported yet", f"supported keys: {allowed}", place
        )
    return ScenarioError(
        f"unknown key {key!r} in {inside}; allowed: {allowed}",
        nearest(key, at.model_fields) or "remove it",
        place,
    )


def _form_at(form: type[Record], path: Iterable[str | int]) -> type[Record]:
    """The record that the value at a path must be."""
    found: Any = form
    for step in path:
        found = _without_none(found)
        is_record = isinstance(found, type) and issubclass(found, Record)
        if is_record and step in found.model_fields:
            found = found.model_fields[step].annotation
        else:
            inner = get_args(found)
            found = inner[0] if isinstance(step, int) else inner[-1]
    record: type[Record] = _without_none(found)
    return record


def _without_none(form: Any) -> Any:
    """The record of `Record | None`; other types as they are."""
    args = get_args(form)
    return args[0] if NoneType in args else form


def spelled(path: Steps) -> str:
    """A path for people.

    >>> spelled(("dimensions", 0, "size"))
    'dimensions[0].size'
    """
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")
