"""Callables: what turns a Python call into a run of the interpreter, and its results into Python values.

Arguments are checked and unpacked here without Python code when they are arrays of the declared type; everything else
is converted, by ``conversion.pyx`` where it can, else by ``Type.filter``. Converting may run any Python code, which may
change other arguments; so all arguments are converted before the address of any is read. The frame holds a reference to
each of them until the call ends, and NumPy does not resize an array that others refer to.

Calls use the vectorcall protocol, so no tuple of arguments is built. A callable keeps a few idle frames, also those of
calls that failed; two threads in one function run in two frames.

After ``repeat_calls`` one frame records a call and repeats it as long as the layouts of arguments stay, as C functions
do (``machine/recorded_call.pyx``); it keeps up to 256 KiB for the values in between. Functions that PyTensor compiles
are called so.
"""
cimport cython
cimport numpy as cnp
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from libc.math cimport isfinite
from libc.stdlib cimport calloc, free, llabs, malloc
from numpy cimport npy_intp

from phintys.vm.abi cimport (
    CELL_DEVICE, CELL_LENT, CELL_NUMBER, CELL_OBJECT, CELL_SHOWN, RESULT_COPY_BYTES, Cell, buffer_behind,
    cell_give_array, cell_hold_array, cell_size, device_memory, drop, overlap, span_of_cell)
from phintys.vm.containers.claims cimport changes_in_progress, claim, give_up, values_turn, wait_until_whole
from phintys.vm.containers.container cimport is_held_by_another
from phintys.vm.conversion cimport (
    ALLOWED, FLOATS_TO_FLOATX, FORBIDDEN, Downcast, Target, array_from, mask_of, number_into)
from phintys.vm.free_threads cimport (
    Latch, Turn, add_to, end_turn, open_latch, publish, published, shut, take_turn)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.machine.code cimport Code, Instruction
from phintys.vm.machine.failure cimport what_failed
from phintys.vm.machine.frame cimport (
    Frame, bytes_kept_by, bytes_kept_by_context, empty_after, empty_frame, give_up_larger, reset, take_layout,
    taken_from)
from phintys.vm.machine.interpreter cimport execute
from phintys.vm.machine.plays cimport can_note, drop_values
from phintys.vm.machine.profile cimport Profile, end, phintys_seconds
from phintys.vm.machine.recorded_call cimport Recording, hold, kernels_that_look, play, record, release
from phintys.vm.machine.results cimport check_lent, take_results
from phintys.vm.machine.slots cimport shapes_of
from phintys.vm.pool cimport HOST, buffer_references
from phintys.vm.python_api cimport Py_INCREF, Py_XDECREF, PyObject, PyTypeObject

from weakref import WeakSet

from numpy import integer as numpy_integer
from numpy.linalg import LinAlgError

from phintys.graph.config import config
from phintys.vm.explaining.runtime_error import argument_error, explained
from phintys.vm.loops.loop_kernel import loops_in
from phintys.vm.opcodes import OPCODES
from phintys.vm.pool import set_guards, set_pool_limit, set_stress
from phintys.vm.worker_count import usable_workers

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
    PyTypeObject* Py_TYPE(PyObject*) nogil
    void* PyArray_DescrFromType(int)
    size_t PyVectorcall_NARGS(size_t) nogil
    PyObject** PySequence_Fast_ITEMS(object)
    PyObject* PyTuple_GET_ITEM(object, Py_ssize_t)
    Py_ssize_t PyTuple_GET_SIZE(object)
    PyObject* new_list "PyList_New" (Py_ssize_t)
    void PyList_SET_ITEM(PyObject*, Py_ssize_t, PyObject*)
    void PyObject_GC_Track(PyObject*)
    void PyObject_GC_UnTrack(PyObject*)

ctypedef object (*Entry)(PyObject* callable, PyObject** arguments, size_t count, PyObject* names)
ctypedef int (*BindStep)(Callable self, Frame frame, PyObject** values) noexcept
ctypedef int (*RunStep)(Callable self, Frame frame) noexcept

include "opcodes.pxi"

cdef int kept_frames = 4            # for the next calls; more are freed when their call ends
cdef long current_rules = 0         # counts changes of the configuration by which arguments convert

RECOVERABLE = (ArithmeticError, LinAlgError)

cdef enum Unpack:
    UNPACK_SINGLE, UNPACK_LIST, UNPACK_DICT, UNPACK_NONE

cdef enum Access:
    READ, HELD, MUTABLE             # see ``program.ACCESS``

cdef enum:
    AT_DEVICE = -1                  # the rank of arguments on a device, which no array of the host has

cdef enum:
    MOST_TRIALS = 8                 # calls of one layout in which all kernels are bound, if ever
    MOST_LAYOUTS = 8                # a caller with more does not come back to one
    MOST_REPEATED = 500             # instructions: so many short kernels end before others want the GIL
    MOST_RESULTS = 16
    MOST_BYTES = 1 << 18            # that a frame keeps for calls to repeat

STRAIGHT = (OP_KERNEL, OP_TOGETHER, OP_COPY, OP_DROP, OP_RESULT, OP_HALT)

cdef struct Repeats:                # a recorded call of one frame, and what is known for the next one
    Recording* recording            # or NULL
    long long epoch                 # in which the frame has tried to record a call,
    int trials                      # so often
    int layouts                     # how often a recording was given up for other layouts
    bint keeps                      # the frame keeps memory anyway
    int result                      # the position of RESULT
    int* leaves                     # the cells of arguments
    unsigned char* only_looks

cdef struct Argument:
    Target target                   # the dtype and rank, and how values convert
    void* dtype                     # NumPy's own of the type, which almost all arrays have
    unsigned long long known        # bit per axis whose length the type states
    bint plain_float                # a Python float is its value, unless it is infinite or NaN
    Access access
    npy_intp lengths[MAX_RANK]      # of the axes that are known


cdef int describe_type(Argument* argument, type_, downcast_flag) except -1:
    """Note what values of a type look like; of a type without a layout, that no array is known to be one."""
    cdef int axis
    argument.dtype = NULL
    argument.target.typenum = -1
    argument.target.plain = argument.plain_float = False
    argument.known = 0
    if type_.layout is None:
        return 0
    argument.target.typenum, argument.target.ndim, place = type_.layout
    if place != HOST:
        argument.target.ndim = AT_DEVICE
    argument.dtype = PyArray_DescrFromType(argument.target.typenum)         # lives for ever
    argument.target.downcast = downcast_of(downcast_flag)
    for axis, length in enumerate(type_.shape):
        if length is not None:
            argument.known |= <unsigned long long>1 << axis
            argument.lengths[axis] = length
    return 0


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
        One entry an argument: None when it is required, else an object whose ``taken()`` returns the default.
    return_none : bool
        Return None.
    measured : {"instructions", "calls", None}
        Note how often the function is called and how long that takes, and the same of each instruction; see
        ``measurements``.

    Attributes
    ----------
    trust_input : bool
        Arguments are not converted; one that is no array of exactly the declared type is an error.
    indirect : bool
        All calls go through the method ``call``, which gets the arguments as a tuple and a dictionary.
    has_states : bool
        Those go there that are not simply positional and complete.
    frames_made : int
        How many frames there have been; calls that follow each other share one.
    """
    cdef Entry vectorcall           # must stay where the type says it is
    cdef readonly object program
    cdef public object name
    cdef readonly list argument_types, argument_names
    cdef list strict_flags, downcast_flags, default_values, keys
    cdef public bint trust_input, indirect, has_states
    cdef readonly int frames_made
    cdef Code code
    cdef Argument* arguments
    cdef long conversion_rules      # `current_rules` when the arguments' rules were looked up
    cdef int n_arguments, n_lent, n_mutable
    cdef bint only_read             # no argument is held or may be overwritten
    cdef Repeats* repeats           # NULL: no call is recorded
    cdef Frame recorded             # the frame whose calls are
    cdef Unpack unpack
    cdef int n_results
    cdef Latch latch                # of `hot`, and of whose calls are recorded
    cdef PyObject* turn             # `values_turn`, if the program needs one, or NULL
    cdef Frame hot                  # the idle frame that the next call takes, or None
    cdef list frames                # other idle frames
    cdef dict positions
    cdef object __weakref__

    def __cinit__(self, *args, **kwargs):
        self.vectorcall = enter

    def __init__(self, program, argument_types, argument_names, strict_flags, downcast_flags, single=False,
                 output_keys=None, defaults=None, return_none=False, measured=None):
        self.program = program
        self.name = program.name
        self.argument_types = list(argument_types)
        self.argument_names = list(argument_names)
        self.strict_flags = list(strict_flags)
        self.downcast_flags = list(downcast_flags)
        self.n_arguments = len(self.argument_types)
        self.default_values = list(defaults) if defaults is not None else [None] * self.n_arguments
        self.keys = list(output_keys) if output_keys is not None else None
        self.unpack = UNPACK_SINGLE if single else UNPACK_LIST if output_keys is None else UNPACK_DICT
        if return_none:
            self.unpack = UNPACK_NONE
        self.n_results = program.n_results
        self.positions = {name: index for index, name in enumerate(self.argument_names)
                          if name is not None and self.argument_names.count(name) == 1}
        self.frames = []
        self.conversion_rules = -1
        self.code = Code(program)
        if measured is not None:
            self.code.measure(measured == "instructions")
            self.vectorcall = enter_measured
        self.n_lent = len(self.code.lent)
        self.n_mutable = sum([layout.access == "mutable" for layout in program.cells[:self.n_arguments]])
        self._note_arguments()
        if not self.only_read or self.n_lent > 0 or self.code.n_loaded > 0 or self.code.n_updated > 0:
            self.turn = <PyObject*>values_turn
        self.hot = self._new_frame()
        callables.add(self)

    cdef int _note_arguments(self) except -1:
        """Note in C what each call asks of its arguments."""
        cdef int index
        free(self.arguments)
        self.arguments = <Argument*>malloc((self.n_arguments + 1) * sizeof(Argument))
        if self.arguments == NULL:
            raise MemoryError()
        self.only_read = True
        for index, type_ in enumerate(self.argument_types):
            self.arguments[index].access = ACCESS.get(self.program.cells[index].access, READ)
            self.only_read &= self.arguments[index].access == READ
            describe_type(&self.arguments[index], type_, self.downcast_flags[index])
        return 0

    def __dealloc__(self):
        free(self.arguments)
        if self.repeats != NULL:
            free(self.repeats.recording)            # its frame may be gone already
            free(self.repeats.leaves)
            free(self.repeats.only_looks)
            free(self.repeats)

    def repeat_calls(self):
        """Record a call, and let later ones with arguments of the same layouts do the same on other addresses, as calls
        of C functions do (``recorded_call.pyx``): nothing is decided again, and no view made again.

        Returns
        -------
        bool
            Whether that may happen: the program has results, which are small, and no jumps, shared variables or Python
            ops. One frame then keeps up to 256 KiB for its values between calls.
        """
        cdef Instruction* at
        cdef int position
        if self.repeats != NULL:
            return True
        if (self.n_results == 0 or not self.only_read or self.n_lent or self.code.profile is not None
                or self.code.planner is not None or self.code.n_instructions > MOST_REPEATED):
            return False
        for position in range(self.code.halt + 1):
            if self.code.ops[position] not in STRAIGHT:
                return False
        self.repeats = <Repeats*>calloc(1, sizeof(Repeats))
        if self.repeats == NULL:
            raise MemoryError()
        self.repeats.leaves = <int*>malloc((self.n_arguments + 1) * sizeof(int))
        if self.repeats.leaves == NULL:
            raise MemoryError()
        for position in range(self.n_arguments):
            self.repeats.leaves[position] = position
        self.repeats.only_looks = kernels_that_look(self.code)
        while self.code.ops[self.repeats.result] != OP_RESULT:
            self.repeats.result += 1
        return True

    @property
    def repeats_a_call(self):
        """Whether the next call repeats a recorded one, if its arguments have the same layouts; for tests."""
        return self.repeats != NULL and self.repeats.recording != NULL

    cdef Frame _new_frame(self):
        cdef Frame frame = Frame(self.code)
        add_to(&self.frames_made, 1)
        frame.machine.context.workers = usable_workers()
        return frame

    def free(self):
        """Give up all memory that idle frames keep between calls: buffers, arenas, scratch memory, free lists."""
        cdef Frame frame
        cdef list idle = self._taken_frames()
        for frame in idle:
            if frame is self.recorded:
                forget_recording(self)
            empty_frame(frame)
        self.frames.extend(idle[:kept_frames])
        for loop in loops_in(self.program):
            loop.free()

    def share_arena(self, group):
        """Let a ``Group`` of ``vm/linking/plan.py`` decide who has the arena; return whether there is one to share."""
        if self.code.planner is None:
            return False
        group.add(self.code.planner, self)
        return True

    cdef list _taken_frames(self):
        """All idle frames, out of the way of calls that start."""
        cdef list idle = taken_from(self.frames)
        cdef Frame hot = taken_hot(self)
        if hot is not None:
            idle.append(hot)
        return idle

    cdef int _give_back(self, list idle) except -1:
        """The same frames, the last one first for the next call."""
        cdef Frame frame
        for frame in reversed(idle):
            put_back(self, frame)
        return 0

    def kept_bytes(self):
        """The memory that idle frames keep between calls, in bytes."""
        cdef Frame frame
        cdef list idle = self._taken_frames()
        own = sum([bytes_kept_by(frame) for frame in idle])
        self._give_back(idle)
        return own + sum([loop.kept_bytes() for loop in loops_in(self.program)])

    def last_shapes(self):
        """The shapes that the program's cells had in the last call.

        Returns
        -------
        list of tuple or None
            One entry a cell; None: an object, or not computed.
        """
        cdef list idle = self._taken_frames()
        shapes = shapes_of(<Frame>idle[len(idle) - 1]) if idle else [None] * len(self.program.cells)
        self._give_back(idle)
        return shapes

    def measurements(self):
        """The ``Profile`` of the program, or None if its calls are not measured."""
        return self.code.profile

    def fail_at(self, position=None):
        """Let instruction ``position`` raise ``RuntimeError`` instead of being run, in each call; None: none any more.

        For tests of failing calls.

        Raises
        ------
        IndexError
            If there is no such instruction, or nothing can fail there because it comes after COMMIT.
        """
        names = [OPCODES[instruction.op].name for instruction in self.program.instructions()]
        safe = range(names.index("COMMIT") + 1 if "COMMIT" in names else names.index("HALT"), names.index("HALT") + 1)
        if position is not None and (position in safe or not 0 <= position < len(names)):
            raise IndexError(f"instruction {position} cannot fail: those are 0 to {len(names) - 1} without "
                             f"{safe.start} to {safe.stop - 1}")
        self.code.put_failure(-1 if position is None else position, 0)
        self.free()                                         # what was recorded does not fail

    def explain(self, style="formulas"):
        """The program as text; see ``docs/guide.md``. The style is "formulas" or "instructions"."""
        from phintys.vm.callables.explanation import explained as as_text
        return as_text(self, style)

    def c_function(self, signature="general", shapes=None, workers=1, recoverable=RECOVERABLE):
        """The function as a C function, which C code calls without the GIL and without Python objects.

        Parameters
        ----------
        signature : str
            How C code calls it, as a name or as the text in C:

            ``"general"``
                ``int64_t f(const void *const *inputs, const int64_t *const *shapes, void *const *outputs, int64_t
                *const *output_shapes, void *user_data)``. An address for each argument, whose elements are in C order
                and of the argument's dtype, with its lengths; and for each result, with the lengths of the memory
                there. If a result has other lengths, nothing is written but the lengths of all results, and the status
                is 5. Lengths of numbers, and of arguments whose shape is given in ``shapes``, may be NULL.
            ``"log_density"``
                ``int64_t f(uint64_t dim, const double *x, double *gradient, double *value, void *user_data)``, as
                nutpie calls it. The first result is a number, the others together have ``dim`` elements.
            ``"expand"``
                ``int64_t f(uint64_t dim, uint64_t expanded, const double *x, double *out, void *user_data)``, as nutpie
                calls it. All results together have ``expanded`` elements.
            ``"number"``, ``"number_data"``, ``"numbers"``, ``"numbers_data"``
                ``double f(double x)``, ``double f(double x, void *user_data)``, ``double f(int n, double *x)``,
                ``double f(int n, double *x, void *user_data)``, as ``scipy.integrate`` calls them. The result is a
                number; NaN if the call fails.
            ``"window"``, ``"line"``
                ``int f(double *window, intptr_t size, double *result, void *user_data)`` and ``int f(double *line,
                intptr_t length, double *result, intptr_t result_length, void *user_data)``, as ``scipy.ndimage`` calls
                them in ``generic_filter`` and ``generic_filter1d``. They return 0 if the call fails.

            All but the first are *flat*: the arguments, which are of dtype float64, are pieces of the vector ``x``, one
            after the other, each in C order; and the results are written one after the other as doubles.
        shapes : sequence or dict, optional
            The shape of each argument, or of some by their names or numbers, where the types do not say it. Flat
            signatures need it, except for one vector, which takes what the other arguments leave.
        workers : int
            How many threads a long call may use; by default only the thread that calls.
        recoverable : tuple of type
            The exceptions after which the status is 1: a computation that has no result for these values, after which
            a sampler goes on.

        Returns
        -------
        CFunction
            The attribute ``address`` is the address of the C function. The object keeps the function alive, and must
            live as long as C code may call the address.

        Raises
        ------
        NotImplementedError
            If the program runs Python code (an op without a kernel), or has values that are Python objects or are on a
            device. The error names the node and where it was made.
        TypeError
            If arguments or results do not fit the signature.
        ValueError
            If there is no such signature, or the shape of an argument is not known.

        Notes
        -----
        The status is 0 after a call that succeeded; 1 after an exception that is ``recoverable``; 3 if the gradient, 4
        if the value of a log-density is not finite (both are written); 5 if a result has other lengths than the memory
        for it; -1 for a wrong argument; -2 after any other exception; -3 without memory; -4 if the object is gone.
        ``error`` and ``raise_error()`` of the object give the exception. The GIL is taken to keep an exception, to run
        loops of ``scan``, and when a shared variable has got another value since the last call; for nothing else.

        Each running call has a frame of its own, so any number of threads may call. Nothing is kept of the caller's
        memory. Results must not lie in the memory of arguments. Signals are not looked at: Ctrl-C does not stop a call.

        Updates of shared variables and of random streams are made. Calls that update the same variable come one after
        the other; they take the GIL before and after they compute. A call whose status is not 0, 3 or 4 changes none.

        Shared variables have their present values in each call. For a function without updates, a caller may pass
        others in ``user_data``: the address of a table of 64-bit numbers, which has the addresses of all values, then
        their numbers of elements, then the lengths of all their dimensions, in the order of the attribute ``shared``.

        Examples
        --------
        >>> x = phintys.tensor.dscalar("x")
        >>> square = phintys.function([x], x ** 2).c_function("number")
        >>> square.ctypes(3.0)
        9.0
        """
        from phintys.vm.callables.c_function import CFunction
        return CFunction(self, signature, shapes, workers, recoverable)

    # ---- slow paths ------------------------------------------------------------------------------------------------
    def call(self, positional, named):
        """A call of a subclass that needs more than arguments; see ``indirect`` and ``has_states``."""
        return self.evaluate(positional, named)

    def evaluate(self, tuple positional, dict named):
        """A call that is not simply positional and complete: keywords, defaults, ``output_subset``."""
        cdef list subset = None
        cdef list arranged
        if "output_subset" in named:
            named = dict(named)
            subset = self._chosen(named.pop("output_subset"))
        arranged = self._arrange(positional, named)
        return answer(self, PySequence_Fast_ITEMS(arranged), subset)

    def arranged(self, tuple positional, dict named):
        """The values of all arguments, in order, of a call with these."""
        return self._arrange(positional, named)

    cdef list _chosen(self, subset):
        """``output_subset`` as positions of results."""
        cdef list chosen = []
        if subset is None:
            return None
        for item in subset:
            if self.keys is not None:
                if item not in self.keys:
                    raise ValueError(f"output_subset: {item!r} is no key of the outputs of {self._title()}; "
                                     f"there are {self.keys}")
                chosen.append(self.keys.index(item))
                continue
            if not isinstance(item, INTEGERS) or not -self.program.n_results <= item < self.program.n_results:
                raise IndexError(f"output_subset: {self._title()} has {self.program.n_results} outputs, "
                                 f"none at {item!r}")
            chosen.append(item % self.n_results)
        return chosen

    def _title(self):
        return f"phintys function with name {self.name!r}" if self.name else "phintys function"

    def position_of(self, index):
        """The number that the caller knows argument ``index`` by."""
        return index

    def refuse_keyword(self, name):
        """Raise: no argument has this name, or several have."""
        raise TypeError(f"Unknown input or state: {name!r}. The {self._title()} has {self._describe_arguments()}")

    cdef object _arrange(self, tuple positional, dict named):
        """Positional, named and default values in order, or TypeError."""
        cdef list values = list(positional)
        cdef int index
        if len(values) > self.n_arguments:
            raise TypeError(f"Too many parameter passed to {self._title()}: it takes {self.n_arguments}, "
                            f"{len(values)} were given")
        values += [MISSING] * (self.n_arguments - len(values))
        for name, value in named.items():
            if name not in self.positions:
                self.refuse_keyword(name)
            index = self.positions[name]
            if index < len(positional):
                raise TypeError(f"Multiple values for input: {name!r} (argument {self.position_of(index)}) of "
                                f"{self._title()}")
            values[index] = self._convert(index, value) if self.trust_input else value
        cdef list missing = []
        for index in range(len(positional), self.n_arguments):
            if values[index] is MISSING:
                if self.default_values[index] is None:
                    missing.append(f"{self.position_of(index)}: {self._argument_title(index)}")
                else:
                    values[index] = self.default_values[index].taken()
        if missing:
            raise TypeError(f"Missing required input: {', '.join(missing)}. The {self._title()} has "
                            f"{self._describe_arguments()}; {len(positional) + len(named)} were given")
        return values

    def at_length(self, node):
        """More lines for the error of a node that failed."""
        return ()

    def _argument_title(self, int index):
        return self.argument_names[index] or f"<{self.argument_types[index]}>"

    def _describe_arguments(self):
        return f"{self.n_arguments} inputs ({', '.join(map(self._argument_title, range(self.n_arguments)))})"

    # ---- arguments -----------------------------------------------------------------------------------------------
    cdef object _convert(self, int index, value):
        """A value of another type than declared, as an array of just the declared type, or any object."""
        cdef Argument* argument = &self.arguments[index]
        cdef object converted = self._converted_quickly(index, value)
        if converted is not None:
            return converted
        type_ = self.argument_types[index]
        try:
            converted = type_.filter(value, strict=self.strict_flags[index], allow_downcast=self.downcast_flags[index])
            if type_.is_number:
                converted = cnp.PyArray_FROM_O(converted)
            return converted if argument.target.typenum < 0 else filtered_array(argument, type_, converted)
        except Exception as error:
            raise argument_error(error, self, index, value) from None

    cdef object _converted_quickly(self, int index, value):
        """The same without Python code; None: only ``Type.filter`` can say what it becomes."""
        cdef Argument* argument = &self.arguments[index]
        cdef object converted
        if not self._is_plain(index):
            return None
        converted = array_from(&argument.target, value)
        return converted if converted is not None and fits(argument, converted) else None

    cdef bint _is_plain(self, int index) except -1:
        """Whether an argument converts by the rules of ``conversion.pyx``; they depend on the configuration."""
        if published(&self.conversion_rules) != current_rules:
            with cython.critical_section(self):
                self._look_up_rules()
        return self.arguments[index].target.plain and not self.argument_types[index].filter_checks_isfinite

    cdef int _look_up_rules(self) except -1:
        cdef Argument* argument
        cdef int index
        cdef long rules = current_rules
        for index in range(self.n_arguments):
            argument = &self.arguments[index]
            lossless = None if argument.target.typenum < 0 else self.argument_types[index].lossless_types()
            argument.target.plain = lossless is not None and not self.strict_flags[index]
            argument.target.lossless = mask_of(lossless or ())
            argument.plain_float = (argument.target.plain and argument.access == READ and argument.target.ndim == 0
                                    and argument.target.typenum == cnp.NPY_DOUBLE)
        publish(&self.conversion_rules, rules)
        return 0

    cdef object _trusted(self, int index, value):
        """A value that the caller vouches for, as an array of exactly the declared type, or an error."""
        if self.arguments[index].target.typenum < 0:
            return value
        try:
            if not isinstance(value, cnp.ndarray):
                raise ValueError("trust_input is set, so expected an ndarray")
            value = readable(value)
            if not fits(&self.arguments[index], value):
                raise ValueError("trust_input is set, so the array must have exactly the declared type")
        except ValueError as error:
            raise argument_error(error, self, index, value) from None
        return value

    cdef int _take(self, Frame frame, int index, value) except -1:
        """Convert one value, into the argument's cell if it is a number, else into ``frame.given``."""
        cdef Cell* cell = &frame.cells[index]
        cdef Argument* argument = &self.arguments[index]
        cdef object converted
        if (argument.target.ndim == 0 and argument.target.typenum >= 0 and argument.access == READ
                and not self.trust_input and self._is_plain(index)
                and number_into(&argument.target, value, <char*>cell.value)):
            cell.data = <char*>cell.value
            cell.object = NULL
            return 0
        if argument.target.ndim == AT_DEVICE:
            return self._take_to_device(frame, index, value)
        converted = self._trusted(index, value) if self.trust_input else self._convert(index, value)
        Py_INCREF(converted)
        frame.given[index] = <PyObject*>converted
        if argument.target.typenum < 0:
            Py_INCREF(converted)
            drop(&frame.machine.context, cell)
            cell.object = <PyObject*>converted
            cell.data = <char*>cell.value
        return 0

    cdef int _take_to_device(self, Frame frame, int index, value) except -1:
        """Let an argument's cell hold a value on the device; an array of the host is copied there."""
        cdef Cell* cell = &frame.cells[index]
        cdef npy_intp before[2 * MAX_RANK]
        cdef int number
        for number in range(2 * cell.ndim):
            before[number] = cell.shape[number]
        try:
            device_memory.hold(&frame.machine.context, cell, self.argument_types[index].filter(
                value, strict=self.strict_flags[index], allow_downcast=self.downcast_flags[index]))
        except (TypeError, ValueError) as error:
            raise argument_error(error, self, index, value) from None
        for number in range(2 * cell.ndim):
            if before[number] != cell.shape[number]:
                frame.machine.epoch += 1
                break
        return 0

    cdef int _check_unchanged(self, Frame frame) except -1:
        """Raise if the conversion of one argument has given another argument a new dtype or rank."""
        cdef int index
        for index in range(self.n_arguments):
            if (frame.given[index] != NULL and self.arguments[index].target.typenum >= 0
                    and not fits(&self.arguments[index], <object>frame.given[index])):
                value = <object>frame.given[index]
                raise argument_error(TypeError(
                    "the array had the declared type, but the conversion of another argument changed it"), self, index,
                    value)
        return 0

    cdef int _hold(self, Frame frame, int index, value) except -1:
        """Hold the memory of an argument that results may show, or that may be overwritten.

        To be overwritten it must be writeable, each element must have memory of its own, and nothing else may look
        at it: no buffer of ours besides the array's, no container, no other argument (see ``_part``). Else a copy is
        overwritten.
        """
        cdef Cell* cell = &frame.cells[index]
        if self.arguments[index].access == HELD:
            cell_hold_array(&frame.machine.context, cell, value)
            return 0
        if (not cnp.PyArray_ISWRITEABLE(value) or may_overlap_itself(value) or is_held_by_another(None, value)
                or (buffer_behind(value) != NULL and buffer_references(buffer_behind(value)) > 1)):
            value = value.copy()
            cell.object = NULL
            frame.machine.epoch += 1                # the copy's strides are others
        cell_give_array(&frame.machine.context, cell, value)
        return 0

    cdef int _await_whole(self, Frame frame) except -1:
        """Wait for commits that are writing to what the program reads."""
        try:
            wait_until_whole(self.code.loaded, self.code.n_loaded)
        except BaseException:
            give_up(self.code.updated, self.code.n_updated)
            raise
        return 0

    cdef int _part(self, Frame frame) except -1:
        """Copy arguments that may be overwritten and overlap others."""
        cdef int index, other
        for index in range(self.n_arguments):
            if self.arguments[index].access == MUTABLE:
                for other in range(self.n_arguments):
                    if (other != index and self.arguments[other].target.typenum >= 0
                            and overlap(span_of_cell(&frame.cells[index]), span_of_cell(&frame.cells[other]))):
                        value = array_of(&frame.cells[index]).copy()
                        frame.machine.epoch += 1
                        frame.cells[index].object = NULL
                        cell_give_array(&frame.machine.context, &frame.cells[index], value)
                        break
        return 0

    cdef Frame _other_frame(self):
        """A frame for a call while another one runs, or the first one after ``free``."""
        try:
            return <Frame>self.frames.pop() if self.frames else self._new_frame()
        except IndexError:                          # another thread has taken the last one
            return self._new_frame()

    cdef int _put_aside(self, Frame frame) except -1:
        """Keep an idle frame beside the hot one, unless there are enough, or no memory for another."""
        try:
            if len(self.frames) + 1 < kept_frames:
                self.frames.append(frame)
        except MemoryError:
            pass
        return 0


cdef inline Frame taken_hot(Callable self):
    cdef Frame frame
    shut(&self.latch)
    frame = self.hot
    self.hot = None
    open_latch(&self.latch)
    return frame


cdef inline Frame idle_frame(Callable self):
    cdef Frame frame = taken_hot(self)
    return self._other_frame() if frame is None else frame


cdef inline int put_back(Callable self, Frame frame) except -1:
    """The frame is idle again."""
    cdef bint is_hot
    let_go(frame, self.n_arguments)                 # may run any code, which may call this function
    shut(&self.latch)
    is_hot = self.hot is None and kept_frames != 0
    if is_hot:
        self.hot = frame
    open_latch(&self.latch)
    return 0 if is_hot else self._put_aside(frame)


cdef inline object finish(Callable self, Frame frame):
    """The results of a call without updates, or the only result."""
    cdef object result
    if self.unpack == UNPACK_SINGLE:
        result = taken(frame, 0)
    else:
        result = all_taken(self, frame)
    put_back(self, frame)
    return result


cdef object answer(Callable self, PyObject** values, list chosen):
    """The results in the form that the user asked for, ``chosen`` ones or all. It is made before the program runs:
    nothing may fail once shared variables have new values."""
    cdef list keys = None, results = [None] * (self.n_results if chosen is None else len(chosen))
    cdef dict named = None
    cdef Py_ssize_t index, position
    cdef Frame frame
    if self.unpack == UNPACK_DICT:
        keys = self.keys if chosen is None else [self.keys[position] for position in chosen]
        named = dict.fromkeys(keys)
    frame = after_run(self, values)
    for index in range(len(results)):
        position = index if chosen is None else chosen[index]
        results[index] = <object>frame.results[position]
        if named is not None:
            named[keys[index]] = results[index]
    for index in range(frame.n_results):
        Py_XDECREF(steal(frame, index))
    put_back(self, frame)
    if named is not None:
        return named
    if chosen is None and self.unpack != UNPACK_LIST:
        return results[0] if self.unpack == UNPACK_SINGLE else None
    return results


cdef inline void let_go(Frame frame, int n_arguments) noexcept:
    """The frame refers to the arguments of the call no more, nor to memory of other libraries on the device; blocks of
    our own stay, so that the next call's copies go to others."""
    cdef PyObject* value
    cdef Cell* cell
    cdef int index
    for index in range(n_arguments):
        value = frame.given[index]
        frame.given[index] = NULL
        Py_XDECREF(value)
        cell = &frame.cells[index]
        if cell.buffer != NULL and cell.buffer.owner != NULL and cell.flags & CELL_DEVICE:
            drop(&frame.machine.context, cell)


cdef inline PyObject* steal(Frame frame, int index) noexcept:
    """The frame's reference to a result."""
    cdef PyObject* result = frame.results[index]
    frame.results[index] = NULL
    return result


cdef inline object taken(Frame frame, int index):
    cdef object result = <object>frame.results[index]
    Py_XDECREF(steal(frame, index))
    return result


cdef inline list all_taken(Callable self, Frame frame):
    cdef PyObject* results = new_list(frame.n_results)
    if results == NULL:
        recover(self, frame)
    return fill(results, frame)


cdef inline list fill(PyObject* results, Frame frame):
    """A new list with the results; its maker's reference to it ends."""
    cdef int index
    for index in range(frame.n_results):
        PyList_SET_ITEM(results, index, steal(frame, index))
    cdef list filled = <list>results
    Py_XDECREF(results)
    return filled


cdef list listed(Callable self, PyObject** values):
    """The results of a call with updates, in a list that is made before the program runs; see ``answer``. Until it is
    filled, nobody may find it through the garbage collector."""
    cdef Frame frame = idle_frame(self)
    cdef PyObject* results = new_list(self.n_results)
    if results != NULL:
        PyObject_GC_UnTrack(results)
    if results == NULL or run_on(self, frame, values) < 0:
        Py_XDECREF(results)
        recover(self, frame)
    PyObject_GC_Track(results)
    cdef list filled = fill(results, frame)
    put_back(self, frame)
    return filled


MISSING = object()
callables = WeakSet()
INTEGERS = (int, numpy_integer)
ACCESS = {"held": HELD, "shown": HELD, "mutable": MUTABLE}     # all others are read only


cdef inline bint has_lengths(Argument* argument, npy_intp* shape) noexcept:
    """Whether a shape has the lengths that the type states."""
    cdef int axis
    for axis in range(argument.target.ndim):
        if argument.known >> axis & 1 and shape[axis] != argument.lengths[axis]:
            return False
    return True


cdef inline bint fits(Argument* argument, value):
    """Whether the value is an array of exactly the declared type."""
    if type(value) is not cnp.ndarray:
        return False
    if (cnp.PyArray_TYPE(value) != argument.target.typenum or cnp.PyArray_NDIM(value) != argument.target.ndim
            or not cnp.PyArray_ISBEHAVED_RO(value)):
        return False
    return not argument.known or has_lengths(argument, cnp.PyArray_DIMS(value))


cdef object readable(cnp.ndarray array):
    """The array as kernels read one: not of a subclass such as numpy.memmap, aligned, in native byte order."""
    if not cnp.PyArray_ISBEHAVED_RO(array):
        array = array.astype(array.dtype.newbyteorder("="))
    return array if type(array) is cnp.ndarray else array.view(cnp.ndarray)


cdef object filtered_array(Argument* argument, type_, value):
    """What a type's ``filter`` returned, as an array that can be looked at."""
    if isinstance(value, cnp.ndarray):
        value = readable(value)
        if fits(argument, value):
            return value
    raise TypeError(f"{type(type_).__name__}.filter returned no array of the type {type_}, but a "
                    f"{type(value).__name__}: {value!r}")


cdef inline Downcast downcast_of(flag):
    """``allow_downcast`` in C."""
    return FLOATS_TO_FLOATX if flag is None else ALLOWED if flag else FORBIDDEN


cdef inline bint look_at(Cell* cell, value):
    """The cell refers to the array, which the caller keeps alive; returns whether the layout is another than before."""
    cell.data = <char*>cnp.PyArray_DATA(value)
    cell.object = <PyObject*>value
    return take_layout(cell, cnp.PyArray_DIMS(value), cnp.PyArray_STRIDES(value))


cdef inline bint fits_at_once(Argument* argument, PyObject* value) noexcept:
    """Whether the value is an array of exactly the declared type, asked of NumPy's own dtype only."""
    if (<PyTypeObject*>cnp.ndarray != Py_TYPE(value) or <void*>cnp.PyArray_DESCR(<cnp.ndarray>value) != argument.dtype
            or cnp.PyArray_NDIM(<cnp.ndarray>value) != argument.target.ndim
            or not cnp.PyArray_FLAGS(<cnp.ndarray>value) & cnp.NPY_ARRAY_ALIGNED):
        return False
    return not argument.known or has_lengths(argument, cnp.PyArray_DIMS(<cnp.ndarray>value))


cdef bint may_overlap_itself(cnp.ndarray array) noexcept:
    """Whether two elements may be at one address: unless each stride leads past all that the smaller ones reach."""
    cdef npy_intp reach = cnp.PyArray_ITEMSIZE(array), stride
    cdef npy_intp* shape = cnp.PyArray_DIMS(array)
    cdef npy_intp* strides = cnp.PyArray_STRIDES(array)
    cdef int axis, smallest
    cdef unsigned long long seen = 0                # bit per axis
    if cnp.PyArray_IS_C_CONTIGUOUS(array) or cnp.PyArray_IS_F_CONTIGUOUS(array):
        return False
    while True:
        smallest = -1
        for axis in range(cnp.PyArray_NDIM(array)):
            if shape[axis] > 1 and not seen >> axis & 1 and (
                    smallest < 0 or llabs(strides[axis]) < llabs(strides[smallest])):
                smallest = axis
        if smallest < 0:
            return False
        stride = llabs(strides[smallest])
        if stride < reach:
            return True
        reach += (shape[smallest] - 1) * stride
        seen |= <unsigned long long>1 << smallest


cdef object array_of(Cell* cell):
    """The array of an argument that is held."""
    return <object>cell.buffer.owner


cdef object enter(PyObject* self_pointer, PyObject** arguments, size_t count, PyObject* names):
    """The vectorcall entry."""
    cdef Callable self = <Callable>self_pointer
    cdef Py_ssize_t given = PyVectorcall_NARGS(count)
    if self.indirect or names != NULL or given != self.n_arguments:
        return enter_slowly(self, arguments, given, names)
    if self.unpack > UNPACK_SINGLE:
        if self.unpack > UNPACK_LIST:
            return answer(self, arguments, None)
        if self.code.n_updated > 0:
            return listed(self, arguments)
    return finish(self, after_run(self, arguments))


cdef object enter_measured(PyObject* self_pointer, PyObject** arguments, size_t count, PyObject* names):
    """The vectorcall entry of a function whose calls are measured."""
    cdef Profile profile = (<Callable>self_pointer).code.profile
    cdef double start = phintys_seconds()
    try:
        return enter(self_pointer, arguments, count, names)
    finally:
        profile.add_call(phintys_seconds() - start)


cdef inline Frame after_run(Callable self, PyObject** values):
    """A frame in which the program has run on these arguments."""
    cdef Frame frame = idle_frame(self)
    if run_on(self, frame, values) < 0:
        recover(self, frame)
    return frame


cdef inline int run_on(Callable self, Frame frame, PyObject** values) noexcept:
    """Run the program on these arguments; returns -1 with an exception set."""
    cdef Turn turn
    cdef int status
    take_turn(&turn, self.turn)
    status = bind_step(self, frame, values)
    if status >= 0:
        status = run_step(self, frame)
    end_turn(&turn, self.turn)
    return status


cdef int bind(Callable self, Frame frame, PyObject** values) except -1:
    """Make the arguments' cells refer to the values.

    ``frame.given`` has a reference to each value or what it was converted to; NULL for a number in the cell itself.
    """
    cdef PyObject* value
    cdef Argument* argument
    cdef int index
    for index in range(self.n_arguments):
        argument = &self.arguments[index]
        value = values[index]
        if fits_at_once(argument, value):
            Py_INCREF(<object>value)
            frame.given[index] = value
            frame.machine.epoch += look_at(&frame.cells[index], <object>value)
        elif not (argument.plain_float and bind_float(self, &frame.cells[index], <object>value)):
            return convert(self, frame, values, index)
    if not self.only_read:
        hold_all(self, frame)
    return 0


cdef int convert(Callable self, Frame frame, PyObject** values, int first) except -1:
    """Bind arguments of which some must be converted, from ``first`` on. Converting may run any code, which may change
    arrays; so all are converted before the address of any is kept."""
    cdef PyObject* value
    cdef Argument* argument
    cdef int index
    cdef bint all_fit = True
    for index in range(first, self.n_arguments):
        argument = &self.arguments[index]
        value = values[index]
        if fits(argument, <object>value):
            Py_INCREF(<object>value)
            frame.given[index] = value
        elif not (argument.plain_float and bind_float(self, &frame.cells[index], <object>value)):
            self._take(frame, index, <object>value)
            all_fit = False
    if not all_fit:
        self._check_unchanged(frame)
    for index in range(self.n_arguments):
        if frame.given[index] != NULL and self.arguments[index].target.typenum >= 0:
            frame.machine.epoch += look_at(&frame.cells[index], <object>frame.given[index])
    if not self.only_read:
        hold_all(self, frame)
    return 0


cdef int hold_all(Callable self, Frame frame) except -1:
    """Hold the memory of arguments that results may show, or that may be overwritten."""
    cdef int index
    for index in range(self.n_arguments):
        if (self.arguments[index].access != READ and frame.given[index] != NULL
                and self.arguments[index].target.typenum >= 0):
            self._hold(frame, index, <object>frame.given[index])
    return 0


cdef inline bint bind_float(Callable self, Cell* cell, value):
    """Take a Python float as it is, if it is finite: whether others are welcome is the type's to say."""
    if not PyFloat_CheckExact(value) or self.trust_input or not isfinite(PyFloat_AS_DOUBLE(value)):
        return False
    cell.value[0] = PyFloat_AS_DOUBLE(value)
    cell.data = <char*>cell.value
    cell.object = NULL
    return True


# ---- recorded calls --------------------------------------------------------------------------------------------------
cdef int keep_no_more(Callable self) noexcept:
    """Let the frame give up memory after each call as its program says."""
    if not self.repeats.keeps:
        give_up_larger(self.recorded)
        self.recorded.machine.context.keeps = False
    return 0


cdef int forget_recording(Callable self) noexcept:
    """Let the recorded frame run as others do."""
    if self.repeats.recording != NULL:
        release(self.repeats.recording)
        self.repeats.recording = NULL
        keep_no_more(self)
    return 0


cdef inline bint is_recorded(Callable self, Frame frame) noexcept:
    """Whether a frame is that whose calls are recorded: the first that runs. Only its thread may use ``repeats``."""
    cdef bint found
    shut(&self.latch)
    if self.recorded is None:
        self.recorded, self.repeats.keeps = frame, frame.machine.context.keeps
    found = self.recorded is frame
    open_latch(&self.latch)
    return found


cdef bint may_record(Callable self, Frame frame) noexcept:
    """Whether to record this call, of a frame that then keeps its memory."""
    cdef Repeats* repeats = self.repeats
    cdef Cell** results = frame.machine.operands + frame.code.first_result
    cdef int index
    if repeats.layouts == MOST_LAYOUTS or frame.n_results > MOST_RESULTS:
        return False
    if repeats.epoch != frame.machine.epoch:
        repeats.epoch, repeats.trials = frame.machine.epoch, 0
        return False                                        # no kernel is bound yet
    if repeats.trials == MOST_TRIALS:
        return False
    repeats.trials += 1
    for index in range(frame.n_results):
        if (results[index].flags & (CELL_OBJECT | CELL_NUMBER | CELL_LENT | CELL_SHOWN | CELL_DEVICE)
                or cell_size(results[index]) * results[index].itemsize > RESULT_COPY_BYTES):
            return False
    frame.machine.context.keeps = True
    if can_note(&frame.machine):
        return True
    frame.machine.context.keeps = repeats.keeps
    return False


cdef int take_recorded_results(Frame frame, int position) except -1:
    """RESULT, after which the results' cells refer to what they did before."""
    cdef const Instruction* at = frame.machine.code + position
    cdef Cell** results = frame.machine.operands + at.b
    cdef char* addresses[MOST_RESULTS]
    cdef int index
    for index in range(at.c):
        addresses[index] = results[index].data
    take_results(&frame.machine, at)
    for index in range(at.c):
        results[index].data = addresses[index]
    return 0


cdef int repeat(Callable self, Frame frame) except -1:
    """Run the program as it was recorded; returns 0 if it was not: then the call is to be run."""
    cdef Repeats* repeats = self.repeats
    if not is_recorded(self, frame):
        return 0
    if repeats.recording == NULL:
        return run_recording(self, frame) if may_record(self, frame) else 0
    if repeats.recording.epoch != frame.machine.epoch:
        forget_recording(self)
        repeats.layouts += 1
        return 0
    try:
        if play(repeats.recording, &frame.machine) < 0:
            fail(self, frame)
        take_recorded_results(frame, repeats.result)
    except BaseException:
        forget_recording(self)
        raise
    return 1


cdef int run_recording(Callable self, Frame frame) except -1:
    """Run the program, and record that; returns 0 if it did not begin."""
    cdef Repeats* repeats = self.repeats
    cdef const Instruction* at = frame.machine.code + repeats.result
    cdef bint has_failed
    cdef Recording* recording = record(&frame.machine, self.code.n_instructions, self.code.n_cells, repeats.leaves,
                                       self.n_arguments, repeats.only_looks, &has_failed)
    if recording == NULL:
        keep_no_more(self)
        if has_failed:
            fail(self, frame)
        return 0
    try:
        take_results(&frame.machine, at)
    except BaseException:
        free(recording)
        keep_no_more(self)
        raise
    while at.op != OP_HALT:
        if at.op == OP_DROP:
            drop_values(&frame.machine, at)
        at += 1
    loops = loops_in(self.program)                          # whose bodies keep what they release, too
    if bytes_kept_by_context(&frame.machine.context) + sum([loop.kept_bytes() for loop in loops]) > MOST_BYTES:
        free(recording)
        keep_no_more(self)
        for loop in loops:
            loop.free()
        repeats.layouts = MOST_LAYOUTS                      # calls are too large
    elif hold(recording, &frame.machine):
        repeats.recording = recording
    else:
        release(recording)
        keep_no_more(self)
    return 1


cdef int run(Callable self, Frame frame) except -1:
    """Run the program on arguments that are bound."""
    if self.repeats != NULL and repeat(self, frame):
        return 0
    if self.n_mutable > 0:
        self._part(frame)
    if self.n_lent > 0:
        check_lent(frame)
    if self.code.n_updated > 0:
        claim(self.code.updated, self.code.n_updated)
    if changes_in_progress > 0:
        self._await_whole(frame)
    if execute(&frame.machine) < 0:
        fail(self, frame)
    if self.code.n_updated > 0:
        give_up(self.code.updated, self.code.n_updated)
        empty_after(frame)
    return 0


# What raises in these returns -1, so that a call that succeeds pays nothing for the frame of one that fails.
cdef BindStep bind_step = <BindStep>bind
cdef RunStep run_step = <RunStep>run


cdef object enter_slowly(Callable self, PyObject** arguments, Py_ssize_t given, PyObject* names):
    """A call that is not simply positional and complete, or ``indirect``."""
    cdef Py_ssize_t index
    cdef dict named = {}
    cdef tuple positional = tuple([<object>arguments[index] for index in range(given)])
    if names != NULL:
        for index in range(PyTuple_GET_SIZE(<object>names)):
            named[<object>PyTuple_GET_ITEM(<object>names, index)] = <object>arguments[given + index]
    if self.indirect or self.has_states:
        return self.call(positional, named)
    return self.evaluate(positional, named)


cdef int raise_pending() except -1:
    """Let an exception that C code has set travel on as a Cython one."""
    return -1


cdef int recover(Callable self, Frame frame) except -1:
    """After a call that failed, wherever it did: clean its frame, keep it for the next call, and pass the error on."""
    try:
        raise_pending()
    finally:
        reset(frame)
        put_back(self, frame)


cdef int fail(Callable self, Frame frame) except -1:
    """Raise what happened in the program, with the node it happened in."""
    if frame.machine.timing != NULL:
        end(frame.machine.timing)
        self.code.profile.add(frame.machine.timing)
    give_up(self.code.updated, self.code.n_updated)
    try:
        raise_pending()
    except BaseException as error:
        reason, position, operands = what_failed(&frame.machine, self.program, error)
        described = explained(reason, self.program, position, operands, self.at_length)
        if described is error:
            raise
        raise described.with_traceback(error.__traceback__) from reason.__cause__


def enable_vectorcall(type cls):
    """Let calls of instances of ``cls`` (a subclass that adds no ``__call__``) take the fast entry."""
    cdef Callable sample = Callable.__new__(Callable)
    phintys_enable_vectorcall(<PyTypeObject*>cls, <char*>&sample.vectorcall - <char*><PyObject*>sample)


enable_vectorcall(Callable)


def apply_pool_limit(mebibytes):
    """Follow ``config.pool_limit``."""
    set_pool_limit(mebibytes << 20)


def keep_frames(int count):
    """Follow ``config.kept_frames``."""
    global kept_frames
    kept_frames = count


def forget_rules(_):
    """How arguments convert is looked up again."""
    global current_rules
    current_rules += 1


def free_all():
    """``free`` for all functions."""
    for function in list(callables):
        function.free()


config.on_change("pool_limit", apply_pool_limit)
config.on_change("kept_frames", keep_frames)
config.on_change("stress", set_stress)
config.on_change("guards", set_guards)
config.on_change("floatX", forget_rules, of_process=False)
config.on_change("cast_policy", forget_rules)
