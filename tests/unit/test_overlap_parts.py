"""What a part of a matmul costs, whether it pays to do it with a collective, and the new plan."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from shardsim.cost import CostModel
from shardsim.hardware import Chip
from shardsim.oracle import execute_all
from shardsim.overlap.forms import part_seconds
from shardsim.planner import CollectiveStep, MatmulStep, Plan
from shardsim.vocabulary import Algorithm, Form
from tests.machines import machine, planned
from tests.together import decided, plan_of, slow_chip

GRID = machine((4, "ring"), (2, "line"))
MATMUL = "A[I, J] · B[J, K] -> C[I, K]"
GATHER = "AllGather_X A[I_X, J] -> A[I, J]"
LOCAL = "A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]{U_X}"
SCATTER = "ReduceScatter_{X,I} C[I, K]{U_X} -> C[I_X, K]"
OVER_BOTH = "A[I, J_XY] ·_LOCAL B[J_XY, K] -> C[I, K]{U_XY}"


# An HBM of one byte a second, or a core of one FLOP: a part takes its traffic, or its FLOPs.


BY_TRAFFIC = slow_chip(hbm=1)
EXTENTS = {"I": 16, "J": 8, "K": 32, "L": 4}
BATCHES = "A[L, I, J] · B[L, J, K] -> C[L, I, K]"

TRAFFIC = [
    # lines, dimension, parts; bytes of a part. A has 256 bytes, B 512 and C 1024
    ([MATMUL], "I", 4, 64 + 512 + 256),
    ([MATMUL], "I", 8, 32 + 512 + 128),
    ([MATMUL], "K", 4, 256 + 128 + 256),
    # C is a sum, read and written by every part
    ([MATMUL], "J", 4, 64 + 128 + 2 * 1024),
    # A, B and C of each of four batches
    ([BATCHES], "L", 4, 256 + 512 + 1024),
    # in every part all of A (or B), of all batches
    ([BATCHES], "K", 4, 4 * (256 + 128 + 256)),
    # a chip has a quarter of A, 64 bytes, and of B, 128
    ([LOCAL], "I", 4, 16 + 128 + 256),
    ([LOCAL], "K", 4, 64 + 32 + 256),
    ([LOCAL], "I", 2, 32 + 128 + 512),
    ([LOCAL], "K", 2, 64 + 64 + 512),
]


def matmul_of(lines: list[str], chip: Chip) -> MatmulStep:
    plan = plan_of(*lines, topology=machine((4, "ring"), chip=chip), extents=EXTENTS)
    return next(step for step in plan.steps if isinstance(step, MatmulStep))


@pytest.mark.parametrize(("lines", "dim", "parts", "traffic"), TRAFFIC)
def test_traffic_of_a_part(lines: list[str], dim: str, parts: int, traffic: int) -> None:
    assert part_seconds(matmul_of(lines, BY_TRAFFIC), dim, parts, CostModel()) == traffic


WORK = [
    # dimension, parts, tile; FLOPs of a part: 2 * 16 * 8 * 32 = 8192 in one
    ("I", 4, 1, 2048),
    ("J", 4, 1, 2048),
    ("K", 4, 1, 2048),
    # 4 rows do 8
    ("I", 4, 8, 4096),
    ("I", 2, 8, 4096),
    ("K", 4, 8, 2048),
    ("J", 4, 8, 8192),
    # half a row is a row of the tile too
    ("I", 32, 8, 4096),
]


@pytest.mark.parametrize(("dim", "parts", "tile", "flops"), WORK)
def test_work_of_a_part(dim: str, parts: int, tile: int, flops: int) -> None:
    matmul = matmul_of([MATMUL], slow_chip(flops=1))
    assert part_seconds(matmul, dim, parts, CostModel(tile=tile)) == flops


def test_a_part_is_in_the_decomposition() -> None:
    """Gathered rows: 4 parts of 832 bytes, or 8 of 672."""
    topology = machine((4, "ring"), chip=BY_TRAFFIC)
    plan = planned([GATHER, MATMUL], topology, {"I": 16, "J": 8, "K": 32})
    made, (considered,) = decided(plan)
    assert {(way.form, way.parts, way.part_seconds) for way in considered.ways} == {
        (Form.OWN_CHUNK_FIRST, 4, Fraction(832)),
        (Form.PAIRS, 4, Fraction(832)),
        (Form.ONE_DIRECTION, 4, Fraction(832)),
        (Form.HALF_CHUNKS, 8, Fraction(672)),
    }
    (pair,) = made.decomposed
    assert (pair.form, pair.parts, pair.part_seconds) == (Form.OWN_CHUNK_FIRST, 4, Fraction(832))
    assert pair.seconds == 4 * 832


# Only where it pays.


def test_what_is_slower_stays_apart() -> None:
    """B is read four times: 4 * 832 s on the core, and not 1792 s."""
    topology = machine((4, "ring"), chip=BY_TRAFFIC)
    plan = planned([GATHER, MATMUL], topology, {"I": 16, "J": 8, "K": 32})
    made, (considered,) = decided(plan, only_faster=True)
    assert made == plan
    assert considered.chosen is None
    assert considered.apart == sum(step.seconds for step in plan.steps)
    assert considered.why == (
        "one after the other: 1792 s; the fastest form, own_chunk_first, takes 3328 s"
    )
    made, (considered,) = decided(plan)
    assert considered.chosen is Form.OWN_CHUNK_FIRST
    assert considered.why == (
        "own_chunk_first: 3328 s though it is no faster than 1792 s one after the other"
    )


def test_what_is_faster_is_done_together() -> None:
    plan = plan_of(GATHER, MATMUL)
    made, (considered,) = decided(plan, only_faster=True)
    assert len(made.decomposed) == 1
    assert considered.ways[0].seconds < considered.apart


def test_what_is_to_stay_apart_does() -> None:
    plan = plan_of(
        GATHER, MATMUL, "AllGather_X D[K_X, L] -> D[K, L]", "C[I, K] · D[K, L] -> E[I, L]"
    )
    made, considered = decided(plan, apart={0: "it is hidden"})
    assert [one.chosen for one in considered] == [None, Form.OWN_CHUNK_FIRST]
    assert [(pair.collective, pair.matmul) for pair in made.decomposed] == [(2, 3)]
    assert made.steps[:2] == plan.steps[:2]
    assert considered[0].why.startswith("one after the other: it is hidden (own_chunk_first: ")
    made, _ = decided(plan, apart=dict.fromkeys([0, 2], "so"))
    assert made == plan


# What comes of the plan.


def texts(plan: Plan) -> list[str]:
    return [step.text for step in plan.steps]


def test_a_collective_is_done_as_its_form_does_it() -> None:
    plan = plan_of(GATHER, MATMUL)
    algorithms = {
        Form.OWN_CHUNK_FIRST: Algorithm.BALANCED,
        Form.HALF_CHUNKS: Algorithm.HALF_SHARDS,
        Form.PAIRS: Algorithm.WHOLE_SHARDS,
        Form.ONE_DIRECTION: Algorithm.ONE_DIRECTION,
    }
    for form, algorithm in algorithms.items():
        made, _ = decided(plan, form=form)
        step = made.steps[0]
        assert isinstance(step, CollectiveStep)
        assert step.call.method.algorithms == (algorithm,)
        assert step.price == CostModel().collective(step.call)
        assert texts(made) == texts(plan)
        assert made.statements == plan.statements


def test_an_all_gather_over_two_axes_is_done_in_two() -> None:
    """The minor axis first; then the major one, whose chunks the matmul waits for."""
    lines = ["AllGather_XY A[I_XY, J] -> A[I, J]", MATMUL, "C[I, K] · D[K, L] -> E[I, L]"]
    plan = plan_of(*lines, topology=GRID)
    made, (considered,) = decided(plan)
    assert texts(made) == [
        "AllGather_Y A[I_XY, J] -> A[I_X, J]",
        "AllGather_X A[I_X, J] -> A[I, J]",
        MATMUL,
        "C[I, K] · D[K, L] -> E[I, L]",
    ]
    assert made.statements == (0, 0, 1, 2)
    assert made.dependencies() == ((), (0,), (1,), (2,))
    assert made.inputs == plan.inputs
    assert made.results == plan.results
    assert [(p.collective, p.matmul, p.dim) for p in made.decomposed] == [(1, 2, "I")]
    assert (considered.collective, considered.matmul) == (1, 2)
    assert considered.text == "AllGather_XY of A, then the matmul"
    assert considered.why.startswith("own_chunk_first, with AllGather_Y of A (1.0")
    assert considered.apart == plan.steps[0].seconds + plan.steps[1].seconds


def test_a_reduce_scatter_over_two_axes_is_done_in_two() -> None:
    """The major axis first, whose chunks the matmul makes."""
    plan = plan_of(
        OVER_BOTH, "ReduceScatter_{XY,I} C[I, K]{U_XY} -> C[I_XY, K]",
        "C[I_XY, K] · D[K, L] -> E[I_XY, L]", topology=GRID,
    )  # fmt: skip
    made, (considered,) = decided(plan)
    assert texts(made)[1:3] == [
        "ReduceScatter_{X,I} C[I, K]{U_XY} -> C[I_X, K]{U_Y}",
        "ReduceScatter_{Y,I} C[I_X, K]{U_Y} -> C[I_XY, K]",
    ]
    assert made.statements == (0, 1, 1, 2)
    assert made.dependencies() == ((), (0,), (1,), (2,))
    assert made.results == plan.results
    assert [(p.collective, p.matmul) for p in made.decomposed] == [(1, 0)]
    assert (considered.collective, considered.matmul) == (1, 0)


def test_indices_are_those_of_the_new_plan() -> None:
    """Each split moves what follows it."""
    plan = plan_of(
        "AllGather_XY A[I_XY, J] -> A[I, J]", MATMUL,
        "AllGather_XY D[K_XY, L] -> D[K, L]", "C[I, K] · D[K, L] -> E[I, L]", topology=GRID,
    )  # fmt: skip
    made, considered = decided(plan)
    assert [(one.collective, one.matmul) for one in considered] == [(1, 2), (4, 5)]
    assert [(pair.collective, pair.matmul) for pair in made.decomposed] == [(1, 2), (4, 5)]
    assert made.statements == (0, 0, 1, 2, 2, 3)
    assert len({step.result.number for step in made.steps}) == 6
    made, considered = decided(plan, apart={0: "so"})
    assert [(one.collective, one.matmul) for one in considered] == [(0, 1), (3, 4)]
    assert [(pair.collective, pair.matmul) for pair in made.decomposed] == [(3, 4)]


PARTS_OF_AXES = {
    "gathered, a part stays": (
        "AllGather_{X:(2)2,Y,Z} A[I_XYZ, J] -> A[I_{X:(1)2}, J]",
        "A[I_{X:(1)2}, J] · B[J, K] -> C[I_{X:(1)2}, K]",
    ),
    "scattered, a part is there": (
        "A[I_{X:(1)2}, J_{X:(2)2,Y,Z}] ·_LOCAL B[J_{X:(2)2,Y,Z}, K] "
        "-> C[I_{X:(1)2}, K]{U_{X:(2)2,Y,Z}}",
        "ReduceScatter_{X:(2)2,Y,Z,I} C[I_{X:(1)2}, K]{U_{X:(2)2,Y,Z}} -> C[I_XYZ, K]",
    ),
    "scattered, a part first, the rest stays a sum": (
        "A[I, J_XYZ] ·_LOCAL B[J_XYZ, K] -> C[I, K]{U_XYZ}",
        "ReduceScatter_{X:(2)2,Y,I} C[I, K]{U_XYZ} -> C[I_{X:(2)2,Y}, K]{U_{X:(1)2,Z}}",
    ),
    "scattered, a part last, the rest stays a sum": (
        "A[I, J_XYZ] ·_LOCAL B[J_XYZ, K] -> C[I, K]{U_XYZ}",
        "ReduceScatter_{Y,X:(2)2,I} C[I, K]{U_XYZ} -> C[I_{Y,X:(2)2}, K]{U_{X:(1)2,Z}}",
    ),
}


@pytest.mark.parametrize("what", PARTS_OF_AXES)
def test_parts_of_axes(what: str) -> None:
    """However it is done, all chips of the collective take part, and the answer is the same."""
    topology = machine((4, "ring"), (2, "ring"), (2, "ring"))
    plan = plan_of(*PARTS_OF_AXES[what], topology=topology)
    made, _ = decided(plan)
    counts = [
        math.prod(step.call.group.size for step in one.steps if isinstance(step, CollectiveStep))
        for one in (plan, made)
    ]
    assert counts[0] == counts[1]
    rng = np.random.default_rng(0)
    arrays = {name: rng.integers(-9, 10, v.sharded.extents) for name, v in plan.inputs}
    for expected, found in zip(execute_all(plan, arrays), execute_all(made, arrays), strict=True):
        assert np.array_equal(found, expected)


def test_considered_in_json() -> None:
    _, (considered,) = decided(plan_of(LOCAL, SCATTER), form=Form.UNPIPELINED)
    (way,) = considered.ways
    assert considered.to_dict() == {
        "steps": [0, 1],
        "text": "matmul, then ReduceScatter_X of C",
        "apart_seconds": float(considered.apart),
        "forms": [
            {
                "form": "unpipelined",
                "parts": 4,
                "part_seconds": float(way.part_seconds),
                "exact_seconds": float(way.seconds),
                "relation": "equal",
                "formula": "4c + 3h",
            }
        ],
        "chosen": "unpipelined",
        "why": considered.why,
    }
