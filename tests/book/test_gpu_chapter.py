"""Worked numbers of "How to Scale Your Model", chapter "How to Think About GPUs".

Collectives in a node of 8 H100 (450 GB/s one way by each port) and between nodes (400 GB/s out of a
node, 50 by each GPU's own NIC). Figures are without latency.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.catalogue import find_topology
from shardsim.cost import CostModel
from shardsim.cost.phases import phases
from shardsim.cost.schedule import phase_ways
from shardsim.vocabulary import CollectiveKind, LatencyModel, Schedule
from tests.machines import call_on

CLOSE = 1e-5
BILLION = 10**9


def close(value: Fraction | float, figure: float) -> bool:
    return float(value) == pytest.approx(figure, rel=CLOSE, abs=0)


IN_A_NODE = [
    # collectives, pop quiz 1: bf16[1024, 16384], V/W and 7/8 of it
    (CollectiveKind.ALL_GATHER, 2 * 1024 * 16384, 7.45654e-5, 6.52447e-5),
    # pop quiz 2: V/NW and (N-1)/N of it, V = 10^9 over all GPUs
    (CollectiveKind.ALL_TO_ALL, BILLION, 2.77778e-4, 2.43056e-4),
]


@pytest.mark.parametrize(("kind", "size", "book", "exact"), IN_A_NODE)
def test_in_a_node(kind: CollectiveKind, size: int, book: float, exact: float) -> None:
    price = CostModel().collective(call_on(find_topology("h100:8"), kind, size))
    assert close(price.book, book)
    assert close(price.exact.bandwidth, exact)
    assert price.relation.value == "equal"


def test_between_nodes() -> None:
    """Quiz 4, question 1: 32 nodes gather B bytes by 400 GB/s each: 31/32 B/400e9."""
    call = call_on(find_topology("h100:32x8"), CollectiveKind.ALL_GATHER, BILLION)
    assert call.method.schedule is Schedule.SEQUENTIAL
    outer, inner = (
        sum(way.bandwidth for way in phase_ways(call, phase, LatencyModel.ADDITIVE))
        for phase in phases(call)
    )
    assert close(outer, 2.42187e-3)
    # question 5: in the node N W/(N-1) = 514.286 GB/s
    assert close(BILLION / inner, 514.286e9)
    assert CostModel().collective(call).exact.bandwidth == outer + inner


def test_two_nodes() -> None:
    """Quiz 4, question 5: between two nodes 2 x 400 GB/s."""
    call = call_on(find_topology("h100:2x8"), CollectiveKind.ALL_GATHER, BILLION)
    outer, _ = (phase_ways(call, phase, LatencyModel.ADDITIVE)[0] for phase in phases(call))
    assert close(BILLION / outer.bandwidth, 800e9)
