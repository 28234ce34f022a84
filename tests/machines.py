"""Small machines and programs for tests, built by hand where a file would hide the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from shardsim.call import Call, make_call
from shardsim.cost import CostModel, Wanted
from shardsim.engine import simulate, simulate_calls
from shardsim.hardware import Calibration, Chip, Link
from shardsim.mesh import Mesh, lay_mesh
from shardsim.notation import parse
from shardsim.planner import Plan, make_plan
from shardsim.planner.memory import lifetimes
from shardsim.program import Dtypes, bind_program
from shardsim.timeline import Timeline
from shardsim.topology import Coordinate, Dimension, LinkKey, Topology
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    DimensionKind,
    Dtype,
    LatencyModel,
    Overlap,
    Schedule,
)

RING_ALGORITHMS = (
    Algorithm.BALANCED,
    Algorithm.WHOLE_SHARDS,
    Algorithm.HALF_SHARDS,
    Algorithm.ONE_DIRECTION,
)
CHIP = Chip(
    name="test",
    peaks=((Dtype.BF16, Fraction(10**14)), (Dtype.INT8, Fraction(2 * 10**14))),
    hbm_bandwidth=Fraction(10**12),
    hbm_capacity=Fraction(16 * 10**9),
)
LINK = Link(Fraction(45 * 10**9), Fraction(1, 10**6))


def machine(
    *dimensions: tuple[int, str],
    link: Link = LINK,
    links: Sequence[Link] | None = None,
    chip: Chip = CHIP,
    reduces: bool = False,
    changed: Sequence[tuple[tuple[Coordinate, LinkKey], Link | None]] = (),
    missing: Sequence[Coordinate] = (),
    calibration: Calibration | None = None,
) -> Topology:
    """A topology from (size, "ring", "line" or "switch") pairs.

    `links`: one for each dimension, instead of `link` for all. `reduces`: the switches can add.
    """
    return Topology(
        name="x".join(f"{size}{kind[0]}" for size, kind in dimensions),
        chip=chip,
        dimensions=tuple(
            Dimension(
                name=name,
                size=size,
                kind=DimensionKind(kind),
                link=under,
                reduces=reduces and kind == "switch",
            )
            for name, (size, kind), under in zip(
                "xyzuvw", dimensions, links or [link] * len(dimensions), strict=False
            )
        ),
        changed=tuple(changed),
        missing=frozenset(missing),
        calibration=calibration or Calibration(),
    )


def mesh_of(topology: Topology, *names: str) -> Mesh:
    """A mesh in order; axes X, Y, Z without names."""
    return lay_mesh(topology, dict(zip(names or "XYZ", topology.shape, strict=False)))


def planned(
    text: str | list[str],
    topology: Topology,
    extents: dict[str, int],
    *,
    mesh: Mesh | None = None,
    algorithm: Algorithm | None = None,
    schedule: Schedule | None = None,
    chunks: int = 1,
    latency_model: LatencyModel = LatencyModel.ADDITIVE,
    dtype: Dtype = Dtype.BF16,
    **settings: object,
) -> Plan:
    """A plan of notation on a topology, with the default mesh if none is given."""
    lines = [text] if isinstance(text, str) else text
    program = bind_program(
        tuple(parse(line) for line in lines), mesh or mesh_of(topology), extents, Dtypes(dtype)
    )
    cost = CostModel(latency_model, Wanted(algorithm, schedule, chunks))
    return make_plan(program, cost, **settings)  # type: ignore[arg-type]


def call_on(
    topology: Topology,
    kind: CallKind,
    size: Fraction | int,
    axes: Sequence[str] | None = None,
    mesh: Mapping[str, int] | None = None,
    layout: Mapping[str, str] | None = None,
    devices: Sequence[Coordinate] | None = None,
    algorithm: Algorithm | None = None,
    schedule: Schedule | None = None,
    chunks: int = 1,
    latency_model: LatencyModel = LatencyModel.ADDITIVE,
    *,
    shift: int = 1,
    root: int = 0,
) -> Call:
    """A collective of V = `size` bytes, over all axes of the mesh if none are named."""
    laid = lay_mesh(topology, mesh, layout, devices=devices)
    group = laid.group(tuple(axes if axes is not None else laid.sizes))
    cost = CostModel(latency_model, Wanted(algorithm, schedule, chunks))
    method = cost.method(kind, group, Fraction(size))
    return make_call(kind, group, Fraction(size), method, shift=shift, root=root)


def run_call(call: Call, latency_model: LatencyModel = LatencyModel.ADDITIVE) -> Timeline:
    """A collective by itself."""
    return simulate_calls(call.group.mesh.topology, [call], latency_model)


def collective_text(kind: CollectiveKind) -> str:
    """A statement of that collective over X."""
    return {
        CollectiveKind.ALL_GATHER: "AllGather_X A[I_X] -> A[I]",
        CollectiveKind.REDUCE_SCATTER: "ReduceScatter_{X,I} A[I]{U_X} -> A[I_X]",
        CollectiveKind.ALL_REDUCE: "AllReduce_X A[I]{U_X} -> A[I]",
        CollectiveKind.ALL_TO_ALL: "AllToAll_{X,J} A[I_X, J] -> A[I, J_X]",
    }[kind]


def collective_plan(
    kind: CollectiveKind,
    size: int,
    dimension: str,
    elements: int,
    link: Link = LINK,
    algorithm: Algorithm | None = None,
    latency_model: LatencyModel = LatencyModel.ADDITIVE,
) -> Plan:
    """One collective over `size` chips; V is 2 * size * elements bytes (AllToAll: * size)."""
    extents = {"I": size * elements}
    if kind is CollectiveKind.ALL_TO_ALL:
        extents["J"] = size
    return planned(
        collective_text(kind),
        machine((size, dimension), link=link),
        extents,
        algorithm=algorithm,
        latency_model=latency_model,
    )


def simulated(plan: Plan) -> Timeline:
    """Step after step."""
    return simulate(plan, Overlap.NONE)


def peak_memory(plan: Plan) -> Fraction:
    """The most bytes that arrays take on a chip, step after step: what is there at each step.

    A value is there from the step that writes it to the last that reads it, inputs always.
    """
    held = [Fraction(0)] * max(len(plan.steps), 1)
    for value in lifetimes(plan):
        last = max(value.read_by, default=len(held) - 1)
        for step in range(value.made_by or 0, last + 1):
            held[step] += value.size
    return max(held)
