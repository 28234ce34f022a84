"""How long values take memory on a chip, and the most that they take together."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shardsim.planner.plans import Plan
    from shardsim.planner.steps import Step, Value
    from shardsim.units import Bytes

__all__ = ["Lifetime", "lifetimes", "peak_bytes"]


class Lifetime(NamedTuple):
    """How long a value takes memory on a chip.

    `made_by` is the step that writes it; None for an input. `read_by` are the steps after which it
    goes; empty where it stays to the end: inputs, and results that no later statement reads.
    """

    size: Bytes
    made_by: int | None
    read_by: tuple[int, ...]


def lifetimes(plan: Plan) -> tuple[Lifetime, ...]:
    """The lifetime of each value of a plan: inputs first, then what the steps write, in order."""
    return _lifetimes([value for _, value in plan.inputs], plan.steps, plan.results)


def _lifetimes(
    inputs: Iterable[Value], steps: Sequence[Step], results: Iterable[Value]
) -> tuple[Lifetime, ...]:
    made: dict[int, tuple[Bytes, int | None]] = {
        value.number: (value.sharded.local_bytes, None) for value in inputs
    }
    read = {number for step in steps for number in step.reads}
    ended = [value.number for value in results]
    kept = {*made, *(number for number in ended if number not in read), *ended[-1:]}
    readers: dict[int, list[int]] = {}
    for index, step in enumerate(steps):
        made[step.result.number] = (step.result.sharded.local_bytes, index)
        for number in step.reads:
            if number not in kept:
                readers.setdefault(number, []).append(index)
    return tuple(
        Lifetime(size, made_by, tuple(readers.get(number, ())))
        for number, (size, made_by) in made.items()
    )


def peak_bytes(inputs: Iterable[Value], steps: Sequence[Step]) -> Bytes:
    """The most bytes that arrays take on a chip at once, step after step.

    Inputs stay, and so does what the last step writes, their result; other values go after their
    last use. A step holds what it reads and what it writes at the same time.
    """
    results = [step.result for step in steps[-1:]]
    values = _lifetimes(inputs, steps, results)
    peak = sum((value.size for value in values if value.made_by is None), Fraction(0))
    for index in range(len(steps)):
        live = (
            value.size
            for value in values
            if (value.made_by is None or value.made_by <= index)
            and (not value.read_by or max(value.read_by) >= index)
        )
        peak = max(peak, sum(live, Fraction(0)))
    return peak
