"""Step programs at one switch: direct, a ring of messages, and a switch that adds."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.call import Method, Stream
from shardsim.collectives import (
    Action,
    Channel,
    Send,
    StepProgram,
    has_switch_program,
    step_program,
    switch_program,
)
from shardsim.vocabulary import Algorithm, CallKind, CollectiveKind, DimensionKind, TransferKind

ANY = Channel(0, 0)


def method(algorithm: Algorithm, chunks: int = 1) -> Method:
    return Method(algorithms=(algorithm,), streams=(Stream((0,)),), chunks=chunks)


def program(
    kind: CallKind,
    size: int,
    place: int = 0,
    algorithm: Algorithm = Algorithm.DIRECT,
    chunks: int = 1,
    root: int = 0,
    shift: int = 1,
) -> StepProgram:
    shape = ((size, DimensionKind.SWITCH),)
    return step_program(kind, shape, method(algorithm, chunks), (place,), root=(root,), shift=shift)


# direct: (to the chip so many places up, the block relative to the sender)

DIRECT = [
    # my block to each; the sum of each for itself; my block for each
    (CollectiveKind.ALL_GATHER, [(1, (0,)), (2, (0,)), (3, (0,))], Action.STORE),
    (CollectiveKind.REDUCE_SCATTER, [(1, (1,)), (2, (2,)), (3, (3,))], Action.ADD),
    (CollectiveKind.ALL_TO_ALL, [(1, (0, 1)), (2, (0, 2)), (3, (0, 3))], Action.STORE),
]


@pytest.mark.parametrize(("kind", "sends", "action"), DIRECT)
def test_direct(
    kind: CollectiveKind, sends: list[tuple[int, tuple[int, ...]]], action: Action
) -> None:
    for place in range(4):
        found = program(kind, 4, place)
        (lane,) = found.lanes
        assert lane.channel == ANY
        assert [(send.offset, send.pieces[0].block) for send in lane.sends] == sends
        assert [(len(send.pieces), send.action, send.needs) for send in lane.sends] == (
            [(1, action, ())] * 3
        )
        assert {send.size for send in lane.sends} == {Fraction(1)}
        assert found.arriving(ANY) == 3


def test_at_each_step_every_chip_hears_one() -> None:
    sends = program(CollectiveKind.ALL_TO_ALL, 5).sends(ANY)
    for send in sends:
        assert send.offset is not None
        assert {(place + send.offset) % 5 for place in range(5)} == set(range(5))


def test_a_direct_all_reduce_sends_its_sum_when_all_parts_have_come() -> None:
    sends = program(CollectiveKind.ALL_REDUCE, 3).sends(ANY)
    assert [(send.offset, send.action.value) for send in sends] == [
        (1, "add"), (2, "add"), (1, "store"), (2, "store"),
    ]  # fmt: skip
    assert [[(need.channel, need.count) for need in send.needs] for send in sends] == [
        [], [], [(ANY, 2)], [(ANY, 2)],
    ]  # fmt: skip
    # a chip that is ahead may send its sum before another sends its part: they are counted apart
    assert [send.counted for send in sends] == [None, None, Channel(0, 0, 1), Channel(0, 0, 1)]


@pytest.mark.parametrize("kind", CollectiveKind)
def test_a_ring_of_messages_is_a_ring_in_one_direction(kind: CollectiveKind) -> None:
    on_ring = step_program(kind, ((5, DimensionKind.RING),), method(Algorithm.ONE_DIRECTION), (0,))
    assert program(kind, 5, algorithm=Algorithm.RING) == on_ring


def test_a_gather_to_one_chip() -> None:
    found = [program(TransferKind.GATHER, 4, place, root=1) for place in range(4)]
    assert [[send.offset for send in one.sends(ANY)] for one in found] == [[1], [], [3], [2]]
    assert [one.arriving(ANY) for one in found] == [0, 3, 0, 0]


def test_a_shift() -> None:
    (send,) = program(TransferKind.PERMUTE, 5, shift=2).sends(ANY)
    assert (send.offset, send.size) == (2, Fraction(1))


# A switch that adds, two chips, every block in two chunks: `p0:1` is the first chunk of block 0.


def written(send: Send, place: int) -> str:
    (piece,) = send.pieces
    chunk = {(0, Fraction(1, 2)): 1, (Fraction(1, 2), 1): 2, (0, 1): 0}[piece.share]
    assert piece.block[0] is not None
    text = f"{piece.block[0] + place}" + (f":{chunk}" if chunk else "")
    needs = " ".join(
        f"{'out' if need.channel.direction > 0 else 'in'}{need.channel.port}={need.count}"
        for need in send.needs
    )
    return f"{send.action.value} {text}" + (f" after {needs}" if needs else "")


def sent(found: StepProgram, place: int = 0) -> dict[str, list[str]]:
    return {
        f"{'out' if lane.channel.direction > 0 else 'in'}{lane.channel.port}": [
            written(send, place) for send in lane.sends
        ]
        for lane in found.lanes
    }


def test_a_chip_at_a_switch_that_adds() -> None:
    """Parts of both sums, chunk by chunk; beside them the sum that it owns, as it comes back.

    `out2` and `out3` are the channels of the sums of blocks 0 and 1 that are handed out.
    """
    for place in (0, 1):
        found = program(CollectiveKind.ALL_REDUCE, 2, place, Algorithm.IN_NETWORK, chunks=2)
        assert sent(found, place) == {
            f"out{place}": ["add 0:1", "add 1:1", "add 0:2", "add 1:2"],
            f"out{place + 2}": [
                f"store {place}:1 after in{place}=1",
                f"store {place}:2 after in{place}=2",
            ],
        }
        assert {send.offset for lane in found.lanes for send in lane.sends} == {None}
        # two chunks of its own sum, and two of each of the two sums
        assert found.arriving(Channel(0, -1, place)) == 2
        assert found.arriving(Channel(0, -1, place + 2)) == 4


def test_the_switch_that_adds() -> None:
    """A sum goes down when both parts are here: of block 0 the first and third that a chip sends,
    of block 1 the second and fourth. A copy goes to all when its owner has sent it."""
    found = switch_program(((2, DimensionKind.SWITCH),), method(Algorithm.IN_NETWORK, chunks=2))
    copies = [
        "store 0:1 after out2=1",
        "store 1:1 after out3=1",
        "store 0:2 after out2=2",
        "store 1:2 after out3=2",
    ]
    assert sent(found) == {
        "in0": ["store 0:1 after out0=1 out1=1", "store 0:2 after out0=3 out1=3"],
        "in1": ["store 1:1 after out0=2 out1=2", "store 1:2 after out0=4 out1=4"],
        "in2": copies,
        "in3": copies,
    }
    offsets = {lane.channel.port: {send.offset for send in lane.sends} for lane in found.lanes}
    assert offsets == {0: {0}, 1: {1}, 2: {0}, 3: {1}}
    assert {need.channel.port: need.count for need in found.receives} == {0: 4, 1: 4, 2: 2, 3: 2}


@pytest.mark.parametrize("chunks", [1, 2, 5])
@pytest.mark.parametrize("size", [2, 3, 8])
def test_what_each_port_carries(size: int, chunks: int) -> None:
    """(N+1)/N of V each way, V being N blocks: N parts (or copies) and one sum."""
    switch = switch_program(((size, DimensionKind.SWITCH),), method(Algorithm.IN_NETWORK, chunks))
    for place in range(size):
        chip = program(CollectiveKind.ALL_REDUCE, size, place, Algorithm.IN_NETWORK, chunks)
        for channel in (place, size + place):
            out = chip.sends(Channel(0, +1, channel))
            into = switch.sends(Channel(0, -1, channel))
            assert switch.arriving(Channel(0, +1, channel)) == len(out)
            assert chip.arriving(Channel(0, -1, channel)) == len(into)
        for program_, way in ((chip, +1), (switch, -1)):
            through = [
                send.size
                for channel in (place, size + place)
                for send in program_.sends(Channel(0, way, channel))
            ]
            assert sum(through) == size + 1
            assert len(through) == (size + 1) * chunks


def test_which_method_has_a_program_for_the_switch() -> None:
    assert [
        algorithm.value for algorithm in Algorithm if has_switch_program(method(algorithm))
    ] == ["in_network"]
