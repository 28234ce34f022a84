"""Laws of the other notations: what is written reads back, and says what the notation says."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shardsim.dialects import DIALECTS, Naming, read_dialect, translate
from shardsim.errors import InputError
from shardsim.notation import Array, Dim, sub_axis, whole_axis
from shardsim.placement import block_of, chips_of, grid, merged
from shardsim.vocabulary import Dtype

Case = tuple[Array, dict[str, int]]


@st.composite
def sharded(draw: st.DrawFn, *, parts: bool = True, least: int = 1) -> Case:
    """An array on a mesh of up to three axes, each of them whole or cut in two or three parts."""
    axes = draw(st.permutations(["X", "Y", "data"]))[: draw(st.integers(1, 3))]
    sizes = {axis: draw(st.integers(least, 8)) for axis in axes}
    names = []
    for axis, size in sizes.items():
        before = 1
        while parts and draw(st.booleans()):
            left = size // before
            divisors = [n for n in range(2, left + 1) if left % n == 0]
            if not divisors:
                break
            part = draw(st.sampled_from(divisors))
            names.append(f"{axis}:({before}){part}")
            before *= part
        if before == 1:
            names.append(axis)
    dims = "IJK"[: draw(st.integers(0, 3))]
    slots = ["unused", "unreduced", *dims]
    where = [(name, draw(st.sampled_from(slots))) for name in draw(st.permutations(names))]
    array = Array(
        name="A",
        dims=tuple(Dim(d, tuple(n for n, slot in where if slot == d)) for d in dims),
        unreduced=tuple(n for n, slot in where if slot == "unreduced"),
        dtype=draw(st.sampled_from([Dtype.BF16, Dtype.F32, Dtype.INT8])),
    )
    return array, sizes


def read_back(dialect: str, text: str, case: Case) -> Array:
    array, sizes = case
    found = read_dialect(dialect, text, sizes, Naming("A", array.dim_names)).array
    return replace(found, dtype=array.dtype)


@given(sharded(parts=False, least=2))
def test_every_notation_says_whole_axes_and_reads_back(case: Case) -> None:
    array, sizes = case
    said = translate(array, sizes, dict.fromkeys(array.dim_names, 64))
    for dialect in DIALECTS:
        text = said[dialect].text
        assert text is not None
        assert read_back(dialect, text, case) == array


@given(sharded(parts=False))
def test_names_of_axes_read_back_on_axes_of_one_chip_too(case: Case) -> None:
    array, sizes = case
    said = translate(array, sizes, dict.fromkeys(array.dim_names, 64))
    for dialect in ("jax", "shardy", "types"):
        assert read_back(dialect, said[dialect].text or "", case) == array


@given(sharded())
def test_parts_read_back_in_the_fewest_axes(case: Case) -> None:
    array, sizes = case
    said = translate(array, sizes)
    few = merged(array, sizes)
    for dialect in ("shardy", "hlo"):
        assert merged(read_back(dialect, said[dialect].text or "", case), sizes) == few
    assert read_back("hlo", said["hlo"].text or "", case) == few


def devices(text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """The chips of an HLO sharding, as numpy makes them from its numbers."""
    tile = [int(n) for n in re.findall(r"\d+", text[: text.index("]")])]
    found = re.search(r"<=\[([\d,]+)\](?:T\(([\d,]+)\))?", text)
    assert found is not None
    shape = [int(n) for n in found[1].split(",")]
    chips = np.arange(prod(shape)).reshape(shape)
    if found[2]:
        chips = chips.transpose([int(n) for n in found[2].split(",")])
    return chips.reshape(tile)


@given(sharded())
def test_the_chips_of_hlo_hold_the_blocks_that_the_notation_says(case: Case) -> None:
    """Each chip splits the global array by hand, axis after axis; the list must agree."""
    array, sizes = case
    text = translate(array, sizes)["hlo"].text or ""
    if text in ("{replicated}", "{unreduced}"):
        assert prod(grid(array, sizes)) == 1
        return
    chips = devices(text)
    rank = len(array.dims)
    for index in np.ndindex(*chips.shape):
        coordinates = np.unravel_index(chips[index], tuple(sizes.values()))
        chip = {axis: int(place) for axis, place in zip(sizes, coordinates, strict=True)}
        assert index[:rank] == tuple(by_hand(dim.axes, sizes, chip) for dim in array.dims)


def by_hand(axes: tuple[str, ...], sizes: dict[str, int], chip: dict[str, int]) -> int:
    """The block of a chip along one dimension, by splitting the list of blocks again and again."""
    blocks = list(range(prod(split(axis, sizes) for axis in axes)))
    for name in axes:
        axis, part = whole_axis(name), sub_axis(name)
        shape = (1, sizes[axis], 1) if part is None else (part.before, part.size, -1)
        digit = int(np.argwhere(np.arange(sizes[axis]).reshape(shape) == chip[axis])[0][1])
        blocks = np.split(np.array(blocks), split(name, sizes))[digit].tolist()
    assert len(blocks) == 1
    return blocks[0]


def split(name: str, sizes: dict[str, int]) -> int:
    part = sub_axis(name)
    return sizes[name] if part is None else part.size


@given(sharded())
def test_the_chips_of_a_block_are_those_that_hold_it(case: Case) -> None:
    array, sizes = case
    held: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for chip in itertools.product(*(range(size) for size in sizes.values())):
        block = block_of(array, sizes, dict(zip(sizes, chip, strict=True)))
        held.setdefault(block, []).append(chip)
    blocks = list(itertools.product(*(range(count) for count in grid(array, sizes))))
    assert sorted(held) == blocks
    for block in blocks:
        assert list(itertools.product(*chips_of(array, sizes, block).values())) == held[block]


@given(sharded(parts=False, least=2))
def test_placements_split_the_tensor_as_the_notation_says(case: Case) -> None:
    """Placements are applied from left to right; a strided one takes every part's share."""
    array, sizes = case
    text = translate(array, sizes)["dtensor"].text or ""
    placements = re.findall(r"(\w+)\((?:dim=)?(\d*)(?:, sf=(\d+))?\)", text)
    for chip in itertools.product(*(range(size) for size in sizes.values())):
        left = [np.arange(count) for count in grid(array, sizes)]
        for (kind, dim, factor), size, place in zip(placements, sizes.values(), chip, strict=True):
            if "Shard" in kind:
                pieces = left[int(dim)].reshape(int(factor or 1), size, -1)
                left[int(dim)] = pieces[:, place].reshape(-1)
        assert [numbers.tolist() for numbers in left] == [
            [block] for block in block_of(array, sizes, dict(zip(sizes, chip, strict=True)))
        ]


PIECES = [
    "P", "(", ")", "[", "]", "{", "}", "'X'", '"X"', "X", "None", ",", "<=", "<", ">", "8", "4",
    "2", "devices=", "T(1,0)", "last_tile_dim_replicate", "last_tile_dims={", "replicated",
    "unreduced", "Shard(0)", "S(0)", "_S(0,2)", "Partial()", "R", "f32", "@", "@mesh", ":", "U:",
    ":(1)2", "?", "=", "-", " ", "·", "->", "0,1,2,3,4,5,6,7", "{devices=[4,2]", "\n", "\x00",
    "9" * 5000, "é",
]  # fmt: skip


@given(
    st.sampled_from(DIALECTS),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=30),
)
def test_junk_is_read_or_refused(dialect: str, text: str) -> None:
    sizes = {"X": 4, "Y": 2}
    try:
        array = read_dialect(dialect, text, sizes).array
    except InputError as error:
        assert_says_what_to_do(error)
    else:
        assert prod(grid(array, sizes)) <= 8


def assert_says_what_to_do(error: InputError) -> None:
    assert error.hint
    assert len(error.message) <= 200
