"""A sharding to look at, from texts as on the command line."""

from __future__ import annotations

from shardsim.dialects import Naming
from shardsim.documents.fields import dtype_of
from shardsim.errors import ScenarioError, Source
from shardsim.inspection.inspecting import Inspection, inspect_sharding
from shardsim.notation import parse_assignments
from shardsim.scenario import make_mesh

__all__ = ["asked_sharding"]


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
        raise ScenarioError("--topology is missing; a sharding needs it", "add --topology v5e:4x4")
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
