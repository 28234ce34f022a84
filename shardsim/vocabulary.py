"""The closed vocabularies: words that appear in notation, YAML, JSON and on the command line."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction

__all__ = [
    "Algorithm",
    "CollectiveKind",
    "DimensionKind",
    "Dtype",
    "LatencyModel",
    "Objective",
    "Overlap",
    "Policy",
    "Relation",
]


class Dtype(StrEnum):
    """Element types; `bytes` is exact, so `int4` is half a byte.

    >>> Dtype("bf16").bytes
    Fraction(2, 1)
    """

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    FP8 = "fp8"
    FP4 = "fp4"
    INT64 = "int64"
    INT32 = "int32"
    INT16 = "int16"
    INT8 = "int8"
    INT4 = "int4"

    @property
    def bytes(self) -> Fraction:
        """Bytes of one element."""
        bits = 16 if self is Dtype.BF16 else int("".join(c for c in self.value if c.isdigit()))
        return Fraction(bits, 8)

    @property
    def is_integer(self) -> bool:
        """Whether the type is an integer type (they have a peak of their own)."""
        return self.value.startswith("int")


DTYPE_ALIASES = {
    "fp64": Dtype.F64,
    "float64": Dtype.F64,
    "fp32": Dtype.F32,
    "float32": Dtype.F32,
    "fp16": Dtype.F16,
    "float16": Dtype.F16,
    "bfloat16": Dtype.BF16,
    "f8": Dtype.FP8,
    "float8": Dtype.FP8,
    "float4": Dtype.FP4,
    "s64": Dtype.INT64,
    "s32": Dtype.INT32,
    "s16": Dtype.INT16,
    "s8": Dtype.INT8,
    "s4": Dtype.INT4,
}


class CollectiveKind(StrEnum):
    """The collectives; the value is the `op` of the JSON."""

    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_REDUCE = "all_reduce"
    ALL_TO_ALL = "all_to_all"

    @property
    def notation(self) -> str:
        """The name in the notation: `AllGather`.

        >>> CollectiveKind.ALL_TO_ALL.notation
        'AllToAll'
        """
        return "".join(word.capitalize() for word in self.value.split("_"))


class DimensionKind(StrEnum):
    """How the chips of one topology dimension are connected."""

    RING = "ring"
    LINE = "line"


class Algorithm(StrEnum):
    """How a collective uses the links of one dimension.

    `balanced`: both directions, the opposite chip's block split between them (the least time).
    `whole_shards`: both directions, no block split: the schedule behind the book's formula.
    `half_shards`: half of every block all the way round, each way.
    `one_direction`: everything one way round.
    `line`: the only one without a wraparound link.
    """

    BALANCED = "balanced"
    WHOLE_SHARDS = "whole_shards"
    HALF_SHARDS = "half_shards"
    ONE_DIRECTION = "one_direction"
    LINE = "line"


class LatencyModel(StrEnum):
    """What a hop of n bytes costs: `additive` n/w + latency, `floor` max(latency, n/w)."""

    ADDITIVE = "additive"
    FLOOR = "floor"


class Overlap(StrEnum):
    """When a step may start: `none` after the step before it, `async` when its inputs are there."""

    NONE = "none"
    ASYNC = "async"


class Policy(StrEnum):
    """Which plans are considered: the four rules of the book, or every legal placement."""

    TEXTBOOK = "textbook"
    CHEAPEST = "cheapest"


class Objective(StrEnum):
    """What the planner makes small: exact seconds, or bytes that leave the busiest chip."""

    TIME = "time"
    BYTES = "bytes"


class Relation(StrEnum):
    """How a closed form stands to the simulation."""

    EQUAL = "equal"
    LOWER_BOUND = "lower_bound"
    UPPER_BOUND = "upper_bound"
    LIMIT = "limit"
