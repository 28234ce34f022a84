"""Scenarios: what to run on which machine, from a document or from Python.

A file and the arguments of `make_scenario` take the same way: a document, checked against one
form, then read value by value, so that every fault has its place, in the file or in the option.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from shardsim.documents import (
    Document,
    Faults,
    Mark,
    described,
    nearest,
    plain,
    validate,
)
from shardsim.documents.fields import dtype_of
from shardsim.errors import Place, ScenarioError, Source
from shardsim.notation import Statement, parse
from shardsim.program import Dtypes, Options, Program, arrays_of, bind_program
from shardsim.scenario.expectations import Expectation, read_expectations
from shardsim.scenario.form import ScenarioForm
from shardsim.scenario.machine import check_methods, option_marks, read_mesh
from shardsim.scenario.pairs import name_place, read_pairs, read_sizes
from shardsim.scenario.repeating import repeated
from shardsim.scenario.ways_out import with_prices
from shardsim.topology import Topology
from shardsim.vocabulary import Dtype, Overlap

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Scenario", "make_scenario", "scenario_of", "statements_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A program on a machine, how to run it, and what must come out.

    `form_place` is where the form of overlap stands, for a fault that only the plan shows.
    """

    name: str
    program: Program
    options: Options
    expectations: tuple[Expectation, ...] = ()
    form_place: Place | None = field(default=None, compare=False, repr=False)


def make_scenario(
    program: str | Statement | Sequence[str | Statement],
    *,
    topology: str | os.PathLike[str] | Mapping[str, object] | Topology,
    dims: Mapping[str, int] | str,
    mesh: Mapping[str, int] | str | None = None,
    layout: Mapping[str, str] | str | None = None,
    devices: Sequence[Sequence[int]] | str | None = None,
    dtype: str | Mapping[str, str] | None = None,
    overlap: str = "async",
    form: str | None = None,
    prefetch: int | str | None = None,
    compute_slowdown: float | str | Fraction | None = None,
    tile: int | str | None = None,
    repeat: int | str | None = None,
    latency_model: str = "additive",
    algorithm: str | None = None,
    schedule: str | None = None,
    chunks: int | str | None = None,
    efficiency: float | str | Fraction | None = None,
    launch_overhead: float | str | Fraction | None = None,
    policy: str = "cheapest",
    objective: str = "time",
    idle_axes: str = "leave",
    uneven: str = "error",
    name: str | None = None,
) -> Scenario:
    """A scenario from Python values, or from texts as on the command line: "X=4,Y=4".

    Raises:
        InputError: one thing is wrong; its place is in the option or in the expression.
        InputErrors: several things are.

    >>> made = make_scenario(
    ...     "A[I, J_X] · B[J_X, K] -> C[I, K]", topology="v5e:4x4", dims="I=64,J=64,K=64"
    ... )
    >>> made.name, made.program.mesh.sizes
    ('A[I, J_X] · B[J_X, K] -> C[I, K]', {'X': 4, 'Y': 4})
    """
    given = {
        "name": name,
        "topology": topology,
        "mesh": mesh,
        "layout": layout,
        "devices": devices,
        "dims": dims,
        "dtype": dtype,
        "overlap": overlap,
        "form": form,
        "prefetch": prefetch,
        "compute_slowdown": compute_slowdown,
        "tile": tile,
        "repeat": repeat,
        "latency_model": latency_model,
        "algorithm": algorithm,
        "schedule": schedule,
        "chunks": chunks,
        "efficiency": efficiency,
        "launch_overhead": launch_overhead,
        "policy": policy,
        "objective": objective,
        "idle_axes": idle_axes,
        "uneven": uneven,
        "program": program,
    }
    data = {key: plain(value) for key, value in given.items() if value is not None}
    return scenario_of(Document(data, _marks(given)), "", None)


def _marks(given: Mapping[str, object]) -> dict[tuple[str | int, ...], Mark]:
    """Where the texts among the arguments stand; lines of the program, one by one."""
    marks = option_marks(given, {"program": "expression"})
    lines = plain(given.get("program"))
    for index, line in enumerate(lines if isinstance(lines, list) else ()):
        if isinstance(line, str):
            marks["program", index] = Mark(Source(line, "expression", index + 1, 1, line))
    return marks


def scenario_of(
    document: Document,
    default_name: str,
    base: Path | None,
    form_of: type[ScenarioForm] = ScenarioForm,
) -> Scenario:
    """The scenario that a document describes.

    Args:
        document: A mapping with the keys of a scenario.
        default_name: Its name where it gives none.
        base: The folder in which topology files are looked for first.
        form_of: Which keys it may have.

    Raises:
        InputError: one thing is wrong.
        InputErrors: several things are.
    """
    form = validate(document, form_of, "the scenario")
    faults = Faults()
    mesh = faults.attempt(lambda: read_mesh(document, form, base))
    extents = faults.attempt(lambda: read_sizes(document, "dims", "dimension"))
    statements = faults.attempt(lambda: statements_of(document))
    dtypes = faults.attempt(lambda: _dtypes(document, statements))
    expectations = faults.attempt(lambda: read_expectations(document))
    if mesh is not None:
        faults.attempt(partial(check_methods, document, form, mesh))
    faults.errors += _needless(document, form)
    options = Options(
        overlap=form.overlap,
        form=form.form,
        prefetch=form.prefetch,
        compute_slowdown=form.compute_slowdown,
        tile=form.tile,
        latency_model=form.latency_model,
        algorithm=form.algorithm,
        schedule=form.schedule,
        chunks=form.chunks,
        policy=form.policy,
        objective=form.objective,
        idle_axes=form.idle_axes,
    )
    program = None
    if statements is None and mesh is not None and extents is not None and dtypes is not None:
        lines = [line for line in _lines(document, Faults()) if isinstance(line, Source)]
        priced = partial(
            with_prices,
            lines=lines,
            mesh=mesh,
            extents=extents,
            dtypes=dtypes,
            uneven=form.uneven,
            options=options,
        )
        faults.errors[:] = map(priced, faults.errors)
    if mesh is not None and extents is not None and statements is not None:
        places = {name: place for name in extents if (place := name_place(document, "dims", name))}
        bound = partial(bind_program, mesh=mesh, extents=extents, place=places, uneven=form.uneven)
        program = faults.attempt(lambda: bound(statements, dtypes=dtypes))
        if program is not None and form.repeat > 1:
            once = program
            program = faults.attempt(
                lambda: _repeated(document, once.statements, form.repeat, bound, dtypes)
            )
    faults.raise_any()
    assert program is not None
    assert expectations is not None
    return Scenario(
        name=form.name or default_name or "; ".join(map(str, program.written)),
        program=program,
        options=options,
        expectations=expectations,
        form_place=document.place("form"),
    )


def _needless(document: Document, form: ScenarioForm) -> Iterator[ScenarioError]:
    """Options that the overlap asked for has no use for."""
    if form.form is not None and form.overlap in (Overlap.NONE, Overlap.ASYNC):
        yield ScenarioError(
            f"form {form.form.value} is for overlap: decomposed or auto; it is {form.overlap}",
            "ask for overlap: decomposed, or leave the form out",
            document.place("form"),
        )
    if form.prefetch is not None and form.overlap is Overlap.NONE:
        yield ScenarioError(
            "prefetch is for steps that overlap; with overlap: none nothing is gathered ahead",
            "ask for overlap: async, or leave prefetch out",
            document.place("prefetch"),
        )


def _repeated(
    document: Document,
    statements: tuple[Statement, ...],
    times: int,
    bound: Callable[..., Program],
    dtypes: Dtypes | None,
) -> Program:
    """The program so many times, bound; the place of a fault is that of `repeat`."""
    try:
        several, origin = repeated(statements, times)
    except ScenarioError as error:
        raise error.at(document.place("repeat")) from None
    known = dtypes or Dtypes()
    by_name = dict(known.by_name)
    again = {name: by_name[old] for name, old in origin.items() if old in by_name}
    typed = Dtypes(known.default, (*known.by_name, *again.items()))
    return bound(several, dtypes=typed, repeat=times)


def statements_of(document: Document) -> tuple[Statement, ...]:
    """The statements of the program, in order.

    Raises:
        InputError: one line cannot be read, or there is none.
        InputErrors: several cannot.
    """
    faults = Faults()
    statements = []
    for line in _lines(document, faults):
        made = line if isinstance(line, Statement) else faults.attempt(partial(parse, line))
        if made is not None:
            statements.append(made)
    if not statements and not faults.errors:
        faults.errors.append(
            ScenarioError(
                "the program has no lines",
                "write one such as A[I, J_X] · B[J_X, K] -> C[I, K]",
                document.place("program"),
            )
        )
    faults.raise_any()
    return tuple(statements)


def _lines(document: Document, faults: Faults) -> list[Source | Statement]:
    """The lines of the program, without empty ones and comments."""
    data: Any = document.at("program").data
    if isinstance(data, str):
        sources = document.line_sources("program")
        return [s for s in sources if s.text.strip() and not s.text.lstrip().startswith("#")]
    lines: list[Source | Statement] = []
    for index, line in enumerate(data if isinstance(data, list) else [data]):
        if isinstance(line, Statement):
            lines.append(line)
        elif isinstance(line, str):
            lines.append(document.source("program", index) or Source(line))
        else:
            why = f"a line of the program must be text, not {described(line)}"
            hint = "put the line in quotes" if line else "remove it"
            place = document.place("program", index)
            faults.errors.append(ScenarioError(why, hint, place))
    return lines


def _dtypes(document: Document, statements: tuple[Statement, ...] | None) -> Dtypes:
    """Element types, from a word, a mapping or "A=int8,default=bf16"."""
    if not document.has("dtype"):
        return Dtypes()
    data = document.at("dtype").data
    if isinstance(data, str) and "=" not in data:
        return Dtypes(dtype_of(data, document.place("dtype")))
    faults = Faults()
    arrays = {a.name: None for s in statements or () for a in arrays_of(s) if a.name is not None}
    found: dict[str, Dtype] = {}
    for pair in read_pairs(document, "dtype"):
        dtype = faults.attempt(partial(dtype_of, pair.word, pair.word_place))
        found[pair.name] = dtype or Dtype.BF16
        if statements is not None and pair.name not in (*arrays, "default"):
            why = f"dtype names {pair.name!r}, which no line of the program has; it has "
            hint = nearest(pair.name, [*arrays, "default"]) or "remove it"
            faults.errors.append(ScenarioError(why + ", ".join(arrays), hint, pair.name_place))
    faults.raise_any()
    default = found.pop("default", Dtype.BF16)
    return Dtypes(default, tuple(found.items()))
