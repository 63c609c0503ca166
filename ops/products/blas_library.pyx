"""BLAS and LAPACK from SciPy's extension modules ``cython_blas`` and ``cython_lapack``, loaded by path on first use.

``import scipy.linalg`` takes 200 ms, loading one of these files 2 ms, and what they import of SciPy 23. They export
their functions as capsules. OpenBLAS has one setting for the number of threads in the whole process; products that are
not faster with threads run between ``enter_single_thread`` and ``leave_single_thread``.
"""
import importlib.machinery
import importlib.util
import os
import sys
from threading import RLock

cimport numpy as cnp
from libc.limits cimport INT_MAX
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer

cnp.import_array()

cdef extern from "products/blas_threads.h" nogil:
    int phintys_find_threads(const char*, const char*, const char*)
    const char* phintys_blas_core(const char*, const char*)
    void phintys_enter_single()
    void phintys_leave_single()
    int phintys_wanted_threads()
    void phintys_guard_blas_in_fork()
    int (*phintys_get_threads)()
    void phintys_expect_threads(int)

PACKAGE = "scipy.linalg."
# The names of OpenBLAS's functions in SciPy's wheels and in the packages of distributions.
THREAD_SYMBOLS = (("scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads"),
                  ("openblas_set_num_threads", "openblas_get_num_threads"))
CORE_SYMBOLS = "scipy_openblas_get_corename", "openblas_get_corename"
LETTERS = {cnp.NPY_FLOAT32: "s", cnp.NPY_FLOAT64: "d", cnp.NPY_COMPLEX64: "c", cnp.NPY_COMPLEX128: "z"}

cdef dict capsules = None, lapack_capsules = None
cdef str title = None
LOADING = RLock()
if hasattr(os, "register_at_fork"):     # a child has no thread that would release it, nor one that goes on loading
    os.register_at_fork(before=LOADING.acquire, after_in_parent=LOADING.release, after_in_child=LOADING.release)
limit = os.environ.get("OPENBLAS_NUM_THREADS", "")
phintys_expect_threads(int(limit) if limit.isdigit() and 0 < int(limit) < INT_MAX else INT_MAX)


def load_module(name="cython_blas"):
    """Load a module of ``scipy.linalg``, ``cython_blas`` or ``cython_lapack``, without importing the package.

    Raises
    ------
    ImportError
        If SciPy is not installed or has no such file.
    """
    full_name = PACKAGE + name
    if full_name in sys.modules:
        return sys.modules[full_name]
    package = importlib.util.find_spec("scipy")
    if package is None:
        raise ImportError("products of matrices need SciPy's BLAS, but SciPy is not installed")
    for folder in package.submodule_search_locations:
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = os.path.join(folder, "linalg", name + suffix)
            if os.path.exists(path):
                spec = importlib.util.spec_from_file_location(full_name, path)
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                return module
    raise ImportError(f"SciPy has no file linalg/{name} in {list(package.submodule_search_locations)}")


cdef int load() except -1:
    """Load the library once and find the functions that set its number of threads."""
    with LOADING:
        return 0 if capsules is not None else load_now()


cdef int load_now() except -1:
    global capsules, title
    cdef const char* core
    module = load_module()
    path = os.fsencode(module.__file__)
    for setter, getter in THREAD_SYMBOLS:
        if phintys_find_threads(path, setter.encode(), getter.encode()):
            phintys_guard_blas_in_fork()
            break
    else:
        phintys_expect_threads(1)
    title = "SciPy's BLAS"
    for getter in CORE_SYMBOLS:
        core = phintys_blas_core(path, getter.encode())
        if core != NULL:
            title = f"OpenBLAS {core.decode()}"
            break
    capsules = module.__pyx_capi__
    return 0


cdef void* pointer(str name) except NULL:
    capsule = capsules[name]
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


cdef BlasFunctions blas_functions(int typenum) except *:
    cdef BlasFunctions functions
    if typenum not in LETTERS:
        raise TypeError(f"BLAS has no functions for NumPy type number {typenum}")
    if capsules is None:
        load()
    letter = LETTERS[typenum]
    functions.gemm = <GemmFunction>pointer(letter + "gemm")
    functions.gemv = <GemvFunction>pointer(letter + "gemv")
    functions.dot = pointer(letter + "dot") if letter in "sd" else NULL
    return functions


cdef int load_lapack() except -1:
    global lapack_capsules
    with LOADING:
        if lapack_capsules is None:
            load()
            lapack_capsules = load_module("cython_lapack").__pyx_capi__
    return 0


cdef void* library_function(str name, int typenum) except NULL:
    if typenum not in LETTERS:
        raise TypeError(f"LAPACK has no functions for NumPy type number {typenum}")
    if lapack_capsules is None:
        load_lapack()
    name = LETTERS[typenum] + name
    capsule = capsules[name] if name in capsules else lapack_capsules[name]
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


cdef void enter_single_thread() noexcept nogil:
    phintys_enter_single()


cdef void leave_single_thread() noexcept nogil:
    phintys_leave_single()


cdef int wanted_threads() noexcept nogil:
    return phintys_wanted_threads()


def blas_title():
    """The name of the loaded BLAS, with that of the processor whose functions it uses."""
    if capsules is None:
        load()
    return title


def blas_threads():
    """The number of threads of the loaded BLAS; None if it is not known."""
    if capsules is None:
        load()
    return phintys_get_threads() if phintys_get_threads != NULL else None
