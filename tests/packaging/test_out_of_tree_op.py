"""An op built outside the tree against the installed phintys: the example of the guide, compiled for real."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from program_callables import callable_of

import phintys
import phintys.tensor as T
from phintys.vm.files.programs import dumps, loads

EXAMPLE = Path(__file__).parents[2] / "examples" / "out_of_tree_op"


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The example's folder, copied and built as its setup.py says."""
    folder = tmp_path_factory.mktemp("out_of_tree") / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("*.c", "*.so", "build", "__pycache__"))
    build = subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=folder,
                           env=dict(os.environ, CFLAGS="-O1"), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr
    return folder


@pytest.fixture(scope="module")
def moving_average(example):
    """The op, imported from the built folder."""
    sys.path.insert(0, str(example))
    try:
        from moving_average import MovingAverage
    finally:
        sys.path.remove(str(example))
    return MovingAverage


@pytest.mark.parametrize("value", [numpy.arange(10.0), numpy.arange(20.0)[::-2], numpy.ones(3), numpy.arange(4) ** 0.5])
def test_value_inside_a_program(moving_average, value):
    x = T.dvector("x")
    smooth = phintys.function([x], 100 * moving_average(3)(T.exp(x)) + 1)
    expected = 100 * numpy.convolve(numpy.exp(value), numpy.ones(3) / 3, mode="valid") + 1
    numpy.testing.assert_allclose(smooth(value), expected, rtol=1e-12)


def test_it_is_bound_to_a_layout(moving_average):
    """Called again with equal shapes and strides, the kernel is not prepared; with others it is."""
    x = T.dvector("x")
    smooth = phintys.function([x], moving_average(3)(x) + 1)
    assert moving_average(3).make_kernel(None).examined == ()
    for value in [numpy.arange(10.0)] * 3 + [numpy.arange(20.0)[::-2]] * 3 + [numpy.arange(6.0), numpy.ones(3)] * 4:
        value[...] = numpy.random.default_rng(len(value)).normal(size=value.shape)
        expected = numpy.convolve(value, numpy.ones(3) / 3, mode="valid") + 1
        numpy.testing.assert_allclose(smooth(value), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="does not fit"):
        smooth(numpy.ones(2))


def test_debug_mode_finds_nothing_wrong(moving_average):
    x = T.dvector("x")
    smooth = phintys.function([x], moving_average(3)(x), mode="DebugMode")
    numpy.testing.assert_allclose(smooth(numpy.arange(6.0)), [1, 2, 3, 4])


def test_a_program_with_the_kernel_is_saved_and_loaded(moving_average):
    x = T.dvector("x")
    program = phintys.function([x], moving_average(3)(x)).program
    assert program.kernels[0].spec.arguments == (3,)
    loaded = loads(dumps(program), ["moving_average_kernel"])
    assert callable_of(loaded, single=True)(numpy.ones(5)).tolist() == [1.0, 1.0, 1.0]


def test_runs_as_a_kernel_not_as_python(moving_average):
    x = T.dvector("x")
    listing = phintys.function([x], moving_average(3)(x)).explain("instructions")
    assert "KERNEL" in str(listing) and "CALL" not in str(listing)


def test_prepare_refuses_a_short_vector_and_the_function_stays_usable(moving_average):
    x = T.dvector("x")
    smooth = phintys.function([x], moving_average(3)(x))
    with pytest.raises(ValueError, match="a window of 3 does not fit into a vector of length 2"):
        smooth(numpy.ones(2))
    numpy.testing.assert_array_equal(smooth(numpy.ones(4)), [1, 1])


def test_perform_comes_with_the_kernel(moving_average):
    folded = phintys.function([], moving_average(2)(T.constant(numpy.array([1.0, 3.0, 5.0]))))
    numpy.testing.assert_array_equal(folded(), [2, 4])


def test_inferred_shape_is_the_real_one(moving_average):
    x = T.dvector("x")
    assert phintys.function([x], moving_average(3)(x).shape)(numpy.ones(7)).tolist() == [5]


def test_import_refuses_another_version_of_the_contract(example):
    program = ("import phintys.vm.abi as abi; version = abi.abi_version(); abi.abi_version = lambda: version + 1; "
               "import moving_average_kernel")
    result = subprocess.run([sys.executable, "-c", program], cwd=example, capture_output=True, text=True)
    assert result.returncode != 0
    assert "ImportError: moving_average_kernel was built for kernel contract" in result.stderr
