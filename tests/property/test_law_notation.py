"""Laws of the notation: the canonical text reads back; spellings agree; nothing crashes."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from shardsim.errors import InputError, ShardsimError, Source
from shardsim.notation import (
    AXIS_NAME,
    Array,
    Collective,
    Contraction,
    Dim,
    Reshard,
    Statement,
    parse,
    parse_assignments,
    whole_axis,
)
from tests.strategies import arrays, collectives, statements

DOTS = ["·", "⋅", "∙", "•", "×", ".", "*", "@", r"\cdot ", r"\times ", r"\ast ", r"\*", "&sdot;"]
ARROWS = ["->", "→", "⟶", r"\to ", r"\rightarrow ", r"\longrightarrow ", r"\-\>", "-&gt;", "–>"]
ARROWS += ["&rarr;", "&#8594;", r"\xrightarrow{\text{all}}", "−>"]
BEFORE = ["", "", "", "2. ", "$$"]
BEHIND = ["", "", "", ".", ";", ",", " (Case 3)", " *(at once)*", ". (done ahead)."]
SPACES = [
    "",
    " ",
    "  ",
    "\n",
    r"\ ",
    r"\,",
    "~",
    r"\quad ",
    "&",
    "$",
    "\t",
    r"\left ",
    "\u00a0",
    "&nbsp;",
]
GAPS = [" ", "  ", "\n", r"\ "]
WRAPPERS = [
    r"\text{%s}",
    r"\mathbf{%s}",
    r"\textbf{%s}",
    "**%s**",
    "<b>%s</b>",
    "`%s`",
    r"{\bf %s}",
]


class Speller:
    """Writes a statement in one of the many ways that mean the same."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def any(self, choice: Sequence[str]) -> str:
        return self.draw(st.sampled_from(choice))

    def space(self) -> str:
        return self.any(SPACES)

    def word(self, text: str) -> str:
        if self.draw(st.booleans()):
            return text.replace("'", self.any(["'", "′", r"^\prime ", "&prime;", "&#39;"]))
        wrapper = self.any(WRAPPERS)
        return wrapper % text

    def subscript(self, items: Sequence[str], canonical: str) -> str:
        commas = f",{self.space()}".join(items)
        spaces = " ".join(items)
        forms = [
            f"_{{{commas}}}",
            f"_{{{spaces}}}",
            f"<sub>{commas}</sub>",
            f"<SUB>{commas}</SUB>",
            rf"\_{{{spaces}}}",
        ]
        if len(items) == 1:
            forms += [rf"_\text{{{items[0]}}}", rf"_{{\text{{{items[0]}}}}}"]
        return self.any([canonical, *forms])

    def axes(self, axes: Sequence[str]) -> str:
        if not axes:
            return ""
        capitals = all(axis[0].isupper() and ":" not in axis for axis in axes)
        plain = "_" + "".join(axes) if capitals else "_{" + ", ".join(axes) + "}"
        return self.subscript(axes, plain)

    def name(self, name: str) -> str:
        bare = name.rstrip("'")
        primes = name[len(bare) :]
        head, *rest = bare.split("_")
        if not rest:
            return self.word(head) + primes
        return self.word(head) + self.subscript(rest, "_" + "_".join(rest)) + primes

    def array(self, array: Array) -> str:
        label = self.name(array.name) if array.name else ""
        if array.dtype:
            dtype = self.word(self.any([array.dtype.value, array.dtype.value.upper()]))
            forms = [f"{label}:{self.space()}{dtype}", f"{label} {dtype}", f"{dtype} {label}"]
            label = self.any(forms) if label else dtype
        dims = f"{self.space()},{self.space()}".join(
            self.word(dim.name) + self.axes(dim.axes) for dim in array.dims
        )
        opening, closing = self.draw(
            st.sampled_from([("[", "]"), (r"\[", r"\]"), (r"\lbrack ", r"\rbrack ")])
        )
        text = label + self.any(["", " "]) + opening + dims + closing
        if array.unreduced:
            left, right = self.draw(
                st.sampled_from([("{", "}"), (r"\{", r"\}"), (r"\\{", r"\\}"), (r"\{\ ", r"\ \}")])
            )
            each = [f"U{self.axes([axis])}" for axis in array.unreduced]
            inner = self.any([f"U{self.axes(array.unreduced)}", ", ".join(each)])
            text += f"{self.space()}{left}{inner}{right}"
        return text

    def contraction(self, statement: Contraction) -> str:
        text = self.array(statement.operands[0])
        for k, operand in enumerate(statement.operands[1:]):
            summed = statement.contracted[k]
            last = k == len(statement.contracted) - 1
            says_local = statement.local and (last or (summed and self.draw(st.booleans())))
            items = [*summed, *([self.any(["LOCAL", "local"])] if says_local else [])]
            text += self.any(GAPS) + self.any(DOTS)
            text += self.subscript(items, "_{" + ",".join(items) + "}") if items else "_{}"
            text += self.any(GAPS) + self.array(operand)
        return self.with_result(text, self.array(statement.result))

    def collective(self, statement: Collective) -> str:
        name = statement.kind.notation
        head = self.any([name, name.lower(), f"**{name}**", rf"\textbf{{{name}}}"])
        if self.draw(st.booleans()):
            head = statement.kind.value.replace("_", self.any(["_", "-"]))
        items = [*statement.axes, *([statement.dim] if statement.dim else [])]
        head += self.subscript(items, "_{" + ",".join(items) + "}")
        operand = self.array(statement.operand)
        forms = [f"{head} {operand}", f"{head}({operand})", f"{head}: {operand}"]
        text = self.any([*forms, f"{head}[{operand}]" if operand[0].isalpha() else forms[0]])
        return (
            text
            if self.draw(st.booleans())
            else self.with_result(text, self.array(statement.result))
        )

    def reshard(self, statement: Reshard) -> str:
        return self.with_result(self.array(statement.operand), self.array(statement.result))

    def with_result(self, text: str, result: str) -> str:
        if self.draw(st.booleans()):
            return f"{result}{self.any(GAPS)}={self.any(GAPS)}{text}"
        return f"{text}{self.any(GAPS)}{self.any(ARROWS)}{self.any(GAPS)}{result}"


@st.composite
def spelled(draw: st.DrawFn) -> tuple[Statement, str]:
    statement = draw(statements())
    speller = Speller(draw)
    match statement:
        case Contraction():
            text = speller.contraction(statement)
        case Collective():
            text = speller.collective(statement)
        case Reshard():
            text = speller.reshard(statement)
    return statement, speller.any(BEFORE) + text + speller.any(BEHIND)


@given(statements())
def test_canonical_text_reads_back(statement: Statement) -> None:
    assert parse(str(statement)) == statement
    assert str(parse(str(statement))) == str(statement)


@given(spelled())
def test_all_spellings_parse_alike(pair: tuple[Statement, str]) -> None:
    statement, text = pair
    assert parse(text) == statement
    assert hash(parse(text)) == hash(statement)


@given(arrays(), arrays())
def test_spans_and_text_do_not_count(a: Array, b: Array) -> None:
    assert replace(a, span=(3, 9)) == a
    assert (str(a) == str(b)) == (a == b)


@given(collectives())
def test_collective_keeps_dimensions_and_spends_its_axes(statement: Collective) -> None:
    before, after = statement.operand, statement.result
    assert after.dim_names == before.dim_names
    assert not set(statement.axes) & set(after.unreduced)
    assert set(after.axes) - set(before.axes) <= set(statement.axes)
    if statement.dim is not None:
        assert after.dim(statement.dim).axes == before.dim(statement.dim).axes + statement.axes


@given(
    st.lists(st.from_regex(AXIS_NAME, fullmatch=True), unique_by=whole_axis, min_size=1, max_size=3)
)
def test_every_axis_name_can_be_a_subscript(axes: list[str]) -> None:
    before = Array(name="A", dims=(Dim("I", tuple(axes)),))
    after = Array(name="A", dims=(Dim("I"),), unreduced=tuple(axes))
    statement = Reshard(operand=before, result=after)
    assert parse(str(statement)) == statement


@given(statements())
def test_statement_survives_pickle(statement: Statement) -> None:
    assert pickle.loads(pickle.dumps(statement)) == statement


PIECES = [
    "A", "B", "C", "I", "J", "K", "X", "Y", "U", "W_in", "[", "]", "(", ")", "{", "}", "_", ",",
    ".", "*", "·", "->", "=", ":", "$", "&", "'", "\\", r"\cdot", r"\text{", r"\{", r"\}", r"\[",
    r"\]", r"\foo", "<sub>", "</sub>", "AllGather", "ReduceScatter", "AllReduce_X",
    "AllToAll_{X,J}", "AllGathr", "A[I, J_X]", "B[J_X, K]", "C[I, K]", "{U_X}", "int8", "8", "0",
    "ₓ", "²", "é", "-", "\n", " ", "\t", "\x00", "\ud800", "^", "A[I_X]", "LOCAL",
    "_LOCAL", "·_J", "`", "all_to_all", "all-gather", "uint8", "BF16", "1. ", ";", " (Case 3)",
    r"\xrightarrow{", r"\implies", "^T", ".T", "&nbsp;", "&prime;", "d", "local", "(X)", "–>",
    "X:(1)2", ":(2)", "(1)2", "J_{X:(2)2}",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=40))
@example("A[I]·" * 1700)
@example("{" * 5000)
@example("\\text{" * 1500)
@example("A[" + "I" * 9000)
@example("AllGather_" * 900)
@example("A_" * 4000 + "[I]")
@example("\\[" * 3000)
@example("\\xrightarrow{" * 700)
@example("A[I]" + " " * 9000 + "x")
@example("A[I]" + " ." * 4500 + "x")
@example("A[I] (" * 1500)
@example("A[I] (ab)" + "}" * 9000 + "x")
@example("A[" + "I" * 4000 + "] -> B[" + "J" * 4000 + "]")
@example("A[" + "I" * 3000 + "] · B[" + "J" * 3000 + "] -> C[]")
@example("A[I_" + "x" * 4000 + ", J_" + "x" * 4000 + "] -> B[I]")
@example("AllGather_" + "x" * 4000 + " A[I_y]")
@example("A[" + ",".join(f"D{k}" for k in range(1500)) + "]")
def test_junk_is_read_or_refused(text: str) -> None:
    source = Source(text)
    try:
        assert parse(str(parse(source))) == parse(source)
    except ShardsimError as error:
        assert_error_points_into(text, error)


@given(st.lists(st.sampled_from([*"IJX8=, _-.", "I=8", "1e3", "é"]), max_size=12).map("".join))
def test_junk_assignments_are_read_or_refused(text: str) -> None:
    try:
        sizes = parse_assignments(text, "dimension")
    except ShardsimError as error:
        assert_error_points_into(text, error)
    else:
        assert parse_assignments(",".join(f"{k}={v}" for k, v in sizes.items()), "x") == sizes


def assert_error_points_into(text: str, error: ShardsimError) -> None:
    assert isinstance(error, InputError)
    assert len(error.message) <= 160
    assert error.hint
    if len(text) > 10_000:
        return
    assert error.place is not None
    lines = text.split("\n")
    assert 1 <= error.place.line <= len(lines)
    assert 1 <= error.place.column <= len(lines[error.place.line - 1]) + 1
