"""The command `collective`: one by itself."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict, Unpack

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
    ScheduleOption,
    TopologyOption,
    given,
    with_settings,
)
from shardsim.cli.output import print_json, print_report, progress

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
    as_json: JsonOption = False,
    **settings: Unpack[_Settings],
) -> None:
    """One collective by itself: its time three ways, algbw, busbw, the busiest link, and advice."""
    from shardsim.comparison import run_asked
    from shardsim.scenario import make_collective

    options: dict[str, Any] = given(**settings)
    for name, example in (("size", "32MiB"), ("topology", "v5e:4x4")):
        if name not in options:
            raise missing(name, example, "a collective", "")
    asked = make_collective(kind, **options)
    with progress(asked.topology.size):
        result = run_asked(asked)
    if as_json:
        print_json(result.to_dict())
    else:
        from shardsim.report import collective_report

        print_report(collective_report(result))
