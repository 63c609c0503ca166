"""``config.math_rules``, and what rows of rewrites say that they may change."""
import itertools

import numpy
import pytest
from optimized_graphs import UNFUSED
from rewrite_claims import CHANGES_OF, broken_claims, changes_between

import phintys
from phintys import tensor as T
from phintys.graph.config import change_flags
from phintys.optimizer.engine.database import FAST_RUN, Query, Rewrite

PLAIN = phintys.Mode(optimizer=None)
v, w, M, N, s, m = T.dvector("v"), T.dvector("w"), T.dmatrix("M"), T.dmatrix("N"), T.dscalar("s"), T.dscalar("m")

# Formulas in which x / m is near 1, whatever the size of x and m.
SCALED = {
    "sum of squares": lambda x, m: ((x / m) ** 2).sum(),
    "square": lambda x, m: T.sqr(x / m).sum(),
    "product": lambda x, m: ((x / m) * (x / m)).sum(),
    "dot": lambda x, m: T.dot(x / m, x / m),
    "factors": lambda x, m: 0.5 * ((x / m) ** 2).sum() * 4,
    "factors inside": lambda x, m: (0.5 * ((x / m) ** 2) * 2).sum(),
    "inverse": lambda x, m: ((x * (1 / m)) ** 2).sum(),
    "fourth power": lambda x, m: ((x / m) ** 4).sum(),
    "mean": lambda x, m: ((x / m) ** 2).mean(),
    "variance": lambda x, m: (x / m).var(),
    "norm": lambda x, m: (x / m).norm(2),
    "scaled back": lambda x, m: (((x / m) ** 2) / 7 * m).sum(),
    "each scaled back": lambda x, m: (T.sqr(x / m) * m).sum(),
    "hypotenuse": lambda x, m: (m * T.sqrt(1 + (x / m) ** 2)).sum(),
    "normal": lambda x, m: (-0.5 * ((x - m / 2) / m) ** 2 - T.log(m)).sum(),
    "Cauchy": lambda x, m: (-T.log1p((x / m) ** 2) - T.log(m)).sum(),
    "own scale": lambda x, m: abs(x).max() * T.sqrt(((x / abs(x).max()) ** 2).sum()) + m,
    "negated": lambda x, m: ((-(x / m)) ** 2).sum(),
    "by rows": lambda x, m: (T.sqr(x.reshape((1, 3)) / m).sum(axis=1) * m).sum(),
}


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("size", [1.0, 1e200, 1e-200])
def test_scaled_formulas_stay_in_range(name, size):
    cost = SCALED[name](v, s)
    outputs, values = [cost, *T.grad(cost, [v, s])], [numpy.array([1.0, -2.0, 3.0]) * size, 2.5 * size]
    expected = phintys.function([v, s], outputs, mode=PLAIN)(*values)
    for rules in ("theano", "strict"):
        with change_flags(math_rules=rules):
            for got, known in zip(phintys.function([v, s], outputs, mode="FAST_RUN")(*values), expected):
                numpy.testing.assert_allclose(got, known, rtol=1e-12, err_msg=rules)


def test_fast_takes_powers_out_of_sums():
    with change_flags(math_rules="fast"):
        f = phintys.function([v, s], ((v / s) ** 2).sum(), mode="FAST_RUN")
    assert f([3.0, 4.0], 5.0) == 1
    assert numpy.isnan(f([1e200, 1e200], 1e200))                # inf / inf: what "theano" avoids


# What a literal reading gives, and most rewrites do not.
LITERAL = {
    "x / x": v / v, "x - x": v - v, "0 * x": 0 * v, "x * y / y": v * w / w, "x + y - x": v + w - v,
    "1 / (1 / x)": 1 / (1 / v),
    "log(exp(x))": T.log(T.exp(v)), "exp(log(x))": T.exp(T.log(v)), "log(1 + exp(x))": T.log(1 + T.exp(v)),
    "log(sum(exp(x)))": T.log(T.exp(v).sum()), "exp(x) / sum(exp(x))": T.exp(v) / T.exp(v).sum(),
    "1 - sigmoid(x)": 1 - T.nnet.sigmoid(v), "log(sigmoid(x))": T.log(T.nnet.sigmoid(v)),
    "sum(2e300 * x)": (2e300 * v).sum(), "x**0.5": v ** 0.5, "x**-2": v ** -2, "abs(exp(x))": abs(T.exp(v)),
    "switch": T.switch(v > 0, 0, v) * w, "(x + 1e308) - 1e308": (v + 1e308) - 1e308, "x // 1": v // 1,
    "exp(x) * exp(-x)": T.exp(v) * T.exp(-v), "log(x * exp(y))": T.log(v * T.exp(w)), "sgn": v / T.sgn(T.exp(w)),
}
SPECIAL = numpy.array([0.0, -0.0, 1.0, -1.5, 1e-200, 1e200, 750.0, -750.0, numpy.inf, -numpy.inf, numpy.nan, 1e308])


@pytest.mark.parametrize("name", LITERAL)
def test_strict_rules_compute_what_is_written(name):
    first, second = [grid.ravel() for grid in numpy.meshgrid(SPECIAL, SPECIAL)]
    expected = phintys.function([v, w], LITERAL[name], mode=PLAIN, on_unused_input="ignore")(first, second)
    with change_flags(math_rules="strict"):
        got = phintys.function([v, w], LITERAL[name], mode="FAST_RUN", on_unused_input="ignore")(first, second)
    assert changes_between(expected, got) <= {"rounding"}


def test_strict_rules_keep_errors():
    lost = T.switch(1, v, T.opt.assert_op(v, s > 0))
    assert phintys.function([v, s], lost)([1.0], -1.0) == 1
    with change_flags(math_rules="strict"):
        f = phintys.function([v, s], lost)
    with pytest.raises(AssertionError):
        f([1.0], -1.0)


def test_a_mode_leaves_out_what_changes_something():
    f = phintys.function([v], v / v, mode=phintys.Mode().excluding("changes_nan"))
    assert numpy.isnan(f([0.0])).all() and f([2.0]) == 1


def test_a_row_says_only_what_there_is_to_say():
    with pytest.raises(ValueError, match=r"may change rounding, range, nan, errors, not speed"):
        Rewrite("mine", (), lambda fgraph, node: None, changes="speed")
    row = Rewrite("mine", (), lambda fgraph, node: None, changes="nan rounding")
    assert row.tags == {FAST_RUN, "mine", "changes_nan", "changes_rounding"} and row.changes == ("nan", "rounding")
    query = Query(include=[FAST_RUN])
    assert query.under("theano") is query and query.wants(row.tags) and not query.under("strict").wants(row.tags)


# ---- each replacement against its own row ----------------------------------------------------------------------------
LEAVES = [v, w, s, M[0]]
UNARY = [T.exp, T.log, T.sqr, T.sqrt, abs, lambda x: -x, T.nnet.sigmoid, T.nnet.softplus, T.log1p, T.expm1, T.sgn,
         T.tanh, lambda x: 1 - x, lambda x: 1 / x, lambda x: x * 2, lambda x: x ** 3, lambda x: x ** 0.5,
         lambda x: x / 3, lambda x: 0 * x, lambda x: x + 0, T.erf, T.erfc]
BINARY = [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y, T.maximum,
          lambda x, y: T.switch(x > 0, y, 0), lambda x, y: T.switch(y > 0, 0, x), lambda x, y: T.switch(1, x, y)]
WHOLE = [lambda x: x, lambda x: x.sum(), lambda x: x[1:], lambda x: T.stack([x, x]).sum(axis=0), lambda x: x.max(),
         lambda x: T.concatenate([x.flatten(), w])[2:], lambda x: T.dot(M.T, x * T.ones_like(v)),
         lambda x: T.set_subtensor((x + 0 * v)[1:], 0)[1], lambda x: T.grad(x.sum(), v, disconnected_inputs="ignore")]


def random_formula(random):
    """A formula of a few operations of v, w, s and M."""
    values = list(LEAVES)
    for _ in range(random.randint(2, 7)):
        if random.rand() < 0.5:
            made = UNARY[random.randint(len(UNARY))](values[-1 if random.rand() < 0.7 else random.randint(len(values))])
        else:
            made = BINARY[random.randint(len(BINARY))](values[-1], values[random.randint(len(values))])
        values.append(made)
    return WHOLE[random.randint(len(WHOLE))](values[-1] if values[-1].ndim else values[-1] + v)


def claims_of_formulas(seeds):
    """Broken claims of random formulas, and the rewrites that fired."""
    broken, fired = [], set()
    for seed in seeds:
        random = numpy.random.RandomState(seed)
        formula = random_formula(random)
        for pool in (SPECIAL, numpy.array([0.3, 1.7, -0.6, 2.2])):
            values = [random.choice(pool, shape) for shape in [(4,), (4,), (), (4, 4)]]
            found, names = broken_claims([v, w, s, M], [formula], values, UNFUSED)
            broken += [(seed, *claim) for claim in found]
            fired |= names
    return broken, fired


def test_replacements_change_what_their_rows_say():
    broken, fired = claims_of_formulas(range(150))
    assert broken == [] and len(fired) > 30


def test_a_row_that_says_too_little_is_found(monkeypatch):
    monkeypatch.setitem(CHANGES_OF, "local_mul_canonizer", {"rounding"})
    broken, _ = broken_claims([v], [v / v], [numpy.array([1.0, 0.0])], UNFUSED)
    assert [claim[:2] for claim in broken] == [("local_mul_canonizer", ["nan"])]


def literal_values_differ(seeds):
    """Seeds of random formulas whose values under strict rules are not those without any rewrites."""
    differing = []
    for seed in seeds:
        random = numpy.random.RandomState(seed)
        formula = random_formula(random)
        values = [random.choice(SPECIAL, shape) for shape in [(4,), (4,), (), (4, 4)]]
        expected = phintys.function([v, w, s, M], formula, mode=PLAIN, on_unused_input="ignore")(*values)
        with change_flags(math_rules="strict"):
            f = phintys.function([v, w, s, M], formula, mode="FAST_RUN", on_unused_input="ignore")
        if changes_between(expected, f(*values)) - {"rounding"}:
            differing.append(seed)
    return differing


def test_strict_rules_compute_random_formulas_as_written():
    assert literal_values_differ(range(60)) == []


@pytest.mark.long
def test_strict_rules_compute_random_formulas_as_written_long():
    assert literal_values_differ(range(60, 5060)) == []


@pytest.mark.long
def test_replacements_change_what_their_rows_say_long():
    assert claims_of_formulas(range(150, 10_150))[0] == []


def test_what_changes_between():
    cases = itertools.product([(0.1 + 0.2, 0.3, "rounding"), (1.0, numpy.inf, "range"), (1e-200, 0.0, "range"),
                               (1.0, numpy.nan, "nan"), (1.0, 2.0, "value")], [0, 1])
    for (first, second, word), turned in cases:
        pair = (second, first) if turned else (first, second)
        assert changes_between(*pair) == {word}
    assert changes_between([0.0, numpy.nan], [-0.0, numpy.nan]) == set()
