"""Vector functions: those of glibc's libmvec, which is looked up when the first one is wanted, and built-in ones.

``FUNCTIONS`` maps the names of ufuncs to C names. libmvec is found by the loader and nothing of it is needed to build;
where it is missing (older than 2.22, another C library, another processor) or lacks a function (most came with 2.35),
there is no loop. Built-in functions are in ``special/vector_functions.h``. A provider is named by library and
instruction set, ``"libmvec avx2"``. This file only finds loops: ``providers.py`` says which are worth using.
"""
from phintys.ops.native.sets import NAMES, sets_of_processor, usable_sets

cdef extern from "native/special/vector_math.h" nogil:
    enum: PHINTYS_VECTOR_TYPES
    ctypedef struct phintys_vector_set:
        char letter
        int bytes
        VectorLoop loops[PHINTYS_VECTOR_TYPES][2]
        VectorLoop half_to_float
        VectorLoop float_to_half
    const phintys_vector_set* const phintys_vector_sets[3]
    void* phintys_built_in_vector_function(int set, const char* name, int is_double)
    void* phintys_libmvec_function(const char* symbol)
    bint phintys_has_neon()

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

# dtype: row of the table of loops, bytes of an element while it is computed, suffix of the C name
cdef dict DTYPES = {"float16": (0, 4, "f"), "float32": (1, 4, "f"), "float64": (2, 8, "")}


LIBRARIES = ("libmvec", "phintys")


def vector_sets():
    """The sets whose vector functions a kernel that is made now may use, the widest last."""
    return usable_sets() or (("neon",) if phintys_has_neon() else ())


cdef bint has_set(str instructions) except -1:
    return instructions in sets_of_processor() or (instructions == "neon" and phintys_has_neon())


cdef int level_of(str instructions) except -1:
    """The level in sets.h. NEON is the baseline of its processors."""
    return NAMES.index(instructions) if instructions in NAMES else 0


cdef const phintys_vector_set* set_of(str instructions) except NULL:
    """What there is for an instruction set; one without a letter has nothing."""
    return phintys_vector_sets[level_of(instructions)]


def symbol_of(str name, str dtype, str instructions):
    """The name that a vector function has in libmvec, or None if it can have none."""
    cdef const phintys_vector_set* vectors = set_of(instructions)
    if name not in FUNCTIONS or dtype not in DTYPES or not vectors.letter:
        return None
    row, itemsize, suffix = DTYPES[dtype]
    return (f"_ZGV{chr(vectors.letter)}N{vectors.bytes // <int>itemsize}{'vv' if name in BINARY else 'v'}"
            f"_{FUNCTIONS[name]}{suffix}")


cdef int vector_bytes(str provider) except -1:
    """The width of the vectors that a provider's functions take."""
    return set_of(provider.partition(" ")[2]).bytes


cdef VectorLoop vector_loop(str name, str dtype, str provider, phintys_vector_call* call) except? NULL:
    """The loop of a ufunc's function, and its data; NULL where there is none or the processor cannot run it."""
    library, _, instructions = provider.partition(" ")
    symbol = symbol_of(name, dtype, instructions)
    if library not in LIBRARIES or symbol is None or not has_set(instructions):
        return NULL
    call.fills, call.takes_lines = False, library == "phintys"
    if library == "phintys":
        call.function = phintys_built_in_vector_function(level_of(instructions), FUNCTIONS[name].encode(),
                                                         dtype == "float64")
    else:
        call.function = phintys_libmvec_function(symbol.encode())
    if call.function == NULL:
        return NULL
    return set_of(instructions).loops[<int>DTYPES[dtype][0]][1 if name in BINARY else 0]


cdef VectorLoop vector_cast(str source, str target, int level) noexcept:
    """The loop that casts a dtype to another by the instructions of a level; NULL if there is none."""
    if source == "float16" and target == "float32":
        return phintys_vector_sets[level].half_to_float
    return phintys_vector_sets[level].float_to_half if source == "float32" and target == "float16" else NULL


def has_vector_function(str name, str dtype, str provider):
    """Whether ``vector_loop`` finds one."""
    cdef phintys_vector_call call
    return vector_loop(name, dtype, provider, &call) != NULL
