"""Batch normalization on the device: what is computed from each channel, as a row.

The formulas are those of ``ops/nnet/batch_normalization_channels.pxi``. Coefficients are computed in doubles. Where a
channel is kept in registers its mean is known before deviations are squared; else moments are taken in one pass,
around the channel's first number, so that nothing cancels if the mean is large against the deviation. A thread adds up
in the dtype of x, and doubles are added from there on.
"""
from phintys.gpu.kernels.rows.rows_source import NARROW, VALUE, WIDE, Operand, Rows, Stage
from phintys.gpu.kernels.scalar_source import computed

FUNCTIONS = """\
typedef {type} T;
struct Pair {{ double first, second; }};
struct Three {{ double first, second, third; }};
__device__ inline Pair added(const Pair& a, const Pair& b) {{ return {{a.first + b.first, a.second + b.second}}; }}
__device__ inline Three added(const Three& a, const Three& b) {{
    return {{a.first + b.first, a.second + b.second, a.third + b.third}};
}}
"""
COEFFICIENTS = """\
const double inverse = 1 / sqrt(variance + (T)epsilon), slope = scale * inverse;
const T centre = (T)mean, factor_of_x = (T)slope, offset = (T)(bias - (mean - centre) * slope);"""
SUM = Stage("sum", "double", "0", "a + b", "", "x", "const double mean = sum / count;", "of_sum += x;", "T of_sum = 0;",
            "of_sum")
SQUARES = Stage("squares", "double", "0", "a + b", "const T above = (x - (T)mean) - (T)(mean - (T)mean);", "above",
                "const double variance = squares / count;", "of_squares += above * above;", "T of_squares = 0;",
                "of_squares")
MOMENTS = Stage(
    "moments", "Pair", "Pair{0, 0}", "added(a, b)", "const T above = x - start;", "above",
    "const double beside = moments.first / count, mean = start + beside, square = moments.second / count;\n"
    "const double around = square - beside * beside, variance = around < 0 ? 0 : around;",
    "one += above, two += above * above;", "T one = 0, two = 0;", "Pair{one, two}")
START = """\
const T given = count ? ELEMENT(x, 0) : (T)0, start = given - given == 0 ? given : (T)0;"""
SUMS = Stage("sums", "Three", "Three{0, 0, 0}", "added(a, b)", "const T above = x - average;", "above", """\
const double inverse = deviation, spread = sums.second / count * inverse * inverse * inverse;
const T factor_of_dy = (T)(scale * inverse), factor_of_x = (T)(-scale * spread);
const T offset = (T)(scale * (sums.third / count * spread - sums.first / count * inverse));""",
             "of_dy += dy, of_both += dy * above, of_x += above;", "T of_dy = 0, of_both = 0, of_x = 0;",
             "Three{of_dy, of_both, of_x}")


def described(inputs, results, stages, before, dtype, rank, averaged):
    """The rows of which channels are made."""
    return Rows(inputs, stages, "", results, FUNCTIONS.format(type=computed(dtype)), "", before, "", rank, averaged)


def operands_of(names, operands):
    """The inputs: of the shape of x, or with an element for each channel, or a number."""
    return [Operand(name, given, VALUE if at_host else WIDE if name in ("x", "dy") else NARROW)
            for name, (given, _, at_host) in zip(names, operands) if name is not None]


def training(named, operands):
    """See ``BatchNormTrainKernel``.

    Returns
    -------
    (Rows, Rows)
        For channels that are kept in registers, and for others.
    """
    dtype, rank = operands[0][:2]
    names = ["x", "scale", "bias", "epsilon", "factor", *(["old_mean", "old_variance"] if named["running"] else [])]
    results = [(Operand("out", dtype, WIDE), "(x - centre) * factor_of_x + offset")] if named["whole"] else []
    results += [(Operand("average", dtype, NARROW), "mean"), (Operand("inverse_deviation", dtype, NARROW), "inverse")]
    if named["running"]:
        kept = "* (1 - (double)(T)factor) +"
        results += [(Operand("new_mean", dtype, NARROW), f"old_mean {kept} mean * (T)factor"),
                    (Operand("new_variance", dtype, NARROW),
                     f"old_variance {kept} (double)count / (count - 1) * variance * (T)factor")]
    inputs, averaged = operands_of(names, operands), len(named["axes"])
    last = SQUARES._replace(after=f"{SQUARES.after}\n{COEFFICIENTS}")
    once = MOMENTS._replace(after=f"{MOMENTS.after}\n{COEFFICIENTS}")
    return (described(inputs, results, [SUM, last], "", dtype, rank, averaged),
            described(inputs, results, [once], START, dtype, rank, averaged))


def inference(named, operands):
    """See ``BatchNormInferenceKernel``."""
    dtype, rank = operands[0][:2]
    names = "x", "scale", "bias", "average", "variance", "epsilon"
    before = "const T factor_of_x = (T)(scale / sqrt((double)variance + (T)epsilon));"
    rows = described(operands_of(names, operands),
                     [(Operand("out", dtype, WIDE), "(x - average) * factor_of_x + bias")], [], before, dtype, rank,
                     len(named["axes"]))
    return rows, rows


def gradient(named, operands):
    """See ``BatchNormTrainGradKernel``."""
    dtype, rank = operands[0][:2]
    names = "x", "dy", "scale", "average", "deviation", None
    results = [(Operand("by_x", dtype, WIDE), "dy * factor_of_dy + ((x - average) * factor_of_x + offset)")]
    results = results[:named["whole"]] + [(Operand("by_scale", dtype, NARROW), "sums.second * inverse"),
                                          (Operand("by_bias", dtype, NARROW), "sums.first")]
    rows = described(operands_of(names, operands), results, [SUMS], "", dtype, rank, len(named["axes"]))
    return rows, rows
