"""The form of a file of the book's worked numbers: a chapter, and its records."""

from __future__ import annotations

import re
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainValidator

from shardsim.documents import Record, described
from shardsim.documents.fields import words
from shardsim.errors import QuantityError, ScenarioError
from shardsim.units import exact

__all__ = ["Chapter", "RecordForm", "Status", "Unit"]

TOLERANCE = Fraction(1, 10**3)


class Status(StrEnum):
    """Whose number it is.

    `book`: printed in the book. `measured`: quoted there from a profiler or a benchmark.
    `derived`: the book gives the formula, a plot or the question; the number is ours.
    """

    BOOK = "book"
    MEASURED = "measured"
    DERIVED = "derived"


class Unit(StrEnum):
    """What a number counts."""

    SECONDS = "s"
    BYTES = "B"
    BYTES_PER_SECOND = "B/s"
    FLOPS = "FLOP"
    FLOPS_PER_SECOND = "FLOP/s"
    FLOPS_PER_BYTE = "FLOP/B"
    FLOPS_PER_DOLLAR = "FLOP/USD"
    TOKENS = "tokens"
    ELEMENTS = "elements"
    COUNT = "count"
    WAYS = "ways"
    RATIO = "ratio"
    PER_SECOND = "1/s"


def _number(value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Fraction):
        raise QuantityError(f"{described(value)} is not a number", "write a number in SI")
    return exact(value)


def _identifier(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_.]+", value) is None:
        raise ScenarioError(f"{value!r} is no name of a record", "use letters, digits, . and _")
    return value


Number = Annotated[Fraction, PlainValidator(_number)]
Question = dict[str, Any]


class RecordForm(Record):
    """A worked number.

    `first_order` is the question as the book works it out, with the figures that it rounds; `exact`
    is the same, or another, without what is first-order in it. `why` says where the two and the
    printed number differ. `tolerance` covers the rounding of what is printed.
    """

    id: Annotated[str, BeforeValidator(_identifier)]
    where: str
    kind: str
    asks: str
    status: Annotated[Status, words(Status, dict.fromkeys(Status, ""))] = Status.BOOK
    unit: Annotated[Unit, words(Unit, dict.fromkeys(Unit, ""))]
    printed: Number | None = None
    tolerance: Number = TOLERANCE
    first_order: Question
    exact: Question | None = None
    why: str = ""


class Chapter(Record):
    """A chapter of the book, and its records in order."""

    chapter: str
    title: str
    source: str
    records: tuple[RecordForm, ...]
