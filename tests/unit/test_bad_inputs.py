"""Bad input on the command line: exit code 2, a message that names the place, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.command_line import Result, command

LINE = "A[I, J_X] · B[J_X, K] -> C[I, K]"
ON = ("--on", "v5e:4x4")
DIMS = ("--dims", "I=64,J=64,K=64")
GOOD = """\
topology: v5e:4x4
mesh: {X: 4, Y: 4}
dims: {I: 64, J: 64, K: 64}
program:
  - A[I, J_X] · B[J, K] -> C[I, K]
"""

# the line of notation, what the first line of the message starts with, line:column
NOTATION = [
    ("A[I, J_X · B[J_X, K] -> C[I, K]", "expected ',' or ']' to close the dimensions of A", 10),
    ("A[I_X, J_X] · B[J, K] -> C[I, K]", "axis X is used twice in A[I_X, J_X]", 10),
    ("A[I, J] · B[J, L] -> C[I, K]", "dimension K of the result C[I, K] is in no operand", 27),
    ("AllGathr_X A[I_X, J, K]", "there is no collective 'AllGathr'", 1),
    ("A[Iₓ, J] · B[J, K] -> C[I, K]", "'ₓ' is a Unicode subscript", 4),
    ("AllGather_X A[I, J, K]", "AllGather_X: A[I, J, K] is not sharded over X", 1),
    ("A[I, J_Q] · B[J, K] -> C[I, K]", "axis Q is not in the mesh; the mesh has X, Y", 6),
    ("hello", "expected '[' after hello, found the end", 6),
    ("x" * 5000, "expected '[' after xxxx", 5001),
    ("", "the program has no lines", 1),
    ("# a comment", "the program has no lines", 1),
    (
        "A[I_Y, J_X] ·_LOCAL B[J_Y, K] -> C[I_Y, K]",
        "A[I_Y, J_X] ·_LOCAL B[J_Y, K] -> C[I_Y, K] cannot be done locally",
        1,
    ),
]

# options beside `LINE`, the message, origin:line:column ("" where the place is an option's absence)
OPTIONS = [
    ((*ON,), "--dims is missing; a line of notation needs it", ""),
    ((*DIMS,), "--topology is missing; a line of notation needs it", ""),
    ((*ON, "--dims", ""), "no dimension is given", "--dims:1:1"),
    ((*ON, "--dims", "I=64,J=64"), "dimension K has no extent", "expression:1:20"),
    ((*ON, *DIMS, "--mesh", "X=4"), "the mesh X=4 has 4 chips, but v5e:4x4 has 16", "--mesh:1:1"),
    ((*ON, *DIMS, "--mesh", "X=4;Y=4"), "expected one NAME=NUMBER for the axis", "--mesh:1:1"),
    ((*DIMS, "--on", "v5e:6x4", "--mesh", "X=8,Y=3"), "the mesh X=8, Y=3 does not", "--mesh:1:1"),
    ((*ON, *DIMS, "--layout", "X=x,Y=x"), "axis Y of size 4 does not fit on x", "--layout:1:1"),
    ((*ON, *DIMS, "--layout", "X=x,Y=y:(2)4"), "layout of axis Y: y:(2)4 is no", "--layout:1:1"),
    ((*ON, *DIMS, "--layout", "X=ring,Y=y"), "layout ring is for one axis over", "--layout:1:1"),
    ((*ON, *DIMS, "--devices", "0,0 0,7"), "v5e:4x4 (4x4) has no chip 0,7", "--devices:1:5"),
    ((*ON, *DIMS, "--devices", "0,0"), "devices leaves out 15 of 16 chips", "--devices:1:1"),
    ((*ON, *DIMS, "--schedule", "x"), "schedule must be one of rotated", "--schedule:1:1"),
    ((*ON, *DIMS, "--chunks", "0"), "chunks must be from 1 to 1e18; it is 0", "--chunks:1:1"),
    ((*ON, *DIMS, "--chunks", "5000"), "chunks must be 4,096 at most; it is", "--chunks:1:1"),
    ((*ON, *DIMS, "--efficiency", "2"), "efficiency: 2 must be more than 0", "--efficiency:1:1"),
    ((*ON, *DIMS, "--launch-overhead", "9"), "launch_overhead: 9 s is", "--launch-overhead:1:1"),
    (
        (*DIMS, "--on", "h100:8", "--algorithm", "balanced"),
        "algorithm balanced needs a ring, and no axis of the mesh is one: X (8 GPUs behind an",
        "--algorithm:1:1",
    ),
    ((*ON, *DIMS, "--mesh", "P=4,Q=4"), "axis X is not in the mesh", "expression:1:6"),
    ((*ON, *DIMS, "--mesh", "X=nan,Y=4"), "axis X must be a whole number", "--mesh:1:3"),
    ((*ON, *DIMS, "--layout", "X=q"), "layout puts axis X on dimension q", "--layout:1:1"),
    ((*DIMS, "--on", "v9:4x4"), "there is no chip 'v9'; the catalogue has", "--topology:1:1"),
    ((*DIMS, "--on", "v5e:32x32"), "v5e:32x32 is larger than a v5e pod (16", "--topology:1:5"),
    ((*DIMS, "--on", "v5e"), "chip v5e needs a shape", "--topology:1:1"),
    ((*DIMS, "--on", "v5e:4x-4"), "a size of the shape must be a whole num", "--topology:1:7"),
    ((*DIMS, "--on", "v5e:0x4"), "a size of the shape must be from 1 to 1e18", "--topology:1:5"),
    ((*DIMS, "--on", "v5e:4x4x4"), "v5e:4x4x4 has 3 dimensions; v5e slices", "--topology:1:5"),
    ((*DIMS, "--on", "mi325x:8"), "the catalogue has no figures of the GPU", "--topology:1:1"),
    ((*DIMS, "--on", "h100:16"), "a node of h100 has 8 GPUs; h100:16 asks", "--topology:1:6"),
    ((*DIMS, "--on", "2*v4:4x4x4"), "the catalogue has no figure for the net", "--topology:1:6"),
    ((*DIMS, "--on", "v4:4x4x8_twisted"), "a twisted torus is not supported", "--topology:1:9"),
    ((*DIMS, "--on", ""), "the topology is empty", "--topology:1:1"),
    ((*DIMS, "--on", "nope.yaml"), "there is no topology file 'nope.yaml'", "--topology:1:1"),
    ((*DIMS, "--on", "folder"), "folder is a directory, not a topology file", "--topology:1:1"),
    ((*ON, *DIMS, "--dtype", "f33"), "'f33' is no dtype; known: f64, f32", "--dtype:1:1"),
    ((*ON, *DIMS, "--dtype", "f32"), "chip v5e has no peak FLOP/s for f32", "expression:1:1"),
    ((*ON, *DIMS, "--overlap", "maybe"), "overlap must be one of none, async", "--overlap:1:1"),
    ((*ON, *DIMS, "--policy", "best"), "policy must be one of textbook", "--policy:1:1"),
    ((*ON, *DIMS, "--objective", ""), "objective must be one of time, bytes", "--objective:1:1"),
    ((*ON, *DIMS, "--latency-model", "x"), "latency_model must be one of", "--latency-model:1:1"),
    ((*ON, *DIMS, "--algorithm", "tree"), "algorithm must be one of balanced", "--algorithm:1:1"),
    (
        (*DIMS, "--on", "v5e:16x16", "--algorithm", "line"),
        "algorithm line needs a line, and no axis of the mesh is one: X (v5e wraps a dimension",
        "--algorithm:1:1",
    ),
    (
        (*ON, *DIMS, "--algorithm", "balanced"),
        "algorithm balanced needs a ring, and no axis of the mesh is one: X (v5e wraps",
        "--algorithm:1:1",
    ),
    ((*ON, *DIMS, "--trace", "nowhere/t.json"), "cannot write the trace to 'nowhere/t.json'", ""),
    ((*ON, *DIMS, "--trace", "folder"), "cannot write the trace to 'folder': it is a folder", ""),
]

# the extent of J, the message, line:column
EXTENTS = [
    ("nan", "dimension J must be a whole number, 1 or more; it is 'nan'", "--dims:1:8"),
    ("inf", "dimension J must be a whole number, 1 or more; it is 'inf'", "--dims:1:8"),
    ("-1", "dimension J must be a whole number, 1 or more; it is '-1'", "--dims:1:8"),
    ("1e400", "dimension J must be a whole number, 1 or more; it is '1e400'", "--dims:1:8"),
    ("1.5", "dimension J must be a whole number, 1 or more; it is '1.5'", "--dims:1:8"),
    ("0", "dimension J must be from 1 to 1e18; it is 0", "--dims:1:8"),
    ("9" * 30, "dimension J must be from 1 to 1e18; it is 9999", "--dims:1:8"),
    ("0x40", "dimension J must be a whole number, 1 or more; it is '0x40'", "--dims:1:8"),
    ("66", "dimension J of extent 66 is not divisible over axis X=4", "expression:1:6"),
    ("64,J=64", "dimension J is given twice", "--dims:1:11"),
    ("64,Z=8", "dimension Z has an extent but is in no statement", "--dims:1:11"),
]

# a scenario file, the message, where
FILES = [
    (b"", "f.yaml is empty", "f.yaml:1:1"),
    (b"\x7fELF\xff\x00", "f.yaml is not a UTF-8 text file: it has the byte 0xff", "f.yaml:1:5"),
    (b"a: " + b"[" * 10**5, "values are nested more than 30 deep", "f.yaml:1:34"),
    (b"name: a\nname: b\n", "key 'name' is given twice, first in line 1", "f.yaml:2:1"),
    (b"name: [a\n", "not valid YAML: expected ',' or ']'", "f.yaml:1:9"),
    (GOOD.replace("mesh", "mehs").encode(), "unknown key 'mehs' in the scenario", "f.yaml:2:1"),
    (GOOD.replace("J: 64", "J: 1e400").encode(), "dimension J must be a whole", "f.yaml:3:18"),
    (GOOD.replace("J: 64", "J: .nan").encode(), "dimension J must be a whole", "f.yaml:3:18"),
    (GOOD.replace("I: 64", "I: 63, Q: 1").encode(), "dimension Q has an", "f.yaml:3:15"),
    (GOOD.replace("J_X] ·", "J_X ·").encode(), "expected ',' or ']' to close", "f.yaml:5:14"),
    (GOOD.replace("4x4", "4x99").encode(), "v5e:4x99 is larger than a v5e pod", "f.yaml:1:15"),
    ((GOOD + "overlap: x\n").encode(), "overlap must be one of none, async", "f.yaml:6:10"),
    ((GOOD + "algorithm: balanced\n").encode(), "algorithm balanced needs a", "f.yaml:6:12"),
    (
        (GOOD + "matmul_efficiency: 0.8\n").encode(),
        "'matmul_efficiency' in the scenario is not supported yet",
        "f.yaml:6:1",
    ),
]

# arguments, the message; without a place, since the fault is in no text
WHOLE_COMMANDS = [
    (("run", "absent.yaml"), "error: there is no file absent.yaml"),
    (("run", "absent"), "error: there is no file absent"),
    (("run", "folder"), "error: folder is a directory, not a file"),
    (("run", "x" * 5000), "error: there is no file xxxx"),
    (("run", LINE + "," * 5000), "error: expected a dot, '->' or the end, found ','"),
    (("run", LINE), "error: --topology is missing; a line of notation needs it"),
    (("run", "f.yaml", "--mesh", "X=4"), "error: the mesh X=4 has 4 chips, but v5e:4x4 has 16"),
    (("run", "f.yaml", "--policy", "best"), "error: policy must be one of textbook, cheapest"),
    (
        ("run", "3-all-reduce", *ON, "--dims", "I=64"),
        "error: the mesh X=16, Y=16 has 16 x 16 = 256 chips",
    ),
    (("run", "A[I_X"), "error: expected ',' or ']' to close the dimensions of A"),
    (
        ("run", "A: int8[I] * B[I] -> C[I]", *ON, "--dims", "I=64", "--dtype", "A=bf16"),
        "error: A is int8 in the notation, and bf16 by dtype",
    ),
    (("run", "3-all-reduc"), "error: there is no file 3-all-reduc; shipped: 1-no-communication"),
    (("run", LINE, *ON, "--dims", "I=64", "J=64"), "error: J=64 is no statement"),
    (("run", "f.yaml", "f.yaml"), "error: 2 arguments, and one of them is the file f.yaml"),
    (("run", LINE, "f.yaml", *ON), "error: 2 arguments, and one of them is the file f.yaml"),
    (("show", "v5e:17x17"), "error: v5e:17x17 is larger than a v5e pod (16x16)"),
    (("show", "folder"), "error: folder is a directory, not a topology file"),
    (("show", ""), "error: the topology is empty"),
    (("plan", "-> C", *ON), "error: a statement cannot begin with '->'"),
    (("run", "A[I] * B[I]", "->", "C[]", *ON), "error: a statement cannot begin with '->'"),
    (("run",), "Usage: shardsim run"),
    (("run", LINE, *ON, *DIMS, "--frobnicate"), "Usage: shardsim run"),
    (("plan", LINE, *ON, *DIMS, "--overlap", "none"), "Usage: shardsim plan"),
    (("frobnicate",), "Usage: shardsim"),
]


def check(result: Result, message: str, place: str = "") -> None:
    """Refused as bad input, in these words, at this place, with a caret under it."""
    assert (result.code, result.out) == (2, "")
    assert "Traceback" not in result.err
    lines = result.err.splitlines()
    if lines[0].endswith(" faults:"):
        lines = lines[2:]
    assert lines[0].removeprefix("error: ").startswith(message)
    if place:
        assert lines[1] == f"  --> {place}"
        assert lines[3].strip("| ").startswith("^")


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("f.yaml").write_text(GOOD, encoding="utf-8")


def test_what_is_varied_here_is_good() -> None:
    assert command("run", LINE, *ON, *DIMS).code == 0
    assert command("run", "f.yaml").code == 0


@pytest.mark.parametrize(("text", "message", "column"), NOTATION)
def test_notation(text: str, message: str, column: int) -> None:
    check(command("run", text, *ON, *DIMS), message, f"expression:1:{column}")


@pytest.mark.parametrize(("options", "message", "place"), OPTIONS)
def test_options(options: tuple[str, ...], message: str, place: str) -> None:
    check(command("run", LINE, *options), message, place)


@pytest.mark.parametrize(("extent", "message", "place"), EXTENTS)
def test_extents(extent: str, message: str, place: str) -> None:
    check(command("plan", LINE, *ON, "--dims", f"I=64,J={extent},K=64"), message, place)


@pytest.mark.parametrize(("content", "message", "place"), FILES)
def test_scenario_files(content: bytes, message: str, place: str) -> None:
    Path("f.yaml").write_bytes(content)
    check(command("run", "f.yaml"), message, place)


@pytest.mark.parametrize(("arguments", "message"), WHOLE_COMMANDS)
def test_whole_commands(arguments: tuple[str, ...], message: str) -> None:
    result = command(*arguments)
    assert result.err.startswith(message)
    check(result, message.removeprefix("error: "))


def test_arrays_beyond_all_memory() -> None:
    dims = "I=1000000000000000000,J=1000000000000000000,K=1"
    check(
        command("run", "A[I, J] · B[J, K] -> C[I, K]", *ON, "--dims", dims),
        "A[I, J] has more than 1e30 elements",
        "expression:1:1",
    )


def test_all_faults_are_told_at_once() -> None:
    result = command("run", "A[I", "--on", "v9:1", "--dims", "I=x")
    places = [line for line in result.err.splitlines() if line.startswith("  --> ")]
    assert places == ["  --> --topology:1:1", "  --> --dims:1:3", "  --> expression:1:4"]


# junk

WORDS = [
    "A[I, J_X]", "·", "->", "AllGather_X", "{U_X}", "v5e:", "4x4", "X=4", "=", ",", "[", "]", "{",
    ":", "\n", "  - ", "1e400", "nan", "I=64", "program", "#", "\t", "&a", "*a",
]  # fmt: skip
junk = st.one_of(
    st.text(max_size=20),
    st.lists(st.sampled_from(WORDS), max_size=8).map("".join),
)
quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def check_junk(result: Result) -> None:
    assert result.code in {0, 1, 2}
    assert "Traceback" not in result.err
    assert (result.code == 0) is bool(result.out) is not bool(result.err)


@quick
@given(junk.map(lambda text: text.lstrip("-")))
@example("\0")
@example("\udcff")
@example("/")
def test_junk_as_an_expression(text: str) -> None:
    check_junk(command("run", text, *ON, *DIMS))
    check_junk(command("plan", f"A[I, J] · B[J, K] -> C[I, K]{text}", *ON, *DIMS))


@quick
@given(st.sampled_from(["--mesh", "--layout", "--dims", "--on", "--dtype"]), junk)
@example("--on", "\0")
@example("--dims", "\udcff")
def test_junk_as_an_option(option: str, text: str) -> None:
    given = {"--on": "v5e:4x4", "--dims": "I=64,J=64,K=64", option: text}
    check_junk(command("run", LINE, *(f"{name}={value}" for name, value in given.items())))


@quick
@given(junk, st.booleans())
def test_junk_as_a_scenario_file(text: str, after: bool) -> None:
    Path("junk.yaml").write_bytes((GOOD * after + text).encode(errors="surrogatepass"))
    check_junk(command("run", "junk.yaml"))


@quick
@given(junk)
def test_junk_as_a_topology_to_show(text: str) -> None:
    check_junk(command("show", "--", text))
