"""Step programs over several segments, written out.

The segments are x, y, z. A send is written as its pieces, then the messages it waits for. `0,*`:
the blocks of the sender's own place along x, all along y; `0,0>1,*`: from the sender, to the next
chip along x and all along y. `:a` or `:b` is the first or second half of each. `after x+2 y-1`: two
messages that travel upwards along x and one that travels downwards along y have come.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from shardsim.call import Method, Stream, rotations
from shardsim.collectives import Action, Channel, Send, StepProgram, step_program
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    DimensionKind,
    Schedule,
    TransferKind,
)

HALF = Fraction(1, 2)
SHARES = {(0, 1): "", (0, HALF): ":a", (HALF, 1): ":b"}
ALGORITHMS = {
    DimensionKind.RING: Algorithm.BALANCED,
    DimensionKind.LINE: Algorithm.LINE,
    DimensionKind.SWITCH: Algorithm.DIRECT,
}
ALL_GATHER, REDUCE_SCATTER = CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER
ALL_REDUCE, ALL_TO_ALL = CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_TO_ALL
IN_ORDER, BACKWARDS = (Stream((0, 1)),), (Stream((1, 0)),)
Parts = tuple[tuple[int, str], ...]
RING_AND_LINE: Parts = ((3, "ring"), (2, "line"))
TWO_RINGS: Parts = ((3, "ring"), (3, "ring"))


def program(
    kind: CallKind,
    parts: Parts,
    place: tuple[int, ...],
    streams: tuple[Stream, ...] = IN_ORDER,
    *,
    chunks: int = 1,
    root: tuple[int, ...] | None = None,
) -> StepProgram:
    shape = tuple((size, DimensionKind(word)) for size, word in parts)
    algorithms = tuple(ALGORITHMS[dimension] for _, dimension in shape)
    method = Method(
        algorithms=algorithms, streams=streams, schedule=Schedule.ROTATED, chunks=chunks
    )
    return step_program(kind, shape, method, place, root=root)


def name(channel: Channel) -> str:
    phase = f"#{channel.port}=" if channel.port else ""
    return "xyz"[channel.segment] + {+1: "+", -1: "-", 0: ""}[channel.direction] + phase


def written(send: Send, rank: int) -> str:
    pieces = []
    for piece in send.pieces:
        indices = ["*" if index is None else str(index) for index in piece.block]
        groups = [indices[:rank], indices[rank:]]
        pieces.append(">".join(",".join(group) for group in groups if group) + SHARES[piece.share])
    waits = sorted(f"{name(need.channel)}{need.count}" for need in send.needs)
    return " ".join(pieces) + (f" after {' '.join(waits)}" if waits else "")


def lanes(found: StepProgram, rank: int = 2) -> dict[str, list[str]]:
    return {
        name(lane.channel): [written(send, rank) for send in lane.sends] for lane in found.lanes
    }


# A ring of 3 (x) and a line of 2 (y), the chip at (0, 0).

ONE_STREAM = {
    # blocks along x first, then those of all x along y
    "AllGather": (
        (ALL_GATHER, IN_ORDER),
        {"x+": ["0,0"], "x-": ["0,0"], "y+": ["*,0 after x+1 x-1"]},
    ),
    "AllGather, y first": (
        (ALL_GATHER, BACKWARDS),
        {"x+": ["0,* after y-1"], "x-": ["0,* after y-1"], "y+": ["0,0"]},
    ),
    # backwards: y first, with the sums for all x, then along x
    "ReduceScatter": (
        (REDUCE_SCATTER, IN_ORDER),
        {"x+": ["1,0 after y-1"], "x-": ["-1,0 after y-1"], "y+": ["*,1"]},
    ),
    "AllReduce": (
        (ALL_REDUCE, IN_ORDER),
        {
            "x+": ["1,0 after y-1", "0,0 after x+1 x-1 y-1"],
            "x-": ["-1,0 after y-1", "0,0 after x+1 x-1 y-1"],
            "y+": ["*,1", "*,0 after x+2 x-2 y-1"],
        },
    ),
    # along x what is for the next chip and any y; then along y what has come from any x
    "AllToAll": (
        (ALL_TO_ALL, IN_ORDER),
        {"x+": ["0,0>1,*"], "x-": ["0,0>-1,*"], "y+": ["*,0>0,1 after x+1 x-1"]},
    ),
    "AllToAll, y first": (
        (ALL_TO_ALL, BACKWARDS),
        {"x+": ["0,*>1,0 after y-1"], "x-": ["0,*>-1,0 after y-1"], "y+": ["0,0>*,1"]},
    ),
}


@pytest.mark.parametrize("case", ONE_STREAM)
def test_one_stream(case: str) -> None:
    (kind, streams), expected = ONE_STREAM[case]
    assert lanes(program(kind, RING_AND_LINE, (0, 0), streams)) == expected


ROTATED = {
    # half of every block goes along x first, the other half along y first
    ALL_GATHER: {
        "x+": ["0,0:a", "0,*:b after y+1 y-1"],
        "x-": ["0,0:a", "0,*:b after y+1 y-1"],
        "y+": ["0,0:b", "*,0:a after x+1 x-1"],
        "y-": ["0,0:b", "*,0:a after x+1 x-1"],
    },
    REDUCE_SCATTER: {
        "x+": ["1,*:b", "1,0:a after y+1 y-1"],
        "x-": ["-1,*:b", "-1,0:a after y+1 y-1"],
        "y+": ["*,1:a", "0,1:b after x+1 x-1"],
        "y-": ["*,-1:a", "0,-1:b after x+1 x-1"],
    },
    # each phase waits for all phases before it in its stream, and for nothing of the other
    ALL_REDUCE: {
        "x+": [
            "1,*:b",
            "1,0:a after y+1 y-1",
            "0,0:a after x+2 x-2 y+1 y-1",
            "0,*:b after x+1 x-1 y+3 y-3",
        ],
        "x-": [
            "-1,*:b",
            "-1,0:a after y+1 y-1",
            "0,0:a after x+2 x-2 y+1 y-1",
            "0,*:b after x+1 x-1 y+3 y-3",
        ],
        "y+": [
            "*,1:a",
            "0,1:b after x+1 x-1",
            "0,0:b after x+1 x-1 y+2 y-2",
            "*,0:a after x+3 x-3 y+1 y-1",
        ],
        "y-": [
            "*,-1:a",
            "0,-1:b after x+1 x-1",
            "0,0:b after x+1 x-1 y+2 y-2",
            "*,0:a after x+3 x-3 y+1 y-1",
        ],
    },
    ALL_TO_ALL: {
        "x+": ["0,0>1,*:a", "0,*>1,0:b after y+1 y-1"],
        "x-": ["0,0>-1,*:a", "0,*>-1,0:b after y+1 y-1"],
        "y+": ["0,0>*,1:b", "*,0>0,1:a after x+1 x-1"],
        "y-": ["0,0>*,-1:b", "*,0>0,-1:a after x+1 x-1"],
    },
}


@pytest.mark.parametrize("kind", ROTATED)
def test_two_rotated_orders_on_two_rings(kind: CollectiveKind) -> None:
    found = program(kind, TWO_RINGS, (0, 0), rotations(2))
    assert lanes(found) == ROTATED[kind]
    messages = 4 if kind is ALL_REDUCE else 2
    assert {name(need.channel): need.count for need in found.receives} == dict.fromkeys(
        ["x+", "x-", "y+", "y-"], messages
    )


def test_chunks_follow_each_other() -> None:
    """While the first half goes along y the second goes along x; it waits for its own half only."""
    assert lanes(program(ALL_GATHER, RING_AND_LINE, (0, 0), chunks=2)) == {
        "x+": ["0,0:a", "0,0:b"],
        "x-": ["0,0:a", "0,0:b"],
        "y+": ["*,0:a after x+1 x-1", "*,0:b after x+2 x-2"],
    }


def test_streams_with_unequal_shares() -> None:
    third = Fraction(1, 3)
    streams = (Stream((0, 1), (Fraction(0), third)), Stream((1, 0), (third, Fraction(1))))
    up = program(ALL_GATHER, TWO_RINGS, (0, 0), streams).sends(Channel(0, +1))
    assert [send.size for send in up] == [third, 3 * (1 - third)]
    assert [piece.share for send in up for piece in send.pieces] == [(0, third), (third, 1)]


def test_three_segments() -> None:
    """Each phase carries what all before it have gathered."""
    cube = ((2, "line"), (2, "line"), (2, "line"))
    found = program(ALL_GATHER, cube, (0, 0, 0), (Stream((0, 1, 2)),))
    assert lanes(found, 3) == {
        "x+": ["0,0,0"],
        "y+": ["*,0,0 after x-1"],
        "z+": ["*,*,0 after x-1 y-1"],
    }
    assert [lane.sends[0].size for lane in found.lanes] == [1, 2, 4]


def test_a_switch_among_the_segments() -> None:
    """Each of the three others is sent to by name; all three must have come before x goes on."""
    parts = ((3, "ring"), (4, "switch"))
    found = program(ALL_GATHER, parts, (0, 0), BACKWARDS)
    assert lanes(found) == {
        "x+": ["0,* after y3"],
        "x-": ["0,* after y3"],
        "y": ["0,0", "0,0", "0,0"],
    }
    assert [send.offset for send in found.sends(Channel(1, 0))] == [1, 2, 3]


def test_at_a_switch_each_phase_is_counted_apart() -> None:
    """A chip that is ahead may send its next phase before another sends this one."""
    parts = ((3, "ring"), (3, "switch"))
    found = program(ALL_REDUCE, parts, (0, 0))
    assert lanes(found) == {
        "x+": ["1,0 after y2", "0,0 after x+1 x-1 y2"],
        "x-": ["-1,0 after y2", "0,0 after x+1 x-1 y2"],
        "y": ["*,1", "*,2", "*,0 after x+2 x-2 y2", "*,0 after x+2 x-2 y2"],
    }
    at_switch = found.sends(Channel(1, 0))
    assert [send.counted for send in at_switch] == [None, None, *[Channel(1, 0, 3)] * 2]
    assert [found.arriving(Channel(1, 0, phase)) for phase in range(4)] == [2, 0, 0, 2]


def test_a_gather_over_two_segments() -> None:
    """To (1, 1): along x to the chips at x = 1 first, then along y; the others have no more."""
    found = {
        (x, y): lanes(program(TransferKind.GATHER, RING_AND_LINE, (x, y), root=(1, 1)))
        for x in range(3)
        for y in range(2)
    }
    assert found == {
        (0, 0): {"x+": ["0,0"]},
        (0, 1): {"x+": ["0,0"]},
        (1, 0): {"y+": ["*,0 after x+1 x-1"]},
        (1, 1): {},
        (2, 0): {"x-": ["0,0"]},
        (2, 1): {"x-": ["0,0"]},
    }


# What all programs of a group have in common.

SHAPES: list[Parts] = [
    ((3, "ring"), (2, "line")),
    ((4, "ring"), (3, "line")),
    ((2, "line"), (4, "ring"), (2, "ring")),
    ((3, "switch"), (2, "line")),
    ((5, "ring"), (1, "line"), (2, "switch")),
]


@pytest.mark.parametrize("chunks", [1, 3])
@pytest.mark.parametrize("parts", SHAPES)
@pytest.mark.parametrize("kind", CollectiveKind)
def test_what_is_sent_arrives(kind: CollectiveKind, parts: Parts, chunks: int) -> None:
    """Every message on every channel is counted by the chip it goes to; no need is beyond that."""
    sizes = [size for size, _ in parts]
    places = list(itertools.product(*(range(size) for size in sizes)))
    streams = rotations(len(parts))
    found = {place: program(kind, parts, place, streams, chunks=chunks) for place in places}
    came: dict[tuple[int, ...], dict[Channel, int]] = {place: {} for place in places}
    for place, one in found.items():
        for lane in one.lanes:
            segment = lane.channel.segment
            for send in lane.sends:
                assert send.offset is not None
                there = list(place)
                there[segment] = (there[segment] + send.offset) % sizes[segment]
                counts, channel = came[tuple(there)], send.counted or lane.channel
                counts[channel] = counts.get(channel, 0) + 1
    for place, one in found.items():
        assert {need.channel: need.count for need in one.receives} == came[place]
        for need in (need for lane in one.lanes for send in lane.sends for need in send.needs):
            assert 0 < need.count <= came[place].get(need.channel, 0)


WITHOUT_LINES = [wide for parts in SHAPES if (wide := tuple(p for p in parts if p[1] != "line"))]


@pytest.mark.parametrize("wide", WITHOUT_LINES)
@pytest.mark.parametrize("kind", [ALL_GATHER, REDUCE_SCATTER])
def test_how_much_comes_to_a_chip(kind: CollectiveKind, wide: Parts) -> None:
    """On rings and at switches no block comes twice: all but the chip's own. V is N blocks."""
    total = math.prod(size for size, _ in wide)
    place = (0,) * len(wide)
    found = program(kind, wide, place, rotations(len(wide)))
    assert found.blocks == total
    sent = sum((send.size for lane in found.lanes for send in lane.sends), Fraction(0))
    assert sent == total - 1


@pytest.mark.parametrize("kind", [ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL])
def test_what_the_receiver_does(kind: CollectiveKind) -> None:
    wanted = Action.ADD if kind is REDUCE_SCATTER else Action.STORE
    found = program(kind, TWO_RINGS, (0, 0), rotations(2))
    assert {send.action for lane in found.lanes for send in lane.sends} == {wanted}


def test_an_all_reduce_adds_along_all_segments_before_it_stores() -> None:
    found = program(ALL_REDUCE, TWO_RINGS, (0, 0), rotations(2))
    for lane in found.lanes:
        assert [send.action.value for send in lane.sends] == ["add", "add", "store", "store"]


def test_the_halves_of_an_all_reduce_are_the_two_collectives() -> None:
    """Without the needs: the first half is ReduceScatter, the second AllGather."""

    def pieces(kind: CollectiveKind) -> list[list[object]]:
        found = program(kind, TWO_RINGS, (0, 0), rotations(2))
        return [[send.pieces for send in lane.sends] for lane in found.lanes]

    both = zip(pieces(REDUCE_SCATTER), pieces(ALL_GATHER), strict=True)
    assert pieces(ALL_REDUCE) == [[*scatter, *gather] for scatter, gather in both]


def test_all_chips_of_rings_and_switches_run_one_program() -> None:
    parts = ((4, "ring"), (3, "switch"))
    for kind in CollectiveKind:
        first = program(kind, parts, (0, 0), rotations(2))
        assert program(kind, parts, (3, 1), rotations(2)) == first


def test_a_group_of_one_chip_does_nothing() -> None:
    assert step_program(ALL_GATHER, (), Method(algorithms=(), streams=(Stream(()),)), ()) == (
        StepProgram((), (), 1)
    )
