"""What goes wrong, where, and the way out.

Every error that a person can cause is a `ShardsimError`. Where the input is text, the error knows
its `Place` (origin, line, column) and prints the line with a caret under the fault:

    axis X is used twice in A[I_X, J_X]
      --> expression:1:8
        | A[I_X, J_X] · B[J, K] -> C[I, K]
        |          ^
      help: shard one dimension over X, the other over another axis

An error passes its own positional arguments to `Exception.__init__`, since SimPy and pickle build
an exception anew from `args`.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

__all__ = [
    "InputError",
    "InputErrors",
    "MeshError",
    "NotYetError",
    "NotationError",
    "Place",
    "PlanError",
    "QuantityError",
    "RepeatedAxisError",
    "ScenarioError",
    "ShardingError",
    "ShardsimError",
    "SimulationError",
    "Source",
    "TopologyError",
]

PAGE = 100
WINDOW = 94


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of one line of some text: 1-based line and column, `width` characters long."""

    origin: str
    line: int
    column: int
    text: str
    width: int = 1

    def __str__(self) -> str:
        return f"{self.origin}:{self.line}:{self.column}"

    def picture(self) -> str:
        """The line with carets under the place; a long line is cut to a window around it."""
        first = 0
        if len(self.text) > WINDOW:
            first = max(0, min(self.column - 1 - WINDOW // 2, len(self.text) - WINDOW))
        shown = self.text[first : first + WINDOW].replace("\t", " ")
        indent = self.column - 1 - first
        width = max(1, min(self.width, len(shown) - indent))
        return f"    | {shown}".rstrip() + f"\n    | {' ' * indent}{'^' * width}"


@dataclass(frozen=True, slots=True)
class Source:
    """A text and where it stands: in a file, in an option, or by itself.

    `text` is what is parsed. `line` and `column` say where its first character stands in `origin`;
    `context` is the whole line there (the text itself when it stands alone).

    >>> Source("A[I", origin="run.yaml", line=3, column=5, context="  - A[I").place(2, 3).column
    7
    """

    text: str
    origin: str = "expression"
    line: int = 1
    column: int = 1
    context: str | None = None

    def place(self, start: int, end: int | None = None) -> Place:
        """The place of characters `start` to `end` of the text (by default one character)."""
        stop = start + 1 if end is None else end
        if self.context is not None:
            return Place(self.origin, self.line, self.column + start, self.context, stop - start)
        before = self.text[:start]
        row = before.count("\n")
        head = before.rfind("\n") + 1
        lines = self.text.split("\n")
        width = max(1, min(stop, head + len(lines[row])) - start)
        column = start - head + (self.column if row == 0 else 1)
        shown = " " * (self.column - 1) + lines[row] if row == 0 else lines[row]
        return Place(self.origin, self.line + row, column, shown, width)

    @property
    def whole(self) -> Place:
        """The place of a whole text, up to the end of its first line.

        >>> Source("v5e:4y4", "--on").whole.width
        7
        """
        return self.place(0, max(1, len(self.text.partition("\n")[0])))


def _help(hint: str) -> str:
    """The way out, wrapped to the width of a terminal page."""
    return textwrap.fill(hint, PAGE, initial_indent="  help: ", subsequent_indent=" " * 8)


class ShardsimError(Exception):
    """The base of all errors of this package.

    Args:
        message: What is wrong, with the offending value and what was expected.
        hint: The way out, as an instruction; empty where there is none.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message + (f"\n{_help(self.hint)}" if self.hint else "")


class InputError(ShardsimError, ValueError):
    """A fault in what a person wrote; knows its place when there is one."""

    def __init__(self, message: str, hint: str = "", place: Place | None = None) -> None:
        Exception.__init__(self, message, hint, place)
        self.message = message
        self.hint = hint
        self.place = place

    def at(self, place: Place | None) -> InputError:
        """The same error at a place, unless it has one already."""
        if place is None or self.place is not None:
            return self
        return type(self)(self.message, self.hint, place)

    def __str__(self) -> str:
        lines = [self.message]
        if self.place is not None:
            lines += [f"  --> {self.place}", self.place.picture()]
        if self.hint:
            lines.append(_help(self.hint))
        return "\n".join(lines)


class NotationError(InputError):
    """The sharding notation cannot be read, or contradicts itself."""


class RepeatedAxisError(NotationError):
    """An array uses an axis twice; `ways_out` are its texts with the axis in one place."""

    def __init__(
        self,
        message: str,
        hint: str = "",
        place: Place | None = None,
        ways_out: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, hint, place)
        self.args = (message, hint, place, ways_out)
        self.ways_out = ways_out

    def at(self, place: Place | None) -> InputError:
        """The same error at a place, unless it has one already."""
        if place is None or self.place is not None:
            return self
        return RepeatedAxisError(self.message, self.hint, place, self.ways_out)


class QuantityError(InputError):
    """A number or a quantity with a unit cannot be read, or is out of range."""


class TopologyError(InputError):
    """A topology reference or file names something that does not exist or cannot be built."""


class MeshError(InputError):
    """A mesh does not fit its topology, or an axis is not in the mesh."""


class ShardingError(InputError):
    """A sharding is not legal on this mesh: unknown axis, uneven extent, missing extent."""


class PlanError(InputError):
    """No sequence of steps does what was asked."""


class ScenarioError(InputError):
    """A scenario or topology file is not of the documented form."""


class NotYetError(InputError):
    """Something sensible that is not built yet; the message names what is supported."""


class InputErrors(ShardsimError, ValueError):
    """All faults of one input at once, in the order in which they stand."""

    def __init__(self, errors: tuple[InputError, ...]) -> None:
        Exception.__init__(self, errors)
        self.errors = errors
        self.message = "; ".join(error.message for error in errors)
        self.hint = ""

    def __str__(self) -> str:
        count = f"{len(self.errors)} faults:\n\n" if len(self.errors) > 1 else ""
        return count + "\n\n".join(str(error) for error in self.errors)


class SimulationError(ShardsimError, RuntimeError):
    """The simulation cannot go on: a deadlock, with the list of who waits for what."""

    def __init__(self, message: str, waiting: tuple[str, ...] = ()) -> None:
        Exception.__init__(self, message, waiting)
        self.message = message
        self.hint = ""
        self.waiting = waiting

    def __str__(self) -> str:
        return "\n".join([self.message, *(f"  {line}" for line in self.waiting)])
