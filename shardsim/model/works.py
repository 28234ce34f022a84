"""The statements that a model consists of, how often each occurs, and what its arrays are.

Dimensions: B sequences, T tokens of each, S tokens of context, D, F, K heads of keys and values, G
queries of each, N = K x G, H, V; E experts with C tokens each. One operand of most is a weight
(`W_...`); keys and values of the context lie in the cache (`..._cache`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from shardsim.model.sizes import Group, Model
from shardsim.notation import parse
from shardsim.notation.statements import Contraction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardsim.notation import Array

__all__ = ["Part", "Role", "Work", "role_of", "works"]


class Part(StrEnum):
    """What a statement belongs to.

    `attention`: its projections. `scores`: queries against keys, and the weighted sum of values.
    `ffw`: the feed-forward part of layers without experts. `experts`, `shared`, `router`: of those
    with. `vocabulary`: from tokens, and to logits.
    """

    ATTENTION = "attention"
    SCORES = "scores"
    FFW = "ffw"
    EXPERTS = "experts"
    SHARED = "shared"
    ROUTER = "router"
    VOCABULARY = "vocabulary"


class Role(StrEnum):
    """What an array is: a `weight`, the `cache` of keys and values, or an `activation`."""

    WEIGHT = "weight"
    CACHE = "cache"
    ACTIVATION = "activation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A statement of a model.

    Attributes:
        statement: A contraction of two arrays, without a mesh.
        part: What it belongs to.
        group: How often it occurs.
        is_lookup: Whether it only picks rows of its weight: no FLOPs.
    """

    statement: Contraction
    part: Part
    group: Group
    is_lookup: bool = False

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Operands and result."""
        return (*self.statement.operands, self.statement.result)

    @property
    def weight(self) -> Array | None:
        """The operand that is a weight, where there is one."""
        return next((a for a in self.statement.operands if role_of(a) is Role.WEIGHT), None)

    @property
    def dims(self) -> tuple[str, ...]:
        """All dimensions of the operands, each once."""
        return tuple(dict.fromkeys(d for one in self.statement.operands for d in one.dim_names))


def role_of(array: Array) -> Role:
    """What an array is, by its name.

    >>> from shardsim.notation import parse_array
    >>> role_of(parse_array("K_cache[B, S, K, H]")).value
    'cache'
    """
    name = array.name or ""
    if name.startswith("W_"):
        return Role.WEIGHT
    return Role.CACHE if name.endswith("_cache") else Role.ACTIVATION


def works(model: Model, *, absorbed: bool = False) -> tuple[Work, ...]:
    """The statements of a model's forward pass, in order.

    Args:
        model: Which of them there are depends on it: two matrices or three, experts, latent
            attention.
        absorbed: Of latent attention: queries are brought to the latent vectors instead of these
            to keys, as one does when tokens are generated.

    >>> model = Model(name="m", gated=False)
    >>> [str(work.statement) for work in works(model) if work.part is Part.FFW]
    ['X[B, T, D] · W_in[D, F] -> Up[B, T, F]', 'Hidden[B, T, F] · W_out[F, D] -> Out[B, T, D]']
    """
    return (
        _work("Token[B, T, V] · W_embed[V, D] -> X[B, T, D]", Part.VOCABULARY, Group.MODEL),
        *_attention(model, absorbed),
        *_feed_forward(model),
        _unembedding(model),
    )


@functools.cache
def _parsed(text: str) -> Contraction:
    statement = parse(text)
    assert isinstance(statement, Contraction)
    return statement


def _work(text: str, part: Part, group: Group = Group.LAYER) -> Work:
    lookup = part is Part.VOCABULARY and text.startswith("Token")
    return Work(statement=_parsed(text), part=part, group=group, is_lookup=lookup)


def _unembedding(model: Model) -> Work:
    weight = "W_embed[V, D]" if model.tied_embeddings else "W_logits[D, V]"
    return _work(f"X[B, T, D] · {weight} -> Logits[B, T, V]", Part.VOCABULARY, Group.MODEL)


HEADS = (
    "X[B, T, D] · W_Q[D, K, G, H] -> Q[B, T, K, G, H]",
    "X[B, T, D] · W_K[D, K, H] -> Key[B, T, K, H]",
    "X[B, T, D] · W_V[D, K, H] -> Value[B, T, K, H]",
    "Q[B, T, K, G, H] · K_cache[B, S, K, H] -> P[B, T, S, K, G]",
    "P[B, T, S, K, G] · V_cache[B, S, K, H] -> A[B, T, K, G, H]",
    "A[B, T, K, G, H] · W_O[K, G, H, D] -> Y[B, T, D]",
)
LATENT_INPUT = (
    "X[B, T, D] · W_DKV[D, Rc] -> C[B, T, Rc]",
    "X[B, T, D] · W_KR[D, Hr] -> R[B, T, Hr]",
)
LATENT_QUERY = (
    "X[B, T, D] · W_DQ[D, Rq] -> Cq[B, T, Rq]",
    "Cq[B, T, Rq] · W_UQ[Rq, N, Hn] -> Q[B, T, N, Hn]",
    "Cq[B, T, Rq] · W_QR[Rq, N, Hr] -> Qr[B, T, N, Hr]",
)
PLAIN_QUERY = (
    "X[B, T, D] · W_UQ[D, N, Hn] -> Q[B, T, N, Hn]",
    "X[B, T, D] · W_QR[D, N, Hr] -> Qr[B, T, N, Hr]",
)
EXPANDED = (
    "C_cache[B, S, Rc] · W_UK[Rc, N, Hn] -> Key[B, S, N, Hn]",
    "C_cache[B, S, Rc] · W_UV[Rc, N, Hv] -> Value[B, S, N, Hv]",
    "Q[B, T, N, Hn] · Key[B, S, N, Hn] -> P[B, T, S, N]",
    "Qr[B, T, N, Hr] · R_cache[B, S, Hr] -> Pr[B, T, S, N]",
    "P[B, T, S, N] · Value[B, S, N, Hv] -> A[B, T, N, Hv]",
)
ABSORBED = (
    "Q[B, T, N, Hn] · W_UK[Rc, N, Hn] -> Ql[B, T, N, Rc]",
    "Ql[B, T, N, Rc] · C_cache[B, S, Rc] -> P[B, T, S, N]",
    "Qr[B, T, N, Hr] · R_cache[B, S, Hr] -> Pr[B, T, S, N]",
    "P[B, T, S, N] · C_cache[B, S, Rc] -> Al[B, T, N, Rc]",
    "Al[B, T, N, Rc] · W_UV[Rc, N, Hv] -> A[B, T, N, Hv]",
)
LATENT_OUTPUT = ("A[B, T, N, Hv] · W_O[N, Hv, D] -> Y[B, T, D]",)


def _attention(model: Model, absorbed: bool) -> Iterator[Work]:
    texts = HEADS
    if model.latent is not None:
        query = PLAIN_QUERY if model.latent.query_rank is None else LATENT_QUERY
        inner = ABSORBED if absorbed else EXPANDED
        texts = (*LATENT_INPUT, *query, *inner, *LATENT_OUTPUT)
    for text in texts:
        yield _work(text, Part.ATTENTION if "W_" in text else Part.SCORES)


def _feed_forward(model: Model) -> Iterator[Work]:
    if model.experts is None or model.dense_layers:
        for text in _matrices(model, inner="F"):
            yield _work(text, Part.FFW, Group.DENSE)
    if model.experts is None:
        return
    if model.router:
        text = "X[B, T, D] · W_router[D, E] -> Choice[B, T, E]"
        yield _work(text, Part.ROUTER, Group.EXPERT)
    for text in _matrices(model, inner="Fe", of="_expert", tokens="E, C", batch="E, "):
        yield _work(text, Part.EXPERTS, Group.EXPERT)
    if model.shared_experts:
        for text in _matrices(model, inner="Fs", of="_shared"):
            yield _work(text, Part.SHARED, Group.EXPERT)


def _matrices(
    model: Model, *, inner: str, of: str = "", tokens: str = "B, T", batch: str = ""
) -> Iterator[str]:
    """The two or three matrices of a feed-forward part; with `batch`, each expert has its own."""
    given = f"Sent[{tokens}, D]" if batch else f"X[{tokens}, D]"
    for weight, result in (("in", "Up"), ("gate", "Gate")) if model.gated else (("in", "Up"),):
        matrix = f"W_{weight}{of}[{batch}D, {inner}]"
        yield f"{given} · {matrix} -> {result}{of}[{tokens}, {inner}]"
    matrix = f"W_out{of}[{batch}{inner}, D]"
    yield f"Hidden{of}[{tokens}, {inner}] · {matrix} -> Out{of}[{tokens}, D]"
