"""The performance guidelines of the MPI literature, and other laws of time.

They tie the time of one collective to that of another, or of the same on another machine. Where
one does not hold, the machine is described wrongly, or shardsim is at fault. Source of the
guidelines: Träff, Gropp and Thakur, "Self-consistent MPI performance guidelines", 2010.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.call import ONLY_ALL_REDUCE, make_call
from shardsim.mesh import Mesh, lay_mesh
from shardsim.units import format_bytes
from shardsim.verification.cases import Case, drawn
from shardsim.verification.machine import Machine, reduced, relaid, scaled
from shardsim.verification.records import Breach, NotChecked, Side
from shardsim.verification.simulating import Simulator, on_few_chips
from shardsim.vocabulary import (
    CollectiveKind,
    DimensionKind,
    LatencyModel,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from shardsim.call import Call
    from shardsim.units import Seconds

__all__ = ["GUIDELINES", "Guideline"]

GATHER, SCATTER = CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER
REDUCE, EXCHANGE = CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_TO_ALL
FACTORS = (Fraction(3, 2), Fraction(10))
ONE = ("one", "single", "lone")
"""Names for an axis of size 1, the first that the mesh does not have."""


@dataclass(frozen=True, slots=True)
class Guideline:
    """One law.

    Attributes:
        name: For people.
        cases: Draws cases.
        holds: None where the law holds of a case; raises `NotChecked` where it cannot be asked.
    """

    name: str
    cases: Callable[[Machine, Random], Iterator[Case]]
    holds: Callable[[Machine, Simulator, Case], Breach | None]


def _any(machine: Machine, rng: Random) -> Iterator[Case]:
    return drawn(machine.mesh, tuple(CollectiveKind), rng)


def _reductions(machine: Machine, rng: Random) -> Iterator[Case]:
    """AllReduces, but for algorithms that no other collective has."""
    for case in drawn(machine.mesh, (REDUCE,), rng):
        yield replace(case, algorithm=None) if case.algorithm in ONLY_ALL_REDUCE else case


def _exchanges(machine: Machine, rng: Random) -> Iterator[Case]:
    return drawn(machine.mesh, (EXCHANGE,), rng)


def _in_one_piece(machine: Machine, rng: Random) -> Iterator[Case]:
    for case in _any(machine, rng):
        yield replace(case, schedule=None, chunks=None, latency_model=LatencyModel.ADDITIVE)


def _not_measured(machine: Machine) -> None:
    if machine.mesh.topology.calibration.curves:
        raise NotChecked("with measured curves, one for each collective")


def _side(case: Case, machine: Machine, value: Seconds) -> Side:
    return Side(case.kind.notation, value, "s", case.command(machine))  # type: ignore[union-attr]


def _again(
    call: Call,
    *,
    kind: CollectiveKind | None = None,
    factor: Fraction | int = 1,
    mesh: Mesh | None = None,
) -> Call:
    """A call by the same method, but another collective, on more bytes, or on another machine.

    The method stays, since a law of time compares like with like.
    """
    group = call.group if mesh is None else mesh.group(call.group.axes)
    return make_call(kind or call.kind, group, call.size * factor, call.method)


# P1, P2, P3: one collective and another.


def _no_more_than_all_reduce(machine: Machine, simulator: Simulator, case: Case) -> Breach | None:
    _not_measured(machine)
    call = on_few_chips(case, machine.mesh)
    most = simulator.seconds(call, case.cost)
    for kind in (GATHER, SCATTER):
        found = simulator.seconds(_again(call, kind=kind), case.cost)
        if not found <= most:
            less = _side(replace(case, kind=kind), machine, found)
            return Breach(less, "<=", _side(case, machine, most))
    return None


def _reduce_by_halves(machine: Machine, simulator: Simulator, case: Case) -> Breach | None:
    _not_measured(machine)
    call = on_few_chips(case, machine.mesh)
    whole = simulator.seconds(call, case.cost)
    halves = (_again(call, kind=kind) for kind in (SCATTER, GATHER))
    both = sum((simulator.seconds(half, case.cost) for half in halves), Fraction(0))
    if whole <= both:
        return None
    command = replace(case, kind=SCATTER).command(machine)
    right = Side("ReduceScatter + AllGather", both, "s", command)
    return Breach(_side(case, machine, whole), "<=", right)


def _exchange_no_more_than_gather(
    machine: Machine, simulator: Simulator, case: Case
) -> Breach | None:
    _not_measured(machine)
    call = on_few_chips(case, machine.mesh)
    on_line = any(segment.kind is DimensionKind.LINE for segment in call.group.segments)
    if on_line and case.latency_model is LatencyModel.FLOOR:
        raise NotChecked("on lines under the floor model: every tiny message pays a latency")
    exchange = simulator.seconds(call, case.cost)
    gather = simulator.seconds(_again(call, kind=GATHER), case.cost)
    if exchange <= gather:
        return None
    other = _side(replace(case, kind=GATHER, size=int(call.size)), machine, gather)
    return Breach(_side(case, machine, exchange), "<=", other)


# P4, P5: more of one thing.


def _monotone_in_bytes(machine: Machine, simulator: Simulator, case: Case) -> Breach | None:
    call = on_few_chips(case, machine.mesh)
    less = simulator.seconds(call, case.cost)
    for factor in FACTORS:
        larger = replace(case, size=math.ceil(case.size * factor))
        grown = _again(call, factor=Fraction(larger.size, case.size))
        more = simulator.seconds(grown, case.cost)
        if not less <= more:
            return Breach(_side(case, machine, less), "<=", _side(larger, machine, more))
    return None


def _monotone_in_latency(machine: Machine, simulator: Simulator, case: Case) -> Breach | None:
    call = on_few_chips(case, machine.mesh)
    here = simulator.seconds(call, case.cost)
    for factor in FACTORS:
        slower = _again(call, mesh=scaled(call.group.mesh, latency=factor))
        there = simulator.seconds(slower, case.cost)
        if not here <= there:
            other = Side(f"the same with {factor} x the latency of every link", there)
            return Breach(_side(case, machine, here), "<=", other)
    return None


def _antitone_in_bandwidth(machine: Machine, simulator: Simulator, case: Case) -> Breach | None:
    call = on_few_chips(case, machine.mesh)
    here = simulator.seconds(call, case.cost)
    for factor in FACTORS:
        wider = _again(call, mesh=scaled(call.group.mesh, bandwidth=factor))
        there = simulator.seconds(wider, case.cost)
        if not there <= here:
            other = Side(f"the same with {factor} x the bandwidth of every link", there)
            return Breach(other, "<=", _side(case, machine, here))
    return None


def _together_no_more_than_apart(
    machine: Machine, simulator: Simulator, case: Case
) -> Breach | None:
    _not_measured(machine)
    call = on_few_chips(case, machine.mesh)
    whole = simulator.seconds(call, case.cost)
    for part in (Fraction(1, 2), Fraction(1, 3), Fraction(1, 100)):
        parts = [_again(call, factor=share) for share in (part, 1 - part)]
        apart = sum((simulator.seconds(one, case.cost) for one in parts), Fraction(0))
        if not whole <= apart:
            sizes = " and ".join(format_bytes(one.size) for one in parts)
            right = Side(f"{sizes}, one after the other", apart)
            return Breach(_side(case, machine, whole), "<=", right)
    return None


# P7, P9, P12, P13: the same in another way.


def _ring_cases(machine: Machine, rng: Random) -> Iterator[Case]:
    """One for each ring of the topology in turn, each alone under an axis of its own name."""
    topology = machine.mesh.topology
    rings = [d for d in topology.dimensions if d.kind is DimensionKind.RING and d.size > 1]
    if not topology.is_regular:
        return
    while rings:
        for ring in rings:
            yield Case(
                kind=rng.choice(list(CollectiveKind)),
                axes=(ring.name,),
                size=rng.randint(1, 2 ** rng.randint(0, 30)),
                latency_model=rng.choice(list(LatencyModel)),
            )


def _ring_and_line(machine: Machine, simulator: Simulator, case: Case) -> Breach | None:
    topology = machine.mesh.topology
    ring = next(d for d in topology.dimensions if d.name == case.axes[0])
    times = []
    for kind in (DimensionKind.RING, DimensionKind.LINE):
        alone = replace(topology, dimensions=(replace(ring, kind=kind),))
        mesh = lay_mesh(alone, {"X": ring.size})
        call = replace(case, axes=("X",)).call(mesh)
        exchange = case.kind is EXCHANGE and kind is DimensionKind.LINE
        # The closed form of AllToAll on a line is a bound from below, which is enough here.
        price = case.cost.collective(call).exact.total
        times.append(price if exchange else simulator.seconds(call, case.cost))
    on_ring, on_line = times
    sides = [
        Side(f"{case.kind.notation} of {case.size} B on {ring.name}, a {word} of {ring.size}", time)  # type: ignore[union-attr]
        for word, time in (("ring", on_ring), ("line", on_line))
    ]
    if not on_ring <= on_line:
        return Breach(sides[0], "<=", sides[1])
    most = 2 * on_ring + ring.link.latency
    if case.kind is not EXCHANGE and not on_line <= most:
        return Breach(sides[1], "<=", Side(f"twice the ring and one latency ({ring.name})", most))
    return None


def _narrow_axis(machine: Machine, simulator: Simulator, case: Case) -> Breach | None:
    mesh = machine.mesh
    name = next(word for word in ONE if word not in mesh.sizes)
    wider = relaid(mesh, mesh.topology, {**mesh.sizes, name: 1})
    alone = replace(case, axes=(name,), algorithm=None, schedule=None)
    few = reduced(mesh.group(case.axes[:1])) or mesh
    call = alone.call(relaid(few, few.topology, {**few.sizes, name: 1}))
    for what, time in (
        ("closed form", alone.cost.collective(call).exact.total),
        ("simulated", simulator.run(call, case.latency_model).makespan),
    ):
        if time != 0:
            only = replace(alone, axes=())
            left = Side(f"{what}, over 1 chip", time, "s", only.command(machine, name))
            return Breach(left, "==", Side("nothing", Fraction(0)))
    together = replace(case, axes=(*case.axes, name))
    plain, wide = (
        one.cost.collective(one.call(where)).exact.total
        for one, where in ((case, mesh), (together, wider))
    )
    if plain == wide:
        return None
    right = Side(f"with an axis {name}=1", wide, "s", case.command(machine, name))
    return Breach(_side(case, machine, plain), "==", right)


def _half_the_bytes(machine: Machine, simulator: Simulator, case: Case) -> Breach | None:
    """Simulated, also where links are shared: every message takes the same time as before."""
    _not_measured(machine)
    call = simulator.place(case, machine.mesh)
    base = call.group.mesh
    half = _again(call, factor=Fraction(1, 2), mesh=scaled(base, latency=0))
    wide = _again(call, mesh=scaled(base, bandwidth=2, latency=0))
    one, other = (simulator.run(way, case.latency_model).makespan for way in (half, wide))
    if one == other:
        return None
    left = Side("half the bytes, without latency", one)
    right = Side("twice the bandwidth, without latency", other, "s", case.command(machine))
    return Breach(left, "==", right)


def _twice_the_element(machine: Machine, simulator: Simulator, case: Case) -> Breach | None:
    _not_measured(machine)
    call = on_few_chips(case, machine.mesh)
    segments = call.group.segments
    if len(segments) > 1 or call.method.chunks > 1:
        raise NotChecked("over several segments or in chunks")
    if case.kind is EXCHANGE and segments[0].kind is DimensionKind.LINE:
        raise NotChecked("with AllToAll on a line")
    if not segments[0].is_physical:
        raise NotChecked("on shared links")
    one = case.cost.collective(call).exact
    two = case.cost.collective(_again(call, factor=2)).exact
    if (two.bandwidth, two.latency) == (2 * one.bandwidth, one.latency):
        return None
    return Breach(
        Side("elements twice as large", two.total),
        "==",
        Side(
            "twice the bandwidth term", 2 * one.bandwidth + one.latency, "s", case.command(machine)
        ),
    )


GUIDELINES = (
    Guideline("AllGather, ReduceScatter <= AllReduce", _reductions, _no_more_than_all_reduce),
    Guideline("AllReduce <= ReduceScatter + AllGather", _reductions, _reduce_by_halves),
    Guideline("AllToAll <= AllGather of the same V", _exchanges, _exchange_no_more_than_gather),
    Guideline("more bytes take no less time", _any, _monotone_in_bytes),
    Guideline("more latency takes no less time", _any, _monotone_in_latency),
    Guideline("more bandwidth takes no more time", _any, _antitone_in_bandwidth),
    Guideline("a + b together <= a, then b", _any, _together_no_more_than_apart),
    Guideline("ring <= line <= 2 ring + latency", _ring_cases, _ring_and_line),
    Guideline("an axis of size 1 costs nothing", _any, _narrow_axis),
    Guideline("half the bytes = twice the bandwidth", _any, _half_the_bytes),
    Guideline("element x 2: bandwidth term x 2", _in_one_piece, _twice_the_element),
)
