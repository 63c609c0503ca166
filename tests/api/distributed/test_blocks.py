"""Functions on the blocks of Dask's arrays, by Dask's own schedulers in this process."""
import os
import subprocess
import sys

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import function, shared
from phintys.distributed import map_blocks, reduce_blocks

pytest.importorskip("dask.array")
import dask
import dask.array as da

SCHEDULERS = ["synchronous", "threads"]
m, n, v, s = T.dmatrix("m"), T.dmatrix("n"), T.dvector("v"), T.dscalar("s")
VALUES = numpy.random.default_rng(7).random((12, 10))


def divided(array=VALUES, chunks=(5, 4)):
    return da.from_array(array, chunks=chunks)


class Noted(phintys.Op):
    """Adds one, and notes the shapes that it sees."""

    __props__ = ()
    seen = []

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        self.seen.append(inputs[0].shape)
        output_storage[0][0] = inputs[0] + 1


def test_nothing_is_called_before_there_is_a_block():
    del Noted.seen[:]
    f = function([m], Noted()(m))
    result = map_blocks(f, divided())
    total = reduce_blocks(f, divided(chunks=(6, 10)))
    assert Noted.seen == [] and (result.dtype, result.shape) == ("float64", (12, 10))
    assert numpy.array_equal(result.compute(scheduler="synchronous"), VALUES + 1)
    assert set(Noted.seen) == {(5, 4), (2, 4), (5, 2), (2, 2)}
    assert numpy.array_equal(total.compute(scheduler="synchronous"), (VALUES[:6] + 1) + (VALUES[6:] + 1))


CASES = {
    "one array": (lambda: function([m], T.tanh(m) * 2), [VALUES], lambda a: numpy.tanh(a) * 2),
    "two arrays": (lambda: function([m, n], m - n ** 2), [VALUES, VALUES + 1], lambda a, b: a - b ** 2),
    "a number": (lambda: function([m, s], m * s), [VALUES, 3.0], lambda a, b: a * b),
    "a vector": (lambda: function([m, v], m + v), [VALUES, VALUES[0]], lambda a, b: a + b),
    "a column": (lambda: function([m, c := T.dcol()], m + c), [VALUES, VALUES[:, :1]], lambda a, b: a + b),
    "other dtype": (lambda: function([m], T.gt(m, 0.5)), [VALUES], lambda a: a > 0.5),
    "integers for floats": (lambda: function([m], m / 2), [numpy.arange(120).reshape(12, 10)], lambda a: a / 2),
    "no rows": (lambda: function([m], T.exp(m)), [VALUES[:0]], numpy.exp),
    "borrowed": (lambda: function([m], phintys.Out(T.exp(m), borrow=True)), [VALUES], numpy.exp),
    "in place": (lambda: function([phintys.In(m, mutable=True)], T.exp(m)), [VALUES], numpy.exp),
    "shared": (lambda: function([m], m * shared(2.0)), [VALUES], lambda a: a * 2),
}


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("case", CASES)
def test_values(case, scheduler):
    make, values, expected = CASES[case]
    given = [divided(value, chunks=(5, 4)[-value.ndim:]) if numpy.ndim(value) else value for value in values]
    f = make()
    result = map_blocks(f, *given)
    for _ in range(2):                          # a block that was written to would be seen in the second
        found = result.compute(scheduler=scheduler)
        assert found.dtype == result.dtype and numpy.allclose(found, expected(*values))
    if len(values) == 2 and numpy.ndim(values[1]):
        assert numpy.allclose(map_blocks(f, given[0], values[1]).compute(scheduler=scheduler), expected(*values))


SOURCES = {"one element": lambda: da.broadcast_to(da.from_array(VALUES[:1, :1]), (12, 10), chunks=(5, 4)),
           "ones": lambda: da.ones((12, 10), chunks=(5, 4)), "reversed": lambda: divided()[::-1, ::-1],
           "columns": lambda: divided(chunks=(12, 3)), "transposed": lambda: divided(VALUES.T.copy()).T,
           "random": lambda: da.random.default_rng(3).random((12, 10), chunks=(5, 4)),
           "persisted": lambda: divided().persist(scheduler="synchronous")}


@pytest.mark.parametrize("source", SOURCES)
def test_blocks_as_dask_makes_them(source):
    array = SOURCES[source]()
    expected = numpy.exp(array.compute(scheduler="synchronous"))
    result = map_blocks(function([phintys.In(m, mutable=True)], phintys.Out(T.exp(m), borrow=True)), array)
    assert all(numpy.allclose(result.compute(scheduler=each), expected) for each in SCHEDULERS * 2)


LARGE = """
import dask.array as da
import phintys
import phintys.tensor as T
from phintys.distributed import map_blocks, reduce_blocks

m = T.dmatrix("m")
x = da.ones((1 << 18, 500), chunks=(1 << 12, 500))
total = reduce_blocks(phintys.function([m], m.sum()), map_blocks(phintys.function([m], m * 2), x))
assert total.compute(scheduler="threads", num_workers=2) == 2 * x.size
with open("/proc/self/status") as status:           # resource.getrusage would begin with what its parent had
    most = next(line for line in status if line.startswith("VmHWM:"))
print(x.nbytes, 1024 * int(most.split()[1]))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc")
def test_an_array_that_is_larger_than_the_memory_that_is_used():
    printed = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=True).stdout
    size, most = map(int, printed.split())
    assert size > 1 << 29 and most < size / 2


def test_arrays_without_dimensions():
    total = map_blocks(function([s], s * 2), divided().sum())
    assert total.shape == () and numpy.isclose(total.compute(scheduler="synchronous"), 2 * VALUES.sum())


def test_axes_that_come_and_go():
    rows = map_blocks(function([m], m.sum(axis=1)), divided(chunks=(5, 10)), drop_axis=1)
    assert rows.shape == (12,) and numpy.allclose(rows.compute(scheduler="synchronous"), VALUES.sum(axis=1))
    first = map_blocks(function([m], m[:1]), divided(), chunks=((1, 1, 1), (4, 4, 2)))
    assert numpy.array_equal(first.compute(scheduler="synchronous"), VALUES[::5])


def test_equal_functions_have_equal_keys():
    make = CASES["one array"][0]
    assert map_blocks(make(), divided()).name == map_blocks(make(), divided()).name
    assert map_blocks(function([m], m + 1), divided()).name != map_blocks(function([m], m + 2), divided()).name
    with dask.config.set({"tokenize.ensure-deterministic": True}):
        map_blocks(make(), divided())
        reduce_blocks(make(), divided(chunks=(6, 10)))
    assert map_blocks(function([m], m + 1, name="plus"), divided()).name.startswith("plus-")


def test_a_block_that_fails_is_named():
    f = function([m], T.slinalg.cholesky(m), name="factor")
    values = numpy.array([numpy.eye(2), numpy.eye(2), -numpy.eye(2)]).reshape(6, 2)
    with pytest.raises(numpy.linalg.LinAlgError, match=r"block \(2, 0\) of <task 'factor'>"):
        map_blocks(f, divided(values, (2, 2))).compute(scheduler="threads")
    with pytest.raises(numpy.linalg.LinAlgError, match=r"block \(2, 0\) of <task 'factor'>"):
        reduce_blocks(f, divided(values, (2, 2))).compute(scheduler="threads")


def test_a_block_of_another_shape_than_promised():
    with pytest.raises(ValueError, match=r"block \(2, 2\) .* has the shape \(1, 2\) instead of \(2, 2\)"):
        map_blocks(function([m], m[1:]), divided()).compute(scheduler="synchronous")


@pytest.mark.parametrize("make, arrays, message", [
    (lambda: function([m], m.sum()), [VALUES], r"has 0 dimensions, its arguments up to 2: .* drop_axis"),
    (lambda: function([m], [m, m]), [VALUES], "has 2 results"),
    (lambda: function([m], m), [], "takes 1 arguments, 0 were given"),
    (lambda: function([m], m), [VALUES[0]], "argument 0 .* an array of 1 dimensions was given"),
    (lambda: function([m], m), [2.0], "argument 0 .* an array of 0 dimensions was given"),
    (lambda: function([f := T.fmatrix()], f), [VALUES], "argument 0 .* has dtype float64"),
    (lambda: function([m], m, updates=[(t := shared(0.0, "t"), t + 1)]), [VALUES], "updates t"),
])
def test_mistakes_are_found_before_anything_is_computed(make, arrays, message):
    with pytest.raises(TypeError, match=message):
        map_blocks(make(), *[divided(array, (5, 4)[-array.ndim:]) if numpy.ndim(array) else array for array in arrays])


# ---- reductions ------------------------------------------------------------------------------------------------------
def test_reductions():
    f = function([m], [m.sum(), T.sqr(m).sum(axis=0)])
    total, squares = reduce_blocks(f, divided(chunks=(5, 10))).compute(scheduler="threads")
    assert numpy.isclose(total, VALUES.sum()) and numpy.allclose(squares, (VALUES ** 2).sum(axis=0))
    named = reduce_blocks(function([m, n], {"a": (m * n).sum()}), divided(), VALUES).compute(scheduler="threads")
    assert numpy.isclose(named["a"], (VALUES ** 2).sum())
    with_number = reduce_blocks(function([m, s], (m * s).sum()), divided(), 2.0)
    assert numpy.isclose(with_number.compute(scheduler="threads"), 2 * VALUES.sum())


def test_combinations_are_functions_of_any_kind():
    f, a, b = function([m], m.max()), T.dscalar("a"), T.dscalar("b")
    for combine in (max, numpy.maximum, function([a, b], T.maximum(a, b))):
        assert reduce_blocks(f, divided(), combine=combine).compute(scheduler="threads") == VALUES.max()
    with pytest.raises(TypeError, match="updates t"):
        reduce_blocks(f, divided(), combine=function([a, b], a, updates=[(t := shared(0.0, "t"), t + b)]))


@pytest.mark.parametrize("every", [2, 3, 4, 100])
def test_the_order_of_a_reduction_depends_on_the_blocks_alone(every):
    values = numpy.random.default_rng(2).normal(size=1000) * 10.0 ** numpy.arange(1000).__mod__(17)
    f = function([v], v.sum())
    found = {reduce_blocks(f, divided(values, (7,)), split_every=every).compute(scheduler=each).tobytes()
             for each in SCHEDULERS * 5}
    assert len(found) == 1

    level = [f(values[start:start + 7]) for start in range(0, 1000, 7)]
    while len(level) > 1:
        level = [sum(level[start + 1:start + every], start=level[start]) for start in range(0, len(level), every)]
    assert found == {numpy.float64(level[0]).tobytes()}


def test_what_cannot_be_reduced():
    f = function([m, n], m.sum() + n.sum())
    with pytest.raises(ValueError, match=r"the same blocks: these have \(1, 3\) and \(3, 3\)"):
        reduce_blocks(f, divided(), VALUES[:1])
    with pytest.raises(ValueError, match="the same blocks: these have none"):
        reduce_blocks(function([s], s), 2.0)
