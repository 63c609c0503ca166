"""Factorizations of matrices and what follows from them on the device: a block of threads for each matrix of a stack.

Cholesky factors, LU factors with pivots, solutions of triangular and other systems, inverses, determinants. Factors are
those that LAPACK makes, in the same memory order (see ``ops/factorizations``). What the processor refuses while it
computes (an element that is not finite, a matrix that is not positive definite, a singular one) is refused here, too:
the first matrix of a stack that is refused decides which error it is. Matrices of complex numbers are the processor's.

Small matrices are computed in shared memory. Larger ones are left to cuSOLVER and cuBLAS, where they are used.

All threads of a block take the same branches around barriers: what decides is read by all of them, after a barrier.
"""
from phintys.gpu.kernels.general_source import ALL, BLOCKS, CALL, COPY, THREADS, Description, Launch, describe
from phintys.gpu.kernels.scalar_source import NoSource, computed
from phintys.gpu.libraries import cusolver
from phintys.graph.config import config
from phintys.ops.factorizations.cholesky_kernel import CholeskyInverseKernel, CholeskyKernel, MirrorKernel
from phintys.ops.factorizations.lu_kernel import (
    DeterminantKernel,
    InverseKernel,
    LUFactorKernel,
    LUSolveKernel,
    SolveKernel,
)
from phintys.ops.factorizations.triangular_kernel import TriangularSolveKernel

SIZES = {"float32": 4, "float64": 8}
NEAR_ORDERS = cusolver.NEAR_ORDERS
NOT_FINITE = -1000000           # as in ops/factorizations/stack_kernel.pxd

FUNCTIONS = """\
typedef {T} T;
enum {{ NOT_FINITE = {not_finite}, NEAR = {near}, NEAR_SIDES = {near_sides}, HELD = {held} }};
// A matrix, or a vector with one column: elements by row and column.
struct Matrix {{
    char* data;
    long long rows, columns, row_step, column_step;
    __device__ T& operator()(long long row, long long column) const {{
        return *(T*)(data + row * row_step + column * column_step);
    }}
    __device__ Matrix transposed() const {{ return Matrix{{data, columns, rows, column_step, row_step}}; }}
}};
// Item `number` of the stack of `leader`, of an operand whose leading dimensions may have length 1 instead.
template <int RANK, int L, int R> __device__ inline Matrix item(const View<L>& leader, int lead, const View<R>& v,
                                                              long long number) {{
    char* data = v.data;
    for (int axis = lead - 1; axis >= 0; axis--) {{
        const long long above = number / leader.shape[axis];
        if (v.shape[axis] != 1) data += (number - above * leader.shape[axis]) * v.strides[axis];
        number = above;
    }}
    Matrix found = {{data, 1, 1, sizeof(T), sizeof(T)}};
    if (RANK > 0) found.rows = v.shape[R - RANK], found.row_step = v.strides[R - RANK];
    if (RANK > 1) found.columns = v.shape[R - 1], found.column_step = v.strides[R - 1];
    return found;
}}
// The number of the item of `v` that item `number` of `leader` uses.
template <int L, int R> __device__ inline long long number_of_item(const View<L>& leader, int lead, const View<R>& v,
                                                                   long long number) {{
    long long found = 0, size = 1;
    for (int axis = lead - 1; axis >= 0; axis--) {{
        const long long above = number / leader.shape[axis];
        if (v.shape[axis] != 1) found += (number - above * leader.shape[axis]) * size;
        size *= v.shape[axis];
        number = above;
    }}
    return found;
}}
__device__ inline bool is_finite(T x) {{ return x - x == (T)0; }}
__device__ inline T not_a_number() {{ return (T)NAN; }}
// Note that an item is refused; of several ones the first counts.
__device__ inline void refuse_by_thread(unsigned long long* note, long long number, int reason) {{
    atomicMax(note, ~((unsigned long long)number << 32 | (unsigned)reason));
    raise_flag(note);
}}
__device__ inline void refuse(unsigned long long* note, long long number, int reason) {{
    if (threadIdx.x == 0) refuse_by_thread(note, number, reason);
}}
// How the threads of a block walk over a matrix: `wide` neighbours in a row, and rows `high` apart.
struct Walk {{
    int wide, high, across, down;
    __device__ Walk(long long columns) {{
        wide = columns >= 16 ? 16 : columns >= 4 ? 4 : 1, high = GROUP / wide;
        across = threadIdx.x % wide, down = threadIdx.x / wide;
    }}
}};
template <class F> __device__ inline void each(const Matrix& x, F function) {{
    const Walk walk(x.columns);
    for (long long r = walk.down; r < x.rows; r += walk.high)
        for (long long c = walk.across; c < x.columns; c += walk.wide) function(r, c);
}}
__device__ inline bool all_finite(const Matrix& x) {{
    double bad = 0;
    each(x, [&](long long r, long long c) {{ if (!is_finite(x(r, c))) bad = 1; }});
    return total(bad) == 0;
}}
__device__ inline void fill(const Matrix& x, T value) {{
    __syncthreads();
    each(x, [&](long long r, long long c) {{ x(r, c) = value; }});
    __syncthreads();
}}
__device__ inline void copy(const Matrix& to, const Matrix& from) {{
    each(to, [&](long long r, long long c) {{ to(r, c) = from(r, c); }});
    __syncthreads();
}}
__device__ inline void identity(const Matrix& x) {{
    each(x, [&](long long r, long long c) {{ x(r, c) = r == c ? 1 : 0; }});
    __syncthreads();
}}
// Where a square matrix is computed: in shared memory if it is small, else in its own. An odd distance of rows lets
// threads read a column, too, without waiting for each other. The same for a few right sides.
static __device__ inline Matrix near_matrix(const Matrix& x) {{
    __shared__ T near[NEAR * (NEAR | 1)];
    if (x.rows > NEAR) return x;
    return Matrix{{(char*)near, x.rows, x.columns, (x.rows | 1) * (long long)sizeof(T), (long long)sizeof(T)}};
}}
static __device__ inline Matrix near_sides(const Matrix& y) {{
    __shared__ T near[NEAR_SIDES];
    if (y.rows * y.columns > NEAR_SIDES) return y;
    return Matrix{{(char*)near, y.rows, y.columns, y.columns * (long long)sizeof(T), (long long)sizeof(T)}};
}}
__device__ inline void leave(const Matrix& near, const Matrix& x) {{
    if (near.data != x.data) copy(x, near);
}}
// The first zero of a diagonal, from 1 on; 0: there is none.
static __device__ inline int first_zero(const Matrix& x) {{
    __shared__ int least;
    if (threadIdx.x == 0) least = 0x7fffffff;
    __syncthreads();
    for (long long k = threadIdx.x; k < x.rows; k += GROUP)
        if (x(k, k) == (T)0) atomicMin(&least, (int)k + 1);
    __syncthreads();
    const int found = least;
    __syncthreads();
    return found == 0x7fffffff ? 0 : found;
}}
// y = inverse(x) y for a triangular matrix, in place. The diagonal divides at the end, so a step has one barrier.
__device__ inline void substitute(const Matrix& x, bool lower, bool unit, const Matrix& y) {{
    const long long n = x.rows;
    const Walk walk(y.columns);
    __syncthreads();
    for (long long step = 0; step < n; step++) {{
        const long long k = lower ? step : n - 1 - step, first = lower ? k + 1 : 0, end = lower ? n : k;
        const T pivot = unit ? (T)1 : x(k, k);
        for (long long c = walk.across; c < y.columns; c += walk.wide) {{
            const T known = y(k, c) / pivot;
            for (long long r = first + walk.down; r < end; r += walk.high) y(r, c) -= x(r, k) * known;
        }}
        __syncthreads();
    }}
    if (!unit) each(y, [&](long long r, long long c) {{ y(r, c) /= x(r, r); }});
    __syncthreads();
}}
// The lower Cholesky factor of a matrix in its lower triangle. Returns 0, or the number of the row where there is none.
// Columns are divided by the roots at the end, so a step has one barrier.
__device__ inline int cholesky(const Matrix& x) {{
    const long long n = x.rows;
    const Walk walk(16);
    __syncthreads();
    for (long long k = 0; k < n; k++) {{
        const T pivot = x(k, k);
        if (!(pivot > 0)) {{ __syncthreads(); return (int)k + 1; }}
        for (long long r = k + 1 + walk.down; r < n; r += walk.high) {{
            const T factor = x(r, k) / pivot;
            for (long long c = k + 1 + walk.across; c <= r; c += walk.wide) x(r, c) -= factor * x(c, k);
        }}
        __syncthreads();
    }}
    each(x, [&](long long r, long long c) {{ if (c < r) x(r, c) /= sqrt(x(c, c)); }});
    __syncthreads();
    for (long long k = threadIdx.x; k < n; k += GROUP) x(k, k) = sqrt(x(k, k));
    __syncthreads();
    return 0;
}}
// The same for a small matrix, in registers: a thread has elements in rows `down` + 8 i and columns `across` + 16 j.
// Those of column k give it to all, so a step has one barrier; columns are exchanged by two places in turn.
static __device__ inline int cholesky_in_registers(const Matrix& from, const Matrix& to) {{
    enum {{ ROWS = HELD / 8, COLUMNS = HELD / 16 }};
    __shared__ T exchanged[2][HELD];
    const int n = (int)from.rows, across = threadIdx.x % 16, down = threadIdx.x / 16;
    T own[ROWS][COLUMNS];
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {{
            const int r = down + 8 * i, c = across + 16 * j;
            own[i][j] = r < n && c <= r ? from(r, c) : (T)0;
        }}
    int failed = 0;
#pragma unroll
    for (int part = 0; part < COLUMNS; part++)
        for (int k = 16 * part; k < min(n, 16 * part + 16) && !failed; k++) {{
            T* column = exchanged[k & 1];
            if (across == k - 16 * part)
#pragma unroll
                for (int i = 0; i < ROWS; i++) column[down + 8 * i] = own[i][part];
            __syncthreads();
            const T pivot = column[k];
            if (!(pivot > 0)) failed = k + 1;
            const T root = sqrt(pivot), inverse = (T)1 / pivot;
            T factors[COLUMNS];
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) {{
                const int c = across + 16 * j;
                factors[j] = c > k ? column[c] * inverse : (T)0;
            }}
#pragma unroll
            for (int i = 0; i < ROWS; i++) {{
                const int r = down + 8 * i;
                const T value = r > k ? column[r] : (T)0;
#pragma unroll
                for (int j = 0; j < COLUMNS; j++) own[i][j] -= value * factors[j];
                if (across == k - 16 * part && r >= k) own[i][part] = r == k ? root : value / root;
            }}
        }}
    if (failed) return failed;
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {{
            const int r = down + 8 * i, c = across + 16 * j;
            if (r < n && c < n) to(r, c) = c <= r ? own[i][j] : (T)0;
        }}
    return 0;
}}
// The row of the largest magnitude in column k from the diagonal on, the first of equal ones: a warp finds it.
static __device__ inline long long pivot_of(const Matrix& x, long long k) {{
    __shared__ int chosen;
    if (threadIdx.x < 32) {{
        T best = -1;
        int row = (int)k;
        for (long long r = k + threadIdx.x; r < x.rows; r += 32) {{
            const T size = x(r, k) < 0 ? -x(r, k) : x(r, k);
            if (size > best) best = size, row = (int)r;
        }}
        for (int half = 16; half; half /= 2) {{
            const T other = __shfl_xor_sync(0xffffffffu, best, half);
            const int there = __shfl_xor_sync(0xffffffffu, row, half);
            if (other > best || (other == best && there < row)) best = other, row = there;
        }}
        if (threadIdx.x == 0) chosen = row;
    }}
    __syncthreads();
    return chosen;
}}
// L and U of a matrix with its rows exchanged, in its memory; rows k and pivots(k) - 1 were exchanged in step k. L is
// divided at the end.
template <class P> __device__ inline void lu(const Matrix& x, P pivots) {{
    const long long n = x.rows;
    const Walk walk(16);
    __syncthreads();
    for (long long k = 0; k < n; k++) {{
        const long long row = pivot_of(x, k);
        if (threadIdx.x == 0) pivots(k) = (int)row + 1;
        for (long long c = threadIdx.x; c < n && row != k; c += GROUP) {{
            const T kept = x(k, c);
            x(k, c) = x(row, c), x(row, c) = kept;
        }}
        __syncthreads();
        const T pivot = x(k, k);
        for (long long r = k + 1 + walk.down; r < n && pivot != (T)0; r += walk.high) {{
            const T factor = x(r, k) / pivot;
            for (long long c = k + 1 + walk.across; c < n; c += walk.wide) x(r, c) -= factor * x(k, c);
        }}
        __syncthreads();
    }}
    each(x, [&](long long r, long long c) {{ if (c < r && x(c, c) != (T)0) x(r, c) /= x(c, c); }});
    __syncthreads();
}}
// Exchange rows as an LU factorization did, or back: a thread for each column.
template <class P> __device__ inline void exchange(const Matrix& y, P pivots, long long n, bool back) {{
    for (long long c = threadIdx.x; c < y.columns; c += GROUP)
        for (long long step = 0; step < n; step++) {{
            const long long k = back ? n - 1 - step : step, row = pivots(k) - 1;
            const T kept = y(k, c);
            y(k, c) = y(row, c), y(row, c) = kept;
        }}
    __syncthreads();
}}
// y = inverse(P L U) y, or of its transpose.
template <class P> __device__ inline void lu_solve(const Matrix& x, P pivots, bool transposed, const Matrix& y) {{
    __syncthreads();
    if (!transposed) {{
        exchange(y, pivots, x.rows, false);
        substitute(x, true, true, y);
        substitute(x, false, false, y);
        return;
    }}
    substitute(x.transposed(), true, false, y);
    substitute(x.transposed(), false, true, y);
    exchange(y, pivots, x.rows, true);
}}
struct Pivots {{
    char* data;
    long long step;
    __device__ int& operator()(long long k) const {{ return *(int*)(data + k * step); }}
}};
// Memory for the factors of an item, and for its pivots.
__device__ inline Matrix factor_in(char* scratch, long long number, long long n) {{
    return Matrix{{scratch + number * n * n * ((long long)sizeof(T) + 8), n, n, n * (long long)sizeof(T),
                  (long long)sizeof(T)}};
}}
__device__ inline Pivots pivots_in(char* scratch, long long number, long long n) {{
    return Pivots{{factor_in(scratch, number, n).data + n * n * sizeof(T), 4}};
}}
// Where the parts of scratch memory are when a library computes: as in libraries/cusolver.pyx. Matrices and right sides
// are stored by columns.
__device__ inline char* behind(void* part, long long bytes) {{ return (char*)part + (bytes + 255) / 256 * 256; }}
template <class E> struct RoomOf {{
    int *bad, *info, *pivots;                       // of each matrix, then of each item of right sides: not finite
    int*& first_zeros = info;                       // n less their number, from 0 on
    E **matrices, *factors, *sides;
    __device__ RoomOf(char* scratch, long long items, long long count, long long n, long long columns) {{
        bad = (int*)scratch;
        info = (int*)behind(bad, 4 * (items + count));
        pivots = (int*)behind(info, 4 * count);
        matrices = (E**)behind(pivots, 4 * count * n);
        factors = (E*)behind(matrices, 8 * count);
        sides = (E*)behind(factors, count * n * n * (long long)sizeof(E));
    }}
}};
typedef RoomOf<T> Room;
template <int R> __device__ inline long long items_of(const View<R>& v, int lead) {{
    long long count = 1;
    for (int axis = 0; axis < lead; axis++) count *= v.shape[axis];
    return count;
}}
"""


def functions(dtype):
    """The functions of this page. NEAR: the order of the largest matrix in shared memory, of which there are 48 KiB."""
    near, sides = (NEAR_ORDERS[dtype], 4096 // SIZES[dtype])
    return FUNCTIONS.format(T=computed(dtype), not_finite=NOT_FINITE, near=near, near_sides=sides, held=cusolver.HELD)


def described(names, dtype, bodies, launches, refuses, scratch=None, routine=None, by_routine=()):
    """A description with the functions of this page; `refuses`: the bodies may refuse a matrix. Without a routine the
    bodies are those of the other launches."""
    if dtype not in SIZES:
        raise NoSource(dtype)
    if scratch is not None:
        scratch = scratch, SIZES[dtype] + 8
    if routine is None:
        bodies, by_routine = {launch.which: bodies[launch.which] for launch in launches}, ()
    return Description(names, bodies, launches, functions(dtype),
                       scratch=scratch, refuses=refuses, routine=routine, by_routine=by_routine)


def items(operand, lead, kernel="compute"):
    """A launch with a block for each item of an operand."""
    return Launch(BLOCKS, kernel, operand, (1 << lead) - 1)


def rows(operand, lead, kernel):
    """A launch with a block for each row of a matrix."""
    return Launch(BLOCKS, kernel, operand, (2 << lead) - 1)


def columns(operand, lead, rank, kernel):
    """A launch with a block for each right side of an operand."""
    return Launch(BLOCKS, kernel, operand, (1 << lead) - 1 | (2 << lead if rank == 2 else 0))


def step(name):
    """A step of the library's routine."""
    return Launch(CALL, cusolver.STEPS[name])


def failing(nan, out="y"):
    """What is done with an item that cannot be computed, for the number `reason`."""
    return f"{{ fill({out}, not_a_number()); return; }}" if nan else "{ refuse(note, i, reason); return; }"


def given(names, arguments, named):
    """The arguments of a kernel by name."""
    return dict(zip(names, arguments)) | named


@describe(CholeskyKernel)
def factor(arguments, named, operands):
    told = given(("dtype", "lead", "lower", "nan"), arguments, named)
    lead, lower, nan = told["lead"], told["lower"], told["nan"]
    side = "" if lower else ".transposed()"
    body = f"""\
    const Matrix x0 = item<2>(x, {lead}, x, i){side}, y = item<2>(out, {lead}, out, i){side};
    int reason = all_finite(x0) ? 0 : NOT_FINITE;
    if (!reason && x0.rows <= HELD)
        reason = cholesky_in_registers(x0, y);
    else if (!reason) {{
        each(y, [&](long long r, long long c) {{ y(r, c) = c <= r ? x0(r, c) : (T)0; }});
        reason = cholesky(y);
    }}
    if (reason) {failing(nan)}
"""
    # cuSOLVER gets the matrix in the upper triangle, for C order; what it leaves in the other one is not said (it
    # mirrors the factors of several matrices). Each block has a row of the result.
    start = f"""\
    const long long n = out.shape[{lead}], number = i / n, r = i % n;
    const Room room(scratch, 0, items_of(out, {lead}), n, 0);
    const Matrix y = item<2>(out, {lead}, out, number);
"""
    begin = f"""\
{start}\
    const Matrix x0 = item<2>(x, {lead}, x, number);
    if (r == 0 && threadIdx.x == 0) room.matrices[number] = &y(0, 0);
    for (long long c = threadIdx.x; c < n; c += GROUP) {{
        const T value = x0(r, c);
        if (!is_finite(value)) room.bad[number] = 1;
        if ({"c <= r" if lower else "c >= r"}) y({"c, r" if lower else "r, c"}) = value;
    }}
"""
    refused = "y(r, c) = not_a_number();" if nan else "refuse_by_thread(note, number, reason);"
    finish = f"""\
{start}\
    const int reason = room.bad[number] ? NOT_FINITE : room.info[number];
    for (long long c = threadIdx.x; c < n; c += GROUP) {{
        if (reason) {{ {refused} }}
        else if (c < r) {{
            {"y(r, c) = y(c, r); y(c, r) = 0;" if lower else "y(r, c) = 0;"}
        }}
    }}
"""
    bodies = {"compute": (BLOCKS, body), "begin": (BLOCKS, begin), "finish": (BLOCKS, finish)}
    routine = cusolver.CholeskyRoutine(told["dtype"], lead) if config.gpu.cusolver else None
    return described(["x", "out"], told["dtype"], bodies, [items("out", lead)], not nan, None, routine,
                     [step("clear"), rows("out", lead, "begin"), step("factor"), rows("out", lead, "finish")])


@describe(MirrorKernel)
def mirror(arguments, named, operands):
    dtype, lead = arguments
    body = f"""\
    const long long n = out.shape[{lead}];
    const Matrix from = item<2>(x, {lead}, x, n ? i / (n * n) : 0), to = item<2>(out, {lead}, out, n ? i / (n * n) : 0);
    const long long r = i / n % n, c = i % n;
    to(r, c) = c <= r ? from(r, c) : from(c, r);
"""
    return described(["x", "out"], dtype, {"compute": (THREADS, body)}, [Launch(THREADS, "compute", "out", ALL)], False)


@describe(CholeskyInverseKernel)
def inverse_of_factor(arguments, named, operands):
    told = given(("dtype", "lead", "nan"), arguments, named)
    lead = told["lead"]
    body = f"""\
    const Matrix x0 = item<2>(x, {lead}, x, i), y = item<2>(out, {lead}, out, i);
    const Matrix l = near_matrix(factor_in(scratch, i, x0.rows));
    const int reason = first_zero(x0);
    if (reason) {failing(told["nan"])}
    copy(l, x0);
    identity(y);
    substitute(l, true, false, y);
    substitute(l.transposed(), false, false, y);
"""
    return described(["x", "out"], told["dtype"], {"compute": (BLOCKS, body)}, [items("out", lead)],
                     not told["nan"], "x")


@describe(TriangularSolveKernel)
def solve_triangular(arguments, named, operands):
    told = given(("dtype", "lead", "rank", "lower", "transposition", "unit", "nan"), arguments, named)
    lead, rank, nan, lower = told["lead"], told["rank"], told.get("nan", False), told["lower"]
    side = ".transposed()" if told["transposition"] else ""
    effective = str(bool(lower) != bool(told["transposition"])).lower()
    unit = str(bool(told["unit"])).lower()
    checks = "" if nan else f"""\
    double bad = 0;
    for (long long e = threadIdx.x; e < x0.rows * x0.rows; e += GROUP) {{
        const long long r = e / x0.rows, c = e % x0.rows;
        const bool is_read = c == r ? !{unit} : (c < r) == {effective};
        if (is_read && !is_finite(x0(r, c))) bad = 1;
    }}
    if (total(bad) != 0 || !all_finite(y)) reason = NOT_FINITE;
"""
    body = f"""\
    const Matrix x0 = item<2>(out, {lead}, x, i){side}, y0 = item<{rank}>(out, {lead}, out, i), y = near_sides(y0);
    copy(y, item<{rank}>(out, {lead}, b, i));
    if (y.rows == 0 || y.columns == 0) return;
    int reason = 0;
{checks}    if (!reason && !{unit}) reason = first_zero(x0);
    if (reason) {failing(nan, "y0")}
    const Matrix w = near_matrix(x0);
    if (w.data != x0.data) copy(w, x0);
    substitute(w, {effective}, {unit}, y);
    leave(y, y0);
"""
    # By cuBLAS: what is refused is found in the rows of the matrices, and in the right sides, which are copied.
    room = f"""\
    const long long n = x.shape[{lead}], count = items_of(x, {lead});
    const Room room(scratch, items_of(out, {lead}), count, 0, 0);
"""
    take_matrices = f"""\
{room}\
    const long long number = i / n, r = i % n;
    const Matrix x0 = item<2>(x, {lead}, x, number);
    for (long long c = threadIdx.x; c < n; c += GROUP)
        if (r == c ? {"false" if told["unit"] else "!is_finite(x0(r, c))"} : (c < r) == {str(bool(lower)).lower()}
                && !is_finite(x0(r, c))) room.bad[number] = 1;
    if (threadIdx.x == 0 && x0(r, r) == (T)0) atomicMax(room.first_zeros + number, (int)(n - r));
"""
    take_sides = f"""\
{room}\
    const long long columns = {f"out.shape[{lead + 1}]" if rank == 2 else "1"}, number = i / columns, c = i % columns;
    const Matrix from = item<{rank}>(out, {lead}, b, number), to = item<{rank}>(out, {lead}, out, number);
    for (long long r = threadIdx.x; r < n; r += GROUP) {{
        const T value = from(r, c);
        if (!is_finite(value)) room.bad[count + number] = 1;
        to(r, c) = value;
    }}
"""
    refused = "" if nan else "room.bad[own] || room.bad[count + i] ? NOT_FINITE : "
    finish = f"""\
{room}\
    const long long own = number_of_item(out, {lead}, x, i);
    const Matrix y = item<{rank}>(out, {lead}, out, i);
    const int zero = {"0" if told["unit"] else "room.first_zeros[own]"};
    const int reason = {refused}zero ? (int)n - zero + 1 : 0;
    if (reason) {failing(nan)}
"""
    routine = cusolver.TriangularRoutine(told["dtype"], lead, rank, bool(lower), bool(told["transposition"]),
                                         bool(told["unit"])) if config.gpu.cusolver else None
    bodies = {"compute": (BLOCKS, body), "take_matrices": (BLOCKS, take_matrices), "take_sides": (BLOCKS, take_sides),
              "finish": (BLOCKS, finish)}
    return described(["x", "b", "out"], told["dtype"], bodies, [items("out", lead)], not nan, None, routine,
                     [step("clear"), rows("x", lead, "take_matrices"), columns("out", lead, rank, "take_sides"),
                      step("solve"), items("out", lead, "finish")])


@describe(LUFactorKernel)
def lu_factor(arguments, named, operands):
    dtype, lead = arguments
    body = f"""\
    const Matrix y = item<2>(out, {lead}, out, i), p = item<1>(pivots, {lead}, pivots, i);
    const Matrix w = near_matrix(y.transposed());
    copy(w, item<2>(x, {lead}, x, i).transposed());
    lu(w, Pivots{{p.data, p.row_step}});
    leave(w, y.transposed());
"""
    routine = cusolver.LUFactorRoutine(dtype, lead) if config.gpu.cusolver else None
    return described(["x", "out", "pivots"], dtype, {"compute": (BLOCKS, body)}, [items("out", lead)], False, None,
                     routine, [Launch(COPY, operand="x", target="out"), step("factor")])


# By cuSOLVER: matrices and right sides are copied to scratch memory by columns, and solutions from there. A block has a
# column.
TAKE_MATRICES = """\
    const long long n = {x}.shape[{lead}], count = items_of({x}, {lead}), number = i / n, c = i % n;
    const Room room(scratch, {items}, count, n, {columns});
    const Matrix x0 = item<2>({x}, {lead}, {x}, number);
    for (long long r = threadIdx.x; r < n; r += GROUP) {{
        const T value = {element};
        if (!is_finite(value)) room.bad[number] = 1;
        room.factors[i * n + r] = value;
    }}
"""
TAKE_SIDES = """\
    const long long n = {x}.shape[{lead}], count = items_of({x}, {lead}), columns = {columns};
    const long long number = i / columns, c = i % columns;
    const Room room(scratch, {items}, count, n, columns);
    for (long long r = threadIdx.x; r < n; r += GROUP) {{
        const T value = {value};
        if (!is_finite(value)) room.bad[count + number] = 1;
        room.sides[i * n + r] = value;
    }}
"""
GIVE_SOLUTIONS = """\
    const long long n = {x}.shape[{lead}], count = items_of({x}, {lead}), columns = {columns};
    const long long number = i / columns, c = i % columns;
    const Room room(scratch, {items}, count, n, columns);
    const long long own = number_of_item(out, {lead}, {x}, number);
    const Matrix y = item<{rank}>(out, {lead}, out, number);
    const int reason = {reason};
    for (long long r = threadIdx.x; r < n; r += GROUP) {{
        {failing}y(r, c) = room.sides[i * n + r];
    }}
"""
FINDINGS = ("room.bad[own] ? NOT_FINITE : room.info[own] ? 1 : room.bad[count + number] ? NOT_FINITE : 0",
            "room.info[own]")


def solving(lead, x, rank, nan, value, reason=None):
    """The bodies around the steps of the routine: they take matrices and right sides, and give solutions."""
    words = {"lead": lead, "x": x, "rank": rank, "value": value, "element": "x0(r, c)",
             "reason": reason or FINDINGS[bool(nan)],
             "items": f"items_of(out, {lead})", "columns": f"out.shape[{lead + 1}]" if rank == 2 else "1"}
    words["failing"] = ("if (reason) { y(r, c) = not_a_number(); continue; }\n        " if nan else
                        "if (reason) { refuse_by_thread(note, number, reason); return; }\n        ")
    texts = {"take_matrices": TAKE_MATRICES, "take_sides": TAKE_SIDES, "give": GIVE_SOLUTIONS}
    return {name: (BLOCKS, text.format(**words)) for name, text in texts.items()}


def system(dtype, lead, x, rank, positions, transposed=False):
    """The routine for a system, if it may be used."""
    return cusolver.SystemRoutine(dtype, lead, *positions, "all" if rank == 2 else "one",
                                  transposed) if config.gpu.cusolver else None


def steps_of_system(x, lead, rank, factor=True):
    return [step("clear"), rows(x, lead, "take_matrices"), columns("out", lead, rank, "take_sides"),
            *([step("factor")] if factor else []), step("solve"), columns("out", lead, rank, "give")]


@describe(LUSolveKernel)
def solve_factored(arguments, named, operands):
    told = given(("dtype", "lead", "rank", "transposed", "nan"), arguments, named)
    lead, rank, nan = told["lead"], told["rank"], told.get("nan", False)
    finite = "" if nan else "if (!all_finite(f)) reason = NOT_FINITE;\n    "
    finite_sides = "" if nan else "if (!reason && !all_finite(y)) reason = NOT_FINITE;\n    "
    body = f"""\
    const Matrix f = item<2>(out, {lead}, factor, i), y0 = item<{rank}>(out, {lead}, out, i), y = near_sides(y0);
    const Matrix p = item<1>(out, {lead}, pivots, i);
    int reason = 0;
    {finite}copy(y, item<{rank}>(out, {lead}, b, i));
    if (!reason && first_zero(f)) reason = 1;
    {finite_sides}if (reason) {failing(nan, "y0")}
    lu_solve(f.transposed(), Pivots{{p.data, p.row_step}}, {str(not told["transposed"]).lower()}, y);
    leave(y, y0);
"""
    value = f"item<{rank}>(out, {lead}, b, number)(r, c)"
    bodies = solving(lead, "factor", rank, nan, value)
    # The factors are in their memory by columns; pivots are taken with them.
    bodies["take_matrices"] = (BLOCKS, TAKE_MATRICES.format(
        x="factor", lead=lead, items=f"items_of(out, {lead})", element="x0(c, r)",
        columns=f"out.shape[{lead + 1}]" if rank == 2 else "1") + f"""\
    if (threadIdx.x) return;
    room.pivots[i] = *(int*)&item<1>(factor, {lead}, pivots, number)(c, 0);
    if (x0(c, c) == (T)0) room.info[number] = 1;
""")
    return described(["factor", "pivots", "b", "out"], told["dtype"], {"compute": (BLOCKS, body), **bodies},
                     [items("out", lead)], not nan, None,
                     system(told["dtype"], lead, "factor", rank, (0, 3), not told["transposed"]),
                     steps_of_system("factor", lead, rank, factor=False))


@describe(SolveKernel)
def solve(arguments, named, operands):
    told = given(("dtype", "lead", "rank", "nan"), arguments, named)
    lead, rank, nan = told["lead"], told["rank"], told.get("nan", False)
    factors = f"""\
    const Matrix x0 = item<2>(x, {lead}, x, i), f = factor_in(scratch, i, x0.rows);
    {"" if nan else "if (!all_finite(x0)) { refuse(note, i, NOT_FINITE); return; }"}
    const Matrix w = near_matrix(f);
    copy(w, x0);
    lu(w, pivots_in(scratch, i, x0.rows));
    leave(w, f);
"""
    solutions = f"""\
    const long long n = x.shape[{lead}], own = number_of_item(out, {lead}, x, i);
    const Matrix f = factor_in(scratch, own, n), w = near_matrix(f);
    const Matrix y0 = item<{rank}>(out, {lead}, out, i), y = near_sides(y0);
    if (w.data != f.data) copy(w, f);
    copy(y, item<{rank}>(out, {lead}, b, i));
    int reason = first_zero(w) ? 1 : 0;
    {"" if nan else "if (!reason && !all_finite(y)) reason = NOT_FINITE;"}
    if (reason) {failing(nan, "y0")}
    lu_solve(w, pivots_in(scratch, own, n), false, y);
    leave(y, y0);
"""
    bodies = solving(lead, "x", rank, nan, f"item<{rank}>(out, {lead}, b, number)(r, c)")
    return described(["x", "b", "out"], told["dtype"],
                     {"factor": (BLOCKS, factors), "compute": (BLOCKS, solutions), **bodies},
                     [items("x", lead, "factor"), items("out", lead)], not nan, "x",
                     system(told["dtype"], lead, "x", rank, (0, 2)), steps_of_system("x", lead, rank))


@describe(InverseKernel)
def inverse(arguments, named, operands):
    dtype, lead = arguments
    body = f"""\
    const Matrix x0 = item<2>(x, {lead}, x, i), y = item<2>(out, {lead}, out, i);
    const Matrix f = near_matrix(factor_in(scratch, i, x0.rows));
    copy(f, x0);
    lu(f, pivots_in(scratch, i, x0.rows));
    const int reason = first_zero(f);
    if (reason) {{ refuse(note, i, reason); return; }}
    identity(y);
    lu_solve(f, pivots_in(scratch, i, x0.rows), false, y);
"""
    bodies = solving(lead, "x", 2, False, "r == c ? (T)1 : (T)0", "room.info[own]")
    return described(["x", "out"], dtype, {"compute": (BLOCKS, body), **bodies}, [items("out", lead)], True, "x",
                     system(dtype, lead, "x", 2, (0, 1)), steps_of_system("x", lead, 2))


DETERMINANT = """\
    if (threadIdx.x) return;
    double product = 1, logs = 0;
    for (long long k = 0; k < n; k++) {{
        const double element = f(k, k), size = element < 0 ? -element : element;
        if (p(k) != k + 1) product = -product;
        {step}
    }}
"""


@describe(DeterminantKernel)
def determinant(arguments, named, operands):
    dtype, lead, logarithm, factored = arguments
    start = f"    const long long n = x.shape[{lead}];\n"
    if factored:
        start += (f"    const Matrix f = item<2>(x, {lead}, x, i), places = item<1>(x, {lead}, pivots, i);\n"
                  "    const Pivots p = {places.data, places.row_step};\n")
    else:
        start += (f"    const Matrix f = near_matrix(factor_in(scratch, i, n));\n"
                  f"    copy(f, item<2>(x, {lead}, x, i));\n"
                  "    const Pivots p = pivots_in(scratch, i, n);\n    lu(f, p);\n")
    line = "product *= element;"
    stores = "    store_out(offset_of(out, i), product);\n" if lead else "    store_out(0, product);\n"
    if logarithm:
        line = ("logs += log(size);\n"
                "        product *= element == 0 ? 0. : element != element ? element : element < 0 ? -1. : 1.;")
        where = "offset_of(out, i)" if lead else "0"
        stores = f"    store_out({where}, product);\n    store_logarithm({where}, logs);\n"
    names = ["x", *(["pivots"] if factored else []), "out", *(["logarithm"] if logarithm else [])]
    bodies = {"compute": (BLOCKS, start + DETERMINANT.format(step=line) + stores)}
    routine, launches = None, [items("x", lead)]
    if not factored:
        words = {"x": "x", "lead": lead, "items": "0", "columns": "0", "element": "x0(r, c)"}
        by_library = f"""\
    const long long n = x.shape[{lead}];
    const Room room(scratch, 0, items_of(x, {lead}), n, 0);
    const Matrix f = {{(char*)(room.factors + i * n * n), n, n, (long long)sizeof(T), n * (long long)sizeof(T)}};
    const Pivots p = {{(char*)(room.pivots + i * n), 4}};
"""
        bodies |= {"take_matrices": (BLOCKS, TAKE_MATRICES.format(**words)),
                   "finish": (BLOCKS, by_library + DETERMINANT.format(step=line) + stores)}
        if config.gpu.cusolver:
            routine = cusolver.SystemRoutine(dtype, lead, 0, 0, "none")
    return described(names, dtype, bodies, launches, False, None if factored else "x", routine,
                     [step("clear"), rows("x", lead, "take_matrices"), step("factor"), items("x", lead, "finish")])
