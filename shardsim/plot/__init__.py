"""Pictures as files.

placement.py    an array as a rectangle cut in blocks, with the chips that hold each
"""

from shardsim.plot.placement import draw_placement, write_placement

__all__ = ["draw_placement", "write_placement"]
