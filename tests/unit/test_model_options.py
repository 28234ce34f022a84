"""Options of `model`: each changes what is printed, or it is said what is missing for it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from tests.command_line import command

MODEL = "llama-3-8b"
GIVEN: dict[str, tuple[str, ...]] = {
    "on": ("--on", "v5e:4x4"),
    "mesh": ("--mesh", "X=4,Y=4"),
    "data": ("--data", "Y"),
    "batch": ("--batch", "32"),
    "context": ("--context", "4096"),
    "weights": ("--dtype", "weights=int8"),
    "activations": ("--dtype", "activations=f32"),
    "compute": ("--dtype", "compute=int8"),
    "kv": ("--dtype", "kv=int8"),
    "mfu": ("--mfu", "0.3"),
    "causal": ("--causal",),
}
SERVING = {**GIVEN, "prompt": ("--prompt", "512"), "generated": ("--generated", "64")}
TRAINING = {
    **GIVEN,
    "batch": ("--batch", "524288"),
    "tokens": ("--tokens", "1e12"),
    "kept": ("--kept", "3"),
    "optimizer": ("--optimizer", "6"),
    "gradients": ("--gradients", "4"),
    "chip_hours": ("--chip-hours", "1e6"),
    "seconds": ("--seconds", "1e8"),
}
TYPES = {"weights", "activations", "compute", "kv"}
Sets = list[tuple[str, ...]]


def subsets(options: dict[str, tuple[str, ...]], *bases: str) -> Sets:
    """Of some sets of options: each by itself, and with one more."""
    every = []
    for base in (text.split() for text in bases):
        for more in ((), *((one,) for one in options if one not in base)):
            names = (*base, *more)
            if len(TYPES & {*names}) < 2:
                every.append(names)
    return every


OF_SERVING = subsets(SERVING, "", "on", "on batch", "on mesh data", "on batch context mfu")
OF_TRAINING = subsets(
    TRAINING, "", "on", "batch kept", "on tokens", "on batch context mesh data", "on tokens mfu"
)
CASES = {
    "+".join(("train" if train else "serve", *names)): (train, names)
    for train, every in ((False, OF_SERVING), (True, OF_TRAINING))
    for names in every
}


def arguments(train: bool, names: tuple[str, ...]) -> tuple[str, ...]:
    table = TRAINING if train else SERVING
    given = tuple(itertools.chain.from_iterable(table[name] for name in names))
    return ("model", MODEL, *(("--train",) if train else ()), *given)


@pytest.mark.parametrize(("train", "names"), CASES.values(), ids=CASES)
def test_each_option_changes_what_is_printed_or_is_explained(
    train: bool, names: tuple[str, ...]
) -> None:
    result = command(*arguments(train, names))
    if result.code:
        assert (result.code, result.out) == (2, "")
        assert "help: " in result.err
        return
    for name in names:
        without = command(*arguments(train, tuple(one for one in names if one != name)))
        if without.code == 0 and without.out == result.out:
            assert "not shown: " in result.out or "for the time of a step" in result.out, name


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "--mfu 0.4 --causal --prompt 10 --generated 5",
            [
                "--mfu does nothing without --on\n",
                "--causal does nothing without --on\n",
                "--prompt does nothing without --on\n",
                "--generated does nothing without --on, and --batch, and --context\n",
            ],
        ),
        ("--batch 32", ["--batch does nothing without --on\n  help: add --on v5e:4x4\n"]),
        (
            "--train --chip-hours 6.4e6",
            ["--chip-hours does nothing without --on, and --tokens\n", "--tokens 15e12\n"],
        ),
        (
            "--train --on v5e:4x4 --mesh X=4,Y=4 --tensor X --data Y",
            [
                "--mesh does nothing without --batch, and --context\n",
                "--batch 4e6 --context 8192\n",
            ],
        ),
        (
            "--on v5e:4x4 --prompt 512",
            ["--prompt does nothing without --mfu\n  help: add --mfu 0.4\n"],
        ),
        ("--on v5e:4x4 --mfu 0.4", ["without --prompt or --context\n", "add --prompt 8192\n"]),
        (
            "--train --tokens 1e12 --on v5p:4x4x4 --seconds 3e6 --mfu 0.4",
            ["--mfu and --seconds: the MFU follows from the time\n", "leave one of them out"],
        ),
        (
            "--train --tokens 1e12 --on v5p:4x4x4 --chip-hours 3e6 --mfu 0.4",
            ["--mfu and --chip-hours: the MFU follows from the time\n", "leave one of them out"],
        ),
        (
            "--train --tokens 1e12 --on v5p:4x4x4 --chip-hours 3e6 --seconds 3e6",
            ["--seconds and --chip-hours: both say what it took\n"],
        ),
        (
            "--train --tokens 1e12 --on v5p:4x4x4 --seconds 1e5",
            ["100,000 seconds are less than the peak allows", "at the peak it takes "],
        ),
        ("--dtype activations=f32", ["--dtype activations= does nothing without --on, and --mesh"]),
        ("--batch 1.5", ["batch must be a whole number; it is 1.5\n", "--batch does nothing"]),
        ("--context 8192.5", ["context must be a whole number; it is 8192.5\n"]),
        ("--generated 0.5", ["generated must be a whole number; it is 0.5\n"]),
    ],
)
def test_refused(given: str, said: list[str]) -> None:
    result = command("model", MODEL, *given.split())
    assert (result.code, result.out) == (2, "")
    for text in said:
        assert text in result.err


def test_a_model_of_parameters_only_says_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("parameters: 175e9\n")
    given = ("--on", "v5e:8x8", "--batch", "4", "--context", "2048")
    text = " ".join(command("model", str(file), *given).out.split())
    assert (
        "! not shown: the time of a step, the cache of a sequence: m has no kv_bytes_per_token, "
        "nor what it follows from: layers, kv_heads, head_size; add kv_bytes_per_token" in text
    )
    document = json.loads(command("model", str(file), *given, "--json").out)
    assert document["missing"] == [
        {
            "what": ["the time of a step", "the cache of a sequence"],
            "why": "m has no kv_bytes_per_token, nor what it follows from: "
            "layers, kv_heads, head_size",
        }
    ]
    assert "missing" not in json.loads(command("model", MODEL, *given, "--json").out)
    text = " ".join(command("model", str(file), "--train", "--context", "2048").out.split())
    assert "! not shown: FLOPs with attention: m has no d_model; add d_model" in text


def test_a_model_of_layers_only_says_what_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("layers: 2\n")
    lines = [line.strip() for line in command("model", str(file)).out.splitlines()]
    assert lines == [
        "m",
        "2 layers",
        "parameters by part and FLOPs of statements are not shown: m has no d_model, d_ff, heads,",
        "vocabulary",
    ]


def test_attention_of_a_step_is_that_of_one_token_whatever_is_prefilled() -> None:
    given = ("--on", "v5e:4x4", "--batch", "32", "--context", "4096", "--mfu", "0.4")
    result = command("model", MODEL, *given, "--prompt", "4096")
    assert "read: attention, bound by memory" in result.out


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("--batch 4e6 --on v5p:4x4x4", "tokens 62,500 of a batch, a chip"),
        ("--batch 4000032 --on v5p:4x4x4", "tokens 62,500.5 of a batch, a chip"),
        ("--tokens 1e29", "FLOPs 4.82e39 6P x tokens, first order"),
    ],
)
def test_figures_of_a_training(given: str, line: str) -> None:
    text = command("model", MODEL, "--train", *given.split()).out
    assert line in [" ".join(one.split()) for one in text.splitlines()]
