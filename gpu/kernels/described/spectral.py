"""Orthogonal factors, eigenvalues of symmetric matrices, singular values and least squares on the device.

A block of threads has a matrix of a stack, and computes in double precision in scratch memory. QR is Householder's, as
LAPACK does it, with its signs. Eigenvalues and singular values come from one-sided rotations of Jacobi: in each of the
rounds of a sweep, the columns are paired, and a thread makes the two columns of a pair orthogonal. A symmetric matrix
is shifted first, so that it is positive definite and far from singular. Where cuSOLVER is used, it finds eigenvalues of
large symmetric matrices. Signs of vectors, and vectors of equal values,
are not determined; they may be others than LAPACK's. Matrices of complex numbers are the processor's.
"""
from phintys.gpu.kernels.described import factorization
from phintys.gpu.kernels.described.factorization import SIZES, given, items, rows, step
from phintys.gpu.kernels.general_source import BLOCKS, THREADS, Description, Launch, describe, number
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.gpu.libraries.cusolver import EigenRoutine
from phintys.graph.config import config
from phintys.ops.factorizations.least_squares_kernel import LeastSquaresKernel
from phintys.ops.factorizations.spectral_kernel import EighKernel, QRKernel, SVDKernel

SPECTRAL = """\
enum { SWEEPS = 60, NOT_CONVERGED = 1 };
// A matrix of scratch memory, by rows.
struct Wide {
    double* data;
    long long rows, columns;
    __device__ double& operator()(long long row, long long column) const { return data[row * columns + column]; }
    __device__ double* end() const { return data + rows * columns; }
};
__device__ inline void widen(const Wide& to, const Matrix& from) {
    for (long long e = threadIdx.x; e < to.rows * to.columns; e += GROUP)
        to.data[e] = (double)from(e / to.columns, e % to.columns);
    __syncthreads();
}
__device__ inline void set_identity(const Wide& x) {
    for (long long e = threadIdx.x; e < x.rows * x.columns; e += GROUP)
        x.data[e] = e / x.columns == e % x.columns ? 1 : 0;
    __syncthreads();
}
// Reflect columns from `first` on of y by the vector in column k of x below the diagonal, where it has a 1.
template <class M>
__device__ inline void reflect(const Wide& x, long long k, double tau, const M& y, long long first) {
    for (long long c = first + threadIdx.x; c < y.columns; c += GROUP) {
        double sum = y(k, c);
        for (long long r = k + 1; r < x.rows; r++) sum += x(r, k) * y(r, c);
        sum *= tau;
        y(k, c) -= sum;
        for (long long r = k + 1; r < x.rows; r++) y(r, c) -= sum * x(r, k);
    }
    __syncthreads();
}
// R in the upper triangle of x, the vectors of the reflections below it, and their factors.
__device__ inline void factor_qr(const Wide& x, double* tau) {
    const long long least = min(x.rows, x.columns);
    for (long long k = 0; k < least; k++) {
        double sum = 0;
        for (long long r = k + 1 + threadIdx.x; r < x.rows; r += GROUP) sum += x(r, k) * x(r, k);
        const double below = total(sum), alpha = x(k, k);
        const double size = sqrt(alpha * alpha + below), beta = alpha < 0 ? size : -size;
        __syncthreads();
        if (threadIdx.x == 0) tau[k] = below == 0 ? 0 : (beta - alpha) / beta;
        if (below != 0) {
            for (long long r = k + 1 + threadIdx.x; r < x.rows; r += GROUP) x(r, k) /= alpha - beta;
            if (threadIdx.x == 0) x(k, k) = beta;
        }
        __syncthreads();
        if (below != 0) reflect(x, k, tau[k], x, k + 1);
    }
}
// The first columns of the orthogonal factor.
__device__ inline void form_q(const Wide& x, const double* tau, const Matrix& q) {
    identity(q);
    for (long long k = min(x.rows, x.columns) - 1; k >= 0; k--)
        if (tau[k] != 0) reflect(x, k, tau[k], q, 0);
}
// Make the columns of x orthogonal by rotations, of which v, if it has columns, is the product. Returns whether it did.
// Columns that are as small as what rounding leaves stay as they are.
__device__ inline bool rotate(const Wide& x, const Wide& v) {
    const long long n = x.columns, even = n + n % 2;
    const double small = 2.220446049250313e-16 * (x.rows > 4 ? sqrt((double)x.rows) : 2.);
    double squares = 0;
    for (long long e = threadIdx.x; e < x.rows * n; e += GROUP) squares += x.data[e] * x.data[e];
    const double nothing = 4 * small * small * total(squares);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double rotated = 0;
        for (long long round = 0; round < even - 1; round++) {
            for (long long pair = threadIdx.x; pair < even / 2; pair += GROUP) {
                // One column stays where it is, the others move on by one place.
                const long long a = pair == 0 ? even - 1 : (round + pair) % (even - 1);
                const long long b = (round + even - 1 - pair) % (even - 1);
                const long long p = min(a, b), q = max(a, b);
                if (q >= n) continue;
                double pp = 0, qq = 0, pq = 0;
                for (long long r = 0; r < x.rows; r++) {
                    const double first = x(r, p), second = x(r, q);
                    pp += first * first, qq += second * second, pq += first * second;
                }
                if (fabs(pq) <= small * sqrt(pp) * sqrt(qq) || min(pp, qq) <= nothing) continue;
                rotated = 1;
                const double zeta = (qq - pp) / (2 * pq);
                const double t = (zeta < 0 ? -1. : 1.) / (fabs(zeta) + sqrt(1 + zeta * zeta));
                const double c = 1 / sqrt(1 + t * t), s = c * t;
                for (long long r = 0; r < x.rows + (v.columns ? v.rows : 0); r++) {
                    const Wide& of = r < x.rows ? x : v;
                    const long long row = r < x.rows ? r : r - x.rows;
                    const double first = of(row, p), second = of(row, q);
                    of(row, p) = c * first - s * second;
                    of(row, q) = s * first + c * second;
                }
            }
            __syncthreads();
        }
        if (total(rotated) == 0) return true;
    }
    return false;
}
// The norms of the columns.
__device__ inline void norms(const Wide& x, double* found) {
    for (long long c = threadIdx.x; c < x.columns; c += GROUP) {
        double sum = 0;
        for (long long r = 0; r < x.rows; r++) sum += x(r, c) * x(r, c);
        found[c] = sqrt(sum);
    }
    __syncthreads();
}
// The place of each of the values in order.
__device__ inline void places_of(const double* values, long long count, bool ascending, double* places) {
    for (long long k = threadIdx.x; k < count; k += GROUP) {
        long long before = 0;
        for (long long j = 0; j < count; j++)
            before += values[j] == values[k] ? j < k : (values[j] < values[k]) == ascending;
        places[k] = (double)before;
    }
    __syncthreads();
}
static __device__ inline double largest(const Wide& x) {
    __shared__ double found[GROUP];
    double most = 0;
    for (long long e = threadIdx.x; e < x.rows * x.columns; e += GROUP) most = max(most, fabs(x.data[e]));
    found[threadIdx.x] = most;
    for (int half = GROUP / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) found[threadIdx.x] = max(found[threadIdx.x], found[threadIdx.x + half]);
    }
    __syncthreads();
    most = found[0];
    __syncthreads();
    return most;
}
"""
SCALED = """\
    const double size = largest(w);
    if (size > 0) for (long long e = threadIdx.x; e < w.rows * w.columns; e += GROUP) w.data[e] /= size;
    __syncthreads();
"""
FINITE = "    if (!all_finite({name})) {{ refuse(note, i, NOT_FINITE); return; }}\n"


def described(names, dtype, bodies, launches, scratch, refuses=True):
    """A description; ``scratch`` is an operand, and how many doubles there are for each of its elements."""
    if dtype not in SIZES:
        raise NoSource(dtype)
    return Description(names, {name: (BLOCKS, body) for name, body in bodies.items()}, launches,
                       factorization.functions(dtype) + SPECTRAL,
                       scratch=(scratch[0], 8 * scratch[1]), refuses=refuses)


@describe(QRKernel)
def orthogonal(arguments, named, operands):
    told = given(("dtype", "lead", "mode"), arguments, named)
    lead, mode = told["lead"], told["mode"]
    body = f"""\
    const Matrix x0 = item<2>(x, {lead}, x, i);
    const Wide w = {{(double*)scratch + i * x0.rows * x0.columns * 2, x0.rows, x0.columns}};
    double* tau = w.end();
    widen(w, x0);
    factor_qr(w, tau);
"""
    names = {"r": ["x", "r"], "raw": ["x", "h", "factors"]}.get(mode, ["x", "q", "r"])
    if mode == "raw":
        body += f"""\
    const Matrix vectors = item<2>(x, {lead}, h, i), all = item<1>(x, {lead}, factors, i);
    for (long long e = threadIdx.x; e < w.rows * w.columns; e += GROUP)
        vectors(e % w.columns, e / w.columns) = (T)w.data[e];
    for (long long k = threadIdx.x; k < all.rows; k += GROUP) all(k, 0) = (T)tau[k];
"""
    else:
        body += f"""\
    const Matrix upper = item<2>(x, {lead}, r, i);
    for (long long e = threadIdx.x; e < upper.rows * upper.columns; e += GROUP) {{
        const long long row = e / upper.columns, c = e % upper.columns;
        upper(row, c) = c >= row ? (T)w(row, c) : (T)0;
    }}
"""
    if "q" in names:
        body += f"    form_q(w, tau, item<2>(x, {lead}, q, i));\n"
    return described(names, told["dtype"], {"compute": body}, [items("x", lead)], ("x", 2), refuses=False)


@describe(EighKernel, several_results=True)
def symmetric(arguments, named, operands):
    told = given(("dtype", "lead", "lower", "vectors"), arguments, named)
    lead = told["lead"]
    triangle = "r >= c" if told["lower"] else "r <= c"
    body = f"""\
    const Matrix x0 = item<2>(x, {lead}, x, i), found = item<1>(x, {lead}, values, i);
    const long long n = x0.rows;
    const Wide w = {{(double*)scratch + i * n * n * 3, n, n}}, none = {{w.data, 0, 0}};
    double* own = w.end();
    double* places = own + n;
{FINITE.format(name="x0")}\
    for (long long e = threadIdx.x; e < n * n; e += GROUP) {{
        const long long r = e / n, c = e % n;
        w.data[e] = (double)({triangle} ? x0(r, c) : x0(c, r));
    }}
    __syncthreads();
{SCALED}\
    double sum = 0;
    for (long long e = threadIdx.x; e < n * n; e += GROUP) sum += w.data[e] * w.data[e];
    sum = total(sum);
    const double shift = sum > 0 ? 1.5 * sqrt(sum) : 1.;
    for (long long k = threadIdx.x; k < n; k += GROUP) w(k, k) += shift;
    __syncthreads();
    if (!rotate(w, none)) {{ refuse(note, i, NOT_CONVERGED); return; }}
    norms(w, own);
    places_of(own, n, true, places);
    for (long long k = threadIdx.x; k < n; k += GROUP) found((long long)places[k], 0) = (T)((own[k] - shift) * size);
"""
    if told["vectors"]:
        body += f"""\
    const Matrix all = item<2>(x, {lead}, vectors, i);
    for (long long e = threadIdx.x; e < n * n; e += GROUP)
        all(e / n, (long long)places[e % n]) = (T)(w.data[e] / own[e % n]);
"""
    names = ["x", "values", *(["vectors"] if told["vectors"] else [])]
    own = described(names, told["dtype"], {"compute": body}, [items("x", lead)], ("x", 3))
    if not config.gpu.cusolver:
        return own
    # By cuSOLVER, in scratch memory, as doubles; what is in C order is the transpose there.
    room = f"""\
    const long long n = x.shape[{lead}], count = items_of(x, {lead});
    const RoomOf<double> room(scratch, count, count, n, 1);
"""
    take = f"""\
{room}\
    const Matrix x0 = item<2>(x, {lead}, x, i / n);
    for (long long c = threadIdx.x; c < n; c += GROUP) {{
        const T value = x0(i % n, c);
        if (!is_finite(value)) room.bad[i / n] = 1;
        room.factors[i * n + c] = (double)value;
    }}
"""
    give = f"""\
{room}\
    const long long number = i / n;
    const int reason = room.bad[number] ? NOT_FINITE : room.info[number] ? NOT_CONVERGED : 0;
    if (reason) {{ refuse_by_thread(note, number, reason); return; }}
    item<1>(x, {lead}, values, number)(i % n, 0) = (T)room.sides[i];
"""
    bodies = {"take": (BLOCKS, take), "give": (THREADS, give)}
    launches = [step("clear"), rows("x", lead, "take"), step("factor"), Launch(THREADS, "give", "values")]
    if told["vectors"]:
        bodies["give_vectors"] = (BLOCKS, f"""\
{room}\
    const long long number = i / n, r = i % n;
    const Matrix all = item<2>(x, {lead}, vectors, number);
    for (long long c = threadIdx.x; c < n; c += GROUP) all(r, c) = (T)room.factors[(number * n + c) * n + r];
""")
        launches.append(rows("vectors", lead, "give_vectors"))
    return own._replace(bodies=own.bodies | bodies, by_routine=launches,
                        routine=EigenRoutine(told["dtype"], lead, bool(told["lower"]), bool(told["vectors"])))


# The singular values of a matrix that is at least as high as wide: `w`, after the rotations `v`, has them as the norms
# `own` of its columns, times `size`.
DECOMPOSED = """\
    const long long n = min(x0.rows, x0.columns), m = max(x0.rows, x0.columns);
    const bool high = x0.rows >= x0.columns;
    const Wide w = {{(double*)scratch + {own} * m * n * {room}, m, n}}, v = {{w.end(), {rows}, {rows}}};
    double* own = w.end() + m * n;
    double* places = own + n;
"""
DECOMPOSE = """\
    widen(w, high ? x0 : x0.transposed());
{scaled}    if (v.rows) set_identity(v);
    if (!rotate(w, v)) {{ refuse(note, i, NOT_CONVERGED); return; }}
    norms(w, own);
    places_of(own, n, false, places);
"""


@describe(SVDKernel, several_results=True)
def singular(arguments, named, operands):
    told = given(("dtype", "lead", "full", "vectors", "by_numpy"), arguments, named)
    lead, vectors = told["lead"], told["vectors"]
    if told.get("by_numpy"):
        return None
    body = f"    const Matrix x0 = item<2>(x, {lead}, x, i), values = item<1>(x, {lead}, s, i);\n"
    if vectors:
        body += f"""\
    const Matrix left = item<2>(x, {lead}, u, i), right = item<2>(x, {lead}, vh, i).transposed();
    if (x0.rows == 0 || x0.columns == 0) {{ identity(left); identity(right); return; }}
"""
    body += FINITE.format(name="x0") + DECOMPOSED.format(own="i", room=6, rows="n" if vectors else "0")
    body += DECOMPOSE.format(scaled=SCALED)
    body += """\
    for (long long k = threadIdx.x; k < n; k += GROUP) values((long long)places[k], 0) = (T)(own[k] * size);
"""
    if vectors:
        # The orthogonal columns, in order, are the factor Q of their own QR: so there are as many as are wanted, and
        # those of values that are zero are orthogonal, too.
        body += """\
    const Wide sorted = {places + n, m, n};
    double* tau = sorted.end();
    for (long long e = threadIdx.x; e < m * n; e += GROUP) sorted(e / n, (long long)places[e % n]) = w.data[e];
    __syncthreads();
    factor_qr(sorted, tau);
    const Matrix q = high ? left : right, other = high ? right : left;
    form_q(sorted, tau, q);
    for (long long e = threadIdx.x; e < m * n; e += GROUP)
        if (sorted(e % n, e % n) < 0) q(e / n, e % n) = -q(e / n, e % n);
    for (long long e = threadIdx.x; e < n * n; e += GROUP) other(e / n, (long long)places[e % n]) = (T)v.data[e];
"""
    return described(["x", "u", "s", "vh"] if vectors else ["x", "s"], told["dtype"], {"compute": body},
                     [items("x", lead)], ("x", 6))


@describe(LeastSquaresKernel, by_value=(2,))
def least_squares(arguments, named, operands):
    told = given(("dtype", "lead", "rank", "with_ratio"), arguments, named)
    lead, dtype = told["lead"], told["dtype"]
    names = ["a", "b", *(["ratio"] if told["with_ratio"] else []), "out", "sums", "rank", "values"]
    epsilon = "1.1920928955078125e-07" if dtype == "float32" else "2.220446049250313e-16"
    ratio = number("ratio", operands[2]) if told["with_ratio"] else f"{epsilon} * (double)m"
    factors = (f"    const Matrix x0 = item<2>(a, {lead}, a, i);\n" + FINITE.format(name="x0")
               + DECOMPOSED.format(own="i", room=5, rows="n") + DECOMPOSE.format(scaled=SCALED)
               + "    if (threadIdx.x == 0 && n > 0) places[n] = size;\n")
    solutions = f"""\
    const Matrix x0 = item<2>(out, {lead}, a, i), b0 = item<{told["rank"]}>(out, {lead}, b, i);
    const Matrix y = item<{told["rank"]}>(out, {lead}, out, i), all = item<1>(out, {lead}, sums, i);
    const Matrix s = item<1>(out, {lead}, values, i);
    const long long number = number_of_item(out, {lead}, a, i);
{FINITE.format(name="b0")}{DECOMPOSED.format(own="number", room=5, rows="n")}\
    const double size = n > 0 ? places[n] : 0;
    double most = 0;
    long long counted = 0;
    for (long long k = 0; k < n; k++) most = max(most, own[k]);
    double bound = {ratio};
    if (bound < 0) bound = {epsilon};
    for (long long k = 0; k < n; k++) counted += own[k] > bound * most;
    if (threadIdx.x == 0) store_rank({"offset_of(rank, i)" if lead else "0"}, counted);
    for (long long k = threadIdx.x; k < n; k += GROUP) s((long long)places[k], 0) = (T)(own[k] * size);
    fill(y, (T)0);
    const Wide& in = high ? w : v;                  // b is seen by these vectors, the solution made of the others
    const Wide& of = high ? v : w;
    for (long long c = 0; c < y.columns; c++) {{
        for (long long k = 0; k < n; k++) {{
            if (!(own[k] > bound * most)) continue;
            double sum = 0;
            for (long long r = threadIdx.x; r < x0.rows; r += GROUP) sum += in(r, k) * (double)b0(r, c);
            sum = total(sum) / (own[k] * size) / own[k];
            for (long long r = threadIdx.x; r < y.rows; r += GROUP) y(r, c) += (T)(sum * of(r, k));
            __syncthreads();
        }}
        double rest = 0;
        for (long long r = threadIdx.x; x0.rows > x0.columns && r < x0.rows; r += GROUP) {{
            double left = (double)b0(r, c);
            for (long long k = 0; k < x0.columns; k++) left -= (double)x0(r, k) * (double)y(k, c);
            rest += left * left;
        }}
        rest = total(rest);
        if (threadIdx.x == 0) all(c, 0) = (T)rest;
    }}
"""
    return described(names, dtype, {"factor": factors, "compute": solutions},
                     [items("a", lead, "factor"), items("out", lead)], ("a", 5))
