"""Several operands in one statement: right on numbers, and no dearer than dot by dot."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import shardsim as ss
from shardsim.vocabulary import Objective
from tests.machines import machine, planned

PLACES = st.sampled_from(["", "_X", "_Y"])


@st.composite
def chains(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """A chain of three or four matrices, each with any sharding over two axes."""
    count = draw(st.integers(3, 4))
    dims = "IJKLM"[: count + 1]
    arrays = []
    for name, pair in zip("ABCD", itertools.pairwise(dims), strict=False):
        arrays.append(f"{name}[{draw(_sharding(pair))}]")
    result = f"R[{draw(_sharding((dims[0], dims[-1])))}]"
    sizes = st.sampled_from([8, 16, 24])
    return f"{' · '.join(arrays)} -> {result}", {dim: draw(sizes) for dim in dims}


@st.composite
def _sharding(draw: st.DrawFn, dims: tuple[str, str]) -> str:
    first = draw(PLACES)
    second = draw(PLACES.filter(lambda place: not place or place != first))
    return f"{dims[0]}{first}, {dims[1]}{second}"


@given(chains(), st.sampled_from([Objective.TIME, Objective.BYTES]))
def test_chains_are_right_and_no_dearer_than_dot_by_dot(
    chain: tuple[str, dict[str, int]], objective: Objective
) -> None:
    text, extents = chain
    made = planned(text, machine((4, "ring"), (2, "line")), extents, objective=objective)
    rng = np.random.default_rng(len(text))
    arrays = {name: rng.integers(-9, 10, v.sharded.extents) for name, v in made.inputs}
    expected = np.linalg.multi_dot([arrays[name] for name in sorted(arrays)])
    assert np.array_equal(ss.execute(made, arrays), expected)
    measures = [
        way.estimate if objective is Objective.TIME else way.wire_bytes
        for way in made.choices[0].alternatives
    ]
    assert measures[0] == min(measures)
    assert made.choices[0].alternatives[0] is made.choices[0].chosen
