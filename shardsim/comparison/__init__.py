"""Where formula and simulation meet.

runs.py          one run of a scenario, with the three times of each step side by side
alone.py         its steps by themselves: each one's time, and the bounds
overlapping.py   its plan simulated with the overlap that is asked for
exposure.py      communication that nothing hides
critical_path.py what waited for what
memory.py        the most that arrays take on a chip at once
rows.py          what the core and the links of a chip do, for strip charts
strategies.py    several scenarios side by side
over.py          the same at several extents of one dimension
collectives.py   one collective by itself, with bandwidths as benchmarks count them
sizes.py         the same at many sizes
prices.py        one priced by formula, without simulating it
running.py       runs one: any collective, or a transfer over several ways
traffic.py       what each link carried, and the busiest of them
advice.py        where another order of chips would be better
others.py        the same collective by every other method
"""

from shardsim.comparison.collectives import CollectiveRun, Orders
from shardsim.comparison.running import run_asked, run_collective, send_calls
from shardsim.comparison.runs import (
    Run,
    StepTimes,
    Totals,
    mesh_dict,
    plan_scenario,
    run_scenario,
    step_advice,
)
from shardsim.comparison.strategies import Compared, Row, run_comparison
from shardsim.comparison.traffic import LinkUse, traffic

__all__ = [
    "CollectiveRun",
    "Compared",
    "LinkUse",
    "Orders",
    "Row",
    "Run",
    "StepTimes",
    "Totals",
    "mesh_dict",
    "plan_scenario",
    "run_asked",
    "run_collective",
    "run_comparison",
    "run_scenario",
    "send_calls",
    "step_advice",
    "traffic",
]
