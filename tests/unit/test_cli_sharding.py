"""The command line with shardings: `show`, and `--from` of `plan` and `run`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import command

ON = ("--on", "v5e:4x2")
JAX = "P(None,'X') · P('X',None) -> P(None,None)"
OURS = "A[I, J_X] · B[J_X, K] -> C[I, K]"
DIMS = ("--dims", "I=64,J=64,K=64")
TYPES = "bf16[8,8@X] · bf16[8@X,4] -> bf16[8,4]"


@pytest.mark.parametrize("name", ["plan", "run"])
def test_an_expression_from_jax_is_that_of_the_notation(name: str) -> None:
    theirs = command(name, "--from", "jax", JAX, *ON, *DIMS)
    ours = command(name, OURS, *ON, *DIMS)
    assert (theirs.code, theirs.out) == (0, ours.out)


def test_types_need_no_dims() -> None:
    text = "bf16[64,64@X] · bf16[64@X,64] -> bf16[64,64]"
    theirs = json.loads(command("plan", "--from", "types", text, *ON, "--json").out)
    typed = "A: bf16[I, J_X] · B: bf16[J_X, K] -> C: bf16[I, K]"
    assert theirs == json.loads(command("plan", typed, *ON, *DIMS, "--json").out)


def test_an_einsum_names_the_dimensions() -> None:
    dims = ("--dims", "B=8,I=64,J=64,K=64")
    text = "P('X') · P('X') -> P('X')"
    found = command("plan", "--from", "jax", text, "--einsum", "bij,bjk->bik", *ON, *dims)
    assert found.code == 0
    assert found.out.startswith("A[B_X, I, J] · B[B_X, J, K] -> C[B_X, I, K]\n")


def test_every_notation_shows_the_same_sharding() -> None:
    shown = [
        command("show", text, "--from", name, "--names", "I,J", *ON).out
        for name, text in [
            ("jax", "P('X')"),
            ("shardy", '[{"X"}, {}]'),
            ("hlo", "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"),
            ("dtensor", "S(0)R"),
        ]
    ]
    assert set(shown) == {command("show", "A[I_X, J]", *ON).out}


def test_a_drawing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    found = command("show", "A[I_X]", *ON, "--svg", str(path))
    assert (found.code, found.err) == (0, f"drawing written to {path}\n")
    assert path.read_text(encoding="utf-8").startswith("<svg ")


BAD = [
    (("show", "A[I_X]"), "--topology is missing; a sharding needs it", ""),
    (("show", "A[I_Z]", *ON), "axis Z is not in the mesh; the mesh has X, Y", "sharding:1:3"),
    (("show", "A[I, J_{X:(1)3}]", *ON), "X:(1)3 is no part of X: the size of X", "sharding:1:6"),
    (("show", "A[I]{U_Z}", *ON), "axis Z is not in the mesh; the mesh has X, Y", "sharding:1:1"),
    (("show", "A[I_X", *ON), "expected ',' or ']' to close the dimensions of A", "sharding:1:6"),
    (("show", "A[I_X]", *ON, "--dims", "I=6"), "dimension I of 6 cannot be cut into 4", "ing:1:1"),
    (("show", "A[I_X]", *ON, "--dims", "I"), "expected one NAME=NUMBER", "dims:1:1"),
    (("show", "A[I_X]", *ON, "--dtype", "u9"), "'u9' is no dtype", ""),
    (("show", "A[I_X]", *ON, "--names", "B"), "--names is for another notation", ""),
    (("show", "A[I_X]", *ON, "--svg", "nowhere/a.svg"), "cannot write the drawing to", ""),
    (
        ("show", "v5e:4x4", "--svg", "a.svg"),
        "--svg draws a sharding, or the ladder of a chip; v5e:4x4",
        "",
    ),
    (("show", "A[I_X]", *ON, "--svg", "a.png"), "--svg writes a file whose name ends in .svg", ""),
    (("show", "A[I_X]", *ON, "--png", "a"), "--png writes a file whose name ends in .png, not", ""),
    (
        ("show", "v5e:4x4", "--png", "a.png"),
        "--png draws a sharding, or the ladder of a chip; v5e:4x4",
        "",
    ),
    (("show", "v5e:4x4", "--on", "v5e:4"), "--topology is for a sharding, and the argu", ""),
    (("show", "v5e:4x4", "--dims", "I=8"), "--dims is for a sharding, and the argument is", ""),
    (("show", "P('X')", "--from", "keras", *ON), "there is no notation 'keras'", ""),
    (("show", "P(X)", "--from", "jax", *ON), "expected None, an axis in quotes", "sharding:1:3"),
    (("plan", "--from", "jax", JAX), "--topology is missing; an expression in the notation of", ""),
    (("plan", "--from", "jax", JAX, *ON), "--dims is missing", ""),
    (("plan", "--from", "jax", JAX, JAX, *ON, *DIMS), "there are 2 arguments", ""),
    (("plan", "--einsum", "ij,jk->ik", OURS, *ON, *DIMS), "--einsum is for another notation", ""),
    (("show", "P('X:(1)2')", "--from", "jax", *ON), "'X:(1)2' is a part of an axis", "ing:1:3"),
    (("show", "(R, foo.)", "--from", "dtensor", *ON), "'foo.' is no placement", "ing:1:5"),
    (
        ("show", "A: int8[I_X]", *ON, "--dtype", "bf16", "--dims", "I=8"),
        "the element type is int8 in the text, and bf16 beside it",
        "",
    ),
    (
        ("plan", "--from", "types", TYPES, *ON, "--dims", "J=8,I=7"),
        "dimension I is 8 long in the text, and 7 in the dims",
        "--dims:1:5",
    ),
    (("plan", "--from", "dtensor", "RR -> RR", *ON, "--dims", "I=8"), "the sharding does not", ""),
    (("run", "--from", "jax", "P('Q') -> P()", *ON, *DIMS), "axis Q is not in the mesh", "n:1:1"),
    (("run", "--from", "jax", "P('X')", *ON, *DIMS), "the expression needs one arrow", "n:1:1"),
]


def test_dims_beside_a_text_that_says_some() -> None:
    both = command("plan", "--from", "types", TYPES, *ON, "--dims", "I=8")
    assert both == command("plan", "--from", "types", TYPES, *ON)
    assert both.code == 0


def test_each_command_names_its_own_option() -> None:
    asked = command("plan", "--from", "dtensor", "RR -> RR", *ON, "--dims", "I=8")
    assert "help: name them: --einsum ij->ij" in asked.err
    asked = command("show", "--from", "dtensor", "RR", *ON)
    assert "help: name them: --names I,J" in asked.err


@pytest.mark.parametrize("text", ["A[I_{X:(1)2,X:(2)2}, J]", "A[I_{X:(1)4}, J]"])
def test_parts_that_are_a_whole_axis_are_written_as_one(text: str) -> None:
    rows = command("show", text, *ON).out.split("In other notations\n")[1].split("\n\n")[0]
    assert (
        rows
        == command("show", "A[I_X, J]", *ON).out.split("In other notations\n")[1].split("\n\n")[0]
    )


@pytest.mark.parametrize(("arguments", "message", "place"), BAD)
def test_bad_input(arguments: tuple[str, ...], message: str, place: str) -> None:
    found = command(*arguments)
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith(f"error: {message}")
    assert f"{place}\n" in found.err
    assert "  help: " in found.err or "; known: " in found.err
