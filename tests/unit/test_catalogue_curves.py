"""How far collectives fall short, as a topology file says it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.catalogue import find_topology
from shardsim.catalogue.fields import share_of
from shardsim.documents import parse_document
from shardsim.errors import InputErrors, QuantityError, ShardsimError
from shardsim.hardware import Calibration, Curve
from shardsim.scenario import load_scenario
from shardsim.topology import Topology
from shardsim.vocabulary import CollectiveKind

US = Fraction(1, 10**6)
MIB = 2**20
BASE = """\
chip: v5e
dimensions:
  - {name: x, size: 4, kind: ring, bandwidth: 45 GB/s}
"""


def read(text: str) -> Topology:
    """The topology of a file with these lines, from line 4 on."""
    return find_topology(parse_document(BASE + text, "f.yaml"))


@pytest.mark.parametrize(
    ("value", "share"),
    [
        ("0.9", Fraction(9, 10)),
        (0.9, Fraction(9, 10)),
        ("90 %", Fraction(9, 10)),
        (" 90% ", Fraction(9, 10)),
        ("12.5 %", Fraction(1, 8)),
        (1, Fraction(1)),
        ("100 %", Fraction(1)),
        (Fraction(1, 3), Fraction(1, 3)),
        ("1e-3", Fraction(1, 1000)),
    ],
)
def test_shares(value: object, share: Fraction) -> None:
    assert share_of(value) == share


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        (0, "0 must be more than 0 and at most 1", "write a number such as 0.9, or 90 %"),
        ("0 %", "0 % must be more than 0 and at most 1", "write a number such as 0.9, or 90 %"),
        (-0.5, "-0.5 must be more than 0", "write a number such as"),
        ("90", "90 must be more than 0 and at most 1", "write 90 %"),
        (1.01, "1.01 must be more than 0 and at most 1", "write 1.01 %"),
        ("101 %", "101 % must be more than 0", "write a number such as"),
        ("nan", "'nan' is not a number", "write a number such as"),
        (float("inf"), "'inf' is not a number", "write a number such as"),
        ("", "'' is not a number", "write a number such as"),
        ("%", "'' is not a number", "write a number such as"),
        ("9 0 %", "'9 0' is not a number", "write a number such as"),
        (True, "true is not a share of the whole", "write a number such as"),
        ([0.9], "a list is not a share of the whole", "write a number such as"),
        (None, "nothing is not a share of the whole", "write a number such as"),
    ],
)
def test_what_is_no_share(value: object, message: str, hint: str) -> None:
    with pytest.raises(QuantityError) as caught:
        share_of(value)
    assert caught.value.message.startswith(message)
    assert caught.value.hint.startswith(hint)


def test_without_anything_said_links_are_as_in_the_datasheet() -> None:
    assert read("").calibration == Calibration()


def test_efficiency_and_overhead() -> None:
    calibration = read("efficiency: 90 %\nlaunch_overhead: 5 us\n").calibration
    assert calibration == Calibration(efficiency=Fraction(9, 10), launch_overhead=5 * US)
    curve = calibration.curve(CollectiveKind.ALL_TO_ALL, 4)
    assert (curve.efficiency(Fraction(1)), curve.launch) == (Fraction(9, 10), 5 * US)


MEASURED = """\
efficiency: 0.8
collectives:
  source: my own
  band: within 10 %
  all_gather:
    4: {launch: 4 us, points: [[1 MiB, 0.25], [4 MiB, 50 %]]}
    8: {points: []}
  all_reduce: {2: {}}
"""


def test_measured_collectives() -> None:
    calibration = read(MEASURED).calibration
    points = ((Fraction(MIB), Fraction(1, 4)), (Fraction(4 * MIB), Fraction(1, 2)))
    gather, reduce = CollectiveKind.ALL_GATHER, CollectiveKind.ALL_REDUCE
    assert calibration == Calibration(
        efficiency=Fraction(4, 5),
        curves=(
            Curve(kind=gather, chips=4, launch=4 * US, points=points),
            Curve(kind=gather, chips=8, launch=Fraction(0)),
            Curve(kind=reduce, chips=2, launch=Fraction(0)),
        ),
        source="my own",
        band="within 10 %",
    )
    # the next smaller number of chips, else the smallest; the rest as `efficiency` says
    assert calibration.curve(gather, 7).chips == calibration.curve(gather, 2).chips == 4
    assert calibration.curve(gather, 100).efficiency(Fraction(1)) == 1
    other = calibration.curve(CollectiveKind.ALL_TO_ALL, 4)
    assert other.efficiency(Fraction(1)) == Fraction(4, 5)


def test_between_the_points() -> None:
    """4 MiB at 1 MiB / share, 8 MiB at 4 MiB / share: 6 MiB halfway; outside, the nearest share."""
    curve = read(MEASURED).calibration.curve(CollectiveKind.ALL_GATHER, 4)
    halfway = Fraction(MIB * 5, 2)
    assert curve.efficiency(halfway) == halfway / (6 * MIB)
    assert curve.efficiency(Fraction(1)) == Fraction(1, 4)
    assert curve.efficiency(Fraction(MIB)) == Fraction(1, 4)
    assert curve.efficiency(Fraction(4 * MIB)) == curve.efficiency(Fraction(10**12))
    assert curve.efficiency(Fraction(4 * MIB)) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("old", "new", "message", "place"),
    [
        ("[1 MiB, 0.25]", "[1 MiB, 0.1]", "with this point a larger collective would take less t",
         "9:46"),
        ("[1 MiB, 0.25]", "[4 MiB, 0.25]", "the sizes of the points must rise", "9:47"),
        ("[1 MiB, 0.25]", "[1 MiB]", "collectives.all_gather.4.points[0]: a point must be a size "
         "and a share; it is a list", "9:32"),
        ("[1 MiB, 0.25]", "1", "collectives.all_gather.4.points[0]: a point must be a size and a "
         "share; it is '1'", "9:32"),
        ("[1 MiB, 0.25]", "[1 MB/s, 0.25]", "collectives.all_gather.4.points[0][0]: 'MB/s' is not",
         "9:33"),
        ("[1 MiB, 0.25]", "[1 MiB, 2]", "collectives.all_gather.4.points[0][1]: 2 must be more t",
         "9:40"),
        ("[1 MiB, 0.25]", "[1 MiB, ]", "collectives.all_gather.4.points[0]: a point must be a",
         "9:32"),
        ("8: {points", "1: {points", "collectives.all_gather.1: a collective is among 2 chips",
         "10:5"),
        ("8: {points", "x: {points", "collectives.all_gather.x: the number of chips must be a wh",
         "10:5"),
        ("8: {points: []}", "8: {point: []}", "unknown key 'point' in collectives.all_gather.8",
         "10:9"),
        ("8: {points: []}", "8: []", "collectives.all_gather.8 must be a mapping of keys", "10:8"),
        ("all_reduce:", "permute:", "unknown key 'permute' in collectives; allowed: source, band",
         "11:3"),
        ("4 us", "4 s", "collectives.all_gather.4.launch: 4 s is too long to be meant", "9:17"),
        ("0.8", "8", "efficiency: 8 must be more than 0 and at most 1", "4:13"),
    ],
)  # fmt: skip
def test_faults(old: str, new: str, message: str, place: str) -> None:
    assert old in MEASURED
    with pytest.raises(ShardsimError) as caught:
        read(MEASURED.replace(old, new, 1))
    error = caught.value.errors[0] if isinstance(caught.value, InputErrors) else caught.value
    assert error.message.startswith(message)
    assert str(error.place) == f"f.yaml:{place}"  # type: ignore[attr-defined]


def test_the_share_that_would_be_right_is_told() -> None:
    with pytest.raises(ShardsimError) as caught:
        read(MEASURED.replace("0.25", "0.1"))
    assert caught.value.hint == "write a share of 0.4 at most"


def test_faults_of_curves_overrides_and_twists_are_told_together() -> None:
    text = (
        MEASURED.replace("0.25", "0.1") + "twisted: true\noverrides: [{chip: [9], removed: true}]\n"
    )
    with pytest.raises(InputErrors) as caught:
        read(text)
    assert [error.message[:18] for error in caught.value.errors] == [
        "with this point a ",
        "a twisted torus is",
        "there is no chip [",
    ]


SCENARIO = """\
topology:
  chip: v5e
  efficiency: 0.8
  launch_overhead: 2 us
  collectives: {source: my own, all_gather: {4: {points: [[1 MiB, 0.25]]}}}
  dimensions:
    - {name: x, size: 4, kind: ring, bandwidth: 45 GB/s}
dims: {I: 8}
program: AllGather_X A[I_X] -> A[I]
"""


@pytest.mark.parametrize(
    ("said", "efficiency", "overhead"),
    [
        ("efficiency: 90 %", Fraction(9, 10), 2 * US),
        ("launch_overhead: 5 us", Fraction(4, 5), 5 * US),
        ("efficiency: 0.9\nlaunch_overhead: 0", Fraction(9, 10), Fraction(0)),
    ],
)
def test_a_scenario_stands_in_for_what_was_measured(
    said: str, efficiency: Fraction, overhead: Fraction, tmp_path: Path
) -> None:
    """Both keys are those of the topology file; what is not said stays, and the curves go."""
    path = tmp_path / "s.yaml"
    path.write_text(f"{SCENARIO}{said}\n")
    found = load_scenario(path).program.mesh.topology.calibration
    assert found == Calibration(efficiency=efficiency, launch_overhead=overhead)


def test_a_scenario_that_says_nothing_keeps_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO)
    found = load_scenario(path).program.mesh.topology.calibration
    assert (found.efficiency, found.source, len(found.curves)) == (Fraction(4, 5), "my own", 1)


SIZES = st.integers(1, 10**12)
SHARES = st.fractions(Fraction(1, 10**4), 1)


@given(st.dictionaries(SIZES, SHARES, min_size=1), SIZES, SIZES)
def test_a_curve_that_is_read_never_gives_more_bytes_less_time(
    drawn: dict[int, Fraction], a: int, b: int
) -> None:
    points = [[size, str(float(share))] for size, share in sorted(drawn.items())]
    dimension = {"name": "x", "size": 4, "kind": "switch", "bandwidth": "45 GB/s"}
    measured = {"collectives": {"all_gather": {4: {"points": points}}}}
    try:
        topology = find_topology({"chip": "v5e", "dimensions": [dimension], **measured})
    except ShardsimError as error:
        assert "larger collective would take less time" in str(error)  # noqa: PT017
        return
    curve = topology.calibration.curve(CollectiveKind.ALL_GATHER, 4)
    small, large = sorted((Fraction(a), Fraction(b)))
    assert 0 < curve.efficiency(small) <= 1
    assert small / curve.efficiency(small) <= large / curve.efficiency(large)
