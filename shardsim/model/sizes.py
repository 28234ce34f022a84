"""The sizes of a model, and what follows from them by itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from shardsim.errors import ScenarioError

__all__ = ["Group", "Latent", "Model", "NotKnownError"]


class NotKnownError(ScenarioError):
    """A quantity does not follow from what was given: a size or an input is missing."""


class Group(StrEnum):
    """How often a statement occurs.

    `layer`: in every layer. `dense`: in every layer without experts. `expert`: in every layer with
    experts. `model`: once.
    """

    LAYER = "layer"
    DENSE = "dense"
    EXPERT = "expert"
    MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """Attention whose cache is one latent vector for all heads (MLA), as in DeepSeek-V3.

    Attributes:
        cache_rank: Size of the latent vector that is cached.
        rotary: Size of the part of a key with positions, cached too, and shared by all heads.
        head: Size of a head's part without positions.
        value: Size of a head's value.
        query_rank: Size of the latent vector of queries; None where they are projected at once.
    """

    cache_rank: int
    rotary: int
    head: int
    value: int
    query_rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A decoder of transformer layers; a size that is None is not known, and nothing stands for it.

    Attributes:
        name: For people.
        source: Where the sizes are from.
        layers: L.
        d_model: D, the size of a token's vector between layers.
        d_ff: F, the inner size of the feed-forward part (FFW) of layers without experts.
        heads: N, query heads.
        kv_heads: K, heads of keys and values.
        head_size: H.
        vocabulary: V.
        gated: Whether the FFW has three matrices, or two.
        tied_embeddings: Whether one matrix is looked up for tokens and multiplied for logits.
        experts: E, routed experts of a layer; None in a dense model.
        experts_per_token: k.
        expert_d_ff: Inner size of an expert.
        shared_experts: Experts that every token passes, beside the k.
        dense_layers: Layers without experts in a model with experts.
        router: Whether the matrix that chooses experts is counted.
        latent: Latent attention instead of K and V heads.
        parameters: Stated, instead of what follows from the sizes.
        active_parameters: The same, of those that a token passes.
        kv_bytes_per_token: Stated, instead of what follows.
    """

    name: str
    source: str = ""
    layers: int | None = None
    d_model: int | None = None
    d_ff: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_size: int | None = None
    vocabulary: int | None = None
    gated: bool = True
    tied_embeddings: bool = False
    experts: int | None = None
    experts_per_token: int | None = None
    expert_d_ff: int | None = None
    shared_experts: int | None = None
    dense_layers: int | None = None
    router: bool = True
    latent: Latent | None = None
    parameters: Fraction | None = None
    active_parameters: Fraction | None = None
    kv_bytes_per_token: Fraction | None = None

    def size(self, key: str) -> int:
        """A size by the name of its key.

        Raises:
            NotKnownError: it is not known; the message says what to add.

        >>> Model(name="m", heads=32, d_model=4096).size("head_size")
        128
        """
        value: int | None = getattr(self, key)
        if value is None:
            value = self._derived(key)
        if value is None:
            raise NotKnownError(
                f"{self.name} has no {key}",
                f"add {key} to the model"
                + ("; its heads and d_model would do" if key == "head_size" else ""),
            )
        return value

    def lacking(self, *keys: str) -> tuple[str, ...]:
        """Those of some sizes that are not known, and do not follow from others.

        >>> Model(name="m", heads=32, d_model=4096).lacking("layers", "head_size", "kv_heads")
        ('layers',)
        """
        return tuple(k for k in keys if getattr(self, k) is None and self._derived(k) is None)

    def _derived(self, key: str) -> int | None:
        """A size that follows from others."""
        match key:
            case "kv_heads":
                return self.heads
            case "expert_d_ff":
                return self.d_ff
            case "head_size" if self.heads is not None and self.d_model is not None:
                return self.d_model // self.heads
            case "dense_layers" | "shared_experts":
                return 0
            case _:
                return None

    def extent(self, dim: str) -> int:
        """The extent of a dimension of the statements: `D`, `F`, `K`, ...

        Raises:
            NotKnownError: a size that it follows from is not known.

        >>> Model(name="m", heads=32, kv_heads=8).extent("G")
        4
        """
        if dim in LATENT:
            assert self.latent is not None
            extent: int = getattr(self.latent, LATENT[dim])
            return extent
        match dim:
            case "G":
                return self.size("heads") // self.size("kv_heads")
            case "Fs":
                return self.size("shared_experts") * self.size("expert_d_ff")
            case _:
                return self.size(SIZES[dim])

    def times(self, group: Group) -> int:
        """How often a statement of a group occurs.

        Raises:
            NotKnownError: the number of layers is not known.

        >>> Model(name="m", layers=61, experts=256, dense_layers=3).times(Group.EXPERT)
        58
        """
        if group is Group.MODEL:
            return 1
        layers = self.size("layers")
        dense = layers if self.experts is None else self.size("dense_layers")
        return {Group.LAYER: layers, Group.DENSE: dense, Group.EXPERT: layers - dense}[group]

    def share(self, group: Group) -> Fraction:
        """The share of all layers in which a statement of a group occurs.

        >>> Model(name="m").share(Group.DENSE)
        Fraction(1, 1)
        """
        mixed = self.experts is not None and bool(self.size("dense_layers"))
        if mixed:
            return Fraction(self.times(group), self.size("layers"))
        absent = Group.EXPERT if self.experts is None else Group.DENSE
        return Fraction(0 if group is absent else 1)


SIZES = {
    "D": "d_model",
    "F": "d_ff",
    "K": "kv_heads",
    "N": "heads",
    "H": "head_size",
    "V": "vocabulary",
    "E": "experts",
    "Fe": "expert_d_ff",
}
"""Dimensions of the statements that are sizes of a model."""

LATENT = {"Rq": "query_rank", "Rc": "cache_rank", "Hn": "head", "Hr": "rotary", "Hv": "value"}
"""Those of latent attention."""
