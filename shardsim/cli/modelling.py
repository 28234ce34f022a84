"""The command `model`: parameters, FLOPs and memory of a model, how it is served or trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardsim.cli.options import JsonOption, given
from shardsim.cli.output import print_json, print_report

if TYPE_CHECKING:
    from shardsim.model import Quantities

__all__ = ["model"]

OF_TRAINING = ("tokens", "kept", "optimizer", "gradients", "chip_hours", "seconds")
OF_SERVING = ("prompt", "generated")
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
    _check(options, train=train)
    names = {**INPUTS, **({"batch": "batch_tokens"} if train else {})}
    inputs: dict[str, Any] = {names.get(key, key): value for key, value in options.items()}
    found = quantities(which, causal=causal, **inputs)
    if as_json:
        print_json(_document(found))
        return
    from shardsim.report.model import model_report

    print_report(model_report(found, train=train))


def _check(options: dict[str, str], *, train: bool) -> None:
    """Refuses options that would do nothing.

    Raises:
        ScenarioError: there is one.
    """
    from shardsim.errors import ScenarioError

    for key in options:
        option = f"--{key.replace('_', '-')}"
        if key in (OF_SERVING if train else OF_TRAINING):
            other = "serving, and --train is given" if train else "--train"
            why = f"{option} is for {other}"
            raise ScenarioError(why, "leave --train out" if train else "add --train")
        if key in ("tensor", "data") and "mesh" not in options:
            raise ScenarioError(f"{option} names axes, and --mesh is missing", "add --mesh X=4,Y=4")
    if "mesh" in options and "on" not in options:
        why = "--mesh lies over a machine, and --on is missing"
        raise ScenarioError(why, "add --on v5e:4x4")


def _document(found: Quantities) -> dict[str, Any]:
    from shardsim.model import NotKnownError, works
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
