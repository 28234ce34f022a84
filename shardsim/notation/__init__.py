"""The sharding notation: text to immutable statements, and back to one canonical text.

`A[I, J_X]` is an array whose dimension J is sharded over the mesh axis X, `A[I, J_{X:(1)2}]` over
a part of it; `C[I, K]{U_X}` is still to be summed over X. A statement is a contraction,
`A[I, J_X] · B[J_X, K] -> C[I, K]`, a collective, `AllReduce_X C[I, K]{U_X} -> C[I, K]`, or a
reshard, `A[I_X, J] -> A[I, J_X]`. `-> C` leaves the sharding of a contraction's result open. No
mesh and no sizes are known here.

    margins.py      what stands around a statement: a list number, a full stop, a remark
    tokens.py       all spellings (ASCII, Unicode, LaTeX, HTML, Markdown) to one kind of token
    names.py        what a name may be, and words with a meaning: collectives, element types
    cursor.py, reading.py, parser.py    the grammar: names, arrays, statements
    meaning.py      what a statement leaves unsaid: what a dot sums, the axes of a collective
    subaxes.py      parts of an axis, X:(1)2, and which of them overlap
    rules.py        what is legal without a mesh
    arrays.py, statements.py    the values
    assignments.py  `I=8192,J=8192`
"""

from shardsim.notation.arrays import Array, Dim, Span
from shardsim.notation.assignments import parse_assignments
from shardsim.notation.names import AXIS_NAME, WHOLE_AXIS_NAME
from shardsim.notation.parser import parse, parse_array
from shardsim.notation.rules import collective_result
from shardsim.notation.statements import Collective, Contraction, Reshard, Statement
from shardsim.notation.subaxes import SubAxis, overlap, sub_axis, whole_axis

__all__ = [
    "AXIS_NAME",
    "WHOLE_AXIS_NAME",
    "Array",
    "Collective",
    "Contraction",
    "Dim",
    "Reshard",
    "Span",
    "Statement",
    "SubAxis",
    "collective_result",
    "overlap",
    "parse",
    "parse_array",
    "parse_assignments",
    "sub_axis",
    "whole_axis",
]
