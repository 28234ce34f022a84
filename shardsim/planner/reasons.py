"""Why a contraction is done as it is: rules, orders, what is idle, and what else would cost."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from shardsim.planner.steps import CollectiveStep, MatmulStep
from shardsim.units import format_bytes, format_flops, format_seconds
from shardsim.vocabulary import Objective, Policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.planner.choices import Alternative
    from shardsim.planner.choosing import Contracting
    from shardsim.planner.contraction import Tree

__all__ = ["reasons_for"]

NONLINEAR = "; where a function comes between two dots, give each dot a line of its own"
MOST_AXES = 3
"""With more axes in the mesh, what the unused ones could do is not looked for."""


def reasons_for(made: Contracting) -> tuple[str, ...]:
    """Why the way taken is taken."""
    chosen = made.chosen
    assert chosen is not None
    return (
        *_axes(made),
        *_crowded(made, chosen),
        *_order(made, chosen),
        *_open_result(made, chosen),
        *_repeated(made, chosen),
        *_departure(made, chosen),
        *_wide(made, chosen),
        *_unused(made, chosen),
    )


def _axes(made: Contracting) -> Iterator[str]:
    """The rule for each axis in play, and which axes are not used."""
    atoms = made.coarse.space.atoms
    for axis, size in made.prices.mesh.sizes.items():
        if size == 1:
            continue
        if axis not in atoms.parts:
            yield f"{axis}: not used: its {size} chips all do the same work"
        elif made.rules is not None:
            yield from made.rules.reasons(atoms.parts[axis], atoms)


def _crowded(made: Contracting, chosen: Alternative) -> Iterator[str]:
    if made.is_crowded and chosen is made.textbook:
        count = len(made.coarse.space.atoms.names)
        yield f"with {count} axes in play, only plans by these rules are looked for"


def _order(made: Contracting, chosen: Alternative) -> Iterator[str]:
    """In which order several operands are multiplied, and what that gains."""
    if len(made.operands) == 2:
        return
    for name, dim in made.same_dims.items():
        yield f"{name} is {dim} once more: {dim} is summed at a dot, and used again after it"
    if made.best is not None and chosen is made.cheapest:
        tree = made.fine.tree(made.best)
        more = "" if _is_left_to_right(tree) else NONLINEAR
        yield f"multiplied in the order {_tree_text(tree, made.names)}{more}"
    made_in = [step.result.sharded.array for step in chosen.steps if isinstance(step, MatmulStep)]
    products = " and ".join(map(str, made_in[:-1]))
    yield f"{products} on the way: the layouts of all products are chosen together"
    greedy = made.dot_by_dot
    if greedy is not None and greedy.estimate > chosen.estimate:
        yield (
            "from left to right, each dot the cheapest by itself, it would take "
            f"{format_seconds(greedy.estimate)} instead of {format_seconds(chosen.estimate)}"
        )


def _is_left_to_right(tree: Tree) -> bool:
    while not isinstance(tree, int):
        tree, right = tree
        if not isinstance(right, int) or (isinstance(tree, int) and tree > right):
            return False
    return True


def _tree_text(tree: Tree, names: tuple[str, ...]) -> str:
    if isinstance(tree, int):
        return names[tree]
    left, right = (_part_text(part, names) for part in tree)
    return f"{left} · {right}"


def _part_text(tree: Tree, names: tuple[str, ...]) -> str:
    return names[tree] if isinstance(tree, int) else f"({_tree_text(tree, names)})"


def _open_result(made: Contracting, chosen: Alternative) -> Iterator[str]:
    if made.is_open and not made.is_local:
        array = chosen.steps[-1].result.sharded.array
        by_rules = made.policy is Policy.TEXTBOOK and chosen is made.textbook
        least = "costs least of the plans by the rules" if by_rules else "costs least"
        yield f"the sharding of {array.name} is left open: {array} {least}"


def _repeated(made: Contracting, chosen: Alternative) -> Iterator[str]:
    """Axes in play that are idle in a matmul of the plan, so that chips do the same."""
    sizes = made.prices.mesh.sizes
    for step in chosen.steps:
        if not isinstance(step, MatmulStep):
            continue
        arrays = [value.sharded.array for value in (*step.operands, step.result)]
        used = {axis.split(":")[0] for a in arrays for axis in (*a.axes, *a.unreduced)}
        idle = [axis for axis in made.coarse.space.atoms.parts if axis not in used]
        if idle:
            count = math.prod(sizes[axis] for axis in idle)
            yield (
                f"{' and '.join(idle)}: idle in the matmul: {count} chips do the same "
                f"{format_flops(step.flops)} each"
            )


def _departure(made: Contracting, chosen: Alternative) -> Iterator[str]:
    """What the rules would cost, where the plan is not by them."""
    textbook = made.textbook
    if made.rules is None or chosen.textbook:
        return
    if textbook is None:
        yield "no plan by these rules cuts every extent evenly, so it departs from them"
        return
    match made.objective:
        case Objective.TIME:
            before, after, told = textbook.estimate, chosen.estimate, format_seconds
        case Objective.BYTES:
            before, after, told = textbook.wire_bytes, chosen.wire_bytes, format_bytes
        case Objective.MEMORY:
            before, after, told = made.held(textbook), made.held(chosen), format_bytes
    if 100 * after < 99 * before:
        cost = f"which would cost {told(before)} instead of {told(after)}"
    else:
        cost = f"which would cost hardly more than {told(after)}"
    yield f"the plan departs from these rules, {cost}"


def _wide(made: Contracting, chosen: Alternative) -> Iterator[str]:
    """Operands that move in a wider type than the one they are multiplied with."""
    operands = {value.sharded.array.name: value.sharded.dtype for value in made.operands}
    if any(dtype.is_integer for dtype in operands.values()):
        return  # to make integers of floats is another matter than a cast
    narrowest = min(operands.values(), key=lambda dtype: dtype.bytes)
    for step in chosen.steps:
        if not isinstance(step, CollectiveStep):
            continue
        dtype = operands.get(step.operand.sharded.array.name)
        if dtype is not None and dtype.bytes > narrowest.bytes:
            size = step.size * narrowest.bytes / dtype.bytes
            call = step.call
            again = made.prices.cost.call(call.kind, call.group, size, call.permutation)
            less = made.prices.cost.collective(again).estimate
            yield (
                f"{step.label} moves {dtype}: cast to {narrowest} before, it would take "
                f"{format_seconds(less)} instead of {format_seconds(step.price.estimate)}"
            )


def _unused(made: Contracting, chosen: Alternative) -> Iterator[str]:
    """What could be gained by axes that no array names."""
    sizes = {axis: size for axis, size in made.prices.mesh.sizes.items() if size > 1}
    unused = [axis for axis in sizes if axis not in made.coarse.space.atoms.parts]
    is_asked = made.objective is Objective.TIME and not made.is_local
    if not unused or not is_asked or len(sizes) > MOST_AXES:
        return
    better = replace(made, everywhere=True).cheapest
    if better is not None and 100 * better.estimate < 99 * chosen.estimate:
        yield (
            f"cutting over {' and '.join(unused)} too, it would take "
            f"{format_seconds(better.estimate)}: {better.label}"
        )
