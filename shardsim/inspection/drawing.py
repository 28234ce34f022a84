"""What a drawing of a sharding shows, as text or as a picture, and the words in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shardsim.inspection.inspecting import Inspection
from shardsim.notation import Dim
from shardsim.placement import chips_of

__all__ = ["View", "chips_text", "described"]


@dataclass(frozen=True, slots=True)
class View:
    """The two dimensions of an array that are drawn, and the block at which the others stand.

    Attributes:
        rows: The position of the dimension that goes down; `None` where there is none.
        columns: That of the dimension that goes across.
        others: Those that are cut and not drawn.
    """

    rows: int | None
    columns: int | None
    others: tuple[int, ...]

    @classmethod
    def of(cls, one: Inspection) -> View:
        """The last two dimensions that are cut; whole ones where fewer are."""
        cut_dims = [k for k, count in enumerate(one.grid) if count > 1]
        whole = [k for k, count in enumerate(one.grid) if count == 1]
        drawn = sorted((whole + cut_dims)[-2:])
        others = tuple(k for k in cut_dims if k not in drawn)
        if not drawn:
            return cls(None, None, others)
        return cls(drawn[0] if len(drawn) > 1 else None, drawn[-1], others)

    def chips(self, one: Inspection, row: int, column: int) -> str:
        """The chips of the block in that place, at block 0 of what is not drawn."""
        block = [0] * len(one.grid)
        if self.rows is not None:
            block[self.rows] = row
        if self.columns is not None:
            block[self.columns] = column
        return chips_text(chips_of(one.array, one.sizes, block))

    def count(self, one: Inspection) -> tuple[int, int]:
        """How many rows and columns there are."""
        rows = 1 if self.rows is None else one.grid[self.rows]
        return rows, 1 if self.columns is None else one.grid[self.columns]

    def remarks(self, one: Inspection) -> list[str]:
        """What the drawing does not show by itself."""
        dims = one.array.dims
        found = [
            f"drawn at block 0 of {dims[k].name}, which is cut into {one.grid[k]}"
            for k in self.others
        ]
        if one.array.unreduced:
            axes = ", ".join(one.array.unreduced)
            found.append(
                f"still to be summed over {axes}: the chips of a block hold "
                f"{one.partial} different partial sums of it"
            )
        return found


def chips_text(chips: Mapping[str, Sequence[int]]) -> str:
    """Chips by their coordinates, in ranges; names of several letters with '='.

    >>> chips_text({"X": (0,), "Y": (0, 1, 2, 3), "data": (0, 2)})
    'X0 Y0-3 data=0,2'
    """
    return " ".join(
        f"{axis}{'' if axis.isalpha() and len(axis) == 1 else '='}{_ranges(at)}"
        for axis, at in chips.items()
    )


def _ranges(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def described(dim: Dim, extent: int | None, count: int) -> str:
    """A dimension for the edge of a drawing.

    >>> described(Dim("I", ("X",)), 64, 4)
    'I = 64: 4 blocks of 16'
    """
    size = "" if extent is None else f" = {extent:,}"
    if count == 1:
        return f"{dim.name}{size}: not cut"
    return (
        f"{dim.name}{size}: {count:,} blocks{'' if extent is None else f' of {extent // count:,}'}"
    )
