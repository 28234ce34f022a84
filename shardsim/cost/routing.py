"""What an AllToAll of tokens carries where each chooses a few of many shards (experts).

A dense AllToAll sends (Z-1)/Z of what a chip holds to the Z shards. With k choices made at random
a token goes to each shard at most once, so less is sent. Relation to the simulation: none; these
are shares of V by which the dense time is multiplied. Source: "How to Scale Your Model", GPU
chapter, on ragged AllToAlls.
"""

from __future__ import annotations

from fractions import Fraction

__all__ = ["capped_share", "routed_share"]


def routed_share(shards: int, choices: int) -> Fraction:
    """The share of a dense AllToAll to every shard that is expected to be sent.

    A token has a given shard among k random choices with probability 1 - ((Z-1)/Z)^k; (Z-1)/Z of
    the shards are others: (1 - ((Z-1)/Z)^k) (Z-1)/Z.

    Args:
        shards: Z.
        choices: k, made independently.

    >>> float(routed_share(8, 4))
    0.36209...
    """
    others = Fraction(shards - 1, shards)
    return (1 - others**choices) * others


def capped_share(shards: int, choices: int) -> Fraction:
    """The same, first order: min(k/Z, 1) (Z-1)/Z; an UPPER BOUND, since choices may coincide.

    >>> capped_share(8, 4)
    Fraction(7, 16)
    """
    return min(Fraction(choices, shards), Fraction(1)) * Fraction(shards - 1, shards)
