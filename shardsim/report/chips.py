"""Chips as text: all of them in a table, or one with its ladder, its figures and their sources."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from shardsim.catalogue import chip_figures, chip_names, chips, facts, generation_of, one_chip
from shardsim.catalogue.generations import Generation
from shardsim.catalogue.ladder import ladder, main_dtype, plain_chips
from shardsim.catalogue.nodes import Node
from shardsim.report.parts import Sentence, new_table, title
from shardsim.units import (
    format_bytes,
    format_capacity,
    format_flops,
    format_rate,
    format_seconds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from shardsim.catalogue.making import Made
    from shardsim.hardware import Chip
    from shardsim.topology import Topology

__all__ = ["chip_report", "chips_report", "fact_text", "machine_lines"]

SHOWN_ELSEWHERE = (
    "chips",
    "hosts",
    "nodes",
    "hbm_capacity_bytes",
    "hbm_bandwidth_bytes_per_second",
)


def chips_report() -> RenderableType:
    """All chips of the catalogue: a row for each."""
    table = new_table("chip", "peak", "8-bit", "HBM", "HBM/s", "ICI, NVLink", "DCN, NIC", "FLOP/B")
    for column in table.columns[1:]:
        column.justify = "right"
        column.no_wrap = True
    for name in plain_chips():
        made = chips()[name]
        chip = made.chip
        dtype = main_dtype(chip)
        table.add_row(
            *map(
                Text,
                (
                    name,
                    f"{'' if dtype.value == 'bf16' else f'{dtype.value} '}"
                    f"{format_rate(chip.peak(dtype), 'FLOP')}",
                    _eight_bit(chip),
                    format_bytes(chip.hbm_capacity),
                    format_rate(chip.hbm_bandwidth),
                    *_links(made),
                    _figure(chip.peak(dtype) / chip.hbm_bandwidth),
                ),
            )
        )
    measured = [name for name in chip_names() if name not in plain_chips()]
    return Group(
        table,
        Text(),
        Sentence("peak: bf16, dense; 8-bit: the faster of int8 and fp8"),
        Sentence(
            "ICI: of each link of a torus of 2 or 3 dimensions; NVLink: a GPU's port; one way"
        ),
        Sentence("FLOP/B: FLOPs per byte from HBM that keep the matrix unit busy"),
        Sentence(f"with measured collectives: {', '.join(measured)}"),
        Sentence("one chip, with every figure and its source: shardsim show v5e"),
    )


def _eight_bit(chip: Chip) -> str:
    rates = {rate: dtype.value for dtype, rate in chip.peaks if dtype.bytes == 1}
    return f"{rates[max(rates)]} {format_rate(max(rates), 'FLOP')}" if rates else "-"


def _links(made: Made) -> tuple[str, str]:
    """What one link or port does, and what a chip has of the network outside."""
    if isinstance(made, Generation):
        dcn = "-" if made.dcn is None else format_rate(made.dcn.one_way_bandwidth)
        return f"{made.rank}D {format_rate(made.link.one_way_bandwidth)}", dcn
    if isinstance(made, Node):
        return format_rate(made.link.one_way_bandwidth), format_rate(made.nic.one_way_bandwidth)
    return "-", "-"


def chip_report(word: str) -> RenderableType:
    """One chip: the ladder of its machine, what follows, and every figure with its sources.

    Args:
        word: Its name or an alias.

    Raises:
        InputError: no chip has that name.
    """
    made = generation_of(word)
    chip = made.chip
    topology = one_chip(chip.name)
    parts: list[RenderableType] = [
        Text(f"{chip.name}: {chip.title}", style="bold"),
        *_head(chip, made),
        title("Ladder"),
        _ladder(chip),
        *_ladder_notes(chip),
    ]
    rows = [
        (name, value)
        for name, value in facts(topology).items()
        if name not in SHOWN_ELSEWHERE
        and name.rpartition("_flops_per_second")[0] not in _dtypes(chip)
    ]
    if rows:
        table = new_table("fact", "value")
        for name, value in rows:
            words, text = fact_text(name, value)
            table.add_row(Text(words), Text(text))
        parts += [title("What follows"), table]
    return Group(*parts, title("Figures"), _figures(chip.name), *_where(made))


def _dtypes(chip: Chip) -> set[str]:
    return {dtype.value for dtype, _ in chip.peaks}


def _head(chip: Chip, made: Made) -> Iterator[RenderableType]:
    yield Sentence(f"HBM {format_capacity(chip.hbm_capacity)} at {format_rate(chip.hbm_bandwidth)}")
    if isinstance(made, Generation):
        pod = f"{made.pod_chips:,} chips"
        shape = "" if made.pod is None else f", {'x'.join(map(str, made.pod))}"
        yield Sentence(f"slices of {made.rank} dimensions at most; a pod is {pod}{shape}")
    elif isinstance(made, Node):
        adds = "; its switch can add" if made.reduces else ""
        yield Sentence(f"{made.gpus} GPUs to a node{adds}")
    else:
        yield Sentence("no figures of how several are joined: it is alone, or in a topology file")


def _ladder(chip: Chip) -> Table:
    dtype = main_dtype(chip)
    table = new_table("", "holds", "rate", "x next", f"FLOP/B, {dtype.value}", "a full HBM", "")
    for column in table.columns[1:6]:
        column.justify = "right"
        column.no_wrap = True
    for each, rate in chip.peaks:
        table.add_row(
            Text(f"matmul, {each.value}"), "", Text(format_rate(rate, "FLOP")), "", "", "", ""
        )
    for rung in ladder(chip):
        one = rung.channel
        table.add_row(
            Text(one.kind.label),
            Text("" if one.capacity is None else format_bytes(one.capacity)),
            Text(format_rate(one.bandwidth)),
            Text("" if rung.ratio is None else _figure(rung.ratio)),
            Text(_figure(rung.needed)),
            Text(format_seconds(rung.fill)),
            Text(one.note),
        )
    return table


def _ladder_notes(chip: Chip) -> Iterator[RenderableType]:
    dtype = main_dtype(chip).value
    yield Text()
    yield Sentence("x next: how many times as fast as the line below it")
    yield Sentence(f"FLOP/B: FLOPs per byte that keep the matrix unit busy, in {dtype}")
    yield Sentence("a full HBM: how long as many bytes as HBM holds take")


def _figures(name: str) -> Table:
    table = new_table("figure", "value", "source")
    table.columns[1].no_wrap = True
    for figure in chip_figures(name):
        used = figure.used
        table.add_row(Text(figure.name), Text(used.text), Text(used.source))
        for other in figure.alternatives:
            table.add_row(Text("  or"), Text(other.text), Text(other.source), style="dim")
    return table


def _where(made: Made) -> Iterator[RenderableType]:
    if isinstance(made, Node) and made.of:
        yield Text()
        yield Sentence(f"measured collectives: shardsim show {made.chip.name}:{made.gpus}")


def machine_lines(topology: Topology) -> Iterator[str]:
    """What a machine comes to as a whole, a line for chips and a line for links."""
    found = facts(topology)
    dtype = main_dtype(topology.chip).value if topology.chip.peaks else ""
    said = [f"{dtype} {format_rate(found[f'{dtype}_flops_per_second'], 'FLOP')}"] if dtype else []
    capacity = format_capacity(found["hbm_capacity_bytes"])
    said.append(f"HBM {capacity} at {format_rate(found['hbm_bandwidth_bytes_per_second'])}")
    for name, word in (("hosts", "host"), ("nodes", "node")):
        if name in found:
            said.append(f"{found[name]:,} {word}{'s' * (found[name] != 1)}")
    yield f"all of it: {', '.join(said)}"
    if "bisection_bytes_per_second" in found:
        halves = format_rate(found["bisection_bytes_per_second"])
        links = format_rate(found["links_bytes_per_second"])
        yield f"links: {links} all together; {halves} from half to half, one way"


def fact_text(name: str, value: Fraction | int) -> tuple[str, str]:
    """A fact for people: its name in words, and its value with the unit that the name ends in.

    >>> fact_text("hbm_capacity_bytes", 16 * 10**9), fact_text("vector_alus", 8192)
    (('HBM capacity', '16 GB = 14.9 GiB'), ('vector ALUs', '8,192'))
    """
    endings = {
        "_bytes_per_second": format_rate,
        "_flops_per_second": lambda amount: format_rate(amount, "FLOP"),
        "_flops_per_dollar": lambda amount: f"{format_flops(amount)} for a USD",
        "_bytes": format_capacity,
    }
    words, per, what = name.partition("_per_second_per_")
    ending = next((one for one in endings if f"{words}{per and '_per_second'}".endswith(one)), "")
    if name == "flops_per_dollar":
        return "bf16 FLOPs", f"{format_flops(value)} for a USD"
    if name == "usd_per_hour":
        return "price", f"{float(value):g} USD/h"
    if not ending:
        return _spelled(name), f"{value:,}"
    stem = f"{words}{per and '_per_second'}".removesuffix(ending)
    suffix = f", of a {what}" if per else ""
    unit = {"_flops_per_second": " FLOP/s", "_flops_per_dollar": " FLOPs"}.get(ending, "")
    return f"{_spelled(stem)}{unit}{suffix}", endings[ending](value)


def _spelled(name: str) -> str:
    capitals = ("hbm", "dcn", "vmem", "smem", "tmem", "l2", "alus", "gpus")
    words = name.split("_")
    return " ".join(
        {"alus": "ALUs", "gpus": "GPUs"}.get(word, word.upper()) if word in capitals else word
        for word in words
    )


def _figure(value: Fraction) -> str:
    """A ratio for people.

    >>> _figure(Fraction(24024, 100)), _figure(Fraction(9, 2)), _figure(Fraction(63040))
    ('240', '4.5', '63,040')
    """
    number = float(value)
    return f"{number:.3g}" if number < 1000 else f"{round(number):,}"
