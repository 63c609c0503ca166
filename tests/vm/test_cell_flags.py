"""Flags of cells are declared in one place: the enum in ``vm/abi.pxd``."""
import re
from pathlib import Path

ABI = Path(__file__).parents[2] / "vm" / "abi.pxd"


def test_each_flag_of_a_cell_is_a_bit_of_its_own():
    enum = re.search(r"^cdef enum CellFlag:\n((?:    .*\n)+)", ABI.read_text(), re.M).group(1)
    values = [int(value) for value in re.findall(r"^    CELL_[A-Z_]+ = (\d+) ", enum, re.M)]
    assert len(values) == len(enum.splitlines())
    assert values == [1 << bit for bit in range(len(values))]
