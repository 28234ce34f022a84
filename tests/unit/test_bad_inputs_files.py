"""Bad files: what each is told, and where. No file may end in anything but an input error."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardsim.catalogue import find_topology
from shardsim.errors import InputErrors, ShardsimError
from shardsim.scenario import load_scenario

SCENARIO = """\
name: a good one
topology: v5e:4x4
mesh: {X: 4, Y: 4}
dims: {I: 8192, J: 8192, K: 8192}
dtype: bf16
program:
  - A[I, J_X] · B[J, K_Y] -> C[I, K_Y]
expect: {simulated_seconds: {max: 1.5 ms}}
"""
TOPOLOGY = """\
name: mine
chip: v5e
dimensions:
  - {name: x, size: 4, kind: line, bandwidth: 45 GB/s}
  - {name: y, size: 16, kind: ring, bandwidth: 45 GB/s}
"""

# what is replaced, by what, the first line of the message, line:column
SCENARIOS = [
    (
        "mesh:",
        "mseh:",
        "unknown key 'mseh' in the scenario; allowed: topology, mesh",
        "3:1",
    ),
    ("name:", "sweep:", "'sweep' in the scenario is not supported yet", "1:1"),
    ("name: a good one", "name: [a]", "name must be text; it is a list", "1:7"),
    ("dims: {I: 8192, J: 8192, K: 8192}\n", "", "the scenario has no key 'dims'", "1:1"),
    (
        "{I: 8192, J: 8192, K: 8192}",
        "",
        "dims must be a mapping such as {I: 8192}, not nothing",
        "4:1",
    ),
    ("{I: 8192, J: 8192, K: 8192}", "[8192]", "dims must be a mapping such as", "4:7"),
    ("J: 8192", "J: nan", "dimension J must be a whole number, 1 or more; it is 'nan'", "4:20"),
    ("J: 8192", "J: -1", "dimension J must be a whole number, 1 or more; it is '-1'", "4:20"),
    ("J: 8192", "J: 1e400", "dimension J must be a whole number, 1 or more; it is '1e400'", "4:20"),
    ("J: 8192", "J: 1.5", "dimension J must be a whole number, 1 or more; it is '1.5'", "4:20"),
    ("J: 8192", "J: true", "dimension J must be a whole number, 1 or more; it is 'true'", "4:20"),
    ("J: 8192", "J: 0", "dimension J must be from 1 to 1e18; it is 0", "4:20"),
    ("J: 8192", "J: " + "9" * 20, "dimension J must be from 1 to 1e18; it is 9999", "4:20"),
    ("J: 8192", "J: [1]", "dimension J must be a whole number, 1 or more; it is \"['1']\"", "4:20"),
    ("J: 8192", "J: ", "dimension J must be a whole number, 1 or more; it is ''", "4:17"),
    ("J: 8192", "J: 8190", "dimension J of extent 8190 is not divisible over axis X=4", "7:10"),
    ("J: 8192", "Z: 8192, J: 8192", "dimension Z has an extent but is in no statement", "4:17"),
    ("J: 8192, ", "", "dimension J has no extent", "7:10"),
    ("K: 8192", "I: 8192", "key 'I' is given twice, first in line 4", "4:26"),
    ("v5e:4x4", "v5x:4x4", "there is no chip 'v5x'; the catalogue has v2, v3", "2:11"),
    ("v5e:4x4", "v5e:4xx4", "a size is missing in 'v5e:4xx4'", "2:17"),
    ("v5e:4x4", "v5e:4x32", "v5e:4x32 is larger than a v5e pod (16x16)", "2:15"),
    ("v5e:4x4", "v5e", "chip v5e needs a shape", "2:11"),
    ("v5e:4x4", "absent.yaml", "there is no topology file 'absent.yaml'; shipped: a100", "2:11"),
    (
        "v5e:4x4",
        "mi325x:8",
        "the catalogue has no figures of the GPU 'mi325x'; its GPUs are",
        "2:11",
    ),
    ("v5e:4x4", "h100:16", "a node of h100 has 8 GPUs; h100:16 asks for 16 in one", "2:16"),
    ("v5e:4x4", "2*h100:8", "N*CHIP:SHAPE counts slices of TPUs; h100 comes in nodes", "2:11"),
    ("v5e:4x4", "v5e:4x4_twisted", "a twisted torus is not supported: it joins the ends", "2:18"),
    ("dtype: bf16", "efficiency: 1.1", "efficiency: 1.1 must be more than 0 and at most 1", "5:13"),
    ("dtype: bf16", "efficiency: ''", "efficiency: '' is not a number", "5:14"),
    ("dtype: bf16", "launch_overhead: 5", "launch_overhead: 5 s is too long to be meant", "5:18"),
    (
        "dtype: bf16",
        "matmul_efficiency: 1",
        "'matmul_efficiency' in the scenario is not sup",
        "5:1",
    ),
    ("v5e:4x4", "[v5e]", "topology must be CHIP:SHAPE, a YAML file or a mapping, not a", "2:11"),
    ("v5e:4x4", "{chip: v5e}", "the topology has no key 'dimensions'", "2:1"),
    ("{X: 4, Y: 4}", "{X: 4, Y: 3}", "the mesh X=4, Y=3 has 4 x 3 = 12 chips", "3:7"),
    ("{X: 4, Y: 4}", "{X: 4, y1: q}", "axis y1 must be a whole number, 1 or more", "3:18"),
    ("bf16", "bf17", "'bf17' is no dtype; known: f64, f32", "5:8"),
    (
        "bf16",
        "{Q: bf16}",
        "dtype names 'Q', which no line of the program has; it has A, B, C",
        "5:9",
    ),
    ("dtype: bf16", "overlap: sometimes", "overlap must be one of none, async, decomp", "5:10"),
    ("A[I,", "A[I_X,", "axis X is used twice in A[I_X, J_X]", "7:14"),
    (
        "A[I, J_X] ·",
        "A: bf16[I, J_X] ·",
        "a line of the program must be text, not a mapping",
        "7:5",
    ),
    ("[J, K_Y] ->", "[J, K_Y ->", "expected ',' or ']' to close the dimensions of B", "7:26"),
    ("K_Y]\nexpect", "K_Z]\nexpect", "axis Z is not in the mesh; the mesh has X, Y", "7:35"),
    ("max", "most", "simulated_seconds must have min, max or both, not most", "8:29"),
    ("1.5 ms", "1.5 GB", "'GB' is not a unit of seconds; known: s, ms", "8:35"),
    ("simulated_s", "s", "expect has no quantity 'seconds'; it has simulated_seconds", "8:10"),
    ("{max: 1.5 ms}", "3", "simulated_seconds must have min, max or both, not '3'", "8:29"),
    ("max: 1.5 ms", "min: 2, max: 1", "min of simulated_seconds is more than its max", "8:29"),
    ("simulated_seconds: {max: 1.5 ms}", "bound: x", "bound must be one of compute, mem", "8:17"),
    ("name: a good", "\tname: a good", "not valid YAML: a tab in the indentation", "1:1"),
    ("name: a good", "name: a: good", "not valid YAML: a second ': ' in one line", "1:8"),
    ("{X: 4, Y: 4}", "{X: 4, Y: 4", "not valid YAML: expected ',' or '}', but got ':'", "4:5"),
    ("name: a good one", "--- 1\n---", "the file has more than one YAML document", "2:1"),
]

TOPOLOGIES = [
    ("chip: v5e\n", "", "the topology has no key 'chip'", "1:1"),
    ("v5e", "v5f", "there is no chip 'v5f'; the catalogue has v2", "2:7"),
    ("v5e", "{name: c}", "chip has no key 'flops_per_second'", "2:1"),
    ("size: 16", "size: 0", "dimensions[1].size must be from 1 to 1e18; it is 0", "5:21"),
    ("size: 16", "size: x", "dimensions[1].size must be a whole number, 1 or more", "5:21"),
    ("size: 16, ", "", "dimensions[1] has no key 'size'", "5:5"),
    ("size: 16", "size: 999999", "the topology has 3,999,996 chips; 1,000,000 are the", "3:1"),
    ("kind: ring", "kind: torus", "dimensions[1].kind must be one of ring, line, switch", "5:31"),
    ("ring,", "ring, reduces: true,", "reduces is for a switch that can add; dimension y", "5:46"),
    ("name: mine", "twisted: true", "a twisted torus is not supported: it joins the ends", "1:1"),
    ("name: mine", "twisted: false", "no topology is twisted here, so twisted says nothing", "1:1"),
    ("name: mine", "efficiency: 90", "efficiency: 90 must be more than 0 and at most 1", "1:13"),
    ("name: mine", "efficiency: 0 %", "efficiency: 0 % must be more than 0 and at most 1", "1:13"),
    ("name: mine", "efficiency: [1]", "efficiency: a list is not a share of the whole", "1:13"),
    ("name: mine", "launch_overhead: 5", "launch_overhead: 5 s is too long to be meant", "1:18"),
    ("name: mine", "overrides: {}", "overrides must be a list; it is a mapping", "1:12"),
    ("name: mine", "collectives: []", "collectives must be a mapping of keys and values", "1:14"),
    ("45 GB/s}\n  - {name: y", "45 GB}\n  - {name: y", "dimensions[0].bandwidth: 'GB' is", "4:47"),
    ("ring,", "ring, twisted: 1,", "unknown key 'twisted' in dimensions[1]; allowed", "5:37"),
    ("ring,", "ring, links: 2,", "links: 2 is for a ring of 2 chips; dimension y is", "5:44"),
    ("ring,", "ring, latency: -1 us,", "dimensions[1].latency: -1 us must be 0 or more", "5:46"),
    ("name: y", "name: x", "two dimensions are named x", "5:12"),
    ("name: y", "name: 2y", "dimensions[1].name: '2y' cannot be the name of a dim", "5:12"),
    ("dimensions:", "dimension:", "the topology has no key 'dimensions'", "1:1"),
]

FILES = [
    (b"", "f.yaml is empty", "1:1"),
    (b"# nothing\n", "f.yaml is empty", "1:1"),
    (b"\x00\x01\x02", "f.yaml is not a text file: it has the character U+0000", "1:1"),
    (b"\x7fELF\xff", "f.yaml is not a UTF-8 text file: it has the byte 0xff", "1:5"),
    (b"- name: x\n", "f.yaml must hold a mapping of keys and values, not a list", "1:1"),
    (b"hello\n", "f.yaml must hold a mapping of keys and values, not 'hello'", "1:1"),
    (b"a: &a [*a]\n", "the alias *a stands for nothing that is complete before it", "1:8"),
    (b"a: " + b"[" * 10_000, "values are nested more than 30 deep", "1:34"),
]


def check(error: ShardsimError, origin: str, message: str, place: str) -> None:
    """The first fault is the one that is looked for, with a caret."""
    first = error.errors[0] if isinstance(error, InputErrors) else error
    shown = str(first).splitlines()
    assert shown[0].startswith(message)
    assert shown[1] == f"  --> {origin}:{place}"
    assert shown[3].strip("| ").startswith("^")


@pytest.mark.parametrize(("old", "new", "message", "place"), SCENARIOS)
def test_bad_scenarios(
    old: str, new: str, message: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert old in SCENARIO
    monkeypatch.chdir(tmp_path)
    Path("f.yaml").write_text(SCENARIO.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ShardsimError) as caught:
        load_scenario("f.yaml")
    check(caught.value, "f.yaml", message, place)


@pytest.mark.parametrize(("old", "new", "message", "place"), TOPOLOGIES)
def test_bad_topologies(
    old: str, new: str, message: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert old in TOPOLOGY
    monkeypatch.chdir(tmp_path)
    Path("f.yaml").write_text(TOPOLOGY.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ShardsimError) as caught:
        find_topology("f.yaml")
    check(caught.value, "f.yaml", message, place)


@pytest.mark.parametrize(("content", "message", "place"), FILES)
def test_bad_files(
    content: bytes, message: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.yaml").write_bytes(content)
    for read in (load_scenario, find_topology):
        with pytest.raises(ShardsimError) as caught:
            read("f.yaml")
        check(caught.value, "f.yaml", message, place)


def test_files_that_are_none(tmp_path: Path) -> None:
    for path, message in [
        (tmp_path, "is a directory, not a file"),
        (tmp_path / "absent.yaml", "there is no file"),
        (tmp_path / ("x" * 300), "cannot read"),
    ]:
        with pytest.raises(ShardsimError, match=message):
            load_scenario(path)


def test_several_lines_of_a_program_are_told_together(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    two = "  - A[I\n  - B[J, K_Y] ·· C[I]\n"
    text = SCENARIO.replace("  - A[I, J_X] · B[J, K_Y] -> C[I, K_Y]\n", two).replace(
        "v5e:4x4", "x:4"
    )
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputErrors) as caught:
        load_scenario(path)
    lines = [error.place.line for error in caught.value.errors if error.place]
    assert lines == [2, 7, 8]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    content = (SCENARIO + "topology: {" + TOPOLOGY).encode()
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(start + 20, len(content))))
    noise = data.draw(st.binary(max_size=4) | st.text("{}[]:,&*!|>'\"#-?% \t\n", max_size=6))
    path = tmp_path / "damaged.yaml"
    middle = noise if isinstance(noise, bytes) else noise.encode()
    path.write_bytes(content[:start] + middle + content[end:])
    for read in (load_scenario, find_topology):
        try:
            read(path)
        except ShardsimError as error:
            str(error).encode()
