"""Which collectives and matmuls of a plan are done together, in which form, and why."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.catalogue import find_topology
from shardsim.cost import CostModel, Wanted
from shardsim.errors import PlanError
from shardsim.hardware import Link
from shardsim.mesh import lay_mesh
from shardsim.overlap import decompose
from shardsim.planner import Plan
from shardsim.topology import Topology
from shardsim.vocabulary import Algorithm, Form, Policy, Relation
from tests.machines import machine, planned
from tests.together import decided, plan_of, slow_chip

RING = machine((4, "ring"))
GRID = machine((4, "ring"), (2, "line"))
CUBE = machine((4, "ring"), (2, "ring"), (2, "ring"))
MATMUL = "A[I, J] · B[J, K] -> C[I, K]"
GATHER = "AllGather_X A[I_X, J] -> A[I, J]"
LOCAL = "A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]{U_X}"
SCATTER = "ReduceScatter_{X,I} C[I, K]{U_X} -> C[I_X, K]"
REDUCE = "AllReduce_X C[I, K]{U_X} -> C[I, K]"


def pairs(plan: Plan) -> list[tuple[int, int]]:
    """The steps that are considered together, collective and matmul."""
    return [(one.collective, one.matmul) for one in decided(plan)[1]]


# Which.

FOUND = {
    "gathered for it": ([GATHER, MATMUL], [(0, 1)]),
    "gathered on the right": (["AllGather_X B[J, K_X] -> B[J, K]", MATMUL], [(0, 1)]),
    "scattered after it": ([LOCAL, SCATTER], [(1, 0)]),
    "reduced after it": ([LOCAL, REDUCE], [(1, 0)]),
    "both operands gathered": (
        [GATHER, "AllGather_X B[J_X, K] -> B[J, K]", MATMUL],
        [(0, 2), (1, 2)],
    ),
    "another step in between": (
        [GATHER, "D[I, K] · E[K, L] -> F[I, L]", MATMUL],
        [(0, 2)],
    ),
    # what two matmuls read is gathered for both
    "gathered for two": ([GATHER, MATMUL, "A[I, J] · D[J, K] -> E[I, K]"], []),
    "gathered for both sides": ([GATHER, "A[I, J] · A[I, J] -> C[I]"], []),
    "gathered for nobody": ([GATHER], []),
    "reduced after another matmul": (
        [LOCAL, "D[I, J_X] ·_LOCAL E[J_X, K] -> F[I, K]{U_X}", REDUCE],
        [],
    ),
    "reduced after none": ([REDUCE], []),
    "an AllToAll": (["AllToAll_{X,J} A[I_X, J] -> A[I, J_X]", LOCAL], []),
    "no collective": ([MATMUL], []),
}


@pytest.mark.parametrize("what", FOUND)
def test_what_is_considered(what: str) -> None:
    lines, found = FOUND[what]
    assert pairs(plan_of(*lines)) == found


def test_a_chain_has_several() -> None:
    """Gathered for the first matmul and the second; what comes after the second is no sum."""
    plan = planned(
        ["A[I_X, J] · B[J_X, K] -> C[I_X, K]", "C[I_X, K] · D[K, L_X] -> E[I, L]"],
        RING,
        dict.fromkeys("IJKL", 16),
        policy=Policy.TEXTBOOK,
    )
    made, considered = decided(plan)
    assert [(one.collective, one.matmul) for one in considered] == [(0, 1), (2, 3)]
    assert [(one.collective, one.matmul) for one in made.decomposed] == [(0, 1), (2, 3)]
    assert [one.text for one in considered] == [
        "AllGather_X of B, then the matmul",
        "AllGather_X of C, then the matmul",
    ]


# Why not.


UNEVEN = machine(
    (4, "ring"), changed=[(((2,), (0, +1)), Link(Fraction(10**9), Fraction(1, 10**6)))]
)


def on_mesh(line: str, topology: Topology, **sizes: int) -> Plan:
    mesh = lay_mesh(topology, sizes)
    return planned([line, MATMUL], topology, dict.fromkeys("IJK", 16), mesh=mesh)


HINDERED = [
    (
        on_mesh("AllGather_XY A[I_X, J_Y] -> A[I, J]", GRID, X=4, Y=2),
        "it joins I and J at once",
    ),
    (
        on_mesh(GATHER, GRID, X=8),
        "X lies on 2 rings, lines or switches: its chunks take no one way round",
    ),
    # the major axis is the one that would go with the matmul
    (
        on_mesh("AllGather_XY A[I_XY, J] -> A[I, J]", CUBE, X=8, Y=2),
        "X, Y lies on 3 rings, lines or switches: its chunks take no one way round",
    ),
    # two chips of a ring of four, next to each other or not
    (on_mesh(GATHER, RING, X=2, Y=2), "the steps along X share links, or their links differ"),
    (
        plan_of(
            "A[I, J_X] ·_LOCAL B[I, J_X] -> C[]{U_X}", "AllReduce_X C[]{U_X} -> C[]"
        ),
        "a single number cannot be cut",
    ),
    (
        plan_of(
            LOCAL, REDUCE,
            topology=machine((4, "switch"), reduces=True), algorithm=Algorithm.IN_NETWORK,
        ),
        "the switch adds it in chunks of its own",
    ),
    (
        plan_of(GATHER, MATMUL, chunks=2),
        "it is asked for in 2 chunks; ring steps have one for each chip",
    ),
    # one link of the ring is slow
    (
        plan_of(GATHER, MATMUL, topology=UNEVEN),
        "the steps along X share links, or their links differ",
    ),
    (
        plan_of(LOCAL, SCATTER, topology=UNEVEN),
        "the steps along X share links, or their links differ",
    ),
    (
        plan_of(LOCAL, REDUCE, topology=UNEVEN),
        "the steps along X share links, or their links differ",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "reason"), HINDERED, ids=[str(i) for i in range(len(HINDERED))])
def test_why_two_steps_cannot_be_done_together(plan: Plan, reason: str) -> None:
    made, (considered,) = decided(plan)
    assert considered.why == f"one after the other: {reason}"
    assert not considered.ways
    assert considered.chosen is None
    assert made == plan


def test_two_chips_side_by_side_are_a_line() -> None:
    made, (considered,) = decided(on_mesh("AllGather_Y A[I_Y, J] -> A[I, J]", RING, X=2, Y=2))
    assert [way.form for way in considered.ways] == [Form.OWN_CHUNK_FIRST]
    assert len(made.decomposed) == 1


def test_rows_that_cannot_be_cut() -> None:
    """5 x 7 of the sum on each chip: no number of chunks divides 5 or 7."""
    plan = planned([LOCAL, REDUCE], RING, {"I": 5, "J": 4, "K": 7})
    made, (considered,) = decided(plan)
    assert considered.why == "one after the other: no part of K or I divides evenly"
    assert made == plan


# The forms.

FORMS = {
    # rows on a chip, chips
    ("ring", "gather", 4, 4): {"own_chunk_first", "half_chunks", "pairs", "one_direction"},
    # an odd number of rows cannot be halved, an odd number of chips has no pairs
    ("ring", "gather", 3, 4): {"own_chunk_first", "pairs", "one_direction"},
    ("ring", "gather", 4, 3): {"own_chunk_first", "half_chunks", "one_direction"},
    ("ring", "scatter", 3, 3): {"own_chunk_first", "one_direction", "unpipelined"},
    ("line", "gather", 4, 4): {"own_chunk_first"},
    ("line", "scatter", 4, 4): {"own_chunk_first"},
    ("switch", "gather", 4, 4): {"own_chunk_first", "one_direction"},
    ("switch", "scatter", 4, 4): {"own_chunk_first", "one_direction", "unpipelined"},
    ("ring", "reduce", 4, 4): {"chunks"},
    ("line", "reduce", 4, 4): {"chunks"},
}


@pytest.mark.parametrize(("kind", "what", "rows", "n"), FORMS)
def test_forms(kind: str, what: str, rows: int, n: int) -> None:
    lines = {"gather": [GATHER, MATMUL], "scatter": [LOCAL, SCATTER], "reduce": [LOCAL, REDUCE]}
    plan = planned(lines[what], machine((n, kind)), {"I": rows * n, "J": n, "K": 2 * n})
    made, (considered,) = decided(plan)
    assert {way.form.value for way in considered.ways} == FORMS[kind, what, rows, n]
    assert list(considered.ways) == sorted(considered.ways, key=lambda way: way.seconds)
    fastest, (pair,) = considered.ways[0], made.decomposed
    assert considered.chosen is pair.form is fastest.form
    assert (pair.parts, pair.part_seconds, pair.seconds, pair.relation) == (
        fastest.parts, fastest.part_seconds, fastest.seconds, fastest.relation,
    )  # fmt: skip


def test_a_measured_library_has_one_form() -> None:
    """Its curves stand for rings of messages; others would be counted on top of them."""
    topology = find_topology("h100-measured:8")
    plan = planned([GATHER, MATMUL], topology, {"I": 1024, "J": 1024, "K": 1024})
    _, (considered,) = decided(plan)
    assert [way.form for way in considered.ways] == [Form.ONE_DIRECTION]


def test_an_all_reduce_is_cut_where_that_is_fastest() -> None:
    """Into as many parts as pay, along the dimension whose parts are done soonest."""
    plan = planned([LOCAL, REDUCE], RING, {"I": 64, "J": 4, "K": 6})
    _, (considered,) = decided(plan)
    assert {way.parts for way in considered.ways} == {2, 4, 8, 16}
    assert all(way.relation is Relation.EQUAL for way in considered.ways)
    on_line = planned([LOCAL, REDUCE], machine((4, "line")), {"I": 64, "J": 4, "K": 6})
    _, (considered,) = decided(on_line)
    assert all(way.relation is Relation.UPPER_BOUND for way in considered.ways)
    wide = planned([LOCAL, REDUCE], RING, {"I": 3, "J": 4, "K": 64})
    made, _ = decided(wide)
    assert made.decomposed[0].dim == "K"


def test_an_algorithm_that_is_asked_for_leaves_its_forms() -> None:
    forms = {
        Algorithm.BALANCED: [Form.OWN_CHUNK_FIRST],
        Algorithm.HALF_SHARDS: [Form.HALF_CHUNKS],
        Algorithm.WHOLE_SHARDS: [Form.PAIRS],
        Algorithm.ONE_DIRECTION: [Form.ONE_DIRECTION],
    }
    plan = plan_of(GATHER, MATMUL)
    for algorithm, found in forms.items():
        _, (considered,) = decompose(plan, CostModel(wanted=Wanted(algorithm)))
        assert [way.form for way in considered.ways] == found
    odd = plan_of(GATHER, MATMUL, extents=4)
    made, (considered,) = decompose(odd, CostModel(wanted=Wanted(Algorithm.HALF_SHARDS)))
    assert considered.why == "one after the other: no form has the algorithm half_shards"
    assert made == odd


# What is asked.


@pytest.mark.parametrize("form", [f for f in Form if f not in (Form.CHUNKS, Form.UNPIPELINED)])
def test_a_form_that_is_asked_for(form: Form) -> None:
    made, (considered,) = decided(plan_of(GATHER, MATMUL), form=form)
    assert [way.form for way in considered.ways] == [form]
    (pair,) = made.decomposed
    assert pair.form is form


NOT_THERE = [
    (
        [GATHER, MATMUL],
        Form.CHUNKS,
        "nothing in this plan can be done in the form chunks",
        "choose own_chunk_first, half_chunks, pairs or one_direction, or leave the form out",
    ),
    (
        [LOCAL, REDUCE],
        Form.PAIRS,
        "nothing in this plan can be done in the form pairs",
        "choose chunks, or leave the form out",
    ),
    (
        [MATMUL],
        Form.PAIRS,
        "nothing in this plan can be done in the form pairs: no AllGather or ReduceScatter along "
        "one ring, line or switch, and no AllReduce, goes with a matmul",
        "leave the form out, or overlap: async",
    ),
]


@pytest.mark.parametrize(("lines", "form", "message", "hint"), NOT_THERE)
def test_a_form_that_cannot_be(lines: list[str], form: Form, message: str, hint: str) -> None:
    with pytest.raises(PlanError) as caught:
        decided(plan_of(*lines), form=form)
    assert caught.value.message == message
    assert caught.value.hint == hint


SOME_CAN = [
    *(GATHER, MATMUL, "D[I, J_X] ·_LOCAL E[J_X, K] -> F[I, K]{U_X}"),
    "AllReduce_X F[I, K]{U_X} -> F[I, K]",
]


def test_a_form_that_only_some_can_have() -> None:
    """The others stay apart."""
    made, considered = decided(plan_of(*SOME_CAN), form=Form.CHUNKS)
    assert [one.chosen for one in considered] == [None, Form.CHUNKS]
    assert [(pair.collective, pair.matmul) for pair in made.decomposed] == [(3, 2)]
    made, considered = decided(plan_of(*SOME_CAN), form=Form.PAIRS)
    assert [one.chosen for one in considered] == [Form.PAIRS, None]
    assert [(pair.collective, pair.matmul) for pair in made.decomposed] == [(0, 1)]


@pytest.mark.parametrize(("form", "number"), [(Form.CHUNKS, 0), (Form.PAIRS, 1)])
def test_why_others_do_not_have_it(form: Form, number: int) -> None:
    _, considered = decided(plan_of(*SOME_CAN), form=form)
    why = f"one after the other: it cannot be done in the form {form.value}"
    assert considered[number].why == why


def test_a_matmul_goes_with_the_collective_that_saves_most() -> None:
    big, small = "AllGather_X A[I_X, J] -> A[I, J]", "AllGather_X B[J, K_X] -> B[J, K]"
    for lines, chosen in (([big, small, MATMUL], 0), ([small, big, MATMUL], 1)):
        chip = slow_chip(flops=10**11)
        plan = planned(lines, machine((4, "ring"), chip=chip), {"I": 4096, "J": 64, "K": 256})
        made, considered = decided(plan)
        assert [(pair.collective, pair.matmul) for pair in made.decomposed] == [(chosen, 2)]
        assert [one.chosen is not None for one in considered] == [chosen == 0, chosen == 1]
        assert considered[1 - chosen].why.startswith(
            "one after the other: the matmul goes with another collective (own_chunk_first: "
        )
        assert "one after the other" in considered[chosen].why
        assert " instead of " in considered[chosen].why
