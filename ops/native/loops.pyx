"""Inner loops by name and dtypes: those of the C library where they are faster, NumPy's, SciPy's, and built-in ones.

For functions such as exp, ``providers.py`` says whether a loop of the C library's vector functions is worth using. A
ufunc's legacy inner loops are plain C functions over strided operands, already dispatched to what the processor can
do and safe without the GIL. ``find_loop`` takes the first whose signature matches by kind and size (``long`` and
``longlong`` are both int64), and tries it once against the ufunc itself. Where a ufunc resolves the signature but has
no such loop, or the loop disagrees, the ufunc is called as a Python object: slower, never wrong.

``find_loop`` does not select dtypes: a signature for which there is no loop is a ``TypeError``.
"""
cimport cython
cimport numpy as cnp
from numpy cimport npy_intp

import sys

import numpy

from phintys.graph.config import config
from phintys.ops.native.providers import TITLES, cost_of, providers
from phintys.ops.native.sets cimport usable_set
from phintys.ops.native.special.vector_math cimport phintys_vector_call, vector_bytes, vector_cast, vector_loop
from phintys.vm.python_api cimport PyErr_WriteUnraisable, PyObject
from phintys.ops.native.special.vector_math import FUNCTIONS, NO_UFUNCS

cnp.import_array()

cdef extern from "numpy/ufuncobject.h":
    ctypedef struct PyUFuncObject:
        int nin
        int nout
        int nargs
        LoopFunction* functions
        void** data
        int ntypes
        const char* types

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(type subtype, PyObject* descr, int nd, const npy_intp* dims, const npy_intp* strides,
                                void* data, int flags, PyObject* obj)
    PyObject* PyArray_DescrFromType(int typenum)
    int NPY_ARRAY_WRITEABLE
    int NPY_ARRAY_ALIGNED

cdef extern from "native/arithmetic_loops.h" nogil:
    enum: PHINTYS_TYPES
    LoopFunction phintys_casts[PHINTYS_TYPES][PHINTYS_TYPES]
    ctypedef struct phintys_own_row:
        const char* name
        int operands
        LoopFunction loops[PHINTYS_TYPES]
    enum: PHINTYS_OWN_ROWS
    ctypedef struct phintys_arithmetic:
        LoopFunction both
        LoopFunction either
        LoopFunction choose[5]
        LoopFunction casts[PHINTYS_TYPES][PHINTYS_TYPES]
        phintys_own_row rows[PHINTYS_OWN_ROWS]
    const phintys_arithmetic* const phintys_arithmetics[3]
    LoopFunction phintys_reals[2]
    LoopFunction phintys_imaginaries[2]
    LoopFunction phintys_complexes[2]
    LoopFunction phintys_copy_loop(int)
    ctypedef struct phintys_gapless:
        LoopFunction function
        void* data
        npy_intp itemsize
        int count
    void phintys_gapless_loop(char**, const npy_intp*, const npy_intp*, void*)

cdef extern from "native/special/special_loops.h" nogil:
    ctypedef struct phintys_special:
        const char* name
        int operands
        LoopFunction loops[2]
    const phintys_special phintys_specials[16]

cdef enum:
    MAXIMUM_CALLED = 8         # operands of a loop that is called from Python, the result included

# The order of the tables in arithmetic_loops.h.
TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64", "complex128")
cdef dict TYPE_INDEX = {name: index for index, name in enumerate(TYPES)}
INTEGERS = TYPES[1:9]

# Built-in loops that steps may use: name → description of the signature.
OWN_LOOPS = {
    "cast": "(any, any); complex to real is refused; float to int truncates",
    "copy": "(any, the same)",
    "switch": "(bool, any, the same, the same)",
    "power": "(int, the same, the same): negative exponents give 0, or 1 and -1 for the bases 1 and -1",
    "round_half_away_from_zero": "(float, the same)",
    "unless_overflow": "(float, the same, the same): the first operand, or the second where the first is +inf",
    "clip": "(int or float from 32 bits, the same, the same, the same): the first between the others; NaN stays",
    "absolute": "(signed integer or float from 32 bits, the same)",
    "remainder": "(int, the same, the same): with the sign of the divisor; 0 for the divisor 0",
    "sign": "(float from 32 bits, the same): -1, 0 or 1; NaN stays",
    "softplus": "(float from 32 bits, the same), where config.math and config.cpu allow vector functions",
    "ultra_fast_sigmoid": "(float from 32 bits, the same): the sigmoid within 0.03",
    "real": "(complex, the float of a part)",
    "imag": "(complex, the float of a part)",
    "complex": "(float, the same, the complex of such parts)",
    "gammainc_by_k": "(float from 32 bits, the same, the same): the derivative of gammainc(k, x) by k",
    "gammainc_by_k_twice": "(float from 32 bits, the same, the same): the second derivative of gammainc(k, x) by k",
    "zeta_by_x": "(float from 32 bits, the same, the same): the derivative of zeta(x, q) by x",
    "zeta_by_x_twice": "(float from 32 bits, the same, the same): the second derivative of zeta(x, q) by x",
    **{f"betainc_by_{by}": f"(float from 32 bits, three times the same): the derivative of betainc(a, b, x) by {by}"
       for by in ("a", "b", "aa", "ab", "bb")},
    **{f"hyp2f1_by_{by}": f"(float from 32 bits, four times the same): the derivative of hyp2f1(a, b, c, x) by {by}"
       for by in ("a", "c", "aa", "ab", "ac", "cc")},
}

# Nanoseconds per element → names of loops; used to decide on workers. Other loops have the cost DEFAULT_COST.
DEFAULT_COST = 10.0
COSTS = {name: cost for cost, names in {
    0.3: "add subtract multiply negative positive square absolute fabs maximum minimum fmax fmin conjugate "
         "logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert left_shift "
         "right_shift equal not_equal less less_equal greater greater_equal isnan isinf isfinite signbit sign "
         "cast copy switch unless_overflow ultra_fast_sigmoid real imag complex clip rint floor ceil trunc",
    0.8: "divide true_divide reciprocal sqrt",
    2.0: "exp log exp2 log2 expm1 log1p tanh sin cos floor_divide remainder fmod round_half_away_from_zero power",
}.items() for name in names.split()}


@cython.final
cdef class VectorCalls:
    """The data of a loop that calls a vector function."""
    cdef phintys_vector_call usual, filling


@cython.final
cdef class InnerLoop:
    """One inner loop for one signature; made by ``find_loop``."""

    def __cinit__(self, str name, tuple dtypes):
        self.name = name
        self.dtypes = dtypes
        self.cost = COSTS.get(name, DEFAULT_COST)
        self.provider = "phintys"

    cdef bint use_vector_function(self, str provider) except -1:
        """Call a provider's vector function, and return True; False if there is none for this name and dtype."""
        cdef VectorCalls calls = VectorCalls()
        cdef str dtype = self.dtypes[0]
        self.function = <LoopFunction>vector_loop(self.name, dtype, provider, &calls.usual)
        self.data, self.owner = <void*>&calls.usual, calls
        if self.function == NULL:
            return False
        if dtype != "float16":
            calls.filling = calls.usual
            calls.filling.fills = True
            self.filling, self.vector = <void*>&calls.filling, vector_bytes(provider)
        self.provider, self.overwrites = TITLES[provider], True
        self.cost = cost_of(self.name, dtype, provider) or self.cost
        return True

    def __call__(self, *operands, times=1):
        """Run the loop over arrays of one dimension and one length, again and again to time it; returns a new array."""
        cdef char* arguments[MAXIMUM_CALLED]
        cdef npy_intp steps[MAXIMUM_CALLED]
        cdef npy_intp n
        cdef int index, count = len(self.dtypes)
        if len(operands) != count - 1 or count > MAXIMUM_CALLED:
            raise TypeError(f"{self.name} takes {count - 1} operands, not {len(operands)}")
        n = len(operands[0])
        result = numpy.empty(n, self.dtypes[count - 1])
        arrays = [*operands, result]
        for index in range(count):
            if arrays[index].dtype != self.dtypes[index] or arrays[index].shape != (n,):
                raise TypeError(f"{self!r}: operand {index} is {arrays[index].dtype} of shape {arrays[index].shape}")
            steps[index] = cnp.PyArray_STRIDE(<cnp.ndarray>arrays[index], 0)
        for _ in range(times):
            for index in range(count):                  # SciPy's loops move the pointers
                arguments[index] = <char*>cnp.PyArray_DATA(<cnp.ndarray>arrays[index])
            self.function(arguments, &n, steps, self.data)
        return result

    def __repr__(self):
        return f"<InnerLoop {self.name} {signature(self.dtypes)}>"


cdef str signature(tuple dtypes):
    cdef Py_ssize_t result = len(dtypes) - 1
    return f"{', '.join(dtypes[:result])} -> {dtypes[result]}"


cdef LoopFunction copy_function(int itemsize) noexcept nogil:
    return phintys_copy_loop(itemsize)


# ---- built-in loops --------------------------------------------------------------------------------------------------
cdef LoopFunction own_function(str name, tuple dtypes) except? NULL:
    """The C function, or NULL if the loop has no such signature."""
    cdef const phintys_arithmetic* loops = phintys_arithmetics[usable_set()]
    cdef int row, to, first = TYPE_INDEX[dtypes[0]]
    cdef int count = len(dtypes)
    if name == "cast":
        if count != 2:
            return NULL
        if vector_cast(dtypes[0], dtypes[1], usable_set()) != NULL:
            return <LoopFunction>vector_cast(dtypes[0], dtypes[1], usable_set())
        to = TYPE_INDEX[dtypes[1]]
        return loops.casts[first][to] if loops.casts[first][to] != NULL else phintys_casts[first][to]
    if name == "switch":
        if count != 4 or dtypes[0] != "bool" or not dtypes[1] == dtypes[2] == dtypes[3]:
            return NULL
        return loops.choose[<int>numpy.dtype(dtypes[3]).itemsize.bit_length() - 1]
    if name in ("real", "imag", "complex"):
        return parts_function(name, dtypes)
    if len(set(dtypes)) != 1:
        return NULL
    if name == "copy":
        return phintys_copy_loop(numpy.dtype(dtypes[0]).itemsize) if count == 2 else NULL
    for row in range(PHINTYS_OWN_ROWS):
        if loops.rows[row].name != NULL and loops.rows[row].name.decode() == name:
            return loops.rows[row].loops[first] if count == loops.rows[row].operands + 1 else NULL
    return special_function(name, dtypes[0], count)


cdef LoopFunction special_function(str name, str dtype, int count) except? NULL:
    """The loop of a special function; NULL if there is none."""
    cdef const phintys_special* row = phintys_specials
    while row.name != NULL and row.name.decode() != name:
        row += 1
    if row.name == NULL or count != row.operands + 1 or dtype not in ("float32", "float64"):
        return NULL
    return row.loops[<int>(dtype == "float64")]


cdef dict PARTS = {("float32", "complex64"): 0, ("float64", "complex128"): 1}


cdef LoopFunction parts_function(str name, tuple dtypes) except? NULL:
    """The loop that extracts a part of complex numbers, or makes them from parts; NULL if there is none."""
    cdef int size
    if len(dtypes) != (3 if name == "complex" else 2) or (name == "complex" and dtypes[0] != dtypes[1]):
        return NULL
    size = PARTS.get((dtypes[1], dtypes[2]) if name == "complex" else (dtypes[1], dtypes[0]), -1)
    if size < 0:
        return NULL
    return phintys_complexes[size] if name == "complex" else (
        phintys_reals[size] if name == "real" else phintys_imaginaries[size])


# ---- ufuncs called as Python objects ---------------------------------------------------------------------------------
cdef class UfuncCall:
    """A ufunc and a signature, passed to ``call_ufunc`` as ``data``."""
    cdef object ufunc
    cdef tuple typenums


cdef void call_ufunc(char** arguments, const npy_intp* dimensions, const npy_intp* steps, void* data) noexcept with gil:
    """An inner loop that calls the ufunc as a Python object."""
    cdef UfuncCall call = <UfuncCall>data
    cdef int index, typenum, count = len(call.typenums)
    cdef list arrays = []
    try:
        for index in range(count):
            typenum = call.typenums[index]
            arrays.append(PyArray_NewFromDescr(
                cnp.ndarray, PyArray_DescrFromType(typenum), 1, dimensions, &steps[index], arguments[index],
                NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED, NULL))
        with numpy.errstate(all="ignore"):
            call.ufunc(*arrays[:count - 1], out=arrays[count - 1], casting="unsafe")
    except BaseException:
        PyErr_WriteUnraisable(call.ufunc)


# ---- finding ---------------------------------------------------------------------------------------------------------
cdef dict found = {}


cdef int legacy_index(PyUFuncObject* ufunc, tuple dtypes):
    """The number of the ufunc's first loop with this signature, or -1."""
    cdef int index, operand
    for index in range(ufunc.ntypes):
        for operand in range(ufunc.nargs):
            if legacy_name(ufunc.types[index * ufunc.nargs + operand]) != dtypes[operand]:
                break
        else:
            if ufunc.functions[index] != NULL:
                return index
    return -1


cdef list names_of_typenums = [None] * 32
for _name in "?bBhHiIlLqQefdFD":
    names_of_typenums[numpy.dtype(_name).num] = numpy.dtype(_name).name


cdef inline object legacy_name(int typenum):
    return names_of_typenums[typenum] if 0 <= typenum < 32 else None


cdef bint agrees(InnerLoop loop, object ufunc):
    """Whether the bare loop gives what the ufunc gives, on three values."""
    cdef int count = len(loop.dtypes)
    if count > MAXIMUM_CALLED:
        return False
    arrays = [numpy.array([1, 2, 1] if numpy.dtype(dtype).kind in "iu" else [0.25, 1, 0.75]).astype(dtype)
              for dtype in loop.dtypes]
    with numpy.errstate(all="ignore"):
        expected = ufunc(*arrays[:count - 1], out=numpy.empty(3, loop.dtypes[count - 1]), casting="unsafe")
        got = loop(*arrays[:count - 1])
    same = (got == expected) | ((got != got) & (expected != expected))
    return same.all() or numpy.allclose(got, expected, rtol=1e-3, equal_nan=True)


cdef bint resolves(object ufunc, tuple dtypes):
    """Whether the ufunc itself accepts operands of these dtypes and gives a result of this dtype."""
    try:
        answer = ufunc.resolve_dtypes(tuple(numpy.dtype(dtype) for dtype in dtypes[:len(dtypes) - 1]) + (None,))
    except TypeError:
        return False
    return tuple(dtype.name for dtype in answer) == dtypes


@cython.final
cdef class Gapless:
    """The data of a loop that hands on operands without gaps."""
    cdef phintys_gapless inside


cdef int make_gapless(InnerLoop loop) except -1:
    """Let the loop see only operands without gaps."""
    cdef Gapless data = Gapless()
    data.inside.function, data.inside.data = loop.function, loop.data
    data.inside.itemsize, data.inside.count = numpy.dtype(loop.dtypes[0]).itemsize, len(loop.dtypes)
    loop.function, loop.data, loop.owner = phintys_gapless_loop, <void*>&data.inside, data
    return 0


cdef bint is_numpys(object ufunc):
    return getattr(numpy, ufunc.__name__, None) is ufunc


cdef bint is_known(object ufunc):
    """Whether the ufunc is what its name says: NumPy's or SciPy's."""
    return is_numpys(ufunc) or getattr(sys.modules.get("scipy.special"), ufunc.__name__, None) is ufunc


def provided_loop(object ufunc, tuple dtypes, str provider):
    """The loop that calls a provider's vector function, or None if there is none."""
    cdef InnerLoop loop = InnerLoop(ufunc.__name__, dtypes)
    if len(dtypes) != ufunc.nin + 1 or len(set(dtypes)) != 1 or not is_known(ufunc):
        return None
    return loop if loop.use_vector_function(provider) and agrees(loop, ufunc) else None


def built_in_loop(str name, tuple dtypes, str provider):
    """The loop that calls a built-in vector function which is no ufunc, or None if there is none."""
    cdef InnerLoop loop = InnerLoop(name, dtypes)
    if name not in NO_UFUNCS or len(dtypes) != 2 or dtypes[0] != dtypes[1] or dtypes[0] == "float16":
        return None
    return loop if loop.use_vector_function(provider) else None


cdef InnerLoop best_loop(object ufunc, tuple dtypes):
    """The loop of the best provider that there is."""
    cdef InnerLoop loop
    if len(set(dtypes)) == 1 and is_known(ufunc):
        for provider in providers(ufunc.__name__, dtypes[0]):
            loop = provided_loop(ufunc, dtypes, provider)
            if loop is not None:
                return loop
    loop = ufunc_loop(ufunc, dtypes)
    loop.cost = cost_of(loop.name, dtypes[0]) or loop.cost
    return loop


cdef bint takes_own(object ufunc, tuple dtypes) except -1:
    """Whether there is a built-in loop in place of NumPy's, which may raise errors or takes longer for few elements."""
    if ufunc is not numpy.power and ufunc is not numpy.absolute and ufunc is not numpy.remainder:
        return False
    return len(set(dtypes)) == 1 and own_function(ufunc.__name__, dtypes) != NULL


# Ufuncs that are one of two loops where all operands are truths.
TRUTHS = {numpy.multiply: "both", numpy.bitwise_and: "both", numpy.logical_and: "both",
          numpy.add: "either", numpy.bitwise_or: "either", numpy.logical_or: "either"}


def ufunc_loop(object ufunc, tuple dtypes):
    """The ufunc's own loop, or one that calls the ufunc as a Python object.

    Raises
    ------
    TypeError
        If the ufunc does not take operands of these dtypes to this result.
    """
    cdef PyUFuncObject* table = <PyUFuncObject*><PyObject*>ufunc
    cdef InnerLoop loop = InnerLoop(ufunc.__name__, dtypes)
    cdef const phintys_arithmetic* truths
    cdef UfuncCall call
    cdef int index
    loop.provider = "NumPy" if is_numpys(ufunc) else "SciPy"
    if table.nout != 1 or table.nargs != len(dtypes):
        raise TypeError(f"{ufunc.__name__} has {table.nin} inputs and {table.nout} outputs; a step needs one output "
                        f"and as many dtypes as operands, not {dtypes}")
    if takes_own(ufunc, dtypes):
        return own_loop(loop.name, dtypes)
    if dtypes == ("bool",) * 3 and ufunc in TRUTHS:
        truths = phintys_arithmetics[usable_set()]
        loop.function, loop.owner, loop.provider = truths.both, ufunc, "phintys"
        if TRUTHS[ufunc] == "either":
            loop.function = truths.either
        return loop
    index = legacy_index(table, dtypes)
    if index >= 0:
        loop.function, loop.data, loop.owner = table.functions[index], table.data[index], ufunc
        loop.overwrites = len({numpy.dtype(dtype).itemsize for dtype in dtypes}) == 1
        if agrees(loop, ufunc):
            if is_numpys(ufunc) and loop.name in FUNCTIONS and dtypes[0] in ("float16", "float32", "float64"):
                make_gapless(loop)
            return loop
    elif not resolves(ufunc, dtypes):
        raise TypeError(f"{ufunc.__name__} has no loop for {signature(dtypes)}; it has "
                        f"{' '.join(ufunc.types)}")
    call = UfuncCall()
    loop.overwrites = False
    call.ufunc, call.typenums = ufunc, tuple(numpy.dtype(dtype).num for dtype in dtypes)
    loop.function, loop.data, loop.owner = <LoopFunction>call_ufunc, <void*>call, call
    loop.cost = 100.0
    return loop


def forget_loops(value=None):
    """Look up every loop again: the options that choose between providers have changed."""
    found.clear()


config.on_change("math", forget_loops)
config.on_change("cpu", forget_loops)


cdef InnerLoop own_loop(str name, tuple dtypes):
    cdef InnerLoop loop = InnerLoop(name, dtypes)
    if name not in OWN_LOOPS:
        raise TypeError(f"there is no loop {name!r}; available are {', '.join(OWN_LOOPS)}, and every ufunc")
    if name in NO_UFUNCS:
        for provider in providers(name, dtypes[0]):
            answer = built_in_loop(name, dtypes, provider)
            if answer is not None:
                return answer
    loop.function = own_function(name, dtypes)
    if loop.function == NULL:
        raise TypeError(f"{name} has no loop for {signature(dtypes)}; it takes {OWN_LOOPS[name]}")
    return loop


cpdef InnerLoop find_loop(loop, tuple dtypes):
    """The inner loop for exactly these dtypes.

    Parameters
    ----------
    loop : numpy.ufunc or str
        A ufunc with one output, or a name in ``OWN_LOOPS``.
    dtypes : tuple of str
        The dtype of each operand and, last, of the result.

    Raises
    ------
    TypeError
        If there is no such loop.
    """
    cdef object key = (loop, dtypes)
    cdef object answer = found.get(key)
    if answer is None:
        unknown = [dtype for dtype in dtypes if dtype not in TYPE_INDEX]
        if unknown:
            raise TypeError(f"there is no loop for dtype {unknown[0]!r}; supported are {', '.join(TYPES)}")
        if isinstance(loop, str):
            answer = own_loop(loop, dtypes)
        elif isinstance(loop, numpy.ufunc):
            answer = best_loop(loop, dtypes)
        else:
            raise TypeError(f"a loop is a ufunc or one of {', '.join(OWN_LOOPS)}, not {loop!r}")
        found[key] = answer
    return answer
