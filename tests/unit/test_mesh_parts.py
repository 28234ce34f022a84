"""Parts of axes on a mesh: what they lie on, who stands where, and what cannot be a part."""

from __future__ import annotations

import itertools

import pytest

from shardsim.errors import MeshError
from shardsim.mesh import Mesh, lay_mesh
from shardsim.vocabulary import DimensionKind
from tests.machines import machine

LINE, RING, SWITCH = DimensionKind.LINE, DimensionKind.RING, DimensionKind.SWITCH


def mesh_on(kind: str, size: int = 8) -> Mesh:
    return lay_mesh(machine((size, kind), (2, "line")), {"X": size, "Y": 2})


@pytest.mark.parametrize(
    ("kind", "name", "size", "lies", "spacing"),
    [
        ("ring", "X:(1)2", 2, RING, 4),
        ("ring", "X:(2)4", 4, LINE, 1),
        ("ring", "X:(2)2", 2, LINE, 2),
        ("line", "X:(1)4", 4, LINE, 2),
        ("switch", "X:(1)2", 2, SWITCH, 4),
        ("switch", "X:(4)2", 2, SWITCH, 1),
        ("ring", "X:(1)8", 8, RING, 1),
    ],
)
def test_what_a_part_lies_on(
    kind: str, name: str, size: int, lies: DimensionKind, spacing: int
) -> None:
    axis = mesh_on(kind).axis(name)
    (segment,) = axis.segments
    assert (axis.name, axis.size) == (name, size)
    assert (segment.kind, segment.spacing, segment.size) == (lies, spacing, size)


@pytest.mark.parametrize("kind", ["ring", "line", "switch"])
def test_parts_are_the_digits_of_the_position(kind: str) -> None:
    mesh = mesh_on(kind)
    for chip in mesh.topology.coordinates():
        digits = [mesh.position(chip, name) for name in ("X:(1)2", "X:(2)2", "X:(4)2")]
        assert mesh.position(chip, "X") == 4 * digits[0] + 2 * digits[1] + digits[2]


@pytest.mark.parametrize("names", [*itertools.permutations(["X:(1)2", "X:(2)2", "X:(4)2"])])
def test_all_parts_together_are_the_axis(names: tuple[str, ...]) -> None:
    mesh = mesh_on("ring")
    (segment,) = mesh.group(names).segments
    (whole,) = mesh.group(("X",)).segments
    assert segment == whole


def test_a_group_of_a_part_and_another_axis() -> None:
    group = mesh_on("ring").group(("X:(2)4", "Y"))
    assert group.size == 8
    assert [segment.size for segment in group.segments] == [4, 2]
    assert len(group.instances) == 2
    assert all(len({chip[0] // 4 for chip in chips}) == 1 for chips in group.instances)


def test_a_part_over_several_dimensions() -> None:
    topology = machine((2, "line"), (4, "ring"))
    mesh = lay_mesh(topology, {"X": 8}, {"X": "x+y"})
    assert [s.name for s in mesh.axis("X:(1)4").segments] == ["x", "y:(1)2"]
    assert [s.name for s in mesh.axis("X:(2)4").segments] == ["y"]


def test_chips_of_one_switch_are_one_segment_however_they_are_picked() -> None:
    mesh = lay_mesh(machine((8, "switch")), {"X": 2, "Y": 2, "Z": 2})
    group = mesh.group(("X", "Z"))
    (segment,) = group.segments
    assert (segment.kind, segment.size) == (SWITCH, 4)
    assert segment.reason == "4 of the 8 chips at switch x"
    assert group.instances[0] == ((0,), (1,), (4,), (5,))
    assert not group.shares_links


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("X:(1)3", "X:(1)3 is no part of X=8", "must divide 8"),
        ("X:(4)4", "X:(4)4 is no part of X=8", "must divide 8"),
        ("Q:(1)2", "axis Q is not in the mesh; the mesh has X, Y", "add Q=SIZE to the mesh"),
    ],
)
def test_what_is_no_part(name: str, message: str, hint: str) -> None:
    with pytest.raises(MeshError) as caught:
        mesh_on("ring").axis(name)
    assert caught.value.message == message
    assert hint in caught.value.hint


def test_a_part_across_dimensions_that_it_would_cut() -> None:
    mesh = lay_mesh(machine((3, "line"), (2, "line")), {"X": 6}, {"X": "x+y"})
    with pytest.raises(MeshError, match="cuts across the parts that X=6 lies on"):
        mesh.axis("X:(1)2")
    assert mesh.axis("X:(1)3").size == 3
