"""A collective and a matmul that might be done together: the forms, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from shardsim.units import Seconds

if TYPE_CHECKING:
    from shardsim.vocabulary import Form, Relation

__all__ = ["Considered", "Way"]


class Way(NamedTuple):
    """One form of doing two steps together.

    Attributes:
        form: Which.
        parts: Into how many parts the matmul is cut.
        part_seconds: Seconds of one of them.
        seconds: Of both together.
        relation: How `seconds` stands to the simulation.
        formula: `seconds` in words.
    """

    form: Form
    parts: int
    part_seconds: Seconds
    seconds: Seconds
    relation: Relation
    formula: str

    def to_dict(self) -> dict[str, Any]:
        """An entry of `forms` in the JSON."""
        return {
            "form": self.form.value,
            "parts": self.parts,
            "part_seconds": float(self.part_seconds),
            "exact_seconds": float(self.seconds),
            "relation": self.relation.value,
            "formula": self.formula,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """A collective and a matmul that might be done together.

    Attributes:
        collective: Index of the collective in the plan that comes of it.
        matmul: Index of the matmul there.
        given: Index of the collective in the plan as it was given.
        text: Both, for people.
        apart: Seconds of one after the other, by the closed forms.
        ways: The forms that can be, the fastest first.
        chosen: The form taken; None: one after the other.
        why: In a sentence.
    """

    collective: int
    matmul: int
    given: int
    text: str
    apart: Seconds
    ways: tuple[Way, ...]
    chosen: Form | None
    why: str

    def to_dict(self) -> dict[str, Any]:
        """An entry of `together` in the JSON."""
        return {
            "steps": sorted((self.collective, self.matmul)),
            "text": self.text,
            "apart_seconds": float(self.apart),
            "forms": [way.to_dict() for way in self.ways],
            "chosen": None if self.chosen is None else self.chosen.value,
            "why": self.why,
        }
