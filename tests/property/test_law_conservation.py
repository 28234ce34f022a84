"""Law: bytes sent = bytes received = the algorithm's closed form."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from shardsim.collectives import step_program
from shardsim.hardware import Link
from shardsim.planner import CollectiveStep
from shardsim.timeline import LinkDirection
from shardsim.vocabulary import Algorithm, CollectiveKind, DimensionKind
from tests.machines import RING_ALGORITHMS, collective_plan, simulated
from tests.strategies import links, sizes

fabrics = st.sampled_from([("line", None), *(("ring", a) for a in RING_ALGORITHMS)])


@given(st.sampled_from(CollectiveKind), sizes(16), st.integers(1, 10**6), links(), fabrics)
def test_bytes_that_leave_the_busiest_chip(
    kind: CollectiveKind,
    size: int,
    elements: int,
    link: Link,
    fabric: tuple[str, Algorithm | None],
) -> None:
    plan = collective_plan(kind, size, fabric[0], elements, link, fabric[1])
    timeline = simulated(plan)
    sent: Counter[tuple[int, ...]] = Counter()
    for interval in timeline.intervals:
        assert isinstance(interval.track, LinkDirection)
        bytes_on_wire = timeline.seconds(interval.end - interval.start) * link.one_way_bandwidth
        sent[interval.track.chip] += bytes_on_wire  # type: ignore[assignment]  # exact Fractions
    expected = sum(
        (step.price.wire_bytes for step in plan.steps if isinstance(step, CollectiveStep)),
        Fraction(0),
    )
    assert max(sent.values(), default=0) == expected


@given(
    st.sampled_from(CollectiveKind),
    sizes(12),
    st.sampled_from([*RING_ALGORITHMS, Algorithm.LINE]),
)
def test_every_message_sent_is_received(
    kind: CollectiveKind, size: int, algorithm: Algorithm
) -> None:
    dimension = DimensionKind.LINE if algorithm is Algorithm.LINE else DimensionKind.RING
    programs = [
        step_program(kind, algorithm, dimension, size=size, position=at) for at in range(size)
    ]
    for direction in (+1, -1):
        for at in range(size):
            behind = at - direction
            if dimension is DimensionKind.LINE and not 0 <= behind < size:
                assert programs[at].arriving(direction) == 0
                continue
            sent = len(programs[behind % size].sends(direction))
            assert programs[at].arriving(direction) == sent


@given(sizes(12), st.sampled_from(RING_ALGORITHMS))
def test_all_gather_brings_each_block_once(size: int, algorithm: Algorithm) -> None:
    """What arrives at a chip tiles every other chip's block, without gap or overlap."""
    program = step_program(
        CollectiveKind.ALL_GATHER, algorithm, DimensionKind.RING, size=size, position=0
    )
    got: dict[int, list[tuple[Fraction, Fraction]]] = {}
    for lane in program.lanes:
        for send in lane.sends:
            for piece in send.pieces:
                block = (piece.block[0] - lane.direction) % size
                got.setdefault(block, []).append(piece.share)
    assert sorted(got) == list(range(1, size))
    for shares in got.values():
        ends = sorted(shares)
        assert ends[0][0] == 0
        assert ends[-1][1] == 1
        assert all(left[1] == right[0] for left, right in pairwise(ends))
