"""Which chip sends to which when every chip sends what it has to one other, and over which links.

What a closed form needs of it are counts: how many messages each link carries, and what links each
message goes over.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from shardsim.hardware import Link

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
        crossed: Counter[Track] = Counter()
        leaving: Counter[Coordinate] = Counter()
        links: dict[Track, Link] = {}
        ways = set()
        sampled = self.targets if self._sample is None else self._table(self._sample)
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
