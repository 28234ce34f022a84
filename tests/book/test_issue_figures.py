"""Figures worked by hand for four small cases, exactly, from the notation to the JSON.

v5e and v4 links: 45 GB/s one way, 90 GB/s both ways (the book's W), 1 µs a hop, as in "How to Scale
Your Model", chapter "How to Think About TPUs". The first-order figures are those of the chapter
"Sharded Matrices and How to Multiply Them", pop quiz 2 and question 2.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import shardsim as ss
from shardsim.planner import CollectiveStep

ONE_WAY = 45 * 10**9
BOTH_WAYS = 90 * 10**9
MICRO = Fraction(1, 10**6)

CASES = {
    # A line of 4: three shards, one after the other over one link, one way; three hops.
    # V = 2048 x 8192 x 2 bytes.
    "AllGather on a line": (
        "AllGather_Y(A[E_Y, F])",
        {"topology": "v5e:8x4", "mesh": {"X": 8, "Y": 4}, "dims": {"E": 2048, "F": 8192}},
        33_554_432,
        Fraction(3, 4) * 33_554_432 / ONE_WAY + 3 * MICRO,
        Fraction(33_554_432, BOTH_WAYS),
    ),
    # A ring of 4: three quarters of V over two links; two hops. V = 1024 x 4096 x 2 / 4 bytes.
    "AllGather on a ring": (
        "AllGather_X(A[B_X, D_Y])",
        {"topology": "v4:4x4x4", "dims": {"B": 1024, "D": 4096}},
        2_097_152,
        Fraction(3, 4) * 2_097_152 / BOTH_WAYS + 2 * MICRO,
        Fraction(2_097_152, BOTH_WAYS),
    ),
    # The same twice, there and back. V = 1024 x 4096 x 2 / 16 bytes: B and D stay sharded.
    "AllReduce on a ring": (
        "AllReduce_Z(A[B_X, D_Y]{U_Z})",
        {"topology": "v4:4x4x4", "dims": {"B": 1024, "D": 4096}},
        524_288,
        2 * Fraction(3, 4) * 524_288 / BOTH_WAYS + 4 * MICRO,
        2 * Fraction(524_288, BOTH_WAYS),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_collective(name: str) -> None:
    text, settings, size, seconds, book = CASES[name]
    result = ss.run(text, **settings)
    (times,) = result.steps
    step = times.step
    assert isinstance(step, CollectiveStep)
    assert step.size == size
    assert times.simulated == step.seconds == result.totals.simulated_seconds == seconds
    assert step.price.book == book
    (entry,) = result.to_dict()["steps"]
    assert entry["bytes"] == size
    assert entry["simulated_seconds"] == entry["exact_seconds"] == float(seconds)
    assert entry["book_seconds"] == float(book)
    assert entry["relation"] == "equal"


MICROSECONDS = {
    # to five digits, with latency and without
    "AllGather on a line": (562.24, 559.24, 372.83),
    "AllGather on a ring": (19.476, 17.476, 23.302),
    "AllReduce on a ring": (12.738, 8.7381, 11.651),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_in_microseconds(name: str) -> None:
    text, settings, *_ = CASES[name]
    result = ss.run(text, **settings)
    step = result.steps[0].step
    assert isinstance(step, CollectiveStep)
    found = (result.steps[0].simulated, step.price.exact.bandwidth, step.price.book)
    assert tuple(float(f"{float(value) * 1e6:.5g}") for value in found) == MICROSECONDS[name]


def test_why_it_is_a_line() -> None:
    text, settings, *_ = CASES["AllGather on a line"]
    axes = ss.run(text, **settings).to_dict()["axes"]
    assert [(axis["name"], axis["size"], axis["kind"], axis["reason"]) for axis in axes] == [
        ("X", 8, "line", "v5e wraps a dimension only when it is 16 long; this one is 8"),
        ("Y", 4, "line", "v5e wraps a dimension only when it is 16 long; this one is 4"),
    ]


def test_all_reduce_is_exactly_twice_reduce_scatter() -> None:
    """In time, simulated and by formula; and both compute A B."""
    size = 256
    settings = {"topology": "v5e:16x16", "dims": dict.fromkeys("IJK", size)}
    reduce = ss.run("A[I, J_X] · B[J_X, K] -> C[I, K]", **settings)
    scatter = ss.run("A[I, J_X] · B[J_X, K] -> C[I, K_X]", **settings)
    assert [times.step.op for times in reduce.steps] == ["matmul", "all_reduce"]
    assert [times.step.op for times in scatter.steps] == ["matmul", "reduce_scatter"]
    twice, once = reduce.steps[1], scatter.steps[1]
    # a ring of 16: 15/16 of V = 256 x 256 x 2 over two links; eight hops
    expected = Fraction(15, 16) * 131_072 / BOTH_WAYS + 8 * MICRO
    assert once.simulated == once.step.seconds == expected
    assert twice.simulated == twice.step.seconds == 2 * expected

    chance = np.random.default_rng(3)
    a, b = chance.integers(-99, 99, (size, size)), chance.integers(-99, 99, (size, size))
    for result in (reduce, scatter):
        assert np.array_equal(ss.execute(result.plan, {"A": a, "B": b}), a @ b)
