"""A plan: steps in order, each a local matmul, a collective on one axis, or a local slice.

Steps pass values by number. A step reads the values of earlier steps (or inputs) and writes one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from shardsim.notation import Contraction, Reshard
from shardsim.notation.names import axes_text
from shardsim.notation.rules import collective_head
from shardsim.units import format_seconds, number
from shardsim.vocabulary import CollectiveKind, Dtype, LatencyModel, Relation, TransferKind

if TYPE_CHECKING:
    from shardsim.call import Call
    from shardsim.cost import CollectivePrice, MatmulPrice
    from shardsim.mesh import Mesh
    from shardsim.planner.flips import Balance, Flip
    from shardsim.program import Program
    from shardsim.sharding import ShardedArray
    from shardsim.units import Bytes, Flops, Seconds

__all__ = [
    "Alternative",
    "Choice",
    "CollectiveStep",
    "MatmulStep",
    "Plan",
    "SliceStep",
    "Step",
    "Value",
    "step_dict",
    "value_dict",
]


@dataclass(frozen=True, slots=True)
class Value:
    """An array at one point of the plan: its number, and its sharding there."""

    number: int
    sharded: ShardedArray


@dataclass(frozen=True, slots=True, kw_only=True)
class MatmulStep:
    """Every chip multiplies what it holds.

    Attributes:
        operands: Two values.
        result: The value written; unreduced over the axes of contracted sharded dimensions.
        contracted: Dimensions summed over.
        flops: On one chip.
        traffic: Bytes of HBM traffic on one chip.
        dtype: The type it is computed in.
        price: The roofline.
    """

    operands: tuple[Value, ...]
    result: Value
    contracted: tuple[str, ...]
    flops: Flops
    traffic: Bytes
    dtype: Dtype
    price: MatmulPrice

    @property
    def op(self) -> str:
        """The name in the JSON."""
        return "matmul"

    @property
    def reads(self) -> tuple[int, ...]:
        """Numbers of the values read."""
        return tuple(value.number for value in self.operands)

    @property
    def text(self) -> str:
        """The step in the notation."""
        return str(
            Contraction(
                operands=tuple(value.sharded.array for value in self.operands),
                result=self.result.sharded.array,
                contracted=(self.contracted,),
            )
        )

    @property
    def seconds(self) -> Seconds:
        """Exact seconds on one chip."""
        return self.price.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveStep:
    """All groups of chips along some axes run a collective, or a permute, at once.

    Attributes:
        kind: Which.
        axes: The mesh axes.
        call: The group of chips, the method, and V in bytes, as one group sees it.
        dim: The dimension that the axes join (ReduceScatter, AllToAll), else None.
        operand: The value read.
        result: The value written.
        price: Book and exact seconds, wire bytes.
    """

    kind: CollectiveKind | TransferKind
    axes: tuple[str, ...]
    call: Call
    dim: str | None
    operand: Value
    result: Value
    price: CollectivePrice

    @property
    def size(self) -> Bytes:
        """V in bytes."""
        return self.call.size

    @property
    def op(self) -> str:
        """The name in the JSON."""
        return self.kind.value

    @property
    def name(self) -> str:
        """The name for people: `AllGather`, `CollectivePermute`."""
        if isinstance(self.kind, TransferKind):
            return "CollectivePermute"
        return self.kind.notation

    @property
    def label(self) -> str:
        """In short: `AllGather_X of A`."""
        name = self.operand.sharded.array.name
        return self.name + axes_text(self.axes) + (f" of {name}" if name else "")

    @property
    def reads(self) -> tuple[int, ...]:
        """Numbers of the values read."""
        return (self.operand.number,)

    @property
    def text(self) -> str:
        """The step in the notation; a permute as what it changes."""
        if isinstance(self.kind, TransferKind):
            before, after = self.operand.sharded.array, self.result.sharded.array
            return str(Reshard(operand=before, result=after))
        head = collective_head(self.kind, self.axes, self.dim)
        return f"{head} {self.operand.sharded.array} -> {self.result.sharded.array}"

    @property
    def seconds(self) -> Seconds:
        """Exact seconds by the closed form."""
        return self.price.exact.total


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceStep:
    """Every chip keeps its block of what it holds along more axes; free."""

    axes: tuple[str, ...]
    operand: Value
    result: Value

    @property
    def op(self) -> str:
        """The name in the JSON."""
        return "slice"

    @property
    def reads(self) -> tuple[int, ...]:
        """Numbers of the values read."""
        return (self.operand.number,)

    @property
    def text(self) -> str:
        """The step in the notation."""
        before, after = self.operand.sharded.array, self.result.sharded.array
        return str(Reshard(operand=before, result=after))

    @property
    def seconds(self) -> Seconds:
        """Nothing."""
        return Fraction(0)


Step = MatmulStep | CollectiveStep | SliceStep


def step_dict(step: Step) -> dict[str, Any]:
    """A step as in the JSON, without simulated times. Bytes are V; times are floats in seconds."""
    entry: dict[str, Any] = {
        "op": step.op,
        "text": step.text,
        "axes": [],
        "algorithm": None,
        "bytes": 0,
        "wire_bytes_per_chip": 0,
        "flops_per_chip": 0,
        "hbm_bytes_per_chip": 0,
        "book_seconds": float(step.seconds),
        "exact_seconds": float(step.seconds),
        "relation": Relation.EQUAL.value,
    }
    match step:
        case MatmulStep():
            entry["flops_per_chip"] = step.flops
            entry["hbm_bytes_per_chip"] = number(step.traffic)
            entry["dtype"] = step.dtype.value
        case SliceStep():
            entry["axes"] = list(step.axes)
        case CollectiveStep():
            entry["axes"] = list(step.axes)
            entry["algorithm"] = step.call.method.name
            entry["bytes"] = number(step.size)
            entry["wire_bytes_per_chip"] = number(step.price.wire_bytes)
            entry["book_seconds"] = float(step.price.book)
            entry["relation"] = step.price.relation.value
            entry["book_formula"] = step.price.book_formula
            entry["exact_formula"] = step.price.exact_formula
    return entry


def value_dict(sharded: ShardedArray) -> dict[str, Any]:
    """An array as in the JSON: its notation, and what one chip holds of it."""
    return {
        "text": str(sharded.array),
        "local_shape": list(sharded.local_shape),
        "bytes_per_chip": number(sharded.local_bytes),
    }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Alternative:
    """Another way to do a statement.

    Attributes:
        steps: What it does.
        textbook: Whether it follows the four rules.
    """

    steps: tuple[Step, ...]
    textbook: bool

    def __repr__(self) -> str:
        return f"<Alternative: {self.label}, {format_seconds(self.estimate)}>"

    @property
    def seconds(self) -> Seconds:
        """Exact seconds, one step after the other."""
        return sum((step.seconds for step in self.steps), Fraction(0))

    @property
    def estimate(self) -> Seconds:
        """Seconds to rank by: exact ones, or what is likely where there is only a lower bound."""
        collectives = [step for step in self.steps if isinstance(step, CollectiveStep)]
        more = (step.price.estimate - step.price.exact.total for step in collectives)
        return self.seconds + sum(more, Fraction(0))

    @property
    def label(self) -> str:
        """What it sends, in short: `AllGather_X of A, AllReduce_X of C`."""
        said = [step.label for step in self.steps if isinstance(step, CollectiveStep)]
        return ", ".join(said) if said else "no communication"

    @property
    def flops(self) -> Flops:
        """On one chip, of all matmuls."""
        return sum(step.flops for step in self.steps if isinstance(step, MatmulStep))

    @property
    def wire_bytes(self) -> Bytes:
        """Bytes that leave the busiest chip."""
        collectives = (step for step in self.steps if isinstance(step, CollectiveStep))
        return sum((step.price.wire_bytes for step in collectives), Fraction(0))

    def to_dict(self) -> dict[str, Any]:
        """An entry of `alternatives` in the JSON."""
        return {
            "steps": [step_dict(step) for step in self.steps],
            "exact_seconds": float(self.seconds),
            "estimated_seconds": float(self.estimate),
            "wire_bytes_per_chip": number(self.wire_bytes),
            "flops_per_chip": self.flops,
            "textbook": self.textbook,
        }


class Explained(Protocol):
    """What can be said of a choice, found when it is asked for."""

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """All ways considered, the best by the objective first; the one chosen is among them."""

    @property
    def textbook(self) -> Alternative | None:
        """The best way by the four rules, where they apply."""

    def reasons(self) -> tuple[str, ...]:
        """Why, in sentences."""

    def flips(self) -> tuple[Flip, ...]:
        """For which extents the way taken is the best."""

    def balances(self, way: Alternative) -> tuple[Balance, ...]:
        """For which extents a way is bound by communication."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Why a statement, or one dot of it, is done as it is.

    Attributes:
        text: Which one, in the notation.
        chosen: The way that the plan takes.
        explained: Knows the rest.
    """

    text: str
    chosen: Alternative
    explained: Explained = field(compare=False, repr=False)

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """The rule for each axis, and what else there is to say, in sentences."""
        return self.explained.reasons()

    @cached_property
    def alternatives(self) -> tuple[Alternative, ...]:
        """All ways considered, the best by the objective first."""
        return self.explained.alternatives

    @cached_property
    def textbook(self) -> Alternative | None:
        """The best way by the four rules, where they apply."""
        return self.explained.textbook

    @cached_property
    def flips(self) -> tuple[Flip, ...]:
        """For which extents of each dimension the way taken is the best."""
        return self.explained.flips()

    def balances(self, way: Alternative | None = None) -> tuple[Balance, ...]:
        """For which extents communication takes longer than the matmuls, in one of the ways."""
        return self.explained.balances(self.chosen if way is None else way)

    def to_dict(self) -> dict[str, Any]:
        """An entry of `choices` in the JSON."""
        return {
            "text": self.text,
            "reasons": list(self.reasons),
            "flips": [flip.to_dict() for flip in self.flips],
            "balances": [balance.to_dict() for balance in self.balances()],
            "alternatives": [
                {**way.to_dict(), "chosen": way is self.chosen} for way in self.alternatives
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan:
    """Steps that do a program on a mesh.

    Attributes:
        program: What was asked.
        latency_model: What the prices assume.
        inputs: Values that the caller provides, by array name, in order of use.
        steps: In order; dependencies follow from the values they read.
        results: The value of each statement's result, in order; the last is the plan's result.
        choices: One per collective and per dot of a contraction, in order.
    """

    program: Program
    latency_model: LatencyModel
    inputs: tuple[tuple[str, Value], ...]
    steps: tuple[Step, ...]
    results: tuple[Value, ...]
    choices: tuple[Choice, ...]

    @property
    def mesh(self) -> Mesh:
        """The mesh it runs on."""
        return self.program.mesh

    @property
    def result(self) -> Value:
        """The value of the last statement."""
        return self.results[-1]

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The ways considered for the last dot or collective, cheapest first."""
        return self.choices[-1].alternatives

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `plan --json`, as a dict."""
        return {
            "format": "shardsim/plan/1",
            "topology": self.mesh.topology.name,
            "chips": self.mesh.topology.size,
            "mesh": self.mesh.sizes,
            "dims": dict(self.program.extents),
            "padding": [one.to_dict() for one in self.program.padding],
            "dtypes": self.program.dtypes.to_dict(),
            "latency_model": self.latency_model.value,
            "steps": [step_dict(step) for step in self.steps],
            "result": value_dict(self.result.sharded),
            "exact_seconds": float(sum((step.seconds for step in self.steps), Fraction(0))),
            "alternatives": self.choices[-1].to_dict()["alternatives"],
            "choices": [choice.to_dict() for choice in self.choices],
        }

    def __str__(self) -> str:
        """The steps in the notation, with their exact times."""
        where = f"on {self.mesh.topology.name}, {self.latency_model.value} latency:"
        lines = [
            f"{index}. {step.text}  {format_seconds(step.seconds)}"
            for index, step in enumerate(self.steps, start=1)
        ]
        return "\n".join([f"{len(self.steps)} steps {where}", *lines])

    def __repr__(self) -> str:
        texts = "; ".join(map(str, self.program.statements))
        return f"<Plan: {texts} on {self.mesh.topology.name}, {len(self.steps)} steps>"

    def producers(self) -> dict[int, int]:
        """Value number to the index of the step that writes it (inputs are not in it)."""
        return {step.result.number: index for index, step in enumerate(self.steps)}

    def dependencies(self) -> tuple[tuple[int, ...], ...]:
        """For each step the indices of the steps whose values it reads."""
        made_by = self.producers()
        return tuple(
            tuple(made_by[number] for number in step.reads if number in made_by)
            for step in self.steps
        )
