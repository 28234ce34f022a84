"""Questions of the book's chapter on sharding that compare strategies, asked of `plan`.

"How to Scale Your Model", chapter "Sharded matrices", questions 4 to 7 and 9. The book's figures
are first-order; what the exact forms say instead stands beside them. The planner may know better
plans than those that a question compares: these are held too.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

import shardsim as ss
from shardsim.planner import CollectiveStep, MatmulStep, Plan
from shardsim.planner.choices import Stretch
from shardsim.units import Seconds

V5P, V5E, V4 = "v5p:4x4x4", "v5e:4x4", "v4:4x4x4"
GATHERED = "X[B, D] · Y[D_X, F] -> Z[B, F]"
REDUCED = "X[B, D_X] · Y[D_X, F] -> Z[B, F]"


def near(value: Seconds | float, figure: float) -> bool:
    """To the printed precision of the answers: 1e-5."""
    return abs(float(value) - figure) <= 1e-5 * figure


def plan(text: str | list[str], on: str, dims: str, **settings: str) -> Plan:
    return ss.plan(text, topology=on, dims=dims, **settings)  # type: ignore[arg-type]


def texts(made: Plan) -> list[str]:
    return [step.text for step in made.steps]


def collectives(made: Plan) -> list[CollectiveStep]:
    return [step for step in made.steps if isinstance(step, CollectiveStep)]


def bandwidth(made: Plan) -> Seconds:
    """The exact seconds of all collectives, latency apart."""
    return sum((step.price.exact.bandwidth for step in collectives(made)), Fraction(0))


# Question 4: gather the weights, or multiply and reduce.


def question_4(text: str, batch: int) -> Plan:
    return plan(text, V5P, f"B={batch},D=8192,F=32768", policy="textbook")


def test_the_batch_below_which_gathering_is_bound_by_communication() -> None:
    made = question_4(GATHERED, 8192)
    assert texts(made)[0] == "AllGather_X Y[D_X, F] -> Y[D, F]"
    (balance,) = (one for one in made.choices[0].balances() if one.dim == "B")
    assert balance.book == Stretch(talks=False, low=2550, high=None)
    assert balance.exact == Stretch(talks=False, low=1915, high=None)  # 3/4 of V/W, two hops


def test_how_many_chips_reducing_can_use() -> None:
    made = question_4(REDUCED, 512)
    assert texts(made)[1] == "AllReduce_X Z[B, F]{U_X} -> Z[B, F]"
    (balance,) = (one for one in made.choices[0].balances() if one.dim == "D")
    assert balance.book == Stretch(talks=True, low=None, high=20_399)  # at |X| = 4
    assert near(4 * 8192 / 20_400, 1.60627)


@pytest.mark.parametrize(
    ("text", "batch", "figure"),
    [(GATHERED, 512, 0.00298262), (REDUCED, 512, 0.000372827), (GATHERED, 8192, 0.0095818)],
)
def test_the_lower_bound_of_each_strategy(text: str, batch: int, figure: float) -> None:
    made = question_4(text, batch)
    book = sum((step.price.book for step in collectives(made)), Fraction(0))
    matmul = sum((s.seconds for s in made.steps if isinstance(s, MatmulStep)), Fraction(0))
    assert near(max(book, matmul), figure)


@pytest.mark.parametrize(
    ("batch", "labels"),
    [(2730, ["AllReduce_X of Z"]), (2731, ["AllToAll_X of Y, AllGather_X of Z"])],
)
def test_the_weights_in_a_row_are_cut_anew_for_a_large_batch(batch: int, labels: list[str]) -> None:
    made = plan(GATHERED, V5P, f"B={batch},D=8192,F=32768")
    assert [choice.chosen.label for choice in made.choices] == labels


def test_where_reducing_stops_to_win() -> None:
    made = plan(GATHERED, V5P, "B=512,D=8192,F=32768")
    flip = next(flip for flip in made.choices[0].flips if flip.dim == "B")
    assert (flip.low, flip.high) == (None, 2730)
    assert flip.above is not None
    assert flip.above.label == "AllToAll_X of Y, AllGather_X of Z"


# Question 5: the least latency of one matmul over 64 chips.


def test_a_matmul_whose_operands_are_everywhere() -> None:
    made = plan("A[I, J] · B[J, K] -> C[I, K]", V4, "I=8192,J=8192,K=8192", idle_axes="use")
    *slices, matmul, gather = made.steps
    assert {step.op for step in slices} == {"slice"}
    assert isinstance(matmul, MatmulStep)
    assert near(matmul.seconds, 6.24723e-05)
    assert isinstance(gather, CollectiveStep)
    assert gather.axes == ("X", "Y", "Z")
    assert near(gather.price.book, 0.000497103)
    assert near(gather.price.exact.bandwidth, 0.000489335)


def test_without_the_axes_all_chips_do_the_same() -> None:
    made = plan("A[I, J] · B[J, K] -> C[I, K]", V4, "I=8192,J=8192,K=8192")
    assert [step.op for step in made.steps] == ["matmul"]
    hint = made.choices[0].reasons[-1]
    assert hint == "cutting over X and Y and Z too, it would take 558 µs: AllGather_XYZ of C"


# Question 6: three shardings on a slice whose axes do not wrap.


@pytest.mark.parametrize(
    ("text", "moves", "seconds"),
    [
        (
            "A[I_X, J_Y] · B[J_Y, K] -> C[I_X, K]",
            "AllReduce_Y C[I_X, K]{U_Y} -> C[I_X, K]",
            2 * 0.00013981,
        ),
        (
            "A[I_X, J] · B[J_X, K_Y] -> C[I_X, K_Y]",
            "AllGather_X B[J_X, K_Y] -> B[J, K_Y]",
            0.00013981,
        ),
        ("A[I_X, J] · B[J, K_Y] -> C[I_X, K_Y]", None, 0),
    ],
)
def test_a_matmul_on_16_chips(text: str, moves: str | None, seconds: float) -> None:
    made = plan(text, V5E, "I=4096,J=4096,K=4096")
    assert [step.text for step in collectives(made)] == ([moves] if moves else [])
    (matmul,) = (step for step in made.steps if isinstance(step, MatmulStep))
    assert near(matmul.seconds, 4.36037e-05)
    assert near(bandwidth(made), seconds)


# Question 7: a block of two matmuls on a 2x2, weights cut one way or another.

DIMS = "B=128,D=8192,F=32768,E=8192"


def test_tensor_parallel() -> None:
    text = "In[B, D_XY] · W_in[D, F_XY] · W_out[F_XY, E] -> Out[B, E_XY]"
    made = plan(text, "v5e:2x2", DIMS)
    assert [step.op for step in made.steps] == ["all_gather", "matmul", "matmul", "reduce_scatter"]
    assert near(bandwidth(made), 3.49525e-05)
    matmuls = [step for step in made.steps if isinstance(step, MatmulStep)]
    assert near(sum(step.price.compute for step in matmuls), 0.000174415)


def test_fully_sharded_weights_are_gathered_by_the_rules() -> None:
    lines = [
        "In[B_XY, D] · W_in[D_XY, F] -> H[B_XY, F]",
        "H[B_XY, F] · W_out[F_XY, E] -> Out[B_XY, E]",
    ]
    made = plan(lines, "v5e:2x2", DIMS, policy="textbook")
    assert [step.op for step in made.steps] == ["all_gather", "matmul"] * 2
    assert near(bandwidth(made), 0.00894785)


def test_so_few_tokens_move_more_cheaply_than_the_weights() -> None:
    text = "In[B_XY, D] · W_in[D_XY, F] · W_out[F, E_XY] -> Out[B_XY, E]"
    made = plan(text, "v5e:2x2", DIMS)
    assert all(step.operand.sharded.array.name[0] != "W" for step in collectives(made))  # type: ignore[index]
    assert bandwidth(made) < Fraction(1, 50) * Fraction("0.00894785")


# Question 9: gather the input, or scatter the output.


def test_what_gathering_costs_beside_scattering() -> None:
    dims = "N=1024,M=4096,K=1024"
    gathered = plan("A[N, M_X] · W[M, K_X] -> O[N, K_X]", "v5e:16x16", dims, policy="textbook")
    scattered = plan("A[N, M_X] · W[M_X, K] -> O[N, K_X]", "v5e:16x16", dims, policy="textbook")
    assert [step.op for step in gathered.steps] == ["all_gather", "matmul"]
    assert [step.op for step in scattered.steps] == ["matmul", "reduce_scatter"]
    assert bandwidth(gathered) == 4 * bandwidth(scattered)  # M / K


@pytest.mark.parametrize(("m", "op"), [(1792, "all_gather"), (1808, "all_to_all")])
def test_the_input_is_gathered_while_it_is_narrow(m: int, op: str) -> None:
    """From M = 1,793 on it is cheaper to cut the weights anew, and to scatter the output."""
    made = plan("A[N, M_X] · W[M, K_X] -> O[N, K_X]", "v5e:16x16", f"N=1024,M={m},K=1024")
    assert made.steps[0].op == op
    (flip,) = (flip for flip in made.choices[0].flips if flip.dim == "M")
    assert (flip.high if op == "all_gather" else flip.low) in (1792, 1793)
