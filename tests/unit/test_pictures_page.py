"""The page of pictures is true: each command draws the picture that stands below it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.command_line import command
from tests.pictures import texts_of

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "pictures.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```console\n(.*?)\n```", PAGE)
SHOWN = re.findall(r"!\[.+\]\((pictures/\w+\.svg)\)", PAGE)


def test_every_picture_has_a_command() -> None:
    assert [Path(text.rpartition(" ")[2]).name for text in COMMANDS] == [
        Path(path).name for path in SHOWN
    ]
    assert {path.name for path in (DOCS / "pictures").iterdir()} == {
        Path(path).name for path in SHOWN
    }


@pytest.mark.parametrize("text", COMMANDS, ids=[text.rpartition(" ")[2] for text in COMMANDS])
def test_a_command_draws_what_is_shown(text: str, tmp_path: Path) -> None:
    *asked, name = shlex.split(text)[1:]
    path = tmp_path / name
    result = command(*asked, str(path))
    assert result.code == 0, result.err
    shown = (DOCS / "pictures" / name).read_text(encoding="utf-8")
    assert texts_of(path.read_text(encoding="utf-8")) == texts_of(shown)
