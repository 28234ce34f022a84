"""What a question may be about: each subject with its quantities by name, found when asked for."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from shardsim.documents import described, nearest
from shardsim.documents.fields import dtype_of
from shardsim.errors import ScenarioError
from shardsim.units import parse_count, parse_quantity
from shardsim.vocabulary import ChannelKind, CollectiveKind

if TYPE_CHECKING:
    from shardsim.comparison import CollectiveRun
    from shardsim.comparison.prices import Priced
    from shardsim.hardware import Channel
    from shardsim.rooflines import Answer, Critical

__all__ = ["SUBJECTS", "Quantities", "Value", "known_inputs"]

ZERO = Fraction(0)

Value = Fraction | int | None
Quantities = Mapping[str, Callable[[], Value]]


def known_inputs(
    function: Callable[..., Any],
    given: Mapping[str, Any],
    what: str,
    also: tuple[str, ...] = (),
) -> None:
    """Refuses inputs that a function does not take.

    Args:
        function: What takes them.
        given: The inputs by name.
        what: What they are inputs of, for people.
        also: More names that it takes.

    Raises:
        ScenarioError: it has no such input.
    """
    parameters = inspect.signature(function).parameters.values()
    known = [*(one.name for one in parameters if one.kind is not one.VAR_KEYWORD), *also]
    for name in given:
        if name not in known:
            why = f"{what} has no input {name!r}; it has {', '.join(known)}"
            raise ScenarioError(why, nearest(name, known) or "leave it out")


def _roofline(
    statements: str | list[str] | None = None,
    *,
    against: str | None = None,
    split: Any = None,
    fused: bool | str = False,
    **asked: Any,
) -> Quantities:
    """Statements, or FLOPs and bytes, on a machine; `against`: the channel solved against.

    `split` names two axes; then `solve` is the batch.
    """
    from shardsim.rooflines import ask_roofline, split_chips
    from shardsim.rooflines.asking import SETTINGS

    if str(fused).lower() not in ("true", "false"):
        raise ScenarioError(f"fused is true or false; it is {described(fused)}", "write true")
    if split is not None and not (isinstance(split, list) and len(split) == 2):
        raise ScenarioError("split is a list of two axes", "write split: [X, Y]")
    known_inputs(ask_roofline, asked, "roofline", SETTINGS)
    answer = ask_roofline(statements, fused=str(fused).lower() == "true", **asked)
    one = answer.roofline
    chips = one.clock.topology.size
    found: dict[str, Callable[[], Value]] = {
        "flops_per_chip": lambda: one.flops,
        "flops": lambda: one.flops * chips,
        "bytes_per_chip": lambda: one.bytes_moved,
        "intensity_flops_per_byte": lambda: one.intensity,
        "compute_seconds": lambda: one.compute_seconds,
        "memory_seconds": lambda: one.memory_seconds,
        "network_seconds": lambda: one.network_seconds,
        "book_network_seconds": lambda: one.book_network_seconds,
        "network_bytes": lambda: sum((talk.size for talk in one.talks), Fraction(0)),
        "lower_bound_seconds": one.lower_bound,
        "book_lower_bound_seconds": lambda: one.lower_bound(book=True),
        "upper_bound_seconds": one.upper_bound,
        "attained_flops_per_second": lambda: one.attained,
    }
    if answer.solve is not None:
        for word in ("approximate", "exact"):
            found[word] = partial(_solved, answer, against, word)
            found[f"{word}_per_chip"] = partial(_per_chip, answer, against, word)
            found[f"{word}_ways"] = partial(_ways, answer, against, word)
    if split is not None and answer.solve is not None:
        cut = split_chips(one, answer.solve, *split)
        found |= {
            "split_size": lambda: cut.size,
            "split_critical_per_chip": lambda: cut.critical,
            "split_critical": lambda: cut.critical * chips,
        }
    return found


def _per_chip(answer: Answer, against: str | None, word: str) -> Value:
    value = _solved(answer, against, word)
    chips = answer.roofline.clock.topology.size
    return None if value is None else Fraction(value) / chips


def _ways(answer: Answer, against: str | None, word: str) -> Value:
    return answer.ways(_critical(answer, against), approximate=word == "approximate")


def _critical(answer: Answer, against: str | None) -> Critical:
    """What was solved for: against one channel, or the last of them that is met."""
    if against is not None:
        for one in answer.solved:
            if one.channel.value == against:
                return one
        known = ", ".join(one.channel.value for one in answer.solved)
        why = f"nothing is solved against {against}; against {known or 'nothing'}"
        raise ScenarioError(why, "name one of these under against")
    found = answer.highest
    if found is None:
        why = f"computing never takes as long as something else, for any {answer.solve}"
        raise ScenarioError(why, "solve for another dimension")
    return found


def _solved(answer: Answer, against: str | None, word: str) -> Value:
    value: Fraction | None = getattr(_critical(answer, against), word)
    return value


def _collective(
    kind: str, *, whole: str | None = None, size: str | None = None, **asked: Any
) -> Quantities:
    """One collective on a machine.

    `size` is that of a benchmark; `whole` is V, in bytes or as an array: `bf16[2048, 8192]`.
    """
    from shardsim.comparison import run_asked
    from shardsim.comparison.collectives import PER_CHIP
    from shardsim.comparison.prices import knees, price_asked
    from shardsim.comparison.traffic import leaving
    from shardsim.scenario import make_collective

    known_inputs(make_collective, asked, "collective")
    single = make_collective(kind, size=size or "1 B", **asked)
    if whole is not None:
        v = _whole_bytes(whole)
        single = replace(
            single, size=v / price_asked(single).chips if single.kind in PER_CHIP else v
        )
    priced = price_asked(single)
    run: list[CollectiveRun] = []

    def simulated() -> CollectiveRun:
        if not run:
            run.append(run_asked(single))
        return run[0]

    price = priced.price
    return {
        "book_seconds": lambda: price.book,
        "exact_seconds": lambda: price.exact.total,
        "bandwidth_seconds": lambda: price.exact.bandwidth,
        "latency_seconds": lambda: price.exact.latency,
        "simulated_seconds": lambda: simulated().simulated,
        "bytes": lambda: priced.size,
        "wire_bytes_per_chip": lambda: price.wire_bytes,
        "wire_bytes": lambda: sum((use.carried for use in leaving(simulated().links)), ZERO),
        "received_bytes_per_chip": lambda: _received(priced),
        "algbw_bytes_per_second": lambda: priced.benchmark_size / price.exact.total,
        "busbw_bytes_per_second": lambda: simulated().busbw,
        "book_latency_seconds": lambda: knees(single).book_latency,
        "knee_bytes": lambda: knees(single).book,
        "exact_knee_bytes": lambda: knees(single).exact,
    }


def _received(priced: Priced) -> Value:
    """What a chip has to get: of an AllGather all blocks but its own; not known of others."""
    if priced.price.call.kind is not CollectiveKind.ALL_GATHER:
        return None
    return priced.size * (priced.chips - 1) / priced.chips


def _whole_bytes(text: str) -> Fraction:
    """Bytes as a quantity, or as an array whose extents stand in it: `bf16[2048, 8192]`."""
    found = re.fullmatch(r"\s*(\w+)\s*\[([\d\s,]+)\]\s*", str(text))
    if found is None:
        return parse_quantity(text, "bytes")
    sizes = [parse_count(word, "an extent") for word in found[2].split(",")]
    return math.prod(sizes) * dtype_of(found[1]).bytes


def _arrays(hold: str | list[str], **asked: Any) -> Quantities:
    """Arrays on a machine."""
    from shardsim.inspection.holding import hold_arrays
    from shardsim.rooflines import channels_of

    known_inputs(hold_arrays, asked, "arrays")
    held = hold_arrays(hold, **asked)
    channels = {one.kind: one for one in channels_of(held.mesh.topology)}
    return {
        "bytes": lambda: held.whole_bytes,
        "all_bytes": lambda: held.all_bytes,
        "bytes_per_chip": lambda: held.bytes_per_chip,
        "elements": lambda: held.elements,
        "elements_per_chip": lambda: held.elements_per_chip,
        "copies": lambda: held.all_bytes / held.whole_bytes,
        "free_bytes_per_chip": lambda: held.free_bytes_per_chip,
        "chips_needed": lambda: held.chips_needed,
        **{f"{kind.value}_seconds": partial(held.seconds, one) for kind, one in channels.items()},
    }


def _machine(on: Any, *, dtype: str = "bf16") -> Quantities:
    """A machine: its facts, and the rates of its channels beside each other and its peak."""
    from shardsim.catalogue import facts, one_chip
    from shardsim.rooflines import channels_of

    topology = one_chip(on)
    chip = topology.chip
    kind = dtype_of(dtype)
    known: dict[str, Callable[[], Value]] = {
        name: partial(_value, value) for name, value in facts(topology).items()
    }
    by_kind: dict[ChannelKind, Channel] = {}
    for channel in channels_of(topology):
        by_kind.setdefault(channel.kind, channel)
    for one in by_kind.values():
        name, rate = one.kind.value, one.bandwidth
        known[f"{name}_bytes_per_second"] = partial(_value, rate)
        known[f"{name}_flops_per_byte"] = partial(_over, partial(chip.peak, kind), rate)
        known[f"hbm_over_{name}"] = partial(_value, chip.hbm_bandwidth / rate)
    if ChannelKind.ICI in by_kind:
        half = by_kind[ChannelKind.ICI].bandwidth / 2
        known["hbm_over_ici_link"] = lambda: chip.hbm_bandwidth / half
    known["hbm_fill_seconds"] = lambda: chip.hbm_capacity / chip.hbm_bandwidth
    return known


def _model(model: Any, **asked: Any) -> Quantities:
    """A model, alone or on a machine: parameters, FLOPs, memory, training, serving."""
    from shardsim.model import quantities

    found = quantities(model, **asked)
    return {name: partial(found.__getitem__, name) for name in found}


def _value(value: Value) -> Value:
    return value


def _over(first: Callable[[], Fraction], second: Fraction) -> Fraction:
    return first() / second


def _routing(*, shards: Any, choices: Any) -> Quantities:
    """Tokens that choose among shards at random."""
    from shardsim.cost.routing import capped_share, routed_share

    counts = (parse_count(shards, "shards"), parse_count(choices, "choices"))
    return {
        "routed_share": lambda: routed_share(*counts),
        "capped_share": lambda: capped_share(*counts),
    }


def _run(scenario: Any, *, strategy: str | None = None) -> Quantities:
    """A scenario file, simulated."""
    from shardsim.comparison import run_scenario
    from shardsim.scenario import load_scenario

    totals = run_scenario(load_scenario(scenario, strategy)).totals
    return {
        "simulated_seconds": lambda: totals.simulated_seconds,
        "compute_seconds": lambda: totals.compute_seconds,
        "communication_seconds": lambda: totals.communication_seconds,
        "exposed_communication_seconds": lambda: totals.exposed_communication_seconds,
    }


SUBJECTS: Mapping[str, Callable[..., Quantities]] = {
    "roofline": _roofline,
    "collective": _collective,
    "arrays": _arrays,
    "machine": _machine,
    "model": _model,
    "routing": _routing,
    "run": _run,
}
"""The subjects by name; each takes what is written under it."""
