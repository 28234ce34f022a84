"""The closed vocabularies: words that appear in notation, YAML, JSON and on the command line."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction

__all__ = [
    "Algorithm",
    "CallKind",
    "ChannelKind",
    "CollectiveKind",
    "DimensionKind",
    "Dtype",
    "Form",
    "IdleAxes",
    "LatencyModel",
    "Objective",
    "Overlap",
    "Policy",
    "Relation",
    "Schedule",
    "TransferKind",
    "Uneven",
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
    """The collectives that change a sharding; the value is the `op` of the JSON."""

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


class TransferKind(StrEnum):
    """Other transfers between chips.

    `permute`: every chip sends what it has to the chip so many places up its axis. `gather`: one
    chip gets everything. `send`: the first chip of a line sends to the last.
    """

    PERMUTE = "permute"
    GATHER = "gather"
    SEND = "send"


CallKind = CollectiveKind | TransferKind


class ChannelKind(StrEnum):
    """By which way bytes come to a chip's units, the nearest first.

    `vmem`, `l2`: on the chip. `hbm`: its own memory. `ici`, `nvlink`: other chips of the slice or
    the node. `pcie`: its host. `dcn`, `infiniband`: other slices or nodes. `network`: a dimension
    of a topology that a person describes.
    """

    VMEM = "vmem"
    L2 = "l2"
    HBM = "hbm"
    ICI = "ici"
    NVLINK = "nvlink"
    PCIE = "pcie"
    DCN = "dcn"
    INFINIBAND = "infiniband"
    NETWORK = "network"

    @property
    def label(self) -> str:
        """For people.

        >>> ChannelKind.HBM.label, ChannelKind.NVLINK.label
        ('HBM', 'NVLink')
        """
        words = {"nvlink": "NVLink", "pcie": "PCIe", "infiniband": "InfiniBand"}
        named = words.get(self.value, self.value.upper())
        return "network" if self is ChannelKind.NETWORK else named


class DimensionKind(StrEnum):
    """How the chips of one topology dimension are connected.

    `ring`: each to the next, the last to the first. `line`: the same without the last. `switch`:
    any to any through a crossbar, each chip by one port out and one port in.
    """

    RING = "ring"
    LINE = "line"
    SWITCH = "switch"


class Algorithm(StrEnum):
    """How a collective uses the links of one ring, line or switch.

    On a ring:
        `balanced`: both directions, the opposite chip's block split between them (the least time).
        `whole_shards`: both directions, no block split: the schedule behind the book's formula.
        `half_shards`: half of every block all the way round, each way.
        `one_direction`: everything one way round.
    On a line:
        `line`: both directions, each block as far as it must go.
        `reduce_broadcast`: AllReduce only: sums flow to the middle chip and back, in chunks.
    On a switch:
        `direct`: each chip sends to every other.
        `ring`: each chip sends to the next only.
        `in_network`: AllReduce only: the switch adds.
    """

    BALANCED = "balanced"
    WHOLE_SHARDS = "whole_shards"
    HALF_SHARDS = "half_shards"
    ONE_DIRECTION = "one_direction"
    LINE = "line"
    REDUCE_BROADCAST = "reduce_broadcast"
    DIRECT = "direct"
    RING = "ring"
    IN_NETWORK = "in_network"


class Schedule(StrEnum):
    """How a collective over several rings, lines or switches goes from one to the next.

    `rotated`: several orders at once, each with an equal share of the data.
    `balanced`: the same with shares that load all links alike.
    `sequential`: one order, the whole of the data.
    `tiered`: one tier of like links after the other; rotated orders inside each.
    """

    ROTATED = "rotated"
    BALANCED = "balanced"
    SEQUENTIAL = "sequential"
    TIERED = "tiered"


class LatencyModel(StrEnum):
    """What a hop of n bytes costs: `additive` n/w + latency, `floor` max(latency, n/w)."""

    ADDITIVE = "additive"
    FLOOR = "floor"


class Overlap(StrEnum):
    """How steps may overlap.

    `none`: a step starts after the step before it. `async`: when its inputs are there.
    `decomposed`: the same, and each collective that feeds a matmul or is fed by one is done in ring
    steps, with a part of the matmul in each. `auto`: the same where that is faster.
    """

    NONE = "none"
    ASYNC = "async"
    DECOMPOSED = "decomposed"
    AUTO = "auto"


class Form(StrEnum):
    """How a collective and a matmul are done in ring steps (collective matmul).

    Before a matmul an AllGather, a chunk computed when it is here; after one a ReduceScatter, a
    chunk sent when it is computed:
        `own_chunk_first`: both ways, beginning with the chunk that is here (ReduceScatter: ending
        with the one that stays here).
        `half_chunks`: half of every chunk all the way round, each way.
        `pairs`: both ways, two chunks a step.
        `one_direction`: one way round, a chunk a step.
        `unpipelined`: ReduceScatter only: a chunk is computed when the sum that it joins is here.
    After a matmul an AllReduce:
        `chunks`: the matmul in parts, each reduced while the next is computed.
    """

    OWN_CHUNK_FIRST = "own_chunk_first"
    HALF_CHUNKS = "half_chunks"
    PAIRS = "pairs"
    ONE_DIRECTION = "one_direction"
    UNPIPELINED = "unpipelined"
    CHUNKS = "chunks"


class Policy(StrEnum):
    """Which plans are considered: the four rules of the book, or every legal placement."""

    TEXTBOOK = "textbook"
    CHEAPEST = "cheapest"


class Objective(StrEnum):
    """What the planner makes small.

    `time`: exact seconds. `bytes`: those that leave the busiest chip. `memory`: the most that a
    chip holds at once.
    """

    TIME = "time"
    BYTES = "bytes"
    MEMORY = "memory"


class Uneven(StrEnum):
    """What becomes of an extent that its axes do not divide: an `error`, or `pad` it."""

    ERROR = "error"
    PAD = "pad"


class IdleAxes(StrEnum):
    """What a plan does with mesh axes that no array of a statement names.

    `leave`: nothing; their chips all do the same. `use`: it may cut over them too, on the way.
    """

    LEAVE = "leave"
    USE = "use"


class Relation(StrEnum):
    """How a closed form stands to the simulation."""

    EQUAL = "equal"
    LOWER_BOUND = "lower_bound"
    UPPER_BOUND = "upper_bound"
    LIMIT = "limit"
