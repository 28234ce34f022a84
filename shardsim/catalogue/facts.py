"""What follows from the figures for a machine as a whole: hosts, FLOP/s, bytes, bytes/s, prices.

A name ends in its unit, or is a count. A fact that no figure is there for is left out.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.catalogue.bisection import bisection, links_together
from shardsim.catalogue.chips import chip_file, chip_names
from shardsim.catalogue.forms import GpuFile, MeasuredFile, TpuFile
from shardsim.vocabulary import ChannelKind, Dtype

if TYPE_CHECKING:
    from shardsim.catalogue.forms import NodeFigures, ScaleOut
    from shardsim.hardware import Chip
    from shardsim.topology import Topology

__all__ = ["facts", "of_scale_out"]

HOUR = 3600
Facts = dict[str, Fraction | int]


def facts(topology: Topology) -> Facts:
    """What follows for a machine; of all of it, apart from names that say per what.

    FLOPs for a dollar are those of bf16, of other types `int8_flops_per_dollar`. Facts of nodes are
    of one full node, `node_bandwidth_*` the less of what its GPUs and its switches carry, each by
    itself where both are known; `spine_*`, `unit_to_spine_*`, `scale_out_gpus` and `switches` of
    all that the catalogue's scale-out joins, whatever the machine uses of it.

    Args:
        topology: The machine; `one_chip("v5e")` for a chip by itself.

    >>> from shardsim.catalogue.references import find_topology
    >>> found = facts(find_topology("v5e:16x16"))
    >>> found["hosts"], float(found["hbm_capacity_bytes"])
    (32, 4096000000000.0)
    """
    found = {**_of_chips(topology.chip, topology.size), **_of_links(topology)}
    form = chip_file(topology.chip.like) if topology.chip.like in chip_names() else None
    if isinstance(form, MeasuredFile):
        form = chip_file(form.of)
    if isinstance(form, TpuFile):
        found |= _of_hosts(form, topology)
    if isinstance(form, GpuFile):
        found |= _of_cores(form, topology)
        if form.node is not None:
            found |= _of_node(topology.chip, form.node, topology.size)
            if form.scale_out is not None:
                found |= of_scale_out(form.node, form.scale_out)
    return found


def _of_chips(chip: Chip, chips: int) -> Facts:
    found: Facts = {"chips": chips}
    if chip.cores is not None:
        found["cores"] = chips * chip.cores
    for dtype, rate in chip.peaks:
        found[f"{dtype.value}_flops_per_second"] = chips * rate
    found["hbm_capacity_bytes"] = chips * chip.hbm_capacity
    found["hbm_bandwidth_bytes_per_second"] = chips * chip.hbm_bandwidth
    unit = chip.vector_unit
    if unit is not None:
        found["vector_alus"] = chips * unit.alus
        found["vector_flops_per_second"] = chips * unit.flops_per_second
        found["vector_flops_per_second_per_core"] = unit.flops_per_second / unit.cores
    for one in chip.channels:
        if one.kind in (ChannelKind.VMEM, ChannelKind.L2) and one.capacity is not None:
            found[f"{one.kind.value}_bytes"] = chips * one.capacity
        if one.kind is ChannelKind.DCN:
            found["dcn_bytes_per_second_per_chip"] = one.bandwidth
    if chip.price is not None:
        found["usd_per_hour"] = chips * chip.price
        for dtype, rate in chip.peaks:
            of = "" if dtype is Dtype.BF16 else f"{dtype.value}_"
            found[f"{of}flops_per_dollar"] = rate * HOUR / chip.price
    return found


def _of_links(topology: Topology) -> Facts:
    halves = bisection(topology)
    if halves is None:
        return {}
    return {
        "bisection_bytes_per_second": halves,
        "links_bytes_per_second": links_together(topology),
    }


def _of_hosts(form: TpuFile, topology: Topology) -> Facts:
    """Hosts are as full as can be."""
    if form.host is None:
        return {}
    chips = math.prod(form.host.shape.value)
    hosts = -(-topology.size // chips)
    found: Facts = {"hosts": hosts, "chips_per_host": chips}
    if form.host.memory is not None:
        found["host_memory_bytes"] = hosts * form.host.memory.value
    return found


def _of_cores(form: GpuFile, topology: Topology) -> Facts:
    """Memories of the cores, and the cache."""
    cores = topology.chip.cores or 0
    found: Facts = {}
    if form.smem_per_core is not None:
        found["smem_bytes"] = topology.size * cores * form.smem_per_core.value
    if form.tmem_per_core is not None:
        found["tmem_bytes"] = topology.size * cores * form.tmem_per_core.value
    if form.l2 is not None and all(
        one.kind is not ChannelKind.L2 for one in topology.chip.channels
    ):
        found["l2_bytes"] = topology.size * form.l2.capacity.value
    return found


def _of_node(chip: Chip, node: NodeFigures, chips: int) -> Facts:
    port = chip.channel(ChannelKind.NVLINK).bandwidth
    nic = chip.channel(ChannelKind.INFINIBAND).bandwidth
    found: Facts = {"nodes": -(-chips // node.gpus), "gpus_per_node": node.gpus}
    of_gpus = node.gpus * port
    of_switches = _of_switches(node)
    if of_switches is not None:
        found["node_gpus_bytes_per_second"] = of_gpus
    found["node_bandwidth_bytes_per_second"] = min(of_gpus, of_switches or of_gpus)
    found["node_egress_bytes_per_second"] = node.gpus * nic
    if of_switches is not None:
        found["node_switches_bytes_per_second"] = of_switches
    return found


def _of_switches(node: NodeFigures) -> Fraction | None:
    """Bytes/s one way through the switches of a node, where their ports are known."""
    switches = node.switches
    if switches is None or switches.ports is None:
        return None
    return switches.count.value * switches.ports.value * node.nvlink.bandwidth.value


def of_scale_out(node: NodeFigures, out: ScaleOut) -> Facts:
    """What follows for the fabric that joins nodes: leaf switches of each unit, spine switches.

    A unit reaches the spine by leafs x spines x cables between each two; the spine has all ports of
    its switches; switches are those inside of nodes, the leafs and the spines. Bytes/s one way.
    Source: "How to Scale Your Model", GPU chapter.
    """
    units, spines = out.units.value, out.spine_switches.value
    nodes = units * out.nodes_per_unit.value
    cable = out.cable_bandwidth.value
    leafs = out.leaf_switches_per_unit.value
    spine = spines * out.ports_per_switch.value * cable
    inside = 0 if node.switches is None else nodes * node.switches.count.value
    return {
        "scale_out_gpus": nodes * node.gpus,
        "gpus_per_unit": out.nodes_per_unit.value * node.gpus,
        "switches": inside + units * leafs + spines,
        "switch_bytes_per_second": out.ports_per_switch.value * cable,
        "unit_to_spine_bytes_per_second": leafs
        * spines
        * out.cables_per_leaf_and_spine.value
        * cable,
        "spine_bytes_per_second": spine,
        "spine_bytes_per_second_per_unit": spine / units,
    }
