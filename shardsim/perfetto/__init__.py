"""The timeline as a Chrome JSON trace, to look at in Perfetto or another viewer of that format.

A chip is a process. Its threads are the steps it takes part in, its core, and each link that leaves
it, one per direction. A message is a slice on its link, named by the blocks it carries; an arrow (a
flow) leads from the hop that brought a block to the hop that passes it on.

trace.py     processes, threads, slices, arrows, counters
hops.py      what a message carries, and which messages brought it
writing.py   the file
"""

from shardsim.perfetto.trace import MOST_CHIPS, trace_events
from shardsim.perfetto.writing import write_trace

__all__ = ["MOST_CHIPS", "trace_events", "write_trace"]
