"""GPU nodes: so many GPUs behind a switch, and a NIC for each where there are several nodes.

`h100:8` is one node; `h100:4x8` are 4 nodes of 8, which is two dimensions: `node`, over the NICs,
and `gpu`, over the switch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shardsim.errors import TopologyError
from shardsim.hardware import Calibration, Chip, Link
from shardsim.topology import Dimension, Topology
from shardsim.units import format_rate
from shardsim.vocabulary import ChannelKind, DimensionKind

__all__ = ["MOST_CHIPS", "Node", "in_nodes", "node_topology", "switch"]

MOST_CHIPS = 1_000_000
MOST_SIZES = 2
NOT_MEASURED = Calibration()


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A kind of GPU, and the nodes that it comes in.

    Attributes:
        chip: The GPU.
        gpus: GPUs of a full node.
        link: A GPU's port at the switch of its node, one way.
        reduces: Whether that switch can add.
        nic: A GPU's own NIC to other nodes, one way.
        calibration: What was measured of collectives in one node, if anything.
        of: The name of the same GPU without measurements.
    """

    chip: Chip
    gpus: int
    link: Link
    reduces: bool
    nic: Link
    calibration: Calibration = NOT_MEASURED
    of: str = ""


def node_topology(node: Node, shape: tuple[int, ...]) -> Topology:
    """The GPUs `CHIP:GPUS` of one node, or `CHIP:NODESxGPUS` of several.

    Raises:
        TopologyError: more GPUs than a node has, more sizes than two, too many chips; or several
            nodes where the measurements are of one.
    """
    chip = node.chip.name
    name = f"{chip}:{'x'.join(map(str, shape))}"
    if len(shape) > MOST_SIZES:
        raise TopologyError(
            f"{name} has {len(shape)} sizes; GPUs have two: nodes, and GPUs of each node",
            f"write {chip}:{in_nodes(math.prod(shape), node)}",
        )
    if shape[-1] > node.gpus:
        raise TopologyError(
            f"a node of {chip} has {node.gpus} GPUs; {name} asks for {shape[-1]:,} in one",
            f"put the number of nodes first: {chip}:{in_nodes(math.prod(shape), node)}",
        )
    if math.prod(shape) > MOST_CHIPS:
        why = f"{name} has {math.prod(shape):,} GPUs; {MOST_CHIPS:,} are the most"
        raise TopologyError(why, "give a smaller number of nodes")
    if node.calibration.curves and len(shape) > 1:
        raise TopologyError(
            f"{chip} was measured in one node; {name} has nodes and the NICs between them",
            f"write {chip}:{node.gpus} for one node, or {node.of}:{'x'.join(map(str, shape))} by "
            "the datasheet",
        )
    *nodes, gpus = shape
    of = "" if gpus == node.gpus else f"of a node of {node.gpus} "
    why = f"{gpus} GPUs {of}behind an NVLink switch"
    inside = switch("gpu", gpus, node.link, why, ChannelKind.NVLINK, reduces=node.reduces)
    outside = [
        switch("node", count, node.nic, _nics(node, count, gpus), ChannelKind.INFINIBAND)
        for count in nodes
    ]
    return Topology(
        name=name,
        chip=node.chip,
        dimensions=(*outside, inside),
        calibration=node.calibration,
    )


def switch(
    name: str, size: int, link: Link, why: str, channel: ChannelKind, *, reduces: bool = False
) -> Dimension:
    """A dimension through a switch; with one chip it has no link.

    Args:
        name: Of the dimension.
        size: How many are joined.
        link: One port, one way.
        why: The reason, for people.
        channel: What its links are called.
        reduces: Whether the switch can add.
    """
    if size == 1:
        alone = f"1 {name}: no link"
        kind = DimensionKind.LINE
        return Dimension(name=name, size=1, kind=kind, link=link, reason=alone, channel=channel)
    return Dimension(
        name=name,
        size=size,
        kind=DimensionKind.SWITCH,
        link=link,
        reason=why,
        reduces=reduces,
        channel=channel,
    )


def in_nodes(gpus: int, node: Node) -> str:
    """So many GPUs as nodes of equal size, each as full as can be: `2x8` for 16."""
    most = min(gpus, node.gpus)
    size = next(size for size in range(most, 0, -1) if gpus % size == 0)
    return f"{gpus // size}x{size}"


def _nics(node: Node, nodes: int, gpus: int) -> str:
    rate, all_rate = (format_rate(node.nic.one_way_bandwidth * count) for count in (1, gpus))
    return f"{nodes} nodes: each GPU has a NIC of its own, {gpus} x {rate} = {all_rate} a node"
