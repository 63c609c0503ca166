"""``config.compute_test_value``: graphs computed on examples while they are built."""
import pdb
import warnings

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import Op, as_op, change_flags, function, grad, shared
from phintys.gof.op import debug_assert, debug_error_message, get_debug_values, get_test_value, missing_test_message

A, B = numpy.arange(6.0).reshape(2, 3), numpy.ones((3, 4))


def variables(with_values=True):
    x, y = T.dmatrix("x"), T.dmatrix("y")
    if with_values:
        x.tag.test_value, y.tag.test_value = A, B
    return x, y


@pytest.fixture
def raising():
    with change_flags(compute_test_value="raise"):
        yield


def test_off_computes_nothing():
    x, y = variables()
    assert not hasattr(T.dot(x, y).tag, "test_value") and get_debug_values(x) == []


def test_values_follow_the_graph(raising):
    x, y = variables()
    z = T.tanh(T.dot(x, y) + 1).sum(axis=0)
    numpy.testing.assert_allclose(z.tag.test_value, numpy.tanh(A @ B + 1).sum(axis=0))
    assert x.shape.tag.test_value.tolist() == [2, 3]
    numpy.testing.assert_allclose(x[1:, ::-1].tag.test_value, A[1:, ::-1])
    numpy.testing.assert_allclose(grad((z ** 2).sum(), y).tag.test_value.shape, (3, 4))


def test_numbers_constants_and_shared_variables(raising):
    s = shared(A, "s")
    numpy.testing.assert_allclose((s * 2 + T.constant(A)).tag.test_value, 3 * A)
    assert T.exp(0.0).tag.test_value == 1.0 and T.zeros((2, 3)).tag.test_value.shape == (2, 3)
    assert get_test_value(s).shape == (2, 3) and get_test_value(T.constant(3)) == 3
    assert get_test_value([1, 2]).tolist() == [1, 2]


def test_errors_appear_where_the_node_is_made(raising):
    x, _ = variables()
    wrong = T.constant(numpy.ones((4, 4)))
    for make in (lambda: T.dot(x, wrong), lambda: x + wrong, lambda: x.__mul__(wrong), lambda: x.reshape((5, 5))):
        with pytest.raises(ValueError):
            make()
    with pytest.raises(IndexError):
        x[7]


def test_missing_values():
    x, y = variables(with_values=False)
    with change_flags(compute_test_value="raise"):
        with pytest.raises(ValueError, match=r"Cannot compute test value: input 0 \(x\) of Op dot\(x, y\) missing "
                                             "default value.*test_compute_test_value.py"):
            T.dot(x, y)
    with change_flags(compute_test_value="warn"), pytest.warns(UserWarning, match="Cannot compute test value") as seen:
        z = T.dot(x, y)
    assert len(seen) == 2 and seen[0].filename == __file__ and not hasattr(z.tag, "test_value")
    with change_flags(compute_test_value="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hasattr(T.dot(x, y).tag, "test_value")


def test_pdb_stops_where_the_node_is_made(monkeypatch):
    stops = []
    monkeypatch.setattr(pdb.Pdb, "set_trace", lambda self, frame=None: stops.append(frame.f_code.co_name))
    x, _ = variables(with_values=False)
    with change_flags(compute_test_value="pdb"):
        T.neg(x)
    assert stops == ["test_pdb_stops_where_the_node_is_made"]


def test_wrong_values(raising):
    x = T.dvector("x")
    x.tag.test_value = A
    with pytest.raises(TypeError, match="one input test value does not have the requested type: that of x"):
        T.exp(x)
    n = T.lscalar("n")
    n.tag.test_value = 2.5
    with pytest.raises(TypeError, match="requested type"):
        n + 1


def test_values_of_other_dtypes_are_converted(raising):
    x = T.fmatrix("x")
    x.tag.test_value = A.astype("float16")
    assert (x * 2).tag.test_value.dtype == "float32"


class Squared(Op):
    """A user's op that overwrites its input."""

    __props__ = ()
    itypes, otypes = [T.dmatrix], [T.dmatrix]
    destroy_map = {0: [0]}

    def perform(self, node, inputs, output_storage):
        inputs[0] *= inputs[0]
        output_storage[0][0] = inputs[0]


def test_user_ops(raising):
    x, _ = variables()
    numpy.testing.assert_allclose(Squared()(x).tag.test_value, A ** 2)
    numpy.testing.assert_allclose(x.tag.test_value, A)
    doubled = as_op(T.dmatrix, T.dmatrix)(lambda value: value * 2)
    numpy.testing.assert_allclose(doubled(x).tag.test_value, 2 * A)

    def failing(value):
        raise KeyError("the op's own words")

    with pytest.raises(KeyError, match="own words"):
        as_op(T.dmatrix, T.dmatrix)(failing)(x)


def test_compilation_computes_none(raising):
    x, y = variables()
    z = T.dot(x, y).sum()
    del x.tag.test_value
    assert function([x, y], z)(A, B) == (A @ B).sum()
    assert phintys.config.compute_test_value == "raise"


def test_debug_values(raising):
    x, y = variables()
    (value,), ((first, second),) = get_debug_values(x), get_debug_values(x, y)
    assert value.shape == first.shape == (2, 3) and second.shape == (3, 4)
    with pytest.raises(AttributeError, match="no test value"):
        get_debug_values(x, T.dvector("v"))


def test_what_code_that_builds_graphs_can_say():
    with change_flags(compute_test_value="raise"):
        for say, error in ((lambda: missing_test_message("gone"), AttributeError),
                           (lambda: debug_error_message("wrong"), ValueError),
                           (lambda: debug_assert(False), AssertionError)):
            with pytest.raises(error):
                say()
    with change_flags(compute_test_value="warn"):
        for say in (lambda: missing_test_message("gone"), lambda: debug_error_message("wrong"),
                    lambda: debug_assert(False, "wrong")):
            with pytest.warns(UserWarning, match="gone|wrong"):
                say()
    with change_flags(compute_test_value="ignore"):
        missing_test_message("gone")
    debug_assert(True)


@pytest.mark.parametrize("option", ["off", "raise"])
@pytest.mark.parametrize("replacement", [None, T.constant(A), T.zeros((2, 3)), shared(A), A, T.dmatrix()])
def test_clones_keep_test_values(option, replacement):
    """Also where the replacement says more about the shape, so that nodes are made anew."""
    x, _ = variables()
    with change_flags(compute_test_value="raise"):
        y = T.tanh(x) * 2 + x.sum(axis=0)
    with change_flags(compute_test_value=option):
        copies = phintys.clone([y, y.owner.inputs[1]], None if replacement is None else {x: replacement})
        for copied, variable in zip([*copies, y.clone(), x.clone(), phintys.clone(y, share_inputs=False)],
                                    [y, y.owner.inputs[1], y, x, y]):
            numpy.testing.assert_array_equal(copied.tag.test_value, variable.tag.test_value)


@pytest.mark.parametrize("build", [
    lambda x: T.cumprod(x, axis=1), lambda x: T.cumprod(x), lambda x: T.cumsum(x, axis=0), lambda x: x.prod(axis=0),
    lambda x: phintys.scan(lambda row, state: T.tanh(row * state), x, x[0])[0],
    lambda x: phintys.scan(lambda state: (state * 2, phintys.scan_module.until(state.sum() > 99)), outputs_info=x,
                           n_steps=20)[0],
    lambda x: phintys.scan_checkpoints(lambda row, state: row * state, x, x[0], save_every_N=2)[0],
    lambda x: phintys.ifelse.ifelse(x.sum() > 1, x, x ** 2)])
def test_derivatives_are_built_from_test_values(build, raising):
    """Loops of the package build graphs themselves."""
    x, _ = variables()
    y = (build(x) ** 2).sum()
    first = grad(y, x)
    second = grad((first ** 2).sum(), x)
    for value in (first, second, T.Rop(y, x, x)):
        numpy.testing.assert_allclose(value.tag.test_value, function([x], value)(A))


def test_random_streams_draw_test_values(raising):
    from phintys.sandbox.rng_mrg import MRG_RandomStreams
    from phintys.tensor.shared_randomstreams import RandomStreams
    for make in (lambda: RandomStreams(5).normal((3,)), lambda: RandomStreams(5).choice((3,), 7),
                 lambda: MRG_RandomStreams(5).normal((3,)), lambda: phintys.random.default_rng(5).normal(size=3)):
        sample = make()
        numpy.testing.assert_array_equal(sample.tag.test_value, function([], sample)())
    stream = RandomStreams(5)
    rows, _ = phintys.scan(lambda row: row * stream.normal(()), T.constant(A[0]))
    assert rows.tag.test_value.shape == (3,)
