"""Step programs of the collectives, written out.

A send is written as its pieces, then the messages it waits for. A piece is a block relative to the
sender (`-1`: that of the chip before; `-1>2`: from the chip before, to the second after), `:a` or
`:b` for its first or second half. `after +2 -1`: two messages that travel upwards and one that
travels downwards have come.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.collectives import (
    Action,
    Need,
    Piece,
    Send,
    StepProgram,
    choose_algorithm,
    step_program,
)
from shardsim.errors import PlanError
from shardsim.vocabulary import Algorithm, CollectiveKind, DimensionKind
from tests.machines import RING_ALGORITHMS

SHARES = {(0, 1): "", (0, Fraction(1, 2)): ":a", (Fraction(1, 2), 1): ":b"}
KINDS = {
    "AG": CollectiveKind.ALL_GATHER,
    "RS": CollectiveKind.REDUCE_SCATTER,
    "AR": CollectiveKind.ALL_REDUCE,
    "A2A": CollectiveKind.ALL_TO_ALL,
}
ACTIONS = {"AG": [Action.STORE], "RS": [Action.ADD], "A2A": [Action.STORE]}
FABRICS = [*RING_ALGORITHMS, Algorithm.LINE]


def program(kind: str, algorithm: Algorithm | str, size: int, position: int = 0) -> StepProgram:
    algorithm = Algorithm(algorithm)
    dimension = DimensionKind.LINE if algorithm is Algorithm.LINE else DimensionKind.RING
    return step_program(KINDS[kind], algorithm, dimension, size=size, position=position)


def written(send: Send) -> str:
    pieces = " ".join(">".join(map(str, p.block)) + SHARES[p.share] for p in send.pieces)
    counts = {need.direction: need.count for need in send.needs}
    waits = [f"{'+' if way > 0 else '-'}{counts[way]}" for way in (+1, -1) if way in counts]
    return pieces + (" after " + " ".join(waits) if waits else "")


def lanes(found: StepProgram) -> tuple[list[str], list[str]]:
    up, down = ([written(send) for send in found.sends(way)] for way in (+1, -1))
    return up, down


# Four chips on a ring. Upwards, then downwards.

RING_OF_4 = {
    ("AG", "balanced"): (["0", "-1:a after +1"], ["0", "1:b after -1"]),
    ("AG", "whole_shards"): (["0", "-1 after +1"], ["0"]),
    ("AG", "half_shards"): (
        ["0:a", "-1:a after +1", "-2:a after +2"],
        ["0:b", "1:b after -1", "2:b after -2"],
    ),
    ("AG", "one_direction"): (["0", "-1 after +1", "-2 after +2"], []),
    # ReduceScatter: the farthest chip's sum goes out first, and comes home last
    ("RS", "balanced"): (["2:a", "1 after +1"], ["-2:b", "-1 after -1"]),
    ("RS", "whole_shards"): (["2", "1 after +1"], ["-1"]),
    ("RS", "half_shards"): (
        ["3:a", "2:a after +1", "1:a after +2"],
        ["-3:b", "-2:b after -1", "-1:b after -2"],
    ),
    ("RS", "one_direction"): (["3", "2 after +1", "1 after +2"], []),
    # AllReduce: the second half waits for all messages of the first, from both sides
    ("AR", "balanced"): (
        ["2:a", "1 after +1", "0 after +2 -2", "-1:a after +3 -2"],
        ["-2:b", "-1 after -1", "0 after +2 -2", "1:b after +2 -3"],
    ),
    ("AR", "whole_shards"): (
        ["2", "1 after +1", "0 after +2 -1", "-1 after +3 -1"],
        ["-1", "0 after +2 -1"],
    ),
    ("AR", "half_shards"): (
        [
            "3:a", "2:a after +1", "1:a after +2",
            "0:a after +3 -3", "-1:a after +4 -3", "-2:a after +5 -3",
        ],
        [
            "-3:b", "-2:b after -1", "-1:b after -2",
            "0:b after +3 -3", "1:b after +3 -4", "2:b after +3 -5",
        ],
    ),
    ("AR", "one_direction"): (
        ["3", "2 after +1", "1 after +2", "0 after +3", "-1 after +4", "-2 after +5"],
        [],
    ),
    # AllToAll: a message shrinks at each hop by what has arrived
    ("A2A", "balanced"): (
        ["0>1 0>2:a", "-1>1:a after +1"],
        ["0>-1 0>-2:b", "1>-1:b after -1"],
    ),
    ("A2A", "whole_shards"): (["0>1 0>2", "-1>1 after +1"], ["0>-1"]),
    ("A2A", "half_shards"): (
        ["0>1:a 0>2:a 0>3:a", "-1>1:a -1>2:a after +1", "-2>1:a after +2"],
        ["0>-1:b 0>-2:b 0>-3:b", "1>-1:b 1>-2:b after -1", "2>-1:b after -2"],
    ),
    ("A2A", "one_direction"): (
        ["0>1 0>2 0>3", "-1>1 -1>2 after +1", "-2>1 after +2"],
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "algorithm"), RING_OF_4)
def test_a_ring_of_4(kind: str, algorithm: str) -> None:
    for position in range(4):
        assert lanes(program(kind, algorithm, 4, position)) == RING_OF_4[kind, algorithm]


OTHER_RINGS = {
    # two chips, two cables: half of the other's block comes by each
    ("AG", "balanced", 2): (["0:a"], ["0:b"]),
    ("AG", "whole_shards", 2): (["0"], []),
    ("RS", "balanced", 2): (["1:a"], ["-1:b"]),
    ("A2A", "balanced", 2): (["0>1:a"], ["0>-1:b"]),
    # an odd ring has no opposite chip: nothing is split
    ("AG", "balanced", 3): (["0"], ["0"]),
    ("AG", "balanced", 5): (["0", "-1 after +1"], ["0", "1 after -1"]),
    ("AG", "whole_shards", 5): (["0", "-1 after +1"], ["0", "1 after -1"]),
    ("RS", "balanced", 5): (["2", "1 after +1"], ["-2", "-1 after -1"]),
    ("A2A", "balanced", 3): (["0>1"], ["0>-1"]),
}


@pytest.mark.parametrize(("kind", "algorithm", "size"), OTHER_RINGS)
def test_other_rings(kind: str, algorithm: str, size: int) -> None:
    assert lanes(program(kind, algorithm, size)) == OTHER_RINGS[kind, algorithm, size]


# Lines: for each position its sends upwards, then downwards.

LINES = {
    ("AG", 3): [
        (["0"], []),
        (["0", "-1 after +1"], ["0", "1 after -1"]),
        ([], ["0"]),
    ],
    ("RS", 3): [
        (["2", "1"], []),
        (["1 after +1"], ["-1 after -1"]),
        ([], ["-2", "-1"]),
    ],
    # the end chips hear one message in the first half, the middle one two from each side
    ("AR", 3): [
        (["2", "1", "0 after -1"], []),
        (
            ["1 after +1", "0 after +2 -2", "-1 after +3 -2"],
            ["-1 after -1", "0 after +2 -2", "1 after +2 -3"],
        ),
        ([], ["-2", "-1", "0 after +1"]),
    ],
    ("A2A", 3): [
        (["0>2", "0>1"], []),
        (["0>1", "-1>1 after +1"], ["0>-1", "1>-1 after -1"]),
        ([], ["0>-2", "0>-1"]),
    ],
    ("AG", 4): [
        (["0"], []),
        (["0", "-1 after +1"], ["0", "1 after -1", "2 after -2"]),
        (["0", "-1 after +1", "-2 after +2"], ["0", "1 after -1"]),
        ([], ["0"]),
    ],
    ("RS", 4): [
        (["3", "2", "1"], []),
        (["2 after +1", "1 after +2"], ["-1 after -1"]),
        (["1 after +1"], ["-2 after -1", "-1 after -2"]),
        ([], ["-3", "-2", "-1"]),
    ],
    # messages heard in the first half: 1 below for the first chip; 3 and 2 for the second
    ("AR", 4): [
        (["3", "2", "1", "0 after -1"], []),
        (
            ["2 after +1", "1 after +2", "0 after +3 -2", "-1 after +4 -2"],
            ["-1 after -1", "0 after +3 -2", "1 after +3 -3", "2 after +3 -4"],
        ),
        (
            ["1 after +1", "0 after +2 -3", "-1 after +3 -3", "-2 after +4 -3"],
            ["-2 after -1", "-1 after -2", "0 after +2 -3", "1 after +2 -4"],
        ),
        ([], ["-3", "-2", "-1", "0 after +1"]),
    ],
    ("A2A", 4): [
        (["0>3", "0>2", "0>1"], []),
        (
            ["0>2", "-1>2 after +1", "0>1", "-1>1 after +2"],
            ["0>-1", "1>-1 after -1", "2>-1 after -2"],
        ),
        (
            ["0>1", "-1>1 after +1", "-2>1 after +2"],
            ["0>-2", "1>-2 after -1", "0>-1", "1>-1 after -2"],
        ),
        ([], ["0>-3", "0>-2", "0>-1"]),
    ],
}


@pytest.mark.parametrize(("kind", "size"), LINES)
def test_lines(kind: str, size: int) -> None:
    found = [lanes(program(kind, "line", size, position)) for position in range(size)]
    assert found == LINES[kind, size]


# How much goes over the links out of a chip, in blocks: upwards, downwards. An AllGather's block is
# V/N, an AllToAll's V/N^2.

HALF = Fraction(1, 2)
VOLUMES = [
    # N - 1 = 3 blocks come to a chip: in equal parts, 2 to 1, in halves, all one way
    ("AG", "balanced", 4, 3 * HALF, 3 * HALF),
    ("AG", "whole_shards", 4, 2, 1),
    ("AG", "half_shards", 4, 3 * HALF, 3 * HALF),
    ("AG", "one_direction", 4, 3, 0),
    ("AG", "balanced", 5, 2, 2),
    ("AG", "balanced", 8, 7 * HALF, 7 * HALF),
    ("RS", "whole_shards", 8, 4, 3),
    ("AR", "balanced", 8, 7, 7),
    # 1 + 1/2, then 1/2
    ("A2A", "balanced", 4, 2, 2),
    # 1 + 1, then 1
    ("A2A", "whole_shards", 4, 3, 1),
    # half of 3 + 2 + 1 blocks
    ("A2A", "half_shards", 4, 3, 3),
    ("A2A", "one_direction", 4, 6, 0),
    # 3 1/2 + 2 1/2 + 1 1/2 + 1/2 = 8 each way; in whole blocks 4 + 3 + 2 + 1 = 10 and 3 + 2 + 1 = 6
    ("A2A", "balanced", 8, 8, 8),
    ("A2A", "whole_shards", 8, 10, 6),
    ("A2A", "balanced", 5, 3, 3),
]


@pytest.mark.parametrize(("kind", "algorithm", "size", "up", "down"), VOLUMES)
def test_volumes(kind: str, algorithm: str, size: int, up: Fraction, down: Fraction) -> None:
    found = program(kind, algorithm, size)
    assert sum(send.size for send in found.sends(+1)) == up
    assert sum(send.size for send in found.sends(-1)) == down


def test_each_message_of_an_all_to_all() -> None:
    sizes = [send.size for send in program("A2A", "balanced", 8).sends(+1)]
    assert sizes == [7 * HALF, 5 * HALF, 3 * HALF, HALF]


@pytest.mark.parametrize(("kind", "blocks"), [("AG", 6), ("RS", 6), ("AR", 6), ("A2A", 36)])
@pytest.mark.parametrize("algorithm", FABRICS)
def test_in_how_many_blocks_the_data_is_cut(kind: str, blocks: int, algorithm: Algorithm) -> None:
    assert program(kind, algorithm, 6).blocks == blocks


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("algorithm", FABRICS)
def test_one_chip_does_nothing(kind: str, algorithm: Algorithm) -> None:
    assert program(kind, algorithm, 1) == StepProgram((), (), 1)


@pytest.mark.parametrize("kind", ACTIONS)
@pytest.mark.parametrize("algorithm", FABRICS)
def test_what_the_receiver_does(kind: str, algorithm: Algorithm) -> None:
    for position in range(5):
        for lane in program(kind, algorithm, 5, position).lanes:
            assert {send.action for send in lane.sends} == set(ACTIONS[kind])


def test_an_all_reduce_adds_first_and_stores_then() -> None:
    actions = [send.action for send in program("AR", "balanced", 4).sends(+1)]
    assert actions == [Action.ADD, Action.ADD, Action.STORE, Action.STORE]


# A chip waits for exactly as much as it has to: the last message that brings a part of what it
# sends.


def overlaps(one: Piece, here: int, other: Piece, there: int, size: int) -> bool:
    same = all(
        (here + a - there - b) % size == 0 for a, b in zip(one.block, other.block, strict=True)
    )
    return same and one.share[0] < other.share[1] and other.share[0] < one.share[1]


def last_needed(send: Send, kind: str, algorithm: Algorithm, size: int, position: int) -> set[Need]:
    needs = set()
    for direction in (+1, -1):
        behind = position - direction
        if algorithm is Algorithm.LINE and not 0 <= behind < size:
            continue
        behind %= size
        bringing = [
            number
            for number, message in enumerate(
                program(kind, algorithm, size, behind).sends(direction), 1
            )
            for piece in message.pieces
            for mine in send.pieces
            if overlaps(mine, position, piece, behind, size)
        ]
        if bringing:
            needs.add(Need(direction, max(bringing)))
    return needs


@pytest.mark.parametrize("size", range(2, 10))
@pytest.mark.parametrize("kind", ACTIONS)
@pytest.mark.parametrize("algorithm", FABRICS)
def test_needs_are_enough_and_not_more(kind: str, algorithm: Algorithm, size: int) -> None:
    for position in range(size):
        for lane in program(kind, algorithm, size, position).lanes:
            for send in lane.sends:
                wanted = last_needed(send, kind, algorithm, size, position)
                assert set(send.needs) == wanted, (position, written(send))


# Which algorithm.

CHOICES = [
    (None, "ring", "balanced"),
    ("balanced", "ring", "balanced"),
    ("whole_shards", "ring", "whole_shards"),
    ("half_shards", "ring", "half_shards"),
    ("one_direction", "ring", "one_direction"),
    (None, "line", "line"),
    ("line", "line", "line"),
    # there is no other on a line
    ("balanced", "line", "line"),
]


@pytest.mark.parametrize(("wanted", "kind", "used"), CHOICES)
def test_choice_of_algorithm(wanted: str | None, kind: str, used: str) -> None:
    asked = None if wanted is None else Algorithm(wanted)
    assert choose_algorithm(asked, DimensionKind(kind)).value == used


def test_the_line_algorithm_on_a_ring() -> None:
    with pytest.raises(PlanError) as caught:
        choose_algorithm(Algorithm.LINE, DimensionKind.RING)
    assert (caught.value.message, caught.value.hint) == (
        "algorithm line needs a dimension without a wraparound link; this one is a ring",
        "choose balanced, whole_shards, half_shards or one_direction",
    )
