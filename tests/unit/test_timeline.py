"""Spans and timelines, on records written by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.timeline import (
    Activity,
    Core,
    Interval,
    LinkDirection,
    Message,
    Port,
    Timeline,
    length,
    union,
    without,
)

FIRST, SECOND = (0, 0), (0, 1)
CORE, LINK = Core(FIRST), LinkDirection(FIRST, "x", +1)

# Two chips at 4 ticks a second: the first multiplies for 3 ticks, sends twice and multiplies again.
HAND_MADE = Timeline(
    ticks_per_second=4,
    intervals=(
        Interval(CORE, 0, 3, 3, 0),
        Interval(LINK, 3, 5, 6, 1, Message(FIRST, (0, +1, 0), 0), 0, Fraction(20)),
        Interval(LINK, 6, 8, 9, 1, Message(SECOND, (0, +1, 0), 0), 1, Fraction(61, 3)),
        Interval(CORE, 7, 12, 12, 2),
    ),
    activities=(
        Activity(0, FIRST, 0, 3),
        Activity(1, FIRST, 3, 9),
        Activity(1, SECOND, 1, 10),
        Activity(2, FIRST, 7, 12),
    ),
)
NOTHING = Timeline(ticks_per_second=1, intervals=(), activities=())


@pytest.mark.parametrize(
    ("spans", "merged"),
    [
        ([], []),
        ([(3, 3), (5, 4)], []),
        ([(2, 3), (0, 1)], [(0, 1), (2, 3)]),
        ([(0, 2), (2, 4)], [(0, 4)]),
        ([(0, 9), (1, 2), (3, 4)], [(0, 9)]),
        ([(0, 2), (1, 5), (4, 6), (8, 9)], [(0, 6), (8, 9)]),
    ],
)
def test_union(spans: list[tuple[int, int]], merged: list[tuple[int, int]]) -> None:
    assert union(spans) == merged
    assert union(reversed(spans)) == merged


def test_length() -> None:
    assert length([]) == 0
    assert length([(0, 6), (8, 9)]) == 7


@pytest.mark.parametrize(
    ("first", "second", "ticks"),
    [
        ([], [(0, 5)], 0),
        ([(0, 5)], [(5, 9)], 0),
        ([(0, 5)], [(0, 5)], 5),
        ([(0, 10)], [(1, 2), (4, 6), (9, 12)], 4),  # 1 + 2 + 1
        ([(0, 3), (5, 7)], [(2, 6)], 2),  # 2-3 and 5-6
        ([(0, 1), (2, 3), (4, 5)], [(0, 5)], 3),
    ],
)
def test_ticks_in_common(
    first: list[tuple[int, int]], second: list[tuple[int, int]], ticks: int
) -> None:
    assert length(first) - length(without(first, second)) == ticks
    assert length(second) - length(without(second, first)) == ticks


def test_what_is_left_of_spans() -> None:
    assert without([(0, 5), (7, 9), (9, 12)], [(1, 2), (4, 8), (10, 11)]) == [
        (0, 1), (2, 4), (8, 9), (9, 10), (11, 12),
    ]  # fmt: skip
    assert without([(0, 9)], [(2, 3), (0, 1), (2, 5)]) == [(1, 2), (5, 9)]


def test_makespan_is_the_end_of_the_last_activity() -> None:
    assert HAND_MADE.makespan == 3  # 12 ticks
    assert NOTHING.makespan == 0


def test_seconds_are_exact() -> None:
    assert HAND_MADE.seconds(7) == Fraction(7, 4)


@pytest.mark.parametrize(
    ("step", "start", "end"),
    [
        (0, Fraction(0), Fraction(3, 4)),
        (1, Fraction(1, 4), Fraction(10, 4)),  # from the second chip's start to its end
        (2, Fraction(7, 4), Fraction(3)),
        (9, Fraction(0), Fraction(0)),  # no such step
    ],
)
def test_the_span_of_a_step(step: int, start: Fraction, end: Fraction) -> None:
    assert HAND_MADE.step_span(step) == (start, end)


def test_busy_resources() -> None:
    assert HAND_MADE.busy(CORE) == Fraction(3 + 5, 4)
    assert HAND_MADE.busy(LINK) == Fraction(2 + 2, 4)
    assert HAND_MADE.busy(Core(SECOND)) == 0
    assert HAND_MADE.busiest() == 2
    assert NOTHING.busiest() == 0


def test_what_a_link_has_carried() -> None:
    assert HAND_MADE.carried(LINK) == 20 + Fraction(61, 3)
    assert HAND_MADE.carried(CORE) == 0
    assert HAND_MADE.carried(LinkDirection(FIRST, "x", -1)) == 0


def test_records_by_track_and_chip() -> None:
    assert [i.start for i in HAND_MADE.by_track[LINK]] == [3, 6]
    assert HAND_MADE.chips == (FIRST, SECOND)
    assert [a.step for a in HAND_MADE.by_chip[FIRST]] == [0, 1, 2]


def test_computing_and_communicating() -> None:
    assert HAND_MADE.computing(FIRST) == [(0, 3), (7, 12)]
    assert HAND_MADE.computing(SECOND) == []
    assert HAND_MADE.communicating(FIRST, frozenset({1})) == [(3, 9)]
    assert HAND_MADE.communicating(FIRST, frozenset({1, 2})) == [(3, 12)]
    assert HAND_MADE.communicating(SECOND, frozenset()) == []


def test_names_of_tracks() -> None:
    ports = Port(FIRST, "gpu", +1), Port(FIRST, "gpu", -1)
    assert [str(track) for track in (CORE, LINK, LinkDirection(FIRST, "y", -1), *ports)] == [
        "core", "x+", "y-", "gpu out", "gpu in",
    ]  # fmt: skip
