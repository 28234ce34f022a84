"""A collective and a matmul on real numbers, done together: chunk by chunk as messages come.

Blocks lie with the dimension that is cut first, so that a share of a block is some of its rows.
What has not come is rubbish, and a sum begins at zero: a part that is done too early, twice or
never gives a wrong answer.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from shardsim.collectives.attached import attached_to
from shardsim.oracle.movement import RUBBISH, Blocks, Turn, exchange, within
from shardsim.oracle.values import einsum_subscripts
from shardsim.planner.steps import CollectiveStep, MatmulStep
from shardsim.vocabulary import CollectiveKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from shardsim.collectives.attached import Work
    from shardsim.oracle.values import Shards
    from shardsim.planner import Plan
    from shardsim.planner.decomposition import Decomposition
    from shardsim.topology import Coordinate

__all__ = ["multiply", "run_together"]


def multiply(step: MatmulStep, values: Mapping[int, Shards]) -> Shards:
    """Every chip multiplies what it holds."""
    operands = [values[value.number] for value in step.operands]
    return {
        chip: np.einsum(_subscripts(step), *(shards[chip] for shards in operands))
        for chip in operands[0]
    }


def _subscripts(step: MatmulStep) -> str:
    names = [value.sharded.array.dim_names for value in step.operands]
    return einsum_subscripts(names, step.result.sharded.array.dim_names)


def run_together(
    plan: Plan,
    pair: Decomposition,
    values: Mapping[int, Shards],
    pick: Callable[[Sequence[Turn]], Turn] | None = None,
) -> dict[int, Shards]:
    """What both steps write.

    Args:
        plan: The plan.
        pair: Which of its steps.
        values: What is there before.
        pick: See `run_collective`.

    Raises:
        SimulationError: no chip may go on, and not all is done.
    """
    collective, matmul = plan.steps[pair.collective], plan.steps[pair.matmul]
    assert isinstance(collective, CollectiveStep)
    assert isinstance(matmul, MatmulStep)
    kinds: dict[CollectiveKind, type[_Core]] = {
        CollectiveKind.ALL_GATHER: _Gathered,
        CollectiveKind.REDUCE_SCATTER: _Scattered,
        CollectiveKind.ALL_REDUCE: _Reduced,
    }
    core_of = kinds[CollectiveKind(collective.kind)]
    moved: Shards = {}
    products: Shards = {}
    for members in collective.call.group.instances:
        cores = {chip: core_of(pair, collective, matmul, chip, members, values) for chip in members}
        blocks = {chip: core.blocks for chip, core in cores.items()}
        exchange(collective.call, members, blocks, pick, cores)
        for chip, core in cores.items():
            moved[chip] = core.moved()
            if isinstance(core, _Gathered):
                products[chip] = core.product
    return {
        collective.result.number: moved,
        matmul.result.number: products or multiply(matmul, values),
    }


class _Core(ABC):
    """One chip's blocks, and the parts of the matmul that its core does."""

    def __init__(
        self,
        pair: Decomposition,
        collective: CollectiveStep,
        matmul: MatmulStep,
        chip: Coordinate,
        members: Sequence[Coordinate],
        values: Mapping[int, Shards],
    ) -> None:
        self.pair = pair
        self.collective = collective
        self.matmul = matmul
        self.chip = chip
        self.members = members
        self.operands = {
            value.number: values[value.number][chip]
            for value in matmul.operands
            if value.number in values
        }
        self.attached = attached_to(collective.call, chip, pair.form, pair.parts)
        self.blocks: Blocks = {}
        self.begin(values)

    @abstractmethod
    def begin(self, values: Mapping[int, Shards]) -> None:
        """The blocks before anything is done."""

    @abstractmethod
    def do(self, work: Work) -> None:
        """One part of the matmul."""

    @abstractmethod
    def moved(self) -> NDArray[Any]:
        """What the collective leaves."""

    def owner(self, block: int) -> Coordinate:
        """Whose block it is, so many places up."""
        group = self.collective.call.group
        ((segment, at),) = zip(group.segments, group.place(self.chip), strict=True)
        place = ((at + block) % segment.size,)
        return next(chip for chip in self.members if group.place(chip) == place)

    def key(self, chip: Coordinate) -> tuple[int, ...]:
        """The name of a chip's block."""
        return self.collective.call.group.place(chip)

    def multiplied(self, rows: slice, given: Mapping[int, NDArray[Any]]) -> NDArray[Any]:
        """The product of some rows of the dimension that is cut; `given`: operands cut already."""
        parts = []
        for value in self.matmul.operands:
            names = value.sharded.array.dim_names
            if value.number in given:
                parts.append(given[value.number])
                continue
            array = self.operands[value.number]
            if self.pair.dim in names:
                index = names.index(self.pair.dim)
                array = np.moveaxis(np.moveaxis(array, index, 0)[rows], 0, index)
            parts.append(array)
        product: NDArray[Any] = np.einsum(_subscripts(self.matmul), *parts)
        return product


class _Gathered(_Core):
    """AllGather, then the matmul: a chunk when it is here."""

    def begin(self, values: Mapping[int, Shards]) -> None:
        step = self.collective
        own = values[step.operand.number][self.chip]
        self.dim = step.operand.sharded.array.dim_names.index(self.pair.dim)
        front = np.moveaxis(own, self.dim, 0)
        self.shape = front.shape
        self.blocks = {self.key(c): np.full(own.size, RUBBISH, own.dtype) for c in self.members}
        self.blocks[self.key(self.chip)] = front.flatten()
        dtypes = [own.dtype, *(array.dtype for array in self.operands.values())]
        shape = self.matmul.result.sharded.local_shape
        self.product = np.zeros(shape, np.result_type(*dtypes))

    def _rows(self, chip: Coordinate) -> slice:
        """Where a chip's block is among those of all."""
        before, after = self.collective.operand.sharded, self.collective.result.sharded
        return within(before.block(chip), after.block(self.chip))[self.dim]

    def do(self, work: Work) -> None:
        owner = self.owner(work.block)
        low, high = (math.floor(bound * self.shape[0]) for bound in work.share)
        chunk = self.blocks[self.key(owner)].reshape(self.shape)[low:high]
        start = self._rows(owner).start
        rows = slice(start + low, start + high)
        given = {self.collective.result.number: np.moveaxis(chunk, 0, self.dim)}
        part = self.multiplied(rows, given)
        names = self.matmul.result.sharded.array.dim_names
        if self.pair.dim in names:
            index = names.index(self.pair.dim)
            np.moveaxis(self.product, index, 0)[rows] += np.moveaxis(part, index, 0)
        else:
            self.product += part

    def moved(self) -> NDArray[Any]:
        shape = (self.shape[0] * len(self.members), *self.shape[1:])
        whole = np.full(shape, RUBBISH, self.blocks[self.key(self.chip)].dtype)
        for chip in self.members:
            whole[self._rows(chip)] = self.blocks[self.key(chip)].reshape(self.shape)
        return np.moveaxis(whole, 0, self.dim)


class _Scattered(_Core):
    """The matmul, then ReduceScatter: a chunk goes when it is computed."""

    def begin(self, values: Mapping[int, Shards]) -> None:
        step = self.collective
        self.dim = step.result.sharded.array.dim_names.index(self.pair.dim)
        local = step.result.sharded.local_shape
        self.shape = np.moveaxis(np.empty(local, bool), self.dim, 0).shape
        dtype = np.result_type(*(array.dtype for array in self.operands.values()))
        self.blocks = {self.key(c): np.zeros(math.prod(local), dtype) for c in self.members}

    def do(self, work: Work) -> None:
        owner = self.owner(work.block)
        before, after = self.collective.operand.sharded, self.collective.result.sharded
        start = within(after.block(owner), before.block(self.chip))[self.dim].start
        low, high = (math.floor(bound * self.shape[0]) for bound in work.share)
        part = self.multiplied(slice(start + low, start + high), {})
        sums = self.blocks[self.key(owner)].reshape(self.shape)
        sums[low:high] += np.moveaxis(part, self.dim, 0)

    def moved(self) -> NDArray[Any]:
        return np.moveaxis(self.blocks[self.key(self.chip)].reshape(self.shape), 0, self.dim)


class _Reduced(_Core):
    """The matmul in parts, and an AllReduce of each; every block has a share of every part."""

    def begin(self, values: Mapping[int, Shards]) -> None:
        local = self.collective.result.sharded.local_shape
        self.dim = self.collective.result.sharded.array.dim_names.index(self.pair.dim)
        self.rows = local[self.dim] // self.pair.parts
        self.shape = np.moveaxis(np.empty(local, bool), self.dim, 0)[: self.rows].shape
        self.size = -(-math.prod(self.shape) // len(self.members))
        dtype = np.result_type(*(array.dtype for array in self.operands.values()))
        size = self.pair.parts * self.size
        self.blocks = {self.key(c): np.zeros(size, dtype) for c in self.members}

    def do(self, work: Work) -> None:
        first = work.block * self.rows
        part = self.multiplied(slice(first, first + self.rows), {})
        flat = np.moveaxis(part, self.dim, 0).flatten()
        padded = np.pad(flat, (0, self.size * len(self.members) - flat.size))
        here = slice(work.block * self.size, (work.block + 1) * self.size)
        for chip, share in zip(self.members, np.split(padded, len(self.members)), strict=True):
            self.blocks[self.key(chip)][here] += share

    def moved(self) -> NDArray[Any]:
        parts = []
        for number in range(self.pair.parts):
            here = slice(number * self.size, (number + 1) * self.size)
            flat = np.concatenate([self.blocks[self.key(chip)][here] for chip in self.members])
            parts.append(flat[: math.prod(self.shape)].reshape(self.shape))
        return np.moveaxis(np.concatenate(parts), 0, self.dim)
