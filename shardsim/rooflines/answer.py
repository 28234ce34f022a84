"""A roofline, and the extents at which something else binds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shardsim.rooflines.bounds import Roofline
    from shardsim.rooflines.solving import Critical

__all__ = ["Answer"]

IDENTITY = ("text", "machine", "chips", "dtype", "through")
"""Of an entry what does not depend on extents."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The roofline of one statement, or of so many FLOPs and bytes; and where it changes.

    Attributes:
        roofline: The roofline; with a dimension solved for that has no extent, at the smallest
            extent with which the chip is bound by compute.
        solved: For each channel the extent at which computing takes as long.
        cuts: Into how many blocks each dimension is cut.
        missing: Dimensions without an extent, so that only what does not depend on them is known.
        solve: The dimension solved for.
        small: Dimensions that first order takes for small, if others than that.
        at_solution: Whether the roofline is at an extent that was found, and not given.
    """

    roofline: Roofline
    solved: tuple[Critical, ...] = ()
    cuts: Mapping[str, int]
    missing: tuple[str, ...] = ()
    solve: str | None = None
    small: tuple[str, ...] | None = None
    at_solution: bool = False

    @property
    def highest(self) -> Critical | None:
        """Of the extents solved for, the largest: from there on no channel takes longer."""
        met = [one for one in self.solved if one.exact is not None or one.approximate is not None]
        return max(met, key=lambda one: one.exact or one.approximate or 0, default=None)

    def ways(self, one: Critical, *, approximate: bool) -> Fraction | None:
        """Into how many parts the dimension could be cut, for the time to be as long on each.

        Of F = 30,000 cut 8 ways and critical at 20,400: 11.8 ways.
        """
        at = one.approximate if approximate else one.exact
        extent = self.roofline.extents[one.dim]
        return None if not at else Fraction(extent * self.cuts.get(one.dim, 1)) / at

    def to_dict(self) -> dict[str, Any]:
        """An entry of `roofline --json`."""
        found = self.roofline.to_dict()
        if self.missing:
            dims = {dim: e for dim, e in found["dims"].items() if dim not in self.missing}
            dims.pop(self.solve or "", None)
            found = {**{key: found[key] for key in IDENTITY}, "dims": dims}
        if self.solve is None:
            return found
        return {
            **found,
            "solved": [
                {
                    "dim": one.dim,
                    "channel": one.channel.value,
                    "exact": None if one.exact is None else float(one.exact),
                    "approximate": None if one.approximate is None else float(one.approximate),
                    "parts": self.cuts.get(one.dim, 1),
                    "compute_bound_above": one.computes_above,
                }
                for one in self.solved
            ],
            "unknown_dims": list(self.missing),
        }
