"""All quantities of a model by name, each computed when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from shardsim.documents import nearest
from shardsim.errors import ScenarioError
from shardsim.model import counting, rates, serving, sharded, training
from shardsim.model.asked import Asked, read_asked
from shardsim.model.reading import Reference, read_model
from shardsim.model.sizes import Model, NotKnownError
from shardsim.model.works import Part

__all__ = ["Quantities", "quantities"]

Of = Callable[[Model, Asked], Fraction]


def _of_model(function: Callable[[Model], Fraction], model: Model, _: Asked) -> Fraction:
    return function(model)


def _part(part: Part, model: Model, _: Asked) -> Fraction:
    found = counting.parameters_by_part(model)
    if part not in found:
        raise NotKnownError(f"{model.name} has no {part.value} parameters", "ask for another part")
    return found[part][0]


def _up(function: Of, model: Model, asked: Asked) -> Fraction:
    return Fraction(math.ceil(function(model, asked)))


def _per_chip(function: Of, model: Model, asked: Asked) -> Fraction:
    return function(model, asked) / asked.machine_chips


def _token_seconds(model: Model, asked: Asked) -> Fraction:
    return training.training_flops_per_token(model, asked) / asked.all_peak


def _peak_seconds(model: Model, asked: Asked) -> Fraction:
    return training.training_flops(model, asked) / asked.all_peak


def _expert_ratio(model: Model, _: Asked) -> Fraction:
    return Fraction(model.size("experts"), model.size("experts_per_token"))


OF_MODEL = {
    "parameters": counting.parameters,
    "active_parameters": counting.active_parameters,
    "matmul_parameters": counting.matmul_parameters,
    "crossover_tokens": counting.crossover_tokens,
}
PARTS = [part for part in Part if part is not Part.SCORES]
OF_BYTES: Mapping[str, Of] = {
    "weight_bytes": training.weight_bytes,
    "kv_bytes": serving.kv_bytes,
    "serving_bytes": serving.serving_bytes,
    "free_bytes": serving.free_bytes,
    "training_bytes": training.training_bytes,
    "state_bytes": training.state_bytes,
    "optimizer_bytes": training.optimizer_bytes,
    "gradient_bytes": training.gradient_bytes,
    "activation_bytes": training.activation_bytes,
}
PER_CHIP = {
    **OF_BYTES,
    "weight_bytes": serving.spread_weight_bytes,
    "kv_bytes": serving.held_kv_bytes,
}
"""What all chips hold together, all copies: a chip's share is what it holds."""

TRAINING = (
    training.training_flops_per_token,
    training.exact_training_flops_per_token,
    training.training_flops,
    training.exact_training_flops,
    training.available_flops,
    training.mfu,
    training.training_seconds,
    training.exact_training_seconds,
    training.token_bytes,
    training.largest_parameters,
    sharded.training_collective_seconds,
)
SERVING = (
    serving.forward_flops_per_token,
    serving.exact_forward_flops_per_token,
    serving.scores_flops_per_token,
    serving.kv_bytes_per_token,
    serving.kv_bytes_per_sequence,
    serving.cache_copies,
    serving.weights_seconds,
    serving.kv_seconds,
    serving.scores_seconds,
    serving.compute_seconds,
    serving.exact_compute_seconds,
    serving.linear_seconds,
    serving.step_seconds,
    serving.lower_step_seconds,
    sharded.collective_seconds,
    sharded.book_collective_seconds,
    sharded.sharded_step_seconds,
    serving.prefill_seconds,
    serving.exact_prefill_seconds,
    rates.prefill_servers_per_generate_server,
    serving.critical_batch,
    serving.exact_critical_batch,
)

TABLE: Mapping[str, Of] = {
    **{name: partial(_of_model, function) for name, function in OF_MODEL.items()},
    **{f"{part.value}_parameters": partial(_part, part) for part in PARTS},
    **{function.__name__: function for function in TRAINING},
    "seconds_per_token_at_peak": _token_seconds,
    "training_seconds_at_peak": _peak_seconds,
    "batch_tokens": training.batch_tokens,
    "batch_tokens_per_chip": partial(_per_chip, training.batch_tokens),
    "experts_per_chosen_expert": _expert_ratio,
    **OF_BYTES,
    "held_weight_bytes": serving.held_weight_bytes,
    "held_kv_bytes": serving.held_kv_bytes,
    **{f"{name}_per_chip": partial(_per_chip, function) for name, function in PER_CHIP.items()},
    **{function.__name__: function for function in SERVING},
    "tokens_per_second": rates.tokens_per_second,
    "tokens_per_second_per_chip": partial(_per_chip, rates.tokens_per_second),
    "queries_per_second": rates.queries_per_second,
    "queries_per_second_per_chip": partial(_per_chip, rates.queries_per_second),
    "largest_batch": serving.largest_batch,
    "largest_whole_batch": serving.largest_whole_batch,
    "chips_for_weights": serving.chips_for_weights,
    "whole_chips_for_weights": partial(_up, serving.chips_for_weights),
    "chips_for_serving": serving.chips_for_serving,
    "whole_chips_for_serving": partial(_up, serving.chips_for_serving),
    "attention_flops_per_byte": serving.attention_intensity,
    "ridge_flops_per_byte": serving.ridge_flops_per_byte,
}


class Quantities(Mapping[str, Fraction]):
    """The quantities of a model, by name: see `TABLE`; each is computed when it is asked for.

    Attributes:
        model: The model.
        asked: The inputs beside it.
    """

    def __init__(self, model: Model, asked: Asked) -> None:
        self.model = model
        self.asked = asked
        self._found: dict[str, Fraction] = {}

    def __getitem__(self, name: str) -> Fraction:
        if name not in TABLE:
            raise ScenarioError(
                f"a model has no quantity {name!r}; it has {', '.join(TABLE)}",
                nearest(name, TABLE) or "name one of these",
            )
        if name not in self._found:
            try:
                self._found[name] = Fraction(TABLE[name](self.model, self.asked))
            except NotKnownError as error:
                raise NotKnownError(f"{name}: {error.message}", error.hint) from None
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in TABLE

    def __iter__(self) -> Iterator[str]:
        return iter(TABLE)

    def __len__(self) -> int:
        return len(TABLE)

    def known(self) -> dict[str, Fraction]:
        """Those that follow from what was given, in order; the others are left out.

        Raises:
            InputError: one does not follow because something that was given is wrong.
        """
        found = {}
        for name in TABLE:
            try:
                found[name] = self[name]
            except NotKnownError:
                continue
        return found


def quantities(model: Reference, **asked: Any) -> Quantities:
    """The quantities of a model, alone or on a machine.

    Args:
        model: A shipped model's name, a file, a mapping of sizes, or a model.
        asked: What else is given: `topology`, `batch`, `context`, `dtype`, ...; see `Asked`.

    Raises:
        InputError: one of the inputs is wrong; when a quantity is asked for: something is missing.
        InputErrors: several are.

    >>> found = quantities({"parameters": 70e9}, topology="v5e:4x4", dtype="int8")
    >>> float(found["chips_for_weights"]), float(found["critical_batch"])
    (4.375, 240.2439024390244)
    """
    return Quantities(read_model(model), read_asked(**asked))
