"""What a plan says of itself: reasons, turning points, alternatives, hints."""

from __future__ import annotations

import pytest

import shardsim as ss
from shardsim.planner import Choice, Plan
from shardsim.planner.choices import Balance, Stretch
from tests.machines import peak_memory


def choice(text: str, dims: str, on: str = "v5e:4x4", **settings: object) -> Choice:
    made = ss.plan(text, topology=on, dims=dims, **settings)  # type: ignore[arg-type]
    return made.choices[-1]


def labels(made: Choice) -> list[str]:
    return [way.label for way in made.alternatives]


Ends = tuple[bool, int | None, int | None]

ALL_REDUCE = "A[I, J_X] · B[J_X, K] -> C[I, K]"
SQUARE = "I=8192,J=8192,K=8192"


# Alternatives


def test_alternatives_are_sorted_and_hold_the_plan() -> None:
    made = choice(ALL_REDUCE, SQUARE)
    times = [way.estimate for way in made.alternatives]
    assert times == sorted(times)
    assert made.chosen is made.alternatives[0]
    assert labels(made) == [
        "AllReduce_X of C",
        "AllGather_X of A, AllToAll_X of B, AllGather_X of C",
        "AllToAll_X of A, AllGather_X of B, AllGather_X of C",
        "AllGather_X of A, AllGather_X of B",
    ]
    assert [way.flops for way in made.alternatives] == [
        8192**3 // 2, 8192**3 // 2, 8192**3 // 2, 2 * 8192**3
    ]  # fmt: skip


@pytest.mark.parametrize("objective", ["time", "bytes", "memory"])
@pytest.mark.parametrize("policy", ["textbook", "cheapest"])
def test_the_plan_is_among_its_alternatives(objective: str, policy: str) -> None:
    made = choice(
        "A[I_X, J_Y] · B[J, K_X] -> C[I_Y, K]", SQUARE, objective=objective, policy=policy
    )
    assert sum(way is made.chosen for way in made.alternatives) == 1
    if policy == "cheapest":
        assert made.chosen is made.alternatives[0]
    else:
        assert made.chosen.textbook


def test_the_json_of_a_choice() -> None:
    entry = choice(ALL_REDUCE, SQUARE).to_dict()
    assert list(entry) == ["text", "reasons", "flips", "balances", "alternatives"]
    assert entry["flips"][1] == {
        "dim": "J", "from": 6142, "to": None,
        "below": "AllGather_X of A, AllToAll_X of B, AllGather_X of C", "above": None,
    }  # fmt: skip
    assert entry["balances"][1] == {
        "dim": "J",
        "exact": {"communication_longer": True, "from": None, "to": 26301},
        "book": {"communication_longer": True, "from": None, "to": 17511},
    }
    first = entry["alternatives"][0]
    assert first["chosen"] is True
    assert first["flops_per_chip"] == 8192**3 // 2
    assert first["estimated_seconds"] == first["exact_seconds"]


# Reasons


@pytest.mark.parametrize(
    ("text", "settings", "reason"),
    [
        (ALL_REDUCE, {}, "Y: not used: its 4 chips all do the same work"),
        (
            ALL_REDUCE,
            {},
            "cutting over Y too, it would take 2.32 ms: ReduceScatter_X of C, AllGather_XY of C",
        ),
        (
            "A[I_X, J] · B[J, K_X] -> C",
            {},
            "the sharding of C is left open: C[I, K_X] costs least",
        ),
        (
            "A[I, J_X] · B[J, K_Y] -> C[I, K_Y]",
            {"policy": "textbook"},
            "X: idle in the matmul: 4 chips do the same 275 GFLOP each",
        ),
        (
            "A[I_X, J] · B[J, K] · D[K, L_X] -> C[I_X, L]",
            {},
            "multiplied in the order (A · B) · D",
        ),
    ],
)
def test_reasons(text: str, settings: dict[str, str], reason: str) -> None:
    dims = SQUARE + (",L=8192" if "L" in text else "")
    assert reason in choice(text, dims, **settings).reasons


UNLIKE = "A has J_XY and B has {}, so one is moved first; then multiply locally and "


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (
            "A[I, J_XY] · B[J_YX, K] -> C[I, K]",
            [
                f"{axis}: rule 3, once J is sharded alike: {UNLIKE.format('J_YX')}"
                "reduce the partial sums"
                for axis in "XY"
            ],
        ),
        (
            "A[I, J_XY] · B[J_X, K] -> C[I, K]{U_X}",
            [
                f"X: rule 3, once J is sharded alike: {UNLIKE.format('J_X')}"
                "leave the partial sums to the result",
                "Y: rule 2: the contracted dimension J is sharded over it in A only: "
                "gather A over it",
            ],
        ),
        (
            "A[I, J_XY] · B[J_XY, K] -> C[I, K]",
            [
                f"{axis}: rule 3: the contracted dimension J is sharded over it in both A and B: "
                "multiply locally, then reduce the partial sums"
                for axis in "XY"
            ],
        ),
        (
            "A[I_XY, J, K] · B[I_YX, K, L] -> C[I_XY, J, L]",
            [
                f"{axis}: rule 1, once I is sharded alike: A has I_XY and B has I_YX, "
                "so one is moved first; then multiply locally"
                for axis in "XY"
            ],
        ),
        (
            "A[I_XY, J, K] · B[I_X, K, L] -> C[I_XY, J, L]",
            [
                "X: rule 1: the batch dimension I is sharded alike in A and B",
                "Y: rule 1: I of A is not contracted: multiply locally",
            ],
        ),
    ],
)
def test_a_dimension_of_both_operands(text: str, reasons: list[str]) -> None:
    dims = "I=512,J=512,K=512" + (",L=512" if "L" in text else "")
    assert list(choice(text, dims).reasons[: len(reasons)]) == reasons


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("A[I, J_{X:(2)2,X:(1)2}] · B[J, K] -> C[I, K]", ["X: rule 2"]),
        ("A[I, J_{X:(1)2}] · B[J, K_{X:(2)2}] -> C[I, K]", ["X:(1)2: rule 2", "X:(2)2: rule 1"]),
        ("A[I, J_{X:(1)2}] · B[J, K_{X:(4)2}] -> C[I_{X:(1)2,X:(4)2}, K]",
         ["X:(1)2: rule 2", "X:(4)2: rule 1"]),
        ("A[I_{X:(1)2,X:(4)2}, J] · B[J, K] -> C[I, K]", ["X:(1)2 and X:(4)2: rule 1"]),
        ("A[I, J_X] · B[J_{X:(2)4,X:(1)2}, K] -> C[I, K]", ["X: rule 3, once J is sharded alike"]),
    ],
)  # fmt: skip
def test_parts_of_an_axis_with_the_same_reason(text: str, starts: list[str]) -> None:
    on = "v5e:8x4" if "4" in text else "v5e:4x4"
    reasons = choice(text, "I=512,J=512,K=512", on).reasons
    told = [reason for reason in reasons if ": rule " in reason]
    assert len(told) == len(starts)
    assert all(map(str.startswith, told, starts))


def test_a_departure_from_the_rules_is_told_with_both_prices() -> None:
    made = choice("A[I, J_X] · B[J_Y, K] -> C[I, K]", "I=4096,J=4096,K=1024")
    assert not made.chosen.textbook
    assert any(way.textbook for way in made.alternatives)
    assert (
        "the plan departs from these rules, which would cost 879 µs instead of 172 µs"
        in made.reasons
    )


def test_a_departure_that_hardly_matters() -> None:
    made = choice("A[I_X, J] · B[J, K] -> C[I, K_{X:(2)2}]", "I=4096,J=4096,K=4096")
    assert not made.chosen.textbook
    assert (
        "the plan departs from these rules, which would cost hardly more than 643 µs"
        in made.reasons
    )


def test_no_hint_about_integers() -> None:
    made = choice(
        "A[I, J_X] · B[J, K] -> C[I, K]", SQUARE, policy="textbook", dtype="A=bf16,B=int8"
    )
    assert not any("cast" in reason for reason in made.reasons)


# Turning points


def turning(made: Choice) -> dict[str, tuple[int | None, int | None]]:
    return {flip.dim: (flip.low, flip.high) for flip in made.flips}


def test_where_the_choice_flips_is_where_it_flips() -> None:
    """Each edge is checked by planning on both sides of it, with extents the axes divide."""
    made = choice(ALL_REDUCE, SQUARE)
    assert turning(made) == {"I": (None, 12293), "J": (6142, None), "K": (None, 12293)}
    for dims, same in [
        ("I=12292,J=8192,K=8192", True),
        ("I=12296,J=8192,K=8192", False),
        ("I=8192,J=6144,K=8192", True),
        ("I=8192,J=6140,K=8192", False),
    ]:
        assert (choice(ALL_REDUCE, dims).chosen.label == made.chosen.label) is same


def test_flips_count_bytes_where_bytes_are_made_small() -> None:
    """3/2 I K for the AllReduce, against I J / 4 + J K / 8 + I K over halves of X.

    Half of X gathers A and cuts B anew, the other half is summed over. That is even at
    J = (I K / 2) / (I / 4 + K / 8) = 5461 1/3.
    """
    made = choice("A[I, J_X] · B[J_X, K] -> C[I, K]", "I=4096,J=8192,K=4096", "h100:4",
                  mesh="X=4", objective="bytes")  # fmt: skip
    assert made.chosen.label == "AllReduce_X of C"
    (flip,) = (flip for flip in made.flips if flip.dim == "J")
    assert (flip.low, flip.high) == (5462, None)
    assert flip.below is not None
    assert flip.below.label == (
        "AllGather_{X:(2)2} of A, AllToAll_{X:(2)2} of B, ReduceScatter_{X:(1)2} of C, "
        "AllGather_X of C"
    )


def test_where_communication_takes_as_long_as_the_matmul() -> None:
    made = choice("X[B, D] · Y[D_X, F] -> Z[B, F]", "B=512,D=8192,F=32768", "v5p:4x4x4",
                  policy="textbook")  # fmt: skip
    assert made.balances()[0] == Balance(
        dim="B",
        exact=Stretch(talks=True, low=None, high=1914),
        book=Stretch(talks=True, low=None, high=2549),
    )


def test_a_stretch_has_two_ends_where_both_sides_change() -> None:
    """Few rows: HBM binds the matmul; many: the matmul grows faster than the latency."""
    made = choice("A[I, J_X] · B[J_X, K] -> C[I, K]", "I=512,J=28672,K=1024", "v5e:4x4",
                  policy="textbook")  # fmt: skip
    (balance,) = (one for one in made.balances() if one.dim == "I")
    low, high = balance.exact.low, balance.exact.high
    assert balance.exact.talks
    assert low is not None
    assert high is not None
    for rows, talks in [(low - 1, False), (low, True), (high, True), (high + 1, False)]:
        there = choice("A[I, J_X] · B[J_X, K] -> C[I, K]", f"I={rows},J=28672,K=1024", "v5e:4x4",
                       policy="textbook").chosen  # fmt: skip
        times = [0, 0]
        for one in there.steps:
            times[one.op == "matmul"] += one.seconds  # type: ignore[call-overload]
        assert (times[0] > times[1]) is talks


@pytest.mark.parametrize(
    ("exact", "book", "said"),
    [
        ((True, None, 1914), (True, None, 2549), "communication-bound while B < 1,915 (2,550 "),
        ((False, 1915, None), (False, 2550, None), "compute-bound while B >= 1,915 (2,550 by "),
        ((True, 246, 960), (True, 7, 9), "communication-bound from B = 246 to 960 (7 to 9 by "),
        ((True, None, None), (True, 9, None), "by the book's formulas, communication-bound while "
         "B > 8 (exactly: always)"),
        ((True, None, None), (False, None, 9), "by the book's formulas, compute-bound while "
         "B <= 9 (exactly: never)"),
        ((True, None, 9), (False, 4, None), "communication-bound while B < 10\n"
         "by the book's formulas, compute-bound while B >= 4"),
        ((True, 9, None), (True, None, None), "communication-bound while B > 8"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_balance(exact: Ends, book: Ends, said: str) -> None:
    from shardsim.report.ways import balance_sentences

    def stretch(ends: Ends) -> Stretch:
        return Stretch(talks=ends[0], low=ends[1], high=ends[2])

    balance = Balance(dim="B", exact=stretch(exact), book=stretch(book))
    assert "\n".join(balance_sentences(balance)).startswith(said)


def test_balances_are_of_the_times_that_plans_are_ranked_by() -> None:
    made = choice("A[I, J_X] · B[J_X, K] -> C[I, K]", "I=1024,J=58000,K=1024", "slow-link-4x4")
    (balance,) = (one for one in made.balances() if one.dim == "J")
    matmul = sum(step.seconds for step in made.chosen.steps if step.op == "matmul")
    assert balance.exact.talks is (made.chosen.estimate - matmul > matmul)


def test_a_local_product_leaves_its_sums() -> None:
    made = choice("A[I, J_X] ·_LOCAL B[J_X, K] -> C", "I=64,J=64,K=64")
    assert made.reasons[0].endswith("multiply locally, then leave the partial sums to the result")


def test_nothing_flips_without_communication() -> None:
    made = choice("A[I_X, J] · B[J, K_Y] -> C[I_X, K_Y]", SQUARE)
    assert made.balances() == ()
    assert made.chosen.label == "no communication"


def test_memory_has_no_turning_points() -> None:
    assert choice(ALL_REDUCE, SQUARE, objective="memory").flips == ()


# Objectives


def plans(text: str, dims: str, objective: str) -> Plan:
    return ss.plan(text, topology="v5e:4x4", dims=dims, objective=objective)


def test_memory_is_what_is_made_small() -> None:
    dims = "I=4096,J=4096,K=4096"
    peaks = {
        objective: peak_memory(plans(ALL_REDUCE, dims, objective))
        for objective in ("time", "bytes", "memory")
    }
    inputs = 2 * 4096 * 1024 * 2
    whole = 4096 * 4096 * 2
    assert peaks["memory"] == inputs + whole + whole // 4  # the sum scattered, then gathered
    assert peaks["time"] == inputs + 2 * whole


# Reshards


def test_what_a_reshard_is_compared_with() -> None:
    made = choice("A[I_XY, J] -> A[I_Y, J_X]", "I=4096,J=4096")
    assert made.reasons == (
        "the cheapest sequence of moves: 96.2 µs, 11.0 MB a chip",
        "AllGather_XY of A instead: 356 µs, 52.4 MB a chip",
    )


def test_a_reshard_that_is_none() -> None:
    made = choice("A[I_X, J] -> A[I_X, J]", "I=64,J=64")
    assert made.reasons == ("nothing to do: every chip has its block already",)
