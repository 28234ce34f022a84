"""Pictures as files.

placement.py    an array as a rectangle cut in blocks, with the chips that hold each
timeline.py     what one chip does in a run
drawing.py      what they have in common
"""

from shardsim.plot.placement import draw_placement, write_placement
from shardsim.plot.timeline import draw_timeline, write_timeline

__all__ = ["draw_placement", "draw_timeline", "write_placement", "write_timeline"]
