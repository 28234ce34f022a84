"""Questions of the book's records with one input changed, and the law that the answer must follow.

The law is the book's own formula as arithmetic over its inputs, from the table of answers; it is
never what answers a record.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from shardsim.catalogue import one_chip
from shardsim.hardware import Chip, Link
from shardsim.topology import Topology
from shardsim.units import exact
from shardsim.vocabulary import ChannelKind

MACHINES = ("on", "topology")
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min, "max": max, "sqrt": math.sqrt, "floor": math.floor, "ceil": math.ceil,
}  # fmt: skip


def law(formula: str, inputs: Mapping[str, float]) -> float:
    """The value of a formula, written as arithmetic."""

    def value(node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return inputs[node.id]
            case ast.UnaryOp():
                return -value(node.operand)
            case ast.BinOp():
                return _OPERATORS[type(node.op)](value(node.left), value(node.right))
            case ast.Call(func=ast.Name()):
                return _FUNCTIONS[node.func.id](*map(value, node.args))
        raise AssertionError(ast.dump(node))

    return float(value(ast.parse(formula, mode="eval").body))


def perturbed(question: Any, change: Mapping[str, Any]) -> Any:
    """The question with one input changed, everywhere in it.

    `change` has one of: `figure` (of the machine: peak, hbm, capacity, links, latency, cores,
    clock, price, or a channel) or `key` (of a subject, `dims.B` for an extent), with a factor `by`;
    `machine`, another one; `sizes`, what is other in the model; or `all`, several changes.
    """
    if "all" in change:
        for one in change["all"]:
            question = perturbed(question, one)
        return question
    factor = Fraction(change.get("by", 1))
    if isinstance(question, list):
        return [perturbed(one, change) for one in question]
    if not isinstance(question, Mapping):
        return question
    found = {}
    for name, value in question.items():
        if name in MACHINES and "figure" in change:
            found[name] = _machine(value, change["figure"], factor)
        elif name in MACHINES and "machine" in change:
            found[name] = change["machine"]
        elif name == "model" and "sizes" in change and "model" not in value:  # not the subject
            like = {"like": value} if isinstance(value, str) else value
            found[name] = {**like, **change["sizes"]}
        elif change.get("key") == name:
            found[name] = _times(value, factor)
        elif name == "dims" and str(change.get("key", "")).startswith("dims."):
            dim = change["key"].removeprefix("dims.")
            found[name] = {d: _times(e, factor) if d == dim else e for d, e in value.items()}
        else:
            found[name] = perturbed(value, change)
    return found


def _times(value: Any, factor: Fraction) -> Any:
    """A number, a quantity with a unit, or the first extent of an array, so much larger."""
    text = str(value)
    if "[" in text:
        head, _, rest = text.partition("[")
        first, comma, others = rest.partition(",") if "," in rest else rest.partition("]")
        return f"{head}[{Fraction(first) * factor}{comma}{others}"
    number, blank, unit = text.partition(" ")
    scaled = exact(number) * factor
    whole = scaled.numerator if scaled.denominator == 1 else float(scaled)
    return f"{whole}{blank}{unit}" if blank else whole


def _machine(value: Any, figure: str, factor: Fraction) -> Topology:
    topology = one_chip(value)
    if figure in ("links", "latency"):
        dimensions = tuple(
            replace(one, link=_link(one.link, figure, factor)) for one in topology.dimensions
        )
        chip = _channels(topology.chip, (ChannelKind.ICI, ChannelKind.NVLINK), factor)
        chip = chip if figure == "links" else topology.chip
        return replace(topology, dimensions=dimensions, chip=chip)
    return replace(topology, chip=_chip(topology.chip, figure, factor))


def _link(link: Link, figure: str, factor: Fraction) -> Link:
    if figure == "links":
        return Link(link.one_way_bandwidth * factor, link.latency)
    return Link(link.one_way_bandwidth, link.latency * factor)


def _chip(chip: Chip, figure: str, factor: Fraction) -> Chip:
    unit = chip.vector_unit
    match figure:
        case "peak":
            peaks = tuple((dtype, rate * factor) for dtype, rate in chip.peaks)
            return replace(chip, peaks=peaks)
        case "hbm":
            return replace(chip, hbm_bandwidth=chip.hbm_bandwidth * factor)
        case "capacity":
            return replace(chip, hbm_capacity=chip.hbm_capacity * factor)
        case "price":
            assert chip.price is not None
            return replace(chip, price=chip.price * factor)
        case "cores" | "clock":
            assert unit is not None
            value = getattr(unit, figure) * factor
            return replace(chip, vector_unit=replace(unit, **{figure: value}))
        case _:
            return _channels(chip, (ChannelKind(figure),), factor)


def _channels(chip: Chip, kinds: tuple[ChannelKind, ...], factor: Fraction) -> Chip:
    channels = tuple(
        replace(one, bandwidth=one.bandwidth * factor) if one.kind in kinds else one
        for one in chip.channels
    )
    return replace(chip, channels=channels)
