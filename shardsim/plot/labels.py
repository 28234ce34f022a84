"""Labels beside points and along lines, so that none covers another or leaves its chart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from shardsim.plot.canvas import text_width
from shardsim.plot.colours import GREY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from matplotlib.axes import Axes

    from shardsim.plot.canvas import Page

__all__ = ["Box", "Labels", "Spot"]

NEAR = (9.0, 16.0, 26.0, 40.0, 58.0, 80.0, 110.0, 150.0, 200.0)
WAYS = 32
LEADER = 20.0
"""From so far on a thin line goes from a label to its point."""
EVERY = 5.0
"""How dense a line is sampled."""
ON_LINE = 250.0
"""A label goes so far to be on no line: as far as there are spots."""
CROWDED = 60.0
"""Or not to crowd a marker."""
TIP = 4.0
"""How much of a marker no other label's thin line crosses, from its middle."""


class Box(NamedTuple):
    """A rectangle of the page: left, top, right, bottom."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether two rectangles have more than an edge in common.

        >>> Box(0, 0, 2, 2).meets(Box(1, 1, 3, 3)), Box(0, 0, 2, 2).meets(Box(2, 0, 3, 2))
        (True, False)
        """
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def within(self, other: Box) -> bool:
        """Whether all of it lies in another."""
        return (
            other.left <= self.left
            and self.right <= other.right
            and other.top <= self.top
            and self.bottom <= other.bottom
        )


class Spot(NamedTuple):
    """Where a label may stand: its base line's start, middle or end, and its slope in degrees.

    Of several the one with the least `cost` is taken, in units of the page. `point`: what a thin
    line goes to where the label is far from it.
    """

    x: float
    y: float
    anchor: str = "middle"
    degrees: float = 0.0
    cost: float = 0.0
    point: tuple[float, float] | None = None


class Labels:
    """Finds room for the labels of one chart, first come, first served."""

    def __init__(self, page: Page, chart: Axes, size: float = 12.0) -> None:
        """Starts with an empty chart.

        Args:
            page: On which it lies.
            chart: The axes, with their limits set.
            size: Of the type.
        """
        place = chart.get_position()
        self.page, self.size = page, size
        self.inside = Box(
            place.x0 * page.width + 3,
            (1 - place.y1) * page.height + 3,
            place.x1 * page.width - 3,
            (1 - place.y0) * page.height - 3,
        )
        self.taken: list[Box] = []
        self.markers: list[tuple[float, float]] = []
        self.lines: list[Box] = []

    def keep(self, x: float, y: float, radius: float = 6.0) -> None:
        """Keeps a place of the page clear: a marker."""
        self.taken.append(Box(x - radius, y - radius, x + radius, y + radius))
        self.markers.append((x, y))

    def avoid(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Labels go on a line only where there is no other room."""
        steps = max(1, math.ceil(math.dist(start, end) / EVERY))
        for step in range(steps + 1):
            x = start[0] + (end[0] - start[0]) * step / steps
            y = start[1] + (end[1] - start[1]) * step / steps
            self.lines.append(Box(x - 1, y - 1, x + 1, y + 1))

    def put(
        self, text: str, spots: Iterable[Spot], *, weight: str = "normal", clear: float = 0.0
    ) -> bool:
        """Writes a label at the best spot with room; without one nothing, and it is false.

        Args:
            text: What it says.
            spots: Where it may stand.
            weight: `normal` or `bold`.
            clear: How far it keeps from markers, if it can: their own names come later.
        """
        near = [Box(x - clear, y - clear, x + clear, y + clear) for x, y in self.markers if clear]
        best: tuple[float, Spot, list[Box]] | None = None
        for spot in spots:
            if best is not None and best[0] <= spot.cost:
                continue
            boxes = self._boxes(text, spot)
            if not all(box.within(self.inside) for box in boxes) or _meet(boxes, self.taken):
                continue
            if _meet(self._leader(spot), self.taken) or self._crosses(spot):
                continue
            cost = spot.cost + (ON_LINE if _meet(boxes, self.lines) else 0)
            cost += CROWDED if _meet(boxes, near) else 0
            if best is None or cost < best[0]:
                best = cost, spot, boxes
        if best is None:
            return False
        _, spot, boxes = best
        written = self.page.text(
            spot.x, spot.y, text, size=self.size, anchor=spot.anchor, weight=weight
        )
        if spot.degrees:
            written.set(rotation=spot.degrees, rotation_mode="anchor")
        if _meet(boxes, self.lines):
            written.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85})
        leader = self._leader(spot)
        if leader and spot.point is not None:
            self.page.line(spot.point, _end(spot, self.size), color=GREY, linewidth=0.8)
        self.taken += boxes
        self.lines += leader
        return True

    def beside(self, text: str, x: float, y: float) -> bool:
        """Writes a label near a point of the page, with a thin line to it where that is far."""
        return self.put(text, _around(x, y, self.size))

    def _leader(self, spot: Spot) -> list[Box]:
        """The thin line from a label to its point, without what is near the point; if any."""
        if spot.point is None or spot.cost <= LEADER:
            return []
        (x, y), (right, down) = spot.point, _end(spot, self.size)
        steps = max(1, math.ceil(math.dist((x, y), (right, down)) / EVERY))
        found = []
        for step in range(1, steps):
            across, below = x + (right - x) * step / steps, y + (down - y) * step / steps
            if math.dist((across, below), (x, y)) > 2 * EVERY + 2:
                found.append(Box(across - 1, below - 1, across + 1, below + 1))
        return found

    def _crosses(self, spot: Spot) -> bool:
        """Whether the thin line to a point goes through the marker of another point."""
        if spot.point is None or spot.cost <= LEADER:
            return False
        end = _end(spot, self.size)
        others = (at for at in self.markers if math.dist(at, spot.point) > TIP)
        return any(_distance(at, spot.point, end) < TIP for at in others)

    def _boxes(self, text: str, spot: Spot) -> list[Box]:
        """What a label covers, in pieces that are as long as they are high."""
        wide = text_width(text, self.size)
        start = {"start": 0.0, "middle": -wide / 2, "end": -wide}[spot.anchor]
        if not spot.degrees:
            left, top = spot.x + start, spot.y - self.size * 0.95
            return [Box(left - 2, top, left + wide + 2, spot.y + self.size * 0.3)]
        angle, half = math.radians(spot.degrees), self.size * 0.55
        along, up = (math.cos(angle), -math.sin(angle)), (-math.sin(angle), -math.cos(angle))
        pieces = max(1, math.ceil(wide / self.size))
        found = []
        for piece in range(pieces + 1):
            at, rise = start + wide * piece / pieces, self.size * 0.35
            x = spot.x + along[0] * at + up[0] * rise
            y = spot.y + along[1] * at + up[1] * rise
            found.append(Box(x - half, y - half, x + half, y + half))
        return found


def _around(x: float, y: float, size: float) -> Iterator[Spot]:
    """Spots round a point, the nearest first, to the right before to the left."""
    for far in NEAR:
        for way in range(WAYS):
            turn = (way + 1) // 2 * (1 if way % 2 else -1) * 2 * math.pi / WAYS
            across, up = math.cos(turn), math.sin(turn)
            anchor = "start" if across > 0.3 else "end" if across < -0.3 else "middle"
            drop = size * (0.35 if anchor != "middle" else 0.0 if up > 0 else 0.8)
            spot = (x + far * across, y - far * up + drop)
            yield Spot(*spot, anchor, cost=far + way / 20, point=(x, y))


def _end(spot: Spot, size: float) -> tuple[float, float]:
    """Where the thin line ends at a label."""
    if spot.anchor != "middle" or spot.point is None:
        gap = 3 if spot.anchor == "start" else -3
        return spot.x - (gap if spot.anchor != "middle" else 0), spot.y - size * 0.35
    return spot.x, spot.y + 4 if spot.y < spot.point[1] else spot.y - size


def _distance(
    point: tuple[float, float], start: tuple[float, float], end: tuple[float, float]
) -> float:
    """How far a point is from a straight line between two.

    >>> _distance((1, 2), (0, 0), (4, 0)), _distance((7, 4), (0, 0), (4, 0))
    (2.0, 5.0)
    """
    across, down = end[0] - start[0], end[1] - start[1]
    along = (point[0] - start[0]) * across + (point[1] - start[1]) * down
    share = min(1.0, max(0.0, along / (across**2 + down**2 or 1.0)))
    return math.dist(point, (start[0] + share * across, start[1] + share * down))


def _meet(boxes: Iterable[Box], others: list[Box]) -> bool:
    return any(box.meets(other) for box in boxes for other in others)
