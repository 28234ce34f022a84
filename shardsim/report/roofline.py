"""Rooflines as text: one with all its channels, or a table of several."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shardsim.report.parts import SIGNS, Advice, Sentence, new_table, title
from shardsim.units import (
    format_bytes,
    format_capacity,
    format_flops,
    format_rate,
    format_seconds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardsim.rooflines import Answer, Critical, Roofline, Split
    from shardsim.rooflines.attained import Attained

__all__ = [
    "attained_report",
    "curves_report",
    "roofline_report",
    "rooflines_report",
    "split_report",
]

INTENSITY = "FLOP/B"


def roofline_report(answer: Answer) -> RenderableType:
    """One roofline: what is done, the time by each channel, bounds, and where that changes."""
    one = answer.roofline
    lines = [Text(line, style="bold") for line in one.text.split("; ")]
    parts: list[RenderableType] = [*lines, *_head(answer)]
    if not answer.missing:
        parts += [
            *_where(answer),
            *_work(one),
            title("Times, of one chip"),
            _times(one),
            *_notes(one),
        ]
        parts += [title("Bounds"), _bounds(one)]
    if answer.solve is not None:
        heading = f"{answer.solve} at which computing takes as long as"
        parts += [title(heading), *_solved(answer)]
    return Group(*parts)


def _head(answer: Answer) -> Iterator[RenderableType]:
    one = answer.roofline
    topology = one.clock.topology
    known = {dim: e for dim, e in one.extents.items() if dim not in answer.missing}
    if answer.missing:
        known.pop(answer.solve or "", None)
    said = f"; dims {' '.join(f'{d}={e}' for d, e in known.items())}" if known else ""
    count = "" if topology.size == 1 else f"{topology.size:,} x "
    name = topology.chip.title or topology.chip.name
    yield Sentence(f"on {topology.name}: {count}{name}{said}; {one.dtype}")


def _where(answer: Answer) -> Iterator[RenderableType]:
    """At which extent of the dimension solved for the times are."""
    dim = answer.solve
    if answer.at_solution and dim is not None:
        extent = answer.roofline.extents[dim]
        yield Sentence(f"at {dim} = {extent:,}, the first extent from the one solved for on")


def _work(one: Roofline) -> Iterator[RenderableType]:
    intensity = "" if one.intensity is None else f": {figure(one.intensity)} {INTENSITY}"
    done = format_flops(one.flops)
    moved = format_bytes(one.bytes_moved)
    vectors = any(each.on_vectors for each in one.load.operations)
    unit = " on the vector unit" if vectors else ""
    chip = "" if one.clock.topology.size == 1 else " on each chip"
    yield Sentence(f"{done}{unit} and {moved} moved{chip}{intensity}")
    arrays = [f"{p.name} {format_bytes(p.value)}" for p in one.load.moved if p.name]
    if arrays:
        yield Sentence(f"moved: {', '.join(arrays)}")


def _times(one: Roofline) -> RenderableType:
    table = new_table("", "rate", "takes", "needs", "")
    for column in table.columns[1:4]:
        column.justify = "right"
        column.no_wrap = True
    vectors = any(each.on_vectors for each in one.load.operations)
    unit = "vector unit" if vectors else "matrix unit"
    seconds = one.compute_seconds
    table.add_row(
        Text(unit),
        Text("no figure" if one.peak is None else format_rate(one.peak, "FLOP")),
        Text("" if seconds is None else format_seconds(seconds)),
        Text(""),
        Text("T_math"),
    )
    for each in one.channels:
        where = each.channel.note
        said = "T_comms" if each.counts else f"if by this{': ' * bool(where)}{where}"
        table.add_row(
            Text(each.channel.kind.label),
            Text(format_rate(each.channel.bandwidth)),
            Text(format_seconds(each.seconds)),
            Text("" if each.needed is None else f"{figure(each.needed)} {INTENSITY}"),
            Text(said),
            style="" if each.counts else "dim",
        )
    for talk in one.talks:
        table.add_row(
            Text(f"{talk.kind.label}, sent"),
            Text(""),
            Text(SIGNS[talk.relation] + format_seconds(talk.seconds)),
            Text(""),
            Text(f"collectives of V = {format_bytes(talk.size)}; book {format_seconds(talk.book)}"),
        )
    return table


def _notes(one: Roofline) -> Iterator[RenderableType]:
    yield Sentence(
        "needs: FLOPs per byte with which computing takes as long; if by this: if all that is "
        "moved came by this channel"
    )
    if one.compute_seconds is None:
        chip = one.clock.topology.chip
        yield Advice(
            f"the catalogue has no figure for the vector unit of {chip.title or chip.name}: "
            "T_math is left out of the bounds"
        )
    channel = one.memory.channel
    if channel.capacity is not None and one.bytes_moved > channel.capacity:
        yield Advice(
            f"{format_bytes(one.bytes_moved)} do not fit in {channel.kind.label}, which holds "
            f"{format_capacity(channel.capacity)}: they can only be streamed through it"
        )
    for sent in one.load.collectives:
        seconds = format_seconds(one.clock.price(sent).estimate)
        yield Sentence(f"sent: {sent.step.text}: {seconds}")


def _bounds(one: Roofline) -> RenderableType:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
    binds = one.bound or "not known"
    rows = [
        (
            "at least",
            format_seconds(one.lower_bound()),
            "the longest: all overlap, collectives along different axes too",
        ),
        ("at most", format_seconds(one.upper_bound()), "their sum: one after the other"),
        ("bound by", binds, "" if one.bound else "T_math has no figure"),
    ]
    if one.attained is not None and one.peak:
        share = float(one.attained / one.peak)
        reached = f"{share:.1%} of the peak, where all overlap"
        rows.append(("attained", format_rate(one.attained, "FLOP"), reached))
    for name, value, note in rows:
        table.add_row(Text(f"  {name}"), Text(value, justify="right"), Text(note))
    return table


def _solved(answer: Answer) -> Iterator[RenderableType]:
    if not answer.solved:
        yield Sentence("nothing: the chip moves no bytes, or there is no figure for its unit")
    for one in answer.solved:
        yield Sentence(f"{one.channel.label}: {_said(answer, one)}")
    if answer.missing:
        missing = ",".join(f"{dim}=4096" for dim in answer.missing)
        yield Sentence(f"for the exact extent, with all bytes, give --dims {missing}")


def _said(answer: Answer, one: Critical) -> str:
    dim = one.dim
    cut = answer.cuts.get(dim, 1)
    side = "above" if one.computes_above else "below"
    near = "" if one.approximate is None else f"{dim} = {figure(one.approximate)}"
    if answer.missing:
        if not near:
            return f"depends on {', '.join(answer.missing)}"
        return f"{near}, first order: {_first_order(answer, one)}"
    if one.exact is None:
        always = "always" if one.computes_above else "never"
        first = f"; first order {near}" if near else ""
        return f"{always} bound by compute, whatever {dim}{first}"
    bound = f"{side} it the chip is bound by compute"
    if one.computes_above:
        bound = f"from {dim} = {_whole(answer, one.exact):,} on the chip is bound by compute"
    each = "" if cut == 1 else f" ({figure(one.exact / cut)} in each of {cut:,} parts)"
    first = f"; first order {near}, {_first_order(answer, one)}" if near else "; first order never"
    return f"{dim} = {figure(one.exact)}{each}: {bound}{first}"


def _first_order(answer: Answer, one: Critical) -> str:
    if one.channel is not answer.roofline.clock.through:
        return "by the book's formulas"
    small = answer.small or (one.dim,)
    return f"without the bytes of arrays that have {' or '.join(small)}"


def _whole(answer: Answer, value: Fraction) -> int:
    """The first extent from there on that its axes divide."""
    ways = answer.cuts.get(answer.solve or "", 1)
    return max(math.floor(value / ways) + 1, 1) * ways


def figure(value: Fraction) -> str:
    """A number for people: a digit after the point below 10,000, three digits below 10.

    >>> figure(Fraction(24024, 100)), figure(Fraction(1, 2)), figure(Fraction(87555556, 10**4))
    ('240.2', '0.5', '8,755.6')
    """
    number = float(value)
    if abs(number) < 10:
        return f"{number:.3g}"
    return f"{number:,.1f}" if abs(number) < 10_000 else f"{round(number):,}"


def rooflines_report(answers: Sequence[Answer]) -> RenderableType:
    """Several rooflines of the same work: a row for each machine, extents and type."""
    solve = answers[0].solve
    texts = dict.fromkeys(answer.roofline.text for answer in answers)
    table = new_table("on", "type", "dims", "T_math", "T_comms", "needs", "has", "bound by")
    if solve is not None:
        table = new_table(
            "on", "type", "dims", f"{solve}, first order", f"{solve}, exact", "against"
        )
    for column in table.columns[3:7]:
        column.justify = "right"
        column.no_wrap = True
    for answer in answers:
        one = answer.roofline
        known = {d: e for d, e in one.extents.items() if d not in answer.missing and d != solve}
        cells = [one.machine, one.dtype, " ".join(f"{d}={e}" for d, e in known.items())]
        for row in _solved_rows(answer) if solve is not None else [_times_row(one)]:
            table.add_row(*(Text(cell) for cell in (*cells, *row)))
    notes = [Sentence("first order: without the bytes of arrays that have it; network by the book")]
    if solve is None:
        notes = [Sentence("needs, has: FLOPs per byte; T_comms is the memory's, or the network's")]
    return Group(*(Text(text, style="bold") for text in texts), table, *notes)


def _times_row(one: Roofline) -> list[str]:
    compute, intensity = one.compute_seconds, one.intensity
    needed = one.memory.needed
    return [
        "no figure" if compute is None else format_seconds(compute),
        format_seconds(max(one.memory_seconds, one.network_seconds)),
        "" if needed is None else figure(needed),
        "" if intensity is None else figure(intensity),
        one.bound or "not known",
    ]


def _solved_rows(answer: Answer) -> Iterator[list[str]]:
    for one in answer.solved:
        near = "never" if one.approximate is None else figure(one.approximate)
        exact = "never" if one.exact is None else figure(one.exact)
        if answer.missing:
            exact = f"needs {', '.join(answer.missing)}"
        yield [near, exact, one.channel.label]


def split_report(split: Split, answer: Answer) -> RenderableType:
    """How to cut the chips between two axes."""
    first, second, dim = split.first, split.second, split.dim
    chips = answer.roofline.clock.topology.size
    return Group(
        title(f"Cut of {answer.roofline.machine} between {first} and {second}"),
        Sentence(
            f"at {dim} = {split.batch:,} best {first} = {figure(split.size)}, {second} = "
            f"{figure(chips / split.size)} of {chips:,} chips: collectives along each take "
            f"{format_seconds(split.seconds)}, by the book's formulas, latency apart"
        ),
        Sentence(
            f"bound by compute from {dim} = {figure(split.critical * chips)} on "
            f"({figure(split.critical)} a chip), with the best cut there and both axes busy at once"
        ),
    )


def curves_report(answers: Sequence[Answer], curves: Sequence[Attained]) -> RenderableType:
    """What is attained as a dimension grows, and from where on computing binds."""
    dim = curves[0].dim
    texts = dict.fromkeys(line for a in answers for line in a.roofline.text.split("; "))
    notes = []
    for answer, curve in zip(answers, curves, strict=True):
        met = [one.exact for one in answer.roofline.solve(dim) if one.exact is not None]
        said = "the same thing binds everywhere"
        if met:
            said = f"what binds changes last at {dim} = {figure(max(met))}"
        notes.append(Sentence(f"{curve.label}: {said}"))
    return Group(*(Text(text, style="bold") for text in texts), attained_report(curves), *notes)


def attained_report(curves: Sequence[Attained], shown: int = 8) -> RenderableType:
    """FLOP/s attained at some extents, a row for each load."""
    extents = curves[0].extents
    powers = [at for at, extent in enumerate(extents) if extent & (extent - 1) == 0]
    picked = [*powers[-shown:], *([] if powers[-1] == len(extents) - 1 else [len(extents) - 1])]
    table = new_table("TFLOP/s of a chip", *(f"{extents[at]:,}" for at in picked))
    for column in table.columns[1:]:
        column.justify = "right"
    for curve in curves:
        rates = (f"{float(curve.rates[at]) / 1e12:.3g}" for at in picked)
        table.add_row(Text(curve.label), *(Text(rate) for rate in rates))
    return Group(title(f"Attained over {curves[0].dim}, where all overlaps"), table)
