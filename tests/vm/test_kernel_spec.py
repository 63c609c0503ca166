"""Each kernel is rebuilt from its spec: a class and plain arguments."""
import copy
import pickle
import subprocess
import sys

import numpy
import pytest
from kernel_cases import BASES, MADE, kernel_classes

from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.native.shape_kernel import DimShuffleKernel
from phintys.ops.products.blas_kernel import ProductKernel
from phintys.vm.abi import Kernel, run_kernel
from phintys.vm.kernel_spec import ArraySpec, KernelSpec, UfuncSpec, kernel_of


def is_plain(value):
    """Whether a spec holds only what it may hold."""
    if isinstance(value, tuple):                    # the named tuples too
        return all(map(is_plain, value))
    return isinstance(value, (bool, int, float, complex, str, bytes, type(None), type, numpy.dtype, numpy.generic))


def test_every_kernel_class_is_tried():
    assert {*kernel_classes()} == {*MADE, *BASES}


@pytest.mark.parametrize("name", MADE)
def test_a_kernel_is_rebuilt_from_its_spec(name):
    kernel = kernel_classes()[name](*MADE[name])
    spec = kernel.spec
    assert isinstance(spec, KernelSpec) and spec.kernel is type(kernel) and is_plain(spec)
    hash(spec)
    for again in [kernel_of(spec), pickle.loads(pickle.dumps(kernel)), copy.copy(kernel), copy.deepcopy(kernel)]:
        assert type(again) is type(kernel) and again is not kernel
        assert again.spec == spec and again.may_fail == kernel.may_fail


def test_a_spec_keeps_what_was_given_by_name():
    kernel = ProductKernel("float64", right_rank=1, left_rank=2)
    assert kernel.spec == (ProductKernel, ("float64",), (("right_rank", 1), ("left_rank", 2)))
    assert kernel_of(kernel.spec).spec == kernel.spec


def test_specs_describe_arrays_ufuncs_and_kernels():
    spec = kernel_classes()["ElementwiseKernel"](*MADE["ElementwiseKernel"]).spec
    code = spec.arguments[0]
    assert code.kernel is ScalarCode
    assert code.arguments[1] == (ArraySpec("<f8", (), numpy.float64(2).tobytes()),)
    assert code.arguments[2][0][0] == UfuncSpec("numpy", "multiply")

    class Holder(Kernel):
        def __init__(self, inner):
            self.inner = inner

    inner = DimShuffleKernel(1, (0,))
    spec = Holder(inner).spec
    assert spec.arguments == (inner.spec,)
    assert kernel_of(spec).inner.spec == inner.spec


def test_a_rebuilt_kernel_computes_the_same():
    random = numpy.random.default_rng(0)
    x = random.normal(size=(3, 5))
    code = ScalarCode(["float64"], [numpy.asarray(0.5)], [(numpy.tanh, (0,), ("float64",) * 2),
                                                          (numpy.add, (2, 1), ("float64",) * 3)], [3])
    kernel = ElementwiseKernel(code, [(False, False)])
    first, second = [run_kernel(each, [x], [(x.dtype.num, 2)])[0] for each in (kernel, kernel_of(kernel.spec))]
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("arguments, named, blamed", [((object(),), {}, "argument 0"), ((), {"table": {}}, "'table'"),
                                                      ((1, [(2, print)]), {}, "argument 1")])
def test_a_kernel_that_cannot_be_described_is_named(arguments, named, blamed):
    class Foreign(Kernel):
        def __init__(self, *arguments, **named):
            pass

    kernel = Foreign(*arguments, **named)
    with pytest.raises(TypeError, match="Foreign has no spec") as caught:
        kernel.spec
    assert blamed in str(caught.value) and "plain" in str(caught.value)
    with pytest.raises(TypeError, match="Foreign has no spec"):
        pickle.dumps(kernel)


def test_a_ufunc_that_no_module_has_is_refused():
    class Foreign(Kernel):
        def __init__(self, loop):
            pass

    with pytest.raises(TypeError, match="none of the modules numpy, scipy.special, scipy.special._ufuncs has"):
        Foreign(numpy.frompyfunc(abs, 1, 1)).spec


def test_kernels_are_read_in_another_process(tmp_path):
    kernels = [kernel_classes()[name](*MADE[name]) for name in MADE]
    (tmp_path / "kernels").write_bytes(pickle.dumps(kernels))
    program = (f"import pickle; kernels = pickle.load(open({str(tmp_path / 'kernels')!r}, 'rb')); "
               "print(*[type(kernel).__name__ for kernel in kernels])")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [*MADE]
