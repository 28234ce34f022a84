"""Types of fields of topology files, beside those of `documents.fields`: shares and yes or no."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import PlainValidator, ValidationInfo

from shardsim.documents import described
from shardsim.errors import QuantityError, ScenarioError
from shardsim.units import exact

__all__ = ["Flag", "Share", "share_of"]

FLAGS = {"true": True, "false": False}


def share_of(value: object) -> Fraction:
    """A share of the whole, more than 0 and at most 1: a number or a percentage.

    Raises:
        QuantityError: it is neither, or out of range.

    >>> share_of("90 %"), share_of(0.5)
    (Fraction(9, 10), Fraction(1, 2))
    """
    way_out = "write a number such as 0.9, or 90 %"
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise QuantityError(f"{described(value)} is not a share of the whole", way_out)
    text = value.strip() if isinstance(value, str) else value
    is_percent = isinstance(text, str) and text.endswith("%")
    try:
        share = exact(str(text).removesuffix("%").strip() if is_percent else text)
    except QuantityError as error:
        raise QuantityError(error.message, way_out) from None
    share = share / 100 if is_percent else share
    if not 0 < share <= 1:
        way_out = f"write {text} %" if 1 < share <= 100 and not is_percent else way_out
        raise QuantityError(f"{value} must be more than 0 and at most 1", way_out)
    return share


def _share(value: object) -> Fraction:
    return share_of("" if value is None else value)


def _flag(value: object, info: ValidationInfo) -> bool:
    word = str(value).lower()
    if word not in FLAGS:
        why = f"{info.field_name} must be true or false; it is {described(value)}"
        raise ScenarioError(why, "write true, or leave it out")
    return FLAGS[word]


Share = Annotated[Fraction, PlainValidator(_share)]
Flag = Annotated[bool, PlainValidator(_flag)]
