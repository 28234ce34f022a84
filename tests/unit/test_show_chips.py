"""Chips on the command line: `show chips`, `show CHIP`, as text and as JSON."""

from __future__ import annotations

import json

import pytest

from shardsim.catalogue import chip_figures, chip_names
from shardsim.catalogue.ladder import plain_chips
from tests.command_line import command

G = 10**9


def test_show_chips_has_a_line_for_each() -> None:
    out = command("show", "chips").out
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert set(plain_chips()) <= set(lines)
    assert max(map(len, out.splitlines())) <= 100
    assert "197 TFLOP/s" in lines["v5e"]
    assert lines["v5e"].split()[-1] == "240"
    assert lines["v100"].split()[1:4] == ["f16", "113", "TFLOP/s"]


def test_show_chips_as_json() -> None:
    document = json.loads(command("show", "chips", "--json").out)
    assert document["format"] == "shardsim/chips/1"
    assert [one["name"] for one in document["chips"]] == plain_chips()
    (v5e,) = (one for one in document["chips"] if one["name"] == "v5e")
    assert v5e["ladder"][1]["bytes_per_second"] == 820 * G
    assert v5e["usd_per_hour"] == 1.2


def test_show_one_chip() -> None:
    out = command("show", "V5E").out
    assert out.startswith("v5e: TPU v5e\n  HBM 16 GB = 14.9 GiB at 820 GB/s\n")
    assert max(map(len, out.splitlines())) <= 100
    (hbm,) = (line for line in out.splitlines() if line.startswith("HBM  "))
    assert hbm.split() == ["HBM", "16", "GB", "820", "GB/s", "9.11", "240", "19.5", "ms"]
    for one in chip_figures("v5e"):
        assert f"{one.name} " in out
        for said in (one.used, *one.alternatives):
            assert f"{said.text} " in out
    assert "NVLink" in command("show", "h100").out


@pytest.mark.parametrize("name", chip_names())
def test_show_of_any_chip_is_100_columns_wide(name: str) -> None:
    result = command("show", name)
    assert (result.code, result.err) == (0, "")
    assert max(map(len, result.out.splitlines())) <= 100


def test_show_one_chip_as_json() -> None:
    document = json.loads(command("show", "h100", "--json").out)
    assert document["format"] == "shardsim/chip/1"
    assert document["facts"]["vector_alus"] == 16896
    assert [one["name"] for one in document["figures"]] == [
        one.name for one in chip_figures("h100")
    ]
    (price,) = (one for one in document["figures"] if one["name"] == "price")
    assert (price["value"], price["unit"]) == (10.8, "USD/h")
    (share,) = (one for one in document["figures"] if one["name"].endswith("share_of_flops"))
    assert (share["value"], share["unit"]) == ([0.8, 0.85], "")


def test_a_mesh_over_one_chip_is_refused() -> None:
    result = command("show", "v5e", "--mesh", "X=4")
    assert result.code == 2
    assert result.err.startswith("error: --mesh is for a topology; v5e has no shape\n")
