"""A result of which only the name is said: `-> C`."""

from __future__ import annotations

import numpy as np
import pytest

import shardsim as ss
from shardsim.errors import NotationError
from shardsim.notation import Array, Contraction, Dim, parse


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("A[I, J_X] · B[J_X, K] -> C", "C[I, K]"),
        ("A[I] · B[I] -> s", "s[]"),
        ("A[B, I, J] ·_J W_in[B, J, K] -> W_out'", "W_out'[B, I, K]"),
        ("A[I, J] ·_{} B[J, K] -> C", "C[I, J, K]"),
        ("A[I, J] · B[J, K] · D[K, L] -> E", "E[I, L]"),
    ],
)
def test_its_dimensions_are_those_that_no_dot_sums(text: str, result: str) -> None:
    statement = parse(text)
    assert isinstance(statement, Contraction)
    assert statement.is_open
    assert str(statement.result) == result
    assert str(statement) == text
    assert parse(str(statement)) == statement


def test_it_is_not_the_same_as_a_result_without_axes() -> None:
    left_open, whole = parse("A[I, J] · B[J, K] -> C"), parse("A[I, J] · B[J, K] -> C[I, K]")
    assert left_open != whole


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("A[I_X, J] -> C", "write the dimensions too: C[I, J]"),
        ("AllGather_X A[I_X] -> W_out", "write the dimensions too: W_out[I]"),
        ("A[] -> C", "write the dimensions too: C[]"),
    ],
)
def test_only_a_contraction_can_leave_it_open(text: str, hint: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse(text)
    assert caught.value.message == "only a contraction can leave the sharding of its result open"
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A[I, J] · B[J, K] -> C D", "expected '[' after C, found 'D'"),
        ("A[I, J] · B[J, K] ->", "expected an array or a collective, found the end"),
        ("A[I, J] · B[J, K] -> C -> D", "the statement has two results"),
        ("A[I, J] · B[J, K] -> C = D", "the statement has two results"),
    ],
)
def test_nothing_comes_behind_it(text: str, message: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse(text)
    assert caught.value.message == message


def test_an_open_result_has_a_name_and_no_axes() -> None:
    a, b = (Array(name=n, dims=tuple(map(Dim, d))) for n, d in (("A", "IJ"), ("B", "JK")))
    for result in (
        Array(name="C", dims=(Dim("I", ("X",)), Dim("K"))),
        Array(name=None, dims=(Dim("I"), Dim("K"))),
    ):
        with pytest.raises(NotationError, match="is not left open"):
            Contraction(operands=(a, b), result=result, contracted=(("J",),), is_open=True)


@pytest.mark.parametrize(
    ("text", "result", "ops"),
    [
        ("A[I, J_X] · B[J_X, K] -> C", "C[I, K_X]", ["matmul", "reduce_scatter"]),
        ("A[I_X, J] · B[J, K_Y] -> C", "C[I_X, K_Y]", ["matmul"]),
        ("A[I, J] · B[J, K] -> C", "C[I, K]", ["matmul"]),
    ],
)
def test_the_cheapest_layout_without_partial_sums_is_taken(
    text: str, result: str, ops: list[str]
) -> None:
    plan = ss.plan(text, topology="v5e:4x4", dims="I=512,J=512,K=512")
    assert str(plan.result.sharded.array) == result
    assert [step.op for step in plan.steps] == ops
    a, b = np.arange(512 * 512).reshape(512, 512) % 7, np.ones((512, 512), int)
    assert np.array_equal(ss.execute(plan, {"A": a, "B": b}), a @ b)


def test_a_later_line_takes_it_as_it_is() -> None:
    lines = ["A[I, J_X] · B[J_X, K] -> C", "C[I, K_X] · D[K_X, L] -> E[I, L]{U_X}"]
    plan = ss.plan(lines, topology="v5e:4x4", dims="I=512,J=512,K=512,L=512")
    assert [step.op for step in plan.steps] == ["matmul", "reduce_scatter", "matmul"]


def test_a_local_product_stays_as_it_is() -> None:
    plan = ss.plan("A[I, J_X] ·_LOCAL B[J_X, K] -> C", topology="v5e:4x4", dims="I=64,J=64,K=64")
    assert [step.op for step in plan.steps] == ["matmul"]
    assert str(plan.result.sharded.array) == "C[I, K]{U_X}"
    assert not any("left open" in reason for reason in plan.choices[0].reasons)
