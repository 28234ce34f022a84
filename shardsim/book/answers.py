"""A record of the book beside its answers: how far off they are, and whether that is explained."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shardsim.book.asking import Way, ask, changed, way_of
from shardsim.book.form import Chapter, RecordForm
from shardsim.catalogue import data_folder
from shardsim.documents import nearest, read_document, validate
from shardsim.errors import Place, ScenarioError, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["BookAnswer", "answer_chapter", "answer_record", "chapters", "counts"]

FORMAT = "shardsim/book/1"


@dataclass(frozen=True, kw_only=True)
class BookAnswer:
    """A worked number of the book and what comes out here.

    Attributes:
        record: The record, as its file has it.
        chapter: The name of the chapter.
        first_order: As the book works it out.
        exact: Without what is first-order in it; None where there is nothing to leave out.
    """

    record: RecordForm
    chapter: str
    first_order: Fraction
    exact: Fraction | None

    @property
    def off(self) -> Fraction | None:
        """How far the first-order answer is from what is printed, as a share of that."""
        printed = self.record.printed
        return None if not printed else (self.first_order - printed) / printed

    @property
    def way(self) -> Way:
        """How the first answer comes about: not all that the book works out is first order."""
        return way_of(self.record.first_order)

    @property
    def exact_way(self) -> Way | None:
        """How the second does; `plain` where it is the same with figures that are not rounded."""
        if self.record.exact is None:
            return None
        return way_of(changed(self.record.first_order, self.record.exact))

    @cached_property
    def agrees(self) -> bool:
        """Whether what is printed comes out, within what its rounding allows."""
        if self.record.printed is None:
            return True
        if self.off is None:
            return self.first_order == 0
        return abs(self.off) <= self.record.tolerance

    @property
    def explained(self) -> bool:
        """Whether it agrees, or the record says why it does not."""
        return self.agrees or bool(self.record.why)

    def to_dict(self) -> dict[str, Any]:
        """An entry of `book --json`."""
        record = self.record
        return {
            "id": record.id,
            "chapter": self.chapter,
            "where": record.where,
            "kind": record.kind,
            "asks": record.asks,
            "status": record.status.value,
            "unit": record.unit.value,
            "printed": None if record.printed is None else float(record.printed),
            "first_order": float(self.first_order),
            "first_order_way": self.way.value,
            "exact": None if self.exact is None else float(self.exact),
            "exact_way": None if self.exact_way is None else self.exact_way.value,
            "tolerance": float(record.tolerance),
            "agrees": self.agrees,
            "why": record.why or None,
            "question": record.first_order,
        }


def chapters() -> list[str]:
    """The chapters with worked numbers, in the order of the book."""
    paths = (data_folder("scenarios") / "book").glob("*.yaml")
    return [path.stem.partition("-")[2] for path in sorted(paths)]


def answer_chapter(word: str) -> tuple[Chapter, tuple[BookAnswer, ...]]:
    """A chapter with all its numbers worked out.

    Args:
        word: The chapter's name: `roofline`.

    Raises:
        ScenarioError: there is no such chapter.

    >>> chapter, answers = answer_chapter("roofline")
    >>> answers[1].record.id, float(answers[1].first_order)
    ('roofline.v5e.intensity', 240.2439024390244)
    """
    chapter, places = _read(word)
    made = (
        answer_record(record, chapter.chapter, place)
        for record, place in zip(chapter.records, places, strict=True)
    )
    return chapter, tuple(made)


def answer_record(record: RecordForm, chapter: str, place: Place | None = None) -> BookAnswer:
    """One record with its answers.

    Raises:
        InputError: its questions cannot be answered.
    """
    exactly = None if record.exact is None else changed(record.first_order, record.exact)
    return BookAnswer(
        record=record,
        chapter=chapter,
        first_order=ask(record.first_order, place),
        exact=None if exactly is None else ask(exactly, place),
    )


def _read(word: str) -> tuple[Chapter, list[Place | None]]:
    for path in sorted((data_folder("scenarios") / "book").glob("*.yaml")):
        if path.stem.partition("-")[2] == word:
            document = read_document(path)
            chapter = validate(document, Chapter, f"chapter {word}")
            places = [document.place("records", at) for at in range(len(chapter.records))]
            return chapter, places
    known = chapters()
    raise ScenarioError(
        f"no chapter {word!r} has worked numbers; those are {', '.join(known)}",
        nearest(word, known) or "name one of them, or none for all",
        Source(word, "chapter").whole,
    )


def counts(answers: Iterable[BookAnswer]) -> Mapping[str, tuple[int, int, int, int]]:
    """For each kind: how many records, how many agree, differ with a reason, differ without."""
    found: dict[str, list[int]] = {}
    for one in answers:
        row = found.setdefault(one.record.kind, [0, 0, 0, 0])
        row[0] += 1
        row[1 if one.agrees else 2 if one.explained else 3] += 1
    return {kind: (row[0], row[1], row[2], row[3]) for kind, row in sorted(found.items())}
