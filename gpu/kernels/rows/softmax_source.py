"""The sources of softmax, of cross-entropies with labels, and of their gradients: what is computed from each row.

A label that is no class is noted: the complement of its row, the label, how many classes there are; of several the one
of the first row. The row's results are then unspecified.
"""
from phintys.gpu.kernels.rows.rows_source import WIDE, Operand, Rows, Stage
from phintys.gpu.kernels.scalar_source import computed, stored, with_functions

LABELS = """\
typedef {label} L;
struct Labels {{ const L* data; long long stride, from_end; unsigned long long* note; }};
__device__ inline void note_label(unsigned long long* note, long long row, long long label, long long classes) {{
    volatile unsigned long long* words = note;
    const unsigned long long first = ~(unsigned long long)row;
    while (words[0] < first) {{
        if (atomicCAS(note + 5, 0ULL, 1ULL)) continue;      // the word behind the flag's address is a lock
        if (words[0] < first) words[1] = label, words[2] = classes, words[0] = first;
        __threadfence();
        atomicExch(note + 5, 0ULL);
    }}
    *(volatile unsigned long long*)note[4] = 1;             // the flag
}}
// The class that the label of a row is; -1 if it is none.
__device__ inline long long label_of(const Labels& labels, long long row, long long classes) {{
    const L given = *(const L*)((const char*)labels.data + row * labels.stride);
    long long label = (long long)given;
    const bool below = label < 0 && (L)-1 < (L)0;
    if (below && labels.from_end) label += classes;
    if (label >= 0 && label < classes) return label;
    note_label(labels.note, row, (long long)given, classes);
    return -1;
}}
"""
TYPE = "typedef {type} T;\n"
# The sum of exponentials, and where the largest element is; NaNs are before all others.
SUM_AND_PLACE = """\
struct Sum { T sum; Index place; };
__device__ inline Sum added(const Sum& a, const Sum& b) { return {a.sum + b.sum, min(a.place, b.place)}; }
__device__ inline Index place_of(T value, T largest, Index element, Index count) {
    return value == largest ? element : value != value ? element - count : count;
}
"""
# The largest so far, and the sum of exponentials of differences from it. Infinities give NaN, as with two passes.
ONLINE = """\
struct Online { T most, sum; };
__device__ inline Online joined(const Online& a, const Online& b) {
    const T most = fmax(a.most, b.most);
    if (most == -INFINITY) return {most, a.sum + b.sum};
    return {most, a.sum * exp(a.most - most) + b.sum * exp(b.most - most)};
}
__device__ inline void raise(Online& online, T top) {
    // Without a branch, over which loads are not moved. Both may be -infinity.
    const T most = fmax(online.most, top), by = exp(online.most - most);
    online.sum *= online.most == most ? (T)1 : by;
    online.most = most;
}
"""
LABEL_LOSS = """\
struct Matrix {{ const T* data; long long row, column; }};
extern "C" __global__ void label_loss(long long rows, long long columns, Matrix matrix, Labels labels, T* out) {{
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const long long label = label_of(labels, row, columns);
    if (label >= 0) out[row] = -log(*(const T*)((const char*)matrix.data + row * matrix.row + label * matrix.column));
}}
"""


def softmax_rows(dtype, logarithm=False, bias=False, label=None):
    """Softmax or its logarithm; with labels of a dtype, losses and the positions of the largest elements, too.

    Returns
    -------
    (Rows, Rows)
        For rows that are kept in registers, and for others.
    """
    value = "x + bias" if bias else "x"
    inputs = [Operand(name, dtype, WIDE) for name in ("x", "bias")[:1 + bias]]
    lines, functions = f"const T value = {value};", TYPE.format(type=computed(dtype))
    result = "value - largest - logarithm" if logarithm else "exp(value - largest) * factor"
    after = "const T logarithm = log(sum);" if logarithm or label else ""
    after += "" if logarithm else " const T factor = 1 / sum;"
    stages = [Stage("largest", "T", "(T)-INFINITY", "fmax(a, b)", lines, "value"),
              Stage("sum", "T", "0", "a + b", lines, "exp(value - largest)", after)]
    result = Operand("out", dtype, WIDE), result
    if label:
        functions += LABELS.format(label=stored(label)) + SUM_AND_PLACE
        stages[1] = Stage("both", "Sum", "Sum{0, count}", "added(a, b)", lines,
                          "Sum{exp(value - largest), place_of(value, largest, element, count)}",
                          "const T sum = both.sum;\n" + after)
        chosen = "ELEMENT(x, label) + ELEMENT(bias, label)" if bias else "ELEMENT(x, label)"
        end = ("if (there && lane == 0 && row < labelled) {\n"
               "const long long label = label_of(labels, row, count);\n"
               f"if (label >= 0) losses[row] = logarithm - ({chosen} - largest);\n"
               "best[row] = (L)(both.place < 0 ? both.place + count : both.place);\n}")
        kept = Rows(inputs, stages, lines, [result], functions,
                    "Labels labels, long long labelled, T* losses, L* best", "", end)
        return kept, kept
    kept = Rows(inputs, stages, lines, [result], functions)
    online = Stage("online", "Online", "Online{(T)-INFINITY, 0}", "joined(a, b)", lines, "value",
                   "const T largest = online.most, sum = online.sum;\n" + after,
                   "online.sum += exp(value - base);",
                   ahead=("T top = -INFINITY;", "top = fmax(top, value);", "raise(online, top);\n"
                          "const T base = online.most == -INFINITY ? (T)0 : online.most;"))
    return kept, kept._replace(stages=[online], functions=functions + ONLINE)


def softmax_gradient_rows(dtype):
    """Of softmax, from the gradient and the softmax."""
    return Rows([Operand("gradient", dtype, WIDE), Operand("softmax", dtype, WIDE)],
                [Stage("sum", computed(dtype), "0", "a + b", "", "gradient * softmax")], "",
                [(Operand("out", dtype, WIDE), "(gradient - sum) * softmax")])


def label_gradient_rows(dtype, label):
    """Of the losses of labels, from the softmax; rows without a label have none."""
    before = ("const T factor = dy ? *(const T*)((const char*)dy + row * stride * (row < labelled)) : given;\n"
              "const long long label = row < labelled ? label_of(labels, row, count) : -1;")
    return Rows([Operand("softmax", dtype, WIDE)], [], "", [
        (Operand("out", dtype, WIDE), "row < labelled ? factor * (softmax - (T)(element == label)) : (T)0")],
        TYPE.format(type=computed(dtype)) + LABELS.format(label=stored(label)),
        "long long labelled, const T* dy, T given, long long stride, Labels labels", before)


def label_loss_gradient_rows(dtype, label):
    """Of the negative logarithms of probabilities at labels."""
    before = ("const long long label = label_of(labels, row, count);\n"
              "const T by = *(const T*)((const char*)dy + row * stride);\n"
              "const T loss = label < 0 ? (T)0 : -by / ELEMENT(matrix, label);")
    return Rows([Operand("matrix", dtype, WIDE)], [], "",
                [(Operand("out", dtype, WIDE), "element == label ? loss : (T)0")],
                TYPE.format(type=computed(dtype)) + LABELS.format(label=stored(label)),
                "const T* dy, long long stride, Labels labels", before)


def label_loss_source(dtype, label):
    """The source of the negative logarithms of probabilities at labels, a thread for each row."""
    return with_functions((TYPE + LABELS + LABEL_LOSS).format(type=computed(dtype), label=stored(label)))
