"""Law: every collective, on every fabric, moves real numbers to numpy's answer.

The step programs run on blocks of integers. What a chip does not have yet is rubbish, so a block
that is sent too early, or never comes, is seen.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shardsim.call import Call
from shardsim.cost import Wanted
from shardsim.oracle import execute
from shardsim.oracle.movement import exchange
from shardsim.topology import Coordinate
from shardsim.vocabulary import Algorithm, CollectiveKind, Schedule, TransferKind
from tests.machines import planned
from tests.relations import (
    ADDITIVE,
    KEYS,
    LINE,
    RING,
    RING_ALGORITHMS,
    ROWS,
    SWITCH,
    SWITCH_ALGORITHMS,
    Case,
    Machine,
    Part,
    Row,
    cable,
    call_on,
    cases,
    machine,
)

CASES = max(1, settings().max_examples // 25)
RNG = np.random.default_rng(11)
RUBBISH = 10**9
Numbers = NDArray[np.int64]
Pick = Callable[[Sequence[Any]], Any]
COLLECTIVES = tuple(CollectiveKind)
REDUCING = (CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_REDUCE)


def picked(seed: int) -> Pick:
    """Any of the lanes that may send."""
    chance = random.Random(seed)
    return lambda ready: ready[chance.randrange(len(ready))]


def blocks_of(
    call: Call, members: Sequence[Coordinate], given_: Numbers
) -> dict[Coordinate, dict[tuple[int, ...], Numbers]]:
    """What each chip holds at the start; `given_[i, j]`: what chip i has for (or of) chip j."""
    place = call.group.place
    found: dict[Coordinate, dict[tuple[int, ...], Numbers]] = {}
    for i, chip in enumerate(members):
        mine: dict[tuple[int, ...], Numbers] = {}
        for j, other in enumerate(members):
            if call.kind in REDUCING:
                mine[place(other)] = given_[i, j].copy()
            elif call.kind is CollectiveKind.ALL_TO_ALL:
                for k, origin in enumerate(members):
                    part = given_[i, j] if k == i else np.full_like(given_[i, j], RUBBISH)
                    mine[*place(origin), *place(other)] = part.copy()
            else:
                mine[place(other)] = (
                    given_[i, i].copy() if j == i else np.full_like(given_[i, i], RUBBISH)
                )
        found[chip] = mine
    return found


def check(call: Call, pick: Pick | None = None, elements: int = 12) -> None:
    """Runs a call in each group, and compares with what it should do."""
    group = call.group
    for members in group.instances:
        size = len(members)
        numbers = RNG.integers(-999, 1000, (size, size, elements))
        blocks = blocks_of(call, members, numbers)
        exchange(call, members, blocks, pick)
        for i, chip in enumerate(members):
            held = blocks[chip]
            match call.kind:
                case CollectiveKind.ALL_GATHER:
                    for j, other in enumerate(members):
                        assert np.array_equal(held[group.place(other)], numbers[j, j])
                case CollectiveKind.REDUCE_SCATTER:
                    assert np.array_equal(held[group.place(chip)], numbers[:, i].sum(axis=0))
                case CollectiveKind.ALL_REDUCE:
                    for j, other in enumerate(members):
                        assert np.array_equal(held[group.place(other)], numbers[:, j].sum(axis=0))
                case CollectiveKind.ALL_TO_ALL:
                    for j, origin in enumerate(members):
                        key = (*group.place(origin), *group.place(chip))
                        assert np.array_equal(held[key], numbers[j, i])
                case TransferKind.PERMUTE:
                    if size > 1:
                        there = group.peer(chip, 0, call.shift)
                        if call.permutation is not None:
                            there = call.permutation.targets[chip]
                        assert np.array_equal(blocks[there][group.place(chip)], numbers[i, i])
                case TransferKind.GATHER:
                    at_root = blocks[members[call.root]]
                    assert np.array_equal(at_root[group.place(chip)], numbers[i, i])
                case TransferKind.SEND:
                    pass
        if call.kind is TransferKind.SEND and size > 1:
            first, last = ends_of(call, members)
            sent = numbers[members.index(first), members.index(first)]
            assert np.array_equal(blocks[last][group.place(first)], sent)


def ends_of(call: Call, members: Sequence[Coordinate]) -> tuple[Coordinate, Coordinate]:
    """The first and the last chip of a group on one segment."""
    in_order = sorted(members, key=call.group.rank)
    return in_order[0], in_order[-1]


@pytest.mark.parametrize("row", ROWS, ids=KEYS)
def test_every_row(row: Row) -> None:
    """On random machines, with lanes served in the program's order and in any other."""

    @settings(max_examples=CASES)
    @given(cases(row), st.none() | st.integers(0, 999).map(picked))
    def law(case: Case, pick: Pick | None) -> None:
        check(case.call, pick)

    law()


# The machines that must not be left to chance.


def grids() -> Iterator[tuple[str, Machine]]:
    """Grids of rings, of lines and mixed ones, over all axes in both orders."""
    for shape in ((2, 2), (4, 2), (2, 2, 2), (3, 5), (8,)):
        mixed = (RING, LINE, RING)[: len(shape)]
        for kinds in dict.fromkeys([(RING,) * len(shape), (LINE,) * len(shape), mixed]):
            parts = [Part(size, kind) for size, kind in zip(shape, kinds, strict=True)]
            names = "XYZ"[: len(shape)]
            text = "x".join(f"{part.size}{part.kind.value[0]}" for part in parts)
            for axes in (names, names[::-1]) if len(shape) == 2 else (names,):
                yield f"{text} {axes}", machine(*parts, axes=axes)


def other_machines() -> Iterator[tuple[str, Machine]]:
    for axes in ("X", "Y", "XY", "YX"):
        for kind in (RING, LINE):
            cut = machine(Part(16, kind), sizes={"X": 4, "Y": 4}, axes=axes)
            yield f"16{kind.value[0]} as 4x4 {axes}", cut
    for axes in ("XZ", "ZX"):
        cut = machine(Part(8, RING), sizes={"X": 2, "Y": 2, "Z": 2}, axes=axes)
        yield f"8r as 2x2x2 {axes}", cut
    lines = Part(3, LINE), Part(3, LINE)
    yield "snake", machine(*lines, sizes={"X": 9}, layout={"X": "snake"})
    yield "ring", machine(Part(2, LINE), Part(3, LINE), sizes={"X": 6}, layout={"X": "ring"})
    order = [(0,), (3,), (1,), (5,), (2,), (4,)]
    yield "any order", machine(Part(6, RING), sizes={"X": 3, "Y": 2}, axes="X", devices=order)
    yield "cut ring", machine(Part(5, RING), changed=cable((2,), 0, 5))
    beside = machine(Part(4, RING), Part(2, RING), axes="X", changed=cable((1, 1), 0, 4))
    yield "cut ring beside a whole one", beside
    grid = machine(Part(4, RING), Part(2, RING), axes="XY", changed=cable((1, 1), 0, 4))
    yield "grid with a cut ring", grid
    yield "8s", machine(Part(8, SWITCH))
    for axes in ("XY", "YX"):
        yield f"2sx4s {axes}", machine(Part(2, SWITCH), Part(4, SWITCH), axes=axes)
    yield "8s as 4x2 X", machine(Part(8, SWITCH), sizes={"X": 4, "Y": 2}, axes="X")


MACHINES = [*grids(), *other_machines()]


def wanted_for(found: Machine, kind: object) -> Iterator[Wanted]:
    """Every algorithm and schedule that can run, in one; the default in 2 and 3 chunks too."""
    segments = found.group.segments
    algorithms: list[Algorithm | None] = [None]
    if any(segment.kind is RING for segment in segments):
        algorithms += RING_ALGORITHMS
    if any(segment.kind is SWITCH for segment in segments):
        algorithms += SWITCH_ALGORITHMS
    if kind is CollectiveKind.ALL_REDUCE and len(segments) == 1:
        by_kind = {LINE: [Algorithm.REDUCE_BROADCAST], SWITCH: [Algorithm.IN_NETWORK]}
        algorithms += by_kind.get(segments[0].kind, [])
    schedules = [None] if len(segments) == 1 else list(Schedule)
    for algorithm, schedule, chunks in itertools.product(algorithms, schedules, (1, 2, 3)):
        if chunks == 1 or len(segments) == 1 or algorithm is None:
            yield Wanted(algorithm, schedule, chunks)


@pytest.mark.parametrize("kind", COLLECTIVES)
@pytest.mark.parametrize("found", [found for _, found in MACHINES], ids=[n for n, _ in MACHINES])
def test_collectives(found: Machine, kind: CollectiveKind) -> None:
    for seed, wanted in enumerate(wanted_for(found, kind)):
        call = call_on(found, kind, Fraction(1), wanted, ADDITIVE)
        check(call, picked(seed) if seed % 2 else None)


@pytest.mark.parametrize("found", [found for _, found in MACHINES], ids=[n for n, _ in MACHINES])
def test_transfers(found: Machine) -> None:
    size = found.group.size
    for root, chunks in itertools.product(range(size), (1, 2)):
        wanted = Wanted(chunks=chunks)
        check(call_on(found, TransferKind.GATHER, Fraction(1), wanted, ADDITIVE, root=root))
    if len(found.group.segments) > 1:
        return
    for shift in range(1 - size, size + 1):
        check(call_on(found, TransferKind.PERMUTE, Fraction(1), Wanted(), ADDITIVE, shift=shift))
    for chunks in (1, 2, 3):
        check(call_on(found, TransferKind.SEND, Fraction(1), Wanted(chunks=chunks), ADDITIVE))


@pytest.mark.parametrize("order", ["XY", "YX"])
@pytest.mark.parametrize("schedule", Schedule)
@pytest.mark.parametrize(
    ("parts", "sizes"),
    [
        ((Part(4, RING), Part(2, RING)), {"X": 4, "Y": 2}),
        ((Part(2, LINE), Part(4, LINE)), {"X": 2, "Y": 4}),
        ((Part(2, SWITCH), Part(4, RING)), {"X": 2, "Y": 4}),
        ((Part(8, RING),), {"X": 4, "Y": 2}),
        ((Part(8, SWITCH),), {"X": 2, "Y": 4}),
    ],
)
def test_shards_in_both_orders_of_two_axes(
    parts: tuple[Part, ...], sizes: dict[str, int], schedule: Schedule, order: str
) -> None:
    """`A[I_XY]` and `A[I_YX]` put other shards on the chips; both come back as A."""
    mesh = machine(*parts, sizes=sizes).mesh
    array = RNG.integers(-99, 99, (16, 8))
    texts = [
        f"AllGather_{order} A[I_{order}, J] -> A[I, J]",
        f"ReduceScatter_{{{order},I}} A[I, J]{{U_{order}}} -> A[I_{order}, J]",
        f"AllReduce_{order} A[I, J]{{U_{order}}} -> A[I, J]",
        f"AllToAll_{{{order},J}} A[I_{order}, J] -> A[I, J_{order}]",
        f"A[I_{order}, J] -> B[I_{order[::-1]}, J]",
    ]
    for text in texts:
        plan = planned(text, mesh.topology, {"I": 16, "J": 8}, mesh=mesh, schedule=schedule)
        assert np.array_equal(execute(plan, {"A": array}), array), text
