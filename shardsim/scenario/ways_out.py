"""What the ways out of a fault would cost: an axis that an array uses twice may stay in one place.

`A[I_X, J] · B[J, K_X] -> C[I_X, K_X]` has no meaning; with C[I_X, K] or C[I, K_X] it has one, and
which is cheaper depends on the extents and the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardsim.errors import InputError, RepeatedAxisError
from shardsim.notation import parse
from shardsim.program import arrays_of, bind_program
from shardsim.scenario.planning import plan_program
from shardsim.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardsim.errors import Source
    from shardsim.mesh import Mesh
    from shardsim.program import Dtypes, Options
    from shardsim.vocabulary import Uneven

__all__ = ["with_prices"]


def with_prices(
    error: InputError,
    lines: Sequence[Source],
    mesh: Mesh,
    extents: Mapping[str, int],
    *,
    dtypes: Dtypes,
    uneven: Uneven,
    options: Options,
) -> InputError:
    """The same error; where its line can be planned either way, with the time of each.

    Args:
        error: A fault of one of the lines.
        lines: The lines of the program that are text.
        mesh: Where it would run.
        extents: Of its dimensions.
        dtypes: Of its arrays.
        uneven: What becomes of extents that their axes do not divide.
        options: How it would be planned.
    """
    if not isinstance(error, RepeatedAxisError) or error.place is None:
        return error
    line = next(
        (
            line
            for line in lines
            if (line.place(0).line, line.origin) == (error.place.line, error.place.origin)
        ),
        None,
    )
    if line is None:
        return error
    at = error.place.column - line.place(0).column
    start, end = line.text.rfind("[", 0, at + 1), line.text.find("]", at)
    if start < 0 or end < 0:
        return error
    said = []
    for way in error.ways_out:
        mended = line.text[:start] + way[way.index("[") : way.index("]")] + line.text[end:]
        try:
            statement = parse(mended)
            used = {name for array in arrays_of(statement) for name in array.dim_names}
            own = {name: extent for name, extent in extents.items() if name in used}
            program = bind_program((statement,), mesh, own, dtypes, uneven=uneven)
            plan = plan_program(program, options)
        except (InputError, ValueError):
            return error
        said.append(f"{way} ({format_seconds(plan.choices[-1].chosen.seconds)})")
    hint = f"choose {' or '.join(said)}, or take another axis for one use"
    return RepeatedAxisError(error.message, hint, error.place, error.ways_out)
