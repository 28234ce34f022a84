"""Hypothesis strategies: values that are valid by construction."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from shardsim.hardware import Link
from shardsim.notation import Array, Collective, Contraction, Dim, Reshard, Statement
from shardsim.topology import Topology
from shardsim.vocabulary import CollectiveKind, Dtype
from tests.machines import machine

# notation

DIMS = ["I", "J", "K", "B", "D", "NH", "N", "H", "kv", "I'", "D2"]
AXES = ["X", "Y", "Z:(1)2", "Z:(2)3", "X1", "data", "model", "data2:(4)2"]
NAMES = ["A", "B", "W_in", "dW_out'", "In", "\u0394W", "x2"]


@st.composite
def arrays(
    draw: st.DrawFn, dim_names: tuple[str, ...] | None = None, axes: tuple[str, ...] = tuple(AXES)
) -> Array:
    """An array of any rank, any sharding; `dim_names` and `axes` fix what it is made of."""
    if dim_names is None:
        dim_names = tuple(draw(st.lists(st.sampled_from(DIMS), unique=True, max_size=4)))
    slots = ["unused", "unreduced", *dim_names]
    where = [(axis, draw(st.sampled_from(slots))) for axis in draw(st.permutations(axes))]
    return Array(
        name=draw(st.none() | st.sampled_from(NAMES)),
        dims=tuple(Dim(d, tuple(a for a, slot in where if slot == d)) for d in dim_names),
        unreduced=tuple(axis for axis, slot in where if slot == "unreduced"),
        dtype=draw(st.none() | st.sampled_from(list(Dtype))),
    )


@st.composite
def contractions(draw: st.DrawFn) -> Contraction:
    """A contraction of two to four operands: batch dimensions, chains, outer products, anything."""
    operands = [draw(arrays())]
    contracted = []
    left = list(operands[0].dim_names)
    for _ in range(draw(st.integers(1, 3))):
        names = draw(st.lists(st.sampled_from(DIMS), unique=True, max_size=4))
        operands.append(draw(arrays(tuple(names))))
        summed = [name for name in left if name in names and draw(st.booleans())]
        contracted.append(tuple(summed))
        fresh = [name for name in names if name not in left]
        left = [name for name in left if name not in summed] + fresh
    return Contraction(
        operands=tuple(operands),
        result=draw(arrays(tuple(draw(st.permutations(left))))),
        contracted=tuple(contracted),
        local=draw(st.booleans()),
    )


@st.composite
def collectives(draw: st.DrawFn) -> Collective:
    """A collective of any kind, over one axis or more."""
    kind = draw(st.sampled_from(list(CollectiveKind)))
    names = draw(st.lists(st.sampled_from(DIMS), unique=True, min_size=2, max_size=4))
    operand = draw(arrays(tuple(names), tuple(AXES[:-1])))
    target, other = names[0], names[1]
    reduces = kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER)
    if reduces:
        operand = operand.with_unreduced((*operand.unreduced, AXES[-1]))
        choice = list(operand.unreduced)
    else:
        operand = operand.with_axes(other, [AXES[-1]])
        choice = list(operand.axes)
    moves = kind is CollectiveKind.ALL_TO_ALL
    if moves:
        choice = [axis for axis in choice if axis not in operand.dim(target).axes]
    axes = draw(st.lists(st.sampled_from(choice), unique=True, min_size=1))
    scatters = moves or kind is CollectiveKind.REDUCE_SCATTER
    return Collective.of(kind, axes, operand, target if scatters else None)


@st.composite
def reshards(draw: st.DrawFn) -> Reshard:
    """Any array in any other sharding."""
    operand = draw(arrays())
    result = draw(arrays(operand.dim_names))
    return Reshard(operand=operand, result=replace(result, dtype=operand.dtype))


def statements() -> st.SearchStrategy[Statement]:
    """Any statement of the notation."""
    return st.one_of(contractions(), collectives(), reshards())


# machines and collectives


def links(*, latency: bool = True) -> st.SearchStrategy[Link]:
    """Links with bandwidths and latencies that do not divide anything evenly."""
    bandwidths = st.fractions(min_value=1, max_value=10**12, max_denominator=97)
    if not latency:
        return bandwidths.map(lambda bandwidth: Link(bandwidth, Fraction(0)))
    return st.builds(Link, bandwidths, st.fractions(0, 1, max_denominator=10**6))


def sizes(most: int = 64) -> st.SearchStrategy[int]:
    """Numbers of chips along an axis, small ones more often."""
    return st.one_of(st.integers(1, min(9, most)), st.integers(1, most))


@st.composite
def programs(draw: st.DrawFn, most: int = 4) -> tuple[list[str], Topology, dict[str, int]]:
    """Up to `most` chained matmuls over two dimensions, each with any legal sharding."""
    kinds = [draw(st.sampled_from(["ring", "line", "switch"])) for _ in range(2)]
    topology = machine((draw(st.sampled_from([2, 3, 4])), kinds[0]), (2, kinds[1]))
    count = draw(st.integers(1, most))
    dims = [f"D{i}" for i in range(count + 1)]
    extents = {dim: topology.size * draw(st.integers(1, 5)) for dim in ["B", *dims]}
    lines = []
    left = draw(_sharded("H0", ("B", dims[0])))
    for index in range(count):
        right = draw(_sharded(f"W{index}", (dims[index], dims[index + 1])))
        result = draw(_sharded(f"H{index + 1}", ("B", dims[index + 1])))
        lines.append(f"{left} · {right} -> {result}")
        left = result
    return lines, topology, extents


@st.composite
def _sharded(draw: st.DrawFn, name: str, dims: tuple[str, ...]) -> Array:
    where = {axis: draw(st.sampled_from([None, *dims])) for axis in draw(st.permutations("XY"))}
    return Array(
        name=name,
        dims=tuple(Dim(d, tuple(axis for axis, at in where.items() if at == d)) for d in dims),
    )
