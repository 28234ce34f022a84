"""From a bound program to a plan: which collectives and local matmuls, and why.

Policy `textbook` takes the cheapest plan that follows the four rules; `cheapest` the cheapest of
all placements of the mesh axes. Either way all that were considered are kept as alternatives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shardsim.errors import InputError, Place, PlanError, Source
from shardsim.notation import Array, Collective, Contraction, Dim
from shardsim.planner.contraction import candidates, local_candidate, pair_of
from shardsim.planner.layout import layout_of, without_narrow_axes
from shardsim.planner.reshard import Reshard, check_algorithm
from shardsim.planner.roles import Pair, reason
from shardsim.planner.steps import (
    Alternative,
    Choice,
    CollectiveStep,
    MatmulStep,
    Plan,
    SliceStep,
    Step,
    Value,
)
from shardsim.vocabulary import Algorithm, Objective, Policy

if TYPE_CHECKING:
    from shardsim.cost import CostModel
    from shardsim.program import Program
    from shardsim.sharding import ShardedArray

__all__ = [
    "Alternative",
    "Choice",
    "CollectiveStep",
    "MatmulStep",
    "Plan",
    "SliceStep",
    "Step",
    "Value",
    "make_plan",
]


def make_plan(
    program: Program,
    cost: CostModel,
    *,
    policy: Policy = Policy.TEXTBOOK,
    objective: Objective = Objective.TIME,
    algorithm: Algorithm | None = None,
) -> Plan:
    """Plans a program.

    Args:
        program: Statements bound to a mesh and extents.
        cost: The closed forms, for ranking.
        policy: Which plans may be taken.
        objective: What is made small.
        algorithm: The ring algorithm of all collectives; by default `balanced`.

    Raises:
        PlanError: a statement cannot be done; it says why.
    """
    check_algorithm(algorithm, program.mesh)
    planner = _Planner(program, Reshard(program.mesh, cost, objective, algorithm), policy)
    for statement in program.statements:
        try:
            planner.add(statement)
        except InputError as error:
            source = statement.source
            raise error.at(None if source is None else _whole(source)) from None
    return Plan(
        program=program,
        latency_model=cost.latency_model,
        inputs=tuple(planner.inputs.items()),
        steps=tuple(planner.steps),
        results=tuple(planner.results),
        choices=tuple(planner.choices),
    )


def _whole(source: Source) -> Place:
    return source.place(0, len(source.text))


class _Planner:
    """Plans statement after statement; what it has so far."""

    def __init__(self, program: Program, reshard: Reshard, policy: Policy) -> None:
        self.program = program
        self.reshard = reshard
        self.policy = policy
        self.inputs: dict[str, Value] = {}
        self.values: dict[str, Value] = {}
        self.steps: list[Step] = []
        self.results: list[Value] = []
        self.choices: list[Choice] = []
        self.numbers = 0

    def add(self, statement: Contraction | Collective) -> None:
        match statement:
            case Contraction():
                value = self._contract(statement)
            case Collective():
                value = self._collective(statement)
        declared = replace(self.program.bind(statement.result), dtype=value.sharded.dtype)
        if statement.result.name is not None:
            named = Value(value.number, without_narrow_axes(declared))
            self.values[statement.result.name] = named
        self.results.append(Value(value.number, declared))

    def _append(self, steps: tuple[Step, ...]) -> None:
        self.steps += steps
        self.numbers += len(steps)

    def _operand(self, array: Array, fallback: str) -> Value:
        """The value of an array here: an input, or an earlier result, resharded if need be."""
        name = array.name or fallback
        if name not in self.values:
            value = Value(self.numbers, without_narrow_axes(self.program.bind(array)))
            self.numbers += 1
            self.values[name] = self.inputs[name] = value
            return value
        value = self.values[name]
        found = self.reshard.path(value.sharded, layout_of(array, self.program.mesh))
        if found is None:
            raise PlanError(
                f"{name} is {value.sharded.array} here; it cannot become {array}",
                "an array that has been reduced cannot be made unreduced again",
            )
        steps = self.reshard.steps(value, found[1], self.numbers)
        self._append(steps)
        return steps[-1].result if steps else value

    def _contract(self, statement: Contraction) -> Value:
        names = self._names(statement)
        operands = [
            self._operand(array, name)
            for array, name in zip(statement.operands, names, strict=True)
        ]
        left = operands[0]
        last = len(operands) - 2
        for index, right in enumerate(operands[1:]):
            contracted = statement.contracted[index]
            final = index == last
            array = (
                statement.result if final else _intermediate(left, right, contracted, index, names)
            )
            result = self.program.bind(array)
            pair = pair_of(left.sharded, right.sharded, result, contracted, free=not final)
            shown = (left.sharded.array.name or names[0], names[index + 1])
            ways = self._ways(statement, pair, (left, right), result)
            chosen = self._choose(statement, ways)
            dot = Contraction(
                operands=(left.sharded.array, right.sharded.array),
                result=array,
                contracted=(contracted,),
                local=statement.local,
            )
            self.choices.append(
                Choice(
                    text=str(dot),
                    reasons=self._reasons(pair, shown),
                    alternatives=ways,
                    chosen=chosen,
                )
            )
            self._append(chosen.steps)
            left = chosen.steps[-1].result
        return left

    def _reasons(self, pair: Pair, names: tuple[str, str]) -> tuple[str, ...]:
        """The rule for each axis in play, and which axes are not used at all."""
        sizes = {axis: size for axis, size in self.program.mesh.sizes.items() if size > 1}
        return tuple(
            reason(pair, axis, names)
            if axis in pair.axes
            else f"{axis}: not used: its {size} chips all do the same work"
            for axis, size in sizes.items()
        )

    def _ways(
        self,
        statement: Contraction,
        pair: Pair,
        operands: tuple[Value, Value],
        result: ShardedArray,
    ) -> tuple[Alternative, ...]:
        if statement.local:
            only = local_candidate(self.reshard, pair, operands, result, self.numbers)
            return () if only is None else (only,)
        found = candidates(
            self.reshard,
            pair,
            operands,
            result,
            self.numbers,
            everything=self.policy is Policy.CHEAPEST,
        )
        return tuple(candidate.alternative for candidate in found)

    def _choose(self, statement: Contraction, ways: tuple[Alternative, ...]) -> Alternative:
        if statement.local and not ways:
            raise PlanError(
                f"{statement} cannot be done locally: the operands' shardings differ, or the local "
                "result has another sharding than asked for",
                "write · without _LOCAL, or ask for the result that the local product leaves, "
                "with {U_X} for each axis X of a contracted dimension",
            )
        if not ways:
            raise PlanError(
                f"no plan gives {statement.result}",
                "only a contracted dimension sharded in an operand can leave the result unreduced",
            )
        if self.policy is Policy.TEXTBOOK:
            return next((way for way in ways if way.textbook), ways[0])
        return ways[0]

    def _names(self, statement: Contraction) -> tuple[str, ...]:
        """Names for the operands; anonymous ones are called A, B, C, ... where these are free."""
        taken = {array.name for array in statement.operands}
        taken |= {name for array in statement.operands for name in array.dim_names}
        free = (letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if letter not in taken)
        return tuple(array.name or next(free) for array in statement.operands)

    def _collective(self, statement: Collective) -> Value:
        value = self._operand(statement.operand, "A")
        self._check_dtype(statement, value)
        goal = layout_of(statement.result, self.program.mesh)
        found = self.reshard.path(value.sharded, goal, frozenset({statement.kind}))
        if found is None:
            raise self._impossible(statement)
        steps = self.reshard.steps(value, found[1], self.numbers)
        self._append(steps)
        only = Alternative(steps=steps, textbook=True)
        self.choices.append(
            Choice(
                text=str(statement),
                reasons=("as written: an explicit collective",),
                alternatives=(only,),
                chosen=only,
            )
        )
        return steps[-1].result if steps else value

    def _check_dtype(self, statement: Collective, value: Value) -> None:
        """A collective moves values as they are; a type said for its result must be theirs."""
        result = statement.result
        dtypes = self.program.dtypes
        said = result.dtype or dict(dtypes.by_name).get(result.name or "")
        if said is not None and said is not value.sharded.dtype:
            raise PlanError(
                f"{statement.kind.notation} cannot make {said.value} of "
                f"{value.sharded.dtype.value}: a collective does not convert",
                f"leave the dtype of {result.name or 'the result'} out",
            )

    def _impossible(self, statement: Collective) -> PlanError:
        for dim in statement.operand.dims:
            inner = [axis for axis in dim.axes if axis not in statement.axes]
            moved = [axis for axis in statement.axes if axis in dim.axes]
            if moved and inner and dim.axes.index(moved[0]) < dim.axes.index(inner[-1]):
                return PlanError(
                    f"{statement.kind.notation} over {moved[0]} of {dim.name}_{''.join(dim.axes)}: "
                    f"{moved[0]} is not the minor-most axis, so what it gathers is not contiguous",
                    f"first gather {inner[-1]}, or name both axes in order",
                )
        return PlanError(
            f"{statement.kind.notation} cannot turn {statement.operand} into {statement.result}: "
            "one axis moves at a time, the minor-most of its dimension first",
            "name the axes in the order in which they move",
        )


def _intermediate(
    left: Value, right: Value, contracted: tuple[str, ...], index: int, names: tuple[str, ...]
) -> Array:
    """The unnamed product of the first operands: what is left of both sides' dimensions."""
    dims = dict.fromkeys(
        name
        for value in (left, right)
        for name in value.sharded.array.dim_names
        if name not in contracted
    )
    name = f"T{index + 1}"
    while name in names:
        name += "'"
    return Array(name=name, dims=tuple(Dim(name) for name in dims))
