"""Step programs with a matmul attached, written out.

A part is written as its block, so many places up the ring, line or switch (of N: N-1 is the chip
before); `:a` or `:b` for its first or second half; then the messages that it waits for: `after +2
-1` is two that travel upwards and one that travels downwards, `after p1` the one that is counted on
port 1 of a switch. Sends are written the same way, with `|` and how many parts must be done before.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from shardsim.collectives import Channel, Need, StepProgram, program_of
from shardsim.collectives.attached import Attached, attached_to
from shardsim.overlap.forms import ALGORITHMS
from shardsim.vocabulary import Algorithm, CollectiveKind, DimensionKind, Form
from tests.machines import call_on, machine
from tests.together import COMBINATIONS, GATHER, LINE, RING, SCATTER, SWITCH

UP, DOWN = Channel(0, +1), Channel(0, -1)
SHARES = {(0, 1): "", (0, Fraction(1, 2)): ":a", (Fraction(1, 2), 1): ":b"}
OWN, HALVES, PAIRS = Form.OWN_CHUNK_FIRST, Form.HALF_CHUNKS, Form.PAIRS
ONE, UNPIPELINED = Form.ONE_DIRECTION, Form.UNPIPELINED


def attached(
    dimension: DimensionKind,
    form: Form,
    kind: CollectiveKind,
    n: int,
    place: int = 0,
    *,
    algorithm: Algorithm | None = None,
    parts: int = 1,
) -> Attached:
    wanted = algorithm or ALGORITHMS[dimension][form]
    call = call_on(machine((n, dimension.value)), kind, 64 * n, algorithm=wanted)
    return attached_to(call, (place,), form, parts)


def after(needs: Sequence[Need]) -> str:
    """What is waited for: upwards, downwards, then by port."""
    order = sorted(needs, key=lambda need: (-need.channel.direction, need.channel.port))
    words = [
        f"{need.channel.direction * need.count:+}" if need.channel.direction
        else f"p{need.channel.port}" + (f"x{need.count}" if need.count > 1 else "")
        for need in order
    ]  # fmt: skip
    return " after " + " ".join(words) if words else ""


def parts_of(found: Attached) -> list[str]:
    return [f"{work.block}{SHARES[work.share]}{after(work.needs)}" for work in found.works]


def before(found: Attached) -> list[tuple[int, ...]]:
    """How many parts must be done before each send: upwards, then downwards; else by port."""
    return [found.before[c] for c in (UP, DOWN, Channel(0, 0)) if c in found.before]


def sends_of(found: Attached, channel: Channel) -> list[str]:
    return [
        " ".join(f"{piece.block[0]}{SHARES[piece.share]}" for piece in send.pieces)
        + after(send.needs)
        + (f" | {found.waits(channel, number)}" if found.before else "")
        for number, send in enumerate(found.program.sends(channel))
    ]


# AllGather: a part when its block is here, the own one first.

GATHERED = {
    # two chips, two cables: half of the other's block comes by each
    (RING, OWN, 2): ["0", "1 after +1 -1"],
    (RING, OWN, 3): ["0", "2 after +1", "1 after -1"],
    # the block of the opposite chip comes in halves, from both sides
    (RING, OWN, 4): ["0", "3 after +1", "1 after -1", "2 after +2 -2"],
    (RING, HALVES, 2): ["0:a", "0:b", "1:a after +1", "1:b after -1"],
    (RING, HALVES, 3): [
        "0:a", "0:b", "2:a after +1", "1:b after -1", "1:a after +2", "2:b after -2",
    ],
    (RING, HALVES, 4): [
        "0:a", "0:b", "3:a after +1", "1:b after -1",
        "2:a after +2", "2:b after -2", "1:a after +3", "3:b after -3",
    ],
    # two parts a step, both when both are here
    (RING, PAIRS, 2): ["0 after +1", "1 after +1"],
    (RING, PAIRS, 4): ["0 after +1", "3 after +1", "1 after +2 -1", "2 after +2 -1"],
    (RING, ONE, 2): ["0", "1 after +1"],
    (RING, ONE, 3): ["0", "2 after +1", "1 after +2"],
    (RING, ONE, 4): ["0", "3 after +1", "2 after +2", "1 after +3"],
    (SWITCH, ONE, 4): ["0", "3 after +1", "2 after +2", "1 after +3"],
    # every message comes from another chip, each on a port of its own
    (SWITCH, OWN, 2): ["0", "1 after p1"],
    (SWITCH, OWN, 3): ["0", "2 after p1", "1 after p2"],
    (SWITCH, OWN, 4): ["0", "3 after p1", "2 after p2", "1 after p3"],
}  # fmt: skip


@pytest.mark.parametrize(("dimension", "form", "n"), GATHERED)
def test_parts_of_a_matmul_after_an_all_gather(
    dimension: DimensionKind, form: Form, n: int
) -> None:
    for place in range(n):
        found = attached(dimension, form, GATHER, n, place)
        assert parts_of(found) == GATHERED[dimension, form, n]
        assert not found.before
        assert found.waits(UP, 0) == 0


GATHERED_ON_LINES = {
    (2, 0): ["0", "1 after -1"],
    (2, 1): ["0", "1 after +1"],
    (3, 0): ["0", "1 after -1", "2 after -2"],
    (3, 1): ["0", "2 after +1", "1 after -1"],
    (3, 2): ["0", "2 after +1", "1 after +2"],
    (4, 0): ["0", "1 after -1", "2 after -2", "3 after -3"],
    # in the middle two come at once, as long as there are two sides
    (4, 1): ["0", "3 after +1", "1 after -1", "2 after -2"],
    (4, 2): ["0", "3 after +1", "1 after -1", "2 after +2"],
    (4, 3): ["0", "3 after +1", "2 after +2", "1 after +3"],
}


@pytest.mark.parametrize(("n", "place"), GATHERED_ON_LINES)
def test_parts_of_a_matmul_after_an_all_gather_on_a_line(n: int, place: int) -> None:
    found = attached(LINE, OWN, GATHER, n, place)
    assert parts_of(found) == GATHERED_ON_LINES[n, place]
    assert not found.before


# ReduceScatter: the farthest first, the own one last; parts done before each send.

SCATTERED = {
    (RING, OWN, 2): (["1", "0"], [(1,), (1,)]),
    (RING, OWN, 3): (["1", "2", "0"], [(1,), (2,)]),
    # the opposite chip's part goes both ways, then one each way
    (RING, OWN, 4): (["2", "1", "3", "0"], [(1, 2), (1, 3)]),
    (RING, HALVES, 2): (["1:a", "1:b", "0:a", "0:b"], [(1,), (2,)]),
    (RING, HALVES, 3): (["2:a", "1:b", "1:a", "2:b", "0:a", "0:b"], [(1, 3), (2, 4)]),
    (RING, HALVES, 4): (
        ["3:a", "1:b", "2:a", "2:b", "1:a", "3:b", "0:a", "0:b"],
        [(1, 3, 5), (2, 4, 6)],
    ),
    (RING, PAIRS, 2): (["1", "0"], [(1,)]),
    (RING, PAIRS, 4): (["2", "3", "1", "0"], [(1, 3), (2,)]),
    (RING, ONE, 2): (["1", "0"], [(1,)]),
    (RING, ONE, 3): (["2", "1", "0"], [(1, 2)]),
    (RING, ONE, 4): (["3", "2", "1", "0"], [(1, 2, 3)]),
    (SWITCH, ONE, 4): (["3", "2", "1", "0"], [(1, 2, 3)]),
    # a part is not begun before the sum that it joins is here
    (RING, UNPIPELINED, 2): (["1", "0 after +1"], [(1,)]),
    (RING, UNPIPELINED, 3): (["2", "1 after +1", "0 after +2"], [(1, 2)]),
    (RING, UNPIPELINED, 4): (["3", "2 after +1", "1 after +2", "0 after +3"], [(1, 2, 3)]),
    (SWITCH, UNPIPELINED, 3): (["2", "1 after +1", "0 after +2"], [(1, 2)]),
    (SWITCH, OWN, 2): (["1", "0"], [(1,)]),
    (SWITCH, OWN, 3): (["1", "2", "0"], [(1, 2)]),
    (SWITCH, OWN, 4): (["1", "2", "3", "0"], [(1, 2, 3)]),
}


@pytest.mark.parametrize(("dimension", "form", "n"), SCATTERED)
def test_parts_of_a_matmul_before_a_reduce_scatter(
    dimension: DimensionKind, form: Form, n: int
) -> None:
    for place in range(n):
        found = attached(dimension, form, SCATTER, n, place)
        assert (parts_of(found), before(found)) == SCATTERED[dimension, form, n]


SCATTERED_ON_LINES = {
    (2, 0): (["1", "0"], [(1,)]),
    (2, 1): (["1", "0"], [(1,)]),
    (3, 0): (["2", "1", "0"], [(1, 2)]),
    (3, 1): (["1", "2", "0"], [(1,), (2,)]),
    (3, 2): (["1", "2", "0"], [(1, 2)]),
    (4, 0): (["3", "2", "1", "0"], [(1, 2, 3)]),
    # two chips above and one below: up, down, up
    (4, 1): (["2", "3", "1", "0"], [(1, 3), (2,)]),
    (4, 2): (["1", "2", "3", "0"], [(1,), (2, 3)]),
    (4, 3): (["1", "2", "3", "0"], [(1, 2, 3)]),
}


@pytest.mark.parametrize(("n", "place"), SCATTERED_ON_LINES)
def test_parts_of_a_matmul_before_a_reduce_scatter_on_a_line(n: int, place: int) -> None:
    found = attached(LINE, OWN, SCATTER, n, place)
    assert (parts_of(found), before(found)) == SCATTERED_ON_LINES[n, place]


@pytest.mark.parametrize(("dimension", "form", "kind"), COMBINATIONS)
def test_every_block_is_done_once(
    dimension: DimensionKind, form: Form, kind: CollectiveKind
) -> None:
    for n in (2, 4, 6, 8):
        for place in range(n):
            found = attached(dimension, form, kind, n, place)
            pieces = 2 if form is HALVES else 1
            assert len(set(found.works)) == len(found.works) == n * pieces
            assert {work.block for work in found.works} == set(range(n))


# The programs that are not the collective's own.


def test_pairs_go_on_after_the_last_step() -> None:
    """A message each way that nobody waits for, as in a loop."""
    found = attached(RING, PAIRS, GATHER, 4)
    assert sends_of(found, UP) == ["0", "-1 after +1", "-2 after +2"]
    assert sends_of(found, DOWN) == ["0", "1 after -1"]
    assert counts(found.program) == {UP: 3, DOWN: 2}
    # of two chips both steps go one way
    found = attached(RING, PAIRS, GATHER, 2)
    assert sends_of(found, UP) == ["0", "-1 after +1"]
    assert counts(found.program) == {UP: 2}
    # a ReduceScatter has nothing to go on with
    found = attached(RING, PAIRS, SCATTER, 4)
    assert sends_of(found, UP) == ["2 | 1", "1 after +1 | 3"]
    assert sends_of(found, DOWN) == ["-1 | 2"]


def counts(program: StepProgram) -> dict[Channel, int]:
    return {need.channel: need.count for need in program.receives}


def test_at_a_switch_each_message_is_counted_by_itself() -> None:
    found = attached(SWITCH, OWN, GATHER, 4)
    (lane,) = found.program.lanes
    assert [send.offset for send in lane.sends] == [1, 2, 3]
    assert [send.counted for send in lane.sends] == [Channel(0, 0, port) for port in (1, 2, 3)]
    assert counts(found.program) == {Channel(0, 0, port): 1 for port in (1, 2, 3)}


@pytest.mark.parametrize(("form", "sends"), [(OWN, (2, 2)), (HALVES, (3, 3)), (ONE, (3, 0))])
def test_other_forms_send_what_the_collective_does(form: Form, sends: tuple[int, int]) -> None:
    for kind in (GATHER, SCATTER):
        found = attached(RING, form, kind, 4)
        assert (len(sends_of(found, UP)), len(sends_of(found, DOWN))) == sends


# AllReduce in chunks: the program once for each part, on its share of every block.


def test_chunks_on_a_ring_follow_each_other_on_a_channel() -> None:
    kind = CollectiveKind.ALL_REDUCE
    found = attached(RING, Form.CHUNKS, kind, 3, algorithm=Algorithm.ONE_DIRECTION, parts=2)
    assert parts_of(found) == ["0", "1"]
    assert sends_of(found, UP) == [
        "2:a | 1", "1:a after +1 | 1", "0:a after +2 | 1", "-1:a after +3 | 1",
        "2:b | 2", "1:b after +5 | 2", "0:b after +6 | 2", "-1:b after +7 | 2",
    ]  # fmt: skip
    assert counts(found.program) == {UP: 8}


def test_chunks_cut_what_is_cut_already() -> None:
    """Two cables between two chips: half a block goes by each, of every part half of its share."""
    kind = CollectiveKind.ALL_REDUCE
    found = attached(RING, Form.CHUNKS, kind, 2, algorithm=Algorithm.BALANCED, parts=2)
    up, down = (
        [(send.pieces[0].share, after(send.needs)) for send in found.program.sends(channel)]
        for channel in (UP, DOWN)
    )
    quarters = [(Fraction(i, 4), Fraction(i + 1, 4)) for i in range(4)]
    waits = ["", " after +1 -1", "", " after +3 -3"]
    assert up == list(zip([quarters[0]] * 2 + [quarters[2]] * 2, waits, strict=True))
    assert down == list(zip([quarters[1]] * 2 + [quarters[3]] * 2, waits, strict=True))


def test_chunks_at_the_end_of_a_line() -> None:
    """The first chip hears one sum of each part, and two results."""
    kind = CollectiveKind.ALL_REDUCE
    found = attached(LINE, Form.CHUNKS, kind, 3, algorithm=Algorithm.LINE, parts=2)
    assert sends_of(found, UP) == [
        "2:a | 1", "1:a | 1", "0:a after -1 | 1", "2:b | 2", "1:b | 2", "0:b after -4 | 2",
    ]  # fmt: skip
    assert counts(found.program) == {DOWN: 6}


def test_chunks_at_a_switch_have_ports_of_their_own() -> None:
    """Two a part, one to add and one to hand out: a part may overtake that of another chip."""
    kind = CollectiveKind.ALL_REDUCE
    found = attached(SWITCH, Form.CHUNKS, kind, 3, algorithm=Algorithm.DIRECT, parts=2)
    ((channel, sends),) = ((lane.channel, lane.sends) for lane in found.program.lanes)
    assert [send.counted for send in sends] == [
        Channel(0, 0, port) for port in (0, 0, 1, 1, 2, 2, 3, 3)
    ]
    assert sends_of(found, channel) == [
        "1:a | 1", "2:a | 1", "0:a after p0x2 | 1", "0:a after p0x2 | 1",
        "1:b | 2", "2:b | 2", "0:b after p2x2 | 2", "0:b after p2x2 | 2",
    ]  # fmt: skip
    assert counts(found.program) == {Channel(0, 0, port): 2 for port in range(4)}


def test_one_chunk_is_the_collective_itself() -> None:
    for dimension, algorithm in (
        (RING, Algorithm.BALANCED), (LINE, Algorithm.LINE), (SWITCH, Algorithm.DIRECT)
    ):  # fmt: skip
        kind = CollectiveKind.ALL_REDUCE
        call = call_on(machine((4, dimension.value)), kind, 256, algorithm=algorithm)
        for chip in call.group.chips:
            found = attached_to(call, chip, Form.CHUNKS, 1)
            own = program_of(call, chip)
            assert [lane.channel for lane in found.program.lanes] == [
                lane.channel for lane in own.lanes
            ]
            assert [
                (send.pieces, send.needs) for lane in found.program.lanes for send in lane.sends
            ] == [(send.pieces, send.needs) for lane in own.lanes for send in lane.sends]
            assert set(found.program.receives) == set(own.receives)
