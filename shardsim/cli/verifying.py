"""The command `verify`: the laws on a machine, or on all that come with the package."""

from __future__ import annotations

from typing import Annotated

import typer

from shardsim.cli.options import DevicesOption, JsonOption, LayoutOption, MeshOption
from shardsim.cli.output import EXPECTATION_FAILED, print_json, print_report, status

__all__ = ["verify"]


def verify(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|CHIP:SHAPE]",
            help="A topology, or a scenario file; all shipped topologies by default.",
        ),
    ] = None,
    *,
    mesh: MeshOption = None,
    layout: LayoutOption = None,
    devices: DevicesOption = None,
    cases: Annotated[
        int, typer.Option(min=1, max=10_000, help="Random cases of each check.", metavar="N")
    ] = 100,
    seed: Annotated[int, typer.Option(help="What they are drawn with.", metavar="N")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Check a machine: simulated times against closed forms, guidelines, bytes, real numbers.

    Exit 1 where a law does not hold, with the smallest counterexample found.
    """
    from shardsim.catalogue import names_of
    from shardsim.errors import ScenarioError
    from shardsim.verification import find_machine, verify_machine

    if what is None and (mesh, layout, devices) != (None, None, None):
        why = "--mesh, --layout and --devices are for one topology; none is named"
        raise ScenarioError(why, "name it: shardsim verify v5e:4x4 --mesh X=4,Y=4")
    names = names_of("topologies") if what is None else [what]
    machines = [find_machine(name, mesh, layout, devices) for name in names]
    with status() as note:
        found = [verify_machine(one, cases=cases, seed=seed, progress=note) for one in machines]
    passed = all(one.passed for one in found)
    if as_json and what is None:
        all_found = [one.to_dict() for one in found]
        print_json({"format": "shardsim/verify/1", "topologies": all_found, "passed": passed})
    elif as_json:
        print_json(found[0].to_dict())
    else:
        from shardsim.report.verification import summary_report, verification_report

        one = verification_report(found[0], machines[0].note)
        print_report(summary_report(found) if what is None else one)
    if not passed:
        raise typer.Exit(EXPECTATION_FAILED)
