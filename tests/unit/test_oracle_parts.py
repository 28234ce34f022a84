"""The data oracle on parts of axes: partial sums over one, and what is left of others."""

from __future__ import annotations

import numpy as np
import pytest

import shardsim as ss

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("on", ["v5e:4", "v5e:2x4", "h100:8"])
@pytest.mark.parametrize(
    "text",
    [
        "A[I, J]{U_{X:(1)2}} -> A[I, J]",
        "A[I, J]{U_{X:(2)2}} -> A[I, J_{X:(2)2}]",
        "AllReduce_{X:(2)2} A[I, J]{U_X} -> A[I, J]{U_{X:(1)2}}",
        "ReduceScatter_{X:(1)2,J} A[I_{X:(2)2}, J]{U_{X:(1)2}} -> A[I_{X:(2)2}, J_{X:(1)2}]",
        "AllToAll_{X:(2)2,J} A[I_X, J] -> A[I_{X:(1)2}, J_{X:(2)2}]",
        "A[I_{X:(1)2}, J_{X:(2)2}] -> A[I_{X:(2)2}, J_{X:(1)2}]",
        "A[I_X, J] -> A[I_{X:(2)2,X:(1)2}, J]",
    ],
)
def test_what_is_moved_stays_the_same(text: str, on: str) -> None:
    plan = ss.plan(text, topology=on, mesh="Y=2,X=4" if on != "v5e:4" else "X=4", dims="I=16,J=8")
    array = RNG.integers(-99, 100, (16, 8))
    assert np.array_equal(ss.execute(plan, {"A": array}), array)


@pytest.mark.parametrize("policy", ["textbook", "cheapest"])
@pytest.mark.parametrize(
    "text",
    [
        "A[I, J_{X:(2)2}] · B[J_{X:(2)2}, K] -> C[I, K]{U_{X:(2)2}}",
        "A[I_{X:(1)2}, J]{U_{X:(2)2}} · B[J, K] -> C[I_{X:(1)2}, K_{X:(2)2}]",
        "A[I, J_X] · B[J_{X:(1)2}, K] -> C[I, K]{U_{X:(1)2}}",
        "A[I_{X:(2)2}, J_{X:(1)2}] · B[J, K_X] -> C[I_X, K]",
    ],
)
def test_contractions_over_parts(text: str, policy: str) -> None:
    plan = ss.plan(text, topology="v5e:4x2", dims="I=16,J=8,K=8", policy=policy)
    a, b = RNG.integers(-99, 100, (16, 8)), RNG.integers(-99, 100, (8, 8))
    assert np.array_equal(ss.execute(plan, {"A": a, "B": b}), a @ b)
