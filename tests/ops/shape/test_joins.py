"""Tensors side by side and apart: join, concatenate, stack and their relatives; Split."""
import subprocess
import sys

import numpy
import pytest
from family_cases import (
    DTYPES,
    LAYOUTS,
    MODES,
    check_equal,
    check_gradient,
    check_r_op,
    check_values,
    values,
    variable_for,
    zero_strides,
)

import phintys
from phintys.ops.shape.join import (
    Join,
    MakeVector,
    concatenate,
    horizontal_stack,
    join,
    stack,
    stacklists,
    vertical_stack,
)
from phintys.ops.shape.split import Split, split
from phintys.ops.types.tensor_type import TensorType

M, N = (2, 3), (4, 3)

# name: how to build it, what NumPy does, shapes of the operands
CASES = {
    "vectors": (lambda x, y: join(0, x, y), lambda a, b: numpy.concatenate([a, b]), [(3,), (2,)]),
    "rows": (lambda x, y: concatenate([x, y]), lambda a, b: numpy.concatenate([a, b]), [M, N]),
    "columns": (lambda x, y: join(1, x, y), lambda a, b: numpy.concatenate([a, b], 1), [M, (2, 1)]),
    "last": (lambda x, y: join(-1, x, y), lambda a, b: numpy.concatenate([a, b], -1), [M, M]),
    "middle": (lambda x, y, z: join(1, x, y, z), lambda a, b, c: numpy.concatenate([a, b, c], 1),
               [(2, 1, 3), (2, 0, 3), (2, 4, 3)]),
    "twice the same": (lambda x: concatenate([x, x], 1), lambda a: numpy.concatenate([a, a], 1), [M]),
    "one": (lambda x: Join()(0, x), lambda a: a, [M]),
    "stack": (lambda x, y: stack([x, y]), lambda a, b: numpy.stack([a, b]), [M, M]),
    "stack 1": (lambda x, y: stack([x, y], 1), lambda a, b: numpy.stack([a, b], 1), [M, M]),
    "stack -1": (lambda x, y: stack(tensors=[x, y], axis=-1), lambda a, b: numpy.stack([a, b], -1), [M, M]),
    "stack scalars": (lambda x, y: stack([x, y, 3]), lambda a, b: numpy.array([a, b, 3]), [(), ()]),
    "stacklists": (lambda x, y: stacklists([[x, y], [y, x]]), lambda a, b: numpy.array([[a, b], [b, a]]), [M, M]),
    "horizontal": (lambda x, y: horizontal_stack(x, y), lambda a, b: numpy.hstack([a, b]), [M, (2, 1)]),
    "vertical": (lambda x, y: vertical_stack(x, y), lambda a, b: numpy.vstack([a, b]), [M, N]),
    "first part": (lambda x: split(x, [1, 2], 2, axis=1)[0], lambda a: a[:, :1], [M]),
    "second part": (lambda x: split(x, numpy.array([3, 1], "int8"), 2, axis=-2)[1], lambda a: a[3:], [N]),
    "empty part": (lambda x: split(x, [4, 0], 2)[1], lambda a: a[4:], [N]),
    "symbolic lengths": (lambda x: split(x, [x.shape[0] - 1, 1], 2)[0], lambda a: a[:-1], [N]),
    "all parts": (lambda x: sum([(place + 1) * part.sum(0) for place, part in enumerate(split(x, [1, 2, 1], 3))]),
                  lambda a: a[0] + 2 * a[1:3].sum(0) + 3 * a[3], [N]),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_inferred_shapes(name):
    build, expected, shapes = CASES[name]
    for layout in LAYOUTS.values():
        arrays = [layout(values(shape, seed=seed)) for seed, shape in enumerate(shapes)]
        check_values(build, expected, arrays)
    check_values(build, expected, [zero_strides(shape) for shape in shapes], modes=MODES[:1])


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    build, _, shapes = CASES[name]
    arrays = [values(shape, seed=seed) for seed, shape in enumerate(shapes)]
    if name != "empty part":
        check_gradient(build, arrays)
    check_r_op(build, arrays)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    arrays = [values(M, dtype), values(N, dtype, seed=1)]
    check_values(*CASES["rows"][:2], arrays, modes=MODES[:1])
    check_values(*CASES["first part"][:2], arrays[:1], modes=MODES[:1])


@pytest.mark.parametrize("first, second, result", [("int8", "float32", "float32"), ("int32", "int8", "int32"),
                                                   ("float32", "int32", "float64"), ("bool", "uint8", "uint8"),
                                                   ("float64", "complex64", "complex128")])
def test_different_dtypes_are_cast(first, second, result):
    for layout in LAYOUTS.values():
        arrays = [layout(values((3, 2, 4), first)), layout(values((3, 5, 4), second, seed=1))]
        check_values(lambda x, y: join(1, x, y), lambda a, b: numpy.concatenate([a, b], 1), arrays, result)


def test_a_computed_axis():
    axis = TensorType("int8", ())()
    x, y = variable_for(values(M)), variable_for(values(M))
    output = join(axis, x, y)
    parts = split(output, [axis.astype("int64") * 0 + 1, output.shape[axis] - 1], 2, axis=axis)
    assert output.type.broadcastable == (False, False)
    gradient = phintys.grad((parts[0] * 2).sum() + (parts[1] * 3).sum(), x)
    a, b = values(M), values(M, seed=1)
    for mode in MODES:
        function = phintys.function([axis, x, y], [output, output.shape, parts[0], parts[1].shape, gradient], mode=mode)
        for number in (0, 1, -1, -2):
            joined = numpy.concatenate([a, b], number)
            got, shape, first, rest, slope = function(number, a, b)
            check_equal(got, joined)
            check_equal(first, numpy.split(joined, [1], number)[0])
            assert tuple(shape) == joined.shape
            assert tuple(rest) == numpy.split(joined, [1], number)[1].shape
            wanted = numpy.full(M, 3.0)
            wanted[(slice(None),) * (number % 2) + (slice(0, 1),)] = 2           # the first part
            check_equal(slope, wanted)
        with pytest.raises(IndexError, match="2 is out of bounds"):
            function(2, a, b)


def test_parts_are_views_inside_programs_only():
    x = variable_for(values(N))
    array = values(N)
    first, second = phintys.function([x], split(x, [1, 3], 2))(array)
    assert not numpy.shares_memory(first, array) and not numpy.shares_memory(second, array)
    assert not numpy.shares_memory(first, second)


def test_a_join_with_empty_tensors_may_be_a_view():
    x, empty = variable_for(values(3)), variable_for(values(3))
    function = phintys.function([x, empty], Join(view=0)(0, x, empty, empty), mode="FAST_COMPILE")
    check_equal(function(values(3), values(0)), values(3))
    check_equal(function(values(3), values(1)), numpy.concatenate([values(3), values(1), values(1)]))
    assert Join(view=0).view_map == {0: [1]}
    assert Join().view_map == {}


def test_types():
    row, column = TensorType("float64", (True, False))(), TensorType("float64", (False, True))()
    known = TensorType("float64", (False, False), shape=(2, 3))()
    assert join(0, row, row).type.broadcastable == (False, False)
    assert join(1, row, known).type.broadcastable == (True, False)
    assert join(phintys.tensor.cast(phintys.tensor.constant(1), "int32"), column, column).type.shape == (None, 2)
    assert join(0, known, known, row).type.shape == (5, 3)
    assert Join()(0, row).type == row.type
    assert [part.type.shape for part in split(known, [1, 2], 2, axis=1)] == [(2, 1), (2, 2)]
    assert split(row, [1], 1).type.broadcastable == (False, False)
    assert join(0, known) is known
    assert Join() == Join() != Join(view=1)
    assert Split(2) == Split(2) != Split(3)


def test_joins_of_shapes_compute_nothing():
    x, y = variable_for(values(M)), variable_for(values(M))
    function = phintys.function([x, y], [join(0, x * 2, y).shape, split(x * 2, [1, 1], 2)[0].shape])
    assert not {type(node.op) for node in function.maker.fgraph.apply_nodes} & {Join, Split}


def test_joins_that_do_nothing_disappear():
    x, n = variable_for(values(3)), TensorType("int64", ())()
    function = phintys.function([x, n], [Join()(0, x), join(0, stack([n, n]), stack([n, 1])),
                                         join(0, x, numpy.zeros(0), x)])
    assert [len(node.inputs) for node in function.maker.fgraph.apply_nodes if type(node.op) is Join] == [3]
    same, numbers, doubled = function(values(3), 4)
    check_equal(same, values(3))
    check_equal(numbers, numpy.array([4, 4, 4, 1]))
    check_equal(doubled, numpy.concatenate([values(3)] * 2))


def test_stack_without_a_list_warns():
    x = variable_for(values(M))
    with pytest.warns(DeprecationWarning, match="interface is deprecated"):
        assert stack(x, x).type.ndim == 3


def matrix():
    return variable_for(values(M))


def vector():
    return variable_for(values(3))


BAD_GRAPHS = {
    "nothing": (lambda: Join()(0), ValueError),
    "scalars": (lambda: join(0, TensorType("float64", ())(), vector()), TypeError),
    "ranks": (lambda: join(0, vector(), matrix()), TypeError),
    "axis below": (lambda: join(-3, matrix(), matrix()), IndexError),
    "axis above": (lambda: join(2, matrix(), matrix()), ValueError),
    "float axis": (lambda: join(0.5, matrix(), matrix()), TypeError),
    "vector axis": (lambda: join([0], matrix(), matrix()), TypeError),
    "no list": (lambda: concatenate(matrix(), matrix()), TypeError),
    "nothing to stack": (lambda: stack([]), ValueError),
    "stack of nothing": (lambda: stack(), ValueError),
    "stack axis": (lambda: stack([matrix(), matrix()], 4), IndexError),
    "stack axis of scalars": (lambda: stack([1, 2], axis=1), IndexError),
    "stack keyword": (lambda: stack([matrix()], dim=1), TypeError),
    "one matrix": (lambda: horizontal_stack(matrix()), AssertionError),
    "no matrices": (lambda: vertical_stack(vector(), vector()), AssertionError),
    "split by floats": (lambda: split(matrix(), [1.5, 0.5], 2), TypeError),
    "split by a scalar": (lambda: split(matrix(), 2, 1), TypeError),
    "split along a float": (lambda: split(matrix(), [1, 1], 2, axis=0.5), TypeError),
    "vector of matrices": (lambda: MakeVector("float64")(vector()), TypeError),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_bad_graphs(name):
    build, error = BAD_GRAPHS[name]
    with pytest.raises(error):
        build()


BAD_RUNS = {
    "join": (lambda x, n: join(0, x, x.T), ValueError, r"Join: .* axis 0; the shapes are \(2, 3\), \(3, 2\)"),
    "stack": (lambda x, n: stack([x, x.T]), ValueError, "Join"),
    "too few": (lambda x, n: Split(2)(x, 0, n), ValueError, r"\[1, 2\] sum to 3, expected 2"),
    "negative": (lambda x, n: Split(2)(x, 0, n - n[::-1] * 2 + 1), ValueError, "negative length"),
    "number": (lambda x, n: Split(3)(x, 0, n), ValueError, "3 parts, but 2 lengths"),
    "axis": (lambda x, n: Split(2)(x, 2, n), ValueError, "Split: axis 2 is out of bounds"),
}


@pytest.mark.parametrize("name", BAD_RUNS)
def test_run_time_errors_report_cause_and_position(name):
    build, error, message = BAD_RUNS[name]
    x, n = matrix(), TensorType("int64", (False,))()
    for mode in MODES:
        function = phintys.function([x, n], build(x, n), mode=mode, on_unused_input="ignore")
        for _ in range(2):
            with pytest.raises(error, match=message) as raised:
                function(values(M), [1, 2])
            assert "test_joins.py" in str(raised.value) + "".join(getattr(raised.value, "__notes__", []))


def test_a_gradient_needs_no_other_import():
    program = ("import phintys, phintys.tensor as T; x = T.dvector(); "
               "print(phintys.function([x], T.grad((T.stack([x, 2 * x]) ** 2).sum(), x))([1.0]))")
    found = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True)
    assert found.stdout == "[10.]\n", found.stderr
