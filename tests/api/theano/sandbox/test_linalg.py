"""Theano's names in ``sandbox.linalg``."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.sandbox.linalg import ops


@pytest.mark.parametrize("namespace", [phintys.sandbox.linalg, ops, T.nlinalg, T.slinalg, T.linalg])
def test_all_names_exist(namespace):
    assert [name for name in namespace.__all__ if not hasattr(namespace, name)] == []


def test_a_rewrite_is_a_local_optimizer():
    A, b = T.dmatrix(), T.dvector()
    found, = ops.inv_as_solve.transform(ops.matrix_inverse(A).dot(b).owner)
    assert isinstance(found.owner.op, ops.Solve)
    assert ops.inv_as_solve.transform(A.dot(b).owner) is False


def test_hints():
    A = T.dmatrix()
    assert ops.is_psd(ops.psd(A)) and ops.is_symmetric(ops.psd(A)) and not ops.is_psd(A)
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        f = phintys.function([A], [ops.psd(A) + 1, phintys.grad(ops.psd(A).sum(), A)], mode=mode)
        for got, wanted in zip(f([[1.0]]), [[[2.0]], [[1.0]]]):
            numpy.testing.assert_array_equal(got, wanted)


def test_spectral_radius_bound():
    A = T.dmatrix()
    value = numpy.array([[2.0, 1.0], [1.0, 3.0]])
    bound = phintys.function([A], ops.spectral_radius_bound(A, 4))(value)
    assert numpy.linalg.eigvalsh(value)[-1] <= bound < 1.1 * numpy.linalg.eigvalsh(value)[-1]
    for arguments, kind in [((T.dvector(), 1), TypeError), ((A, 1.5), TypeError), ((A, 0), ValueError)]:
        with pytest.raises(kind):
            ops.spectral_radius_bound(*arguments)
