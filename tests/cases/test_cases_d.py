"""Known answers, fourth group: what compilers and planners got wrong about sharded matmuls.

Each is a mistake or a question from a public issue tracker, with the right figure. Plans that are
shown here are also run on real numbers.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shardsim as ss
from shardsim.comparison import step_advice
from shardsim.errors import InputError
from shardsim.planner import Plan
from tests.cases.figures import A2A, AG, AR, MIB, MS, RS, near, price


def switch(size: int, **more: object) -> dict[str, Any]:
    """Chips at one switch, 450 GB/s, without latency: bytes decide."""
    chip = {
        "name": "c",
        "flops_per_second": {"f32": "100 TFLOP/s", "bf16": "1000 TFLOP/s"},
        "hbm_bandwidth": "3 TB/s",
        "hbm_capacity": "80 GB",
    }
    dimension = {"name": "d", "size": size, "kind": "switch", "bandwidth": "450 GB/s", "latency": 0}
    return {"name": "node", "chip": chip, "dimensions": [{**dimension, **more}]}


def plan(text: str, on: object, dims: str, **settings: object) -> Plan:
    return ss.plan(text, topology=on, dims=dims, **settings)  # type: ignore[arg-type]


def texts(made: Plan) -> list[str]:
    return [step.text for step in made.steps]


def is_right(text: str, mesh: str, dims: str, **settings: object) -> bool:
    """Whether the plan for small extents gives numpy's answer."""
    made = plan(text, switch(8), dims, mesh=mesh, **settings)
    rng = np.random.default_rng(5)
    arrays = {n: rng.integers(-99, 100, v.sharded.extents) for n, v in made.inputs}
    operands = list(arrays.values())
    expected = operands[0] if len(operands) == 1 else operands[0] @ operands[1]
    return np.array_equal(ss.execute(made, arrays), expected)


# openxla/xla issue 4062: both operands gathered for a transposed sharding of the output.


def test_the_product_is_made_where_it_lies_and_only_then_moved() -> None:
    mesh, dims = "X=4,Y=2", "I=8192,J=8192,K=8192"
    same = plan("A[I_X, J] · B[J, K_Y] -> C[I_X, K_Y]", switch(8), dims, mesh=mesh, dtype="f32")
    assert texts(same) == ["A[I_X, J] · B[J, K_Y] -> C[I_X, K_Y]"]
    assert same.choices[0].chosen.flops == 2 * 8192**3 // 8

    text = "A[I_X, J] · B[J, K_Y] -> C[I_Y, K_X]"
    other = plan(text, switch(8), dims, mesh=mesh, dtype="f32")
    way = other.choices[0].chosen
    assert texts(other)[0] == "A[I_X, J] · B[J, K_Y] -> C[I_X, K_Y]"
    assert way.flops == 2 * 8192**3 // 8  # and not 8 times as many
    gathers = 8192**2 * 4 * (Fraction(3, 4) + Fraction(1, 2))
    assert near(gathers / 10**6, 335.5, 0.001)  # 201.3 MB + 134.2 MB
    assert way.wire_bytes <= Fraction(3, 2) * 8192**2 * 4 / 8  # one and a half shards of C
    assert is_right(text, mesh, "I=8,J=16,K=24")


# openxla/xla issue 15207, google/jax issue 21562: an involuntary full rematerialization.


def test_two_exchanges_instead_of_a_gather_of_everything() -> None:
    text = "A[I_Y, J, K_X] -> A[I, J_XY, K]"
    made = plan(text, switch(8), "I=16,J=16,K=16", mesh="X=4,Y=2", dtype="f32", objective="bytes")
    assert [step.op for step in made.steps] == ["all_to_all", "all_to_all"]
    chosen, gathered = made.alternatives[0], made.alternatives[-1]
    assert chosen.wire_bytes == 2560  # 1.5 KiB + 1 KiB
    assert {step.op for step in gathered.steps} == {"all_gather", "slice"}
    assert gathered.wire_bytes == 8 * 1024  # sliced as soon as possible; of everything 14 KiB:
    assert price(AG, 16**3 * 4, switch(8)).wire_bytes == 14 * 1024
    assert is_right(text, "X=4,Y=2", "I=16,J=16,K=16")


def test_so_small_an_array_is_a_matter_of_latency() -> None:
    made = plan("A[I_Y, J, K_X] -> A[I, J_XY, K]", "v5e:4x2", "I=16,J=16,K=16")
    assert "most of that is latency: the array is small for this machine" in made.choices[0].reasons


# google/jax issue 23543: gathered in f32, then cast.


def test_a_cast_before_the_gather_halves_its_time() -> None:
    assert near(price(AG, 2 * 2**30, switch(8)).exact.total / MS, 4.176, 0.001)
    assert near(price(AG, 2**30, switch(8)).exact.total / MS, 2.088, 0.001)


def test_the_hint_to_cast_first() -> None:
    made = plan(
        "A[I, J] · W[J_X, K] -> C[I, K]", switch(8), "I=65536,J=16384,K=32768",
        mesh="X=8", dtype="A=bf16,W=f32,default=bf16", policy="textbook",
    )  # fmt: skip
    assert (
        "AllGather_X of W moves f32: cast to bf16 before, it would take 2.09 ms instead of 4.18 ms"
        in made.choices[0].reasons
    )


# pytorch/pytorch issue 157585: two mesh axes on one dimension have an order.


@pytest.mark.parametrize(
    ("text", "sent", "ops"),
    [
        ("A[I_XY] -> A[I_X]", 24, ["all_gather"]),
        ("A[I_XY] -> A[I_Y]", 16, ["permute", "all_gather"]),
        ("A[I_XY] -> A[I_YX]", 8, ["permute"]),
    ],
)
def test_the_order_of_two_axes(text: str, sent: int, ops: list[str]) -> None:
    made = plan(
        text, switch(8), f"I={16 * MIB}", mesh="X=2,Y=4", dtype="f32", objective="bytes"
    )  # fmt: skip
    assert [step.op for step in made.steps] == ops
    assert made.choices[0].chosen.wire_bytes == sent * MIB
    assert is_right(text, "X=2,Y=4", "I=16")


def test_two_gathers_and_a_slice_would_cost_56_mib() -> None:
    made = plan(
        "A[I_XY] -> A[I_Y]", switch(8), f"I={16 * MIB}", mesh="X=2,Y=4", dtype="f32",
        objective="bytes",
    )  # fmt: skip
    assert made.alternatives[-1].wire_bytes == 56 * MIB
    assert any("56.0 MB" in reason or "58.7 MB" in reason for reason in made.choices[0].reasons)


# pytorch/pytorch issue 169439: a way round that was cheaper than the straight one. As a law in
# tests/property/test_law_planner.py; here all of one mesh.


def test_no_stop_on_the_way_makes_a_reshard_cheaper() -> None:
    layouts = ["I_XY, J", "I_YX, J", "I_X, J_Y", "I_Y, J_X", "I, J_XY", "I, J_YX"]
    cost = {
        (one, other): plan(
            f"A[{one}] -> A[{other}]", "v5e:4x2", "I=1024,J=1024"
        ).choices[0].chosen.estimate
        for one, other in itertools.product(layouts, repeat=2)
    }  # fmt: skip
    assert all(
        cost[a, c] <= cost[a, b] + cost[b, c] for a, b, c in itertools.product(layouts, repeat=3)
    )


# pytorch/pytorch issues 173420, 178175: shard to shard priced as a gather.


@pytest.mark.parametrize(
    ("kind", "ratio"),
    [("switch", 8), ("ring", 4 * Fraction(7, 8)), ("line", 4 * Fraction(7, 8))],
)
def test_an_exchange_is_so_much_cheaper_than_a_gather(kind: str, ratio: Fraction) -> None:
    on = switch(8, kind=kind)
    gather, exchange = price(AG, 64 * MIB, on), price(A2A, 64 * MIB, on)
    assert gather.exact.total == ratio * exchange.exact.total


# AI-Hypercomputer HighPerfLLMs2024 issue 6, pytorch/xla issue 3071: AllReduce, then a slice.


def test_a_scattered_result_is_reduce_scattered() -> None:
    made = plan("A[I, J_X] · B[J_X, K] -> C[I, K_X]", switch(8), "I=128,J=8192,K=7168", mesh="X=8")
    assert [step.op for step in made.steps] == ["matmul", "reduce_scatter"]
    assert made.choices[0].chosen.wire_bytes == Fraction(7, 8) * 128 * 7168 * 2
    on, size = switch(8), 128 * 7168 * 2
    assert price(AR, size, on).exact.total == 2 * price(RS, size, on).exact.total


def test_an_all_reduce_of_which_a_part_is_kept_is_warned_of() -> None:
    assert ss.run(ss.load_scenario("3-all-reduce")).advice == ()
    lines = ["AllReduce_X C[I, K]{U_X} -> D[I, K]", "D[I, K] -> E[I, K_X]"]
    made = ss.plan(lines, topology=switch(8), dims="I=128,K=7168", mesh="X=8")
    assert step_advice(made) == (
        (0, "each chip keeps only its part of the sum: ReduceScatter would take 3.57 µs instead of "
            "7.14 µs"),
    )  # fmt: skip


# pytorch/pytorch issue 167106, google/jax issues 31889, 31918, 31927: collectives nobody needs.


@pytest.mark.parametrize(
    "text",
    [
        "A[I, J_XY] · B[J_XY, K] -> C[I, K]{U_XY}",
        "A[I, J_XY] · B[J_XY, K] -> C[I, K]{U_XY}".replace("J_XY", "J_YX"),
        "A[I_Y, J_X] · B[J_X, K] -> C[I_Y, K]{U_X}",
        "A[I_X, J] · B[J, K_Y] -> C[I_X, K_Y]",
    ],
)
def test_partial_sums_cost_nothing_until_they_are_reduced(text: str) -> None:
    made = plan(text, switch(8), "I=64,J=64,K=64", mesh="X=2,Y=4")
    assert [step.op for step in made.steps] == ["matmul"]
    assert is_right(text, "X=2,Y=4", "I=16,J=16,K=16")


# pytorch/xla issue 3285: sharded over one chip is not sharded.


def test_an_axis_of_one_chip_costs_nothing() -> None:
    assert plan("A[I_X, J] -> A[I, J]", "v5e:1x4", "I=7,J=8").steps == ()
    made = plan("A[I_X, J_Y] · B[J_Y, K_X] -> C[I, K]{U_Y}", "v5e:1x4", "I=7,J=8,K=3")
    assert [step.op for step in made.steps] == ["matmul"]


# google/jax issue 27808, openpi issue 607, NVIDIA/TensorRT-LLM issue 98, LWM issue 39: uneven.


@pytest.mark.parametrize(
    ("extent", "ways", "padded", "waste"),
    [
        (5, 4, 8, Fraction(3, 8)),
        (19, 4, 20, Fraction(1, 20)),
        (32001, 2, 32002, Fraction(1, 32002)),
        (1, 8, 8, Fraction(7, 8)),
        (5, 2, 6, Fraction(1, 6)),
    ],
)
def test_padding_and_its_waste(extent: int, ways: int, padded: int, waste: Fraction) -> None:
    text, dims = "A[I_X, J] · B[J, K] -> C[I_X, K]", f"I={extent},J=4,K=4"
    mesh = {"X": ways, "Y": 8 // ways}
    with pytest.raises(InputError, match=f"I of extent {extent} is not divisible over axis X"):
        ss.plan(text, topology=switch(8), mesh=mesh, dims=dims)
    made = ss.plan(text, topology=switch(8), mesh=mesh, dims=dims, uneven="pad")
    (one,) = made.program.padding
    assert (one.dim, one.asked, one.extent, one.waste) == ("I", extent, padded, waste)
    assert made.result.sharded.local_shape == (padded // ways, 4)
    assert made.to_dict()["padding"] == [one.to_dict()]
    a, b = np.arange(4 * extent).reshape(extent, 4), np.arange(16).reshape(4, 4)
    assert np.array_equal(ss.execute(made, {"A": a, "B": b}), a @ b)


def test_the_largest_shard_is_priced() -> None:
    text = "A[I_X, J] · B[J, K] -> C[I, K]"
    padded = plan(text, "v5e:4x4", "I=4097,J=512,K=512", uneven="pad")
    even = plan(text, "v5e:4x4", "I=4100,J=512,K=512")
    assert texts(padded) == texts(even)
    assert [s.seconds for s in padded.steps] == [s.seconds for s in even.steps]
