"""Batch normalization on the device: a block of threads for each channel, which adds up in doubles.

The formulas are those of ``ops/nnet/batch_normalization_channels.pxi``.
"""
from phintys.gpu.kernels.general_source import ALL, BLOCKS, Description, Launch, describe, number
from phintys.gpu.kernels.scalar_source import computed
from phintys.ops.nnet.batch_normalization_kernel import (
    BatchNormInferenceKernel,
    BatchNormTrainGradKernel,
    BatchNormTrainKernel,
)

START = """\
    long long count = 1;
    for (int axis = 0; axis < {rank}; axis++) if ({averaged}ULL >> axis & 1) count *= x.shape[axis];
    const long long start = offset_of(x, i, {averaged}ULL);
#define X(j) load_x(start + offset_of(x, j, {kept}ULL))
#define OF_CHANNEL(name) offset_of(name, i, {averaged}ULL)
#define OF_ELEMENT(name, j) (offset_of(name, i, {averaged}ULL) + offset_of(name, j, {kept}ULL))
"""
TRAIN = """\
    double sum = 0, square = 0;
    for (long long j = threadIdx.x; j < count; j += GROUP) sum += X(j);
    const double mean = total(sum) / count;
    for (long long j = threadIdx.x; j < count; j += GROUP) square += ((double)X(j) - mean) * ((double)X(j) - mean);
    const double variance = total(square) / count, inverse = 1 / sqrt(variance + {epsilon});
    const double slope = load_scale(OF_CHANNEL(scale)) * inverse;
    const T shift = (T)mean, factor_of_x = (T)slope;
    const T offset = (T)(load_bias(OF_CHANNEL(bias)) - (mean - shift) * slope);
{whole}
    if (threadIdx.x == 0) {{
        store_average(OF_CHANNEL(average), mean);
        store_deviation(OF_CHANNEL(deviation), inverse);
{running}
    }}
"""
WHOLE = """\
    for (long long j = threadIdx.x; j < count; j += GROUP)
        store_out(OF_ELEMENT(out, j), (X(j) - shift) * factor_of_x + offset);
"""
RUNNING = """\
        store_new_mean(OF_CHANNEL(new_mean), load_old_mean(OF_CHANNEL(old_mean)) * (1 - {factor}) + mean * {factor});
        store_new_variance(OF_CHANNEL(new_variance), load_old_variance(OF_CHANNEL(old_variance)) * (1 - {factor})
                           + (double)count / (count - 1) * variance * {factor});
"""
INFERENCE = """\
    const double spread = sqrt(load_variance(OF_CHANNEL(variance)) + {epsilon});
    const T shift = load_average(OF_CHANNEL(average)), offset = load_bias(OF_CHANNEL(bias));
    const T factor_of_x = (T)(load_scale(OF_CHANNEL(scale)) / spread);
"""
GRADIENT = """\
    const double mean = load_average(OF_CHANNEL(average)), inverse = load_deviation(OF_CHANNEL(deviation));
    double of_bias = 0, of_deviation = 0, distance = 0;
    for (long long j = threadIdx.x; j < count; j += GROUP) {{
        const double above = X(j) - mean, by = load_dy(OF_ELEMENT(dy, j));
        of_bias += by, of_deviation += by * above, distance += above;
    }}
    of_bias = total(of_bias), of_deviation = total(of_deviation), distance = total(distance);
    const double scaling = load_scale(OF_CHANNEL(scale));
    const double slope = of_deviation / count * inverse * inverse * inverse;
    if (threadIdx.x == 0) {{
        store_by_scale(OF_CHANNEL(by_scale), of_deviation * inverse);
        store_by_bias(OF_CHANNEL(by_bias), of_bias);
    }}
    const T shift = (T)mean, factor_of_dy = (T)(scaling * inverse), factor_of_x = (T)(-scaling * slope);
    const T offset = (T)(scaling * (distance / count * slope - of_bias / count * inverse));
{whole}
"""
BY_X = """\
    for (long long j = threadIdx.x; j < count; j += GROUP)
        store_by_x(OF_ELEMENT(by_x, j), load_dy(OF_ELEMENT(dy, j)) * factor_of_dy
                   + ((X(j) - shift) * factor_of_x + offset));
"""


def described(arguments, named, operands, names, body):
    """The description for the axes that are averaged over; ``body`` has the lines after the start."""
    rank = operands[0][1]
    averaged = sum([1 << axis for axis in arguments[1]])
    kept = averaged ^ ((1 << rank) - 1)
    start = START.format(rank=rank, averaged=averaged, kept=kept)
    return Description(names, {"normalize": (BLOCKS, start + body)}, [Launch(BLOCKS, "normalize", "x", kept & ALL)],
                       f"typedef {computed(operands[0][0])} T;")


def is_whole(arguments, named):
    return named.get("whole", arguments[2] if len(arguments) > 2 else True)


@describe(BatchNormTrainKernel, by_value=(3, 4))
def training(arguments, named, operands):
    running = named.get("running", arguments[3] if len(arguments) > 3 else False)
    whole = is_whole(arguments, named)
    names = ["x", "scale", "bias", "epsilon", "factor", *(["old_mean", "old_variance"] if running else []),
             *(["out"] if whole else []), "average", "deviation", *(["new_mean", "new_variance"] if running else [])]
    factor = number("factor", operands[4])
    body = TRAIN.format(epsilon=number("epsilon", operands[3]), whole=WHOLE if whole else "",
                        running=RUNNING.format(factor=factor) if running else "")
    return described(arguments, named, operands, names, body)


@describe(BatchNormInferenceKernel, by_value=(5,))
def inference(arguments, named, operands):
    names = ["x", "scale", "bias", "average", "variance", "epsilon", "out"]
    body = INFERENCE.format(epsilon=number("epsilon", operands[5])) + WHOLE
    return described(arguments, named, operands, names, body)


@describe(BatchNormTrainGradKernel)
def gradient(arguments, named, operands):
    whole = is_whole(arguments, named)
    names = ["x", "dy", "scale", "average", "deviation", None, *(["by_x"] if whole else []), "by_scale", "by_bias"]
    return described(arguments, named, operands, names, GRADIENT.format(whole=BY_X if whole else ""))
