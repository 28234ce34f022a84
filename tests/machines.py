"""Small machines and programs for tests, built by hand where a file would hide the numbers."""

from __future__ import annotations

from fractions import Fraction

from shardsim.cost import CostModel
from shardsim.engine import simulate
from shardsim.hardware import Chip, Link
from shardsim.mesh import Mesh, lay_mesh
from shardsim.notation import parse
from shardsim.planner import Plan, make_plan
from shardsim.program import Dtypes, bind_program
from shardsim.timeline import Timeline
from shardsim.topology import Dimension, Topology
from shardsim.vocabulary import (
    Algorithm,
    CollectiveKind,
    DimensionKind,
    Dtype,
    LatencyModel,
    Overlap,
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


def machine(*dimensions: tuple[int, str], link: Link = LINK, chip: Chip = CHIP) -> Topology:
    """A topology from (size, "ring" or "line") pairs."""
    return Topology(
        name="x".join(f"{size}{kind[0]}" for size, kind in dimensions),
        chip=chip,
        dimensions=tuple(
            Dimension(name=name, size=size, kind=DimensionKind(kind), link=link)
            for name, (size, kind) in zip("xyzuvw", dimensions, strict=False)
        ),
    )


def mesh_of(topology: Topology, *names: str) -> Mesh:
    """A mesh in order; axes X, Y, Z without names."""
    return lay_mesh(topology, dict(zip(names or "XYZ", topology.shape, strict=False)))


def planned(
    text: str | list[str],
    topology: Topology,
    extents: dict[str, int],
    *,
    algorithm: Algorithm | None = None,
    latency_model: LatencyModel = LatencyModel.ADDITIVE,
    dtype: Dtype = Dtype.BF16,
    **settings: object,
) -> Plan:
    """A plan of notation on a topology with the default mesh."""
    lines = [text] if isinstance(text, str) else text
    program = bind_program(
        tuple(parse(line) for line in lines), mesh_of(topology), extents, Dtypes(dtype)
    )
    return make_plan(
        program, CostModel(latency_model), algorithm=algorithm, **settings  # type: ignore[arg-type]
    )  # fmt: skip


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
