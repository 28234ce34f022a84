"""The charts: rooflines, what is attained, messages, ladders, heat maps."""

from __future__ import annotations

import functools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from matplotlib.colors import to_hex

from shardsim.catalogue import find_topology, one_chip
from shardsim.catalogue.ladder import plain_chips
from shardsim.comparison import Compared
from shardsim.comparison.over import Over, read_over, run_over
from shardsim.comparison.sizes import Sizes, over_sizes, some_of, spread
from shardsim.errors import InputError
from shardsim.hardware import Channel, Chip
from shardsim.plot.attained import Curve, attained_picture, draw_attained, write_attained
from shardsim.plot.canvas import Picture
from shardsim.plot.colours import colour, luminance
from shardsim.plot.heatmap import draw_heatmap, heatmap_picture, write_heatmap
from shardsim.plot.ladder import SHADES, draw_ladder, ladder_picture, write_ladder
from shardsim.plot.messages import byte_size, draw_messages, messages_picture, write_messages
from shardsim.plot.roofline import Point, Roof, draw_roofline, roofline_picture
from shardsim.scenario import make_collective
from shardsim.vocabulary import ChannelKind
from tests.pictures import boxes_of, on_lines, outside, overlaps, texts_of, tips_of

T, G = 10**12, 10**9
V5E = Roof(
    "v5e bf16",
    Fraction(197 * T),
    (("HBM", Fraction(820 * G)), ("VMEM", Fraction(18040 * G)), ("ICI", Fraction(90 * G))),
)
INT8 = Roof("v5e int8", Fraction(394 * T), (("HBM", Fraction(820 * G)),))
H100 = Roof("h100 bf16", Fraction(990 * T), (("NVLink", Fraction(450 * G)),))


def on(roof: Roof, label: str, intensity: int | str) -> Point:
    """A load that attains all that the first slope allows."""
    flops = Fraction(intensity)
    return Point(label, flops, min(roof.peak, flops * roof.slopes[0][1]))


# rooflines


def test_a_roofline_says_what_binds_and_where() -> None:
    points = [on(V5E, "B=1", 1), on(V5E, "B=512", 455)]
    texts = texts_of(draw_roofline([V5E], points, ("a matmul", "on v5e")))
    for text in (
        *("a matmul", "on v5e", "FLOPs per byte moved", "FLOP/s attained", "B=1", "B=512"),
        *("memory-bound (HBM)", "compute-bound", "ridge 240 FLOP/B", "v5e bf16 197 TFLOP/s"),
        *("HBM 820 GB/s", "VMEM 18.0 TB/s", "ICI 90 GB/s", "100 TFLOP/s", "1,000"),
        "v5e bf16: 197 TFLOP/s; HBM 820 GB/s, VMEM 18.0 TB/s, ICI 90 GB/s",
    ):
        assert text in texts


def test_points_lie_where_they_should() -> None:
    picture = roofline_picture([V5E], [on(V5E, "p", 100)])
    chart = picture.figure.axes[1]
    (marker,) = (line for line in chart.lines if line.get_marker() == "o")
    assert marker.get_xydata().tolist() == [[100.0, 82e12]]
    ceiling = chart.lines[0]
    assert ceiling.get_ydata().tolist() == [197e12] * 2
    for (_, rate), line in zip(V5E.slopes, chart.lines[1:], strict=False):
        (x0, y0), (x1, y1) = line.get_xydata()
        assert y0 / x0 == pytest.approx(float(rate))
        assert y1 / x1 == pytest.approx(float(rate))
        assert y1 == 197e12


def test_a_network_bounds_by_communication() -> None:
    assert "communication-bound (NVLink)" in texts_of(draw_roofline([H100]))
    bare = draw_roofline([Roof("vector unit", Fraction(7 * T))])
    assert not any("bound" in text or "ridge" in text for text in texts_of(bare))


def test_slopes_that_machines_share_are_named_once() -> None:
    texts = texts_of(draw_roofline([V5E, INT8, H100]))
    assert texts.count("HBM 820 GB/s") == 1
    assert {"ridge 240 FLOP/B", "ridge 480 FLOP/B", "ridge 2,200 FLOP/B"} <= set(texts)
    other = replace_slope(INT8, Fraction(1600 * G))
    texts = texts_of(draw_roofline([V5E, other]))
    assert {"v5e HBM 820 GB/s", "v5e HBM 1.60 TB/s"} <= set(texts)


def test_of_several_machines_the_regions_say_whose_they_are() -> None:
    texts = texts_of(draw_roofline([V5E, H100]))
    assert {"v5e bf16: memory-bound (HBM)", "v5e bf16: compute-bound"} <= set(texts)
    assert not {"memory-bound (HBM)", "compute-bound"} & set(texts)
    assert "h100 bf16: communication-bound (NVLink)" in texts_of(draw_roofline([H100, V5E]))


HBMS = {"v5e": (197, 820), "v5p": (459, 2800), "h100": (990, 3350)}


@pytest.mark.parametrize("intensities", [("8", "62"), ("2", "16"), ("62", "1000"), ("0.5", "31")])
def test_loads_of_the_same_intensity_are_named_beside_the_slopes(intensities: tuple[str]) -> None:
    roofs = [
        Roof(f"{name} bf16", Fraction(peak * T), (("HBM", Fraction(rate * G)),))
        for name, (peak, rate) in HBMS.items()
    ]
    points = [
        on(roof, f"{roof.name} B={flops} D=4096 F=4096", flops)
        for roof in roofs
        for flops in intensities
    ]
    picture = roofline_picture(roofs, points)
    texts = texts_of(picture.svg())
    assert {point.label for point in points} <= set(texts)
    assert not any(text.startswith("no room for its name") for text in texts)
    assert on_lines(picture) == overlaps(picture) == outside(picture) == []


def replace_slope(roof: Roof, rate: Fraction) -> Roof:
    return roof._replace(slopes=(("HBM", rate),))


def test_loads_that_cannot_be_drawn_are_named() -> None:
    idle = Point("a slice", Fraction(0), Fraction(0))
    found = texts_of(draw_roofline([V5E], [idle]))
    assert found[-1] == "not drawn, it moves or computes nothing: a slice"
    with pytest.raises(InputError, match="a roofline needs a machine"):
        draw_roofline([])


@pytest.mark.parametrize("count", [1, 5, 15, 60])
def test_labels_of_a_roofline_cover_nothing(count: int) -> None:
    roofs = [V5E, INT8, H100]
    points = [on(roofs[k % 3], f"load number {k}", 2 ** (k % 11)) for k in range(count)]
    picture = roofline_picture(roofs, points)
    assert overlaps(picture) == outside(picture) == []
    texts = texts_of(picture.svg())
    for point in points:  # beside its marker, or below
        below = f"no room for its name: {point.label}:"
        assert point.label in texts or any(text.startswith(below) for text in texts)


# what is attained


def curve(size: int) -> Curve:
    xs = tuple(2**power for power in range(12))
    ys = tuple(
        2 * x * size**2 / max(2 * x * size**2 / V5E.peak, 2 * (size**2 + 2 * x * size) / HBM)
        for x in xs
    )
    return Curve(f"D = F = {size}", xs, ys, _critical(size))


HBM = Fraction(820 * G)


def _critical(size: int) -> Fraction | None:
    ridge = V5E.peak / HBM
    return ridge * size / (size - 2 * ridge) if size > 2 * ridge else None


def test_curves_of_what_is_attained() -> None:
    curves = [curve(256), curve(1024), curve(4096)]
    picture = attained_picture(curves, peaks=[("v5e", V5E.peak)], heading=("a", "b"))
    texts = texts_of(picture.svg())
    for text in (
        *("B", "FLOP/s attained", "v5e 197 TFLOP/s", "200 TFLOP/s", "0", "1,024", "D = F = 256"),
        *("D = F = 1024: bound by computing from B = 452.6 on", "B = 452.6", "B = 272.2"),
    ):
        assert text in texts
    assert overlaps(picture) == outside(picture) == []
    drawn = picture.figure.axes[1].lines
    assert [line.get_ydata()[-1] for line in drawn[1:]] == [float(c.ys[-1]) for c in curves]


def test_another_dimension_grows(tmp_path: Path) -> None:
    assert "T" in texts_of(draw_attained([curve(1024)], axis="T"))
    assert "T = 452.6" in texts_of(draw_attained([curve(1024)], axis="T"))
    write_attained([curve(1024)], tmp_path / "a.svg", axis="T")
    assert (tmp_path / "a.svg").read_text("utf-8") == draw_attained([curve(1024)], axis="T")
    nothing = Curve("nothing", (1, 2), (Fraction(0), Fraction(0)))
    assert "1 FLOP/s" in texts_of(draw_attained([nothing]))
    with pytest.raises(InputError, match="there is nothing to draw"):
        draw_attained([Curve("one", (1,), (Fraction(1),))])


# messages


def sizes_of(kind: str = "AllGather", **settings: str) -> Sizes:
    asked = make_collective(kind, size="1 MiB", **{"topology": "v5e:4x4", **settings})
    return over_sizes(asked, spread(asked.size), some_of(spread(asked.size)))


def test_messages_with_floor_and_asymptote(tmp_path: Path) -> None:
    sizes = sizes_of()
    picture = messages_picture(sizes)
    texts = texts_of(picture.svg())
    for text in (
        *("AllGather over X, Y: 16 chips", "on v5e:4x4; S is the size of the gathered array"),
        *("latency 6 µs", "with large sizes 90 GB/s", "time", "busbw", "S", "1 KiB", "1 GiB"),
        *("exact closed form", "the book's formula", "simulated"),
    ):
        assert text in texts
    assert overlaps(picture) == outside(picture) == []
    above, below = picture.figure.axes[1:]
    exact, book, simulated = (line.get_ydata().tolist() for line in above.lines[:3])
    assert exact == [float(row.exact) for row in sizes.rows]
    assert book == [float(row.book) for row in sizes.rows]
    assert simulated == [float(row.simulated) for row in sizes.rows if row.simulated]
    assert below.lines[3].get_ydata()[0] == 90e9
    write_messages(sizes, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == picture.png()


def test_a_bound_is_called_one() -> None:
    sizes = sizes_of("AllToAll", axes="X")
    assert "exact closed form, at least" in texts_of(draw_messages(sizes))


@pytest.mark.parametrize(
    ("size", "text"), [(2**10, "1 KiB"), (3 * 2**20, "3 MiB"), (2**40, "1 TiB"), (1000, "1 kB")]
)
def test_sizes_in_words(size: int, text: str) -> None:
    assert byte_size(Fraction(size)) == text


# ladders

RATES = {ChannelKind.VMEM: 18040 * G, ChannelKind.ICI: 90 * G, ChannelKind.PCIE: 16 * G}


def v5e() -> Chip:
    channels = tuple(Channel(kind=kind, bandwidth=Fraction(rate)) for kind, rate in RATES.items())
    chip = replace(find_topology("v5e:4x4").chip, channels=channels)
    return replace(chip, hbm_bandwidth=Fraction(820 * G))


def test_a_ladder_says_by_how_much_each_rung_is_slower() -> None:
    svg = draw_ladder([v5e()])
    texts = texts_of(svg)
    for text in (
        *("TPU v5e", "matrix unit", "VMEM", "HBM", "ICI", "PCIe", "197 TFLOP/s bf16"),
        *("÷ 10.9", "÷ 22", "÷ 9.11", "÷ 5.62", "820 GB/s; 240 FLOP/B"),
        "16 GB/s; 12,312 FLOP/B",
    ):
        assert text in texts
    assert len(tips_of(svg)) == 5


def test_bars_of_a_ladder_are_logarithmic() -> None:
    bars = [
        child.get_width()
        for child in ladder_picture([v5e()]).figure.axes[0].get_children()
        if str(child.get_gid()).startswith("tip-")
    ]
    assert bars == sorted(bars, reverse=True)
    decade = (bars[1] - bars[2]) / 1.3424226808222062  # log10(22)
    assert bars[3] - bars[4] == pytest.approx(decade * 0.7501225267834001)  # log10(90/16)


def test_the_ladder_of_all_chips_ends_within_the_page() -> None:
    picture = ladder_picture([one_chip(name).chip for name in plain_chips()])
    assert overlaps(picture) == []
    width = picture.figure.get_size_inches()[0] * 72
    assert all(8 < box[1] < box[3] < width - 8 and box[2] > 8 for box in boxes_of(picture))


@pytest.mark.parametrize("count", [1, 2, 7])
def test_ladders_beside_each_other(count: int, tmp_path: Path) -> None:
    picture = ladder_picture([v5e()] * count)
    assert outside(picture) == overlaps(picture) == []
    assert texts_of(picture.svg()).count("TPU v5e") == count
    write_ladder([v5e()] * count, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text("utf-8") == picture.svg()


def test_no_ladder_without_a_chip() -> None:
    with pytest.raises(InputError, match="a ladder needs a chip"):
        ladder_picture([])


def test_rungs_next_to_each_other_differ_in_grey() -> None:
    for kinds in (
        (None, ChannelKind.VMEM, ChannelKind.HBM, ChannelKind.ICI, ChannelKind.PCIE, "dcn"),
        (None, ChannelKind.L2, ChannelKind.HBM, ChannelKind.NVLINK, ChannelKind.PCIE, "infiniband"),
        (None, ChannelKind.HBM, ChannelKind.NVLINK, ChannelKind.PCIE),
    ):
        looks = [SHADES[None if kind is None else ChannelKind(kind)] for kind in kinds]
        grey = [luminance(colour(hue, light)) for hue, light, _ in looks]
        assert all(abs(grey[k] - grey[k + 1]) > 0.2 for k in range(len(grey) - 1))


# heat maps


@functools.cache
def over() -> Over:
    text = "K=1024,8192,1048576"
    return run_over("compare-sharded-contraction", read_over(text))


def columns(found: Over) -> list[tuple[str, Compared]]:
    return list(zip(found.labels, [compared for _, compared in found.columns], strict=True))


def fills(picture: Picture) -> list[str]:
    """The colour of each cell, column by column."""
    return [
        to_hex(child.get_facecolor())
        for child in picture.figure.axes[0].get_children()
        if str(child.get_gid()).startswith("tip-")
    ]


def test_a_heat_map_of_strategies_and_sizes(tmp_path: Path) -> None:
    found = over()
    picture = heatmap_picture(found.name, columns(found))
    texts = texts_of(picture.svg())
    names = ["reduce the products", "scatter the products", "gather both"]
    assert texts[2:5] == names
    assert {"K=1,024", "K=8,192", "K=1,048,576"} <= set(texts)
    assert texts.count("best") == 3
    assert texts.count("does not fit") == 2
    assert {"213 µs", "1.81x", "117 µs", "10.56x", "best of its size"} <= set(texts)
    assert texts[-1] == "does not fit in memory"
    assert overlaps(picture) == outside(picture) == []
    write_heatmap(found.name, columns(found), tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text("utf-8") == picture.svg()


def test_the_slower_the_darker() -> None:
    found = over()
    grey = [luminance(one) for one in fills(heatmap_picture(found.name, columns(found)))]
    assert len(grey) == 9
    for start, (_, compared) in zip((0, 3, 6), found.columns, strict=True):
        slow = [compared.slowdown(row) for row in compared.rows]
        by_time = sorted(range(3), key=lambda k: slow[k] or 0)
        shown = [grey[start + k] for k in by_time]
        assert shown == sorted(shown, reverse=True)
        assert len(set(shown)) == 3


def test_one_size_alone() -> None:
    found = over()
    texts = texts_of(draw_heatmap("a" * 200, [("time", found.columns[0][1])]))
    assert "time" in texts
    assert "does not fit in memory" not in texts
    with pytest.raises(InputError, match="there is nothing to draw"):
        draw_heatmap("", [])
