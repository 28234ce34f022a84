"""Element types by what an array is: weights, the cache, activations; and that of matmuls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shardsim.documents import described, nearest
from shardsim.documents.fields import dtype_of
from shardsim.errors import InputError, ScenarioError
from shardsim.model.works import Role
from shardsim.units import Bytes
from shardsim.vocabulary import Dtype

__all__ = ["Types", "read_types"]

DEFAULT = "default"
WAY_OUT = "write bf16, or by what it is of: weights=int8,kv=int8,default=bf16"


@dataclass(frozen=True, slots=True, kw_only=True)
class Types:
    """Element types by what an array is, and the type that matmuls are computed in."""

    weights: Dtype = Dtype.BF16
    kv: Dtype = Dtype.BF16
    activations: Dtype = Dtype.BF16
    compute: Dtype = Dtype.BF16

    @property
    def sizes(self) -> Mapping[Role, Bytes]:
        """Bytes of an element by what an array is."""
        return {
            Role.WEIGHT: self.weights.bytes,
            Role.CACHE: self.kv.bytes,
            Role.ACTIVATION: self.activations.bytes,
        }


def read_types(value: str | Mapping[str, str] | None) -> Types:
    """Element types from a word, or by what they are of: weights, kv, activations, compute.

    Args:
        value: `bf16`, `weights=int8,default=bf16`, or such a mapping.

    Raises:
        ScenarioError: no such type, or nothing of such a name.

    >>> types = read_types("weights=int8,kv=int8")
    >>> types.weights.value, types.compute.value
    ('int8', 'bf16')
    """
    if value is None:
        return Types()
    if isinstance(value, str):
        if "=" not in value:
            word = _word(value)
            return Types(weights=word, kv=word, activations=word, compute=word)
        value = dict(_pair(pair) for pair in value.split(","))
    if not isinstance(value, Mapping):
        raise ScenarioError(f"dtype must be a word or a mapping, not {described(value)}", WAY_OUT)
    known = (*Types.__dataclass_fields__, DEFAULT)
    for key in value:
        if key not in known:
            why = f"dtype has no {key!r}; it has {', '.join(known)}"
            raise ScenarioError(why, nearest(key, known) or "name one of them")
    default = _word(value.get(DEFAULT, Dtype.BF16.value))
    return Types(
        **{
            name: _word(value[name]) if name in value else default
            for name in Types.__dataclass_fields__
        }
    )


def _word(word: object) -> Dtype:
    """The type of a word; where it is like none, the way out says how types are given."""
    if not str(word).strip():
        raise ScenarioError("no dtype is named", WAY_OUT)
    try:
        return dtype_of(word)
    except InputError as error:
        raise ScenarioError(error.message, error.hint or WAY_OUT) from None


def _pair(text: str) -> tuple[str, str]:
    name, _, word = text.partition("=")
    return name.strip(), word.strip()
