"""What the modules use of Python's C interface: objects, references, errors.

Cython's own lists (``cpython.object``, ``cpython.ref``, ``cpython.exc``) name each other and ``libc.stdio``, and it
would read all of them for each module: an eighth of its time.
"""
cdef extern from "Python.h":
    ctypedef struct PyObject:
        Py_ssize_t ob_refcnt
        PyTypeObject* ob_type

    ctypedef struct PyTypeObject:
        pass

    # The object may be in use elsewhere: these do what they say, no more.
    void Py_INCREF(object)
    void Py_XINCREF(PyObject*)
    void Py_XDECREF(PyObject*)

    bint PyTuple_CheckExact(object)
    bint PyList_CheckExact(object)
    bytes PyBytes_FromStringAndSize(char* text, Py_ssize_t size)

    PyObject* PyErr_Occurred()                                  # a borrowed reference
    void PyErr_SetObject(object type, object value)
    void PyErr_SetString(object type, const char* message)
    void PyErr_Fetch(PyObject** type, PyObject** value, PyObject** traceback)
    void PyErr_Restore(PyObject* type, PyObject* value, PyObject* traceback)
    void PyErr_WriteUnraisable(object where)
