"""A question answered: a quantity of a subject, or several of them put together.

A question is a mapping with one subject and `gives`:

    {collective: {kind: AllGather, size: 32 MiB, topology: v5e:8x4, axes: Y}, gives: exact_seconds}

or with one of `ratio` (of two questions), `sum`, `product`, `largest` and `smallest` (of several).
No number stands in a question by itself: all come from subjects.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Any

from shardsim.book.subjects import SUBJECTS, Value, known_inputs
from shardsim.documents import described, nearest
from shardsim.errors import InputError, InputErrors, Place, ScenarioError

__all__ = ["Way", "ask", "changed", "way_of"]


class Way(StrEnum):
    """How an answer comes about.

    `plain`: counted, or by the book's first-order formulas. `exact`: by closed forms or all bytes,
    without an approximation. `simulated`: by the discrete-event simulation.
    """

    PLAIN = "plain"
    EXACT = "exact"
    SIMULATED = "simulated"


EXACTLY = re.compile(
    r"exact|bandwidth_seconds$|latency_seconds$|^network_seconds|^lower_bound|^upper_bound|^algbw|"
    r"^attained|^wire_bytes_per_chip$"
)
SIMULATED = re.compile(r"simulated|^busbw|^wire_bytes$")


def way_of(question: Any) -> Way:
    """How a question is answered, by what it asks for; of several the least plain one.

    >>> way_of({"collective": {}, "gives": "book_seconds"}).value
    'plain'
    >>> way_of({"ratio": [{"gives": "exact_seconds"}, {"gives": "simulated_seconds"}]}).value
    'simulated'
    """
    if isinstance(question, list):
        return max(map(way_of, question), key=list(Way).index, default=Way.PLAIN)
    if not isinstance(question, Mapping):
        return Way.PLAIN
    gives = str(question.get("gives", ""))
    if SIMULATED.search(gives):
        return Way.SIMULATED
    if EXACTLY.search(gives) and not gives.startswith("book_"):
        return Way.EXACT
    several = (value for key, value in question.items() if key in OF_SEVERAL)
    return max(map(way_of, several), key=list(Way).index, default=Way.PLAIN)


def _ratio(values: Sequence[Fraction]) -> Fraction:
    first, second = values
    if second == 0:
        raise ScenarioError("the second question of a ratio has the answer 0", "ask another")
    return first / second


OF_SEVERAL: Mapping[str, Callable[[Sequence[Fraction]], Fraction]] = {
    "ratio": _ratio,
    "sum": lambda values: sum(values, Fraction(0)),
    "product": lambda values: math.prod(values, start=Fraction(1)),
    "largest": max,
    "smallest": min,
}
ROUNDED: Mapping[str, Callable[[Fraction], int]] = {"down": math.floor, "up": math.ceil}


def ask(question: Mapping[str, Any], place: Place | None = None) -> Fraction:
    """The answer to a question.

    Args:
        question: See above; `rounded: down` or `up` makes the answer a whole number.
        place: Where it stands, for the errors.

    Raises:
        InputError: the question cannot be read, or what it asks of cannot be made.

    >>> ask({"arrays": {"hold": "bf16[I_X]", "on": "v5e:4x4", "dims": {"I": 64}},
    ...      "gives": "bytes_per_chip"})
    Fraction(32, 1)
    """
    try:
        return _asked(question)
    except InputErrors as several:
        raise InputErrors(tuple(error.at(place) for error in several.errors)) from None
    except InputError as error:
        raise error.at(place) from None


def _asked(question: Mapping[str, Any]) -> Fraction:
    if not isinstance(question, Mapping):
        why = f"a question is a mapping, not {described(question)}"
        raise ScenarioError(why, "write {arrays: {...}, gives: bytes}")
    known = [*SUBJECTS, *OF_SEVERAL]
    subjects = [key for key in question if key not in ("gives", "rounded")]
    if len(subjects) != 1 or subjects[0] not in known:
        has = ", ".join(subjects) or "none"
        why = f"a question has one of {', '.join(known)}; this one has {has}"
        near = nearest(subjects[0], known) if subjects else ""
        raise ScenarioError(why, near or "name one of them")
    subject = subjects[0]
    if subject in OF_SEVERAL:
        value = _of_several(subject, question[subject])
    else:
        value = _quantity(subject, question[subject], question.get("gives"))
    rounding = question.get("rounded")
    if rounding is None:
        return value
    if rounding not in ROUNDED:
        raise ScenarioError(f"rounded is down or up; it is {described(rounding)}", "write down")
    return Fraction(ROUNDED[rounding](value))


def _of_several(how: str, questions: Any) -> Fraction:
    if not isinstance(questions, list) or not questions or (how == "ratio" and len(questions) != 2):
        count = "two questions" if how == "ratio" else "questions"
        raise ScenarioError(f"{how} is of a list of {count}", f"write {how}: [{{...}}, {{...}}]")
    return OF_SEVERAL[how]([_asked(one) for one in questions])


def _quantity(subject: str, inputs: Any, gives: Any) -> Fraction:
    made = SUBJECTS[subject]
    if not isinstance(inputs, Mapping):
        why = f"{subject} is a mapping of what it is made from, not {described(inputs)}"
        raise ScenarioError(why, f"write {subject}: {{...}}")
    takes_all = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(made).parameters.values())
    if not takes_all:
        known_inputs(made, inputs, subject)
    try:
        inspect.signature(made).bind(**inputs)
    except TypeError as error:
        raise ScenarioError(f"{subject}: {error}", "add it") from None
    quantities = made(**inputs)
    if not isinstance(gives, str) or gives not in quantities:
        raise ScenarioError(
            f"{subject} gives no {described(gives)}; it gives {', '.join(quantities)}",
            nearest(gives, quantities) or "name one of them under gives",
        )
    value: Value = quantities[str(gives)]()
    if value is None:
        raise ScenarioError(f"{gives} of this {subject} is not known", "ask for something else")
    return Fraction(value)


def changed(question: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The question with `gives` replaced, and the keys under `with` replaced in its subject.

    >>> changed({"machine": {"on": "v5e"}, "gives": "chips"}, {"with": {"on": "v5e:4x4"}})
    {'machine': {'on': 'v5e:4x4'}, 'gives': 'chips'}
    """
    if any(key in changes for key in (*SUBJECTS, *OF_SEVERAL)):
        return dict(changes)
    found = {**question, **{key: value for key, value in changes.items() if key != "with"}}
    for subject in SUBJECTS:
        if subject in found and "with" in changes:
            found[subject] = {**found[subject], **changes["with"]}
    return found
