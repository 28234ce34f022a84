"""How the closed form of a call stands to its simulation, and the form itself."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.cost import exact
from shardsim.cost.bounds import busiest_link, fastest_link
from shardsim.cost.permute import permute_relation, permute_terms
from shardsim.cost.schedule import effective_link, longest_chain
from shardsim.cost.terms import NOTHING, Terms
from shardsim.hardware import Link
from shardsim.vocabulary import (
    Algorithm,
    CollectiveKind,
    DimensionKind,
    LatencyModel,
    Relation,
    Schedule,
    TransferKind,
)

if TYPE_CHECKING:
    from shardsim.call import Call

__all__ = ["exact_terms", "relation"]


def relation(call: Call, latency_model: LatencyModel) -> Relation:
    """How `exact_terms` stands to the simulation of the call alone.

    - One ring or switch: EQUAL. One line: EQUAL, AllToAll a LOWER BOUND where latency matters
      (and EQUAL again on two or three chips, in one chunk).
    - Rings and switches together: EQUAL, whatever the orders, shares and chunks.
    - Lines among several segments: EQUAL with one stream, or with equal shares over equal lines;
      else, and where the lines are rings that lost a link, an UPPER BOUND (with a switch, whose
      ports then get out of step, a LOWER BOUND). AllToAll: a LOWER BOUND.
    - Gather: EQUAL on one segment, else an UPPER BOUND (what AllGather would take).
    - Steps of several hops over shared links, and two parts of one dimension: EQUAL with one stream
      over switches and rings whose chips are equally far apart, and with rotated orders over equal
      ones (not Gather), since all chips keep step; else, and where links differ, a LOWER BOUND.
    - A permute by a table: EQUAL where no link carries two messages, else a LOWER BOUND.
    - A switch that adds: the LIMIT of many chunks (where V/w is long against a), and a LOWER BOUND
      of any.
    """
    segments, method = call.group.segments, call.method
    if call.permutation is not None:
        return permute_relation(call.permutation)
    if Algorithm.IN_NETWORK in method.algorithms:
        return Relation.LIMIT
    if call.group.size == 1:
        return Relation.EQUAL
    if not call.group.is_physical or call.group.shares_links:
        return Relation.EQUAL if _keeps_step(call) else Relation.LOWER_BOUND
    if call.kind is TransferKind.GATHER:
        alone = len(segments) == 1 and method.chunks == 1
        return Relation.EQUAL if alone else Relation.UPPER_BOUND
    has_lines = any(segment.kind is DimensionKind.LINE for segment in segments)
    if not has_lines or call.kind in (TransferKind.PERMUTE, TransferKind.SEND):
        return Relation.EQUAL
    if call.kind is CollectiveKind.ALL_TO_ALL:
        return _of_exchange(call, latency_model)
    return _of_lines(call)


def _of_lines(call: Call) -> Relation:
    """AllGather, ReduceScatter and AllReduce with lines among the segments."""
    segments, method = call.group.segments, call.method
    if len(segments) > 1 and call.group.rows_differ:
        switched = any(segment.kind is DimensionKind.SWITCH for segment in segments)
        return Relation.LOWER_BOUND if switched else Relation.UPPER_BOUND
    if len(list(method.jobs())) == 1 or Algorithm.REDUCE_BROADCAST in method.algorithms:
        return Relation.EQUAL
    alike = len({(s.size, s.kind, s.link) for s in segments}) == 1
    equal_shares = method.schedule is Schedule.ROTATED and method.chunks == 1
    return Relation.EQUAL if alike and equal_shares else Relation.UPPER_BOUND


def _keeps_step(call: Call) -> bool:
    """Whether all chips do the same at the same time, though their steps share links.

    One stream over switches and rings; or rotated orders, with equal shares, over equal rings.
    """
    segments, method = call.group.segments, call.method
    if call.kind is TransferKind.GATHER or call.group.mesh.order is not None:
        return False
    if any(segment.crossings or segment.kind is DimensionKind.LINE for segment in segments):
        return False
    equal = len({(s.size, s.kind, s.link, s.spacing) for s in segments}) == 1
    rotated = method.schedule is Schedule.ROTATED and method.chunks == 1
    alone = len(list(method.jobs())) == 1
    return alone or (equal and rotated)


def _of_exchange(call: Call, latency_model: LatencyModel) -> Relation:
    if len(call.group.segments) > 1:
        return Relation.LOWER_BOUND
    (segment,) = call.group.segments
    free = latency_model is LatencyModel.FLOOR or segment.link.latency == 0
    short = segment.size <= 3 and call.method.chunks == 1
    return Relation.EQUAL if free or short else Relation.LOWER_BOUND


def exact_terms(call: Call, latency_model: LatencyModel) -> Terms:
    """The time of a call by its closed form, or by its bound where `relation` says so.

    Returns:
        Exact seconds, launch overhead in the latency term.
    """
    if call.group.size == 1:
        return NOTHING
    return Terms(Fraction(0), call.launch) + _form(call, latency_model)


def _form(call: Call, latency_model: LatencyModel) -> Terms:
    if call.permutation is not None:
        return permute_terms(call, call.permutation, latency_model)
    segment = call.group.segments[0]
    algorithm = call.method.algorithms[0]
    link = effective_link(call, segment)
    chunks = call.method.chunks
    if segment.crossings:
        best = fastest_link(segment)
        link = Link(best.one_way_bandwidth * call.efficiency, best.latency)
    plain = Link(link.one_way_bandwidth * segment.stride, link.latency / segment.stride)
    if call.kind is TransferKind.SEND:
        hops = (segment.size - 1) * segment.stride
        return exact.send(call.size, hops, plain, chunks, latency_model)
    if call.kind is TransferKind.PERMUTE:
        short = segment.dimension is None and segment.crossings  # a way that is not known here
        way = Algorithm.DIRECT if short else algorithm
        return exact.permute(call.size, segment.size, link, way, call.shift, latency_model)
    if algorithm is Algorithm.REDUCE_BROADCAST:
        hops = 2 * (segment.size // 2) * segment.stride
        return exact.send(call.size, hops, plain, chunks, latency_model)
    if algorithm is Algorithm.IN_NETWORK:
        return exact.in_network(call.size, segment.size, link, chunks, latency_model)
    if relation(call, latency_model) is Relation.LOWER_BOUND and not _has_form(call):
        return busiest_link(call, latency_model)
    return longest_chain(call, latency_model)


def _has_form(call: Call) -> bool:
    """AllToAll on one line in one chunk has a form of its own, also where it is a bound."""
    return call.group.is_physical and len(call.group.segments) == 1 and call.method.chunks == 1
