"""Tokens to arrays: `A[I_X, J]{U_Y}`, `A: int8[I]`, `int8 A[I]`, `int8[I]` or `[I]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from shardsim.errors import NotationError
from shardsim.notation.arrays import Array, Dim, Span, check_array_name, first_repeat, unknown_dtype
from shardsim.notation.cursor import Cursor, Name, span_of
from shardsim.notation.names import (
    AXIS_NAME,
    NAME_AN_AXIS,
    UNREDUCED,
    dtype_named,
    looks_like_dtype,
    split_capitals,
)
from shardsim.notation.subaxes import first_overlap
from shardsim.notation.tokens import Kind, Token, cut, shown
from shardsim.vocabulary import Dtype

__all__ = ["ArrayReader", "Label"]

_Built = TypeVar("_Built", Array, Dim, None)

Label = tuple[str | None, Dtype | None]
_UNREDUCED_HINT = "write unreduced axes as {U_X} or {U_XY}"


class ArrayReader(Cursor):
    """Reads arrays from the tokens of one text."""

    def label(self, name: Name) -> Label:
        """Name and element type, whichever comes first: `A: int8`, `A int8`, `int8 A`, `int8`."""
        dtype = self.dtype_of(name)
        if dtype is not None and self.at(Kind.WORD):
            return self.name().text, dtype
        start = self.position
        apart = self.accept(Kind.COLON) is not None or not _may_end_in_axis(name)
        if apart and self.at(Kind.WORD) and looks_like_dtype(self.token.text):
            return name.text, self.dtype_of(self.name())
        self.position = start
        return (name.text, None) if dtype is None else (None, dtype)

    def dtype_of(self, name: Name) -> Dtype | None:
        """The element type of that name; one that only looks like a type is a fault."""
        dtype = dtype_named(name.text)
        if dtype is None and looks_like_dtype(name.text):
            raise unknown_dtype(name.text, self.source.place(*name.span))
        return dtype

    def array(self, label: Label, label_span: Span) -> Array:
        """The rest of an array, from its '[' on."""
        name, dtype = label
        if name is not None:
            self.built(lambda: check_array_name(name), label_span)
        self.take()
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
        span = (label_span[0], self.tokens[self.position - 1].end)
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

    def expect_comma_or_close(self, owner: str) -> None:
        """Reads the comma between two dimensions, unless the ']' comes."""
        if self.accept(Kind.COMMA):
            return
        if self.at(Kind.WORD):
            raise self.unexpected("',' or ']'", f"put a comma between the dimensions of {owner}")
        closers = (Kind.CLOSE_CURLY, Kind.CLOSE_ROUND, Kind.CLOSE_SUB)
        raise self.unexpected(
            f"',' or ']' to close the dimensions of {owner}",
            "take it out: nothing is open that it closes"
            if self.at(*closers)
            else "write the missing ']'",
        )

    def dim(self) -> tuple[Dim, list[Token]]:
        """A dimension, and where its axes stand."""
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
        self.check_behind_dim(word)
        span = (word.start, self.tokens[self.position - 1].end)
        names = tuple(axis.text for axis in axes)
        return self.built(lambda: Dim(word.text, names, span=span), span), axes

    def check_behind_dim(self, word: Token) -> None:
        """Says what is meant where an extent or another subscript stands behind a dimension."""
        dim, behind = cut(word.text), cut(self.after().text)
        if self.at(Kind.EQUALS, Kind.COLON):
            raise self.unexpected(
                f"',' or ']' after {dim}",
                f"give the extent of {dim} with the dims, such as --dims {dim}={behind or 8}",
            )
        if self.at(Kind.OPEN_CURLY):
            raise self.unexpected(
                f"',' or ']' after {dim}", f"write the subscript with '_': {dim}_{behind}"
            )
        if self.at(Kind.UNDERSCORE, Kind.OPEN_SUB):
            raise self.fault(
                f"{dim} has more than one subscript",
                f"write all its axes in one, such as {dim}_{{data,model}}; "
                "the name of an axis has no underscore",
                span_of(self.token),
            )

    def axes_of(self, item: Token) -> list[Token]:
        """The axes that one word of a subscript names: `XY` is X and Y, `data` is one."""
        axes = []
        start = item.start
        for name in split_capitals(item.text):
            end = item.end if name == item.text else min(start + len(name), item.end)
            if AXIS_NAME.fullmatch(name) is None:
                raise self.fault(
                    f"{shown(name)} is not the name of an axis",
                    NAME_AN_AXIS,
                    (start, end),
                )
            axes.append(Token(Kind.WORD, name, start, end))
            start = end
        return axes

    def unreduced(self) -> list[Token]:
        """The axes of `{U_X}`, `{U.X}`, `{U_X, U_Y}` and `{U_X}{U_Y}`; none where no brace is."""
        axes: list[Token] = []
        while self.accept(Kind.OPEN_CURLY):
            axes += self.unreduced_axes()
            while self.accept(Kind.COMMA):
                axes += self.unreduced_axes()
            self.expect(Kind.CLOSE_CURLY, "to close {U", _UNREDUCED_HINT)
        return axes

    def unreduced_axes(self) -> list[Token]:
        """The axes of one `U_X`."""
        if self.token.text != UNREDUCED:
            raise self.unexpected("U", _UNREDUCED_HINT)
        self.take()
        items: tuple[Token, ...] | None
        if self.accept(Kind.DOT):
            items = (self.with_part(self.expect(Kind.WORD, "for an axis", _UNREDUCED_HINT)),)
        else:
            items = self.subscript()
        axes = [axis for item in items or () for axis in self.axes_of(item)]
        if not axes:
            raise self.unexpected("a subscript of U", _UNREDUCED_HINT)
        return axes


def _may_end_in_axis(name: Name) -> bool:
    """Whether a name could be that of an unknown collective with its axis, such as `AllSum_X`."""
    return bool(name.subscripts) and name.text.rpartition("_")[2][:1].isupper()


def _repeated(dims: list[Dim], axes: list[Token]) -> Span | None:
    """Where a dimension or an axis comes a second time in one array."""
    repeat = first_repeat(dim.name for dim in dims)
    if repeat is not None:
        return dims[repeat].span
    found = first_overlap(axis.text for axis in axes)
    return None if found is None else span_of(axes[found[0]])
