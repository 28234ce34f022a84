"""Scenario files: found by path or by name, with one scenario or with several strategies."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from shardsim.catalogue import data_folder, names_of
from shardsim.documents import Document, nearest, path_of, read_document
from shardsim.errors import ScenarioError
from shardsim.scenario.form import FileForm, ScenarioForm, StrategyForm
from shardsim.scenario.loading import Scenario, scenario_of
from shardsim.scenario.machine import option_marks
from shardsim.scenario.merging import with_extents
from shardsim.scenario.strategies import Comparison, comparison_of, one_strategy, strategy_names

__all__ = ["is_shipped", "load_comparison", "load_scenario"]


def load_scenario(
    path: str | os.PathLike[str], strategy: str | None = None, **changes: str
) -> Scenario:
    """Reads a scenario file; a topology file that it names may stand beside it.

    The scenarios that come with the package are found by name, with or without `.yaml`, where no
    file of that name is there.

    Args:
        path: The file.
        strategy: Which of its strategies, in a file that has some.
        changes: Texts as on the command line that stand in for what the file says: `policy`,
            `overlap`, `dims`, `mesh`, `topology`, ...; also for what the strategy says.

    Raises:
        InputError: one thing is wrong with it.
        InputErrors: several things are.
    """
    document, file = _opened(path)
    if strategy is not None:
        if not document.has("strategies"):
            why = f"{path} has no strategies, and strategy {strategy!r} is asked for"
            raise ScenarioError(why, f"leave --strategy out: shardsim run {path}")
        document, default = one_strategy(document, strategy, file.stem)
        form: type[ScenarioForm] = StrategyForm
    elif "strategies" in document.data:
        names = ", ".join(strategy_names(document))
        raise ScenarioError(
            f"{path} has several strategies" + (f": {names}" if names else ""),
            f"to run them side by side: shardsim compare {path}; to run or plan one of them, add "
            "--strategy NAME",
            document.key_place("strategies"),
        )
    else:
        default, form = file.stem, FileForm
    return scenario_of(_changed(document, changes), default, file.parent, form)


def load_comparison(
    path: str | os.PathLike[str],
    extents: Mapping[str, int] | None = None,
    /,
    **changes: str,
) -> Comparison:
    """Reads a scenario file with `strategies`, found as by `load_scenario`.

    Args:
        path: The file.
        extents: Of dimensions, in all strategies, whatever the file or a strategy says.
        changes: Texts as on the command line that stand in for what the base of the file says; a
            key that a strategy sets itself stays.

    Raises:
        InputError: one thing is wrong with it.
        InputErrors: several things are, in whichever strategies.

    >>> [strategy.name for strategy in load_comparison("compare-sharded-contraction").strategies]
    ['reduce the products', 'scatter the products', 'gather both']
    """
    document, file = _opened(path)
    if "strategies" not in document.data:
        raise ScenarioError(
            f"{path} has no strategies to compare",
            f"to run it: shardsim run {path}; or give it some: strategies: "
            "{one: {program: ...}, other: {program: ...}}",
        )
    changed = with_extents(_changed(document, changes), extents or {})
    return comparison_of(changed, file.stem, file.parent, frozenset(changes))


def is_shipped(text: str) -> bool:
    """Whether a scenario of that name comes with the package.

    >>> is_shipped("3-all-reduce"), is_shipped("A")
    (True, False)
    """
    name = Path(text).name.removesuffix(".yaml")
    return any(file.stem == name for file in data_folder("scenarios").glob("*.yaml"))


def _opened(path: str | os.PathLike[str]) -> tuple[Document, Path]:
    """What a file says, and which file it is."""
    file = _shipped_or(path_of(path, "a scenario"))
    document = read_document(file)
    _refuse_topology(document, path)
    return document, file


def _changed(document: Document, changes: dict[str, str]) -> Document:
    """The document with texts of the command line instead of what it says under their keys."""
    kept = {at: mark for at, mark in document.marks.items() if not at or at[0] not in changes}
    return Document({**document.data, **changes}, {**kept, **option_marks(changes)})


def _shipped_or(path: Path) -> Path:
    """The file itself, or the shipped scenario of that name where there is no such file."""
    if path.parent not in (Path(), Path("scenarios")) or os.path.lexists(path):
        return path
    shipped = {file.stem: file for file in sorted(data_folder("scenarios").glob("*.yaml"))}
    name = path.name.removesuffix(".yaml")
    if name in shipped:
        return shipped[name]
    if name in names_of("topologies") or re.fullmatch(r"[\w*-]+:[\dx]+", name):
        raise ScenarioError(f"{path} is a topology, not a scenario", _to_name_it(path))
    raise ScenarioError(
        f"there is no file {path}; shipped: {', '.join(shipped)}",
        nearest(name, shipped) or "give the path of a YAML file, or the name of a shipped scenario",
    )


def _refuse_topology(document: Document, path: str | os.PathLike[str]) -> None:
    """Says so when a file is a topology, instead of naming all that is no key of a scenario."""
    data = document.data
    key = next((key for key in ("dimensions", "chip") if key in data), None)
    if key is not None and {"program", "topology", "dims", "strategies"}.isdisjoint(data):
        why = f"{path} is a topology, not a scenario"
        raise ScenarioError(why, _to_name_it(path), document.key_place(key))


def _to_name_it(path: str | os.PathLike[str]) -> str:
    naming = f"beside a line of notation, name it with --topology {path}"
    return f"{naming}; to see it: shardsim show {path}"
