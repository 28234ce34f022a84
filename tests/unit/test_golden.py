"""Reports as a person sees them, kept as files; `pytest --update-golden` rewrites them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from shardsim.book import chapters
from tests.command_line import command

Golden = Callable[[str, str], None]
CODES = re.compile("\x1b\\[[0-9;]*m")

FOLDER = Path(__file__).parents[2] / "scenarios"
FILES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
COMPARISONS = [name for name in FILES if name.startswith("compare-")]
SCENARIOS = [name for name in FILES if name not in COMPARISONS]
LONG_RUNS = {"14-fsdp-32-layers"}
"""In JSON they would be long files."""
PLANS = ["2-gather-one-operand", "8-two-layers"]
TOPOLOGIES = [
    "v5e:8x16", "v4:4x4x8", "v5p:2x2x4", "h100:4x8", "h100-measured:8", "2*v5e:4x16",
    "slow-link-4x4", "broken-ring-of-8",
]  # fmt: skip
TOGETHER = {
    "together": ("compare-allgather-matmul", "balanced, together"),
    "apart": ("compare-overlap-loses", "auto"),
    "slower_beside": ("compare-collective-matmul-v5e", "decomposed, slowdown 1.29"),
    "ahead": ("compare-fsdp-prefetch", "one ahead"),
}
CUT = ("--on", "v5e:16x16", "--mesh", "X=64,Y=4")
COLLECTIVES = {
    "two_rings": ("AllGather", "--size", "512MiB", "--on", "v5e:16x16"),
    "line": ("rs", "--size", "100MB", "--on", "v5e:8x4", "--axes", "Y"),
    "exchange": ("all-to-all", "--size", "1MiB", "--on", "v5e:4x4"),
    "tiers": ("AllReduce", "--size", "512MiB", "--on", "h100:4x8"),
    "three_tiers": ("all_gather", "--size", "1GiB", "--on", "2*v5e:4x4"),
    "measured": ("a2a", "--size", "64MiB", "--on", "h100-measured:8"),
    "in_network": ("ar", "--size", "512MiB", "--on", "h100:8", "--algorithm", "in_network"),
    "strided": ("ag", "--size", "64MiB", *CUT, "--axes", "X"),
    "slow_link": ("rs", "--size", "64MiB", "--on", "slow-link-4x4"),
    "no_ring": ("ar", "--size", "32MiB", "--on", "v5e:2x2", "--mesh", "X=4",
                "--devices", "0,0 1,1 0,1 1,0"),
    "permute": ("ppermute", "--size", "1MB", "--on", "v4:4x4x4", "--axes", "X", "--shift", "-1",
                "--efficiency", "90 %", "--launch-overhead", "5us"),
    "gather": ("gather", "--size", "1GB", "--on", "v4:4x4x4", "--axes", "X", "--root", "2"),
    "send": ("send", "--size", "1GiB", "--on", "v5e:16x16", "--from", "0,0", "--to", "3,5",
             "--ways", "2", "--chunks", "16"),
    "one_chip": ("all_reduce", "--size", "1MB", "--on", "v5e:1x1"),
}  # fmt: skip
SHARDINGS = {
    "matrix": ("A[I_X, J_Y]", "--on", "v5e:4x2", "--dims", "I=64,J=128", "--dtype", "f32"),
    "parts": ("A: int8[I_{X:(1)2}, J_{X:(2)2}]{U_Y}", "--on", "v5e:4x2", "--dims", "I=8,J=6"),
    "three_dims": ("A[B_Z, I_X, J_Y]", "--on", "v5p:4x4x2", "--mesh", "X=4,Y=4,Z=2"),
    "hlo": ("{devices=[2,4]<=[4,2]T(1,0)}", "--from", "hlo", "--on", "v5e:4x2", "--names", "B,D"),
    "many": ("A[I_X, J_Y]", "--on", "v5e:16x16", "--dims", "I=8192,J=1024"),
    "one_dim": ("W[D_XY]", "--on", "v5e:8x8", "--mesh", "X=8,Y=8"),
    "scalar": ("loss[]{U_X}", "--on", "v5e:4x2"),
}  # fmt: skip

MATMUL = "X[B, D] · W[D, F] -> Y[B, F]"
SIZES = ("--dims", "D=4096,F=4096", "--dims", "D=1024,F=1024")
MIXED_TYPES = ("--dtype", "bf16", "--dtype", "W=int8,default=bf16")
BLOCK = (
    "AllGather_X W[D_X, F_Y] -> W[D, F_Y]",
    "AllGather_Y In[B_X, D_Y] -> In[B_X, D]",
    "In[B_X, D] · W[D, F_Y] -> H[B_X, F_Y]",
)
ROOFLINES = {
    "one": (MATMUL, "--on", "v5e", "--dims", "B=512,D=4096,F=4096"),
    "solved": (MATMUL, "--on", "v5e", "--dims", "D=4096,F=4096", "--solve", "B"),
    "first_order": (MATMUL, "--on", "v5e", "--solve", "B"),
    "table": (MATMUL, "--on", "v5e", "--on", "h100", *MIXED_TYPES, *SIZES, "--solve", "B"),
    "times": (MATMUL, "--on", "v5e", "--on", "h100", "--dims", "B=8,D=4096,F=4096"),
    "network": ("X[B, D_X] · Y[D_X, F] -> Z[B, F]", "--on", "v5e:2", "--dims", "B=4096,F=4096",
                "--solve", "D"),
    "dot": ("x[n] · y[n] -> z[]", "--on", "v5p", "--dims", "n=1000000"),
    "no_unit": ("x[n] · y[n] -> z[]", "--on", "mi300x", "--dims", "n=1000000"),
    "numbers": ("--on", "v6e", "--flops", "1 TFLOP", "--bytes", "1 GB"),
    "over": (MATMUL, "--on", "v5e", *SIZES, "--dtype", "W=int8,default=bf16", "--over", "B=512"),
    "split": (*BLOCK, "--on", "v5p:4x4x4", "--mesh", "X=16,Y=4", "--dims", "D=8192,F=32768",
              "--solve", "B", "--split", "X,Y"),
}  # fmt: skip
TRAINING = ("--train", "--tokens", "15e12", "--batch", "4e6", "--on", "v5p:16x20x28")
SERVING = ("--on", "v5e:4x4", "--batch", "32", "--context", "8192", "--dtype", "int8")
MODELS = {
    "serving": ("llama-3-70b", *SERVING, "--mesh", "X=4,Y=4", "--generated", "512", "--mfu", "0.4"),
    "training": ("llama-3-70b", *TRAINING, "--mfu", "0.4", "--kept", "2"),
    "latent": ("deepseek-v3",),
    "latent_serving": ("deepseek-v3", "--on", "v5p:4x4x4", "--batch", "32", "--context", "8192"),
    "sharded_training": ("llama-3-70b", "--train", "--tokens", "1e12", "--on", "v5p:4x4x4",
                         "--mesh", "X=16,Y=4", "--data", "X", "--batch", "262144",
                         "--context", "4096"),
}  # fmt: skip
CHAPTERS = chapters()

REPORTS = [
    *[(f"run_{name}.txt", ("run", str(FOLDER / f"{name}.yaml"))) for name in SCENARIOS],
    *[
        (f"run_{name}.json", ("run", str(FOLDER / f"{name}.yaml"), "--json"))
        for name in SCENARIOS
        if name not in LONG_RUNS
    ],
    *[(f"{name}.txt", ("compare", str(FOLDER / f"{name}.yaml"))) for name in COMPARISONS],
    *[
        (f"{name}.json", ("compare", str(FOLDER / f"{name}.yaml"), "--json"))
        for name in COMPARISONS[:1]
    ],
    *[
        (f"run_{name}.txt", ("run", str(FOLDER / f"{file}.yaml"), "--strategy", strategy))
        for name, (file, strategy) in TOGETHER.items()
    ],
    *[(f"plan_{name}.txt", ("plan", str(FOLDER / f"{name}.yaml"))) for name in PLANS],
    *[(f"show_{re.sub('[:*]', '_', name)}.txt", ("show", name)) for name in TOPOLOGIES],
    *[(f"collective_{name}.txt", ("collective", *given)) for name, given in COLLECTIVES.items()],
    ("collective_tiers.json", ("collective", *COLLECTIVES["tiers"], "--json")),
    ("show_cut_dimension.txt", ("show", *CUT[1:2], *CUT[2:])),
    *[(f"sharding_{name}.txt", ("show", *given)) for name, given in SHARDINGS.items()],
    ("sharding_parts.json", ("show", *SHARDINGS["parts"], "--json")),
    *[(f"roofline_{name}.txt", ("roofline", *given)) for name, given in ROOFLINES.items()],
    ("roofline_network.json", ("roofline", *ROOFLINES["network"], "--json")),
    *[(f"model_{name}.txt", ("model", *given)) for name, given in MODELS.items()],
    ("model_latent.json", ("model", *MODELS["latent"], "--json")),
    *[(f"book_{name}.txt", ("book", name)) for name in CHAPTERS],
    ("compare_over.txt", ("compare", "compare-tensor-parallel-block", "--over", "B=512,4096")),
    (
        "collective_sizes.txt",
        ("collective", "ag", "--size", "1MiB", "--on", "v5e:4x4", "--sizes", "1KiB,1MiB,1GiB"),
    ),
    ("show_chips.txt", ("show", "chips")),
    *[(f"show_{name}.txt", ("show", name)) for name in ("v5e", "h100", "mi300x")],
]
LOWER_CASE = (
    ["q[b, t_x] · k[t_x, s] -> p[b, s]", "AllGather_y r[s_y] -> r[s]"],
    ["--on", "v5p:4x4x4", "--mesh", "x=4,y=4,z=4", "--dims", "b=64,t=64,s=64"],
)
LONG = (
    ["Activations_of_layer_one[batch_X, sequence_Y, embedding]"
     " · Weights_of_layer_one[embedding, hidden] -> Hidden_of_layer_one[batch, sequence, hidden]"],
    ["--on", "v5e:16x4", "--dims", "batch=64,sequence=64,embedding=1048576,hidden=64"],
)  # fmt: skip
UNUSUAL = [
    ("run", *LOWER_CASE[0], *LOWER_CASE[1]),
    ("plan", *LOWER_CASE[0], *LOWER_CASE[1]),
    ("run", *LONG[0], *LONG[1]),
    ("plan", *LONG[0], *LONG[1]),
    ("run", "A[I] · B[J] -> C[I, J]", "--on", "v5e:1x1", "--dims", f"I={10**9},J={10**9}"),
    ("run", "AllGather_X A[I_X] -> A[I]", "--on", "v5e:4x4", "--dims", f"I={4 * 10**17}"),
    ("run", "AllGather_X A[I_X] -> A[I]", "--on", "v5e:1x1", "--dims", "I=1"),
    ("show", "v6e:16x16"),
    ("show", "mixed-4x16"),
    (
        "collective",
        "send",
        "--size",
        f"{10**17}",
        "--on",
        "v5e:16x16",
        "--from",
        "0,0",
        "--to",
        "15,15",
        "--ways",
        "1",
    ),
    (
        "collective",
        "ag",
        "--size",
        "1",
        "--on",
        "v5p:4x4x4",
        "--chunks",
        "7",
        "--schedule",
        "balanced",
    ),
]


def test_there_is_a_golden_file_for_every_scenario() -> None:
    assert len(SCENARIOS) >= 8
    assert len(COMPARISONS) >= 3


FIGURE = re.compile(r"\d[\d.]* (?:ms|µs)")
MEASURED = {
    "compare-collective-matmul-v5e": {"311 µs", "244 µs", "224 µs"},
    "compare-overlapped-gpus": {"2.96 ms", "2.02 ms", "1.77 ms", "1.56 ms", "1.40 ms"},
}
"""What was measured by others need not be what is printed."""
TOLD = {"compare-two-matmul-block", *MEASURED}
VARIANTS = {
    "10-two-axes-at-once": ("--schedule", "sequential"),
    "11-cut-dimension": ("--layout", "X=x+y:(4)4,Y=y:(1)4"),
}


@pytest.mark.parametrize("name", FILES)
def test_figures_in_comments_are_those_printed(name: str) -> None:
    path = FOLDER / f"{name}.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = "\n".join(line for line in lines if line.startswith("#"))
    figures = FIGURE.findall(comment)
    printed = command("compare" if name in COMPARISONS else "run", str(path)).out if figures else ""
    if name in VARIANTS:
        printed += command("run", str(path), *VARIANTS[name]).out
    others = MEASURED.get(name, set())
    assert [one for one in figures if one not in others and f" {one}" not in printed] == []
    assert bool(figures) is (name[:2] in {"10", "11", "12", "13"} or name in TOLD)


def check_form(text: str) -> None:
    """At most 100 columns, no control characters, no trailing blanks (JSON may be wider)."""
    assert "\x1b" not in text
    lines = text.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    if not text.startswith("{"):
        assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(("name", "arguments"), REPORTS, ids=[name for name, _ in REPORTS])
def test_report(name: str, arguments: tuple[str, ...], golden: Golden) -> None:
    result = command(*arguments)
    assert (result.code, result.err) == (0, "")
    check_form(result.out)
    golden(name, result.out)


@pytest.mark.parametrize("arguments", UNUSUAL)
def test_unusual_reports_fit_100_columns(arguments: tuple[str, ...]) -> None:
    result = command(*arguments)
    assert (result.code, result.err) == (0, "")
    check_form(result.out)
    wide = command(*arguments, terminal=True).out  # a terminal of 300 columns
    assert max(len(CODES.sub("", line)) for line in wide.splitlines()) <= 100


def test_lower_case_dimensions_are_not_taken_for_styles() -> None:
    """Rich would read `[b, t_x]` as markup and leave it out."""
    shown = command("run", *LOWER_CASE[0], *LOWER_CASE[1]).out
    assert shown.startswith("q[b, t_x] · k[t_x, s] -> p[b, s]\n")
    assert "\n2   AllReduce_x p[b, s]{U_x} -> p[b, s]  " in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", str(FOLDER / "1-no-communication.yaml")),
        ("plan", str(FOLDER / "1-no-communication.yaml")),
        ("compare", str(FOLDER / "compare-sharded-contraction.yaml")),
        ("show", "v5e:4x4"),
    ],
)
def test_colour_is_for_terminals(arguments: tuple[str, ...]) -> None:
    assert "\x1b" not in command(*arguments).out
    assert "\x1b[1m" in command(*arguments, terminal=True).out
    assert "\x1b" not in command(*arguments, "--json", terminal=True).out


def test_expectations_are_green_on_a_terminal() -> None:
    shown = command("run", str(FOLDER / "7-small-gather.yaml"), terminal=True).out
    assert "\x1b[32m  met: bound is latency, expected latency\x1b[0m" in shown
