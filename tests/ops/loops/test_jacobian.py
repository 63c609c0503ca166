"""Jacobians and Hessians against finite differences: for all rows at once, and row by row."""
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import function, grad
from phintys.gradient import Rop, hessian, hessian_vector_product, jacobian
from phintys.graph.config import change_flags
from phintys.graph.errors import DisconnectedInputError
from phintys.graph.op import Op
from phintys.ops.loops import row_map
from phintys.ops.loops.loop import Scan
from phintys.ops.loops.row_map import map_rows

W = numpy.random.RandomState(0).uniform(0.2, 1, (3, 4))


@pytest.fixture(params=["at once", "row by row"])
def way(request, monkeypatch):
    """Whether rules for all rows at once are used."""
    if request.param == "row by row":
        monkeypatch.setattr(row_map, "batched", lambda outputs, rows, otherwise: None)
    return request.param


def values(*shape):
    return numpy.random.RandomState(1).uniform(0.2, 1, shape)


def numeric(f, value, step=1e-6):
    """Derivatives by central differences; the directions are the last dimensions."""
    columns = []
    for position in range(value.size):
        moved = numpy.zeros(value.size)
        moved[position] = step
        moved = moved.reshape(value.shape)
        columns.append((f(value + moved) - f(value - moved)) / (2 * step))
    return numpy.stack(columns, -1).reshape(columns[0].shape + value.shape)


def has_map(f):
    return any([isinstance(node.op, Scan) for node in f.maker.fgraph.toposort()])


# (name, expression of x, shape of x)
CASES = [
    ("elementwise", lambda x: T.exp(x) * x, (4,)),
    ("reduced and repeated", lambda x: T.exp(x) * x.sum(), (4,)),
    ("product with a matrix", lambda x: T.tanh(T.dot(W, x)), (4,)),
    ("product with a vector", lambda x: T.dot(x, T.dot(W.T, W)), (4,)),
    ("products of matrices", lambda x: T.dot(x, T.dot(x.T, x))[0], (3, 3)),
    ("products of a matrix and a vector", lambda x: T.dot(x, T.dot(x, x[0])), (3, 3)),
    ("product over an axis", lambda x: x.sum(0) * x.prod(0), (3, 2)),
    ("maximum", lambda x: x.max(axis=1), (3, 2)),
    ("flattened", lambda x: x.flatten() * 2, (3, 2)),
    ("reshaped", lambda x: (x.reshape((3, 2)) ** 2).sum(1), (6,)),
    ("outer product", lambda x: T.outer(x, x).flatten(), (3,)),
    ("part", lambda x: (x ** 2)[1:3], (4,)),
    ("changed part", lambda x: T.set_subtensor(x[1:], x[:2] ** 2), (3,)),
    ("other dimensions", lambda x: (x.dimshuffle(1, "x", 0) * x.dimshuffle("x", 1, 0)).sum((0, 2)), (3, 2)),
    ("allocated", lambda x: T.alloc(x[0], 3, 2).sum(1) * x, (3,)),
    ("chosen rows", lambda x: (x[[0, 2, 0]] * x.sum(0))[:, 1], (3, 2)),
    ("changed rows", lambda x: T.inc_subtensor(x[[0, 2, 0]], (x ** 2).sum(0)).flatten(), (3, 2)),
    ("changed elements", lambda x: T.set_subtensor(x[[0, 2]], x[1] ** 2) * x, (3,)),
    ("joined", lambda x: T.concatenate([x ** 2, T.ones_like(x), x[:1]]), (3,)),
    ("joined along the last axis", lambda x: T.concatenate([x ** 2, x], axis=-1).sum(0), (2, 3)),
    ("split", lambda x: T.split(x, [1, 2], 2)[1] ** 2 * x[0], (3,)),
    ("softmax", lambda x: T.nnet.softmax(T.dot(x, W))[1], (2, 3)),
    ("logarithm of softmax", lambda x: T.nnet.logsoftmax(x * 2)[:, 0], (2, 3)),
    ("row of a softmax", lambda x: T.nnet.softmax(x.dimshuffle("x", 0))[0] * x, (3,)),
    ("constant", lambda x: T.zeros_like(x) + x[0] * 0, (3,)),
    ("linear", lambda x: x, (3,)),
    ("custom gradient", lambda x: phintys.gradient.grad_scale(x, 1.0) * x, (3,)),
]


@pytest.mark.parametrize("make, shape", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_jacobian(make, shape, way):
    x = T.TensorType("float64", [False] * len(shape))("x")
    expression = make(x)
    result = jacobian(expression, x)
    f, value = function([x], result), values(*shape)
    numpy.testing.assert_allclose(f(value), numeric(function([x], expression), value), atol=1e-6)
    assert result.type.ndim == x.type.ndim + 1 and result.type.dtype == "float64"
    assert list(function([x], result.shape)(value)) == list(f(value).shape)
    if way == "at once":
        assert not has_map(f)


class Doubled(Op):
    """A user's op, for which there is no rule for all rows at once."""

    __props__ = ()
    itypes, otypes = [T.dvector], [T.dvector]

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = 2 * inputs[0]

    def grad(self, inputs, output_grads):
        return [Doubled()(output_grads[0])]


def test_ops_without_rule_run_row_by_row():
    x = T.dvector("x")
    f = function([x], jacobian(Doubled()(x) * x, x))
    assert has_map(f)
    numpy.testing.assert_allclose(f(values(4)), numpy.diag(4 * values(4)))


def test_diagonal_jacobians_need_no_loop():
    x = T.dvector("x")
    f = function([x], jacobian(T.tanh(x) * x, x))
    assert not has_map(f)
    numpy.testing.assert_allclose(numpy.count_nonzero(f(values(5))), 5)


def test_several_variables(way):
    x, y = T.dvector("x"), T.dmatrix("y")
    expression = T.dot(y, x)
    by_both = jacobian(expression, [x, y])
    assert isinstance(by_both, list) and isinstance(jacobian(expression, (x,)), tuple)
    by_x, by_y = function([x, y], by_both)(values(4), W)
    numpy.testing.assert_allclose(by_x, W)
    numpy.testing.assert_allclose(by_y, numpy.eye(3)[:, :, None] * values(4))


def test_disconnected_variables(way):
    x, y = T.dvector("x"), T.dmatrix("y")
    with pytest.raises(DisconnectedInputError):
        jacobian(x * 2, [x, y])
    _, by_y = function([x, y], jacobian(x * 2, [x, y], disconnected_inputs="ignore"))(values(3), W)
    numpy.testing.assert_array_equal(by_y, numpy.zeros((3, 3, 4)))


def test_constants(way):
    x = T.dvector("x")
    inner = x ** 2
    f = function([x], jacobian(inner * x, x, consider_constant=[inner]))
    numpy.testing.assert_allclose(f(values(3)), numpy.diag(values(3) ** 2))


def test_scalars_and_empty_vectors(way):
    x, s = T.dvector("x"), T.dscalar("s")
    assert function([s], jacobian(s ** 2, s))(3.0) == 6.0
    numpy.testing.assert_allclose(function([x, s], jacobian(x * s, s))(values(3), 2.0), values(3))
    assert function([x], jacobian(x * x.sum(), x))(numpy.zeros(0)).shape == (0, 0)
    y = T.dmatrix("y")
    assert function([x, y], jacobian(x * y.sum(), y))(numpy.zeros(0), W).shape == (0, 3, 4)


def test_other_dtypes(way):
    x, n = T.fvector("x"), T.wvector("n")
    result = function([x, n], jacobian(x * n, x))(values(2).astype("float32"), numpy.array([2, 3], "int16"))
    assert result.dtype == "float32"
    numpy.testing.assert_allclose(result, [[2, 0], [0, 3]])


def test_derivatives_of_jacobians(way):
    x, u = T.dvector("x"), T.dvector("u")
    first = jacobian(T.sin(x) * x.sum(), x)
    second = numeric(function([x], first), values(3))
    numpy.testing.assert_allclose(function([x], jacobian(first.flatten(), x))(values(3)).reshape(3, 3, 3), second,
                                  atol=1e-6)
    numpy.testing.assert_allclose(function([x, u], Rop(first, x, u))(values(3), W[0, :3]), second @ W[0, :3], atol=1e-6)
    numpy.testing.assert_allclose(function([x], grad(first.sum(), x))(values(3)), second.sum((0, 1)), atol=1e-6)


@pytest.mark.parametrize("call", [
    lambda x: jacobian(3.0, x), lambda x: hessian(x, x), lambda x: hessian(2.0, x), lambda x: hessian(x.sum(), [2])])
def test_wrong_arguments(call):
    with pytest.raises(TypeError, match="tensor.jacobian|tensor.hessian"):
        call(T.dvector("x"))


# ---- second derivatives of scalars -----------------------------------------------------------------------------------
def test_hessian(way):
    x, y = T.dvector("x"), T.dvector("y")
    cost = (x ** 3).sum() * y.sum() + (y ** 2).sum() * x[0]
    by_x, by_y = function([x, y], hessian(cost, [x, y]))(values(3), W[0])
    numpy.testing.assert_allclose(by_x, numpy.diag(6 * values(3) * W[0].sum()))
    numpy.testing.assert_allclose(by_y, numpy.eye(4) * 2 * values(3)[0])
    numpy.testing.assert_allclose(function([x], hessian((2 * x).sum(), x))(values(3)), numpy.zeros((3, 3)))


def test_hessian_vector_product():
    x, y, u, v = T.dvector("x"), T.dmatrix("y"), T.dvector("u"), T.dmatrix("v")
    cost = (x ** 3).sum() * (y ** 2).sum()
    by_x, by_y = function([x, y, u, v], hessian_vector_product(cost, [x, y], [u, v]))(values(3), W, values(3), W)
    total, cubes, a = (W ** 2).sum(), (values(3) ** 3).sum(), values(3)
    numpy.testing.assert_allclose(by_x, 6 * a * total * a + 3 * a ** 2 * 2 * total)
    numpy.testing.assert_allclose(by_y, 2 * W * (3 * a ** 3).sum() + 2 * cubes * W)
    single = hessian_vector_product((x ** 2).sum(), x, u)
    numpy.testing.assert_allclose(function([x, u], single, on_unused_input="ignore")(a, a), 2 * a)
    with pytest.raises(ValueError, match="1 variables in wrt but 2 in p"):
        hessian_vector_product(cost, x, [u, v])


# ---- maps of rows ----------------------------------------------------------------------------------------------------
def test_rows_stacked(way):
    x, y, row, other = T.dmatrix("x"), T.dmatrix("y"), T.dvector("row"), T.dvector("other")
    whole = T.dvector("whole")
    outputs = map_rows([row * other + whole, T.dot(row, other), whole, row * whole, row * other + whole],
                       [(row, x), (other, y)])
    cost = sum([(output ** 2).sum() for output in outputs])
    results = function([x, y, whole], outputs + grad(cost, [x, y, whole]))(W, W + 1, values(4))
    expected = [W * (W + 1) + values(4), (W * (W + 1)).sum(1), numpy.tile(values(4), (3, 1)), W * values(4),
                W * (W + 1) + values(4)]
    for result, value in zip(results, expected):
        numpy.testing.assert_allclose(result, value)
    plain = [x * y + whole, (x * y).sum(1), whole + T.zeros_like(x), x * whole, x * y + whole]
    gradients = function([x, y, whole], grad(sum([(output ** 2).sum() for output in plain]), [x, y, whole]))
    for result, value in zip(results[5:], gradients(W, W + 1, values(4))):
        numpy.testing.assert_allclose(result, value)


def test_maps_of_rows_check_what_they_get():
    x, y, row, other = T.dmatrix("x"), T.dmatrix("y"), T.dvector("row"), T.dvector("other")
    position, positions = T.lscalar(), T.lvector()
    ragged, = map_rows([T.arange(position)], [(position, positions)])
    assert type(ragged.owner.op) is Scan
    with pytest.raises(ValueError, match="all rows of a loop's output have one shape"):
        function([positions], ragged)([2, 3])
    product, = map_rows([T.arange(row.sum().astype("int64"))[:2] * other[0]], [(row, x), (other, y)])
    with pytest.raises(ValueError, match="shorter than the required number of steps"):
        function([x, y], product)(W, W[:2])
    again, z = pickle.loads(pickle.dumps((ragged, positions)))
    numpy.testing.assert_array_equal(function([z], again)([2, 2]), [[0, 1], [0, 1]])


def test_test_values(way):
    x = T.dvector("x")
    x.tag.test_value = values(3)
    with change_flags(compute_test_value="raise"):
        result = jacobian(T.exp(x) * x.sum(), x)
        expected = numpy.diag(numpy.exp(values(3)) * values(3).sum()) + numpy.exp(values(3))[:, None]
        numpy.testing.assert_allclose(result.tag.test_value, expected)


def test_hessian_vector_product_with_the_variable_itself_as_vector():
    x = T.dvector("x")
    product = function([x], hessian_vector_product((x ** 3).sum(), x, x))
    numpy.testing.assert_allclose(product(values(3)), 6 * values(3) ** 2)


# (name, expression of x, shape of x): of several dimensions
TENSORS = [
    ("matrix by matrix", lambda x: T.dot(T.exp(x), x.T), (2, 3)),
    ("matrix by vector", lambda x: T.outer(x, x ** 2), (3,)),
    ("matrix by number", lambda x: T.exp(x) * T.as_tensor(W), ()),
    ("vector by number", lambda x: x * T.arange(3.0), ()),
    ("number by matrix", lambda x: T.tanh(x).sum(), (2, 3)),
    ("tensor by matrix", lambda x: T.stack([x, x ** 3]), (2, 2)),
    ("inverse", lambda x: T.linalg.inv(x + 3 * T.eye(3)), (3, 3)), ("column by row", lambda x: T.exp(x).T * 2, (1, 3)),
    ("loop", lambda x: phintys.scan(lambda h: T.tanh(T.dot(h, T.as_tensor(W.T[:3]))), outputs_info=[x], n_steps=3)[0],
     (3,)),
]


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("name, expression, shape", TENSORS, ids=[row[0] for row in TENSORS])
def test_jacobians_of_any_ranks(name, expression, shape, mode, way):
    x = T.TensorType("float64", [length == 1 for length in shape])("x")
    value = values(*shape)
    f = function([x], [expression(x), jacobian(expression(x), x, mode=mode)])
    plain, found = f(value)
    assert found.shape == plain.shape + shape
    numpy.testing.assert_allclose(found, numeric(lambda value: f(value)[0], value), rtol=1e-6, atol=1e-8)


def test_both_modes_agree_for_lists_and_what_is_not_connected():
    x, y, z = T.dmatrix("x"), T.dvector("y"), T.dscalar("z")
    expression = T.dot(x, y) * 2
    for mode in ("reverse", "forward"):
        found = jacobian(expression, (x, y, z), disconnected_inputs="ignore", mode=mode)
        assert isinstance(found, tuple)
        by_x, by_y, by_z = function([x, y, z], list(found), on_unused_input="ignore")(values(2, 3), values(3), 1.0)
        numpy.testing.assert_allclose(by_y, 2 * values(2, 3))
        numpy.testing.assert_allclose(by_x, 2 * numpy.einsum("ij,k->ijk", numpy.eye(2), values(3)))
        assert by_z.tolist() == [0, 0]
        with pytest.raises(DisconnectedInputError):
            jacobian(expression, z, mode=mode)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_hessians_of_matrices_and_of_pairs(mode):
    x, y = T.dmatrix("x"), T.dvector("y")
    cost = (T.exp(x * y) * x).sum() + (y ** 3).sum()
    slopes = function([x, y], grad(cost, [x, y]))
    (xx, xy), (yx, yy) = hessian(cost, [x, y], mode=mode, mixed=True)
    alone = hessian(cost, [x, y], mode=mode)
    found = function([x, y], [xx, xy, yx, yy, *alone, hessian(cost, x, mode=mode, mixed=True)])(values(2, 3), values(3))
    wanted = [numeric(lambda value: slopes(value, values(3))[0], values(2, 3)),
              numeric(lambda value: slopes(values(2, 3), value)[0], values(3)),
              numeric(lambda value: slopes(value, values(3))[1], values(2, 3)),
              numeric(lambda value: slopes(values(2, 3), value)[1], values(3))]
    for got, want in zip(found, [*wanted, wanted[0], wanted[3], wanted[0]], strict=True):
        numpy.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)


def test_no_loop_is_needed_forward():
    x = T.dvector("x")
    f = function([x], jacobian(T.tanh(T.dot(W, x)), x, mode="forward"))
    assert not has_map(f)


def test_modes_are_checked():
    x = T.dvector("x")
    with pytest.raises(ValueError, match="mode must be 'reverse' or 'forward', got 'backward'"):
        jacobian(x, x, mode="backward")
    with pytest.raises(ValueError, match="consider_constant is not supported in forward mode"):
        hessian(x.sum(), x, consider_constant=[x], mode="forward")
