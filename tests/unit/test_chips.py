"""Every figure of the chips' files: value, source, what other sources say; what is their product.

The table is by public source: the book "How to Scale Your Model" (renderings of February 2025 and
2026), the pages of Google Cloud for each TPU, `tpu_info.py` of JAX (Pallas), calculon's systems.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from shardsim.catalogue import chip_figures, chip_names, generation_of
from shardsim.catalogue.ladder import plain_chips
from shardsim.hardware import Chip
from shardsim.units import UNITS
from shardsim.vocabulary import ChannelKind, Dtype

T, G, M, K = 10**12, 10**9, 10**6, 10**3
MIB = 2**20
Number = float | int | list[float]

# chip: figure: the value used, then those of other sources
FIGURES: dict[str, dict[str, tuple[Number, ...]]] = {
    "v2": {
        "flops_per_second.bf16": (46 * T, 46 * T), "hbm_bandwidth": (716 * G,),
        "hbm_capacity": (16 * G,), "cores": (2,), "vmem.capacity_per_core": (16 * MIB,),
        "vmem.times_hbm": (22,), "network.link_bandwidth": (60 * G,),
        "network.hop_latency": (1e-6, 0.5e-6),
    },
    "v3": {
        "flops_per_second.bf16": (140 * T, 140 * T), "flops_per_second.int8": (140 * T,),
        "hbm_bandwidth": (900 * G, 825 * G), "hbm_capacity": (32 * G, 34.4e9), "cores": (2,),
        "matrix_unit": ([128, 128],), "matrix_units_per_core": (2,),
        "vmem.capacity_per_core": (16 * MIB,), "vmem.times_hbm": (22,), "host.shape": ([4, 2],),
        "network.link_bandwidth": (100 * G,), "network.hop_latency": (1e-6, 0.5e-6),
    },
    "v4": {
        "flops_per_second.bf16": (275 * T, 275 * T, 275 * T),
        "flops_per_second.int8": (275 * T, 275 * T),
        "hbm_bandwidth": (1200 * G, 1200 * G, 1230 * G, 1230 * G),
        "hbm_capacity": (32 * G, 34.4e9), "cores": (2,), "matrix_unit": ([128, 128],),
        "matrix_units_per_core": (4,), "vector_registers_per_core": (32,),
        "vmem.capacity_per_core": (16 * MIB,), "vmem.times_hbm": (22,), "cmem": (134 * M,),
        "host.shape": ([2, 2, 1],), "pcie_bandwidth": (16 * G,), "stated.pod_bisection": (24 * T,),
        "network.link_bandwidth": (45 * G,), "network.hop_latency": (1e-6, 0.5e-6),
    },
    "v5e": {
        "flops_per_second.bf16": (197 * T, 197 * T, 197 * T),
        "flops_per_second.int8": (394 * T, 393 * T, 394 * T), "flops_per_second.int4": (788 * T,),
        "hbm_bandwidth": (820 * G, 819 * G, 820 * G, 810 * G, 800 * G),
        "hbm_capacity": (16 * G, 17.2e9), "cores": (1,), "clock": (1.5e9,),
        "vector_unit": ([4, 8, 128],), "matrix_unit": ([128, 128],), "matrix_units_per_core": (4,),
        "price": (1.2,), "vmem.capacity_per_core": (128 * MIB, 128 * MIB), "vmem.times_hbm": (22,),
        "host.shape": ([4, 2],), "host.memory": (450 * G,), "pcie_bandwidth": (16 * G, 15 * G),
        "stated.matrix_unit_flops": (50 * T,), "stated.pod_bisection": (1.6e12,),
        "stated.pod_all_reduce": (51.2e12,), "stated.ici_intensity": (2200, 2189),
        "stated.reached_share_of_flops": (0.95,), "stated.reached_share_of_ici": (0.95,),
        "stated.usable_share_of_vmem_bandwidth": (0.5,),
        "network.link_bandwidth": (45 * G, 50 * G, 50 * G), "network.hop_latency": (1e-6, 0.5e-6),
        "dcn.bandwidth": (25 * G,), "dcn.latency": (10e-6,),
    },
    "v5p": {
        "flops_per_second.bf16": (459 * T, 459 * T, 459 * T, 460 * T, 450 * T, 446 * T),
        "flops_per_second.int8": (918 * T, 918 * T), "flops_per_second.fp8": (459 * T,),
        "flops_per_second.int4": (1840 * T,),
        "hbm_bandwidth": (2800 * G, 2765 * G, 2460 * G, 2500 * G),
        "hbm_capacity": (96 * G, 102 * G, 103 * G), "cores": (2,), "clock": (1.75e9,),
        "vector_unit": ([4, 8, 128],), "matrix_unit": ([128, 128],), "matrix_units_per_core": (4,),
        "vector_registers_per_core": (64,), "vmem.capacity_per_core": (64 * MIB,),
        "vmem.times_hbm": (22,), "host.shape": ([2, 2, 1],), "pcie_bandwidth": (16 * G, 15 * G),
        "stated.largest_job_chips": ([16, 16, 24],), "stated.vector_flops_per_core": (7 * T,),
        "network.link_bandwidth": (90 * G, 100 * G, 100 * G), "network.hop_latency": (1e-6, 0.5e-6),
        "dcn.bandwidth": (25 * G, 25 * G), "dcn.latency": (10e-6,),
    },
    "v6e": {
        "flops_per_second.bf16": (920 * T, 920 * T, 918 * T, 910 * T),
        "flops_per_second.int8": (1840 * T, 1836 * T, 1840 * T),
        "flops_per_second.fp8": (920 * T, 920 * T), "flops_per_second.int4": (3680 * T,),
        "hbm_bandwidth": (1600 * G, 1600 * G, 1638 * G, 1640 * G), "hbm_capacity": (32 * G, 34.4e9),
        "cores": (1,), "matrix_unit": ([256, 256],) * 3, "matrix_units_per_core": (2,),
        "vmem.capacity_per_core": (128 * MIB,), "vmem.times_hbm": (22,), "host.shape": ([4, 2],),
        "pcie_bandwidth": (32 * G, 16 * G), "stated.pod_bisection": (3.2e12,),
        "stated.pod_all_reduce": (102.4e12,), "stated.ici_intensity": (5111,),
        "network.link_bandwidth": (90 * G, 100 * G, 100 * G), "network.hop_latency": (1e-6, 0.5e-6),
        "dcn.bandwidth": (100 * G,), "dcn.latency": (10e-6,),
    },
    "7x": {
        "flops_per_second.bf16": (2300 * T, 2307 * T), "flops_per_second.fp8": (4610 * T, 4614 * T),
        "hbm_bandwidth": (7400 * G, 7380 * G, 7370 * G), "hbm_capacity": (192 * G, 206.2e9),
        "cores": (2,), "matrix_unit": ([256, 256],), "host.shape": ([2, 2, 1],),
        "stated.ici_intensity": (12778,), "network.link_bandwidth": (90 * G, 100 * G),
        "network.hop_latency": (1e-6, 0.5e-6), "dcn.bandwidth": (50 * G,), "dcn.latency": (10e-6,),
    },
    "a100": {
        "flops_per_second.bf16": (310 * T, 312 * T), "flops_per_second.int8": (620 * T,),
        "hbm_bandwidth": (2000 * G, 2048 * G), "hbm_capacity": (80 * G,), "cores": (108,),
        "clock": (1.41e9, 1.10e9), "vector_unit": ([4, 16],), "tensor_cores_per_core": (4,),
        "tensor_core_flops_per_cycle": (512,), "smem_per_core": (192 * K,),
        "l2.capacity": (40 * M,), "pcie_bandwidth": (32 * G,),
        "stated.nvlink_reached_share": (0.65,), "stated.nvlink_port": (300 * G, 300 * G),
        "node.nvlink.links": (12,), "node.nvlink.bandwidth": (25 * G,), "node.switches.count": (6,),
        "node.latency": (0.97e-6, 10e-6, 1e-6), "node.nic.bandwidth": (25 * G,),
        "node.nic.latency": (20e-6, 2e-6),
    },
    "h100": {
        "flops_per_second.bf16": (989 * T, 990 * T, 1000 * T, 1000 * T, 1979 * T),
        "flops_per_second.fp8": (2000 * T, 2000 * T),
        "hbm_bandwidth": (3350 * G, 3400 * G, 3350 * G, 3072 * G), "hbm_capacity": (80 * G, 85.9e9),
        "cores": (132,), "clock": (1.98e9, 1.59e9), "vector_unit": ([4, 32],),
        "tensor_cores_per_core": (4,), "tensor_core_flops_per_cycle": (1024,), "price": (10.8,),
        "smem_per_core": (256 * K,), "l2.capacity": (50 * M,), "l2.bandwidth": (5500 * G,),
        "stated.vector_flops": (33.5e12, 66e12), "stated.clock_of_the_peak": (1.76e9,),
        "stated.nvlink_port": (450 * G, 450 * G), "stated.node_of_switches": (6.4e12,),
        "stated.node_of_gpus": (3.6e12,), "stated.node_egress": (400 * G,),
        "stated.measured_all_reduce_busbw": (370 * G, 370 * G),
        "stated.measured_all_reduce_sharp_busbw": (480 * G, 480 * G),
        "stated.reached_share_of_flops": ([0.80, 0.85],), "stated.unit_gpus": (256,),
        "stated.unit_to_spine": (12.8e12,), "stated.spine": (51.2e12, 25.6e12),
        "stated.infiniband_switch": (3.2e12,), "node.nvlink.links": (18,),
        "node.nvlink.bandwidth": (25 * G,), "node.switches.count": (4,),
        "node.switches.ports": (64,), "node.latency": (0.83e-6, 10e-6, 1e-6, 0.936e-6),
        "node.nic.bandwidth": (50 * G, 50 * G), "node.nic.latency": (20e-6, 2e-6),
        "scale_out.nodes_per_unit": (32,), "scale_out.units": (4,),
        "scale_out.leaf_switches_per_unit": (8,), "scale_out.spine_switches": (16,),
        "scale_out.cables_per_leaf_and_spine": (2,), "scale_out.cable_bandwidth": (50 * G,),
        "scale_out.ports_per_switch": (64,),
    },
    "v100": {
        "flops_per_second.f16": (113 * T,), "hbm_bandwidth": (900 * G,), "hbm_capacity": (32 * G,),
        "cores": (80,), "clock": (1.38e9, 1.25e9), "vector_unit": ([4, 16],),
        "tensor_cores_per_core": (4,), "tensor_core_flops_per_cycle": (256,),
        "smem_per_core": (96 * K,), "l2.capacity": (6 * M,),
    },
    "b200": {
        "flops_per_second.bf16": (2250 * T, 2300 * T), "flops_per_second.fp8": (4500 * T,),
        "flops_per_second.fp4": (9000 * T,), "hbm_bandwidth": (8 * T, 9 * T),
        "hbm_capacity": (192 * G,), "cores": (148,), "clock": (2.11e9,), "vector_unit": ([4, 32],),
        "tensor_cores_per_core": (4,), "tensor_core_flops_per_cycle": (2048,),
        "smem_per_core": (256 * K,), "tmem_per_core": (256 * K,), "l2.capacity": (126 * M,),
        "stated.vector_flops_fused": (80 * T,), "stated.nvlink_port": (900 * G,),
        "stated.node_egress": (400 * G,), "node.nvlink.links": (18,),
        "node.nvlink.bandwidth": (50 * G,), "node.switches.count": (2,), "node.latency": (1.43e-6,),
        "node.nic.bandwidth": (50 * G,), "node.nic.latency": (20e-6,),
    },
    "gb200": {
        "flops_per_second.bf16": (2250 * T, 2300 * T), "flops_per_second.fp8": (4500 * T,),
        "flops_per_second.fp4": (9000 * T,), "hbm_bandwidth": (8 * T, 9 * T),
        "hbm_capacity": (192 * G,), "cores": (148,), "clock": (2.11e9,), "vector_unit": ([4, 32],),
        "tensor_cores_per_core": (4,), "tensor_core_flops_per_cycle": (2048,),
        "smem_per_core": (256 * K,), "tmem_per_core": (256 * K,), "l2.capacity": (126 * M,),
        "stated.vector_flops_fused": (80 * T,), "stated.nvlink_port": (900 * G,),
        "stated.node_egress": (3.6e12,), "stated.superpod_gpus": (576,),
        "stated.cpu_link": (900 * G,), "node.nvlink.links": (18,),
        "node.nvlink.bandwidth": (50 * G,), "node.switches.count": (18,),
        "node.latency": (1.43e-6,), "node.nic.bandwidth": (50 * G,), "node.nic.latency": (20e-6,),
    },
    "h200": {
        "flops_per_second.bf16": (990 * T,), "flops_per_second.fp8": (2000 * T,),
        "hbm_bandwidth": (4.8e12,), "hbm_capacity": (141 * G,), "cores": (132,),
        "clock": (1.98e9,), "vector_unit": ([4, 32],), "l2.capacity": (50 * M,),
        "stated.nvlink_port": (450 * G,), "node.nvlink.links": (18,),
        "node.nvlink.bandwidth": (25 * G,), "node.switches.count": (4,),
        "node.switches.ports": (64,), "node.latency": (0.83e-6,), "node.nic.bandwidth": (50 * G,),
        "node.nic.latency": (20e-6,),
    },
    "mi300x": {
        "flops_per_second.bf16": (1307 * T,), "flops_per_second.fp8": (2615 * T,),
        "hbm_bandwidth": (5.3e12,), "hbm_capacity": (192 * G,), "stated.node_gpus": (8,),
        "stated.nic": (50 * G,),
    },
    "h800": {
        "flops_per_second.bf16": (989 * T, 990 * T), "flops_per_second.fp8": (1513 * T,),
        "hbm_bandwidth": (3.35e12,), "hbm_capacity": (80 * G,), "cores": (132,),
        "clock": (1.98e9,), "vector_unit": ([4, 32],), "l2.capacity": (50 * M,),
        "stated.nvlink_port": (300 * G, 200 * G), "node.nvlink.links": (12, 8),
        "node.nvlink.bandwidth": (25 * G,), "node.latency": (0.83e-6,),
        "node.nic.bandwidth": (50 * G,), "node.nic.latency": (20e-6,),
    },
}  # fmt: skip
SOURCES = (
    "How to Scale Your Model", "Google Cloud TPU documentation", "JAX, pallas tpu_info",
    "calculon, systems/", "NVIDIA", "NCCL", "ASTRA-sim", "fitted to tables measured by",
    "assumed: ", "derived", "secondary, unverified",
)  # fmt: skip
LINKED = ("ici", "nvlink", "dcn", "infiniband")


def exactly(number: Number) -> Fraction | tuple[Fraction, ...]:
    """A number of the table as the catalogue holds it."""
    if isinstance(number, list):
        return tuple(Fraction(repr(one)) for one in number)
    return Fraction(repr(number))


def chip(word: str) -> Chip:
    """A chip of the catalogue."""
    return generation_of(word).chip


def test_every_chip_is_in_the_table() -> None:
    assert list(FIGURES) == plain_chips()
    assert set(chip_names()) - set(FIGURES) == {"a100-measured", "h100-measured"}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_and_what_others_say(name: str) -> None:
    found = {
        one.name: (one.used.value, *(other.value for other in one.alternatives))
        for one in chip_figures(name)
    }
    assert found == {
        key: tuple(exactly(number) for number in numbers) for key, numbers in FIGURES[name].items()
    }


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_a_source(name: str) -> None:
    for one in chip_figures(name):
        for said in (one.used, *one.alternatives):
            assert said.source.startswith(SOURCES), (one.name, said.source)
            assert said.unit in ("B", "B/s", "FLOP/s", "Hz", "USD/h", "s", "")


def test_a_measured_gpu_has_the_figures_of_the_gpu() -> None:
    assert chip_figures("h100-measured") == chip_figures("h100")
    assert chip("h100-measured").like == chip("h100").like == "h100"


# What follows from the figures.

SHARES = [("v5e", 3.125e9), ("v5p", 6.25e9), ("v6e", 12.5e9), ("7x", 12.5e9)]


@pytest.mark.parametrize(("name", "share"), SHARES)
def test_a_chip_has_its_share_of_the_network_of_its_host(name: str, share: float) -> None:
    assert chip(name).channel(ChannelKind.DCN).bandwidth == Fraction(share)


PORTS = [("a100", 300), ("h100", 450), ("h200", 450), ("h800", 300), ("b200", 900), ("gb200", 900)]


@pytest.mark.parametrize(("name", "port"), PORTS)
def test_a_port_is_the_product_of_its_links(name: str, port: int) -> None:
    assert chip(name).channel(ChannelKind.NVLINK).bandwidth == port * G
    assert FIGURES[name]["stated.nvlink_port"][0] == port * G


def test_the_peak_of_a_v100_follows_from_its_tensor_cores() -> None:
    of = {
        key: Fraction(str(value[0]))
        for key, value in FIGURES["v100"].items()
        if key != "vector_unit"
    }
    rate = of["cores"] * of["tensor_cores_per_core"] * of["tensor_core_flops_per_cycle"]
    assert round(rate * of["clock"] / T) == chip("v100").peak(Dtype.F16) / T == 113


def test_a_clock_that_follows_from_the_vector_unit() -> None:
    unit = chip("b200").vector_unit
    assert unit is not None
    assert math.isclose(2 * unit.flops_per_second, 80e12, rel_tol=1e-3)
    other = chip("h100").vector_unit
    assert other is not None
    assert math.isclose(other.flops_per_second, 33.5e12, rel_tol=2e-3)


def test_the_matrix_unit_of_a_v5e_at_its_clock() -> None:
    """4 units of 128 x 128, each a multiply-add a cycle: about the peak of the chip."""
    unit = chip("v5e").vector_unit
    assert unit is not None
    assert math.isclose(4 * 2 * 128 * 128 * unit.clock, chip("v5e").peak(Dtype.BF16), rel_tol=2e-3)


def test_units_of_figures_are_known() -> None:
    assert {"Hz", "USD/h"} <= set(UNITS)
