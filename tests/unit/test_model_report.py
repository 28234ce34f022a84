"""The command `model`: what it prints, its JSON, and the options that it refuses."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from shardsim.model import model_names, quantities
from shardsim.units import format_seconds
from shardsim.vocabulary import Relation
from tests.command_line import command

SERVING = ("--on", "v5e:4x4", "--batch", "32", "--context", "8192", "--dtype", "int8")
TRAINING = (
    "--train",
    "--tokens",
    "15e12",
    "--batch",
    "4e6",
    "--on",
    "v5p:16x20x28",
    "--mfu",
    "0.4",
)


def printed(*arguments: str) -> str:
    result = command("model", *arguments)
    assert (result.code, result.err) == (0, "")
    return result.out


def rows(text: str) -> list[str]:
    """The lines with single blanks."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_model_by_itself() -> None:
    lines = rows(printed("llama-3-70b"))
    assert lines[0] == "LLaMA 3 70B"
    assert lines[1].startswith("80 layers; D=8192 F=28672 N=64 K=8 H=128 V=128256; three matrices")
    for line in (
        "ffw 56.37e9 79.9%",
        "all 70.55e9",
        "X[B, T, D] · W_in[D, F] -> Up[B, T, F] 80 18.79e9 37.58e9",
        "Token[B, T, V] · W_embed[V, D] -> X[B, T, D] 1 1.05e9 looked up",
        "forward 141 GFLOP 2P, first order",
        "cache 328 kB = 320 KiB keys and values, all layers",
    ):
        assert line in lines
    assert not any(line.startswith("Serving") for line in lines)


def test_serving() -> None:
    lines = rows(printed("llama-3-70b", *SERVING, "--mfu", "40 %"))
    for line in (
        "Serving on v5e:4x4: 16 x TPU v5e",
        "weights 70.6 GB = 65.7 GiB HBM of 4.41 chips",
        "fit 138 sequences: 138.17 exactly",
        "caches 3.27 ms read: attention, bound by memory",
        "weights 5.38 ms read",
        "step 8.65 ms caches + the larger of weights and matmuls: bound by memory",
        "critical 240.2 sequences: matmuls take as long as reading weights",
        "never with caches read: each takes longer than its token computes",
        "prefill 458 ms of one prompt, first order; exact 515 ms",
    ):
        assert line in lines
    assert not any(line.startswith("collectives ") for line in lines)
    assert not any(" held " in line for line in lines)


def test_serving_with_a_mesh_that_holds_keys_twice() -> None:
    mesh = ("--mesh", "X=16", "--generated", "512", "--mfu", "0.4")
    lines = rows(printed("llama-3-70b", *SERVING, *mesh))
    found = quantities(
        "llama-3-70b", topology="v5e:4x4", batch=32, context=8192, dtype="int8", mesh="X=16"
    )
    for line in (
        "71.9 GB = 67.0 GiB held and read with this mesh: 1.02 x",
        "85.9 GB = 80 GiB held and read with this mesh: 2 x",
        "fit 68 sequences: 68.58 exactly",
        "caches 6.55 ms read: attention, bound by memory",
        "step 12.0 ms caches + the larger of weights and matmuls: bound by memory",
        "collectives 2.79 ms of all layers; book 1.28 ms",
        "with them 14.8 ms one after the other; the rates below are of this",
        "prefill 458 ms of one prompt, first order; exact 515 ms, without collectives",
    ):
        assert line in lines
    rate = f"tokens/s {round(32 / found['sharded_step_seconds']):,} "
    assert any(line.startswith(rate) for line in lines)


def test_serving_with_a_mesh_that_cuts_sequences() -> None:
    mesh = ("--mesh", "X=4,Y=4", "--data", "Y")
    lines = rows(printed("llama-3-8b", *SERVING, *mesh))
    assert "32.1 GB = 29.9 GiB held and read with this mesh: 4 x" in lines
    assert "fit 416 sequences, in multiples of 4: 417.01 exactly" in lines
    lines = rows(printed("llama-3-70b", *SERVING, *mesh))
    said = "the weights do not fit: the mesh puts 17.6 GB = 16.4 GiB on a chip, which has 16 GB"
    assert any(said in line for line in lines)
    lines = rows(printed("llama-3-8b", *SERVING[:2], "--batch", "500", *SERVING[4:], *mesh[:2]))
    said = "! 500 sequences do not fit: 230 do; the mesh has each cache held 2 times"
    assert said in lines


def test_attention_that_is_bound_by_compute() -> None:
    """Of latent attention on v5p: 235 FLOPs a byte, and the chip does 164."""
    lines = rows(printed("deepseek-v3", "--on", "v5p:4x4x4", *SERVING[2:6]))
    said = "read; attention is bound by compute: 152 µs, 235 FLOPs a byte, the chip 164"
    assert f"caches 103 µs {said}" in lines
    lines = rows(printed("deepseek-v3", "--on", "v5e:16x16", *SERVING[2:6]))
    assert "caches 87.8 µs read: attention, bound by memory" in lines


def test_closed_forms_that_are_bounds_are_called_so() -> None:
    for machine, mesh, said in (
        ("v5e:16", "X=16", "of all layers; book "),
        ("v5p:2x4x4", "X=8,Y=4", "of all layers, at most; book "),
        ("v5p:2x2x4", "X=16", "of all layers, estimated; book "),
    ):
        given = ("--on", machine, "--mesh", mesh, "--batch", "32", "--context", "8192")
        assert any(said in line for line in rows(printed("llama-3-8b", *given)))


def test_collectives_of_a_training() -> None:
    arguments = ("llama-3-8b", "--train", "--on", "v5p:4x4x4", "--batch", "262144")
    arguments += ("--context", "4096", "--mesh", "X=16,Y=4", "--data", "X")
    lines = rows(printed(*arguments))
    asked = {"topology": "v5p:4x4x4", "mesh": "X=16,Y=4", "data": "X", "context": 4096}
    found = quantities("llama-3-8b", batch_tokens=262144, **asked)
    seconds = format_seconds(found["training_collective_seconds"])
    said = f"collectives {seconds} of a batch, forward and backward, one after the other"
    assert any(line.startswith(said) for line in lines)
    document = json.loads(printed(*arguments, "--json"))
    every = sum(Fraction(one["seconds"]) for one in document["collectives"])
    assert float(32 * every) == pytest.approx(float(found["training_collective_seconds"]))
    assert {one["relation"] for one in document["collectives"]} <= set(Relation)


def test_a_mesh_needs_sizes(tmp_path: Path) -> None:
    file = tmp_path / "partial.yaml"
    file.write_text("parameters: 70e9\nkv_bytes_per_token: 160 KiB\n")
    lines = rows(printed(str(file), *SERVING, "--mesh", "X=16"))
    said = (
        "! not shown: what fits, what the mesh cuts, collectives, the time of a step: partial has "
        "no kv_heads; add kv_heads to the model"
    )
    assert said in " ".join(lines)
    assert not any(line.startswith(("step", "tokens/s", "fit")) for line in lines)
    lines = rows(printed(str(file), *SERVING))
    assert "caches 3.27 ms read: attention, taken as bound by memory" in lines
    assert not any(line.startswith("never") for line in lines)


def test_what_does_not_fit() -> None:
    assert "! the weights do not fit: they take 9 chips at least" in printed(
        "llama-3-70b", "--on", "v5e:2x2"
    )
    text = printed("llama-3-70b", "--on", "v5e:4x4", "--batch", "400", "--context", "8192")
    assert "! 400 sequences do not fit: 42 do; these take 76 chips at least" in text


def test_training() -> None:
    lines = rows(printed("llama-3-70b", *TRAINING, "--kept", "2"))
    for line in (
        "FLOPs 6.35e24 6P x tokens, first order",
        "time 44.7 days 40% of 4.11 EFLOP/s on v5p:16x20x28: 8,960 x TPU v5p",
        "weights 141 GB = 131 GiB 15.7 MB = 15.0 MiB a chip",
        "optimizer 564 GB = 526 GiB 63.0 MB = 60.1 MiB a chip",
        "activations 10.5 TB = 9.54 TiB 1.17 GB = 1.09 GiB a chip; kept for the backward pass",
        "HBM 96 GB = 89.4 GiB of a chip: it fits",
        "largest 9.60e9 parameters that one chip holds by itself, without activations",
    ):
        assert line in lines


@pytest.mark.parametrize("name", model_names())
def test_lines_are_at_most_100_columns(name: str) -> None:
    text = printed(name, *SERVING, "--generated", "512", "--mfu", "0.4")
    assert max(map(len, text.splitlines())) <= 100


def test_sizes_that_are_not_all_known(tmp_path: Path) -> None:
    """What follows is printed; the sizes that would give more are named."""
    file = tmp_path / "partial.yaml"
    file.write_text("parameters: 70e9\nkv_bytes_per_token: 160 KiB\n")
    lines = rows(printed(str(file), "--on", "v5e:4x4", "--batch", "4", "--context", "8192"))
    assert lines[0] == "partial"
    said = (
        "parameters by part and FLOPs of statements are not shown: partial has no layers, d_model,"
    )
    assert any(line.startswith(said) for line in lines)
    assert (
        "cache 164 kB = 160 KiB keys and values, all layers, as stated, whatever the dtype" in lines
    )
    assert any(line.startswith("step 11.1 ms ") for line in lines)
    document = json.loads(printed(str(file), "--json"))
    assert document["statements"][1]["times"] is None
    assert document["quantities"]["parameters"] == 70_000_000_000


def test_json() -> None:
    document = json.loads(printed("llama-3-70b", *SERVING, "--json"))
    assert document["format"] == "shardsim/model/1"
    assert (document["topology"], document["chips"]) == ("v5e:4x4", 16)
    assert document["statements"][0] == {
        "text": "Token[B, T, V] · W_embed[V, D] -> X[B, T, D]",
        "part": "vocabulary",
        "times": 1,
    }
    found = quantities("llama-3-70b", topology="v5e:4x4", batch=32, context=8192, dtype="int8")
    expected = {name: float(value) for name, value in found.known().items()}
    assert document["quantities"] == pytest.approx(expected)
    assert document["quantities"]["kv_bytes_per_token"] == 163840


def test_json_of_a_training_has_tokens_of_a_batch() -> None:
    document = json.loads(printed("llama-3-70b", *TRAINING, "--json"))
    assert document["quantities"]["batch_tokens_per_chip"] == pytest.approx(4e6 / 8960)
    assert "kv_bytes" not in document["quantities"]


def test_mfu_from_hours() -> None:
    text = printed(
        "llama-3-8b", "--train", "--tokens", "1e12", "--on", "h100:8", "--chip-hours", "1e5"
    )
    found = quantities("llama-3-8b", tokens=10**12, topology="h100:8", chip_hours=10**5)
    assert f"MFU {float(found['mfu']):.1%}" in "\n".join(rows(text))
    assert found["mfu"] == 6 * found["parameters"] * 10**12 / (
        Fraction(36 * 10**7) * found.asked.peak
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("llama-3-8b", "--tokens", "4"), "--tokens is for --train"),
        (("llama-3-8b", "--train", "--generated", "4"), "--generated is for serving"),
        (
            ("llama-3-8b", "--data", "X"),
            "--data does nothing without --on, and --mesh\n  help: add --on v5e:4x4 --mesh",
        ),
        (
            ("llama-3-8b", "--mesh", "X=4"),
            "--mesh does nothing without --on\n  help: add --on v5e:4x4",
        ),
        (("llama-3-8b", "--on", "v5e:4x4", "--dtype", "f32"), "no peak FLOP/s for f32"),
        (("llama-3-8b", *SERVING, "--mesh", "X=16", "--tensor", ""), "no axis is named"),
        (("llama-3-8b", "--dtype", "weights=int8,int8"), "dtype has no 'int8'"),
        (("llama-3-8b", "--batch", "4M"), "batch: '4M' is not a number"),
        (("none",), "there is no model 'none'"),
        (
            ("llama-3-70b", *SERVING[:2], "--mesh", "X=16", "--data", "X", "--batch", "1"),
            "error: a batch of 1 sequence cannot be cut over X=16, the axes of data\n",
        ),
    ],
)
def test_refused(arguments: tuple[str, ...], said: str) -> None:
    result = command("model", *arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_an_unknown_option_is_refused() -> None:
    result = command("model", "llama-3-8b", "--layers", "4")
    assert result.code == 2
    assert "No such option" in result.err
