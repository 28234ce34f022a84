"""Rooflines of so many FLOPs and bytes, without a statement."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shardsim.documents.fields import dtype_of
from shardsim.errors import ScenarioError
from shardsim.rooflines.answer import Answer
from shardsim.rooflines.bounds import Roofline
from shardsim.rooflines.clock import Clock
from shardsim.rooflines.load import explicit_load
from shardsim.rooflines.machines import place_in
from shardsim.units import parse_quantity

if TYPE_CHECKING:
    from shardsim.topology import Topology
    from shardsim.vocabulary import ChannelKind

    Amount = float | str | Fraction

__all__ = ["ask_explicit"]


def ask_explicit(
    machine: Topology,
    dtype: str | Mapping[str, str] | None,
    amounts: tuple[Amount | None, Amount | None],
    channel: ChannelKind,
    settings: Mapping[str, Any],
) -> Answer:
    """So many FLOPs and bytes; `settings` are for statements, and must all be absent."""
    flops, moved = amounts
    if flops is None and moved is None:
        raise ScenarioError(
            "there is nothing to do",
            'write a statement, such as "X[B, D] · W[D, F] -> Y[B, F]", or --flops and --bytes',
        )
    done, bytes_moved = _amount(flops, "FLOP", "--flops"), _amount(moved, "bytes", "--bytes")
    if not done and not bytes_moved:
        raise ScenarioError("no FLOPs and no bytes: there is nothing to do", "give one of them")
    needless = [name for name, value in settings.items() if value is not None]
    if needless:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in needless)
        raise ScenarioError(f"{names}: not without a statement", "leave it out, or add a statement")
    if isinstance(dtype, Mapping):
        raise ScenarioError("FLOPs without a statement have one element type", "write bf16")
    kind = dtype_of("bf16" if dtype is None else dtype, place_in(dtype, "--dtype"))
    load = explicit_load(done, bytes_moved, kind)
    text = "so many FLOPs and bytes"
    clock = Clock(machine, through=channel)
    roofline = Roofline(text=text, load=load, clock=clock, extents={}, dtype=kind.value)
    return Answer(roofline=roofline, cuts={})


def _amount(value: Amount | None, unit: str, option: str) -> Fraction:
    if value is None:
        return Fraction(0)
    return parse_quantity(value, unit, place_in(value, option), zero=True)
