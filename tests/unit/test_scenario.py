"""Scenarios from files and from Python."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from shardsim import comparison
from shardsim.catalogue import find_topology
from shardsim.comparison import runs
from shardsim.errors import InputError, InputErrors, ScenarioError, ShardsimError
from shardsim.notation import parse
from shardsim.program import Options
from shardsim.scenario import Expectation, Scenario, expectations, load_scenario, make_scenario
from shardsim.vocabulary import (
    Algorithm,
    Dtype,
    LatencyModel,
    Objective,
    Overlap,
    Policy,
    Schedule,
)

LINE = "A[I, J_X] · B[J_X, K] -> C[I, K]"
SIZES = {"I": 64, "J": 64, "K": 64}

FULL = """\
name: everything
topology: v5e:4x4
mesh: {X: 4, Y: 4}
layout: {X: y, Y: x}
dims: {I: 8192, J: 8_192, K: 8192}
dtype: {A: int8, default: bf16}
overlap: none
latency_model: floor
algorithm: line
schedule: sequential
chunks: 2
efficiency: 90 %
launch_overhead: 5 us
policy: cheapest
objective: bytes
program:
  - A[I, J_X] · B[J, K_Y] -> C[I, K_Y]
  - AllGather_Y C[I, K_Y] -> D[I, K]
expect:
  simulated_seconds: {min: 0, max: 1.5 ms}
  peak_memory_bytes_per_chip: {max: 16 GB}
  overlap_fraction: {min: 0.25}
  bound: communication
"""

SHORT = """\
topology: v5e:4x4
dims: I=64,J=64,K=64
program: A[I, J_X] · B[J_X, K] -> C[I, K]
"""


def load(folder: Path, text: str) -> Scenario:
    """The scenario of a text in a file."""
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return load_scenario(path)


def test_a_file_with_every_key(tmp_path: Path) -> None:
    scenario = load(tmp_path, FULL)
    program = scenario.program
    assert scenario.name == "everything"
    assert [str(statement) for statement in program.statements] == [
        "A[I, J_X] · B[J, K_Y] -> C[I, K_Y]",
        "AllGather_Y C[I, K_Y] -> D[I, K]",
    ]
    assert program.extents == (("I", 8192), ("J", 8192), ("K", 8192))
    assert {axis.name: axis.where for axis in program.mesh.axes} == {"X": "y", "Y": "x"}
    assert program.dtypes.by_name == (("A", Dtype.INT8),)
    assert program.dtypes.default is Dtype.BF16
    assert scenario.options == Options(
        overlap=Overlap.NONE,
        latency_model=LatencyModel.FLOOR,
        algorithm=Algorithm.LINE,
        schedule=Schedule.SEQUENTIAL,
        chunks=2,
        policy=Policy.CHEAPEST,
        objective=Objective.BYTES,
    )
    calibration = program.mesh.topology.calibration
    assert calibration.efficiency == Fraction(9, 10)
    assert calibration.launch_overhead == Fraction(5, 10**6)
    assert scenario.expectations == (
        Expectation(quantity="simulated_seconds", low=Fraction(0), high=Fraction(3, 2000)),
        Expectation(quantity="peak_memory_bytes_per_chip", high=Fraction(16 * 10**9)),
        Expectation(quantity="overlap_fraction", low=Fraction(1, 4)),
        Expectation(quantity="bound", word="communication"),
    )


def test_a_short_file(tmp_path: Path) -> None:
    scenario = load(tmp_path, SHORT)
    assert scenario.name == "case"
    assert scenario.options == Options()
    assert scenario.program.mesh.sizes == {"X": 4, "Y": 4}
    assert scenario.program.dtypes.default is Dtype.BF16
    assert scenario.expectations == ()


RING = """\
topology: v5e:2x2
mesh: {X: 4}
dims: {I: 64}
program: AllGather_X A[I_X]
"""


@pytest.mark.parametrize(
    "devices",
    ["[[0, 0], [0, 1], [1, 1], [1, 0]]", '["0,0", "0,1", "1,1", "1,0"]', "0,0 0,1 1,1 1,0"],
)
def test_devices_of_a_file(tmp_path: Path, devices: str) -> None:
    mesh = load(tmp_path, f"{RING}devices: {devices}\n").program.mesh
    assert mesh.order == ((0, 0), (0, 1), (1, 1), (1, 0))
    assert mesh.axis("X").segments[0].reason.startswith("in the order given each chip is next to")


@pytest.mark.parametrize(
    ("devices", "message", "place"),
    [
        ("[[0, 0], [0, 2], [1, 1], [1, 0]]", "v5e:2x2 (2x2) has no chip 0,2", "5:19"),
        (
            "[[0, 0], [0, 1, 0]]",
            "a chip of v5e:2x2 (2x2) has 2 coordinates, and 0,1,0 has 3",
            "5:1",
        ),
        ("[[0, 0], [0, 1], [1, 1]]", "devices leaves out 1 of 4 chips, such as [1, 0]", "5:10"),
        ("[[0, 0], [a, 1]]", "a list are no coordinates of a chip", "5:19"),
        ("0,0 0,1 1,1 2,0", "v5e:2x2 (2x2) has no chip 2,0", "5:22"),
        ("{X: 0}", "devices must be a list of coordinates such as [[0, 0], [0, 1]], not", "5:10"),
    ],
)
def test_faults_in_devices_have_places(
    tmp_path: Path, devices: str, message: str, place: str
) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, f"{RING}devices: {devices}\n")
    assert caught.value.message.startswith(message)
    assert f"case.yaml:{place}" in str(caught.value.place)


@pytest.mark.parametrize(
    ("layout", "where"),
    [
        ("{X: x+y, Y: y}", {"X": "x and y:(1)4", "Y": "y:(4)4"}),
        ("{X: 'x+y:(1)4', Y: 'y:(4)4'}", {"X": "x and y:(1)4", "Y": "y:(4)4"}),
        ("{X: 'x+y:(4)4', Y: 'y:(1)4'}", {"X": "x and y:(4)4", "Y": "y:(1)4"}),
        ("X=x+y:(4)4,Y=y:(1)4", {"X": "x and y:(4)4", "Y": "y:(1)4"}),
    ],
)
def test_layouts_of_parts(tmp_path: Path, layout: str, where: dict[str, str]) -> None:
    text = SHORT.replace("v5e:4x4", "v5e:16x16") + f"mesh: {{X: 64, Y: 4}}\nlayout: {layout}\n"
    mesh = load(tmp_path, text).program.mesh
    assert {axis.name: axis.where for axis in mesh.axes} == where


@pytest.mark.parametrize(("word", "kind"), [("ring", "ring"), ("snake", "line")])
def test_layouts_of_an_order(tmp_path: Path, word: str, kind: str) -> None:
    mesh = load(tmp_path, SHORT + f"mesh: {{X: 16}}\nlayout: {{X: {word}}}\n").program.mesh
    assert [segment.kind.value for segment in mesh.axis("X").segments] == [kind]


def test_new_options_beside_a_file(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(RING + "chunks: 3\n", encoding="utf-8")
    changed = load_scenario(
        tmp_path / "case.yaml", devices="0,0 0,1 1,1 1,0", chunks="2", efficiency="0.5"
    )
    assert changed.options.chunks == 2
    assert changed.program.mesh.order is not None
    assert changed.program.mesh.topology.calibration.efficiency == Fraction(1, 2)


def test_a_schedule_that_nothing_can_follow(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path, RING + "layout: {X: ring}\nschedule: balanced\n")
    assert caught.value.message == (
        "schedule balanced is for collectives over several rings, lines or switches; "
        "the mesh lies on X alone"
    )
    assert str(caught.value.place).endswith("case.yaml:6:11")


@pytest.mark.parametrize(
    "program",
    [
        "|\n  A[I, J_X] · B[J_X, K] -> C[I, K]\n\n  # a comment\n  AllGather_X D[I_X, K]\n",
        '"A[I, J_X] · B[J_X, K] -> C[I, K]\\nAllGather_X D[I_X, K]"\n',
        "\n  - 'A[I, J_X] · B[J_X, K] -> C[I, K]'\n  - AllGather_X D[I_X, K]\n",
    ],
)
def test_forms_of_a_program(tmp_path: Path, program: str) -> None:
    head = "topology: v5e:4x4\ndims: {I: 64, J: 64, K: 64}\nprogram: "
    assert len(load(tmp_path, head + program).program.statements) == 2


def test_a_topology_file_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "pair.yaml").write_text(
        "chip: v4\ndimensions: [{name: a, size: 4, kind: ring, bandwidth: 1 GB/s}]\n"
    )
    scenario = load(tmp_path, SHORT.replace("v5e:4x4", "pair.yaml"))
    assert scenario.program.mesh.topology.name == "pair"


def test_an_inline_topology(tmp_path: Path) -> None:
    inline = "\n  chip: v4\n  dimensions: [{name: a, size: 4, kind: ring, bandwidth: 1 GB/s}]"
    scenario = load(tmp_path, SHORT.replace("v5e:4x4", inline))
    assert scenario.program.mesh.topology.name == "topology"


def test_values_and_texts_make_the_same_scenario() -> None:
    texts = make_scenario(
        LINE,
        topology="v5e:4x4",
        mesh="X=4,Y=4",
        layout="X=y, Y=x",
        dims="I=64,J=64,K=64",
        dtype="A=int8, default=f32",
    )
    values = make_scenario(
        [parse(LINE)],
        topology=find_topology("v5e:4x4"),
        mesh={"X": 4, "Y": 4},
        layout={"X": "y", "Y": "x"},
        dims=SIZES,
        dtype={"A": "s8", "default": "float32"},
        overlap=Overlap.ASYNC,
        name=LINE,
    )
    assert texts == values
    assert texts.program.dtypes.of(texts.program.statements[0].result) is Dtype.F32


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (LINE, LINE),
        (parse(LINE), LINE),
        ((LINE, "AllGather_X D[I_X, K]"), f"{LINE}; AllGather_X D[I_X, K] -> D[I, K]"),
        ([f"  {LINE} "], LINE),
        (f"\n{LINE}\n# the end\n", LINE),
    ],
)
def test_forms_of_a_program_in_python(program: Any, name: str) -> None:
    assert make_scenario(program, topology="v5e:4x4", dims=SIZES).name == name


def test_other_references_in_python(tmp_path: Path) -> None:
    path = tmp_path / "four.yaml"
    path.write_text("chip: v4\ndimensions: [{name: a, size: 4, kind: ring, bandwidth: 1e9}]\n")
    dimension = {"name": "a", "size": 4, "kind": "ring", "bandwidth": 1e9}
    inline = {"name": "four", "chip": "v4", "dimensions": (dimension,)}
    from_file = make_scenario(LINE, topology=path, dims=SIZES)
    assert make_scenario(LINE, topology=inline, dims=SIZES) == from_file


CASES: list[tuple[dict[str, Any], str, str]] = [
    ({"mesh": "X=4,Y=b"}, "axis Y must be a whole number, 1 or more; it is 'b'", "--mesh:1:7"),
    ({"mesh": "X=4,Y=8"}, "the mesh X=4, Y=8 has 4 x 8 = 32 chips", "--mesh:1:1"),
    ({"mesh": {"X": 4.5}}, "axis X must be a whole number, 1 or more; it is '4.5'", "None"),
    ({"mesh": 4}, "mesh must be a mapping such as {X: 4}, not 4", "None"),
    ({"layout": "X=y,Y"}, "expected NAME=WORD for layout, found 'Y'", "--layout:1:5"),
    ({"layout": "X=y,X=x"}, "X is given twice in layout", "--layout:1:5"),
    ({"layout": "X=w,Y=y"}, "layout puts axis X on dimension w", "--layout:1:1"),
    ({"dims": "I=64,J=-1,K=64"}, "dimension J must be a whole number, 1 or more", "--dims:1:8"),
    ({"dims": "I=64,J=64,K=64,Q=1"}, "dimension Q has an extent but is in no", "--dims:1:16"),
    ({"dims": ""}, "no dimension is given", "--dims:1:1"),
    ({"dims": {"I": 64, "J": True, "K": 1}}, "dimension J must be a whole number", "None"),
    (
        {"dims": {"I": 64, "J": 62, "K": 64}},
        "dimension J of extent 62 is not divi",
        "expression:1:6",
    ),
    ({"topology": "v5e:4xx4"}, "a size is missing in 'v5e:4xx4'", "--topology:1:7"),
    ({"topology": 5}, "topology must be CHIP:SHAPE, a YAML file or a mapping, not 5", "None"),
    ({"topology": {}}, "the topology has no key 'chip'", "None"),
    ({"dtype": "bf17"}, "'bf17' is no dtype; known: f64", "--dtype:1:1"),
    ({"dtype": "A=int8,B=x"}, "'x' is no dtype; known: f64", "--dtype:1:10"),
    ({"dtype": "A= int8 ,b=bf16"}, "dtype names 'b', which no line", "--dtype:1:10"),
    ({"dtype": {"Q": "bf16"}}, "dtype names 'Q', which no line of the program has", "None"),
    (
        {"overlap": "asink"},
        "overlap must be one of none, async, decomposed, auto; it is 'asink'",
        "--overlap:1:1",
    ),
    ({"latency_model": ""}, "latency_model must be one of additive, floor", "--latency-model:1:1"),
    ({"algorithm": "x"}, "algorithm must be one of balanced, whole_shards", "--algorithm:1:1"),
    ({"program": "A[I"}, "expected ',' or ']' to close the dimensions of A", "expression:1:4"),
    ({"program": [LINE, "A[I"]}, "expected ',' or ']' to close the dimens", "expression:2:4"),
    ({"program": f"{LINE}\nA[I"}, "expected ',' or ']' to close the dimens", "expression:2:4"),
    ({"program": ""}, "the program has no lines", "expression:1:1"),
    ({"program": []}, "the program has no lines", "None"),
    ({"program": 3}, "program must be a list of lines of notation, not 3", "None"),
    ({"program": [3]}, "a line of the program must be text, not 3", "None"),
    ({"name": 3}, "name must be text; it is 3", "None"),
]


@pytest.mark.parametrize(("changes", "message", "place"), CASES)
def test_one_fault_in_python(changes: dict[str, Any], message: str, place: str) -> None:
    given: dict[str, Any] = {"program": LINE, "topology": "v5e:4x4", "dims": SIZES, **changes}
    with pytest.raises(ShardsimError) as caught:
        make_scenario(given.pop("program"), **given)
    error = caught.value
    first = error.errors[0] if isinstance(error, InputErrors) else error
    assert first.message.startswith(message)
    assert str(first.place) == place  # type: ignore[attr-defined]


def test_faults_of_all_options_are_told_together() -> None:
    with pytest.raises(InputErrors) as caught:
        make_scenario("A[I", topology="v5x:4", mesh="X=0", dims="I=x", dtype="bf17")
    assert sorted(str(error.place) for error in caught.value.errors) == [
        "--dims:1:3",
        "--dtype:1:1",
        "--mesh:1:3",
        "--topology:1:1",
        "expression:1:4",
    ]


def test_array_names_are_not_checked_while_the_program_has_faults() -> None:
    with pytest.raises(ShardsimError) as caught:
        make_scenario("A[I", topology="v5e:4x4", dims=SIZES, dtype="Q=bf16")
    assert "dtype" not in str(caught.value)


@pytest.mark.parametrize(
    ("expectation", "value", "met", "text"),
    [
        (
            Expectation(quantity="compute_seconds", high=Fraction(1, 1000)),
            Fraction(1, 1000),
            True,
            "compute_seconds is 1 ms, expected at most 1 ms",
        ),
        (
            Expectation(quantity="flops_utilization", low=Fraction(1, 2), high=Fraction(1)),
            Fraction(1, 3),
            False,
            "flops_utilization is 0.3333, expected at least 0.5 and at most 1",
        ),
        (
            Expectation(quantity="peak_memory_bytes_per_chip", high=Fraction(10**9)),
            2 * 10**9,
            False,
            "peak_memory_bytes_per_chip is 2 GB, expected at most 1 GB",
        ),
        (
            Expectation(quantity="bound", word="memory"),
            "latency",
            False,
            "bound is latency, expected memory",
        ),
        (
            Expectation(quantity="bound", word="memory"),
            "memory",
            True,
            "bound is memory, expected memory",
        ),
    ],
)
def test_expectations(expectation: Expectation, value: Any, met: bool, text: str) -> None:
    assert expectation.met(value) is met
    assert expectation.text(value) == text


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("name: a\nchip: v5e\ndimensions: []\n", "{path}:3:1"),
        ("name: a\nmesh: {X: 8}\nchip: v5e\n", "{path}:3:1"),
    ],
)
def test_a_topology_where_a_scenario_is_expected(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path, policy="cheapest")
    assert caught.value.message == f"{path} is a topology, not a scenario"
    assert caught.value.hint.startswith(
        f"beside a line of notation, name it with --topology {path}; to"
    )
    assert str(caught.value.place) == place.format(path=path)


@pytest.mark.parametrize("name", ["ring-of-8", "ring-of-8.yaml", "v5e:4x4"])
def test_the_name_of_a_topology_where_a_scenario_is_expected(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(name)
    assert caught.value.message == f"{name} is a topology, not a scenario"
    assert caught.value.hint.startswith(
        f"beside a line of notation, name it with --topology {name}; to"
    )


def test_a_shipped_scenario_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_scenario("7-small-gather") == load_scenario("scenarios/7-small-gather.yaml")


def test_a_scenario_with_a_key_of_a_topology_is_a_scenario(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="unknown key 'chip' in the scenario; allowed: topo"):
        load(tmp_path, SHORT + "chip: v5e\n")


class BytesPath:
    """A path whose name is bytes, as those of `os.scandir(b".")`."""

    def __fspath__(self) -> bytes:
        return b"a.yaml"


@pytest.mark.parametrize(
    ("path", "shown"),
    [(None, "nothing"), (b"a.yaml", "b'a.yaml'"), (BytesPath(), "b'a.yaml'"), (3, "3")],
)
def test_what_is_no_path(path: Any, shown: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert caught.value.message == (f"a scenario is named by a text or a pathlib.Path, not {shown}")
    assert caught.value.hint == "give the path of a YAML file"


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"program": (LINE for _ in "a")}, "program must be a list of lines of notation, not a "
         "generator", "write it as a list of lines such as A["),
        ({"program": [iter([LINE])]}, "a line of the program must be text, not a list_iterator",
         "put the line in quotes"),
        ({"program": {LINE}}, "program must be a list of lines of notation, not a set", "write"),
        ({"program": b"A[I]"}, "program must be a list of lines of notation, not b'A[I]'", "write"),
        ({"dims": (1 for _ in "a")}, "dims must be a mapping such as {I: 8192}, not a generator",
         "write it as {I: 8192, J: 8192}"),
        ({"topology": b"v5e:4x4"}, "topology must be CHIP:SHAPE, a YAML file or a mapping, not b'v",
         "write it as v5e:4x4"),
        ({"topology": BytesPath()}, "a topology file is named by a text or a pathlib.Path, not b'",
         "give the path"),
        ({"layout": 3}, "layout must be a mapping such as {X: x}, not 3", "write it as {X: x, Y:"),
        ({"dtype": 3}, "dtype must be a word or a mapping such as", "write it as bf16"),
    ],
)  # fmt: skip
def test_values_of_other_types(changes: dict[str, Any], message: str, hint: str) -> None:
    given: dict[str, Any] = {"program": LINE, "topology": "v5e:4x4", "dims": SIZES, **changes}
    with pytest.raises(ScenarioError) as caught:
        make_scenario(given.pop("program"), **given)
    assert caught.value.message.startswith(message)
    assert caught.value.hint.startswith(hint)


FORMS = "own_chunk_first, half_chunks, pairs, one_direction, unpipelined, chunks"
WORDS = [
    (
        "overlap",
        "maybe",
        "none, async, decomposed, auto",
        "none: one step after the other; async: a step starts",
    ),
    ("overlap", "asink", "none, async, decomposed, auto", "did you mean async?"),
    ("overlap", "ideal", "none, async, decomposed, auto", "every run shows that bound"),
    ("form", "pair", FORMS, "did you mean pairs?"),
    ("latency_model", "", "additive, floor", "additive: a hop takes n/w + latency; floor: it"),
    ("policy", "best", "textbook, cheapest", "textbook: plans by the four rules of the book; c"),
    ("policy", ["x"], "textbook, cheapest", "textbook: plans by"),
    (
        "objective",
        "money",
        "time, bytes, memory",
        "time: the least seconds; bytes: the fewest bytes that leave the busiest chip; "
        "memory: the fewest bytes that a chip holds at once",
    ),
    ("objective", "Time", "time, bytes, memory", "did you mean time?"),
    (
        "algorithm",
        "tree",
        ", ".join(Algorithm),
        "balanced: on a ring, both ways round, the least time; whole_shards: on a ring, both",
    ),
    (
        "algorithm",
        "ballanced",
        ", ".join(Algorithm),
        "did you mean balanced?",
    ),
    ("algorithm", "in-network", ", ".join(Algorithm), "did you mean in_network?"),
    ("schedule", "rotate", "rotated, balanced, sequential, tiered", "did you mean rotated?"),
    (
        "schedule",
        "x",
        "rotated, balanced, sequential, tiered",
        "rotated: several orders at once, each",
    ),
]


@pytest.mark.parametrize(("key", "word", "known", "hint"), WORDS)
def test_a_wrong_word_is_told_what_the_words_mean(
    key: str, word: Any, known: str, hint: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        make_scenario(LINE, topology="v5e:4x4", dims=SIZES, **{key: word})
    assert caught.value.message.startswith(f"{key} must be one of {known}; it is ")
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("key", "text", "message", "hint"),
    [
        ("layout", "X", "expected NAME=WORD for layout, found 'X'", "write X=x,Y=y, with a"),
        ("layout", "", "layout is empty", "write X=x,Y=y, with a comma between two"),
        ("layout", " , ", "layout is empty", "write X=x,Y=y, with a comma between two"),
        ("dtype", "A=", "expected NAME=WORD for dtype, found 'A='", "write A=int8,default=bf16,"),
    ],
)
def test_examples_are_those_of_the_option(key: str, text: str, message: str, hint: str) -> None:
    given: dict[str, Any] = {key: text}
    with pytest.raises(ScenarioError) as caught:
        make_scenario(LINE, topology="v5e:4x4", dims=SIZES, **given)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)
    assert str(caught.value.place) == f"--{key}:1:1"


def test_expectations_know_the_totals_of_a_run() -> None:
    """They are listed twice, since a scenario does not import what runs it."""
    totals = [field.name for field in fields(comparison.Totals)]
    totals.remove("chips_per_record")
    assert list(expectations.UNITS_OF_QUANTITIES) == totals
    assert expectations.BOUNDS == runs.BOUNDS
    for name, unit in expectations.UNITS_OF_QUANTITIES.items():
        assert (unit == "seconds") is name.endswith("_seconds")
        assert (unit == "bytes") is ("_bytes" in name)
    run = comparison.run_scenario(make_scenario(LINE, topology="v5e:4x4", dims=SIZES))
    for name in expectations.UNITS_OF_QUANTITIES:
        value = getattr(run.totals, name)
        assert isinstance(value, str) is (name == "bound")
        assert (value in expectations.BOUNDS) is (name == "bound")


# the caret points at the fault, in the line of the file that holds it, however YAML spells it:
# each program has one '?', which has no meaning in the notation
SPELLINGS = {
    "plain": "A[I, J_X] · B[J_X, K] ? -> C[I, K]",
    "plain, folded": "A[I, J_X] · B[J_X, K]\n    ? -> C[I, K]",
    "plain, folded, with an empty line": "A[I, J_X] ·\n\n   B[J_X, K]\n    -> ?C[I, K]",
    "plain, on the next line": "\n  A[I, J_X] · B[J_X, K] ? -> C[I, K]",
    "plain, anchored": "&A A[I, J_X] · B[J_X, K] ? -> C[I, K]",
    "single quotes": "'A[I, J_X] · B[J_X, K] ? -> C[I, K]'",
    "single quotes, with primes": "'A''[I, J_X] · B''[J_X, K] ? -> C''[I, K]'",
    "single quotes, folded": "'A''[I, J_X] ·\n\n   B''[J_X, K] -> ? C[I, K]'",
    "double quotes": '"A[I, J_X] · B[J_X, K] ? -> C[I, K]"',
    "escapes": '"A[I, J_X] \\u00b7 B[J_X, K] ? -> C[I, K]"',
    "escapes of all kinds": r'"\x41[I,\tJ_X]\u0020\U000000b7 \x20 B[J_X,\ K] ? -> C[I, K]"',
    "escaped fault": '"A[I, J_X] · B[J_X, K] \\x3F -> C[I, K]"',
    "escaped ends of lines": '"A[I, J_X] · B[J_\\\n   X, K] \\\n   ? -> C[I, K]"',
    "escaped line breaks": '"A[I, J_X] · B[J_X, K] -> C[I, K]\\nAllGather_X ? D[I_X]"',
    "double quotes, folded": '"A[I, J_X] · B[J_X, K]\n\n  ? -> C[I, K]"',
    "literal": "|\n  A[I, J_X] · B[J_X, K] -> C[I, K]\n  A[I, J_X] ? B[J_X, K] -> C[I, K]",
    "literal, indented": "|2-  # why\n    # no\n\n      A[I, J_X]  ? B[J_X, K] -> C[I, K]\n",
    "literal, anchored": "&a\n  # a comment\n  |+\n  A[I, J_X] ? B[J_X, K] -> C[I, K]\n\n",
    "folded": ">\n  A[I, J_X] · B[J_X, K]\n  ? -> C[I, K]\n",
    "folded, with lines that are kept": ">-\n\n  A[I, J_X]\n\n    ·\n  B[J_X, K]\n  ? -> C[I, K]",
    "a list": "['A[I, J_X] · B[J_X, K]',\n 'A[I, J_X] ? B[J_X, K]']",
    "a list of blocks": "\n- >\n  A[I, J_X]\n  · B[J_X, K]\n- |\n  AllGather_X\n   ? D[I_X]",
}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("form", SPELLINGS)
def test_the_caret_is_under_the_fault(form: str, newline: str, tmp_path: Path) -> None:
    head = "topology: v5e:4x4\ndims: {I: 64, J: 64, K: 64}\nprogram: "
    content = (head + SPELLINGS[form] + "\nname: the end\n").replace("\n", newline)
    path = tmp_path / "f.yaml"
    path.write_bytes(content.encode())
    with pytest.raises((InputError, InputErrors)) as caught:
        load_scenario(path)
    errors = caught.value.errors if isinstance(caught.value, InputErrors) else (caught.value,)
    (place,) = [e.place for e in errors if "'?'" in e.message]
    assert place is not None
    assert place.text == content.split(newline)[place.line - 1]
    wanted = r"\x3F" if form == "escaped fault" else "?"
    assert place.text[place.column - 1 :][: place.width] == wanted


def test_a_line_behind_an_alias_stands_at_the_alias(tmp_path: Path) -> None:
    head = "topology: v5e:4x4\ndims: {I: 64}\n"
    good = "program:\n  - &a AllGather_X A[I_X]\n  - *a\n"
    statements = load(tmp_path, head + good).program.statements
    assert statements[0] == statements[1]
    with pytest.raises(InputErrors) as caught:
        load(tmp_path, head + good.replace("A[I_X]", "A[I_X"))
    path = tmp_path / "case.yaml"
    assert [str(error.place) for error in caught.value.errors] == [f"{path}:4:25", f"{path}:5:5"]
    with pytest.raises(InputErrors) as caught:
        load(tmp_path, "name: &a |\n  A[I\n  B[J\n" + head + "program: *a\n")
    assert [str(error.place) for error in caught.value.errors] == [f"{path}:6:10"] * 2
    with pytest.raises(InputError, match="a size is missing in 'v5e:4xx4'") as found:
        load(tmp_path, SHORT.replace("topology: v5e:4x4", "name: &a v5e:4xx4\ntopology: *a"))
    assert str(found.value.place) == f"{path}:2:11"


@pytest.mark.parametrize("program", ["|", ">-\n\n", "''", '" "', "|\n  # nothing"])
def test_a_program_of_nothing(program: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="the program has no lines") as caught:
        load(tmp_path, f"topology: v5e:4x4\ndims: {{I: 64}}\nprogram: {program}\n")
    place = caught.value.place
    assert place is not None
    assert place.line == 3
    assert place.column <= len(place.text)
