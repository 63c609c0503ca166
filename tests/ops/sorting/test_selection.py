"""Selection: partitions, the largest elements, medians and quantiles, against NumPy."""
import numpy
import pytest
from compiled_once import compiled
from family_cases import DTYPES, LAYOUTS, check_equal, check_gradient, check_r_op, check_shape, check_values, values

import phintys
import phintys.tensor as T
from phintys.ops.sorting.partitioning import CONTINUOUS, METHODS, ArgPartitionOp, PartitionOp
from phintys.tensor.sort import TopKOp

FAST = ("FAST_RUN",)


def awkward(shape, dtype, seed=0):
    """Numbers with repetitions and, of floats, NaN and infinities."""
    array = values(shape, dtype, seed)
    if array.dtype.kind in "fc":
        array = numpy.round(array * 4) / 4
        flat = array.reshape(-1)
        flat[3::17], flat[5::19] = numpy.nan, numpy.inf
    return array.astype(dtype)


def is_partitioned(array, wanted, chosen, axis):
    """Whether elements at places are those of the sorted array, and others are on the right sides."""
    # NumPy 2.4's quicksort leaves float16 in the wrong order on some processors; the stable algorithm is right.
    wanted = numpy.moveaxis(numpy.sort(wanted, axis, kind="stable"), axis, -1)
    array = numpy.moveaxis(array, axis, -1)
    ends = [0, *[place + 1 for place in chosen], array.shape[-1]]
    for first, last in zip(ends, ends[1:]):
        numpy.testing.assert_array_equal(numpy.sort(array[..., first:last], kind="stable"), wanted[..., first:last])
    for place in chosen:
        numpy.testing.assert_array_equal(array[..., place], wanted[..., place])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, axis", [((7, 5), 0), ((3, 40), -1), ((9000,), 0), ((2, 0), 0), ((1, 2, 1), 1)])
def test_partitions(dtype, shape, axis):
    length = shape[axis]
    for chosen in ([], [0], [length // 2], sorted({0, length // 3, length // 2, length - 1})):
        for layout in LAYOUTS.values():
            array = layout(awkward(shape, dtype, len(chosen)))
            x = T.tensor(dtype, (False,) * array.ndim)
            kth = numpy.array(chosen, "int64")
            parts, order = compiled([x], [T.partition(x, kth, axis), T.argpartition(x, kth, axis)])(array)
            assert parts.dtype == dtype and order.dtype == "int64"
            is_partitioned(parts, array, chosen, axis)
            is_partitioned(numpy.take_along_axis(array, order, axis), array, chosen, axis)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_long_lines_with_signed_zeros_and_both_signs_of_nan(dtype):
    """Whole blocks are skipped by a quicker test than that of single elements; no better one may be lost."""
    rng = numpy.random.default_rng(3)
    special = numpy.array([numpy.nan, -numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0], dtype)
    x = T.vector(dtype=dtype)
    for rare in (0.02, 0.5):
        array = numpy.where(rng.random(700) < rare, rng.choice(special, 700), rng.integers(-3, 3, 700).astype(dtype))
        for k in (3, -3, 12, -12, 40, -40):
            best, places = phintys.function([x], T.topk_and_argtopk(x, k))(array)
            order = numpy.argsort(array, kind="stable")
            if k > 0:                                                   # NaN is largest; ties are taken from the front
                order = numpy.lexsort((numpy.arange(700), -numpy.nan_to_num(array, posinf=9, neginf=-9, nan=99)))
            check_equal(places, order[:abs(k)])
            numpy.testing.assert_array_equal(best, array[places])


@pytest.mark.parametrize("name", ["equal", "ascending", "descending", "two values", "organ pipe"])
def test_orders_that_are_hard_to_divide(name):
    count = numpy.arange(20000.0)
    array = {"equal": count * 0, "ascending": count, "descending": -count, "two values": count % 2,
             "organ pipe": numpy.minimum(count, count[::-1])}[name]
    x = T.dvector()
    for place in (0, 1, 10000, 19999):
        parts, order, best = phintys.function([x], [T.partition(x, place), T.argpartition(x, place),
                                                    T.topk(x, place + 1)])(array)
        is_partitioned(parts, array, [place], 0)
        is_partitioned(array[order], array, [place], 0)
        check_equal(best, numpy.sort(array)[::-1][:place + 1])


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32", "float64", "float16"])
def test_instruction_sets_select_alike(cpu, dtype):
    """Values and places are moved alike, so that gradients go where values came from; equal elements included."""
    random = numpy.random.default_rng(3)
    x, k = T.tensor(dtype, (False,)), T.iscalar()
    with phintys.change_flags(cpu=cpu):
        f = phintys.function([x, k], [T.partition(x, k), T.argpartition(x, k), *T.topk_and_argtopk(x, k),
                                      T.topk(x, k, sorted=False), *T.topk_and_argtopk(x, -k)])
    for length, most in ((20, 5), (300, 40), (5000, 30), (5000, 10 ** 4), (40000, 10 ** 4)):
        array = random.integers(0, most, length).astype(dtype)
        if array.dtype.kind == "f":
            array[random.integers(0, length, 3)] = numpy.nan
            array[random.integers(0, length, 3)] *= -1                   # -0.0 and a negative NaN, perhaps
        for k_ in (1, length // 40 + 12, length // 2, length - 1):
            parts, order, best, places, unsorted, least, least_places = f(array, k_)
            check_equal(array[order], parts)
            is_partitioned(parts, array, [k_], 0)
            backward = length - 1 - numpy.argsort(array[::-1], kind="stable")[::-1]
            check_equal(places, backward[:k_])
            check_equal(best, array[backward[:k_]])
            check_equal(numpy.sort(unsorted), numpy.sort(array)[-k_:])
            check_equal(least_places, numpy.argsort(array, kind="stable")[:k_])
            check_equal(least, numpy.sort(array)[:k_])


def test_mostly_nan():
    array = numpy.full(1000, numpy.nan)
    array[::300] = 1
    x = T.dvector()
    for k in (20, 996, 1000):
        best, places, least, least_places = phintys.function([x], [*T.topk_and_argtopk(x, k),
                                                                   *T.topk_and_argtopk(x, -k)])(array)
        check_equal(least_places, numpy.argsort(array, kind="stable")[:k])
        check_equal(places, (999 - numpy.argsort(array[::-1], kind="stable")[::-1])[:k])
        check_equal(best, array[places])
        check_equal(least, array[least_places])


def test_places_and_axes_may_be_symbolic():
    x, places, axis = T.dmatrix(), T.lvector(), T.iscalar()
    f = phintys.function([x, places, axis], T.partition(x, places, axis))
    array = awkward((6, 4), "float64")
    for number in (0, 1, -1, -2):
        is_partitioned(f(array, [2, -1, 0], number), array, [0, 2, array.shape[number] - 1], number)
    for arguments, message in [((array, [4], 1), r"kth\(=4\) out of bounds \(4\)"),
                               ((array, [-7], 0), r"kth\(=-7\) out of bounds \(6\)"),
                               ((array, [0], 2), "axis 2 is out")]:
        with pytest.raises(ValueError, match=message):
            f(*arguments)
    assert "inplace" in PartitionOp.__props__ and PartitionOp() != ArgPartitionOp()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, axis", [((7, 5), 0), ((2, 40), -1), ((5000,), 0), ((1, 2, 1), 1), ((0, 3), 1)])
def test_largest_elements(dtype, shape, axis):
    for k in sorted({1, 2, shape[axis], min(shape[axis], 600)}):
        for layout in LAYOUTS.values():
            array = layout(awkward(shape, dtype, k))
            x = T.tensor(dtype, (False,) * array.ndim)
            results = compiled([x], [*T.topk_and_argtopk(x, k, axis), *T.topk_and_argtopk(x, -k, axis)])(array)
            order = numpy.argsort(array, axis, kind="stable")
            backward = numpy.flip(numpy.argsort(numpy.flip(array, axis), axis, kind="stable"), axis)
            backward = shape[axis] - 1 - backward                       # equal elements: the first one first
            cut = tuple([slice(k) if number == axis % array.ndim else slice(None) for number in range(array.ndim)])
            for (found, places), wanted in zip((results[:2], results[2:]), (backward[cut], order[cut])):
                check_equal(places, wanted)
                check_equal(found, numpy.take_along_axis(array, wanted, axis))


def test_unsorted_best_and_dtypes_of_places():
    array = values((3, 50))
    x, k = T.dmatrix(), T.iscalar()
    for dtype in ("int8", "uint16", "int32", "uint64"):
        f = phintys.function([x, k], T.topk_and_argtopk(x, k, sorted=False, idx_dtype=dtype))
        for number in (1, 7, -7, 50):
            found, places = f(array, number)
            assert places.dtype == dtype
            check_equal(numpy.take_along_axis(array, places.astype(int), 1), found)
            check_equal(numpy.sort(found), numpy.sort(array)[:, -number:] if number > 0 else numpy.sort(array)[:, :7])
    assert T.topk(x, 1).broadcastable == (False, True) and T.topk(x, k).broadcastable == (False, False)
    check_equal(T.topk(array, 3, axis=None).eval(), numpy.sort(array.ravel())[:-4:-1])


def test_only_what_is_read_is_computed():
    x = T.dmatrix()
    for take, wanted in ((T.topk, (True, False)), (T.argtopk, (False, True))):
        op, = [node.op for node in phintys.function([x], take(x, 2)).maker.fgraph.toposort()
               if isinstance(node.op, TopKOp)]
        assert (op.return_values, op.return_indices) == wanted
    f = phintys.function([x], T.topk(x, 2).shape)
    assert not any(isinstance(node.op, TopKOp) for node in f.maker.fgraph.toposort())


DIFFERENTIABLE = {
    "topk": lambda x: T.topk(x, 3, axis=0), "topk, smallest": lambda x: T.topk(x, -2), "sort": lambda x: T.sort(x, 0),
    "partition": lambda x: T.partition(x, [1, 3], axis=0), "median": lambda x: T.median(x, axis=1),
    "median of all": T.median, "quantile": lambda x: T.quantile(x, [0.2, 0.77], axis=0),
    "unique": lambda x: T.unique(x), "unique rows": lambda x: T.unique(x, axis=0),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives(name):
    array = values((5, 4), seed=7)
    build = DIFFERENTIABLE[name]
    check_gradient(build, [array])
    check_r_op(build, [array])
    check_shape(build, [array])
    x, v = T.dmatrix(), T.dmatrix()
    slope = T.grad((build(x) ** 3).sum(), x)
    check_gradient(lambda x: T.grad((build(x) ** 3).sum(), x), [array])
    direct = phintys.function([x, v], T.Rop(slope, x, v))(array, array)
    ahead, behind = [phintys.function([x], slope)(array * (1 + step)) for step in (1e-6, -1e-6)]
    numpy.testing.assert_allclose(direct, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "bool"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (2, 1, 0)])
def test_medians(dtype, axis):
    for length in (1, 4):
        array = values((3, length, 2), dtype, length)
        exact = array if array.dtype.kind == "f" else array.astype("float64")
        for layout, keepdims in zip(LAYOUTS.values(), (False, True) * 2):
            if length > 1 or keepdims:
                check_values(lambda x: T.median(x, axis, keepdims),
                             lambda a: numpy.median(exact, axis, keepdims=keepdims),
                             [layout(array)], modes=FAST)
    with_nan = numpy.array([[1.0, numpy.nan, 2.0], [3.0, 1.0, numpy.inf]])
    check_values(lambda x: T.median(x, 1), lambda a: numpy.array([numpy.nan, 3.0]), [with_nan])


@pytest.mark.parametrize("method", METHODS)
def test_quantiles(method):
    kinds = (0.0, 0.35, [0.1, 0.5, 1.0], [[0.25], [0.75]])             # each with one shape, and one with each shape
    for shape, axis, chosen in (((6, 5), 0, kinds), ((6, 5), None, kinds[2:]), ((2, 3, 4), (0, 2), kinds[2:3]),
                                ((1, 2), 1, kinds[1:3])):
        array = values(shape)
        for q in chosen:
            q = numpy.array(q)
            check_values(lambda x: T.quantile(x, q, axis, method, keepdims=True),
                         lambda a: numpy.quantile(a, q, axis, method=method, keepdims=True), [array], modes=FAST)
            check_values(lambda x, p: T.percentile(x, p, axis, method),
                         lambda a, p: numpy.asarray(numpy.percentile(a, p, axis, method=method)), [array, q * 100],
                         modes=FAST)
    if method in CONTINUOUS:
        check_gradient(lambda x, q: T.quantile(x, q, 0, method), [values((6, 5)), numpy.array([0.33, 0.61])])
    check_values(lambda x: T.quantile(x, 0.5, method=method),
                 lambda a: numpy.quantile(a, 0.5, method=method), [values(9, "int32")], modes=FAST)


BAD_GRAPHS = {
    "topk of a number": (lambda: T.topk(3.0, 1), ValueError, "Cannot take scalar"),
    "topk axis": (lambda: T.topk(values((2, 3)), 1, axis=2), IndexError, r"integer within \[-2, 1\]"),
    "topk axis type": (lambda: TopKOp(axis=0.5), TypeError, "must be integer"),
    "topk count": (lambda: T.topk(values(3), 1.5), TypeError, "0-d integer"),
    "topk nothing": (lambda: TopKOp(return_values=False, return_indices=False), ValueError, "Neither"),
    "idx_dtype": (lambda: T.topk(values(3), 1, idx_dtype="float32"), TypeError, "integer dtype"),
    "kth": (lambda: T.partition(values(3), 0.5), TypeError, "kth must be an integer"),
    "kind": (lambda: T.partition(values(3), 0, kind="heap"), ValueError, "introselect"),
    "order": (lambda: T.argpartition(values(3), 0, order=["a"]), ValueError, "fields of records"),
    "places": (lambda: PartitionOp()(values(3), 0), TypeError, "vector of integers"),
    "median axis": (lambda: T.median(values(3), axis=1), ValueError, "axis 1 is out of bounds"),
    "median axes": (lambda: T.median(values((2, 3)), axis=(0, -2)), ValueError, "repeated axis"),
    "quantile": (lambda: T.quantile(values(3), 1.5), ValueError, r"range \[0, 1\]"),
    "percentile": (lambda: T.percentile(values(3), -1), ValueError, r"range \[0, 100\]"),
    "method": (lambda: T.quantile(values(3), 0.5, method="best"), ValueError, "not a valid method"),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_bad_graphs(name):
    build, error, message = BAD_GRAPHS[name]
    with pytest.raises(error, match=message):
        build()


@pytest.mark.parametrize("k, message", [(0, "cannot be zero"), (4, "larger than the size of specified axis 1"),
                                        (-4, r"the shape is \(2, 3\)")])
def test_wrong_counts(k, message):
    x, count = T.dmatrix(), T.iscalar()
    with pytest.raises(ValueError, match=f"topk: kth {message}|{message}"):
        phintys.function([x, count], T.topk(x, count))(values((2, 3)), k)


@pytest.mark.parametrize("cpu", ["native", "avx2"])
@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32", "float64"])
def test_lines_that_do_not_fit_in_caches(cpu, dtype):
    """They are first divided in three parts, the middle one of which is likely to contain the element."""
    random, count = numpy.random.default_rng(0), 130_001
    lines = [random.integers(0, 2 ** 30, count), random.integers(0, 3, count), numpy.arange(count),
             numpy.arange(count)[::-1], numpy.zeros(count), numpy.tile([5, 1], count)[:count]]
    with phintys.change_flags(cpu=cpu):
        x, k = T.vector(dtype=dtype), T.lscalar()
        f = phintys.function([x, k], [T.partition(x, k), T.argpartition(x, k)])
        for number, line in enumerate(lines):
            line = line.astype(dtype)
            if dtype.startswith("float") and number == 0:
                line[[3, 100_000]] = numpy.inf
            ordered = numpy.sort(line)
            for place in (0, 1, count // 3, count // 2, count - 2, count - 1):
                found, order = f(line, place)
                numpy.testing.assert_array_equal(line[order], found)
                numpy.testing.assert_array_equal(f(numpy.repeat(line, 2)[::2], place)[0], found)
                assert found[place] == ordered[place]
                assert (found[:place] <= found[place]).all() and (found[place:] >= found[place]).all()
                numpy.testing.assert_array_equal(numpy.sort(found), ordered)


def test_gradients_of_partitions_of_long_lines():
    """With NaN, which are moved first, and of lines with gaps."""
    x = T.dvector()
    value = numpy.random.default_rng(0).integers(0, 1000, 250_000).astype("float64")
    value[[5, 70_000]] = numpy.nan
    weights = numpy.arange(125_000.0)
    part = T.partition(x[::2], [10, 60_000])
    found, slopes, order = phintys.function([x], [part, phintys.grad((part * weights).sum(), x),
                                                  T.argpartition(x[::2], [10, 60_000])])(value)
    numpy.testing.assert_array_equal(value[::2][order], found)
    numpy.testing.assert_array_equal(slopes[::2][order], weights)
    numpy.testing.assert_array_equal(found[[10, 60_000]], numpy.sort(value[::2])[[10, 60_000]])
