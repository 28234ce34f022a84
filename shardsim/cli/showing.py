"""The command `show`: a topology, or a sharding on one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shardsim.cli.options import (
    DevicesOption,
    DimsOption,
    FromOption,
    JsonOption,
    LayoutOption,
    MeshOption,
)
from shardsim.cli.output import print_json, print_report, say

__all__ = ["show"]


def show(
    what: Annotated[
        str,
        typer.Argument(
            metavar="CHIP:SHAPE|FILE|SHARDING", help="A topology, or a sharding: A[I_X, J]."
        ),
    ],
    *,
    topology: Annotated[
        str | None,
        typer.Option("--topology", "--on", help="With a sharding: the topology, as above."),
    ] = None,
    mesh: MeshOption = None,
    layout: LayoutOption = None,
    devices: DevicesOption = None,
    dims: DimsOption = None,
    dtype: Annotated[str | None, typer.Option(help="With a sharding: its element type.")] = None,
    source: FromOption = None,
    names: Annotated[
        str | None, typer.Option(help="With --from: the names of the dimensions: B,D.")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="With a sharding: write a drawing of it here.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a topology: its dimensions, which of them wrap and why, and the bandwidths.

    With --mesh, --layout or --devices also what each axis lies on. Or show a sharding on a
    topology: in the notations of other programs, what a chip holds of it, and which chips hold
    which block.
    """
    laid = {"mesh": mesh, "layout": layout, "devices": devices}
    if source is None and "[" not in what:
        _refuse_with_a_topology(topology=topology, dims=dims, dtype=dtype, names=names, svg=svg)
        _show_topology(what, as_json=as_json, **laid)
        return
    said = {"topology": topology, "dims": dims, "dtype": dtype, "source": source, "names": names}
    _show_sharding(what, svg, as_json=as_json, **said, **laid)


def _refuse_with_a_topology(**options: object) -> None:
    from shardsim.errors import ScenarioError

    for name, value in options.items():
        if value is not None:
            raise ScenarioError(
                f"--{name} is for a sharding, and the argument is none",
                'give one: shardsim show "A[I_X, J]" --topology v5e:4x4',
            )


def _show_topology(what: str, *, as_json: bool, **laid: str | None) -> None:
    from shardsim.catalogue import find_topology
    from shardsim.errors import Source
    from shardsim.mesh import DEFAULT_NAMES, lay_mesh

    found = find_topology(what, Source(what, origin="topology"))
    mesh = None
    if any(value is not None for value in laid.values()):
        from shardsim.scenario import make_mesh

        mesh = make_mesh(found, **laid)
    if as_json:
        from shardsim.comparison import mesh_dict

        print_json({**found.to_dict(), **({} if mesh is None else mesh_dict(mesh))})
    else:
        from shardsim.report import topology_report

        whole = not found.missing and len(found.shape) <= len(DEFAULT_NAMES)
        default = lay_mesh(found) if whole and mesh is None else mesh
        print_report(topology_report(found, default, laid=mesh is not None))


def _show_sharding(what: str, svg: Path | None, *, as_json: bool, **options: str | None) -> None:
    from shardsim.inspection.asking import asked_sharding

    one = asked_sharding(what, **options)
    if svg is not None:
        from shardsim.plot import write_placement

        write_placement(one, svg)
        say(f"drawing written to {svg}")
    if as_json:
        print_json(one.to_dict())
    else:
        from shardsim.report.placement import sharding_report

        print_report(sharding_report(one))
