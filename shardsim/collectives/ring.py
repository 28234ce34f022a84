"""Step programs on one ring: every chip runs the same list (for a gather, by its distance).

All of them follow from one table: how large a share of a chip's block travels a given distance in a
given direction (`reach`). AllGather sends the nearest chip's news first; ReduceScatter is AllGather
backwards; AllToAll sends, at each step, whatever still has to go further.
"""

from __future__ import annotations

from fractions import Fraction

from shardsim.collectives.steps import WHOLE, Action, Channel, Lane, Need, Piece, Send, Share
from shardsim.vocabulary import Algorithm, CallKind, CollectiveKind, TransferKind

__all__ = ["ring_lanes"]

FIRST_HALF = (Fraction(0), Fraction(1, 2))
SECOND_HALF = (Fraction(1, 2), Fraction(1))


def reach(algorithm: Algorithm, size: int, direction: int) -> list[Share]:
    """The share of a block that travels to distance 1, 2, ... in one direction.

    Shares to one chip from both directions tile its block: with `balanced` and an even size, the
    opposite chip gets half from each side. A ring of messages through a switch has one direction.

    >>> [str(high - low) for low, high in reach(Algorithm.BALANCED, 6, +1)]
    ['1', '1', '1/2']
    """
    half = FIRST_HALF if direction > 0 else SECOND_HALF
    match algorithm:
        case Algorithm.BALANCED:
            opposite = [half] if size % 2 == 0 else []
            return [WHOLE] * ((size - 1) // 2) + opposite
        case Algorithm.WHOLE_SHARDS:
            return [WHOLE] * (size // 2 if direction > 0 else (size - 1) // 2)
        case Algorithm.HALF_SHARDS:
            return [half] * (size - 1)
        case Algorithm.ONE_DIRECTION | Algorithm.RING:
            return [WHOLE] * (size - 1) if direction > 0 else []
        case _:
            raise AssertionError(algorithm)


def ring_lanes(
    kind: CallKind, algorithm: Algorithm, size: int, to_root: int = 0
) -> tuple[Lane, ...]:
    """The lanes of AllGather, ReduceScatter, AllToAll or Gather on a ring of `size` chips.

    `to_root`: steps up to the chip that gathers.
    """
    lanes = []
    for direction in (+1, -1):
        shares = reach(algorithm, size, direction)
        match kind:
            case CollectiveKind.ALL_GATHER:
                sends = _gather(direction, shares)
            case CollectiveKind.REDUCE_SCATTER:
                sends = _scatter(direction, shares)
            case CollectiveKind.ALL_TO_ALL:
                sends = _exchange(direction, shares)
            case TransferKind.GATHER:
                sends = _to_root(direction, shares, direction * to_root % size)
            case _:
                raise AssertionError(kind)
        if sends:
            lanes.append(Lane(Channel(0, direction), sends))
    return tuple(lanes)


def _after(direction: int, count: int) -> tuple[Need, ...]:
    return (Need(Channel(0, direction), count),) if count else ()


def _gather(direction: int, shares: list[Share]) -> tuple[Send, ...]:
    """Send my own block, then pass on what came at the step before."""
    return tuple(
        Send(
            direction, (Piece((-direction * step,), share),), Action.STORE, _after(direction, step)
        )
        for step, share in enumerate(shares)
    )


def _scatter(direction: int, shares: list[Share]) -> tuple[Send, ...]:
    """Send the sum for the farthest chip first; add what comes, and pass the sums on inwards."""
    far = len(shares)
    return tuple(
        Send(
            direction,
            (Piece((direction * (far - step),), shares[far - step - 1]),),
            Action.ADD,
            _after(direction, step),
        )
        for step in range(far)
    )


def _exchange(direction: int, shares: list[Share]) -> tuple[Send, ...]:
    """Send my blocks for every chip this way; then pass on those that have further to go."""
    sends = []
    for step in range(len(shares)):
        origin = -direction * step
        pieces = tuple(
            Piece((origin, origin + direction * distance), shares[distance - 1])
            for distance in range(step + 1, len(shares) + 1)
        )
        sends.append(Send(direction, pieces, Action.STORE, _after(direction, step)))
    return tuple(sends)


def _to_root(direction: int, shares: list[Share], distance: int) -> tuple[Send, ...]:
    """Send my own block, then those from behind me, as far as this way is theirs."""
    if distance == 0:
        return ()
    return tuple(
        Send(
            direction,
            (Piece((-direction * step,), shares[distance + step - 1]),),
            Action.STORE,
            _after(direction, step),
        )
        for step in range(len(shares) - distance + 1)
    )
