"""`shardsim verify`: it passes on what is shipped, and it can fail."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

import shardsim as ss
from shardsim.call import Call
from shardsim.catalogue import find_topology, names_of
from shardsim.collectives import StepProgram, program_of
from shardsim.cost import exact
from shardsim.cost.terms import Terms
from shardsim.errors import InputError
from shardsim.hardware import Calibration, Link
from shardsim.mesh import lay_mesh
from shardsim.topology import Coordinate
from shardsim.verification import Verification, find_machine, verify_machine
from shardsim.verification.cases import Case, drawn, every_group, shrunk
from shardsim.verification.guidelines import GUIDELINES
from shardsim.verification.machine import reduced, scaled
from shardsim.verification.records import Breach, NotChecked, Side
from shardsim.verification.simulating import Simulator, never_decides
from shardsim.vocabulary import (
    Algorithm,
    CollectiveKind,
    LatencyModel,
    Schedule,
    TransferKind,
)
from tests.command_line import Result, command
from tests.machines import machine

GATHER, EXCHANGE = CollectiveKind.ALL_GATHER, CollectiveKind.ALL_TO_ALL
REFERENCES = ("v5e:4x4", "v4:4x4x4", "h100:8", "h100:2x8", "h100-measured:8", "2*v5e:4x4")


def names(found: Verification) -> dict[str, Any]:
    return {check.name: check for check in found.checks}


@pytest.mark.parametrize("reference", [*names_of("topologies"), *REFERENCES])
def test_every_law_holds(reference: str) -> None:
    found = verify_machine(find_machine(reference), cases=8)
    broken = [check.to_dict() for check in found.checks if not check.passed]
    assert broken == []
    assert found.cases > 60
    checks = names(found)
    assert checks["simulated = closed form"].cases > 0
    assert checks["numbers arrive where they belong"].cases > 0


def test_the_same_seed_draws_the_same_cases() -> None:
    first, again, other = (
        [case for case, _ in zip(drawn(lay_mesh(find_topology("v5e:4x4")), list(CollectiveKind),
                                       Random(seed)), range(30), strict=False)]
        for seed in ("1", "1", "2")
    )  # fmt: skip
    assert first == again != other


def test_all_kinds_over_all_groups_come_first() -> None:
    mesh = lay_mesh(find_topology("v4:4x4x4"))
    groups = every_group(mesh)
    assert len(groups) == 7
    cases = drawn(mesh, list(CollectiveKind), Random(3))
    seen = {(case.kind, frozenset(case.axes)) for case, _ in zip(cases, range(28), strict=False)}
    assert seen == {(kind, frozenset(axes)) for kind in CollectiveKind for axes in groups}


# That it can fail.


def broken_gather(*arguments: Any) -> Terms:
    """The closed form, one part in a thousand too large."""
    right = RIGHT(*arguments)
    return Terms(right.bandwidth * Fraction(1001, 1000), right.latency)


RIGHT = exact.all_gather


def test_a_wrong_closed_form_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "all_gather", broken_gather)
    result = command("verify", "ring-of-8", "--cases", "30", "--json")
    assert result.code == 1
    document = json.loads(result.out)
    assert document["passed"] is False
    (failed,) = (check for check in document["checks"] if not check["passed"])
    assert failed["check"] == "simulated = closed form"
    found = failed["counterexample"]
    (line,) = found["commands"]
    assert line.startswith("shardsim collective ")
    assert "--size 1 --on ring-of-8" in line
    assert "--chunks" not in line
    assert "--latency-model" not in line
    assert found["left"]["what"] == "simulated"
    assert found["right"]["what"] == "closed form"
    assert found["left"]["value"] < found["right"]["value"]
    assert found["ratio"] == pytest.approx(found["left"]["value"] / found["right"]["value"])


def test_the_counterexample_can_be_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line prints the two numbers of the counterexample."""
    monkeypatch.setattr(exact, "all_gather", broken_gather)
    found = json.loads(command("verify", "v5e:4x4", "--cases", "30", "--json").out)
    check = next(check for check in found["checks"] if not check["passed"])
    (line,) = check["counterexample"]["commands"]
    shown = json.loads(command(*line.split()[1:], "--json").out)
    assert shown["simulated_seconds"] == check["counterexample"]["left"]["value"]
    assert shown["exact_seconds"] == check["counterexample"]["right"]["value"]


def too_much(call: Call, chip: Coordinate) -> StepProgram:
    """The step programs; of an AllToAll each first message is sent twice as large."""
    program = program_of(call, chip)
    if call.kind is not EXCHANGE or not program.lanes:
        return program
    first, *others = program.lanes
    send = first.sends[0]
    swollen = replace(send, pieces=send.pieces * 2)
    lanes = (replace(first, sends=(swollen, *first.sends[1:])), *others)
    return replace(program, lanes=lanes)


def too_little(call: Call, chip: Coordinate) -> StepProgram:
    """The step programs; of a ReduceScatter the last message is not sent."""
    program = program_of(call, chip)
    if call.kind is not CollectiveKind.REDUCE_SCATTER or not program.lanes:
        return program
    first, *others = program.lanes
    return replace(program, lanes=(replace(first, sends=first.sends[:-1]), *others))


def test_a_wrong_step_program_is_found() -> None:
    checks = names(verify_machine(find_machine("v5e:4x4"), cases=40, programs=too_much))
    check = checks["wire bytes at the busiest chip"]
    assert not check.passed
    (line,) = check.counterexample.commands
    assert line[:-1] == "shardsim collective all_to_all --size 1 --on v5e:4x4 --axes "
    assert check.counterexample.ratio > 1


def test_a_wrong_step_program_on_a_ring_takes_another_time() -> None:
    checks = names(verify_machine(find_machine("ring-of-8"), cases=20, programs=too_much))
    breach = checks["simulated = closed form"].counterexample
    assert breach.commands == ("shardsim collective all_to_all --size 1 --on ring-of-8 --axes X",)
    assert breach.left.value > breach.right.value


def test_a_step_program_that_stops_is_found() -> None:
    check = names(verify_machine(find_machine("ring-of-8"), cases=12, programs=too_little))[
        "simulated = closed form"
    ]
    breach = check.counterexample
    assert breach is not None
    assert breach.left.value is None
    assert "deadlock" in breach.left.what
    assert "reduce_scatter --size 1 --on ring-of-8" in breach.left.command


def test_a_wrong_step_program_stops_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardsim.engine.prepared.program_of", too_little)
    result = command("verify", "ring-of-8", "--cases", "12")
    assert result.code == 1
    assert "simulated = closed form: FAILS" in result.out
    assert "shardsim collective reduce_scatter --size 1 --on ring-of-8 --axes X" in result.out
    assert "all checks hold" not in result.out


def mixed_up(call: Call, chip: Coordinate) -> StepProgram:
    """The step programs; of an AllGather every first message carries its neighbour's block."""
    program = program_of(call, chip)
    if call.kind is not GATHER or not program.lanes:
        return program
    first, *others = program.lanes
    send = first.sends[0]
    wrong = tuple(
        replace(piece, block=tuple(None if at is None else at + 1 for at in piece.block))
        for piece in send.pieces
    )
    lanes = (replace(first, sends=(replace(send, pieces=wrong), *first.sends[1:])), *others)
    return replace(program, lanes=lanes)


def test_numbers_in_the_wrong_place_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The times are as they should be, so only the numbers can tell."""
    monkeypatch.setattr("shardsim.oracle.movement.program_of", mixed_up)
    result = command("verify", "ring-of-8", "--cases", "8", "--json")
    assert result.code == 1
    (failed,) = (c for c in json.loads(result.out)["checks"] if not c["passed"])
    assert failed["check"] == "numbers arrive where they belong"
    (line,) = failed["counterexample"]["commands"]
    assert line == "shardsim collective all_gather --size 1 --on ring-of-8 --axes X"
    assert "AllGather_X A[I_X, J] -> A[I, J]:" in failed["counterexample"]["right"]["what"]


BROKEN = {
    "AllGather, ReduceScatter <= AllReduce": lambda kind, time, call: (
        time / 3 if kind is CollectiveKind.ALL_REDUCE else time
    ),
    "AllReduce <= ReduceScatter + AllGather": lambda kind, time, call: (
        time * 2 if kind is CollectiveKind.ALL_REDUCE else time
    ),
    "AllToAll <= AllGather of the same V": lambda kind, time, call: (
        time * 9 if kind is EXCHANGE else time
    ),
    "more bytes take no less time": lambda kind, time, call: 1 / time,
    "more latency takes no less time": lambda kind, time, call: (
        time - 10 * call.group.segments[0].link.latency
    ),
    "more bandwidth takes no more time": lambda kind, time, call: (
        time + call.group.segments[0].link.one_way_bandwidth
    ),
    "a + b together <= a, then b": lambda kind, time, call: time * call.size,
    "ring <= line <= 2 ring + latency": lambda kind, time, call: (
        time * 9 if call.group.segments[0].kind == "line" else time
    ),
}


@pytest.mark.parametrize("law", BROKEN)
def test_every_guideline_can_fail(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With times that break it, each guideline names a case."""
    seconds = Simulator.seconds

    def wrong(self: Simulator, call: Call, cost: Any) -> Fraction:
        return Fraction(BROKEN[law](call.kind, seconds(self, call, cost), call))

    monkeypatch.setattr(Simulator, "seconds", wrong)
    found = names(verify_machine(find_machine("ring-of-8"), cases=12))[law]
    assert not found.passed
    assert found.counterexample.left.value != found.counterexample.right.value


@pytest.mark.parametrize("law", BROKEN)
def test_guidelines_hold_of_the_machine_on_which_they_can_fail(law: str) -> None:
    check = names(verify_machine(find_machine("ring-of-8"), cases=12))[law]
    assert (check.passed, check.cases) == (True, 12)


def test_all_guidelines_are_checked() -> None:
    checked = {check.name for check in verify_machine(find_machine("v5e:1x1"), cases=1).checks}
    assert {guideline.name for guideline in GUIDELINES} <= checked


def test_a_link_without_bandwidth_to_spare_is_found() -> None:
    """Shares above 1 can only come from a wrong simulation; the law itself says so."""
    breach = Breach(Side("share", Fraction(3, 2), ""), "<=", Side("all of it", Fraction(1), ""))
    assert breach.ratio == Fraction(3, 2)
    assert breach.left.text == "1.5"


# Where laws have exceptions.


def test_the_floor_model_on_lines_is_left_out_of_one_law() -> None:
    """A line of 4 and one byte: 2 x 2 messages cross the middle, of an AllGather 3."""
    here = find_machine(machine((4, "line"), link=Link(Fraction(10**9), Fraction(1))))
    law = next(one for one in GUIDELINES if one.name.startswith("AllToAll"))
    case = Case(kind=EXCHANGE, axes=("X",), size=1, latency_model=LatencyModel.FLOOR)
    with pytest.raises(NotChecked, match="floor model"):
        law.holds(here, Simulator(10**6), case)
    assert case.cost.collective(case.call(here.mesh)).exact.total == 4
    gather = replace(case, kind=GATHER)
    assert gather.cost.collective(gather.call(here.mesh)).exact.total == 3


def test_measured_curves_are_left_out() -> None:
    checks = names(verify_machine(find_machine("h100-measured:8"), cases=10))
    check = checks["AllReduce <= ReduceScatter + AllGather"]
    assert check.cases == 0
    assert check.note == "not checked: 10 with measured curves, one for each collective"
    assert checks["more bytes take no less time"].cases > 0


def test_shared_links_are_left_out_of_laws_of_time() -> None:
    order = [divmod(7 * at % 16, 4) for at in range(16)]
    here = find_machine("v5e:4x4", mesh={"X": 16}, devices=order)
    call = Case(kind=GATHER, axes=("X",), size=4096).call(here.mesh)
    assert not never_decides(call)
    with pytest.raises(NotChecked, match="wait for each other"):
        Simulator(10**6).seconds(call, Case(kind=GATHER, axes=("X",), size=1).cost)


def test_large_machines_are_checked_by_closed_forms_and_say_so() -> None:
    found = names(verify_machine(find_machine("v5p:16x16x16"), cases=14))
    equal = found["simulated = closed form"]
    assert equal.cases > 0
    assert "of over 8,000 hops" in equal.note
    assert found["AllReduce <= ReduceScatter + AllGather"].cases == 14


def test_launch_overhead_and_efficiency() -> None:
    real = Calibration(efficiency=Fraction(9, 10), launch_overhead=Fraction(5, 10**6))
    topology = replace(find_topology("v5e:4x4"), calibration=real)
    assert verify_machine(find_machine(topology), cases=12).passed


# Fewer chips, other links.


def test_reduced_meshes_take_the_same_time() -> None:
    mesh = lay_mesh(find_topology("v5p:2x4x4"))
    for axes in (("Y",), ("Z", "X")):
        smaller = reduced(mesh.group(axes))
        assert smaller is not None
        assert smaller.topology.size < mesh.topology.size
        for kind in CollectiveKind:
            case = Case(kind=kind, axes=axes, size=10**5, chunks=2)
            runs = (Simulator(10**6).run(case.call(one), LatencyModel.ADDITIVE)
                    for one in (mesh, smaller))  # fmt: skip
            whole, part = (run.makespan for run in runs)
            assert whole == part


@pytest.mark.parametrize(
    ("what", "mesh", "axes"),
    [("slow-link-4x4", None, "X"), ("v5e:16x16", "X=64,Y=4", "X"), ("v5e:16x16", "X=64,Y=4", "Y")],
)
def test_groups_that_share_links_are_not_reduced(what: str, mesh: str | None, axes: str) -> None:
    assert reduced(find_machine(what, mesh).mesh.group((axes,))) is None


def test_scaled_links() -> None:
    mesh = find_machine("slow-link-4x4").mesh
    other = scaled(mesh, bandwidth=2, latency=0)
    before, after = mesh.topology, other.topology
    for (at, old), (there, new) in zip(before.changed, after.changed, strict=True):
        assert at == there
        assert old is not None
        assert new == Link(2 * old.one_way_bandwidth, Fraction(0))
    assert [axis.name for axis in other.axes] == [axis.name for axis in mesh.axes]
    assert scaled(mesh) == mesh


# Smaller cases.


def test_shrinking_finds_the_least_case() -> None:
    mesh = lay_mesh(find_topology("v4:4x4x4"))
    case = Case(
        kind=GATHER,
        axes=("Z", "X", "Y"),
        size=987_654,
        algorithm=Algorithm.HALF_SHARDS,
        schedule=Schedule.BALANCED,
        chunks=3,
        latency_model=LatencyModel.FLOOR,
    )
    least = shrunk(case, mesh, lambda one: "Y" in one.axes and one.size >= 100)
    assert least == Case(kind=GATHER, axes=("Y",), size=least.size)
    assert 100 <= least.size < 200
    kept = shrunk(case, mesh, lambda one: len(one.axes) == 3 and one.chunks == 3)
    assert kept == Case(kind=GATHER, axes=("X", "Y", "Z"), size=1, chunks=3)


def test_shrinking_a_permute() -> None:
    mesh = lay_mesh(find_topology("ring-of-8"))
    case = Case(kind=TransferKind.PERMUTE, axes=("X",), size=4096, shift=5)
    assert shrunk(case, mesh, lambda one: one.shift > 0) == replace(case, size=1, shift=1)


# What is verified.


SCENARIO = """\
topology: {topology}
mesh: {{X: 8, Y: 2}}
layout: {{X: x+y:(1)2, Y: y}}
dims: {{I: 64}}
efficiency: 0.9
launch_overhead: 5 us
program:
  - AllGather_X A[I_X] -> A[I]
"""


def test_a_scenario_gives_topology_mesh_and_calibration(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(SCENARIO.format(topology="v5e:4x4"), encoding="utf-8")
    here = find_machine(str(path))
    assert here.on == "v5e:4x4"
    assert dict(here.mesh.sizes) == {"X": 8, "Y": 2}
    assert verify_machine(here, cases=6).passed
    line = Case(kind=GATHER, axes=("X",), size=4096).command(here)
    assert line == (
        "shardsim collective all_gather --size 4096 --on v5e:4x4 --mesh X=8,Y=2 "
        "--efficiency 0.9 --launch-overhead '5 us' --axes X"
    )


def test_a_shipped_scenario_by_name() -> None:
    assert find_machine("2-gather-one-operand").on == "v5p:4x4x4"


def test_a_mesh_with_a_layout_is_written_out() -> None:
    here = find_machine("v5e:4x4", mesh={"A": 4, "B": 4}, layout={"A": "y", "B": "x"})
    line = Case(kind=EXCHANGE, axes=("A",), size=1, chunks=2).command(here)
    assert line == (
        "shardsim collective all_to_all --size 1 --on v5e:4x4 --mesh A=4,B=4 --layout A=y,B=x "
        "--axes A --chunks 2"
    )


def test_an_order_of_chips_is_written_out() -> None:
    here = find_machine("v5e:2x2", mesh="X=4", layout="X=ring")
    line = Case(kind=TransferKind.GATHER, axes=("X",), size=8, root=2).command(here)
    assert "--devices '0,0 0,1 1,1 1,0'" in line
    assert line.endswith("--axes X --root 2")
    result = json.loads(command(*_words(line), "--json").out)
    assert result["op"] == "gather"


def _words(line: str) -> list[str]:
    import shlex

    return shlex.split(line)[1:]


def test_missing_chips_leave_one_axis() -> None:
    here = find_machine(machine((3, "line"), (3, "line"), missing=[(1, 1)]))
    assert dict(here.mesh.sizes) == {"X": 8}
    assert "chips are missing" in here.note
    assert verify_machine(here, cases=6).passed


# What people see.


@pytest.fixture(scope="module")
def slow() -> Result:
    return command("verify", "slow-link-4x4", "--cases", "8")


def test_the_report_names_the_busiest_link(slow: Result) -> None:
    assert slow.code == 0
    assert slow.out.startswith("slow link 4x4: 16 chips, seed 1\n")
    assert "busiest link: chip (1, 2), x+: 88% of its bandwidth in an AllReduce" in slow.out
    assert slow.err == ""
    assert max(map(len, slow.out.splitlines())) <= 100


def test_the_busiest_link_is_the_slow_one() -> None:
    document = json.loads(command("verify", "slow-link-4x4", "--cases", "2", "--json").out)
    busiest = document["busiest_link"]
    assert (busiest["chip"], busiest["link"]) == ([1, 2], "x+")
    assert busiest["of"] == "an AllReduce of 64 MiB over X, Y"


def test_links_that_are_all_alike_have_no_busiest() -> None:
    assert verify_machine(find_machine("ring-of-8"), cases=1).busiest is None


def test_json() -> None:
    result = command("verify", "v5e-row-of-8", "--cases", "3", "--seed", "9", "--json")
    document = json.loads(result.out)
    assert set(document) == {
        "format", "topology", "chips", "seed", "cases", "checks", "passed", "busiest_link",
    }  # fmt: skip
    assert document["format"] == "shardsim/verify/1"
    assert (document["seed"], document["passed"]) == (9, True)
    keys = {"check", "cases", "passed", "note", "counterexample"}
    assert all(set(check) == keys for check in document["checks"])


def test_all_shipped_topologies_where_none_is_named() -> None:
    result = command("verify", "--cases", "1")
    assert result.code == 0
    for name in names_of("topologies"):
        assert find_topology(name).name in result.out
    assert "links are all alike" in result.out
    assert "name one topology to see its checks one by one" in result.out


def test_several_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardsim.catalogue.names_of", lambda _: ["ring-of-8", "v5e-row-of-8"])
    document = json.loads(command("verify", "--cases", "1", "--json").out)
    assert [one["topology"] for one in document["topologies"]] == ["ring of 8", "v5e row of 8"]
    assert (document["format"], document["passed"]) == ("shardsim/verify/1", True)


def test_counterexamples_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardsim.catalogue.names_of", lambda _: ["ring-of-8", "v5e-row-of-8"])
    monkeypatch.setattr("shardsim.engine.prepared.program_of", too_little)
    result = command("verify", "--cases", "6")
    assert result.code == 1
    assert "ring of 8: simulated = closed form: FAILS" in result.out
    assert "--on v5e-row-of-8 --axes X" in result.out
    assert "all hold" not in result.out


def test_progress_is_on_a_terminal_only() -> None:
    result = command("verify", "v5e:2x2", "--cases", "1", terminal=True)
    assert result.code == 0
    assert "v5e:2x2: real numbers" in result.err


def test_in_python() -> None:
    found = ss.verify("v5e:2x2", mesh={"X": 2, "Y": 2}, cases=2, seed=3)
    assert found.passed
    assert found.to_dict()["seed"] == 3
    with pytest.raises(InputError, match="unknown setting meshes"):
        ss.verify("v5e:2x2", meshes="X=4")


BAD = [
    (("verify", "v5e"), "chip v5e needs a shape"),
    (("verify", "nothing.yaml"), "there is no topology file 'nothing.yaml'"),
    (("verify", "v5e:4x4", "--mesh", "X=3"), "the mesh X=3 has 3 chips, but v5e:4x4 has 16"),
    (("verify", "v5e:4x4", "--mesh", "X"), "--mesh:1:1"),
    (("verify", "--mesh", "X=4"), "none is named"),
    (("verify", "v5e:4x4", "--cases", "0"), "--cases"),
]


@pytest.mark.parametrize(("arguments", "text"), BAD)
def test_bad_input(arguments: tuple[str, ...], text: str) -> None:
    result = command(*arguments)
    assert result.code == 2
    assert text in result.err
    assert result.out == ""
