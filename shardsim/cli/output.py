"""What a command writes: results to stdout, diagnostics and progress to stderr; its exit codes."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from rich.console import RenderableType

__all__ = [
    "BAD_INPUT",
    "EXPECTATION_FAILED",
    "prepare_streams",
    "print_json",
    "print_report",
    "progress",
    "say",
    "status",
    "write",
]

EXPECTATION_FAILED = 1
BAD_INPUT = 2
MANY_CHIPS = 512
ASCII = str.maketrans({"·": "*", "→": "->", "≥": ">=", "µ": "u", "×": "x", "Δ": "d"})


def write(text: str) -> None:
    """Writes to stdout; when the reader has gone (`| head`), the rest is nobody's loss.

    Raises:
        InputError: the text cannot be written: a full disk.
    """
    from shardsim.errors import InputError

    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # the interpreter flushes once more at its end
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            raise InputError(f"cannot write the output: {error.strerror}") from error


def print_json(document: dict[str, Any]) -> None:
    """Writes data; where stdout has no Unicode, with escapes."""
    unicode = codecs.lookup(sys.stdout.encoding or "utf-8").name.startswith("utf")
    write(json.dumps(document, indent=2, ensure_ascii=not unicode, allow_nan=False) + "\n")


def print_report(report: RenderableType) -> None:
    """Writes a report, with colours on a terminal."""
    from shardsim.report import render

    write(render(report, sys.stdout))


def say(text: str) -> None:
    """A diagnostic, on stderr."""
    sys.stderr.write(f"{text}\n")


def progress(chips: int) -> AbstractContextManager[Any]:
    """A note on stderr while many chips are simulated; only on a terminal."""
    if chips < MANY_CHIPS or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"simulating {chips:,} chips")


@contextmanager
def status() -> Iterator[Callable[[str], None]]:
    """Says on stderr what is going on; only on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as shown:
        yield shown.update


def prepare_streams() -> None:
    """Lets both streams take any text, on a terminal without Unicode too."""
    codecs.register_error("shardsim", _as_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="shardsim")


def _as_ascii(error: UnicodeError) -> tuple[str, int]:
    """Near spellings for a terminal without Unicode; `*` for `·` can be read back."""
    assert isinstance(error, UnicodeEncodeError)
    wanted = error.object[error.start : error.end].translate(ASCII)
    return "".join(char if char.isascii() else "?" for char in wanted), error.end
