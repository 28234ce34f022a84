"""The rules of the Chrome trace-event format, as a strict checker.

Written from the published description of the format ("Trace Event Format", JSON object form) and
from what Perfetto's importer says about it; it knows nothing of how a trace is made. Phases that no
trace of this project has (async, object, memory and sample events) are refused.

`faults(text)` gives a list of sentences, each `RULE: what is wrong`; it is empty for a trace that
keeps all rules.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from itertools import pairwise
from typing import Any

Event = dict[str, Any]
Thread = tuple[int, int]
Span = tuple[float, float]

PHASES = set("BEXiICstfM")
METADATA = {
    "process_name": ("name", str),
    "process_labels": ("labels", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}
KNOWN_FIELDS = {"name", "cat", "ph", "ts", "tts", "pid", "tid", "args"}
EXTRA_FIELDS = {
    "X": {"dur", "tdur"},
    "s": {"id"},
    "t": {"id"},
    "f": {"id", "bp"},
    "i": {"s"},
    "I": {"s"},
    "C": {"id"},
}


class _NotStrict(ValueError):
    pass


def _refuse_constant(word: str) -> float:
    raise _NotStrict(f"json: {word} is not JSON")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise _NotStrict(f"json: key {twice[0]!r} stands twice in one object")
    return dict(pairs)


def faults(text: str) -> list[str]:
    """All faults of a trace file's text."""
    try:
        trace = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates
        )
    except _NotStrict as error:
        return [str(error)]
    except ValueError as error:
        return [f"json: {error}"]
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        return ["object: the trace is not an object with an array `traceEvents`"]
    found = []
    if "displayTimeUnit" in trace:
        if trace["displayTimeUnit"] not in ("ms", "ns"):
            found.append("object: displayTimeUnit is neither ms nor ns")
        if next(iter(trace)) != "displayTimeUnit":
            found.append("object: displayTimeUnit is not the first key")
    events = trace["traceEvents"]
    found += [fault for index, event in enumerate(events) for fault in _event_faults(index, event)]
    if found:
        return found  # the rules about several events need well-formed ones
    return [*_name_faults(events), *_slice_faults(events), *_flow_faults(events)]


def _is_number(value: object) -> bool:
    """A number that a double holds, NaN and infinity apart."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# Each event by itself.


def _event_faults(index: int, event: Any) -> list[str]:
    if not isinstance(event, dict):
        return [f"event: number {index} is not an object"]
    where = f"number {index} ({event.get('ph')!r} {event.get('name')!r})"
    phase = event.get("ph")
    if phase not in PHASES:
        return [f"phase: {where} has an unknown phase"]
    found = []
    if not isinstance(event.get("name"), str) or not event["name"]:
        found.append(f"name: {where} has no name")
    found += [
        f"{field}: {where} has no {field}, or one that is not a whole number >= 0"
        for field in ("pid", "tid")
        if not _is_int(event.get(field)) or event[field] < 0
    ]
    if (phase != "M" or "ts" in event) and not (_is_number(event.get("ts")) and event["ts"] >= 0):
        found.append(f"ts: {where} has no ts, or one that is not a number >= 0")
    if not isinstance(event.get("cat", ""), str):
        found.append(f"cat: {where} has a category that is not text")
    if not isinstance(event.get("args", {}), dict):
        found.append(f"args: {where} has args that are not an object")
        return found
    unknown = set(event) - KNOWN_FIELDS - EXTRA_FIELDS.get(phase, set())
    if unknown:
        found.append(f"field: {where} has {sorted(unknown)}, which its phase does not have")
    return found + _phase_faults(where, event)


def _phase_faults(where: str, event: Event) -> list[str]:
    args = event.get("args", {})
    match event["ph"]:
        case "X" if not (_is_number(event.get("dur")) and event["dur"] >= 0):
            return [f"dur: {where} has no dur, or one that is not a number >= 0"]
        case "C" if not args or not all(_is_number(value) for value in args.values()):
            return [f"counter: {where} has no series, or one that is not a finite number"]
        case "s" | "t" | "f" if not (_is_int(event.get("id")) or isinstance(event.get("id"), str)):
            return [f"id: {where} has no id"]
        case "f" if event.get("bp", "e") != "e":
            return [f"bp: {where} has a binding point other than e"]
        case "i" | "I" if event.get("s", "t") not in ("g", "p", "t"):
            return [f"scope: {where} has a scope other than g, p, t"]
        case "M":
            key, kind = METADATA.get(event["name"], ("", object))
            if not key:
                return [f"metadata: {where} is of no known kind"]
            value = args.get(key)
            if not isinstance(value, kind) or isinstance(value, bool) or value == "":
                return [f"metadata: {where} has no {key} of type {kind.__name__}"]
    return []


# Names.


def _name_faults(events: list[Event]) -> list[str]:
    found = []
    seen: set[tuple[str, int, int | None]] = set()
    for event in events:
        if event["ph"] == "M":
            of_thread = event["name"].startswith("thread")
            key = (event["name"], event["pid"], event["tid"] if of_thread else None)
            if key in seen:
                found.append(f"metadata twice: {key} is said twice")
            seen.add(key)
    used = sorted({(event["pid"], event["tid"]) for event in events})
    found += [
        f"unnamed: process {pid} has no name"
        for pid in sorted({pid for pid, _ in used})
        if ("process_name", pid, None) not in seen
    ]
    found += [
        f"unnamed: thread {tid} of process {pid} has no name"
        for pid, tid in used
        if ("thread_name", pid, tid) not in seen
    ]
    return found


# Slices nest.


def _slices(events: list[Event]) -> tuple[dict[Thread, list[Event]], list[str]]:
    """The slices of each thread, B and E made into X; and what does not pair."""
    slices: defaultdict[Thread, list[Event]] = defaultdict(list)
    open_: defaultdict[Thread, list[Event]] = defaultdict(list)
    found = []
    for event in sorted(
        (event for event in events if event["ph"] in "BEX"), key=lambda event: event["ts"]
    ):
        thread = event["pid"], event["tid"]
        if event["ph"] == "X":
            slices[thread].append(event)
        elif event["ph"] == "B":
            open_[thread].append(event)
        elif not open_[thread] or open_[thread][-1]["name"] != event["name"]:
            found.append(f"pair: an E {event['name']!r} on thread {thread} ends nothing")
        else:
            begin = open_[thread].pop()
            slices[thread].append({**begin, "dur": event["ts"] - begin["ts"]})
    for thread, left in open_.items():
        found += [f"pair: a B {event['name']!r} on thread {thread} never ends" for event in left]
    return slices, found


def _in_doubles(event: Event) -> Span:
    """As a viewer in JavaScript adds."""
    return float(event["ts"]), float(event["ts"]) + float(event["dur"])


def _in_nanoseconds(event: Event) -> Span:
    """As Perfetto reads: both to the nearest nanosecond, then added."""
    start = round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


def _slice_faults(events: list[Event]) -> list[str]:
    slices, found = _slices(events)
    for thread, of_thread in slices.items():
        first = min(event["ts"] for event in of_thread)
        readings = {
            "as doubles": [_in_doubles(event) for event in of_thread],
            "as doubles from the first slice on": [
                _in_doubles({**event, "ts": event["ts"] - first}) for event in of_thread
            ],
            "in nanoseconds": [_in_nanoseconds(event) for event in of_thread],
        }
        for reading, spans in readings.items():
            overlap = _partial_overlap(spans)
            if overlap is not None:
                found.append(f"overlap: slices on thread {thread} overlap {reading}: {overlap}")
    return found


def _partial_overlap(spans: list[Span]) -> tuple[Span, Span] | None:
    """Two spans of which neither contains the other, and which are not disjoint."""
    stack: list[Span] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        while stack and stack[-1][1] <= span[0]:
            stack.pop()
        if stack and span[1] > stack[-1][1]:
            return stack[-1], span
        stack.append(span)
    return None


# Flows pair, and bind.


def _flow_faults(events: list[Event]) -> list[str]:
    slices, _ = _slices(events)
    spans = {
        thread: [_in_nanoseconds(e) for e in of_thread] for thread, of_thread in slices.items()
    }
    flows: defaultdict[tuple[Any, ...], list[Event]] = defaultdict(list)
    found = []
    for event in events:
        if event["ph"] in "stf":
            flows[event.get("cat", ""), event["name"], event["id"]].append(event)
            if not _binds(event, spans.get((event["pid"], event["tid"]), [])):
                found.append(f"binding: flow {event['id']} has a {event['ph']} outside any slice")
    for key, parts in flows.items():
        phases = "".join(event["ph"] for event in parts)
        if phases.count("s") != 1:
            found.append(f"flow: {key} has {phases.count('s')} starts")
        elif phases.count("f") != 1:
            found.append(f"flow: {key} has {phases.count('f')} ends")
        elif any(earlier["ts"] > later["ts"] for earlier, later in pairwise(parts)) or (
            phases != "s" + "t" * (len(phases) - 2) + "f"
        ):
            found.append(f"flow order: {key} does not go from its start to its end")
    return found


def _binds(event: Event, spans: list[Span]) -> bool:
    at = round(event["ts"] * 1000)
    if event["ph"] == "f" and "bp" not in event:  # binds to the next slice, not the enclosing one
        return any(start >= at for start, _ in spans)
    return any(start <= at < end or at == start for start, end in spans)
