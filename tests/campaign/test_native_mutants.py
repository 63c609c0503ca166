"""How lines of Cython and C are changed beside themselves."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from native_mutants import Rewriter


def test_lines_of_cython():
    rewriter = Rewriter()
    text = rewriter.cython("x.pyx", 'from a cimport b\n\ncdef int f(int x) noexcept nogil:\n    """x < 1"""\n'
                                    '    if x < y:\n        x += 2\n    return x\n')
    assert 'cdef extern from "phintys_mutant.h":' in text and '"""x < 1"""' in text
    assert ("if (<bint>(not (x < y)) if phintys_mutant(2) else (<bint>(x <= y) if phintys_mutant(1) else "
            "<bint>(x < y))):") in text
    assert [site[3] for site in rewriter.sites] == ["<= for <", "negated", "-= for +=", "3 for 2", "dropped"]
    assert [site[2] for site in rewriter.sites] == [5, 5, 6, 6, 6]
    assert "        if phintys_mutant(3):\n            x -= 2\n" in text and "        else:\n            x += 2" in text


def test_lines_of_c():
    rewriter = Rewriter()
    text = rewriter.c("x.h", "#define A 1\nint f(int x) {\n    if (x < 1 && y) return 2;\n    x = x + 1;\n"
                             "    /* x < 1 */\n}\n")
    changes = [site[3] for site in rewriter.sites]
    assert changes == ["<= for <", "2 for 1", "|| for &&", "negated", "- for +", "2 for 1"]
    assert ("if (phintys_mutant(5)) { x = x - 1; } else if (phintys_mutant(6)) { x = x + 2; } else "
            "{ x = x + 1; }") in text
    assert "#define A 1\n" in text
