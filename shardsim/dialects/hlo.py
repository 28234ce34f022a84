"""XLA's HLO: `{devices=[4,1,2]<=[8] last_tile_dim_replicate}`, `{replicated}`.

The first numbers say into how many blocks each dimension is cut; a list of chips, in the order of
the blocks, says who holds which. `<=[4,2]T(1,0)` is such a list: the chips as an array of 4 x 2,
transposed. What the last numbers count, behind the dimensions, are groups of chips with the same
block: copies (`last_tile_dim_replicate`) or partial sums (`last_tile_dims={unreduced}`).
Chips are numbered row-major over the axes of the mesh.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from shardsim.dialects.digits import cut_axes, digits_of, found_axes, iota
from shardsim.dialects.naming import Naming
from shardsim.dialects.scanning import Scanner, Token
from shardsim.errors import ShardingError, Source
from shardsim.notation import Array
from shardsim.placement import block_of, check_axes, merged

__all__ = ["read", "write"]

MOST_CHIPS = 1 << 17
_EXAMPLE = "write for example {devices=[4,1,2]<=[8] last_tile_dim_replicate} or {replicated}"
_REFUSED = {
    "maximal": "maximal puts the whole array on one chip, and a mesh has no axis for that",
    "manual": "manual leaves it to the program which chip holds what",
    "unknown": "unknown says no sharding",
    "mesh": "a sharding with the names of axes in it is of a newer form than is read here",
}


def write(array: Array, sizes: Mapping[str, int], extents: Mapping[str, int] | None = None) -> str:
    """The HLO sharding of an array.

    Raises:
        ShardingError: an axis that is not in the mesh.

    >>> from shardsim.notation import parse_array
    >>> write(parse_array("A[I_Y, J]"), {"X": 4, "Y": 2})
    '{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}'
    >>> write(parse_array("A[I]{U_XY}"), {"X": 4, "Y": 2})
    '{unreduced}'
    """
    check_axes(array, sizes)
    digits = cut_axes((*array.axes, *array.unreduced), sizes)
    groups = [
        [k for name in dim.axes for k in digits_of(name, digits, sizes)] for dim in array.dims
    ]
    sums = sorted(k for name in array.unreduced for k in digits_of(name, digits, sizes))
    used = {k for group in groups for k in group} | set(sums)
    copies = [k for k in range(len(digits)) if k not in used]

    def count(group: Sequence[int]) -> int:
        return math.prod(digits[k].size for k in group)

    behind = [(sums, "unreduced"), (copies, "replicated")]
    kinds = [(group, kind) for group, kind in behind if count(group) > 1]
    cut = math.prod(count(group) for group in groups)
    if cut == 1 and len(kinds) < 2:
        return f"{{{kinds[0][1] if kinds else 'replicated'}}}"
    tile = [count(group) for group in groups] + [count(group) for group, _ in kinds]
    reshape, turned = iota(
        [one.size for one in digits], [*itertools.chain(*groups), *sums, *copies]
    )
    transposed = f"T({_comma(turned)})" if len(turned) > 1 else ""
    names = [kind for _, kind in kinds]
    said = f" last_tile_dims={{{', '.join(names)}}}" if names else ""
    if names == ["replicated"]:
        said = " last_tile_dim_replicate"
    return f"{{devices=[{_comma(tile)}]<=[{_comma(reshape)}]{transposed}{said}}}"


def _comma(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def read(text: str | Source, sizes: Mapping[str, int], naming: Naming | None = None) -> Array:
    """The array that an HLO sharding says: the axes of the mesh that give each chip its block.

    Raises:
        NotationError: it cannot be read.
        ShardingError: it is not for as many chips, no axes of the mesh give it, it leaves open
            how many dimensions there are, or it is no sharding over a mesh.

    >>> str(read("{devices=[2,4]<=[4,2]T(1,0)}", {"X": 4, "Y": 2}))
    'A[I_Y, J_X]'
    >>> str(read("{devices=[2,4]<=[8] last_tile_dim_replicate}", {"X": 4, "Y": 2}))
    'A[I_{X:(1)2}]'
    """
    scanner = Scanner(text, "the HLO sharding", _EXAMPLE)
    naming = naming or Naming()
    first = scanner.expect("{")
    total = math.prod(sizes.values())
    if total > MOST_CHIPS:
        raise ShardingError(
            f"the mesh has {total:,} chips", f"an HLO sharding is read for {MOST_CHIPS:,} at most"
        )
    word = scanner.word("devices=, replicated or unreduced")
    if word.text in _REFUSED:
        raise ShardingError(
            _REFUSED[word.text], "give a sharding of the form {devices=..}", scanner.place(word)
        )
    if word.text in ("replicated", "unreduced"):
        scanner.expect("}")
        scanner.end()
        place = scanner.place(first._replace(end=scanner.tokens[-2].end))
        sums = tuple(axis for axis, size in sizes.items() if size > 1)
        left = sums if word.text == "unreduced" else ()
        return naming.array(None, sizes, place, unreduced=left)
    if word.text != "devices":
        raise scanner.unexpected("devices=, replicated or unreduced", word)
    scanner.expect("=")
    start = scanner.token
    tile = _numbers(scanner, "[", "]", "how often a dimension is cut")
    _check_total(scanner, total, tile, "devices=[..]", start)
    chips = _chips(scanner, total)
    kinds = _kinds(scanner)
    scanner.expect("}")
    scanner.end()
    place = scanner.place(first._replace(end=scanner.tokens[-2].end))
    if len(kinds) > len(tile):
        raise ShardingError(
            f"{len(kinds)} kinds of groups, and {len(tile)} numbers in devices=[..]",
            "give a number for each dimension, then one for each kind",
            place,
        )
    rank = len(tile) - len(kinds)
    axes = _axes(tile, chips, kinds, sizes)
    if axes is None:
        names = ", ".join(f"{axis}={size}" for axis, size in sizes.items())
        raise ShardingError(
            f"no axes of the mesh {names} give this order of the chips",
            "give the mesh that the sharding was made for, with its axes in their order",
            place,
        )
    dims, sums = axes[:rank], tuple(axes[rank])
    array = naming.array(dims, sizes, place, unreduced=sums)
    return merged(array, sizes)


def _numbers(scanner: Scanner, opening: str, closing: str, what: str) -> list[int]:
    """Numbers with commas between them."""
    scanner.expect(opening)
    found = [scanner.number(what)]
    while not scanner.accept(closing):
        scanner.expect(",", f"or '{closing}'")
        found.append(scanner.number(what))
    return found


def _chips(scanner: Scanner, total: int) -> list[int]:
    """The chips in the order of the blocks, from an iota or a list."""
    start = scanner.token
    if scanner.accept("<="):
        reshape = _numbers(scanner, "[", "]", "the size of a digit")
        order = list(range(len(reshape)))
        if scanner.accept("T"):
            order = _numbers(scanner, "(", ")", "a position")
        if sorted(order) != list(range(len(reshape))):
            raise scanner.fault("the positions are not those of the sizes, each once", token=start)
        _check_total(scanner, total, reshape, "the list of chips", start)
        return _transposed(reshape, order)
    chips = [scanner.number("a chip")]
    while scanner.accept(","):
        chips.append(scanner.number("a chip"))
    _check_total(scanner, total, [len(chips)], "the list of chips", start)
    if sorted(chips) != list(range(total)):
        raise ShardingError(
            f"the list does not have each of the chips 0 to {total - 1} once",
            "give a list of all chips of the mesh",
            scanner.place(start),
        )
    return chips


def _check_total(
    scanner: Scanner, total: int, numbers: Sequence[int], what: str, start: Token
) -> None:
    count = math.prod(numbers)
    if count != total:
        said = f"{count:,}" if count <= MOST_CHIPS else "far more"
        raise ShardingError(
            f"{what} is for {said} chips, and the mesh has {total:,}",
            "give a mesh of that many chips: --mesh X=4,Y=2",
            scanner.place(start),
        )


def _transposed(reshape: Sequence[int], order: Sequence[int]) -> list[int]:
    """0, 1, 2, ... as an array of that shape, its dimensions in that order."""
    strides = [math.prod(reshape[k + 1 :]) for k in range(len(reshape))]
    ranges = [range(0, reshape[k] * strides[k], strides[k]) for k in order]
    return [sum(place) for place in itertools.product(*ranges)]


def _kinds(scanner: Scanner) -> list[str]:
    """What the numbers behind the dimensions count."""
    if scanner.accept("last_tile_dim_replicate"):
        return ["replicated"]
    if not scanner.accept("last_tile_dims"):
        return []
    scanner.expect("=")
    scanner.expect("{")
    kinds: list[str] = []
    while not scanner.accept("}"):
        if kinds:
            scanner.expect(",", "or '}'")
        if not scanner.at("replicated", "unreduced"):
            if scanner.token.text in _REFUSED:
                raise ShardingError(
                    _REFUSED[scanner.token.text], "take a sharding without it", scanner.place()
                )
            raise scanner.unexpected("replicated or unreduced")
        kinds.append(scanner.take().text)
    return kinds


def _axes(
    tile: Sequence[int], chips: Sequence[int], kinds: Sequence[str], sizes: Mapping[str, int]
) -> list[list[str]] | None:
    """The axes of each dimension, then those still to be summed over; `None` if there are none."""
    rank = len(tile) - len(kinds)
    sums = [n for n, kind in zip(tile[rank:], kinds, strict=True) if kind == "unreduced"]
    counts = [*tile[:rank], math.prod(sums)]
    groups: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}
    places: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for index, chip in zip(itertools.product(*(range(n) for n in tile)), chips, strict=True):
        behind = zip(index[rank:], kinds, strict=True)
        key = index[:rank], tuple(k for k, kind in behind if kind == "unreduced")
        places[chip] = key
        lowest = groups.setdefault(key[0], {})
        lowest[key[1]] = min(chip, lowest.get(key[1], chip))
    ranks = {
        (block, group): number
        for block, lowest in groups.items()
        for number, group in enumerate(sorted(lowest, key=lowest.__getitem__))
    }
    held = [(*places[chip][0], ranks[places[chip]]) for chip in range(len(chips))]
    axes = found_axes(held, counts, sizes)
    if axes is None:
        return None
    found = Naming().array(axes, sizes, None)
    every = itertools.product(*(range(size) for size in sizes.values()))
    chip_of = (dict(zip(sizes, numbers, strict=True)) for numbers in every)
    said = [block_of(found, sizes, chip) for chip in chip_of]
    return axes if said == held else None
