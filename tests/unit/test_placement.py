"""Drawings of shardings: what stands in the grid and in the SVG, and where the drawing is cut."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from shardsim.errors import InputError, NotationError, ShardingError
from shardsim.inspection import Inspection, View, chips_text, inspect_sharding
from shardsim.notation import parse_array
from shardsim.placement import check_axes, local_shape, merged
from shardsim.plot import draw_placement, write_placement
from shardsim.plot.colours import luminance
from shardsim.plot.placement import placement_picture
from tests.pictures import outside, overlaps, texts_of, tips_of

MESH = {"X": 4, "Y": 2}


def looked(text: str, sizes: Mapping[str, int] = MESH, /, **extents: int) -> Inspection:
    return inspect_sharding(text, sizes, machine="v5e:4x2", extents=extents)


@pytest.mark.parametrize(
    ("chips", "text"),
    [
        ({"X": (0,), "Y": (0, 1, 2, 3)}, "X0 Y0-3"),
        ({"X": (0, 2), "X1": (3,)}, "X0,2 X1=3"),
        ({"data": (0, 1, 4, 5)}, "data=0-1,4-5"),
        ({}, ""),
    ],
)
def test_chips(chips: dict[str, tuple[int, ...]], text: str) -> None:
    assert chips_text(chips) == text


@pytest.mark.parametrize(
    ("text", "rows", "columns", "others"),
    [
        ("A[]", None, None, ()),
        ("A[I_X]", None, 0, ()),
        ("A[I, J]", 0, 1, ()),
        ("A[I_X, J, K]", 0, 2, ()),
        ("A[I, J_X, K, L_Y]", 1, 3, ()),
        ("A[I_{X:(1)2}, J_{X:(2)2}, K_Y]", 1, 2, (0,)),
    ],
)
def test_which_dimensions_are_drawn(
    text: str, rows: int | None, columns: int | None, others: tuple[int, ...]
) -> None:
    assert View.of(looked(text)) == View(rows, columns, others)


def test_what_a_chip_holds() -> None:
    one = looked("A: int8[I_X, J]{U_Y}", I=8, J=6)
    assert one.local_shape == (2, 6)
    assert one.local_bytes == 12
    assert (one.grid, one.replication, one.partial) == ((4, 1), 2, 2)
    found = one.to_dict()
    assert found["local_dims"] == {"I": 2, "J": 6}
    assert found["blocks"][1] == {"block": [1, 0], "chips": {"X": [1], "Y": [0, 1]}}
    assert found["notations"]["jax"] == {"text": "P('X', None, unreduced={'Y'})", "why_not": None}


def test_many_blocks_are_left_out_of_the_data() -> None:
    assert "blocks" not in looked("A[I_XY]", {"X": 128, "Y": 64}).to_dict()


@pytest.mark.parametrize(
    ("text", "extents", "kind", "message"),
    [
        ("A[I_Z]", {}, ShardingError, "axis Z is not in the mesh; the mesh has X, Y"),
        ("A[I_{X:(1)3}]", {}, ShardingError, "X:(1)3 is no part of X: the size of X is 4"),
        ("A[I_X, J]", {"I": 8}, ShardingError, "dimension J has no extent"),
        ("A[I_X]", {"I": 9}, ShardingError, "dimension I of 9 cannot be cut into 4 equal blocks"),
        ("A[I_X]", {"Q": 9}, NotationError, "there is an extent of Q, and A[I_X] has no such"),
        ("A[I] -> B[I]", {}, NotationError, "expected one array, found a statement"),
        ("AllGather_X A[I_X]", {}, NotationError, "expected one array, found a statement"),
        ("A[I] B", {}, NotationError, "expected a dot, '->' or the end, found 'B'"),
        ("", {}, NotationError, "the text is empty"),
    ],
)
def test_refused(text: str, extents: dict[str, int], kind: type[InputError], message: str) -> None:
    with pytest.raises(kind) as caught:
        looked(text, **extents)
    assert caught.value.message.startswith(message)
    assert caught.value.hint


def test_extents_of_the_text_and_of_the_dims_must_agree() -> None:
    one = inspect_sharding("f32[8@X]", MESH, dialect="types", extents={"I": 8})
    assert one.extents == {"I": 8}
    with pytest.raises(NotationError, match="dimension I is 8 long in the text, and 9 in the dims"):
        inspect_sharding("f32[8@X]", MESH, dialect="types", extents={"I": 9})


@pytest.mark.parametrize(
    ("text", "few"),
    [
        ("A[I_{X:(1)2,X:(2)2}]", "A[I_X]"),
        ("A[I_{X:(2)2,X:(1)2}]", "A[I_{X:(2)2,X:(1)2}]"),
        ("A[I_{X:(1)2,Y,X:(2)2}]", "A[I_{X:(1)2,Y,X:(2)2}]"),
        ("A[I]{U_{X:(2)2,Y,X:(1)2}}", "A[I]{U_XY}"),
        ("A[I_{X:(1)4}]", "A[I_X]"),
        ("A[I_Z]", "A[I]"),
    ],
)
def test_the_fewest_axes(text: str, few: str) -> None:
    assert str(merged(parse_array(text), {**MESH, "Z": 1})) == few


def test_an_extent_is_asked_for() -> None:
    check_axes(parse_array("A[I_X]"), MESH)
    with pytest.raises(ShardingError, match="dimension I has no extent"):
        local_shape(parse_array("A[I_X]"), MESH, {})


def blocks(one: Inspection) -> list[Rectangle]:
    """The rectangles of a drawing, in order."""
    (sheet,) = placement_picture(one).figure.axes
    return [found for found in sheet.get_children() if str(found.get_gid()).startswith("tip-")]


def test_the_drawing_says_all_of_it() -> None:
    found = texts_of(draw_placement(looked("A: f32[I_X, J]{U_Y}", I=64, J=128)))
    assert found[:4] == [
        "A: f32[I_X, J]{U_Y}",
        "v5e:4x2, mesh X=4 Y=2; each partial sum on 1 chip",
        "J = 128: not cut",
        "I = 64: 4 blocks of 16",
    ]
    assert found[4:8] == ["X0 Y0-1", "X1 Y0-1", "X2 Y0-1", "X3 Y0-1"]
    assert found[8:13] == ["0", "16", "32", "48", "64"]
    assert found[-1].startswith("still to be summed over Y: the chips of a block hold 2 different")


@pytest.mark.parametrize("text", ["A[]", "A[I_XY]", "A[I_X, J_Y]", "A[I, J_YX]", "A[I, J, K]"])
def test_every_block_is_drawn_inside_the_page_and_they_fill_the_array(text: str) -> None:
    one = looked(text)
    picture = placement_picture(one)
    wide, high = picture.figure.get_size_inches() * 72
    boxes = []
    for block in blocks(one):
        x, y, width, height = *block.get_xy(), block.get_width(), block.get_height()
        assert 0 <= x <= x + width <= wide
        assert 0 <= y <= y + height <= high
        boxes.append((x, y, width, height))
    assert len(boxes) == math.prod(one.grid) == len(tips_of(picture.svg()))
    left, top = min(b[0] for b in boxes), min(b[1] for b in boxes)
    right, bottom = max(b[0] + b[2] for b in boxes), max(b[1] + b[3] for b in boxes)
    area = sum(width * height for _, _, width, height in boxes)
    assert area == pytest.approx((right - left) * (bottom - top), rel=0.01)
    assert outside(picture) == overlaps(picture) == []


def test_the_sides_are_as_the_extents() -> None:
    def sides(**extents: int) -> float:
        (block,) = blocks(looked("A[I, J]", **extents))
        return float(block.get_width() / block.get_height())

    assert sides(I=64, J=128) == pytest.approx(2, rel=0.01)
    assert sides(I=128, J=64) == pytest.approx(0.5, rel=0.01)
    assert sides(I=1, J=10**9) == pytest.approx(2.6, rel=0.01)


def test_neighbours_differ_in_grey() -> None:
    drawn = blocks(looked("A[I_X, J_Y]", {"X": 8, "Y": 9}))
    grey = [luminance(to_hex(block.get_facecolor())) for block in drawn]
    assert len(grey) == 72
    assert min(grey) > 0.6  # black type can be read on it
    for k, one in enumerate(grey):
        if k % 9:
            assert abs(one - grey[k - 1]) > 0.13
        if k >= 9:
            assert abs(one - grey[k - 9]) > 0.13


def test_a_drawing_with_too_many_blocks_says_so() -> None:
    found = texts_of(draw_placement(looked("A[I_X, J_Y]", {"X": 100, "Y": 100})))
    assert found[-3:] == [
        "the blocks are too small for the names of their chips: point at one",
        "cut: the first 64 of 100 blocks across",
        "cut: the first 64 of 100 blocks down",
    ]


def test_a_drawing_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    one = looked("A[I_X]")
    write_placement(one, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == draw_placement(one)
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]
    with pytest.raises(InputError, match=r"cannot write the drawing to .*: No such file") as caught:
        write_placement(one, tmp_path / "none" / "a.svg")
    assert caught.value.hint.startswith("create the folder")
    with pytest.raises(InputError, match="it is a folder") as caught:
        write_placement(one, tmp_path)
    assert "sharding.svg" in caught.value.hint
