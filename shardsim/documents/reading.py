"""YAML 1.2 to a document: one mapping a file, and every value with its line and column."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML, events
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from shardsim.documents.checking import described
from shardsim.documents.document import Document, Faults, Mark, Steps
from shardsim.documents.spelling import Lines, Spelling, Written
from shardsim.errors import InputError, Place, ScenarioError, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["parse_document", "path_of", "read_document"]

LARGEST_FILE = 1_000_000
DEEPEST = 30
MOST_VALUES = 100_000

NOTHING = ("", "~", "null", "Null", "NULL")

_PROPERTIES = re.compile(r"(?:(?:[&!]\S*|#[^\r\n]*)\s+)*")
_REST_OF_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")


def path_of(path: object, what: str) -> Path:
    """A path that Python code gives.

    Raises:
        ScenarioError: it is neither text nor a path of text.

    >>> path_of("run.yaml", "a scenario").name
    'run.yaml'
    """
    given = os.fspath(path) if isinstance(path, os.PathLike) else path
    if isinstance(given, str):
        return Path(given)
    why = f"{what} is named by a text or a pathlib.Path, not {described(given)}"
    raise ScenarioError(why, "give the path of a YAML file")


def read_document(path: str | os.PathLike[str], place: Place | None = None) -> Document:
    """Reads a YAML file.

    Args:
        path: The file.
        place: Where a person named the file, for faults of the file as a whole.

    Raises:
        ScenarioError: the file cannot be read, or is no YAML.
        InputErrors: several faults.
    """
    return parse_document(_content(path_of(path, "a file"), place), str(path))


def _content(path: Path, place: Place | None) -> bytes:
    why, way_out = "", "give the path of a YAML file"
    try:
        if path.is_dir():
            why = f"{path} is a directory, not a file"
        else:
            with path.open("rb") as stream:
                return stream.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        why = f"there is no file {path}"
    except PermissionError:
        why, way_out = f"no permission to read {path}", "make the file readable"
    except (OSError, ValueError) as error:
        why = f"cannot read {str(path)!r}: {getattr(error, 'strerror', None) or error}"
    raise ScenarioError(why, way_out, place)


def parse_document(content: str | bytes, origin: str = "YAML") -> Document:
    """Reads YAML text: one document, a mapping at the top.

    Raises:
        ScenarioError: it is no YAML, or of another form.
        InputErrors: several faults.

    >>> document = parse_document("mesh: {X: 4}", "run.yaml")
    >>> document.data, str(document.place("mesh", "X"))
    ({'mesh': {'X': '4'}}, 'run.yaml:1:11')
    """
    return _Builder(_decoded(content, origin), origin).build()


def _decoded(content: str | bytes, origin: str) -> str:
    if len(content) > LARGEST_FILE:
        why = f"{origin} is larger than {LARGEST_FILE:,} bytes"
        raise ScenarioError(why, "give a smaller file")
    if isinstance(content, str):
        return content.removeprefix("\ufeff")
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        text = content.decode("utf-8", "replace").removeprefix("\ufeff")
        before = content[: error.start].decode("utf-8", "replace").removeprefix("\ufeff")
        raise ScenarioError(
            f"{origin} is not a UTF-8 text file: it has the byte {content[error.start]:#04x}",
            "give a YAML file saved as UTF-8",
            _place_of_index(text, len(before), origin),
        ) from None


def _place_of_index(text: str, index: int, origin: str) -> Place:
    """The place of a character; what a terminal cannot show is shown as '?'."""
    place = Source(text, origin).place(index)
    return replace(place, text="".join(c if c.isprintable() else "?" for c in place.text))


class _Builder:
    """Builds a document from YAML events, which know their places."""

    def __init__(self, text: str, origin: str) -> None:
        self.text = text
        self.origin = origin
        self.where = Lines(text, origin)
        self.lines = self.where.texts
        self.faults = Faults()
        self.marks: dict[Steps, Mark] = {}
        self.anchors: dict[str, tuple[object, int]] = {}
        self.count = 0
        self.events: Iterator[Any] = iter(())

    def build(self) -> Document:
        """The one document of the text."""
        try:
            self.events = iter(YAML(typ="safe", pure=True).parse(self.text))
            document = self._document()
        except ReaderError as error:
            code = error.character if isinstance(error.character, int) else ord(error.character)
            raise ScenarioError(
                f"{self.origin} is not a text file: it has the character U+{code:04X}",
                "give a YAML text file",
                _place_of_index(self.text, error.position, self.origin),
            ) from None
        except MarkedYAMLError as error:
            raise self._syntax_error(error) from None
        except InputError:
            raise
        except (YAMLError, ValueError, OverflowError) as error:  # an escape that is no character
            why = f"not valid YAML: {str(error).partition(chr(10))[0]}"
            raise ScenarioError(why, "", self._line(0)) from None
        self.faults.raise_any()
        return document

    def _syntax_error(self, error: MarkedYAMLError) -> ScenarioError:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or "it cannot be read"
        hint = "put the text in quotes, or close what is open"
        if r"\t" in problem:
            problem, hint = "a tab in the indentation", "indent with spaces"
        elif problem.startswith("mapping values"):
            problem, hint = "a second ': ' in one line", "put the text in quotes"
        place = None if mark is None else self._at(mark)
        return ScenarioError(f"not valid YAML: {problem}", hint, place)

    def _document(self) -> Document:
        data: object = None
        documents = 0
        for event in self.events:
            if isinstance(event, events.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    why = "the file has more than one YAML document"
                    place = self._at(event.start_mark)
                    raise ScenarioError(why, "write one document, without '---' inside", place)
            elif isinstance(event, events.NodeEvent):
                data = self._value(event, (), None)
        if data is None:
            why, hint = f"{self.origin} is empty", "write 'key: value' lines"
            raise ScenarioError(why, hint, self._line(0))
        if not isinstance(data, dict):
            why = f"{self.origin} must hold a mapping of keys and values, not {described(data)}"
            raise ScenarioError(why, "write 'key: value' lines", self.marks[()].value.whole)
        return Document(data, self.marks)

    def _value(self, event: Any, path: Steps, key: Source | None) -> object:
        before = self.count
        self._count(1, event)
        if len(path) > DEEPEST:
            why = f"values are nested more than {DEEPEST} deep"
            raise ScenarioError(why, "write it flatter", self._at(event.start_mark))
        if isinstance(event, events.AliasEvent):
            self.marks[path] = Mark(self._raw(event, event), key)
            return self._alias(event)
        if event.tag is not None:
            why, place = f"the YAML tag {event.tag} is not supported", self._at(event.start_mark)
            self.faults.errors.append(ScenarioError(why, "remove the tag", place))
        value: object
        if isinstance(event, events.ScalarEvent):
            value = self._scalar(event, path, key)
        else:
            is_list = isinstance(event, events.SequenceStartEvent)
            value, end = self._list(path) if is_list else self._mapping(path)
            self.marks[path] = Mark(self._raw(event, end), key)
        if event.anchor:
            self.anchors[event.anchor] = (value, self.count - before)
        return value

    def _count(self, values: int, event: Any) -> None:
        self.count += values
        if self.count > MOST_VALUES:
            why = f"the file has more than {MOST_VALUES:,} values"
            raise ScenarioError(why, "write a smaller file", self._at(event.start_mark))

    def _alias(self, event: Any) -> object:
        if event.anchor not in self.anchors:
            raise ScenarioError(
                f"the alias *{event.anchor} stands for nothing that is complete before it",
                f"put &{event.anchor} before an earlier value",
                self._at(event.start_mark),
            )
        value, size = self.anchors[event.anchor]
        self._count(size, event)
        return value

    def _list(self, path: Steps) -> tuple[list[object], Any]:
        values: list[object] = []
        while not isinstance(event := next(self.events), events.SequenceEndEvent):
            values.append(self._value(event, (*path, len(values)), None))
        return values, event

    def _mapping(self, path: Steps) -> tuple[dict[str, object], Any]:
        values: dict[str, object] = {}
        while not isinstance(event := next(self.events), events.MappingEndEvent):
            if not isinstance(event, events.ScalarEvent):
                why = "a key must be a word, not a list, a mapping or an alias"
                raise ScenarioError(why, "write 'key: value'", self._at(event.start_mark))
            key, name = self._raw(event, event), self._printable(event)
            if name in values:
                first = self.marks[*path, name].key
                where = f", first in line {first.line}" if first else ""
                why = f"key {name!r} is given twice{where}"
                self.faults.errors.append(ScenarioError(why, "remove one", key.whole))
            values[name] = self._value(next(self.events), (*path, name), key)
        return values, event

    def _scalar(self, event: Any, path: Steps, key: Source | None) -> object:
        self._printable(event)
        is_quoted = event.style in ("'", '"')
        is_absent = not is_quoted and not event.value.strip()
        text = key if is_absent and key is not None else self._text(event)
        self.marks[path] = Mark(text, key)
        is_plain = event.style is None and event.tag is None
        return None if is_plain and event.value in NOTHING else event.value

    def _printable(self, event: Any) -> str:
        """The text of a scalar; an escape for what cannot be printed is a fault."""
        text: str = event.value
        odd = next((c for c in text if not c.isprintable() and c not in "\n\t"), None)
        if odd is not None:
            why = f"the text has the character U+{ord(odd):04X}, which cannot be printed"
            self.faults.errors.append(ScenarioError(why, "remove it", self._at(event.start_mark)))
        return text

    def _text(self, event: Any) -> Source:
        """The text of a scalar where it stands."""
        text, end = event.value, event.end_mark.index
        begin = self._behind(_PROPERTIES, event.start_mark.index, end)
        if event.style in ("'", '"'):
            begin, end = begin + 1, end - 1
        elif event.style in ("|", ">") and text.strip():
            begin = self._behind(_REST_OF_LINE, begin, end)
        row, column = self.where.position(begin)
        if self.text[begin:end] == text:
            return Source(text, self.origin, row + 1, column + 1, self.lines[row])
        spelling = Spelling(text, self.where, begin, end, event.style)
        return Written(text, self.origin, row + 1, column + 1, place_of=spelling.place)

    def _behind(self, pattern: re.Pattern[str], begin: int, end: int) -> int:
        """Where a pattern ends that stands at `begin`."""
        found = pattern.match(self.text, begin, end)
        return found.end() if found else begin

    def _raw(self, event: Any, end: Any) -> Source:
        """What is written from one event to another, up to the end of its line at most."""
        line, column = event.start_mark.line, event.start_mark.column
        context = self.lines[min(line, len(self.lines) - 1)]
        stop = end.end_mark.column if end.end_mark.line == line else len(context)
        return Source(context[column:stop].rstrip(), self.origin, line + 1, column + 1, context)

    def _at(self, mark: Any) -> Place:
        """The place of a YAML mark; the end of the text for one after it."""
        place = self._line(mark.line)
        is_after = mark.line >= len(self.lines)
        return replace(place, column=1 + (len(place.text) if is_after else mark.column))

    def _line(self, line: int) -> Place:
        row = min(line, len(self.lines) - 1)
        return Place(self.origin, row + 1, 1, self.lines[row])
