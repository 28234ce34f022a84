"""Collectives and matmuls done together, in ring steps (collective matmul).

considered.py     what was considered, and why it was taken or not
pairs.py          which steps of a plan might be
forms.py          how, with the price of each form
deciding.py       whether, and the plan that comes of it
"""

from __future__ import annotations

from shardsim.overlap.considered import Considered, Way
from shardsim.overlap.deciding import decompose

__all__ = ["Considered", "Way", "decompose"]
