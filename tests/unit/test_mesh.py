"""A mesh over a topology: in order, by layout, axes of size 1, and what does not fit."""

from __future__ import annotations

import pytest

from shardsim.errors import MeshError, NotYetError, Place
from shardsim.mesh import Mesh, lay_mesh
from tests.machines import machine

PLACE = Place("run.yaml", 2, 7, "mesh: X=4", 3)
FLAT = machine((4, "line"), (2, "ring"))
CUBE = machine((4, "ring"), (4, "ring"), (4, "ring"))
GAP = machine((4, "line"), (1, "line"), (2, "ring"))


def table(mesh: Mesh) -> list[tuple[str, int, str, int | None]]:
    return [(axis.name, axis.size, axis.kind.value, axis.index) for axis in mesh.axes]


LAID = [
    # without sizes: X, Y, Z over the dimensions in order
    (FLAT, None, None, [("X", 4, "line", 0), ("Y", 2, "ring", 1)]),
    (GAP, None, None, [("X", 4, "line", 0), ("Y", 1, "line", 1), ("Z", 2, "ring", 2)]),
    (FLAT, {"data": 4, "M1": 2}, None, [("data", 4, "line", 0), ("M1", 2, "ring", 1)]),
    # dimensions of size 1 may be left out, and axes of size 1 need none
    (GAP, {"X": 4, "Y": 2}, None, [("X", 4, "line", 0), ("Y", 2, "ring", 2)]),
    (
        FLAT,
        {"A": 1, "X": 4, "B": 1, "Y": 2, "C": 1},
        None,
        [
            ("A", 1, "line", None),
            ("X", 4, "line", 0),
            ("B", 1, "line", None),
            ("Y", 2, "ring", 1),
            ("C", 1, "line", None),
        ],
    ),
    (machine((1, "line")), {"X": 1}, None, [("X", 1, "line", 0)]),
    # by layout
    (FLAT, {"X": 2, "Y": 4}, {"X": "y", "Y": "x"}, [("X", 2, "ring", 1), ("Y", 4, "line", 0)]),
    (CUBE, {"X": 4, "Y": 4, "Z": 4}, {"X": "z", "Y": "x", "Z": "y"}, [
        ("X", 4, "ring", 2), ("Y", 4, "ring", 0), ("Z", 4, "ring", 1),
    ]),
    (GAP, {"X": 2, "Y": 4, "Z": 1}, {"X": "z", "Y": "x"}, [
        ("X", 2, "ring", 2), ("Y", 4, "line", 0), ("Z", 1, "line", None),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("topology", "sizes", "layout", "axes"), LAID, ids=range(len(LAID)))
def test_axes_over_dimensions(topology, sizes, layout, axes) -> None:  # type: ignore[no-untyped-def]
    mesh = lay_mesh(topology, sizes, layout)
    assert table(mesh) == axes
    assert mesh.sizes == {name: size for name, size, _, _ in axes}


def test_what_an_axis_knows() -> None:
    mesh = lay_mesh(FLAT, {"A": 1, "X": 4, "Y": 2})
    narrow, wide = mesh.axis("A"), mesh.axis("Y")
    assert (narrow.dimension, narrow.reason) == ("", "1 chip: no link")
    assert (wide.dimension, wide.reason) == ("y", "as given")
    assert wide.link is FLAT.dimensions[1].link


def test_position_of_a_chip() -> None:
    mesh = lay_mesh(FLAT, {"A": 1, "X": 2, "Y": 4}, {"X": "y", "Y": "x"})
    # the chip's coordinates are those of the topology: x = 3 of 4, y = 1 of 2
    assert [mesh.position((3, 1), name) for name in ("A", "X", "Y")] == [0, 1, 3]


PART = "supported: one mesh axis over one whole dimension"
ERRORS = [
    (
        machine((2, "line"), (2, "line"), (2, "line"), (2, "line")),
        None,
        None,
        MeshError,
        "2lx2lx2lx2l has 4 dimensions; the default mesh has 3",
        "name the axes: mesh",
    ),
    (FLAT, {}, None, MeshError, "the mesh has no axes", "write it as X=4,Y=4"),
    (
        FLAT,
        {"XY": 8},
        None,
        MeshError,
        "'XY' cannot be an axis name: capitals are read one by one (I_XY is X then Y)",
        "use one capital letter, or a lower-case word such as xy",
    ),
    (
        FLAT,
        {"_": 8},
        None,
        MeshError,
        "'_' cannot be an axis name: capitals are read one by one (I_XY is X then Y)",
        "use one capital letter, or a lower-case word",
    ),
    (
        FLAT,
        {"X": 4, "Y": 4},
        None,
        MeshError,
        "the mesh X=4, Y=4 has 4 x 4 = 16 chips, but 4lx2r has 8",
        "the sizes must multiply to 8; 4lx2r has the dimensions 4x2",
    ),
    (
        FLAT,
        {"X": 4},
        None,
        MeshError,
        "the mesh X=4 has 4 chips, but 4lx2r has 8",
        "the sizes must multiply to 8; 4lx2r has the dimensions 4x2",
    ),
    (
        FLAT,
        {"X": 2, "Y": 4},
        None,
        MeshError,
        "the mesh X=2, Y=4 does not match the dimensions 4x2 of 4lx2r in order",
        "say which axis lies on which dimension: layout X=y,Y=x",
    ),
    (
        FLAT,
        {"X": 8},
        None,
        NotYetError,
        "the mesh X=8 over the dimensions 4x2 of 4lx2r is not supported yet",
        f"{PART}, sizes equal (here: 4 and 2); "
        "axes over several dimensions or a part of one come later",
    ),
    (
        FLAT,
        {"X": 4, "Y": 2},
        {"X": "x", "Z": "y"},
        MeshError,
        "layout names axis Z, which is not in the mesh (X, Y)",
        "name the axes of the mesh",
    ),
    (
        FLAT,
        {"X": 4, "Y": 2},
        {"X": "x", "Y": "w"},
        MeshError,
        "layout puts axis Y on dimension w; 4lx2r has x, y",
        "write Y=DIMENSION",
    ),
    (
        FLAT,
        {"X": 4, "Y": 2},
        {"X": "x"},
        MeshError,
        "layout puts axis Y on no dimension; 4lx2r has x, y",
        "write Y=DIMENSION",
    ),
    (
        CUBE,
        {"X": 4, "Y": 4},
        {"X": "x", "Y": "x"},
        NotYetError,
        "layout puts two axes on dimension x; that is not supported yet",
        PART,
    ),
    (
        FLAT,
        {"X": 2, "Y": 4},
        {"X": "x", "Y": "y"},
        NotYetError,
        "axis X of size 2 lies on dimension x of size 4; "
        "a part of a dimension is not supported yet",
        "give axis X the size 4",
    ),
    (
        CUBE,
        {"X": 4},
        {"X": "y"},
        MeshError,
        "layout leaves dimension x, z of 4rx4rx4r without an axis",
        "lay an axis over every dimension longer than 1",
    ),
]


@pytest.mark.parametrize(
    ("topology", "sizes", "layout", "kind", "message", "hint"), ERRORS, ids=range(len(ERRORS))
)
def test_what_does_not_fit(topology, sizes, layout, kind, message, hint) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(kind) as caught:
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
