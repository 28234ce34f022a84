"""Chips and links: the rates a formula may use. Figures live in data files, not here."""

from __future__ import annotations

from dataclasses import dataclass

from shardsim.errors import TopologyError
from shardsim.units import Bytes, BytesPerSecond, FlopsPerSecond, Seconds
from shardsim.vocabulary import Dtype

__all__ = ["Chip", "Link"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One accelerator.

    Attributes:
        name: As in a topology reference: `v5e`.
        peaks: Dense FLOP/s of the matrix unit by element type.
        hbm_bandwidth: Bytes/s between HBM and the chip.
        hbm_capacity: Bytes of HBM.
        title: For people: `TPU v5e`.
    """

    name: str
    peaks: tuple[tuple[Dtype, FlopsPerSecond], ...]
    hbm_bandwidth: BytesPerSecond
    hbm_capacity: Bytes
    title: str = ""

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
