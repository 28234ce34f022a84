"""Chips and links: the rates a formula may use. Figures live in data files, not here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from shardsim.errors import TopologyError
from shardsim.units import Bytes, BytesPerSecond, FlopsPerSecond, Seconds
from shardsim.vocabulary import CallKind, ChannelKind, Dtype

__all__ = ["Calibration", "Channel", "Chip", "Curve", "Link", "VectorUnit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A way by which bytes come to one chip's units.

    Attributes:
        kind: Which.
        bandwidth: Bytes/s of one chip by it: read and written together (on the chip, HBM, PCIe each
            way), or what the book calls W (ICI: one axis, both directions; NVLink and NICs: one
            way).
        capacity: Bytes behind it, where it is a memory of the chip.
        note: What the bandwidth is of: `one axis, both ways`.
    """

    kind: ChannelKind
    bandwidth: BytesPerSecond
    capacity: Bytes | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorUnit:
    """The units that do not multiply matrices: ALUs of a TPU's VPU, CUDA cores of a GPU.

    Attributes:
        cores: TensorCores or streaming multiprocessors of a chip.
        per_core: ALUs of a core, as a product: (4, 8, 128) are 4 in each of 8 x 128 lanes.
        clock: Cycles/s.

    >>> unit = VectorUnit(cores=2, per_core=(4, 8, 128), clock=Fraction(1_750_000_000))
    >>> unit.alus, float(unit.flops_per_second)
    (8192, 14336000000000.0)
    """

    cores: int
    per_core: tuple[int, ...]
    clock: Fraction

    @property
    def alus(self) -> int:
        """How many there are on a chip; each does one operation a cycle."""
        return self.cores * math.prod(self.per_core)

    @property
    def flops_per_second(self) -> FlopsPerSecond:
        """FLOP/s of a chip, an operation a cycle and ALU."""
        return self.alus * self.clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One accelerator.

    Attributes:
        name: As in a topology reference: `v5e`.
        peaks: Dense FLOP/s of the matrix unit by element type.
        hbm_bandwidth: Bytes/s between HBM and the chip.
        hbm_capacity: Bytes of HBM.
        title: For people: `TPU v5e`.
        channels: By which other ways bytes come to it, as far as there are figures.
        vector_unit: What else computes, where there is a figure.
        matrix_unit: Rows and columns of its matrix unit, where there is a figure.
        price: USD for an hour, where there is a figure.
        cores: TensorCores or streaming multiprocessors, where there is a figure.
        like: The chip of the catalogue that it is, or from which only some figures differ.
    """

    name: str
    peaks: tuple[tuple[Dtype, FlopsPerSecond], ...]
    hbm_bandwidth: BytesPerSecond
    hbm_capacity: Bytes
    title: str = ""
    channels: tuple[Channel, ...] = ()
    vector_unit: VectorUnit | None = None
    matrix_unit: tuple[int, int] | None = None
    price: Fraction | None = None
    cores: int | None = None
    like: str = ""

    @property
    def ladder(self) -> tuple[Channel, ...]:
        """All channels, HBM among them, the fastest first."""
        hbm = Channel(
            kind=ChannelKind.HBM, bandwidth=self.hbm_bandwidth, capacity=self.hbm_capacity
        )
        return tuple(sorted((*self.channels, hbm), key=lambda one: -one.bandwidth))

    def channel(self, kind: ChannelKind) -> Channel:
        """The channel of a kind.

        Raises:
            TopologyError: the chip has no figure for it; nothing is substituted.
        """
        for one in self.ladder:
            if one.kind is kind:
                return one
        raise self.no_channel(kind)

    def no_channel(self, kind: ChannelKind) -> TopologyError:
        """The fault of a channel that the chip has no figure for."""
        names = ", ".join(one.kind.value for one in self.ladder)
        return TopologyError(
            f"chip {self.name} has no figure for {kind.label}; it has {names}",
            "choose one of these, or give the chip a figure of its own in a topology file",
        )

    def peak(self, dtype: Dtype) -> FlopsPerSecond:
        """FLOP/s of a matmul in `dtype`.

        Raises:
            TopologyError: the chip has no figure for it; nothing is substituted.
        """
        for known, rate in self.peaks:
            if known is dtype:
                return rate
        names = ", ".join(known.value for known, _ in self.peaks)
        raise TopologyError(
            f"chip {self.name} has no peak FLOP/s for {dtype.value}; it has {names}",
            "choose one of these dtypes, or give the chip a figure of its own in a topology file",
        )


@dataclass(frozen=True, slots=True)
class Link:
    """One direction of one cable: bytes/s one way, and seconds until the first byte arrives."""

    one_way_bandwidth: BytesPerSecond
    latency: Seconds

    @property
    def bidirectional_bandwidth(self) -> BytesPerSecond:
        """Both directions of the cable together: what the book calls W_ici."""
        return 2 * self.one_way_bandwidth


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """What is known of one collective over so many chips.

    Attributes:
        kind: The collective.
        chips: Over how many chips.
        launch: Seconds before its first message.
        points: (V in bytes, share of the bandwidth reached), V rising. Between two points V / share
            is interpolated, so that time grows with V; outside, the nearest share holds.
    """

    kind: CallKind
    chips: int
    launch: Seconds
    points: tuple[tuple[Bytes, Fraction], ...] = ()

    def efficiency(self, size: Bytes) -> Fraction:
        """The share of the bandwidth that a collective of V = `size` bytes reaches."""
        if not self.points:
            return Fraction(1)
        before = [point for point in self.points if point[0] <= size]
        after = [point for point in self.points if point[0] > size]
        if not before or not after:
            return (before[-1] if before else after[0])[1]
        (low, slow), (high, fast) = before[-1], after[0]
        start, end = low / slow, high / fast
        return Fraction(size) / (start + (end - start) * (size - low) / (high - low))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How far real collectives fall short of the datasheet; neutral by default.

    Attributes:
        efficiency: Share of the bandwidth that any message reaches.
        launch_overhead: Seconds before the first message of any collective.
        curves: What was measured of single collectives, instead of the two above.
        source: Where the figures are from.
        band: How far they are off, for people: `within 10 % at 16 MiB and more`.
    """

    efficiency: Fraction = Fraction(1)
    launch_overhead: Seconds = Fraction(0)
    curves: tuple[Curve, ...] = ()
    source: str = ""
    band: str = ""

    def knows(self, kind: CallKind) -> bool:
        """Whether a collective was measured."""
        return any(curve.kind is kind for curve in self.curves)

    def curve(self, kind: CallKind, chips: int) -> Curve:
        """The curve of the next smaller number of chips that was measured, else the smallest."""
        of_kind = sorted((c for c in self.curves if c.kind is kind), key=lambda c: c.chips)
        smaller = [curve for curve in of_kind if curve.chips <= chips]
        if of_kind:
            return smaller[-1] if smaller else of_kind[0]
        points = ((Fraction(1), self.efficiency),)
        return Curve(kind=kind, chips=chips, launch=self.launch_overhead, points=points)
