"""Where another order of chips would be better: both prices."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.call import make_call
from shardsim.cost import CostModel
from shardsim.errors import MeshError
from shardsim.mesh import lay_mesh
from shardsim.units import format_seconds
from shardsim.vocabulary import CollectiveKind, DimensionKind, Relation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardsim.call import Call
    from shardsim.mesh import Mesh
    from shardsim.topology import Coordinate
    from shardsim.units import Seconds
    from shardsim.vocabulary import LatencyModel

__all__ = ["advice_for"]

MOST_NAMED = 4
MOST_DIMENSIONS = 3
LEAST_GAIN = Fraction(51, 50)


def advice_for(call: Call, simulated: Seconds, latency_model: LatencyModel) -> tuple[str, ...]:
    """What people should know of how a collective's axes lie, with the time that is lost.

    Args:
        call: The collective.
        simulated: What it takes as it lies.
        latency_model: What a hop costs.
    """
    mesh = call.group.mesh
    if not isinstance(call.kind, CollectiveKind) or not mesh.topology.is_regular:
        return ()
    if mesh.order is not None:
        return () if call.group.is_physical else _better_order(call, simulated, latency_model)
    cut = any(
        part.size < mesh.topology.shape[part.dimension]
        for name in call.group.axes
        for part in mesh.axis(name).parts
        if part.dimension is not None and part.kind is not DimensionKind.SWITCH
    )
    return _better_layout(call, simulated, latency_model) if cut else ()


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
    """For two axes that share dimensions: every way to lay them, and what each axis takes.

    One that is better for this axis and no worse for the other; else one that gains more here than
    it loses there.
    """
    mesh = call.group.mesh
    wide = [name for name, size in mesh.sizes.items() if size > 1]
    if len(wide) != 2 or len(call.group.axes) != 1 or len(mesh.topology.shape) > MOST_DIMENSIONS:
        return ()
    (mine,) = call.group.axes
    (other,) = (name for name in wide if name != mine)
    now = _known_price(call, mesh, other, latency_model)
    found = []
    for layout in _layouts(mesh, mine, other):
        laid = lay_mesh(mesh.topology, mesh.sizes, layout)
        here, there = (_known_price(call, laid, name, latency_model) for name in (mine, other))
        if now is not None and here is not None and there is not None and here < simulated:
            loss = max(there - now, Fraction(0))
            found.append((loss > 0, here + loss, here, there, layout))
    if not found or now is None:
        return ()
    _, both, here, there, layout = min(found, key=lambda item: item[:4])
    if both * LEAST_GAIN > simulated:
        return ()
    said = ",".join(f"{axis}={text}" for axis, text in layout.items())
    return (
        f"{mine} takes {format_seconds(simulated)} as it lies, and {format_seconds(here)} by "
        f"layout {said}, where the same takes {format_seconds(there)} over {other} "
        f"instead of {format_seconds(now)}",
    )


def _known_price(call: Call, mesh: Mesh, name: str, latency_model: LatencyModel) -> Seconds | None:
    """The same collective over one axis of a mesh; None where no form is exact or above it."""
    cost = CostModel(latency_model)
    other = cost.call(call.kind, mesh.group((name,)), call.size)
    price = cost.collective(other)
    known = price.relation in {Relation.EQUAL, Relation.UPPER_BOUND}
    return price.exact.total if known else None


def _layouts(mesh: Mesh, mine: str, other: str) -> Iterator[dict[str, str]]:
    """The ways to cut each dimension between two axes, one inside, one outside."""
    dimensions = mesh.topology.dimensions
    ways = []
    for dimension in dimensions:
        n = dimension.size
        pairs = [(dimension.name, "")] if n > 1 else [("", "")]
        pairs += [("", dimension.name)] if n > 1 else []
        for size in range(2, n):
            if n % size == 0:
                rest = n // size
                inner = f"{dimension.name}:({rest}){size}", f"{dimension.name}:(1){rest}"
                outer = f"{dimension.name}:(1){size}", f"{dimension.name}:({size}){rest}"
                pairs += [inner, outer]
        ways.append(pairs)
    for chosen in itertools.product(*ways):
        texts = ["+".join(part for part in parts if part) for parts in zip(*chosen, strict=True)]
        sizes = [_size(mesh, text) for text in texts]
        if sizes == [mesh.sizes[mine], mesh.sizes[other]]:
            named = dict(zip((mine, other), texts, strict=True))
            yield {name: named[name] for name in mesh.sizes if name in named}


def _size(mesh: Mesh, text: str) -> int:
    """Chips of a layout text."""
    whole = {dimension.name: dimension.size for dimension in mesh.topology.dimensions}
    sizes = (
        whole[piece] if "(" not in piece else int(piece.rpartition(")")[2])
        for piece in text.split("+")
        if piece
    )
    return math.prod(sizes)
