"""Other notations: known answers both ways, other spellings, and what is refused."""

from __future__ import annotations

import pytest

from shardsim.dialects import DIALECTS, Naming, read_dialect, translate, translate_expression
from shardsim.errors import InputError, NotationError, ShardingError
from shardsim.notation import parse_array

MESH = {"X": 4, "Y": 2}
EXTENTS = {"I": 64, "J": 128}

# notation, jax, shardy, hlo, types, dtensor; on X=4, Y=2
KNOWN = [
    (
        "A[I_X, J]",
        "P('X', None)",
        '[{"X"}, {}]',
        "{devices=[4,1,2]<=[8] last_tile_dim_replicate}",
        "bf16[64@X,128]",
        "(Shard(0), Replicate())",
    ),
    (
        "A[I, J_X]",
        "P(None, 'X')",
        '[{}, {"X"}]',
        "{devices=[1,4,2]<=[8] last_tile_dim_replicate}",
        "bf16[64,128@X]",
        "(Shard(1), Replicate())",
    ),
    (
        "A[I_Y, J_X]",
        "P('Y', 'X')",
        '[{"Y"}, {"X"}]',
        "{devices=[2,4]<=[4,2]T(1,0)}",
        "bf16[64@Y,128@X]",
        "(Shard(1), Shard(0))",
    ),
    (
        "A[I_YX, J]",
        "P(('Y', 'X'), None)",
        '[{"Y", "X"}, {}]',
        "{devices=[8,1]<=[4,2]T(1,0)}",
        "bf16[64@(Y,X),128]",
        "(_StridedShard(dim=0, sf=2), Shard(0))",
    ),
    (
        "A[I_XY]",
        "P(('X', 'Y'))",
        '[{"X", "Y"}]',
        "{devices=[8]<=[8]}",
        "bf16[64@(X,Y)]",
        "(Shard(0), Shard(0))",
    ),
    (
        "A[I_Y]",
        "P('Y')",
        '[{"Y"}]',
        "{devices=[2,4]<=[4,2]T(1,0) last_tile_dim_replicate}",
        "bf16[64@Y]",
        "(Replicate(), Shard(0))",
    ),
    (
        "A[I_Y, J]{U_X}",
        "P('Y', None, unreduced={'X'})",
        '#sdy.sharding<@mesh, [{"Y"}, {}], unreduced={"X"}>',
        "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dims={unreduced}}",
        "bf16[64@Y,128]{U:X}",
        "(Partial(), Shard(0))",
    ),
    (
        "A[I, J]{U_X}",
        "P(None, None, unreduced={'X'})",
        '#sdy.sharding<@mesh, [{}, {}], unreduced={"X"}>',
        "{devices=[1,1,4,2]<=[8] last_tile_dims={unreduced, replicated}}",
        "bf16[64,128]{U:X}",
        "(Partial(), Replicate())",
    ),
    (
        "A[I, J]{U_XY}",
        "P(None, None, unreduced={'X', 'Y'})",
        '#sdy.sharding<@mesh, [{}, {}], unreduced={"X", "Y"}>',
        "{unreduced}",
        "bf16[64,128]{U:(X,Y)}",
        "(Partial(), Partial())",
    ),
    (
        "A[I, J]",
        "P(None, None)",
        "[{}, {}]",
        "{replicated}",
        "bf16[64,128]",
        "(Replicate(), Replicate())",
    ),
]


@pytest.mark.parametrize("row", KNOWN, ids=[row[0] for row in KNOWN])
def test_known_answers(row: tuple[str, ...]) -> None:
    array = parse_array(row[0].replace("A[", "A: bf16["))
    said = translate(array, MESH, EXTENTS)
    assert tuple(said) == DIALECTS
    assert tuple(one.text for one in said.values()) == row[1:]
    for dialect, text in zip(DIALECTS, row[1:], strict=True):
        found = read_dialect(dialect, text, MESH, Naming("A", array.dim_names))
        assert str(found.array).replace("A: bf16[", "A[") == row[0]
        wanted = {name: EXTENTS[name] for name in array.dim_names} if dialect == "types" else {}
        assert found.extents == wanted


# notation on X=4, Y=2, what Shardy and HLO say; the others have no parts of axes
PARTS = [
    (
        "A[I_{X:(1)2}, J_{X:(2)2}]",
        '[{"X":(1)2}, {"X":(2)2}]',
        "{devices=[2,2,2]<=[8] last_tile_dim_replicate}",
    ),
    (
        "A[I_{X:(2)2}]",
        '[{"X":(2)2}]',
        "{devices=[2,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}",
    ),
    (
        "A[I_{Y,X:(1)2}]{U_{X:(2)2}}",
        '#sdy.sharding<@mesh, [{"Y", "X":(1)2}], unreduced={"X":(2)2}>',
        "{devices=[4,2]<=[4,2]T(1,0) last_tile_dims={unreduced}}",
    ),
]


@pytest.mark.parametrize(("text", "shardy", "hlo"), PARTS)
def test_parts_of_axes(text: str, shardy: str, hlo: str) -> None:
    said = translate(parse_array(text), MESH, EXTENTS)
    assert (said["shardy"].text, said["hlo"].text) == (shardy, hlo)
    assert str(read_dialect("shardy", shardy, MESH).array) == text
    assert str(read_dialect("hlo", hlo, MESH).array) == text
    for dialect in ("jax", "types", "dtensor"):
        assert said[dialect].text is None
        assert "a part of one" in (said[dialect].why_not or "")


def test_a_text_of_xla_itself() -> None:
    """From the tests of XLA: on i=2, j=2 the sharding [{"j"}, {}] with unreduced={"i"}."""
    mesh = {"i": 2, "j": 2}
    text = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dims={unreduced}}"
    assert str(read_dialect("hlo", text, mesh).array) == "A[I_j, J]{U_i}"
    assert translate(parse_array("A[I_j, J]{U_i}"), mesh)["hlo"].text == text


# dialect, text, what it is on X=4, Y=2
OTHER_SPELLINGS = [
    ("jax", "PartitionSpec('X', None)", "A[I_X, J]"),
    ("jax", 'jax.sharding.PartitionSpec("X", ("Y",))', "A[I_X, J_Y]"),
    ("jax", "PS(('X',), ())", "A[I_X, J]"),
    ("jax", "P()", "A[]"),
    ("jax", "P(None, unreduced=frozenset({'Y', 'X'}),)", "A[I]{U_XY}"),
    ("jax", "P('X', reduced={'Y'})", "A[I_X]"),
    ("jax", "P(['X', 'Y'])", "A[I_XY]"),
    ("shardy", 'sdy.sharding<@mesh, [{"X"}, {}]>', "A[I_X, J]"),
    ("shardy", '<@m, [{"X"}], replicated={"Y"}>', "A[I_X]"),
    ("shardy", '[{"X":(1)2, "X":(2)2}]', "A[I_{X:(1)2,X:(2)2}]"),
    ("shardy", "[]", "A[]"),
    ("hlo", "{devices=[4,2]0,1,2,3,4,5,6,7}", "A[I_X, J_Y]"),
    ("hlo", "{devices=[2,4]0,2,4,6,1,3,5,7}", "A[I_Y, J_X]"),
    ("hlo", "{devices=[4,2]1,0,3,2,5,4,7,6 last_tile_dim_replicate}", "A[I_X]"),
    ("hlo", "{devices=[8]<=[4,2]T(0,1)}", "A[I_XY]"),
    ("hlo", "{devices=[8]<=[2,4]T(1,0)}", "A[I_{X:(2)2,Y,X:(1)2}]"),
    ("hlo", "{devices=[2,2,2]<=[8] last_tile_dims={replicated, unreduced}}", "A[I_{X:(1)2}]{U_Y}"),
    ("hlo", "{devices=[1,8]<=[8] last_tile_dim_replicate}", "A[I]"),
    ("types", "float32[8@X, 16]", "A: f32[I_X, J]"),
    ("types", "i8[8@(Y,X),16]", "A: int8[I_YX, J]"),
    ("types", "f32[8,16]{U:(X,Y)}", "A: f32[I, J]{U_XY}"),
    ("types", "f32[8]{U:X, R:Y}", "A: f32[I]{U_X}"),
    ("types", "f32[]", "A: f32[]"),
    ("dtensor", "[Shard(dim=0), Partial()]", "A[I_X]{U_Y}"),
    ("dtensor", "(Replicate(), Partial(sum), )", None),
    ("dtensor", "S(0)P", "A[I_X]{U_Y}"),
    ("dtensor", "RS(1)", "A[I, J_Y]"),
    ("dtensor", "_S(0, 2)S(0)", "A[I_YX]"),
    ("dtensor", "(_StridedShard(0, split_factor=2), Shard(0))", "A[I_YX]"),
    ("dtensor", "(Partial('sum'), Shard(0))", "A[I_Y]{U_X}"),
    ("dtensor", "[S(1), S(0)]", "A[I_Y, J_X]"),
]


@pytest.mark.parametrize(("dialect", "text", "notation"), OTHER_SPELLINGS)
def test_other_spellings(dialect: str, text: str, notation: str | None) -> None:
    if notation is None:
        with pytest.raises(ShardingError, match="does not say how many dimensions"):
            read_dialect(dialect, text, MESH)
    else:
        assert str(read_dialect(dialect, text, MESH).array) == notation


def test_an_order_of_three_axes() -> None:
    """Each factor is what the more major axes behind it in the mesh make."""
    mesh = {"X": 2, "Y": 3, "Z": 5}
    said = translate(parse_array("A[I_ZXY]"), mesh)["dtensor"].text
    assert said == "(_StridedShard(dim=0, sf=5), _StridedShard(dim=0, sf=5), Shard(0))"
    said = translate(parse_array("A[I_YZX]"), mesh)["dtensor"].text
    assert said == "(_StridedShard(dim=0, sf=15), Shard(0), Shard(0))"


# dialect, text, kind of error, column, message
REFUSED = [
    ("jax", "P('Z')", ShardingError, 1, "axis Z is not in the mesh; the mesh has X, Y"),
    ("jax", "P('X', 'X')", NotationError, 1, "axis X is used twice in A[I_X, J_X]"),
    ("jax", "P('X'", NotationError, 6, "expected ',' or ')' in the PartitionSpec, found the end"),
    ("jax", "P(X)", NotationError, 3, "expected None, an axis in quotes, or a tuple of axes"),
    ("jax", "Q('X')", NotationError, 1, "expected P( in the PartitionSpec, found 'Q'"),
    ("jax", "P('X') P", NotationError, 8, "expected the end in the PartitionSpec, found 'P'"),
    ("jax", "P(P.UNCONSTRAINED)", NotationError, 3, "UNCONSTRAINED leaves the sharding"),
    ("jax", "P('X', reduced={'X'})", NotationError, 1, "axis X is used twice in A[I_X]{U_X}"),
    ("jax", "P('D P')", NotationError, 1, "'D P' is not the name of an axis"),
    ("jax", "", NotationError, 1, "expected P( in the PartitionSpec, found the end"),
    ("shardy", '[{"X", ?}]', ShardingError, 8, "the dimension is open"),
    ("shardy", "[{?}]", ShardingError, 3, "the dimension is open"),
    ("shardy", '[{"X"}p1]', ShardingError, 7, "p1 is a priority"),
    ("shardy", '[{"X":(3)2}]', ShardingError, 1, "X:(3)2 is no part of X: the size of X is 4"),
    ("shardy", '[{"X":(1)1}]', NotationError, 3, "X:(1)1 is no part of an axis"),
    ("shardy", '[{"X"}', NotationError, 7, "expected ',' or ']' in the Shardy sharding"),
    ("shardy", '[{"X":(1)4}, {"X":(2)2}]', NotationError, 1, "X:(1)4 and X:(2)2 overlap"),
    ("shardy", '<@mesh, [{"X"}], maybe={"Y"}>', NotationError, 18, "expected replicated={..} or"),
    ("hlo", "{maximal device=0}", ShardingError, 2, "maximal puts the whole array on one chip"),
    ("hlo", "{manual}", ShardingError, 2, "manual leaves it to the program"),
    ("hlo", "{mesh[i=2,j=4], [{i}]}", ShardingError, 2, "a sharding with the names of axes"),
    ("hlo", "{replicated}", ShardingError, 1, "the sharding does not say how many dimensions"),
    ("hlo", "{devices=[4]<=[4]}", ShardingError, 10, "devices=[..] is for 4 chips, and the mesh"),
    (
        "hlo",
        f"{{devices=[{','.join(['9' * 18] * 999)}]<=[4]}}",
        ShardingError,
        10,
        "devices=[..] is",
    ),
    ("hlo", "{devices=[8]<=[4]}", ShardingError, 13, "the list of chips is for 4 chips"),
    ("hlo", "{devices=[8]7,6,5,4,3,2,1,0}", ShardingError, 1, "no axes of the mesh X=4, Y=2 give"),
    ("hlo", "{devices=[8]0,2,1,3,4,5,6,7}", ShardingError, 1, "no axes of the mesh X=4, Y=2 give"),
    (
        "hlo",
        "{devices=[8]0,0,1,3,4,5,6,7}",
        ShardingError,
        13,
        "the list does not have each of the",
    ),
    ("hlo", "{devices=[8]<=[8]T(1)}", NotationError, 13, "the positions are not those of"),
    ("hlo", "{devices=[8,1]<=[8] last_tile_dims={manual}}", ShardingError, 37, "manual leaves it"),
    ("types", "f32[8@Z]", ShardingError, 1, "axis Z is not in the mesh; the mesh has X, Y"),
    ("types", "u9[8]", NotationError, 1, "there is no element type 'u9'"),
    ("types", "f32[8@X]{V:Y}", ShardingError, 10, "V stands on a type inside shard_map"),
    ("types", "f32[0]", NotationError, 5, "an extent of 0 leaves nothing to shard"),
    ("types", "f32[I]", NotationError, 5, "expected a number for an extent in the type"),
    ("types", "f32[" + "9" * 19 + "]", NotationError, 5, "an extent has more than 18 digits"),
    ("dtensor", "(Shard(0),)", ShardingError, 1, "there are 1 placements, and the mesh has 2 axes"),
    ("dtensor", "(Shard(-1), R)", ShardingError, 2, "dimension -1 counts from the last"),
    ("dtensor", "(_S(0, 3), S(0))", ShardingError, 2, "a split factor of 3 leaves the chips with"),
    ("dtensor", "(Partial(avg), R)", ShardingError, 10, "the partial values are joined by 'avg'"),
    ("dtensor", "(Split(0), R)", NotationError, 2, "'Split' is no placement"),
    ("dtensor", "(Shard(0, 2), R)", NotationError, 9, "a Shard has one number, the dimension"),
    ("dtensor", "()", NotationError, 2, "expected a placement in the placements, found ')'"),
]


@pytest.mark.parametrize(("dialect", "text", "kind", "column", "message"), REFUSED)
def test_refused(
    dialect: str, text: str, kind: type[InputError], column: int, message: str
) -> None:
    with pytest.raises(kind) as caught:
        read_dialect(dialect, text, MESH)
    assert caught.value.message.startswith(message)
    assert caught.value.hint
    assert caught.value.place is not None
    assert caught.value.place.column == column


def test_names() -> None:
    found = read_dialect("jax", "P('X')", MESH, Naming("W_in", ("B", "D"))).array
    assert str(found) == "W_in[B_X, D]"
    assert str(read_dialect("hlo", "{replicated}", MESH, Naming("W", ("B",))).array) == "W[B]"
    assert str(read_dialect("dtensor", "(R, S(-1))", MESH, Naming("W", ("B", "D"))).array) == (
        "W[B, D_Y]"
    )
    for dialect, text in [("jax", "P('X', 'Y')"), ("shardy", '[{"X"}, {}]'), ("types", "f32[8,8]")]:
        with pytest.raises(ShardingError, match=r"has 2 dimensions, and 1 names are given: B"):
            read_dialect(dialect, text, MESH, Naming("W", ("B",)))
    with pytest.raises(ShardingError, match="has 1 dimensions, and 2 names are given"):
        read_dialect("shardy", '[{"X"}]', MESH, Naming("W", ("B", "D")))
    with pytest.raises(NotationError, match="there is no notation 'keras'"):
        read_dialect("keras", "x", MESH)


EXPRESSIONS = [
    (
        "jax",
        "P(None,'X') · P('X',None) -> P(None,None)",
        None,
        "A[I, J_X] · B[J_X, K] -> C[I, K]",
    ),
    ("jax", "P('X') * P(None, 'Y') → P('X', 'Y')", None, "A[I_X, J] · B[J, K_Y] -> C[I_X, K_Y]"),
    ("jax", "P('X') -> P(None)", None, "A[I_X] -> A[I]"),
    (
        "jax",
        "P('X') @ P() -> P('X')",
        "bij, bjk -> bik",
        "A[B_X, I, J] · B[B, J, K] -> C[B_X, I, K]",
    ),
    ("dtensor", "S(0)R · RS(0) -> S(0)P", None, "A[I_X, J] · B[J_Y, K] -> C[I_X, K]{U_Y}"),
    ("shardy", '[{"X"}, {}] · [{}, {}] -> [{"X"}, {}]', None, "A[I_X, J] · B[J, K] -> C[I_X, K]"),
    (
        "shardy",
        '<@mesh, [{"X"}, {}]> · <@mesh, [{}, {}]> -> <@mesh, [{"X"}, {}]>',
        None,
        "A[I_X, J] · B[J, K] -> C[I_X, K]",
    ),
    (
        "hlo",
        "{devices=[4,1,2]<=[8] last_tile_dim_replicate} · {replicated} -> {replicated}",
        None,
        "A[I_X, J] · B[J, K] -> C[I, K]",
    ),
    ("jax", "P() · P() · P() -> P('X')", None, "A[I, J] · B[J, K] · C[K, L] -> D[I_X, L]"),
    ("jax", "P('X') · P() -> P('X')", "iI,IK->iK", "A[i_X, I] · B[I, K] -> C[i_X, K]"),
]


@pytest.mark.parametrize(("dialect", "text", "einsum", "notation"), EXPRESSIONS)
def test_expressions(dialect: str, text: str, einsum: str | None, notation: str) -> None:
    assert translate_expression(dialect, text, MESH, einsum).notation == notation


def test_types_bring_their_extents() -> None:
    found = translate_expression("types", "bf16[8,16@X] · bf16[16@X,4] -> f32[8,4]", MESH)
    assert found.notation == "A: bf16[I, J_X] · B: bf16[J_X, K] -> C: f32[I, K]"
    assert found.extents == {"I": 8, "J": 16, "K": 4}


# dialect, text, einsum, column, message
BAD_EXPRESSIONS = [
    ("jax", "P('X') · P()", None, 1, "the expression needs one arrow"),
    ("jax", "P('X') · -> P()", None, 9, "an array is missing here"),
    ("jax", "P('X') · P('Z') -> P()", None, 10, "axis Z is not in the mesh"),
    (
        "jax",
        "P('X') · P() -> P()",
        "ij->ij",
        1,
        "the einsum has 1 operands, and the expression has",
    ),
    ("jax", "P('X') · P() -> P()", "ii,ij->j", 1, "ii has a letter twice"),
    ("jax", "P('X') · P() -> P()", "nonsense", 1, "'nonsense' is no einsum"),
    ("jax", "P() · P() -> P()", "ij,jk->il", 1, "dimension L of the result C[I, L] is in no"),
    ("types", "f32[8,8] · f32[9,8] -> f32[8,8]", None, 12, "dimension J is 8 long, and here 9"),
]


@pytest.mark.parametrize(("dialect", "text", "einsum", "column", "message"), BAD_EXPRESSIONS)
def test_bad_expressions(
    dialect: str, text: str, einsum: str | None, column: int, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        translate_expression(dialect, text, MESH, einsum)
    assert caught.value.message.startswith(message)
    assert caught.value.place is not None
    assert caught.value.place.column == column
