"""OpFromGraph: values, gradients, R-operators, overrides, shapes, pickles; inline and not."""
import copy
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import OpFromGraph, function, grad, shared
from phintys.gradient import DisconnectedType, NullType, Rop
from phintys.graph.config import change_flags
from phintys.graph.errors import DisconnectedInputError, MissingInputError, NullTypeGradError
from phintys.graph.traversal import ancestors
from phintys.ifelse import ifelse

A, B, C = numpy.arange(1.0, 5.0).reshape(2, 2), numpy.full((2, 2), 3.0), numpy.full((2, 2), 5.0)
x, y, z = T.dmatrix("x"), T.dmatrix("y"), T.dmatrix("z")


@pytest.fixture(params=[False, True], ids=["compiled", "inline"])
def inline(request):
    return request.param


def at(outputs, inputs=(x, y, z), values=(A, B, C)):
    """The values of variables."""
    return function(list(inputs), outputs, on_unused_input="ignore")(*values)


def has_op(f):
    return any([isinstance(node.op, OpFromGraph) for node in f.maker.fgraph.toposort()])


# ---- values ----------------------------------------------------------------------------------------------------------
def test_values(inline):
    op = OpFromGraph([x, y, z], [x + y * z], inline=inline)
    f = function([x, y, z], op(x, y, z) - op(y, z, x))
    numpy.testing.assert_allclose(f(A, B, C), A + B * C - (B + C * A))
    assert has_op(f) is not inline
    fast_compile = function([x, y, z], op(x, y, z), mode="FAST_COMPILE")
    numpy.testing.assert_allclose(fast_compile(A, B, C), A + B * C)
    assert has_op(fast_compile) is not inline


def test_several_outputs_and_inputs_that_are_outputs(inline):
    op = OpFromGraph([x, y], [x + y, x, y * 2], inline=inline)
    for result, expected in zip(at(op(x, z)), [A + C, A, 2 * C]):
        numpy.testing.assert_allclose(result, expected)


def test_gradient_of_outputs_from_which_others_are_computed(inline):
    t = T.tanh(x)
    for outputs in [t, T.exp(t)], [t, t], [x, t], [x, x]:
        results = OpFromGraph([x], outputs, inline=inline)(x)
        numpy.testing.assert_allclose(*at([grad(T.add(*found).sum(), x) for found in (results, outputs)]))
    op = OpFromGraph([x, y], [T.tanh(x) + y], inline=inline)        # one of its gradients is the output's as it is

    def second(f):
        first = grad((f(f(x, y), x) * z).sum(), [x, y])
        return grad((first[0] * y + first[1] * z).sum(), x)
    numpy.testing.assert_allclose(*at([second(op), second(lambda a, b: T.tanh(a) + b)]))


def test_inputs_may_be_computed_outside(inline):
    inner = T.exp(x)
    op = OpFromGraph([inner, y], [inner * y], inline=inline)
    numpy.testing.assert_allclose(at(op(x, y)), A * B)


def test_shared_variables_inside(inline):
    s = shared(A, "s")
    op = OpFromGraph([x], [x * s + s], inline=inline)
    result = op(x)
    f = function([x], [result, grad(result.sum(), s)])
    for increment in (0.0, 1.0):
        s.set_value(A + increment)
        value, by_s = f(B)
        numpy.testing.assert_allclose(value, (A + increment) * (B + 1))
        numpy.testing.assert_allclose(by_s, B + 1)
    g = function([x], result, updates=[(s, s * 0)])
    g(B)
    numpy.testing.assert_allclose(g(B), 0)


def test_nested(inline):
    inner = OpFromGraph([x, y], [x * y], inline=inline)
    middle = OpFromGraph([x, y, z], [inner(x, y) + inner(y, z)], inline=inline)
    outer = OpFromGraph([x, y], [middle(x, y, x) * 2], inline=inline)
    value = outer(x, y)
    f = function([x, y], [value, *grad(value.sum(), [x, y])])
    assert has_op(f) is not inline
    for result, expected in zip(f(A, B), [4 * A * B, 4 * B, 4 * A]):
        numpy.testing.assert_allclose(result, expected)


def test_unused_inputs(inline):
    op = OpFromGraph([x, y], [x * 2], inline=inline)
    numpy.testing.assert_allclose(at(op(x, y)), 2 * A)
    assert grad(op(x, y).sum(), y, disconnected_inputs="ignore").type == y.type


def test_deep_inner_graphs(inline):
    u = v = T.dscalar("u")
    for _ in range(10_000):
        v = T.neg(v)
    op = OpFromGraph([u], [v], inline=inline)
    w = T.dscalar("w")
    assert function([w], [op(w), grad(op(w), w)], mode="FAST_COMPILE")(3.0) == [3.0, 1.0]


# ---- building --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("arguments, options, error", [
    (([x], x), {}, TypeError), (([x], [1.0]), {}, TypeError), ((["x"], [x]), {}, TypeError),
    (([x], [x]), {"updates": []}, TypeError), (([x], [x]), {"givens": {}}, TypeError),
    (([x], [x]), {"name": 3}, TypeError), (([x], [x]), {"lop_overrides": 3}, TypeError),
    (([x], [x]), {"rop_overrides": [3]}, TypeError),
    (([x], [x]), {"grad_overrides": T.dmatrix()}, ValueError),
    (([x], [x]), {"grad_overrides": len, "lop_overrides": len}, ValueError)])
def test_wrong_arguments(arguments, options, error):
    with pytest.raises(error):
        OpFromGraph(*arguments, **options)


def test_wrong_inputs():
    op = OpFromGraph([x, y], [x + y])
    with pytest.raises(ValueError, match="Expected 2 inputs, got 1"):
        op(x)
    with pytest.raises(TypeError):
        op(x, T.dvector())
    with pytest.raises(MissingInputError):
        function([x], OpFromGraph([x], [x + y])(x))


def test_names_and_types():
    op = OpFromGraph([x, y], [x + y], name="plus")
    assert str(op) == "plus{inline=False}" and str(OpFromGraph([x], [x], inline=True)) == "OpFromGraph{inline=True}"
    assert op.input_types == [x.type, y.type] and op.output_types == [x.type]
    assert op == op and op != OpFromGraph([x, y], [x + y], name="plus")


# ---- gradients -------------------------------------------------------------------------------------------------------
def test_gradients(inline):
    op = OpFromGraph([x, y, z], [x + y * z, T.dot(x, y)], inline=inline)
    plain = [x + y * z, T.dot(x, y)]
    for chosen in ([0], [1], [0, 1]):
        cost = sum([(op(x, y, z)[position] ** 2).sum() for position in chosen])
        expected = sum([(plain[position] ** 2).sum() for position in chosen])
        options = dict(disconnected_inputs="ignore")
        for result, value in zip(at(grad(cost, [x, y, z], **options)), at(grad(expected, [x, y, z], **options))):
            numpy.testing.assert_allclose(result, value)


def test_second_gradients(inline):
    op = OpFromGraph([x, y], [x ** 3 * y], inline=inline)
    first = grad(op(x, y).sum(), x)
    for result, expected in zip(at(grad(first.sum(), [x, y])), [6 * A * B, 3 * A ** 2]):
        numpy.testing.assert_allclose(result, expected)


def test_rop(inline):
    op = OpFromGraph([x, y], [T.dot(x, y), x * 2], inline=inline)
    first, second = op(x, y)
    results = at(Rop([first, second], [x, y], [z, x]))
    for result, expected in zip(results, [C @ B + A @ A, 2 * C]):
        numpy.testing.assert_allclose(result, expected)
    numpy.testing.assert_allclose(at(Rop(first, x, z)), C @ B)


def test_connection_pattern(inline):
    op = OpFromGraph([x, y], [x * 2, y * 3], inline=inline)
    first, _ = op(x, y)
    assert op.connection_pattern() == [[True, False], [False, True]]
    with pytest.raises(DisconnectedInputError):
        grad(first.sum(), y)
    closed = OpFromGraph([x, y], [x * y], inline=inline, connection_pattern=[[True], [False]],
                         grad_overrides=["default", DisconnectedType()()])
    assert closed.connection_pattern(None) == [[True], [False]]


def test_integer_inputs(inline):
    n = T.lvector("n")
    op = OpFromGraph([x, n], [x * n, n * 2], inline=inline)
    value, whole = op(x, n)
    by_x, by_n = at(grad(value.sum() + whole.sum(), [x, n]), (x, n), (A, [2, 3]))
    numpy.testing.assert_allclose(by_x, [[2, 3], [2, 3]])
    assert by_n.dtype.kind == "f"


# (override of the gradient, what the gradients are at A, B times C)
OVERRIDES = [
    (dict(grad_overrides=lambda inputs, grads: [grads[0] * 2, inputs[0]]), [2 * C, A]),
    (dict(grad_overrides=["default", lambda inputs, grads: inputs[1] * grads[0]]), [B * C, B * C]),
    (dict(lop_overrides=lambda inputs, outputs, grads: [outputs[0], outputs[0] * grads[0]]), [A * B, A * B * C]),
    (dict(lop_overrides=[lambda inputs, outputs, grads: outputs[0] + grads[0], None]), [A * B + C, A * C]),
    (dict(grad_overrides=OpFromGraph([x, y, z], [x - y, z])), [A - B, C]),
    (dict(lop_overrides=OpFromGraph([x, y, z, u := T.dmatrix()], [z + x, u + y])), [A * B + A, C + B]),
    (dict(grad_overrides=[OpFromGraph([x, y, z], [x - y]), "default"]), [A - B, A * C]),
    (dict(grad_overrides=None), [B * C, A * C]),
]


@pytest.mark.parametrize("options, expected", OVERRIDES, ids=[", ".join(options) for options, _ in OVERRIDES])
def test_overridden_gradients(options, expected, inline):
    op = OpFromGraph([x, y], [x * y], inline=inline, **options)
    for result, value in zip(at(grad(None, [x, y], known_grads={op(x, y): z})), expected):
        numpy.testing.assert_allclose(result, value)


def test_overridden_rop(inline):
    for override in (lambda inputs, points: [points[0] * inputs[1]], [lambda inputs, points: points[0] * inputs[1]],
                     OpFromGraph([x, y, z, u], [y * z])):
        op = OpFromGraph([x, y], [x + y], inline=inline, rop_overrides=override)
        numpy.testing.assert_allclose(at(Rop(op(x, y), [x, y], [z, z])), C * B)


def test_overrides_without_a_value(inline):
    disconnected, null = DisconnectedType()(), NullType("nobody knows")()
    for override, error in ((disconnected, DisconnectedInputError), (null, NullTypeGradError)):
        for overrides in ([override, "default"], override):
            op = OpFromGraph([x, y], [x * y], inline=inline, grad_overrides=overrides)
            with pytest.raises(error):
                grad(op(x, y).sum(), x)
        op = OpFromGraph([x, y], [x * y], inline=inline, grad_overrides=[override, "default"])
        numpy.testing.assert_allclose(at(grad(op(x, y).sum(), y)), A)
    op = OpFromGraph([x, y], [x * y], inline=inline, rop_overrides=[disconnected])
    with pytest.raises(DisconnectedInputError):
        Rop(op(x, y), x, z)


@pytest.mark.parametrize("override, error", [
    (lambda inputs, grads: [grads[0]], ValueError), (lambda inputs, grads: grads[0], TypeError),
    (["default"], ValueError), (OpFromGraph([x], [x, x]), ValueError)])
def test_wrong_overrides(override, error):
    with pytest.raises(error):
        grad(OpFromGraph([x, y], [x * y], grad_overrides=override)(x, y).sum(), x)


def test_an_override_may_use_the_op_itself(inline):
    op = OpFromGraph([x], [T.exp(x)], inline, grad_overrides=lambda inputs, gradients: [op(inputs[0]) * gradients[0]])
    first = grad(op(x).sum(), x)
    for value in at([first, grad(first.sum(), x)]):
        numpy.testing.assert_array_equal(value, numpy.exp(A))


def test_an_override_can_be_set_later():
    op = OpFromGraph([x], [x * 2])
    numpy.testing.assert_allclose(at(grad(op(x).sum(), x)), 2.0)
    op.set_grad_overrides(lambda inputs, grads: [grads[0] * 5])
    numpy.testing.assert_allclose(at(grad(op(x).sum(), x)), 5.0)
    op.set_lop_overrides("default")
    numpy.testing.assert_allclose(at(grad(op(x).sum(), x)), 2.0)
    op.set_rop_overrides(lambda inputs, points: [points[0] * 7])
    numpy.testing.assert_allclose(at(Rop(op(x), x, y)), 21.0)
    assert isinstance(op.get_lop_op(), OpFromGraph)


# ---- what else an op does --------------------------------------------------------------------------------------------
def test_shapes(inline):
    op = OpFromGraph([x, y], [T.dot(x, y), x.sum(axis=0), T.alloc(0.0, 3, x.shape[0])], inline=inline)
    f = function([x, y], [output.shape for output in op(x, y)])
    assert [list(shape) for shape in f(A, numpy.ones((2, 5)))] == [[2, 5], [2], [3, 2]]
    assert not has_op(f)


def test_a_shape_that_depends_on_values():
    opaque = phintys.as_op([T.dmatrix], [T.dvector])(first_row)
    op = OpFromGraph([x], [opaque(x) * 2])
    f = function([x], op(x).shape)
    assert list(f(A)) == [2] and has_op(f)


def first_row(value):
    return value[0]


@pytest.mark.parametrize("copied", [lambda thing: pickle.loads(pickle.dumps(thing)), copy.deepcopy])
def test_copies(copied, inline):
    op = OpFromGraph([x, y], [x * y + 1], inline=inline, name="op")
    f = function([x, y], op(x, y))
    numpy.testing.assert_allclose(f(A, B), A * B + 1)
    numpy.testing.assert_allclose(copied(f)(A, B), A * B + 1)
    again = copied(op)
    numpy.testing.assert_allclose(at([again(x, y), grad(again(x, y).sum(), x)]), [A * B + 1, B])


def test_test_values(inline):
    p, q = T.dmatrix("p"), T.dmatrix("q")
    p.tag.test_value, q.tag.test_value = A, B
    with change_flags(compute_test_value="raise"):
        op = OpFromGraph([p, q], [p * q], inline=inline)
        value = op(p, q)
        numpy.testing.assert_allclose(value.tag.test_value, A * B)
        numpy.testing.assert_allclose(grad(value.sum(), p).tag.test_value, B)
        with pytest.raises(ValueError, match="mismatch|mis-match"):
            op(p, T.constant(numpy.ones((3, 3))))


def test_errors_inside_name_the_inner_node():
    op = OpFromGraph([x, y], [T.dot(x, y)], name="product")
    with pytest.raises(ValueError, match=r"Dot22\(x, y\)"):
        at(op(x, y), values=(A, numpy.ones((3, 3)), C))


# ---- the code of the inner graph is part of the program --------------------------------------------------------------
ALIASES = OpFromGraph([x, y], [x, x[::-1], s := x * y, s, s.T, T.constant(A), (x + y)[0]])
ALIASED = [A, A[::-1], A * B, A * B, (A * B).T, A, (A + B)[0]]


@pytest.mark.parametrize("allow_gc", [True, False])
def test_results_have_separate_memory(allow_gc):
    f = function([x, y], ALIASES(x, y), mode=phintys.Mode(allow_gc=allow_gc))
    for _ in range(2):
        given = A.copy()
        results = f(given, B)
        for result, expected in zip(results, ALIASED):
            numpy.testing.assert_allclose(result, expected)
        for position, result in enumerate(results):
            assert not any([numpy.may_share_memory(result, other) for other in [given, *results[:position]]])


@pytest.mark.parametrize("allow_gc", [True, False])
def test_other_ops_may_overwrite_its_results(allow_gc):
    f = function([x, y], [T.exp(output) + output[0] for output in ALIASES(x, y)] + [x.sum()],
                 mode=phintys.Mode(allow_gc=allow_gc))
    for _ in range(2):
        given = A.copy()
        for result, expected in zip(f(given, B), ALIASED):
            numpy.testing.assert_allclose(result, numpy.exp(expected) + expected[0])
        numpy.testing.assert_array_equal(given, A)


def test_updates():
    first, second = shared(A, "first"), shared(B, "second")
    swap = OpFromGraph([x, y], [y, x, x + y, T.tanh(x)])
    to_first, to_second, total, angle = swap(first, second)
    f = function([], [total, angle], updates=[(first, to_first), (second, to_second)])
    for a, b in ((A, B), (B, A), (A, B)):
        value, tangent = f()
        numpy.testing.assert_allclose(value, a + b)
        numpy.testing.assert_allclose(tangent, numpy.tanh(a))
        numpy.testing.assert_allclose(first.get_value(), b)
        numpy.testing.assert_allclose(second.get_value(), a)
    step = OpFromGraph([x, y], [x - y * 0.5])
    g = function([], updates=[(first, step(first, second))])
    g()
    numpy.testing.assert_allclose(first.get_value(), B - A * 0.5)


def test_the_listing_shows_the_inner_instructions():
    op = OpFromGraph([x, y], [T.tanh(T.dot(x, y))])
    f = function([x, y], op(op(x, y), y))
    names = [instruction for instruction in f.explain("instructions").split() if instruction in ("KERNEL", "CALL")]
    assert names == ["KERNEL"] * 4


@pytest.mark.parametrize("options, calls", [
    ({"mode": "FAST_COMPILE"}, False), ({"mode": "FAST_RUN", "on_unused_input": "warn"}, False),
    ({"profile": False}, False), ({"profile": phintys.compile.ProfileStats(atexit_print=False)}, True),
    ({"accept_inplace": True}, True), ({"mode": "DebugMode"}, True),
    ({"mode": phintys.compile.MonitorMode(post_func=lambda position, node, thunk: None)}, True)])
def test_options_of_the_function(options, calls):
    op = OpFromGraph([x, y], [z := T.tanh(T.dot(x, y)), z.T], **options)
    f = function([x, y], [*op(x, y), grad(op(x, y)[0].sum(), x)])
    assert ("CALL" in f.explain("instructions")) == calls
    for _ in range(2):
        tangent, transposed, gradient = f(A, B)
        numpy.testing.assert_allclose(tangent, numpy.tanh(A @ B))
        numpy.testing.assert_allclose(transposed, tangent.T)
        numpy.testing.assert_allclose(gradient, (1 - tangent ** 2) @ B.T)


def test_an_op_in_python_inside():
    doubled = phintys.as_op([T.dmatrix], [T.dmatrix])(lambda value: 2 * value)
    op = OpFromGraph([x, y], [doubled(x) + y, doubled(y)])
    for result, expected in zip(at(op(x, y)), [2 * A + B, 2 * B]):
        numpy.testing.assert_allclose(result, expected)


def test_values_that_are_not_arrays(inline):
    thing = phintys.generic("thing")
    length = phintys.as_op([phintys.generic], [T.lscalar])(lambda value: numpy.asarray(len(value)))
    op = OpFromGraph([thing, x], [thing, length(thing) * x], inline=inline)
    result, scaled = function([thing, x], op(thing, x))("abc", A)
    assert result == "abc"
    numpy.testing.assert_allclose(scaled, 3 * A)


def test_excluding_the_expansion():
    op = OpFromGraph([x], [x * 2], inline=True)
    mode = phintys.Mode().excluding("inline_ofg_expansion")
    assert has_op(function([x], op(x), mode=mode))


def test_the_gradient_graph_is_linear_in_the_number_of_nodes():
    op = OpFromGraph([x], [T.tanh(x)])
    sizes = []
    for length in (10, 20, 40):
        value = x
        for _ in range(length):
            value = op(value)
        sizes.append(len(ancestors([grad(value.sum(), x)])))
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])


# ---- unused inputs and outputs ---------------------------------------------------------------------------------------
def test_unused_outputs_and_inputs_are_dropped():
    op = OpFromGraph([x, y, z], [T.dot(x, y), T.exp(z)], name="op")
    first, _ = op(x, y, z)
    f = function([x, y, z], first, on_unused_input="ignore")
    node, = f.maker.fgraph.toposort()
    assert len(node.inputs) == 2 and len(node.outputs) == 1
    numpy.testing.assert_allclose(f(A, B, C), A @ B)


def test_equal_nodes_are_one_before_outputs_are_dropped():
    op = OpFromGraph([x], [T.exp(x), T.exp(x) + 1])
    f = function([x], [op(x)[0], op(x)[1]])
    assert len(f.maker.fgraph.toposort()) == 1


def test_a_gradient_computes_only_needed_values():
    op = OpFromGraph([x, y], [T.dot(x, y)], name="op")
    f = function([x, y], grad(op(x, y).sum(), x), on_unused_input="ignore")
    node, = [node for node in f.maker.fgraph.toposort() if isinstance(node.op, OpFromGraph)]
    assert node.op.name == "op_lop" and len(node.outputs) == 1
    numpy.testing.assert_allclose(f(A, B), numpy.ones((2, 2)) @ B.T)


def test_gradients_of_other_dtypes_and_patterns(inline):
    row, whole = T.drow("row"), T.lmatrix("whole")
    op = OpFromGraph([row, whole], [row * 2, whole + 1, row + whole], inline=inline)
    outputs = op(row, whole)
    weights = [T.dmatrix("first"), T.fmatrix("second"), T.dmatrix("third")]
    values = [A[:1], A.astype("float32"), A]
    with change_flags(floatX="float32"):
        known = {output: T.patternbroadcast(weight, output.broadcastable) for output, weight in zip(outputs, weights)}
        by_row, by_whole = grad(None, [row, whole], known_grads=known)
        f = function([row, whole, *weights], [by_row, by_whole], on_unused_input="ignore")
    result, zeros = f(A[:1], A.astype("int64"), *values)
    numpy.testing.assert_allclose(result, 2 * A[:1] + A.sum(axis=0))
    assert zeros.shape == (2, 2)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_inputs_that_a_lazy_branch_chooses_from_may_be_overwritten_later(mode):
    c, a, b, x, y = T.lscalar(), *T.dvectors(4)
    choose = phintys.OpFromGraph([c, a, b], [ifelse(c, a, b)[::-1], ifelse(c, b, a)])
    value = T.exp(x)
    first, second = choose(c, value, y)
    f = phintys.function([c, x, y], [first, T.inc_subtensor(value[:1], second[1:2])], mode=mode)
    for flag, wanted in ((0, [[4, 3], [2, 1]]), (1, [[1, 1], [5, 1]])):
        numpy.testing.assert_array_equal(f(flag, [0, 0], [3, 4]), wanted)


# ---- operands whose types state lengths ------------------------------------------------------------------------------
def vector_of(length):
    return T.TensorType("float64", (False,), shape=(length,))()


@pytest.mark.parametrize("inside", [False, True])
def test_lengths_that_an_input_states_hold_for_operands(inline, inside):
    """Equal types may state other lengths; an inner graph simplified for 20 rows must not be applied to 14."""
    v, s = vector_of(20), T.dscalar()
    cost = (v * s + T.log(s)).sum()
    op = OpFromGraph([v, s], [grad(cost, s) if inside else v * s + T.log(s)], inline=inline)

    def slope(operand):
        return op(operand, s) if inside else grad(op(operand, s).sum(), s)
    for operand in (vector_of(20), T.dvector()):
        numpy.testing.assert_allclose(at(slope(operand), [operand, s], (numpy.arange(20.0), 2.0)), 190 + 10)
    with pytest.raises(AssertionError, match="SpecifyShape"):
        at(slope(operand), [operand, s], (numpy.arange(14.0), 2.0))
    for wrong in (vector_of(14), T.constant(numpy.arange(14.0)), T.specify_shape(T.dvector(), (14,))):
        with pytest.raises(TypeError, match="made for a value of length 20 in dimension 0.*has the length 14"):
            op(wrong, s)


def test_an_op_of_unknown_lengths_takes_operands_of_any(inline):
    v, s = T.dvector(), T.dscalar()
    op = OpFromGraph([v, s], [v * T.exp(s) + T.log(s)], inline=inline)
    for length in (20, 14):
        operand, value = vector_of(length), numpy.arange(float(length))
        slope = grad(op(operand, s).sum(), s)
        results = at([slope, grad(slope, s), Rop(slope, s, T.ones_like(s))], [operand, s], (value, 2.0))
        second = value.sum() * numpy.exp(2) - length / 4
        numpy.testing.assert_allclose(results, [value.sum() * numpy.exp(2) + length / 2, second, second])


def test_some_stated_lengths(inline):
    matrix, other = T.TensorType("float64", (False, False), shape=(None, 3))("m"), T.dmatrix()
    f = function([other], OpFromGraph([matrix], [matrix.sum(1) * matrix.shape[1]], inline=inline)(other))
    numpy.testing.assert_allclose(f(numpy.ones((2, 3))), [9, 9])
    with pytest.raises(AssertionError, match="SpecifyShape"):
        f(numpy.ones((2, 4)))
