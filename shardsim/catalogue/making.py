"""From the files of chips to chips, generations of TPU and nodes of GPUs.

What is derived: VMEM's bandwidth from that of HBM, a chip's share of its host's network, a GPU's
port from its links.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.catalogue.forms import GpuFile, TpuFile
from shardsim.catalogue.generations import Generation
from shardsim.catalogue.nodes import Node
from shardsim.hardware import Channel, Chip, Link, VectorUnit
from shardsim.vocabulary import ChannelKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.catalogue.forms import ChipFigures, LinkFigures

__all__ = ["Alone", "Made", "generation", "network_channels", "node", "one_kind"]

ONE_AXIS = "one axis, both ways"
ONE_WAY = "one way"
SHARE = "a chip's share"


@dataclass(frozen=True, slots=True)
class Alone:
    """A chip without figures of how several are joined."""

    chip: Chip


Made = Generation | Node | Alone


def one_kind(form: TpuFile | GpuFile) -> Made:
    """What the file of a chip describes."""
    if isinstance(form, TpuFile):
        return generation(form)
    return Alone(_chip(form, _gpu_channels(form))) if form.node is None else node(form)


def generation(form: TpuFile) -> Generation:
    """The generation of TPU of a file."""
    network = form.network
    assert network.pod is None or math.prod(network.pod) == network.pod_chips
    return Generation(
        chip=_chip(form, _tpu_channels(form)),
        rank=network.dimensions,
        pod=network.pod,
        pod_chips=network.pod_chips,
        rule=network.wraparound,
        link=Link(network.link_bandwidth.value, network.hop_latency.value),
        dcn=_dcn(form),
    )


def node(form: GpuFile) -> Node:
    """The node of GPUs of a file."""
    assert form.node is not None
    figures = form.node
    port = figures.nvlink.links.value * figures.nvlink.bandwidth.value
    return Node(
        chip=_chip(form, _gpu_channels(form)),
        gpus=figures.gpus,
        link=Link(port, figures.latency.value),
        reduces=figures.reduces,
        nic=_link(figures.nic),
    )


def network_channels(chip: Chip, links: dict[ChannelKind, Link]) -> Chip:
    """A chip whose channels to others are such links."""
    kept = [one for one in chip.channels if one.kind not in links]
    new = [_network(kind, link) for kind, link in links.items()]
    return replace(chip, channels=(*kept, *new))


def _network(kind: ChannelKind, link: Link) -> Channel:
    if kind is ChannelKind.ICI:
        return Channel(kind=kind, bandwidth=link.bidirectional_bandwidth, note=ONE_AXIS)
    note = SHARE if kind is ChannelKind.DCN else ONE_WAY
    return Channel(kind=kind, bandwidth=link.one_way_bandwidth, note=note)


def _tpu_channels(form: TpuFile) -> Iterator[Channel]:
    if form.vmem is not None:
        cores = 1 if form.cores is None else form.cores.value
        yield Channel(
            kind=ChannelKind.VMEM,
            bandwidth=form.vmem.times_hbm.value * form.hbm_bandwidth.value,
            capacity=form.vmem.capacity_per_core.value * cores,
        )
    network = form.network
    link = Link(network.link_bandwidth.value, network.hop_latency.value)
    yield _network(ChannelKind.ICI, link)
    yield from _pcie(form)
    dcn = _dcn(form)
    if dcn is not None:
        yield _network(ChannelKind.DCN, dcn)


def _gpu_channels(form: GpuFile) -> Iterator[Channel]:
    if form.l2 is not None and form.l2.bandwidth is not None:
        yield Channel(
            kind=ChannelKind.L2,
            bandwidth=form.l2.bandwidth.value,
            capacity=form.l2.capacity.value,
        )
    yield from _pcie(form)
    if form.node is not None:
        nvlink = form.node.nvlink
        port = nvlink.links.value * nvlink.bandwidth.value
        yield _network(ChannelKind.NVLINK, Link(port, form.node.latency.value))
        yield _network(ChannelKind.INFINIBAND, _link(form.node.nic))


def _pcie(form: ChipFigures) -> Iterator[Channel]:
    if form.pcie_bandwidth is not None:
        yield Channel(kind=ChannelKind.PCIE, bandwidth=form.pcie_bandwidth.value, note="each way")


def _dcn(form: TpuFile) -> Link | None:
    """A chip's share of the network of its host."""
    if form.dcn is None:
        return None
    assert form.host is not None
    link = _link(form.dcn)
    return Link(Fraction(link.one_way_bandwidth, math.prod(form.host.shape.value)), link.latency)


def _link(figures: LinkFigures) -> Link:
    return Link(figures.bandwidth.value, figures.latency.value)


def _chip(form: ChipFigures, channels: Iterator[Channel]) -> Chip:
    vector = None
    if form.cores is not None and form.vector_unit is not None and form.clock is not None:
        vector = VectorUnit(
            cores=form.cores.value, per_core=form.vector_unit.value, clock=form.clock.value
        )
    matrix = None
    if form.matrix_unit is not None:
        rows, columns = form.matrix_unit.value
        matrix = (rows, columns)
    return Chip(
        name=form.name,
        title=form.title,
        peaks=tuple((dtype, peak.value) for dtype, peak in form.flops_per_second.items()),
        hbm_bandwidth=form.hbm_bandwidth.value,
        hbm_capacity=form.hbm_capacity.value,
        channels=tuple(channels),
        vector_unit=vector,
        matrix_unit=matrix,
        price=None if form.price is None else form.price.value,
        cores=None if form.cores is None else form.cores.value,
        like=form.name,
    )
