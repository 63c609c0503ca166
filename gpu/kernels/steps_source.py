"""The source of all steps of a loop in one kernel: what a thread computes stays in its registers from step to step.

``Steps`` is what a loop's body computes for one element (``device_steps.py`` finds it): loads, lines of scalar code,
products, and what becomes of them. Two forms:

* *Elements*: without products each thread has one element of all values, and no thread needs another's.
* *Units*: with products a block has a row of the batch, and PARTS threads beside each other have a *unit*: column
  ``unit`` of each value of ``units`` columns, and columns ``unit``, ``units + unit``, ... (*groups*) of wider ones,
  such as the four gates of an LSTM. The weights of a unit's columns are in the registers of its threads. What a product
  multiplies is exchanged in shared memory, in two places in turn, so that one barrier a product is enough; each thread
  of a unit gets the sum, in the same order, and computes all else for itself. Where one block has too few registers, a
  cluster of blocks has a row: each has its share of the units, and writes what is exchanged to all of them. Where eight
  blocks are too few, as many as the device has multiprocessors have a row: they run at the same time, and exchange
  *tagged* numbers: words of memory that say for which step the number is, so that a block needs no barrier, but looks
  at the words until all are those of the step. What a word said two steps ago all blocks have read: each has written
  its numbers of the step between, after it had read them.

Rows of sequences are loaded AHEAD steps before they are needed. Of a ring only the rows that remain are written.
"""
from phintys.gpu.kernels.scalar_source import computed, loaded, stored, to_store, with_functions

NAMES = ("steps",)
MOST_OF_A_CLUSTER = 8           # blocks
REGISTERS = 65536               # of a block, at most
OTHER_REGISTERS = 40            # of a thread, for all but weights and rows that were read ahead
CLUSTER = """\
#ifdef __CUDACC__
__device__ inline void arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ inline void wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ inline unsigned shared_of(unsigned rank, const void* place) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(place)), "r"(rank));
    return there;
}
__device__ inline void put(unsigned rank, float* place, float value) {
    asm volatile("st.shared::cluster.f32 [%0], %1;" :: "r"(shared_of(rank, place)), "f"(value) : "memory");
}
__device__ inline void put(unsigned rank, double* place, double value) {
    asm volatile("st.shared::cluster.f64 [%0], %1;" :: "r"(shared_of(rank, place)), "d"(value) : "memory");
}
#else
static inline void arrive() {}
static inline void wait() { emulated_cluster_barrier(); }
template <class T> static void put(unsigned rank, T* place, T value) { *emulated_shared_of(rank, place) = value; }
#endif
"""
IN_CLUSTER = CLUSTER + """\
#define EXCHANGE(vector, k, step, index, value) if (exists) for (int block = part; block < BLOCKS; block += PARTS) \\
    put(block, shared##vector + ((k) & 1) * SIZE##vector + index, value);
#define RECEIVE(vector, k, step)
"""
IN_BLOCK = """\
__device__ inline void arrive() {}
__device__ inline void wait() { __syncthreads(); }
#define EXCHANGE(vector, k, step, index, value) if (writes) shared##vector[((k) & 1) * SIZE##vector + index] = value;
#define RECEIVE(vector, k, step)
"""
IN_GRID = """\
typedef unsigned long long Word;
#ifdef __CUDACC__
#define RESIDENT(blocks)
__device__ inline Word read_word(const Word* place) {
    Word word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(place) : "memory");
    return word;
}
__device__ inline void write_word(Word* place, Word word) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(place), "l"(word) : "memory");
}
__device__ inline void look_again() {}
#else
static Word read_word(const Word* place) { return *place; }
static void write_word(Word* place, Word word) { *place = word; }
static void look_again() { emulated_others_go_on(); }
#endif
__device__ inline void arrive() {}
__device__ inline void wait() { __syncthreads(); }
// A word: above the number of the step, from 1 on, below the bits of the number.
__device__ inline void tell(Word* place, long long step, float value) {
    write_word(place, (Word)(step + 1) << 32 | __float_as_uint(value));
}
template <int EACH> __device__ inline void receive(const Word* from, float* to, int length, long long step) {
    Word words[EACH];
    for (long long looks = 0;; looks++) {
        bool there = true;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int at = threadIdx.x + i * (int)blockDim.x;
            words[i] = read_word(from + (at < length ? at : length - 1));
        }
#pragma unroll
        for (int i = 0; i < EACH; i++) there = there && (unsigned)(words[i] >> 32) == (unsigned)(step + 1);
        if (there) break;
        if (looks > 1 << 24) __trap();                  // for seconds: the other blocks do not run
        look_again();
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const int at = threadIdx.x + i * (int)blockDim.x;
        if (at < length) to[at] = __uint_as_float((unsigned)words[i]);
    }
}
#define EXCHANGE(vector, k, step, index, value) \\
    if (writes) tell(words##vector + ((k) & 1) * LENGTH##vector + index, step, value);
#define RECEIVE(vector, k, step) receive<(LENGTH##vector + THREADS - 1) / THREADS>( \\
    words##vector + ((k) & 1) * LENGTH##vector, shared##vector + ((k) & 1) * SIZE##vector, LENGTH##vector, step);
"""

TEMPLATE = """\
struct Load {{ const char* data; long long step; long long strides[{rank}]; }};
struct Rows {{ char* data; long long stride; char* begin; char* end; long long first; }};
struct Matrix {{ const char* data; long long row, column; }};
struct Shape {{ long long lengths[{rank}]; }};
template <class T> struct alignas(16) Four {{ T x, y, z, w; }};
__device__ inline const char* row_before(const Rows& rows, long long steps) {{
    const char* row = rows.data - steps * rows.stride;
    return rows.end && row < rows.begin ? row + (rows.end - rows.begin) : row;
}}
__device__ inline char* first_written(const Rows& rows) {{
    if (!rows.end) return rows.data;
    return rows.begin + (rows.data - rows.begin + rows.first * rows.stride) % (rows.end - rows.begin);
}}
// The products of a vector in shared memory with GROUPS columns, of which a thread has every PARTS-th four numbers.
template <int GROUPS, int EACH, int PARTS, class T>
__device__ inline void multiply(const T (&own)[GROUPS][EACH], const T* vector, int part, T (&found)[GROUPS]) {{
    const int SUMS = GROUPS == 1 ? 4 : GROUPS < 4 ? 2 : 1;
    T sums[GROUPS][SUMS] = {{}};
#pragma unroll
    for (int i = 0; i < EACH / 4; i++) {{
        const Four<T> v = ((const Four<T>*)vector)[i * PARTS + part];
#pragma unroll
        for (int g = 0; g < GROUPS; g++) {{
            sums[g][0] += own[g][4 * i] * v.x;
            sums[g][1 % SUMS] += own[g][4 * i + 1] * v.y;
            sums[g][2 % SUMS] += own[g][4 * i + 2] * v.z;
            sums[g][3 % SUMS] += own[g][4 * i + 3] * v.w;
        }}
    }}
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {{
        T sum = SUMS == 4 ? (sums[g][0] + sums[g][1 % SUMS]) + (sums[g][2 % SUMS] + sums[g][3 % SUMS])
              : SUMS == 2 ? sums[g][0] + sums[g][1 % SUMS] : sums[g][0];
#pragma unroll
        for (int distance = PARTS / 2; distance; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
        found[g] = sum;
    }}
}}
template <int GROUPS, int EACH, int PARTS, class T>
__device__ inline void load_weights(const Matrix& matrix, T (&own)[GROUPS][EACH], int length, int units, int unit,
                                    int part) {{
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
#pragma unroll
        for (int i = 0; i < EACH; i++) {{
            const int k = (i / 4 * PARTS + part) * 4 + i % 4;
            own[g][i] = k < length ? *(const T*)(matrix.data + k * matrix.row + (g * units + unit) * matrix.column)
                                   : (T)0;
        }}
}}
extern "C" __global__ void {together}__launch_bounds__({threads}) steps({parameters}) {{
    {before}
    for (long long t0 = 0; t0 < n; t0 += {ahead}) {{
        {coming}
#pragma unroll
        for (int k = 0; k < {ahead}; k++) {{
            if (t0 + k >= n) break;
            {step}
        }}
    }}
    {after}
}}
"""
ELEMENT = """\
const long long element = blockIdx.x * (long long)blockDim.x + threadIdx.x;
if (element >= count) return;
const bool writes = true;"""
WALK = """\
long long at{load} = 0;
for (long long axis = {rank} - 1, rest = element; axis >= 0; rest /= shape.lengths[axis], axis--)
    at{load} += rest % shape.lengths[axis] * load{load}.strides[axis];"""
UNIT = """\
const int THREADS = {threads}, UNITS = {units}, PARTS = {parts}, BLOCKS = {blocks};
const int SHARE = (UNITS + BLOCKS - 1) / BLOCKS;
const int rank = blockIdx.x % BLOCKS, part = threadIdx.x % PARTS, found = rank * SHARE + threadIdx.x / PARTS;
const int unit = found < UNITS ? found : UNITS - 1;
const long long row = blockIdx.x / BLOCKS;
const bool exists = threadIdx.x / PARTS < SHARE && found < UNITS, writes = exists && part == 0;"""


class Steps:
    """What a step computes for an element or a unit, as lines of C.

    Attributes
    ----------
    rank : int
        How many strides a load has: of elements all of them, of units the row's and the column's.
    units : int
        Of each row; 0: the form of elements.
    loads : dict
        (argument, axis of the argument for each stride or None) → groups of columns.
    values : dict
        Argument on the host, of one element → dtype.
    products : list of (argument, axes, length, groups, dtype)
        The matrix, which of its axes are rows and columns, and how many; their weights are ``own0``, ``own1``, ...
    shared : list of (length, dtype)
        The vectors that are exchanged.
    outputs : list of (names, dtype)
        For each state and stacked value, what is written, one name a group.
    states : list of int
        Of each state, how many steps back it is read.
    carried : list of (names, dtype)
        What carried values become.
    lines : list of str
    """

    def __init__(self, rank, units, dtypes, n_moving, first_carried, first_whole):
        self.rank, self.units, self.dtypes = rank, units, dtypes
        self.n_moving, self.first_carried, self.first_whole = n_moving, first_carried, first_whole
        self.loads, self.values, self.products, self.shared, self.lines = {}, {}, [], [], []
        self.outputs, self.states, self.carried = [], [], []
        self.exchanged, self.waiting, self.names = {}, [], 0

    # ---- what a step computes ----------------------------------------------------------------------------------------
    def new_name(self):
        """The name of a variable that is not used yet."""
        self.names += 1
        return f"t{self.names}"

    def load(self, argument, axes, groups):
        """The names of an argument's elements."""
        self.loads[argument, axes] = groups
        number = list(self.loads).index((argument, axes))
        return [f"x{number}_{group}" for group in range(groups)]

    def compute(self, lines, results):
        """Add lines with variables of their own; the names of expressions after them: pairs of a text and a dtype."""
        names = [self.new_name() for _ in results]
        self.lines.append(" ".join([*[f"{computed(dtype)} {name};" for name, (_, dtype) in zip(names, results)], "{",
                                    *lines, *[f"{name} = {text};" for name, (text, _) in zip(names, results)], "}"]))
        return names

    def exchange(self, names, dtype):
        """Let all threads of a row see elements; the number of the vector."""
        key = tuple(names)
        if key not in self.exchanged:
            number = self.exchanged[key] = len(self.shared)
            self.shared.append((len(names) * self.units, dtype))
            if self._state_of(key) is None:
                self.lines += self._exchange(number, "k", "t0 + k", names)
                self.waiting.append(number)
        return self.exchanged[key]

    @staticmethod
    def _exchange(number, k, step, names):
        """Write elements to a vector, for all threads of the row."""
        return [f"EXCHANGE({number}, {k}, {step}, {group} * UNITS + unit, {name})" for group, name in enumerate(names)]

    @staticmethod
    def _wait(numbers, k, step):
        """Wait until vectors are there."""
        return [*[f"RECEIVE({number}, {k}, {step})" for number in numbers], "wait();"]

    @staticmethod
    def _state_of(names):
        """The state whose last row a vector is: it is exchanged at the end of the step that computes it."""
        state, back, _ = names[0][1:].split("_") if names[0][0] == "h" else ("", "", "")
        is_row = back == "1" and names == tuple([f"h{state}_1_{group}" for group in range(len(names))])
        return int(state) if is_row else None

    def multiply(self, vector, argument, axes, groups):
        """The names of the products of a vector with a matrix."""
        if self.waiting:
            self.lines += ["arrive();", *self._wait(self.waiting, "k", "t0 + k")]
            self.waiting = []
        length, dtype = self.shared[vector]
        number, name = len(self.products), self.new_name()
        self.products.append((argument, axes, length, groups, dtype))
        self.lines.append(f"{computed(dtype)} {name}[{groups}]; multiply<{groups}, EACH{number}, PARTS>(own{number}, "
                          f"shared{vector} + (k & 1) * SIZE{vector}, part, {name});")
        return [f"{name}[{group}]" for group in range(groups)]

    # ---- the source --------------------------------------------------------------------------------------------------
    def threads(self, parts, blocks):
        """How many threads a block has."""
        return (-(-self.units // blocks) * parts + 31) // 32 * 32 if self.units else 256

    def weights(self, parts):
        """How many words of weights a thread has."""
        return sum([groups * each_of(length, parts) * (2 if dtype == "float64" else 1)
                    for _, _, length, groups, dtype in self.products])

    def words(self, blocks):
        """How many words of memory the blocks of a row need to exchange vectors."""
        return sum([2 * length for length, _ in self.shared]) if blocks > MOST_OF_A_CLUSTER else 0

    def ahead(self, moving, parts, blocks):
        """How many steps ahead rows are read; each element that is has two registers of those that a thread may have
        beside its weights. An LSTM of 256 units would keep some in local memory with 4."""
        if not self.units:
            return 8
        own = min(REGISTERS // self.threads(parts, blocks), 255) - OTHER_REGISTERS - self.weights(parts)
        return 4 if len(moving) < 3 and 2 * 4 * sum([self.loads[key] for key in moving]) <= own else 2

    def source(self, parts, blocks):
        """The whole text; ``parts`` threads have a unit, ``blocks`` a row."""
        moving = {key: number for number, key in enumerate(self.loads) if key[0] < self.n_moving}
        ahead = self.ahead(moving, parts, blocks)
        parameters = ["long long n", *([] if self.units else ["long long count", "Shape shape"]),
                      *[f"Load load{number}" for number in range(len(self.loads))],
                      *[f"Rows rows{number}" for number in range(len(self.outputs))],
                      *[f"char* carried{number}" for number in range(len(self.carried))],
                      *[f"Matrix matrix{number}" for number in range(len(self.products))],
                      *[f"{stored(dtype)} v{argument}" for argument, dtype in self.values.items()]]
        exchange, together = ((IN_BLOCK, "") if blocks == 1 else
                              (IN_CLUSTER, f"__cluster_dims__({blocks}, 1, 1) ") if blocks <= MOST_OF_A_CLUSTER else
                              (IN_GRID, f"RESIDENT({blocks}) "))
        parameters += ["Word* words"] if exchange is IN_GRID else []
        return with_functions(exchange + TEMPLATE.format(
            rank=max(self.rank, 1), threads=self.threads(parts, blocks), ahead=ahead, parameters=", ".join(parameters),
            together=together,
            before="\n    ".join(self._before(moving, ahead, parts, blocks)),
            coming="\n        ".join(self._coming(moving, ahead)),
            step="\n            ".join([*self._now(moving), *self.lines, *self._results()]),
            after="\n    ".join(self._after())))

    def _place(self, number, group):
        """Where an element of a load is in its row."""
        if not self.units:
            return f"at{number}"
        return f"row * load{number}.strides[0] + ({group} * UNITS + unit) * load{number}.strides[1]"

    def _own_place(self, group, groups, dtype):
        """Where an element is in a row of its own memory, in C order."""
        place = f"(row * {groups} + {group}) * UNITS + unit" if self.units else "element"
        return f"({place}) * {'(long long)'}sizeof({stored(dtype)})"

    def _dtype(self, key):
        return self.dtypes[key[0]]

    def _before(self, moving, ahead, parts, blocks):
        lines = (UNIT.format(threads=self.threads(parts, blocks), units=self.units, parts=parts, blocks=blocks)
                 if self.units else ELEMENT).splitlines()
        for number in range(0 if self.units else len(self.loads)):
            lines += WALK.format(load=number, rank=self.rank).splitlines()
        for argument, dtype in self.values.items():
            lines.append(f"const {computed(dtype)} w{argument} = {loaded(dtype, f'v{argument}')};")
        for number, (key, groups) in enumerate(self.loads.items()):
            element = stored(self._dtype(key))
            for group in range(groups):
                address = f"load{number}.data + {self._place(number, group)}"
                if key in moving:
                    lines += [f"const char* from{number}_{group} = {address};",
                              f"{element} next{number}_{group}[{ahead}];",
                              f"for (int k = 0; k < {ahead}; k++) next{number}_{group}[k] = k < n ? "
                              f"*(const {element}*)(from{number}_{group} + k * load{number}.step) : ({element})0;"]
                else:
                    lines.append(f"const {computed(self._dtype(key))} x{number}_{group} = "
                                 f"{loaded(self._dtype(key), f'*(const {element}*)({address})')};")
        for state, back in enumerate(self.states):
            names, dtype = self.outputs[state]
            for group in range(len(names)):
                for steps in range(1, back + 1):
                    address = f"row_before(rows{state}, {steps}) + {self._own_place(group, len(names), dtype)}"
                    lines.append(f"{computed(dtype)} h{state}_{steps}_{group} = "
                                 f"{loaded(dtype, f'*(const {stored(dtype)}*)({address})')};")
        for number, (names, dtype) in enumerate(self.carried):
            for group in range(len(names)):
                element = f"*(const {stored(dtype)}*)(carried{number} + {self._own_place(group, len(names), dtype)})"
                lines.append(f"{computed(dtype)} c{number}_{group} = {loaded(dtype, element)};")
        lines += [f"char* to{number} = first_written(rows{number});" for number in range(len(self.outputs))]
        first, words = 0, sum([2 * length for length, _ in self.shared])
        for number, (length, dtype) in enumerate(self.shared):
            if blocks > MOST_OF_A_CLUSTER:
                lines += [f"const int LENGTH{number} = {length};",
                          f"Word* const words{number} = words + row * {words} + {first};"]
                first += 2 * length
            lines += [f"const int SIZE{number} = {each_of(length, parts) * parts};",
                      f"__shared__ Four<{stored(dtype)}> room{number}[SIZE{number} / 2];",
                      f"{stored(dtype)}* const shared{number} = ({stored(dtype)}*)room{number};",
                      f"for (int i = threadIdx.x; i < 2 * SIZE{number}; i += blockDim.x) shared{number}[i] = 0;"]
        for number, (_, _, length, groups, dtype) in enumerate(self.products):
            lines += [f"const int EACH{number} = {each_of(length, parts)};",
                      f"{stored(dtype)} own{number}[{groups}][EACH{number}];",
                      f"load_weights<{groups}, EACH{number}, PARTS>(matrix{number}, own{number}, {length}, UNITS, "
                      "unit, part);"]
        if self.shared:
            lines.append("arrive(); wait();")
        for names, number in self.exchanged.items():
            if self._state_of(names) is not None:
                lines += [*self._exchange(number, 0, 0, names), "arrive();", *self._wait([number], 0, 0)]
        return lines

    def _coming(self, moving, ahead):
        """The rows of the next steps, which are loaded while these are computed."""
        lines = []
        for key, number in moving.items():
            element = stored(self._dtype(key))
            for group in range(self.loads[key]):
                one = f"{number}_{group}"
                lines += [f"{element} now{one}[{ahead}];", "#pragma unroll",
                          f"for (int k = 0; k < {ahead}; k++) {{ now{one}[k] = next{one}[k]; next{one}[k] = "
                          f"t0 + {ahead} + k < n ? *(const {element}*)(from{one} + (t0 + {ahead} + k) * "
                          f"load{number}.step) : ({element})0; }}"]
        return lines

    def _now(self, moving):
        return [f"const {computed(self._dtype(key))} x{number}_{group} = "
                f"{loaded(self._dtype(key), f'now{number}_{group}[k]')};"
                for key, number in moving.items() for group in range(self.loads[key])]

    def _results(self):
        """What is written, and what the next step finds."""
        lines, moves, writing = [], [], []
        for number, (names, dtype) in enumerate(self.outputs):
            writes = []
            for group, name in enumerate(names):
                lines.append(f"const {computed(dtype)} y{number}_{group} = {name};")
                writes.append(f"*({stored(dtype)}*)(to{number} + {self._own_place(group, len(names), dtype)}) = "
                              f"{to_store(dtype, f'y{number}_{group}')};")
                if number < len(self.states):
                    moves += [f"h{number}_{steps}_{group} = h{number}_{steps - 1}_{group};"
                              for steps in range(self.states[number], 1, -1)]
                    moves.append(f"h{number}_1_{group} = y{number}_{group};")
            writing.append(f"if (t0 + k >= rows{number}.first) {{ if (writes) {{ {' '.join(writes)} }} "
                           f"to{number} += rows{number}.stride; if (to{number} == rows{number}.end) "
                           f"to{number} = rows{number}.begin; }}")
        exchanged = [(self._state_of(names), number, len(names)) for names, number in self.exchanged.items()
                     if self._state_of(names) is not None]
        for state, number, groups in exchanged:
            lines += self._exchange(number, "k + 1", "t0 + k + 1", [f"y{state}_{group}" for group in range(groups)])
        if exchanged:                               # rows are written while the blocks wait for each other
            numbers = [number for _, number, _ in exchanged]
            writing = ["arrive();", *writing, *self._wait(numbers, "k + 1", "t0 + k + 1")]
        for number, (names, dtype) in enumerate(self.carried):
            lines += [f"const {computed(dtype)} z{number}_{group} = {name};" for group, name in enumerate(names)]
            moves += [f"c{number}_{group} = z{number}_{group};" for group in range(len(names))]
        return [*lines, *writing, *moves]

    def _after(self):
        return [f"if (writes) *({stored(dtype)}*)(carried{number} + {self._own_place(group, len(names), dtype)}) = "
                f"{to_store(dtype, f'c{number}_{group}')};"
                for number, (names, dtype) in enumerate(self.carried) for group in range(len(names))]


def each_of(length, parts):
    """How many numbers of a vector each of some threads has, in fours."""
    return -(-length // (4 * parts)) * 4
