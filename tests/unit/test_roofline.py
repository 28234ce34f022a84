"""Rooflines: T_math, T_comms by channel, intensities, bounds, and what they are solved for."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import shardsim as ss
from shardsim.errors import InputError
from shardsim.rooflines import Answer, ask_roofline, ask_rooflines, split_chips
from shardsim.rooflines.attained import attained_over, doublings
from tests.command_line import command

MATMUL = "X[B, D] · W[D, F] -> Y[B, F]"
ATTENTION = [
    "Q[B, T, K, G, H] · C[B, S, K, H] -> P[B, T, K, G, S]",
    "P[B, T, K, G, S] · V[B, S, K, H] -> O[B, T, K, G, H]",
]
TWO_CHIPS = "X[B, D_X] · Y[D_X, F] -> Z[B, F]"


def first(answer: Answer) -> Fraction:
    value = answer.solved[0].approximate
    assert value is not None
    return value


def test_times_and_intensity_of_a_matmul() -> None:
    one = ask_roofline(MATMUL, on="v5e", dims="B=512,D=4096,F=4096").roofline
    flops, moved = 2 * 512 * 4096**2, 2 * (2 * 512 * 4096 + 4096**2)
    assert (one.flops, one.bytes_moved) == (flops, moved)
    assert one.compute_seconds == Fraction(flops, 197 * 10**12)
    assert one.memory_seconds == Fraction(moved, 820 * 10**9)
    assert one.intensity == Fraction(flops, moved)
    assert one.lower_bound() == one.compute_seconds
    assert one.upper_bound() == one.compute_seconds + one.memory_seconds
    assert one.bound == "compute"
    assert one.attained == one.peak == 197 * 10**12


CRITICAL = [
    # machine, types, their bytes (of X and Y, of W), D = F, FLOP/s, HBM
    ("v5e", None, (2, 2), 4096, 197, 820),
    ("v5e", None, (2, 2), 1024, 197, 820),
    ("v5e", {"W": "int8", "default": "bf16"}, (2, 1), 4096, 197, 820),
    ("v5e", "int8", (1, 1), 4096, 394, 820),
    ("h100", None, (2, 2), 4096, 989, 3350),
]


@pytest.mark.parametrize(("machine", "dtype", "widths", "size", "peak", "hbm"), CRITICAL)
def test_the_critical_batch(
    machine: str, dtype: object, widths: tuple[int, int], size: int, peak: int, hbm: int
) -> None:
    """B = w DF / (2DF W/C - a (D + F)), and w C / 2W where activations are left out."""
    answer = ask_roofline(
        MATMUL,
        on=machine,
        dims={"D": size, "F": size},
        dtype=dtype,  # type: ignore[arg-type]
        solve="B",
    )
    (one,) = answer.solved
    activation, weight = widths
    ratio = Fraction(hbm, 1000 * peak)
    area = size * size
    assert one.approximate == weight / (2 * ratio)
    assert one.exact == weight * area / (2 * area * ratio - activation * 2 * size)
    assert one.computes_above


def test_the_figures_of_the_plot() -> None:
    for size, exact in ((4096, 136.086), (1024, 226.315)):
        dtype = {"W": "int8", "default": "bf16"}
        dims = {"D": size, "F": size}
        (one,) = ask_roofline(MATMUL, on="v5e", dims=dims, dtype=dtype, solve="B").solved
        assert float(one.exact or 0) == pytest.approx(exact, rel=1e-5)


def test_the_table_is_at_the_first_extent_that_computes_longest() -> None:
    answer = ask_roofline(MATMUL, on="v5e", dims="D=4096,F=4096", solve="B")
    assert answer.roofline.extents["B"] == 273
    assert answer.roofline.bound == "compute"
    below = ask_roofline(MATMUL, on="v5e", dims="D=4096,F=4096,B=272").roofline
    assert below.bound == "memory"


def test_first_order_needs_no_other_extents() -> None:
    answer = ask_roofline(MATMUL, on="v5e", solve="B")
    assert first(answer) == Fraction(197, 820) * 1000
    assert answer.solved[0].exact is None
    assert answer.missing == ("D", "F")


def test_older_figures_give_the_older_answers() -> None:
    """Answers that go round: 243 with 810 GB/s, 298 with 1,000 TFLOP/s."""
    slow = {"like": "v5e", "chip": {"hbm_bandwidth": "810 GB/s"}}
    fast = {"like": "h100", "chip": {"flops_per_second": {"bf16": "1000 TFLOP/s"}}}
    assert float(first(ask_roofline(MATMUL, on=slow, dtype="int8", solve="B"))) == pytest.approx(
        243.2, abs=0.05
    )
    assert float(first(ask_roofline(MATMUL, on=fast, solve="B"))) == pytest.approx(298.5, abs=0.05)
    assert float(first(ask_roofline(MATMUL, on="h100", solve="B"))) == pytest.approx(
        295.2, abs=0.05
    )


def test_figures_on_the_command_line() -> None:
    figures = ("--figures", "hbm_bandwidth=810 GB/s,int8=394 TFLOP/s", "--dtype", "int8")
    result = command("roofline", MATMUL, "--on", "v5e", *figures, "--solve", "B")
    assert "HBM: B = 243.2" in result.out
    result = command("roofline", MATMUL, "--on", "h100", "--figures", "bf16=1e15", "--solve", "B")
    assert "HBM: B = 298.5" in result.out
    links = ask_roofline(TWO_CHIPS, on="v5e:2", figures="bandwidth=90 GB/s,latency=0", solve="D")
    assert links.solved[1].approximate == Fraction(2 * 197 * 10**12, 90 * 10**9)


def test_two_chips_over_a_network() -> None:
    answer = ask_roofline(TWO_CHIPS, on="v5e:2", dims="B=4096,F=4096", solve="D")
    by_channel = {one.channel.value: one for one in answer.solved}
    network = by_channel["ici"]
    assert network.approximate == Fraction(2 * 197 * 10**12, 45 * 10**9)  # 8,755.6
    latency = 2 * Fraction(1, 10**6)  # a hop to scatter, a hop to gather
    sent = Fraction(2 * 4096 * 4096, 45 * 10**9)
    flops_of_one = Fraction(2 * 4096 * 4096, 2 * 197 * 10**12)
    assert network.exact == (sent + latency) / flops_of_one
    assert answer.roofline.bound == "compute"


def test_a_dot_product_is_done_by_the_vector_unit() -> None:
    one = ask_roofline("x[N] · y[N] -> z[]", on="v5p", dims="N=1000000").roofline
    assert one.flops == 2 * 10**6 - 1
    assert one.intensity == Fraction(2 * 10**6 - 1, 2 * (2 * 10**6 + 1))
    assert one.compute_seconds == one.flops / (8192 * Fraction(1_750_000_000))
    assert one.bound == "memory"


def test_matrices_of_a_batch_of_their_own() -> None:
    text = "X[B, D] · W[B, D, F] -> Y[B, F]"
    one = ask_roofline(text, on="v5e", dims="B=128,D=8192,F=8192", dtype="int8").roofline
    assert float(one.intensity or 0) == pytest.approx(2, rel=1e-3)
    assert ask_roofline(text, on="v5e", dims="D=8192,F=8192", dtype="int8", solve="B").solved[
        0
    ] == ("B", "hbm", None, None, False)


def test_one_token_moves_about_the_weights() -> None:
    one = ask_roofline(MATMUL, on="v5e", dims="B=1,D=4000,F=4000").roofline
    assert one.bound == "memory"
    elements = one.bytes_moved / 2
    assert abs(elements / (4000 * 4000) - 1) < Fraction(1, 1000)


FUSED = [(1, 8192, 8, 8), (1, 8192, 1, 8), (8192, 8192, 8, 2), (64, 128, 4, 1)]


@pytest.mark.parametrize(("t", "s", "g", "k"), FUSED)
def test_attention_whose_scores_stay_on_the_chip(t: int, s: int, g: int, k: int) -> None:
    dims = {"B": 3, "T": t, "S": s, "G": g, "K": k, "H": 128}
    one = ask_roofline(ATTENTION, on="v5e", dims=dims, fused=True).roofline
    assert one.intensity == Fraction(t * s * g, t * g + s)
    apart = ask_roofline(ATTENTION, on="v5e", dims=dims).roofline
    assert apart.bytes_moved - one.bytes_moved == 2 * 2 * 3 * t * s * g * k


def test_a_collective_s_arrays_are_in_memory_when_fused() -> None:
    """Only what one matmul makes for another stays on the chip."""
    summed = ask_roofline(TWO_CHIPS, on="v5e:2", dims="B=64,D=64,F=64", fused=True).roofline
    assert [product.name for product in summed.load.moved] == ["X", "Y", "Z"]
    gathered = ["AllGather_X W[D_X, F] -> W[D, F]", "In[B_X, D] · W[D, F] -> H[B_X, F]"]
    one = ask_roofline(gathered, on="v5e:2", dims="B=64,D=64,F=64", fused=True).roofline
    assert [product.name for product in one.load.moved] == ["In", "W", "H"]
    chain = ["In[B, D] · W[D, F] -> H[B, F]", "H[B, F] · V[F, E] -> Out[B, E]"]
    one = ask_roofline(chain, on="v5e", dims="B=64,D=64,F=64,E=64", fused=True).roofline
    assert [product.name for product in one.load.moved] == ["In", "W", "V", "Out"]


def test_a_dimension_with_a_prime_is_one_of_its_own() -> None:
    """The answer does not depend on what the third dimension is called."""
    found = []
    for name in ("K", "I'"):
        lines = [
            f"AllGather_X B[J_X, {name}] -> B[J, {name}]",
            f"A[I_X, J] · B[J, {name}] -> C[I_X, {name}]",
        ]
        asked = ask_roofline(lines, on="v5p:4x4x4", dims={"J": 8192, name: 8192}, solve="I")
        found.append([(one.exact, one.approximate) for one in asked.solved])
    assert found[0] == found[1]
    assert found[0][1][0] is not None


def test_collectives_along_different_axes_overlap_at_best() -> None:
    """The lower bound is below what a run takes that does them at once."""
    lines = ["AllGather_X W[D_X, F] -> W[D, F]", "AllGather_Y V[F, D_Y] -> V[F, D]"]
    dims = "D=8192,F=8192"
    one = ask_roofline(lines, on="v5p:4x4x4", dims=dims).roofline
    once = one.network_seconds / 2
    assert one.lower_bound() == once
    assert one.upper_bound() == 2 * once
    assert ss.run(lines, topology="v5p:4x4x4", dims=dims).totals.simulated_seconds == once
    twice = [lines[0], "AllGather_X U[D_X, F] -> U[D, F]"]
    again = ask_roofline(twice, on="v5p:4x4x4", dims=dims).roofline
    assert again.lower_bound() == again.network_seconds == 2 * once


def test_most_of_a_small_gather_is_latency() -> None:
    """As a run calls it."""
    text, asked = "AllGather_X A[I_X] -> A[I]", {"dims": "I=128"}
    assert ask_roofline(text, on="v4:4x4x4", **asked).roofline.bound == "latency"
    assert ss.run(text, topology="v4:4x4x4", **asked).totals.bound == "latency"


def test_without_a_figure_of_the_unit_nothing_is_said_to_bind() -> None:
    one = ask_roofline("x[n] · y[n] -> z[]", on="mi300x", dims="n=64").roofline
    assert one.bound is None
    assert one.compute_seconds is None
    result = command("roofline", "x[n] · y[n] -> z[]", "--on", "mi300x", "--over", "n")
    assert result.code == 2
    assert "the vector unit of mi300x has no figure" in result.err


def test_rows_are_told_apart_without_extents() -> None:
    result = command("roofline", MATMUL, "--on", "v5e", "--on", "h100", "--solve", "B", "--json")
    rows = json.loads(result.out)["rows"]
    assert [row["machine"] for row in rows] == ["v5e", "h100"]
    assert [row["solved"][0]["exact"] for row in rows] == [None, None]
    assert all("compute_seconds" not in row for row in rows)


def test_a_cut_of_each_machine_at_its_batch() -> None:
    mesh = ("--mesh", "X=16,Y=4", "--dims", "D=8192,F=32768", "--solve", "B", "--split", "X,Y")
    machines = ("--on", "v5p:4x4x4", "--on", "v4:4x4x4")
    result = command("roofline", *MIXED, *machines, *mesh, "--json")
    cuts = json.loads(result.out)["split"]
    assert [cut["machine"] for cut in cuts] == ["v5p:4x4x4", "v4:4x4x4"]
    assert [cut["critical_per_chip"] for cut in cuts] == pytest.approx(
        [2550**2 / 65536, (275e12 / 90e9) ** 2 / 65536]
    )
    unknown = command("roofline", *MIXED, "--on", "v5p:4x4x4", *mesh[:2], *mesh[4:])
    assert unknown.code == 2
    assert "--split needs the extents of D, F" in unknown.err


def test_over_a_dimension_that_others_end_with() -> None:
    text = "X[B, BB] · W[BB, F] -> Y[B, F]"
    result = command("roofline", text, "--on", "v5e", "--dims", "BB=64,F=64", "--over", "B=64")
    assert result.code == 0, result.err


def test_operands_that_lie_in_vmem() -> None:
    answer = ask_roofline(
        MATMUL, on="v5e", dims="D=4096,F=16384", dtype="int8", solve="B", through="vmem"
    )
    assert float(answer.solved[0].exact or 0) == pytest.approx(10.9567, rel=1e-5)


def test_flops_and_bytes_without_a_statement() -> None:
    one = ask_roofline(on="v6e", flops="1 TFLOP", moved="1 GB").roofline
    assert one.compute_seconds == Fraction(10**12, 920 * 10**12)
    by_channel = {each.channel.kind.value: each.seconds for each in one.channels}
    assert by_channel["hbm"] == Fraction(10**9, 1600 * 10**9)
    assert by_channel["ici"] == Fraction(10**9, 180 * 10**9)
    assert by_channel["dcn"] == Fraction(10**9, 12_500 * 10**6)
    assert set(by_channel) == {"vmem", "hbm", "ici", "pcie", "dcn"}


def test_weights_gathered_along_three_axes() -> None:
    """Data parallel over three rings of a v5p: 850 tokens on each chip, in first order."""
    program = [
        "AllGather_X W[D_X, F] -> W[D, F]",
        "In[B_X, D] · W[D, F] -> H[B_X, F]",
    ]
    answer = ask_roofline(program, on="v5p:4x4x4", mesh={"X": 64}, dims="D=8192,F=32768", solve="B")
    (network,) = (one for one in answer.solved if one.channel == "ici")
    assert network.approximate == 64 * 850
    assert answer.cuts["B"] == 64


MIXED = [
    "AllGather_X W[D_X, F_Y] -> W[D, F_Y]",
    "AllGather_X V[F_Y, D_X] -> V[F_Y, D]",
    "AllGather_Y In[B_X, D_Y] -> In[B_X, D]",
    "In[B_X, D] · W[D, F_Y] -> H[B_X, F_Y]",
    "H[B_X, F_Y] · V[F_Y, D] -> Out[B_X, D]{U_Y}",
    "ReduceScatter_{Y,D} Out[B_X, D]{U_Y} -> Out[B_X, D_Y]",
]


@pytest.mark.parametrize("sizes", [{"X": 16, "Y": 4}])
def test_chips_cut_between_two_axes(sizes: dict[str, int]) -> None:
    """X = sqrt(B/F MX/MY N); the chips compute as long from alpha^2 / (MX MY F) tokens on each."""
    answer = ask_roofline(
        MIXED, on="v5p:4x4x4", mesh=sizes, dims="B=48000,D=8192,F=32768", solve="B"
    )
    cut = split_chips(answer.roofline, "B", "X", "Y")
    assert float(cut.size) == pytest.approx((48000 / 32768 * 2 * 64) ** 0.5, rel=1e-9)
    assert cut.critical == Fraction(2550**2, 2 * 32768)


def test_a_table_of_machines_and_types() -> None:
    answers = ask_rooflines(
        MATMUL, on=["v5e", "h100"], dims=["D=64,F=64", None], dtypes=["bf16"], solve="B"
    )
    assert [one.roofline.machine for one in answers] == ["v5e", "v5e", "h100", "h100"]
    assert [one.missing for one in answers] == [(), ("D", "F")] * 2


def test_attained_flops_bend_at_the_critical_batch() -> None:
    one = ask_roofline(MATMUL, on="v5e", dims="B=1,D=4096,F=4096").roofline
    curve = attained_over(one, "B", [1, 272, 273, 512])
    assert curve.rates[3] == curve.rates[2] == curve.peak > curve.rates[1] > curve.rates[0]
    assert doublings(16, 1) == [1, 2, 4, 8, 16]


FAULTS = [
    ((MATMUL,), "--on is missing"),
    ((MATMUL, "--on", "v5e"), "B, D, F have no extent"),
    ((MATMUL, "--on", "v5e", "--solve", "E"), "no statement has a dimension E"),
    ((MATMUL, "--on", "v5e", "--solve", "B", "--through", "hmb"), "there is no channel 'hmb'"),
    ((MATMUL, "--on", "v5e", "--dims", "B=1,D=1,F=1", "--flops", "1"), "--flops is for a load"),
    ((MATMUL, "--on", "v5e", "--dims", "B=1,D=1,F=1", "--small", "B"), "--small is for --solve"),
    ((MATMUL, "--on", "v5e", "--dims", "B=1,D=1,F=1", "--through", "l2"), "has no figure for L2"),
    ((MATMUL, "--on", "v5e", "--solve", "B", "--figures", "hbm"), "expected NAME=VALUE"),
    ((MATMUL, "--on", "v5e", "--solve", "B", "--figures", "hbm=1"), "unknown key 'hbm'"),
    ((MATMUL, "--on", "v5e", "--solve", "B", "--figures", "bf16=1 GB"), "is not a unit of FLOP/s"),
    (("--on", "v5e"), "there is nothing to do"),
    (("--on", "v5e", "--flops", "1e12", "--fused"), "--fused: not without a statement"),
    (
        (MATMUL, "--on", "v5e", "--dims", "B=1,D=1,F=1", "--over", "=5"),
        "--over names one dimension",
    ),
    ((MATMUL, "--on", "v5e", "--solve", "B", "--split", "X,X"), "--split takes two axes"),
    (("--on", "v5e", "--flops", "1e12", "--bytes", "1 GFLOP"), "'GFLOP' is not a unit of bytes"),
    (("--on", "v5e", "--flops", "abc", "--bytes", "1"), "--flops:1:1"),
    (("--on", "v5e", "--flops", "1e12", "--bytes", "-3 GB"), "--bytes:1:1"),
    (("--on", "v5e", "--flops", "1e12", "--solve", "B"), "--solve: not without a statement"),
    (("--on", "v99", "--flops", "1e12"), "v99"),
    ((MATMUL, "--on", "v5e", "--dims", "B=1,D=1,F=1", "--dtype", "fp8"), "no peak FLOP/s for fp8"),
    ((MATMUL, "--on", "v5e", "--dims", "B=1,D=1,F=1", "--over", "E"), "no statement has a dim"),
    ((MATMUL, "--on", "v5e", "--solve", "B", "--split", "X"), "--split takes two axes"),
]


@pytest.mark.parametrize(("arguments", "said"), FAULTS)
def test_faults_say_what_to_do(arguments: tuple[str, ...], said: str) -> None:
    result = command("roofline", *arguments)
    assert result.code == 2
    assert said in result.err
    assert "help: " in result.err
    assert result.out == ""


def test_the_command_prints_both_critical_batches() -> None:
    result = command("roofline", MATMUL, "--on", "v5e", "--dims", "D=4096,F=4096", "--solve", "B")
    assert "B = 272.2: from B = 273 on the chip is bound by compute" in result.out
    assert "first order B = 240.2" in result.out
    table = command(
        "roofline", MATMUL, "--on", "v5e", "--solve", "B",
        "--dims", "D=4096,F=4096", "--dims", "D=1024,F=1024",
    ).out  # fmt: skip
    assert "272.2" in table
    assert "452.6" in table


def test_the_json_of_the_command() -> None:
    result = command(
        "roofline", TWO_CHIPS, "--on", "v5e:2", "--dims", "B=4096,D=8192,F=4096", "--json"
    )
    (row,) = json.loads(result.out)["rows"]
    assert row["book_network_seconds"] == pytest.approx(2 * 4096 * 4096 / 45e9)
    assert row["bound"] == "communication"
    assert row["collectives"][0]["channel"] == "ici"


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(InputError, match="unknown setting colour; known: on, figures, dims, "):
        ask_roofline(MATMUL, on="v5e", dims="B=1,D=1,F=1", colour="red")
