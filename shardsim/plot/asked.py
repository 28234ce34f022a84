"""Pictures of the rooflines that somebody asks for: machines as roofs, loads as points, curves."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.errors import ScenarioError
from shardsim.plot.attained import Curve, write_attained
from shardsim.plot.roofline import Point, Roof, write_roofline
from shardsim.vocabulary import ChannelKind

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from shardsim.rooflines import Answer, Roofline
    from shardsim.rooflines.attained import Attained

__all__ = ["write_answers", "write_curves"]

DRAWN = (ChannelKind.VMEM, ChannelKind.L2, ChannelKind.ICI, ChannelKind.NVLINK)
"""Channels drawn beside the one by which the operands come."""


def write_answers(answers: Sequence[Answer], path: str | os.PathLike[str]) -> None:
    """The roofline plot of loads on their machines: a roof for each machine and type.

    Raises:
        InputError: nothing can be drawn, or the file cannot be written.
    """
    roofs: dict[str, Roof] = {}
    points = []
    alone = len({(answer.roofline.machine, answer.roofline.dtype) for answer in answers}) == 1
    for answer in answers:
        one = answer.roofline
        if one.peak is None:
            continue
        name = f"{one.machine} {one.dtype}"
        roofs.setdefault(name, Roof(name, one.peak, _slopes(one, alone=alone)))
        if one.intensity and one.attained and not answer.missing:
            points.append(Point(_label(one, answers), one.intensity, one.attained))
    if not roofs:
        raise ScenarioError(
            "the vector unit has no figure, so there is no roof to draw",
            "choose a chip that has one, or give it: like with a vector_unit and a clock",
        )
    texts = "; ".join(dict.fromkeys(answer.roofline.text for answer in answers))
    machines = ", ".join(dict.fromkeys(answer.roofline.machine for answer in answers))
    write_roofline(list(roofs.values()), path, points, (texts, f"on {machines}; of one chip"))


def _slopes(one: Roofline, *, alone: bool) -> tuple[tuple[str, Fraction], ...]:
    """The channel that counts, first; of a roof by itself others too."""
    drawn = [one.memory.channel]
    if alone:
        drawn += [each.channel for each in one.channels if each.channel.kind in DRAWN]
    named = {channel.kind.label: channel.bandwidth for channel in reversed(drawn)}
    return tuple(reversed(named.items()))


def _label(one: Roofline, answers: Sequence[Answer]) -> str:
    """The extents; the machine and the type too, where there are several."""
    extents = " ".join(f"{dim}={extent}" for dim, extent in one.extents.items())
    several = len({(a.roofline.machine, a.roofline.dtype) for a in answers}) > 1
    words = [one.machine, one.dtype] if several else []
    label = " ".join([*words, extents]).strip() or "the load"
    by_links = one.bound in ("communication", "latency")
    return f"{label}, bound by {one.bound}" if by_links else label


def write_curves(
    answers: Sequence[Answer], curves: Sequence[Attained], path: str | os.PathLike[str]
) -> None:
    """FLOP/s attained as a dimension grows, with the extents from which on computing binds.

    Raises:
        InputError: nothing can be drawn, or the file cannot be written.
    """
    drawn, peaks = [], {}
    for answer, curve in zip(answers, curves, strict=True):
        one = answer.roofline
        met = [found.exact for found in one.solve(curve.dim) if found.exact]
        rates: dict[int | Fraction, Fraction] = dict(zip(curve.extents, curve.rates, strict=True))
        bends = (at for at in met if 1 < at < curve.extents[-1])
        rates |= {at: one.attained_at(curve.dim, at) for at in bends}
        xs = tuple(sorted(rates))
        ys = tuple(rates[at] for at in xs)
        drawn.append(Curve(curve.label, xs, ys, max(met, default=None)))
        peaks[f"{answer.roofline.machine} {answer.roofline.dtype}"] = curve.peak
    heading = (answers[0].roofline.text, f"FLOP/s of one chip over {curves[0].dim}, all overlaps")
    write_attained(drawn, path, peaks=list(peaks.items()), axis=curves[0].dim, heading=heading)
