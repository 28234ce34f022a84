"""Where another order of chips would be better: both prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardsim.call import make_call
from shardsim.cost import CostModel
from shardsim.errors import MeshError
from shardsim.mesh import lay_mesh
from shardsim.units import format_seconds
from shardsim.vocabulary import CollectiveKind, DimensionKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardsim.call import Call
    from shardsim.mesh import Mesh
    from shardsim.topology import Coordinate
    from shardsim.units import Seconds
    from shardsim.vocabulary import LatencyModel

__all__ = ["advice_for"]

MOST_NAMED = 4


def advice_for(call: Call, simulated: Seconds, latency_model: LatencyModel) -> tuple[str, ...]:
    """What people should know of how a collective's axes lie, with the time that is lost.

    Args:
        call: The collective.
        simulated: What it takes as it lies.
        latency_model: What a hop costs.
    """
    if not isinstance(call.kind, CollectiveKind) or call.group.is_physical:
        return ()
    mesh = call.group.mesh
    if mesh.order is not None:
        return _better_order(call, simulated, latency_model)
    if not mesh.topology.is_regular:
        return ()
    return _better_layout(call, simulated, latency_model)


def _price(call: Call, mesh: Mesh, latency_model: LatencyModel) -> Seconds:
    """The same collective on another mesh."""
    cost = CostModel(latency_model)
    group = mesh.group(call.group.axes)
    other = make_call(call.kind, group, call.size, cost.method(call.kind, group, call.size))
    return cost.collective(other).exact.total


def _better_order(call: Call, simulated: Seconds, latency_model: LatencyModel) -> tuple[str, ...]:
    """The dimensions as they are; for one axis over all chips also a ring through them, a snake."""
    mesh = call.group.mesh
    if not mesh.topology.is_regular:
        return ()
    axis = ", ".join(call.group.axes)
    wide = [name for name, size in mesh.sizes.items() if size > 1]
    layouts = {word: {wide[0]: word} for word in ("ring", "snake")} if len(wide) == 1 else {}
    found = []
    for word, layout in {**layouts, "": None}.items():
        try:
            other = lay_mesh(mesh.topology, mesh.sizes, layout)
        except MeshError:
            continue
        found.append((_price(call, other, latency_model), word, other.order or ()))
    seconds, word, order = min(found, key=lambda item: item[0], default=(simulated, "", ()))
    if seconds >= simulated:
        return ()
    before = f"{axis} in the order given takes {format_seconds(simulated)}"
    if not word:
        return (f"{before}; {format_seconds(seconds)} without the order, by all dimensions",)
    return (
        f"{before}; {format_seconds(seconds)} as a {word}, layout {axis}={word}: {_named(order)}",
    )


def _named(order: Sequence[Coordinate]) -> str:
    shown = ", ".join(str(chip) for chip in order[:MOST_NAMED])
    return shown + (", ..." if len(order) > MOST_NAMED else "")


def _better_layout(call: Call, simulated: Seconds, latency_model: LatencyModel) -> tuple[str, ...]:
    """For axes that share a dimension: the one that communicates as neighbours, the other apart."""
    mesh = call.group.mesh
    shared = {
        segment.dimension
        for segment in call.group.segments
        if segment.stride > 1 and segment.kind is not DimensionKind.SWITCH
    }
    layout = {axis.name: _text(mesh, axis.name, shared) for axis in mesh.axes if axis.size > 1}
    try:
        other = lay_mesh(mesh.topology, mesh.sizes, layout)
        seconds = _price(call, other, latency_model)
    except MeshError:
        return ()
    if seconds >= simulated:
        return ()
    axes = ", ".join(call.group.axes)
    said = ",".join(f"{axis}={text}" for axis, text in layout.items())
    return (
        f"{axes} steps over chips of other groups and takes {format_seconds(simulated)}; "
        f"{format_seconds(seconds)} with neighbours, layout {said} (the other axes pay for it)",
    )


def _text(mesh: Mesh, name: str, shared: set[int | None]) -> str:
    """An axis's layout where, on shared dimensions, inner and outer parts are exchanged."""
    pieces = []
    for segment in mesh.axis(name).parts:
        index = segment.dimension
        assert index is not None
        dimension = mesh.topology.dimensions[index]
        if segment.size == dimension.size:
            pieces.append(dimension.name)
            continue
        spacing = segment.spacing
        if index in shared:
            spacing = dimension.size // segment.size // spacing
        before = dimension.size // spacing // segment.size
        pieces.append(f"{dimension.name}:({before}){segment.size}")
    return "+".join(pieces)
