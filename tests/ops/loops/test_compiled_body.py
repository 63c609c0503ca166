"""The compiled body of a loop: made once, with the memory that ``scan(allow_gc=)`` asks for."""
import copy
import gc
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.graph import hooks
from phintys.ops.loops import native_steps
from phintys.vm.loops.loop_kernel import loops_in
from tests.support.loop_listings import loops_of

SIZE = 100                                          # a matrix of 80 kB is no small block


def matrix_loop(**options):
    """A scan whose steps compute several matrices."""
    x, start = T.dmatrix("x"), T.dmatrix("start")
    rows, _ = phintys.scan(lambda row, state: T.dot(T.tanh(T.dot(state, state)), state) + row, x, start, **options)
    return [x, start], rows[-1]


def values():
    return numpy.random.RandomState(0).randn(3, SIZE), numpy.random.RandomState(1).randn(SIZE, SIZE) / SIZE


def test_a_body_is_compiled_once(monkeypatch):
    names, function = [], hooks.function

    def counted(*arguments, **options):
        names.append(options.get("name"))
        return function(*arguments, **options)

    x = T.dvector("x")
    rows, _ = phintys.scan(lambda x: x * 2, x, name="twice")
    monkeypatch.setattr(hooks, "function", counted)
    first = phintys.function([x], rows, mode="FAST_COMPILE")
    again = phintys.function([x], rows + 1, mode="FAST_COMPILE")
    copied = first.copy()
    assert names.count("for{cpu,twice}") == 1
    kernels = [loops_in(f.program)[0] for f in (first, again, copied)]
    assert kernels[0] is kernels[1] is kernels[2]
    assert first([1, 2]).tolist() == copied([1, 2])[0].tolist() == [2, 4] and again([1, 2]).tolist() == [3, 5]


def test_another_body_for_other_options():
    x = T.dvector("x")
    rows, _ = phintys.scan(lambda x: T.exp(x), x)
    usual = phintys.function([x], rows, mode="FAST_COMPILE")
    with phintys.change_flags(math="numpy"):
        other = phintys.function([x], rows, mode="FAST_COMPILE")
        assert loops_in(other.program)[0] is not loops_in(usual.program)[0]
    numpy.testing.assert_allclose(usual([1.0, 2.0]), other([1.0, 2.0]))


def test_copies_and_pickles_of_a_compiled_loop():
    inputs, result = matrix_loop()
    f = phintys.function(inputs, result)
    node, = loops_of(f)
    for op in (copy.copy(node.op), copy.deepcopy(node.op), pickle.loads(pickle.dumps(node.op))):
        assert op == node.op and op._kernels == {} and node.op._kernels
        again = phintys.function(node.inputs, op(*node.inputs, return_list=True))
        assert loops_in(again.program)[0] is not loops_in(f.program)[0]
    numpy.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(*values()), f(*values()))


@pytest.mark.parametrize("outer", [True, False, "plan"])
@pytest.mark.parametrize("inner", [True, False])
@pytest.mark.parametrize("by_flag", [True, False])
def test_what_a_body_drops_is_said_by_scan(outer, inner, by_flag):
    with phintys.change_flags(**{"scan.allow_gc": inner if by_flag else not inner, "allow_gc": outer}):
        f = phintys.function(*matrix_loop(**({} if by_flag else {"allow_gc": inner})))
    body, = loops_in(f.program)
    drops = [line for line in f.explain("instructions").splitlines() if " DROP " in line and "large" not in line]
    assert body.program.allow_gc is inner
    assert drops or not inner
    assert f(*values()).shape == (SIZE, SIZE)


@pytest.mark.skipif(phintys.config.stress, reason="under stress nothing is kept")
@pytest.mark.parametrize("inner", [True, False])
def test_memory_of_the_body_after_a_call(inner):
    """A function that keeps its memory keeps that of its bodies, too, and gives it up with the rest."""
    matrix = 8 * SIZE * SIZE
    kept = {}
    for outer in (True, False):
        with phintys.change_flags(allow_gc=outer):
            f = phintys.function(*matrix_loop(allow_gc=inner))
        wanted = f(*values())
        body, = loops_in(f.program)
        kept[outer] = body.kept_bytes()
        assert f.kept_bytes() >= kept[outer]
        numpy.testing.assert_array_equal(f(*values()), wanted)
        assert body.kept_bytes() == kept[outer]
        f.free()
        assert body.kept_bytes() == f.kept_bytes() == 0
        numpy.testing.assert_array_equal(f(*values()), wanted)
    assert kept[True] < matrix
    assert (kept[False] >= matrix) is not inner


def test_the_bodies_of_nested_loops_are_found():
    x = T.dmatrix("x")
    rows, _ = phintys.scan(lambda row: phintys.scan(lambda x, total: x * total + 1, row, numpy.float64(0))[0], x)
    f = phintys.function([x], rows)
    assert len(loops_in(f.program)) == 2
    f.free()
    assert f(numpy.ones((2, 3))).tolist() == [[1, 2, 3]] * 2


# ---- programs that equal loops share ---------------------------------------------------------------------------------
X = T.dmatrix("X")


def layer(rows, name="h", factor=2.0):
    """The rows of a loop, whose body is made by this line."""
    return phintys.scan(lambda row, h: T.tanh(row + factor * h), rows, T.zeros((3,)), name=name)[0]


def programs_of(rows, **options):
    """The programs of the bodies of the loops in a function, which has to live, and the function."""
    function = phintys.function([X], rows, **options)
    return [kernel.program for kernel in loops_in(function.program)], function


def test_loops_with_equal_bodies_share_a_program():
    (first, second), function = programs_of(layer(layer(T.exp(X))))
    assert first is second
    plain = phintys.function([X], layer(layer(T.exp(X))), mode="FAST_COMPILE")
    for count in (4, 2, 7):
        value = numpy.random.RandomState(count).rand(count, 3)
        numpy.testing.assert_allclose(function(value), plain(value), rtol=1e-14)
    (again,), _ = programs_of(layer(T.exp(X[1:])))                 # of another function
    assert again is first


@pytest.mark.parametrize("other", [
    lambda: layer(X, name="other"), lambda: layer(X, factor=3.0), lambda: layer(T.cast(X, "float32")),
    lambda: phintys.scan(lambda row, h: T.tanh(row + 2.0 * h), X, T.zeros((3,)), name="h")[0],
    lambda: phintys.scan(lambda row, g: T.tanh(row + 2.0 * g), X, T.zeros((3,)), name="h")[0]])
def test_loops_with_another_title_line_type_or_number_share_none(other):
    (first,), kept = programs_of(layer(X))
    (second,), _ = programs_of(other())
    assert first is not second


def test_loops_over_other_known_lengths_share_none():
    """The program of one has its lengths as constants: the gradient of the mean would be divided by another's."""
    programs = []
    for length in (12, 20, None):
        x = T.tensor("float64", shape=(length,))
        rows = phintys.scan(lambda state: T.tanh(state).mean() * state, outputs_info=x, n_steps=2)[0]
        state = T.tanh(x).mean() * x
        costs = rows[-1].sum(), (T.tanh(state).mean() * state).sum()
        f = phintys.function([x], T.grad(costs[0], x))
        wanted = phintys.function([x], T.grad(costs[1], x))
        value = numpy.linspace(0.1, 0.5, length or 15)
        numpy.testing.assert_allclose(f(value), wanted(value), rtol=1e-12)
        programs.append([kernel.program for kernel in loops_in(f.program)])
    assert len({id(program) for found in programs for program in found}) == sum(map(len, programs)) > 3


def test_programs_are_shared_under_equal_rules_and_while_a_loop_lives():
    (first,), function = programs_of(layer(X))
    with phintys.config.change_flags(math_rules="strict"):
        (second,), strict = programs_of(layer(X))
    assert second is not first
    count = len(native_steps._programs)
    del first, second, function, strict
    gc.collect()
    assert len(native_steps._programs) < count


def test_a_body_with_a_loop_is_not_shared():
    def inner(row, h):
        return phintys.scan(lambda x, total: total + x * h[0], row, T.zeros(()))[0][-1] + h

    rows = phintys.scan(inner, X, T.ones((2,)), name="outer")[0]
    both = phintys.scan(inner, T.tile(rows, (1, 2))[:, :3], T.ones((2,)), name="outer")[0]
    kernels = loops_in(phintys.function([X], [rows, both]).program)
    assert len(kernels) > 1 and len({id(kernel.program) for kernel in kernels}) == len(kernels)
