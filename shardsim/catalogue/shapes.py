"""What `CHIP:SHAPE` means: a slice of TPUs, GPU nodes, or, as `N*CHIP:SHAPE`, several slices."""

from __future__ import annotations

import math
import re

from shardsim.catalogue.chips import alone_error, chips, generation_of
from shardsim.catalogue.generations import Generation, slice_topology
from shardsim.catalogue.making import Alone, Made
from shardsim.catalogue.nodes import Node, in_nodes, node_topology
from shardsim.catalogue.slices import slices_topology
from shardsim.errors import InputError, NotYetError, Place, Source, TopologyError
from shardsim.topology import Topology
from shardsim.units import parse_count

__all__ = ["TWISTED", "is_chip", "joined_by_hand", "shape_example", "shaped_topology"]

TWISTED = (
    "a twisted torus is not supported: it joins the ends of a dimension with an offset along "
    "another, so that the rings are other ones"
)


def shaped_topology(source: Source) -> Topology:
    """The topology that `CHIP:SHAPE` or `N*CHIP:SHAPE` names.

    Raises:
        InputError: no such chip or shape.

    >>> shaped_topology(Source("2*v5e:8x16")).shape, shaped_topology(Source("h100:4x8")).shape
    ((2, 8, 16), (4, 8))
    """
    head, _, shape = source.text.partition(":")
    number, star, word = head.rpartition("*")
    start = len(number) + len(star)
    here = source.place(start, start + max(1, len(word)))
    made = _chip(word, source, here)
    if isinstance(made, Alone):
        raise alone_error(made, joined_by_hand(made), here)
    place = source.place(0, max(1, len(number)))
    count = parse_count(number, "the number of slices", place) if star else 1
    sizes = _sizes(shape, source, len(head) + 1, made)
    if isinstance(made, Node) and star:
        raise _counted(made, count, sizes).at(place)
    try:
        if isinstance(made, Node):
            return node_topology(made, sizes)
        return (
            slices_topology(made, count, sizes, _joined()) if star else slice_topology(made, sizes)
        )
    except InputError as error:
        raise error.at(source.place(len(head) + 1, len(source.text))) from None


def joined_by_hand(made: Alone) -> str:
    """What to do to have several chips that the catalogue has no network of."""
    name = made.chip.name
    return (
        f"describe them in a YAML file, with chip: {name} and a dimension of kind switch; "
        f"one alone: shardsim show {name}, shardsim roofline --on {name}"
    )


def shape_example(made: Made) -> str:
    """A shape of a chip that is always there."""
    return str(made.gpus) if isinstance(made, Node) else "4x4"


def is_chip(word: str, place: Place | None = None) -> bool:
    """Whether a word names a chip; a GPU without figures raises NotYetError."""
    try:
        generation_of(word, place)
    except TopologyError:
        return False
    return True


def _chip(word: str, source: Source, place: Place) -> Made:
    try:
        return generation_of(word, place)
    except TopologyError:
        found = re.fullmatch(r"\s*(\d+)\s*[xX×]\s*(\S.*)", word)
        if found is None or not is_chip(found[2]):
            raise
        shape = source.text.partition(":")[2].strip()
        why = f"several slices are written with *; {word.strip()!r} is no chip"
        raise TopologyError(why, f"write {found[1]}*{found[2].strip()}:{shape}", place) from None


def _joined() -> list[str]:
    """The chips whose network between slices has a figure."""
    return [name for name, made in chips().items() if isinstance(made, Generation) and made.dcn]


def _sizes(shape: str, source: Source, start: int, made: Made) -> tuple[int, ...]:
    """The sizes of a shape, which starts at a character of the source."""
    twist = re.search(r"[_-]?\s*((?:un)?twisted)\s*$", shape, re.IGNORECASE)
    if twist is not None:
        place = source.place(start + twist.start(), start + len(shape.rstrip()))
        plain = source.text[: start + twist.start()].strip()
        if twist[1].lower() == "twisted":
            raise NotYetError(TWISTED, f"write {plain}, which is not twisted", place)
        why = f"{twist[1]} says nothing more: no shape is twisted here"
        raise TopologyError(why, f"leave it out: {plain}", place)
    sizes = []
    for part in re.split("[xX×]", shape):
        place = source.place(start, start + max(1, len(part)))
        if not part.strip():
            raise TopologyError(
                f"a size is missing in {source.text!r}",
                f"write the sizes with x between them, such as {made.chip.name}:"
                f"{shape_example(made)}",
                place,
            )
        sizes.append(parse_count(part, "a size of the shape", place))
        start += len(part) + 1
    return tuple(sizes)


def _counted(node: Node, count: int, sizes: tuple[int, ...]) -> TopologyError:
    """The error for a number of slices before a GPU."""
    gpus = sizes[-1]
    chips = count * math.prod(sizes)
    shape = f"{chips // gpus}x{gpus}" if gpus <= node.gpus else in_nodes(chips, node)
    return TopologyError(
        f"N*CHIP:SHAPE counts slices of TPUs; {node.chip.name} comes in nodes",
        f"put the number of nodes into the shape: {node.of or node.chip.name}:{shape}",
    )
