"""Laws of the closed forms and of reshardings. Everything is exact: `==` and `<=` on Fractions."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from shardsim.cost import CostModel, Terms
from shardsim.cost.terms import sum_of_largest
from shardsim.hardware import Link
from shardsim.notation import parse
from shardsim.planner import CollectiveStep, Plan, make_plan
from shardsim.planner.atoms import Atoms
from shardsim.planner.layout import Layout
from shardsim.planner.moving import ArrayMoves
from shardsim.planner.prices import Prices
from shardsim.planner.worth import FIRST, Worth
from shardsim.program import bind_program
from shardsim.sharding import bind
from shardsim.topology import Topology
from shardsim.vocabulary import (
    Algorithm,
    CollectiveKind,
    Dtype,
    LatencyModel,
    Objective,
    Policy,
)
from tests.machines import RING_ALGORITHMS, call_on, collective_plan, machine, mesh_of, planned
from tests.strategies import links, programs, sizes

KINDS = st.sampled_from(CollectiveKind)
MODELS = st.sampled_from(LatencyModel)
ALGORITHMS = st.sampled_from([*RING_ALGORITHMS, Algorithm.LINE, Algorithm.DIRECT, Algorithm.RING])
BYTES = st.fractions(min_value=1, max_value=10**12, max_denominator=64)
MORE = st.fractions(min_value=1, max_value=50, max_denominator=64)
ADDITIVE, FLOOR = LatencyModel.ADDITIVE, LatencyModel.FLOOR
GATHER, EXCHANGE = CollectiveKind.ALL_GATHER, CollectiveKind.ALL_TO_ALL
DIMENSIONS = {Algorithm.LINE: "line", Algorithm.DIRECT: "switch", Algorithm.RING: "switch"}


def exact_terms(
    kind: CollectiveKind, size: Fraction, n: int, link: Link, algorithm: Algorithm,
    model: LatencyModel,
) -> Terms:  # fmt: skip
    """The price of a collective on one ring, line or switch."""
    topology = machine((n, DIMENSIONS.get(algorithm, "ring")), link=link)
    call = call_on(topology, kind, size, algorithm=algorithm, latency_model=model)
    return CostModel(model).collective(call).exact


@given(KINDS, BYTES, MORE, sizes(), links(), ALGORITHMS, MODELS)
def test_monotone_in_bytes(
    kind: CollectiveKind, size: Fraction, more: Fraction, n: int, link: Link,
    algorithm: Algorithm, model: LatencyModel,
) -> None:  # fmt: skip
    less = exact_terms(kind, size, n, link, algorithm, model)
    assert less.total <= exact_terms(kind, size * more, n, link, algorithm, model).total


@given(KINDS, BYTES, MORE, sizes(), links(), ALGORITHMS, MODELS)
def test_monotone_in_latency_and_antitone_in_bandwidth(
    kind: CollectiveKind, size: Fraction, more: Fraction, n: int, link: Link,
    algorithm: Algorithm, model: LatencyModel,
) -> None:  # fmt: skip
    time = exact_terms(kind, size, n, link, algorithm, model).total
    slower = Link(link.one_way_bandwidth, link.latency * more)
    wider = Link(link.one_way_bandwidth * more, link.latency)
    assert time <= exact_terms(kind, size, n, slower, algorithm, model).total
    assert time >= exact_terms(kind, size, n, wider, algorithm, model).total


@given(BYTES, sizes(), links(), ALGORITHMS, MODELS)
def test_all_reduce_lies_between(
    size: Fraction, n: int, link: Link, algorithm: Algorithm, model: LatencyModel
) -> None:
    scatter, reduce, gather = (
        exact_terms(kind, size, n, link, algorithm, model).total
        for kind in (CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_REDUCE, GATHER)
    )
    assert scatter <= reduce <= scatter + gather


@given(KINDS, BYTES, BYTES, sizes(), links(), ALGORITHMS, MODELS)
def test_together_costs_no_more_than_apart(
    kind: CollectiveKind, one: Fraction, other: Fraction, n: int, link: Link,
    algorithm: Algorithm, model: LatencyModel,
) -> None:  # fmt: skip
    together, first, second = (
        exact_terms(kind, size, n, link, algorithm, model).total
        for size in (one + other, one, other)
    )
    assert together <= first + second


@given(BYTES, sizes(), links(), ALGORITHMS, MODELS)
def test_all_to_all_costs_no_more_than_all_gather(
    size: Fraction, n: int, link: Link, algorithm: Algorithm, model: LatencyModel
) -> None:
    """On a line the floor model is left out: there every block is a message with a floor."""
    if algorithm is Algorithm.LINE:
        model = ADDITIVE
    exchange = exact_terms(EXCHANGE, size, n, link, algorithm, model).total
    assert exchange <= exact_terms(GATHER, size, n, link, algorithm, model).total


def test_where_all_to_all_costs_more_than_all_gather() -> None:
    """A line of 4, one byte, a floor of 1 s: 2 x 2 messages cross the middle, 3 in an AllGather."""
    link = Link(Fraction(10**9), Fraction(1))
    one = Fraction(1)
    assert exact_terms(EXCHANGE, one, 4, link, Algorithm.LINE, FLOOR).total == 4
    assert exact_terms(GATHER, one, 4, link, Algorithm.LINE, FLOOR).total == 3


@given(KINDS, BYTES, sizes(), links(), MODELS)
def test_ring_costs_no_more_than_line(
    kind: CollectiveKind, size: Fraction, n: int, link: Link, model: LatencyModel
) -> None:
    ring = exact_terms(kind, size, n, link, Algorithm.BALANCED, model).total
    assert ring <= exact_terms(kind, size, n, link, Algorithm.LINE, model).total


@given(KINDS, BYTES, sizes(), links())
def test_line_costs_no_more_than_twice_the_ring(
    kind: CollectiveKind, size: Fraction, n: int, link: Link
) -> None:
    """Additive model: twice the bandwidth term, and N-1 hops are no more than 2 floor(N/2)."""
    ring = exact_terms(kind, size, n, link, Algorithm.BALANCED, ADDITIVE)
    line = exact_terms(kind, size, n, link, Algorithm.LINE, ADDITIVE)
    assert line.total <= 2 * ring.total
    if kind is not EXCHANGE:
        assert line.bandwidth == 2 * ring.bandwidth


@given(KINDS, BYTES, links(), ALGORITHMS, MODELS)
def test_one_chip_costs_nothing(
    kind: CollectiveKind, size: Fraction, link: Link, algorithm: Algorithm, model: LatencyModel
) -> None:
    assert exact_terms(kind, size, 1, link, algorithm, model).total == 0


@given(KINDS, st.integers(1, 1000), sizes(12), links(), st.sampled_from(RING_ALGORITHMS))
def test_twice_the_dtype_is_twice_the_bandwidth_term_only(
    kind: CollectiveKind, elements: int, n: int, link: Link, algorithm: Algorithm
) -> None:
    half = collective_plan(kind, n, "ring", elements, link, algorithm)
    lines = [choice.text for choice in half.choices]
    full = planned(
        lines, half.mesh.topology, dict(half.program.extents), algorithm=algorithm, dtype=Dtype.F32
    )
    terms = [
        [step.price.exact for step in plan.steps if isinstance(step, CollectiveStep)]
        for plan in (half, full)
    ]
    assert terms[1] == [Terms(2 * found.bandwidth, found.latency) for found in terms[0]]


# brute force


@given(
    st.fractions(0, 9, max_denominator=2),
    st.integers(0, 40),
    st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=50),
    st.fractions(0, 900, max_denominator=50),
)
def test_sum_of_largest_by_brute_force(
    first: Fraction, count: int, unit: Fraction, floor: Fraction
) -> None:
    found = sum_of_largest(first, count, unit, floor)
    each = [(first + j) * unit for j in range(count)]
    assert found.total == sum((max(floor, one) for one in each), Fraction(0))
    assert found.bandwidth == sum((one for one in each if one >= floor), Fraction(0))


def gathered(n: int) -> dict[Algorithm, list[Fraction]]:
    """Messages one after the other on the busiest link of an AllGather, in blocks of V/N."""
    half = Fraction(1, 2)
    return {
        Algorithm.BALANCED: [Fraction(1)] * ((n - 1) // 2) + ([half] if n % 2 == 0 else []),
        Algorithm.WHOLE_SHARDS: [Fraction(1)] * (n // 2),
        Algorithm.HALF_SHARDS: [half] * (n - 1),
        Algorithm.ONE_DIRECTION: [Fraction(1)] * (n - 1),
        Algorithm.LINE: [Fraction(1)] * (n - 1),
        Algorithm.RING: [Fraction(1)] * (n - 1),
        Algorithm.DIRECT: [Fraction(1)] * (n - 1),
    }


def exchanged(n: int) -> dict[Algorithm, list[Fraction]]:
    """The same for an AllToAll, in blocks of V/N^2; on a line, the messages of the middle link."""
    middle = (n // 2) * (n - n // 2)
    return {
        Algorithm.BALANCED: [Fraction(n, 2) - Fraction(1, 2) - j for j in range(n // 2)],
        Algorithm.WHOLE_SHARDS: [Fraction(n // 2 - j) for j in range(n // 2)],
        Algorithm.HALF_SHARDS: [Fraction(n - 1 - j, 2) for j in range(n - 1)],
        Algorithm.ONE_DIRECTION: [Fraction(n - 1 - j) for j in range(n - 1)],
        Algorithm.LINE: [Fraction(1)] * middle,
        Algorithm.RING: [Fraction(n - 1 - j) for j in range(n - 1)],
        Algorithm.DIRECT: [Fraction(1)] * (n - 1),
    }


@given(KINDS, BYTES, sizes(), links(), ALGORITHMS)
def test_the_floor_model_message_by_message(
    kind: CollectiveKind, size: Fraction, n: int, link: Link, algorithm: Algorithm
) -> None:
    messages = (exchanged if kind is EXCHANGE else gathered)(n)[algorithm]
    block = size / (n * n if kind is EXCHANGE else n) / link.one_way_bandwidth
    times = 2 if kind is CollectiveKind.ALL_REDUCE else 1
    expected = times * sum((max(link.latency, m * block) for m in messages), Fraction(0))
    assert exact_terms(kind, size, n, link, algorithm, FLOOR).total == expected


# plans


def seconds(plan: Plan) -> Fraction:
    return sum((step.seconds for step in plan.steps), Fraction(0))


@given(programs(3), st.sampled_from(Policy))
def test_renaming_axes_leaves_the_cost(
    case: tuple[list[str], Topology, dict[str, int]], policy: Policy
) -> None:
    """X and Y become Q and P, whose alphabetical order is the other way round."""
    lines, topology, extents = case
    renamed = tuple(parse(line.translate({ord("X"): "Q", ord("Y"): "P"})) for line in lines)
    program = bind_program(renamed, mesh_of(topology, "Q", "P"), extents)
    assert seconds(make_plan(program, CostModel(), policy=policy)) == seconds(
        planned(lines, topology, extents, policy=policy)
    )


@st.composite
def shardings(draw: st.DrawFn, dims: str) -> dict[str, str]:
    """Subscripts of an array's dimensions over X and Y."""
    where = dict.fromkeys(dims, "")
    for axis in draw(st.permutations("XY")):
        dim = draw(st.sampled_from(["", *dims]))
        if dim:
            where[dim] += axis
    return {dim: f"{dim}_{axes}" if axes else dim for dim, axes in where.items()}


@given(shardings("IJ"), shardings("JK"), shardings("IK"), st.sampled_from(Policy))
def test_transposing_a_product_leaves_the_cost(
    a: dict[str, str], b: dict[str, str], c: dict[str, str], policy: Policy
) -> None:
    """The cheapest plan of (A B)^T = B^T A^T costs as much as that of A B."""
    topology = machine((4, "ring"), (2, "line"))
    extents = {"I": 48, "J": 24, "K": 72}
    plain = f"A[{a['I']}, {a['J']}] · B[{b['J']}, {b['K']}] -> C[{c['I']}, {c['K']}]"
    turned = f"B[{b['K']}, {b['J']}] · A[{a['J']}, {a['I']}] -> C[{c['K']}, {c['I']}]"
    assert seconds(planned(plain, topology, extents, policy=policy)) == seconds(
        planned(turned, topology, extents, policy=policy)
    )


SIZES = st.sampled_from([64, 512, 2048, 16384])


@given(
    shardings("IJ"), shardings("JK"), shardings("KL"), shardings("IL"),
    st.fixed_dictionaries(dict.fromkeys("IJKL", SIZES)), st.sampled_from(Objective),
)  # fmt: skip
@example(
    {"I": "I", "J": "J_XY"}, {"J": "J_XY", "K": "K"}, {"K": "K", "L": "L"}, {"I": "I", "L": "L"},
    {"I": 64, "J": 16384, "K": 16384, "L": 512}, Objective.TIME,
)  # fmt: skip
def test_renaming_the_axes_of_a_chain_leaves_the_cost(
    a: dict[str, str],
    b: dict[str, str],
    c: dict[str, str],
    d: dict[str, str],
    extents: dict[str, int],
    objective: Objective,
) -> None:
    """X and Y become Q and P; partial sums over both may be carried on."""
    topology = machine((4, "line"), (2, "line"))
    text = (
        f"A[{a['I']}, {a['J']}] · B[{b['J']}, {b['K']}] · C[{c['K']}, {c['L']}]"
        f" -> D[{d['I']}, {d['L']}]"
    )
    renamed = text.translate({ord("X"): "Q", ord("Y"): "P"})
    mesh = mesh_of(topology, "Q", "P")
    assert seconds(planned(text, topology, extents, objective=objective)) == seconds(
        planned(renamed, topology, extents, mesh=mesh, objective=objective)
    )


# reshardings


@st.composite
def layouts(draw: st.DrawFn, axes: str) -> Layout:
    """Where some axes are: on I, on J, among the partial sums, or nowhere."""
    slots: dict[str, list[str]] = {"I": [], "J": [], "unreduced": []}
    for axis in draw(st.permutations(axes)):
        slot = draw(st.sampled_from(["", *slots]))
        if slot:
            slots[slot].append(axis)
    return Layout((tuple(slots["I"]), tuple(slots["J"])), tuple(sorted(slots["unreduced"])))


@given(st.data(), st.sampled_from(Objective), links())
def test_triangle_inequality_over_reshardings(
    data: st.DataObject, objective: Objective, link: Link
) -> None:
    """A detour is never cheaper, nor does it hold less; also over axes that neither end has."""
    kinds = data.draw(st.tuples(*[st.sampled_from(["ring", "line"])] * 3))
    mesh = mesh_of(machine(*zip((4, 2, 3), kinds, strict=True), link=link))
    start, goal = data.draw(layouts("XYZ")), data.draw(layouts("XYZ"))
    between = data.draw(layouts("XYZ"))
    atoms, worth = Atoms.of(mesh, "XYZ", cut=False), Worth(objective)
    (whole, _) = parse("A[I, J] · B[J, K] -> C[I, K]").operands  # type: ignore[union-attr]
    array = bind(whole, mesh, {"I": 48, "J": 24}, Dtype.BF16)
    moves = ArrayMoves(array, atoms, Prices(mesh, CostModel()), worth)

    def cost(here: Layout, there: Layout) -> int | None:
        return moves.forwards(here).to(there)

    direct, first, second = cost(start, goal), cost(start, between), cost(between, goal)
    assert cost(start, start) == 0
    if first is not None and second is not None:
        assert direct is not None
        together = worth.both(first, second)
        if objective is Objective.MEMORY:  # of ways that hold as much, not always the fastest
            direct, together = direct >> FIRST, together >> FIRST
        assert direct <= together
