"""Chips and the directed links between them: what a slice is made of.

A topology is a grid. Each dimension is a `ring` (the last chip is cabled to the first), a `line`,
or a `switch` (every chip has a port out and a port in); the reason is kept, so that it can be
printed. Single links and chips may differ from the rest, or be missing.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from shardsim.errors import TopologyError
from shardsim.hardware import Calibration, Chip, Link
from shardsim.timeline import LinkDirection, Port
from shardsim.units import number
from shardsim.vocabulary import ChannelKind, DimensionKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    import networkx as nx

__all__ = [
    "Coordinate",
    "Dimension",
    "Hop",
    "LinkKey",
    "Topology",
    "spot",
]

Coordinate = tuple[int, ...]
LinkKey = tuple[int, int]
"""A link that leaves a chip: dimension index, and +1 or -1; at a switch, port out and port in."""

AT_SWITCH = -1
"""A switch stands in the grid where its chips do, with this coordinate along its dimension."""

NEUTRAL = Calibration()


def spot(chip: Coordinate) -> str:
    """A chip's coordinates for people.

    >>> spot((3,)), spot((0, 1))
    ('(3)', '(0, 1)')
    """
    return f"({', '.join(map(str, chip))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One dimension of a topology; `reason` says why it is a ring or a line.

    A ring of 2 has two cables between its chips; with one cable it is a line. The link of a switch
    is one port of one chip, one way; its latency is from chip to chip. `reduces`: it can add.
    `channel`: what its links are called.
    """

    name: str
    size: int
    kind: DimensionKind
    link: Link
    reason: str = "as given"
    reduces: bool = False
    channel: ChannelKind = ChannelKind.NETWORK

    @property
    def directed_links(self) -> int:
        """Directed links (ports, at a switch) of one row of chips along the dimension."""
        return 2 * (self.size - 1 if self.kind is DimensionKind.LINE else self.size)


class Hop(NamedTuple):
    """One hop of a message: what it holds at once, how fast that is, and where it comes to."""

    tracks: tuple[LinkDirection | Port, ...]
    link: Link
    to: Coordinate


@dataclass(frozen=True, kw_only=True)
class Topology:
    """A named grid of equal chips.

    Chips are named by their coordinates, one per dimension.

    Attributes:
        name: As in reports.
        chip: What stands at every coordinate.
        dimensions: How the chips are connected.
        changed: Links that differ from the rest, by chip and key; None where one is missing.
        missing: Coordinates without a chip.
        calibration: How far collectives fall short of the bandwidths.
    """

    name: str
    chip: Chip
    dimensions: tuple[Dimension, ...]
    changed: tuple[tuple[tuple[Coordinate, LinkKey], Link | None], ...] = ()
    missing: frozenset[Coordinate] = frozenset()
    calibration: Calibration = NEUTRAL

    @property
    def shape(self) -> tuple[int, ...]:
        """Coordinates along each dimension."""
        return tuple(dimension.size for dimension in self.dimensions)

    @property
    def size(self) -> int:
        """Number of chips."""
        return math.prod(self.shape) - len(self.missing)

    @property
    def links(self) -> tuple[Link, ...]:
        """The kinds of links that there are: one of each dimension, and those that differ."""
        changed = (link for _, link in self.changed if link is not None)
        return (*(dimension.link for dimension in self.dimensions), *changed)

    @property
    def is_regular(self) -> bool:
        """Whether no chip is missing, and no link differs from the rest."""
        return not self.changed and not self.missing

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `show --json`, as a dict."""
        chip = self.chip
        return {
            "format": "shardsim/topology/1",
            "name": self.name,
            "chips": self.size,
            "chip": {
                "name": chip.name,
                "title": chip.title,
                "flops_per_second": {dtype.value: number(rate) for dtype, rate in chip.peaks},
                "hbm_bandwidth_bytes_per_second": number(chip.hbm_bandwidth),
                "hbm_capacity_bytes": number(chip.hbm_capacity),
            },
            "dimensions": [
                {
                    "name": dimension.name,
                    "size": dimension.size,
                    "kind": dimension.kind.value,
                    "reason": dimension.reason,
                    "one_way_bandwidth_bytes_per_second": number(dimension.link.one_way_bandwidth),
                    "latency_seconds": float(dimension.link.latency),
                    "reduces": dimension.reduces,
                }
                for dimension in self.dimensions
            ],
            "overrides": [self._override(*entry) for entry in self.changed],
            "missing": [list(chip) for chip in sorted(self.missing)],
            "calibration": _calibration(self.calibration),
        }

    def _override(self, of: tuple[Coordinate, LinkKey], link: Link | None) -> dict[str, Any]:
        """A changed link as a topology file writes it."""
        chip, key = of
        there = self.neighbour(chip, key)
        found: dict[str, Any] = {"dimension": self.dimensions[key[0]].name}
        if there is None:
            found |= {"chip": list(chip), "port": "out" if key[1] > 0 else "in"}
        else:
            found |= {"from": list(chip), "to": list(there)}
        if link is None:
            return {**found, "removed": True}
        return {
            **found,
            "one_way_bandwidth_bytes_per_second": number(link.one_way_bandwidth),
            "latency_seconds": float(link.latency),
        }

    def coordinates(self) -> Iterator[Coordinate]:
        """All chips in row-major order."""
        grid = itertools.product(*(range(size) for size in self.shape))
        return (chip for chip in grid if chip not in self.missing)

    def neighbour(self, chip: Coordinate, key: LinkKey) -> Coordinate | None:
        """The chip that a link leads to (at a switch, None), were no link missing."""
        index, direction = key
        dimension = self.dimensions[index]
        there = chip[index] + direction
        if dimension.kind is DimensionKind.SWITCH or dimension.size == 1:
            return None
        if dimension.kind is DimensionKind.RING:
            there %= dimension.size
        elif not 0 <= there < dimension.size:
            return None
        found = (*chip[:index], there, *chip[index + 1 :])
        return None if found in self.missing else found

    def link(self, chip: Coordinate, key: LinkKey) -> Link | None:
        """The link that leaves a chip (at a switch, its port out or in), or None without one."""
        dimension = self.dimensions[key[0]]
        if dimension.size == 1 or chip in self.missing:
            return None
        if dimension.kind is not DimensionKind.SWITCH and self.neighbour(chip, key) is None:
            return None
        return self._changed.get((chip, key), dimension.link)

    @cached_property
    def _changed(self) -> dict[tuple[Coordinate, LinkKey], Link | None]:
        return dict(self.changed)

    def hop(self, chip: Coordinate, key: LinkKey) -> Hop | None:
        """The hop over one link of a ring or a line, or None without one."""
        link, there = self.link(chip, key), self.neighbour(chip, key)
        if link is None or there is None:
            return None
        name = self.dimensions[key[0]].name
        return Hop((LinkDirection(chip, name, key[1]),), link, there)

    def through_switch(self, chip: Coordinate, index: int, there: Coordinate) -> Hop | None:
        """The hop from port to port of a switch: both held at once, at the slower one's rate."""
        out, into = self.link(chip, (index, +1)), self.link(there, (index, -1))
        if out is None or into is None:
            return None
        name = self.dimensions[index].name
        rate = min(out.one_way_bandwidth, into.one_way_bandwidth)
        link = Link(rate, max(out.latency, into.latency))
        return Hop((Port(chip, name, +1), Port(there, name, -1)), link, there)

    def to_switch(self, chip: Coordinate, index: int) -> Hop:
        """The hop from a chip to the switch itself, half of the latency from chip to chip."""
        return self._half(chip, (index, +1), self.switch(chip, index))

    def from_switch(self, chip: Coordinate, index: int) -> Hop:
        """The hop from the switch itself to a chip."""
        return self._half(chip, (index, -1), chip)

    def _half(self, chip: Coordinate, key: LinkKey, to: Coordinate) -> Hop:
        link = self.link(chip, key)
        if link is None:
            raise self._cut_off(chip, to)
        track = Port(chip, self.dimensions[key[0]].name, key[1])
        return Hop((track,), Link(link.one_way_bandwidth, link.latency / 2), to)

    @staticmethod
    def switch(chip: Coordinate, index: int) -> Coordinate:
        """The switch of a chip along a dimension."""
        return (*chip[:index], AT_SWITCH, *chip[index + 1 :])

    def route(self, start: Coordinate, end: Coordinate) -> tuple[Hop, ...]:
        """The way of a message: dimension by dimension, the shorter way round.

        Where a link on that way is missing, a shortest way over the links that are there.

        Raises:
            TopologyError: no way leads there.
        """
        hops: list[Hop] = []
        here = start
        for index, dimension in enumerate(self.dimensions):
            while here[index] != end[index]:
                hop = self._towards(here, index, dimension, end)
                if hop is None:
                    return self._detour(start, end)
                hops.append(hop)
                here = hop.to
        return tuple(hops)

    def _towards(
        self, here: Coordinate, index: int, dimension: Dimension, end: Coordinate
    ) -> Hop | None:
        if dimension.kind is DimensionKind.SWITCH:
            there = (*here[:index], end[index], *here[index + 1 :])
            return None if there in self.missing else self.through_switch(here, index, there)
        ahead = (end[index] - here[index]) % dimension.size
        if dimension.kind is DimensionKind.LINE:
            forward = end[index] > here[index]
        else:
            forward = 2 * ahead <= dimension.size
        return self.hop(here, (index, +1 if forward else -1))

    def _detour(self, start: Coordinate, end: Coordinate) -> tuple[Hop, ...]:
        import networkx as nx

        try:
            way = nx.shortest_path(self.graph(), start, end)
        except nx.NetworkXNoPath:
            raise self._cut_off(start, end) from None
        chips = [node for node in way if AT_SWITCH not in node]
        return tuple(self._direct(a, b) for a, b in itertools.pairwise(chips))

    def _direct(self, here: Coordinate, there: Coordinate) -> Hop:
        """The hop between two chips that are neighbours in the graph."""
        for index, dimension in enumerate(self.dimensions):
            if here[index] == there[index]:
                continue
            if dimension.kind is DimensionKind.SWITCH:
                hop = self.through_switch(here, index, there)
            else:
                ways = (self.hop(here, (index, direction)) for direction in (+1, -1))
                hop = next((way for way in ways if way is not None and way.to == there), None)
            if hop is not None:
                return hop
        raise self._cut_off(here, there)

    def _cut_off(self, start: Coordinate, end: Coordinate) -> TopologyError:
        return TopologyError(
            f"no way leads from chip {spot(start)} to chip {spot(end)} of {self.name}",
            "leave more links in: these overrides cut the chips apart",
        )

    def cut_apart(self) -> tuple[Coordinate, Coordinate] | None:
        """Two chips, the first of which cannot reach the second; None where all reach all."""
        import networkx as nx

        graph = self.graph()
        first, *others = self.coordinates()
        reached, reaching = nx.descendants(graph, first), nx.ancestors(graph, first)
        for chip in others:
            if chip not in reached:
                return first, chip
            if chip not in reaching:
                return chip, first
        return None

    def graph(self) -> nx.MultiDiGraph[Coordinate]:
        """Chips and switches as nodes, directed links as edges.

        An edge's key is (dimension index, +1 or -1). Its attributes are `dimension` (the name),
        `direction`, and `link` (a `hardware.Link`). A switch is a node with the coordinate -1.
        """
        import networkx as nx

        graph: nx.MultiDiGraph[Coordinate] = nx.MultiDiGraph(name=self.name)
        graph.add_nodes_from(self.coordinates())
        for chip in self.coordinates():
            for index, dimension in enumerate(self.dimensions):
                for direction in (+1, -1):
                    key = (index, direction)
                    link = self.link(chip, key)
                    if link is None:
                        continue
                    start, end = chip, self.neighbour(chip, key) or self.switch(chip, index)
                    if dimension.kind is DimensionKind.SWITCH and direction < 0:
                        start, end = end, start
                    graph.add_edge(
                        start,
                        end,
                        key=key,
                        dimension=dimension.name,
                        direction=direction,
                        link=link,
                    )
        return graph


def _calibration(calibration: Calibration) -> dict[str, Any]:
    """The JSON of a calibration; sizes in bytes, shares of the bandwidth."""
    return {
        "efficiency": number(calibration.efficiency),
        "launch_overhead_seconds": float(calibration.launch_overhead),
        "collectives": [
            {
                "op": curve.kind.value,
                "chips": curve.chips,
                "launch_seconds": float(curve.launch),
                "points": [[number(size), number(share)] for size, share in curve.points],
            }
            for curve in calibration.curves
        ],
        "source": calibration.source,
        "band": calibration.band,
    }
