"""The options that several commands have, each written once.

A command takes those it shares with others as `**settings`, typed by one of the `...Settings` here;
`with_settings` makes options of them. Each is a text or None, and is read where its place in it can
be named.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypedDict, TypeVar, get_args, get_type_hints

import typer

__all__ = [
    "AlgorithmOption",
    "ChunksOption",
    "DevicesOption",
    "DimsOption",
    "EfficiencyOption",
    "EinsumOption",
    "FromOption",
    "JsonOption",
    "LatencyOption",
    "LaunchOption",
    "LayoutOption",
    "MeshOption",
    "PlanSettings",
    "PngOption",
    "RunSettings",
    "ScheduleOption",
    "StrategyOption",
    "SvgOption",
    "TopologyOption",
    "What",
    "given",
    "picture_paths",
    "with_settings",
]

C = TypeVar("C", bound=Callable[..., None])

What = Annotated[
    list[str],
    typer.Argument(
        metavar="NOTATION|FILE",
        help="Notation (one argument per statement), or a scenario YAML file.",
    ),
]
TopologyOption = Annotated[
    str | None,
    typer.Option("--topology", "--on", help="CHIP:SHAPE such as v5e:4x4, or a topology file."),
]
MeshOption = Annotated[str | None, typer.Option(help="Axes over the dimensions: X=4,Y=4.")]
LayoutOption = Annotated[
    str | None,
    typer.Option(
        help="What each axis lies on: X=y,Y=x; several dimensions x+y; a part of one y:(1)4 "
        "(outer), y:(4)4 (inner); one axis over all chips: snake or ring."
    ),
]
DevicesOption = Annotated[
    str | None, typer.Option(help='Chips in the order of the mesh: "0,0 0,1 1,1 1,0".')
]
DimsOption = Annotated[str | None, typer.Option(help="Extents: I=8192,J=8192,K=8192.")]
DtypeOption = Annotated[
    str | None, typer.Option(help="Element type: bf16, or A=int8,default=bf16.")
]
PolicyOption = Annotated[
    str | None, typer.Option(help="Plans considered: textbook (the four rules) or cheapest.")
]
ObjectiveOption = Annotated[
    str | None, typer.Option(help="What is made small: time, bytes or memory.")
]
IdleAxesOption = Annotated[
    str | None, typer.Option(help="Axes that no array of a line names: leave or use them.")
]
UnevenOption = Annotated[
    str | None, typer.Option(help="Extents that axes do not divide: error, or pad them.")
]
AlgorithmOption = Annotated[
    str | None,
    typer.Option(
        help="Ring: balanced, whole_shards, half_shards, one_direction. Line: line, "
        "reduce_broadcast. Switch: direct, ring, in_network."
    ),
]
ScheduleOption = Annotated[
    str | None,
    typer.Option(
        help="Over several rings, lines or switches: rotated, balanced, sequential, tiered."
    ),
]
ChunksOption = Annotated[
    str | None, typer.Option(help="Into how many parts a collective is cut.", metavar="N")
]
EfficiencyOption = Annotated[
    str | None, typer.Option(help="Share of every bandwidth that messages reach: 0.9.")
]
LaunchOption = Annotated[
    str | None,
    typer.Option("--launch-overhead", help="Before the first message of a collective: 5us."),
]
LatencyOption = Annotated[
    str | None, typer.Option("--latency-model", help="additive: n/w + latency; floor: the larger.")
]
OverlapOption = Annotated[
    str | None,
    typer.Option(
        help="none: step after step; async: when the inputs are there; decomposed: collectives "
        "and matmuls together, in ring steps; auto: the same where that is faster."
    ),
]
FormOption = Annotated[
    str | None,
    typer.Option(
        help="With overlap decomposed or auto: own_chunk_first, half_chunks, pairs, one_direction, "
        "unpipelined, chunks; by default the fastest."
    ),
]
PrefetchOption = Annotated[
    str | None,
    typer.Option(help="How many lines ahead inputs may be gathered.", metavar="N"),
]
SlowdownOption = Annotated[
    str | None,
    typer.Option(
        "--compute-slowdown", help="A matmul takes so many times as long beside a collective: 1.3."
    ),
]
TileOption = Annotated[
    str | None,
    typer.Option(help="The side of the matrix unit: matmuls are padded to it.", metavar="N"),
]
RepeatOption = Annotated[
    str | None, typer.Option(help="The lines so many times: the layers.", metavar="N")
]
StrategyOption = Annotated[
    str | None, typer.Option(help="Which of the strategies of a file.", metavar="NAME")
]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="The notation of the argument: jax, shardy, hlo, types or dtensor.",
        metavar="NOTATION",
    ),
]
EinsumOption = Annotated[
    str | None,
    typer.Option(help="With --from: the dimensions of each array: bij,bjk->bik."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
SvgOption = Annotated[Path | None, typer.Option("--svg", help="Write the picture here, as SVG.")]
PngOption = Annotated[Path | None, typer.Option("--png", help="Write the picture here, as PNG.")]


class _Machine(TypedDict):
    topology: TopologyOption
    mesh: MeshOption
    layout: LayoutOption
    devices: DevicesOption
    dims: DimsOption
    dtype: DtypeOption


class _Timing(TypedDict):
    overlap: OverlapOption
    form: FormOption
    prefetch: PrefetchOption
    compute_slowdown: SlowdownOption


class _Choices(TypedDict):
    policy: PolicyOption
    objective: ObjectiveOption
    idle_axes: IdleAxesOption
    uneven: UnevenOption
    algorithm: AlgorithmOption
    schedule: ScheduleOption
    chunks: ChunksOption
    tile: TileOption
    repeat: RepeatOption
    latency_model: LatencyOption
    efficiency: EfficiencyOption
    launch_overhead: LaunchOption


class PlanSettings(_Machine, _Choices):
    """What a plan depends on, in the order of the help text."""


class RunSettings(_Machine, _Timing, _Choices):
    """What a run depends on, in the order of the help text."""


def with_settings(command: C) -> C:
    """Makes an option of each of the `**settings` of a command, before the options of its own.

    typer reads the signature, and knows no `**settings`: this writes them out there.

    >>> from typing import Unpack
    >>> @with_settings
    ... def plan(what: str, *, as_json: bool = False, **settings: Unpack[PlanSettings]) -> None: ...
    >>> list(inspect.signature(plan).parameters)[:3]
    ['what', 'topology', 'mesh']
    """
    signature = inspect.signature(command, eval_str=True)
    *own, settings = signature.parameters.values()
    (form,) = get_args(settings.annotation)
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in get_type_hints(form, include_extras=True).items()
    ]
    arguments = [each for each in own if each.kind is not each.KEYWORD_ONLY]
    options = [each for each in own if each.kind is each.KEYWORD_ONLY]
    written_out = signature.replace(parameters=[*arguments, *shared, *options])
    vars(command)["__signature__"] = written_out
    return command


def given(**settings: str | None) -> dict[str, str]:
    """The options that the user gave."""
    return {name: value for name, value in settings.items() if value is not None}


def picture_paths(svg: Path | None, png: Path | None) -> tuple[Path, ...]:
    """The files of pictures that the user gave, before anything is run for them.

    Raises:
        InputError: the name of one is that of another kind of file.

    >>> [str(path) for path in picture_paths(Path("a.svg"), None)]
    ['a.svg']
    """
    found = []
    for end, path in (("svg", svg), ("png", png)):
        if path is None:
            continue
        from shardsim.errors import InputError
        from shardsim.files import special

        allowed = ("folder", "device") if end == "svg" else ("folder",)
        if path.suffix.lower() != f".{end}" and special(path) not in allowed:
            raise InputError(
                f"--{end} writes a file whose name ends in .{end}, not {str(path)!r}",
                f"write --{end} {path.parent / (path.stem + f'.{end}')}; --svg is for .svg, --png "
                "for .png",
            )
        found.append(path)
    return tuple(found)
