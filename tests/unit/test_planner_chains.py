"""Contractions of several operands: the order, and the layouts of products, chosen together."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import shardsim as ss
from shardsim.cost import CostModel
from shardsim.planner import MatmulStep, Plan
from shardsim.planner.scaling import Scaling
from shardsim.vocabulary import Objective


def plan(text: str, dims: str, on: str = "v5e:4x4", **settings: object) -> Plan:
    return ss.plan(text, topology=on, dims=dims, **settings)  # type: ignore[arg-type]


def matmuls(made: Plan) -> list[str]:
    return [step.text for step in made.steps if isinstance(step, MatmulStep)]


def test_the_narrow_products_come_first() -> None:
    made = plan("A[I, J] · B[J, K] · C[K, L] -> D[I, L]", "I=4096,J=4096,K=4096,L=16")
    assert matmuls(made) == [
        "B[J, K] · C[K, L] -> T1[J, L]", "A[I, J] · T1[J, L] -> D[I, L]",
    ]  # fmt: skip
    assert (
        "multiplied in the order A · (B · C); where a function comes between two dots, give each "
        "dot a line of its own"
    ) in made.choices[0].reasons


def test_both_halves_first() -> None:
    text = "A[I, J] · B[J, K] · C[K, L] · D[L, M] -> E[I, M]"
    made = plan(text, "I=64,J=8192,K=1024,L=8192,M=64")
    assert matmuls(made) == [
        "A[I, J] · B[J, K] -> T1[I, K]",
        "C[K, L] · D[L, M] -> T2[K, M]",
        "T1[I, K] · T2[K, M] -> E[I, M]",
    ]


def test_the_layout_of_the_product_is_not_the_cheapest_of_its_dot() -> None:
    """By itself each dot would scatter its sum; together the sum is reduced once, whole."""
    text = "In[B_X, D] · W_in[D_X, F] · W_out[F, E_X] -> Out[B_X, E]"
    made = plan(text, "B=1024,D=4096,F=8192,E=4096")
    assert [step.text for step in made.steps][1:4] == [
        "In[B, D_X] · W_in[D_X, F] -> T1[B, F]{U_X}",
        "AllReduce_X T1[B, F]{U_X} -> T1[B, F]",
        "T1[B, F] · W_out[F, E_X] -> Out[B, E_X]",
    ]
    greedy = made.choices[0].alternatives[1:]
    assert all(way.estimate >= made.choices[0].chosen.estimate for way in greedy)


def test_one_dot_after_another_by_the_rules() -> None:
    text = "A[I_X, J] · B[J, K] · C[K, L] -> D[I_X, L]"
    made = plan(text, "I=64,J=64,K=64,L=64", policy="textbook")
    assert [choice.text for choice in made.choices] == [
        "A[I_X, J] · B[J, K] -> T1", "T1[I_X, K] · C[K, L] -> D[I_X, L]",
    ]  # fmt: skip


def test_names_of_products_are_free_ones() -> None:
    lines = ["T1[I, J] · B[J, K] · C[K, L] -> D[I, L]", "D[I, L] · E[L, M] · F[M, N] -> G[I, N]"]
    made = ss.plan(lines, topology="v5e:4x4", dims=dict.fromkeys("IJKLMN", 64))
    assert [text.split(" -> ")[1][:2] for text in matmuls(made)] == ["T2", "D[", "T3", "G["]


@pytest.mark.parametrize("policy", ["textbook", "cheapest"])
def test_a_dimension_that_is_summed_and_means_another_later(policy: str) -> None:
    text = "In[B_X, D] ·_D W_in[D_X, F] ·_F W_out[F, D_X] -> Out[B_X, D]"
    made = plan(text, "B=8,D=16,F=32", policy=policy)
    assert str(made.result.sharded.array) == "Out[B_X, D]"
    rng = np.random.default_rng(2)
    x, w, v = (rng.integers(-9, 9, shape) for shape in ((8, 16), (16, 32), (32, 16)))
    assert np.array_equal(ss.execute(made, {"In": x, "W_in": w, "W_out": v}), x @ w @ v)


def test_the_second_meaning_has_a_prime() -> None:
    text = "In[B, D] ·_D W[D, F] ·_F V[F, D] -> Out[B, D]"
    made = plan(text, "B=4,D=4096,F=4096")
    assert matmuls(made)[-1] == "T1[B, F] · V[F, D'] -> Out[B, D']"
    wide = plan(text, "B=65536,D=1024,F=65536")
    assert matmuls(wide)[0] == "W[D, F] · V[F, D'] -> T1[D, D']"  # W · V is small


def test_an_open_result_keeps_the_names_that_are_written() -> None:
    made = plan("In[B_X, D] ·_D W[D, F] ·_F V[F, D] -> Out", "B=8,D=16,F=32")
    assert str(made.result.sharded.array) == "Out[B_X, D]"


@pytest.mark.parametrize("scale", [2, 4, 64])
def test_a_dimension_that_is_used_again_grows_at_both_places(scale: int) -> None:
    text = "In[B_X, D] · W_in[D_X, F] · W_out[F, D_X] -> Out[B_X, D]"
    made = plan(text, "B=1024,D=2048,F=8192").choices[0]
    larger = plan(text, f"B=1024,D={2048 * scale},F=8192").choices[0]
    known = {tuple(s.text for s in way.steps): way.estimate for way in larger.alternatives}
    scaling = Scaling(CostModel(), Objective.TIME, {"D'": "D"})
    scaled = {
        tuple(s.text for s in way.steps): scaling.measure(way, "D", Fraction(scale))[0]
        for way in made.alternatives
    }
    both = known.keys() & scaled.keys()
    assert len(both) > 3
    assert {key: known[key] for key in both} == {key: scaled[key] for key in both}


def test_turning_points_of_a_chain_are_said_for_its_own_dimensions() -> None:
    text = "In[B_X, D] · W_in[D_X, F] · W_out[F, D_X] -> Out[B_X, D]"
    made = plan(text, "B=1024,D=2048,F=8192").choices[0]
    assert made.reasons[1] == "D' is D once more: D is summed at a dot, and used again after it"
    assert {flip.dim for flip in made.flips} <= {"B", "D", "F"}
    for flip in made.flips:
        for other in (flip.below, flip.above):
            assert other is None or other.label != made.chosen.label
