"""What collectives and permutes cost on one mesh, and what they cost at least."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from shardsim.mesh import Permutation
from shardsim.planner.worth import Worth
from shardsim.vocabulary import CollectiveKind, DimensionKind, LatencyModel, TransferKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shardsim.call import Call
    from shardsim.cost import CollectivePrice, CostModel
    from shardsim.mesh import Mesh
    from shardsim.planner.atoms import Atoms
    from shardsim.planner.layout import Layout
    from shardsim.topology import Coordinate
    from shardsim.units import Bytes
    from shardsim.vocabulary import Objective

__all__ = ["Prices", "prices_on"]

MOST_KNOWN = 100_000


@lru_cache(maxsize=8)
def prices_on(mesh: Mesh, cost: CostModel) -> Prices:
    """The prices on a mesh, the same for all plans there: many ask for the same collectives."""
    return Prices(mesh, cost)


@dataclass
class Prices:
    """What collectives cost on a mesh, each priced once.

    Attributes:
        mesh: Where.
        cost: The closed forms.
    """

    mesh: Mesh
    cost: CostModel
    known: dict[tuple[object, ...], tuple[Call, CollectivePrice]] = field(default_factory=dict)
    positions: dict[str, dict[Coordinate, int]] = field(default_factory=dict)
    planes: dict[tuple[str, ...], tuple[Coordinate, ...]] = field(default_factory=dict)
    tables: dict[tuple[object, ...], Permutation] = field(default_factory=dict)
    rates: dict[tuple[str, ...], tuple[Fraction, Fraction]] = field(default_factory=dict)
    fastest: tuple[Fraction, Fraction] | None = None
    worths: dict[Objective, Worth] = field(default_factory=dict)

    def worth(self, objective: Objective) -> Worth:
        """How costs of plans here are added and compared."""
        if objective not in self.worths:
            self.worths[objective] = Worth.on(objective, self.mesh.topology)
        return self.worths[objective]

    def collective(
        self, kind: CollectiveKind, axes: tuple[str, ...], size: Bytes
    ) -> tuple[Call, CollectivePrice]:
        """A collective over some axes, of V = `size` bytes."""
        key = (kind, axes, size)
        if key not in self.known:
            self._make_room()
            call = self.cost.call(kind, self.mesh.group(axes), size)
            self.known[key] = call, self.cost.collective(call)
        return self.known[key]

    def permute(
        self, axes: tuple[str, ...], size: Bytes, before: Layout, after: Layout, atoms: Atoms
    ) -> tuple[Call, CollectivePrice]:
        """A permute that brings every chip the block that another layout gives it."""
        table = self._table(axes, before, after, atoms)
        key = (table, size)
        if key not in self.known:
            self._make_room()
            call = self.cost.call(TransferKind.PERMUTE, self.mesh.group(axes), size, table)
            self.known[key] = call, self.cost.collective(call)
        return self.known[key]

    def _make_room(self) -> None:
        """Forgets all prices where there are too many."""
        if len(self.known) >= MOST_KNOWN:
            self.known.clear()

    def _table(
        self, axes: tuple[str, ...], before: Layout, after: Layout, atoms: Atoms
    ) -> Permutation:
        """Who sends to whom; the same for all arrays."""
        key = (before.axes, after.axes, atoms.names)
        if key not in self.tables:
            self.tables[key] = Permutation(
                self.mesh.topology,
                lambda chips: self._targets(before, after, atoms, chips),
                self._plane(axes),
            )
        return self.tables[key]

    def _plane(self, axes: tuple[str, ...]) -> tuple[Coordinate, ...] | None:
        """The chips that what moves along some axes can share links with; None: all.

        On a regular grid those that differ along the dimensions under these axes: elsewhere the
        same is done.
        """
        topology = self.mesh.topology
        if self.mesh.order is not None or not topology.is_regular:
            return None
        if axes not in self.planes:
            under = {segment.dimension for segment in self.mesh.group(axes).segments}
            shape = (
                range(size if index in under else 1) for index, size in enumerate(topology.shape)
            )
            self.planes[axes] = tuple(itertools.product(*shape))
        return self.planes[axes]

    def _targets(
        self, before: Layout, after: Layout, atoms: Atoms, chips: Sequence[Coordinate]
    ) -> Mapping[Coordinate, Coordinate]:
        """For each of some chips the one that is to have its block; they exchange among them.

        Copies of a block are told apart by the chips' positions along axes that do not cut it; so
        a chip keeps what it may keep along axes that are idle before and after.
        """
        idle_before = [atom for atom in atoms.names if atom not in before.used]
        idle_after = [atom for atom in atoms.names if atom not in after.used]
        both = [atom for atom in idle_before if atom in idle_after]
        old = [atom for atom in idle_before if atom not in idle_after]
        new = [atom for atom in idle_after if atom not in idle_before]
        named = [axis for axis in self.mesh.sizes if axis not in atoms.parts]
        same = (*both, *named, *before.unreduced)
        own = self._addresses((*before.axes, tuple(old)), same, atoms, chips)
        wanted = dict(
            zip(self._addresses((*after.axes, tuple(new)), same, atoms, chips), chips, strict=True)
        )
        return {chip: wanted[address] for chip, address in zip(chips, own, strict=True)}

    def _addresses(
        self,
        dims: Iterable[tuple[str, ...]],
        same: Iterable[str],
        atoms: Atoms,
        chips: Sequence[Coordinate],
    ) -> list[tuple[int, ...]]:
        """For each chip its block along each dimension, then its positions along other axes."""
        columns = []
        for axes in dims:
            column = [0] * len(chips)
            for axis in axes:
                size = atoms.sizes[axis]
                column = [
                    at * size + position
                    for at, position in zip(column, self._column(axis, chips), strict=True)
                ]
            columns.append(column)
        others = (self._column(axis, chips) for axis in same)
        return list(zip(*columns, *others, strict=True))

    def _column(self, axis: str, chips: Sequence[Coordinate]) -> Sequence[int]:
        """The position of some chips along an axis."""
        if axis not in self.positions:
            every = self.mesh.topology.coordinates()
            self.positions[axis] = {chip: self.mesh.position(chip, axis) for chip in every}
        found = self.positions[axis]
        return [found[chip] for chip in chips]

    def least(self, axes: tuple[str, ...], comes: Bytes) -> Fraction:
        """Seconds that a collective takes at least in which so many bytes come to a chip.

        The chip that stands at the end of every line has one link of each, and two of each ring;
        a byte waits for one latency at least.
        """
        if axes not in self.rates:
            self.rates[axes] = self._rate(axes)
        rate, wait = self.rates[axes]
        if self.cost.latency_model is LatencyModel.FLOOR:
            return max(comes / rate, wait)
        return comes / rate + wait

    def _rate(self, axes: tuple[str, ...]) -> tuple[Fraction, Fraction]:
        """Bytes/s at most into such a chip, and the least latency."""
        topology = self.mesh.topology
        segments = self.mesh.group(axes).segments
        links = [(segment.link, _links(segment.kind)) for segment in segments]
        if self.mesh.order is not None or not topology.is_regular:
            fastest = max(topology.links, key=lambda link: link.one_way_bandwidth)
            links = [(fastest, 2)] * len(topology.dimensions)
            links += [(link, 0) for link in topology.links]
        rate = sum((link.one_way_bandwidth * count for link, count in links), Fraction(0))
        wait = min((link.latency for link, _ in links), default=Fraction(0))
        return rate * self._best_share or Fraction(1), wait

    @cached_property
    def _best_share(self) -> Fraction:
        """The largest share of a bandwidth that any message reaches."""
        calibration = self.mesh.topology.calibration
        shares = [share for curve in calibration.curves for _, share in curve.points]
        return max([Fraction(1), calibration.efficiency, *shares])

    def least_permute(self, block: Bytes) -> Fraction:
        """Seconds that a permute takes at least: one message of `block` bytes over one link."""
        if self.fastest is None:
            links = self.mesh.topology.links
            rate = max((link.one_way_bandwidth for link in links), default=Fraction(1))
            wait = min((link.latency for link in links), default=Fraction(0))
            self.fastest = rate * self._best_share, wait
        rate, wait = self.fastest
        if self.cost.latency_model is LatencyModel.FLOOR:
            return max(block / rate, wait)
        return block / rate + wait


def _links(kind: DimensionKind) -> int:
    """The links of one ring, line or switch at the chip that has the fewest."""
    return 2 if kind is DimensionKind.RING else 1
