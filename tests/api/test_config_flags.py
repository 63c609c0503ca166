"""``config``, ``change_flags`` and ``PHINTYS_FLAGS`` as a user meets them."""
import os
import subprocess
import sys

import pytest

import phintys
import phintys.tensor as T
from phintys import change_flags, config, function


def test_floatX_decides_constructors_and_divisions():
    with change_flags(floatX="float32"):
        assert T.matrix().dtype == T.vector().dtype == "float32"
        assert (T.iscalar() / T.iscalar()).dtype == "float32"
    assert T.matrix().dtype == "float64"


def test_change_flags_is_a_decorator_and_restores_after_errors():
    @change_flags(floatX="float32")
    def fails():
        assert config.floatX == "float32"
        raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert config.floatX == "float64"


def test_compute_test_value_runs_the_graph_while_it_is_built():
    x = T.dscalar("x")
    x.tag.test_value = 3.0
    with change_flags(compute_test_value="raise"):
        assert (x * 2).tag.test_value == 6.0
        f = function([x], T.exp(x) + 1)                  # compiling makes nodes without test values
    assert f(0.0) == 2.0


@pytest.mark.parametrize("flags, program, output", [
    ("floatX=float32", "print(T.scalar().dtype)", "float32"),
    ("mode=FAST_COMPILE,allow_gc=False", "print(phintys.config.mode, phintys.config.allow_gc)", "FAST_COMPILE False"),
    ("optimizer=None", "print(phintys.compile.get_default_mode())", "Mode(linker = vm, optimizer = None)"),
    ("on_unused_input=ignore", "print(phintys.function([T.dscalar(), T.dscalar('b')], [])(1, 2))", "[]"),
])
def test_environment(flags, program, output):
    run = subprocess.run([sys.executable, "-c", "import phintys, phintys.tensor as T; " + program],
                         env={**os.environ, "PHINTYS_FLAGS": flags}, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == output


@pytest.mark.parametrize("flags", ["nonsense=1", "floatX=float128", "floatX"])
def test_wrong_environment_is_an_error(flags):
    run = subprocess.run([sys.executable, "-c", "import phintys"], env={**os.environ, "PHINTYS_FLAGS": flags},
                         capture_output=True, text=True)
    assert run.returncode != 0 and "PHINTYS_FLAGS" in run.stderr


def test_unknown_flags():
    with pytest.raises(AttributeError):
        config.no_such_flag
    with pytest.raises(AttributeError):
        change_flags(no_such_flag=1)
    with pytest.raises(ValueError):
        phintys.config.floatX = "float128"
