"""A topology as text: its chip, its dimensions, and what is unlike the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from shardsim.report.chips import machine_lines
from shardsim.report.parts import (
    Sentence,
    axis_lines,
    calibration_lines,
    curve_lines,
    new_table,
    title,
)
from shardsim.topology import spot
from shardsim.units import format_capacity, format_rate, format_seconds
from shardsim.vocabulary import DimensionKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.mesh import Mesh
    from shardsim.topology import Topology

__all__ = ["topology_report"]

MOST_OVERRIDES = 16


def topology_report(topology: Topology, mesh: Mesh | None, *, laid: bool = False) -> RenderableType:
    """A topology: its chip, and each dimension with its links and the reason for its kind.

    Args:
        topology: Which.
        mesh: Axes over it, where there are some.
        laid: Whether somebody said how they lie, so that it is told of each axis.
    """
    chip = topology.chip
    peaks = ", ".join(f"{dtype.value} {format_rate(rate, 'FLOP')}" for dtype, rate in chip.peaks)
    table = new_table("dimension", "axis", "size", "kind", "one way", "both ways", "latency")
    table.columns[2].justify = "right"
    axis_of = {} if mesh is None else mesh.axes_on
    for index, dimension in enumerate(topology.dimensions):
        link = dimension.link
        table.add_row(
            dimension.name,
            axis_of.get(index, "-"),
            str(dimension.size),
            dimension.kind.value,
            format_rate(link.one_way_bandwidth),
            format_rate(link.bidirectional_bandwidth),
            format_seconds(link.latency),
        )
    kinds = {dimension.kind for dimension in topology.dimensions}
    why = [Sentence(f"{d.name}: {d.kind.value}: {d.reason}") for d in topology.dimensions]
    parts: list[RenderableType] = [
        Text(f"{topology.name}: {topology.size:,} x {chip.title or chip.name}", style="bold"),
        Text(f"  each: {peaks}"),
        Text(
            f"        HBM {format_capacity(chip.hbm_capacity)} at {format_rate(chip.hbm_bandwidth)}"
        ),
        Text(f"  together: {_together(topology)}"),
        *(Sentence(line) for line in machine_lines(topology)),
        title("Dimensions"),
        table,
    ]
    if DimensionKind.SWITCH in kinds:
        parts.append(Sentence("of a switch: one port of one chip; latency is from chip to chip"))
    parts.append(
        title("Why a switch" if kinds == {DimensionKind.SWITCH} else "Why a ring or a line")
    )
    parts += why
    for axis in () if mesh is None or laid else mesh.axes:
        parts += [
            Sentence(f"{axis.name}: {segment.kind.value}: {segment.reason}")
            for segment in axis.segments
            if segment.dimension is not None
            and segment.kind is not topology.dimensions[segment.dimension].kind
        ]
    for dimension in topology.dimensions:
        if dimension.reduces:
            parts.append(
                Sentence(
                    f"{dimension.name}: the switch can add: algorithm in_network for AllReduce"
                )
            )
    if mesh is not None and laid:
        parts += [title("Axes"), *(line for axis in mesh.axes for line in axis_lines(axis))]
    if not topology.is_regular:
        parts += [title("Unlike the rest"), *(Sentence(text) for text in _unlike(topology))]
    lines = [*curve_lines(topology.calibration), *calibration_lines(topology.calibration)]
    if lines:
        parts += [title("Real links"), *(Sentence(text) for text in lines)]
    return Group(*parts)


def _together(topology: Topology) -> str:
    """How many links and ports there are."""
    links = ports = 0
    for index, dimension in enumerate(topology.dimensions):
        keys = [(chip, (index, way)) for chip in topology.coordinates() for way in (+1, -1)]
        count = sum(topology.link(*key) is not None for key in keys)
        if dimension.kind is DimensionKind.SWITCH:
            ports += count
        else:
            links += count
    switches = sum(
        topology.size // dimension.size
        for dimension in topology.dimensions
        if dimension.kind is DimensionKind.SWITCH and dimension.size > 1
    )
    said = f"{links:,} directed links" if links or not ports else ""
    if not ports:
        return said
    plural = "switches" if switches > 1 else "switch"
    return f"{said} and " * bool(said) + f"{ports:,} ports (in and out) at {switches:,} {plural}"


def _unlike(topology: Topology) -> Iterator[str]:
    """Missing chips, and links that differ from the rest; both directions of a cable together."""
    if topology.missing:
        chips = ", ".join(map(spot, sorted(topology.missing)[:MOST_OVERRIDES]))
        more = ", ..." if len(topology.missing) > MOST_OVERRIDES else ""
        yield f"no chip at {chips}{more}"
    found: dict[tuple[object, ...], str] = {}
    for (chip, (index, way)), link in topology.changed:
        dimension = topology.dimensions[index]
        there = topology.neighbour(chip, (index, way))
        if link is None:
            said = "missing"
        else:
            said = f"{format_rate(link.one_way_bandwidth)} one way, {format_seconds(link.latency)}"
        if there is None:
            name = f"chip {spot(chip)}, {dimension.name} {'out' if way > 0 else 'in'} port"
            found[chip, index, way] = f"{name}: {said}"
            continue
        back = (there, chip, index, said)
        if back in found:
            ends = f"chips {spot(there)} and {spot(chip)}"
            found[back] = f"{ends}, along {dimension.name}: {said}, each way"
        else:
            ends = f"chip {spot(chip)} to {spot(there)}"
            found[chip, there, index, said] = f"{ends}, along {dimension.name}: {said}"
    lines = list(found.values())
    yield from lines[:MOST_OVERRIDES]
    if len(lines) > MOST_OVERRIDES:
        yield f"and {len(lines) - MOST_OVERRIDES} more (--json has them all)"
