"""``docs/measure_code.py`` counts what its docstring says, in a small tree."""
import runpy
from pathlib import Path

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "measure_code.py"))
PYTHON = '''"""A module
of two lines."""
# why
def outer(a,
          b):
    """Not counted."""

    # not counted either
    def inner():
        return a
    return inner  # beside code


after = 1
'''
INCLUDED = """cdef int included(int a):
    # why
    a += 1
    a *= 2
    return a
"""
CYTHON = '''cdef extern from "x.h":
    void taken(int a)
cdef class Kernel:
    cdef int length
    cdef int prepare(self, int* a) except -1 nogil:
        cdef int b = taken(a)
        return b
cdef void declared(int a) noexcept
'''


def test_lengths_comments_and_files(tmp_path):
    for name, text in {"vm/a.py": PYTHON, "vm/room/b.pyx": CYTHON, "vm/room/b.pxi": INCLUDED,
                       "vm/room/c.h": "/* one\n two */\nint x;\n",
                       "vm/room/c.pyi": "x: int\n", "tests/d.py": PYTHON}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    lengths, comments, filled, files = SCRIPT["measure"](tmp_path)
    assert sorted(lengths) == [2, 3, 4, 5]
    assert comments == 2 + 1 + 1 + 1 + 1 + 2
    assert filled == 11 + 8 + 5 + 3
    assert files == {"vm": 1, "vm/room": 4}
