"""Cheapest sequences of moves from one layout, or to one, found only as far as they are asked for.

Dijkstra's algorithm over a graph that is made as it is walked. Permutes lead from every layout to
all that are cut alike, so they are priced late: first by what every permute takes at least.
"""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shardsim.planner.layout import Layout, Move

__all__ = ["Edge", "Late", "Paths"]


class Edge(NamedTuple):
    """A move to (or, walked backwards, from) a layout, and its cost.

    `price` is None where `cost` is what the move costs; else `cost` is the least it can be.
    """

    layout: Layout
    move: Move
    cost: int
    price: Callable[[], int] | None = None


class Late(NamedTuple):
    """Edges that cost `least` or more each, and are not listed before that is reached."""

    least: int
    edges: Callable[[], Iterable[Edge]]


class Paths:
    """The cheapest way to each layout from those at the start, nearest first.

    Attributes:
        best: The layouts that are settled, with the cost of the way to each.
    """

    def __init__(
        self,
        starts: Mapping[Layout, int],
        walk: Callable[[Layout], tuple[Iterable[Edge], Late | None]],
        both: Callable[[int, int], int],
    ) -> None:
        self.best: dict[Layout, int] = {}
        self._walk = walk
        self._both = both
        self._came: dict[Layout, tuple[Layout, Move]] = {}
        self._numbers = itertools.count()
        self._seen: dict[Layout, int] = dict(starts)
        self._starts = starts
        self._queue: list[tuple[int, int, Layout, Layout | None, Edge | None, Late | None]] = [
            (cost, next(self._numbers), layout, None, None, None) for layout, cost in starts.items()
        ]
        heapq.heapify(self._queue)

    @property
    def reached(self) -> int | None:
        """What the nearest layout that is not settled yet costs at least; None where all are."""
        return self._queue[0][0] if self._queue else None

    def advance(self, bound: int) -> None:
        """Settles all layouts that cost `bound` at most."""
        while self._queue and self._queue[0][0] <= bound:
            self._take()

    def to(self, goal: Layout) -> int | None:
        """What the way to a layout costs, or None where there is none."""
        while goal not in self.best:
            if not self._queue:
                return None
            self._take()
        return self.best[goal]

    def way(self, goal: Layout) -> tuple[Layout, tuple[Move, ...]]:
        """Where the way to a settled layout starts, and its moves in the order of the walk."""
        moves = []
        layout = goal
        while layout in self._came:
            layout, move = self._came[layout]
            moves.append(move)
        return layout, tuple(reversed(moves))

    def _take(self) -> None:
        cost, _, layout, origin, edge, late = heapq.heappop(self._queue)
        if late is not None:
            for found in late.edges():
                if found.layout not in self.best:
                    self._push(self._both(self.best[layout], found.cost), layout, found)
            return
        if layout in self.best:
            return
        if edge is not None and edge.price is not None:
            assert origin is not None
            exact = edge.price()
            self._push(
                self._both(self.best[origin], exact), origin, Edge(edge.layout, edge.move, exact)
            )
            return
        self.best[layout] = cost
        if origin is not None and edge is not None:
            self._came[layout] = (origin, edge.move)
        self._go_on(layout, cost)

    def _go_on(self, layout: Layout, cost: int) -> None:
        edges, late = self._walk(layout)
        best, both = self.best, self._both
        for edge in edges:
            if edge.layout not in best:
                self._push(both(cost, edge.cost), layout, edge)
        if late is not None:
            entry = (both(cost, late.least), next(self._numbers), layout, None, None, late)
            heapq.heappush(self._queue, entry)

    def _push(self, cost: int, origin: Layout, edge: Edge) -> None:
        if edge.price is None:
            known = self._seen.get(edge.layout)
            if known is not None and known <= cost:
                return
            self._seen[edge.layout] = cost
        heapq.heappush(self._queue, (cost, next(self._numbers), edge.layout, origin, edge, None))
