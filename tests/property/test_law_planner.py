"""Laws of the planner: nothing cheaper is found by force; costs do not depend on names or sides."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from shardsim.cost import CostModel
from shardsim.matmul import MatmulShape
from shardsim.mesh import Mesh, Permutation
from shardsim.notation import Array, Contraction, Dim, Reshard
from shardsim.planner import Alternative, make_plan
from shardsim.program import Dtypes, bind_program
from shardsim.topology import Topology
from shardsim.vocabulary import CollectiveKind, Dtype, IdleAxes, Objective, Policy, TransferKind
from tests.machines import machine, mesh_of

KINDS = st.sampled_from(["ring", "line", "switch"])
COST = CostModel()
Axes = tuple[str, ...]
Layout = tuple[tuple[Axes, ...], Axes]
"""Axes of each dimension, and the axes of the partial sums."""


# Moves by force, written apart from the planner's own.


@dataclass(frozen=True)
class Force:
    """All moves of one array on one mesh, and what they cost."""

    mesh: Mesh
    bytes: Fraction
    extents: tuple[int, ...]
    objective: Objective
    edges: dict[tuple[Layout, Layout], Fraction | None] = field(default_factory=dict, compare=False)

    def ways(self, axes: Axes) -> int:
        return math.prod(self.mesh.sizes[axis] for axis in axes)

    def fits(self, layout: Layout) -> bool:
        return all(e % self.ways(a) == 0 for e, a in zip(self.extents, layout[0], strict=True))

    def local(self, layout: Layout) -> Fraction:
        return self.bytes / self.ways(tuple(itertools.chain(*layout[0])))

    def layouts(self) -> Iterator[Layout]:
        names = tuple(self.mesh.sizes)
        places = [*range(len(self.extents)), "sum", "idle"]
        for where in itertools.product(places, repeat=len(names)):
            on = [
                [n for n, place in zip(names, where, strict=True) if place == dim]
                for dim in range(len(self.extents))
            ]
            sums = tuple(sorted(n for n, p in zip(names, where, strict=True) if p == "sum"))
            for orders in itertools.product(*(itertools.permutations(some) for some in on)):
                if self.fits((tuple(orders), sums)):
                    yield tuple(orders), sums

    def cost(self, before: Layout, after: Layout) -> Fraction | None:
        """The least that one move costs, or None where no move leads there."""
        found = [
            self.price(kind, axes, size, before, after)
            for kind, axes, size in self.moves(before, after)
        ]
        return min(found, default=None)

    def price(
        self, kind: object, axes: Axes, size: Fraction, before: Layout, after: Layout
    ) -> Fraction:
        if kind == "slice":
            return Fraction(0)
        table = None
        if kind is TransferKind.PERMUTE:
            table = Permutation(self.mesh.topology, lambda _: self.table(before, after))
        ordered = tuple(name for name in self.mesh.sizes if name in axes)
        call = COST.call(kind, self.mesh.group(ordered), size, table)  # type: ignore[arg-type]
        price = COST.collective(call)
        return price.estimate if self.objective is Objective.TIME else price.wire_bytes

    def table(self, before: Layout, after: Layout) -> dict[tuple[int, ...], tuple[int, ...]]:
        """Each chip to the one that wants its block; copies by what is idle before and after."""
        chips = list(self.mesh.topology.coordinates())

        def block(chip: tuple[int, ...], layout: Layout) -> tuple[int, ...]:
            found = []
            for axes in layout[0]:
                at = 0
                for axis in axes:
                    at = at * self.mesh.sizes[axis] + self.mesh.position(chip, axis)
                found.append(at)
            return tuple(found)

        used = [set(itertools.chain(*layout[0])) for layout in (before, after)]
        names = list(self.mesh.sizes)
        same = [n for n in names if n not in used[0] | used[1]]
        old = [n for n in names if n in used[1] - used[0]]
        new = [n for n in names if n in used[0] - used[1]]

        def copy(chip: tuple[int, ...], own: list[str]) -> tuple[int, ...]:
            at = 0
            for name in own:
                at = at * self.mesh.sizes[name] + self.mesh.position(chip, name)
            return (at, *(self.mesh.position(chip, name) for name in same))

        wants = {(block(chip, after), copy(chip, new)): chip for chip in chips}
        return {chip: wants[block(chip, before), copy(chip, old)] for chip in chips}

    def moves(self, before: Layout, after: Layout) -> Iterator[tuple[object, Axes, Fraction]]:
        (dims, sums), (then, left) = before, after
        local = self.local(before)
        gone = tuple(a for a in sums if a not in left)
        if set(left) - set(sums):
            return
        longer = [i for i, (a, b) in enumerate(zip(dims, then, strict=True)) if len(b) > len(a)]
        grown = all(b[: len(a)] == a for a, b in zip(dims, then, strict=True))
        shrunk = all(a[: len(b)] == b for a, b in zip(dims, then, strict=True))
        if gone and dims == then:
            yield CollectiveKind.ALL_REDUCE, gone, local
        if gone and grown and len(longer) == 1:
            (dim,) = longer
            if set(then[dim][len(dims[dim]) :]) == set(gone):
                yield CollectiveKind.REDUCE_SCATTER, gone, local
        if sums != left or dims == then:
            return
        more = tuple(itertools.chain(*(b[len(a) :] for a, b in zip(dims, then, strict=True))))
        if grown and not set(more) & {*itertools.chain(*dims), *sums}:
            yield "slice", more, local
        less = tuple(itertools.chain(*(a[len(b) :] for a, b in zip(dims, then, strict=True))))
        if shrunk:
            yield CollectiveKind.ALL_GATHER, less, local * self.ways(less)
        changed = [i for i, (a, b) in enumerate(zip(dims, then, strict=True)) if a != b]
        if len(changed) == 2:
            for source, target in itertools.permutations(changed):
                moved = dims[source][len(then[source]) :]
                if dims[source] == then[source] + moved and then[target] == dims[target] + moved:
                    yield CollectiveKind.ALL_TO_ALL, moved, local * self.ways(moved)
        if tuple(map(self.ways, dims)) == tuple(map(self.ways, then)):
            axes = tuple(n for n in self.mesh.sizes if n in {*itertools.chain(*dims, *then)})
            yield TransferKind.PERMUTE, axes, local * self.ways(axes)

    def within(self, start: Layout, most: int) -> list[dict[Layout, Fraction]]:
        """For each number of moves, the least cost of every layout that so many lead to."""
        every = list(self.layouts())
        found = [{start: Fraction(0)}]
        for _ in range(most):
            last = found[-1]
            after = dict(last)
            for here, paid in last.items():
                for there in every:
                    added = self.edge(here, there)
                    if added is not None and paid + added < after.get(there, paid + added + 1):
                        after[there] = paid + added
            found.append(after)
        return found

    def edge(self, here: Layout, there: Layout) -> Fraction | None:
        if (here, there) not in self.edges:
            self.edges[here, there] = self.cost(here, there)
        return self.edges[here, there]


def layout_of(array: Array) -> Layout:
    return tuple(dim.axes for dim in array.dims), array.unreduced


def measure(way: Alternative, objective: Objective) -> Fraction:
    return way.estimate if objective is Objective.TIME else way.wire_bytes


@st.composite
def arrays(draw: st.DrawFn, name: str, dims: str, axes: str = "XY") -> Array:
    where = {axis: draw(st.sampled_from([None, *dims])) for axis in draw(st.permutations(axes))}
    return Array(
        name=name,
        dims=tuple(Dim(d, tuple(a for a, at in where.items() if at == d)) for d in dims),
    )


@st.composite
def problems(draw: st.DrawFn, axes: str = "XY") -> tuple[Contraction, Topology, dict[str, int]]:
    """One sharded matmul, on small extents of unlike size."""
    topology = machine((draw(st.sampled_from([2, 4])), draw(KINDS)), (2, draw(KINDS)))
    statement = Contraction(
        operands=(draw(arrays("A", "IJ", axes)), draw(arrays("B", "JK", axes))),
        result=draw(arrays("C", "IK", axes)),
        contracted=(("J",),),
    )
    sizes = st.sampled_from([8, 16, 64, 1024])
    return statement, topology, {dim: draw(sizes) for dim in "IJK"}


def planned(
    statement: Contraction,
    topology: Topology,
    extents: dict[str, int],
    objective: Objective = Objective.TIME,
    policy: Policy = Policy.CHEAPEST,
) -> Alternative:
    program = bind_program((statement,), mesh_of(topology), extents, Dtypes(Dtype.BF16))
    plan = make_plan(program, COST, objective=objective, policy=policy)
    return plan.choices[-1].chosen


@given(problems(), st.sampled_from([Objective.TIME, Objective.BYTES]))
def test_no_plan_of_four_moves_is_cheaper(
    problem: tuple[Contraction, Topology, dict[str, int]], objective: Objective
) -> None:
    statement, topology, extents = problem
    mesh = mesh_of(topology)
    named = {axis for array in (*statement.operands, statement.result) for axis in array.axes}
    assume(named == {"X", "Y"})
    forces = {}
    for array in (*statement.operands, statement.result):
        shape = tuple(extents[dim] for dim in array.dim_names)
        forces[array.name] = Force(mesh, math.prod(shape) * Dtype.BF16.bytes, shape, objective)
    a, b = statement.operands
    goal = layout_of(statement.result)
    lefts = forces["A"].within(layout_of(a), 3)
    rights = forces["B"].within(layout_of(b), 3)
    products: dict[Layout, list[dict[Layout, Fraction]]] = {}
    best: Fraction | None = None
    for left_moves, right_moves in itertools.product(range(4), repeat=2):
        home_moves = 4 - left_moves - right_moves
        if home_moves < 0:
            continue
        for (left, one), (right, two) in itertools.product(
            lefts[left_moves].items(), rights[right_moves].items()
        ):
            if left[1] or right[1] or left[0][1] != right[0][0]:
                continue
            used = (*left[0][0], *left[0][1], *right[0][1])
            if len(set(used)) < len(used):
                continue
            made: Layout = (left[0][0], right[0][1]), tuple(sorted(left[0][1]))
            if made not in products:
                products[made] = forces["C"].within(made, 2)
            home = products[made][min(home_moves, 2)].get(goal)
            if home is None:
                continue
            cost = one + two + home
            if objective is Objective.TIME:
                cost += _matmul(mesh, extents, left, right)
            best = cost if best is None else min(best, cost)
    chosen = planned(statement, topology, extents, objective)
    if best is not None:
        assert measure(chosen, objective) <= best, (str(statement), chosen.steps)


def _matmul(mesh: Mesh, extents: dict[str, int], left: Layout, right: Layout) -> Fraction:
    ways = [math.prod(mesh.sizes[a] for a in axes) for axes in (*left[0], right[0][1])]
    i, j, k = (extents[dim] // way for dim, way in zip("IJK", ways, strict=True))
    traffic = Fraction(2 * (i * j + j * k + i * k))
    return COST.matmul(MatmulShape(1, i, j, k), traffic, Dtype.BF16, mesh.topology.chip).seconds


@given(problems())
def test_the_cheapest_is_never_dearer_than_the_four_rules(
    problem: tuple[Contraction, Topology, dict[str, int]],
) -> None:
    cheapest = planned(*problem)
    textbook = planned(*problem, policy=Policy.TEXTBOOK)
    assert cheapest.estimate <= textbook.estimate


@given(problems(), st.sampled_from([Objective.TIME, Objective.BYTES]))
def test_transposing_the_problem_leaves_the_cost(
    problem: tuple[Contraction, Topology, dict[str, int]], objective: Objective
) -> None:
    statement, topology, extents = problem

    def flipped(array: Array) -> Array:
        return Array(name=array.name, dims=tuple(reversed(array.dims)))

    a, b = statement.operands
    transposed = Contraction(
        operands=(flipped(b), flipped(a)),
        result=flipped(statement.result),
        contracted=(("J",),),
    )
    there = planned(transposed, topology, extents, objective)
    assert measure(planned(statement, topology, extents, objective), objective) == measure(
        there, objective
    )


@given(problems(), st.sampled_from([Objective.TIME, Objective.BYTES]))
def test_renaming_axes_leaves_the_cost(
    problem: tuple[Contraction, Topology, dict[str, int]], objective: Objective
) -> None:
    statement, topology, extents = problem
    names = {"X": "model", "Y": "A"}

    def renamed(array: Array) -> Array:
        dims = (Dim(d.name, tuple(names[axis] for axis in d.axes)) for d in array.dims)
        return Array(name=array.name, dims=tuple(dims))

    a, b = statement.operands
    other = Contraction(
        operands=(renamed(a), renamed(b)),
        result=renamed(statement.result),
        contracted=(("J",),),
    )
    mesh = mesh_of(topology, *names.values())
    program = bind_program((other,), mesh, extents, Dtypes(Dtype.BF16))
    there = make_plan(program, COST, objective=objective).choices[-1].chosen
    assert measure(planned(statement, topology, extents, objective), objective) == measure(
        there, objective
    )


@given(
    st.lists(arrays("A", "IJ", "XYZ"), min_size=3, max_size=3),
    st.tuples(KINDS, KINDS, KINDS),
    st.sampled_from([Objective.TIME, Objective.BYTES]),
    st.sampled_from([16, 256, 4096]),
)
def test_triangle_inequality_of_reshards(
    stops: list[Array], kinds: tuple[str, str, str], objective: Objective, extent: int
) -> None:
    """Where every axis may be used on the way; a stop may name one that the ends do not."""
    mesh = mesh_of(machine((4, kinds[0]), (2, kinds[1]), (2, kinds[2])))
    extents = {"I": extent, "J": 64}

    def cost(start: Array, end: Array) -> Fraction:
        program = bind_program((Reshard(operand=start, result=end),), mesh, extents)
        plan = make_plan(program, COST, objective=objective, idle_axes=IdleAxes.USE)
        return measure(plan.choices[-1].chosen, objective)

    first, middle, last = stops
    assert cost(first, last) <= cost(first, middle) + cost(middle, last)
