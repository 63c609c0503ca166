"""Random indices of every kind, with elements selected several times: results of setting and adding, and derivatives.

The reference is NumPy's assignment, which is linear in both operands: differences of it are the derivative exactly.
"""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.types.tensor_type import TensorType

SLICES = [slice(None), slice(1, None), slice(None, None, -1), slice(0, 2), slice(-2, None, 2)]
ARRAYS = [(2,), (3,), (4,), (1,), (2, 3)]


class DrawnIndex:
    """An index into an array of ``shape``, for NumPy, and with variables in place of some of its arrays."""

    def __init__(self, random, shape):
        self.random, self.shape = random, shape
        self.plain, self.symbolic, self.variables, self.values = [], [], [], []
        common, axis = ARRAYS[random.integers(len(ARRAYS))], 0
        while axis < len(shape):
            draw = self.DRAWS[random.integers(len(self.DRAWS))]
            axis += draw(self, axis, common)

    def _append(self, entry, may_be_symbolic=True):
        self.plain.append(entry)
        if may_be_symbolic and self.random.random() < 0.5:
            value = numpy.asarray(entry)
            entry = TensorType(value.dtype.name, (False,) * value.ndim)()
            self.variables.append(entry)
            self.values.append(value)
        self.symbolic.append(entry)

    def _array(self, axis, common):
        shape = common if self.random.random() < 0.7 else common[-1:]
        self._append(self.random.integers(-self.shape[axis], self.shape[axis], shape))
        return 1

    def _integer(self, axis, common):
        self._append(int(self.random.integers(-self.shape[axis], self.shape[axis])))
        return 1

    def _mask(self, axis, common):
        rank = min(int(self.random.integers(1, 3)), len(self.shape) - axis)
        self._append(self.random.random(self.shape[axis:axis + rank]) < 0.5)
        return rank

    def _slice(self, axis, common):
        self._append(SLICES[self.random.integers(len(SLICES))], False)
        return 1

    def _new(self, axis, common):
        self._append(None, False)
        return 0

    DRAWS = [_array, _array, _array, _integer, _mask, _slice, _slice, _new]


def cases(seed, count):
    """(array, index, value to set) for valid indices."""
    random = numpy.random.default_rng(seed)
    while count:
        array = random.normal(size=random.integers(2, 5, random.integers(1, 4)))
        index = DrawnIndex(random, array.shape)
        try:
            part = array[tuple(index.plain)]
        except IndexError:                              # arrays or masks that do not broadcast
            continue
        shape = part.shape[random.integers(0, part.ndim + 1) if random.random() < 0.5 else 0:]
        count -= 1
        yield array, index, random.normal(size=[1 if random.random() < 0.2 else length for length in shape])


def assigned(array, index, value, adds):
    result = array.copy()
    if adds:
        part = tuple(index.plain)                       # broadcast here: NumPy 2.4 does it wrongly for one 2-d array
        numpy.add.at(result, part, numpy.broadcast_to(value, array[part].shape))
    else:
        result[tuple(index.plain)] = value
    return result


def check(array, index, value, adds):
    x = TensorType("float64", (False,) * array.ndim)("x")
    y = TensorType("float64", [length == 1 for length in value.shape])("y")
    change = T.inc_subtensor if adds else T.set_subtensor
    changed = change(x[tuple(index.symbolic)], y)
    assert changed.type.ndim == array.ndim
    weights = numpy.random.default_rng(1).normal(size=array.shape)
    step, along = numpy.cos(value + 1), y.type()
    outputs = [changed, *T.grad((changed * weights).sum(), [x, y]), T.Rop(changed, y, along)]
    f = phintys.function([x, y, along, *index.variables], outputs, on_unused_input="ignore", mode="FAST_COMPILE")
    result, by_x, by_y, moved = f(array, value, step, *index.values)
    numpy.testing.assert_array_equal(result, assigned(array, index, value, adds))
    slope = (assigned(array, index, value + step, adds) - assigned(array, index, value - step, adds)) / 2
    numpy.testing.assert_allclose(moved, slope, atol=1e-12)
    assert by_y.shape == value.shape
    numpy.testing.assert_allclose((by_y * step).sum(), (weights * slope).sum(), atol=1e-12)
    kept = (assigned(array + weights, index, value, adds) - assigned(array - weights, index, value, adds)) / 2
    numpy.testing.assert_allclose((by_x * weights).sum(), (weights * kept).sum(), atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_random_indices(seed):
    for array, index, value in cases(seed, 25):
        check(array, index, value, adds=False)
        check(array, index, value, adds=True)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_only_the_last_value_has_a_gradient(mode):
    x, y, rows, weights = T.dvector("x"), T.dvector("y"), T.lvector("rows"), T.dvector("weights")
    cost = (T.set_subtensor(x[rows], y) * weights).sum()
    f = phintys.function([x, y, rows, weights], T.grad(cost, [x, y]), mode=mode, on_unused_input="ignore")
    by_x, by_y = f([0, 0, 0], [1, 2, 3, 4], [0, -3, 2, 0], [10, 20, 30])
    assert by_x.tolist() == [0, 20, 0] and by_y.tolist() == [0, 0, 30, 10]
    s = T.dscalar("s")
    assert phintys.function([x, s], T.grad(T.set_subtensor(x[[0, 0, 1]], s).sum(), s), mode=mode,
                            on_unused_input="ignore")([1, 2, 3], 5) == 2
    once = T.grad(T.inc_subtensor(x[[0, 0]], y, ignore_duplicates=True).sum(), [x, y])
    by_x, by_y = phintys.function([x, y], once, mode=mode, on_unused_input="ignore")([1, 2], [3, 4])
    assert by_x.tolist() == [1, 1] and by_y.tolist() == [0, 1]


def test_values_that_cannot_repeat_need_no_search():
    x, y = T.dmatrix("x"), T.dvector("y")
    for index in ([2, 0], ([-1, -2], slice(1)), numpy.array([True, False, True])):
        part = x[index]
        graph = T.grad(T.set_subtensor(part, y[0]).sum(), y)
        assert "switch" not in phintys.pp(graph)


def test_second_derivatives_and_jacobians_of_set_subtensor():
    x, y, rows = T.dvector("x"), T.dvector("y"), T.lvector("rows")
    changed = T.set_subtensor(x[rows], y) ** 2
    derivatives = [phintys.gradient.jacobian(changed, y), phintys.gradient.hessian(changed.sum(), y)]
    f = phintys.function([x, y, rows], derivatives, on_unused_input="ignore")
    jacobian, hessian = f([7.0, 8.0, 9.0], [1.0, 2.0, 3.0], [1, 1, 0])
    assert jacobian.tolist() == [[0, 0, 6], [0, 4, 0], [0, 0, 0]] and hessian.tolist() == numpy.diag([0, 2, 2]).tolist()


# ---- new dimensions in an index -------------------------------------------------------------------------------------
def test_new_dimensions_do_not_change_the_rank():
    m, v = T.dmatrix("m"), T.dvector("v")
    table = numpy.arange(6.0).reshape(2, 3)
    for index in ((None,), (Ellipsis, None), (slice(None), None, 1), (None, 1, None, slice(1, None)), (1, None, -1)):
        for adds, change in ((False, T.set_subtensor), (True, T.inc_subtensor)):
            changed = change(m[index], 5.0)
            wanted = table.copy()
            wanted[index] = wanted[index] + 5.0 if adds else 5.0
            assert changed.type.ndim == 2
            numpy.testing.assert_array_equal(phintys.function([m], changed)(table), wanted)
    shuffled = T.set_subtensor(v.dimshuffle("x", 0)[:, 1:], 5.0)        # here the matrix is what is indexed
    assert phintys.function([v], shuffled)([1.0, 2.0]).tolist() == [[1.0, 5.0]]
    shuffled = T.set_subtensor(v[None][0, 1:], 5.0)
    assert phintys.function([v], shuffled)([1.0, 2.0]).tolist() == [[1.0, 5.0]]


def test_new_dimensions_are_set_in_place():
    state = phintys.shared(numpy.zeros((4, 3)), "state")
    update = T.set_subtensor(state[1, None, :2], numpy.ones((1, 2)))
    step = phintys.function([], updates=[(state, update)])
    address = state.get_value(borrow=True).ctypes.data
    step()
    assert state.get_value(borrow=True).ctypes.data == address and state.get_value().sum() == 2


# ---- what fits into a part ------------------------------------------------------------------------------------------
PARTS = {"element": lambda x: x[0], "slice": lambda x: x[1:], "rows": lambda x: x[[0, 1]],
         "elements": lambda x: x.reshape((1, 3))[[0], [2]], "mask": lambda x: x[x > 0]}
# (dtype of the tensor, value, whether it may be set)
VALUES = [("int64", 1.5, False), ("int64", 1.0, True), ("int64", numpy.nan, False), ("int64", 2.0 ** 63, False),
          ("int64", -2.0 ** 63, True), ("int8", 300, False), ("int8", -128, True), ("uint8", -1, False),
          ("uint64", 2 ** 63, True), ("uint64", 2.0 ** 64, False), ("int8", numpy.float16(2), True),
          ("int64", 1j, False), ("int64", 1 + 0j, True), ("float32", 0.1, True), ("float32", 1j, False),
          ("complex64", 0.1, True), ("bool", 1, True)]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("dtype, value, fits", VALUES, ids=str)
def test_constants_that_fit(dtype, value, fits, part):
    """No kind of index truncates values silently."""
    x = TensorType(dtype, (False,))("x")
    taken = PARTS[part](x) if dtype[0] != "c" or part != "mask" else x[numpy.array([True, False, True])]
    if not fits:
        with pytest.raises(TypeError, match=f"set a subtensor of dtype {dtype} with .*; cast the tensor or the value"):
            T.set_subtensor(taken, value)
        return
    f = phintys.function([x], T.set_subtensor(taken, value), mode="FAST_COMPILE")
    assert numpy.asarray(value.real).astype(dtype) in f(numpy.ones(3, dtype))


def test_variables_that_fit():
    whole, fraction, imaginary = T.lvector("whole"), T.dscalar("fraction"), T.zscalar("imaginary")
    for value in (fraction, imaginary):
        for change in (T.set_subtensor, T.inc_subtensor):
            with pytest.raises(TypeError, match=f"value of dtype {value.dtype}, which would lose precision"):
                change(whole[0], value)
    assert T.set_subtensor(whole[0], fraction.astype("int64")).type.dtype == "int64"
    assert T.set_subtensor(T.bvector()[0], whole[0]).type.dtype == "int8"           # as in NumPy and Theano
    assert T.set_subtensor(T.fvector()[0], fraction).type.dtype == "float32"
