"""The command `roofline`: what binds one chip, and for which extent that changes."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

import typer

from shardsim.cli.arguments import missing
from shardsim.cli.options import (
    AlgorithmOption,
    ChunksOption,
    DevicesOption,
    EfficiencyOption,
    IdleAxesOption,
    JsonOption,
    LatencyOption,
    LaunchOption,
    LayoutOption,
    MeshOption,
    PngOption,
    PolicyOption,
    ScheduleOption,
    SvgOption,
    UnevenOption,
    given,
    picture_paths,
    with_settings,
)
from shardsim.cli.output import print_json, print_report, say

if TYPE_CHECKING:
    from pathlib import Path

    from shardsim.rooflines import Answer, Split
    from shardsim.rooflines.attained import Attained

__all__ = ["roofline"]

MOST_EXTENT = 4096


class _Settings(TypedDict):
    mesh: MeshOption
    layout: LayoutOption
    devices: DevicesOption
    policy: PolicyOption
    idle_axes: IdleAxesOption
    uneven: UnevenOption
    algorithm: AlgorithmOption
    schedule: ScheduleOption
    chunks: ChunksOption
    latency_model: LatencyOption
    efficiency: EfficiencyOption
    launch_overhead: LaunchOption


Statements = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NOTATION]", help="Statements; or none, with --flops and --bytes."),
]
On = Annotated[
    list[str] | None,
    typer.Option(
        "--on", "--topology", help="A chip (v5e), a slice (v5e:4x4) or a file; again for a table."
    ),
]
Dims = Annotated[
    list[str] | None, typer.Option(help="Extents: B=512,D=4096,F=4096; again for a table.")
]
Dtypes = Annotated[
    list[str] | None,
    typer.Option(help="Element type: bf16, or W=int8,default=bf16; again for a table."),
]


@with_settings
def roofline(
    what: Statements = None,
    *,
    on: On = None,
    dims: Dims = None,
    dtype: Dtypes = None,
    figures: Annotated[
        list[str] | None,
        typer.Option(help="Instead of the catalogue's: hbm_bandwidth=810 GB/s,bf16=200 TFLOP/s."),
    ] = None,
    flops: Annotated[str | None, typer.Option(help="Without a statement: FLOPs.")] = None,
    moved: Annotated[
        str | None, typer.Option("--bytes", help="Without a statement: bytes moved: 2 GB.")
    ] = None,
    through: Annotated[
        str, typer.Option(help="Where operands come from: hbm, vmem, l2, pcie, ...")
    ] = "hbm",
    fused: Annotated[
        bool, typer.Option("--fused", help="What a statement makes for another stays on the chip.")
    ] = False,
    solve: Annotated[
        str | None,
        typer.Option(help="The extent of this dimension with which computing takes as long."),
    ] = None,
    small: Annotated[
        str | None,
        typer.Option(help="With --solve: dimensions taken for small in first order: B."),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="With --solve B: how to cut chips between two axes: X,Y.")
    ] = None,
    over: Annotated[
        str | None, typer.Option(help="FLOP/s attained as this dimension grows: B, or B=8192.")
    ] = None,
    svg: SvgOption = None,
    png: PngOption = None,
    as_json: JsonOption = False,
    **settings: Unpack[_Settings],
) -> None:
    """What binds one chip: how long it computes, and how long its bytes take by each channel.

    --solve finds the extent of a dimension with which both take as long: exactly, and in first
    order, as the book does. Several --on, --dims and --dtype make a table.
    """
    from shardsim.rooflines import ask_rooflines

    if not on:
        raise missing("on", "v5e", "a roofline", ", a chip or a slice")
    _refuse_scenarios(what or [])
    asked: dict[str, Any] = {"through": through, "fused": fused, "solve": solve, "small": small}
    paths = picture_paths(svg, png)
    dim, most = _over(over)
    axes = _axes(split, solve)
    taken = dim is not None and solve is None and not all(_has(text, dim) for text in dims or [""])
    if dim is not None:
        dims = [text if _has(text, dim) else _with(text, dim) for text in dims or [""]]
    answers = ask_rooflines(
        what or None,
        on=on,
        dims=dims or (None,),
        dtypes=dtype or (None,),
        figures=figures or None,
        flops=flops,
        moved=moved,
        **asked,
        **given(**settings),
    )
    curves = _curves(answers, dim, most)
    _pictures(answers, curves, paths)
    if as_json:
        print_json(_document(answers, curves, axes))
        return
    if taken:
        _print_curves(answers, curves)
    else:
        _print(answers, curves, axes)


def _refuse_scenarios(what: list[str]) -> None:
    """Says so when a file is named, where statements are meant."""
    from shardsim.errors import ScenarioError
    from shardsim.scenario import is_shipped

    for text in what:
        if text.endswith((".yaml", ".yml")) or ("[" not in text and is_shipped(text)):
            raise ScenarioError(
                f"a roofline is of statements; {text} is a scenario",
                f'write its statements: "A[I, J] · B[J, K] -> C[I, K]"; or shardsim run {text}',
            )


def _over(text: str | None) -> tuple[str | None, int | None]:
    """The dimension of --over, and how far, if that is said."""
    from shardsim.errors import ScenarioError, Source
    from shardsim.units import parse_count

    if text is None:
        return None, None
    name, equals, most = text.partition("=")
    source = Source(text, "--over")
    if re.fullmatch(r"\s*[^\W\d]\w*'*\s*", name) is None:
        why = f"--over names one dimension; {text.strip()!r} is none"
        raise ScenarioError(why, "write --over B, or --over B=8192", source.whole)
    place = source.place(len(name) + 1, len(text)) if most else source.whole
    return name.strip(), parse_count(most, f"extent {name}", place) if equals else None


def _has(text: str, dim: str) -> bool:
    """Whether the extents of a text have one for a dimension."""
    from shardsim.errors import Source
    from shardsim.notation import parse_assignments

    return bool(text.strip()) and dim in parse_assignments(Source(text, "--dims"), "dimension")


def _with(text: str, dim: str) -> str:
    """Extents as a text, with one for the dimension that grows."""
    return f"{text},{dim}={MOST_EXTENT}" if text.strip() else f"{dim}={MOST_EXTENT}"


def _axes(split: str | None, solve: str | None) -> tuple[str, str] | None:
    """The two axes of --split."""
    from shardsim.errors import ScenarioError, Source

    if split is None:
        return None
    axes = [word.strip() for word in split.split(",") if word.strip()]
    if len(axes) != 2 or axes[0] == axes[1] or solve is None:
        raise ScenarioError(
            "--split takes two axes, and --solve the batch",
            "write --split X,Y --solve B",
            Source(split, "--split").whole,
        )
    return axes[0], axes[1]


def _curves(answers: tuple[Answer, ...], dim: str | None, most: int | None) -> list[Attained]:
    """What each attains up to an extent; by default beyond all from which on computing binds."""
    from shardsim.errors import ScenarioError
    from shardsim.rooflines.attained import attained_over, doublings

    if dim is None:
        return []
    if most is None:
        solved = [
            one for a in answers if dim in a.roofline.extents for one in a.roofline.solve(dim)
        ]
        bends = [math.ceil(one.exact) for one in solved if one.exact is not None]
        most = max(MOST_EXTENT, *(2 ** (bend.bit_length() + 1) for bend in bends), 0)
    curves = []
    for answer in answers:
        one = answer.roofline
        if dim not in one.extents:
            known = ", ".join(one.extents) or "none: there is no statement"
            raise ScenarioError(f"no statement has a dimension {dim}", f"they have {known}")
        if one.compute_seconds is None:
            raise ScenarioError(
                f"the vector unit of {one.machine} has no figure, so what it attains is not known",
                "choose a chip that has one, or give it: --figures with vector_unit and clock",
            )
        others = " ".join(f"{d}={e}" for d, e in one.extents.items() if d != dim)
        label = f"{one.machine} {one.dtype} {others}"
        curves.append(attained_over(one, dim, doublings(most), label))
    return curves


def _pictures(answers: tuple[Answer, ...], curves: list[Attained], paths: tuple[Path, ...]) -> None:
    """Writes the roofline plot, or with --over what is attained as a dimension grows."""
    if not paths:
        return
    from shardsim.plot.asked import write_answers, write_curves

    for path in paths:
        if curves:
            write_curves(answers, curves, path)
        else:
            write_answers(answers, path)
        say(f"picture written to {path}")


def _document(
    answers: tuple[Answer, ...], curves: list[Attained], axes: tuple[str, str] | None
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "format": "shardsim/roofline/1",
        "rows": [answer.to_dict() for answer in answers],
    }
    if curves:
        found["attained"] = [curve.to_dict() for curve in curves]
    if axes is not None:
        found["split"] = [
            {"machine": answer.roofline.machine, **cut.to_dict()}
            for answer, cut in _splits(answers, axes)
        ]
    return found


def _splits(answers: tuple[Answer, ...], axes: tuple[str, str]) -> list[tuple[Answer, Split]]:
    """The best cut of each answer."""
    from shardsim.errors import ScenarioError
    from shardsim.rooflines import split_chips

    found = []
    for answer in answers:
        if answer.missing:
            missing = ", ".join(answer.missing)
            raise ScenarioError(
                f"--split needs the extents of {missing}",
                f"add --dims {','.join(f'{dim}=8192' for dim in answer.missing)}",
            )
        assert answer.solve is not None
        found.append((answer, split_chips(answer.roofline, answer.solve, *axes)))
    return found


def _print(
    answers: tuple[Answer, ...], curves: list[Attained], axes: tuple[str, str] | None
) -> None:
    from rich.console import Group

    from shardsim.report.roofline import (
        attained_report,
        roofline_report,
        rooflines_report,
        split_report,
    )

    parts: list[Any] = [
        roofline_report(answers[0]) if len(answers) == 1 else rooflines_report(answers)
    ]
    for answer, cut in _splits(answers, axes) if axes else ():
        parts.append(split_report(cut, answer))
    if curves:
        parts.append(attained_report(curves))
    print_report(Group(*parts))


def _print_curves(answers: tuple[Answer, ...], curves: list[Attained]) -> None:
    """What is attained alone: nobody gave an extent at which else to look."""
    from shardsim.report.roofline import curves_report

    print_report(curves_report(answers, curves))
