"""Tokens to statements: the grammar of the notation, by recursive descent.

    statement   = expression ["->" array]  |  array "=" expression
    expression  = array (dot [subscript] array)*  |  collective
    collective  = name [subscript] [":"] array  |  name [subscript] [":"] "(" array ")"
    array       = [name ":"] [dtype] "[" dims "]" ["{" "U" subscript "}"]
    dims        = [dim ("," dim)*],  dim = name [subscript]
    subscript   = "_" name  |  "_" "{" name (","? name)* "}"  |  "<sub>" ... "</sub>"

What the parts mean together is decided in `meaning`.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TypeVar

from shardsim.errors import NotationError, Source
from shardsim.notation.arrays import Array, Dim, Span, first_repeat
from shardsim.notation.cursor import Cursor, Name, span_of
from shardsim.notation.meaning import Call, build_collective, build_contraction, lone_array
from shardsim.notation.names import (
    AXIS_NAME,
    COLLECTIVES,
    DTYPES,
    UNREDUCED,
    leading_collective,
    split_capitals,
)
from shardsim.notation.statements import Statement
from shardsim.notation.tokens import Kind, Token, cut, shown
from shardsim.vocabulary import CollectiveKind, Dtype

__all__ = ["parse"]

_Built = TypeVar("_Built", Array, Dim)

_EXAMPLE = "write for example A[I, J_X] · B[J_X, K] -> C[I, K]"
_ONE_STEP = "write one step at a time; a later line can use the result of an earlier one"


def parse(text: str | Source) -> Statement:
    r"""Reads one statement, in any spelling.

    Raises:
        NotationError: it cannot be read, or contradicts itself; the error knows the place.

    >>> str(parse(r"A[I,J_X] \cdot B[J_X,K] \rightarrow C[I,K] \{U_X\}"))
    'A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}'
    >>> str(parse("AllReduce<sub>X</sub>(C[I, K] {U<sub>X</sub>})"))
    'AllReduce_X C[I, K]{U_X} -> C[I, K]'
    """
    if not isinstance(text, str | Source):
        raise NotationError(f"the notation is a text, not {type(text).__name__}", _EXAMPLE)
    source = Source(text) if isinstance(text, str) else text
    return _Parser(source).statement()


class _Parser(Cursor):
    """One text being read."""

    # statements

    def statement(self) -> Statement:
        if self.at(Kind.END):
            raise NotationError("the text is empty", _EXAMPLE, self.source.place(0))
        first = self.operand()
        result = None
        if self.at(Kind.EQUALS):
            if isinstance(first, Call):
                raise self.unexpected("'->' and the result", "what stands before '=' is the result")
            self.take()
            result, first = first, self.operand()
        if isinstance(first, Call):
            return self.collective(first, result)
        return self.contraction(first, result)

    def collective(self, call: Call, result: Array | None) -> Statement:
        if self.at(Kind.DOT):
            raise self.nested(call)
        result = self.result(result)
        self.end_of_statement()
        return build_collective(call, result, self.source)

    def contraction(self, first: Array, result: Array | None) -> Statement:
        operands = [first]
        dots: list[tuple[Token, tuple[Token, ...] | None]] = []
        while self.at(Kind.DOT):
            dots.append((self.take(), self.dot_subscript()))
            operand = self.operand()
            if isinstance(operand, Call):
                raise self.nested(operand)
            operands.append(operand)
        result = self.result(result)
        self.end_of_statement()
        if not dots:
            raise lone_array(first, result, self.source)
        return build_contraction(operands, dots, result, self.source)

    def result(self, before: Array | None) -> Array | None:
        """The array behind the arrow, or the one that stood before '='."""
        arrow = self.accept(Kind.ARROW)
        if arrow is None:
            return before
        if before is not None:
            raise self.fault("the statement has two results", _ONE_STEP, (arrow.start, arrow.end))
        after = self.operand()
        if isinstance(after, Call):
            raise self.nested(after)
        return after

    def nested(self, call: Call) -> NotationError:
        return self.fault(
            f"{call.kind.notation} is a statement of its own, not part of another",
            _ONE_STEP,
            call.span,
        )

    def end_of_statement(self) -> None:
        match self.token.kind:
            case Kind.END:
                return
            case Kind.ARROW | Kind.EQUALS:
                raise self.unexpected("the end of the statement", _ONE_STEP)
            case Kind.DOT:
                raise self.unexpected(
                    "the end of the statement", "the result is one array, and comes last"
                )
            case Kind.CLOSE_SQUARE | Kind.CLOSE_ROUND | Kind.CLOSE_CURLY | Kind.CLOSE_SUB:
                raise self.unexpected(
                    "a dot, '->' or the end", "nothing is open that this could close; take it out"
                )
            case _:
                raise self.unexpected(
                    "a dot, '->' or the end",
                    "write a dot (· or *) between operands, and nothing behind the result",
                )

    # operands

    def operand(self) -> Array | Call:
        """An array, or a collective with its operand."""
        if self.at(Kind.OPEN_SQUARE):
            return self.array()
        if not self.at(Kind.WORD):
            raise self.unexpected("an array or a collective", _EXAMPLE)
        start = self.position
        name = self.name()
        collective = leading_collective(name.words)
        if collective is not None:
            return self.call(name, *collective)
        known = self.at(Kind.OPEN_SQUARE) and not _near_collective(name.words, 0.85)
        if not known and not self.dtype_follows():
            raise self.not_an_operand(name)
        self.position = start
        return self.array()

    def dtype_follows(self) -> bool:
        """Whether `: int8[` comes now."""
        return (
            self.at(Kind.COLON)
            and self.after().text in DTYPES
            and self.after(2).kind is Kind.OPEN_SQUARE
        )

    def not_an_operand(self, name: Name) -> NotationError:
        kind, near = self.token.kind, _near_collective(name.words)
        if kind is Kind.COLON and not near and not name.subscripts:
            self.take()
            return self.unexpected("an element type", f"known: {', '.join(Dtype)}")
        array_ahead = self.after().kind in (Kind.OPEN_SQUARE, Kind.UNDERSCORE, Kind.OPEN_SUB)
        applied = kind in (Kind.OPEN_ROUND, Kind.COLON) or (kind is Kind.WORD and array_ahead)
        if near or applied:
            meant, count = near or (None, 1)
            known = ", ".join(collective.notation for collective in CollectiveKind)
            return self.fault(
                f"there is no collective {shown('_'.join(name.words[:count]))}",
                f"did you mean {meant}?" if meant else f"known: {known}",
                span_of(name.head) if count == 1 else name.span,
            )
        return self.unexpected(
            f"'[' after {cut(name.text)}", f"write its dimensions: {cut(name.head.text)}[I, J]"
        )

    def call(self, name: Name, kind: CollectiveKind, words: int) -> Call:
        """The rest of a collective, behind its name and subscript."""
        subscripts = name.subscripts[words - 1 :]
        if len(subscripts) > 1:
            raise self.fault(
                f"{kind.notation} has more than one subscript",
                f"put all of it into one: {kind.notation}_{{X,Y}}",
                name.span,
            )
        self.accept(Kind.COLON)
        closing = None
        if self.accept(Kind.OPEN_ROUND):
            closing = Kind.CLOSE_ROUND
        elif self.at(Kind.OPEN_SQUARE) and self.wraps_array():
            self.take()
            closing = Kind.CLOSE_SQUARE
        operand = self.operand()
        if isinstance(operand, Call):
            raise self.nested(operand)
        if closing is not None:
            self.expect(
                closing,
                f"behind the operand of {kind.notation}",
                f"write the missing {closing.value}",
            )
        return Call(kind, subscripts[0] if subscripts else None, operand, name.span)

    def wraps_array(self) -> bool:
        """Whether the '[' here stands around an array, as in `AllGather_X[A[I_X]]`."""
        for token in self.tokens[self.position + 1 :]:
            if token.kind in (Kind.COMMA, Kind.CLOSE_SQUARE):
                return False
            if token.kind is Kind.OPEN_SQUARE:
                return True
        return False

    # arrays

    def array(self) -> Array:
        """An array: `A[I_X, J]{U_Y}`, `A: int8[I]`, `bf16[I]` or `[I]`."""
        start = self.token.start
        name, dtype = self.label()
        self.expect(Kind.OPEN_SQUARE, "before the dimensions", "write an array as A[I, J]")
        owner = "the array" if name is None else cut(name)
        dims: list[Dim] = []
        axes: list[Token] = []
        while not self.at(Kind.CLOSE_SQUARE):
            if dims:
                self.expect_comma_or_close(owner)
            dim, dim_axes = self.dim()
            dims.append(dim)
            axes += dim_axes
        self.take()
        unreduced = self.unreduced()
        axes += unreduced
        span = (start, self.tokens[self.position - 1].end)
        return self.built(
            lambda: Array(
                name=name,
                dims=tuple(dims),
                unreduced=tuple(axis.text for axis in unreduced),
                dtype=dtype,
                span=span,
            ),
            _repeated(dims, axes) or span,
        )

    def built(self, build: Callable[[], _Built], span: Span) -> _Built:
        """Calls `build`; a fault it finds is put at `span`."""
        try:
            return build()
        except NotationError as error:
            raise error.at(self.source.place(*span)) from None

    def label(self) -> tuple[str | None, Dtype | None]:
        """What stands before the '[': name, dtype, both or nothing."""
        if not self.at(Kind.WORD):
            return None, None
        name = self.name().text
        if self.accept(Kind.COLON):
            return name, DTYPES[self.take().text]
        return (None, DTYPES[name]) if name in DTYPES else (name, None)

    def expect_comma_or_close(self, owner: str) -> None:
        if self.accept(Kind.COMMA):
            return
        if self.at(Kind.WORD):
            raise self.unexpected("',' or ']'", f"put a comma between the dimensions of {owner}")
        closers = (Kind.CLOSE_CURLY, Kind.CLOSE_ROUND, Kind.CLOSE_SUB)
        hint = "nothing is open that it closes; take it out" if self.at(*closers) else ""
        raise self.unexpected(
            f"',' or ']' to close the dimensions of {owner}", hint or "write the missing ']'"
        )

    def dim(self) -> tuple[Dim, list[Token]]:
        hint = "name it with a letter, such as I"
        word = self.expect(Kind.WORD, "for a dimension", hint)
        if word.text[0].isdigit():
            raise self.fault(
                f"expected the name of a dimension, found the number {cut(word.text)}",
                "name the dimension here, and give its extent with --dims I=8192",
                (word.start, word.end),
            )
        items = self.subscript()
        axes = [axis for item in items or () for axis in self.axes_of(item)]
        if items is not None and not axes:
            raise self.fault(
                f"the subscript of {cut(word.text)} is empty",
                "name an axis, such as I_X",
                span_of(word),
            )
        span = (word.start, self.tokens[self.position - 1].end)
        names = tuple(axis.text for axis in axes)
        return self.built(lambda: Dim(word.text, names, span=span), span), axes

    def axes_of(self, item: Token) -> list[Token]:
        """The axes that one word of a subscript names: `XY` is X and Y, `data` is one."""
        axes = []
        start = item.start
        for name in split_capitals(item.text):
            end = min(start + len(name), item.end)
            if AXIS_NAME.fullmatch(name) is None:
                raise self.fault(
                    f"{shown(name)} is not the name of an axis",
                    "name an axis with one capital letter (X, X1) or a word in lower case (data)",
                    (start, end),
                )
            axes.append(Token(Kind.WORD, name, start, end))
            start = end
        return axes

    def unreduced(self) -> list[Token]:
        """The axes of `{U_X}`, `{U.X}`; none where there is no brace."""
        if not self.accept(Kind.OPEN_CURLY):
            return []
        hint = "unreduced axes are written {U_X}"
        word = self.token
        if word.text != UNREDUCED:
            raise self.unexpected("U", hint)
        self.take()
        items: tuple[Token, ...] | None
        if self.accept(Kind.DOT):
            items = (self.expect(Kind.WORD, "for an axis", hint),)
        else:
            items = self.subscript()
        axes = [axis for item in items or () for axis in self.axes_of(item)]
        if not axes:
            raise self.unexpected("a subscript of U", hint)
        self.expect(Kind.CLOSE_CURLY, "to close {U", hint)
        return axes

    def dot_subscript(self) -> tuple[Token, ...] | None:
        """The subscript of a dot: `·_J`, `*<sub>J</sub>`, and `*J` directly before an operand."""
        items = self.subscript()
        word = self.token
        touches = word.start == self.tokens[self.position - 1].end
        if items is None and touches and word.kind is Kind.WORD and self.after().kind is Kind.WORD:
            return (self.take(),)
        return items


def _repeated(dims: list[Dim], axes: list[Token]) -> Span | None:
    """Where a dimension or an axis comes a second time in one array."""
    repeat = first_repeat(dim.name for dim in dims)
    if repeat is not None:
        return dims[repeat].span
    repeat = first_repeat(axis.text for axis in axes)
    return None if repeat is None else span_of(axes[repeat])


def _near_collective(words: list[str], least: float = 0.75) -> tuple[str, int] | None:
    """The collective that a misspelt name looks like, and how many words the name has."""
    for count in (1, 2, 3):
        joined = "".join(words[:count]).lower()[:40]
        found = get_close_matches(joined, COLLECTIVES, n=1, cutoff=least)
        if found and len(joined) > 5:
            return COLLECTIVES[found[0]].notation, count
    return None
