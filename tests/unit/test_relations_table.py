"""The table of relations: every claim of the code has a row, and `docs/relations.md` is the table.

`pytest --update-golden` writes the file anew.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from shardsim.cost import CostModel, Wanted, relations
from shardsim.engine import simulate_calls
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    DimensionKind,
    LatencyModel,
    Relation,
    Schedule,
    TransferKind,
)
from tests.relations import (
    EXAMPLE_BYTES,
    FABRICS,
    KEYS,
    ROWS,
    Case,
    Row,
    call_on,
    example_of,
    example_table,
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "relations.md"


def name_of(kind: CallKind) -> str:
    return kind.notation if isinstance(kind, CollectiveKind) else kind.value.capitalize()


def every_case(row: Row) -> Iterator[Case]:
    """The example of a row, with each collective, algorithm, number of chunks and model."""
    found = row.example or row.fabric.example
    for kind, algorithm, chunks, model in itertools.product(
        row.kinds, row.algorithms, sorted(set(row.chunks)), row.models
    ):
        wanted = Wanted(algorithm, row.schedule, chunks)
        table = example_table(row, found)
        yield Case(found, call_on(found, kind, EXAMPLE_BYTES, wanted, model, table=table), model)


# Every claim has a row.


class Watched(ast.NodeTransformer):
    """Notes what each condition of a module's functions came to."""

    def __init__(self) -> None:
        self.seen: defaultdict[str, set[bool]] = defaultdict(set)
        self.conditions: set[str] = set()

    def note(self, condition: str, value: object) -> object:
        self.seen[condition].add(bool(value))
        return value

    def watch(self, node: ast.expr) -> ast.expr:
        text = f"line {node.lineno}: {ast.unparse(node)}"
        self.conditions.add(text)
        name = ast.Name("_note", ast.Load())
        return ast.Call(name, [ast.Constant(text), self.visit(node)], [])

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self.watch(node.test)
        node.body = [self.visit(line) for line in node.body]
        node.orelse = [self.visit(line) for line in node.orelse]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self.watch(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values = [self.watch(value) for value in node.values]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.ifs = [self.watch(condition) for condition in node.ifs]
        return node


def watched() -> tuple[Watched, dict[str, object]]:
    """A copy of `shardsim/cost/relations.py` whose conditions are watched."""
    assert relations.__file__ is not None
    tree = ast.parse(Path(relations.__file__).read_text(encoding="utf-8"))
    watch = Watched()
    tree.body = [
        watch.visit(node) if isinstance(node, ast.FunctionDef) else node for node in tree.body
    ]
    space: dict[str, object] = {"__name__": relations.__name__, "_note": watch.note}
    exec(compile(ast.fix_missing_locations(tree), relations.__file__, "exec"), space)
    return watch, space


def test_every_condition_of_the_code_is_true_in_one_row_and_false_in_another() -> None:
    """So there is no claim in the code without a row."""
    watch, space = watched()
    relation, exact_terms = space["relation"], space["exact_terms"]
    assert callable(relation)
    assert callable(exact_terms)
    for row in ROWS:
        for case in every_case(row):
            relation(case.call, case.model)
            exact_terms(case.call, case.model)
    assert len(watch.conditions) > 20
    assert {c: watch.seen[c] for c in watch.conditions if watch.seen[c] != {True, False}} == {}


@pytest.mark.parametrize("row", ROWS, ids=KEYS)
def test_examples_stand_as_their_row_says(row: Row) -> None:
    if row.streams == (1, 6):
        for case in every_case(row):
            price = CostModel(case.model).collective(case.call)
            assert price.relation is row.relation
    assert stands(row)


def stands(row: Row) -> bool:
    """Whether the simulation of a row's example is where the row says."""
    case = example_of(row)
    exact = CostModel(case.model).collective(case.call).exact.total
    time = simulate_calls(case.machine.topology, [case.call], case.model).makespan
    match row.relation:
        case Relation.EQUAL:
            return time == exact
        case Relation.UPPER_BOUND:
            return time <= exact
        case Relation.LOWER_BOUND | Relation.LIMIT:
            return time >= exact


def test_the_table_is_complete() -> None:
    """Every collective, algorithm, schedule, kind of dimension and relation is in it."""
    assert len(set(KEYS)) == len(ROWS)
    assert {kind for row in ROWS for kind in row.kinds} == {*CollectiveKind, *TransferKind}
    assert {algorithm for row in ROWS for algorithm in row.algorithms} == set(Algorithm)
    assert {row.schedule for row in ROWS} == {None, *Schedule}
    assert {model for row in ROWS for model in row.models} == set(LatencyModel)
    assert {row.relation for row in ROWS} == set(Relation)
    kinds = {segment.kind for fabric in FABRICS for segment in fabric.example.group.segments}
    assert kinds == set(DimensionKind)


def test_no_two_rows_say_the_same() -> None:
    said = Counter(
        (row.fabric.name, kind, algorithm, row.schedule, chunks, model, row.where)
        for row in ROWS
        for kind in row.kinds
        for algorithm in row.algorithms
        for chunks in range(row.chunks[0], row.chunks[1] + 1)
        for model in row.models
    )
    assert [claim for claim, times in said.items() if times > 1] == []


# The document.

INTRODUCTION = """\
# How the closed forms stand to the simulation

Every time that shardsim prints has two sources: a closed form, which knows no hops, and a
simulation of every hop, which knows no formula. This table says how the two stand to each other,
for every way to run a collective. It is written from the rows of `tests/relations.py`, and the law
`tests/property/test_law_relations.py` runs each row on random machines, sizes and links.

In the forms, **V** is the bytes of the array as one group of chips sees it (the gathered array of
an AllGather, the unreduced array of a ReduceScatter or AllReduce, all shards together of an
AllToAll), **w** the bandwidth of one link in one direction (of one port, at a switch), **a** the
latency of one link, and N the number of chips. `3/4 V/2w + 2a` is three quarters of V over twice w,
and two latencies. Forms are those of the example, in the additive latency model; where a row has
several algorithms, of the first. "In one" is in one chunk, "in chunks" in several; a row that says
neither holds for both.

| relation | meaning |
|---|---|
| equal | the simulation takes exactly this time, whatever the numbers |
| lower bound | the simulation takes this time or longer |
| upper bound | the simulation takes this time or less |
| limit | the simulation takes longer, and comes as near as you like with more chunks |

Behind a bound stands how long the simulation of the example takes, as a multiple of the closed form
(1 MiB, links of 45 GB/s and 1 us). A bound may be met exactly on one machine and not on another.

To run the test of one row:

    pytest "tests/property/test_law_relations.py::test_relation[one-ring-1]"
"""

RELATIONS = {
    Relation.EQUAL: "equal",
    Relation.LOWER_BOUND: "lower bound",
    Relation.UPPER_BOUND: "upper bound",
    Relation.LIMIT: "limit",
}


def form_of(row: Row) -> str:
    case = example_of(row)
    plain = CostModel(LatencyModel.ADDITIVE).collective(case.call)
    return plain.exact_formula


def standing_of(row: Row) -> str:
    word = RELATIONS[row.relation]
    if row.relation is Relation.EQUAL:
        return word
    case = example_of(row)
    exact = CostModel(case.model).collective(case.call).exact.total
    time = simulate_calls(case.machine.topology, [case.call], case.model).makespan
    return f"{word}, x {float(time / exact):.2f}" if exact else word


def method_of(row: Row) -> str:
    """Algorithm, schedule and chunks; of a permute by a table none of them matters."""
    if row.crowded is not None:
        return row.where
    every = len(row.algorithms) > 2
    words = ["any" if every else " or ".join(algorithm.value for algorithm in row.algorithms)]
    if row.schedule:
        words.append(row.schedule.value)
    least, most = row.chunks
    if least > 1:
        words.append("in chunks")
    elif most == 1:
        words.append("in one")
    if row.where:
        words.append(row.where)
    return ", ".join(words)


def document() -> str:
    parts = [INTRODUCTION]
    for fabric in FABRICS:
        rows = [(key, row) for key, row in zip(KEYS, ROWS, strict=True) if row.fabric is fabric]
        parts.append(f"## {fabric.name.capitalize()}\n")
        parts.append(f"{fabric.about} Example: {fabric.said}.\n")
        lines = [
            "| collective | algorithm | closed form | relation | test |",
            "|---|---|---|---|---|",
        ]
        for key, row in rows:
            names = ", ".join(name_of(kind) for kind in row.kinds)
            cells = (names, method_of(row), form_of(row), standing_of(row), f"`{key}`")
            lines.append("| " + " | ".join(cells) + " |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def test_the_document_is_the_table(request: pytest.FixtureRequest) -> None:
    text = document()
    if request.config.getoption("--update-golden"):
        DOCUMENT.parent.mkdir(exist_ok=True)
        DOCUMENT.write_text(text, encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == text
