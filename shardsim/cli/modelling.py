"""The command `model`: parameters, FLOPs and memory of a model, how it is served or trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardsim.cli.options import JsonOption, given
from shardsim.cli.output import print_json, print_report

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shardsim.errors import InputError
    from shardsim.model import Quantities

__all__ = ["model"]

OF_TRAINING = ("tokens", "kept", "optimizer", "gradients", "chip_hours", "seconds")
OF_SERVING = ("prompt", "generated")
PREFILL = "on", "mfu", "prompt or context"
NEEDED_OF_SERVING: Mapping[str, tuple[str, ...]] = {
    "mesh": ("on",),
    "tensor": ("on", "mesh"),
    "data": ("on", "mesh"),
    "batch": ("on",),
    "mfu": PREFILL,
    "prompt": PREFILL,
    "causal": PREFILL,
    "generated": ("on", "batch", "context"),
    "dtype weights": ("on",),
    "dtype compute": ("on",),
    "dtype activations": ("on", "mesh", "batch", "context"),
}
NEEDED_OF_TRAINING: Mapping[str, tuple[str, ...]] = {
    "mesh": ("on", "batch", "context"),
    "tensor": ("on", "mesh"),
    "data": ("on", "mesh"),
    "batch": ("on or kept",),
    "mfu": ("on", "tokens"),
    "seconds": ("on", "tokens"),
    "chip_hours": ("on", "tokens"),
    "kept": ("batch",),
    "causal": ("context",),
    "dtype compute": ("on", "tokens", "mfu or seconds or chip_hours"),
    "dtype activations": ("batch", "mesh or kept"),
}
"""Without which other options an option changes nothing that is printed."""

EXAMPLES = {
    "on": "v5e:4x4",
    "mesh": "X=4,Y=4",
    "batch": "32",
    "context": "8192",
    "prompt": "8192",
    "mfu": "0.4",
    "tokens": "15e12",
    "kept": "2",
}
EXCLUSIVE = (("mfu", "seconds"), ("mfu", "chip_hours"), ("seconds", "chip_hours"))
"""Options of which the one says what follows from the other."""

INPUTS = {
    "on": "topology",
    "optimizer": "optimizer_bytes_per_parameter",
    "gradients": "gradient_bytes_per_parameter",
}
"""Options whose input has another name."""


def _option(text: str) -> Any:
    return typer.Option(help=text)


def model(
    which: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A shipped model, such as llama-3-70b; or a file."),
    ],
    *,
    on: Annotated[
        str | None, typer.Option("--on", "--topology", help="A machine: v5e:4x4, or a file.")
    ] = None,
    mesh: Annotated[str | None, _option("Axes: how it is cut, and collectives: X=4,Y=4.")] = None,
    tensor: Annotated[str | None, _option("Axes that layers are cut over: X.")] = None,
    data: Annotated[str | None, _option("Axes that sequences are cut over: Y.")] = None,
    batch: Annotated[
        str | None, _option("Sequences generated together; with --train tokens of a batch.")
    ] = None,
    context: Annotated[str | None, _option("Tokens of a sequence: 8192.")] = None,
    dtype: Annotated[
        str | None,
        _option("bf16, or by what it is of: weights=int8,kv=int8,activations=bf16,compute=bf16."),
    ] = None,
    mfu: Annotated[
        str | None, _option("Share of the peak that prefill or training reaches: 0.4.")
    ] = None,
    prompt: Annotated[str | None, _option("Tokens that are prefilled, if not the context.")] = None,
    generated: Annotated[str | None, _option("Tokens generated for a query: 512.")] = None,
    train: Annotated[bool, typer.Option("--train", help="Training, instead of serving.")] = False,
    tokens: Annotated[str | None, _option("With --train: all tokens: 15e12.")] = None,
    kept: Annotated[
        str | None,
        _option("With --train: arrays [tokens, D] kept of each layer: 2; or names: X,Up,Gate."),
    ] = None,
    optimizer: Annotated[
        str | None, _option("With --train: bytes of a parameter's optimizer; 8 of Adam.")
    ] = None,
    gradients: Annotated[
        str | None, _option("With --train: bytes of a parameter's gradient that is kept.")
    ] = None,
    chip_hours: Annotated[
        str | None, _option("With --train: hours of one chip that it took, for the MFU.")
    ] = None,
    seconds: Annotated[str | None, _option("With --train: time that it took: 3e6.")] = None,
    causal: Annotated[
        bool, typer.Option("--causal", help="Exact FLOPs: tokens attend to those before only.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Parameters, FLOPs and memory of a transformer, counted from its statements.

    With --on and --batch --context: how it is served; with --train: how it is trained.
    """
    from shardsim.documents import Faults
    from shardsim.model import quantities

    options = given(
        on=on,
        mesh=mesh,
        tensor=tensor,
        data=data,
        batch=batch,
        context=context,
        dtype=dtype,
        mfu=mfu,
        prompt=prompt,
        generated=generated,
        tokens=tokens,
        kept=kept,
        optimizer=optimizer,
        gradients=gradients,
        chip_hours=chip_hours,
        seconds=seconds,
    )
    faults = Faults()
    faults.errors += _refused(options, train=train, causal=causal)
    names = {**INPUTS, **({"batch": "batch_tokens"} if train else {})}
    inputs: dict[str, Any] = {names.get(key, key): value for key, value in options.items()}
    found = faults.attempt(lambda: quantities(which, causal=causal, **inputs))
    faults.raise_any()
    assert found is not None
    if as_json:
        print_json(_document(found, train=train))
        return
    from shardsim.report.model import model_report

    print_report(model_report(found, train=train))


def _refused(options: Mapping[str, str], *, train: bool, causal: bool) -> Iterator[InputError]:
    """Options that would do nothing, and those of which one would be left out."""
    misplaced = tuple(_misplaced(options, train))
    yield from misplaced
    yield from _exclusive(options)
    if not misplaced:
        yield from _idle(options, train, causal)


def _option_name(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _misplaced(options: Mapping[str, str], train: bool) -> Iterator[InputError]:
    """Options of training without --train, and of serving with it."""
    from shardsim.errors import ScenarioError

    for key in options:
        if key in (OF_SERVING if train else OF_TRAINING):
            other = "serving, and --train is given" if train else "--train"
            way_out = f"leave --train out, or {_option_name(key)}" if train else "add --train"
            yield ScenarioError(f"{_option_name(key)} is for {other}", way_out)


def _exclusive(options: Mapping[str, str]) -> Iterator[InputError]:
    """Pairs of which the one says what follows from the other."""
    from shardsim.errors import ScenarioError

    for pair in EXCLUSIVE:
        if set(pair) <= set(options):
            one, other = map(_option_name, pair)
            what = "the MFU follows from the time" if one == "--mfu" else "both say what it took"
            yield ScenarioError(
                f"{one} and {other}: {what}", f"leave one of them out, such as {one}"
            )


def _idle(options: Mapping[str, str], train: bool, causal: bool) -> Iterator[InputError]:
    """Options without those that they need to change what is printed."""
    from shardsim.errors import ScenarioError

    needed = NEEDED_OF_TRAINING if train else NEEDED_OF_SERVING
    examples = {**EXAMPLES, "batch": "4e6"} if train else EXAMPLES
    given = [*options, *(["causal"] if causal else []), *_types(options.get("dtype", ""))]
    for key in given:
        absent = [
            one.split(" or ")
            for one in needed.get(key, ())
            if not {*one.split(" or ")} & {*options}
        ]
        if absent:
            names = ", and ".join(" or ".join(map(_option_name, one)) for one in absent)
            first = " ".join(f"{_option_name(one[0])} {examples[one[0]]}" for one in absent)
            yield ScenarioError(f"{_named(key)} does nothing without {names}", f"add {first}")


def _named(key: str) -> str:
    """An option; of --dtype one of its parts."""
    option, _, part = key.partition(" ")
    return _option_name(option) + (f" {part}=" if part else "")


def _types(dtype: str) -> Iterator[str]:
    """The parts of --dtype that are named one by one."""
    for pair in dtype.split(","):
        name, equals, _ = pair.partition("=")
        if equals:
            yield f"dtype {name.strip()}"


def _document(found: Quantities, *, train: bool) -> dict[str, Any]:
    from shardsim.model import NotKnownError, missing, works
    from shardsim.units import number

    model, topology = found.model, found.asked.topology
    document: dict[str, Any] = {"format": "shardsim/model/1", "name": model.name}
    document["source"] = model.source
    if topology is not None:
        document |= {"topology": topology.name, "chips": found.asked.machine_chips}
    rows = []
    for work in works(model, absorbed=True):
        row: dict[str, Any] = {"text": str(work.statement), "part": work.part.value}
        try:
            row["times"] = model.times(work.group)
        except NotKnownError:
            row["times"] = None
        rows.append(row)
    document["statements"] = rows
    if found.asked.mesh is not None:
        document["collectives"] = _collectives(found)
    document["quantities"] = {name: number(value) for name, value in found.known().items()}
    absent = missing(found, train=train)
    if absent:
        document["missing"] = [{"what": list(one.what), "why": one.why} for one in absent]
    return document


def _collectives(found: Quantities) -> list[dict[str, Any]]:
    """The collectives of one layer, each with how its closed form stands to its simulation."""
    from shardsim.model import NotKnownError
    from shardsim.model.sharded import plan_layer
    from shardsim.units import number

    asked = found.asked
    try:
        planned = plan_layer(found.model, asked, training=asked.trains)
    except NotKnownError:
        return []
    return [
        {
            "text": step.text,
            "bytes": number(step.size),
            "seconds": number(step.price.estimate),
            "book_seconds": number(step.price.book),
            "relation": step.price.relation.value,
        }
        for step in planned.collectives
    ]
