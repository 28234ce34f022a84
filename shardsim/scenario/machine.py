"""The machine that a scenario or a collective names: its topology, and the mesh laid over it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from shardsim.catalogue import find_topology
from shardsim.documents import Document, Faults, Mark, plain, validate
from shardsim.errors import InputError, ScenarioError, Source
from shardsim.hardware import Calibration
from shardsim.mesh import Mesh, lay_mesh
from shardsim.scenario.coordinates import read_devices
from shardsim.scenario.form import MachineForm
from shardsim.scenario.pairs import read_pairs, read_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from shardsim.topology import Coordinate, Topology
    from shardsim.vocabulary import Schedule

__all__ = [
    "check_methods",
    "make_mesh",
    "no_schedule",
    "option_marks",
    "read_mesh",
    "read_topology",
]


def option_marks(
    given: Mapping[str, object], names: Mapping[str, str] | None = None
) -> dict[tuple[str | int, ...], Mark]:
    """Where the texts among the arguments stand: in the option of their name.

    Args:
        given: Name and value of each argument.
        names: The option of an argument, where it has another name.
    """
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


def make_mesh(
    topology: str | os.PathLike[str] | Mapping[str, object] | Topology,
    *,
    mesh: Mapping[str, int] | str | None = None,
    layout: Mapping[str, str] | str | None = None,
    devices: Sequence[Sequence[int]] | str | None = None,
) -> Mesh:
    """A mesh from Python values, or from texts as on the command line.

    Raises:
        InputError: one thing is wrong; its place is in the option.
        InputErrors: several things are.

    >>> make_mesh("v5e:16x16", mesh="X=64,Y=4").axis("Y").where
    'y:(4)4'
    """
    given = {"topology": topology, "mesh": mesh, "layout": layout, "devices": devices}
    data = {key: plain(value) for key, value in given.items() if value is not None}
    document = Document(data, option_marks(given))
    return read_mesh(document, validate(document, MachineForm, "the mesh"), None)


def check_methods(document: Document, form: MachineForm, mesh: Mesh) -> None:
    """Refuses an algorithm or a schedule that nothing on the mesh can run.

    Raises:
        InputError: one of them.
        InputErrors: both.
    """
    from shardsim.planner.methods import check_algorithm

    faults = Faults()
    try:
        check_algorithm(form.algorithm, mesh)
    except InputError as error:
        faults.errors.append(error.at(document.place("algorithm")))
    if form.schedule is not None and len(mesh.segments) < 2:
        where = f"{mesh.segments[0].name} alone" if mesh.segments else "one chip"
        faults.errors.append(no_schedule(form.schedule, f"the mesh lies on {where}", document))
    faults.raise_any()


def no_schedule(schedule: Schedule, why: str, document: Document) -> ScenarioError:
    """The fault of a schedule where there is nothing to go from one to the next."""
    return ScenarioError(
        f"schedule {schedule.value} is for collectives over several rings, lines or switches; "
        f"{why}",
        "leave the schedule out",
        document.place("schedule"),
    )
