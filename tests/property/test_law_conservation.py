"""Law: bytes sent = bytes received = the algorithm's closed form."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardsim.call import Call, Method, Stream
from shardsim.collectives import Channel, has_switch_program, program_of, step_program
from shardsim.cost.wire import wire_bytes
from shardsim.engine import simulate_calls
from shardsim.timeline import LinkDirection, Message, Port, Timeline
from shardsim.topology import Coordinate
from shardsim.vocabulary import Algorithm, CollectiveKind, DimensionKind, TransferKind
from tests.relations import EQUAL, KEYS, ROWS, Case, Row, cases
from tests.strategies import sizes

CASES = max(1, settings().max_examples // 25)
RING_ALGORITHMS = (
    Algorithm.BALANCED,
    Algorithm.WHOLE_SHARDS,
    Algorithm.HALF_SHARDS,
    Algorithm.ONE_DIRECTION,
)
ALONE = {Algorithm.LINE: DimensionKind.LINE} | {
    Algorithm.DIRECT: DimensionKind.SWITCH,
    Algorithm.RING: DimensionKind.SWITCH,
}


def leaving(timeline: Timeline) -> dict[Coordinate, Fraction]:
    """Bytes that leave each chip, forwarded ones included."""
    sent: dict[Coordinate, Fraction] = {}
    for track in timeline.by_track:
        if isinstance(track, LinkDirection) or (isinstance(track, Port) and track.direction > 0):
            sent[track.chip] = sent.get(track.chip, Fraction(0)) + timeline.carried(track)
    return sent


def check_links(case: Case, timeline: Timeline) -> None:
    """A link is busy for its bytes over its bandwidth, no less; at a switch, as much in as out."""
    floor = case.model.value == "floor"
    for track in timeline.by_track:
        assert isinstance(track, LinkDirection | Port)
        names = [dimension.name for dimension in case.machine.topology.dimensions]
        link = case.machine.topology.link(
            track.chip, (names.index(track.dimension), track.direction)
        )
        assert link is not None
        least = timeline.carried(track) / (link.one_way_bandwidth * case.call.efficiency)
        assert timeline.busy(track) >= least
        if not floor and case.machine.topology.is_regular:
            assert timeline.busy(track) == least


def check_messages(call: Call, timeline: Timeline) -> None:
    """Every message of the programs crosses the wire whole, hop by hop, and arrives."""
    group = call.group
    sent: dict[tuple[Coordinate, Channel], int] = {}
    arriving: Counter[tuple[Coordinate, Channel]] = Counter()
    for chip in group.chips:
        program = program_of(call, chip)
        for lane in program.lanes:
            sent[chip, lane.channel] = len(lane.sends)
            for send in lane.sends:
                assert send.offset is not None
                there = group.peer(chip, lane.channel.segment, send.offset)
                arriving[there, send.counted or lane.channel] += 1
    for chip in group.chips:
        program = program_of(call, chip)
        needed = {need.channel: need.count for need in program.receives if need.count}
        came = {channel: n for (there, channel), n in arriving.items() if there == chip}
        assert came == needed
    seen: dict[Message, dict[int, set[Fraction]]] = {}
    for interval in timeline.intervals:
        assert interval.message is not None
        hops = seen.setdefault(interval.message, {})
        hops.setdefault(interval.hop, set()).add(interval.size)
    assert len(seen) == sum(sent.values())
    for hops in seen.values():
        assert sorted(hops) == list(range(len(hops)))
        assert len(set().union(*hops.values())) == 1  # what is sent on is what came


@pytest.mark.parametrize("row", ROWS, ids=KEYS)
def test_bytes_sent_received_and_on_the_wire(row: Row) -> None:
    """On every fabric: links, messages, and the closed form of the busiest chip's bytes."""

    @settings(max_examples=CASES)
    @given(cases(row))
    def law(case: Case) -> None:
        call = case.call
        timeline = simulate_calls(case.machine.topology, [call], case.model)
        most = max(leaving(timeline).values(), default=Fraction(0))
        if call.group.is_physical and not (
            call.kind is TransferKind.GATHER and len(call.group.segments) > 1
        ):
            assert most == wire_bytes(call)
        else:
            assert most <= wire_bytes(call)
        assert wire_bytes(call) >= 0
        if not has_switch_program(call.method):
            check_links(case, timeline)
            check_messages(call, timeline)

    law()


def test_wire_bytes_are_exact_on_most_fabrics() -> None:
    """The law above is not a bound everywhere: where steps are links, it says `==`."""
    exact = {
        row.fabric.name
        for row in ROWS
        if row.fabric.example.group.is_physical and row.relation is EQUAL
    }
    assert len(exact) >= 15


def method_of(algorithm: Algorithm) -> Method:
    return Method(algorithms=(algorithm,), streams=(Stream((0,)),))


@given(
    st.sampled_from(CollectiveKind),
    sizes(12),
    st.sampled_from([*RING_ALGORITHMS, Algorithm.LINE, Algorithm.DIRECT, Algorithm.RING]),
)
def test_every_message_sent_is_received(
    kind: CollectiveKind, size: int, algorithm: Algorithm
) -> None:
    dimension = ALONE.get(algorithm, DimensionKind.RING)
    shape = ((size, dimension),)
    programs = [step_program(kind, shape, method_of(algorithm), (at,)) for at in range(size)]
    arriving: Counter[tuple[int, Channel]] = Counter()
    for at, program in enumerate(programs):
        for lane in program.lanes:
            for send in lane.sends:
                assert send.offset is not None
                there = at + send.offset
                if dimension is DimensionKind.LINE:
                    assert 0 <= there < size
                if lane.channel.direction:
                    assert send.offset == lane.channel.direction
                arriving[there % size, send.counted or lane.channel] += 1
    for at, program in enumerate(programs):
        came = {channel: count for (there, channel), count in arriving.items() if there == at}
        assert came == {need.channel: need.count for need in program.receives}


@given(sizes(12), st.sampled_from([*RING_ALGORITHMS, Algorithm.RING, Algorithm.DIRECT]))
def test_all_gather_brings_each_block_once(size: int, algorithm: Algorithm) -> None:
    """What arrives at a chip tiles every other chip's block, without gap or overlap."""
    dimension = ALONE.get(algorithm, DimensionKind.RING)
    program = step_program(
        CollectiveKind.ALL_GATHER, ((size, dimension),), method_of(algorithm), (0,)
    )
    got: dict[int, list[tuple[Fraction, Fraction]]] = {}
    for lane in program.lanes:
        for send in lane.sends:
            for piece in send.pieces:
                assert piece.block[0] is not None
                assert send.offset is not None
                block = (piece.block[0] - send.offset) % size
                got.setdefault(block, []).append(piece.share)
    assert sorted(got) == list(range(1, size))
    for shares in got.values():
        ends = sorted(shares)
        assert ends[0][0] == 0
        assert ends[-1][1] == 1
        assert all(left[1] == right[0] for left, right in pairwise(ends))


@given(st.lists(sizes(4), min_size=1, max_size=3), st.sampled_from(RING_ALGORITHMS))
def test_all_gather_over_rings_moves_each_byte_once(
    lengths: list[int], algorithm: Algorithm
) -> None:
    """In any schedule a chip sends (N-1)/N V altogether: as much as it gets."""
    count = len(lengths)
    orders = [tuple((first + step) % count for step in range(count)) for first in range(count)]
    ends = [Fraction(at, count) for at in range(count + 1)]
    streams = tuple(Stream(o, part) for o, part in zip(orders, pairwise(ends), strict=True))
    shape = tuple((length, DimensionKind.RING) for length in lengths)
    program = step_program(
        CollectiveKind.ALL_GATHER,
        shape,
        Method(algorithms=(algorithm,) * count, streams=streams),
        (0,) * count,
    )
    blocks = sum((send.size for lane in program.lanes for send in lane.sends), Fraction(0))
    assert blocks == math.prod(lengths) - 1
    assert program.blocks == math.prod(lengths)
