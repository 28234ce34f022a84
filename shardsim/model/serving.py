"""Serving: the cache of keys and values, what fits, the time of a step, prefill.

Without a mesh, weights and caches are spread evenly over all chips. With one they lie as it cuts
them (`cut.py`): each part of the sequences needs the weights, and where there are fewer heads of
keys than chips, several hold the same cache. All copies take room and are read. The collectives are
in `sharded.py`, what a step with them comes to in `rates.py`. All experts of a model are read in a
step. The book: chapters inference, applied-inference.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.model import counting
from shardsim.model.cut import serving_cut
from shardsim.model.sizes import Model, NotKnownError
from shardsim.model.training import FORWARD, weight_bytes
from shardsim.model.works import Part
from shardsim.units import Bytes, Seconds

if TYPE_CHECKING:
    from shardsim.model.asked import Asked

__all__ = [
    "attention_intensity",
    "cache_copies",
    "chips_for_serving",
    "chips_for_weights",
    "compute_seconds",
    "critical_batch",
    "exact_compute_seconds",
    "exact_critical_batch",
    "exact_forward_flops_per_token",
    "exact_prefill_seconds",
    "forward_flops_per_token",
    "free_bytes",
    "held_kv_bytes",
    "held_weight_bytes",
    "kv_bytes",
    "kv_bytes_per_sequence",
    "kv_bytes_per_token",
    "kv_seconds",
    "largest_batch",
    "largest_whole_batch",
    "linear_seconds",
    "lower_step_seconds",
    "prefill_seconds",
    "ridge_flops_per_byte",
    "scores_flops_per_token",
    "scores_seconds",
    "serving_bytes",
    "spread_weight_bytes",
    "step_seconds",
    "weights_seconds",
]


def kv_bytes_per_token(model: Model, asked: Asked) -> Bytes:
    """2 L K H x bytes of an element; of latent attention L (cache rank + rotary). As stated."""
    if model.kv_bytes_per_token is not None:
        return model.kv_bytes_per_token
    sizes = ("layers",) if model.latent is not None else ("layers", "kv_heads", "head_size")
    lacking = model.lacking(*sizes)
    if lacking:
        why = f"{model.name} has no kv_bytes_per_token, nor what it follows from: "
        raise NotKnownError(
            why + ", ".join(lacking),
            f"add kv_bytes_per_token to the model, or {', '.join(lacking)}",
        )
    return counting.kv_elements_per_token(model) * asked.types.kv.bytes


def kv_bytes_per_sequence(model: Model, asked: Asked) -> Bytes:
    """Bytes for one token x tokens of context. As stated, where `kv_bytes` is."""
    if asked.kv_bytes is not None:
        return asked.kv_bytes
    context = asked.need("context")
    return kv_bytes_per_token(model, asked) * context


def kv_bytes(model: Model, asked: Asked) -> Bytes:
    """The caches of all sequences of a batch, each once."""
    batch = asked.need("batch")
    return batch * kv_bytes_per_sequence(model, asked)


def cache_copies(model: Model, asked: Asked) -> Fraction:
    """How many chips hold the same keys and values: 1 without a mesh; see `Cut.cache_copies`."""
    cut = serving_cut(model, asked)
    return Fraction(1 if cut is None else cut.cache_copies)


def held_kv_bytes(model: Model, asked: Asked) -> Bytes:
    """The caches of all sequences of a batch, as often as the mesh has them held."""
    return cache_copies(model, asked) * kv_bytes(model, asked)


def held_weight_bytes(model: Model, asked: Asked) -> Bytes:
    """Weights on all chips together: with a mesh once for each part of the sequences.

    There W_K and W_V are held as often as the cache; embeddings are taken as cut over all axes of
    `tensor`.
    """
    once = weight_bytes(model, asked)
    cut = serving_cut(model, asked)
    if cut is None:
        return once
    sizes = ("layers", "d_model", "kv_heads", "head_size")
    of_keys = 2 * math.prod(model.size(key) for key in sizes) * asked.types.weights.bytes
    return cut.data_ways * (once + (cut.cache_copies - 1) * of_keys)


def spread_weight_bytes(model: Model, asked: Asked) -> Bytes:
    """Weights on all chips together: those held, of a training each once."""
    return (weight_bytes if asked.trains else held_weight_bytes)(model, asked)


def serving_bytes(model: Model, asked: Asked) -> Bytes:
    """Weights + caches of the batch, all copies that are held. First order: no activations."""
    return held_weight_bytes(model, asked) + held_kv_bytes(model, asked)


def free_bytes(model: Model, asked: Asked) -> Bytes:
    """HBM of all chips that the weights held leave free; below 0 where they do not fit."""
    return asked.all_hbm_capacity - held_weight_bytes(model, asked)


def largest_batch(model: Model, asked: Asked) -> Fraction:
    """Sequences whose caches fit beside the weights: free HBM / (cache of one x its copies).

    0 where none do.
    """
    free = free_bytes(model, asked)
    each = kv_bytes_per_sequence(model, asked) * cache_copies(model, asked)
    return max(free, Fraction(0)) / each


def largest_whole_batch(model: Model, asked: Asked) -> Fraction:
    """The same in whole sequences; with a mesh a multiple of the ways that they are cut."""
    cut = serving_cut(model, asked)
    ways = 1 if cut is None else cut.data_ways
    return Fraction(math.floor(largest_batch(model, asked) / ways) * ways)


def chips_for_weights(model: Model, asked: Asked) -> Fraction:
    """Weight bytes / HBM of a chip: the least, each held once."""
    return weight_bytes(model, asked) / asked.hbm_capacity


def chips_for_serving(model: Model, asked: Asked) -> Fraction:
    """(Weights + caches of the batch) / HBM of a chip: the least, each held once."""
    return (weight_bytes(model, asked) + kv_bytes(model, asked)) / asked.hbm_capacity


def forward_flops_per_token(model: Model, asked: Asked) -> Fraction:
    """2 P: first order, P active parameters, looked-up ones too, attention over the context not."""
    del asked
    return FORWARD * counting.active_parameters(model)


def _generated(asked: Asked) -> counting.Passed:
    """One token of one sequence that attends to the context."""
    return counting.Passed(context=asked.need("context"), absorbed=True)


def exact_forward_flops_per_token(model: Model, asked: Asked) -> Fraction:
    """Of a token that is generated: 2 (matmul parameters) + 4 L S N H, with S tokens of context."""
    return counting.forward_flops(model, _generated(asked))


def scores_flops_per_token(model: Model, asked: Asked) -> Fraction:
    """4 L S N H: attention over S tokens of context, of a token that is generated."""
    return counting.forward_flops(model, _generated(asked), [Part.SCORES])


def weights_seconds(model: Model, asked: Asked) -> Seconds:
    """Each chip reads the weights it holds: `held_weight_bytes` / HBM bandwidth of all chips."""
    return held_weight_bytes(model, asked) / asked.all_hbm_bandwidth


def kv_seconds(model: Model, asked: Asked) -> Seconds:
    """Each chip reads the caches it holds: attention, which the book takes as bound by memory.

    So it is where `attention_flops_per_byte` is below `ridge_flops_per_byte`; where it is not, as
    with latent attention, attention takes longer: `scores_seconds`.
    """
    return held_kv_bytes(model, asked) / asked.all_hbm_bandwidth


def scores_seconds(model: Model, asked: Asked) -> Seconds:
    """FLOPs of attention over the context, of a token of each sequence / FLOP/s of all chips."""
    batch = asked.need("batch")
    return batch * scores_flops_per_token(model, asked) / asked.all_peak


def compute_seconds(model: Model, asked: Asked) -> Seconds:
    """2 B P / FLOP/s of all chips: the matmuls of a step. First order.

    What chips that share a key compute twice of it is not counted.
    """
    batch = asked.need("batch")
    return batch * forward_flops_per_token(model, asked) / asked.all_peak


def exact_compute_seconds(model: Model, asked: Asked) -> Seconds:
    """Exact FLOPs of a step, attention over the context too / FLOP/s of all chips."""
    batch = asked.need("batch")
    return batch * exact_forward_flops_per_token(model, asked) / asked.all_peak


def linear_seconds(model: Model, asked: Asked) -> Seconds:
    """All but attention: the larger of computing and reading the weights."""
    return max(compute_seconds(model, asked), weights_seconds(model, asked))


def step_seconds(model: Model, asked: Asked) -> Seconds:
    """A step that generates a token of each sequence: caches/HBM + max(2BP/FLOP/s, weights/HBM).

    First order: attention as bound by memory (see `kv_seconds`), without collectives, which
    `sharded_step_seconds` adds. As stated, where it is.
    """
    if asked.step_seconds is not None:
        return asked.step_seconds
    return kv_seconds(model, asked) + linear_seconds(model, asked)


def lower_step_seconds(model: Model, asked: Asked) -> Seconds:
    """The least that a step takes: each chip reads what it holds, (weights + caches)/HBM."""
    return kv_seconds(model, asked) + weights_seconds(model, asked)


def prefill_seconds(model: Model, asked: Asked) -> Seconds:
    """2 P x tokens of a prompt / (chips x peak x MFU): one sequence, without collectives.

    First order: logits of every token are counted, which only the last needs. As stated.
    """
    if asked.prefill_seconds is not None:
        return asked.prefill_seconds
    flops = forward_flops_per_token(model, asked) * _prompt(asked)
    return flops / (asked.all_peak * asked.need("mfu"))


def exact_prefill_seconds(model: Model, asked: Asked) -> Seconds:
    """The same with the FLOPs that it takes: 2 (matmul parameters) a token, attention, logits.

    Attention is over the prompt, half of it where it is causal; logits are those of the last token
    only. Without collectives.
    """
    prompt = _prompt(asked)
    passed = counting.Passed(tokens=prompt, context=prompt, causal=asked.causal)
    layers = [part for part in Part if part is not Part.VOCABULARY]
    flops = counting.forward_flops(model, passed, layers)
    flops += counting.forward_flops(model, counting.Passed(), [Part.VOCABULARY])
    return flops / (asked.all_peak * asked.need("mfu"))


def _prompt(asked: Asked) -> Fraction:
    return asked.need("context" if asked.prompt is None and asked.context else "prompt")


def critical_batch(model: Model, asked: Asked) -> Fraction:
    """Sequences with which computing takes as long as reading weights: peak x bytes / (2 HBM).

    Of a model with experts x P / active P; with a mesh x weights held / weights. First order: no
    cache, no activations. 240 of bf16 on v5e, 120 with weights in int8.
    """
    spread = Fraction(1)
    if model.experts is not None or model.active_parameters is not None:
        spread = counting.parameters(model) / counting.active_parameters(model)
    if asked.mesh is not None:
        spread *= held_weight_bytes(model, asked) / weight_bytes(model, asked)
    read = asked.types.weights.bytes * spread / asked.hbm_bandwidth
    return asked.peak * read / FORWARD


def exact_critical_batch(model: Model, asked: Asked) -> Fraction:
    """Sequences with which computing takes as long as reading weights and caches.

    Formula: weights / HBM = B (exact FLOPs of a token / FLOP/s - cache of a sequence / HBM), with a
    mesh all copies of both.

    Raises:
        NotKnownError: there is none: caches alone take longer, whatever the batch.
    """
    computing = exact_forward_flops_per_token(model, asked) / asked.all_peak
    held = kv_bytes_per_sequence(model, asked) * cache_copies(model, asked)
    caching = held / asked.all_hbm_bandwidth
    if computing <= caching:
        raise NotKnownError(
            "a step is bound by memory, whatever the batch: the cache of a sequence takes longer "
            "to read than its token takes to compute",
            "give a shorter context",
        )
    return weights_seconds(model, asked) / (computing - caching)


def attention_intensity(model: Model, asked: Asked) -> Fraction:
    """FLOPs per byte of attention over the context: T S G/(T G + S), scores not written.

    T = 1, or as many as the prompt has where it is given.
    """
    tokens = Fraction(1) if asked.prompt is None else asked.prompt
    context = asked.need("context")
    passed = counting.Passed(tokens=tokens, context=context, absorbed=asked.prompt is None)
    return counting.intensity_of_attention(model, passed, asked.types.sizes)


def ridge_flops_per_byte(model: Model, asked: Asked) -> Fraction:
    """FLOPs per byte from which a chip is bound by compute: peak / HBM bandwidth."""
    del model
    return asked.peak / asked.hbm_bandwidth
