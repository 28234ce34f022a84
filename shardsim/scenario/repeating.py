"""Layers without writing them out: a program several times, each time with weights of its own."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from shardsim.errors import ScenarioError
from shardsim.notation import Contraction
from shardsim.program import arrays_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardsim.notation import Array, Statement

__all__ = ["repeated"]


def repeated(
    statements: Sequence[Statement], times: int
) -> tuple[tuple[Statement, ...], dict[str, str]]:
    """The statements several times, one after the other.

    What a statement writes is there for the next time; what none writes (the weights of a layer) is
    another array each time: `W`, `W_2`, `W_3`.

    Returns:
        All statements, and for each new name the one it stands for.

    Raises:
        ScenarioError: nothing that is written is read first, so that the repetitions would have
            nothing to do with each other.

    >>> from shardsim.notation import parse
    >>> layer = [parse("In[B, D] · W[D, F] -> H[B, F]"), parse("H[B, F] · V[F, D] -> In[B, D]")]
    >>> for statement in repeated(layer, 2)[0]:
    ...     print(statement)
    In[B, D] · W[D, F] -> H[B, F]
    H[B, F] · V[F, D] -> In[B, D]
    In[B, D] · W_2[D, F] -> H[B, F]
    H[B, F] · V_2[F, D] -> In[B, D]
    """
    once = tuple(statements)
    if times == 1:
        return once, {}
    written = {one.result.name for one in once if one.result.name}
    names = {array.name for one in once for array in arrays_of(one) if array.name}
    _check_chain(once, written)
    found: list[Statement] = list(once)
    origin: dict[str, str] = {}
    for number in range(2, times + 1):
        new: dict[str, str] = {}
        for name in sorted(names - written):
            new[name] = _free(f"{name}_{number}", names | set(origin))
            origin[new[name]] = name
        found += (_renamed(one, new) for one in once)
    return tuple(found), origin


def _check_chain(statements: Sequence[Statement], written: set[str]) -> None:
    done: set[str] = set()
    for one in statements:
        reads = {array.name for array in arrays_of(one)[:-1] if array.name}
        if reads & (written - done):
            return
        done.add(one.result.name or "")
    first = next((a for a in arrays_of(statements[0]) if a.name), None)
    name = "In" if first is None else first.name
    raise ScenarioError(
        "repeat: no line reads first what a later one writes, so the repetitions would have "
        "nothing to do with each other",
        f"let the last line write what the first one reads: -> {name}[..]",
    )


def _free(name: str, taken: set[str]) -> str:
    names = (f"{name}{'_' * more}" for more in itertools.count())
    return next(one for one in names if one not in taken)


def _renamed(statement: Statement, names: Mapping[str, str]) -> Statement:
    def one(array: Array) -> Array:
        return replace(array, name=names.get(array.name or "", array.name))

    if isinstance(statement, Contraction):
        operands = tuple(map(one, statement.operands))
        return replace(statement, operands=operands)
    return replace(statement, operand=one(statement.operand))
