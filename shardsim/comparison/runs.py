"""Where formula and simulation meet: one run, with the three times of each step side by side."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shardsim.comparison.advice import advice_for
from shardsim.comparison.alone import Alone
from shardsim.comparison.critical_path import PathStep, critical_path
from shardsim.comparison.exposure import (
    ChipClass,
    Shares,
    chip_classes,
    exposed_by_step,
    last_chip,
    shares_of,
)
from shardsim.comparison.memory import peak_in
from shardsim.comparison.overlapping import overlapped
from shardsim.comparison.traffic import LinkUse, mean_utilization, traffic
from shardsim.cost import CostModel
from shardsim.errors import PlanError
from shardsim.planner import CollectiveStep, MatmulStep, SliceStep
from shardsim.planner.steps import step_dict, value_dict
from shardsim.scenario import plan_program
from shardsim.units import Bytes, Seconds, format_seconds, number
from shardsim.vocabulary import CollectiveKind, DimensionKind, Overlap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardsim.mesh import Axis, Mesh
    from shardsim.overlap import Considered
    from shardsim.planner import Plan, Step
    from shardsim.scenario import Scenario
    from shardsim.timeline import Timeline

__all__ = [
    "Run",
    "StepTimes",
    "Totals",
    "mesh_dict",
    "plan_scenario",
    "run_scenario",
    "step_advice",
]


BOUNDS = ("compute", "memory", "communication", "latency")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """One step and its times.

    Attributes:
        step: The step of the plan, with its book and exact seconds.
        simulated: Seconds of the step by itself: every chip starts it together.
        start: When the first chip starts it in this run.
        end: When the last chip has done it in this run.
        exposed: Of a collective: for how long the chip that finishes last does it and computes
            nothing.
        lasts: Of a collective: how long that chip takes part in it.
    """

    step: Step
    simulated: Seconds
    start: Seconds
    end: Seconds
    exposed: Seconds = Fraction(0)
    lasts: Seconds = Fraction(0)

    def to_dict(self) -> dict[str, Any]:
        """The step as in the JSON of `run`."""
        return {
            **step_dict(self.step),
            "simulated_seconds": float(self.simulated),
            "start_seconds": float(self.start),
            "end_seconds": float(self.end),
            "exposed_seconds": float(self.exposed),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a run comes to. Compute and communication are those of the chip that finishes last.

    Attributes:
        simulated_seconds: From the start to the last chip's end.
        lower_bound_seconds: The busiest core or link, of the plan as it is before steps are done
            together, or of what is done, if less: no order of this work is shorter (`ideal`).
        upper_bound_seconds: The steps of the plan before that one after the other, each on all
            chips together (`none`). Ring steps of collectives and matmuls may take longer.
        compute_seconds: While the core is busy.
        communication_seconds: While the chip takes part in a collective, latency included.
        exposed_communication_seconds: While it does that and does not compute.
        overlap_fraction: The hidden share of communication; 0 where there is none.
        flops_utilization: FLOPs done over what the peak would do in the time.
        bound: What most of the time goes into: compute, memory, communication or latency.
        peak_memory_bytes_per_chip: The most that arrays take at once on a chip; inputs stay.
        chips_per_record: How many chips a record of the timeline stands for.
    """

    simulated_seconds: Seconds
    lower_bound_seconds: Seconds
    upper_bound_seconds: Seconds
    compute_seconds: Seconds
    communication_seconds: Seconds
    exposed_communication_seconds: Seconds
    overlap_fraction: Fraction
    flops_utilization: Fraction
    bound: str
    peak_memory_bytes_per_chip: Bytes
    chips_per_record: int

    def to_dict(self) -> dict[str, Any]:
        """The totals as in the JSON."""
        return {
            key: value if isinstance(value, str) else _plain(key, value)
            for key, value in asdict(self).items()
        }


def _plain(key: str, value: Fraction | int) -> int | float:
    return number(Fraction(value)) if "bytes" in key or "chips" in key else float(value)


@dataclass(frozen=True, repr=False)
class Run:
    """A scenario, its plan, and what the simulation made of it."""

    scenario: Scenario
    plan: Plan
    timeline: Timeline
    steps: tuple[StepTimes, ...]
    totals: Totals
    considered: tuple[Considered, ...] = ()

    @cached_property
    def links(self) -> tuple[LinkUse, ...]:
        """The links used, the busiest first."""
        return traffic(self.timeline, self.plan.mesh.topology)

    @cached_property
    def critical_path(self) -> tuple[PathStep, ...]:
        """What waited for what, from the start to the end."""
        barrier = self.scenario.options.overlap is Overlap.NONE
        ahead = None if barrier else self.scenario.options.prefetch
        dependencies = self.plan.dependencies(ahead)
        return critical_path(self.timeline, self.plan, dependencies, barrier=barrier)

    @cached_property
    def chip_classes(self) -> tuple[ChipClass, ...]:
        """Chips that spend their time alike."""
        return chip_classes(self.timeline, self.plan.collectives)

    @cached_property
    def advice(self) -> tuple[tuple[int, str], ...]:
        """Where another order of chips would be better: index of the step, and both prices."""
        return step_advice(self.plan, [times.simulated for times in self.steps])

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `run --json`, as a dict."""
        mesh, options = self.plan.mesh, self.scenario.options
        return {
            "format": "shardsim/run/1",
            "name": self.scenario.name,
            "topology": mesh.topology.name,
            "chips": mesh.topology.size,
            **mesh_dict(mesh),
            "dims": dict(self.plan.program.extents),
            "padding": [one.to_dict() for one in self.plan.program.padding],
            "dtypes": self.plan.program.dtypes.to_dict(),
            "overlap": options.overlap.value,
            "form": None if options.form is None else options.form.value,
            "prefetch": options.prefetch,
            "compute_slowdown": float(options.compute_slowdown),
            "tile": options.tile,
            "repeat": self.plan.program.repeat,
            "latency_model": options.latency_model.value,
            "schedule": None if options.schedule is None else options.schedule.value,
            "chunks": options.chunks,
            "policy": options.policy.value,
            "objective": options.objective.value,
            "idle_axes": options.idle_axes.value,
            "steps": [times.to_dict() for times in self.steps],
            "result": value_dict(self.plan.result.sharded),
            "totals": self.totals.to_dict(),
            "together": [one.to_dict() for one in self.considered],
            "chip_classes": [one.to_dict() for one in self.chip_classes],
            "critical_path": [one.to_dict() for one in self.critical_path],
            "links": {
                "used": len(self.links),
                "busiest": self.links[0].to_dict() if self.links else None,
                "mean_utilization": float(mean_utilization(self.links)),
            },
            "advice": [{"step": index, "text": text} for index, text in self.advice],
            "reasons": [reason for choice in self.plan.first_choices for reason in choice.reasons],
            "expectations": [check.to_dict() for check in self.checks()],
        }

    def __str__(self) -> str:
        """The plan's steps, and the totals."""
        totals = "\n".join(f"  {key}: {value}" for key, value in self.totals.to_dict().items())
        return f"{self.plan}\n{totals}"

    def __repr__(self) -> str:
        return f"<Run of {self.plan!r}: {format_seconds(self.timeline.makespan)}>"

    def checks(self) -> tuple[Check, ...]:
        """Each expectation of the scenario against the totals."""
        return tuple(
            Check(e.quantity, e.met(value), e.text(value))
            for e in self.scenario.expectations
            for value in (getattr(self.totals, e.quantity),)
        )


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation: whether it is met, and what was found, for people."""

    quantity: str
    met: bool
    text: str

    def to_dict(self) -> dict[str, Any]:
        """An entry of `expectations` in the JSON."""
        return asdict(self)


def mesh_dict(mesh: Mesh) -> dict[str, Any]:
    """A mesh as in the JSON: sizes, what each axis lies on, and the order of chips if one is given.

    >>> from shardsim.scenario import make_mesh
    >>> mesh_dict(make_mesh("v5e:2x2", devices="0,0 0,1 1,1 1,0", mesh="X=4"))["devices"]
    [[0, 0], [0, 1], [1, 1], [1, 0]]
    """
    return {
        "mesh": mesh.sizes,
        "axes": [_axis_dict(axis) for axis in mesh.axes],
        "devices": None if mesh.order is None else [list(chip) for chip in mesh.order],
    }


def _axis_dict(axis: Axis) -> dict[str, Any]:
    """An axis as in the JSON; `kind` and the rates are those of its first segment."""
    parts = [
        {
            "name": segment.name,
            "size": segment.size,
            "kind": segment.kind.value,
            "reason": segment.reason,
            "hops_per_step": segment.stride,
            "one_way_bandwidth_bytes_per_second": number(segment.link.one_way_bandwidth),
            "latency_seconds": float(segment.link.latency),
        }
        for segment in axis.segments
    ]
    first = parts[0] if parts else {"kind": DimensionKind.LINE.value}
    rates = {key: first[key] for key in first if key.endswith(("per_second", "_seconds"))}
    return {
        "name": axis.name,
        "size": axis.size,
        "kind": first["kind"],
        "reason": axis.reason,
        **rates,
        "segments": parts,
    }


def plan_scenario(scenario: Scenario) -> Plan:
    """Plans a scenario's program by its options."""
    return plan_program(scenario.program, scenario.options)


def step_advice(plan: Plan, times: Sequence[Seconds] | None = None) -> tuple[tuple[int, str], ...]:
    """Where another order of chips or another collective would be better: index of the step, why.

    Args:
        plan: The steps.
        times: Seconds of each step; by the closed forms where there are none.
    """
    seconds = [step.seconds for step in plan.steps] if times is None else times
    return tuple(
        (index, text)
        for index, step in enumerate(plan.steps)
        if isinstance(step, CollectiveStep)
        for text in (
            *advice_for(step.call, seconds[index], plan.latency_model),
            *_needless_sum(plan, step),
        )
    )


def _needless_sum(plan: Plan, step: CollectiveStep) -> tuple[str, ...]:
    """An AllReduce of whose result each chip then keeps a part only."""
    if step.kind is not CollectiveKind.ALL_REDUCE:
        return ()
    readers = [other for other in plan.steps if step.result.number in other.reads]
    kept = [other for other in readers if isinstance(other, SliceStep)]
    if not kept or len(kept) < len(readers) or not set(kept[0].axes) & set(step.axes):
        return ()
    cost = CostModel(plan.latency_model)
    group, size = step.call.group, step.call.size
    scatter = cost.collective(cost.call(CollectiveKind.REDUCE_SCATTER, group, size)).estimate
    return (
        f"each chip keeps only its part of the sum: ReduceScatter would take "
        f"{format_seconds(scatter)} instead of {format_seconds(step.price.estimate)}",
    )


def run_scenario(scenario: Scenario, planned: Plan | None = None) -> Run:
    """Plans and simulates a scenario.

    Each step is simulated by itself (for its own time and the upper bound), and the plan with the
    scenario's overlap.

    Args:
        scenario: What to run.
        planned: Its plan, where it is there already.
    """
    plan = plan_scenario(scenario) if planned is None else planned
    alone = Alone(plan)
    try:
        done, considered, timeline = overlapped(plan, scenario.options)
    except PlanError as error:
        raise error.at(scenario.form_place) from None
    bare = exposed_by_step(timeline, done.collectives)
    steps = []
    for index, step in enumerate(done.steps):
        start, end = timeline.step_span(index)
        exposed, lasts = bare.get(index, (Fraction(0), Fraction(0)))
        steps.append(
            StepTimes(
                step=step,
                simulated=alone.timeline(step).makespan,
                start=start,
                end=end,
                exposed=exposed,
                lasts=lasts,
            )
        )
    return Run(scenario, done, timeline, tuple(steps), _totals(done, timeline, alone), considered)


def _totals(plan: Plan, timeline: Timeline, alone: Alone) -> Totals:
    chip = last_chip(timeline, plan.collectives)
    shares = Shares(*[Fraction(0)] * 4)
    if chip is not None:
        shares = shares_of(timeline, chip, plan.collectives)
    makespan = timeline.makespan
    matmuls = [step for step in plan.steps if isinstance(step, MatmulStep)]
    at_peak = sum((step.price.useful for step in matmuls), Fraction(0))
    return Totals(
        simulated_seconds=makespan,
        lower_bound_seconds=min(alone.busiest(), timeline.busiest()),
        upper_bound_seconds=alone.in_turn(),
        compute_seconds=shares.compute,
        communication_seconds=shares.communication,
        exposed_communication_seconds=shares.exposed,
        overlap_fraction=1 - shares.exposed / shares.communication
        if shares.communication
        else Fraction(0),
        flops_utilization=at_peak / makespan if makespan else Fraction(0),
        bound=_bound(plan),
        peak_memory_bytes_per_chip=peak_in(timeline, plan),
        chips_per_record=timeline.chips_per_record,
    )


def _bound(plan: Plan) -> str:
    """Where most of the exact seconds go; the first named wins a tie (and a plan without steps)."""
    into = dict.fromkeys(BOUNDS, Fraction(0))
    for step in plan.steps:
        match step:
            case MatmulStep():
                by_flops = step.price.compute >= step.price.memory
                into["compute" if by_flops else "memory"] += step.seconds
            case CollectiveStep():
                into["communication"] += step.price.exact.bandwidth
                into["latency"] += step.price.exact.latency
    return max(into, key=lambda name: into[name])
