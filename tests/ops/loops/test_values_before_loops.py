"""Values of a body that are the same in each step are computed before the loop, but only if it does a step."""
import numpy
import pytest
from program_callables import callable_of

import phintys
import phintys.tensor as T
from phintys.compile.ops import as_op
from phintys.graph.traversal import ancestors
from phintys.ifelse import IfElse, ifelse
from phintys.vm.files.programs import dumps, loads

MODES = ["FAST_RUN", "FAST_COMPILE"]
START, MATRIX = numpy.array([1.0, 2.0, 4.0]), numpy.eye(3) - 1          # MATRIX is not positive definite
EMPTY = numpy.zeros((0, 3))
seen = []


def _noted(value):
    seen.append(value)
    return value * 2


def _refused(value):
    raise ZeroDivisionError("refused")


noted = as_op([T.dvector], [T.dvector], lambda node, shapes: shapes)(_noted)
of_unknown_shape = as_op([T.dvector], [T.dvector])(_noted)
refused = as_op([T.dvector], [T.dvector], lambda node, shapes: shapes)(_refused)
inverse, cholesky, solve = T.nlinalg.matrix_inverse, T.slinalg.cholesky, T.slinalg.solve

# What a body computes from a vector of three numbers, a singular matrix and 3: it fails, or None: it does not.
VALUES = {
    "an index": (lambda v, m, n: v[7], IndexError),
    "an index of a matrix": (lambda v, m, n: m[:, 9], IndexError),
    "a computed index": (lambda v, m, n: v[n], IndexError),
    "computed indices": (lambda v, m, n: v[T.stack([n, n])], IndexError),
    "a Cholesky factor": (lambda v, m, n: cholesky(m), numpy.linalg.LinAlgError),
    "an inverse": (lambda v, m, n: inverse(m * 0).T, numpy.linalg.LinAlgError),
    "a solution": (lambda v, m, n: solve(m * 0, v), numpy.linalg.LinAlgError),
    "an assertion": (lambda v, m, n: T.opt.Assert("no")(v, v.sum() < 0), AssertionError),
    "lengths that differ": (lambda v, m, n: v + v[:2], ValueError),
    "a product of other lengths": (lambda v, m, n: T.dot(m, v[:2]), ValueError),
    "a product of products": (lambda v, m, n: T.dot(T.dot(m, m[:2]), m), ValueError),
    "another shape": (lambda v, m, n: v.reshape((2, 2)), ValueError),
    "a join": (lambda v, m, n: T.concatenate([m, m[:, :2]]), ValueError),
    "a negative length": (lambda v, m, n: T.alloc(v[0], n - 5), ValueError),
    "a flag": (lambda v, m, n: T.addbroadcast(v, 0), ValueError),
    "a fold of nothing": (lambda v, m, n: phintys.foldl(lambda e, s: s * e, v[:0], T.ones(()))[0], IndexError),
    "a user's op": (lambda v, m, n: refused(v), ZeroDivisionError),
    "an effect": (lambda v, m, n: noted(v), None),
    "an effect of unknown shape": (lambda v, m, n: of_unknown_shape(v), None),
    "a print": (lambda v, m, n: phintys.printing.Print("v")(v), None),
    "a logarithm of 0": (lambda v, m, n: T.log(T.maximum(v - 9, 0)), None),
    "a division by 0": (lambda v, m, n: v / T.sqrt((v - v).sum()), None),
    "a norm of 0": (lambda v, m, n: T.sqrt(((v * 0) ** 2).sum()), None),
    "an infinite power": (lambda v, m, n: T.exp(v * 1000), None),
    "a branch": (lambda v, m, n: ifelse(v.sum() > 0, cholesky(m), m), numpy.linalg.LinAlgError),
    "a branch that is not taken": (lambda v, m, n: ifelse(v.sum() < 0, cholesky(m), m), None),
}


def total(value):
    return value.sum() if value.type.ndim else value


# What a body does with such a value: from a row, a state and the value to the next state and a row.
USES = {
    "state": lambda r, s, value: (s * total(value), r),
    "row": lambda r, s, value: (s * r, r * total(value) + s),
    "row alone": lambda r, s, value: (s + r, value + 0),
    "value itself": lambda r, s, value: (s + r, value),
    "product": lambda r, s, value: (s + T.dot(r, T.outer(r, r) * total(value)),
                                    T.dot(r, T.outer(s, s) + total(value))),
    "inner loop": lambda r, s, value: (phintys.scan(lambda e, t: t * e * total(value), r, s)[0].sum(0), r),
    "branch": lambda r, s, value: (ifelse(r.sum() > 0, s * total(value), s), r),
    "row of another length": lambda r, s, value: (s, T.concatenate([r, T.shape_padleft(total(value))])),
}
WIDTHS = {"row": 3, "product": 3, "row of another length": 4}
NO_GRADIENT = {"a user's op", "an effect", "an effect of unknown shape"}
NO_DIRECTION = {*NO_GRADIENT, "a Cholesky factor", "a branch", "a branch that is not taken"}


def loop(value_of, use):
    """A loop of a state and a row over the rows of x, from a start, with a vector, a matrix and a number."""
    x, start, v, m, n = inputs = T.dmatrix(), T.dvector(), T.dvector(), T.dmatrix(), T.lscalar()
    (states, rows), _ = phintys.scan(lambda r, s, v, m, n: use(r, s, value_of(v, m, n)), x, [start, None], [v, m, n])
    return inputs, states, rows


def use_for(name, shift):
    """One of the uses, another for each value."""
    return list(USES)[(list(VALUES).index(name) + shift) % len(USES)]


def check_no_step(name, use, modes):
    """Rows have their shapes, states and sums are as they were, gradients are zero, and nothing was run."""
    inputs, states, rows = loop(VALUES[name][0], USES[use])
    x, start, v, m, _ = inputs
    last = T.concatenate([T.shape_padleft(start), states])[-1]
    cost = (last ** 2).sum() + (states ** 2).sum() + (rows ** 2).sum()
    outputs = [states, rows, last]
    if name not in NO_GRADIENT:
        first = T.grad(cost, [x, start, v, m], disconnected_inputs="ignore")
        second = T.grad(sum([(gradient ** 2).sum() for gradient in first]), [start, v], disconnected_inputs="ignore")
        outputs += [*first, *second]
    if name not in NO_DIRECTION:
        outputs.append(T.Rop(cost, [start, v, m], [start, v, m]))
    wanted = [EMPTY, 2 * START, 0 * START, 0 * MATRIX, 8 * START, 0 * START, 2 * (START ** 2).sum()]
    for mode in modes:
        f = phintys.function(inputs, outputs, mode=mode, on_unused_input="ignore")
        saved = [] if mode == "DebugMode" or seen_in(name) else [callable_of(loads(dumps(f.program)))]
        for function in [f, f, *saved]:
            found = function(EMPTY, START, START, MATRIX, 3)
            assert found[0].shape == (0, 3) and found[1].shape[0] == 0, mode
            assert use not in WIDTHS or found[1].shape == (0, WIDTHS[use]), mode
            numpy.testing.assert_array_equal(found[2], START)
            for value, expected in zip(found[3:], wanted):
                numpy.testing.assert_array_equal(value, expected, err_msg=mode)


def seen_in(name):
    """Whether a value has an effect that the tests look for."""
    return "effect" in name or "print" in name or "user" in name


def check_steps(name, use, modes):
    """One, two and three steps: the values, or the kind of error, that the steps one after the other lead to."""
    inputs, states, rows = loop(VALUES[name][0], USES[use])
    row, state, v, m, n = T.dvector(), T.dvector(), *inputs[2:]
    step = phintys.function([row, state, v, m, n], USES[use](row, state, VALUES[name][0](v, m, n)),
                            mode="FAST_COMPILE", on_unused_input="ignore")
    functions = [phintys.function(inputs, [states, rows], mode=mode, on_unused_input="ignore") for mode in modes]
    rng = numpy.random.RandomState(len(name))
    for values in ((START, MATRIX, 3), (rng.uniform(0.1, 1, 9), numpy.eye(12) + 0.1, 1)):
        for count in (1, 2, 3):
            x = rng.uniform(0.5, 1.5, (count, 3))
            wanted = result_of_steps(step, x, values)
            for function, mode in zip(functions, modes):
                found = outcome_of(function, x, START, *values)
                if isinstance(wanted, type):
                    assert found is wanted, (mode, found)
                else:
                    assert not isinstance(found, type), (mode, found)
                    for one, other in zip(found, wanted):
                        numpy.testing.assert_allclose(one, other, rtol=1e-9, err_msg=mode)


def outcome_of(function, *values):
    """What a function returns, or the class of the error that it raises."""
    try:
        return function(*values)
    except Exception as error:
        return type(error)


def result_of_steps(step, x, values):
    """The states and rows of steps that are done one by one."""
    state, states, rows = START, [], []
    for row in x:
        found = outcome_of(step, row, state, *values)
        if isinstance(found, type):
            return found
        state, out = found
        states.append(state)
        rows.append(out)
    return numpy.array(states), numpy.array(rows)


@pytest.mark.parametrize("name", VALUES)
def test_no_step(name, capsys):
    del seen[:]
    check_no_step(name, use_for(name, 0), MODES)
    assert not seen and capsys.readouterr().out == ""


@pytest.mark.parametrize("name", VALUES)
def test_steps(name, capsys):
    with numpy.errstate(all="ignore"):
        check_steps(name, use_for(name, 3), MODES)


@pytest.mark.long
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", VALUES)
def test_all_uses(name, use, capsys):
    del seen[:]
    check_no_step(name, use, MODES if seen_in(name) else [*MODES, "DebugMode"])     # which computes lengths by values
    assert not seen and capsys.readouterr().out == ""
    with numpy.errstate(all="ignore"):
        check_steps(name, use, MODES)


def _outside(x, w, v):
    """A value of the body that is also an output."""
    found = []

    def body(r, v):
        found.append(T.exp(v) * v[2])
        return r * found[0]

    rows, _ = phintys.scan(body, x, non_sequences=v)
    return [rows, found[0], T.grad(rows.sum() + v[2] ** 2, v)]


def _checkpoints(x, w, v):
    states, _ = phintys.scan_checkpoints(lambda r, s, v: s * r * v[7], x, w, v, save_every_N=2)
    return [states, *T.grad(states.sum(), [w, v])]


def _until(x, w, v):
    states, _ = phintys.scan(lambda r, s, v: (s * v[7], phintys.scan_module.until(s[0] > 3)), x, w, v)
    return [states, T.grad(states.sum(), v)]


def _sparse(x, w, v):
    squares = phintys.sparse.csr_from_dense(T.outer(v, v[:2]))
    rows, _ = phintys.scan(lambda r, m: phintys.sparse.dot(phintys.sparse.csr_from_dense(T.outer(r, r)), m), x,
                           non_sequences=[T.outer(v, v)])
    return [rows, phintys.scan(lambda r, m: r.sum() + phintys.sparse.sp_sum(phintys.sparse.mul(m, m.T)), x,
                               non_sequences=[squares])[0]]


def _pushed(kernel):
    """Products of all rows, which FAST_RUN computes at once, of or with what fails."""
    def made(x, w, v):
        rows, _ = phintys.scan(kernel, x, None, T.outer(w, w))
        return [rows, T.grad(rows.sum(), w)]
    return made


def _in_a_branch(x, w, v):
    """Loops of as many steps in a branch that is not taken, and outside of it."""
    first, _ = phintys.scan(lambda r, s, v: T.tanh(s * r * v[7]), x, w, v)
    other, _ = phintys.scan(lambda r, s: T.tanh(s * r), x, w)
    cost = ifelse(w.sum() < 0, first[-1].sum(), T.zeros(())) + other.sum()
    return [cost, *T.grad(cost, [w, v])]


ZEROS = numpy.zeros(3)
# Loops, and what they compute without a step.
LOOPS = {
    "a value that is an output": (_outside, [EMPTY, numpy.exp(START) * 4, [0, 0, 8]]),
    "checkpoints": (_checkpoints, [EMPTY, ZEROS, ZEROS]),
    "until": (_until, [EMPTY, ZEROS]),
    "sparse matrices": (_sparse, [numpy.zeros((0, 3, 3)), numpy.zeros(0)]),
    "an index of rows": (_pushed(lambda r, m: T.dot(T.stack([r[5], r[6], r[7]]), m)), [EMPTY, ZEROS]),
    "an index of products": (_pushed(lambda r, m: T.dot(r, m)[7]), [numpy.zeros(0), ZEROS]),
    "another shape of products": (_pushed(lambda r, m: T.dot(r, m).reshape((2, 2))), [numpy.zeros((0, 2, 2)), ZEROS]),
    "a shape with -1": (_pushed(lambda r, m: T.dot(r.reshape((-1, 3)), m)), [numpy.zeros((0, 1, 3)), ZEROS]),
    "a lookup": (_pushed(lambda r, m: T.dot(r, m[T.cast(r, "int64")])), [EMPTY, ZEROS]),
    "a product with what fails": (_pushed(lambda r, m: T.dot(r, cholesky(-m)) + m[0]), [EMPTY, ZEROS]),
    "branches": (_in_a_branch, [0.0, ZEROS, ZEROS]),
    "a loop of a loop": (_pushed(lambda r, m: phintys.scan(lambda e, s: s * e * m[7, 0], r, r)[0][-1]), [EMPTY, ZEROS]),
}


@pytest.mark.parametrize("mode", [*MODES, "DebugMode"])
@pytest.mark.parametrize("name", LOOPS)
def test_other_loops(name, mode):
    made, wanted = LOOPS[name]
    x, w, v = inputs = T.dmatrix(), T.dvector(), T.dvector()
    f = phintys.function(inputs, made(*inputs), mode=mode, on_unused_input="ignore")
    for _ in range(2):
        for value, expected in zip(f(EMPTY, START, START), wanted, strict=True):
            numpy.testing.assert_array_equal(value, expected)
            assert value.shape == numpy.shape(expected)


@pytest.mark.parametrize("mode", MODES)
def test_a_branch_with_a_loop_is_not_run_by_a_loop_outside(mode):
    x, w, v = inputs = T.dmatrix(), T.dvector(), T.dvector()
    f = phintys.function(inputs, _in_a_branch(*inputs), mode=mode)
    states = numpy.tanh(START), numpy.tanh(numpy.tanh(START))
    numpy.testing.assert_allclose(f(numpy.ones((2, 3)), START, START)[0], numpy.sum(states))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fold", [phintys.foldl, phintys.foldr, phintys.reduce])
def test_gradient_of_a_fold_of_nothing(fold, mode):
    x, w = T.dmatrix(), T.dvector()
    for step in (lambda r, s: s * r, lambda r, s: T.tanh(s + r)):
        f = phintys.function([x, w], T.grad(fold(step, x, w)[0].sum(), w), mode=mode, on_unused_input="ignore")
        with pytest.raises(IndexError, match="out of bounds"):
            f(EMPTY, START)
        assert f(numpy.ones((1, 3)), START).shape == (3,)


def test_loops_known_to_do_a_step_are_not_guarded():
    """What is computed before them is computed in any case, so that rewrites see it; and values that cannot fail."""
    x, v, n = T.dmatrix(), T.dvector(), T.lscalar()
    fails, harmless = (lambda s, v: s * v[2]), (lambda s, v: s * T.tanh(3 - v[:2].sum()))
    for body, steps, expected in ((fails, 5, 0), (fails, n, 1), (harmless, n, 0), (fails, T.zeros((7, 2)).shape[0], 0)):
        rows, _ = phintys.scan(body, None, v, v, n_steps=steps)
        f = phintys.function([v, n], rows, on_unused_input="ignore")
        assert sum([isinstance(node.op, IfElse) for node in f.maker.fgraph.apply_nodes]) == expected
    states, _ = phintys.scan_checkpoints(lambda r, s, v: s * r * v[2], x, v, v)
    gradient = T.grad((states[-1] ** 2).sum(), v)
    for node in nodes_of(gradient):
        if type(node.op).__name__ == "Scan":
            assert not any([isinstance(inner.op, IfElse) for inner in nodes_of(*node.op.local_outputs)])


def nodes_of(*variables):
    """The nodes that compute variables."""
    return {variable.owner for variable in ancestors(variables) if variable.owner is not None}


def test_values_that_are_undefined_need_no_choice_but_for_gradients():
    """An exponential cannot fail: without a step, FAST_RUN computes it for nothing. Its gradient is not computed."""
    x, v, w = T.dmatrix(), T.dvector(), T.dvector()
    rows, _ = phintys.scan(lambda r, v, w: r * T.exp(v) + v[2] + T.exp(v + w), x, non_sequences=[v, w])
    kept = T.grad(rows.sum(), v)
    for outputs, least in (([rows], 1), ([rows, kept], 2)):
        f = phintys.function([x, v, w], outputs)
        choices = [node for node in f.maker.fgraph.apply_nodes if isinstance(node.op, IfElse)]
        assert len(choices) >= least
        assert not any([is_exponential(value) for node in choices for value in node.inputs])
        with numpy.errstate(over="ignore"):
            assert numpy.isfinite(f(EMPTY, 1000 * START, START)[-1]).all()


def is_exponential(variable):
    return variable.owner is not None and "exp" in str(variable.owner.op)
