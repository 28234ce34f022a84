"""The two things that processes wait for: a resource that serves one at a time, and messages."""

from __future__ import annotations

import heapq
from collections import defaultdict

import simpy
from simpy.events import EventPriority

__all__ = ["Inbox", "Server"]

Channel = tuple[int, int, int]

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
        self._queue: list[tuple[int, tuple[int, ...], simpy.Event]] = []
        self._busy = False
        self._deciding = False

    def request(self, rank: tuple[int, ...]) -> simpy.Event:
        """An event that happens when it is this request's turn."""
        turn = self._env.event()
        heapq.heappush(self._queue, (int(self._env.now), rank, turn))
        self._decide_later()
        return turn

    def release(self) -> None:
        """The request being served is done."""
        self._busy = False
        self._decide_later()

    def _decide_later(self) -> None:
        if not self._busy and not self._deciding and self._queue:
            self._deciding = True
            end = _EndOfTick(self._env)
            assert end.callbacks is not None
            end.callbacks.append(self._decide)

    def _decide(self, _: simpy.Event) -> None:
        self._deciding = False
        turn = heapq.heappop(self._queue)[-1]
        self._busy = True
        turn.succeed()


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
