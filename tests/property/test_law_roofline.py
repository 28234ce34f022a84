"""Laws of rooflines: bounds hold, what is solved for is exact, rates scale as they must."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

import shardsim as ss
from shardsim.catalogue import one_chip
from shardsim.rooflines import Answer, Critical, ask_roofline
from shardsim.topology import Topology

PROGRAMS = [
    "X[B, D] · W[D, F] -> Y[B, F]",
    "X[B, D_X] · W[D_X, F] -> Y[B, F]",
    "X[B, D] · W[D_X, F] -> Y[B, F]",
    "X[B_X, D] · W[D, F_Y] -> Y[B_X, F_Y]",
    "X[E, B, D_Y] · W[E, D_Y, F_X] -> Y[E, B, F_X]",
]
SLICES = ["v5e:4x4", "v4:4x4x4", "h100:4x8", "v5p:2x2x1"]
DTYPES = ["bf16", "int8", {"W": "int8", "default": "bf16"}]
extents = st.integers(1, 40).map(lambda n: 64 * n)


@st.composite
def questions(draw: st.DrawFn) -> tuple[str, str, dict[str, int], object]:
    """A program, a slice, extents and types."""
    program = draw(st.sampled_from(PROGRAMS))
    dims = {name: draw(extents) for name in "EBDF" if name in program}
    machine = draw(st.sampled_from(SLICES))
    words = [dtype for dtype in DTYPES if not machine.startswith("h100") or dtype != "int8"]
    return program, machine, dims, draw(st.sampled_from(words))


def ask(question: tuple[str, str, dict[str, int], object], **more: object) -> Answer:
    program, machine, dims, dtype = question
    return ask_roofline(program, on=machine, dims=dims, dtype=dtype, **more)  # type: ignore[arg-type]


@given(questions())
def test_the_steps_of_the_plan_take_between_the_bounds(
    question: tuple[str, str, dict[str, int], object],
) -> None:
    program, machine, dims, dtype = question
    one = ask(question).roofline
    plan = ss.plan(program, topology=machine, dims=dims, dtype=dtype, policy="textbook")
    estimates = sum((choice.chosen.estimate for choice in plan.choices), Fraction(0))
    assert one.lower_bound() <= estimates <= one.upper_bound()


@given(questions(), st.sampled_from("BDF"))
def test_at_the_extent_solved_for_both_take_as_long(
    question: tuple[str, str, dict[str, int], object], dim: str
) -> None:
    answer = ask(question, solve=dim)
    one, clock = answer.roofline, answer.roofline.clock
    for found in answer.solved:
        if found.exact is None:
            continue
        factors = {dim: found.exact / one.extents[dim]}
        computing = clock.compute(one.load, factors)
        if found.channel is clock.through:
            assert computing == clock.moving(one.load, one.memory.channel, factors)
        else:
            assert computing == clock.talking(one.load, found.channel, factors)


def _memory(answer: Answer) -> Critical:
    return answer.solved[0]


@given(questions())
def test_first_order_is_never_above_exact_in_memory(
    question: tuple[str, str, dict[str, int], object],
) -> None:
    """It counts fewer bytes, so less has to be computed to hide them."""
    found = _memory(ask(question, solve="B"))
    if found.exact is not None and found.computes_above:
        assert found.approximate is not None
        assert found.approximate <= found.exact


@given(questions(), st.integers(2, 9))
def test_faster_memory_needs_less_intensity(
    question: tuple[str, str, dict[str, int], object], times: int
) -> None:
    program, machine, dims, dtype = question
    slow = one_chip(machine)
    fast: Topology = replace(
        slow, chip=replace(slow.chip, hbm_bandwidth=times * slow.chip.hbm_bandwidth)
    )
    before, after = (
        ask_roofline(program, on=on, dims=dims, dtype=dtype).roofline  # type: ignore[arg-type]
        for on in (slow, fast)
    )
    assert before.memory_seconds == times * after.memory_seconds
    assert before.memory.needed == times * (after.memory.needed or 0)
    assert before.compute_seconds == after.compute_seconds
