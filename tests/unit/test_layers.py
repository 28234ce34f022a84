"""The layers: which module may import which, and where each third-party package is used.

Imports are read from the source, those inside functions and under TYPE_CHECKING too.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import shardsim

PACKAGE = Path(shardsim.__file__).parent
LAYERS = [
    {"errors", "units", "vocabulary", "files"},
    {"notation", "hardware", "timeline", "matmul"},
    {"topology", "mesh", "sharding", "call", "placement", "dialects"},
    {"cost", "collectives"},
    {"program", "planner", "overlap"},
    {"engine", "oracle"},
    {"documents", "catalogue", "scenario", "comparison", "verification", "inspection"}
    | {"rooflines", "model", "book"},
    {"report", "perfetto", "plot"},
    {"cli", "api", "__init__", "__main__"},
]
FORBIDDEN = {
    ("cost", "collectives"): "closed forms know no hops",
    ("collectives", "cost"): "hop programs know no formulas",
    ("engine", "cost"): "the simulation is derived without the closed forms",
    ("oracle", "cost"): "the numbers need no prices",
}
THIRD_PARTY = {
    "networkx": {"topology"},
    "simpy": {"engine"},
    "numpy": {"oracle"},
    "pydantic": LAYERS[6],
    "pydantic_core": LAYERS[6],  # pydantic's own other half
    "ruamel": LAYERS[6],
    "rich": {"report", "cli"},
    "matplotlib": {"plot"},
    "typer": {"cli"},
}
LAYER = {name: number for number, names in enumerate(LAYERS) for name in names}


def files() -> dict[str, list[Path]]:
    """The modules just under the package, each with its files."""
    found: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        first = path.relative_to(PACKAGE).parts[0]
        found.setdefault(first.removesuffix(".py"), []).append(path)
    return found


FILES = files()


def imports(text: str) -> list[tuple[int, str]]:
    """Line and full name of each import; `from shardsim import x` counts as `shardsim.x`."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            if base == "shardsim":
                found += [(node.lineno, f"shardsim.{alias.name}") for alias in node.names]
            else:
                found.append((node.lineno, base))
    return found


def faults(module: str, text: str) -> list[str]:
    """What is wrong with the imports of a text in that module."""
    found = []
    for line, name in imports(text):
        package, *rest = name.split(".")
        if package == "shardsim":
            other = rest[0] if rest and rest[0] in LAYER else "__init__"
            if (module, other) in FORBIDDEN:
                found.append(f"{line}: {module} imports {other}: {FORBIDDEN[module, other]}")
            elif LAYER[other] > LAYER[module]:
                found.append(f"{line}: {module} imports {other}, which is of a higher layer")
        elif package in THIRD_PARTY:
            if module not in THIRD_PARTY[package]:
                found.append(f"{line}: {module} imports {package}")
        elif package not in sys.stdlib_module_names:
            found.append(f"{line}: {module} imports {name}, which is not in the table")
    return found


def test_every_module_is_in_the_table() -> None:
    assert set(FILES) == set(LAYER)


@pytest.mark.parametrize("module", sorted(LAYER))
def test_imports_of_a_module(module: str) -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{fault}"
        for path in FILES[module]
        for fault in faults(module, path.read_text(encoding="utf-8"))
    ]
    assert wrong == []


class _Runtime(ast.NodeTransformer):
    """Leaves out what stands under TYPE_CHECKING."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        return node.orelse if ast.unparse(node.test) == "TYPE_CHECKING" else node


def test_the_planner_is_handed_the_costs() -> None:
    """It names the closed forms in annotations only; whoever calls it chooses them."""
    for path in FILES["planner"]:
        tree = _Runtime().visit(ast.parse(path.read_text(encoding="utf-8")))
        names = [name for _, name in imports(ast.unparse(tree))]
        assert not [name for name in names if name.startswith("shardsim.cost")], path.name


def test_every_package_of_the_table_is_used() -> None:
    used = {
        name.split(".")[0]
        for paths in FILES.values()
        for path in paths
        for _, name in imports(path.read_text(encoding="utf-8"))
    }
    assert set(THIRD_PARTY) <= used


WRONG = [
    ("cost", "from shardsim.collectives import Send", "cost imports collectives: "),
    ("engine", "def f():\n    from shardsim.cost.exact import all_gather", "engine imports cost: "),
    ("units", "from shardsim import mesh", "units imports mesh, which is of a higher layer"),
    ("mesh", "if TYPE_CHECKING:\n    import shardsim.planner", "mesh imports planner, "),
    ("mesh", "from shardsim import parse", "mesh imports __init__, which is of a higher layer"),
    ("call", "from shardsim.cost import Terms", "call imports cost, which is of a higher layer"),
    ("call", "from shardsim.collectives import Send", "call imports collectives, which is of a"),
    ("planner", "import numpy.typing as npt", "planner imports numpy"),
    ("report", "import requests", "report imports requests, which is not in the table"),
    ("mesh", "from .topology import Topology", "mesh imports .topology, which is not in the"),
]


@pytest.mark.parametrize(("module", "text", "fault"), WRONG)
def test_a_wrong_import_is_seen(module: str, text: str, fault: str) -> None:
    (found,) = faults(module, text)
    assert fault in found
