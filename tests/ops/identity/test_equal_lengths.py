"""EqualLengths: a view of a tensor if lengths agree, and the error of an elementwise operation if they do not."""
import numpy
import pytest
import scipy.sparse

import phintys
import phintys.sparse
import phintys.tensor as T
from phintys.ops.identity.equal_lengths import EqualLengths

x, y, n = T.dvector("x"), T.dmatrix("y"), T.lscalar("n")
MODES = ["FAST_RUN", "FAST_COMPILE"]


@pytest.mark.parametrize("mode", MODES)
def test_lengths_numbers_and_values(mode):
    checked = EqualLengths.of(x, [[(x, 0), (y, 1), n], [(y, 0), 2]])
    f = phintys.function([x, y, n], [checked, checked.shape[0], phintys.grad((checked ** 2).sum(), x)], mode=mode,
                         on_unused_input="ignore")
    value = numpy.arange(3.0)
    for result, wanted in zip(f(value, numpy.zeros((2, 3)), 3), (value, 3, 2 * value)):
        numpy.testing.assert_array_equal(result, wanted)
    for shape, length, message in (((2, 4), 3, r"x.shape\[0\]|y.shape\[1\]"), ((2, 3), 4, "n"),
                                   ((1, 3), 3, r"y.shape\[0\]")):
        with pytest.raises(ValueError, match=message):
            f(value, numpy.zeros(shape), length)


@pytest.mark.parametrize("mode", MODES)
def test_lengths_of_sparse_matrices(mode):
    matrix, other = phintys.sparse.csr_matrix("matrix"), phintys.shared(numpy.ones((2, 3)))
    f = phintys.function([matrix, y], (other - phintys.sparse.dot(matrix, y)).shape, mode=mode)
    value = scipy.sparse.csr_matrix(numpy.eye(4)[:2])
    assert f(value, numpy.zeros((4, 3))).tolist() == [2, 3]
    with pytest.raises(ValueError, match=r"matrix.shape\[0\]|2.*4|4.*2"):
        f(scipy.sparse.csr_matrix(numpy.eye(4)), numpy.zeros((4, 3)))


@pytest.mark.parametrize("mode", MODES)
def test_a_guard_says_when_lengths_must_agree(mode):
    condition = T.bscalar("condition")
    f = phintys.function([x, y, condition], EqualLengths.of(x, [[(x, 0), (y, 0)]], [[(condition, True)]]), mode=mode)
    value, other = numpy.arange(3.0), numpy.zeros((2, 1))
    numpy.testing.assert_array_equal(f(value, other, 0), value)
    with pytest.raises(ValueError):
        f(value, other, 1)


def test_the_result_is_a_view_and_never_folded():
    node = EqualLengths.of(x, [[(x, 0), 3]]).owner
    assert node.op.view_map == {0: [0]}
    with pytest.raises(ValueError):                             # by the call, not while the function is compiled
        phintys.function([], EqualLengths.of(T.constant([1.0, 2.0]), [[(T.constant([1.0, 2.0]), 0), 3]]) + 1)()
