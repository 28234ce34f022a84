"""The ways out that a fault of the notation offers: the hint is what a person can do next."""

from __future__ import annotations

import pytest

from shardsim.errors import NotationError
from shardsim.notation import parse

SQUARE = "write the dimensions in square brackets: "
TYPES = (
    "use one of f64, f32, f16, bf16, fp8, fp4, int64, int32, int16, int8, int4, "
    "or give the array another name"
)
NO_MEANING = "has no meaning here"
SWAP = "swap the dimensions, such as W[F, D] for W[D, F]"
ARROW = "an arrow is written ->"
REMARK = "take the remark out; write unreduced axes as {U_X}, an element type as A: bf16[I]"
MORE = "I has more than one subscript"
FEWER = "write all its axes in one, such as I_{data,model}; the name of an axis has no underscore"
CONTRACT = "and change only their axes; to sum or to add a dimension, write a contraction"

# text, column, first line of the message, the way out
WAYS_OUT = [
    # reshards
    (
        "A[I, J] -> B[J, I_X]",
        12,
        "A[I, J] and B[J, I_X] do not have the same dimensions in the same order",
        "keep the order, -> B[I_X, J]; there are no transposes",
    ),
    (
        "B[I] = A[I, J_X]{U_Y}",
        1,
        "A[I, J_X]{U_Y} and B[I] do not have the same dimensions in the same order",
        f"keep the dimensions, such as -> B[I, J_X], {CONTRACT}",
    ),
    (
        "A: int8[I] -> A: bf16[I_X]",
        15,
        "A: int8[I] and A: bf16[I_X] differ in element type",
        "write the same element type on both sides, or on one",
    ),
    # element types
    *(
        (f"{name}[I, J] -> A[I, J]", 1, f"there is no element type '{name}'", TYPES)
        for name in [
            "uint8",
            "u8",
            "i8",
            "tf32",
            "bfloat",
            "fp8_e4m3",
            "F128",
            "float8_e5m2",
            "f8e4m3fn",
        ]
    ),
    ("A: uint8[I] -> A[I]", 4, "there is no element type 'uint8'", TYPES),
    ("W_in: fp8_e4m3[I] -> A[I]", 7, "there is no element type 'fp8_e4m3'", TYPES),
    ("A: foo[I] -> A[I]", 4, "there is no element type 'foo'", TYPES),
    ("A uint8[I] -> A[I]", 3, "there is no element type 'uint8'", TYPES),
    ("uint8 A[I] -> A[I]", 1, "there is no element type 'uint8'", TYPES),
    (
        "bf16 AllGather[I_X] -> A[I]",
        1,
        "'AllGather' names a collective, not an array",
        "choose another name",
    ),
    (
        "A: bf16 · B[I] -> C[I]",
        9,
        "expected '[' after A, found '·'",
        "write its dimensions: A[I, J]",
    ),
    (
        "AllSum_X bf16[I_X] -> bf16[I]",
        1,
        "there is no collective 'AllSum'",
        "use one of AllGather, ReduceScatter, AllReduce, AllToAll",
    ),
    (
        "AllGathr_X bf16[I_X] -> bf16[I]",
        1,
        "there is no collective 'AllGathr'",
        "did you mean AllGather?",
    ),
    (
        "AllGathr_x bf16[I_x] -> bf16[I]",
        1,
        "there is no collective 'AllGathr'",
        "did you mean AllGather?",
    ),
    # arrows, remarks, several statements
    *(
        (f"A[I] {arrow} A[I_X]", 6, f"'{arrow}' {NO_MEANING}", ARROW)
        for arrow in [
            "=>",
            "==>",
            "⟹",
            "⇒",
            r"\implies",
            r"\Rightarrow",
            r"\Longrightarrow",
            "–",
            "-",
        ]
    ),
    *(
        (f"A[I] -> A[I_X] {remark}", 16, "expected a dot, '->' or the end, found '('", REMARK)
        for remark in ["(see B[I])", "(U_X)", "(X)", "(bf16)", "(in bf16)", "(unreduced over X)"]
    ),
    ("A[I] -> (Case 3)", 9, "expected an array or a collective, found '('", None),
    (
        "A[I] (Case 3) -> A[I_X]",
        6,
        "expected a dot, '->' or the end, found '('",
        REMARK,
    ),
    ("ReduceScatter_X(A[I]{U_X}) -> A[I_X])", 37, "there is one ')' too many", "take it out"),
    (
        r"\begin{align*} A[I] -> &A[I_X] \\ B[I] -> &B[I_X] \end{align*}",
        35,
        "a second statement begins here",
        "write one statement at a time",
    ),
    (
        r"AllGather_X A[I_X] \\ AllGather_X B[I_X]",
        23,
        "a second statement begins here",
        "write one statement at a time",
    ),
    ("A[I] -> A[I_X]; B[I] -> B[I_X]", 15, f"';' {NO_MEANING}", "write one statement at a time"),
    (
        "A[I] · B[I] = C[]",
        13,
        "expected '->' and the result, found '='",
        "write the result behind ->, or first: C[..] = A[..] · B[..]",
    ),
    # subscripts, brackets, extents
    (
        "A[I₁, J] -> A[I, J]",
        4,
        "'₁' is a Unicode subscript, and a number is no axis",
        "name the axis with a letter, I_X; write a digit of a name as I1",
    ),
    (
        "A[₁, J] -> A[I, J]",
        3,
        "'₁' is a Unicode subscript, and a number is no axis",
        "name the axis with a letter, I_X; write a digit of a name as I1",
    ),
    (
        "A[Dₓ₁, J] -> A[I, J]",
        4,
        "'ₓ₁' is a Unicode subscript, which only some letters have",
        "write the subscript after an underscore: D_X1",
    ),
    ("A(I, J_X) · B(J) -> C(I)", 2, "expected '[' after A, found '('", SQUARE + "A[I, J_X]"),
    ("A[I] · W_in(I) -> C[]", 12, "expected '[' after W_in, found '('", SQUARE + "W_in[I]"),
    ("A(", 1, "there is no collective 'A'", None),
    (
        "AllGather_X(I_X, J)",
        12,
        "expected the operand of AllGather, found '('",
        SQUARE + "AllGather_X [I_X, J]",
    ),
    (
        "AllGather(A[I_X, J], X)",
        20,
        "expected ')' behind the operand of AllGather, found ','",
        "write the axis as a subscript: AllGather_X",
    ),
    (
        "AllGather(A[I_X, J], [X])",
        20,
        "expected ')' behind the operand of AllGather, found ','",
        "write the axis as a subscript: AllGather_X",
    ),
    ("A[I_data_model] -> A[I]", 9, MORE, FEWER),
    ("A[I<sub>X</sub><sub>Y</sub>] -> A[I]", 16, MORE, FEWER),
    (
        "A[I_{data_model}] -> A[I]",
        10,
        "expected a name or '}', found '_'",
        "write a subscript as I_{X,Y} or I<sub>X,Y</sub>; a name in it has no underscore",
    ),
    (
        "A[I=8, J] -> A[I, J]",
        4,
        "expected ',' or ']' after I, found '='",
        "give the extent of I with the dims, such as --dims I=8",
    ),
    (
        "A[I:16, J] -> A[I, J]",
        4,
        "expected ',' or ']' after I, found ':'",
        "give the extent of I with the dims, such as --dims I=16",
    ),
    (
        "A[I{X}, J] -> A[I, J]",
        4,
        "expected ',' or ']' after I, found '{'",
        "write the subscript with '_': I_X",
    ),
    # transposes
    *(
        (f"A[I] · {w}[I, J] -> C[J]", 9, "the notation has no transpose", SWAP)
        for w in ["W^T", "W^{T}", r"W^\top", r"W^{\mathsf{T}}", "Wᵀ", "W.T"]
    ),
    ("A[I] · W[J, I]^T -> C[J]", 15, "the notation has no transpose", SWAP),
    # dimensions and axes
    (
        "ReduceScatter_{X,L} C[I, K]{U_X}",
        1,
        "C[I, K]{U_X} has no dimension L",
        "name one of its dimensions: I, K",
    ),
    (
        "ReduceScatter_{X,L} C[I, K]{U_X} -> C[I, K_X]",
        1,
        "C[I, K]{U_X} has no dimension L",
        "name one of its dimensions: I, K",
    ),
    (
        "AllToAll_{X,L} C[I_X, K]",
        1,
        "C[I_X, K] has no dimension L",
        "name one of its dimensions: I, K",
    ),
    (
        "A[I, J_X]·B[L_X, K] -> C[I, K]",
        6,
        "dimension J is only in A[I, J_X], L only in B[L_X, K], and neither is in the result",
        "write J for L in B[L_X, K] to sum over it, or add both to the result",
    ),
    (
        "A[I, J, L] · B[K] -> C[I, K]",
        6,
        "dimension J is only in A[I, J, L] and not in the result",
        "add J to the result, or to another operand to sum over it",
    ),
    (
        "A[I, J] ·_{} B[J, L] -> C[I]",
        16,
        "dimension J is neither summed at a dot nor in the result",
        "add J to the result, or to the subscript of a dot",
    ),
    (
        "A[I_X, J] · B[J, K_X] -> C[I_X, K_X]",
        35,
        "axis X is used twice in C[I_X, K_X]",
        "choose C[I_X, K] or C[I, K_X], or take another axis for one use",
    ),
    (
        "A: int8[I_XY]{U_YZ} -> A[I]",
        17,
        "axis Y is used twice in A: int8[I_XY]{U_YZ}",
        "choose A: int8[I_XY]{U_Z} or A: int8[I_X]{U_YZ}, or take another axis for one use",
    ),
    (
        "A[I_XX] -> A[I]",
        6,
        "axis X is used twice in A[I_XX]",
        "choose A[I_X], or take another axis for one use",
    ),
]


@pytest.mark.parametrize(("text", "column", "message", "hint"), WAYS_OUT)
def test_way_out(text: str, column: int, message: str, hint: str | None) -> None:
    with pytest.raises(NotationError) as caught:
        parse(text)
    assert caught.value.message == message
    assert hint is None or caught.value.hint == hint
    assert caught.value.place is not None
    assert caught.value.place.column == column
