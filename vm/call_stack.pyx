"""Records the calls that led to a node, in a few dozen nanoseconds: every node of a user's graph keeps them.

Finding a line number takes longer than building a node, so a *trace* is raw: it is a tuple ``(code, offset, code,
offset, …)`` of the frames outside phintys, innermost first. ``graph/trace.py`` turns it into files, lines and names on
demand. No frame is kept, because frames keep the user's values alive.

Frames of phintys are left out. At most ``limit`` others are kept; if all of these run library code, the next frame
outside libraries is added, because it is the user's line. The kind of code in a file is determined once for each file.

While the gradient of a node is being made, traces also say where that node was made (`graph.trace.GradientTrace`).
"""
import os
from threading import local

from phintys.vm.free_threads cimport add_to
from phintys.vm.python_api cimport Py_XDECREF, PyObject

cdef extern from "Python.h":
    ctypedef struct PyFrameObject
    PyFrameObject* PyEval_GetFrame()
    PyFrameObject* PyFrame_GetBack(PyFrameObject* frame)
    PyObject* PyDict_GetItem(object dictionary, object key)
    tuple PyTuple_New(Py_ssize_t length)
    void PyTuple_SET_ITEM(object target, Py_ssize_t index, PyObject* value)
    PyObject* PyLong_FromLong(long value)

cdef extern from "call_stack.h":
    PyObject* phintys_code_of(PyFrameObject* frame)
    PyObject* phintys_file_of(PyObject* code)
    int phintys_offset_of(PyFrameObject* frame)

cdef enum Kind:
    USER
    LIBRARY
    OWN

cdef enum:
    FARTHEST = 100              # frames searched for the user's line; recursion may be thousands deep

cdef struct Entry:
    PyObject* code
    int offset

cdef dict kinds = {}            # file name -> Kind
cdef int limit = 8
cdef object sources = local()   # source: where the node was made whose gradient this thread is making
cdef object gradient_trace = None
cdef int translating = 0        # how many threads translate nodes whose lines are known
cdef int differentiating = 0    # how many gradients all threads are making: no thread-local look-up if there are none

STANDARD_LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


def set_limit(frames):
    """Keep at most this many frames in a trace; -1: all that are searched. Follows ``config.traceback.limit``."""
    global limit
    limit = min(frames, <int>FARTHEST) if frames >= 0 else FARTHEST


def is_library(str file):
    """Return whether a file belongs to Python or to an installed package, not to the user's program."""
    if any([part in file for part in INSTALLED]) or file.startswith("<frozen "):
        return True
    return file.startswith(STANDARD_LIBRARY)


cdef int kind_of(PyFrameObject* frame, str file) except? -1:
    """Determine the kind of a file that is seen for the first time."""
    module = str((<object>frame).f_globals.get("__name__"))
    cdef int kind = USER
    if is_library(file):
        kind = LIBRARY
    # Code from a file name such as <string> may belong to any program.
    if (module == "phintys" or module.startswith("phintys.")) and not file.startswith("<"):
        kind = OWN
    kinds[file] = kind
    return kind


def set_gradient_trace(cls):
    """Set the class of traces of nodes that belong to gradients: ``cls(trace, source)``."""
    global gradient_trace
    gradient_trace = cls


class gradient_of:
    """A context in which a thread makes the gradient of a node that was made at ``source``."""

    def __init__(self, source):
        self.source = source

    def __enter__(self):
        self.before = getattr(sources, "source", None)
        sources.source = self.before if self.source is None else self.source
        add_to(&differentiating, 1)

    def __exit__(self, *error):
        sources.source = self.before
        add_to(&differentiating, -1)


class made_at:
    """A context in which a thread makes nodes for one that was made at ``position``; None: at that of the context."""

    def __init__(self, position):
        self.position = position

    def __enter__(self):
        self.before = getattr(sources, "position", None)
        sources.position = self.before if self.position is None else self.position
        add_to(&translating, 1)

    def __exit__(self, *error):
        sources.position = self.before
        add_to(&translating, -1)


def user_trace():
    """Return the trace of the caller: its frames outside phintys.

    Returns
    -------
    tuple (code, int, code, int, …), GradientTrace, what ``made_at`` says, or None
        None if there is no such frame, or ``config.traceback.limit`` is 0.
    """
    if translating:
        position = getattr(sources, "position", None)
        if position is not None:
            return position
    trace = recorded()
    if differentiating and trace is not None:
        source = getattr(sources, "source", None)
        return trace if source is None else gradient_trace(trace, source)
    return trace


cdef object recorded():
    """The trace of the caller, without what is said about gradients."""
    cdef Entry entries[FARTHEST + 1]
    cdef PyFrameObject* frame = PyEval_GetFrame()
    cdef PyFrameObject* held = NULL             # the caller's frame is borrowed, outer ones are references of this loop
    cdef PyObject* known
    cdef int seen = 0, kept = 0, kind
    cdef bint user_found = False
    while frame != NULL and (kept < limit or not user_found) and seen < FARTHEST and limit > 0:
        entries[kept].code = phintys_code_of(frame)
        known = PyDict_GetItem(kinds, <object>phintys_file_of(entries[kept].code))
        kind = kind_of(frame, <object>phintys_file_of(entries[kept].code)) if known == NULL else <int><object>known
        seen += kind != OWN
        if kind == USER or (kind == LIBRARY and kept < limit):
            entries[kept].offset = phintys_offset_of(frame)
            kept += 1
            user_found |= kind == USER
        else:
            Py_XDECREF(entries[kept].code)
        frame = PyFrame_GetBack(frame)
        Py_XDECREF(<PyObject*>held)
        held = frame
    Py_XDECREF(<PyObject*>held)
    return packed(entries, kept)


cdef object packed(Entry* entries, int count):
    """Return the trace as a tuple, which takes over the references to the code objects."""
    cdef tuple trace
    cdef int index
    if count == 0:
        return None
    trace = PyTuple_New(2 * count)
    for index in range(count):
        PyTuple_SET_ITEM(trace, 2 * index, entries[index].code)
        PyTuple_SET_ITEM(trace, 2 * index + 1, PyLong_FromLong(entries[index].offset))
    return trace
