"""The engine, by hand: both latency models, queues, contention, starts per chip, deadlocks."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import pytest
import simpy

from shardsim.call import Call
from shardsim.collectives import Channel, Lane, Need, StepProgram, program_of
from shardsim.engine import simulate, simulate_calls
from shardsim.engine.resources import Inbox, InOrder, Server
from shardsim.errors import SimulationError
from shardsim.hardware import Calibration, Chip, Link
from shardsim.planner import CollectiveStep
from shardsim.timeline import Core, LinkDirection, Message, Port, Timeline, Track
from shardsim.topology import Coordinate
from shardsim.vocabulary import (
    Algorithm,
    CollectiveKind,
    Dtype,
    LatencyModel,
    Overlap,
    TransferKind,
)
from tests.machines import call_on, collective_plan, machine, planned, run_call, simulated

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


# more than one hop, or two resources at once


def test_a_message_of_two_hops_is_stored_and_sent_on() -> None:
    """10 B of a chip to the second next on a ring of 5: 1 s and 3 s, twice, both links in turn.

    Each link carries its own chip's message first and the neighbour's from 4 s on.
    """
    call = call_on(machine((5, "ring"), link=SLOW), TransferKind.PERMUTE, 50, shift=2)
    timeline = run_call(call)
    for at in range(5):
        assert sent(timeline, (at,), +1) == [(0, 1, 4), (4, 5, 8)]
    assert timeline.makespan == 8
    first, second = timeline.by_track[LinkDirection((1,), "x", +1)]
    assert (first.message, first.hop) == (Message((1,), (0, 0, 0), 0), 0)
    assert (second.message, second.hop) == (Message((0,), (0, 0, 0), 0), 1)
    assert {interval.size for interval in timeline.intervals} == {Fraction(10)}


def test_steps_that_share_links_wait_for_each_other() -> None:
    """A ring of 4 as 2 x 2: X's two chips are two links apart, both ways, on all four links.

    Each chip sends its 10 B both ways in halves, of 1/2 s; a link serves its own chip at once, and
    the neighbour's half when it comes, 3 s later.
    """
    call = call_on(
        machine((4, "ring"), link=SLOW), CollectiveKind.ALL_GATHER, 20, "X", {"X": 2, "Y": 2}
    )
    timeline = run_call(call)
    assert timeline.ticks_per_second == 2
    for at in range(4):
        for direction in (+1, -1):
            assert sent(timeline, (at,), direction) == [(0, 1, 7), (7, 8, 14)]
    assert timeline.makespan == 7


def test_a_hop_at_a_switch_holds_a_port_out_and_a_port_in() -> None:
    """Three chips, 10 B each: to the next and to the one after, 1 s each and 3 s of latency."""
    timeline = run_call(call_on(machine((3, "switch"), link=SLOW), CollectiveKind.ALL_GATHER, 30))
    for at in range(3):
        out = timeline.by_track[Port((at,), "x", +1)]
        into = timeline.by_track[Port((at,), "x", -1)]
        assert [(i.start, i.end, i.arrival) for i in out] == [(0, 1, 4), (1, 2, 5)]
        assert [i.message and i.message.sender for i in into] == [
            ((at - 1) % 3,),
            ((at - 2) % 3,),
        ]
        assert [(i.start, i.end) for i in into] == [(0, 1), (1, 2)]
    assert timeline.makespan == 5


def test_a_port_in_serves_one_at_a_time() -> None:
    """All three others gather to chip 0 at once: 1 s each into one port."""
    call = call_on(machine((4, "switch"), link=SLOW), TransferKind.GATHER, 40)
    timeline = run_call(call)
    into = timeline.by_track[Port((0,), "x", -1)]
    assert [(i.start, i.end) for i in into] == [(0, 1), (1, 2), (2, 3)]
    assert timeline.makespan == 6


def test_the_slower_port_sets_the_pace() -> None:
    """Chip 1's port in takes 5 B/s: 10 B take 2 s there, and 1 s into the others."""
    slow_in = (((1,), (0, -1)), Link(Fraction(5), Fraction(3)))
    topology = machine((3, "switch"), link=SLOW, changed=[slow_in])
    timeline = run_call(call_on(topology, TransferKind.PERMUTE, 30))
    out = {at: timeline.by_track[Port((at,), "x", +1)][0] for at in range(3)}
    assert {at: interval.end for at, interval in out.items()} == {0: 2, 1: 1, 2: 1}


def test_a_slow_link_is_slow_for_every_message_on_it() -> None:
    slow = (((0,), (0, +1)), Link(Fraction(5), Fraction(7)))
    topology = machine((4, "line"), link=SLOW, changed=[slow])
    timeline = run_call(call_on(topology, TransferKind.SEND, 20))
    # 4 s and 7 s over the slow link, then 2 s and 3 s over each of the others
    assert sent(timeline, (0,), +1) == [(0, 4, 11)]
    assert sent(timeline, (1,), +1) == [(11, 13, 16)]
    assert timeline.makespan == 21


def test_a_switch_that_adds_takes_part() -> None:
    """Two chips, 10 B a block at 10 B/s, 1 1/2 s from chip to switch.

    Out: both parts by 2 s, here after 1 1/2 s more; the sum of block 0 is ready at 2 1/2 s, that of
    block 1 at 3 1/2 s. In: the own sum in 1 s and 1 1/2 s; its copies the same way back and out.
    """
    topology = machine((2, "switch"), link=SLOW, reduces=True)
    call = call_on(topology, CollectiveKind.ALL_REDUCE, 20, algorithm=Algorithm.IN_NETWORK)
    timeline = run_call(call)
    half = timeline.ticks_per_second // 2

    def of(chip: int, direction: int) -> list[tuple[int, int]]:
        track = Port((chip,), "x", direction)
        return [(i.start // half, i.arrival // half) for i in timeline.by_track[track]]

    # in half seconds: start, and 2 + 3 later the arrival
    assert of(0, +1) == [(0, 5), (2, 7), (10, 15)]
    assert of(1, +1) == [(0, 5), (2, 7), (12, 17)]
    assert of(0, -1) == [(5, 10), (15, 20), (17, 22)]
    assert of(1, -1) == [(7, 12), (15, 20), (17, 22)]
    assert timeline.makespan == 11
    assert {activity.chip for activity in timeline.activities} == {(0,), (1,)}


@pytest.mark.parametrize("overlap", Overlap)
def test_efficiency_and_launch(overlap: Overlap) -> None:
    """Half of 10 B/s: 20 B take 4 s; 6 s pass before each collective begins to send."""
    known = Calibration(efficiency=Fraction(1, 2), launch_overhead=Fraction(6))
    topology = machine((2, "line"), link=SLOW, calibration=known)
    plan = planned("AllGather_X A[I_X] -> A[I]", topology, {"I": 20})
    timeline = simulate(plan, overlap)
    assert sent(timeline, (0,), +1) == [(6, 10, 13)]
    assert timeline.step_span(0) == (Fraction(0), Fraction(13))


def test_calls_start_together() -> None:
    topology = machine((2, "line"), (2, "line"), link=SLOW)
    along_x = call_on(topology, CollectiveKind.ALL_GATHER, 40, "X")
    along_y = call_on(topology, CollectiveKind.ALL_GATHER, 60, "Y")
    timeline = simulate_calls(topology, [along_x, along_y, along_x])
    # 20 B, 2 s and 3 s; 30 B, 3 s and 3 s; the third behind the first on the same links
    assert [timeline.step_span(step)[1] for step in range(3)] == [5, 6, 7]


def test_only_the_chips_of_the_mesh_take_part() -> None:
    topology = machine((2, "line"), (2, "line"), missing=[(1, 1)], link=SLOW)
    devices = [(0, 1), (0, 0), (1, 0)]
    call = call_on(topology, CollectiveKind.ALL_GATHER, 30, mesh={"X": 3}, devices=devices)
    timeline = run_call(call)
    assert {activity.chip for activity in timeline.activities} == set(devices)
    # a line in the order given: blocks of 10 B, two hops of 1 s and 3 s
    assert timeline.makespan == 8


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
    """The second does not fill the gap in which the first waits for its partner: see the next."""
    lines = ["AllReduce_X A[I]{U_X} -> B[I]", "AllReduce_X D[J]{U_X} -> E[J]"]
    plan = planned(lines, machine((2, "line"), link=SLOW), {"I": 20, "J": 30})
    timeline = simulate(plan, Overlap.ASYNC)
    assert sent(timeline, (0,), +1) == [(0, 2, 5), (5, 7, 10), (7, 10, 13), (13, 16, 19)]
    assert [timeline.step_span(step) for step in (0, 1)] == [(0, 10), (7, 19)]


def test_what_comes_early_for_a_later_step_does_not_delay_an_earlier_one() -> None:
    """W3's gather could start at once, but would make the gather of H1 one hop longer.

    On a line a chip passes on what it gets: a message of W3 that is let in between holds up all
    that come behind it.
    """
    lines = [
        "H0[B_X, D] · W0[D_X, E] -> H1[B, E]",
        "H1[B, E] · W1[E, F] -> H2[B, F]",
        "H2[B, F] · W2[F, G] -> H3[B_X, G]",
        "H3[B_X, G] · W3[G_X, H] -> H4[B, H]",
    ]
    plan = planned(lines, machine((4, "line"), (2, "ring")), dict.fromkeys("BDEFGH", 8),
                   latency_model=LatencyModel.FLOOR)  # fmt: skip
    gathers = [i for i, step in enumerate(plan.steps) if step.op == "all_gather"]
    assert [plan.steps[i].label for i in gathers] == [
        "AllGather_X of W0", "AllGather_X of H1", "AllGather_X of W3", "AllGather_X of H4",
    ]  # fmt: skip
    together, apart = (simulate(plan, overlap) for overlap in (Overlap.ASYNC, Overlap.NONE))
    assert together.makespan < apart.makespan
    for earlier, later in itertools.pairwise(gathers):
        for track in {interval.track for interval in together.intervals}:
            on = [i for i in together.intervals if i.track == track]
            first = [i.end for i in on if i.step == earlier]
            second = [i.start for i in on if i.step == later]
            assert not first or not second or max(first) <= min(second)


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


def test_chips_that_start_apart_do_not_change_the_order_in_a_step() -> None:
    """Chips begin the last gather 1 us apart, since the first step does not reach all of them.

    First come first served, ports of the switch would serve its two halves in another order than
    where all begin together, and the run would take longer than step after step.
    """
    lines = ["H[B, E_XY] -> H[B, E_YX]", "H[B, E_YX] · W[E_YX, F] -> G[B_XY, F]",
             "G[B_XY, F] · V[F, D] -> O[B, D]"]  # fmt: skip
    extents = {"B": 6, "D": 12, "E": 12, "F": 12}
    plan = planned(lines, machine((3, "switch"), (2, "line")), extents)
    apart, run = simulate(plan, Overlap.NONE), simulate(plan, Overlap.ASYNC)
    assert run.makespan == apart.makespan
    ports = [track for track in run.by_track if isinstance(track, Port)]

    def messages(timeline: Timeline, track: Track) -> list[object]:
        return [(i.step, i.message) for i in timeline.by_track[track]]

    assert all(messages(run, port) == messages(apart, port) for port in ports)


# queues


def served(
    requests: list[tuple[int, int]], hold: int = 5, *, in_order: bool = False
) -> list[tuple[int, int]]:
    """Ranks and times in the order of service; requests are (time, rank), as created."""
    env = simpy.Environment()
    server = InOrder(env, Counter(rank for _, rank in requests), {}) if in_order else Server(env)
    log = []

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


@pytest.mark.parametrize(
    ("requests", "order"),
    [
        ([(0, 1), (0, 0)], [(0, 0), (1, 5)]),
        ([(1, 0), (0, 1)], [(0, 1), (1, 6)]),  # what comes early waits for the step before
        ([(0, 0), (0, 2), (20, 0)], [(0, 0), (0, 20), (2, 25)]),  # for all of it
        ([(0, 1), (30, 1), (9, 4)], [(1, 0), (1, 30), (4, 35)]),
    ],
)
def test_step_after_step(requests: list[tuple[int, int]], order: list[tuple[int, int]]) -> None:
    assert served(requests, in_order=True) == order
    assert served(requests[::-1], in_order=True) == order


def test_an_inbox_counts_by_channel() -> None:
    env = simpy.Environment()
    inbox = Inbox(env)
    two, other = inbox.wait(UP, 2), inbox.wait(DOWN, 1)
    third = inbox.wait(Channel(1, +1), 1)
    inbox.put(UP)
    assert (two.triggered, other.triggered, inbox.has(UP, 1)) == (False, False, True)
    inbox.put(UP)
    assert (two.triggered, other.triggered, third.triggered) == (True, False, False)
    assert inbox.wait(UP, 1).triggered


# deadlocks


UP, DOWN = Channel(0, +1), Channel(0, -1)


def spoiled_at(position: int, program: StepProgram) -> Callable[[Call, Coordinate], StepProgram]:
    """The project's own programs, but another one at one position."""

    def programs(call: Call, chip: Coordinate) -> StepProgram:
        return program if chip == (position,) else program_of(call, chip)

    return programs


def test_a_deadlock_at_the_end_says_who_waits_for_what() -> None:
    plan = collective_plan(CollectiveKind.ALL_GATHER, 2, "line", 10, SLOW)
    (step,) = plan.steps
    assert isinstance(step, CollectiveStep)
    bad = replace(program_of(step.call, (0,)), receives=(Need(DOWN, 2),))
    with pytest.raises(SimulationError) as caught:
        simulate(plan, programs=spoiled_at(0, bad))
    assert str(caught.value).splitlines()[1:] == [
        "  chip (0) in AllGather_X A[I_X] -> A[I] waits to finish: 1 of 2 messages have come on x-"
    ]


def test_a_deadlock_before_a_message_names_the_message() -> None:
    """Chip 1 does not send, and chip 0 waits for it."""
    plan = collective_plan(CollectiveKind.ALL_GATHER, 2, "line", 10, SLOW)
    (step,) = plan.steps
    assert isinstance(step, CollectiveStep)
    (lane,) = program_of(step.call, (0,)).lanes
    waits = Lane(UP, (replace(lane.sends[0], needs=(Need(DOWN, 3),)),))
    bad = replace(program_of(step.call, (0,)), lanes=(waits,))
    with pytest.raises(SimulationError) as caught:
        simulate(plan, programs=spoiled_at(0, bad))
    assert caught.value.waiting == (
        "chip (0) in AllGather_X A[I_X] -> A[I] waits to send message 1 on x+: "
        "1 of 3 messages have come on x-",
        "chip (1) in AllGather_X A[I_X] -> A[I] waits to finish: 0 of 1 messages have come on x+",
    )
    assert str(caught.value).startswith("deadlock: nothing can happen any more; waiting: 2\n")


def test_a_deadlock_of_many_chips_is_cut_short() -> None:
    plan = collective_plan(CollectiveKind.ALL_GATHER, 24, "ring", 1)

    def programs(call: Call, chip: Coordinate) -> StepProgram:
        good = program_of(call, chip)
        return replace(good, receives=(Need(UP, good.arriving(UP) + 1),))

    with pytest.raises(SimulationError) as caught:
        simulate(plan, programs=programs)
    assert len(caught.value.waiting) == 21
    assert caught.value.waiting[-1] == "and 4 more"


def test_a_deadlock_at_a_switch_names_it() -> None:
    """Chip 0 of three waits for a message that nobody sends."""
    call = call_on(machine((3, "switch"), link=SLOW), CollectiveKind.ALL_GATHER, 30)
    bad = replace(program_of(call, (0,)), receives=(Need(Channel(0, 0), 3),))
    with pytest.raises(SimulationError) as caught:
        simulate_calls(call.group.mesh.topology, [call], programs=spoiled_at(0, bad))
    assert caught.value.waiting == (
        "chip (0) in all_gather waits to finish: 2 of 3 messages have come on x",
    )


def test_a_fault_in_a_process_is_not_taken_for_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Server, rank: tuple[int, ...]) -> simpy.Event:
        raise RuntimeError(f"no turn for {rank}")

    monkeypatch.setattr(Server, "request", broken)
    with pytest.raises(RuntimeError, match=r"no turn for \(0, 0, "):
        simulate(collective_plan(CollectiveKind.ALL_GATHER, 2, "line", 1))
