"""What a topology reference means: `CHIP:SHAPE`, the path of a YAML file, or a mapping."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from shardsim.catalogue.chips import alone_error, chip_names, chips_like, generation_of
from shardsim.catalogue.clouds import cloud_name_error
from shardsim.catalogue.clusters import cluster_topology
from shardsim.catalogue.generations import slice_topology
from shardsim.catalogue.likes import is_like, like_topology
from shardsim.catalogue.making import Alone
from shardsim.catalogue.nodes import Node, in_nodes, node_topology
from shardsim.catalogue.shapes import is_chip, joined_by_hand, shape_example, shaped_topology
from shardsim.catalogue.shipped import data_folder, names_of
from shardsim.documents import Document, described, nearest, path_of, plain, read_document
from shardsim.errors import Place, Source, TopologyError
from shardsim.hardware import Link
from shardsim.topology import Dimension, Topology
from shardsim.vocabulary import DimensionKind

__all__ = ["Reference", "find_topology", "one_chip"]

Reference = str | os.PathLike[str] | Mapping[str, object] | Document | Topology
SUFFIXES = (".yaml", ".yml")
EXAMPLE = "v5e:4x4"
DEEPEST = 8
NO_LINK = Link(Fraction(1), Fraction(0))


def find_topology(
    reference: Reference, source: Source | None = None, base: Path | None = None
) -> Topology:
    """The topology of a reference.

    Args:
        reference: `CHIP:SHAPE` or `N*CHIP:SHAPE`, in capitals or not; the path of a YAML file, from
            the current folder, from `base`, or by name from the shipped ones, with or without
            `.yaml`; the mapping that such a file holds; or a topology, which is returned.
        source: Where the reference is written, for the errors.
        base: The folder of the file that names the reference.

    Raises:
        InputError: no such chip, shape or file; or the file has a fault.
        InputErrors: the file has several faults.

    >>> [dimension.kind.value for dimension in find_topology("v5e:8x16").dimensions]
    ['line', 'ring']
    """
    return _find(reference, _Asked(source, base))


def one_chip(
    reference: Reference, source: Source | None = None, base: Path | None = None
) -> Topology:
    """The topology of a reference, or of one chip by itself where the reference is its name.

    Args:
        reference: `v5e`, or what `find_topology` takes; in a mapping, `like` may name a chip.
        source: Where the reference is written, for the errors.
        base: The folder of the file that names the reference.

    Raises:
        InputError: as `find_topology`.
        InputErrors: the file has several faults.

    >>> one_chip("v5e").size, one_chip("v5e:4x4").size, one_chip("v100").chip.title
    (1, 16, 'NVIDIA V100')
    """
    return _find(reference, _Asked(source, base, alone=True))


@dataclass(frozen=True, slots=True)
class _Asked:
    """How a reference is asked for; `depth` counts machines that are like another."""

    source: Source | None = None
    base: Path | None = None
    alone: bool = False
    depth: int = 0


def _find(reference: Reference, asked: _Asked) -> Topology:
    source = asked.source
    if isinstance(reference, Topology):
        return reference
    if isinstance(reference, Document):
        return _described(reference, asked)
    if isinstance(reference, Mapping):
        return _described(Document(plain(reference)), asked)
    if not isinstance(reference, str | os.PathLike):
        raise TopologyError(
            f"a topology is CHIP:SHAPE, a YAML file or a mapping, not {described(reference)}",
            f"write {EXAMPLE}",
            None if source is None else source.place(0, len(source.text)),
        )
    is_path = isinstance(reference, os.PathLike)
    text = str(path_of(reference, "a topology file")) if is_path else str(reference)
    source = source or Source(text, origin="topology")
    chip, colon, _ = text.partition(":")
    is_file = is_path or text.endswith(SUFFIXES) or "/" in chip
    if colon and not is_file:
        return shaped_topology(source)
    return _from_file(text, source, asked)


def _described(document: Document, asked: _Asked, default_name: str = "") -> Topology:
    """The topology that a mapping describes."""
    if not is_like(document):
        return cluster_topology(document, default_name or "topology")
    if asked.depth == DEEPEST:
        why = f"like leads on and on, {DEEPEST} times"
        way_out = "let one of these machines have dimensions"
        raise TopologyError(why, way_out, document.place("like"))

    def found(reference: str, source: Source | None) -> Topology:
        return _find(reference, replace(asked, source=source, depth=asked.depth + 1))

    return like_topology(document, found, default_name)


def _from_file(text: str, source: Source, asked: _Asked) -> Topology:
    """The topology of the first file of that name: here, beside the scenario, or shipped."""
    place = source.place(0, max(1, len(text)))
    shipped = data_folder("topologies")
    folders = [Path(), *([] if asked.base is None else [asked.base]), shipped]
    names = [text] if text.endswith(SUFFIXES) else [text, *(text + end for end in SUFFIXES)]
    candidates = [folder / name for folder in folders for name in names if text.strip()]
    for path in candidates:
        if _found(path) == "file":
            document = read_document(path, place)
            _refuse_scenario(document, text, place)
            return _described(document, replace(asked, base=path.parent), path.stem)
    known = names_of("topologies")
    way_out = f"write CHIP:SHAPE, such as {EXAMPLE}, the path of a YAML file, or a shipped one"
    if not text.strip():
        raise TopologyError("the topology is empty", way_out, place)
    if "folder" in map(_found, candidates):
        raise TopologyError(f"{text} is a directory, not a topology file", way_out, place)
    if asked.alone and is_chip(text, place):
        return _alone(text)
    _refuse_without_shape(text, source, place)
    if text.removesuffix(SUFFIXES[0]) in names_of("scenarios"):
        raise _is_scenario(text, "", place)
    raise TopologyError(
        f"there is no topology file {text!r}; shipped: {', '.join(known)}",
        nearest(text, [*known, *chip_names()]) or way_out,
        place,
    )


def _alone(word: str) -> Topology:
    """One chip of the catalogue, without a link."""
    made = generation_of(word)
    if isinstance(made, Node):
        topology = node_topology(made, (1,))
    elif isinstance(made, Alone):
        reason = "1 chip: no link"
        only = Dimension(name="x", size=1, kind=DimensionKind.LINE, link=NO_LINK, reason=reason)
        topology = Topology(name="", chip=made.chip, dimensions=(only,))
    else:
        topology = slice_topology(made, (1,))
    return replace(topology, name=made.chip.name)


def _refuse_scenario(document: Document, text: str, place: Place) -> None:
    """Says so when a file is a scenario, instead of naming all that is no key of a topology."""
    data = document.data
    if {"program", "topology"}.isdisjoint(data) or not {"chip", "dimensions", "like"}.isdisjoint(
        data
    ):
        return
    said = data.get("topology")
    is_short = isinstance(said, str) and re.fullmatch(r"[\w*-]+:[\dx]+", said)
    raise _is_scenario(text, f"its topology is {said}; " if is_short else "", place)


def _is_scenario(text: str, said: str, place: Place) -> TopologyError:
    why = f"{text} is a scenario, not a topology"
    return TopologyError(why, f"{said}to run the scenario: shardsim run {text}", place)


def _refuse_without_shape(text: str, source: Source, place: Place) -> None:
    """Says what to write for a chip without a shape: `v5e`, `v5e-16`, or half of a name: `v5`."""
    found = re.fullmatch(r"([\w-]+?)(?:-(\d{1,9}))?", text)
    if found is None:
        return
    if not (is_chip(found[1], source.place(0, len(found[1]))) or chips_like(found[1])):
        return
    made = generation_of(found[1], source.place(0, len(found[1])))
    if isinstance(made, Alone):
        raise alone_error(made, joined_by_hand(made), place)
    if found[2] is None:
        why = f"chip {text} needs a shape"
        raise TopologyError(why, f"write {text}:{shape_example(made)}", place)
    if isinstance(made, Node):
        gpus = max(1, int(found[2]))
        shape = str(gpus) if gpus <= made.gpus else in_nodes(gpus, made)
        why = f"{text} is no shape"
        raise TopologyError(why, f"write {made.chip.name}:{shape}", place)
    raise cloud_name_error(text, made, int(found[2]), place)


def _found(path: Path) -> str:
    """What stands at a path: "folder", "nothing", or "file" (reading it may say why it cannot)."""
    try:
        if path.is_dir():
            return "folder"
        return "file" if path.exists() else "nothing"
    except PermissionError:
        return "file"
    except OSError:
        return "nothing"
