"""Plans a program statement by statement, and says why."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from shardsim.errors import InputError, Place, PlanError, Source
from shardsim.notation import Array, Collective, Contraction, Dim, Reshard, Statement
from shardsim.planner.contraction import candidates, local_candidate, pair_of
from shardsim.planner.layout import Move, layout_of, without_narrow_axes
from shardsim.planner.reshard import Resharder, check_algorithm, check_used
from shardsim.planner.roles import Pair, reason
from shardsim.planner.steps import (
    Alternative,
    Choice,
    Plan,
    Step,
    Value,
)
from shardsim.program import arrays_of
from shardsim.vocabulary import Objective, Policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.cost import CostModel
    from shardsim.program import Program
    from shardsim.sharding import ShardedArray

__all__ = ["make_plan"]

NO_SUMS = "take {U_..} out: a whole array is not made into partial sums"


def make_plan(
    program: Program,
    cost: CostModel,
    *,
    policy: Policy = Policy.TEXTBOOK,
    objective: Objective = Objective.TIME,
) -> Plan:
    """Plans a program.

    Args:
        program: Statements bound to a mesh and extents.
        cost: The closed forms, for ranking, and what is asked of collectives' methods.
        policy: Which plans may be taken.
        objective: What is made small.

    Raises:
        PlanError: a statement cannot be done; it says why.
    """
    check_algorithm(cost.wanted.algorithm, program.mesh)
    planner = _Planner(program, Resharder(program.mesh, cost, objective), policy)
    for statement in program.statements:
        try:
            planner.add(statement)
        except InputError as error:
            source = statement.source
            raise error.at(None if source is None else _whole(source)) from None
    check_used(cost.wanted.algorithm, planner.steps)
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

    def __init__(self, program: Program, reshard: Resharder, policy: Policy) -> None:
        self.program = program
        self.reshard = reshard
        self.policy = policy
        self.inputs: dict[str, Value] = {}
        self.values: dict[str, Value] = {}
        self.steps: list[Step] = []
        self.results: list[Value] = []
        self.choices: list[Choice] = []
        self.numbers = 0
        arrays = [array for s in program.statements for array in arrays_of(s)]
        taken = {array.name for array in arrays} | {d for a in arrays for d in a.dim_names}
        self.input_names = (name for name in _letters() if name not in taken)
        self.product_names = (f"T{i}" for i in itertools.count(1) if f"T{i}" not in taken)

    def add(self, statement: Statement) -> None:
        match statement:
            case Contraction():
                value = self._contract(statement)
            case Collective():
                value = self._collective(statement)
            case Reshard():
                value = self._reshard(statement)
        declared = replace(self.program.bind(statement.result), dtype=value.sharded.dtype)
        if statement.result.name is not None:
            named = Value(value.number, without_narrow_axes(declared))
            self.values[statement.result.name] = named
        self.results.append(Value(value.number, declared))

    def _append(self, steps: tuple[Step, ...]) -> None:
        self.steps += steps
        self.numbers += len(steps)

    def _operand(self, array: Array) -> Value:
        """The value of an array here: an input, or an earlier result, resharded if need be.

        An array without a name is always an input of its own.
        """
        name = array.name or next(self.input_names)
        if name not in self.values:
            value = Value(self.numbers, without_narrow_axes(self.program.bind(array)))
            self.numbers += 1
            self.values[name] = self.inputs[name] = value
            return value
        value = self.values[name]
        if array.dtype not in {None, value.sharded.dtype}:
            raise PlanError(
                f"{name} is {value.sharded.dtype} here; it cannot be used as {array.dtype}",
                "leave the element type out: nothing converts",
            )
        found = self.reshard.path(value.sharded, layout_of(array, self.program.mesh))
        if found is None:
            raise PlanError(
                f"{name} is {value.sharded.array} here; it cannot become {array}", NO_SUMS
            )
        steps = self.reshard.steps(value, found[1], self.numbers)
        if steps:
            self._choose_only(
                f"{value.sharded.array} -> {array}",
                f"{name} is {value.sharded.array} here, and is used as {array}",
                steps,
            )
        return steps[-1].result if steps else value

    def _choose_only(self, text: str, why: str, steps: tuple[Step, ...]) -> None:
        """Appends steps that have no alternative."""
        only = Alternative(steps=steps, textbook=True)
        self.choices.append(Choice(text=text, reasons=(why,), alternatives=(only,), chosen=only))
        self._append(steps)

    def _contract(self, statement: Contraction) -> Value:
        operands = [self._operand(array) for array in statement.operands]
        names = tuple(array.name or f"operand {i}" for i, array in enumerate(statement.operands, 1))
        left = operands[0]
        last = len(operands) - 2
        for index, right in enumerate(operands[1:]):
            contracted = statement.contracted[index]
            final = index == last
            array = statement.result if final else self._product(left, right, contracted)
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
                    reasons=self._reasons(pair, shown, chosen),
                    alternatives=ways,
                    chosen=chosen,
                )
            )
            self._append(chosen.steps)
            left = chosen.steps[-1].result
        return left

    def _product(self, left: Value, right: Value, contracted: tuple[str, ...]) -> Array:
        """The product of the first operands: what is left of both sides' dimensions."""
        names = (*left.sharded.array.dim_names, *right.sharded.array.dim_names)
        dims = dict.fromkeys(name for name in names if name not in contracted)
        return Array(name=next(self.product_names), dims=tuple(Dim(name) for name in dims))

    def _reasons(self, pair: Pair, names: tuple[str, str], chosen: Alternative) -> tuple[str, ...]:
        """The rule for each axis in play, which axes are not used, and whether the rules hold."""
        sizes = {axis: size for axis, size in self.program.mesh.sizes.items() if size > 1}
        reasons = [
            reason(pair, axis, names)
            if axis in pair.axes
            else f"{axis}: not used: its {size} chips all do the same work"
            for axis, size in sizes.items()
        ]
        if not chosen.textbook and self.policy is Policy.TEXTBOOK:
            reasons.append(
                "no plan by these rules cuts every extent evenly, so it departs from them"
            )
        elif not chosen.textbook:
            reasons.append("the plan departs from these rules, since that costs less")
        return tuple(reasons)

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

    def _collective(self, statement: Collective) -> Value:
        value = self._operand(statement.operand)
        self._check_dtype(statement.kind.notation, statement.result, value)
        goal = layout_of(statement.result, self.program.mesh)
        found = self.reshard.path(value.sharded, goal, frozenset({statement.kind}))
        if found is None:
            raise self._impossible(statement)
        return self._moved(statement, value, found[1], "as written: an explicit collective")

    def _reshard(self, statement: Reshard) -> Value:
        value = self._operand(statement.operand)
        self._check_dtype("a reshard", statement.result, value)
        found = self.reshard.path(value.sharded, layout_of(statement.result, self.program.mesh))
        if found is None:
            raise PlanError(f"{statement.operand} cannot become {statement.result}", NO_SUMS)
        return self._moved(statement, value, found[1], "the cheapest sequence of moves")

    def _moved(
        self, statement: Collective | Reshard, value: Value, moves: tuple[Move, ...], why: str
    ) -> Value:
        """Appends the moves; the last one's result has the name that the statement gives."""
        steps = self.reshard.steps(value, moves, self.numbers)
        if steps:
            steps = (*steps[:-1], _renamed(steps[-1], statement.result.name))
        self._choose_only(str(statement), why, steps)
        return steps[-1].result if steps else value

    def _check_dtype(self, what: str, result: Array, value: Value) -> None:
        """Moves leave values as they are; a type said for the result must be theirs."""
        dtypes = self.program.dtypes
        said = result.dtype or dict(dtypes.by_name).get(result.name or "")
        if said is not None and said is not value.sharded.dtype:
            raise PlanError(
                f"{what} cannot make {said.value} of {value.sharded.dtype.value}: "
                "it does not convert",
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
            "the minor-most axes of a dimension move first",
            "name the axes in the order in which they move",
        )


def _letters() -> Iterator[str]:
    """Names for arrays without one: A, B, ..., Z, A1, B1, ..."""
    for count in itertools.count():
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
            yield f"{letter}{count or ''}"


def _renamed(step: Step, name: str | None) -> Step:
    """The same step, its result under another name."""
    sharded = step.result.sharded
    array = replace(sharded.array, name=name)
    return replace(step, result=Value(step.result.number, sharded.moved_to(array)))
