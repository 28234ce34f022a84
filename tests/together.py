"""A collective and a matmul done together, where a test says what a part and a hop take."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from shardsim.call import make_call
from shardsim.cost import CostModel
from shardsim.hardware import Calibration, Link
from shardsim.overlap.forms import ALGORITHMS
from shardsim.planner import CollectiveStep, MatmulStep, Plan
from shardsim.planner.decomposition import Decomposition
from shardsim.units import Seconds
from shardsim.vocabulary import (
    Algorithm,
    CollectiveKind,
    DimensionKind,
    Form,
    LatencyModel,
    Relation,
)
from tests.machines import machine, planned

GATHER, SCATTER = CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER
RING, LINE, SWITCH = DimensionKind.RING, DimensionKind.LINE, DimensionKind.SWITCH

Combination = tuple[DimensionKind, Form, CollectiveKind]
COMBINATIONS: list[Combination] = [
    (dimension, form, kind)
    for dimension, forms in ALGORITHMS.items()
    for form in forms
    for kind in (GATHER, SCATTER)
    if form is not Form.UNPIPELINED or kind is SCATTER
]
"""Every form in which an AllGather or a ReduceScatter may go with a matmul."""

TEXTS = {
    GATHER: ["AllGather_X A[I_X, J] -> A[I, J]", "A[I, J] · B[J, K] -> C[I, K]"],
    SCATTER: [
        "A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]{U_X}",
        "ReduceScatter_{X,I} C[I, K]{U_X} -> C[I_X, K]",
    ],
    CollectiveKind.ALL_REDUCE: [
        "A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]{U_X}",
        "AllReduce_X C[I, K]{U_X} -> C[I, K]",
    ],
}


CHUNK = 128
"""Bytes of a chunk: 8 rows of 8 elements."""


class Pace(NamedTuple):
    """What a part of the matmul takes on the core, and a hop of its chunk on a link.

    Attributes:
        part: Seconds of a chunk on the core; of `chunks`, of a part.
        transfer: Seconds of a chunk on a link, latency apart.
        latency: Of a hop.
        launch: Before a message; of `chunks`, before an AllReduce.
        model: How a hop adds them up.
    """

    part: Seconds
    transfer: Seconds
    latency: Seconds = Fraction(0)
    launch: Seconds = Fraction(0)
    model: LatencyModel = LatencyModel.ADDITIVE


def pair_of(
    form: Form,
    kind: CollectiveKind,
    dimension: DimensionKind,
    n: int,
    pace: Pace,
    *,
    parts: int = 1,
    algorithm: Algorithm | None = None,
) -> Plan:
    """A plan of both alone, done together; `parts` and `algorithm` are for `chunks`.

    The data of an AllReduce is n chunks too.
    """
    link = Link(CHUNK / pace.transfer, pace.latency)
    plan = planned(
        TEXTS[kind],
        machine(
            (n, dimension.value), link=link, calibration=Calibration(launch_overhead=pace.launch)
        ),
        {"I": 8 * n, "J": n if kind is not GATHER else 8, "K": 8 if kind is not GATHER else n},
        algorithm=algorithm or ALGORITHMS[dimension][form],
        latency_model=pace.model,
    )
    return done_together(plan, form, parts if form is Form.CHUNKS else n, pace.part)


def done_together(plan: Plan, form: Form, parts: int, part: Seconds) -> Plan:
    """A plan of two steps as one; a part takes `part`, and a half of one half of that."""
    (collective,) = (i for i, s in enumerate(plan.steps) if isinstance(s, CollectiveStep))
    (matmul,) = (i for i, s in enumerate(plan.steps) if isinstance(s, MatmulStep))
    pieces = 2 if form is Form.HALF_CHUNKS else 1
    pair = Decomposition(
        collective=collective,
        matmul=matmul,
        form=form,
        dim="I",
        parts=parts * pieces,
        part_seconds=part / pieces,
        seconds=Fraction(0),
        relation=Relation.EQUAL,
    )
    return replace(plan, decomposed=(pair,))


def reduced_by_itself(plan: Plan, parts: int) -> Seconds:
    """What an AllReduce of one part takes, by its closed form."""
    (step,) = (step for step in plan.steps if isinstance(step, CollectiveStep))
    call = step.call
    one = make_call(call.kind, call.group, call.size / parts, call.method)
    return CostModel(plan.latency_model).collective(one).exact.total
