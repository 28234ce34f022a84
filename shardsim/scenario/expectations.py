"""What the totals of a run must be."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from shardsim.documents import Document, Faults, described, nearest
from shardsim.errors import Place, ScenarioError
from shardsim.units import exact, format_bytes, format_seconds, parse_quantity

__all__ = ["Expectation", "read_expectations"]

UNITS_OF_QUANTITIES = {
    "simulated_seconds": "seconds",
    "lower_bound_seconds": "seconds",
    "upper_bound_seconds": "seconds",
    "compute_seconds": "seconds",
    "communication_seconds": "seconds",
    "exposed_communication_seconds": "seconds",
    "overlap_fraction": None,
    "flops_utilization": None,
    "bound": None,
    "peak_memory_bytes_per_chip": "bytes",
}
BOUNDS = ("compute", "memory", "communication", "latency")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What one of the totals must be.

    Attributes:
        quantity: A key of the totals: `simulated_seconds`.
        low: The least it may be, in SI.
        high: The most it may be.
        word: What `bound` must be.
    """

    quantity: str
    low: Fraction | None = None
    high: Fraction | None = None
    word: str | None = None

    def met(self, value: Fraction | int | str) -> bool:
        """Whether a total is as expected.

        >>> Expectation(quantity="overlap_fraction", low=Fraction(1, 2)).met(Fraction(1, 4))
        False
        """
        if self.word is not None or isinstance(value, str):
            return value == self.word
        above = self.low is None or self.low <= value
        return above and (self.high is None or value <= self.high)

    def text(self, value: Fraction | int | str) -> str:
        """The total against what is expected, for people.

        >>> limit = Expectation(quantity="simulated_seconds", high=Fraction(1, 10**3))
        >>> limit.text(Fraction(1, 500))
        'simulated_seconds is 2 ms, expected at most 1 ms'
        """
        ends = [
            f"{word} {self._shown(limit)}"
            for word, limit in (("at least", self.low), ("at most", self.high))
            if limit is not None
        ]
        expected = self.word or " and ".join(ends)
        return f"{self.quantity} is {self._shown(value)}, expected {expected}"

    def _shown(self, value: Fraction | int | str) -> str:
        if isinstance(value, str):
            return value
        match UNITS_OF_QUANTITIES[self.quantity]:
            case "seconds":
                return format_seconds(Fraction(value))
            case "bytes":
                return format_bytes(value)
        return f"{float(value):.4g}"


def read_expectations(document: Document) -> tuple[Expectation, ...]:
    """The expectations under `expect` of a scenario.

    Raises:
        InputError: one thing is wrong.
        InputErrors: several are.
    """
    if not document.has("expect"):
        return ()
    faults = Faults()
    expect = document.at("expect")
    made = [faults.attempt(partial(_expectation, expect, quantity)) for quantity in expect.data]
    faults.raise_any()
    return tuple(expectation for expectation in made if expectation is not None)


def _expectation(expect: Document, quantity: str) -> Expectation:
    if quantity not in UNITS_OF_QUANTITIES:
        known = ", ".join(UNITS_OF_QUANTITIES)
        raise ScenarioError(
            f"expect has no quantity {quantity!r}; it has {known}",
            nearest(quantity, UNITS_OF_QUANTITIES) or "remove it",
            expect.key_place(quantity),
        )
    said, place = expect.data[quantity], expect.place(quantity)
    if quantity == "bound":
        if said not in BOUNDS:
            why = f"bound must be one of {', '.join(BOUNDS)}; it is {described(said)}"
            raise ScenarioError(why, nearest(said, BOUNDS) or "write one of them", place)
        return Expectation(quantity=quantity, word=said)
    if not isinstance(said, dict) or not said or not {"min", "max"}.issuperset(said):
        found = ", ".join(said) or "neither" if isinstance(said, dict) else described(said)
        why = f"{quantity} must have min, max or both, not {found}"
        raise ScenarioError(why, "write it as {max: 1.5 ms}", place)
    low, high = (
        _limit(said[end], UNITS_OF_QUANTITIES[quantity], expect.place(quantity, end))
        if end in said
        else None
        for end in ("min", "max")
    )
    if low is not None and high is not None and low > high:
        why = f"min of {quantity} is more than its max"
        raise ScenarioError(why, "exchange them", place)
    return Expectation(quantity=quantity, low=low, high=high)


def _limit(value: Any, unit: str | None, place: Place | None) -> Fraction:
    return exact(value, place) if unit is None else parse_quantity(value, unit, place, zero=True)
