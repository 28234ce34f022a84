"""Pictures of rooflines that somebody asks for: what is written in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import command
from tests.pictures import texts_of

MATMUL = "X[B, D] · W[D, F] -> Y[B, F]"


def drawn(tmp_path: Path, *arguments: str) -> list[str]:
    path = tmp_path / "picture.svg"
    result = command("roofline", *arguments, "--svg", str(path))
    assert result.code == 0, result.err
    assert result.err == f"picture written to {path}\n"
    return texts_of(path.read_text("utf-8"))


def test_a_roofline_names_its_channels_its_ridge_and_its_load(tmp_path: Path) -> None:
    words = drawn(tmp_path, MATMUL, "--on", "v5e", "--dims", "B=64,D=4096,F=4096")
    for word in (
        MATMUL, "on v5e; of one chip", "v5e bf16 197 TFLOP/s", "HBM 820 GB/s", "VMEM 18.0 TB/s",
        "ICI 90 GB/s", "B=64 D=4096 F=4096", "ridge 240 FLOP/B", "memory-bound (HBM)",
        "compute-bound", "FLOPs per byte moved", "FLOP/s attained",
    ):  # fmt: skip
        assert word in words


def test_several_machines_have_a_roof_each(tmp_path: Path) -> None:
    machines = ("--on", "v5e", "--on", "h100")
    words = drawn(tmp_path, MATMUL, *machines, "--dims", "B=512,D=4096,F=4096")
    assert "v5e bf16 197 TFLOP/s" in words
    assert "h100 bf16 989 TFLOP/s" in words
    assert "v5e bf16 B=512 D=4096 F=4096" in words


def test_curves_bend_at_their_critical_batch(tmp_path: Path) -> None:
    sizes = ("--dims", "D=4096,F=4096", "--dims", "D=1024,F=1024")
    types = ("--dtype", "W=int8,default=bf16")
    words = drawn(tmp_path, MATMUL, "--on", "v5e", *sizes, *types, "--over", "B=512")
    assert "v5e bf16, W int8 D=4096 F=4096: bound by computing from B = 136.1 on" in words
    assert "v5e bf16, W int8 D=1024 F=1024: bound by computing from B = 226.3 on" in words


def test_a_dot_product_has_no_roof_without_a_figure_of_its_unit(tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    asked = ("x[n] · y[n] -> z[]", "--on", "mi300x", "--dims", "n=64", "--svg", str(path))
    result = command("roofline", *asked)
    assert result.code == 2
    assert "the vector unit has no figure, so there is no roof to draw" in result.err
    assert not path.exists()


@pytest.mark.parametrize("end", ["svg", "png"])
def test_the_same_picture_twice_is_the_same_file(tmp_path: Path, end: str) -> None:
    paths = [tmp_path / f"{name}.{end}" for name in ("one", "two")]
    for path in paths:
        asked = (MATMUL, "--on", "v5e", "--dims", "B=64,D=64,F=64", f"--{end}", str(path))
        assert command("roofline", *asked).code == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()
