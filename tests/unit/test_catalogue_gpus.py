"""GPUs: the figures of each, and what `h100:8` and `h100:4x8` are."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.catalogue import Node, chips, data_folder, find_topology, generation_of
from shardsim.catalogue.nodes import in_nodes
from shardsim.documents import read_document
from shardsim.errors import NotYetError, Source, TopologyError
from shardsim.hardware import Calibration
from shardsim.vocabulary import DimensionKind, Dtype

T, G = 10**12, 10**9
BOOK = "How to Scale Your Model, GPU chapter (2026)"
TRANSFORMERS = "How to Scale Your Model, transformers chapter (2026)"
ROOFLINE = "How to Scale Your Model, roofline chapter (2026)"
CALCULON = "calculon, systems/"
FITTED = "fitted to tables measured by aiconfigurator"
ASSUMED = "assumed: "

# GPU: peaks in TFLOP/s, HBM in bytes/s and bytes, GPUs of a node, port and NIC in bytes/s, their
# latencies in us, whether the switch adds; each with the beginning of its source
FIGURES = {
    "a100": (
        {"bf16": (310, BOOK), "int8": (620, BOOK)},
        (2000 * G, BOOK), (80 * G, BOOK),
        8, (300 * G, BOOK), ("0.97", FITTED), (25 * G, CALCULON), (20, CALCULON), False,
    ),
    "h100": (
        {"bf16": (989, ROOFLINE), "fp8": (2000, BOOK)},
        (3350 * G, ROOFLINE), (80 * G, BOOK),
        8, (450 * G, BOOK), ("0.83", FITTED), (50 * G, BOOK), (20, CALCULON), True,
    ),
    "h200": (
        {"bf16": (990, BOOK), "fp8": (2000, BOOK)},
        (4800 * G, BOOK), (141 * G, BOOK),
        8, (450 * G, BOOK), ("0.83", ASSUMED), (50 * G, ASSUMED), (20, ASSUMED), True,
    ),
    "h800": (
        {"bf16": (989, ASSUMED), "fp8": (1513, TRANSFORMERS)},
        (3350 * G, ASSUMED), (80 * G, ASSUMED),
        8, (300 * G, "derived: 300 GB/s ("), ("0.83", ASSUMED), (50 * G, ASSUMED), (20, ASSUMED),
        True,
    ),
    "b200": (
        {"bf16": (2250, BOOK), "fp8": (4500, BOOK), "fp4": (9000, BOOK)},
        (8000 * G, BOOK), (192 * G, BOOK),
        8, (900 * G, BOOK), ("1.43", FITTED), (50 * G, BOOK), (20, ASSUMED), True,
    ),
    "gb200": (
        {"bf16": (2250, BOOK), "fp8": (4500, BOOK), "fp4": (9000, BOOK)},
        (8000 * G, BOOK), (192 * G, BOOK),
        72, (900 * G, BOOK), ("1.43", ASSUMED), (50 * G, BOOK), (20, ASSUMED), True,
    ),
}  # fmt: skip
MEASURED = ("a100-measured", "h100-measured")


def gpu(name: str) -> Node:
    """A chip that is a GPU."""
    made = chips()[name]
    assert isinstance(made, Node)
    return made


def test_every_gpu_is_in_the_table() -> None:
    gpus = {name for name, made in chips().items() if isinstance(made, Node)}
    assert gpus == {*FIGURES, *MEASURED}


@pytest.mark.parametrize("name", FIGURES)
def test_figures(name: str) -> None:
    peaks, bandwidth, capacity, gpus, port, latency, nic, nic_latency, reduces = FIGURES[name]
    made = gpu(name)
    assert dict(made.chip.peaks) == {Dtype(word): rate * T for word, (rate, _) in peaks.items()}
    assert (made.chip.hbm_bandwidth, made.chip.hbm_capacity) == (bandwidth[0], capacity[0])
    assert (made.gpus, made.reduces) == (gpus, reduces)
    assert made.link.one_way_bandwidth == port[0]
    assert made.link.latency == Fraction(latency[0]) / 10**6
    assert made.nic.one_way_bandwidth == nic[0]
    assert made.nic.latency == Fraction(nic_latency[0], 10**6)
    assert (made.chip.name, made.chip.title) == (name, f"NVIDIA {name.upper()}")
    assert made.calibration == Calibration()


@pytest.mark.parametrize("name", FIGURES)
def test_sources_of_the_figures(name: str) -> None:
    peaks, bandwidth, capacity, _, port, latency, nic, nic_latency, _ = FIGURES[name]
    data = read_document(data_folder("topologies") / "chips" / f"{name}.yaml").data
    said = [(data["flops_per_second"][word], source) for word, (_, source) in peaks.items()]
    said += [(data["hbm_bandwidth"], bandwidth[1]), (data["hbm_capacity"], capacity[1])]
    said += [(data["node"]["nvlink"]["links"], port[1]), (data["node"]["latency"], latency[1])]
    said += [(data["node"]["nic"]["bandwidth"], nic[1])]
    said += [(data["node"]["nic"]["latency"], nic_latency[1])]
    for figure, source in said:
        assert figure["source"].startswith(source)
        for other in figure.get("alternatives", ()):
            assert set(other) == {"value", "source"}


@pytest.mark.parametrize(
    ("word", "name"),
    [("H100", "h100"), ("h100-sxm", "h100"), ("A100-80GB", "a100"), ("GB200_NVL72", "gb200")],
)
def test_aliases(word: str, name: str) -> None:
    assert generation_of(word) is chips()[name]


SWITCH, LINE = DimensionKind.SWITCH, DimensionKind.LINE
NICS = "{} nodes: each GPU has a NIC of its own, {} a node"


@pytest.mark.parametrize(
    ("reference", "dimensions"),
    [
        ("h100:8", [("gpu", 8, SWITCH, "8 GPUs behind an NVLink switch")]),
        ("h100:4", [("gpu", 4, SWITCH, "4 GPUs of a node of 8 behind an NVLink switch")]),
        ("h100:1", [("gpu", 1, LINE, "1 gpu: no link")]),
        (
            "h100:4x8",
            [
                ("node", 4, SWITCH, NICS.format(4, "8 x 50 GB/s = 400 GB/s")),
                ("gpu", 8, SWITCH, "8 GPUs behind an NVLink switch"),
            ],
        ),
        (
            "a100:2x4",
            [
                ("node", 2, SWITCH, NICS.format(2, "4 x 25 GB/s = 100 GB/s")),
                ("gpu", 4, SWITCH, "4 GPUs of a node of 8 behind an NVLink switch"),
            ],
        ),
        (
            "b200:1x8",
            [
                ("node", 1, LINE, "1 node: no link"),
                ("gpu", 8, SWITCH, "8 GPUs behind an NVLink switch"),
            ],
        ),
        ("gb200:72", [("gpu", 72, SWITCH, "72 GPUs behind an NVLink switch")]),
        (
            "gb200:8x72",
            [
                ("node", 8, SWITCH, NICS.format(8, "72 x 50 GB/s = 3.60 TB/s")),
                ("gpu", 72, SWITCH, "72 GPUs behind an NVLink switch"),
            ],
        ),
    ],
)
def test_nodes(reference: str, dimensions: list[tuple[str, int, DimensionKind, str]]) -> None:
    topology = find_topology(reference)
    made = gpu(reference.partition(":")[0])
    assert topology.name == reference
    assert topology.chip is made.chip
    assert [(d.name, d.size, d.kind, d.reason) for d in topology.dimensions] == dimensions
    for dimension in topology.dimensions:
        assert dimension.link == (made.nic if dimension.name == "node" else made.link)
        adds = dimension.name == "gpu" and dimension.kind is SWITCH and made.reduces
        assert dimension.reduces is adds
    assert topology.is_regular


@pytest.mark.parametrize("reference", ["H100:4X8", "h100: 4 x 8", "h100-sxm:4×8", " h100 :4x8"])
def test_spellings(reference: str) -> None:
    assert find_topology(reference) == find_topology("h100:4x8")


@pytest.mark.parametrize(
    ("reference", "message", "hint", "column"),
    [
        ("h100:16", "a node of h100 has 8 GPUs; h100:16 asks for 16 in one", "h100:2x8", 6),
        ("h100:12", "a node of h100 has 8 GPUs; h100:12 asks", "h100:2x6", 6),
        ("h100:4x16", "a node of h100 has 8 GPUs; h100:4x16 asks", "h100:8x8", 6),
        ("gb200:144", "a node of gb200 has 72 GPUs; gb200:144 asks", "gb200:2x72", 7),
        ("h100:2x4x8", "h100:2x4x8 has 3 sizes; GPUs have two: nodes", "h100:8x8", 6),
        ("h100:1000000x8", "h100:1000000x8 has 8,000,000 GPUs; 1,000,000 are the most", "", 6),
        ("2*h100:4x8", "N*CHIP:SHAPE counts slices of TPUs; h100 comes in", "h100:8x8", 1),
        ("2*h100:8", "N*CHIP:SHAPE counts slices of TPUs; h100 comes in", "h100:2x8", 1),
        ("2*h100:4", "N*CHIP:SHAPE counts slices of TPUs; h100 comes in", "h100:2x4", 1),
        ("2*h100:16", "N*CHIP:SHAPE counts slices of TPUs; h100 comes in", "h100:4x8", 1),
        ("h100", "chip h100 needs a shape", "h100:8", 1),
        ("gb200", "chip gb200 needs a shape", "gb200:72", 1),
        ("h100-measured", "chip h100-measured needs a shape", "h100-measured:8", 1),
        ("h100-4", "h100-4 is no shape", "h100:4", 1),
        ("h100-16", "h100-16 is no shape", "h100:2x8", 1),
        ("h100-0", "h100-0 is no shape", "h100:1", 1),
        ("h100:", "a size is missing in 'h100:'", "h100:8", 6),
        ("gb200:2x", "a size is missing in 'gb200:2x'", "gb200:72", 9),
        ("h10:8", "there is no chip 'h10'", "did you mean h100 or h100-measured?", 1),
        ("h100-measured:2x8", "h100-measured was measured in one node; h100-", "h100:2x8 by", 15),
        ("2*h100-measured:8", "N*CHIP:SHAPE counts slices of TPUs; h100-mea", "h100:2x8", 1),
    ],
)
def test_bad_references(reference: str, message: str, hint: str, column: int) -> None:
    with pytest.raises(TopologyError) as caught:
        find_topology(reference, Source(reference, "--topology"))
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint
    assert str(caught.value.place) == f"--topology:1:{column}"
    for word in caught.value.hint.replace(",", " ").split():
        if ":" in word.rstrip(":"):
            assert find_topology(word).size > 0


def test_gpus_without_figures() -> None:
    with pytest.raises(NotYetError) as caught:
        find_topology("MI325X:8")
    assert caught.value.message.startswith("the catalogue has no figures of the GPU 'MI325X'")
    known = "a100, a100-measured, h100, h100-measured, v100, b200, gb200, h200, mi300x, h800"
    assert known in caught.value.message
    assert "a dimension of kind switch" in caught.value.hint


@given(st.integers(1, 10**6), st.sampled_from(sorted(FIGURES)))
def test_any_number_of_gpus_can_be_written_as_nodes(count: int, name: str) -> None:
    nodes, gpus = map(int, in_nodes(count, gpu(name)).split("x"))
    assert nodes * gpus == count
    assert gpus <= gpu(name).gpus
    assert not any(count % more == 0 for more in range(gpus + 1, gpu(name).gpus + 1))


@given(st.lists(st.integers(1, 80), min_size=1, max_size=3), st.sampled_from(sorted(FIGURES)))
def test_a_shape_is_a_topology_or_an_error_with_a_way_out(sizes: list[int], name: str) -> None:
    shape = "x".join(map(str, sizes))
    try:
        topology = find_topology(f"{name}:{shape}")
    except TopologyError as error:
        way_out = find_topology(error.hint.rpartition(" ")[2])
        assert way_out.size == math.prod(sizes)
    else:
        assert topology.shape == tuple(sizes)


@pytest.mark.parametrize("name", MEASURED)
def test_a_measured_gpu_has_the_figures_of_the_gpu(name: str) -> None:
    measured, plain = gpu(name), gpu(name.removesuffix("-measured"))
    assert measured.of == plain.chip.name
    assert (measured.gpus, measured.link, measured.nic) == (plain.gpus, plain.link, plain.nic)
    assert measured.chip.peaks == plain.chip.peaks
    assert (measured.chip.name, plain.calibration) == (name, Calibration())
    topology = find_topology(f"{name}:8")
    assert topology.calibration is measured.calibration
    assert topology.calibration.source.startswith("tables measured by aiconfigurator")
    assert "%" in topology.calibration.band


def test_a_gpu_in_a_topology_file() -> None:
    gpus = {"name": "gpu", "size": 4, "kind": "switch", "bandwidth": "450 GB/s", "reduces": "true"}
    topology = find_topology({"chip": "h100", "dimensions": [gpus]})
    assert topology.chip is gpu("h100").chip
    assert topology.dimensions[0].reduces
    with pytest.raises(TopologyError) as caught:
        find_topology({"chip": "h100-measured", "dimensions": [gpus]})
    assert caught.value.message == "chip h100-measured stands for measurements of a whole node"
    assert caught.value.hint == "write h100, and what you measured under collectives"
