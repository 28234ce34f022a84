"""Runs to make traces of, and what a test wants to know of a trace: its slices and its arrows."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from shardsim.comparison import run_scenario
from shardsim.mesh import lay_mesh
from shardsim.program import bind_program
from shardsim.scenario import make_scenario
from shardsim.vocabulary import Algorithm, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shardsim.comparison import Run

Event = dict[str, Any]
Cell = tuple[tuple[int, ...], int]
"""A block, and the number of a share so small that no message cuts it."""

KINDS = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all")


def collective(kind: str, axes: str = "X") -> str:
    """A statement of that collective over some axes; dimensions I and J."""
    return {
        "all_gather": f"AllGather_{axes} A[I_{axes}, J]",
        "reduce_scatter": f"ReduceScatter_{{{axes},I}} A[I, J]{{U_{axes}}}",
        "all_reduce": f"AllReduce_{axes} A[I, J]{{U_{axes}}}",
        "all_to_all": f"AllToAll_{{{axes},J}} A[I_{axes}, J]",
    }[kind]


def dimension(
    name: str, size: int, kind: str, bandwidth: Any = "45 GB/s", latency: Any = "1 us", **more: Any
) -> Event:
    """A dimension of a topology, as in a file."""
    rates = {"bandwidth": bandwidth, "latency": latency}
    return {"name": name, "size": size, "kind": kind, **rates, **more}


def topology(*dimensions: Event, **more: Any) -> Event:
    """A topology as in a file."""
    name = "x".join(f"{d['kind']} of {d['size']}" for d in dimensions)
    return {"name": name, "chip": "v5e", "dimensions": list(dimensions), **more}


def machine(kind: str, size: int, **more: Any) -> Event:
    """One row of chips."""
    return topology(dimension("x", size, kind, **more))


def run_on(
    where: Event | str,
    program: str | list[str],
    *,
    mesh: dict[str, int] | None = None,
    i: int = 60,
    j: int = 60,
    algorithm: str | None = None,
    schedule: str | None = None,
    chunks: int | None = None,
    devices: list[tuple[int, ...]] | None = None,
    **more: Any,
) -> Run:
    """A run on a topology; without a mesh, axes X, Y, Z lie over the dimensions of a mapping."""
    if mesh is None:
        assert not isinstance(where, str)
        mesh = {a: d["size"] for a, d in zip("XYZ", where["dimensions"], strict=False)}
    made = make_scenario(program, topology=where, mesh=mesh, dims={"I": i, "J": j}, **more)
    options = replace(
        made.options,
        algorithm=Algorithm(algorithm) if algorithm else None,
        schedule=Schedule(schedule) if schedule else None,
        chunks=chunks,
    )
    bound = made.program
    if devices is not None:
        laid = lay_mesh(bound.mesh.topology, mesh, devices=devices)
        bound = bind_program(bound.statements, laid, dict(bound.extents), bound.dtypes)
    return run_scenario(replace(made, program=bound, options=options))


def of_phase(trace: Event, phase: str, category: str | None = None) -> list[Event]:
    events = (event for event in trace["traceEvents"] if event["ph"] == phase)
    return [event for event in events if category in (None, event.get("cat"))]


def names(trace: Event, what: str) -> dict[Any, str]:
    """The names of processes by number, or of threads by both numbers."""
    named = (event for event in of_phase(trace, "M") if event["name"] == what)
    key = (lambda e: (e["pid"], e["tid"])) if what.startswith("thread") else (lambda e: e["pid"])
    return {key(event): event["args"].get("name") for event in named}


def ns(microseconds: float) -> int:
    return round(microseconds * 1000)


class Slice(NamedTuple):
    """A message on one link or port."""

    start: int
    end: int
    pid: int
    tid: int
    chip: str
    thread: str
    args: Event

    @property
    def message(self) -> tuple[Any, ...]:
        """Which message it is a hop of."""
        args = self.args
        return (
            *(args["step"], args["sender"], args["receiver"]),
            *(args["message"], tuple(args["blocks"])),
        )

    def __hash__(self) -> int:
        return hash(self[:4])


def slices(trace: Event) -> list[Slice]:
    """The slices of messages."""
    chips, threads = names(trace, "process_name"), names(trace, "thread_name")
    return [
        Slice(
            ns(e["ts"]),
            ns(e["ts"]) + ns(e["dur"]),
            *(e["pid"], e["tid"], chips[e["pid"]], threads[e["pid"], e["tid"]]),
            e["args"],
        )
        for e in of_phase(trace, "X", "message")
    ]


def arrows(trace: Event) -> list[tuple[Slice, Slice]]:
    """From which slice to which the arrows lead: those that are open where an arrow is bound."""
    on: defaultdict[int, list[Slice]] = defaultdict(list)
    for one in sorted(slices(trace), key=lambda one: one[:4]):
        on[one.tid].append(one)

    def bound(event: Event) -> Slice:
        found = on[event["tid"]]
        at = bisect_right([one.start for one in found], ns(event["ts"])) - 1
        assert found[at].start <= ns(event["ts"]) < found[at].end
        return found[at]

    ends = {event["id"]: event for event in of_phase(trace, "f")}
    return [(bound(event), bound(ends[event["id"]])) for event in of_phase(trace, "s")]


def place_of(run: Run, step: int, name: str) -> tuple[int, ...] | None:
    """Where the chip of a name stands in its group; None for a switch."""
    (inside,) = re.findall(r"\((.*)\)", name)
    if "*" in inside:
        return None
    group = run.plan.steps[step].call.group  # type: ignore[union-attr]
    return group.place(tuple(int(at) for at in inside.split(", ")))


class Cells:
    """Reads the texts of blocks as sets of cells."""

    def __init__(self, run: Run, step: int, all_slices: Iterable[Slice]) -> None:
        group = run.plan.steps[step].call.group  # type: ignore[union-attr]
        self.sizes = [segment.size for segment in group.segments]
        texts = {text for one in all_slices for text in one.args["blocks"]}
        self.bounds = sorted({0, 1} | {bound for text in texts for bound in self._share(text)})

    def of(self, texts: Iterable[str]) -> set[Cell]:
        """What texts of blocks name, such as `(0, 1)→(2, *) [0, 1/2)`."""
        return {cell for text in texts for cell in self._of(text)}

    def _of(self, text: str) -> Iterator[Cell]:
        low, high = self._share(text)
        words = re.findall(r"\d+|\*", text.partition(" [")[0])
        assert len(words) % len(self.sizes) == 0
        ranges = [
            range(self.sizes[at % len(self.sizes)]) if word == "*" else [int(word)]
            for at, word in enumerate(words)
        ]
        shares = range(self.bounds.index(low), self.bounds.index(high))
        for block in itertools.product(*ranges):
            for share in shares:
                yield block, share

    @staticmethod
    def _share(text: str) -> tuple[Fraction, Fraction]:
        _, cut, share = text.partition(" [")
        if not cut:
            return Fraction(0), Fraction(1)
        low, high = share.rstrip(")").split(", ")
        return Fraction(low), Fraction(high)
