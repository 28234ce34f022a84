"""Permutes by a table: who sends to whom, what that costs, and that the numbers arrive."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from shardsim.cost import CostModel
from shardsim.engine import simulate_calls
from shardsim.mesh import Permutation, lay_mesh
from shardsim.oracle import execute
from shardsim.planner import CollectiveStep
from shardsim.topology import Coordinate, Topology
from shardsim.vocabulary import LatencyModel, Objective, Relation, TransferKind
from tests.machines import machine, planned

SIZE = Fraction(8 * 45 * 10**3)  # 1 µs for a block on a link of 45 GB/s, with 8 chips


def table(topology: Topology, targets: dict[Coordinate, Coordinate]) -> Permutation:
    return Permutation(topology, lambda chips: {chip: targets.get(chip, chip) for chip in chips})


def shifted(topology: Topology, by: int) -> Permutation:
    (size,) = topology.shape
    return table(topology, {(at,): ((at + by) % size,) for at in range(size)})


@pytest.mark.parametrize(
    ("kind", "by", "words", "micros", "relation", "leaving"),
    [
        ("switch", 3, "V/8w + a", 2, Relation.EQUAL, 1),
        ("ring", 1, "V/8w + a", 2, Relation.EQUAL, 1),
        ("ring", 3, "3 V/8w + 3a", 6, Relation.LOWER_BOUND, 3),
        ("line", 1, "7 V/8w + 7a", 14, Relation.EQUAL, 2),
    ],
)
def test_shifts_by_a_table(
    kind: str, by: int, words: str, micros: int, relation: Relation, leaving: int
) -> None:
    topology = machine((8, kind))
    mesh = lay_mesh(topology, {"X": 8})
    call = CostModel().call(TransferKind.PERMUTE, mesh.group(("X",)), SIZE, shifted(topology, by))
    price = CostModel().collective(call)
    assert price.exact.total == Fraction(micros, 10**6)
    assert (price.exact_formula, price.relation) == (words, relation)
    assert price.wire_bytes == leaving * SIZE / 8
    assert simulate_calls(topology, [call]).makespan == price.exact.total


def test_the_longest_way_or_the_busiest_link() -> None:
    """All chips of a line change sides: the link in the middle carries four messages each way."""
    topology = machine((8, "line"))
    turned = table(topology, {(at,): (7 - at,) for at in range(8)})
    call = CostModel().call(
        TransferKind.PERMUTE, lay_mesh(topology, {"X": 8}).group(("X",)), SIZE, turned
    )
    price = CostModel().collective(call)
    assert turned.traffic.busiest == 4
    assert price.exact_formula == "7 V/8w + 7a"
    assert price.relation is Relation.LOWER_BOUND
    simulated = simulate_calls(topology, [call]).makespan
    assert price.exact.total <= simulated <= price.estimate


@pytest.mark.parametrize("model", LatencyModel)
@pytest.mark.parametrize(
    "shape", [((8, "switch"),), ((4, "ring"), (4, "ring")), ((4, "line"), (2, "line"))]
)
def test_random_tables_are_bounded_and_equal_where_no_link_is_shared(
    shape: tuple[tuple[int, str], ...], model: LatencyModel
) -> None:
    topology = machine(*shape)
    mesh = lay_mesh(topology)
    chips = list(topology.coordinates())
    rng = random.Random(3)
    relations = set()
    for moved in [2, 2, 2, *([len(chips)] * 12)]:
        some = rng.sample(chips, moved)
        permutation = table(topology, dict(zip(some, [*some[1:], some[0]], strict=True)))
        cost = CostModel(model)
        group = mesh.group(tuple(mesh.sizes))
        call = cost.call(
            TransferKind.PERMUTE, group, Fraction(rng.randrange(1, 10**9)), permutation
        )
        price = cost.collective(call)
        simulated = simulate_calls(topology, [call], model).makespan
        relations.add(price.relation)
        if price.relation is Relation.EQUAL:
            assert simulated == price.exact.total
        else:
            assert price.exact.total <= simulated
    assert Relation.EQUAL in relations


def test_a_table_that_moves_nothing_costs_nothing() -> None:
    topology = machine((4, "ring"))
    call = CostModel().call(
        TransferKind.PERMUTE, lay_mesh(topology).group(("X",)), SIZE, shifted(topology, 0)
    )
    price = CostModel().collective(call)
    assert (price.exact.total, price.wire_bytes, price.exact_formula) == (0, 0, "0")
    assert simulate_calls(topology, [call]).makespan == 0


def test_a_step_of_a_plan() -> None:
    topology = machine((8, "switch"))
    mesh = lay_mesh(topology, {"X": 2, "Y": 4})
    plan = planned("A[I_XY] -> A[I_YX]", topology, {"I": 64}, mesh=mesh)
    (step,) = plan.steps
    assert isinstance(step, CollectiveStep)
    assert (step.op, step.name, step.label) == (
        "permute", "CollectivePermute", "CollectivePermute_XY of A",
    )  # fmt: skip
    assert step.text == "A[I_XY] -> A[I_YX]"
    entry = plan.to_dict()["steps"][0]
    assert (entry["op"], entry["axes"], entry["bytes"]) == ("permute", ["X", "Y"], 128)
    a = np.arange(64)
    assert np.array_equal(execute(plan, {"A": a}), a)


def test_copies_stay_where_they_can() -> None:
    """A block that several chips hold comes from the one that need not keep it."""
    topology = machine((8, "switch"))
    mesh = lay_mesh(topology, {"X": 2, "Y": 2, "Z": 2})
    plan = planned(
        "A[I_X, J_Z] -> A[I_Y, J_Z]", topology, {"I": 64, "J": 64}, mesh=mesh,
        objective=Objective.BYTES,
    )  # fmt: skip
    (step,) = plan.steps
    assert isinstance(step, CollectiveStep)
    assert step.axes == ("X", "Y")
    permutation = step.call.permutation
    assert permutation is not None
    kept = [chip for chip, target in permutation.targets.items() if chip == target]
    assert len(kept) == 4  # those whose X is their Y
