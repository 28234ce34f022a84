"""One sharding looked at: in all notations, what a chip holds, and which chips hold what.

inspecting.py    a sharding on a mesh, with all that is said of it
drawing.py       what a drawing of it shows, and the words in it
asking.py        one from texts, as on the command line
holding.py       arrays on a machine: bytes on each chip, copies, how long it takes to read them
"""

from shardsim.inspection.drawing import View, chips_text, described
from shardsim.inspection.inspecting import Inspection, inspect_sharding

__all__ = ["Inspection", "View", "chips_text", "described", "inspect_sharding"]
