"""The command `collective`: one by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

import typer

from shardsim.cli.arguments import missing
from shardsim.cli.options import (
    AlgorithmOption,
    ChunksOption,
    DevicesOption,
    EfficiencyOption,
    JsonOption,
    LatencyOption,
    LaunchOption,
    LayoutOption,
    MeshOption,
    PngOption,
    ScheduleOption,
    SvgOption,
    TopologyOption,
    given,
    picture_paths,
    with_settings,
)
from shardsim.cli.output import print_json, print_report, progress, say, status

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from shardsim.comparison import CollectiveRun
    from shardsim.comparison.sizes import Sizes
    from shardsim.scenario import Single
    from shardsim.units import Bytes, Seconds

__all__ = ["collective"]


class _Settings(TypedDict):
    size: Annotated[
        str | None,
        typer.Option(
            help="As benchmarks name it: what one chip sends in an AllToAll or a permute, else "
            "the whole array: 32MiB."
        ),
    ]
    topology: TopologyOption
    mesh: MeshOption
    layout: LayoutOption
    devices: DevicesOption
    axes: Annotated[str | None, typer.Option(help="Over which axes; all by default: X,Y.")]
    algorithm: AlgorithmOption
    schedule: ScheduleOption
    chunks: ChunksOption
    latency_model: LatencyOption
    shift: Annotated[
        str | None, typer.Option(help="Permute: so many places up; 1 by default.", metavar="N")
    ]
    root: Annotated[str | None, typer.Option(help="Gather: the number of the chip.", metavar="N")]
    start: Annotated[str | None, typer.Option("--from", help="Send: from this chip: 0,0.")]
    end: Annotated[str | None, typer.Option("--to", help="Send: to this chip: 3,3.")]
    ways: Annotated[str | None, typer.Option(help="Send: over so many ways at once.", metavar="N")]
    efficiency: EfficiencyOption
    launch_overhead: LaunchOption


@with_settings
def collective(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="all_gather, reduce_scatter, all_reduce, all_to_all, permute, gather or send, "
            "in any common spelling: AllGather, all-gather, AG.",
        ),
    ],
    *,
    sizes: Annotated[
        str | None, typer.Option(help="Also a table of these sizes: 1KiB,1MiB,1GiB.")
    ] = None,
    svg: SvgOption = None,
    png: PngOption = None,
    as_json: JsonOption = False,
    **settings: Unpack[_Settings],
) -> None:
    """One collective by itself: its time three ways, algbw, busbw, the busiest link, and advice.

    The picture shows time and busbw against the size: the closed forms, and simulated points.
    """
    from shardsim.comparison import run_asked
    from shardsim.scenario import make_collective

    options: dict[str, Any] = given(**settings)
    for name, example in (("size", "32MiB"), ("topology", "v5e:4x4")):
        if name not in options:
            raise missing(name, example, "a collective", "")
    paths = picture_paths(svg, png)
    asked = make_collective(kind, **options)
    wanted = _sizes(sizes)
    with progress(asked.topology.size):
        result = run_asked(asked)
    known = {asked.size: result.simulated}
    table = _over(asked, wanted, wanted, known) if wanted else None
    if paths:
        _draw(asked, result, table, paths)
    if as_json:
        found = result.to_dict()
        print_json(found if table is None else {**found, "sizes": table.to_dict()})
        return
    from rich.console import Group

    from shardsim.report import collective_report

    parts = [collective_report(result)]
    if table is not None:
        from shardsim.report.sizes import sizes_report

        parts.append(sizes_report(table))
    print_report(Group(*parts))


def _sizes(text: str | None) -> tuple[Bytes, ...]:
    """The sizes that the user gave."""
    if text is None:
        return ()
    from shardsim.comparison.sizes import read_byte_sizes

    return read_byte_sizes(text)


def _over(
    asked: Single,
    sizes: tuple[Bytes, ...],
    simulated: tuple[Bytes, ...],
    known: Mapping[Bytes, Seconds],
) -> Sizes:
    """The collective at many sizes, simulated at some of them."""
    from shardsim.comparison.sizes import over_sizes

    with status() as note:
        return over_sizes(asked, sizes, simulated, note, known)


def _draw(
    asked: Single, result: CollectiveRun, table: Sizes | None, paths: tuple[Path, ...]
) -> None:
    """Writes the picture over many sizes, simulated at those of the table, else at a few."""
    from shardsim.comparison.sizes import affordable, some_of, spread
    from shardsim.plot.messages import write_messages

    rows = () if table is None else table.rows
    known = {row.size: row.simulated for row in rows if row.simulated is not None}
    known[asked.size] = result.simulated
    every = spread(asked.size)
    few = () if rows else some_of(every, affordable(len(result.timeline.intervals)))
    sizes = _over(asked, (*every, *known), few, known)
    for path in paths:
        write_messages(sizes, path)
        say(f"picture written to {path}")
