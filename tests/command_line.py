"""Runs the command `shardsim` inside the test process, and in a process of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import shardsim
from shardsim.cli import main

HOME = Path(shardsim.__file__).parents[1]


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str


class Stream(io.TextIOWrapper):
    """A text stream in memory that may say that it is a terminal."""

    def __init__(self, encoding: str, terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="\n")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)  # type: ignore[attr-defined]


def command(*arguments: str, encoding: str = "utf-8", terminal: bool = False) -> Result:
    """The command line, with `sys.argv` and both streams replaced."""
    out, err = Stream(encoding, terminal), Stream(encoding, terminal)
    code = 0
    with (
        mock.patch.object(sys, "argv", ["shardsim", *arguments]),
        mock.patch.dict(os.environ, {"TERM": "xterm-256color", "COLUMNS": "300"}),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
            os.environ.pop(name, None)
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
    return Result(code, out.text(), err.text())


def process(
    *arguments: str, environment: Mapping[str, str] | None = None, stdout: int = subprocess.PIPE
) -> Result:
    """`python ARGUMENTS` in a process of its own that finds the same package."""
    done = subprocess.run(
        [sys.executable, *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONPATH": str(HOME),
            "PYTHONUTF8": "0",
            "PYTHONUNBUFFERED": "",
            **(environment or {}),
        },
        encoding="utf-8",
        check=False,
    )
    return Result(done.returncode, done.stdout or "", done.stderr)
