"""The three kinds of statement, as immutable values whose `str` is the canonical text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from shardsim.errors import NotationError, Source
from shardsim.notation.arrays import Array, first_repeat
from shardsim.notation.names import LOCAL, dims_text
from shardsim.notation.rules import (
    Dots,
    both_meanings,
    check_result,
    collective_head,
    collective_result,
    same_array,
    takes_dim,
)
from shardsim.notation.tokens import cut
from shardsim.vocabulary import CollectiveKind

__all__ = ["Collective", "Contraction", "Reshard", "Statement"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contraction:
    """A product of two or more arrays, read from left to right.

    Args:
        operands: The arrays, in order.
        result: What is asked for.
        contracted: For each dot the dimensions summed there, in the order of its left side.
        local: Whether every chip only multiplies what it holds (`·_LOCAL`).
        is_open: Whether the sharding of the result is left to the planner (`-> C`).
        source: The text it was read from.

    Raises:
        NotationError: the operands and dots do not give the dimensions of the result.

    >>> from shardsim.notation import parse
    >>> parse("A[I, J] * B[J, K] -> C[I, K]").contracted
    (('J',),)
    """

    operands: tuple[Array, ...]
    result: Array
    contracted: tuple[tuple[str, ...], ...]
    local: bool = False
    is_open: bool = False
    source: Source | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.is_open and (self.result.axes or self.result.unreduced or not self.result.name):
            raise NotationError(
                f"the sharding of {cut(str(self.result))} is not left open",
                "leave the axes of the result out, or say that it is not open",
            )
        if len(self.operands) < 2 or len(self.contracted) != len(self.operands) - 1:
            raise NotationError(
                f"{len(self.operands)} operands and {len(self.contracted)} dots do not fit",
                "give two operands or more, and one group of dimensions for each dot between them",
            )
        dots = Dots(self.operands, self.result)
        ordered = tuple(dots.advance(summed) for summed in self.contracted)
        check_result(self.operands, self.result, dots.left, self.source)
        object.__setattr__(self, "contracted", ordered)

    def __str__(self) -> str:
        dots = Dots(self.operands, self.result, is_open=self.is_open)
        text = str(self.operands[0])
        for operand, summed in zip(self.operands[1:], self.contracted, strict=True):
            if dots.ambiguous() or dots.default() != summed:
                mark = dims_text((*summed, LOCAL) if self.local and summed else summed)
            else:
                mark = f"_{LOCAL}" if self.local else ""
            text += f" ·{mark} {operand}"
            dots.advance(summed)
        return f"{text} -> {self.result.name if self.is_open else self.result}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """A collective on one array.

    Args:
        kind: Which one.
        axes: The mesh axes it runs over.
        dim: The dimension that gets the axes (ReduceScatter, AllToAll), else `None`.
        operand: The array before.
        result: The array after; its name is free, its dtype is the operand's.
        source: The text it was read from.

    Raises:
        NotationError: the operand cannot be treated so, or the result is not what it gives.

    >>> from shardsim.notation import parse
    >>> parse("AllGather_X A[I_X, J]").result.dim_names
    ('I', 'J')
    """

    kind: CollectiveKind
    axes: tuple[str, ...]
    dim: str | None
    operand: Array
    result: Array
    source: Source | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        name = self.kind.notation
        if not self.axes or first_repeat(self.axes) is not None:
            raise NotationError(
                f"{name} needs one axis or more, each once", f"name its axes, such as {name}_X"
            )
        if (self.dim is not None) != takes_dim(self.kind):
            word = "needs a" if takes_dim(self.kind) else "takes no"
            raise NotationError(
                f"{name} {word} target dimension",
                "name a dimension for ReduceScatter and AllToAll, and for no other",
            )
        if self.dim is not None and self.dim in self.operand.axes + self.operand.unreduced:
            raise both_meanings(self.dim, self.operand)
        gives = collective_result(self.kind, self.operand, self.axes, self.dim)
        gives = replace(gives, name=self.result.name)
        if not same_array(gives, self.result):
            raise NotationError(
                f"{cut(self.head, 32)} of {cut(str(self.operand), 36)} gives "
                f"{cut(str(gives), 36)}, not {cut(str(self.result), 36)}",
                f"write -> {gives}, or leave the result out",
            )

    @classmethod
    def of(
        cls, kind: CollectiveKind, axes: Sequence[str], operand: Array, dim: str | None = None
    ) -> Collective:
        """The collective with the result it gives, under the operand's name.

        Raises:
            NotationError: the operand cannot be treated so.
        """
        result = collective_result(kind, operand, axes, dim)
        return cls(kind=kind, axes=tuple(axes), dim=dim, operand=operand, result=result)

    @property
    def head(self) -> str:
        """The collective with its subscript: `ReduceScatter_{X,K}`."""
        return collective_head(self.kind, self.axes, self.dim)

    def __str__(self) -> str:
        return f"{self.head} {self.operand} -> {self.result}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshard:
    """One array in another sharding, however that is done.

    Args:
        operand: The array before.
        result: The array after: the same dimensions in the same order, and the same element type;
            its name is free.
        source: The text it was read from.

    Raises:
        NotationError: the dimensions or the element types differ.

    >>> from shardsim.notation import parse
    >>> str(parse("A[I_XY, J] -> A[I_Y, J_X]"))
    'A[I_XY, J] -> A[I_Y, J_X]'
    """

    operand: Array
    result: Array
    source: Source | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        before, after = self.operand.dim_names, self.result.dim_names
        if before != after:
            raise NotationError(
                f"{cut(str(self.operand))} and {cut(str(self.result))} do not have the same "
                "dimensions in the same order",
                self._hint_same_dims(),
            )
        if self.operand.dtype is not self.result.dtype:
            raise NotationError(
                f"{cut(str(self.operand))} and {cut(str(self.result))} differ in element type",
                "write the same element type on both sides, or on one",
            )

    def _hint_same_dims(self) -> str:
        before = self.operand.dim_names
        if sorted(before) == sorted(self.result.dim_names):
            ordered = replace(self.result, dims=tuple(self.result.dim(name) for name in before))
            return f"keep the order, -> {ordered}; there are no transposes"
        kept = replace(self.result, dims=self.operand.dims, unreduced=())
        return (
            f"keep the dimensions, such as -> {kept}, and change only their axes; "
            "to sum or to add a dimension, write a contraction"
        )

    def __str__(self) -> str:
        return f"{self.operand} -> {self.result}"


Statement = Contraction | Collective | Reshard
