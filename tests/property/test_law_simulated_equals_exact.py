"""Law: the simulation of an uncontended collective takes exactly the time of its closed form.

Two independent derivations: hops on integer ticks, and a formula that knows no hop. Equality is
`==`.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardsim.hardware import Link
from shardsim.planner import CollectiveStep
from shardsim.vocabulary import Algorithm, CollectiveKind, LatencyModel, Relation
from tests.machines import RING_ALGORITHMS, collective_plan, simulated
from tests.strategies import links, sizes

CASES = max(10, settings().max_examples // 2)
FABRICS = [("ring", algorithm) for algorithm in RING_ALGORITHMS] + [("line", None)]
LINE_EXCHANGE = 20
"""AllToAll on a line has about N^3/3 messages; longer ones have a test of their own."""


@pytest.mark.parametrize("latency_model", LatencyModel)
@pytest.mark.parametrize(("dimension", "algorithm"), FABRICS)
@pytest.mark.parametrize("kind", CollectiveKind)
def test_simulated_equals_exact(
    kind: CollectiveKind,
    dimension: str,
    algorithm: Algorithm | None,
    latency_model: LatencyModel,
) -> None:
    on_line = kind is CollectiveKind.ALL_TO_ALL and dimension == "line"
    most = LINE_EXCHANGE if on_line else 64

    @settings(max_examples=CASES)
    @given(size=sizes(most), elements=st.integers(1, 10**6), link=links())
    def law(size: int, elements: int, link: Link) -> None:
        plan = collective_plan(kind, size, dimension, elements, link, algorithm, latency_model)
        time = simulated(plan).makespan
        if size == 1:
            assert plan.steps == ()
            assert time == 0
            return
        (step,) = plan.steps
        assert isinstance(step, CollectiveStep)
        if step.price.relation is Relation.LOWER_BOUND:
            assert on_line
            assert time >= step.seconds
        else:
            assert time == step.seconds

    law()


@settings(max_examples=CASES)
@given(size=sizes(LINE_EXCHANGE), elements=st.integers(1, 10**6), link=links(latency=False))
def test_all_to_all_on_a_line_is_equal_without_latency(
    size: int, elements: int, link: Link
) -> None:
    plan = collective_plan(CollectiveKind.ALL_TO_ALL, size, "line", elements, link)
    assert simulated(plan).makespan == sum(step.seconds for step in plan.steps)


@pytest.mark.fixed
@pytest.mark.parametrize("dimension", ["ring", "line"])
def test_all_to_all_over_64(dimension: str) -> None:
    link = Link(Fraction(45 * 10**9), Fraction(0))
    plan = collective_plan(CollectiveKind.ALL_TO_ALL, 64, dimension, 1000, link)
    volume = 2 * 64 * 64 * 1000
    assert simulated(plan).makespan == Fraction(volume, (8 if dimension == "ring" else 4)) / (
        45 * 10**9
    )


@given(size=sizes(24), elements=st.integers(1, 10**6), link=links(), dimension=st.sampled_from(
    ["ring", "line"]
))  # fmt: skip
def test_all_reduce_is_reduce_scatter_then_all_gather(
    size: int, elements: int, link: Link, dimension: str
) -> None:
    times = {
        kind: simulated(collective_plan(kind, size, dimension, elements, link)).makespan
        for kind in CollectiveKind
        if kind is not CollectiveKind.ALL_TO_ALL
    }
    both = times[CollectiveKind.REDUCE_SCATTER] + times[CollectiveKind.ALL_GATHER]
    assert times[CollectiveKind.ALL_REDUCE] == both
    assert times[CollectiveKind.ALL_REDUCE] == 2 * times[CollectiveKind.REDUCE_SCATTER]
