"""All worked numbers of the book against an independent table of them.

The table is `tests/data/book_answers.jsonl`: what the book ("How to Scale Your Model", Austin et
al., numbers only) prints, its formulas at full precision, and their inputs. A record's answer must
come out of the package; that it is no constant is seen by changing its inputs.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from shardsim.book import BookAnswer, answer_chapter, ask, chapters
from shardsim.book.answers import counts
from shardsim.catalogue.chips import chip_file
from shardsim.catalogue.facts import of_scale_out
from shardsim.catalogue.forms import GpuFile
from tests.book.perturbing import law, perturbed
from tests.command_line import command

DATA = Path(__file__).parents[1] / "data"
TABLE = {
    row["id"]: row
    for row in map(json.loads, (DATA / "book_answers.jsonl").read_text("utf-8").splitlines())
}
MOVES = [json.loads(line) for line in (DATA / "book_moves.jsonl").read_text("utf-8").splitlines()]
ANSWERS: dict[str, BookAnswer] = {
    answer.record.id: answer for name in chapters() for answer in answer_chapter(name)[1]
}
MEASURED = [name for name, row in TABLE.items() if row["status"] == "measured"]
CLOSE = 1e-5


def off(value: Fraction | float, wanted: float) -> float:
    return abs(float(value) - wanted) / abs(wanted) if wanted else abs(float(value))


def test_every_number_of_the_table_has_a_record() -> None:
    assert set(TABLE) <= set(ANSWERS)
    assert len(TABLE) == 226


@pytest.mark.parametrize("name", [name for name in TABLE if name not in MEASURED])
def test_first_order_and_exact(name: str) -> None:
    row, answer = TABLE[name], ANSWERS[name]
    assert off(answer.first_order, row["sim_target"]) < CLOSE
    if row["exact"] is not None:
        exact = answer.first_order if answer.exact is None else answer.exact
        assert off(exact, row["exact"]) < CLOSE


@pytest.mark.parametrize("name", TABLE)
def test_what_is_printed_comes_out_or_is_explained(name: str) -> None:
    row, answer = TABLE[name], ANSWERS[name]
    if row["status"] != "derived":
        assert answer.record.printed is not None
        assert off(answer.record.printed, row["expected"]) < 1e-12
    assert answer.explained
    if off(answer.first_order, row["expected"]) > row["tolerance"] + 1e-5:
        assert len(answer.record.why) > 20


@pytest.mark.parametrize("name", MEASURED)
def test_a_measured_number_says_so(name: str) -> None:
    assert ANSWERS[name].record.status == "measured"
    assert ANSWERS[name].record.why or ANSWERS[name].agrees


def test_how_many_come_out() -> None:
    found = counts(ANSWERS[name] for name in TABLE)
    assert {kind: row[0] for kind, row in found.items()} == Counter(
        row["kind"] for row in TABLE.values()
    )
    assert all(row[3] == 0 for row in found.values())


@pytest.mark.parametrize(
    "move", MOVES, ids=[f"{move['id']}-{next(iter(move['change'].values()))}" for move in MOVES]
)
def test_an_answer_moves_with_its_inputs(move: dict[str, Any]) -> None:
    """An input is doubled or halved: the answer changes as the book's formula does."""
    row, record = TABLE[move["id"]], ANSWERS[move["id"]].record
    inputs = {**row["inputs"], **{k: row["inputs"][k] * f for k, f in move["inputs"].items()}}
    before, after = law(row["compute"], row["inputs"]), law(row["compute"], inputs)
    moved = ask(perturbed(record.first_order, move["change"]))
    start = ANSWERS[move["id"]].first_order
    if off(start, before) < CLOSE:
        assert off(moved, after) < CLOSE
    else:  # the formula has figures that the book rounded on the way
        assert off(start, row["sim_target"]) < CLOSE
        assert off(moved / start, after / before) < CLOSE


def test_every_record_with_a_formula_is_moved() -> None:
    moved = {move["id"] for move in MOVES}
    still = {name for name, row in TABLE.items() if row["compute"] and name not in moved}
    assert still == {*NEVER_MOVED, *FABRIC_RECORDS}


NEVER_MOVED = ("sharding.q6.c_comms", "sharding.q10.uni_ratio")
"""Formulas that do not change with any input: no bytes, and a ratio."""

FABRIC = {
    "units": ("sus", 2),
    "spine_switches": ("spine_switches", 2),
    "leaf_switches_per_unit": ("leaf_switches", 2),
    "cable_bandwidth": ("cable_bits", Fraction(1, 2)),
    "cables_per_leaf_and_spine": ("cables_per_pair", 2),
}
FABRIC_RECORDS = ("gpu.su_bw", "gpu.spine_bw", "gpu.switches", "gpu.q4.4")
OTHER_NAMES = {
    "gpu.spine_bw": {"spine_switches": "spines", "cable_bits": "port_bits"},
    "gpu.switches": {"leaf_switches": "leaf_switches_per_su"},
}


@pytest.mark.parametrize("figure", FABRIC)
@pytest.mark.parametrize("name", FABRIC_RECORDS)
def test_facts_of_a_fabric_move_with_its_figures(name: str, figure: str) -> None:
    form = chip_file("h100")
    assert isinstance(form, GpuFile)
    assert form.node is not None
    assert form.scale_out is not None
    row, gives = TABLE[name], ANSWERS[name].record.first_order["gives"]
    word, factor = FABRIC[figure]
    word = OTHER_NAMES.get(name, {}).get(word, word)
    inputs = dict(row["inputs"])
    if name == "gpu.q4.4":  # its input is what gpu.spine_bw gives
        inputs["w_spine_total"] *= factor if word in ("spine_switches", "cable_bits") else 1
    inputs |= {word: inputs[word] * factor} if word in inputs else {}
    if name == "gpu.switches" and word == "sus":
        inputs["nodes"] *= factor
    old = getattr(form.scale_out, figure)
    changed = form.scale_out.model_copy(
        update={figure: old.model_copy(update={"value": old.value * factor})}
    )
    assert off(of_scale_out(form.node, changed)[gives], law(row["compute"], inputs)) < CLOSE


def test_answers_say_how_they_come_about() -> None:
    assert ANSWERS["sharding.pq2.naive"].way == "plain"
    assert ANSWERS["exact.ag.line.N8"].way == "exact"
    assert ANSWERS["jax.cm.naive"].way == "simulated"
    assert ANSWERS["inf.ici_y"].exact_way == "plain"
    assert ANSWERS["at.pod_time"].exact_way == "exact"
    out = command("book", "jax").out
    assert "312 µs s" in out


def test_the_command_prints_a_chapter_and_all_of_them() -> None:
    result = command("book", "roofline")
    assert result.code == 0
    assert "240.2" in result.out
    everything = command("book", "--json")
    records = json.loads(everything.out)["records"]
    assert everything.code == 0
    assert {one["id"] for one in records} == set(ANSWERS)
    assert all(one["agrees"] or one["why"] for one in records)


def test_a_chapter_that_is_not_there() -> None:
    result = command("book", "rooflin")
    assert result.code == 2
    assert "help: did you mean roofline?" in result.err


CHIPS = {"machine": {"on": "v5e"}, "gives": "chips"}
QUESTIONS: list[tuple[Any, str]] = [
    ({"gives": "x"}, "this one has none"),
    ({"arrays": {}, "machine": {}}, "this one has arrays, machine"),
    ({"machines": {"on": "v5e"}, "gives": "chips"}, "did you mean machine?"),
    ({"machine": {"on": "v5e"}, "gives": "chip"}, "did you mean chips?"),
    ({"machine": {"at": "v5e"}, "gives": "chips"}, "machine has no input 'at'; it has on, dtype"),
    ({"machine": {}, "gives": "chips"}, "machine: missing a required argument: 'on'"),
    ({"machine": {"on": "v5e"}, "gives": ["chips"]}, "machine gives no a list"),
    ({"machine": {"on": "v5e"}}, "machine gives no nothing"),
    ({"collective": {"kind": "AG", "foo": 1}, "gives": "bytes"}, "collective has no input 'foo'"),
    ({"arrays": {"hold": "A[I]", "foo": 1}, "gives": "bytes"}, "arrays has no input 'foo'"),
    ({"roofline": {"on": "v5e", "flop": 1}, "gives": "flops"}, "did you mean flops?"),
    (
        {"roofline": {"on": "v5e", "flops": 1, "split": ["X"]}, "gives": "flops"},
        "split is a list of two axes",
    ),
    ({"model": {"model": "llama-3-70b", "foo": 1}, "gives": "parameters"}, "no input 'foo'"),
    (
        {"ratio": [CHIPS, {"roofline": {"on": "v5e", "flops": 1}, "gives": "bytes_per_chip"}]},
        "the second question of a ratio has the answer 0",
    ),
    ({"machine": ["v5e"], "gives": "chips"}, "machine is a mapping"),
    ({"ratio": [{"machine": {"on": "v5e"}, "gives": "chips"}]}, "ratio is of a list of two"),
    ({"machine": {"on": "v5e"}, "gives": "chips", "rounded": "no"}, "rounded is down or up"),
    ("chips", "a question is a mapping"),
]


@pytest.mark.parametrize(("question", "said"), QUESTIONS)
def test_a_bad_question_says_what_is_wrong(question: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        ask(question)
    assert said in str(caught.value)
