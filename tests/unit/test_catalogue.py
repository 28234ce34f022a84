"""Chips, slices and topologies that a person describes."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import pytest

import shardsim.catalogue.shipped as shipped_module
from shardsim.catalogue import chips, data_folder, find_topology, generation_of, names_of
from shardsim.catalogue.clouds import shape_of
from shardsim.catalogue.generations import Generation, WrapRule, fits
from shardsim.documents import read_document
from shardsim.errors import (
    InputError,
    InputErrors,
    NotYetError,
    QuantityError,
    ScenarioError,
    Source,
    TopologyError,
)
from shardsim.vocabulary import DimensionKind, Dtype

T, G = 10**12, 10**9
BOOK = "How to Scale Your Model, TPU chapter (2026)"
PROFILING = "How to Scale Your Model, profiling chapter (2026)"
CLOUD = "Google Cloud TPU documentation"
JAX = "JAX, pallas tpu_info"

# chip: peaks in TFLOP/s, HBM in bytes/s and bytes, link one way in bytes/s; each with the source
FIGURES = {
    "v2": ({"bf16": (46, JAX)}, (716 * G, JAX), (16 * G, JAX), (60 * G, PROFILING)),
    "v3": (
        {"bf16": (140, BOOK), "int8": (140, BOOK)},
        (900 * G, BOOK),
        (32 * G, BOOK),
        (100 * G, BOOK),
    ),
    "v4": (
        {"bf16": (275, BOOK), "int8": (275, BOOK)},
        (1200 * G, BOOK),
        (32 * G, BOOK),
        (45 * G, BOOK),
    ),
    "v5e": (
        {"bf16": (197, BOOK), "int8": (394, BOOK), "int4": (788, JAX)},
        (820 * G, BOOK),
        (16 * G, BOOK),
        (45 * G, BOOK),
    ),
    "v5p": (
        {"bf16": (459, BOOK), "int8": (918, BOOK), "fp8": (459, CLOUD), "int4": (1840, JAX)},
        (2800 * G, BOOK),
        (96 * G, BOOK),
        (90 * G, BOOK),
    ),
    "v6e": (
        {"bf16": (920, BOOK), "int8": (1840, BOOK), "fp8": (920, JAX), "int4": (3680, JAX)},
        (1600 * G, BOOK),
        (32 * G, BOOK),
        (90 * G, BOOK),
    ),
    "7x": (
        {"bf16": (2300, BOOK), "fp8": (4610, BOOK)},
        (7400 * G, BOOK),
        (192 * G, BOOK),
        (90 * G, BOOK),
    ),
}

NETWORKS = {
    "v2": (2, (16, 16), 256, WrapRule.FULL_POD),
    "v3": (2, (32, 32), 1024, WrapRule.FULL_POD),
    "v4": (3, (16, 16, 16), 4096, WrapRule.CUBES),
    "v5e": (2, (16, 16), 256, WrapRule.LENGTH_16),
    "v5p": (3, (16, 20, 28), 8960, WrapRule.CUBES),
    "v6e": (2, (16, 16), 256, WrapRule.LENGTH_16),
    "7x": (3, None, 9216, WrapRule.CUBES),
}


def tpu(name: str) -> Generation:
    """A chip that is a TPU."""
    made = chips()[name]
    assert isinstance(made, Generation)
    return made


def test_the_chips_from_the_oldest_on() -> None:
    tpus = [name for name, made in chips().items() if isinstance(made, Generation)]
    assert tpus == list(FIGURES) == list(NETWORKS)
    assert list(chips())[: len(tpus)] == tpus


@pytest.mark.parametrize("name", FIGURES)
def test_figures(name: str) -> None:
    peaks, bandwidth, capacity, link = FIGURES[name]
    made = tpu(name)
    assert dict(made.chip.peaks) == {Dtype(word): rate * T for word, (rate, _) in peaks.items()}
    assert made.chip.hbm_bandwidth == bandwidth[0]
    assert made.chip.hbm_capacity == capacity[0]
    assert made.link.one_way_bandwidth == link[0]
    assert made.link.latency == Fraction(1, 10**6)
    assert (made.chip.name, made.chip.title) == (name, f"TPU {name}")


@pytest.mark.parametrize("name", FIGURES)
def test_sources_of_the_figures(name: str) -> None:
    peaks, bandwidth, capacity, link = FIGURES[name]
    data = read_document(data_folder("topologies") / "chips" / f"{name}.yaml").data
    for word, (_, source) in peaks.items():
        assert data["flops_per_second"][word]["source"].startswith(source)
    assert data["hbm_bandwidth"]["source"] == bandwidth[1]
    assert data["hbm_capacity"]["source"] == capacity[1]
    assert data["network"]["link_bandwidth"]["source"].startswith(link[1])
    assert data["network"]["hop_latency"]["source"] == BOOK


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str) -> None:
    made = tpu(name)
    assert (made.rank, made.pod, made.pod_chips, made.rule) == NETWORKS[name]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("V5E", "v5e"),
        ("v5litepod", "v5e"),
        ("tpu-v4", "v4"),
        ("v4p", "v4"),
        ("Ironwood", "7x"),
        ("tpu7x", "7x"),
        (" v7x ", "7x"),
        ("trillium", "v6e"),
    ],
)
def test_aliases(word: str, name: str) -> None:
    assert generation_of(word) is chips()[name]


R, L, S = "ring", "line", "switch"
PART_OF_16 = "{chip} wraps a dimension only when it is 16 long; this one is {size}"
FULL_16 = "{chip} wraps a dimension that is 16 long"
CUBES = "every dimension of {shape} is a multiple of 4 ({chip} joins 4x4x4 cubes)"
NO_CUBES = "{chip} wraps only when every dimension of the slice is a multiple of 4; {shape} has a 2"
PART_OF_POD = "{chip} wraps only in the full pod, {pod}x{pod}; this slice is {shape}"
FULL_POD = "{shape} is the full pod of {chip}"


@pytest.mark.parametrize(
    ("reference", "kinds", "reasons"),
    [
        ("v5e:4x4", [L, L], [PART_OF_16, PART_OF_16]),
        ("v5e:8x16", [L, R], [PART_OF_16, FULL_16]),
        ("v5e:16x16", [R, R], [FULL_16, FULL_16]),
        ("v5e:8x4", [L, L], [PART_OF_16, PART_OF_16]),
        ("v5e:1x16", [L, R], ["1 chip: no link", FULL_16]),
        ("v6e:8x16", [L, R], [PART_OF_16, FULL_16]),
        ("v6e:16x16", [R, R], [FULL_16, FULL_16]),
        ("v6e:4x4", [L, L], [PART_OF_16, PART_OF_16]),
        ("v4:4x4x4", [R, R, R], [CUBES] * 3),
        ("v4:4x4x8", [R, R, R], [CUBES] * 3),
        ("v4:2x2x4", [L, L, L], [NO_CUBES] * 3),
        ("v5p:2x2x4", [L, L, L], [NO_CUBES] * 3),
        ("v5p:16x20x28", [R, R, R], [CUBES] * 3),
        ("7x:4x4x4", [R, R, R], [CUBES] * 3),
        ("7x:4x4x576", [R, R, R], [CUBES] * 3),
        ("v2:16x16", [R, R], [FULL_POD] * 2),
        ("v2:4x4", [L, L], [PART_OF_POD] * 2),
        ("v3:32x32", [R, R], [FULL_POD] * 2),
        ("v3:8x32", [L, L], [PART_OF_POD] * 2),
    ],
)
def test_wraparound(reference: str, kinds: list[str], reasons: list[str]) -> None:
    topology = find_topology(reference)
    chip, _, shape = reference.partition(":")
    pod = {"v2": 16, "v3": 32}.get(chip)
    assert topology.name == reference
    assert [dimension.kind.value for dimension in topology.dimensions] == kinds
    assert [dimension.reason for dimension in topology.dimensions] == [
        reason.format(chip=chip, shape=shape, size=dimension.size, pod=pod)
        for reason, dimension in zip(reasons, topology.dimensions, strict=True)
    ]


@pytest.mark.parametrize("reference", ["V5E:4X4", "v5litepod:4x4", "v5e: 4 x 4", "v5e:4×4"])
def test_spellings_of_one_slice(reference: str) -> None:
    assert find_topology(reference) == find_topology("v5e:4x4")


@pytest.mark.parametrize(
    ("reference", "error", "message", "column", "width"),
    [
        ("v5x:4x4", TopologyError, "there is no chip 'v5x'; the catalogue has v2, v3", 1, 3),
        ("http://x", TopologyError, "there is no chip 'http'", 1, 4),
        (":4", TopologyError, "there is no chip ''", 1, 1),
        ("mi325x:8", NotYetError, "the catalogue has no figures of the GPU 'mi325x'", 1, 6),
        ("mi300x:8", NotYetError, "the catalogue has no figures of how several mi300x are", 1, 6),
        ("v100", NotYetError, "the catalogue has no figures of how several v100 are joined", 1, 4),
        ("v100-4", NotYetError, "the catalogue has no figures of how several v100 are", 1, 6),
        ("2*v100:4", NotYetError, "the catalogue has no figures of how several v100 are", 3, 4),
        ("GB300_NVL72:72", NotYetError, "the catalogue has no figures of the GPU 'GB300", 1, 11),
        ("GH200", NotYetError, "the catalogue has no figures of the GPU 'GH200'; its GPUs", 1, 5),
        ("H100", TopologyError, "chip H100 needs a shape", 1, 4),
        ("v5e", TopologyError, "chip v5e needs a shape", 1, 3),
        ("Ironwood", TopologyError, "chip Ironwood needs a shape", 1, 8),
        ("v5e:", TopologyError, "a size is missing in 'v5e:'", 5, 1),
        ("v5e:4xx4", TopologyError, "a size is missing in 'v5e:4xx4'", 7, 1),
        ("v5e:0x4", QuantityError, "a size of the shape must be from 1 to 1e18; it is 0", 5, 1),
        ("v5e:4x-1", QuantityError, "a size of the shape must be a whole number, 1 or more", 7, 2),
        ("v5e:4xnan", QuantityError, "a size of the shape must be a whole number", 7, 3),
        ("v5e:32x16", TopologyError, "v5e:32x16 is larger than a v5e pod (16x16)", 5, 5),
        ("7x:4x4x580", TopologyError, "7x:4x4x580 is larger than a 7x pod (9,216 chips)", 4, 7),
        ("v5e:2x2x2", TopologyError, "v5e:2x2x2 has 3 dimensions; v5e slices have 2", 5, 5),
        ("", TopologyError, "the topology is empty", 1, 1),
        ("nothing", TopologyError, "there is no topology file 'nothing'; shipped: a100", 1, 7),
        ("no.yaml", TopologyError, "there is no topology file 'no.yaml'", 1, 7),
        ("x/v5e:4", TopologyError, "there is no topology file 'x/v5e:4'", 1, 7),
        ("a\0b", TopologyError, "there is no topology file", 1, 3),
        ("x" * 5000, TopologyError, "there is no topology file", 1, 5000),
    ],
)
def test_bad_references(
    reference: str, error: type[InputError], message: str, column: int, width: int
) -> None:
    source = Source(reference, "--topology")
    with pytest.raises(error) as caught:
        find_topology(reference, source)
    assert caught.value.message.startswith(message)
    place = caught.value.place
    assert place is not None
    assert (str(place), place.width) == (f"--topology:1:{column}", width)
    assert caught.value.hint


def test_hints_name_what_was_meant() -> None:
    for reference, hint in [
        ("v5x:4", "did you mean v5p?"),
        ("ring-of-9", "did you mean ring-of-8?"),
    ]:
        with pytest.raises(TopologyError) as caught:
            find_topology(reference)
        assert caught.value.hint == hint
        assert str(caught.value.place) == "topology:1:1"


@pytest.mark.parametrize(
    ("reference", "counted", "way_out"),
    [
        ("v5e-1", "chips", "v5e-1 has 1 chip: write v5e:1"),
        ("v5e-16", "chips", "v5e-16 has 16 chips: write v5e:4x4"),
        ("V5LitePod-8", "chips", "V5LitePod-8 has 8 chips: write v5e:2x4"),
        ("v6e-256", "chips", "v6e-256 has 256 chips: write v6e:16x16"),
        ("v2-8", "cores, two a chip", "v2-8 has 4 chips: write v2:2x2"),
        ("v3-32", "cores, two a chip", "v3-32 has 16 chips: write v3:4x4"),
        ("v4-8", "cores, two a chip", "v4-8 has 4 chips: write v4:2x2"),
        ("v4-64", "cores, two a chip", "v4-64 has 32 chips: write v4:2x4x4"),
        ("v5p-384", "cores, two a chip", "v5p-384 has 192 chips: write v5p:4x4x12"),
        ("v5p-17920", "cores, two a chip", "v5p-17920 has 8,960 chips: write v5p:16x20x28"),
        ("tpu7x-128", "cores, two a chip", "tpu7x-128 has 64 chips: write 7x:4x4x4"),
        ("v4-7", "cores, two a chip", "7 cores are no whole number of chips; write a shape: v4:"),
        ("v5e-17", "chips", "no slice of v5e has 17 chips; write a shape such as v5e:4x4"),
        ("v5e-0", "chips", "no slice of v5e has 0 chips"),
        ("v5e-512", "chips", "no slice of v5e has 512 chips"),
        ("v4-999999999", "cores, two a chip", "999999999 cores are no whole number of chips"),
    ],
)
def test_the_names_of_google_cloud(reference: str, counted: str, way_out: str) -> None:
    with pytest.raises(TopologyError) as caught:
        find_topology(reference, Source(reference, "--topology"))
    assert caught.value.message == f"{reference} counts {counted}, and does not say their shape"
    assert caught.value.hint.startswith(way_out)
    place = caught.value.place
    assert place is not None
    assert (str(place), place.width) == ("--topology:1:1", len(reference))
    if ": write" in caught.value.hint:
        slice_ = find_topology(caught.value.hint.rpartition(" ")[2])
        assert slice_.size == int(way_out.split()[2].replace(",", ""))


def test_a_shape_for_every_number_of_chips_that_has_one() -> None:
    for generation in (tpu(name) for name in FIGURES):
        for count in range(1, 257):
            shape = shape_of(count, generation)
            if shape is None:
                assert not any(
                    fits((a, count // a), generation) for a in range(1, 17) if count % a == 0
                )
                continue
            assert math.prod(shape) == count
            assert list(shape) == sorted(shape)
            assert fits(shape, generation)


@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        ("v5:4x4", "did you mean v5e or v5p?"),
        ("V5-16", "did you mean v5e or v5p?"),
        ("v6:4x4", "did you mean v6e?"),
        ("v:4x4", "did you mean v4?"),
        ("v5", "did you mean v5e or v5p?"),
    ],
)
def test_chips_of_one_number(reference: str, hint: str) -> None:
    with pytest.raises(TopologyError) as caught:
        find_topology(reference)
    assert caught.value.message.startswith("there is no chip ")
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("topology: v5e:4x4\nprogram: []\n", "its topology is v5e:4x4; to run the scenario: "),
        ("topology: {chip: v5e}\n", "to run the scenario: "),
        ("program: []\nmesh: {X: 4}\n", "to run the scenario: "),
    ],
)
def test_a_scenario_where_a_topology_is_expected(
    content: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(content)
    with pytest.raises(TopologyError) as caught:
        find_topology("s.yaml", Source("s.yaml", "--topology"))
    assert caught.value.message == "s.yaml is a scenario, not a topology"
    assert caught.value.hint == f"{hint}shardsim run s.yaml"
    assert str(caught.value.place) == "--topology:1:1"


def test_the_name_of_a_scenario_where_a_topology_is_expected() -> None:
    for name in ("7-small-gather", "7-small-gather.yaml"):
        with pytest.raises(TopologyError, match="is a scenario, not a topology") as caught:
            find_topology(name)
        assert caught.value.hint == f"to run the scenario: shardsim run {name}"


def test_what_is_no_reference() -> None:
    with pytest.raises(TopologyError, match="a mapping, not 5"):
        find_topology(5)  # type: ignore[arg-type]
    with pytest.raises(TopologyError) as caught:
        find_topology(5, Source("5", "--topology"))  # type: ignore[arg-type]
    assert str(caught.value.place) == "--topology:1:1"


def test_a_topology_is_its_own_reference() -> None:
    topology = find_topology("v4:4x4x4")
    assert find_topology(topology) is topology


@pytest.mark.parametrize(
    ("name", "shape", "kinds"),
    [
        ("ring-of-8", (8,), [R]),
        ("v5e-row-of-8.yaml", (8,), [L]),
        ("mixed-4x16", (4, 16), [L, R]),
        ("slow-link-4x4", (4, 4), [L, L]),
        ("broken-ring-of-8", (8,), [R]),
        ("two-slices", (2, 4, 16), [S, L, R]),
        ("a100-2-nodes-shared-nic", (2, 8), [S, S]),
    ],
)
def test_shipped_topologies(name: str, shape: tuple[int, ...], kinds: list[str]) -> None:
    topology = find_topology(name)
    assert topology.shape == shape
    assert [dimension.kind.value for dimension in topology.dimensions] == kinds
    cabled = [d for d in topology.dimensions if d.kind is not DimensionKind.SWITCH]
    assert all(d.link == tpu("v5e").link for d in cabled)


def test_every_shipped_topology_is_tested() -> None:
    shown = test_shipped_topologies.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert sorted(name.removesuffix(".yaml") for name, *_ in shown) == names_of("topologies")


def test_shipped_topologies_beside_what_they_change() -> None:
    dcn, slice_ = find_topology("two-slices").dimensions[0], find_topology("2*v5e:4x16")
    assert dcn.link.one_way_bandwidth == slice_.dimensions[0].link.one_way_bandwidth / 2
    assert find_topology("two-slices").dimensions[1:] != slice_.dimensions[1:]  # reasons apart
    assert find_topology("two-slices").shape == slice_.shape
    shared, own = find_topology("a100-2-nodes-shared-nic"), find_topology("a100:2x8")
    assert [d.link for d in shared.dimensions[1:]] == [d.link for d in own.dimensions[1:]]
    assert shared.dimensions[0].link.one_way_bandwidth * 8 == 4 * 25 * G
    assert own.dimensions[0].link.one_way_bandwidth * 8 == 8 * 25 * G
    (slow, _), (back, link) = find_topology("slow-link-4x4").changed
    assert (slow, back) == (((1, 2), (0, +1)), ((2, 2), (0, -1)))
    assert link is not None
    assert link.one_way_bandwidth * 3 == tpu("v5e").link.one_way_bandwidth


def cluster(**changes: object) -> dict[str, object]:
    """A topology of one dimension with some of its keys changed."""
    dimension = {"name": "x", "size": 2, "kind": "ring", "bandwidth": "45 GB/s", **changes}
    return {"name": "c", "chip": "v5e", "dimensions": [dimension]}


@pytest.mark.parametrize(
    ("changes", "kind", "reason"),
    [
        ({}, L, "2 chips with one cable: the wraparound would be the same cable"),
        ({"links": 2}, R, "2 chips with two cables"),
        ({"links": "1", "size": 3}, R, "as given"),
        ({"size": 1}, L, "1 chip: no link"),
        ({"kind": "line"}, L, "as given"),
        ({"kind": "switch"}, S, "as given"),
        ({"kind": "switch", "size": 1, "reduces": "true"}, L, "1 chip: no link"),
        ({"kind": DimensionKind.LINE}, L, "as given"),
    ],
)
def test_rings_of_two(changes: dict[str, object], kind: str, reason: str) -> None:
    dimension = find_topology(cluster(**changes)).dimensions[0]
    assert dimension.kind.value == kind
    assert dimension.reason.startswith(reason)
    assert dimension.link.latency == Fraction(1, 10**6)


def test_a_chip_of_its_own() -> None:
    own = {"name": "c", "flops_per_second": {"bfloat16": 2e14}, "hbm_bandwidth": "1 TB/s"}
    given = MappingProxyType({**cluster(), "chip": {**own, "hbm_capacity": "16 GiB"}, "name": ""})
    topology = find_topology(given)
    assert (topology.name, topology.chip.title) == ("topology", "c")
    assert topology.chip.peaks == ((Dtype.BF16, Fraction(2 * 10**14)),)
    assert topology.chip.hbm_capacity == 2**34


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"links": 2, "size": 4}, TopologyError, "links: 2 is for a ring of 2 chips"),
        ({"links": 2, "kind": "line"}, TopologyError, "links: 2 is for a ring of 2 chips"),
        ({"links": 3}, ScenarioError, "dimensions[0].links must be 1 or 2; it is '3'"),
        ({"links": True}, ScenarioError, "dimensions[0].links must be 1 or 2; it is 'True'"),
        ({"reduces": True}, TopologyError, "reduces is for a switch that can add; dimension x"),
        ({"reduces": 1, "kind": "switch"}, ScenarioError, "dimensions[0].reduces must be true or"),
        ({"links": 2, "kind": "switch"}, TopologyError, "links: 2 is for a ring of 2 chips"),
        ({"name": "a b"}, ScenarioError, "dimensions[0].name: 'a b' cannot be the name"),
        ({"name": 3}, ScenarioError, "dimensions[0].name must be text; it is 3"),
        ({"twist": 1}, ScenarioError, "unknown key 'twist' in dimensions[0]; allowed: name, size"),
        ({"size": 10**7}, TopologyError, "the topology has 10,000,000 chips; 1,000,000 are"),
        ({"kind": "torus"}, ScenarioError, "dimensions[0].kind must be one of ring, line, swi"),
        ({"bandwidth": 45}, QuantityError, "dimensions[0].bandwidth: 45 B/s is too slow to be"),
        ({"latency": 5}, QuantityError, "dimensions[0].latency: 5 s is too long to be meant"),
        ({"bandwidth": "45 Gbit/s"}, QuantityError, "dimensions[0].bandwidth: 'Gbit/s' is not"),
    ],
)
def test_faults_of_a_dimension(
    changes: dict[str, object], error: type[InputError], message: str
) -> None:
    with pytest.raises(error) as caught:
        find_topology(cluster(**changes))
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chip": "v9"}, "there is no chip 'v9'"),
        ({"chip": {"flops_per_second": {}}}, "flops_per_second is empty"),
        ({"dimensions": []}, "dimensions must be 1 to 6; this topology has 0"),
        ({"dimensions": [{"name": "x"}] * 7}, "dimensions must be 1 to 6; this topology has 7"),
        (
            {"chip": {"name": "c", "flops_per_second": {"bf16": 1}, "hbm_bandwidth": 820}},
            "chip.hbm_bandwidth: 820 B/s is too slow to be meant",
        ),
        ({"dimensions": "x"}, "dimensions must be a list; it is 'x'"),
    ],
)
def test_faults_of_a_topology(changes: dict[str, object], message: str) -> None:
    with pytest.raises((InputError, InputErrors)) as caught:
        find_topology({**cluster(), **changes})
    assert message in caught.value.message


def test_dimensions_of_one_name_and_a_bad_chip_are_told_together() -> None:
    given = cluster()
    given["dimensions"] = given["dimensions"] * 2  # type: ignore[operator]
    with pytest.raises(InputErrors) as caught:
        find_topology({**given, "chip": "b300"})
    assert [error.message[:25] for error in caught.value.errors] == [
        "the catalogue has no figu",
        "two dimensions are named ",
    ]


FILE = """\
chip: v5e
dimensions:
  - {name: x, size: 4, kind: line, bandwidth: 45 GB/s}
"""


def test_where_a_file_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "base").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "base" / "mine.yml").write_text(FILE)
    assert find_topology("mine", base=tmp_path / "base").name == "mine"
    (tmp_path / "base" / "ring-of-8.yaml").write_text(FILE)
    assert find_topology("ring-of-8", base=tmp_path / "base").name == "ring-of-8"
    Path("ring-of-8.yaml").write_text("name: first\n" + FILE)
    assert find_topology("ring-of-8", base=tmp_path / "base").name == "first"
    assert find_topology(tmp_path / "base" / "mine.yml").shape == (4,)
    assert find_topology(str(tmp_path / "base" / "mine")).shape == (4,)


def test_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(TopologyError, match="folder is a directory, not a topology file"):
        find_topology("folder")


def test_a_path_that_may_not_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> bool:
        raise PermissionError

    monkeypatch.setattr("pathlib.Path.exists", refuse)
    with pytest.raises(ScenarioError, match="there is no file secret"):
        find_topology("secret")


def test_data_inside_the_package_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "shardsim"
    monkeypatch.setattr(shipped_module, "__file__", str(package / "catalogue" / "shipped.py"))
    assert data_folder("topologies") == tmp_path / "site" / "topologies"
    (package / "topologies").mkdir(parents=True)
    assert data_folder("topologies") == package / "topologies"
