"""Where formula and simulation meet.

runs.py          one run of a scenario, with the three times of each step side by side
collectives.py   one collective by itself, with bandwidths as benchmarks count them
traffic.py       what each link carried, and the busiest of them
advice.py        where another order of chips would be better
"""

from shardsim.comparison.collectives import CollectiveRun, Orders, run_collective, send_calls
from shardsim.comparison.runs import (
    Run,
    StepTimes,
    Totals,
    lifetimes,
    plan_scenario,
    run_scenario,
)
from shardsim.comparison.traffic import LinkUse, traffic

__all__ = [
    "CollectiveRun",
    "LinkUse",
    "Orders",
    "Run",
    "StepTimes",
    "Totals",
    "lifetimes",
    "plan_scenario",
    "run_collective",
    "run_scenario",
    "send_calls",
    "traffic",
]
