"""A text, or bytes, in a file: all of it, or nothing."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

from shardsim.errors import InputError

__all__ = ["special", "write_whole"]


def write_whole(
    content: str | bytes, path: str | os.PathLike[str], what: str, example: str
) -> None:
    """Writes a file; one that is there is replaced when the new one is complete.

    Args:
        content: What is written; a text in UTF-8.
        path: The file.
        what: What it is, for the error: "the trace".
        example: A name for it, where a folder is given: "trace.json".

    Raises:
        InputError: the file cannot be written; what was there before is still there.
    """
    try:
        _write(Path(path), content.encode() if isinstance(content, str) else content)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        message = f"cannot write {what} to {os.fspath(path)!r}: {reason}"
        raise InputError(message, _way_out(Path(path), error, example)) from error


def special(path: str | os.PathLike[str]) -> str | None:
    """What has that name, if it is no file: a `folder`, or a `device` such as a pipe.

    >>> special(os.devnull), special("."), special("no such file")
    ('device', 'folder', None)
    """
    try:
        named = Path(path)
        if named.is_dir():
            return "folder"
        return "device" if named.exists() and not named.is_file() else None
    except OSError:  # too long for a name
        return None


def _write(path: Path, content: bytes) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if path.exists() and not path.is_file():
        path.write_bytes(content)  # a pipe or a device must not be replaced
        return
    target = path.resolve()
    draft = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        draft.write_bytes(content)
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
