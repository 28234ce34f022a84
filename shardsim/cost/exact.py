"""Closed forms with no approximation, for one ring, line or switch: EQUAL to the simulation.

V is bytes as one group sees the array: gathered (AllGather), unreduced local (ReduceScatter,
AllReduce), all shards together (AllToAll). w is the one-way bandwidth of one link (one port), a its
latency, N the number of chips. Every message costs n/w + a (`additive`) or max(a, n/w) (`floor`).

A direct algorithm at a switch sends its messages one behind the other, so only the last one's
latency counts; on a ring or line each message waits for one that came, so all latencies do.
"""

from __future__ import annotations

from fractions import Fraction

from shardsim.cost.terms import NOTHING, Terms, later, sum_of_largest
from shardsim.hardware import Link
from shardsim.units import Bytes
from shardsim.vocabulary import Algorithm, CallKind, CollectiveKind, LatencyModel

__all__ = [
    "all_gather",
    "all_to_all",
    "both_ways",
    "in_network",
    "permute",
    "send",
]


def all_gather(
    size: Bytes, n: int, link: Link, algorithm: Algorithm, latency_model: LatencyModel
) -> Terms:
    """Time of AllGather: `A[I_X] -> A[I]`, each chip ends with all V bytes.

    ReduceScatter, `A[I]{U_X} -> A[I_X]` with V the unreduced array of one chip, is the same run
    backwards and takes the same time. AllReduce, `A[I]{U_X} -> A[I]`, is the two in a row: twice.

    Additive model, bandwidth and latency terms:

    - balanced: (N-1)/N V/2w and floor(N/2) a
    - whole_shards: floor(N/2)/N V/w and floor(N/2) a
    - half_shards: (N-1)/N V/2w and (N-1) a
    - one_direction, line, ring (at a switch): (N-1)/N V/w and (N-1) a
    - direct: (N-1)/N V/w and a

    Floor model: each block's term is max(a, its bytes / w) instead.

    Args:
        size: V, bytes of the gathered (the unreduced) array.
        n: N, chips along the axis.
        link: One-way bandwidth and latency.
        algorithm: How the links are used.
        latency_model: `additive` or `floor`.

    Returns:
        Exact seconds. Relation to simulation: EQUAL.

    >>> from shardsim.hardware import Link
    >>> link = Link(Fraction(45 * 10**9), Fraction(0))
    >>> float(all_gather(Fraction(33554432), 4, link, Algorithm.LINE, LatencyModel.ADDITIVE).total)
    0.000559240533333...
    """
    if n == 1:
        return NOTHING
    w, a = link.one_way_bandwidth, link.latency
    whole = Fraction(size) / (n * w)
    if latency_model is LatencyModel.FLOOR:
        return _gather_floor(n, whole, a, algorithm)
    match algorithm:
        case Algorithm.BALANCED:
            return Terms((n - 1) * whole / 2, n // 2 * a)
        case Algorithm.WHOLE_SHARDS:
            return Terms(n // 2 * whole, n // 2 * a)
        case Algorithm.HALF_SHARDS:
            return Terms((n - 1) * whole / 2, (n - 1) * a)
        case Algorithm.ONE_DIRECTION | Algorithm.LINE | Algorithm.RING:
            return Terms((n - 1) * whole, (n - 1) * a)
        case Algorithm.DIRECT:
            return Terms((n - 1) * whole, a)
        case _:
            raise AssertionError(algorithm)


def _gather_floor(n: int, whole: Fraction, a: Fraction, algorithm: Algorithm) -> Terms:
    """Counts of blocks in sequence, each max(a, block)."""

    def blocks(count: int, block: Fraction) -> Terms:
        return Terms(count * block, Fraction(0)) if block > a else Terms(Fraction(0), count * a)

    match algorithm:
        case Algorithm.BALANCED:
            split = blocks(1, whole / 2) if n % 2 == 0 else NOTHING
            return blocks((n - 1) // 2, whole) + split
        case Algorithm.WHOLE_SHARDS:
            return blocks(n // 2, whole)
        case Algorithm.HALF_SHARDS:
            return blocks(n - 1, whole / 2)
        case Algorithm.ONE_DIRECTION | Algorithm.LINE | Algorithm.RING | Algorithm.DIRECT:
            return blocks(n - 1, whole)
        case _:
            raise AssertionError(algorithm)


def all_to_all(
    size: Bytes, n: int, link: Link, algorithm: Algorithm, latency_model: LatencyModel
) -> Terms:
    """Time of AllToAll: `A[I_X, J] -> A[I, J_X]`, each chip has V/N^2 bytes for each other.

    Additive model, bandwidth and latency terms:

    - balanced: N even V/8w, N odd (1-1/N^2) V/8w; floor(N/2) a
    - whole_shards: N even (1+2/N) V/8w, N odd as balanced; floor(N/2) a
    - half_shards: (N-1)/N V/4w and (N-1) a
    - one_direction, ring (at a switch): (N-1)/N V/2w and (N-1) a
    - direct: (N-1)/N^2 V/w and a
    - line: the larger of the middle link's load, floor(N/2) ceil(N/2)/N^2 V/w + a, and the longest
      way, (N-1)(V/N^2w + a)

    Args:
        size: V, bytes of all shards of the group together.
        n: N, chips along the axis.
        link: One-way bandwidth and latency.
        algorithm: How the links are used.
        latency_model: `additive` or `floor`.

    Returns:
        Exact seconds. Relation to simulation: EQUAL; on a line LOWER BOUND where latency matters.
    """
    if n == 1:
        return NOTHING
    w, a = link.one_way_bandwidth, link.latency
    block = Fraction(size) / (n * n * w)
    middle = (n // 2) * ((n + 1) // 2)
    if latency_model is LatencyModel.FLOOR:
        return _exchange_floor(n, block, a, algorithm, middle)
    match algorithm:
        case Algorithm.BALANCED:
            return Terms(block * (n * n - n % 2) / 8, n // 2 * a)
        case Algorithm.WHOLE_SHARDS:
            return Terms(block * (n * n + 2 * n if n % 2 == 0 else n * n - 1) / 8, n // 2 * a)
        case Algorithm.HALF_SHARDS:
            return Terms(block * n * (n - 1) / 4, (n - 1) * a)
        case Algorithm.ONE_DIRECTION | Algorithm.RING:
            return Terms(block * n * (n - 1) / 2, (n - 1) * a)
        case Algorithm.DIRECT:
            return Terms((n - 1) * block, a)
        case Algorithm.LINE:
            load, way = Terms(middle * block, a), Terms((n - 1) * block, (n - 1) * a)
            return load if load.total >= way.total else way
        case _:
            raise AssertionError(algorithm)


def _exchange_floor(
    n: int, block: Fraction, a: Fraction, algorithm: Algorithm, middle: int
) -> Terms:
    """Messages shrink by one block a step: an arithmetic series with a floor."""
    match algorithm:
        case Algorithm.BALANCED:
            first = Fraction(1, 2) if n % 2 == 0 else Fraction(1)
            return sum_of_largest(first, n // 2, block, a)
        case Algorithm.WHOLE_SHARDS:
            return sum_of_largest(Fraction(1), n // 2, block, a)
        case Algorithm.HALF_SHARDS:
            return sum_of_largest(Fraction(1), n - 1, block / 2, a)
        case Algorithm.ONE_DIRECTION | Algorithm.RING:
            return sum_of_largest(Fraction(1), n - 1, block, a)
        case Algorithm.DIRECT | Algorithm.LINE:
            load = (middle if algorithm is Algorithm.LINE else n - 1) * max(block, a)
            return Terms(load, Fraction(0)) if block > a else Terms(Fraction(0), load)
        case _:
            raise AssertionError(algorithm)


def both_ways(
    kind: CallKind,
    size: Bytes,
    n: int,
    link: Link,
    algorithm: Algorithm,
    latency_model: LatencyModel,
) -> tuple[Terms, Terms]:
    """The time up and the time down a segment of AllGather, ReduceScatter, AllToAll or Gather.

    The two go on side by side. Where one way is not used, its time is nothing. At a switch there is
    one way. A gather to one chip takes what AllGather takes, but see `gather_on_ring` and
    `gather_on_line`.

    Relation to simulation: EQUAL, as for the function of the collective's name.
    """
    form = all_to_all if kind is CollectiveKind.ALL_TO_ALL else all_gather
    whole = form(size, n, link, algorithm, latency_model)
    match algorithm:
        case Algorithm.ONE_DIRECTION | Algorithm.RING | Algorithm.DIRECT:
            return whole, NOTHING
        case Algorithm.WHOLE_SHARDS if n % 2 == 0:
            return whole, _shorter_way(kind, Fraction(size), n, link, latency_model)
        case _:
            return whole, whole


def _shorter_way(
    kind: CallKind, size: Bytes, n: int, link: Link, latency_model: LatencyModel
) -> Terms:
    """Whole shards on an even ring: the way down, which leaves the opposite chip to the way up."""
    steps = n // 2 - 1
    if steps == 0:
        return NOTHING
    w, a = link.one_way_bandwidth, link.latency
    if kind is CollectiveKind.ALL_TO_ALL:
        block = size / (n * n * w)
        if latency_model is LatencyModel.FLOOR:
            return sum_of_largest(Fraction(1), steps, block, a)
        return Terms(block * steps * (steps + 1) / 2, steps * a)
    block = size / (n * w)
    if latency_model is LatencyModel.FLOOR:
        return Terms(steps * block, Fraction(0)) if block > a else Terms(Fraction(0), steps * a)
    return Terms(steps * block, steps * a)


def _messages(count: int, seconds: Fraction, a: Fraction, latency_model: LatencyModel) -> Terms:
    """So many equal messages, each waiting for the one before to arrive."""
    if latency_model is LatencyModel.ADDITIVE:
        return Terms(count * seconds, count * a)
    whole = Terms(count * seconds, Fraction(0))
    return whole if seconds > a else Terms(Fraction(0), count * a)


def gather_on_ring(size: Bytes, n: int, link: Link) -> Terms:
    """Gather on an even ring of N = 2h, balanced, additive: the opposite chip's halves come last.

    With b = V/Nw: b/2 + a + the larger of (h-1) b + (h-2) a (they queue behind whole blocks) and
    (h-1) (b/2 + a) (they come after them). Relation to simulation: EQUAL.
    """
    block, a, hops = Fraction(size) / (n * link.one_way_bandwidth), link.latency, n // 2
    half = Terms(block / 2, a)
    if hops == 1:
        return half
    queue = Terms((hops - 1) * block, (hops - 2) * a)
    way = Terms((hops - 1) * block / 2, (hops - 1) * a)
    return half + later(queue, way)


def gather_on_line(
    size: Bytes, n: int, link: Link, root: int, latency_model: LatencyModel
) -> tuple[Terms, Terms]:
    """Gather to the chip at `root` on a line: up from before it, down from behind it.

    h (V/Nw + a) each, with h the chips on that side. Relation to simulation: EQUAL.
    """
    block = Fraction(size) / (n * link.one_way_bandwidth)
    up = _messages(root, block, link.latency, latency_model)
    down = _messages(n - 1 - root, block, link.latency, latency_model)
    return up, down


def permute(
    size: Bytes, n: int, link: Link, algorithm: Algorithm, shift: int, latency_model: LatencyModel
) -> Terms:
    """Every chip sends its V/N bytes `shift` places up, stored and forwarded.

    Ring: the shorter way, h = min(shift, N - shift) hops: h (V/Nw + a). Line: chips that would go
    over the end go all the way back: h = max(shift, N - shift). Switch: h = 1.

    Relation to simulation: EQUAL.
    """
    up = shift % n
    if n == 1 or up == 0:
        return NOTHING
    match algorithm:
        case Algorithm.DIRECT | Algorithm.RING:
            hops = 1
        case Algorithm.LINE:
            hops = max(up, n - up)
        case _:
            hops = min(up, n - up)
    block = Fraction(size) / (n * link.one_way_bandwidth)
    return _messages(hops, block, link.latency, latency_model)


def send(size: Bytes, hops: int, link: Link, chunks: int, latency_model: LatencyModel) -> Terms:
    """V bytes go h hops in c chunks, each stored and forwarded.

    (c + h - 1)/c V/w + h a; the limit of many chunks, V/w + h a, is cut-through.

    An AllReduce on a line of N by sums that flow to the middle chip and back is such a way of
    h = 2 floor(N/2) hops. Its limit, V/w, is half of what ReduceScatter and AllGather take there.

    Relation to simulation: EQUAL; in chunks over shared links a LOWER BOUND.
    """
    chunk = Fraction(size) / (chunks * link.one_way_bandwidth)
    if latency_model is LatencyModel.FLOOR:
        return _messages(chunks + hops - 1, chunk, link.latency, latency_model)
    return Terms((chunks + hops - 1) * chunk, hops * link.latency)


def in_network(size: Bytes, n: int, link: Link, chunks: int, latency_model: LatencyModel) -> Terms:
    """AllReduce by a switch that adds, each of N blocks in c chunks of b = V/Ncw.

    The larger of two bounds. A port in carries N copies and one sum of each chunk, none before the
    first sum: (N+1)/N V/w + b + a. The last sum waits for all parts, then goes down, up, and down
    as a copy: V/w + 3b + 2a. Chip to switch, and switch to chip, are half of a each.

    Relation to simulation: LOWER BOUND; the LIMIT of many chunks where V/w is long against a.
    """
    chunk = Fraction(size) / (n * chunks * link.one_way_bandwidth)
    at_port, last = (n + 1) * chunks + 1, n * chunks + 3
    if latency_model is LatencyModel.FLOOR:
        return _messages(max(at_port, last), chunk, link.latency / 2, latency_model)
    return later(Terms(at_port * chunk, link.latency), Terms(last * chunk, 2 * link.latency))
