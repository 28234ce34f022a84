"""Rooflines from texts, as on the command line, or from Python values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shardsim.documents import described, nearest
from shardsim.errors import InputError, ScenarioError
from shardsim.notation import Statement, parse
from shardsim.program import arrays_of
from shardsim.rooflines.answer import Answer
from shardsim.rooflines.bounds import Roofline
from shardsim.rooflines.clock import Clock
from shardsim.rooflines.explicit import ask_explicit
from shardsim.rooflines.load import load_of
from shardsim.rooflines.machines import machine_of, place_in
from shardsim.scenario import cost_model, make_scenario, plan_program
from shardsim.scenario.pairs import extents_of
from shardsim.vocabulary import ChannelKind

if TYPE_CHECKING:
    from shardsim.catalogue import Reference
    from shardsim.planner import Plan
    from shardsim.topology import Topology

    Statements = str | Statement | Sequence[str | Statement]
    Dims = Mapping[str, int] | str

__all__ = ["ask_roofline", "ask_rooflines"]


SETTINGS = (
    "mesh",
    "layout",
    "devices",
    "policy",
    "objective",
    "idle_axes",
    "uneven",
    "algorithm",
    "schedule",
    "chunks",
    "latency_model",
    "efficiency",
    "launch_overhead",
)
OWN_SETTINGS = (
    *("on", "figures", "dims", "dtype", "flops", "moved", "through", "fused", "solve", "small"),
)
MEANT = {
    "bytes": "did you mean moved, in bytes?",
    "topology": "did you mean on?",
    "overlap": "a roofline says what overlap could give at best: see its lower bound",
}
LONG = 1024
"""Extents that nobody gave, while one is solved for, in chips of the machine."""
ROUNDS = 4


def ask_roofline(
    what: Statements | None = None,
    *,
    on: Reference,
    figures: Mapping[str, Any] | str | Sequence[str] | None = None,
    dims: Dims | None = None,
    dtype: str | Mapping[str, str] | None = None,
    flops: float | str | Fraction | None = None,
    moved: float | str | Fraction | None = None,
    through: str = "hbm",
    fused: bool = False,
    solve: str | None = None,
    small: Sequence[str] | str | None = None,
    **settings: Any,
) -> Answer:
    """The roofline of statements, or of so many FLOPs and bytes, on one machine.

    Args:
        what: Lines of the notation; or nothing, with `flops` and `moved`.
        on: A chip (`v5e`), a slice (`v5e:4x4`), a topology file or the same as a mapping.
        figures: Figures that stand in for those of the catalogue: `hbm_bandwidth=810 GB/s`.
        dims: The extents; one that is solved for may be left out.
        dtype: Element types, as in a scenario.
        flops: Without statements: how many, a number or `1 TFLOP`.
        moved: Without statements: bytes, a number or `2 GB`.
        through: By which channel operands come: `hbm`, `vmem`, `pcie`, ...
        fused: What one statement makes for another stays on the chip.
        solve: The dimension for which it is found where computing takes as long as each channel.
        small: Dimensions that the approximation takes for small; `solve` by default.
        settings: `mesh`, `layout`, `devices`, `policy` (here `textbook` by default), `objective`,
            `idle_axes`, `uneven`, `algorithm`, `schedule`, `chunks`, `latency_model`, `efficiency`,
            `launch_overhead`: as in a scenario.

    Raises:
        InputError: one thing is wrong.
        InputErrors: several are.

    >>> found = ask_roofline("X[B, D] · W[D, F] -> Y[B, F]", on="v5e", dims="D=4096,F=4096",
    ...                      solve="B")
    >>> [(round(float(one.approximate), 1), round(float(one.exact), 1)) for one in found.solved]
    [(240.2, 272.2)]
    """
    for name in settings:
        if name not in SETTINGS:
            known = (*OWN_SETTINGS, *SETTINGS)
            why = f"unknown setting {name}; known: {', '.join(known)}"
            raise ScenarioError(why, MEANT.get(name) or nearest(name, known) or "leave it out")
    _check_kinds(what, fused, solve, small)
    channel = _channel(through)
    if what is None or (isinstance(what, list | tuple) and not what):
        needless = {
            **settings,
            "solve": solve,
            "dims": dims,
            "small": small,
            "fused": fused or None,
        }
        return ask_explicit(machine_of(on, figures), dtype, (flops, moved), channel, needless)
    for name, value in (("flops", flops), ("bytes", moved)):
        if value is not None:
            raise ScenarioError(
                f"--{name} is for a load without a statement; this one has a statement",
                f"leave --{name} out, or the statement",
            )
    lines = [what] if isinstance(what, str | Statement) else list(what)
    statements = [line if isinstance(line, Statement) else parse(line) for line in lines]
    topology = machine_of(on, figures)
    given = extents_of(dims)
    used = dict.fromkeys(d for s in statements for a in arrays_of(s) for d in a.dim_names)
    _check_dims(given, used, solve, small)
    missing = tuple(dim for dim in used if dim not in given and dim != solve)
    if missing and solve is None:
        example = ",".join(f"{dim}=8192" for dim in missing)
        raise ScenarioError(
            f"{', '.join(missing)} {'has' if len(missing) == 1 else 'have'} no extent",
            f"add --dims {example}, or --solve for one of them",
        )
    asked = _Asked(
        statements=statements,
        topology=topology,
        dtype=dtype,
        channel=channel,
        fused=fused,
        small=None if small is None else tuple(_names(small)),
        settings={"policy": "textbook", **settings},
    )
    if solve is None:
        roofline, cuts = asked.at(given)
        return Answer(roofline=roofline, cuts=cuts)
    return _solved(asked, used, given, missing, solve)


def ask_rooflines(
    what: Statements | None = None,
    *,
    on: Iterable[Reference],
    dims: Iterable[Dims | None] = (None,),
    dtypes: Iterable[str | Mapping[str, str] | None] = (None,),
    **settings: Any,
) -> tuple[Answer, ...]:
    """One roofline for each machine, each of the extents and each of the types; see `ask_roofline`.

    >>> found = ask_rooflines("X[B, D] · W[D, F] -> Y[B, F]", on=["v5e", "h100"], solve="B")
    >>> [round(float(one.solved[0].approximate)) for one in found]
    [240, 295]
    """
    return tuple(
        ask_roofline(what, on=machine, dims=extents, dtype=dtype, **settings)
        for machine, extents, dtype in itertools.product(on, list(dims), list(dtypes))
    )


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """All but the extents."""

    statements: list[Statement]
    topology: Topology
    dtype: str | Mapping[str, str] | None
    channel: ChannelKind
    fused: bool
    small: tuple[str, ...] | None
    settings: Mapping[str, Any]

    def at(self, extents: Mapping[str, int]) -> tuple[Roofline, dict[str, int]]:
        """The roofline, and into how many blocks each dimension is cut."""
        scenario = make_scenario(
            self.statements,
            topology=self.topology,
            dims=extents,
            dtype=self.dtype,
            **self.settings,
        )
        plan = plan_program(scenario.program, scenario.options)
        clock = Clock(self.topology, cost_model(scenario.options), self.channel)
        roofline = Roofline(
            text="; ".join(map(str, self.statements)),
            load=load_of(plan, fused=self.fused),
            clock=clock,
            extents=dict(scenario.program.extents),
            dtype=_said(scenario.program.dtypes.to_dict()),
        )
        return roofline, _cuts(plan)


def _solved(
    asked: _Asked,
    used: Iterable[str],
    given: Mapping[str, int],
    missing: tuple[str, ...],
    solve: str,
) -> Answer:
    """Solves, and plans again near what was found, until the plan stays as it is."""
    usual = asked.topology.size * LONG
    extents = {dim: given.get(dim, usual) for dim in used}
    roofline, cuts = asked.at(extents)
    solved = roofline.solve(solve, asked.small)
    if missing:
        longer, _ = asked.at({dim: e * (1 + (dim in missing)) for dim, e in extents.items()})
        again = longer.solve(solve, asked.small)
        solved = tuple(
            one._replace(
                exact=None,
                approximate=one.approximate if one.approximate == other.approximate else None,
            )
            for one, other in zip(solved, again, strict=True)
        )
        return Answer(
            roofline=roofline,
            solved=solved,
            cuts=cuts,
            missing=missing,
            solve=solve,
            small=asked.small,
        )
    found = False
    for _ in range(ROUNDS):
        if solve in given:
            break
        answer = Answer(roofline=roofline, solved=solved, cuts=cuts, solve=solve)
        highest = answer.highest
        if highest is None or highest.exact is None:
            break
        ways = cuts.get(solve, 1)
        extents[solve] = max(math.ceil(highest.exact / ways), 1) * ways
        before = [sent.step.text for sent in roofline.load.collectives]
        roofline, cuts = asked.at(extents)
        solved = roofline.solve(solve, asked.small)
        found = True
        if [sent.step.text for sent in roofline.load.collectives] == before:
            break
    return Answer(
        roofline=roofline,
        solved=solved,
        cuts=cuts,
        solve=solve,
        small=asked.small,
        at_solution=found,
    )


def _check_kinds(what: object, fused: object, solve: object, small: object) -> None:
    """Refuses values from Python of another kind than what is meant."""
    several = isinstance(small, list | tuple | None) and all(
        isinstance(s, str) for s in small or ()
    )
    found = [
        ("the notation", what, isinstance(what, str | Statement | list | tuple | None), "lines"),
        ("fused", fused, isinstance(fused, bool), "True or False"),
        ("solve", solve, isinstance(solve, str | None), "the name of a dimension"),
        ("small", small, isinstance(small, str) or several, "names of dimensions"),
    ]
    for name, value, good, meant in found:
        if not good:
            why = f"{name} must be {meant}; it is {described(value)}"
            raise ScenarioError(why, f"give {meant}, or leave it out")


def _channel(word: str) -> ChannelKind:
    try:
        return ChannelKind(str(word).lower())
    except ValueError:
        known = [kind.value for kind in ChannelKind]
        raise ScenarioError(
            f"there is no channel {word!r}; known: {', '.join(known)}",
            nearest(word, known) or "write one of them",
            place_in(word, "--through"),
        ) from None


def _names(words: Sequence[str] | str) -> list[str]:
    split = words.split(",") if isinstance(words, str) else words
    return [word.strip() for word in split if word.strip()]


def _check_dims(
    given: Mapping[str, int],
    used: Mapping[str, None],
    solve: str | None,
    small: Sequence[str] | str | None,
) -> None:
    """Names of dimensions that no statement has."""
    if solve is not None and not solve.strip():
        raise ScenarioError("--solve names no dimension", f"name one of {', '.join(used)}")
    asked = [("--solve", solve)] if solve is not None else []
    asked += [("--small", name) for name in _names(small or ())]
    asked += [("--dims", name) for name in given]
    for option, name in asked:
        if name not in used:
            error: InputError = ScenarioError(
                f"no statement has a dimension {name}; they have {', '.join(used)}",
                nearest(name, used) or "name one of them",
                place_in(name, option),
            )
            raise error
    if small is not None and solve is None:
        raise ScenarioError("--small is for --solve", "add --solve, or leave it out")


def _cuts(plan: Plan) -> dict[str, int]:
    """The most blocks that each dimension is cut into anywhere in a plan."""
    values = [value for _, value in plan.inputs] + [step.result for step in plan.steps]
    found: dict[str, int] = {}
    for sharded in (value.sharded for value in values):
        for dim in sharded.array.dims:
            found[dim.name] = max(found.get(dim.name, 1), sharded.ways(dim))
    return found


def _said(dtypes: Mapping[str, str]) -> str:
    others = [f"{name} {word}" for name, word in dtypes.items() if name != "default"]
    return ", ".join([dtypes["default"], *others])
