"""Worked numbers of "How to Scale Your Model" that a model gives: transformers, training, serving.

Figures are to the digits of the book's own formulas, with the sizes that it rounds.
"""

from __future__ import annotations

from typing import Any

import pytest

from shardsim.model import quantities

CLOSE = 1e-5
P70 = {"like": "llama-3-70b", "parameters": 70e9}
P13 = {"parameters": 13e9}
P30 = {"parameters": 30e9, "kv_bytes_per_token": 100e3}
MIXED = {"weights": "int8", "default": "bf16"}
POD = {"topology": "v5p:16x20x28", "mfu": 0.4, "tokens": 15e12}
EIGHT = {"topology": "v5e:4x2", "weight_bytes": 26e9, "kv_bytes": 6.7e9}
GROUPED = {**EIGHT, "kv_bytes": 1.34e9}
LAYERS64 = {"layers": 64, "d_model": 8192}

FIGURES: list[tuple[Any, dict[str, Any], str, float]] = [
    # parameters
    ("llama-2-13b", {}, "parameters", 13.0154e9),
    ("llama-3-70b", {}, "parameters", 70.5524e9),
    ("book-18b", {}, "parameters", 18.3852e9),
    ("book-18b-experts", {}, "parameters", 211.659e9),
    ("book-18b-experts", {}, "active_parameters", 31.2701e9),
    ("deepseek-v3", {}, "parameters", 671.0254e9),
    # the cache of keys and values
    ("book-18b", {"dtype": "int8"}, "kv_bytes_per_token", 262_144),
    ("llama-3-70b", {"dtype": "int8"}, "kv_bytes_per_token", 163_840),
    ("llama-3-70b", {"dtype": "int8", "context": 32_768}, "kv_bytes_per_sequence", 5.36871e9),
    ("book-18b", {"dtype": "int8", "context": 131_072}, "kv_bytes_per_sequence", 34.3597e9),
    (
        {"layers": 64, "heads": 32, "head_size": 128},
        {"dtype": "int8"},
        "kv_bytes_per_token",
        524_288,
    ),
    # attention
    ({"d_model": 8192, "d_ff": 32_768, "heads": 64}, {}, "crossover_tokens", 65_536),
    ({"d_model": 4608, "d_ff": 18_432, "heads": 36}, {}, "crossover_tokens", 36_864),
    (
        {"heads": 8, "kv_heads": 1, "head_size": 128},
        {"context": 8192},
        "attention_flops_per_byte",
        7.9922,
    ),
    ({"heads": 8, "head_size": 128}, {"context": 8192}, "attention_flops_per_byte", 0.999878),
    (
        {"heads": 8, "kv_heads": 1, "head_size": 128},
        {"context": 8192, "prompt": 8192},
        "attention_flops_per_byte",
        7281.78,
    ),
    # training
    (P70, {"tokens": 15e12}, "training_flops", 6.3e24),
    (P70, POD, "training_seconds", 3.82966e6),
    (P70, {**POD, "topology": "4*v5p:16x20x28"}, "training_seconds", 957_414),
    (P70, {"topology": "v5p"}, "seconds_per_token_at_peak", 9.15033e-4),
    ({"active_parameters": 37e9}, {"tokens": 14.8e12}, "training_flops", 3.2856e24),
    (
        {"active_parameters": 37e9},
        {
            "tokens": 14.8e12,
            "chip_hours": 2.79e6,
            "topology": "h800",
            "dtype": "fp8",
        },
        "mfu",
        3.2856e24 / 1.5196572e25,
    ),
    (LAYERS64, {"batch_tokens": 4e6, "kept": 20}, "activation_bytes", 8.38861e13),
    (LAYERS64, {"batch_tokens": 4e6, "kept": 1}, "activation_bytes", 4.1943e12),
    ("llama-2-13b", {"batch_tokens": 3e6, "kept": "X,Up,Gate"}, "activation_bytes", 7.86432e12),
    ("llama-2-13b", {"batch_tokens": 8192}, "token_bytes", 83_886_080),
    ("llama-3-70b", {"batch_tokens": 4e6, "kept": 2}, "activation_bytes", 1.04858e13),
    (P70, {"batch_tokens": 4e6, "kept": 2}, "training_bytes", 1.11858e13),
    ({}, {"topology": "v5p:4x4x4"}, "largest_parameters", 9.6e9),
    (P70, {"topology": "h100:8"}, "state_bytes_per_chip", 87.5e9),
    ({}, {"batch": 15_360, "context": 4096}, "batch_tokens", 62_914_560),
    ({"experts": 128, "experts_per_token": 4}, {}, "experts_per_chosen_expert", 32),
    ({}, {**POD, "batch_tokens": 4_194_304}, "batch_tokens_per_chip", 468.114),
    # serving
    (
        P30,
        {"topology": "v5e:4x4", "batch": 4, "context": 8192, "dtype": "int8"},
        "step_seconds",
        2.53634e-3,
    ),
    (
        P30,
        {"topology": "v5e:4x4", "batch": 256, "context": 8192, "dtype": MIXED},
        "step_seconds",
        2.08575e-2,
    ),
    *(
        (P13, {**EIGHT, "batch": batch}, "lower_step_seconds", seconds)
        for batch, seconds in (
            (1, 4.98476e-3),
            (8, 12.1341e-3),
            (16, 20.3049e-3),
            (32, 36.6463e-3),
            (64, 69.3293e-3),
            (240, 249.085e-3),
        )
    ),
    *(
        (P13, {**GROUPED, "batch": batch}, "step_seconds", seconds)
        for batch, seconds in ((1, 4.16768e-3), (8, 5.59756e-3), (16, 7.23171e-3))
    ),
    (
        P70,
        {"topology": "v5e:4x2", "context": 8192, "dtype": "int8"},
        "largest_batch",
        43.2134,
    ),
    (P70, {"topology": "v5e:2x2", "context": 8192, "dtype": "int4"}, "largest_batch", 43.2134),
    (P70, {"topology": "v5e:4x4", "context": 8192}, "largest_whole_batch", 43),
    (P70, {"topology": "v5e:4x4"}, "chips_for_weights", 8.75),
    (P70, {"topology": "v5e:4x4"}, "whole_chips_for_weights", 9),
    (
        {"parameters": 211.66e9},
        {"topology": "v5e:8x16", "dtype": "int8"},
        "weights_seconds",
        2.01658e-3,
    ),
    (
        {"parameters": 211.66e9},
        {"topology": "v5e:8x16", "dtype": "int8"},
        "free_bytes_per_chip",
        14.3464e9,
    ),
    (
        P70,
        {"topology": "v5e:4x4", "batch": 32, "context": 8192, "dtype": "int8"},
        "serving_bytes",
        112.95e9,
    ),
    (
        {},
        {"topology": "v5e:4x4", "batch": 43, "step_seconds": "19 ms", "generated": 512},
        "queries_per_second_per_chip",
        0.276264,
    ),
    ({}, {"batch": 32, "step_seconds": "17 ms"}, "tokens_per_second", 1882.35),
    (
        P70,
        {"topology": "v5e:4x4", "prompt": 8192, "mfu": 0.4},
        "prefill_seconds",
        0.909645,
    ),
    (
        {},
        {"batch": 32, "prefill_seconds": 0.91, "step_seconds": 0.019, "generated": 512},
        "prefill_servers_per_generate_server",
        2.99342,
    ),
    ({}, {"topology": "v5e:4x4"}, "critical_batch", 240.244),
    ({}, {"topology": "v5e:4x4", "dtype": MIXED}, "critical_batch", 120.122),
]


@pytest.mark.parametrize(("model", "asked", "name", "figure"), FIGURES)
def test_figure(model: Any, asked: dict[str, Any], name: str, figure: float) -> None:
    value = quantities(model, **asked)[name]
    assert float(value) == pytest.approx(figure, rel=CLOSE, abs=0)


def test_active_parameters_of_deepseek() -> None:
    """The report says 37e9; with both embeddings, of which one is looked up, it is 37.6e9."""
    found = quantities("deepseek-v3")
    assert 36.6e9 < found["matmul_parameters"] < 37e9 < found["active_parameters"] < 37.6e9


def test_published_parameters_of_gemma() -> None:
    """The Gemma 2 report, table 2: 1,180 million of embeddings, 26,047 million of the rest."""
    found = quantities("gemma-2-27b")
    assert round(found["vocabulary_parameters"] / 10**6) == 1180
    rest = found["parameters"] - found["vocabulary_parameters"]
    assert round(rest / 10**6) == 26047
