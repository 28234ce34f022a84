"""What the arguments of a command name: a scenario file or statements; what is missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from shardsim.cli.options import given

if TYPE_CHECKING:
    from shardsim.errors import ScenarioError
    from shardsim.scenario import Scenario

__all__ = ["asked_scenario", "missing", "refuse_arrows"]

YAML = (".yaml", ".yml")


def asked_scenario(
    what: list[str],
    *,
    strategy: str | None,
    source: str | None,
    einsum: str | None,
    **settings: str | None,
) -> Scenario:
    """A scenario from a file, or from statements and options.

    Args:
        what: The file, or the statements.
        strategy: Which strategy of the file.
        source: The notation of the statements, where they are in another.
        einsum: The dimensions of each array there.
        settings: The options; what was not given is None.

    Raises:
        InputError: one thing is wrong.
        InputErrors: several things are.
    """
    from shardsim.errors import ScenarioError
    from shardsim.scenario import load_scenario, make_scenario

    if source is not None or einsum is not None:
        from shardsim.scenario.translation import translate_statements

        machine = {name: settings[name] for name in ("topology", "mesh", "layout", "devices")}
        what, settings["dims"] = translate_statements(
            what, source=source, einsum=einsum, dims=settings["dims"], **machine
        )
    options = given(**settings)
    if _is_file(what, alone=not {"topology", "dims"}.issubset(options)):
        return load_scenario(what[0], strategy, **options)
    if strategy is not None:
        raise ScenarioError(
            "--strategy is for a scenario file with strategies, and this is notation",
            "leave it out, or name the file",
        )
    file = next((text for text in what if text.endswith(YAML)), None)
    if file is not None and len(what) > 1:
        raise ScenarioError(
            f"{len(what)} arguments, and one of them is the file {file}",
            "give one scenario file alone, or statements in the notation",
        )
    pair = next((text for text in what if re.fullmatch(r"[\w']+=\w+", text)), None)
    if pair is not None:
        raise ScenarioError(
            f"{pair} is no statement",
            "join the parts of an option with commas and no blanks: --dims I=8192,J=8192",
        )
    if not {"topology", "dims"}.issubset(options):
        dims = _example_dims(what)
        raise missing("dims", dims) if "topology" in options else missing("topology", "v5e:4x4")
    return make_scenario(what if len(what) > 1 else what[0], **options)


def refuse_arrows(arguments: list[str]) -> None:
    """Refuses an argument that begins with '->', which the parser of options takes for one.

    Raises:
        NotationError: there is one.
    """
    from shardsim.errors import NotationError, Source

    for text in arguments:
        if text.startswith("->"):
            raise NotationError(
                "a statement cannot begin with '->'",
                'put the whole statement into one pair of quotes: "A[I, J] · B[J, K] -> C[I, K]"',
                Source(text).place(0, 2),
            )


def missing(
    name: str,
    example: str,
    what: str = "a line of notation",
    otherwise: str = ", or name a scenario file instead of the notation",
) -> ScenarioError:
    """The fault of an option that was not given and is needed."""
    from shardsim.errors import ScenarioError

    return ScenarioError(
        f"--{name} is missing; {what} needs it", f"add --{name} {example}{otherwise}"
    )


def _example_dims(what: list[str]) -> str:
    """Extents for the dimensions of the statements, whose own faults come first."""
    from shardsim.notation import parse
    from shardsim.program import arrays_of

    arrays = [array for text in what for array in arrays_of(parse(text))]
    names = dict.fromkeys(name for array in arrays for name in array.dim_names)
    return ",".join(f"{name}=8192" for name in names)


def _is_file(what: list[str], *, alone: bool) -> bool:
    """One argument that is not notation: no bracket, and a YAML name or something on the disk.

    Where it stands alone, without the options that notation needs, it can only be a file.
    """
    from shardsim.scenario import is_shipped

    text = what[0]
    if len(what) > 1 or "[" in text or "\n" in text or not text.strip():
        return False
    try:
        return alone or text.endswith(YAML) or Path(text).exists() or is_shipped(text)
    except OSError:  # too long for a name
        return False
