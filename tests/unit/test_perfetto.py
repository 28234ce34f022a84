"""The trace of a run: its rules, its names and times, its counters, its file."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shardsim as ss
from shardsim.errors import InputError, ShardsimError
from shardsim.perfetto import trace_events, write_trace
from shardsim.perfetto.writing import as_text
from tests.trace_rules import faults
from tests.traces import KINDS as OPS
from tests.traces import (
    Event,
    Slice,
    arrows,
    collective,
    dimension,
    machine,
    names,
    ns,
    of_phase,
    run_on,
    topology,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from shardsim.comparison import Run

TWO_GATHERS = ["AllGather_X A[I_X, J] -> C[I, J]", "AllGather_X B[I_X, J] -> D[I, J]"]


@pytest.fixture(scope="module")
def matmul() -> Run:
    return ss.run(
        "A[I, J_X] · B[J_X, K] -> C[I, K]",
        topology="v5e:4x4",
        mesh={"X": 4, "Y": 4},
        dims={"I": 512, "J": 512, "K": 512},
    )


# The whole.


def test_golden_all_gather_on_a_line_of_two(golden: Callable[[str, str], None]) -> None:
    run = run_on(machine("line", 2), "AllGather_X A[I_X, J]", i=100, j=100)
    golden("trace_all_gather_line_2.json", as_text(trace_events(run)))


def test_golden_all_to_all_at_a_switch_of_two(golden: Callable[[str, str], None]) -> None:
    run = run_on(topology(dimension("gpu", 2, "switch")), "AllToAll_{X,J} A[I_X, J]", i=100, j=100)
    golden("trace_all_to_all_switch_2.json", as_text(trace_events(run)))


@pytest.mark.parametrize("latency_model", ["additive", "floor"])
@pytest.mark.parametrize("overlap", ["none", "async"])
@pytest.mark.parametrize("kind", ["ring", "line", "switch"])
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_rules_hold(op: str, kind: str, overlap: str, latency_model: str, size: int) -> None:
    run = run_on(machine(kind, size), collective(op), overlap=overlap, latency_model=latency_model)
    assert faults(as_text(trace_events(run))) == []


@pytest.mark.parametrize("algorithm", ["balanced", "whole_shards", "half_shards", "one_direction"])
@pytest.mark.parametrize("op", OPS)
def test_the_rules_hold_for_each_ring_algorithm(op: str, algorithm: str) -> None:
    run = run_on(machine("ring", 6), collective(op), algorithm=algorithm)
    assert faults(as_text(trace_events(run))) == []


@pytest.mark.parametrize("overlap", ["none", "async"])
def test_the_rules_hold_for_a_program_of_many_steps(overlap: str) -> None:
    run = ss.run(
        ["A[I_X, J] · B[J, K_X] -> C[I_X, K]", "C[I_X, K] · D[K_X, L] -> E[I, L_X]"],
        topology="v5e:4x2",
        dims={"I": 64, "J": 64, "K": 64, "L": 64},
        overlap=overlap,
    )
    assert len(run.steps) > 3
    assert faults(as_text(trace_events(run))) == []


def test_the_same_run_gives_the_same_trace(matmul: Run) -> None:
    again = ss.run(
        "A[I, J_X] · B[J_X, K] -> C[I, K]",
        topology="v5e:4x4",
        mesh={"X": 4, "Y": 4},
        dims={"I": 512, "J": 512, "K": 512},
    )
    assert as_text(trace_events(matmul)) == as_text(trace_events(again))


def test_the_head_says_what_it_is(matmul: Run) -> None:
    trace = trace_events(matmul)
    assert list(trace) == ["displayTimeUnit", "otherData", "traceEvents"]
    assert trace["displayTimeUnit"] == "ns"
    about = trace["otherData"]
    assert about["format"] == "shardsim/trace/1"
    assert (about["topology"], about["mesh"]) == ("v5e:4x4", {"X": 4, "Y": 4})
    assert about["ticks_per_second"] == str(matmul.timeline.ticks_per_second)
    assert (about["chips_shown"], about["chips_total"]) == (16, 16)
    assert as_text(trace).startswith('{"displayTimeUnit": "ns",\n')


def test_a_plan_without_steps_still_shows_its_chips() -> None:
    run = run_on(machine("line", 1), "AllGather_X A[I_X, J]")
    trace = trace_events(run)
    assert run.timeline.intervals == ()
    assert names(trace, "process_name") == {1: "chip (0)"}
    assert faults(as_text(trace)) == []


# Names.


def test_a_chip_is_a_process_and_a_core_or_link_a_thread(matmul: Run) -> None:
    trace = trace_events(matmul)
    processes = names(trace, "process_name")
    assert list(processes.values())[3:5] == ["chip (0, 3)", "chip (1, 0)"]
    assert list(processes) == list(range(1, 17))
    threads = names(trace, "thread_name")
    assert [name for (pid, _), name in threads.items() if pid == 1] == [
        "steps",
        "core",
        "X+ link (dimension x)",
        "Y+ link (dimension y)",
    ]
    assert Counter(pid for pid, _ in threads)[6] == 6  # an inner chip has four links


def test_thread_numbers_are_unique_in_the_trace(matmul: Run) -> None:
    threads = names(trace_events(matmul), "thread_name")
    tids = [tid for _, tid in threads]
    assert len(set(tids)) == len(tids)
    assert not {pid for pid, _ in threads} & set(tids)


def test_a_link_has_the_name_of_the_axis_laid_over_it() -> None:
    run = ss.run(
        "AllGather_data A[I_data]",
        topology="v5e:2x4",
        mesh={"data": 4, "model": 2},
        layout={"data": "y", "model": "x"},
        dims={"I": 64},
    )
    found = {name for name in names(trace_events(run), "thread_name").values() if "link" in name}
    assert found == {
        f"{axis}{way} link (dimension {dimension})"
        for axis, dimension in [("data", "y"), ("model", "x")]
        for way in "+-"
    }


def test_a_link_under_several_axes_has_the_names_of_all() -> None:
    run = run_on(machine("ring", 16), "AllGather_X A[I_X, J]", mesh={"X": 4, "Y": 4}, i=64)
    found = {name for name in names(trace_events(run), "thread_name").values() if "link" in name}
    assert found == {"X/Y+ link (dimension x)", "X/Y- link (dimension x)"}


def test_a_chip_has_threads_for_its_ports_at_each_switch() -> None:
    where = topology(
        dimension("node", 2, "switch"), dimension("gpu", 4, "switch"), dimension("x", 1, "switch")
    )
    run = run_on(where, "AllGather_Y A[I_Y, J]")
    threads = names(trace_events(run), "thread_name")
    for pid in range(1, 9):
        assert [name for (at, _), name in threads.items() if at == pid] == [
            "steps", "core", "node out port", "node in port", "gpu out port", "gpu in port"
        ]  # fmt: skip


def test_a_link_that_is_missing_has_no_thread() -> None:
    where = machine("ring", 4) | {"overrides": [{"from": [1], "to": [2], "removed": True}]}
    run = run_on(where, "AllGather_X A[I_X, J]")
    threads = names(trace_events(run), "thread_name")
    links = {pid: {name[:2] for (at, _), name in threads.items() if at == pid} for pid in (2, 3)}
    assert links == {2: {"st", "co", "X-"}, 3: {"st", "co", "X+"}}


def test_steps_that_overlap_are_laid_on_threads_of_their_own() -> None:
    def threads(overlap: str) -> set[str]:
        run = run_on(machine("ring", 4), TWO_GATHERS, overlap=overlap)
        return set(names(trace_events(run), "thread_name").values())

    assert threads("async") - threads("none") == {"steps (2)"}
    assert "steps" in threads("none")


# Times.


def nearest(ticks: int, per_second: int) -> set[int]:
    exact = Fraction(ticks * 10**9, per_second)
    return {n for n in (exact.__floor__(), exact.__ceil__()) if abs(exact - n) <= Fraction(1, 2)}


@given(
    kind=st.sampled_from(["ring", "line", "switch"]),
    size=st.integers(2, 7),
    op=st.sampled_from(OPS),
    bandwidth=st.fractions("0.1", "300", max_denominator=997),
    latency=st.fractions("0", "3", max_denominator=997),
    blocks=st.integers(1, 40),
    latency_model=st.sampled_from(["additive", "floor"]),
)
def test_times_are_rounded_ends_and_touching_slices_stay_touching(
    kind: str,
    size: int,
    op: str,
    bandwidth: Fraction,
    latency: Fraction,
    blocks: int,
    latency_model: str,
) -> None:
    where = machine(kind, size, bandwidth=bandwidth * 10**9, latency=latency / 10**6)
    run = run_on(where, collective(op), i=size * blocks, j=size, latency_model=latency_model)
    trace = trace_events(run)
    assert faults(as_text(trace)) == []
    per_second = run.timeline.ticks_per_second
    threads = defaultdict(list)
    for event in of_phase(trace, "X"):
        start, end = (int(event["args"][key]) for key in ("start_ticks", "end_ticks"))
        begins, lasts = ns(event["ts"]), ns(event["dur"])
        assert begins in nearest(start, per_second)
        assert begins + lasts in nearest(end, per_second)
        assert event["dur"] == pytest.approx(lasts / 1000, abs=1e-6)
        threads[event["tid"]].append((start, end, begins, begins + lasts))
    for slices in threads.values():
        for earlier, later in pairwise(sorted(slices)):
            assert earlier[3] <= later[2]
            if earlier[1] == later[0]:
                assert earlier[3] == later[2]


def test_ticks_beyond_doubles_are_text_throughout() -> None:
    where = machine("ring", 3, bandwidth="7.919 GB/s", latency="1.000000000000007 us")
    trace = trace_events(run_on(where, collective("all_gather")))
    ticks = [event["args"]["end_ticks"] for event in of_phase(trace, "X")]
    assert max(map(int, ticks)) > 2**53
    assert all(isinstance(tick, str) for tick in ticks)
    assert faults(as_text(trace)) == []


def test_the_last_slice_ends_at_the_simulated_total(matmul: Run) -> None:
    slices = of_phase(trace_events(matmul), "X")
    last = max(event["ts"] + event["dur"] for event in slices)
    assert last == pytest.approx(float(matmul.totals.simulated_seconds) * 1e6, abs=6e-4)


def test_a_core_says_its_flops_and_bytes(matmul: Run) -> None:
    cores = of_phase(trace_events(matmul), "X", "compute")
    assert len(cores) == 16
    assert {event["args"]["flops"] for event in cores} == {2 * 512 * 128 * 512}
    assert {event["args"]["hbm_bytes"] for event in cores} == {2 * (2 * 512 * 128 + 512 * 512)}
    assert {event["args"]["step"] for event in cores} == {1}


# Counters.


def series(trace: Event, name: str, pid: int) -> list[tuple[int, float]]:
    counters = (event for event in of_phase(trace, "C") if event["name"] == name)
    return [(ns(event["ts"]), *event["args"].values()) for event in counters if event["pid"] == pid]


@pytest.mark.parametrize("kind", ["ring", "line", "switch"])
@pytest.mark.parametrize("op", OPS)
def test_links_busy_adds_up_to_the_slices(kind: str, op: str) -> None:
    trace = trace_events(run_on(machine(kind, 4), collective(op)))
    for pid in (1, 2, 3, 4):
        values = series(trace, "links", pid)
        assert values[-1][1] == 0
        area = sum(value * (after[0] - at) for (at, value), after in pairwise(values))
        messages = (e for e in of_phase(trace, "X", "message") if e["pid"] == pid)
        assert area == sum(ns(event["dur"]) for event in messages)
        assert all(before[1] != after[1] for before, after in pairwise(values))


@pytest.mark.parametrize("where", ["v5e:4x1", "h100:4"])
@pytest.mark.parametrize(
    ("program", "dims"),
    [
        ("A[I, J_X] · B[J_X, K] -> C[I, K]", "I=64,J=64,K=64"),
        ("A[I, J_X] · B[J, K] -> C[I, K]", "I=64,J=64,K=64"),
        (
            ["A[I_X, J] · B[J, K_X] -> C[I_X, K]", "C[I_X, K] · D[K_X, L] -> E[I_X, L]"],
            "I=64,J=64,K=64,L=64",
        ),
        ("AllToAll_{X,J} A[I_X, J]", "I=64,J=64"),
    ],
)
def test_resident_bytes_peak_at_the_peak_memory(
    program: str | list[str], dims: str, where: str
) -> None:
    run = ss.run(program, topology=where, dims=dims, overlap="none")
    trace = trace_events(run)
    for pid in range(1, 5):
        values = series(trace, "memory", pid)
        assert max(value for _, value in values) == run.totals.peak_memory_bytes_per_chip
        kept = {value.number: value for _, value in run.plan.inputs}
        read = {number for step in run.plan.steps for number in step.reads}
        kept |= {value.number: value for value in run.plan.results if value.number not in read}
        assert values[-1][1] == sum(value.sharded.local_bytes for value in kept.values())


# Many chips.


def test_a_cut_to_fewer_chips_is_said() -> None:
    run = ss.run("AllGather_X A[I_X]", topology="v5e:10x10", dims={"I": 100})
    trace = trace_events(run)
    assert (trace["otherData"]["chips_shown"], trace["otherData"]["chips_total"]) == (64, 100)
    assert len(names(trace, "process_name")) == 64
    assert faults(as_text(trace)) == []
    whole = trace_events(run, chips=100)
    assert (whole["otherData"]["chips_shown"], whole["otherData"]["chips_total"]) == (100, 100)
    assert len(names(whole, "process_name")) == 100
    assert len(of_phase(whole, "s")) > len(of_phase(trace, "s")) > 0
    assert faults(as_text(whole)) == []


CUTS: dict[str, tuple[Event, dict[str, Any]]] = {
    "ring": (machine("ring", 6), {}),
    "torus and switch": (topology(dimension("x", 3, "ring"), dimension("gpu", 4, "switch")), {}),
    "switch": (machine("switch", 5, reduces=True), {}),
    "strided": (machine("ring", 12), {"mesh": {"X": 4, "Y": 3}}),
}


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("where", CUTS)
def test_a_cut_leaves_what_is_shown_as_it_is(where: str, op: str) -> None:
    machine_, more = CUTS[where]
    axes = "XY" if where == "torus and switch" else "X"
    check_cuts(run_on(machine_, collective(op, axes), i=1440, j=1440, **more))


def test_a_cut_leaves_sums_in_a_switch_as_they_are() -> None:
    where = machine("switch", 5, reduces=True)
    program = collective("all_reduce")
    check_cuts(run_on(where, program, i=1440, j=1440, algorithm="in_network"))


def check_cuts(run: Run) -> None:
    """A trace of fewer chips has the slices and arrows that the whole one has between them."""
    whole = trace_events(run)
    messages, flows = of_phase(whole, "X", "message"), arrows(whole)

    def key(one: Slice) -> tuple[str, str, int]:
        return one.chip, one.thread, one.start

    for chips in range(1, len(run.timeline.chips)):
        trace = trace_events(run, chips=chips)
        assert faults(as_text(trace)) == []
        found = [event["args"] for event in of_phase(trace, "X", "message")]
        assert found == [event["args"] for event in messages if event["pid"] <= chips]
        within = {(key(a), key(b)) for a, b in flows if max(a.pid, b.pid) <= chips}
        assert {(key(a), key(b)) for a, b in arrows(trace)} == within


@pytest.mark.parametrize("chips", [0, -1])
def test_a_trace_of_no_chips_is_refused(matmul: Run, chips: int) -> None:
    with pytest.raises(InputError, match="shows nothing"):
        trace_events(matmul, chips=chips)


# The file.


def test_the_file_holds_the_trace(matmul: Run, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("something older")
    write_trace(matmul, path)
    assert json.loads(path.read_text(encoding="utf-8")) == trace_events(matmul)
    assert list(tmp_path.iterdir()) == [path]
    write_trace(matmul, str(path), chips=1)
    assert json.loads(path.read_text(encoding="utf-8"))["otherData"]["chips_shown"] == 1


def test_the_file_is_as_readable_as_any_other(matmul: Run, tmp_path: Path) -> None:
    write_trace(matmul, tmp_path / "trace.json")
    (tmp_path / "other").write_text("")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_link_to_a_file_stays_a_link(matmul: Run, tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "trace.json")
    write_trace(matmul, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))


def test_a_pipe_is_written_to_and_not_replaced(matmul: Run, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_trace(matmul, pipe, chips=1)
        text = os.read(reader, 2**16).decode()
    finally:
        os.close(reader)
    assert json.loads(text) == trace_events(matmul, chips=1)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize(
    ("path", "reason", "way_out"),
    [
        ("missing/trace.json", "No such file", "create the folder"),
        (".", "it is a folder", "name a file in it"),
        ("file/trace.json", "Not a directory", "choose another path"),
        ("a\0b", "null", "choose another path"),
        ("x" * 300, "too long", "choose another path"),
    ],
)
def test_a_path_that_cannot_be_is_an_error_with_a_way_out(
    matmul: Run, tmp_path: Path, path: str, reason: str, way_out: str
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ShardsimError) as caught:
        write_trace(matmul, tmp_path / path)
    assert isinstance(caught.value, InputError)
    assert caught.value.message.startswith("cannot write the trace to ")
    assert reason in caught.value.message
    assert way_out in caught.value.hint
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("when", ["write_bytes", "replace"])
@pytest.mark.parametrize(
    ("number", "way_out"),
    [(errno.ENOSPC, "another path"), (errno.EACCES, "in which you may write")],
)
def test_a_failed_write_leaves_the_old_file(
    matmul: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
    number: int,
    way_out: str,
) -> None:
    path = tmp_path / "trace.json"
    path.write_text("the old trace")
    write_bytes = Path.write_bytes

    def fail(self: Path, *args: Any, **kwargs: Any) -> None:
        if when == "write_bytes":
            write_bytes(self, b"half of i")
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, when, fail)
    with pytest.raises(InputError, match=os.strerror(number)) as caught:
        write_trace(matmul, path)
    assert way_out in caught.value.hint
    monkeypatch.undo()
    assert path.read_text() == "the old trace"
    assert list(tmp_path.iterdir()) == [path]
