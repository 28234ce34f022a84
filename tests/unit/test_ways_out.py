"""Faults with their ways out, and what these cost."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardsim as ss
from shardsim.errors import InputError, InputErrors, PlanError, RepeatedAxisError
from shardsim.scenario import load_scenario, make_scenario

TWICE = "A[I_X, J] · B[J, K_X] -> C[I_X, K_X]"


def test_an_axis_that_the_result_keeps_twice() -> None:
    with pytest.raises(RepeatedAxisError) as caught:
        ss.plan(TWICE, topology="v5e:4x4", dims="I=4096,J=4096,K=1024")
    assert caught.value.message == "axis X is used twice in C[I_X, K_X]"
    assert caught.value.hint == (
        "choose C[I_X, K] (186 µs) or C[I, K_X] (234 µs), or take another axis for one use"
    )
    assert caught.value.place is not None
    assert caught.value.place.column == 35


ASKED: list[dict[str, object]] = [
    {},
    {"dtype": "int8"},
    {"dtype": "A=int8,default=bf16"},
    {"dims": "I=4094,J=4096,K=1023", "uneven": "pad"},
    {"objective": "bytes", "dims": "I=512,J=512,K=512"},
    {"policy": "textbook", "dims": "I=512,J=4096,K=512"},
    {"latency_model": "floor", "dims": "I=64,J=64,K=64"},
    {"algorithm": "one_direction", "topology": "v5e:16x16"},
    {"chunks": 16},
    {"idle_axes": "use"},
    {"efficiency": "0.5"},
]


@pytest.mark.parametrize("way", ["C[I_X, K]", "C[I, K_X]"])
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_the_prices_are_those_of_the_ways(way: str, asked: dict[str, object]) -> None:
    from shardsim.units import format_seconds

    settings: dict[str, object] = {"topology": "v5e:4x4", "dims": "I=4096,J=4096,K=1024", **asked}
    made = ss.plan(TWICE.replace("C[I_X, K_X]", way), **settings)
    with pytest.raises(RepeatedAxisError) as caught:
        ss.plan(TWICE, **settings)
    assert f"{way} ({format_seconds(made.choices[0].chosen.seconds)})" in caught.value.hint


def test_an_operand_too() -> None:
    with pytest.raises(RepeatedAxisError, match=r"choose A\[I_X, J\] \(.*\) or A\[I, J_X\] \(.*\)"):
        ss.plan("A[I_X, J_X] · B[J, K] -> C[I, K]", topology="v5e:4x4", dims="I=64,J=64,K=64")


@pytest.mark.parametrize(
    "settings",
    [
        {"topology": "v5e:4x4", "dims": "I=4096,J=4096"},  # K is missing
        {"topology": "v5e:4x4", "dims": "I=4095,J=4096,K=1024"},  # the other way cuts unevenly
        {"topology": "v5e:4x4", "dims": "I=64,J=64,K=64", "mesh": "Y=4,Z=4"},
        {"topology": "v5e:4x4", "dims": "I=64,J=64,K=64", "dtype": "fp4"},  # no peak
        {"topology": "v5e:4x4", "dims": "I=64,J=64,K=64", "dtype": "bf17"},
    ],
)
def test_without_prices_where_a_way_cannot_be_planned(settings: dict[str, str]) -> None:
    with pytest.raises((RepeatedAxisError, InputErrors)) as caught:
        make_scenario(TWICE, **settings)  # type: ignore[arg-type]
    assert "choose C[I_X, K] or C[I, K_X], or take another axis for one use" in str(caught.value)


def test_in_a_file_beside_another_fault(tmp_path: Path) -> None:
    file = tmp_path / "twice.yaml"
    file.write_text(
        "topology: v5e:4x4\n"
        "dims: {I: 4096, J: 4096, K: 1024}\n"
        "program:\n"
        f"  - {TWICE}\n"
        "  - A[I, J -> B[I, J]\n"
    )
    with pytest.raises(InputErrors) as caught:
        load_scenario(file)
    first, second = caught.value.errors
    assert first.hint.startswith("choose C[I_X, K] (186 µs) or C[I, K_X] (234 µs)")
    assert first.place is not None
    assert (first.place.line, first.place.column) == (4, 39)
    assert "expected" in second.message


def test_a_local_product_of_operands_that_are_cut_otherwise() -> None:
    with pytest.raises(PlanError) as caught:
        ss.plan("A[I, J_X] ·_LOCAL B[J_Y, K] -> C[I, K]", topology="v5e:4x4",
                dims="I=512,J=512,K=512")  # fmt: skip
    hint = caught.value.hint
    assert hint.startswith("write · without _LOCAL: ")
    first, second = (
        ss.plan("A[I, J_X] · B[J_Y, K] -> C[I, K]", topology="v5e:4x4", dims="I=512,J=512,K=512")
        .choices[0]
        .alternatives[:2]
    )
    assert f"{first.label} (" in hint
    assert f" or {second.label} (" in hint


def test_an_extent_that_the_axes_do_not_divide() -> None:
    with pytest.raises(InputError, match="dimension I of extent 5") as caught:
        ss.plan("A[I_X, J] · B[J, K] -> C[I_X, K]", topology="v5e:4x4", dims="I=5,J=8,K=4")
    assert caught.value.hint == (
        "use an extent that is a multiple of 4, such as 4 or 8, or let it be padded to 8 "
        "(uneven: pad): 3 of 8 would be waste"
    )


def test_an_unknown_word_for_uneven() -> None:
    with pytest.raises(ValueError, match="uneven must be one of error, pad; it is 'chunk'"):
        ss.plan("A[I_X] -> A[I]", topology="v5e:4x4", dims="I=5", uneven="chunk")
