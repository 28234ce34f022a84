"""Law: every plan, run through its step programs on real integers, gives numpy's answer."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.cost import CostModel
from shardsim.mesh import lay_mesh
from shardsim.notation import Array, Contraction, Dim
from shardsim.oracle import execute, execute_all
from shardsim.planner import make_plan
from shardsim.program import bind_program
from shardsim.topology import Topology
from shardsim.vocabulary import Algorithm, CollectiveKind, IdleAxes, Objective, Policy
from tests.machines import RING_ALGORITHMS, collective_plan, machine, mesh_of, planned
from tests.strategies import programs

RNG = np.random.default_rng(7)


def placements(dims: str, axes: str) -> list[str]:
    """All shardings of an array, every order of two axes on one dimension included."""
    found = []
    for places in itertools.product(["", *dims], repeat=len(axes)):
        on = [[a for a, p in zip(axes, places, strict=True) if p == dim] for dim in dims]
        for orders in itertools.product(*(itertools.permutations(some) for some in on)):
            subscripts = ["_" + "".join(order) if order else "" for order in orders]
            found.append(", ".join(map("".join, zip(dims, subscripts, strict=True))))
    return found


def matmuls(axes: str) -> list[str]:
    return [
        f"A[{a}] · B[{b}] -> C[{c}]"
        for a in placements("IJ", axes)
        for b in placements("JK", axes)
        for c in placements("IK", axes)
    ]


def test_there_are_so_many_placements() -> None:
    assert len(matmuls("X")) == 27
    assert len(matmuls("XY")) == 1331


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("kind", ["ring", "line"])
def test_every_placement_on_one_axis(kind: str, policy: Policy) -> None:
    topology = machine((4, kind))
    a, b = RNG.integers(-99, 99, (8, 12)), RNG.integers(-99, 99, (12, 4))
    for text in matmuls("X"):
        plan = planned(text, topology, {"I": 8, "J": 12, "K": 4}, policy=policy)
        assert np.array_equal(execute(plan, {"A": a, "B": b}), a @ b), text


@pytest.mark.fixed
@pytest.mark.parametrize("part", range(4))
def test_every_placement_on_two_axes(part: int) -> None:
    topology = machine((4, "ring"), (2, "line"))
    a, b = RNG.integers(-99, 99, (8, 16)), RNG.integers(-99, 99, (16, 24))
    for text in matmuls("XY")[part::4]:
        plan = planned(text, topology, {"I": 8, "J": 16, "K": 24})
        assert np.array_equal(execute(plan, {"A": a, "B": b}), a @ b), text


@pytest.mark.fixed
@pytest.mark.parametrize("part", range(2))
def test_every_placement_on_two_axes_alike(part: int) -> None:
    """Of one switch, where any two chips may exchange blocks."""
    mesh = lay_mesh(machine((4, "switch")), {"X": 2, "Y": 2})
    a, b = RNG.integers(-99, 99, (4, 8)), RNG.integers(-99, 99, (8, 12))
    for text in matmuls("XY")[part::2]:
        plan = planned(text, mesh.topology, {"I": 4, "J": 8, "K": 12}, mesh=mesh)
        assert np.array_equal(execute(plan, {"A": a, "B": b}), a @ b), text


EINSUMS = {
    "matmul": (["IJ", "JK"], "IK", ("J",)),
    "batched": (["BIJ", "BJK"], "BIK", ("J",)),
    "scores": (["BTNH", "BSNH"], "BNTS", ("H",)),
    "attention": (["BTNH", "BSNH", "BSNE", "NED"], "BTD", ("H",), ("S",), ("N", "E")),
}


def placed(rng: random.Random, name: str, dims: str, axes: str) -> Array:
    """An array in any layout."""
    where = {axis: rng.choice([None, *dims]) for axis in rng.sample(axes, len(axes))}
    return Array(
        name=name,
        dims=tuple(Dim(d, tuple(a for a, at in where.items() if at == d)) for d in dims),
    )


@pytest.mark.fixed
@pytest.mark.parametrize("kind", ["ring", "line", "switch"])
@pytest.mark.parametrize(
    ("name", "sizes", "count"),
    [
        ("matmul", (2, 2, 2), 60),
        ("matmul", (4, 2, 3), 40),
        ("batched", (4, 2), 60),
        ("scores", (4, 2), 40),
        ("attention", (2, 2), 20),
    ],
)
def test_random_placements(name: str, sizes: tuple[int, ...], count: int, kind: str) -> None:
    operands, result, *summed = EINSUMS[name]
    topology = machine(*((size, kind) for size in sizes))
    axes = "XYZ"[: len(sizes)]
    rng = random.Random(f"{name} {sizes} {kind}")
    extents = {dim: 24 if len(operands) < 3 else 4 for dims in operands for dim in dims}
    arrays = [RNG.integers(-4, 5, [extents[dim] for dim in dims]) for dims in operands]
    expected = np.einsum(f"{','.join(operands)}->{result}", *arrays, optimize=True)
    for _ in range(count):
        statement = Contraction(
            operands=tuple(placed(rng, n, d, axes) for n, d in zip("ABCE", operands, strict=False)),
            result=placed(rng, "R", result, axes),
            contracted=tuple(summed),
        )
        program = bind_program((statement,), mesh_of(topology), extents)
        objective = rng.choice([Objective.TIME, Objective.BYTES])
        idle = rng.choice(list(IdleAxes))
        plan = make_plan(program, CostModel(), objective=objective, idle_axes=idle)
        found = execute(plan, dict(zip("ABCE", arrays, strict=False)))
        assert np.array_equal(found, expected), str(statement)


@given(
    st.sampled_from(matmuls("XY")), st.sampled_from(Policy), st.sampled_from(Objective),
    st.sampled_from([None, *RING_ALGORITHMS]),
)  # fmt: skip
def test_policy_objective_and_algorithm_do_not_change_the_answer(
    text: str, policy: Policy, objective: Objective, algorithm: Algorithm | None
) -> None:
    topology = machine((4, "ring"), (3, "ring"))
    plan = planned(
        text,
        topology,
        {"I": 12, "J": 24, "K": 12},
        policy=policy,
        objective=objective,
        algorithm=algorithm,
    )
    a, b = RNG.integers(-99, 99, (12, 24)), RNG.integers(-99, 99, (24, 12))
    assert np.array_equal(execute(plan, {"A": a, "B": b}), a @ b)


@given(programs())
def test_chains_of_matmuls(case: tuple[list[str], Topology, dict[str, int]]) -> None:
    plan = planned(*case)
    arrays = {name: RNG.integers(-9, 9, value.sharded.extents) for name, value in plan.inputs}
    results = execute_all(plan, arrays)
    value = arrays["H0"]
    for index, result in enumerate(results):
        value = value @ arrays[f"W{index}"]
        assert np.array_equal(result, value)


BATCHED = [
    ("Q[B, N, T, H] ·_H K[B, N, S, H] -> S[B, N, T, S]", "bnth,bnsh->bnts"),
    ("Q[B_X, N_Y, T, H] · K[B_X, N_Y, S, H] -> L[B_X, N_Y, T, S]", "bnth,bnsh->bnts"),
    ("Q[B_X, N, T_Y, H] · K[B, N_X, S, H_Y] -> L[B, N_YX, T, S]", "bnth,bnsh->bnts"),
    ("Q[B, N, T_XY, H] · K[B_YX, N, S, H] -> L[S_X, N, T, B_Y]", "bnth,bnsh->sntb"),
]


@pytest.mark.parametrize(("text", "subscripts"), BATCHED)
def test_batched_contractions(text: str, subscripts: str) -> None:
    sizes = {"B": 8, "N": 8, "T": 16, "S": 24, "H": 4}
    plan = planned(text, machine((4, "ring"), (2, "line")), sizes)
    q, k = RNG.integers(-9, 9, (8, 8, 16, 4)), RNG.integers(-9, 9, (8, 8, 24, 4))
    names = [name for name, _ in plan.inputs]
    assert np.array_equal(execute(plan, dict(zip(names, (q, k), strict=True))),
                          np.einsum(subscripts, q, k))  # fmt: skip


def test_every_reshard_on_two_axes() -> None:
    """From every sharding to every other, also from partial sums; each step keeps the values."""
    topology = machine((4, "ring"), (2, "line"))
    array = RNG.integers(-99, 99, (8, 24))
    before = [(dims, "") for dims in placements("IJ", "XY")]
    before += [(dims, "{U_Y}") for dims in placements("IJ", "X")]
    before += [("I, J", "{U_XY}")]
    for dims, sums in before:
        for after in placements("IJ", "XY"):
            text = f"A[{dims}]{sums} -> B[{after}]"
            plan = planned(text, topology, {"I": 8, "J": 24})
            assert np.array_equal(execute(plan, {"A": array}), array), text


PARTIAL_SUMS = [
    f"A[{a}]{{U_{unreduced}}} · B[{b}] -> C[{c}" + ("" if "U" in c else "]")
    for unreduced in ("X", "Y", "XY")
    for a in ("I, J", "I_Y, J", "I, J_X")
    for b in ("J, K", "J_X, K", "J_Y, K_X")
    for c in ("I, K", "I_X, K_Y", "I, K_XY", "I, K]{U_X}", "I_Y, K]{U_X}", "I, K]{U_XY}")
    if not set(unreduced) & set(a)
]


@pytest.mark.parametrize("policy", Policy)
def test_partial_sums_as_an_operand(policy: Policy) -> None:
    """The inputs are random parts that add up to A; the result of a plan must add up to A @ B."""
    topology = machine((4, "ring"), (2, "line"))
    a, b = RNG.integers(-99, 99, (8, 16)), RNG.integers(-99, 99, (16, 24))
    for text in PARTIAL_SUMS:
        plan = planned(text, topology, {"I": 8, "J": 16, "K": 24}, policy=policy)
        assert np.array_equal(execute(plan, {"A": a, "B": b}), a @ b), text


BOTH_PARTIAL = [
    ("A[I, J]{U_X} · B[J, K]{U_Y} -> C[I, K]", 8),
    ("A[I_X, J]{U_Z} · B[J, K]{U_Y} -> C[I, K_Y]", 16),
    ("A[I, J_Z]{U_X} · B[J_Z, K]{U_Y} -> C[I_Y, K]{U_XZ}", 16),
    ("A[I, J]{U_X} · B[J, K]{U_X} -> C[I, K]", 16),
]


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize(("text", "size"), BOTH_PARTIAL)
def test_partial_sums_in_both_operands(text: str, size: int, policy: Policy) -> None:
    topology = machine((2, "line"), (2, "line"), (2, "line"))
    plan = planned(text, topology, dict.fromkeys("IJK", size), policy=policy)
    a, b = RNG.integers(-99, 99, (2, size, size))
    assert np.array_equal(execute(plan, {"A": a, "B": b}), a @ b)


def test_floats_whose_sums_are_exact() -> None:
    """Multiples of 1/1024 up to 2^20: float64 adds them without rounding."""
    for text in ("AllReduce_X A[I, J]{U_X} -> A[I, J]", "A[I, J]{U_X} -> B[I_Y, J]"):
        plan = planned(text, machine((4, "line"), (4, "ring")), {"I": 8, "J": 8})
        array = RNG.integers(-(2**30), 2**30, (8, 8)) / 1024
        assert np.array_equal(execute(plan, {"A": array}), array), text


def test_three_operands_left_to_right() -> None:
    text = "A[I_X, J] · B[J, K_X] · C[K, L_Y] -> D[I, L_X]"
    plan = planned(text, machine((4, "line"), (2, "ring")), dict.fromkeys("IJKL", 16))
    arrays = {name: RNG.integers(-9, 9, (16, 16)) for name in "ABC"}
    assert np.array_equal(execute(plan, arrays), arrays["A"] @ arrays["B"] @ arrays["C"])


def test_a_name_used_again_by_a_contraction_with_subscripts() -> None:
    text = "In[B_X, D] ·_D W_in[D_X, F] ·_F W_out[F, D_X] -> Out[B_X, D]"
    plan = planned(text, machine((4, "ring")), {"B": 8, "D": 16, "F": 32})
    x, w, v = (RNG.integers(-9, 9, shape) for shape in ((8, 16), (16, 32), (32, 16)))
    assert np.array_equal(execute(plan, {"In": x, "W_in": w, "W_out": v}), x @ w @ v)


def picked(seed: int):  # type: ignore[no-untyped-def]
    chance = random.Random(seed)
    return lambda ready: ready[chance.randrange(len(ready))]


@given(
    st.sampled_from(CollectiveKind),
    st.sampled_from([("line", None), *(("ring", a) for a in RING_ALGORITHMS)]),
    st.integers(1, 12),
    st.integers(1, 7),
    st.integers(0, 9999),
)
def test_collectives_in_any_order_of_sending(
    kind: CollectiveKind,
    fabric: tuple[str, Algorithm | None],
    size: int,
    elements: int,
    seed: int,
) -> None:
    """The needs that a program states are all it needs: any legal order gives the same values."""
    plan = collective_plan(kind, size, fabric[0], elements, algorithm=fabric[1])
    shape = next(value.sharded.extents for _, value in plan.inputs)
    array = RNG.integers(-(10**6), 10**6, shape)
    orders: Sequence[int] = (seed, seed + 1)
    for order in orders:
        assert np.array_equal(execute_all(plan, {"A": array}, picked(order))[-1], array)


@pytest.mark.parametrize("order", ["XY", "YX"])
def test_the_order_of_two_axes_on_one_dimension_matters(order: str) -> None:
    """The smallest case that compilers were seen to get wrong: the result must keep the order."""
    array = RNG.integers(-9, 9, (8, 8))
    topology = machine((2, "line"), (2, "line"), (2, "line"))
    text = f"A[I, J_X] · B[J_X, K] -> C[I_{order.replace('X', 'Z')}, K_X]"
    plan = planned(text, topology, dict.fromkeys("IJK", 8))
    assert np.array_equal(execute(plan, {"A": array, "B": array}), array @ array)
