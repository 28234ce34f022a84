"""Errors: the picture of a place, the text of each class, and that each survives a rebuild."""

from __future__ import annotations

import copy
import pickle

import pytest

from shardsim import errors
from shardsim.errors import (
    InputError,
    InputErrors,
    MeshError,
    Place,
    PlanError,
    QuantityError,
    ShardingError,
    ShardsimError,
    SimulationError,
    Source,
    TopologyError,
)

# the picture of a place

LONG = "".join(f"{number:04d}" for number in range(50))
"""200 characters."""

PICTURES = {
    "one character": (
        Place("expression", 1, 3, "A[I_X, J_X]"),
        "    | A[I_X, J_X]\n    |   ^",
    ),
    "four characters": (
        Place("expression", 1, 3, "A[I_X, J_X]", 3),
        "    | A[I_X, J_X]\n    |   ^^^",
    ),
    "wider than the line": (Place("x", 1, 4, "abcdef", 99), "    | abcdef\n    |    ^^^"),
    "zero width at the end of the text": (
        Place("x", 1, 7, "abcdef", 0),
        "    | abcdef\n    |       ^",
    ),
    "an empty text": (Place("x", 1, 1, "", 0), "    |\n    | ^"),
    # a tab is shown as one blank, so that the caret stands under its character
    "tabs": (Place("x", 1, 3, "\ta\tb"), "    |  a b\n    |   ^"),
    "as wide as the window": (Place("x", 1, 94, "z" * 94), f"    | {'z' * 94}\n    | {' ' * 93}^"),
    # 95 characters do not fit: the window is the last 94 when the place is at the end
    "one over, at the end": (
        Place("x", 1, 95, "y" + "z" * 94),
        f"    | {'z' * 94}\n    | {' ' * 93}^",
    ),
    "one over, at the start": (
        Place("x", 1, 1, "y" + "z" * 94),
        f"    | y{'z' * 93}\n    | ^",
    ),
    # column 101 of 200: the window starts 47 before it, at offset 53, and the caret stands at 47
    "in the middle": (Place("x", 1, 101, LONG, 4), f"    | {LONG[53:147]}\n    | {' ' * 47}^^^^"),
    "wider than the window": (
        Place("x", 1, 101, LONG, 90),
        f"    | {LONG[53:147]}\n    | {' ' * 47}{'^' * 47}",
    ),
    # column 201, after the last of 200 characters: the window is the last 94
    "after the end of a long line": (
        Place("x", 1, 201, LONG, 0),
        f"    | {LONG[106:]}\n    | {' ' * 94}^",
    ),
}


LONG_PICTURE = Place("x", 1, 101, LONG, 90).picture()


@pytest.mark.parametrize("name", PICTURES)
def test_pictures(name: str) -> None:
    place, picture = PICTURES[name]
    assert place.picture() == picture


def test_a_picture_fits_a_screen_of_100_columns() -> None:
    assert max(map(len, LONG_PICTURE.split("\n"))) == 100
    assert LONG_PICTURE.count("^") == 47


# places in a source

TEXT = "C = A[I_X]\n  · B[I_X]\n"

PLACES = [
    # source, start, end; line, column, shown line, width
    (Source(TEXT), 4, None, (1, 5, "C = A[I_X]", 1)),
    (Source(TEXT), 4, 10, (1, 5, "C = A[I_X]", 6)),
    # offset 15 is the B of the second line (10 characters, a line break, four more)
    (Source(TEXT), 15, 21, (2, 5, "  · B[I_X]", 6)),
    # a stretch over two lines is cut at the end of its first line
    (Source(TEXT), 4, 21, (1, 5, "C = A[I_X]", 6)),
    # the line break itself, and nothing at the end of a text
    (Source(TEXT), 10, None, (1, 11, "C = A[I_X]", 1)),
    (Source("A[I"), 3, 3, (1, 4, "A[I", 1)),
    (Source(TEXT), 22, 22, (3, 1, "", 1)),
    # a text that starts at column 5 of line 7 of a file, alone: blanks stand for what is before it
    (Source("A[I\nB[J", line=7, column=5), 2, None, (7, 7, "    A[I", 1)),
    (Source("A[I\nB[J", line=7, column=5), 4, None, (8, 1, "B[J", 1)),
    # the same with the line as it is in the file
    (Source("A[I", line=7, column=5, context="  - A[I  # x"), 2, 3, (7, 7, "  - A[I  # x", 1)),
]


@pytest.mark.parametrize(("source", "start", "end", "place"), PLACES, ids=range(len(PLACES)))
def test_places(
    source: Source, start: int, end: int | None, place: tuple[int, int, str, int]
) -> None:
    found = source.place(start, end)
    assert (found.line, found.column, found.text, found.width) == place
    assert found.origin == "expression"


def test_a_place_is_named_as_editors_do() -> None:
    assert str(Source("abc", origin="run.yaml", line=3).place(1)) == "run.yaml:3:2"


# texts

HERE = Place("run.yaml", 2, 7, "mesh: X=4,X=4", 3)
POINTED = "  --> run.yaml:2:7\n    | mesh: X=4,X=4\n    |       ^^^"

TEXTS = [
    (ShardsimError("broken"), "broken"),
    (ShardsimError("broken", "mend it"), "broken\n  help: mend it"),
    (InputError("broken"), "broken"),
    (InputError("broken", "mend it"), "broken\n  help: mend it"),
    (InputError("broken", "", HERE), f"broken\n{POINTED}"),
    (InputError("broken", "mend it", HERE), f"broken\n{POINTED}\n  help: mend it"),
    (InputErrors((MeshError("one", "", HERE),)), f"one\n{POINTED}"),
    (
        InputErrors((MeshError("one", "mend it"), ShardingError("two"))),
        "2 faults:\n\none\n  help: mend it\n\ntwo",
    ),
    (SimulationError("deadlock"), "deadlock"),
    (SimulationError("deadlock", ("a waits", "b waits")), "deadlock\n  a waits\n  b waits"),
]


@pytest.mark.parametrize(("error", "text"), TEXTS, ids=range(len(TEXTS)))
def test_texts(error: ShardsimError, text: str) -> None:
    assert str(error) == text


def test_a_long_hint_is_wrapped_to_100_columns() -> None:
    # 8 columns of indent leave 92: 18 words of 4 letters with 17 blanks are 89, 19 would be 94
    assert str(ShardsimError("broken", " ".join(["mend"] * 30))).split("\n") == [
        "broken",
        "  help: " + " ".join(["mend"] * 18),
        "        " + " ".join(["mend"] * 12),
    ]


def test_several_faults_in_one_line() -> None:
    assert InputErrors((MeshError("one"), ShardingError("two"))).message == "one; two"


def test_a_place_is_given_once() -> None:
    other = Place("other", 1, 1, "x")
    bare = MeshError("broken", "mend it")
    placed = bare.at(HERE)
    assert type(placed) is MeshError
    assert (placed.message, placed.hint, placed.place) == ("broken", "mend it", HERE)
    assert placed.at(other) is placed
    assert bare.at(None) is bare
    assert bare.place is None


# every class can be built anew

CLASSES = [
    value
    for value in map(errors.__dict__.get, errors.__all__)
    if isinstance(value, type) and issubclass(value, ShardsimError)
]


def instances(kind: type[ShardsimError]) -> list[ShardsimError]:
    if kind is InputErrors:
        return [kind((MeshError("one", "mend it", HERE), PlanError("two")))]
    if kind is SimulationError:
        return [kind("deadlock"), kind("deadlock", ("a waits", "b waits"))]
    found = [kind("broken"), kind("broken", "mend it")]
    return found + ([kind("broken", "mend it", HERE)] if issubclass(kind, InputError) else [])


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_survives_being_built_anew(kind: type[ShardsimError]) -> None:
    for error in instances(kind):
        again = {
            "from its arguments": type(error)(*error.args),
            "pickled": pickle.loads(pickle.dumps(error)),
            "copied": copy.copy(error),
            "copied deeply": copy.deepcopy(error),
        }
        for how, other in again.items():
            assert type(other) is kind, how
            assert str(other) == str(error), how
            assert vars(other) == vars(error) or kind is InputErrors, how


def test_which_errors_there_are() -> None:
    assert {kind.__name__ for kind in CLASSES} == {
        "ShardsimError",
        "InputError",
        "InputErrors",
        "MeshError",
        "NotYetError",
        "NotationError",
        "PlanError",
        "QuantityError",
        "RepeatedAxisError",
        "ScenarioError",
        "ShardingError",
        "SimulationError",
        "TopologyError",
    }


def test_input_errors_are_value_errors_and_simulation_errors_are_not() -> None:
    assert issubclass(InputError, ValueError)
    assert issubclass(InputErrors, ValueError)
    assert issubclass(QuantityError, InputError)
    assert issubclass(TopologyError, InputError)
    assert issubclass(SimulationError, RuntimeError)
    assert not issubclass(SimulationError, ValueError)
