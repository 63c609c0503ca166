"""Cases of sparse ops: a function of variables, its values by SciPy, the operands, and what its gradient is.

Operands are "s" (a sparse matrix, of the format under test), "t" (its transpose's shape), "d" (dense), "v" (a vector as
long as a row), "u" (a vector as long as a column), "q" (square), or arrays.
"""
import numpy
import scipy.sparse
from scipy.special import expit

from phintys import sparse
from phintys.sparse.verification import verify_grad_sparse

SHAPE = (4, 6)
REGULAR, STRUCTURED, NONE = False, True, None


def random_matrix(format, shape=SHAPE, dtype="float64", seed=0, p=0.5):
    """A matrix with about half of the elements stored, all of them between 0.2 and 0.9."""
    rng = numpy.random.RandomState(seed)
    values = rng.uniform(0.2, 0.9, shape) * (rng.uniform(size=shape) < p)
    if numpy.dtype(dtype).kind in "iu":
        values = values * 10
    return scipy.sparse.csr_matrix(values.astype(dtype)).asformat(format)


def operand(kind, format, dtype, seed):
    if not isinstance(kind, str):
        return kind
    rng = numpy.random.RandomState(seed)
    shapes = {"s": SHAPE, "t": SHAPE[::-1], "q": (5, 5), "d": SHAPE, "e": SHAPE[::-1], "v": SHAPE[1:], "u": SHAPE[:1]}
    if kind in "stq":
        return random_matrix(format, shapes[kind], dtype, seed)
    return rng.uniform(-1, 1, shapes[kind]).astype(dtype)


def stored(function):
    """The function of stored elements alone."""
    def apply(x, *others):
        result = x.copy()
        result.data = function(x.data, *others)
        return result
    return apply


def added(x, y):
    result = x.tocoo()
    return scipy.sparse.coo_matrix((result.data + y[result.col], (result.row, result.col)), x.shape)


def at_rows(shape, values, rows):
    dense = numpy.zeros(shape)
    numpy.add.at(dense, rows, values)
    return dense


def of_first(function):
    return lambda x, y: function(x.toarray(), y.toarray() if scipy.sparse.issparse(y) else y).astype("uint8")


ROWS = numpy.array([2, 0, 2])
# name → (function, its values, operands, gradient)
CASES = {
    "dense_from_sparse": (sparse.dense_from_sparse, lambda x: x.toarray(), "s", STRUCTURED),
    "toarray, regular": (sparse.DenseFromSparse(structured=False), lambda x: x.toarray(), "s", REGULAR),
    "csr_from_dense": (sparse.csr_from_dense, scipy.sparse.csr_matrix, "d", REGULAR),
    "csc_from_dense": (sparse.csc_from_dense, scipy.sparse.csc_matrix, "d", REGULAR),
    "sp_ones_like": (sparse.sp_ones_like, stored(numpy.ones_like), "s", NONE),
    "sp_zeros_like": (sparse.sp_zeros_like, lambda x: x * 0, "s", NONE),
    "csm_data": (sparse.csm_data, lambda x: x.data, "s", STRUCTURED),
    "csm_indices": (sparse.csm_indices, lambda x: x.indices, "s", NONE),
    "csm_indptr": (sparse.csm_indptr, lambda x: x.indptr, "s", NONE),
    "csm_shape": (sparse.csm_shape, lambda x: numpy.array(x.shape), "s", NONE),
    "shape": (lambda x: x.shape, lambda x: numpy.array(x.shape), "s", NONE),
    "size": (lambda x: x.size, lambda x: x.data.size, "s", NONE),
    "cast": (lambda x: sparse.cast(x, "float64") * 2.0, lambda x: x.astype("float64") * 2, "s", REGULAR),
    "transpose": (sparse.transpose, lambda x: x.T, "s", REGULAR),
    "neg": (sparse.neg, lambda x: -x, "s", REGULAR),
    "add sparse": (sparse.add, lambda x, y: x + y, "ss", REGULAR),
    "add dense": (sparse.add, lambda x, y: x.toarray() + y, "sd", STRUCTURED),
    "add to dense": (lambda x, y: x + y, lambda x, y: x + y.toarray(), "ds", STRUCTURED),
    "sub sparse": (sparse.sub, lambda x, y: x - y, "ss", REGULAR),
    "sub from dense": (lambda x, y: x - y, lambda x, y: x - y.toarray(), "ds", STRUCTURED),
    "add_s_s_data": (lambda x: sparse.add_s_s_data(x, x), lambda x: 2 * x, "s", STRUCTURED),
    "structured_add_s_v": (sparse.structured_add_s_v, added, "sv", STRUCTURED),
    "mul sparse": (sparse.mul, lambda x, y: x.multiply(y), "ss", REGULAR),
    "mul dense": (sparse.mul, lambda x, y: x.multiply(y), "sd", REGULAR),
    "mul by dense": (lambda x, y: x * y, lambda x, y: y.multiply(x), "ds", REGULAR),
    "mul number": (lambda x: x * 2.5, lambda x: x * 2.5, "s", REGULAR),
    "mul_s_v": (sparse.mul_s_v, lambda x, y: x.multiply(y), "sv", REGULAR),
    "col_scale": (sparse.col_scale, lambda x, y: x.multiply(y), "sv", STRUCTURED),
    "row_scale": (sparse.row_scale, lambda x, y: x.multiply(y[:, None]), "su", STRUCTURED),
    "eq": (sparse.eq, of_first(numpy.equal), "ss", NONE),
    "neq dense": (sparse.neq, of_first(numpy.not_equal), "sd", NONE),
    "lt": (lambda x, y: x < y, of_first(numpy.less), "ss", NONE),
    "le dense": (lambda x, y: x <= y, of_first(numpy.less_equal), "sd", NONE),
    "gt": (lambda x, y: x > y, of_first(numpy.greater), "ss", NONE),
    "ge dense": (lambda x, y: x >= y, of_first(numpy.greater_equal), "sd", NONE),
    "lt of dense": (sparse.lt, lambda x, y: (x < y.toarray()).astype("uint8"), "ds", NONE),
    "sp_sum": (sparse.sp_sum, lambda x: x.sum(), "s", REGULAR),
    "sp_sum, structured": (lambda x: sparse.sp_sum(x, sparse_grad=True), lambda x: x.sum(), "s", STRUCTURED),
    "sp_sum 0": (lambda x: sparse.sp_sum(x, 0), lambda x: numpy.asarray(x.sum(0)).ravel(), "s", REGULAR),
    "sp_sum 1": (lambda x: sparse.sp_sum(x, 1, True), lambda x: numpy.asarray(x.sum(1)).ravel(), "s", STRUCTURED),
    "diag": (sparse.diag, lambda x: x.diagonal(), "q", REGULAR),
    "square_diagonal": (sparse.square_diagonal, lambda v: numpy.diag(v), "v", REGULAR),
    "remove0": (lambda x: sparse.remove0(x * 1.0), lambda x: x, "s", REGULAR),
    "clean": (sparse.clean, lambda x: x, "s", REGULAR),
    "hstack": (lambda x, y: sparse.hstack([x, y]), lambda x, y: scipy.sparse.hstack([x, y]), "ss", REGULAR),
    "vstack": (lambda x, y: sparse.vstack([x, y], "csr"), lambda x, y: scipy.sparse.vstack([x, y]), "ss", REGULAR),
    "construct": (lambda x, y: sparse.construct_sparse_from_list(x, y, ROWS),
                  lambda x, y: at_rows(x.shape, y, ROWS), ("d", numpy.arange(18.0).reshape(3, 6)), NONE),
    "element": (lambda x: x[1, 2], lambda x: x[1, 2], "s", REGULAR),
    "rows": (lambda x: x[[2, 0, 2]], lambda x: x[[2, 0, 2]], "s", REGULAR),
    "rows from the end": (lambda x: x[[-1, -4]], lambda x: x[[-1, -4]], "s", REGULAR),
    "elements": (lambda x: x[[2, 0, 2], [1, -1, 1]], lambda x: numpy.asarray(x[[2, 0, 2], [1, -1, 1]]).ravel(), "s",
                 REGULAR),
    "slices": (lambda x: x[1:, ::-2], lambda x: x[1:, ::-2], "s", REGULAR),
    "slice of rows": (lambda x: x[:2], lambda x: x[:2], "s", REGULAR),
    "dot dense": (sparse.dot, lambda x, y: x @ y, "se", REGULAR),
    "dot of dense": (sparse.dot, lambda x, y: x @ y, "es", REGULAR),
    "dot vector": (sparse.dot, lambda x, y: x @ y, "sv", REGULAR),
    "dot of vector": (sparse.dot, lambda x, y: x @ y, "us", REGULAR),
    "dot sparse": (sparse.dot, lambda x, y: (x @ y).toarray(), "st", REGULAR),
    "true_dot": (sparse.true_dot, lambda x, y: x @ y, "st", REGULAR),
    "true_dot dense": (sparse.true_dot, lambda x, y: x @ y, "se", REGULAR),
    "true_dot of dense": (sparse.true_dot, lambda x, y: x @ y, "es", REGULAR),
    "structured_dot": (sparse.structured_dot, lambda x, y: x @ y, "se", STRUCTURED),
    "structured_dot of dense": (sparse.structured_dot, lambda x, y: x @ y, "es", STRUCTURED),
    "structured_dot sparse": (sparse.structured_dot, lambda x, y: x @ y, "st", STRUCTURED),
    "operator @": (lambda x, y: x @ y, lambda x, y: x @ y, "se", STRUCTURED),
    "sampling_dot": (sparse.sampling_dot, lambda x, y, p: p.multiply(x @ y.T), ("d", numpy.ones((6, 6)), "p"),
                     STRUCTURED),
    "usmm": (lambda x, y, z: sparse.usmm(2.0, x, y, z), lambda x, y, z: 2 * (x @ y) + z,
             ("s", "e", numpy.ones((4, 4))), REGULAR),
}
OF_STORED = {
    "structured_sigmoid": expit, "structured_exp": numpy.exp, "structured_log": numpy.log, "sin": numpy.sin,
    "tan": numpy.tan, "arcsin": numpy.arcsin, "arctan": numpy.arctan, "sinh": numpy.sinh, "arcsinh": numpy.arcsinh,
    "tanh": numpy.tanh, "arctanh": numpy.arctanh, "rint": numpy.rint, "sgn": numpy.sign, "ceil": numpy.ceil,
    "floor": numpy.floor, "log1p": numpy.log1p, "expm1": numpy.expm1, "deg2rad": numpy.deg2rad,
    "rad2deg": numpy.rad2deg, "trunc": numpy.trunc, "sqr": numpy.square, "sqrt": numpy.sqrt, "conj": numpy.conj}
STEPS = {"rint", "sgn", "ceil", "floor", "trunc"}
for _name, _values in OF_STORED.items():
    CASES[_name] = (getattr(sparse, _name), stored(_values), "s", NONE if _name in STEPS else STRUCTURED)
for _name, _values in (("pow", numpy.power), ("minimum", numpy.minimum), ("maximum", numpy.maximum),
                       ("add", numpy.add)):
    CASES[f"structured_{_name}"] = (lambda x, function=getattr(sparse, f"structured_{_name}"): function(x, 0.6),
                                    stored(lambda data, values=_values: values(data, data.dtype.type(0.6))), "s",
                                    STRUCTURED)


def operands_of(name, format, dtype="float64"):
    """The values of a case's operands."""
    found = []
    for seed, kind in enumerate(CASES[name][2]):
        if isinstance(kind, str) and kind == "p":
            found.append(random_matrix(format, (4, 6), dtype, seed))
        else:
            value = operand(kind, format, dtype, seed)
            found.append(value.astype(dtype) if isinstance(value, numpy.ndarray) else value)
    return found


def variables_for(values):
    """Variables of the types of some values."""
    import phintys.tensor as T
    return [sparse.SparseType(value.format, value.dtype)() if scipy.sparse.issparse(value)
            else T.TensorType(value.dtype, (False,) * value.ndim)() for value in values]


def dense(value):
    return value.toarray() if scipy.sparse.issparse(value) else numpy.asarray(value)


__all__ = ["CASES", "NONE", "dense", "operands_of", "random_matrix", "variables_for", "verify_grad_sparse"]
