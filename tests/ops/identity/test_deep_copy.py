"""DeepCopyOp: the value in memory of its own, whether the virtual machine copies it or Python does."""
import numpy
import pytest
import scipy.sparse

import phintys
import phintys.tensor as T
from phintys import sparse
from phintys.gof import generic
from phintys.ops.identity.deep_copy import deep_copy_op

x = T.dvector("x")


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("step", [1, -1, 2])
def test_arrays(mode, step):
    f = phintys.function([phintys.In(x, borrow=True)], phintys.Out(deep_copy_op(x), borrow=True), mode=mode)
    value = numpy.arange(6.0)[::step]
    result = f(value)
    numpy.testing.assert_array_equal(result, value)
    assert not numpy.shares_memory(result, value)


def test_objects_and_sparse_matrices():
    thing, matrix = generic("thing"), sparse.csr_matrix("matrix")
    value = [[1], [2]]
    copied = phintys.function([thing], deep_copy_op(thing))(value)
    assert copied == value and copied[0] is not value[0]
    wanted = scipy.sparse.csr_matrix(numpy.eye(3))
    result = phintys.function([matrix], deep_copy_op(matrix))(wanted)
    assert not numpy.shares_memory(result.data, wanted.data) and (result != wanted).nnz == 0


def test_derivatives_and_shape():
    y = deep_copy_op(x)
    f = phintys.function([x], [phintys.grad((y ** 2).sum(), x), phintys.gradient.Rop(y, x, 3 * x), y.shape])
    for result, wanted in zip(f([1.0, 2.0]), ([2, 4], [3, 6], [2])):
        numpy.testing.assert_array_equal(result, wanted)
