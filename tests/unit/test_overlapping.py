"""Runs with overlap: what is decided, what stays exposed, the critical path, memory, repetition."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import shardsim as ss
from shardsim.comparison import Run
from shardsim.errors import PlanError, ScenarioError
from shardsim.plot import draw_timeline
from shardsim.plot.timeline import timeline_picture
from shardsim.vocabulary import Form, Overlap
from tests.machines import peak_memory
from tests.pictures import outside, overlaps, texts_of, tips_of

US = Fraction(1, 10**6)
RING: dict[str, Any] = {
    "name": "ring of 16",
    "chip": {
        "name": "slow",
        "flops_per_second": {"bf16": "2 TFLOP/s"},
        "hbm_bandwidth": "1000 TB/s",
        "hbm_capacity": "9 GB",
    },
    "dimensions": [
        {"name": "x", "size": 16, "kind": "ring", "bandwidth": "2 GB/s", "latency": "0 s"}
    ],
}
"""Two rows of 500, times 500 x 1000, take 1 us on the core; 2,000 bytes take 1 us a hop."""
GATHER = ["AllGather_X A[I_X, J] -> G[I, J]", "G[I, J] · B[J, K] -> C[I, K]"]
LAYER = ["In[B_X, D] · W[D_X, F] -> H[B_X, F]", "H[B_X, F] · V[F, D_X] -> In[B_X, D]"]


def ran(program: list[str], **settings: Any) -> Run:
    return ss.run(program, **{"topology": RING, **settings})


def with_hop(microseconds: Fraction) -> dict[str, Any]:
    """The ring with such a bandwidth that a chunk of 2,000 bytes takes so long."""
    rate = Fraction(2000) / (microseconds * US)
    (dimension,) = RING["dimensions"]
    return {**RING, "dimensions": [{**dimension, "bandwidth": float(rate)}]}


@pytest.mark.parametrize(
    ("hop", "form", "microseconds"),
    [
        # N = 16, c = 1 us: what takes equally long is done with the fewest messages
        ("1/4", Form.OWN_CHUNK_FIRST, 16),
        ("1/2", Form.OWN_CHUNK_FIRST, 16),
        ("1", Form.OWN_CHUNK_FIRST, 16),
        ("2", Form.HALF_CHUNKS, 16),
        ("4", Form.OWN_CHUNK_FIRST, 31),
    ],
)
def test_the_form_that_auto_takes(hop: str, form: Form, microseconds: int) -> None:
    result = ran(
        GATHER,
        topology=with_hop(Fraction(hop)),
        dims={"I": 32, "J": 500, "K": 1000},
        overlap="auto",
    )
    (considered,) = result.considered
    assert considered.chosen is form
    assert considered.ways[0].seconds == microseconds * US
    assert result.totals.simulated_seconds == microseconds * US


def test_auto_leaves_apart_what_other_work_hides() -> None:
    """The gather of V runs beside the first matmul: nothing is won by cutting the second."""
    result = ran(LAYER, dims={"B": 32000, "D": 64, "F": 64}, overlap="auto")
    assert [one.chosen is None for one in result.considered] == [False, True]
    assert "other work hides the communication already" in result.considered[1].why


def test_auto_is_never_slower_than_async() -> None:
    for dims in ({"B": 16, "D": 64, "F": 64}, {"B": 320, "D": 16, "F": 16}):
        plain, auto = (ran(LAYER, dims=dims, overlap=how) for how in ("async", "auto"))
        assert auto.totals.simulated_seconds <= plain.totals.simulated_seconds


def test_auto_tries_each_pair_where_all_together_lose() -> None:
    """The first gather runs beside other work; in parts the matmul after it reads its sums anew."""
    chip = {**RING["chip"], "hbm_bandwidth": "1 TB/s"}
    program = [
        "P[L, M] · Q[M, O] -> R[L, O]",
        "AllGather_X A[I, J_X] -> G[I, J]",
        "G[I, J] · B[J, K] -> C[I, K]",
        "H[S, F_X] ·_LOCAL V[F_X, D] -> T[S, D]{U_X}",
        "ReduceScatter_{X,D} T[S, D]{U_X} -> Z[S, D_X]",
    ]
    dims = {"L": 22, "M": 500, "O": 1000, "I": 512, "J": 48, "K": 512, "S": 16, "F": 4096, "D": 256}
    plain, both, auto = (
        ran(program, topology={**RING, "chip": chip}, dims=dims, overlap=how)
        for how in ("async", "decomposed", "auto")
    )
    times = [result.totals.simulated_seconds for result in (auto, plain, both)]
    assert times == sorted(set(times))
    assert [one.chosen for one in auto.considered] == [None, Form.HALF_CHUNKS]
    assert auto.considered[0].why.startswith(
        "one after the other: in the whole run that would not be faster (own_chunk_first: 17.4 µs"
    )


def test_a_form_that_cannot_be_done_is_told_with_those_that_can() -> None:
    with pytest.raises(PlanError) as caught:
        ran(GATHER, dims={"I": 16, "J": 4, "K": 4}, overlap="decomposed", form="unpipelined")
    assert caught.value.message == "nothing in this plan can be done in the form unpipelined"
    assert caught.value.hint == (
        "choose own_chunk_first, pairs or one_direction, or leave the form out"
    )


def test_a_form_where_nothing_goes_together() -> None:
    with pytest.raises(PlanError, match="no AllGather or ReduceScatter along one ring"):
        ran(GATHER[:1], dims={"I": 16, "J": 4}, overlap="decomposed", form="pairs")


# exposed communication and the critical path


def test_what_is_exposed_by_step_and_by_chip() -> None:
    """On a line of 4 the chips at the ends wait longest for the last chunk."""
    line = {**RING, "dimensions": [{**RING["dimensions"][0], "size": 4, "kind": "line"}]}
    result = ran(GATHER, topology=line, dims={"I": 8, "J": 500, "K": 1000}, overlap="decomposed")
    assert result.totals.simulated_seconds == 4 * US
    ends, inner = result.chip_classes[-1], result.chip_classes[0]
    assert sum(one.chips for one in result.chip_classes) == 4
    assert {one.shares.communication for one in (ends, inner)} == {3 * US}
    assert result.steps[0].exposed == result.totals.exposed_communication_seconds == 0
    slower = ran(GATHER, topology=line, dims={"I": 8, "J": 500, "K": 250}, overlap="decomposed")
    assert slower.totals.simulated_seconds == Fraction(13, 4) * US
    assert {one.shares.exposed: one.chips for one in slower.chip_classes} == {
        Fraction(9, 4) * US: 2,  # three chunks of 1/4 us beside three hops of 1 us
        2 * US: 2,  # and here a fourth
    }


def test_the_critical_path_goes_through_the_chunks() -> None:
    result = ran(GATHER, dims={"I": 32, "J": 500, "K": 200}, overlap="decomposed")
    path = result.critical_path
    assert [(piece.step, piece.computes) for piece in path] == [(0, False), (1, True)]
    assert path[-1].seconds == US / 5
    assert path[0].start == 0
    assert path[-1].end == result.totals.simulated_seconds


@pytest.mark.parametrize("overlap", ["none", "async", "decomposed", "auto"])
def test_the_pieces_of_the_critical_path_follow_each_other(overlap: str) -> None:
    for name in ("compare-tensor-parallel-block", "compare-fsdp-prefetch"):
        first = ss.load_scenario(name, strategy="plain" if "tensor" in name else "one ahead")
        options = replace(first.options, overlap=Overlap(overlap))
        result = ss.run(replace(first, options=options))
        path = result.critical_path
        assert path[0].start == 0
        assert path[-1].end == result.totals.simulated_seconds
        assert all(one.end == other.start for one, other in itertools.pairwise(path))


# memory


def test_what_is_gathered_ahead_takes_memory() -> None:
    dims = {"B": 64000, "D": 1600, "F": 1600}
    peaks = [
        ran(LAYER, dims=dims, repeat=3, **more).totals.peak_memory_bytes_per_chip
        for more in ({"overlap": "none"}, {"prefetch": 0}, {"prefetch": 1}, {})
    ]
    whole = 1600 * 1600 * 2
    assert peaks[0] == peaks[1]
    assert peaks[2] - peaks[1] == whole
    assert peaks[3] > peaks[2]


def test_step_after_step_the_peak_is_that_of_the_plan() -> None:
    for program, dims in (
        (LAYER, {"B": 16, "D": 160, "F": 320}),
        (GATHER, {"I": 32, "J": 500, "K": 100}),
    ):
        result = ran(program, dims=dims, overlap="none")
        assert result.totals.peak_memory_bytes_per_chip == peak_memory(result.plan)


# repetition


def test_layers_without_writing_them_out() -> None:
    once = ran(LAYER, dims={"B": 16, "D": 160, "F": 320}, overlap="none")
    twice = ran(LAYER, dims={"B": 16, "D": 160, "F": 320}, overlap="none", repeat=2)
    assert twice.totals.simulated_seconds == 2 * once.totals.simulated_seconds
    assert [name for name, _ in twice.plan.inputs] == ["In", "W", "V", "W_2", "V_2"]
    assert len(twice.plan.first_choices) == len(once.plan.choices)


def test_an_element_type_holds_for_all_repetitions() -> None:
    result = ran(
        LAYER,
        dims={"B": 16, "D": 16, "F": 16},
        repeat=3,
        dtype={"W": "bf16", "V": "int8", "default": "bf16"},
        topology="v5e:16",
    )
    kinds = {name: value.sharded.dtype.value for name, value in result.plan.inputs}
    assert {kinds["V"], kinds["V_2"], kinds["V_3"]} == {"int8"}


def test_repetitions_that_do_not_follow_each_other_are_refused() -> None:
    with pytest.raises(ScenarioError) as caught:
        ran(GATHER[1:], dims={"I": 16, "J": 4, "K": 4}, repeat=2)
    assert caught.value.message.startswith("repeat: no line reads first what a later one writes")
    assert caught.value.hint == "let the last line write what the first one reads: -> G[..]"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prefetch": -1}, "prefetch must be 0 or more; it is -1"),
        ({"prefetch": "soon"}, "prefetch must be a whole number; it is 'soon'"),
        ({"compute_slowdown": 0.5}, "compute_slowdown must be from 1 to 100; it is 0.5"),
        ({"compute_slowdown": [2]}, "compute_slowdown must be a number; it is"),
        ({"repeat": 0}, "repeat must be from 1 to 1,024; it is 0"),
        ({"repeat": 5000}, "repeat must be from 1 to 1,024; it is 5,000"),
        ({"tile": 0}, "tile must be"),
        ({"prefetch": 1, "overlap": "none"}, "prefetch is for steps that overlap"),
        ({"form": "pairs"}, "form pairs is for overlap: decomposed or auto; it is async"),
        ({"form": "pears"}, "form must be one of own_chunk_first, half_chunks, pairs"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ss.ShardsimError) as caught:
        ran(LAYER, dims={"B": 16, "D": 16, "F": 16}, **settings)
    assert message in str(caught.value)


# per-step costs


def test_smaller_matmuls_are_padded_to_the_tile() -> None:
    """Chunks of 2 rows are padded to 128: no form is faster than the whole matmul of 32 rows."""
    dims = {"I": 32, "J": 512, "K": 1024}
    plain = ran(GATHER, dims=dims, tile=128, overlap="auto")
    (one,) = plain.considered
    assert one.chosen is None
    assert one.ways[0].part_seconds * 1 == plain.plan.steps[1].seconds
    step = plain.plan.steps[1]
    assert step.price.waste == Fraction(3, 4)  # type: ignore[union-attr]
    assert plain.totals.flops_utilization == step.price.useful / plain.totals.simulated_seconds  # type: ignore[union-attr]


def test_each_hop_is_launched_by_itself() -> None:
    dims = {"I": 32, "J": 500, "K": 1000}
    (free,) = ran(GATHER, dims=dims, overlap="decomposed", form="one_direction").considered
    result = ran(
        GATHER, dims=dims, overlap="decomposed", form="one_direction", launch_overhead="0.5 us"
    )
    (launched,) = result.considered
    assert free.ways[0].seconds == 16 * US
    assert launched.ways[0].seconds == (1 + 15 * Fraction(3, 2)) * US
    assert result.totals.simulated_seconds == launched.ways[0].seconds


# the picture


def test_a_picture_of_the_busiest_chip() -> None:
    result = ran(GATHER, dims={"I": 32, "J": 500, "K": 250}, overlap="decomposed")
    drawing = draw_timeline(result)
    assert {"core", "link X+", "link X-", "exposed"} <= set(texts_of(drawing))
    parts = [tip for tip in tips_of(drawing) if tip.startswith("G[I, J]")]
    assert len(parts) == len(result.timeline.computing((0,)))
    assert any("of which" in text for text in texts_of(drawing))
    picture = timeline_picture(result)
    assert outside(picture) == overlaps(picture) == []


def test_names_of_links_have_room_in_the_picture() -> None:
    name = "tensorparallel"
    result = ss.run(
        f"A[I_{name}, J] -> A[I, J]",
        topology="v5e:8x4",
        mesh={name: 8, "Y": 4},
        dims={"I": 64, "J": 64},
    )
    picture = timeline_picture(result)
    assert f"link {name}+" in texts_of(picture.svg())
    assert outside(picture) == overlaps(picture) == []


def test_steps_that_are_not_named_are_counted() -> None:
    result = ran(LAYER, dims={"B": 16, "D": 160, "F": 320}, repeat=4)
    *_, last, more = texts_of(draw_timeline(result))
    assert last.startswith("12  ")
    assert more == f"and {len(result.plan.steps) - 12} more steps"


def test_a_picture_of_nothing() -> None:
    result = ss.run("A[I] -> A[I_X]", topology="v5e:4", dims={"I": 8})
    assert "<svg" in draw_timeline(result)
