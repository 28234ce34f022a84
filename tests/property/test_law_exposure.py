"""Laws of what is told of a run: critical path, exposed communication, memory."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from shardsim.comparison.critical_path import critical_path
from shardsim.comparison.exposure import chip_classes, last_chip, shares_of
from shardsim.comparison.memory import peak_in
from shardsim.cost import CostModel
from shardsim.engine import simulate
from shardsim.hardware import Calibration
from shardsim.overlap import decompose
from shardsim.planner import MatmulStep, Plan
from shardsim.timeline import Timeline, without
from shardsim.topology import Topology
from shardsim.vocabulary import LatencyModel, Overlap
from tests.machines import peak_memory, planned
from tests.strategies import programs

Given = tuple[list[str], Topology, dict[str, int]]
overlaps = st.sampled_from([Overlap.NONE, Overlap.ASYNC, Overlap.DECOMPOSED])
models = st.sampled_from(LatencyModel)


launches = st.sampled_from([Fraction(0), Fraction(1, 10**6), Fraction(1, 3 * 10**6)])


def run(
    case: Given, overlap: Overlap, model: LatencyModel, launch: Fraction = Fraction(0)
) -> tuple[Plan, Timeline]:
    lines, topology, extents = case
    topology = replace(topology, calibration=Calibration(launch_overhead=launch))
    plan = planned(lines, topology, extents, latency_model=model)
    if overlap is Overlap.DECOMPOSED:
        plan, _ = decompose(plan, CostModel(model))
    return plan, simulate(plan, overlap)


@given(programs(), overlaps, models, launches)
def test_the_critical_path_is_as_long_as_the_run(
    case: Given, overlap: Overlap, model: LatencyModel, launch: Fraction
) -> None:
    """Its pieces follow each other without a gap; where it computes, a core is at work."""
    plan, timeline = run(case, overlap, model, launch)
    path = critical_path(timeline, plan, plan.dependencies(), barrier=overlap is Overlap.NONE)
    if not timeline.makespan:
        return
    assert path[0].start == 0
    assert path[-1].end == timeline.makespan
    assert all(one.end == other.start for one, other in pairwise(path))
    for piece in path:
        step = plan.steps[piece.step]
        assert isinstance(step, MatmulStep) is piece.computes
        if piece.computes:
            ticks = timeline.ticks_per_second
            span = (int(piece.start * ticks), int(piece.end * ticks))
            assert without([span], timeline.computing(piece.chip)) == []
            if not plan.decomposed:
                assert piece.seconds == step.seconds


@given(programs(), overlaps, models)
def test_exposed_communication_is_what_no_compute_hides(
    case: Given, overlap: Overlap, model: LatencyModel
) -> None:
    plan, timeline = run(case, overlap, model)
    chip = last_chip(timeline, plan.collectives)
    if chip is None:
        return
    shares = shares_of(timeline, chip, plan.collectives)
    assert shares.end == timeline.makespan
    assert shares.compute + shares.exposed <= timeline.makespan
    assert max(shares.communication - shares.compute, Fraction(0)) <= shares.exposed
    assert shares.exposed <= shares.communication
    classes = chip_classes(timeline, plan.collectives)
    assert sum(one.chips for one in classes) == plan.mesh.topology.size
    assert max(one.shares.end for one in classes) == timeline.makespan


@given(programs(), models)
def test_step_after_step_the_peak_is_that_of_the_plan(case: Given, model: LatencyModel) -> None:
    plan, timeline = run(case, Overlap.NONE, model)
    assert peak_in(timeline, plan) == peak_memory(plan)
