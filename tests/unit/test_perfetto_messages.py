"""The messages of a trace: what they carry, the ways they take, and the arrows between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.collectives import ALL, Action, Channel, program_of
from shardsim.perfetto import trace_events
from shardsim.perfetto.hops import Region
from shardsim.perfetto.sources import Arrival, Inbox
from shardsim.perfetto.writing import as_text
from shardsim.planner import CollectiveStep
from shardsim.timeline import Message
from shardsim.units import number
from tests.trace_rules import faults
from tests.traces import (
    KINDS,
    Cells,
    Event,
    Slice,
    arrows,
    collective,
    dimension,
    machine,
    names,
    of_phase,
    place_of,
    run_on,
    slices,
    topology,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from shardsim.comparison import Run


def only_call(run: Run) -> CollectiveStep:
    (step,) = run.plan.steps
    assert isinstance(step, CollectiveStep)
    return step


def run_of(where: Event | str, program: str, **more: Any) -> Run:
    """A run with messages so long that each is a slice of some nanoseconds."""
    return run_on(where, program, i=1440, j=1440, **more)


def grid(kind: str, *sizes: int, **more: Any) -> Event:
    """Dimensions x, y, z of one kind; switches have names of their own."""
    names = ("node", "gpu") if kind == "switch" else "xyz"
    parts = [dimension(name, size, kind, **more) for name, size in zip(names, sizes, strict=False)]
    return topology(*parts)


Y_UP = "Y+ link (dimension y)"
CUT_RING = machine("ring", 5) | {"overrides": [{"from": [1], "to": [2], "removed": True}]}
CUT_GRID = grid("line", 2, 3) | {"overrides": [{"from": [0, 1], "to": [0, 2], "removed": True}]}
SLICES = topology(dimension("slice", 2, "switch"), dimension("x", 4, "ring"))
SCATTERED = [(0, 0), (1, 2), (0, 1), (1, 1), (0, 3), (1, 3), (0, 2), (1, 0)]

FABRICS: dict[str, Callable[[str], Run]] = {
    "a torus": lambda op: run_of(grid("ring", 4, 4), collective(op, "XY")),
    "a torus, the other way": lambda op: run_of(
        grid("ring", 3, 4), collective(op, "YX"), schedule="balanced"
    ),
    "a torus of three": lambda op: run_of(grid("ring", 2, 2, 3), collective(op, "XYZ"), chunks=2),
    "lines": lambda op: run_of(grid("line", 3, 4), collective(op, "XY"), schedule="rotated"),
    "a switch of 8": lambda op: run_of("h100:8", collective(op), mesh={"X": 8}),
    "a ring through a switch": lambda op: run_of(
        machine("switch", 4), collective(op), algorithm="ring", chunks=2
    ),
    "nodes": lambda op: run_of(
        grid("switch", 2, 3), collective(op, "XY"), schedule="rotated", chunks=2
    ),
    "slices": lambda op: run_of(SLICES, collective(op, "XY")),
    "part of a switch": lambda op: run_of(
        machine("switch", 6), collective(op, "X"), mesh={"X": 2, "Y": 3}
    ),
    "a strided axis": lambda op: run_of(
        machine("ring", 16), collective(op, "X"), mesh={"X": 4, "Y": 4}
    ),
    "a contiguous axis": lambda op: run_of(
        machine("ring", 16), collective(op, "Y"), mesh={"X": 4, "Y": 4}
    ),
    "both axes of a ring": lambda op: run_of(
        machine("ring", 6), collective(op, "YX"), mesh={"X": 2, "Y": 3}
    ),
    "a ring that lost a link": lambda op: run_of(CUT_RING, collective(op)),
    "a line with a detour": lambda op: run_of(CUT_GRID, collective(op, "Y")),
    "a snake": lambda op: run_of(
        grid("line", 2, 3), collective(op), mesh={"X": 6}, layout={"X": "snake"}
    ),
    "an order across nodes": lambda op: run_of(
        SLICES, collective(op), mesh={"X": 8}, devices=SCATTERED
    ),
    "the floor model": lambda op: run_of(
        grid("ring", 3, 3), collective(op, "XY"), latency_model="floor"
    ),
}
ALL_REDUCES: dict[str, Callable[[], Run]] = {
    "in the network": lambda: run_of(
        machine("switch", 4, reduces=True), collective("all_reduce"), algorithm="in_network"
    ),
    "in the network in chunks": lambda: run_of(
        machine("switch", 3, reduces=True),
        collective("all_reduce"),
        algorithm="in_network",
        chunks=3,
    ),
    "in the network of each node": lambda: run_of(
        grid("switch", 2, 4, reduces=True), collective("all_reduce", "Y"), algorithm="in_network"
    ),
    "by way of the middle": lambda: run_of(
        machine("line", 5), collective("all_reduce"), algorithm="reduce_broadcast", chunks=4
    ),
}


# The laws, on every fabric.


def comes_in(one: Slice) -> bool:
    """Whether it is the second port of a hop through a switch."""
    return one.thread.endswith("in port") and one.args["sender"].startswith("chip")


def check_messages(run: Run, trace: Event) -> None:
    """Every hop is a slice on each thing that it holds, with its ticks and bytes."""
    intervals = [interval for interval in run.timeline.intervals if interval.message is not None]
    shown = slices(trace)
    assert len(shown) == len(intervals)
    chips = dict(enumerate(run.timeline.chips, start=1))
    held = Counter((i.track.chip, i.start, i.end, number(i.size)) for i in intervals)
    found = Counter(
        (chips[one.pid], *(one.args[key] for key in ("start_ticks", "end_ticks", "bytes")))
        for one in shown
    )
    assert found == held


def check_arrows(trace: Event) -> dict[Slice, list[Slice]]:
    """Arrows go forward in time, to the chip where the slice before has come to.

    Returns the slices that lead to each.
    """
    into = defaultdict(list)
    for before, after in arrows(trace):
        into[after].append(before)
        start = int(after.args["start_ticks"])
        if before.message != after.message:
            assert before.args["hop"] == before.args["hops"]
            assert after.args["hop"] == 1
            assert before.args["receiver"] == after.args["sender"]
            assert int(before.args["arrival_ticks"]) <= start
        elif before.args["hop"] == after.args["hop"]:  # through a switch
            assert before.thread.endswith("out port")
            assert after.thread.endswith("in port")
            assert before.args == after.args
            assert after.args["to"] == after.chip
        else:
            assert before.args["hop"] + 1 == after.args["hop"]
            assert before.args["to"] == after.chip
            assert int(before.args["arrival_ticks"]) <= start
    for one in slices(trace):
        if one.args["hop"] > 1 or comes_in(one):
            assert len(into[one]) == 1  # the hop before, or the port out
    return into


def check_blocks(run: Run, trace: Event, into: dict[Slice, list[Slice]]) -> None:
    """What a message carries is its sender's own, or has come along an arrow."""
    shown = slices(trace)
    for index, step in enumerate(run.plan.steps):
        assert isinstance(step, CollectiveStep)
        firsts = [
            one
            for one in shown
            if one.args["step"] == index + 1 and one.args["hop"] == 1 and not comes_in(one)
        ]
        cells = Cells(run, index, firsts)
        for one in firsts:
            place = place_of(run, index, one.args["sender"])
            carried = cells.of(one.args["blocks"])
            came = [cells.of(source.args["blocks"]) for source in into[one]]
            assert all(some & carried for some in came)  # no arrow for nothing
            if step.op in {"all_gather", "all_to_all"}:
                assert place is not None
                own = {cell for cell in carried if cell[0][: len(place)] == place}
                assert carried - own <= set().union(*came)


def check_sums(run: Run, trace: Event, into: dict[Slice, list[Slice]]) -> None:
    """Along the arrows of a sum every chip's part comes in once; in the end all of them."""
    shown = slices(trace)
    for index, step in enumerate(run.plan.steps):
        assert isinstance(step, CollectiveStep)
        firsts = [
            one
            for one in shown
            if one.args["step"] == index + 1 and one.args["hop"] == 1 and not comes_in(one)
        ]
        cells = Cells(run, index, firsts)
        parts: dict[tuple[Any, ...], dict[Any, Counter[str]]] = {}
        for one in sorted(firsts, key=lambda one: int(one.args["start_ticks"])):
            sources = into[one]
            whole = [s for s in sources if s.args["action"] == "store"]
            found = {}
            for cell in cells.of(one.args["blocks"]):
                stored = [s for s in whole if cell in parts[s.message]]
                if stored:
                    (source,) = stored
                    found[cell] = parts[source.message][cell]
                    continue
                sum_ = Counter([one.args["sender"]] if "chip" in one.args["sender"] else [])
                for source in sources:
                    sum_ += parts[source.message].get(cell, Counter())
                found[cell] = sum_
            parts[one.message] = found
        for one in firsts:
            for sum_ in parts[one.message].values():
                assert set(sum_.values()) == {1}
                if one.args["action"] == "store":
                    assert len(sum_) == step.call.group.size


def check(run: Run) -> None:
    trace = trace_events(run)
    assert faults(as_text(trace)) == []
    check_messages(run, trace)
    into = check_arrows(trace)
    check_blocks(run, trace, into)
    ops = {step.op for step in run.plan.steps}
    direct = any("direct" in step.step.call.method.name for step in run.steps)  # type: ignore[union-attr]
    if ops <= {"all_reduce", "reduce_scatter"} and not direct:
        check_sums(run, trace, into)


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("fabric", FABRICS)
def test_the_laws_hold_on_every_fabric(fabric: str, op: str) -> None:
    check(FABRICS[fabric](op))


@pytest.mark.parametrize("way", ALL_REDUCES)
def test_the_laws_hold_for_every_way_to_all_reduce(way: str) -> None:
    check(ALL_REDUCES[way]())


@given(
    dimensions=st.lists(
        st.tuples(st.integers(2, 4), st.sampled_from(["ring", "line", "switch"])),
        min_size=1,
        max_size=2,
    ),
    op=st.sampled_from(KINDS),
    schedule=st.sampled_from([None, "rotated", "balanced", "sequential"]),
    chunks=st.integers(1, 2),
    bandwidths=st.tuples(*[st.integers(1, 97)] * 2),
    latencies=st.tuples(*[st.integers(0, 9)] * 2),
    backwards=st.booleans(),
)
def test_the_laws_hold_on_any_machine(
    dimensions: list[tuple[int, str]],
    op: str,
    schedule: str | None,
    chunks: int,
    bandwidths: tuple[int, int],
    latencies: tuple[int, int],
    backwards: bool,
) -> None:
    where = topology(
        *(
            dimension(name, size, kind, bandwidth=bandwidth * 10**9, latency=f"{latency} us")
            for name, (size, kind), bandwidth, latency in zip(
                "ab", dimensions, bandwidths, latencies, strict=False
            )
        )
    )
    axes = "XY"[: len(dimensions)]
    program = collective(op, axes[::-1] if backwards else axes)
    check(run_of(where, program, schedule=schedule, chunks=chunks))


# What a message carries.

GATHER = collective("all_gather")


def on_thread(run: Run, chip: str, thread: str) -> list[Slice]:
    """The messages on a link or port, in order."""
    found = [one for one in slices(trace_events(run)) if (one.chip, one.thread) == (chip, thread)]
    return sorted(found, key=lambda one: one.start)


def messages_of(run: Run, pid: int) -> list[Event]:
    return [event for event in of_phase(trace_events(run), "X", "message") if event["pid"] == pid]


def test_a_message_is_named_by_the_blocks_it_carries() -> None:
    run = run_on(machine("ring", 4), GATHER)
    assert sorted(event["name"] for event in messages_of(run, 2)) == [
        "AllGather_X block 0 [0, 1/2)",
        "AllGather_X block 1",
        "AllGather_X block 1",
        "AllGather_X block 2 [1/2, 1)",
    ]
    run = run_on(machine("ring", 10), collective("all_to_all"))
    first = messages_of(run, 1)[0]
    assert first["name"] == "AllToAll_{X,J} blocks 0→1, 0→2, 0→3 and 2 more"
    assert first["args"]["blocks"] == ["0→1", "0→2", "0→3", "0→4", "0→5 [0, 1/2)"]


def test_blocks_over_two_axes_have_two_places() -> None:
    where = grid("ring", 3, 4)
    run = run_on(where, collective("all_gather", "XY"), schedule="sequential")
    assert [one.args["blocks"] for one in on_thread(run, "chip (1, 2)", Y_UP)] == [
        ["(*, 2)"],
        ["(*, 1) [0, 1/2)"],
    ]
    first, *_ = messages_of(run, 7)
    assert first["name"] == "AllGather_XY block (1, 2)"
    run = run_on(where, collective("all_to_all", "YX"), schedule="sequential")
    assert [one.args["blocks"] for one in on_thread(run, "chip (1, 2)", Y_UP)] == [
        # Y is the major axis of I, but places are in the order of the mesh
        ["(*, 2)→(1, 3)", "(*, 2)→(1, 0) [0, 1/2)"],
        ["(*, 1)→(1, 3) [0, 1/2)"],
    ]
    run = run_on(where, collective("all_gather", "XY"), schedule="rotated")
    assert on_thread(run, "chip (1, 2)", Y_UP)[0].args["blocks"] == ["(1, 2) [1/2, 1)"]


def test_in_the_middle_way_a_message_carries_a_chunk_of_every_block() -> None:
    run = ALL_REDUCES["by way of the middle"]()
    found = on_thread(run, "chip (0)", "X+ link (dimension x)")
    assert [one.args["blocks"] for one in found] == [
        ["* [0, 1/4)"],
        ["* [1/4, 1/2)"],
        ["* [1/2, 3/4)"],
        ["* [3/4, 1)"],
    ]


EVEN = {
    "a ring": (grid("ring", 4), "X"),
    "an odd ring": (grid("ring", 5), "X"),
    "a line": (grid("line", 4), "X"),
    "a line of 2": (grid("line", 2), "X"),
    "a torus": (grid("ring", 4, 4), "XY"),
    "lines": (grid("line", 3, 3), "XY"),
    "a switch": (grid("switch", 4), "X"),
    "nodes": (grid("switch", 2, 3), "XY"),
}


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("where", EVEN)
def test_bytes_of_the_busiest_chip_are_the_wire_bytes(where: str, op: str) -> None:
    machine_, axes = EVEN[where]
    run = run_of(machine_, collective(op, axes))
    sent: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for one in slices(trace_events(run)):
        if not one.thread.endswith("in port"):
            sent[one.args["step"]][one.pid] += one.args["bytes"]
    for number_, step in enumerate(run.plan.steps, start=1):
        assert isinstance(step, CollectiveStep)
        assert max(sent[number_].values()) == step.price.wire_bytes


# Ways of several hops, and switches.


def test_a_message_of_several_hops_goes_from_chip_to_chip() -> None:
    run = FABRICS["a strided axis"]("all_gather")
    trace = trace_events(run)
    way = [
        one
        for one in slices(trace)
        if one.args["sender"] == "chip (13)" and one.args["receiver"] == "chip (1)"
    ]
    assert len(way) == 2 * 4  # its own block, and half of the block from behind
    own = sorted((one for one in way if one.args["message"] == 1), key=lambda one: one.start)
    assert [one.chip for one in own] == ["chip (13)", "chip (14)", "chip (15)", "chip (0)"]
    assert [one.args["to"] for one in own] == ["chip (14)", "chip (15)", "chip (0)", "chip (1)"]
    assert [(one.args["hop"], one.args["hops"]) for one in own] == [(n, 4) for n in (1, 2, 3, 4)]
    assert {tuple(one.args["blocks"]) for one in own} == {("3",)}
    assert len({one.args["bytes"] for one in own}) == 1
    into = check_arrows(trace)
    assert [into[one] for one in own] == [[], *([one] for one in own[:-1])]
    # 16 chips send 4 messages of 4 hops; 2 of them pass on what came.
    assert len(of_phase(trace, "s")) == 16 * (4 * 3 + 2)


def test_a_message_through_a_switch_holds_two_ports_at_once() -> None:
    run = FABRICS["a switch of 8"]("all_to_all")
    trace = trace_events(run)
    shown = slices(trace)
    out = {one.args["blocks"][0]: one for one in shown if one.thread == "gpu out port"}
    into = {one.args["blocks"][0]: one for one in shown if one.thread == "gpu in port"}
    assert len(shown) == 2 * 8 * 7
    assert out.keys() == into.keys() == {f"{a}→{b}" for a in range(8) for b in range(8) if a != b}
    for blocks, one in out.items():
        sender, receiver = blocks.split("→")
        assert (one.chip, into[blocks].chip) == (f"chip ({sender})", f"chip ({receiver})")
        assert one.args == into[blocks].args
        assert (one.start, one.end) == (into[blocks].start, into[blocks].end)
    assert {before.args["blocks"][0]: after for before, after in arrows(trace)} == into


def test_a_way_may_go_over_links_and_through_switches() -> None:
    run = FABRICS["an order across nodes"]("all_gather")
    ways = defaultdict(list)
    for one in sorted(slices(trace_events(run)), key=lambda one: (one.args["hop"], one.tid)):
        ways[one.message].append((one.args["hop"], one.chip, one.thread))
    # Chips (0, 0) and (1, 2) follow each other: through the switch, then two links along x.
    (way,) = (
        way
        for (_, sender, receiver, *_, blocks), way in ways.items()
        if (sender, receiver, blocks) == ("chip (0, 0)", "chip (1, 2)", ("0",))
    )
    assert sorted(way) == [
        (1, "chip (0, 0)", "slice out port"),
        (1, "chip (1, 0)", "slice in port"),
        (2, "chip (1, 0)", "x+ link (dimension x)"),
        (3, "chip (1, 1)", "x+ link (dimension x)"),
    ]


@pytest.mark.parametrize(("chips", "chunks"), [(2, 1), (4, 1), (4, 3)])
def test_a_switch_that_adds_is_in_the_names_and_no_process(chips: int, chunks: int) -> None:
    run = run_of(
        machine("switch", chips, reduces=True),
        collective("all_reduce"),
        algorithm="in_network",
        chunks=chunks,
    )
    trace = trace_events(run)
    assert list(names(trace, "process_name").values()) == [f"chip ({n})" for n in range(chips)]
    ends: Counter[tuple[str, str, str]] = Counter()
    for one in slices(trace):
        ends[one.thread, one.args["sender"], one.args["to"]] += 1
    assert ends == {
        (thread, *way): chunks * (chips + 1)
        for chip in range(chips)
        for thread, way in (
            ("x out port", (f"chip ({chip})", "x switch (*)")),
            ("x in port", ("x switch (*)", f"chip ({chip})")),
        )
    }
    # Each chip's sum comes from all chips; the chip has it handed out to all.
    assert len(of_phase(trace, "s")) == chunks * (chips * chips + chips + chips * chips)


def test_the_switch_of_a_node_is_named_by_where_it_stands() -> None:
    run = ALL_REDUCES["in the network of each node"]()
    receivers = {one.args["receiver"] for one in slices(trace_events(run)) if "out" in one.thread}
    assert receivers == {"gpu switch (0, *)", "gpu switch (1, *)"}


# Arrows along one axis.


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize(
    ("kind", "algorithm"),
    [
        ("line", None),
        ("ring", None),
        ("ring", "whole_shards"),
        ("ring", "half_shards"),
        ("ring", "one_direction"),
        ("switch", None),
        ("switch", "ring"),
    ],
)
def test_what_waits_passes_on_something_that_came(
    op: str, size: int, kind: str, algorithm: str | None
) -> None:
    run = run_of(machine(kind, size), collective(op), algorithm=algorithm)
    check(run)
    trace = trace_events(run)
    into, call = check_arrows(trace), only_call(run).call
    for one in slices(trace):
        if comes_in(one):
            continue
        direct = kind == "switch" and algorithm is None
        channel = Channel(0, 0 if direct else -1 if "- link" in one.thread else +1)
        send = program_of(call, (one.pid - 1,)).sends(channel)[one.args["message"] - 1]
        assert bool(into[one]) == bool(send.needs)
        assert one.args["messages"] == len(program_of(call, (one.pid - 1,)).sends(channel))


@pytest.mark.parametrize(
    ("kind", "algorithm"),
    [("line", None), ("ring", None), ("ring", "half_shards"), ("ring", "one_direction")],
)
def test_in_an_all_reduce_sums_come_from_sums_and_whole_blocks_from_one_place(
    kind: str, algorithm: str | None
) -> None:
    run = run_of(machine(kind, 4), collective("all_reduce"), algorithm=algorithm)
    trace = trace_events(run)
    into = check_arrows(trace)
    for one in slices(trace):
        actions = [source.args["action"] for source in into[one]]
        own = str(one.pid - 1) == one.args["blocks"][0].partition(" ")[0]
        if one.args["action"] == "store" and not own:
            assert actions == ["store"]
        else:
            assert set(actions) <= {"add"}


def test_a_gathered_block_goes_all_the_way_along_its_arrows() -> None:
    trace = trace_events(run_on(machine("ring", 5), GATHER, algorithm="one_direction"))
    assert len(of_phase(trace, "X", "message")) == 20
    assert len(of_phase(trace, "s")) == 15  # each of 5 blocks makes 4 hops: 3 arrows


def test_a_sum_meets_from_both_sides_before_it_is_gathered() -> None:
    trace = trace_events(run_of(machine("line", 3), collective("all_reduce")))
    into = check_arrows(trace)
    gathers = [one for one in into if one.pid == 2 and one.args["message"] == 2]  # its own block
    assert len(gathers) == 2  # sent both ways
    for one in gathers:
        assert {(s.chip, s.args["action"]) for s in into[one]} == {
            ("chip (0)", "add"),
            ("chip (2)", "add"),
        }


def test_of_many_parts_of_a_sum_on_one_channel_the_last_is_shown() -> None:
    trace = trace_events(run_of(machine("switch", 4), collective("all_reduce")))
    into = check_arrows(trace)
    for one in slices(trace):
        if comes_in(one) or one.args["action"] == "add":
            continue
        (source,) = into[one]
        parts = [s for s in slices(trace) if (s.tid, s.args["action"]) == (source.tid, "add")]
        assert len(parts) == 3
        assert source == max(parts, key=lambda part: part.start)


def test_of_three_axes_all_that_is_gathered_has_come() -> None:
    program = collective("all_gather", "XYZ")
    run = run_on(grid("ring", 3, 3, 3), program, i=1458, schedule="sequential")
    trace = trace_events(run)
    into = check_arrows(trace)
    found = [one for one in into if one.args["blocks"] == ["(*, *, 0)"] and one.pid == 1]
    assert len(found) == 2  # up and down Z
    for one in found:
        brought = sorted(source.args["blocks"][0] for source in into[one])
        assert brought == ["(*, 1, 0)", "(*, 2, 0)", "(1, 0, 0)", "(2, 0, 0)"]


def test_a_sum_that_came_back_complete_is_not_shown_as_parts() -> None:
    whole = (Fraction(0), Fraction(1))

    def came(at: int, number: int, block: int, action: Action) -> Arrival:
        message = Message((1,), (0, +1, 0), number)
        return Arrival(at, message, action, (Region((block,), whole),))

    mine = came(1, 0, 0, Action.ADD)
    passed_on, back = came(2, 1, 1, Action.ADD), came(3, 2, 1, Action.STORE)
    inbox = Inbox([back, passed_on, mine], sizes=(2,))
    both = [Region((ALL,), whole)]
    assert set(inbox.sources(both, until=3)) == {mine.message, back.message}
    assert inbox.sources(both, until=2) == [passed_on.message]
    assert inbox.sources([Region((1,), whole)], until=9) == [back.message]
    assert inbox.sources([Region((0,), whole)], until=0) == []
