"""The rows of the table of twins; each family of kernels adds its own. See ``twins.py`` for what a row says."""
import phintys.gpu.kernels.described  # noqa: F401  (which describes kernels)
from phintys.gpu.kernels.draw_kernel import COUNTED, GpuDrawKernel
from phintys.gpu.kernels.elementwise_kernel import GpuElementwiseKernel, fits_launch
from phintys.gpu.kernels.general_kernel import GpuGeneralKernel
from phintys.gpu.kernels.general_source import DESCRIBERS
from phintys.gpu.kernels.lines.scan_kernel import GpuScanKernel
from phintys.gpu.kernels.lines.selection_kernel import GpuMaskedKernel, GpuNonzeroKernel, GpuRepeatKernel
from phintys.gpu.kernels.lines.selection_source import without_masks
from phintys.gpu.kernels.lines.sort_kernel import GpuRowOrderKernel, GpuSortKernel
from phintys.gpu.kernels.moving_kernel import (
    GpuAllocEmptyKernel,
    GpuAllocKernel,
    GpuJoinKernel,
    GpuMakeVectorKernel,
    GpuReshapeKernel,
)
from phintys.gpu.kernels.part_kernel import GpuIncSubtensorKernel
from phintys.gpu.kernels.product_kernel import GpuBatchedProductKernel, GpuGerKernel, GpuProductKernel
from phintys.gpu.kernels.reduction_kernel import GpuArgKernel, GpuExtremumKernel, GpuReductionKernel
from phintys.gpu.kernels.reduction_kernel import fits_launch as reduction_fits
from phintys.gpu.kernels.rows.batch_normalization_kernel import KINDS as BATCH_NORMALIZATIONS
from phintys.gpu.kernels.rows.batch_normalization_kernel import GpuBatchNormKernel
from phintys.gpu.kernels.rows.softmax_kernel import (
    GpuCrossentropyGradKernel,
    GpuCrossentropyKernel,
    GpuLabelLossGradKernel,
    GpuLabelLossKernel,
    GpuSoftmaxGradKernel,
    GpuSoftmaxKernel,
)
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.gpu.kernels.transfer_kernel import GpuContiguousKernel
from phintys.gpu.twins import SEVERAL_RESULTS, register, register_shape, register_view
from phintys.ops.creation.allocation_kernel import AllocEmptyKernel, AllocKernel
from phintys.ops.creation.stretching_kernel import SumStretchedKernel
from phintys.ops.cumulative.cumulative_kernel import CumulativeKernel
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.fourier.parts_kernel import ComplexPartsKernel
from phintys.ops.identity.assertion_kernel import AssertKernel, EqualLengthsKernel
from phintys.ops.indexing.advanced_subtensor_kernel import AdvancedIncSubtensorKernel, AdvancedSubtensorKernel
from phintys.ops.indexing.nonzero_kernel import NonzeroKernel
from phintys.ops.indexing.subtensor_kernel import IncSubtensorKernel, SubtensorKernel
from phintys.ops.linalg.diagonal_kernel import ExtractDiagKernel
from phintys.ops.loops.first_rows_kernel import FirstRowsKernel
from phintys.ops.native.shape_kernel import (
    ContiguousKernel,
    DimShuffleKernel,
    RebroadcastKernel,
    ReshapeKernel,
    ShapeIKernel,
    ShapeKernel,
    SpecifyShapeKernel,
)
from phintys.ops.nnet.crossentropy_kernel import (
    CrossentropyGradKernel,
    CrossentropyKernel,
    LabelLossGradKernel,
    LabelLossKernel,
)
from phintys.ops.nnet.softmax_kernel import SoftmaxGradKernel, SoftmaxKernel
from phintys.ops.products.batched_product_kernel import BatchedProductKernel
from phintys.ops.products.blas_kernel import GerKernel, ProductKernel
from phintys.ops.random.draw_kernel import DrawKernel
from phintys.ops.rearranging.repeat_kernel import RepeatKernel, SumRepeatsKernel
from phintys.ops.reduction.arg_kernel import ArgKernel, ExtremumKernel
from phintys.ops.reduction.reduction_kernel import MeanKernel, ReductionKernel
from phintys.ops.shape.join_kernel import JoinKernel, MakeVectorKernel, SplitKernel
from phintys.ops.sorting.row_order_kernel import RowOrderKernel
from phintys.ops.sorting.sorting_kernel import ArgSortKernel, PartitionKernel, SortKernel, TopKKernel

register_view(DimShuffleKernel)
register_view(RebroadcastKernel)
register_view(SpecifyShapeKernel)
register_view(SubtensorKernel)
register_shape(ShapeKernel)
register_shape(ShapeIKernel)
register(ContiguousKernel, GpuContiguousKernel)


def elementwise(kernel, operands, results):
    """Steps for which there is text, with operands that fit into the arguments of a launch."""
    code, patterns = kernel.arguments
    values = [operand.at_host for operand in operands]
    if not patterns or not fits_launch(len(patterns), len(code.outputs), len(patterns[0]), values):
        return None
    try:
        return GpuElementwiseKernel(code, patterns, values)
    except NoSource:
        return None


register(ElementwiseKernel, GpuElementwiseKernel, elementwise, by_value=True)


def reduction(is_mean):
    """Folds of steps for which there is text."""
    def make(kernel, operands, results):
        arguments = "code", "patterns", "loop", "axes", "accumulator_dtype", "output_dtype", "keepdims", "identity"
        given = dict(zip(arguments, kernel.arguments)) | (kernel.named_arguments or {})
        values = [operand.at_host for operand in operands]
        if not reduction_fits(len(given["patterns"]), len(given["patterns"][0]), values):
            return None
        try:
            return GpuReductionKernel(**given, values=values, is_mean=is_mean)
        except NoSource:
            return None
    return make


def plain(device_class):
    """The class with the kernel's arguments, for dtypes that have text."""
    def make(kernel, operands, results):
        try:
            return device_class(*kernel.arguments, **(kernel.named_arguments or {}))
        except NoSource:
            return None
    return make


register(ReductionKernel, GpuReductionKernel, reduction(is_mean=False), by_value=True)
register(MeanKernel, GpuReductionKernel, reduction(is_mean=True), by_value=True)


def stretched(kernel, operands, results):
    """The view is the same on the device; the sum has a twin of its own."""
    axis, total = kernel.arguments
    twin = reduction(is_mean=False)(total, operands[:1], results)
    return twin and SumStretchedKernel(axis, twin)


register(SumStretchedKernel, SumStretchedKernel, stretched)
register(ProductKernel, GpuProductKernel, plain(GpuProductKernel), by_value=True)
register(GerKernel, GpuGerKernel, plain(GpuGerKernel), by_value=True)


def join(kernel, operands, results):
    """Arrays of one dtype."""
    dtypes, dtype = kernel.arguments[:2]
    return GpuJoinKernel(*kernel.arguments) if set(dtypes) == {dtype} else None


register(ReshapeKernel, GpuReshapeKernel)
register(AllocKernel, GpuAllocKernel)
register(AllocEmptyKernel, GpuAllocEmptyKernel)
register(JoinKernel, GpuJoinKernel, join)
register(MakeVectorKernel, GpuMakeVectorKernel)
register_view(SplitKernel)
register_view(ExtractDiagKernel)
register_view(ComplexPartsKernel)
register_view(FirstRowsKernel)
register_view(AssertKernel)
register_view(EqualLengthsKernel)


def labelled(device_class, matrix, labels):
    """Kernels with labels, which are checked on the device; they need the dtypes of a matrix and of the labels."""
    def make(kernel, operands, results):
        more = {"label": operands[labels].dtype}
        if device_class in (GpuCrossentropyGradKernel, GpuLabelLossGradKernel):
            more["dtype"] = operands[matrix].dtype
        return device_class(*kernel.arguments, **(kernel.named_arguments or {}), **more)
    return make


register(SoftmaxKernel, GpuSoftmaxKernel)
register(SoftmaxGradKernel, GpuSoftmaxGradKernel)
for _host, _device, _matrix, _labels in (
        (CrossentropyKernel, GpuCrossentropyKernel, 0, 2), (CrossentropyGradKernel, GpuCrossentropyGradKernel, 1, 2),
        (LabelLossKernel, GpuLabelLossKernel, 0, 1), (LabelLossGradKernel, GpuLabelLossGradKernel, 1, 2)):
    register(_host, _device, labelled(_device, _matrix, _labels), by_value=_host is CrossentropyGradKernel,
             checked_at_device=(_labels,))


def part(kernel, operands, results):
    """A part of any basic index; its rank follows from the plan."""
    plan, integers, dtype, sets = kernel.arguments
    rank = len(operands[0].broadcastable) - sum([bool(drops) for drops, *_ in plan])
    if operands[1].dtype != dtype:
        return None
    try:
        return GpuIncSubtensorKernel(plan, integers, dtype, sets, rank)
    except NoSource:
        return None


register(IncSubtensorKernel, GpuIncSubtensorKernel, part)
register(ArgKernel, GpuArgKernel, plain(GpuArgKernel))
register(ExtremumKernel, GpuExtremumKernel, plain(GpuExtremumKernel))
register(CumulativeKernel, GpuScanKernel, plain(GpuScanKernel))


def general(kernel, operands, results):
    """What is described by `general_source.py`."""
    described = [(operand.dtype, len(operand.broadcastable), operand.at_host) for operand in (*operands, *results)]
    try:
        return GpuGeneralKernel(type(kernel).__name__, kernel.arguments,
                                tuple((kernel.named_arguments or {}).items()), tuple(described))
    except NoSource:
        return None


for _host, _, _by_value, _checked in DESCRIBERS.values():
    register(_host, GpuGeneralKernel, general, _by_value, _checked)


def batch_normalization(kind):
    """Channels are rows; epsilon and the factor of running means may be numbers of the host."""
    def make(kernel, operands, results):
        described = [(operand.dtype, len(operand.broadcastable), operand.at_host) for operand in (*operands, *results)]
        try:
            return GpuBatchNormKernel(kind, kernel.arguments, tuple((kernel.named_arguments or {}).items()),
                                      tuple(described))
        except NoSource:
            return None
    return make


for _kind, (_host, _) in BATCH_NORMALIZATIONS.items():
    register(_host, GpuBatchNormKernel, batch_normalization(_kind),
             by_value={"training": (3, 4), "inference": (5,), "gradient": ()}[_kind])


def batched_product(kernel, operands, results):
    """By cuBLAS, or as it is described."""
    own = general(kernel, operands, results)
    return own and GpuBatchedProductKernel(own, *kernel.arguments[:3])


register(BatchedProductKernel, GpuBatchedProductKernel, batched_product)


def draw(kernel, operands, results):
    """Uniform numbers, of generators whose words can be counted. Other distributions reject numbers, by functions that
    are rounded otherwise on the device; MT19937 and SFC64 make each state from the one before."""
    name, kind, parameters = kernel.arguments
    return GpuDrawKernel(name, kind, parameters, results[1].dtype) if name == "random" and kind in COUNTED else None


register(DrawKernel, GpuDrawKernel, draw, at_host=(0,), results_at_host=(0,))


def sort(describe):
    """Lines that are sorted; `describe` returns the arguments of the twin, from those of the kernel."""
    def make(kernel, operands, results):
        arguments = describe(*kernel.arguments, **(kernel.named_arguments or {}))
        host = type(kernel)(*kernel.arguments, **(kernel.named_arguments or {}))
        try:
            return arguments and GpuSortKernel(host, *arguments)
        except NoSource:
            return None
    return make


def places(dtype, kind):
    """In floats equal elements are rare: in other dtypes an order that is not stable is the processor's own."""
    return (dtype, True, None, 1) if kind in ("stable", "mergesort") or dtype.startswith("float") else None


def best(dtype, axis, is_sorted, position_dtype, values, positions):
    """The largest or smallest of each line, and where they are: the ends of sorted lines."""
    return dtype, True, axis, 1, position_dtype, values, positions


register(SortKernel, GpuSortKernel, sort(lambda dtype, *kind: (dtype, False, None, 1)))
register(ArgSortKernel, GpuSortKernel, sort(places))
register(PartitionKernel, GpuSortKernel, sort(lambda dtype, positions: (dtype, positions, None, 2)))
register(TopKKernel, GpuSortKernel, sort(best))
register(RowOrderKernel, GpuRowOrderKernel, plain(GpuRowOrderKernel))
SEVERAL_RESULTS.add(PartitionKernel)


def nonzero(kernel, operands, results):
    """Of arrays of any rank."""
    return GpuNonzeroKernel(len(operands[0].broadcastable))


def repeat(kernel, operands, results):
    """By a number, as it is described; or by a count for each slice."""
    host = type(kernel)(*kernel.arguments, **(kernel.named_arguments or {}))
    sums = isinstance(kernel, SumRepeatsKernel)
    try:
        return (general(kernel, operands, results)
                or GpuRepeatKernel(host, operands[0].dtype, kernel.arguments[-1], sums))
    except NoSource:
        return None


def indexed(kernel, operands, results):
    """An advanced index, of which masks become positions first; those of masks alone need no checks."""
    plan, lead, _, *rest = kernel.arguments
    described = general(kernel, operands, results)
    if described or not any([kind == "mask" for kind, *_ in plan]):
        return described
    if len(rest) > 2 or kernel.named_arguments:
        return None
    if len(operands) == 2 and plan[0] == ("mask", 1, len(operands[0].broadcastable)):
        return GpuNonzeroKernel(len(operands[0].broadcastable), operands[0].dtype)
    described = [(operand.dtype, len(operand.broadcastable), operand.at_host) for operand in (*operands, *results)]
    positions, sources, masks = without_masks(plan, len(described))
    described = [("int64", 1, False) if row >= 0 else described[number] for number, row in sources]
    try:
        inner = GpuGeneralKernel(type(kernel).__name__, (positions, lead, len(sources) - 1, *rest), (), described,
                                 trusted=not any([kind == "array" for kind, *_ in plan]))
        return GpuMaskedKernel(inner, kernel.examined, sources, masks)
    except NoSource:
        return None


for _host in (AdvancedSubtensorKernel, AdvancedIncSubtensorKernel):
    register(_host, GpuMaskedKernel, indexed, DESCRIBERS[_host.__name__].by_value, DESCRIBERS[_host.__name__].checked)
register(NonzeroKernel, GpuNonzeroKernel, nonzero, checked_at_device=(0,))
register(RepeatKernel, GpuRepeatKernel, repeat)
register(SumRepeatsKernel, GpuRepeatKernel, repeat)
