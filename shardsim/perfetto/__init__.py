"""The timeline as a Chrome JSON trace, to look at in Perfetto or another viewer of that format.

A chip is a process. Its threads are the steps it takes part in, its core, each link that leaves
it, one per direction, and its ports at switches, out and in. A message is a slice on each link or
port of its way, named by the blocks it carries. Arrows (flows) lead from the message that brought a
block to the one that carries it on, from hop to hop of one message, and from port to port through a
switch. A switch that adds is no process; its messages are on the ports of the chips.

trace.py     processes, threads, slices, arrows, counters
hops.py      what a message carries, and the way it takes
sources.py   which messages brought it
writing.py   the file
"""

from shardsim.perfetto.trace import MOST_CHIPS, trace_events
from shardsim.perfetto.writing import write_trace

__all__ = ["MOST_CHIPS", "trace_events", "write_trace"]
