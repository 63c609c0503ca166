"""The case table of the device: expressions that run there, a few for each kernel that has a twin.

A case is a name, a function of tensors, and the operands' values. `test_cases.py` computes each on the host and on the
device. Float32 unless a case is about another dtype; operands that are not in C order show that strides are followed.
"""
import numpy
import scipy.sparse

import phintys.tensor as T
from phintys import sparse
from phintys.ops.fourier.functions import irfft, rfft
from phintys.ops.random.mrg import mrg_uniform
from phintys.ops.random.mrg_normal import normal_samples
from phintys.ops.random.multinomial import ChoiceFromUniform, MultinomialFromUniform
from phintys.ops.sorting.row_order import RowOrder
from phintys.tensor import nnet
from phintys.tensor import slinalg as S

random = numpy.random.RandomState(42)
TENTH, HALF, TWO = numpy.float32(0.1), numpy.float32(0.5), numpy.float32(2)


def floats(*shape, dtype="float32"):
    return random.uniform(-2, 2, shape).astype(dtype)


def complexes(*shape, dtype="complex64"):
    return (floats(*shape) + 1j * floats(*shape)).astype(dtype)


def positive(*shape):
    return random.uniform(0.1, 3, shape).astype("float32")


def whole(*shape, low=-9, high=10, dtype="int32"):
    return random.randint(low, high, shape).astype(dtype)


def definite(*shape):
    """Matrices that are symmetric and positive definite."""
    x = floats(*shape, shape[-1])
    return x @ numpy.swapaxes(x, -1, -2) / shape[-1] + numpy.eye(shape[-1], dtype="float32")


def shares(*shape):
    """Rows of probabilities."""
    x = positive(*shape)
    return x / x.sum(-1, keepdims=True)


def squared(results):
    """Values, and the squares of vectors."""
    return [result if result.ndim < 2 else result ** 2 for result in results]


def restored(values, vectors):
    """A symmetric matrix from its eigenvalues and vectors."""
    return T.dot(vectors * values, vectors.T)


def gram(results):
    """What shows that singular vectors are orthogonal."""
    u, _, vh = results
    return [T.dot(u.T, u), T.dot(vh, vh.T)]


def transposed(*shape):
    return floats(*shape[::-1]).T


def reversed_rows(*shape):
    return floats(*shape)[::-1, ::2]


LENGTHS = 1, 31, 32, 33, 127, 1000, 4097
EMPTY = numpy.zeros((0, 4), "float32")

SPARSE = scipy.sparse.random(50, 70, 0.2, dtype="float32", random_state=3).multiply(
    numpy.arange(50)[:, None] % 5 != 2).astype("float32")           # some rows are empty

CASES = [
    # ---- exponentials of matrices ----
    ("expm", lambda x: [S.expm(x), S.expm(x * 9), T.grad(S.expm(x).sum(), x)], floats(6, 6)),
    ("expm of a stack", lambda x: [S.expm(x), T.grad(S.expm(x)[1].sum(), x)], floats(3, 5, 5, dtype="float64")),
    ("expm of stacks", lambda x: S.expm(x), floats(2, 3, 4, 4)),
    ("expm of one number, and none", lambda x: [S.expm(x), S.expm(x[:0, :0])], floats(1, 1)),
    ("expm of what is not finite", lambda x: S.expm(x), numpy.array([
        [[0, numpy.nan], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [numpy.inf, 0]], [[-3e4, 0], [0, 1]]], "float32")),
    # ---- constant sparse matrices ----
    *[(f"sparse {kind}", lambda x, f=f, a=a: [f(a, x), T.grad((f(a, x) ** 2).sum(), x)], value)
      for kind, f, a, value in (
          ("product", sparse.dot, SPARSE.tocsr(), floats(70, 33)),
          ("product of few columns", sparse.structured_dot, SPARSE.tocsc(), floats(70, 3)),
          ("product of a vector", sparse.dot, SPARSE.tocsc(), floats(70)),
          ("product of strides", sparse.structured_dot, SPARSE.tocsr(), transposed(70, 12)),
          ("product of doubles", sparse.dot, SPARSE.tocsr(), floats(70, 9, dtype="float64")),
          ("product on the right", lambda a, x: sparse.dot(x, a.T), SPARSE.tocsr(), floats(33, 70)),
          ("product of a row", lambda a, x: sparse.dot(x, a.T), SPARSE.tocsc(), floats(70)),
          ("product of nothing", sparse.dot, SPARSE.tocsr(), floats(70, 0)))],
    # ---- functions that only the device has text for ----
    ("gamma functions", lambda x: [T.gamma(x), T.psi(x), T.tri_gamma(x), T.polygamma(3, abs(x))],
     numpy.array([0.3, 1.4616, 2.5, 7, 20, 33, -0.5, -1.7, 1e-3], "float32")),
    ("gamma functions, doubles", lambda x: [T.gamma(x), T.psi(x), T.tri_gamma(x)],
     numpy.array([0.3, 1.5, 2.5, 7, 20, 33, -0.5, -1.7, 1e-3, 0, -0.0, -2, numpy.nan, 1e5])),
    ("normal distribution", lambda x: [T.ndtr(x), T.log_ndtr(x), T.erfcx(abs(x)), T.erfinv(T.tanh(x)),
                                       T.ndtri(nnet.sigmoid(x)), T.erfcinv(nnet.sigmoid(x))],
     numpy.array([-9, -3, -1, -0.5, 0.0, 0.2, 1, 3, 5], "float32")),
    ("Bessel functions", lambda x: [T.i0(x), T.i1(x), T.j0(x), T.j1(x)],
     numpy.array([-5, -1, 0, 0.5, 3, 12], "float32")),
    ("logit and entropy", lambda x: [T.logit(x), T.entr(x), T.entr(x - 0.5)],
     numpy.array([0, 1e-6, 0.2, 0.31, 0.5, 0.6, 0.7, 1], "float32")),
    ("of halves", lambda x: [T.psi(x), T.gamma(x), T.logit(x / 8)], numpy.array([0.5, 1, 3, 7], "float16")),
    # ---- elementwise ----
    ("chain", lambda x, y: T.tanh(x * y + 1) - T.exp(-x), floats(33, 7), floats(33, 7)),
    ("bias", lambda x, b: T.nnet.sigmoid(x + b), floats(300, 5), floats(5)),
    ("column", lambda x, b: x * b.dimshuffle(0, "x"), floats(6, 5), floats(6)),
    ("transposed", lambda x, y: x.T + y, floats(40, 30), floats(30, 40)),
    ("strided", lambda x, y: x[::-1, ::2] * y, floats(8, 10), floats(8, 5)),
    ("layouts", lambda x, y: x + y, transposed(5, 6), reversed_rows(5, 12)),
    ("rank 4", lambda x, y: (x + y.dimshuffle(1, 0, "x", 2)).transpose(3, 1, 0, 2) * 2, floats(2, 3, 4, 5),
     floats(3, 2, 5)),
    ("two results", lambda x: [T.exp(x), T.exp(x) * 2 + x], floats(50)),
    ("numbers", lambda x, a: x * a + a, floats(9), numpy.asarray(floats())),
    ("numbers alone", lambda a, b: T.exp(a) * b, numpy.asarray(floats()), numpy.asarray(floats())),
    ("switch", lambda x, y: T.switch(T.gt(x, y), x, -y), floats(20), floats(20)),
    ("clip", lambda x: T.clip(x, -1, 1), floats(20)),
    ("comparisons", lambda x, y: [T.le(x, y), T.eq(x, x), T.and_(T.lt(x, y), T.gt(x, 0))], floats(20), floats(20)),
    ("casts", lambda x: [T.cast(x, "int32"), T.cast(x, "float64"), T.cast(x, "bool"), T.cast(x, "float16")],
     floats(20)),
    ("integers", lambda x, y: [x // y, x % y, x * y, T.maximum(x, y), abs(x), T.sgn(x)], whole(30), whole(30, low=1)),
    ("bits", lambda x, y: [x & y, x | y, x ^ y, ~x], whole(30, dtype="int64"), whole(30, dtype="int64")),
    ("uint8", lambda x, y: [x + y, x - y, T.minimum(x, y)], whole(30, low=0, high=255, dtype="uint8"),
     whole(30, low=0, high=255, dtype="uint8")),
    ("float64", lambda x, y: T.log1p(T.exp(x)) * y, floats(30, dtype="float64"), floats(30, dtype="float64")),
    ("float16", lambda x, y: T.tanh(x) * y, floats(30, dtype="float16"), floats(30, dtype="float16")),
    ("complex", lambda x, y: [x + y * 2, x * y / (y + 1), T.conj(x) - y, abs(x), T.real(x), T.imag(y), T.exp(x),
                              T.sqrt(x), T.log(y), T.eq(x, y), -x ** 2, T.angle(x),
                              T.switch(T.gt(abs(x), 1), x, y.T.T)],
     complexes(7, 8), complexes(7, 8)),
    ("complex128", lambda x, y: [x.T * y[0, 0], x[::-1, ::2] + 1, T.concatenate([x, y]), T.real(x * y).sum(0),
                                 T.complex_from_polar(abs(x), T.angle(y))],
     complexes(6, 6, dtype="complex128"), complexes(6, 6, dtype="complex128")),
    ("empty", lambda x: T.exp(x) + 1, EMPTY),
    # ---- reductions ----
    ("sum", lambda x: [x.sum(), x.sum(0), x.sum(1), x.sum(1, keepdims=True)], floats(33, 65)),
    ("sum of many", lambda x: [x.sum(), x.sum(0)], floats(3000, 4)),
    ("sum of a line", lambda x: (x ** 2).sum(), floats(5000)),
    ("sum of a product", lambda x, y: (x * y).sum(0), floats(40, 30), floats(40, 30)),
    ("sum of transposed", lambda x, y: (x.T * y).sum(1), floats(40, 30), floats(30, 40)),
    ("sum over middle axes", lambda x: [x.sum((0, 2)), x.sum(1), x.max((1, 3)), x.sum((0, 3))], floats(3, 4, 5, 6)),
    ("extrema", lambda x: [x.max(), x.min(), x.max(0), x.min(1)], floats(40, 35)),
    ("mean", lambda x: [x.mean(), x.mean(0), x.mean(1)], floats(12, 13)),
    ("product", lambda x: [x.prod(0), x.prod(1)], floats(4, 5)),
    ("any and all", lambda x: [T.gt(x, 1.9).any(1), T.gt(x, -1.9).all(0)], floats(30, 20)),
    ("sum of integers", lambda x: [x.sum(), x.sum(0), x.max(1)], whole(20, 30)),
    ("sum of float64", lambda x: x.sum(1), floats(20, 300, dtype="float64")),
    ("sum of float16", lambda x: x.sum(1), floats(20, 30, dtype="float16")),
    ("sum of nothing", lambda x: [x.sum(), x.sum(0), x.sum(1)], EMPTY),
    ("sum of a strided array", lambda x: x[::-1, ::2].sum(0), floats(30, 40)),
    ("sum of complex numbers", lambda x: [x.sum(), x.sum(0), x.mean(1), x.prod(1), x.T.sum(0)], complexes(9, 40)),
    # ---- products ----
    ("dot of complex numbers", lambda x, y: [T.dot(x, y), T.dot(x.T, x), T.dot(x, y[:, 0])], complexes(20, 30),
     complexes(30, 7)),
    ("dot of complex128", lambda x, y: T.dot(x, y), complexes(5, 6, dtype="complex128"),
     complexes(6, 7, dtype="complex128")),
    ("dot", lambda x, y: T.dot(x, y), floats(70, 33), floats(33, 130)),
    ("dot of transposed", lambda x, y: T.dot(x.T, y.T), floats(33, 20), floats(30, 33)),
    ("gemm", lambda z, x, y: z * HALF + TWO * T.dot(x, y), floats(17, 19), floats(17, 5), floats(5, 19)),
    ("large dot", lambda x, y: [T.dot(x, y), T.dot(y.T, x.T), T.dot(x[:, ::2], y[::-2])],
     floats(40, 44), floats(44, 72)),
    ("large gemm", lambda z, x, y: [z * HALF + TWO * T.dot(x, y), z[::-1] - T.dot(x * x, y),
                                    z.T + T.dot(y.T * y.T, x.T), z[:, 1:] + T.dot(-x, y[:, 1:]),
                                    z[0] + T.dot(x + 1, y), z[:4] + T.dot(x[:4] * 3, y)],
     floats(40, 72), floats(40, 44), floats(44, 72)),
    ("large gemm of float64", lambda z, x, y: z[:, 2:] + T.dot(x.T, y), floats(40, 74, dtype="float64"),
     floats(44, 40, dtype="float64"), floats(44, 72, dtype="float64")),
    ("gemm with a row", lambda z, x, y: z.dimshuffle("x", 0) + T.dot(x, y), floats(19), floats(17, 5), floats(5, 19)),
    ("gemm with a column", lambda z, x, y: z.dimshuffle(0, "x") + T.dot(x, y), floats(17), floats(17, 5),
     floats(5, 19)),
    ("scaled", lambda x, y, a: a * T.dot(x, y), floats(7, 5), floats(5, 9), numpy.asarray(floats())),
    ("narrow dots", lambda x, y: [T.dot(x, y), T.dot(x, y[:, :2]), T.dot(x[:2], y[:, ::-3]), T.dot(x[:, ::-1], y)],
     floats(37, 333), floats(333, 32)),
    ("narrow dots of 10 columns", lambda x, y: [T.dot(x, y), T.dot(x[:31, :31], y[:31]), T.dot(x[::2], y)],
     floats(33, 784), floats(784, 10)),
    ("narrow dots of parts of rows", lambda x, y: [T.dot(x, y[:, :10]), T.dot(x, y[:, 1:11]), T.dot(x, y[:, 1:12]),
                                                   T.dot(x[::2].T, y[:17, :6]), T.dot(x[::2].T, y[:17, 1:7])],
     floats(33, 70), floats(70, 12)),
    ("narrow dots of transposed", lambda x, y: [T.dot(x.T, y), T.dot(x.T[:9], y[:, :3]), T.dot(x[:1].T, y[:1])],
     floats(65, 41), floats(65, 10)),
    ("dots of few terms", lambda x, y: [T.dot(x, y.T), T.dot(x[:, :1], y[:, :1].T), T.dot(y[::-1, 3:], x[:, 3:].T)],
     floats(33, 10), floats(131, 10)),
    ("dots of few terms of float64", lambda x, y: [T.dot(x.T, y), T.dot(x.T, y[:, :11])],
     floats(32, 45, dtype="float64"), floats(32, 130, dtype="float64")),
    ("narrow gemm", lambda z, x, y: [z - TENTH * T.dot(x.T, y), z * HALF + T.dot(x.T, y), z.T + T.dot(y.T, x)],
     floats(41, 10), floats(65, 41), floats(65, 10)),
    ("gemm of few terms", lambda z, x, y: [z - TENTH * T.dot(x.T, y), z.T[::-1].T + T.dot(x.T, y)], floats(41, 70),
     floats(32, 41), floats(32, 70)),
    ("matrix times vector", lambda x, y: T.dot(x, y), floats(70, 333), floats(333)),
    ("vector times matrix", lambda x, y: T.dot(y, x), floats(70, 33), floats(70)),
    ("gemv", lambda z, x, y: z - TENTH * T.dot(x.T, y), floats(33), floats(70, 33), floats(70)),
    ("inner", lambda x, y: T.dot(x, y), floats(1000), floats(1000)),
    ("outer", lambda a, x, y: a + HALF * T.outer(x, y), floats(20, 30), floats(20), floats(30)),
    ("dot of float64", lambda x, y: T.dot(x, y), floats(20, 30, dtype="float64"), floats(30, 7, dtype="float64")),
    ("dot of integers", lambda x, y: T.dot(x, y), whole(20, 30), whole(30, 7)),
    ("dot of nothing", lambda x, y: T.dot(x, y), floats(3, 0), floats(0, 4)),
    # ---- moving ----
    ("reshape", lambda x: [x.reshape((20, 6)), x.T.reshape((4, 30)), x.flatten()], floats(10, 12)),
    ("alloc", lambda x: T.alloc(x, 3, 4, 5) + x, floats(4, 5)),
    ("alloc of a length of 1", lambda x: [T.alloc(x, 4, 5), T.grad((T.alloc(x, 4, 5) ** 2).sum(), x)], floats(1, 5)),
    ("join", lambda x, y: [T.concatenate([x, y, x]), T.concatenate([x.T, y.T], axis=1)], floats(3, 5), floats(7, 5)),
    ("split", lambda x: [part * 2 for part in T.split(x, [2, 3], 2, axis=1)], floats(4, 5)),
    ("slices", lambda x: [x[2] + 1, x[1:, ::-1] * 2, x[-1, 2:4] + x[0, 0]], floats(5, 6)),
    ("stack", lambda x: T.stack([x.sum(), x.max()]), floats(5, 6)),
    ("stack of many numbers", lambda x, y: [T.stack([x[i, i] for i in range(70)]),
                                            T.stack([y[i, -i] for i in range(33)])],
     floats(70, 70), numpy.arange(1600, dtype="int8").reshape(40, 40)),
    # ---- parts and positions ----
    ("set a part", lambda x, y: [T.set_subtensor(x[1:3], y), T.set_subtensor(x[::-1, 2], y[0, 0]),
                                 T.set_subtensor(x[5:], 1)], floats(5, 6), floats(2, 6)),
    ("add to a part", lambda x, y: [T.inc_subtensor(x[1:3], y), T.inc_subtensor(x[2, ::2], y[0, ::2]),
                                    T.inc_subtensor(x[:, 1:2], y[0, 0])], floats(5, 6), floats(2, 6)),
    ("gradient of a slice", lambda x: T.grad((x[1:4, ::-2] ** 2).sum() + x[0, 0], x), floats(5, 6)),
    ("argmax", lambda x: [x.argmax(), x.argmax(0), x.argmax(1), x.argmin(1)], whole(30, 200, low=-50, high=50)),
    ("argmax of floats", lambda x: [x.argmax(axis=(0, 2)), x[::-1, ::2].argmin(0), x.T.argmax()], floats(4, 5, 300)),
    ("argmax and max", lambda x: T.max_and_argmax(x, axis=1), floats(7, 300)),
    # ---- softmax and cross-entropies ----
    ("softmax", lambda x: [nnet.softmax(x), nnet.softmax(x.T)], floats(7, 300)),
    ("softmax with a bias", lambda x, b: nnet.softmax(x + b), floats(7, 10), floats(10)),
    ("logsoftmax", lambda x: nnet.logsoftmax(x), floats(7, 10)),
    ("softmax's gradient", lambda x, y: T.grad((nnet.softmax(x) * y).sum(), x), floats(7, 10), floats(7, 10)),
    ("cross-entropy", lambda x, b, y: nnet.crossentropy_softmax_argmax_1hot_with_bias(x, b, y), floats(7, 10),
     floats(10), whole(7, low=0)),
    ("cross-entropy's gradient", lambda x, y: T.grad(nnet.categorical_crossentropy(nnet.softmax(x), y).mean(), x),
     floats(7, 10), whole(7, low=0, dtype="int64")),
    ("loss of probabilities", lambda x, y: [nnet.categorical_crossentropy(x, y),
                                            T.grad(nnet.categorical_crossentropy(x, y).sum(), x)],
     positive(7, 10), whole(7, low=0, dtype="uint8")),
    # ---- batch normalization ----
    ("batch normalization", lambda x, g, b, m, v: nnet.batch_normalization_train(x, g, b, "per-activation", 1e-3, 0.2,
                                                                                    m, v),
     floats(12, 5), positive(1, 5), floats(1, 5), floats(1, 5), positive(1, 5)),
    ("batch normalization of images", lambda x, g, b: nnet.batch_normalization_train(x, g, b, "spatial"),
     floats(3, 4, 5, 6), positive(1, 4, 1, 1), floats(1, 4, 1, 1)),
    ("batch normalization's gradient", lambda x, g, b, y: T.grad((nnet.batch_normalization_train(
        x, g, b, "spatial")[0] * y).sum(), [x, g, b]), floats(3, 4, 5, 6), positive(1, 4, 1, 1), floats(1, 4, 1, 1),
     floats(3, 4, 5, 6)),
    ("batch normalization for given moments", lambda x, g, b, m, v: nnet.batch_normalization_test(
        x, g, b, m, v, "per-activation"), transposed(12, 5), positive(1, 5), floats(1, 5), floats(1, 5),
     positive(1, 5)),
    # ---- lines ----
    ("cumulative", lambda x, y: [T.cumsum(x), T.cumsum(x, 0), T.cumsum(x.T, 0), T.cumprod(y, 1)],
     whole(7, 300, dtype="float32"), floats(7, 300)),
    ("cumulative sums of lines of all lengths", lambda x: [
        T.cumsum(x[:, :n], 1) for n in (1, 31, 33, 127, 1000, 1025, 4097, 5000)],
     whole(3, 5000, dtype="float32")),
    ("cumulative sums of a few long lines", lambda x, y: [
        T.cumsum(x), T.cumsum(x[1:]), T.cumsum(x.reshape((2, 25000)), 1), T.cumprod(y * TENTH + 1, 1)],
     whole(50000, dtype="float32"), floats(3, 17001, dtype="float64")),
    ("cumulative sums beside each other", lambda x, y: [
        T.cumsum(x, 0), T.cumsum(x[::-1, 1::2], 0), T.cumsum(x.dimshuffle(1, 0), 1), T.cumsum(y, 1), T.cumsum(y, 0),
        T.cumsum(y[:, ::2, ::-1]), T.cumsum(x[:0], 0), T.cumsum(x[:, :0], 1)],
     whole(3000, 3, dtype="float32"), floats(2, 70, 5)),
    ("cumulative sums of all dtypes", lambda i, j, k, x: [
        op(y, axis) for y in (i, j, k, T.cast(x, "float64")) for op, axis in (
            (T.cumsum, 0), (T.cumsum, 1), (T.cumsum, None), (T.cumprod, 1))] + [
        T.cumsum(x, 1), T.cumsum(x, 0), T.cumprod(x, 1)],
     whole(3, 333, dtype="int8"), whole(3, 333), whole(3, 333, low=0, dtype="uint16"),
     (floats(12, 40) * TENTH).astype("float16")),
    ("cumulative sums of float16", lambda x, y: [T.cumsum(x), T.cumsum(x.reshape((2, 10000)), 1), T.cumsum(y, 0)],
     whole(20000, low=-1, high=2, dtype="float16"), whole(3000, 3, low=-1, high=2, dtype="float16")),
    ("cumulative sums without numbers", lambda x: [T.cumsum(x, 1), T.cumprod(x, 1), T.cumsum(x)], numpy.array(
        [[-0., -0., 1, numpy.inf, 2, -numpy.inf, 3], [0, numpy.nan, 2, 3, 4, 0, 1]], "float32")),
    ("cumulative integers", lambda x: [T.cumsum(x, 1), T.cumprod(x, 0)], whole(4, 30, dtype="int64")),
    ("differences", lambda x: [T.extra_ops.diff(x, axis=0), T.extra_ops.diff(x.T)], floats(5, 6)),
    ("searchsorted", lambda x, y: [T.extra_ops.searchsorted(x, y), T.extra_ops.searchsorted(x, y, side="right")],
     numpy.sort(floats(30)).round(1), floats(4, 5).round(1)),
    # ---- positions ----
    ("rows", lambda x, i: [x[i], x.T[i[:3]]], floats(9, 11), whole(12, low=-9, high=9)),
    ("advanced indices", lambda x, i, j: [x[i, 1:, j], x[i.dimshuffle(0, "x"), j], x[:, i, ::2], x[2, i]],
     floats(9, 9, 9), whole(6, low=-9, high=9), whole(6, low=0, high=9, dtype="int64")),
    ("add at positions", lambda x, y, i: [T.inc_subtensor(x[i], y), T.inc_subtensor(x[:, i], y[0, 0]),
                                          T.inc_subtensor(x[1:, i], y[:, :1])], floats(8, 8), floats(7, 8),
     whole(7, low=-8, high=8)),
    ("set at positions", lambda x, y, i, j: [T.set_subtensor(x[i], y), T.set_subtensor(x[i, j], 2)], floats(8, 8),
     floats(7, 8), whole(7, low=-8, high=8), whole(7, low=0, high=8)),
    ("add bytes at positions", lambda x, y, i: T.inc_subtensor(x[i], y), whole(8, dtype="int8"),
     whole(17, dtype="int8"), whole(17, low=0, high=8)),
    ("choose", lambda i, x, y: [T.choose(i, [x, y, x + y], mode="wrap"), T.choose(i, [x[0], y, x], mode="clip")],
     whole(4, 5, low=-5, high=9), floats(4, 5), floats(4, 5)),
    ("hinge loss", lambda x, y: [nnet.multiclass_hinge_loss(x, y), T.grad(nnet.multiclass_hinge_loss(x, y).sum(), x)],
     floats(7, 5), whole(7, low=0, high=5)),
    ("places of true elements", lambda x, y: [
        *T.gt(x, 0).nonzero(), *T.gt(y, 1).nonzero(), *T.gt(y[:, ::-1, 1:], 1).nonzero(), *T.gt(x, 9).nonzero(),
        *T.gt(x[1:], -9).nonzero(), *T.gt(x[:0], 0).nonzero()], floats(10000), floats(7, 30, 11)),
    ("boolean masks", lambda x, m: [
        x[m], x[::-1][m], x.T[m.T], T.cast(x, "float16")[m], x[:0][m[:0]], x[T.gt(x[:, 0], 0)],
        x.T[:, m[:, 0]], T.grad((x[m] ** 2).sum(), x), T.set_subtensor(x[m], x[m] * 2),
        T.inc_subtensor(x[m[:, 0]], x[0]), T.set_subtensor(x[::-1, 1:][m[:, 1:]], HALF)],
     floats(40, 30), whole(40, 30, low=0, high=2, dtype="bool")),
    ("one number where a mask is true", lambda x, m, a: [
        T.set_subtensor(x[m], 0), T.inc_subtensor(x[m], a), T.set_subtensor(x[m[:, 0]], 2),
        T.set_subtensor(x.T[m.T[::-1]], -1), T.inc_subtensor(T.cast(x, "float16")[m], 1)],
     floats(40, 30), whole(40, 30, low=0, high=2, dtype="bool"), numpy.asarray(floats())),
    ("repeat by counts", lambda x, n: [T.repeat(x, n, axis=0), T.repeat(x.T, n[:4], axis=0), T.repeat(x, n[:4], axis=1),
                                       T.repeat(x[:, 0], n), T.repeat(x > 0, n * 0, axis=0),
                                       T.grad((T.repeat(x, n, axis=0) ** 2).sum(), x)],
     floats(9, 4), whole(9, low=0, high=4, dtype="int64")),
    # ---- images ----
    ("pool", lambda x: [T.signal.pool.pool_2d(x, (2, 3), mode=mode, ignore_border=border, stride=(2, 1))
                        for mode in ("max", "sum", "average_inc_pad", "average_exc_pad") for border in (True, False)],
     floats(2, 3, 7, 8)),
    ("pool with padding", lambda x: [T.signal.pool.pool_2d(x, (3, 3), mode=mode, ignore_border=True, stride=(2, 2),
                                                           pad=(1, 2)) for mode in ("max", "average_exc_pad")],
     floats(2, 7, 8)),
    ("gradients of pool", lambda x, y: [T.grad((T.signal.pool.pool_2d(
        x, (3, 2), mode=mode, ignore_border=True, stride=(2, 1)) * y).sum(), x)
        for mode in ("max", "sum", "average_inc_pad", "average_exc_pad")], floats(2, 7, 8), floats(2, 3, 7)),
    ("neighbourhoods", lambda x: [nnet.neighbours.images2neibs(x, (2, 3), (1, 2), mode="ignore_borders"),
                                  nnet.neighbours.images2neibs(x, (3, 3), (2, 2), mode="wrap_centered")],
     floats(2, 3, 7, 8)),
    ("gradient of neighbourhoods", lambda x, y: T.grad((nnet.neighbours.images2neibs(
        x, (3, 3), (2, 2), mode="wrap_centered") * y).sum(), x), floats(2, 3, 7, 8), floats(96, 9)),
    ("convolution", lambda x, w: [nnet.conv2d(x, w), nnet.conv2d(x, w, border_mode="half", subsample=(2, 1)),
                                  nnet.conv2d(x, w, border_mode="full", filter_flip=False, filter_dilation=(1, 2))],
     floats(2, 3, 7, 8), floats(4, 3, 3, 2)),
    ("convolution with a bias", lambda x, w, b: nnet.relu(nnet.conv2d(x, w, border_mode=(1, 2))
                                                          + b.dimshuffle("x", 0, "x", "x")),
     floats(2, 3, 7, 8), floats(4, 3, 3, 2), floats(4)),
    ("convolution in groups", lambda x, w, y: [T.grad((nnet.conv2d(x, w, num_groups=2) * y).sum(), v) for v in (x, w)],
     floats(2, 4, 6, 7), floats(6, 2, 3, 2), floats(2, 6, 4, 6)),
    ("gradients of convolution", lambda x, w, y: [T.grad((nnet.conv2d(
        x, w, border_mode="half", subsample=(2, 2)) * y).sum(), v) for v in (x, w)],
     floats(2, 3, 7, 8), floats(4, 3, 3, 3), floats(2, 4, 4, 4)),
    ("convolution in several tiles", lambda x, w, y: [nnet.conv2d(x, w, border_mode="half"), *[T.grad((nnet.conv2d(
        x, w, border_mode="half") * y).sum(), v) for v in (x, w)]],
     floats(2, 70, 6, 9), floats(66, 70, 3, 1), floats(2, 66, 6, 9)),
    ("convolution of volumes", lambda x, w: nnet.conv3d(x, w, border_mode="half"), floats(1, 2, 4, 5, 6),
     floats(3, 2, 3, 3, 3)),
    # ---- sorting ----
    ("sort", lambda x: [T.sort(x), T.sort(x, 0), T.sort(x.T, axis=None), T.argsort(x, kind="stable"),
                        T.argsort(x, 0, kind="stable")],
     numpy.where(floats(7, 300) > 1.9, numpy.nan, floats(7, 300)).astype("float32")),
    ("sort integers", lambda x: [T.sort(x), T.argsort(x, 1, kind="stable")], whole(7, 70)),
    ("sort lines of all lengths", lambda x: [
        f(x[:, :n], axis=1) for n in (1, 31, 33, 1000, 1025, 4097)
        for f in (T.sort, lambda y, axis: T.argsort(y, axis, kind="stable"))],
     numpy.where(floats(3, 4100) > 1.9, numpy.nan, floats(3, 4100).round(2)).astype("float32")),
    ("sort long lines", lambda x, y: [
        T.sort(x), T.argsort(x, kind="stable"), T.sort(y, 1), T.argsort(y, 1, kind="stable"), T.topk(x, 9),
        T.sort(x[1:4099]), T.sort(y[:, ::-1], 1), T.sort(y.T, 0)],
     whole(6150, low=-999, high=999), floats(2, 4100).round(2)),
    ("sort all dtypes", lambda *values: [
        f(x, 1) for x in values for f in (T.sort, lambda y, axis: T.argsort(y, axis, kind="stable"))],
     *[whole(5, 20, low=-99, high=99, dtype=dtype) for dtype in ("int8", "int16", "int64", "float16", "float64")],
     *[whole(5, 20, low=0, high=99, dtype=dtype) for dtype in ("uint8", "uint16", "uint64", "bool")]),
    ("sort lines of float64", lambda x: [T.sort(x), T.argsort(x[:, :300], kind="stable")],
     floats(2, 4100, dtype="float64").round(2)),
    ("sort what is no number", lambda x: [T.sort(x), T.argsort(x, kind="stable"), 1 / T.sort(abs(x), 1)], numpy.array([
        [0., -0., numpy.inf, -numpy.inf, numpy.nan, -numpy.nan, 1e-45, -1e-45, 0., -0., numpy.nan, 5]], "float32")),
    ("sort nothing", lambda x: [T.sort(x, 0), T.sort(x, 1), T.argsort(x, 0)], EMPTY),
    ("topk", lambda x: [*T.topk_and_argtopk(x, 5), T.topk(x, -3, axis=0), T.argtopk(x, 4, axis=0)], floats(7, 300)),
    # The elements of a partition beside the chosen ones may be elsewhere: they are sorted.
    ("partition", lambda x: [T.partition(x, (3, -5))[:, 3], T.sort(T.partition(x, 7, axis=0)[:7], 0),
                             T.partition(x, 2, axis=None)[2], x[T.arange(11), T.argpartition(x, 4)[:, 4]],
                             T.median(x, axis=1)], floats(11, 70)),
    ("order of rows", lambda x, y: [RowOrder()(x), RowOrder()(y.T), RowOrder()(x[:, :0]), RowOrder()(x[::-1, :1])],
     whole(200, 3, low=0, high=3), floats(2, 50).round()),
    ("bincount", lambda x, w: [T.bincount(x), T.bincount(x, w, minlength=30)], whole(300, low=0, high=20),
     floats(300)),
    ("flat positions", lambda i, j: [*T.unravel_index(i, (5, 4, 7)),
                                     *T.unravel_index(i[::-1, ::2], (140, 1), order="F"),
                                     T.ravel_multi_index((j, j[:, :1]), (4, 9)),
                                     T.ravel_multi_index((i, j), (4, 9), mode="wrap", order="F"),
                                     T.ravel_multi_index((i - 20, j), (4, 9), mode="clip")],
     whole(6, 5, low=0, high=140, dtype="int64"), whole(6, 5, low=0, high=4, dtype="int64")),
    # ---- Fourier transforms ----
    ("Fourier transforms", lambda x: [T.fft.fft(x), T.fft.ifft(x, axis=0), rfft(T.real(x)),
                                      rfft(T.real(x), axis=0, norm="ortho"), irfft(x), irfft(x, 29),
                                      T.fft.fft(x, 45), T.fft.fft(x.T, 5, norm="ortho"), T.fft.fft2(x[::-1, ::3]),
                                      T.fft.ifft(x, 1)],
     complexes(7, 30)),
    ("long Fourier transforms", lambda x: [rfft(x), irfft(rfft(x), 3001), T.fft.ifft(x[0] + 0j)],
     floats(2, 3000)),
    ("many Fourier transforms at an address for real numbers", lambda x: [
        rfft(x[1:].reshape((280, 60))), rfft(T.cast(x, "float64")[1:].reshape((280, 60)))], floats(16801)),
    ("many Fourier transforms", lambda x, z: [
        rfft(x), rfft(x, norm="ortho"), rfft(x[:, ::-1], 60), rfft(x.T, axis=0), rfft(x, 41), irfft(z, 60),
        irfft(z, 59), irfft(z.T, 60, axis=0), irfft(z[:, :20], 60), T.fft.fft(z), T.fft.ifft(z), T.fft.fft(z, axis=0),
        T.fft.ifft(z[:, ::2], 31), T.fft.fft(x)], floats(560, 60), complexes(560, 31)),
    ("many Fourier transforms of float64", lambda x, z: [
        T.fft.rfft2(x), T.fft.irfft2(T.fft.rfft2(x)), T.fft.fft(z.dimshuffle(1, 0, 2), axis=1), T.fft.fft(z * 1j)],
     floats(12, 30, 50, dtype="float64"), complexes(12, 31, 60, dtype="complex128")),
    ("Fourier transforms of float64", lambda x, a: [T.fft.rfft2(x), T.fft.irfft2(T.fft.rfft2(x)),
                                                    T.fft.fft(x + 0j) * a],
     floats(16, 23, dtype="float64"), numpy.asarray(2.)),
    ("gradients of Fourier transforms", lambda x, y: [T.grad((abs(rfft(x, 40)) ** 2 * y).sum(), x),
                                                      T.grad((irfft(rfft(x) * y[0, :16]) ** 3).sum(), x)],
     floats(5, 30), floats(5, 21)),
    # ---- random ----
    ("multinomial from uniform numbers", lambda p, u: [
        MultinomialFromUniform("auto")(p, u, 3), MultinomialFromUniform("int64")(p.T.T, u[::-1], 3),
        ChoiceFromUniform("auto", replace=True)(p, u, 3), ChoiceFromUniform("float32")(p, u, 3)],
     shares(9, 12), random.uniform(0, 1, 27).astype("float32")),
    ("MRG", lambda s: [*mrg_uniform.new(s, 2, "float32", (5, 3)), *mrg_uniform.new(s, 1, "float64", (2,)),
                      *mrg_uniform.new(s, 2, "float16", (4, 40))],
     numpy.random.RandomState(5).randint(1, 2 ** 31 - 21069, (60, 6)).astype("int32")),
    ("MRG with several threads a stream", lambda s: [
        *mrg_uniform.new(s, 1, "float32", (4999,)), *mrg_uniform.new(s, 2, "float64", (50, 33)),
        *normal_samples(s, 1, "float64", (2001,)), *normal_samples(s, 1, "float32", (4000,)),
        *mrg_uniform.new(s, 1, "float16", (0,))],
     numpy.random.RandomState(5).randint(1, 2 ** 31 - 21069, (60, 6)).astype("int32")),
    ("normal numbers of MRG", lambda s: [
        *normal_samples(s, 2, "float32", (5, 3)), *normal_samples(s, 1, "float64", (2,)),
        *normal_samples(s, 1, "float64", (301,))],
     numpy.random.RandomState(5).randint(1, 2 ** 31 - 21069, (60, 6)).astype("int32")),
    # ---- rearranging ----
    ("tile and repeat", lambda x: [T.tile(x, (2, 1, 3)), T.repeat(x, 3, axis=1), T.repeat(x, 2)], floats(4, 5)),
    ("diagonals", lambda x, v: [T.diag(x), T.diag(v), T.diagonal(x, 1), T.tril(x), T.triu(x, 1),
                                T.fill_diagonal(x, HALF), T.fill_diagonal_offset(x, HALF, -1)],
     floats(5, 6), floats(4)),
    ("gradient of a diagonal", lambda x, v: T.grad((T.diag(x) * v).sum() + T.repeat(v, 2).prod(), [x, v]), floats(5, 5),
     floats(5)),
    ("ranges and ones on a diagonal", lambda x: [x * T.arange(6), T.dot(x, T.eye(6, 4, 1, dtype="float32")),
                                                 T.dot(x, T.tri(6, 5, -1, dtype="float32")),
                                                 x + T.arange(0.5, 3.5, 0.5, dtype="float32")], floats(5, 6)),
    ("batched dot of float64", T.batched_dot, floats(3, 2, 5, dtype="float64"), floats(3, 5, 4, dtype="float64")),
    ("batched backwards", lambda x, y: T.batched_dot(x[::-1], y), floats(3, 2, 5), floats(3, 5, 4)),
    ("batched of integers", T.batched_dot, whole(3, 2, 5), whole(3, 5, 4)),
    ("float16 dots", lambda x, y: [T.dot(x, y), T.dot(x, y[:, 0]), T.batched_dot(x.dimshuffle("x", 0, 1),
                                                                               y.dimshuffle("x", 0, 1))],
     floats(3, 5, dtype="float16"), floats(5, 4, dtype="float16")),
    ("float16 dots of any strides", lambda x, y: [
        T.dot(x[::2, ::-2], y[:17]), T.dot(x[:, 1:33], y[::-1].T[1:33]), T.dot(x.T, x), T.dot(y[:, 0], y),
        T.dot(x, y[:33, 1]), T.dot(x[:0], y[:33]), T.dot(x[:, :0], y[:0]),
        T.batched_dot(x[:3, :32].reshape((3, 4, 8)), y[:32, :3].reshape((3, 8, 4))),
        T.batched_dot(x[None], y[:33][None])],
     floats(31, 33, dtype="float16"), floats(34, 34, dtype="float16")),
    ("float16 convolutions", lambda x, w: [nnet.conv2d(x, w), *T.grad(nnet.conv2d(x, w).sum(), [x, w])],
     floats(2, 2, 5, 5, dtype="float16"), floats(3, 2, 3, 3, dtype="float16")),
    ("batched products", lambda x, y: [T.batched_dot(x, y), T.batched_dot(x, y[:, :, 0]), T.batched_dot(x[:, 0], y)],
     floats(3, 4, 5), floats(3, 5, 6)),
    # ---- matrices ----
    ("cholesky", lambda x: [S.cholesky(x), S.Cholesky(lower=False)(x[1]), S.Cholesky(on_error="nan")(-x[0]),
                            S.cholesky(x.dimshuffle(0, 2, 1)), S.cho_solve((S.cholesky(x[0]), True), x[1])],
     definite(3, 9)),
    ("triangular systems", lambda x, b: [S.solve_triangular(x, b, lower=lower, trans=trans, unit_diagonal=unit)
                                         for lower in (True, False) for trans in (0, 1) for unit in (True, False)],
     definite(9), floats(9, 5)),
    ("a triangular system with a vector", lambda x, b: S.solve_triangular(x, b, lower=True), definite(9), floats(9)),
    ("systems", lambda x, b: [S.solve(x[0], b[0]), S.solve(x[1], b[0, :, 0]), S.solve(x[0].T, b[0])],
     definite(2, 9), floats(1, 9, 5)),
    ("systems of float64", lambda x, b: [S.solve(x, b), *S.lu_factor(x)], definite(40).astype("float64"),
     floats(40, 3, dtype="float64")),
    ("inverses and determinants", lambda x: [T.linalg.inv(x), T.linalg.det(x), *T.linalg.slogdet(x),
                                             T.nlinalg.det(x[0]), T.nlinalg.matrix_inverse(x[1].T)],
     definite(3, 7) + floats(3, 7, 7)),
    *[(f"cholesky of order {n}", lambda x: [
        S.cholesky(x[0]), S.Cholesky(lower=False)(x[1]), S.cholesky(x[1, ::-1, ::-1]),
        S.Cholesky(on_error="nan")(T.stack([x[0], -x[1]]))], definite(2, n)) for n in (1, 2, 16, 17, 31, 63, 64)],
    ("cholesky of large matrices", lambda x, z: [
        S.cholesky(x), S.cholesky(x[1]), S.Cholesky(lower=False)(x[1]), S.cholesky(x.dimshuffle(0, 2, 1)),
        *[S.Cholesky(on_error="nan", lower=lower)(T.stack([-x[0], x[1], x[0] * z])) for lower in (True, False)],
        S.Cholesky(on_error="nan")(x[0] * z)], definite(2, 65), numpy.array(numpy.nan, "float32")),
    ("large systems", lambda x, b, s: [
        S.solve(x[0], b[0]), S.solve(x[1], b[0, :, 0]), S.solve(x[0].T, b[0, ::-1]),
        S.solve(x[:, ::-1], T.stack([b[0], b[0]])),
        *S.lu_factor(x[1]), S.solve(x[0].T, b[0]), S.solve(x[0].T, b[0, :, 1]),
        T.linalg.inv(x), *T.linalg.slogdet(x), T.linalg.det(x[1] / s)],
     definite(2, 71).astype("float64") + floats(2, 71, 71, dtype="float64"), floats(1, 71, 3, dtype="float64"),
     numpy.array(9.)),
    ("large systems of float32", lambda x, b: [S.solve(x, b), S.solve(x, b[:, 0])],
     definite(101) + 3 * numpy.eye(101, dtype="float32"), floats(101, 5)),
    ("large triangular systems", lambda x, b, z: [
        *[S.solve_triangular(x[0], b, lower=lower, trans=trans, unit_diagonal=unit)
          for lower in (True, False) for trans in (0, 1) for unit in (True, False)],
        S.solve_triangular(x[1].T, b, lower=True), S.solve_triangular(x[0], b[:, 1], lower=True),
        S.solve_triangular(x[1, ::-1, ::-1], b, lower=False),
        S.SolveTriangular(on_error="nan")(x[0] * z, b)],
     numpy.tril(floats(2, 71, 71, dtype="float64")) / 71 + numpy.eye(71) + numpy.triu(numpy.full((71, 71), 1e-3), 1),
     floats(71, 3, dtype="float64"), numpy.array(0.)),
    ("gradients of determinants and solutions", lambda x, b: [2 * gradient for gradient in T.grad(
        T.log(T.nlinalg.det(x)) + S.solve(x, b).sum() + S.cholesky(x).sum(), [x, b])], definite(6), floats(6, 2)),
    ("orthogonal factors", lambda x: [*T.linalg.qr(x), *T.linalg.qr(x.dimshuffle(0, 2, 1), "complete"),
                                      T.linalg.qr(x[0, ::-1], "r"), *T.linalg.qr(x[1].T, "raw")], floats(2, 7, 4)),
    ("orthogonal factors of float64", lambda x: [*T.linalg.qr(x), *T.linalg.qr(T.zeros_like(x))],
     floats(40, 30, dtype="float64")),
    # Signs of vectors are not determined.
    ("eigenvalues of symmetric matrices", lambda x: [
        *squared(T.linalg.eigh(x)), T.linalg.eigvalsh(x[0] - x[1], "U"),
        T.linalg.eigvalsh(T.dot(x[0, :, :1], x[0, :1])),
        restored(*T.linalg.eigh(x[0] - x[1]))], definite(2, 8)),
    ("eigenvalues of large symmetric matrices", lambda x: [
        T.linalg.eigvalsh(x), T.linalg.eigvalsh(x[0, ::-1, ::-1], "U"), restored(*T.linalg.eigh(x[1])),
        restored(*T.linalg.eigh(x[0] - x[1], "U"))], definite(2, 50)),
    ("eigenvalues of float64", lambda x: [T.linalg.eigvalsh(x), restored(*T.linalg.eigh(x * 1e-30)) * 1e30],
     definite(31).astype("float64")),
    ("singular values", lambda x: [
        *squared(T.linalg.svd(x, full_matrices=False)), *squared(T.linalg.svd(x[0].T))[:2],
        T.linalg.svd(x[1, ::-1], compute_uv=False), *gram(T.linalg.svd(x[0])),
        *gram(T.linalg.svd(T.dot(x[0, :, :1], x[0, :1])))],
     floats(2, 7, 4)),
    ("singular values of float64", lambda x: T.linalg.svd(x, compute_uv=False), floats(40, 30, dtype="float64")),
    ("least squares", lambda a, b: [*T.linalg.lstsq(a, T.addbroadcast(b, 0)), *T.linalg.lstsq(a[0].T, b[0, :4, 0]),
                                    *T.linalg.lstsq(T.stack([a[0, :, 0]] * 3, axis=1), b[0])[::3],
                                    *T.linalg.lstsq(a[1], b[0], 0.5)[2:]],
     floats(2, 7, 4), floats(1, 7, 3)),
    ("gradients of factors", lambda x, b: [*T.grad(T.linalg.svd(x, compute_uv=False).prod() + T.linalg.eigvalsh(
        T.dot(x.T, x))[0] + T.linalg.lstsq(x, b)[0].sum() + T.linalg.qr(x, "r")[0, 0] ** 3, [x, b])],
     floats(6, 4, dtype="float64"), floats(6, 2, dtype="float64")),
    ("blocks of a matrix", lambda w, h, i, b, j: [nnet.blocksparse.sparse_block_dot(w, h, i, b, j), T.grad(
        nnet.blocksparse.sparse_block_dot(w, h, i, b, j).sum(), w)],
     floats(4, 5, 3, 6), floats(2, 3, 3), whole(2, 3, low=0, high=4), floats(5, 6), whole(2, 2, low=0, high=5)),
    ("a window", lambda x: x * T.bartlett(7), floats(4, 7, dtype="float64")),
    # ---- elements in vectors: lengths that are no multiples of them, short rows, addresses that are not aligned ----
    ("lengths", lambda *xs: [x * 2 + 1 for x in xs], *[floats(length) for length in LENGTHS]),
    ("lengths of bytes", lambda *xs: [x * 2 + x[0] for x in xs],
     *[whole(length, dtype="int8") for length in LENGTHS]),
    ("lengths of rows", lambda *xs: [x + x[0] for x in xs], *[floats(5, length) for length in LENGTHS[1:]]),
    ("rows and columns", lambda x, y, b, c: [x + b + c.dimshuffle(0, "x"), y + c[:7] * 2, x * c[:, None] - y[3, 1]],
     floats(9, 33), floats(4, 7), floats(33), floats(9)),
    ("channels", lambda x, y, b: [x + b.dimshuffle("x", 0, "x", "x"), y * b.dimshuffle("x", 0, "x", "x"),
                                  x * y[:, :, :4, :4] + b.dimshuffle(0, "x", "x")],
     floats(2, 3, 4, 4), floats(2, 3, 7, 7), floats(3)),
    ("misaligned", lambda x, y: [x[1:] + y[1:], x[1:] - y[:-1], x[3:, None] * y[1:34], y[2:, None] * y[3:5]],
     floats(1000), floats(1000)),
    ("rows that are not aligned", lambda x, y: [x[:, 1:] + y[:, 1:], x[1:, 2:] * y[:-1, 1:-1], x[:, 5:90] + y[0, :85]],
     floats(5, 131), floats(5, 131)),
    ("mixed widths", lambda x, y, z: [T.gt(x, y) & z, T.cast(x[:, 1:], "float16") + T.cast(z[:, 1:], "float16"),
                                      T.cast(y.T, "float64") * x.T, T.switch(z.T, x[0, 0], T.cast(y.T, "int32"))],
     floats(37, 53), floats(37, 53, dtype="float16"), whole(37, 53, low=0, high=2, dtype="bool")),
    ("tiles", lambda x, y, z: [x.T + y, x * x.T[:65, :70].T, z.dimshuffle(0, 2, 1) * z[:, ::-1, :33],
                               T.tanh(x.T * y[:, 0].dimshuffle(0, "x")), x[::2, ::-1].T + x[1::2, ::-1].T,
                               x.T + x[::-1].T * y],
     floats(70, 65), floats(65, 70), floats(2, 33, 40)[:, :, :33]),
    ("tiles of three operands", lambda x, y, z: T.exp(x.T + y.T * z.T) + x[0, 0],
     floats(67, 16), floats(67, 16), floats(67, 16)),
    *[("tiles of " + dtype, lambda x, y: [x.T + y, x[1:].T - y[:, 1:]], whole(66, 131, dtype=dtype),
       whole(131, 66, dtype=dtype)[:, :66].copy()) for dtype in ("int8", "float16", "float64", "complex128")],
    # ---- folds ----
    # Lengths around vectors, warps and blocks; rows that begin anywhere; and so many elements that they are split.
    ("sums of lines", lambda *x: [line.sum() for line in x], *[floats(n) for n in (1, 31, 32, 33, 127, 1000, 4097)]),
    ("sums of many elements", lambda x: [x.sum(), x.sum(0), x.T.max(1), x[:, ::2].max(), x[1:, 1:].sum(1),
                                         x.mean((0, 1))], positive(300, 132)),
    ("sums of rows that begin anywhere", lambda x, y: [x.sum(1), x[:, 3:].sum(1), (x * y).sum(1), (x * x[::-1]).min(1)],
     floats(9, 1037), floats(1037)),
    ("sums of short rows", lambda x: [x.sum(1), x[:, :10].sum(1), x[:, :64].max(1), x[:, 1:18].prod(1)],
     floats(90, 130)),
    ("sums of columns", lambda x, b, c: [x.sum(0), (x * b).sum(0), (x + c.dimshuffle(0, "x")).min(0), x[:, 1:].sum(0),
                                         x[:, :4].sum(0)], positive(700, 36), positive(36), positive(700)),
    ("sums of channels", lambda x, b: [x.sum((0, 2, 3)), x[:, :, 1:].max((0, 2, 3)),
                                       (x * b.dimshuffle(0, "x", "x")).sum((0, 2)),
                                       x.dimshuffle(1, 0, 3, 2).sum((1, 3))], positive(4, 6, 8, 12), positive(6)),
    ("folds of not a number", lambda x: [x.max(), x.min(0), x.max(1), x.argmax(), x.argmin(1), T.eq(x, 1).any(0)],
     numpy.where(floats(40, 36) > 1.9, numpy.float32("nan"), floats(40, 36))),
    ("folds of small integers", lambda x: [x.sum(), x.sum(0), x.max(1), x.argmin(1), x.prod(1, dtype="int32")],
     whole(20, 100, dtype="int8")),
    ("folds of bool", lambda x: [x.any(), x.all(0), x.sum(1), x.argmax(0)], whole(30, 48, low=0, high=2, dtype="bool")),
    ("sums of float16 and float64", lambda x, y: [x.sum(), x.max(0), (x * y).sum(1), y.sum(0), y.argmax(1)],
     floats(30, 64, dtype="float16"), floats(30, 64, dtype="float64")),
    ("positions of equal elements", lambda x, y, z: [x.argmax(), x.argmax(1), x.argmin(0), y.argmax(), y.argmin(1),
                                                     z.argmax(), z.argmin(0)],
     numpy.full((5, 300), -numpy.inf, "float32"), numpy.full((5, 300), numpy.inf, "float32"),
     numpy.zeros((5, 300), "uint8")),
    ("positions in many elements", lambda x: [x.argmax(), x.argmin(0), x.T.argmax(0), T.max_and_argmax(x, (0, 1))[0]],
     floats(90, 400)),
    ("a matrix by vectors", lambda x, v, w: [T.dot(x, v), T.dot(x.T, w), T.dot(w, x), T.dot(v, v),
                                             T.dot(x[:, :7], v[:7]), T.dot(x[:, 1:], v[1:]), T.dot(x[::-1], v[::-1])],
     positive(300, 132), positive(132), positive(300)),
]
