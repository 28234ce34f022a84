"""Where the planner does not look at everything, and says so; and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import shardsim as ss
from shardsim.errors import PlanError
from tests.machines import peak_memory

FIVE = {"V": 2, "W": 2, "X": 2, "Y": 2, "Z": 2}


def test_with_five_axes_the_rules_are_followed() -> None:
    text = "A[I_VW, J_XY] · B[J_XY, K_Z] -> C[I_VW, K_Z]"
    plan = ss.plan(text, topology="v4:4x4x2", mesh=FIVE, dims="I=8,J=8,K=8")
    (choice,) = plan.choices
    assert choice.chosen.textbook
    assert "with 5 axes in play, only plans by these rules are looked for" in choice.reasons
    assert choice.alternatives == (choice.chosen,)
    a, b = np.arange(64).reshape(8, 8), np.arange(64).reshape(8, 8) % 5
    assert np.array_equal(ss.execute(plan, {"A": a, "B": b}), a @ b)


def test_several_operands_with_five_axes_go_dot_by_dot() -> None:
    text = "A[I_VW, J_X] · B[J_X, K_Y] · D[K_Y, L_Z] -> C[I_VW, L_Z]"
    plan = ss.plan(text, topology="v4:4x4x2", mesh=FIVE, dims="I=8,J=8,K=8,L=8")
    assert len(plan.choices) == 2
    a, b, d = np.random.default_rng(3).integers(-9, 10, (3, 8, 8))
    assert np.array_equal(ss.execute(plan, {"A": a, "B": b, "D": d}), a @ b @ d)


def test_parts_of_axes_count_as_axes() -> None:
    """Halves of X and Y, and Z: five parts in play, though three axes are named."""
    text = "A[I_{X:(1)2}, J_Z] · B[J, K_{Y:(1)2}] · D[K, L] -> C[I, L]"
    plan = ss.plan(text, topology="v4:4x4x2", dims="I=8,J=8,K=8,L=8")
    assert len(plan.choices) == 2


def test_axes_of_one_chip_do_not_count() -> None:
    text = "A[I_X, J_Y] · B[J_Z, K_W] · D[K_V, L] -> C[I_X, L]"
    settings = {"topology": "v5e:16", "dims": "I=64,J=4096,K=8192,L=64"}
    sizes = {"X": 16, "Y": 1, "Z": 1, "W": 1, "V": 1}
    many = ss.plan(text, mesh=sizes, **settings)
    one = ss.plan("A[I_X, J] · B[J, K] · D[K, L] -> C[I_X, L]", mesh={"X": 16}, **settings)
    assert len(many.choices) == 1
    assert [s.seconds for s in many.steps] == [s.seconds for s in one.steps]


def test_more_axes_are_refused_with_a_way_out() -> None:
    mesh = {**FIVE, "U": 2}
    with pytest.raises(PlanError, match="6 axes, or parts of axes, are in play") as caught:
        ss.plan("A[I_UVW, J_XYZ] -> A[I, J_XYZ]", topology="v4:4x4x4", mesh=mesh, dims="I=64,J=64")
    assert caught.value.hint == (
        "make one axis of those that always stand together, such as X=4 of two of 2"
    )
    assert caught.value.place is not None


def test_parts_that_no_way_of_cutting_has_together() -> None:
    text = "A[I_{X:(1)2}, J] · B[J_{X:(3)2}, K] -> C[I_X, K]"
    with pytest.raises(PlanError) as caught:
        ss.plan(text, topology="v5e:6", dims="I=48,J=144,K=48")
    assert caught.value.message == (
        "parts of X=6 begin or end at 2 and at 3, and 2 does not divide 3: no way to cut X has both"
    )
    assert caught.value.hint == (
        "take parts of one way to cut it: X:(1)2 and X:(2)3, or X:(1)3 and X:(3)2"
    )


def test_least_memory_is_no_more_than_the_fastest_plan_holds() -> None:
    text = "A[I_X, J_Y] · B[J, K_Y] · C[K, L] -> Z[I, L_XY]"
    dims = "L=96,I=96,K=144,J=384"
    peaks = {
        objective: peak_memory(ss.plan(text, topology="v5e:2x3", dims=dims, objective=objective))
        for objective in ("time", "bytes", "memory")
    }
    assert peaks["memory"] <= min(peaks["time"], peaks["bytes"])
