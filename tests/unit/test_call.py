"""Calls and methods: which algorithm, which streams and chunks, and what cannot be asked for."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.call import Method, Stream, choose_algorithm, in_shares, make_call, rotations
from shardsim.errors import PlanError
from shardsim.hardware import Calibration, Curve, Link
from shardsim.mesh import Segment, lay_mesh
from shardsim.topology import Topology
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    DimensionKind,
    Schedule,
    TransferKind,
)
from tests.machines import LINK, call_on, machine

THIRD = Fraction(1, 3)


# Which algorithm.

CHOICES = [
    (None, "ring", "balanced"),
    ("balanced", "ring", "balanced"),
    ("whole_shards", "ring", "whole_shards"),
    ("half_shards", "ring", "half_shards"),
    ("one_direction", "ring", "one_direction"),
    (None, "line", "line"),
    ("line", "line", "line"),
    (None, "switch", "direct"),
    ("direct", "switch", "direct"),
    ("ring", "switch", "ring"),
    # what cannot run there leaves the segment its own
    ("balanced", "line", "line"),
    ("line", "ring", "balanced"),
    ("balanced", "switch", "direct"),
    # for AllReduce only
    ("reduce_broadcast", "line", "line"),
    ("in_network", "switch", "direct"),
]


def segment(kind: str) -> Segment:
    link = Link(Fraction(1), Fraction(0))
    return Segment(name="x", size=4, kind=DimensionKind(kind), link=link, reason="as given")


@pytest.mark.parametrize(("wanted", "kind", "used"), CHOICES)
def test_choice_of_algorithm(wanted: str | None, kind: str, used: str) -> None:
    asked = None if wanted is None else Algorithm(wanted)
    found = choose_algorithm(asked, segment(kind), CollectiveKind.ALL_GATHER, Calibration())
    assert found.value == used


@pytest.mark.parametrize(
    ("wanted", "kind"), [("reduce_broadcast", "line"), ("in_network", "switch")]
)
def test_algorithms_of_all_reduce_alone(wanted: str, kind: str) -> None:
    found = choose_algorithm(
        Algorithm(wanted), segment(kind), CollectiveKind.ALL_REDUCE, Calibration()
    )
    assert found.value == wanted


@pytest.mark.parametrize(
    ("measured", "kind", "used"),
    [
        # curves are those of rings of messages, of AllToAll of direct ones
        (CollectiveKind.ALL_GATHER, "switch", "ring"),
        (CollectiveKind.ALL_TO_ALL, "switch", "direct"),
        (CollectiveKind.ALL_GATHER, "ring", "balanced"),
    ],
)
def test_choice_where_something_was_measured(
    measured: CollectiveKind, kind: str, used: str
) -> None:
    curve = Curve(kind=measured, chips=4, launch=Fraction(0))
    known = Calibration(curves=(curve,))
    assert choose_algorithm(None, segment(kind), measured, known).value == used
    # of another collective nothing was measured
    other = choose_algorithm(None, segment(kind), CollectiveKind.REDUCE_SCATTER, known)
    assert other is choose_algorithm(
        None, segment(kind), CollectiveKind.REDUCE_SCATTER, Calibration()
    )


# Streams, shares and chunks.


def test_rotations_of_three() -> None:
    assert rotations(3) == (
        Stream((0, 1, 2), (Fraction(0), THIRD)),
        Stream((1, 2, 0), (THIRD, 2 * THIRD)),
        Stream((2, 0, 1), (2 * THIRD, Fraction(1))),
    )


def test_a_share_of_nothing_leaves_no_stream() -> None:
    found = in_shares([(0, 1), (1, 0)], (Fraction(0), Fraction(1)))
    assert found == (Stream((1, 0), (Fraction(0), Fraction(1))),)
    assert rotations(2, (Fraction(1), Fraction(0))) == (Stream((0, 1)),)


def test_chunks_of_all_streams_take_turns() -> None:
    quarter = Fraction(1, 4)
    method = Method(
        algorithms=(Algorithm.BALANCED,) * 2,
        streams=in_shares([(0, 1), (1, 0)], (quarter, 3 * quarter)),
        chunks=2,
    )
    assert list(method.jobs()) == [
        Stream((0, 1), (Fraction(0), quarter / 2)),
        Stream((1, 0), (quarter, 5 * quarter / 2)),
        Stream((0, 1), (quarter / 2, quarter)),
        Stream((1, 0), (5 * quarter / 2, Fraction(1))),
    ]


NAMES = [
    ([(4, "ring")], {}, "balanced"),
    ([(4, "ring")], {"algorithm": Algorithm.HALF_SHARDS, "chunks": 3}, "half_shards in 3 chunks"),
    ([(4, "ring"), (2, "line")], {}, "rotated(balanced, line)"),
    ([(4, "ring"), (2, "line")], {"schedule": Schedule.BALANCED}, "balanced(balanced, line)"),
    ([(4, "ring"), (2, "switch")], {}, "rotated(balanced, direct)"),
    (
        [(4, "ring"), (4, "ring"), (4, "ring")],
        {"chunks": 2, "algorithm": Algorithm.ONE_DIRECTION},
        "rotated(one_direction, one_direction, one_direction) in 2 chunks",
    ),
]


@pytest.mark.parametrize(("dimensions", "wanted", "name"), NAMES)
def test_names_of_methods(
    dimensions: list[tuple[int, str]], wanted: dict[str, object], name: str
) -> None:
    call = call_on(
        machine(*dimensions),
        CollectiveKind.ALL_GATHER,
        1000,
        **wanted,  # type: ignore[arg-type]
    )
    assert call.method.name == name


# Which schedule.


def slower(factor: int) -> Link:
    return Link(LINK.one_way_bandwidth / factor, LINK.latency)


SCHEDULES = [
    # alike links: all rings and lines at once
    (machine((4, "ring"), (8, "line")), "rotated", [(0, 1), (1, 0)]),
    # a slow link moves the least where its segment is gathered first
    (machine((4, "ring"), (4, "ring"), links=[LINK, slower(3)]), "sequential", [(1, 0)]),
    (machine((4, "ring"), (4, "ring"), links=[slower(3), LINK]), "sequential", [(0, 1)]),
    # nodes by a slow network, then inside them
    (machine((4, "switch"), (8, "switch"), links=[slower(9), LINK]), "sequential", [(0, 1)]),
    # a switch is rotated with others where links are alike
    (machine((2, "switch"), (8, "ring")), "rotated", [(0, 1), (1, 0)]),
    # slices: the slow switch, then both rings at once
    (
        machine((2, "switch"), (4, "ring"), (8, "ring"), links=[slower(9), LINK, LINK]),
        "tiered",
        [(0, 1, 2), (0, 2, 1)],
    ),
]


@pytest.mark.parametrize(("topology", "schedule", "orders"), SCHEDULES)
def test_the_schedule_where_nobody_says(
    topology: Topology, schedule: str, orders: list[tuple[int, ...]]
) -> None:
    method = call_on(topology, CollectiveKind.ALL_GATHER, 10**9).method
    assert method.schedule.value == schedule
    assert [stream.order for stream in method.streams] == orders


@pytest.mark.parametrize("kind", CollectiveKind)
@pytest.mark.parametrize("schedule", Schedule)
def test_a_schedule_that_was_asked_for(kind: CollectiveKind, schedule: Schedule) -> None:
    topology = machine((4, "ring"), (8, "ring"), (2, "line"))
    method = call_on(topology, kind, 1000, schedule=schedule).method
    assert method.schedule is schedule
    assert method.streams[0].share[0] == 0
    assert method.streams[-1].share[1] == 1
    assert (len(method.streams) == 1) == (schedule is Schedule.SEQUENTIAL)


def test_one_segment_has_one_stream() -> None:
    method = call_on(
        machine((4, "ring")), CollectiveKind.ALL_GATHER, 1, schedule=Schedule.ROTATED
    ).method
    assert (method.streams, method.schedule) == ((Stream((0,)),), Schedule.SEQUENTIAL)


# What a call cannot do.

FAULTS: list[tuple[Topology, CallKind, dict[str, object], str, str]] = [
    (
        machine((4, "switch")),
        CollectiveKind.ALL_REDUCE,
        {"algorithm": Algorithm.IN_NETWORK},
        "the switch x cannot add: algorithm in_network needs one that can",
        "choose direct or ring, or write reduces: true for the switch in a topology file",
    ),
    (
        machine((4, "switch"), (2, "ring"), reduces=True),
        CollectiveKind.ALL_REDUCE,
        {"algorithm": Algorithm.IN_NETWORK},
        "algorithm in_network is for one segment; X, Y lie on 2",
        "name one axis, or choose another algorithm",
    ),
    (
        machine((4, "line"), (2, "ring")),
        CollectiveKind.ALL_REDUCE,
        {"algorithm": Algorithm.REDUCE_BROADCAST},
        "algorithm reduce_broadcast is for one segment; X, Y lie on 2",
        "name one axis, or choose another algorithm",
    ),
    (
        machine((4, "line"), (2, "ring")),
        TransferKind.PERMUTE,
        {},
        "a permute along X, Y crosses 2 segments",
        "name an axis that lies on one ring, line or switch",
    ),
]


@pytest.mark.parametrize(("topology", "kind", "wanted", "message", "hint"), FAULTS)
def test_what_cannot_be_called(
    topology: Topology, kind: CallKind, wanted: dict[str, object], message: str, hint: str
) -> None:
    with pytest.raises(PlanError) as caught:
        call_on(topology, kind, 1, **wanted)  # type: ignore[arg-type]
    assert (caught.value.message, caught.value.hint) == (message, hint)


# Calibration.


def test_the_machine_s_calibration_is_the_call_s() -> None:
    known = Calibration(efficiency=Fraction(9, 10), launch_overhead=Fraction(1, 10**5))
    call = call_on(machine((4, "ring"), calibration=known), CollectiveKind.ALL_GATHER, 1000)
    assert (call.efficiency, call.launch) == (Fraction(9, 10), Fraction(1, 10**5))
    plain = call_on(machine((4, "ring")), CollectiveKind.ALL_GATHER, 1000)
    assert (plain.efficiency, plain.launch) == (Fraction(1), Fraction(0))


def test_a_curve_is_read_at_the_call_s_size_and_chips() -> None:
    half, whole = Fraction(1, 2), Fraction(1)
    curves = (
        Curve(
            kind=CollectiveKind.ALL_GATHER,
            chips=8,
            launch=Fraction(3),
            points=((Fraction(100), half), (Fraction(1000), whole)),
        ),
    )
    topology = machine((2, "ring"), (4, "ring"), calibration=Calibration(curves=curves))
    group = lay_mesh(topology).group(("X", "Y"))
    method = Method(algorithms=(Algorithm.BALANCED,) * 2, streams=rotations(2))
    found = {
        size: make_call(CollectiveKind.ALL_GATHER, group, Fraction(size), method).efficiency
        for size in (1, 100, 400, 1000, 5000)
    }
    # V / share goes from 200 to 1000 in a straight line: at 400 it is 200 + 800 / 3
    assert found == {1: half, 100: half, 400: Fraction(6, 7), 1000: whole, 5000: whole}
    call = make_call(CollectiveKind.ALL_GATHER, group, Fraction(1), method)
    assert call.launch == 3
