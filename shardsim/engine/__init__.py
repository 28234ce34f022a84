"""The discrete-event engine: plans to timelines, hop by hop, without a formula."""

from __future__ import annotations

from shardsim.engine.simulation import simulate, simulate_calls, simulate_step

__all__ = ["simulate", "simulate_calls", "simulate_step"]
