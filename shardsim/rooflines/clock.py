"""How long a load takes on a machine: its operations, its bytes by a channel, its collectives."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shardsim.cost import CostModel
from shardsim.hardware import Channel
from shardsim.rooflines.load import Product
from shardsim.units import Bytes, FlopsPerSecond, Seconds
from shardsim.vocabulary import ChannelKind, DimensionKind

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from shardsim.cost import CollectivePrice
    from shardsim.planner import CollectiveStep
    from shardsim.rooflines.load import Load, Operations, Sent
    from shardsim.topology import Topology

__all__ = ["NETWORKS", "Clock", "channel_of", "channels_of"]

NETWORKS = (
    ChannelKind.ICI,
    ChannelKind.NVLINK,
    ChannelKind.DCN,
    ChannelKind.INFINIBAND,
    ChannelKind.NETWORK,
)
"""Channels to other chips."""

AS_IT_IS: dict[str, Fraction] = {}
NONE = Fraction(0)


@dataclass(frozen=True)
class Clock:
    """A machine, and the closed forms by which it is priced.

    Attributes:
        topology: The machine; its chip's figures are used.
        cost: The closed forms of collectives.
        through: The channel by which operands come and results go: HBM, or VMEM where they lie on
            the chip.
    """

    topology: Topology
    cost: CostModel = field(default_factory=CostModel)
    through: ChannelKind = ChannelKind.HBM
    _prices: dict[Any, CollectivePrice] = field(default_factory=dict, repr=False, compare=False)

    def peak(self, operations: Operations) -> FlopsPerSecond | None:
        """FLOP/s of the unit that does them; None where the vector unit has no figure.

        Raises:
            TopologyError: the chip has no figure for the element type.
        """
        chip = self.topology.chip
        if not operations.on_vectors:
            return chip.peak(operations.dtype)
        return None if chip.vector_unit is None else chip.vector_unit.flops_per_second

    def compute(self, load: Load, factors: Mapping[str, Fraction] = AS_IT_IS) -> Seconds | None:
        """Seconds of the operations, each at the peak of its unit and type.

        Args:
            load: What one chip has to do.
            factors: Dimensions that are so many times as long.

        Returns:
            None where the vector unit has no figure.
        """
        total = Fraction(0)
        for each in load.operations:
            peak = self.peak(each)
            if peak is None:
                return None
            total += sum((product.at(factors) for product in each.flops), Fraction(0)) / peak
        return total

    def moving(
        self,
        load: Load,
        channel: Channel,
        factors: Mapping[str, Fraction] = AS_IT_IS,
        small: Collection[str] = (),
    ) -> Seconds:
        """Seconds that the bytes moved take by a channel.

        Args:
            load: What one chip has to do.
            channel: By which they come and go.
            factors: Dimensions that are so many times as long.
            small: Dimensions so short that arrays which have them are left out, as a first-order
                formula does with activations beside weights.
        """
        left = (product for product in load.moved if not set(product.dims) & set(small))
        return sum((product.at(factors) for product in left), Fraction(0)) / channel.bandwidth

    def talking(
        self,
        load: Load,
        kind: ChannelKind | None = None,
        factors: Mapping[str, Fraction] = AS_IT_IS,
        *,
        book: bool = False,
        in_turn: bool = False,
    ) -> Seconds:
        """Seconds of the collectives.

        Those along the same axes are done one after the other; along others, over links of their
        own, at once.

        Args:
            load: What one chip has to do.
            kind: Those whose slowest link is of this kind; all where it is None.
            factors: Dimensions that are so many times as long.
            book: By the book's first-order formulas; else by the closed forms (or what is likely
                where those are only lower bounds).
            in_turn: All of them one after the other.
        """
        along: dict[tuple[str, ...], Seconds] = {}
        for sent in load.collectives:
            if kind is None or channel_of(sent.step) is kind:
                price = self.price(sent, factors)
                axes = sent.step.call.group.axes
                seconds = price.book if book else price.estimate
                along[axes] = along.get(axes, Fraction(0)) + seconds
        return sum(along.values(), Fraction(0)) if in_turn else max(along.values(), default=NONE)

    def waiting(self, load: Load) -> Seconds:
        """Seconds of the collectives that are latency, by the closed forms."""
        return sum((self.price(sent).exact.latency for sent in load.collectives), Fraction(0))

    def sent(self, load: Load, kind: ChannelKind) -> Bytes:
        """V of the collectives over a kind of link, together."""
        steps = (sent.step for sent in load.collectives)
        return sum((step.size for step in steps if channel_of(step) is kind), Fraction(0))

    def price(self, sent: Sent, factors: Mapping[str, Fraction] = AS_IT_IS) -> CollectivePrice:
        """The price of a collective, with some dimensions so many times as long."""
        step = sent.step
        size = Product(Fraction(step.size), sent.dims).at(factors)
        key = (step.call.kind, step.call.group.axes, step.call.permutation, size)
        if key not in self._prices:
            call = self.cost.call(step.call.kind, step.call.group, size, step.call.permutation)
            self._prices[key] = self.cost.collective(call)
        return self._prices[key]


def channel_of(step: CollectiveStep) -> ChannelKind:
    """The kind of the slowest link of a collective."""
    dimensions = step.call.group.mesh.topology.dimensions
    wide = [segment for segment in step.call.group.segments if segment.size > 1]
    slowest = min(wide, key=lambda segment: segment.link.one_way_bandwidth, default=None)
    index = 0 if slowest is None or slowest.dimension is None else slowest.dimension
    return dimensions[index].channel


def channels_of(topology: Topology) -> tuple[Channel, ...]:
    """The channels of a machine, the fastest first: those of its chip, and its own links.

    Of a ring or a line that is one axis, both directions (the book's W); of a switch one port, one
    way. Where the machine has links of a kind, they stand for those that its chip has elsewhere.

    >>> from shardsim.catalogue import find_topology
    >>> [one.kind.value for one in channels_of(find_topology("v5e:4x4"))][-3:]
    ['ici', 'pcie', 'dcn']
    """
    wide = [dimension for dimension in topology.dimensions if dimension.size > 1]
    found: dict[tuple[ChannelKind, Fraction], Channel] = {}
    for one in wide:
        at_switch = one.kind is DimensionKind.SWITCH
        rate = one.link.one_way_bandwidth if at_switch else one.link.bidirectional_bandwidth
        note = "one port, one way" if at_switch else "one axis, both ways"
        channel = Channel(kind=one.channel, bandwidth=rate, note=note)
        found.setdefault((one.channel, rate), channel)
    here = {kind for kind, _ in found}
    others = (channel for channel in topology.chip.ladder if channel.kind not in here)
    return tuple(sorted((*others, *found.values()), key=lambda channel: -channel.bandwidth))
