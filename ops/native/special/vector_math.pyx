"""Vector functions: those of glibc's libmvec, which is looked up when the first one is wanted, and built-in ones.

``FUNCTIONS`` maps the names of ufuncs to C names. libmvec is found by the loader and nothing of it is needed to build;
where it is missing (older than 2.22, another C library, another processor) or lacks a function (most came with 2.35),
there is no loop. Built-in functions are in ``special/vector_functions.h``. A provider is named by library and
instruction set, ``"libmvec avx2"``. This file only finds loops: ``providers.py`` says which are worth using.
"""
from phintys.ops.native.sets import sets_of_processor

cdef extern from "native/special/vector_math.h" nogil:
    enum: PHINTYS_AVX2
    enum: PHINTYS_AVX512
    enum: PHINTYS_INSTRUCTION_SETS
    enum: PHINTYS_VECTOR_TYPES
    void* phintys_find_vector_function(int, const char*)
    VectorLoop phintys_half_to_float
    VectorLoop phintys_float_to_half
    VectorLoop phintys_vector_loops[PHINTYS_INSTRUCTION_SETS][PHINTYS_VECTOR_TYPES][2]

# ufunc, or one of NO_UFUNCS: name in C
UNARY = {"exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10",
         "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
         "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
         "arctanh": "atanh", "erf": "erf", "erfc": "erfc", "gammaln": "gammaln", "psi": "psi", "erfinv": "erfinv",
         "softplus": "softplus"}
BINARY = {"power": "pow", "arctan2": "atan2", "hypot": "hypot"}
FUNCTIONS = UNARY | BINARY
# Functions that are no ufuncs: steps name them as they name built-in loops. There are built-in ones only.
NO_UFUNCS = ("softplus",)

# Instruction sets, with the letter that the vector ABI has for them and the bytes of a vector; the widest last.
cdef dict SETS = {"avx2": (PHINTYS_AVX2, "d", 32), "avx512": (PHINTYS_AVX512, "e", 64)}
# dtype: row of the table of loops, bytes of an element while it is computed, suffix of the C name
cdef dict DTYPES = {"float16": (0, 4, "f"), "float32": (1, 4, "f"), "float64": (2, 8, "")}


LIBRARIES = ("libmvec", "phintys")


def symbol_of(str name, str dtype, str instructions):
    """The name that a vector function has in libmvec, or None if it can have none."""
    if name not in FUNCTIONS or dtype not in DTYPES or instructions not in SETS:
        return None
    number, letter, width = SETS[instructions]
    row, itemsize, suffix = DTYPES[dtype]
    return f"_ZGV{letter}N{width // itemsize}{'vv' if name in BINARY else 'v'}_{FUNCTIONS[name]}{suffix}"


cdef int vector_bytes(str provider) except -1:
    """The width of the vectors that a provider's functions take."""
    return SETS[provider.partition(" ")[2]][2]


cdef VectorLoop vector_loop(str name, str dtype, str provider, phintys_vector_call* call) except? NULL:
    """The loop of a ufunc's function, and its data; NULL where there is none or the processor cannot run it."""
    library, _, instructions = provider.partition(" ")
    if library not in LIBRARIES:
        return NULL
    symbol = symbol_of(name, dtype, instructions)
    if symbol is None or instructions not in sets_of_processor():
        return NULL
    call.function, call.fills = phintys_find_vector_function(library == "phintys", symbol.encode()), False
    if call.function == NULL:
        return NULL
    return phintys_vector_loops[<int>SETS[instructions][0]][<int>DTYPES[dtype][0]][1 if name in BINARY else 0]


cdef VectorLoop vector_cast(str source, str target) noexcept:
    """The loop that casts a dtype to another, for processors with AVX2; NULL if there is none."""
    if source == "float16" and target == "float32":
        return phintys_half_to_float
    return phintys_float_to_half if source == "float32" and target == "float16" else NULL


def has_vector_function(str name, str dtype, str provider):
    """Whether ``vector_loop`` finds one."""
    cdef phintys_vector_call call
    return vector_loop(name, dtype, provider, &call) != NULL
