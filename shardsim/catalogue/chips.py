"""The chips: a data file each, read when it is asked for."""

from __future__ import annotations

import functools
import re
from dataclasses import replace

from shardsim.catalogue.curves import read_curves
from shardsim.catalogue.forms import ChipFile, GpuFile, MeasuredFile, TpuFile
from shardsim.catalogue.making import Alone, Made, one_kind
from shardsim.catalogue.nodes import Node
from shardsim.catalogue.shipped import data_folder
from shardsim.documents import Document, nearest, read_document, validate
from shardsim.errors import InputError, NotYetError, Place, TopologyError
from shardsim.hardware import Calibration

__all__ = [
    "alone_error",
    "chip_document",
    "chip_file",
    "chip_names",
    "chips",
    "chips_like",
    "generation_of",
    "gpu_names",
]

OTHER_GPUS = ("h20", "b300", "gh200", "gb300", "mi250x", "mi325x")


def chip_names() -> list[str]:
    """The names of all chips, TPUs first, by the number in the name: v2, ..., 7x, a100, ..."""
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


def gpu_names() -> list[str]:
    """The names of the GPUs.

    >>> gpu_names()[:6]
    ['a100', 'a100-measured', 'h100', 'h100-measured', 'v100', 'b200']
    """
    return [name for name in chip_names() if isinstance(_made(name), Node | Alone)]


@functools.lru_cache(maxsize=1)
def chips() -> dict[str, Made]:
    """All chips by name.

    >>> chips()["v5e"].rule, chips()["h100"].gpus
    (<WrapRule.LENGTH_16: 'length_16'>, 8)
    """
    return {name: _made(name) for name in chip_names()}


def generation_of(word: str, place: Place | None = None) -> Made:
    """The chip of a name or an alias, in capitals or not.

    Raises:
        NotYetError: a GPU without figures in the catalogue.
        TopologyError: no chip has that name.

    >>> generation_of("Ironwood").chip.name
    '7x'
    """
    name = word.strip().lower()
    if name in chip_names():
        return _made(name)
    for known in chip_names():
        if name in (alias.lower() for alias in chip_file(known).aliases):
            return _made(known)
    raise _no_chip(word, name, place)


def _no_chip(word: str, name: str, place: Place | None) -> InputError:
    if re.split("[_-]", name)[0] in OTHER_GPUS:
        gpus = ", ".join(gpu_names())
        return NotYetError(
            f"the catalogue has no figures of the GPU {word!r}; its GPUs are {gpus}",
            "choose one of these, or describe yours in a YAML file, with a dimension of kind "
            "switch",
            place,
        )
    alike = chips_like(name)
    aliases = [alias for chip in chip_names() for alias in chip_file(chip).aliases]
    return TopologyError(
        f"there is no chip {word!r}; the catalogue has {', '.join(chip_names())}",
        (alike and f"did you mean {' or '.join(alike)}?")
        or nearest(name, chip_names())
        or nearest(name, aliases)
        or "choose one of these, or describe a chip of your own in a YAML file",
        place,
    )


def alone_error(made: Alone, way_out: str, place: Place | None = None) -> NotYetError:
    """The error for several chips of a kind that has no figures of how they are joined."""
    name = made.chip.name
    return NotYetError(
        f"the catalogue has no figures of how several {name} are joined", way_out, place
    )


@functools.cache
def chip_document(name: str) -> Document:
    """The file of a chip as it was read."""
    return read_document(data_folder("topologies") / "chips" / f"{name}.yaml")


@functools.cache
def chip_file(name: str) -> ChipFile:
    """The file of a chip, checked."""
    document, what = chip_document(name), f"chip {name}"
    if "of" in document.data:
        return validate(document, MeasuredFile, what)
    if "network" in document.data:
        return validate(document, TpuFile, what)
    return validate(document, GpuFile, what)


@functools.cache
def _made(name: str) -> Made:
    form = chip_file(name)
    if not isinstance(form, MeasuredFile):
        return one_kind(form)
    of = _made(form.of)
    assert isinstance(of, Node)
    return replace(
        of,
        chip=replace(of.chip, name=form.name, title=form.title),
        calibration=read_curves(form.collectives, chip_document(name), Calibration()),
        of=form.of,
    )
