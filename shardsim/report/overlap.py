"""What overlaps, for people: steps done together, what stays exposed, and the critical path."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from rich.text import Text

from shardsim.comparison.exposure import DEFINITION
from shardsim.planner import CollectiveStep
from shardsim.report.parts import SIGNS, Sentence, new_table, title
from shardsim.units import format_seconds
from shardsim.vocabulary import Overlap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from shardsim.comparison import Run
    from shardsim.comparison.critical_path import PathStep
    from shardsim.overlap import Considered

__all__ = ["exposure", "path_lines", "together"]

LETTERS = {
    "c": "c: the matmul of a chunk (or part)",
    "h": "h: one hop of a chunk, launch and latency included",
    "g": "g: of half a chunk",
    "-a": "a: latency",
    "R": "R: the AllReduce of a part",
    "-e": "e: its launch, and how much sooner its links are free again",
}
MOST_PAIRS = 4
MOST_FORMS = 6
MOST_PIECES = 9
MOST_CLASSES = 6


def together(run: Run) -> list[RenderableType]:
    """For each collective and its matmul what was decided, and the time of each form."""
    considered, plan = run.considered, run.plan
    if run.scenario.options.overlap not in (Overlap.DECOMPOSED, Overlap.AUTO):
        return []
    if not considered:
        nothing = (
            "none: no AllGather is read by one matmul alone, and no ReduceScatter or AllReduce "
            "follows a matmul (an AllGather of its result is not cut)"
        )
        return [title("Collectives and matmuls together"), Sentence(nothing)]
    first = [one for one in considered if one.collective < plan.first_steps]
    parts: list[RenderableType] = [title("Collectives and matmuls together")]
    for one in first[:MOST_PAIRS]:
        low, high = sorted((one.collective + 1, one.matmul + 1))
        parts.append(Sentence(f"steps {low} and {high}, {one.text}: {one.why}"))
        if one.ways:
            parts.append(_forms(one))
    formulas = " ".join(way.formula for one in first for way in one.ways)
    said = [meaning for letter, meaning in LETTERS.items() if letter in formulas]
    parts += [Sentence("; ".join(said))] if said else []
    if len(considered) > MOST_PAIRS or len(considered) > len(first):
        more = len(considered) - len(first[:MOST_PAIRS])
        parts.append(Sentence(f"and {more} more pairs (--json has them)"))
    return parts


def _forms(one: Considered) -> RenderableType:
    table = new_table("", "form", "time", "a part", "parts", "formula")
    for column in table.columns[2:5]:
        column.justify = "right"
        column.no_wrap = True
    for index, way in enumerate(one.ways[:MOST_FORMS]):
        table.add_row(
            Text("taken" if index == 0 and one.chosen is way.form else ""),
            Text(way.form.value),
            Text(SIGNS[way.relation] + format_seconds(way.seconds)),
            Text(format_seconds(way.part_seconds)),
            Text(str(way.parts)),
            Text(way.formula),
        )
    return table


def exposure(run: Run) -> list[RenderableType]:
    """What stays exposed of each collective, and on which chips; nothing where nothing is sent."""
    collectives = [
        (index, times) for index, times in enumerate(run.steps, 1)
        if isinstance(times.step, CollectiveStep)
    ]  # fmt: skip
    if not collectives:
        return []
    first = [one for one in collectives if one[0] <= run.plan.first_steps]
    said = [
        f"{index}: {format_seconds(times.exposed)} of {format_seconds(times.lasts)}"
        for index, times in first[:MOST_PIECES]
    ]
    others = collectives[len(first[:MOST_PIECES]) :]
    if others:
        bare = sum((times.exposed for _, times in others), Fraction(0))
        said.append(f"the other {len(others)} together: {format_seconds(bare)}")
    lines: list[RenderableType] = [
        title("Exposed communication"),
        Sentence(f"{DEFINITION}; by step, of how long the chip that finishes last takes part"),
        Sentence("; ".join(said)),
    ]
    classes = run.chip_classes
    if len(classes) > 1:
        for one in classes[:MOST_CLASSES]:
            shares = one.shares
            chips = f"{one.chips:,} chips such as" if one.chips > 1 else "chip"
            lines.append(
                Sentence(
                    f"{chips} ({', '.join(map(str, one.example))}): "
                    f"{format_seconds(shares.exposed)} exposed of "
                    f"{format_seconds(shares.communication)}, done at {format_seconds(shares.end)}"
                )
            )
        if len(classes) > MOST_CLASSES:
            lines.append(Sentence(f"and {len(classes) - MOST_CLASSES} more kinds of chips"))
    return [*lines, *path_lines(run.critical_path)]


def path_lines(path: Sequence[PathStep]) -> list[RenderableType]:
    """The critical path, from piece to piece."""
    if not path:
        return []
    pieces = [
        f"{piece.step + 1} {'computes' if piece.computes else 'sends'} "
        f"{format_seconds(piece.seconds)}"
        for piece in path
    ]
    if len(pieces) > MOST_PIECES:
        middle = len(pieces) - MOST_PIECES + 1
        pieces = [*pieces[: MOST_PIECES // 2], f"{middle} more", *pieces[-(MOST_PIECES // 2) :]]
    sending = sum((piece.seconds for piece in path if not piece.computes), Fraction(0))
    return [
        Sentence(
            f"critical path, {format_seconds(sending)} of it communication: {', '.join(pieces)}"
        )
    ]
