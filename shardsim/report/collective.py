"""One collective as text: its three times, bandwidths as benchmarks count them, and why."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shardsim.comparison.collectives import SIZE_MEANS
from shardsim.report.parts import SIGNS, Advice, Sentence, axis_lines, in_words, title
from shardsim.topology import spot
from shardsim.units import format_bytes, format_rate, format_seconds
from shardsim.vocabulary import (
    Algorithm,
    CollectiveKind,
    DimensionKind,
    Relation,
    Schedule,
    TransferKind,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.comparison import CollectiveRun
    from shardsim.units import Bytes, BytesPerSecond

__all__ = ["collective_report", "size_in_words"]

BINARY = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
MOST_ORDERS = 4
SCHEDULES = {
    Schedule.ROTATED: "{n} orders at once, each with an equal share of the data",
    Schedule.BALANCED: "{n} orders at once, with shares that load all links alike",
    Schedule.SEQUENTIAL: "one order, the whole of the data",
    Schedule.TIERED: "one tier after the other, {n} orders at once inside",
}


def collective_report(run: CollectiveRun) -> RenderableType:
    """Head, sizes, times with their formulas, bandwidths, orders, real links, advice."""
    parts: list[RenderableType] = [*_head(run), *(Advice(text) for text in run.advice)]
    parts += [title("Time"), _times(run), *(Sentence(text) for text in _time_notes(run))]
    parts += [title("Bandwidth"), _bandwidths(run)]
    parts += [Sentence(text) for text in _bandwidth_notes(run)]
    orders = list(_orders(run))
    if orders:
        parts += [title("Order"), *(Sentence(text) for text in orders)]
    if len(run.others) > 1:
        parts += [title("Methods"), _methods(run)]
    parts += [title("Real links"), *(Sentence(text) for text in _real_links(run))]
    return Group(*parts)


def size_in_words(size: Bytes) -> str:
    """Bytes in powers of 2 where that is short, and in powers of ten.

    >>> size_in_words(Fraction(2**29)), size_in_words(Fraction(10**9)), size_in_words(Fraction(40))
    ('512 MiB = 537 MB', '1 GB', '40 B')
    """
    shown = format_bytes(size)
    for scale, unit in BINARY:
        value = Fraction(size) / scale
        if value >= 1:
            short = (value * 4).denominator == 1 and value < 1024
            return f"{float(value):g} {unit} = {shown}" if short else shown
    return shown


def _name(run: CollectiveRun) -> str:
    if isinstance(run.kind, CollectiveKind):
        return run.kind.notation
    return run.kind.value.capitalize()


def _head(run: CollectiveRun) -> Iterator[RenderableType]:
    topology, group = run.topology, run.call.group
    size = size_in_words(run.benchmark_size).split(" = ")[0]
    chip = topology.chip
    machine = Text(f"on {topology.name}: {topology.size:,} x {chip.title or chip.name}")
    if run.kind is TransferKind.SEND:
        order = group.mesh.order or ()
        first, last = spot(order[0]), spot(order[-1])
        yield Text(f"Send of {size} from chip {first} to chip {last}", style="bold")
        yield machine
        for number, call in enumerate(run.calls, start=1):
            way = call.group.mesh.order or ()
            name = f"way {number}: " if len(run.calls) > 1 else "way: "
            yield Sentence(name + ", ".join(map(spot, way)))
        yield Sentence(_sizes(run))
        return
    yield Text(f"{_name(run)} of {size} over {', '.join(group.axes)}", style="bold")
    yield machine
    mesh = group.mesh
    sizes = " ".join(f"{axis.name}={axis.size}" for axis in mesh.axes)
    count = len(group.instances)
    groups = "all chips are one group" if count == 1 else f"{count:,} groups at once"
    yield Text(f"mesh {sizes}; {groups} of {group.size:,}" if count > 1 else f"mesh {sizes}")
    for name in group.axes:
        yield from axis_lines(mesh.axis(name))
    yield Sentence(_sizes(run))
    yield Sentence(_method(run))


def _sizes(run: CollectiveRun) -> str:
    """S, V and what a chip holds."""
    n, whole, means = run.chips, run.size, SIZE_MEANS[run.kind]
    s = size_in_words(run.benchmark_size)
    each = size_in_words(whole / n)
    match run.kind:
        case CollectiveKind.ALL_GATHER:
            more = f"each chip holds {each} before"
        case CollectiveKind.REDUCE_SCATTER:
            more = f"{each} after"
        case CollectiveKind.ALL_TO_ALL | TransferKind.PERMUTE:
            what = "all shards together" if run.kind is CollectiveKind.ALL_TO_ALL else "all of them"
            return f"S = {s}: {means}; V = {n} S = {size_in_words(whole)}: {what}"
        case TransferKind.GATHER:
            root = run.call.group.instances[0][run.call.root]
            more = f"each chip holds {each} before, and chip {spot(root)} gets all"
        case TransferKind.SEND:
            ways = len(run.calls)
            more = f"{size_in_words(whole / ways)} on each of {ways} ways" if ways > 1 else ""
        case _:
            more = f"a block is {each}"
    return f"S = V = {s}: {means}" + (f"; {more}" if more else "")


def _method(run: CollectiveRun) -> str:
    call = run.call
    method, segments = call.method, call.group.segments
    if run.kind is TransferKind.PERMUTE:
        places = f"{abs(call.shift)} place{'s' * (abs(call.shift) != 1)}"
        way = "up" if call.shift > 0 else "down"
        return f"shift by {call.shift}: each chip sends to the chip {places} {way}, round the end"
    if not segments:
        return "one chip: nothing to do"
    each = ", ".join(
        f"{algorithm.value} on {segment.name}"
        for algorithm, segment in zip(method.algorithms, segments, strict=True)
    )
    text = f"by {each}"
    if len(segments) > 1:
        streams = len(method.streams)
        text += f"; {method.schedule.value}: {SCHEDULES[method.schedule].format(n=streams)}"
    return text + (f"; in {method.chunks} chunks" if method.chunks > 1 else "")


def _grid(rows: list[tuple[str, str, str]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold")
    for name, value, note in rows:
        table.add_row(Text(f"  {name}"), Text(value), Text(note))
    return table


def _times(run: CollectiveRun) -> Table:
    price = run.price
    return _grid(
        [
            ("book", format_seconds(price.book), price.book_formula),
            (
                "exact",
                SIGNS[price.relation] + format_seconds(price.exact.total),
                price.exact_formula,
            ),
            ("simulated", format_seconds(run.simulated), _relation(run)),
        ]
    )


def _relation(run: CollectiveRun) -> str:
    """How the closed form stands to the simulation, in words."""
    exact, simulated = run.price.exact.total, run.simulated
    off = abs(simulated / exact - 1) if exact else Fraction(0)
    by = f"{float(off):.1%}"
    match run.price.relation:
        case Relation.EQUAL:
            return "exact and simulated are equal"
        case Relation.LOWER_BOUND if not off:
            return "as exact; exact is a lower bound here: it takes at least that"
        case Relation.LOWER_BOUND:
            return f"{by} above exact, a lower bound here: it takes at least that"
        case Relation.UPPER_BOUND if not off:
            return "as exact; exact is an upper bound here: it takes at most that"
        case Relation.UPPER_BOUND:
            return f"{by} below exact, an upper bound here: it takes at most that"
        case _:
            chunks = run.call.method.chunks
            plural = "s" if chunks > 1 else ""
            return f"{by} above exact, the limit of many chunks; {chunks} chunk{plural} here"


def _time_notes(run: CollectiveRun) -> Iterator[str]:
    if run.chips > 1:
        yield in_words(run.call)
    on_line = any(s.kind is DimensionKind.LINE for s in run.call.group.segments)
    if on_line and isinstance(run.kind, CollectiveKind):
        text = "the book's formula takes any line for a ring"
        wrapped = run.if_wrapped
        also = "" if wrapped is None else f"; if it wrapped, exact {format_seconds(wrapped)}"
        yield text + also
    if len(run.calls) > 1:
        yield "formulas of the way that takes longest; V is what goes on it"


def _bandwidths(run: CollectiveRun) -> Table:
    rows = [
        ("algbw", format_rate(run.algbw), "S / simulated time"),
        ("busbw", format_rate(run.busbw), _busbw(run) if run.chips > 1 else "nothing is sent"),
    ]
    if run.links:
        busiest = run.links[0]
        alike = sum((use.busy, use.carried) == (busiest.busy, busiest.carried) for use in run.links)
        others = f", and {alike - 1:,} like it" if alike > 1 else ""
        rows += [
            (
                "wire",
                f"{float(busiest.utilization):.1%}",
                f"of {format_rate(busiest.bandwidth)} on the busiest link: {busiest.name}{others}",
            ),
            (
                "wire bytes",
                format_bytes(run.price.wire_bytes),
                "leave the busiest chip"
                if run.topology.is_regular and _is_switched(run)
                else "leave the busiest chip, those of others that it forwards included",
            ),
        ]
    return _grid(rows)


def _is_switched(run: CollectiveRun) -> bool:
    return all(segment.kind is DimensionKind.SWITCH for segment in run.call.group.segments)


def _busbw(run: CollectiveRun) -> str:
    n = run.chips
    match run.kind:
        case TransferKind.PERMUTE | TransferKind.SEND:
            return "= algbw"
        case CollectiveKind.ALL_REDUCE:
            share = f"2 x {n - 1}/{n}"
        case _:
            share = f"{n - 1}/{n}"
    return f"algbw x {share}: what a ring of messages would send from each chip"


def _bandwidth_notes(run: CollectiveRun) -> Iterator[str]:
    """Where busbw is above the rate of a link: why."""
    segments = run.call.group.segments
    if not segments or run.kind is TransferKind.SEND:
        return
    rates: dict[str, BytesPerSecond] = {s.name: s.link.one_way_bandwidth for s in segments}
    slow = min(rates, key=lambda name: rates[name])
    if run.busbw <= rates[slow]:
        return
    above = f"busbw is above the {format_rate(rates[slow])} of one link"
    if Algorithm.IN_NETWORK in run.call.method.algorithms:
        yield f"{above}: the switch adds, so a chip sends less than in a ring of messages"
    elif len(set(rates.values())) > 1:
        yield f"{above} of {slow}: most of the bytes stay on faster links"
    elif run.kind is CollectiveKind.ALL_TO_ALL:
        yield f"{above}: a chip sends on several links at once"
    else:
        links = sum(1 if s.kind is DimensionKind.SWITCH else 2 for s in segments)
        yield f"{above}: a chip sends on up to {links} links at once"


def _orders(run: CollectiveRun) -> Iterator[str]:
    """The orders in which the segments could be gone through, with what each takes."""
    orders = run.orders
    if orders is None:
        return
    method = run.call.method
    alone = method.schedule is Schedule.SEQUENTIAL and method.chunks == 1
    taken = method.streams[0].order if alone else None
    prices = orders.prices
    bound = "at least " if run.price.relation is Relation.LOWER_BOUND else ""
    if len({seconds for _, seconds in prices}) == 1:
        same = format_seconds(prices[0][1])
        if alone:
            yield f"any order of {', '.join(orders.names)} takes the same, {bound}{same}"
        else:
            yield f"one order alone would take {bound}{same}, whichever it is"
        return
    shown = [*prices[: MOST_ORDERS - 1], prices[-1]] if len(prices) > MOST_ORDERS else prices
    for order, seconds in shown:
        mark = " (taken)" if order == taken else ""
        yield f"{_order(run, order)}: {bound}{format_seconds(seconds)}{mark}"
    if len(prices) > len(shown):
        yield f"{len(prices)} orders in all; these are the cheapest and the dearest"
    rates = [segment.link.one_way_bandwidth for segment in run.call.group.segments]
    first = next(iter(prices))[0][0]
    if len(set(rates)) > 1 and rates[first] == min(rates):
        yield "the cheapest has the slow links move the smallest shards"


def _methods(run: CollectiveRun) -> Table:
    """The closed forms of every method, the cheapest first."""
    rows = []
    for other in run.others:
        note = {
            Relation.EQUAL: "",
            Relation.LOWER_BOUND: "at least",
            Relation.UPPER_BOUND: "at most",
            Relation.LIMIT: "with many chunks",
        }[other.relation]
        taken = "taken" if other.method == run.call.method else ""
        both = ", ".join(part for part in (note, taken) if part)
        rows.append((other.method.name, format_seconds(other.seconds), both))
    if run.bound is not None:
        note = "what no method over these links can beat, latency apart"
        rows.append(("bound", format_seconds(run.bound), note))
    return _grid(rows)


def _order(run: CollectiveRun, order: tuple[int, ...]) -> str:
    """What is gone through, first to last."""
    phases = run.phases(order)
    if run.kind is CollectiveKind.ALL_REDUCE:
        half = len(phases) // 2
        first, second = ", then ".join(phases[:half]), ", then ".join(phases[half:])
        return f"scatter over {first}; gather over {second}"
    return ", then ".join(phases)


def _real_links(run: CollectiveRun) -> Iterator[str]:
    """What stands between datasheet rates and this result, where it is from, how far it is off."""
    call, calibration = run.call, run.topology.calibration
    measured = calibration.knows(run.kind)
    if call.efficiency == 1 and not call.launch and not measured:
        ways = "--efficiency, --launch-overhead, or a measured chip"
        yield f"datasheet rates; real links reach less: {ways}"
        return
    said = f"{float(call.efficiency):.3g} of each link's bandwidth"
    said += f", {format_seconds(call.launch)} before the first message"
    if not measured:
        yield f"{said}: as given"
        return
    curve = calibration.curve(run.kind, run.chips)
    yield f"{said}: measured, {run.kind.value} over {curve.chips} chips"
    if curve.chips != run.chips:
        yield f"nothing was measured over {run.chips} chips; these are the figures of {curve.chips}"
    if calibration.source:
        yield f"source: {calibration.source}"
    if calibration.band and curve.chips == run.chips:
        yield f"error: {calibration.band}"
