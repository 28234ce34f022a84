"""What the parts of a statement mean together: what a dot sums, what a collective does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from shardsim.errors import InputError, NotationError, Place, Source
from shardsim.notation.arrays import Array, Dim, Span
from shardsim.notation.names import AXIS_NAME, dims_text, is_local, split_capitals
from shardsim.notation.rules import (
    Dots,
    both_meanings,
    collective_result,
    place_of,
    takes_dim,
)
from shardsim.notation.statements import Collective, Contraction, Reshard
from shardsim.notation.tokens import Token, cut, shown
from shardsim.vocabulary import CollectiveKind

__all__ = ["Call", "build_collective", "build_contraction", "build_reshard", "lone_array"]

Axes = tuple[str, ...]


class Call(NamedTuple):
    """A collective as it was written: `subscript` is `None` where it has none."""

    kind: CollectiveKind
    subscript: tuple[Token, ...] | None
    operand: Array
    span: Span


# contractions


def build_contraction(
    operands: Sequence[Array],
    marks: Sequence[tuple[Token, tuple[Token, ...] | None]],
    result: Array | None,
    source: Source,
    *,
    is_open: bool = False,
) -> Contraction:
    """The contraction of `operands` with the dots `marks` (each a dot and its subscript).

    Args:
        operands: In order.
        marks: The dots.
        result: What it gives.
        source: The text.
        is_open: Whether only the name of the result is said; it has what no dot sums.
    """
    if result is None:
        raise _no_result(operands, source)
    dots = Dots(operands, result, is_open=is_open)
    local = False
    contracted = []
    for dot, items in marks:
        named = items
        if items and any(is_local(item.text) for item in items):
            local = True
            named = tuple(item for item in items if not is_local(item.text)) or None
        if named is None:
            summed = dots.choice()
            if summed is None:
                raise _unclear(dots, result if is_open else None, source.place(dot.start, dot.end))
        else:
            summed = tuple(n for item in named for n in _named_dims(item, dots, source))
        contracted.append(dots.advance(summed))
    if is_open:
        result = replace(result, dims=tuple(Dim(name) for name in dots.left))
    return Contraction(
        operands=tuple(operands),
        result=result,
        contracted=tuple(contracted),
        local=local,
        is_open=is_open,
        source=source,
    )


def _no_result(operands: Sequence[Array], source: Source) -> NotationError:
    names = [name for array in operands for name in array.dim_names]
    once = ", ".join(name for name in dict.fromkeys(names) if names.count(name) == 1)
    taken = {array.name for array in operands}
    name = next((word for word in ("C", "Out") if word not in taken), "Result")
    end = operands[-1].span or (0, 0)
    return NotationError(
        "the contraction has no result",
        f"say what it gives, such as -> {name}[{once}]",
        source.place(end[1]),
    )


def _unclear(dots: Dots, open_result: Array | None, place: Place) -> NotationError:
    """The error for a dot of which nobody said what it sums."""
    names = dots.ambiguous()
    if open_result is not None:
        return NotationError(
            f"dimension {cut(names[0])} may be summed at this dot, at a later one, or stay",
            f"write the dimensions of the result, such as {open_result.name}[..], "
            f"or what the dot sums: ·{dims_text(names[:1])} or ·_{{}}",
            place,
        )
    return NotationError(
        f"dimensions {cut(names[0])} and {cut(names[-1])} may each be summed at this dot and used "
        "again, or be a batch dimension",
        f"say what the dot sums: ·{dims_text(names[-1:])} or ·{dims_text(names[:1])}, "
        "or ·_{} to keep both",
        place,
    )


def _named_dims(item: Token, dots: Dots, source: Source) -> tuple[str, ...]:
    """The dimensions that one word of a dot's subscript names; `NH` may be N and H."""
    both, either = dots.shared(), {*dots.left, *dots.right}
    names = (item.text,) if item.text in either else split_capitals(item.text)
    place = source.place(item.start, item.end)
    for name in names:
        if name not in either:
            raise NotationError(
                f"{cut(name)} is no dimension of either side of this dot",
                f"name dimensions that both sides have: {', '.join(both) or 'there are none'}",
                place,
            )
        if name not in both:
            side = "left" if name in dots.left else "right"
            raise NotationError(
                f"dimension {cut(name)} is only on the {side} side of this dot",
                f"name dimensions that both sides have: {', '.join(both) or 'there are none'}",
                place,
            )
    return names


# collectives


def build_collective(call: Call, result: Array | None, source: Source) -> Collective:
    """The collective of a call; what its subscript does not say is taken from the result."""
    place = source.place(*call.span)
    try:
        axes, dim = _read_subscript(call, source)
        axes, dim = _complete(call, axes, dim, result)
        operand = _assume_unreduced(call, axes)
        gives = collective_result(call.kind, operand, axes, dim)
    except InputError as error:
        raise error.at(place) from None
    if result is None:
        result = replace(gives, span=None)
    else:
        operand, result = _share_dtype(operand, result)
    try:
        return Collective(
            kind=call.kind, axes=axes, dim=dim, operand=operand, result=result, source=source
        )
    except InputError as error:
        raise error.at(source.place(*result.span) if result.span else place) from None


def _share_dtype(operand: Array, result: Array) -> tuple[Array, Array]:
    """The element type that one side says is that of both."""
    if operand.dtype is None:
        return replace(operand, dtype=result.dtype), result
    if result.dtype is None:
        return operand, replace(result, dtype=operand.dtype)
    return operand, result


def _read_subscript(call: Call, source: Source) -> tuple[Axes | None, str | None]:
    """Axes and target dimension as far as the subscript names them."""
    if call.subscript is None:
        return None, None
    used = {*call.operand.axes, *call.operand.unreduced}
    dims = set(call.operand.dim_names) - used
    whole = takes_dim(call.kind)
    axes: list[str] = []
    targets: list[str] = []
    for item in call.subscript:
        names = (item.text,) if whole and item.text in dims else split_capitals(item.text)
        for name in names:
            if name not in dims and AXIS_NAME.fullmatch(name) is None:
                raise NotationError(
                    f"{shown(name)} is neither an axis nor a dimension of {cut(str(call.operand))}",
                    f"name axes first, then a dimension: {call.kind.notation}_{{X,K}}",
                    source.place(item.start, item.end),
                )
            (targets if name in dims else axes).append(name)
    if len(targets) > (1 if whole else 0):
        raise _too_many_dims(call, targets)
    return tuple(axes) or None, targets[0] if targets else None


def _too_many_dims(call: Call, targets: Sequence[str]) -> NotationError:
    name = call.kind.notation
    if takes_dim(call.kind):
        return NotationError(
            f"{name} names two dimensions, {cut(targets[0])} and {cut(targets[1])}",
            "name the axes and the one dimension that gets them",
        )
    axes = call.operand.axes + call.operand.unreduced
    return NotationError(
        f"{name} runs over axes, and {cut(targets[0])} is a dimension of {cut(str(call.operand))}",
        f"name the axis: {name}_{axes[0] if axes else 'X'}",
    )


def _complete(
    call: Call, axes: Axes | None, dim: str | None, result: Array | None
) -> tuple[Axes, str | None]:
    """Fills in what the subscript left out, by comparing operand and result."""
    kind, operand = call.kind, call.operand
    name = kind.notation
    gains = {} if result is None else _gains(operand, result)
    if takes_dim(kind) and dim is None:
        both = next((axis for axis in axes or () if axis in operand.dim_names), None)
        if both is not None:
            raise both_meanings(both, operand)
        used = {*operand.axes, *operand.unreduced, *(result.axes if result else ())}
        if axes is not None and len(axes) > 1 and axes[-1] not in used:
            operand.dim(axes[-1])  # says that there is none
        if len(gains) != 1:
            raise NotationError(
                f"{name} does not say which dimension gets the axis",
                f"name it in the subscript, such as {name}_{{X,{(operand.dim_names or 'K')[-1]}}}",
            )
        dim = next(iter(gains))
    if axes is None:
        if kind is CollectiveKind.ALL_REDUCE:
            left = result.unreduced if result else ()
            axes = tuple(axis for axis in operand.unreduced if axis not in left)
        elif kind is CollectiveKind.ALL_GATHER:
            axes = tuple(a for a in operand.axes if result and a not in result.axes)
        else:
            axes = gains.get(dim or "", ())
    if not axes:
        raise NotationError(
            f"{name} does not say over which axis", f"name it in the subscript: {name}_X"
        )
    return axes, dim


def _gains(operand: Array, result: Array) -> dict[str, Axes]:
    """The axes that each dimension has in the result and not in the operand."""
    before = {dim.name: dim.axes for dim in operand.dims}
    gains = {
        dim.name: tuple(axis for axis in dim.axes if axis not in before[dim.name])
        for dim in result.dims
        if dim.name in before
    }
    return {name: axes for name, axes in gains.items() if axes}


def _assume_unreduced(call: Call, axes: Axes) -> Array:
    """The operand of a reduction; one written without its `{U_X}` gets it."""
    operand = call.operand
    if (
        call.kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER)
        and not operand.unreduced
        and not set(axes) & set(operand.axes)
        and len(set(axes)) == len(axes)
    ):
        return operand.with_unreduced(axes)
    return operand


# one array


def build_reshard(operand: Array, result: Array, source: Source) -> Reshard:
    """The reshard of an array; what one side says about the element type holds for both."""
    operand, result = _share_dtype(operand, result)
    try:
        return Reshard(operand=operand, result=result, source=source)
    except NotationError as error:
        raise error.at(place_of(source, result.span)) from None


def lone_array(array: Array, source: Source) -> NotationError:
    """The error for one array with neither dot nor collective nor result."""
    return NotationError(
        f"{cut(str(array))} alone is not a statement",
        f"write a contraction, such as {array} · B[..] -> C[..], a reshard, such as "
        f"A[I_X] -> A[I], or a collective",
        place_of(source, array.span),
    )
