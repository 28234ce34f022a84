"""Models and inputs that are refused: what is said, and where."""

from __future__ import annotations

from typing import Any

import pytest

from shardsim.errors import InputError, ScenarioError
from shardsim.model import quantities, read_model

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
    ({"parameters": 7e9}, {}, "kv_bytes_per_token", "the model has no kv_heads"),
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
        {**MACHINE, "mesh": "X=16", "batch": 0.5},
        "collective_seconds",
        "the sequences of a batch must be a whole number",
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
