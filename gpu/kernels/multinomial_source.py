"""Samples of multinomial distributions from uniform numbers at the device: a thread for each row of probabilities.

Sums are in double precision and in the order of the processor, so the outcomes are the same. A row that has no
probabilities is an error; which one is named, where there are several, is open.
"""
from phintys.gpu.kernels.general_source import THREADS, Description, Launch, describe
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.ops.random.multinomial_kernel import MultinomialKernel

# `values` and `counts` are rows of scratch memory.
START = """\
    const long long outcomes = p.shape[1], samples = (long long)n;
    double* values = (double*)(scratch + i * outcomes * 16);
    double* counts = values + outcomes;
    double sum = 0;
    bool grows = true;
    for (long long c = 0; c < outcomes; c++) {{
        const double share = (double)load_p(at(p, i, c));
        grows = grows && share >= 0;
        sum += share;
        values[c] = {kept};
    }}
    const double far = sum - 1;
    if ({wanted} && outcomes > 0 && !(grows && fabs(far) <= {tolerance})) {{ tell(note, i, 0, 0); continue; }}
"""
COUNTS = """\
    for (long long c = 0; c < outcomes; c++) counts[c] = 0;
    for (long long sample = 0; sample < samples; sample++) {
        const double number = (double)load_uniform((sample * p.shape[0] + i) * uniform.strides[0]);
        long long low = 0, high = outcomes;
        while (low < high) {
            const long long middle = (low + high) / 2;
            if (values[middle] > number) high = middle;
            else low = middle + 1;
        }
        if (low < outcomes) counts[low] += 1;
    }
    for (long long c = 0; c < outcomes; c++) store_out(at(out, i, c), (T_out)counts[c]);
"""
CHOICES = """\
    for (long long sample = 0; sample < samples; sample++) {{
        const double number = (double)load_uniform((sample * p.shape[0] + i) * uniform.strides[0]);
        double reached = 0;
        long long place = 0;
        for (; place < outcomes; place++) {{
            reached += values[place];
            if (reached > number) break;
        }}
        {remove}
        store_out(at(out, i, sample), (T_out)(place < outcomes ? place : -1));
    }}
"""
# An outcome gets the probability 0 and the others the sum 1, with the roundings of their dtype.
REMOVE = """\
        if (place < outcomes && sample < samples - 1) {
            T_p left = (T_p)(reached - values[place]);
            values[place] = 0;
            for (long long c = place; c < outcomes; c++) left = (T_p)((double)left + values[c]);
            for (long long c = 0; c < outcomes; c++) values[c] = (double)(T_p)(values[c] / (double)left);
        }
"""


@describe(MultinomialKernel)
def multinomial(arguments, named, operands):
    chooses, replace = arguments
    dtype = operands[0][0]
    if chooses and not replace and dtype == "float16":
        raise NoSource("the roundings of float16")
    tolerance = "1e-2" if dtype == "float16" else "1e-3"
    body = START.format(kept="share" if chooses else "sum", tolerance=tolerance,
                        wanted="samples > 0" if chooses else "true")
    body += CHOICES.format(remove="" if replace else REMOVE) if chooses else COUNTS
    text = "multinomial: row {value} has no probabilities: one is negative or NaN, or their sum is not 1"
    return Description(["p", "uniform", "n", "out"], {"choose": (THREADS, body)}, [Launch(THREADS, "choose", "p", 1)],
                       scratch=("p", 16), failure=(ValueError, [text]))
