"""How each closed form stands to the simulation: a table of every way to run a collective.

A row is a fabric (a sort of machine, with a strategy that draws random ones), collectives,
algorithms, a schedule and a number of chunks, and the relation that the closed form claims there.
`tests/property/test_law_relations.py` holds every row on random machines, and `docs/relations.md`
is written from the rows.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import NamedTuple

from hypothesis import assume
from hypothesis import strategies as st

from shardsim.call import Call, Method, make_call
from shardsim.cost import CostModel, Wanted
from shardsim.hardware import Calibration, Chip, Link
from shardsim.mesh import Group, Mesh, Permutation, lay_mesh
from shardsim.topology import Coordinate, Dimension, LinkKey, Topology
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    DimensionKind,
    Dtype,
    LatencyModel,
    Relation,
    Schedule,
    TransferKind,
)

RING, LINE, SWITCH = DimensionKind.RING, DimensionKind.LINE, DimensionKind.SWITCH
EQUAL, LOWER, UPPER = Relation.EQUAL, Relation.LOWER_BOUND, Relation.UPPER_BOUND
ADDITIVE, FLOOR = LatencyModel.ADDITIVE, LatencyModel.FLOOR
BOTH_MODELS = (ADDITIVE, FLOOR)
RING_ALGORITHMS = (
    Algorithm.BALANCED,
    Algorithm.WHOLE_SHARDS,
    Algorithm.HALF_SHARDS,
    Algorithm.ONE_DIRECTION,
)
SWITCH_ALGORITHMS = (Algorithm.DIRECT, Algorithm.RING)
ALL_GATHER, REDUCE_SCATTER = CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER
ALL_REDUCE, ALL_TO_ALL = CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_TO_ALL
PERMUTE, GATHER, SEND = TransferKind.PERMUTE, TransferKind.GATHER, TransferKind.SEND
GATHERS: tuple[CallKind, ...] = (ALL_GATHER, REDUCE_SCATTER)
SUMS: tuple[CallKind, ...] = (*GATHERS, ALL_REDUCE)

CHIP = Chip(
    name="test",
    peaks=((Dtype.BF16, Fraction(10**14)),),
    hbm_bandwidth=Fraction(10**12),
    hbm_capacity=Fraction(16 * 10**9),
)
LINK = Link(Fraction(45 * 10**9), Fraction(1, 10**6))
SLOW = Link(LINK.one_way_bandwidth / 3, LINK.latency)
FREE = Link(LINK.one_way_bandwidth, Fraction(0))
EXAMPLE_BYTES = Fraction(2**20)

# Machines.


class Part(NamedTuple):
    """One dimension of a machine."""

    size: int
    kind: DimensionKind
    link: Link = LINK


class Machine(NamedTuple):
    """A mesh on a topology, and the axes that collectives run over."""

    mesh: Mesh
    axes: tuple[str, ...]

    @property
    def topology(self) -> Topology:
        return self.mesh.topology

    @property
    def group(self) -> Group:
        return self.mesh.group(self.axes)


Changes = Mapping[tuple[Coordinate, LinkKey], Link | None]


def topology(
    *parts: Part, changed: Changes | None = None, calibration: Calibration | None = None
) -> Topology:
    """A topology with dimensions x, y, z; all switches can add."""
    return Topology(
        name="x".join(f"{part.size}{part.kind.value[0]}" for part in parts),
        chip=CHIP,
        dimensions=tuple(
            Dimension(name=name, size=size, kind=kind, link=link, reduces=kind is SWITCH)
            for name, (size, kind, link) in zip("xyz", parts, strict=False)
        ),
        changed=tuple((changed or {}).items()),
        calibration=calibration or Calibration(),
    )


def machine(
    *parts: Part,
    sizes: Mapping[str, int] | None = None,
    axes: str | None = None,
    layout: Mapping[str, str] | None = None,
    devices: Sequence[Coordinate] | None = None,
    changed: Changes | None = None,
    calibration: Calibration | None = None,
) -> Machine:
    """A machine; by default axes X, Y, Z over its dimensions, and collectives over all of them."""
    under = topology(*parts, changed=changed, calibration=calibration)
    sizes = sizes or dict(zip("XYZ", under.shape, strict=False))
    mesh = lay_mesh(under, sizes, layout, devices=devices)
    return Machine(mesh, tuple(axes or sizes))


# Strategies.

SIZES = st.fractions(min_value=1, max_value=1000, max_denominator=7)
RATES = st.fractions(min_value=1, max_value=50, max_denominator=5)
WAITS = st.fractions(min_value=Fraction(1, 7), max_value=20, max_denominator=7)
LINKS = st.builds(Link, RATES, st.just(Fraction(0)) | WAITS)
LATE_LINKS = st.builds(Link, RATES, WAITS)
FREE_LINKS = st.builds(Link, RATES, st.just(Fraction(0)))
CALIBRATIONS = st.just(Calibration()) | st.builds(
    Calibration,
    efficiency=st.fractions(min_value=Fraction(1, 3), max_value=1, max_denominator=9),
    launch_overhead=st.fractions(min_value=0, max_value=5, max_denominator=7),
)
Machines = st.SearchStrategy[Machine]


def parts(
    kind: DimensionKind, least: int, most: int, links: st.SearchStrategy[Link] = LINKS
) -> st.SearchStrategy[Part]:
    return st.builds(Part, st.integers(least, most), st.just(kind), links)


ANY_PART = st.builds(Part, st.integers(1, 3), st.sampled_from(DimensionKind), LINKS)


@st.composite
def one_axis(draw: st.DrawFn, part: st.SearchStrategy[Part]) -> Machine:
    """One whole dimension, with or without other groups side by side."""
    mine = draw(part)
    others: list[Part] = draw(st.lists(ANY_PART, max_size=1))
    calibration, before = draw(CALIBRATIONS), draw(st.booleans())
    if others and before:
        return machine(*others, mine, axes="Y", calibration=calibration)
    return machine(mine, *others, axes="X", calibration=calibration)


@st.composite
def whole_dimensions(draw: st.DrawFn, *dimensions: st.SearchStrategy[Part]) -> Machine:
    """All of several dimensions, in any order."""
    found = [draw(dimension) for dimension in dimensions]
    axes = "".join(draw(st.permutations("XYZ"[: len(found)])))
    return machine(*found, axes=axes, calibration=draw(CALIBRATIONS))


@st.composite
def alike(draw: st.DrawFn, kind: DimensionKind, most: int, counts: Sequence[int]) -> Machine:
    """Several equal dimensions."""
    count = draw(st.sampled_from(counts))
    part = draw(parts(kind, 2, most if count == 2 else 3))
    return machine(*[part] * count, calibration=draw(CALIBRATIONS))


@st.composite
def unlike(draw: st.DrawFn, *dimensions: st.SearchStrategy[Part]) -> Machine:
    """Several dimensions that are not all equal."""
    found = draw(whole_dimensions(*dimensions))
    first, *others = found.group.segments
    assume(any((s.size, s.kind, s.link) != (first.size, first.kind, first.link) for s in others))
    return found


@st.composite
def cut(
    draw: st.DrawFn,
    kinds: Sequence[DimensionKind],
    axes: Sequence[str],
    *,
    counts: Sequence[int] = (2, 3),
) -> Machine:
    """One dimension cut in axes X, Y (and Z), X the outermost; `axes`: one of which to use."""
    count = draw(st.sampled_from(counts))
    lengths = [draw(st.integers(2, 5 if count == 2 else 3)) for _ in range(count)]
    part = Part(math.prod(lengths), draw(st.sampled_from(kinds)), draw(LINKS))
    over = draw(st.sampled_from([some for some in axes if set(some) <= set("XYZ"[:count])]))
    sizes = dict(zip("XYZ", lengths, strict=False))
    return machine(part, sizes=sizes, axes=over, calibration=draw(CALIBRATIONS))


@st.composite
def snakes(draw: st.DrawFn) -> Machine:
    """One axis through a grid of lines by the layout `snake`; two rows would make it a ring."""
    link = draw(LINKS)
    lengths = (draw(st.sampled_from([1, 3, 4])), draw(st.integers(2, 3)))
    sizes = {"X": math.prod(lengths)}
    grid = [Part(length, LINE, link) for length in lengths]
    return machine(*grid, sizes=sizes, layout={"X": "snake"}, calibration=draw(CALIBRATIONS))


@st.composite
def rings_in_grids(draw: st.DrawFn) -> Machine:
    """One axis through a grid by the layout `ring`."""
    link = draw(LINKS)
    lengths = (2 * draw(st.integers(1, 2)), draw(st.integers(2, 4)))
    grid = [Part(length, draw(st.sampled_from([RING, LINE])), link) for length in lengths]
    sizes = {"X": math.prod(lengths)}
    return machine(*grid, sizes=sizes, layout={"X": "ring"}, calibration=draw(CALIBRATIONS))


@st.composite
def scattered(draw: st.DrawFn) -> Machine:
    """Chips in an order in which neighbours are not always linked."""
    grid = draw(st.lists(parts(RING, 2, 4) | parts(LINE, 2, 4), min_size=1, max_size=2))
    chips = list(topology(*grid).coordinates())
    assume(len(chips) > 3)
    order = draw(st.permutations(chips))
    sizes = {"X": len(chips)}
    axes = "X"
    if len(chips) % 2 == 0 and draw(st.booleans()):
        sizes, axes = {"X": len(chips) // 2, "Y": 2}, draw(st.sampled_from(["X", "Y"]))
    found = machine(*grid, sizes=sizes, axes=axes, devices=order, calibration=draw(CALIBRATIONS))
    assume(not found.group.is_physical)
    return found


@st.composite
def ordered_switches(draw: st.DrawFn) -> Machine:
    """Two axes over the chips of a switch, in an order that somebody gives."""
    lengths = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    part = Part(math.prod(lengths), SWITCH, draw(LINKS))
    order = draw(st.permutations(list(topology(part).coordinates())))
    sizes, axes = dict(zip("XY", lengths, strict=True)), draw(st.sampled_from(["XY", "YX"]))
    return machine(part, sizes=sizes, axes=axes, devices=order, calibration=draw(CALIBRATIONS))


@st.composite
def one_link_differs(draw: st.DrawFn, part: st.SearchStrategy[Part]) -> Machine:
    """A dimension one link of which is slower or faster, later or earlier."""
    mine, other = draw(part), draw(LINKS)
    assume(other != mine.link)
    at = draw(st.integers(0, mine.size - 1))
    ways = draw(st.sampled_from([(+1,), (-1,), (+1, -1)]))
    found: dict[tuple[Coordinate, LinkKey], Link | None]
    found = {((at,), (0, way)): other for way in ways}
    if mine.kind is LINE:
        found = {key: link for key, link in found.items() if 0 <= at + key[1][1] < mine.size}
    assume(found)
    worn = machine(mine, changed=found, calibration=draw(CALIBRATIONS))
    assume(not worn.group.is_physical)  # a port faster than the one at the other end is no matter
    return worn


def cable(at: Coordinate, index: int, size: int) -> dict[tuple[Coordinate, LinkKey], Link | None]:
    """Both directions of the cable up from a chip, removed."""
    there = (*at[:index], (at[index] + 1) % size, *at[index + 1 :])
    return {(at, (index, +1)): None, (there, (index, -1)): None}


@st.composite
def cut_rings(draw: st.DrawFn) -> Machine:
    """A ring that lost a cable, or one direction of it; other rings beside it are whole."""
    mine = draw(parts(RING, 3, 9))
    lost = cable((draw(st.integers(0, mine.size - 1)),), 0, mine.size)
    if draw(st.booleans()):
        del lost[draw(st.sampled_from(list(lost)))]
    if not draw(st.booleans()):
        return machine(mine, changed=lost, calibration=draw(CALIBRATIONS))
    beside = draw(parts(RING, 2, 3))
    row = draw(st.integers(0, beside.size - 1))
    in_grid = {((*chip, row), key): link for (chip, key), link in lost.items()}
    return machine(mine, beside, axes="X", changed=in_grid, calibration=draw(CALIBRATIONS))


@st.composite
def cut_grids(draw: st.DrawFn, kind: DimensionKind) -> Machine:
    """A ring that lost a cable in one row, and another dimension; over both."""
    mine, beside = draw(parts(RING, 3, 5)), draw(parts(kind, 2, 3))
    row = draw(st.integers(0, beside.size - 1))
    lost = cable((draw(st.integers(0, mine.size - 1)),), 0, mine.size)
    in_grid = {((*chip, row), key): link for (chip, key), link in lost.items()}
    axes = draw(st.sampled_from(["XY", "YX"]))
    return machine(mine, beside, axes=axes, changed=in_grid, calibration=draw(CALIBRATIONS))


@st.composite
def tiers_of_lines(draw: st.DrawFn) -> Machine:
    """A switch between slices, each of two or three lines with equal links."""
    line = draw(LINKS)
    switch = draw(parts(SWITCH, 2, 3))
    assume(switch.link != line)
    lengths = draw(st.lists(st.integers(2, 3), min_size=2, max_size=2))
    return machine(switch, *(Part(n, LINE, line) for n in lengths), calibration=draw(CALIBRATIONS))


@st.composite
def cut_lines(draw: st.DrawFn) -> Machine:
    """A grid of lines one of which lost a cable: messages go round by the next line."""
    mine, beside = draw(parts(LINE, 2, 5)), draw(parts(LINE, 2, 3))
    at = (draw(st.integers(0, mine.size - 2)), draw(st.integers(0, beside.size - 1)))
    lost = cable(at, 0, mine.size)
    return machine(mine, beside, axes="X", changed=lost, calibration=draw(CALIBRATIONS))


@st.composite
def strided_and_more(draw: st.DrawFn, *, line: bool) -> Machine:
    """An outer part of a ring, and another dimension: a line, or a ring (or part) or switch."""
    outer, inner = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    ring = Part(outer * inner, RING, draw(LINKS))
    sizes = {"X": outer, "Y": inner}
    other = draw(parts(LINE, 2, 3) if line else parts(RING, 2, 4) | parts(SWITCH, 2, 3))
    sizes["Z"] = other.size
    if not line and other == (4, RING, other.link):
        sizes |= {"Z": 2, "W": 2}
        assume((outer, inner, ring.link) != (2, 2, other.link))  # equal ones: `strided_tori`
    axes = draw(st.sampled_from(["XZ", "ZX"]))
    return machine(ring, other, sizes=sizes, axes=axes, calibration=draw(CALIBRATIONS))


@st.composite
def strided_tori(draw: st.DrawFn) -> Machine:
    """Outer parts of equal rings, all under one axis."""
    outer, inner, count = draw(st.integers(2, 3)), draw(st.integers(2, 3)), draw(st.integers(2, 3))
    if count == 3:
        outer = inner = 2
    ring, names = Part(outer * inner, RING, draw(LINKS)), "xyz"[:count]
    layout = {
        "X": "+".join(f"{name}:(1){outer}" for name in names),
        "Y": "+".join(f"{name}:({outer}){inner}" for name in names),
    }
    sizes = {"X": outer**count, "Y": inner**count}
    more = draw(CALIBRATIONS)
    return machine(*[ring] * count, sizes=sizes, axes="X", layout=layout, calibration=more)


@st.composite
def worn_grids(draw: st.DrawFn) -> Machine:
    """Two rings or lines, one link of which differs."""
    grid = [draw(parts(RING, 2, 4) | parts(LINE, 2, 4)) for _ in range(2)]
    index, at = draw(st.integers(0, 1)), tuple(draw(st.integers(0, p.size - 2)) for p in grid)
    link = draw(LINKS)
    assume(link != grid[index].link)
    changed: dict[tuple[Coordinate, LinkKey], Link | None] = {(at, (index, +1)): link}
    return machine(*grid, changed=changed, calibration=draw(CALIBRATIONS))


# Fabrics.


@dataclass(frozen=True, kw_only=True)
class Fabric:
    """A sort of machine.

    Attributes:
        name: As in ids and headings.
        about: What it is, for people.
        machines: Draws random ones.
        example: One that stands for all in the table.
        said: The example in words.
    """

    name: str
    about: str
    machines: Machines
    example: Machine
    said: str


def _fabric(name: str, about: str, machines: Machines, said: str, example: Machine) -> Fabric:
    return Fabric(name=name, about=about, machines=machines, example=example, said=said)


ONE_CHIP = _fabric(
    "one chip",
    "An axis of one chip: nothing to do.",
    st.builds(
        lambda part, other: machine(part, other, axes="X"),
        st.builds(Part, st.just(1), st.sampled_from(DimensionKind), LINKS),
        ANY_PART,
    ),
    "1 chip",
    machine(Part(1, RING), Part(4, RING), axes="X"),
)
ONE_RING = _fabric(
    "one ring",
    "All chips of one ring; other rings may work side by side.",
    one_axis(parts(RING, 2, 12)),
    "a ring of 4",
    machine(Part(4, RING)),
)
ONE_LINE = _fabric(
    "one line",
    "All chips of one line: a ring without the link from the last to the first.",
    one_axis(parts(LINE, 2, 9)),
    "a line of 4",
    machine(Part(4, LINE)),
)
ONE_SWITCH = _fabric(
    "one switch",
    "Chips behind one switch, such as the GPUs of a node.",
    one_axis(parts(SWITCH, 2, 9)),
    "8 at a switch",
    machine(Part(8, SWITCH)),
)
PART_OF_SWITCH = _fabric(
    "part of a switch",
    "Some of the chips behind a switch, neighbours or not; the others work side by side.",
    cut([SWITCH], ["X", "Y", "Z", "XY", "ZY"]),
    "4 of 8 at a switch",
    machine(Part(8, SWITCH), sizes={"X": 2, "Y": 4}, axes="Y"),
)
PARTS_OF_SWITCH = _fabric(
    "two parts of a switch",
    "The outermost and the innermost of three axes at one switch: all chips of it are linked, so "
    "they are one segment.",
    cut([SWITCH], ["XZ", "ZX"], counts=(3,)),
    "axes 1 and 3 of 2x2x2 at a switch",
    machine(Part(8, SWITCH), sizes={"X": 2, "Y": 2, "Z": 2}, axes="XZ"),
)
ORDER_OF_SWITCH = _fabric(
    "two axes in an order of a switch",
    "Chips behind a switch in an order that somebody gives: each axis is a segment, and both use "
    "the same ports.",
    ordered_switches(),
    "2x2 of the chips 0, 2, 1, 3 of a switch",
    machine(Part(4, SWITCH), sizes={"X": 2, "Y": 2}, devices=[(0,), (2,), (1,), (3,)]),
)
PIECE = _fabric(
    "contiguous piece",
    "Neighbours on a ring or line: a line, since the link from the last to the first is another's.",
    cut([RING, LINE], ["Y", "Z"], counts=(2,)) | cut([RING, LINE], ["Z", "YZ", "ZY"], counts=(3,)),
    "4 neighbours on a ring of 16",
    machine(Part(16, RING), sizes={"X": 4, "Y": 4}, axes="Y"),
)
STRIDED_RING = _fabric(
    "strided ring",
    "Several axes on one ring; the outer ones: chips some places apart, all the way round. "
    "A step of s links costs s times as much, and s groups share each link.",
    cut([RING], ["X", "XY", "YX"], counts=(3,)) | cut([RING], ["X"], counts=(2,)),
    "every 4th chip of a ring of 16",
    machine(Part(16, RING), sizes={"X": 4, "Y": 4}, axes="X"),
)
JOINED_RING = _fabric(
    "all axes on one ring",
    "Several axes that are together all of one ring, in any order of the axes.",
    cut([RING], ["XY", "YX"], counts=(2,)) | cut([RING], ["XYZ", "ZXY", "YXZ"], counts=(3,)),
    "axes of 2 and 4 on a ring of 8",
    machine(Part(8, RING), sizes={"X": 2, "Y": 4}, axes="XY"),
)
STRIDED_LINE = _fabric(
    "strided line",
    "Chips some places apart on a line, or on part of a ring: steps share links.",
    cut([LINE], ["X", "XY"], counts=(3,))
    | cut([LINE], ["X"], counts=(2,))
    | cut([RING], ["Y"], counts=(3,)),
    "every 4th chip of a line of 16",
    machine(Part(16, LINE), sizes={"X": 4, "Y": 4}, axes="X"),
)
GAP = _fabric(
    "outer and inner part",
    "The outermost and the innermost of three axes on one ring or line: two segments of it.",
    cut([RING, LINE], ["XZ", "ZX"], counts=(3,)),
    "axes 1 and 3 of 2x2x4 on a ring of 16",
    machine(Part(16, RING), sizes={"X": 2, "Y": 2, "Z": 4}, axes="XZ"),
)
SNAKE = _fabric(
    "snake",
    "All chips of a grid, each next to the one before (layout `snake`).",
    snakes(),
    "a snake through 3x3",
    machine(Part(3, LINE), Part(3, LINE), sizes={"X": 9}, layout={"X": "snake"}),
)
RING_ORDER = _fabric(
    "ring through a grid",
    "All chips of a grid, the last next to the first too (layout `ring`).",
    rings_in_grids(),
    "a ring through 4x3",
    machine(Part(4, LINE), Part(3, LINE), sizes={"X": 12}, layout={"X": "ring"}),
)
NO_RING = _fabric(
    "not a physical ring",
    "Chips in an order that somebody gives, in which neighbours are not linked.",
    scattered(),
    "the chips 0, 2, 1, 3 of a ring of 4",
    machine(Part(4, RING), sizes={"X": 4}, devices=[(0,), (2,), (1,), (3,)]),
)
WORN_RING = _fabric(
    "ring with a slow link",
    "One link of a ring is slower (or faster) than the others, one way or both.",
    one_link_differs(parts(RING, 2, 8)),
    "a ring of 4, one link at a third",
    machine(Part(4, RING), changed={((0,), (0, +1)): SLOW}),
)
WORN_LINE = _fabric(
    "line with a slow link",
    "One link of a line is slower (or faster) than the others.",
    one_link_differs(parts(LINE, 2, 7)),
    "a line of 4, one link at a third",
    machine(Part(4, LINE), changed={((0,), (0, +1)): SLOW}),
)
WORN_SWITCH = _fabric(
    "switch with a slow port",
    "One port of one chip is slower (or faster) than the others.",
    one_link_differs(parts(SWITCH, 2, 7)),
    "4 at a switch, one port at a third",
    machine(Part(4, SWITCH), changed={((0,), (0, +1)): SLOW}),
)
CUT_RING = _fabric(
    "ring that lost a link",
    "A line from the missing link on; so are the rings beside it, for the groups keep in step.",
    cut_rings(),
    "a ring of 4 without one cable",
    machine(Part(4, RING), changed=cable((1,), 0, 4)),
)
CUT_LINE = _fabric(
    "line that lost a link",
    "Messages go round by the next line, whose links they share.",
    cut_lines(),
    "a line of 4 beside another, without one cable",
    machine(Part(4, LINE), Part(2, LINE), axes="X", changed=cable((1, 0), 0, 4)),
)
EQUAL_RINGS = _fabric(
    "equal rings",
    "Two rings of the same length, all links alike: a square torus.",
    alike(RING, 4, (2,)),
    "a torus of 4x4",
    machine(Part(4, RING), Part(4, RING)),
)
THREE_RINGS = _fabric(
    "three equal rings",
    "A cubic torus.",
    alike(RING, 3, (3,)),
    "a torus of 4x4x4",
    machine(*[Part(4, RING)] * 3),
)
UNEQUAL_RINGS = _fabric(
    "unequal rings",
    "Two or three rings of different lengths or links.",
    unlike(parts(RING, 2, 5), parts(RING, 2, 5))
    | unlike(parts(RING, 2, 3), parts(RING, 2, 3), parts(RING, 2, 4)),
    "a torus of 4x8",
    machine(Part(4, RING), Part(8, RING)),
)
EQUAL_LINES = _fabric(
    "equal lines",
    "Two or three lines of the same length, all links alike: a grid without wraparound.",
    alike(LINE, 4, (2, 3)),
    "a grid of 4x4",
    machine(Part(4, LINE), Part(4, LINE)),
)
UNEQUAL_LINES = _fabric(
    "unequal lines",
    "Two or three lines of different lengths or links.",
    unlike(parts(LINE, 2, 5), parts(LINE, 2, 5))
    | unlike(parts(LINE, 2, 3), parts(LINE, 2, 3), parts(LINE, 2, 3)),
    "a grid of 4x8",
    machine(Part(4, LINE), Part(8, LINE)),
)
RING_WITH_LINE = _fabric(
    "ring with line",
    "A dimension that wraps and one that does not, such as 16x4 of a v5e.",
    whole_dimensions(parts(RING, 2, 5), parts(LINE, 2, 5)),
    "a ring of 4 by a line of 4",
    machine(Part(4, RING), Part(4, LINE)),
)
CUT_GRID = _fabric(
    "cut ring and ring",
    "A ring that lost a link in one row, together with another ring.",
    cut_grids(RING),
    "a ring of 4 without one cable, by a ring of 3",
    machine(
        Part(4, RING),
        Part(3, RING),
        changed={((1, 0), (0, +1)): None, ((2, 0), (0, -1)): None},
        axes="XY",
    ),
)
CUT_GRID_WITH_SWITCH = _fabric(
    "cut ring and switch",
    "A ring that lost a link in one row, together with a switch, whose ports get out of step.",
    cut_grids(SWITCH),
    "a ring of 4 without one cable, by a switch of 3",
    machine(
        Part(4, RING),
        Part(3, SWITCH),
        changed={((1, 0), (0, +1)): None, ((2, 0), (0, -1)): None},
        axes="XY",
    ),
)
TIERS_OF_LINES = _fabric(
    "slices of lines",
    "Slices without wraparound over the data-centre network, one tier after the other.",
    tiers_of_lines(),
    "2 slices of 2x2 lines",
    machine(Part(2, SWITCH, SLOW), Part(2, LINE), Part(2, LINE)),
)
RING_WITH_SWITCH = _fabric(
    "ring with switch",
    "Slices of a TPU over the data-centre network: every chip has a port there.",
    whole_dimensions(parts(SWITCH, 2, 4), parts(RING, 2, 4))
    | whole_dimensions(parts(SWITCH, 2, 3), parts(RING, 2, 3), parts(RING, 2, 3)),
    "2 slices, each a ring of 4",
    machine(Part(2, SWITCH, SLOW), Part(4, RING)),
)
TWO_SWITCHES = _fabric(
    "two switches",
    "Nodes of GPUs: a switch in each node, and a port of every GPU between nodes.",
    whole_dimensions(parts(SWITCH, 2, 5), parts(SWITCH, 2, 5)),
    "2 nodes of 4",
    machine(Part(2, SWITCH, SLOW), Part(4, SWITCH)),
)
LINE_WITH_SWITCH = _fabric(
    "line with switch",
    "Slices without wraparound over the data-centre network.",
    whole_dimensions(parts(SWITCH, 2, 4), parts(LINE, 2, 4)),
    "2 slices, each a line of 4",
    machine(Part(2, SWITCH, SLOW), Part(4, LINE)),
)
STRIDED_GRID = _fabric(
    "strided ring and ring or switch",
    "An outer part of a ring together with another ring, a part of one, or a switch.",
    strided_and_more(line=False),
    "every 2nd chip of a ring of 4, by a ring of 4",
    machine(Part(4, RING), Part(4, RING), sizes={"X": 2, "Y": 2, "Z": 4}, axes="XZ"),
)
STRIDED_TORUS = _fabric(
    "equal strided rings",
    "Outer parts of equal rings under one axis: every chip takes the same steps at the same time.",
    strided_tori(),
    "every 2nd chip of a 4x4 torus, both ways",
    machine(
        Part(4, RING),
        Part(4, RING),
        sizes={"X": 4, "Y": 4},
        axes="X",
        layout={"X": "x:(1)2+y:(1)2", "Y": "x:(2)2+y:(2)2"},
    ),
)
STRIDED_AND_LINE = _fabric(
    "strided ring and line",
    "An outer part of a ring together with a line.",
    strided_and_more(line=True),
    "every 2nd chip of a ring of 4, by a line of 4",
    machine(Part(4, RING), Part(4, LINE), sizes={"X": 2, "Y": 2, "Z": 4}, axes="XZ"),
)
WORN_GRID = _fabric(
    "grid with a slow link",
    "Two rings or lines, one link of which is slower (or faster).",
    worn_grids(),
    "a torus of 4x4, one link at a third",
    machine(Part(4, RING), Part(4, RING), changed={((0, 0), (0, +1)): SLOW}),
)

# Rows.


@dataclass(frozen=True, kw_only=True)
class Row:
    """A claim: on this fabric, done so, these closed forms stand to the simulation like that.

    Attributes:
        fabric: Where.
        kinds: Collectives.
        algorithms: Each of them (a segment that cannot run one takes its own default).
        relation: What the closed form claims.
        schedule: Over several segments.
        chunks: The fewest and the most.
        where: The condition, for people.
        models: The latency models for which it holds.
        machines: Only these of the fabric.
        example: Instead of the fabric's.
        streams: How many streams the method has at the least and most.
        crowded: A permute by a table: whether a link carries two messages. None: no table.
    """

    fabric: Fabric
    kinds: tuple[CallKind, ...]
    algorithms: tuple[Algorithm, ...]
    relation: Relation
    schedule: Schedule | None = None
    chunks: tuple[int, int] = (1, 3)
    where: str = ""
    models: tuple[LatencyModel, ...] = BOTH_MODELS
    machines: Machines | None = field(default=None, compare=False, repr=False)
    example: Machine | None = None
    streams: tuple[int, int] = (1, 6)
    crowded: bool | None = None

    def __str__(self) -> str:
        words = [
            self.fabric.name,
            "+".join(kind.value for kind in self.kinds),
            "+".join(algorithm.value for algorithm in self.algorithms),
            self.schedule.value if self.schedule else "",
            f"{self.chunks[0]} to {self.chunks[1]} chunks",
            self.where,
        ]
        return ", ".join(word for word in words if word)


class Case(NamedTuple):
    """A call on a machine, and the latency model of the run."""

    machine: Machine
    call: Call
    model: LatencyModel


def call_on(
    found: Machine,
    kind: CallKind,
    size: Fraction,
    wanted: Wanted,
    model: LatencyModel,
    *,
    shift: int = 1,
    root: int = 0,
    table: Permutation | None = None,
) -> Call:
    """A collective over the axes of a machine, by the method that the cost model takes."""
    method: Method = CostModel(model, wanted).method(kind, found.group, size)
    return make_call(kind, found.group, size, method, shift=shift, root=root, permutation=table)


def by_table(topology: Topology, targets: dict[Coordinate, Coordinate]) -> Permutation:
    """A permute in which each chip's target is written down."""
    return Permutation(topology, lambda _: targets)


def example_table(row: Row, found: Machine) -> Permutation | None:
    """Neighbours change places; or, crowded, all go half the way round, or anywhere."""
    if row.crowded is None:
        return None
    groups = found.group.instances
    if not row.crowded:
        stay = {chip: chip for chip in found.group.chips}  # an odd one has no neighbour left
        pairs = [(a, b) for chips in groups for a, b in zip(chips[::2], chips[1::2], strict=False)]
        return by_table(found.topology, stay | dict(pairs) | {b: a for a, b in pairs})
    orders = [[(*chips[len(chips) // 2 :], *chips[: len(chips) // 2]) for chips in groups]]
    orders += [[Random(seed).sample(chips, len(chips)) for chips in groups] for seed in range(9)]
    senders = list(itertools.chain(*groups))
    made = (
        by_table(found.topology, dict(zip(senders, itertools.chain(*order), strict=True)))
        for order in orders
    )
    return next(table for table in made if table.traffic.busiest > 1)


@st.composite
def tables(draw: st.DrawFn, row: Row, found: Machine) -> Permutation | None:
    """Random ones, in which messages meet on a link, or do not."""
    if row.crowded is None:
        return None
    targets: dict[Coordinate, Coordinate] = {}
    swapped = not row.crowded and draw(st.booleans())
    for chips in found.group.instances:
        others = list(draw(st.permutations(chips)))
        if swapped:  # two change places, the rest stays
            a, b = others[:2]
            others = [{a: b, b: a}.get(chip, chip) for chip in chips]
        targets |= dict(zip(chips, others, strict=True))
    table = by_table(found.topology, targets)
    assume((table.traffic.busiest > 1) == row.crowded)
    return table


@st.composite
def cases(draw: st.DrawFn, row: Row) -> Case:
    """Random cases of one row."""
    found = draw(row.fabric.machines if row.machines is None else row.machines)
    wanted = Wanted(
        draw(st.sampled_from(row.algorithms)), row.schedule, draw(st.integers(*row.chunks))
    )
    model = draw(st.sampled_from(row.models))
    size = found.group.size
    call = call_on(
        found,
        draw(st.sampled_from(row.kinds)),
        draw(SIZES),
        wanted,
        model,
        shift=draw(st.integers(1 - size, 2 * size)),
        root=draw(st.integers(0, size - 1)),
        table=draw(tables(row, found)),
    )
    least, most = row.streams
    assume(least <= len(call.method.streams) <= most)
    return Case(found, call, model)


def example_of(row: Row) -> Case:
    """The row's example: 1 MiB, the first collective, algorithm and model, the fewest chunks."""
    found = row.example or row.fabric.example
    model = row.models[0]
    wanted = Wanted(row.algorithms[0], row.schedule, row.chunks[0])
    table = example_table(row, found)
    call = call_on(found, row.kinds[0], EXAMPLE_BYTES, wanted, model, table=table)
    return Case(found, call, model)


def _transfers(fabric: Fabric, algorithm: Algorithm) -> Iterator[Row]:
    """Transfers between chips of one segment, where all are EQUAL."""
    for kind in (PERMUTE, SEND):
        yield Row(fabric=fabric, kinds=(kind,), algorithms=(algorithm,), relation=EQUAL)


def _table_rows(fabric: Fabric, *, equal: bool = True, crowded: bool = True) -> Iterator[Row]:
    """Every chip sends to one other, whichever: a permute by a table."""
    for found, where in ((False, "no link twice"), (True, "a link twice")):
        if crowded if found else equal:
            yield Row(
                fabric=fabric,
                kinds=(PERMUTE,),
                algorithms=RING_ALGORITHMS[:1],
                relation=LOWER if found else EQUAL,
                where=f"by a table, {where}" if crowded else "by a table",
                crowded=found,
            )


def _gather_rows(
    fabric: Fabric, algorithms: tuple[Algorithm, ...], *, apart: bool = True
) -> Iterator[Row]:
    """Gather to one chip of one segment."""
    for some in [(algorithm,) for algorithm in algorithms] if apart else [algorithms]:
        yield Row(fabric=fabric, kinds=(GATHER,), algorithms=some, relation=EQUAL, chunks=(1, 1))
    yield Row(fabric=fabric, kinds=(GATHER,), algorithms=algorithms, relation=UPPER, chunks=(2, 4))


def _even_rows(
    fabric: Fabric, algorithms: tuple[Algorithm, ...], *, apart: bool = True
) -> Iterator[Row]:
    """One ring or switch; `apart`: a row for each algorithm."""
    for some in [(algorithm,) for algorithm in algorithms] if apart else [algorithms]:
        for kinds in (GATHERS, (ALL_REDUCE,), (ALL_TO_ALL,)):
            yield Row(fabric=fabric, kinds=kinds, algorithms=some, relation=EQUAL)
    yield from _gather_rows(fabric, algorithms, apart=apart)
    yield from _transfers(fabric, algorithms[0])


def _odd_rows() -> Iterator[Row]:
    """One ring of an odd number of chips, where the forms differ."""
    odd = one_axis(st.builds(Part, st.sampled_from([3, 5, 7, 9]), st.just(RING), LINKS))
    for algorithm in (Algorithm.BALANCED, Algorithm.WHOLE_SHARDS):
        for kinds in (GATHERS, (ALL_TO_ALL,), (GATHER,)):
            yield Row(
                fabric=ONE_RING,
                kinds=kinds,
                algorithms=(algorithm,),
                relation=EQUAL,
                where="N odd",
                chunks=(1, 1),
                machines=odd,
                example=machine(Part(5, RING)),
            )


def _strided_rows(fabric: Fabric) -> Iterator[Row]:
    for algorithm in RING_ALGORITHMS:
        for kinds in (GATHERS, (ALL_REDUCE,), (ALL_TO_ALL,)):
            yield Row(
                fabric=fabric,
                kinds=kinds,
                algorithms=(algorithm,),
                relation=EQUAL,
                chunks=(1, 1),
            )
    for kind in (PERMUTE, SEND):
        yield Row(
            fabric=fabric,
            kinds=(kind,),
            algorithms=RING_ALGORITHMS[:1],
            relation=EQUAL,
            chunks=(1, 1),
        )
    yield Row(
        fabric=fabric, kinds=(GATHER,), algorithms=RING_ALGORITHMS, relation=LOWER, chunks=(1, 1)
    )
    for kinds in ((*SUMS, ALL_TO_ALL), (GATHER,), (PERMUTE,), (SEND,)):
        yield Row(
            fabric=fabric,
            kinds=kinds,
            algorithms=RING_ALGORITHMS,
            relation=LOWER,
            chunks=(2, 4),
        )


def _line_rows(fabric: Fabric) -> Iterator[Row]:
    """One line, but for its AllToAll."""
    line = (Algorithm.LINE,)
    for kinds in (GATHERS, (ALL_REDUCE,)):
        yield Row(fabric=fabric, kinds=kinds, algorithms=line, relation=EQUAL, chunks=(1, 1))
        yield Row(fabric=fabric, kinds=kinds, algorithms=line, relation=UPPER, chunks=(2, 4))
    yield Row(
        fabric=fabric,
        kinds=(ALL_REDUCE,),
        algorithms=(Algorithm.REDUCE_BROADCAST,),
        relation=EQUAL,
        chunks=(1, 6),
    )
    yield from _gather_rows(fabric, line)
    yield from _transfers(fabric, Algorithm.LINE)


def _exchange_rows() -> Iterator[Row]:
    """AllToAll on one line."""

    def row(relation: Relation, where: str, machines: Machines, example: Machine,
            models: tuple[LatencyModel, ...], chunks: tuple[int, int]) -> Row:  # fmt: skip
        return Row(
            fabric=ONE_LINE,
            kinds=(ALL_TO_ALL,),
            algorithms=(Algorithm.LINE,),
            relation=relation,
            where=where,
            machines=machines,
            example=example,
            models=models,
            chunks=chunks,
        )

    late = one_axis(parts(LINE, 4, 9, LATE_LINKS))
    free = one_axis(parts(LINE, 2, 9, FREE_LINKS))
    short = one_axis(parts(LINE, 2, 3))
    four, three = machine(Part(4, LINE)), machine(Part(3, LINE))
    yield row(LOWER, "additive, a > 0, N > 3", late, four, (ADDITIVE,), (1, 3))
    yield row(EQUAL, "floor", ONE_LINE.machines, four, (FLOOR,), (1, 3))
    yield row(EQUAL, "a = 0", free, machine(Part(4, LINE, FREE)), BOTH_MODELS, (1, 3))
    yield row(EQUAL, "N = 2 or 3", short, three, BOTH_MODELS, (1, 1))
    late_short = one_axis(parts(LINE, 2, 3, LATE_LINKS))
    yield row(LOWER, "additive, a > 0, N = 2 or 3", late_short, three, (ADDITIVE,), (2, 3))


def _bounded_rows(
    fabric: Fabric, algorithms: tuple[Algorithm, ...], *, alone: bool = True
) -> Iterator[Row]:
    """A fabric on which all forms are the busiest link's."""
    for kinds in (GATHERS, (ALL_REDUCE,), (ALL_TO_ALL,), (GATHER,)):
        for schedule in (None,) if alone else tuple(Schedule):
            yield Row(
                fabric=fabric,
                kinds=kinds,
                algorithms=algorithms,
                relation=LOWER,
                schedule=schedule,
            )
    for kind in (PERMUTE, SEND) if alone else ():
        yield Row(fabric=fabric, kinds=(kind,), algorithms=algorithms[:1], relation=LOWER)


def _shared_grids(
    fabric: Fabric, algorithms: tuple[Algorithm, ...], *, equal: bool = False
) -> Iterator[Row]:
    """Where steps share links: one stream keeps all chips in step, several are in the way.

    Over equal rings rotated orders with equal shares keep step too.
    """
    rotated = (
        [(EQUAL, Schedule.ROTATED, (1, 1), (2, 6)), (LOWER, Schedule.ROTATED, (2, 3), (2, 6))]
        if equal
        else [(LOWER, Schedule.ROTATED, (1, 3), (2, 6))]
    )
    for kinds in (GATHERS, (ALL_REDUCE,), (ALL_TO_ALL,)):
        for relation, schedule, chunks, streams in (
            (EQUAL, Schedule.SEQUENTIAL, (1, 1), (1, 1)),
            (LOWER, Schedule.SEQUENTIAL, (2, 3), (1, 1)),
            *rotated,
            (LOWER, Schedule.BALANCED, (1, 3), (2, 6)),
        ):
            yield Row(
                fabric=fabric,
                kinds=kinds,
                algorithms=algorithms,
                relation=relation,
                schedule=schedule,
                chunks=chunks,
                streams=streams,
            )
    for schedule in Schedule:
        yield Row(
            fabric=fabric,
            kinds=(GATHER,),
            algorithms=algorithms,
            relation=LOWER,
            schedule=schedule,
        )


def _even_grids(fabric: Fabric, algorithms: tuple[Algorithm, ...]) -> Iterator[Row]:
    """Several rings or switches."""
    for schedule in Schedule:
        for kinds in (GATHERS, (ALL_REDUCE,), (ALL_TO_ALL,)):
            yield Row(
                fabric=fabric,
                kinds=kinds,
                algorithms=algorithms,
                relation=EQUAL,
                schedule=schedule,
            )
        yield Row(
            fabric=fabric,
            kinds=(GATHER,),
            algorithms=algorithms,
            relation=UPPER,
            schedule=schedule,
        )


def _cut_grids(fabric: Fabric, relation: Relation) -> Iterator[Row]:
    """A ring that lost a link in one row, with another segment: rows count from other chips."""
    algorithms = (*RING_ALGORITHMS, *SWITCH_ALGORITHMS)
    for kinds, known in (
        (GATHERS, relation),
        ((ALL_REDUCE,), relation),
        ((ALL_TO_ALL,), LOWER),
        ((GATHER,), UPPER),
    ):
        yield Row(fabric=fabric, kinds=kinds, algorithms=algorithms, relation=known)


def _uneven_grids(fabric: Fabric, *, equal: bool = False) -> Iterator[Row]:
    """Several segments with lines among them."""
    algorithms = (*RING_ALGORITHMS, *SWITCH_ALGORITHMS)
    for schedule in Schedule:
        tiered = schedule is Schedule.TIERED and not equal  # one stream or several: `TIERS`
        for kinds in () if tiered else (GATHERS, (ALL_REDUCE,)):
            whole = schedule is Schedule.SEQUENTIAL
            exact = whole or (equal and schedule is Schedule.ROTATED)
            yield Row(
                fabric=fabric,
                kinds=kinds,
                algorithms=algorithms,
                relation=EQUAL if exact else UPPER,
                schedule=schedule,
                chunks=(1, 1),
                streams=(1, 1) if whole else (2, 6),
            )
            yield Row(
                fabric=fabric,
                kinds=kinds,
                algorithms=algorithms,
                relation=UPPER,
                schedule=schedule,
                chunks=(2, 3),
            )
        for kinds, relation in (((ALL_TO_ALL,), LOWER), ((GATHER,), UPPER)):
            yield Row(
                fabric=fabric,
                kinds=kinds,
                algorithms=algorithms,
                relation=relation,
                schedule=schedule,
            )


def _rows() -> Iterator[Row]:
    yield Row(
        fabric=ONE_CHIP,
        kinds=(*SUMS, ALL_TO_ALL, PERMUTE, GATHER, SEND),
        algorithms=RING_ALGORITHMS,
        relation=EQUAL,
    )
    yield from _even_rows(ONE_RING, RING_ALGORITHMS)
    yield from _odd_rows()
    for fabric in (JOINED_RING, RING_ORDER):
        yield from _even_rows(fabric, RING_ALGORITHMS, apart=False)
    yield from _even_rows(ONE_SWITCH, SWITCH_ALGORITHMS)
    for fabric in (PART_OF_SWITCH, PARTS_OF_SWITCH):
        yield from _even_rows(fabric, SWITCH_ALGORITHMS, apart=False)
    yield Row(
        fabric=ONE_SWITCH,
        kinds=(ALL_REDUCE,),
        algorithms=(Algorithm.IN_NETWORK,),
        relation=Relation.LIMIT,
        chunks=(1, 6),
    )
    for fabric in (ONE_LINE, PIECE, SNAKE, CUT_RING):
        yield from _line_rows(fabric)
    yield from _exchange_rows()
    yield from _strided_rows(STRIDED_RING)
    lines = (Algorithm.LINE, Algorithm.REDUCE_BROADCAST)
    for fabric, algorithms in (
        (STRIDED_LINE, lines),
        (NO_RING, RING_ALGORITHMS),
        (WORN_RING, RING_ALGORITHMS),
        (WORN_LINE, lines),
        (WORN_SWITCH, SWITCH_ALGORITHMS),
        (CUT_LINE, lines),
    ):
        yield from _bounded_rows(fabric, algorithms)
    yield from _shared_grids(STRIDED_GRID, (*RING_ALGORITHMS, *SWITCH_ALGORITHMS))
    yield from _shared_grids(STRIDED_TORUS, RING_ALGORITHMS, equal=True)
    for fabric in (STRIDED_AND_LINE, GAP, WORN_GRID):
        yield from _bounded_rows(fabric, RING_ALGORITHMS, alone=False)
    yield from _bounded_rows(ORDER_OF_SWITCH, SWITCH_ALGORITHMS, alone=False)
    for fabric in (EQUAL_RINGS, THREE_RINGS, UNEQUAL_RINGS):
        yield from _even_grids(fabric, RING_ALGORITHMS)
    yield from _cut_grids(CUT_GRID, UPPER)
    yield from _cut_grids(CUT_GRID_WITH_SWITCH, LOWER)
    for kinds in (GATHERS, (ALL_REDUCE,)):
        yield Row(
            fabric=TIERS_OF_LINES,
            kinds=kinds,
            algorithms=(*RING_ALGORITHMS, *SWITCH_ALGORITHMS),
            relation=UPPER,
            schedule=Schedule.TIERED,
            streams=(2, 6),
        )
    yield from _even_grids(RING_WITH_SWITCH, (*RING_ALGORITHMS, *SWITCH_ALGORITHMS))
    yield from _even_grids(TWO_SWITCHES, SWITCH_ALGORITHMS)
    yield from _uneven_grids(EQUAL_LINES, equal=True)
    for fabric in (UNEQUAL_LINES, RING_WITH_LINE, LINE_WITH_SWITCH):
        yield from _uneven_grids(fabric)
    for fabric in (ONE_RING, ONE_LINE, EQUAL_RINGS, UNEQUAL_LINES, TWO_SWITCHES, WORN_GRID):
        yield from _table_rows(fabric)
    yield from _table_rows(ONE_SWITCH, crowded=False)
    yield from _table_rows(NO_RING, equal=False)


ROWS = tuple(_rows())
FABRICS = tuple({row.fabric.name: row.fabric for row in ROWS}.values())


def _keys() -> Iterator[str]:
    """A short name for each row: its fabric, and its number there."""
    numbers: Counter[str] = Counter()
    for row in ROWS:
        name = row.fabric.name.replace(" ", "-")
        numbers[name] += 1
        yield f"{name}-{numbers[name]}"


KEYS = tuple(_keys())
