"""A text in a file: all of it, or nothing."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

from shardsim.errors import InputError

__all__ = ["write_whole"]


def write_whole(text: str, path: str | os.PathLike[str], what: str, example: str) -> None:
    """Writes a file; one that is there is replaced when the new one is complete.

    Args:
        text: What is written.
        path: The file.
        what: What it is, for the error: "the trace".
        example: A name for it, where a folder is given: "trace.json".

    Raises:
        InputError: the file cannot be written; what was there before is still there.
    """
    try:
        _write(Path(path), text)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        message = f"cannot write {what} to {os.fspath(path)!r}: {reason}"
        raise InputError(message, _way_out(Path(path), error, example)) from error


def _write(path: Path, text: str) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")  # a pipe or a device must not be replaced
        return
    target = path.resolve()
    draft = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _way_out(path: Path, error: Exception, example: str) -> str:
    match error:
        case FileNotFoundError():
            return f"create the folder {str(path.parent)!r} first, or choose another"
        case IsADirectoryError():
            return f"name a file in it, such as {str(path / example)!r}"
        case PermissionError():
            return "choose a folder in which you may write"
        case _:
            return "choose another path"
