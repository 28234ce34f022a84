"""The machine that a scenario or a collective names: its topology, and the mesh laid over it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from shardsim.catalogue import find_topology
from shardsim.documents import Document, Faults, Mark, plain
from shardsim.errors import InputError, Source
from shardsim.hardware import Calibration
from shardsim.mesh import Mesh, lay_mesh
from shardsim.scenario.coordinates import read_devices
from shardsim.scenario.pairs import read_pairs, read_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from shardsim.scenario.form import MachineForm
    from shardsim.topology import Coordinate, Topology
    from shardsim.vocabulary import Algorithm

__all__ = ["check_algorithm", "document_of", "option_marks", "read_mesh", "read_topology"]


def document_of(given: Mapping[str, object], names: Mapping[str, str] | None = None) -> Document:
    """Arguments as a document; texts among them stand in the option of their name.

    Args:
        given: Name and value; None where nothing is given.
        names: The option of an argument, where it has another name.
    """
    data = {key: plain(value) for key, value in given.items() if value is not None}
    return Document(data, option_marks(given, names))


def option_marks(
    given: Mapping[str, object], names: Mapping[str, str] | None = None
) -> dict[tuple[str | int, ...], Mark]:
    """Where the texts among the arguments stand: in the option of their name."""
    marks: dict[tuple[str | int, ...], Mark] = {}
    for key, value in given.items():
        text = os.fspath(value) if isinstance(value, os.PathLike) else value
        if isinstance(text, str):
            option = f"--{key.replace('_', '-')}"
            marks[key,] = Mark(Source(text, (names or {}).get(key, option)))
    return marks


def read_topology(document: Document, form: MachineForm, base: Path | None) -> Topology:
    """The topology, with what is said of real links instead of what was measured."""
    reference = document.at("topology")
    is_mapping = isinstance(reference.data, dict)
    topology = find_topology(
        reference if is_mapping else reference.data, document.source("topology"), base
    )
    if form.efficiency is None and form.launch_overhead is None:
        return topology
    known = topology.calibration
    efficiency = known.efficiency if form.efficiency is None else form.efficiency
    overhead = known.launch_overhead if form.launch_overhead is None else form.launch_overhead
    calibration = Calibration(efficiency=efficiency, launch_overhead=overhead)
    return replace(topology, calibration=calibration)


def read_mesh(document: Document, form: MachineForm, base: Path | None) -> Mesh:
    """The mesh over the topology; its faults are found even when the topology has some."""
    faults = Faults()
    topology = faults.attempt(lambda: read_topology(document, form, base))
    sizes, layout = None, None
    devices: list[Coordinate] | None = None
    if document.has("mesh"):
        sizes = faults.attempt(lambda: read_sizes(document, "mesh", "axis"))
    if document.has("layout"):
        pairs = faults.attempt(lambda: read_pairs(document, "layout"))
        layout = {pair.name: str(pair.word) for pair in pairs or ()}
    if topology is not None and document.has("devices"):
        devices = faults.attempt(lambda: read_devices(document, topology))
    faults.raise_any()
    assert topology is not None
    keys = ("devices", "layout", "mesh")
    key = next((key for key in keys if document.has(key)), "topology")
    return lay_mesh(topology, sizes, layout, document.place(key), devices=devices)


def check_algorithm(document: Document, algorithm: Algorithm, mesh: Mesh) -> None:
    """As the planner does it, but with the place."""
    from shardsim.planner.reshard import check_algorithm as check

    try:
        check(algorithm, mesh)
    except InputError as error:
        raise error.at(document.place("algorithm")) from None
