"""The engine, by hand: both latency models, queues, contention, starts per chip, deadlocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest
import simpy

from shardsim.collectives import Lane, Need, StepProgram
from shardsim.engine import program_of, simulate
from shardsim.engine.resources import Inbox, Server
from shardsim.errors import SimulationError
from shardsim.hardware import Chip, Link
from shardsim.planner import CollectiveStep
from shardsim.timeline import Core, LinkDirection, Timeline
from shardsim.vocabulary import CollectiveKind, Dtype, LatencyModel, Overlap
from tests.machines import collective_plan, machine, planned, simulated

# 10 B/s and 3 s: a message of 20 bytes holds its link for 2 s and arrives 3 s after that.
SLOW = Link(Fraction(10), Fraction(3))
ONE_FLOP = Chip(
    name="slow",
    peaks=((Dtype.BF16, Fraction(1)),),
    hbm_bandwidth=Fraction(10**6),
    hbm_capacity=Fraction(10**6),
)


def sent(timeline: Timeline, chip: tuple[int, ...], direction: int) -> list[tuple[int, int, int]]:
    """Start, end and arrival of each message on one link."""
    track = LinkDirection(chip, "x", direction)
    return [(i.start, i.end, i.arrival) for i in timeline.by_track.get(track, ())]


# one collective on two chips


@pytest.mark.parametrize(
    ("model", "record"),
    [
        (LatencyModel.ADDITIVE, (0, 2, 5)),  # 20 B at 10 B/s, then 3 s
        (LatencyModel.FLOOR, (0, 3, 3)),  # the larger of 2 s and 3 s
    ],
)
def test_a_gather_on_two_chips(model: LatencyModel, record: tuple[int, int, int]) -> None:
    """10 elements of 2 bytes each way."""
    timeline = simulated(
        collective_plan(CollectiveKind.ALL_GATHER, 2, "line", 10, SLOW, latency_model=model)
    )
    assert timeline.ticks_per_second == 1
    assert sent(timeline, (0,), +1) == [record]
    assert sent(timeline, (1,), -1) == [record]
    assert len(timeline.intervals) == 2
    assert timeline.makespan == record[-1]


@pytest.mark.parametrize(
    ("model", "records"),
    [
        (LatencyModel.ADDITIVE, [(0, 2, 5), (5, 7, 10)]),
        (LatencyModel.FLOOR, [(0, 3, 3), (3, 6, 6)]),
    ],
)
def test_an_all_reduce_on_two_chips(
    model: LatencyModel, records: list[tuple[int, int, int]]
) -> None:
    """The gather starts when everything of the scatter is there."""
    timeline = simulated(
        collective_plan(CollectiveKind.ALL_REDUCE, 2, "line", 10, SLOW, latency_model=model)
    )
    assert sent(timeline, (0,), +1) == records


def test_floor_takes_the_transfer_where_it_is_longer() -> None:
    """200 B: 20 s, longer than 3 s."""
    plan = collective_plan(
        CollectiveKind.ALL_GATHER, 2, "line", 100, SLOW, latency_model=LatencyModel.FLOOR
    )
    assert sent(simulated(plan), (0,), +1) == [(0, 20, 20)]


def test_ticks_are_as_fine_as_the_durations() -> None:
    """2 bytes at 10 B/s take 1/5 s, with a latency of 1/3 s: 1/15 s is the tick."""
    plan = collective_plan(
        CollectiveKind.ALL_GATHER, 2, "line", 1, Link(Fraction(10), Fraction(1, 3))
    )
    timeline = simulated(plan)
    assert timeline.ticks_per_second == 15
    assert sent(timeline, (0,), +1) == [(0, 3, 8)]


# when steps start

GATHER_THEN_MULTIPLY = ["AllGather_X A[I_X, J] -> A[I, J]", "A[I, J] · B[J, K] -> C[I, K]"]


def starts(overlap: Overlap) -> dict[tuple[int, ...], int]:
    """When each chip of a line of 3 starts to multiply: 2-byte blocks at 1 B/s, latency 3 s."""
    topology = machine((3, "line"), link=Link(Fraction(1), Fraction(3)), chip=ONE_FLOP)
    timeline = simulate(planned(GATHER_THEN_MULTIPLY, topology, {"I": 3, "J": 1, "K": 1}), overlap)
    at = timeline.ticks_per_second
    return {a.chip: a.start // at for a in timeline.activities if a.step == 1}


def test_async_starts_a_chip_when_its_own_inputs_are_there() -> None:
    """Neighbours' blocks are there after 2 + 3 s; those from the far end are passed on: 10 s."""
    assert starts(Overlap.ASYNC) == {(0,): 10, (1,): 5, (2,): 10}


def test_without_overlap_all_chips_start_together() -> None:
    assert starts(Overlap.NONE) == {(0,): 10, (1,): 10, (2,): 10}


TWO_GATHERS = ["AllGather_X A[I_X] -> B[I]", "AllGather_X D[J_X] -> E[J]"]


@pytest.mark.parametrize(
    ("overlap", "first", "second", "makespan"),
    [
        # 20 B and 30 B on one link: the second waits for the first to leave it.
        (Overlap.ASYNC, (0, 2, 5), (2, 5, 8), 8),
        (Overlap.NONE, (0, 2, 5), (5, 8, 11), 11),
    ],
)
def test_two_collectives_on_one_axis(
    overlap: Overlap, first: tuple[int, ...], second: tuple[int, ...], makespan: int
) -> None:
    plan = planned(TWO_GATHERS, machine((2, "line"), link=SLOW), {"I": 20, "J": 30})
    timeline = simulate(plan, overlap)
    assert sent(timeline, (0,), +1) == [first, second]
    assert timeline.makespan == makespan


def test_two_all_reduces_take_turns_on_a_link() -> None:
    """The second's first message fills the gap in which the first waits for its partner."""
    lines = ["AllReduce_X A[I]{U_X} -> B[I]", "AllReduce_X D[J]{U_X} -> E[J]"]
    plan = planned(lines, machine((2, "line"), link=SLOW), {"I": 20, "J": 30})
    timeline = simulate(plan, Overlap.ASYNC)
    assert sent(timeline, (0,), +1) == [(0, 2, 5), (2, 5, 8), (5, 7, 10), (8, 11, 14)]
    assert [timeline.step_span(step) for step in (0, 1)] == [(0, 10), (0, 14)]


def test_collectives_on_two_axes_do_not_meet() -> None:
    lines = ["AllGather_X A[I_X] -> B[I]", "AllGather_Y D[J_Y] -> E[J]"]
    plan = planned(lines, machine((2, "line"), (2, "line"), link=SLOW), {"I": 20, "J": 30})
    assert simulate(plan, Overlap.ASYNC).makespan == 6  # the longer of 2 + 3 and 3 + 3


def test_a_slice_takes_no_time_and_no_resource() -> None:
    plan = planned("A[I, J] · B[J, K] -> C[I_X, K]", machine((2, "line")), dict.fromkeys("IJK", 2))
    assert [step.op for step in plan.steps] == ["slice", "matmul"]
    timeline = simulate(plan)
    assert [(a.start, a.end) for a in timeline.activities if a.step == 0] == [(0, 0), (0, 0)]
    assert {interval.track for interval in timeline.intervals} == {Core((0,)), Core((1,))}


@pytest.mark.parametrize("overlap", Overlap)
def test_a_plan_without_steps(overlap: Overlap) -> None:
    plan = planned("AllGather_X A[I_X] -> A[I]", machine((1, "line")), {"I": 4})
    assert plan.steps == ()
    assert simulate(plan, overlap) == Timeline(ticks_per_second=1, intervals=(), activities=())


# queues


def served(requests: list[tuple[int, int]], hold: int = 5) -> list[tuple[int, int]]:
    """Ranks and times in the order of service; requests are (time, rank), as created."""
    env = simpy.Environment()
    server, log = Server(env), []

    def process(at: int, rank: int) -> Iterator[simpy.Event]:
        yield env.timeout(at)
        yield server.request((rank,))
        log.append((rank, int(env.now)))
        yield env.timeout(hold)
        server.release()

    for at, rank in requests:
        env.process(process(at, rank))
    env.run()
    return log


@pytest.mark.parametrize(
    ("requests", "order"),
    [
        ([(0, 1), (0, 0)], [(0, 0), (1, 5)]),  # same tick: by rank
        ([(1, 0), (0, 1)], [(1, 0), (0, 5)]),  # first come, although its rank is higher
        ([(0, 0), (3, 2), (2, 3), (2, 1)], [(0, 0), (1, 5), (3, 10), (2, 15)]),
        ([(0, 0), (5, 1)], [(0, 0), (1, 5)]),  # comes when the first leaves
        ([(0, 0), (7, 1)], [(0, 0), (1, 7)]),  # the server was idle
        ([(0, 2), (5, 0), (4, 1)], [(2, 0), (1, 5), (0, 10)]),
    ],
)
def test_first_come_first_served(
    requests: list[tuple[int, int]], order: list[tuple[int, int]]
) -> None:
    assert served(requests) == order
    assert served(requests[::-1]) == order


def test_an_inbox_counts_by_direction() -> None:
    env = simpy.Environment()
    inbox = Inbox(env)
    two, other = inbox.wait(+1, 2), inbox.wait(-1, 1)
    inbox.put(+1)
    assert (two.triggered, other.triggered, inbox.has(+1, 1)) == (False, False, True)
    inbox.put(+1)
    assert (two.triggered, other.triggered) == (True, False)
    assert inbox.wait(+1, 1).triggered


# deadlocks


def spoiled_at(position: int, program: StepProgram) -> object:
    """The project's own programs, but another one at one position."""

    def programs(step: CollectiveStep, at: int) -> StepProgram:
        return program if at == position else program_of(step, at)

    return programs


def test_a_deadlock_at_the_end_says_who_waits_for_what() -> None:
    plan = collective_plan(CollectiveKind.ALL_GATHER, 2, "line", 10, SLOW)
    (step,) = plan.steps
    assert isinstance(step, CollectiveStep)
    bad = replace(program_of(step, 0), receives=(Need(-1, 2),))
    with pytest.raises(SimulationError) as caught:
        simulate(plan, programs=spoiled_at(0, bad))  # type: ignore[arg-type]
    assert str(caught.value).splitlines()[1:] == [
        "  chip (0,) in AllGather_X A[I_X] -> A[I] waits to finish: 1 of 2 messages have come on x-"
    ]


def test_a_deadlock_before_a_message_names_the_message() -> None:
    """Chip 1 does not send, and chip 0 waits for it."""
    plan = collective_plan(CollectiveKind.ALL_GATHER, 2, "line", 10, SLOW)
    (step,) = plan.steps
    assert isinstance(step, CollectiveStep)
    (lane,) = program_of(step, 0).lanes
    waits = Lane(+1, (replace(lane.sends[0], needs=(Need(-1, 3),)),))
    bad = replace(program_of(step, 0), lanes=(waits,))
    with pytest.raises(SimulationError) as caught:
        simulate(plan, programs=spoiled_at(0, bad))  # type: ignore[arg-type]
    assert caught.value.waiting == (
        "chip (0,) in AllGather_X A[I_X] -> A[I] waits to send message 1 on x+: "
        "1 of 3 messages have come on x-",
        "chip (1,) in AllGather_X A[I_X] -> A[I] waits to finish: 0 of 1 messages have come on x+",
    )
    assert str(caught.value).startswith("deadlock: nothing can happen any more; waiting: 2\n")


def test_a_deadlock_of_many_chips_is_cut_short() -> None:
    plan = collective_plan(CollectiveKind.ALL_GATHER, 24, "ring", 1)

    def programs(step: CollectiveStep, at: int) -> StepProgram:
        good = program_of(step, at)
        return replace(good, receives=(Need(+1, good.arriving(+1) + 1),))

    with pytest.raises(SimulationError) as caught:
        simulate(plan, programs=programs)
    assert len(caught.value.waiting) == 21
    assert caught.value.waiting[-1] == "and 4 more"


def test_a_fault_in_a_process_is_not_taken_for_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Server, rank: tuple[int, ...]) -> simpy.Event:
        raise RuntimeError(f"no turn for {rank}")

    monkeypatch.setattr(Server, "request", broken)
    with pytest.raises(RuntimeError, match=r"no turn for \(0, 0\)"):
        simulate(collective_plan(CollectiveKind.ALL_GATHER, 2, "line", 1))
