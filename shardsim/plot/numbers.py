"""Numbers without a unit as pictures say them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["extent_text", "power_text", "ratio_text"]


def ratio_text(value: Fraction) -> str:
    """A ratio: three digits, and all of what is longer.

    >>> from fractions import Fraction
    >>> [ratio_text(Fraction(text)) for text in ("1/3", "22", "10.9", "240.5", "12345.6")]
    ['0.333', '22', '10.9', '240', '12,346']
    """
    return f"{round(value):,}" if value >= 1000 else f"{float(value):.3g}"


def extent_text(value: Fraction) -> str:
    """An extent, with one digit behind the point where it is not whole.

    >>> from fractions import Fraction
    >>> extent_text(Fraction(240)), extent_text(Fraction(2726, 10))
    ('240', '272.6')
    """
    return f"{float(value):,.1f}".removesuffix(".0")


def power_text(value: Fraction) -> str:
    """A power of ten.

    >>> from fractions import Fraction
    >>> power_text(Fraction(1, 100)), power_text(Fraction(1000))
    ('0.01', '1,000')
    """
    return f"{int(value):,}" if value.denominator == 1 else f"{float(value):g}"
