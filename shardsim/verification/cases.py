"""Random cases: which collective, over which axes, how, and on how many bytes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

from shardsim.call import ALGORITHMS, ONLY_ALL_REDUCE, Call, make_call
from shardsim.comparison.collectives import PER_CHIP
from shardsim.cost import CostModel, Wanted
from shardsim.units import Bytes
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    DimensionKind,
    LatencyModel,
    Schedule,
    TransferKind,
)

if TYPE_CHECKING:
    from shardsim.mesh import Group, Mesh
    from shardsim.verification.machine import Machine

__all__ = ["Case", "drawn", "every_group", "shrunk"]

MOST_BITS = 30
MOST_TRIES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A collective to be run.

    Attributes:
        kind: Which.
        axes: Over which axes, major first.
        size: S in bytes, the size that a benchmark names: V, of AllToAll and permute V/N.
        algorithm: Asked for; None leaves it to the choice.
        schedule: The same.
        chunks: Into how many parts the data is cut; None leaves it to the choice.
        latency_model: What a hop costs.
        shift: Permute: by how many places up.
        root: Gather: who gets everything.
    """

    kind: CallKind
    axes: tuple[str, ...]
    size: int
    algorithm: Algorithm | None = None
    schedule: Schedule | None = None
    chunks: int | None = None
    latency_model: LatencyModel = LatencyModel.ADDITIVE
    shift: int = 1
    root: int = 0

    @property
    def cost(self) -> CostModel:
        """The closed forms, with what the case asks for."""
        return CostModel(self.latency_model, Wanted(self.algorithm, self.schedule, self.chunks))

    def volume(self, mesh: Mesh) -> Bytes:
        """V in bytes."""
        return Fraction(self.size * (mesh.ways(self.axes) if self.kind in PER_CHIP else 1))

    def call(self, mesh: Mesh) -> Call:
        """The collective on a mesh."""
        group, size = mesh.group(self.axes), self.volume(mesh)
        method = self.cost.method(self.kind, group, size)
        return make_call(self.kind, group, size, method, shift=self.shift, root=self.root)

    def command(self, machine: Machine, extra: str = "") -> str:
        """The command line that runs it."""
        axes = (*self.axes, extra) if extra else self.axes
        words = ["shardsim collective", self.kind.value, "--size", str(self.size)]
        words.append(machine.options(axes, extra))
        if self.algorithm is not None:
            words += ["--algorithm", self.algorithm.value]
        if self.schedule is not None:
            words += ["--schedule", self.schedule.value]
        if self.chunks is not None:
            words += ["--chunks", str(self.chunks)]
        if self.latency_model is not LatencyModel.ADDITIVE:
            words += ["--latency-model", self.latency_model.value]
        if self.kind is TransferKind.PERMUTE:
            words += ["--shift", str(self.shift)]
        if self.kind is TransferKind.GATHER:
            words += ["--root", str(self.root)]
        return " ".join(words)


def every_group(mesh: Mesh) -> list[tuple[str, ...]]:
    """Every axis of more than one chip, and every combination of them."""
    wide = [axis.name for axis in mesh.axes if axis.size > 1]
    return [
        names for count in range(1, len(wide) + 1) for names in itertools.combinations(wide, count)
    ]


def drawn(mesh: Mesh, kinds: Sequence[CallKind], rng: Random) -> Iterator[Case]:
    """Cases without end: all kinds over all groups in turn, the rest at random."""
    pairs = [
        (kind, axes)
        for axes in every_group(mesh)
        for kind in kinds
        if kind is not TransferKind.PERMUTE or len(mesh.group(axes).segments) == 1
    ]
    while pairs:
        rng.shuffle(pairs)
        for kind, axes in pairs:
            yield _drawn(mesh, kind, axes, rng)


def _drawn(mesh: Mesh, kind: CallKind, axes: tuple[str, ...], rng: Random) -> Case:
    names = list(axes)
    if rng.random() < 0.3:
        rng.shuffle(names)
    group = mesh.group(tuple(names))
    transfer = kind is TransferKind.PERMUTE
    words = _algorithms(kind, group)
    several = len(group.segments) > 1
    return Case(
        kind=kind,
        axes=tuple(names),
        size=rng.randint(1, 2 ** rng.randint(0, MOST_BITS)),
        algorithm=rng.choice([None, *words]) if words else None,
        schedule=rng.choice([None, *Schedule]) if several else None,
        chunks=None if transfer else rng.choice([None, None, None, 2, 3]),
        latency_model=rng.choice(list(LatencyModel)),
        shift=rng.randint(1, group.size - 1) if transfer else 1,
        root=rng.randrange(group.size) if kind is TransferKind.GATHER else 0,
    )


def _algorithms(kind: CallKind, group: Group) -> list[Algorithm]:
    """The algorithms that do something on one of the segments at least."""
    if kind is TransferKind.PERMUTE:
        return []
    found: dict[Algorithm, None] = {}
    if group.mesh.topology.calibration.knows(kind):
        return []  # measured curves stand for one algorithm only
    for segment in group.segments:
        for word in ALGORITHMS[segment.kind]:
            alone = len(group.segments) == 1 and kind is CollectiveKind.ALL_REDUCE
            if word in ONLY_ALL_REDUCE and not alone:
                continue
            if word is Algorithm.IN_NETWORK and not segment.reduces:
                continue
            if segment.kind is DimensionKind.LINE and word is Algorithm.LINE and found:
                continue
            found[word] = None
    return list(found)


def shrunk(case: Case, mesh: Mesh, breaks: Callable[[Case], bool]) -> Case:
    """The smallest case that still breaks a law: fewer axes, fewer options, fewer bytes."""
    tries = 0
    while True:
        for smaller in _smaller(case, mesh):
            tries += 1
            if tries > MOST_TRIES:
                return case
            if breaks(smaller):
                case = smaller
                break
        else:
            return case


def _smaller(case: Case, mesh: Mesh) -> Iterator[Case]:
    """Cases that are simpler in one thing, the simplest first."""
    for count in range(1, len(case.axes)):
        for axes in itertools.combinations(case.axes, count):
            yield _fitting(replace(case, axes=axes), mesh)
    straight = tuple(name for name in mesh.sizes if name in case.axes)
    if len(straight) == len(case.axes) and straight != case.axes:
        yield replace(case, axes=straight)
    if case.chunks is not None:
        yield replace(case, chunks=None)
    if case.schedule is not None:
        yield replace(case, schedule=None)
    if case.algorithm is not None:
        yield replace(case, algorithm=None)
    if case.latency_model is not LatencyModel.ADDITIVE:
        yield replace(case, latency_model=LatencyModel.ADDITIVE)
    if case.shift != 1:
        yield replace(case, shift=1)
    if case.root != 0:
        yield replace(case, root=0)
    sizes = [1, case.size // 2**12, case.size // 2**6, case.size // 2, case.size - 1]
    rounded = 2 ** (case.size.bit_length() - 1)
    for size in dict.fromkeys([*sizes, rounded]):
        if 0 < size < case.size and not (size == case.size - 1 and case.size > 64):
            yield replace(case, size=size)


def _fitting(case: Case, mesh: Mesh) -> Case:
    """The case without options that its fewer axes do not have."""
    group = mesh.group(case.axes)
    several = len(group.segments) > 1
    return replace(
        case,
        algorithm=case.algorithm if case.algorithm in _algorithms(case.kind, group) else None,
        schedule=case.schedule if several else None,
        shift=min(case.shift, group.size - 1),
        root=min(case.root, group.size - 1),
    )
