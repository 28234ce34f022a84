"""Views for people: tables and a strip chart in the terminal."""

from __future__ import annotations

from shardsim.report.gantt import gantt
from shardsim.report.tables import plan_report, render, run_report, topology_report

__all__ = ["gantt", "plan_report", "render", "run_report", "topology_report"]
