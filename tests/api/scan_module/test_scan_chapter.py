"""The examples of the chapter on scan, with the values and shapes that it prints."""
import numpy
import pytest

import phintys
import phintys.tensor as T


def test_power_of_a_vector():
    k, a = T.iscalar("k"), T.vector("A")
    result, updates = phintys.scan(fn=lambda prior_result, A: prior_result * A, outputs_info=T.ones_like(a),
                                   non_sequences=a, n_steps=k)
    power = phintys.function(inputs=[a, k], outputs=result[-1], updates=updates)
    assert not updates
    numpy.testing.assert_array_equal(power(range(10), 2), [0, 1, 4, 9, 16, 25, 36, 49, 64, 81])
    numpy.testing.assert_array_equal(power(range(10), 4), [0, 1, 16, 81, 256, 625, 1296, 2401, 4096, 6561])
    every = phintys.function([a, k], result)
    assert every(range(10), 3).shape == (3, 10)


def test_polynomial():
    coefficients, x = T.vector("coefficients"), T.scalar("x")
    components, _ = phintys.scan(fn=lambda coefficient, power, free_variable: coefficient * (free_variable ** power),
                                 outputs_info=None, sequences=[coefficients, T.arange(10000)], non_sequences=x)
    calculate = phintys.function(inputs=[coefficients, x], outputs=components.sum())
    assert calculate(numpy.asarray([1, 0, 2], numpy.float32), 3) == 19


def test_sum_of_integers():
    up_to = T.iscalar("up_to")

    def accumulate_by_adding(arange_val, sum_to_date):
        return sum_to_date + arange_val

    seq = T.arange(up_to)
    result, _ = phintys.scan(fn=accumulate_by_adding, outputs_info=T.as_tensor_variable(numpy.asarray(0, seq.dtype)),
                             sequences=seq)
    triangular = phintys.function(inputs=[up_to], outputs=result)
    assert list(triangular(15)) == [0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66, 78, 91, 105]
    assert triangular(15).dtype == seq.dtype


def test_implicit_downcast_is_refused_with_advice():
    seq = T.arange(T.iscalar("up_to"))
    with pytest.raises(ValueError, match="has dtype int8, while the result .* has dtype int64(.|\n)*tensor.constant"):
        phintys.scan(lambda value, total: total + value, outputs_info=T.as_tensor_variable(0), sequences=seq)


def test_values_set_at_positions():
    location, values, output_model = T.imatrix("location"), T.vector("values"), T.matrix("output_model")

    def set_value_at_position(a_location, a_value, output_model):
        zeros = T.zeros_like(output_model)
        return T.set_subtensor(zeros[a_location[0], a_location[1]], a_value)

    result, _ = phintys.scan(fn=set_value_at_position, outputs_info=None, sequences=[location, values],
                             non_sequences=output_model)
    assign = phintys.function(inputs=[location, values, output_model], outputs=result)
    found = assign(numpy.asarray([[1, 1], [2, 3]], numpy.int32), numpy.asarray([42, 50], numpy.float32),
                   numpy.zeros((5, 5), numpy.float32))
    wanted = numpy.zeros((2, 5, 5))
    wanted[0, 1, 1], wanted[1, 2, 3] = 42, 50
    numpy.testing.assert_array_equal(found, wanted)


def one_step(u_tm4, u_t, x_tm3, x_tm1, y_tm1, W, W_in_1, W_in_2, W_feedback, W_out):
    x_t = T.tanh(phintys.dot(x_tm1, W) + phintys.dot(u_t, W_in_1) + phintys.dot(u_tm4, W_in_2)
                 + phintys.dot(y_tm1, W_feedback))
    return [x_t, phintys.dot(x_tm3, W_out)]


def test_recurrent_network_with_several_taps():
    weights = [T.matrix(name) for name in ("W", "W_in_1", "W_in_2", "W_feedback", "W_out")]
    u, x0, y0 = T.matrix(), T.matrix(), T.vector()
    (x_vals, y_vals), updates = phintys.scan(fn=one_step, sequences=dict(input=u, taps=[-4, -0]),
                                             outputs_info=[dict(initial=x0, taps=[-3, -1]), y0],
                                             non_sequences=weights, strict=True)
    run = phintys.function([u, x0, y0, *weights], [x_vals, y_vals], updates=updates)
    rng = numpy.random.RandomState(1)
    shapes = [(4, 4), (2, 4), (2, 4), (3, 4), (4, 3)]
    values = [rng.uniform(-1, 1, shape) for shape in shapes]
    us, xs, ys = rng.uniform(size=(9, 2)), rng.uniform(size=(3, 4)), rng.uniform(size=3)
    found_x, found_y = run(us, xs, ys, *values)
    x, y = list(xs), [ys]
    for step in range(4, 9):                        # u[0] is u[-4]: the first step is at u[4]
        w, w_in_1, w_in_2, w_feedback, w_out = values
        following = numpy.tanh(x[-1] @ w + us[step] @ w_in_1 + us[step - 4] @ w_in_2 + y[-1] @ w_feedback)
        y.append(x[-3] @ w_out)
        x.append(following)
    assert found_x.shape == (5, 4) and found_y.shape == (5, 3)
    numpy.testing.assert_allclose(found_x, x[3:])
    numpy.testing.assert_allclose(found_y, y[1:])


def test_gibbs_like_updates_of_a_shared_variable():
    a = phintys.shared(1)
    values, updates = phintys.scan(lambda: {a: a + 1}, n_steps=10)
    assert values is None and list(updates) == [a]
    b = a + 1
    before = phintys.function([], [b, a])
    step = phintys.function([], [b, a], updates=updates)
    assert [int(value) for value in before()] == [2, 1]
    assert [int(value) for value in step()] == [2, 1]
    assert [int(value) for value in before()] == [12, 11]


# What Theano 1.0.5 computes: two calls of ten steps.
GIBBS = ["0001 0001 1100 1100 1000 1101 1000 1000 0001 1110", "0110 1010 0111 0100 1100 1100 1010 1110 0110 1011"]


@pytest.mark.parametrize("strict", [False, True])
def test_gibbs_sampling(strict):
    """Random numbers are drawn anew in each step, and the streams go on in the next call."""
    rng = numpy.random.RandomState(3)
    w, b_visible, b_hidden = [phintys.shared(rng.uniform(-1, 1, shape)) for shape in ((4, 3), 4, 3)]
    streams = T.shared_randomstreams.RandomStreams(1234)

    def one_step(visible, *passed):
        hidden_mean = T.nnet.sigmoid(phintys.dot(visible, w) + b_hidden)
        hidden = streams.binomial(size=hidden_mean.shape, n=1, p=hidden_mean, dtype="float64")
        visible_mean = T.nnet.sigmoid(phintys.dot(hidden, w.T) + b_visible)
        return streams.binomial(size=visible.shape, n=1, p=visible_mean, dtype="float64")

    sample = T.dvector()
    values, updates = phintys.scan(one_step, outputs_info=sample, n_steps=10)
    gibbs = phintys.function([sample], values, updates=updates)
    assert len(updates) == 2
    for wanted in GIBBS:
        assert " ".join(["".join(map(str, row.astype(int))) for row in gibbs([1, 0, 1, 0])]) == wanted
    if strict:
        with pytest.raises(phintys.gof.MissingInputError):
            phintys.scan(one_step, outputs_info=sample, n_steps=10, strict=True)
        missing = phintys.scan(lambda visible, w, b: visible * w[:, 0] + b, outputs_info=sample, n_steps=10,
                               non_sequences=[w, b_visible], strict=True)[0]
        assert phintys.function([sample], missing)([1, 0, 1, 0]).shape == (10, 4)


def test_conditional_ending():
    max_value = T.scalar()

    def power_of_2(previous_power, max_value):
        return previous_power * 2, phintys.scan_module.until(previous_power * 2 > max_value)

    values, _ = phintys.scan(power_of_2, outputs_info=T.constant(1.), non_sequences=max_value, n_steps=1024)
    assert list(phintys.function([max_value], values)(45)) == [2, 4, 8, 16, 32, 64]


def test_order_of_arguments():
    first, second, third = T.vector("s1"), T.vector("s2"), T.vector("s3")
    before, after = T.vector("o1"), T.scalar("o3")
    seen = []

    def step(*arguments):
        seen.extend(argument.name for argument in arguments)
        return arguments[4] + 0., arguments[0] + 0., arguments[7] + 0.

    phintys.scan(step, sequences=[dict(input=first, taps=[-3, 2, -1]), second, dict(input=third, taps=3)],
                 outputs_info=[dict(initial=before, taps=[-3, -5]), dict(initial=None, taps=None), after],
                 non_sequences=[T.scalar("a1"), T.scalar("a2")])
    assert seen == ["s1[t-3]", "s1[t+2]", "s1[t-1]", "s2[t]", "s3[t+3]", "o1[t-3]", "o1[t-5]", "o3[t-1]", "a1", "a2"]
