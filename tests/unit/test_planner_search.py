"""What the planner searches with: atoms, layouts and moves both ways, costs, cheapest paths."""

from __future__ import annotations

import gc
import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.hardware import Link
from shardsim.mesh import Mesh, lay_mesh
from shardsim.planner.atoms import Atoms
from shardsim.planner.layout import Layout, Move, cut_alike, layouts, moves_from, moves_to
from shardsim.planner.paths import Edge, Late, Paths
from shardsim.planner.worth import Worth
from shardsim.topology import Topology
from shardsim.vocabulary import CollectiveKind, LatencyModel, Objective
from tests.machines import machine, planned

# Atoms


def mesh(*sizes: int, kind: str = "ring") -> Mesh:
    return lay_mesh(machine(*((size, kind) for size in sizes)))


@pytest.mark.parametrize(
    ("sizes", "named", "cut", "atoms"),
    [
        ((4, 2), "XY", True, ["X:(1)2", "X:(2)2", "Y"]),
        ((4, 2), "XY", False, ["X", "Y"]),
        ((4, 2), "Y", True, ["Y"]),
        ((4, 1), "XY", True, ["X:(1)2", "X:(2)2"]),
        ((6,), "X", True, ["X:(1)3", "X:(3)2"]),
        ((16,), "X", True, ["X"]),  # four parts would be too many to search
        ((4, 4), "XY", True, ["X", "Y"]),
        ((4, 4), ["X:(1)2", "Y"], False, ["X:(1)2", "X:(2)2", "Y"]),
    ],
)
def test_what_is_moved_one_by_one(
    sizes: tuple[int, ...], named: list[str], cut: bool, atoms: list[str]
) -> None:
    assert list(Atoms.of(mesh(*sizes), named, cut=cut).names) == atoms


def test_axes_as_atoms_and_back() -> None:
    atoms = Atoms.of(mesh(8, 2), ["X", "X:(2)2", "Y"], cut=False)
    assert atoms.names == ("X:(1)2", "X:(2)2", "X:(4)2", "Y")
    assert atoms.split(["Y", "X"]) == ("Y", "X:(1)2", "X:(2)2", "X:(4)2")
    assert atoms.split(["X:(2)4"]) == ("X:(2)2", "X:(4)2")
    assert atoms.joined(("X:(2)2", "X:(4)2", "Y")) == ("X:(2)4", "Y")
    assert atoms.joined(("X:(4)2", "X:(2)2")) == ("X:(4)2", "X:(2)2")
    assert atoms.joined(atoms.split(["X", "Y"])) == ("X", "Y")


def test_no_parts_of_chips_in_an_order_of_their_own() -> None:
    topology = machine((2, "line"), (2, "line"))
    ordered = lay_mesh(topology, {"X": 4}, devices=[(0, 0), (0, 1), (1, 1), (1, 0)])
    assert Atoms.of(ordered, ["X"], cut=True).names == ("X",)


# Layouts and moves

AXES = ("X", "Y", "Z")


@pytest.mark.parametrize(
    ("axes", "dims", "count"), [(1, 2, 3), (2, 2, 11), (3, 2, 49), (2, 3, 19), (2, 0, 1)]
)
def test_so_many_layouts(axes: int, dims: int, count: int) -> None:
    found = layouts(AXES[:axes], dims)
    assert len(found) == len(set(found)) == count


def test_layouts_that_are_cut_alike() -> None:
    found = cut_alike(("X", "Y", "Z"), (4, 2, 2), 1)
    assert set(found) == {(1,), (2,), (4,), (8,), (16,)}
    assert set(found[4,]) == {(("X",),), (("Y", "Z"),), (("Z", "Y"),)}


def every_layout(dims: int = 2) -> list[Layout]:
    return [
        Layout(cut, sums)
        for count in range(len(AXES) + 1)
        for sums in itertools.combinations(AXES, count)
        for cut in layouts(tuple(a for a in AXES if a not in sums), dims)
    ]


def test_moves_backwards_are_the_moves_forwards() -> None:
    """As sets of (before, kind, axes, dim, after); the order of a gather's axes says nothing."""

    def arrow(before: Layout, move: Move) -> tuple[object, ...]:
        axes: object = move.axes
        if move.kind in (CollectiveKind.ALL_GATHER, CollectiveKind.ALL_REDUCE):
            axes = frozenset(move.axes)
        return before, move.kind, axes, move.dim, move.result

    forwards = {arrow(a, move) for a in every_layout() for move in moves_from(a, AXES)}
    backwards = {arrow(a, move) for b in every_layout() for a, move in moves_to(b, AXES)}
    assert forwards == backwards


def test_a_move_keeps_each_axis_in_one_place() -> None:
    for before in every_layout():
        for move in moves_from(before, AXES):
            used = [*itertools.chain(*move.result.axes), *move.result.unreduced]
            assert len(set(used)) == len(used)


# Costs

AMOUNTS = st.fractions(0, 10**6, max_denominator=10**9)


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS, AMOUNTS), min_size=2, max_size=2))
def test_costs_order_as_what_they_stand_for(amounts: list[tuple[Fraction, ...]]) -> None:
    (time, sent, held), (other_time, other_sent, other_held) = amounts
    for objective, ours, theirs in [
        (Objective.TIME, time, other_time),
        (Objective.BYTES, sent, other_sent),
        (Objective.MEMORY, held, other_held),
    ]:
        worth = Worth(objective)
        if abs(ours - theirs) > Fraction(1, 2**39):
            one, two = worth.of(time, sent, held), worth.of(other_time, other_sent, other_held)
            assert (one < two) is (ours < theirs)


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS, AMOUNTS), min_size=3, max_size=3))
def test_costs_are_put_together_in_any_order(amounts: list[tuple[Fraction, ...]]) -> None:
    for objective in Objective:
        worth = Worth(objective)
        a, b, c = (worth.of(*some) for some in amounts)
        assert worth.both(worth.both(a, b), c) == worth.both(a, worth.both(b, c))
        assert worth.both(a, b) == worth.both(b, a) >= max(a, b)


@pytest.mark.parametrize("topology", [machine((2, "ring"), (4, "line")), machine((8, "switch"))])
@given(parts=st.lists(st.integers(1, 2**40), min_size=2, max_size=9))
def test_what_takes_equally_long_in_all_costs_the_same(
    topology: Topology, parts: list[int]
) -> None:
    """However many steps it is: bytes over a link and hops are counted without rounding."""
    worth = Worth.on(Objective.TIME, topology)
    link = topology.dimensions[0].link
    seconds = [Fraction(part, 4) / link.one_way_bandwidth + link.latency for part in parts]
    alone = [worth.of(one, Fraction(0), Fraction(0)) for one in seconds]
    together = worth.of(sum(seconds, Fraction(0)), Fraction(0), Fraction(0))
    steps = worth.of(Fraction(0), Fraction(0), Fraction(0)) * (len(parts) - 1)
    assert sum(alone) == together + steps


def test_of_plans_that_take_equally_long_the_one_that_sends_less() -> None:
    """With latency as a floor, small messages cost the same: 1 us a hop, whatever is moved."""
    for factor in (1, 2, 3):
        link = Link(Fraction(45 * 10**9) * factor, Fraction(1, 10**6 * factor))
        made = planned("W[J_XY, K] -> W[J, K_Y]", machine((2, "ring"), (2, "ring"), link=link),
                       {"J": 4, "K": 4}, latency_model=LatencyModel.FLOOR)  # fmt: skip
        assert [step.text for step in made.steps] == [
            "AllToAll_{Y,K} W[J_XY, K] -> W[J_X, K_Y]",
            "AllGather_X W[J_X, K_Y] -> W[J, K_Y]",
        ]


# Paths


def node(name: str) -> Layout:
    return Layout(((name,),))


def step(to: str) -> Move:
    return Move(None, (to,), 0, node(to))


def paths(graph: dict[str, dict[str, int]], late: dict[str, dict[str, int]]) -> Paths:
    def walk(layout: Layout) -> tuple[list[Edge], Late | None]:
        (((here,),),) = (layout.axes,)
        edges = [Edge(node(to), step(to), cost) for to, cost in graph.get(here, {}).items()]
        priced = late.get(here)
        if not priced:
            return edges, None
        return edges, Late(
            1, lambda: [Edge(node(to), step(to), 1, lambda c=c: c) for to, c in priced.items()]
        )

    return Paths({node("a"): 0}, walk, lambda one, other: one + other)


def test_the_cheapest_way_is_found() -> None:
    found = paths({"a": {"b": 5, "c": 1}, "c": {"b": 2}, "b": {"d": 1}}, {})
    assert found.to(node("d")) == 4
    start, moves = found.way(node("d"))
    assert start == node("a")
    assert [move.axes for move in moves] == [("c",), ("b",), ("d",)]
    assert found.to(node("z")) is None


def test_edges_that_are_priced_late_count_what_they_cost() -> None:
    found = paths({"a": {"b": 5}}, {"a": {"b": 3, "c": 9}, "b": {"c": 1}})
    assert found.to(node("b")) == 3
    assert found.to(node("c")) == 4


def test_only_what_is_near_is_settled() -> None:
    found = paths({"a": {"b": 2, "c": 7}, "b": {"d": 2}}, {})
    assert found.reached == 0
    found.advance(3)
    assert set(found.best) == {node("a"), node("b")}
    assert found.reached == 4
    found.advance(100)
    assert found.best[node("d")] == 4
    assert found.reached is None


@given(st.integers(0, 10**6))
def test_all_distances_of_random_graphs(seed: int) -> None:
    import random

    rng = random.Random(seed)
    names = "abcdefg"
    graph = {
        n: {m: rng.randint(1, 9) for m in names if m != n and rng.random() < 0.4} for n in names
    }
    late = {
        n: {m: rng.randint(1, 9) for m in names if m != n and rng.random() < 0.3} for n in names
    }
    distance = dict.fromkeys(names, 10**9) | {"a": 0}
    for _ in names:
        for n, edges in itertools.chain(graph.items(), late.items()):
            for m, cost in edges.items():
                distance[m] = min(distance[m], distance[n] + cost)
    found = paths(graph, late)
    for name in names:
        assert (found.to(node(name)) or 0) == (distance[name] if distance[name] < 10**9 else 0)


# What a search leaves behind


@pytest.mark.parametrize(
    "text",
    [
        "A[I_XZ, J_Y] · B[J_ZYX, K] -> C[I_X, K]",
        "A[I_X, J] · B[J_X, K] · D[K, L_Y] -> C[I, L]",
        "A[I_XY, J] -> A[I_Y, J_X]",
        "ReduceScatter_{X, J} A[I_Y, J]{U_X} -> A[I_Y, J_X]",
    ],
)
@pytest.mark.parametrize("is_explained", [False, True])
def test_nothing_is_left_to_the_garbage_collector(text: str, *, is_explained: bool) -> None:
    """No reference cycles: else plan after plan, passes of tens of milliseconds."""
    cube = mesh(2, 2, 2)
    extents = {name: 64 for name in "IJKL" if name in text}

    def work() -> None:
        for choice in planned(text, cube.topology, extents, mesh=cube).choices:
            if is_explained:
                assert choice.to_dict()["reasons"]

    work()  # what the process keeps is made here
    gc.collect()
    gc.disable()
    try:
        work()
        assert gc.collect() == 0
    finally:
        gc.enable()
