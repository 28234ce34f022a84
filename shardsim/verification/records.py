"""What a verification found: one record for each check, with a counterexample where it failed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shardsim.units import format_bytes, format_seconds, number

if TYPE_CHECKING:
    from shardsim.comparison import LinkUse

__all__ = ["Breach", "Busiest", "Check", "NotChecked", "Side", "Verification"]


class NotChecked(Exception):
    """A case of which a law cannot be asked; the reason is said in the table."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a law.

    Attributes:
        what: What it is, for people.
        value: The number; None where there is none, because the run came to a stop.
        unit: `s`, `B`, or nothing for a share.
        command: What prints it, to be pasted; empty where no command line does.
    """

    what: str
    value: Fraction | None
    unit: str = "s"
    command: str = ""

    @property
    def text(self) -> str:
        """The number for people."""
        if self.value is None:
            return "no number"
        if self.unit == "s":
            return format_seconds(self.value)
        return format_bytes(self.value) if self.unit == "B" else f"{float(self.value):.6g}"

    def to_dict(self) -> dict[str, Any]:
        """The JSON of one side."""
        return {
            "what": self.what,
            "value": None if self.value is None else number(self.value),
            "unit": self.unit,
            "command": self.command,
        }


@dataclass(frozen=True, slots=True)
class Breach:
    """A case in which a law does not hold: `left` should be `sign` `right`."""

    left: Side
    sign: str
    right: Side

    @property
    def ratio(self) -> Fraction | None:
        """The left number over the right one."""
        if self.left.value is None or not self.right.value:
            return None
        return self.left.value / self.right.value

    @property
    def commands(self) -> tuple[str, ...]:
        """Command lines to paste, each once."""
        texts = (self.left.command, self.right.command)
        return tuple(dict.fromkeys(text for text in texts if text))

    def to_dict(self) -> dict[str, Any]:
        """The JSON of a counterexample."""
        return {
            "commands": list(self.commands),
            "left": self.left.to_dict(),
            "must_be": self.sign,
            "right": self.right.to_dict(),
            "ratio": None if self.ratio is None else float(self.ratio),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One law, and how it went.

    Attributes:
        name: The law, for people.
        cases: How many cases were checked.
        note: What was left out, and why; or what else there is to say.
        counterexample: The smallest case found that breaks it.
    """

    name: str
    cases: int
    note: str = ""
    counterexample: Breach | None = None

    @property
    def passed(self) -> bool:
        """Whether no case broke it."""
        return self.counterexample is None

    def to_dict(self) -> dict[str, Any]:
        """The JSON of one check."""
        broken = self.counterexample
        return {
            "check": self.name,
            "cases": self.cases,
            "passed": self.passed,
            "note": self.note,
            "counterexample": None if broken is None else broken.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Busiest:
    """The link that holds up a collective, and which collective that is."""

    link: LinkUse
    of: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the busiest link."""
        return {**self.link.to_dict(), "of": self.of}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """All checks of one machine.

    Attributes:
        topology: Its name.
        chips: How many.
        seed: What the random cases were drawn with.
        checks: In order.
        busiest: Where its links are not all alike, the busiest; else None.
    """

    topology: str
    chips: int
    seed: int
    checks: tuple[Check, ...]
    busiest: Busiest | None = None

    @property
    def passed(self) -> bool:
        """Whether every law holds."""
        return all(check.passed for check in self.checks)

    @property
    def cases(self) -> int:
        """Cases of all checks together."""
        return sum(check.cases for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `verify --json`."""
        return {
            "format": "shardsim/verify/1",
            "topology": self.topology,
            "chips": self.chips,
            "seed": self.seed,
            "cases": self.cases,
            "checks": [check.to_dict() for check in self.checks],
            "passed": self.passed,
            "busiest_link": None if self.busiest is None else self.busiest.to_dict(),
        }
