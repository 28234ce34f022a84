"""Topologies that a person describes: a chip, and dimensions that are rings or lines."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import partial
from typing import Annotated

from pydantic import BeforeValidator, PlainValidator

from shardsim.catalogue.chips import generation_of
from shardsim.documents import Document, Faults, Record, validate
from shardsim.documents.fields import Count, DtypeWord, Latency, Peak, Rate, Size, words
from shardsim.errors import InputError, NotYetError, ScenarioError, TopologyError
from shardsim.hardware import Chip, Link
from shardsim.topology import Dimension, Topology
from shardsim.vocabulary import DimensionKind

__all__ = ["cluster_topology"]

KINDS = {
    DimensionKind.RING: "a cable joins the last chip to the first",
    DimensionKind.LINE: "none does",
}
MOST_DIMENSIONS = 6
MOST_CHIPS = 1_000_000
ONE_CABLE = (
    "2 chips with one cable: the wraparound would be the same cable (links: 2 says there are two)"
)


def _dimension_name(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z_]\w*", value) is None:
        raise ScenarioError(
            f"{value!r} cannot be the name of a dimension",
            "use a letter, then letters, digits and _, such as x",
        )
    return value


def _dimensions(value: object) -> object:
    if isinstance(value, list) and not 1 <= len(value) <= MOST_DIMENSIONS:
        raise TopologyError(
            f"dimensions must be 1 to {MOST_DIMENSIONS}; this topology has {len(value)}",
            "write a list of {name: ..., size: ..., kind: ..., bandwidth: ...}",
        )
    return value


def _peaks(value: object) -> object:
    if value == {}:
        raise TopologyError("flops_per_second is empty", "write it as {bf16: 200 TFLOP/s}")
    return value


def _kind(value: object) -> object:
    if value == "switch":
        raise NotYetError("kind switch is not supported yet", "supported: ring, line")
    return value


def _links(value: object) -> int:
    if isinstance(value, bool) or str(value) not in ("1", "2"):
        raise ScenarioError(f"links must be 1 or 2; it is {str(value)!r}", "leave it out for 1")
    return int(str(value))


class OwnChip(Record):
    """A chip described in a topology file."""

    name: str
    title: str = ""
    flops_per_second: Annotated[dict[DtypeWord, Peak], BeforeValidator(_peaks)]
    hbm_bandwidth: Rate
    hbm_capacity: Size


class DimensionForm(Record):
    """One dimension; `bandwidth` is one way, `links` counts the cables between two chips."""

    name: Annotated[str, BeforeValidator(_dimension_name)]
    size: Count
    kind: Annotated[DimensionKind, words(DimensionKind, KINDS), BeforeValidator(_kind)]
    bandwidth: Rate
    latency: Latency = Fraction(1, 10**6)
    links: Annotated[int, PlainValidator(_links)] = 1


Dimensions = Annotated[tuple[DimensionForm, ...], BeforeValidator(_dimensions)]


class Cluster(Record):
    """The form of a topology file whose chip is in the catalogue."""

    name: str = ""
    chip: str
    dimensions: Dimensions


class ClusterOfOwnChip(Record):
    """The form of a topology file that describes its chip."""

    name: str = ""
    chip: OwnChip
    dimensions: Dimensions


def cluster_topology(document: Document, default_name: str = "topology") -> Topology:
    """The topology that a document describes.

    Args:
        document: A mapping with `name`, `chip` and `dimensions`.
        default_name: For a topology without a name.

    Raises:
        InputError: one thing is wrong.
        InputErrors: several are.
    """
    own = isinstance(document.data, dict) and isinstance(document.data.get("chip"), dict)
    form: Cluster | ClusterOfOwnChip
    if own:
        form = validate(document, ClusterOfOwnChip, "the topology")
    else:
        form = validate(document, Cluster, "the topology")
    faults = Faults()
    chip = faults.attempt(partial(_chip, form, document))
    dimensions = [
        faults.attempt(partial(_dimension, dimension, document.at("dimensions", index)))
        for index, dimension in enumerate(form.dimensions)
    ]
    faults.errors += _grid_faults(form.dimensions, document)
    faults.raise_any()
    assert chip is not None
    return Topology(
        name=form.name or default_name,
        chip=chip,
        dimensions=tuple(dimension for dimension in dimensions if dimension is not None),
    )


def _chip(form: Cluster | ClusterOfOwnChip, document: Document) -> Chip:
    if isinstance(form, Cluster):
        return generation_of(form.chip, document.place("chip")).chip
    own = form.chip
    return Chip(
        name=own.name,
        title=own.title or own.name,
        peaks=tuple(own.flops_per_second.items()),
        hbm_bandwidth=own.hbm_bandwidth,
        hbm_capacity=own.hbm_capacity,
    )


def _dimension(form: DimensionForm, document: Document) -> Dimension:
    kind, reason = form.kind, "as given"
    is_pair = form.size == 2 and kind is DimensionKind.RING
    if form.links == 2 and not is_pair:
        raise TopologyError(
            f"links: 2 is for a ring of 2 chips; dimension {form.name} is a {kind.value} "
            f"of {form.size}",
            "leave links out",
            document.place("links"),
        )
    if form.size == 1:
        kind, reason = DimensionKind.LINE, "1 chip: no link"
    elif is_pair and form.links == 1:
        kind, reason = DimensionKind.LINE, ONE_CABLE
    elif is_pair:
        reason = "2 chips with two cables"
    return Dimension(
        name=form.name,
        size=form.size,
        kind=kind,
        link=Link(form.bandwidth, form.latency),
        reason=reason,
    )


def _grid_faults(dimensions: tuple[DimensionForm, ...], document: Document) -> list[InputError]:
    faults: list[InputError] = []
    seen: set[str] = set()
    for index, dimension in enumerate(dimensions):
        if dimension.name in seen:
            why, place = f"two dimensions are named {dimension.name}", ("dimensions", index, "name")
            faults.append(TopologyError(why, "give each its own name", document.place(*place)))
        seen.add(dimension.name)
    chips = math.prod(dimension.size for dimension in dimensions)
    if chips > MOST_CHIPS:
        why = f"the topology has {chips:,} chips; {MOST_CHIPS:,} are the most"
        faults.append(TopologyError(why, "give smaller sizes", document.place("dimensions")))
    return faults
