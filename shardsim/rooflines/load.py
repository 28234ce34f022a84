"""What one chip has to do: operations, bytes moved, collectives; each a product of extents.

Everything grows with a dimension as a power of its extent, so that it can be said for a dimension
of any length, fractions of an element included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from shardsim.matmul import MatmulShape
from shardsim.planner import CollectiveStep, MatmulStep
from shardsim.units import Bytes
from shardsim.vocabulary import Dtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shardsim.planner import Plan
    from shardsim.planner.steps import Value

__all__ = ["Load", "Operations", "Product", "Sent", "explicit_load", "load_of"]


class Product(NamedTuple):
    """A number that is a product of extents.

    Attributes:
        value: The number, with the extents as they are.
        dims: The dimensions that are factors of it.
        name: What it is of, for people: the name of an array.
    """

    value: Fraction
    dims: tuple[str, ...] = ()
    name: str = ""

    def at(self, factors: Mapping[str, Fraction]) -> Fraction:
        """The number with some dimensions so many times as long.

        >>> Product(Fraction(6), ("B", "D")).at({"B": Fraction(1, 2)})
        Fraction(3, 1)
        """
        return self.value * math.prod(factors.get(dim, Fraction(1)) for dim in self.dims)


class Operations(NamedTuple):
    """Operations of one chip on one unit, in one element type.

    Attributes:
        flops: Their number, as a sum.
        dtype: The type that they are done in.
        on_vectors: Whether the vector unit does them: a dot product, without rows or columns.
    """

    flops: tuple[Product, ...]
    dtype: Dtype
    on_vectors: bool = False


class Sent(NamedTuple):
    """A collective, and the dimensions that V is a product of."""

    step: CollectiveStep
    dims: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one chip has to do.

    Attributes:
        operations: On its units.
        moved: Bytes between its memory and its units: operands read, results written.
        collectives: What is sent between chips.
    """

    operations: tuple[Operations, ...] = ()
    moved: tuple[Product, ...] = ()
    collectives: tuple[Sent, ...] = ()

    @property
    def flops(self) -> Fraction:
        """All operations."""
        return sum(
            (product.value for each in self.operations for product in each.flops), Fraction(0)
        )

    @property
    def bytes_moved(self) -> Bytes:
        """All bytes between memory and units."""
        return sum((product.value for product in self.moved), Fraction(0))


def explicit_load(flops: Fraction | int, moved: Bytes | int, dtype: Dtype) -> Load:
    """So many FLOPs and bytes, without a statement."""
    return Load(
        operations=(Operations((Product(Fraction(flops)),), dtype),),
        moved=(Product(Fraction(moved)),),
    )


def load_of(plan: Plan, *, fused: bool = False) -> Load:
    """What one chip does of a plan.

    FLOPs are 2 x the product of the local extents; of a dot product, which the vector unit does,
    n products and n - 1 sums. Bytes are those of local operands and results, each in its own type;
    partial sums in the type of the result.

    Args:
        plan: The plan.
        fused: What one matmul makes and only matmuls read stays on the chip, and an operand of
            several is read once. What a collective takes or brings is in memory all the same.
    """
    steps = [step for step in plan.steps if isinstance(step, MatmulStep)]
    extents = dict(plan.program.extents)
    names = {value.number: name for name, value in plan.inputs}
    inside = _inside(plan) if fused else frozenset()
    operations, moved = [], []
    seen: set[int] = set()
    for step in steps:
        operations.append(_operations(step, extents))
        for value in (*step.operands, step.result):
            if value.number in inside or (fused and value.number in seen):
                continue
            seen.add(value.number)
            name = names.get(value.number) or value.sharded.array.name or "result"
            moved.append(_moved(value, extents, name))
    return Load(
        operations=tuple(operations),
        moved=tuple(moved),
        collectives=tuple(
            Sent(step, _dims(step.operand, extents))
            for step in plan.steps
            if isinstance(step, CollectiveStep)
        ),
    )


def _inside(plan: Plan) -> frozenset[int]:
    """The numbers of values that a matmul makes and that matmuls alone read."""
    made = {step.result.number for step in plan.steps if isinstance(step, MatmulStep)}
    read: dict[int, bool] = {}
    for step in plan.steps:
        for number in step.reads:
            read[number] = read.get(number, True) and isinstance(step, MatmulStep)
    return frozenset(number for number in made if read.get(number, False))


def _dims(value: Value, extents: Mapping[str, int]) -> tuple[str, ...]:
    """The dimensions of an array, as the program has them."""
    return tuple(_meant(dim, extents) for dim in value.sharded.array.dim_names)


def _moved(value: Value, extents: Mapping[str, int], name: str) -> Product:
    return Product(value.sharded.local_bytes, _dims(value, extents), name)


def _operations(step: MatmulStep, extents: Mapping[str, int]) -> Operations:
    left, right = step.local_extents
    shape = MatmulShape.of(left, right, step.result.sharded.array.dim_names)
    dims = tuple(_meant(dim, extents) for dim in dict.fromkeys((*left, *right)))
    pairs = Product(Fraction(shape.flops), dims)
    if set(left) != set(right) or not step.contracted:  # rows or columns
        return Operations((pairs,), step.dtype)
    kept = tuple(dim for dim in dims if dim not in set(_summed(step, extents)))
    return Operations((pairs, Product(-Fraction(shape.batch), kept)), step.dtype, on_vectors=True)


def _summed(step: MatmulStep, extents: Mapping[str, int]) -> Iterator[str]:
    return (_meant(dim, extents) for dim in step.contracted)


def _meant(dim: str, extents: Mapping[str, int]) -> str:
    """The dimension of the program that one of a plan is, which may be D once more: D'."""
    while dim not in extents and dim.endswith("'"):
        dim = dim[:-1]
    return dim
