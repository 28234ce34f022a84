"""The chips: a data file each, read when it is asked for."""

from __future__ import annotations

import functools
import math
import re
from typing import Generic, TypeVar

from shardsim.catalogue.shipped import data_folder
from shardsim.documents import Record, nearest, read_document, validate
from shardsim.documents.fields import Count, DtypeWord, Latency, Peak, Rate, Size
from shardsim.errors import InputError, NotYetError, Place, TopologyError
from shardsim.hardware import Chip, Link
from shardsim.topology import Generation, WrapRule

__all__ = ["chip_names", "chips", "chips_like", "generation_of"]

GPUS = ("v100", "a100", "h100", "h200", "h800", "b200", "b300", "gh200", "gb200", "gb300", "mi300x")
_Value = TypeVar("_Value")


class Alternative(Record, Generic[_Value]):
    """Another published value of a quantity."""

    value: _Value
    source: str


class Figure(Record, Generic[_Value]):
    """A published figure, with its source and what others say."""

    value: _Value
    source: str
    alternatives: tuple[Alternative[_Value], ...] = ()


class Network(Record):
    """How the chips are connected; `pod` is absent where slices of many shapes are joined."""

    dimensions: Count
    pod: tuple[Count, ...] | None = None
    pod_chips: Count
    wraparound: WrapRule
    link_bandwidth: Figure[Rate]
    hop_latency: Figure[Latency]


class ChipFile(Record):
    """The form of a file in `topologies/chips`."""

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    flops_per_second: dict[DtypeWord, Figure[Peak]]
    hbm_bandwidth: Figure[Rate]
    hbm_capacity: Figure[Size]
    network: Network


def chip_names() -> list[str]:
    """The names of all chips, from the oldest generation on: v2, ..., v5e, v5p, v6e, 7x."""
    names = [path.stem for path in (data_folder("topologies") / "chips").glob("*.yaml")]
    return sorted(names, key=lambda name: (int("".join(filter(str.isdigit, name))), name))


def chips_like(word: str) -> list[str]:
    """The chips whose names start with a word that is no chip: v5e and v5p for `v5`.

    >>> chips_like("v5")
    ['v5e', 'v5p']
    """
    begins = word.strip().lower()
    is_number = any(map(str.isdigit, begins))
    return [name for name in chip_names() if is_number and name.startswith(begins)]


@functools.lru_cache(maxsize=1)
def chips() -> dict[str, Generation]:
    """All chips by name.

    >>> chips()["v5e"].rule
    <WrapRule.LENGTH_16: 'length_16'>
    """
    return {name: _generation(name) for name in chip_names()}


def generation_of(word: str, place: Place | None = None) -> Generation:
    """The chip of a name or an alias, in capitals or not.

    Raises:
        NotYetError: a GPU.
        TopologyError: no chip has that name.

    >>> generation_of("Ironwood").chip.name
    '7x'
    """
    name = word.strip().lower()
    if name in chip_names():
        return _generation(name)
    for known in chip_names():
        if name in (alias.lower() for alias in _chip_file(known).aliases):
            return _generation(known)
    raise _no_chip(word, name, place)


def _no_chip(word: str, name: str, place: Place | None) -> InputError:
    known = ", ".join(chip_names())
    if re.split("[_-]", name)[0] in GPUS:
        return NotYetError(
            f"chip {word!r} is a GPU; GPUs are not supported yet",
            f"supported chips: {known}",
            place,
        )
    alike = chips_like(name)
    aliases = [alias for chip in chip_names() for alias in _chip_file(chip).aliases]
    return TopologyError(
        f"there is no chip {word!r}; the catalogue has {known}",
        (alike and f"did you mean {' or '.join(alike)}?")
        or nearest(name, chip_names())
        or nearest(name, aliases)
        or "choose one of these, or describe a chip of your own in a YAML file",
        place,
    )


@functools.cache
def _chip_file(name: str) -> ChipFile:
    path = data_folder("topologies") / "chips" / f"{name}.yaml"
    return validate(read_document(path), ChipFile, f"chip {name}")


@functools.cache
def _generation(name: str) -> Generation:
    form = _chip_file(name)
    network = form.network
    assert network.pod is None or math.prod(network.pod) == network.pod_chips
    return Generation(
        chip=Chip(
            name=form.name,
            title=form.title,
            peaks=tuple((dtype, peak.value) for dtype, peak in form.flops_per_second.items()),
            hbm_bandwidth=form.hbm_bandwidth.value,
            hbm_capacity=form.hbm_capacity.value,
        ),
        rank=network.dimensions,
        pod=network.pod,
        pod_chips=network.pod_chips,
        rule=network.wraparound,
        link=Link(network.link_bandwidth.value, network.hop_latency.value),
    )
