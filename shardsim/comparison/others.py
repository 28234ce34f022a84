"""The same collective done otherwise: by every other method, and on links that wrap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shardsim.call import ALGORITHMS, ONLY_ALL_REDUCE, Method, make_call
from shardsim.cost import CostModel, Wanted
from shardsim.errors import PlanError
from shardsim.mesh import Mesh, lay_mesh
from shardsim.units import Seconds
from shardsim.vocabulary import CollectiveKind, DimensionKind, Relation, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.call import Call
    from shardsim.vocabulary import LatencyModel

__all__ = ["Other", "if_wrapped", "other_methods"]

FEW_CHUNKS = 8


@dataclass(frozen=True, slots=True)
class Other:
    """A method, its closed form's seconds, and how they stand to its simulation."""

    method: Method
    seconds: Seconds
    relation: Relation


def other_methods(call: Call, latency_model: LatencyModel) -> tuple[Other, ...]:
    """Every method for the same chips and bytes, the cheapest first; equal ones once.

    On one segment its algorithms; over several the schedules, each segment with its own algorithm,
    and one order in chunks that follow each other.
    """
    if not isinstance(call.kind, CollectiveKind):
        return ()
    found: dict[str, Other] = {}
    mine = CostModel(latency_model).collective(call)
    found[call.method.name] = Other(call.method, mine.exact.total, mine.relation)
    for wanted in _wanted(call):
        cost = CostModel(latency_model, wanted)
        method = cost.method(call.kind, call.group, call.size)
        if wanted.algorithm is not None and wanted.algorithm not in method.algorithms:
            continue
        try:
            price = cost.collective(make_call(call.kind, call.group, call.size, method))
        except PlanError:
            continue
        found.setdefault(method.name, Other(method, price.exact.total, price.relation))
    return tuple(sorted(found.values(), key=lambda other: (other.seconds, other.method.name)))


def asked(other: Other) -> str:
    """The options that ask for a method: `--schedule balanced --chunks 16`."""
    method = other.method
    if len(method.algorithms) == 1:
        words = [f"--algorithm {method.algorithms[0].value}"]
    else:
        words = [f"--schedule {method.schedule.value}"]
    return " ".join(words + ([f"--chunks {method.chunks}"] if method.chunks > 1 else []))


def _wanted(call: Call) -> Iterator[Wanted]:
    segments = call.group.segments
    if len(segments) > 1:
        yield from (Wanted(schedule=schedule) for schedule in Schedule)
        yield Wanted(schedule=Schedule.TIERED, chunks=FEW_CHUNKS)
        return
    for segment in segments:
        for algorithm in ALGORITHMS[segment.kind]:
            if algorithm not in ONLY_ALL_REDUCE or call.kind is CollectiveKind.ALL_REDUCE:
                yield Wanted(algorithm=algorithm)


def if_wrapped(call: Call, latency_model: LatencyModel) -> Seconds | None:
    """What the collective would take if its lines were rings; None where none could be one."""
    mesh = call.group.mesh
    lines = {
        segment.dimension
        for segment in call.group.segments
        if segment.kind is DimensionKind.LINE and segment.size > 2 and segment.dimension is not None
    }
    topology = mesh.topology
    whole = {index for index in lines if topology.dimensions[index].kind is DimensionKind.LINE}
    if not whole or mesh.order is not None or not topology.is_regular:
        return None
    wrapped = replace(
        topology,
        dimensions=tuple(
            replace(dimension, kind=DimensionKind.RING) if index in whole else dimension
            for index, dimension in enumerate(topology.dimensions)
        ),
    )
    other = _same_layout(mesh, lay_mesh(wrapped, dict(mesh.sizes)))
    if other is None:
        return None
    cost = CostModel(latency_model)
    group = other.group(call.group.axes)
    return cost.collective(cost.call(call.kind, group, call.size)).exact.total


def _same_layout(mesh: Mesh, other: Mesh) -> Mesh | None:
    """The other mesh where its axes lie on the same dimensions."""

    def under(one: Mesh) -> list[tuple[int | None, int, int]]:
        return [(part.dimension, part.spacing, part.size) for part in one.parts]

    return other if under(mesh) == under(other) else None
