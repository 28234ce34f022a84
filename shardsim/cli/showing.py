"""The command `show`: a topology, or a sharding on one."""

from __future__ import annotations

import re
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
    PngOption,
    SvgOption,
    picture_paths,
)
from shardsim.cli.output import print_json, print_report, say

__all__ = ["show"]


def show(
    what: Annotated[
        str,
        typer.Argument(
            metavar="CHIP:SHAPE|FILE|SHARDING|CHIP|chips",
            help="A topology, a sharding (A[I_X, J]), a chip (v5e), or chips for a table of all.",
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
    svg: SvgOption = None,
    png: PngOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a topology: its dimensions, which of them wrap and why, and the bandwidths.

    With --mesh, --layout or --devices also what each axis lies on. Or show one chip: how fast each
    of its memories and links is, and every figure with its source. Or show a sharding on a
    topology: in the notations of other programs, what a chip holds of it, and which chips hold
    which block. The picture is of a sharding, or the ladder of one chip or of all.
    """
    paths = picture_paths(svg, png)
    laid = {"mesh": mesh, "layout": layout, "devices": devices}
    if source is None and "[" not in what:
        _refuse_with_a_topology(topology=topology, dims=dims, dtype=dtype, names=names)
        if what == "chips" or _is_chip(what):
            _refuse_with_a_chip(what, **laid)
            _show_chips(what, paths, as_json=as_json)
        else:
            _refuse_pictures(what, svg=svg, png=png)
            _show_topology(what, as_json=as_json, **laid)
        return
    said = {"topology": topology, "dims": dims, "dtype": dtype, "source": source, "names": names}
    _show_sharding(what, paths, as_json=as_json, **said, **laid)


def _refuse_with_a_topology(**options: object) -> None:
    from shardsim.errors import ScenarioError

    for name, value in options.items():
        if value is not None:
            raise ScenarioError(
                f"--{name} is for a sharding, and the argument is none",
                'give one: shardsim show "A[I_X, J]" --topology v5e:4x4',
            )


def _refuse_pictures(what: str, **options: object) -> None:
    from shardsim.errors import ScenarioError

    for name, value in options.items():
        if value is not None:
            raise ScenarioError(
                f"--{name} draws a sharding, or the ladder of a chip; {what} is a machine",
                f'give a sharding, "A[I_X, J]" --topology {what}, or a chip without a shape: v5e',
            )


def _is_chip(what: str) -> bool:
    """Whether it is a chip's name, and no file has that name."""
    from shardsim.catalogue.shapes import is_chip

    return re.fullmatch(r"[\w-]+", what) is not None and not Path(what).exists() and is_chip(what)


def _refuse_with_a_chip(what: str, **options: str | None) -> None:
    from shardsim.errors import ScenarioError

    for name, value in options.items():
        if value is not None:
            raise ScenarioError(
                f"--{name} is for a topology; {what} has no shape",
                "give a topology, such as v5e:4x4",
            )


def _show_chips(what: str, paths: tuple[Path, ...], *, as_json: bool) -> None:
    for path in paths:
        from shardsim.catalogue import one_chip
        from shardsim.catalogue.ladder import plain_chips
        from shardsim.plot.ladder import write_ladder

        names = plain_chips() if what == "chips" else [what]
        write_ladder([one_chip(name).chip for name in names], path)
        say(f"picture written to {path}")
    if as_json:
        from shardsim.catalogue.ladder import chip_dict, chips_dict

        print_json(chips_dict() if what == "chips" else chip_dict(what))
    else:
        from shardsim.report.chips import chip_report, chips_report

        print_report(chips_report() if what == "chips" else chip_report(what))


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
        from fractions import Fraction

        from shardsim.catalogue import facts
        from shardsim.comparison import mesh_dict
        from shardsim.units import number

        of_all = {key: number(Fraction(value)) for key, value in facts(found).items()}
        laid_out = {} if mesh is None else mesh_dict(mesh)
        print_json({**found.to_dict(), "facts": of_all, **laid_out})
    else:
        from shardsim.report import topology_report

        whole = not found.missing and len(found.shape) <= len(DEFAULT_NAMES)
        default = lay_mesh(found) if whole and mesh is None else mesh
        print_report(topology_report(found, default, laid=mesh is not None))


def _show_sharding(
    what: str, paths: tuple[Path, ...], *, as_json: bool, **options: str | None
) -> None:
    from shardsim.inspection.asking import asked_sharding

    one = asked_sharding(what, **options)
    for path in paths:
        from shardsim.plot import write_placement

        write_placement(one, path)
        say(f"drawing written to {path}")
    if as_json:
        print_json(one.to_dict())
    else:
        from shardsim.report.placement import sharding_report

        print_report(sharding_report(one))
