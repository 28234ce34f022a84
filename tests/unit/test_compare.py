"""Strategies side by side: which is best, the table, the JSON, and the exit code."""

from __future__ import annotations

import io
import json
from fractions import Fraction
from pathlib import Path

import pytest

import shardsim as ss
from shardsim.comparison import Compared
from shardsim.report import compare_report, render
from shardsim.report.compare import bar
from tests.command_line import command
from tests.unit.test_cli import RESULT_KEYS, TOTAL_KEYS, numbers

GATHERS = """\
name: gathers
topology: ring-of-8
dims: {I: 1800000}
program: AllGather_X A[I_X] -> A_whole[I]
strategies:
  large: {}
  small: {dims: {I: 450000}, note: a quarter}
"""
MATMULS = """\
name: by memory
topology: v5e:2x2
dims: {I: 1024, J: 1024, K: 1024}
strategies:
  whole: {program: "A[I, J] ·_LOCAL B[J, K] -> C[I, K]"}
  cut: {program: "A[I_XY, J] ·_LOCAL B[J, K] -> C[I_XY, K]", expect: {bound: memory}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compared(text: str, **changes: str) -> Compared:
    """The strategies of a text, run."""
    Path("f.yaml").write_text(text, encoding="utf-8")
    return ss.compare("f.yaml", **changes)


def shown(text: str, **changes: str) -> str:
    """The report of a text."""
    return render(compare_report(compared(text, **changes)), io.StringIO())


def test_rows_are_the_runs_of_their_strategies(folder: Path) -> None:
    found = compared(GATHERS)
    assert [row.name for row in found.rows] == ["large", "small"]
    for row in found.rows:
        alone = ss.run(ss.load_scenario("f.yaml", row.name))
        assert row.run.totals == alone.totals
    assert repr(found) == "<Compared: 2 strategies, best small>"


def test_the_best_is_the_quickest(folder: Path) -> None:
    found = compared(MATMULS)
    assert found.best.name == "cut"
    assert found.slowdown(found.rows[1]) == 1
    assert found.slowdown(found.rows[0]) == found.rows[0].seconds / found.rows[1].seconds > 2


@pytest.mark.parametrize(
    ("j", "fits", "said"),
    [
        # A and B of 10.7 GB, C of 8.59 GB; cut over 4 chips A has 2.68 GB, C 2.15 GB
        (81920, [False, True], ["whole does not fit: 30.1 GB on a chip that has 16 GB = 14.9 GiB"]),
        # A and B twice as large
        (163840, [False, False], ["whole does not fit: 51.5 GB on a chip that has 16 GB = 14.9 GiB",
                                  "cut does not fit: 29.0 GB on a chip that has 16 GB = 14.9 GiB",
                                  "no strategy fits, so the quickest of all is called the best"]),
    ],
)  # fmt: skip
def test_what_does_not_fit(j: int, fits: list[bool], said: list[str], folder: Path) -> None:
    sizes = f"I=65536,J={j},K=65536"
    found = compared(MATMULS, dims=sizes)
    assert [row.fits for row in found.rows] == fits
    assert found.best.name == "cut"
    lines = shown(MATMULS, dims=sizes).splitlines()
    assert [line.removeprefix("! ") for line in lines if line.startswith("! ")] == said
    assert any(line.startswith("whole") and " ! " in line for line in lines)


def test_a_quicker_strategy_that_does_not_fit_is_below_1(folder: Path) -> None:
    """Data parallel sends nothing, and is not called the best."""
    found = ss.compare("compare-two-matmul-block")
    first, *others = found.rows
    assert (first.name, first.fits, found.best.name) == ("data parallel", False, "FSDP + tensor")
    slower = found.slowdown(first)
    assert slower is not None
    assert slower < 1
    assert all(row.fits and found.slowdown(row) >= 1 for row in others)  # type: ignore[operator]


def test_different_work_is_told(folder: Path) -> None:
    assert list(compared(GATHERS).by_work) == [(("I", 1800000),), (("I", 450000),)]
    out = shown(GATHERS)
    assert "! the strategies compute different things, and their FLOPs differ; those alike:" in out
    assert "\n  I=1800000, 0 FLOP a chip: large alone\n" in out
    assert "different things" not in shown(MATMULS)
    twice = GATHERS.replace("small:", "large again: {}\n  small:")
    assert ": large best; large again 1x\n" in shown(twice)


def test_the_winner_flips_with_the_batch() -> None:
    groups = ss.compare("compare-weight-stationary-or-gathered").by_work
    assert [group.best.name for group in groups.values()] == [
        "stay (few tokens)", "gather (many tokens)",
    ]  # fmt: skip


def test_nothing_that_takes_time(folder: Path) -> None:
    text = "topology: v5e:1x1\ndims: {I: 1}\nprogram: AllGather_X A[I_X] -> A[I]\n"
    two = f"{text}strategies: {{a: {{}}, b: {{topology: v5e:4x4, dims: {{I: 64}}}}}}\n"
    found = compared(two)
    assert [found.slowdown(row) for row in found.rows] == [1, None]
    document = found.to_dict()
    assert [row["slowdown"] for row in document["rows"]] == [1.0, None]
    assert "\n  a, on v5e:1x1: 1 x TPU v5e; mesh X=1 Y=1; dims I=1: nothing to do\n" in shown(two)
    none = shown(f"{text}strategies: {{a: {{}}}}\n")
    assert "Time of the last chip" not in none


@pytest.mark.parametrize(
    ("shares", "drawn"),
    [
        ((1, 0, 0), "========"),
        ((Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)), "===##..."),
        ((Fraction(1, 100), Fraction(1, 100), 0), ""),
        ((0, Fraction(1, 4), Fraction(1, 8)), "##."),
        ((0, 0, 0), ""),
    ],
)
def test_bars(shares: tuple[Fraction, Fraction, Fraction], drawn: str) -> None:
    assert bar([Fraction(share) for share in shares], 8) == drawn


def test_long_names_fit_the_page(folder: Path) -> None:
    name = "a strategy whose name is as long as the name of one may be.."
    assert len(name) == 60
    out = shown(GATHERS.replace("  small:", f"  {name}:"))
    assert max(map(len, out.splitlines())) <= 100
    assert "a strategy whose name is as..." in out


def test_notes_and_steps(folder: Path) -> None:
    out = shown(GATHERS)
    assert "\nNotes\n  small: a quarter\n" in out
    assert "\n  large, dims I=1800000: AllGather_X A " in out
    assert "\nNotes\n" not in shown(MATMULS)
    assert "\n  whole: matmul C " in shown(MATMULS)


# the command


def test_json(folder: Path) -> None:
    Path("f.yaml").write_text(MATMULS, encoding="utf-8")
    result = command("compare", "f.yaml", "--json")
    assert (result.code, result.err) == (0, "")
    document = json.loads(result.out)
    assert document["format"] == "shardsim/compare/1"
    assert (document["name"], document["best"]) == ("by memory", "cut")
    run = json.loads(command("run", "f.yaml", "--strategy", "cut", "--json").out)
    row = document["rows"][1]
    assert row["totals"] == run["totals"]
    assert set(row["totals"]) >= TOTAL_KEYS
    assert (row["result"], row["topology"], row["mesh"]) == (
        run["result"], "v5e:2x2", {"X": 2, "Y": 2},
    )  # fmt: skip
    assert set(row["result"]) == RESULT_KEYS
    assert (row["name"], row["note"], row["fits"], row["slowdown"]) == ("cut", "", True, 1.0)
    assert row["steps"] == ["A[I_XY, J] · B[J, K] -> C[I_XY, K]"]
    assert row["wire_bytes_per_chip"] == 0
    assert row["expectations"] == run["expectations"]
    assert all(number == number for number in numbers(document))


def test_wire_bytes_are_summed_over_the_steps(folder: Path) -> None:
    """Twice the same AllGather: twice the bytes."""
    line = "AllGather_X {0}[I_X] -> {0}_whole[I]"
    lines = f"program: ['{line.format('A')}', '{line.format('B')}']"
    text = GATHERS.replace("dims: {I: 450000}, note: a quarter", lines)
    once, twice = compared(text).to_dict()["rows"]
    assert twice["wire_bytes_per_chip"] == 2 * once["wire_bytes_per_chip"] > 0


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_an_expectation_that_is_not_met(form: tuple[str, ...], folder: Path) -> None:
    Path("f.yaml").write_text(MATMULS.replace("bound: memory", "bound: latency"), encoding="utf-8")
    result = command("compare", "f.yaml", *form)
    found = json.loads(command("compare", "f.yaml", "--json").out)["rows"][1]["totals"]["bound"]
    said = f"bound is {found}, expected latency"
    assert (result.code, result.err) == (1, f"expectation of cut not met: {said}\n")
    assert form or f"\n  NOT MET: cut: {said}\n" in result.out


def test_bad_input(folder: Path) -> None:
    Path("f.yaml").write_text(MATMULS.replace("v5e:2x2", "v5e:2y2"), encoding="utf-8")
    result = command("compare", "f.yaml")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert "\n  --> f.yaml:2:1" in result.err


def test_a_file_and_a_command_of_another_kind(folder: Path) -> None:
    Path("f.yaml").write_text(MATMULS, encoding="utf-8")
    for name in ("run", "plan"):
        result = command(name, "f.yaml")
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith("error: f.yaml has several strategies: whole, cut\n")
        assert command(name, "f.yaml", "--strategy", "cut").code == 0
    result = command("run", "A[I]", "--strategy", "cut", "--on", "v5e:2x2", "--dims", "I=8")
    assert result.code == 2
    assert result.err.startswith("error: --strategy is for a scenario file with strategies")
    assert command("compare", "3-all-reduce").err.startswith("error: 3-all-reduce has no strat")


def test_options_beside_the_file(folder: Path) -> None:
    Path("f.yaml").write_text(MATMULS, encoding="utf-8")
    rows = json.loads(command("compare", "f.yaml", "--on", "v5e:4x4", "--json").out)["rows"]
    assert [row["topology"] for row in rows] == ["v5e:4x4", "v5e:4x4"]


def test_a_note_on_a_terminal(folder: Path) -> None:
    Path("f.yaml").write_text(MATMULS, encoding="utf-8")
    assert (
        "strategy 2 of 2, cut: simulating 4 chips"
        in command("compare", "f.yaml", terminal=True).err
    )


# from Python


def test_a_comparison_from_python(folder: Path) -> None:
    Path("f.yaml").write_text(GATHERS, encoding="utf-8")
    assert ss.compare(ss.load_comparison("f.yaml")).best.name == "small"
    assert ss.compare(Path("f.yaml")).best.name == "small"
    with pytest.raises(ss.ShardsimError, match="dims: not together with a comparison") as caught:
        ss.compare(ss.load_comparison("f.yaml"), dims="I=8")
    assert "leave them out" in str(caught.value)
