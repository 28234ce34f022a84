"""The formulas that are printed are those that are computed."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from shardsim.cost.book import book_seconds
from shardsim.cost.exact import exact_terms
from shardsim.cost.words import book_in_words, exact_in_words
from shardsim.hardware import Link
from shardsim.vocabulary import Algorithm, CollectiveKind, LatencyModel

LINK = Link(Fraction(7), Fraction(3, 11))
V = Fraction(5000)


def value(text: str) -> Fraction:
    """Evaluates `2 (3/4 V/w + 3a)`: a space or nothing between factors multiplies."""
    text = re.sub(r"V/(\d*)w", lambda m: f"(V/({m[1] or 1}*w))", text)
    text = re.sub(r"(\d+)/(\d+)", r"Fraction(\1, \2)", text)
    text = re.sub(r"(\d+)a\b", r"\1*a", text)
    text = re.sub(r"([\d)]) (?=[(a-zV])", r"\1*", text)
    names = {"V": V, "w": LINK.one_way_bandwidth, "a": LINK.latency, "Fraction": Fraction}
    return Fraction(eval(text, {"max": max}, names))


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 15, 16])
@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("kind", CollectiveKind)
def test_exact(kind: CollectiveKind, algorithm: Algorithm, size: int) -> None:
    text = exact_in_words(kind, size, algorithm, LatencyModel.ADDITIVE)
    terms = exact_terms(kind, V, size, LINK, algorithm, LatencyModel.ADDITIVE)
    assert value(text) == terms.total


@pytest.mark.parametrize("size", [2, 3, 4, 7, 16])
@pytest.mark.parametrize("kind", CollectiveKind)
def test_book(kind: CollectiveKind, size: int) -> None:
    text = book_in_words(kind, size)
    assert value(text) == book_seconds(kind, V, size, LINK)
    nothing = text.replace("V/", "0 V/")
    assert value(nothing) == book_seconds(kind, Fraction(0), size, LINK)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("kind", CollectiveKind)
def test_the_floor_model(kind: CollectiveKind, algorithm: Algorithm, size: int) -> None:
    """Where every message is longer than the latency, only the bandwidth term is left."""
    text, said = exact_in_words(kind, size, algorithm, LatencyModel.FLOOR).split(", ")
    link = Link(LINK.one_way_bandwidth, Fraction(1, 10**9))
    terms = exact_terms(kind, V, size, link, algorithm, LatencyModel.FLOOR)
    assert said == "a message taking at least a"
    assert value(text) == terms.total
