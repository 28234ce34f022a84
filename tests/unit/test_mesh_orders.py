"""Chips in an order that somebody gives: devices, a snake, a ring; and the pieces of a layout."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from shardsim.errors import MeshError, Place
from shardsim.hardware import Link
from shardsim.mesh import Mesh, Segment, lay_mesh
from shardsim.mesh.orders import ring_order, snake_order
from shardsim.mesh.pieces import Piece, pieces_of
from shardsim.topology import Coordinate, Topology, spot
from tests.machines import LINK, machine

PLACE = Place("run.yaml", 2, 7, "mesh: X=4", 3)
FLAT = machine((4, "line"), (2, "line"))


# Pieces.

PIECES = [
    ("x", [Piece("x")]),
    ("x+y", [Piece("x"), Piece("y")]),
    (" x + y ", [Piece("x"), Piece("y")]),
    ("y:(4)4", [Piece("y", 4, 4)]),
    ("gpu_1:(1)2+node", [Piece("gpu_1", 1, 2), Piece("node")]),
]


@pytest.mark.parametrize(("text", "pieces"), PIECES)
def test_pieces(text: str, pieces: list[Piece]) -> None:
    assert pieces_of(text, "X") == tuple(pieces)


@pytest.mark.parametrize("text", ["", "+", "x+", "x y", "x:4", "x:(4)", "x:()4", "x:(-1)4", "x-1"])
def test_what_is_no_piece(text: str) -> None:
    with pytest.raises(MeshError) as caught:
        pieces_of(text, "X", PLACE)
    assert caught.value.message.startswith("layout of axis X: ")
    assert caught.value.message.endswith(" is no dimension")
    assert caught.value.place is PLACE


# Snakes and rings.

SHAPES = [(1,), (5,), (2, 2), (2, 3), (3, 2), (3, 3), (4, 1, 2), (2, 3, 4), (3, 3, 3), (3, 5, 2)]


def steps(order: list[Coordinate]) -> list[int]:
    """How far each chip is from the one before."""
    return [
        sum(abs(a - b) for a, b in zip(here, there, strict=True))
        for here, there in itertools.pairwise(order)
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_snake_goes_through_all_chips_step_by_step(shape: tuple[int, ...]) -> None:
    order = snake_order(shape)
    assert sorted(order) == list(itertools.product(*(range(size) for size in shape)))
    assert set(steps(order)) <= {1}
    assert order[0] == (0,) * len(shape)


RINGS = [(2, 2), (2, 3), (3, 2), (4, 4), (4, 1, 3), (2, 3, 4), (3, 5, 2), (3, 3, 2), (2, 2, 2, 2)]


@pytest.mark.parametrize("shape", RINGS)
def test_a_ring_comes_back_to_its_start(shape: tuple[int, ...]) -> None:
    order = ring_order(shape)
    assert sorted(order) == list(itertools.product(*(range(size) for size in shape)))
    assert set(steps([*order, order[0]])) == {1}


@pytest.mark.parametrize("shape", [(), (1,), (8,), (1, 8), (3, 3), (3, 1, 5), (3, 3, 3)])
def test_grids_without_a_ring(shape: tuple[int, ...]) -> None:
    """One dimension alone comes back by its wraparound link only; an odd grid cannot come back."""
    text = "x".join(map(str, shape))
    with pytest.raises(MeshError) as caught:
        ring_order(shape, PLACE)
    assert (caught.value.message, caught.value.hint) == (
        f"no ring goes through all chips of a grid of {text}",
        "a ring needs two dimensions longer than 1, one of them even; snake needs neither",
    )
    assert caught.value.place is PLACE


# What a mesh makes of an order.


def only(mesh: Mesh) -> Segment:
    (axis,) = (axis for axis in mesh.axes if axis.size > 1)
    (segment,) = axis.segments
    return segment


IN_ORDER = "in the order given "
RING = IN_ORDER + "each chip is next to the one before"
LINE = IN_ORDER + "neighbours are linked, and the last is not next to the first"


def far(first: Coordinate, second: Coordinate) -> str:
    return (
        f"NOT A PHYSICAL RING: chips {spot(first)} and {spot(second)} follow each other "
        "in the order given, "
        "and have no link of their own"
    )


def row_major(*shape: int) -> list[Coordinate]:
    return list(itertools.product(*(range(size) for size in shape)))


ORDERS: list[tuple[Topology, list[Coordinate], str, str, bool]] = [
    # a line in its own order, and backwards; a ring; two chips with one cable, and with two
    (machine((4, "line")), [(0,), (1,), (2,), (3,)], "line", LINE, True),
    (machine((4, "line")), [(3,), (2,), (1,), (0,)], "line", LINE, True),
    (machine((4, "ring")), [(2,), (3,), (0,), (1,)], "ring", RING, True),
    (machine((2, "line")), [(1,), (0,)], "line", LINE, True),
    (machine((2, "ring")), [(1,), (0,)], "line", LINE, True),
    # there and back over a grid; the last is next to the first
    (FLAT, snake_order((4, 2)), "line", LINE, True),
    (FLAT, ring_order((4, 2)), "ring", RING, True),
    # a snake over a ring of rows comes back over the wraparound link
    (machine((4, "ring"), (2, "line")), snake_order((4, 2)), "ring", RING, True),
    # row by row, each row ends far from the next one's start
    (FLAT, row_major(4, 2), "ring", far((0, 1), (1, 0)), False),
    (machine((4, "line")), [(0,), (2,), (1,), (3,)], "ring", far((0,), (2,)), False),
    # round a hole
    (
        machine((3, "line"), (3, "line"), missing=[(1, 1)]),
        [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)],
        "ring",
        RING,
        True,
    ),
]


@pytest.mark.parametrize(
    ("topology", "devices", "kind", "reason", "physical"), ORDERS, ids=range(len(ORDERS))
)
def test_devices(
    topology: Topology, devices: list[Coordinate], kind: str, reason: str, physical: bool
) -> None:
    mesh = lay_mesh(topology, {"X": len(devices)}, devices=devices)
    segment = only(mesh)
    assert (segment.kind.value, segment.reason, segment.is_physical) == (kind, reason, physical)
    assert segment.dimension is None
    assert [mesh.position(chip, "X") for chip in devices] == list(range(len(devices)))


NAMED = [
    (FLAT, "snake", "line", snake_order((4, 2))),
    (FLAT, "ring", "ring", ring_order((4, 2))),
    (machine((3, "line"), (3, "line")), "snake", "line", snake_order((3, 3))),
    (machine((3, "line"), (2, "line"), (2, "line")), "ring", "ring", ring_order((3, 2, 2))),
]


@pytest.mark.parametrize(("topology", "word", "kind", "order"), NAMED)
def test_a_layout_by_its_name(
    topology: Topology, word: str, kind: str, order: list[Coordinate]
) -> None:
    mesh = lay_mesh(topology, {"A": 1, "X": math.prod(topology.shape)}, {"X": word})
    assert mesh.order == tuple(order)
    assert only(mesh).kind.value == kind


def test_a_dimension_of_that_name_is_meant_first() -> None:
    plain = machine((4, "line"))
    topology = replace(plain, dimensions=(replace(plain.dimensions[0], name="snake"),))
    mesh = lay_mesh(topology, {"X": 4}, {"X": "snake"})
    assert mesh.order is None
    assert only(mesh).name == "snake"


def test_several_axes_in_an_order() -> None:
    """Row by row of the mesh: X outer, Y inner; chips of an X pair are neighbours, of a Y pair not.

    0,0 and 1,1 are the first row; 1,0 and 0,1 the second.
    """
    square = machine((2, "line"), (2, "line"))
    mesh = lay_mesh(square, {"X": 2, "Y": 2}, devices=[(0, 0), (1, 1), (1, 0), (0, 1)])
    assert [mesh.position((1, 0), name) for name in "XY"] == [1, 0]
    assert [mesh.position((0, 1), name) for name in "XY"] == [1, 1]
    kinds = {axis.name: axis.segments[0].is_physical for axis in mesh.axes}
    assert kinds == {"X": True, "Y": False}


def test_an_order_over_links_that_differ_takes_the_slower_as_its_own() -> None:
    slow = Link(LINK.one_way_bandwidth / 4, LINK.latency * 3)
    topology = machine((2, "line"), (2, "line"), links=[LINK, slow])
    segment = only(lay_mesh(topology, {"X": 4}, {"X": "ring"}))
    assert segment.link == slow
    assert {crossing.link for crossing in segment.crossings} == {LINK, slow}
    assert not segment.is_physical


# What is no order.

FAULTS: list[tuple[dict[str, int], list[Coordinate], str, str]] = [
    (
        {"X": 8},
        [(0, 0), (0, 9)],
        "devices names chip [0, 9], which 4lx2l has not",
        "write the coordinates of a chip in the grid of 4x2",
    ),
    ({"X": 8}, [(0, 1), (0, 0), (0, 1)], "devices names chip [0, 1] twice", "name each once"),
    (
        {"X": 8},
        [(0, 0), (1, 1)],
        "devices leaves out 6 of 8 chips, such as [0, 1]",
        "name every chip once",
    ),
    (
        {"X": 7},
        row_major(4, 2),
        "the mesh X=7 has 7 chips, but 4lx2l has 8",
        "the sizes must multiply to 8; 4lx2l has the dimensions 4x2",
    ),
]


@pytest.mark.parametrize(("sizes", "devices", "message", "hint"), FAULTS)
def test_what_is_no_order(
    sizes: dict[str, int], devices: list[Coordinate], message: str, hint: str
) -> None:
    with pytest.raises(MeshError) as caught:
        lay_mesh(FLAT, sizes, None, PLACE, devices=devices)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert caught.value.place is PLACE


def test_a_missing_chip_is_no_device() -> None:
    topology = machine((2, "line"), (2, "line"), missing=[(0, 1)])
    with pytest.raises(MeshError, match=r"names chip \[0, 1\], which 2lx2l has not"):
        lay_mesh(topology, {"X": 3}, devices=[(0, 0), (0, 1), (1, 1)])


def test_a_layout_beside_devices() -> None:
    with pytest.raises(MeshError) as caught:
        lay_mesh(FLAT, {"X": 8}, {"X": "x+y"}, devices=row_major(4, 2))
    assert (caught.value.message, caught.value.hint) == (
        "layout and devices both say where axes lie",
        "keep one",
    )
