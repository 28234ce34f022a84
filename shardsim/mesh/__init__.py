"""Named logical axes laid over a topology, and the groups of chips that collectives run in.

segments.py     one ring, line or switch under an axis, and how it lies on the links
axes.py         axes and the mesh: which chip stands where
group.py        the chips of a collective over some axes, and the ways between them
cutting.py      the parts of dimensions under an axis, cut for parts of that axis
permutation.py  which chip sends to which in a permute, and what the links carry
lying.py        how a segment lies on links that are not alike, or in an order of chips
pieces.py       the text of a layout: `x`, `x+y`, `y:(4)4`
layout.py       axes on the dimensions that a layout names
orders.py       chips in an order that somebody gives: a list, a snake, a ring
laying.py       from sizes and a layout to a mesh
"""

from shardsim.mesh.axes import Axis, Mesh
from shardsim.mesh.group import Group
from shardsim.mesh.laying import DEFAULT_NAMES, lay_mesh
from shardsim.mesh.permutation import Permutation
from shardsim.mesh.segments import Crossing, Segment

__all__ = [
    "DEFAULT_NAMES",
    "Axis",
    "Crossing",
    "Group",
    "Mesh",
    "Permutation",
    "Segment",
    "lay_mesh",
]
