"""From a bound program to a plan: which collectives and local matmuls, and why.

Policy `cheapest`, the default, takes the cheapest plan of all; `textbook` the cheapest that follows
the four rules. What else there was, and why, is found when it is asked for.

planning.py       statement after statement: the plan
choosing.py       which way to do a contraction, and why
contraction.py    operands in every order: what their products cost in every layout
dot.py            one dot: every way to place the axes, priced
rules.py          the four rules, in sentences
resharding.py     one array from one sharding to another
reshard.py        the moves of one array, and what they cost
layout.py         layouts of an array, and the moves between them
atoms.py          the axes, or parts of axes, that are moved one by one
paths.py          cheapest paths, walked no farther than is asked for
worth.py          a cost as one integer
methods.py        whether an algorithm that is asked for is of any use
memory.py         how long values take memory
flips.py          where another way would be taken
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
