"""The forms of the files in `topologies/chips`: every figure with its source."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Generic, TypeVar

from pydantic import Field, PlainValidator

from shardsim.catalogue.curves import CollectivesForm
from shardsim.catalogue.fields import Flag
from shardsim.catalogue.generations import WrapRule
from shardsim.documents import Record, described
from shardsim.documents.fields import (
    Clock,
    Count,
    Counts,
    DtypeWord,
    Latency,
    Peak,
    Price,
    Rate,
    Size,
)
from shardsim.errors import ScenarioError
from shardsim.units import UNITS, exact, parse_quantity

__all__ = [
    "ChipFigures",
    "ChipFile",
    "Figure",
    "GpuFile",
    "HostFigures",
    "LinkFigures",
    "MeasuredFile",
    "NodeFigures",
    "ScaleOut",
    "TpuFile",
    "stated_value",
]

Stated = Fraction | tuple[Fraction, ...]
_NUMBER = re.compile(r"[\d.]+(?:e[+-]?\d+)?")
_Value = TypeVar("_Value")


def stated_value(value: object) -> tuple[Stated, str]:
    """A number with any unit or none, or a list of such, and the unit: a key of `UNITS`, or "".

    Raises:
        ScenarioError: it is no number, or its unit is none that is known.

    >>> stated_value("1.6 TB/s"), stated_value(["0.80", "0.85"])
    ((Fraction(1600000000000, 1), 'bytes/s'), ((Fraction(4, 5), Fraction(17, 20)), ''))
    """
    if isinstance(value, list | tuple):
        pairs = [_one_stated(each) for each in value]
        return tuple(number for number, _ in pairs), pairs[0][1] if pairs else ""
    return _one_stated(value)


def _one_stated(value: object) -> tuple[Fraction, str]:
    text = str(value).strip()
    found = _NUMBER.match(text)
    if found is None:
        raise ScenarioError(f"{described(value)} is no number", "write a number, or one and a unit")
    suffix = text[found.end() :].strip()
    if not suffix:
        return exact(text), ""
    for unit, known in UNITS.items():
        if suffix in known:
            return parse_quantity(text, unit), unit
    raise ScenarioError(f"{suffix!r} is no unit", "write one such as GB/s, TFLOP/s, GHz or GiB")


class Alternative(Record, Generic[_Value]):
    """Another published value of a quantity."""

    value: _Value
    source: str


class Figure(Record, Generic[_Value]):
    """A published figure, with its source and what others say."""

    value: _Value
    source: str
    alternatives: tuple[Alternative[_Value], ...] = ()


StatedFigure = Figure[Annotated[Stated, PlainValidator(lambda value: stated_value(value)[0])]]


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


class HostFigures(Record):
    """The machine that so many TPUs are plugged into."""

    shape: Figure[Counts]
    memory: Figure[Size] | None = None


class NvlinkFigures(Record):
    """The links of one GPU to the switches of its node; `bandwidth` is of one, one way."""

    links: Figure[Count]
    bandwidth: Figure[Rate]


class SwitchFigures(Record):
    """The switches of a node; each port takes one NVLink."""

    count: Figure[Count]
    ports: Figure[Count] | None = None


class NodeFigures(Record):
    """A node of GPUs: each GPU's links to the switches, and its NIC to other nodes."""

    gpus: Count
    nvlink: NvlinkFigures
    switches: SwitchFigures | None = None
    latency: Figure[Latency]
    reduces: Flag = False
    nic: LinkFigures


class ScaleOut(Record):
    """How nodes are joined: leaf switches in units, spine switches between units."""

    nodes_per_unit: Figure[Count]
    units: Figure[Count]
    leaf_switches_per_unit: Figure[Count]
    spine_switches: Figure[Count]
    cables_per_leaf_and_spine: Figure[Count]
    cable_bandwidth: Figure[Rate]
    ports_per_switch: Figure[Count]


class VmemFigures(Record):
    """The memory on a TPU; its bandwidth is given as so many times that of HBM."""

    capacity_per_core: Figure[Size]
    times_hbm: Figure[Count]


class CacheFigures(Record):
    """The cache that all of a GPU shares."""

    capacity: Figure[Size]
    bandwidth: Figure[Rate] | None = None


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
    cores: Figure[Count] | None = None
    clock: Figure[Clock] | None = None
    vector_unit: Figure[Counts] | None = None
    matrix_unit: Figure[Counts] | None = None
    matrix_units_per_core: Figure[Count] | None = None
    vector_registers_per_core: Figure[Count] | None = None
    tensor_cores_per_core: Figure[Count] | None = None
    tensor_core_flops_per_cycle: Figure[Count] | None = None
    smem_per_core: Figure[Size] | None = None
    tmem_per_core: Figure[Size] | None = None
    pcie_bandwidth: Figure[Rate] | None = None
    price: Figure[Price] | None = None
    stated: dict[str, StatedFigure] = Field(default_factory=dict)


class TpuFile(ChipFigures):
    """A TPU; `dcn` is a host's part of the network between slices, which its chips share."""

    vmem: VmemFigures | None = None
    cmem: Figure[Size] | None = None
    host: HostFigures | None = None
    network: Network
    dcn: LinkFigures | None = None


class GpuFile(ChipFigures):
    """A GPU; without `node` it stands alone."""

    l2: CacheFigures | None = None
    node: NodeFigures | None = None
    scale_out: ScaleOut | None = None


class MeasuredFile(Named):
    """The GPU `of` once more, with what was measured of its collectives."""

    of: str
    collectives: CollectivesForm


ChipFile = TpuFile | GpuFile | MeasuredFile
