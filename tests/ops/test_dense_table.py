"""The table of ops on dense tensors: no row is missing. Here are the rows that belong to no single folder of ops."""
from dense_cases import DENSE, MATRICES, ROWS, SCALARS
from dense_checks import *  # noqa: F403
from matrix_cases import CASES

from phintys.ops.elementwise.scalar_op import SCALAR_OPS


def test_every_promised_op_has_a_row():
    for names, table in ((MATRICES, CASES), (DENSE, ROWS), (SCALARS, SCALAR_OPS)):
        for name in names.split():
            assert any([row == name or row.startswith(f"{name},") for row in table]), f"{name} has no row"
