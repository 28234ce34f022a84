"""Types of a record's fields: quantities, counts and words.

A rate below 1 MB/s, a clock below 1 MHz, a peak below 1 MFLOP/s and a latency above 1 s are
refused: they are numbers whose unit was forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import Annotated, TypeVar

from pydantic import PlainValidator, ValidationInfo

from shardsim.documents.checking import described, nearest
from shardsim.errors import Place, QuantityError, ScenarioError
from shardsim.notation.names import DTYPES, dtype_named
from shardsim.units import (
    Bytes,
    BytesPerSecond,
    FlopsPerSecond,
    Seconds,
    format_rate,
    format_seconds,
    parse_count,
    parse_quantity,
)
from shardsim.vocabulary import Dtype

__all__ = [
    "Clock",
    "Count",
    "Counts",
    "DtypeWord",
    "Latency",
    "Peak",
    "Price",
    "Rate",
    "Size",
    "dtype_of",
    "words",
]

SLOWEST_RATE = Fraction(10**6)
LONGEST_LATENCY = Fraction(1)
SLOWEST_CLOCK = Fraction(10**6)
SLOWEST_PEAK = Fraction(10**6)
MOST_COUNTS = 4
LARGEST_REPEATED = 10_000
_Word = TypeVar("_Word", bound=StrEnum)


def dtype_of(word: object, place: Place | None = None) -> Dtype:
    """The element type of a word.

    Raises:
        ScenarioError: there is none of that name.

    >>> dtype_of("bfloat16")
    <Dtype.BF16: 'bf16'>
    """
    found = dtype_named(str(word).strip())
    if found is None:
        names = ", ".join(dtype.value for dtype in Dtype)
        raise ScenarioError(
            f"{str(word)!r} is no dtype; known: {names}", nearest(word, DTYPES), place
        )
    return found


def _count(value: object, info: ValidationInfo) -> int:
    return parse_count(_written(value), info.field_name or "the number")


def _counts(value: object, info: ValidationInfo) -> tuple[int, ...]:
    name = info.field_name or "the list"
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= MOST_COUNTS:
        why = f"{name} must be a list of 1 to {MOST_COUNTS} counts; it is {described(value)}"
        raise ScenarioError(why, "write it as [8, 128]")
    return tuple(parse_count(_written(one), f"a number of {name}") for one in value)


def words(
    kind: type[_Word], meanings: Mapping[_Word, str], others: Mapping[str, str] | None = None
) -> PlainValidator:
    """Reads a word of a vocabulary; a fault says what the words mean.

    Args:
        kind: The vocabulary.
        meanings: The words that a person chooses from, each with its meaning in a few words.
        others: Words that people try, each with what to do instead.
    """
    listed = [word.value for word in meanings]

    def read(value: object, info: ValidationInfo) -> _Word:
        try:
            return kind(str(value))
        except ValueError:
            why = f"{info.field_name} must be one of {', '.join(listed)}; it is {described(value)}"
            said = "; ".join(f"{word.value}: {meaning}" for word, meaning in meanings.items())
            way_out = (others or {}).get(str(value)) or nearest(value, listed) or said
            raise ScenarioError(why, way_out) from None

    return PlainValidator(read)


def _least(
    unit: str, least: Fraction, written: Callable[[Fraction], str], meant: str, example: str
) -> PlainValidator:
    """Reads a quantity; one below `least` is a number whose unit was forgotten.

    Args:
        unit: Of the quantity.
        least: In that unit.
        written: The quantity for people.
        meant: The unit of the way out: `GB/s`.
        example: Another way out: `45 GB/s`.
    """

    def read(value: object) -> Fraction:
        found = parse_quantity(_written(value), unit)
        if found < least:
            why = f"{written(found)} is too slow to be meant"
            raise QuantityError(why, _with_unit(value, meant, example))
        return found

    return PlainValidator(read)


def _latency(value: object) -> Fraction:
    latency = parse_quantity(_written(value), "seconds", zero=True)
    if latency > LONGEST_LATENCY:
        why = f"{format_seconds(latency)} is too long to be meant"
        raise QuantityError(why, _with_unit(value, "us", "1 us"))
    return latency


def _with_unit(value: object, unit: str, example: str) -> str:
    """A way out: the same number with a sensible unit."""
    found = re.fullmatch(r"\s*([\d.]+)\s*[A-Za-zµμ/]*\s*", str(value))
    if found is None or float(found[1]) > LARGEST_REPEATED:
        return f"write a number and a unit, such as {example}"
    return f"write {found[1]} {unit}"


def _quantity(unit: str) -> PlainValidator:
    return PlainValidator(lambda value: parse_quantity(_written(value), unit))


def _written(value: object) -> object:
    """A value as it is written in a file: nothing is the empty text."""
    return "" if value is None else value


Count = Annotated[int, PlainValidator(_count)]
Counts = Annotated[tuple[int, ...], PlainValidator(_counts)]
Clock = Annotated[
    Fraction, _least("Hz", SLOWEST_CLOCK, lambda hz: f"{float(hz):g} Hz", "GHz", "1.75 GHz")
]
Price = Annotated[Fraction, _quantity("USD/h")]
Size = Annotated[Bytes, _quantity("bytes")]
Rate = Annotated[BytesPerSecond, _least("bytes/s", SLOWEST_RATE, format_rate, "GB/s", "45 GB/s")]
Peak = Annotated[
    FlopsPerSecond,
    _least("FLOP/s", SLOWEST_PEAK, partial(format_rate, unit="FLOP"), "TFLOP/s", "200 TFLOP/s"),
]
Latency = Annotated[Seconds, PlainValidator(_latency)]
DtypeWord = Annotated[Dtype, PlainValidator(dtype_of)]
