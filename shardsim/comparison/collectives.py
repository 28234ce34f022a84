"""One collective by itself: its three times, and bandwidths as benchmarks count them.

The convention is that of nccl-tests. S is the size that a benchmark names: the whole array of an
AllGather or ReduceScatter, the local array of an AllReduce, what one chip sends in an AllToAll.
algbw is S over the time. busbw is algbw times the share of S that a ring of messages would send
from each chip: (n-1)/n, of an AllReduce 2(n-1)/n. Where the algorithm is no ring, busbw may be
above what any wire carries; the wire utilisation never is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shardsim.comparison.advice import advice_for
from shardsim.comparison.others import Other, asked, if_wrapped, other_methods
from shardsim.comparison.traffic import LinkUse, traffic
from shardsim.cost import CollectivePrice, CostModel, Wanted
from shardsim.cost.bounds import torus_bound
from shardsim.cost.choice import order_prices
from shardsim.units import (
    Bytes,
    BytesPerSecond,
    Seconds,
    format_bytes,
    format_rate,
    format_seconds,
    number,
)
from shardsim.vocabulary import (
    CallKind,
    CollectiveKind,
    DimensionKind,
    LatencyModel,
    Relation,
    TransferKind,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardsim.call import Call
    from shardsim.timeline import Timeline
    from shardsim.topology import Topology

__all__ = ["PER_CHIP", "SIZE_MEANS", "CollectiveRun", "Orders", "bus_share"]

PER_CHIP = (CollectiveKind.ALL_TO_ALL, TransferKind.PERMUTE)
"""Those whose S is what one chip sends."""

KNOWN = (Relation.EQUAL, Relation.UPPER_BOUND)
LEAST_GAIN = Fraction(11, 10)
FEW_CHUNKS = 16
SIZE_MEANS = {
    CollectiveKind.ALL_GATHER: "the gathered array",
    CollectiveKind.REDUCE_SCATTER: "the array that each chip holds before",
    CollectiveKind.ALL_REDUCE: "the array that each chip holds",
    CollectiveKind.ALL_TO_ALL: "what each chip sends, its own part counted",
    TransferKind.PERMUTE: "what each chip sends",
    TransferKind.GATHER: "the gathered array",
    TransferKind.SEND: "what is sent",
}


def bus_share(kind: CallKind, chips: int) -> Fraction:
    """What busbw is of algbw: the share of S that a ring of messages sends from each of n chips.

    >>> bus_share(CollectiveKind.ALL_REDUCE, 8), bus_share(TransferKind.SEND, 2)
    (Fraction(7, 4), Fraction(1, 1))
    """
    if kind in (TransferKind.PERMUTE, TransferKind.SEND):
        return Fraction(1)
    share = Fraction(chips - 1, chips)
    return 2 * share if kind is CollectiveKind.ALL_REDUCE else share


@dataclass(frozen=True, slots=True)
class Orders:
    """The orders of segments that a collective over several could take, with their prices.

    Attributes:
        names: The segments.
        prices: Exact seconds of each order (by index into names), cheapest first.
    """

    names: tuple[str, ...]
    prices: tuple[tuple[tuple[int, ...], Seconds], ...]


@dataclass(frozen=True, repr=False)
class CollectiveRun:
    """One collective, its price and its simulation.

    Attributes:
        calls: The collective; several where a transfer is split over several ways.
        prices: Of each call.
        timeline: All of them, started together.
        latency_model: What a hop costs.
    """

    calls: tuple[Call, ...]
    prices: tuple[CollectivePrice, ...]
    timeline: Timeline
    latency_model: LatencyModel

    @property
    def call(self) -> Call:
        """The first call."""
        return self.calls[0]

    @property
    def price(self) -> CollectivePrice:
        """The price of the call that takes longest."""
        return max(self.prices, key=lambda price: price.exact.total)

    @property
    def topology(self) -> Topology:
        """Where it runs."""
        return self.call.group.mesh.topology

    @property
    def kind(self) -> CallKind:
        """Which collective."""
        return self.call.kind

    @property
    def chips(self) -> int:
        """Chips that take part together: n."""
        return 2 if self.kind is TransferKind.SEND else self.call.group.size

    @property
    def size(self) -> Bytes:
        """V in bytes."""
        return sum((call.size for call in self.calls), Fraction(0))

    @property
    def benchmark_size(self) -> Bytes:
        """S in bytes: the size that a benchmark names; `SIZE_MEANS` says of what."""
        return self.size / self.chips if self.kind in PER_CHIP else self.size

    @property
    def simulated(self) -> Seconds:
        """Seconds by simulation."""
        return self.timeline.makespan

    @property
    def algbw(self) -> BytesPerSecond:
        """S over the simulated time."""
        return self.benchmark_size / self.simulated if self.simulated else Fraction(0)

    @property
    def busbw(self) -> BytesPerSecond:
        """What a ring of messages sends from each chip, over the simulated time."""
        return self.algbw * bus_share(self.kind, self.chips)

    @cached_property
    def links(self) -> tuple[LinkUse, ...]:
        """The links used, the busiest first."""
        return traffic(self.timeline, self.topology)

    @property
    def wire_utilization(self) -> Fraction:
        """Of the busiest link's bandwidth, how much was used; never above 1."""
        return max((use.utilization for use in self.links), default=Fraction(0))

    @cached_property
    def orders(self) -> Orders | None:
        """The orders that a collective over a few segments could take one after the other."""
        group = self.call.group
        if not 1 < len(group.segments) < 5 or self.kind is TransferKind.GATHER:
            return None
        prices = order_prices(
            self.kind, group, self.size, self.call.method.algorithms, self.latency_model
        )
        ranked = sorted(prices.items(), key=lambda item: (item[1], item[0]))
        return Orders(tuple(segment.name for segment in group.segments), tuple(ranked))

    def phases(self, order: Sequence[int]) -> tuple[str, ...]:
        """What is gone through in an order of `orders`: scattered backwards, gathered forwards."""
        names = self.orders.names if self.orders else ()
        forwards = tuple(names[at] for at in order)
        match self.kind:
            case CollectiveKind.REDUCE_SCATTER:
                return forwards[::-1]
            case CollectiveKind.ALL_REDUCE:
                return forwards[::-1] + forwards
            case _:
                return forwards

    @cached_property
    def others(self) -> tuple[Other, ...]:
        """Every method that could do it, this one too, the cheapest first."""
        return other_methods(self.call, self.latency_model) if len(self.calls) == 1 else ()

    @cached_property
    def bound(self) -> Seconds | None:
        """What no method over these rings and lines can beat; None where another tier is in it."""
        group = self.call.group
        alike = group.is_physical and all(
            s.kind is not DimensionKind.SWITCH for s in group.segments
        )
        kind = self.kind
        if not alike or len(group.segments) < 2 or not isinstance(kind, CollectiveKind):
            return None
        if kind is CollectiveKind.ALL_REDUCE:  # trees can do with less
            return None
        return torus_bound(kind, self.size / self.call.efficiency, group.segments)

    @cached_property
    def if_wrapped(self) -> Seconds | None:
        """What it would take if its lines were rings; None where they cannot be."""
        alone = len(self.calls) == 1 and isinstance(self.kind, CollectiveKind)
        return if_wrapped(self.call, self.latency_model) if alone else None

    @cached_property
    def advice(self) -> tuple[str, ...]:
        """Where another order of chips, or another method, would be better, with both prices."""
        found = advice_for(self.call, self.simulated, self.latency_model)
        if self.kind is TransferKind.SEND:
            return (*found, *self._more_chunks())
        best = next((other for other in self.others if other.relation in KNOWN), None)
        if best is None or best.seconds * LEAST_GAIN > self.simulated:
            return found
        return (*found, f"{format_seconds(best.seconds)} by {best.method.name}: {asked(best)}")

    def _more_chunks(self) -> tuple[str, ...]:
        """A transfer that is stored whole at every chip between."""
        if self.call.method.chunks > 1 or self.call.group.size < 3:
            return ()
        cost = CostModel(self.latency_model, Wanted(chunks=FEW_CHUNKS))
        prices = [
            cost.collective(cost.call(call.kind, call.group, call.size)) for call in self.calls
        ]
        seconds = max(price.exact.total for price in prices)
        if any(price.relation not in KNOWN for price in prices):
            return ()
        return (f"{format_seconds(seconds)} in {FEW_CHUNKS} chunks: --chunks {FEW_CHUNKS}",)

    def __str__(self) -> str:
        """The times, and the bandwidths as benchmarks count them."""
        times = ", ".join(
            f"{name} {format_seconds(seconds)}"
            for name, seconds in (
                ("book", self.price.book),
                ("exact", self.price.exact.total),
                ("simulated", self.simulated),
            )
        )
        rates = f"algbw {format_rate(self.algbw)}, busbw {format_rate(self.busbw)}"
        size = format_bytes(self.benchmark_size)
        return (
            f"{self.kind.value} of {size} over {self.chips} chips of {self.topology.name}, "
            f"{self.call.method.name}: {times}; {rates}"
        )

    def __repr__(self) -> str:
        return f"<CollectiveRun: {self}>"

    @property
    def holds(self) -> bool:
        """Whether the closed form stands to the simulation as it says."""
        exact = self.price.exact.total
        match self.price.relation:
            case Relation.EQUAL:
                return self.simulated == exact
            case Relation.UPPER_BOUND:
                return self.simulated <= exact
            case _:
                return self.simulated >= exact

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `collective --json`."""
        call, price = self.call, self.price
        orders, calibration = self.orders, self.topology.calibration
        measured = calibration.knows(self.kind)
        return {
            "format": "shardsim/collective/1",
            "op": self.kind.value,
            "topology": self.topology.name,
            "chips": self.chips,
            **self._where(),
            "latency_model": self.latency_model.value,
            "segments": [
                {
                    "name": segment.name,
                    "size": segment.size,
                    "kind": segment.kind.value,
                    "reason": segment.reason,
                    "hops_per_step": segment.stride,
                }
                for segment in call.group.segments
            ],
            "algorithm": call.method.name,
            "bytes": number(self.size),
            "bytes_per_chip": number(self.size / self.chips),
            "benchmark_bytes": number(self.benchmark_size),
            "benchmark_bytes_are": SIZE_MEANS[self.kind],
            "wire_bytes_per_chip": number(price.wire_bytes),
            "efficiency": float(call.efficiency),
            "launch_seconds": float(call.launch),
            "calibration": {"source": calibration.source, "band": calibration.band}
            if measured
            else None,
            "book_seconds": float(price.book),
            "exact_seconds": float(price.exact.total),
            "relation": price.relation.value,
            "simulated_seconds": float(self.simulated),
            "book_formula": price.book_formula,
            "exact_formula": price.exact_formula,
            "algbw_bytes_per_second": float(self.algbw),
            "busbw_bytes_per_second": float(self.busbw),
            "wire_utilization": float(self.wire_utilization),
            "busiest_link": self.links[0].to_dict() if self.links else None,
            "orders": [
                {"order": list(self.phases(order)), "exact_seconds": float(seconds)}
                for order, seconds in orders.prices
            ]
            if orders
            else [],
            "methods": [
                {
                    "algorithm": other.method.name,
                    "exact_seconds": float(other.seconds),
                    "relation": other.relation.value,
                }
                for other in self.others
            ],
            "bound_seconds": None if self.bound is None else float(self.bound),
            "exact_if_wrapped_seconds": None if self.if_wrapped is None else float(self.if_wrapped),
            "advice": list(self.advice),
        }

    def _where(self) -> dict[str, Any]:
        """Over which axes, or from where to where."""
        call = self.call
        if self.kind is TransferKind.SEND:
            ways = [each.group.mesh.order or () for each in self.calls]
            return {"ways": [[list(chip) for chip in way] for way in ways]}
        found: dict[str, Any] = {"mesh": call.group.mesh.sizes, "axes": list(call.group.axes)}
        if self.kind is TransferKind.PERMUTE:
            found["shift"] = call.shift
        if self.kind is TransferKind.GATHER:
            found["root"] = list(call.group.instances[0][call.root])
        return found
