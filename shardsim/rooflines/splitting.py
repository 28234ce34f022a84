"""How to cut chips between two axes: FSDP along one and tensor parallel along the other.

With N chips cut N = X Y, the weights that are gathered along X are cut over Y, so that gathering
them takes a time proportional to X; the activations that are gathered along Y are cut over X, so
that theirs is proportional to 1/X. The product of the two times does not depend on the cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shardsim.cost.book import book_seconds
from shardsim.errors import ScenarioError
from shardsim.units import Seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardsim.planner import CollectiveStep
    from shardsim.rooflines.bounds import Roofline
    from shardsim.rooflines.load import Load

__all__ = ["Split", "split_chips"]

DIGITS = 10**12
MANY = 2**60
"""So many times the bytes leave no latency in the larger of the two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The best cut of the chips between two axes.

    Attributes:
        first: The axis along which the weights are gathered.
        second: The axis along which the activations are.
        dim: The batch: the dimension that activations and FLOPs grow with.
        batch: Its extent, for which this is so.
        size: How long `first` is best then, as a real number: where both take equally long.
        seconds: Of the collectives along each axis then; the book's formulas.
        critical: So much of the batch that the chips compute as long as that, per chip.
    """

    first: str
    second: str
    dim: str
    batch: int
    size: Fraction
    seconds: Seconds
    critical: Fraction

    def to_dict(self) -> dict[str, Any]:
        """What an entry of `split` in the JSON of `roofline --json` says beside its machine."""
        return {
            "axes": [self.first, self.second],
            "dim": self.dim,
            "extent": self.batch,
            "size": float(self.size),
            "book_seconds": float(self.seconds),
            "critical_per_chip": float(self.critical),
        }


def split_chips(roofline: Roofline, dim: str, first: str, second: str) -> Split:
    """The best cut between two axes of a program that uses both.

    T_first (X) = a X and T_second (X) = b / X by the book's formulas, without latency: best is
    X = sqrt(b / a), where both take sqrt(a b). The batch B at which the FLOPs take as long follows,
    since b and the FLOPs grow with B: B0 a b / T_math^2. Both axes may be busy at once, so the
    larger of the two times counts, which are equal. Source: "How to Scale Your Model", training
    chapter, "Combining FSDP and tensor parallelism".

    Args:
        roofline: Of the program, on any cut of the chips.
        dim: The batch.
        first: The axis along which weights are gathered.
        second: The other.

    Raises:
        ScenarioError: nothing is sent along one of them.
    """
    chips = roofline.clock.topology.size
    load = roofline.load
    mesh = load.collectives[0].step.call.group.mesh if load.collectives else None
    names = () if mesh is None else tuple(mesh.sizes)
    for axis in (first, second):
        if axis not in names:
            raise ScenarioError(
                f"nothing is sent along {axis}, so there is nothing to weigh against it",
                f"name two axes that collectives use, of {', '.join(names) or 'none'}",
            )
    assert mesh is not None
    times = [_seconds((sent.step for sent in load.collectives), axis) for axis in (first, second)]
    for axis, seconds in zip((first, second), times, strict=True):
        if not seconds:
            raise ScenarioError(
                f"nothing is sent along {axis} alone, so there is nothing to weigh against it",
                "write a program that gathers weights along one axis and activations along another",
            )
    _check_batch(load, dim, first, second)
    computing = roofline.compute_seconds or Fraction(0)
    product = times[0] * times[1]
    return Split(
        first=first,
        second=second,
        dim=dim,
        batch=roofline.extents[dim],
        size=mesh.axis(first).size * _root(times[1] / times[0]),
        seconds=_root(product),
        critical=roofline.extents[dim] * product / computing**2 / chips,
    )


def _check_batch(load: Load, dim: str, first: str, second: str) -> None:
    """Refuses a dimension with which not just the FLOPs and what goes along `second` grow."""
    grow = all(dim in product.dims for each in load.operations for product in each.flops)
    along = {axis: [s.dims for s in load.collectives if s.step.call.group.axes == (axis,)]
             for axis in (first, second)}  # fmt: skip
    if (
        grow
        and all(dim in dims for dims in along[second])
        and not any(dim in dims for dims in along[first])
    ):
        return
    raise ScenarioError(
        f"{dim} is no batch: FLOPs and what is sent along {second} must grow with it, and what is "
        f"sent along {first} must not",
        f"solve for the dimension of the activations that are gathered along {second}; weights go "
        f"along {first}",
    )


def _seconds(steps: Iterable[CollectiveStep], axis: str) -> Seconds:
    """What the bytes sent along an axis alone take by the book's formulas, latency apart."""
    calls = (step.call for step in steps if step.call.group.axes == (axis,))
    return sum(
        (book_seconds(call.kind, call.size * MANY, call.group.segments) / MANY for call in calls),
        Fraction(0),
    )


def _root(value: Fraction) -> Fraction:
    """The square root, to twelve digits after the point and more.

    >>> _root(Fraction(9, 4))
    Fraction(3, 2)
    """
    scaled = value.numerator * value.denominator * DIGITS**2
    return Fraction(math.isqrt(scaled), DIGITS * value.denominator)
