"""The sharding notation: text to immutable statements, and back to one canonical text.

`A[I, J_X]` is an array whose dimension J is sharded over the mesh axis X; `C[I, K]{U_X}` is still
to be summed over X. A statement is a contraction, `A[I, J_X] · B[J_X, K] -> C[I, K]`, a
collective, `AllReduce_X C[I, K]{U_X} -> C[I, K]`, or a reshard, `A[I_X, J] -> A[I, J_X]`. No mesh
and no sizes are known here.

    margins.py      what stands around a statement: a list number, a full stop, a remark
    tokens.py       all spellings (ASCII, Unicode, LaTeX, HTML, Markdown) to one kind of token
    cursor.py, reading.py, parser.py    the grammar: names, arrays, statements
    meaning.py      what a statement leaves unsaid: what a dot sums, the axes of a collective
    rules.py        what is legal without a mesh
    arrays.py, statements.py    the values
    assignments.py  `I=8192,J=8192`
"""

from shardsim.notation.arrays import Array, Dim, Span
from shardsim.notation.assignments import parse_assignments
from shardsim.notation.names import AXIS_NAME
from shardsim.notation.parser import parse
from shardsim.notation.rules import collective_result
from shardsim.notation.statements import Collective, Contraction, Reshard, Statement

__all__ = [
    "AXIS_NAME",
    "Array",
    "Collective",
    "Contraction",
    "Dim",
    "Reshard",
    "Span",
    "Statement",
    "collective_result",
    "parse",
    "parse_assignments",
]
