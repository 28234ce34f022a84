"""Laws of cores that are slower while their chips take part in a collective."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.cost import MatmulPrice
from shardsim.cost.pipeline import together
from shardsim.engine import simulate, simulate_calls
from shardsim.hardware import Calibration, Link
from shardsim.planner import CollectiveStep, MatmulStep
from shardsim.timeline import Core, Interval, LinkDirection, Port, Timeline, length, union, without
from shardsim.topology import Topology
from shardsim.units import Seconds
from shardsim.vocabulary import CollectiveKind, DimensionKind, Form, LatencyModel, Overlap
from tests.machines import machine, planned
from tests.strategies import programs
from tests.together import (
    CHUNK,
    COMBINATIONS,
    LINE,
    SCATTER,
    Costs,
    Given,
    Pace,
    any_costs,
    chips_of,
    forms,
    hops_of,
    made_together,
    models,
    paces,
    pair_of,
    seconds,
    slowdowns,
    with_costs,
)

Span = tuple[int, int]


@given(programs(), any_costs, models, forms, slowdowns, st.sampled_from(["apart", "together"]))
def test_a_slowdown_costs_no_more_than_itself(
    case: Given, costs: Costs, model: LatencyModel, form: Form | None, slowdown: Fraction, how: str
) -> None:
    plan = with_costs(case, costs, model)
    if how == "together":
        plan = made_together(plan, form)
    full = simulate(plan)
    slow = simulate(plan, slowdown=slowdown)
    assert simulate(plan, slowdown=Fraction(1)) == full
    assert full.makespan <= slow.makespan <= slowdown * full.makespan


@given(programs(), any_costs, models, slowdowns)
def test_one_step_after_the_other_slows_nothing_down(
    case: Given, costs: Costs, model: LatencyModel, slowdown: Fraction
) -> None:
    plan = with_costs(case, costs, model)
    slow = simulate(plan, Overlap.NONE, slowdown=slowdown)
    assert slow.makespan == simulate(plan, Overlap.NONE).makespan


def receiver(interval: Interval, topology: Topology) -> tuple[int, ...] | None:
    """Whom a hop brings its message to; None for the port by which it leaves."""
    track = interval.track
    if isinstance(track, Port):
        return track.chip if track.direction < 0 else None
    assert isinstance(track, LinkDirection)
    return tuple(
        (at + track.direction) % dimension.size if dimension.name == track.dimension else at
        for at, dimension in zip(track.chip, topology.dimensions, strict=True)
    )


def slow_spans(timeline: Timeline, topology: Topology) -> dict[tuple[int, ...], list[Span]]:
    """When each chip takes part: from the first message from or to it until nothing is left."""
    sent = [i for i in timeline.intervals if i.message is not None]
    hops: dict[Any, int] = {}
    for i in sent:
        hops[i.step, i.message] = max(i.hop, hops.get((i.step, i.message), 0))
    begun: dict[Any, int] = {}
    for i in sent:
        assert i.message is not None
        ends = [i.message.sender] if i.hop == 0 else []
        if i.hop == hops[i.step, i.message]:
            ends += [chip for chip in (receiver(i, topology),) if chip is not None]
        for chip in ends:
            begun[i.step, chip] = min(i.start, begun.get((i.step, chip), i.start))
    spans: defaultdict[tuple[int, ...], list[Span]] = defaultdict(list)
    for a in timeline.activities:
        if (a.step, a.chip) in begun:
            spans[a.chip].append((begun[a.step, a.chip], a.end))
    return {chip: union(found) for chip, found in spans.items()}


@given(programs(), any_costs, models, forms, slowdowns)
def test_a_core_does_the_same_work_at_its_pace(
    case: Given, costs: Costs, model: LatencyModel, form: Form | None, slowdown: Fraction
) -> None:
    """At 1/s while its chip takes part in a collective, at full speed else: to the exact tick."""
    plan = made_together(with_costs(case, costs, model), form)
    part = {pair.matmul: pair.part_seconds for pair in plan.decomposed}
    timeline = simulate(plan, Overlap.DECOMPOSED, slowdown=slowdown)
    slow = slow_spans(timeline, plan.mesh.topology)
    for interval in timeline.intervals:
        if isinstance(interval.track, Core):
            lasts = interval.end - interval.start
            span = [(interval.start, interval.end)]
            both = lasts - length(without(span, slow.get(interval.track.chip, [])))
            work = (lasts - both + both / slowdown) / timeline.ticks_per_second
            assert work == part.get(interval.step, plan.steps[interval.step].seconds)


@given(
    kind=st.sampled_from(["ring", "line", "switch"]),
    n=st.integers(2, 6),
    compute=seconds,
    transfer=seconds,
    launch=st.just(Fraction(0)) | seconds,
    slowdown=slowdowns,
    lines=st.permutations(["A[I, J] · B[J, K] -> C[I, K]", "AllGather_X D[L_X] -> D[L]"]),
)
def test_a_matmul_beside_a_collective_is_slow_while_that_lasts(
    kind: str,
    n: int,
    compute: Seconds,
    transfer: Seconds,
    launch: Seconds,
    slowdown: Fraction,
    lines: list[str],
) -> None:
    """From its first message on, which all chips send once it is launched."""
    plan = planned(
        lines,
        machine(
            (n, kind),
            link=Link(CHUNK / transfer, Fraction(1, 2)),
            calibration=Calibration(launch_overhead=launch),
        ),
        {"I": 4, "J": 4, "K": 4, "L": n * CHUNK // 2},
    )
    price = MatmulPrice(compute=compute, memory=Fraction(0))
    steps = [replace(s, price=price) if isinstance(s, MatmulStep) else s for s in plan.steps]
    (call,) = (step.call for step in steps if isinstance(step, CollectiveStep))
    timeline = simulate(replace(plan, steps=tuple(steps)), slowdown=slowdown)
    alone = simulate_calls(plan.mesh.topology, [call])
    ends = []
    for activity in alone.activities:
        left = max(compute - launch, Fraction(0))
        lasts = alone.seconds(activity.end) - launch
        beside = slowdown * left if slowdown * left <= lasts else lasts + left - lasts / slowdown
        ends.append(min(compute, launch) + beside)
        assert timeline.busy(Core(activity.chip)) == ends[-1]
    assert timeline.makespan == max(alone.makespan, *ends)


SLOWED = [one for one in COMBINATIONS if one[-1] is SCATTER and one[0] is not LINE]


@pytest.mark.parametrize(("dimension", "form", "kind"), SLOWED)
@given(data=st.data(), pace=paces, slowdown=slowdowns)
def test_before_a_reduce_scatter_all_parts_but_the_first_are_slowed_down(
    dimension: DimensionKind,
    form: Form,
    kind: CollectiveKind,
    data: st.DataObject,
    pace: Pace,
    slowdown: Fraction,
) -> None:
    """The first is sent when it is done; a chip then takes part until its last part is."""
    n, pace = data.draw(chips_of(form)), pace._replace(launch=Fraction(0))
    plan = pair_of(form, kind, dimension, n, pace)
    timeline = simulate(plan, Overlap.DECOMPOSED, slowdown=slowdown)
    slow = together(form, kind, dimension, n, slowdown * pace.part, hops_of(pace))
    first = plan.decomposed[0].part_seconds
    assert timeline.makespan == slow - (slowdown - 1) * first
