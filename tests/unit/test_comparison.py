"""Totals of small runs, worked out by hand, on two chips with round figures.

1 TFLOP/s, 1 TB/s of HBM, and one cable of 1 GB/s each way with 1 us of latency: a matmul of
100 x 100 x 100 takes 2 us, an AllGather of 20,000 bytes 10,000 B / 1 GB/s + 1 us = 11 us.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from shardsim.api import run
from shardsim.comparison import Run
from shardsim.planner.memory import Lifetime, lifetimes
from shardsim.vocabulary import Overlap
from tests.machines import machine, peak_memory, planned

US = Fraction(1, 10**6)
PRODUCT = "A[I, J] · B[J, K] -> C[I, K]"
GATHER = "AllGather_X D[L_X] -> E[L]"
REDUCE = "A[I, J_X] · B[J_X, K] -> C[I, K]"


def pair(hbm_bandwidth: str = "1 TB/s") -> dict[str, Any]:
    return {
        "name": "pair",
        "chip": {
            "name": "round",
            "flops_per_second": {"bf16": "1 TFLOP/s"},
            "hbm_bandwidth": hbm_bandwidth,
            "hbm_capacity": "1 GB",
        },
        "dimensions": [
            {"name": "x", "size": 2, "kind": "line", "bandwidth": "1 GB/s", "latency": "1 us"}
        ],
    }


def ran(program: str | list[str], dims: str, **settings: Any) -> Run:
    return run(program, **{"topology": pair(), "dims": dims, **settings})


# program, dims, settings, and in us: simulated, at least, at most, compute, communication, exposed
TOTALS = [
    pytest.param(
        # J is halved: 2 * 100^3 FLOPs. AllReduce of V = 20,000 B: twice 10 + 1 us.
        REDUCE, "I=100,J=200,K=100", {}, (24, 20, 24, 2, 22, 22), id="dependent",
    ),
    pytest.param(
        [PRODUCT, GATHER], "I=100,J=100,K=100,L=10000", {}, (11, 10, 13, 2, 11, 9),
        id="matmul hidden",
    ),
    pytest.param(
        [PRODUCT, GATHER], "I=100,J=100,K=100,L=10000", {"overlap": "none"},
        (13, 10, 13, 2, 11, 11), id="not overlapped",
    ),
    pytest.param(
        # ten times the rows: the gather is hidden altogether
        [PRODUCT, GATHER], "I=1000,J=100,K=100,L=10000", {}, (20, 20, 31, 20, 11, 0),
        id="gather hidden",
    ),
    pytest.param(
        # two gathers share the link: 10 + 10 + 1 us, and one after the other 22 us
        [GATHER, "AllGather_X F[M_X] -> G[M]"], "L=10000,M=10000", {}, (21, 20, 22, 0, 21, 21),
        id="contention",
    ),
    pytest.param(
        # floor: each hop is the larger of 10 us and 1 us
        REDUCE, "I=100,J=200,K=100", {"latency_model": "floor"}, (22, 20, 22, 2, 20, 20),
        id="floor",
    ),
    pytest.param(PRODUCT, "I=100,J=100,K=100", {}, (2, 2, 2, 2, 0, 0), id="matmul only"),
    pytest.param("AllGather_X D[L_X] -> E[L]", "L=2", {"mesh": "X=1", "topology": "v5e:1x1"},
                 (0, 0, 0, 0, 0, 0), id="nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "dims", "settings", "expected"), TOTALS)
def test_times(
    program: str | list[str], dims: str, settings: dict[str, Any], expected: tuple[int, ...]
) -> None:
    totals = ran(program, dims, **settings).totals
    found = (
        totals.simulated_seconds,
        totals.lower_bound_seconds,
        totals.upper_bound_seconds,
        totals.compute_seconds,
        totals.communication_seconds,
        totals.exposed_communication_seconds,
    )
    assert found == tuple(us * US for us in expected)


@pytest.mark.parametrize(
    ("dims", "settings", "hidden", "utilization"),
    [
        ("I=100,J=100,K=100,L=10000", {}, Fraction(2, 11), Fraction(2, 11)),
        ("I=100,J=100,K=100,L=10000", {"overlap": "none"}, Fraction(0), Fraction(2, 13)),
        ("I=1000,J=100,K=100,L=10000", {}, Fraction(1), Fraction(1)),
        # HBM of 6 GB/s: 60,000 bytes take 10 us, longer than the FLOPs' 2 us
        ("I=100,J=100,K=100,L=10000", {"topology": pair("6 GB/s")}, Fraction(10, 11),
         Fraction(2, 11)),
    ],
)  # fmt: skip
def test_shares(
    dims: str, settings: dict[str, Any], hidden: Fraction, utilization: Fraction
) -> None:
    totals = ran([PRODUCT, GATHER], dims, **settings).totals
    assert totals.overlap_fraction == hidden
    assert totals.flops_utilization == utilization


@pytest.mark.parametrize(
    ("program", "dims", "settings", "bound"),
    [
        (PRODUCT, "I=100,J=100,K=100", {}, "compute"),
        (PRODUCT, "I=100,J=100,K=100", {"topology": pair("1 GB/s")}, "memory"),
        # 30 GB/s: 60,000 bytes take 2 us, as long as the FLOPs: compute is named
        (PRODUCT, "I=100,J=100,K=100", {"topology": pair("30 GB/s")}, "compute"),
        (GATHER, "L=10000", {}, "communication"),  # 10 us against 1 us
        (GATHER, "L=100", {}, "latency"),  # 0.1 us against 1 us
        (GATHER, "L=1000", {}, "communication"),  # 1 us each: bandwidth is named
        (REDUCE, "I=100,J=200,K=100", {}, "communication"),
        (REDUCE, "I=100,J=2200,K=100", {}, "compute"),  # 22 us against 20 us and 2 us
    ],
)
def test_what_binds(program: str, dims: str, settings: dict[str, Any], bound: str) -> None:
    assert ran(program, dims, **settings).totals.bound == bound


def test_steps_have_their_own_time_and_their_place_in_the_run() -> None:
    """Alone the second gather takes 11 us; in the run it begins after the first's messages."""
    result = ran([GATHER, "AllGather_X F[M_X] -> G[M]"], "L=10000,M=10000")
    assert [(s.simulated, s.start, s.end) for s in result.steps] == [
        (11 * US, 0, 11 * US), (11 * US, 10 * US, 21 * US),
    ]  # fmt: skip


def test_book_exact_and_simulated_side_by_side() -> None:
    """Book: V/W of each half, W = 2 GB/s, so 10 us in both; latency is the smaller and left out."""
    result = ran(REDUCE, "I=100,J=200,K=100")
    step = result.steps[1].to_dict()
    assert (step["book_seconds"], step["exact_seconds"], step["simulated_seconds"]) == (
        2e-05, 2.2e-05, 2.2e-05,
    )  # fmt: skip
    assert (step["start_seconds"], step["end_seconds"]) == (2e-06, 2.4e-05)


# memory


@pytest.mark.parametrize(
    ("lines", "extents", "peak"),
    [
        # A and B 20,000 B each, the partial sums and the result too
        ([REDUCE], {"I": 100, "J": 200, "K": 100}, 80_000),
        # A 20,000, B 40,000, A gathered 40,000, C 20,000: A gathered lives during the matmul
        (["A[I, J_X] · B[J, K] -> C[I, K]"], {"I": 100, "J": 200, "K": 100}, 120_000),
        # A, B, C of 20,000 each stay; D of 10,000 is an input, gathered 20,000
        ([PRODUCT, GATHER], {"I": 100, "J": 100, "K": 100, "L": 10_000}, 90_000),
        # V of 10,000 is gathered to W of 20,000, which goes after the product T of 20,000
        # with A of 20,000; then V, A and E of 20,000 stay, with T and the result R of 20,000
        (["AllGather_X V[J_X, K] -> W[J, K]", "A[I, J] · W[J, K] -> T[I, K]",
          "T[I, K] · E[K, L] -> R[I, L]"],
         {"I": 100, "J": 100, "K": 100, "L": 100}, 90_000),
        # A, B 20,000 and D 10,000 stay; with them T = A B and half of R, then half of R and R
        (["A[I, J] · B[J, K] · D[K, L_X] -> R[I, L]"],
         {"I": 100, "J": 100, "K": 100, "L": 100}, 80_000),
    ],
)  # fmt: skip
def test_peak_memory(lines: list[str], extents: dict[str, int], peak: int) -> None:
    assert peak_memory(planned(lines, machine((2, "line")), extents)) == peak


def test_lifetimes() -> None:
    """A, B, then A gathered (read by the matmul, step 1), and C, which is the result and stays."""
    plan = planned(
        "A[I, J_X] · B[J, K] -> C[I, K]", machine((2, "line")), {"I": 100, "J": 200, "K": 100}
    )
    assert [step.op for step in plan.steps] == ["all_gather", "matmul"]
    assert lifetimes(plan) == (
        Lifetime(Fraction(20_000), None, ()),
        Lifetime(Fraction(40_000), None, ()),
        Lifetime(Fraction(40_000), 0, (1,)),
        Lifetime(Fraction(20_000), 1, ()),
    )


# JSON


def test_the_dict_survives_json() -> None:
    result = ran([PRODUCT, GATHER], "I=100,J=100,K=100,L=10000")
    document = result.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["totals"] == {
        "simulated_seconds": 1.1e-05,
        "lower_bound_seconds": 1e-05,
        "upper_bound_seconds": 1.3e-05,
        "compute_seconds": 2e-06,
        "communication_seconds": 1.1e-05,
        "exposed_communication_seconds": 9e-06,
        "overlap_fraction": 2 / 11,
        "flops_utilization": 2 / 11,
        "bound": "communication",
        "peak_memory_bytes_per_chip": 90_000,
        "chips_per_record": 1,
    }
    assert isinstance(document["totals"]["peak_memory_bytes_per_chip"], int)
    assert document["overlap"] == Overlap.ASYNC
    assert document["axes"] == [
        {
            "name": "X",
            "size": 2,
            "kind": "line",
            "reason": "as given",
            "one_way_bandwidth_bytes_per_second": 10**9,
            "latency_seconds": 1e-06,
            "segments": [
                {
                    "name": "x",
                    "size": 2,
                    "kind": "line",
                    "reason": "as given",
                    "hops_per_step": 1,
                    "one_way_bandwidth_bytes_per_second": 10**9,
                    "latency_seconds": 1e-06,
                }
            ],
        }
    ]


def test_an_axis_over_several_dimensions_in_json() -> None:
    """Kind and rates are those of its first segment; each segment has its own."""
    document = run("A[I, J] · B[J, K] -> C[I, K]", topology="h100:2x8", mesh={"X": 16},
                   dims=dict.fromkeys("IJK", 16)).to_dict()  # fmt: skip
    (axis,) = document["axes"]
    assert (axis["kind"], [part["name"] for part in axis["segments"]]) == (
        "switch", ["node", "gpu"],
    )  # fmt: skip
    outer, inner = axis["segments"]
    key = "one_way_bandwidth_bytes_per_second"
    assert axis[key] == outer[key] == 50 * 10**9
    assert inner[key] == 450 * 10**9


def test_an_axis_on_a_part_of_a_dimension_in_json() -> None:
    document = run("A[I, J] · B[J, K] -> C[I, K]", topology="v5e:16x1", mesh={"X": 4, "Y": 4},
                   dims=dict.fromkeys("IJK", 16)).to_dict()  # fmt: skip
    found = [
        (axis["kind"], [(part["name"], part["hops_per_step"]) for part in axis["segments"]])
        for axis in document["axes"]
    ]
    assert found == [("ring", [("x:(1)4", 4)]), ("line", [("x:(4)4", 1)])]
