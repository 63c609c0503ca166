"""Typed lists, against Python's; who owns the elements; work in place."""
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import typed_list
from phintys.graph.errors import NullTypeGradError
from phintys.ops.types.slice_type import SliceType
from phintys.typed_list import TypedListType

A, B, C = [numpy.arange(6.0).reshape(2, 3) + start for start in (0, 10, 20)]
MATRICES = TypedListType(T.dmatrix)


def run(build, *values, mode=None, mutable=False):
    x, m, i = MATRICES("x"), T.dmatrix("m"), T.lscalar("i")
    names = [x, m, i][:len(values)]
    inputs = [phintys.In(name, mutable=mutable and name is x, borrow=mutable) for name in names]
    return phintys.function(inputs, build(*names), mode=mode, on_unused_input="ignore")(*values)


def same(found, wanted):
    assert isinstance(found, list) and len(found) == len(wanted)
    for got, value in zip(found, wanted):
        numpy.testing.assert_array_equal(got, value)


CHANGES = {
    "append": (lambda x, m: x.append(m), [A, B, C]), "insert": (lambda x, m: x.insert(1, m), [A, C, B]),
    "insert at the end": (lambda x, m: typed_list.insert(x, T.constant(-1), m), [A, C, B]),
    "extend": (lambda x, m: x.extend(typed_list.make_list([m, m + 1])), [A, B, C, C + 1]),
    "remove": (lambda x, m: x.append(m).remove(A), [B, C]), "remove nothing": (lambda x, m: x.remove(m), [A, B]),
    "reverse": (lambda x, m: x.append(m).reverse(), [C, B, A]), "slice": (lambda x, m: x.append(m)[1:], [B, C]),
    "chain": (lambda x, m: x.append(m).append(m).reverse().insert(0, m * 2), [2 * C, C, C, B, A]),
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "DebugMode"])
@pytest.mark.parametrize("name", CHANGES)
def test_changes(name, mode):
    build, wanted = CHANGES[name]
    given = [A.copy(), B.copy()]
    found = run(build, given, C, mode=mode)
    same(found, wanted)
    same(given, [A, B])
    for element in found:
        element += 100
    same(given, [A, B])
    same([C], [numpy.arange(6.0).reshape(2, 3) + 20])


NUMBERS = {
    "length": (lambda x, m: typed_list.length(x), 3), "count": (lambda x, m: x.count(m), 2),
    "count nothing": (lambda x, m: x.count(m + 1), 0), "index": (lambda x, m: x.ind(m), 0),
    "index of the second": (lambda x, m: typed_list.index_(x, m + 10), 1),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    build, wanted = NUMBERS[name]
    assert run(build, [A, B, A], A) == wanted
    with pytest.raises(ValueError, match="not in the list"):
        run(lambda x, m: x.ind(m), [A], B)


def test_elements():
    x, index, part = MATRICES(), T.lscalar(), SliceType()()
    f = phintys.function([x, index], x[index] * 2)
    numpy.testing.assert_array_equal(f([A, B, C], -1), 2 * C)
    with pytest.raises(IndexError, match="list index out of range"):
        f([A], 1)
    same(phintys.function([x, part], x[part])([A, B, C], slice(0, 3, 2)), [A, C])
    given = [A.copy()]
    element = phintys.function([x], x[0])(given)
    element += 1
    same(given, [A])


def test_work_in_place():
    x, m = MATRICES("x"), T.dmatrix("m")
    f = phintys.function([x, m], x.append(m).append(m).reverse())
    assert [node.op.inplace for node in f.maker.fgraph.toposort()] == [False, True, True]
    g = phintys.function([phintys.In(x, mutable=True, borrow=True), m], phintys.Out(x.append(m), borrow=True))
    assert [node.op.inplace for node in g.maker.fgraph.toposort()] == [True]
    same(g([A], B), [A, B])


def test_lists_of_lists():
    nested = TypedListType(T.dmatrix, 1)
    assert nested.ttype == MATRICES and nested.get_depth() == 1 and nested.ndim == 4
    assert str(nested).count("TypedList") == 2
    x, y = nested(), MATRICES()
    first, rest = phintys.function([x, y], [x.append(y)[1], typed_list.length(x)])([[A]], [B, C])
    same(first, [B, C])
    assert rest == 1


def test_types():
    assert TypedListType(T.dmatrix) == MATRICES != TypedListType(T.fmatrix) and hash(MATRICES) == hash(
        TypedListType(T.dmatrix))
    assert MATRICES.values_eq([A, B], [A.copy(), B]) and not MATRICES.values_eq([A], [A, A])
    assert MATRICES.values_eq_approx([A], [A + 1e-14]) and not MATRICES.values_eq([A], [A + 1e-14])
    assert MATRICES.may_share_memory([A], [B, A[1:]]) and not MATRICES.may_share_memory([A], [B])
    same(MATRICES.filter([A.astype("float32"), [[1.0]]]), [A, [[1.0]]])
    for value, strict in (([numpy.ones(3)], False), (3, False), ((A,), True), ([A.astype("f")], True)):
        with pytest.raises(TypeError):
            MATRICES.filter(value, strict=strict)
    assert pickle.loads(pickle.dumps(MATRICES)) == MATRICES


def test_pickled_functions():
    x, m = MATRICES("x"), T.dmatrix("m")
    f = pickle.loads(pickle.dumps(phintys.function([x, m], x.append(m))))
    same(f([A], B), [A, B])


def test_shared_lists():
    shared = phintys.shared([1, 2])                             # a plain list is no typed list
    assert not isinstance(shared.type, TypedListType)


@pytest.mark.parametrize("build, error, message", [
    (lambda x, m: x.append(m[0]), TypeError, "the elements of x are of type"),
    (lambda x, m: typed_list.append(m, m), TypeError, "Append: expected a typed list, got m"),
    (lambda x, m: x.extend(TypedListType(T.dvector)()), TypeError, "the lists have different types"),
    (lambda x, m: x[m], TypeError, "Expected scalar or slice"),
    (lambda x, m: x[T.dscalar()], TypeError, "integer dtype"),
    (lambda x, m: typed_list.make_list([m, m[0]]), TypeError, "to be of the same type"),
    (lambda x, m: typed_list.make_list([]), TypeError, "not empty"),
    (lambda x, m: len(x), TypeError, "typed_list.length"), (lambda x, m: list(x), TypeError, "no known length"),
    (lambda x, m: TypedListType(T.dmatrix, -1), ValueError, "depth"),
    (lambda x, m: TypedListType(3), TypeError, "Expected a Type"),
])
def test_refused(build, error, message):
    with pytest.raises(error, match=message):
        build(MATRICES("x"), T.dmatrix("m"))


def test_lists_beside_formulas_that_are_made_stable():
    """A rewrite that looks for floats sees a list, too, whose dtype is a type."""
    x, y = T.dvector("x"), T.dvector("y")
    item = phintys.typed_list.make_list([x[::2], y])[-1]
    results = [T.log(T.exp(item).sum()), T.log(T.exp(x) + T.exp(y)), T.log(T.nnet.sigmoid(item))]
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        found = phintys.function([x, y], results, mode=mode)([1.0, 2.0], [3.0, 4.0])
        wanted = [numpy.log(numpy.exp([3.0, 4.0]).sum()), numpy.logaddexp([1, 2], [3, 4]),
                  -numpy.log1p(numpy.exp([-3.0, -4.0]))]
        for got, want in zip(found, wanted):
            numpy.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize("item", [
    lambda x: typed_list.make_list([x * 2, x])[0], lambda x: typed_list.make_list([x]).append(x)[0],
    lambda x: typed_list.make_list([x]).insert(0, x)[0], lambda x: typed_list.make_list([x]).reverse()[0],
    lambda x: typed_list.make_list([x]).extend(typed_list.make_list([x]))[0],
    lambda x: typed_list.make_list([x, x * 2]).remove(x)[:1][0]])
def test_derivatives_through_lists_are_refused(item):
    """They were left out without a word where other paths have a derivative."""
    x = T.dvector("x")
    cost = (x * item(x)).sum()
    with pytest.raises(NullTypeGradError, match=r"GetItem|MakeList"):
        T.grad(cost, x)
    with pytest.raises(NotImplementedError):
        T.Rop(cost, x, x)


def test_what_does_not_change_with_the_elements_has_derivatives():
    x, k = T.dvector("x"), T.lscalar("k")
    positions = typed_list.make_list([k, k])
    cost = (x * typed_list.length(typed_list.make_list([x]))).sum()
    cost += (x * positions[0]).sum() + x[positions[1]] ** 2 + x.sum() * positions.ind(k)
    assert phintys.function([x, k], T.grad(cost, x))([1.0, 2.0], 1).tolist() == [2, 6]
