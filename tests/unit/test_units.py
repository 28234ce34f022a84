"""Exact quantities: what text and numbers mean, what is refused, and what people read."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shardsim.errors import Place, QuantityError
from shardsim.units import (
    UNITS,
    exact,
    format_bytes,
    format_flops,
    format_rate,
    format_seconds,
    number,
    parse_count,
    parse_quantity,
)

PLACE = Place("run.yaml", 3, 8, "  size: many", 4)

EXACT = [
    (0, Fraction(0)),
    (-0.0, Fraction(0)),
    (7, Fraction(7)),
    (-3, Fraction(-3)),
    (Fraction(1, 3), Fraction(1, 3)),
    # a float is the number that a person wrote, not the binary one: 0.1 is a tenth
    (0.1, Fraction(1, 10)),
    (1e-6, Fraction(1, 1_000_000)),
    (4.5e10, Fraction(45_000_000_000)),
    (np.float64(0.1), Fraction(1, 10)),
    ("0.1", Fraction(1, 10)),
    (" 12.50 ", Fraction(25, 2)),
    ("1e-30", Fraction(1, 10**30)),
    ("1E30", Fraction(10**30)),
    ("+.5", Fraction(1, 2)),
    ("5.", Fraction(5)),
    ("-2e+3", Fraction(-2000)),
    ("1_000_000", Fraction(1_000_000)),
    ("0e60", Fraction(0)),
    ("1" + 30 * "0", Fraction(10**30)),
    ("0." + 29 * "0" + "1", Fraction(1, 10**30)),
]


@pytest.mark.parametrize(("written", "value"), EXACT)
def test_exact(written: float | str | Fraction, value: Fraction) -> None:
    found = exact(written)
    assert found == value
    assert type(found) is Fraction


NOT_EXACT = [
    (True, "True is not a number", "write a number"),
    (float("nan"), "'nan' is not a number", "write a finite number"),
    (float("-inf"), "'-inf' is not a number", "write a finite number"),
    ("", "'' is not a number", "write a finite number"),
    ("many", "'many' is not a number", "write a finite number"),
    ("1/3", "'1/3' is not a number", "write a finite number"),
    ("1__0", "'1__0' is not a number", "write a finite number"),
    ("_1", "'_1' is not a number", "write a finite number"),
    (".", "'.' is not a number", "write a finite number"),
    ("0x10", "'0x10' is not a number", "write a finite number"),
    ("1e400", "1e400 is out of range", "write a number below 1e30"),
    ("1e-400", "1e-400 is out of range", "write a number below 1e30"),
    ("1" * 61, f"{'1' * 61} is out of range", "write a number below 1e30"),
    ("1e31", "1e31 is out of range", "write a number from 1e-30 to 1e30"),
    ("-1e31", "-1e31 is out of range", "write a number from 1e-30 to 1e30"),
    ("1e-31", "1e-31 is out of range", "write a number from 1e-30 to 1e30"),
    (1e-300, "1e-300 is out of range", "write a number below 1e30"),
    (Fraction(1, 10**31), f"1/{10**31} is out of range", "write a number from 1e-30 to 1e30"),
    (10**31, f"{10**31} is out of range", "write a number from 1e-30 to 1e30"),
]


@pytest.mark.parametrize(("written", "message", "hint"), NOT_EXACT)
def test_what_is_no_exact_number(written: float | str | Fraction, message: str, hint: str) -> None:
    with pytest.raises(QuantityError) as caught:
        exact(written, PLACE)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert caught.value.place is PLACE


QUANTITIES = [
    ("16 GB", "bytes", 16 * 10**9),
    ("16 GiB", "bytes", 16 * 1024**3),
    ("1.5KiB", "bytes", 1536),
    ("3 kB", "bytes", 3000),
    ("3KB", "bytes", 3000),
    ("2 MiB", "bytes", 2 * 1024**2),
    ("1 TiB", "bytes", 1024**4),
    ("8 B", "bytes", 8),
    (8, "bytes", 8),
    ("45 GB/s", "bytes/s", 45 * 10**9),
    ("  45   GB/s ", "bytes/s", 45 * 10**9),
    ("4.5e10", "bytes/s", 45 * 10**9),
    (45e9, "bytes/s", 45 * 10**9),
    ("0.82 TB/s", "bytes/s", 820 * 10**9),
    ("197 TFLOP/s", "FLOP/s", 197 * 10**12),
    ("393 TOP/s", "FLOP/s", 393 * 10**12),
    ("1 EFLOP/s", "FLOP/s", 10**18),
    ("2 PFLOP/s", "FLOP/s", 2 * 10**15),
    ("1 us", "seconds", Fraction(1, 10**6)),
    ("1 \N{MICRO SIGN}s", "seconds", Fraction(1, 10**6)),
    ("1 \N{GREEK SMALL LETTER MU}s", "seconds", Fraction(1, 10**6)),
    ("2.5 ms", "seconds", Fraction(1, 400)),
    ("100 ns", "seconds", Fraction(1, 10**7)),
    ("3 s", "seconds", 3),
    (Fraction(1, 7), "seconds", Fraction(1, 7)),
]


@pytest.mark.parametrize(("written", "unit", "value"), QUANTITIES)
def test_quantities(written: object, unit: str, value: Fraction) -> None:
    assert parse_quantity(written, unit) == value


def test_zero_is_a_quantity_only_where_it_may_be() -> None:
    assert parse_quantity("0 us", "seconds", zero=True) == 0
    assert parse_quantity(0.0, "seconds", zero=True) == 0


BYTES = "write a number in SI, or a number and a unit, such as 16 GiB"
RATE = "write a number in SI, or a number and a unit, such as 45 GB/s"
FLOPS = "write a number in SI, or a number and a unit, such as 197 TFLOP/s"
TIME = "write a number in SI, or a number and a unit, such as 1 us"
NOT_QUANTITIES = [
    (None, "bytes", "None is not a quantity in bytes", BYTES),
    ([1], "bytes", "[1] is not a quantity in bytes", BYTES),
    (False, "seconds", "False is not a quantity in seconds", TIME),
    ("", "bytes/s", "'' is not a quantity in bytes/s", RATE),
    ("fast", "bytes/s", "'fast' is not a quantity in bytes/s", RATE),
    ("nan", "bytes/s", "'nan' is not a quantity in bytes/s", RATE),
    (
        "45 GiB/s",
        "bytes/s",
        "'GiB/s' is not a unit of bytes/s; known: B/s, kB/s, KB/s, MB/s, GB/s, TB/s, PB/s, EB/s",
        RATE,
    ),
    (
        "1 us",
        "bytes",
        "'us' is not a unit of bytes; "
        "known: B, kB, KB, MB, GB, TB, PB, EB, KiB, MiB, GiB, TiB, PiB",
        BYTES,
    ),
    (
        "1 min",
        "seconds",
        "'min' is not a unit of seconds; known: s, ms, us, \N{MICRO SIGN}s, "
        "\N{GREEK SMALL LETTER MU}s, ns",
        TIME,
    ),
    ("0 GB/s", "bytes/s", "0 GB/s must be more than 0 bytes/s", RATE),
    (0, "FLOP/s", "0 must be more than 0 FLOP/s", FLOPS),
    ("-1 us", "seconds", "-1 us must be more than 0 seconds", TIME),
    ("1e400 B", "bytes", "1e400 is out of range", "write a number below 1e30"),
    (float("inf"), "bytes", "'inf' is not a number", "write a finite number"),
]


@pytest.mark.parametrize(("written", "unit", "message", "hint"), NOT_QUANTITIES)
def test_what_is_no_quantity(written: object, unit: str, message: str, hint: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(written, unit, PLACE)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert caught.value.place is PLACE


def test_a_negative_quantity_where_zero_is_allowed() -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(-1, "seconds", zero=True)
    assert caught.value.message == "-1 must be 0 or more seconds"


def test_an_unknown_flop_unit_lists_both_spellings() -> None:
    with pytest.raises(QuantityError, match=r"known: FLOP/s, OP/s, kFLOP/s, kOP/s, "):
        parse_quantity("1 GFLOPS", "FLOP/s")


def test_binary_prefixes_are_for_sizes_only() -> None:
    binary = {unit for units in UNITS.values() for unit in units if "i" in unit}
    assert binary == {"KiB", "MiB", "GiB", "TiB", "PiB"}


COUNTS = [
    (1, 1),
    (8192, 8192),
    ("4096", 4096),
    (" 16 ", 16),
    ("1_000", 1000),
    ("007", 7),
    (10**18, 10**18),
    (np.int64(12), 12),
]


@pytest.mark.parametrize(("written", "value"), COUNTS)
def test_counts(written: object, value: int) -> None:
    assert parse_count(written, "dimension I") == value


DIGITS = "write it in digits, such as 8192"
NOT_COUNTS = [
    (True, "dimension I must be a whole number, 1 or more; it is 'True'", DIGITS),
    (None, "dimension I must be a whole number, 1 or more; it is 'None'", DIGITS),
    (4.0, "dimension I must be a whole number, 1 or more; it is '4.0'", DIGITS),
    (-1, "dimension I must be a whole number, 1 or more; it is '-1'", DIGITS),
    ("8k", "dimension I must be a whole number, 1 or more; it is '8k'", DIGITS),
    ("", "dimension I must be a whole number, 1 or more; it is ''", DIGITS),
    ("1e3", "dimension I must be a whole number, 1 or more; it is '1e3'", DIGITS),
    ("9" * 61, f"dimension I must be a whole number, 1 or more; it is '{'9' * 40}'", DIGITS),
    (0, "dimension I must be from 1 to 1e18; it is 0", "write 1 or more"),
    (
        10**18 + 1,
        "dimension I must be from 1 to 1e18; it is 1000000000000000001",
        "write a smaller number",
    ),
]


@pytest.mark.parametrize(("written", "message", "hint"), NOT_COUNTS)
def test_what_is_no_count(written: object, message: str, hint: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_count(written, "dimension I", PLACE)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert caught.value.place is PLACE


def test_numbers_for_json() -> None:
    assert number(Fraction(6, 3)) == 2
    assert type(number(Fraction(6, 3))) is int
    assert number(Fraction(1, 4)) == 0.25


TIMES = [  # in seconds
    ("0", "0 ns"),
    ("1e-12", "0.00100 ns"),
    ("0.0000000005", "0.500 ns"),
    ("1e-9", "1 ns"),
    ("999.4e-9", "999 ns"),
    ("999.6e-9", "1.00 µs"),
    ("1e-6", "1 µs"),
    ("1.5e-6", "1.50 µs"),
    ("0.000559240533", "559 µs"),
    # 999.5 stands half-way between 999 and 1000: it goes to the even one, in the larger unit
    ("999.4e-6", "999 µs"),
    ("999.5e-6", "1.00 ms"),
    ("999.6e-6", "1.00 ms"),
    ("1e-3", "1 ms"),
    # the border between two and one decimals, and between one and none
    ("9.994", "9.99 s"),
    ("9.996", "10.0 s"),
    ("99.94", "99.9 s"),
    ("99.96", "100 s"),
    ("60", "60 s"),
    ("999.6", "1000 s"),
    ("123456.7", "123457 s"),
    ("1e30", "1" + 30 * "0" + " s"),
]


@pytest.mark.parametrize(("seconds", "text"), TIMES)
def test_times_for_people(seconds: str, text: str) -> None:
    assert format_seconds(Fraction(seconds)) == text


SIZES = [
    (0, "0 B"),
    (Fraction(1, 2), "0.500 B"),
    (1, "1 B"),
    (999, "999 B"),
    (1000, "1 kB"),
    (1024, "1.02 kB"),
    (999_499, "999 kB"),
    (999_500, "1.00 MB"),
    (999_999, "1.00 MB"),
    (10**6, "1 MB"),
    (33_554_432, "33.6 MB"),
    (16 * 10**9, "16 GB"),
    (Fraction(10**12), "1 TB"),
    (2 * 10**15, "2 PB"),
    (10**18, "1 EB"),
    (10**24, "1000000 EB"),
    (10**60, "1" + 42 * "0" + " EB"),
]


@pytest.mark.parametrize(("size", "text"), SIZES)
def test_sizes_for_people(size: Fraction | int, text: str) -> None:
    assert format_bytes(size) == text


def test_flops_and_rates_for_people() -> None:
    # 2 * 8192^3 = 2^40 = 1.0995e12
    assert format_flops(2 * 8192**3) == "1.10 TFLOP"
    assert format_flops(0) == "0 FLOP"
    assert format_rate(Fraction(45 * 10**9)) == "45 GB/s"
    assert format_rate(197 * 10**12, "FLOP") == "197 TFLOP/s"
    assert format_rate(Fraction(45 * 10**9, 7)) == "6.43 GB/s"
