"""All checks of one machine: draws cases, counts, and shrinks what breaks a law."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from shardsim.comparison import run_collective
from shardsim.errors import SimulationError
from shardsim.verification.cases import Case, drawn, every_group, shrunk
from shardsim.verification.guidelines import GUIDELINES, Guideline
from shardsim.verification.movement import numbers_arrive, work_of
from shardsim.verification.records import Breach, Busiest, Check, NotChecked, Side, Verification
from shardsim.verification.relations import (
    RELATIONS,
    TRAFFIC_LAWS,
    Sample,
    nearer_with_more_chunks,
    relation_holds,
)
from shardsim.verification.simulating import ENOUGH, MOST_HOPS, Simulator, hops_of
from shardsim.vocabulary import CollectiveKind, Relation, TransferKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from shardsim.topology import Topology
    from shardsim.verification.machine import Machine
    from shardsim.verification.simulating import Programs

__all__ = ["CASES", "SEED", "verify_machine"]

CASES = 100
SEED = 1

KINDS = (*CollectiveKind, TransferKind.PERMUTE, TransferKind.GATHER)
HOPS = 40_000
"""Hops simulated for the relations."""
HOPS_OF_A_GUIDELINE = 4_000
WORK = 1_500_000
BUSY_SIZE = 2**26
ONE_CHIP = "there is one chip"


@dataclass(slots=True)
class _Tally:
    """What one check has come to so far."""

    name: str
    cases: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    broken: Breach | None = None

    def check(self, nothing: str = "") -> Check:
        """The record; `nothing` says why there were no cases."""
        reasons = [f"{count} {why}" for why, count in self.left_out.most_common()]
        note = "not checked: " + "; ".join(reasons) if reasons else ""
        if not self.cases and not reasons:
            note = nothing
        return Check(name=self.name, cases=self.cases, note=note, counterexample=self.broken)


def verify_machine(
    machine: Machine,
    *,
    cases: int = CASES,
    seed: int = SEED,
    programs: Programs | None = None,
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """Checks a machine.

    Args:
        machine: Its mesh.
        cases: Random cases of each check, where there is time for so many.
        seed: What they are drawn with; the same seed draws the same cases.
        programs: The step programs that are simulated; the project's own by default.
        progress: Is told what is being checked.
    """
    say = progress or (lambda _: None)
    topology = machine.mesh.topology
    say(f"{topology.name}: simulated against closed forms")
    checks = _relations(machine, cases, Random(f"{seed} relations"), programs)
    for guideline in GUIDELINES:
        say(f"{topology.name}: {guideline.name}")
        checks.append(_guideline(machine, guideline, cases, Random(f"{seed} {guideline.name}")))
    say(f"{topology.name}: real numbers")
    checks.append(_movement(machine, cases, Random(f"{seed} numbers")))
    return Verification(
        topology=topology.name,
        chips=topology.size,
        seed=seed,
        checks=tuple(checks),
        busiest=None if _links_alike(topology) else _busiest(machine),
    )


# Simulated against closed form.


def _relations(machine: Machine, cases: int, rng: Random, programs: Programs | None) -> list[Check]:
    by_relation = {relation: _Tally(name) for relation, (_, name) in RELATIONS.items()}
    nearer = _Tally("twice the chunks come nearer to the limit")
    laws = [(_Tally(name), law) for name, law in TRAFFIC_LAWS]
    simulator = Simulator(HOPS, programs)
    reasons: Counter[str] = Counter()

    def spare() -> Simulator:
        return Simulator(10 * MOST_HOPS, programs)

    for case in islice(drawn(machine.mesh, KINDS, rng), cases):
        try:
            found = Sample.of(machine, simulator, case)
        except NotChecked as left_out:
            reasons[left_out.reason] += 1
            continue
        except SimulationError as error:
            tally = by_relation[Relation.EQUAL]
            tally.cases += 1
            tally.broken = tally.broken or _stopped(machine, case, spare(), error)
            continue
        tally = by_relation[found.price.relation]
        _count(tally, machine, found, relation_holds, spare)
        for tally, law in laws:
            _count(tally, machine, found, law, spare)
        if found.price.relation is Relation.LIMIT:
            try:
                broken = nearer_with_more_chunks(machine, simulator, found)
            except NotChecked as left_out:
                nearer.left_out[left_out.reason] += 1
            else:
                nearer.cases += 1
                nearer.broken = nearer.broken or broken
    by_relation[Relation.EQUAL].left_out = reasons
    tallies = [*by_relation.values(), nearer, *(tally for tally, _ in laws)]
    always = (by_relation[Relation.EQUAL], *(tally for tally, _ in laws))
    nothing = "" if every_group(machine.mesh) else ONE_CHIP
    return [tally.check(nothing) for tally in tallies if tally.cases or tally in always]


def _count(
    tally: _Tally,
    machine: Machine,
    sample: Sample,
    law: Callable[[Machine, Sample], Breach | None],
    spare: Callable[[], Simulator],
) -> None:
    """Counts a sample of a law; the first that breaks it is made small."""
    try:
        found = law(machine, sample)
    except NotChecked as left_out:
        tally.left_out[left_out.reason] += 1
        return
    tally.cases += 1
    if found is None or tally.broken is not None:
        return
    simulator = spare()

    def broken(case: Case) -> Breach | None:
        try:
            return law(machine, Sample.of(machine, simulator, case))
        except (NotChecked, SimulationError):
            return None

    least = shrunk(sample.case, machine.mesh, lambda case: broken(case) is not None)
    simulator.budget = MOST_HOPS
    tally.broken = broken(least) or found


def _stopped(machine: Machine, case: Case, simulator: Simulator, error: SimulationError) -> Breach:
    """The counterexample of a run that comes to a stop."""

    def stops(smaller: Case) -> bool:
        try:
            Sample.of(machine, simulator, smaller)
        except SimulationError:
            return True
        except NotChecked:
            return False
        return False

    least = shrunk(case, machine.mesh, stops)
    exact = least.cost.collective(least.call(machine.mesh)).exact.total
    left = Side(str(error).splitlines()[0], None, "s", least.command(machine))
    return Breach(left, "==", Side("closed form", exact))


# Guidelines.


def _guideline(machine: Machine, guideline: Guideline, cases: int, rng: Random) -> Check:
    tally = _Tally(guideline.name)
    simulator = Simulator(HOPS_OF_A_GUIDELINE)

    def broken(case: Case) -> Breach | None:
        try:
            return guideline.holds(machine, Simulator(MOST_HOPS), case)
        except (NotChecked, SimulationError):
            return None

    for case in islice(guideline.cases(machine, rng), cases):
        try:
            found = guideline.holds(machine, simulator, case)
        except NotChecked as left_out:
            tally.left_out[left_out.reason] += 1
            continue
        except SimulationError:
            tally.left_out["that come to a stop"] += 1
            continue
        tally.cases += 1
        if found is not None and tally.broken is None:
            least = shrunk(case, machine.mesh, lambda smaller: broken(smaller) is not None)
            tally.broken = broken(least) or found
    return tally.check("no ring here" if every_group(machine.mesh) else ONE_CHIP)


# Real numbers.


def _movement(machine: Machine, cases: int, rng: Random) -> Check:
    tally = _Tally("numbers arrive where they belong")
    left = WORK
    seed = rng.random()

    def broken(case: Case) -> Breach | None:
        try:
            return numbers_arrive(machine, case, Random(seed))
        except NotChecked:
            return None

    for case in islice(drawn(machine.mesh, tuple(CollectiveKind), rng), cases):
        if left <= 0:
            tally.left_out[ENOUGH] += 1
            continue
        try:
            found = numbers_arrive(machine, case, rng)
        except NotChecked as left_out:
            tally.left_out[left_out.reason] += 1
            continue
        left -= work_of(case, machine.mesh)
        tally.cases += 1
        if found is not None and tally.broken is None:
            small = replace(case, size=1)
            least = shrunk(small, machine.mesh, lambda smaller: broken(smaller) is not None)
            tally.broken = broken(least) or found
    return tally.check(ONE_CHIP)


# The busiest link.


def _links_alike(topology: Topology) -> bool:
    wide = [dimension for dimension in topology.dimensions if dimension.size > 1]
    return topology.is_regular and len({dimension.link for dimension in wide}) <= 1


def _busiest(machine: Machine) -> Busiest | None:
    """The link that is busy longest in an AllReduce over as many axes as can be simulated."""
    mesh = machine.mesh
    for axes in reversed(every_group(mesh)):
        case = Case(kind=CollectiveKind.ALL_REDUCE, axes=axes, size=BUSY_SIZE)
        if hops_of(case.call(mesh)) > MOST_HOPS:
            continue
        run = run_collective(case.kind, Fraction(BUSY_SIZE), mesh, axes)
        names = ", ".join(axes)
        return Busiest(run.links[0], f"an AllReduce of 64 MiB over {names}") if run.links else None
    return None
