"""Chips, links, and how far collectives fall short of the datasheet."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from shardsim.errors import TopologyError
from shardsim.hardware import Calibration, Curve, Link
from shardsim.vocabulary import CollectiveKind, Dtype, TransferKind
from tests.machines import CHIP, call_on, machine, run_call

GATHER, REDUCE = CollectiveKind.ALL_GATHER, CollectiveKind.ALL_REDUCE
HALF = Fraction(1, 2)


def test_peaks() -> None:
    assert CHIP.peak(Dtype.INT8) == 2 * CHIP.peak(Dtype.BF16)
    with pytest.raises(TopologyError, match="chip test has no peak FLOP/s for fp8; it has bf16"):
        CHIP.peak(Dtype.FP8)


def test_both_directions_of_a_cable() -> None:
    assert Link(Fraction(45), Fraction(1)).bidirectional_bandwidth == 90


def curve(
    *points: tuple[int, Fraction],
    chips: int = 8,
    kind: CollectiveKind = GATHER,
    launch: int = 0,
) -> Curve:
    return Curve(
        kind=kind,
        chips=chips,
        launch=Fraction(launch),
        points=tuple((Fraction(size), share) for size, share in points),
    )


RAMP = curve((100, Fraction(1, 10)), (300, Fraction(3, 10)), (1000, HALF))

SHARES = [
    # outside the points the nearest share holds
    (1, Fraction(1, 10)),
    (100, Fraction(1, 10)),
    (1000, HALF),
    (10**9, HALF),
    # V / share is 1000 at both 100 and 300, so it is 1000 between: the time stands still
    (200, Fraction(2, 10)),
    (300, Fraction(3, 10)),
    # from 1000 at 300 to 2000 at 1000: at 650 it is 1500
    (650, Fraction(650, 1500)),
]


@pytest.mark.parametrize(("size", "share"), SHARES)
def test_the_share_of_the_bandwidth(size: int, share: Fraction) -> None:
    assert RAMP.efficiency(Fraction(size)) == share


def test_time_does_not_fall_with_the_size() -> None:
    times = [Fraction(size) / RAMP.efficiency(Fraction(size)) for size in range(1, 3000, 7)]
    assert all(before <= after for before, after in itertools.pairwise(times))


def test_a_curve_without_points_has_all_of_the_bandwidth() -> None:
    assert curve().efficiency(Fraction(5)) == 1


# Which curve.

CURVES = Calibration(
    efficiency=HALF,
    launch_overhead=Fraction(7),
    curves=(
        curve(chips=8, launch=8),
        curve(chips=2, launch=2),
        curve(chips=4, launch=4, kind=REDUCE),
    ),
)
CHOSEN = [
    # the next smaller number of chips that was measured, else the smallest
    (GATHER, 8, 8),
    (GATHER, 16, 8),
    (GATHER, 7, 2),
    (GATHER, 2, 2),
    (REDUCE, 2, 4),
    (REDUCE, 64, 4),
    # nothing measured: what holds of any
    (CollectiveKind.ALL_TO_ALL, 8, 7),
    (TransferKind.SEND, 8, 7),
]


@pytest.mark.parametrize(("kind", "chips", "launch"), CHOSEN)
def test_which_curve(kind: CollectiveKind, chips: int, launch: int) -> None:
    found = CURVES.curve(kind, chips)
    assert found.kind is kind
    assert found.launch == launch
    general = launch == 7
    assert found.efficiency(Fraction(1)) == (HALF if general else 1)


def test_neutral_by_default() -> None:
    found = Calibration().curve(GATHER, 4)
    assert (found.launch, found.efficiency(Fraction(10))) == (Fraction(0), Fraction(1))


# What it does to a run: half of the bandwidth, and a launch.


@pytest.mark.parametrize("kind", [*CollectiveKind, *TransferKind])
@pytest.mark.parametrize("what", ["ring", "line", "switch"])
def test_a_calibrated_run(what: str, kind: CollectiveKind) -> None:
    """The same as on links of half the bandwidth, a launch later."""
    link = Link(Fraction(10), Fraction(3))
    slow = Link(Fraction(5), Fraction(3))
    known = Calibration(efficiency=HALF, launch_overhead=Fraction(2))
    found = run_call(call_on(machine((4, what), link=link, calibration=known), kind, 480))
    plain = run_call(call_on(machine((4, what), link=slow), kind, 480))
    assert found.makespan == plain.makespan + 2
