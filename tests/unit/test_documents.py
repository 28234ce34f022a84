"""YAML with places, and records."""

from __future__ import annotations

import io
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, Field, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import ScalarString

from shardsim.documents import (
    Document,
    Faults,
    Mark,
    Record,
    described,
    nearest,
    parse_document,
    plain,
    read_document,
    validate,
)
from shardsim.documents.fields import Count, DtypeWord, Latency, Peak, Rate, Size
from shardsim.errors import (
    InputError,
    InputErrors,
    NotYetError,
    Place,
    ScenarioError,
    ShardsimError,
    Source,
)
from shardsim.vocabulary import Dtype, Overlap

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
# a comment
name: 'one ''two'''
mesh: {X: 4, Y: 0x8}
flags: [true, null, 1e400]
program: |
  A[I] · B[I]
    indented

  # kept
folded: >-
  a
  b
deep:
  list:
    - {x: 1}
    - plain
escaped: "a\\tb"
anchor: &here [1, 2]
alias: *here
empty:
"""


def test_values_are_text_as_written() -> None:
    data = parse_document(TEXT).data
    assert data["name"] == "one 'two'"
    assert data["mesh"] == {"X": "4", "Y": "0x8"}
    assert data["flags"] == ["true", None, "1e400"]
    assert data["program"] == "A[I] · B[I]\n  indented\n\n# kept\n"
    assert data["folded"] == "a b"
    assert data["alias"] == data["anchor"] == ["1", "2"]
    assert data["empty"] is None


@pytest.mark.parametrize(
    ("path", "place", "width"),
    [
        (("mesh",), "f:3:7", 14),
        (("mesh", "Y"), "f:3:17", 3),
        (("flags", 2), "f:4:21", 5),
        (("deep",), "f:13:1", 4),
        (("deep", "list", 0), "f:15:7", 6),
        (("deep", "list", 0, "x"), "f:15:11", 1),
        (("deep", "list", 1), "f:16:7", 5),
        (("escaped",), "f:17:11", 4),
        (("anchor",), "f:18:9", 12),
        (("alias",), "f:19:8", 5),
        (("alias", 1), "f:19:8", 5),
        (("empty",), "f:20:1", 5),
        ((), "f:2:1", 19),
    ],
)
def test_place_of_a_value(path: tuple[str | int, ...], place: str, width: int) -> None:
    found = parse_document(TEXT, "f").place(*path)
    assert found is not None
    assert (str(found), found.width) == (place, width)


def test_key_place_and_part_of_a_document() -> None:
    part = parse_document(TEXT, "f").at("deep", "list")
    assert part.data == [{"x": "1"}, "plain"]
    assert str(part.key_place(0, "x")) == "f:15:8"
    assert str(part.place(1)) == "f:16:7"
    assert str(part.key_place()) == "f:14:3"


def test_has_means_a_value_that_is_not_nothing() -> None:
    document = parse_document(TEXT)
    assert document.has("mesh")
    assert not document.has("empty")
    assert not document.has("absent")
    assert not Document("text").has("text")


def test_lines_of_a_block_stand_in_the_file() -> None:
    lines = parse_document(TEXT, "f").line_sources("program")
    assert [str(line.place(0)) for line in lines[:2]] == ["f:6:3", "f:7:3"]
    assert lines[0].place(7).picture().splitlines()[1].endswith(" " * 9 + "^")


def test_lines_of_a_text_without_marks() -> None:
    lines = Document({"p": "A\n B"}, {("p",): Mark(Source("A\n B", "expression"))}).line_sources(
        "p"
    )
    assert [(str(line.place(0)), line.text) for line in lines] == [
        ("expression:1:1", "A"),
        ("expression:2:1", " B"),
    ]
    assert [line.origin for line in Document({"p": "A"}).line_sources("p")] == ["expression"]


characters = st.text("AB [],:'\"\\\\#&·\t\nαµ", max_size=40)


@given(
    characters,
    st.sampled_from([None, "'", '"', "|", ">"]),
    st.integers(8, 30),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_every_visible_character_is_found_in_the_file(
    value: str, style: str | None, width: int, unicode: bool, newline: str
) -> None:
    """However the value is written out, its characters are those of the file, in their order."""
    stream = io.StringIO()
    writer = YAML(pure=True)
    writer.width, writer.allow_unicode = width, unicode
    text = ScalarString(value)
    writer.representer.add_representer(
        ScalarString, lambda to, data: to.represent_scalar("tag:yaml.org,2002:str", data, style)
    )
    writer.dump({"a": {"key": text}, "z": "end"}, stream)
    content = stream.getvalue().replace("\n", newline)
    document = parse_document(content, "f")
    read = document.data["a"]["key"] or ""
    source = document.source("a", "key")
    assert source is not None
    lines = content.split(newline)
    seen = [(0, 0)]
    for index, character in enumerate(read):
        place = source.place(index)
        assert place.text == lines[place.line - 1]
        assert place.column <= len(place.text) + 1
        if character.isspace():
            continue
        seen.append((place.line, place.column))
        assert seen[-1] > seen[-2]
        spelled = place.text[place.column - 1 :][: place.width]
        if spelled[0] == "\\" and len(spelled) > 2:
            assert chr(int(spelled[2:], 16)) == character
        else:
            assert spelled.removeprefix("\\" if len(spelled) > 1 else "")[0] == character
    end = source.place(len(read), len(read) + 1)
    assert (end.line, end.column) >= seen[-1]
    assert end.column <= len(end.text) + 1


def test_a_text_with_another_line_separator() -> None:
    """YAML 1.2 ends no line at U+2028, so the lines after it are counted right."""
    with pytest.raises(ScenarioError) as caught:
        parse_document("# \u2028 \x85\na: 1\na: 2\n", "f")
    assert str(caught.value.place) == "f:3:1"


def test_a_byte_order_mark_in_a_text() -> None:
    assert str(parse_document("\ufeffa: 1", "f").place("a")) == "f:1:4"


def test_a_python_mapping_has_no_places() -> None:
    document = Document(plain({"a": ({"b": 1},)}))
    assert document.data == {"a": [{"b": 1}]}
    assert document.source("a") is None
    assert document.place("a") is None
    assert document.key_place("a") is None


def test_carriage_returns_and_a_byte_order_mark() -> None:
    document = parse_document("\ufeffa: 1\r\nb: [x,\r\n  y]\r\n".encode(), "f")
    assert document.data == {"a": "1", "b": ["x", "y"]}
    assert str(document.place("b", 1)) == "f:3:3"


class Part(Record):
    """A part."""

    size: Count
    kind: Overlap = Overlap.NONE


class Whole(Record):
    """A form with every kind of field."""

    name: str = ""
    parts: tuple[Part, ...] = ()
    named: dict[DtypeWord, Part] = Field(default_factory=dict)
    one: Part | None = None
    rate: Rate = Fraction(1)
    size: Size = Fraction(1)
    peak: Peak = Fraction(1)
    latency: Latency = Fraction(0)
    short: Annotated[str, Field(max_length=3)] = ""
    odd: Annotated[str, AfterValidator(lambda text: int(text) and text)] = ""

    @classmethod
    def not_yet(cls) -> tuple[str, ...]:
        """A key of a later version."""
        return ("later",)


def test_a_record_reads_its_fields() -> None:
    text = (
        "{parts: [{size: 4}], named: {bfloat16: {size: 1, kind: async}}, rate: 45 GB/s, latency: 0}"
    )
    read = validate(parse_document(text), Whole, "the file")
    assert read.parts[0].size == 4
    assert read.named[Dtype.BF16].kind is Overlap.ASYNC
    assert (read.rate, read.latency) == (Fraction(45 * 10**9), Fraction(0))


@pytest.mark.parametrize(
    ("text", "message", "hint", "place"),
    [
        ("nmae: x", "unknown key 'nmae' in the file", "did you mean name?", "f:1:1"),
        ("zzz: x", "unknown key 'zzz' in the file", "remove it", "f:1:1"),
        ("later: x", "'later' in the file is not supported yet", "supported keys", "f:1:1"),
        ("name: [x]", "name must be text; it is a list", "", "f:1:7"),
        ("parts: x", "parts must be a list; it is 'x'", "", "f:1:8"),
        ("parts: [x]", "parts[0] must be a mapping of keys and values; it is 'x'", "", "f:1:9"),
        ("parts: [{}]", "parts[0] has no key 'size'", "required: size", "f:1:9"),
        ("parts: [{size: 1, sise: 2}]", "unknown key 'sise' in parts[0]", "size", "f:1:19"),
        (
            "parts:\n  - size: 0",
            "parts[0].size must be from 1 to 1e18; it is 0",
            "1 or more",
            "f:2:11",
        ),
        (
            "parts: [{size: }]",
            "parts[0].size must be a whole number, 1 or more; it is ''",
            "",
            "f:1:10",
        ),
        ("one: {size: 1, kind: Async}", "one.kind must be one of none, async", "async", "f:1:22"),
        ("one: {size: 1, kind: x}", "one.kind must be one of none, async", "write one", "f:1:22"),
        ("one: {}", "one has no key 'size'", "size", "f:1:1"),
        ("one: {sise: 1, size: 1}", "unknown key 'sise' in one", "did you mean size?", "f:1:7"),
        ("named: {bf17: {size: 1}}", "named.bf17: 'bf17' is no dtype", "bf16", "f:1:9"),
        ("named: {bf16: {}}", "named.bf16 has no key 'size'", "size", "f:1:9"),
        ("named: x", "named must be a mapping of keys and values; it is 'x'", "", "f:1:8"),
        ("rate: 3 GB", "rate: 'GB' is not a unit of bytes/s", "45 GB/s", "f:1:7"),
        ("size: -1", "size: -1 must be more than 0 bytes", "", "f:1:7"),
        ("peak: ", "peak: '' is not a quantity in FLOP/s", "197 TFLOP/s", "f:1:1"),
        ("rate: 45", "rate: 45 B/s is too slow to be meant", "write 45 GB/s", "f:1:7"),
        ("rate: 0.5 MB/s", "rate: 500 kB/s is too slow to be meant", "write 0.5 GB/s", "f:1:7"),
        ("rate: 450000", "rate: 450 kB/s is too slow to be meant", "such as 45 GB/s", "f:1:7"),
        ("rate: 4.5e1", "rate: 45 B/s is too slow to be meant", "such as 45 GB/s", "f:1:7"),
        ("latency: 2", "latency: 2 s is too long to be meant", "write 2 us", "f:1:10"),
        ("latency: 1001 ms", "latency: 1.00 s is too long to be", "write 1001 us", "f:1:10"),
        ("latency: .nan", "latency: '.nan' is not a quantity in seconds", "1 us", "f:1:10"),
        ("short: abcd", "short: String should have at most 3 characters", "", "f:1:8"),
        ("odd: x", "odd: invalid literal for int() with base 10: 'x'", "", "f:1:6"),
    ],
)
def test_one_fault_of_a_record(text: str, message: str, hint: str, place: str) -> None:
    with pytest.raises(InputError) as caught:
        validate(parse_document(text, "f"), Whole, "the file")
    assert caught.value.message.startswith(message) or message in caught.value.message
    assert hint in caught.value.hint
    assert str(caught.value.place) == place


def test_the_least_rate_and_the_longest_latency() -> None:
    read = validate(parse_document("{rate: 1e6, latency: 1}"), Whole, "the file")
    assert (read.rate, read.latency) == (10**6, 1)
    assert validate(Document({"rate": 1e6}), Whole, "the mapping").rate == 10**6
    with pytest.raises(InputError) as caught:
        validate(Document({"rate": Fraction(1, 2)}), Whole, "the mapping")
    assert caught.value.hint == "write a number and a unit, such as 45 GB/s"


def test_a_key_of_a_later_version_is_not_an_unknown_one() -> None:
    with pytest.raises(NotYetError):
        validate(parse_document("later: x"), Whole, "the file")


def test_all_faults_in_the_order_of_the_file() -> None:
    with pytest.raises(InputErrors) as caught:
        validate(parse_document("zzz: 1\nparts: [{}, 3]\nrate: x\n", "f"), Whole, "the file")
    places = [str(error.place) for error in caught.value.errors]
    assert places == ["f:1:1", "f:2:9", "f:2:13", "f:3:7"]
    assert str(caught.value).startswith("4 faults:\n\n")


def test_faults_without_marks_name_their_path() -> None:
    with pytest.raises(ScenarioError) as caught:
        validate(Document({"parts": [{"size": 1}, {}]}), Whole, "the file")
    assert str(caught.value).startswith("parts[1] has no key 'size'\n  help: ")


def test_a_value_error_of_several_faults() -> None:
    def refuse(_: object) -> object:
        raise InputErrors((ScenarioError("first"), ScenarioError("second")))

    class Picky(Record):
        """A record that finds two faults in one value."""

        it: Annotated[str, AfterValidator(refuse)]

    with pytest.raises(InputErrors) as caught:
        validate(parse_document("it: x", "f"), Picky, "the file")
    assert [error.message for error in caught.value.errors] == ["it: first", "it: second"]


def test_a_validator_of_the_whole_record() -> None:
    class Pair(Record):
        """A record whose values must fit together."""

        low: Count
        high: Count

        @model_validator(mode="after")
        def ordered(self) -> Pair:
            """Refuses a low that is above high."""
            if self.low > self.high:
                raise ScenarioError("low is above high")
            return self

    with pytest.raises(ScenarioError, match="low is above high"):
        validate(parse_document("{low: 2, high: 1}"), Pair, "the file")


def test_a_fault_of_the_whole_record() -> None:
    with pytest.raises(ScenarioError, match="the file must be a mapping"):
        validate(Document(["x"]), Whole, "the file")


def test_faults_keep_what_is_raised() -> None:
    faults = Faults()
    faults.raise_any()
    one, two = ScenarioError("one"), ScenarioError("two", "", Place("f", 2, 1, "x"))

    def fail(error: ShardsimError) -> int:
        raise error

    assert faults.attempt(lambda: fail(two)) is None
    with pytest.raises(ScenarioError, match="two"):
        faults.raise_any()
    assert faults.attempt(lambda: fail(InputErrors((one,)))) is None
    with pytest.raises(InputErrors) as caught:
        faults.raise_any()
    assert caught.value.errors == (two, one)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nothing"),
        (False, "false"),
        ({}, "a mapping"),
        ([], "a list"),
        (3, "3"),
        (b"x", "b'x'"),
        ((x for x in "a"), "a generator"),
        (object(), "an object"),
    ],
)
def test_described(value: object, text: str) -> None:
    assert described(value) == text
    assert len(described("x" * 1000)) < 50


def test_nearest() -> None:
    assert nearest("ASYNC", ["async"]) == "did you mean async?"
    assert nearest("qqq", ["async"]) == ""


SQUARE = "[" + ",".join(["1"] * 10) + "]"
BOMB = (
    "a: &a "
    + SQUARE
    + "".join(
        f"\n{new}: &{new} [" + ",".join([f"*{old}"] * 10) + "]"
        for old, new in zip("abcde", "bcdef", strict=True)
    )
)


@pytest.mark.parametrize(
    ("content", "message", "place"),
    [
        (b"", "f is empty", "f:1:1"),
        (b"# only a comment\n", "f is empty", "f:1:1"),
        (b"---\n...\n", "f is empty", "f:1:1"),
        (b"- a\n", "f must hold a mapping of keys and values, not a list", "f:1:1"),
        (b"\n word", "f must hold a mapping of keys and values, not 'word'", "f:2:2"),
        (b"a: 1\n---\nb: 2\n", "the file has more than one YAML document", "f:2:1"),
        (b"a: \x00", "f is not a text file: it has the character U+0000", "f:1:4"),
        (b"\x89PNG\r\n", "f is not a UTF-8 text file: it has the byte 0x89", "f:1:1"),
        (b"\xef\xbb\xbfa: 1\nb: \xff", "f is not a UTF-8 text file: it has the byte 0xff", "f:2:4"),
        (b"a:\n\tb: 1\n", "not valid YAML: a tab in the indentation", "f:2:1"),
        (b"a: b: c", "not valid YAML: a second ': ' in one line", "f:1:5"),
        (b"a: 'x", "not valid YAML: found unexpected end of stream", "f:1:6"),
        (b"a: [1,\n", "not valid YAML: expected the node content", "f:1:7"),
        (b"%YAML 3.0\n---\na: 1\n", "not valid YAML: found incompatible YAML document", "f:1:1"),
        (b"a: *none\n", "the alias *none stands for nothing", "f:1:4"),
        (b"a: &a [*a]\n", "the alias *a stands for nothing", "f:1:8"),
        (BOMB.encode(), "the file has more than 100,000 values", "f:5:"),
        (b"[" * 100_000, "values are nested more than 30 deep", "f:1:32"),
        (b"{a: " * 40, "values are nested more than 30 deep", "f:1:125"),
        (b"? [a]\n: 1\n", "a key must be a word", "f:1:3"),
        (b"a: !!python/object:os.system x\n", "the YAML tag ", "f:1:4"),
        (b'a: 1\nb: "\\ud800"', "the text has the character U+D800, which cannot be", "f:2:4"),
        (b'"\\e[31m": 1', "the text has the character U+001B, which cannot be printed", "f:1:1"),
        (b'a: "\\UFFFFFFFF"', "not valid YAML: Python int too large", "f:1:1"),
        (b"a: !<%ff> 1", "not valid YAML: 'utf-8' codec can't decode byte 0xff", "f:1:6"),
        (b"x: 1\na: 2\nx: 3\n", "key 'x' is given twice, first in line 1", "f:3:1"),
    ],
)
def test_what_is_not_a_document(content: bytes, message: str, place: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_document(content, "f")
    assert caught.value.message.startswith(message)
    assert str(caught.value.place).startswith(place)


def test_a_file_that_is_too_large() -> None:
    with pytest.raises(ScenarioError, match="f is larger than 1,000,000 bytes"):
        parse_document(b"x" * 1_000_001, "f")


def test_faults_of_keys_are_collected() -> None:
    with pytest.raises(InputErrors) as caught:
        parse_document("a: 1\na: !t 2\nb: 1\nb: 2\n", "f")
    assert [str(error.place) for error in caught.value.errors] == ["f:2:1", "f:2:4", "f:4:1"]


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = Source("nofile.yaml", "--topology").place(0)
    with pytest.raises(ScenarioError, match=r"there is no file nofile\.yaml") as caught:
        read_document("nofile.yaml", place)
    assert caught.value.place == place
    with pytest.raises(ScenarioError, match="is a directory, not a file"):
        read_document(tmp_path)
    with pytest.raises(ScenarioError, match="cannot read"):
        read_document("x" * 5000)
    with pytest.raises(ScenarioError, match="cannot read"):
        read_document("a\0b")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    path = tmp_path / "secret.yaml"
    path.write_text("a: 1")
    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(ScenarioError, match="no permission to read"):
        read_document(path)


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "good.yaml"
    path.write_text("a: {b: 1}\n")
    assert str(read_document(path).place("a", "b")) == f"{path}:1:8"
