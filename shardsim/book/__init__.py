"""The worked numbers of the book: what it prints, what comes out here, and why they differ.

Records are data, in `scenarios/book`: a question names a statement on a chip, a collective on a
slice, arrays, a machine or a model, and which of its quantities is asked for. The answers are those
of the functions behind `roofline`, `collective`, `show` and `model`.

form.py        the keys of a file of records
subjects.py    what a question may be about, and its quantities by name
asking.py      a question answered: a quantity of a subject, or of several
answers.py     a record beside its answers: how far off, and whether that is explained
"""

from shardsim.book.answers import BookAnswer, answer_chapter, answer_record, chapters
from shardsim.book.asking import ask

__all__ = ["BookAnswer", "answer_chapter", "answer_record", "ask", "chapters"]
