"""Tables and strip charts: what is said, and where."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from shardsim.api import run
from shardsim.comparison import Run
from shardsim.comparison.rows import busiest_chip
from shardsim.report import gantt, render, run_report
from shardsim.timeline import Activity, Core, Interval, LinkDirection, Timeline
from tests.command_line import command

CORE, PLUS, MINUS = Core((0,)), LinkDirection((0,), "x", +1), LinkDirection((0,), "x", -1)
OTHER = Core((1,))


def shown(program: str | list[str], **settings: Any) -> list[str]:
    """The lines of a run's report."""
    return render(run_report(run(program, **settings)), io.StringIO()).splitlines()


def after(title: str, lines: list[str]) -> list[str]:
    """The lines from a title to the next blank line."""
    start = lines.index(title) + 1
    return lines[start : [*lines, ""].index("", start)]


# strip charts


def hand_made(*spans: tuple[Any, int, int, int], end: int) -> Run:
    """A run on a ring of 8 whose first chips did just this, in ticks of 1/10 s."""
    base = run("AllGather_X A[I_X] -> A[I]", topology="ring-of-8", dims={"I": 8})
    intervals = tuple(
        Interval(track, start, stop, stop, step, number)
        for number, (track, start, stop, step) in enumerate(spans)
    )
    chips = sorted({interval.track.chip for interval in intervals}) or [(0,)]
    timeline = Timeline(
        ticks_per_second=10,
        intervals=intervals,
        activities=tuple(Activity(0, chip, 0, end) for chip in chips),
    )
    totals = replace(base.totals, simulated_seconds=timeline.makespan)
    return replace(base, timeline=timeline, totals=totals)


def test_rows_of_a_chip() -> None:
    """8 ticks of 0.1 s; the core has 4 of them, one link 4, the other 1 (12.5 %, even: 12)."""
    strip = gantt(hand_made((CORE, 0, 4, 0), (PLUS, 4, 8, 1), (MINUS, 7, 8, 1), end=8), width=8)
    assert strip == [
        "    core 1111....  50%",
        " link X+ ....2222  50%",
        " link X- .......2  12%",
        "         0 800 ms",
    ]


@pytest.mark.parametrize(
    ("spans", "width", "strip"),
    [
        ([(0, 8, 0)], 4, "1111"),
        ([(0, 1, 0), (7, 8, 1)], 4, "1..2"),  # half of a column is enough
        ([(0, 3, 0)], 1, "-"),  # 3 of 8 is less than half, and not idle
        ([(0, 3, 0), (3, 8, 1)], 1, "2"),  # the longer of two steps
        ([(0, 4, 3), (4, 8, 1)], 1, "2"),  # a tie: the earlier step
        ([(0, 2, 1), (2, 4, 0), (4, 6, 1), (6, 8, 2)], 1, "2"),  # 4 ticks together
        ([(0, 1, 8), (1, 2, 9), (2, 3, 34), (3, 4, 35), (4, 5, 99)], 8, "9az##..."),
        ([(3, 5, 0)], 16, "......1111......"),  # columns finer than ticks
    ],
)
def test_marks(spans: list[tuple[int, int, int]], width: int, strip: str) -> None:
    row = gantt(hand_made(*((CORE, *span) for span in spans), end=8), width=width)[0]
    assert row.split()[1] == strip


@pytest.mark.parametrize(
    ("busy", "share"), [(1, " <1%"), (9, " <1%"), (10, "  1%"), (15, "  2%"), (1000, "100%")]
)
def test_shares(busy: int, share: str) -> None:
    """In 1000 ticks: 0.1, 0.9, 1, 1.5 and 100 %."""
    assert gantt(hand_made((CORE, 0, busy, 0), end=1000))[0].endswith(f" {share}")


def test_the_busiest_chip_is_shown() -> None:
    two = hand_made((CORE, 0, 4, 0), (OTHER, 0, 3, 0), (LinkDirection((1,), "x", -1), 2, 4, 1),
                    end=4)  # fmt: skip
    assert busiest_chip(two) == (1,)
    assert gantt(two, width=4) == [
        "    core 111.  75%", " link X- ..22  50%", f"{'':>8} 0{'400 ms':>3}",
    ]  # fmt: skip
    alike = hand_made((CORE, 0, 4, 0), (OTHER, 0, 4, 0), end=4)
    assert busiest_chip(alike) == (0,)


def test_nothing_happens() -> None:
    assert gantt(hand_made(end=0)) == []
    lines = shown("AllGather_X A[I_X] -> A[I]", topology="v5e:1x1", dims={"I": 1})
    assert after("Steps", lines) == ["  nothing to do: no chip computes or communicates"]
    assert "no step takes time" in after("Totals", lines)[0]
    assert [line for line in lines if line.startswith("Chip")] == []


def test_the_strip_fits_a_terminal_of_80_columns() -> None:
    strip = gantt(run("AllGather_X A[I_X] -> A[I]", topology="ring-of-8", dims={"I": 8}))
    assert max(map(len, strip)) == 78


# tables


def test_steps() -> None:
    """V = 64 x 64 x 2 bytes = 8.19 kB over a ring of 8; HBM traffic 2 (2 x 64 x 8 + 64 x 64) bytes.

    Scatter and gather: 4 hops of 1 us and 7/8 V / 90 GB/s = 0.08 us each; by the book 4 us each.
    """
    lines = shown(
        "A[I, J_X] · B[J_X, K] -> C[I, K]", topology="ring-of-8", dims=dict.fromkeys("IJK", 64)
    )
    assert (
        after("Steps", lines)[:4]
        == """\
#   step                                          works on      book     exact   simulated
──────────────────────────────────────────────────────────────────────────────────────────
1   A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}   10.2 kB of HBM   12.5 ns   12.5 ns     12.5 ns
2   AllReduce_X C[I, K]{U_X} -> C[I, K]            8.19 kB      8 µs   8.16 µs     8.16 µs
""".splitlines()
    )


def test_a_slice_is_free() -> None:
    lines = shown(
        "A[I, J] · B[J, K] -> C[I_X, K]", topology="ring-of-8", dims=dict.fromkeys("IJK", 8)
    )
    assert after("Steps", lines)[2].split()[-3:] == ["free", "free", "free"]


def test_a_long_step_goes_on_before_its_result() -> None:
    line = "first_array[I, J] · second_array[J, K] -> result_of_both[I, K]"
    lines = shown(line, topology="v5e:1x1", dims={"I": 8, "J": 8, "K": 8})
    rows = after("Steps", lines)[2:]
    assert rows[0].startswith("1   first_array[I, J] · second_array[J, K]   ")
    assert rows[1] == "      -> result_of_both[I, K]"


@pytest.mark.parametrize(
    ("topology", "mark"), [("v5e-row-of-8", "≥ 7.00 µs"), ("ring-of-8", "4.00 µs")]
)
def test_a_lower_bound_is_marked(topology: str, mark: str) -> None:
    """16 bytes to each other: by far the most is latency, 7 hops on the line and 4 on the ring.

    The line's closed form is a lower bound; the simulation has a message wait for another.
    """
    lines = shown("AllToAll_{X,J} A[I_X, J] -> A[I, J_X]", topology=topology, dims="I=8,J=64")
    row = after("Steps", lines)[2]
    assert f"   {mark}   " in row
    assert ("≥" in row) is (topology == "v5e-row-of-8")


@pytest.mark.parametrize(
    ("topology", "settings", "exact"),
    [
        ("v5e-row-of-8", {}, "on a line of 8: 7/8 V/w + 7a, w = 45 GB/s one way, a = 1 µs"),
        ("ring-of-8", {}, "on a ring of 8, balanced: 7/8 V/2w + 4a, w = 45 GB/s one way, a = 1 µs"),
        (
            "ring-of-8",
            {"algorithm": "whole_shards"},
            "on a ring of 8, whole_shards: 4/8 V/w + 4a, w = 45 GB/s one way, a = 1 µs",
        ),
        (
            "v5e-row-of-8",
            {"latency_model": "floor"},
            "on a line of 8: 7/8 V/w, a message taking at least a, w = ",
        ),
    ],
)
def test_the_formulas_are_told(topology: str, settings: dict[str, str], exact: str) -> None:
    lines = shown("AllGather_X A[I_X] -> A[I]", topology=topology, dims={"I": 8}, **settings)
    assert any(line.startswith(f"  1 exact, {exact}") for line in lines)
    assert "  1 book, any axis taken for a ring: max(V/2w, 4a)" in lines


@pytest.mark.parametrize(
    ("columns", "fits"),
    [
        (3_998_000, "16 GB    fits in 16 GB = 14.9 GiB"),
        (3_998_001, "16.0 GB    DOES NOT FIT in 16 GB = 14.9 GiB"),
    ],
)
def test_memory(columns: int, fits: str) -> None:
    """I J + I + J elements with I = 2000 are (I + 1)(J + 1) - 1.

    2001 x 3,998,001 = 8 x 10^9 + 1, so for J = 3,998,000 the two bytes of each make 16 GB exactly.
    """
    lines = shown("A[I] · B[J] -> C[I, J]", topology="v5e:1x1", dims={"I": 2000, "J": columns})
    assert after("Totals", lines)[5].split(maxsplit=3)[3] == fits


def test_totals() -> None:
    """2 x 4096^3 FLOPs at 197 TFLOP/s: 698 us; 128 bytes over 8 chips: 4 hops, hidden."""
    lines = shown(
        ["A[I, J] · B[J, K] -> C[I, K]", "AllGather_X D[L_X] -> E[L]"],
        topology="ring-of-8",
        dims={"I": 4096, "J": 4096, "K": 4096, "L": 64},
    )
    assert after("Totals", lines)[:5] == [
        "  simulated           698 µs    bound by compute",
        "  at least            698 µs    ideal: the busiest core or link, latency apart",
        "  in turn             702 µs    none: one step after the other",
        "  compute             698 µs    100.0% of peak FLOP/s",
        "  communication      4.00 µs    0 ns exposed, 100% hidden behind compute",
    ]


def test_the_busiest_link() -> None:
    """360 elements of 2 bytes: 7/8 of 720 bytes, half on each of a chip's two links."""
    lines = shown("AllGather_X A[I_X] -> A[I]", topology="ring-of-8", dims={"I": 360})
    assert "  busiest link         315 B    chip (0), x-: 0.2% of its bandwidth" in lines


def test_w_and_a_of_each_segment() -> None:
    lines = shown("AllGather_XY A[I_XY] -> A[I]", topology="h100:4x8", dims={"I": 2**20})
    text = " ".join(" ".join(after("Steps", lines)).split())
    assert (
        "1 exact, on a switch of 4 and a switch of 8, sequential(direct, direct): "
        "node: 3/4 (1/8 V)/w + a then gpu: 7/8 V/w + a; "
        "on node w = 50 GB/s one way, a = 20 µs; on gpu w = 450 GB/s one way, a = 830 ns"
    ) in text
    assert "any axis taken for a ring" not in text


ADVICE = (
    "! step 1: Y takes 288 µs as it lies, and 71.9 µs by layout X=x:(1)8+y:(1)8,Y=x:(8)2+y:(8)2, "
    "where the same takes 108 µs over X instead of 91.8 µs"
)


def test_advice_under_the_steps() -> None:
    settings = {
        "topology": "v5e:16x16", "mesh": "X=64,Y=4", "layout": "X=x+y:(4)4,Y=y:(1)4",
        "dims": {"I": 2**22},
    }  # fmt: skip
    text = " ".join(" ".join(after("Steps", shown("AllGather_Y A[I_Y]", **settings))).split())
    assert ADVICE in text
    given = ("--on", "v5e:16x16", "--mesh", "X=64,Y=4", "--layout", "X=x+y:(4)4,Y=y:(1)4")
    planned = command("plan", "AllGather_Y A[I_Y]", *given, "--dims", f"I={2**22}").out
    assert ADVICE in " ".join(planned.split())


def test_real_links_are_told() -> None:
    line, dims = "AllGather_X A[I_X] -> A[I]", {"I": 360}
    assert not [s for s in shown(line, topology="h100:8", dims=dims) if "real links" in s]
    given = shown(line, topology="h100:8", dims=dims, efficiency=0.9, launch_overhead="5 us")
    assert given[3] == (
        "  real links: messages reach 0.9 of the bandwidth; each collective waits 5 µs before its "
        "first"
    )
    measured = " ".join(" ".join(shown(line, topology="h100-measured:8", dims=dims)).split())
    assert "real links: all_gather, reduce_scatter, all_reduce, all_to_all as meas" in measured
    assert "error: within 4 % of the table" in measured


def test_without_communication_nothing_is_said_to_be_hidden() -> None:
    lines = shown("A[I, J] · B[J, K] -> C[I, K]", topology="v5e:1x1", dims=dict.fromkeys("IJK", 8))
    assert after("Totals", lines)[4] == "  communication          0 ns    nothing is sent"
    assert "  X: 1 chip: no link" in lines


# what the four rules miss

RULE_2 = ("A[I, J_X] · B[J, K_Y] -> C[I, K_Y]", "--on", "v5p:4x4x4", "--dims",
          "I=4096,J=4096,K=4096")  # fmt: skip


def test_a_cheaper_plan_beyond_the_four_rules_is_told() -> None:
    """Rule 2: 3/4 of 33.6 MB / 180 GB/s + 2 us = 141.8 us, and a matmul of 74.9 us: 216.7 us.

    Slicing B: a matmul of a quarter, 18.7 us, and an AllReduce of 8.39 MB, 73.9 us: 92.6 us.
    """
    expected = (
        "  57% less time, step after step, with policy cheapest: 217 µs to 92.6 µs\n"
        "     slice B[J, K_Y] -> B[J_X, K_Y]\n"
        "     A[I, J_X] · B[J_X, K_Y] -> C[I, K_Y]{U_X}\n"
        "     AllReduce_X C[I, K_Y]{U_X} -> C[I, K_Y]\n"
    )
    assert expected in command("run", *RULE_2, "--policy", "textbook").out
    assert expected in command("plan", *RULE_2, "--policy", "textbook").out
    cheapest = command("run", *RULE_2, "--policy", "cheapest").out
    assert "less time" not in cheapest
    assert command("run", *RULE_2).out == cheapest


def test_the_default_says_what_the_rules_would_cost() -> None:
    said = "the plan departs from these rules, which would cost 217 µs instead of 92.6 µs\n"
    assert said in command("plan", *RULE_2).out
    assert said not in command("plan", *RULE_2, "--policy", "textbook").out


def test_by_bytes_the_plan_of_fewer_bytes_is_told() -> None:
    """By bytes the first of the ways is not textbook: 11.2 us and 537 kB, against 8.9 and 793."""
    line = ("A[I_X, J] · B[J, K_X] -> C[I, K]", "--on", "v5p:4x4x4", "--dims", "I=64,J=8192,K=64")
    text = command("plan", *line, "--objective", "bytes", "--policy", "textbook").out
    assert "      11.2 µs      537 kB   16.8 MFLOP   no " in text
    assert "taken   8.87 µs      793 kB   16.8 MFLOP   yes " in text
    assert "  32% fewer bytes per chip with policy cheapest: 793 kB to 537 kB\n" in text
    assert "less time" not in text


@pytest.mark.parametrize(
    ("policy", "taken"),
    [
        ("textbook", "taken    217 µs     25.2 MB   34.4 GFLOP   yes       AllGather_X A[I, J_X]"),
        ("cheapest", "taken   92.6 µs     12.6 MB   8.59 GFLOP   no        slice B[J, K_Y] -> "),
    ],
)  # fmt: skip
def test_the_way_that_is_taken_is_always_among_those_shown(policy: str, taken: str) -> None:
    lines = command("plan", *RULE_2, "--policy", policy).out.splitlines()
    (found,) = [line for line in lines if line.startswith("taken")]
    assert found.startswith(taken)


def test_a_narrow_terminal_wraps_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    result = run("AllGather_X A[I_X] -> A[I]", topology="v5e:4x4", dims={"I": 8})
    text = render(run_report(result), Terminal())
    assert "  X: 4 chips, line along x, 45 GB/s one way, 1 µs a hop: v5e\n     wraps a dim" in text
