"""Machines that are like another, with other figures.

    like: v5e:4x4               # any reference of a topology
    bandwidth: 50 GB/s          # of all its links, one way
    latency: 0                  # the same
    chip: {hbm_bandwidth: 810 GB/s, flops_per_second: {bf16: 200 TFLOP/s}}

Links that differ from the rest keep the figures of their own. The channels of the chip follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated

from pydantic import BeforeValidator

from shardsim.catalogue.curves import CollectivesForm, read_curves
from shardsim.catalogue.fields import Share
from shardsim.catalogue.making import network_channels
from shardsim.catalogue.overrides import OverrideForm, overridden, unknown_keys
from shardsim.catalogue.own import Changes, changed_chip
from shardsim.documents import Document, Faults, Record, described, validate
from shardsim.documents.fields import Latency, Rate
from shardsim.errors import Source, TopologyError
from shardsim.hardware import Calibration, Chip, Link
from shardsim.topology import Dimension, Topology
from shardsim.vocabulary import ChannelKind

__all__ = ["is_like", "like_topology"]

Found = Callable[[str, Source | None], Topology]


def _changes(value: object) -> object:
    if not isinstance(value, dict):
        raise TopologyError(
            f"beside like, chip holds the figures that differ; it is {described(value)}",
            "write it as {hbm_bandwidth: 810 GB/s}; to use another chip, write another like",
        )
    return value


class LikeForm(Record):
    """The form of a machine that is like another."""

    like: str
    name: str = ""
    bandwidth: Rate | None = None
    latency: Latency | None = None
    chip: Annotated[Changes, BeforeValidator(_changes)] | None = None
    overrides: tuple[OverrideForm, ...] = ()
    efficiency: Share | None = None
    launch_overhead: Latency | None = None
    collectives: CollectivesForm | None = None


def is_like(document: Document) -> bool:
    """Whether a document describes a machine by another."""
    return isinstance(document.data, dict) and "like" in document.data


def like_topology(document: Document, found: Found, default_name: str = "") -> Topology:
    """The topology of a document with the key `like`.

    Args:
        document: The mapping.
        found: Gives the topology of a reference, which stands where the source says.
        default_name: For a topology without a name; by default `like v5e:4x4`.

    Raises:
        InputError: one thing is wrong.
        InputErrors: several are.
    """
    faults = Faults()
    faults.errors += unknown_keys(document)
    document = _without_dimensions(document, faults)
    form = faults.attempt(lambda: validate(document, LikeForm, "the topology"))
    faults.raise_any()
    assert form is not None
    base = found(form.like, document.source("like"))
    name = form.name or default_name or f"like {base.name}"
    dimensions = tuple(_dimension(form, dimension) for dimension in base.dimensions)
    chip = faults.attempt(partial(_chip, form, document, base.chip, dimensions))
    made = faults.attempt(
        lambda: _overridden(form, document, replace(base, name=name, dimensions=dimensions))
    )
    calibration = faults.attempt(partial(_calibration, form, document, base.calibration))
    faults.raise_any()
    assert chip is not None
    assert made is not None
    assert calibration is not None
    return replace(made, chip=chip, calibration=calibration)


def _without_dimensions(document: Document, faults: Faults) -> Document:
    """A document without the key `dimensions`, which is a fault of its own beside `like`."""
    if "dimensions" not in document.data:
        return document
    why = "like and dimensions both say how the chips are connected"
    way_out = "remove one: like takes the dimensions of another machine"
    faults.errors.append(TopologyError(why, way_out, document.key_place("dimensions")))
    rest = {key: value for key, value in document.data.items() if key != "dimensions"}
    return replace(document, data=rest)


def _dimension(form: LikeForm, dimension: Dimension) -> Dimension:
    usual = dimension.link
    latency = usual.latency if form.latency is None else form.latency
    return replace(dimension, link=Link(form.bandwidth or usual.one_way_bandwidth, latency))


def _chip(
    form: LikeForm, document: Document, chip: Chip, dimensions: tuple[Dimension, ...]
) -> Chip:
    if form.bandwidth is not None:
        links = {one.channel: one.link for one in dimensions}
        links.pop(ChannelKind.NETWORK, None)
        chip = network_channels(chip, links)
    return chip if form.chip is None else changed_chip(chip, form.chip, document.at("chip"))


def _overridden(form: LikeForm, document: Document, base: Topology) -> Topology:
    if form.overrides and not base.is_regular:
        raise TopologyError(
            f"{form.like} has overrides of its own",
            "say all of them in one place, with dimensions instead of like",
            document.key_place("overrides"),
        )
    return overridden(base, form.overrides, document)


def _calibration(form: LikeForm, document: Document, known: Calibration) -> Calibration:
    """What is said of real links, instead of what is known of the other machine."""
    said = (form.efficiency, form.launch_overhead, form.collectives)
    if said == (None, None, None):
        return known
    neutral = Calibration()
    efficiency, overhead = form.efficiency, form.launch_overhead
    general = Calibration(
        efficiency=neutral.efficiency if efficiency is None else efficiency,
        launch_overhead=neutral.launch_overhead if overhead is None else overhead,
    )
    return read_curves(form.collectives, document, general)
