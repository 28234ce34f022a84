"""Topologies by reference: `v5e:4x4`, a YAML file, or the same mapping.

The figures of the chips are data: one file a chip in `topologies/chips`, each figure with its
source.

    shipped.py      where the data files are
    chips.py        the form of a chip's file, and the chips
    clusters.py     the form of a topology file, and the topology it describes
    references.py   what a reference means
    clouds.py       the names that Google Cloud gives to slices
"""

from shardsim.catalogue.chips import chips, generation_of
from shardsim.catalogue.references import find_topology
from shardsim.catalogue.shipped import data_folder, names_of

__all__ = ["chips", "data_folder", "find_topology", "generation_of", "names_of"]
