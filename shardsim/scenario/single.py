"""One collective by itself: which, of what size, over which chips, from texts or Python values.

The size is S, as benchmarks name it: of an AllToAll or a permute what one chip sends, else that of
the whole array.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from shardsim.call import ALGORITHMS, ONLY_ALL_REDUCE
from shardsim.cost import Wanted
from shardsim.documents import Document, Faults, nearest, plain, validate
from shardsim.errors import Place, ScenarioError, Source
from shardsim.mesh import Group, Mesh
from shardsim.scenario.coordinates import coordinate_of
from shardsim.scenario.form import CollectiveForm
from shardsim.scenario.machine import no_schedule, option_marks, read_mesh, read_topology
from shardsim.topology import Coordinate, Topology
from shardsim.units import Bytes
from shardsim.vocabulary import Algorithm, CallKind, CollectiveKind, LatencyModel, TransferKind

__all__ = ["Single", "kind_of", "make_collective"]

KINDS: tuple[CallKind, ...] = (*CollectiveKind, *TransferKind)
SPELLINGS: dict[str, CallKind] = {
    **{kind.value.replace("_", ""): kind for kind in KINDS},
    "ag": CollectiveKind.ALL_GATHER,
    "rs": CollectiveKind.REDUCE_SCATTER,
    "psumscatter": CollectiveKind.REDUCE_SCATTER,
    "ar": CollectiveKind.ALL_REDUCE,
    "psum": CollectiveKind.ALL_REDUCE,
    "a2a": CollectiveKind.ALL_TO_ALL,
    "collectivepermute": TransferKind.PERMUTE,
    "ppermute": TransferKind.PERMUTE,
    "shift": TransferKind.PERMUTE,
    "sendrecv": TransferKind.SEND,
    "p2p": TransferKind.SEND,
}
ONLY_FOR: dict[str, tuple[CallKind, ...]] = {
    "shift": (TransferKind.PERMUTE,),
    "root": (TransferKind.GATHER,),
    "start": (TransferKind.SEND,),
    "end": (TransferKind.SEND,),
    "ways": (TransferKind.SEND,),
    **dict.fromkeys(
        ("mesh", "layout", "devices", "axes"),
        tuple(kind for kind in KINDS if kind is not TransferKind.SEND),
    ),
    **dict.fromkeys(("algorithm", "schedule"), (*CollectiveKind, TransferKind.GATHER)),
    "chunks": tuple(kind for kind in KINDS if kind is not TransferKind.PERMUTE),
}
OPTIONS = {"kind": "collective", "start": "--from", "end": "--to"}
BETWEEN_TWO = "send goes between two chips: name them, such as --from 0,0 --to 3,3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    """One collective that somebody asks for.

    Attributes:
        kind: Which.
        size: S in bytes, as benchmarks name it.
        topology: Where.
        mesh: The axes; None for a send, which goes from chip to chip.
        axes: Over which of them.
        wanted: Algorithm, schedule and chunks.
        latency_model: What a hop costs.
        shift: Permute: by how many places up.
        root: Gather: the number of the chip that gets everything.
        start: Send: the chip that sends.
        end: Send: the chip that receives.
        ways: Send: over how many ways at once.
    """

    kind: CallKind
    size: Bytes
    topology: Topology
    mesh: Mesh | None = None
    axes: tuple[str, ...] = ()
    wanted: Wanted = field(default_factory=Wanted)
    latency_model: LatencyModel = LatencyModel.ADDITIVE
    shift: int = 1
    root: int = 0
    start: Coordinate = ()
    end: Coordinate = ()
    ways: int = 1


def make_collective(
    kind: str,
    *,
    size: float | str | Fraction,
    topology: str | os.PathLike[str] | Mapping[str, object] | Topology,
    mesh: Mapping[str, int] | str | None = None,
    layout: Mapping[str, str] | str | None = None,
    devices: Sequence[Sequence[int]] | str | None = None,
    axes: Sequence[str] | str | None = None,
    algorithm: str | None = None,
    schedule: str | None = None,
    chunks: int | str | None = None,
    latency_model: str = "additive",
    efficiency: float | str | Fraction | None = None,
    launch_overhead: float | str | Fraction | None = None,
    shift: int | str | None = None,
    root: int | str | None = None,
    start: Sequence[int] | str | None = None,
    end: Sequence[int] | str | None = None,
    ways: int | str | None = None,
) -> Single:
    """A collective from Python values, or from texts as on the command line.

    Raises:
        InputError: one thing is wrong; its place is in the option.
        InputErrors: several things are.

    >>> asked = make_collective("AllGather", size="32 MiB", topology="h100:8")
    >>> asked.kind.value, asked.axes, int(asked.size)
    ('all_gather', ('X',), 33554432)
    """
    given = {
        "kind": kind,
        "size": size,
        "topology": topology,
        "mesh": mesh,
        "layout": layout,
        "devices": devices,
        "axes": axes,
        "algorithm": algorithm,
        "schedule": schedule,
        "chunks": chunks,
        "latency_model": latency_model,
        "efficiency": efficiency,
        "launch_overhead": launch_overhead,
        "shift": shift,
        "root": root,
        "start": start,
        "end": end,
        "ways": ways,
    }
    data = {key: plain(value) for key, value in given.items() if value is not None}
    document = Document(data, option_marks(given, OPTIONS))
    faults = Faults()
    found = faults.attempt(lambda: kind_of(kind, document.place("kind")))
    asked = None if found is None else faults.attempt(lambda: _check_options(document, found))
    form = faults.attempt(lambda: validate(document, CollectiveForm, "the collective"))
    made = None
    if form is not None and asked is TransferKind.SEND:
        made = faults.attempt(lambda: _send(document, form))
    elif form is not None and asked is not None:
        made = faults.attempt(lambda: _over_axes(document, form, asked))
    faults.raise_any()
    assert made is not None
    return made


def kind_of(text: str, place: Place | None = None) -> CallKind:
    """The collective of a name in any common spelling.

    Raises:
        ScenarioError: there is none of that name.

    >>> kind_of("AllGather").value, kind_of("reduce-scatter").value, kind_of("A2A").value
    ('all_gather', 'reduce_scatter', 'all_to_all')
    """
    short = re.sub(r"[\s_-]", "", str(text)).lower().removesuffix("perf")
    if short in SPELLINGS:
        return SPELLINGS[short]
    known = [kind.value for kind in KINDS]
    raise ScenarioError(
        f"there is no collective {str(text)!r}; known: {', '.join(known)}",
        nearest(str(text).lower().replace("-", "_"), known)
        or nearest(short, SPELLINGS)
        or "write one of them; AllGather, all-gather and AG are all_gather too",
        place,
    )


def _check_options(document: Document, kind: CallKind) -> CallKind:
    """Refuses options that do not fit the kind, and asks for those that it needs."""
    faults = Faults()
    for name, kinds in ONLY_FOR.items():
        if not document.has(name) or kind in kinds:
            continue
        option = OPTIONS.get(name, f"--{name}")
        of = "all collectives but " + " and ".join(k.value for k in KINDS if k not in kinds)
        if len(kinds) == 1:
            of = kinds[0].value
        placed = kind is TransferKind.SEND and TransferKind.PERMUTE in kinds
        faults.errors.append(
            ScenarioError(
                f"{option} is for {of}, not for {kind.value}",
                BETWEEN_TWO if placed else "leave it out",
                document.place(name),
            )
        )
    if kind is TransferKind.SEND:
        for name in ("start", "end"):
            if not document.has(name):
                why = f"send needs {OPTIONS[name]}: the coordinates of a chip"
                faults.errors.append(ScenarioError(why, f"add {OPTIONS[name]} 0,0"))
    faults.raise_any()
    return kind


def _send(document: Document, form: CollectiveForm) -> Single:
    topology = read_topology(document, form, None)
    faults = Faults()
    start, end = (
        faults.attempt(partial(coordinate_of, document.data[at], topology, document.place(at)))
        for at in ("start", "end")
    )
    faults.raise_any()
    assert start is not None
    assert end is not None
    return Single(
        kind=TransferKind.SEND,
        size=form.size,
        topology=topology,
        wanted=Wanted(chunks=form.chunks),
        latency_model=form.latency_model,
        start=start,
        end=end,
        ways=form.ways or 1,
    )


def _over_axes(document: Document, form: CollectiveForm, kind: CallKind) -> Single:
    mesh = read_mesh(document, form, None)
    axes = _axes(document, mesh) if document.has("axes") else tuple(mesh.sizes)
    group = mesh.group(axes)
    faults = Faults()
    faults.attempt(lambda: _check_methods(document, form, kind, group))
    root, shift = form.root or 0, 1 if form.shift is None else form.shift
    if not 0 <= root < group.size:
        faults.errors.append(
            ScenarioError(
                f"there is no chip {root} among the {group.size} of a group",
                f"write a number from 0 to {group.size - 1}",
                document.place("root"),
            )
        )
    if kind is TransferKind.PERMUTE and group.size > 1 and shift % group.size == 0:
        faults.errors.append(
            ScenarioError(
                f"a shift by {shift} over {group.size} chips sends nothing",
                f"write a number from 1 to {group.size - 1}",
                document.place("shift"),
            )
        )
    faults.raise_any()
    return Single(
        kind=kind,
        size=form.size,
        topology=mesh.topology,
        mesh=mesh,
        axes=axes,
        wanted=Wanted(form.algorithm, form.schedule, form.chunks),
        latency_model=form.latency_model,
        shift=shift,
        root=root,
    )


def _axes(document: Document, mesh: Mesh) -> tuple[str, ...]:
    """The axes under `axes`: a list, `X,Y`, or `XY` as in the notation."""
    data = document.data["axes"]
    source = document.source("axes") or Source(str(data))
    words: list[tuple[str, Place | None]] = []
    if isinstance(data, str):
        found = re.finditer(r"[^\s,]+", data)
        words = [(word[0], source.place(*word.span())) for word in found]
    else:
        words = [(str(word), document.place("axes", index)) for index, word in enumerate(data)]
    names: list[str] = []
    for word, place in words:
        in_notation = word not in mesh.sizes and all(char in mesh.sizes for char in word)
        for name in word if in_notation else [word]:
            mesh.axis(name, place)
            if name in names:
                raise ScenarioError(f"axis {name} is named twice", "name it once", place)
            names.append(name)
    if not names:
        known = ",".join(mesh.sizes)
        raise ScenarioError("axes names no axis", f"write {known}", document.place("axes"))
    return tuple(names)


def _check_methods(document: Document, form: CollectiveForm, kind: CallKind, group: Group) -> None:
    """Refuses what would have no effect: an algorithm or a schedule that nothing here can run."""
    faults = Faults()
    if form.algorithm is not None:
        faults.attempt(lambda: _check_algorithm(document, form.algorithm, kind, group))
    if form.schedule is not None and len(group.segments) < 2:
        where = f"{group.segments[0].name} alone" if group.segments else "one chip"
        why = f"{', '.join(group.axes)} lies on {where}"
        faults.errors.append(no_schedule(form.schedule, why, document))
    if kind is TransferKind.PERMUTE and len(group.segments) > 1:
        names = ", ".join(segment.name for segment in group.segments)
        faults.errors.append(
            ScenarioError(
                f"a shift is along one ring, line or switch; {', '.join(group.axes)} lie on "
                f"{names}",
                "name one axis: --axes " + group.axes[0],
                document.place("axes") if document.has("axes") else document.place("kind"),
            )
        )
    faults.raise_any()


def _check_algorithm(
    document: Document, algorithm: Algorithm | None, kind: CallKind, group: Group
) -> None:
    assert algorithm is not None
    place = document.place("algorithm")
    if algorithm in ONLY_ALL_REDUCE and kind is not CollectiveKind.ALL_REDUCE:
        raise ScenarioError(
            f"algorithm {algorithm.value} is for all_reduce, not for {kind.value}",
            "leave the algorithm out",
            place,
        )
    kinds = {segment.kind: None for segment in group.segments}
    if not kinds or any(algorithm in ALGORITHMS[kind] for kind in kinds):
        return
    needs = next(kind for kind, words in ALGORITHMS.items() if algorithm in words)
    lies = ", ".join(f"{part.name} is a {part.kind.value}" for part in group.segments)
    known = [word.value for kind in kinds for word in ALGORITHMS[kind]]
    raise ScenarioError(
        f"algorithm {algorithm.value} needs a {needs.value}; {lies}",
        f"leave the algorithm out, or choose {' or '.join(known)}",
        place,
    )
