"""Where another way would be taken: for which extent of each dimension.

Every way of a list is priced again with one dimension larger or smaller; the extent at which
another is better is found by bisection, to a whole number. Then it is planned anew on both sides of
that edge: what is found there joins the list, until the plan there is the one that is promised.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from shardsim.planner.choices import Flip
from shardsim.planner.scaling import last_extent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardsim.planner.choices import Alternative
    from shardsim.planner.scaling import Scaling

__all__ = ["flips"]

MOST_WAYS = 12
ROUNDS = 4
FAR = 64


class Again(Protocol):
    """Plans with another extent of a dimension."""

    def __call__(self, dim: str, extent: int, /) -> tuple[Alternative, int] | None:
        """The plan, and the extent near to the one asked for that it is for."""


def flips(
    ways: Sequence[Alternative],
    chosen: Alternative,
    extents: Mapping[str, int],
    scaling: Scaling,
    again: Again,
) -> tuple[Flip, ...]:
    """For each dimension, for which of its extents the way taken is the best of all.

    The edges are those among the ways that are known here; then what is planned beside each edge
    joins them, until the plan there is the one that is promised.

    Args:
        ways: All that are compared, the best first.
        chosen: The one taken.
        extents: Of the dimensions.
        scaling: Prices them.
        again: What would be planned with another extent of a dimension, and the extent near to
            that for which it is planned.
    """
    compared = [chosen, *(way for way in ways if way is not chosen)][:MOST_WAYS]
    found = []
    for dim, extent in extents.items():
        best = _Best(chosen, [(way, extent) for way in compared], dim, extent, scaling)
        if best.better(extent):  # taken for other reasons than what is measured here
            continue
        low = _checked_edge(best, again, smaller=True)
        high = _checked_edge(best, again, smaller=False)
        if low is not None or high is not None:
            found.append(
                Flip(
                    dim=dim,
                    low=low,
                    below=None if low is None else best.at(low - 1),
                    high=high,
                    above=None if high is None else best.at(high + 1),
                )
            )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Best:
    """Which of some ways is the best at each extent of a dimension; of equal ones the first.

    Ways that send the same are one: they differ in what is cut where, for nothing.

    Attributes:
        chosen: The way taken.
        ways: All, each with the extent that it was planned for.
        dim: The dimension.
        extent: Its extent.
        scaling: Prices a way for another extent.
    """

    chosen: Alternative
    ways: list[tuple[Alternative, int]]
    dim: str
    extent: int
    scaling: Scaling

    def measure(self, entry: tuple[Alternative, int], extent: int) -> tuple[Fraction, Fraction]:
        """What a way is measured by at an extent."""
        way, base = entry
        return self.scaling.measure(way, self.dim, Fraction(extent, base))

    def at(self, extent: int) -> Alternative:
        """The best one."""
        return min(self.ways, key=lambda entry: self.measure(entry, extent))[0]

    def better(self, extent: int) -> bool:
        """Whether a way is better than the one taken that sends something else."""
        limit = self.measure((self.chosen, self.extent), extent)
        others = (entry for entry in self.ways if entry[0].label != self.chosen.label)
        return any(self.measure(entry, extent) < limit for entry in others)

    def edge(self, *, smaller: bool) -> int | None:
        """The last extent for which the way taken is the best; None where it always is."""
        return last_extent(lambda at: not self.better(at), self.extent, smaller=smaller)

    def learn(self, way: Alternative, extent: int) -> bool:
        """Adds what is planned at an extent, where it is better than all that are known there."""
        known = min(self.measure(entry, extent) for entry in self.ways)
        if self.measure((way, extent), extent) >= known:
            return False
        self.ways.append((way, extent))
        return True


def _checked_edge(best: _Best, again: Again, *, smaller: bool) -> int | None:
    """Where the way taken stops to be the best, as plans on both sides of it say."""
    for _ in range(ROUNDS):
        edge = best.edge(smaller=smaller)
        beside = _beside(best.extent, edge, smaller=smaller)
        planned = [again(best.dim, extent) for extent in beside]
        new = [best.learn(*found) for found in planned if found is not None]
        if not any(new):
            break
    return edge


def _beside(extent: int, edge: int | None, *, smaller: bool) -> tuple[int, ...]:
    """Extents on both sides of an edge; where there is none, one that is far away."""
    if edge is None:
        far = max(extent // FAR, 1) if smaller else extent * FAR
        return () if far == extent else (far,)
    return (edge, edge - 1) if smaller else (edge, edge + 1)
