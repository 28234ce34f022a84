"""What each link carried in a run, and how much of what it could have."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shardsim.timeline import Core, LinkDirection, Port
from shardsim.topology import spot
from shardsim.units import Bytes, BytesPerSecond, Seconds, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shardsim.timeline import Timeline
    from shardsim.topology import Topology

__all__ = ["LinkUse", "leaving", "mean_utilization", "traffic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkUse:
    """One direction of a link (one port, at a switch) over a whole run.

    Attributes:
        track: Which.
        carried: Bytes.
        busy: Seconds in which it sent.
        bandwidth: Bytes/s by the datasheet, one way.
        makespan: Seconds of the run.
    """

    track: LinkDirection | Port
    carried: Bytes
    busy: Seconds
    bandwidth: BytesPerSecond
    makespan: Seconds

    @property
    def utilization(self) -> Fraction:
        """Bytes carried of those it could have carried; never above 1."""
        return self.carried / (self.bandwidth * self.makespan) if self.makespan else Fraction(0)

    @property
    def name(self) -> str:
        """For people: `chip (0, 1), y+`."""
        return f"chip {spot(self.track.chip)}, {self.track}"

    def to_dict(self) -> dict[str, Any]:
        """The JSON of one link."""
        return {
            "chip": list(self.track.chip),
            "link": str(self.track),
            "one_way_bandwidth_bytes_per_second": number(self.bandwidth),
            "bytes": number(self.carried),
            "busy_seconds": float(self.busy),
            "utilization": float(self.utilization),
        }


def traffic(timeline: Timeline, topology: Topology) -> tuple[LinkUse, ...]:
    """The links that carried something, the longest busy first; equal ones in order."""
    index = {dimension.name: at for at, dimension in enumerate(topology.dimensions)}
    busy: defaultdict[LinkDirection | Port, int] = defaultdict(int)
    carried: defaultdict[LinkDirection | Port, Bytes] = defaultdict(Fraction)
    for interval in timeline.intervals:
        if not isinstance(interval.track, Core):
            busy[interval.track] += interval.end - interval.start
            carried[interval.track] += interval.size
    uses = []
    for track, ticks in busy.items():
        link = topology.link(track.chip, (index[track.dimension], track.direction))
        assert link is not None
        uses.append(
            LinkUse(
                track=track,
                carried=carried[track],
                busy=timeline.seconds(ticks),
                bandwidth=link.one_way_bandwidth,
                makespan=timeline.makespan,
            )
        )
    return tuple(sorted(uses, key=lambda use: (-use.busy, use.track)))


def mean_utilization(uses: Sequence[LinkUse]) -> Fraction:
    """The mean over the links that carried something; 0 where none did."""
    total = sum((use.utilization for use in uses), Fraction(0))
    return total / len(uses) if uses else Fraction(0)


def leaving(links: Iterable[LinkUse]) -> Iterator[LinkUse]:
    """Those that bytes leave a chip by: all links between chips, and ports out of a switch's."""
    return (use for use in links if isinstance(use.track, LinkDirection) or use.track.direction > 0)
