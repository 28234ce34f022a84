"""One sharded contraction of two operands: all ways to do it, priced."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.planner.layout import Layout, layout_of, with_layout
from shardsim.planner.reshard import Cost, Resharder
from shardsim.planner.roles import (
    LEFT_SUMS,
    RIGHT_SUMS,
    Pair,
    Role,
    Roles,
    assignments,
    textbook_roles,
)
from shardsim.planner.steps import Alternative, MatmulStep, Step, Value
from shardsim.vocabulary import Dtype

if TYPE_CHECKING:
    from shardsim.sharding import ShardedArray

__all__ = ["Candidate", "candidates", "compute_dtype", "local_candidate", "pair_of"]

MOST_ASSIGNMENTS = 512
"""Beyond so many placements, only those of the four rules unless all are asked for."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to do the contraction, with its price."""

    alternative: Alternative
    cost: Cost


def pair_of(
    left: ShardedArray,
    right: ShardedArray,
    result: ShardedArray,
    contracted: tuple[str, ...],
    *,
    free: bool,
) -> Pair:
    """The pair's dimensions and layouts; `free` leaves the result's layout open."""
    mesh = left.mesh
    return Pair(
        left=left.array.dim_names,
        right=right.array.dim_names,
        result=result.array.dim_names,
        contracted=contracted,
        left_layout=layout_of(left.array, mesh),
        right_layout=layout_of(right.array, mesh),
        wanted=None if free else layout_of(result.array, mesh),
    )


def compute_dtype(left: Dtype, right: Dtype) -> Dtype:
    """The type a matmul is computed in: the wider operand's, a float before an integer.

    >>> compute_dtype(Dtype.BF16, Dtype.INT8).value
    'bf16'
    """
    return max(left, right, key=lambda dtype: (not dtype.is_integer, dtype.bytes))


def candidates(
    reshard: Resharder,
    pair: Pair,
    operands: tuple[Value, Value],
    result: ShardedArray,
    number: int,
    *,
    everything: bool,
) -> list[Candidate]:
    """All legal ways, cheapest first.

    Args:
        reshard: Finds and prices the moves.
        pair: Dimensions and layouts.
        operands: The two values.
        result: The result with the sharding asked for (its layout is ignored where it is free).
        number: The first free value number.
        everything: Consider all placements, however many.
    """
    axes = tuple(name for name in reshard.mesh.sizes if name in pair.axes)
    by_rule = tuple(textbook_roles(pair, axis) for axis in axes)
    ruled = set(assignments(pair, axes, by_rule))
    every: tuple[Role, ...] = (None, *pair.roles)
    considered = list(ruled)
    if everything or len(every) ** len(axes) <= MOST_ASSIGNMENTS:
        considered = list(assignments(pair, axes, (every,) * len(axes)))
    made = (
        _candidate(reshard, pair, operands, result, number, roles, textbook=roles in ruled)
        for roles in considered
    )
    return sorted(
        (candidate for candidate in made if candidate is not None),
        key=lambda c: (c.cost, not c.alternative.textbook, [s.text for s in c.alternative.steps]),
    )


def local_candidate(
    reshard: Resharder, pair: Pair, operands: tuple[Value, Value], result: ShardedArray, number: int
) -> Alternative | None:
    """The plan without any communication, where the operands' shardings allow it."""
    on: dict[str, tuple[str, ...]] = {
        LEFT_SUMS: pair.left_layout.unreduced,
        RIGHT_SUMS: pair.right_layout.unreduced,
    }
    for names, layout in ((pair.left, pair.left_layout), (pair.right, pair.right_layout)):
        for name, axes in zip(names, layout.axes, strict=True):
            if on.setdefault(name, axes) != axes:
                return None
    flat = [axis for axes in on.values() for axis in axes]
    if len(flat) != len(set(flat)):
        return None
    roles = tuple((name, on[name]) for name in pair.roles)
    found = _candidate(reshard, pair, operands, result, number, roles, textbook=True)
    if found is None or len(found.alternative.steps) != 1:
        return None
    return found.alternative


def _candidate(
    reshard: Resharder,
    pair: Pair,
    operands: tuple[Value, Value],
    result: ShardedArray,
    number: int,
    roles: Roles,
    *,
    textbook: bool,
) -> Candidate | None:
    on = dict(roles)
    steps: list[Step] = []
    moved: list[Value] = []
    cost = reshard.of(Fraction(0), Fraction(0), 0)
    sides = ((pair.left, LEFT_SUMS), (pair.right, RIGHT_SUMS))
    for value, (names, sums) in zip(operands, sides, strict=True):
        goal = Layout(tuple(on[name] for name in names), tuple(sorted(on.get(sums, ()))))
        found = reshard.path(value.sharded, goal)
        if found is None:
            return None
        cost = _sum(cost, found[0])
        steps += reshard.steps(value, found[1], number + len(steps))
        moved.append(steps[-1].result if found[1] else value)
    natural = _natural(pair, result, on)
    matmul = _matmul(reshard, pair, (moved[0], moved[1]), Value(number + len(steps), natural))
    steps.append(matmul)
    cost = _sum(cost, reshard.of(matmul.seconds, Fraction(0), 1))
    made = layout_of(natural.array, natural.mesh)
    found = reshard.path(natural, Layout(made.axes) if pair.wanted is None else pair.wanted)
    if found is None:
        return None
    cost = _sum(cost, found[0])
    steps += reshard.steps(matmul.result, found[1], number + len(steps))
    return Candidate(Alternative(steps=tuple(steps), textbook=textbook), cost)


def _sum(first: Cost, second: Cost) -> Cost:
    return (first[0] + second[0], first[1] + second[1], first[2] + second[2])


def _natural(pair: Pair, result: ShardedArray, on: dict[str, tuple[str, ...]]) -> ShardedArray:
    """The result as the local matmul leaves it: with the partial sums that it makes or carries."""
    partial = [axis for dim in pair.contracted for axis in on[dim]]
    partial += [axis for sums in (LEFT_SUMS, RIGHT_SUMS) for axis in on.get(sums, ())]
    layout = Layout(tuple(on[name] for name in pair.result), tuple(sorted(partial)))
    return result.moved_to(with_layout(result.array, layout))


def _matmul(
    reshard: Resharder, pair: Pair, operands: tuple[Value, Value], result: Value
) -> MatmulStep:
    shapes: dict[str, int] = {}
    for value in operands:
        shapes.update(zip(value.sharded.array.dim_names, value.sharded.local_shape, strict=True))
    flops = 2 * math.prod(shapes[dim] for dim in pair.dims)
    traffic = sum((value.sharded.local_bytes for value in (*operands, result)), Fraction(0))
    dtype = compute_dtype(operands[0].sharded.dtype, operands[1].sharded.dtype)
    return MatmulStep(
        operands=operands,
        result=result,
        contracted=pair.contracted,
        flops=flops,
        traffic=traffic,
        dtype=dtype,
        price=reshard.cost.matmul(flops, traffic, dtype, reshard.mesh.topology.chip),
    )
