"""One collective from texts and values: names, sizes, axes, chips, and what does not fit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import shardsim as ss
from shardsim.cost import Wanted
from shardsim.errors import InputError, InputErrors, ScenarioError, ShardsimError
from shardsim.scenario import Single, make_collective, make_mesh
from shardsim.scenario.single import KINDS, ONLY_FOR, kind_of
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    LatencyModel,
    Schedule,
    TransferKind,
)
from tests.command_line import command

SPELLED = {
    CollectiveKind.ALL_GATHER: "all_gather AllGather all-gather allgather AG ag all_gather_perf",
    CollectiveKind.REDUCE_SCATTER: "reduce_scatter ReduceScatter reduce-scatter RS psum_scatter",
    CollectiveKind.ALL_REDUCE: "all_reduce AllReduce ALL-REDUCE allreduce AR psum all_reduce_perf",
    CollectiveKind.ALL_TO_ALL: "all_to_all AllToAll all-to-all alltoall A2A a2a alltoall_perf",
    TransferKind.PERMUTE: "permute Permute collective-permute CollectivePermute ppermute shift",
    TransferKind.GATHER: "gather Gather gather_perf",
    TransferKind.SEND: "send Send sendrecv send-recv p2p sendrecv_perf",
}


@pytest.mark.parametrize(
    ("word", "kind"), [(word, kind) for kind, words in SPELLED.items() for word in words.split()]
)
def test_spellings(word: str, kind: CallKind) -> None:
    assert kind_of(word) is kind


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("all_gathr", "did you mean all_gather?"),
        ("AllReduc", "did you mean all"),
        ("sned", "did you mean send?"),
        ("alltoal", "did you mean all_to_all?"),
        ("broadcast", "write one of them; AllGather, all-gather and AG are all_gather too"),
        ("", "write one of them"),
    ],
)
def test_an_unknown_collective(word: str, hint: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        kind_of(word)
    assert caught.value.message == (
        f"there is no collective {word!r}; known: all_gather, reduce_scatter, all_reduce, "
        "all_to_all, permute, gather, send"
    )
    assert caught.value.hint.startswith(hint)


def test_texts_and_values_ask_for_the_same() -> None:
    texts = make_collective(
        "ag", size="1 MiB", topology="v5e:4x4", mesh="X=4,Y=4", layout="X=y,Y=x", axes="Y,X",
        schedule="sequential", chunks="3", latency_model="floor", algorithm="line",
    )  # fmt: skip
    values = make_collective(
        "all_gather", size=2**20, topology="v5e:4x4", mesh={"X": 4, "Y": 4},
        layout={"X": "y", "Y": "x"}, axes=["Y", "X"], schedule=Schedule.SEQUENTIAL, chunks=3,
        latency_model=LatencyModel.FLOOR, algorithm=Algorithm.LINE,
    )  # fmt: skip
    assert texts == values
    assert texts == Single(
        kind=CollectiveKind.ALL_GATHER,
        size=Fraction(2**20),
        topology=texts.topology,
        mesh=make_mesh("v5e:4x4", mesh="X=4,Y=4", layout="X=y,Y=x"),
        axes=("Y", "X"),
        wanted=Wanted(Algorithm.LINE, Schedule.SEQUENTIAL, 3),
        latency_model=LatencyModel.FLOOR,
    )


@pytest.mark.parametrize("axes", ["X,Y", "X Y", "XY", " X , Y ", ["X", "Y"], ("X", "Y"), None])
def test_forms_of_axes(axes: Any) -> None:
    assert make_collective("ag", size=1, topology="v5e:4x4", axes=axes).axes == ("X", "Y")


def test_a_lower_case_axis_is_not_read_letter_by_letter() -> None:
    asked = make_collective("ag", size=1, topology="v5e:4x4", mesh="d=4,dt=4", axes="dt")
    assert asked.axes == ("dt",)


@pytest.mark.parametrize(
    "devices",
    [
        "0,0 0,1 1,1 1,0",
        "(0, 0) (0, 1) (1, 1) (1, 0)",
        "[0, 0], [0, 1], [1, 1], [1, 0]",
        "0,0; 0,1; 1,1; 1,0",
        "0,0, 0,1, 1,1, 1,0",
        [[0, 0], [0, 1], [1, 1], [1, 0]],
        [(0, 0), (0, 1), (1, 1), (1, 0)],
        ["0,0", "0,1", "1,1", "1,0"],
    ],
)
def test_forms_of_devices(devices: Any) -> None:
    mesh = make_mesh("v5e:2x2", mesh="X=4", devices=devices)
    assert mesh.order == ((0, 0), (0, 1), (1, 1), (1, 0))


@pytest.mark.parametrize("devices", ["3 2 1 0", [3, 2, 1, 0], [[3], [2], [1], [0]]])
def test_devices_of_one_dimension(devices: Any) -> None:
    assert make_mesh("h100:4", devices=devices).order == ((3,), (2,), (1,), (0,))


def test_efficiency_and_launch_stand_in_for_what_was_measured() -> None:
    asked = make_collective(
        "ag", size=1, topology="h100-measured:8", efficiency="90 %", launch_overhead="5 us"
    )
    known = asked.topology.calibration
    assert (known.efficiency, known.launch_overhead) == (Fraction(9, 10), Fraction(5, 10**6))
    assert known.curves == ()


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_is_that_of_benchmarks(kind: CallKind) -> None:
    """Of an AllToAll and a permute it is what one chip sends; V is that of all of them."""
    given: dict[str, Any] = {"axes": "X"}
    if kind is TransferKind.SEND:
        given = {"start": "0,0", "end": "0,1"}
    run = ss.collective(kind.value, size="4 kB", topology="v5e:4x4", **given)
    assert run.benchmark_size == 4000
    per_chip = kind in (CollectiveKind.ALL_TO_ALL, TransferKind.PERMUTE)
    assert run.size == (16000 if per_chip else 4000)


def test_a_send_over_two_ways() -> None:
    """Two corners of a square: each way 2 hops; 8 chunks of 1/16 V: 9/16 V/w + 2a."""
    run = ss.collective(
        "send", size=720_000, topology="v5e:4x4", start=(0, 0), end="1,1", ways=2, chunks=8
    )
    assert run.simulated == Fraction(9, 16) * Fraction(720_000, 45 * 10**9) + Fraction(2, 10**6)
    assert len(run.calls) == 2


# what does not fit

ON = {"size": "1 MB", "topology": "v5e:4x4"}
SEND = {"start": "0,0", "end": "3,3"}
MISFITS: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("ag", {"shift": "1"}, "--shift is for permute, not for all_gather", "leave it out",
     "--shift:1:1"),
    ("a2a", {"root": "1"}, "--root is for gather, not for all_to_all", "leave it out", "--root"),
    ("gather", {"ways": "2"}, "--ways is for send, not for gather", "leave it out", "--ways:1:1"),
    ("ag", {"start": "0,0"}, "--from is for send, not for all_gather", "leave it out", "--from:1"),
    ("send", {**SEND, "axes": "X"}, "--axes is for all collectives but send, not for send",
     "send goes between two chips", "--axes:1:1"),
    ("send", {**SEND, "mesh": "X=16"}, "--mesh is for all collectives but send",
     "send goes between two chips", "--mesh:1:1"),
    ("send", {**SEND, "algorithm": "line"},
     "--algorithm is for all collectives but permute and send, not for send", "leave it out",
     "--algorithm:1:1"),
    ("permute", {"axes": "X", "schedule": "rotated"}, "--schedule is for all collectives but perm",
     "leave it out", "--schedule:1:1"),
    ("permute", {"axes": "X", "chunks": "2"}, "--chunks is for all collectives but permute, not",
     "leave it out", "--chunks:1:1"),
    ("send", {"start": "0,0"}, "send needs --to: the coordinates of a chip", "add --to 0,0", ""),
    ("send", {**SEND, "start": "0"}, "a chip of v5e:4x4 (4x4) has 2 coordinates, and 0 has 1",
     "write it as 0,1", "--from:1:1"),
    ("send", {**SEND, "end": "4,0"}, "v5e:4x4 (4x4) has no chip 4,0", "the last is 3,3",
     "--to:1:1"),
    ("send", {**SEND, "end": "a,b"}, "'a,b' are no coordinates of a chip", "write numbers such",
     "--to:1:1"),
    ("send", {**SEND, "ways": "0"}, "ways must be from 1 to 1e18; it is 0", "write 1 or more",
     "--ways:1:1"),
    ("ag", {"axes": "Z"}, "axis Z is not in the mesh; the mesh has X, Y", "add Z=SIZE", "--axes"),
    ("ag", {"axes": "X,Q"}, "axis Q is not in the mesh; the mesh has X, Y", "", "--axes:1:3"),
    ("ag", {"axes": "X,X"}, "axis X is named twice", "name it once", "--axes:1:3"),
    ("ag", {"axes": ","}, "axes names no axis", "write X,Y", "--axes:1:1"),
    ("ag", {"axes": 3}, "axes must be axes such as X,Y, not 3", "write it as X,Y", ""),
    ("ag", {"algorithm": "balanced"}, "algorithm balanced needs a ring; x is a line, y is a line",
     "leave the algorithm out, or choose line or reduce_broadcast", "--algorithm:1:1"),
    ("ag", {"algorithm": "in_network"}, "algorithm in_network is for all_reduce, not for all_gat",
     "leave the algorithm out", "--algorithm:1:1"),
    ("rs", {"algorithm": "reduce_broadcast"}, "algorithm reduce_broadcast is for all_reduce, not",
     "leave the algorithm out", "--algorithm:1:1"),
    ("ag", {"algorithm": "tree"}, "algorithm must be one of balanced, whole_shards", "balanced: on",
     "--algorithm:1:1"),
    ("ag", {"axes": "X", "schedule": "rotated"},
     "schedule rotated is for collectives over several rings, lines or switches; X lies on x alone",
     "leave the schedule out", "--schedule:1:1"),
    ("ag", {"chunks": "0"}, "chunks must be from 1 to 1e18; it is 0", "write 1 or", "--chunks:1:1"),
    ("ag", {"chunks": "9999"}, "chunks must be 4,096 at most; it is 9999", "write a smaller",
     "--chunks:1:1"),
    ("ag", {"chunks": "two"}, "chunks must be a whole number, 1 or more; it is 'two'", "write it",
     "--chunks:1:1"),
    ("ag", {"size": "0"}, "size: 0 must be more than 0 bytes", "", "--size:1:1"),
    ("ag", {"size": "32 MB/s"}, "size: 'MB/s' is not a unit of bytes; known: B, kB", "",
     "--size:1:1"),
    ("ag", {"size": "big"}, "size: 'big' is not a quantity in bytes", "write a num", "--size:1:1"),
    ("ag", {"topology": "v5e"}, "chip v5e needs a shape", "write v5e:", "--topology:1:1"),
    ("ag", {"mesh": "X=8"}, "the mesh X=8 has 8 chips, but v5e:4x4 has 16", "the sizes", "--mesh"),
    ("ag", {"efficiency": "1.5"}, "efficiency: 1.5 must be more than 0 and at most 1", "write 1.5",
     "--efficiency:1:1"),
    ("ag", {"launch_overhead": "3"}, "launch_overhead: 3 s is too long to be meant", "write 3 us",
     "--launch-overhead:1:1"),
    ("ag", {"latency_model": "x"}, "latency_model must be one of additive, floor", "additive: a",
     "--latency-model:1:1"),
    ("gather", {"root": "16"}, "there is no chip 16 among the 16 of a group",
     "write a number from 0 to 15", "--root:1:1"),
    ("gather", {"root": "-1"}, "there is no chip -1 among the 16 of a group", "write a", "--root"),
    ("gather", {"root": "first"}, "root must be a whole number; it is 'first'", "write it in",
     "--root:1:1"),
    ("permute", {"axes": "X", "shift": "8"}, "a shift by 8 over 4 chips sends nothing",
     "write a number from 1 to 3", "--shift:1:1"),
    ("permute", {}, "a shift is along one ring, line or switch; X, Y lie on x, y",
     "name one axis: --axes X", "collective:1:1"),
    ("ag", {"devices": "0,0 0,1"}, "devices leaves out 14 of 16 chips, such as [0, 2]",
     "name every chip once", "--devices:1:1"),
    ("ag", {"devices": "0,0 0,0"}, "devices names chip [0, 0] twice", "name each", "--devices:1:1"),
    ("ag", {"devices": "0,0 9,9"}, "v5e:4x4 (4x4) has no chip 9,9", "the last is 3,3",
     "--devices:1:5"),
    ("ag", {"devices": "0,0", "layout": "X=x,Y=y"}, "layout and devices both say where axes lie",
     "keep one", "--devices:1:1"),
    ("ag", {"devices": 3}, "devices must be a list of coordinates such as [[0, 0], [0, 1]], not 3",
     "write it as", ""),
    ("ag", {"layout": "X=x,Y=y:(3)4"}, "layout of axis Y: y:(3)4 is no part of the 4 chips of y",
     "the two numbers must multiply to a divisor of 4", "--layout:1:1"),
    ("ag", {"layout": "X=x,Y=y:4"}, "layout of axis Y: 'y:4' is no dimension", "write x, x+y for",
     "--layout:1:1"),
    ("ag", {"layout": "X=snake,Y=y"}, "layout snake is for one axis over all chips", "name the ch",
     "--layout:1:1"),
    ("ag", {"topology": "v5e:3x3", "mesh": "X=9", "layout": "X=ring"},
     "no ring goes through all chips of a grid of 3x3", "a ring needs two dimensions", "--layout"),
    ("agg", {}, "there is no collective 'agg'", "did you mean ag?", "collective:1:1"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "given", "message", "hint", "place"), MISFITS)
def test_what_does_not_fit_is_an_error(
    kind: str, given: dict[str, Any], message: str, hint: str, place: str
) -> None:
    with pytest.raises(InputError) as caught:
        make_collective(kind, **{**ON, **given})
    assert not isinstance(caught.value, InputErrors)
    assert caught.value.message.startswith(message)
    assert caught.value.hint.startswith(hint)
    assert str(caught.value.place or "").startswith(place)
    assert bool(caught.value.place) is bool(place)


def test_every_option_of_some_kinds_only_is_refused_for_the_others() -> None:
    values = {"mesh": "X=4,Y=4", "layout": "X=x,Y=y", "devices": "0,0", "axes": "X",
              "algorithm": "line", "schedule": "rotated", "chunks": "2", "shift": "1",
              "root": "0", "start": "0,0", "end": "0,1", "ways": "1"}  # fmt: skip
    assert set(values) == set(ONLY_FOR)
    for name, kinds in ONLY_FOR.items():
        for kind in set(KINDS) - set(kinds):
            needed = SEND if kind is TransferKind.SEND else {}
            with pytest.raises(ScenarioError, match=r" is for .*, not for "):
                make_collective(kind.value, **{**ON, **needed, name: values[name]})


def test_all_faults_at_once() -> None:
    with pytest.raises(InputErrors) as caught:
        make_collective("ag", size="x", topology="v5e:4x4", shift="1", chunks="0", root="0")
    assert [error.message.split(";")[0] for error in caught.value.errors] == [
        "--shift is for permute, not for all_gather",
        "--root is for gather, not for all_gather",
        "chunks must be from 1 to 1e18",
        "size: 'x' is not a quantity in bytes",
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({**ON, "sise": 3}, "unknown setting sise; known: size, topology, mesh, layout, devices"),
        ({"topology": "v5e:4x4"}, "size is missing; a collective needs it\n  help: add size="),
        ({"size": 3}, 'topology is missing; a collective needs it\n  help: add topology="h100:8"'),
    ],
)
def test_settings_in_python(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ShardsimError) as caught:
        ss.collective("ag", **settings)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ag", "--on", "v5e:4x4"), "error: --size is missing; a collective needs it\n"
         "  help: add --size 32MiB\n"),
        (("ag", "--size", "1MB"), "error: --topology is missing; a collective needs it\n"
         "  help: add --topology v5e:4x4\n"),
        (("ag", "--size", "1MB", "--on", "v5e:4x4", "--shift", "2"),
         "error: --shift is for permute, not for all_gather\n  --> --shift:1:1\n"),
        (("ar", "--size", "1MB", "--on", "a100:8", "--algorithm", "in_network"),
         "error: the switch gpu cannot add: algorithm in_network needs one that can\n"),
        (("ar", "--size", "1MB", "--on", "h100:2x8", "--algorithm", "in_network"),
         "error: the switch node cannot add: algorithm in_network needs one that can\n"),
        (("send", "--size", "1MB", "--on", "v5e:4x4", "--from", "0,0", "--to", "0,0"),
         "error: a chip sends nothing to itself\n"),
        (("send", "--size", "1MB", "--on", "v5e:4x4", "--from", "0,0", "--to", "3,3", "--ways",
          "3"), "error: from [0, 0] to [3, 3] no 3 shortest ways go without sharing a link"),
    ],
)  # fmt: skip
def test_faults_on_the_command_line(arguments: tuple[str, ...], message: str) -> None:
    result = command("collective", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(message)
