"""Whether steps of a plan are done together, in which form, and the plan that comes of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from shardsim.errors import PlanError
from shardsim.overlap.considered import Considered, Way
from shardsim.overlap.forms import priced, ways
from shardsim.overlap.pairs import halves, pairs_of
from shardsim.planner import CollectiveStep, MatmulStep
from shardsim.planner.decomposition import Decomposition
from shardsim.units import format_seconds
from shardsim.vocabulary import CollectiveKind, Form

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from shardsim.cost import CostModel
    from shardsim.overlap.pairs import Pair
    from shardsim.planner import Plan, Step
    from shardsim.units import Seconds

__all__ = ["decompose"]


class _Option(NamedTuple):
    """A pair with what it may do.

    Attributes:
        pair: Which steps.
        apart: Seconds of one after the other.
        steps: What stands for the collective: itself, or the two halves of it.
        at: Which of them goes with the matmul.
        dim: Along which dimension the matmul is cut.
        ways: The forms, the fastest first.
    """

    pair: Pair
    apart: Seconds
    steps: tuple[CollectiveStep, ...]
    at: int
    dim: str
    ways: tuple[Way, ...]

    @property
    def rest(self) -> Seconds:
        """Seconds of what is still done apart."""
        others = (step.seconds for i, step in enumerate(self.steps) if i != self.at)
        return sum(others, Fraction(0))

    @property
    def saving(self) -> Seconds:
        """How much sooner the fastest form is done."""
        return self.apart - self.rest - self.ways[0].seconds


def decompose(
    plan: Plan,
    cost: CostModel,
    *,
    form: Form | None = None,
    only_faster: bool = False,
    apart: Collection[int] = (),
) -> tuple[Plan, tuple[Considered, ...]]:
    """A plan whose collectives and matmuls are done together where they can be.

    A matmul goes with one collective at most: the one with which it saves most.

    Args:
        plan: One after the other.
        cost: The closed forms.
        form: Only in this form; None: in the fastest.
        only_faster: Only where that takes less time than one after the other.
        apart: Indices of collectives that stay as they are.

    Returns:
        The plan, and each pair with its forms; indices are those of the new plan.

    Raises:
        PlanError: no pair can be done in the form asked for.
    """
    options = [_option(plan, pair, cost) for pair in pairs_of(plan)]
    if form is not None:
        options = [
            option._replace(ways=tuple(way for way in option.ways if way.form is form))
            for option in options
        ]
        if not any(option.ways for option in options):
            raise _nowhere(form, plan, cost)
    free = [o for o in options if o.ways and o.pair.collective not in apart]
    taken: dict[int, _Option] = {}
    for option in sorted(free, key=lambda one: -one.saving):
        used = {other.pair.matmul for other in taken.values()}
        if option.pair.matmul not in used and (option.saving > 0 or not only_faster):
            taken[option.pair.collective] = option
    made, new = _rebuilt(plan, taken, cost)
    considered = tuple(_considered(plan, o, taken, new, apart) for o in options)
    return made, considered


def _nowhere(form: Form, plan: Plan, cost: CostModel) -> PlanError:
    """Why no pair can be done in a form, and which forms there are."""
    known: dict[str, None] = {}
    for pair in pairs_of(plan):
        known |= dict.fromkeys(way.form.value for way in _option(plan, pair, cost).ways)
    if not known:
        return PlanError(
            f"nothing in this plan can be done in the form {form.value}: no AllGather or "
            "ReduceScatter along one ring, line or switch, and no AllReduce, goes with a matmul",
            "leave the form out, or overlap: async",
        )
    return PlanError(
        f"nothing in this plan can be done in the form {form.value}",
        f"choose {' or '.join(known)}, or leave the form out",
    )


def _option(plan: Plan, pair: Pair, cost: CostModel) -> _Option:
    step, matmul = plan.steps[pair.collective], plan.steps[pair.matmul]
    assert isinstance(step, CollectiveStep)
    assert isinstance(matmul, MatmulStep)
    apart = step.seconds + matmul.seconds
    if pair.reason:
        return _Option(pair, apart, (step,), 0, "", ())
    if step.kind is CollectiveKind.ALL_REDUCE:
        found = [(dim, ways(step, matmul, dim, cost)) for dim in pair.dims]
        best = min((f for f in found if f[1]), key=lambda f: f[1][0].seconds, default=("", ()))
        return _Option(pair, apart, (step,), 0, *best)
    (dim,) = pair.dims
    steps: tuple[CollectiveStep, ...] = (step,)
    at = 0
    if len(step.call.group.segments) > 1:
        steps = halves(step, dim, _fresh(plan) + pair.collective, cost)
        at = 1 if step.kind is CollectiveKind.ALL_GATHER else 0
    return _Option(pair, apart, steps, at, dim, ways(steps[at], matmul, dim, cost))


def _fresh(plan: Plan) -> int:
    """A number from which on no value has one."""
    made = (step.result.number for step in plan.steps)
    return 1 + max(*(value.number for _, value in plan.inputs), *made)


def _rebuilt(
    plan: Plan, taken: Mapping[int, _Option], cost: CostModel
) -> tuple[Plan, dict[int, int]]:
    """The plan with the steps that are taken, and where each old step stands."""
    steps: list[Step] = []
    statements: list[int] = []
    new: dict[int, int] = {}
    for index, step in enumerate(plan.steps):
        option = taken.get(index)
        if option is None:
            new[index] = len(steps)
            steps.append(step)
        else:
            new[index] = len(steps) + option.at
            own = priced(option.steps[option.at], option.ways[0], cost)
            steps += [own if i == option.at else other for i, other in enumerate(option.steps)]
        statements += [plan.statements[index]] * (len(steps) - len(statements))
    decomposed = tuple(
        Decomposition(
            collective=new[index],
            matmul=new[option.pair.matmul],
            form=way.form,
            dim=option.dim,
            parts=way.parts,
            part_seconds=way.part_seconds,
            seconds=way.seconds,
            relation=way.relation,
        )
        for index, option in sorted(taken.items())
        for way in option.ways[:1]
    )
    made = replace(plan, steps=tuple(steps), statements=tuple(statements), decomposed=decomposed)
    return made, new


def _considered(
    plan: Plan,
    option: _Option,
    taken: Mapping[int, _Option],
    new: Mapping[int, int],
    apart: Collection[int],
) -> Considered:
    index, matmul = option.pair.collective, option.pair.matmul
    step = plan.steps[index]
    assert isinstance(step, CollectiveStep)
    is_taken = index in taken
    first = step.kind is CollectiveKind.ALL_GATHER
    text = f"{step.label}, then the matmul" if first else f"matmul, then {step.label}"
    return Considered(
        collective=new[index],
        matmul=new[matmul],
        text=text,
        apart=option.apart,
        ways=option.ways,
        chosen=option.ways[0].form if is_taken else None,
        why=_why(option, taken, is_hidden=index in apart),
    )


def _why(option: _Option, taken: Mapping[int, _Option], *, is_hidden: bool) -> str:
    pair, apart = option.pair, format_seconds(option.apart)
    if pair.reason:
        return f"one after the other: {pair.reason}"
    if not option.ways:
        return "one after the other: its chunks do not divide the dimension evenly"
    best = option.ways[0]
    seconds = format_seconds(best.seconds + option.rest)
    name = best.form.value if best.form is not Form.CHUNKS else f"{best.parts} chunks"
    if pair.collective in taken:
        than = "instead of" if option.saving > 0 else "though it is no faster than"
        others = [step for i, step in enumerate(option.steps) if i != option.at]
        rest = "".join(f", with {one.label} ({format_seconds(one.seconds)})" for one in others)
        return f"{name}{rest}: {seconds} {than} {apart} one after the other"
    if is_hidden:
        return (
            f"one after the other: other work hides the communication already ({name}: {seconds})"
        )
    if option.saving <= 0:
        return f"one after the other: {apart}; the fastest form, {name}, takes {seconds}"
    return f"one after the other: the matmul goes with another collective ({name}: {seconds})"
