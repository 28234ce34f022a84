"""The other ways to do what a plan does, and where they would be better, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from shardsim.planner import CollectiveStep, SliceStep
from shardsim.report.parts import SIGNS, Sentence, StepText, new_table, title
from shardsim.units import format_bytes, format_flops, format_seconds
from shardsim.vocabulary import Objective, Relation, TransferKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from shardsim.planner import Alternative, Choice, Plan, Step
    from shardsim.planner.choices import Balance, Flip, Stretch

__all__ = ["balance_sentences", "cheaper", "shown", "turning_points", "ways"]

MOST_ALTERNATIVES = 6
LONG_LABEL = 60
"""A longer name of the plan is said once, not in every line."""


def shown(step: Step) -> str:
    """A step in the notation; slices and permutes look like no other step, so they are named."""
    if isinstance(step, SliceStep):
        return f"slice {step.text}"
    if isinstance(step, CollectiveStep) and step.kind is TransferKind.PERMUTE:
        return f"permute {step.text}"
    return step.text


def cheaper(plan: Plan, objective: Objective) -> list[RenderableType]:
    """Where the plan taken is not the cheapest, that is said."""
    lines: list[RenderableType] = []
    for choice in plan.first_choices:
        best, chosen = choice.alternatives[0], choice.chosen
        match objective:
            case Objective.TIME:
                before, after = chosen.estimate, best.estimate
                gain = (
                    "less time, step after step, with policy cheapest: "
                    f"{format_seconds(before)} to {format_seconds(after)}"
                )
            case Objective.BYTES:
                before, after = chosen.wire_bytes, best.wire_bytes
                gain = (
                    "fewer bytes per chip with policy cheapest: "
                    f"{format_bytes(before)} to {format_bytes(after)}"
                )
            case Objective.MEMORY:
                continue
        if 200 * (before - after) > before:
            lines.append(Sentence(f"{float(1 - after / before):.0%} {gain}"))
            lines += [Padding(StepText(shown(step)), (0, 0, 0, 5)) for step in best.steps]
    return lines


def turning_points(plan: Plan) -> list[RenderableType]:
    """For which extents the way taken is the best, and where something else binds."""
    several = len(plan.first_choices) > 1
    lines: list[RenderableType] = []
    for choice in plan.first_choices:
        sentences = list(_turning_points(choice))
        if several and sentences:
            lines.append(Sentence(choice.text))
        indent = 2 if several else 0
        lines += [Padding(Sentence(one), (0, 0, 0, indent)) for one in sentences]
    return [title("Where that changes, all else as it is"), *lines] if lines else []


def _turning_points(choice: Choice) -> Iterator[str]:
    flips = choice.flips
    label = choice.chosen.label
    if len(label) > LONG_LABEL and flips:
        yield f"this plan: {label}"
        label = "this plan"
    for flip in flips:
        yield f"{label} {_holds(flip)}"
    for balance in choice.balances():
        yield from balance_sentences(balance)


def _holds(flip: Flip) -> str:
    dim = flip.dim
    below = "" if flip.below is None else f"below, {flip.below.label}"
    above = "" if flip.above is None else f"above, {flip.above.label}"
    if flip.high is None:
        return f"wins while {dim} >= {flip.low:,}; {below}"
    if flip.low is None:
        return f"wins while {dim} <= {flip.high:,}; {above}"
    return f"wins from {dim} = {flip.low:,} to {flip.high:,}; {below}; {above}"


def balance_sentences(balance: Balance) -> Iterator[str]:
    """For which extents a plan is bound by communication, by the closed forms and by the book's."""
    dim, exact, book = balance.dim, balance.exact, balance.book
    texts, by_book = _bounds(exact), _bounds(book)
    if exact.talks == book.talks and by_book and list(texts) == list(by_book):
        numbers = " to ".join(by_book.values())
        yield f"{_said(exact)} {_while(dim, texts)} ({numbers} by the book's formulas)"
        return
    if texts:
        yield f"{_said(exact)} {_while(dim, texts)}"
    if by_book:
        always = "always" if exact.talks == book.talks else "never"
        exactly = "" if texts else f" (exactly: {always})"
        yield f"by the book's formulas, {_said(book)} {_while(dim, by_book)}{exactly}"


def _said(stretch: Stretch) -> str:
    return "communication-bound" if stretch.talks else "compute-bound"


def _bounds(stretch: Stretch) -> dict[str, str]:
    """The ends of a stretch with their signs."""
    low, high = stretch.low, stretch.high
    if low is not None and high is not None:
        return {"from": f"{low:,}", "to": f"{high:,}"}
    if low is not None:
        return {">": f"{low - 1:,}"} if stretch.talks else {">=": f"{low:,}"}
    if high is not None:
        return {"<": f"{high + 1:,}"} if stretch.talks else {"<=": f"{high:,}"}
    return {}


def _while(dim: str, bounds: Mapping[str, str]) -> str:
    if len(bounds) == 2:
        return f"from {dim} = {bounds['from']} to {bounds['to']}"
    ((sign, number),) = bounds.items()
    return f"while {dim} {sign} {number}"


def ways(plan: Plan) -> list[RenderableType]:
    """For each choice a table of the ways to do it."""
    parts: list[RenderableType] = []
    for choice in plan.first_choices:
        found, taken = choice.alternatives, choice.chosen
        if len(found) > 1:
            some = [way for i, way in enumerate(found) if i < MOST_ALTERNATIVES or way is taken]
            parts += [title(f"Ways to do {choice.text}"), _table(some, taken)]
            if any(way.estimate != way.seconds for way in some):
                parts.append(Sentence("~ is likely: for a step there is only a lower bound"))
            if len(found) > len(some):
                parts.append(Sentence(f"and {len(found) - len(some)} more (--json has them)"))
    return parts


def _table(some: Sequence[Alternative], taken: Alternative) -> Table:
    table = new_table("", "exact", "wire/chip", "FLOPs/chip", "4 rules", "steps")
    for column in table.columns[1:4]:
        column.justify = "right"
        column.no_wrap = True
    for way in some:
        table.add_row(
            Text("taken" if way is taken else ""),
            Text(_time(way)),
            Text(format_bytes(way.wire_bytes)),
            Text(format_flops(way.flops) if way.flops else ""),
            Text("yes" if way.textbook else "no"),
            Group(*(StepText(shown(step)) for step in way.steps)),
        )
    return table


def _time(way: Alternative) -> str:
    if way.estimate != way.seconds:
        return f"~ {format_seconds(way.estimate)}"
    found = {s.price.relation for s in way.steps if isinstance(s, CollectiveStep)}
    stated = (Relation.LOWER_BOUND, Relation.UPPER_BOUND, Relation.LIMIT)
    relation = next((one for one in stated if one in found), Relation.EQUAL)
    return SIGNS[relation] + format_seconds(way.seconds)
