"""Which collective, over which chips, by which method, on how many bytes: what is to be done.

Formulas price a call and step programs carry it out; neither knows of the other.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from shardsim.errors import PlanError
from shardsim.units import Bytes, Seconds
from shardsim.vocabulary import (
    Algorithm,
    CallKind,
    CollectiveKind,
    DimensionKind,
    Schedule,
    TransferKind,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.hardware import Calibration
    from shardsim.mesh import Group, Permutation, Segment
    from shardsim.topology import Coordinate, Hop

__all__ = [
    "ALGORITHMS",
    "Call",
    "Method",
    "Stream",
    "choose_algorithm",
    "make_call",
    "rotations",
]

Share = tuple[Fraction, Fraction]
WHOLE: Share = (Fraction(0), Fraction(1))

ALGORITHMS = {
    DimensionKind.RING: (
        Algorithm.BALANCED,
        Algorithm.WHOLE_SHARDS,
        Algorithm.HALF_SHARDS,
        Algorithm.ONE_DIRECTION,
    ),
    DimensionKind.LINE: (Algorithm.LINE, Algorithm.REDUCE_BROADCAST),
    DimensionKind.SWITCH: (Algorithm.DIRECT, Algorithm.RING, Algorithm.IN_NETWORK),
}
"""The algorithms of each kind, the default first."""

MEASURED_BY: dict[CallKind, Algorithm] = {
    CollectiveKind.ALL_GATHER: Algorithm.RING,
    CollectiveKind.REDUCE_SCATTER: Algorithm.RING,
    CollectiveKind.ALL_REDUCE: Algorithm.RING,
    CollectiveKind.ALL_TO_ALL: Algorithm.DIRECT,
}
"""What measured curves of a switch count in: a share of what these algorithms would reach."""

ONLY_ALL_REDUCE = (Algorithm.REDUCE_BROADCAST, Algorithm.IN_NETWORK)


class Stream(NamedTuple):
    """A share [low, high) of every block, and the order in which its segments are gathered.

    AllGather and AllToAll go through the order forwards, ReduceScatter backwards.
    """

    order: tuple[int, ...]
    share: Share = WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """How a collective is carried out.

    Attributes:
        algorithms: One for each segment of the group.
        streams: Orders of the segments, with disjoint shares that make up the whole.
        schedule: What the streams are called.
        chunks: Into how many equal parts each stream's share is cut; they follow each other.
    """

    algorithms: tuple[Algorithm, ...]
    streams: tuple[Stream, ...]
    schedule: Schedule = Schedule.SEQUENTIAL
    chunks: int = 1

    def jobs(self) -> Iterator[Stream]:
        """The chunks of all streams, in the order in which a link serves them."""
        for chunk in range(self.chunks):
            for order, (low, high) in self.streams:
                part = (high - low) / self.chunks
                yield Stream(order, (low + part * chunk, low + part * (chunk + 1)))

    @property
    def name(self) -> str:
        """The word of the JSON: the algorithm, or the schedule and each segment's algorithm."""
        names = ", ".join(algorithm.value for algorithm in self.algorithms)
        text = names if len(self.algorithms) == 1 else f"{self.schedule.value}({names})"
        return text if self.chunks == 1 else f"{text} in {self.chunks} chunks"


def rotations(count: int, shares: tuple[Fraction, ...] | None = None) -> tuple[Stream, ...]:
    """The rotated orders of `count` segments, each with a share of the data (equal by default).

    >>> [(stream.order, str(stream.share[1])) for stream in rotations(2)]
    [((0, 1), '1/2'), ((1, 0), '1')]
    """
    orders = [tuple((first + step) % count for step in range(count)) for first in range(count)]
    return in_shares(orders, shares or (Fraction(1, count),) * count)


def in_shares(orders: list[tuple[int, ...]], shares: tuple[Fraction, ...]) -> tuple[Stream, ...]:
    """A stream for each order whose share is not nothing."""
    ends = [Fraction(0), *itertools.accumulate(shares)]
    assert ends[-1] == 1
    return tuple(
        Stream(order, (low, high))
        for order, (low, high) in zip(orders, itertools.pairwise(ends), strict=True)
        if low < high
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One collective to be done by all groups of chips at once.

    Attributes:
        kind: Which.
        group: The chips, and the segments under them.
        method: How.
        size: V in bytes, as one group sees it.
        shift: Permute: by how many places up its one segment.
        root: Gather: the number of the chip in its group that gets everything.
        permutation: Permute: who sends to whom, where that is no shift along a segment.
        efficiency: The share of every bandwidth that messages reach.
        launch: Seconds before the first message.
    """

    kind: CallKind
    group: Group
    method: Method
    size: Bytes
    shift: int = 1
    root: int = 0
    permutation: Permutation | None = None
    efficiency: Fraction = Fraction(1)
    launch: Seconds = Fraction(0)

    def receiver(self, sender: Coordinate, segment: int, offset: int | None) -> Coordinate:
        """Whom a send of a step program goes to."""
        if self.permutation is not None:
            return self.permutation.targets[sender]
        return self.group.receiver(sender, segment, offset)

    def way(self, sender: Coordinate, segment: int, offset: int | None) -> tuple[Hop, ...]:
        """The hops of a send of a step program."""
        if self.permutation is not None:
            return self.permutation.way(sender)
        return self.group.way(sender, segment, offset)


def choose_algorithm(
    wanted: Algorithm | None, segment: Segment, kind: CallKind, calibration: Calibration
) -> Algorithm:
    """The algorithm for a segment: the one asked for where it can run there, else its own.

    Measured curves of a switch are those of rings of messages, of AllToAll of direct ones.
    """
    own = ALGORITHMS[segment.kind]
    if wanted in own and (kind is CollectiveKind.ALL_REDUCE or wanted not in ONLY_ALL_REDUCE):
        return wanted
    if segment.kind is DimensionKind.SWITCH and calibration.knows(kind):
        return MEASURED_BY.get(kind, own[0])
    return own[0]


def make_call(
    kind: CallKind,
    group: Group,
    size: Bytes,
    method: Method,
    *,
    shift: int = 1,
    root: int = 0,
    permutation: Permutation | None = None,
) -> Call:
    """A call as the topology's calibration has it.

    Raises:
        PlanError: the method cannot do this collective on these segments.
    """
    _check(kind, group, method, placed=permutation is not None)
    curve = group.mesh.topology.calibration.curve(kind, group.size)
    return Call(
        kind=kind,
        group=group,
        method=method,
        size=Fraction(size),
        shift=shift,
        root=root,
        permutation=permutation,
        efficiency=curve.efficiency(Fraction(size)),
        launch=curve.launch if group.size > 1 else Fraction(0),
    )


def _check(kind: CallKind, group: Group, method: Method, *, placed: bool) -> None:
    known = group.mesh.topology.calibration.knows(kind)
    measured = MEASURED_BY.get(kind) if known else None
    others = ", ".join(
        word.value
        for word, segment in zip(method.algorithms, group.segments, strict=True)
        if segment.kind is DimensionKind.SWITCH and word is not measured
    )
    if measured is not None and others:
        raise PlanError(
            f"{kind.value} was measured on {group.mesh.topology.name} as {measured.value}, which "
            f"stands for whatever the library did; {others} would be counted on top of that",
            "leave the algorithm out, or take the chip without measurements",
        )
    for segment, algorithm in zip(group.segments, method.algorithms, strict=True):
        if algorithm is Algorithm.IN_NETWORK and not segment.reduces:
            raise PlanError(
                f"the switch {segment.name} cannot add: algorithm in_network needs one that can",
                "choose direct or ring, or write reduces: true for the switch in a topology file",
            )
        if algorithm in ONLY_ALL_REDUCE and len(group.segments) > 1:
            raise PlanError(
                f"algorithm {algorithm.value} is for one segment; "
                f"{', '.join(group.axes)} lie on {len(group.segments)}",
                "name one axis, or choose another algorithm",
            )
    along_one = kind is TransferKind.SEND or (kind is TransferKind.PERMUTE and not placed)
    if along_one and len(group.segments) > 1:
        raise PlanError(
            f"a {kind.value} along {', '.join(group.axes)} crosses {len(group.segments)} segments",
            "name an axis that lies on one ring, line or switch",
        )
