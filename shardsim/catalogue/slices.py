"""Several slices of TPUs, joined by the network of the data center: `4*v5e:16x16`."""

from __future__ import annotations

from shardsim.catalogue.generations import Generation, slice_topology
from shardsim.catalogue.nodes import MOST_CHIPS, switch
from shardsim.errors import TopologyError
from shardsim.topology import Topology
from shardsim.units import format_rate
from shardsim.vocabulary import ChannelKind

__all__ = ["slices_topology"]


def slices_topology(
    generation: Generation, count: int, shape: tuple[int, ...], known: list[str]
) -> Topology:
    """So many slices of one shape: a dimension `slice` over the network, then those of a slice.

    Args:
        generation: The chip.
        count: The number of slices.
        shape: Of one slice; whether its dimensions wrap follows from it alone.
        known: The chips whose network between slices has a figure.

    Raises:
        TopologyError: the slice does not exist, the network has no figure, or the chips are too
            many.
    """
    one = slice_topology(generation, shape)
    name = f"{count}*{one.name}"
    if generation.dcn is None:
        raise TopologyError(
            f"the catalogue has no figure for the network between slices of {generation.chip.name};"
            f" it has one for {', '.join(known)}",
            "describe the slices in a YAML file, with a first dimension of kind switch",
        )
    if count * one.size > MOST_CHIPS:
        why = f"{name} has {count * one.size:,} chips; {MOST_CHIPS:,} are the most"
        raise TopologyError(why, "give fewer slices")
    rate = format_rate(generation.dcn.one_way_bandwidth)
    why = f"{count} slices over the data-center network: {rate} a chip"
    return Topology(
        name=name,
        chip=one.chip,
        dimensions=(switch("slice", count, generation.dcn, why, ChannelKind.DCN), *one.dimensions),
    )
