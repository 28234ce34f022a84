"""Runs one collective by itself: prices it, simulates it, and puts the two together."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

from shardsim.call import make_call
from shardsim.comparison.collectives import PER_CHIP, CollectiveRun
from shardsim.cost import CostModel, Wanted
from shardsim.errors import PlanError, TopologyError
from shardsim.mesh import Mesh, lay_mesh
from shardsim.units import Bytes
from shardsim.vocabulary import CallKind, LatencyModel, TransferKind

if TYPE_CHECKING:
    from shardsim.call import Call
    from shardsim.scenario import Single
    from shardsim.topology import Coordinate, Topology

__all__ = ["calls_of", "run_asked", "run_collective", "send_calls"]


def run_asked(asked: Single) -> CollectiveRun:
    """Prices and simulates a collective that somebody asks for, its size as benchmarks name it.

    Raises:
        PlanError, TopologyError: it cannot be done so.
    """
    return _run(*calls_of(asked))


def calls_of(asked: Single) -> tuple[tuple[Call, ...], CostModel]:
    """What somebody asks for as calls, several of a transfer over several ways, and its prices.

    Raises:
        PlanError, TopologyError: it cannot be done so.
    """
    if asked.mesh is None:
        return _sends(
            asked.topology,
            asked.start,
            asked.end,
            asked.size,
            ways=asked.ways,
            chunks=asked.wanted.chunks,
            latency_model=asked.latency_model,
        )
    chips = asked.mesh.ways(asked.axes)
    return _collective(
        asked.kind,
        asked.size * chips if asked.kind in PER_CHIP else asked.size,
        asked.mesh,
        asked.axes,
        wanted=asked.wanted,
        latency_model=asked.latency_model,
        shift=asked.shift,
        root=asked.root,
    )


class How(TypedDict, total=False):
    """How a collective is done; `Single` says what each is."""

    wanted: Wanted | None
    latency_model: LatencyModel
    shift: int
    root: int


class HowSent(TypedDict, total=False):
    """How bytes are sent from chip to chip; `Single` says what each is."""

    ways: int
    chunks: int | None
    latency_model: LatencyModel


def run_collective(
    kind: CallKind, size: Bytes, mesh: Mesh, axes: tuple[str, ...] = (), **how: Unpack[How]
) -> CollectiveRun:
    """Prices and simulates one collective.

    Args:
        kind: Which; `send` has a function of its own, see `send_calls`.
        size: V in bytes.
        mesh: Where.
        axes: Over which axes; all by default.
        how: `wanted` (algorithm, schedule and chunks), `latency_model` (what a hop costs), `shift`
            (permute: by how many places up), `root` (gather: the number of the chip that gets
            everything).

    Raises:
        PlanError: the collective cannot be done so.
    """
    return _run(*_collective(kind, size, mesh, axes, **how))


def _collective(
    kind: CallKind,
    size: Bytes,
    mesh: Mesh,
    axes: tuple[str, ...],
    *,
    wanted: Wanted | None = None,
    latency_model: LatencyModel = LatencyModel.ADDITIVE,
    shift: int = 1,
    root: int = 0,
) -> tuple[tuple[Call, ...], CostModel]:
    """The call of one collective; see `run_collective`."""
    cost = CostModel(latency_model, wanted or Wanted())
    names = axes or tuple(mesh.sizes)
    for name in names:
        mesh.axis(name)
    if len(set(names)) < len(names):
        raise PlanError(f"axes {', '.join(names)} name one twice", "name each axis once")
    _check_amounts(size, cost.wanted.chunks)
    group = mesh.group(names)
    if not 0 <= root < group.size:
        raise PlanError(
            f"chip {root} is not in the group: {', '.join(names)} number {group.size} chips",
            f"name a chip from 0 to {group.size - 1}",
        )
    method = cost.method(kind, group, size)
    call = make_call(kind, group, size, method, shift=shift, root=root)
    return (call,), cost


def send_calls(
    topology: Topology, start: Coordinate, end: Coordinate, size: Bytes, **how: Unpack[HowSent]
) -> CollectiveRun:
    """Sends bytes from one chip to another, over several ways that share no link.

    Way number i goes along the dimensions from the i-th on, round. Each carries an equal part, cut
    in chunks that are stored and forwarded.

    Args:
        topology: Where.
        start: The chip that sends.
        end: The chip that receives.
        size: Bytes, over all ways together.
        how: `ways` (over how many at once), `chunks` (of each part), `latency_model`.

    Raises:
        PlanError: there is nothing to send.
        TopologyError: there are not so many ways, or a chip is not there.
    """
    return _run(*_sends(topology, start, end, size, **how))


def _sends(
    topology: Topology,
    start: Coordinate,
    end: Coordinate,
    size: Bytes,
    *,
    ways: int = 1,
    chunks: int | None = None,
    latency_model: LatencyModel = LatencyModel.ADDITIVE,
) -> tuple[tuple[Call, ...], CostModel]:
    """The calls of a transfer, one for each way; see `send_calls`."""
    chips = set(topology.coordinates())
    for chip in (start, end):
        if chip not in chips:
            raise TopologyError(
                f"{topology.name} has no chip {list(chip)}", "name the coordinates of a chip"
            )
    _check_amounts(size, chunks)
    apart = [i for i, (a, b) in enumerate(zip(start, end, strict=True)) if a != b]
    if not apart:
        raise TopologyError("a chip sends nothing to itself", "name two chips")
    if not 1 <= ways <= len(apart):
        raise TopologyError(
            f"from {list(start)} to {list(end)} no {ways} shortest ways go without sharing a link: "
            f"there is one for each dimension in which the two differ, here {len(apart)}",
            "choose 1" if len(apart) == 1 else f"choose 1 to {len(apart)}",
        )
    cost = CostModel(latency_model, Wanted(chunks=chunks))
    calls = []
    for first in range(ways):
        here, way = start, [start]
        for index in (*apart[first:], *apart[:first]):
            there = (*here[:index], end[index], *here[index + 1 :])
            way += [hop.to for hop in topology.route(here, there)]
            here = there
        mesh = lay_mesh(topology, {"P": len(way)}, devices=way, partial=True)
        calls.append(cost.call(TransferKind.SEND, mesh.group(("P",)), size / ways))
    return tuple(calls), cost


def _check_amounts(size: Bytes, chunks: int | None) -> None:
    """Bytes and chunks that there can be.

    Raises:
        PlanError: there cannot.
    """
    if size <= 0:
        raise PlanError(f"a collective of {size} bytes moves nothing", "give a size above 0")
    if chunks is not None and chunks < 1:
        raise PlanError(f"a collective cannot be cut in {chunks} chunks", "give 1 or more")


def _run(calls: tuple[Call, ...], cost: CostModel) -> CollectiveRun:
    from shardsim.engine import simulate_calls  # here, so that prices do not load it

    topology = calls[0].group.mesh.topology
    timeline = simulate_calls(topology, calls, cost.latency_model)
    prices = tuple(cost.collective(call) for call in calls)
    return CollectiveRun(calls, prices, timeline, cost.latency_model)
