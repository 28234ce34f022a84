"""A collective and a matmul done together, where a test says what a part and a hop take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from hypothesis import strategies as st

from shardsim.call import make_call
from shardsim.cost import CostModel
from shardsim.cost.pipeline import Hops
from shardsim.errors import PlanError
from shardsim.hardware import Calibration, Chip, Link
from shardsim.overlap import Considered, decompose
from shardsim.overlap.forms import ALGORITHMS
from shardsim.planner import CollectiveStep, MatmulStep, Plan
from shardsim.planner.decomposition import Decomposition
from shardsim.topology import Topology
from shardsim.units import Seconds
from shardsim.vocabulary import (
    Algorithm,
    CollectiveKind,
    DimensionKind,
    Dtype,
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


def hops_of(pace: Pace) -> Hops:
    """What a hop takes by the closed form."""
    link = Link(CHUNK / pace.transfer, pace.latency)
    return Hops.of(Fraction(CHUNK), link, pace.model, launch=pace.launch)


Given = tuple[list[str], Topology, dict[str, int]]
"""What `strategies.programs` gives."""


class Costs(NamedTuple):
    """What matmuls and collectives of a random program cost besides.

    Attributes:
        hbm: Bytes a second.
        launch: Before a collective, or a message of one that goes with a matmul.
    """

    hbm: int
    launch: Seconds


def with_costs(case: Given, costs: Costs, model: LatencyModel) -> Plan:
    """A random program on such chips."""
    lines, topology, extents = case
    chip = replace(topology.chip, hbm_bandwidth=Fraction(costs.hbm))
    calibration = Calibration(launch_overhead=costs.launch)
    slower = replace(topology, chip=chip, calibration=calibration)
    return planned(lines, slower, extents, latency_model=model)


def made_together(plan: Plan, form: Form | None = None) -> Plan:
    """In one form where that can be, else in the fastest."""
    cost = CostModel(plan.latency_model)
    try:
        return decompose(plan, cost, form=form)[0]
    except PlanError:
        return decompose(plan, cost)[0]


def plan_of(
    *lines: str,
    topology: Topology | None = None,
    extents: Mapping[str, int] | int = 16,
    **settings: object,
) -> Plan:
    """A plan of statements over I, J, K and L, on a ring of four if nothing else is given."""
    names = re.findall(r"[IJKL](?=[],_])", "".join(lines))
    given = {name: extents if isinstance(extents, int) else extents[name] for name in names}
    chips = topology or machine((4, "ring"))
    return planned(list(lines), chips, given, **settings)  # type: ignore[arg-type]


def decided(
    plan: Plan,
    *,
    form: Form | None = None,
    only_faster: bool = False,
    apart: Mapping[int, str] | None = None,
) -> tuple[Plan, tuple[Considered, ...]]:
    """What is decided with the plan's latency model."""
    cost = CostModel(plan.latency_model)
    return decompose(plan, cost, form=form, only_faster=only_faster, apart=apart)


def slow_chip(*, flops: int = 10**30, hbm: int = 10**30) -> Chip:
    """What is not given takes no time to speak of."""
    return Chip(
        name="slow",
        peaks=((Dtype.BF16, Fraction(flops)),),
        hbm_bandwidth=Fraction(hbm),
        hbm_capacity=Fraction(10**12),
    )


# Strategies.

models = st.sampled_from(LatencyModel)
seconds = st.builds(Fraction, st.integers(1, 24), st.integers(1, 3))
forms = st.none() | st.sampled_from(Form)
slowdowns = st.fractions(1, 4, max_denominator=7)
paces = st.builds(
    Pace,
    part=seconds,
    transfer=seconds,
    latency=st.just(Fraction(0)) | st.builds(Fraction, st.integers(0, 12), st.integers(1, 3)),
    launch=st.just(Fraction(0)) | st.builds(Fraction, st.integers(0, 6), st.just(2)),
    model=models,
)
any_costs = st.builds(
    Costs,
    # small matmuls take as long as a few hops of a microsecond, or next to nothing
    hbm=st.sampled_from([10**7, 10**8, 10**9, 10**12]),
    launch=st.sampled_from([Fraction(0), Fraction(1, 10**7), Fraction(3, 10**6)]),
)


def chips_of(form: Form) -> st.SearchStrategy[int]:
    """Numbers of chips: pairs are of even ones."""
    return st.sampled_from([2, 4, 6, 8]) if form is Form.PAIRS else st.integers(2, 9)
