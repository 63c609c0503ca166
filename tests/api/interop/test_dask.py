"""Dask: a function's token depends on what the function computes, and on nothing else."""
import copy
import pickle
import subprocess
import sys
import types

import numpy
import pytest

import phintys
import phintys.sparse as sparse
import phintys.tensor as T
from phintys import In, OpFromGraph, function, shared
from phintys.ifelse import ifelse
from phintys.sandbox.rng_mrg import MRG_RandomStreams
from phintys.tensor.shared_randomstreams import RandomStreams

x, m, count = T.dvector("x"), T.dmatrix("m"), T.lscalar("count")


def sums(value):
    return phintys.scan(lambda row, before: T.tanh(row + before), sequences=value, outputs_info=numpy.float64(0),
                        n_steps=count)[0]


FUNCTIONS = {
    "elementwise": lambda: function([x], T.exp(x) + 1),
    "givens": lambda: function([], T.exp(x), givens={x: numpy.arange(3.0)}),
    "loop": lambda: function([x, count], sums(x)),
    "gradient of a loop": lambda: function([x, count], T.grad(sums(x).sum(), x)),
    "branches": lambda: function([x, count], ifelse(T.gt(count, 0), x, x * 2)),
    "graph in an op": lambda: function([m], OpFromGraph([x], [x + x[::-1]])(m[0])),
    "results by name": lambda: function([In(x, value=[1.0, 2.0], borrow=True)], {"a": x[1:], "b": x[[0, 1]].sum()}),
    "shared values": lambda: function([x], [x * shared(numpy.ones(3)) - shared(2.0), shared(numpy.float32(3))]),
    "a random state": lambda: function([x], RandomStreams(3).normal((3,)) + x, no_default_updates=True),
    "matrices": lambda: function([m], [T.slinalg.cholesky(m), T.einsum("ij,jk", m, m)]),
    "sparse": lambda: function([v := sparse.csr_matrix("v")], sparse.dot(v, numpy.eye(3))),
    "DebugMode": lambda: function([x], x + 1, mode="DebugMode"),
    "another mode": lambda: function([x], x + 1, mode=phintys.Mode(optimizer="fast_compile").excluding("fusion")),
    "profile": lambda: function([x], x * 3, profile=True),
}


def token(compiled):
    return compiled.__dask_tokenize__()


def test_a_pickle_and_a_copy_have_the_same_token_and_other_functions_have_others():
    seen = {}
    for name, make in FUNCTIONS.items():
        compiled = make()
        loaded = pickle.loads(pickle.dumps(compiled))
        tokens = {token(each) for each in (compiled, compiled, loaded, pickle.loads(pickle.dumps(loaded)),
                                           copy.deepcopy(compiled))}
        assert len(tokens) == 1, name
        seen[tokens.pop()] = name
    assert len(seen) == len(FUNCTIONS), seen


def test_what_counts():
    def made(value=1.0, constant=2.0, default=0.0, mode=None, name=None):
        weights = shared(numpy.full(3, value), "weights")
        return function([In(x, value=numpy.full(3, default))], x * weights + constant, mode=mode, name=name)

    same = token(made())
    assert token(made()) == token(made(name="another")) == same             # though made at another line
    changed = [made(value=3.0), made(constant=3.0), made(default=3.0), made(mode="FAST_COMPILE")]
    assert len({same, *map(token, changed)}) == 5

    total, other = shared(numpy.zeros(3)), shared(numpy.ones(3), "other")
    add = function([x], total - x + other)
    before = token(add)
    total.set_value([1.0, 2.0, 3.0])
    assert token(add) != before != token(function([x], other - x + total))
    total.set_value(numpy.zeros(3))
    assert token(add) == before
    value = total.get_value(borrow=True)
    value += 1                                                              # in the variable's own memory
    assert token(add) != before
    other.set_value(numpy.ones(3) * 2)
    twice = token(add)
    total.set_value(numpy.full(3, 2.0))
    other.set_value(numpy.ones(3))
    assert token(add) != twice                                              # it matters which has which


def with_updates():
    total = shared(numpy.arange(3.0), "total")
    return function([x], [x * 2], updates=[(total, total + x)])


UPDATING = {"total": with_updates, "shared variable 0": lambda: function([x], RandomStreams(3).normal((3,)) + x),
            "shared variable": lambda: function([x], MRG_RandomStreams(3).uniform((3,)) + x),
            "x": lambda: function([In(x, "x", value=numpy.zeros(2), update=x + 1, mutable=True)], x)}


@pytest.mark.parametrize("name", UPDATING)
def test_functions_with_updates_have_no_token(name, tmp_path):
    """Dask would make one call for two that have the same, or two for one if a worker dies."""
    compiled = UPDATING[name]()
    with pytest.raises(TypeError, match=rf"updates {name}.*Return the new value instead"):
        token(compiled)
    if name != "x":
        compiled.save(tmp_path / "saved")
        with pytest.raises(TypeError, match=rf"updates {name}.*Return the new value instead"):
            token(phintys.load(tmp_path / "saved"))


PROGRAM = """
import phintys, phintys.tensor as T
x = T.dvector("x")
print(phintys.function([x], {"b": T.tanh(x) + 1, "a": x[::-1]}, name="f").__dask_tokenize__())
"""


def test_other_processes_make_the_same_token():
    run = [subprocess.run([sys.executable, "-c", PROGRAM], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True,
                          check=True).stdout for seed in "12"]
    assert run[0] == run[1] and "phintys function" in run[0]


def test_dask_decides_about_code_that_has_no_name_and_about_what_has_no_pickle(monkeypatch):
    asked = []
    base = types.SimpleNamespace(normalize_token=lambda thing: asked.append(thing) or len(asked))
    monkeypatch.setitem(sys.modules, "dask", types.SimpleNamespace(base=base))
    monkeypatch.setitem(sys.modules, "dask.base", base)

    class Local(phintys.Op):
        __props__ = ()

        def make_node(self, value):
            return phintys.Apply(self, [value], [value.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * 2

    op = Local()
    compiled = function([x], op(x))
    assert token(compiled)[1] != token(compiled)[1] and asked == [Local, Local]
    del asked[:]
    op.stream = (number for number in "12")             # generators cannot be pickled
    assert token(compiled)[1] == 2 and asked[0] is Local and type(asked[1]) is object


def test_dask_itself():
    dask = pytest.importorskip("dask.base")
    compiled = function([x], T.exp(x) + 1)
    assert dask.tokenize(compiled, ensure_deterministic=True) == dask.tokenize(pickle.loads(pickle.dumps(compiled)))
