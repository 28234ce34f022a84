"""The two things that processes wait for: a resource that serves one at a time, and messages."""

from __future__ import annotations

import heapq
from collections import defaultdict
from typing import TYPE_CHECKING, cast

import simpy
from simpy.events import EventPriority

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["InOrder", "Inbox", "Rank", "Server"]

Channel = tuple[int, int, int]
Rank = tuple[int, ...]
"""Of a request: the step it is for, then what tells requests of one step apart."""

Urgency = tuple[int, ...]
"""What is served first: the least. A time among them may be an exact fraction of ticks."""

AFTER_ALL_ELSE = EventPriority(2)


class _EndOfTick(simpy.Event):
    """Happens now, after everything else that happens now."""

    def __init__(self, env: simpy.Environment) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None
        env.schedule(self, priority=AFTER_ALL_ELSE)


class Server:
    """Serves one request at a time, first come first served.

    Requests of the same tick are served in the order of their `rank` (the program's order),
    whichever process was created first: who is next is decided when the tick has brought all its
    requests.
    """

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._queue: list[tuple[Urgency, Rank, simpy.Event]] = []
        self._busy = False
        self._deciding = False

    def request(self, rank: Rank) -> simpy.Event:
        """An event that happens when it is this request's turn."""
        turn = self._env.event()
        heapq.heappush(self._queue, (self._urgency(rank), rank, turn))
        self._decide_later()
        return turn

    def release(self) -> None:
        """The request being served is done."""
        self._busy = False
        self._decide_later()

    def _urgency(self, rank: Rank) -> Urgency:
        """What is served first: the least."""
        del rank
        return (cast("int", self._env.now),)

    def _is_due(self) -> bool:
        """Whether the first in the queue may be served at all."""
        return True

    def _decide_later(self) -> None:
        if not self._busy and not self._deciding and self._queue:
            self._deciding = True
            end = _EndOfTick(self._env)
            assert end.callbacks is not None
            end.callbacks.append(self._decide)

    def _decide(self, _: simpy.Event) -> None:
        self._deciding = False
        if self._is_due():
            turn = heapq.heappop(self._queue)[-1]
            self._busy = True
            turn.succeed()


class InOrder(Server):
    """Serves the steps of a program one after the other.

    Within a step in an order that is given, or first come first served. So whatever comes early for
    a later step never delays an earlier one; and where the order is that of a step whose chips
    start together, nothing starts later than if each step waited for the end of the one before.

    Args:
        env: The simulation.
        steps: How many requests each step will make here.
        orders: The order of them, as far as it is given: each rank without its step.
    """

    def __init__(
        self,
        env: simpy.Environment,
        steps: Mapping[int, int],
        orders: Mapping[int, Sequence[Rank]],
    ) -> None:
        super().__init__(env)
        self._left = sorted(steps.items(), reverse=True)
        self._places = {
            step: {rank: place for place, rank in enumerate(ranks)}
            for step, ranks in orders.items()
        }
        self._served = 0

    def release(self) -> None:
        """The request being served is done."""
        step, left = self._left.pop()
        self._served += 1
        if left > 1:
            self._left.append((step, left - 1))
        else:
            self._served = 0
        super().release()

    def _urgency(self, rank: Rank) -> Urgency:
        step, *rest = rank
        places = self._places.get(step)
        now = cast("int", self._env.now)
        return (step, now if places is None else places[tuple(rest)])

    def _is_due(self) -> bool:
        (step, place), *_ = self._queue[0]
        return step == self._left[-1][0] and (step not in self._places or place == self._served)


class Inbox:
    """Counts the messages that have arrived at one chip in one step, by channel."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self.arrived: defaultdict[Channel, int] = defaultdict(int)
        self._waiting: list[tuple[Channel, int, simpy.Event]] = []

    def put(self, channel: Channel) -> None:
        """One more message has arrived."""
        self.arrived[channel] += 1
        still = []
        for wanted, count, event in self._waiting:
            if wanted == channel and count <= self.arrived[channel]:
                event.succeed()
            else:
                still.append((wanted, count, event))
        self._waiting = still

    def has(self, channel: Channel, count: int) -> bool:
        """Whether that many have arrived."""
        return self.arrived[channel] >= count

    def wait(self, channel: Channel, count: int) -> simpy.Event:
        """An event that happens when that many have arrived."""
        event = self._env.event()
        if self.has(channel, count):
            return event.succeed()
        self._waiting.append((channel, count, event))
        return event
