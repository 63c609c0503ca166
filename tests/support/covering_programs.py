"""Programs that together have every opcode and every way to call back into Python, for campaigns of faults.

``PROGRAMS`` maps a name to a function that returns inputs, outputs, pairs of a shared variable and its new value, the
arguments, and options of ``phintys.function``.
"""
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
    w, a = state(), T.dot(x, x.T) + T.eye(SIDE) * 9
    return [T.slinalg.cholesky(a), T.slinalg.solve(a, x), T.nlinalg.svd(x)[1], T.nlinalg.eigh(a)[0]], [
        (w, T.nlinalg.matrix_inverse(a))]


def _sorted(x):
    w = state()
    return [T.argsort(x, axis=0), T.quantile(x, 0.3, axis=1), T.unique(x), T.median(x)], [(w, T.sort(x, axis=1))]


PROGRAMS = {
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
    with phintys.change_flags(**flags):
        function = phintys.function(inputs, outputs, updates=updates, mode=phintys.Mode(allow_gc=allow_gc))
    return function, values, function.get_shared()
