"""Reading tokens one by one: what is expected, what was found, names and their subscripts."""

from __future__ import annotations

from typing import NamedTuple

from shardsim.errors import NotationError, Source
from shardsim.notation.arrays import Span
from shardsim.notation.names import DIM_NAME
from shardsim.notation.tokens import Kind, Token, cut, shown, tokenize

__all__ = ["Cursor", "Name", "span_of"]

_PART = (Kind.COLON, Kind.OPEN_ROUND, Kind.WORD, Kind.CLOSE_ROUND, Kind.WORD)


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

    def unexpected(self, expected: str, hint: str, token: Token | None = None) -> NotationError:
        """The error for a token that does not fit, the next one by default."""
        token = token or self.token
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
        word = self.expect(Kind.WORD, "after '_'", "write a subscript as I_X or I_{X,Y}")
        return (self.with_part(word),)

    def words_until(self, closing: Kind) -> tuple[Token, ...]:
        """Reads the words of a subscript up to and with its closing token."""
        words: list[Token] = []
        hint = "write a subscript as I_{X,Y} or I<sub>X,Y</sub>; a name in it has no underscore"
        while not self.accept(closing):
            if words and self.accept(Kind.COMMA) and not self.at(Kind.WORD):
                raise self.unexpected("a name after ','", hint)
            if not self.at(Kind.WORD):
                raise self.unexpected(f"a name or {closing.value}", hint)
            word = self.take()
            words.append(self.part(word) if self.at(Kind.COLON) else word)
        return tuple(words)

    def with_part(self, word: Token) -> Token:
        """A word outside braces, with the `:(1)2` behind it where all of that is there."""
        ahead = [self.after(count) for count in range(len(_PART))]
        if tuple(token.kind for token in ahead) != _PART:
            return word
        return self.part(word) if ahead[2].text.isdigit() and ahead[4].text.isdigit() else word

    def part(self, axis: Token) -> Token:
        """An axis with the `:(1)2` behind it, as one word: the name of a part of the axis."""
        hint = f"write a part of an axis as {cut(axis.text)}:(1)2"
        self.take()
        self.expect(Kind.OPEN_ROUND, "behind ':'", hint)
        before = self.number("the product before the part", 1, hint)
        self.expect(Kind.CLOSE_ROUND, f"behind {before}", hint)
        size = self.number("the size of the part", 2, hint)
        end = self.tokens[self.position - 1].end
        return Token(Kind.WORD, f"{axis.text}:({before}){size}", axis.start, end)

    def number(self, what: str, least: int, hint: str) -> int:
        """Reads a whole number of at most nine digits."""
        token = self.token
        digits = token.text
        if not (digits.isascii() and digits.isdigit() and digits[0] != "0") or len(digits) > 9:
            raise self.unexpected(f"a number of one to nine digits for {what}", hint)
        self.take()
        if int(digits) < least:
            raise self.fault(
                f"{what} is {digits}; it must be {least} at least", hint, span_of(token)
            )
        return int(digits)
