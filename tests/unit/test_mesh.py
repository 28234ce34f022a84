"""A mesh over a topology: in order, by layout, parts of dimensions, and what does not fit.

A segment is written as its name, what it is, and how far apart its chips are where that is not 1:
`x:(1)4 ring/4`.
"""

from __future__ import annotations

import itertools

import pytest

from shardsim.errors import MeshError, Place
from shardsim.mesh import Mesh, Segment, lay_mesh
from shardsim.topology import Topology
from tests.machines import machine

PLACE = Place("run.yaml", 2, 7, "mesh: X=4", 3)
FLAT = machine((4, "line"), (2, "ring"))
CUBE = machine((4, "ring"), (4, "ring"), (4, "ring"))
GAP = machine((4, "line"), (1, "line"), (2, "ring"))
LONG = machine((16, "ring"))
NODES = machine((4, "switch"), (8, "switch"))


def written(segment: Segment) -> str:
    apart = f"/{segment.spacing}" if segment.spacing > 1 else ""
    return f"{segment.name} {segment.kind.value}{apart}"


def table(mesh: Mesh) -> dict[str, list[str]]:
    return {axis.name: [written(part) for part in axis.segments] for axis in mesh.axes}


Sizes = dict[str, int] | None
Layout = dict[str, str] | None
LAID: list[tuple[Topology, Sizes, Layout, dict[str, list[str]]]] = [
    # without sizes: X, Y, Z over the dimensions in order
    (FLAT, None, None, {"X": ["x line"], "Y": ["y ring"]}),
    (GAP, None, None, {"X": ["x line"], "Y": [], "Z": ["z ring"]}),
    (FLAT, {"data": 4, "M1": 2}, None, {"data": ["x line"], "M1": ["y ring"]}),
    (NODES, None, None, {"X": ["x switch"], "Y": ["y switch"]}),
    (
        machine(*[(2, "line")] * 4),
        None,
        None,
        {"X": ["x line"], "Y": ["y line"], "Z": ["z line"], "W": ["u line"]},
    ),
    # dimensions of size 1 may be left out, and axes of size 1 need none
    (GAP, {"X": 4, "Y": 2}, None, {"X": ["x line"], "Y": ["z ring"]}),
    (
        FLAT,
        {"A": 1, "X": 4, "B": 1, "Y": 2, "C": 1},
        None,
        {"A": [], "X": ["x line"], "B": [], "Y": ["y ring"], "C": []},
    ),
    (machine((1, "line")), {"X": 1}, None, {"X": []}),
    # an axis over several dimensions, as an array is reshaped
    (FLAT, {"X": 8}, None, {"X": ["x line", "y ring"]}),
    (CUBE, {"X": 4, "Y": 16}, None, {"X": ["x ring"], "Y": ["y ring", "z ring"]}),
    (CUBE, {"X": 64}, None, {"X": ["x ring", "y ring", "z ring"]}),
    (GAP, {"X": 8}, None, {"X": ["x line", "z ring"]}),
    (NODES, {"X": 32}, None, {"X": ["x switch", "y switch"]}),
    # several axes on one dimension: the major one steps over the minor one's chips
    (LONG, {"X": 4, "Y": 4}, None, {"X": ["x:(1)4 ring/4"], "Y": ["x:(4)4 line"]}),
    (LONG, {"X": 2, "Y": 8}, None, {"X": ["x:(1)2 ring/8"], "Y": ["x:(2)8 line"]}),
    (
        LONG,
        {"X": 2, "Y": 4, "Z": 2},
        None,
        {"X": ["x:(1)2 ring/8"], "Y": ["x:(2)4 line/2"], "Z": ["x:(8)2 line"]},
    ),
    (
        machine((16, "line")),
        {"X": 4, "Y": 4},
        None,
        {"X": ["x:(1)4 line/4"], "Y": ["x:(4)4 line"]},
    ),
    (
        machine((16, "switch")),
        {"X": 4, "Y": 4},
        None,
        {"X": ["x:(1)4 switch/4"], "Y": ["x:(4)4 switch"]},
    ),
    # a part of one dimension and all of the next
    (FLAT, {"X": 2, "Y": 4}, None, {"X": ["x:(1)2 line/2"], "Y": ["x:(2)2 line", "y ring"]}),
    (
        machine((4, "ring"), (4, "ring")),
        {"X": 8, "Y": 2},
        None,
        {"X": ["x ring", "y:(1)2 ring/2"], "Y": ["y:(2)2 line"]},
    ),
    # by layout
    (FLAT, {"X": 2, "Y": 4}, {"X": "y", "Y": "x"}, {"X": ["y ring"], "Y": ["x line"]}),
    (
        CUBE,
        {"X": 4, "Y": 4, "Z": 4},
        {"X": "z", "Y": "x", "Z": "y"},
        {"X": ["z ring"], "Y": ["x ring"], "Z": ["y ring"]},
    ),
    (
        GAP,
        {"X": 2, "Y": 4, "Z": 1},
        {"X": "z", "Y": "x"},
        {"X": ["z ring"], "Y": ["x line"], "Z": []},
    ),
    (FLAT, {"X": 8}, {"X": "x+y"}, {"X": ["x line", "y ring"]}),
    (FLAT, {"X": 8}, {"X": "y + x"}, {"X": ["y ring", "x line"]}),
    (FLAT, {"X": 8, "Y": 1}, {"X": "y+x", "Y": "x"}, {"X": ["y ring", "x line"], "Y": []}),
    # parts of a dimension: in the order of the mesh, or as it is said
    (
        LONG,
        {"X": 4, "Y": 4},
        {"X": "x", "Y": "x"},
        {"X": ["x:(1)4 ring/4"], "Y": ["x:(4)4 line"]},
    ),
    (
        LONG,
        {"X": 4, "Y": 4},
        {"X": "x:(4)4", "Y": "x:(1)4"},
        {"X": ["x:(4)4 line"], "Y": ["x:(1)4 ring/4"]},
    ),
    (
        LONG,
        {"X": 4, "Y": 4},
        {"X": "x:(1)4", "Y": "x"},
        {"X": ["x:(1)4 ring/4"], "Y": ["x:(4)4 line"]},
    ),
    (
        LONG,
        {"X": 2, "Y": 4, "Z": 2},
        {"X": "x:(8)2", "Y": "x:(1)4", "Z": "x:(4)2"},
        {"X": ["x:(8)2 line"], "Y": ["x:(1)4 ring/4"], "Z": ["x:(4)2 line/2"]},
    ),
    (
        machine((4, "ring"), (16, "ring")),
        {"X": 16, "Y": 4},
        {"X": "x+y:(4)4", "Y": "y:(1)4"},
        {"X": ["x ring", "y:(4)4 line"], "Y": ["y:(1)4 ring/4"]},
    ),
    # the outer parts of two dimensions, and the inner ones
    (
        machine((4, "ring"), (4, "line")),
        {"X": 4, "Y": 4},
        {"X": "x:(1)2+y:(1)2", "Y": "x:(2)2+y:(2)2"},
        {
            "X": ["x:(1)2 ring/2", "y:(1)2 line/2"],
            "Y": ["x:(2)2 line", "y:(2)2 line"],
        },
    ),
    # what no other axis takes, whichever is named first
    (
        LONG,
        {"X": 4, "Y": 4},
        {"X": "x:(4)4", "Y": "x"},
        {"X": ["x:(4)4 line"], "Y": ["x:(1)4 ring/4"]},
    ),
    (
        LONG,
        {"X": 4, "Y": 4},
        {"X": "x", "Y": "x:(1)4"},
        {"X": ["x:(4)4 line"], "Y": ["x:(1)4 ring/4"]},
    ),
    (
        LONG,
        {"X": 2, "Y": 4, "Z": 2},
        {"X": "x", "Y": "x:(2)4", "Z": "x"},
        {"X": ["x:(1)2 ring/8"], "Y": ["x:(2)4 line/2"], "Z": ["x:(8)2 line"]},
    ),
    (
        machine((12, "ring")),
        {"X": 3, "Y": 4},
        {"X": "x:(2)3", "Y": "x"},
        {"X": ["x:(2)3 line/2"], "Y": ["x:(1)2 ring/6", "x:(6)2 line"]},
    ),
    # parts that make up the whole are the whole
    (LONG, {"X": 16}, {"X": "x:(1)4+x:(4)4"}, {"X": ["x ring"]}),
]


@pytest.mark.parametrize(("topology", "sizes", "layout", "axes"), LAID, ids=range(len(LAID)))
def test_axes_over_dimensions(
    topology: Topology, sizes: Sizes, layout: Layout, axes: dict[str, list[str]]
) -> None:
    mesh = lay_mesh(topology, sizes, layout)
    assert table(mesh) == axes
    if sizes is not None:
        assert mesh.sizes == sizes
    for axis in mesh.axes:
        size = 1
        for segment in axis.segments:
            size *= segment.size
        assert size == axis.size


@pytest.mark.parametrize(("topology", "sizes", "layout", "axes"), LAID, ids=range(len(LAID)))
def test_every_chip_has_a_seat_of_its_own(
    topology: Topology, sizes: Sizes, layout: Layout, axes: dict[str, list[str]]
) -> None:
    mesh = lay_mesh(topology, sizes, layout)
    seats = {
        chip: tuple(mesh.position(chip, name) for name in mesh.sizes)
        for chip in topology.coordinates()
    }
    everywhere = itertools.product(*(range(size) for size in mesh.sizes.values()))
    assert sorted(seats.values()) == sorted(everywhere)
    assert {mesh.chips[seat]: seat for seat in mesh.chips} == mesh.seats


@pytest.mark.parametrize("sizes", [(8,), (2, 4), (4, 2), (2, 2, 2), (1, 8), (2, 1, 4)])
@pytest.mark.parametrize("shape", [(4, 2), (8,), (2, 2, 2)])
def test_without_a_layout_chips_are_in_row_major_order(
    shape: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    topology = machine(*((size, "ring") for size in shape))
    mesh = lay_mesh(topology, dict(zip("XYZ", sizes, strict=False)))
    found = [
        tuple(mesh.position(chip, name) for name in mesh.sizes) for chip in topology.coordinates()
    ]
    assert found == list(itertools.product(*(range(size) for size in sizes)))


def test_what_an_axis_knows() -> None:
    mesh = lay_mesh(FLAT, {"A": 1, "X": 4, "Y": 2})
    narrow, wide = mesh.axis("A"), mesh.axis("Y")
    assert (narrow.where, narrow.reason) == ("", "1 chip: no link")
    assert (wide.where, wide.reason) == ("y", "as given")
    assert wide.segments[0].link is FLAT.dimensions[1].link


def test_what_an_axis_over_two_dimensions_knows() -> None:
    axis = lay_mesh(FLAT, {"X": 8}).axis("X")
    assert (axis.where, axis.reason) == ("x and y", "x: as given; y: as given")


REASONS = [
    (
        LONG,
        [
            "4 chips of x, 4 apart: a step is 4 hops, over links that 4 groups share",
            "4 neighbours of the 16 chips of x: the wraparound link is not among theirs",
        ],
    ),
    (
        machine((16, "line")),
        [
            "4 chips of x, 4 apart: a step is 4 hops, over links that 4 groups share",
            "4 neighbours of the 16 chips of x",
        ],
    ),
    (
        machine((16, "switch")),
        ["4 of the 16 chips at switch x", "4 of the 16 chips at switch x"],
    ),
]


@pytest.mark.parametrize(("topology", "reasons"), REASONS)
def test_why_a_part_is_what_it_is(topology: Topology, reasons: list[str]) -> None:
    mesh = lay_mesh(topology, {"X": 4, "Y": 4})
    assert [axis.reason for axis in mesh.axes] == reasons


SHARING = [
    # what a step takes of the links, and whether a closed form for one hop is exact
    (LONG, [(4, 4, False), (1, 1, True)]),
    (machine((16, "line")), [(4, 4, False), (1, 1, True)]),
    # every chip at a switch has ports of its own
    (machine((16, "switch")), [(1, 1, True), (1, 1, True)]),
]


@pytest.mark.parametrize(("topology", "shared"), SHARING)
def test_what_parts_share(topology: Topology, shared: list[tuple[int, int, bool]]) -> None:
    mesh = lay_mesh(topology, {"X": 4, "Y": 4})
    found = [(s.stride, s.congestion, s.is_physical) for axis in mesh.axes for s in axis.segments]
    assert found == shared


def test_the_axes_on_each_dimension() -> None:
    assert lay_mesh(FLAT, {"X": 2, "Y": 4}).axes_on == {0: "X/Y", 1: "Y"}
    assert lay_mesh(FLAT, {"A": 1, "X": 8}).axes_on == {0: "X", 1: "X"}
    assert lay_mesh(LONG, {"X": 2, "Y": 4, "Z": 2}).axes_on == {0: "X/Y/Z"}


def test_how_many_chips_axes_tell_apart() -> None:
    mesh = lay_mesh(CUBE, {"X": 4, "A": 1, "Y": 16})
    assert [mesh.ways(names) for names in ((), ("A",), ("X",), ("Y", "X"))] == [1, 1, 4, 64]


def test_position_of_a_chip() -> None:
    mesh = lay_mesh(FLAT, {"A": 1, "X": 2, "Y": 4}, {"X": "y", "Y": "x"})
    # the chip's coordinates are those of the topology: x = 3 of 4, y = 1 of 2
    assert [mesh.position((3, 1), name) for name in ("A", "X", "Y")] == [0, 1, 3]


def test_position_along_parts() -> None:
    """Chip 13 of 16 is chip 1 of the fourth four; 13 = 3 x 4 + 1."""
    mesh = lay_mesh(LONG, {"X": 4, "Y": 4})
    assert [mesh.position((13,), name) for name in "XY"] == [3, 1]
    turned = lay_mesh(LONG, {"X": 4, "Y": 4}, {"X": "x:(4)4", "Y": "x:(1)4"})
    assert [turned.position((13,), name) for name in "XY"] == [1, 3]
    # over two dimensions, major first: y = 1 of 2, x = 3 of 4
    over = lay_mesh(FLAT, {"X": 8}, {"X": "y+x"})
    assert over.position((3, 1), "X") == 7
    assert over.position((0, 1), "X") == 4


# What does not fit.

LINES = [(2, "line")] * 5
IN_ORDER = "in order: an axis must be whole dimensions, or divide one"
WHOLE = "an axis must be whole dimensions, or divide one"
PIECES = "x+y for several, y:(4)4 for a part; snake or ring for all chips"
DEVICES = "name the chips in the order of the mesh: devices"
FOUR_BY_TWO = "the sizes must multiply to 8; 4lx2r has the dimensions 4x2"
ERRORS: list[tuple[Topology, Sizes, Layout, str, str]] = [
    (
        machine(*LINES),
        None,
        None,
        "2lx2lx2lx2lx2l has 5 dimensions; the default mesh has 4",
        "name the axes: mesh",
    ),
    (FLAT, {}, None, "the mesh has no axes", "write it as X=4,Y=4"),
    (
        FLAT,
        {"XY": 8},
        None,
        "'XY' cannot be an axis name: capitals are read one by one (I_XY is X then Y)",
        "use one capital letter, or a lower-case word such as xy",
    ),
    (
        FLAT,
        {"_": 8},
        None,
        "'_' cannot be an axis name: capitals are read one by one (I_XY is X then Y)",
        "use one capital letter, or a lower-case word",
    ),
    (
        FLAT,
        {"X": 4, "Y": 4},
        None,
        "the mesh X=4, Y=4 has 4 x 4 = 16 chips, but 4lx2r has 8",
        FOUR_BY_TWO,
    ),
    (FLAT, {"X": 4}, None, "the mesh X=4 has 4 chips, but 4lx2r has 8", FOUR_BY_TWO),
    (
        machine((6, "ring"), (4, "ring")),
        {"X": 4, "Y": 6},
        None,
        f"the mesh X=4, Y=6 does not match the dimensions 6x4 of 6rx4r {IN_ORDER}",
        "say which axis lies on which dimension: layout X=y,Y=x",
    ),
    (
        machine((6, "ring"), (4, "ring")),
        {"X": 8, "Y": 3},
        None,
        f"the mesh X=8, Y=3 does not match the dimensions 6x4 of 6rx4r {IN_ORDER}",
        f"choose sizes that do, or {DEVICES}",
    ),
    (
        FLAT,
        {"X": 4, "Y": 2},
        {"X": "x", "Z": "y"},
        "layout names axis Z, which is not in the mesh (X, Y)",
        "name the axes of the mesh",
    ),
    (
        FLAT,
        {"X": 4, "Y": 2},
        {"X": "x", "Y": "w"},
        "layout puts axis Y on dimension w; 4lx2r has x, y",
        "write Y=DIMENSION, " + PIECES,
    ),
    (
        FLAT,
        {"X": 4, "Y": 2},
        {"X": "x"},
        "layout puts axis Y on no dimension; 4lx2r has x, y",
        "write Y=DIMENSION, " + PIECES,
    ),
    (
        FLAT,
        {"X": 4, "Y": 2},
        {"X": "x:4", "Y": "y"},
        "layout of axis X: 'x:4' is no dimension",
        "write x, x+y for several (major first), y:(4)4 for a part: "
        "the parts before it, then its size",
    ),
    (
        FLAT,
        {"X": 8},
        {"X": "x+"},
        "layout of axis X: '' is no dimension",
        "write x, x+y for several (major first), y:(4)4 for a part: "
        "the parts before it, then its size",
    ),
    (
        LONG,
        {"X": 4, "Y": 4},
        {"X": "x:(3)4", "Y": "x"},
        "layout of axis X: x:(3)4 is no part of the 16 chips of x",
        "the two numbers must multiply to a divisor of 16",
    ),
    (
        LONG,
        {"X": 4, "Y": 4},
        {"X": "x:(0)4", "Y": "x"},
        "layout of axis X: x:(0)4 is no part of the 16 chips of x",
        "the two numbers must multiply to a divisor of 16",
    ),
    (
        LONG,
        {"X": 4, "Y": 4},
        {"X": "x:(4)4", "Y": "x:(4)4"},
        "layout puts two axes on one part of dimension x",
        "write the parts: x:(1)4 is the outer one, x:(4)4 the inner",
    ),
    (
        LONG,
        {"X": 4, "Y": 4},
        {"X": "x:(1)4", "Y": "x:(2)4"},
        "layout puts two axes on one part of dimension x",
        "write the parts: x:(1)4 is the outer one, x:(4)4 the inner",
    ),
    # a part that is too long is not passed over
    (
        machine((16, "ring"), (4, "line")),
        {"X": 4, "Y": 16},
        {"X": "x:(1)8+y", "Y": "x"},
        "axis X of size 4 does not fit on x and y (16 x 4 chips), "
        "beside what other axes take of it",
        WHOLE,
    ),
    # parts that are longer or shorter than the axis
    (
        LONG,
        {"X": 4, "Y": 4},
        {"X": "x:(1)8", "Y": "x"},
        "axis X of size 4 does not fit on x (16 chips), beside what other axes take of it",
        WHOLE,
    ),
    (
        LONG,
        {"X": 4, "Y": 4},
        {"X": "x:(1)2", "Y": "x"},
        "axis X of size 4 does not fit on x (16 chips), beside what other axes take of it",
        WHOLE,
    ),
    (
        CUBE,
        {"X": 4, "Y": 16},
        {"X": "x", "Y": "x"},
        "axis Y of size 16 does not fit on x (4 chips), beside what other axes take of it",
        WHOLE,
    ),
    (
        FLAT,
        {"X": 2, "Y": 4},
        {"X": "x", "Y": "y"},
        "axis Y of size 4 does not fit on y (2 chips), beside what other axes take of it",
        WHOLE,
    ),
    (
        CUBE,
        {"X": 4, "Y": 4, "Z": 4},
        {"X": "x", "Y": "y", "Z": "y"},
        "axis Z of size 4 does not fit on y (4 chips), beside what other axes take of it",
        WHOLE,
    ),
    (
        FLAT,
        {"X": 8},
        {"X": "x+x"},
        "axis X of size 8 does not fit on x and x (4 x 4 chips), beside what other axes take of it",
        WHOLE,
    ),
    (
        FLAT,
        {"X": 4, "Y": 2},
        {"X": "snake", "Y": "x"},
        "layout snake is for one axis over all chips; the mesh has X=4, Y=2",
        DEVICES,
    ),
    (
        machine((3, "line"), (3, "line")),
        {"X": 9},
        {"X": "ring"},
        "no ring goes through all chips of a grid of 3x3",
        "a ring needs two dimensions longer than 1, one of them even; snake needs neither",
    ),
    (
        FLAT,
        {"X": 8},
        {"X": "spiral"},
        "layout puts axis X on dimension spiral; 4lx2r has x, y",
        "write X=DIMENSION, " + PIECES,
    ),
    (
        machine((4, "line"), (2, "ring"), missing=[(0, 0)]),
        {"X": 7},
        None,
        "4lx2r has no chip at (0, 0); 7 are left, and no grid",
        DEVICES,
    ),
    (
        machine((4, "line"), (2, "ring"), missing=[(0, 0)]),
        {"X": 7},
        {"X": "snake"},
        "layout snake needs a whole grid; 4lx2r lacks links or chips",
        DEVICES,
    ),
    (
        machine((4, "line"), (2, "ring"), changed=[(((0, 0), (0, +1)), None)]),
        {"X": 8},
        {"X": "snake"},
        "layout snake needs a whole grid; 4lx2r lacks links or chips",
        DEVICES,
    ),
]


@pytest.mark.parametrize(
    ("topology", "sizes", "layout", "message", "hint"), ERRORS, ids=range(len(ERRORS))
)
def test_what_does_not_fit(
    topology: Topology, sizes: Sizes, layout: Layout, message: str, hint: str
) -> None:
    with pytest.raises(MeshError) as caught:
        lay_mesh(topology, sizes, layout, PLACE)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert caught.value.place is PLACE


UNKNOWN = [
    ("W", "axis W is not in the mesh; the mesh has X, data", "add W=SIZE to the mesh"),
    ("x", "axis x is not in the mesh; the mesh has X, data", "did you mean X?"),
    ("date", "axis date is not in the mesh; the mesh has X, data", "did you mean data?"),
]


@pytest.mark.parametrize(("name", "message", "hint"), UNKNOWN)
def test_an_axis_that_is_not_there(name: str, message: str, hint: str) -> None:
    mesh = lay_mesh(FLAT, {"X": 4, "data": 2})
    with pytest.raises(MeshError) as caught:
        mesh.axis(name, PLACE)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert caught.value.place is PLACE
