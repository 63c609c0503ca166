"""Stacks of matrices that BLAS cannot take as they are, because rows are no whole number of elements apart."""
import numpy
import pytest

import phintys
import phintys.tensor as T


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_workers_copy_items_to_rooms_of_their_own(dtype):
    rng = numpy.random.default_rng(1)
    half = numpy.dtype(dtype).char.replace("F", "f").replace("D", "d")
    records = numpy.dtype([("before", half), ("row", dtype, (20,))])
    a, b = (numpy.zeros((4000, 20), records)["row"] for _ in range(2))
    for stack in (a, b):
        stack[...] = rng.integers(-4, 5, stack.shape) + 1j * rng.integers(-4, 5, stack.shape)
    x, y = T.tensor3(dtype=dtype), T.tensor3(dtype=dtype)
    with phintys.config.change_flags(workers=2):
        f, wanted = phintys.function([x, y], T.batched_dot(x, y)), a @ b
        for _ in range(5):
            assert (f(a, b) == wanted).all()
