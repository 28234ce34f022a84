"""From a bound program to a plan: which collectives and local matmuls, and why.

Policy `textbook` takes the cheapest plan that follows the four rules; `cheapest` the cheapest of
all placements of the mesh axes. Either way all that were considered are kept as alternatives.

planning.py       statement after statement: the plan
contraction.py    all ways to do one dot, priced
roles.py          what a mesh axis may do in a matmul, and the four rules
layout.py         layouts of an array, and the moves between them
reshard.py        the cheapest moves from one layout to another
steps.py          the records of a plan
"""

from __future__ import annotations

from shardsim.planner.planning import make_plan
from shardsim.planner.steps import (
    Alternative,
    Choice,
    CollectiveStep,
    MatmulStep,
    Plan,
    SliceStep,
    Step,
    Value,
)

__all__ = [
    "Alternative",
    "Choice",
    "CollectiveStep",
    "MatmulStep",
    "Plan",
    "SliceStep",
    "Step",
    "Value",
    "make_plan",
]
