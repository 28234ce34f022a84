"""Documents: YAML read so that every value knows its place, and checked against a record.

Numbers and `true` stay text, as they were written, so that none loses digits or range: a record
reads them with `shardsim.units`. Whatever is wrong with a file is an `InputError` with file, line
and column; several faults are raised together, as `InputErrors`.

    document.py   plain values that know where they stand; faults that are collected
    reading.py    YAML to a document
    checking.py   a document against a record
    fields.py     types of a record's fields
    spelling.py   where the characters of a folded or escaped text stand
"""

from shardsim.documents.checking import Record, described, nearest, validate
from shardsim.documents.document import Document, Faults, Mark, plain
from shardsim.documents.reading import parse_document, path_of, read_document

__all__ = [
    "Document",
    "Faults",
    "Mark",
    "Record",
    "described",
    "nearest",
    "parse_document",
    "path_of",
    "plain",
    "read_document",
    "validate",
]
