"""Laws of collectives and matmuls done together: closed forms, bounds, and cores that slow down."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.cost import CostModel, MatmulPrice
from shardsim.cost.pipeline import Hops, chunked, together
from shardsim.engine import simulate, simulate_calls
from shardsim.errors import PlanError
from shardsim.hardware import Link
from shardsim.overlap import decompose
from shardsim.planner import CollectiveStep, MatmulStep, Plan
from shardsim.timeline import Core, Timeline, overlap
from shardsim.topology import Topology
from shardsim.units import Seconds
from shardsim.vocabulary import (
    Algorithm,
    CollectiveKind,
    DimensionKind,
    Form,
    LatencyModel,
    Overlap,
)
from tests.machines import machine, planned
from tests.strategies import programs
from tests.together import (
    CHUNK,
    COMBINATIONS,
    LINE,
    RING,
    SCATTER,
    SWITCH,
    Pace,
    done_together,
    pair_of,
    reduced_by_itself,
)

Given = tuple[list[str], Topology, dict[str, int]]
models = st.sampled_from(LatencyModel)
seconds = st.builds(Fraction, st.integers(1, 24), st.integers(1, 3))
forms = st.none() | st.sampled_from(Form)
slowdowns = st.fractions(1, 4, max_denominator=7)
paces = st.builds(
    Pace,
    part=seconds,
    transfer=seconds,
    latency=st.just(Fraction(0)) | st.builds(Fraction, st.integers(0, 12), st.integers(1, 3)),
    launch=st.just(Fraction(0)) | st.builds(Fraction, st.integers(0, 6), st.just(2)),
    model=models,
)


def hops_of(pace: Pace) -> Hops:
    link = Link(CHUNK / pace.transfer, pace.latency)
    return Hops.of(Fraction(CHUNK), link, pace.model, launch=pace.launch)


def chips_of(form: Form) -> st.SearchStrategy[int]:
    return st.sampled_from([2, 4, 6, 8]) if form is Form.PAIRS else st.integers(2, 9)


# Closed forms.


def test_there_are_so_many_combinations() -> None:
    assert len(COMBINATIONS) == 16


@pytest.mark.parametrize(("dimension", "form", "kind"), COMBINATIONS)
@given(data=st.data(), pace=paces)
def test_every_form_takes_what_its_closed_form_says(
    dimension: DimensionKind, form: Form, kind: CollectiveKind, data: st.DataObject, pace: Pace
) -> None:
    n = data.draw(chips_of(form))
    timeline = simulate(pair_of(form, kind, dimension, n, pace), Overlap.DECOMPOSED)
    assert timeline.makespan == together(form, kind, dimension, n, pace.part, hops_of(pace))


ALL_REDUCES = {
    RING: (
        Algorithm.BALANCED,
        Algorithm.WHOLE_SHARDS,
        Algorithm.HALF_SHARDS,
        Algorithm.ONE_DIRECTION,
    ),
    SWITCH: (Algorithm.DIRECT, Algorithm.RING),
    LINE: (Algorithm.LINE, Algorithm.REDUCE_BROADCAST),
}


def early(pace: Pace) -> Seconds:
    """How much sooner the links begin to work, and are free again, than an AllReduce."""
    tail = pace.latency if pace.model is LatencyModel.ADDITIVE else 0
    return pace.launch + tail


@pytest.mark.parametrize(
    ("dimension", "algorithm"),
    [(dimension, one) for dimension in (RING, SWITCH) for one in ALL_REDUCES[dimension]],
)
@given(n=st.integers(2, 9), parts=st.integers(1, 5), pace=paces)
def test_an_all_reduce_in_chunks_takes_what_its_closed_form_says(
    dimension: DimensionKind, algorithm: Algorithm, n: int, parts: int, pace: Pace
) -> None:
    kind = CollectiveKind.ALL_REDUCE
    plan = pair_of(Form.CHUNKS, kind, dimension, n, pace, parts=parts, algorithm=algorithm)
    reduced = reduced_by_itself(plan, parts)
    exact = chunked(parts, pace.part, reduced, early(pace))
    assert simulate(plan, Overlap.DECOMPOSED).makespan == exact
    assert exact <= chunked(parts, pace.part, reduced, Fraction(0))


@pytest.mark.parametrize("algorithm", ALL_REDUCES[LINE])
@given(n=st.integers(2, 9), parts=st.integers(1, 5), pace=paces)
def test_an_all_reduce_in_chunks_on_a_line_is_no_slower_than_its_bound(
    algorithm: Algorithm, n: int, parts: int, pace: Pace
) -> None:
    kind = CollectiveKind.ALL_REDUCE
    plan = pair_of(Form.CHUNKS, kind, LINE, n, pace, parts=parts, algorithm=algorithm)
    bound = chunked(parts, pace.part, reduced_by_itself(plan, parts), Fraction(0))
    assert simulate(plan, Overlap.DECOMPOSED).makespan <= bound


def in_one_call(plan: Plan) -> Plan:
    """A matmul and one AllReduce over both axes, though one after the other might be sooner."""
    matmul, first, *_ = plan.steps
    assert isinstance(first, CollectiveStep)
    cost = CostModel(plan.latency_model)
    call = cost.call(CollectiveKind.ALL_REDUCE, plan.mesh.group(("X", "Y")), first.size)
    step = replace(first, axes=("X", "Y"), call=call, result=plan.result)
    return replace(plan, steps=(matmul, step), statements=(0, 1))


@given(
    sizes=st.lists(st.integers(2, 4), min_size=2, max_size=2),
    kinds=st.lists(st.sampled_from(["ring", "line", "switch"]), min_size=2, max_size=2),
    parts=st.integers(1, 4),
    pace=paces,
)
def test_an_all_reduce_over_two_axes_in_chunks_is_no_slower_than_its_bound(
    sizes: list[int], kinds: list[str], parts: int, pace: Pace
) -> None:
    link = Link(CHUNK / pace.transfer, pace.latency)
    chips = sizes[0] * sizes[1]
    plan = planned(
        [
            "A[I, J_XY] ·_LOCAL B[J_XY, K] -> C[I, K]{U_XY}",
            "AllReduce_XY C[I, K]{U_XY} -> C[I, K]",
        ],
        machine(*zip(sizes, kinds, strict=True), link=link),
        {"I": 8 * chips, "J": chips, "K": 8},
        latency_model=pace.model,
    )
    plan = in_one_call(plan)
    plan = done_together(plan, Form.CHUNKS, parts, pace.part)
    bound = chunked(parts, pace.part, reduced_by_itself(plan, parts), Fraction(0))
    assert simulate(plan, Overlap.DECOMPOSED).makespan <= bound


# Random programs.

paced = st.sampled_from([10**7, 10**8, 10**9, 10**12])
"""HBM bandwidths with which small matmuls take as long as a few hops, or next to nothing."""


def on_hbm(case: Given, bandwidth: int, model: LatencyModel) -> Plan:
    lines, topology, extents = case
    chip = replace(topology.chip, hbm_bandwidth=Fraction(bandwidth))
    return planned(lines, replace(topology, chip=chip), extents, latency_model=model)


def made_together(plan: Plan, form: Form | None = None) -> Plan:
    """In one form where that can be, else in the fastest."""
    cost = CostModel(plan.latency_model)
    try:
        return decompose(plan, cost, form=form)[0]
    except PlanError:
        return decompose(plan, cost)[0]


def shuffled(seed: int) -> Any:
    def order(items: Sequence[Any]) -> Sequence[Any]:
        mixed = list(items)
        random.Random(seed).shuffle(mixed)
        return mixed

    return order


@given(programs(), models)
def test_none_takes_the_sum_of_its_steps_each_by_itself(case: Given, model: LatencyModel) -> None:
    plan = planned(*case, latency_model=model)
    topology = plan.mesh.topology
    alone = [
        simulate_calls(topology, [step.call], model).makespan
        if isinstance(step, CollectiveStep)
        else step.seconds
        for step in plan.steps
    ]
    assert simulate(plan, Overlap.NONE).makespan == sum(alone)


@given(programs(), paced, models, st.integers(0, 2))
def test_more_prefetch_is_never_slower(
    case: Given, hbm: int, model: LatencyModel, prefetch: int
) -> None:
    plan = on_hbm(case, hbm, model)
    none = simulate(plan, Overlap.NONE).makespan
    some, more = (simulate(plan, prefetch=ahead) for ahead in (prefetch, prefetch + 1))
    everything = simulate(plan)
    assert everything.busiest() <= everything.makespan <= more.makespan <= some.makespan <= none
    assert simulate(plan, prefetch=None) == everything
    assert simulate(plan, prefetch=len(case[0])) == everything


@given(programs(), paced, models, forms, st.sampled_from([None, 0, 1, 2]), slowdowns)
def test_what_is_done_together_is_no_faster_than_the_busiest_and_never_overlaps_there(
    case: Given,
    hbm: int,
    model: LatencyModel,
    form: Form | None,
    prefetch: int | None,
    slowdown: Fraction,
) -> None:
    plan = made_together(on_hbm(case, hbm, model), form)
    timeline = simulate(plan, Overlap.DECOMPOSED, slowdown=slowdown, prefetch=prefetch)
    assert timeline.busiest() <= timeline.makespan
    for intervals in timeline.by_track.values():
        for before, after in pairwise(intervals):
            assert before.end <= after.start


@given(programs(), paced, models, forms, st.integers(0, 999), slowdowns)
def test_creating_processes_in_another_order_changes_nothing(
    case: Given, hbm: int, model: LatencyModel, form: Form | None, seed: int, slowdown: Fraction
) -> None:
    plan = made_together(on_hbm(case, hbm, model), form)
    once = simulate(plan, Overlap.DECOMPOSED, slowdown=slowdown)
    assert simulate(plan, Overlap.DECOMPOSED, slowdown=slowdown, order=shuffled(seed)) == once


@given(programs(most=2), paced)
def test_an_axis_of_one_chip_is_a_no_op(case: Given, hbm: int) -> None:
    lines, topology, extents = case
    one = replace(topology.dimensions[1], size=1)
    only_x = replace(topology, dimensions=(topology.dimensions[0], one))
    bare = [line.replace("_XY", "_X").replace("_YX", "_X").replace("_Y", "") for line in lines]
    made = [
        made_together(on_hbm((texts, only_x, extents), hbm, LatencyModel.ADDITIVE))
        for texts in (lines, bare)
    ]
    assert made[0].decomposed == made[1].decomposed
    first, second = (simulate(plan, Overlap.DECOMPOSED) for plan in made)
    assert first == second


# Cores that slow down.


@given(programs(), paced, models, forms, slowdowns, st.sampled_from(["apart", "together"]))
def test_a_slowdown_costs_no_more_than_itself(
    case: Given, hbm: int, model: LatencyModel, form: Form | None, slowdown: Fraction, how: str
) -> None:
    plan = on_hbm(case, hbm, model)
    if how == "together":
        plan = made_together(plan, form)
    full = simulate(plan)
    slow = simulate(plan, slowdown=slowdown)
    assert simulate(plan, slowdown=Fraction(1)) == full
    assert full.makespan <= slow.makespan <= slowdown * full.makespan


@given(programs(), paced, models, slowdowns)
def test_one_step_after_the_other_slows_nothing_down(
    case: Given, hbm: int, model: LatencyModel, slowdown: Fraction
) -> None:
    plan = on_hbm(case, hbm, model)
    slow = simulate(plan, Overlap.NONE, slowdown=slowdown)
    assert slow.makespan == simulate(plan, Overlap.NONE).makespan


def work_of(timeline: Timeline, plan: Plan, chip: tuple[int, ...], slowdown: Fraction) -> list[Any]:
    """What each interval of a core is at full speed, by step."""
    steps = frozenset(i for i, s in enumerate(plan.steps) if isinstance(s, CollectiveStep))
    communicating = timeline.communicating(chip, steps)
    found = []
    for interval in timeline.by_track.get(Core(chip), ()):
        both = overlap([(interval.start, interval.end)], communicating)
        whole = interval.end - interval.start - both + both / slowdown
        found.append((interval.step, whole / timeline.ticks_per_second))
    return found


@given(programs(), paced, models, forms, slowdowns)
def test_a_core_does_the_same_work_at_its_pace(
    case: Given, hbm: int, model: LatencyModel, form: Form | None, slowdown: Fraction
) -> None:
    """At 1/s while its chip takes part in a collective, at full speed else: to the exact tick."""
    plan = made_together(on_hbm(case, hbm, model), form)
    part = {pair.matmul: pair.part_seconds for pair in plan.decomposed}
    timeline = simulate(plan, Overlap.DECOMPOSED, slowdown=slowdown)
    for chip in timeline.chips:
        for index, found in work_of(timeline, plan, chip, slowdown):
            assert found == part.get(index, plan.steps[index].seconds)


def beside(kind: str, n: int, compute: Seconds, transfer: Seconds, lines: Sequence[str]) -> Plan:
    """A matmul that takes `compute`, and a collective that does not touch it."""
    plan = planned(
        list(lines),
        machine((n, kind), link=Link(CHUNK / transfer, Fraction(1, 2))),
        {"I": 4, "J": 4, "K": 4, "L": n * CHUNK // 2},
    )
    price = MatmulPrice(compute=compute, memory=Fraction(0))
    steps = [replace(s, price=price) if isinstance(s, MatmulStep) else s for s in plan.steps]
    return replace(plan, steps=tuple(steps))


@given(
    st.sampled_from(["ring", "line", "switch"]),
    st.integers(2, 6),
    seconds,
    seconds,
    slowdowns,
    st.permutations(["A[I, J] · B[J, K] -> C[I, K]", "AllGather_X D[L_X] -> D[L]"]),
)
def test_a_matmul_beside_a_collective_is_slow_while_that_lasts(
    kind: str, n: int, compute: Seconds, transfer: Seconds, slowdown: Fraction, lines: list[str]
) -> None:
    plan = beside(kind, n, compute, transfer, lines)
    (call,) = (step.call for step in plan.steps if isinstance(step, CollectiveStep))
    alone = simulate_calls(plan.mesh.topology, [call])
    timeline = simulate(plan, slowdown=slowdown)
    ends = []
    for activity in alone.activities:
        lasts = alone.seconds(activity.end)
        within = slowdown * compute <= lasts
        ends.append(slowdown * compute if within else lasts + compute - lasts / slowdown)
        assert timeline.busy(Core(activity.chip)) == ends[-1]
    assert timeline.makespan == max(alone.makespan, *ends)


SLOWED = [one for one in COMBINATIONS if one[-1] is SCATTER]


@pytest.mark.parametrize(("dimension", "form", "kind"), SLOWED)
@given(data=st.data(), pace=paces, slowdown=slowdowns)
def test_before_a_reduce_scatter_every_part_is_slowed_down(
    dimension: DimensionKind,
    form: Form,
    kind: CollectiveKind,
    data: st.DataObject,
    pace: Pace,
    slowdown: Fraction,
) -> None:
    """A chip takes part in it until its last part is done: the closed form with s c for c."""
    n = data.draw(chips_of(form))
    plan = pair_of(form, kind, dimension, n, pace)
    timeline = simulate(plan, Overlap.DECOMPOSED, slowdown=slowdown)
    slow = together(form, kind, dimension, n, slowdown * pace.part, hops_of(pace))
    assert timeline.makespan == slow
