"""Functions in files: what they keep, how they are called afterwards, and what is refused."""
import copy
import os
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import sparse
from phintys.compile import as_op
from phintys.tensor.shared_randomstreams import RandomStreams
from phintys.vm.files.functions import dumps, loads
from phintys.vm.files.values import FileError

x, y = T.dvectors("x", "y")
VALUE = numpy.arange(3.0)


@as_op([T.dvector], [T.dvector])
def reverse(value):
    return value[::-1].copy()


def again(function, **options):
    return loads(dumps(function), **options)


def test_a_function_is_written_and_read(tmp_path):
    w = phintys.shared(VALUE, "w")
    function = phintys.function([x], (x * w).sum(), updates=[(w, w + x)], name="f")
    function(VALUE)
    function.save(tmp_path / "f.phx")
    twin = phintys.load(tmp_path / "f.phx")
    assert twin.name == "f" and repr(twin) == "<phintys function 'f', loaded>" and list(twin.shared) == ["w"]
    assert twin["w"].tolist() == [0.0, 2.0, 4.0] and twin(VALUE) == function(VALUE) == 10.0
    twin["w"] = [1, 1, 1]
    assert twin(x=[1, 2, 3]) == 6.0 and w.get_value().tolist() == [0.0, 3.0, 6.0]
    with pytest.raises(KeyError, match="has no shared variable 'v'; there are: w"):
        twin["v"]
    with pytest.raises(TypeError, match="the container w"):
        twin["w"] = "text"
    assert os.listdir(tmp_path) == ["f.phx"]


def test_functions_of_one_file_share_their_variables(tmp_path):
    w, unnamed = phintys.shared(1.0, "w"), phintys.shared(5.0)
    count = phintys.function([], [], updates=[(w, w + unnamed)])
    read = phintys.function([], {"double": w * 2, "w": w})
    phintys.save(tmp_path / "both", {"count": count, "read": read})
    both = phintys.load(tmp_path / "both", mapped=True)
    both["count"]()
    assert both["read"]() == {"double": 12.0, "w": 6.0} and list(both["count"].shared) == ["w", 1]
    assert read()["w"] == 1.0
    first, second = again([count, count])
    assert first is second


@pytest.mark.parametrize("mapped", [False, True])
def test_constants_and_shared_values_of_a_file(tmp_path, mapped):
    table = T.constant(numpy.arange(1000.0).reshape(10, 100))
    state = phintys.shared(numpy.ones((10, 100)), "state", borrow=True)
    phintys.function([x], T.dot(table, x) + state.sum(), updates=[(state, state * table)]).save(tmp_path / "f")
    f = phintys.load(tmp_path / "f", mapped=mapped)
    ones = numpy.ones(100)
    assert f(ones).tolist() == (table.data.sum(1) + 1000).tolist() and f["state"].tolist() == table.data.tolist()
    f(ones)
    assert f["state"].tolist() == (table.data ** 2).tolist()
    del f
    assert phintys.load(tmp_path / "f")(ones)[0] == table.data[0].sum() + 1000          # the file did not change


def test_arguments_convert_as_they_did():
    function = phintys.function([phintys.In(x, strict=True), phintys.In(y, value=VALUE, mutable=True), T.iscalar("n")],
                                [x + y, y], on_unused_input="ignore")
    for f in (function, again(function), again(again(function)), pickle.loads(pickle.dumps(again(function)))):
        for _ in range(2):
            assert [value.tolist() for value in f(VALUE, n=1)] == [[0.0, 2.0, 4.0], VALUE.tolist()]
        with pytest.raises(TypeError):
            f([0, 1, 2], n=1)
        with pytest.raises(TypeError, match="Missing required input"):
            f(VALUE)
    trusting = phintys.function([x], x)
    trusting.trust_input = True
    assert again(trusting).trust_input and not again(function).trust_input
    nothing = phintys.function([], updates=[(phintys.shared(0.0), 1.0)])
    assert nothing() == again(nothing)()


def test_an_argument_that_may_be_none():
    n, m = T.lscalars("n", "m")
    function = phintys.function([n, m], T.eye(n, m))
    for f in (function, again(function), copy.deepcopy(again(function))):
        assert f(2, None).tolist() == f(2, 2).tolist() == [[1.0, 0.0], [0.0, 1.0]] and f(1, 2).tolist() == [[1.0, 0.0]]


def test_states_that_callers_may_set_are_refused():
    state = T.dscalar("state")
    function = phintys.function([phintys.In(state, value=0.0, update=state + 1)], state)
    with pytest.raises(TypeError, match="which has states that callers may set .In with update.: make them shared"):
        dumps(function)


def test_random_states_sparse_matrices_and_numbers():
    stream, s = RandomStreams(3), sparse.shared(sparse_matrix())
    outputs = [stream.normal((2,)), sparse.dense_from_sparse(s)]
    function = phintys.function([], outputs)
    twin = again(function)
    for _ in range(3):
        assert [value.tolist() for value in twin()] == [value.tolist() for value in function()]


def sparse_matrix():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    return scipy_sparse.csr_matrix(numpy.array([[0.0, 2.0], [3.0, 0.0]]))


def test_an_op_that_a_function_became():
    function = phintys.function([x], reverse(x))
    with pytest.raises(FileError, match=f"needs reverse of the module {__name__}, which is imported only if you say"):
        again(function)
    assert again(function, modules=[__name__])(VALUE).tolist() == [2.0, 1.0, 0.0]


def test_loops_branches_and_numbers_without_a_json_form():
    n = T.lscalar("n")
    rows, updates = phintys.scan(lambda h: T.switch(h > 4, numpy.inf, h * 2 + x), outputs_info=x, n_steps=n)
    lazy = phintys.ifelse.ifelse(T.gt(n, 2), rows[-1] + numpy.nan, rows[-1] * complex(1, 2).real)
    function = phintys.function([x, n], [rows, lazy], updates=updates)
    twin = again(function)
    for steps in (1, 2, 5):
        for got, expected in zip(twin(VALUE, steps), function(VALUE, steps)):
            numpy.testing.assert_array_equal(got, expected)


def test_a_file_is_replaced_as_a_whole(tmp_path):
    f = phintys.function([x], x + 1)
    f.save(tmp_path / "f")
    before = (tmp_path / "f").read_bytes()
    with pytest.raises(TypeError, match="what is to be saved holds a object"):
        phintys.save(tmp_path / "f", [f, object()])
    assert (tmp_path / "f").read_bytes() == before and os.listdir(tmp_path) == ["f"]
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "none" / "f", tmp_path / "folder"):
        with pytest.raises(OSError) as raised:
            f.save(place)
        assert str(raised.value).endswith(f": {str(place)!r}")         # and no temporary file is named
    assert sorted(os.listdir(tmp_path)) == ["f", "folder"]
    phintys.function([x], x + 2).save(tmp_path / "f")
    assert phintys.load(tmp_path / "f")([1.0]).tolist() == [3.0]


def test_the_memory_of_results_is_their_own():
    twin = again(phintys.function([x], [x + 1, T.constant(VALUE)]))
    first, constant = twin(VALUE)
    constant[:] = 7
    assert twin(VALUE + 1)[1].tolist() == VALUE.tolist() and first.tolist() == [1.0, 2.0, 3.0]
