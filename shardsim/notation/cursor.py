"""Reading tokens one by one: what is expected, what was found, names and their subscripts."""

from __future__ import annotations

from typing import NamedTuple

from shardsim.errors import NotationError, Source
from shardsim.notation.arrays import Span
from shardsim.notation.names import DIM_NAME
from shardsim.notation.tokens import Kind, Token, shown, tokenize

__all__ = ["Cursor", "Name", "span_of"]


def span_of(token: Token) -> Span:
    """Where a token stands."""
    return (token.start, token.end)


class Name(NamedTuple):
    """A word and the subscripts behind it, which may belong to the name or to a collective."""

    head: Token
    subscripts: tuple[tuple[Token, ...], ...]
    span: Span

    @property
    def words(self) -> list[str]:
        """The head, and the subscripts that are one word, up to the first that is not."""
        words = [self.head.text]
        for items in self.subscripts:
            if len(items) != 1:
                break
            words.append(items[0].text)
        return words

    @property
    def text(self) -> str:
        """All words as one name."""
        return "_".join([self.head.text, *(i.text for items in self.subscripts for i in items)])


class Cursor:
    """A position in the tokens of one text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.position = 0

    @property
    def token(self) -> Token:
        """The token to be read next."""
        return self.tokens[self.position]

    def at(self, *kinds: Kind) -> bool:
        """Whether the next token is of one of these kinds."""
        return self.token.kind in kinds

    def after(self, count: int = 1) -> Token:
        """The token `count` behind the next."""
        return self.tokens[min(self.position + count, len(self.tokens) - 1)]

    def take(self) -> Token:
        """Reads the next token; the end stays."""
        token = self.token
        self.position = min(self.position + 1, len(self.tokens) - 1)
        return token

    def accept(self, kind: Kind) -> Token | None:
        """Reads the next token if it is of this kind."""
        return self.take() if self.at(kind) else None

    def expect(self, kind: Kind, purpose: str, hint: str) -> Token:
        """Reads the next token, which must be of this kind."""
        if not self.at(kind):
            raise self.unexpected(f"{kind.value} {purpose}", hint)
        return self.take()

    def unexpected(self, expected: str, hint: str) -> NotationError:
        """The error for a next token that does not fit."""
        token = self.token
        end = token.kind is Kind.END
        found = "the end" if end else shown(self.source.text[token.start : token.end])
        return NotationError(
            f"expected {expected}, found {found}",
            hint,
            self.source.place(token.start, None if end else token.end),
        )

    def fault(self, message: str, hint: str, span: Span) -> NotationError:
        """An error at a span."""
        return NotationError(message, hint, self.source.place(*span))

    def name(self) -> Name:
        """Reads a word and all subscripts behind it."""
        head = self.take()
        if DIM_NAME.fullmatch(head.text) is None:
            hint = "begin a name with a letter; give extents with --dims I=8192"
            raise self.fault(f"{shown(head.text)} is not a name", hint, span_of(head))
        subscripts = []
        while (items := self.subscript()) is not None:
            subscripts.append(items)
        return Name(head, tuple(subscripts), (head.start, self.tokens[self.position - 1].end))

    def subscript(self) -> tuple[Token, ...] | None:
        """The words of a subscript; `None` where there is none."""
        if self.accept(Kind.OPEN_SUB):
            return self.words_until(Kind.CLOSE_SUB)
        if not self.accept(Kind.UNDERSCORE):
            return None
        if self.accept(Kind.OPEN_CURLY):
            return self.words_until(Kind.CLOSE_CURLY)
        return (self.expect(Kind.WORD, "after '_'", "write a subscript as I_X or I_{X,Y}"),)

    def words_until(self, closing: Kind) -> tuple[Token, ...]:
        """Reads the words of a subscript up to and with its closing token."""
        words: list[Token] = []
        hint = "write a subscript as I_{X,Y} or I<sub>X,Y</sub>; a name in it has no underscore"
        while not self.accept(closing):
            if words and self.accept(Kind.COMMA) and not self.at(Kind.WORD):
                raise self.unexpected("a name after ','", hint)
            if not self.at(Kind.WORD):
                raise self.unexpected(f"a name or {closing.value}", hint)
            words.append(self.take())
        return tuple(words)
