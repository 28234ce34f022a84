"""What is simulated: a plan, one step of it, or collectives by themselves."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.engine.prepared import Prepared
from shardsim.engine.simulation import Simulation, place_of
from shardsim.planner import CollectiveStep
from shardsim.vocabulary import DimensionKind, LatencyModel, Overlap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardsim.call import Call
    from shardsim.engine.prepared import Programs
    from shardsim.engine.simulation import Order, Shuffle
    from shardsim.planner import Plan
    from shardsim.planner.steps import Step
    from shardsim.timeline import Timeline
    from shardsim.topology import Topology

__all__ = ["simulate", "simulate_calls", "simulate_step"]


def simulate(
    plan: Plan,
    overlap: Overlap = Overlap.ASYNC,
    *,
    slowdown: Fraction = Fraction(1),
    prefetch: int | None = None,
    programs: Programs | None = None,
    order: Shuffle | None = None,
) -> Timeline:
    """Simulates a plan.

    Args:
        plan: What to run; its topology, its latency model, and what it does together are used.
        overlap: `none`: a step starts when every chip has finished the step before it. Others: it
            starts on a chip as soon as its inputs are there; a core or a link that several steps
            use does them in the order of the program.
        slowdown: A core takes so many times as long while its chip takes part in a collective.
        prefetch: How many statements ahead inputs may be gathered; None: as far as there are any.
        programs: The step program of a call at a chip; by default the project's own.
        order: Reorders the processes before they are created; changes nothing.

    Returns:
        The timeline, in exact ticks.

    Raises:
        SimulationError: a deadlock; it says who waits for what.
    """
    in_order = overlap is not Overlap.NONE
    if not in_order and plan.decomposed:
        raise AssertionError("steps that are done together cannot follow each other")
    ahead = prefetch if in_order else None
    return Simulation(
        Prepared(plan.mesh.topology, plan.steps, plan.latency_model, programs, plan.decomposed),
        plan.dependencies(ahead),
        overlap=overlap,
        order=order,
        in_order=in_order,
        slowdown=slowdown,
        orders=_orders(plan, programs) if in_order else {},
    ).run()


def simulate_step(plan: Plan, step: Step, programs: Programs | None = None) -> Timeline:
    """Simulates one step of a plan by itself: every chip starts it at once."""
    prepared = Prepared(plan.mesh.topology, (step,), plan.latency_model, programs)
    return Simulation(prepared, ((),), overlap=Overlap.NONE).run()


def _orders(plan: Plan, programs: Programs | None) -> dict[int, Order]:
    """For steps whose messages share links or ports, the order in which each of those serves them.

    It is the order of the step by itself. Chips that start a step at different times would else
    change it, and the step might take longer than it does by itself.
    """
    apart = {pair.collective for pair in plan.decomposed}
    known: dict[int, Order] = {}
    found = {}
    for index, step in enumerate(plan.steps if len(plan.steps) > 1 else ()):
        if not isinstance(step, CollectiveStep) or index in apart or _is_in_lanes(step.call):
            continue
        key = id(step.call)
        if key not in known:
            alone = simulate_step(plan, step, programs)
            known[key] = {
                track: tuple(place_of(i.message) for i in intervals if i.message is not None)
                for track, intervals in alone.by_track.items()
            }
        found[index] = known[key]
    return found


def _is_in_lanes(call: Call) -> bool:
    """Whether each link serves one lane of one chip, whose order is fixed."""
    group = call.group
    switched = any(segment.kind is DimensionKind.SWITCH for segment in group.segments)
    return not (
        switched or group.shares_links or not group.is_physical or call.permutation is not None
    )


def simulate_calls(
    topology: Topology,
    calls: Sequence[Call],
    latency_model: LatencyModel = LatencyModel.ADDITIVE,
    *,
    programs: Programs | None = None,
    order: Shuffle | None = None,
) -> Timeline:
    """Simulates collectives that start together, each step of the timeline one of them.

    They are independent: what they share serves whatever comes first.

    Raises:
        SimulationError: a deadlock; it says who waits for what.
    """
    prepared = Prepared(topology, calls, latency_model, programs)
    nothing = ((),) * len(calls)
    return Simulation(prepared, nothing, overlap=Overlap.ASYNC, order=order).run()
