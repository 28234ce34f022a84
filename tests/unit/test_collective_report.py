"""The report of one collective: sizes, relation, bandwidths, orders, real links, advice; JSON."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

import shardsim as ss
from shardsim.comparison.collectives import SIZE_MEANS
from shardsim.report import collective_report, render
from shardsim.report.collective import size_in_words
from shardsim.report.parts import filled
from shardsim.scenario.single import KINDS
from shardsim.vocabulary import CallKind, TransferKind
from tests.command_line import command


def shown(*arguments: str) -> list[str]:
    """The lines of `shardsim collective ...`."""
    result = command("collective", *arguments)
    assert (result.code, result.err) == (0, "")
    return result.out.splitlines()


def joined(lines: list[str]) -> str:
    """The report with wrapped lines put together again."""
    return " ".join(" ".join(lines).split())


def after(title: str, lines: list[str]) -> list[str]:
    """The lines from a title to the next blank line."""
    start = lines.index(title) + 1
    return lines[start : [*lines, ""].index("", start)]


# sizes


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (2**29, "512 MiB = 537 MB"),
        (3 * 2**19, "1.5 MiB = 1.57 MB"),
        (2**49, "512 TiB = 563 TB"),
        (2**50, "1.13 PB"),
        (2**10, "1 KiB = 1.02 kB"),
        (10**6, "1 MB"),  # 976.5625 KiB
        (4 * 10**6, "4 MB"),  # 3906.25 KiB, which is MiB by size and no quarter of one
        (768, "768 B"),
        (0, "0 B"),
    ],
)
def test_sizes_in_words(size: int, text: str) -> None:
    assert size_in_words(ss.collective("ag", size=1, topology="v5e:4x4").size * size) == text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("ag", "S = V = 4 kB: the gathered array; each chip holds 1 kB before"),
        ("rs", "S = V = 4 kB: the array that each chip holds before; 1 kB after"),
        ("ar", "S = V = 4 kB: the array that each chip holds; a block is 1 kB"),
        (
            "a2a",
            "S = 4 kB: what each chip sends, its own part counted; V = 4 S = 16 kB: all",
        ),
        ("permute", "S = 4 kB: what each chip sends; V = 4 S = 16 kB: all of them"),
        (
            "gather",
            "S = V = 4 kB: the gathered array; each chip holds 1 kB before, and chip (0, 0) gets",
        ),
    ],
)
def test_what_the_size_is(kind: str, text: str) -> None:
    lines = shown(kind, "--size", "4kB", "--on", "v5e:4x4", "--axes", "Y")
    assert text in joined(lines)


def test_the_512_mib_of_a_node() -> None:
    """The two ways to count bytes: 512 MiB gathered, 64 MiB on each of 8 chips."""
    text = joined(shown("ag", "--size", "512MiB", "--on", "h100:8"))
    assert "S = V = 512 MiB = 537 MB: the gathered array; each chip holds 64 MiB = 67.1 MB" in text


# the three times


def test_times_with_formulas() -> None:
    """V = 100 MB over a line of 4: 3/4 V/w = 1.667 ms and 3 us; by the book V/2w = 1.11 ms."""
    lines = shown("rs", "--size", "100MB", "--on", "v5e:8x4", "--axes", "Y")
    assert after("Time", lines) == [
        "  book         1.11 ms    max(V/2w, 2a)",
        "  exact        1.67 ms    3/4 V/w + 3a",
        "  simulated    1.67 ms    exact and simulated are equal",
        "  w = 45 GB/s one way, a = 1 µs",
        "  the book's formula takes any line for a ring; if it wrapped, exact 835 µs",
    ]


@pytest.mark.parametrize(
    ("arguments", "relation"),
    [
        ("ag --on v5e:16x16", "exact and simulated are equal"),
        ("a2a --on v5e:4x4", " above exact, a lower bound here: it takes at least that"),
        ("a2a --on v5e:3x1 --axes X", "exact and simulated are equal"),
        ("ag --on v5e:4x8", " below exact, an upper bound here: it takes at most that"),
        ("ar --on h100:8 --algorithm in_network", "the limit of many chunks; 16 chunks here"),
        ("ar --on h100:8 --algorithm in_network --chunks 1", "many chunks; 1 chunk here"),
        ("ag --on v5e:1x1", "exact and simulated are equal"),
    ],
)
def test_the_relation_in_words(arguments: str, relation: str) -> None:
    (line,) = [s for s in shown(*arguments.split(), "--size", "1MB") if " simulated  " in s]
    assert line.endswith(relation)


def test_w_and_a_of_each_tier() -> None:
    lines = shown("ag", "--size", "512MiB", "--on", "h100:4x8")
    assert (
        "  on node w = 50 GB/s one way, a = 20 µs; on gpu w = 450 GB/s one way, a = 830 ns" in lines
    )


def test_the_book_sends_without_stores() -> None:
    """8 MB over a way of 2 hops: V/w = 177.8 us and 2 us; stored whole at each, twice V/w."""
    given = ("--size", "8MB", "--on", "v5e:4x4", "--from", "0,0", "--to", "0,2")
    assert after("Time", shown("send", *given))[:2] == [
        "  book         180 µs    V/w + 2a",
        "  exact        358 µs    2 V/w + 2a",
    ]


def test_the_methods_the_cheapest_first() -> None:
    lines = shown("ar", "--size", "32MiB", "--on", "v5e:8")
    assert after("Methods", lines) == [
        "  reduce_broadcast in 16 chunks    1.08 ms",
        "  line                             1.32 ms    taken",
    ]
    lines = shown("ar", "--size", "32MiB", "--on", "h100:8")
    assert [line.split()[0] for line in after("Methods", lines)] == ["in_network", "direct", "ring"]


# bandwidths


def test_bandwidths_of_a_measured_node() -> None:
    """S/t and 7/8 S/t, as nccl-tests print them: 383 and 335 GB/s."""
    run = ss.collective("ag", size="512 MiB", topology="h100-measured:8")
    assert run.busbw == run.algbw * 7 / 8
    lines = shown("ag", "--size", "512MiB", "--on", "h100-measured:8")
    assert after("Bandwidth", lines)[:2] == [
        "  algbw         383 GB/s    S / simulated time",
        "  busbw         335 GB/s    "
        "algbw x 7/8: what a ring of messages would send from each chip",
    ]


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        ("ag --on v5e:16x16", "the 45 GB/s of one link: a chip sends on up to 4 links at once"),
        ("ag --on v5e:16x4 --axes X", "the 45 GB/s of one link: a chip sends on up to 2 links at"),
        ("ag --on h100:4x8", "the 50 GB/s of one link of node: most of the bytes stay on faster"),
        (
            "ar --on h100:8 --algorithm in_network",
            "the 450 GB/s of one link: the switch adds, so a chip sends less than in a ring",
        ),
        ("a2a --on v4:4x4x4 --axes X", "the 45 GB/s of one link: a chip sends on several links"),
        ("ag --on h100:8", None),
        ("ag --on v5e:8x4 --axes Y", None),
    ],
)
def test_why_busbw_is_above_the_wire(arguments: str, note: str | None) -> None:
    text = joined(shown(*arguments.split(), "--size", "512MiB"))
    if note is None:
        assert "busbw is above" not in text
    else:
        assert f"busbw is above {note}" in text


def test_the_busiest_link_is_named() -> None:
    lines = shown("rs", "--size", "64MiB", "--on", "slow-link-4x4")
    (wire,) = [line for line in lines if line.startswith("  wire  ")]
    assert wire.endswith("of 15 GB/s on the busiest link: chip (1, 2), x+, and 1 like it")


@pytest.mark.parametrize(
    "topology", ["v5e:4x4", "v5e:16x16", "h100:2x8", "slow-link-4x4", "v4:4x4x4"]
)
@pytest.mark.parametrize("kind", ["ag", "rs", "ar", "a2a"])
def test_no_wire_is_used_beyond_its_bandwidth(kind: str, topology: str) -> None:
    run = ss.collective(kind, size="4 MiB", topology=topology)
    assert 0 < run.wire_utilization <= 1
    assert all(use.utilization <= 1 for use in run.links)


# orders


def test_orders_of_tiers() -> None:
    """The slow tier first moves shards of 1/32; last, whole eighths."""
    lines = after("Order", shown("ag", "--size", "512MiB", "--on", "h100:4x8"))
    assert lines == [
        "  node, then gpu: 2.07 ms (taken)",
        "  gpu, then node: 8.33 ms",
        "  the cheapest has the slow links move the smallest shards",
    ]


def test_a_reduce_scatter_goes_backwards() -> None:
    lines = after("Order", shown("rs", "--size", "512MiB", "--on", "h100:4x8"))
    assert lines[0] == "  gpu, then node: 2.07 ms (taken)"


def test_an_all_reduce_scatters_and_gathers() -> None:
    lines = after("Order", shown("ar", "--size", "512MiB", "--on", "h100:4x8"))
    assert lines[:2] == [
        "  scatter over gpu, then node; gather over node, then gpu: 4.14 ms (taken)",
        "  scatter over node, then gpu; gather over gpu, then node: 16.7 ms",
    ]


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        ("sequential", "  any order of x, y takes the same, 5.96 ms"),
        ("rotated", "  one order alone would take 5.96 ms, whichever it is"),
    ],
)
def test_orders_that_cost_the_same(schedule: str, text: str) -> None:
    given = ("--size", "512MiB", "--on", "v5e:16x16", "--schedule", schedule)
    assert after("Order", shown("ag", *given)) == [text]


def test_many_orders_are_cut() -> None:
    lines = after("Order", shown("ag", "--size", "1GiB", "--on", "2*v5e:4x4"))
    assert len(lines) == 6
    assert lines[4] == "  6 orders in all; these are the cheapest and the dearest"


def test_one_segment_has_no_order() -> None:
    assert "Order" not in shown("ag", "--size", "1MB", "--on", "h100:8")


# real links


def test_datasheet_rates_are_said_to_be_that() -> None:
    lines = after("Real links", shown("ag", "--size", "1MB", "--on", "h100:8"))
    assert lines[0].startswith(
        "  datasheet rates; real links reach less: --efficiency, --launch-ov"
    )


def test_what_is_given_of_real_links() -> None:
    """0.9 of 45 GB/s, so 1 MB x 3/4 / 40.5 GB/s = 18.5 us; 3 us and 5 us."""
    given = ("--size", "1MB", "--on", "v5e:8x4", "--axes", "Y")
    lines = shown("ag", *given, "--efficiency", "0.9", "--launch-overhead", "5us")
    assert after("Time", lines)[1:4] == [
        "  exact        26.5 µs    3/4 V/w + 3a + launch",
        "  simulated    26.5 µs    exact and simulated are equal",
        "  w = 0.9 x 45 GB/s one way, a = 1 µs; launch = 5 µs",
    ]
    assert after("Real links", lines) == [
        "  0.9 of each link's bandwidth, 5 µs before the first message: as given"
    ]


def test_measured_curves_have_source_and_band() -> None:
    lines = after("Real links", shown("a2a", "--size", "64MiB", "--on", "h100-measured:8"))
    text = joined(lines)
    assert "before the first message: measured, all_to_all over 8 chips" in text
    assert "source: tables measured by aiconfigurator (Apache-2.0), NCCL 2.29.2" in text
    assert "error: within 4 % of the table from 16 MiB on" in text


def test_a_number_of_chips_that_was_not_measured_is_said() -> None:
    text = joined(shown("ag", "--size", "64MiB", "--on", "h100-measured:3"))
    assert "nothing was measured over 3 chips; these are the figures of 2" in text
    assert "error: " not in text


# advice


def test_advice_stands_before_the_times() -> None:
    given = ("--size", "32MiB", "--on", "v5e:2x2", "--mesh", "X=4", "--devices", "0,0 1,1 0,1 1,0")
    lines = shown("ar", *given)
    (at,) = [index for index, line in enumerate(lines) if line.startswith("! ")]
    assert lines[at].startswith(
        "! X in the order given takes 1.22 ms; 563 µs as a ring, layout X=r"
    )
    assert at < lines.index("Time")
    coloured = command("collective", "ar", *given, terminal=True).out
    assert "\x1b[1;33m! X in the order given" in coloured


def test_the_advised_layout_takes_what_the_advice_says() -> None:
    given = {"size": "64 MiB", "topology": "v5e:16x16", "mesh": "X=64,Y=4", "axes": "Y"}
    strided = ss.collective("ag", layout="X=x+y:(4)4,Y=y:(1)4", **given)
    (advice,) = strided.advice
    layout = advice.split("layout ")[1].split(", where")[0]
    better = ss.collective("ag", layout=layout, **given)
    assert better.simulated < strided.simulated
    assert better.advice == ()


def test_no_advice_where_axes_lie_well() -> None:
    assert not [s for s in shown("ag", "--size", "1MB", "--on", "v5e:16x16") if s.startswith("!")]


def test_coordinates_are_not_torn() -> None:
    assert filled("at (0, 1), (2, 3)", 12, "", "") == "at (0, 1),\n(2, 3)"


# JSON

KEYS = {
    "format", "op", "topology", "chips", "latency_model", "segments", "algorithm", "bytes",
    "bytes_per_chip", "benchmark_bytes", "benchmark_bytes_are", "wire_bytes_per_chip",
    "efficiency", "launch_seconds", "calibration", "book_seconds", "exact_seconds", "relation",
    "simulated_seconds", "book_formula", "exact_formula", "algbw_bytes_per_second",
    "busbw_bytes_per_second", "wire_utilization", "busiest_link", "orders", "advice",
    "methods", "bound_seconds", "exact_if_wrapped_seconds",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_json(kind: CallKind) -> None:
    given = ["--axes", "X"]
    more = {"mesh", "axes"}
    if kind is TransferKind.SEND:
        given, more = ["--from", "0,0", "--to", "2,2", "--ways", "2"], {"ways"}
    more |= {TransferKind.PERMUTE: {"shift"}, TransferKind.GATHER: {"root"}}.get(kind, set())  # type: ignore[call-overload]
    result = command("collective", kind.value, "--size", "1MB", "--on", "v5e:4x4", *given, "--json")
    assert (result.code, result.err) == (0, "")
    document: dict[str, Any] = json.loads(result.out)
    assert document.keys() == KEYS | more
    assert document["format"] == "shardsim/collective/1"
    assert (document["op"], document["benchmark_bytes"]) == (kind.value, 10**6)
    assert document["benchmark_bytes_are"] == SIZE_MEANS[kind]
    assert document["busiest_link"].keys() == {
        "chip", "link", "one_way_bandwidth_bytes_per_second", "bytes", "busy_seconds",
        "utilization",
    }  # fmt: skip


def test_json_of_orders_and_calibration() -> None:
    document = ss.collective("rs", size="1 MiB", topology="h100:4x8").to_dict()
    assert [entry["order"] for entry in document["orders"]] == [["gpu", "node"], ["node", "gpu"]]
    assert document["calibration"] is None
    document = ss.collective("ar", size="1 MiB", topology="h100:2x8").to_dict()
    assert document["orders"][0]["order"] == ["gpu", "node", "node", "gpu"]
    document = ss.collective("ar", size="1 MiB", topology="h100-measured:8").to_dict()
    assert document["calibration"]["band"].startswith("within 4 %")


def test_json_and_python_are_the_same() -> None:
    given = ("--size", "1MiB", "--on", "v4:4x4x4", "--axes", "X,Y", "--json")
    printed = json.loads(command("collective", "ag", *given).out)
    assert printed == ss.collective("AG", size="1 MiB", topology="v4:4x4x4", axes="X,Y").to_dict()


def test_many_chips_are_noted_on_a_terminal() -> None:
    given = ("ag", "--size", "1MB", "--on", "v4:8x8x8", "--axes", "X", "--json")
    assert "simulating 512 chips" in command("collective", *given, terminal=True).err


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "ar", "topology": "2*v5e:4x4"},
        {"kind": "ag", "topology": "h100-measured:8"},
        {"kind": "send", "topology": "v5e:16x16", "start": "0,0", "end": "7,7", "ways": 2},
        {"kind": "ag", "topology": "v5e:16x16", "mesh": "X=64,Y=4", "axes": "X"},
    ],
)
def test_a_report_fits_80_columns(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "80")
    run = ss.collective(settings.pop("kind"), size="1 GiB", **settings)
    lines = render(collective_report(run), Terminal()).splitlines()
    assert 60 < max(map(len, lines)) <= 80
