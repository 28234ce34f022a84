"""One layer as statements with a mesh, forward and backward; planned, they are its collectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardsim.notation.names import axes_text

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from shardsim.model.cut import Cut

__all__ = ["Layer"]


class Layer:
    """The statements of a layer without experts, with heads of keys and values.

    Gathers are written out; sums are scattered where results are cut. In training the weights are
    cut over the axes of data too (FSDP): gathered into `G_...` before they are used, and anew into
    `H_...` for the backward pass.

    Args:
        cut: What the axes of the mesh cut.
        gated: Whether the feed-forward part has three matrices, or two.
        training: Whether weights are cut over the axes of data.
    """

    def __init__(self, cut: Cut, *, gated: bool, training: bool) -> None:
        self._weights = axes_text(cut.data) if training else ""
        self._tensor = t = axes_text(cut.tensor)
        keys, queries = axes_text(cut.keys), axes_text(cut.queries)
        self._partial = f"{{U{queries}}}" if queries else ""
        self._rows = f"B{axes_text(cut.data)}, T"
        self._inner = f"F{t}"
        self._heads = {
            "Q": (f"K{keys}, G{queries}, H", "Query"),
            "K": (f"K{keys}, H", "Key"),
            "V": (f"K{keys}, H", "Value"),
        }
        self._to_inner = (("in", "Up"), ("gate", "Gate")) if gated else (("in", "Up"),)

    def forward(self) -> Iterator[str]:
        """Two gathers of [B, T, D] and two scatters; in training each weight is gathered."""
        rows, t = self._rows, self._tensor
        yield f"X[{rows}, D{t}] -> In[{rows}, D]"
        for name, (heads, result) in self._heads.items():
            weight = yield from self._weight("G", f"{name}[D", f", {heads}]")
            yield f"In[{rows}, D] · {weight} -> {result}[{rows}, {heads}]"
        heads, _ = self._heads["Q"]
        weight = yield from self._weight("G", f"O[{heads}, D", "]")
        yield f"A[{rows}, {heads}] · {weight} -> Y[{rows}, D{t}]"
        yield f"Y[{rows}, D{t}] -> Mid[{rows}, D]"
        for name, result in self._to_inner:
            weight = yield from self._weight("G", f"{name}[D", f", {self._inner}]")
            yield f"Mid[{rows}, D] · {weight} -> {result}[{rows}, {self._inner}]"
        weight = yield from self._weight("G", f"out[{self._inner}, D", "]")
        yield f"Hidden[{rows}, {self._inner}] · {weight} -> Out[{rows}, D{t}]"

    def backward(self) -> Iterator[str]:
        """As many gathers and scatters of [B, T, D], of their gradients (`d...`).

        In training each weight is gathered anew, and its gradient scattered. What the forward pass
        gathered for its matmuls (`In`, `Mid`) is kept. Gradients of one array that come from
        several matmuls are added before they are scattered, so only one such matmul is here. Where
        chips share a key, its gradient is summed over them.
        """
        yield from self._backward_of_inner()
        yield from self._backward_of_heads()

    def _backward_of_inner(self) -> Iterator[str]:
        rows, t, f, w = self._rows, self._tensor, self._inner, self._weights
        yield f"dOut[{rows}, D{t}] -> dNext[{rows}, D]"
        weight = yield from self._weight("H", f"out[{f}, D", "]")
        yield f"dNext[{rows}, D] · {weight} -> dHidden[{rows}, {f}]"
        yield f"Hidden[{rows}, {f}] · dNext[{rows}, D] -> dW_out[{f}, D{w}]"
        first = ""
        for name, result in self._to_inner:
            weight = yield from self._weight("H", f"{name}[D", f", {f}]")
            yield f"Mid[{rows}, D] · d{result}[{rows}, {f}] -> dW_{name}[D{w}, {f}]"
            first = first or f"d{result}[{rows}, {f}] · {weight} -> dMid[{rows}, D{t}]"
        yield first

    def _backward_of_heads(self) -> Iterator[str]:
        rows, t, w = self._rows, self._tensor, self._weights
        heads, _ = self._heads["Q"]
        yield f"dY[{rows}, D{t}] -> dRest[{rows}, D]"
        weight = yield from self._weight("H", f"O[{heads}, D", "]")
        yield f"dRest[{rows}, D] · {weight} -> dA[{rows}, {heads}]"
        yield f"A[{rows}, {heads}] · dRest[{rows}, D] -> dW_O[{heads}, D{w}]"
        first = ""
        for name, (heads, result) in self._heads.items():
            weight = yield from self._weight("H", f"{name}[D", f", {heads}]")
            given = f"d{result}[{rows}, {heads}]"
            sums = "" if name == "Q" else self._partial
            yield f"In[{rows}, D] · {given}{sums} -> dW_{name}[D{w}, {heads}]"
            first = first or f"{given} · {weight} -> dIn[{rows}, D{t}]"
        yield first

    def _weight(self, gathered: str, begins: str, ends: str) -> Generator[str, None, str]:
        """The weight as it is used; where it is cut over D, it is gathered first."""
        if not self._weights:
            return f"W_{begins}{ends}"
        yield f"W_{begins}{self._weights}{ends} -> {gathered}_{begins}{ends}"
        return f"{gathered}_{begins}{ends}"
