"""What plans are ranked by where a closed form is only a lower bound."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.cost import CollectivePrice, CostModel, Wanted
from shardsim.engine import simulate_calls
from shardsim.mesh import lay_mesh
from shardsim.scenario import make_mesh
from shardsim.vocabulary import Algorithm, CollectiveKind, LatencyModel, Relation
from tests.machines import machine

GROUPS = [("X:(1)2",), ("X", "Y:(1)2"), ("X:(1)2", "Y:(1)2"), ("X:(2)2", "Y:(1)2"), ("X", "Y")]


def priced(
    kinds: tuple[str, str], axes: tuple[str, ...], kind: CollectiveKind, size: int, **wanted: object
) -> CollectivePrice:
    mesh = lay_mesh(machine((4, kinds[0]), (4, kinds[1])))
    cost = CostModel(wanted=Wanted(**wanted))  # type: ignore[arg-type]
    return cost.collective(cost.call(kind, mesh.group(axes), Fraction(size)))


@pytest.mark.parametrize("axes", GROUPS)
@pytest.mark.parametrize("kind", CollectiveKind)
@pytest.mark.parametrize("kinds", [("line", "line"), ("ring", "line"), ("ring", "ring")])
@pytest.mark.parametrize("size", [2**10, 2**16, 2**24])
def test_it_is_near_the_simulation(
    kinds: tuple[str, str], kind: CollectiveKind, axes: tuple[str, ...], size: int
) -> None:
    """Never below the bound, and within 0.7 to 1.15 of what is simulated."""
    price = priced(kinds, axes, kind, size)
    assert price.estimate >= price.exact.total
    if price.relation is not Relation.LOWER_BOUND:
        assert price.estimate == price.exact.total
        return
    topology = price.call.group.mesh.topology
    simulated = simulate_calls(topology, [price.call]).makespan
    assert Fraction(7, 10) < price.estimate / simulated < Fraction(3, 2)
    assert simulated / price.estimate < Fraction(23, 20)


def test_a_bound_may_be_far_below() -> None:
    """Small messages over two segments in a row: the bound counts one latency."""
    price = priced(("line", "line"), ("X", "Y:(1)2"), CollectiveKind.ALL_GATHER, 1024)
    simulated = simulate_calls(price.call.group.mesh.topology, [price.call]).makespan
    assert simulated > 4 * price.exact.total
    assert price.estimate == simulated


def test_an_algorithm_without_phases_has_its_bound_only() -> None:
    price = priced(
        ("line", "line"), ("X:(1)2",), CollectiveKind.ALL_REDUCE, 2**16,
        algorithm=Algorithm.REDUCE_BROADCAST,
    )  # fmt: skip
    assert price.relation is Relation.LOWER_BOUND
    assert price.estimate == price.exact.total


@pytest.mark.parametrize("kind", CollectiveKind)
@pytest.mark.parametrize("model", LatencyModel)
@pytest.mark.parametrize("axes", [("X",), ("Y",), ("X", "Y")])
def test_links_that_differ(
    axes: tuple[str, ...], model: LatencyModel, kind: CollectiveKind
) -> None:
    """A small collective takes a latency at least, whatever its busiest link is busy for."""
    mesh = make_mesh("slow-link-4x4")
    cost = CostModel(model)
    price = cost.collective(cost.call(kind, mesh.group(axes), Fraction(1024)))
    simulated = simulate_calls(mesh.topology, [price.call], model).makespan
    assert price.estimate >= Fraction(1, 10**6)
    assert Fraction(1, 2) < price.estimate / simulated < 2
