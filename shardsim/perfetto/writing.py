"""A trace in a file: all of it, or nothing."""

from __future__ import annotations

import errno
import json
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardsim.errors import InputError
from shardsim.perfetto.trace import MOST_CHIPS, trace_events

if TYPE_CHECKING:
    from shardsim.comparison import Run

__all__ = ["as_text", "write_trace"]


def write_trace(run: Run, path: str | os.PathLike[str], *, chips: int = MOST_CHIPS) -> None:
    """Writes the trace of a run to a file.

    Args:
        run: What was simulated.
        path: The file; one that is there is replaced when the new one is complete.
        chips: As for `trace_events`.

    Raises:
        InputError: the file cannot be written; what was there before is still there.
    """
    text = as_text(trace_events(run, chips=chips))
    try:
        _write_whole(Path(path), text)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        message = f"cannot write the trace to {os.fspath(path)!r}: {reason}"
        raise InputError(message, _way_out(Path(path), error)) from error


def as_text(trace: dict[str, Any]) -> str:
    """A trace as JSON, one event a line.

    >>> print(as_text({"displayTimeUnit": "ns", "traceEvents": [{"ph": "M"}, {"ph": "X"}]}), end="")
    {"displayTimeUnit": "ns",
    "traceEvents": [
    {"ph": "M"},
    {"ph": "X"}
    ]}
    """

    def line(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    head = [f"{line(key)}: {line(trace[key])}" for key in trace if key != "traceEvents"]
    events = ",\n".join(line(event) for event in trace["traceEvents"])
    return "{" + ",\n".join([*head, f'"traceEvents": [\n{events}\n]']) + "}\n"


def _write_whole(path: Path, text: str) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")  # a pipe or a device must not be replaced
        return
    target = path.resolve()
    draft = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _way_out(path: Path, error: Exception) -> str:
    match error:
        case FileNotFoundError():
            return f"create the folder {str(path.parent)!r} first, or choose another"
        case IsADirectoryError():
            return f"name a file in it, such as {str(path / 'trace.json')!r}"
        case PermissionError():
            return "choose a folder in which you may write"
        case _:
            return "choose another path"
