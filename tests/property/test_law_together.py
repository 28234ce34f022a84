"""Laws of collectives and matmuls done together: closed forms and bounds."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.cost import CostModel
from shardsim.cost.pipeline import chunked, together
from shardsim.engine import simulate, simulate_calls
from shardsim.hardware import Calibration, Link
from shardsim.overlap import decompose
from shardsim.planner import CollectiveStep, MatmulStep, Plan
from shardsim.units import Seconds
from shardsim.vocabulary import (
    Algorithm,
    CollectiveKind,
    DimensionKind,
    Form,
    LatencyModel,
    Overlap,
    Relation,
)
from tests.machines import CHIP, machine, planned
from tests.strategies import programs
from tests.together import (
    CHUNK,
    COMBINATIONS,
    LINE,
    RING,
    SWITCH,
    TEXTS,
    Costs,
    Given,
    Pace,
    any_costs,
    chips_of,
    done_together,
    forms,
    hops_of,
    made_together,
    models,
    paces,
    pair_of,
    reduced_by_itself,
    slowdowns,
    with_costs,
)

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
        machine(
            *zip(sizes, kinds, strict=True),
            link=link,
            calibration=Calibration(launch_overhead=pace.launch),
        ),
        {"I": 8 * chips, "J": chips, "K": 8},
        latency_model=pace.model,
    )
    plan = in_one_call(plan)
    plan = done_together(plan, Form.CHUNKS, parts, pace.part)
    bound = chunked(parts, pace.part, reduced_by_itself(plan, parts), Fraction(0))
    assert simulate(plan, Overlap.DECOMPOSED).makespan <= bound


# What is decided.

machines = st.sampled_from(
    [(RING,), (LINE,), (SWITCH,), (RING, LINE), (LINE, RING), (SWITCH, RING), (RING, RING)]
)
OVER_BOTH = {kind: [line.replace("_X", "_XY") for line in lines] for kind, lines in TEXTS.items()}
OVER_BOTH[CollectiveKind.REDUCE_SCATTER][1] = "ReduceScatter_{XY,I} C[I, K]{U_XY} -> C[I_XY, K]"


def on_machine(
    kind: CollectiveKind, dimensions: tuple[DimensionKind, ...], costs: Costs, pace: Pace, rows: int
) -> Plan:
    """A collective over all chips, and its matmul."""
    sizes = (4, 2) if len(dimensions) == 2 else (rows % 5 + 2,)
    topology = machine(
        *((size, one.value) for size, one in zip(sizes, dimensions, strict=True)),
        link=Link(10**9 / pace.transfer, pace.latency / 10**6),
        chip=replace(CHIP, hbm_bandwidth=Fraction(costs.hbm)),
        calibration=Calibration(launch_overhead=costs.launch),
    )
    extents = {"I": topology.size * rows, "J": topology.size * 4, "K": topology.size * 2}
    lines = TEXTS[kind] if len(dimensions) == 1 else OVER_BOTH[kind]
    return planned(lines, topology, extents, latency_model=pace.model)


@pytest.mark.parametrize("kind", TEXTS)
@given(dimensions=machines, costs=any_costs, pace=paces, rows=st.integers(1, 12), form=forms)
def test_what_is_decided_takes_what_it_says(
    kind: CollectiveKind,
    dimensions: tuple[DimensionKind, ...],
    costs: Costs,
    pace: Pace,
    rows: int,
    form: Form | None,
) -> None:
    plan = on_machine(kind, dimensions, costs, pace, rows)
    made = made_together(plan, form)
    makespan = simulate(made, Overlap.DECOMPOSED).makespan
    matmul_and_collective = {s for pair in made.decomposed for s in (pair.collective, pair.matmul)}
    others = [step for i, step in enumerate(made.steps) if i not in matmul_and_collective]
    said = sum((step.seconds for step in (*made.decomposed, *others)), Fraction(0))
    assert makespan <= said
    if len(dimensions) == 1 and all(p.relation is Relation.EQUAL for p in made.decomposed):
        assert makespan == said


@pytest.mark.parametrize("kind", [CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER])
@given(dimensions=machines, costs=any_costs, pace=paces, rows=st.integers(1, 12))
def test_what_is_done_together_because_it_is_faster_is_faster(
    kind: CollectiveKind,
    dimensions: tuple[DimensionKind, ...],
    costs: Costs,
    pace: Pace,
    rows: int,
) -> None:
    """Than one after the other by the closed forms, which are bounds where two axes are crossed."""
    plan = on_machine(kind, dimensions, costs, pace, rows)
    made, _ = decompose(plan, CostModel(pace.model), only_faster=True)
    apart = sum((step.seconds for step in plan.steps), Fraction(0))
    if len(dimensions) == 1:
        assert simulate(plan, Overlap.ASYNC).makespan == apart
    if made.decomposed:
        assert simulate(made, Overlap.DECOMPOSED).makespan < apart
    else:
        assert made.steps == plan.steps


def members(plan: Plan) -> int:
    """The chips of all collectives, multiplied: one that is split is as large as its halves."""
    calls = (step.call for step in plan.steps if isinstance(step, CollectiveStep))
    return math.prod(call.group.size for call in calls)


@given(programs(), any_costs, models, forms)
def test_what_is_made_of_a_plan_hangs_together(
    case: Given, costs: Costs, model: LatencyModel, form: Form | None
) -> None:
    """Each value is made once, before it is read and as it is read; and for the same statement."""
    plan = with_costs(case, costs, model)
    made = made_together(plan, form)
    values = {value.number: value for _, value in made.inputs}
    for step in made.steps:
        for operand in step.operands if isinstance(step, MatmulStep) else (step.operand,):
            assert values[operand.number] == operand
        assert step.result.number not in values
        values[step.result.number] = step.result
    assert [values[value.number] for value in made.results] == list(plan.results)
    assert len(made.statements) == len(made.steps)
    assert list(made.statements) == sorted(made.statements)
    assert all(before < i for i, all_ in enumerate(made.dependencies()) for before in all_)
    assert members(made) == members(plan)
    used = [index for pair in made.decomposed for index in (pair.collective, pair.matmul)]
    assert len(set(used)) == len(used)


# Random programs.


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


@given(programs(), any_costs, models, st.integers(0, 2))
def test_more_prefetch_is_never_slower(
    case: Given, costs: Costs, model: LatencyModel, prefetch: int
) -> None:
    plan = with_costs(case, costs, model)
    none = simulate(plan, Overlap.NONE).makespan
    some, more = (simulate(plan, prefetch=ahead) for ahead in (prefetch, prefetch + 1))
    everything = simulate(plan)
    assert everything.busiest() <= everything.makespan <= more.makespan <= some.makespan <= none
    assert simulate(plan, prefetch=None) == everything
    assert simulate(plan, prefetch=len(case[0])) == everything


@given(programs(), any_costs, models, forms, st.sampled_from([None, 0, 1, 2]), slowdowns)
def test_what_is_done_together_is_no_faster_than_the_busiest_and_never_overlaps_there(
    case: Given,
    costs: Costs,
    model: LatencyModel,
    form: Form | None,
    prefetch: int | None,
    slowdown: Fraction,
) -> None:
    plan = made_together(with_costs(case, costs, model), form)
    timeline = simulate(plan, Overlap.DECOMPOSED, slowdown=slowdown, prefetch=prefetch)
    assert timeline.busiest() <= timeline.makespan
    for intervals in timeline.by_track.values():
        for before, after in pairwise(intervals):
            assert before.end <= after.start


@given(programs(), any_costs, models, forms, st.integers(0, 999), slowdowns)
def test_creating_processes_in_another_order_changes_nothing(
    case: Given, costs: Costs, model: LatencyModel, form: Form | None, seed: int, slowdown: Fraction
) -> None:
    plan = made_together(with_costs(case, costs, model), form)
    once = simulate(plan, Overlap.DECOMPOSED, slowdown=slowdown)
    assert simulate(plan, Overlap.DECOMPOSED, slowdown=slowdown, order=shuffled(seed)) == once


@given(programs(most=2), any_costs)
def test_an_axis_of_one_chip_is_a_no_op(case: Given, costs: Costs) -> None:
    lines, topology, extents = case
    one = replace(topology.dimensions[1], size=1)
    only_x = replace(topology, dimensions=(topology.dimensions[0], one))
    bare = [line.replace("_XY", "_X").replace("_YX", "_X").replace("_Y", "") for line in lines]
    made = [
        made_together(with_costs((texts, only_x, extents), costs, LatencyModel.ADDITIVE))
        for texts in (lines, bare)
    ]
    assert made[0].decomposed == made[1].decomposed
    first, second = (simulate(plan, Overlap.DECOMPOSED) for plan in made)
    assert first == second
