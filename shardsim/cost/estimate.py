"""What a call is likely to take, where its closed form is only a lower bound: to rank plans by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardsim.cost.permute import permute_estimate
from shardsim.cost.schedule import longest_chain
from shardsim.vocabulary import Algorithm, CollectiveKind, Relation

if TYPE_CHECKING:
    from shardsim.call import Call
    from shardsim.units import Seconds
    from shardsim.vocabulary import LatencyModel

__all__ = ["estimate"]


def estimate(call: Call, latency_model: LatencyModel, exact: Seconds, known: Relation) -> Seconds:
    """Seconds to rank a call by: its closed form, and where that is a LOWER BOUND, what is likely.

    That is the longest chain of phases, each over shared links one after the other, as if all chips
    kept step; for a permute the busiest link, then the way of the longest message. It is no bound:
    on lines the simulation takes 0.7 to 1.1 of it where the bound may be a tenth, on links that
    differ up to twice where the bound may be a hundredth.

    Args:
        call: The call.
        latency_model: What a hop costs.
        exact: Its closed form.
        known: How that stands to the simulation.
    """
    if known is not Relation.LOWER_BOUND:
        return exact
    if call.permutation is not None:
        return max(exact, permute_estimate(call, call.permutation, latency_model))
    in_phases = isinstance(call.kind, CollectiveKind) and not any(
        algorithm in (Algorithm.REDUCE_BROADCAST, Algorithm.IN_NETWORK)
        for algorithm in call.method.algorithms
    )
    if not in_phases:
        return exact
    return max(exact, call.launch + longest_chain(call, latency_model).total)
