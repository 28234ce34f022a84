"""The keys of a model file."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import PlainValidator, ValidationInfo

from shardsim.catalogue.fields import Flag
from shardsim.documents import Record, described
from shardsim.documents.fields import Count, Size
from shardsim.errors import QuantityError
from shardsim.units import exact

__all__ = ["LatentForm", "ModelForm", "positive"]


def positive(value: object, what: str, example: str = "70e9") -> Fraction:
    """A number above 0: 70e9, "15e12".

    Args:
        value: The number.
        what: Its name, for the error.
        example: One that it may be, for the way out.

    Raises:
        QuantityError: it is none.

    >>> positive("70e9", "parameters")
    Fraction(70000000000, 1)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise QuantityError(
            f"{what} must be a number; it is {described(value)}", f"write {example}"
        )
    try:
        number = exact(value)
    except QuantityError as error:
        raise QuantityError(f"{what}: {error.message}", f"write {example}") from None
    if number <= 0:
        raise QuantityError(f"{what} must be more than 0; it is {value}", f"write {example}")
    return number


def _number(value: object, info: ValidationInfo) -> Fraction:
    return positive(value, info.field_name or "the number")


Number = Annotated[Fraction, PlainValidator(_number)]


class LatentForm(Record):
    """Latent attention; see `Latent`."""

    cache_rank: Count
    rotary: Count
    head: Count
    value: Count
    query_rank: Count | None = None


class ModelForm(Record):
    """A model; `like` names another whose keys hold where this one has none."""

    name: str = "the model"
    source: str = ""
    like: str | None = None
    layers: Count | None = None
    d_model: Count | None = None
    d_ff: Count | None = None
    heads: Count | None = None
    kv_heads: Count | None = None
    head_size: Count | None = None
    vocabulary: Count | None = None
    gated: Flag = True
    tied_embeddings: Flag = False
    experts: Count | None = None
    experts_per_token: Count | None = None
    expert_d_ff: Count | None = None
    shared_experts: Count | None = None
    dense_layers: Count | None = None
    router: Flag = True
    latent: LatentForm | None = None
    parameters: Number | None = None
    active_parameters: Number | None = None
    kv_bytes_per_token: Size | None = None
