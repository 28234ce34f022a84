"""Strategies run side by side: a run of each, which is best, and how far the others are off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from shardsim.comparison.runs import Run, plan_scenario, run_scenario
from shardsim.planner import CollectiveStep
from shardsim.planner.steps import value_dict
from shardsim.scenario import StrategyFaults
from shardsim.units import Bytes, Seconds, number

if TYPE_CHECKING:
    from shardsim.scenario import Comparison

__all__ = ["Compared", "Row", "run_comparison"]

Work = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One strategy and its run."""

    name: str
    note: str
    run: Run

    @property
    def seconds(self) -> Seconds:
        """The simulated time."""
        return self.run.totals.simulated_seconds

    @property
    def fits(self) -> bool:
        """Whether the arrays of a chip fit in its HBM."""
        capacity = self.run.plan.mesh.topology.chip.hbm_capacity
        return self.run.totals.peak_memory_bytes_per_chip <= capacity

    @property
    def wire_bytes(self) -> Bytes:
        """Bytes that leave the busiest chip, summed over the steps."""
        steps = (step for step in self.run.plan.steps if isinstance(step, CollectiveStep))
        return sum((step.price.wire_bytes for step in steps), Fraction(0))

    @property
    def work(self) -> Work:
        """The dimensions of the result with their extents, in order of their names."""
        plan = self.run.plan
        extents = dict(plan.program.extents)
        return tuple(sorted((d, extents[d]) for d in plan.result.sharded.array.dim_names))


@dataclass(frozen=True, repr=False)
class Compared:
    """Strategies with their runs, in the order of the file."""

    name: str
    rows: tuple[Row, ...]

    @cached_property
    def best(self) -> Row:
        """The quickest strategy that fits; of all, where none fits; the first of equal ones."""
        fitting = [row for row in self.rows if row.fits]
        return min(fitting or self.rows, key=lambda row: row.seconds)

    def slowdown(self, row: Row, best: Row | None = None) -> Fraction | None:
        """How many times the best time a strategy takes; below 1 only where it does not fit.

        None where the best takes no time and this one does.

        Args:
            row: One of the rows.
            best: Another row to count by.
        """
        least = (best or self.best).seconds
        if not least:
            return None if row.seconds else Fraction(1)
        return row.seconds / least

    @cached_property
    def by_work(self) -> dict[Work, Compared]:
        """The strategies that compute results of the same dimensions and extents, together."""
        groups: dict[Work, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row.work, []).append(row)
        return {work: Compared(self.name, tuple(rows)) for work, rows in groups.items()}

    def unmet(self) -> tuple[tuple[str, str], ...]:
        """The expectations that are not met: the strategy, and what was found."""
        return tuple(
            (row.name, check.text)
            for row in self.rows
            for check in row.run.checks()
            if not check.met
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `compare --json`, as a dict."""
        return {
            "format": "shardsim/compare/1",
            "name": self.name,
            "rows": [self._row_dict(row) for row in self.rows],
            "best": self.best.name,
        }

    def _row_dict(self, row: Row) -> dict[str, Any]:
        plan, factor = row.run.plan, self.slowdown(row)
        return {
            "name": row.name,
            "note": row.note,
            "fits": row.fits,
            "slowdown": None if factor is None else float(factor),
            "topology": plan.mesh.topology.name,
            "chips": plan.mesh.topology.size,
            "mesh": plan.mesh.sizes,
            "dims": dict(plan.program.extents),
            "result": value_dict(plan.result.sharded),
            "wire_bytes_per_chip": number(row.wire_bytes),
            "totals": row.run.totals.to_dict(),
            "steps": [step.text for step in plan.steps],
            "expectations": [check.to_dict() for check in row.run.checks()],
        }

    def __repr__(self) -> str:
        return f"<Compared: {len(self.rows)} strategies, best {self.best.name}>"


def run_comparison(
    comparison: Comparison, progress: Callable[[str], None] = lambda _: None
) -> Compared:
    """Plans all strategies, then simulates one after the other.

    Args:
        comparison: From `load_comparison`.
        progress: Is told which strategy is simulated.

    Raises:
        InputError: a strategy cannot be planned.
        InputErrors: several cannot.

    >>> from shardsim.scenario import load_comparison
    >>> run_comparison(load_comparison("compare-sharded-contraction")).best.name
    'scatter the products'
    """
    strategies = comparison.strategies
    told = StrategyFaults({each.name: each.place for each in strategies})
    plans = [told.attempt(each.name, partial(plan_scenario, each.scenario)) for each in strategies]
    told.raise_any()
    rows = []
    for index, (each, plan) in enumerate(zip(strategies, plans, strict=True), start=1):
        chips = each.scenario.program.mesh.topology.size
        progress(f"strategy {index} of {len(strategies)}, {each.name}: simulating {chips:,} chips")
        rows.append(Row(each.name, each.note, run_scenario(each.scenario, plan)))
    return Compared(comparison.name, tuple(rows))
