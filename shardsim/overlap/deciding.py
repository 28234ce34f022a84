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
from shardsim.vocabulary import CollectiveKind, Form, Relation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        reason: Why there are none.
    """

    pair: Pair
    apart: Seconds
    steps: tuple[CollectiveStep, ...]
    at: int
    dim: str
    ways: tuple[Way, ...]
    reason: str

    @property
    def rest(self) -> tuple[CollectiveStep, ...]:
        """What is still done apart."""
        return tuple(step for i, step in enumerate(self.steps) if i != self.at)

    @property
    def seconds(self) -> Seconds:
        """Seconds of the fastest form, and of what is still done apart."""
        return self.ways[0].seconds + sum((step.seconds for step in self.rest), Fraction(0))

    @property
    def saving(self) -> Seconds:
        """How much sooner that is done."""
        return self.apart - self.seconds


def decompose(
    plan: Plan,
    cost: CostModel,
    *,
    form: Form | None = None,
    only_faster: bool = False,
    apart: Mapping[int, str] | None = None,
) -> tuple[Plan, tuple[Considered, ...]]:
    """A plan whose collectives and matmuls are done together where they can be.

    A matmul goes with one collective at most: the one with which it saves most.

    Args:
        plan: One after the other.
        cost: The closed forms.
        form: Only in this form; None: in the fastest.
        only_faster: Only where that takes less time than one after the other.
        apart: Collectives that stay as they are, by their index, each with the reason.

    Returns:
        The plan (itself, where nothing is done together), and each pair with its forms.

    Raises:
        PlanError: no pair can be done in the form asked for.
    """
    options = [_option(plan, pair, cost) for pair in pairs_of(plan)]
    if form is not None:
        options = _only(form, options)
    kept = apart or {}
    free = [o for o in options if o.ways and o.pair.collective not in kept]
    taken: dict[int, _Option] = {}
    for option in sorted(free, key=lambda one: -one.saving):
        used = {other.pair.matmul for other in taken.values()}
        if option.pair.matmul not in used and (option.saving > 0 or not only_faster):
            taken[option.pair.collective] = option
    made, new = _rebuilt(plan, taken, cost)
    return made, tuple(_considered(plan, option, taken, new, kept) for option in options)


def _only(form: Form, options: Sequence[_Option]) -> list[_Option]:
    """The options with one form only."""
    found = [
        option._replace(
            ways=tuple(way for way in option.ways if way.form is form),
            reason=f"it cannot be done in the form {form.value}" if option.ways else option.reason,
        )
        for option in options
    ]
    if any(option.ways for option in found):
        return found
    why = f"nothing in this plan can be done in the form {form.value}"
    known = list(dict.fromkeys(way.form.value for option in options for way in option.ways))
    if not known:
        raise PlanError(
            f"{why}: no AllGather or ReduceScatter along one ring, line or switch, and no "
            "AllReduce, goes with a matmul",
            "leave the form out, or overlap: async",
        )
    words = " or ".join([", ".join(known[:-1]), known[-1]] if len(known) > 1 else known)
    raise PlanError(why, f"choose {words}, or leave the form out")


def _option(plan: Plan, pair: Pair, cost: CostModel) -> _Option:
    step, matmul = plan.steps[pair.collective], plan.steps[pair.matmul]
    assert isinstance(step, CollectiveStep)
    assert isinstance(matmul, MatmulStep)
    nothing = _Option(pair, step.seconds + matmul.seconds, (step,), 0, "", (), pair.reason)
    if pair.reason:
        return nothing
    if step.kind is CollectiveKind.ALL_REDUCE:
        found = [(dim, ways(step, matmul, dim, cost)) for dim in pair.dims]
        dim, best = min((f for f in found if f[1]), key=lambda f: f[1][0].seconds, default=("", ()))
        reason = f"no part of {' or '.join(pair.dims)} divides evenly"
        return nothing._replace(dim=dim, ways=best, reason=reason)
    (dim,) = pair.dims
    steps: tuple[CollectiveStep, ...] = (step,)
    at = 0
    if len(step.call.group.segments) > 1:
        # a number for the value between the halves: any that no other value has
        steps = halves(step, dim, _fresh(plan) + pair.collective, cost)
        at = 1 if step.kind is CollectiveKind.ALL_GATHER else 0
    algorithm = cost.wanted.algorithm
    reason = f"no form has the algorithm {algorithm.value}" if algorithm else "no form fits"
    if steps[at].price.relation is not Relation.EQUAL:
        return nothing._replace(reason="steps share links, or their links differ")
    found_ways = ways(steps[at], matmul, dim, cost)
    return nothing._replace(steps=steps, at=at, dim=dim, ways=found_ways, reason=reason)


def _fresh(plan: Plan) -> int:
    """A number from which on no value has one."""
    made = (step.result.number for step in plan.steps)
    return 1 + max(*(value.number for _, value in plan.inputs), *made)


def _rebuilt(
    plan: Plan, taken: Mapping[int, _Option], cost: CostModel
) -> tuple[Plan, dict[int, int]]:
    """The plan with the steps that are taken, and where each old step stands."""
    if not taken:
        return plan, {index: index for index in range(len(plan.steps))}
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
    decomposed = []
    for index, option in sorted(taken.items()):
        way = option.ways[0]
        decomposed.append(
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
        )
    made = replace(
        plan,
        steps=tuple(steps),
        statements=tuple(statements),
        decomposed=tuple(decomposed),
    )
    return made, new


def _considered(
    plan: Plan,
    option: _Option,
    taken: Mapping[int, _Option],
    new: Mapping[int, int],
    kept: Mapping[int, str],
) -> Considered:
    index, matmul = option.pair.collective, option.pair.matmul
    step = plan.steps[index]
    assert isinstance(step, CollectiveStep)
    first = step.kind is CollectiveKind.ALL_GATHER
    text = f"{step.label}, then the matmul" if first else f"matmul, then {step.label}"
    return Considered(
        collective=new[index],
        matmul=new[matmul],
        given=index,
        text=text,
        apart=option.apart,
        ways=option.ways,
        chosen=option.ways[0].form if index in taken else None,
        why=_why(option, kept.get(index), is_taken=index in taken),
    )


def _why(option: _Option, kept: str | None, *, is_taken: bool) -> str:
    apart = format_seconds(option.apart)
    if not option.ways:
        return f"one after the other: {option.reason}"
    best = option.ways[0]
    seconds = format_seconds(option.seconds)
    name = best.form.value if best.form is not Form.CHUNKS else f"{best.parts} chunks"
    if is_taken:
        than = "instead of" if option.saving > 0 else "though it is no faster than"
        rest = "".join(f", with {one.label} ({format_seconds(one.seconds)})" for one in option.rest)
        return f"{name}{rest}: {seconds} {than} {apart} one after the other"
    if option.saving <= 0:
        return f"one after the other: {apart}; the fastest form, {name}, takes {seconds}"
    if kept is not None:
        return f"one after the other: {kept} ({name}: {seconds} instead of {apart})"
    return f"one after the other: the matmul goes with another collective ({name}: {seconds})"
