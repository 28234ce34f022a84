"""Plans a program statement by statement, and says why."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from shardsim.errors import InputError, Place, PlanError, Source
from shardsim.notation import Array, Collective, Contraction, Dim, Reshard, Statement
from shardsim.planner.atoms import Atoms
from shardsim.planner.choices import Choice
from shardsim.planner.choosing import Contracting
from shardsim.planner.explaining import ContractionExplained
from shardsim.planner.meanings import Meanings, renamed
from shardsim.planner.methods import check_algorithm, check_used
from shardsim.planner.plans import Plan
from shardsim.planner.prices import Prices, prices_on
from shardsim.planner.resharding import Resharding, without_narrow_axes
from shardsim.planner.steps import Step, Value
from shardsim.program import arrays_of
from shardsim.sharding import bind
from shardsim.units import format_seconds
from shardsim.vocabulary import IdleAxes, Objective, Policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shardsim.cost import CostModel
    from shardsim.planner.layout import MoveKind
    from shardsim.program import Program
    from shardsim.sharding import ShardedArray

__all__ = ["make_plan"]

NO_SUMS = "take {U_..} out: a whole array is not made into partial sums"


def make_plan(
    program: Program,
    cost: CostModel,
    *,
    policy: Policy = Policy.CHEAPEST,
    objective: Objective = Objective.TIME,
    idle_axes: IdleAxes = IdleAxes.LEAVE,
    most_flops: int | None = None,
) -> Plan:
    """Plans a program.

    Args:
        program: Statements bound to a mesh and extents.
        cost: The closed forms, for ranking, and what is asked of collectives' methods.
        policy: Which plans may be taken.
        objective: What is made small.
        idle_axes: Whether axes that no array of a statement names may be used.
        most_flops: Of plans for two operands only those with so many FLOPs at most on a chip: what
            is fewest may be had by doing the same on many chips.

    Raises:
        PlanError: a statement cannot be done; it says why.
    """
    check_algorithm(cost.wanted.algorithm, program.mesh)
    asked = _Asked(policy, objective, idle_axes, most_flops)
    planner = _Planner(program, prices_on(program.mesh, cost), asked)
    statements: list[int] = []
    for number, statement in enumerate(program.statements):
        try:
            planner.add(statement)
        except InputError as error:
            source = statement.source
            raise error.at(None if source is None else _whole(source)) from None
        statements += [number] * (len(planner.steps) - len(statements))
    check_used(cost.wanted.algorithm, planner.steps)
    return Plan(
        program=program,
        latency_model=cost.latency_model,
        inputs=tuple(planner.inputs.items()),
        steps=tuple(planner.steps),
        results=tuple(planner.results),
        choices=tuple(planner.choices),
        statements=tuple(statements),
    )


def _whole(source: Source) -> Place:
    return source.place(0, len(source.text))


class _Asked(NamedTuple):
    """How plans are chosen; see `make_plan`."""

    policy: Policy
    objective: Objective
    idle_axes: IdleAxes
    most_flops: int | None


class _Planner:
    """Plans statement after statement; what it has so far."""

    def __init__(self, program: Program, prices: Prices, asked: _Asked) -> None:
        self.program = program
        self.prices = prices
        self.asked = asked
        self.inputs: dict[str, Value] = {}
        self.values: dict[str, Value] = {}
        self.steps: list[Step] = []
        self.results: list[Value] = []
        self.choices: list[Choice] = []
        self.numbers = 0
        arrays = [array for s in program.statements for array in arrays_of(s)]
        taken = {array.name for array in arrays} | {d for a in arrays for d in a.dim_names}
        self.input_names = (name for name in _letters() if name not in taken)
        self.taken = taken
        self.extents: dict[str, int] = dict(program.extents)

    def add(self, statement: Statement) -> None:
        match statement:
            case Contraction():
                value = self._contract(statement)
            case Collective():
                value = self._collective(statement)
            case Reshard():
                value = self._reshard(statement)
        declared = value.sharded
        if not (isinstance(statement, Contraction) and statement.is_open):
            declared = replace(self.program.bind(statement.result), dtype=declared.dtype)
        if statement.result.name is not None:
            named = Value(value.number, without_narrow_axes(declared))
            self.values[statement.result.name] = named
        self.results.append(Value(value.number, declared))

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
        made = self._resharded(value, array)
        if made is None:
            raise PlanError(
                f"{name} is {value.sharded.array} here; it cannot become {array}", NO_SUMS
            )
        if made.chosen.steps:
            why = f"{name} is {value.sharded.array} here, and is used as {array}"
            self._take(made.choice(f"{value.sharded.array} -> {array}", (why,)))
            return made.chosen.steps[-1].result
        return value

    def _resharded(
        self, value: Value, array: Array, kinds: frozenset[MoveKind] | None = None
    ) -> Resharding | None:
        """The ways to bring a value into the layout of an array; None where there is none."""
        made = Resharding(
            prices=self.prices,
            objective=self.asked.objective,
            value=value,
            array=array,
            kinds=kinds,
            everywhere=self.asked.idle_axes is IdleAxes.USE,
            number=self.numbers,
        )
        return made if made.is_possible else None

    def _take(self, choice: Choice) -> None:
        """Adds the steps of a choice to the plan."""
        self.choices.append(replace(choice, statement=len(self.results)))
        self.steps += choice.chosen.steps
        self.numbers += len(choice.chosen.steps)

    def _contract(self, statement: Contraction) -> Value:
        operands = tuple(self._operand(array) for array in statement.operands)
        names = tuple(array.name or f"operand {i}" for i, array in enumerate(statement.operands, 1))
        named = [axis for a in arrays_of(statement) for axis in (*a.axes, *a.unreduced)]
        if self.asked.idle_axes is IdleAxes.USE:
            named += self.program.mesh.sizes
        by_rules = (
            self.asked.policy is Policy.TEXTBOOK
            or Atoms.of(self.program.mesh, named, cut=False).are_many
        )
        one_by_one = statement.local or (by_rules and len(operands) > 2)
        if not one_by_one:
            return self._together(statement, operands, names)
        left, name = operands[0], names[0]
        last = len(operands) - 2
        for index, right in enumerate(operands[1:]):
            dims = statement.contracted[index]
            is_last = index == last
            array = statement.result if is_last else self._product(left, right, dims)
            pair = (left, right)
            text = str(
                Contraction(
                    operands=(left.sharded.array, right.sharded.array),
                    result=array,
                    contracted=(dims,),
                    local=statement.local,
                    is_open=statement.is_open or not is_last,
                )
            )
            names_here = (name, names[index + 1])
            left = self._dot(
                statement,
                pair,
                names_here,
                frozenset(dims),
                array,
                text,
                is_open=statement.is_open or not is_last,
            )
            name = left.sharded.array.name or "the product"
        return left

    def _together(
        self, statement: Contraction, operands: tuple[Value, ...], names: tuple[str, ...]
    ) -> Value:
        """All dots of a statement planned together, each dimension under a name of its own."""
        meanings = Meanings(statement, dict(self.program.extents))
        self.extents = {**dict(self.program.extents), **meanings.extents}
        value = self._dot(
            statement,
            tuple(map(_renamed, operands, meanings.operands)),
            names,
            meanings.summed,
            renamed(statement.result, meanings.result),
            str(statement),
            is_open=statement.is_open,
            same_dims=meanings.again,
        )
        return _renamed(value, statement.result.dim_names)

    def _dot(
        self,
        statement: Contraction,
        operands: tuple[Value, ...],
        names: tuple[str, ...],
        summed: frozenset[str],
        array: Array,
        text: str,
        *,
        is_open: bool = False,
        same_dims: Mapping[str, str] | None = None,
    ) -> Value:
        """One or more dots that are planned together."""
        made = Contracting(
            prices=self.prices,
            objective=self.asked.objective,
            policy=self.asked.policy,
            operands=operands,
            names=names,
            summed=summed,
            result=_bound(self.program, self.extents, array),
            is_open=is_open,
            product=partial(_product, self.program, self.extents),
            product_names=self._names(len(operands) - 2),
            number=self.numbers,
            most_flops=self.asked.most_flops,
            everywhere=self.asked.idle_axes is IdleAxes.USE,
            is_local=statement.local,
            same_dims=same_dims or {},
        )
        chosen = made.chosen
        if statement.local:
            if chosen is None:
                other = replace(made, is_local=False)
                ways = other.alternatives[:2] if other.chosen is not None else ()
                said = [f"{way.label} ({format_seconds(way.seconds)})" for way in ways]
                raise PlanError(
                    f"{statement} cannot be done locally: the operands' shardings differ, or the "
                    "local result has another sharding than asked for",
                    f"write · without _LOCAL{': ' if said else ''}{' or '.join(said)}; or ask for "
                    "the result that the local product leaves, with {U_X} for each axis X of a "
                    "contracted dimension",
                )
        elif chosen is None:
            sums = " and ".join(f"{name}={self.extents[name]}" for name in sorted(summed))
            raise PlanError(
                f"no plan gives {array}",
                "an axis leaves partial sums where it divides a dimension that is summed: "
                f"here {sums or 'none'}",
            )
        self._take(Choice(text=text, chosen=chosen, explained=ContractionExplained(made)))
        return chosen.steps[-1].result

    def _product(self, left: Value, right: Value, contracted: tuple[str, ...]) -> Array:
        """The product of the first operands: what is left of both sides' dimensions."""
        names = (*left.sharded.array.dim_names, *right.sharded.array.dim_names)
        dims = dict.fromkeys(name for name in names if name not in contracted)
        (name,) = self._names(1)
        return Array(name=name, dims=tuple(Dim(dim) for dim in dims))

    def _names(self, count: int) -> tuple[str, ...]:
        """Names for products that no statement names: T1, T2, ..."""
        free = (name for name in (f"T{i}" for i in itertools.count(1)) if name not in self.taken)
        found = tuple(itertools.islice(free, count))
        self.taken.update(found)
        return found

    def _collective(self, statement: Collective) -> Value:
        value = self._operand(statement.operand)
        self._check_dtype(statement.kind.notation, statement.result, value)
        made = self._resharded(value, statement.result, frozenset({statement.kind}))
        if made is None:
            raise self._impossible(statement)
        return self._moved(statement, made, ("as written: an explicit collective",))

    def _reshard(self, statement: Reshard) -> Value:
        value = self._operand(statement.operand)
        self._check_dtype("a reshard", statement.result, value)
        made = self._resharded(value, statement.result)
        if made is None:
            raise PlanError(f"{statement.operand} cannot become {statement.result}", NO_SUMS)
        return self._moved(statement, made, made.reasons())

    def _moved(
        self, statement: Collective | Reshard, made: Resharding, why: tuple[str, ...]
    ) -> Value:
        """Takes the moves; the last one's result has the name that the statement gives."""
        self._take(made.choice(str(statement), why, name=statement.result.name))
        steps = self.choices[-1].chosen.steps
        return steps[-1].result if steps else made.value

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
                    f"{statement.kind.notation} over {moved[0]} of {dim}: "
                    f"{moved[0]} is not the minor-most axis, so what it gathers is not contiguous",
                    f"first gather {inner[-1]}, or name both axes in order",
                )
        return PlanError(
            f"{statement.kind.notation} cannot turn {statement.operand} into {statement.result}: "
            "the minor-most axes of a dimension move first",
            "name the axes in the order in which they move",
        )


def _bound(program: Program, extents: Mapping[str, int], array: Array) -> ShardedArray:
    """An array whose dimensions may have names that only this plan gives."""
    return bind(array, program.mesh, extents, program.dtypes.of(array))


def _product(
    program: Program, extents: Mapping[str, int], name: str, dims: tuple[str, ...]
) -> ShardedArray:
    """The array of a product that no statement names, in no layout."""
    return _bound(program, extents, Array(name=name, dims=tuple(Dim(dim) for dim in dims)))


def _letters() -> Iterator[str]:
    """Names for arrays without one: A, B, ..., Z, A1, B1, ..."""
    for count in itertools.count():
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
            yield f"{letter}{count or ''}"


def _renamed(value: Value, names: tuple[str, ...]) -> Value:
    """The same value, its dimensions under other names."""
    sharded = value.sharded
    return Value(value.number, replace(sharded, array=renamed(sharded.array, names)))
