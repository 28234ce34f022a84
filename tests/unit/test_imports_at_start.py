"""What each command loads: `--help` and parsing are quick, planning needs no simulator."""

from __future__ import annotations

import pytest

from tests.command_line import process

LINE = "A[I, J_X] · B[J_X, K] -> C[I, K]"
MATMUL = "X[B, D] · W[D, F] -> Y[B, F]"
GATHER = ("AllGather_X A[I_X] -> A[I]", "--on", "ring-of-8", "--dims", "I=360")

HEAVY = ("simpy", "networkx", "numpy", "ruamel.yaml", "rich", "matplotlib")
LIST_MODULES = f"""
print(*[name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""
COMMAND = f"""
import sys
from shardsim.cli import main
sys.argv = ["shardsim", *sys.argv[1:]]
try:
    main()
finally:
    {LIST_MODULES.strip()}
"""


@pytest.mark.parametrize(
    ("arguments", "loaded"),
    [
        (("--help",), ""),
        (("--version",), ""),
        (("run", "--help"), ""),
        (("show", "v5e:4x4", "--json"), "ruamel.yaml"),
        (("show", "v5e:4x4"), "ruamel.yaml rich"),
        (("show", "A[I_X]", "--on", "v5e:4x4"), "ruamel.yaml rich"),
        (("show", "A[I_X]", "--on", "v5e:4x4", "--json"), "ruamel.yaml"),
        (("show", "chips", "--json"), "ruamel.yaml"),
        (("show", "v5e"), "ruamel.yaml rich"),
        (("roofline", "--help"), ""),
        (("roofline", MATMUL, "--on", "v5e", "--solve", "B"), "ruamel.yaml rich"),
        (("model", "llama-3-8b"), "ruamel.yaml rich"),
        (("book", "roofline"), "ruamel.yaml rich"),
        (("plan", *GATHER), "ruamel.yaml rich"),
        (("run", *GATHER, "--json"), "simpy ruamel.yaml"),
        (("run", *GATHER), "simpy ruamel.yaml rich"),
        (("collective", "AllGather", "--size", "1MB", "--on", "h100:8"), "simpy ruamel.yaml rich"),
    ],
)
def test_modules_that_a_command_loads(arguments: tuple[str, ...], loaded: str) -> None:
    result = process("-c", COMMAND, *arguments)
    assert (result.code, result.err) == (0, f"{loaded}\n")


def test_importing_and_parsing_load_nothing_heavy() -> None:
    code = f"import sys, shardsim\nshardsim.parse({LINE!r})\n{LIST_MODULES}"
    assert process("-c", code.replace("'numpy'", "'numpy', 'pydantic', 'typer'")).err == "\n"
