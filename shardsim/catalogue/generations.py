"""Generations of TPU: what slices of each look like, and which of their dimensions wrap."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from shardsim.errors import TopologyError
from shardsim.topology import Dimension, Topology
from shardsim.vocabulary import ChannelKind, DimensionKind

if TYPE_CHECKING:
    from shardsim.hardware import Chip, Link

__all__ = ["CUBE", "Generation", "WrapRule", "fits", "slice_topology"]

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
class Generation:
    """A kind of TPU: its chip, and what slices of it look like.

    Attributes:
        chip: The chip.
        rank: Dimensions of its network.
        pod: The largest slice, where it has one shape; else None.
        pod_chips: The most chips a slice may have.
        rule: When a dimension wraps.
        link: Each link, one way.
        dcn: The network between slices, a chip's share of it, one way; None without a figure.
    """

    chip: Chip
    rank: int
    pod: tuple[int, ...] | None
    pod_chips: int
    rule: WrapRule
    link: Link
    dcn: Link | None = None

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
                name=DIMENSION_NAMES[index],
                size=size,
                kind=kind,
                link=generation.link,
                reason=why,
                channel=ChannelKind.ICI,
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
