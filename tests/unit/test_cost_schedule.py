"""Phases in a row and side by side, and the busiest link: worked by hand, and simulated.

V = 480 bytes at 10 bytes/s: V/w is 48 s. Latency is 1/2 s.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from shardsim.call import Method, Stream, make_call
from shardsim.cost import CostModel, Terms
from shardsim.cost.bounds import busiest_link
from shardsim.cost.phases import Phase, phases
from shardsim.cost.wire import wire_bytes
from shardsim.hardware import Calibration, Link
from shardsim.timeline import Core, Port
from shardsim.topology import Topology
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    LatencyModel,
    Relation,
    Schedule,
    TransferKind,
)
from tests.machines import call_on, machine, run_call

V = 480
HALF = Fraction(1, 2)
LINK = Link(Fraction(10), HALF)
GATHER, SCATTER = CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER
REDUCE, EXCHANGE = CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_TO_ALL


# Phases: number, stream, segment, kind, bytes.

PHASES = [
    # 4 x 2: along x first 1/2 of V, then all of it; backwards the other way round
    (GATHER, [(0, 0, GATHER, 240), (1, 1, GATHER, 480)]),
    (SCATTER, [(0, 1, SCATTER, 480), (1, 0, SCATTER, 240)]),
    (
        REDUCE,
        [(0, 1, SCATTER, 480), (1, 0, SCATTER, 240), (2, 0, GATHER, 240), (3, 1, GATHER, 480)],
    ),
    # each exchanges a chip's 60 bytes: V as four chips see it, and as two
    (EXCHANGE, [(0, 0, EXCHANGE, 240), (1, 1, EXCHANGE, 120)]),
]


@pytest.mark.parametrize(("kind", "expected"), PHASES)
def test_phases_of_one_stream(
    kind: CollectiveKind, expected: list[tuple[int, int, CollectiveKind, int]]
) -> None:
    group = call_on(machine((4, "ring"), (2, "line"), link=LINK), kind, V).group
    method = Method(algorithms=(Algorithm.BALANCED, Algorithm.LINE), streams=(Stream((0, 1)),))
    assert phases(make_call(kind, group, Fraction(V), method)) == [
        Phase(number, 0, segment, one, Fraction(size)) for number, segment, one, size in expected
    ]


def test_phases_of_several_streams_by_number_then_stream() -> None:
    call = call_on(machine((4, "ring"), (4, "ring"), link=LINK), GATHER, V, chunks=2)
    found = [(p.number, p.job, p.segment, int(p.size)) for p in phases(call)]
    assert found == [
        (0, 0, 0, 30), (0, 1, 1, 30), (0, 2, 0, 30), (0, 3, 1, 30),
        (1, 0, 1, 120), (1, 1, 0, 120), (1, 2, 1, 120), (1, 3, 0, 120),
    ]  # fmt: skip


# The longest chain. Ring of 4: 3/4 V/20 + 2 x 1/2; line of 2: 1/2 V/10 + 1/2.

CHAINS: list[tuple[str, Topology, CallKind, dict[str, object], Terms, str]] = [
    (
        "one ring after the other: 3/4 of 120 and of 480 by two links",
        machine((4, "ring"), (4, "ring"), link=LINK),
        GATHER,
        {"schedule": Schedule.SEQUENTIAL},
        Terms(Fraction(9, 2) + 18, Fraction(2)),
        "equal",
    ),
    (
        "both at once, half of it each",
        machine((4, "ring"), (4, "ring"), link=LINK),
        GATHER,
        {},
        Terms(Fraction(45, 4), Fraction(2)),
        "equal",
    ),
    (
        "there and back",
        machine((4, "ring"), (4, "ring"), link=LINK),
        REDUCE,
        {},
        Terms(Fraction(45, 2), Fraction(4)),
        "equal",
    ),
    (
        # each phase exchanges V/4 by rings, in halves: 120/80/2, twice
        "an exchange",
        machine((4, "ring"), (4, "ring"), link=LINK),
        EXCHANGE,
        {},
        Terms(Fraction(3, 2), Fraction(2)),
        "equal",
    ),
    (
        # the second chunk is sent when the first has left, 1/2 s before it has arrived
        "two chunks on one ring: 9 s each",
        machine((4, "ring"), link=LINK),
        GATHER,
        {"chunks": 2},
        Terms(Fraction(18), Fraction(3, 2)),
        "equal",
    ),
    (
        # x: 3/4 of 240 by two links, 9 s and 2 hops; y: half of 480, 24 s and one
        "a ring, then a line",
        machine((4, "ring"), (2, "line"), link=LINK),
        GATHER,
        {"schedule": Schedule.ROTATED, "algorithm": None},
        Terms(Fraction(9, 2) + 12, Fraction(3, 2)),
        "upper_bound",
    ),
    (
        # node first: 1/2 of 120 at 10 bytes/s; then 3/4 of 480
        "two tiers of switches",
        machine((2, "switch"), (4, "switch"), link=LINK),
        GATHER,
        {"schedule": Schedule.SEQUENTIAL},
        Terms(Fraction(6 + 36), Fraction(1)),
        "equal",
    ),
    (
        "equal lines: 15/16 V/2w and 2 x 3 hops",
        machine((4, "line"), (4, "line"), link=LINK),
        GATHER,
        {},
        Terms(Fraction(45, 2), Fraction(3)),
        "equal",
    ),
]


@pytest.mark.parametrize(
    ("topology", "kind", "more", "terms", "relation"),
    [row[1:] for row in CHAINS],
    ids=[row[0] for row in CHAINS],
)
def test_the_longest_chain(
    topology: Topology, kind: CallKind, more: dict[str, object], terms: Terms, relation: str
) -> None:
    call = call_on(topology, kind, V, **more)  # type: ignore[arg-type]
    price = CostModel().collective(call)
    assert (price.exact, price.relation.value) == (terms, relation)
    makespan = run_call(call).makespan
    assert makespan == terms.total if relation == "equal" else makespan <= terms.total


# The busiest link, where there is no closed form.


def slowed(topology: Topology, rate: int = 5) -> Topology:
    """The link up from the second chip has other bandwidth, and the same latency."""
    return replace(topology, changed=((((1,), (0, +1)), Link(Fraction(rate), HALF)),))


SLOW_RING = slowed(machine((4, "ring"), link=LINK))
SLOW_LINE = slowed(machine((4, "line"), link=LINK))
BUSIEST = [
    # a ring of 4 sends 180 each way over every link: 36 s over the slow one
    (SLOW_RING, GATHER, {}, Terms(Fraction(36), HALF)),
    (SLOW_RING, REDUCE, {}, Terms(Fraction(72), HALF)),
    # 60 of an exchange, 12 s
    (SLOW_RING, EXCHANGE, {}, Terms(Fraction(12), HALF)),
    (SLOW_RING, GATHER, {"algorithm": Algorithm.ONE_DIRECTION}, Terms(Fraction(72), HALF)),
    # of a line, from the second chip up: two blocks of 120
    (SLOW_LINE, GATHER, {}, Terms(Fraction(48), HALF)),
    # 2 x 2 blocks of 30 in an exchange
    (SLOW_LINE, EXCHANGE, {}, Terms(Fraction(24), HALF)),
]


@pytest.mark.parametrize(("topology", "kind", "more", "terms"), BUSIEST, ids=range(len(BUSIEST)))
def test_the_busiest_link(
    topology: Topology, kind: CollectiveKind, more: dict[str, object], terms: Terms
) -> None:
    call = call_on(topology, kind, V, **more)  # type: ignore[arg-type]
    assert busiest_link(call, LatencyModel.ADDITIVE) == terms
    price = CostModel().collective(call)
    assert (price.exact, price.relation) == (terms, Relation.LOWER_BOUND)
    assert run_call(call).makespan >= terms.total


def test_steps_that_share_links() -> None:
    """A line of 8 as 4 x 2: X's steps are two links, and two groups share each.

    The busiest carries 3 blocks of 120 of either group, 72 s; the farthest block goes 3 x 2 hops of
    12 1/2 s.
    """
    call = call_on(machine((8, "line"), link=LINK), GATHER, V, "X", {"X": 4, "Y": 2})
    price = CostModel().collective(call)
    assert price.relation is Relation.LOWER_BOUND
    assert price.exact.total == 75
    assert run_call(call).makespan >= 75
    # of a ring the same way is exact: 2 (3/4 V/2w + 2a)
    ring = call_on(machine((8, "ring"), link=LINK), GATHER, V, "X", {"X": 4, "Y": 2})
    price = CostModel().collective(ring)
    assert (price.exact, price.relation) == (Terms(Fraction(36), Fraction(2)), Relation.EQUAL)
    assert run_call(ring).makespan == 38


CALIBRATED = Calibration(efficiency=HALF, launch_overhead=Fraction(7))


@pytest.mark.parametrize("model", LatencyModel)
@pytest.mark.parametrize("kind", [*CollectiveKind, *TransferKind])
@pytest.mark.parametrize("what", ["ring", "line", "switch"])
def test_efficiency_and_launch_in_a_closed_form(
    what: str, kind: CallKind, model: LatencyModel
) -> None:
    """Bandwidth takes twice as long; 7 s of launch are counted as latency."""
    calls = [
        call_on(machine((4, what), link=link, calibration=known), kind, V, latency_model=model)
        for link, known in ((LINK, CALIBRATED), (Link(Fraction(5), HALF), Calibration()))
    ]
    found, plain = (CostModel(model).collective(call).exact for call in calls)
    assert found == Terms(plain.bandwidth, plain.latency + 7)


RELATIONS = [
    # lines among others: an upper bound, with one stream or alike equal
    ([(4, "ring"), (3, "line")], GATHER, {}, "upper_bound"),
    ([(4, "ring"), (3, "line")], GATHER, {"schedule": Schedule.SEQUENTIAL}, "equal"),
    ([(3, "line"), (3, "line")], REDUCE, {}, "equal"),
    ([(3, "line"), (3, "line")], REDUCE, {"chunks": 2}, "upper_bound"),
    ([(3, "line"), (4, "line")], REDUCE, {}, "upper_bound"),
    ([(3, "line"), (3, "line")], EXCHANGE, {}, "lower_bound"),
    # rings and switches in any way
    ([(4, "ring"), (3, "ring")], EXCHANGE, {"chunks": 3}, "equal"),
    ([(4, "ring"), (3, "switch")], REDUCE, {"schedule": Schedule.BALANCED, "chunks": 2}, "equal"),
    # an exchange on one line in chunks
    ([(3, "line")], EXCHANGE, {}, "equal"),
    ([(3, "line")], EXCHANGE, {"chunks": 2}, "lower_bound"),
    # to one chip
    ([(4, "line")], TransferKind.GATHER, {}, "equal"),
    ([(4, "ring")], TransferKind.GATHER, {"chunks": 2}, "upper_bound"),
    ([(4, "ring"), (4, "ring")], TransferKind.GATHER, {}, "upper_bound"),
    ([(4, "line")], TransferKind.SEND, {"chunks": 5}, "equal"),
]


@pytest.mark.parametrize(("dimensions", "kind", "more", "relation"), RELATIONS)
def test_how_a_form_stands_to_the_simulation(
    dimensions: list[tuple[int, str]], kind: CallKind, more: dict[str, object], relation: str
) -> None:
    for size in (1, V, 10**5):
        topology = machine(*dimensions, link=LINK)
        call = call_on(topology, kind, size, **more)  # type: ignore[arg-type]
        price = CostModel().collective(call)
        assert price.relation.value == relation
        makespan, form = run_call(call).makespan, price.exact.total
        match relation:
            case "equal":
                assert makespan == form
            case "upper_bound":
                assert makespan <= form
            case _:
                assert makespan >= form


# Bytes that leave the busiest chip, counted on its links.

FOURS = {"X": 4, "Y": 4}
COUNTED: list[tuple[Topology, str, dict[str, int] | None]] = [
    (machine((5, "ring"), link=LINK), "X", None),
    (machine((5, "line"), link=LINK), "X", None),
    (machine((4, "switch"), link=LINK), "X", None),
    (machine((4, "ring"), (3, "ring"), link=LINK), "XY", None),
    (machine((3, "line"), (4, "line"), link=LINK), "XY", None),
    (machine((2, "switch"), (4, "ring"), link=LINK), "XY", None),
    # steps of four links, each shared by four groups; and steps of one
    (machine((16, "ring"), link=LINK), "X", FOURS),
    (machine((16, "line"), link=LINK), "X", FOURS),
    (machine((16, "ring"), link=LINK), "Y", FOURS),
    (machine((16, "ring"), link=LINK), "YX", FOURS),
]


@pytest.mark.parametrize(("topology", "axes", "mesh"), COUNTED, ids=range(len(COUNTED)))
@pytest.mark.parametrize("kind", CollectiveKind)
def test_bytes_on_the_wire_are_those_that_leave_the_busiest_chip(
    kind: CollectiveKind, topology: Topology, axes: str, mesh: dict[str, int] | None
) -> None:
    call = call_on(topology, kind, V, axes, mesh)
    sent: dict[tuple[int, ...], Fraction] = {}
    for interval in run_call(call).intervals:
        track = interval.track
        if not isinstance(track, Core) and not (isinstance(track, Port) and track.direction < 0):
            sent[track.chip] = sent.get(track.chip, Fraction(0)) + interval.size
    assert max(sent.values()) <= wire_bytes(call)
    if call.group.is_physical:
        assert max(sent.values()) == wire_bytes(call)
