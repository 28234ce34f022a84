"""Law: bytes per chip x chips = global bytes x replication, and the blocks tile the array."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shardsim.notation import Array, Dim
from shardsim.sharding import ShardedArray, bind
from shardsim.vocabulary import Dtype
from tests.machines import machine, mesh_of


@st.composite
def sharded_arrays(draw: st.DrawFn) -> ShardedArray:
    """Up to three dimensions over up to three axes (size 1 included), in any order."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    mesh = mesh_of(machine(*((size, draw(st.sampled_from(["ring", "line"]))) for size in shape)))
    names = tuple("IJK"[: draw(st.integers(0, 3))])
    slots = [None, "unreduced", *names]
    where = [(axis, draw(st.sampled_from(slots))) for axis in draw(st.permutations([*mesh.sizes]))]
    array = Array(
        name="A",
        dims=tuple(Dim(name, tuple(a for a, slot in where if slot == name)) for name in names),
        unreduced=tuple(axis for axis, slot in where if slot == "unreduced"),
    )
    extents = {
        dim.name: math.prod(mesh.sizes[axis] for axis in dim.axes) * draw(st.integers(1, 3))
        for dim in array.dims
    }
    return bind(array, mesh, extents, draw(st.sampled_from(Dtype)))


@given(sharded_arrays())
def test_bytes_per_chip_times_chips(sharded: ShardedArray) -> None:
    chips = sharded.mesh.topology.size
    assert sharded.local_bytes * chips == sharded.global_bytes * sharded.replication


@given(sharded_arrays())
def test_the_blocks_tile_the_array_replication_times(sharded: ShardedArray) -> None:
    held = np.zeros(sharded.extents, dtype=np.int64)
    for chip in sharded.mesh.topology.coordinates():
        block = sharded.block(chip)
        assert held[block].shape == sharded.local_shape
        held[block] += 1
    assert (held == sharded.replication).all()


@given(sharded_arrays())
def test_chips_hold_the_same_block_just_where_the_axes_do_not_tell_them_apart(
    sharded: ShardedArray,
) -> None:
    mesh = sharded.mesh
    by_place: dict[tuple[int, ...], set[tuple[tuple[int, int], ...]]] = {}
    for chip in mesh.topology.coordinates():
        place = tuple(mesh.position(chip, axis) for axis in sharded.array.axes)
        block = tuple((part.start, part.stop) for part in sharded.block(chip))
        by_place.setdefault(place, set()).add(block)
    assert all(len(blocks) == 1 for blocks in by_place.values())
    assert len({block for blocks in by_place.values() for block in blocks}) == len(by_place)
