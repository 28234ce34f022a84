"""Whether the algorithm that somebody asks for is of any use on a mesh, and to a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardsim.call import ALGORITHMS, ONLY_ALL_REDUCE
from shardsim.errors import PlanError
from shardsim.planner.steps import CollectiveStep, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardsim.mesh import Mesh
    from shardsim.vocabulary import Algorithm

__all__ = ["check_algorithm", "check_used"]


def check_algorithm(algorithm: Algorithm | None, mesh: Mesh) -> None:
    """Refuses an algorithm that no axis of the mesh can run.

    Raises:
        PlanError: a ring is asked for and every axis is a line, or the like.
    """
    segments = [segment for axis in mesh.axes for segment in axis.segments]
    kinds = {segment.kind: None for segment in segments}
    if algorithm is None or not segments or any(algorithm in ALGORITHMS[kind] for kind in kinds):
        return
    needs = next(kind for kind, words in ALGORITHMS.items() if algorithm in words)
    names = ", ".join(f"{axis.name} ({axis.reason})" for axis in mesh.axes)
    known = [word.value for kind in kinds for word in ALGORITHMS[kind]]
    raise PlanError(
        f"algorithm {algorithm.value} needs a {needs.value}, "
        f"and no axis of the mesh is one: {names}",
        f"leave the algorithm out, or choose {' or '.join(known)}",
    )


def check_used(algorithm: Algorithm | None, steps: Sequence[Step]) -> None:
    """Refuses an algorithm that none of a plan's collectives took.

    Raises:
        PlanError: each runs on something else, or is another collective.
    """
    collectives = [step for step in steps if isinstance(step, CollectiveStep)]
    taken = {word.value: None for step in collectives for word in step.call.method.algorithms}
    if algorithm is None or not collectives or algorithm.value in taken:
        return
    kinds = " and ".join({step.name: None for step in collectives})
    only = " (it is for AllReduce on one axis)" if algorithm in ONLY_ALL_REDUCE else ""
    raise PlanError(
        f"algorithm {algorithm.value} is of no use to {kinds} here{only}; "
        f"they take {', '.join(taken)}",
        "leave the algorithm out",
    )
