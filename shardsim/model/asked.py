"""What is asked of a model beside its sizes: a machine, a batch, element types, figures stated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from shardsim.catalogue.fields import share_of
from shardsim.documents import Faults, described, nearest
from shardsim.errors import InputError, QuantityError, ScenarioError, Source
from shardsim.model.dtypes import Types, read_types
from shardsim.model.form import positive
from shardsim.model.sizes import NotKnownError
from shardsim.notation.names import split_capitals
from shardsim.units import Bytes, BytesPerSecond, FlopsPerSecond, parse_count, parse_quantity

if TYPE_CHECKING:
    from shardsim.catalogue import Reference
    from shardsim.topology import Topology

__all__ = ["Asked", "read_asked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Inputs beside the model; None is not given, and nothing stands for it.

    Attributes:
        topology: The machine.
        mesh: Axes over it: how the model is cut, and its collectives.
        tensor: Axes that layers are cut over; all that are not of `data` where it is not given.
        data: Axes that sequences are cut over.
        chips: How many, instead of those of the topology.
        types: Element types.
        batch: Sequences that are generated together.
        context: Tokens of a sequence: what is in its cache, or how long it is in training.
        prompt: Tokens that are prefilled; the context where it is not given.
        generated: Tokens that are generated for one query.
        tokens: All tokens of a training.
        batch_tokens: Tokens of one batch of a training.
        mfu: Share of the peak FLOP/s that is reached.
        seconds: How long a training took.
        chip_hours: How many hours of one chip it took.
        flops: FLOPs of a training, stated.
        causal: Whether a token attends only to those before it: of the exact FLOPs of prefill and
            training. The book leaves it out.
        kept: Activations that are kept for the backward pass; see `kept_elements`.
        optimizer_bytes_per_parameter: 8 of Adam with two moments in f32.
        gradient_bytes_per_parameter: 0 where they are used as they come.
        weight_bytes, kv_bytes, prefill_seconds, step_seconds: Stated, instead of what follows;
            `kv_bytes` is of one sequence; `step_seconds` has its collectives.
    """

    topology: Topology | None = None
    mesh: Any = field(default=None, hash=False)  # may be a mapping
    tensor: tuple[str, ...] | None = None
    data: tuple[str, ...] = ()
    chips: int | None = None
    types: Types = field(default_factory=Types)
    batch: Fraction | None = None
    context: Fraction | None = None
    prompt: Fraction | None = None
    generated: Fraction | None = None
    tokens: Fraction | None = None
    batch_tokens: Fraction | None = None
    mfu: Fraction | None = None
    seconds: Fraction | None = None
    chip_hours: Fraction | None = None
    flops: Fraction | None = None
    causal: bool = False
    kept: int | tuple[str, ...] | None = None
    optimizer_bytes_per_parameter: Fraction = Fraction(8)
    gradient_bytes_per_parameter: Fraction = Fraction(0)
    weight_bytes: Bytes | None = None
    kv_bytes: Bytes | None = None
    prefill_seconds: Fraction | None = None
    step_seconds: Fraction | None = None

    def need(self, name: str) -> Fraction:
        """An input that is a number, by name.

        Raises:
            NotKnownError: it was not given; the message says which.

        >>> Asked(batch=Fraction(4)).need("batch")
        Fraction(4, 1)
        """
        value: Fraction = self.given(name)
        return value

    def given(self, name: str) -> Any:
        """An input by name.

        Raises:
            NotKnownError: it was not given; the message says which.
        """
        value = getattr(self, name)
        if value is None:
            raise NotKnownError(f"{name} is missing", EXAMPLES[name])
        return value

    @property
    def trains(self) -> bool:
        """Whether a training is asked about: its tokens or what it keeps, and no sequences."""
        of_training = (self.batch_tokens, self.tokens, self.kept)
        return self.batch is None and any(value is not None for value in of_training)

    @property
    def machine(self) -> Topology:
        """The machine.

        Raises:
            NotKnownError: there is none.
        """
        topology: Topology = self.given("topology")
        return topology

    @property
    def machine_chips(self) -> int:
        """How many chips there are."""
        if self.chips is not None:
            return self.chips
        return self.machine.size

    @property
    def peak(self) -> FlopsPerSecond:
        """FLOP/s of one chip in the type that matmuls are computed in.

        Raises:
            TopologyError: the chip has no figure for that type.
        """
        return self.machine.chip.peak(self.types.compute)

    @property
    def all_peak(self) -> FlopsPerSecond:
        """FLOP/s of all chips."""
        return self.peak * self.machine_chips

    @property
    def hbm_bandwidth(self) -> BytesPerSecond:
        """Bytes/s of HBM of one chip."""
        return self.machine.chip.hbm_bandwidth

    @property
    def all_hbm_bandwidth(self) -> BytesPerSecond:
        """Bytes/s of HBM of all chips."""
        return self.hbm_bandwidth * self.machine_chips

    @property
    def hbm_capacity(self) -> Bytes:
        """Bytes of HBM of one chip."""
        return self.machine.chip.hbm_capacity

    @property
    def all_hbm_capacity(self) -> Bytes:
        """Bytes of HBM of all chips."""
        return self.hbm_capacity * self.machine_chips


EXAMPLES: Mapping[str, str] = {
    "topology": "give a machine, such as v5e:4x4",
    "mesh": "give axes over the machine, such as X=16",
    "batch": "give the sequences of a batch, such as 32",
    "context": "give the tokens of a sequence, such as 8192",
    "prompt": "give the tokens of a prompt, such as 8192",
    "generated": "give the tokens generated for a query, such as 512",
    "tokens": "give the tokens of the training, such as 15e12",
    "batch_tokens": "give the tokens of a batch, such as 4e6",
    "mfu": "give the share of the peak that is reached, such as 0.4",
    "chip_hours": "give the hours of one chip, such as 2.79e6, or seconds and a machine",
    "kept": "give what is kept of each layer: a number of arrays, such as 2, or their names",
}
"""What to give for an input that is missing."""

WHOLE = {
    "batch": "32",
    "context": "8192",
    "prompt": "8192",
    "generated": "512",
    "tokens": "15e12",
    "batch_tokens": "4e6",
}
"""Numbers that are whole, each with one that it may be."""

NUMBERS = {**WHOLE, "chip_hours": "6.4e6", "flops": "6e24"}
QUANTITIES = {
    "seconds": "seconds",
    "prefill_seconds": "seconds",
    "step_seconds": "seconds",
    "weight_bytes": "bytes",
    "kv_bytes": "bytes",
}
OPTIONS = {
    "topology": "--on",
    "batch_tokens": "--batch",
    "optimizer_bytes_per_parameter": "--optimizer",
    "gradient_bytes_per_parameter": "--gradients",
}
"""Their options, where these have other names."""


def read_asked(**given: Any) -> Asked:
    """Inputs from Python values, or from texts as on the command line.

    Raises:
        InputError: one of them is not what it should be.
        InputErrors: several are not.

    >>> read_asked(batch="4", mfu="40 %").mfu
    Fraction(2, 5)
    """
    faults = Faults()
    inputs = (*READ, *NUMBERS, *QUANTITIES)
    read: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name not in inputs:
            why = f"there is no input {name!r}; there are {', '.join(inputs)}"
            faults.errors.append(ScenarioError(why, nearest(name, inputs) or "leave it out"))
            continue
        read["types" if name == "dtype" else name] = faults.attempt(partial(_placed, name, value))
    faults.raise_any()
    return Asked(**read)


def _placed(name: str, value: Any) -> Any:
    """An input; a fault of a text is placed in the option of its name."""
    try:
        return _read(name, value)
    except InputError as error:
        if not isinstance(value, str):
            raise
        option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
        raise error.at(Source(value, option).whole) from None


def _read(name: str, value: Any) -> Any:
    if name in NUMBERS:
        return _number(value, name)
    if name in QUANTITIES:
        return _quantity(value, name)
    return READ[name](value)


def _quantity(value: object, name: str) -> Fraction:
    """A time or a size; a training takes longer than what the units' own example says."""
    try:
        return parse_quantity(value, QUANTITIES[name])
    except QuantityError as error:
        hint = "write the seconds, such as 3e6" if name == "seconds" else error.hint
        raise QuantityError(f"{name}: {error.message}", hint) from None


def _number(value: object, name: str) -> Fraction:
    """A number above 0, whole where it counts sequences or tokens; 15e12 is whole."""
    number = positive(value, name, NUMBERS[name])
    if name in WHOLE and number.denominator != 1:
        raise QuantityError(f"{name} must be a whole number; it is {value}", f"write {WHOLE[name]}")
    return number


def _machine(reference: Reference) -> Topology:
    """A machine; the name of a chip is a machine of one."""
    from shardsim.catalogue import one_chip

    source = Source(reference, "--on") if isinstance(reference, str) else None
    return one_chip(reference, source)


def _mfu(value: object) -> Fraction:
    try:
        return share_of(value)
    except QuantityError as error:
        raise QuantityError(f"mfu: {error.message}", "write 0.4, or 40 %") from None


def _kept(value: object) -> int | tuple[str, ...]:
    if isinstance(value, str) and not value.strip().isdigit():
        return tuple(word.strip() for word in value.split(","))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(str(word) for word in value)
    return parse_count(value, "kept")


def _axes(value: object) -> tuple[str, ...]:
    """Names of axes: "X", "XY", "data,X", or a list of names."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        why = f"axes must be names, not {described(value)}"
        raise ScenarioError(why, "write X, or X,Y")
    axes = tuple(axis for name in names if name.strip() for axis in split_capitals(name.strip()))
    if not axes:
        raise ScenarioError("no axis is named", "write X, or X,Y")
    return axes


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        why = f"causal must be true or false; it is {described(value)}"
        raise ScenarioError(why, "write true, or leave it out")
    return value


def _bytes(value: object) -> Fraction:
    return parse_quantity(value, "bytes", zero=True)


READ: Mapping[str, Callable[[Any], Any]] = {
    "topology": _machine,
    "mesh": lambda value: value,
    "tensor": _axes,
    "data": _axes,
    "chips": lambda value: parse_count(value, "chips"),
    "dtype": read_types,
    "mfu": _mfu,
    "kept": _kept,
    "causal": _flag,
    "optimizer_bytes_per_parameter": _bytes,
    "gradient_bytes_per_parameter": _bytes,
}
"""How the other inputs are read."""
