/* What is asked about arrays of earlier calls before they are given out again; `results.pyx` asks. Needs the
 * GIL. An array counts as untouched only if nothing that a user can do to it can be seen in the next call. */
#ifndef PHINTYS_PLAIN_ARRAYS_H
#define PHINTYS_PLAIN_ARRAYS_H
#include <Python.h>
#include <numpy/arrayobject.h>

/* NumPy's own dtype of a number. NumPy keeps one for each for ever, so the references are borrowed; asking it each
 * time would cost 25 instructions a result. Only called with the GIL. */
static inline PyArray_Descr* phintys_plain_dtype(int typenum) {
    static PyArray_Descr* known[NPY_NTYPES_LEGACY];
    PyArray_Descr* found = __atomic_load_n(&known[typenum], __ATOMIC_RELAXED);
    if (found == NULL) __atomic_store_n(&known[typenum], found = PyArray_DescrFromType(typenum), __ATOMIC_RELAXED);
    return found;
}
/* Whether the array has the flags, the shape, the strides (NULL: those of C order, exactly, which the flag does not
 * say where lengths are 0 or 1) and the very dtype that NumPy gives a new array: another one may carry metadata. */
static inline int phintys_is_plain(PyArrayObject* array, int flags, int typenum, int ndim, const npy_intp* shape,
                                   const npy_intp* strides) {
    const int order = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS;
    npy_intp stride;
    int axis, same = PyArray_DESCR(array) == phintys_plain_dtype(typenum) && PyArray_NDIM(array) == ndim
        && (PyArray_FLAGS(array) & ~order) == flags;
    stride = PyArray_ITEMSIZE(array);
    for (axis = ndim - 1; same && axis >= 0; axis--) {
        same = PyArray_DIM(array, axis) == shape[axis]
            && PyArray_STRIDE(array, axis) == (strides == NULL ? stride : strides[axis]);
        stride *= shape[axis] ? shape[axis] : 1;
    }
    return same;
}
/* Whether the array was not given another type, shape, stride, base, flag or weak reference. */
static inline int phintys_is_untouched(PyObject* object, int typenum, int ndim, const npy_intp* shape) {
    PyArrayObject* array = (PyArrayObject*)object;
    const int flags = NPY_ARRAY_OWNDATA | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
    return phintys_is_plain(array, flags, typenum, ndim, shape, NULL) && PyArray_BASE(array) == NULL
        && ((PyArrayObject_fields*)array)->weakreflist == NULL;
}
/* An array over pool memory, as it was made. */
static inline int phintys_is_view_of(PyObject* object, char* data, int typenum, int ndim, const npy_intp* shape,
                                     const npy_intp* strides) {
    PyArrayObject* array = (PyArrayObject*)object;
    const int flags = NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
    return phintys_is_plain(array, flags, typenum, ndim, shape, strides) && PyArray_BYTES(array) == data;
}
static inline void* phintys_data(PyObject* object) { return PyArray_DATA((PyArrayObject*)object); }

#endif
