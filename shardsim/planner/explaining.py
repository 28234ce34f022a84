"""What can be said of how a contraction is done: found when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from shardsim.planner.balances import balances
from shardsim.planner.flips import flips
from shardsim.planner.reasons import reasons_for
from shardsim.planner.scaling import Scaling
from shardsim.vocabulary import Objective, Policy

if TYPE_CHECKING:
    from shardsim.planner.choices import Alternative, Balance, Flip
    from shardsim.planner.choosing import Contracting

__all__ = ["ContractionExplained"]


@dataclass(frozen=True)
class ContractionExplained:
    """A contraction that is planned, and all that there is to say of it; see `Explained`."""

    made: Contracting

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """All ways considered, the best by the objective first."""
        return self.made.alternatives

    def reasons(self) -> tuple[str, ...]:
        """Why, in sentences."""
        return reasons_for(self.made)

    def flips(self) -> tuple[Flip, ...]:
        """For which extents the way taken is the best; not asked where memory decides."""
        made, chosen = self.made, self.made.chosen
        if made.objective is Objective.MEMORY or chosen is None:
            return ()
        ways = made.alternatives
        if made.policy is Policy.TEXTBOOK:
            ways = tuple(way for way in ways if way.textbook)
        return flips(ways, chosen, made.extents, self._scaling, made.again)

    def balances(self, way: Alternative) -> tuple[Balance, ...]:
        """For which extents a way is bound by communication."""
        return balances(way, self.made.extents, self._scaling)

    @cached_property
    def _scaling(self) -> Scaling:
        return Scaling(self.made.prices.cost, self.made.objective, self.made.same_dims)
