"""The closed vocabularies: bytes of the element types, and names."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.vocabulary import DTYPE_ALIASES, CollectiveKind, Dtype

DTYPES = [
    # name, bytes, integer
    ("f64", 8, False),
    ("f32", 4, False),
    ("f16", 2, False),
    ("bf16", 2, False),
    ("fp8", 1, False),
    ("fp4", Fraction(1, 2), False),
    ("int64", 8, True),
    ("int32", 4, True),
    ("int16", 2, True),
    ("int8", 1, True),
    ("int4", Fraction(1, 2), True),
]


@pytest.mark.parametrize(("name", "size", "integer"), DTYPES)
def test_bytes_of_an_element(name: str, size: Fraction, integer: bool) -> None:
    assert Dtype(name).bytes == size
    assert Dtype(name).is_integer is integer


def test_the_table_has_every_type() -> None:
    assert [name for name, _, _ in DTYPES] == [dtype.value for dtype in Dtype]


ALIASES = {
    "f64": "fp64 float64",
    "f32": "fp32 float32",
    "f16": "fp16 float16",
    "bf16": "bfloat16",
    "fp8": "f8 float8",
    "fp4": "float4",
    "int64": "s64",
    "int32": "s32",
    "int16": "s16",
    "int8": "s8",
    "int4": "s4",
}


def test_other_spellings() -> None:
    meant = {alias: Dtype(name) for name, words in ALIASES.items() for alias in words.split()}
    assert meant == DTYPE_ALIASES


def test_collectives_in_the_notation() -> None:
    assert [(kind.value, kind.notation) for kind in CollectiveKind] == [
        ("all_gather", "AllGather"),
        ("reduce_scatter", "ReduceScatter"),
        ("all_reduce", "AllReduce"),
        ("all_to_all", "AllToAll"),
    ]
