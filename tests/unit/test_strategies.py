"""Files with strategies: what each is, what is refused, and where."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardsim.comparison import run_comparison
from shardsim.errors import InputError, InputErrors, PlanError, ShardsimError
from shardsim.scenario import Comparison, load_comparison, load_scenario
from shardsim.vocabulary import Dtype, Overlap, Policy

FILE = """\
name: three ways
topology: v5e:4x4
mesh: {X: 4, Y: 4}
dims: {I: 64, J: 64, K: 64}
dtype: {A: int8, default: bf16}
overlap: none
program:
  - A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]{U_X}
strategies:
  as it stands: {}
  wide:
    note: K is wider
    dims: {K: 128}
    dtype: {B: int8}
    overlap: async
    mesh: {X: 16}
    layout: {X: ring}
    policy: cheapest
    expect: {bound: latency}
  gather:
    program: AllGather_X A[I, J_X] -> W[I, J]
    topology: v5e:8x8
    mesh: {X: 8, Y: 8}
    dtype: f32
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(text: str, **changes: str) -> Comparison:
    """The comparison of a text in a file of the current folder."""
    Path("f.yaml").write_text(text, encoding="utf-8")
    return load_comparison("f.yaml", **changes)


def refused(text: str, **changes: str) -> list[InputError]:
    """The faults of a text, when it is loaded or planned."""
    with pytest.raises(ShardsimError) as caught:
        run_comparison(load(text, **changes))
    error = caught.value
    assert isinstance(error, InputError | InputErrors)
    return list(error.errors) if isinstance(error, InputErrors) else [error]


def test_each_strategy_is_the_base_with_its_keys_instead(folder: Path) -> None:
    comparison = load(FILE)
    assert comparison.name == "three ways"
    first, wide, gather = comparison.strategies
    assert [s.name for s in comparison.strategies] == ["as it stands", "wide", "gather"]
    assert [s.note for s in comparison.strategies] == ["", "K is wider", ""]
    assert first.scenario.name == "three ways: as it stands"
    assert first.scenario.program.extents == (("I", 64), ("J", 64), ("K", 64))
    assert first.scenario.options.overlap is Overlap.NONE
    assert wide.scenario.program.extents == (("I", 64), ("J", 64), ("K", 128))
    assert dict(wide.scenario.program.dtypes.by_name) == {"A": Dtype.INT8, "B": Dtype.INT8}
    assert wide.scenario.program.dtypes.default is Dtype.BF16
    assert wide.scenario.program.mesh.sizes == {"X": 16}
    assert wide.scenario.options.overlap is Overlap.ASYNC
    assert wide.scenario.options.policy is Policy.CHEAPEST
    assert [e.quantity for e in wide.scenario.expectations] == ["bound"]
    assert gather.scenario.program.mesh.topology.name == "v5e:8x8"
    assert gather.scenario.program.dtypes.default is Dtype.F32
    assert gather.scenario.program.dtypes.by_name == ()


def test_a_strategy_need_not_have_all_names_of_the_base(folder: Path) -> None:
    gather = load(FILE).strategies[2].scenario
    assert gather.program.extents == (("I", 64), ("J", 64))


def test_a_strategy_by_itself_is_the_one_of_the_comparison(folder: Path) -> None:
    for strategy in load(FILE).strategies:
        assert load_scenario("f.yaml", strategy.name) == strategy.scenario


def test_texts_are_merged_as_mappings_are(folder: Path) -> None:
    texts = FILE.replace("{I: 64, J: 64, K: 64}", "I=64,J=64,K=64").replace("{K: 128}", "K=128")
    texts = texts.replace("{A: int8, default: bf16}", "A=int8,default=bf16")
    assert load(texts).strategies == load(FILE).strategies


def test_a_word_is_the_type_of_what_a_strategy_does_not_name(folder: Path) -> None:
    dtypes = load(FILE.replace("{A: int8, default: bf16}", "f32")).strategies[1].scenario.program
    assert dtypes.dtypes.default is Dtype.F32
    assert dict(dtypes.dtypes.by_name) == {"B": Dtype.INT8}


def test_options_stand_in_for_the_base_only(folder: Path) -> None:
    changes = {"dims": "I=128,J=128,K=64", "overlap": "async", "policy": "cheapest"}
    first, wide, gather = load(
        FILE.replace("overlap: async", "overlap: none"), **changes
    ).strategies
    assert first.scenario.program.extents == (("I", 128), ("J", 128), ("K", 64))
    assert wide.scenario.program.extents == (("I", 128), ("J", 128), ("K", 128))
    assert gather.scenario.program.extents == (("I", 128), ("J", 128))
    assert [s.scenario.options.overlap for s in (first, wide)] == [Overlap.ASYNC, Overlap.NONE]
    one = load_scenario("f.yaml", "wide", overlap="async").options  # the strategy's own, too
    assert one.overlap is Overlap.ASYNC


# what is refused: what is replaced, by what, the message, line:column
FAULTS = [
    # of the base: told once
    ("v5e:4x4", "v5x:4x4", "strategies as it stands, wide: there is no chip 'v5x'", "2:11"),
    ("name: three", "nmae: three", "unknown key 'nmae' in the scenario; allowed: topology", "1:1"),
    ("I: 64, J", "I: sixty, J", "dimension I must be a whole number, 1 or more", "4:11"),
    ("{I: 64, J", "{Z: 64, I: 64, J", "dims names 'Z', which is a dimension of no strategy", "4:8"),
    ("{A: int8", "{Q: int8, A: int8", "dtype names 'Q', which is an array of no strategy", "5:9"),
    ("·_LOCAL", "·_LOCL", "strategies as it stands, wide: ", "8:17"),
    # of one strategy
    ("{K: 128}", "{K: 128, Z: 8}", "strategy wide: dimension Z has an extent but is in", "13:20"),
    ("{K: 128}", "{K: no}", "strategy wide: dimension K must be a whole number", "13:15"),
    ("{B: int8}", "{B: int9}", "strategy wide: 'int9' is no dtype", "14:16"),
    ("{B: int8}", "{Q: int8}", "strategy wide: dtype names 'Q', which no line of the", "14:13"),
    ("overlap: async", "overlp: async", "strategy wide: unknown key 'overlp' in the", "15:5"),
    ("{X: 16}", "{X: 15}", "strategy wide: the mesh X=15 has 15 chips", "17:13"),
    ("bound: latency", "bound: x", "strategy wide: bound must be one of compute", "19:21"),
    ("note: K is wider", "note: [a]", "strategy wide: note must be one line of text, not", "12:11"),
    ("note: K is wider", "sweep: {}", "strategy wide: 'sweep' in the scenario is not", "12:5"),
    ("AllGather_X A", "AllGather_Z A", "strategy gather: AllGather_Z: A[I, J_X] is", "21:14"),
    ("{X: 8, Y: 8}", "{X: 8, Y: 4}", "strategy gather: the mesh X=8, Y=4 has 8 x 4", "23:11"),
    ("    topology: v5e:8x8", "    topology: a.yaml", "strategy gather: there is no topo", "22:15"),
    ("A[I, J_X] -> W[I, J]", "A[I, J_X] -> W[I, J]{U_X}", "strategy gather: ", "21:39"),
    # of a base's value with a strategy's
    ("J: 64", "J: 72", "strategy wide: dimension J of extent 72 is not divisible over", "8:10"),
    # of the form
    ("as it stands: {}", "as it stands:", "strategy as it stands must be a mapping such", "10:3"),
    ("as it stands: {}", "as it stands: 3", "strategy as it stands must be a mapping", "10:17"),
    ("as it stands: {}", "'': {}", "the name of a strategy is one line of 1 to 60", "10:3"),
    ("note:", "name:", "strategy wide has a key 'name'", "12:5"),
    ("policy: cheapest", "strategies: {}", "strategy wide has a key 'strategies'", "18:5"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message", "place"), FAULTS)
def test_faults_have_places(old: str, new: str, message: str, place: str, folder: Path) -> None:
    assert old in FILE
    faults = refused(FILE.replace(old, new, 1))
    assert [(f.message[: len(message)], str(f.place), bool(f.hint)) for f in faults] == [
        (message, f"f.yaml:{place}", True)
    ]


@pytest.mark.parametrize("said", ["", "{}", "[a]", "x"])
def test_strategies_of_another_form(said: str, folder: Path) -> None:
    head = FILE.partition("strategies:")[0]
    (fault,) = refused(f"{head}strategies: {said}\n")
    assert fault.message.startswith("strategies must be a mapping of names to what each says, not ")
    assert fault.hint == "write it as strategies: {one: {program: ...}, other: {program: ...}}"
    assert str(fault.place).startswith("f.yaml:9:")


def test_all_faults_of_all_strategies_are_told_at_once(folder: Path) -> None:
    text = FILE.replace("v5e:4x4", "v5x:4x4").replace("K: 128", "K: no")
    faults = refused(text.replace("AllGather_X A", "AllGather_Z A"))
    assert [str(fault.place) for fault in faults] == ["f.yaml:2:11", "f.yaml:13:15", "f.yaml:21:14"]


def test_what_no_strategy_gives_is_told_once(folder: Path) -> None:
    text = "topology: v5e:4x4\ndims: {I: 64}\nstrategies: {a: {}, b: {mesh: {X: 16}}}\n"
    (fault,) = refused(text)
    assert fault.message == "the scenario has no key 'program'"
    assert str(fault.place) == "f.yaml:1:1"
    one = text.replace("a: {}", "a: {program: 'AllGather_X A[I_X]'}")
    (fault,) = refused(one)
    assert fault.message == "strategy b: the scenario has no key 'program'"
    assert str(fault.place) == "f.yaml:3:50"


def test_a_strategy_that_cannot_be_planned_is_a_fault_of_the_file(folder: Path) -> None:
    local = "A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]"
    head = FILE.partition("strategies:")[0].replace("{U_X}", "")
    faults = refused(f"{head}strategies: {{a: {{}}, b: {{overlap: async}}}}\n")
    assert [type(fault) for fault in faults] == [PlanError]
    assert faults[0].place is not None
    assert (faults[0].place.line, local in faults[0].place.text) == (8, True)
    assert "strateg" not in faults[0].message  # all have it
    one = "AllGather_X C[I, K_X] -> C[I, K]"
    (fault,) = refused(f"{head}strategies: {{a: {{}}, b: {{program: '{one}'}}}}\n")
    assert fault.message == f"strategy a: {faults[0].message}"


def test_an_option_that_would_change_nothing(folder: Path) -> None:
    text = FILE.replace("as it stands: {}", "as it stands: {mesh: {X: 4, Y: 4}}")
    (fault,) = refused(text, mesh="X=16")
    assert fault.message == "--mesh would change nothing: each strategy sets mesh itself"
    assert str(fault.place) == "--mesh:1:1"


def test_a_fault_of_an_option_stands_in_the_option(folder: Path) -> None:
    faults = refused(FILE, dims="I=64,J=64,K=64,Z=8")
    assert [(str(f.place), f.message[:14]) for f in faults] == [("--dims:1:16", "dims names 'Z'")]


def test_a_file_with_strategies_where_one_scenario_is_expected(folder: Path) -> None:
    load(FILE)
    with pytest.raises(InputError) as caught:
        load_scenario("f.yaml")
    assert caught.value.message == "f.yaml has several strategies: as it stands, wide, gather"
    assert "shardsim compare f.yaml;" in caught.value.hint
    assert str(caught.value.place) == "f.yaml:9:1"


@pytest.mark.parametrize(
    ("name", "hint"), [("wids", "did you mean wide?"), ("zzz", "name one of them")]
)
def test_a_strategy_that_is_not_there(name: str, hint: str, folder: Path) -> None:
    load(FILE)
    with pytest.raises(InputError, match="there is no strategy") as caught:
        load_scenario("f.yaml", name)
    assert caught.value.hint == hint


def test_one_strategy_is_read_though_another_is_at_fault(folder: Path) -> None:
    Path("f.yaml").write_text(FILE.replace("AllGather_X", "AllGathr_X"), encoding="utf-8")
    assert load_scenario("f.yaml", "wide").program.extents[2] == ("K", 128)


def test_a_file_without_strategies(folder: Path) -> None:
    text = FILE.partition("strategies:")[0]
    (fault,) = refused(text)
    assert fault.message == "f.yaml has no strategies to compare"
    assert fault.hint.startswith("to run it: shardsim run f.yaml; or give it some: strategies: {")
    with pytest.raises(InputError, match=r"f\.yaml has no strategies, and strategy .wide. is"):
        load_scenario("f.yaml", "wide")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(folder: Path, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(FILE)))
    end = data.draw(st.integers(start, min(start + 20, len(FILE))))
    noise = data.draw(
        st.sampled_from(["{}", "[]", "null", "I=4", "*a", "&a "]) | st.text(max_size=4)
    )
    Path("f.yaml").write_text(FILE[:start] + noise + FILE[end:], encoding="utf-8")
    for strategy in (None, "wide"):
        try:
            load_scenario("f.yaml", strategy) if strategy else load_comparison("f.yaml")
        except ShardsimError as error:
            str(error).encode()
