"""A model's arithmetic: closed forms of the book hold of what is counted from statements."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.errors import InputError, ScenarioError
from shardsim.model import (
    Model,
    NotKnownError,
    Part,
    Passed,
    Quantities,
    Role,
    model_names,
    quantities,
    read_asked,
    read_model,
    works,
)
from shardsim.model.counting import (
    active_parameters,
    crossover_tokens,
    forward_flops,
    intensity_of_attention,
    kept_elements,
    kv_elements_per_token,
    matmul_parameters,
    parameters,
    parameters_by_part,
    training_flops,
)
from shardsim.model.sharded import LayerPlan, plan_layer
from shardsim.model.works import role_of
from shardsim.notation import parse
from shardsim.vocabulary import Relation

sizes = st.integers(min_value=1, max_value=64)


@st.composite
def dense_models(draw: st.DrawFn) -> Model:
    """Models without experts, of any sizes."""
    kv_heads = draw(sizes)
    return Model(
        name="m",
        layers=draw(sizes),
        d_model=draw(sizes),
        d_ff=draw(sizes),
        kv_heads=kv_heads,
        heads=kv_heads * draw(sizes),
        head_size=draw(sizes),
        vocabulary=draw(sizes),
    )


def letters(model: Model) -> tuple[int, ...]:
    keys = ("layers", "d_model", "d_ff", "heads", "kv_heads", "head_size", "vocabulary")
    return tuple(model.size(key) for key in keys)


@given(dense_models(), sizes, sizes)
def test_closed_forms_of_the_book(model: Model, batch: int, tokens: int) -> None:
    layers, d, f, n, k, h, v = letters(model)
    assert parameters(model) == 3 * layers * d * f + layers * (2 * d * n * h + 2 * d * k * h) + (
        2 * v * d
    )
    assert matmul_parameters(model) == parameters(model) - v * d
    assert active_parameters(model) == parameters(model)
    passed = Passed(batch=Fraction(batch), tokens=Fraction(tokens), context=Fraction(tokens))
    every = batch * tokens
    attention = 12 * layers * tokens * n * h * every
    assert training_flops(model, passed) == 6 * matmul_parameters(model) * every + attention
    assert kv_elements_per_token(model) == 2 * layers * k * h


@given(dense_models(), sizes)
def test_causal_attention_is_half(model: Model, tokens: int) -> None:
    full = Passed(tokens=Fraction(tokens), context=Fraction(tokens))
    half = Passed(tokens=Fraction(tokens), context=Fraction(tokens), causal=True)
    scores = forward_flops(model, full, [Part.SCORES])
    assert forward_flops(model, half, [Part.SCORES]) == scores * (tokens + 1) / (2 * tokens)
    others = [part for part in Part if part is not Part.SCORES]
    assert forward_flops(model, half, others) == forward_flops(model, full, others)


@given(dense_models())
def test_crossover_is_where_both_are_equal(model: Model) -> None:
    tokens = crossover_tokens(model)
    passed = Passed(tokens=tokens, context=tokens)
    layer = [Part.ATTENTION, Part.FFW]
    assert forward_flops(model, passed, [Part.SCORES]) == forward_flops(model, passed, layer)


@given(dense_models(), sizes, sizes)
def test_intensity_of_attention(model: Model, tokens: int, context: int) -> None:
    """T S G/(T G + S), fused, two bytes an element."""
    group = model.extent("G")
    passed = Passed(tokens=Fraction(tokens), context=Fraction(context))
    expected = Fraction(tokens * context * group, tokens * group + context)
    assert intensity_of_attention(model, passed, dict.fromkeys(Role, Fraction(2))) == expected


@given(sizes, sizes, sizes, sizes)
def test_experts(layers: int, experts: int, d: int, f: int) -> None:
    """E experts are held, k are passed; FLOPs are those of k."""
    chosen = max(1, experts // 2)
    model = Model(
        name="m",
        layers=layers,
        d_model=d,
        expert_d_ff=f,
        experts=experts,
        experts_per_token=chosen,
        heads=1,
        head_size=1,
        vocabulary=1,
        router=False,
    )
    total, active = parameters_by_part(model)[Part.EXPERTS]
    assert total == 3 * layers * experts * d * f
    assert active == 3 * layers * chosen * d * f
    assert forward_flops(model, Passed(tokens=Fraction(3)), [Part.EXPERTS]) == 6 * active


def test_every_matmul_parameter_takes_two_flops() -> None:
    """Of one token, without the context: of every shipped model, both forms of latent attention."""
    for name in model_names():
        model = read_model(name)
        flops = 2 * matmul_parameters(model)
        absorbed = Passed(context=Fraction(0), absorbed=True)
        assert forward_flops(model, absorbed) == flops
        alone = Passed(context=Fraction(1))
        parts = [part for part in Part if part is not Part.SCORES]
        assert forward_flops(model, alone, parts) == flops


def test_latent_attention() -> None:
    model = read_model("deepseek-v3")
    assert kv_elements_per_token(model) == 61 * (512 + 64)
    passed = Passed(context=Fraction(1000), absorbed=True)
    scores = forward_flops(model, passed, [Part.SCORES])
    assert scores == 2 * 61 * 128 * 1000 * (512 + 64 + 512)
    once = Passed(tokens=Fraction(1000), context=Fraction(1000))
    scores = forward_flops(model, once, [Part.SCORES])
    assert scores == 2 * 61 * 128 * 1000 * 1000 * (128 + 64 + 128)


def test_tied_embeddings_are_one_matrix() -> None:
    both = Model(name="m", d_model=8, vocabulary=10, layers=1, d_ff=1, heads=1)
    tied = read_model(
        {
            "d_model": 8,
            "vocabulary": 10,
            "layers": 1,
            "d_ff": 1,
            "heads": 1,
            "tied_embeddings": True,
        }
    )
    assert parameters(both) - parameters(tied) == 80
    assert matmul_parameters(both) == matmul_parameters(tied)


@pytest.mark.parametrize("name", model_names())
def test_statements_are_of_the_notation(name: str) -> None:
    model = read_model(name)
    assert model.source
    for absorbed in (False, True):
        for work in works(model, absorbed=absorbed):
            assert parse(str(work.statement)) == work.statement
            weights = [a for a in work.statement.operands if role_of(a) is Role.WEIGHT]
            assert len(weights) == (0 if work.part is Part.SCORES else 1)


def test_kept_arrays() -> None:
    model = read_model("llama-2-13b")
    tokens = Fraction(1000)
    assert kept_elements(model, 2, tokens) == 2 * 1000 * 5120 * 40
    assert kept_elements(model, ["X"], tokens) == kept_elements(model, 1, tokens)
    assert kept_elements(model, ["Q", "Key"], tokens) == 2 * kept_elements(model, 1, tokens)
    with pytest.raises(ScenarioError, match="has no array 'Y0' to keep; it has X, Q, Key, "):
        kept_elements(model, ["Y0"], tokens)


MACHINE: dict[str, Any] = {"topology": "v5e:4x4", "batch": 32, "context": 8192}


def with_batch(found: Quantities, batch: Fraction) -> Quantities:
    """The same of another batch, which need not be whole: where two times cross."""
    return Quantities(found.model, replace(found.asked, batch=batch))


def test_exact_critical_batch() -> None:
    """There matmuls and attention take as long to compute as weights and caches to be read."""
    short = {**MACHINE, "context": 64}
    batch = quantities("llama-3-70b", **short)["exact_critical_batch"]
    at = with_batch(quantities("llama-3-70b", **short), batch)
    assert at["exact_compute_seconds"] == at["lower_step_seconds"]
    with pytest.raises(NotKnownError, match="bound by memory, whatever the batch"):
        quantities("llama-3-70b", **MACHINE)["exact_critical_batch"]


LAWS = [
    # quantity, input, times so much, then the quantity is times so much
    ("weights_seconds", {"chips": 32}, Fraction(1, 2)),
    ("kv_seconds", {"batch": 64}, Fraction(2)),
    ("kv_seconds", {"context": 16384}, Fraction(2)),
    ("compute_seconds", {"batch": 64}, Fraction(2)),
    ("largest_batch", {"context": 16384}, Fraction(1, 2)),
    ("training_seconds", {"mfu": 0.8}, Fraction(1, 2)),
    ("training_flops", {"tokens": 2e12}, Fraction(2)),
    ("activation_bytes", {"kept": 4}, Fraction(2)),
    ("optimizer_bytes", {"optimizer_bytes_per_parameter": 16}, Fraction(2)),
    ("weight_bytes", {"dtype": "f32"}, Fraction(2)),
    ("kv_bytes_per_token", {"dtype": "f32"}, Fraction(2)),
    ("queries_per_second", {"generated": 256}, Fraction(2)),
    ("prefill_seconds", {"prompt": 16384}, Fraction(2)),
]


@pytest.mark.parametrize(("name", "change", "factor"), LAWS)
def test_laws(name: str, change: dict[str, Any], factor: Fraction) -> None:
    asked = {**MACHINE, "mfu": 0.4, "tokens": 1e12, "batch_tokens": 1e6, "kept": 2}
    asked |= {"generated": 512, "prompt": 8192}
    before = quantities("llama-3-70b", **asked)[name]
    assert quantities("llama-3-70b", **{**asked, **change})[name] == factor * before


DENSE = {"layers": 1, "d_model": 8192, "d_ff": 32768, "heads": 64}


def test_collectives_of_a_layer() -> None:
    """Two gathers and two scatters of [B, D] in each layer, as the book has them."""
    asked: dict[str, Any] = {
        "topology": "v5e:16",
        "mesh": "X=16",
        "batch": 1024,
        "context": 8192,
        "dtype": "int8",
    }
    found = quantities("llama-3-70b", **asked)
    one = Fraction(1024 * 8192, 90 * 10**9)
    assert found["book_collective_seconds"] == 80 * 4 * one
    assert found["sharded_step_seconds"] == found["step_seconds"] + found["collective_seconds"]
    # sequences over Y: half of the bytes
    both = {**asked, "topology": "v5e:4x16", "mesh": "Y=4,X=16", "data": "Y"}
    assert 4 * quantities("llama-3-70b", **both)["book_collective_seconds"] == 80 * 4 * one


def test_heads_are_cut_over_keys_first_then_over_the_queries_of_each() -> None:
    cut = plan_layer(
        read_model({**DENSE, "kv_heads": 8}),
        read_asked(topology="v5e:4x16", mesh="X=16,Y=4", batch=32),
    )
    weights = [str(value.sharded.array) for name, value in cut.plan.inputs if name == "W_Q"]
    assert weights == ["W_Q[D, K_{X:(1)8}, G_{X:(8)2,Y}, H]"]
    three = {**DENSE, "heads": 6, "kv_heads": 3, "head_size": 128}
    asked = read_asked(topology="v5e:4", mesh="X=4", batch=32)
    with pytest.raises(InputError, match="axis X of 4 chips does not divide 3 kv_heads, nor they"):
        plan_layer(read_model(three), asked)


def test_axes_as_text_or_as_a_list() -> None:
    for tensor in ("XY", "X,Y", ["X", "Y"]):
        assert read_asked(tensor=tensor).tensor == ("X", "Y")


def test_quantities_are_a_mapping() -> None:
    found = quantities("llama-3-8b")
    assert "parameters" in found
    assert "size" not in found
    assert len(list(found)) == len(found)


def test_stated_figures_stand_for_what_would_follow() -> None:
    changed = {"like": "llama-3-8b", "parameters": 8e9, "kv_bytes_per_token": "1 KiB"}
    found = quantities(changed, context=10, weight_bytes="9 GB", seconds=2, topology="v5e:4x4")
    assert found["parameters"] == found["active_parameters"] == 8 * 10**9
    assert found["kv_bytes_per_sequence"] == 10240
    assert found["weight_bytes"] == 9 * 10**9
    assert found["available_flops"] == 2 * 16 * 197 * 10**12
    with pytest.raises(NotKnownError, match="the model has no vocabulary"):
        quantities({"name": "the model"})["experts_parameters"]


def test_known_leaves_out_what_does_not_follow() -> None:
    found = quantities({"parameters": 7e9}).known()
    assert "parameters" in found
    assert "kv_bytes_per_token" not in found
    assert len(quantities("llama-3-8b", **MACHINE).known()) > len(found)


def sizes_of(planned: LayerPlan, results: str) -> Fraction:
    """V of the collectives of one layer that make some arrays, all together."""
    names = results.split()
    made = {str(step.result.sharded.array.name) for step in planned.collectives}
    assert made >= set(names)
    every = (s.size for s in planned.collectives if s.result.sharded.array.name in names)
    return sum(every, Fraction(0))


def trained(**asked: Any) -> LayerPlan:
    """A layer with two matrices of 8192 x 32768, forward and backward, in bf16 on 64 chips."""
    model = read_model({**DENSE, "gated": False})
    given = {"topology": "v5p:4x4x4", "context": 4096, **asked}
    return plan_layer(model, read_asked(**given), training=True)


def test_training_gathers_weights_twice_and_scatters_their_gradients() -> None:
    """FSDP of two matrices: 4DF of bytes forward, 8DF backward; 3.22123e9 together."""
    planned = trained(mesh="X=64", data="X", batch_tokens=64 * 4096)
    once = 2 * 8192 * 32768
    assert sizes_of(planned, "G_in G_out") == 2 * once
    assert sizes_of(planned, "H_in H_out dW_in dW_out") == 4 * once
    assert sizes_of(planned, "G_in G_out H_in H_out dW_in dW_out") == 3_221_225_472
    attention = sum((step.size for step in planned.collectives), Fraction(0)) - 6 * once
    assert attention == 3 * 2 * 4 * 8192 * 8192
    assert len(planned.collectives) == 3 * 6


def test_training_gathers_and_scatters_as_many_activations_backward_as_forward() -> None:
    """Tensor parallelism of the two matrices: 4BD + 4BD of bytes; 2.68435e8 together."""
    planned = trained(mesh="X=64", batch_tokens=4096)
    once = 2 * 4096 * 8192
    assert sizes_of(planned, "Mid Out") == sizes_of(planned, "dNext dMid") == 2 * once
    assert sizes_of(planned, "Mid Out dNext dMid") == 268_435_456
    every = sum((step.size for step in planned.collectives), Fraction(0))
    assert every == 2 * 268_435_456  # as many for attention
    names = [step.kind.value for step in planned.collectives]
    assert names == ["all_gather", "reduce_scatter"] * 4


def test_training_takes_three_times_the_weights_and_twice_the_activations() -> None:
    """Of all layers, by the book's formulas: nothing but V/2w, since all of them are long."""
    asked = {"topology": "v5p:16x4", "mesh": "X=16,Y=4", "context": 4096, "data": "X"}
    asked |= {"batch_tokens": 4096 * 64}
    model = read_model("llama-3-8b")
    planned = plan_layer(model, read_asked(**asked), training=True)
    weights = 2 * (3 * 4096 * 14336 + 2 * 4096 * 4096 + 2 * 4096 * 1024) // 4
    tokens = 2 * 4096 * 4096 * 64 // 16
    assert sum((step.size for step in planned.collectives), Fraction(0)) == (
        3 * weights + 2 * 4 * tokens
    )
    found = quantities(model, **asked)
    assert found["training_collective_seconds"] == planned.seconds()
    assert planned.layers == 32


def test_gradients_of_keys_that_chips_share_are_summed_over_them() -> None:
    shared = {"like": "llama-3-8b", "name": "m", "kv_heads": 1}
    asked = read_asked(topology="v5p:4", mesh="X=4", context=4096, batch_tokens=4096)
    planned = plan_layer(read_model(shared), asked, training=True)
    summed = [s for s in planned.collectives if s.kind.value == "all_reduce"]
    assert [str(s.operand.sharded.array.name) for s in summed] == ["dKey", "dValue"]
    apart = plan_layer(read_model({**shared, "kv_heads": 4}), asked, training=True)
    assert not [s for s in apart.collectives if s.kind.value == "all_reduce"]


LLAMA = {"topology": "v5e:16", "mesh": "X=16", "batch": 32, "context": 8192, "dtype": "int8"}


def test_copies_of_the_cache_are_held_and_read() -> None:
    """16 chips, and 8 heads of keys: two chips hold each, and half as many sequences fit."""
    model = read_model("llama-3-70b")
    alone = quantities(model, **{**LLAMA, "mesh": None})
    found = quantities(model, **LLAMA)
    keys = 2 * 80 * 8192 * 8 * 128
    assert (alone["cache_copies"], found["cache_copies"]) == (1, 2)
    assert found["kv_bytes"] == alone["kv_bytes"] == alone["held_kv_bytes"]
    assert found["held_kv_bytes"] == 16 * found["kv_bytes_per_chip"] == 2 * alone["kv_bytes"]
    assert found["kv_seconds"] == 2 * alone["kv_seconds"]
    assert found["held_weight_bytes"] == alone["weight_bytes"] + keys
    assert found["serving_bytes"] == alone["serving_bytes"] + alone["kv_bytes"] + keys
    assert found["largest_batch"] == (alone["free_bytes"] - keys) / (
        2 * alone["kv_bytes_per_sequence"]
    )
    assert found["lower_step_seconds"] == found["serving_bytes"] / (16 * 820 * 10**9)
    assert found["chips_for_serving"] == alone["chips_for_serving"]


def test_eight_chips_hold_everything_once() -> None:
    eight = {**LLAMA, "topology": "v5e:8", "mesh": "X=8"}
    alone = quantities("llama-3-70b", **{**eight, "mesh": None})
    found = quantities("llama-3-70b", **eight)
    for name in ("serving_bytes", "kv_seconds", "largest_batch", "step_seconds", "critical_batch"):
        assert found[name] == alone[name]


def test_each_part_of_the_sequences_needs_the_weights() -> None:
    asked = {**LLAMA, "topology": "v5e:4x4", "mesh": "X=4,Y=4", "data": "Y"}
    found = quantities("llama-3-8b", **asked)
    assert found["cache_copies"] == 1
    assert found["held_weight_bytes"] == 4 * found["weight_bytes"]
    assert found["weight_bytes_per_chip"] == found["weight_bytes"] / 4
    assert found["largest_whole_batch"] == 416
    assert 417 < found["largest_batch"] < 418
    at = with_batch(found, found["critical_batch"])
    assert at["compute_seconds"] == at["weights_seconds"]


def test_exact_critical_batch_counts_what_is_held() -> None:
    asked = {**LLAMA, "context": 64}
    batch = quantities("llama-3-70b", **asked)["exact_critical_batch"]
    at = with_batch(quantities("llama-3-70b", **asked), batch)
    assert at["exact_compute_seconds"] == at["lower_step_seconds"]


def test_the_mesh_of_a_training_spreads_weights_evenly() -> None:
    asked = {"topology": "v5e:16", "mesh": "X=16", "data": "X", "batch_tokens": 16 * 4096}
    found = quantities("llama-3-8b", **asked, context=4096)
    assert found["weight_bytes_per_chip"] == found["weight_bytes"] / 16
    with pytest.raises(NotKnownError, match="free_bytes: the mesh is that of a training"):
        found["free_bytes"]
    assert "free_bytes" not in found.known()


def test_rates_are_of_the_step_with_its_collectives() -> None:
    asked = {**LLAMA, "generated": 512, "prompt": 8192, "mfu": 0.4}
    found = quantities("llama-3-70b", **asked)
    step = found["step_seconds"] + found["collective_seconds"]
    assert found["collective_seconds"] > 0
    assert found["sharded_step_seconds"] == step
    assert found["tokens_per_second"] == 32 / step
    assert found["queries_per_second"] == 32 / step / 512
    prefill = 32 * found["prefill_seconds"] / (step * 512)
    assert found["prefill_servers_per_generate_server"] == prefill
    alone = quantities("llama-3-70b", **{**asked, "mesh": None})
    assert alone["tokens_per_second"] == 32 / alone["step_seconds"]
    stated = quantities("llama-3-70b", **asked, step_seconds="19 ms")
    assert stated["tokens_per_second"] == 32 / Fraction(19, 1000)


def test_exact_prefill_has_the_logits_of_the_last_token_only() -> None:
    asked = {"topology": "v5e:4x4", "prompt": 8192, "mfu": 0.4}
    found = quantities("llama-3-70b", **asked)
    layers = 80 * (3 * 8192 * 28672 + 2 * 8192 * 8192 + 2 * 8192 * 1024)
    flops = 2 * layers * 8192 + 4 * 80 * 8192 * 8192 * 64 * 128 + 2 * 8192 * 128256
    assert found["exact_prefill_seconds"] == flops / (16 * 197 * 10**12 * Fraction(2, 5))
    assert found["prefill_seconds"] == 2 * found["parameters"] * 8192 / (
        16 * 197 * 10**12 * Fraction(2, 5)
    )


def test_what_binds_attention() -> None:
    """A key of latent attention serves 128 queries; one of LLaMA 3 serves 8."""
    asked = {"topology": "v5p:4x4x4", "batch": 32, "context": 8192}
    latent, heads = (quantities(name, **asked) for name in ("deepseek-v3", "llama-3-70b"))
    ridge = Fraction(459 * 10**12, 2800 * 10**9)
    assert latent["ridge_flops_per_byte"] == heads["ridge_flops_per_byte"] == ridge
    assert heads["attention_flops_per_byte"] < ridge < latent["attention_flops_per_byte"]
    assert heads["scores_seconds"] < heads["kv_seconds"]
    assert latent["scores_seconds"] > latent["kv_seconds"]


def test_closed_forms_that_are_bounds_are_known_to_be() -> None:
    model = read_model("llama-3-8b")
    ring = read_asked(topology="v5e:16", mesh="X=16", batch=16)
    assert plan_layer(model, ring).relations == {Relation.EQUAL}
    lines = read_asked(topology="v5p:2x4x4", mesh="X=8,Y=4", batch=32)
    assert plan_layer(model, lines).relations == {Relation.UPPER_BOUND}
    mixed = read_asked(topology="v5p:2x2x4", mesh="X=16", batch=32)
    assert Relation.LOWER_BOUND in plan_layer(model, mixed).relations
