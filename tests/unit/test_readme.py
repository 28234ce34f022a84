"""The README is true: its commands, what it says they print, its Python, its YAML."""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path

import pytest

import shardsim as ss
from shardsim.cli import main

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)\n```", README, re.DOTALL)


def printed(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """What `shardsim ...` prints on stdout and stderr, without trailing blanks."""
    monkeypatch.setattr("sys.argv", ["shardsim", *shlex.split(command)[1:]])
    with contextlib.suppress(SystemExit):
        main()
    both = capsys.readouterr()
    return "\n".join(line.rstrip() for line in (both.out + both.err).strip().splitlines())


def test_there_are_two_commands_of_one_line() -> None:
    commands = blocks("sh")
    assert len(commands) == 2
    assert all("\n" not in command for command in commands)


def test_the_first_command_prints_what_the_readme_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = blocks("sh")[0].split(" && ")[-1]
    assert printed(command, monkeypatch, capsys) == blocks("text")[0]


def test_all_blocks_but_the_first_show_a_command_and_what_it_prints() -> None:
    first, *others = blocks("text")
    assert not first.startswith("$")
    assert all(block.startswith("$ shardsim ") for block in others)


@pytest.mark.parametrize(
    "block",
    blocks("text")[1:],
    ids=[
        *("a fault", "sharding", "plan", "tiers", "strided"),
        *("roofline", "network", "table", "model", "book"),
        *("strategies", "overlap"),
    ],
)
def test_a_command_prints_what_the_readme_says(
    block: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, rest = block.split("\n", 1)
    assert printed(first.removeprefix("$ "), monkeypatch, capsys) == rest


@pytest.mark.parametrize("command", blocks("console")[0].splitlines())
def test_a_command_with_another_notation_runs(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "error" not in printed(command, monkeypatch, capsys)


def test_the_python_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    exec(blocks("python")[0], {})


def test_the_yaml_is_a_topology(tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    path.write_text(blocks("yaml")[0], encoding="utf-8")
    plan = ss.plan("AllGather_Y A[I_Y] -> A[I]", topology=str(path), dims={"I": 64})
    kinds = [segment.kind.value for axis in plan.mesh.axes for segment in axis.segments]
    assert kinds == ["line", "ring"]
