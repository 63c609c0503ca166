"""Arrays that make no matrix are refused before SciPy's functions in C, which trust them, read or write by them."""
import re

import numpy
import pytest
import scipy.sparse

import phintys
import phintys.tensor as T
from phintys import sparse

DATA, INDICES, INDPTR, SHAPE = [1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 3], [2, 3]
OTHER = {"row": "column", "column": "row"}
MALFORMED = [
    (DATA, [0, 3, 1], INDPTR, SHAPE, "index 3 at position 1 is outside of 3 columns"),
    (DATA, [0, -1, 1], INDPTR, SHAPE, "index -1 at position 1 is outside of 3 columns"),
    (DATA, [0, 2**32, 1], INDPTR, SHAPE, "index 4294967296 at position 1 is outside"),
    (DATA, INDICES, [0, 3, 2], SHAPE, "indptr decreases from 3 to 2 at row 1"),
    (DATA, INDICES, [0, -2, 3], SHAPE, "indptr decreases from 0 to -2 at row 0"),
    (DATA, INDICES, [1, 2, 3], SHAPE, "indptr begins with 1"),
    (DATA, INDICES, [-1, 2, 3], SHAPE, "indptr begins with -1"),
    (DATA, INDICES, [0, 2, 4], SHAPE, "indptr ends with 4, but there are 3 numbers and 3 indices"),
    (DATA, INDICES, [0, 3], SHAPE, "indptr has 2 elements; for 2 rows it must have 3"),
    (DATA, INDICES, [0, 1, 2, 3], SHAPE, "indptr has 4 elements"),
    (DATA, INDICES, [], SHAPE, "indptr has 0 elements"),
    (DATA[:2], INDICES, INDPTR, SHAPE, "data has 2 elements and indices has 3"),
    (DATA, INDICES, INDPTR, [-2, 3], "negative (lengths|dimensions)"),
    (DATA, INDICES, INDPTR, [2, -3], "negative (lengths|dimensions)"),
    (DATA, INDICES, INDPTR, [2, 3, 1], "two lengths, not 3"),
    (DATA, INDICES, INDPTR, [2, 2], "index 2 at position 1 is outside of 2 columns"),
]


@pytest.fixture(scope="module")
def makers():
    """By mode and format: functions of four vectors that compute with the matrix."""
    data, *positions = T.dvector("data"), *[T.lvector(name) for name in ("indices", "indptr", "shape")]
    made = {}
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        for form in ("csr", "csc"):
            x = sparse.CSM(form)(data, *positions)
            for name, result in (("matrix", x), ("product", sparse.dot(x, T.ones((x.shape[1], 2)))),
                                 ("gradient", phintys.grad(sparse.sp_sum(x * x), data))):
                made[mode, form, name] = phintys.function([data, *positions], result, mode=mode)
    return made


@pytest.mark.parametrize(("data", "indices", "indptr", "shape", "message"), MALFORMED)
def test_matrices_from_variables(makers, data, indices, indptr, shape, message):
    for (_, form, _), f in makers.items():
        lengths = shape if form == "csr" or len(shape) != 2 else shape[::-1]
        words = message if form == "csr" else re.sub("row|column", lambda m: OTHER[m.group()], message)
        with pytest.raises(ValueError, match=words):
            f(numpy.array(data), indices, numpy.array(indptr, "int64"), lengths)
        f(DATA, INDICES, INDPTR, SHAPE if form == "csr" else SHAPE[::-1])       # and nothing was left behind


def test_every_length_of_no_matrix():
    """Arrays of no elements, and matrices of no rows or columns, are refused or make a matrix as in SciPy."""
    data, *positions = T.dvector(), *[T.ivector() for _ in range(3)]
    f = phintys.function([data, *positions], sparse.CSR(data, *positions))
    assert f([], [], [0], [0, 3]).shape == (0, 3) and f([], [], [0, 0], [1, 0]).shape == (1, 0)
    assert f(DATA, INDICES, [0, 1, 2], SHAPE).nnz == 2                      # more numbers than the last row ends with
    with pytest.raises(ValueError, match="outside of 0 columns"):
        f([1.0], [0], [0, 1], [1, 0])


@pytest.mark.parametrize(("change", "message"), [
    (lambda m: m.indices.__setitem__(1, 3), "index 3 at position 1 is outside of 3"),
    (lambda m: m.indices.__setitem__(0, -7), "index -7 at position 0"),
    (lambda m: m.indptr.__setitem__(1, 9), "indptr decreases from 9"),
    (lambda m: m.indptr.__setitem__(0, 1), "indptr begins with 1"),
    (lambda m: setattr(m, "data", m.data[:1]), "there are 1 numbers"),
    (lambda m: setattr(m, "indices", m.indices[:1]), "and 1 indices"),
])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_matrices_that_were_changed_in_place(form, change, message):
    x, d = sparse.SparseType(form, "float64")("x"), numpy.ones((3, 2))
    results = [sparse.dot(x, d), x.toarray(), x.T, x + x, x * x, x[[1, 0]] if form == "csr" else x[:2],
               sparse.hstack([x, x]), sparse.vstack([x, x]), sparse.structured_exp(x), sparse.sp_sum(x, axis=0),
               x[0, 1], x[1:], sparse.csm_data(x), sparse.csm_indptr(x), sparse.diag(x), sparse.remove0(x),
               sparse.structured_dot(x, d), sparse.true_dot(x, x), x[[0, 1], [1, 2]],
               phintys.grad(sparse.sp_sum(sparse.dot(x, x) * x), x)]
    w = phintys.shared(getattr(scipy.sparse, f"{form}_matrix")(numpy.eye(3)), borrow=True)
    of_shared = phintys.function([], sparse.dot(w, d))
    good = getattr(scipy.sparse, f"{form}_matrix")(numpy.eye(3))
    for result in results:
        f = phintys.function([x], result)
        f(good)
        value = good.copy()
        change(value)
        with pytest.raises(ValueError, match=message):
            f(value)
        f(good)
    change(w.get_value(borrow=True))
    with pytest.raises(ValueError, match=message):
        of_shared()


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
def test_matrices_are_checked_before_they_are_converted(form):
    x = sparse.csr_matrix("x", "float64") if form != "csr" else sparse.csc_matrix("x", "float64")
    f = phintys.function([x], sparse.sp_sum(x))
    value = scipy.sparse.csr_matrix(numpy.eye(4)).asformat(form)
    assert f(value) == 4
    for name in ("indices",) if form != "coo" else ("row", "col"):
        broken = value.copy()
        getattr(broken, name)[1] = 1 << 20
        with pytest.raises(ValueError, match="malformed"):
            f(broken)
        with pytest.raises(ValueError, match="malformed"):
            x.type.filter(broken)


def test_gradients_from_their_parts():
    names = ("x_data", "x_indices", "x_indptr", "x_shape", "g_data", "g_indices", "g_indptr", "g_shape")
    operands = [T.dvector(name) if name.endswith("data") else T.ivector(name) for name in names]
    f = phintys.function(operands, sparse.CSMGrad()(*operands), on_unused_input="ignore")
    good = [DATA, INDICES, INDPTR, SHAPE, DATA, INDICES, INDPTR, SHAPE]
    assert f(*good).tolist() == DATA
    for position, wrong in ((1, [0, 3, 1]), (2, [0, 3, 2]), (3, [3, 3]), (4, DATA[:2]), (5, [0, 3, 1]),
                            (5, [0, -4, 1]), (6, [0, 2, 4]), (7, [2, 2])):
        with pytest.raises(ValueError, match="CSMGrad"):
            f(*good[:position], wrong, *good[position + 1:])
