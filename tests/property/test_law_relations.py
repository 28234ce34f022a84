"""Law: every closed form stands to the simulation as it claims (tests/relations.py)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from shardsim.cost import CostModel
from shardsim.engine import simulate_calls
from shardsim.vocabulary import Relation
from tests.relations import ROWS, Case, Row, cases

CASES = max(4, settings().max_examples // 5)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_relation(row: Row) -> None:
    """On random machines, sizes and links."""

    @settings(max_examples=CASES)
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
            case _:
                assert simulated >= exact

    law()
