"""Plans beside those of compilers: never wrong, and never more bytes at no more FLOPs.

`tests/data/compiler_plans.jsonl` has 1,638 sharded einsums in f32, and for each what three plans
come to, in bytes that every chip originates and FLOPs of a chip: XLA's partitioner after GSPMD
propagation and after Shardy propagation (JAX 0.10.2 on CPU), and Shardy's own planner. Bytes are
counted as on a crossbar, so the chips here stand at one switch.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from shardsim.cost import CostModel
from shardsim.mesh import Mesh, lay_mesh
from shardsim.notation import parse
from shardsim.oracle import execute
from shardsim.planner import Plan, make_plan
from shardsim.program import Dtypes, bind_program
from shardsim.vocabulary import Dtype, IdleAxes, Objective, Policy
from tests.machines import CHIP, machine

DATA = Path(__file__).parents[1] / "data" / "compiler_plans.jsonl"
PARTS = 16

pytestmark = pytest.mark.fixed


class Row(NamedTuple):
    """One einsum, and the (bytes, FLOPs) of three compilers' plans."""

    suite: str
    mesh: dict[str, int]
    einsum: str
    dims: dict[str, int]
    a: str
    b: str
    c: str
    gspmd: tuple[int, int]
    shardy_in_xla: tuple[int, int]
    shardy: tuple[int, int]

    @property
    def text(self) -> str:
        a, b, c = (array.replace(",", ", ") for array in (self.a, self.b, self.c))
        return f"A[{a}] · B[{b}] -> C[{c}]"

    @property
    def compilers(self) -> tuple[tuple[int, int], ...]:
        return self.gspmd, self.shardy_in_xla, self.shardy


ROWS = [Row(*json.loads(line)) for line in DATA.read_text().splitlines()]


@lru_cache
def mesh_of(sizes: tuple[tuple[str, int], ...]) -> Mesh:
    chip = replace(CHIP, peaks=((Dtype.F32, Fraction(10**14)),))
    switch = machine((math.prod(size for _, size in sizes), "switch"), chip=chip)
    return lay_mesh(switch, dict(sizes))


def planned(row: Row, most_flops: int | None = None, idle_axes: IdleAxes = IdleAxes.LEAVE) -> Plan:
    mesh = mesh_of(tuple(row.mesh.items()))
    program = bind_program((parse(row.text),), mesh, row.dims, Dtypes(Dtype.F32))
    return make_plan(
        program,
        CostModel(),
        objective=Objective.BYTES,
        most_flops=most_flops,
        idle_axes=idle_axes,
    )


def figures(plan: Plan) -> tuple[Fraction, int]:
    way = plan.choices[0].chosen
    return way.wire_bytes, way.flops


def test_the_rows() -> None:
    assert len(ROWS) == 1638
    assert Counter(row.suite for row in ROWS) == {
        "1d2": 12, "1d4": 13, "1d8": 10, "2x2": 485, "4x2": 616, "2x2x2": 246,
        "bmm": 70, "attn": 68, "mlp_in": 67, "mlp_out": 51,
    }  # fmt: skip


@pytest.mark.parametrize("part", range(PARTS))
def test_right_on_numbers_and_fewer_bytes_than_compilers_send(part: int) -> None:
    rng = np.random.default_rng(part)
    for row in ROWS[part::PARTS]:
        plan = planned(row)
        sent, flops = figures(plan)
        for bytes_sent, compiler_flops in row.compilers:
            assert sent <= bytes_sent, row.text
            if flops > compiler_flops:
                fewer, less = figures(planned(row, compiler_flops, idle_axes(row, compiler_flops)))
                assert fewer <= bytes_sent, row.text
                assert less <= compiler_flops, row.text
        a, b = (rng.integers(-99, 100, value.sharded.extents) for _, value in plan.inputs)
        assert np.array_equal(
            execute(plan, {"A": a, "B": b}), np.einsum(row.einsum.lower(), a, b)
        ), row.text


def idle_axes(row: Row, flops: int) -> IdleAxes:
    """Whether so few FLOPs can only be had with axes that no array names."""
    named = math.prod(size for axis, size in row.mesh.items() if axis in row.a + row.b + row.c)
    can_be_had = flops * named >= 2 * math.prod(row.dims.values())
    return IdleAxes.LEAVE if can_be_had else IdleAxes.USE


def test_two_compiler_plans_use_an_axis_that_no_array_names() -> None:
    found = {
        row.text
        for row in ROWS
        for _, flops in row.compilers
        if idle_axes(row, flops) is IdleAxes.USE
    }
    assert found == {
        "A[I, J_Y] · B[J_Y, K] -> C[I_Y, K]",
        "A[I, J_X] · B[J_X, K] -> C[I_X, K]",
    }


@pytest.mark.parametrize(
    ("text", "einsum", "sizes"),
    [
        ("A[I, J_X] · B[J_X, K] -> C[I_ZY, K_X]", "ij,jk->ik", {"X": 2, "Y": 2, "Z": 2}),
        (
            "A[B_X, I, J_Y] · B[B_X, J_Y, K] -> C[B_Y, I, K_X]",
            "bij,bjk->bik",
            {"X": 4, "Y": 2},
        ),
    ],
)
@pytest.mark.parametrize("kind", ["ring", "line", "switch"])
@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("policy", Policy)
def test_the_smallest_programs_that_a_compiler_gets_wrong(
    text: str, einsum: str, sizes: dict[str, int], kind: str, objective: Objective, policy: Policy
) -> None:
    """They lose the order of two axes on one dimension."""
    topology = machine(*((size, kind) for size in sizes.values()))
    dims = dict.fromkeys(sorted({letter.upper() for letter in einsum if letter.isalpha()}), 8)
    program = bind_program((parse(text),), lay_mesh(topology, sizes), dims)
    plan = make_plan(program, CostModel(), objective=objective, policy=policy)
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-99, 100, value.sharded.extents) for _, value in plan.inputs)
    assert np.array_equal(execute(plan, {"A": a, "B": b}), np.einsum(einsum, a, b))


def test_a_limit_of_flops_that_no_plan_keeps() -> None:
    from shardsim.errors import PlanError

    with pytest.raises(PlanError, match="no plan gives"):
        planned(ROWS[0], 1)
