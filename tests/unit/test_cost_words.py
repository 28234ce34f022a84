"""The formulas that are printed are those that are computed."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest

from shardsim.call import Call
from shardsim.cost import CostModel
from shardsim.cost.book import book_in_words, book_seconds
from shardsim.cost.phases import phases
from shardsim.cost.relations import exact_terms
from shardsim.cost.schedule import phase_ways
from shardsim.cost.terms import NOTHING, Terms, later
from shardsim.cost.words import exact_in_words
from shardsim.hardware import Calibration, Link
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    LatencyModel,
    Schedule,
    TransferKind,
)
from tests.machines import call_on, machine

LINK = Link(Fraction(7), Fraction(3, 11))
V = Fraction(5000)
ON_LINES = (Algorithm.LINE, Algorithm.REDUCE_BROADCAST)
AT_SWITCHES = (Algorithm.DIRECT, Algorithm.RING, Algorithm.IN_NETWORK)
ONLY_ALL_REDUCE = (Algorithm.REDUCE_BROADCAST, Algorithm.IN_NETWORK)
PAIRS = [
    (kind, algorithm)
    for kind in CollectiveKind
    for algorithm in Algorithm
    if kind is CollectiveKind.ALL_REDUCE or algorithm not in ONLY_ALL_REDUCE
]


def value(text: str, **more: Fraction) -> Fraction:
    """Evaluates `2 (3/4 V/w + 3a)`: a space or nothing between factors multiplies."""
    text = re.sub(r"(V|\([\d/]+ V\))/(\d*)w", lambda m: f"({m[1]}/({m[2] or 1}*w))", text)
    text = re.sub(r"(\d+)/(\d+)", r"Fraction(\1, \2)", text)
    text = re.sub(r"(\d+)a\b", r"\1*a", text)
    text = re.sub(r"([\d)]) (?=[(a-zV])", r"\1*", text)
    names: dict[str, Any] = {"V": V, "w": LINK.one_way_bandwidth, "a": LINK.latency, **more}
    return Fraction(eval(text, {"max": max, "Fraction": Fraction}, names))


def chain(text: str) -> Fraction:
    """Evaluates `x: 3/4 V/w then y: 1/2 V/w`: one after the other."""
    return sum((value(part.split(": ")[1]) for part in text.split(" then ")), Fraction(0))


def called(
    kind: CallKind, algorithm: Algorithm, size: int, under: Link = LINK, **more: int
) -> Call:
    what = "line" if algorithm in ON_LINES else "switch" if algorithm in AT_SWITCHES else "ring"
    topology = machine((size, what), link=under, reduces=True)
    return call_on(topology, kind, V, algorithm=algorithm, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 15, 16])
@pytest.mark.parametrize(("kind", "algorithm"), PAIRS)
def test_exact(kind: CollectiveKind, algorithm: Algorithm, size: int) -> None:
    call = called(kind, algorithm, size)
    text = exact_in_words(call, LatencyModel.ADDITIVE)
    assert value(text) == exact_terms(call, LatencyModel.ADDITIVE).total


@pytest.mark.parametrize("size", [2, 3, 4, 7, 16])
@pytest.mark.parametrize("what", ["ring", "line", "switch"])
@pytest.mark.parametrize("kind", [*CollectiveKind, *TransferKind])
def test_book(kind: CallKind, what: str, size: int) -> None:
    segments = call_on(machine((size, what), link=LINK), kind, V).group.segments
    text = book_in_words(kind, segments)
    assert value(text) == book_seconds(kind, V, segments)
    assert value(text, V=Fraction(0)) == book_seconds(kind, Fraction(0), segments)


@pytest.mark.parametrize(
    "dimensions", [[(4, "ring"), (4, "ring")], [(3, "ring"), (8, "line"), (5, "ring")]]
)
@pytest.mark.parametrize("kind", [*CollectiveKind, TransferKind.GATHER])
def test_book_over_several(kind: CallKind, dimensions: list[tuple[int, str]]) -> None:
    segments = call_on(machine(*dimensions, link=LINK), kind, V).group.segments
    text = book_in_words(kind, segments)
    for size in (V, Fraction(0)):
        assert value(text, V=size) == book_seconds(kind, size, segments)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
@pytest.mark.parametrize(("kind", "algorithm"), PAIRS)
def test_the_floor_model(kind: CollectiveKind, algorithm: Algorithm, size: int) -> None:
    """Where every message is longer than the latency, only the bandwidth term is left."""
    call = called(kind, algorithm, size, Link(LINK.one_way_bandwidth, Fraction(1, 10**9)))
    text, said = exact_in_words(call, LatencyModel.FLOOR).split(", ")
    assert said == "a message taking at least a"
    assert value(text) == exact_terms(call, LatencyModel.FLOOR).total


TRANSFERS = [
    (TransferKind.PERMUTE, Algorithm.BALANCED, {"shift": 0}),
    *((TransferKind.PERMUTE, Algorithm.BALANCED, {"shift": shift}) for shift in (1, 2, 4, 5)),
    *((TransferKind.PERMUTE, Algorithm.LINE, {"shift": shift}) for shift in (1, 2, 4, 5)),
    (TransferKind.PERMUTE, Algorithm.DIRECT, {"shift": 3}),
    *((TransferKind.SEND, Algorithm.LINE, {"chunks": chunks}) for chunks in (1, 2, 3, 10)),
    *(
        (CollectiveKind.ALL_REDUCE, Algorithm.REDUCE_BROADCAST, {"chunks": chunks})
        for chunks in (1, 2, 3, 10)
    ),
    *(
        (TransferKind.GATHER, algorithm, {"root": root})
        for algorithm in Algorithm
        if algorithm not in ONLY_ALL_REDUCE
        for root in (0, 1)
    ),
]


@pytest.mark.parametrize("size", [2, 3, 6, 7])
@pytest.mark.parametrize(("kind", "algorithm", "more"), TRANSFERS)
def test_transfers(kind: CallKind, algorithm: Algorithm, more: dict[str, int], size: int) -> None:
    for latency in (LINK.latency, Fraction(500)):  # in an even ring the longer of two ways counts
        call = called(kind, algorithm, size, Link(LINK.one_way_bandwidth, latency), **more)
        text = exact_in_words(call, LatencyModel.ADDITIVE)
        assert value(text, a=latency) == exact_terms(call, LatencyModel.ADDITIVE).total


ALIKE = [
    [(4, "ring"), (4, "ring")],
    [(5, "ring"), (5, "ring"), (5, "ring")],
    [(4, "line"), (4, "line")],
    [(2, "line"), (2, "line"), (2, "line")],
    [(4, "switch"), (4, "switch")],
]


@pytest.mark.parametrize("algorithm", [None, *Algorithm])
@pytest.mark.parametrize("dimensions", ALIKE)
@pytest.mark.parametrize("kind", [*CollectiveKind][:3])
def test_several_alike(
    kind: CollectiveKind, dimensions: list[tuple[int, str]], algorithm: Algorithm | None
) -> None:
    """One formula for all, but where shards stay whole."""
    if algorithm in ONLY_ALL_REDUCE:
        algorithm = None
    topology = machine(*dimensions, link=LINK)
    call = call_on(topology, kind, V, algorithm=algorithm, schedule=Schedule.ROTATED)
    text = exact_in_words(call, LatencyModel.ADDITIVE)
    if Algorithm.WHOLE_SHARDS in call.method.algorithms:
        assert text.startswith(f"longest chain of {len(dimensions)} streams, the first: ")
    else:
        assert value(text) == exact_terms(call, LatencyModel.ADDITIVE).total


SEVERAL = [
    # 4 and 6 chips: 1/6 of V goes along x first, then all of it along y
    (
        [(4, "ring"), (6, "ring")],
        CollectiveKind.ALL_GATHER,
        "x: 3/4 (1/6 V)/2w + 2a then y: 5/6 V/2w + 3a",
    ),
    (
        [(2, "switch"), (4, "ring")],
        CollectiveKind.ALL_REDUCE,
        "y: 3/4 V/2w + 2a then x: 1/2 (1/4 V)/w + a then x: 1/2 (1/4 V)/w + a then "
        "y: 3/4 V/2w + 2a",
    ),
    (
        [(4, "ring"), (2, "switch")],
        CollectiveKind.ALL_TO_ALL,
        "x: (1/2 V)/8w + 2a then y: 1/4 (1/4 V)/w + a",
    ),
]


@pytest.mark.parametrize(("dimensions", "kind", "text"), SEVERAL)
def test_one_stream_over_several(
    dimensions: list[tuple[int, str]], kind: CollectiveKind, text: str
) -> None:
    call = call_on(machine(*dimensions, link=LINK), kind, V, schedule=Schedule.SEQUENTIAL)
    assert exact_in_words(call, LatencyModel.ADDITIVE) == text
    assert chain(text) == exact_terms(call, LatencyModel.ADDITIVE).total


STREAMS = [
    ([(4, "ring"), (6, "ring")], Schedule.ROTATED, 1),
    ([(4, "ring"), (6, "ring")], Schedule.BALANCED, 1),
    ([(4, "ring"), (4, "ring")], Schedule.ROTATED, 3),
    ([(4, "ring"), (2, "switch"), (3, "ring")], Schedule.ROTATED, 2),
]


@pytest.mark.parametrize(("dimensions", "schedule", "chunks"), STREAMS)
@pytest.mark.parametrize("kind", CollectiveKind)
def test_streams_are_counted_and_the_first_is_written_out(
    kind: CollectiveKind, dimensions: list[tuple[int, str]], schedule: Schedule, chunks: int
) -> None:
    topology = machine(*dimensions, link=LINK)
    call = call_on(topology, kind, V, schedule=schedule, chunks=chunks)
    text = exact_in_words(call, LatencyModel.ADDITIVE)
    head, _, first = text.partition(", the first: ")
    assert head == f"longest chain of {len(call.method.streams) * chunks} streams"
    assert chain(first) == alone(call).total


def alone(call: Call) -> Terms:
    """The phases of the first stream in a row."""
    total = NOTHING
    for phase in phases(call):
        if phase.job == 0:
            total = total + later(*phase_ways(call, phase, LatencyModel.ADDITIVE))
    return total


def test_steps_of_several_hops() -> None:
    """16 chips of a ring as 4 x 4: a step of X is four links, which four groups share."""
    topology = machine((16, "ring"), link=LINK)
    for kind in CollectiveKind:
        call = call_on(topology, kind, V, "X", {"X": 4, "Y": 4})
        text = exact_in_words(call, LatencyModel.ADDITIVE)
        assert "4 (" in text
        assert value(text) == exact_terms(call, LatencyModel.ADDITIVE).total
        near = call_on(topology, kind, V, "Y", {"X": 4, "Y": 4})
        assert exact_in_words(near, LatencyModel.ADDITIVE) == exact_in_words(
            called(kind, Algorithm.LINE, 4), LatencyModel.ADDITIVE
        )


def test_where_there_is_a_bound_only() -> None:
    call = call_on(
        machine((16, "line"), link=LINK), CollectiveKind.ALL_GATHER, V, "X", {"X": 4, "Y": 4}
    )
    assert exact_in_words(call, LatencyModel.ADDITIVE) == "bytes of the busiest link / its w + a"
    assert exact_in_words(call, LatencyModel.FLOOR) == (
        "bytes of the busiest link/w, a message taking at least a"
    )


def test_the_launch_is_added() -> None:
    known = Calibration(launch_overhead=Fraction(3), efficiency=Fraction(9, 10))
    call = call_on(machine((4, "ring"), link=LINK, calibration=known), CollectiveKind.ALL_GATHER, V)
    text = exact_in_words(call, LatencyModel.ADDITIVE)
    assert text == "3/4 V/2w + 2a + launch"
    slower = LINK.one_way_bandwidth * Fraction(9, 10)
    assert (
        value(text, launch=Fraction(3), w=slower) == exact_terms(call, LatencyModel.ADDITIVE).total
    )


def test_one_chip() -> None:
    call = called(CollectiveKind.ALL_GATHER, Algorithm.BALANCED, 1)
    assert exact_in_words(call, LatencyModel.FLOOR) == "0"
    assert book_in_words(call.kind, call.group.segments) == "0"


def test_words_of_the_book_about_switches() -> None:
    nodes = machine((4, "switch"), (8, "switch"), link=LINK)
    found = {kind: call_on(nodes, kind, V).group.segments for kind in CollectiveKind}
    assert [book_in_words(kind, segments) for kind, segments in found.items()] == [
        "V/w, w of the slower tier, V spread over the chips nearer by",
        "V/w, w of the slower tier, V spread over the chips nearer by",
        "2 V/w, w of the slower tier, V spread over the chips nearer by",
        "V/32w, w of the slower tier",
    ]


def test_a_price_carries_its_texts() -> None:
    price = CostModel().collective(called(CollectiveKind.ALL_GATHER, Algorithm.BALANCED, 4))
    assert (price.exact_formula, price.book_formula) == ("3/4 V/2w + 2a", "max(V/2w, 2a)")
