"""What held a rewrite back, and the rewrites that were applied, as text."""
import re

import numpy
import pytest

import phintys
from phintys import gof
from phintys import tensor as T
from phintys.graph.config import change_flags

x, y, i = T.dvector("x"), T.dvector("y"), T.ivector("i")
c, M = T.dscalar("c"), T.dmatrix("M")
w = phintys.shared(numpy.array([1.0, 2.0]), name="w")


def test_the_steps_are_told_with_the_lines_of_the_user():
    f = phintys.function([x, y], [T.log(1 + T.exp(x)), x / y * y])
    text = f.explain(rewrites=True)
    assert "local_log_one_plus_exp:\n    log(1 + exp(x))  ->  softplus(x)  [" in text
    line = re.search(r"test_why_not.py:\d+", text)[0]
    assert "x / y * y  ->  x" in text
    assert f.explain(rewrites="canonizer").startswith("local_mul_canonizer:\n    x / y * y  ->  x")
    assert f.explain(rewrites="stabilize").splitlines() == [
        line for line in text.splitlines() if "softplus" in line and "log(" in line or "log_one_plus" in line]
    assert f.explain(rewrites=line).count("->") == text.count(line)
    assert f.explain(rewrites="nothing_of_this_name") == "no rewrite was applied"


REASONS = {                     # name of a rewrite → formula, mode, and the reason against
    "local_log_exp": (T.exp(x), None, "the graph has no log"),
    "local_log_sigmoid": (T.log(T.tanh(x)), None, "no log has an input that is sigmoid"),
    "local_neg_neg": (T.exp(-x), None, "no neg has an input that is neg"),
    "local_sign_of_positive": (x * 2, None, "the graph has no sgn"),
    "local_abs_neg": (abs(T.cast(-x, "complex128")), None, "no abs_ has an input that is neg"),
    "local_mul_minus_one": (x * 3, None, "nothing matches ``x * -1``"),
    "local_log1p_exp": (T.log1p(T.exp(T.cast(x, "complex128"))), None, "its condition does not hold ("),
    "local_div_by_power_of_two": (x / 3, None, "its condition does not hold (``x / c -> x * (1/c)``"),
    "local_log1p": (T.log(1 + x), phintys.Mode().excluding("local_log1p"), "the mode excludes local_log1p"),
    "local_remove_all_assert": (x + 1, None, "the mode includes none of changes_errors, local_remove_all_assert"),
    "local_mul_canonizer": (x / y * y, None, "it was applied"),
}


@pytest.mark.parametrize("name", REASONS)
def test_reasons_against_rewrites(name):
    formula, mode, reason = REASONS[name]
    f = phintys.function([x, y], formula, mode=mode, on_unused_input="ignore")
    assert phintys.why_not(f, name).startswith(f"{name}: {reason}")


def test_rules_of_mathematics_are_a_reason():
    with change_flags(math_rules="strict"):
        f = phintys.function([x], x / x)
        assert phintys.why_not(f, "local_mul_canonizer") == (
            "local_mul_canonizer: config.math_rules is 'strict', but it changes nan")


def test_reasons_against_work_in_place():
    f = phintys.function([x], T.exp(x) + 1)
    assert "instead of x [" in phintys.why_not(f, "inplace")
    assert "it is an input that is not mutable" in phintys.why_not(f, "inplace")
    f = phintys.function([phintys.In(x, mutable=True)], T.exp(x))
    assert phintys.why_not(f, "inplace") == "each value that can be is computed in place"


def test_reasons_against_fusion():
    total = T.exp(x).sum()
    f = phintys.function([x, M], [T.exp(x) * 2, T.tanh(M) + T.exp(M.sum(axis=0, keepdims=True))])
    assert "they have other shapes: (True, False) and (False, False)" in phintys.why_not(f, "fusion")
    assert phintys.why_not(phintys.function([x], total), "fusion") == "no elementwise operation reads another one"
    f = phintys.function([x], T.exp(x).dimshuffle("x", 0), mode=phintys.Mode())
    assert phintys.why_not(f, "fusion") == "no elementwise operation reads another one"


def test_names_that_do_not_exist():
    with pytest.raises(ValueError, match="there is no rewrite 'local_log_epx'.*such as local_log_exp"):
        phintys.why_not(phintys.function([x], x + 1), "local_log_epx")


def test_rewrites_of_users():
    @gof.local_optimizer([T.sinh])
    def local_of_a_user(node):
        return None

    f = phintys.function([x], T.exp(x), mode=phintys.Mode().register(local_of_a_user))
    assert phintys.why_not(f, "local_of_a_user").startswith("local_of_a_user: its condition does not hold")
