"""One layer cut over a mesh: which collectives it takes, planned as any other program.

Tensor parallel: activations are cut over D between the matmuls, gathered before them, and their
sums scattered after them; heads and F are cut over the same axes. Sequences are cut over the axes
of `data`; in training so is D of the weights (FSDP), which are gathered before they are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.errors import MeshError, NotYetError, ScenarioError
from shardsim.model.sizes import Model
from shardsim.notation import parse
from shardsim.notation.names import axes_text
from shardsim.planner import CollectiveStep, Plan
from shardsim.program import arrays_of
from shardsim.units import Seconds

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from shardsim.mesh import Mesh
    from shardsim.model.asked import Asked

__all__ = [
    "LayerPlan",
    "book_collective_seconds",
    "collective_seconds",
    "plan_layer",
    "sharded_step_seconds",
    "training_collective_seconds",
]


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """The forward pass of one layer on a mesh.

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

    def seconds(self, *, book: bool = False) -> Seconds:
        """All collectives of all layers, one after the other; by the book's formulas, or exact."""
        prices = [step.price for step in self.collectives]
        each = (price.book if book else price.estimate for price in prices)
        return self.layers * sum(each, Fraction(0))


def plan_layer(model: Model, asked: Asked, *, training: bool = False) -> LayerPlan:
    """Plans the forward pass of one layer.

    Args:
        model: A model without experts, with heads of keys and values.
        asked: The machine, its mesh, the axes of `tensor` (all of the mesh where they are not
            given) and `data`, and the batch: sequences with a token each, or in training sequences
            as long as the context.
        training: Whether weights are cut over the axes of `data`, and the batch is that of a
            training.

    Raises:
        NotYetError: the model has experts or latent attention.
        InputError: the machine or the extents cannot be cut so.

    >>> from shardsim.model import read_asked, read_model
    >>> asked = read_asked(topology="v5e:4x4", mesh={"X": 16}, batch=32)
    >>> planned = plan_layer(read_model("llama-3-70b"), asked)
    >>> [step.kind.notation for step in planned.collectives]
    ['AllGather', 'ReduceScatter', 'AllGather', 'ReduceScatter']
    """
    from shardsim.comparison import plan_scenario
    from shardsim.scenario import make_mesh, make_scenario

    machine, axes = asked.machine, asked.given("mesh")
    if model.experts is not None or model.latent is not None:
        what = "experts" if model.experts is not None else "latent attention"
        why = f"the collectives of a layer with {what} are not worked out yet"
        raise NotYetError(why, "leave the mesh out, or plan its statements with shardsim plan")
    mesh = make_mesh(machine, mesh=axes)
    tensor, data = _axes(asked, mesh)
    passed = _batch(asked, training)
    cut = _Cut(tensor, data if training else (), data, *_heads(model, mesh, tensor))
    statements = list(cut.statements(gated=model.gated))
    scenario = make_scenario(
        statements,
        topology=mesh.topology,
        mesh=asked.mesh,
        dims={**passed, **{dim: model.extent(dim) for dim in ("D", "F", "K", "G", "H")}},
        dtype=_dtypes(statements, asked),
        policy="textbook",
    )
    return LayerPlan(plan_scenario(scenario), model.size("layers"))


def _axes(asked: Asked, mesh: Mesh) -> tuple[tuple[str, ...], tuple[str, ...]]:
    data = asked.data
    known = tuple(mesh.sizes)
    tensor = tuple(a for a in known if a not in data) if asked.tensor is None else asked.tensor
    for axis in (*tensor, *data):
        if axis not in known:
            raise MeshError(f"there is no axis {axis}; the mesh has {', '.join(known)}", "name one")
    twice = next((axis for axis in tensor if axis in data), None)
    if twice is not None:
        raise MeshError(f"axis {twice} is under tensor and under data", "name it under one")
    return tensor, data


def _batch(asked: Asked, training: bool) -> dict[str, int]:
    """Sequences and tokens of each."""
    tokens = asked.need("context") if training else Fraction(1)
    batch = asked.need("batch_tokens") / tokens if training else asked.need("batch")
    for name, value in (("sequences of a batch", batch), ("tokens of a sequence", tokens)):
        if value.denominator != 1:
            why = f"the {name} must be a whole number to be cut over a mesh; it is {float(value)}"
            raise ScenarioError(why, "give a whole number")
    return {"B": int(batch), "T": int(tokens)}


def _heads(
    model: Model, mesh: Mesh, tensor: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What K is cut over and what G: K first, as far as its extent goes."""
    left = model.extent("K")
    keys: list[str] = []
    queries: list[str] = []
    for axis in tensor:
        size = mesh.sizes[axis]
        if left % size == 0:
            keys.append(axis)
            left //= size
        elif left == 1:
            queries.append(axis)
        elif size % left == 0:
            keys.append(f"{axis}:(1){left}")
            queries.append(f"{axis}:({left}){size // left}")
            left = 1
        else:
            why = f"axis {axis} of {size} chips does not divide {left} kv_heads, nor they it"
            raise MeshError(why, "take an axis of another size for tensor")
    return tuple(keys), tuple(queries)


def _dtypes(statements: Iterable[str], asked: Asked) -> Mapping[str, str]:
    """Element types by array."""
    weights = {
        array.name
        for text in statements
        for array in arrays_of(parse(text))
        if array.name and array.name.startswith(("W_", "G_"))
    }
    types = dict.fromkeys(sorted(weights), asked.types.weights.value)
    return {**types, "default": asked.types.activations.value}


@dataclass(frozen=True, slots=True)
class _Cut:
    """The subscripts of one layer's dimensions."""

    tensor: tuple[str, ...]
    weights: tuple[str, ...]
    data: tuple[str, ...]
    keys: tuple[str, ...]
    queries: tuple[str, ...]

    def statements(self, *, gated: bool) -> Iterator[str]:
        """The layer: gathers are written out, sums are scattered where results are cut."""
        t, b = axes_text(self.tensor), axes_text(self.data)
        k, g = axes_text(self.keys), axes_text(self.queries)
        rows = f"B{b}, T"
        yield f"X[{rows}, D{t}] -> In[{rows}, D]"
        for name, heads, result in (
            ("Q", f"K{k}, G{g}, H", "Query"),
            ("K", f"K{k}, H", "Key"),
            ("V", f"K{k}, H", "Value"),
        ):
            weight = yield from self._weight(f"{name}[D", f", {heads}]")
            yield f"In[{rows}, D] · {weight} -> {result}[{rows}, {heads}]"
        weight = yield from self._weight(f"O[K{k}, G{g}, H, D", "]")
        yield f"A[{rows}, K{k}, G{g}, H] · {weight} -> Y[{rows}, D{t}]"
        yield f"Y[{rows}, D{t}] -> Mid[{rows}, D]"
        for name, result in (("in", "Up"), ("gate", "Gate")) if gated else (("in", "Up"),):
            weight = yield from self._weight(f"{name}[D", f", F{t}]")
            yield f"Mid[{rows}, D] · {weight} -> {result}[{rows}, F{t}]"
        weight = yield from self._weight(f"out[F{t}, D", "]")
        yield f"Hidden[{rows}, F{t}] · {weight} -> Out[{rows}, D{t}]"

    def _weight(self, begins: str, ends: str) -> Generator[str, None, str]:
        """The name of a weight as it is used; where it is cut over D, it is gathered first."""
        if not self.weights:
            return f"W_{begins}{ends}"
        yield f"W_{begins}{axes_text(self.weights)}{ends} -> G_{begins}{ends}"
        return f"G_{begins}{ends}"


def collective_seconds(model: Model, asked: Asked) -> Seconds:
    """Collectives of a step that generates a token of each sequence: of one layer x L, exact."""
    return plan_layer(model, asked).seconds()


def book_collective_seconds(model: Model, asked: Asked) -> Seconds:
    """The same by the book's formulas. First order."""
    return plan_layer(model, asked).seconds(book=True)


def sharded_step_seconds(model: Model, asked: Asked) -> Seconds:
    """`step_seconds` + collectives, one after the other: the most that a step takes."""
    from shardsim.model.serving import step_seconds

    return step_seconds(model, asked) + collective_seconds(model, asked)


def training_collective_seconds(model: Model, asked: Asked) -> Seconds:
    """Collectives of one batch of a training: three times those of the forward pass.

    First order: the backward pass gathers once more and scatters gradients, twice as much as the
    forward pass (4BD + 8BD bytes of tensor parallelism, 4DF + 8DF of FSDP in bf16). Chapter:
    training.
    """
    return 3 * plan_layer(model, asked, training=True).seconds()
