"""Strategies: scenarios of one file that are run side by side, and the faults that they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from shardsim.documents import Document, Faults, described, nearest
from shardsim.errors import InputError, InputErrors, Place, ScenarioError, ShardingError
from shardsim.program import arrays_of
from shardsim.scenario.form import StrategyForm
from shardsim.scenario.loading import Scenario, scenario_of, statements_of
from shardsim.scenario.merging import MERGED, base_without, merged, named

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "Comparison",
    "Strategy",
    "StrategyFaults",
    "comparison_of",
    "one_strategy",
    "strategy_names",
]

LONGEST_NAME = 60
EXAMPLE = "strategies: {one: {program: ...}, other: {program: ...}}"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Strategy:
    """One way of several.

    Attributes:
        name: Its key in the file.
        note: A line for people; may be empty.
        scenario: What is run.
        place: Where it stands, for faults that have no better place.
    """

    name: str
    note: str
    scenario: Scenario
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Strategies in the order of their file."""

    name: str
    strategies: tuple[Strategy, ...]


class StrategyFaults:
    """Collects the faults of strategies: one that all have is told once, others name who has it.

    >>> faults = StrategyFaults({"slow": None, "fast": None})
    >>> def fail(): raise ScenarioError("there is no chip v9")
    >>> faults.attempt("fast", fail)
    >>> [error.message for error in faults.errors()]
    ['strategy fast: there is no chip v9']
    """

    def __init__(self, places: Mapping[str, Place | None], around: Place | None = None) -> None:
        """Starts without faults.

        Args:
            places: Where each strategy stands.
            around: The place of the whole file, which is not a place of one strategy.
        """
        self.places = places
        self.around = around
        self._found: dict[tuple[str, Place | None], tuple[InputError, list[str]]] = {}

    def attempt(self, strategy: str, make: Callable[[], _T]) -> _T | None:
        """What `make` returns, or None after keeping what it raised."""
        faults = Faults()
        made = faults.attempt(make)
        for error in faults.errors:
            _, having = self._found.setdefault((error.message, error.place), (error, []))
            if strategy not in having:
                having.append(strategy)
        return made

    def errors(self) -> list[InputError]:
        """What was kept, each once."""
        return [self._told(error, having) for error, having in self._found.values()]

    def _told(self, error: InputError, having: list[str]) -> InputError:
        if len(having) == len(self.places):
            return error
        many = "strategies" if len(having) > 1 else "strategy"
        message = f"{many} {', '.join(having)}: {error.message}"
        nowhere = error.place is None or error.place == self.around
        place = self.places[having[0]] if nowhere else error.place
        return type(error)(message, error.hint, place)

    def raise_any(self, *others: InputError) -> None:
        """Raises what was kept, and other faults of the file; nothing where there are none.

        Raises:
            InputError: the only fault.
            InputErrors: several faults.
        """
        faults = Faults()
        faults.errors += [*others, *self.errors()]
        faults.raise_any()


def strategy_names(document: Document) -> list[str]:
    """The names of the strategies of a file."""
    strategies = document.data.get("strategies")
    return list(strategies) if isinstance(strategies, Mapping) else []


def comparison_of(
    document: Document,
    default_name: str,
    base: Path | None,
    options: frozenset[str] = frozenset(),
) -> Comparison:
    """The strategies that a document describes.

    Args:
        document: With the key `strategies`.
        default_name: Its name where it gives none.
        base: The folder in which topology files are looked for first.
        options: Keys that the command line says instead of the file.

    Raises:
        InputError: one thing is wrong.
        InputErrors: several things are.
    """
    _check_strategies(document)
    names = strategy_names(document)
    places = {name: document.key_place("strategies", name) for name in names}
    told = StrategyFaults(places, document.key_place())
    others = _useless(document, names, options)
    alone = {name: told.attempt(name, partial(_alone, document, name)) for name in names}
    readable = [part[1] for part in alone.values() if part is not None and part[1] is not None]
    if len(readable) == len(names):
        others += _used_by_none(document, readable)
    made = []
    for name, part in alone.items():
        if part is None:
            continue
        default = _default_name(document, default_name, name)
        read = told.attempt(name, partial(scenario_of, part[0], default, base, StrategyForm))
        if read is not None:
            note = part[0].data.get("note", "")
            made.append(Strategy(name, note, read, places[name]))
    told.raise_any(*others)
    title = document.data.get("name") or default_name
    return Comparison(str(title), tuple(made))


def one_strategy(document: Document, strategy: str, default_name: str) -> tuple[Document, str]:
    """The document of one strategy by itself, without names that it does not use; and its name.

    Raises:
        InputError: there is no such strategy, or the strategies are of another form.
    """
    _check_strategies(document)
    names = strategy_names(document)
    if strategy not in names:
        why = f"there is no strategy {strategy!r}; the file has {', '.join(names)}"
        hint = nearest(strategy, names) or "name one of them"
        raise ScenarioError(why, hint, document.key_place("strategies"))
    return _alone(document, strategy)[0], _default_name(document, default_name, strategy)


def _default_name(document: Document, default_name: str, strategy: str) -> str:
    """The name of a strategy as a scenario: that of the file, and its own."""
    return f"{document.data.get('name') or default_name}: {strategy}"


def _check_strategies(document: Document) -> None:
    """Refuses strategies that are no named mappings.

    Raises:
        InputError: one thing is wrong.
        InputErrors: several are.
    """
    strategies = document.data["strategies"]
    if not isinstance(strategies, dict) or not strategies:
        found = "an empty one" if strategies == {} else described(strategies)
        why = f"strategies must be a mapping of names to what each says, not {found}"
        raise ScenarioError(why, f"write it as {EXAMPLE}", document.place("strategies"))
    faults = Faults()
    for name, own in strategies.items():
        place = document.key_place("strategies", name)
        if not name.strip() or "\n" in name or len(name) > LONGEST_NAME:
            why = f"the name of a strategy is one line of 1 to {LONGEST_NAME} characters"
            found = f"it is {described(name)}"
            faults.errors.append(ScenarioError(f"{why}; {found}", "give a short name", place))
        if not isinstance(own, dict):
            why = f"strategy {name} must be a mapping such as {{policy: cheapest}}, not "
            hint = "write {} where it is the rest of the file as it stands"
            place = document.place("strategies", name)
            faults.errors.append(ScenarioError(why + described(own), hint, place))
            continue
        for key, hint in (
            ("name", "its key is its name; remove it"),
            ("strategies", "write all strategies beside each other"),
        ):
            if key in own:
                place = document.key_place("strategies", name, key)
                why = f"strategy {name} has a key {key!r}"
                faults.errors.append(ScenarioError(why, hint, place))
    faults.raise_any()


def _useless(document: Document, names: list[str], options: frozenset[str]) -> list[InputError]:
    """Options beside the file that would change nothing."""
    strategies = document.data["strategies"]
    return [
        ScenarioError(
            f"--{key.replace('_', '-')} would change nothing: each strategy sets {key} itself",
            "leave it out, or change the file",
            document.place(key),
        )
        for key in sorted(options.difference(MERGED))
        if all(key in strategies[name] for name in names)
    ]


_Used = tuple[frozenset[str], frozenset[str]]


def _alone(document: Document, strategy: str) -> tuple[Document, _Used | None]:
    """A strategy's document, without names of the base's that its program does not have.

    With it the dimensions and the arrays that the program has; None where it cannot be read.
    """
    part = merged(document, strategy)
    if isinstance(part.data.get("name"), str):  # that of the file, which is part of the default
        part = replace(part, data={key: v for key, v in part.data.items() if key != "name"})
    if not part.has("program"):
        return part, None
    try:
        arrays = [array for s in statements_of(part) for array in arrays_of(s)]
    except (InputError, InputErrors):
        return part, None  # told when the scenario is read
    dims = frozenset(name for array in arrays for name in array.dim_names)
    names = frozenset(array.name for array in arrays if array.name)
    part = base_without(document, part, strategy, "dims", dims)
    part = base_without(document, part, strategy, "dtype", names | {"default"})
    return part, (dims, names)


def _used_by_none(document: Document, readable: list[_Used]) -> list[InputError]:
    """Names of the base's `dims` and `dtype` that no strategy has."""
    faults: list[InputError] = []
    for index, key in enumerate(MERGED):
        base = named(document, key)
        said = base.data.get(key)
        if not isinstance(said, dict):
            continue
        used = sorted(frozenset[str]().union(*(each[index] for each in readable)))
        for name in said:
            if name in used or (key == "dtype" and name == "default"):
                continue
            what = "a dimension" if key == "dims" else "an array"
            why = f"{key} names {name!r}, which is {what} of no strategy; they have "
            hint = nearest(name, used) or "remove it"
            place = base.key_place(key, name)
            faults.append(ShardingError(why + ", ".join(used), hint, place))
    return faults
