"""Models as text: parameters by part, statements, FLOPs, the cache; serving, or training."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from shardsim.model import NotKnownError, Part, Passed, Quantities, missing, works
from shardsim.model.counting import lacking_weights, parameters_by_part
from shardsim.model.cut import serving_cut
from shardsim.model.sharded import plan_layer
from shardsim.report.parts import Advice, Sentence, new_table, title
from shardsim.units import format_capacity, format_flops, format_rate, format_seconds
from shardsim.vocabulary import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from shardsim.model import Model, Work

__all__ = ["model_report"]

DAY = 86_400
SIZES = (
    ("D", "d_model"),
    ("F", "d_ff"),
    ("N", "heads"),
    ("K", "kv_heads"),
    ("H", "head_size"),
    ("V", "vocabulary"),
    ("E", "experts"),
    ("k", "experts_per_token"),
    ("Fe", "expert_d_ff"),
)
Known = dict[str, Fraction]


def model_report(found: Quantities, *, train: bool = False) -> RenderableType:
    """A model: its sizes and what follows from them; on a machine how it is served, or trained."""
    known = found.known()
    model = found.model
    parts: list[RenderableType] = [Text(model.name, style="bold"), *_head(model)]
    parts += _counted(found, known)
    parts += _titled("Of one token", _rows(_token_rows(model, known)))
    if train:
        parts.append(title("Training"))
    elif found.asked.topology is not None:
        parts.append(title(f"Serving on {_machine(found)}"))
    parts += [Advice(str(one)) for one in missing(found, train=train)]
    if train:
        parts += _rows(_training_rows(found, known))
    elif found.asked.topology is not None:
        parts += _serving(found, known)
    return Group(*parts)


def _titled(text: str, parts: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """Parts under a title; without any no title."""
    every = tuple(parts)
    if every:
        yield title(text)
    yield from every


def _counted(found: Quantities, known: Known) -> Iterator[RenderableType]:
    """Parameters by part and statements; or what they lack."""
    lacking = lacking_weights(found.model)
    if lacking:
        said = f"{found.model.name} has no {', '.join(lacking)}"
        yield Sentence(f"parameters by part and FLOPs of statements are not shown: {said}")
        return
    yield title("Parameters")
    yield _parameters(found.model, known)
    yield title("Statements")
    yield from _works(found)


def _head(model: Model) -> Iterator[RenderableType]:
    known = [(sign, key) for sign, key in SIZES if getattr(model, key) is not None]
    sizes = " ".join(f"{sign}={getattr(model, key)}" for sign, key in known)
    layers = "" if model.layers is None else f"{model.layers} layers"
    said = [text for text in (layers, sizes) if text]
    if model.d_ff is not None:
        said.append(f"{'three' if model.gated else 'two'} matrices in the FFW")
    if model.latent is not None:
        latent = model.latent
        said.append(f"latent attention: {latent.cache_rank} + {latent.rotary} cached")
    if model.dense_layers:
        said.append(f"{model.dense_layers} layers without experts")
    if model.tied_embeddings:
        said.append("tied embeddings")
    if said:
        yield Sentence("; ".join(said))
    if model.source:
        yield Sentence(f"source: {model.source}")


def count_text(value: Fraction) -> str:
    """A large number for people: its exponent is a multiple of three.

    >>> count_text(Fraction(70552387584)), count_text(Fraction(1234)), count_text(Fraction(10**40))
    ('70.55e9', '1,234', '10.00e39')
    """
    if value >= 10**6:
        power = (len(str(int(value))) - 1) // 3 * 3
        power += 3 * (round(value / 10**power, 2) >= 1000)
        return f"{float(value / 10**power):.2f}e{power}"
    return f"{round(value):,}" if value >= 100 else f"{float(value):.3g}"


def _parameters(model: Model, known: Known) -> RenderableType:
    by_part = parameters_by_part(model)
    total = sum((all_ for all_, _ in by_part.values()), Fraction(0))
    columns = ["part", "parameters", "share", *(["a token passes"] if model.experts else [])]
    table = new_table(*columns)
    for column in table.columns[1:]:
        column.justify = "right"
    for part, (all_, active) in by_part.items():
        cells = [part.value, count_text(all_), f"{float(all_ / total):.1%}"]
        table.add_row(
            *(Text(c) for c in (*cells, *([count_text(active)] if model.experts else [])))
        )
    cells = ["all", count_text(total), ""]
    passed = sum((active for _, active in by_part.values()), Fraction(0))
    table.add_row(*(Text(c) for c in (*cells, *([count_text(passed)] if model.experts else []))))
    if model.parameters is not None:
        table.add_row(*(Text(c) for c in ("stated", count_text(known["parameters"]), "")))
    return table


def _works(found: Quantities) -> Iterator[RenderableType]:
    context = found.asked.context
    table = new_table("", "times", "weights", "FLOPs a token")
    for column in table.columns[1:]:
        column.justify = "right"
        column.no_wrap = True
    model = found.model
    passed = Passed(context=context or Fraction(1), absorbed=True)
    for work in works(model, absorbed=True):
        flops = passed.flops(model, work) * model.times(work.group)
        unknown = context is None and work.part is Part.SCORES
        said = "looked up" if work.is_lookup else count_text(flops) + " x S" * unknown
        times = f"{model.times(work.group)}"
        cells = (str(work.statement), times, _weights(model, work), said)
        table.add_row(*(Text(cell) for cell in cells))
    yield table
    yield Sentence("weights, FLOPs a token: of all layers; S: tokens of context")


def _weights(model: Model, work: Work) -> str:
    if work.weight is None:
        return ""
    return count_text(Passed().elements(model, work.weight) * model.times(work.group))


def _token_rows(model: Model, known: Known) -> Iterator[tuple[str, str, str]]:
    rows = {
        "forward_flops_per_token": ("forward", "2P, first order"),
        "exact_forward_flops_per_token": ("", "with attention over the context"),
        "training_flops_per_token": ("training", "6P, first order"),
        "exact_training_flops_per_token": ("", "with attention over the context"),
    }
    for name, (what, note) in rows.items():
        if name in known:
            yield what, format_flops(known[name]), note
    if "kv_bytes_per_token" in known:
        stated = "" if model.kv_bytes_per_token is None else ", as stated, whatever the dtype"
        note = f"keys and values, all layers{stated}"
        yield "cache", format_capacity(known["kv_bytes_per_token"]), note
    if "kv_bytes_per_sequence" in known:
        size = format_capacity(known["kv_bytes_per_sequence"])
        yield "", size, "of a sequence as long as the context"
    if "crossover_tokens" in known:
        note = "tokens at which attention takes as many FLOPs as a layer's matmuls"
        yield "crossover", f"{round(known['crossover_tokens']):,}", note


def _rows(rows: Iterator[tuple[str, str, str]]) -> Iterator[RenderableType]:
    table = new_table("", "", "")
    table.show_header = False
    table.columns[1].justify = "right"
    table.columns[1].no_wrap = True
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    if table.row_count:
        yield table


def _machine(found: Quantities) -> str:
    topology = found.asked.topology
    assert topology is not None
    chips = found.asked.machine_chips
    return f"{topology.name}: {chips:,} x {topology.chip.title or topology.chip.name}"


def _serving(found: Quantities, known: Known) -> Iterator[RenderableType]:
    yield from _fits(found, known)
    yield from _rows(_memory_rows(found, known))
    if "step_seconds" in known:
        yield Sentence("a step, in which each sequence gets a token:")
        yield from _rows(_step_rows(found, known))
    yield from _rows(_rate_rows(found, known))
    options = [("batch", "--batch 32"), ("context", "--context 8192")]
    absent = [option for name, option in options if getattr(found.asked, name) is None]
    if found.asked.batch is None:
        collectives = "" if found.asked.mesh is None else " and its collectives"
        yield Sentence(f"for the time of a step{collectives} give {' '.join(absent)}")


def _fits(found: Quantities, known: Known) -> Iterator[RenderableType]:
    free, batch = known.get("free_bytes"), found.asked.batch
    if free is None:
        return
    if free < 0 and known["held_weight_bytes"] > known["weight_bytes"]:
        each = format_capacity(known["weight_bytes_per_chip"])
        room = format_capacity(found.asked.hbm_capacity)
        yield Advice(f"the weights do not fit: the mesh puts {each} on a chip, which has {room}")
    elif free < 0:
        chips = known["whole_chips_for_weights"]
        yield Advice(f"the weights do not fit: they take {chips} chips at least")
    elif batch is not None and "largest_batch" in known and batch > known["largest_batch"]:
        most, copies = known["largest_whole_batch"], known["cache_copies"]
        said = f"these take {known['whole_chips_for_serving']} chips at least"
        if copies > 1:
            said = f"the mesh has each cache held {copies} times"
        yield Advice(f"{float(batch):g} sequences do not fit: {most} do; {said}")


def _memory_rows(found: Quantities, known: Known) -> Iterator[tuple[str, str, str]]:
    if "weight_bytes" in known:
        chips = f"HBM of {float(known['chips_for_weights']):.2f} chips"
        yield "weights", format_capacity(known["weight_bytes"]), chips
        yield from _held(known, "weight_bytes")
    if "kv_bytes" in known:
        yield "caches", format_capacity(known["kv_bytes"]), "of the batch"
        yield from _held(known, "kv_bytes")
    if "free_bytes" in known and known["free_bytes"] >= 0:
        yield "free", format_capacity(known["free_bytes"]), "HBM beside the weights"
    if "largest_batch" in known:
        cut = serving_cut(found.model, found.asked)
        several = "" if cut is None or cut.data_ways == 1 else f", in multiples of {cut.data_ways}"
        fraction = f"{float(known['largest_batch']):,.2f} exactly"
        whole = f"{int(known['largest_whole_batch']):,}"
        yield "fit", whole, f"sequences{several}: {fraction}"


def _held(known: Known, name: str) -> Iterator[tuple[str, str, str]]:
    """How much is held on all chips, where a mesh has some of it held several times."""
    held = known.get(f"held_{name}")
    if held is not None and held > known[name]:
        times = float(held / known[name])
        yield "", format_capacity(held), f"held and read with this mesh: {times:.3g} x"


def _step_rows(found: Quantities, known: Known) -> Iterator[tuple[str, str, str]]:
    total = known["step_seconds"]
    weights, computing = known["weights_seconds"], known["compute_seconds"]
    binds = "compute" if computing > weights else "memory"
    yield "caches", format_seconds(known["kv_seconds"]), _attention(found, known)
    yield "weights", format_seconds(weights), "read"
    yield "matmuls", format_seconds(computing), f"2BP FLOPs in {found.asked.types.compute.value}"
    note = f"caches + the larger of weights and matmuls: bound by {binds}"
    yield "step", format_seconds(total), note
    if "collective_seconds" in known:
        book = format_seconds(known["book_collective_seconds"])
        standing = _standing(plan_layer(found.model, found.asked).relations)
        yield (
            "collectives",
            format_seconds(known["collective_seconds"]),
            f"of all layers{standing}; book {book}",
        )
        note = "one after the other; the rates below are of this"
        yield "with them", format_seconds(known["sharded_step_seconds"]), note


def _attention(found: Quantities, known: Known) -> str:
    """Whether attention is bound by memory, as the time of a step takes it.

    A step generates one token of each sequence, however many are prefilled.
    """
    step = Quantities(found.model, replace(found.asked, prompt=None))
    needed = known["ridge_flops_per_byte"]
    try:
        done = step["attention_flops_per_byte"]
    except NotKnownError:
        return "read: attention, taken as bound by memory"
    if done <= needed:
        return "read: attention, bound by memory"
    longer = format_seconds(known["scores_seconds"])
    figures = f"{float(done):.0f} FLOPs a byte, the chip {float(needed):.0f}"
    return f"read; attention is bound by compute: {longer}, {figures}"


def _standing(relations: frozenset[Relation]) -> str:
    """What a sum of closed forms is, where not all are equal to their simulation."""
    if relations <= {Relation.EQUAL}:
        return ""
    return ", at most" if relations <= {Relation.EQUAL, Relation.UPPER_BOUND} else ", estimated"


def _rate_rows(found: Quantities, known: Known) -> Iterator[tuple[str, str, str]]:
    if "tokens_per_second" in known:
        chip = f"{count_text(known['tokens_per_second_per_chip'])} a chip"
        yield "tokens/s", count_text(known["tokens_per_second"]), chip
    if "queries_per_second" in known:
        chip = f"{float(known['queries_per_second_per_chip']):.3g} a chip"
        yield "queries/s", f"{float(known['queries_per_second']):,.3g}", chip
    if "prefill_seconds" in known:
        exact = known.get("exact_prefill_seconds")
        said = "" if exact is None else f"; exact {format_seconds(exact)}"
        said += "" if found.asked.mesh is None else ", without collectives"
        yield (
            "prefill",
            format_seconds(known["prefill_seconds"]),
            f"of one prompt, first order{said}",
        )
    if "prefill_servers_per_generate_server" in known:
        servers = known["prefill_servers_per_generate_server"]
        yield "servers", f"{float(servers):.3g}", "that prefill, for one that generates"
    if "critical_batch" in known:
        batch = f"{float(known['critical_batch']):,.1f}"
        yield "critical", batch, "sequences: matmuls take as long as reading weights"
    if "exact_critical_batch" in known:
        batch = f"{float(known['exact_critical_batch']):,.1f}"
        yield "", batch, "with caches read, and all FLOPs"
    elif {"weights_seconds", "exact_forward_flops_per_token", "cache_copies"} <= set(known):
        yield "", "never", "with caches read: each takes longer than its token computes"


def _training_rows(found: Quantities, known: Known) -> Iterator[tuple[str, str, str]]:
    if "training_flops" in known:
        yield "FLOPs", count_text(known["training_flops"]), "6P x tokens, first order"
    if "exact_training_flops" in known:
        yield "", count_text(known["exact_training_flops"]), "with attention over the context"
    yield from _time_rows(found, known)
    for name, what, note in (
        ("weight_bytes", "weights", ""),
        ("optimizer_bytes", "optimizer", ""),
        ("gradient_bytes", "gradients", ""),
        ("activation_bytes", "activations", "kept for the backward pass"),
        ("training_bytes", "together", "of one copy"),
    ):
        if known.get(name):
            each = known.get(f"{name}_per_chip")
            chip = "" if each is None else f"{format_capacity(each)} a chip"
            said = "; ".join(part for part in (chip, note) if part)
            yield what, format_capacity(known[name]), said
    if found.asked.topology is not None and "training_bytes_per_chip" in known:
        capacity = found.asked.hbm_capacity
        fits = "fits" if known["training_bytes_per_chip"] <= capacity else "does not fit"
        yield "HBM", format_capacity(capacity), f"of a chip: it {fits}"
    if "largest_parameters" in known:
        note = "parameters that one chip holds by itself, without activations"
        yield "largest", count_text(known["largest_parameters"]), note
    if "training_collective_seconds" in known:
        relations = plan_layer(found.model, found.asked, training=True).relations
        note = f"of a batch, forward and backward, one after the other{_standing(relations)}"
        yield "collectives", format_seconds(known["training_collective_seconds"]), note


def _time_rows(found: Quantities, known: Mapping[str, Fraction]) -> Iterator[tuple[str, str, str]]:
    if "training_seconds" in known:
        rate = format_rate(found.asked.all_peak, "FLOP")
        share = f"{float(found.asked.need('mfu')):.0%} of {rate} on {_machine(found)}"
        yield "time", _days(known["training_seconds"]), share
    if "exact_training_seconds" in known:
        yield "", _days(known["exact_training_seconds"]), "with attention over the context"
    if "mfu" in known:
        yield "MFU", f"{float(known['mfu']):.1%}", "6P x tokens / what the chips could do"
    if "batch_tokens_per_chip" in known:
        share = f"{float(known['batch_tokens_per_chip']):,.1f}".removesuffix(".0")
        yield "tokens", share, "of a batch, a chip"


def _days(seconds: Fraction) -> str:
    return f"{float(seconds / DAY):.3g} days" if seconds >= DAY else format_seconds(seconds)
