"""A program bound to a machine: statements, the mesh they run on, extents and element types."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from shardsim.errors import InputErrors, MeshError, Place, ShardingError
from shardsim.notation import Array, Collective, Contraction, Reshard
from shardsim.notation.rules import place_of
from shardsim.sharding import ShardedArray, bind, check_arrays
from shardsim.vocabulary import (
    Algorithm,
    Dtype,
    Form,
    IdleAxes,
    LatencyModel,
    Objective,
    Overlap,
    Policy,
    Schedule,
    Uneven,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shardsim.errors import InputError
    from shardsim.mesh import Mesh
    from shardsim.notation import Statement

__all__ = ["Dtypes", "Options", "Padding", "Program", "arrays_of", "bind_program"]


@dataclass(frozen=True, slots=True)
class Dtypes:
    """The element type of each array: by name, else the default."""

    default: Dtype = Dtype.BF16
    by_name: tuple[tuple[str, Dtype], ...] = ()

    def of(self, array: Array) -> Dtype:
        """The type written in the notation, else the one given for the name, else the default."""
        return array.dtype or dict(self.by_name).get(array.name or "", self.default)

    def to_dict(self) -> dict[str, str]:
        """Array name to type, and `default`."""
        return {"default": self.default.value, **{n: dtype.value for n, dtype in self.by_name}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a program is planned and run.

    Attributes:
        overlap: How steps may overlap.
        form: How collectives and matmuls are done together; None: in the fastest form.
        prefetch: How many statements ahead inputs may be gathered; None: as far as there are any.
        compute_slowdown: A core takes so many times as long while its chip takes part in a
            collective.
        tile: The side of the matrix unit: matmuls are padded to multiples of it.
        latency_model: What a hop costs.
        algorithm: For all collectives; the default of each dimension's kind where it is None.
        schedule: For collectives over several rings, lines or switches; see `Schedule`.
        chunks: Into how many parts each collective is cut, one after the other; None: as fits.
        policy: Which plans are considered.
        objective: What the planner makes small.
        idle_axes: What it does with axes that no array of a statement names.
    """

    overlap: Overlap = Overlap.ASYNC
    form: Form | None = None
    prefetch: int | None = None
    compute_slowdown: Fraction = Fraction(1)
    tile: int = 1
    latency_model: LatencyModel = LatencyModel.ADDITIVE
    algorithm: Algorithm | None = None
    schedule: Schedule | None = None
    chunks: int | None = None
    policy: Policy = Policy.CHEAPEST
    objective: Objective = Objective.TIME
    idle_axes: IdleAxes = IdleAxes.LEAVE


@dataclass(frozen=True, slots=True)
class Padding:
    """A dimension that was made longer so that its axes divide it.

    Attributes:
        dim: The dimension.
        asked: Its extent as given.
        extent: Its extent with padding.
        ways: Into how many blocks it must be cut.
    """

    dim: str
    asked: int
    extent: int
    ways: int

    @property
    def waste(self) -> Fraction:
        """The share of the longer dimension that is padding.

        >>> Padding("I", 5, 8, 4).waste
        Fraction(3, 8)
        """
        return 1 - Fraction(self.asked, self.extent)

    def to_dict(self) -> dict[str, object]:
        """An entry of `padding` in the JSON."""
        named = {"dim": self.dim, "asked": self.asked, "extent": self.extent}
        return {**named, "waste": float(self.waste)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Statements in order; later ones use the results of earlier ones by name.

    Made by `bind_program`, which checks everything that needs the mesh or the extents. `repeat`:
    how often the first of them are repeated, all times in `statements`.
    """

    statements: tuple[Statement, ...]
    mesh: Mesh
    extents: tuple[tuple[str, int], ...]
    dtypes: Dtypes = field(default_factory=Dtypes)
    padding: tuple[Padding, ...] = ()
    repeat: int = 1

    @property
    def written(self) -> tuple[Statement, ...]:
        """The statements as they are written, without their repetitions."""
        return self.statements[: len(self.statements) // self.repeat]

    def bind(self, array: Array) -> ShardedArray:
        """An array of this program with its extents and type."""
        return bind(array, self.mesh, dict(self.extents), self.dtypes.of(array))


def arrays_of(statement: Statement) -> tuple[Array, ...]:
    """Operands, then the result.

    >>> from shardsim.notation import parse
    >>> [str(array) for array in arrays_of(parse("A[I, J] · B[J, K] -> C[I, K]"))]
    ['A[I, J]', 'B[J, K]', 'C[I, K]']
    """
    match statement:
        case Contraction(operands=operands, result=result):
            return (*operands, result)
        case Collective(operand=operand, result=result) | Reshard(operand=operand, result=result):
            return (operand, result)


def bind_program(
    statements: tuple[Statement, ...],
    mesh: Mesh,
    extents: Mapping[str, int],
    dtypes: Dtypes | None = None,
    place: Place | Mapping[str, Place] | None = None,
    *,
    uneven: Uneven = Uneven.ERROR,
    repeat: int = 1,
) -> Program:
    """Binds statements to a mesh and extents.

    Args:
        statements: At least one.
        mesh: Where they run.
        extents: Dimension name to global extent; every dimension needs one, and none may be unused.
        dtypes: Element types; bf16 by default.
        place: Where the extents stand, all together or each, for faults about them.
        uneven: What becomes of extents that their axes do not divide.
        repeat: How often the first statements are repeated in `statements`.

    Raises:
        ShardingError, MeshError, InputErrors: what does not fit, all faults at once.
    """
    given = dtypes or Dtypes()
    faults: list[InputError] = []
    padding = _padding(statements, mesh, extents) if uneven is Uneven.PAD else ()
    extents = {**extents, **{padded.dim: padded.extent for padded in padding}}
    for statement in statements:
        try:
            check_arrays(arrays_of(statement), mesh, extents, statement.source)
        except InputErrors as several:
            faults += several.errors
        except ValueError as error:
            faults.append(error)  # type: ignore[arg-type]  # check_arrays raises InputError only
    used = {dim.name: None for s in statements for array in arrays_of(s) for dim in array.dims}
    faults += _unused(used, extents, place)
    faults += _name_faults(statements)
    faults += _type_faults(statements, given)
    if faults:
        raise faults[0] if len(faults) == 1 else InputErrors(tuple(faults))
    return Program(
        statements=statements,
        mesh=mesh,
        extents=tuple(extents.items()),
        dtypes=given,
        padding=padding,
        repeat=repeat,
    )


def _padding(
    statements: tuple[Statement, ...], mesh: Mesh, extents: Mapping[str, int]
) -> tuple[Padding, ...]:
    """The dimensions that some array cuts unevenly, each made as long as all arrays need."""
    ways: dict[str, int] = {}
    for statement in statements:
        for array in arrays_of(statement):
            for dim in array.dims:
                try:
                    cut = mesh.ways(dim.axes)
                except MeshError:  # told where arrays are checked
                    continue
                ways[dim.name] = math.lcm(ways.get(dim.name, 1), cut)
    return tuple(
        Padding(name, extent, -(-extent // ways[name]) * ways[name], ways[name])
        for name, extent in extents.items()
        if name in ways and extent % ways[name]
    )


def _unused(
    used: Mapping[str, None],
    extents: Mapping[str, int],
    place: Place | Mapping[str, Place] | None,
) -> Iterator[InputError]:
    for name in extents:
        if name not in used:
            near = [n for n in used if n.lower() == name.lower()]
            near = near or difflib.get_close_matches(name, used, n=1)
            yield ShardingError(
                f"dimension {name} has an extent but is in no statement; "
                f"the statements have {', '.join(used) or 'none'}",
                f"did you mean {near[0]}?" if near else f"remove {name}",
                place if place is None or isinstance(place, Place) else place.get(name),
            )


def _type_faults(statements: tuple[Statement, ...], dtypes: Dtypes) -> Iterator[InputError]:
    """An element type in the notation must be the one given for the name."""
    by_name = dict(dtypes.by_name)
    for statement in statements:
        for array in arrays_of(statement):
            said = by_name.get(array.name or "")
            if said is not None and array.dtype not in {None, said}:
                yield ShardingError(
                    f"{array.name} is {array.dtype} in the notation, and {said} by dtype",
                    "say the element type in one place",
                    place_of(statement.source, array.span),
                )


def _name_faults(statements: tuple[Statement, ...]) -> Iterator[InputError]:
    """An array must keep its dimensions wherever its name stands."""
    seen: dict[str, Array] = {}
    for statement in statements:
        for array in arrays_of(statement):
            if array.name is None:
                continue
            first = seen.setdefault(array.name, array)
            if first.dim_names != array.dim_names:
                yield ShardingError(
                    f"{array.name} has the dimensions {', '.join(first.dim_names)} before, "
                    f"and {', '.join(array.dim_names)} here",
                    "use one order of dimensions for an array, or another name",
                    place_of(statement.source, array.span),
                )
