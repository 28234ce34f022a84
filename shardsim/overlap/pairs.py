"""The collectives and matmuls of a plan that might be done together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shardsim.notation import whole_axis
from shardsim.planner import CollectiveStep, MatmulStep, Value
from shardsim.vocabulary import Algorithm, CollectiveKind, Relation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.cost import CostModel
    from shardsim.notation import Array
    from shardsim.planner import Plan

__all__ = ["Pair", "halves", "pairs_of"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A collective and the one matmul that reads it, or whose result it alone reads.

    Attributes:
        collective: Index in the plan.
        matmul: Index in the plan.
        dims: The dimensions along which the matmul may be cut.
        reason: Why they cannot be done together; empty where they may.
    """

    collective: int
    matmul: int
    dims: tuple[str, ...]
    reason: str = ""


def pairs_of(plan: Plan) -> Iterator[Pair]:
    """All pairs, in the order of the plan."""
    made_by = plan.producers()
    readers = Counter(number for step in plan.steps for number in set(step.reads))
    for index, step in enumerate(plan.steps):
        if not isinstance(step, CollectiveStep):
            continue
        match step.kind:
            case CollectiveKind.ALL_GATHER:
                number = step.result.number
                later = [
                    at
                    for at, other in enumerate(plan.steps)
                    if isinstance(other, MatmulStep) and other.reads.count(number) == 1
                ]
                if readers[number] == 1 and len(later) == 1:
                    yield _pair(step, index, later[0], _changed(step))
            case CollectiveKind.REDUCE_SCATTER | CollectiveKind.ALL_REDUCE:
                number = step.operand.number
                before = made_by.get(number)
                if (
                    before == index - 1
                    and isinstance(plan.steps[before], MatmulStep)
                    and readers[number] == 1
                ):
                    scatters = step.kind is CollectiveKind.REDUCE_SCATTER
                    dims = _changed(step) if scatters else _longest_first(step.result)
                    yield _pair(step, index, before, dims)
            case _:
                pass


def _changed(step: CollectiveStep) -> tuple[str, ...]:
    """The dimensions that are cut otherwise afterwards."""
    before, after = step.operand.sharded.array, step.result.sharded.array
    return tuple(
        old.name for old, new in zip(before.dims, after.dims, strict=True) if old.axes != new.axes
    )


def _longest_first(value: Value) -> tuple[str, ...]:
    local = zip(value.sharded.array.dim_names, value.sharded.local_shape, strict=True)
    return tuple(name for name, _ in sorted(local, key=lambda one: -one[1]))


def _pair(step: CollectiveStep, index: int, matmul: int, dims: tuple[str, ...]) -> Pair:
    return Pair(index, matmul, dims, _hindrance(step, dims))


def _hindrance(step: CollectiveStep, dims: tuple[str, ...]) -> str:
    """Why the two cannot be done together; nothing where they can."""
    if step.kind is CollectiveKind.ALL_REDUCE:
        return _in_the_way_of_parts(step, dims)
    if len(dims) > 1:
        return f"it joins {' and '.join(dims)} at once"
    call = step.call
    (dim,) = dims
    if call.method.chunks > 1:
        return f"it is asked for in {call.method.chunks} chunks; ring steps have one for each chip"
    if len(call.group.segments) > 1 and not _can_be_halved(step, dim):
        axes, count = ", ".join(step.axes), len(call.group.segments)
        return f"{axes} lies on {count} rings, lines or switches: its chunks take no one way round"
    group = call.group
    bound = len(group.segments) == 1 and step.price.relation is not Relation.EQUAL
    if not group.is_physical or group.shares_links or bound:
        return f"the steps along {', '.join(step.axes)} share links, or their links differ"
    return ""


def _in_the_way_of_parts(step: CollectiveStep, dims: tuple[str, ...]) -> str:
    if Algorithm.IN_NETWORK in step.call.method.algorithms:
        return "the switch adds it in chunks of its own"
    if step.price.relation in (Relation.LOWER_BOUND, Relation.LIMIT) or not _has_equal_links(step):
        return f"the steps along {', '.join(step.axes)} share links, or their links differ"
    return "" if dims else "a single number cannot be cut"


def _has_equal_links(step: CollectiveStep) -> bool:
    group = step.call.group
    return group.is_physical and not group.shares_links and not group.rows_differ


def _moved(step: CollectiveStep, dim: str) -> tuple[str, ...]:
    """The axes that one dimension loses or wins, major first."""
    arrays = step.operand.sharded.array, step.result.sharded.array
    old, new = (next(d.axes for d in array.dims if d.name == dim) for array in arrays)
    return old[len(new) :] if len(old) > len(new) else new[len(old) :]


def _can_be_halved(step: CollectiveStep, dim: str) -> bool:
    """Whether its major axis lies on one segment, so that it can be gathered in ring steps.

    Parts of axes stay together: a layout between two of them may have to be written in others.
    """
    if any(whole_axis(axis) != axis for axis in step.axes):
        return False
    moved = _moved(step, dim)
    mesh = step.operand.sharded.mesh
    return len(moved) > 1 and len(mesh.group(moved[:1]).segments) == 1


def halves(
    step: CollectiveStep, dim: str, number: int, cost: CostModel
) -> tuple[CollectiveStep, CollectiveStep]:
    """A collective over several axes as two: the major axis by itself, and the others.

    AllGather: the minor axes first, then the major one, whose chunks the matmul waits for.
    ReduceScatter: the major axis first, whose chunks the matmul makes.

    Args:
        step: AllGather or ReduceScatter.
        dim: The dimension that it joins, or cuts.
        number: Of the value between the two.
        cost: Prices them.
    """
    moved = _moved(step, dim)
    major, minor = moved[:1], moved[1:]
    before, after = step.operand.sharded, step.result.sharded
    gathers = step.kind is CollectiveKind.ALL_GATHER
    kept = next(d.axes for d in (after if gathers else before).array.dims if d.name == dim)
    array = (before if gathers else after).array
    unreduced = tuple(axis for axis in before.array.unreduced if axis not in major)
    between = Value(
        number, before.moved_to(_cut(array, dim, (*kept, *major), () if gathers else unreduced))
    )
    first, second = (minor, major) if gathers else (major, minor)
    return (
        _collective(step, first, step.operand, between, cost),
        _collective(step, second, between, step.result, cost),
    )


def _cut(array: Array, dim: str, axes: tuple[str, ...], unreduced: tuple[str, ...]) -> Array:
    dims = tuple(replace(d, axes=axes) if d.name == dim else d for d in array.dims)
    return replace(array, dims=dims, unreduced=unreduced or array.unreduced)


def _collective(
    step: CollectiveStep, axes: tuple[str, ...], operand: Value, result: Value, cost: CostModel
) -> CollectiveStep:
    kind = CollectiveKind(step.kind)
    whole = result if kind is CollectiveKind.ALL_GATHER else operand
    mesh = operand.sharded.mesh
    call = cost.call(kind, mesh.group(axes), whole.sharded.local_bytes)
    return CollectiveStep(
        kind=kind,
        axes=axes,
        call=call,
        dim=step.dim,
        operand=operand,
        result=result,
        price=cost.collective(call),
    )
