"""What was asked for and does not follow, and why: so that no input is left out without a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardsim.model.sizes import NotKnownError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shardsim.model.asked import Asked
    from shardsim.model.quantities import Quantities

__all__ = ["Missing", "missing"]

Wanted = tuple[tuple[str, ...], str, tuple[str, ...]]
SERVING: tuple[Wanted, ...] = (
    (("topology",), "what fits", ("free_bytes",)),
    (("mesh",), "what the mesh cuts", ("held_weight_bytes",)),
    (("mesh", "batch"), "collectives", ("collective_seconds",)),
    (("batch",), "the time of a step", ("step_seconds",)),
    (("context",), "the cache of a sequence", ("kv_bytes_per_sequence",)),
    (("generated",), "queries a second", ("queries_per_second",)),
    (("mfu",), "prefill", ("prefill_seconds",)),
    (("causal",), "the exact time of prefill", ("exact_prefill_seconds",)),
)
TRAINING: tuple[Wanted, ...] = (
    (("topology",), "what fits", ("state_bytes",)),
    (("optimizer_bytes_per_parameter",), "the optimizer", ("optimizer_bytes",)),
    (("gradient_bytes_per_parameter",), "gradients", ("gradient_bytes",)),
    (("tokens",), "FLOPs of the training", ("training_flops",)),
    (("mfu",), "the time of the training", ("training_seconds",)),
    (("seconds",), "the MFU", ("mfu",)),
    (("chip_hours",), "the MFU", ("mfu",)),
    (("kept",), "activations", ("activation_bytes",)),
    (("batch_tokens",), "tokens of a chip", ("batch_tokens_per_chip", "activation_bytes")),
    (("context",), "FLOPs with attention", ("exact_training_flops_per_token",)),
    (("causal",), "FLOPs with attention", ("exact_training_flops_per_token",)),
    (("mesh",), "collectives", ("training_collective_seconds",)),
)
"""What inputs are given for, in words, and the quantities of which one is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Quantities that were asked for and do not follow.

    Attributes:
        what: They, in words.
        why: What is missing for them.
        way_out: What to add.
    """

    what: tuple[str, ...]
    why: str
    way_out: str

    def __str__(self) -> str:
        """One line."""
        return f"not shown: {', '.join(self.what)}: {self.why}; {self.way_out}"


def missing(found: Quantities, *, train: bool = False) -> tuple[Missing, ...]:
    """What the inputs were given for and does not follow from them, by what is missing.

    >>> from shardsim.model import quantities
    >>> found = quantities({"parameters": 7e9}, topology="v5e:2x2", batch=4, context=2048)
    >>> print(*missing(found))  # doctest: +NORMALIZE_WHITESPACE
    not shown: the time of a step, the cache of a sequence: the model has no kv_bytes_per_token, nor
    what it follows from: layers, kv_heads, head_size; add kv_bytes_per_token to the model, or
    layers, kv_heads, head_size
    """
    reasons: dict[tuple[str, str], list[str]] = {}
    for what, names in _wanted(found.asked, TRAINING if train else SERVING):
        error = _lacking(found, names)
        if error is not None:
            why = error.message.removeprefix(f"{names[0]}: ")
            said = reasons.setdefault((why, error.hint), [])
            if what not in said:
                said.append(what)
    return tuple(
        Missing(what=tuple(what), why=why, way_out=way_out)
        for (why, way_out), what in reasons.items()
    )


def _wanted(asked: Asked, table: Iterable[Wanted]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What was asked for: that of which all inputs are given, and are not the defaults."""
    plain = type(asked)()
    for inputs, what, names in table:
        if all(getattr(asked, name) != getattr(plain, name) for name in inputs):
            yield what, names


def _lacking(found: Quantities, names: tuple[str, ...]) -> NotKnownError | None:
    """Why none of some quantities is known; None where one is."""
    first: NotKnownError | None = None
    for name in names:
        try:
            found[name]
        except NotKnownError as error:
            first = first or error
        else:
            return None
    return first
