"""Coordinates of chips: `0,1`, or a list of numbers; several of them in the order of a mesh."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from shardsim.documents import Faults, described
from shardsim.errors import ScenarioError

if TYPE_CHECKING:
    from shardsim.documents import Document
    from shardsim.errors import Place
    from shardsim.topology import Coordinate, Topology

__all__ = ["coordinate_of", "read_devices"]

_CHIP = re.compile(r"[(\[][^)\]]*[)\]]|[^\s;,()\[\]][^\s;()\[\]]*")
"""One chip in a text: in brackets, or without blanks."""


def coordinate_of(value: Any, topology: Topology, place: Place | None = None) -> Coordinate:
    """The coordinates that a text (`0,1`, `(0, 1)`), a list or a number says.

    Raises:
        ScenarioError: they are no coordinates of this topology.

    >>> from shardsim.catalogue import find_topology
    >>> coordinate_of("(0, 1)", find_topology("v5e:4x4"))
    (0, 1)
    """
    rank = len(topology.shape)
    parts = value if isinstance(value, list) else str(value).strip("()[], ").split(",")
    words = [str(part).strip() for part in parts]
    numbers = [int(word) for word in words if re.fullmatch(r"\d{1,9}", word)]
    example = ",".join(map(str, range(rank)))
    if len(numbers) != len(words):
        raise ScenarioError(
            f"{described(value)} are no coordinates of a chip",
            f"write {'numbers' if rank > 1 else 'a number'} such as {example}",
            place,
        )
    shape = "x".join(map(str, topology.shape))
    shown = ",".join(words)
    if len(numbers) != rank:
        raise ScenarioError(
            f"a chip of {topology.name} ({shape}) has {rank} coordinate{'s' * (rank > 1)}, "
            f"and {shown} has {len(numbers)}",
            f"write it as {example}",
            place,
        )
    chip = tuple(numbers)
    if chip in topology.missing or any(
        at >= size for at, size in zip(chip, topology.shape, strict=True)
    ):
        raise ScenarioError(
            f"{topology.name} ({shape}) has no chip {shown}",
            f"{shown} is missing there"
            if chip in topology.missing
            else f"the last is {','.join(str(size - 1) for size in topology.shape)}",
            place,
        )
    return chip


def read_devices(document: Document, topology: Topology) -> list[Coordinate]:
    """The chips under `devices`: a list of coordinates, or "0,0 0,1 1,1 1,0".

    Raises:
        InputError: one entry is no chip.
        InputErrors: several are not.
    """
    faults = Faults()
    data = document.at("devices").data
    made = []
    if isinstance(data, str):
        source = document.source("devices")
        for found in _CHIP.finditer(data):
            place = None if source is None else source.place(*found.span())
            made.append(faults.attempt(partial(coordinate_of, found[0], topology, place)))
    else:
        for index, value in enumerate(data):
            place = document.place("devices", index)
            made.append(faults.attempt(partial(coordinate_of, value, topology, place)))
    faults.raise_any()
    return [chip for chip in made if chip is not None]
