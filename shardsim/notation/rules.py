"""What a dot sums, and what a collective makes of an array: the rules that need no mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardsim.errors import NotationError, Place, Source
from shardsim.notation.arrays import Array, Span
from shardsim.notation.names import axes_text
from shardsim.notation.subaxes import alike, taken_out
from shardsim.notation.tokens import cut
from shardsim.vocabulary import CollectiveKind

__all__ = [
    "Dots",
    "both_meanings",
    "check_result",
    "collective_head",
    "collective_result",
    "place_of",
    "same_array",
    "takes_dim",
]


def place_of(source: Source | None, span: Span | None) -> Place | None:
    """The place of a span, where text and span are known."""
    return None if source is None or span is None else source.place(*span)


class Dots:
    """Walks over the dots of a contraction from left to right, keeping what stands on the left.

    Args:
        operands: Two arrays or more.
        result: What the contraction gives.
        is_open: Whether only the name of the result is said.
    """

    def __init__(self, operands: Sequence[Array], result: Array, *, is_open: bool = False) -> None:
        self.operands = operands
        self.left: tuple[str, ...] = operands[0].dim_names
        self.position = 1
        self._is_open = is_open
        self._kept = frozenset(() if is_open else result.dim_names)
        self._last = {name: k for k, array in enumerate(operands) for name in array.dim_names}

    @property
    def right(self) -> tuple[str, ...]:
        """The dimensions on the right of this dot."""
        return self.operands[self.position].dim_names

    def shared(self) -> tuple[str, ...]:
        """The dimensions on both sides of this dot, in the order of the left side."""
        right = frozenset(self.right)
        return tuple(name for name in self.left if name in right)

    def default(self) -> tuple[str, ...]:
        """What this dot sums in any case: shared, not used later, not in the result."""
        return tuple(n for n in self.shared() if not self._comes_later(n) and n not in self._kept)

    def ambiguous(self) -> tuple[str, ...]:
        """Shared dimensions of this dot that may be summed here and used again, or be batch."""
        return tuple(
            name
            for name in self.shared()
            if self._comes_later(name) and (self._is_open or name in self._kept)
        )

    def choice(self) -> tuple[str, ...] | None:
        """What this dot sums when nothing is said, or `None` where that cannot be told.

        Every dot sums something, and no more than it must: of dimensions that may be summed here
        and used again, one is summed where the dot would sum nothing else (`In[B, D] · W[D, F] ·
        V[F, D] -> Out[B, D]`), and all are batch dimensions where it does. Where the dimensions
        of the result are left open, there is nothing to tell it by.
        """
        summed, either = self.default(), self.ambiguous()
        if not either:
            return summed
        if self._is_open:
            return None
        return summed or (either if len(either) == 1 else None)

    def _comes_later(self, name: str) -> bool:
        return self._last[name] > self.position

    def advance(self, summed: Sequence[str]) -> tuple[str, ...]:
        """Goes to the next dot; returns `summed` in the order of the left side.

        Raises:
            NotationError: a dimension of `summed` is not on both sides.
        """
        shared = self.shared()
        for name in summed:
            if name not in shared:
                raise NotationError(
                    f"dimension {cut(name)} is not on both sides of its dot",
                    "name only dimensions that both sides have",
                )
        gone = tuple(name for name in self.left if name in summed)
        kept = tuple(name for name in self.left if name not in summed)
        self.left = kept + tuple(name for name in self.right if name not in self.left)
        self.position += 1
        return gone


def check_result(
    operands: Sequence[Array], result: Array, left: Sequence[str], source: Source | None = None
) -> None:
    """Checks that a contraction leaves exactly the dimensions of its result.

    Args:
        operands: The operands.
        result: The result as it was asked for.
        left: The dimensions left after the last dot.
        source: The text, for the place of a fault.

    Raises:
        NotationError: a dimension too many or too few.
    """
    inputs = {name for array in operands for name in array.dim_names}
    for dim in result.dims:
        if dim.name not in inputs:
            raise NotationError(
                f"dimension {cut(dim.name)} of the result {cut(str(result))} is in no operand",
                _hint_for_unknown(dim.name, operands, result),
                place_of(source, dim.span),
            )
        if dim.name not in left:
            raise NotationError(
                f"dimension {cut(dim.name)} of the result {cut(str(result))} is summed at a dot",
                f"take {dim.name} out of the result, or out of the subscript of the dot",
                place_of(source, dim.span),
            )
    lost = [name for name in left if name not in result.dim_names]
    if lost:
        raise _lost(lost, operands, source)


def _hint_for_unknown(name: str, operands: Sequence[Array], result: Array) -> str:
    for array in operands:
        for dim in array.dims:
            owners = sum(dim.name in other.dim_names for other in operands)
            if owners == 1 and dim.name not in result.dim_names:
                return f"write {dim.name} in the result, or {name} instead of {dim.name} in {array}"
    return f"add {name} to an operand, or take it out of the result"


def _lost(names: Sequence[str], operands: Sequence[Array], source: Source | None) -> NotationError:
    """The error for dimensions that are neither summed nor in the result."""
    owners = {name: [a for a in operands if name in a.dim_names] for name in names}
    name = names[0]
    owner = owners[name][-1]
    place = place_of(source, owner.dim(name).span)
    if len(owners[name]) > 1:
        return NotationError(
            f"dimension {cut(name)} is neither summed at a dot nor in the result",
            f"add {name} to the result, or to the subscript of a dot",
            place,
        )
    for other in names[1:]:
        there = owners[other][0]
        if len(owners[other]) == 1 and there is not owner:
            return NotationError(
                f"dimension {cut(name, 12)} is only in {cut(str(owner), 34)}, {cut(other, 12)} "
                f"only in {cut(str(there), 34)}, and neither is in the result",
                f"write {name} for {other} in {there} to sum over it, or add both to the result",
                place,
            )
    return NotationError(
        f"dimension {cut(name)} is only in {cut(str(owner))} and not in the result",
        f"add {name} to the result, or to another operand to sum over it",
        place,
    )


def takes_dim(kind: CollectiveKind) -> bool:
    """Whether the collective shards a dimension, which its subscript then names."""
    return kind in (CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_TO_ALL)


def both_meanings(name: str, operand: Array) -> NotationError:
    """The error for a subscript that could name an axis or a dimension."""
    return NotationError(
        f"{cut(name)} is both a dimension and an axis of {cut(str(operand))}",
        "rename the dimension, so that the subscript has one meaning",
    )


def collective_head(kind: CollectiveKind, axes: Sequence[str], dim: str | None) -> str:
    """The collective with its subscript, as the canonical text has it.

    >>> collective_head(CollectiveKind.REDUCE_SCATTER, ["X"], "K")
    'ReduceScatter_{X,K}'
    """
    if dim is None:
        return kind.notation + axes_text(axes)
    return f"{kind.notation}_{{{','.join((*axes, dim))}}}"


def collective_result(
    kind: CollectiveKind, operand: Array, axes: Sequence[str], dim: str | None
) -> Array:
    """What a collective makes of its operand; the axes of a target dimension come in last.

    Raises:
        NotationError: the operand cannot be treated so.

    >>> from shardsim.notation import Dim
    >>> a = Array(name="A", dims=(Dim("I", ("X",)), Dim("J")))
    >>> str(collective_result(CollectiveKind.ALL_TO_ALL, a, ["X"], "J"))
    'A[I, J_X]'
    """
    head = collective_head(kind, axes, dim)
    sums = kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER)
    for axis in axes:
        if sums and taken_out(operand.unreduced, axis) is None:
            raise NotationError(
                f"{cut(head)}: {cut(str(operand))} is not unreduced over {cut(axis)}",
                _hint_unsummed(operand, axis),
            )
        if not sums and all(taken_out(d.axes, axis) is None for d in operand.dims):
            raise NotationError(
                f"{cut(head)}: {cut(str(operand))} is not sharded over {cut(axis)}",
                _hint_unsharded(operand, axis),
            )
    if dim is not None and any(axis in operand.dim(dim).axes for axis in axes):
        raise NotationError(
            f"{cut(head)}: {cut(dim)} is sharded over {cut(axes_text(axes)[1:])} already",
            "name the dimension that the axis moves to",
        )
    if sums:
        left = operand.with_unreduced(_without(operand.unreduced, axes))
    else:
        dims = tuple(replace(d, axes=_without(d.axes, axes)) for d in operand.dims)
        left = replace(operand, dims=dims)
    return left if dim is None else left.with_axes(dim, axes)


def _without(held: Sequence[str], axes: Sequence[str]) -> tuple[str, ...]:
    """The axes of a dimension that a collective leaves; it takes the minor-most first."""
    left = tuple(held)
    for axis in reversed(axes):
        rest = taken_out(left, axis)
        left = left if rest is None else rest
    return left


def same_array(one: Array, other: Array) -> bool:
    """Whether two arrays may be the same, parts of axes put together."""
    return (
        (one.name, one.dim_names, one.dtype) == (other.name, other.dim_names, other.dtype)
        and alike(one.unreduced, other.unreduced)
        and all(alike(a.axes, b.axes) for a, b in zip(one.dims, other.dims, strict=True))
    )


def _hint_unsummed(operand: Array, axis: str) -> str:
    if axis in operand.axes:
        return f"write AllGather_{axis}: it removes an axis that shards a dimension"
    return "write the sum that is still open after the operand, such as C[I, K]{U_X}"


def _hint_unsharded(operand: Array, axis: str) -> str:
    if axis in operand.unreduced:
        return f"write AllReduce or ReduceScatter: they remove {{U_{axis}}}"
    if operand.axes:
        return f"name an axis that shards a dimension: {', '.join(operand.axes)}"
    return "write the sharding into the operand, such as A[I_X, J]; no dimension is sharded"
