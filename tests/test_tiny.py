"""A page that shows that everything works: declare, build, compile, compute. Run this first."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import function, shared


def test_one_function():
    x = T.dscalar("x")
    f = function([x], x + 1)
    assert f(2.0) == 3.0 and f(2.0).dtype == "float64" and f(2.0).shape == ()


def test_broadcasting_and_reduction():
    a, b = T.dmatrix("a"), T.dvector("b")
    f = function([a, b], [a * b, (a * b).sum(axis=0), T.exp(a).max()])
    left, right = numpy.arange(6.0).reshape(2, 3), numpy.array([1.0, 10.0, 100.0])
    product, sums, largest = f(left, right)
    numpy.testing.assert_array_equal(product, left * right)
    numpy.testing.assert_array_equal(sums, (left * right).sum(axis=0))
    numpy.testing.assert_allclose(largest, numpy.exp(5.0))


def test_gradient():
    x = T.dvector("x")
    slope = function([x], phintys.grad(T.tanh(x ** 2).sum(), x))
    point = numpy.array([-1.0, 0.0, 0.5])
    numpy.testing.assert_allclose(slope(point), 2 * point * (1 - numpy.tanh(point ** 2) ** 2), rtol=1e-12)


def test_shared_state():
    count, step = shared(0, name="count"), T.lscalar("step")
    advance = function([step], count, updates={count: count + step})
    assert [int(advance(3)), int(advance(4)), int(count.get_value())] == [0, 3, 7]


def test_the_compiled_program_can_be_read():
    x = T.dvector("x")
    f = function([x], T.exp(x).sum(), name="sum_of_exponentials")
    assert "KERNEL" in f.explain("instructions") and "sum_of_exponentials" in f.explain("instructions")
    assert len(f.maker.fgraph.toposort()) >= 1


def test_errors_say_where():
    x, y = T.dvector("x"), T.dvector("y")
    f = function([x, y], x + y)
    with pytest.raises(ValueError, match="test_tiny.py"):
        f(numpy.zeros(2), numpy.zeros(3))


def test_the_four_listings_of_the_paper(capsys):
    numpy.random.seed(0)
    x = T.matrix(); y = T.lvector()
    w = shared(numpy.random.randn(100)); b = shared(numpy.zeros(()))
    print("Initial model:"); print(w.get_value(), b.get_value())
    first = w.get_value()

    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
    xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
    cost = xent.mean() + 0.01 * (w ** 2).sum()
    gw, gb = T.grad(cost, [w, b])
    prediction = p_1 > 0.5

    predict = function(inputs=[x], outputs=prediction)
    train = function(inputs=[x, y], outputs=[prediction, xent], updates={w: w - 0.1 * gw, b: b - 0.1 * gb})

    N = 4; feats = 100
    D = (numpy.random.randn(N, feats), numpy.random.randint(size=N, low=0, high=2))
    training_steps = 10
    for i in range(training_steps):
        pred, err = train(D[0], D[1])
    print("Final model:"); print(w.get_value(), b.get_value())
    print("target values for D", D[1]); print("prediction on D", predict(D[0]))

    expected_w, expected_b = reference_training(first, D, training_steps)
    numpy.testing.assert_allclose(w.get_value(), expected_w, rtol=1e-9)
    numpy.testing.assert_allclose(b.get_value(), expected_b, rtol=1e-9)
    assert pred.dtype == bool and err.shape == (N,)
    numpy.testing.assert_array_equal(predict(D[0]), D[1].astype(bool))
    assert "Final model:" in capsys.readouterr().out


def reference_training(w, data, steps):
    """The same training in NumPy."""
    x, y = data
    b = 0.0
    for _ in range(steps):
        difference = 1 / (1 + numpy.exp(-x @ w - b)) - y
        w, b = w - 0.1 * (x.T @ difference / len(y) + 0.02 * w), b - 0.1 * difference.mean()
    return w, b
