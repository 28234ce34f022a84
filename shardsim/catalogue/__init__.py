"""Topologies by reference: `v5e:4x4`, `h100:4x8`, `2*v5e:16x16`, a YAML file, or the same mapping.

The figures of the chips are data: one file a chip in `topologies/chips`, each figure with its
source.

    shipped.py      where the data files are
    fields.py       types of fields of these files
    curves.py       measured collectives
    nodes.py        GPU nodes
    generations.py  generations of TPU, and which dimensions of their slices wrap
    slices.py       several slices of TPUs
    chips.py        the form of a chip's file, and the chips
    shapes.py       what CHIP:SHAPE means
    overrides.py    links and chips that differ from the rest
    clusters.py     the form of a topology file, and the topology it describes
    references.py   what a reference means
    clouds.py       the names that Google Cloud gives to slices
"""

from shardsim.catalogue.chips import chips, generation_of
from shardsim.catalogue.nodes import Node
from shardsim.catalogue.references import find_topology
from shardsim.catalogue.shipped import data_folder, names_of

__all__ = ["Node", "chips", "data_folder", "find_topology", "generation_of", "names_of"]
