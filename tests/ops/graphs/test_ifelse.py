"""``ifelse``: values, types, gradients, errors, and that only the branch that is taken runs."""
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import phintys
import phintys.tensor as T
from phintys.ifelse import IfElse, ifelse

MODES = "FAST_RUN", "FAST_COMPILE", "DebugMode"
CONDITION_DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
                    "float32", "float64", "complex64", "complex128")
A, B = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0])


class Counted(phintys.Op):
    """Adds its number, and records that it ran."""

    __props__ = ("number",)
    runs = []

    def __init__(self, number):
        self.number = number

    def make_node(self, x):
        return phintys.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        self.runs.append(self.number)
        output_storage[0][0] = inputs[0] + self.number


class Failing(phintys.Op):
    """Cannot be run."""

    __props__ = ()

    def make_node(self, x):
        return phintys.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        raise ArithmeticError("this branch was not to be taken")


@pytest.fixture
def runs():
    """The numbers of the ops that ran since the last call, sorted; the record is cleared."""
    def look():
        found = sorted(Counted.runs)
        Counted.runs.clear()
        return found
    look()
    return look


@pytest.fixture
def x():
    return T.dvector("x")


@pytest.fixture
def y():
    return T.dvector("y")


@pytest.fixture
def c():
    return T.iscalar("c")


def ifs(f):
    return [node for node in f.maker.fgraph.toposort() if isinstance(node.op, IfElse)]


# ---- values ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", MODES)
def test_branches_of_different_lengths(c, x, y, mode):
    f = phintys.function([c, x, y], ifelse(c, x, y), mode=mode)
    assert_array_equal(f(1, A, B), A)
    assert_array_equal(f(0, A, B), B)
    assert f(1, A, B) is not A


@pytest.mark.parametrize("mode", MODES)
def test_several_values(c, x, y, mode):
    first, second = ifelse(c, (x, y.sum()), (y * 2, x.prod()), name="pair")
    f = phintys.function([c, x, y], [second, first], mode=mode)
    for condition, expected in ((5, (9.0, A)), (0, (6.0, B * 2))):
        for value, wanted in zip(f(condition, A, B), expected):
            assert_array_equal(value, wanted)


@pytest.mark.parametrize("kind, expected", [(list, list), (tuple, tuple)])
def test_returns_the_kind_of_sequence_it_was_given(c, x, y, kind, expected):
    assert type(ifelse(c, kind([x, y]), [y, x])) is expected
    assert type(ifelse(c, x, kind([y]))) is type(x)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("dtype", CONDITION_DTYPES)
def test_conditions_of_all_dtypes(x, y, dtype, mode):
    condition = T.TensorType(dtype, ())("condition")
    f = phintys.function([condition, x, y], ifelse(condition, x, y), mode=mode)
    assert_array_equal(f(np.array(0, dtype), A, B), B)
    assert_array_equal(f(np.array(1, dtype), A, B), A)
    if dtype in ("int64", "uint64"):
        assert_array_equal(f(np.array(1 << 40, dtype), A, B), A)
    if np.dtype(dtype).kind in "fc":
        assert_array_equal(f(np.array(np.nan, dtype), A, B), A)
        assert_array_equal(f(np.array(-0.0, dtype), A, B), B)
    if np.dtype(dtype).kind == "c":
        assert_array_equal(f(np.array(1j, dtype), A, B), A)


@pytest.mark.parametrize("mode", MODES)
def test_objects(c, mode):
    first, second = phintys.generic("first"), phintys.generic("second")
    f = phintys.function([c, first, second], ifelse(c, first, second), mode=mode)
    for _ in range(3):
        assert f(1, ["a"], {"b": 2}) == ["a"]
        assert f(0, ["a"], {"b": 2}) == {"b": 2}


def test_constants_and_python_numbers(c):
    f = phintys.function([c], ifelse(c, 1.5, 0.5))
    assert (f(1), f(0)) == (1.5, 0.5)
    assert phintys.function([], ifelse(1, 3, 4))() == 3


def test_results_have_separate_memory(c, x, y):
    f = phintys.function([c, x, y], [ifelse(c, x, y), ifelse(c, x, y * 2), x])
    values = f(1, A, B)
    for value in values:
        value[0] = -1
    assert A[0] == 1
    assert [value[0] for value in f(1, A, B)] == [1, 1, 1]


def test_a_borrowed_result_of_an_argument(c, x, y):
    f = phintys.function([c, phintys.In(x, borrow=True), y], phintys.Out(ifelse(c, x, y), borrow=True))
    first = f(1, A, B)
    f(0, A, B)
    assert_array_equal(first, A)


@pytest.mark.parametrize("allow_gc", [True, False])
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_updates(mode, allow_gc):
    with phintys.change_flags(allow_gc=allow_gc):
        w = phintys.shared(np.arange(400.0), "w")
        g = T.dvector("g")
        step = ifelse(T.isnan(g.sum()), w, w - g)
        f = phintys.function([g], updates=[(w, step)], mode=mode)
        f(np.full(400, np.nan))
        assert_array_equal(w.get_value(), np.arange(400.0))
        for _ in range(3):
            f(np.ones(400))
        assert_array_equal(w.get_value(), np.arange(400.0) - 3)


def test_in_an_op_from_a_graph(c, x, y, runs):
    op = phintys.OpFromGraph([c, x, y], [ifelse(c, Counted(1)(x), Counted(2)(y)) * 2])
    f = phintys.function([c, x, y], op(c, x, y) + 1)
    assert_array_equal(f(1, A, B), (A + 1) * 2 + 1)
    assert_array_equal(f(0, A, B), (B + 2) * 2 + 1)
    assert runs() == [1, 2]


# ---- laziness --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "NanGuardMode"])
@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
def test_only_the_branch_that_is_taken_runs(c, x, y, runs, mode, allow_gc):
    if mode == "NanGuardMode":
        from phintys.debugging.nan_guard_mode import NanGuardMode
        mode = NanGuardMode(True, True, True)
    both = Counted(1)(x)
    with phintys.change_flags(allow_gc=allow_gc):
        f = phintys.function([c, x, y], ifelse(c, T.exp(Counted(2)(both)), Counted(3)(both) * y.sum()), mode=mode)
    for _ in range(3):
        assert_allclose(f(1, A, B), np.exp(A + 3))
        assert runs() == [1, 2]
        assert_allclose(f(0, A, B), (A + 4) * 9)
        assert runs() == [1, 3]


@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
@pytest.mark.parametrize("again", [lambda f: f.copy(), lambda f: pickle.loads(pickle.dumps(f))],
                         ids=["copied", "pickled"])
def test_other_functions_made_from_one_are_lazy_too(c, x, y, runs, again, allow_gc):
    shared = Counted(4)(x)
    with phintys.change_flags(allow_gc=allow_gc):
        f = phintys.function([c, x, y], [ifelse(c, Counted(1)(shared), Counted(2)(y)),
                                         ifelse(y.sum() > 0, x, Failing()(shared))])
    f(1, A, B)
    f = again(f)
    runs()
    for condition, expected in ((1, [1, 4]), (0, [2]), (1, [1, 4])):
        f(condition, A, B)
        assert runs() == expected


@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
def test_threads_take_different_branches_of_one_function(c, x, y, allow_gc):
    shared = T.dot(x, x) * x
    with phintys.change_flags(allow_gc=allow_gc):
        f = phintys.function([c, x, y], [ifelse(c, shared + 1, y), ifelse(y.sum() > 0, shared * 2, x)])
    values = np.arange(2000.0)

    def call(number):
        return [f(number % 2, values + number, np.full(2000, number % 3 - 0.5)) for _ in range(30)]

    def wanted(number):
        v = values + number
        common = v.dot(v) * v
        return common + 1 if number % 2 else np.full(2000, number % 3 - 0.5), common * 2 if number % 3 else v

    with ThreadPoolExecutor(4) as pool:
        for number, results in enumerate(pool.map(call, range(12))):
            for result in results:
                for value, expected in zip(result, wanted(number)):
                    assert_allclose(value, expected)


@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
def test_overwriting_makes_nothing_less_lazy(c, x, y, runs, allow_gc):
    """The value that one arm overwrites is the last value that the other needs, or it is not needed."""
    d = T.iscalar("d")
    value = T.dot(T.outer(x, x), Counted(1)(x))
    with phintys.change_flags(allow_gc=allow_gc):
        f = phintys.function([c, d, x, y], [ifelse(c, T.exp(value), Counted(2)(y)),
                                            ifelse(d, value + 1, Counted(3)(y))])
    for conditions, expected in (((0, 0), [2, 3]), ((1, 0), [1, 3]), ((0, 1), [1, 2]), ((1, 1), [1]), ((0, 0), [2, 3])):
        first, second = f(*conditions, A / 9, B)
        assert runs() == expected
        known = np.outer(A / 9, A / 9).dot(A / 9 + 1)
        assert_allclose(first, np.exp(known) if conditions[0] else B + 2)
        assert_allclose(second, known + 1 if conditions[1] else B + 3)


@pytest.mark.parametrize("mode", MODES)
def test_a_branch_that_would_fail_is_not_run(c, x, mode):
    f = phintys.function([c, x], ifelse(c, x * 2, T.log(Failing()(x))) + 1, mode=mode)
    assert_array_equal(f(1, A), A * 2 + 1)
    with pytest.raises(ArithmeticError, match="not to be taken(.|\n)*Apply node that caused the error: Failing"):
        f(0, A)
    assert_array_equal(f(1, A), A * 2 + 1)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_lengths_that_do_not_fit_in_a_branch_that_is_not_taken(c, x, y, mode):
    outside = T.exp(x)[0] * T.cos(y)[0]
    f = phintys.function([c, x, y], ifelse(c, (x + y).sum(), x.sum()) + outside, mode=mode)
    assert_allclose(f(0, A, B), A.sum() + np.exp(1.0) * np.cos(4.0))
    with pytest.raises(ValueError, match="Input dimension mis-match"):
        f(1, A, B)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_values_needed_under_unrelated_conditions_are_computed_once(x, runs, mode):
    c, d = T.iscalars("c", "d")
    inner = Counted(1)(x)
    shared = Counted(2)(inner)
    f = phintys.function([c, d, x], [ifelse(c, T.exp(shared), x), ifelse(d, shared * 2, x), ifelse(c, inner * 3, x)],
                         mode=mode)
    for conditions, expected in (((0, 0), []), ((1, 0), [1, 2]), ((0, 1), [1, 2]), ((1, 1), [1, 2])):
        f(*conditions, A)
        assert runs() == expected


def test_nested(x, runs):
    c, d = T.iscalars("c", "d")
    f = phintys.function([c, d, x], ifelse(c, ifelse(d, Counted(1)(x), Counted(2)(x)), Counted(3)(x)))
    for conditions, expected in (((1, 1), 1), ((1, 0), 2), ((0, 0), 3), ((0, 1), 3)):
        assert_array_equal(f(*conditions, A), A + expected)
        assert runs() == [expected]


def test_a_condition_inside_a_branch_is_lazy_too(c, x, runs):
    f = phintys.function([c, x], ifelse(c, ifelse(T.gt(Counted(1)(x)[0], 0), x, -x), Counted(2)(x)))
    f(0, A)
    assert runs() == [2]
    f(1, A)
    assert runs() == [1]


def test_switch_stays_strict(c, x, runs):
    f = phintys.function([c, x], T.switch(c, Counted(1)(x), Counted(2)(x)))
    f(1, A)
    assert runs() == [1, 2]


def test_shapes_do_not_run_a_branch(c, x, y, runs):
    z = ifelse(c, T.exp(x), T.outer(x, y).sum(axis=0))
    f = phintys.function([c, x, y], z.shape[0])
    assert (f(1, A, B), f(0, A, B)) == (3, 2)
    assert not [node for node in f.maker.fgraph.toposort() if "exp" in str(node.op)]


# ---- gradients -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", MODES)
def test_gradient(c, x, y, mode):
    cost = (ifelse(c, x ** 2, y ** 3) * 2).sum()
    f = phintys.function([c, x, y], phintys.grad(cost, [x, y]), mode=mode)
    for condition, expected in ((1, (4 * A, 0 * B)), (0, (0 * A, 6 * B ** 2))):
        for value, wanted in zip(f(condition, A, B), expected):
            assert_allclose(value, wanted)


def test_gradient_of_several_values(c, x, y):
    first, second = ifelse(c, (x, y), (y, x))
    f = phintys.function([c, x, y], phintys.grad(first.sum() + (second ** 2).sum(), [x, y]))
    for condition, expected in ((1, (A ** 0, 2 * B)), (0, (2 * A, B ** 0))):
        for value, wanted in zip(f(condition, A, B), expected):
            assert_allclose(value, wanted)


def test_gradient_by_one_of_several_values(c, x, y):
    first, _ = ifelse(c, (x * y.sum(), y), (x, y * 2))
    f = phintys.function([c, x, y], phintys.grad(first.sum(), [x, y]))
    assert_allclose(f(1, A, B)[1], [6, 6])
    assert_allclose(f(0, A, B)[1], [0, 0])


def test_the_condition_has_a_gradient_of_zero(x):
    s = T.dscalar("s")
    f = phintys.function([s, x], phintys.grad(ifelse(s, x, x * 2).sum(), s), on_unused_input="ignore")
    assert f(3.0, A) == 0


def test_gradient_of_whole_numbers():
    w, t = phintys.shared(np.ones(3)), T.dvector("t")
    gradient = phintys.grad(ifelse(T.dot(w, t) > 0, 0, 1), w, disconnected_inputs="ignore")
    assert_array_equal(phintys.function([t], gradient)(A), np.zeros(3))


def test_r_op(c, x, y):
    u = T.dvector("u")
    f = phintys.function([c, x, y, u], phintys.Rop(ifelse(c, x ** 2, y), x, u), on_unused_input="ignore")
    assert_allclose(f(1, A, A, A), 2 * A * A)
    assert_allclose(f(0, A, A, A), 0 * A)


def test_connection_pattern(c, x, y):
    node = IfElse(2)(c, x, y, x, y)[0].owner
    assert node.op.connection_pattern(node) == [[True, True], [True, False], [False, True], [True, False],
                                                [False, True]]


# ---- the op ----------------------------------------------------------------------------------------------------------
def test_properties():
    assert IfElse(2, name="a") == IfElse(2, name="b") and hash(IfElse(2)) == hash(IfElse(2))
    assert IfElse(2) != IfElse(3) and IfElse(2) != IfElse(2, as_view=True) and IfElse(1) != IfElse(1, gpu=True)
    assert IfElse(2, as_view=True).view_map == {0: [1, 3], 1: [2, 4]} and not IfElse(2).view_map
    assert [str(op) for op in (IfElse(1), IfElse(1, name="f"), IfElse(1, True, name="f"))] == \
        ["if{}", "if{f}", "if{f,inplace}"]
    assert pickle.loads(pickle.dumps(IfElse(2, True))) == IfElse(2, True)


def test_functions_with_branches_are_pickled(c, x, y):
    f = pickle.loads(pickle.dumps(phintys.function([c, x, y], ifelse(c, T.exp(x), y))))
    assert_allclose(f(1, A, B), np.exp(A))
    assert_array_equal(f(0, A, B), B)


def test_static_lengths_are_those_common_to_both_branches(c):
    first, second = T.TensorType("float64", (False, False), shape=(3, 4)), \
        T.TensorType("float64", (False, False), shape=(2, 4))
    assert ifelse(c, first("first"), second("second")).type.shape == (None, 4)


def test_names_of_theano():
    import phintys.ifelse
    assert phintys.ifelse.IfElse is IfElse and phintys.ifelse.ifelse is ifelse


# ---- mistakes --------------------------------------------------------------------------------------------------------
PLACE = r"\(made at .*test_ifelse\.py:\d+\)"
WRONG_TYPES = {
    "dtypes": lambda: (T.dvector("x") * 2, T.fvector("y") * 2),
    "ranks": lambda: (T.dvector("x") * 2, T.dcol("y") * 2),
    "patterns": lambda: (T.dmatrix("x") * 2, T.drow("y") * 2),
}


@pytest.mark.parametrize("pair", WRONG_TYPES)
def test_branches_of_different_types(c, pair):
    first, second = WRONG_TYPES[pair]()
    for branches in ((first, second), (second, first)):
        with pytest.raises(TypeError, match=f"identical types.*{PLACE}.*{PLACE}"):
            ifelse(c, *branches)
        with pytest.raises(TypeError, match=f"same types.*{PLACE}.*{PLACE}"):
            IfElse(1)(c, *branches)


def test_objects_and_arrays(c, x):
    with pytest.raises(TypeError):
        ifelse(c, x, phintys.generic("object"))


def test_numbers_of_values(c, x, y):
    with pytest.raises(ValueError, match=rf"same number.*`then` 2 {PLACE}, variables on `else` 1 {PLACE}"):
        ifelse(c, [x * 2, y], [y * 2])
    with pytest.raises(AssertionError, match="expected 4 values, got 2"):
        IfElse(2)(c, x, y)


def test_a_condition_that_is_not_a_scalar(x, y):
    with pytest.raises(TypeError, match=f"has to be a scalar.*{PLACE}"):
        ifelse(x > 0, x, y)
