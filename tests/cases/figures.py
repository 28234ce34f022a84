"""What all cases need: collectives on machines by name, and figures as they are printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from shardsim.catalogue import find_topology
from shardsim.comparison import CollectiveRun, run_collective
from shardsim.cost import CollectivePrice, CostModel, Wanted
from shardsim.mesh import lay_mesh
from shardsim.topology import Coordinate
from shardsim.vocabulary import Algorithm, CallKind, CollectiveKind, Schedule

AG, RS, AR, A2A = CollectiveKind
US, MS = Fraction(1, 10**6), Fraction(1, 10**3)
GB = Fraction(10**9)
KIB, MIB = 2**10, 2**20

Machine = str | Mapping[str, Any]


def run(
    kind: CallKind,
    size: Fraction | int,
    on: Machine,
    axes: str = "",
    *,
    mesh: Mapping[str, int] | None = None,
    layout: Mapping[str, str] | None = None,
    devices: Sequence[Coordinate] | None = None,
    algorithm: Algorithm | None = None,
    chunks: int | None = None,
) -> CollectiveRun:
    """A collective of V = `size` bytes over `axes` (all if empty); its relation holds."""
    laid = lay_mesh(find_topology(on), mesh, layout, devices=devices)
    wanted = Wanted(algorithm, chunks=chunks)
    found = run_collective(kind, Fraction(size), laid, tuple(axes), wanted=wanted)
    assert found.holds
    return found


def price(
    kind: CallKind,
    size: Fraction | int,
    on: Machine,
    axes: str = "",
    *,
    mesh: Mapping[str, int] | None = None,
    algorithm: Algorithm | None = None,
    schedule: Schedule | None = None,
    chunks: int | None = None,
) -> CollectivePrice:
    """The price alone, for machines that are large."""
    laid = lay_mesh(find_topology(on), mesh)
    cost = CostModel(wanted=Wanted(algorithm, schedule, chunks))
    group = laid.group(tuple(axes) or tuple(laid.sizes))
    return cost.collective(cost.call(kind, group, Fraction(size)))


def one_dimension(
    kind: str, size: int, bandwidth: str, latency: str = "0 us", chip: str = "h100", **more: Any
) -> dict[str, Any]:
    """A topology file with one ring, line or switch; `links` and `reduces` go to the dimension."""
    inside = {key: more.pop(key) for key in ("links", "reduces") if key in more}
    dimension = {"name": "x", "size": size, "kind": kind, "bandwidth": bandwidth}
    return {
        "name": f"{kind} of {size}",
        "chip": chip,
        "dimensions": [{**dimension, "latency": latency, **inside}],
        **more,
    }


def shows(value: Fraction, figure: str, unit: Fraction = US) -> bool:
    """Whether a value, in that unit, rounds to a figure with as many digits as it has."""
    step = Fraction(1, 10 ** len(figure.partition(".")[2]))
    return abs(value / unit - Fraction(figure)) <= step / 2


def near(value: Fraction, figure: str | float, share: float) -> bool:
    """Whether a value is within a share of a figure."""
    wanted = Fraction(str(figure))
    return abs(value - wanted) <= wanted * Fraction(str(share))
