"""The forms of a scenario and of one collective: the keys, and what may stand under each."""

from __future__ import annotations

import os
import re
from fractions import Fraction
from typing import Annotated

from pydantic import PlainValidator, ValidationInfo

from shardsim.catalogue.fields import Share
from shardsim.documents import Record, described
from shardsim.documents.fields import Count, Latency, Size, words
from shardsim.errors import QuantityError, ScenarioError
from shardsim.notation import Collective, Contraction, Reshard
from shardsim.topology import Topology
from shardsim.units import exact, parse_count
from shardsim.vocabulary import (
    Algorithm,
    Form,
    IdleAxes,
    LatencyModel,
    Objective,
    Overlap,
    Policy,
    Schedule,
    Uneven,
)

__all__ = ["CollectiveForm", "FileForm", "MachineForm", "ScenarioForm", "StrategyForm"]

MOST_CHUNKS = 4096
MOST_REPEATED = 1024
SLOWEST = 100
NOT_YET = ("sweep", "matmul_efficiency")


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
_Devices = Annotated[
    object,
    _either(
        *(str, list),
        form="a list of coordinates such as [[0, 0], [0, 1]]",
        example="[[0, 0], [0, 1], [1, 1], [1, 0]]",
    ),
]
_Chip = Annotated[object, _either(str, list, int, form="the coordinates of a chip", example="0,0")]
_Names = Annotated[object, _either(str, list, form="axes such as X,Y", example="X,Y")]
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
            Overlap.DECOMPOSED: "collectives and matmuls together, in ring steps",
            Overlap.AUTO: "the same where that is faster",
        },
        {"ideal": "every run shows that bound as `at least`; choose async, decomposed or auto"},
    ),
]
_Form = Annotated[
    Form,
    words(
        Form,
        {
            Form.OWN_CHUNK_FIRST: "both ways, beginning with the chunk that is here",
            Form.HALF_CHUNKS: "half of every chunk all the way round, each way",
            Form.PAIRS: "both ways, two chunks a step",
            Form.ONE_DIRECTION: "one way round",
            Form.UNPIPELINED: "matmul-ReduceScatter as a plain loop",
            Form.CHUNKS: "the matmul in parts, each reduced while the next is computed",
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
            Algorithm.BALANCED: "on a ring, both ways round, the least time",
            Algorithm.WHOLE_SHARDS: "on a ring, both ways, no block split",
            Algorithm.HALF_SHARDS: "on a ring, half of each block all the way round, each way",
            Algorithm.ONE_DIRECTION: "on a ring, everything one way round",
            Algorithm.LINE: "on a line, both ways",
            Algorithm.REDUCE_BROADCAST: "on a line, AllReduce by sums to the middle and back",
            Algorithm.DIRECT: "at a switch, each chip to every other",
            Algorithm.RING: "at a switch, each chip to the next only",
            Algorithm.IN_NETWORK: "at a switch that adds, AllReduce",
        },
    ),
]
_Schedule = Annotated[
    Schedule,
    words(
        Schedule,
        {
            Schedule.ROTATED: "several orders at once, each with an equal share of the data",
            Schedule.BALANCED: "the same with shares that load all links alike",
            Schedule.SEQUENTIAL: "one order, the whole of the data",
            Schedule.TIERED: "one tier of like links after the other, rotated inside",
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
            Objective.MEMORY: "the fewest bytes that a chip holds at once",
        },
    ),
]

_IdleAxes = Annotated[
    IdleAxes,
    words(
        IdleAxes,
        {
            IdleAxes.LEAVE: "axes that no array of a line names do nothing",
            IdleAxes.USE: "a plan may cut over them too",
        },
    ),
]
_Uneven = Annotated[
    Uneven,
    words(
        Uneven,
        {
            Uneven.ERROR: "every extent must divide",
            Uneven.PAD: "the rest is padding, and the waste is reported",
        },
    ),
]


def _chunks(value: object) -> int:
    count = parse_count("" if value is None else value, "chunks")
    if count > MOST_CHUNKS:
        way_out = "write a smaller number: 16 is near the limit of many chunks"
        raise QuantityError(f"chunks must be {MOST_CHUNKS:,} at most; it is {count}", way_out)
    return count


def _whole(value: object, info: ValidationInfo) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or re.fullmatch(r"[+-]?\d{1,9}", text) is None:
        why = f"{info.field_name} must be a whole number; it is {described(value)}"
        raise QuantityError(why, "write it in digits, such as 1")
    return int(text)


def _ahead(value: object, info: ValidationInfo) -> int:
    ahead = _whole(value, info)
    if ahead < 0:
        raise QuantityError(f"{info.field_name} must be 0 or more; it is {ahead}", "write 0 or 1")
    return ahead


def _repeat(value: object, info: ValidationInfo) -> int:
    times = _whole(value, info)
    if not 1 <= times <= MOST_REPEATED:
        why = f"{info.field_name} must be from 1 to {MOST_REPEATED:,}; it is {times:,}"
        raise QuantityError(why, "time a few layers, and multiply" if times > 1 else "write 2")
    return times


def _slowdown(value: object, info: ValidationInfo) -> Fraction:
    way_out = "write 1.3 where a matmul takes 1.3 times as long meanwhile"
    if not isinstance(value, int | float | str | Fraction):
        why = f"{info.field_name} must be a number; it is {described(value)}"
        raise QuantityError(why, way_out)
    factor = exact(value)
    if not 1 <= factor <= SLOWEST:
        why = f"{info.field_name} must be from 1 to {SLOWEST}; it is {described(value)}"
        raise QuantityError(why, way_out)
    return factor


def _one_line(value: object, info: ValidationInfo) -> str:
    if not isinstance(value, str) or len(value.splitlines()) > 1:
        found = "several lines" if isinstance(value, str) else described(value)
        raise ScenarioError(
            f"{info.field_name} must be one line of text, not {found}", "shorten it"
        )
    return value.strip()


_Note = Annotated[str, PlainValidator(_one_line)]
Chunks = Annotated[int, PlainValidator(_chunks)]
Whole = Annotated[int, PlainValidator(_whole)]
Ahead = Annotated[int, PlainValidator(_ahead)]
Repeat = Annotated[int, PlainValidator(_repeat)]
Slowdown = Annotated[Fraction, PlainValidator(_slowdown)]


class MachineForm(Record):
    """What scenarios and single collectives say alike: the machine, and how collectives run."""

    topology: _Reference
    mesh: _Sizes | None = None
    layout: _Layout | None = None
    devices: _Devices | None = None
    latency_model: _LatencyModel = LatencyModel.ADDITIVE
    algorithm: _Algorithm | None = None
    schedule: _Schedule | None = None
    chunks: Chunks | None = None
    efficiency: Share | None = None
    launch_overhead: Latency | None = None


class ScenarioForm(MachineForm):
    """The form of one scenario."""

    name: str = ""
    dims: _Extents
    dtype: _Words | None = None
    overlap: _Overlap = Overlap.ASYNC
    form: _Form | None = None
    prefetch: Ahead | None = None
    compute_slowdown: Slowdown = Fraction(1)
    tile: Count = 1
    repeat: Repeat = 1
    policy: _Policy = Policy.CHEAPEST
    objective: _Objective = Objective.TIME
    idle_axes: _IdleAxes = IdleAxes.LEAVE
    uneven: _Uneven = Uneven.ERROR
    program: _Lines
    expect: dict[str, object] | None = None

    @classmethod
    def not_yet(cls) -> tuple[str, ...]:
        """Keys of later versions."""
        return NOT_YET


class FileForm(ScenarioForm):
    """The form of a scenario file, which may have strategies instead of one program."""

    strategies: object = None


class StrategyForm(ScenarioForm):
    """The form of one strategy together with the base of its file."""

    note: _Note = ""


class CollectiveForm(MachineForm):
    """The form of one collective: the arguments of `make_collective`."""

    kind: str
    size: Size
    axes: _Names | None = None
    shift: Whole | None = None
    root: Whole | None = None
    start: _Chip | None = None
    end: _Chip | None = None
    ways: Count | None = None
