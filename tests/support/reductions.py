"""Reduction kernels, run on arrays without a graph."""
import itertools

import numpy

from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.reduction.reduction_kernel import ReductionKernel
from phintys.vm.abi import run_kernel


def number(dtype):
    return numpy.dtype(dtype).num


def subsets(rank):
    return [axes for count in range(rank + 1) for axes in itertools.combinations(range(rank), count)]


def reduce(array, ufunc, axes, accumulator=None, output=None, keepdims=False, workers=1):
    dtype = array.dtype.name
    accumulator = accumulator or dtype
    output = output or accumulator
    kernel = ReductionKernel(ScalarCode([dtype], outputs=[0]), [tuple(n == 1 for n in array.shape)], ufunc, axes,
                             accumulator, output, keepdims)
    rank = array.ndim if keepdims else array.ndim - len(axes)
    return run_kernel(kernel, [array], [(number(output), rank)], workers)[0]
