"""Chips that a person describes: all figures of one, or those by which it differs from another.

    {name: mine, flops_per_second: {bf16: 200 TFLOP/s}, hbm_bandwidth: 1 TB/s, hbm_capacity: 16 GB}
    {like: v5e, hbm_bandwidth: 810 GB/s}

Nothing follows from a changed figure: a faster clock leaves the peak as it is, faster HBM leaves
VMEM. Only the memory of the cores grows with their number.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, PlainValidator

from shardsim.catalogue.chips import generation_of
from shardsim.catalogue.nodes import Node
from shardsim.documents import Document, Faults, Record, described
from shardsim.documents.fields import Clock, Count, Counts, DtypeWord, Peak, Price, Rate, Size
from shardsim.errors import ScenarioError, TopologyError
from shardsim.hardware import Channel, Chip, VectorUnit
from shardsim.units import parse_count
from shardsim.vocabulary import ChannelKind

__all__ = ["ChangedChip", "Changes", "OwnChip", "catalogue_chip", "changed_chip", "own_chip"]


def _peaks(value: object) -> object:
    if value == {}:
        raise TopologyError("flops_per_second is empty", "write it as {bf16: 200 TFLOP/s}")
    return value


def _pair(value: object) -> tuple[int, int]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        why = f"matrix_unit must be its rows and columns; it is {described(value)}"
        raise ScenarioError(why, "write it as [128, 128]")
    rows, columns = (parse_count(one, "a number of matrix_unit") for one in value)
    return rows, columns


Peaks = Annotated[dict[DtypeWord, Peak], BeforeValidator(_peaks)]


class OptionalFigures(Record):
    """Figures that any chip may leave out.

    `vmem` or `l2` is its memory on the chip; `price` is of an hour.
    """

    title: str = ""
    cores: Count | None = None
    clock: Clock | None = None
    vector_unit: Counts | None = None
    matrix_unit: Annotated[tuple[int, int], PlainValidator(_pair)] | None = None
    vmem_bandwidth: Rate | None = None
    vmem_capacity: Size | None = None
    l2_bandwidth: Rate | None = None
    l2_capacity: Size | None = None
    pcie_bandwidth: Rate | None = None
    price: Price | None = None


class OwnChip(OptionalFigures):
    """A chip described in full."""

    name: str
    flops_per_second: Peaks
    hbm_bandwidth: Rate
    hbm_capacity: Size


class Changes(OptionalFigures):
    """Figures by which a chip differs from another."""

    name: str = ""
    flops_per_second: Peaks | None = None
    hbm_bandwidth: Rate | None = None
    hbm_capacity: Size | None = None


class ChangedChip(Changes):
    """A chip of the catalogue with some figures changed."""

    like: str


def catalogue_chip(word: str, document: Document, key: str) -> Chip:
    """A chip of the catalogue that stands in a document.

    Args:
        word: Its name.
        document: Where it stands.
        key: Under which key.

    Raises:
        InputError: there is none, or it stands for measurements of a node.
    """
    made = generation_of(word, document.place(key))
    if isinstance(made, Node) and made.of:
        raise TopologyError(
            f"chip {made.chip.name} stands for measurements of a whole node",
            f"write {made.of}, and what you measured under collectives",
            document.place(key),
        )
    return made.chip


def own_chip(form: OwnChip, document: Document) -> Chip:
    """The chip that a person describes in full.

    Args:
        form: What is said of it.
        document: Where that stands.

    Raises:
        InputError: a figure needs another one that is not there.
        InputErrors: several do.
    """
    bare = Chip(
        name=form.name,
        title=form.title or form.name,
        peaks=tuple(form.flops_per_second.items()),
        hbm_bandwidth=form.hbm_bandwidth,
        hbm_capacity=form.hbm_capacity,
    )
    return _with_optional(bare, form, document)


def changed_chip(chip: Chip, form: Changes, document: Document) -> Chip:
    """A chip with some figures changed.

    Args:
        chip: As it is.
        form: What differs.
        document: Where that stands.

    Raises:
        InputError: a figure needs another one that is not there.
        InputErrors: several do.
    """
    peaks = {**dict(chip.peaks), **(form.flops_per_second or {})}
    name = form.name or chip.name
    changed = replace(
        chip,
        name=name,
        title=form.title or form.name or chip.title,
        peaks=tuple(peaks.items()),
        hbm_bandwidth=form.hbm_bandwidth or chip.hbm_bandwidth,
        hbm_capacity=form.hbm_capacity or chip.hbm_capacity,
    )
    return _with_optional(changed, form, document)


def _with_optional(chip: Chip, form: OptionalFigures, document: Document) -> Chip:
    faults = Faults()
    vector = faults.attempt(lambda: _vector_unit(chip, form, document))
    channels = faults.attempt(lambda: _channels(chip, form, document))
    faults.raise_any()
    assert channels is not None
    return replace(
        chip,
        channels=channels,
        vector_unit=vector,
        matrix_unit=form.matrix_unit or chip.matrix_unit,
        price=form.price or chip.price,
        cores=form.cores or chip.cores,
    )


def _vector_unit(chip: Chip, form: OptionalFigures, document: Document) -> VectorUnit | None:
    """The vector unit, where its cores, ALUs and clock are all known."""
    known = chip.vector_unit
    cores = form.cores or chip.cores
    per_core, clock = form.vector_unit, form.clock
    if known is not None:
        per_core, clock = per_core or known.per_core, clock or known.clock
    elif per_core is None and clock is None:
        return None
    parts = {"cores": cores, "vector_unit": per_core, "clock": clock}
    absent = [key for key, value in parts.items() if value is None]
    if absent or cores is None or per_core is None or clock is None:
        said = "vector_unit" if form.vector_unit is not None else "clock"
        raise TopologyError(
            f"{said} says nothing of chip {chip.name} without {' and '.join(absent)}",
            f"add {' and '.join(absent)}, or leave {said} out",
            document.place(said),
        )
    return VectorUnit(cores=cores, per_core=per_core, clock=clock)


def _channels(chip: Chip, form: OptionalFigures, document: Document) -> tuple[Channel, ...]:
    known = {one.kind: one for one in chip.channels}
    said = {
        ChannelKind.VMEM: (form.vmem_bandwidth, form.vmem_capacity),
        ChannelKind.L2: (form.l2_bandwidth, form.l2_capacity),
        ChannelKind.PCIE: (form.pcie_bandwidth, None),
    }
    for kind, (bandwidth, capacity) in said.items():
        before = known.get(kind)
        if before is None and bandwidth is None:
            if capacity is not None:
                key = f"{kind.value}_capacity"
                raise TopologyError(
                    f"{key} says nothing of chip {chip.name} without {kind.value}_bandwidth",
                    f"add {kind.value}_bandwidth, or leave {key} out",
                    document.place(key),
                )
            continue
        note = "each way" if kind is ChannelKind.PCIE else ""
        usual = before or Channel(kind=kind, bandwidth=Fraction(0), note=note)
        size = capacity or usual.capacity
        if kind is ChannelKind.VMEM and capacity is None and size and form.cores and chip.cores:
            size = size * form.cores / chip.cores
        known[kind] = replace(usual, bandwidth=bandwidth or usual.bandwidth, capacity=size)
    return tuple(known.values())
