"""Scenarios: what to run on which machine, from a YAML file or from Python.

form.py           the keys of a scenario
loading.py        the scenario that a document describes
pairs.py          "X=4,Y=4" and {X: 4, Y: 4}
expectations.py   what must come out
"""

from shardsim.scenario.expectations import Expectation
from shardsim.scenario.loading import Scenario, is_shipped, load_scenario, make_scenario

__all__ = ["Expectation", "Scenario", "is_shipped", "load_scenario", "make_scenario"]
