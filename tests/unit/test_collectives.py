"""Step programs on one ring or line, written out.

A send is written as its pieces, then the messages it waits for. A piece is a block relative to the
sender (`-1`: that of the chip before; `-1>2`: from the chip before, to the second after), `:a` or
`:b` for its first or second half. `after +2 -1`: two messages that travel upwards and one that
travels downwards have come.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.call import Method, Stream
from shardsim.collectives import (
    Action,
    Channel,
    Need,
    Piece,
    Send,
    StepProgram,
    step_program,
)
from shardsim.vocabulary import Algorithm, CallKind, CollectiveKind, DimensionKind, TransferKind
from tests.machines import RING_ALGORITHMS

SHARES = {(0, 1): "", (0, Fraction(1, 2)): ":a", (Fraction(1, 2), 1): ":b"}
KINDS: dict[str, CallKind] = {
    "AG": CollectiveKind.ALL_GATHER,
    "RS": CollectiveKind.REDUCE_SCATTER,
    "AR": CollectiveKind.ALL_REDUCE,
    "A2A": CollectiveKind.ALL_TO_ALL,
    "GA": TransferKind.GATHER,
    "PE": TransferKind.PERMUTE,
    "SE": TransferKind.SEND,
}
COLLECTIVES = ["AG", "RS", "AR", "A2A"]
UP, DOWN = Channel(0, +1), Channel(0, -1)
ACTIONS = {"AG": [Action.STORE], "RS": [Action.ADD], "A2A": [Action.STORE]}
FABRICS = [*RING_ALGORITHMS, Algorithm.LINE]


def program(
    kind: str,
    algorithm: Algorithm | str,
    size: int,
    position: int = 0,
    *,
    chunks: int = 1,
    shift: int = 1,
    root: int = 0,
) -> StepProgram:
    algorithm = Algorithm(algorithm)
    on_line = algorithm in {Algorithm.LINE, Algorithm.REDUCE_BROADCAST}
    dimension = DimensionKind.LINE if on_line else DimensionKind.RING
    return step_program(
        KINDS[kind],
        ((size, dimension),) if size > 1 else (),
        Method(algorithms=(algorithm,), streams=(Stream((0,)),), chunks=chunks),
        (position,),
        shift=shift,
        root=(root,),
    )


def written(send: Send) -> str:
    pieces = " ".join(
        ">".join("all" if at is None else str(at) for at in p.block) + share(p.share)
        for p in send.pieces
    )
    counts = {need.channel: need.count for need in send.needs}
    waits = [f"{'+' if way is UP else '-'}{counts[way]}" for way in (UP, DOWN) if way in counts]
    return pieces + (" after " + " ".join(waits) if waits else "")


def share(given: tuple[Fraction, Fraction]) -> str:
    """A chunk of thirds is `:1`, `:2` or `:3`."""
    return SHARES[given] if given in SHARES else f":{given[1] * 3}"


def lanes(found: StepProgram) -> tuple[list[str], list[str]]:
    up, down = ([written(send) for send in found.sends(way)] for way in (UP, DOWN))
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
    assert sum(send.size for send in found.sends(UP)) == up
    assert sum(send.size for send in found.sends(DOWN)) == down


def test_each_message_of_an_all_to_all() -> None:
    sizes = [send.size for send in program("A2A", "balanced", 8).sends(UP)]
    assert sizes == [7 * HALF, 5 * HALF, 3 * HALF, HALF]


@pytest.mark.parametrize(("kind", "blocks"), [("AG", 6), ("RS", 6), ("AR", 6), ("A2A", 36)])
@pytest.mark.parametrize("algorithm", FABRICS)
def test_in_how_many_blocks_the_data_is_cut(kind: str, blocks: int, algorithm: Algorithm) -> None:
    assert program(kind, algorithm, 6).blocks == blocks


@pytest.mark.parametrize("kind", COLLECTIVES)
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
    actions = [send.action for send in program("AR", "balanced", 4).sends(UP)]
    assert actions == [Action.ADD, Action.ADD, Action.STORE, Action.STORE]


# A chip waits for exactly as much as it has to: the last message that brings a part of what it
# sends.


def overlaps(one: Piece, here: int, other: Piece, there: int, size: int) -> bool:
    same = all(
        (here + (a or 0) - there - (b or 0)) % size == 0
        for a, b in zip(one.block, other.block, strict=True)
    )
    return same and one.share[0] < other.share[1] and other.share[0] < one.share[1]


def last_needed(send: Send, programs: list[StepProgram], on_line: bool, position: int) -> set[Need]:
    needs, size = set(), len(programs)
    for direction, channel in ((+1, UP), (-1, DOWN)):
        behind = position - direction
        if on_line and not 0 <= behind < size:
            continue
        behind %= size
        bringing = [
            number
            for number, message in enumerate(programs[behind].sends(channel), 1)
            for piece in message.pieces
            for mine in send.pieces
            if overlaps(mine, position, piece, behind, size)
        ]
        if bringing:
            needs.add(Need(channel, max(bringing)))
    return needs


def check_needs(programs: list[StepProgram], *, on_line: bool) -> None:
    for position, found in enumerate(programs):
        for lane in found.lanes:
            for send in lane.sends:
                wanted = last_needed(send, programs, on_line, position)
                assert set(send.needs) == wanted, (position, written(send))


@pytest.mark.parametrize("size", range(2, 10))
@pytest.mark.parametrize("kind", ACTIONS)
@pytest.mark.parametrize("algorithm", FABRICS)
def test_needs_are_enough_and_not_more(kind: str, algorithm: Algorithm, size: int) -> None:
    programs = [program(kind, algorithm, size, position) for position in range(size)]
    check_needs(programs, on_line=algorithm is Algorithm.LINE)


@pytest.mark.parametrize("size", range(2, 8))
@pytest.mark.parametrize("algorithm", FABRICS)
def test_needs_of_a_gather(algorithm: Algorithm, size: int) -> None:
    """Blocks only come nearer to the root, and each chip's comes there once."""
    for root in range(size):
        programs = [program("GA", algorithm, size, position, root=root) for position in range(size)]
        check_needs(programs, on_line=algorithm is Algorithm.LINE)
        assert programs[root].lanes == ()
        came: dict[int, Fraction] = {}
        for position, found in enumerate(programs):
            for lane in found.lanes:
                if (position + lane.channel.direction) % size == root:
                    for piece in (piece for send in lane.sends for piece in send.pieces):
                        owner = (position + (piece.block[0] or 0)) % size
                        came[owner] = came.get(owner, Fraction(0)) + piece.size
        assert came == {owner: 1 for owner in range(size) if owner != root}


GATHERS = {
    # to chip 2 of a ring of 4: chip 0 is opposite, and sends half each way
    ("balanced", 4, 2): [
        (["0:a"], ["0:b"]),
        (["0", "-1:a after +1"], []),
        ([], []),
        ([], ["0", "1:b after -1"]),
    ],
    # the way up is for the opposite chip too
    ("whole_shards", 4, 2): [(["0"], []), (["0", "-1 after +1"], []), ([], []), ([], ["0"])],
    ("one_direction", 3, 0): [([], []), (["0"], []), (["0", "-1 after +1"], [])],
    ("line", 4, 1): [(["0"], []), ([], []), ([], ["0", "1 after -1"]), ([], ["0"])],
}


@pytest.mark.parametrize(("algorithm", "size", "root"), GATHERS)
def test_gathers_to_one_chip(algorithm: str, size: int, root: int) -> None:
    found = [lanes(program("GA", algorithm, size, at, root=root)) for at in range(size)]
    assert found == GATHERS[algorithm, size, root]


# What is stored and forwarded, or sums up, in chunks: thirds here.

IN_CHUNKS = {
    # the first chip's block goes to the last
    ("SE", "line", 3): [
        (["0:1", "0:2", "0:3"], []),
        (["-1:1 after +1", "-1:2 after +2", "-1:3 after +3"], []),
        ([], []),
    ],
    # sums of all go to the middle, the second of three, and come back; it waits for both sides
    ("AR", "reduce_broadcast", 3): [
        (["all:1", "all:2", "all:3"], []),
        (
            ["all:1 after +1 -1", "all:2 after +2 -2", "all:3 after +3 -3"],
            ["all:1 after +1 -1", "all:2 after +2 -2", "all:3 after +3 -3"],
        ),
        ([], ["all:1", "all:2", "all:3"]),
    ],
    # of four the third is the middle; the second joins in, and hands back what comes down
    ("AR", "reduce_broadcast", 4): [
        (["all:1", "all:2", "all:3"], []),
        (
            ["all:1 after +1", "all:2 after +2", "all:3 after +3"],
            ["all:1 after -1", "all:2 after -2", "all:3 after -3"],
        ),
        (
            ["all:1 after +1 -1", "all:2 after +2 -2", "all:3 after +3 -3"],
            ["all:1 after +1 -1", "all:2 after +2 -2", "all:3 after +3 -3"],
        ),
        ([], ["all:1", "all:2", "all:3"]),
    ],
    # of two the second is the middle, and has nobody behind it
    ("AR", "reduce_broadcast", 2): [
        (["all:1", "all:2", "all:3"], []),
        ([], ["all:1 after +1", "all:2 after +2", "all:3 after +3"]),
    ],
}


@pytest.mark.parametrize(("kind", "algorithm", "size"), IN_CHUNKS)
def test_programs_in_three_chunks(kind: str, algorithm: str, size: int) -> None:
    found = [program(kind, algorithm, size, at, chunks=3) for at in range(size)]
    assert [lanes(one) for one in found] == IN_CHUNKS[kind, algorithm, size]
    for here, one in enumerate(found):
        behind = {UP: here - 1, DOWN: here + 1}
        sent = {
            channel: len(found[at].sends(channel)) if 0 <= at < size else 0
            for channel, at in behind.items()
        }
        assert {channel: one.arriving(channel) for channel in behind} == sent


def test_the_size_of_a_chunk() -> None:
    """A third of V each: one block of one (send), or of all four (sums)."""
    send, total = (
        program("SE", "line", 4, chunks=3),
        program("AR", "reduce_broadcast", 4, chunks=3),
    )
    assert [one.sends(UP)[0].size / one.blocks for one in (send, total)] == [Fraction(1, 3)] * 2


def test_sums_are_added_inwards_and_stored_outwards() -> None:
    second = program("AR", "reduce_broadcast", 4, 1, chunks=3)
    assert {send.action for send in second.sends(UP)} == {Action.ADD}
    assert {send.action for send in second.sends(DOWN)} == {Action.STORE}


SHIFTS = [
    # N, shift, offset: the shorter way round, and up where both are as long
    (5, 1, 1),
    (5, 2, 2),
    (5, 3, -2),
    (5, -1, -1),
    (4, 2, 2),
    (4, 7, -1),
]


@pytest.mark.parametrize(("size", "shift", "offset"), SHIFTS)
def test_a_shift_is_one_message(size: int, shift: int, offset: int) -> None:
    found = program("PE", "balanced", size, shift=shift)
    (lane,) = found.lanes
    assert lane.channel == Channel(0, 0)
    (send,) = lane.sends
    assert (send.offset, send.size, send.needs) == (offset, Fraction(1), ())
    assert (found.arriving(lane.channel), found.blocks) == (1, size)


@pytest.mark.parametrize("shift", [0, 4, -8])
def test_a_shift_by_nothing(shift: int) -> None:
    assert program("PE", "balanced", 4, shift=shift) == StepProgram((), (), 4)
