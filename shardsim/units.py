"""Exact quantities: reading them from text, and printing them for people.

Inside the package there is one unit per dimension (bytes, seconds, FLOPs, bytes/s, FLOPs/s) and
every value is an `int` or a `Fraction`. A float from a user goes through its `repr`, so `1e-6`
means one millionth exactly.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal
from fractions import Fraction

from shardsim.errors import Place, QuantityError

__all__ = [
    "Bytes",
    "BytesPerSecond",
    "Flops",
    "FlopsPerSecond",
    "Seconds",
    "exact",
    "format_bytes",
    "format_capacity",
    "format_flops",
    "format_rate",
    "format_seconds",
    "number",
    "parse_count",
    "parse_quantity",
]

Seconds = Fraction
Bytes = Fraction
BytesPerSecond = Fraction
Flops = int
FlopsPerSecond = Fraction

LARGEST = Fraction(10) ** 30
SMALLEST = Fraction(1, 10**30)
MOST_DIGITS = 60
LONG_BITS = 1000

_SI = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}

UNITS: dict[str, dict[str, Fraction]] = {
    "bytes": {
        **{f"{prefix}B": Fraction(10) ** power for prefix, power in _SI.items()},
        **{f"{prefix}B": Fraction(2) ** power for prefix, power in _BINARY.items()},
    },
    "bytes/s": {f"{prefix}B/s": Fraction(10) ** power for prefix, power in _SI.items()},
    "FLOP/s": {
        f"{prefix}{unit}": Fraction(10) ** power
        for prefix, power in _SI.items()
        for unit in ("FLOP/s", "OP/s")
    },
    "FLOP": {
        f"{prefix}{unit}": Fraction(10) ** power
        for prefix, power in _SI.items()
        for unit in ("FLOP", "OP")
    },
    "Hz": {f"{prefix}Hz": Fraction(10) ** power for prefix, power in _SI.items()},
    "USD/h": {"USD/h": Fraction(1)},
    "seconds": {
        "s": Fraction(1),
        "ms": Fraction(1, 10**3),
        "us": Fraction(1, 10**6),
        "µs": Fraction(1, 10**6),
        "μs": Fraction(1, 10**6),
        "ns": Fraction(1, 10**9),
    },
}

_THREE_DIGITS = Context(prec=3)
_NUMBER = re.compile(r"[+-]?(\d+(?:_\d+)*\.?\d*|\.\d+)([eE][+-]?\d+)?")


def exact(value: float | str | Fraction, place: Place | None = None) -> Fraction:
    """The exact value of a number as a person wrote it.

    Raises:
        QuantityError: not a number, not finite, or beyond 1e30 (or, except for 0, below 1e-30).

    >>> exact(1e-6), exact("4.5e10")
    (Fraction(1, 1000000), Fraction(45000000000, 1))
    """
    if isinstance(value, bool):
        raise QuantityError(f"{value} is not a number", "write a number", place)
    if isinstance(value, Fraction | int):
        number = Fraction(value)
        long = max(number.numerator.bit_length(), number.denominator.bit_length()) > LONG_BITS
        text = "a number" if long else str(number)
    else:
        text = repr(float(value)) if isinstance(value, float) else str(value).strip()
        found = _NUMBER.fullmatch(text)
        if found is None:
            raise QuantityError(f"{text!r} is not a number", "write a finite number", place)
        exponent = (found[2] or "e0")[1:]
        if len(text) > MOST_DIGITS or abs(int(exponent)) > MOST_DIGITS:
            raise QuantityError(f"{text} is out of range", "write a number below 1e30", place)
        number = Fraction(text.replace("_", ""))
    if abs(number) > LARGEST or (number != 0 and abs(number) < SMALLEST):
        raise QuantityError(f"{text} is out of range", "write a number from 1e-30 to 1e30", place)
    return number


def parse_quantity(
    value: object, unit: str, place: Place | None = None, *, zero: bool = False
) -> Fraction:
    """Reads a number in SI, or a number and a unit, as an exact value in SI.

    Args:
        value: `45e9`, `"45 GB/s"`, `"16 GiB"`, `"1 us"`.
        unit: A key of `UNITS`: "bytes", "bytes/s", "FLOP", "FLOP/s", "Hz", "USD/h" or
            "seconds".
        place: Where the value stands, for the error.
        zero: Whether 0 is allowed.

    Raises:
        QuantityError: no number, a unit of another dimension, or a value that is not positive.

    >>> parse_quantity("45 GB/s", "bytes/s")
    Fraction(45000000000, 1)
    >>> parse_quantity("16 GiB", "bytes")
    Fraction(17179869184, 1)
    """
    known = UNITS[unit]
    example = {
        "bytes": "16 GiB",
        "bytes/s": "45 GB/s",
        "FLOP": "1 TFLOP",
        "FLOP/s": "197 TFLOP/s",
        "Hz": "1.75 GHz",
        "USD/h": "1.2 USD/h",
        "seconds": "1 us",
    }
    way_out = f"write a number in SI, or a number and a unit, such as {example[unit]}"
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise QuantityError(f"{value!r} is not a quantity in {unit}", way_out, place)
    scale = Fraction(1)
    number: float | str | Fraction = value
    if isinstance(value, str):
        text = value.strip()
        found = _NUMBER.match(text)
        if found is None:
            raise QuantityError(f"{text!r} is not a quantity in {unit}", way_out, place)
        suffix = text[found.end() :].strip()
        if suffix and suffix not in known:
            raise QuantityError(
                f"{suffix!r} is not a unit of {unit}; known: {', '.join(known)}", way_out, place
            )
        number, scale = found[0], known.get(suffix, Fraction(1))
    result = exact(number, place) * scale
    if result < 0 or (result == 0 and not zero):
        least = "0 or more" if zero else "more than 0"
        raise QuantityError(f"{value} must be {least} {unit}", way_out, place)
    return result


def _is_huge(value: object) -> bool:
    """Whether a whole number is too large to be worth writing out."""
    return isinstance(value, int) and abs(value) > 10**MOST_DIGITS


def parse_count(value: object, what: str, place: Place | None = None) -> int:
    """Reads a whole number from 1 to 1e18 (a size, an extent).

    >>> parse_count("8192", "dimension I")
    8192

    Raises:
        QuantityError: `value` is anything else; the message names `what`.
    """
    text = "a number above 1e18" if _is_huge(value) else str(value).strip()
    if (
        isinstance(value, bool)
        or re.fullmatch(r"\d+(_\d+)*", text) is None
        or len(text) > MOST_DIGITS
    ):
        raise QuantityError(
            f"{what} must be a whole number, 1 or more; it is {text[:40]!r}",
            "write it in digits, such as 8192",
            place,
        )
    number = int(text)
    if not 1 <= number <= 10**18:
        raise QuantityError(
            f"{what} must be from 1 to 1e18; it is {text[:40]}",
            "write 1 or more" if number < 1 else "write a smaller number",
            place,
        )
    return number


def number(value: Fraction) -> int | float:
    """An exact number for JSON: an int where it is whole.

    >>> number(Fraction(6, 3)), number(Fraction(1, 4))
    (2, 0.25)
    """
    return value.numerator if value.denominator == 1 else float(value)


def _three(value: Fraction, scale: Fraction) -> str:
    """Three significant digits of value/scale, whole numbers in full, never in exponent form."""
    scaled = value / scale
    if scaled.denominator == 1 or abs(scaled) >= 1000:
        return str(round(scaled))
    rounded = _THREE_DIGITS.divide(Decimal(scaled.numerator), Decimal(scaled.denominator))
    return f"{rounded:.{max(0, 2 - rounded.adjusted())}f}"


def _prefixed(value: Fraction, steps: list[tuple[Fraction, str]]) -> str:
    for scale, unit in steps:
        if value >= scale * Fraction(9995, 10000):
            return f"{_three(value, scale)} {unit}"
    scale, unit = steps[-1]
    return f"{_three(value, scale)} {unit}"


def _decimal(unit: str) -> list[tuple[Fraction, str]]:
    return [(Fraction(10) ** p, f"{s}{unit}") for s, p in reversed(_SI.items()) if s != "K"]


def format_seconds(value: Fraction) -> str:
    """A time for people: three digits and a prefix.

    >>> format_seconds(Fraction(33554432 * 3, 4 * 45 * 10**9))
    '559 µs'
    """
    steps = [(Fraction(1), "s"), (Fraction(1, 10**3), "ms"), (Fraction(1, 10**6), "µs")]
    return _prefixed(Fraction(value), [*steps, (Fraction(1, 10**9), "ns")])


def format_bytes(value: Fraction | int) -> str:
    """Bytes for people, in powers of ten.

    >>> format_bytes(33554432)
    '33.6 MB'
    """
    return _prefixed(Fraction(value), _decimal("B"))


def format_capacity(value: Fraction | int) -> str:
    """A memory for people, in powers of ten and of two where those differ in what one reads.

    >>> format_capacity(16 * 10**9), format_capacity(16 * 2**30), format_capacity(512)
    ('16 GB = 14.9 GiB', '17.2 GB = 16 GiB', '512 B')
    """
    binary = [(Fraction(2) ** power, f"{prefix}B") for prefix, power in reversed(_BINARY.items())]
    decimal = format_bytes(value)
    if value < binary[-1][0]:
        return decimal
    return f"{decimal} = {_prefixed(Fraction(value), binary)}"


def format_flops(value: Fraction | int) -> str:
    """A number of FLOPs for people.

    >>> format_flops(2 * 8192**3)
    '1.10 TFLOP'
    """
    return _prefixed(Fraction(value), _decimal("FLOP"))


def format_rate(value: Fraction | int, unit: str = "B") -> str:
    """A rate for people.

    >>> format_rate(45 * 10**9)
    '45 GB/s'
    """
    return _prefixed(Fraction(value), _decimal(f"{unit}/s"))
