"""What each chip holds of a sharded array: shapes, blocks, bytes, copies, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shardsim.errors import InputErrors, MeshError, Place, ShardingError
from shardsim.mesh import Mesh
from shardsim.notation import Array, parse
from shardsim.program import Dtypes, bind_program
from shardsim.sharding import ShardedArray, bind, check_arrays
from shardsim.vocabulary import Dtype
from tests.machines import machine, mesh_of

MESH = mesh_of(machine((2, "line"), (3, "ring"), (1, "line")))  # X=2, Y=3, Z=1
EXTENTS = {"I": 12, "J": 6, "K": 5}


def array(text: str) -> Array:
    """The array of that notation, taken from an outer product."""
    inside = text[text.index("[") + 1 : text.index("]")]
    dims = [part.split("_")[0].strip() for part in inside.split(",")]
    (operand, _) = parse(f"{text} · R[R] -> S[{', '.join(dims)}, R]").operands  # type: ignore[union-attr]
    return operand


def bound(text: str, mesh: Mesh = MESH, dtype: Dtype = Dtype.BF16) -> ShardedArray:
    return bind(array(text), mesh, EXTENTS, dtype)


SHAPES = [
    # array, local shape, bytes on one chip (2 an element), copies of each element on 6 chips
    ("A[I, J]", (12, 6), 144, 6),
    ("A[I_X, J]", (6, 6), 72, 3),
    ("A[I, J_Y]", (12, 2), 48, 2),
    ("A[I_X, J_Y]", (6, 2), 24, 1),
    ("A[I_XY, J]", (2, 6), 24, 1),
    ("A[I_YX, J]", (2, 6), 24, 1),
    ("A[I_Z, J]", (12, 6), 144, 6),
    ("A[I_XZY, J]", (2, 6), 24, 1),
    ("A[K]", (5,), 10, 6),
    # partial sums have the array's size, and count as copies
    ("A[I, J]{U_X}", (12, 6), 144, 6),
    ("A[I_X, J]{U_Y}", (6, 6), 72, 3),
    ("int8[I_X, K]", (6, 5), 30, 3),
    ("int4[I_XY, K]", (2, 5), 5, 1),
    # 5 elements of half a byte
    ("int4[K]", (5,), Fraction(5, 2), 6),
]


@pytest.mark.parametrize(("text", "shape", "size", "copies"), SHAPES)
def test_what_a_chip_holds(text: str, shape: tuple[int, ...], size: Fraction, copies: int) -> None:
    sharded = bound(text)
    assert sharded.local_shape == shape
    assert sharded.local_bytes == size
    assert sharded.replication == copies


def test_bytes_of_one_copy() -> None:
    assert bound("A[I_X, J]").global_bytes == 12 * 6 * 2
    assert bound("f32[I_X, J]").global_bytes == 12 * 6 * 4


# The chips are (x, y, 0); I has 12 rows. In I_XY block x * 3 + y starts at 2 (3x + y); in I_YX
# block y * 2 + x starts at 2 (2y + x).
ROWS_XY = {(0, 0): 0, (0, 1): 2, (0, 2): 4, (1, 0): 6, (1, 1): 8, (1, 2): 10}
ROWS_YX = {(0, 0): 0, (1, 0): 2, (0, 1): 4, (1, 1): 6, (0, 2): 8, (1, 2): 10}


@pytest.mark.parametrize(("text", "starts"), [("A[I_XY, J]", ROWS_XY), ("A[I_YX, J]", ROWS_YX)])
def test_two_axes_on_a_dimension_are_ordered(text: str, starts: dict[tuple[int, int], int]) -> None:
    sharded = bound(text)
    found = {(x, y): sharded.block((x, y, 0)) for x, y in starts}
    assert found == {chip: (slice(start, start + 2), slice(0, 6)) for chip, start in starts.items()}


def test_blocks_over_two_dimensions() -> None:
    sharded = bound("A[J_Y, I_X]")
    assert sharded.block((1, 2, 0)) == (slice(4, 6), slice(6, 12))
    assert sharded.block((0, 0, 0)) == (slice(0, 2), slice(0, 6))


def test_the_same_values_under_another_sharding() -> None:
    moved = bound("int8[I_X, J]").moved_to(array("int8[I, J_X]"))
    assert moved.local_shape == (12, 3)
    assert moved.dtype is Dtype.INT8


def test_the_notation_s_dtype_goes_before_the_default() -> None:
    assert bound("f32[I]").dtype is Dtype.F32
    assert bound("A[I]", dtype=Dtype.INT8).dtype is Dtype.INT8


def test_the_dtype_of_a_name() -> None:
    dtypes = Dtypes(Dtype.BF16, (("A", Dtype.INT8),))
    program = bind_program((parse("A[I, J] · f32[J, K] -> C[I, K]"),), MESH, EXTENTS, dtypes)
    (statement,) = program.statements
    found = [program.bind(part).dtype.value for part in (*statement.operands, statement.result)]  # type: ignore[union-attr]
    assert found == ["int8", "f32", "bf16"]


# what is refused

UNEVEN = [
    (
        "A[K_X]",
        "dimension K of extent 5 is not divisible over axis X=2",
        "use an extent that is a multiple of 2, such as 4 or 6, "
        "or let it be padded to 6 (uneven: pad): 1 of 6 would be waste",
    ),
    (
        "A[K_XY]",
        "dimension K of extent 5 is not divisible over axes X=2 x Y=3 = 6",
        "use an extent that is a multiple of 6, such as 6, "
        "or let it be padded to 6 (uneven: pad): 1 of 6 would be waste",
    ),
    (
        "A[I, K_Y]",
        "dimension K of extent 5 is not divisible over axis Y=3",
        "use an extent that is a multiple of 3, such as 3 or 6, "
        "or let it be padded to 6 (uneven: pad): 1 of 6 would be waste",
    ),
]


@pytest.mark.parametrize(("text", "message", "hint"), UNEVEN)
def test_uneven_extents(text: str, message: str, hint: str) -> None:
    with pytest.raises(ShardingError) as caught:
        bound(text)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert caught.value.place is None


def test_a_fault_stands_at_its_dimension() -> None:
    statement = parse("A[I, J] · B[J, K_X] -> C[I, K]")
    with pytest.raises(ShardingError) as caught:
        check_arrays((statement.operands[1],), MESH, EXTENTS, statement.source)  # type: ignore[union-attr]
    assert str(caught.value) == (
        "dimension K of extent 5 is not divisible over axis X=2\n"
        "  --> expression:1:16\n"
        "    | A[I, J] · B[J, K_X] -> C[I, K]\n"
        "    |                ^^^\n"
        "  help: use an extent that is a multiple of 2, such as 4 or 6, or let it be padded to 6 "
        "(uneven:\n"
        "        pad): 1 of 6 would be waste"
    )


def test_all_faults_of_an_array_at_once() -> None:
    with pytest.raises(InputErrors) as caught:
        bound("A[I_W, K_X, Q]{U_V}")
    assert [(type(e), e.message) for e in caught.value.errors] == [
        (MeshError, "axis V is not in the mesh; the mesh has X, Y, Z"),
        (MeshError, "axis W is not in the mesh; the mesh has X, Y, Z"),
        (ShardingError, "dimension K of extent 5 is not divisible over axis X=2"),
        (ShardingError, "dimension Q has no extent"),
    ]
    assert caught.value.errors[-1].hint == "give it one: Q=8192"


def test_the_same_fault_of_several_arrays_is_told_once() -> None:
    arrays = [array("A[I_W, K_X]"), array("B[K_X]"), array("C[J_Y]")]
    with pytest.raises(InputErrors) as caught:
        check_arrays(arrays, MESH, EXTENTS, None)
    assert [error.message for error in caught.value.errors] == [
        "axis W is not in the mesh; the mesh has X, Y, Z",
        "dimension K of extent 5 is not divisible over axis X=2",
    ]


def test_an_array_of_more_than_1e30_elements() -> None:
    extents = {"I": 10**15, "J": 10**15, "K": 10}
    mesh = mesh_of(machine((1, "line")))
    assert bind(array("A[I, J]"), mesh, extents, Dtype.INT8).local_bytes == 10**30
    with pytest.raises(ShardingError) as caught:
        bind(array("A[I, J, K]"), mesh, extents, Dtype.INT8)
    assert caught.value.message == "A[I, J, K] has more than 1e30 elements"
    assert caught.value.hint == "make an extent smaller"


def test_arrays_without_a_fault() -> None:
    check_arrays([array("A[I_XY, J]"), array("B[J_Y]{U_X}")], MESH, EXTENTS, None)


# extents and names in programs

PROGRAM_FAULTS = [
    (
        ["A[I, J] · B[J, K] -> C[I, K]"],
        {**EXTENTS, "KK": 3},
        ["dimension KK has an extent but is in no statement; the statements have I, J, K"],
        ["did you mean K?"],
    ),
    (
        ["A[I, J] · B[J, K] -> C[I, K]"],
        {**EXTENTS, "Seq": 3},
        ["dimension Seq has an extent but is in no statement; the statements have I, J, K"],
        ["remove Seq"],
    ),
    (
        ["A[I, J] · B[J, K] -> C[I, K]", "C[K, I] · D[I, J] -> E[K, J]"],
        EXTENTS,
        ["C has the dimensions I, K before, and K, I here"],
        ["use one order of dimensions for an array, or another name"],
    ),
    # faults of several statements, together
    (
        ["A[I, J_W] · B[J, K_X] -> C[I, K]", "AllGather_V C[I_V, K] -> C[I, K]"],
        EXTENTS,
        [
            "axis W is not in the mesh; the mesh has X, Y, Z",
            "dimension K of extent 5 is not divisible over axis X=2",
            "axis V is not in the mesh; the mesh has X, Y, Z",
        ],
        ["add W=SIZE to the mesh", UNEVEN[0][2], "add V=SIZE to the mesh"],
    ),
]


@pytest.mark.parametrize(
    ("lines", "extents", "messages", "hints"), PROGRAM_FAULTS, ids=range(len(PROGRAM_FAULTS))
)
def test_programs_that_do_not_fit(
    lines: list[str], extents: dict[str, int], messages: list[str], hints: list[str]
) -> None:
    with pytest.raises((ShardingError, InputErrors)) as caught:
        bind_program(tuple(map(parse, lines)), MESH, extents)
    error = caught.value
    errors = error.errors if isinstance(error, InputErrors) else (error,)
    assert [found.message for found in errors] == messages
    assert [found.hint for found in errors] == hints


def test_where_an_extent_stands() -> None:
    statement = parse("A[I, J] · B[J, K] -> C[I, K]")
    here, there = Place("run.yaml", 4, 3, "dims: ..."), Place("run.yaml", 5, 3, "  KK: 3")
    for given, expected in ((here, here), ({"KK": there}, there), ({}, None), (None, None)):
        with pytest.raises(ShardingError) as caught:
            bind_program((statement,), MESH, {**EXTENTS, "KK": 3}, place=given)
        assert caught.value.place is expected
