"""The discrete-event engine: plans to timelines, hop by hop, without a formula."""

from __future__ import annotations

from shardsim.engine.simulation import program_of, simulate

__all__ = ["program_of", "simulate"]
