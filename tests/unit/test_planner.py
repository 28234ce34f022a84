"""Plans: what is done for each placement, and what is said about it.

Which of several plans is taken is in `test_planner_choices.py`. Every dimension is 1024 long.
"""

from __future__ import annotations

import pytest

from shardsim.errors import PlanError
from shardsim.notation import parse
from shardsim.planner import Plan
from shardsim.program import arrays_of
from shardsim.topology import Topology
from shardsim.vocabulary import Policy
from tests.machines import machine, planned

RING = machine((4, "ring"))
GRID = machine((4, "ring"), (2, "line"))


def plan_of(text: str | list[str], topology: Topology = GRID, **settings: object) -> Plan:
    """A plan in which every dimension has the extent 1024."""
    lines = [text] if isinstance(text, str) else text
    arrays = (array for line in lines for array in arrays_of(parse(line)))
    dims = {name: 1024 for array in arrays for name in array.dim_names}
    return planned(lines, topology, dims, **settings)  # type: ignore[arg-type]


def steps(plan: Plan) -> list[str]:
    return [step.text for step in plan.steps]


FOUR_RULES = {
    "rule 1": (
        "A[I_X, J] · B[J, K_Y] -> C[I_X, K_Y]",
        ["A[I_X, J] · B[J, K_Y] -> C[I_X, K_Y]"],
        [
            "X: rule 1: I of A is not contracted: multiply locally",
            "Y: rule 1: K of B is not contracted: multiply locally",
        ],
    ),
    "rule 1, batch": (
        "A[L_X, I, J] · B[L_X, J, K] -> C[L_X, I, K]",
        ["A[L_X, I, J] · B[L_X, J, K] -> C[L_X, I, K]"],
        ["X: rule 1: the batch dimension L is sharded alike in A and B"],
    ),
    "rule 1, cut": (
        "A[I, J] · B[J, K] -> C[I_X, K]",
        ["A[I, J] -> A[I_X, J]", "A[I_X, J] · B[J, K] -> C[I_X, K]"],
        ["X: no operand is sharded over it; the result's I is cut locally"],
    ),
    "rule 2, A": (
        "A[I, J_X] · B[J, K] -> C[I, K]",
        ["AllGather_X A[I, J_X] -> A[I, J]", "A[I, J] · B[J, K] -> C[I, K]"],
        ["X: rule 2: the contracted dimension J is sharded over it in A only: gather A over it"],
    ),
    "rule 2, B": (
        "A[I, J] · B[J_X, K] -> C[I, K]",
        ["AllGather_X B[J_X, K] -> B[J, K]", "A[I, J] · B[J, K] -> C[I, K]"],
        ["X: rule 2: the contracted dimension J is sharded over it in B only: gather B over it"],
    ),
    "rule 2, the other dimension too": (
        "A[I_X, J] · B[J_X, K] -> C[I_X, K]",
        ["AllGather_X B[J_X, K] -> B[J, K]", "A[I_X, J] · B[J, K] -> C[I_X, K]"],
        ["X: rule 2: the contracted dimension J of B is sharded over it: gather B over it, "
         "or move it to I, where the result has it"],
    ),
    "rule 3, AllReduce": (
        "A[I, J_X] · B[J_X, K] -> C[I, K]",
        ["A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}", "AllReduce_X C[I, K]{U_X} -> C[I, K]"],
        ["X: rule 3: the contracted dimension J is sharded over it in both A and B: "
         "multiply locally, then reduce the partial sums"],
    ),
    "rule 3, ReduceScatter": (
        "A[I, J_X] · B[J_X, K] -> C[I, K_X]",
        [
            "A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}",
            "ReduceScatter_{X,K} C[I, K]{U_X} -> C[I, K_X]",
        ],
        ["X: rule 3: the contracted dimension J is sharded over it in both A and B: "
         "multiply locally, then reduce the partial sums"],
    ),
    "rule 3, left unreduced": (
        "A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}",
        ["A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}"],
        ["X: rule 3: the contracted dimension J is sharded over it in both A and B: "
         "multiply locally, then leave the partial sums to the result"],
    ),
    "made unreduced": (
        "A[I, J_X] · B[J, K] -> C[I, K]{U_X}",
        ["B[J, K] -> B[J_X, K]", "A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}"],
        ["X: the result is to be left as partial sums over it: "
         "cut a contracted dimension over it in both A and B"],
    ),
    "rule 4, A": (
        "A[I_X, J] · B[J, K_X] -> C[I, K_X]",
        ["AllGather_X A[I_X, J] -> A[I, J]", "A[I, J] · B[J, K_X] -> C[I, K_X]"],
        ["X: rule 4: it is on I of A and on K of B, neither contracted: gather one of them"],
    ),
    "rule 4, B": (
        "A[I_X, J] · B[J, K_X] -> C[I_X, K]",
        ["AllGather_X B[J, K_X] -> B[J, K]", "A[I_X, J] · B[J, K] -> C[I_X, K]"],
        ["X: rule 4: it is on I of A and on K of B, neither contracted: gather one of them"],
    ),
    # the axis that neither the operands nor the result have stays idle
    "an idle axis": (
        "A[I_X, J] · B[J, K] -> C[I, K]",
        ["A[I_X, J] · B[J, K] -> C[I_X, K]", "AllGather_X C[I_X, K] -> C[I, K]"],
        ["X: rule 1: I of A is not contracted: multiply locally; the result does not keep it, "
         "so gather before or after, whichever costs less"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUR_RULES)
def test_the_four_rules(name: str) -> None:
    statement, expected, reasons = FOUR_RULES[name]
    plan = plan_of(statement, policy=Policy.TEXTBOOK)
    assert steps(plan) == expected
    idle = [axis for axis in "XY" if axis not in statement.replace("{U_X}", "_X")]
    unused = [
        f"{axis}: not used: its {plan.mesh.sizes[axis]} chips all do the same work" for axis in idle
    ]
    # gathered, and on no other dimension: 2 x 1024^3 FLOPs on every chip
    repeated = ["X: idle in the matmul: 4 chips do the same 2.15 GFLOP each"]
    is_idle = not any("_X" in array for array in expected[-1].split(" · "))
    said = [reason for reason in plan.choices[0].reasons if not reason.startswith("cutting over")]
    assert said == [*reasons, *unused, *(repeated if is_idle else [])]
    assert str(plan.result.sharded.array) == statement.split(" -> ")[1]


OPS = {"mm": "matmul", "ag": "all_gather", "rs": "reduce_scatter", "ar": "all_reduce",
       "a2a": "all_to_all", "slice": "slice"}  # fmt: skip
BY_THE_RULES = [
    # A, B, and what is done for C[I, K], C[I_X, K] and C[I, K_X]
    ("I, J", "J, K", "mm", "slice mm", "slice mm"),
    ("I, J", "J_X, K", "ag mm", "slice ag mm", "a2a mm"),
    ("I, J", "J, K_X", "mm ag", "mm a2a", "mm"),
    ("I_X, J", "J, K", "mm ag", "mm", "mm a2a"),
    ("I_X, J", "J_X, K", "ag mm ag", "ag mm", "ag a2a mm"),
    ("I_X, J", "J, K_X", "ag mm ag", "ag mm", "ag mm"),
    ("I, J_X", "J, K", "ag mm", "a2a mm", "ag slice mm"),
    ("I, J_X", "J_X, K", "mm ar", "mm rs", "mm rs"),
    ("I, J_X", "J, K_X", "ag mm ag", "ag mm a2a", "ag mm"),
]
# Where X is on the contracted dimension of one operand only: the rules gather it (19.5 µs). It
# costs less to move X to the operand's other dimension (7.8 µs), multiply a quarter (5.4 µs, not
# 21.5), and gather the result (19.5 µs) or move X there (7.8 µs).
CHEAPER = {
    ("I, J", "J_X, K"): {"I, K": "a2a mm ag", "I_X, K": "a2a mm a2a"},
    ("I, J_X", "J, K"): {"I, K": "a2a mm ag", "I, K_X": "a2a mm a2a"},
}


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("result", ["I, K", "I_X, K", "I, K_X"])
@pytest.mark.parametrize(("a", "b", "plain", "on_i", "on_k"), BY_THE_RULES)
def test_placements_on_one_axis(
    a: str, b: str, plain: str, on_i: str, on_k: str, result: str, policy: Policy
) -> None:
    expected = {"I, K": plain, "I_X, K": on_i, "I, K_X": on_k}[result]
    if policy is Policy.CHEAPEST:
        expected = CHEAPER.get((a, b), {}).get(result, expected)
    plan = plan_of(f"A[{a}] · B[{b}] -> C[{result}]", RING, policy=policy)
    assert [step.op for step in plan.steps] == [OPS[word] for word in expected.split()]


@pytest.mark.parametrize(("a", "b"), CHEAPER)
@pytest.mark.parametrize("result", ["I, K", "I_X, K", "I, K_X"])
def test_the_default_costs_what_the_rules_do_or_less(a: str, b: str, result: str) -> None:
    statement = f"A[{a}] · B[{b}] -> C[{result}]"
    ours, rules = (
        sum(step.seconds for step in plan_of(statement, RING, policy=policy).steps)
        for policy in (Policy.CHEAPEST, Policy.TEXTBOOK)
    )
    assert (ours < rules) == (result in CHEAPER[a, b])
    assert ours <= rules


SEVERAL = {
    "a later statement reads the result as it is": (
        ["A[I, J_X] · B[J_X, K] -> C[I, K_X]", "C[I, K_X] · D[K_X, L] -> E[I, L]{U_X}"],
        ["C[I, K_X] · D[K_X, L] -> E[I, L]{U_X}"],
    ),
    "or otherwise sharded": (
        ["A[I, J_X] · B[J_X, K] -> C[I, K_X]", "C[I_X, K] · D[K, L] -> E[I_X, L]"],
        ["AllToAll_{X,I} C[I, K_X] -> C[I_X, K]", "C[I_X, K] · D[K, L] -> E[I_X, L]"],
    ),
    "or reduced": (
        ["A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}", "C[I, K] · D[K, L] -> E[I, L]"],
        ["AllReduce_X C[I, K]{U_X} -> C[I, K]", "C[I, K] · D[K, L] -> E[I, L]"],
    ),
    "or in a collective": (
        ["A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}",
         "ReduceScatter_{X,K} C[I, K]{U_X} -> D[I, K_X]"],
        ["ReduceScatter_{X,K} C[I, K]{U_X} -> D[I, K_X]"],
    ),
    "an input again, sharded as it was first": (
        ["A[I_X, J] · B[J, K] -> C[I_X, K]", "A[I, J] · D[J, L] -> E[I, L]"],
        ["AllGather_X A[I_X, J] -> A[I, J]", "A[I, J] · D[J, L] -> E[I, L]"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_several_statements(name: str) -> None:
    lines, last = SEVERAL[name]
    plan = plan_of(lines)
    assert steps(plan)[-len(last) :] == last
    assert len(plan.steps) == len(plan_of(lines[0]).steps) + len(last)
    assert len(plan.results) == 2
    assert plan.alternatives is plan.choices[-1].alternatives
    assert [step for choice in plan.choices for step in choice.chosen.steps] == list(plan.steps)


def test_inputs_are_what_the_caller_gives() -> None:
    lines = ["A[I, J_X] · B[J_X, K] -> C[I, K]", "C[I, K] · D[K, L] -> E[I, L]"]
    plan = plan_of(lines)
    assert [(name, str(v.sharded.array)) for name, v in plan.inputs] == [
        ("A", "A[I, J_X]"), ("B", "B[J_X, K]"), ("D", "D[K, L]"),
    ]  # fmt: skip
    # matmul, AllReduce, matmul: each reads the one before
    assert plan.dependencies() == ((), (0,), (1,))


def test_a_slice_reads_what_it_cuts() -> None:
    plan = plan_of("A[I, J] · B[J_X, K] -> C[I_X, K]", policy=Policy.TEXTBOOK)
    assert [step.op for step in plan.steps] == ["slice", "all_gather", "matmul"]
    assert plan.dependencies() == ((), (), (0, 1))
    twice = plan_of(["A[I, J] · B[J, K] -> C[I, K]", "C[I, K] · D[K, L] -> E[I_X, L]"])
    assert [step.op for step in twice.steps] == ["matmul", "slice", "matmul"]
    assert twice.dependencies() == ((), (0,), (1,))


def test_a_result_without_a_name() -> None:
    plan = plan_of(["A[I, J_X] · B[J_X, K] -> [I, K]", "A[I, J_X] · D[J_X, L] -> E[I, L]"])
    assert str(plan.results[0].sharded.array) == "[I, K]"
    assert [step.op for step in plan.steps] == ["matmul", "all_reduce"] * 2


@pytest.mark.parametrize("policy", Policy)
def test_three_operands_from_left_to_right(policy: Policy) -> None:
    """The other order, A · (B · C), costs just as much by default: one gather of 2 MiB too."""
    plan = plan_of("A[I_X, J] · B[J, K] · C[K, L_X] -> D[I, L_X]", policy=policy)
    assert steps(plan) == [
        "A[I_X, J] · B[J, K] -> T1[I_X, K]",
        "AllGather_X T1[I_X, K] -> T1[I, K]",
        "T1[I, K] · C[K, L_X] -> D[I, L_X]",
    ]


@pytest.mark.parametrize("policy", Policy)
def test_names_of_anonymous_operands_and_of_the_product_between(policy: Policy) -> None:
    plan = plan_of("bf16[I, J] · A[J, K] · T1[K, L] -> D[I, L]", policy=policy)
    assert [name for name, _ in plan.inputs] == ["B", "A", "T1"]
    assert steps(plan) == [
        "bf16[I, J] · A[J, K] -> T2[I, K]",
        "T2[I, K] · T1[K, L] -> D[I, L]",
    ]


def test_an_array_without_a_name_is_always_an_input_of_its_own() -> None:
    lines = [
        "AllGather_X [I_X, J] -> [I, J]",
        "AllGather_X [K_X, J] -> [K, J]",
        "A[I] · [I, L] -> [L]",
    ]
    plan = plan_of(lines)
    assert [(name, str(value.sharded.array)) for name, value in plan.inputs] == [
        ("B", "[I_X, J]"), ("C", "[K_X, J]"), ("A", "A[I]"), ("D", "[I, L]"),
    ]  # fmt: skip
    assert [str(value.sharded.array) for value in plan.results] == ["[I, J]", "[K, J]", "[L]"]


def test_a_step_between_statements_is_explained() -> None:
    plan = plan_of(["A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}", "C[I, K] · D[K, L] -> E[I, L]"])
    assert plan.choices[1].text == "C[I, K]{U_X} -> C[I, K]"
    assert plan.choices[1].reasons == ("C is C[I, K]{U_X} here, and is used as C[I, K]",)
    assert [step.op for step in plan.choices[1].chosen.steps] == ["all_reduce"]


PARTIAL_SUMS = [
    # the product of a partial sum is a partial sum: nothing to send
    ("A[I, J]{U_X} · B[J, K] -> C[I, K]{U_X}", ["A[I, J]{U_X} · B[J, K] -> C[I, K]{U_X}"]),
    ("B[I, J] ·_LOCAL A[J, K]{U_X} -> C[I, K]{U_X}", ["B[I, J] · A[J, K]{U_X} -> C[I, K]{U_X}"]),
    # J is long: reduce the small result
    ("A[I, J]{U_X} · B[J, K] -> C[I, K]",
     ["A[I, J]{U_X} · B[J, K] -> C[I, K]{U_X}", "AllReduce_X C[I, K]{U_X} -> C[I, K]"]),
    ("A[I, J_Y]{U_X} · B[J_Y, K] -> C[I, K]{U_XY}",
     ["A[I, J_Y]{U_X} · B[J_Y, K] -> C[I, K]{U_XY}"]),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "expected"), PARTIAL_SUMS)
def test_partial_sums_go_through_a_matmul(statement: str, expected: list[str]) -> None:
    plan = planned(statement, machine((4, "ring"), (2, "line")), {"I": 8, "J": 4096, "K": 8})
    assert steps(plan) == expected
    assert plan.choices[0].reasons[0].startswith("X: A holds partial sums over it")


def test_only_one_operand_can_carry_partial_sums() -> None:
    plan = plan_of("A[I, J]{U_X} · B[J, K]{U_X} -> C[I, K]{U_X}")
    assert [step.op for step in plan.steps].count("matmul") == 1
    assert len(plan.steps) > 1


COLLECTIVES = [
    ("AllGather_Y A[I_XY, J] -> A[I_X, J]", ["AllGather_Y A[I_XY, J] -> A[I_X, J]"]),
    # several axes at once, in the order in which they stand, in whichever they are named
    ("AllGather_XY A[I_XY, J] -> A[I, J]", ["AllGather_XY A[I_XY, J] -> A[I, J]"]),
    ("AllGather_XY A[I_YX, J] -> A[I, J]", ["AllGather_YX A[I_YX, J] -> A[I, J]"]),
    # of two dimensions: one step too
    ("AllGather_XY A[I_X, J_Y] -> A[I, J]", ["AllGather_XY A[I_X, J_Y] -> A[I, J]"]),
    ("AllToAll_{XY,J} A[I_XY, J] -> A[I, J_XY]", ["AllToAll_{X,Y,J} A[I_XY, J] -> A[I, J_XY]"]),
    # the axes change places on the way, so one after the other
    ("AllToAll_{YX,J} A[I_XY, J] -> A[I, J_YX]",
     ["AllToAll_{Y,J} A[I_XY, J] -> A[I_X, J_Y]", "AllToAll_{X,J} A[I_X, J_Y] -> A[I, J_YX]"]),
    # X is not the minor-most axis: Y goes with it, and comes back
    ("AllToAll_{X,J} A[I_XY, J] -> A[I_Y, J_X]",
     ["AllToAll_{X,Y,J} A[I_XY, J] -> A[I, J_XY]", "AllToAll_{Y,I} A[I, J_XY] -> A[I_Y, J_X]"]),
    ("ReduceScatter_{XY,J} A[I, J]{U_XY} -> A[I, J_XY]",
     ["ReduceScatter_{X,Y,J} A[I, J]{U_XY} -> A[I, J_XY]"]),
    ("ReduceScatter_{YX,J} A[I, J]{U_XY} -> A[I, J_YX]",
     ["ReduceScatter_{Y,X,J} A[I, J]{U_XY} -> A[I, J_YX]"]),
    ("AllReduce_XY A[I, J]{U_XY} -> A[I, J]", ["AllReduce_XY A[I, J]{U_XY} -> A[I, J]"]),
    ("ReduceScatter_{X,I} A[I_Y, J]{U_X} -> A[I_YX, J]",
     ["ReduceScatter_{X,I} A[I_Y, J]{U_X} -> A[I_YX, J]"]),
    ("AllReduce_X A[I, J]{U_XY} -> A[I, J]{U_Y}", ["AllReduce_X A[I, J]{U_XY} -> A[I, J]{U_Y}"]),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "expected"), COLLECTIVES)
def test_explicit_collectives(statement: str, expected: list[str]) -> None:
    plan = plan_of(statement)
    assert steps(plan) == expected
    assert plan.choices[0].reasons == ("as written: an explicit collective",)
    assert [alternative.steps for alternative in plan.alternatives] == [plan.steps]


NARROW = [
    # X has one chip: sharding over it is none
    ("AllGather_X A[I_X, J] -> A[I, J]", [], "A[I, J]"),
    ("AllReduce_X A[I, J]{U_X} -> A[I, J]", [], "A[I, J]"),
    ("AllGather_XY A[I_XY, J] -> A[I, J]", ["AllGather_Y A[I_Y, J] -> A[I, J]"], "A[I, J]"),
    ("AllGather_Y A[I_YX, J] -> A[I_X, J]", ["AllGather_Y A[I_Y, J] -> A[I, J]"], "A[I_X, J]"),
    ("A[I, J_X] · B[J, K] -> C[I, K]{U_X}", ["A[I, J] · B[J, K] -> C[I, K]"], "C[I, K]{U_X}"),
    (
        "A[I_X, J_Y] · B[J_Y, K] -> C[I_X, K]",
        ["A[I, J_Y] · B[J_Y, K] -> C[I, K]{U_Y}", "AllReduce_Y C[I, K]{U_Y} -> C[I, K]"],
        "C[I_X, K]",
    ),
]


@pytest.mark.parametrize(("statement", "expected", "result"), NARROW)
def test_axes_of_size_1(statement: str, expected: list[str], result: str) -> None:
    plan = plan_of(statement, machine((1, "line"), (2, "ring")))
    assert steps(plan) == expected
    assert str(plan.result.sharded.array) == result


def test_a_result_forgets_axes_of_size_1() -> None:
    lines = ["A[I_X, J] · B[J, K] -> C[I_X, K]", "C[I_X, K] · D[K, L_Y] -> E[I_X, L_Y]"]
    assert steps(plan_of(lines, machine((1, "line"), (2, "ring")))) == [
        "A[I, J] · B[J, K] -> C[I, K]",
        "C[I, K] · D[K, L_Y] -> E[I, L_Y]",
    ]


LOCAL = [
    ("A[I_X, J] ·_LOCAL B[J, K_Y] -> C[I_X, K_Y]", "A[I_X, J] · B[J, K_Y] -> C[I_X, K_Y]"),
    ("A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]{U_X}", "A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}"),
]


@pytest.mark.parametrize(("statement", "step"), LOCAL)
def test_local_products(statement: str, step: str) -> None:
    assert steps(plan_of(statement)) == [step]


NOT_LOCAL = (
    " cannot be done locally: the operands' shardings differ, "
    "or the local result has another sharding than asked for"
)
LOCAL_HINT = (
    "write · without _LOCAL: {}; or ask for the result that the local product leaves, "
    "with {{U_X}} for each axis X of a contracted dimension"
)
MAJOR_HINT = "first gather Y, or name both axes in order"
IMPOSSIBLE = [
    # the sum is not asked for as partial; the operands' J differ; X would be on I and on K
    (
        "A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]",
        NOT_LOCAL,
        LOCAL_HINT.format(
            "AllReduce_X of C (44.3 µs) or "
            "AllGather_X of A, AllToAll_X of B, AllGather_X of C (52.1 µs)"
        ),
    ),
    (
        "A[I, J_X] ·_LOCAL B[J, K] -> C[I, K]",
        NOT_LOCAL,
        LOCAL_HINT.format(
            "AllToAll_X of A, AllGather_X of C (32.7 µs) or AllGather_X of A (41.0 µs)"
        ),
    ),
    (
        "A[I_X, J] ·_LOCAL B[J, K_X] -> C[I_X, K]",
        NOT_LOCAL,
        LOCAL_HINT.format(
            "AllGather_X of B (24.8 µs) or AllGather_X of A, AllToAll_X of C (32.7 µs)"
        ),
    ),
    (
        "AllGather_X A[I_XY, J] -> A[I_Y, J]",
        "AllGather over X of I_XY: X is not the minor-most axis, "
        "so what it gathers is not contiguous",
        MAJOR_HINT,
    ),
    # an outer product has nothing to sum
    (
        "A[I] · B[J] -> C[I, J]{U_X}",
        "no plan gives C[I, J]{U_X}",
        "an axis leaves partial sums where it divides a dimension that is summed: here none",
    ),
]


@pytest.mark.parametrize(("statement", "message", "hint"), IMPOSSIBLE)
def test_what_cannot_be_planned(statement: str, message: str, hint: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan_of(statement)
    expected = statement + message if message is NOT_LOCAL else message
    assert (caught.value.message, caught.value.hint) == (expected, hint)
    # the whole statement is pointed at
    assert caught.value.place is not None
    assert (caught.value.place.column, caught.value.place.width) == (1, len(statement))


ON_THE_WAY = [
    # J of 4 is too short for Y beside X, so Y cannot go with X and come back
    (
        machine((4, "ring"), (2, "line")),
        "AllToAll_{X,J} A[I_XY, J] -> A[I_Y, J_X]",
        "AllToAll over X of I_XY: X is not the minor-most axis, "
        "so what it gathers is not contiguous",
        MAJOR_HINT,
    ),
    (
        machine((2, "ring"), (2, "line"), (2, "line")),
        "AllToAll_{ZX,J} A[I_XYZ, J] -> A[I_Y, J_ZX]",
        "AllToAll cannot turn A[I_XYZ, J] into A[I_Y, J_ZX]: "
        "the minor-most axes of a dimension move first",
        "name the axes in the order in which they move",
    ),
]


@pytest.mark.parametrize(("topology", "statement", "message", "hint"), ON_THE_WAY)
def test_a_major_axis_that_cannot_move(
    topology: Topology, statement: str, message: str, hint: str
) -> None:
    with pytest.raises(PlanError) as caught:
        planned(statement, topology, {"I": 64, "J": 4})
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_a_reduced_result_cannot_be_made_unreduced() -> None:
    lines = ["A[I, J_X] · B[J_X, K] -> C[I, K]", "AllReduce_X C[I, K]{U_X} -> D[I, K]"]
    with pytest.raises(PlanError) as caught:
        plan_of(lines)
    assert caught.value.message == "C is C[I, K] here; it cannot become C[I, K]{U_X}"
    assert caught.value.hint == "take {U_..} out: a whole array is not made into partial sums"


RESHARDS = [
    ("A[I, J] -> A[I_X, J]", ["A[I, J] -> A[I_X, J]"]),
    ("A[I_X, J] -> B[I, J_X]", ["AllToAll_{X,J} A[I_X, J] -> B[I, J_X]"]),
    ("A[I, J]{U_X} -> A[I_X, J]", ["ReduceScatter_{X,I} A[I, J]{U_X} -> A[I_X, J]"]),
    ("A[I_X, J] -> A[I_X, J]", []),
    # Y is minor-most: it must move before X can, or with it. 3.9 and 3.9 µs; gathering Y, moving X
    # and cutting over Y again would be 6.8 and 7.8
    ("A[I_XY, J] -> B[I_Y, J_X]",
     ["AllToAll_{X,Y,J} A[I_XY, J] -> A[I, J_XY]", "AllToAll_{Y,I} A[I, J_XY] -> B[I_Y, J_X]"]),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "expected"), RESHARDS)
def test_reshards(statement: str, expected: list[str]) -> None:
    plan = plan_of(statement)
    assert steps(plan) == expected
    assert str(plan.result.sharded.array) == statement.split(" -> ")[1]
    assert [str(parse(step.text)) for step in plan.steps] == expected


def test_a_reshard_cannot_undo_a_sum() -> None:
    with pytest.raises(PlanError) as caught:
        plan_of("A[I, J] -> A[I, J]{U_X}")
    assert caught.value.message == "A[I, J] cannot become A[I, J]{U_X}"


TYPES_AT_ODDS = [
    (["A: int8[I] · C[I] -> S[]", "A: bf16[I] · C[I] -> R[]"],
     "A is int8 here; it cannot be used as bf16"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "message"), TYPES_AT_ODDS)
def test_an_element_type_is_not_changed_in_passing(lines: list[str], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan_of(lines)
    assert caught.value.message == message


def test_both_operands_with_partial_sums_over_one_axis() -> None:
    plan = plan_of("A[I, J]{U_X} · B[J, K]{U_X} -> C[I, K]")
    assert plan.choices[0].reasons[0] == (
        "X: A and B both hold partial sums over it: one must be reduced before the matmul"
    )


def test_where_no_plan_by_the_rules_exists_that_is_said() -> None:
    """J of 4 cannot be cut over X and Y, 8 ways; the rules would leave the sums over both."""
    plan = planned(
        "A[I, J_X, L] · B[J_Y, L, K] -> C[I, K]{U_XY}", GRID, {"I": 8, "J": 4, "L": 16, "K": 8}
    )
    assert plan.choices[0].reasons[-1] == (
        "no plan by these rules cuts every extent evenly, so it departs from them"
    )
