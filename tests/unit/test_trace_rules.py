"""The checker of traces is worth something only if it refuses broken ones, each for its reason."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.trace_rules import faults

Trace = dict[str, Any]


def sound() -> Trace:
    """A trace that uses every phase the checker knows, and keeps all rules."""

    def name(what: str, tid: int, **args: Any) -> dict[str, Any]:
        return {"name": what, "ph": "M", "pid": 1, "tid": tid, "args": args}

    def on(tid: int, phase: str, ts: float, **more: Any) -> dict[str, Any]:
        return {"name": "work", "ph": phase, "ts": ts, "pid": 1, "tid": tid} | more

    return {
        "displayTimeUnit": "ns",
        "traceEvents": [
            name("process_name", 1, name="chip"),
            name("process_sort_index", 1, sort_index=0),
            name("thread_name", 1, name="core"),
            name("thread_name", 2, name="link"),
            on(1, "X", 0, dur=10.5, args={"n": 1}),
            on(1, "X", 2, dur=3.0),
            on(1, "X", 5.0, dur=0),
            on(1, "X", 10.5, dur=1),
            on(2, "B", 0),
            on(2, "E", 4),
            on(2, "X", 20, dur=5),
            on(2, "i", 21, s="t"),
            on(2, "C", 21, args={"a": 1, "b": 2.5}),
            on(1, "s", 1, id=7, cat="hop"),
            on(2, "t", 3, id=7, cat="hop"),
            on(2, "f", 20, id=7, cat="hop", bp="e"),
        ],
    }


def test_a_sound_trace_has_no_fault() -> None:
    assert faults(json.dumps(sound())) == []


def change(index: int, **fields: Any) -> Any:
    """The sound trace with fields of one event changed; None takes a field away."""

    def apply(trace: Trace) -> None:
        event = trace["traceEvents"][index]
        for key, value in fields.items():
            if value is None:
                del event[key]
            else:
                event[key] = value

    return apply


def remove(index: int) -> Any:
    return lambda trace: trace["traceEvents"].pop(index)


def double(index: int) -> Any:
    return lambda trace: trace["traceEvents"].append(copy.deepcopy(trace["traceEvents"][index]))


def put(event: Any) -> Any:
    return lambda trace: trace["traceEvents"].append(event)


def reorder(trace: Trace) -> None:
    trace["displayTimeUnit"] = trace.pop("displayTimeUnit")


BROKEN = {
    "the unit comes late": (reorder, "object: displayTimeUnit is not the first"),
    "the unit is unknown": (lambda t: t.update(displayTimeUnit="us"), "object: displayTimeUnit"),
    "no events": (lambda t: t.update(traceEvents={}), "object: the trace is not an object with"),
    "an event is a list": (put([]), "event: "),
    "no phase": (change(4, ph=None), "phase: "),
    "an async phase": (change(4, ph="b"), "phase: "),
    "no name": (change(4, name=None), "name: "),
    "the name is a number": (change(4, name=5), "name: "),
    "no pid": (change(4, pid=None), "pid: "),
    "the tid is text": (change(4, tid="core"), "tid: "),
    "no ts": (change(4, ts=None), "ts: "),
    "the ts is text": (change(4, ts="0"), "ts: "),
    "the ts is negative": (change(4, ts=-0.001), "ts: "),
    "the ts is beyond all numbers": (change(4, ts=10**400), "ts: "),
    "no dur": (change(4, dur=None), "dur: "),
    "the dur is negative": (change(4, dur=-1), "dur: "),
    "the dur is true": (change(4, dur=True), "dur: "),
    "the category is a list": (change(4, cat=["a"]), "cat: "),
    "args are a list": (change(4, args=[1]), "args: "),
    "a dur on a counter": (change(12, dur=1), "field: "),
    "a field of no phase": (change(4, duration=1), "field: "),
    "a counter without series": (change(12, args={}), "counter: "),
    "a counter of text": (change(12, args={"a": "1"}), "counter: "),
    "a flow without id": (change(13, id=None), "id: "),
    "another binding point": (change(15, bp="s"), "bp: "),
    "an instant of no scope": (change(11, s="x"), "scope: "),
    "an unknown name kind": (change(0, name="chip_name"), "metadata: "),
    "a name without its text": (change(0, args={}), "metadata: "),
    "a sort index of text": (change(1, args={"sort_index": "1"}), "metadata: "),
    "a process named twice": (double(0), "metadata twice: "),
    "a thread named twice": (double(2), "metadata twice: "),
    "a process without name": (remove(0), "unnamed: process 1"),
    "a thread without name": (remove(3), "unnamed: thread 2 of process 1"),
    "a slice runs out of another": (change(5, dur=9), "overlap: "),
    "by a nanosecond": (change(7, ts=10.499), "overlap: "),
    "by the last digit of a double": (change(4, dur=10.500000000000002), "overlap: "),
    "a B and an X cross": (change(10, ts=3.5), "overlap: "),
    "an E ends nothing": (remove(8), "pair: an E"),
    "a B never ends": (remove(9), "pair: a B"),
    "an E of another name": (change(9, name="rest"), "pair: an E"),
    "a flow without start": (remove(13), "flow: "),
    "a flow without end": (remove(15), "flow: "),
    "a flow that ends twice": (double(15), "flow: "),
    "a flow of another category": (change(15, cat="jump"), "flow: "),
    "a flow back in time": (change(13, ts=10.7), "flow order: "),
    "a flow that leaves from nowhere": (change(13, ts=12), "binding: "),
    "a flow that leaves at an end": (change(14, ts=4), "binding: "),
    "a flow that ends on an idle thread": (change(15, ts=19.999), "binding: "),
}


KNOCK_ON = {
    "an E ends nothing": {"binding"},  # the flow's step was in the slice that is gone
    "a B never ends": {"binding"},
    "an E of another name": {"binding"},
    "a B and an X cross": {"binding"},
    "a flow that leaves from nowhere": {"flow order"},
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_trace_is_refused_for_its_reason(what: str) -> None:
    breaks, reason = BROKEN[what]
    trace = sound()
    breaks(trace)
    found = faults(json.dumps(trace))
    assert any(fault.startswith(reason) for fault in found), found
    others = {fault.partition(":")[0] for fault in found} - {reason.partition(":")[0]}
    assert others <= KNOCK_ON.get(what, set())


def test_a_flow_without_binding_point_binds_to_the_next_slice() -> None:
    trace = sound()
    change(15, bp=None, ts=19)(trace)
    assert faults(json.dumps(trace)) == []
    change(15, ts=20.5)(trace)
    assert [fault.partition(":")[0] for fault in faults(json.dumps(trace))] == ["binding"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "json: "),
        ("{", "json: "),
        ("[]", "object: "),
        ('{"traceEvents": [NaN]}', "json: NaN"),
        ('{"traceEvents": [{"ts": -Infinity}]}', "json: -Infinity"),
        ('{"traceEvents": [{"ts": 1, "ts": 2}]}', "json: key 'ts' stands twice"),
    ],
)
def test_text_that_is_not_strict_json_is_refused(text: str, reason: str) -> None:
    (found,) = faults(text)
    assert found.startswith(reason)
