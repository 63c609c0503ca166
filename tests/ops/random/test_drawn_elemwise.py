"""Samples and elementwise work on them in one pass: the numbers are those of two nodes, in any layout and any mode."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse
from phintys.ops.random.draw import Draw
from phintys.ops.random.drawn_elemwise import DrawnElemwise
from phintys.random import default_rng


def fused(function):
    return sum([isinstance(node.op, DrawnElemwise) for node in function.maker.fgraph.toposort()])


def dropped(g, x, dtype="float64"):
    return x * (g.random(size=x.shape, dtype=dtype) < 0.4) * 2.5


# What is made of a sample and an input of shape (7, n), by phintys and by NumPy; the shape is known at run time only.
EXPRESSIONS = {
    "dropout": lambda g, x, t: x * t.cast(g.random(size=(7, x.shape[1])) < 0.4, "float64") * 2.5,
    "dropout, switch": lambda g, x, t: t.where(g.random(size=(7, x.shape[1])) < 0.4, x, 0.0),
    "noise": lambda g, x, t: x + 0.1 * g.normal(size=(7, x.shape[1])),
    "scaled": lambda g, x, t: g.uniform(-1.0, 2.0, size=(7, x.shape[1])) * x,
    "exponential": lambda g, x, t: t.exp(-g.exponential(2.0, size=(7, x.shape[1]))) * x,
    "no other input": lambda g, x, t: t.sqrt(g.random(size=(7, x.shape[1]))),
    "single": lambda g, x, t: x * t.cast(g.random(size=(7, x.shape[1]), dtype="float32") < 0.4, "float64"),
    "single normal": lambda g, x, t: x + g.standard_normal(size=(7, x.shape[1]), dtype="float32"),
    "single number": lambda g, x, t: x[0, 0] + g.random(size=(7, x.shape[1])),
    "a row": lambda g, x, t: x[0] * g.random(size=(7, x.shape[1])),
    "columns": lambda g, x, t: x[:, ::-1] * g.random(size=(7, x.shape[1])),
}


class NumPy:
    """The functions of the expressions under phintys' names."""

    where, exp, sqrt = numpy.where, numpy.exp, numpy.sqrt

    @staticmethod
    def cast(value, dtype):
        return value.astype(dtype)


class Tensors:
    where, exp, sqrt, cast = T.switch, T.exp, T.sqrt, T.cast


@pytest.fixture
def workers(request):
    """So many threads are used by functions that are first called in the test."""
    with phintys.change_flags(workers=request.param):
        yield request.param


@pytest.mark.parametrize("workers", [1, 3], indirect=True)
@pytest.mark.parametrize("kind", ["PCG64", "SFC64"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_numbers(name, kind, workers):
    x, bits = T.matrix(), getattr(numpy.random, kind)(3)
    function = phintys.function([x], EXPRESSIONS[name](default_rng(bits), x, Tensors))
    assert fused(function) == 1 and "Draw{" in function.explain("instructions")
    plain = phintys.function([x], EXPRESSIONS[name](default_rng(bits), x, Tensors), mode="FAST_COMPILE")
    assert fused(plain) == 0
    generator = numpy.random.Generator(bits)
    for columns in (0, 1, 30, 5001, 30_000, 73):
        value = numpy.random.default_rng(0).normal(size=(7, columns + 1))[:, :columns]
        if name == "single number" and not columns:
            continue
        for given in (numpy.ascontiguousarray(value), value, numpy.asfortranarray(value)):
            got = function(given)
            numpy.testing.assert_array_equal(got, plain(given))
            wanted = EXPRESSIONS[name](generator, given, NumPy)
            assert got.dtype == wanted.dtype
            numpy.testing.assert_allclose(got, wanted, rtol=1e-14)


@pytest.mark.parametrize("size", [(), (1, 4), (4, 1), (1, 1)])
def test_short_shapes(size):
    x = T.TensorType("float64", [length == 1 for length in size])()
    function = phintys.function([x], dropped(default_rng(3), x) if not size else x + default_rng(3).random(size=size))
    value = numpy.ones(size)
    wanted = dropped(numpy.random.default_rng(3), value) if not size else 1 + numpy.random.default_rng(3).random(size)
    numpy.testing.assert_array_equal(function(value), wanted)


def test_several_results():
    x, sample = T.vector(), default_rng(3).random(size=(5000,))
    function = phintys.function([x], [x * sample, x + 2 * sample])
    assert fused(function) == 1
    numbers, value = numpy.random.default_rng(3).random(5000), numpy.arange(5000.0)
    for got, wanted in zip(function(value), (value * numbers, value + 2 * numbers)):
        numpy.testing.assert_array_equal(got, wanted)


def test_a_sample_that_others_read_is_stored():
    x, sample = T.vector(), default_rng(3).random(size=(5,))
    for outputs in ([sample, x * sample], [sample.sum(), x * sample]):
        function = phintys.function([x], outputs)
        assert fused(function) == 0
        assert any([isinstance(node.op, Draw) for node in function.maker.fgraph.toposort()])


def test_a_state_that_another_draw_continues():
    """The second sample would be an input of the node that makes the state from which it is drawn."""
    rng, x = default_rng(3), T.vector()
    first = rng.random(size=(5,))
    state, after = rng.state_updates[0]
    again = first.owner.op(after, *first.owner.inputs[1:])
    function = phintys.function([x], x * first + again[1], updates=[(state, again[0])])
    numbers, ones = numpy.random.default_rng(3), numpy.ones(5)
    for _ in range(2):
        numpy.testing.assert_array_equal(function(ones), numbers.random(5) + numbers.random(5))


def test_in_a_branch_a_loop_and_debug_mode():
    x, condition = T.vector(), T.lscalar()
    sample = dropped(default_rng(3), T.ones((4,)))
    function = phintys.function([condition, x], ifelse(condition, sample, x))
    wanted = numpy.random.default_rng(3)
    numpy.testing.assert_array_equal(function(1, numpy.ones(4)), dropped(wanted, numpy.ones(4)))
    rng = default_rng(3)
    values, updates = phintys.scan(lambda total: total + dropped(rng, total), outputs_info=T.ones((4,)), n_steps=3)
    function = phintys.function([], values, updates=updates)
    generator, total = numpy.random.default_rng(3), numpy.ones(4)
    for row in function():
        total = total + dropped(generator, total)
        numpy.testing.assert_array_equal(row, total)
    function = phintys.function([x], dropped(default_rng(3), x), mode="DebugMode")
    numpy.testing.assert_array_equal(function(numpy.ones(9)), dropped(numpy.random.default_rng(3), numpy.ones(9)))


def test_errors_change_no_state():
    x, size, deviation = T.matrix(), T.lvector(), T.scalar()
    sample = default_rng(3).normal(0.0, deviation, size=size, ndim=2)
    function = phintys.function([x, size, deviation], x + sample)
    assert fused(function) == 1
    before = sample.rng.get_value()
    for arguments, message in (((numpy.ones((2, 3)), [3, 2], 1.0),
                                r"mis-match. \(an operand of shape \(2, 3\), a sample of shape \(3, 2\)\)"),
                               ((numpy.ones((2, 3)), [2], 1.0), "size must have length 2"),
                               ((numpy.ones((2, 3)), [2, -3], 1.0), "is negative: -3"),
                               ((numpy.ones((2, 3)), [2, 3], -1.0), "normal: scale must be at least 0, got -1")):
        with pytest.raises(ValueError, match=message):
            function(*arguments)
    numpy.testing.assert_array_equal(sample.rng.get_value(), before)
    numpy.testing.assert_array_equal(function(numpy.zeros((2, 3)), [2, 3], 1.0),
                                     numpy.random.default_rng(3).normal(size=(2, 3)))


def test_inputs_are_not_overwritten():
    x = phintys.shared(numpy.ones(5000))
    y = x * 2
    function = phintys.function([], [y * default_rng(3).random(size=(5000,)), y + 1])
    numbers, other = function()
    numpy.testing.assert_array_equal(numbers, 2 * numpy.random.default_rng(3).random(5000))
    assert (other == 3).all() and (x.get_value() == 1).all()
