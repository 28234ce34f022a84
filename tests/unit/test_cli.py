"""The command line: what it prints where, its JSON, and its exit codes."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import shardsim
from shardsim.cli import main
from shardsim.errors import SimulationError
from tests.command_line import command, process

REDUCE = "A[I, J_X] · B[J_X, K] -> C[I, K]"
OPTIONS = ("--topology", "v5e:4x4", "--dims", "I=64,J=64,K=64")
GATHER = ("AllGather_X A[I_X] -> A[I]", "--on", "ring-of-8", "--dims", "I=360")

SCENARIO = """\
name: a small gather
topology: ring-of-8
dims: {I: 360}
program:
  - AllGather_X A[I_X] -> A[I]
expect:
  simulated_seconds: {max: 1 us}
  bound: latency
"""

STEP_KEYS = {
    "op", "text", "axes", "algorithm", "bytes", "wire_bytes_per_chip", "flops_per_chip",
    "hbm_bytes_per_chip", "book_seconds", "exact_seconds", "relation",
}  # fmt: skip
FLOATS = (
    "_seconds",
    "overlap_fraction",
    "utilization",
    "efficiency",
    "slowdown",
    "bw_bytes_per_second",
)
SIMULATED_KEYS = {"simulated_seconds", "start_seconds", "end_seconds"}
RUN_KEYS = {"format", "name", "topology", "chips", "mesh", "steps", "result", "totals"}
RESULT_KEYS = {"text", "local_shape", "bytes_per_chip"}
TOTAL_KEYS = {
    "simulated_seconds", "lower_bound_seconds", "upper_bound_seconds", "compute_seconds",
    "communication_seconds", "exposed_communication_seconds", "overlap_fraction",
    "flops_utilization", "bound", "peak_memory_bytes_per_chip",
}  # fmt: skip


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "gather.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    return str(path)


def numbers(document: Any) -> list[int | float]:
    """All numbers of a JSON document."""
    if isinstance(document, dict):
        return numbers(list(document.values()))
    if isinstance(document, list):
        return [number for entry in document for number in numbers(entry)]
    return [document] if isinstance(document, int | float) else []


# run


def test_run_of_one_statement() -> None:
    result = command("run", REDUCE, *OPTIONS)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[:3] == [
        REDUCE,
        "on v5e:4x4: 16 x TPU v5e",
        "mesh X=4 Y=4; dims I=64 J=64 K=64; bf16",
    ]


def test_run_of_several_statements() -> None:
    second = "C[I, K] · D[K, L] -> E[I, L]"
    result = command("run", REDUCE, second, "--on", "v5e:4x4", "--dims", "I=64,J=64,K=64,L=64")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[:3] == [REDUCE, second, "on v5e:4x4: 16 x TPU v5e"]


def test_run_of_a_scenario_whose_expectation_is_not_met(scenario: str) -> None:
    """4 hops of 1 us and 7/8 of 720 bytes over 2 links of 45 GB/s: 4.007 us, not 1 us."""
    result = command("run", scenario)
    assert result.code == 1
    assert result.err == (
        "expectation not met: simulated_seconds is 4.01 µs, expected at most 1 µs\n"
    )
    assert result.out.endswith(
        "Expectations\n"
        "  NOT MET: simulated_seconds is 4.01 µs, expected at most 1 µs\n"
        "  met: bound is latency, expected latency\n"
    )


def test_an_expectation_decides_the_exit_code_of_json_too(scenario: str) -> None:
    result = command("run", scenario, "--json")
    assert result.code == 1
    assert [entry["met"] for entry in json.loads(result.out)["expectations"]] == [False, True]


def test_options_reach_the_run() -> None:
    """The balanced ring takes 4 hops; one direction all 7, and as many 90-byte blocks of 2 ns.

    Floor model: each hop takes the larger of 1 us and 2 ns.
    """
    chosen = ("--algorithm", "one_direction", "--latency-model", "floor", "--mesh", "X=8")
    document = json.loads(command("run", *GATHER, *chosen, "--json").out)
    assert document["steps"][0]["algorithm"] == "one_direction"
    assert document["steps"][0]["simulated_seconds"] == 7e-6
    assert (document["latency_model"], document["mesh"]) == ("floor", {"X": 8})


def test_run_as_json() -> None:
    document = json.loads(command("run", *GATHER, "--json").out)
    assert document.keys() >= RUN_KEYS
    assert document["totals"].keys() >= TOTAL_KEYS
    assert document["result"] == {"text": "A[I]", "local_shape": [360], "bytes_per_chip": 720}
    assert (document["format"], document["topology"], document["chips"], document["mesh"]) == (
        "shardsim/run/1", "ring of 8", 8, {"X": 8},
    )  # fmt: skip
    (step,) = document["steps"]
    assert step == {
        "op": "all_gather",
        "text": "AllGather_X A[I_X] -> A[I]",
        "axes": ["X"],
        "algorithm": "balanced",
        "bytes": 720,  # 360 elements of 2 bytes
        "wire_bytes_per_chip": 630,  # 7/8 of them
        "flops_per_chip": 0,
        "hbm_bytes_per_chip": 0,
        "book_seconds": 4e-6,  # the larger of 8/2 hops and 720 B / 90 GB/s
        "exact_seconds": 4.007e-6,  # 4 hops and 630 B / 90 GB/s
        "relation": "equal",
        "book_formula": "max(V/2w, 4a)",
        "exact_formula": "7/8 V/2w + 4a",
        "simulated_seconds": 4.007e-6,
        "start_seconds": 0.0,
        "end_seconds": 4.007e-6,
        "exposed_seconds": 4.007e-6,
    }


def test_json_of_a_matmul() -> None:
    """64 x 16 by 16 x 64: 2 * 64 * 16 * 64 FLOPs, 2 * (1024 + 1024 + 4096) bytes."""
    document = json.loads(command("run", REDUCE, *OPTIONS, "--json").out)
    first, second = document["steps"]
    for step in (first, second):
        assert step.keys() >= STEP_KEYS | SIMULATED_KEYS
    assert (first["op"], first["flops_per_chip"], first["hbm_bytes_per_chip"]) == (
        "matmul", 131072, 12288,
    )  # fmt: skip
    assert (second["op"], second["bytes"], second["axes"]) == ("all_reduce", 8192, ["X"])


def test_json_of_links() -> None:
    """A ring of 8: each chip's two links carry half of 630 bytes, 16 links in all."""
    document = json.loads(command("run", *GATHER, "--json").out)
    assert document["links"]["used"] == 16
    busiest = document["links"]["busiest"]
    assert (busiest["bytes"], busiest["one_way_bandwidth_bytes_per_second"]) == (315, 45 * 10**9)
    assert busiest["utilization"] == document["links"]["mean_utilization"] <= 1
    assert document["advice"] == []
    alone = json.loads(command("run", "A[I] * B[J] -> C[I, J]", "--on", "v5e:1x1", "--dims",
                               "I=8,J=8", "--json").out)  # fmt: skip
    assert alone["links"] == {"used": 0, "busiest": None, "mean_utilization": 0.0}


def test_json_of_advice_and_devices() -> None:
    given = ("--on", "v5e:2x2", "--mesh", "X=4", "--dims", "I=16777216", "--json")
    order = ("--devices", "0,0 1,1 0,1 1,0")
    document = json.loads(command("run", "AllGather_X A[I_X]", *given, *order).out)
    assert document["devices"] == [[0, 0], [1, 1], [0, 1], [1, 0]]
    (advice,) = document["advice"]
    assert advice["step"] == 0
    assert advice["text"].startswith("X in the order given takes ")


def test_schedule_and_chunks_reach_the_run() -> None:
    given = ("AllGather_XY A[I_XY]", "--on", "v5e:16x16", "--dims", "I=1048576", "--json")
    names = [
        json.loads(command("run", *given, *more).out)["steps"][0]["algorithm"]
        for more in ((), ("--schedule", "sequential"), ("--chunks", "2"))
    ]
    assert names == [
        "rotated(balanced, balanced)",
        "sequential(balanced, balanced)",
        "rotated(balanced, balanced) in 2 chunks",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", *GATHER),
        ("collective", "ag", "--size", "4096", "--on", "v5e:4x4"),
        ("collective", "send", "--size", "8", "--on", "v5e:4x4", "--from", "0,0", "--to", "0,1"),
        ("run", REDUCE, *OPTIONS),
        ("run", "AllGather_X A[I_X] -> A[I]", "--on", "v5e:1x1", "--dims", "I=1"),
        ("plan", REDUCE, *OPTIONS),
        ("show", "v5p:2x2x4"),
    ],
)
def test_json_has_only_finite_numbers_and_whole_bytes(arguments: tuple[str, ...]) -> None:
    def refuse(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    result = command(*arguments, "--json")
    document = json.loads(result.out, parse_constant=refuse)
    assert numbers(document)

    def check(entry: Any) -> None:
        for key, value in entry.items() if isinstance(entry, dict) else ():
            if isinstance(value, int | float) and not key.endswith(FLOATS):
                assert isinstance(value, int), key
        for inner in entry.values() if isinstance(entry, dict) else entry:
            if isinstance(inner, dict | list):
                check(inner)

    check(document)


def test_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    result = command("run", *GATHER, "--trace", str(path))
    assert result.code == 0
    assert result.err == f"trace written to {path}; open it at ui.perfetto.dev\n"
    assert json.loads(path.read_text(encoding="utf-8"))["traceEvents"]


# plan and show


def test_plan() -> None:
    result = command("plan", REDUCE, *OPTIONS)
    assert (result.code, result.err) == (0, "")
    header = next(line for line in result.out.splitlines() if line.startswith("#"))
    assert header.split() == ["#", "step", "works", "on", "book", "exact"]
    assert f"\nWays to do {REDUCE}\n" in result.out


def test_plan_as_json() -> None:
    document = json.loads(command("plan", REDUCE, *OPTIONS, "--json").out)
    assert document["format"] == "shardsim/plan/1"
    for step in document["steps"]:
        assert step.keys() >= STEP_KEYS
        assert not step.keys() & SIMULATED_KEYS
    ways = document["alternatives"]
    assert [step["op"] for step in ways[0]["steps"]] == ["matmul", "all_reduce"]
    prices = [way["exact_seconds"] for way in ways]
    assert len(prices) > 1
    assert prices == sorted(prices)


def test_the_policy_changes_the_plan() -> None:
    """A is sharded over X on the contracted dimension: rule 2 gathers it, which is not cheapest."""
    line = "A[I, J_X] · B[J, K] -> C[I, K]"
    given = (line, "--on", "v5p:4x4x4", "--dims", "I=4096,J=4096,K=4096", "--json")
    ops = {
        policy: [step["op"] for step in json.loads(command("plan", *given, "--policy", policy).out)[
            "steps"
        ]]
        for policy in ("textbook", "cheapest")
    }  # fmt: skip
    assert ops["textbook"] == ["all_gather", "matmul"]
    assert ops["cheapest"] != ops["textbook"]


def test_show_of_a_slice() -> None:
    result = command("show", "v5e:8x4")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("v5e:8x4: 32 x TPU v5e\n")
    assert "x: line: v5e wraps a dimension only when it is 16 long; this one is 8\n" in result.out


def test_show_of_a_shipped_file() -> None:
    """4 x 16: 16 lines of 3 cables and 4 rings of 16, both directions: 96 + 128 links."""
    result = command("show", "mixed-4x16")
    assert result.code == 0
    assert "  together: 224 directed links\n" in result.out


def test_show_of_overrides_and_switches() -> None:
    """One slow cable is named; 4 nodes of 8: 32 GPUs have two ports of two ways each."""
    assert command("show", "slow-link-4x4").out.endswith(
        "Unlike the rest\n  chips (1, 2) and (2, 2), along x: 15 GB/s one way, 1 µs, each way\n"
    )
    out = command("show", "h100:4x8").out
    assert "  together: 128 ports (in and out) at 12 switches\n" in out
    assert "  gpu: the switch can add: algorithm in_network for AllReduce\n" in out
    assert "  error: within 4 % of the table" in command("show", "h100-measured:8").out


HOLED = """\
chip: v5e
dimensions:
  - {name: x, size: 3, kind: ring, bandwidth: 45 GB/s, latency: 1 us}
  - {name: y, size: 3, kind: ring, bandwidth: 45 GB/s, latency: 1 us}
overrides:
  - {chip: [1, 1], removed: true}
  - {from: [0, 0], to: [0, 1], latency: 3 us, one_way: true}
"""


def test_show_of_a_missing_chip(tmp_path: Path) -> None:
    """No default mesh lies over what is left. A chip has 4 links out, and 4 come in: 36 - 8."""
    path = tmp_path / "holed.yaml"
    path.write_text(HOLED, encoding="utf-8")
    result = command("show", str(path))
    assert (result.code, result.err) == (0, "")
    assert "holed: 8 x TPU v5e\n" in result.out
    assert "  together: 28 directed links\n" in result.out
    assert result.out.endswith(
        "Unlike the rest\n  no chip at (1, 1)\n"
        "  chip (0, 0) to (0, 1), along y: 45 GB/s one way, 3 µs\n"
    )


def test_show_of_a_port_that_differs(tmp_path: Path) -> None:
    path = tmp_path / "port.yaml"
    path.write_text(
        "chip: h100\ndimensions:\n"
        "  - {name: gpu, size: 4, kind: switch, bandwidth: 450 GB/s, latency: 1 us}\n"
        "overrides:\n  - {chip: [3], port: out, bandwidth: 25 GB/s}\n",
        encoding="utf-8",
    )
    assert command("show", str(path)).out.endswith(
        "  chip (3), gpu out port: 25 GB/s one way, 1 µs\n"
    )


def test_show_of_a_broken_ring() -> None:
    out = command("show", "broken-ring-of-8").out
    assert "  X: line: the link between chips (3) and (4) is missing, so the ring is" in out
    assert out.endswith("  chips (3) and (4), along x: missing, each way\n")


def test_show_of_a_mesh() -> None:
    given = ("show", "v5e:16x16", "--mesh", "X=64,Y=4", "--layout", "X=x+y:(4)4,Y=y:(1)4")
    out = command(*given).out
    assert "\nAxes\n  X: 16 chips, ring along x, " in out
    assert (
        "  Y: 4 chips, ring along y:(1)4, 45 GB/s one way, 1 µs a hop: 4 chips of y, 4 apart" in out
    )
    document = json.loads(command(*given, "--json").out)
    assert document["mesh"] == {"X": 64, "Y": 4}
    assert [len(axis["segments"]) for axis in document["axes"]] == [2, 1]
    assert document["axes"][1]["segments"][0]["hops_per_step"] == 4
    assert "mesh" not in json.loads(command("show", "v5e:16x16", "--json").out)


def test_show_as_json() -> None:
    document = json.loads(command("show", "v5e:8x16", "--json").out)
    assert document["chip"]["flops_per_second"] == {
        "bf16": 197 * 10**12, "int8": 394 * 10**12, "int4": 788 * 10**12,
    }  # fmt: skip
    assert [(d["size"], d["kind"]) for d in document["dimensions"]] == [(8, "line"), (16, "ring")]
    assert document["dimensions"][0]["one_way_bandwidth_bytes_per_second"] == 45 * 10**9


# streams and exit codes


def test_version() -> None:
    result = command("--version")
    assert (result.code, result.out, result.err) == (0, f"shardsim {shardsim.__version__}\n", "")


@pytest.mark.parametrize(
    "arguments", [("--help",), ("-h",), ("run", "--help"), ("compare", "-h"), ("show", "-h")]
)
def test_help(arguments: tuple[str, ...]) -> None:
    result = command(*arguments)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("Usage: shardsim ")
    assert max(map(len, result.out.splitlines())) <= 100


MACHINE = ["--topology", "--mesh", "--layout", "--devices"]
ARRAYS = ["--dims", "--dtype"]
METHOD = ["--algorithm", "--schedule", "--chunks", "--latency-model"]
MATMULS = ["--algorithm", "--schedule", "--chunks", "--tile", "--repeat", "--latency-model"]
LINKS = ["--efficiency", "--launch-overhead"]
CHOICES = ["--policy", "--objective", "--idle-axes", "--uneven", *MATMULS, *LINKS]
TIMING = ["--overlap", "--form", "--prefetch", "--compute-slowdown"]
FOREIGN = ["--from", "--einsum"]
PICTURE = ["--svg", "--png"]
ASKED = ["--shift", "--root", "--from", "--to", "--ways"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (
            "run",
            [
                *MACHINE,
                *ARRAYS,
                *TIMING,
                *CHOICES,
                "--strategy",
                "--trace",
                *PICTURE,
                *FOREIGN,
                "--json",
            ],
        ),
        ("plan", [*MACHINE, *ARRAYS, *CHOICES, "--strategy", *FOREIGN, "--json"]),
        ("compare", [*MACHINE, *ARRAYS, *TIMING, *CHOICES, "--over", *PICTURE, "--json"]),
        (
            "collective",
            [
                "--size",
                *MACHINE,
                "--axes",
                *METHOD,
                *ASKED,
                *LINKS,
                "--sizes",
                *PICTURE,
                "--json",
            ],
        ),
    ],
)
def test_the_options_that_help_lists_in_order(name: str, options: list[str]) -> None:
    """Those that commands share stand where they would if each command named them."""
    lines = command(name, "--help").out.splitlines()
    listed = [line.split()[0].rstrip(",") for line in lines if line.startswith("  -")]
    assert listed == [*options, "-h"]


def test_a_fault_of_the_simulation_is_not_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> None:
        raise SimulationError("deadlock", ("chip (0,) waits",))

    monkeypatch.setattr("shardsim.comparison.run_scenario", fails)
    result = command("run", *GATHER)
    assert (result.code, result.out) == (1, "")
    assert result.err == "error: deadlock\n  chip (0,) waits\n"


def test_a_note_while_many_chips_are_simulated() -> None:
    given = ("AllGather_X A[I_X] -> A[I]", "--on", "v4:8x8x8", "--dims", "I=8", "--json")
    on_terminal = command("run", *given, terminal=True)
    assert "simulating 512 chips" in on_terminal.err
    assert json.loads(on_terminal.out)["chips"] == 512
    assert command("run", *given).err == ""


def test_a_stream_without_unicode() -> None:
    """µ is written u, and · as *, which can be read back; JSON is escaped, not changed."""
    result = command("run", REDUCE, *OPTIONS, encoding="ascii")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("A[I, J_X] * B[J_X, K] -> C[I, K]\n")
    assert " 1 us a hop" in result.out
    document = json.loads(command("run", REDUCE, *OPTIONS, "--json", encoding="ascii").out)
    assert document["name"] == REDUCE
    assert command("run", "ΔΨ[I", *OPTIONS, encoding="ascii").err.splitlines()[2] == "    | d?[I"


def test_the_same_in_a_process_of_its_own() -> None:
    arguments = ("-m", "shardsim", "run", REDUCE, *OPTIONS)
    result = process(*arguments, environment={"PYTHONIOENCODING": "ascii"})
    assert (result.code, result.err) == (0, "")
    assert result.out.isascii()
    assert "memory per chip" in result.out


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_reader_that_has_gone_is_no_fault(form: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = process("-m", "shardsim", "run", *GATHER, *form, stdout=writer)
    finally:
        os.close(writer)
    assert (result.code, result.err) == (0, "")


def failing(error: OSError, path: Path) -> io.TextIOWrapper:
    """A stdout that cannot be written, over a real file."""

    class Failing(io.TextIOWrapper):
        def write(self, text: str) -> int:
            if text:
                raise error
            return 0

    return Failing(path.open("wb"), encoding="utf-8")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError(errno.ENOSPC, "no space"), 2, "error: cannot write the output: no space\n"),
        (BrokenPipeError(errno.EPIPE, "broken pipe"), 0, ""),
    ],
)
def test_a_stdout_that_cannot_be_written(
    error: OSError,
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["shardsim", "show", "v5e:4x4"])
    with (
        failing(error, tmp_path / "out") as stream,
        redirect_stdout(stream),
        pytest.raises(SystemExit) as left,
    ):
        main()
    assert left.value.code == code
    assert capsys.readouterr().err == message


def test_other_streams_than_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["shardsim", "--version"])
    with redirect_stdout(io.StringIO()) as stream, pytest.raises(SystemExit) as left:
        main()
    assert (left.value.code, stream.getvalue()) == (0, f"shardsim {shardsim.__version__}\n")
