"""A trace in a file: all of it, or nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shardsim.files import write_whole
from shardsim.perfetto.trace import MOST_CHIPS, trace_events

if TYPE_CHECKING:
    import os

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
    write_whole(text, path, "the trace", "trace.json")


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
