"""Which chip sends to which when every chip sends what it has to one other, and over which links.

What a closed form needs of it are counts: how many messages each link carries, and what links each
message goes over.
"""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from shardsim.hardware import Link
from shardsim.vocabulary import DimensionKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shardsim.timeline import Track
    from shardsim.topology import Coordinate, Hop, Topology

__all__ = ["Permutation", "Traffic"]


class Traffic(NamedTuple):
    """What links carry in a permutation; each sort once.

    Attributes:
        loads: How many messages a link carries, and the link.
        ways: The links that a message goes over, in order.
        leaving: The most messages that leave one chip, those of others that it passes on included.
    """

    loads: frozenset[tuple[int, Link]]
    ways: frozenset[tuple[Link, ...]]
    leaving: int

    @property
    def busiest(self) -> int:
        """The most messages that one link carries."""
        return max((load for load, _ in self.loads), default=0)


class Permutation:
    """Every chip sends to one chip and gets from one; some keep what they have.

    Args:
        topology: The chips.
        table: For some chips, whom each sends to.
        sample: Chips whose traffic is that of all others too, since these do the same elsewhere;
            None: all.
    """

    def __init__(
        self,
        topology: Topology,
        table: Callable[[Sequence[Coordinate]], Mapping[Coordinate, Coordinate]],
        sample: Sequence[Coordinate] | None = None,
    ) -> None:
        self.topology = topology
        self._table = table
        self._sample = sample

    @cached_property
    def targets(self) -> Mapping[Coordinate, Coordinate]:
        """Whom each chip sends to."""
        return self._table(tuple(self.topology.coordinates()))

    def way(self, chip: Coordinate) -> tuple[Hop, ...]:
        """The hops of a chip's message."""
        return self.topology.route(chip, self.targets[chip])

    @cached_property
    def sources(self) -> Mapping[Coordinate, Coordinate]:
        """Whom each chip gets from."""
        return {target: chip for chip, target in self.targets.items()}

    @cached_property
    def traffic(self) -> Traffic:
        """What the links carry when all send."""
        sampled = self.targets if self._sample is None else self._table(self._sample)
        if self.topology.is_regular:
            return _on_grid(self.topology, sampled)
        return self._routed(sampled)

    def _routed(self, sampled: Mapping[Coordinate, Coordinate]) -> Traffic:
        """By the way of each message, hop by hop."""
        crossed: Counter[Track] = Counter()
        leaving: Counter[Coordinate] = Counter()
        links: dict[Track, Link] = {}
        ways = set()
        for chip, target in sampled.items():
            if chip == target:
                continue
            hops = self.topology.route(chip, target)
            ways.add(tuple(hop.link for hop in hops))
            for hop in hops:
                leaving[hop.tracks[0].chip] += 1
                for track in hop.tracks:
                    crossed[track] += 1
                    links[track] = hop.link
        return Traffic(
            frozenset((count, links[track]) for track, count in crossed.items()),
            frozenset(ways),
            max(leaving.values(), default=0),
        )


def _on_grid(topology: Topology, targets: Mapping[Coordinate, Coordinate]) -> Traffic:
    """The same on a regular grid, dimension by dimension: what a row carries is counted at once.

    A message adds one to a stretch of each row that it takes; only its ends are written down, and
    summed up at the end.
    """
    rows: dict[tuple[int, int, Coordinate], list[int]] = {}
    leaving: Counter[Coordinate] = Counter()
    ports: Counter[tuple[int, bool, Coordinate]] = Counter()
    steps = set()
    for chip, target in targets.items():
        here, counts = chip, []
        for index, dimension in enumerate(topology.dimensions):
            start, end, size = here[index], target[index], dimension.size
            there = (*here[:index], end, *here[index + 1 :])
            if start == end:
                counts.append(0)
                continue
            if dimension.kind is DimensionKind.SWITCH:
                counts.append(1)
                ports[index, True, here] += 1
                ports[index, False, there] += 1
                leaving[here] += 1
                here = there
                continue
            ahead = (end - start) % size
            up = end > start if dimension.kind is DimensionKind.LINE else 2 * ahead <= size
            count = ahead if up else size - ahead
            first = start if up else start - count + 1
            key = (index, 1 if up else -1, (*here[:index], 0, *here[index + 1 :]))
            row = rows.setdefault(key, [0] * (2 * size + 1))
            row[first % size] += 1
            row[first % size + count] -= 1
            counts.append(count)
            here = there
        if chip != target:
            steps.add(tuple(counts))
    loads = {(count, topology.dimensions[index].link) for (index, _, _), count in ports.items()}
    for (index, _, corner), row in rows.items():
        size = topology.dimensions[index].size
        carried = list(itertools.accumulate(row))
        for at in range(size):
            count = carried[at] + carried[at + size]
            if count:
                loads.add((count, topology.dimensions[index].link))
                leaving[*corner[:index], at, *corner[index + 1 :]] += count
    links = [dimension.link for dimension in topology.dimensions]
    ways = {
        tuple(link for link, count in zip(links, counts, strict=True) for _ in range(count))
        for counts in steps
    }
    return Traffic(frozenset(loads), frozenset(ways), max(leaving.values(), default=0))
