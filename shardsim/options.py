"""Shardings and expressions as the command line gives them: texts, and options that are texts."""

from __future__ import annotations

from collections.abc import Sequence

from shardsim.dialects import Naming, translate_expression
from shardsim.documents.fields import dtype_of
from shardsim.errors import ScenarioError, Source
from shardsim.inspection import Inspection, inspect_sharding
from shardsim.notation import parse_assignments
from shardsim.scenario import make_mesh

__all__ = ["asked_sharding", "asked_statements"]


def asked_statements(
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
        dims: The extents; a source that says them itself needs none.
        machine: `mesh`, `layout` and `devices`, as for `make_mesh`.

    Raises:
        InputError: the options do not go together, or the expression cannot be read.

    >>> asked_statements(["f32[8,8@X] · f32[8@X,4] -> f32[8,4]"], source="types", topology="v5e:4")
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
    said = ",".join(f"{name}={extent}" for name, extent in found.extents.items())
    return [found.notation], dims or said or None


def asked_sharding(
    what: str,
    *,
    topology: str | None = None,
    source: str | None = None,
    names: str | None = None,
    dims: str | None = None,
    dtype: str | None = None,
    **machine: str | None,
) -> Inspection:
    """A sharding on a mesh.

    Args:
        what: An array in the notation, or in that of `source`.
        topology: The topology.
        source: The other notation: one of `DIALECTS`.
        names: The names of the dimensions there: "B,D".
        dims: The extents: "B=8,D=64".
        dtype: The element type.
        machine: `mesh`, `layout` and `devices`, as for `make_mesh`.

    Raises:
        InputError: the options do not go together, or the sharding is none on this mesh.

    >>> str(asked_sharding("P('X')", topology="v5e:4", source="jax", names="B,D").array)
    'A[B_X, D]'
    """
    if topology is None:
        raise ScenarioError("--on is missing; a sharding needs it", "add --on v5e:4x4")
    if names is not None and source is None:
        why = "--names is for another notation; this one names the dimensions itself"
        raise ScenarioError(why, "add --from jax, or leave --names out")
    mesh = make_mesh(topology, **machine)
    given = None if names is None else tuple(name.strip() for name in names.split(","))
    return inspect_sharding(
        Source(what, origin="sharding"),
        mesh.sizes,
        machine=mesh.topology.name,
        dialect=source,
        naming=Naming("A", given),
        extents=None if dims is None else parse_assignments(Source(dims, "dims"), "dimension"),
        dtype=None if dtype is None else dtype_of(dtype),
    )
