"""Callables: what turns a Python call into a run of the interpreter, and its results into Python values.

Arguments are checked and unpacked here without Python code when they are arrays of the declared type; everything else
goes through ``Type.filter``. Calls use the vectorcall protocol, so no tuple of arguments is built. A callable keeps a
few idle frames; two threads in one function run in two frames.
"""
cimport numpy as cnp
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject, PyTypeObject
from libc.stdlib cimport free, malloc
from numpy cimport npy_intp

from phintys.vm.abi cimport CELL_OBJECT, Cell, drop
from phintys.vm.interpreter cimport Code, Frame, execute, reset

from phintys.graph.config import config
from phintys.vm.pool import set_pool_limit
from phintys.vm.listing import listing
from phintys.vm.runtime_error import argument_error, explained

cnp.import_array()

cdef extern from "Python.h":
    """
    typedef PyObject* (*phintys_entry)(PyObject*, PyObject* const*, size_t, PyObject*);
    static void phintys_enable_vectorcall(PyTypeObject* type, Py_ssize_t offset) {
        type->tp_vectorcall_offset = offset;
        type->tp_call = PyVectorcall_Call;
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        PyType_Modified(type);
    }
    """
    void phintys_enable_vectorcall(PyTypeObject*, Py_ssize_t)
    size_t PyVectorcall_NARGS(size_t) nogil
    PyObject* PyTuple_GET_ITEM(object, Py_ssize_t)
    Py_ssize_t PyTuple_GET_SIZE(object)
    list PyList_New(Py_ssize_t)
    void PyList_SET_ITEM(object, Py_ssize_t, PyObject*)

ctypedef object (*Entry)(PyObject* callable, PyObject** arguments, size_t count, PyObject* names)

cdef enum:
    IDLE_FRAMES = 4                 # kept for the next calls; more are freed when their call ends

cdef enum Unpack:
    UNPACK_SINGLE, UNPACK_LIST, UNPACK_DICT

cdef struct Argument:
    int typenum                     # -1: no array
    int ndim
    unsigned long long broadcastable    # bit per axis
    bint plain_float                # a Python float needs no filter


cdef class Callable:
    """A linked program as a Python function.

    Parameters
    ----------
    program : Program
    argument_types : list of Type
    argument_names : list of str or None
    strict_flags, downcast_flags : list
        How each argument converts.
    single : bool
        Return the only result itself instead of a list.
    output_keys : list of str, optional
        Return a dictionary with these keys.
    defaults : list, optional
        One entry an argument: None when it is required, else a one-element list with its default value.
    """
    cdef Entry vectorcall           # must stay where the type says it is
    cdef readonly object program
    cdef public object name
    cdef readonly list argument_types, argument_names
    cdef list strict_flags, downcast_flags, defaults, output_keys
    cdef Code code
    cdef Argument* arguments
    cdef int n_arguments
    cdef Unpack unpack
    cdef list frames
    cdef dict positions
    cdef object __weakref__

    def __cinit__(self, *args, **kwargs):
        self.vectorcall = enter

    def __init__(self, program, argument_types, argument_names, strict_flags, downcast_flags, single=False,
                 output_keys=None, defaults=None):
        cdef int index, axis
        self.program = program
        self.name = program.name
        self.argument_types = list(argument_types)
        self.argument_names = list(argument_names)
        self.strict_flags = list(strict_flags)
        self.downcast_flags = list(downcast_flags)
        self.n_arguments = len(self.argument_types)
        self.defaults = list(defaults) if defaults is not None else [None] * self.n_arguments
        self.output_keys = list(output_keys) if output_keys is not None else None
        self.unpack = UNPACK_SINGLE if single else UNPACK_LIST if output_keys is None else UNPACK_DICT
        self.positions = {name: index for index, name in enumerate(self.argument_names) if name is not None}
        self.frames = []
        self.code = Code(program)
        free(self.arguments)
        self.arguments = <Argument*>malloc((self.n_arguments + 1) * sizeof(Argument))
        if self.arguments == NULL:
            raise MemoryError()
        for index, type_ in enumerate(self.argument_types):
            self.arguments[index].typenum = -1
            self.arguments[index].plain_float = False
            if type_.layout is None:
                continue
            self.arguments[index].typenum, self.arguments[index].ndim = type_.layout
            self.arguments[index].broadcastable = 0
            for axis, broadcastable in enumerate(type_.broadcastable):
                if broadcastable:
                    self.arguments[index].broadcastable |= <unsigned long long>1 << axis
            self.arguments[index].plain_float = (type_.layout == (cnp.NPY_DOUBLE, 0)
                                                 and not self.strict_flags[index])
        self.frames.append(self._new_frame())

    def __dealloc__(self):
        free(self.arguments)

    cdef Frame _new_frame(self):
        cdef Frame frame = Frame(self.code)
        frame.machine.context.workers = usable_workers()
        return frame

    def free(self):
        """Give up the memory that idle frames keep between calls."""
        self.frames = []

    def explain(self):
        """The program's listing, as text; see ``docs/guide.md``."""
        return listing(self.program)

    # ---- slow paths ------------------------------------------------------------------------------------------------
    cdef object _arrange(self, tuple positional, dict named):
        """Positional, named and default values in order, or TypeError."""
        cdef list values = list(positional)
        cdef int index
        title = f"phintys function with name {self.name!r}" if self.name else "phintys function"
        if len(values) > self.n_arguments:
            raise TypeError(f"Too many parameter passed to {title}: it takes {self.n_arguments}, "
                            f"{len(values)} were given")
        values += [MISSING] * (self.n_arguments - len(values))
        for name, value in named.items():
            if name not in self.positions:
                raise TypeError(f"Unknown input or state: {name!r}. The {title} has {self._describe_arguments()}")
            index = self.positions[name]
            if index < len(positional):
                raise TypeError(f"Tried to provide value for implicit or already given input {name!r} "
                                f"(argument {index}) of {title}")
            values[index] = value
        missing = []
        for index in range(self.n_arguments):
            if values[index] is MISSING:
                if self.defaults[index] is None:
                    missing.append(f"{index}: {self._argument_title(index)}")
                else:
                    values[index] = self.defaults[index][0]
        if missing:
            raise TypeError(f"Missing required input: {', '.join(missing)}. The {title} has "
                            f"{self._describe_arguments()}; {len(positional) + len(named)} were given")
        return values

    def _argument_title(self, int index):
        return self.argument_names[index] or f"<{self.argument_types[index]}>"

    def _describe_arguments(self):
        return f"{self.n_arguments} inputs ({', '.join(map(self._argument_title, range(self.n_arguments)))})"

    cdef object _convert(self, int index, value):
        """A value of another type than declared, through ``Type.filter``."""
        type_ = self.argument_types[index]
        try:
            converted = type_.filter(value, strict=self.strict_flags[index], allow_downcast=self.downcast_flags[index])
        except Exception as error:
            raise argument_error(error, self, index, value) from None
        if type_.layout is not None and not cnp.PyArray_ISBEHAVED_RO(converted):
            converted = converted.astype(type_.numpy_dtype)
        return converted

    cdef int _bind(self, Frame frame, int index, value) except -1:
        """Make argument ``index``'s cell look at ``value``."""
        cdef Cell* cell = &frame.cells[index]
        cdef Argument* argument = &self.arguments[index]
        if not fits(argument, value):
            if argument.plain_float and PyFloat_CheckExact(value):
                cell.value[0] = PyFloat_AS_DOUBLE(value)
                cell.data = <char*>cell.value
                cell.object = NULL
                return 0
            value = self._convert(index, value)
            frame.kept.append(value)
        if argument.typenum < 0:
            Py_INCREF(value)
            drop(&frame.machine.context, cell)
            cell.object = <PyObject*>value
            cell.data = <char*>cell.value
            return 0
        look_at(cell, value)
        return 0

    cdef object _finish(self, Frame frame):
        """The results in the form the user asked for."""
        cdef object result
        cdef int index
        if self.unpack == UNPACK_SINGLE:
            result = taken(frame, 0)
        else:
            result = PyList_New(frame.n_results)
            for index in range(frame.n_results):
                PyList_SET_ITEM(result, index, steal(frame, index))
        if frame.kept:
            frame.kept.clear()
        if len(self.frames) < IDLE_FRAMES:
            self.frames.append(frame)
        if self.unpack == UNPACK_DICT:
            return dict(zip(self.output_keys, result))
        return result


cdef inline PyObject* steal(Frame frame, int index) noexcept:
    """The frame's reference to a result."""
    cdef PyObject* result = frame.results[index]
    frame.results[index] = NULL
    return result


cdef inline object taken(Frame frame, int index):
    cdef object result = <object>frame.results[index]
    Py_XDECREF(steal(frame, index))
    return result


MISSING = object()


cdef inline bint fits(Argument* argument, value):
    """Whether the value is an array of exactly the declared type."""
    cdef int axis
    if type(value) is not cnp.ndarray:
        return False
    if (cnp.PyArray_TYPE(value) != argument.typenum or cnp.PyArray_NDIM(value) != argument.ndim
            or not cnp.PyArray_ISBEHAVED_RO(value)):
        return False
    if argument.broadcastable:
        for axis in range(argument.ndim):
            if argument.broadcastable >> axis & 1 and cnp.PyArray_DIM(value, axis) != 1:
                return False
    return True


cdef inline void look_at(Cell* cell, value):
    """The cell looks at the array, which the caller keeps alive."""
    cdef int axis
    cdef npy_intp* shape = cnp.PyArray_DIMS(value)
    cdef npy_intp* strides = cnp.PyArray_STRIDES(value)
    cell.data = <char*>cnp.PyArray_DATA(value)
    cell.object = <PyObject*>value
    for axis in range(cell.ndim):
        cell.shape[axis] = shape[axis]
        cell.strides[axis] = strides[axis]


cdef object enter(PyObject* self_pointer, PyObject** arguments, size_t count, PyObject* names):
    """The vectorcall entry."""
    cdef Callable self = <Callable>self_pointer
    cdef Py_ssize_t given = PyVectorcall_NARGS(count)
    cdef int index
    cdef Frame frame
    cdef list arranged
    if self.frames:
        frame = <Frame>self.frames.pop()
    else:
        frame = self._new_frame()
    if names == NULL and given == self.n_arguments:
        for index in range(self.n_arguments):
            self._bind(frame, index, <object>arguments[index])
    else:
        arranged = arrange(self, arguments, given, names)
        frame.kept.append(arranged)
        for index in range(self.n_arguments):
            self._bind(frame, index, arranged[index])
    if execute(&frame.machine) < 0:
        fail(self, frame)
    return self._finish(frame)


cdef list arrange(Callable self, PyObject** arguments, Py_ssize_t given, PyObject* names):
    """The arguments of a call that is not simply positional and complete."""
    cdef Py_ssize_t index
    cdef dict named = {}
    cdef tuple positional = tuple([<object>arguments[index] for index in range(given)])
    if names != NULL:
        for index in range(PyTuple_GET_SIZE(<object>names)):
            named[<object>PyTuple_GET_ITEM(<object>names, index)] = <object>arguments[given + index]
    return self._arrange(positional, named)


cdef int raise_pending() except -1:
    """Let an exception that C code has set travel on as a Cython one."""
    return -1


cdef int fail(Callable self, Frame frame) except -1:
    """Clean up after a failed run and raise what happened, with the node it happened in."""
    cdef int position = <int>(frame.machine.at - frame.machine.code)
    try:
        raise_pending()
    except BaseException as error:
        described = explained(error, self.program, position, operands_of(frame, position))
        reset(frame)
        frame.kept.clear()
        if described is error:
            raise
        raise described.with_traceback(error.__traceback__) from error.__cause__


cdef list operands_of(Frame frame, int position):
    """(shape, strides) of the operands of an instruction, or None where a cell is empty or no array."""
    cdef Cell* cell
    cdef int index, axis
    cdef list described = []
    for index in range(frame.code.instructions[position].c):
        cell = frame.machine.operands[frame.code.instructions[position].b + index]
        if cell.data == NULL or cell.flags & CELL_OBJECT:
            described.append(None)
        else:
            described.append((tuple([cell.shape[axis] for axis in range(cell.ndim)]),
                              tuple([cell.strides[axis] for axis in range(cell.ndim)])))
    return described


cdef int usable_workers() except -1:
    """How many threads a call may use: the flag, or what the process may run on."""
    import os
    wanted = config.workers
    if wanted > 0:
        return wanted
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores


def enable_vectorcall(type cls):
    """Let calls of instances of ``cls`` (a subclass that adds no ``__call__``) take the fast entry."""
    cdef Callable sample = Callable.__new__(Callable)
    phintys_enable_vectorcall(<PyTypeObject*>cls, <char*>&sample.vectorcall - <char*><PyObject*>sample)


enable_vectorcall(Callable)


def apply_pool_limit(mebibytes):
    """Follow ``config.pool_limit``."""
    set_pool_limit(mebibytes << 20)


config.on_change("pool_limit", apply_pool_limit)
apply_pool_limit(config.pool_limit)
