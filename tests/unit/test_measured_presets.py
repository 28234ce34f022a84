"""`a100-measured` and `h100-measured` against the tables that they were fitted to.

Source: tables measured by aiconfigurator (Apache-2.0) in one node of A100-SXM-80 with NCCL 2.27.3,
and one of H100-SXM with NCCL 2.29.2; 16-bit data, the least of several runs. A size there is that
of the gathered array (AllGather, ReduceScatter), or of one GPU's buffer (AllReduce, AllToAll); V of
an AllToAll is that of all GPUs together.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.catalogue import find_topology
from shardsim.cost import CostModel
from shardsim.engine import simulate_calls
from shardsim.hardware import Curve
from shardsim.mesh import lay_mesh
from shardsim.topology import Topology
from shardsim.units import parse_quantity
from shardsim.vocabulary import CollectiveKind

AG, RS, AR, A2A = CollectiveKind
US = Fraction(1, 10**6)
KIB, MIB = 2**10, 2**20
MOST_POINTS = 5

# size, then microseconds of an AllGather, ReduceScatter, AllReduce, AllToAll
TABLES = {
    ("a100", 8): """
        512 B       15.6    15.6    22.6    15.8
        8 KiB       14.6    14.5    21.3    15.9
        64 KiB      21.1    18.0    28.1    14.2
        256 KiB     21.0    18.2    27.5    18.4
        1 MiB       26.8    23.4    38.9    25.8
        4 MiB       48.0    52.0    77.3    64.3
        16 MiB     135.0   123.4   216.5   114.3
        64 MiB     351.6   327.2   595.3   347.6
        256 MiB   1216.8  1149.5  2182.5  1197.9
        512 MiB   2288.0  2207.1  4225.9  2313.5
    """,
    ("a100", 4): """
        512 B       10.8    10.8    14.5    12.4
        64 KiB      15.4    13.9    17.8    14.5
        1 MiB       22.5    21.1    29.8    25.2
        16 MiB     118.5   109.3   183.5   104.4
        64 MiB     325.4   303.3   544.3   312.0
        512 MiB   2102.0  1982.3  3716.3  2065.7
    """,
    ("a100", 2): """
        512 B        9.0     8.9    10.0    10.5
        64 KiB      12.5    11.8    13.0    13.9
        1 MiB       19.9    19.4    40.8    22.8
        16 MiB      93.4    82.3   128.2    98.3
        64 MiB     266.3   230.3   391.5   243.0
        512 MiB   1789.8  1611.8  2781.1  1635.3
    """,
    ("h100", 8): """
        512 B       10.1    10.2    15.6     7.4
        8 KiB       10.6    10.5    16.0     7.5
        64 KiB      13.1    11.7    18.7     8.7
        256 KiB     13.6    12.2    19.1    12.9
        1 MiB       17.1    14.6    25.4    15.6
        4 MiB       33.4    29.9    50.5    26.2
        16 MiB      68.9    69.7   121.9    75.7
        64 MiB     208.1   200.8   324.5   221.3
        256 MiB    728.8   721.7  1092.1   763.9
        512 MiB   1401.5  1399.4  2111.1  1490.4
    """,
    ("h100", 2): """
        512 B        5.3     6.1     6.2     6.5
        64 KiB       6.4     6.3     7.3    12.0
        1 MiB       11.3    10.7    14.7    14.8
        16 MiB      56.0    53.2    82.2    53.0
        64 MiB     159.2   169.1   254.6   139.8
        512 MiB   1038.6  1077.9  1686.4   958.9
    """,
}

# how far a row may be off, and how far the rows of a table may be off in the mean
SMALL, MIDDLE, LARGE = Fraction("0.12"), Fraction("0.30"), Fraction("0.10")
BANDS = {"a100": (0.04, 0.17, 0.06), "h100": (0.02, 0.13, 0.04)}
"""What `band` of the two presets says: up to 4 KiB, between, from 16 MiB on."""


def rows(gpu: str, chips: int, kind: CollectiveKind) -> list[tuple[int, Fraction]]:
    """V in bytes and seconds of every row of a table."""
    column = 1 + list(CollectiveKind).index(kind)
    found = []
    for line in TABLES[gpu, chips].strip().splitlines():
        number, unit, *times = line.split()
        size = parse_quantity(f"{number} {unit}", "bytes")
        v = size * chips if kind is A2A else size
        found.append((int(v), Fraction(times[column - 1]) * US))
    return found


CASES = [(gpu, chips, kind) for gpu, chips in TABLES for kind in CollectiveKind]
IDS = [f"{gpu}-{chips}-{kind.value}" for gpu, chips, kind in CASES]


def machine(gpu: str, chips: int) -> Topology:
    return find_topology(f"{gpu}-measured:{chips}")


def curve_of(gpu: str, chips: int, kind: CollectiveKind) -> Curve:
    curve = machine(gpu, chips).calibration.curve(kind, chips)
    assert (curve.kind, curve.chips) == (kind, chips)
    return curve


def model(gpu: str, chips: int, kind: CollectiveKind, v: int) -> Fraction:
    """launch + steps a + bytes / (w e): a ring, or for an AllToAll direct sends."""
    curve = curve_of(gpu, chips, kind)
    link = machine(gpu, chips).dimensions[0].link
    steps, sent = {
        AG: (chips - 1, Fraction(chips - 1, chips)),
        RS: (chips - 1, Fraction(chips - 1, chips)),
        AR: (2 * (chips - 1), Fraction(2 * (chips - 1), chips)),
        A2A: (1, Fraction(chips - 1, chips**2)),
    }[kind]
    rate = link.one_way_bandwidth * curve.efficiency(Fraction(v))
    return curve.launch + steps * link.latency + sent * v / rate


def size_in_table(chips: int, kind: CollectiveKind, v: int) -> int:
    return v // chips if kind is A2A else v


def errors(gpu: str, chips: int, kind: CollectiveKind) -> list[tuple[int, Fraction]]:
    """The size of every row, and how far the model is off."""
    return [
        (size_in_table(chips, kind, v), abs(model(gpu, chips, kind, v) / seconds - 1))
        for v, seconds in rows(gpu, chips, kind)
    ]


@pytest.mark.parametrize(("gpu", "chips", "kind"), CASES, ids=IDS)
def test_every_row_of_the_table(gpu: str, chips: int, kind: CollectiveKind) -> None:
    for size, error in errors(gpu, chips, kind):
        allowed = SMALL if size <= 4 * KIB else LARGE if size >= 16 * MIB else MIDDLE
        assert error <= allowed, f"{size} bytes: {float(error):.1%} off"


@pytest.mark.parametrize(("gpu", "chips", "kind"), CASES, ids=IDS)
def test_price_and_simulation_are_the_model(gpu: str, chips: int, kind: CollectiveKind) -> None:
    """So all that is said of the model here is said of a run, too; and without being asked."""
    topology = machine(gpu, chips)
    group = lay_mesh(topology, {"X": chips}).group(("X",))
    costs = CostModel()
    for v, _ in rows(gpu, chips, kind):
        call = costs.call(kind, group, Fraction(v))
        assert call.method.name == ("direct" if kind is A2A else "ring")
        seconds = model(gpu, chips, kind, v)
        assert costs.collective(call).exact.total == seconds
        assert simulate_calls(topology, (call,)).makespan == seconds


@pytest.mark.parametrize("gpu", BANDS)
def test_the_band_that_the_preset_names(gpu: str) -> None:
    found = [row for name, chips, kind in CASES if name == gpu for row in errors(gpu, chips, kind)]
    small = max(error for size, error in found if size <= 4 * KIB)
    middle = max(error for size, error in found if 4 * KIB < size < 16 * MIB)
    large = max(error for size, error in found if size >= 16 * MIB)
    for error, said in zip((small, middle, large), BANDS[gpu], strict=True):
        assert said - 0.011 < error <= said + 0.0005
    band = machine(gpu, 8).calibration.band
    shown = [f"{share:.0%}".replace("%", " %") for share in BANDS[gpu]]
    assert band.startswith(
        f"within {shown[2]} of the table from 16 MiB on, {shown[0]} up to 4 KiB, {shown[1]} between"
    )


def test_the_mean_over_all_rows() -> None:
    found = [error for case in CASES for _, error in errors(*case)]
    assert len(found) == 4 * sum(len(table.strip().splitlines()) for table in TABLES.values())
    assert sum(found) / len(found) < Fraction("0.02")


@pytest.mark.parametrize(("gpu", "chips", "kind"), CASES, ids=IDS)
def test_few_points_that_rise(gpu: str, chips: int, kind: CollectiveKind) -> None:
    """The ramp, not the table: fewer points than rows, three digits each."""
    points = curve_of(gpu, chips, kind).points
    assert 2 <= len(points) <= MOST_POINTS
    assert len(points) < len(rows(gpu, chips, kind))
    for (size, share), (more, higher) in pairwise(points):
        assert size < more
        assert share < higher <= 1
        assert size / share <= more / higher
    assert all(float(f"{float(share):.3g}") == float(share) for _, share in points)


@pytest.mark.parametrize(("gpu", "chips", "kind"), CASES, ids=IDS)
def test_between_two_rows(gpu: str, chips: int, kind: CollectiveKind) -> None:
    """A size between two rows takes a time between theirs, give or take the bands."""
    for (small, fast), (large, slow) in pairwise(rows(gpu, chips, kind)):
        least, most = min(fast, slow), max(fast, slow)
        for part in (Fraction(1, 10), Fraction(1, 3), Fraction(2, 3), Fraction(9, 10)):
            between = small + int((large - small) * part)
            allowed = LARGE if size_in_table(chips, kind, small) >= 16 * MIB else MIDDLE
            seconds = model(gpu, chips, kind, between)
            assert least * (1 - allowed) <= seconds <= most * (1 + allowed)


@given(st.sampled_from(CASES), st.integers(1, 2**36), st.integers(1, 2**36))
def test_more_bytes_never_take_less_time(
    case: tuple[str, int, CollectiveKind], a: int, b: int
) -> None:
    assert model(*case, min(a, b)) <= model(*case, max(a, b))


@given(st.sampled_from(CASES), st.integers(1, 2**36))
def test_never_faster_than_the_datasheet(case: tuple[str, int, CollectiveKind], v: int) -> None:
    gpu, chips, kind = case
    assert 0 < curve_of(gpu, chips, kind).efficiency(Fraction(v)) <= 1
    assert curve_of(gpu, chips, kind).launch > 0


def test_numbers_of_gpus_that_were_not_measured_take_the_next_smaller_curve() -> None:
    for gpu, chips, measured in (("a100", 7, 4), ("a100", 3, 2), ("h100", 7, 4), ("h100", 3, 2)):
        assert machine(gpu, chips).calibration.curve(AG, chips).chips == measured
