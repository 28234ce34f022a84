"""For which extent of a dimension the chip computes as long as something else takes.

Both times are sums of products of extents and of closed forms, so their difference is made of
straight pieces over the extent (of curved ones where a dimension is twice in a chain of matmuls).
Where it changes its sign is found by halving, until a straight piece gives the extent itself, also
where two pieces meet in it; on curved ones to one part in 2^80.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from shardsim.vocabulary import ChannelKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from shardsim.hardware import Channel
    from shardsim.rooflines.clock import Clock
    from shardsim.rooflines.load import Load

__all__ = ["Critical", "critical", "crossing"]

REACH = 40
"""Extents are tried from 2^-40 to 2^40 times the one given."""
HALVINGS = 80


class Critical(NamedTuple):
    """The extent of a dimension at which computing takes as long as a channel.

    Attributes:
        dim: The dimension.
        channel: The channel.
        exact: With all bytes, and by the closed forms; None where the two times never meet.
        approximate: Without the bytes of arrays that have a small dimension, and by the book's
            formulas; None as above.
        computes_above: Whether the chip is bound by compute above it; else it is below. Where the
            times never meet: whether it always is.
    """

    dim: str
    channel: ChannelKind
    exact: Fraction | None
    approximate: Fraction | None
    computes_above: bool


def critical(
    load: Load,
    clock: Clock,
    dim: str,
    extent: int,
    channel: Channel,
    small: Collection[str] | None = None,
) -> Critical:
    """Where computing takes as long as a channel, over one dimension.

    Args:
        load: What one chip has to do, with the dimension `extent` long.
        clock: The machine.
        dim: The dimension.
        extent: How long it is in the load.
        channel: The memory by which operands come, or a network that collectives use.
        small: Dimensions that the approximation takes for small; the one solved for by default.
    """
    dropped = (dim,) if small is None else tuple(small)

    def gap(factor: Fraction, *, exactly: bool) -> Fraction:
        factors = {dim: factor}
        computing = clock.compute(load, factors)
        assert computing is not None
        if channel.kind is clock.through:
            left_out = () if exactly else dropped
            return computing - clock.moving(load, channel, factors, left_out)
        return computing - clock.talking(load, channel.kind, factors, book=not exactly)

    exact = crossing(lambda factor: gap(factor, exactly=True))
    approximate = crossing(lambda factor: gap(factor, exactly=False))
    at = Fraction(1) if exact is None else 2 * exact
    return Critical(
        dim=dim,
        channel=channel.kind,
        exact=None if exact is None else exact * extent,
        approximate=None if approximate is None else approximate * extent,
        computes_above=gap(at, exactly=True) > 0,
    )


def crossing(gap: Callable[[Fraction], Fraction]) -> Fraction | None:
    """Where a function made of straight pieces changes its sign, nearest to 1; None if nowhere.

    Exact where the pieces beside it are straight; else within 2^-80 of it.

    >>> crossing(lambda x: 3 * x - 7)
    Fraction(7, 3)
    >>> crossing(lambda x: max(x, 2) + 1 - 2 * x)
    Fraction(3, 2)
    >>> crossing(lambda x: max(3 * x - 7, 5 * x - 35 / Fraction(3)))
    Fraction(7, 3)
    >>> crossing(lambda x: x + 1) is None
    True
    """
    one = Fraction(1)
    for step in range(REACH):
        far = Fraction(2**step)
        for low, high in ((one / (2 * far), one / far), (far, 2 * far)):
            at_low, at_high = gap(low), gap(high)
            if at_low == at_high:
                continue
            if at_low == 0 or at_high == 0:
                return low if at_low == 0 else high
            if (at_low < 0) != (at_high < 0):
                return _refined(gap, (low, at_low), (high, at_high))
    return None


_At = tuple[Fraction, Fraction]
"""Where, and the value there."""


def _refined(gap: Callable[[Fraction], Fraction], low: _At, high: _At) -> Fraction:
    """The zero between two places with values of different sign."""
    for _ in range(HALVINGS):
        half = (low[0] + high[0]) / 2
        middle = half, gap(half)
        for one, other in ((low, high), (low, middle), (middle, high)):
            zero = _straight_zero(one, other)
            if zero is not None and low[0] <= zero <= high[0] and gap(zero) == 0:
                return zero
        if (middle[1] < 0) == (low[1] < 0):
            low = middle
        else:
            high = middle
    return (low[0] + high[0]) / 2


def _straight_zero(one: _At, other: _At) -> Fraction | None:
    """Where the straight line through two places is zero; None where it is level."""
    (a, at_a), (b, at_b) = one, other
    return None if at_a == at_b else a + (b - a) * at_a / (at_a - at_b)
