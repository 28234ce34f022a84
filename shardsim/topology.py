"""Chips and the directed links between them: what a slice is made of, and why an axis wraps.

A topology is a grid. Each dimension is a `ring` (the last chip is cabled to the first) or a `line`.
Whether a dimension of a TPU slice wraps follows from the slice's shape by the rule of its
generation; the reason is kept, so that it can be printed.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from shardsim.errors import TopologyError
from shardsim.hardware import Chip, Link
from shardsim.units import number
from shardsim.vocabulary import DimensionKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    import networkx as nx

__all__ = ["Coordinate", "Dimension", "Generation", "Topology", "WrapRule", "slice_topology"]

Coordinate = tuple[int, ...]

CUBE = 4
WRAPPING_LENGTH = 16
DIMENSION_NAMES = ("x", "y", "z")


class WrapRule(StrEnum):
    """When a dimension of a slice has its wraparound link.

    `cubes`: every dimension of the slice is a multiple of 4 (optical switches join 4x4x4 cubes).
    `length_16`: the dimension itself is 16 long.
    `full_pod`: the slice is the whole pod.
    """

    CUBES = "cubes"
    LENGTH_16 = "length_16"
    FULL_POD = "full_pod"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One dimension of a topology; `reason` says why it is a ring or a line.

    A ring of 2 has two cables between its chips; with one cable it is a line.
    """

    name: str
    size: int
    kind: DimensionKind
    link: Link
    reason: str = "as given"

    @property
    def directed_links(self) -> int:
        """Directed links of one row of chips along the dimension."""
        return 2 * (self.size if self.kind is DimensionKind.RING else self.size - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """A named grid of equal chips.

    Chips are named by their coordinates, one per dimension.
    """

    name: str
    chip: Chip
    dimensions: tuple[Dimension, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Chips along each dimension."""
        return tuple(dimension.size for dimension in self.dimensions)

    @property
    def size(self) -> int:
        """Number of chips."""
        return math.prod(self.shape)

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
                }
                for dimension in self.dimensions
            ],
        }

    def coordinates(self) -> Iterator[Coordinate]:
        """All chips in row-major order."""
        return itertools.product(*(range(size) for size in self.shape))

    def graph(self) -> nx.MultiDiGraph[Coordinate]:
        """Chips as nodes, directed links as edges.

        An edge's key is (dimension index, +1 or -1). Its attributes are `dimension` (the name),
        `direction`, and `link` (a `hardware.Link`).
        """
        import networkx as nx

        graph: nx.MultiDiGraph[Coordinate] = nx.MultiDiGraph(name=self.name)
        graph.add_nodes_from(self.coordinates())
        for chip in self.coordinates():
            for index, dimension in enumerate(self.dimensions):
                for direction in (+1, -1):
                    there = chip[index] + direction
                    if dimension.kind is DimensionKind.RING and dimension.size > 1:
                        there %= dimension.size
                    elif not 0 <= there < dimension.size:
                        continue
                    graph.add_edge(
                        chip,
                        (*chip[:index], there, *chip[index + 1 :]),
                        key=(index, direction),
                        dimension=dimension.name,
                        direction=direction,
                        link=dimension.link,
                    )
        return graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """A kind of TPU: its chip, and what slices of it look like.

    Attributes:
        chip: The chip.
        rank: Dimensions of its network.
        pod: The largest slice, where it has one shape; else None.
        pod_chips: The most chips a slice may have.
        rule: When a dimension wraps.
        link: Each link, one way.
    """

    chip: Chip
    rank: int
    pod: tuple[int, ...] | None
    pod_chips: int
    rule: WrapRule
    link: Link

    def reason(self, shape: tuple[int, ...], index: int) -> tuple[bool, str]:
        """Whether dimension `index` of a slice wraps, and why."""
        name, size = self.chip.name, shape[index]
        if size == 1:
            return False, "1 chip: no link"
        if self.rule is WrapRule.LENGTH_16:
            wraps = size == WRAPPING_LENGTH
            why = f"{name} wraps a dimension only when it is 16 long; this one is {size}"
            return wraps, f"{name} wraps a dimension that is 16 long" if wraps else why
        if self.rule is WrapRule.CUBES:
            full = shape + (1,) * (self.rank - len(shape))
            odd = [size for size in full if size % CUBE]
            text = "x".join(map(str, full))
            why = f"{name} wraps only when every dimension of the slice is a multiple of 4"
            if odd:
                return False, f"{why}; {text} has a {odd[0]}"
            return True, f"every dimension of {text} is a multiple of 4 ({name} joins 4x4x4 cubes)"
        assert self.pod is not None
        pod, here = ("x".join(map(str, sizes)) for sizes in (self.pod, shape))
        if sorted(shape) == sorted(self.pod):
            return True, f"{here} is the full pod of {name}"
        return False, f"{name} wraps only in the full pod, {pod}; this slice is {here}"


def slice_topology(generation: Generation, shape: tuple[int, ...]) -> Topology:
    """The slice `CHIP:SHAPE` of a generation, each dimension a ring or a line by its rule.

    Raises:
        TopologyError: more dimensions than the generation has, or larger than its pod.
    """
    name = f"{generation.chip.name}:{'x'.join(map(str, shape))}"
    if len(shape) > generation.rank:
        raise TopologyError(
            f"{name} has {len(shape)} dimensions; {generation.chip.name} slices have "
            f"{generation.rank} at most",
            f"write {generation.rank} sizes, such as "
            f"{generation.chip.name}:{'x'.join(['4'] * generation.rank)}",
        )
    if not fits(shape, generation):
        largest = (
            "x".join(map(str, generation.pod))
            if generation.pod is not None
            else f"{generation.pod_chips:,} chips"
        )
        raise TopologyError(
            f"{name} is larger than a {generation.chip.name} pod ({largest})",
            "choose a shape inside the pod, or describe a cluster of your own in a YAML file",
        )
    dimensions = []
    for index, size in enumerate(shape):
        wraps, why = generation.reason(shape, index)
        kind = DimensionKind.RING if wraps else DimensionKind.LINE
        dimensions.append(
            Dimension(
                name=DIMENSION_NAMES[index], size=size, kind=kind, link=generation.link, reason=why
            )
        )
    return Topology(name=name, chip=generation.chip, dimensions=tuple(dimensions))


def fits(shape: tuple[int, ...], generation: Generation) -> bool:
    """Whether a slice fits in the pod, whichever way it is turned."""
    if math.prod(shape) > generation.pod_chips:
        return False
    if generation.pod is None:
        return True
    largest = sorted(generation.pod, reverse=True)
    return all(
        a <= b for a, b in zip(sorted(shape, reverse=True), largest[: len(shape)], strict=True)
    )
