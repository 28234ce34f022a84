"""Pictures as files: SVG, or PNG, by the name of the file.

placement.py    an array as a rectangle cut in blocks, with the chips that hold each
timeline.py     what one chip does in a run
roofline.py     FLOP/s attained against FLOPs per byte: machines and loads
attained.py     FLOP/s attained as a dimension grows
asked.py        the two for rooflines that somebody asks for
messages.py     a collective against its size: time and busbw
ladder.py       bytes/s of a chip, from the matrix unit down to the network
heatmap.py      strategies against sizes
canvas.py       the page on which they are drawn, and the files it becomes
axes.py         axes that a person can read, and legends
labels.py       labels that cover nothing
numbers.py      numbers without a unit
colours.py      colours, dashes and markers that can be told apart in grey too
shardsim.mplstyle   the look of all of them
"""

from shardsim.plot.canvas import Picture
from shardsim.plot.placement import draw_placement, write_placement
from shardsim.plot.timeline import draw_timeline, write_timeline

__all__ = ["Picture", "draw_placement", "draw_timeline", "write_placement", "write_timeline"]
