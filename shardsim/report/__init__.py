"""Views for people: tables, a strip chart and who holds what, in the terminal.

parts.py         what reports are put together from
tables.py        runs and plans
ways.py          other ways than a plan's, and where they would be better
compare.py       strategies side by side
over.py          the same over the extents of a dimension
collective.py    one collective
sizes.py         the same over sizes
topologies.py    topologies
chips.py         chips, their ladders, and figures with sources
placement.py     one sharding: all notations, and who holds which block
verification.py  what the check of a machine found
gantt.py         the strip chart
overlap.py       what is exposed, and what is done together
roofline.py      rooflines: one, a table of them, curves
model.py         models: parameters, serving, training
book.py          the worked numbers of the book
"""

from __future__ import annotations

from shardsim.report.collective import collective_report
from shardsim.report.compare import compare_report
from shardsim.report.gantt import gantt
from shardsim.report.parts import render
from shardsim.report.tables import plan_report, run_report
from shardsim.report.topologies import topology_report

__all__ = [
    "collective_report",
    "compare_report",
    "gantt",
    "plan_report",
    "render",
    "run_report",
    "topology_report",
]
