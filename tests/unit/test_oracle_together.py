"""A collective and a matmul done together on real numbers; more in `tests/property`."""

from __future__ import annotations

import numpy as np
import pytest

from shardsim.cost import CostModel
from shardsim.errors import SimulationError
from shardsim.oracle import execute, execute_all
from shardsim.oracle import together as oracle
from shardsim.overlap import decompose
from shardsim.planner import Plan
from shardsim.vocabulary import Form
from tests.machines import machine, planned

GATHER = ["AllGather_X A[I_X, J] -> G[I, J]", "G[I, J] · B[J, K] -> C[I, K]"]
INNER = ["AllGather_X B[J_X, K] -> H[J, K]", "A[I, J] · H[J, K] -> C[I, K]"]
SCATTER = [
    "A[I, J_X] ·_LOCAL B[J_X, K] -> P[I, K]{U_X}",
    "ReduceScatter_{X,K} P[I, K]{U_X} -> C[I, K_X]",
]
REDUCE = [SCATTER[0], "AllReduce_X P[I, K]{U_X} -> C[I, K]"]
EXTENTS = {"I": 8, "J": 4, "K": 12}


def together(lines: list[str], kind: str, form: Form) -> Plan:
    plan = planned(lines, machine((4, kind)), EXTENTS)
    made, _ = decompose(plan, CostModel(), form=form)
    assert [pair.form for pair in made.decomposed] == [form]
    return made


def operands() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    return {"A": rng.integers(-9, 10, (8, 4)), "B": rng.integers(-9, 10, (4, 12))}


@pytest.mark.parametrize(
    ("lines", "kind", "form"),
    [
        *[(GATHER, "ring", form) for form in list(Form)[:4]],
        (GATHER, "line", Form.OWN_CHUNK_FIRST),
        (GATHER, "switch", Form.OWN_CHUNK_FIRST),
        (INNER, "ring", Form.OWN_CHUNK_FIRST),
        (INNER, "line", Form.OWN_CHUNK_FIRST),
        *[(SCATTER, "ring", form) for form in (Form.PAIRS, Form.UNPIPELINED)],
        (SCATTER, "switch", Form.ONE_DIRECTION),
        (REDUCE, "ring", Form.CHUNKS),
        (REDUCE, "line", Form.CHUNKS),
        (REDUCE, "switch", Form.CHUNKS),
    ],
)
def test_the_product(lines: list[str], kind: str, form: Form) -> None:
    given = operands()
    assert np.array_equal(execute(together(lines, kind, form), given), given["A"] @ given["B"])


def test_what_the_collective_leaves_is_there_too() -> None:
    given = operands()
    gathered, product = execute_all(together(GATHER, "ring", Form.HALF_CHUNKS), given)
    assert np.array_equal(gathered, given["A"])
    assert np.array_equal(product, given["A"] @ given["B"])


def test_a_part_that_does_not_wait_for_its_chunk_gives_another_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    true = oracle.attached_to

    def hasty(*args: object) -> object:
        attached = true(*args)  # type: ignore[arg-type]
        works = tuple(work._replace(needs=()) for work in attached.works)
        return attached._replace(works=works)

    monkeypatch.setattr(oracle, "attached_to", hasty)
    given = operands()
    with pytest.raises(SimulationError, match="disagree on their block of C"):
        execute(together(GATHER, "ring", Form.ONE_DIRECTION), given)
