"""Values from Python that a roofline cannot be of."""

from __future__ import annotations

from fractions import Fraction

import pytest

import shardsim as ss
from shardsim.errors import InputError

MATMUL = "X[B, D] · W[D, F] -> Y[B, F]"


@pytest.mark.parametrize("amount", [-5, Fraction(-1, 2), float("nan"), True, [1]])
@pytest.mark.parametrize("name", ["flops", "moved"])
def test_amounts_from_python_are_numbers_from_0_on(name: str, amount: object) -> None:
    given: dict[str, object] = {"flops": 1, "moved": 1, name: amount}
    with pytest.raises(InputError, match=r"must be 0 or more|is not a (number|quantity)"):
        ss.roofline(on="v5e", **given)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dims", 5),
        ("dims", [("B", 1)]),
        ("fused", "false"),
        ("fused", 1),
        ("solve", 5),
        ("solve", ["B"]),
        ("small", 3),
        ("small", ["B", 3]),
        ("figures", 5),
        ("figures", [5]),
    ],
)
def test_settings_from_python_of_another_kind_are_refused(name: str, value: object) -> None:
    given: dict[str, object] = {"dims": "B=64,D=64,F=64", name: value}
    with pytest.raises(InputError, match=f"{name} must be .* (it is|they are) ") as caught:
        ss.roofline(MATMUL, on="v5e", **given)
    assert "help: " in str(caught.value)


@pytest.mark.parametrize("what", [5, {}, {"A": "B"}])
def test_statements_are_lines(what: object) -> None:
    with pytest.raises(InputError, match="the notation must be lines; it is"):
        ss.roofline(what, on="v5e", dims="B=64,D=64,F=64")  # type: ignore[arg-type]
