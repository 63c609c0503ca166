"""CUDA text for the steps of elementwise kernels: what each loop computes, as an expression.

Elementwise kernels and fused reductions of the processor take scalar code. Its steps become lines of C here, one
variable for each slot, so a device computes just what the processor does, in the same dtypes. A loop without a
formula in ``scalar_functions.h`` has no text: the op then runs on the host.
"""
import re
from importlib.resources import files

import numpy

from phintys.ops.elementwise.scalar_code import loop_name

# dtype → the type that arrays store, and the type of variables. Half floats are computed in floats, and rounded after
# each step.
TYPES = {"bool": ("unsigned char", "bool"), "int8": ("signed char", "signed char"), "int16": ("short", "short"),
         "int32": ("int", "int"), "int64": ("long long", "long long"), "uint8": ("unsigned char", "unsigned char"),
         "uint16": ("unsigned short", "unsigned short"), "uint32": ("unsigned", "unsigned"),
         "uint64": ("unsigned long long", "unsigned long long"), "float16": ("unsigned short", "float"),
         "float32": ("float", "float"), "float64": ("double", "double"),
         "complex64": ("Complex<float>", "Complex<float>"), "complex128": ("Complex<double>", "Complex<double>")}

# Half floats are converted by instructions: CUDA's header takes nvcc longer than most kernels, and NVRTC has no
# headers. What is no compiler of CUDA has a header of that name (the stand-in of the tests).
HALVES = """\
#ifdef __CUDACC__
__device__ inline float of_half(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
__device__ inline unsigned short to_half(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
#else
#include <cuda_fp16.h>
static inline float of_half(unsigned short bits) { return __half2float(__ushort_as_half(bits)); }
static inline unsigned short to_half(float x) { return __half_as_ushort(__float2half_rn(x)); }
#endif
"""
COMPLEX = """\
template <class R> struct alignas(2 * sizeof(R)) Complex {
    R x, y;
    Complex() = default;
    __host__ __device__ Complex(R real, R imaginary) : x(real), y(imaginary) {}
    template <class A> __host__ __device__ Complex(A real) : x((R)real), y(0) {}
    template <class A> __host__ __device__ Complex(Complex<A> z) : x((R)z.x), y((R)z.y) {}
    __device__ Complex& operator+=(Complex z) { x += z.x, y += z.y; return *this; }
};
#define OPERATION(symbol, real, imaginary) \
template <class R> __device__ inline Complex<R> operator symbol(Complex<R> a, Complex<R> b) { \
    return Complex<R>(real, imaginary); }
OPERATION(+, a.x + b.x, a.y + b.y)
OPERATION(-, a.x - b.x, a.y - b.y)
OPERATION(*, a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x)
template <class R> __device__ inline Complex<R> operator/(Complex<R> a, Complex<R> b) {
    if (fabs(b.x) >= fabs(b.y)) {                   // as NumPy does
        if (b.x == 0 && b.y == 0) return Complex<R>(a.x / fabs(b.x), a.y / fabs(b.x));
        const R ratio = b.y / b.x, scale = 1 / (b.x + b.y * ratio);
        return Complex<R>((a.x + a.y * ratio) * scale, (a.y - a.x * ratio) * scale);
    }
    const R ratio = b.x / b.y, scale = 1 / (b.y + b.x * ratio);
    return Complex<R>((a.x * ratio + a.y) * scale, (a.y * ratio - a.x) * scale);
}
template <class R> __device__ inline Complex<R> operator-(Complex<R> a) { return Complex<R>(-a.x, -a.y); }
template <class R> __device__ inline bool operator==(Complex<R> a, Complex<R> b) { return a.x == b.x && a.y == b.y; }
template <class R> __device__ inline bool operator!=(Complex<R> a, Complex<R> b) { return !(a == b); }
template <class R> __device__ inline Complex<R> complex_exp(Complex<R> z) {
    const R size = exp(z.x);
    return z.y == 0 ? Complex<R>(size, z.y) : Complex<R>(size * cos(z.y), size * sin(z.y));
}
template <class R> __device__ inline Complex<R> complex_log(Complex<R> z) {
    return Complex<R>(log(hypot(z.x, z.y)), atan2(z.y, z.x));
}
template <class R> __device__ inline Complex<R> complex_sqrt(Complex<R> z) {
    const R size = hypot(z.x, z.y), root = sqrt((size + fabs(z.x)) / 2);
    if (size == 0) return Complex<R>(0, z.y);
    return z.x >= 0 ? Complex<R>(root, z.y / (2 * root)) : Complex<R>(fabs(z.y) / (2 * root), copysign(root, z.y));
}
"""
FUNCTIONS = """\
template <class T> __device__ inline bool is_minus_one(T x) { return (T)-1 < (T)0 && x == (T)-1; }
template <class T> __device__ inline T floor_quotient(T a, T b) {
    if (b == 0) return 0;
    const T quotient = is_minus_one(b) ? (T)(0 - a) : (T)(a / b);
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
template <class T> __device__ inline T floor_remainder(T a, T b) {
    if (b == 0 || is_minus_one(b)) return 0;
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
template <class T> __device__ inline T plain_remainder(T a, T b) {
    return b == 0 || is_minus_one(b) ? (T)0 : (T)(a % b);
}
template <class T> __device__ inline T real_remainder(T a, T b) {
    T rest = fmod(a, b);
    if (b == 0) return rest;
    if (rest != 0) return (b < 0) != (rest < 0) ? rest + b : rest;
    return copysign((T)0, b);
}
template <class T> __device__ inline T real_floor_quotient(T a, T b) {
    if (b == 0) return a / b;
    const T rest = fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign((T)0, a / b);
    const T whole = floor(quotient);
    return quotient - whole > (T)0.5 ? whole + 1 : whole;
}
template <class T> __device__ inline T whole_power(T base, T exponent) {
    if (exponent < 0) return base == 1 ? 1 : is_minus_one(base) ? (exponent % 2 ? -1 : 1) : 0;
    T result = 1;
    for (; exponent; exponent /= 2, base *= base)
        if (exponent % 2) result *= base;
    return result;
}
template <class T> __device__ inline T shifted_left(T a, T by) {
    return by < 0 || by >= (T)(8 * sizeof(T)) ? (T)0 : (T)(a << by);
}
template <class T> __device__ inline T shifted_right(T a, T by) {
    return by < 0 || by >= (T)(8 * sizeof(T)) ? (a < 0 ? (T)-1 : (T)0) : (T)(a >> by);
}
template <class T> __device__ inline T sigmoid_of(T x) {
    if (x >= 0) return 1 / (1 + exp(-x));
    const T e = exp(x);
    return e / (1 + e);
}
template <class T> __device__ inline T log_sigmoid_of(T x) { return x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x)); }
"""
# Functions without a formula that C has, too; computed in doubles, as float32 is not enough on the way.
SPECIAL = """\
__device__ inline double special_psi(double x) {
    double result = 0;
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0) {
        const double whole = floor(x), rest = x - whole;
        if (rest == 0) return NAN;
        result = -3.14159265358979323846 / tan(3.14159265358979323846 * rest);
        x = 1 - x;
    }
    for (; x < 10; x += 1) result -= 1 / x;
    const double z = 1 / (x * x);
    return result + log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (
        1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
}
__device__ inline double special_zeta(double s, double q) {         // of Hurwitz: the sum of (q + k) ** -s
    const double bernoulli[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160,
                                -691.0 / 1307674368000.0, 1.0 / 74724249600.0};
    if (s == 1) return INFINITY;
    if (!(s > 1)) return NAN;
    if (q <= 0 && q == floor(q)) return INFINITY;
    if (q <= 0 && s != floor(s)) return NAN;
    double sum = 0;
    int k = 0;
    for (; k < 10 || q + k <= 9; k++) {
        sum += pow(q + k, -s);
        if (k > 1000000) return NAN;
    }
    const double x = q + k, power = pow(x, -s);
    double factor = s, end = power / x;
    sum += power * x / (s - 1) + power / 2;
    for (int j = 0; j < 7; j++) {
        sum += bernoulli[j] * factor * end;
        factor *= (s + 2 * j + 1) * (s + 2 * j + 2), end /= x * x;
    }
    return sum;
}
__device__ inline double special_logit(double x) {
    const double twice = 2 * (x - 0.5);
    return x < 0.3 || x > 0.65 ? log(x / (1 - x)) : log1p(twice) - log1p(-twice);
}
__device__ inline double special_entr(double x) {
    return x != x ? x : x > 0 ? -x * log(x) : x == 0 ? 0.0 : -INFINITY;
}
__device__ inline double special_log_ndtr(double x) {
    const double scaled = x * 0.70710678118654752440;
    return x < -1 ? log(erfcx(-scaled) / 2) - scaled * scaled : log1p(-erfc(scaled) / 2);
}
"""
OF_DEVICE = {
    "gamma": "tgamma({0})", "erfinv": "erfinv({0})", "erfcinv": "erfcinv({0})", "erfcx": "erfcx({0})",
    "ndtr": "normcdf({0})", "ndtri": "normcdfinv({0})", "i0": "cyl_bessel_i0({0})", "i1": "cyl_bessel_i1({0})",
    "j0": "j0({0})", "j1": "j1({0})", "psi": "special_psi({0})", "_zeta": "special_zeta({0}, {1})",
    "logit": "special_logit({0})", "entr": "special_entr({0})", "log_ndtr": "special_log_ndtr({0})",
}


def with_functions(source):
    """A source after the formulas of loops, and the functions that these call."""
    return (FORMULAS_TEXT + (HALVES if "_half(" in source else "") + FUNCTIONS
            + (COMPLEX if "Complex<" in source else "") + (SPECIAL if "special_" in source else "") + source)


# The text of the formulas that C has, too, and what it defines: (kind, name of the loop) → number of operands.
FORMULAS_TEXT = files("phintys.ops.native").joinpath("scalar_functions.h").read_text()
FORMULAS = {(kind, name): operands.count(",") for kind, name, operands in
            re.findall(r"^#define (VALUE|FLOAT|WHOLE)_(\w+)\((.*?)\.\.\.\)", FORMULAS_TEXT, re.M)}
NAMES = list(dict.fromkeys([name for _, name in FORMULAS]))
# For complex operands the formulas with nothing but operators, and these: {T} is the type of the first operand.
OPERATORS = {"add", "subtract", "multiply", "negative", "positive", "copy", "square", "equal", "not_equal"}
OF_COMPLEX = {
    "divide": "{0} / {1}", "conjugate": "{T}({0}.x, -{0}.y)", "reciprocal": "({T})1 / {0}",
    "absolute": "hypot({0}.x, {0}.y)", "isnan": "{0}.x != {0}.x || {0}.y != {0}.y", "exp": "complex_exp({0})",
    "log": "complex_log({0})", "sqrt": "complex_sqrt({0})", "real": "{0}.x", "imag": "{0}.y",
}
COMBINED = {"complex": "Complex<{T}>({0}, {1})"}        # of real numbers


class NoSource(Exception):
    """The device has no text for this."""


def stored(dtype):
    """The C type of elements of an array."""
    if dtype not in TYPES:
        raise NoSource(dtype)
    return TYPES[dtype][0]


def computed(dtype):
    """The C type of a variable."""
    if dtype not in TYPES:
        raise NoSource(dtype)
    return TYPES[dtype][1]


def loaded(dtype, text):
    """An element that was read, as a variable."""
    return f"of_half({text})" if dtype == "float16" else f"{text} != 0" if dtype == "bool" else text


def to_store(dtype, text):
    """A variable as an element."""
    return f"to_half({text})" if dtype == "float16" else text


def literal(array):
    """A number in C, exactly."""
    dtype, value = array.dtype.name, array.item()
    if array.dtype.kind == "c":
        return f"{computed(dtype)}({literal(array.real)}, {literal(array.imag)})"
    if array.dtype.kind == "f":
        if numpy.isnan(value):
            return "nanf(\"\")" if dtype != "float64" else "nan(\"\")"
        if numpy.isinf(value):
            return f"({computed(dtype)}){'-' if value < 0 else ''}INFINITY"
        return f"({value.hex()}{'' if dtype == 'float64' else 'f'})"
    if array.dtype.kind == "b":
        return "true" if value else "false"
    if value == -2 ** 63:
        return "(-9223372036854775807LL - 1)"
    return f"(({computed(dtype)}){value}{'ULL' if value > 2 ** 63 - 1 else 'LL'})"


def step_text(loop, operands, dtypes):
    """The expression of one step.

    Parameters
    ----------
    loop : numpy.ufunc or str
    operands : list of str
        Names of variables.
    dtypes : sequence of str
        Of the operands and, last, of the result.

    Raises
    ------
    NoSource
    """
    name = loop_name(loop)
    for dtype in dtypes:
        computed(dtype)
    kind = "FLOAT" if dtypes[-2 if len(dtypes) > 1 else -1].startswith("float") else "WHOLE"
    if ("VALUE", name) in FORMULAS:
        kind = "VALUE"
    template = f"{kind}_{name}({', '.join(operands)})" if FORMULAS.get((kind, name)) == len(operands) else None
    if any([dtype.startswith("complex") for dtype in dtypes]) and name not in ("switch", "cast", *OPERATORS):
        template = OF_COMPLEX.get(name) if dtypes[0].startswith("complex") else COMBINED.get(name)
    elif template is None and dtypes[0].startswith("float") and name in OF_DEVICE:
        template = f"({computed(dtypes[-1])}){OF_DEVICE[name]}"
    if template is None:
        raise NoSource(name)
    if name == "invert" and dtypes[0] == "bool":
        template = "!{0}"
    if name == "cast" and dtypes[-1] == "bool":
        template = "{0} != 0"
    text = template.format(*operands, T=computed(dtypes[0]))
    return f"of_half(to_half({text}))" if dtypes[-1] == "float16" else text


def body_of(code):
    """The lines that compute all slots of scalar code; the slots of the inputs are variables already."""
    constants, steps = code.by_slot()
    return [*[f"const {computed(array.dtype.name)} s{slot} = {literal(array)};" for slot, array in constants.items()],
            *[f"const {computed(dtypes[-1])} s{slot} = "
              f"{step_text(loop, [f's{operand}' for operand in operands], dtypes)};"
              for slot, (loop, operands, dtypes) in steps.items()]]
