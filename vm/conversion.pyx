"""Conversion of call arguments: numbers, lists and arrays of another dtype, in about the time ``numpy.asarray`` takes.

These are shortcuts of ``TensorType.filter``, not a second set of rules: they convert to the same values as ``filter``
and never refuse a value. Values that they do not handle, and all that ``filter`` would refuse, are left to ``filter``,
so each error comes from one place. There are three rules:

* An array converts by its dtype alone: ``Type.lossless_types`` lists the dtypes.
* A number, or lists of numbers, converts if every element keeps its value (``conversion_loops.h``).
* With ``allow_downcast=True`` both convert even if values change; with None, so does a Python float for floatX.
"""
cimport numpy as cnp
from cpython.complex cimport PyComplex_CheckExact, PyComplex_ImagAsDouble, PyComplex_RealAsDouble
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from numpy cimport npy_intp

from phintys.vm.python_api cimport Py_INCREF, PyList_CheckExact, PyTuple_CheckExact
from phintys.vm.thresholds cimport LONG_CAST

import numpy

from phintys.graph.config import config

cnp.import_array()

cdef extern from "Python.h":
    bint PyLong_CheckExact(object)
    bint PyBool_Check(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

cdef extern from "numpy/arrayobject.h":
    object PyArray_FromArray(cnp.ndarray array, cnp.dtype descr, int flags)      # steals a reference to descr
    object PyArray_NewLikeArray(cnp.ndarray prototype, int order, cnp.dtype descr, int subok)    # the same
    bint PyArray_CanCastSafely(int source, int target)
    void PyArray_ScalarAsCtype(object scalar, void* target)
    int NPY_ARRAY_FORCECAST

cdef extern from "conversion_loops.h":
    ctypedef int (*phintys_cast)(const void*, void*, npy_intp, int) noexcept nogil
    phintys_cast phintys_cast_of(int source, int target) noexcept nogil

cdef union Number:                  # a number in the widest type of its kind
    int64_t whole
    double real
    double parts[2]
    char bytes[32]                  # room for any NumPy scalar

cdef int float_x = -1               # the type number of config.floatX

# The exact types of the NumPy scalars that are read here; subclasses may override behaviour.
cdef dict SCALARS = {numpy.dtype(name).type: numpy.dtype(name).num for name in
                     ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32", "float64",
                      "complex128")}


# ---- numbers ---------------------------------------------------------------------------------------------------------
cdef bint number_into(const Target* target, object value, char* address) except -1:
    cdef Number number
    cdef int source = read_number(value, &number)
    cdef phintys_cast cast
    if source < 0:
        return False
    cast = phintys_cast_of(source, target.typenum)
    return cast != NULL and cast(&number, address, 1, must_be_exact(target, value))


cdef inline bint must_be_exact(const Target* target, value):
    """Return whether a number must keep its value."""
    if target.downcast == FLOATS_TO_FLOATX:
        return not (target.typenum == float_x and PyFloat_CheckExact(value))
    return target.downcast == FORBIDDEN


cdef int read_number(value, Number* number) except -2:
    """Read a number as int64, float64 or complex128. Returns the type number, or -1 if it is not handled here."""
    cdef int overflow = 0
    if PyFloat_CheckExact(value):
        number.real = PyFloat_AS_DOUBLE(value)
        return cnp.NPY_FLOAT64
    if PyLong_CheckExact(value) or PyBool_Check(value):
        number.whole = PyLong_AsLongLongAndOverflow(value, &overflow)
        return -1 if overflow else cnp.NPY_INT64
    if PyComplex_CheckExact(value):
        number.parts[0], number.parts[1] = PyComplex_RealAsDouble(value), PyComplex_ImagAsDouble(value)
        return cnp.NPY_COMPLEX128
    return read_scalar(value, SCALARS.get(type(value)), number)


cdef int read_scalar(value, known, Number* number) except -2:
    """Read a NumPy scalar in the same way; ``known`` is the type number or None."""
    cdef Number scalar
    cdef int typenum
    if known is None:
        return -1
    typenum = known
    PyArray_ScalarAsCtype(value, &scalar)
    if typenum == cnp.NPY_COMPLEX128:
        number[0] = scalar
        return typenum
    if typenum == cnp.NPY_FLOAT64 or typenum == cnp.NPY_FLOAT32:
        number.real = scalar.real if typenum == cnp.NPY_FLOAT64 else (<float*>&scalar)[0]
        return cnp.NPY_FLOAT64
    if typenum == cnp.NPY_INT64:
        number.whole = scalar.whole
    elif typenum == cnp.NPY_INT32:
        number.whole = (<int32_t*>&scalar)[0]
    elif typenum == cnp.NPY_UINT32:
        number.whole = (<uint32_t*>&scalar)[0]
    elif typenum == cnp.NPY_INT16:
        number.whole = (<int16_t*>&scalar)[0]
    elif typenum == cnp.NPY_UINT16:
        number.whole = (<uint16_t*>&scalar)[0]
    elif typenum == cnp.NPY_INT8:
        number.whole = (<int8_t*>&scalar)[0]
    else:                                               # uint8 and bool
        number.whole = (<uint8_t*>&scalar)[0]
    return cnp.NPY_INT64


# ---- arrays ----------------------------------------------------------------------------------------------------------
cdef object array_from(const Target* target, object value):
    cdef cnp.ndarray number
    if type(value) is cnp.ndarray:
        return array_from_array(target, value)
    if PyList_CheckExact(value) or PyTuple_CheckExact(value) or type(value) is range:
        return array_from_lists(target, value) if target.ndim else None
    if target.ndim == 0:
        number = cnp.PyArray_EMPTY(0, NULL, target.typenum, 0)
        return number if number_into(target, value, <char*>cnp.PyArray_DATA(number)) else None
    return None


cdef inline object cast_by_numpy(cnp.ndarray array, int typenum):
    """Make an array in native byte order, of the same type or from bool or integers: these do not warn."""
    cdef cnp.dtype descr = cnp.PyArray_DescrFromType(typenum)
    Py_INCREF(descr)
    return PyArray_FromArray(array, descr, NPY_ARRAY_FORCECAST)


cdef object cast_by_loop(cnp.ndarray array, int typenum, bint exact):
    """Make an array with the same layout; None if there is no such cast, or if a value would change."""
    cdef phintys_cast cast = phintys_cast_of(cnp.PyArray_TYPE(array), typenum)
    cdef npy_intp count = cnp.PyArray_SIZE(array)
    cdef const void* read
    cdef void* write
    cdef cnp.dtype descr
    cdef cnp.ndarray result
    cdef bint done
    if cast == NULL or not cnp.PyArray_ISBEHAVED_RO(array):
        return None
    if not (cnp.PyArray_IS_C_CONTIGUOUS(array) or cnp.PyArray_IS_F_CONTIGUOUS(array)):
        array = cnp.PyArray_NewCopy(array, cnp.NPY_KEEPORDER)       # without gaps, in the same order of axes
    descr = cnp.PyArray_DescrFromType(typenum)
    Py_INCREF(descr)
    result = PyArray_NewLikeArray(array, cnp.NPY_KEEPORDER, descr, 0)
    read, write = cnp.PyArray_DATA(array), cnp.PyArray_DATA(result)
    if count < LONG_CAST:
        done = cast(read, write, count, exact)
    else:
        with nogil:
            done = cast(read, write, count, exact)
    return result if done else None


cdef object converted(cnp.ndarray array, int typenum, bint exact):
    """Make an array of another type or byte order; None as in `cast_by_loop`."""
    cdef int source = cnp.PyArray_TYPE(array)
    cdef bint is_discrete = source < cnp.NPY_FLOAT
    if (source == typenum or (is_discrete and typenum <= cnp.NPY_DOUBLE and not exact)
            or (is_discrete and PyArray_CanCastSafely(source, typenum))):
        return cast_by_numpy(array, typenum)
    return cast_by_loop(array, typenum, exact)


cdef object array_from_array(const Target* target, cnp.ndarray array):
    """Convert an array of another dtype or byte order; as in ``filter``, only its dtype matters."""
    cdef int source = cnp.PyArray_TYPE(array)
    if source == target.typenum and cnp.PyArray_ISNOTSWAPPED(array):
        return None                                     # the rank differs, or it is not aligned
    if target.downcast == ALLOWED or (source < 64 and target.lossless >> source & 1):
        return converted(array, target.typenum, False)
    return None


cdef object array_from_lists(const Target* target, value):
    """Convert lists and tuples of numbers, or of lists; as in ``filter``, each value matters."""
    cdef cnp.ndarray array
    try:
        array = cnp.PyArray_FROM_O(value)
    except Exception:
        return None                                     # `filter` raises the error
    if cnp.PyArray_TYPE(array) == target.typenum:
        return array
    return converted(array, target.typenum, target.downcast != ALLOWED)


# ---- rules that depend on the configuration --------------------------------------------------------------------------
cdef unsigned long long mask_of(object typenums) except? 0:
    cdef unsigned long long mask = 0
    cdef int source
    for source in typenums:
        mask |= <unsigned long long>1 << source
    return mask


def follow_float_x(name):
    """Follow ``config.floatX``; while threads have different ones, ``filter`` decides."""
    global float_x
    float_x = -1 if name is None else numpy.dtype(name).num


config.on_change("floatX", follow_float_x, of_process=False)
