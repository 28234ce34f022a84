"""The closed forms of collectives and matmuls done together, against tables worked by hand.

c is what the core takes for a chunk, h a hop of one, g a hop of half of one, and a the latency.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import pytest

from shardsim.cost.pipeline import Hops, chunked, formula, together
from shardsim.hardware import Link
from shardsim.units import Seconds
from shardsim.vocabulary import CollectiveKind, DimensionKind, Form, LatencyModel
from tests.together import COMBINATIONS, GATHER, LINE, RING, SCATTER, SWITCH

OWN, HALVES, PAIRS = Form.OWN_CHUNK_FIRST, Form.HALF_CHUNKS, Form.PAIRS
ONE, UNPIPELINED = Form.ONE_DIRECTION, Form.UNPIPELINED
NOTHING = Fraction(0)


def plain(transfer: Seconds) -> Hops:
    """Without latency and launch: half a chunk takes half as long."""
    return Hops(transfer, transfer / 2, NOTHING)


# N = 16, c = 1, no latency; a chunk takes m on a link: h = m, g = m/2.

M = ["1/4", "1/2", "1", "2", "4"]
SIXTEEN: dict[tuple[DimensionKind, Form, CollectiveKind], list[str | int]] = {
    # 1 + 15 max(1, m)
    (RING, ONE, GATHER): [16, 16, 16, 31, 61],
    (RING, ONE, SCATTER): [16, 16, 16, 31, 61],
    # 1 + 15 max(1, m/2)
    (RING, HALVES, GATHER): [16, 16, 16, 16, 31],
    (RING, HALVES, SCATTER): [16, 16, 16, 16, 31],
    # m + 8 max(2, m)
    (RING, PAIRS, GATHER): ["16.25", "16.5", 17, 18, 36],
    # 1 + 7 max(2, m) + max(1, m)
    (RING, PAIRS, SCATTER): [16, 16, 16, 17, 33],
    # max(1, m) + 6 max(2, m) + max(2, m/2) + 1
    (RING, OWN, GATHER): [16, 16, 16, 17, 31],
    (RING, OWN, SCATTER): [16, 16, 16, 17, 31],
    # 16 + 15 m
    (RING, UNPIPELINED, SCATTER): ["19.75", "23.5", 31, 46, 76],
    # 1 + 15 max(1, m), on one link each way or at one port
    (LINE, OWN, GATHER): [16, 16, 16, 31, 61],
    (LINE, OWN, SCATTER): [16, 16, 16, 31, 61],
    (SWITCH, OWN, GATHER): [16, 16, 16, 31, 61],
    (SWITCH, OWN, SCATTER): [16, 16, 16, 31, 61],
    (SWITCH, ONE, GATHER): [16, 16, 16, 31, 61],
    (SWITCH, ONE, SCATTER): [16, 16, 16, 31, 61],
    (SWITCH, UNPIPELINED, SCATTER): ["19.75", "23.5", 31, 46, 76],
}


def test_every_form_is_in_the_table() -> None:
    assert set(SIXTEEN) == set(COMBINATIONS)


@pytest.mark.parametrize(("dimension", "form", "kind"), SIXTEEN)
def test_sixteen_chips(dimension: DimensionKind, form: Form, kind: CollectiveKind) -> None:
    found = [together(form, kind, dimension, 16, Fraction(1), plain(Fraction(m))) for m in M]
    assert found == [Fraction(one) for one in SIXTEEN[dimension, form, kind]]


# Few chips, c = 3, h = 5, g = 4, a = 2: everything but c is a hop with its latency.

FEW = {
    # the larger of 3 and 4, then 3
    (RING, OWN, GATHER, 2): 7,
    # 5 + 2*3: both neighbours' chunks come at 5
    (RING, OWN, GATHER, 3): 11,
    # 5, then the larger of 6 and 4, then 3
    (RING, OWN, GATHER, 4): 14,
    # 5 + 6 + 6
    (RING, OWN, SCATTER, 5): 17,
    # a pair more
    (RING, OWN, SCATTER, 6): 20,
    # 3 + (N-1) 4
    (RING, HALVES, GATHER, 2): 7,
    (RING, HALVES, SCATTER, 3): 11,
    # 5 + N/2 6
    (RING, PAIRS, GATHER, 2): 11,
    (RING, PAIRS, GATHER, 4): 17,
    # 3 + (N/2-1) 6 + 5
    (RING, PAIRS, SCATTER, 2): 8,
    (RING, PAIRS, SCATTER, 4): 14,
    # 3 + (N-1) 5
    (RING, ONE, GATHER, 2): 8,
    (RING, ONE, SCATTER, 3): 13,
    # 3 N + 5 (N-1)
    (RING, UNPIPELINED, SCATTER, 2): 11,
    (RING, UNPIPELINED, SCATTER, 3): 19,
    # a line of two has one cable: the whole chunk comes by it
    (LINE, OWN, GATHER, 2): 8,
    (LINE, OWN, SCATTER, 3): 13,
    # 3 + (N-2) max(3, 5-2) + 5: the next message goes while the last is still under way
    (SWITCH, OWN, GATHER, 2): 8,
    (SWITCH, OWN, GATHER, 3): 11,
    (SWITCH, OWN, SCATTER, 4): 14,
    # each waits for the one before: as on a ring
    (SWITCH, ONE, GATHER, 3): 13,
    (SWITCH, UNPIPELINED, SCATTER, 3): 19,
}


@pytest.mark.parametrize(("dimension", "form", "kind", "n"), FEW)
def test_few_chips(dimension: DimensionKind, form: Form, kind: CollectiveKind, n: int) -> None:
    hops = Hops(Fraction(5), Fraction(4), Fraction(2))
    found = together(form, kind, dimension, n, Fraction(3), hops)
    assert found == FEW[dimension, form, kind, n]


@pytest.mark.parametrize(("dimension", "form", "kind"), COMBINATIONS)
def test_one_chip_only_computes(dimension: DimensionKind, form: Form, kind: CollectiveKind) -> None:
    assert together(form, kind, dimension, 1, Fraction(3), plain(Fraction(5))) == 3


# The rule that they come from: what comes is done in order, when it is here.


def done(arrivals: Iterable[Seconds], part: Seconds) -> Seconds:
    end = NOTHING
    for arrival in arrivals:
        end = max(end, arrival) + part
    return end


def arrivals_on_a_ring(n: int, hops: Hops) -> list[Seconds]:
    """The own chunk, two for each further hop, and the last one, if it comes in halves."""
    last = (n - 1) // 2
    times = [NOTHING, *(hops.whole * (i // 2 + 1) for i in range(2 * last))]
    return times if n % 2 else [*times, hops.whole * last + hops.half]


@pytest.mark.parametrize("n", range(2, 12))
def test_forms_are_what_the_rule_says(n: int) -> None:
    numbers = [Fraction(one) for one in ("1/4", "1/2", "3/4", "1", "3/2", "2", "3", "5")]
    for c in numbers:
        for transfer in numbers:
            for latency in (NOTHING, Fraction(1, 2), Fraction(2)):
                hops = Hops(transfer + latency, transfer / 2 + latency, latency)
                steps = [hops.whole * i for i in range(n)]
                halves = [hops.half * (i // 2) for i in range(2 * n)]
                sent = [NOTHING, *(transfer * i + latency for i in range(1, n))]
                rule = {
                    (RING, OWN): done(arrivals_on_a_ring(n, hops), c),
                    (RING, HALVES): done(halves, c / 2),
                    (RING, ONE): done(steps, c),
                    (LINE, OWN): done(steps, c),
                    (SWITCH, OWN): done(sent, c),
                }
                if n % 2 == 0:
                    pairs = [hops.whole * (i + 1) for i in range(n // 2)]
                    rule[RING, PAIRS] = max(done(pairs, 2 * c), hops.whole * (n // 2 + 1))
                for (dimension, form), expected in rule.items():
                    assert together(form, GATHER, dimension, n, c, hops) == expected


# In words.

WORDS = {
    (RING, OWN, GATHER, 16): "max(c, h) + 6 max(2c, h) + max(2c, g) + c",
    (RING, OWN, SCATTER, 15): "max(c, h) + 6 max(2c, h) + 2c",
    (RING, OWN, GATHER, 6): "max(c, h) + 1 max(2c, h) + max(2c, g) + c",
    (RING, OWN, GATHER, 4): "max(c, h) + max(2c, g) + c",
    (RING, OWN, GATHER, 3): "max(c, h) + 2c",
    (RING, OWN, GATHER, 2): "max(c, g) + c",
    (RING, HALVES, GATHER, 16): "c + 15 max(c, g)",
    (RING, PAIRS, GATHER, 16): "h + 8 max(2c, h)",
    (RING, PAIRS, SCATTER, 16): "c + 7 max(2c, h) + max(c, h)",
    (RING, ONE, SCATTER, 16): "c + 15 max(c, h)",
    (RING, UNPIPELINED, SCATTER, 16): "16c + 15h",
    (LINE, OWN, GATHER, 16): "c + 15 max(c, h)",
    (SWITCH, OWN, SCATTER, 16): "c + 14 max(c, h-a) + max(c, h)",
    (SWITCH, ONE, GATHER, 16): "c + 15 max(c, h)",
}


@pytest.mark.parametrize(("dimension", "form", "kind", "n"), WORDS)
def test_formulas(dimension: DimensionKind, form: Form, kind: CollectiveKind, n: int) -> None:
    assert formula(form, kind, dimension, n) == WORDS[dimension, form, kind, n]


def value(words: str, c: Seconds, hops: Hops) -> Seconds:
    """What a formula in words comes to."""
    total = NOTHING
    names = {"c": c, "2c": 2 * c, "h": hops.whole, "g": hops.half, "h-a": hops.whole - hops.tail}
    for term in words.split(" + "):
        before, _, inside = term.partition("max(")
        if inside:
            largest = max(names[name] for name in inside.rstrip(")").split(", "))
            total += int(before or 1) * largest
        else:
            total += int(term[:-1] or 1) * names[term[-1]]
    return total


@pytest.mark.parametrize(("dimension", "form", "kind"), COMBINATIONS)
def test_the_words_come_to_the_same(
    dimension: DimensionKind, form: Form, kind: CollectiveKind
) -> None:
    for n in range(2, 20, 2 if form is PAIRS else 1):
        words = formula(form, kind, dimension, n)
        for c, h, g, a in [(3, 5, 4, 2), (1, 7, 4, 1), (5, 3, 2, 1), (4, 6, 5, 0)]:
            hops = Hops(Fraction(h), Fraction(g), Fraction(a))
            assert value(words, Fraction(c), hops) == together(
                form, kind, dimension, n, Fraction(c), hops
            )


# Hops: 120 bytes over 10 bytes/s take 12 s.

HOPS = [
    # latency, launch, efficiency, model; whole, half, tail
    (0, 0, 1, "additive", 12, 6, 0),
    (2, 0, 1, "additive", 14, 8, 2),
    (2, 1, 1, "additive", 15, 9, 2),
    (2, 1, "3/4", "additive", 19, 11, 2),
    # in the floor model a hop takes the larger of the two, and the link is free when it is there
    (0, 0, 1, "floor", 12, 6, 0),
    (2, 0, 1, "floor", 12, 6, 0),
    (8, 0, 1, "floor", 12, 8, 0),
    (20, 0, 1, "floor", 20, 20, 0),
    (8, 1, 1, "floor", 13, 9, 0),
    (9, 1, "3/4", "floor", 17, 10, 0),
]


@pytest.mark.parametrize(
    ("latency", "launch", "efficiency", "model", "whole", "half", "tail"), HOPS
)
def test_hops(
    latency: int, launch: int, efficiency: str, model: str, whole: int, half: int, tail: int
) -> None:
    found = Hops.of(
        Fraction(120),
        Link(Fraction(10), Fraction(latency)),
        LatencyModel(model),
        efficiency=Fraction(efficiency),
        launch=Fraction(launch),
    )
    assert found == Hops(Fraction(whole), Fraction(half), Fraction(tail))


# c + (S-1) max(c, R-e) + R

CHUNKS = [
    # S, c, R, e; seconds
    (1, 3, 5, 0, 8),
    # the links decide: 3 + 4*5
    (4, 3, 5, 0, 23),
    # each is launched, and the last bytes of the one before arrive, meanwhile: 3 + 3*4 + 5
    (4, 3, 5, 1, 20),
    # the core decides: 4*6 + 5
    (4, 6, 5, 0, 29),
    (4, 6, 5, 1, 29),
]


@pytest.mark.parametrize(("parts", "c", "reduced", "early", "expected"), CHUNKS)
def test_chunks(parts: int, c: int, reduced: int, early: int, expected: int) -> None:
    assert chunked(parts, Fraction(c), Fraction(reduced), Fraction(early)) == expected
