"""A plan: steps in order, the values they start from, and why they are these."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shardsim.planner.steps import CollectiveStep, MatmulStep, step_dict, value_dict
from shardsim.units import format_seconds

if TYPE_CHECKING:
    from shardsim.mesh import Mesh
    from shardsim.planner.choices import Alternative, Choice
    from shardsim.planner.decomposition import Decomposition
    from shardsim.planner.steps import Step, Value
    from shardsim.program import Program
    from shardsim.vocabulary import LatencyModel

__all__ = ["Plan"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan:
    """Steps that do a program on a mesh.

    Attributes:
        program: What was asked.
        latency_model: What the prices assume.
        inputs: Values that the caller provides, by array name, in order of use.
        steps: In order; dependencies follow from the values they read.
        results: The value of each statement's result, in order; the last is the plan's result.
        choices: One per statement (per dot, where dots are planned one by one), and before it one
            per operand that is resharded for it, in order.
        statements: For each step the statement that it is for.
        decomposed: Steps that are done together.
    """

    program: Program
    latency_model: LatencyModel
    inputs: tuple[tuple[str, Value], ...]
    steps: tuple[Step, ...]
    results: tuple[Value, ...]
    choices: tuple[Choice, ...]
    statements: tuple[int, ...]
    decomposed: tuple[Decomposition, ...] = ()

    @property
    def mesh(self) -> Mesh:
        """The mesh it runs on."""
        return self.program.mesh

    @property
    def result(self) -> Value:
        """The value of the last statement."""
        return self.results[-1]

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The ways considered for the last statement or dot, the best by the objective first."""
        return self.choices[-1].alternatives

    @property
    def collectives(self) -> frozenset[int]:
        """The indices of the steps that are collectives."""
        return frozenset(i for i, step in enumerate(self.steps) if isinstance(step, CollectiveStep))

    @property
    def first_choices(self) -> tuple[Choice, ...]:
        """The choices for the statements as they are written: those of repetitions are alike."""
        once = len(self.program.written)
        return tuple(choice for choice in self.choices if choice.statement < once)

    @property
    def first_steps(self) -> int:
        """How many steps the statements as they are written take, at the beginning."""
        once = len(self.program.written)
        return sum(number < once for number in self.statements)

    def number_of(self, step: int) -> int:
        """The number of a step, from 1 on; in a repetition that of the same step the first time."""
        once = len(self.program.written)
        place = step - bisect_left(self.statements, self.statements[step] // once * once)
        return 1 + (place if place < self.first_steps else step)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `plan --json`, as a dict."""
        return {
            "format": "shardsim/plan/1",
            "topology": self.mesh.topology.name,
            "chips": self.mesh.topology.size,
            "mesh": self.mesh.sizes,
            "dims": dict(self.program.extents),
            "padding": [one.to_dict() for one in self.program.padding],
            "dtypes": self.program.dtypes.to_dict(),
            "latency_model": self.latency_model.value,
            "steps": [step_dict(step) for step in self.steps],
            "result": value_dict(self.result.sharded),
            "exact_seconds": float(sum((step.seconds for step in self.steps), Fraction(0))),
            "alternatives": self.choices[-1].to_dict()["alternatives"],
            "choices": [choice.to_dict() for choice in self.first_choices],
        }

    def __str__(self) -> str:
        """The steps in the notation, with their exact times."""
        where = f"on {self.mesh.topology.name}, {self.latency_model.value} latency:"
        lines = [
            f"{index}. {step.text}  {format_seconds(step.seconds)}"
            for index, step in enumerate(self.steps, start=1)
        ]
        return "\n".join([f"{len(self.steps)} steps {where}", *lines])

    def __repr__(self) -> str:
        texts = "; ".join(map(str, self.program.statements))
        return f"<Plan: {texts} on {self.mesh.topology.name}, {len(self.steps)} steps>"

    def producers(self) -> dict[int, int]:
        """Value number to the index of the step that writes it (inputs are not in it)."""
        return {step.result.number: index for index, step in enumerate(self.steps)}

    def dependencies(self, ahead: int | None = None) -> tuple[tuple[int, ...], ...]:
        """For each step the indices of the steps that it waits for: whose values it reads.

        Args:
            ahead: How many statements ahead of its own a step may move what is made of inputs alone
                (gathered weights, say): it waits until the statement before those is done. None:
                it does not wait.
        """
        made_by = self.producers()
        last = [made_by.get(value.number) for value in self.results]
        early: set[int] = set()
        found = []
        for index, step in enumerate(self.steps):
            waits = [made_by[number] for number in step.reads if number in made_by]
            if not isinstance(step, MatmulStep) and early.issuperset(waits):
                early.add(index)
                done = -1 if ahead is None else self.statements[index] - 1 - ahead
                before = last[done] if done >= 0 else None
                waits += [] if before is None else [before]
            found.append(tuple(waits))
        return tuple(found)
