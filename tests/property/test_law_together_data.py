"""Law: a collective and a matmul done together give numpy's answer, whoever goes first.

And the oracle sees it where they do not: a part done before its chunk is here, a chunk sent before
it is computed, a part that is left out, or done twice, or of another chunk.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shardsim.oracle.together as under_test
from shardsim.call import Call
from shardsim.collectives.attached import Attached, attached_to
from shardsim.cost import CostModel
from shardsim.errors import PlanError, SimulationError
from shardsim.oracle import execute_all
from shardsim.oracle.movement import Turn
from shardsim.overlap import decompose
from shardsim.planner import Plan
from shardsim.topology import Coordinate, Topology
from shardsim.vocabulary import CollectiveKind, DimensionKind, Form
from tests.machines import machine, planned
from tests.strategies import programs
from tests.together import COMBINATIONS, GATHER, SCATTER, TEXTS, done_together

Pick = Callable[[Sequence[Turn]], Turn]

LOCAL = "A[I, J_{0}] ·_LOCAL B[J_{0}, K] -> C[I, K]{{U_{0}}}"
MATMUL = "A[I, J] · B[J, K] -> C[I, K]"
ONE_AXIS = {
    "rows of the left": ("IJ,JK->IK", TEXTS[GATHER]),
    "columns of the left": ("IJ,JK->IK", ["AllGather_X A[I, J_X] -> A[I, J]", MATMUL]),
    "rows of the right": ("IJ,JK->IK", ["AllGather_X B[J_X, K] -> B[J, K]", MATMUL]),
    "columns of the right": (
        "IJ,JK->KI",
        ["AllGather_X B[J, K_X] -> B[J, K]", "A[I, J] · B[J, K] -> C[K, I]"],
    ),
    "rows in batches": (
        "LIJ,LJK->LIK",
        ["AllGather_X A[L, I_X, J] -> A[L, I, J]", "A[L, I, J] · B[L, J, K] -> C[L, I, K]"],
    ),
    "batches": (
        "ILJ,LJK->LIK",
        ["AllGather_X A[I, L_X, J] -> A[I, L, J]", "A[I, L, J] · B[L, J, K] -> C[L, I, K]"],
    ),
    "depth in batches": (
        "LIJ,LJK->ILK",
        ["AllGather_X B[L, J_X, K] -> B[L, J, K]", "A[L, I, J] · B[L, J, K] -> C[I, L, K]"],
    ),
    "into rows": ("IJ,JK->IK", TEXTS[SCATTER]),
    "into columns": (
        "IJ,JK->IK",
        [LOCAL.format("X"), "ReduceScatter_{X,K} C[I, K]{U_X} -> C[I, K_X]"],
    ),
    "into batches": (
        "LIJ,LJK->ILK",
        [
            "A[L, I, J_X] ·_LOCAL B[L, J_X, K] -> C[I, L, K]{U_X}",
            "ReduceScatter_{X,L} C[I, L, K]{U_X} -> C[I, L_X, K]",
        ],
    ),
    "everywhere": ("IJ,JK->IK", TEXTS[CollectiveKind.ALL_REDUCE]),
}
PLAIN = "IJ,JK->IK"
TWO_AXES = {
    "rows of the left": (PLAIN, ["AllGather_XY A[I_XY, J] -> A[I, J]", MATMUL]),
    "rows of the right": (PLAIN, ["AllGather_YX B[J_YX, K] -> B[J, K]", MATMUL]),
    "some of the rows": (
        PLAIN,
        ["AllGather_Y A[I_XY, J] -> A[I_X, J]", "A[I_X, J] · B[J, K] -> C[I_X, K]"],
    ),
    "beside another axis": (
        PLAIN,
        ["AllGather_X A[I_X, J] -> A[I, J]", "A[I, J] · B[J, K_Y] -> C[I, K_Y]"],
    ),
    "into rows": (PLAIN, [LOCAL.format("XY"), "ReduceScatter_{XY,I} C[I, K]{U_XY} -> C[I_XY, K]"]),
    "into columns": (
        PLAIN,
        [LOCAL.format("XY"), "ReduceScatter_{YX,K} C[I, K]{U_XY} -> C[I, K_YX]"],
    ),
    "everywhere": (PLAIN, [LOCAL.format("XY"), "AllReduce_XY C[I, K]{U_XY} -> C[I, K]"]),
}
KINDS = ["ring", "line", "switch"]
kinds = st.sampled_from(KINDS)
seeds = st.integers(0, 9999)
COST = CostModel()


class Case:
    """A collective and a matmul on a machine, with integers.

    Args:
        einsum: What numpy is asked.
        lines: The two statements.
        dimensions: Of the machine.
        each: Rows of every dimension on a chip.
        seed: Of the integers.
    """

    def __init__(
        self,
        einsum: str,
        lines: list[str],
        *dimensions: tuple[int, str],
        each: int = 2,
        seed: int = 0,
    ) -> None:
        topology = machine(*dimensions)
        extents = {dim: each * topology.size for dim in einsum if dim.isalpha()}
        self.plan = planned(lines, topology, extents)
        rng = np.random.default_rng(seed)
        self.arrays: dict[str, Any] = {
            name: rng.integers(-99, 100, value.sharded.extents) for name, value in self.plan.inputs
        }
        product = np.einsum(einsum, self.arrays["A"], self.arrays["B"])
        self.expected: dict[str, Any] = {**self.arrays, "C": product}

    @property
    def forms(self) -> list[Form]:
        """All that can be."""
        _, (considered,) = decompose(self.plan, COST)
        return [way.form for way in considered.ways]

    def is_right(self, form: Form, pick: Pick | None = None) -> bool:
        """Whether both statements give what numpy does, in that form."""
        plan, _ = decompose(self.plan, COST, form=form)
        assert len(plan.decomposed) == 1
        return self.has_right(plan, pick)

    def has_right(self, plan: Plan, pick: Pick | None) -> bool:
        """The same of a plan that does it."""
        try:
            found = execute_all(plan, self.arrays, pick)
        except SimulationError:
            return False
        names = [str(value.sharded.array.name) for value in plan.results]
        return all(
            np.array_equal(self.expected[name], array)
            for name, array in zip(names, found, strict=True)
        )


@pytest.mark.fixed
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", ONE_AXIS)
def test_every_form_on_one_axis(what: str, kind: str) -> None:
    for n in (2, 3, 4, 8):
        case = Case(*ONE_AXIS[what], (n, kind))
        assert case.forms
        for form in case.forms:
            assert case.is_right(form, random.Random(n).choice), (n, form)


@pytest.mark.fixed
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", TWO_AXES)
def test_every_form_on_two_axes(what: str, kind: str) -> None:
    """Where both axes move, the major one goes with the matmul and the other by itself."""
    for sizes in ((2, 2), (4, 2), (3, 4)):
        case = Case(*TWO_AXES[what], (sizes[0], kind), (sizes[1], "ring"))
        assert case.forms
        for form in case.forms:
            assert case.is_right(form, random.Random(sizes[0]).choice), (sizes, form)


@pytest.mark.fixed
@pytest.mark.parametrize("kind", KINDS)
def test_an_all_reduce_in_any_number_of_chunks(kind: str) -> None:
    """A part need not have a row for every chip."""
    for n, parts in ((2, 1), (2, 4), (3, 2), (3, 6), (4, 8), (5, 5), (8, 16)):
        case = Case(*ONE_AXIS["everywhere"], (n, kind))
        plan = done_together(case.plan, Form.CHUNKS, parts, Fraction(1))
        assert case.has_right(plan, random.Random(parts).choice), (n, parts)


@pytest.mark.parametrize("what", ONE_AXIS)
@given(kind=kinds, n=st.integers(2, 8), each=st.integers(1, 4), data=st.data(), seed=seeds)
def test_whoever_goes_first_on_one_axis(
    what: str, kind: str, n: int, each: int, data: st.DataObject, seed: int
) -> None:
    if what == "everywhere":
        each *= 2  # a matmul of an odd number of rows is not cut
    case = Case(*ONE_AXIS[what], (n, kind), each=each, seed=seed)
    form = data.draw(st.sampled_from(case.forms))
    assert case.is_right(form, random.Random(seed).choice)


@given(what=st.sampled_from([*TWO_AXES]), on=st.tuples(kinds, kinds), data=st.data(), seed=seeds)
def test_whoever_goes_first_on_two_axes(
    what: str, on: tuple[str, str], data: st.DataObject, seed: int
) -> None:
    sizes = data.draw(st.sampled_from([(2, 2), (2, 3), (3, 2), (4, 2)]))
    case = Case(*TWO_AXES[what], *zip(sizes, on, strict=True), seed=seed)
    form = data.draw(st.sampled_from(case.forms))
    assert case.is_right(form, random.Random(seed).choice)


@given(case=programs(most=3), form=st.none() | st.sampled_from(Form), seed=seeds)
def test_chains_of_matmuls(
    case: tuple[list[str], Topology, dict[str, int]], form: Form | None, seed: int
) -> None:
    plan = planned(*case)
    try:
        made, _ = decompose(plan, COST, form=form)
    except PlanError:
        made, _ = decompose(plan, COST)
    rng = np.random.default_rng(seed)
    arrays = {name: rng.integers(-9, 10, v.sharded.extents) for name, v in plan.inputs}
    found = execute_all(made, arrays, random.Random(seed).choice)
    expected = arrays["H0"]
    for index, array in enumerate(found):
        expected = expected @ arrays[f"W{index}"]
        assert np.array_equal(array, expected)


# The oracle sees what is wrong.


def cores_first(ready: Sequence[Turn]) -> Turn:
    return next((turn for turn in ready if turn[1] is None), ready[0])


def messages_first(ready: Sequence[Turn]) -> Turn:
    return next((turn for turn in ready if turn[1] is not None), ready[0])


def computed_too_early(attached: Attached) -> Attached:
    return attached._replace(works=tuple(work._replace(needs=()) for work in attached.works))


def sent_too_early(attached: Attached) -> Attached:
    before = {c: tuple(count - 1 for count in counts) for c, counts in attached.before.items()}
    return attached._replace(before=before)


def left_out(attached: Attached) -> Attached:
    return attached._replace(works=attached.works[:-1])


def one_for_another(attached: Attached) -> Attached:
    return attached._replace(works=(*attached.works[:-1], attached.works[0]))


def in_another_order(attached: Attached) -> Attached:
    first, second, *others = attached.works
    return attached._replace(works=(second, first, *others))


FAULTS = {
    GATHER: [computed_too_early, left_out, one_for_another],
    SCATTER: [sent_too_early, left_out, one_for_another, in_another_order],
    CollectiveKind.ALL_REDUCE: [sent_too_early, left_out, one_for_another, in_another_order],
}
PAIRS = [
    *COMBINATIONS,
    *((dimension, Form.CHUNKS, CollectiveKind.ALL_REDUCE) for dimension in DimensionKind),
]


@pytest.mark.parametrize(
    ("dimension", "form", "kind", "fault"),
    [(*pair, fault) for pair in PAIRS for fault in FAULTS[pair[-1]]],
)
def test_the_oracle_sees_a_fault(
    dimension: DimensionKind,
    form: Form,
    kind: CollectiveKind,
    fault: Callable[[Attached], Attached],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def faulty(call: Call, chip: Coordinate, form: Form, parts: int = 1) -> Attached:
        return fault(attached_to(call, chip, form, parts))

    for n in (2, 4) if form is Form.PAIRS else (2, 3, 4):
        case = Case(PLAIN, TEXTS[kind], (n, dimension.value))
        with monkeypatch.context() as patch:
            patch.setattr(under_test, "attached_to", faulty)
            orders = (cores_first, messages_first)
            assert not all(case.is_right(form, pick) for pick in orders), n
        assert all(case.is_right(form, pick) for pick in (None, cores_first, messages_first))
