"""Which plan is taken: policy, objective, extents, algorithm and element types.

Links: 45 GB/s one way, 1 µs. Chips: 10^14 FLOP/s in bf16, 2 x 10^14 in int8, 10^12 bytes/s. A
matrix of 1024 x 1024 in bf16 is V = 2 MiB. Over a ring of 4 an AllGather of it takes
3/4 V/90e9 + 2 µs = 19.5 µs and an AllToAll V/360e9 + 2 µs = 7.8 µs; a matmul of three such
dimensions takes 2^31/10^14 s = 21.5 µs, a quarter of it 5.4 µs.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.cost import CostModel
from shardsim.errors import PlanError, TopologyError
from shardsim.notation import parse
from shardsim.planner import CollectiveStep, MatmulStep, Plan, make_plan
from shardsim.planner.choosing import MOST_ALTERNATIVES
from shardsim.planner.dot import compute_dtype
from shardsim.program import Dtypes, bind_program
from shardsim.vocabulary import Algorithm, Dtype, Objective, Policy, Relation, Schedule
from tests.machines import machine, mesh_of, planned, simulated

RING = machine((4, "ring"))
MIB = 2**20


def matmul(text: str, i: int = 1024, j: int = 1024, k: int = 1024, **settings: object) -> Plan:
    return planned(text, RING, {"I": i, "J": j, "K": k}, **settings)  # type: ignore[arg-type]


def steps(plan: Plan) -> list[str]:
    return [step.text for step in plan.steps]


# Gather A and multiply all of it: 19.5 + 21.5 = 41.0 µs. Move A's axis to I, multiply a quarter,
# gather C: 7.8 + 5.4 + 19.5 = 32.7 µs, but this is none of the four rules.
GATHER_FIRST = ["AllGather_X A[I, J_X] -> A[I, J]", "A[I, J] · B[J, K] -> C[I, K]"]
MOVE_FIRST = [
    "AllToAll_{X,I} A[I, J_X] -> A[I_X, J]",
    "A[I_X, J] · B[J, K] -> C[I_X, K]",
    "AllGather_X C[I_X, K] -> C[I, K]",
]
RULE_2 = "A[I, J_X] · B[J, K] -> C[I, K]"


def test_policy() -> None:
    textbook = matmul(RULE_2, policy=Policy.TEXTBOOK)
    cheapest = matmul(RULE_2, policy=Policy.CHEAPEST)
    assert steps(textbook) == GATHER_FIRST
    assert steps(cheapest) == MOVE_FIRST
    volume = Fraction(2 * MIB)
    gather = Fraction(3, 4) * volume / (90 * 10**9) + Fraction(2, 10**6)
    move = volume / (360 * 10**9) + Fraction(2, 10**6)
    multiply = Fraction(2**31, 10**14)
    assert textbook.steps == next(way.steps for way in textbook.alternatives if way.textbook)
    assert sum(step.seconds for step in textbook.steps) == gather + multiply
    assert sum(step.seconds for step in cheapest.steps) == move + multiply / 4 + gather


@pytest.mark.parametrize("policy", Policy)
def test_alternatives(policy: Policy) -> None:
    """Both policies consider the same plans, sorted by time; the cheapest is first."""
    plan = matmul(RULE_2, policy=policy)
    ways = plan.alternatives
    assert [way.seconds for way in ways] == sorted(way.seconds for way in ways)
    assert [step.text for step in ways[0].steps] == MOVE_FIRST
    assert plan.steps in [way.steps for way in ways]
    assert [[s.op for s in way.steps] for way in ways if way.textbook] == [["all_gather", "matmul"]]
    # A is on J; the local product can be cut over I, J, K or nothing: four ways
    assert sorted(way.steps[0].op for way in ways) == [
        "all_gather",  # and multiply all of it
        "all_gather",  # and cut K
        "all_to_all",
        "slice",  # B's J, and reduce the partial sums
    ]


def test_a_plan_s_own_times_are_its_steps() -> None:
    plan = matmul(RULE_2)
    found = plan.to_dict()
    assert found["format"] == "shardsim/plan/1"
    assert [step["text"] for step in found["steps"]] == MOVE_FIRST
    assert found["exact_seconds"] == float(sum(step.seconds for step in plan.steps))
    assert [way["textbook"] for way in found["alternatives"]].count(True) == 1
    assert found["choices"][0]["alternatives"] == found["alternatives"]


# I = K = 4096, J = 2048: A and B are 16 MiB, C 32 MiB, the whole product takes 687 µs.
# Gather one operand and C: 3/4 (16 + 32) = 36 MiB; 141.8 + 171.8 + 281.6 = 595 µs.
# Gather both operands: 3/4 (16 + 16) = 24 MiB; 141.8 + 141.8 + 687.2 = 971 µs.
RULE_4 = "A[I_X, J] · B[J, K_X] -> C[I, K]"
OBJECTIVES = [
    (
        Objective.TIME,
        [
            "AllGather_X A[I_X, J] -> A[I, J]",
            "A[I, J] · B[J, K_X] -> C[I, K_X]",
            "AllGather_X C[I, K_X] -> C[I, K]",
        ],
        36 * MIB,
    ),
    (
        Objective.BYTES,
        [
            "AllGather_X A[I_X, J] -> A[I, J]",
            "AllGather_X B[J, K_X] -> B[J, K]",
            "A[I, J] · B[J, K] -> C[I, K]",
        ],
        24 * MIB,
    ),
]


@pytest.mark.parametrize(("objective", "expected", "wire"), OBJECTIVES)
def test_objective(objective: Objective, expected: list[str], wire: int) -> None:
    plan = matmul(RULE_4, 4096, 2048, 4096, policy=Policy.CHEAPEST, objective=objective)
    assert steps(plan) == expected
    assert plan.alternatives[0].wire_bytes == wire


def test_the_smaller_operand_is_gathered_where_the_result_does_not_say() -> None:
    """C is gathered in any case, so the operand decides: A has 64 rows, B 1024 columns."""
    small_left = matmul(RULE_4, 64, 1024, 1024)
    small_right = matmul(RULE_4, 1024, 1024, 64)
    assert steps(small_left)[0] == "AllGather_X A[I_X, J] -> A[I, J]"
    assert steps(small_right)[0] == "AllGather_X B[J, K_X] -> B[J, K]"


# Axes on I of A and of the result: whatever else is tried, nothing is to be done.
CONSIDERED = [
    # J and K too short to cut: each axis is on I or idle
    ("WXYZ", 1, 2**4),
    # each axis is on I, on J or idle: 27 ways, of which the best are kept
    ("XYZ", 8, MOST_ALTERNATIVES),
]


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize(("axes", "j", "ways"), CONSIDERED)
def test_how_many_placements_are_considered(axes: str, j: int, ways: int, policy: Policy) -> None:
    """One way for each thing that the axes may do in the matmul, in whatever order they stand."""
    plan = considered(axes, j, policy)
    assert steps(plan) == [f"A[I_{axes}, J] · B[J, K] -> C[I_{axes}, K]"]
    assert len(plan.alternatives) == ways
    assert [way.textbook for way in plan.alternatives].count(True) == 1
    assert plan.alternatives[0].steps == plan.steps


@pytest.mark.parametrize("policy", Policy)
def test_five_axes(policy: Policy) -> None:
    """Of the 326 layouts of I only as many are looked at as the plan asks for."""
    plan = considered("VWXYZ", 1, policy)
    assert steps(plan) == ["A[I_VWXYZ, J] · B[J, K] -> C[I_VWXYZ, K]"]


def considered(axes: str, j: int, policy: Policy) -> Plan:
    mesh = mesh_of(machine(*[(2, "line")] * len(axes)), *axes)
    statement = parse(f"A[I_{axes}, J] · B[J, K] -> C[I_{axes}, K]")
    program = bind_program((statement,), mesh, {"I": 32, "J": j, "K": 1})
    return make_plan(program, CostModel(), policy=policy)


# Where an intermediate layout would be uneven it is not used: 1022 rows are not divisible by 4.
EVEN = [
    (1024, 1024, MOVE_FIRST),
    (1022, 1022, GATHER_FIRST),
]


@pytest.mark.parametrize(("i", "k", "expected"), EVEN)
def test_no_uneven_layout_on_the_way(i: int, k: int, expected: list[str]) -> None:
    plan = matmul(RULE_2, i, 1024, k, policy=Policy.CHEAPEST)
    assert steps(plan) == expected
    for way in plan.alternatives:
        for step in way.steps:
            sharded = step.result.sharded
            for extent, local, dim in zip(
                sharded.extents, sharded.local_shape, sharded.array.dims, strict=True
            ):
                assert local * sharded.ways(dim) == extent


PARTS = [
    # of a ring of 16: the outer and the inner half of X do not keep out of each other's way
    ("A[I, J_X] · B[J_X, K] -> C[I, K]", 16, 256),
    ("A[I, J_X] · B[J_X, K] -> C[I, K]", 8, 64),
    ("A[I_X, J] · B[J, K_X] -> C[I, K]", 16, 64),
    ("A[I, J_X] · B[J, K] -> C[I_X, K]", 16, 4096),
    ("A[I_X, J] · B[J_X, K] -> C[I, K_X]", 8, 1024),
]


@pytest.mark.parametrize(("text", "size", "extent"), PARTS)
def test_parts_of_axes_are_used_where_their_price_is_no_lower_bound(
    text: str, size: int, extent: int
) -> None:
    ring, extents = machine((size, "ring")), dict.fromkeys("IJK", extent)
    ours, rules = (planned(text, ring, extents, policy=policy) for policy in reversed(Policy))
    for step in ours.steps:
        if isinstance(step, CollectiveStep) and step.axes != ("X",):
            assert step.price.relation is not Relation.LOWER_BOUND
    assert simulated(ours).makespan <= simulated(rules).makespan


def test_what_steps_know() -> None:
    # AllGather B: V = 128 x 256 x 2. Matmul A[16, 128] B[128, 256]. AllToAll C: V = 64 x 256 x 2.
    gather, multiply, move = planned(
        ["AllGather_X B[J_X, K] -> D[J, K]", "A[I_X, J] · D[J, K] -> C[I_X, K]",
         "AllToAll_{X,K} C[I_X, K] -> E[I, K_X]"],
        RING, {"I": 64, "J": 128, "K": 256},
    ).steps  # fmt: skip
    assert isinstance(gather, CollectiveStep)
    assert isinstance(multiply, MatmulStep)
    assert isinstance(move, CollectiveStep)
    assert gather.size == 65536
    assert (gather.dim, gather.axes, gather.call.method.name) == (None, ("X",), "balanced")
    assert move.size == 32768
    assert (move.dim, move.axes, move.call.method.name) == ("K", ("X",), "balanced")
    assert multiply.flops == 2 * 16 * 128 * 256
    # 16 x 128 + 128 x 256 read, 16 x 256 written, two bytes each
    assert multiply.traffic == 2 * (2048 + 32768 + 4096)
    assert multiply.contracted == ("J",)
    assert multiply.seconds == Fraction(77824, 10**12)


def test_the_size_of_a_reduction_is_the_unreduced_array_on_one_chip() -> None:
    grid = machine((4, "ring"), (2, "line"))
    text = "AllReduce_X A[I_Y, J]{U_X} -> A[I_Y, J]"
    (reduce,) = planned(text, grid, {"I": 64, "J": 32}).steps
    assert isinstance(reduce, CollectiveStep)
    assert reduce.size == 64 // 2 * 32 * 2


# element types

COMPUTED_IN = [
    # the wider operand's type; a float before an integer, however wide
    ("bf16", "bf16", "bf16"),
    ("bf16", "int8", "bf16"),
    ("int8", "bf16", "bf16"),
    ("int32", "bf16", "bf16"),
    ("f32", "bf16", "f32"),
    ("int8", "int4", "int8"),
    ("fp8", "int64", "fp8"),
]


@pytest.mark.parametrize(("left", "right", "dtype"), COMPUTED_IN)
def test_the_type_of_a_matmul(left: str, right: str, dtype: str) -> None:
    assert compute_dtype(Dtype(left), Dtype(right)) is Dtype(dtype)


def test_int8_by_bf16_is_computed_in_bf16() -> None:
    (multiply,) = matmul("int8[I, J] · bf16[J, K] -> f32[I, K]").steps
    assert isinstance(multiply, MatmulStep)
    assert multiply.dtype is Dtype.BF16
    assert multiply.price.compute == Fraction(2**31, 10**14)
    # 1 MiB and 2 MiB read, 4 MiB written
    assert multiply.traffic == 7 * MIB


def test_int8_has_a_peak_of_its_own() -> None:
    (multiply,) = matmul("int8[I, J] · int8[J, K] -> int8[I, K]").steps
    assert isinstance(multiply, MatmulStep)
    assert multiply.price.compute == Fraction(2**30, 10**14)


def test_a_chip_without_a_peak_for_the_type() -> None:
    with pytest.raises(TopologyError) as caught:
        matmul("f32[I, J] · bf16[J, K] -> C[I, K]")
    assert caught.value.message == "chip test has no peak FLOP/s for f32; it has bf16, int8"
    assert caught.value.place is not None
    assert caught.value.place.column == 1


# algorithms


def test_the_algorithm_asked_for() -> None:
    (step,) = planned(
        "AllGather_X A[I_X] -> A[I]", RING, {"I": 4}, algorithm=Algorithm.WHOLE_SHARDS
    ).steps
    assert isinstance(step, CollectiveStep)
    assert step.call.method.algorithms == (Algorithm.WHOLE_SHARDS,)


MIXED = [
    (MIB, [(("X", "Y"), "rotated(half_shards, line)")]),
    # where only latency counts, 1 + 3 hops one after the other are less than 5: in rotated orders
    # X's second half waits behind its first
    (8, [(("Y",), "line"), (("X",), "half_shards")]),
]


@pytest.mark.parametrize(("extent", "expected"), MIXED)
def test_a_ring_algorithm_where_only_some_axes_are_rings(
    extent: int, expected: list[tuple[tuple[str, ...], str]]
) -> None:
    plan = planned(
        "AllGather_XY A[I_XY] -> A[I]",
        machine((4, "ring"), (2, "line")),
        {"I": extent},
        algorithm=Algorithm.HALF_SHARDS,
    )
    used = [(s.axes, s.call.method.name) for s in plan.steps if isinstance(s, CollectiveStep)]
    assert used == expected


def test_schedule_and_chunks_that_were_asked_for() -> None:
    (step,) = planned(
        "AllGather_XY A[I_XY] -> A[I]", machine((4, "ring"), (4, "ring")), {"I": 16},
        schedule=Schedule.SEQUENTIAL, chunks=2,
    ).steps  # fmt: skip
    assert isinstance(step, CollectiveStep)
    assert step.call.method.name == "sequential(balanced, balanced) in 2 chunks"


# Two axes at once: V = 2 MiB, V/w = 46.6 µs. Over two rings of 4 with both at work, 15/16 V/4w and
# 4 hops: 14.9 µs; one ring after the other 3/4 (V/4)/2w + 3/4 V/2w and 4 hops: 25.8 µs.
def test_a_collective_over_two_axes_is_one_step() -> None:
    plan = planned(
        "AllGather_XY A[I_XY, J] -> A[I, J]", machine((4, "ring"), (4, "ring")),
        {"I": 1024, "J": 1024},
    )  # fmt: skip
    (step,) = plan.steps
    assert isinstance(step, CollectiveStep)
    rate, latency = 45 * 10**9, Fraction(1, 10**6)
    assert step.seconds == Fraction(15, 16) * 2 * MIB / (4 * rate) + 4 * latency
    assert step.price.wire_bytes == Fraction(15, 16) * 2 * MIB


def reduced_into_two(policy: Policy) -> Plan:
    return planned(
        "A[I, J_XY] · B[J_XY, K] -> C[I_X, K_Y]", machine((4, "ring"), (2, "line")),
        dict.fromkeys("IJK", 1024), policy=policy,
    )  # fmt: skip


def test_a_reduction_over_two_axes_into_two_dimensions() -> None:
    """Over both axes into rows, then Y from rows to columns: 19.0 + 3.9 µs.

    X first costs 19.5 + 6.8 µs: 3/4 V/2w + 2 hops, then 1/2 (V/4)/w + 1 hop over the line.
    """
    plan = reduced_into_two(Policy.TEXTBOOK)
    assert steps(plan)[1:] == [
        "ReduceScatter_{X,Y,I} C[I, K]{U_XY} -> C[I_XY, K]",
        "AllToAll_{Y,K} C[I_XY, K] -> C[I_X, K_Y]",
    ]
    whole, rate, latency = Fraction(2 * MIB), 45 * 10**9, Fraction(1, 10**6)
    scatter, move = (step.seconds for step in plan.steps[1:])
    # half of V along X first and half along Y first; the longest chain is X's last phase, which
    # waits for the first half's along Y: 1/2 (V/2)/w + 1 hop, then 3/4 (V/4)/2w + 2 hops
    assert scatter == whole / 4 / rate + latency + 3 * whole / 32 / rate + 2 * latency
    assert move == whole / 4 / 4 / 2 / rate * 2 + latency


def test_where_only_one_of_two_axes_is_reduced() -> None:
    """Y is gathered in A and moved to K in B beforehand: 6.8 + 3.9 + 10.7 instead of 22.9 µs."""
    plan = reduced_into_two(Policy.CHEAPEST)
    assert steps(plan) == [
        "AllGather_Y A[I, J_XY] -> A[I, J_X]",
        "AllToAll_{Y,K} B[J_XY, K] -> B[J_X, K_Y]",
        "A[I, J_X] · B[J_X, K_Y] -> C[I, K_Y]{U_X}",
        "ReduceScatter_{X,I} C[I, K_Y]{U_X} -> C[I_X, K_Y]",
    ]
    whole, rate, latency = Fraction(2 * MIB), 45 * 10**9, Fraction(1, 10**6)
    gather, move, multiply, scatter = (step.seconds for step in plan.steps)
    assert gather == whole / 4 / 2 / rate + latency
    assert move == whole / 4 / 4 / rate + latency
    assert multiply == Fraction(2**31, 8 * 10**14)
    assert scatter == Fraction(3, 4) * whole / 2 / (2 * rate) + 2 * latency
    by_rules = reduced_into_two(Policy.TEXTBOOK).steps
    assert gather + move + multiply + scatter < sum(step.seconds for step in by_rules)


ALGORITHM_FAULTS = [
    (
        [(4, "ring")],
        Algorithm.LINE,
        "algorithm line needs a line, and no axis of the mesh is one: X (as given)",
        "leave the algorithm out, or choose balanced or whole_shards or half_shards or "
        "one_direction",
    ),
    (
        [(4, "line"), (2, "line")],
        Algorithm.BALANCED,
        "algorithm balanced needs a ring, and no axis of the mesh is one: "
        "X (as given), Y (as given)",
        "leave the algorithm out, or choose line or reduce_broadcast",
    ),
    (
        [(4, "switch"), (4, "ring")],
        Algorithm.LINE,
        "algorithm line needs a line, and no axis of the mesh is one: X (as given), Y (as given)",
        "leave the algorithm out, or choose direct or ring or in_network or balanced or "
        "whole_shards or half_shards or one_direction",
    ),
]


@pytest.mark.parametrize(("dimensions", "algorithm", "message", "hint"), ALGORITHM_FAULTS)
def test_an_algorithm_that_no_axis_can_run(
    dimensions: list[tuple[int, str]], algorithm: Algorithm, message: str, hint: str
) -> None:
    with pytest.raises(PlanError) as caught:
        planned("AllGather_X A[I_X] -> A[I]", machine(*dimensions), {"I": 8}, algorithm=algorithm)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize("algorithm", [None, Algorithm.LINE, Algorithm.BALANCED])
def test_one_chip_takes_any_algorithm(algorithm: Algorithm | None) -> None:
    plan = planned(
        "AllGather_X A[I_X] -> A[I]", machine((1, "line")), {"I": 4}, algorithm=algorithm
    )
    assert plan.steps == ()


def test_a_collective_does_not_convert() -> None:
    dtypes = Dtypes(Dtype.BF16, (("D", Dtype.INT8),))
    statement = parse("AllGather_X A[I_X] -> D[I]")
    program = bind_program((statement,), mesh_of(RING), {"I": 4}, dtypes)
    with pytest.raises(PlanError) as caught:
        make_plan(program, CostModel())
    assert caught.value.message == ("AllGather cannot make int8 of bf16: it does not convert")
    assert caught.value.hint == "leave the dtype of D out"


@pytest.mark.parametrize("policy", Policy)
def test_a_plan_that_departs_from_the_rules_says_so(policy: Policy) -> None:
    """8192 on every side: an AllToAll, a quarter of the matmul and a gather of C beat rule 2.

    V = 128 MiB: 1.12 + 11.00 ms by the rules, 0.37 + 2.75 + 1.12 ms otherwise.
    """
    plan = planned(
        "A[I, J_X] · B[J, K] -> C[I, K]", machine((4, "ring")), dict.fromkeys("IJK", 8192),
        policy=policy,
    )  # fmt: skip
    said = "the plan departs from these rules, which would cost 12.1 ms instead of 4.24 ms"
    assert (said in plan.choices[0].reasons) == (policy is Policy.CHEAPEST)
    assert plan.choices[0].chosen.textbook == (policy is Policy.TEXTBOOK)
