"""Scenarios: what to run on which machine, from a YAML file or from Python.

form.py           the keys of a scenario, and of one collective
machine.py        the topology and the mesh that both name
loading.py        the scenario that a document describes
planning.py       its program planned by its options
files.py          scenario files, found by path or by name
strategies.py     several scenarios of one file, side by side
merging.py        one of them as a scenario by itself
single.py         one collective
pairs.py          "X=4,Y=4" and {X: 4, Y: 4}
coordinates.py    "0,0 0,1" and [[0, 0], [0, 1]]
expectations.py   what must come out
translation.py    statements in another notation; only who has some imports it
repeating.py      layers without writing them out
ways_out.py       what a fault of a statement proposes, with prices
"""

from shardsim.scenario.expectations import Expectation
from shardsim.scenario.files import is_shipped, load_comparison, load_scenario
from shardsim.scenario.loading import Scenario, make_scenario
from shardsim.scenario.machine import make_mesh
from shardsim.scenario.planning import cost_model, plan_program
from shardsim.scenario.single import Single, make_collective
from shardsim.scenario.strategies import Comparison, Strategy, StrategyFaults

__all__ = [
    "Comparison",
    "Expectation",
    "Scenario",
    "Single",
    "Strategy",
    "StrategyFaults",
    "cost_model",
    "is_shipped",
    "load_comparison",
    "load_scenario",
    "make_collective",
    "make_mesh",
    "make_scenario",
    "plan_program",
]
