"""The data oracle: runs a plan's step programs on real numbers.

A plan is right when the numbers say so. Integer inputs are computed in int64, so the comparison
with numpy's einsum is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shardsim.errors import InputErrors, PlanError, ShardingError
from shardsim.oracle.movement import Turn, run_collective, within
from shardsim.oracle.together import multiply, run_together
from shardsim.oracle.values import Shards, assemble, scatter
from shardsim.planner import CollectiveStep, MatmulStep, Plan, SliceStep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from shardsim.errors import InputError
    from shardsim.sharding import ShardedArray

__all__ = ["execute", "execute_all"]


def execute(plan: Plan, arrays: Mapping[str, ArrayLike]) -> NDArray[Any]:
    """Runs a plan on real numbers and gives its last result, put together from the chips.

    Args:
        plan: What to run.
        arrays: The plan's inputs by name, as global arrays. The operand of an explicit collective
            that is unreduced is given as its sum.

    Returns:
        The global array of the last statement's result; an unreduced result is summed.

    Raises:
        InputErrors: an input is missing, unknown, or of another shape than the plan's extents.
    """
    return execute_all(plan, arrays)[-1]


def execute_all(
    plan: Plan,
    arrays: Mapping[str, ArrayLike],
    pick: Callable[[Sequence[Turn]], Turn] | None = None,
) -> list[NDArray[Any]]:
    """The results of all statements; see `execute`.

    Args:
        plan: What to run.
        arrays: The plan's inputs by name.
        pick: The order in which chips that may send do so; see `run_collective`.
    """
    if not isinstance(plan, Plan):
        raise PlanError(
            f"execute takes a Plan, not a {type(plan).__name__}", "make one with shardsim.plan(...)"
        )
    if not isinstance(arrays, Mapping):
        raise ShardingError(
            f"execute takes a mapping of arrays by name, not a {type(arrays).__name__}",
            f"give an array for each of {', '.join(dict(plan.inputs))}",
        )
    given = {name: _wide(np.asarray(array)) for name, array in arrays.items()}
    _check(plan, given)
    values: dict[int, Shards] = {
        value.number: scatter(_padded(given[name], value.sharded), value.sharded)
        for name, value in plan.inputs
    }
    second = {max(pair.collective, pair.matmul): pair for pair in plan.decomposed}
    first = {min(pair.collective, pair.matmul) for pair in plan.decomposed}
    for index, step in enumerate(plan.steps):
        if index in first:
            continue
        if index in second:
            values |= run_together(plan, second[index], values, pick)
            continue
        match step:
            case MatmulStep():
                values[step.result.number] = multiply(step, values)
            case SliceStep():
                values[step.result.number] = _slice(step, values[step.operand.number])
            case CollectiveStep():
                values[step.result.number] = _collective(step, values[step.operand.number], pick)
    asked = _asked(plan)
    return [
        assemble(values[value.number], value.sharded)[
            tuple(slice(extent) for extent in asked(value.sharded))
        ]
        for value in plan.results
    ]


def _asked(plan: Plan) -> Callable[[ShardedArray], tuple[int, ...]]:
    """The extents of an array as they were given, without padding."""
    given = {padding.dim: padding.asked for padding in plan.program.padding}

    def extents(sharded: ShardedArray) -> tuple[int, ...]:
        names = sharded.array.dim_names
        return tuple(given.get(n, e) for n, e in zip(names, sharded.extents, strict=True))

    return extents


def _padded(array: NDArray[Any], sharded: ShardedArray) -> NDArray[Any]:
    """An array with zeros behind it, as long as it is on the mesh."""
    more = [(0, long - short) for long, short in zip(sharded.extents, array.shape, strict=True)]
    return np.pad(array, more) if any(after for _, after in more) else array


def _wide(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.int64) if array.dtype.kind in "biu" else array


def _check(plan: Plan, given: Mapping[str, NDArray[Any]]) -> None:
    faults: list[InputError] = []
    wanted, asked = dict(plan.inputs), _asked(plan)
    for name, value in wanted.items():
        extents = asked(value.sharded)
        if name not in given:
            faults.append(
                ShardingError(f"input {name} is missing", f"give an array of shape {extents}")
            )
            continue
        shape = given[name].shape
        if len(shape) != len(extents):
            faults.append(
                ShardingError(
                    f"{name} has {len(shape)} dimensions; {value.sharded.array} has {len(extents)}",
                    f"give an array of shape {extents}",
                )
            )
            continue
        for dim, got, extent in zip(value.sharded.array.dims, shape, extents, strict=True):
            if got != extent:
                faults.append(
                    ShardingError(
                        f"dimension {dim.name} is {got} in the array given for {name}; "
                        f"the plan was made for {dim.name}={extent}",
                        f"give an array of shape {extents}, or plan with other dims",
                    )
                )
    faults += [
        ShardingError(
            f"{name} is not an input of the plan; its inputs are {', '.join(wanted)}",
            f"leave {name} out",
        )
        for name in given
        if name not in wanted
    ]
    if faults:
        raise faults[0] if len(faults) == 1 else InputErrors(tuple(faults))


def _slice(step: SliceStep, shards: Shards) -> Shards:
    """Each chip keeps the block that is its own afterwards, of the larger one that it has."""
    before, after = step.operand.sharded, step.result.sharded
    return {
        chip: array[within(after.block(chip), before.block(chip))] for chip, array in shards.items()
    }


def _collective(
    step: CollectiveStep,
    shards: Shards,
    pick: Callable[[Sequence[Turn]], Turn] | None,
) -> Shards:
    moved: Shards = {}
    for members in step.call.group.instances:
        moved |= run_collective(step, members, shards, pick)
    return moved
