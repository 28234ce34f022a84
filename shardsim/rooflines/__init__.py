"""Rooflines: how long one chip computes, how long its bytes take by each channel, what binds.

load.py       what one chip has to do: operations, bytes moved, collectives
clock.py      how long that takes on a machine, by channel
bounds.py     the roofline of one load on one machine: times, intensities, bounds
solving.py    for which extent of a dimension two of its times are equal
splitting.py  how to cut chips between two axes
answer.py     a roofline, and the extents at which something else binds
asking.py     from texts or Python values: one roofline, or a table of them
explicit.py   of so many FLOPs and bytes, without a statement
machines.py   the machine, some of its figures replaced
attained.py   FLOP/s attained as one dimension grows
"""

from shardsim.rooflines.answer import Answer
from shardsim.rooflines.asking import ask_roofline, ask_rooflines
from shardsim.rooflines.bounds import ChannelTime, Roofline, Talk
from shardsim.rooflines.clock import channels_of
from shardsim.rooflines.solving import Critical
from shardsim.rooflines.splitting import Split, split_chips

__all__ = [
    "Answer",
    "ChannelTime",
    "Critical",
    "Roofline",
    "Split",
    "Talk",
    "ask_roofline",
    "ask_rooflines",
    "channels_of",
    "split_chips",
]
