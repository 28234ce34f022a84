"""The discrete-event engine: plans to timelines, hop by hop, without a formula.

running.py      what is simulated: a plan, a step, collectives
prepared.py     what is known before: programs, routes, durations
simulation.py   the processes of one run
resources.py    what they wait for: links, cores, messages
cores.py        cores that are slower beside a collective
"""

from __future__ import annotations

from shardsim.engine.running import simulate, simulate_calls, simulate_step

__all__ = ["simulate", "simulate_calls", "simulate_step"]
