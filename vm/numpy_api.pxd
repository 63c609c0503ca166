"""What the modules use of NumPy's C interface: for Cython, this file is ``numpy`` while phintys is built.

NumPy's own file has 1,100 lines, which Cython would read for each module: a third of its time. Ops outside this tree
use that one, and what they share with phintys, such as ``npy_intp``, are the same types of C. Unlike that one, this
file does not import NumPy's table of functions where a module forgets to: what calls ``PyArray_`` functions needs
``import_array()``, which ``tests/packaging/test_build_inputs.py`` checks.
"""
from phintys.vm.python_api cimport PyObject


cdef extern from "numpy/arrayobject.h":
    # Which types these are exactly is known to the C compiler.
    ctypedef signed char npy_int8
    ctypedef signed short npy_int16
    ctypedef signed int npy_int32
    ctypedef signed long long npy_int64
    ctypedef unsigned char npy_uint8
    ctypedef unsigned short npy_uint16
    ctypedef unsigned int npy_uint32
    ctypedef unsigned long long npy_uint64
    ctypedef signed long npy_intp

    enum:                       # types of elements; an anonymous enum, whose members are plain integers
        NPY_BOOL
        NPY_INT8
        NPY_INT16
        NPY_INT32
        NPY_INT64
        NPY_UINT8
        NPY_UINT16
        NPY_UINT32
        NPY_UINT64
        NPY_ULONGLONG
        NPY_FLOAT16
        NPY_FLOAT32
        NPY_FLOAT64
        NPY_COMPLEX64
        NPY_COMPLEX128
        NPY_FLOAT
        NPY_DOUBLE
        NPY_CFLOAT
        NPY_CDOUBLE

    ctypedef enum NPY_ORDER:
        NPY_KEEPORDER

    enum:
        NPY_ARRAY_ALIGNED
        NPY_ARRAY_WRITEABLE

    ctypedef class numpy.dtype [object PyArray_Descr, check_size ignore]:
        pass

    ctypedef class numpy.ndarray [object PyArrayObject, check_size ignore]:
        pass

    int import_array "_import_array"() except -1

    int PyArray_NDIM(ndarray) nogil
    int PyArray_TYPE(ndarray) nogil
    int PyArray_FLAGS(ndarray) nogil
    npy_intp PyArray_DIM(ndarray, size_t) nogil
    npy_intp* PyArray_DIMS(ndarray) nogil
    npy_intp PyArray_STRIDE(ndarray, size_t) nogil
    npy_intp* PyArray_STRIDES(ndarray) nogil
    npy_intp PyArray_ITEMSIZE(ndarray) nogil
    npy_intp PyArray_SIZE(ndarray) nogil
    npy_intp PyArray_NBYTES(ndarray) nogil
    void* PyArray_DATA(ndarray) nogil
    PyObject* PyArray_BASE(ndarray) nogil                   # a borrowed reference, or NULL
    PyObject* PyArray_DESCR(ndarray) nogil                  # a borrowed reference

    bint PyArray_ISWRITEABLE(ndarray) nogil
    bint PyArray_ISBEHAVED(ndarray) nogil
    bint PyArray_ISBEHAVED_RO(ndarray) nogil
    bint PyArray_ISNOTSWAPPED(ndarray) nogil
    bint PyArray_IS_C_CONTIGUOUS(ndarray) nogil
    bint PyArray_IS_F_CONTIGUOUS(ndarray) nogil
    void PyArray_CLEARFLAGS(ndarray, int flags) nogil

    dtype PyArray_DescrFromType(int typenum)
    ndarray PyArray_GETCONTIGUOUS(ndarray)
    object PyArray_FROM_O(object)
    object PyArray_EMPTY(int ndim, npy_intp* shape, int typenum, int fortran)
    object PyArray_SimpleNewFromData(int ndim, npy_intp* shape, int typenum, void* data)
    object PyArray_NewCopy(ndarray, NPY_ORDER)
    int PyArray_CopyInto(ndarray, ndarray) except -1
