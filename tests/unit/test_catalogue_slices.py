"""Several slices of TPUs, `4*v5e:16x16`, and shapes that are not modelled."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.catalogue import chips, data_folder, find_topology
from shardsim.catalogue.generations import Generation
from shardsim.documents import read_document
from shardsim.errors import InputError, NotYetError, QuantityError, Source, TopologyError
from shardsim.vocabulary import DimensionKind

# chip: bytes/s of a chip's share of the network between slices
DCN = {
    "v5e": 3_125_000_000,
    "v5p": 6_250_000_000,
    "v6e": 12_500_000_000,
    "7x": 12_500_000_000,
}


def test_the_network_between_slices() -> None:
    for name, made in chips().items():
        if not isinstance(made, Generation):
            continue
        assert (made.dcn is not None) is (name in DCN)
        if made.dcn is not None:
            assert made.dcn.one_way_bandwidth == DCN[name]
            assert made.dcn.latency == Fraction(1, 10**5)
            data = read_document(data_folder("topologies") / "chips" / f"{name}.yaml").data["dcn"]
            assert data["bandwidth"]["source"].startswith("How to Scale Your Model, TPU chapter")
            assert data["latency"]["source"].startswith("assumed")


def test_a_chip_has_its_share_of_the_host() -> None:
    """2 x 100 Gbit/s for 8 chips, 50 Gbit/s a chip, 4 x 200 Gbit/s for 8, 100 Gbit/s a chip."""
    gigabit = 10**9 / 8
    assert DCN["v5e"] == 2 * 100 * gigabit / 8
    assert DCN["v5p"] == 50 * gigabit
    assert DCN["v6e"] == 4 * 200 * gigabit / 8
    assert DCN["7x"] == 100 * gigabit


@pytest.mark.parametrize(
    ("reference", "kinds", "why"),
    [
        ("4*v5e:16x16", ["switch", "ring", "ring"], "4 slices over the data-center network: 3.12"),
        ("2*v5e:4x4", ["switch", "line", "line"], "2 slices over the data-center network: 3.12"),
        # 2 x 8 is 16, but a slice wraps by its own shape
        ("2*v5e:8x8", ["switch", "line", "line"], "2 slices over the data-center network: 3.12"),
        ("3*v5p:4x4x8", ["switch", "ring", "ring", "ring"], "3 slices over the data-center"),
        ("3*v5p:2x2x4", ["switch", "line", "line", "line"], "3 slices over the data-center"),
        (
            "100*v6e:16x16",
            ["switch", "ring", "ring"],
            "100 slices over the data-center network: 12",
        ),
        ("2*7x:4x4x4", ["switch", "ring", "ring", "ring"], "2 slices over the data-center network"),
        ("1*v5e:4x4", ["line", "line", "line"], "1 slice: no link"),
    ],
)
def test_slices(reference: str, kinds: list[str], why: str) -> None:
    topology = find_topology(reference)
    count, _, one = reference.partition("*")
    first, *rest = topology.dimensions
    assert topology.name == reference
    assert (first.name, first.size, first.reduces) == ("slice", int(count), False)
    assert first.reason.startswith(why)
    assert first.link.one_way_bandwidth == DCN[one.partition(":")[0]]
    assert [dimension.kind.value for dimension in topology.dimensions] == kinds
    assert tuple(rest) == find_topology(one).dimensions


@pytest.mark.parametrize("reference", ["4 * v5e : 16x16", "4*V5E:16X16", "4*v5litepod:16×16"])
def test_spellings(reference: str) -> None:
    assert find_topology(reference) == find_topology("4*v5e:16x16")


@pytest.mark.parametrize(
    ("reference", "error", "message", "hint", "column", "width"),
    [
        ("2*v4:4x4x4", TopologyError, "the catalogue has no figure for the network between slices "
         "of v4; it has one for v5e, v5p, v6e, 7x", "describe the slices in a YAML file", 6, 5),
        ("0*v5e:4x4", QuantityError, "the number of slices must be from 1 to", "write 1", 1, 1),
        ("*v5e:4x4", QuantityError, "the number of slices must be a whole", "write it in", 1, 1),
        ("x*v5e:4x4", QuantityError, "the number of slices must be a whole", "write it in", 1, 1),
        ("2*2*v5e:4", QuantityError, "the number of slices must be a whole", "write it in", 1, 3),
        ("2*v5x:4x4", TopologyError, "there is no chip 'v5x'", "did you mean v5p?", 3, 3),
        ("2*:4x4", TopologyError, "there is no chip ''", "choose one of these", 3, 1),
        ("2*v5e:32x16", TopologyError, "v5e:32x16 is larger than a v5e pod", "choose a", 7, 5),
        ("4000*v5e:16x16", TopologyError, "4000*v5e:16x16 has 1,024,000 chips; 1,000,000 are the "
         "most", "give fewer slices", 10, 5),
        ("4xv5e:4x4", TopologyError, "several slices are written with *; '4xv5e' is no chip",
         "write 4*v5e:4x4", 1, 5),
        ("2 × 7x:4x4x4", TopologyError, "several slices are written with *; '2 × 7x' is no chip",
         "write 2*7x:4x4x4", 1, 6),
        ("4xv9:4x4", TopologyError, "there is no chip '4xv9'", "", 1, 4),
        ("v4:4x4x8_twisted", NotYetError, "a twisted torus is not supported: it joins the ends of "
         "a dimension with an offset", "write v4:4x4x8, which is not twisted", 9, 8),
        ("v5p:8x8x16-Twisted ", NotYetError, "a twisted torus is not supported",
         "write v5p:8x8x16, which is not twisted", 11, 8),
        ("2*v5p:8x8x16_twisted", NotYetError, "a twisted torus is not supported",
         "write 2*v5p:8x8x16, which is not twisted", 13, 8),
        ("v4:4x4x8_untwisted", TopologyError, "untwisted says nothing more: no shape is twisted "
         "here", "leave it out: v4:4x4x8", 9, 10),
    ],
)  # fmt: skip
def test_bad_references(
    reference: str, error: type[InputError], message: str, hint: str, column: int, width: int
) -> None:
    with pytest.raises(error) as caught:
        find_topology(reference, Source(reference, "--topology"))
    assert caught.value.message.startswith(message)
    assert caught.value.hint.startswith(hint)
    place = caught.value.place
    assert place is not None
    assert (str(place), place.width) == (f"--topology:1:{column}", width)


@given(st.integers(1, 200), st.integers(1, 16), st.integers(1, 16))
def test_a_slice_among_slices_is_the_slice(count: int, a: int, b: int) -> None:
    topology = find_topology(f"{count}*v5e:{a}x{b}")
    assert topology.shape == (count, a, b)
    assert topology.dimensions[1:] == find_topology(f"v5e:{a}x{b}").dimensions
    is_one = topology.dimensions[0].kind is DimensionKind.LINE
    assert is_one is (count == 1)
