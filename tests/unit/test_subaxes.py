"""Parts of an axis: their names, and which of them can stand in one array."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.notation import AXIS_NAME, WHOLE_AXIS_NAME, SubAxis, overlap, sub_axis, whole_axis

NUMBERS = st.integers(1, 999_999_999)


@given(st.from_regex(WHOLE_AXIS_NAME, fullmatch=True), NUMBERS, NUMBERS.filter(lambda n: n > 1))
def test_a_name_reads_back(axis: str, before: int, size: int) -> None:
    part = SubAxis(axis, before, size)
    assert sub_axis(str(part)) == part
    assert AXIS_NAME.fullmatch(str(part))
    assert not WHOLE_AXIS_NAME.fullmatch(str(part))
    assert whole_axis(str(part)) == axis == whole_axis(axis)


@pytest.mark.parametrize("name", ["X", "", "X:(0)2", "X:(1)1", "X:(01)2", "X:1", "X:(1)", ":(1)2"])
def test_what_is_no_part(name: str) -> None:
    assert sub_axis(name) is None


def products(whole: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as a product of numbers above 1, in order."""
    if whole == 1:
        yield ()
    for first in range(2, whole + 1):
        if whole % first == 0:
            yield from ((first, *rest) for rest in products(whole // first))


@pytest.mark.parametrize("whole", [4, 6, 8, 12, 24])
def test_parts_overlap_unless_they_are_factors_of_one_product(whole: int) -> None:
    together = set()
    for factors in products(whole):
        parts = [SubAxis("X", prod(factors[:k]), size) for k, size in enumerate(factors)]
        together |= set(itertools.permutations(parts, 2))
    parts = sorted({part for pair in together for part in pair}, key=str)
    for pair in itertools.product(parts, parts):
        assert overlap(*map(str, pair)) == (pair not in together), pair


def test_parts_of_different_axes_do_not_meet() -> None:
    assert not overlap("X:(1)2", "Y:(1)2")
    assert not overlap("X", "Y:(1)2")
    assert overlap("X", "X")
