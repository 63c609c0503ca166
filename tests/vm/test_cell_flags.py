"""Flags of cells are declared in three files: those of all kernels, of the allocator, and of the interpreter."""
import re
from pathlib import Path

FLOOR = Path(__file__).parents[2] / "vm"
DECLARED = re.compile(r"^    (CELL_[A-Z_]+) = (\d+) ", re.M)


def test_no_two_flags_of_cells_share_a_bit():
    flags = [(name, int(value)) for pattern in ("*.pxd", "*.pyx") for path in sorted(FLOOR.rglob(pattern))
             for name, value in DECLARED.findall(path.read_text())]
    assert {"CELL_READONLY", "CELL_CONSTANT", "CELL_PASSED"} <= {name for name, _ in flags}
    assert sorted(value for _, value in flags) == [1 << bit for bit in range(len(flags))]
