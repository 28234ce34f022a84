"""Strategies over the extents of a dimension, collectives over sizes: numbers, tables, faults."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from shardsim.comparison import CollectiveRun, run_asked, run_comparison
from shardsim.comparison.over import read_over, run_over
from shardsim.comparison.sizes import affordable, over_sizes, read_byte_sizes, some_of, spread
from shardsim.errors import InputError, InputErrors
from shardsim.scenario import Single, load_comparison, make_collective
from tests.command_line import command

FILE = "compare-sharded-contraction"
SMALL = "compare-tensor-parallel-block"
OWN = """
name: own extents
topology: v5e:4x4
mesh: {X: 4, Y: 4}
dims: "I=64,J=64,K=64"
program: ["A[I_X, J] · B[J, K] -> C[I_X, K]"]
strategies:
  as it is: {policy: cheapest}
  larger: {dims: {I: 128}}
"""


def test_each_extent_is_that_of_a_file_that_says_it() -> None:
    found = run_over(SMALL, read_over("B=1024,2048"))
    for extent, compared in found.columns:
        said = run_comparison(load_comparison(SMALL, dims=f"B={extent},D=4096,F=16384"))
        assert [row.seconds for row in compared.rows] == [row.seconds for row in said.rows]


def test_strategies_with_an_extent_of_their_own_take_the_one_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN, encoding="utf-8")
    found = run_over(path, read_over("I=256,512"))
    for extent, compared in found.columns:
        assert [row.work for row in compared.rows] == [(("I", extent), ("K", 64))] * 2
    with pytest.raises(InputErrors) as caught:
        run_over(path, read_over("I=250,258"))
    for error, extent in zip(caught.value.errors, (250, 258), strict=True):
        assert f"dimension I of extent {extent} is not divisible over axis X=4" in error.message


BAD = [
    ("Q=1,2", "the file has no dimension Q; it has I, J, K", "--over:1:1"),
    ("I", "expected NAME=NUMBER,NUMBER,.. for --over, found 'I'", "--over:1:1"),
    ("=5", "expected NAME=NUMBER,NUMBER,.. for --over, found '=5'", "--over:1:1"),
    ("I=", "expected NAME=NUMBER,NUMBER,.. for --over, found 'I='", "--over:1:1"),
    ("I=64,x", "dimension I must be a whole number, 1 or more; it is 'x'", "--over:1:6"),
    ("I=0", "dimension I must be from 1 to 1e18; it is 0", "--over:1:3"),
    ("I=64,128,64", "I=64 is given twice", "--over:1:10"),
    ("J=100", "dimension J of extent 100 is not divisible over axis X=16", ".yaml:"),
]


@pytest.mark.parametrize(("text", "message", "place"), BAD)
def test_bad_extents(text: str, message: str, place: str) -> None:
    found = command("compare", FILE, "--over", text)
    assert (found.code, found.out) == (2, "")
    assert message in found.err
    assert place in found.err
    assert "  help: " in found.err


def test_a_fault_of_the_file_is_told_once() -> None:
    with pytest.raises(InputError) as caught:
        run_over(FILE, read_over("I=64,128"), mesh="X=4")
    assert not caught.value.message.startswith("at ")


def test_the_table_and_the_numbers_of_a_comparison(tmp_path: Path) -> None:
    paths = ("--svg", str(tmp_path / "a.svg"), "--png", str(tmp_path / "a.png"))
    found = command("compare", SMALL, "--over", "B=512,4096", *paths)
    assert found.code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "a.svg"]
    table = found.out.partition("Simulated times over B")[2]
    rows = [line.split() for line in table.splitlines()[3:7]]
    assert rows[0] == ["plain", "*", "147", "µs", "1.06", "ms"]
    assert rows[2] == ["decomposed", "340", "µs", "*", "747", "µs"]
    assert "from B=4,096 on decomposed is the best" in table
    assert max(map(len, found.out.splitlines())) <= 100
    data = json.loads(command("compare", SMALL, "--over", "B=512,4096", "--json").out)
    assert (data["format"], data["over"]["dim"]) == ("shardsim/compare/1", "B")
    assert [column["best"] for column in data["over"]["columns"]] == ["plain", "decomposed"]
    assert data["over"]["columns"][1]["extent"] == 4096


def test_a_table_of_many_sizes_stays_within_the_page() -> None:
    extents = ",".join(str(1024 * k) for k in range(1, 13))
    out = command("compare", SMALL, "--over", f"B={extents}").out
    assert max(map(len, out.splitlines())) <= 100
    assert all(f"B={1024 * k:,}" in out for k in range(1, 13))


def test_a_comparison_is_drawn_without_sizes_too(tmp_path: Path) -> None:
    found = command("compare", SMALL, "--svg", str(tmp_path / "a.svg"))
    assert f"picture written to {tmp_path / 'a.svg'}" in found.err
    assert ">time<" in (tmp_path / "a.svg").read_text(encoding="utf-8")


# collectives over sizes


@pytest.mark.parametrize(
    ("kind", "machine", "floor", "asymptote"),
    [
        ("AllGather", "v5e:16x16", "16 us", 180),  # 2 x 8 hops; two rings, both ways
        ("AllReduce", "v5e:16", "16 us", 90),
        ("AllGather", "h100:8", "0 us", 450),
    ],
)
def test_what_small_and_large_ones_come_near(
    kind: str, machine: str, floor: str, asymptote: int
) -> None:
    asked = make_collective(kind, size="1 MiB", topology=machine)
    found = over_sizes(asked, [Fraction(2**10), Fraction(2**34)])
    small, large = found.rows
    assert found.asymptote == asymptote * 10**9
    assert small.exact == small.simulated
    assert 0 < small.exact - found.floor < Fraction(1, 10**6)
    assert found.asymptote * Fraction(99, 100) < large.busbw(large.seconds) <= found.asymptote
    assert floor == "0 us" or found.floor == Fraction(floor.removesuffix(" us")) / 10**6


@pytest.mark.parametrize("kind", ["AllGather", "AllReduce", "AllToAll", "permute", "send"])
def test_each_size_is_what_the_collective_alone_is(kind: str) -> None:
    settings = {"start": "0,0", "end": "3,3", "ways": "2"} if kind == "send" else {"axes": "X"}
    asked = make_collective(kind, size="3 MiB", topology="v5e:4x4", **settings)
    (row,) = over_sizes(asked, [asked.size]).rows
    run = run_asked(asked)
    assert (row.book, row.exact) == (run.price.book, run.price.exact.total)
    assert (row.simulated, row.algbw(row.seconds)) == (run.simulated, run.algbw)
    assert row.busbw(row.seconds) == run.busbw
    (plain,) = over_sizes(asked, [asked.size], ()).rows
    assert (plain.exact, plain.simulated, plain.seconds) == (row.exact, None, row.exact)


def test_sizes_round_the_one_asked_for() -> None:
    assert spread(Fraction(2**30))[-1] == 2**36
    assert (spread(Fraction(1))[0], spread(Fraction(1))[-1]) == (1, 2**30)
    assert some_of([Fraction(1)]) == (1,)
    assert some_of([Fraction(1), Fraction(2)]) == (1, 2)
    assert len(some_of(spread(Fraction(2**20)))) == 6


def test_what_is_known_is_not_simulated_again() -> None:
    asked = make_collective("AllGather", size="1 MiB", topology="v5e:4x4")
    told: list[str] = []
    sizes = [Fraction(2**10), asked.size, Fraction(2**30)]
    known = {asked.size: Fraction(7)}
    found = over_sizes(asked, sizes, sizes[:2], told.append, known)
    assert told == ["simulating 16 chips, 1 of 1"]
    plain = over_sizes(asked, sizes).rows
    assert [row.simulated for row in found.rows] == [plain[0].simulated, 7, None]
    assert [row.exact for row in found.rows] == [row.exact for row in plain]


@pytest.mark.parametrize(
    ("kind", "machine", "hops", "few"),
    [
        ("AllReduce", "v5e:4x4", 384, 6),
        ("AllGather", "v5e:16x16", 16384, 5),
        ("AllReduce", "v5e:16x16", 32768, 2),
        ("AllGather", "v5p:8x8x8", 36864, 1),
    ],
)
def test_of_large_machines_fewer_sizes_are_simulated(
    kind: str, machine: str, hops: int, few: int
) -> None:
    run = run_asked(make_collective(kind, size="1 MiB", topology=machine))
    assert len(run.timeline.intervals) == hops
    assert affordable(hops) == few
    assert affordable(2 * 36864) == 0


def test_a_picture_of_a_table_simulates_no_size_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Fraction] = []

    def counted(asked: Single) -> CollectiveRun:
        done.append(asked.size)
        return run_asked(asked)

    monkeypatch.setattr("shardsim.comparison.sizes.run_asked", counted)
    asked = ("collective", "AllReduce", "--size", "3MiB", "--on", "v5e:4x4")
    paths = ("--svg", str(tmp_path / "a.svg"))
    assert command(*asked, "--sizes", "1KiB,3MiB,5MiB", *paths).code == 0
    assert done == [2**10, 5 * 2**20]
    done.clear()
    assert command(*asked, *paths).code == 0
    assert len(done) == len(set(done)) == 6
    assert 3 * 2**20 not in done


def test_sizes_that_are_none() -> None:
    with pytest.raises(InputErrors) as caught:
        read_byte_sizes("1KiB,x,2 GB/s")
    assert [str(error.place) for error in caught.value.errors] == ["--sizes:1:6", "--sizes:1:8"]
    with pytest.raises(InputError, match="--sizes names no size"):
        read_byte_sizes(" , ")


def test_the_table_and_the_numbers_of_a_collective(tmp_path: Path) -> None:
    asked = ("collective", "AllGather", "--size", "1MiB", "--on", "v5e:4x4")
    paths = ("--svg", str(tmp_path / "a.svg"), "--png", str(tmp_path / "a.png"))
    found = command(*asked, "--sizes", "1GiB,1KiB", *paths)
    assert found.code == 0
    rows = found.out.partition("Sizes of the gathered array\n")[2].splitlines()
    assert [row.split()[0:2] for row in rows[2:4]] == [["1", "KiB"], ["1", "GiB"]]
    assert (
        rows[4] == "  a small one takes its latency, 6 µs; busbw of a large one comes near 90 GB/s"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "a.svg"]
    data = json.loads(command(*asked, "--sizes", "1KiB", "--json").out)
    assert data["sizes"]["floor_seconds"] == 6e-6
    assert data["sizes"]["asymptotic_busbw_bytes_per_second"] == 9e10
    assert data["sizes"]["rows"][0]["benchmark_bytes"] == 1024
    assert "sizes" not in json.loads(command(*asked, "--json").out)


def test_ladders_of_chips_from_the_command_line(tmp_path: Path) -> None:
    for what in ("v5e", "chips"):
        path = tmp_path / f"{what}.svg"
        found = command("show", what, "--svg", str(path))
        assert (found.code, found.err) == (0, f"picture written to {path}\n")
        assert ">TPU v5e<" in path.read_text(encoding="utf-8")


def test_a_run_is_drawn_in_both_forms(tmp_path: Path) -> None:
    paths = ("--svg", str(tmp_path / "a.svg"), "--png", str(tmp_path / "a.png"))
    found = command("run", "3-all-reduce", *paths)
    assert found.code == 0
    assert [line.rpartition("/")[2] for line in found.err.splitlines()] == ["a.svg", "a.png"]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
