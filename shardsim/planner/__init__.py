"""From a bound program to a plan: which collectives and local matmuls, and why.

Policy `cheapest` takes the cheapest of all placements of the mesh axes, and of parts of them;
`textbook` the cheapest plan that follows the four rules of the book. Either way the other ways are
found when they are asked for.

planning.py       statement after statement: the plan
plans.py          what a plan is
steps.py          its steps
choices.py        the ways that it chooses from
decomposition.py  steps of it that are done together
memory.py         how long its values take memory

choosing.py       one contraction: what is chosen, and its alternatives
contraction.py    all orders of multiplying, layouts of products chosen together
dot.py            one dot of two operands: all placements of the axes, and the cheapest
meanings.py       one name for each meaning of a dimension
resharding.py     one array from one layout to another
rules.py          what the four rules say
explaining.py     what can be said of a contraction that is planned
reasons.py        why, in sentences
flips.py          for which extents another way would be taken
balances.py       for which extents communication takes longer than the matmuls
scaling.py        ways priced with one dimension longer or shorter
methods.py        whether the algorithm asked for is of any use

atoms.py          the axes that are moved one by one: whole ones, or parts
layout.py         layouts of an array, and the moves between them
moving.py         the moves of one array, with their costs
paths.py          cheapest sequences of moves
prices.py         what collectives cost on a mesh, and at least
worth.py          costs as integers, by the objective
"""

from __future__ import annotations

from shardsim.planner.choices import Alternative, Choice
from shardsim.planner.planning import make_plan
from shardsim.planner.plans import Plan
from shardsim.planner.steps import CollectiveStep, MatmulStep, SliceStep, Step, Value

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
