"""Every public name has a docstring, and the examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

import shardsim

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NAMES = ["shardsim"]
NAMES += sorted(
    info.name
    for info in pkgutil.walk_packages(shardsim.__path__, "shardsim.")
    if not info.name.endswith("__main__")
)


@pytest.mark.parametrize("name", NAMES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in ("shardsim", "shardsim.api", "shardsim.notation.statements", "shardsim.units"):
        tests = finder.find(importlib.import_module(name))
        assert any(test.examples for test in tests), name


def undocumented(module: ModuleType) -> list[str]:
    """The public functions, classes, methods and properties of a module without a docstring."""
    missing = [] if (module.__doc__ or "").strip() else [module.__name__]
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if not (value.__doc__ or "").strip():
            missing.append(name)
        if inspect.isclass(value) and value.__module__.startswith("shardsim"):
            missing += [
                f"{name}.{key}"
                for key, member in vars(value).items()
                if not key.startswith("_")
                and (inspect.isfunction(member) or isinstance(member, property | classmethod))
                and not (getattr(member, "__doc__", "") or "").strip()
            ]
    return missing


@pytest.mark.parametrize("name", NAMES)
def test_public_names_have_docstrings(name: str) -> None:
    assert undocumented(importlib.import_module(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_public_names_exist(name: str) -> None:
    module = importlib.import_module(name)
    assert [each for each in getattr(module, "__all__", []) if not hasattr(module, each)] == []


def test_a_missing_docstring_is_seen() -> None:
    module = ModuleType("shardsim_example", "Has a docstring.")
    exec(  # a module with one documented and two undocumented names
        "class C:\n    'Said.'\n    def m(self): pass\nC.__module__ = 'shardsim_example'\n"
        "def f(): pass\n__all__ = ['C', 'f']\n",
        vars(module),
    )
    assert undocumented(module) == ["C.m", "f"]
