"""Statements in another notation, read on a mesh and written in the notation of scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shardsim.dialects import translate_expression
from shardsim.errors import ScenarioError, Source
from shardsim.notation import parse_assignments
from shardsim.scenario.machine import make_mesh
from shardsim.scenario.pairs import place_in

__all__ = ["translate_statements"]


def translate_statements(
    what: Sequence[str],
    *,
    source: str | None = None,
    einsum: str | None = None,
    topology: str | None = None,
    dims: str | None = None,
    **machine: str | None,
) -> tuple[list[str], str | None]:
    """The statements in the notation and the dims, also where they are in another notation.

    Args:
        what: The statements; one expression where there is a source.
        source: The other notation: one of `DIALECTS`.
        einsum: The dimensions of each array there.
        topology: The topology.
        dims: The extents, or those that the source does not say itself.
        machine: `mesh`, `layout` and `devices`, as for `make_mesh`.

    Raises:
        InputError: the options do not go together, or the expression cannot be read.

    >>> text = "f32[8,8@X] · f32[8@X,4] -> f32[8,4]"
    >>> translate_statements([text], source="types", topology="v5e:4")
    (['A: f32[I, J_X] · B: f32[J_X, K] -> C: f32[I, K]'], 'I=8,J=8,K=4')
    """
    if source is None:
        if einsum is not None:
            why = "--einsum is for another notation; this one names the dimensions itself"
            raise ScenarioError(why, "add --from jax, or leave --einsum out")
        return list(what), dims
    if topology is None:
        raise ScenarioError(
            f"--topology is missing; an expression in the notation of {source} needs it",
            "add --topology v5e:4x4",
        )
    if len(what) > 1:
        why = f"there are {len(what)} arguments; from another notation one expression is read"
        raise ScenarioError(why, "put it in quotes, as one argument")
    sizes = make_mesh(topology, **machine).sizes
    found = translate_expression(source, Source(what[0]), sizes, einsum)
    return [found.notation], _all_dims(found.extents, dims)


def _all_dims(said: Mapping[str, int], dims: str | None) -> str | None:
    """The extents that the expression says, and those that were given beside it."""
    given = Source(dims or "", origin="--dims")
    sizes = parse_assignments(given, "dimension") if dims else {}
    for name, extent in sizes.items():
        if said.get(name, extent) != extent:
            raise ScenarioError(
                f"dimension {name} is {said[name]} long in the text, and {extent} in the dims",
                "give its extent once",
                place_in(given, name),
            )
    more = [f"{name}={extent}" for name, extent in said.items() if name not in sizes]
    return ",".join([dims, *more] if dims else more) or None
