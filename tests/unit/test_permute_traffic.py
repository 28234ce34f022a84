"""What links carry in a permute: counted row by row on a grid as hop by hop."""

from __future__ import annotations

import random

import pytest

from shardsim.mesh import Permutation
from tests.machines import machine

SHAPES = [
    ((7, "ring"),),
    ((8, "ring"), (3, "line")),
    ((4, "line"), (5, "ring")),
    ((2, "ring"), (2, "line"), (3, "ring")),
    ((4, "switch"), (4, "ring")),
    ((3, "switch"), (2, "switch")),
    ((1, "line"), (6, "line")),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(20))
def test_row_by_row_is_hop_by_hop(shape: tuple[tuple[int, str], ...], seed: int) -> None:
    topology = machine(*shape)
    chips = list(topology.coordinates())
    rng = random.Random(seed)
    moved = rng.sample(chips, rng.randrange(2, len(chips) + 1))
    targets = {chip: chip for chip in chips}
    targets |= dict(zip(moved, rng.sample(moved, len(moved)), strict=True))
    permutation = Permutation(topology, lambda _: targets)
    assert permutation.traffic == permutation._routed(targets)
