"""Models and inputs that are refused: what is said, and where."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from shardsim.errors import InputError, ScenarioError
from shardsim.model import quantities, read_asked, read_model

MACHINE: dict[str, Any] = {"topology": "v5e:4x4", "batch": 32, "context": 8192}

FAULTS: list[tuple[Any, dict[str, Any], str, str]] = [
    ("llama-3-70B", {}, "parameters", "there is no model 'llama-3-70B'; shipped: book-18b"),
    ({"layer": 3}, {}, "parameters", "unknown key 'layer' in the model"),
    ({"heads": 7, "kv_heads": 2}, {}, "parameters", "7 heads cannot share 2 kv_heads evenly"),
    ({"heads": 7, "d_model": 8}, {}, "parameters", "d_model 8 is not a multiple of 7 heads"),
    ({"experts": 4}, {}, "parameters", "experts without experts_per_token"),
    ({"experts_per_token": 4}, {}, "parameters", "experts_per_token without experts"),
    ({"shared_experts": 4}, {}, "parameters", "shared_experts without experts"),
    (
        {"experts": 4, "experts_per_token": 5},
        {},
        "parameters",
        "5 experts_per_token, of 4 experts",
    ),
    (
        {"layers": 2, "experts": 4, "experts_per_token": 1, "dense_layers": 3},
        {},
        "parameters",
        "3 dense_layers, of 2 layers",
    ),
    ({"parameters": "many"}, {}, "parameters", "parameters: 'many' is not a number"),
    ({"parameters": -1}, {}, "parameters", "parameters must be more than 0; it is -1"),
    ({"parameters": 1.5}, {}, "parameters", "parameters must be a whole number; it is 1.5"),
    (
        {"parameters": 1, "active_parameters": 2},
        {},
        "parameters",
        "more active_parameters than parameters",
    ),
    ({"like": "llama"}, {}, "parameters", "there is no model 'llama'"),
    ({"like": 3}, {}, "parameters", "like must name a model; it is 3"),
    (
        {"latent": {"cache_rank": 1}, "kv_heads": 1},
        {},
        "parameters",
        "latent has no key 'rotary'",
    ),
    (3, {}, "parameters", "a model is a name, a YAML file or a mapping, not 3"),
    (
        {"parameters": 7e9},
        {},
        "kv_bytes_per_token",
        "the model has no kv_bytes_per_token, nor what it follows from: layers, kv_heads",
    ),
    ({"layers": 3}, {}, "crossover_tokens", "the model has no d_model"),
    ("llama-3-8b", {}, "kv_bytes", "kv_bytes: batch is missing"),
    ("llama-3-8b", {}, "critical_batch", "critical_batch: topology is missing"),
    ("llama-3-8b", {}, "parameter", "a model has no quantity 'parameter'; it has parameters"),
    ("llama-3-8b", {"batches": 3}, "parameters", "there is no input 'batches'"),
    ("llama-3-8b", {"batch": "x"}, "parameters", "batch: 'x' is not a number"),
    ("llama-3-8b", {"batch": True}, "parameters", "batch must be a number; it is true"),
    ("llama-3-8b", {"mfu": 2}, "parameters", "mfu: 2 must be more than 0 and at most 1"),
    ("llama-3-8b", {"causal": 1}, "parameters", "causal must be true or false; it is 1"),
    ("llama-3-8b", {"kept": 0}, "parameters", "kept must be from 1 to 1e18"),
    ("llama-3-8b", {"dtype": "int9"}, "parameters", "'int9' is no dtype"),
    ("llama-3-8b", {"dtype": {"W": "int8"}}, "parameters", "dtype has no 'W'; it has weights, kv"),
    (
        "llama-3-8b",
        {**MACHINE, "dtype": "f32"},
        "critical_batch",
        "chip v5e has no peak FLOP/s for f32",
    ),
    ("llama-3-8b", {**MACHINE, "mesh": "X=3"}, "collective_seconds", "the mesh X=3 has 3 chips"),
    (
        "llama-3-8b",
        {**MACHINE, "mesh": "X=16", "tensor": "Z"},
        "collective_seconds",
        "there is no axis Z; the mesh has X",
    ),
    (
        "llama-3-8b",
        {**MACHINE, "mesh": "X=16", "tensor": "X", "data": "X"},
        "collective_seconds",
        "axis X is under tensor and under data",
    ),
    (
        "llama-3-8b",
        {"topology": "v5e:16", "mesh": "X=16", "context": 4096, "batch_tokens": 2048},
        "training_collective_seconds",
        "the sequences of a batch must be a whole number",
    ),
    (
        {"layers": 3},
        {},
        "parameters",
        "nor what they follow from: d_model, d_ff, heads, vocabulary",
    ),
    (
        "llama-3-70b",
        {"tokens": 1e12, "topology": "v5p:4x4x4", "seconds": 3e6},
        "mfu",
        "3,000,000 seconds are less than the peak allows: the MFU would be 480%",
    ),
    (
        "llama-3-8b",
        {**MACHINE, "mesh": "X=4,Y=4", "tensor": "X"},
        "kv_seconds",
        "axis Y is neither under tensor nor under data: its chips would do the same",
    ),
    (
        "llama-3-8b",
        {**MACHINE, "mesh": "X=16", "tensor": "XX"},
        "kv_seconds",
        "axis X is twice under tensor",
    ),
    (
        "llama-3-8b",
        {**MACHINE, "mesh": "X=16", "chips": 32},
        "kv_seconds",
        "chips is 32, and the mesh has 16",
    ),
    (
        "llama-3-8b",
        {**MACHINE, "mesh": "X=16", "data": "X", "batch": 1},
        "tokens_per_second",
        "a batch of 1 sequence cannot be cut over X=16, the axes of data",
    ),
    (
        "llama-3-8b",
        {**MACHINE, "mesh": "X=4,Y=4", "data": "XY", "batch": 1000},
        "collective_seconds",
        "a batch of 1,000 sequences cannot be cut over X=4,Y=4, the axes of data",
    ),
    (
        {"like": "llama-3-8b", "d_ff": 14340},
        {**MACHINE, "mesh": "X=16"},
        "collective_seconds",
        "d_ff 14340 of LLaMA 3 8B, changed cannot be cut over X=16, the axes of tensor",
    ),
    (
        {"like": "llama-3-8b", "d_model": 4088, "head_size": 128},
        {"topology": "v5e:16", "mesh": "X=16", "data": "X", "context": 2, "batch_tokens": 32},
        "training_collective_seconds",
        "d_model 4088 of LLaMA 3 8B, changed cannot be cut over X=16, the axes of data",
    ),
    (
        {"like": "llama-3-8b", "heads": 24},
        {**MACHINE, "mesh": "X=16"},
        "kv_seconds",
        "24 heads of LLaMA 3 8B, changed cannot be cut over X=16, the axes of tensor: 2 ways of "
        "the 3 that share a kv_head",
    ),
    (
        "deepseek-v3",
        {**MACHINE, "mesh": "X=16"},
        "collective_seconds",
        "the collectives of a layer with experts are not worked out yet",
    ),
]


@pytest.mark.parametrize(("model", "asked", "name", "said"), FAULTS)
def test_faults(model: Any, asked: dict[str, Any], name: str, said: str) -> None:
    with pytest.raises((InputError, ValueError)) as caught:
        quantities(model, **asked)[name]
    assert said in str(caught.value)


def test_all_faults_at_once_each_with_its_place() -> None:
    with pytest.raises(ValueError, match="3 faults") as caught:
        quantities("llama-3-8b", batch="x", dtype="int9", topology="v5z:4")
    for option in ("--batch:1:1", "--dtype:1:1", "--on:1:1"):
        assert option in str(caught.value)


def test_extents_that_the_mesh_does_not_divide_are_said_once_each() -> None:
    """In the words of the model, and not at statements that nobody wrote."""
    model = {"like": "llama-3-8b", "d_ff": 14338}
    asked = {**MACHINE, "mesh": "X=4,Y=4", "data": "Y", "batch": 5}
    with pytest.raises(ValueError, match="2 faults") as caught:
        quantities(model, **asked)["collective_seconds"]
    said = str(caught.value)
    assert "a batch of 5 sequences cannot be cut over Y=4" in said
    assert "d_ff 14338" in said
    assert "expression" not in said


def test_faults_of_a_base_are_placed_in_the_base(tmp_path: Path) -> None:
    """Those of both files at once; what only the two together break: in what changes the base."""
    base, derived = tmp_path / "a.yaml", tmp_path / "b.yaml"
    base.write_text("name: a\nlayers: many\nkv_head: 2\n")
    derived.write_text("like: a.yaml\nheads: some\n")
    with pytest.raises(ValueError, match="3 faults") as caught:
        read_model(derived)
    for place in ("a.yaml:2:9", "a.yaml:3:1", "b.yaml:2:8"):
        assert place in str(caught.value)
    base.write_text("heads: 8\nkv_heads: 3\n")
    derived.write_text("like: a.yaml\nkv_heads: 4\n")
    with pytest.raises(ScenarioError, match=r"(?s)8 heads cannot share 3 kv_heads.*a\.yaml:2:11"):
        read_model(derived)
    base.write_text("heads: 8\nkv_heads: 4\n")
    derived.write_text("like: a.yaml\nname: b\nheads: 6\n")
    with pytest.raises(ScenarioError, match=r"(?s)6 heads cannot share 4 kv_heads.*b\.yaml:3:8"):
        read_model(derived)
    base.write_text("like: c.yaml\n")
    (tmp_path / "c.yaml").write_text("layers: 0\n")
    with pytest.raises(InputError, match=r"(?s)layers must be .*c\.yaml:1:9"):
        read_model(derived)


@pytest.mark.parametrize("value", [70e9, 70 * 10**9, "70e9", Fraction(70 * 10**9)])
def test_stated_parameters_in_a_mapping_give_no_warning(value: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for key in ("parameters", "active_parameters", "kv_bytes_per_token"):
            assert getattr(read_model({"like": "llama-3-70b", key: value}), key) == 70 * 10**9


def test_like(tmp_path: Any) -> None:
    """A file may change another that stands beside it; a fault is placed in its own line."""
    (tmp_path / "a.yaml").write_text("name: a\nlayers: 4\nheads: 8\nkv_heads: 2\n")
    (tmp_path / "b.yaml").write_text("like: a.yaml\nkv_heads: 4\n")
    model = read_model(tmp_path / "b.yaml")
    assert (model.name, model.layers, model.kv_heads) == ("a, changed", 4, 4)
    (tmp_path / "b.yaml").write_text("like: a.yaml\nkv_heads: 3\n")
    with pytest.raises(ScenarioError, match=r"(?s)8 heads cannot share 3 kv_heads.*b\.yaml:2:11"):
        read_model(tmp_path / "b.yaml")
    (tmp_path / "a.yaml").write_text("like: b.yaml\n")
    with pytest.raises(ScenarioError, match="the model is like itself"):
        read_model(tmp_path / "b.yaml")


WHOLE = ("batch", "context", "prompt", "generated", "tokens", "batch_tokens")


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", [1.5, "8192.5", Fraction(1, 2)])
def test_sequences_and_tokens_are_whole(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"{name} must be a whole number; it is "):
        read_asked(**{name: value})
    assert getattr(read_asked(**{name: "15e12"}), name) == 15 * 10**12


@pytest.mark.parametrize(
    ("name", "value", "way_out"),
    [
        ("mfu", "2", "write 0.4, or 40 %"),
        ("mfu", "x", "write 0.4, or 40 %"),
        ("context", "0", "write 8192"),
        ("batch", "0", "write 32"),
        ("batch", "1.5", "write 32"),
        ("generated", "0", "write 512"),
        ("tokens", "0", "write 15e12"),
        ("batch_tokens", "many", "write 4e6"),
        ("chip_hours", "0", "write 6.4e6"),
        ("seconds", "0", "write the seconds, such as 3e6"),
        ("dtype", "", "write bf16, or by what it is of: weights=int8"),
        ("dtype", " ", "write bf16, or by what it is of: weights=int8"),
        ("dtype", "weights=", "write bf16, or by what it is of: weights=int8"),
        ("dtype", "zzzzzz", "write bf16, or by what it is of: weights=int8"),
    ],
)
def test_ways_out_can_be_followed(name: str, value: str, way_out: str) -> None:
    with pytest.raises(InputError) as caught:
        read_asked(**{name: value})
    assert caught.value.hint.startswith(way_out)


def test_an_mfu_of_100_percent_is_possible_and_no_more() -> None:
    """The way out says a time that is enough."""
    asked: dict[str, Any] = {"tokens": 1e12, "topology": "v5p:4x4x4"}
    least = quantities("llama-3-70b", **asked)["training_seconds_at_peak"]
    assert quantities("llama-3-70b", **asked, seconds=least)["mfu"] == 1
    for given in ({"seconds": least * Fraction(999, 1000)}, {"chip_hours": least * 64 / 3601}):
        with pytest.raises(ScenarioError, match="less than the peak allows") as caught:
            quantities("llama-3-70b", **asked, **given).known()
        said = caught.value.hint.removeprefix("at the peak it takes ").split()[0].replace(",", "")
        enough = quantities("llama-3-70b", **asked, **dict.fromkeys(given, said))["mfu"]
        assert Fraction(98, 100) < enough <= 1


@pytest.mark.parametrize("changed", [{"d_model": 4088, "head_size": 128}, {"d_ff": 14338}, {}])
@pytest.mark.parametrize(
    ("topology", "mesh"), [("v5e:4x4", "X=4,Y=4"), ("v5e:3x3", "X=3,Y=3"), ("h100:8", "X=2,Y=4")]
)
@pytest.mark.parametrize("data", [None, "X", "XY"])
@pytest.mark.parametrize("of_training", [True, False])
def test_no_way_out_is_one_that_the_command_has_not(
    changed: dict[str, int], topology: str, mesh: str, data: str | None, of_training: bool
) -> None:
    batch = {"batch_tokens": 5 * 7} if of_training else {"batch": 5}
    asked = {"topology": topology, "mesh": mesh, "data": data, "context": 7, **batch}
    name = "training_collective_seconds" if of_training else "collective_seconds"
    try:
        assert quantities({"like": "llama-3-8b", **changed}, **asked)[name] > 0
    except (InputError, ValueError) as error:
        assert "pad" not in str(error)  # noqa: PT017
        assert "help: " in str(error)  # noqa: PT017
