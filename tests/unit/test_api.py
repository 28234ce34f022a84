"""The Python interface: the names, what they take, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardsim as ss
from shardsim.catalogue import find_topology
from shardsim.vocabulary import Policy

LINE = "A[I, J_X] · B[J_X, K] -> C[I, K]"
DIMS = {"I": 512, "J": 512, "K": 512}
GIVEN: dict[str, Any] = {"topology": "v5e:4x4", "dims": DIMS}
SCENARIO = Path(__file__).parents[2] / "scenarios" / "7-small-gather.yaml"

PUBLIC = [
    "CollectiveRun", "Compared", "Comparison", "Dtype", "Mesh", "Plan", "Run", "Scenario",
    "ShardsimError", "Timeline", "Topology", "collective", "compare", "execute",
    "load_comparison", "load_scenario", "parse", "plan", "roofline", "run", "verify",
]  # fmt: skip


def test_public_names() -> None:
    assert ss.__all__ == PUBLIC
    assert set(PUBLIC) <= set(dir(ss))
    for name in PUBLIC:
        value = getattr(ss, name)
        assert value.__name__ == name
        assert value.__module__.startswith("shardsim.")
        assert value.__doc__


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'shardsim' has no attribute 'simulate'"):
        ss.simulate  # noqa: B018


def test_parse_and_print() -> None:
    statement = ss.parse(r"A[I,J_X] \cdot B[J_X,K] \to C[I,K]")
    assert str(statement) == LINE
    assert ss.parse(str(statement)) == statement


def test_plan() -> None:
    plan = ss.plan(LINE, mesh={"X": 4, "Y": 4}, dtype="bf16", objective="time", **GIVEN)
    assert isinstance(plan, ss.Plan)
    assert [step.text for step in plan.steps] == [
        "A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}",
        "AllReduce_X C[I, K]{U_X} -> C[I, K]",
    ]
    assert plan.alternatives[0].steps == plan.steps
    assert plan.to_dict()["format"] == "shardsim/plan/1"


def test_a_plan_computes_what_it_says() -> None:
    plan = ss.plan(LINE, topology="v5e:4x4", dims={"I": 8, "J": 8, "K": 8})
    a, b = np.arange(64).reshape(8, 8), np.arange(64, 128).reshape(8, 8)
    assert np.array_equal(ss.execute(plan, {"A": a, "B": b}), a @ b)


def test_run() -> None:
    result = ss.run(LINE, **GIVEN)
    assert isinstance(result, ss.Run)
    assert isinstance(result.timeline, ss.Timeline)
    assert [step.step.op for step in result.steps] == ["matmul", "all_reduce"]
    assert result.totals.simulated_seconds == result.timeline.makespan
    assert result.to_dict()["format"] == "shardsim/run/1"


def test_a_scenario_runs_and_is_planned() -> None:
    scenario = ss.load_scenario(SCENARIO)
    assert isinstance(scenario, ss.Scenario)
    assert ss.run(scenario).scenario is scenario
    assert ss.plan(scenario).steps == ss.run(scenario).plan.steps


DIMENSION = {"name": "x", "size": 4, "kind": "line", "bandwidth": "45 GB/s", "latency": "1 us"}


@pytest.mark.parametrize(
    "topology",
    [
        {"name": "mine", "chip": "v5e", "dimensions": [DIMENSION, {**DIMENSION, "name": "y"}]},
        find_topology("v5e:4x4"),
    ],
    ids=["a dict", "a Topology"],
)
def test_other_forms_of_a_topology(topology: Any) -> None:
    """The same links as those of v5e:4x4, so the same time."""
    result = ss.run(LINE, topology=topology, dims=DIMS)
    assert isinstance(result.plan.mesh.topology, ss.Topology)
    assert isinstance(result.plan.mesh, ss.Mesh)
    assert result.totals == ss.run(LINE, **GIVEN).totals


@pytest.mark.parametrize("form", [LINE, [LINE], (LINE,), ss.parse(LINE), [ss.parse(LINE)]])
def test_other_forms_of_a_program(form: Any) -> None:
    assert ss.plan(form, **GIVEN).steps == ss.plan(LINE, **GIVEN).steps


def test_settings_reach_the_scenario() -> None:
    result = ss.run(
        LINE, **GIVEN, overlap="none", policy="cheapest", name="mine", dtype={"A": "int8"}
    )
    assert result.scenario.name == "mine"
    assert result.scenario.options.policy is Policy.CHEAPEST
    assert result.to_dict()["overlap"] == "none"
    assert result.plan.inputs[0][1].sharded.dtype is ss.Dtype.INT8


KNOWN = (
    "known: topology, dims, mesh, layout, devices, dtype, overlap, form, prefetch, "
    "compute_slowdown, tile, repeat, latency_model, algorithm, schedule, chunks, efficiency, "
    "launch_overhead, policy, objective, idle_axes, uneven, name"
)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({**GIVEN, "sweep": 8}, f"unknown setting sweep; {KNOWN}\n  help: leave it out"),
        (
            {**GIVEN, "policies": 1},
            f"unknown setting policies; {KNOWN}\n  help: did you mean policy?",
        ),
        ({"dims": DIMS}, "topology is missing; a line of notation needs it\n  help: add to"),
        ({"topology": "v5e:4x4"}, "dims is missing; a line of notation needs it\n  help: add dim"),
        ({**GIVEN, "policy": "best"}, "policy must be one of textbook, cheapest; it is 'best'"),
        ({**GIVEN, "dims": {"I": 1.5}}, "dimension I must be a whole number, 1 or more; it is"),
        ({**GIVEN, "topology": 7}, "topology must be CHIP:SHAPE, a YAML file or a mapping, not 7"),
    ],
)
@pytest.mark.parametrize("function", [ss.plan, ss.run])
def test_bad_settings(function: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ss.ShardsimError) as caught:
        function(LINE, **settings)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).startswith(message)


def test_settings_beside_a_scenario_are_refused_not_dropped() -> None:
    scenario = ss.load_scenario(SCENARIO)
    with pytest.raises(ss.ShardsimError) as caught:
        ss.run(scenario, overlap="none", dims=DIMS)
    assert caught.value.message == (
        "overlap, dims: not together with a scenario, which says this itself"
    )


def test_a_fault_in_the_notation_has_its_place() -> None:
    with pytest.raises(ss.ShardsimError) as caught:
        ss.plan("A[I_X, J_X] · B[J, K] -> C[I, K]", **GIVEN)
    assert str(caught.value).splitlines()[:2] == [
        "axis X is used twice in A[I_X, J_X]", "  --> expression:1:10",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (None, "this takes notation or a Scenario, not a NoneType"),
        (
            ss.plan(LINE, topology="v5e:4x4", dims=DIMS),
            "this takes notation or a Scenario, not a Plan",
        ),
        ("my.yaml", "my.yaml is the name of a file"),
    ],
)
def test_what_is_neither_notation_nor_a_scenario(what: Any, message: str) -> None:
    for function in (ss.run, ss.plan):
        with pytest.raises(ss.ShardsimError) as caught:
            function(what)
        assert caught.value.message == message


@pytest.mark.parametrize("text", [LINE, "AllGather_X A[I_X]", "A[I_X, J] -> A[I, J_X]"])
def test_a_parsed_statement_is_taken_as_its_text_is(text: str) -> None:
    dims = {name: 64 for name in "IJK" if name in text}
    parsed, written = (ss.plan(w, topology="v5e:4x4", dims=dims) for w in (ss.parse(text), text))
    assert [step.text for step in parsed.steps] == [step.text for step in written.steps]


def test_plans_and_runs_print_themselves() -> None:
    run = ss.run(LINE, topology="v5e:4x4", dims=DIMS)
    assert repr(run.plan) == f"<Plan: {LINE} on v5e:4x4, {len(run.steps)} steps>"
    assert str(run.plan).splitlines()[0] == f"{len(run.steps)} steps on v5e:4x4, additive latency:"
    assert str(run.plan).splitlines()[1].startswith(f"1. {run.steps[0].step.text}  ")
    assert repr(run).startswith(f"<Run of {run.plan!r}: ")
    assert f"  simulated_seconds: {float(run.totals.simulated_seconds)}" in str(run).splitlines()
