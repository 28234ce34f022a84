"""Faults of the notation: what is said, where it points, and the way out."""

from __future__ import annotations

import pytest

from shardsim.errors import NotationError, Source
from shardsim.notation import parse

# text, column, first line of the message
FAULTS = [
    (
        "AllGather_X[I_X",
        16,
        "expected ',' or ']' to close the dimensions of the array, found the end",
    ),
    ("A[I_X, J_X] · B[J, K] -> C[I, K]", 10, "axis X is used twice in A[I_X, J_X]"),
    ("A[I_X]{U_X} · B[I] -> C[]", 10, "axis X is used twice in A[I_X]{U_X}"),
    ("A[I_XX] · B[I] -> C[I]", 6, "axis X is used twice in A[I_XX]"),
    ("A[I_{X:(2)2}, J_X] -> A[I, J]", 17, "X:(2)2 and X overlap in A[I_{X:(2)2}, J_X]"),
    ("A[I_X]{U_{X:(1)2}} -> A[I]", 11, "X and X:(1)2 overlap in A[I_X]{U_{X:(1)2}}"),
    ("A[I_{X:(1)4 Y X:(2)2}] -> A[I]", 15, "X:(1)4 and X:(2)2 overlap in A[I_{X:(1)4,Y,X:(2)2}]"),
    ("A[I_{X:(2)2 X:(2)2}] -> A[I]", 13, "axis X:(2)2 is used twice in A[I_{X:(2)2,X:(2)2}]"),
    ("A[I_{X:(1)2 X:(3)2}] -> A[I]", 13, "X:(1)2 and X:(3)2 overlap in A[I_{X:(1)2,X:(3)2}]"),
    ("A[I_{X:2}] -> A[I]", 8, "expected '(' behind ':', found '2'"),
    ("A[I_{X:(1)1}] -> A[I]", 11, "the size of the part is 1; it must be 2 at least"),
    *(
        (
            f"A[I_{{X:({before}){size}}}] -> A[I]",
            column,
            f"expected a number of one to nine digits for the {what} the part, found '{found}'",
        )
        for before, size, column, what, found in [
            ("0", "2", 9, "product before", "0"),
            ("Y", "2", 9, "product before", "Y"),
            ("1", "2Y", 11, "size of", "2Y"),
            ("1", "", 11, "size of", "}"),
            ("", "2", 9, "product before", ")"),
            ("1", "1234567890", 11, "size of", "1234567890"),
        ]
    ),
    ("A[I_{XY:(1)2}] -> A[I]", 6, "'XY:(1)2' is not the name of an axis"),
    ("W_{X:(1)2}[I] -> A[I]", 1, "'W_X:(1)2' is not the name of an array"),
    ("AllGather_X A[I_{X:(1)2}]", 1, "AllGather_X: A[I_{X:(1)2}] is not sharded over X"),
    ("A[I, I] · B[I] -> C[I]", 6, "dimension I is twice in A[I, I]"),
    ("A[I,J_X] · B[J_X,L] -> C[I,K]", 28, "dimension K of the result C[I, K] is in no operand"),
    ("A[I, J] · B[J, L] -> C[I]", 16, "dimension L is only in B[J, L] and not in the result"),
    (
        "A[I, J] ·_J B[J, K] -> C[I, J, K]",
        29,
        "dimension J of the result C[I, J, K] is summed at a dot",
    ),
    (
        "A[I, J] ·_{} B[J, K] -> C[I, K]",
        16,
        "dimension J is neither summed at a dot nor in the result",
    ),
    (
        "A[I, J] · B[J, K] -> C[I, K, Q]",
        30,
        "dimension Q of the result C[I, K, Q] is in no operand",
    ),
    ("A[I, J] ·_Q B[J, K] -> C[I, K]", 11, "Q is no dimension of either side of this dot"),
    ("A[I, J] ·_I B[J, K] -> C[I, K]", 11, "dimension I is only on the left side of this dot"),
    ("A[I, J] ·_K B[J, K] -> C[I, K]", 11, "dimension K is only on the right side of this dot"),
    ("A[I] ·_I B[J] -> C[J]", 8, "dimension I is only on the left side of this dot"),
    ("A[I] ·_Q B[J] -> C[J]", 8, "Q is no dimension of either side of this dot"),
    (
        "Q[B, T, D] · K[B, S, D] · V[B, S, D] -> O[B, T, D]",
        12,
        "dimensions B and D may each be summed at this dot and used again, or be a batch dimension",
    ),
    (
        "In[B, D] · W_in[D, F] · W_out[F, D] -> Out",
        10,
        "dimension D may be summed at this dot, at a later one, or stay",
    ),
    ("A[I, J] · B[J, K]", 18, "the contraction has no result"),
    ("C[I] · A[I] ", 12, "the contraction has no result"),
    ("AllGathr_X A[I_X, J]", 1, "there is no collective 'AllGathr'"),
    ("AllGathr_X[I_X, J]", 1, "there is no collective 'AllGathr'"),
    ("AllSum_X(A[I_X])", 1, "there is no collective 'AllSum'"),
    ("AllSum_X: A[I_X]", 1, "there is no collective 'AllSum'"),
    ("all_gathr_X A[I_X]", 1, "there is no collective 'all_gathr'"),
    ("A", 2, "expected '[' after A, found the end"),
    ("A_X", 4, "expected '[' after A_X, found the end"),
    ("A: int7[I] · B[I] -> C[I]", 4, "there is no element type 'int7'"),
    ("A: [I] · B[I] -> C[I]", 4, "expected an element type, found '['"),
    (
        "A[I, J · B[J, K] -> C[I, K]",
        8,
        "expected ',' or ']' to close the dimensions of A, found '·'",
    ),
    ("A[I, J", 7, "expected ',' or ']' to close the dimensions of A, found the end"),
    ("A[I, J] · B[J, K]] -> C[I, K]", 18, "there is one ']' too many"),
    ("A I, J] · B[J, K] -> C[I, K]", 3, "expected '[' after A, found 'I'"),
    ("AllGather_X(A[I_X]", 19, "expected ')' behind the operand of AllGather, found the end"),
    ("AllGather_X[A[I_X]", 19, "expected ']' behind the operand of AllGather, found the end"),
    ("AllGather_X A[I_X])", 19, "there is one ')' too many"),
    ("A[I_{X, J] · B[J] -> C[I]", 5, "this '{' is never closed"),
    ("A[I_X}, J] · B[J] -> C[I]", 6, "expected ',' or ']' to close the dimensions of A, found '}'"),
    ("A[I]{U_X · B[I] -> C[]", 5, "this '{' is never closed"),
    ("A[I<sub>X, J] · B[J] -> C[I]", 13, "expected a name or '</sub>', found ']'"),
    (
        "A[I</sub>, J] · B[J] -> C[I]",
        4,
        "expected ',' or ']' to close the dimensions of A, found '</sub>'",
    ),
    ("A[I<sub>X}, J]", 10, "expected a name or '</sub>', found '}'"),
    ("\\text{A[I]", 1, "this '{' is never closed"),
    (
        "A[Iₓ, J] · B[J, K] -> C[I, K]",
        4,
        "'ₓ' is a Unicode subscript, which only some letters have",
    ),
    ("ₓ", 1, "'ₓ' is a Unicode subscript, which only some letters have"),
    ("A[I², J] · B[J, K] -> C[I, K]", 4, "'²' is a superscript"),
    ("A[I^2] · B[I] -> C[]", 4, "'^' has no meaning here"),
    ("A[I, J] + B[I, J] -> C[I, J]", 9, "'+' has no meaning here"),
    ("A[I, J] => C[I]", 9, "'=>' has no meaning here"),
    ("A[I, J] ⇒ C[I]", 9, "'⇒' has no meaning here"),
    ("A[I, J] · B[J, é]", 16, "'é' has no meaning here"),
    ("A[I] \x00", 6, "'\\x00' has no meaning here"),
    ("A[I] \\sum B[I]", 6, "the LaTeX command \\sum has no meaning here"),
    ("", 1, "the text is empty"),
    ("   ", 1, "the text is empty"),
    ("A[I J] · B[J] -> C[I]", 5, "expected ',' or ']', found 'J'"),
    ("A[I,, J]", 5, "expected a name for a dimension, found ','"),
    ("A[, J]", 3, "expected a name for a dimension, found ','"),
    ("A[I_, J]", 5, "expected a name after '_', found ','"),
    ("A[I_{}, J]", 3, "the subscript of I is empty"),
    ("A[I_{X,,Y}]", 8, "expected a name after ',', found ','"),
    ("A[I_{X,}]", 8, "expected a name after ',', found '}'"),
    ("A[I_{X_Y}]", 7, "expected a name or '}', found '_'"),
    ("A[I_9]", 5, "'9' is not the name of an axis"),
    ("A[I_X']", 5, '"X\'" is not the name of an axis'),
    ("A[8, 128] · B[J] -> C[I]", 3, "expected the name of a dimension, found the number 8"),
    ("8[I] · B[I] -> C[]", 1, "'8' is not a name"),
    ("A[LOCAL] · B[I] -> C[I]", 3, "'LOCAL' is not the name of a dimension"),
    ("A[I] · B[I] -> C[I] D", 21, "expected a dot, '->' or the end, found 'D'"),
    ("A[I] · B[I] -> C[I] -> D[I]", 21, "the statement has two results"),
    ("C[I] = A[I] · B[I] -> D[I]", 20, "the statement has two results"),
    ("A[I] · B[I] -> C[I] = D[I]", 21, "the statement has two results"),
    ("A[I] · B[I] -> C -> D", 18, "the statement has two results"),
    ("A[I_X] -> C -> D[I]", 13, "the statement has two results"),
    ("A[I] · B[I] -> C · D[I]", 18, "expected the end of the statement, found '·'"),
    ("A[I] · B[I] -> C[I] · D[I]", 21, "expected the end of the statement, found '·'"),
    ("A[I] B[I] -> C[I]", 6, "expected a dot, '->' or the end, found 'B'"),
    ("A[I] · B[I] C[I]", 13, "expected a dot, '->' or the end, found 'C'"),
    ("A[I] ·", 7, "expected an array or a collective, found the end"),
    ("A[I] · -> C[I]", 8, "expected an array or a collective, found '->'"),
    ("-> C[I]", 1, "expected an array or a collective, found '->'"),
    ("A[I] · B[I] ->", 15, "expected an array or a collective, found the end"),
    ("A[I]", 1, "A[I] alone is not a statement"),
    ("A[I]{X}", 6, "expected U, found 'X'"),
    ("A[I]{U}", 7, "expected a subscript of U, found '}'"),
    ("A[I]{U_X, Y}", 11, "expected U, found 'Y'"),
    ("A[I]{}", 6, "expected U, found '}'"),
    ("AllGather_X A[I, J]", 1, "AllGather_X: A[I, J] is not sharded over X"),
    ("AllGather_Y A[I_X, J]", 1, "AllGather_Y: A[I_X, J] is not sharded over Y"),
    ("AllGather_X A[I]{U_X}", 1, "AllGather_X: A[I]{U_X} is not sharded over X"),
    ("AllGather A[I_X]", 1, "AllGather does not say over which axis"),
    ("AllGather_I A[I_X]", 1, "AllGather runs over axes, and I is a dimension of A[I_X]"),
    ("AllGather_XX A[I_X]", 1, "AllGather needs one axis or more, each once"),
    ("AllGather_X_Y A[I_X]", 1, "AllGather has more than one subscript"),
    ("AllGather_{X'} A[I_X]", 12, '"X\'" is neither an axis nor a dimension of A[I_X]'),
    (
        "AllGather_X A[I_X, J] -> A[I_X, J]",
        26,
        "AllGather_X of A[I_X, J] gives A[I, J], not A[I_X, J]",
    ),
    ("AllGather_X A[I_X, J] -> A[I, K]", 26, "AllGather_X of A[I_X, J] gives A[I, J], not A[I, K]"),
    (
        "AllGather_X A: int8[I_X] -> A: bf16[I]",
        29,
        "AllGather_X of A: int8[I_X] gives A: int8[I], not A: bf16[I]",
    ),
    ("AllGather_X", 12, "expected an array or a collective, found the end"),
    (
        "AllGather_X A[I_X] · B[I] -> C[I]",
        1,
        "AllGather is a statement of its own, not part of another",
    ),
    (
        "B[I] · AllGather_X A[I_X] -> C[I]",
        8,
        "AllGather is a statement of its own, not part of another",
    ),
    (
        "AllGather_X(AllGather_Y A[I_XY])",
        13,
        "AllGather is a statement of its own, not part of another",
    ),
    ("AllGather_X A[I_X] = A[I]", 20, "expected '->' and the result, found '='"),
    (
        "A[I_X] · B[I] -> AllReduce_X C[I]",
        18,
        "AllReduce is a statement of its own, not part of another",
    ),
    ("AllReduce_Y C[I]{U_X}", 1, "AllReduce_Y: C[I]{U_X} is not unreduced over Y"),
    ("AllReduce_X C[I_X]", 1, "AllReduce_X: C[I_X] is not unreduced over X"),
    ("AllReduce(C[I])", 1, "AllReduce does not say over which axis"),
    ("ReduceScatter_X C[I]{U_X}", 1, "ReduceScatter does not say which dimension gets the axis"),
    ("ReduceScatter_{X,I,J} C[I, J]{U_X}", 1, "ReduceScatter names two dimensions, I and J"),
    (
        "ReduceScatter_{X,Y} C[I_Y, Y]{U_X}",
        1,
        "Y is both a dimension and an axis of C[I_Y, Y]{U_X}",
    ),
    (
        "ReduceScatter_{X,K} C[I, K]{U_X} -> C[I_X, K]",
        37,
        "ReduceScatter_{X,K} of C[I, K]{U_X} gives C[I, K_X], not C[I_X, K]",
    ),
    ("AllToAll_{X,I} A[I_X, J]", 1, "AllToAll_{X,I}: I is sharded over X already"),
    ("AllToAll_{Y,J} A[I_X, J]", 1, "AllToAll_{Y,J}: A[I_X, J] is not sharded over Y"),
    ("AllToAll_X A[I_X, J] -> A[I, J]", 1, "AllToAll does not say which dimension gets the axis"),
    ("'A[I]", 1, "a prime belongs to the name before it"),
    ("A'_in[I] · B[I] -> C[I]", 1, '"A\'_in" is not the name of an array'),
    ("bf16: int8[I] · B[I] -> C[I]", 1, "'bf16' names an element type, not an array"),
    ("(A[I]) · B[I] -> C[I]", 1, "expected an array or a collective, found '('"),
    # of the result of a contraction the name is enough, of no other
    ("A[I] -> C", 9, "only a contraction can leave the sharding of its result open"),
    ("AllGather_X A[I_X] -> C", 23, "only a contraction can leave the sharding of its result open"),
    ("A[I] · B[I] -> C{U_X}", 17, "expected '[' after C, found '{'"),
    ("A[I] · B[I] -> C D", 18, "expected '[' after C, found 'D'"),
    ("C = A[I] · B[I]", 3, "expected '[' after C, found '='"),
    ("A[I] · B[I] -> bf16", 20, "expected '[' after bf16, found the end"),
    ("A[I] · B[I] -> uint8", 16, "there is no element type 'uint8'"),
    ("A[I]; B[I]", 5, "';' has no meaning here"),
    ("A_{[I]", 3, "this '{' is never closed"),
    ("A[I_\\text{", 5, "this '{' is never closed"),
    ("A[I)] · B[I] -> C[]", 4, "expected ',' or ']' to close the dimensions of A, found ')'"),
    ("AllSum A[I_X]", 1, "there is no collective 'AllSum'"),
    ("A[I] · B[I] -> AllSum A[I]", 16, "there is no collective 'AllSum'"),
    ("A[I] · B[I] -> AllGather_X", 27, "expected an array or a collective, found the end"),
    ("A[I] -> Al_l", 9, "only a contraction can leave the sharding of its result open"),
    ("A[I, J_X] · B[J_X,", 19, "expected a name for a dimension, found the end"),
]


@pytest.mark.parametrize(("text", "column", "message"), FAULTS)
def test_fault(text: str, column: int, message: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse(text)
    assert caught.value.message == message
    assert caught.value.hint
    assert caught.value.place is not None
    assert caught.value.place.column == column


RENDERED = [
    (
        "A[I_X, J_X] · B[J, K] -> C[I, K]",
        """\
axis X is used twice in A[I_X, J_X]
  --> expression:1:10
    | A[I_X, J_X] · B[J, K] -> C[I, K]
    |          ^
  help: choose A[I_X, J] or A[I, J_X], or take another axis for one use""",
    ),
    (
        "A[I,J_X] · B[J_X,L] -> C[I,K]",
        """\
dimension K of the result C[I, K] is in no operand
  --> expression:1:28
    | A[I,J_X] · B[J_X,L] -> C[I,K]
    |                            ^
  help: write L in the result, or K instead of L in B[J_X, L]""",
    ),
    (
        "AllGathr_X(A[I_X, J])",
        """\
there is no collective 'AllGathr'
  --> expression:1:1
    | AllGathr_X(A[I_X, J])
    | ^^^^^^^^
  help: did you mean AllGather?""",
    ),
    (
        "A[Iₓ, J] · B[J, K] -> C[I, K]",
        """\
'ₓ' is a Unicode subscript, which only some letters have
  --> expression:1:4
    | A[Iₓ, J] · B[J, K] -> C[I, K]
    |    ^
  help: write the subscript after an underscore: I_X""",
    ),
    (
        "Q[B,T,D] · K[B,S,D] · V[B,S,D] -> O[B,T,D]",
        """\
dimensions B and D may each be summed at this dot and used again, or be a batch dimension
  --> expression:1:10
    | Q[B,T,D] · K[B,S,D] · V[B,S,D] -> O[B,T,D]
    |          ^
  help: say what the dot sums: ·_D or ·_B, or ·_{} to keep both""",
    ),
]


@pytest.mark.parametrize(("text", "shown"), RENDERED)
def test_fault_as_a_person_sees_it(text: str, shown: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse(text)
    assert str(caught.value) == shown


def test_fault_inside_a_file() -> None:
    line = "  - A[I, J] · B[J, K"
    with pytest.raises(NotationError) as caught:
        parse(Source(line[4:], origin="run.yaml", line=7, column=5, context=line))
    assert str(caught.value.place) == "run.yaml:7:21"


def test_fault_on_a_later_line() -> None:
    with pytest.raises(NotationError) as caught:
        parse("A[I, J_X]\n· B[J_X, K]\n-> C[I_X, K_X]")
    assert str(caught.value.place) == "expression:3:13"


def test_long_names_are_cut_in_messages() -> None:
    with pytest.raises(NotationError) as caught:
        parse("A" * 5000)
    assert len(str(caught.value)) < 400
