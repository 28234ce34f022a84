"""Measured collectives: what a file says of them, and the calibration that it stands for.

    collectives:
      source: where the figures are from
      band: how far they are off
      all_gather:
        8: {launch: 4 us, points: [[1 MiB, 0.3], [64 MiB, 0.7]]}

A point is V, and the share of the bandwidth reached there.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Annotated

from pydantic import BeforeValidator, Field, PlainValidator

from shardsim.catalogue.fields import Share
from shardsim.documents import Document, Faults, Record, described
from shardsim.documents.fields import Latency, Size
from shardsim.errors import InputError, ScenarioError, TopologyError
from shardsim.hardware import Calibration, Curve
from shardsim.units import parse_count
from shardsim.vocabulary import CollectiveKind

__all__ = ["CollectivesForm", "read_curves"]

FEWEST = 2


def _pair(value: object) -> object:
    if not isinstance(value, list | tuple) or len(value) != 2:
        why = f"a point must be a size and a share; it is {described(value)}"
        raise ScenarioError(why, "write it as [1 MiB, 0.3]")
    return value


def _chips(value: object) -> int:
    count = parse_count(value, "the number of chips")
    if count < FEWEST:
        raise ScenarioError("a collective is among 2 chips or more", "write 2 or more")
    return count


Point = Annotated[tuple[Size, Share], BeforeValidator(_pair)]


class CurveForm(Record):
    """One collective among so many chips."""

    launch: Latency = Fraction(0)
    points: tuple[Point, ...] = ()


Curves = dict[Annotated[int, PlainValidator(_chips)], CurveForm]


class CollectivesForm(Record):
    """What was measured, by collective and number of chips."""

    source: str = ""
    band: str = ""
    all_gather: Curves = Field(default={})
    reduce_scatter: Curves = Field(default={})
    all_reduce: Curves = Field(default={})
    all_to_all: Curves = Field(default={})


def read_curves(
    form: CollectivesForm | None, document: Document, neutral: Calibration
) -> Calibration:
    """The calibration of measured collectives; the rest is as in `neutral`.

    Args:
        form: What was measured, if anything.
        document: The file, with it under `collectives`.
        neutral: What holds for collectives that were not measured.

    Raises:
        TopologyError: a curve does not rise, or says that more bytes take less time.
        InputErrors: several do.
    """
    if form is None:
        return neutral
    faults = Faults()
    curves = []
    for kind in CollectiveKind:
        of_kind: Curves = getattr(form, kind.value)
        for chips, curve in of_kind.items():
            key = next(key for key in document.data["collectives"][kind.value] if _is(key, chips))
            at = document.at("collectives", kind.value, key)
            faults.errors += _curve_faults(curve, at)
            made = Curve(kind=kind, chips=chips, launch=curve.launch, points=curve.points)
            curves.append(made)
    faults.raise_any()
    return Calibration(
        efficiency=neutral.efficiency,
        launch_overhead=neutral.launch_overhead,
        curves=tuple(curves),
        source=form.source,
        band=form.band,
    )


def _is(key: object, chips: int) -> bool:
    """Whether a key of the file is that number of chips, however it is written."""
    return parse_count(key, "the number of chips") == chips


def _curve_faults(curve: CurveForm, document: Document) -> list[InputError]:
    faults: list[InputError] = []
    for index, (before, after) in enumerate(pairwise(curve.points), start=1):
        place = document.place("points", index)
        if after[0] <= before[0]:
            why, hint = "the sizes of the points must rise", "write them from small to large"
            faults.append(TopologyError(why, hint, place))
        elif after[0] / after[1] < before[0] / before[1]:
            why = "with this point a larger collective would take less time than a smaller one"
            most = float(after[0] / (before[0] / before[1]))
            faults.append(TopologyError(why, f"write a share of {most:.3g} at most", place))
    return faults
