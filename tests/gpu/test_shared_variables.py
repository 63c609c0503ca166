"""Shared variables on the device: types, values, borrowing, pickles; the promises of the chapter on aliasing."""
import pickle
import textwrap
import threading

import numpy
import pytest
from support_gpu import at_device, on_both
from test_device import run

import phintys
import phintys.tensor as T


@pytest.fixture
def there(device):
    with at_device():
        yield device


def ones(*shape):
    return numpy.ones(shape, "float32")


def test_arrays_of_float32_are_at_the_device_and_look_as_before(there):
    w = phintys.shared(ones(2, 3), name="w")
    assert str(w.type) == "GpuArrayType<None>(float32, matrix)"
    assert type(w.get_value()) is numpy.ndarray and w.get_value().tolist() == [[1, 1, 1]] * 2
    for other in (numpy.ones(3), 1.5, numpy.ones(3, "int32"), numpy.ones(3, "complex64")):
        assert type(phintys.shared(other).type).__name__ == "TensorType"
    assert type(phintys.shared(numpy.ones(3), target="cuda").type).__name__ == "GpuArrayType"
    assert type(phintys.shared(ones(3), target="cpu").type).__name__ == "TensorType"


def test_the_internal_type_is_an_array_of_pycuda(there):
    import pycuda.gpuarray
    w = phintys.shared(ones(3))
    borrowed = w.get_value(borrow=True, return_internal_type=True)
    copied = w.get_value(return_internal_type=True)
    assert isinstance(borrowed, pycuda.gpuarray.GPUArray) and type(copied) is type(borrowed)
    assert borrowed.ptr != copied.ptr
    assert borrowed.ptr == w.get_value(borrow=True, return_internal_type=True).ptr
    copied.fill(7)
    assert w.get_value().tolist() == [1, 1, 1]
    borrowed.fill(7)                                # the chapter warns of it, and says what it does
    assert w.get_value().tolist() == [7, 7, 7]


def test_a_borrowed_value_keeps_what_it_was(there):
    w = phintys.shared(ones(3))
    borrowed = w.get_value(borrow=True, return_internal_type=True)
    phintys.function([], updates=[(w, w + 1)])()
    w.set_value(ones(3) * 5)
    assert borrowed.get().tolist() == [1, 1, 1]
    assert w.get_value().tolist() == [5, 5, 5]


def test_arrays_of_the_host_are_never_aliased(there):
    value = ones(3)
    w = phintys.shared(value, borrow=True)
    value[:] = 2
    w.get_value(borrow=True)[:] = 3
    assert w.get_value().tolist() == [1, 1, 1]
    w.set_value(value, borrow=True)
    value[:] = 4
    assert w.get_value().tolist() == [2, 2, 2]


def test_set_value_uses_the_memory_again(there):
    w = phintys.shared(ones(3))
    address = w.get_value(borrow=True, return_internal_type=True).ptr
    w.set_value(ones(3) * 2)
    assert w.get_value(borrow=True, return_internal_type=True).ptr == address
    w.set_value(ones(4) * 3)
    assert w.get_value().tolist() == [3] * 4


def test_arrays_of_the_device_are_lent_or_copied(there):
    import pycuda.gpuarray
    value = pycuda.gpuarray.to_gpu(ones(3))
    lent, copied = phintys.shared(value, borrow=True), phintys.shared(value)
    value.fill(2)
    assert lent.get_value(borrow=True) is value
    assert lent.get_value().get().tolist() == [2, 2, 2]
    assert copied.get_value().get().tolist() == [1, 1, 1]       # it was made on the device, so it gives such values
    phintys.function([], updates=[(lent, lent * 3)])()
    assert lent.get_value().get().tolist() == [6, 6, 6]
    assert value.get().tolist() == [2, 2, 2]


def test_no_two_variables_share_memory(there):
    w = phintys.shared(ones(3))
    v = phintys.shared(w.get_value(borrow=True, return_internal_type=True), borrow=True)
    phintys.function([], updates=[(w, v + 1), (v, w + 5)])()
    assert w.get_value().tolist() == [2] * 3 and v.get_value().get().tolist() == [6] * 3


def test_a_swap_moves_no_element(there):
    v, w = phintys.shared(ones(3)), phintys.shared(ones(3) * 2)
    first = v.get_value(borrow=True, return_internal_type=True).ptr
    phintys.function([], updates=[(v, w), (w, v)])()
    assert w.get_value(borrow=True, return_internal_type=True).ptr == first
    assert v.get_value().tolist() == [2] * 3 and w.get_value().tolist() == [1] * 3


def test_values_of_the_wrong_type_are_refused(there):
    import pycuda.gpuarray
    w = phintys.shared(ones(3), name="w")
    for value in (numpy.ones((2, 2), "float32"), numpy.ones(3), "text", pycuda.gpuarray.zeros(3, "float64")):
        with pytest.raises(TypeError):
            w.set_value(value)
    assert w.get_value().tolist() == [1, 1, 1]


def test_results_at_the_device(there):
    import pycuda.gpuarray
    w = phintys.shared(ones(3))
    f = phintys.function([], [(w * 2).transfer("cuda"), w.transfer("cuda"), (w * 2).sum()])
    doubled, same, total = f()
    assert isinstance(doubled, pycuda.gpuarray.GPUArray) and type(same) is type(doubled) and total == 6
    again = f()[0]
    doubled.fill(9)
    same.fill(9)
    assert again.get().tolist() == [2, 2, 2] and w.get_value().tolist() == [1, 1, 1]


def test_arguments_at_the_device(there):
    import pycuda.gpuarray
    x = phintys.gpu.GpuArrayType("float32", (False, False))("x")
    f = phintys.function([x], x.T * 2)
    value = numpy.arange(6, dtype="float32").reshape(2, 3)
    for given in (pycuda.gpuarray.to_gpu(value), value, value[::-1], pycuda.gpuarray.to_gpu(value)):
        expected = given if isinstance(given, numpy.ndarray) else given.get()
        assert f(given).tolist() == (expected.T * 2).tolist()
    with pytest.raises(TypeError, match="float32"):
        f(pycuda.gpuarray.to_gpu(value.astype("float64")))
    with pytest.raises(TypeError):
        f(value[0])


def test_arrays_of_other_libraries_are_taken_as_they_are(there):
    import pycuda.gpuarray

    class Foreign:
        """What CuPy, PyTorch and JAX give."""

        def __init__(self, array):
            self.array = array
            self.shape, self.ndim = array.shape, len(array.shape)
            self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "version": 3,
                                             "data": (array.ptr, False), "strides": array.strides}

    array = pycuda.gpuarray.to_gpu(numpy.arange(3, dtype="float32"))
    w = phintys.shared(Foreign(array), borrow=True)
    assert phintys.function([], w + 1)().tolist() == [1, 2, 3]
    array.fill(5)
    assert phintys.function([], w + 1)().tolist() == [6, 6, 6]
    interface = w.get_value(borrow=True, return_internal_type=True).__cuda_array_interface__
    assert interface["data"][0] == array.ptr and interface["shape"] == (3,)


def test_pickles(there):
    w = phintys.shared(ones(3) * 4, name="w")
    f = phintys.function([], updates=[(w, w + 1)])
    again = pickle.loads(pickle.dumps(w))
    assert type(again) is type(w) and again.name == "w" and again.get_value().tolist() == [4] * 3
    g = pickle.loads(pickle.dumps(f))
    g()
    assert w.get_value().tolist() == [4] * 3
    container = pickle.loads(pickle.dumps(w.container))
    assert container.get().get().tolist() == [4] * 3
    program = pickle.loads(pickle.dumps(phintys.function([], (w * 2).sum()).program))
    assert {layout.place for layout in program.cells} == {0, 1}


def test_a_pickle_opens_without_a_device(there, tmp_path):
    w = phintys.shared(ones(3) * 4, name="w")
    (tmp_path / "w.pickle").write_bytes(pickle.dumps(w))
    printed = run(f"""
        import pickle, warnings
        import phintys
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with open({str(tmp_path / "w.pickle")!r}, "rb") as file:
                w = pickle.load(file)
        print("is on the host now" in str(caught[0].message), w.type, w.get_value().tolist(), (w * 2).eval().tolist())
    """, with_device=False)
    assert printed == "True TensorType(float32, vector) [4.0, 4.0, 4.0] [8.0, 8.0, 8.0]\n"


def test_a_pickle_of_functions_opens_without_a_device(there, tmp_path):
    """With transfers, constants and loops that the user's graph has on the device, and an argument there."""
    w, state = phintys.shared(ones(3, 2), name="w"), phintys.shared(ones(2), name="state")
    x, given = T.fmatrix("x"), phintys.gpu.GpuArrayType("float32", (False,))("given")
    rows, _ = phintys.scan(lambda row, last: T.tanh(T.dot(row, w)) + last, sequences=[x], outputs_info=[state])
    cost = (T.dot(x, w) ** 2).sum()
    loop = phintys.function([x], [rows[-1], (rows[-1] * 2).transfer("cuda")],
                            updates=[(state, T.constant(ones(2) * 3))])
    train = phintys.function([x], cost, updates=[(w, w - numpy.float32(0.01) * T.grad(cost, w))])
    (tmp_path / "f.pickle").write_bytes(pickle.dumps([loop, train, phintys.function([given], given * 2)]))
    script = f"""
        import pickle, warnings
        import numpy
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with open({str(tmp_path / "f.pickle")!r}, "rb") as file:
                loop, train, double = pickle.load(file)
        x = numpy.arange(12, dtype="float32").reshape(4, 3) / 16
        for _ in range(2):
            values = [*loop(x), train(x), double(x[0])]
            values = [value.get() if hasattr(value, "get") else numpy.asarray(value) for value in values]
            print([value.round(3).tolist() for value in values])
    """
    told = """
        print(["is on the host now" in str(warning.message) for warning in caught])
        print(sorted([str(variable.type) for variable in train.get_shared() + loop.get_shared()]))
    """
    there_too = run(script)
    printed = run(textwrap.dedent(script) + textwrap.dedent(told), with_device=False)
    *lines, warned, types = printed.splitlines()
    assert lines == there_too.splitlines() and len(lines) == 2
    assert set(warned) == set("[True, ]") and "GpuArrayType" not in types


def test_places_and_values_that_do_not_fit(there):
    for target, value, reason in (
            ("moon", ones(2), "'moon' names no place: expected 'cpu', 'cuda', or 'cuda0'"),
            ("cuda", [1.0], "a GPU stores arrays, and not a value of <class 'list'>: make it one by numpy.asarray"),
            ("cuda", numpy.ones(2, "longdouble"), "a GPU has no arrays of dtype")):
        with pytest.raises(TypeError, match=reason):
            phintys.shared(value, target=target)
    x = T.fmatrix("x")
    array = phintys.shared(ones(2, 2)).get_value(return_internal_type=True)
    with pytest.raises(TypeError, match="which is on a GPU: declare the argument there, phintys.gpu.GpuArrayType"):
        phintys.function([x], x * 2)(array)


def test_other_threads_use_the_device(there):
    w = phintys.shared(ones(1000))
    f = phintys.function([], (w * 2).sum(), updates=[(w, w + 1)])
    errors = []

    def work():
        try:
            for _ in range(20):
                f()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert set(w.get_value().tolist()) == {81.0}


def test_gradients_by_variables_at_the_device_are_at_the_host(there):
    w = phintys.shared(ones(3))
    slope = T.grad((w ** 2).sum(), w)
    assert type(phintys.function([], slope)()) is numpy.ndarray


def test_derivatives_through_transfers(there):
    w, x, direction = phintys.shared(ones(3) * 2), T.fvector("x"), T.fvector("direction")
    y = ((x.transfer("cuda") * w) ** 2).transfer("cuda")
    by_x, by_w = T.grad(y.sum(), [x, w])
    moved = [T.Rop(y, variable, direction) for variable in (x, w)]
    f = phintys.function([x, direction], [by_x, by_w, *moved])
    found = f(ones(3) * 3, ones(3))
    assert [value.tolist() for value in found] == [[24] * 3, [36] * 3, [24] * 3, [36] * 3]


def test_streams_of_random_numbers_have_their_state_at_the_device(device):
    """Samples and states are those of the host."""
    from phintys.gpu.gpu_array_type import GpuArrayType
    from phintys.sandbox.rng_mrg import MRG_RandomStreams

    def build():
        streams = MRG_RandomStreams(7)
        return streams, phintys.function([], streams.uniform((3, 5), dtype="float32") * 2)
    (_, at_host), (streams, function) = on_both(build)
    assert isinstance(streams.state_updates[0][0].type, GpuArrayType)
    for _ in range(3):
        assert numpy.array_equal(function(), at_host())
