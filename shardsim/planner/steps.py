"""The steps of a plan: each a local matmul, a collective, a permute, or a local slice.

Steps pass values by number. A step reads the values of earlier steps (or inputs) and writes one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shardsim.notation import Contraction, Reshard
from shardsim.notation.names import axes_text
from shardsim.notation.rules import collective_head
from shardsim.units import number
from shardsim.vocabulary import CollectiveKind, Dtype, Relation, TransferKind

if TYPE_CHECKING:
    from shardsim.call import Call
    from shardsim.cost import CollectivePrice, MatmulPrice
    from shardsim.sharding import ShardedArray
    from shardsim.units import Bytes, Flops, Seconds

__all__ = [
    "CollectiveStep",
    "MatmulStep",
    "SliceStep",
    "Step",
    "Value",
    "step_dict",
    "value_dict",
]


@dataclass(frozen=True, slots=True)
class Value:
    """An array at one point of the plan: its number, and its sharding there."""

    number: int
    sharded: ShardedArray


@dataclass(frozen=True, slots=True, kw_only=True)
class MatmulStep:
    """Every chip multiplies what it holds.

    Attributes:
        operands: Two values.
        result: The value written; unreduced over the axes of contracted sharded dimensions.
        contracted: Dimensions summed over.
        flops: On one chip.
        traffic: Bytes of HBM traffic on one chip.
        dtype: The type it is computed in.
        price: The roofline.
    """

    operands: tuple[Value, ...]
    result: Value
    contracted: tuple[str, ...]
    flops: Flops
    traffic: Bytes
    dtype: Dtype
    price: MatmulPrice

    @property
    def op(self) -> str:
        """The name in the JSON."""
        return "matmul"

    @property
    def reads(self) -> tuple[int, ...]:
        """Numbers of the values read."""
        return tuple(value.number for value in self.operands)

    @property
    def text(self) -> str:
        """The step in the notation."""
        return str(
            Contraction(
                operands=tuple(value.sharded.array for value in self.operands),
                result=self.result.sharded.array,
                contracted=(self.contracted,),
            )
        )

    @property
    def seconds(self) -> Seconds:
        """Exact seconds on one chip."""
        return self.price.seconds

    @property
    def local_extents(self) -> tuple[dict[str, int], ...]:
        """What one chip holds of each operand: dimension name to extent."""
        return tuple(
            dict(zip(one.array.dim_names, one.local_shape, strict=True))
            for one in (value.sharded for value in self.operands)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveStep:
    """All groups of chips along some axes run a collective, or a permute, at once.

    Attributes:
        kind: Which.
        axes: The mesh axes.
        call: The group of chips, the method, and V in bytes, as one group sees it.
        dim: The dimension that the axes join (ReduceScatter, AllToAll), else None.
        operand: The value read.
        result: The value written.
        price: Book and exact seconds, wire bytes.
    """

    kind: CollectiveKind | TransferKind
    axes: tuple[str, ...]
    call: Call
    dim: str | None
    operand: Value
    result: Value
    price: CollectivePrice

    @property
    def size(self) -> Bytes:
        """V in bytes."""
        return self.call.size

    @property
    def op(self) -> str:
        """The name in the JSON."""
        return self.kind.value

    @property
    def name(self) -> str:
        """The name for people: `AllGather`, `CollectivePermute`."""
        if isinstance(self.kind, TransferKind):
            return "CollectivePermute"
        return self.kind.notation

    @property
    def label(self) -> str:
        """In short: `AllGather_X of A`."""
        name = self.operand.sharded.array.name
        return self.name + axes_text(self.axes) + (f" of {name}" if name else "")

    @property
    def reads(self) -> tuple[int, ...]:
        """Numbers of the values read."""
        return (self.operand.number,)

    @property
    def text(self) -> str:
        """The step in the notation; a permute as what it changes."""
        if isinstance(self.kind, TransferKind):
            before, after = self.operand.sharded.array, self.result.sharded.array
            return str(Reshard(operand=before, result=after))
        head = collective_head(self.kind, self.axes, self.dim)
        return f"{head} {self.operand.sharded.array} -> {self.result.sharded.array}"

    @property
    def seconds(self) -> Seconds:
        """Exact seconds by the closed form."""
        return self.price.exact.total


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceStep:
    """Every chip keeps its block of what it holds along more axes; free."""

    axes: tuple[str, ...]
    operand: Value
    result: Value

    @property
    def op(self) -> str:
        """The name in the JSON."""
        return "slice"

    @property
    def reads(self) -> tuple[int, ...]:
        """Numbers of the values read."""
        return (self.operand.number,)

    @property
    def text(self) -> str:
        """The step in the notation."""
        before, after = self.operand.sharded.array, self.result.sharded.array
        return str(Reshard(operand=before, result=after))

    @property
    def seconds(self) -> Seconds:
        """Nothing."""
        return Fraction(0)


Step = MatmulStep | CollectiveStep | SliceStep


def step_dict(step: Step) -> dict[str, Any]:
    """A step as in the JSON, without simulated times. Bytes are V; times are floats in seconds."""
    entry: dict[str, Any] = {
        "op": step.op,
        "text": step.text,
        "axes": [],
        "algorithm": None,
        "bytes": 0,
        "wire_bytes_per_chip": 0,
        "flops_per_chip": 0,
        "hbm_bytes_per_chip": 0,
        "book_seconds": float(step.seconds),
        "exact_seconds": float(step.seconds),
        "relation": Relation.EQUAL.value,
    }
    match step:
        case MatmulStep():
            entry["flops_per_chip"] = step.flops
            entry["hbm_bytes_per_chip"] = number(step.traffic)
            entry["dtype"] = step.dtype.value
        case SliceStep():
            entry["axes"] = list(step.axes)
        case CollectiveStep():
            entry["axes"] = list(step.axes)
            entry["algorithm"] = step.call.method.name
            entry["bytes"] = number(step.size)
            entry["wire_bytes_per_chip"] = number(step.price.wire_bytes)
            entry["book_seconds"] = float(step.price.book)
            entry["relation"] = step.price.relation.value
            entry["book_formula"] = step.price.book_formula
            entry["exact_formula"] = step.price.exact_formula
    return entry


def value_dict(sharded: ShardedArray) -> dict[str, Any]:
    """An array as in the JSON: its notation, and what one chip holds of it."""
    return {
        "text": str(sharded.array),
        "local_shape": list(sharded.local_shape),
        "bytes_per_chip": number(sharded.local_bytes),
    }
