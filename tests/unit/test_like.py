"""Machines and chips that are like others, with other figures."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import shardsim
from shardsim.catalogue import find_topology, one_chip
from shardsim.errors import InputError, InputErrors
from shardsim.hardware import Chip, Link
from shardsim.vocabulary import ChannelKind, Dtype

G = 10**9
RING = {"name": "x", "size": 4, "kind": "ring", "bandwidth": "45 GB/s"}


def own(**chip: Any) -> Chip:
    """The chip of a topology with one dimension."""
    return find_topology({"chip": chip, "dimensions": [RING]}).chip


MINE = {
    "name": "mine",
    "flops_per_second": {"bf16": "200 TFLOP/s"},
    "hbm_bandwidth": "1 TB/s",
    "hbm_capacity": "16 GB",
}


def test_nothing_changed_is_the_same_machine() -> None:
    found, base = find_topology({"like": "v5e:8x16"}), find_topology("v5e:8x16")
    assert found.name == "like v5e:8x16"
    assert (found.chip, found.dimensions) == (base.chip, base.dimensions)
    assert own(like="v5e") == find_topology("v5e:4x4").chip


def test_links_and_the_channel_of_the_chip_follow() -> None:
    found = find_topology({"like": "v5e:8x4", "bandwidth": "50 GB/s", "latency": 0})
    assert {one.link for one in found.dimensions} == {Link(Fraction(50 * G), Fraction(0))}
    assert found.chip.channel(ChannelKind.ICI).bandwidth == 100 * G
    assert found.chip.channel(ChannelKind.DCN).bandwidth == Fraction(3.125e9)
    assert [one.reason for one in found.dimensions] == [
        one.reason for one in find_topology("v5e:8x4").dimensions
    ]
    later = find_topology({"like": "v5e:8x4", "latency": "2 us"})
    assert {one.link for one in later.dimensions} == {Link(Fraction(45 * G), Fraction(2, 10**6))}
    assert later.chip == find_topology("v5e:8x4").chip


def test_links_of_several_kinds() -> None:
    found = find_topology({"like": "h100:4x8", "bandwidth": "60 GB/s"})
    rates = {one.kind: one.bandwidth for one in found.chip.channels}
    assert rates[ChannelKind.NVLINK] == rates[ChannelKind.INFINIBAND] == 60 * G
    assert found.dimensions[1].reduces
    slices = find_topology({"like": "2*v5e:4x4", "bandwidth": "40 GB/s"})
    assert slices.chip.channel(ChannelKind.DCN).note == "a chip's share"


CHANGES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"hbm_bandwidth": "810 GB/s"}, {"hbm_bandwidth": 810 * G}),
    ({"hbm_capacity": "32 GB"}, {"hbm_capacity": 32 * G}),
    ({"price": "2 USD/h"}, {"price": 2}),
    ({"name": "mine"}, {"name": "mine", "title": "mine"}),
    ({"title": "Mine"}, {"name": "v5e", "title": "Mine"}),
    ({"matrix_unit": [256, 256]}, {"matrix_unit": (256, 256)}),
    ({"cores": 2}, {"cores": 2}),
]


@pytest.mark.parametrize(("said", "changed"), CHANGES)
def test_only_what_is_said_changes(said: dict[str, Any], changed: dict[str, Any]) -> None:
    base = find_topology("v5e:4x4").chip
    for found in (own(like="v5e", **said), find_topology({"like": "v5e:4x4", "chip": said}).chip):
        for key in (
            "name",
            "title",
            "hbm_bandwidth",
            "hbm_capacity",
            "price",
            "matrix_unit",
            "cores",
        ):
            assert getattr(found, key) == changed.get(key, getattr(base, key))
        assert found.peaks == base.peaks
        assert found.like == "v5e"


def test_a_peak_is_changed_or_added() -> None:
    found = own(like="v5e", flops_per_second={"bf16": "200 TFLOP/s", "f32": "20 TFLOP/s"})
    assert [(dtype.value, rate / 10**12) for dtype, rate in found.peaks] == [
        ("bf16", 200), ("int8", 394), ("int4", 788), ("f32", 20),
    ]  # fmt: skip
    assert found.peak(Dtype.F32) == 20 * 10**12


def test_channels_are_changed_or_added() -> None:
    found = own(like="v5e", vmem_bandwidth="20 TB/s", pcie_bandwidth="32 GB/s")
    assert found.channel(ChannelKind.VMEM).bandwidth == 20 * 10**12
    assert found.channel(ChannelKind.VMEM).capacity == 2**27
    assert found.channel(ChannelKind.PCIE).bandwidth == 32 * G
    assert own(like="v5e", hbm_bandwidth="1 TB/s").channel(ChannelKind.VMEM).bandwidth == 18.04e12
    added = own(like="b200", l2_bandwidth="10 TB/s", l2_capacity="126 MB")
    assert added.channel(ChannelKind.L2).capacity == 126 * 10**6
    assert own(like="7x", pcie_bandwidth="32 GB/s").channel(ChannelKind.PCIE).note == "each way"


def test_the_vector_unit() -> None:
    found = own(like="v5p", clock="2 GHz").vector_unit
    assert found is not None
    assert found.flops_per_second == 8192 * 2 * G
    doubled = own(like="v5p", cores=4)
    assert doubled.vector_unit is not None
    assert doubled.vector_unit.alus == 16384
    assert doubled.channel(ChannelKind.VMEM).capacity == 2**28
    new = own(like="v4", vector_unit=[4, 8, 128], clock="1 GHz").vector_unit
    assert new is not None
    assert (new.cores, new.alus) == (2, 8192)


def test_a_chip_of_its_own_with_all_that_a_chip_can_have() -> None:
    found = own(
        **MINE, cores=2, clock="1.5 GHz", vector_unit=[8, 128], matrix_unit=[128, 128],
        vmem_bandwidth="20 TB/s", vmem_capacity="64 MiB", pcie_bandwidth="16 GB/s",
        price="3 USD/h",
    )  # fmt: skip
    assert [one.kind.value for one in found.ladder] == ["vmem", "hbm", "pcie"]
    assert found.channel(ChannelKind.VMEM).capacity == 2**26
    assert found.vector_unit is not None
    assert found.vector_unit.alus == 2048
    assert (found.price, found.cores, found.matrix_unit, found.like) == (3, 2, (128, 128), "")


def test_a_chip_by_itself_may_be_changed() -> None:
    said = {"like": "v6e", "chip": {"flops_per_second": {"bf16": "910 TFLOP/s"}}}
    found = one_chip(said)
    assert (found.name, found.size) == ("like v6e", 1)
    assert found.chip.peak(Dtype.BF16) == 910 * 10**12
    wider = one_chip({"like": "v5e", "bandwidth": "50 GB/s"})
    assert wider.chip.channel(ChannelKind.ICI).bandwidth == 100 * G
    with pytest.raises(InputError, match="chip v6e needs a shape"):
        find_topology(said)


def test_real_links_and_overrides() -> None:
    slow = {"from": [0, 0], "to": [0, 1], "bandwidth": "10 GB/s"}
    found = find_topology({"like": "v5e:4x4", "efficiency": "90 %", "overrides": [slow]})
    assert found.calibration.efficiency == Fraction(9, 10)
    assert len(found.changed) == 2
    measured = find_topology({"like": "h100-measured:8", "latency": 0})
    assert measured.calibration == find_topology("h100-measured:8").calibration
    again = find_topology({"like": "slow-link-4x4", "bandwidth": "90 GB/s"})
    assert again.changed == find_topology("slow-link-4x4").changed


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("sub/base.yaml").write_text("like: v5e:4x4\nbandwidth: 50 GB/s\n", encoding="utf-8")
    Path("sub/mine.yaml").write_text("like: base\nlatency: 0\n", encoding="utf-8")
    found = find_topology("sub/mine.yaml")
    assert found.name == "mine"
    assert found.dimensions[0].link == Link(Fraction(50 * G), Fraction(0))
    Path("round.yaml").write_text("like: round.yaml\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        find_topology("round.yaml")
    assert caught.value.message == "like leads on and on, 8 times"
    assert str(caught.value.place) == "round.yaml:1:7"


def test_in_a_scenario(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "topology: {like: v5e:4x4, latency: 0, chip: {hbm_bandwidth: 1 TB/s}}\n"
        "dims: {I: 64}\nprogram: ['AllGather_X A[I_X] -> A[I]']\n",
        encoding="utf-8",
    )
    topology = shardsim.load_scenario(path).program.mesh.topology
    assert topology.dimensions[0].link.latency == 0
    assert topology.chip.hbm_bandwidth == 10**12
    line, dims = "AllGather_X A[I_X] -> A[I]", {"I": 64}
    found = shardsim.plan(line, topology={"like": "v5e:4x4", "latency": 0}, dims=dims)
    assert found.steps


FAULTS: list[tuple[dict[str, Any], str, str]] = [
    ({"like": "v5e"}, "chip v5e needs a shape", "write v5e:4x4"),
    ({"like": "v5x:4"}, "there is no chip 'v5x'", "did you mean v5p?"),
    ({"like": 3}, "like must be text; it is 3", ""),
    (
        {"like": "v5e:4x4", "dimensions": []},
        "like and dimensions both say how the chips are connected",
        "remove one",
    ),
    ({"like": "v5e:4x4", "chip": "v5p"}, "chip: beside like, chip holds the figures", "write it"),
    ({"like": "v5e:4x4", "speed": 1}, "unknown key 'speed' in the topology; allowed: like", ""),
    ({"like": "v5e:4x4", "chip": {"hbm": 1}}, "unknown key 'hbm' in chip; allowed: ", "remove it"),
    ({"like": "v5e:4x4", "chip": {"like": "v4"}}, "unknown key 'like' in chip", "remove it"),
    ({"like": "v5e:4x4", "bandwidth": 50}, "bandwidth: 50 B/s is too slow to be", "write 50 GB/s"),
    ({"like": "v5e:4x4", "chip": {"clock": 2}}, "chip.clock: 2 Hz is too slow", "write 2 GHz"),
    (
        {"like": "v5e:4x4", "chip": {"clock": "2 GB"}},
        "chip.clock: 'GB' is not a unit of Hz",
        "1.75",
    ),
    ({"like": "v5e:4x4", "chip": {"price": "2 EUR"}}, "chip.price: 'EUR' is not a unit", "1.2 USD"),
    (
        {"like": "v5e:4x4", "chip": {"flops_per_second": {}}},
        "chip.flops_per_second is empty",
        "write it as",
    ),
    (
        {"like": "v5e:4x4", "chip": {"vector_unit": 8}},
        "chip.vector_unit must be a list of 1 to 4 counts; it is 8",
        "write it as [8, 128]",
    ),
    (
        {"like": "v5e:4x4", "chip": {"matrix_unit": [1, 2, 3]}},
        "chip.matrix_unit must be its rows and columns; it is a list",
        "write it as [128, 128]",
    ),
    (
        {"like": "v4:4x4x4", "chip": {"clock": "1 GHz"}},
        "clock says nothing of chip v4 without vector_unit",
        "add vector_unit, or leave clock out",
    ),
    (
        {"like": "v4:4x4x4", "chip": {"l2_capacity": "1 GB"}},
        "l2_capacity says nothing of chip v4 without l2_bandwidth",
        "add l2_bandwidth, or leave l2_capacity out",
    ),
    (
        {"like": "slow-link-4x4", "overrides": [{"chip": [0, 0], "removed": True}]},
        "slow-link-4x4 has overrides of its own",
        "say all of them in one place",
    ),
    ({"chip": {"like": "v9"}, "dimensions": [RING]}, "there is no chip 'v9'", ""),
    (
        {"chip": {"like": "h100-measured"}, "dimensions": [RING]},
        "chip h100-measured stands for measurements of a whole node",
        "write h100",
    ),
    (
        {"chip": {**MINE, "vector_unit": [8, 128]}, "dimensions": [RING]},
        "vector_unit says nothing of chip mine without cores and clock",
        "add cores and clock, or leave vector_unit out",
    ),
]


@pytest.mark.parametrize(("said", "message", "way_out"), FAULTS)
def test_faults(said: dict[str, Any], message: str, way_out: str) -> None:
    with pytest.raises(InputError) as caught:
        find_topology(said)
    assert caught.value.message.startswith(message)
    assert way_out in caught.value.hint


def test_all_faults_at_once_where_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(
        "like: v5e:4x4\ndimensions: []\nlatency: 5\nchip:\n  clock: 3\n  hbm: 1 TB/s\n",
        encoding="utf-8",
    )
    with pytest.raises(InputErrors) as caught:
        find_topology(path)
    places = [
        (error.place.line, error.place.column) for error in caught.value.errors if error.place
    ]
    assert places == [(2, 1), (3, 10), (5, 10), (6, 3)]
