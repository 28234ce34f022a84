"""Types of a record's fields: quantities, counts and words."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainValidator, ValidationInfo

from shardsim.documents.checking import nearest
from shardsim.errors import Place, ScenarioError
from shardsim.units import (
    Bytes,
    BytesPerSecond,
    FlopsPerSecond,
    Seconds,
    parse_count,
    parse_quantity,
)
from shardsim.vocabulary import DTYPE_ALIASES, Dtype

__all__ = ["Count", "DtypeWord", "Latency", "Peak", "Rate", "Size", "dtype_of"]


def dtype_of(word: object, place: Place | None = None) -> Dtype:
    """The element type of a word.

    Raises:
        ScenarioError: there is none of that name.

    >>> dtype_of("bfloat16")
    <Dtype.BF16: 'bf16'>
    """
    known = {**{dtype.value: dtype for dtype in Dtype}, **DTYPE_ALIASES}
    found = known.get(str(word).strip().lower())
    if found is None:
        names = ", ".join(dtype.value for dtype in Dtype)
        raise ScenarioError(
            f"{str(word)!r} is no dtype; known: {names}", nearest(word, known), place
        )
    return found


def _count(value: object, info: ValidationInfo) -> int:
    return parse_count(_written(value), info.field_name or "the number")


def _quantity(unit: str, *, zero: bool = False) -> PlainValidator:
    return PlainValidator(lambda value: parse_quantity(_written(value), unit, zero=zero))


def _written(value: object) -> object:
    """A value as it is written in a file: nothing is the empty text."""
    return "" if value is None else value


Count = Annotated[int, PlainValidator(_count)]
Size = Annotated[Bytes, _quantity("bytes")]
Rate = Annotated[BytesPerSecond, _quantity("bytes/s")]
Peak = Annotated[FlopsPerSecond, _quantity("FLOP/s")]
Latency = Annotated[Seconds, _quantity("seconds", zero=True)]
DtypeWord = Annotated[Dtype, PlainValidator(dtype_of)]
