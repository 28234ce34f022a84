"""One layer cut over a mesh: which collectives it takes, planned as any other program.

Tensor parallel: activations are cut over D between the matmuls, gathered before them, and their
sums scattered after them; heads and F are cut over the same axes. Sequences are cut over the axes
of `data`; in training so is D of the weights (FSDP), which are gathered before they are used, and
whose gradients are scattered. Looking tokens up and the logits are not planned.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.errors import ScenarioError
from shardsim.model.cut import check_extents, cut_of
from shardsim.model.layer import Layer
from shardsim.model.serving import step_seconds
from shardsim.model.sizes import Model
from shardsim.notation import parse
from shardsim.planner import CollectiveStep, Plan
from shardsim.program import arrays_of
from shardsim.units import Seconds
from shardsim.vocabulary import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shardsim.model.asked import Asked

__all__ = [
    "LayerPlan",
    "book_collective_seconds",
    "collective_seconds",
    "plan_layer",
    "sharded_step_seconds",
    "training_collective_seconds",
]

OF_WEIGHTS = ("W_", "G_", "H_", "dW_")


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """One layer on a mesh: its forward pass, in training its backward pass too.

    Attributes:
        plan: Its steps.
        layers: How many such layers there are.
    """

    plan: Plan
    layers: int

    @property
    def collectives(self) -> tuple[CollectiveStep, ...]:
        """The collectives of one layer."""
        return tuple(step for step in self.plan.steps if isinstance(step, CollectiveStep))

    @property
    def relations(self) -> frozenset[Relation]:
        """How the closed forms of the collectives stand to their simulation."""
        return frozenset(step.price.relation for step in self.collectives)

    def seconds(self, *, book: bool = False) -> Seconds:
        """All collectives of all layers, one after the other.

        By the book's formulas; or by the closed forms, and of one that is only a lower bound what
        it is likely to take (see `relations`).
        """
        prices = [step.price for step in self.collectives]
        each = (price.book if book else price.estimate for price in prices)
        return self.layers * sum(each, Fraction(0))


@functools.lru_cache(maxsize=8)
def plan_layer(model: Model, asked: Asked, *, training: bool = False) -> LayerPlan:
    """Plans one layer: its forward pass, in training its backward pass too.

    Args:
        model: A model without experts, with heads of keys and values.
        asked: The machine, its mesh, the axes of `tensor` (all that are not of `data`, where they
            are not given) and `data`, and the batch: sequences with a token each, or in training
            sequences as long as the context.
        training: Whether weights are cut over the axes of `data`, and the batch is that of a
            training.

    Raises:
        NotYetError: the model has experts or latent attention.
        InputError: the machine or the extents cannot be cut so.
        InputErrors: several extents cannot.

    >>> from shardsim.model import read_asked, read_model
    >>> asked = read_asked(topology="v5e:4x4", mesh={"X": 16}, batch=32)
    >>> planned = plan_layer(read_model("llama-3-70b"), asked)
    >>> [step.kind.notation for step in planned.collectives]
    ['AllGather', 'ReduceScatter', 'AllGather', 'ReduceScatter']
    """
    from shardsim.comparison import plan_scenario
    from shardsim.scenario import make_scenario

    cut = cut_of(model, asked)
    passed = _batch(asked, training)
    check_extents(model, cut, passed["B"], training=training)
    layer = Layer(cut, gated=model.gated, training=training)
    statements = [*layer.forward(), *(layer.backward() if training else ())]
    scenario = make_scenario(
        statements,
        topology=cut.mesh.topology,
        mesh=asked.mesh,
        dims={**passed, **{dim: model.extent(dim) for dim in ("D", "F", "K", "G", "H")}},
        dtype=_dtypes(statements, asked),
        policy="textbook",
    )
    return LayerPlan(plan_scenario(scenario), model.size("layers"))


def _batch(asked: Asked, training: bool) -> dict[str, int]:
    """Sequences and tokens of each."""
    tokens = asked.need("context") if training else Fraction(1)
    batch = asked.need("batch_tokens") / tokens if training else asked.need("batch")
    for name, value in (("sequences of a batch", batch), ("tokens of a sequence", tokens)):
        if value.denominator != 1:
            why = f"the {name} must be a whole number to be cut over a mesh; it is {float(value)}"
            raise ScenarioError(why, "give a whole number")
    return {"B": int(batch), "T": int(tokens)}


def _dtypes(statements: Iterable[str], asked: Asked) -> Mapping[str, str]:
    """Element types by array: gradients have those of what they are of."""
    weights = {
        array.name
        for text in statements
        for array in arrays_of(parse(text))
        if array.name and array.name.startswith(OF_WEIGHTS)
    }
    types = dict.fromkeys(sorted(weights), asked.types.weights.value)
    return {**types, "default": asked.types.activations.value}


def collective_seconds(model: Model, asked: Asked) -> Seconds:
    """Collectives of a step that generates a token of each sequence: of one layer x L.

    By closed forms; of one that is only a lower bound its estimate, see `LayerPlan.seconds`.
    """
    return plan_layer(model, asked).seconds()


def book_collective_seconds(model: Model, asked: Asked) -> Seconds:
    """The same by the book's formulas. First order."""
    return plan_layer(model, asked).seconds(book=True)


def sharded_step_seconds(model: Model, asked: Asked) -> Seconds:
    """`step_seconds` + collectives, one after the other: nothing is done beside them.

    First order as `step_seconds` is. As stated, where that is: then with its collectives.
    """
    if asked.step_seconds is not None:
        return asked.step_seconds
    return step_seconds(model, asked) + collective_seconds(model, asked)


def training_collective_seconds(model: Model, asked: Asked) -> Seconds:
    """Collectives of one batch of a training, forward and backward: of one layer x L.

    In bf16, two matrices: tensor parallelism gathers In and scatters Out, in the backward pass
    gathers dOut and scatters dIn, 4BD + 4BD bytes; FSDP gathers the weights, gathers them again and
    scatters their gradients, 4DF + 8DF. By closed forms, see `LayerPlan.seconds`; one after the
    other, nothing computed twice. Chapter: training.
    """
    return plan_layer(model, asked, training=True).seconds()
