"""What a core does while its chip communicates: the same work, more slowly, to the exact moment."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import simpy

if TYPE_CHECKING:
    from collections.abc import Generator

    from shardsim.topology import Coordinate

__all__ = ["Cores"]


class Cores:
    """The speed of all cores: each is slower while its chip takes part in a collective.

    Args:
        env: The simulation.
        slowdown: So many times as long; 1 leaves everything in whole ticks.
    """

    def __init__(self, env: simpy.Environment, slowdown: Fraction) -> None:
        self._env = env
        self._slowdown = slowdown
        self._collectives: defaultdict[Coordinate, int] = defaultdict(int)
        self._changes: dict[Coordinate, simpy.Event] = {}

    def talk(self, chip: Coordinate) -> None:
        """The chip begins to take part in a collective."""
        self._collectives[chip] += 1
        if self._collectives[chip] == 1:
            self._changed(chip)

    def fall_silent(self, chip: Coordinate) -> None:
        """The chip has done its part in a collective."""
        self._collectives[chip] -= 1
        if self._collectives[chip] == 0:
            self._changed(chip)

    def _changed(self, chip: Coordinate) -> None:
        change = self._changes.pop(chip, None)
        if change is not None:
            change.succeed()

    def work(self, chip: Coordinate, ticks: int) -> Generator[simpy.Event, Any, None]:
        """Takes so many ticks at full speed; when the speed changes, the rest goes on so."""
        if self._slowdown == 1:
            yield self._env.timeout(ticks)
            return
        left = Fraction(ticks)
        while left:
            pace = self._slowdown if self._collectives[chip] else Fraction(1)
            start = Fraction(self._env.now)
            end = self._env.timeout(left * pace)  # type: ignore[arg-type]  # exact time is fine
            change = self._changes.setdefault(chip, self._env.event())
            yield end | change
            left -= (Fraction(self._env.now) - start) / pace
