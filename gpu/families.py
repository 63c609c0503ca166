"""The rows of the table of twins; each family of kernels adds its own. See ``twins.py`` for what a row says."""
from phintys.gpu.kernels.elementwise_kernel import GpuElementwiseKernel, fits_launch
from phintys.gpu.kernels.product_kernel import GpuGerKernel, GpuProductKernel
from phintys.gpu.kernels.reduction_kernel import GpuReductionKernel
from phintys.gpu.kernels.reduction_kernel import fits_launch as reduction_fits
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.gpu.kernels.transfer_kernel import GpuContiguousKernel
from phintys.gpu.twins import register, register_shape, register_view
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.indexing.subtensor_kernel import SubtensorKernel
from phintys.ops.native.shape_kernel import (
    ContiguousKernel,
    DimShuffleKernel,
    RebroadcastKernel,
    ShapeIKernel,
    ShapeKernel,
    SpecifyShapeKernel,
)
from phintys.ops.products.blas_kernel import GerKernel, ProductKernel
from phintys.ops.reduction.reduction_kernel import MeanKernel, ReductionKernel

register_view(DimShuffleKernel)
register_view(RebroadcastKernel)
register_view(SpecifyShapeKernel)
register_view(SubtensorKernel)
register_shape(ShapeKernel)
register_shape(ShapeIKernel)
register(ContiguousKernel, GpuContiguousKernel)


def elementwise(kernel, operands):
    """Steps for which there is text, with operands that fit into the arguments of a launch."""
    inputs, constants, steps, outputs = kernel.arguments
    values = [operand.at_host for operand in operands]
    rank = max([len(pattern) for _, pattern in inputs] or [0])
    if not inputs or not fits_launch(len(inputs), len(outputs), rank, values):
        return None
    try:
        return GpuElementwiseKernel(inputs, constants, steps, outputs, values)
    except NoSource:
        return None


register(ElementwiseKernel, GpuElementwiseKernel, elementwise, by_value=True)


def reduction(is_mean):
    """Folds of steps for which there is text."""
    def make(kernel, operands):
        arguments = ("inputs", "constants", "steps", "value", "loop", "axes", "accumulator_dtype", "output_dtype",
                     "keepdims", "identity")
        given = dict(zip(arguments, kernel.arguments)) | (kernel.named_arguments or {})
        values = [operand.at_host for operand in operands]
        if not reduction_fits(len(given["inputs"]), len(given["inputs"][0][1]), values):
            return None
        try:
            return GpuReductionKernel(**given, values=values, is_mean=is_mean)
        except NoSource:
            return None
    return make


def product(device_class):
    """Products of dtypes that are stored as they are computed."""
    def make(kernel, operands):
        try:
            return device_class(*kernel.arguments, **(kernel.named_arguments or {}))
        except NoSource:
            return None
    return make


register(ReductionKernel, GpuReductionKernel, reduction(is_mean=False), by_value=True)
register(MeanKernel, GpuReductionKernel, reduction(is_mean=True), by_value=True)
register(ProductKernel, GpuProductKernel, product(GpuProductKernel), by_value=True)
register(GerKernel, GpuGerKernel, product(GpuGerKernel), by_value=True)
