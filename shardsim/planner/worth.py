"""What a plan is worth: costs as single integers that can be added and compared quickly.

An integer holds what is made small, then what breaks ties, then how involved the steps are. Seconds
and bytes are counted in units that divide what the closed forms of a machine with links alike come
to, so that plans that take equally long are equal here too; anything else is rounded up by less
than 2^-100 of such a unit. A plan's own figures are exact fractions again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.planner.memory import peak_bytes
from shardsim.vocabulary import Objective

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardsim.planner.choices import Alternative
    from shardsim.planner.steps import Value
    from shardsim.topology import Topology
    from shardsim.units import Bytes, Seconds

__all__ = ["Worth", "measured"]

FINE = 100
"""Bits behind the units that figures on one machine should be multiples of."""
MOST_BITS = 200
"""Of a unit; with more, where all links differ, the figures are rounded."""
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

    Attributes:
        objective: What is made small.
        second: How many units a second has.
        byte: How many units a byte has.
    """

    objective: Objective
    second: int = 1 << 2 * FINE
    byte: int = 1 << FINE

    @classmethod
    def on(cls, objective: Objective, topology: Topology) -> Worth:
        """Costs on a machine."""
        shares = 8 * math.prod(topology.shape) ** 2
        chip, calibration = topology.chip, topology.calibration
        links = topology.links
        rates = {link.one_way_bandwidth * calibration.efficiency for link in links}
        rates |= {chip.hbm_bandwidth, *(peak for _, peak in chip.peaks)}
        times = {link.latency for link in links} | {calibration.launch_overhead}
        unit = math.lcm(*(r.numerator for r in rates), *(t.denominator for t in times)) * shares
        if unit.bit_length() > MOST_BITS:
            return cls(objective)
        return cls(objective, unit << FINE, shares << FINE)

    def of(self, seconds: Seconds, wire: Bytes, held: Bytes, axes: int = 0) -> int:
        """One step.

        Args:
            seconds: Exact seconds.
            wire: Bytes that leave the busiest chip.
            held: Bytes that the step reads and writes on a chip, beside the inputs of the plan.
            axes: Over how many axes a collective runs: of two plans that are equal in all else and
                have as many steps, the one whose collectives run over fewer axes is taken.
        """
        time, sent = _units(seconds, self.second), _units(wire, self.byte)
        match self.objective:
            case Objective.TIME:
                first, second, third = 0, time, sent
            case Objective.BYTES:
                first, second, third = 0, sent, time
            case Objective.MEMORY:
                first, second, third = _units(held, self.byte), time, sent
        return (((first << FIELD | second) << FIELD | third) << STEPS) + STEP + axes

    def both(self, one: int, other: int) -> int:
        """One after the other."""
        if self.objective is not Objective.MEMORY:
            return one + other
        low = (one & LOW) + (other & LOW)
        return max(one >> FIRST, other >> FIRST) << FIRST | low


def _units(value: Fraction | int, unit: int) -> int:
    """Rounded up."""
    return -(-value.numerator * unit // value.denominator)


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
