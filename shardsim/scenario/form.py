"""The form of a scenario: its keys, and what may stand under each."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import PlainValidator, ValidationInfo

from shardsim.documents import Record, described
from shardsim.documents.fields import words
from shardsim.errors import ScenarioError
from shardsim.notation import Collective, Contraction, Reshard
from shardsim.topology import Topology
from shardsim.vocabulary import Algorithm, LatencyModel, Objective, Overlap, Policy

__all__ = ["ScenarioForm"]

NOT_YET = (
    "strategies", "sweep", "uneven", "tile", "efficiency", "matmul_efficiency", "launch_overhead"
)  # fmt: skip


def _either(*kinds: type, form: str, example: str) -> PlainValidator:
    """Lets values of some types through; the others are no `form`."""

    def check(value: object, info: ValidationInfo) -> object:
        if not isinstance(value, kinds):
            why = f"{info.field_name} must be {form}, not {described(value)}"
            raise ScenarioError(why, f"write it as {example}")
        return value

    return PlainValidator(check)


_Reference = Annotated[
    object,
    _either(
        *(str, dict, os.PathLike, Topology),
        form="CHIP:SHAPE, a YAML file or a mapping",
        example="v5e:4x4",
    ),
]
_Sizes = Annotated[
    object, _either(str, dict, form="a mapping such as {X: 4}", example="{X: 4, Y: 4}")
]
_Extents = Annotated[
    object, _either(str, dict, form="a mapping such as {I: 8192}", example="{I: 8192, J: 8192}")
]
_Layout = Annotated[
    object, _either(str, dict, form="a mapping such as {X: x}", example="{X: x, Y: y}")
]
_Words = Annotated[
    object,
    _either(str, dict, form="a word or a mapping such as {A: int8}", example="bf16"),
]
_Lines = Annotated[
    object,
    _either(
        *(str, list, Contraction, Collective, Reshard),
        form="a list of lines of notation",
        example="a list of lines such as A[I, J_X] · B[J_X, K] -> C[I, K]",
    ),
]
_Overlap = Annotated[
    Overlap,
    words(
        Overlap,
        {
            Overlap.NONE: "one step after the other",
            Overlap.ASYNC: "a step starts when its inputs are there",
        },
    ),
]
_LatencyModel = Annotated[
    LatencyModel,
    words(
        LatencyModel,
        {
            LatencyModel.ADDITIVE: "a hop takes n/w + latency",
            LatencyModel.FLOOR: "it takes the larger of the two",
        },
    ),
]
_Algorithm = Annotated[
    Algorithm,
    words(
        Algorithm,
        {
            Algorithm.BALANCED: "both ways round, the least time",
            Algorithm.WHOLE_SHARDS: "both ways, no block split",
            Algorithm.HALF_SHARDS: "half of each block all the way round, each way",
            Algorithm.ONE_DIRECTION: "everything one way round",
        },
    ),
]
_Policy = Annotated[
    Policy,
    words(
        Policy,
        {
            Policy.TEXTBOOK: "plans by the four rules of the book",
            Policy.CHEAPEST: "every legal placement",
        },
    ),
]
_Objective = Annotated[
    Objective,
    words(
        Objective,
        {
            Objective.TIME: "the least seconds",
            Objective.BYTES: "the fewest bytes that leave the busiest chip",
        },
    ),
]


class ScenarioForm(Record):
    """The form of a scenario file."""

    name: str = ""
    topology: _Reference
    mesh: _Sizes | None = None
    layout: _Layout | None = None
    dims: _Extents
    dtype: _Words | None = None
    overlap: _Overlap = Overlap.ASYNC
    latency_model: _LatencyModel = LatencyModel.ADDITIVE
    algorithm: _Algorithm | None = None
    policy: _Policy = Policy.TEXTBOOK
    objective: _Objective = Objective.TIME
    program: _Lines
    expect: dict[str, object] | None = None

    @classmethod
    def not_yet(cls) -> tuple[str, ...]:
        """Keys of later versions."""
        return NOT_YET
