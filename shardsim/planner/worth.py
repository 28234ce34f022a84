"""What a plan is worth: costs as single integers that can be added and compared quickly.

An integer holds what is made small, then what breaks ties, then how involved the steps are. Seconds
and bytes are counted in units of 2^-200 and 2^-40, rounded up; a plan's own figures are exact
fractions again. So two plans are only taken for equal where their times differ by less than
10^-58 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.planner.memory import peak_bytes
from shardsim.vocabulary import Objective

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardsim.planner.choices import Alternative
    from shardsim.planner.steps import Value
    from shardsim.units import Bytes, Seconds

__all__ = ["Worth", "measured"]

SECONDS, BYTES = 200, 40
STEPS = 20
"""Bits for how involved the steps are; then as many for each of two quantities."""
STEP = 16
FIELD = 400
FIRST = STEPS + 2 * FIELD
LOW = (1 << FIRST) - 1


@dataclass(frozen=True, slots=True)
class Worth:
    """How costs are made of quantities and put together.

    `time`: seconds, then bytes sent. `bytes`: bytes sent, then seconds. Costs add up. `memory`: the
    most bytes held at once while a step runs, of which the larger counts; then seconds.
    """

    objective: Objective

    def of(self, seconds: Seconds, wire: Bytes, held: Bytes, axes: int = 0) -> int:
        """One step.

        Args:
            seconds: Exact seconds.
            wire: Bytes that leave the busiest chip.
            held: Bytes that the step reads and writes on a chip, beside the inputs of the plan.
            axes: Over how many axes a collective runs: of two plans that are equal in all else and
                have as many steps, the one whose collectives run over fewer axes is taken.
        """
        time, sent = _units(seconds, SECONDS), _units(wire, BYTES)
        match self.objective:
            case Objective.TIME:
                first, second, third = 0, time, sent
            case Objective.BYTES:
                first, second, third = 0, sent, time
            case Objective.MEMORY:
                first, second, third = _units(held, BYTES), time, sent
        return (((first << FIELD | second) << FIELD | third) << STEPS) + STEP + axes

    def both(self, one: int, other: int) -> int:
        """One after the other."""
        if self.objective is not Objective.MEMORY:
            return one + other
        low = (one & LOW) + (other & LOW)
        return max(one >> FIRST, other >> FIRST) << FIRST | low


def _units(value: Fraction | int, bits: int) -> int:
    """Rounded up."""
    numerator, denominator = value.numerator, value.denominator
    return -((-numerator << bits) // denominator)


def measured(
    objective: Objective, way: Alternative, inputs: Iterable[Value]
) -> tuple[Fraction, Fraction, int]:
    """What a way is ranked by: what is made small, what breaks ties, and the number of steps."""
    steps = len(way.steps)
    match objective:
        case Objective.TIME:
            return way.estimate, way.wire_bytes, steps
        case Objective.BYTES:
            return way.wire_bytes, way.estimate, steps
        case Objective.MEMORY:
            return peak_bytes(inputs, way.steps), way.estimate, steps
