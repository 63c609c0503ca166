"""Programs that together have every opcode, every class of kernels and every way to call back into Python, for
campaigns of faults.

``PROGRAMS`` maps a name to a function that returns inputs, outputs, pairs of a shared variable and its new value, the
arguments, and options of ``phintys.function``.
"""
import warnings

import numpy
from python_op import Doubled

import phintys
import phintys.sparse
import phintys.tensor as T
from phintys import In, Out, typed_list
from phintys.ifelse import ifelse
from phintys.printing import Print
from phintys.tensor.shared_randomstreams import RandomStreams

SIDE = 24
VALUE = numpy.random.default_rng(0).uniform(0.1, 1, (SIDE, SIDE))


def state(fill=1.0, shape=(SIDE, SIDE)):
    return phintys.shared(numpy.full(shape, fill))


def of_x(build):
    """A program of one matrix; ``build`` returns outputs and updates."""
    def program():
        x = T.dmatrix("x")
        outputs, updates = build(x)
        return [x], outputs, updates, [VALUE], {}
    return program


def one_update(build):
    """A program whose output is also added to a shared variable."""
    def built(x):
        w, result = state(), build(x)
        return [result], [(w, w + result.sum())]
    return of_x(built)


def several(build):
    """A program of several outputs, of which the first is also added to a shared variable."""
    def built(x):
        w, results = state(), build(x)
        return results, [(w, w + T.cast(results[0].sum(), "float64"))]
    return of_x(built)


def positive(x):
    """A matrix with positive eigenvalues."""
    return T.dot(x, x.T) + T.eye(SIDE) * 9


def slopes(cost, *variables):
    return T.grad(cost, list(variables))


def _scan(step, *sequences, **options):
    return phintys.scan(step, sequences=list(sequences), **options)[0]


def _callback(row):
    return numpy.asarray(row).sum() * numpy.ones(3)


def _as_op(x):
    op = phintys.as_op(itypes=[T.dvector], otypes=[T.dvector])(_callback)
    return op(x[0])


def _random(x):
    streams = RandomStreams(3)
    return x + streams.normal(size=(SIDE, SIDE)) * streams.uniform(size=(SIDE,))


def _swap(x):
    a, b = state(), state(2.0)
    return [a[0] + x[0]], [(a, b), (b, a + T.dot(x.T, x))]


def _in_place(x):
    w = state()
    return [x.sum()], [(w, w - 0.125 * T.dot(x.T, x))]


def _stored(x):
    a, b = state(), state(2.0)
    return [x, a], [(a, x), (b, x)]


def _chosen_updates(x):
    a, b = state(), state(2.0)
    condition = T.gt(x[0, 0], -1)
    return [ifelse(condition, a.sum(), b.sum())], [
        (a, ifelse(condition, a - T.dot(x, x), a)), (b, ifelse(condition, b, b * x))]


def _blocks(x):
    first = T.dot(x.T, x)
    second = T.tanh(first) + T.dot(first, first)
    conditions = [T.gt(x[0, 0], -1), T.gt(x[1, 1], -1), T.gt(x[2, 2], 1e9)]
    w = state()
    values = [second, T.exp(second), first]
    return [ifelse(c, value * 2, x) for c, value in zip(conditions, values)], [(w, w + x)]


def _lists(x):
    w = state()
    items = typed_list.make_list([x, T.exp(x)]).append(x * 2).reverse()
    return [items[0], typed_list.length(items)], [(w, w + items[1])]


def _indexed(x):
    w = state()
    rows = T.arange(SIDE)[::-2]
    return [x[rows], T.set_subtensor(x[rows, 1], 0.0), x[x > 0.5]], [(w, T.inc_subtensor(w[rows], x[rows]))]


def _split(x):
    w = state()
    parts = T.split(T.join(0, x, T.exp(x)), [SIDE, SIDE], 2)
    return [parts[0], T.concatenate([parts[1], x[:2]])], [(w, parts[1])]


def _views(x):
    w, y = state(), T.dot(x, x.T)
    return [y[::-1].T, y[1:3], T.exp(x).reshape((SIDE * SIDE,)), y], [(w, y.T)]


def _borrowed():
    x, w = T.dmatrix("x"), state()
    return [In(x, mutable=True)], [Out(T.tanh(T.dot(x, w)), borrow=True), x[::-1]], [(w, T.exp(x) + w)], [VALUE], {}


def _side_by_side():
    x, y, w = T.dmatrix("x"), T.dmatrix("y"), state()
    return [x, y], [T.dot(x, x.T), T.dot(y, y.T), T.exp(T.tanh(y))], [(w, w + T.dot(x, y))], [VALUE, VALUE.T], {
        "workers": 2}


def _conv():
    x, f, w = T.dtensor4("x"), T.dtensor4("f"), state(1.0, (2, 3, 2, 2))
    out = T.nnet.conv2d(x, f + w)
    pooled = T.signal.pool.pool_2d(out, (2, 2), ignore_border=True)
    values = [VALUE[:6, :18].reshape(2, 3, 3, 6), VALUE[:1].reshape(2, 3, 2, 2)]
    return [x, f], [pooled, T.grad(pooled.sum(), f)], [(w, w - T.grad((out ** 2).sum(), f))], values, {}


def _sparse(x):
    w = state()
    matrix = phintys.sparse.csr_from_dense(x * (x > 0.5))
    return [phintys.sparse.dot(matrix, x), phintys.sparse.dense_from_sparse(matrix * 2)], [
        (w, w + phintys.sparse.dense_from_sparse(phintys.sparse.structured_sigmoid(matrix)))]


def _while(x):
    w = state()
    rows = phintys.scan(lambda row, s: (s + row, phintys.scan_module.until((s + row).sum() > 40)), sequences=x,
                        outputs_info=x[0] * 0)[0]
    return [rows, rows[-1]], [(w, w * rows[-1])]


def _loop_that_updates(x):
    w = state(1.0, (SIDE,))
    rows, updates = phintys.scan(lambda row: (row * w, {w: T.tanh(w + row)}), sequences=x)
    return [rows], list(updates.items())


def _factored(x):
    w, a = state(), positive(x)
    return [T.slinalg.cholesky(a), T.slinalg.solve(a, x), T.nlinalg.svd(x)[1], T.nlinalg.eigh(a)[0]], [
        (w, T.nlinalg.matrix_inverse(a))]


def _sorted(x):
    w = state()
    return [T.argsort(x, axis=0), T.quantile(x, 0.3, axis=1), T.unique(x), T.median(x)], [(w, T.sort(x, axis=1))]


# ---- programs of whole families ----
def _inverses(x):
    a, n = positive(x), T.nlinalg
    return [n.det(a), *slopes(n.det(a * 0.1), x), n.slogdet(a)[1], n.matrix_inverse(a), n.pinv(a),
            n.matrix_inverse(phintys.sandbox.linalg.psd(a + 1))]


def _eigenvectors(x):
    a = positive(x)
    return [T.nlinalg.eig(a)[0], T.nlinalg.eigh(a)[1], T.nlinalg.Eigh(driver="evr")(a)[1], T.linalg.eigvals(a)]


def _least_squares(x):
    return [T.linalg.lstsq(x, x[:, 0])[0], T.nlinalg.qr(x)[1], *T.slinalg.qr(x, pivoting=True)[1:]]


def _schur_forms(x):
    a = positive(x)
    return [T.slinalg.schur(a)[0], T.slinalg.qz(a, x)[0], T.slinalg.solve_sylvester(a, a, x), T.slinalg.expm(x * 0.1)]


def _systems(x):
    a, s = positive(x), T.slinalg
    lu = s.lu_factor(a)
    return [s.solve(x[None] + T.eye(SIDE) * 9, x), s.solve_triangular(s.cholesky(a), x, lower=True), lu[0], lu[1],
            s.cho_solve((s.cholesky(a), True), x), T.dot(T.nlinalg.matrix_inverse(a), x)]


def _derivatives_of_factors(x):
    a, s = positive(x), T.slinalg
    return [*slopes(s.cholesky(a).sum(), x), *slopes(T.nlinalg.matrix_inverse(a).sum(), x),
            *slopes(T.nlinalg.eigh(a)[1][0].sum(), x), *slopes(T.nlinalg.slogdet(a)[1], x)]


def _losses(x):
    labels, n = T.arange(SIDE) % 5, T.nnet
    losses = [n.crossentropy_softmax_argmax_1hot_with_bias(x, x[0], labels)[0].sum(),
              n.categorical_crossentropy(n.softmax(x * 2), labels).sum(),
              n.multiclass_hinge_loss(x, labels).sum(), n.crossentropy_categorical_1hot(x, labels).sum()]
    return [sum(losses), *[slope for loss in losses for slope in slopes(loss, x)]]


def _prepended(x):
    return [T.nnet.prepend_1_to_each_row(x), T.nnet.prepend_scalar_to_each_row(x[0, 0], x),
            T.nnet.softmax_graph(x), *slopes((T.nnet.softmax(x) ** 2).sum(), x)]


def _normalized(x):
    n = T.nnet
    trained = n.batch_normalization_train(x, x[:1], x[1:2], running_mean=x[:1], running_var=x[:1])
    tested = n.batch_normalization_test(x, x[:1], x[1:2], x[:1], x[1:2])
    return [*trained, tested, *slopes((trained[0] ** 2).sum(), x), *slopes((tested ** 2).sum(), x)]


def few(x):
    """The number 4, which only a call knows."""
    return T.cast(x[0, 0], "int64") + 4


def images(x):
    return x.reshape((2, 2, 12, 12))


def _pooled(x):
    pool, y = T.signal.pool.pool_2d, images(x)
    results = [pool(y, (2, 2), ignore_border=True, mode=mode) for mode in ("max", "average_inc_pad", "sum")]
    costs = [(result ** 3).sum() for result in results]
    first = [slope for cost in costs for slope in slopes(cost, y)]
    return [results[0], T.signal.pool.MaxPoolRop(ignore_border=True)(y, -y, (2, 2)), *first,
            *slopes((first[0] ** 2).sum(), y)]


def _neighbours(x):
    rows = T.nnet.neighbours.images2neibs(images(x), (3, 2), (3, 2))
    return [rows, *slopes((rows ** 2).sum(), x)]


def _block_products(x):
    blocks, places = x[:16, :18].reshape((4, 4, 3, 6)), T.constant(numpy.array([[0, 2], [1, 3]]))
    result = T.nnet.blocksparse.sparse_block_dot(blocks, x[:12].reshape((2, 24, 6))[:, :2, :3], places,
                                                 x[:4, :6], places)
    return [result, *slopes((result ** 2).sum(), blocks)]


def _streams(x):
    streams = phintys.sandbox.rng_mrg.MRG_RandomStreams(5)
    return [streams.uniform((SIDE,)) + x, streams.normal((SIDE, 3)), streams.multinomial(pvals=x / x.sum(
        axis=1, keepdims=True)), streams.choice(size=3, replace=False, p=x[:3, :5] / x[:3, :5].sum(
            axis=1, keepdims=True)), streams.normal((7,), nstreams=3)]


def _orders(x):
    draw = phintys.random.default_rng(5)
    return [x[draw.permutation(SIDE)], draw.choice(9, size=(4,), p=T.constant(numpy.full(9, 1 / 9))),
            draw.dirichlet(x[0]), draw.multinomial(7, T.constant(numpy.full(4, 0.25)), size=(3,)),
            draw.permuted(x, axis=1), draw.multivariate_normal(x[0], positive(x)), draw.gamma(x)]


def _drawn_formulas(x):
    draw = phintys.random.default_rng(5)
    return [T.exp(draw.normal(size=(SIDE, SIDE)) * x) + 1, draw.uniform(x, x + 1) > 0.5]


def _created(x):
    n = few(x)
    row = T.tensor_copy(x[:n - 3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")             # the op is deprecated
        tiled = T.Tile(2)(x, T.stack([n, 1]))
    return [T.eye(n, 5, 1), T.tri(n, n), T.tril(x, n), T.bartlett(n), tiled,
            T.set_subtensor(T.AllocEmpty("float64")(n, SIDE)[:], x[0]), x.shape, T.specify_shape(x, (SIDE, SIDE)) * 2,
            *slopes((T.alloc(row, n, SIDE) * x[:n]).sum(), row), T.linspace(x[0, 0], x[1, 1], 5),
            T.extra_ops.cpu_contiguous(x.T)]


def _counted(x):
    labels = T.cast(x[0] * 5, "int64")
    return [T.bincount(labels), T.diff(x > 0.5, axis=1), T.searchsorted(T.sort(x[0]), x), T.topk(x, 3), T.argtopk(x, 3),
            T.partition(x, 2)[:, 2], T.lexsort([x[0], x[1]]), T.unique(x, axis=0), T.histogram(x, 4)[0]]


def _polynomials(x):
    value = T.polyval(x[0, :4], x)
    return [value, *slopes((value ** 2).sum(), x), T.convolve(x[0], x[1]), T.polyfit(x[0], x[1], 2)]


def _places(x):
    rows = T.argsort(x, axis=1)
    stretched = T.repeat(x, T.constant(numpy.arange(SIDE) % 3), axis=0)
    return [T.choose(rows % 3, [x, -x, x.T]), T.ravel_multi_index((rows[0], rows[1]), (SIDE, SIDE)),
            T.unravel_index(rows[0], (4, 6))[1], T.fill_diagonal(x, 3.0), T.permute_row_elements(x, rows),
            T.inverse_permutation(rows), stretched, *slopes((stretched ** 2).sum(), x), T.tile(x, (2, 1)),
            T.take_along_axis(x, rows, 1), T.fill_diagonal_offset(x, 2.0, 1), *slopes(T.diag(x).sum(), x)]


def _outer_products(x):
    w = state()
    return [T.blas.ger(x, 0.5, x[0], x[1]), *T.max_and_argmax(x, axis=0)], [(w, w + T.outer(x[0], x[1]))]


def _windows(x):
    y = x.reshape((1, 1, SIDE, SIDE))
    filters = x[:3, :3].reshape((1, 1, 3, 3))
    volume = T.nnet.conv3d(x.reshape((1, 1, 4, 12, 12)), x[:2, :4].reshape((1, 1, 2, 2, 2)))
    return [T.nnet.conv2d(y, filters, border_mode="half"), volume, *slopes((volume ** 2).sum(), x),
            T.nnet.abstract_conv.bilinear_upsampling(y, 2, batch_size=1, num_input_channels=1)]


def _loops_of_numbers(x):
    power = phintys.scan(lambda s: s * 0.5 + 1, outputs_info=x[0, 0], n_steps=few(x))[0]
    rows = phintys.scan(lambda row, s: T.tanh(row) + s.sum(), x, x[0], n_steps=few(x))[0]
    mixed = phintys.scan(lambda row, s: T.tanh(row * s), x[0], outputs_info=x[1, 1])[0]
    linear = phintys.scan(lambda a, b, s: s * a + b, [x[0], x[1]], outputs_info=x[2, 2])[0]
    recurrence = phintys.scan(lambda a, b, s: s * a + b, [x, x.T], x[0])[0]
    return [power, mixed, linear, rows, recurrence, *slopes(mixed[-1] + linear.sum() + power[-1], x)]


def _transformed_parts(x):
    return [numpy.fft.irfft(numpy.fft.rfft(x)), numpy.fft.rfft(x, axis=0), T.fft.rfft(x), T.fft.fft(x),
            *slopes(abs(T.fft.fft(x)).sum(), x)]


def _means(x):
    return [x.mean(), T.Mean(axis=0)(x), T.exp(x).mean(axis=0), T.nanmean(x, axis=1), T.cast(x, "float32").mean(axis=1),
            x.var(axis=1), T.cumprod(x, axis=1), T.sum(x > 0.5), T.all(x > 0, axis=0), T.logsumexp(x, axis=0),
            T.ptp(x, axis=0)]


def _as_written():
    x, w = T.dmatrix("x"), state()
    return [x], [T.Shape()(x), T.exp(x).sum(axis=0)], [(w, w + x)], [VALUE], {"optimizer": None}


PROGRAMS = {
    "as written": _as_written,
    "inverses": several(_inverses), "eigenvectors": several(_eigenvectors), "least squares": several(_least_squares),
    "schur forms": several(_schur_forms), "systems": several(_systems),
    "derivatives of factors": several(_derivatives_of_factors), "losses": several(_losses),
    "prepended": several(_prepended), "normalized": several(_normalized), "pooled": several(_pooled),
    "neighbours": several(_neighbours), "block products": several(_block_products), "streams": several(_streams),
    "orders": several(_orders), "drawn formulas": several(_drawn_formulas), "created": several(_created),
    "counted": several(_counted), "polynomials": several(_polynomials), "places": several(_places),
    "outer products": of_x(_outer_products), "windows": several(_windows),
    "loops of numbers": several(_loops_of_numbers), "parts of transforms": several(_transformed_parts),
    "means": several(_means),
    "in place": of_x(_in_place), "exchanged": of_x(_swap), "views": of_x(_views), "stored": of_x(_stored),
    "borrowed": _borrowed,
    "by workers": _side_by_side, "chosen updates": of_x(_chosen_updates), "blocks": of_x(_blocks),
    "lists": of_x(_lists), "indexed": of_x(_indexed), "divided": of_x(_split), "convolution": _conv,
    "sparse": of_x(_sparse), "until": of_x(_while), "loop that updates": of_x(_loop_that_updates),
    "factored": of_x(_factored), "sorted": of_x(_sorted),
    "perform": one_update(lambda x: Doubled()(T.exp(Doubled()(x)))),
    "function of Python": one_update(_as_op),
    "printed": one_update(lambda x: Print("", attrs=())(x * 2) + 1),
    "asserted": one_update(lambda x: T.opt.Assert("positive")(x, x.sum() > 0) * 2),
    "drawn": one_update(_random),
    "one op": one_update(lambda x: phintys.OpFromGraph([x], [T.dot(x, x) + Doubled()(x)])(x * 2)),
    "loop": one_update(lambda x: _scan(lambda row, s: T.tanh(row + s), x, outputs_info=x[0])),
    "loop of perform": one_update(lambda x: _scan(lambda row, s: Doubled()(row + s) * 0.1, x, outputs_info=x[0])),
    "loop of loops": one_update(lambda x: _scan(lambda row: _scan(
        lambda a, s: a + s * 0.5, row, outputs_info=row[0])[-1], x)),
    "lazy loop": one_update(lambda x: _scan(lambda row, s: ifelse(row.sum() > 5, row + s, Doubled()(s)), x,
                                            outputs_info=x[0])),
    "derivative of a loop": one_update(lambda x: T.grad(_scan(
        lambda row, s: T.tanh(row + s * 0.5), x, outputs_info=x[0])[-1].sum(), x)),
    "rows": one_update(lambda x: phintys.vectorize(lambda row: T.dot(T.outer(row, row), row))(x)),
    "transformed": one_update(lambda x: T.real(T.fft.ifft(T.fft.fft(x)))),
    "reduced": one_update(lambda x: T.exp(x).max(axis=0) + x.var(axis=0) + T.argmax(x, axis=1) + x.prod()),
    "cumulative": one_update(lambda x: T.cumsum(x, axis=0) + T.nnet.softmax(x) + T.diag(T.diag(x))),
    "repeated": one_update(lambda x: T.repeat(T.tile(x, (2, 1)), 2, axis=1)[T.nonzero(x[:, 0] > 0.3)[0]]),
    "joined lengths": one_update(lambda x: T.alloc(x[0], T.cast(x.sum() * 0, "int64") + 3, SIDE) * T.arange(SIDE)),
    "einsum": one_update(lambda x: T.einsum("ij,jk,lk->il", x, x, x) + T.tensordot(x, x, 1)),
    "complex": one_update(lambda x: abs(T.exp(x * 1j) + T.conj(x * 1j))),
    "integers": one_update(lambda x: T.cast(x * 10, "int32") // 3 + T.cast(x * 9, "int8")),
}


def compiled(name, allow_gc=True):
    """(the function, its arguments, its shared variables) of a program."""
    inputs, outputs, updates, values, flags = PROGRAMS[name]()
    with phintys.change_flags(**{name: value for name, value in flags.items() if name != "optimizer"}):
        function = phintys.function(inputs, outputs, updates=updates, mode=phintys.Mode(
            optimizer=flags.get("optimizer", "fast_run"), allow_gc=allow_gc))
    return function, values, function.get_shared()
