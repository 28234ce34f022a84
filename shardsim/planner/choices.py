"""The ways to do a statement that a plan chooses from, and what can be said of the choice."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from shardsim.planner.steps import CollectiveStep, MatmulStep, step_dict
from shardsim.units import format_seconds, number

if TYPE_CHECKING:
    from shardsim.planner.steps import Step
    from shardsim.units import Bytes, Flops, Seconds

__all__ = ["Alternative", "Balance", "Choice", "Explained", "Flip", "Stretch"]


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
        """What it sends, in short: `AllGather_X of A, AllReduce_X of C`.

        Several matmuls tell themselves apart by the first ones: `A · B first: AllReduce_X of D`.
        """
        said = [step.label for step in self.steps if isinstance(step, CollectiveStep)]
        text = ", ".join(said) if said else "no communication"
        dots = [step for step in self.steps if isinstance(step, MatmulStep)]
        orders = [" · ".join(v.sharded.array.name or "?" for v in dot.operands) for dot in dots]
        return f"{', '.join(orders[:-1])} first: {text}" if orders[1:] else text

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """For which extents of a dimension the way taken is the best.

    Attributes:
        dim: The dimension; all others stay as they are.
        low: The way taken is the best from here on; None: however small the dimension is.
        below: What is better below that.
        high: The way taken is the best up to here; None: however large the dimension is.
        above: What is better above that.
    """

    dim: str
    low: int | None
    below: Alternative | None
    high: int | None
    above: Alternative | None

    def to_dict(self) -> dict[str, Any]:
        """An entry of `flips` in the JSON."""
        return {
            "dim": self.dim,
            "from": self.low,
            "to": self.high,
            "below": None if self.below is None else self.below.label,
            "above": None if self.above is None else self.above.label,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """The extents of a dimension, around the one given, for which the same takes longer.

    Attributes:
        talks: Whether that is communication; else the matmuls, which may take as long.
        low: The first of them; None: however small the dimension is.
        high: The last; None: however large.
    """

    talks: bool
    low: int | None
    high: int | None

    @property
    def ends(self) -> bool:
        """Whether something else takes longer anywhere."""
        return self.low is not None or self.high is not None

    def to_dict(self) -> dict[str, Any]:
        """As the JSON has it."""
        return {"communication_longer": self.talks, "from": self.low, "to": self.high}


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """For which extents of a dimension communication takes longer than the local matmuls.

    Attributes:
        dim: The dimension; all others stay as they are.
        exact: By the closed forms, or what is likely where they are only a lower bound.
        book: By the book's formulas.
    """

    dim: str
    exact: Stretch
    book: Stretch

    def to_dict(self) -> dict[str, Any]:
        """An entry of `balances` in the JSON."""
        return {"dim": self.dim, "exact": self.exact.to_dict(), "book": self.book.to_dict()}


class Explained(Protocol):
    """What can be said of a choice, found when it is asked for."""

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """All ways considered, the best by the objective first; the one chosen is among them."""

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
        statement: Which statement it is for.
    """

    text: str
    chosen: Alternative
    explained: Explained = field(compare=False, repr=False)
    statement: int = 0

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """The rule for each axis, and what else there is to say, in sentences."""
        return self.explained.reasons()

    @cached_property
    def alternatives(self) -> tuple[Alternative, ...]:
        """All ways considered, the best by the objective first."""
        return self.explained.alternatives

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
