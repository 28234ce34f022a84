"""Tokens to statements: the grammar of the notation, by recursive descent.

    statement   = expression ["->" (array | name)]  |  array "=" expression
    expression  = array (dot [subscript] array)*  |  collective
    collective  = name [subscript] [":"] array  |  name [subscript] [":"] "(" array ")"
    array       = [label] "[" dims "]" ("{" unreduced ("," unreduced)* "}")*
    label       = name  |  [name [":"]] dtype  |  dtype name
    unreduced   = "U" subscript  |  "U" "." name
    dims        = [dim ("," dim)*],  dim = name [subscript]
    subscript   = "_" axis  |  "_" "{" axis (","? axis)* "}"  |  "<sub>" ... "</sub>"
    axis        = name [":" "(" number ")" number]

Arrays are read in `reading`; what the parts mean together is decided in `meaning`.
"""

from __future__ import annotations

from difflib import get_close_matches

from shardsim.errors import NotationError, Source
from shardsim.notation.arrays import Array, unknown_dtype
from shardsim.notation.cursor import Name, span_of
from shardsim.notation.meaning import (
    Call,
    build_collective,
    build_contraction,
    build_reshard,
    lone_array,
)
from shardsim.notation.names import COLLECTIVES, is_local, leading_collective, looks_like_dtype
from shardsim.notation.reading import ArrayReader
from shardsim.notation.statements import Statement
from shardsim.notation.tokens import Kind, Token, cut, shown
from shardsim.vocabulary import CollectiveKind

__all__ = ["parse", "parse_array"]

_EXAMPLE = "write for example A[I, J_X] · B[J_X, K] -> C[I, K]"
_ONE_STEP = "write one step at a time; a later line can use the result of an earlier one"
_TWO_RESULTS = "the statement has two results"
_ONE_STATEMENT = "write one statement at a time"


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


def parse_array(text: str | Source) -> Array:
    """Reads one array that stands alone.

    Raises:
        NotationError: it cannot be read, or is a statement.

    >>> str(parse_array("A[I<sub>X</sub>, J] {U_Y}"))
    'A[I_X, J]{U_Y}'
    """
    example = "write for example A[I_X, J]"
    if not isinstance(text, str | Source):
        raise NotationError(f"the notation is a text, not {type(text).__name__}", example)
    parser = _Parser(Source(text) if isinstance(text, str) else text)
    if parser.at(Kind.END):
        raise NotationError("the text is empty", example, parser.source.place(0))
    found = parser.operand()
    if not isinstance(found, Array) or parser.at(Kind.DOT, Kind.ARROW, Kind.EQUALS):
        span = found.span if isinstance(found, Call) else span_of(parser.token)
        raise parser.fault("expected one array, found a statement", example, span)
    parser.end_of_statement(has_result=True, may_end=True)
    return found


class _Parser(ArrayReader):
    """One text being read."""

    # statements

    def statement(self) -> Statement:
        if self.at(Kind.END):
            raise NotationError("the text is empty", _EXAMPLE, self.source.place(0))
        first = self.operand()
        result = None
        if isinstance(first, Array) and self.accept(Kind.EQUALS):
            result, first = first, self.operand()
        if isinstance(first, Call):
            return self.collective(first, result)
        return self.contraction(first, result)

    def collective(self, call: Call, result: Array | None) -> Statement:
        if self.at(Kind.DOT):
            raise self.nested(call)
        result = self.result(result, call.operand)
        self.end_of_statement(has_result=result is not None, may_end=True)
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
        open_result = self.open_result() if dots and result is None else None
        if open_result is not None:
            return build_contraction(operands, dots, open_result, self.source, is_open=True)
        result = self.result(result, first)
        self.end_of_statement(has_result=result is not None, may_end=result is not None)
        if dots:
            return build_contraction(operands, dots, result, self.source)
        if result is None:
            raise lone_array(first, self.source)
        return build_reshard(first, result, self.source)

    def open_result(self) -> Array | None:
        """A result of which only the name is said (`-> C`); nothing may come behind it."""
        start = self.position
        if self.accept(Kind.ARROW) and self.at(Kind.WORD):
            name = self.name()
            is_plain = leading_collective(name.words) is None and self.dtype_of(name) is None
            if is_plain and self.at(Kind.END, Kind.ARROW, Kind.EQUALS, Kind.DOT):
                self.end_of_statement(has_result=True, may_end=True)
                return Array(name=name.text, dims=(), span=name.span)
        self.position = start
        return None

    def result(self, before: Array | None, operand: Array) -> Array | None:
        """The array behind the arrow, or the one that stood before '='.

        Args:
            before: That one.
            operand: The first operand, for an example.
        """
        named = self.open_result() if before is None else None
        if named is not None and named.span is not None:
            dims = ", ".join(operand.dim_names)
            raise self.fault(
                "only a contraction can leave the sharding of its result open",
                f"write the dimensions too: {cut(f'{named.name}[{dims}]')}",
                named.span,
            )
        arrow = self.accept(Kind.ARROW)
        if arrow is None:
            return before
        if before is not None:
            raise self.fault(_TWO_RESULTS, _ONE_STEP, span_of(arrow))
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

    def end_of_statement(self, *, has_result: bool, may_end: bool) -> None:
        """Checks that nothing is left; `may_end`: whether a statement could end here."""
        closers = (Kind.CLOSE_SQUARE, Kind.CLOSE_ROUND, Kind.CLOSE_CURLY, Kind.CLOSE_SUB)
        if self.at(Kind.END):
            return
        if self.at(*closers):
            surplus = self.token.kind.value
            raise self.fault(f"there is one {surplus} too many", "take it out", span_of(self.token))
        if self.at(Kind.EQUALS) and not has_result:
            hint = "write the result behind ->, or first: C[..] = A[..] · B[..]"
            raise self.unexpected("'->' and the result", hint)
        if self.at(Kind.ARROW, Kind.EQUALS):
            raise self.fault(_TWO_RESULTS, _ONE_STEP, span_of(self.token))
        if self.at(Kind.DOT):
            hint = "write the result last: it is one array"
            raise self.unexpected("the end of the statement", hint)
        if self.at(Kind.OPEN_ROUND):
            hint = (
                "take the remark out; write unreduced axes as {U_X}, an element type as A: bf16[I]"
            )
            raise self.unexpected("a dot, '->' or the end", hint)
        rest = self.tokens[self.position :]
        if may_end and any(token.kind is Kind.OPEN_SQUARE for token in rest):
            raise self.fault("a second statement begins here", _ONE_STATEMENT, span_of(self.token))
        hint = "write a dot (· or *) between operands, and nothing behind the result"
        raise self.unexpected("a dot, '->' or the end", hint)

    # operands

    def operand(self) -> Array | Call:
        """An array, or a collective with its operand."""
        if self.at(Kind.OPEN_SQUARE):
            return self.array((None, None), span_of(self.token))
        if not self.at(Kind.WORD):
            raise self.unexpected("an array or a collective", _EXAMPLE)
        name = self.name()
        collective = leading_collective(name.words)
        if collective is not None:
            return self.call(name, *collective)
        label = self.label(name)
        misspelt = label[0] == name.text and _near_collective(name.words, 0.85)
        if misspelt or not self.at(Kind.OPEN_SQUARE):
            raise self.not_an_operand(name)
        return self.array(label, name.span)

    def not_an_operand(self, name: Name) -> NotationError:
        kind, near = self.token.kind, _near_collective(name.words)
        if kind is Kind.COLON and not near and not name.subscripts:
            self.take()
            if self.at(Kind.WORD):
                return unknown_dtype(self.token.text, self.source.place(*span_of(self.token)))
            return self.unexpected("an element type", "write it as A: bf16[I, J]")
        if kind is Kind.OPEN_ROUND and not near and (dims := self.round_dims()):
            hint = f"write the dimensions in square brackets: {cut(name.text)}[{cut(dims)}]"
            return self.unexpected(f"'[' after {cut(name.text)}", hint)
        array_ahead = self.after().kind in (Kind.OPEN_SQUARE, Kind.UNDERSCORE, Kind.OPEN_SUB)
        applied = kind in (Kind.OPEN_ROUND, Kind.COLON) or (kind is Kind.WORD and array_ahead)
        if near or applied:
            meant, count = near or (None, 1)
            known = ", ".join(collective.notation for collective in CollectiveKind)
            return self.fault(
                f"there is no collective {shown('_'.join(name.words[:count]))}",
                f"did you mean {meant}?" if meant else f"use one of {known}",
                span_of(name.head) if count == 1 else name.span,
            )
        return self.unexpected(
            f"'[' after {cut(name.text)}", f"write its dimensions: {cut(name.head.text)}[I, J]"
        )

    def round_dims(self) -> str:
        """What stands between '(' here and the next ')'; nothing if a '[' comes first."""
        for token in self.tokens[self.position + 1 :]:
            if token.kind is Kind.OPEN_SQUARE:
                break
            if token.kind is Kind.CLOSE_ROUND:
                return self.source.text[self.token.end : token.start].strip()
        return ""

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
        if self.at(Kind.OPEN_ROUND) and "," in (dims := self.round_dims()):
            hint = f"write the dimensions in square brackets: {kind.notation}_X [{cut(dims)}]"
            raise self.unexpected(f"the operand of {kind.notation}", hint)
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
            if self.at(Kind.COMMA):
                axis = self.after().text if self.after().kind is Kind.WORD else "X"
                raise self.unexpected(
                    f"{closing.value} behind the operand of {kind.notation}",
                    f"write the axis as a subscript: {kind.notation}_{cut(axis)}",
                )
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

    def dot_subscript(self) -> tuple[Token, ...] | None:
        """The subscript of a dot: `·_J`, `*<sub>J</sub>`, and `*J` directly before an operand."""
        items = self.subscript()
        word = self.token
        if items is not None or word.kind is not Kind.WORD or self.after().kind is not Kind.WORD:
            return items
        touches = word.start == self.tokens[self.position - 1].end
        if is_local(word.text) or (touches and not looks_like_dtype(word.text)):
            return (self.take(),)
        return None


def _near_collective(words: list[str], least: float = 0.75) -> tuple[str, int] | None:
    """The collective that a misspelt name looks like, and how many words the name has."""
    for count in (1, 2, 3):
        joined = "".join(words[:count]).lower()[:40]
        found = get_close_matches(joined, COLLECTIVES, n=1, cutoff=least)
        if found and len(joined) > 5:
            return COLLECTIVES[found[0]].notation, count
    return None
