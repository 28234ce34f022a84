"""A collective and a matmul of a plan that are done together, in ring steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardsim.units import Seconds
    from shardsim.vocabulary import Form, Relation

__all__ = ["Decomposition"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposition:
    """Two steps of a plan done together.

    Attributes:
        collective: Index of the collective in the plan.
        matmul: Index of the matmul: after an AllGather, before a ReduceScatter or AllReduce.
        form: How.
        dim: The dimension along which the matmul is cut.
        parts: Into how many.
        part_seconds: Seconds of one part by itself on the core.
        seconds: Of both together by the closed form, begun together on all chips.
        relation: How `seconds` stands to the simulation of both alone.
    """

    collective: int
    matmul: int
    form: Form
    dim: str
    parts: int
    part_seconds: Seconds
    seconds: Seconds
    relation: Relation
