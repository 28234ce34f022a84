"""Training: FLOPs, time at a share of the peak, memory.

What is spread over chips is spread evenly over all of them here (FSDP of everything), whatever the
mesh; its collectives are in `sharded.py`. Each function takes the model and what is asked of it.
The book: transformers, training, applied-training.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.errors import ScenarioError
from shardsim.model import counting
from shardsim.model.sizes import Model
from shardsim.units import Bytes, Seconds

if TYPE_CHECKING:
    from shardsim.model.asked import Asked

__all__ = [
    "activation_bytes",
    "available_flops",
    "batch_tokens",
    "exact_training_flops",
    "exact_training_flops_per_token",
    "exact_training_seconds",
    "gradient_bytes",
    "largest_parameters",
    "mfu",
    "optimizer_bytes",
    "state_bytes",
    "token_bytes",
    "training_bytes",
    "training_flops",
    "training_flops_per_token",
    "training_seconds",
    "weight_bytes",
]

HOUR = 3600
FORWARD = 2
FORWARD_AND_BACKWARD = 6


def training_flops_per_token(model: Model, asked: Asked) -> Fraction:
    """6 P: first order, P active parameters, looked-up ones too, attention over the context not."""
    del asked
    return FORWARD_AND_BACKWARD * counting.active_parameters(model)


def training_flops(model: Model, asked: Asked) -> Fraction:
    """6 P x tokens: first order. As stated, where FLOPs are."""
    if asked.flops is not None:
        return asked.flops
    return training_flops_per_token(model, asked) * asked.need("tokens")


def exact_training_flops_per_token(model: Model, asked: Asked) -> Fraction:
    """Three times the FLOPs of each statement, of a token in a sequence of S tokens.

    Formula: 6 (matmul parameters) + 12 L S N H. The first are the active parameters that are
    multiplied, not looked up; the second is attention over S tokens of context, of every
    token to all of them; (S + 1)/2S of it where it is causal. Nothing is computed twice; norms,
    softmax and the optimizer are not counted.
    """
    context = asked.need("context")
    passed = counting.Passed(tokens=context, context=context, causal=asked.causal)
    return counting.training_flops(model, passed) / context


def exact_training_flops(model: Model, asked: Asked) -> Fraction:
    """Of all tokens: multiplied parameters and attention, as `exact_training_flops_per_token`.

    All tokens are in sequences as long as the context.
    """
    return exact_training_flops_per_token(model, asked) * asked.need("tokens")


def training_seconds(model: Model, asked: Asked) -> Seconds:
    """6 P x tokens / (chips x peak x MFU). First order."""
    return training_flops(model, asked) / (asked.all_peak * asked.need("mfu"))


def exact_training_seconds(model: Model, asked: Asked) -> Seconds:
    """`exact_training_flops` / (chips x peak x MFU): of what is multiplied, and attention."""
    return exact_training_flops(model, asked) / (asked.all_peak * asked.need("mfu"))


def available_flops(model: Model, asked: Asked) -> Fraction:
    """FLOPs that the chips could do: hours of one chip x 3600 x peak, or chips x seconds x peak."""
    del model
    if asked.seconds is not None and asked.chip_hours is None:
        return asked.all_peak * asked.seconds
    hours = asked.need("chip_hours")
    return hours * HOUR * asked.peak


def mfu(model: Model, asked: Asked) -> Fraction:
    """Model FLOPs utilisation: 6 P x tokens / what the chips could do in that time. First order.

    Raises:
        ScenarioError: it would be over 100 %: the time is less than the peak allows.
    """
    share = training_flops(model, asked) / available_flops(model, asked)
    if share > 1:
        raise _too_short(share, asked)
    return share


def _too_short(share: Fraction, asked: Asked) -> ScenarioError:
    """The fault of a time in which not even the peak does the FLOPs; says the least one."""
    given = asked.seconds if asked.chip_hours is None else asked.chip_hours
    assert given is not None
    what = "seconds" if asked.chip_hours is None else "chip-hours"
    least = Decimal(math.ceil(given * share)).normalize(Context(prec=3, rounding=ROUND_CEILING))
    time = f"{float(given):,.1f}".removesuffix(".0")
    said = f"{time} {what} are less than the peak allows: the MFU would be"
    return ScenarioError(
        f"{said} {float(share):.0%}, and at most 100% is possible",
        f"at the peak it takes {least:,f} {what}: give more, or fewer tokens, or check the machine",
    )


def weight_bytes(model: Model, asked: Asked) -> Bytes:
    """P x bytes of a weight, all experts. As stated, where they are."""
    if asked.weight_bytes is not None:
        return asked.weight_bytes
    return counting.parameters(model) * asked.types.weights.bytes


def optimizer_bytes(model: Model, asked: Asked) -> Bytes:
    """P x what the optimizer keeps: 8 bytes of Adam, two moments in f32. All experts."""
    return counting.parameters(model) * asked.optimizer_bytes_per_parameter


def gradient_bytes(model: Model, asked: Asked) -> Bytes:
    """P x bytes of a gradient that waits for the others; 0 where each is used as it comes."""
    return counting.parameters(model) * asked.gradient_bytes_per_parameter


def state_bytes(model: Model, asked: Asked) -> Bytes:
    """Weights + optimizer + gradients: all but activations."""
    return weight_bytes(model, asked) + optimizer_bytes(model, asked) + gradient_bytes(model, asked)


def batch_tokens(model: Model, asked: Asked) -> Fraction:
    """Tokens of a batch: as given, else sequences x tokens of each."""
    del model
    if asked.batch_tokens is None and asked.batch is not None and asked.context is not None:
        return asked.batch * asked.context
    return asked.need("batch_tokens")


def token_bytes(model: Model, asked: Asked) -> Bytes:
    """One activation [tokens, D] of a batch: bytes of an activation x tokens x D."""
    size = asked.types.activations.bytes
    return size * batch_tokens(model, asked) * model.size("d_model")


def activation_bytes(model: Model, asked: Asked) -> Bytes:
    """Activations kept for the backward pass: bytes x tokens x D x arrays kept of a layer x L.

    With names of arrays: those of the statements, each with its own extents. First order: what is
    computed anew within one layer is not counted.
    """
    size = asked.types.activations.bytes
    elements = counting.kept_elements(model, asked.given("kept"), batch_tokens(model, asked))
    return size * elements


def training_bytes(model: Model, asked: Asked) -> Bytes:
    """Weights + optimizer + gradients + activations kept, of one copy of the model."""
    return state_bytes(model, asked) + activation_bytes(model, asked)


def largest_parameters(model: Model, asked: Asked) -> Fraction:
    """Parameters that one chip holds by itself, as data parallelism needs: HBM / bytes of one.

    Bytes of one: its weight, optimizer and gradient. First order: no activations.
    """
    del model
    each = asked.types.weights.bytes + asked.optimizer_bytes_per_parameter
    return asked.hbm_capacity / (each + asked.gradient_bytes_per_parameter)
