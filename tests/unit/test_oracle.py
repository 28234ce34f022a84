"""The data oracle: the numbers of a plan, and that wrong programs give wrong numbers or errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from shardsim.call import Call
from shardsim.collectives import Need, StepProgram, program_of
from shardsim.errors import InputErrors, ShardingError, ShardsimError, SimulationError
from shardsim.mesh import lay_mesh
from shardsim.notation import parse
from shardsim.oracle import execute, execute_all, movement
from shardsim.oracle.movement import exchange, run_collective
from shardsim.oracle.values import assemble, scatter
from shardsim.planner import CollectiveStep
from shardsim.sharding import ShardedArray, bind
from shardsim.topology import Coordinate
from shardsim.vocabulary import Algorithm, CollectiveKind, Dtype, Schedule, TransferKind
from tests.machines import call_on, collective_plan, machine, mesh_of, planned

GRID = machine((2, "ring"), (3, "line"))
EXTENTS = {"I": 6, "J": 12, "K": 6}
RNG = np.random.default_rng(11)
A, B = RNG.integers(-99, 99, (6, 12)), RNG.integers(-99, 99, (12, 6))
PRODUCT = "A[I_X, J_Y] · B[J_Y, K] -> C[I_X, K]"


# what comes out


def test_the_product_by_hand() -> None:
    plan = planned(
        "A[I, J_X] · B[J_X, K] -> C[I, K_X]", machine((2, "line")), dict.fromkeys("IJK", 2)
    )
    assert execute(plan, {"A": [[1, 2], [3, 4]], "B": [[5, 6], [7, 8]]}).tolist() == [
        [19, 22],
        [43, 50],
    ]


def test_all_statements_have_a_result() -> None:
    lines = [PRODUCT, "C[I, K] · B'[K_X, J] -> D[I, J_Y]", "AllGather_Y D[I, J_Y] -> E[I, J]"]
    right = RNG.integers(-9, 9, (6, 12))
    results = execute_all(planned(lines, GRID, EXTENTS), {"A": A, "B": B, "B'": right})
    assert [found.tolist() for found in results] == [
        (A @ B).tolist(),
        (A @ B @ right).tolist(),
        (A @ B @ right).tolist(),
    ]


def test_int8_inputs_do_not_overflow() -> None:
    """120 x -120 x 12 = -172800, and each product alone is beyond int8."""
    left, right = np.full((6, 12), 120, np.int8), np.full((12, 6), -120, np.int8)
    found = execute(planned(PRODUCT, GRID, EXTENTS), {"A": left, "B": right})
    assert found.dtype == np.int64
    assert (found == -172_800).all()
    ones = execute(planned(PRODUCT, GRID, EXTENTS), {"A": left > 0, "B": right < 0})
    assert (ones == 12).all()


def test_floats() -> None:
    """Quarters add exactly in binary, in any order."""
    found = execute(planned(PRODUCT, GRID, EXTENTS), {"A": A / 4, "B": B / 4})
    assert found.dtype == np.float64
    assert (found == (A @ B) / 16).all()


def test_not_a_number_is_the_same_on_all_chips() -> None:
    left = A / 4
    left[0, 0] = np.nan
    found = execute(planned("A[I, J] · B[J, K] -> C[I, K]", GRID, EXTENTS), {"A": left, "B": B})
    assert np.isnan(found[0]).all()
    assert (found[1:] == (left @ B)[1:]).all()


UNREDUCED = [
    "AllReduce_X A[I, J]{U_X} -> R[I, J]",
    "ReduceScatter_{Y,J} A[I_X, J]{U_Y} -> R[I_X, J_Y]",
    "AllReduce_XY A[I, J]{U_XY} -> R[I, J]",
    "AllReduce_Y A[I, J]{U_XY} -> R[I, J]{U_X}",
    "AllGather_Y A[I_Y, J]{U_X} -> R[I, J]{U_X}",
]


@pytest.mark.parametrize("statement", UNREDUCED)
def test_an_unreduced_input_is_given_as_its_sum(statement: str) -> None:
    plan = planned(statement, GRID, {"I": 6, "J": 12})
    assert (execute(plan, {"A": A}) == A).all()


def test_an_unreduced_result_is_summed() -> None:
    plan = planned("A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}", GRID, EXTENTS)
    assert [step.op for step in plan.steps] == ["matmul"]
    assert (execute(plan, {"A": A, "B": B}) == A @ B).all()


def test_axes_of_size_1() -> None:
    plan = planned("A[I_X, J_Y] · B[J_Y, K] -> C[I_X, K]{U_Y}", machine((2, "ring"), (1, "line")),
                   EXTENTS)  # fmt: skip
    assert (execute(plan, {"A": A, "B": B}) == A @ B).all()


# what may not go in

INPUTS = [
    ({"A": A}, [("input B is missing", "give an array of shape (12, 6)")]),
    (
        {"A": A, "B": B, "D": A},
        [("D is not an input of the plan; its inputs are A, B", "leave D out")],
    ),
    (
        {"A": A, "B": B[:, :5]},
        [
            (
                "dimension K is 5 in the array given for B; the plan was made for K=6",
                "give an array of shape (12, 6), or plan with other dims",
            )
        ],
    ),
    (
        {"A": A[0], "B": B},
        [("A has 1 dimensions; A[I_X, J_Y] has 2", "give an array of shape (6, 12)")],
    ),
    (
        {"A": 7, "C": A},
        [
            ("A has 0 dimensions; A[I_X, J_Y] has 2", "give an array of shape (6, 12)"),
            ("input B is missing", "give an array of shape (12, 6)"),
            ("C is not an input of the plan; its inputs are A, B", "leave C out"),
        ],
    ),
]


@pytest.mark.parametrize(("arrays", "faults"), INPUTS, ids=range(len(INPUTS)))
def test_inputs_that_do_not_fit(arrays: dict[str, object], faults: list[tuple[str, str]]) -> None:
    with pytest.raises((ShardingError, InputErrors)) as caught:
        execute(planned(PRODUCT, GRID, EXTENTS), arrays)  # type: ignore[arg-type]
    error = caught.value
    errors = error.errors if isinstance(error, InputErrors) else (error,)
    assert [(found.message, found.hint) for found in errors] == faults


# cutting and putting together


def sharded(text: str) -> ShardedArray:
    (operand, _) = parse(f"{text} · R[R] -> S[I, J, R]").operands  # type: ignore[union-attr]
    return bind(operand, mesh_of(GRID), EXTENTS, Dtype.INT64)


def test_shards_of_a_sharded_array() -> None:
    shards = scatter(A, sharded("A[I_X, J_Y]"))
    assert (shards[1, 2] == A[3:6, 8:12]).all()
    assert (shards[0, 1] == A[0:3, 4:8]).all()


def test_partial_sums_differ_and_add_up() -> None:
    shards = scatter(A, sharded("A[I, J]{U_Y}"))
    assert (shards[0, 0] + shards[0, 1] + shards[0, 2] == A).all()
    assert not (shards[0, 1] == shards[0, 2]).all()
    assert (assemble(shards, sharded("A[I, J]{U_Y}")) == A).all()


def test_replicas_that_disagree_are_found() -> None:
    """One element of one of three copies of a block."""
    shards = scatter(A, sharded("A[I_X, J]"))
    assert (assemble(shards, sharded("A[I_X, J]")) == A).all()
    shards[1, 2][0, 0] += 1
    with pytest.raises(SimulationError) as caught:
        assemble(shards, sharded("A[I_X, J]"))
    assert str(caught.value) == "chips (1, 0) and (1, 2) disagree on their block of A[I_X, J]"


def test_partial_sums_whose_total_disagrees_are_found() -> None:
    shards = scatter(A, sharded("A[I, J]{U_X}"))
    shards[0, 1][0, 0] += 1
    with pytest.raises(SimulationError, match=r"chips \(0, 0\) and \(0, 1\) disagree"):
        assemble(shards, sharded("A[I, J]{U_X}"))


# programs that are wrong

Change = Callable[[StepProgram], StepProgram]


def with_needs(program: StepProgram, change: Callable[[Need], Need | None]) -> StepProgram:
    lanes = tuple(
        replace(
            lane,
            sends=tuple(
                replace(send, needs=tuple(filter(None, map(change, send.needs))))
                for send in lane.sends
            ),
        )
        for lane in program.lanes
    )
    return replace(program, lanes=lanes)


def weaker(program: StepProgram) -> StepProgram:
    """Every send waits for one message less."""
    return with_needs(
        program, lambda need: Need(need.channel, need.count - 1) if need.count > 1 else None
    )


def stronger(program: StepProgram) -> StepProgram:
    """Every send that waits waits for one message more than ever comes."""
    return with_needs(program, lambda need: Need(need.channel, 99))


def same(program: StepProgram) -> StepProgram:
    return program


def moved(kind: CollectiveKind, dimension: str, change: Change, order: int, scale: int = 1) -> bool:
    """Whether a collective over 4 chips with changed programs still gives the right numbers.

    `order` is which of the chips that may send goes next: the first (0) or the last (-1).
    """
    (step,) = collective_plan(kind, 4, dimension, 2).steps
    assert isinstance(step, CollectiveStep)
    value = scale * RNG.integers(-99, 99, step.operand.sharded.extents)
    shards = scatter(value, step.operand.sharded)
    changed = mock.patch.object(
        movement, "program_of", lambda call, chip: change(program_of(call, chip))
    )
    (members,) = step.call.group.instances
    with changed:
        after = run_collective(step, members, shards, lambda ready: ready[order])
    try:
        found = assemble(after, step.result.sharded)
    except SimulationError:
        return False
    return bool((found == value).all())


@pytest.mark.parametrize("dimension", ["ring", "line"])
@pytest.mark.parametrize("kind", CollectiveKind)
def test_needs_that_are_too_weak_are_found(kind: CollectiveKind, dimension: str) -> None:
    """With the true needs any order is right; with weaker ones some order is wrong."""
    assert moved(kind, dimension, same, 0)
    assert moved(kind, dimension, same, -1)
    assert not (moved(kind, dimension, weaker, 0) and moved(kind, dimension, weaker, -1))


@pytest.mark.parametrize("kind", CollectiveKind)
def test_at_a_switch(kind: CollectiveKind) -> None:
    """Direct sends wait for nothing, but in an AllReduce, whose sums must be whole."""
    assert moved(kind, "switch", same, 0)
    assert moved(kind, "switch", same, -1)
    both = moved(kind, "switch", weaker, 0) and moved(kind, "switch", weaker, -1)
    assert both == (kind is not CollectiveKind.ALL_REDUCE)


@pytest.mark.parametrize("dimension", ["ring", "line"])
@pytest.mark.parametrize("kind", CollectiveKind)
def test_a_deadlock_is_an_error(kind: CollectiveKind, dimension: str) -> None:
    with pytest.raises(SimulationError, match=r"^deadlock in .* lanes wait for each other$"):
        moved(kind, dimension, stronger, 0)


def test_the_text_of_a_deadlock() -> None:
    """Four chips have two lanes each, and the second message of each waits for ever."""
    with pytest.raises(SimulationError) as caught:
        moved(CollectiveKind.ALL_GATHER, "ring", stronger, 0)
    assert str(caught.value) == ("deadlock in all_gather: 8 lanes wait for each other")


def test_a_block_sent_before_it_has_come_is_rubbish() -> None:
    """A chip that sends another's block at once sends what was never there."""

    def early(program: StepProgram) -> StepProgram:
        return with_needs(program, lambda need: None)

    assert not moved(CollectiveKind.ALL_GATHER, "ring", early, 0)
    assert not moved(CollectiveKind.ALL_TO_ALL, "line", early, 0)
    # not even zeros come out right by luck
    assert moved(CollectiveKind.ALL_GATHER, "ring", same, 0, scale=0)
    assert not moved(CollectiveKind.ALL_GATHER, "ring", early, 0, scale=0)


def test_a_lost_message_is_found() -> None:
    def short(program: StepProgram) -> StepProgram:
        return replace(
            program, lanes=tuple(replace(lane, sends=lane.sends[:1]) for lane in program.lanes)
        )

    for kind in CollectiveKind:
        for dimension in ("ring", "line", "switch"):
            assert not moved(kind, dimension, short, 0)


# other transfers, block by block


def exchanged(call: Call) -> dict[Coordinate, dict[Coordinate, list[int]]]:
    """What each chip has of each block afterwards: 12 numbers that tell the block's owner."""
    group = call.group
    found: dict[Coordinate, dict[Coordinate, list[int]]] = {}
    for members in group.instances:
        blocks: dict[Coordinate, dict[tuple[int, ...], NDArray[Any]]] = {
            chip: {
                group.place(owner): np.full(12, number if owner == chip else -1)
                for number, owner in enumerate(members)
            }
            for chip in members
        }
        exchange(call, members, blocks, lambda ready: ready[-1])
        for chip in members:
            found[chip] = {
                owner: sorted(set(blocks[chip][group.place(owner)].tolist())) for owner in members
            }
    return found


@pytest.mark.parametrize("kind", ["ring", "line", "switch"])
@pytest.mark.parametrize("shift", [1, 2, 4])
def test_a_shift_brings_the_block_of_the_chip_so_many_places_below(kind: str, shift: int) -> None:
    found = exchanged(call_on(machine((5, kind)), TransferKind.PERMUTE, 1, shift=shift))
    for at in range(5):
        has = {owner[0] for owner, values in found[at,].items() if values != [-1]}
        assert has == {at, (at - shift) % 5}
        assert found[at,][(at - shift) % 5,] == [(at - shift) % 5]


@pytest.mark.parametrize("chunks", [1, 5])
def test_a_send_brings_the_first_chip_s_block_to_the_last(chunks: int) -> None:
    found = exchanged(call_on(machine((4, "line")), TransferKind.SEND, 1, chunks=chunks))
    assert found[3,][0,] == [0]


GATHERED = [
    ([(5, "ring")], {}),
    ([(6, "ring")], {"algorithm": Algorithm.HALF_SHARDS}),
    ([(5, "line")], {}),
    ([(4, "switch")], {}),
    ([(3, "ring"), (4, "line")], {}),
    ([(4, "ring"), (2, "switch"), (2, "line")], {"schedule": Schedule.ROTATED, "chunks": 2}),
]


@pytest.mark.parametrize(("dimensions", "more"), GATHERED)
def test_a_gather_brings_everything_to_one_chip(
    dimensions: list[tuple[int, str]], more: dict[str, Any]
) -> None:
    for root in (0, 3):
        call = call_on(machine(*dimensions), TransferKind.GATHER, 1, root=root, **more)
        found = exchanged(call)
        (members,) = call.group.instances
        assert found[members[root]] == {owner: [n] for n, owner in enumerate(members)}


def test_a_switch_that_adds_gives_the_sum_to_all() -> None:
    topology = machine((4, "switch"), reduces=True)
    plan = planned(
        "AllReduce_X A[I]{U_X} -> A[I]", topology, {"I": 25},
        algorithm=Algorithm.IN_NETWORK, chunks=3,
    )  # fmt: skip
    array = np.arange(25) - 9
    assert (execute(plan, {"A": array}) == array).all()


# several axes at once

LAYOUTS = [
    # both orders of the axes: what is gathered is put together as the notation says
    "AllGather_XY A[I_XY, J] -> R[I, J]",
    "AllGather_YX A[I_YX, J] -> R[I, J]",
    "AllGather_XY A[I_X, J_Y] -> R[I, J]",
    "ReduceScatter_{XY,J} A[I, J]{U_XY} -> R[I, J_XY]",
    "ReduceScatter_{YX,J} A[I, J]{U_XY} -> R[I, J_YX]",
    "AllToAll_{XY,J} A[I_XY, J] -> R[I, J_XY]",
]
MESHES: list[tuple[list[tuple[int, str]], dict[str, Any]]] = [
    ([(2, "ring"), (3, "line")], {}),
    ([(2, "switch"), (3, "ring")], {}),
    ([(6, "ring")], {"sizes": {"X": 2, "Y": 3}}),
    ([(6, "line")], {"sizes": {"X": 3, "Y": 2}}),
    ([(6, "ring")], {"sizes": {"X": 2, "Y": 3}, "layout": {"Y": "x:(1)3", "X": "x:(3)2"}}),
    ([(6, "switch")], {"sizes": {"X": 2, "Y": 3}}),
]


@pytest.mark.parametrize(("dimensions", "laid"), MESHES)
@pytest.mark.parametrize("statement", LAYOUTS)
def test_several_axes_at_once(
    statement: str, dimensions: list[tuple[int, str]], laid: dict[str, Any]
) -> None:
    topology = machine(*dimensions)
    plan = planned(statement, topology, {"I": 6, "J": 12}, mesh=lay_mesh(topology, **laid))
    assert [step.text for step in plan.steps] == [str(parse(statement))]
    assert (execute(plan, {"A": A}) == A).all()


@pytest.mark.parametrize(
    ("plan", "arrays", "message"),
    [
        ("A[I] · B[I] -> C[I]", {}, "execute takes a Plan, not a str"),
        (None, {}, "execute takes a Plan, not a NoneType"),
        (
            planned(PRODUCT, GRID, EXTENTS),
            None,
            "execute takes a mapping of arrays by name, not a NoneType",
        ),
    ],
)
def test_other_things_than_a_plan_and_arrays(plan: Any, arrays: Any, message: str) -> None:
    with pytest.raises(ShardsimError) as caught:
        execute(plan, arrays)
    assert caught.value.message == message


def test_copies_of_a_block_hold_equal_partial_sums() -> None:
    sharded = bind(
        parse("A[I_X] * B[I_X]{U_Z} -> C[I_X]{U_Z}").operands[1],  # type: ignore[union-attr]
        mesh_of(machine((2, "line"), (3, "line"), (2, "ring"))),
        {"I": 4},
        Dtype.BF16,
    )
    shards = scatter(np.arange(4), sharded)
    for x, z in ((x, z) for x in range(2) for z in range(2)):
        assert shards[x, 0, z].tolist() == shards[x, 1, z].tolist() == shards[x, 2, z].tolist()
    assert shards[0, 0, 0].tolist() != shards[0, 0, 1].tolist()


@pytest.mark.parametrize(
    "text", ["AllReduce_X A[I, J]{U_X} -> A[I, J]", "A[I, J]{U_X} -> B[I_Y, J]"]
)
def test_copies_of_a_float_block_round_alike(text: str) -> None:
    """Sums of these round; `execute` raises where two copies of a block differ in a bit."""
    plan = planned(text, machine((4, "line"), (4, "ring")), {"I": 8, "J": 8})
    array = RNG.normal(size=(8, 8))
    first, second = execute(plan, {"A": array}), execute(plan, {"A": array})
    assert first.dtype == np.float64
    assert np.array_equal(first, second)
