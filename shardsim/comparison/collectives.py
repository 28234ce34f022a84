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
from shardsim.errors import PlanError, TopologyError
from shardsim.mesh import Mesh, lay_mesh
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
    from shardsim.scenario import Single
    from shardsim.timeline import Timeline
    from shardsim.topology import Coordinate, Topology

__all__ = ["CollectiveRun", "Orders", "run_asked", "run_collective", "send_calls"]

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
        share = Fraction(self.chips - 1, self.chips)
        if self.kind is CollectiveKind.ALL_REDUCE:
            share *= 2
        if self.kind in (TransferKind.PERMUTE, TransferKind.SEND):
            share = Fraction(1)
        return self.algbw * share

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
        measured = any(curve.kind is self.kind for curve in calibration.curves)
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


def run_asked(asked: Single) -> CollectiveRun:
    """Prices and simulates a collective that somebody asks for, its size as benchmarks name it.

    Raises:
        PlanError, TopologyError: it cannot be done so.
    """
    if asked.mesh is None:
        return send_calls(
            asked.topology,
            asked.start,
            asked.end,
            asked.size,
            ways=asked.ways,
            chunks=asked.wanted.chunks,
            latency_model=asked.latency_model,
        )
    chips = asked.mesh.ways(asked.axes)
    return run_collective(
        asked.kind,
        asked.size * chips if asked.kind in PER_CHIP else asked.size,
        asked.mesh,
        asked.axes,
        wanted=asked.wanted,
        latency_model=asked.latency_model,
        shift=asked.shift,
        root=asked.root,
    )


def run_collective(
    kind: CallKind,
    size: Bytes,
    mesh: Mesh,
    axes: tuple[str, ...] = (),
    *,
    wanted: Wanted | None = None,
    latency_model: LatencyModel = LatencyModel.ADDITIVE,
    shift: int = 1,
    root: int = 0,
) -> CollectiveRun:
    """Prices and simulates one collective.

    Args:
        kind: Which; `send` has a function of its own, see `send_calls`.
        size: V in bytes.
        mesh: Where.
        axes: Over which axes; all by default.
        wanted: Algorithm, schedule and chunks.
        latency_model: What a hop costs.
        shift: Permute: by how many places up.
        root: Gather: the number of the chip that gets everything.

    Raises:
        PlanError: the collective cannot be done so.
    """
    from shardsim.call import make_call

    cost = CostModel(latency_model, wanted or Wanted())
    names = axes or tuple(mesh.sizes)
    for name in names:
        mesh.axis(name)
    if len(set(names)) < len(names):
        raise PlanError(f"axes {', '.join(names)} name one twice", "name each axis once")
    _check_amounts(size, cost.wanted.chunks)
    group = mesh.group(names)
    if not 0 <= root < group.size:
        raise PlanError(
            f"chip {root} is not in the group: {', '.join(names)} number {group.size} chips",
            f"name a chip from 0 to {group.size - 1}",
        )
    method = cost.method(kind, group, size)
    call = make_call(kind, group, size, method, shift=shift, root=root)
    return _run((call,), cost)


def send_calls(
    topology: Topology,
    start: Coordinate,
    end: Coordinate,
    size: Bytes,
    *,
    ways: int = 1,
    chunks: int | None = None,
    latency_model: LatencyModel = LatencyModel.ADDITIVE,
) -> CollectiveRun:
    """Sends bytes from one chip to another, over several ways that share no link.

    Way number i goes along the dimensions from the i-th on, round. Each carries an equal part, cut
    in chunks that are stored and forwarded.

    Raises:
        TopologyError: there are not so many ways, or a chip is not there.
    """
    chips = set(topology.coordinates())
    for chip in (start, end):
        if chip not in chips:
            raise TopologyError(
                f"{topology.name} has no chip {list(chip)}", "name the coordinates of a chip"
            )
    _check_amounts(size, chunks)
    apart = [i for i, (a, b) in enumerate(zip(start, end, strict=True)) if a != b]
    if not apart:
        raise TopologyError("a chip sends nothing to itself", "name two chips")
    if not 1 <= ways <= len(apart):
        raise TopologyError(
            f"from {list(start)} to {list(end)} no {ways} shortest ways go without sharing a link: "
            f"there is one for each dimension in which the two differ, here {len(apart)}",
            "choose 1" if len(apart) == 1 else f"choose 1 to {len(apart)}",
        )
    cost = CostModel(latency_model, Wanted(chunks=chunks))
    calls = []
    for first in range(ways):
        here, way = start, [start]
        for index in (*apart[first:], *apart[:first]):
            there = (*here[:index], end[index], *here[index + 1 :])
            way += [hop.to for hop in topology.route(here, there)]
            here = there
        mesh = lay_mesh(topology, {"P": len(way)}, devices=way, partial=True)
        calls.append(cost.call(TransferKind.SEND, mesh.group(("P",)), size / ways))
    return _run(tuple(calls), cost)


def _check_amounts(size: Bytes, chunks: int | None) -> None:
    """Bytes and chunks that there can be.

    Raises:
        PlanError: there cannot.
    """
    if size <= 0:
        raise PlanError(f"a collective of {size} bytes moves nothing", "give a size above 0")
    if chunks is not None and chunks < 1:
        raise PlanError(f"a collective cannot be cut in {chunks} chunks", "give 1 or more")


def _run(calls: tuple[Call, ...], cost: CostModel) -> CollectiveRun:
    from shardsim.engine import simulate_calls  # here, so that prices do not load it

    topology = calls[0].group.mesh.topology
    timeline = simulate_calls(topology, calls, cost.latency_model)
    prices = tuple(cost.collective(call) for call in calls)
    return CollectiveRun(calls, prices, timeline, cost.latency_model)
