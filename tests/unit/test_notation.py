"""The notation: spellings, the values, and sizes by name."""

from __future__ import annotations

import pytest

from shardsim.errors import InputError, NotationError, QuantityError, Source
from shardsim.notation import (
    AXIS_NAME,
    Array,
    Collective,
    Contraction,
    Dim,
    Reshard,
    collective_result,
    parse,
    parse_assignments,
)
from shardsim.vocabulary import CollectiveKind, Dtype
from tests.unit.notation_spellings import SPELLINGS


@pytest.mark.parametrize(("text", "canonical"), SPELLINGS)
def test_spelling(text: str, canonical: str) -> None:
    statement = parse(text)
    assert str(statement) == canonical
    assert parse(canonical) == statement


@pytest.mark.parametrize("text", ["A" * 10_001, b"A[I]", None, 3])
def test_what_is_not_a_line_of_text(text: str) -> None:
    with pytest.raises(NotationError):
        parse(text)
    with pytest.raises(NotationError):
        parse_assignments(text, "dimension")


# values


def array(text: str) -> Array:
    """The array of a text."""
    statement = parse(f"{text} · one[] -> {text}")
    assert isinstance(statement, Contraction)
    return statement.operands[0]


def test_array_knows_its_axes() -> None:
    a = array("A: int8[I_XY, J, K_data]{U_ZW}")
    assert a.axes == ("X", "Y", "data")
    assert a.dim_names == ("I", "J", "K")
    assert a.dim("I") == Dim("I", ("X", "Y"))
    assert a.unreduced == ("W", "Z")
    assert a.dtype is Dtype.INT8
    assert a.span == (0, 30)
    assert a.dims[2].span == (17, 23)
    with pytest.raises(NotationError, match=r"has no dimension Q"):
        a.dim("Q")


def test_array_with_other_axes() -> None:
    a = array("A[I_XY, J]{U_Z}")
    assert str(a.with_axes("J", ["W"])) == "A[I_XY, J_W]{U_Z}"
    assert str(a.with_unreduced([])) == "A[I_XY, J]"


@pytest.mark.parametrize("name", ["", "I_X", "8", "LOCAL", "local", "I'J", "é"])
def test_dim_refuses_name(name: str) -> None:
    with pytest.raises(NotationError, match="not the name of a dimension"):
        Dim(name)


@pytest.mark.parametrize("axis", ["", "XY", "X'", "8", "x_y", "DP", "X:(0)2", "X:(1)1", "X:(1)02"])
def test_dim_refuses_axis(axis: str) -> None:
    with pytest.raises(NotationError, match="not the name of an axis"):
        Dim("I", (axis,))
    with pytest.raises(NotationError, match="not the name of an axis"):
        Array(name="A", dims=(), unreduced=(axis,))


@pytest.mark.parametrize(
    "name", ["X", "X1", "data", "x", "dataX", "\u03a3", "\u03b1", "\u03941", "X:(1)2"]
)
def test_axis_name_fits_in_a_subscript(name: str) -> None:
    assert AXIS_NAME.fullmatch(name)
    assert array(f"A[I_{name}]").axes == (name,)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "is not the name of an array"),
        ("W_", "is not the name of an array"),
        ("8", "is not the name of an array"),
        ("A'_in", "is not the name of an array"),
        ("bf16", "names an element type, not an array"),
        ("BF16", "names an element type, not an array"),
        ("AllGather", "names a collective, not an array"),
        ("all_reduce_x", "names a collective, not an array"),
        ("uint8", "there is no element type 'uint8'"),
        ("fp8_e4m3", "there is no element type 'fp8_e4m3'"),
    ],
)
def test_array_refuses_name(name: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        Array(name=name, dims=())


@pytest.mark.parametrize("name", ["x2", "F1", "S2", "U3", "s", "f", "fp8_scale", "floats", "s8'"])
def test_array_takes_name_that_is_no_type(name: str) -> None:
    assert array(f"{name}[I]") == Array(name=name, dims=(Dim("I"),))


def test_contraction_by_hand() -> None:
    a, b, c = array("A[I, J]"), array("B[J, K]"), array("C[I, K]")
    made = Contraction(operands=(a, b), result=c, contracted=(("J",),))
    assert made == parse("A[I, J] · B[J, K] -> C[I, K]")


def test_contraction_refuses_what_does_not_fit() -> None:
    a, b, c = array("A[I, J]"), array("B[J, K]"), array("C[I, K]")
    with pytest.raises(NotationError, match="1 operands"):
        Contraction(operands=(a,), result=a, contracted=())
    with pytest.raises(NotationError, match="not on both sides"):
        Contraction(operands=(a, b), result=c, contracted=(("I",),))
    with pytest.raises(NotationError, match="only in B"):
        Contraction(operands=(a, b), result=array("C[I]"), contracted=(("J",),))


def test_reshard_by_hand() -> None:
    before, after = array("A[I_X, J]"), array("B[I, J_X]")
    made = Reshard(operand=before, result=after)
    assert made == parse("A[I_X, J] -> B[I, J_X]")
    assert str(made) == "A[I_X, J] -> B[I, J_X]"


def test_reshard_refuses_what_does_not_fit() -> None:
    a = array("A: int8[I, J]")
    with pytest.raises(NotationError, match="same dimensions"):
        Reshard(operand=a, result=array("A: int8[J, I]"))
    with pytest.raises(NotationError, match="element type"):
        Reshard(operand=a, result=array("A[I, J]"))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (
            "In[B_X, D] · W_in[D_X, F] · W_out[F, D_X] -> Out[B_X, D]",
            "In[B_X, D] ·_D W_in[D_X, F] · W_out[F, D_X] -> Out[B_X, D]",
        ),
        (
            "A[B, I, J] · W[B, J, K] · V[B, K, L] -> O[B, I, L]",
            "A[B, I, J] ·_J W[B, J, K] · V[B, K, L] -> O[B, I, L]",
        ),
        (
            "Q[B, T, D] ·_D K[B, S, D] · V[B, S, D] -> O[B, T, D]",
            "Q[B, T, D] ·_D K[B, S, D] · V[B, S, D] -> O[B, T, D]",
        ),
        (
            "A[I, J] ·_{} B[J, K] · C[J, L] -> D",
            "A[I, J] ·_{} B[J, K] · C[J, L] -> D",
        ),
    ],
)
def test_every_dot_sums_something_and_no_more_than_it_must(text: str, canonical: str) -> None:
    statement = parse(text)
    assert str(statement) == canonical
    assert parse(canonical) == statement


def test_contracted_is_in_the_order_of_the_left_side() -> None:
    statement = parse("A[N, H, B] ·_{H,N} W[D, H, N] -> C[B, D]")
    assert isinstance(statement, Contraction)
    assert statement.contracted == (("N", "H"),)


def test_collective_by_hand() -> None:
    operand = array("C[I, K]{U_X}")
    made = Collective.of(CollectiveKind.REDUCE_SCATTER, ["X"], operand, "K")
    assert made == parse("ReduceScatter_{X,K} C[I, K]{U_X}")
    assert made.head == "ReduceScatter_{X,K}"


def test_collective_refuses_what_does_not_fit() -> None:
    operand = array("C[I, K]{U_X}")
    with pytest.raises(NotationError, match="needs a target dimension"):
        Collective.of(CollectiveKind.REDUCE_SCATTER, ["X"], operand)
    with pytest.raises(NotationError, match="takes no target dimension"):
        Collective.of(CollectiveKind.ALL_REDUCE, ["X"], operand, "K")
    with pytest.raises(NotationError, match="one axis or more"):
        Collective.of(CollectiveKind.ALL_REDUCE, [], operand)
    with pytest.raises(NotationError, match="both a dimension and an axis"):
        Collective.of(CollectiveKind.REDUCE_SCATTER, ["X"], array("C[I_Y, Y]{U_X}"), "Y")
    with pytest.raises(NotationError, match="has no dimension Q"):
        collective_result(CollectiveKind.REDUCE_SCATTER, operand, ["X"], "Q")


def test_source_is_kept_and_does_not_count() -> None:
    source = Source("AllGather_X A[I_X]", origin="run.yaml", line=3)
    statement = parse(source)
    assert statement.source is source
    assert statement == parse("all_gather_X(A[I_X])")


# sizes by name


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("I=8192,J=8192", {"I": 8192, "J": 8192}),
        (" I = 8 , K'=1_024\n", {"I": 8, "K'": 1024}),
        ("data=4", {"data": 4}),
    ],
)
def test_assignments(text: str, sizes: dict[str, int]) -> None:
    assert parse_assignments(text, "dimension") == sizes


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "no dimension is given"),
        ("  ", 1, "no dimension is given"),
        ("I=8,I=16", 5, "dimension I is given as 8 and as 16"),
        ("I=8, I=8", 6, "dimension I is given twice"),
        ("I", 1, "expected one NAME=NUMBER for the dimension, found 'I'"),
        ("I=8,J", 5, "expected one NAME=NUMBER for the dimension, found 'J'"),
        ("I=8,", 4, "expected one NAME=NUMBER for the dimension, found nothing"),
        (",I=8", 1, "expected one NAME=NUMBER for the dimension, found nothing"),
        ("I=8,,J=8", 5, "expected one NAME=NUMBER for the dimension, found nothing"),
        ("I=8 J=8", 1, "expected one NAME=NUMBER for the dimension, found 'I=8 J=8'"),
        ("I_X=8", 1, "'I_X' is not the name of a dimension"),
        ("=8", 1, "'' is not the name of a dimension"),
        ("I=8, 8=I", 6, "'8' is not the name of a dimension"),
        ("I=", 2, "dimension I must be a whole number, 1 or more; it is ''"),
        ("I=0", 3, "dimension I must be from 1 to 1e18; it is 0"),
        ("J=1, I=-1", 8, "dimension I must be a whole number, 1 or more; it is '-1'"),
        ("I=1e400", 3, "dimension I must be a whole number, 1 or more; it is '1e400'"),
        ("I=8_", 3, "dimension I must be a whole number, 1 or more; it is '8_'"),
    ],
)
def test_bad_assignments(text: str, column: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_assignments(text, "dimension")
    assert isinstance(caught.value, NotationError | QuantityError)
    assert caught.value.message == message
    assert caught.value.hint
    assert caught.value.place is not None
    assert caught.value.place.column == column
