"""The figures of a chip as its file has them: value, source, and what other sources say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shardsim.catalogue.chips import chip_document, chip_file
from shardsim.catalogue.forms import Figure, MeasuredFile, Stated, stated_value
from shardsim.documents import Record
from shardsim.units import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ChipFigure", "Saying", "chip_figures"]

UNIT_WORDS = {
    "bytes": "B",
    "bytes/s": "B/s",
    "FLOP/s": "FLOP/s",
    "Hz": "Hz",
    "USD/h": "USD/h",
    "seconds": "s",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """What one source says.

    Attributes:
        text: As the file has it: `820 GB/s`.
        value: The exact value in SI, or several.
        unit: Its unit: `B/s`; empty for a count.
        source: Who says so.
    """

    text: str
    value: Stated
    unit: str
    source: str

    def to_dict(self) -> dict[str, Any]:
        """An entry of `show CHIP --json`."""
        several = isinstance(self.value, tuple)
        value = [number(one) for one in self.value] if several else number(self.value)  # type: ignore[union-attr,arg-type]
        return {"value": value, "unit": self.unit, "text": self.text, "source": self.source}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipFigure:
    """One figure: its name is the path of its keys, `node.nvlink.links`."""

    name: str
    used: Saying
    alternatives: tuple[Saying, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """An entry of `show CHIP --json`."""
        others = [one.to_dict() for one in self.alternatives]
        return {"name": self.name, **self.used.to_dict(), "alternatives": others}


def chip_figures(name: str) -> tuple[ChipFigure, ...]:
    """All figures of a chip of the catalogue, in the order of its file.

    Args:
        name: The chip's own name, not an alias; of a measured chip the GPU's are given.

    >>> [(one.name, one.used.text) for one in chip_figures("v5e")][3:5]
    [('hbm_bandwidth', '820 GB/s'), ('hbm_capacity', '16 GB')]
    """
    form = chip_file(name)
    if isinstance(form, MeasuredFile):
        return chip_figures(form.of)
    return tuple(_walk(form, chip_document(name).data, ()))


def _walk(value: object, data: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[ChipFigure]:
    """The figures in the order in which the file has them."""
    for key, raw in data.items():
        inner = _inner(value, key)
        here = (*path, key)
        if isinstance(inner, Figure):
            others = tuple(_saying(one) for one in raw.get("alternatives") or ())
            yield ChipFigure(name=".".join(here), used=_saying(raw), alternatives=others)
        elif isinstance(inner, Record | dict):
            yield from _walk(inner, raw, here)


def _inner(value: object, key: str) -> object:
    """What stands under a key of a record, or of a mapping in one."""
    return value.get(key) if isinstance(value, dict) else getattr(value, key, None)


def _saying(raw: Mapping[str, Any]) -> Saying:
    said = raw["value"]
    text = f"[{', '.join(said)}]" if isinstance(said, list) else str(said)
    value, unit = stated_value(said)
    return Saying(text=text, value=value, unit=UNIT_WORDS.get(unit, ""), source=raw["source"])
