"""The forms in which a collective and a matmul can be done together, priced."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.call import ALGORITHMS as RUNNABLE
from shardsim.call import Call, Method, Stream, make_call
from shardsim.cost.pipeline import Hops, chunked, formula, together
from shardsim.errors import PlanError
from shardsim.matmul import MatmulShape
from shardsim.overlap.considered import Way
from shardsim.vocabulary import (
    Algorithm,
    CollectiveKind,
    DimensionKind,
    Form,
    LatencyModel,
    Relation,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.cost import CostModel
    from shardsim.planner import CollectiveStep, MatmulStep
    from shardsim.units import Seconds

__all__ = ["part_seconds", "priced", "ways"]

ALGORITHMS = {
    DimensionKind.RING: {
        Form.OWN_CHUNK_FIRST: Algorithm.BALANCED,
        Form.HALF_CHUNKS: Algorithm.HALF_SHARDS,
        Form.ONE_DIRECTION: Algorithm.ONE_DIRECTION,
        Form.PAIRS: Algorithm.WHOLE_SHARDS,
        Form.UNPIPELINED: Algorithm.ONE_DIRECTION,
    },
    DimensionKind.LINE: {Form.OWN_CHUNK_FIRST: Algorithm.LINE},
    DimensionKind.SWITCH: {
        Form.OWN_CHUNK_FIRST: Algorithm.DIRECT,
        Form.ONE_DIRECTION: Algorithm.RING,
        Form.UNPIPELINED: Algorithm.RING,
    },
}
"""How the collective of each form uses the links; of forms that take as long the first is taken."""

PARTS = (2, 4, 8, 16)
"""Into how many parts a matmul may be cut before an AllReduce."""


def in_form(call: Call, form: Form, parts: int = 1) -> Call:
    """The collective as a form does it; `parts`: of the matmul, each with an AllReduce.

    Raises:
        PlanError: it cannot be done so here.
    """
    if form is Form.CHUNKS:
        one = make_call(call.kind, call.group, call.size / parts, call.method)
        return replace(call, efficiency=one.efficiency, launch=one.launch)
    (segment,) = call.group.segments
    method = Method(algorithms=(ALGORITHMS[segment.kind][form],), streams=(Stream((0,)),))
    return make_call(call.kind, call.group, call.size, method)


def ways(
    collective: CollectiveStep, matmul: MatmulStep, dim: str, cost: CostModel
) -> tuple[Way, ...]:
    """The forms that can be, the fastest first."""
    made = (
        _in_chunks(collective, matmul, dim, cost)
        if collective.kind is CollectiveKind.ALL_REDUCE
        else _in_ring_steps(collective, matmul, dim, cost)
    )
    return tuple(sorted(made, key=lambda way: way.seconds))


def _in_ring_steps(
    collective: CollectiveStep, matmul: MatmulStep, dim: str, cost: CostModel
) -> Iterator[Way]:
    (segment,) = collective.call.group.segments
    n, kind = segment.size, CollectiveKind(collective.kind)
    rows = _extent(collective, dim) // n
    for form, algorithm in ALGORITHMS[segment.kind].items():
        if (
            cost.wanted.algorithm in RUNNABLE[segment.kind]
            and algorithm is not cost.wanted.algorithm
        ):
            continue
        if form is Form.UNPIPELINED and kind is not CollectiveKind.REDUCE_SCATTER:
            continue
        if (form is Form.HALF_CHUNKS and rows % 2) or (form is Form.PAIRS and n % 2):
            continue
        try:
            call = in_form(collective.call, form)
        except PlanError:
            continue
        pieces = 2 if form is Form.HALF_CHUNKS else 1
        part = part_seconds(matmul, dim, n * pieces, cost)
        hops = Hops.of(
            call.size / n,
            segment.link,
            cost.latency_model,
            efficiency=call.efficiency,
            launch=call.launch,
        )
        seconds = together(form, kind, segment.kind, n, part * pieces, hops)
        words = formula(form, kind, segment.kind, n)
        yield Way(form, n * pieces, part, seconds, Relation.EQUAL, words)


def _in_chunks(
    collective: CollectiveStep, matmul: MatmulStep, dim: str, cost: CostModel
) -> Iterator[Way]:
    call, rows = collective.call, _extent(collective, dim)
    segments = call.group.segments
    exact = collective.price.relation is Relation.EQUAL and call.group.is_physical
    alone = exact and len(segments) == 1 and segments[0].kind is not DimensionKind.LINE
    additive = cost.latency_model is LatencyModel.ADDITIVE
    for parts in PARTS:
        if rows % parts:
            continue
        one = make_call(call.kind, call.group, call.size / parts, call.method)
        reduced = cost.collective(one).exact.total
        tail = segments[0].link.latency if additive else Fraction(0)
        early = call.launch + tail if alone else Fraction(0)
        part = part_seconds(matmul, dim, parts, cost)
        relation = Relation.EQUAL if alone else Relation.UPPER_BOUND
        words = f"c + {parts - 1} max(c, {'R-e' if alone else 'R'}) + R"
        seconds = chunked(parts, part, reduced, early)
        yield Way(Form.CHUNKS, parts, part, seconds, relation, words)


def _extent(collective: CollectiveStep, dim: str) -> int:
    """How long a dimension is on one chip where the collective leaves it whole."""
    sharded = max(
        (collective.operand.sharded, collective.result.sharded), key=lambda s: s.local_bytes
    )
    return sharded.local_shape[sharded.array.dim_names.index(dim)]


def part_seconds(matmul: MatmulStep, dim: str, parts: int, cost: CostModel) -> Seconds:
    """Seconds of a part of a matmul that is cut along a dimension.

    What has the dimension is read or written in parts; an operand that has not is read again for
    every part; and a result that has not is a sum that each part reads and writes.
    """
    share = Fraction(1, parts)
    left, right = (
        {name: extent * (share if name == dim else 1) for name, extent in side.items()}
        for side in matmul.local_extents
    )
    traffic = Fraction(0)
    for value in matmul.operands:
        has = dim in value.sharded.array.dim_names
        traffic += value.sharded.local_bytes * (share if has else 1)
    result = matmul.result.sharded
    traffic += result.local_bytes * (share if dim in result.array.dim_names else 2)
    shape = MatmulShape.of(left, right, result.array.dim_names)
    return cost.matmul(shape, traffic, matmul.dtype, result.mesh.topology.chip).seconds


def priced(step: CollectiveStep, way: Way, cost: CostModel) -> CollectiveStep:
    """The collective as a form does it, with the price of that by itself."""
    call = in_form(step.call, way.form, way.parts)
    return replace(step, call=call, price=cost.collective(call))
