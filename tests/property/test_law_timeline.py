"""Laws of every timeline, on random programs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shardsim.cost import CostModel
from shardsim.engine import simulate
from shardsim.hardware import Link
from shardsim.notation import parse
from shardsim.planner import CollectiveStep, make_plan
from shardsim.program import bind_program
from shardsim.timeline import Timeline
from shardsim.topology import Topology
from shardsim.vocabulary import CollectiveKind, Dtype, LatencyModel, Overlap, Relation
from tests.machines import collective_plan, mesh_of, planned, simulated
from tests.strategies import programs

Given = tuple[list[str], Topology, dict[str, int]]
overlaps = st.sampled_from(Overlap)
models = st.sampled_from(LatencyModel)


def shuffled(seed: int) -> Any:
    def order(items: Sequence[Any]) -> Sequence[Any]:
        mixed = list(items)
        random.Random(seed).shuffle(mixed)
        return mixed

    return order


@given(programs(), overlaps, models)
def test_no_two_intervals_overlap_on_one_resource(
    case: Given, overlap: Overlap, model: LatencyModel
) -> None:
    timeline = simulate(planned(*case, latency_model=model), overlap)
    for intervals in timeline.by_track.values():
        for before, after in pairwise(intervals):
            assert before.end <= after.start


@given(programs(), overlaps, models)
def test_makespan_lies_between_the_busiest_resource_and_the_sum_of_the_steps(
    case: Given, overlap: Overlap, model: LatencyModel
) -> None:
    plan = planned(*case, latency_model=model)
    timeline = simulate(plan, overlap)
    apart = simulate(plan, Overlap.NONE)
    alone = (apart.step_span(index) for index in range(len(plan.steps)))
    assert timeline.busiest() <= timeline.makespan
    assert timeline.makespan <= sum((end - start for start, end in alone), Fraction(0))


@given(programs(), models)
def test_async_is_never_slower_than_none(case: Given, model: LatencyModel) -> None:
    plan = planned(*case, latency_model=model)
    assert simulate(plan, Overlap.ASYNC).makespan <= simulate(plan, Overlap.NONE).makespan


@given(programs(), models)
def test_none_is_the_sum_of_the_closed_forms_where_they_are_equal(
    case: Given, model: LatencyModel
) -> None:
    plan = planned(*case, latency_model=model)
    total = sum((step.seconds for step in plan.steps), Fraction(0))
    makespan = simulate(plan, Overlap.NONE).makespan
    relations = {s.price.relation for s in plan.steps if isinstance(s, CollectiveStep)}
    assert relations <= {Relation.EQUAL, Relation.LOWER_BOUND, Relation.UPPER_BOUND}
    if Relation.UPPER_BOUND not in relations:
        assert makespan >= total
    if Relation.LOWER_BOUND not in relations:
        assert makespan <= total


@given(programs(), overlaps, st.integers(0, 999))
def test_creating_processes_in_another_order_changes_nothing(
    case: Given, overlap: Overlap, seed: int
) -> None:
    plan = planned(*case)
    assert simulate(plan, overlap) == simulate(plan, overlap, order=shuffled(seed))


@given(programs(), overlaps)
def test_the_same_run_twice_gives_the_same_timeline(case: Given, overlap: Overlap) -> None:
    assert simulate(planned(*case), overlap) == simulate(planned(*case), overlap)


def on_faster(topology: Topology, rate: int, latency: Fraction) -> Topology:
    """The same machine with all bandwidths times `rate`, and another latency factor."""
    chip = replace(topology.chip, hbm_bandwidth=topology.chip.hbm_bandwidth * rate)
    dimensions = tuple(
        replace(d, link=Link(d.link.one_way_bandwidth * rate, d.link.latency * latency))
        for d in topology.dimensions
    )
    return replace(topology, chip=chip, dimensions=dimensions)


@given(programs(), overlaps, models)
def test_bytes_and_bandwidths_scaled_alike_leave_time_alone(
    case: Given, overlap: Overlap, model: LatencyModel
) -> None:
    """Elements twice as wide, HBM and links twice as fast, the same FLOP/s."""
    lines, topology, extents = case
    peak = topology.chip.peak(Dtype.BF16)
    alike = replace(topology, chip=replace(
        topology.chip, peaks=((Dtype.BF16, peak), (Dtype.F32, peak))
    ))  # fmt: skip
    before = planned(lines, alike, extents, latency_model=model)
    after = planned(
        lines, on_faster(alike, 2, Fraction(1)), extents, latency_model=model, dtype=Dtype.F32
    )
    assert [step.text for step in before.steps] == [step.text for step in after.steps]
    assert simulate(before, overlap).makespan == simulate(after, overlap).makespan


@given(programs(), overlaps, models, st.integers(2, 50))
def test_all_rates_scaled_divide_time(
    case: Given, overlap: Overlap, model: LatencyModel, factor: int
) -> None:
    lines, topology, extents = case
    faster = on_faster(topology, factor, Fraction(1, factor))
    peaks = tuple((dtype, peak * factor) for dtype, peak in topology.chip.peaks)
    faster = replace(faster, chip=replace(faster.chip, peaks=peaks))
    before = simulate(planned(lines, topology, extents, latency_model=model), overlap)
    after = simulate(planned(lines, faster, extents, latency_model=model), overlap)
    assert before.makespan == factor * after.makespan


@given(
    st.sampled_from(["ring", "line"]), st.integers(1, 9), st.integers(1, 999), st.integers(2, 99)
)
def test_bytes_and_bandwidth_scaled_alike(
    dimension: str, size: int, elements: int, factor: int
) -> None:
    slow, fast = Link(Fraction(10), Fraction(1)), Link(Fraction(10 * factor), Fraction(1))
    for kind in CollectiveKind:
        before = simulated(collective_plan(kind, size, dimension, elements, slow))
        after = simulated(collective_plan(kind, size, dimension, elements * factor, fast))
        assert before.makespan == after.makespan


@given(programs(), overlaps)
def test_renaming_axes_changes_nothing(case: Given, overlap: Overlap) -> None:
    lines, topology, extents = case
    renamed = [line.replace("X", "P").replace("Y", "Q") for line in lines]
    program = bind_program(
        tuple(parse(line) for line in renamed), mesh_of(topology, "P", "Q"), extents
    )
    assert simulate(make_plan(program, CostModel()), overlap) == simulate(planned(*case), overlap)


@given(st.integers(2, 12), st.integers(1, 999))
def test_every_chip_of_a_ring_does_the_same(size: int, elements: int) -> None:
    """Rotating a ring changes nothing: all chips have the same intervals."""
    for kind in CollectiveKind:
        timeline = simulated(collective_plan(kind, size, "ring", elements))
        seen = {chip: _of_chip(timeline, chip) for chip in timeline.chips}
        assert len(set(seen.values())) == 1


def _of_chip(timeline: Timeline, chip: tuple[int, ...]) -> tuple[tuple[object, ...], ...]:
    return tuple(
        (
            str(i.track),
            i.start,
            i.end,
            i.arrival,
            i.message.channel,
            i.message.number,
            i.hop,
            i.size,
        )
        for i in timeline.intervals
        if i.track.chip == chip and i.message is not None
    )


@given(programs(most=2), overlaps)
def test_an_axis_of_one_chip_is_a_no_op(case: Given, overlap: Overlap) -> None:
    """Sharding over an axis of size 1 is being replicated over it: no step, no time."""
    lines, topology, extents = case
    only_x = replace(topology, dimensions=(topology.dimensions[0], replace(
        topology.dimensions[1], size=1
    )))  # fmt: skip
    without = [line.replace("_XY", "_X").replace("_YX", "_X").replace("_Y", "") for line in lines]
    with_axis, bare = planned(lines, only_x, extents), planned(without, only_x, extents)
    assert [step.text for step in with_axis.steps] == [step.text for step in bare.steps]
    assert simulate(with_axis, overlap) == simulate(bare, overlap)
