"""What follows from a model's statements: parameters, FLOPs, cache, bytes.

Weights of norms and biases are left out, as the book does: they are D or so per layer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.errors import ScenarioError
from shardsim.model.sizes import Group, Model, NotKnownError
from shardsim.model.works import Part, Role, Work, role_of, works
from shardsim.units import Bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shardsim.notation import Array

__all__ = [
    "Passed",
    "active_parameters",
    "crossover_tokens",
    "forward_flops",
    "intensity_of_attention",
    "kept_elements",
    "kv_elements_per_token",
    "lacking_weights",
    "matmul_parameters",
    "parameters",
    "parameters_by_part",
    "training_flops",
]

BACKWARD_AND_FORWARD = 3  # each matmul's two operands have a gradient, a matmul of the same size
OUTER = ("B", "T", "S", "C")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """What passes a model at once.

    Attributes:
        batch: B, sequences.
        tokens: T, tokens of each.
        context: S, tokens that each attends to.
        causal: Whether a token attends only to itself and those before; else to all S. Where T
            tokens attend to themselves that is (T + 1)/2T of the FLOPs. The book leaves it out.
        absorbed: How latent attention is computed; see `works`.
    """

    batch: Fraction = Fraction(1)
    tokens: Fraction = Fraction(1)
    context: Fraction = Fraction(0)
    causal: bool = False
    absorbed: bool = False

    def extent(self, model: Model, dim: str) -> Fraction:
        """The extent of a dimension of the statements; C is B T k/E, the tokens of an expert."""
        if dim == "C":
            share = Fraction(model.size("experts_per_token"), model.size("experts"))
            return self.batch * self.tokens * share
        given = {"B": self.batch, "T": self.tokens, "S": self.context}
        return given[dim] if dim in given else Fraction(model.extent(dim))

    def elements(self, model: Model, array: Array) -> Fraction:
        """Of an array of the statements."""
        return math.prod((self.extent(model, d) for d in array.dim_names), start=Fraction(1))

    def flops(self, model: Model, work: Work) -> Fraction:
        """Of one statement, once: 2 x the product of all extents; a look-up has none."""
        if work.is_lookup:
            return Fraction(0)
        every = math.prod((self.extent(model, d) for d in work.dims), start=Fraction(2))
        half = self.causal and {"T", "S"} <= set(work.dims)
        return every * (self.tokens + 1) / (2 * self.tokens) if half else every


def _weights(model: Model, chosen: Iterable[Work]) -> Mapping[str, Work]:
    """The works by the name of their weight, each weight once."""
    found: dict[str, Work] = {}
    for work in chosen:
        if work.weight is not None:
            found.setdefault(str(work.weight.name), work)
    return found


def _share(model: Model, work: Work) -> Fraction:
    """The share of a weight that one token passes: k/E of the experts."""
    if work.part is not Part.EXPERTS:
        return Fraction(1)
    return Fraction(model.size("experts_per_token"), model.size("experts"))


def lacking_weights(model: Model) -> tuple[str, ...]:
    """The sizes of weights that are not known; with all of them parameters are counted.

    >>> lacking_weights(Model(name="m", d_model=8, heads=2, vocabulary=10))
    ('layers', 'd_ff')
    """
    keys = ["layers", "d_model"]
    keys += ["d_ff"] if model.experts is None or model.dense_layers else []
    keys += ["expert_d_ff"] if model.experts is not None else []
    return model.lacking(*keys, "heads", "vocabulary")


def parameters_by_part(model: Model) -> Mapping[Part, tuple[Fraction, Fraction]]:
    """Parameters of each part of a model: all, and those that a token passes.

    Formula: elements of every weight of the statements x how often it occurs, a tied matrix once.
    Chapter: transformers. Exact, without norms and biases.

    >>> model = Model(name="m", layers=2, d_model=8, d_ff=32, heads=2, vocabulary=10)
    >>> {part.value: int(all_) for part, (all_, _) in parameters_by_part(model).items()}
    {'vocabulary': 160, 'attention': 512, 'ffw': 1536}
    """
    found: dict[Part, tuple[Fraction, Fraction]] = {}
    for work in _weights(model, works(model)).values():
        assert work.weight is not None
        elements = Passed().elements(model, work.weight) * model.times(work.group)
        total, active = found.get(work.part, (Fraction(0), Fraction(0)))
        found[work.part] = (total + elements, active + elements * _share(model, work))
    return found


def parameters(model: Model) -> Fraction:
    """P: as stated, else the elements of all weights: 3LDF + L(2DNH + 2DKH) + 2VD of a dense one.

    Chapter: transformers, applied-training.

    >>> from shardsim.model import read_model
    >>> int(parameters(read_model("llama-3-70b")))
    70552387584
    """
    if model.parameters is not None:
        return model.parameters
    lacking = lacking_weights(model)
    if lacking:
        why = f"{model.name} has no parameters, nor what they follow from: {', '.join(lacking)}"
        raise NotKnownError(why, f"add parameters to the model, or {', '.join(lacking)}")
    return sum((total for total, _ in parameters_by_part(model).values()), Fraction(0))


def active_parameters(model: Model) -> Fraction:
    """Parameters that one token passes: k of E experts, and everything else.

    As stated; all that are stated, where nothing is said of experts. Chapter: transformers.
    """
    if model.active_parameters is not None:
        return model.active_parameters
    if model.parameters is not None and model.experts is None:
        return model.parameters
    return sum((active for _, active in parameters_by_part(model).values()), Fraction(0))


def matmul_parameters(model: Model) -> Fraction:
    """Active parameters that are multiplied, not looked up: 2 FLOPs of each for a token."""
    chosen = [work for work in works(model) if not work.is_lookup]
    total = Fraction(0)
    for work in _weights(model, chosen).values():
        assert work.weight is not None
        elements = Passed().elements(model, work.weight) * model.times(work.group)
        total += elements * _share(model, work)
    return total


def forward_flops(model: Model, passed: Passed, parts: Iterable[Part] = Part) -> Fraction:
    """FLOPs of a forward pass: each statement's, as often as it occurs.

    Formula: 2 B T (matmul parameters) + 4 L B T S N H of attention over the context. Exact, but for
    what is no matmul (norms, softmax). Chapter: transformers.

    Args:
        model: The model.
        passed: What passes it.
        parts: Which parts count.
    """
    chosen = set(parts)
    return sum(
        (
            passed.flops(model, work) * model.times(work.group)
            for work in works(model, absorbed=passed.absorbed)
            if work.part in chosen
        ),
        Fraction(0),
    )


def training_flops(model: Model, passed: Passed) -> Fraction:
    """FLOPs of a forward and a backward pass: three times those of the forward pass.

    Formula: 6 B T (matmul parameters) + 12 L B T S N H. Nothing is computed twice
    (rematerialised). Chapter: transformers.
    """
    return BACKWARD_AND_FORWARD * forward_flops(model, passed)


def crossover_tokens(model: Model) -> Fraction:
    """The length T at which attention over T tokens takes as many FLOPs as a layer's matmuls.

    Formula: where T B (those without scores) = scores; 8D with F = 4D, NH = D, K = N and three
    matrices. Without the vocabulary, not causal. Chapter: transformers.

    >>> float(crossover_tokens(Model(name="m", d_model=8192, d_ff=32768, heads=64)))
    65536.0
    """
    one = Passed(context=Fraction(1))
    scores, others = Fraction(0), Fraction(0)
    for work in works(model):
        if work.group is Group.MODEL:
            continue
        flops = one.flops(model, work) * model.share(work.group)
        if work.part is Part.SCORES:
            scores += flops
        else:
            others += flops
    return others / scores


def kv_elements_per_token(model: Model) -> Fraction:
    """Elements of the cache for one token: 2LKH with heads of keys and values.

    Of latent attention L (cache rank + rotary). Chapter: transformers, inference.
    """
    caches: dict[str, Array] = {}
    for work in works(model):
        for array in work.arrays:
            if role_of(array) is Role.CACHE:
                caches[str(array.name)] = array
    one = Passed(context=Fraction(1))
    each = sum((one.elements(model, array) for array in caches.values()), Fraction(0))
    return each * model.size("layers")


def kept_elements(model: Model, kept: int | Iterable[str], tokens: Fraction) -> Fraction:
    """Elements of activations that are kept for the backward pass.

    Args:
        model: The model.
        kept: How many arrays [tokens, D] of each layer; or the names of arrays of the statements
            (`X`, `Up`, `Gate`, ...), each kept as often as it occurs.
        tokens: Tokens of a batch.

    Raises:
        ScenarioError: no statement has an array of that name.

    >>> model = Model(name="m", layers=2, d_model=8, d_ff=32)
    >>> int(kept_elements(model, ["X", "Up", "Gate"], Fraction(10)))
    1440
    """
    if isinstance(kept, int):
        return kept * tokens * model.size("d_model") * model.size("layers")
    known: dict[str, tuple[Array, Group]] = {}
    for work in works(model):
        for array in work.arrays:
            if role_of(array) is Role.ACTIVATION and work.group is not Group.MODEL:
                known.setdefault(str(array.name), (array, work.group))
    total = Fraction(0)
    for name in kept:
        if name not in known:
            raise ScenarioError(
                f"{model.name} has no array {name!r} to keep; it has {', '.join(known)}",
                "name some of these, or give a number of arrays [tokens, D]",
            )
        array, group = known[name]
        passed = Passed(tokens=tokens, context=tokens)
        total += passed.elements(model, array) * model.times(group)
    return total


def intensity_of_attention(model: Model, passed: Passed, sizes: Mapping[Role, Bytes]) -> Fraction:
    """FLOPs per byte of attention over the context, scores never written to memory (fused).

    Formula: T S G/(T G + S) with two bytes an element; near G when tokens are generated, since G
    queries share a key. Chapter: transformers.

    >>> model = Model(name="m", heads=8, kv_heads=1, head_size=128)
    >>> two = dict.fromkeys(Role, Fraction(2))
    >>> passed = Passed(context=Fraction(8192))
    >>> round(float(intensity_of_attention(model, passed, two)), 4)
    7.9922
    """
    chosen = [w for w in works(model, absorbed=passed.absorbed) if w.part is Part.SCORES]
    made = {str(work.statement.result.name) for work in chosen}
    used = {str(one.name) for work in chosen for one in work.statement.operands}
    inner = {name for name in made if name in used} | {"Pr"}
    arrays = {str(a.name): a for work in chosen for a in work.arrays if str(a.name) not in inner}
    moved = sum(
        (passed.elements(model, a) * sizes[role_of(a)] for a in arrays.values()), Fraction(0)
    )
    return sum((passed.flops(model, work) for work in chosen), Fraction(0)) / moved
