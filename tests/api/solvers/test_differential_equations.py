"""Differential equations: states against SciPy's, step by step, and derivatives against differences."""
import numpy
import pytest
import scipy.integrate

import phintys
import phintys.tensor as T
from phintys.solvers import odeint

# Name → (derivative by state, time and parameters; start; times; parameters)
EQUATIONS = {
    "predators": (lambda y, t, p: (p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - y[1]), [1.0, 0.5],
                  numpy.linspace(0, 5, 7), [1.5, 1.0, 0.75]),
    "backwards": (lambda y, t, p: (p[0] * y[1], -p[1] * y[0]), [1.0, 0.5], [3.0, 2.9, 0.0], [1.5, 1.0]),
    "driven": (lambda y, t, p: (-p[0] * y[0] + p[1] * (t * t) / (1 + t), p[2] * y[0]), [0.0, 0.0], [0.0, 0.1, 0.2, 4.0],
               [1.0, 2.0, 0.5]),
    "nothing happens": (lambda y, t, p: (0 * y[0], 0 * y[1] + 0 * p[0]), [1.0, 2.0], [0.0, 1.0], [1.0]),
}
TIGHT = {"rtol": 1e-11, "atol": 1e-11}


def variables(name, **options):
    slopes, start, times, parameters = EQUATIONS[name]
    y0, t, p = T.dvectors("y0", "t", "p")
    found = odeint(lambda y, t: T.stack(slopes(y, t, p)), y0, t, **options)
    return [y0, t, p], found, [numpy.array(start), numpy.array(times), numpy.array(parameters)]


@pytest.mark.parametrize("tolerances", [{}, {"rtol": 1e-4, "atol": 1e-6}], ids=str)
@pytest.mark.parametrize("name", EQUATIONS)
def test_states_are_those_of_scipy(name, tolerances):
    inputs, found, (y0, t, p) = variables(name, **tolerances)
    wanted = scipy.integrate.solve_ivp(lambda t, y: EQUATIONS[name][0](y, t, p), (t[0], t[-1]), y0, t_eval=t,
                                       **{"rtol": 1.49012e-8, "atol": 1.49012e-8, **tolerances}).y.T
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        numpy.testing.assert_allclose(phintys.function(inputs, found, mode=mode, on_unused_input="ignore")(y0, t, p),
                                      wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["predators", "backwards", "driven"])
def test_derivatives_are_those_of_the_states(name):
    inputs, found, values = variables(name, **TIGHT)
    weights = numpy.random.RandomState(0).normal(size=(len(values[1]), 2))
    directions = [numpy.random.RandomState(1).normal(size=len(value)) for value in values]
    cost = (found * weights).sum()
    f = phintys.function(inputs, cost)
    slopes = phintys.grad(cost, inputs)
    forward = (T.Rop(found, inputs, [T.as_tensor(each) for each in directions]) * weights).sum()
    *gradients, along = phintys.function(inputs, [*slopes, forward])(*values)
    step = 1e-5
    high, low = [f(*[value + sign * step * each for value, each in zip(values, directions)]) for sign in (1, -1)]
    wanted = (high - low) / (2 * step)
    numpy.testing.assert_allclose(along, wanted, rtol=1e-6)
    numpy.testing.assert_allclose(sum([part @ each for part, each in zip(gradients, directions)]), wanted, rtol=1e-6)


def test_second_derivatives():
    inputs, found, values = variables("backwards", **TIGHT)
    slope = phintys.grad(found[-1].sum(), inputs[2])
    f = phintys.function(inputs, slope)
    by_gradient = phintys.function(inputs, phintys.grad(slope[0], inputs[2]), mode="FAST_COMPILE")(*values)
    step = numpy.array([1e-5, 0])
    wanted = (f(values[0], values[1], values[2] + step) - f(values[0], values[1], values[2] - step)) / 2e-5
    numpy.testing.assert_allclose(by_gradient, wanted, rtol=1e-5)


def test_states_of_any_rank_and_parameters_of_other_dtypes():
    rate, matrix = T.fscalar("rate"), T.dmatrix("matrix")
    found = odeint(lambda y, t, k: -rate * k * y, matrix, [0.0, 1.0], 2)
    f = phintys.function([rate, matrix], [found, phintys.grad(found[1].sum(), rate)])
    start = numpy.arange(6.0).reshape(2, 3)
    states, slope = f(0.5, start)
    numpy.testing.assert_allclose(states, [start, start * numpy.exp(-1)], rtol=1e-7)
    numpy.testing.assert_allclose(slope, -2 * start.sum() * numpy.exp(-1), rtol=1e-6)
    assert slope.dtype == "float32"


def test_one_time_is_the_start():
    y0, t = T.dvectors("y0", "t")
    found = odeint(lambda y, t: -y, y0, t)
    f = phintys.function([y0, t], [found, *phintys.grad(found.sum(), [y0, t])])
    assert [part.tolist() for part in f([1.0, 2.0], [3.0])] == [[[1, 2]], [1, 1], [0]]


def test_what_cannot_be_reached_is_nan():
    """Too many steps, and a state that becomes infinite at 1."""
    t = T.dvector("t")
    few = phintys.function([t], odeint(lambda y, t: -y, 1.0, t, max_steps=3))([0.0, 1e-4, 100.0, 101.0])
    assert numpy.isfinite(few[:2]).all() and numpy.isnan(few[2:]).all()
    explosion = phintys.function([t], odeint(lambda y, t: y ** 2, 1.0, t))([0.0, 0.5, 2.0])
    numpy.testing.assert_allclose(explosion[:2], [1, 2], rtol=1e-6)
    assert numpy.isnan(explosion[2])


def test_mistakes():
    with pytest.raises(ValueError, match="t must be a vector"):
        odeint(lambda y, t: y, 1.0, 2.0)
    with pytest.raises(ValueError, match="the function returns 0 dimensions, but the state has 1"):
        odeint(lambda y, t: y.sum(), [1.0], [0.0, 1.0])
    with pytest.raises(TypeError, match="complex numbers are not supported"):
        odeint(lambda y, t: y, 1j, [0.0, 1.0])


# ---- stiff equations -------------------------------------------------------------------------------------------------
def oscillation(y, p):
    """Van der Pol's."""
    return y[1], p[0] * (1 - y[0] ** 2) * y[1] - y[0]


def reactions(y, p):
    """Robertson's."""
    first, second, third = p[0] * y[0], p[1] * y[1] * y[2], p[2] * y[1] ** 2
    return second - first, first - second - third, third


STIFF = {"oscillation": (oscillation, [2.0, 0.0], [0.0, 400.0], [1000.0]),
         "reactions": (reactions, [1.0, 0.0, 0.0], [0.0, 1.0, 40.0], [0.04, 1e4, 3e7]),
         "backwards": (lambda y, p: (y[1], -p[0] * y[0]), [1.0, 0.5], [2.0, 1.0, 0.0], [2.0])}


def stiff(name, **options):
    slopes, start, times, parameters = STIFF[name]
    y0, t, p = T.dvectors("y0", "t", "p")
    found = odeint(lambda y, t: T.stack(slopes(y, p)), y0, t, method="Radau", **options)
    return [y0, t, p], found, [numpy.array(start), numpy.array(times), numpy.array(parameters)]


@pytest.mark.parametrize("name", STIFF)
def test_stiff_equations_are_solved_in_few_steps(name):
    inputs, found, (y0, t, p) = stiff(name, rtol=1e-6, atol=1e-10, max_steps=1000)
    wanted = scipy.integrate.solve_ivp(lambda t, y: STIFF[name][0](y, p), (t[0], t[-1]), y0, "Radau", t_eval=t,
                                       rtol=1e-8, atol=1e-12).y.T
    numpy.testing.assert_allclose(phintys.function(inputs, found)(y0, t, p), wanted, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("name", ["reactions", "backwards"])
def test_derivatives_of_stiff_equations(name):
    inputs, found, values = stiff(name, rtol=1e-7, atol=1e-11)
    weights = numpy.random.RandomState(0).normal(size=(len(values[1]), len(values[0])))
    directions = [value * numpy.random.RandomState(1).normal(size=len(value)) for value in values]
    cost = (found * weights).sum()
    forward = (T.Rop(found, inputs, [T.as_tensor(each) for each in directions]) * weights).sum()
    *gradients, along = phintys.function(inputs, [*phintys.grad(cost, inputs), forward])(*values)
    f = phintys.function(inputs, cost)
    step = 1e-3
    high, low = [f(*[value + sign * step * each for value, each in zip(values, directions)]) for sign in (1, -1)]
    wanted = (high - low) / (2 * step)
    numpy.testing.assert_allclose(along, wanted, rtol=1e-3)
    numpy.testing.assert_allclose(sum([part @ each for part, each in zip(gradients, directions)]), along, rtol=1e-5)


def test_an_implicit_solution_of_matrices_and_second_derivatives():
    """Of ``y' = -p y`` with a whole parameter beside it: the matrix of second derivatives is known."""
    y0, p, n = T.dmatrix("y0"), T.dscalar("p"), T.lscalar("n")
    found = odeint(lambda y, t: -p * n * y, y0, [0.0, 0.5], method="Radau", rtol=1e-9, atol=1e-12)[-1]
    slope = phintys.grad(found.sum(), p)
    values = phintys.function([y0, p, n], [found, slope, phintys.grad(slope, p)])(numpy.ones((2, 1)), 3.0, 2)
    numpy.testing.assert_allclose(values[0], numpy.full((2, 1), numpy.exp(-3)), rtol=1e-7)
    numpy.testing.assert_allclose(values[1:], [-2 * numpy.exp(-3), 2 * numpy.exp(-3)], rtol=1e-6)


def test_a_method_that_there_is_not():
    with pytest.raises(ValueError, match="method must be 'RK45' or 'Radau', got 'LSODA'"):
        odeint(lambda y, t: y, 1.0, [0.0, 1.0], method="LSODA")


def test_an_implicit_step_that_fails_gives_nan():
    y0 = T.dvector("y0")
    f = phintys.function([y0], odeint(lambda y, t: y ** 2, y0, [0.0, 0.5, 2.0], method="Radau"))
    found = f([1.0])
    assert abs(found[1, 0] - 2) < 1e-6 and numpy.isnan(found[2, 0])


def test_short_states_are_computed_in_registers():
    inputs, found, values = variables("predators")
    for loops, result in enumerate([found, phintys.grad(found.sum(), inputs[0])], start=1):     # and the adjoint
        text = phintys.function(inputs, result, on_unused_input="ignore").explain()
        assert text.count("each step, in registers") == loops
    with pytest.raises(AssertionError, match="SpecifyShape"):           # a state of other lengths than its derivative
        phintys.function(inputs, found)(numpy.ones(3), *values[1:])


def test_numbers_and_whole_arrays_of_one_parameter():
    """What is read as a number and as a whole: the gradients of both uses are added."""
    weights, t = T.dvector("weights"), T.dvector("t")
    found = odeint(lambda y, t: T.stack([y[1] * weights[0], -y[0] * (weights ** 2).sum()]) * weights, [1.0, 0.5], t,
                   **TIGHT)
    f = phintys.function([weights, t], [found[-1].sum(), phintys.grad(found[-1].sum(), weights)])
    point, times = numpy.array([0.5, 1.5]), numpy.array([0.0, 0.7, 1.0])
    wanted = [(f(point + step, times)[0] - f(point - step, times)[0]) / 2e-5 for step in 1e-5 * numpy.eye(2)]
    numpy.testing.assert_allclose(f(point, times)[1], wanted, rtol=1e-6)


def test_the_first_state_is_the_start_even_without_a_slope():
    y, t = T.dvector(), T.dvector()
    states = phintys.function([y, t], odeint(lambda y, t: 1 / y + y[0] * 0, y, t))([0.0, 2.0], [0.0, 1.0])
    numpy.testing.assert_array_equal(states[0], [0, 2])
    assert numpy.isnan(states[1]).any()
