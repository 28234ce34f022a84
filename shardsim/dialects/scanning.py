"""Reading a text of another notation, token by token, with the place of every fault."""

from __future__ import annotations

import re
from typing import NamedTuple

from shardsim.errors import NotationError, Place, Source
from shardsim.notation import sub_axis
from shardsim.notation.tokens import shown

__all__ = ["LONGEST", "Scanner", "Token"]

LONGEST = 100_000
_DIGITS = 18
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<string>'[^'\n]*'|"[^"\n]*")
    | (?P<number>[0-9]+)(?![0-9A-Za-z_])
    | (?P<word>[^\W\d][\w.]*)
    | (?P<sign><=|.)""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A string with its quotes, a number, a word, a sign, or the end."""

    kind: str
    text: str
    start: int
    end: int


class Scanner:
    """A position in a text.

    Args:
        text: The text.
        what: What it should be, for the errors: "the PartitionSpec".
        example: A way out that shows the whole form.
    """

    def __init__(self, text: str | Source, what: str, example: str) -> None:
        if not isinstance(text, str | Source):
            raise NotationError(f"{what} is a text, not {type(text).__name__}", example)
        self.source = Source(text, origin="sharding") if isinstance(text, str) else text
        self.what = what
        self.example = example
        whole = self.source.text
        if len(whole) > LONGEST:
            raise NotationError(f"{what} has {len(whole):,} characters", f"{LONGEST:,} are read")
        self.tokens = [
            Token(match.lastgroup or "", match[0], *match.span())
            for match in _TOKEN.finditer(whole)
            if match.lastgroup != "space"
        ]
        end = self.tokens[-1].end if self.tokens else 0
        self.tokens.append(Token("end", "", end, end))
        self.position = 0

    @property
    def token(self) -> Token:
        """The token to be read next."""
        return self.tokens[self.position]

    def place(self, token: Token | None = None) -> Place:
        """Where a token stands, the next one by default."""
        token = token or self.token
        return self.source.place(token.start, max(token.end, token.start + 1))

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these."""
        return self.token.kind != "string" and self.token.text in texts

    def take(self) -> Token:
        """Reads the next token; the end stays."""
        token = self.token
        self.position = min(self.position + 1, len(self.tokens) - 1)
        return token

    def accept(self, *texts: str) -> Token | None:
        """Reads the next token if it is one of these."""
        return self.take() if self.at(*texts) else None

    def expect(self, text: str, where: str = "") -> Token:
        """Reads the next token, which must be this."""
        if not self.at(text):
            raise self.unexpected(f"'{text}'{where and ' ' + where}")
        return self.take()

    def number(self, what: str) -> int:
        """Reads a whole number."""
        if self.token.kind != "number":
            raise self.unexpected(f"a number for {what}")
        if len(self.token.text) > _DIGITS:
            raise self.fault(f"{what} has more than {_DIGITS} digits", self.example)
        return int(self.take().text)

    def axis(self) -> Token:
        """Reads the name of an axis in quotes; the token that is given back has none."""
        if self.token.kind != "string":
            raise self.unexpected("an axis in quotes")
        token = self.take()
        name = token.text[1:-1]
        if sub_axis(name) is not None:
            raise self.fault(
                f"{shown(name)} is a part of an axis, not the name of one", token=token
            )
        return token._replace(text=name)

    def word(self, what: str) -> Token:
        """Reads a name."""
        if self.token.kind != "word":
            raise self.unexpected(what)
        return self.take()

    def end(self) -> None:
        """Checks that nothing is left."""
        if self.token.kind != "end":
            raise self.unexpected("the end")

    def unexpected(self, expected: str, token: Token | None = None) -> NotationError:
        """The error for a token that does not fit."""
        token = token or self.token
        found = "the end" if token.kind == "end" else shown(token.text)
        return self.fault(f"expected {expected} in {self.what}, found {found}", token=token)

    def fault(self, message: str, hint: str = "", token: Token | None = None) -> NotationError:
        """An error at a token, the next one by default."""
        return NotationError(message, hint or self.example, self.place(token))
