"""The chips: a data file each, read when it is asked for."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import replace
from typing import Generic, TypeVar

from shardsim.catalogue.curves import CollectivesForm, read_curves
from shardsim.catalogue.fields import Flag
from shardsim.catalogue.generations import Generation, WrapRule
from shardsim.catalogue.nodes import Node
from shardsim.catalogue.shipped import data_folder
from shardsim.documents import Document, Record, nearest, read_document, validate
from shardsim.documents.fields import Count, DtypeWord, Latency, Peak, Rate, Size
from shardsim.errors import InputError, NotYetError, Place, TopologyError
from shardsim.hardware import Calibration, Chip, Link

__all__ = ["chip_names", "chips", "chips_like", "generation_of", "gpu_names"]

OTHER_GPUS = ("v100", "h20", "h800", "b300", "gh200", "gb300", "mi250x", "mi300x", "mi325x")
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


class LinkFigures(Record):
    """One port, one way, and the time from chip to chip."""

    bandwidth: Figure[Rate]
    latency: Figure[Latency]


class NodeFigures(LinkFigures):
    """A node of GPUs: each GPU's port at the switch, and its NIC to other nodes."""

    gpus: Count
    reduces: Flag = False
    nic: LinkFigures


class Named(Record):
    """What every file in `topologies/chips` has."""

    name: str
    title: str
    aliases: tuple[str, ...] = ()


class ChipFigures(Named):
    """The figures of one chip."""

    flops_per_second: dict[DtypeWord, Figure[Peak]]
    hbm_bandwidth: Figure[Rate]
    hbm_capacity: Figure[Size]


class TpuFile(ChipFigures):
    """A TPU; `dcn` is a chip's share of the network between slices."""

    network: Network
    dcn: LinkFigures | None = None


class GpuFile(ChipFigures):
    """A GPU."""

    node: NodeFigures


class MeasuredFile(Named):
    """The GPU `of` once more, with what was measured of its collectives."""

    of: str
    collectives: CollectivesForm


ChipFile = TpuFile | GpuFile | MeasuredFile


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

    >>> gpu_names()
    ['a100', 'a100-measured', 'h100', 'h100-measured', 'b200', 'gb200', 'h200']
    """
    return [name for name in chip_names() if isinstance(_made(name), Node)]


@functools.lru_cache(maxsize=1)
def chips() -> dict[str, Generation | Node]:
    """All chips by name.

    >>> chips()["v5e"].rule, chips()["h100"].gpus
    (<WrapRule.LENGTH_16: 'length_16'>, 8)
    """
    return {name: _made(name) for name in chip_names()}


def generation_of(word: str, place: Place | None = None) -> Generation | Node:
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
        if name in (alias.lower() for alias in _chip_file(known).aliases):
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
    aliases = [alias for chip in chip_names() for alias in _chip_file(chip).aliases]
    return TopologyError(
        f"there is no chip {word!r}; the catalogue has {', '.join(chip_names())}",
        (alike and f"did you mean {' or '.join(alike)}?")
        or nearest(name, chip_names())
        or nearest(name, aliases)
        or "choose one of these, or describe a chip of your own in a YAML file",
        place,
    )


@functools.cache
def _document(name: str) -> Document:
    return read_document(data_folder("topologies") / "chips" / f"{name}.yaml")


@functools.cache
def _chip_file(name: str) -> ChipFile:
    document, what = _document(name), f"chip {name}"
    if "of" in document.data:
        return validate(document, MeasuredFile, what)
    if "node" in document.data:
        return validate(document, GpuFile, what)
    return validate(document, TpuFile, what)


@functools.cache
def _made(name: str) -> Generation | Node:
    form = _chip_file(name)
    if isinstance(form, TpuFile):
        return _generation(form)
    if isinstance(form, GpuFile):
        return _node(form)
    of = _made(form.of)
    assert isinstance(of, Node)
    return replace(
        of,
        chip=replace(of.chip, name=form.name, title=form.title),
        calibration=read_curves(form.collectives, _document(name), Calibration()),
        of=form.of,
    )


def _generation(form: TpuFile) -> Generation:
    network = form.network
    assert network.pod is None or math.prod(network.pod) == network.pod_chips
    return Generation(
        chip=_chip(form),
        rank=network.dimensions,
        pod=network.pod,
        pod_chips=network.pod_chips,
        rule=network.wraparound,
        link=Link(network.link_bandwidth.value, network.hop_latency.value),
        dcn=None if form.dcn is None else _link(form.dcn),
    )


def _node(form: GpuFile) -> Node:
    node = form.node
    return Node(
        chip=_chip(form),
        gpus=node.gpus,
        link=_link(node),
        reduces=node.reduces,
        nic=_link(node.nic),
    )


def _link(figures: LinkFigures) -> Link:
    return Link(figures.bandwidth.value, figures.latency.value)


def _chip(form: ChipFigures) -> Chip:
    return Chip(
        name=form.name,
        title=form.title,
        peaks=tuple((dtype, peak.value) for dtype, peak in form.flops_per_second.items()),
        hbm_bandwidth=form.hbm_bandwidth.value,
        hbm_capacity=form.hbm_capacity.value,
    )
