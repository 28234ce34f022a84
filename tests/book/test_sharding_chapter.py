"""Worked numbers of "How to Scale Your Model", chapter "Sharded Matrices and How to Multiply Them".

Each row names the question it comes from. First-order figures are what the book's own formula
gives with the book's inputs, to six digits (the book prints two or three of them); where the book
has only the formula or the question, the test says so. They are floats, so they are compared to
1e-5; exact figures are for links without latency.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import shardsim as ss
from shardsim.cost.exact import all_gather, all_to_all
from shardsim.hardware import Link
from shardsim.planner import CollectiveStep, MatmulStep, Plan
from shardsim.vocabulary import Algorithm, CollectiveKind, LatencyModel

CLOSE = 1e-5


def close(value: Fraction | float, figure: float) -> bool:
    return float(value) == pytest.approx(figure, rel=CLOSE, abs=0)


def machine(
    chip: str, *dimensions: tuple[int, str], w: float, latency: float = 0
) -> dict[str, Any]:
    """A topology with the book's rates: `w` is one way, half of the book's W."""
    return {
        "name": "from the book",
        "chip": chip,
        "dimensions": [
            {"name": name, "size": size, "kind": kind, "bandwidth": w, "latency": latency}
            | ({"links": 2} if (size, kind) == (2, "ring") else {})
            for name, (size, kind) in zip("xyz", dimensions, strict=False)
        ],
    }


def collectives(plan: Plan) -> list[CollectiveStep]:
    return [step for step in plan.steps if isinstance(step, CollectiveStep)]


def matmuls(plan: Plan) -> list[MatmulStep]:
    return [step for step in plan.steps if isinstance(step, MatmulStep)]


# What a chip holds

HELD = [
    # pop quiz on int8[128, 2048]: 128 x 2048 / (2 x 8) bytes
    ("int8[I_XY, J]", "v4:2x8x2", {"I": 128, "J": 2048}, (8, 2048), 16384, 2),
    # the code example: 8 x 2048 over 4 and 2, 2048 elements of two bytes
    ("bf16[I_X, J_Y]", "v5e:4x2", {"I": 8, "J": 2048}, (2, 1024), 4096, 1),
    # question 1: over X of 4 x 8 x 2 chips, all copies together are 16 times the array
    ("bf16[I_X, J]", "v4:4x8x2", {"I": 64, "J": 64}, (16, 64), 2048, 16),
]


@pytest.mark.parametrize(("array", "topology", "dims", "shape", "size", "copies"), HELD)
def test_what_a_chip_holds(
    array: str, topology: str, dims: dict[str, int], shape: tuple[int, int], size: int, copies: int
) -> None:
    plan = ss.plan(f"{array} · B[J, K] -> C[I, K]", topology=topology, dims={**dims, "K": 64})
    held = plan.inputs[0][1].sharded
    assert held.local_shape == shape
    assert held.local_bytes == size
    assert held.local_bytes * plan.mesh.topology.size == copies * held.global_bytes


# First-order times of one collective: the book's seconds

V5E = ("v5e", 45e9)
V4 = ("v4", 45e9)
FIRST_ORDER = [
    # question, collective, chip and w, mesh of rings, dims, seconds
    # pop quiz 2, taken as a wrapped ring: 2 x 2048 x 8192 / 9e10
    ("pop quiz 2", "AllGather_Y A[E_Y, F]", V5E, (8, 4), {"E": 2048, "F": 8192}, 3.72827e-4),
    # question 2, AllReduce over Z of an array sharded over X and Y
    ("question 2.3", "AllReduce_Z A[B_X, D_Y]{U_Z}", V4, (4, 4, 4), {"B": 1024, "D": 4096},
     1.16508e-5),
    # question 2: over X, 2 BD/4 bytes by W; over X and Y, all 2 BD bytes by 2W
    ("question 2.1", "AllGather_X A[B_X, D_Y]", V4, (4, 4, 4), {"B": 1024, "D": 4096}, 2.33017e-5),
    ("question 2.2", "AllGather_XY A[B_X, D_Y]", V4, (4, 4, 4), {"B": 1024, "D": 4096},
     4.66034e-5),
    # the asides: the array is cut over the idle axis Z first, for nothing, and gathered by its
    # links too
    ("question 2, aside 1", "AllGather_XZ A[B_XZ, D_Y]", V4, (4, 4, 4), {"B": 1024, "D": 4096},
     1.16508e-5),
    ("question 2, aside 2", "AllGather_XYZ A[B_XZ, D_Y]", V4, (4, 4, 4), {"B": 1024, "D": 4096},
     3.10689e-5),
]  # fmt: skip


@pytest.mark.parametrize(("question", "text", "chip", "shape", "dims", "seconds"), FIRST_ORDER)
def test_first_order_collectives(
    question: str, text: str, chip: tuple[str, float], shape: tuple[int, ...],
    dims: dict[str, int], seconds: float,
) -> None:  # fmt: skip
    name, w = chip
    rings = [(size, "ring") for size in shape]

    def book(times: int = 1, divided: int = 1) -> Fraction:
        topology = machine(name, *rings, w=w / divided)
        first, *_ = dims
        plan = ss.plan(text, topology=topology, dims={**dims, first: dims[first] * times})
        return sum((step.price.book for step in collectives(plan)), Fraction(0))

    assert close(book(), seconds), question
    # twice the bytes, or half the bandwidth: twice the time
    assert book(times=2) == book(divided=2) == 2 * book()


def test_pop_quiz_2_on_the_line_it_is() -> None:
    """An axis of 4 of a v5e slice does not wrap: 3 shards of 8 MiB cross one link, one way."""
    plan = ss.plan("AllGather_Y A[E_Y, F]", topology="v5e:8x4", dims={"E": 2048, "F": 8192})
    (step,) = collectives(plan)
    assert step.call.group.segments[0].kind.value == "line"
    assert close(step.price.exact.bandwidth, 5.59241e-4)
    assert close(step.price.book, 3.72827e-4)


def test_question_2_3_exactly() -> None:
    """A balanced ring moves 3/4 of the array twice, not all of it."""
    plan = ss.plan("AllReduce_Z A[B_X, D_Y]{U_Z}", topology="v4:4x4x4", dims={"B": 1024, "D": 4096})
    (step,) = collectives(plan)
    assert close(step.price.exact.bandwidth, 8.73813e-6)
    assert close(step.price.book, 1.16508e-5)


def test_question_2_2_exactly() -> None:
    """Over both rings at once: 15/16 of the array by four links."""
    plan = ss.plan("AllGather_XY A[B_X, D_Y]", topology="v4:4x4x4", dims={"B": 1024, "D": 4096})
    (step,) = collectives(plan)
    assert close(step.price.exact.bandwidth, 4.36907e-5)
    assert step.seconds - step.price.exact.bandwidth == Fraction(4, 10**6)
    assert step.price.relation.value == "equal"


def test_question_2_asides_as_programs() -> None:
    """A slice is free, so what is gathered over an idle axis too takes less."""
    plain = ss.plan("A[B_X, D_Y] -> C[B, D_Y]", topology="v4:4x4x4", dims={"B": 1024, "D": 4096})
    assert [step.op for step in plain.steps] == ["all_gather"]
    cut = ss.plan(
        ["A[B_X, D_Y] -> C[B_XZ, D_Y]", "C[B_XZ, D_Y] -> D'[B, D_Y]"],
        topology="v4:4x4x4", dims={"B": 1024, "D": 4096},
    )  # fmt: skip
    assert [step.op for step in cut.steps] == ["slice", "all_gather"]
    (one,), (other,) = collectives(plain), collectives(cut)
    assert other.price.book == one.price.book / 2
    # 3/4 by two links against 15/16 by four
    assert other.price.exact.bandwidth == one.price.exact.bandwidth * Fraction(15, 24)


@pytest.mark.parametrize(("latency", "seconds"), [(1e-6, 4e-6), (2e-6, 8e-6)])
def test_question_2_latency(latency: float, seconds: float) -> None:
    """The least time of AllGather_XY over 4 x 4: half of 4 and half of 4 hops."""
    topology = machine("v4", (4, "ring"), (4, "ring"), (4, "ring"), w=45e9, latency=latency)
    plan = ss.plan("AllGather_XY A[B_X, D_Y]", topology=topology, dims={"B": 4, "D": 4})
    assert close(sum(step.price.book for step in collectives(plan)), seconds)


def test_question_3() -> None:
    """64 bytes to each of 3 others, over at most 2 hops of 1 µs: bytes do not matter."""
    for elements in (128, 256):
        result = ss.run(
            "AllGather_X A[B_X]", topology="v4:4x4x4", dims={"B": elements},
            algorithm="whole_shards", latency_model="floor",
        )  # fmt: skip
        assert close(result.totals.simulated_seconds, 2e-6)
        assert close(result.steps[0].step.seconds, 2e-6)
        (step,) = collectives(result.plan)
        assert close(step.price.book, 2e-6)


KNEE = [(360_000, 8e-6), (720_000, 8e-6), (1_440_000, 16e-6), (7_200_000, 80e-6)]


@pytest.mark.parametrize(("size", "seconds"), KNEE)
def test_where_an_all_gather_over_16_stops_being_latency_bound(size: int, seconds: float) -> None:
    """T_min N/2 = V/W at 720,000 bytes (the chapter's rule, evaluated for v5e)."""
    plan = ss.plan("AllGather_X int8[I_X]", topology="v5e:16x16", dims={"I": size})
    (step,) = collectives(plan)
    assert close(step.price.book, seconds)


# Question 4: two ways to multiply X[B, D] by Y[D_X, F] on v5p, D = 8192, F = 32768, X = 4

STRATEGIES = {
    1: "A[B, D] · Y[D_X, F] -> Z[B, F]",
    2: "A[B, D_X] · Y[D_X, F] -> Z[B, F]",
}


def strategy(number: int, batch: int, w: float = 90e9) -> tuple[CollectiveStep, MatmulStep]:
    topology = machine("v5p", *[(4, "ring")] * 3, w=w)
    dims = {"B": batch, "D": 8192, "F": 32768}
    plan = ss.plan(STRATEGIES[number], topology=topology, dims=dims, policy="textbook")
    (communication,), (computation,) = collectives(plan), matmuls(plan)
    return communication, computation


def test_question_4_where_strategy_1_is_bound_by_communication() -> None:
    """B = C/W = 4.59e14/1.8e11 = 2550, and twice that with half the bandwidth."""
    for batch, w in ((2550, 90e9), (5100, 45e9)):
        gather, multiply = strategy(1, batch, w)
        assert gather.price.book == multiply.price.compute
        gather, multiply = strategy(1, batch - 1, w)
        assert gather.price.book > multiply.price.compute


def test_question_4_how_far_strategy_2_is_bound_by_computation() -> None:
    """|X| < D/(2C/W) = 1.60627, whatever B is."""
    for batch in (512, 4096):
        reduce, multiply = strategy(2, batch)
        assert close(4 * multiply.price.compute / reduce.price.book, 1.60627)


BOUNDS = [
    # strategy, B, max(compute, communication) first order; the same with exact rings
    (1, 512, 2.98262e-3, 2.23696e-3),
    (2, 512, 3.72827e-4, 2.79620e-4),
    (1, 8192, 9.58180e-3, 9.58180e-3),
]


@pytest.mark.parametrize(("number", "batch", "first_order", "exact"), BOUNDS)
def test_question_4_bounds(number: int, batch: int, first_order: float, exact: float) -> None:
    """Numbers for the book's formulas; the book gives them in letters."""
    communication, computation = strategy(number, batch)
    assert close(max(communication.price.book, computation.price.compute), first_order)
    assert close(max(communication.price.exact.bandwidth, computation.price.compute), exact)


# AllToAll on a torus: V max(N_i) / 4NW, 10^9 bytes over all chips together

TORI = [((4, 4, 4), 1.73611e-4), ((16, 16), 1.73611e-4)]


@pytest.mark.parametrize(("shape", "seconds"), TORI)
def test_all_to_all_on_a_torus(shape: tuple[int, ...], seconds: float) -> None:
    """First order and exactly the same: equal rings are at work all the time."""
    text = "AllToAll_{XYZ,J} int8[I_XYZ, J]" if len(shape) == 3 else "AllToAll_{XY,J} int8[I_XY, J]"
    topology = machine("v5p", *((size, "ring") for size in shape), w=45e9)
    plan = ss.plan(text, topology=topology, dims={"I": 256 * 5**6, "J": 256})
    (step,) = collectives(plan)
    assert close(step.price.book * 10**9 / (256 * 256 * 5**6), seconds)
    assert step.price.exact.bandwidth == step.price.book
    assert step.price.relation.value == "equal"


def test_question_5_communication() -> None:
    """C is 8192 x 8192, gathered by the links of all three axes: 2 IK/3W, exactly 63/64 of it."""
    plan = ss.plan(
        "A[I_XYZ, J] · B[J, K] -> C[I, K]", topology="v4:4x4x4", dims=dict.fromkeys("IJK", 8192)
    )
    assert [step.op for step in plan.steps] == ["matmul", "all_gather"]
    (gather,) = collectives(plan)
    assert close(gather.price.book, 4.97103e-4)
    assert close(gather.price.exact.bandwidth, 4.89335e-4)


SEVENTH = [
    # tensor parallel: the activations there and back, 2 x 3/4 x 2 BD / 2w
    (["AllGather_XY In[B, D_XY] -> In2[B, D]",
      "ReduceScatter_{XY,D} Out[B, D]{U_XY} -> Out2[B, D_XY]"],
     {"B": 128, "D": 8192}, 3.49525e-5),
    # the weights gathered: 2 x 3/4 x 2 DF / 2w
    (["AllGather_XY W_in[D_XY, F] -> W2[D, F]", "AllGather_XY W_out[F, D_XY] -> W3[F, D]"],
     {"D": 8192, "F": 32768}, 8.94785e-3),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "dims", "seconds"), SEVENTH)
def test_question_7_communication(lines: list[str], dims: dict[str, int], seconds: float) -> None:
    """A slice of 2 x 2 has one link an axis: two lines."""
    steps = collectives(ss.plan(lines, topology="v5e:2x2", dims=dims))
    assert len(steps) == 2
    assert close(sum(step.price.exact.bandwidth for step in steps), seconds)


# Questions 5 to 7: local matmuls, and a gather on a line (the book has no figures)

MATH = [
    # 2 x 8192^3 over 64 chips of 275 TFLOP/s
    ("question 5", ["A[I_XYZ, J] · B[J, K] -> C[I_XYZ, K]"], "v4:4x4x4",
     dict.fromkeys("IJK", 8192), 6.24723e-5),
    # 2 x 4096^3 over 16 chips of 197 TFLOP/s
    ("question 6a", ["A[I_X, J_Y] · B[J_Y, K] -> C[I_X, K]"], "v5e:4x4",
     dict.fromkeys("IJK", 4096), 4.36037e-5),
    # two products of 128 x 8192 x 32768 over 4 chips
    ("question 7", ["In[B, D] · W_in[D, F_XY] -> H[B, F_XY]",
                    "H[B, F_XY] · W_out[F_XY, D] -> Out[B, D]{U_XY}"], "v5e:2x2",
     {"B": 128, "D": 8192, "F": 32768}, 1.74415e-4),
]  # fmt: skip


@pytest.mark.parametrize(("question", "lines", "topology", "dims", "seconds"), MATH)
def test_math(
    question: str, lines: list[str], topology: str, dims: dict[str, int], seconds: float
) -> None:
    plan = ss.plan(lines, topology=topology, dims=dims)
    found = sum((step.price.compute for step in matmuls(plan)), Fraction(0))
    assert close(found, seconds), question
    first, *_ = dims
    doubled = ss.plan(lines, topology=topology, dims={**dims, first: 2 * dims[first]})
    assert sum(step.price.compute for step in matmuls(doubled)) == 2 * found


def test_question_6_communication() -> None:
    """b: a quarter of B, gathered over a line of 4, 3/4 x 2 x 4096^2/4 / 45e9. c: none."""
    dims = dict.fromkeys("IJK", 4096)
    b = ss.plan("A[I_X, J] · B[J_X, K_Y] -> C[I_X, K_Y]", topology="v5e:4x4", dims=dims)
    (gather,) = collectives(b)
    assert close(gather.price.exact.bandwidth, 1.39810e-4)
    c = ss.plan("A[I_X, J] · B[J, K_Y] -> C[I_X, K_Y]", topology="v5e:4x4", dims=dims)
    assert collectives(c) == []


def test_question_9() -> None:
    """Gathering A[N, M] costs M/K = 4 times as much as scattering O[N, K]."""
    dims = {"N": 1024, "M": 4096, "K": 1024}
    gather = ss.plan(
        "A[N, M_X] · W[M, K] -> O[N, K]", topology="v5p:4x4x4", dims=dims, policy="textbook"
    )
    scatter = ss.plan("A[N, M_X] · W[M_X, K] -> O[N, K_X]", topology="v5p:4x4x4", dims=dims)
    (first,), (second,) = collectives(gather), collectives(scatter)
    assert (first.op, second.op) == ("all_gather", "reduce_scatter")
    assert first.price.book == 4 * second.price.book
    assert first.price.exact.bandwidth == 4 * second.price.exact.bandwidth


# Question 10: numbers of a 1024 x 1024 matrix that cross one link of a one-way ring


def over_one_link(text: str, chips: int, algorithm: str, n: int = 1024) -> Fraction:
    topology = machine("v4", (chips, "ring"), w=45e9)
    plan = ss.plan(text, topology=topology, dims={"I": n, "J": n}, algorithm=algorithm)
    (step,) = collectives(plan)
    return step.price.wire_bytes  # of one byte each


GATHER, EXCHANGE = "AllGather_X int8[I_X, J]", "AllToAll_{X,J} int8[I_X, J]"


def test_question_10() -> None:
    """n^2 (1 - 1/D) for D = 4; half of it for an AllToAll, D = 8; a quarter of V both ways."""
    assert over_one_link(GATHER, 4, "one_direction") == 786_432
    assert over_one_link(EXCHANGE, 8, "one_direction") == 458_752
    for chips in (2, 4, 8, 16):
        half = over_one_link(EXCHANGE, chips, "one_direction") / over_one_link(
            GATHER, chips, "one_direction"
        )
        assert half == Fraction(1, 2)
    # the footnote on 8 chips: N^2/4 = 16 blocks leave each chip, over both links together
    assert over_one_link(EXCHANGE, 8, "balanced", n=8) == 16


# One collective over N chips, V = 10^9 bytes, w = 45 GB/s, no latency: the chapter's formulas
# without their approximations ((N-1)/N of the array; on a line one link, one way)

RING, LINE, ONE_WAY = "balanced", "line", "one_direction"
EXACT = [
    ("AllGather", LINE, 2, 0.0111111),
    ("AllGather", LINE, 4, 0.0166667),
    ("AllGather", LINE, 8, 0.0194444),
    ("AllGather", LINE, 16, 0.0208333),
    ("AllGather", RING, 3, 0.00740741),
    ("AllGather", RING, 4, 0.00833333),
    ("AllGather", RING, 8, 0.00972222),
    ("AllToAll", RING, 2, 0.00277778),
    ("AllToAll", RING, 4, 0.00277778),
    ("AllToAll", RING, 8, 0.00277778),
    ("AllToAll", RING, 16, 0.00277778),
    ("AllToAll", LINE, 2, 0.00555556),
    ("AllToAll", LINE, 3, 0.00493827),
    ("AllToAll", LINE, 4, 0.00555556),
    ("AllToAll", LINE, 16, 0.00555556),
    ("AllToAll", ONE_WAY, 3, 0.00740741),
    ("AllToAll", ONE_WAY, 8, 0.00972222),
    ("AllToAll", ONE_WAY, 16, 0.0104167),
]


@pytest.mark.parametrize(("collective", "algorithm", "n", "seconds"), EXACT)
def test_closed_forms(collective: str, algorithm: str, n: int, seconds: float) -> None:
    kind = CollectiveKind.ALL_GATHER if collective == "AllGather" else CollectiveKind.ALL_TO_ALL

    form = all_gather if kind is CollectiveKind.ALL_GATHER else all_to_all

    def time(size: int, w: int) -> Fraction:
        link = Link(Fraction(w), Fraction(0))
        return form(Fraction(size), n, link, Algorithm(algorithm), LatencyModel.ADDITIVE).total

    assert close(time(10**9, 45 * 10**9), seconds)
    assert close(time(2 * 10**9, 45 * 10**9), 2 * seconds)
    assert close(time(10**9, 90 * 10**9), seconds / 2)


@pytest.mark.parametrize(
    ("collective", "algorithm", "n", "seconds"), [row for row in EXACT if row[2] != 3]
)
def test_simulated(collective: str, algorithm: str, n: int, seconds: float) -> None:
    """The same hop by hop; 10^9 bytes cannot be cut in three."""
    kind = "line" if algorithm == LINE else "ring"
    result = ss.run(
        {"AllGather": GATHER, "AllToAll": EXCHANGE}[collective],
        topology=machine("v5e", (n, kind), w=45e9),
        dims={"I": 10**9 // 16, "J": 16},
        algorithm=algorithm,
    )
    assert close(result.totals.simulated_seconds, seconds)
