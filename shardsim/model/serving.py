"""Serving: the cache of keys and values, what fits, the time of a step, prefill.

Weights and cache are spread evenly over all chips here; `sharded.py` has the collectives that this
takes. All experts of a model are read in a step. The book: chapters inference, applied-inference.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.model import counting
from shardsim.model.sizes import Model, NotKnownError
from shardsim.model.training import FORWARD, weight_bytes
from shardsim.model.works import Part
from shardsim.units import Bytes, Seconds

if TYPE_CHECKING:
    from shardsim.model.asked import Asked

__all__ = [
    "attention_intensity",
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
    "kv_bytes",
    "kv_bytes_per_sequence",
    "kv_bytes_per_token",
    "kv_seconds",
    "largest_batch",
    "linear_seconds",
    "lower_step_seconds",
    "prefill_seconds",
    "prefill_servers_per_generate_server",
    "queries_per_second",
    "scores_flops_per_token",
    "serving_bytes",
    "step_seconds",
    "tokens_per_second",
    "weights_seconds",
]


def kv_bytes_per_token(model: Model, asked: Asked) -> Bytes:
    """2 L K H x bytes of an element; of latent attention L (cache rank + rotary). As stated."""
    if model.kv_bytes_per_token is not None:
        return model.kv_bytes_per_token
    return counting.kv_elements_per_token(model) * asked.types.kv.bytes


def kv_bytes_per_sequence(model: Model, asked: Asked) -> Bytes:
    """Bytes for one token x tokens of context. As stated, where `kv_bytes` is."""
    if asked.kv_bytes is not None:
        return asked.kv_bytes
    context = asked.need("context")
    return kv_bytes_per_token(model, asked) * context


def kv_bytes(model: Model, asked: Asked) -> Bytes:
    """The caches of all sequences of a batch."""
    batch = asked.need("batch")
    return batch * kv_bytes_per_sequence(model, asked)


def serving_bytes(model: Model, asked: Asked) -> Bytes:
    """Weights + caches of the batch. First order: no activations."""
    return weight_bytes(model, asked) + kv_bytes(model, asked)


def free_bytes(model: Model, asked: Asked) -> Bytes:
    """HBM of all chips that the weights leave free; below 0 where they do not fit."""
    return asked.all_hbm_capacity - weight_bytes(model, asked)


def largest_batch(model: Model, asked: Asked) -> Fraction:
    """Sequences whose caches fit beside the weights: free HBM / cache of one. 0 where none do."""
    free = free_bytes(model, asked)
    return max(free, Fraction(0)) / kv_bytes_per_sequence(model, asked)


def chips_for_weights(model: Model, asked: Asked) -> Fraction:
    """Weight bytes / HBM of a chip."""
    return weight_bytes(model, asked) / asked.hbm_capacity


def chips_for_serving(model: Model, asked: Asked) -> Fraction:
    """(Weights + caches of the batch) / HBM of a chip."""
    return serving_bytes(model, asked) / asked.hbm_capacity


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
    """Reading all weights once: their bytes / HBM bandwidth of all chips."""
    return weight_bytes(model, asked) / asked.all_hbm_bandwidth


def kv_seconds(model: Model, asked: Asked) -> Seconds:
    """Reading the caches of the batch once: attention, which the book takes as bound by memory.

    So it is where each key serves few queries (`attention_flops_per_byte` below that of the chip);
    latent attention may not be.
    """
    return kv_bytes(model, asked) / asked.all_hbm_bandwidth


def compute_seconds(model: Model, asked: Asked) -> Seconds:
    """2 B P / FLOP/s of all chips: the matmuls of a step. First order."""
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

    First order, without collectives. As stated, where it is.
    """
    if asked.step_seconds is not None:
        return asked.step_seconds
    return kv_seconds(model, asked) + linear_seconds(model, asked)


def lower_step_seconds(model: Model, asked: Asked) -> Seconds:
    """The least that a step takes: weights and caches are read once, (weights + caches)/HBM."""
    return kv_seconds(model, asked) + weights_seconds(model, asked)


def tokens_per_second(model: Model, asked: Asked) -> Fraction:
    """B / time of a step, on all chips."""
    batch = asked.need("batch")
    return batch / step_seconds(model, asked)


def queries_per_second(model: Model, asked: Asked) -> Fraction:
    """B / (time of a step x tokens generated for a query), on all chips. Without prefill."""
    generated = asked.need("generated")
    return tokens_per_second(model, asked) / generated


def prefill_seconds(model: Model, asked: Asked) -> Seconds:
    """2 P x tokens of a prompt / (chips x peak x MFU): one sequence. First order; as stated."""
    if asked.prefill_seconds is not None:
        return asked.prefill_seconds
    flops = forward_flops_per_token(model, asked) * _prompt(asked)
    return flops / (asked.all_peak * asked.need("mfu"))


def exact_prefill_seconds(model: Model, asked: Asked) -> Seconds:
    """The same with all FLOPs: attention over the prompt too, half of it where it is causal."""
    prompt = _prompt(asked)
    passed = counting.Passed(tokens=prompt, context=prompt, causal=asked.causal)
    return counting.forward_flops(model, passed) / (asked.all_peak * asked.need("mfu"))


def _prompt(asked: Asked) -> Fraction:
    return asked.need("context" if asked.prompt is None and asked.context else "prompt")


def prefill_servers_per_generate_server(model: Model, asked: Asked) -> Fraction:
    """Servers that prefill for one that generates: B x prefill / (step x tokens of a query).

    Both of the same size.
    """
    batch = asked.need("batch")
    generated = asked.need("generated")
    prefilling = batch * prefill_seconds(model, asked)
    return prefilling / (step_seconds(model, asked) * generated)


def critical_batch(model: Model, asked: Asked) -> Fraction:
    """Sequences with which computing takes as long as reading weights: peak x bytes / (2 HBM).

    Of a model with experts x P / active P. First order: no cache, no activations. 240 of bf16 on
    v5e, 120 with weights in int8.
    """
    spread = Fraction(1)
    if model.experts is not None or model.active_parameters is not None:
        spread = counting.parameters(model) / counting.active_parameters(model)
    read = asked.types.weights.bytes * spread / asked.hbm_bandwidth
    return asked.peak * read / FORWARD


def exact_critical_batch(model: Model, asked: Asked) -> Fraction:
    """Sequences with which computing takes as long as reading weights and caches.

    Formula: weights / HBM = B (exact FLOPs of a token / FLOP/s - cache of a sequence / HBM).

    Raises:
        NotKnownError: there is none: caches alone take longer, whatever the batch.
    """
    computing = exact_forward_flops_per_token(model, asked) / asked.all_peak
    caching = kv_bytes_per_sequence(model, asked) / asked.all_hbm_bandwidth
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
