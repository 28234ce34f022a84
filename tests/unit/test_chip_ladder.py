"""The ladder of a chip: its channels, what each asks of a program; one chip as a machine."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.catalogue import Alone, chip_names, chips, generation_of, one_chip
from shardsim.catalogue.ladder import ladder, plain_chips
from shardsim.hardware import Chip
from shardsim.vocabulary import ChannelKind, Dtype

T, G, M = 10**12, 10**9, 10**6
MIB = 2**20


def chip(word: str) -> Chip:
    """A chip of the catalogue."""
    return generation_of(word).chip


CHANNELS = [
    ("v5e", "vmem", 18.04e12, "", 128 * MIB),
    ("v5p", "vmem", 61.6e12, "", 128 * MIB),
    ("v6e", "vmem", 35.2e12, "", 128 * MIB),
    ("v5e", "hbm", 820e9, "", 16 * G),
    ("v5e", "ici", 90e9, "one axis, both ways", None),
    ("v5p", "ici", 180e9, "one axis, both ways", None),
    ("v2", "ici", 120e9, "one axis, both ways", None),
    ("v5e", "pcie", 16e9, "each way", None),
    ("v5e", "dcn", 3.125e9, "a chip's share", None),
    ("h100", "l2", 5.5e12, "", 50 * M),
    ("h100", "nvlink", 450e9, "one way", None),
    ("h100", "infiniband", 50e9, "one way", None),
    ("a100", "pcie", 32e9, "each way", None),
]


@pytest.mark.parametrize(("name", "kind", "rate", "note", "capacity"), CHANNELS)
def test_channels(name: str, kind: str, rate: float, note: str, capacity: int | None) -> None:
    found = chip(name).channel(ChannelKind(kind))
    assert (found.bandwidth, found.note, found.capacity) == (Fraction(rate), note, capacity)


def test_what_a_chip_has_no_figure_for_is_no_channel() -> None:
    assert [one.kind.value for one in chip("7x").ladder] == ["hbm", "ici", "dcn"]
    assert [one.kind.value for one in chip("v4").ladder] == ["vmem", "hbm", "ici", "pcie"]
    for name in ("v100", "mi300x"):
        assert isinstance(chips()[name], Alone)
        assert [one.kind.value for one in chip(name).ladder] == ["hbm"]


INTENSITIES = [
    ("v5e", "ici", 2188.9), ("v6e", "ici", 5111.1), ("7x", "ici", 12777.8), ("v5p", "ici", 2550),
    ("v4", "ici", 3055.6), ("v5e", "hbm", 240.24), ("v5e", "vmem", 10.92), ("h100", "hbm", 295.2),
    ("v5p", "dcn", 73440), ("h100", "nvlink", 2197.8),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "needed"), INTENSITIES)
def test_flops_per_byte_that_are_needed(name: str, kind: str, needed: float) -> None:
    (rung,) = (one for one in ladder(chip(name)) if one.channel.kind.value == kind)
    assert float(rung.needed) == pytest.approx(needed, rel=1e-4)


@pytest.mark.parametrize("name", plain_chips())
def test_a_ladder_goes_down(name: str) -> None:
    one = chip(name)
    rungs = ladder(one)
    assert [rung.channel for rung in rungs] == list(one.ladder)
    assert all(rung.ratio is None or rung.ratio >= 1 for rung in rungs)
    assert [rung.ratio is None for rung in rungs] == [*[False] * (len(rungs) - 1), True]
    for rung in rungs:
        assert rung.fill * rung.channel.bandwidth == one.hbm_capacity


def test_a_ladder_of_another_type() -> None:
    rungs = {one.channel.kind: one.needed for one in ladder(chip("v5e"), Dtype.INT8)}
    assert rungs[ChannelKind.HBM] == Fraction(394 * T, 820 * G)


# One chip as a machine.


@pytest.mark.parametrize("name", chip_names())
def test_one_chip(name: str) -> None:
    found = one_chip(name)
    assert (found.name, found.shape) == (name, (1,))
    assert found.chip is chip(name)
    assert found.dimensions[0].reason in ("1 chip: no link", "1 gpu: no link")


def test_one_chip_of_an_alias_or_a_slice() -> None:
    assert one_chip("Ironwood").name == "7x"
    assert one_chip("v5e:4x4").shape == (4, 4)
    assert one_chip("ring-of-8").shape == (8,)
