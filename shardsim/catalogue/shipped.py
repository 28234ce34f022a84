"""Where the data files are that come with the package."""

from __future__ import annotations

from pathlib import Path

__all__ = ["data_folder", "names_of"]


def data_folder(name: str) -> Path:
    """The folder `topologies` or `scenarios`: in the package, or beside it in a checkout.

    >>> (data_folder("topologies") / "chips" / "v5e.yaml").is_file()
    True
    """
    package = Path(__file__).parent.parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def names_of(name: str) -> list[str]:
    """The names of the files that come with the package in a folder.

    >>> names_of("topologies")[-2:]
    ['two-slices', 'v5e-row-of-8']
    """
    return sorted(path.stem for path in data_folder(name).glob("*.yaml"))
