"""The ladder of a chip: its channels from the fastest down, and what each asks of a program."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from shardsim.catalogue.chips import chip_file, chip_names, generation_of
from shardsim.catalogue.facts import facts
from shardsim.catalogue.figures import chip_figures
from shardsim.catalogue.forms import MeasuredFile
from shardsim.catalogue.references import one_chip
from shardsim.units import number
from shardsim.vocabulary import Dtype

if TYPE_CHECKING:
    from shardsim.hardware import Channel, Chip
    from shardsim.units import Seconds

__all__ = ["Rung", "chip_dict", "chips_dict", "ladder", "main_dtype", "plain_chips"]


class Rung(NamedTuple):
    """A channel of a ladder.

    Attributes:
        channel: The channel.
        ratio: How many times as fast it is as the next one; None of the last.
        needed: FLOPs per byte that keep the matrix unit busy.
        fill: Seconds to move as much as HBM holds.
    """

    channel: Channel
    ratio: Fraction | None
    needed: Fraction
    fill: Seconds


def main_dtype(chip: Chip) -> Dtype:
    """bf16 where the chip has a peak for it, else its first type.

    >>> main_dtype(one_chip("v100").chip)
    <Dtype.F16: 'f16'>
    """
    known = [dtype for dtype, _ in chip.peaks]
    return Dtype.BF16 if Dtype.BF16 in known else known[0]


def ladder(chip: Chip, dtype: Dtype | None = None) -> tuple[Rung, ...]:
    """The channels of a chip, the fastest first.

    Args:
        chip: Which.
        dtype: Of the matmuls that are fed; by default `main_dtype`.

    Raises:
        TopologyError: the chip has no peak for the type.

    >>> rungs = ladder(one_chip("v5e").chip)
    >>> [(one.channel.kind.value, round(float(one.needed), 1)) for one in rungs]
    [('vmem', 10.9), ('hbm', 240.2), ('ici', 2188.9), ('pcie', 12312.5), ('dcn', 63040.0)]
    """
    peak = chip.peak(dtype or main_dtype(chip))
    rungs = chip.ladder
    slower: list[Channel | None] = [*rungs[1:], None]
    return tuple(
        Rung(
            channel=one,
            ratio=None if after is None else one.bandwidth / after.bandwidth,
            needed=peak / one.bandwidth,
            fill=chip.hbm_capacity / one.bandwidth,
        )
        for one, after in zip(rungs, slower, strict=True)
    )


def plain_chips() -> list[str]:
    """The names of the chips, without those that stand for the same with measurements.

    >>> "h100" in plain_chips(), "h100-measured" in plain_chips()
    (True, False)
    """
    return [name for name in chip_names() if not isinstance(chip_file(name), MeasuredFile)]


def chips_dict() -> dict[str, Any]:
    """The JSON of `show chips`."""
    chips = [_chip_dict(one_chip(name).chip) for name in plain_chips()]
    return {"format": "shardsim/chips/1", "chips": chips}


def chip_dict(word: str) -> dict[str, Any]:
    """The JSON of `show CHIP`.

    Args:
        word: A chip's name or alias.

    Raises:
        InputError: no chip has that name.
    """
    name = generation_of(word).chip.name
    topology = one_chip(name)
    return {
        "format": "shardsim/chip/1",
        **_chip_dict(topology.chip),
        "aliases": list(chip_file(name).aliases),
        "facts": {key: number(Fraction(value)) for key, value in facts(topology).items()},
        "figures": [figure.to_dict() for figure in chip_figures(name)],
    }


def _chip_dict(chip: Chip) -> dict[str, Any]:
    unit = chip.vector_unit
    return {
        "name": chip.name,
        "title": chip.title,
        "flops_per_second": {dtype.value: number(rate) for dtype, rate in chip.peaks},
        "hbm_bandwidth_bytes_per_second": number(chip.hbm_bandwidth),
        "hbm_capacity_bytes": number(chip.hbm_capacity),
        "cores": chip.cores,
        "vector_flops_per_second": None if unit is None else number(unit.flops_per_second),
        "matrix_unit": None if chip.matrix_unit is None else list(chip.matrix_unit),
        "usd_per_hour": None if chip.price is None else number(chip.price),
        "intensity_dtype": main_dtype(chip).value,
        "ladder": [
            {
                "channel": rung.channel.kind.value,
                "bytes_per_second": number(rung.channel.bandwidth),
                "capacity_bytes": rung.channel.capacity and number(rung.channel.capacity),
                "note": rung.channel.note,
                "ratio_to_next": None if rung.ratio is None else float(rung.ratio),
                "needed_flops_per_byte": float(rung.needed),
                "hbm_fill_seconds": float(rung.fill),
            }
            for rung in ladder(chip)
        ],
    }
