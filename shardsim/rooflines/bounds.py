"""The roofline of one load on one machine."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from shardsim.rooflines.clock import NETWORKS, Clock, channel_of, channels_of
from shardsim.rooflines.solving import Critical, critical
from shardsim.units import Bytes, FlopsPerSecond, Seconds, number
from shardsim.vocabulary import ChannelKind, Relation

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from shardsim.hardware import Channel
    from shardsim.rooflines.load import Load

__all__ = ["ChannelTime", "Roofline", "Talk"]


class ChannelTime(NamedTuple):
    """The bytes moved, taken by one channel.

    Attributes:
        channel: The channel.
        seconds: How long they take by it.
        needed: FLOPs per byte with which computing takes as long; None without a figure of the
            unit that computes.
        counts: Whether they do come by it; else it says what would be.
    """

    channel: Channel
    seconds: Seconds
    needed: Fraction | None
    counts: bool


class Talk(NamedTuple):
    """The collectives over one kind of link: V in bytes, and seconds one after the other.

    Attributes:
        kind: Of the slowest link of each.
        size: V in bytes, of all.
        book: Seconds by the book's formulas.
        seconds: By the closed forms; where one is only a bound, what is likely.
        relation: How the closed forms stand to the simulation: equal, if all of them are.
    """

    kind: ChannelKind
    size: Bytes
    book: Seconds
    seconds: Seconds
    relation: Relation


@dataclass(frozen=True, kw_only=True)
class Roofline:
    """What binds one chip: how long it computes, and how long bytes take by each channel.

    Attributes:
        text: What is done, for people: statements, or the numbers given.
        load: What one chip has to do.
        clock: The machine.
        extents: Of the dimensions, if there are any.
        dtype: Element types, for people.
    """

    text: str
    load: Load
    clock: Clock
    extents: Mapping[str, int]
    dtype: str

    @property
    def machine(self) -> str:
        """The name of the machine."""
        return self.clock.topology.name

    @property
    def flops(self) -> Fraction:
        """Operations of one chip."""
        return self.load.flops

    @property
    def bytes_moved(self) -> Bytes:
        """Bytes between the memory and the units of one chip."""
        return self.load.bytes_moved

    @cached_property
    def compute_seconds(self) -> Seconds | None:
        """T_math; None where the vector unit has no figure."""
        return self.clock.compute(self.load)

    @property
    def peak(self) -> FlopsPerSecond | None:
        """FLOP/s at which the operations are done: that of the unit, mixed where there are more."""
        seconds = self.compute_seconds
        if not seconds:
            peaks = [self.clock.peak(each) for each in self.load.operations]
            return peaks[0] if peaks else None
        return self.flops / seconds

    @cached_property
    def channels(self) -> tuple[ChannelTime, ...]:
        """The bytes moved by each channel of the machine, the fastest first."""
        peak = self.peak
        return tuple(
            ChannelTime(
                channel,
                self.clock.moving(self.load, channel),
                None if peak is None else peak / channel.bandwidth,
                channel.kind is self.clock.through,
            )
            for channel in channels_of(self.clock.topology)
        )

    @property
    def memory(self) -> ChannelTime:
        """The channel by which the bytes do come.

        Raises:
            TopologyError: the chip has no figure for it.
        """
        for one in self.channels:
            if one.counts:
                return one
        chip = self.clock.topology.chip
        raise chip.no_channel(self.clock.through)

    @property
    def memory_seconds(self) -> Seconds:
        """T_comms between memory and units."""
        return self.memory.seconds

    @cached_property
    def talks(self) -> tuple[Talk, ...]:
        """The collectives, by the kind of their slowest link."""
        found = []
        for kind in NETWORKS:
            size = self.clock.sent(self.load, kind)
            if size:
                book = self.clock.talking(self.load, kind, book=True, in_turn=True)
                seconds = self.clock.talking(self.load, kind, in_turn=True)
                found.append(Talk(kind, size, book, seconds, self._relation(kind)))
        return tuple(found)

    def _relation(self, kind: ChannelKind) -> Relation:
        prices = (self.clock.price(s) for s in self.load.collectives if channel_of(s.step) is kind)
        others = (p.relation for p in prices if p.relation is not Relation.EQUAL)
        return next(others, Relation.EQUAL)

    @property
    def network_seconds(self) -> Seconds:
        """T_comms between chips, one collective after the other: by the closed forms, or likely."""
        return sum((talk.seconds for talk in self.talks), Fraction(0))

    @property
    def book_network_seconds(self) -> Seconds:
        """The same by the book's formulas."""
        return sum((talk.book for talk in self.talks), Fraction(0))

    @property
    def intensity(self) -> Fraction | None:
        """FLOPs per byte moved; None where nothing is moved."""
        return self.flops / self.bytes_moved if self.bytes_moved else None

    def lower_bound(self, *, book: bool = False) -> Seconds:
        """The longest of the times: all overlap, collectives along different axes too."""
        return max(self._times(book=book).values())

    def upper_bound(self, *, book: bool = False) -> Seconds:
        """All times one after the other: nothing overlaps."""
        talking = self.book_network_seconds if book else self.network_seconds
        return (self.compute_seconds or Fraction(0)) + self.memory_seconds + talking

    @property
    def bound(self) -> str | None:
        """What takes longest: `compute`, `memory`, `communication` or `latency`.

        Latency is what communication is called when most of it is that. None where the unit that
        computes has no figure.
        """
        if self.compute_seconds is None:
            return None
        times = self._times(book=False)
        longest = max(times, key=lambda name: times[name])
        waits = 2 * self.clock.waiting(self.load) > self.network_seconds  # of all of them
        return "latency" if longest == "communication" and waits else longest

    @property
    def attained(self) -> FlopsPerSecond | None:
        """FLOP/s of a chip where all overlaps: operations over the longest of the times."""
        longest = self.lower_bound()
        return self.flops / longest if longest else None

    def attained_at(self, dim: str, extent: Fraction) -> FlopsPerSecond:
        """FLOP/s of a chip where all overlaps, with one dimension of another extent."""
        factors = {dim: extent / self.extents[dim]}
        flops = sum(
            (product.at(factors) for each in self.load.operations for product in each.flops),
            Fraction(0),
        )
        longest = max(
            self.clock.compute(self.load, factors) or Fraction(0),
            self.clock.moving(self.load, self.memory.channel, factors),
            self.clock.talking(self.load, None, factors),
        )
        return flops / longest

    def _times(self, *, book: bool) -> dict[str, Seconds]:
        talk = self.clock.talking(self.load, book=book)
        return {
            "compute": self.compute_seconds or Fraction(0),
            "memory": self.memory_seconds,
            "communication": talk,
        }

    def solve(self, dim: str, small: Collection[str] | None = None) -> tuple[Critical, ...]:
        """For which extents of a dimension computing takes as long as each channel that counts.

        Args:
            dim: The dimension.
            small: Dimensions that the approximation takes for small; `dim` by default.
        """
        counting = [self.memory.channel] if self.bytes_moved else []
        kinds = {talk.kind for talk in self.talks}
        counting += [one.channel for one in self.channels if one.channel.kind in kinds]
        met: dict[ChannelKind, Critical] = {}
        for channel in counting:
            if channel.kind not in met and self.compute_seconds is not None:
                met[channel.kind] = critical(
                    self.load, self.clock, dim, self.extents[dim], channel, small
                )
        return tuple(met.values())

    def to_dict(self) -> dict[str, Any]:
        """An entry of `roofline --json`; numbers are of one chip."""
        compute, intensity, attained = self.compute_seconds, self.intensity, self.attained
        return {
            "text": self.text,
            "machine": self.machine,
            "chips": self.clock.topology.size,
            "dims": dict(self.extents),
            "dtype": self.dtype,
            "flops_per_chip": number(self.flops),
            "bytes_per_chip": number(self.bytes_moved),
            "intensity_flops_per_byte": None if intensity is None else float(intensity),
            "peak_flops_per_second": None if self.peak is None else float(self.peak),
            "compute_seconds": None if compute is None else float(compute),
            "memory_seconds": float(self.memory_seconds),
            "network_seconds": float(self.network_seconds),
            "book_network_seconds": float(self.book_network_seconds),
            "lower_bound_seconds": float(self.lower_bound()),
            "upper_bound_seconds": float(self.upper_bound()),
            "book_lower_bound_seconds": float(self.lower_bound(book=True)),
            "book_upper_bound_seconds": float(self.upper_bound(book=True)),
            "attained_flops_per_second": None if attained is None else float(attained),
            "bound": self.bound,
            "through": self.clock.through.value,
            "channels": [
                {
                    "channel": one.channel.kind.value,
                    "bandwidth_bytes_per_second": number(one.channel.bandwidth),
                    "of": one.channel.note,
                    "seconds": float(one.seconds),
                    "critical_intensity_flops_per_byte": None
                    if one.needed is None
                    else float(one.needed),
                    "counts": one.counts,
                }
                for one in self.channels
            ],
            "collectives": [
                {
                    "channel": talk.kind.value,
                    "bytes": number(talk.size),
                    "book_seconds": float(talk.book),
                    "exact_seconds": float(talk.seconds),
                    "relation": talk.relation.value,
                }
                for talk in self.talks
            ],
        }
