r"""shardsim: what a sharded matmul costs on an accelerator mesh, and why.

>>> import shardsim as ss
>>> str(ss.parse(r"A[I, J_X] \cdot B[J_X, K] \to C[I, K]"))
'A[I, J_X] · B[J_X, K] -> C[I, K]'

Names are loaded when they are used, so that importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardsim.api import collective, compare, plan, roofline, run, verify
    from shardsim.comparison import CollectiveRun, Compared, Run
    from shardsim.errors import ShardsimError
    from shardsim.mesh import Mesh
    from shardsim.notation import parse
    from shardsim.oracle import execute
    from shardsim.planner import Plan
    from shardsim.scenario import Comparison, Scenario, load_comparison, load_scenario
    from shardsim.timeline import Timeline
    from shardsim.topology import Topology
    from shardsim.vocabulary import Dtype

__version__ = "0.1.0"

_HOME = {
    "CollectiveRun": "comparison",
    "Compared": "comparison",
    "Comparison": "scenario",
    "Dtype": "vocabulary",
    "Mesh": "mesh",
    "Plan": "planner",
    "Run": "comparison",
    "Scenario": "scenario",
    "ShardsimError": "errors",
    "Timeline": "timeline",
    "Topology": "topology",
    "collective": "api",
    "compare": "api",
    "execute": "oracle",
    "load_comparison": "scenario",
    "load_scenario": "scenario",
    "parse": "notation",
    "plan": "api",
    "roofline": "api",
    "run": "api",
    "verify": "api",
}

__all__ = [
    "CollectiveRun",
    "Compared",
    "Comparison",
    "Dtype",
    "Mesh",
    "Plan",
    "Run",
    "Scenario",
    "ShardsimError",
    "Timeline",
    "Topology",
    "collective",
    "compare",
    "execute",
    "load_comparison",
    "load_scenario",
    "parse",
    "plan",
    "roofline",
    "run",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shardsim' has no attribute {name!r}")
    value = getattr(import_module(f"shardsim.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
