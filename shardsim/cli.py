"""The command line: `run`, `plan`, `compare`, `collective`, `show`, `verify`.

Results go to stdout, diagnostics to stderr. Exit 0 ok, 1 an expectation failed, 2 bad input. Every
command imports what it needs when it runs, so `--help` is quick.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from shardsim.comparison import Run
    from shardsim.errors import ScenarioError
    from shardsim.scenario import Scenario

__all__ = ["app", "main"]

app = typer.Typer(
    name="shardsim",
    help="What a sharded matmul costs on an accelerator mesh, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)

EXPECTATION_FAILED = 1
BAD_INPUT = 2
MANY_CHIPS = 512
YAML = (".yaml", ".yml")
ASCII = str.maketrans({"·": "*", "→": "->", "≥": ">=", "µ": "u", "×": "x", "Δ": "d"})

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
    str | None, typer.Option(help="none: step after step; async: when the inputs are there.")
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


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from shardsim import __version__

        _write(f"shardsim {__version__}\n")
        raise typer.Exit


@app.command(short_help="Plan and simulate: tables, totals and a strip chart.")
def run(
    what: What,
    *,
    topology: TopologyOption = None,
    mesh: MeshOption = None,
    layout: LayoutOption = None,
    devices: DevicesOption = None,
    dims: DimsOption = None,
    dtype: DtypeOption = None,
    overlap: OverlapOption = None,
    policy: PolicyOption = None,
    objective: ObjectiveOption = None,
    uneven: UnevenOption = None,
    algorithm: AlgorithmOption = None,
    schedule: ScheduleOption = None,
    chunks: ChunksOption = None,
    latency_model: LatencyOption = None,
    efficiency: EfficiencyOption = None,
    launch_overhead: LaunchOption = None,
    strategy: StrategyOption = None,
    trace: Annotated[
        Path | None, typer.Option(help="Write a trace for Perfetto (ui.perfetto.dev) here.")
    ] = None,
    source: FromOption = None,
    einsum: EinsumOption = None,
    as_json: JsonOption = False,
) -> None:
    """Plan and simulate: each step's time by the book, exactly, and simulated."""
    from shardsim.comparison import run_scenario

    what, dims = _statements(
        what,
        source=source,
        einsum=einsum,
        topology=topology,
        mesh=mesh,
        layout=layout,
        devices=devices,
        dims=dims,
    )
    scenario = _scenario(
        what,
        strategy,
        topology=topology,
        mesh=mesh,
        layout=layout,
        devices=devices,
        dims=dims,
        dtype=dtype,
        overlap=overlap,
        policy=policy,
        objective=objective,
        uneven=uneven,
        algorithm=algorithm,
        schedule=schedule,
        chunks=chunks,
        latency_model=latency_model,
        efficiency=efficiency,
        launch_overhead=launch_overhead,
    )
    with _progress(scenario.program.mesh.topology.size):
        result = run_scenario(scenario)
    if trace is not None:
        from shardsim.perfetto import write_trace

        write_trace(result, trace)
        _say(f"trace{_cut(result)} written to {trace}; open it at ui.perfetto.dev")
    if as_json:
        _print_json(result.to_dict())
    else:
        from shardsim.report import render, run_report

        _write(render(run_report(result), sys.stdout))
    failed = [check.text for check in result.checks() if not check.met]
    for text in failed:
        _say(f"expectation not met: {text}")
    if failed:
        raise typer.Exit(EXPECTATION_FAILED)


@app.command(short_help="Plan only: the steps, the rules, the other ways.")
def plan(
    what: What,
    *,
    topology: TopologyOption = None,
    mesh: MeshOption = None,
    layout: LayoutOption = None,
    devices: DevicesOption = None,
    dims: DimsOption = None,
    dtype: DtypeOption = None,
    policy: PolicyOption = None,
    objective: ObjectiveOption = None,
    uneven: UnevenOption = None,
    algorithm: AlgorithmOption = None,
    schedule: ScheduleOption = None,
    chunks: ChunksOption = None,
    latency_model: LatencyOption = None,
    efficiency: EfficiencyOption = None,
    launch_overhead: LaunchOption = None,
    strategy: StrategyOption = None,
    source: FromOption = None,
    einsum: EinsumOption = None,
    as_json: JsonOption = False,
) -> None:
    """Plan only: the steps, the rule behind them, and the other ways with their prices."""
    from shardsim.comparison import plan_scenario

    what, dims = _statements(
        what,
        source=source,
        einsum=einsum,
        topology=topology,
        mesh=mesh,
        layout=layout,
        devices=devices,
        dims=dims,
    )
    scenario = _scenario(
        what,
        strategy,
        topology=topology,
        mesh=mesh,
        layout=layout,
        devices=devices,
        dims=dims,
        dtype=dtype,
        policy=policy,
        objective=objective,
        uneven=uneven,
        algorithm=algorithm,
        schedule=schedule,
        chunks=chunks,
        latency_model=latency_model,
        efficiency=efficiency,
        launch_overhead=launch_overhead,
    )
    made = plan_scenario(scenario)
    if as_json:
        _print_json({"name": scenario.name, **made.to_dict()})
    else:
        from shardsim.report import plan_report, render

        report = plan_report(made, scenario.name, scenario.options.objective)
        _write(render(report, sys.stdout))


@app.command(short_help="The strategies of a scenario file, side by side.")
def compare(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A scenario file with strategies.")],
    *,
    topology: TopologyOption = None,
    mesh: MeshOption = None,
    layout: LayoutOption = None,
    devices: DevicesOption = None,
    dims: DimsOption = None,
    dtype: DtypeOption = None,
    overlap: OverlapOption = None,
    policy: PolicyOption = None,
    objective: ObjectiveOption = None,
    uneven: UnevenOption = None,
    algorithm: AlgorithmOption = None,
    schedule: ScheduleOption = None,
    chunks: ChunksOption = None,
    latency_model: LatencyOption = None,
    efficiency: EfficiencyOption = None,
    launch_overhead: LaunchOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the strategies of a scenario file side by side: times, bytes, memory, and which is best.

    An option stands in for what the file says outside of its strategies; what a strategy sets
    itself stays.
    """
    from shardsim.comparison import run_comparison
    from shardsim.scenario import load_comparison

    given = {
        "topology": topology,
        "mesh": mesh,
        "layout": layout,
        "devices": devices,
        "dims": dims,
        "dtype": dtype,
        "overlap": overlap,
        "policy": policy,
        "objective": objective,
        "uneven": uneven,
        "algorithm": algorithm,
        "schedule": schedule,
        "chunks": chunks,
        "latency_model": latency_model,
        "efficiency": efficiency,
        "launch_overhead": launch_overhead,
    }
    options = {name: value for name, value in given.items() if value is not None}
    comparison = load_comparison(file, **options)
    with _status() as say:
        compared = run_comparison(comparison, say)
    if as_json:
        _print_json(compared.to_dict())
    else:
        from shardsim.report import compare_report, render

        _write(render(compare_report(compared), sys.stdout))
    for name, text in compared.unmet():
        _say(f"expectation of {name} not met: {text}")
    if compared.unmet():
        raise typer.Exit(EXPECTATION_FAILED)


@app.command(short_help="One collective: its time three ways, and bandwidths.")
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
    size: Annotated[
        str | None,
        typer.Option(
            help="As benchmarks name it: what one chip sends in an AllToAll or a permute, else "
            "the whole array: 32MiB."
        ),
    ] = None,
    topology: TopologyOption = None,
    mesh: MeshOption = None,
    layout: LayoutOption = None,
    devices: DevicesOption = None,
    axes: Annotated[str | None, typer.Option(help="Over which axes; all by default: X,Y.")] = None,
    algorithm: AlgorithmOption = None,
    schedule: ScheduleOption = None,
    chunks: ChunksOption = None,
    latency_model: LatencyOption = None,
    shift: Annotated[
        str | None, typer.Option(help="Permute: so many places up; 1 by default.", metavar="N")
    ] = None,
    root: Annotated[
        str | None, typer.Option(help="Gather: the number of the chip.", metavar="N")
    ] = None,
    start: Annotated[str | None, typer.Option("--from", help="Send: from this chip: 0,0.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Send: to this chip: 3,3.")] = None,
    ways: Annotated[
        str | None, typer.Option(help="Send: over so many ways at once.", metavar="N")
    ] = None,
    efficiency: EfficiencyOption = None,
    launch_overhead: LaunchOption = None,
    as_json: JsonOption = False,
) -> None:
    """One collective by itself: its time three ways, algbw, busbw, the busiest link, and advice."""
    from shardsim.comparison import run_asked
    from shardsim.scenario import make_collective

    given: dict[str, Any] = {
        "size": size,
        "topology": topology,
        "mesh": mesh,
        "layout": layout,
        "devices": devices,
        "axes": axes,
        "algorithm": algorithm,
        "schedule": schedule,
        "chunks": chunks,
        "latency_model": latency_model,
        "shift": shift,
        "root": root,
        "start": start,
        "end": end,
        "ways": ways,
        "efficiency": efficiency,
        "launch_overhead": launch_overhead,
    }
    for name, value, example in (("size", size, "32MiB"), ("topology", topology, "v5e:4x4")):
        if value is None:
            raise _missing(name, example, "a collective", "")
    options = {name: value for name, value in given.items() if value is not None}
    asked = make_collective(kind, **options)
    with _progress(asked.topology.size):
        result = run_asked(asked)
    if as_json:
        _print_json(result.to_dict())
    else:
        from shardsim.report import collective_report, render

        _write(render(collective_report(result), sys.stdout))


@app.command(short_help="Show a topology, or who holds what of a sharding.")
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
    if source is not None or "[" in what:
        from shardsim.inspection.asking import asked_sharding

        one = asked_sharding(
            what,
            topology=topology,
            mesh=mesh,
            layout=layout,
            devices=devices,
            dims=dims,
            dtype=dtype,
            source=source,
            names=names,
        )
        if svg is not None:
            from shardsim.plot import write_placement

            write_placement(one, svg)
            _say(f"drawing written to {svg}")
        if as_json:
            _print_json(one.to_dict())
        else:
            from shardsim.report import render
            from shardsim.report.placement import sharding_report

            _write(render(sharding_report(one), sys.stdout))
        return
    _refuse_with_a_topology(topology=topology, dims=dims, dtype=dtype, names=names, svg=svg)
    from shardsim.catalogue import find_topology
    from shardsim.errors import Source
    from shardsim.mesh import DEFAULT_NAMES, lay_mesh

    found = find_topology(what, Source(what, origin="topology"))
    laid = None
    if (mesh, layout, devices) != (None, None, None):
        from shardsim.scenario import make_mesh

        laid = make_mesh(found, mesh=mesh, layout=layout, devices=devices)
    if as_json:
        from shardsim.comparison import mesh_dict

        _print_json({**found.to_dict(), **({} if laid is None else mesh_dict(laid))})
    else:
        from shardsim.report import render, topology_report

        whole = not found.missing and len(found.shape) <= len(DEFAULT_NAMES)
        default = lay_mesh(found) if whole and laid is None else laid
        _write(render(topology_report(found, default, laid=laid is not None), sys.stdout))


@app.command(short_help="Check a machine: laws, closed forms, real numbers.")
def verify(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|CHIP:SHAPE]",
            help="A topology, or a scenario file; all shipped topologies by default.",
        ),
    ] = None,
    *,
    mesh: MeshOption = None,
    layout: LayoutOption = None,
    devices: DevicesOption = None,
    cases: Annotated[
        int, typer.Option(min=1, max=10_000, help="Random cases of each check.", metavar="N")
    ] = 100,
    seed: Annotated[int, typer.Option(help="What they are drawn with.", metavar="N")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Check a machine: simulated times against closed forms, guidelines, bytes, real numbers.

    Exit 1 where a law does not hold, with the smallest counterexample found.
    """
    from shardsim.catalogue import names_of
    from shardsim.errors import ScenarioError
    from shardsim.verification import find_machine, verify_machine

    if what is None and (mesh, layout, devices) != (None, None, None):
        why = "--mesh, --layout and --devices are for one topology; none is named"
        raise ScenarioError(why, "name it: shardsim verify v5e:4x4 --mesh X=4,Y=4")
    names = names_of("topologies") if what is None else [what]
    machines = [find_machine(name, mesh, layout, devices) for name in names]
    with _status() as say:
        found = [verify_machine(one, cases=cases, seed=seed, progress=say) for one in machines]
    passed = all(one.passed for one in found)
    if as_json and what is None:
        all_found = [one.to_dict() for one in found]
        _print_json({"format": "shardsim/verify/1", "topologies": all_found, "passed": passed})
    elif as_json:
        _print_json(found[0].to_dict())
    else:
        from shardsim.report import render
        from shardsim.report.verification import summary_report, verification_report

        one = verification_report(found[0], machines[0].note)
        _write(render(summary_report(found) if what is None else one, sys.stdout))
    if not passed:
        raise typer.Exit(EXPECTATION_FAILED)


@contextmanager
def _status() -> Iterator[Callable[[str], None]]:
    """Says on stderr what is going on; only on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update


def _cut(result: Run) -> str:
    """How many of the chips a trace shows, where it does not show all."""
    from shardsim.perfetto import MOST_CHIPS

    chips = result.plan.mesh.topology.size
    return f" of the first {MOST_CHIPS} of {chips:,} chips" if chips > MOST_CHIPS else ""


def _refuse_with_a_topology(**options: object) -> None:
    from shardsim.errors import ScenarioError

    for name, value in options.items():
        if value is not None:
            option = "on" if name == "topology" else name
            raise ScenarioError(
                f"--{option} is for a sharding, and the argument is none",
                'give one: shardsim show "A[I_X, J]" --on v5e:4x4',
            )


def _statements(what: list[str], **options: str | None) -> tuple[list[str], str | None]:
    """The statements, translated where --from says that they are in another notation."""
    if options["source"] is None and options["einsum"] is None:
        return what, options["dims"]
    from shardsim.scenario.translation import translate_statements

    return translate_statements(what, **options)


def _scenario(what: list[str], strategy: str | None, **options: str | None) -> Scenario:
    """A scenario from a file, or from notation and options."""
    from shardsim.errors import ScenarioError
    from shardsim.scenario import load_scenario, make_scenario

    given = {name: value for name, value in options.items() if value is not None}
    if _is_file(what, alone=not {"topology", "dims"}.issubset(given)):
        return load_scenario(what[0], strategy, **given)
    if strategy is not None:
        raise ScenarioError(
            "--strategy is for a scenario file with strategies, and this is notation",
            "leave it out, or name the file",
        )
    file = next((text for text in what if text.endswith(YAML)), None)
    if file is not None and len(what) > 1:
        raise ScenarioError(
            f"{len(what)} arguments, and one of them is the file {file}",
            "give one scenario file alone, or statements in the notation",
        )
    pair = next((text for text in what if re.fullmatch(r"[\w']+=\w+", text)), None)
    if pair is not None:
        raise ScenarioError(
            f"{pair} is no statement",
            "join the parts of an option with commas and no blanks: --dims I=8192,J=8192",
        )
    if not {"topology", "dims"}.issubset(given):
        dims = _example_dims(what)
        raise _missing("dims", dims) if "topology" in given else _missing("topology", "v5e:4x4")
    return make_scenario(what if len(what) > 1 else what[0], **given)


def _missing(
    name: str,
    example: str,
    what: str = "a line of notation",
    otherwise: str = ", or name a scenario file instead of the notation",
) -> ScenarioError:
    from shardsim.errors import ScenarioError

    return ScenarioError(
        f"--{name} is missing; {what} needs it", f"add --{name} {example}{otherwise}"
    )


def _example_dims(what: list[str]) -> str:
    """Extents for the dimensions of the statements, whose own faults come first."""
    from shardsim.notation import parse
    from shardsim.program import arrays_of

    arrays = [array for text in what for array in arrays_of(parse(text))]
    names = dict.fromkeys(name for array in arrays for name in array.dim_names)
    return ",".join(f"{name}=8192" for name in names)


def _is_file(what: list[str], *, alone: bool) -> bool:
    """One argument that is not notation: no bracket, and a YAML name or something on the disk.

    Where it stands alone, without the options that notation needs, it can only be a file.
    """
    from shardsim.scenario import is_shipped

    text = what[0]
    if len(what) > 1 or "[" in text or "\n" in text or not text.strip():
        return False
    try:
        return alone or text.endswith(YAML) or Path(text).exists() or is_shipped(text)
    except OSError:  # too long for a name
        return False


def _progress(chips: int) -> AbstractContextManager[Any]:
    """A note on stderr while many chips are simulated; only on a terminal."""
    if chips < MANY_CHIPS or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"simulating {chips:,} chips")


def _print_json(document: dict[str, Any]) -> None:
    unicode = codecs.lookup(sys.stdout.encoding or "utf-8").name.startswith("utf")
    _write(json.dumps(document, indent=2, ensure_ascii=not unicode, allow_nan=False) + "\n")


def _write(text: str) -> None:
    """Writes to stdout; when the reader has gone (`| head`), the rest is nobody's loss.

    Raises:
        InputError: the text cannot be written: a full disk.
    """
    from shardsim.errors import InputError

    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # the interpreter flushes once more at its end
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            raise InputError(f"cannot write the output: {error.strerror}") from error


def _say(text: str) -> None:
    """A diagnostic, on stderr."""
    sys.stderr.write(f"{text}\n")


def _as_ascii(error: UnicodeError) -> tuple[str, int]:
    """Near spellings for a terminal without Unicode; `*` for `·` can be read back."""
    assert isinstance(error, UnicodeEncodeError)
    wanted = error.object[error.start : error.end].translate(ASCII)
    return "".join(char if char.isascii() else "?" for char in wanted), error.end


def main() -> None:
    """The entry point: faults become a message on stderr and an exit code, never a traceback."""
    from shardsim.errors import InputError, ShardsimError

    codecs.register_error("shardsim", _as_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="shardsim")
    try:
        app(prog_name="shardsim")
    except ShardsimError as error:
        _say(f"error: {error}")
        sys.exit(BAD_INPUT if isinstance(error, InputError | ValueError) else EXPECTATION_FAILED)
