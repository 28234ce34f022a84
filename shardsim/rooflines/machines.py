"""The machine of a roofline: a chip or a slice, some of its figures replaced."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shardsim.catalogue import one_chip
from shardsim.documents import described
from shardsim.errors import Place, ScenarioError, Source
from shardsim.notation.names import dtype_named

if TYPE_CHECKING:
    from shardsim.catalogue import Reference
    from shardsim.topology import Topology

    Figures = Mapping[str, Any] | str | Sequence[str]

__all__ = ["machine_of", "place_in"]

OF_LINKS = ("bandwidth", "latency")


def machine_of(on: Reference, figures: Figures | None = None) -> Topology:
    """The machine of a reference.

    Args:
        on: A chip (`v5e`), a slice, a topology file or the same as a mapping.
        figures: Figures that stand in for those of the catalogue: `hbm_bandwidth=810 GB/s`,
            `bf16=1000 TFLOP/s`, and of the links `bandwidth=50 GB/s`, `latency=0`; others are those
            of a chip in a topology file.

    Raises:
        InputError: there is no such machine, or a figure is wrong.
        InputErrors: several figures are.

    >>> float(machine_of("v5e", "hbm_bandwidth=810 GB/s").chip.hbm_bandwidth)
    810000000000.0
    """
    if figures is None or figures in ({}, []):
        return one_chip(on, Source(on, "--on") if isinstance(on, str) else None)
    if not isinstance(on, str | os.PathLike):
        raise ScenarioError(
            "figures are for a chip or a slice by its name",
            "write them into the mapping: like: v5e:4x4, chip: {hbm_bandwidth: 810 GB/s}",
        )
    one_chip(on, Source(on, "--on") if isinstance(on, str) else None)  # its own faults first
    changed = ", ".join(f"{name}={value}" for name, value in _pairs(figures))
    made: dict[str, Any] = {"like": os.fspath(on), "name": f"{os.fspath(on)} with {changed}"}
    chip: dict[str, Any] = {}
    for name, value in _pairs(figures):
        dtype = dtype_named(name)
        if dtype is not None:
            chip.setdefault("flops_per_second", {})[dtype.value] = value
        else:
            (made if name in OF_LINKS else chip)[name] = value
    return one_chip({**made, "chip": chip} if chip else made)


def _pairs(figures: Figures) -> list[tuple[str, Any]]:
    if isinstance(figures, Mapping):
        return [(str(name), value) for name, value in figures.items()]
    texts = [figures] if isinstance(figures, str) else figures
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        why = f"figures must be a mapping, or texts NAME=VALUE; they are {described(figures)}"
        raise ScenarioError(why, "write {hbm_bandwidth: 810 GB/s}")
    found: dict[str, str] = {}
    for text in texts:
        for part in text.split(","):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not (name and equals and value):
                raise ScenarioError(
                    f"expected NAME=VALUE for figures, found {part.strip()!r}",
                    "write hbm_bandwidth=810 GB/s, with a comma between two",
                    place_in(text, "--figures"),
                )
            if name in found:
                why = f"{name} is given twice in figures"
                raise ScenarioError(why, "give it once", place_in(text, "--figures"))
            found[name] = value
    return list(found.items())


def place_in(value: object, option: str) -> Place | None:
    """Where a value stands: the whole of an option's text; nowhere for a value from Python."""
    return Source(value, option).whole if isinstance(value, str) else None
