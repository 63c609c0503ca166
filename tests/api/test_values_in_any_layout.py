"""Values as files, messages and packed records give them: every kind of array, wherever a value may be given.

Kernels read aligned arrays in native byte order. Other arrays are copied, as NumPy does, and nobody's array is changed.
"""
import tempfile

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out, function, shared
from phintys.typed_list import TypedListType

DTYPES = ("float64", "int16", "complex64")
SHAPE = (2, 3)


class Subclass(numpy.ndarray):
    pass


def not_aligned(array):
    view = numpy.zeros(array.nbytes + 1, "uint8")[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def as_field(*before, after="i1", aligned=False, kind=numpy.ndarray):
    """Arrays that are a field of records, between others."""
    def made(array):
        fields = [*before, ("x", array.dtype), ("after", after)]
        records = numpy.zeros(array.shape, numpy.dtype(fields, align=aligned)).view(kind)
        records["x"] = array
        return records["x"]
    return made


def as_part_of_a_record(array):
    record = numpy.zeros((), [("before", "i1"), ("x", array.dtype, array.shape)])
    record["x"] = array
    return record["x"]


def read_only(array):
    array.flags.writeable = False
    return array


def as_memmap(array):
    with tempfile.TemporaryFile() as file:
        file.write(b"x" + array.tobytes())
        file.flush()
        return numpy.memmap(file, array.dtype, "r", 1, array.shape)


KINDS = {
    "ordinary": numpy.copy, "not aligned": not_aligned, "backwards": lambda a: numpy.flip(numpy.flip(a).copy()),
    "field": as_field(("before", "i1")), "field of aligned records": as_field(("before", "i1"), aligned=True),
    "field at a stride of one and a half elements": as_field(after="f4"), "part of a record": as_part_of_a_record,
    "field of a recarray": as_field(("before", "i1"), kind=numpy.recarray), "Fortran order": numpy.asfortranarray,
    "read-only": read_only, "strides of 0": lambda a: numpy.broadcast_to(a[0, 0], a.shape),
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "other byte order, not aligned": lambda a: not_aligned(a.astype(a.dtype.newbyteorder())),
    "over bytes": lambda a: numpy.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "over a part of a message": lambda a: numpy.frombuffer(memoryview(b"x" + a.tobytes())[1:], a.dtype).reshape(
        a.shape),
    "subclass": lambda a: a.view(Subclass), "subclass, not aligned": lambda a: not_aligned(a).view(Subclass),
    "numpy.matrix": lambda a: a.view(numpy.matrix), "memmap": as_memmap,
}


def as_argument(type_, value, **options):
    x = type_()
    return function([In(x, **options)], x + x)(value)


def as_trusted_argument(type_, value):
    x = type_()
    double = function([x], x + x)
    double.trust_input = True
    return double(value)


def as_borrowed_argument(type_, value):
    x = type_()
    return function([In(x, mutable=True, borrow=True)], Out(x + x, borrow=True))(value)


def as_new_default(type_, value):
    x = type_("x")
    double = function([In(x, value=numpy.zeros(SHAPE, type_.dtype))], x + x)
    double["x"] = value
    return double()


def as_shared(type_, value, **options):
    variable = shared(value, **options)
    assert variable.type == type_
    return function([], variable + variable)()


def as_new_value(type_, value, borrow=False):
    variable = shared(numpy.zeros(SHAPE, type_.dtype))
    variable.set_value(value, borrow=borrow)
    return function([], variable + variable)()


def as_updated(type_, value):
    variable = shared(value, borrow=True)
    function([], updates=[(variable, variable + variable)])()
    return variable.get_value(borrow=True)


def as_operand(type_, value):
    x = type_()
    return function([x], x + value)(numpy.array(value))


def as_given(type_, value):
    x = type_()
    return function([], x + x, givens={x: value})()


def as_initial_state(type_, value):
    values, updates = phintys.scan(lambda state: state + state, outputs_info=[T.as_tensor_variable(value)], n_steps=1)
    return function([], values[-1], updates=updates)()


def as_list_element(type_, value):
    values = TypedListType(type_)()
    return function([values], values[0] + values[0])([value])


def as_test_value(type_, value):
    with phintys.config.change_flags(compute_test_value="raise"):
        x = type_()
        x.tag.test_value = value
        return (x + x).tag.test_value


class Stores(phintys.Op):
    """An op in Python that stores a given array as its result."""

    def __init__(self, type_, value):
        self.type, self.value = type_, value

    def make_node(self):
        return phintys.Apply(self, [], [self.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.value


def as_result_of_perform(type_, value):
    result = Stores(type_, value)()
    return function([], result + result)()


WAYS = {
    "argument": as_argument, "trusted": as_trusted_argument, "borrowed": as_borrowed_argument,
    "argument in DebugMode": lambda t, v: function([x := t()], x + x, mode="DebugMode")(v),
    **{f"In(x, {option}={value!r})": lambda t, v, option=option, value=value: as_argument(t, v, **{option: value})
       for option, value in [("strict", True), ("borrow", True), ("mutable", True), ("allow_downcast", True),
                             ("allow_downcast", False)]},
    "default": lambda t, v: function([In(x := t(), value=v)], x + x)(),
    "borrowed default": lambda t, v: function([In(x := t(), value=v, borrow=True)], x + x)(),
    "new default": as_new_default,
    "shared": as_shared, "borrowed by shared": lambda t, v: as_shared(t, v, borrow=True),
    "strictly shared": lambda t, v: as_shared(t, v, strict=True),
    "set_value": as_new_value, "borrowed by set_value": lambda t, v: as_new_value(t, v, borrow=True),
    "updated": as_updated, "constant": lambda t, v: function([], (c := T.constant(v)) + c)(), "operand": as_operand,
    "givens": as_given, "eval": lambda t, v: ((x := t()) + x).eval({x: v}), "initial state": as_initial_state,
    "element of a list": as_list_element, "test value": as_test_value, "result of perform": as_result_of_perform,
}
MAY_CHANGE = ("In(x, mutable=True)", "borrowed", "updated")         # the caller's array, if it can be worked on


@pytest.mark.parametrize("way", WAYS)
def test_every_kind_of_array_is_read_as_numpy_reads_it(way):
    for kind, make in KINDS.items():
        for dtype in DTYPES:
            value = make(numpy.arange(1, 7).reshape(SHAPE).astype(dtype) * (1 + 2j if dtype == "complex64" else 1))
            before = numpy.array(value, dtype)
            result = WAYS[way](T.TensorType(dtype, (False, False)), value)
            assert type(result) is numpy.ndarray and result.dtype == dtype and result.flags.aligned, kind
            numpy.testing.assert_array_equal(result, before + before, kind)
            if way not in MAY_CHANGE:
                numpy.testing.assert_array_equal(numpy.array(value, dtype), before, kind)


@pytest.mark.parametrize("way", WAYS)
def test_numbers_of_numpy_are_arrays_of_rank_0(way):
    if way in ("new default", "set_value", "borrowed by set_value", "In(x, strict=True)", "trusted"):
        return                                                      # these begin with a matrix, or take arrays only
    for dtype in ("float64", "float32", "float16", "int64", "uint8", "complex64", "complex128"):
        for value in [numpy.dtype(dtype).type(3), not_aligned(numpy.array(3, dtype))]:
            result = WAYS[way](T.TensorType(dtype, ()), value)
            assert result == 6 and result.dtype == dtype, (dtype, value)


def test_only_other_arrays_are_copied():
    """The memory of an array that kernels can read is used; strictly, another dtype is refused, but no layout."""
    vector = T.dvector
    aligned, other = numpy.zeros(3), not_aligned(numpy.zeros(3))
    for strict in (False, True):
        assert vector.filter(aligned, strict=strict) is aligned
        assert not numpy.may_share_memory(vector.filter(other, strict=strict), other)
    with pytest.raises(TypeError, match="float32"):
        vector.filter(numpy.zeros(3, "float32"), strict=True)
    assert vector.value_validity_msg(other) == "the array is not aligned" and not vector.is_valid_value(other)
    swapped = numpy.zeros(3, numpy.dtype("float64").newbyteorder())
    assert vector.value_validity_msg(swapped) == "the array is in another byte order"


@pytest.mark.parametrize("compute", [
    T.dot, lambda x, y: T.dot(x.T, y.T), lambda x, y: T.batched_dot(x.dimshuffle("x", 0, 1), y.dimshuffle("x", 0, 1)),
    lambda x, y: T.sum(x, 0), lambda x, y: T.cumsum(x, 1), lambda x, y: T.exp(x) * y.T, lambda x, y: x[[1, 0]],
    lambda x, y: T.set_subtensor(x[:, 1:], y.T[:, 1:]), lambda x, y: T.concatenate([x, y.T]), lambda x, y: x[::-1, 1],
    lambda x, y: T.nlinalg.norm(x, "fro"), lambda x, y: T.fft.fft(x), lambda x, y: T.linalg.pinv(x)],
    ids="dot dotT batched sum cumsum exp take set join view norm fft pinv".split())
def test_strides_between_two_multiples_of_the_item_size(compute):
    """NumPy calls a field of complex numbers aligned at a stride of one and a half of them."""
    x, y = T.zmatrix("x"), T.zmatrix("y")
    f = function([x, y], compute(x, y), on_unused_input="ignore")
    first, second = numpy.arange(6).reshape(2, 3) * (1 + 2j) + 1, numpy.arange(6).reshape(3, 2) * (2 - 1j)
    gappy = as_field(after="f8")
    assert gappy(first).strides == (72, 24) and gappy(first).flags.aligned
    for _ in range(3):
        numpy.testing.assert_allclose(f(gappy(first), gappy(second)), f(first, second), rtol=1e-13)
