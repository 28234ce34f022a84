"""Scenarios: what to run on which machine, from a YAML file or from Python.

form.py           the keys of a scenario, and of one collective
machine.py        the topology and the mesh that both name
loading.py        the scenario that a document describes
single.py         one collective
pairs.py          "X=4,Y=4" and {X: 4, Y: 4}
coordinates.py    "0,0 0,1" and [[0, 0], [0, 1]]
expectations.py   what must come out
"""

from shardsim.scenario.expectations import Expectation
from shardsim.scenario.loading import Scenario, is_shipped, load_scenario, make_scenario
from shardsim.scenario.machine import make_mesh
from shardsim.scenario.single import Single, make_collective

__all__ = [
    "Expectation",
    "Scenario",
    "Single",
    "is_shipped",
    "load_scenario",
    "make_collective",
    "make_mesh",
    "make_scenario",
]
