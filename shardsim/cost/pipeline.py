"""A collective and a matmul done together in ring steps (collective matmul): closed forms.

With c what the core takes for one chunk, h what one hop of one chunk takes, g one of half a chunk,
and N chunks, one for each chip. `docs/overlap.md` derives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.units import Bytes, Seconds
from shardsim.vocabulary import CollectiveKind, DimensionKind, Form, LatencyModel

if TYPE_CHECKING:
    from shardsim.hardware import Link

__all__ = ["Hops", "chunked", "formula", "together"]


@dataclass(frozen=True, slots=True)
class Hops:
    """What the messages of a ring step take.

    Attributes:
        whole: A hop of a chunk, from the launch to its arrival: launch + n/w + latency.
        half: The same of half a chunk.
        tail: How long of that the link is free again: the latency, none in the floor model.
    """

    whole: Seconds
    half: Seconds
    tail: Seconds

    @classmethod
    def of(
        cls,
        chunk: Bytes,
        link: Link,
        latency_model: LatencyModel,
        *,
        efficiency: Fraction = Fraction(1),
        launch: Seconds = Fraction(0),
    ) -> Hops:
        """The hops of a chunk of so many bytes over a link, each launched by itself."""
        seconds = Fraction(chunk) / (link.one_way_bandwidth * efficiency)
        if latency_model is LatencyModel.FLOOR:
            whole, half = max(seconds, link.latency), max(seconds / 2, link.latency)
            return cls(launch + whole, launch + half, Fraction(0))
        return cls(
            launch + seconds + link.latency, launch + seconds / 2 + link.latency, link.latency
        )


def together(
    form: Form,
    kind: CollectiveKind,
    dimension: DimensionKind,
    n: int,
    c: Seconds,
    hops: Hops,
) -> Seconds:
    """Seconds of an AllGather and the matmul after it, or a matmul and its ReduceScatter.

    - one_direction: c + (N-1) max(c, h)
    - half_chunks: c + (N-1) max(c, g)
    - pairs: h + N/2 max(2c, h); of a ReduceScatter c + (N/2-1) max(2c, h) + max(c, h)
    - unpipelined: N c + (N-1) h
    - own_chunk_first, on a ring: N odd max(c, h) + ((N-1)/2 - 1) max(2c, h) + 2c; N even
      max(c, h) + (N/2 - 2) max(2c, h) + max(2c, g) + c; N = 2 max(c, g) + c
    - own_chunk_first, on a line: c + (N-1) max(c, h)
    - own_chunk_first, at a switch: c + (N-2) max(c, h-a) + max(c, h)

    Args:
        form: How.
        kind: AllGather or ReduceScatter.
        dimension: What the chips stand on.
        n: N, the number of chips and of chunks; even where the form is `pairs`.
        c: Seconds of the matmul of one chunk.
        hops: Of one chunk.

    Returns:
        Exact seconds, begun together on all chips. Relation to simulation: EQUAL.

    >>> hops = Hops(Fraction(2), Fraction(1), Fraction(0))
    >>> ring, gather = DimensionKind.RING, CollectiveKind.ALL_GATHER
    >>> [str(together(form, gather, ring, 4, Fraction(1), hops)) for form in
    ...  (Form.ONE_DIRECTION, Form.HALF_CHUNKS, Form.PAIRS, Form.OWN_CHUNK_FIRST)]
    ['7', '4', '6', '5']
    """
    if n == 1:
        return c
    h = hops.whole
    match form:
        case Form.ONE_DIRECTION | Form.HALF_CHUNKS:
            return c + (n - 1) * max(c, hops.half if form is Form.HALF_CHUNKS else h)
        case Form.UNPIPELINED:
            return n * c + (n - 1) * h
        case Form.PAIRS if kind is CollectiveKind.ALL_GATHER:
            return h + n // 2 * max(2 * c, h)
        case Form.PAIRS:
            return c + (n // 2 - 1) * max(2 * c, h) + max(c, h)
        case Form.OWN_CHUNK_FIRST:
            return _own_chunk_first(dimension, n, c, hops)
        case _:
            raise AssertionError(form)


def _own_chunk_first(dimension: DimensionKind, n: int, c: Seconds, hops: Hops) -> Seconds:
    h, g = hops.whole, hops.half
    if dimension is DimensionKind.LINE:
        return c + (n - 1) * max(c, h)
    if dimension is DimensionKind.SWITCH:
        return c + (n - 2) * max(c, h - hops.tail) + max(c, h)
    if n == 2:
        return max(c, g) + c
    both = ((n - 1) // 2 - 1) * max(2 * c, h)
    last = 2 * c if n % 2 == 1 else max(2 * c, g) + c
    return max(c, h) + both + last


def formula(form: Form, kind: CollectiveKind, dimension: DimensionKind, n: int) -> str:
    """`together` in words.

    >>> formula(Form.OWN_CHUNK_FIRST, CollectiveKind.ALL_GATHER, DimensionKind.RING, 16)
    'max(c, h) + 6 max(2c, h) + max(2c, g) + c'
    """
    steps = n - 1
    match form:
        case Form.ONE_DIRECTION:
            return f"c + {steps} max(c, h)"
        case Form.HALF_CHUNKS:
            return f"c + {steps} max(c, g)"
        case Form.UNPIPELINED:
            return f"{n}c + {steps}h"
        case Form.PAIRS if kind is CollectiveKind.ALL_GATHER:
            return f"h + {n // 2} max(2c, h)"
        case Form.PAIRS:
            return f"c + {n // 2 - 1} max(2c, h) + max(c, h)"
        case _:
            return _own_chunk_first_in_words(dimension, n)


def _own_chunk_first_in_words(dimension: DimensionKind, n: int) -> str:
    if dimension is DimensionKind.LINE:
        return f"c + {n - 1} max(c, h)"
    if dimension is DimensionKind.SWITCH:
        return f"c + {n - 2} max(c, h-a) + max(c, h)"
    if n == 2:
        return "max(c, g) + c"
    pairs = (n - 1) // 2 - 1
    both = f" + {pairs} max(2c, h)" if pairs else ""
    return f"max(c, h){both} + " + ("2c" if n % 2 else "max(2c, g) + c")


def chunked(parts: int, c: Seconds, collective: Seconds, early: Seconds) -> Seconds:
    """Seconds of a matmul in parts, each reduced while the next is computed.

    c + (S-1) max(c, R - e) + R, with R the AllReduce of one part, and e how much sooner its links
    begin to work than it does (the launch) and are free again (a latency).

    Args:
        parts: S, how many.
        c: Seconds of the matmul of one part.
        collective: R, seconds of the AllReduce of one part by itself.
        early: e; 0 gives an upper bound.

    Returns:
        Exact seconds, begun together on all chips. Relation to simulation: EQUAL on one ring or
        switch; where an AllReduce can begin before the one before has ended on all chips (lines,
        several segments), an UPPER BOUND with e = 0.
    """
    return c + (parts - 1) * max(c, collective - early) + collective
