"""The machine under verification: its mesh, how to write it down, and variants of it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardsim.catalogue import data_folder, find_topology, names_of
from shardsim.documents import read_document
from shardsim.errors import MeshError, Source
from shardsim.hardware import Link
from shardsim.mesh import Mesh, lay_mesh
from shardsim.scenario import is_shipped, load_scenario, make_mesh
from shardsim.topology import Topology

if TYPE_CHECKING:
    import os

    from shardsim.hardware import Calibration
    from shardsim.mesh import Axis, Group

__all__ = ["Machine", "find_machine", "reduced", "relaid", "scaled"]

YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Machine:
    """A mesh, and what a command line must say to have it.

    Attributes:
        mesh: Axes over a topology.
        on: The topology's reference.
        note: What a person should know about the mesh taken.
        calibrated: Whether a scenario says other things of real links than the topology does.
    """

    mesh: Mesh
    on: str
    note: str = ""
    calibrated: bool = False

    def options(self, axes: tuple[str, ...], extra: str = "") -> str:
        """The options that say where a collective over some axes runs.

        Args:
            axes: The axes of the collective.
            extra: An axis of size 1 beside those of the mesh.
        """
        mesh, words = self.mesh, ["--on", shlex.quote(self.on)]
        sizes = ",".join(f"{name}={size}" for name, size in mesh.sizes.items())
        if extra or not self._is_default():
            words += ["--mesh", f"{sizes},{extra}=1" if extra else sizes]
        if mesh.order is not None:
            words += ["--devices", shlex.quote(" ".join(_text(chip) for chip in mesh.order))]
        elif not _same(mesh, mesh.sizes):
            said = ",".join(f"{name}={word}" for name, word in laid_out(mesh).items())
            words += ["--layout", shlex.quote(said)]
        if self.calibrated:
            calibration = mesh.topology.calibration
            overhead = f"{float(calibration.launch_overhead * 10**6):g} us"
            words += ["--efficiency", str(float(calibration.efficiency))]
            words += ["--launch-overhead", shlex.quote(overhead)]
        return " ".join([*words, "--axes", ",".join(axes)])

    def _is_default(self) -> bool:
        return self.mesh.order is None and _same(self.mesh, None)


def _same(mesh: Mesh, sizes: Mapping[str, int] | None) -> bool:
    """Whether that is the mesh which one gets from sizes alone."""
    try:
        return lay_mesh(mesh.topology, sizes) == mesh
    except MeshError:
        return False


def _text(chip: Sequence[int]) -> str:
    return ",".join(map(str, chip))


def _layout(mesh: Mesh, axis: Axis) -> str:
    """What an axis lies on, as a layout writes it."""
    pieces = []
    for segment in axis.parts:
        assert segment.dimension is not None
        dimension = mesh.topology.dimensions[segment.dimension]
        before = dimension.size // segment.spacing // segment.size
        whole = segment.size == dimension.size
        part = "" if whole else f":({before}){segment.size}"
        pieces.append(f"{dimension.name}{part}")
    return "+".join(pieces)


def find_machine(
    what: str | os.PathLike[str] | Mapping[str, object] | Topology,
    mesh: Mapping[str, int] | str | None = None,
    layout: Mapping[str, str] | str | None = None,
    devices: Sequence[Sequence[int]] | str | None = None,
) -> Machine:
    """The machine that a reference, a topology file or a scenario file describes.

    Args:
        what: As for `find_topology`; or a scenario file, whose topology, mesh and devices are
            taken.
        mesh: Axes and their sizes, instead of the default or the scenario's.
        layout: What each lies on.
        devices: All chips in the order of the mesh.

    Raises:
        InputError: one thing is wrong.
        InputErrors: several things are.
    """
    given = {"mesh": mesh, "layout": layout, "devices": devices}
    said = {name: value for name, value in given.items() if value is not None}
    if _is_scenario(what):
        assert not isinstance(what, Mapping | Topology)
        file, texts = _file_of(what), {name: _as_text(value) for name, value in said.items()}
        made = load_scenario(file, **texts).program.mesh
        on, calibration = _reference_in(file, made.topology)
        return Machine(made, on, calibrated=made.topology.calibration != calibration)
    source = Source(what, origin="topology") if isinstance(what, str) else None
    topology = find_topology(what, source)
    on = topology.name if isinstance(what, Mapping | Topology) else str(what)
    if topology.missing and not said:
        made = lay_mesh(topology, {"X": topology.size}, devices=list(topology.coordinates()))
        return Machine(made, on, "chips are missing, so one axis X goes over the rest, row by row")
    return Machine(make_mesh(topology, mesh=mesh, layout=layout, devices=devices), on)


def _file_of(what: str | os.PathLike[str]) -> Path:
    """A scenario's file; one that comes with the package is found by name."""
    path = Path(what)
    if path.is_file():
        return path
    return data_folder("scenarios") / f"{path.name.removesuffix('.yaml')}.yaml"


def _as_text(value: Mapping[str, object] | Sequence[Sequence[int]] | str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ",".join(f"{name}={word}" for name, word in value.items())
    return " ".join(_text(chip) for chip in value)


def _is_scenario(what: object) -> bool:
    """Whether a text names a scenario and not a topology."""
    if isinstance(what, Mapping | Topology) or (isinstance(what, str) and ":" in what):
        return False
    path = Path(str(what))
    if path.is_file():
        data = read_document(path).data
        return isinstance(data, dict) and "program" in data
    return path.stem not in names_of("topologies") and is_shipped(str(what))


def _reference_in(file: Path, topology: Topology) -> tuple[str, Calibration]:
    """How the file of a scenario names its topology, and what that says of real links.

    A topology that is written out in the scenario has a name only.
    """
    data: Any = read_document(file).data
    said = data.get("topology")
    if not isinstance(said, str):
        return topology.name, topology.calibration
    beside = file.parent / said
    on = str(beside) if said.endswith(YAML) and beside.is_file() else said
    return on, find_topology(on).calibration


def laid_out(mesh: Mesh) -> dict[str, str]:
    """The layout of a mesh that nobody gave an order of chips, written out."""
    return {axis.name: _layout(mesh, axis) for axis in mesh.axes if axis.size > 1}


def relaid(mesh: Mesh, topology: Topology, sizes: Mapping[str, int] | None = None) -> Mesh:
    """The same axes (or others with the same chips) over another topology of the same shape."""
    sizes = sizes or mesh.sizes
    if mesh.order is not None:
        return lay_mesh(topology, sizes, devices=mesh.order)
    return lay_mesh(topology, sizes, laid_out(mesh))


def scaled(mesh: Mesh, bandwidth: Fraction | int = 1, latency: Fraction | int = 1) -> Mesh:
    """The same mesh with all bandwidths and all latencies so many times as large."""

    def of(link: Link) -> Link:
        return Link(link.one_way_bandwidth * bandwidth, link.latency * latency)

    old = mesh.topology
    topology = replace(
        old,
        dimensions=tuple(replace(one, link=of(one.link)) for one in old.dimensions),
        changed=tuple((key, None if link is None else of(link)) for key, link in old.changed),
    )
    return relaid(mesh, topology)


def reduced(group: Group) -> Mesh | None:
    """A mesh over the dimensions of one group only, whose groups share no link with it.

    A collective takes the same time there, and fewer chips have to be simulated. None where groups
    may share links, or where not all chips are alike.
    """
    mesh, topology = group.mesh, group.mesh.topology
    if mesh.order is not None or not topology.is_regular:
        return None
    indices = [segment.dimension for segment in group.segments]
    whole = all(
        segment.is_physical
        and segment.dimension is not None
        and segment.size == topology.dimensions[segment.dimension].size
        for segment in group.segments
    )
    if not whole or len(set(indices)) < len(indices):
        return None
    kept = [one for at, one in enumerate(topology.dimensions) if at in indices]
    sizes = {axis.name: axis.size for axis in mesh.axes if axis.name in group.axes}
    layout = {name: word for name, word in laid_out(mesh).items() if name in sizes}
    return lay_mesh(replace(topology, dimensions=tuple(kept)), sizes, layout)
