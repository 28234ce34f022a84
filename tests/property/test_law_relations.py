"""Law: every closed form stands to the simulation as it claims (tests/relations.py)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardsim.cost import CostModel, Wanted
from shardsim.engine import simulate_calls
from shardsim.hardware import Link
from shardsim.vocabulary import Algorithm, LatencyModel, Relation
from tests.relations import (
    ALL_REDUCE,
    ALL_TO_ALL,
    BOTH_MODELS,
    EQUAL,
    KEYS,
    RING,
    ROWS,
    SWITCH,
    Case,
    Part,
    Row,
    call_on,
    cases,
    machine,
)

IN_CI = 60
"""Examples of the ci profile (tests/conftest.py)."""


def cases_of_a_row(examples: int) -> int:
    return max(4, examples // 8)


def test_the_equal_rows_run_at_least_1000_cases_in_ci() -> None:
    equal = [row for row in ROWS if row.relation is EQUAL]
    assert len(equal) * cases_of_a_row(IN_CI) >= 1000


@pytest.mark.parametrize("row", ROWS, ids=KEYS)
def test_relation(row: Row) -> None:
    """On random machines, sizes and links."""

    @settings(max_examples=cases_of_a_row(settings().max_examples))
    @given(cases(row))
    def law(case: Case) -> None:
        price = CostModel(case.model).collective(case.call)
        exact = price.exact.total
        simulated = simulate_calls(case.machine.topology, [case.call], case.model).makespan
        assert price.relation is row.relation
        match row.relation:
            case Relation.EQUAL:
                assert simulated == exact
            case Relation.UPPER_BOUND:
                assert simulated <= exact
            case Relation.LOWER_BOUND | Relation.LIMIT:
                assert simulated >= exact

    law()


CHUNKS = (2, 4, 8, 16, 32, 64)


@settings(max_examples=max(3, settings().max_examples // 8))
@given(
    n=st.integers(2, 4),
    size=st.fractions(min_value=1, max_value=999, max_denominator=7),
    rate=st.fractions(min_value=1, max_value=50, max_denominator=5),
    share=st.fractions(min_value=0, max_value=1, max_denominator=9),
    model=st.sampled_from(BOTH_MODELS),
)
def test_limit(
    n: int, size: Fraction, rate: Fraction, share: Fraction, model: LatencyModel
) -> None:
    """Twice the chunks come nearer, and 64 to 3 %, where a message outlasts the latency."""
    message = size / (n * CHUNKS[-1] * rate)
    found = machine(Part(n, SWITCH, Link(rate, message * share)))
    off = []
    for chunks in CHUNKS:
        wanted = Wanted(Algorithm.IN_NETWORK, None, chunks)
        call = call_on(found, ALL_REDUCE, size, wanted, model)
        price = CostModel(model).collective(call)
        assert price.relation is Relation.LIMIT
        off.append(simulate_calls(found.topology, [call], model).makespan / price.exact.total - 1)
    assert all(later < earlier for earlier, later in pairwise(off))
    assert 0 <= off[-1] <= Fraction(3, 100)


def test_a_block_to_the_opposite_chip_of_a_ring_goes_half_each_way() -> None:
    """Two chips, one link of the four faster: V/4 for the other, half of it each way."""
    fast = {((0,), (0, +1)): Link(Fraction(3, 2), Fraction(0))}
    found = machine(Part(2, RING, Link(Fraction(1), Fraction(0))), changed=fast)
    call = call_on(found, ALL_TO_ALL, Fraction(1), Wanted(), LatencyModel.ADDITIVE)
    exact = CostModel().collective(call).exact.total
    assert exact == simulate_calls(found.topology, [call], LatencyModel.ADDITIVE).makespan
    assert exact == Fraction(1, 8)
