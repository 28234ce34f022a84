"""Whether step programs bring real numbers to where they belong."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from shardsim.collectives import program_of
from shardsim.cost import CostModel, Wanted
from shardsim.errors import SimulationError
from shardsim.notation import Array, Collective, Dim
from shardsim.oracle import execute_all
from shardsim.planner import make_plan
from shardsim.program import bind_program
from shardsim.verification.machine import reduced
from shardsim.verification.records import Breach, NotChecked, Side
from shardsim.vocabulary import CollectiveKind

if TYPE_CHECKING:
    from random import Random

    from shardsim.mesh import Mesh
    from shardsim.verification.cases import Case
    from shardsim.verification.machine import Machine

__all__ = ["MOST_WORK", "numbers_arrive", "work_of"]

MOST_WORK = 600_000
"""Turns looked at in one run: sends times lanes, of one group after the other."""

TOO_LARGE = "too large for real numbers"


def work_of(case: Case, mesh: Mesh) -> int:
    """About how much work it is to move a case's numbers."""
    call = case.call(reduced(mesh.group(case.axes)) or mesh)
    chips = list(call.group.chips)
    groups = len(chips) // call.group.size
    if call.group.size > 512:
        return MOST_WORK + 1
    lanes = program_of(call, chips[len(chips) // 2]).lanes
    sends = sum(len(lane.sends) for lane in lanes)
    return groups * call.group.size**2 * sends * len(lanes)


def numbers_arrive(machine: Machine, case: Case, rng: Random) -> Breach | None:
    """Whether a collective on whole numbers gives the array that it stands for.

    The array before is spread over the chips (as partial sums, where it is to be summed); put
    together again, the array after must be the same one. Chips send in a random order.

    Raises:
        NotChecked: it is too large.
    """
    if work_of(case, machine.mesh) > MOST_WORK:
        raise NotChecked(TOO_LARGE)
    mesh = reduced(machine.mesh.group(case.axes)) or machine.mesh
    n = mesh.ways(case.axes)
    array = Array(name="A", dims=(Dim("I"), Dim("J")))
    dim = None
    match case.kind:
        case CollectiveKind.ALL_GATHER:
            array = array.with_axes("I", case.axes)
        case CollectiveKind.REDUCE_SCATTER:
            array, dim = array.with_unreduced(case.axes), "I"
        case CollectiveKind.ALL_REDUCE:
            array = array.with_unreduced(case.axes)
        case _:
            array, dim = array.with_axes("I", case.axes), "J"
    statement = Collective.of(case.kind, case.axes, array, dim)  # type: ignore[arg-type]
    wide = n if case.kind is CollectiveKind.ALL_TO_ALL else 1
    shape = {"I": n * rng.randint(1, 3), "J": wide * rng.randint(1, 3)}
    numbers = [[rng.randint(-999, 999) for _ in range(shape["J"])] for _ in range(shape["I"])]
    cost = CostModel(case.latency_model, Wanted(case.algorithm, case.schedule, case.chunks))
    plan = make_plan(bind_program((statement,), mesh, shape), cost)
    left = Side("numbers that arrive", None, "", case.command(machine))
    try:
        found: Any = execute_all(plan, {"A": numbers}, pick=rng.choice)[-1].tolist()
    except SimulationError as error:
        why = str(error).splitlines()[0]
        return Breach(left, "==", Side(f"{statement}: {why}", None, ""))
    if found == numbers:
        return None
    wrong = sum(
        one != other
        for row, mine in zip(found, numbers, strict=True)
        for one, other in zip(row, mine, strict=True)
    )
    total = math.prod(shape.values())
    return Breach(left, "==", Side(f"{statement}: {wrong} of {total} are wrong", None, ""))
