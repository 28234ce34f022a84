"""Topologies that a person describes: a chip, dimensions, and what is special about them.

The dimensions are rings, lines or switches. `overrides` says which links and chips differ;
`efficiency`, `launch_overhead` and `collectives` say how far collectives fall short.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Annotated

from pydantic import BeforeValidator, PlainValidator

from shardsim.catalogue.curves import CollectivesForm, read_curves
from shardsim.catalogue.fields import Flag, Share
from shardsim.catalogue.nodes import MOST_CHIPS
from shardsim.catalogue.overrides import OverrideForm, overridden, unknown_keys
from shardsim.catalogue.own import ChangedChip, OwnChip, catalogue_chip, changed_chip, own_chip
from shardsim.catalogue.shapes import TWISTED
from shardsim.documents import Document, Faults, Record, validate
from shardsim.documents.fields import Count, Latency, Rate, words
from shardsim.errors import InputError, NotYetError, ScenarioError, TopologyError
from shardsim.hardware import Calibration, Chip, Link
from shardsim.topology import Dimension, Topology
from shardsim.vocabulary import DimensionKind

__all__ = ["cluster_topology"]

KINDS = {
    DimensionKind.RING: "a cable joins the last chip to the first",
    DimensionKind.LINE: "none does",
    DimensionKind.SWITCH: "each chip has one port out and one in, and reaches any other",
}
MOST_DIMENSIONS = 6
ANY_CHIP = Chip(name="any", peaks=(), hbm_bandwidth=Fraction(1), hbm_capacity=Fraction(1))
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


def _links(value: object) -> int:
    if isinstance(value, bool) or str(value) not in ("1", "2"):
        raise ScenarioError(f"links must be 1 or 2; it is {str(value)!r}", "leave it out for 1")
    return int(str(value))


class DimensionForm(Record):
    """One dimension; `bandwidth` is one way, of a cable or of a port at a switch.

    `links` counts the cables between two chips; `reduces` says that a switch can add.
    """

    name: Annotated[str, BeforeValidator(_dimension_name)]
    size: Count
    kind: Annotated[DimensionKind, words(DimensionKind, KINDS)]
    bandwidth: Rate
    latency: Latency = Fraction(1, 10**6)
    links: Annotated[int, PlainValidator(_links)] = 1
    reduces: Flag = False


Dimensions = Annotated[tuple[DimensionForm, ...], BeforeValidator(_dimensions)]


class ClusterForm(Record):
    """The form of a topology file, but for its chip."""

    name: str = ""
    chip: str | OwnChip | ChangedChip
    dimensions: Dimensions
    overrides: tuple[OverrideForm, ...] = ()
    efficiency: Share = Fraction(1)
    launch_overhead: Latency = Fraction(0)
    collectives: CollectivesForm | None = None


class Cluster(ClusterForm):
    """The form of a topology file whose chip is in the catalogue."""

    chip: str


class ClusterOfOwnChip(ClusterForm):
    """The form of a topology file that describes its chip."""

    chip: OwnChip


class ClusterOfChangedChip(ClusterForm):
    """The form of a topology file whose chip differs from one in the catalogue."""

    chip: ChangedChip


def cluster_topology(document: Document, default_name: str = "topology") -> Topology:
    """The topology that a document describes.

    Args:
        document: A mapping with `name`, `chip` and `dimensions`.
        default_name: For a topology without a name.

    Raises:
        InputError: one thing is wrong.
        InputErrors: several are.
    """
    faults = Faults()
    faults.errors += unknown_keys(document)
    is_misspelt = bool(faults.errors)
    document = _without_twist(document, faults)
    form = faults.attempt(lambda: validate(document, _form_of(document), "the topology"))
    if form is None or is_misspelt:
        faults.raise_any()
    assert form is not None
    chip = faults.attempt(partial(_chip, form, document))
    grid = faults.attempt(partial(_grid, form, document, default_name))
    neutral = Calibration(efficiency=form.efficiency, launch_overhead=form.launch_overhead)
    calibration = faults.attempt(lambda: read_curves(form.collectives, document, neutral))
    faults.raise_any()
    assert chip is not None
    assert grid is not None
    assert calibration is not None
    return replace(grid, chip=chip, calibration=calibration)


def _form_of(document: Document) -> type[Cluster | ClusterOfOwnChip | ClusterOfChangedChip]:
    chip = document.data.get("chip") if isinstance(document.data, dict) else None
    if not isinstance(chip, dict):
        return Cluster
    return ClusterOfChangedChip if "like" in chip else ClusterOfOwnChip


def _without_twist(document: Document, faults: Faults) -> Document:
    """A document without the key `twisted`, which is a fault of its own."""
    if not (isinstance(document.data, dict) and "twisted" in document.data):
        return document
    said = str(document.data["twisted"]).lower()
    place = document.key_place("twisted")
    if said == "false":
        why = "no topology is twisted here, so twisted says nothing"
        faults.errors.append(TopologyError(why, "leave it out", place))
    else:
        way_out = "leave twisted out, for the torus that is not twisted"
        faults.errors.append(NotYetError(TWISTED, way_out, place))
    rest = {key: value for key, value in document.data.items() if key != "twisted"}
    return replace(document, data=rest)


def _grid(form: ClusterForm, document: Document, default_name: str) -> Topology:
    """The topology, its chip apart: that may have a fault of its own."""
    faults = Faults()
    dimensions = [
        faults.attempt(partial(_dimension, dimension, document.at("dimensions", index)))
        for index, dimension in enumerate(form.dimensions)
    ]
    faults.errors += _grid_faults(form.dimensions, document)
    faults.raise_any()
    made = Topology(
        name=form.name or default_name,
        chip=ANY_CHIP,
        dimensions=tuple(dimension for dimension in dimensions if dimension is not None),
    )
    return overridden(made, form.overrides, document)


def _chip(form: ClusterForm, document: Document) -> Chip:
    said = form.chip
    if isinstance(said, str):
        return catalogue_chip(said, document, "chip")
    at = document.at("chip")
    if isinstance(said, ChangedChip):
        return changed_chip(catalogue_chip(said.like, at, "like"), said, at)
    return own_chip(said, at)


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
    if form.reduces and kind is not DimensionKind.SWITCH:
        raise TopologyError(
            f"reduces is for a switch that can add; dimension {form.name} is a {kind.value}",
            "leave reduces out",
            document.place("reduces"),
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
        reduces=form.reduces and kind is DimensionKind.SWITCH,
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
