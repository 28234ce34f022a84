"""The closed form of a permute by a table: every chip sends what it has to one other chip.

It knows of each link only how many messages it carries, and of each message only its links.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.cost.terms import NOTHING, Terms, later
from shardsim.vocabulary import LatencyModel, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardsim.call import Call
    from shardsim.hardware import Link
    from shardsim.mesh import Permutation
    from shardsim.units import Bytes, Seconds

__all__ = [
    "permute_bytes",
    "permute_estimate",
    "permute_in_words",
    "permute_relation",
    "permute_terms",
]


def permute_terms(call: Call, permutation: Permutation, latency_model: LatencyModel) -> Terms:
    """Seconds, in two terms; V = call.size is what all chips of a group hold together.

    With V/N bytes a chip: the longer of the message with the longest way, (V/Nw + a) summed over
    its links, stored and forwarded; and of the busiest link, k V/Nw + a where it carries k
    messages.

    Relation to the simulation: EQUAL where no link carries two messages (always at one switch),
    else a LOWER BOUND.
    """
    block = call.size / call.group.size / call.efficiency
    traffic = permutation.traffic
    ways = (_along(block, way, latency_model) for way in traffic.ways)
    loads = (_crowded(block, load, link, latency_model) for load, link in traffic.loads)
    return later(NOTHING, *ways, *loads)


def _along(block: Bytes, way: Iterable[Link], latency_model: LatencyModel) -> Terms:
    return sum((_crowded(block, 1, link, latency_model) for link in way), NOTHING)


def _crowded(block: Bytes, load: int, link: Link, latency_model: LatencyModel) -> Terms:
    transfer = block / link.one_way_bandwidth
    if latency_model is LatencyModel.ADDITIVE:
        return Terms(load * transfer, link.latency)
    if transfer >= link.latency:
        return Terms(load * transfer, Fraction(0))
    return Terms(Fraction(0), load * link.latency)


def permute_estimate(call: Call, permutation: Permutation, latency_model: LatencyModel) -> Seconds:
    """The longest way after the busiest link: as if that message came last at its first hop."""
    block = call.size / call.group.size / call.efficiency
    traffic = permutation.traffic
    ways = (_along(block, way, latency_model).total for way in traffic.ways)
    queue = max(
        (_crowded(block, load - 1, link, latency_model).bandwidth for load, link in traffic.loads),
        default=Fraction(0),
    )
    return call.launch + max(ways, default=Fraction(0)) + queue


def permute_relation(permutation: Permutation) -> Relation:
    """How `permute_terms` stands to the simulation."""
    return Relation.EQUAL if permutation.traffic.busiest <= 1 else Relation.LOWER_BOUND


def permute_bytes(call: Call, permutation: Permutation) -> Bytes:
    """Bytes that leave the busiest chip: V/N for its own message and each that it passes on."""
    return call.size / call.group.size * permutation.traffic.leaving


def permute_in_words(call: Call, permutation: Permutation, *, additive: bool) -> str:
    """The form as text; the longest way and the busiest link are each given by what they count."""
    traffic, n = permutation.traffic, call.group.size
    hops = max((len(way) for way in traffic.ways), default=0)
    if not hops:
        return "0"
    a, several = " + a" if additive else "", " + {}a" if additive else ""
    way = f"{_times(hops)}V/{n}w{a if hops == 1 else several.format(hops)}"
    if traffic.busiest <= max(hops, 1):
        return way
    busy = f"{_times(traffic.busiest)}V/{n}w{a}"
    return busy if hops == 1 else f"max({busy}, {way})"


def _times(count: int) -> str:
    return "" if count == 1 else f"{count} "
