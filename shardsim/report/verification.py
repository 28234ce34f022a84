"""What a verification found, as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardsim.verification import Check, Verification

__all__ = ["summary_report", "verification_report"]

BAD = "bold red"
GOOD = "green"


def verification_report(found: Verification, note: str = "") -> RenderableType:
    """One machine: each check with its cases, counterexamples, and the busiest link.

    Args:
        found: The checks.
        note: What a person should know about the mesh taken.
    """
    table = _table("what", "cases", "result", "")
    table.columns[1].justify = "right"
    for check in found.checks:
        table.add_row(Text(check.name), Text(f"{check.cases:,}"), _result(check), Text(check.note))
    parts: list[RenderableType] = [
        Text(f"{found.topology}: {found.chips:,} chips, seed {found.seed}", style="bold")
    ]
    parts += [Padding(Text(note), (0, 0, 0, 2))] if note else []
    parts += [Text(""), table]
    for check in found.checks:
        parts += _counterexample(check)
    parts += [Text(""), _verdict([found])]
    if found.busiest is not None:
        parts.append(Text(f"busiest link: {_busiest(found)}"))
    return Group(*parts)


def summary_report(all_found: Sequence[Verification]) -> RenderableType:
    """Several machines: a row for each, and the counterexamples."""
    table = _table("topology", "chips", "cases", "result", "busiest link")
    table.columns[1].justify = table.columns[2].justify = "right"
    for found in all_found:
        failed = sum(not check.passed for check in found.checks)
        table.add_row(
            Text(found.topology),
            Text(f"{found.chips:,}"),
            Text(f"{found.cases:,}"),
            Text("all hold", GOOD) if found.passed else Text(f"{failed} FAIL", BAD),
            Text(_busiest(found) if found.busiest else "links are all alike"),
        )
    parts: list[RenderableType] = [table]
    for found in all_found:
        for check in found.checks:
            parts += _counterexample(check, f"{found.topology}: ")
    seeds = ", ".join(dict.fromkeys(str(found.seed) for found in all_found))
    more = Text(f"seed {seeds}; name one topology to see its checks one by one")
    return Group(*parts, Text(""), _verdict(all_found), more)


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column)
    return table


def _result(check: Check) -> Text:
    if not check.passed:
        return Text("FAILS", BAD)
    return Text("holds", GOOD) if check.cases else Text("-")


def _busiest(found: Verification) -> str:
    assert found.busiest is not None
    link = found.busiest.link
    share = float(link.utilization)
    return f"{link.name}: {share:.0%} of its bandwidth in {found.busiest.of}"


def _counterexample(check: Check, prefix: str = "") -> list[RenderableType]:
    """A law that fails: both numbers, their ratio, and what to paste."""
    broken = check.counterexample
    if broken is None:
        return []
    left, right = broken.left, broken.right
    if left.value is None:
        numbers = f"{left.what}; {right.what}"
        numbers += f" {right.text}" if right.value is not None else ""
    else:
        numbers = f"{left.what} {left.text}, must be {broken.sign} {right.what} {right.text}"
        numbers += "" if broken.ratio is None else f"; ratio {float(broken.ratio):.9g}"
    lines: list[RenderableType] = [Text(""), Text(f"{prefix}{check.name}: FAILS", style=BAD)]
    lines.append(Padding(Text(numbers), (0, 0, 0, 2)))
    lines += [Text(f"  {command}", no_wrap=True, overflow="ignore") for command in broken.commands]
    return lines


def _verdict(all_found: Sequence[Verification]) -> Text:
    failed = sum(not check.passed for found in all_found for check in found.checks)
    cases = sum(found.cases for found in all_found)
    if failed:
        return Text(f"{failed} of the checks FAIL", style=BAD)
    return Text(f"all checks hold in {cases:,} cases", style=GOOD)
