"""Shardings in the notations of other programs, and from them.

All of them say the same with other signs: which axes of a mesh shard which dimension. What one
cannot say (a part of an axis in a `PartitionSpec`) or does not say (the names of the dimensions in
any of them) is refused, or asked for.

    jax.py        P('X', None)
    shardy.py     [{"X"}, {}]
    hlo.py        {devices=[4,1,2]<=[8] last_tile_dim_replicate}, with digits.py
    typed.py      f32[8@X,16]
    dtensor.py    (Shard(0), Replicate())
    reading.py    all of these by name
    expressions.py    a whole statement
    naming.py, scanning.py, whole.py    what they share
"""

from shardsim.dialects.expressions import Translation, translate_expression
from shardsim.dialects.naming import Naming, Reading
from shardsim.dialects.reading import DIALECTS, Said, read_dialect, translate

__all__ = [
    "DIALECTS",
    "Naming",
    "Reading",
    "Said",
    "Translation",
    "read_dialect",
    "translate",
    "translate_expression",
]
