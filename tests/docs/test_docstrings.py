"""Every public function, class and op has an example in its docstring, and the examples give what they say."""
import doctest
import importlib
import inspect

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import modes
from phintys.ops.identity import transfer
from phintys.optimizer.engine import registered

MODULES = """phintys phintys.tensor phintys.tensor.nnet phintys.tensor.nnet.abstract_conv
    phintys.tensor.nnet.blocksparse phintys.tensor.nnet.conv phintys.tensor.nnet.conv3d2d phintys.tensor.nnet.corr
    phintys.tensor.nnet.corr3d phintys.tensor.nnet.ctc phintys.tensor.nnet.neighbours phintys.tensor.signal.conv
    phintys.tensor.signal.pool phintys.tensor.linalg phintys.tensor.slinalg phintys.tensor.nlinalg phintys.tensor.fft
    phintys.tensor.fourier phintys.tensor.extra_ops phintys.tensor.sort phintys.tensor.blas phintys.tensor.xlogx
    phintys.tensor.inplace phintys.tensor.raw_random phintys.tensor.shared_randomstreams phintys.tensor.opt
    phintys.tensor.utils phintys.random phintys.sandbox.rng_mrg phintys.sandbox.linalg.ops phintys.scan_module
    phintys.scan_module.scan_op phintys.scan_module.scan_utils phintys.gradient phintys.ifelse phintys.printing
    phintys.d3viz phintys.typed_list phintys.scalar phintys.shared phintys.compile phintys.compile.function_module
    phintys.compile.pfunc phintys.compile.profiling phintys.gof phintys.gof.graph phintys.gof.op phintys.gof.opt
    phintys.misc.may_share_memory phintys.misc.pkl_utils phintys.memory phintys.raise_op""".split()
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented(module):
    """Name → docstring of what a module exports and can be called, but for exceptions: theirs say when they come."""
    module = importlib.import_module(module)
    values = {name: getattr(module, name) for name in module.__all__}
    return {name: docstring(value) for name, value in values.items() if callable(value) and not is_exception(value)}


def is_exception(value):
    return inspect.isclass(value) and issubclass(value, BaseException)


def docstring(value):
    """The cleaned docstring, but not one that a class inherits."""
    inherited = inspect.isclass(value) and "__doc__" not in vars(value)
    return "" if inherited else inspect.cleandoc(value.__doc__ or "")


@pytest.fixture
def nothing_stays_registered(monkeypatch):
    """What examples register is gone after the test."""
    tables = (modes.predefined_modes, modes.predefined_linkers, modes.predefined_optimizers)
    lists = (phintys.shared.constructors, transfer._registered)
    kept = [dict(table) for table in tables], [list(values) for values in lists]
    monkeypatch.setattr(registered, "whole", list(registered.whole))
    monkeypatch.setattr(registered, "rewrites", {name: list(rows) for name, rows in registered.rewrites.items()})
    yield
    for table, before in zip(tables, kept[0]):
        table.clear()
        table.update(before)
    for values, before in zip(lists, kept[1]):
        values[:] = before
    registered.version += 1


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_an_example(module):
    assert sorted(name for name, text in documented(module).items() if ">>> " not in text) == []


@pytest.mark.parametrize("module", MODULES)
def test_examples(module, nothing_stays_registered):
    runner, wrong, seen = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False), [], set()
    for name, text in documented(module).items():
        if text not in seen:                                # that of a class is also that of its instances
            names = {"phintys": phintys, "T": T, "numpy": numpy, name: getattr(importlib.import_module(module), name)}
            if runner.run(doctest.DocTestParser().get_doctest(text, names, f"{module}.{name}", None, 0)).failed:
                wrong.append(name)
        seen.add(text)
    assert wrong == [], "examples do not give what they say; see the output"
