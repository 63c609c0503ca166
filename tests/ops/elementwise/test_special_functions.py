"""Special functions: extreme arguments, second derivatives, derivatives by parameters."""
import numpy
import pytest
from elementwise_cases import drawn

import phintys
import phintys.tensor as T
from phintys.ops.elementwise.scalar_op import SCALAR_OPS

# Operands, and derivatives that were computed with 40 digits (mpmath). Of gammainc(k, x): by k, and twice by k.
GAMMA = [
    (0.01, 0.001, -5.957905603446865, 36.30008774742207),
    (0.5, 1e-10, -0.00026023065019619644, 0.0059909798552012766),
    (0.5, 3.0, -0.04724032644797375, -0.08598986897368568),
    (5.0, 0.1, -3.075944868501416e-07, 1.2200861523062633e-06),
    (5.0, 20.0, -2.6217707922167135e-05, -3.6864785513900756e-05),
    (50.0, 45.0, -0.04554329214012388, 0.004808003324170133),
    (50.0, 56.0, -0.03823329539109288, -0.004338890382230973),
    (1000.0, 900.0, -6.245709035841566e-05, 6.581064795890883e-06),
    (1000.0, 1100.0, -0.00011048987784079389, -1.0531678471574556e-05),
    (2.0, 60.0, -1.970053552845756e-24, -6.921649624884876e-24),
]
# Of betainc(a, b, x): by a, by b, by x; twice by a, by a and b, twice by b.
BETA = [
    (0.5, 0.5, 0.3, -0.6428114811572838, 0.46874458391550544, 0.6946091180428566,
     1.3451995000262817, -0.2657297583584443, -0.6144616057845871),
    (2.0, 3.0, 0.999, -4.327084533666821e-09, 2.661129785009167e-08, 1.1988000000000021e-05,
     -2.991255000722397e-09, 2.7924562715818732e-08, -1.7692348568083353e-07),
    (0.1, 20.0, 1e-06, -3.7024096395414023, 0.001817731720911774, 35544.33846031761,
     38.07346838601539, -0.000802780308737427, -8.364449141209805e-05),
    (100.0, 120.0, 0.45, -0.02940125593381525, 0.024270746396140856, 11.7822848747276,
     0.000429827906471739, -0.00023293859345671752, 9.077525931188499e-05),
    (1000.0, 2.0, 0.99, -4.341028418502305e-06, 0.0009400085384996124, 0.4365092793744299,
     3.9289938198625246e-08, -8.164611002410674e-06, 0.0015587210142872805),
    (3.0, 0.001, 0.5, -6.701919811921274e-05, 0.06828313751973099, 0.0005004032766417424,
     7.2049209384147e-05, -0.06706181721710251, 0.1359329379867328),
]
# Of hyp2f1(a, b, c, x): by a, b and c; twice by each; by a and b, a and c, b and c.
HYPERGEOMETRIC = [
    (0.5, 1.2, 2.3, 0.3, 0.19652766667618754, 0.08494198818962015, -0.04551372502604159, 0.045882253226533935,
     0.013790191291668034, 0.04314126776425223, 0.1852710058043329, -0.10006887934386777, -0.04424534256105444),
    (1.5, 2.5, 3.5, -4.0, -0.17972753909256622, -0.0877853707858327, 0.05673236614128059, 0.2303678942086667,
     0.07041025319950264, -0.00857041207183922, 0.03683040435354467, -0.026717268933948587, -0.01665904991315313),
    (-2.0, 1.3, 0.7, 0.6, 0.033249460189262316, -0.6252100840336134, 1.3593955229150485, 0.2081720306287792,
     0.6050420168067226, -3.2580094815978797, -0.34372311226462227, 0.46653233245310916, 0.2525245392274557),
    (0.1, 0.2, 0.3, 0.99, 3.8187564066812714, 2.226505709434211, -1.6801318157223286, 15.908762421070316,
     8.576176981489404, 13.50936479395066, 28.020582097330774, -21.328222452608134, -12.752391860487855),
    (2.0, -0.5, 1.5, -0.2, 0.060851406847434106, -0.2661705206107201, -0.0814210560324537, -0.0021052552403360136,
     0.05751789167959437, 0.10653496925049526, -0.13281534906959339, -0.038457636929600435, 0.1771285317016481),
]
# Of zeta(x, q): by x, and twice by x.
ZETA = [(1.0001, 2.0, -99999999.92720716, 2000000000000.6511), (1.5, 0.01, 4601.2305426586, 21223.58110277858),
        (2.0, 1.0, -0.9375482543158438, 1.989280234298901),
        (30.0, 3.5, -5.971803293997579e-17, 7.482216252981643e-17),
        (3.0, 1000000.0, -7.157762186740787e-12, 1.0259201670180471e-10)]

def test_derivatives_of_the_incomplete_gamma_function():
    first, last, by_k, twice = numpy.transpose(GAMMA)
    k, x = T.dvector(), T.dvector()
    slope = T.grad(T.gammainc(k, x).sum(), k)
    f = phintys.function([k, x], [slope, T.grad(slope.sum(), k), T.grad(T.gammaincc(k, x).sum(), k)])
    found, second, upper = f(first, last)
    numpy.testing.assert_allclose(found, by_k, rtol=1e-11)
    numpy.testing.assert_allclose(upper, -by_k, rtol=1e-11)
    numpy.testing.assert_allclose(second, twice, rtol=1e-9)


def derivatives(build, count, parameters):
    """The compiled derivatives by the first operands: first ones, second ones, and mixed ones."""
    operands = [T.dvector() for _ in range(count)]
    output = build(*operands)
    slopes = T.grad(output.sum(), operands[:parameters])
    twice = [T.grad(slope.sum(), operand) for slope, operand in zip(slopes, operands)]
    mixed = [T.grad(slopes[first].sum(), operands[second]) for first in range(parameters)
             for second in range(first + 1, parameters)]
    return phintys.function(operands, [*slopes, *twice, *mixed])


def test_derivatives_of_the_incomplete_beta_function():
    *operands, by_a, by_b, by_x, by_aa, by_ab, by_bb = numpy.transpose(BETA)
    f = derivatives(T.betainc, 3, 2)
    for found, wanted in zip(f(*operands), (by_a, by_b, by_aa, by_bb, by_ab)):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-9)
    x = T.dvector()
    numpy.testing.assert_allclose(phintys.function([x], T.grad(T.betainc(*operands[:2], x).sum(), x))(operands[2]),
                                  by_x, rtol=1e-10)


def test_derivatives_of_the_hypergeometric_function():
    operands = numpy.transpose(HYPERGEOMETRIC)
    for found, wanted in zip(derivatives(T.hyp2f1, 4, 3)(*operands[:4]), operands[4:]):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-10)
    f = derivatives(T.hyp2f1, 4, 3)
    for x in (1.0, 1.5, -1e9):                      # not defined, or not to be had by adding terms
        assert all(numpy.isnan(part).all() for part in f([0.5], [0.3], [0.7], [x]))


def test_derivatives_of_zeta():
    x, q, by_x, twice = numpy.transpose(ZETA)
    found = derivatives(T.zeta, 2, 1)(x, q)
    numpy.testing.assert_allclose(found[0], by_x, rtol=1e-12)
    numpy.testing.assert_allclose(found[1], twice, rtol=1e-11)


def test_ends_of_the_incomplete_functions():
    k, x = T.dvector(), T.dvector()
    f = phintys.function([k, x], T.grad(T.gammainc(k, x).sum(), k))
    ends = f([2.0, 2.0, -1.0, 1.0], [0.0, numpy.inf, 1.0, -1.0])
    numpy.testing.assert_array_equal(ends, [0, 0, numpy.nan, numpy.nan])
    a, b = T.dvector(), T.dvector()
    g = phintys.function([a, b, x], T.grad(T.betainc(a, b, x).sum(), [a, b]))
    for part in g([2.0, 2.0, 0.0, 1.0], [3.0, 3.0, 1.0, 1.0], [0.0, 1.0, 0.5, 2.0]):
        numpy.testing.assert_array_equal(part, [0, 0, numpy.nan, numpy.nan])


# Rows → those operands by which there are second derivatives.
TWICE = {"erf": [0], "erfc": [0], "erfcx": [0], "erfinv": [0], "erfcinv": [0], "gamma": [0], "gammaln": [0], "psi": [0],
         "tri_gamma": [0], "polygamma": [1], "zeta": [0, 1], "beta": [0, 1], "betaln": [0, 1], "betainc": [0, 1, 2],
         "gammainc": [0, 1], "gammaincc": [0, 1], "gammaincinv": [0, 1], "gammainccinv": [0, 1],
         "betaincinv": [0, 1, 2], "gammau": [0, 1], "gammal": [0, 1], "chi2sf": [0, 1], "jv": [1], "j0": [0],
         "j1": [0], "iv": [1], "i0": [0], "i1": [0], "ive": [1], "i0e": [0], "i1e": [0], "kv": [1],
         "kve": [1], "k0": [0], "k1": [0], "ndtr": [0], "log_ndtr": [0], "ndtri": [0], "logit": [0], "xlogy": [0, 1],
         "xlog1py": [0, 1], "entr": [0], "sinc": [0], "owens_t": [0, 1], "hyp2f1": [0, 1, 2, 3], "logaddexp": [0, 1]}


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives(name):
    arrays = drawn(name, (5,), "float64", seed=4)
    inputs = [T.dvector() for _ in arrays]
    output = SCALAR_OPS[name].elementwise(*inputs)
    for first in TWICE[name]:
        slope = T.grad(output.sum(), inputs[first])
        for second in TWICE[name]:
            f = phintys.function(inputs, slope, on_unused_input="ignore")
            found = phintys.function(inputs, T.grad(slope.sum(), inputs[second], disconnected_inputs="ignore"),
                                     on_unused_input="ignore")(*arrays)
            moved = [[array + sign * 1e-5 * (number == second) for number, array in enumerate(arrays)]
                     for sign in (1, -1)]
            numpy.testing.assert_allclose(found, (f(*moved[0]) - f(*moved[1])) / 2e-5, rtol=1e-5, atol=1e-6)


def test_special_functions_are_fused():
    x = T.dvector()
    f = phintys.function([x], T.exp(-T.gammaln(x) + T.xlogy(x, 2.0) - T.betaln(x, 1.5)) * T.kv(1.0, x))
    assert len(f.maker.fgraph.toposort()) == 1


EDGES = [
    (T.sinc, [0.0, 1e-200, -1.0], [1.0, 1.0, 0.0]), (T.log_ndtr, [-1e4, 40.0], [-50000010.129278924, 0.0]),
    (T.entr, [0.0, -1.0], [0.0, -numpy.inf]), (lambda x: T.xlogy(0.0, x), [0.0, numpy.inf, 2.0], [0.0, 0.0, 0.0]),
    (lambda x: T.polygamma(0, x), [1.0], [-0.5772156649015329]), (lambda x: T.zeta(x, 1.0), [2.0], [numpy.pi ** 2 / 6]),
]


@pytest.mark.parametrize("position", range(len(EDGES)))
def test_edges(position):
    build, operands, wanted = EDGES[position]
    x = T.dvector()
    numpy.testing.assert_allclose(phintys.function([x], build(x))(operands), wanted, atol=1e-15)


def test_theanos_module():
    from phintys.scalar import basic_scipy
    assert basic_scipy.gammaln is SCALAR_OPS["gammaln"] and isinstance(basic_scipy.psi, basic_scipy.Psi)
    assert basic_scipy.imported_scipy_special and {"Erfinv", "jv"} < {*basic_scipy.__all__}


def test_slopes_at_zero():
    x = T.dvector()
    f = phintys.function([x], T.grad(T.sinc(x).sum(), x))
    assert f([0.0]).tolist() == [0.0]
