"""What a step of generating comes to: tokens and queries a second, servers that prefill.

With a mesh a step takes its collectives too.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.model.serving import prefill_seconds, step_seconds
from shardsim.model.sharded import sharded_step_seconds
from shardsim.model.sizes import Model
from shardsim.units import Seconds

if TYPE_CHECKING:
    from shardsim.model.asked import Asked

__all__ = ["prefill_servers_per_generate_server", "queries_per_second", "tokens_per_second"]


def _step(model: Model, asked: Asked) -> Seconds:
    """A step: with a mesh with its collectives, as stated where it is."""
    step = step_seconds if asked.mesh is None else sharded_step_seconds
    return step(model, asked)


def tokens_per_second(model: Model, asked: Asked) -> Fraction:
    """B / time of a step, on all chips; with a mesh a step has its collectives."""
    batch = asked.need("batch")
    return batch / _step(model, asked)


def queries_per_second(model: Model, asked: Asked) -> Fraction:
    """B / (time of a step x tokens generated for a query), on all chips. Without prefill."""
    generated = asked.need("generated")
    return tokens_per_second(model, asked) / generated


def prefill_servers_per_generate_server(model: Model, asked: Asked) -> Fraction:
    """Servers that prefill for one that generates: B x prefill / (step x tokens of a query).

    Both of the same size. With a mesh a step has its collectives; prefill is without them.
    """
    batch = asked.need("batch")
    generated = asked.need("generated")
    prefilling = batch * prefill_seconds(model, asked)
    return prefilling / (_step(model, asked) * generated)
