"""Strategies run side by side at several extents of one dimension."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from shardsim.comparison.strategies import Compared, run_comparison
from shardsim.documents import Faults
from shardsim.errors import ScenarioError, Source
from shardsim.scenario import load_comparison
from shardsim.units import parse_count

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from shardsim.errors import InputError, Place
    from shardsim.scenario import Comparison

__all__ = ["Asked", "Over", "read_over", "run_over"]

_T = TypeVar("_T")
WAY_OUT = "write a dimension and its extents: --over B=1024,2048,4096"


@dataclass(frozen=True, slots=True)
class Asked:
    """Which dimension, and how long it is in turn; `place` for faults of the name."""

    dim: str
    extents: tuple[int, ...]
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Over:
    """Strategies at several extents of one dimension.

    Attributes:
        dim: The dimension.
        columns: Each extent with what was run.
    """

    dim: str
    columns: tuple[tuple[int, Compared], ...]

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.columns[0][1].name

    @property
    def labels(self) -> tuple[str, ...]:
        """A heading for each column.

        >>> from shardsim.comparison.strategies import Compared
        >>> Over("B", ((1024, Compared("", ())),)).labels
        ('B=1,024',)
        """
        return tuple(f"{self.dim}={extent:,}" for extent, _ in self.columns)

    def to_dict(self) -> dict[str, Any]:
        """`over` in the JSON of `compare --json`."""
        return {
            "dim": self.dim,
            "columns": [
                {
                    "extent": extent,
                    "rows": [
                        {
                            "name": row.name,
                            "simulated_seconds": float(row.seconds),
                            "slowdown": None if factor is None else float(factor),
                            "fits": row.fits,
                        }
                        for row in compared.rows
                        for factor in [compared.slowdown(row)]
                    ],
                    "best": compared.best.name,
                }
                for extent, compared in self.columns
            ],
        }


def read_over(text: str) -> Asked:
    """A dimension and its extents, from a text such as "B=1024,2048".

    Raises:
        InputError: it is no such text.
        InputErrors: several extents are none.

    >>> read_over("B=1024,2048").extents
    (1024, 2048)
    """
    source, faults = Source(text, "--over"), Faults()
    name, equals, rest = text.partition("=")
    if not equals or not name.strip() or not rest.strip(", "):
        found = f"expected NAME=NUMBER,NUMBER,.. for --over, found {text!r}"
        raise ScenarioError(found, WAY_OUT, source.whole)
    start = len(name) + 1
    extents: dict[int, None] = {}
    for part in re.finditer(r"[^,]+", rest):
        place = source.place(start + part.start(), start + part.end())
        read = partial(parse_count, part[0].strip(), f"dimension {name.strip()}", place)
        extent = faults.attempt(read)
        if extent in extents:
            why = f"{name.strip()}={extent} is given twice"
            faults.errors.append(ScenarioError(why, "give it once", place))
        extents[extent or 0] = None
    faults.raise_any()
    blank = len(name) - len(name.lstrip())
    return Asked(name.strip(), tuple(extents), source.place(blank, len(name.rstrip())))


def run_over(
    path: str | os.PathLike[str],
    asked: Asked,
    progress: Callable[[str], None] = lambda _: None,
    **changes: str,
) -> Over:
    """Runs every strategy of a file at each extent, in all of them the same.

    Args:
        path: The file, found as by `load_comparison`.
        asked: The dimension and its extents.
        progress: Is told what is simulated.
        changes: Texts as on the command line that stand in for what the file says.

    Raises:
        InputError: no strategy has the dimension, or one extent cannot be: the message names it.
        InputErrors: several cannot.

    >>> found = run_over("compare-sharded-contraction", read_over("I=1024,4096"))
    >>> [compared.best.name for _, compared in found.columns]
    ['scatter the products', 'scatter the products']
    """
    told = _Told(asked)
    loaded: list[tuple[int, Comparison]] = []
    for extent in asked.extents:
        load = partial(load_comparison, path, {asked.dim: extent}, **changes)
        comparison = told.attempt(extent, load)
        if comparison is not None:
            loaded.append((extent, comparison))
    told.raise_any()
    columns = []
    for extent, comparison in loaded:
        note = partial(_note, progress, f"{asked.dim}={extent:,}: ")
        compared = told.attempt(extent, partial(run_comparison, comparison, note))
        if compared is not None:
            columns.append((extent, compared))
    told.raise_any()
    return Over(asked.dim, tuple(columns))


def _note(progress: Callable[[str], None], start: str, text: str) -> None:
    progress(start + text)


class _Told:
    """Collects faults: one that all extents have is told once, others say at which they are."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self._found: dict[tuple[str, Place | None], tuple[InputError, list[int]]] = {}

    def attempt(self, extent: int, make: Callable[[], _T]) -> _T | None:
        """What `make` returns, or None after keeping what it raised."""
        faults = Faults()
        made = faults.attempt(make)
        for error in faults.errors:
            _, having = self._found.setdefault((error.message, error.place), (error, []))
            having.append(extent)
        return made

    def raise_any(self) -> None:
        """Raises what was kept; nothing where there is nothing."""
        faults = Faults()
        faults.errors += [self._said(error, having) for error, having in self._found.values()]
        faults.raise_any()

    def _said(self, error: InputError, having: list[int]) -> InputError:
        named = rf"dimension {re.escape(self.asked.dim)}\b.*\b{having[0]}\b"
        if re.search(named, error.message) or len(set(having)) == len(self.asked.extents):
            place = error.place or (self.asked.place if self._unknown(error) else None)
            return error.at(place)
        where = ", ".join(f"{self.asked.dim}={extent}" for extent in dict.fromkeys(having))
        return type(error)(f"at {where}: {error.message}", error.hint, error.place)

    def _unknown(self, error: InputError) -> bool:
        return f"dimension {self.asked.dim}" in error.message
