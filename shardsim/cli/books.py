"""The command `book`: the worked numbers of "How to Scale Your Model"."""

from __future__ import annotations

from typing import Annotated

import typer

from shardsim.cli.options import JsonOption
from shardsim.cli.output import EXPECTATION_FAILED, print_json, print_report, say, status

__all__ = ["book"]


def book(
    chapter: Annotated[
        str | None, typer.Argument(help="Of one chapter: roofline, sharding, inference, ...")
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """The worked numbers of the book "How to Scale Your Model", worked out again.

    What the book prints, what its first-order formulas give, what is exact, and why they differ.
    Exit code 1: a number differs, and nothing says why.
    """
    from shardsim.book import answer_chapter, chapters

    made = []
    with status() as note:
        for name in chapters() if chapter is None else [chapter]:
            note(f"chapter {name}")
            made.append(answer_chapter(name))
    answers = [answer for _, found in made for answer in found]
    if as_json:
        print_json(
            {"format": "shardsim/book/1", "records": [answer.to_dict() for answer in answers]}
        )
    else:
        from rich.console import Group
        from rich.text import Text

        from shardsim.report.book import book_report, counts_report

        parts = [book_report(*made[0])]
        for one in made[1:]:
            parts += [Text(""), book_report(*one)]
        print_report(Group(*parts, counts_report(answers)))
    unexplained = [answer.record.id for answer in answers if not answer.explained]
    for name in unexplained:
        say(f"{name} differs from what is printed, and nothing says why")
    if unexplained:
        raise typer.Exit(EXPECTATION_FAILED)
