"""The book's worked numbers as text: printed, first order, exact, and why they differ."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from shardsim.book.answers import counts
from shardsim.book.asking import Way
from shardsim.book.form import Status, Unit
from shardsim.report.parts import Sentence, new_table, title
from shardsim.units import format_bytes, format_flops, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardsim.book import BookAnswer
    from shardsim.book.form import Chapter

__all__ = ["book_report", "counts_report"]

DAY = 86_400
LONG = 10_000
MARKS = {Way.PLAIN: "", Way.EXACT: " x", Way.SIMULATED: " s"}


def book_report(chapter: Chapter, answers: Sequence[BookAnswer]) -> RenderableType:
    """A chapter: a row for each number, and notes on those that differ."""
    table = new_table("", "asked", "printed", "first order", "off", "exact")
    for column in table.columns[2:]:
        column.justify = "right"
        column.no_wrap = True
    for number, answer in enumerate(answers, start=1):
        record = answer.record
        printed = "" if record.printed is None else shown(record.printed, record.unit)
        if record.status is Status.MEASURED:
            printed += " m"
        table.add_row(
            Text(str(number)),
            Text(record.asks if record.where == "text" else f"{record.where}: {record.asks}"),
            Text(printed or "-"),
            Text(shown(answer.first_order, record.unit) + MARKS[answer.way]),
            Text(_off(answer), style="" if answer.explained else "bold red"),
            Text(_second(answer)),
        )
    reasons: dict[str, list[int]] = {}
    for number, answer in enumerate(answers, start=1):
        if answer.record.why:
            reasons.setdefault(answer.record.why, []).append(number)
    notes = [Sentence(f"{', '.join(map(str, of))}: {why}") for why, of in reasons.items()]
    parts: list[RenderableType] = [Text(f"{chapter.title}", style="bold"), table]
    parts.append(
        Sentence(
            "-: the book has the formula or the question, not the number; m: measured there; "
            "x: by closed forms or all bytes, not first order; s: simulated; u: the same formula "
            "with figures that are not rounded"
        )
    )
    return Group(*parts, *([title("Why they differ"), *notes] if notes else []))


def _second(answer: BookAnswer) -> str:
    """The exact answer, or the same one with figures that are not rounded."""
    if answer.exact is None or answer.exact_way is None:
        return ""
    mark = " u" if answer.exact_way is Way.PLAIN else MARKS[answer.exact_way]
    return shown(answer.exact, answer.record.unit) + mark


def _off(answer: BookAnswer) -> str:
    off = answer.off
    if off is None:
        return ""
    if abs(off) < 5e-6:
        return "="
    return f"{float(off):+.2%}" if abs(off) < 0.1 else f"{float(off):+.0%}"


def counts_report(answers: Sequence[BookAnswer]) -> RenderableType:
    """How many numbers of each kind come out."""
    table = new_table("kind", "numbers", "come out", "differ, explained", "differ")
    for column in table.columns[1:]:
        column.justify = "right"
    rows = [(kind, *row) for kind, row in counts(answers).items()]
    total = ["all", *(sum(int(row[at]) for row in rows) for at in range(1, 5))]
    for row in (*rows, total):
        table.add_row(*(Text(str(cell)) for cell in row))
    return Group(title("All numbers"), table, *_legend())


def _legend() -> Iterator[RenderableType]:
    yield Sentence(
        "come out: what is printed, within what its rounding allows, or nothing is printed"
    )


def shown(value: Fraction, unit: Unit) -> str:
    """A number with its unit, for people.

    >>> shown(Fraction(56, 10**5), Unit.SECONDS), shown(Fraction(8755556, 1000), Unit.ELEMENTS)
    ('560 µs', '8,756')
    """
    prefixed = _PREFIXED.get(unit)
    if prefixed is not None:
        return prefixed(value)
    number = float(value)
    match unit:
        case Unit.FLOPS_PER_DOLLAR:
            return f"{number:.3g} FLOP/$"
        case Unit.FLOPS_PER_BYTE | Unit.RATIO:
            return f"{number:,.4g}" if number < LONG else f"{number:,.0f}"
        case Unit.PER_SECOND:
            return f"{number:,.3g}/s" if number < LONG else f"{number:,.0f}/s"
        case _:
            return _count(number)


def _duration(value: Fraction) -> str:
    if value < DAY:
        return format_seconds(value)
    days = float(value) / DAY
    return f"{days:,.1f} days" if days < 1000 else f"{days / 365.25:,.1f} years"


def _count(number: float) -> str:
    for power, letter in ((12, "e12"), (9, "e9")):
        if abs(number) >= 10**power:
            return f"{number / 10**power:.4g}{letter}"
    is_whole = abs(number - round(number)) < 1e-9 or abs(number) >= 1000
    return f"{number:,.0f}" if is_whole else f"{number:,.4g}"


def _flops(value: Fraction) -> str:
    return format_flops(value) if value < 10**21 else f"{float(value):.3g} FLOP"


_PREFIXED: dict[Unit, Callable[[Fraction], str]] = {
    Unit.SECONDS: _duration,
    Unit.BYTES: format_bytes,
    Unit.BYTES_PER_SECOND: format_rate,
    Unit.FLOPS_PER_SECOND: partial(format_rate, unit="FLOP"),
    Unit.FLOPS: _flops,
}
