/* Reads the interpreter's stack: the fields of a frame that `call_stack.pyx` needs. What differs between versions of
 * Python is here; all of it needs the GIL, and `phintys_file_of` returns a borrowed reference. */
#ifndef PHINTYS_CALL_STACK_H
#define PHINTYS_CALL_STACK_H

#include <Python.h>
#include <frameobject.h>

/* The code object of a frame, a new reference. */
static inline PyObject* phintys_code_of(PyFrameObject* frame) {
    return (PyObject*)PyFrame_GetCode(frame);
}

/* The file name of a code object, borrowed. */
static inline PyObject* phintys_file_of(PyObject* code) {
    return ((PyCodeObject*)code)->co_filename;
}

/* The byte offset of the instruction that a frame executes, -1 if it has not begun. */
static inline int phintys_offset_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
    return PyFrame_GetLasti(frame);
#else
    return frame->f_lasti * (int)sizeof(_Py_CODEUNIT);      /* Python 3.10 counts in code units */
#endif
}

#endif
