"""Single links, ports and chips that differ from the rest of a topology.

Each entry of `overrides` is one of

    {from: [0, 0], to: [0, 1], bandwidth: 20 GB/s, latency: 2 us}    one figure or both
    {from: [0, 0], to: [0, 1], removed: true}
    {chip: [3], port: out, bandwidth: 20 GB/s}                       a port at a switch
    {chip: [1, 1], removed: true}

`from` and `to` name a cable, and both of its directions are meant unless `one_way` is true. Two
cables between two chips, on a ring of 2, are changed alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import product
from typing import Annotated

from pydantic import ConfigDict, Field, PlainValidator, ValidationInfo

from shardsim.catalogue.fields import Flag
from shardsim.documents import Document, Faults, Record, described, nearest
from shardsim.documents.checking import spelled
from shardsim.documents.fields import Latency, Rate, words
from shardsim.errors import InputError, ScenarioError, TopologyError
from shardsim.hardware import Link
from shardsim.topology import Coordinate, LinkKey, Topology
from shardsim.vocabulary import DimensionKind

__all__ = ["OverrideForm", "overridden", "unknown_keys"]

KEYS = ("from", "to", "chip", "port", "dimension", "bandwidth", "latency", "removed", "one_way")


class PortName(StrEnum):
    """A port of a chip at a switch."""

    OUT = "out"
    IN = "in"


def _coordinate(value: object, info: ValidationInfo) -> Coordinate:
    is_list = isinstance(value, list | tuple)
    numbers = [str(number).strip() for number in value] if is_list else []  # type: ignore[attr-defined]
    if not numbers or not all(number.isdecimal() and len(number) < 10 for number in numbers):
        shown = f"[{', '.join(numbers)}]" if numbers else described(value)
        name = "from" if info.field_name == "start" else info.field_name
        why = f"{name} must be the coordinates of a chip; it is {shown}"
        raise ScenarioError(why, "write one number from 0 on for each dimension, such as [0, 1]")
    return tuple(map(int, numbers))


At = Annotated[Coordinate, PlainValidator(_coordinate)]
PORTS = {PortName.OUT: "from the chip to the switch", PortName.IN: "from the switch to the chip"}


class OverrideForm(Record):
    """One override; `unknown_keys` finds the keys that it has not."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    start: At | None = Field(default=None, alias="from")
    to: At | None = None
    chip: At | None = None
    port: Annotated[PortName, words(PortName, PORTS)] | None = None
    dimension: str | None = None
    bandwidth: Rate | None = None
    latency: Latency | None = None
    removed: Flag = False
    one_way: Flag = False

    @property
    def is_chip(self) -> bool:
        """Whether it is about a chip as a whole."""
        return self.chip is not None and self.port is None

    @property
    def has_cable(self) -> bool:
        """Whether it names a cable, or one end of one."""
        return self.start is not None or self.to is not None

    @property
    def link_figures(self) -> bool:
        """Whether it gives a figure of a link."""
        return self.bandwidth is not None or self.latency is not None


def unknown_keys(document: Document) -> Iterator[InputError]:
    """The keys of overrides that none has, where a document has overrides."""
    entries = document.data.get("overrides") if isinstance(document.data, dict) else None
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        for key in entry if isinstance(entry, dict) else ():
            if key not in KEYS:
                why = f"unknown key {key!r} in overrides[{index}]; allowed: {', '.join(KEYS)}"
                place = document.key_place("overrides", index, key)
                yield ScenarioError(why, nearest(key, KEYS) or "remove it", place)


def overridden(topology: Topology, forms: tuple[OverrideForm, ...], document: Document) -> Topology:
    """A topology with overrides.

    Args:
        topology: Without them.
        forms: The overrides.
        document: The file, with them under `overrides`.

    Raises:
        TopologyError: one names no chip, link or port, says nothing or the same again; or the chips
            fall apart.
        InputErrors: several do.
    """
    if not forms:
        return topology
    faults = Faults()
    changes = _Changes(topology)
    entries = [(form, document.at("overrides", index)) for index, form in enumerate(forms)]
    removals = [entry for entry in entries if entry[0].is_chip]
    for form, at in removals + [entry for entry in entries if not entry[0].is_chip]:
        faults.attempt(partial(changes.add, form, at))
    faults.raise_any()
    made = replace(
        topology,
        changed=tuple(sorted(changes.links.items(), key=lambda entry: entry[0])),
        missing=frozenset(changes.missing),
    )
    _refuse_apart(made, document)
    return made


def _refuse_apart(topology: Topology, document: Document) -> None:
    place, way_out = document.key_place("overrides"), "leave more of them in"
    if topology.size == 0:
        raise TopologyError("these overrides leave no chip", way_out, place)
    ends = topology.cut_apart()
    if ends is not None:
        start, end = map(_shown, ends)
        why = f"with these overrides no way leads from chip {start} to chip {end}"
        raise TopologyError(why, way_out, place)


@dataclass
class _Changes:
    """What the overrides so far change, and which of them removes a chip or changes a link."""

    topology: Topology
    links: dict[tuple[Coordinate, LinkKey], Link | None] = field(default_factory=dict)
    missing: dict[Coordinate, str] = field(default_factory=dict)
    said: dict[tuple[Coordinate, LinkKey], str] = field(default_factory=dict)

    def add(self, form: OverrideForm, at: Document) -> None:
        """Takes one override."""
        name = spelled(at.path[-2:])
        _check_keys(form, at, name)
        if form.is_chip:
            chip = self._chip(form.chip, at, "chip")
            self.missing[chip] = name
            return
        for chip, key in self._links_of(form, at):
            where = f"{_link_name(self.topology, chip, key)}"
            if (chip, key) in self.said:
                raise TopologyError(
                    f"{where} is named by {self.said[chip, key]} already",
                    "say all of one link in one entry",
                    at.place(),
                )
            self.said[chip, key] = name
            usual = self.topology.dimensions[key[0]].link
            link = _link(form, usual)
            if link != usual:
                self.links[chip, key] = link

    def _chip(self, chip: Coordinate | None, at: Document, key: str) -> Coordinate:
        """A chip that is in the topology, and not removed."""
        assert chip is not None
        shape = self.topology.shape
        if len(chip) != len(shape) or any(a >= b for a, b in zip(chip, shape, strict=False)):
            size = "x".join(map(str, shape))
            last = _shown(tuple(size - 1 for size in shape))
            first = _shown((0,) * len(shape))
            raise TopologyError(
                f"there is no chip {_shown(chip)} in a topology of {size}",
                f"chips are from {first} to {last}",
                at.place(key),
            )
        if chip in self.missing:
            raise TopologyError(
                f"chip {_shown(chip)} is removed by {self.missing[chip]}",
                "remove one of the two entries",
                at.place(key),
            )
        return chip

    def _links_of(self, form: OverrideForm, at: Document) -> list[tuple[Coordinate, LinkKey]]:
        """The links that an override means."""
        if form.port is not None:
            chip = self._chip(form.chip, at, "chip")
            index = self._switch(form.dimension, at)
            return [(chip, (index, +1 if form.port is PortName.OUT else -1))]
        faults = Faults()
        start = faults.attempt(partial(self._chip, form.start, at, "from"))
        end = faults.attempt(partial(self._chip, form.to, at, "to"))
        faults.raise_any()
        assert start is not None
        assert end is not None
        links = self._between(start, end)
        if not links:
            raise self._not_neighbours(start, end, at)
        return links if form.one_way else links + self._between(end, start)

    def _between(self, start: Coordinate, end: Coordinate) -> list[tuple[Coordinate, LinkKey]]:
        """The links of a chip that lead to another."""
        keys = product(range(len(start)), (+1, -1))
        return [(start, key) for key in keys if self.topology.neighbour(start, key) == end]

    def _not_neighbours(self, start: Coordinate, end: Coordinate, at: Document) -> TopologyError:
        pairs = zip(self.topology.dimensions, start, end, strict=True)
        apart = [dimension for dimension, a, b in pairs if a != b]
        if len(apart) == 1 and apart[0].kind is DimensionKind.SWITCH:
            return TopologyError(
                f"chips {_shown(start)} and {_shown(end)} are joined by a switch, not by a cable",
                f"name a port: {{chip: {_shown(start)}, port: out, bandwidth: ...}}",
                at.place("to"),
            )
        keys = product(range(len(start)), (+1, -1))
        found = [self.topology.neighbour(start, key) for key in keys]
        near = sorted({_shown(chip) for chip in found if chip is not None})
        return TopologyError(
            f"no cable joins chips {_shown(start)} and {_shown(end)}",
            f"the neighbours of {_shown(start)} are {', '.join(near)}"
            if near
            else f"chip {_shown(start)} has no cables",
            at.place("to"),
        )

    def _switch(self, name: str | None, at: Document) -> int:
        """The dimension of a port."""
        dimensions = list(enumerate(self.topology.dimensions))
        switches = {d.name: index for index, d in dimensions if d.kind is DimensionKind.SWITCH}
        if not switches:
            why, hint = "no dimension is a switch, so no chip has ports", "name a cable: from, to"
            raise TopologyError(why, hint, at.place("port"))
        if name is not None and name not in switches:
            raise TopologyError(
                f"no switch is named {name!r}",
                f"the switches are {', '.join(switches)}",
                at.place("dimension"),
            )
        if name is None and len(switches) > 1:
            raise TopologyError(
                f"chips have ports at several switches: {', '.join(switches)}",
                f"say which: dimension: {next(iter(switches))}",
                at.place("port"),
            )
        return switches[name or next(iter(switches))]


def _check_keys(form: OverrideForm, at: Document, name: str) -> None:
    """Says so when the keys of an override do not go together."""
    faults = Faults()
    found: list[tuple[bool, str, str, str]] = [
        (
            not (form.has_cable or form.chip),
            f"{name} names no link and no chip",
            "write from and to for a cable, chip and port for a port, or chip and removed: true",
            "",
        ),
        (
            form.has_cable and form.chip is not None,
            f"{name} names a cable and a chip",
            "write two entries",
            "chip",
        ),
        (
            form.has_cable and (form.start is None or form.to is None),
            f"{name} names one end of a cable only",
            f"add {'from' if form.start is None else 'to'}: [...]",
            "",
        ),
        (
            form.port is not None and form.chip is None,
            f"{name} has a port of no chip",
            "add the chip, such as chip: [0]",
            "port",
        ),
        (
            form.dimension is not None and form.port is None,
            f"{name} has a dimension and no port",
            "remove it: it says at which switch a port is",
            "dimension",
        ),
        (
            form.one_way and form.chip is not None,
            f"{name} is one way in any case",
            "remove one_way: it is for cables",
            "one_way",
        ),
        (
            form.removed and form.link_figures,
            f"{name} removes what it gives figures of",
            "write removed, or bandwidth and latency",
            "removed",
        ),
        (
            not form.removed and not form.link_figures and (form.has_cable or bool(form.chip)),
            f"{name} changes nothing",
            "add bandwidth, latency or removed: true",
            "",
        ),
        (
            form.is_chip and not form.has_cable and not form.removed and form.link_figures,
            f"{name} gives figures of a chip",
            "say which link: port: out or in at a switch, from and to for a cable",
            "chip",
        ),
    ]
    for is_fault, why, hint, key in found:
        if is_fault:
            place = at.place(key) if key else at.place()
            faults.errors.append(TopologyError(why, hint, place))
    faults.raise_any()


def _link(form: OverrideForm, usual: Link) -> Link | None:
    if form.removed:
        return None
    latency = usual.latency if form.latency is None else form.latency
    return Link(form.bandwidth or usual.one_way_bandwidth, latency)


def _link_name(topology: Topology, chip: Coordinate, key: LinkKey) -> str:
    there = topology.neighbour(chip, key)
    if there is None:
        return f"the port {'out' if key[1] > 0 else 'in'} of chip {_shown(chip)}"
    return f"the link from {_shown(chip)} to {_shown(there)}"


def _shown(chip: Coordinate) -> str:
    """A chip as a topology file writes it: `[0, 1]`."""
    return str(list(chip))
