"""Topologies by reference: `v5e:4x4`, `h100:4x8`, `2*v5e:16x16`, a YAML file, or the same mapping.

The figures of the chips are data: one file a chip in `topologies/chips`, each figure with its
source.

    shipped.py      where the data files are
    fields.py       types of fields of these files
    curves.py       measured collectives
    nodes.py        GPU nodes
    generations.py  generations of TPU, and which dimensions of their slices wrap
    slices.py       several slices of TPUs
    forms.py        the form of a chip's file
    making.py       what a chip's file describes, and what follows from its figures
    chips.py        the chips by name
    figures.py      the figures of a chip with their sources, for printing
    bisection.py    what crosses the middle of a topology
    facts.py        what follows for a whole machine
    shapes.py       what CHIP:SHAPE means
    overrides.py    links and chips that differ from the rest
    own.py          chips that a person describes, or changes
    likes.py        machines that are like another
    clusters.py     the form of a topology file, and the topology it describes
    references.py   what a reference means
    ladder.py       the channels of a chip beside each other; the JSON of chips
    clouds.py       the names that Google Cloud gives to slices
"""

from shardsim.catalogue.chips import chip_names, chips, generation_of
from shardsim.catalogue.facts import facts
from shardsim.catalogue.figures import chip_figures
from shardsim.catalogue.making import Alone
from shardsim.catalogue.nodes import Node
from shardsim.catalogue.references import Reference, find_topology, one_chip
from shardsim.catalogue.shipped import data_folder, names_of

__all__ = [
    "Alone",
    "Node",
    "Reference",
    "chip_figures",
    "chip_names",
    "chips",
    "data_folder",
    "facts",
    "find_topology",
    "generation_of",
    "names_of",
    "one_chip",
]
