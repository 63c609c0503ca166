"""Twins that are prepared by the processor's kernel: it checks shapes and allocates the results, and reads no element
that is on the device. What is launched is described by ``general_source.py``.

The operands of a launch are all the same: how many items there are, then each operand that the description names.

A matrix that the processor's kernel refuses while it computes is noted in the same way, with the reason.

Positions on the device cannot be checked before they are used. The processor's kernel sees zeros in their place, as
many as there are; the launch notes the first that is out of bounds, and the call fails when it reads this at its end.
"""
from libc.stdint cimport uint16_t
from libc.stdlib cimport calloc, free
from numpy cimport npy_intp

cimport numpy as cnp

from phintys.gpu.kernels.general_source import (
    BLOCKS, CALL, CLEAR, COPY, DESCRIBERS, GROUP, THREADS, source_of, tells)
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.gpu.runtime.copies cimport copy_elements
from phintys.gpu.runtime.driver cimport (
    Arguments, fill_bytes, new_note, pass_notes, put, put_address, put_integer, set_failure)
from phintys.gpu.libraries.routine cimport REFUSED, Routine
from phintys.gpu.runtime cimport driver
from phintys.gpu.runtime.kernel cimport MOST_BLOCKS, DeviceKernel
from phintys.ops.factorizations.stack_kernel cimport StackKernel
from phintys.ops.native.integers cimport integer_at
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, cell_size, device_memory
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.pool cimport Buffer, buffer_release
from phintys.vm.python_api cimport PyErr_SetObject, PyObject

cdef extern from "native/half_floats.h" nogil:
    double phintys_from_half(uint16_t half)

cdef enum How:
    SKIPPED, VIEW, NUMBER, VECTOR

cdef enum:
    MOST_OPERANDS = 32

cdef enum:
    KIND_THREADS, KIND_BLOCKS, KIND_COPY, KIND_CLEAR, KIND_CALL     # as in general_source.py

cdef struct Passed:             # how an operand is passed
    How how
    int count                   # of a vector
    bint checked                # has positions that the processor's kernel would check

cdef struct Launch:
    int kind, which, operand, target
    int along                   # the operand with the dimension that the mask leaves out, or -1
    int step                    # the routine is asked whether it wants it; -1: it does
    int block, most             # threads of a block, and blocks for each multiprocessor, if these are limited
    int otherwise               # the kernel if there are no items, or -1
    unsigned long long mask

cdef int GROUP_OF_ITEM = GROUP
cdef enum: ROW_OF_BLOCKS = 1 << 30  # of a grid with a block for each item: there may be more than a row can have

if (THREADS, BLOCKS, COPY, CLEAR, CALL) != (KIND_THREADS, KIND_BLOCKS, KIND_COPY, KIND_CLEAR, KIND_CALL):
    raise ImportError("the kinds of launches have other numbers in general_source.py")


cdef inline npy_intp blocks_of(const Launch* launch, npy_intp items) noexcept nogil:
    """A thread for each item, but not more blocks than the launch wants; threads then do several items."""
    cdef npy_intp most = driver.multiprocessors * launch.most if launch.most else MOST_BLOCKS
    return min((items + launch.block - 1) // launch.block, most)


cdef double number_at(const Cell* cell) noexcept nogil:
    """A number of any real dtype."""
    if cell.typenum == cnp.NPY_FLOAT16:
        return phintys_from_half((<const uint16_t*>cell.data)[0])
    if cell.typenum == cnp.NPY_FLOAT64:
        return (<const double*>cell.data)[0]
    if cell.typenum == cnp.NPY_FLOAT32:
        return (<const float*>cell.data)[0]
    return <double>integer_at(cell, 0)


def part_of(description, launches):
    """What a description needs for some of its launches. How much scratch memory there is, the routine says."""
    names = {name for launch in launches for name in (launch.which, launch.otherwise)}
    return description._replace(launches=launches, by_routine=(), routine=None, bodies={
        name: body for name, body in description.bodies.items() if name in names},
        scratch=description.scratch if launches is description.launches else ("", 0))


cdef inline int compile_now(GpuGeneralKernel kernel) noexcept nogil:
    """`ready` of a kernel that is chosen while it runs: 0, or -1 with an exception set."""
    return 0 if kernel.loaded == driver.generation else compile_with_python(kernel)


cdef int compile_with_python(GpuGeneralKernel kernel) noexcept with gil:
    try:
        if kernel.names:
            kernel.ready()
        kernel.loaded = driver.generation
        return 0
    except BaseException as error:
        PyErr_SetObject(type(error), error)
        return -1


cdef class GpuGeneralKernel(DeviceKernel):
    """A kernel by its description.

    Parameters
    ----------
    name : str
        Of the class of the processor's kernel.
    arguments, named
        Of its constructor.
    operands : sequence of (dtype, rank, at_host)
        Inputs, then results.
    description : Description, optional
        By default that of the function of the class.
    of_function
        What this function gets by name.

    Raises
    ------
    NoSource
        If the family has no text for these dtypes.
    """
    cdef Kernel host
    cdef Passed* passed
    cdef Launch* launches
    cdef int n_operands, n_launches
    cdef bint checks, refuses
    cdef object failure             # what is raised for a note; None: a position is out of bounds
    cdef Routine routine            # what a library does
    cdef GpuGeneralKernel own       # what is done instead, if it refuses the operands
    cdef bint has_routine, takes_scratch
    cdef int scratch_operand, scratch_bytes         # for each element of the operand; -1: no scratch memory
    cdef long long zero             # what the processor's kernel sees in place of positions

    def __init__(self, str name, arguments, named, operands, description=None, **of_function):
        cdef int index
        host_class, function = DESCRIBERS[name][:2]
        self.host = host_class(*arguments, **dict(named))
        description = description or function(arguments, dict(named), operands, **of_function)
        self.routine, self.has_routine = description.routine, description.routine is not None
        if self.has_routine:
            self.own = GpuGeneralKernel(name, arguments, named, operands, part_of(description, description.launches))
            description = part_of(description, description.by_routine)
        self.source, self.names = source_of(description, operands), tuple(description.bodies)
        self.checks, self.refuses = bool(description.checked), description.refuses
        self.failure, self.tells = description.failure, tells(description)
        self.examined = tuple([index for index in self.host.examined
                               if description.names[index] not in description.checked])
        self.binding, self.private_bytes = BOUND, self.host.private_bytes
        if len(operands) > MOST_OPERANDS:
            raise NoSource("too many operands")
        launches = description.launches
        self.n_operands, self.n_launches = len(operands), len(launches)
        self.takes_scratch = self.has_routine or description.scratch is not None
        self.passed = <Passed*>calloc(self.n_operands + 1, sizeof(Passed))
        self.launches = <Launch*>calloc(self.n_launches + 1, sizeof(Launch))
        if self.passed == NULL or self.launches == NULL:
            raise MemoryError()
        for index, (operand, (_, _, at_host)) in enumerate(zip(description.names, operands)):
            if operand is None:
                self.passed[index].how = SKIPPED
            elif operand in description.vectors:
                self.passed[index].how, self.passed[index].count = VECTOR, description.vectors[operand]
            else:
                self.passed[index].how = NUMBER if at_host else VIEW
            self.passed[index].checked = operand is not None and operand in description.checked
        position = {operand: index for index, operand in enumerate(description.names)}
        self.scratch_operand = -1
        if description.scratch:
            self.scratch_operand, self.scratch_bytes = position.get(description.scratch[0], -1), description.scratch[1]
        for index, launch in enumerate(launches):
            self.launches[index].kind, self.launches[index].mask = launch.kind, launch.mask
            self.launches[index].block, self.launches[index].most = launch.block, launch.most
            self.launches[index].operand = position.get(launch.operand, 0)
            self.launches[index].step = -1 if launch.step is None else launch.step
            self.launches[index].otherwise = -1 if launch.otherwise is None else self.names.index(launch.otherwise)
            self.launches[index].along = -1 if launch.along is None else position[launch.along]
            if launch.kind == COPY:
                self.launches[index].target = position[launch.target]
            elif launch.kind == CALL:
                self.launches[index].which = launch.which
            elif launch.kind != CLEAR:
                self.launches[index].which = self.names.index(launch.which)

    def __dealloc__(self):
        free(self.passed)
        free(self.launches)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        if self.has_routine:
            self.routine.ready()                    # which of the two is compiled follows from the operands
        else:
            self.ready()
        if self.checks:
            return self.prepare_blindly(context, operands)
        self.host.prepare(context, operands)
        return 0

    cdef int prepare_blindly(self, Context* context, Cell** operands) except -1 nogil:
        """Let the processor's kernel see zeros in place of positions."""
        cdef Cell* seen[MOST_OPERANDS]
        cdef Cell zeros[MOST_OPERANDS]
        cdef npy_intp strides[MAX_RANK]
        cdef int index
        for index in range(MAX_RANK):
            strides[index] = 0
        for index in range(self.n_operands):
            seen[index] = operands[index]
            if self.passed[index].checked:
                zeros[index] = operands[index][0]
                zeros[index].data, zeros[index].strides = <char*>&self.zero, strides
                seen[index] = &zeros[index]
        self.host.prepare(context, seen)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Arguments arguments
        cdef unsigned long long note
        cdef Buffer* scratch = NULL
        cdef int index, error = 0
        cdef npy_intp room = self.routine.room(operands) if self.has_routine else REFUSED
        cdef npy_intp bytes = room
        if self.has_routine:
            if room == REFUSED:
                error = -1 if compile_now(self.own) else self.own.run(context, operands)
                pass_notes(<PyObject*>self.own, <PyObject*>self)
                return error
            if compile_now(self):
                return -1
        self.pack(operands, &arguments)
        if room == REFUSED and self.scratch_operand >= 0:
            bytes = cell_size(operands[self.scratch_operand]) * self.scratch_bytes
        if bytes >= 0:
            scratch = device_memory.acquire(bytes + 1)
            if scratch == NULL:
                return set_failure(2, b"scratch memory of a kernel")
        if self.takes_scratch:
            put_integer(&arguments, <npy_intp>scratch.data if scratch != NULL else 0)
        if self.tells:
            note = new_note(<PyObject*>self)
            put_integer(&arguments, <npy_intp>note)
            error = 0 if note else -1
        for index in range(self.n_launches):
            if error:
                break
            if self.launches[index].step >= 0 and not self.routine.wants(self.launches[index].step, operands):
                continue
            if self.launches[index].kind == KIND_CALL:
                error = self.call(self.launches[index].which, operands, scratch, room)
            else:
                error = self.launch(&self.launches[index], operands, &arguments)
        if scratch != NULL:
            buffer_release(scratch)                 # work is done in order
        return self.noted(context, error) if self.tells else error

    cdef int told(self, const long long* words) except -1:
        if self.refuses:
            (<StackKernel>self.host).refuse(<int>(<unsigned>~<unsigned long long>words[0]))
        elif self.failure is None:
            raise IndexError(f"index {words[1]} is out of bounds for axis {words[3]} with size {words[2]}")
        else:
            kind, texts = self.failure
            raise kind(texts[words[3]].format(value=words[1], length=words[2]))
        return 0

    cdef int call(self, int step, Cell** operands, Buffer* scratch, npy_intp room) noexcept nogil:
        cdef int error = self.routine.call(step, operands, scratch.data, room)
        return set_failure(error, b"a library of NVIDIA's") if error > 0 else error

    cdef void pack(self, Cell** operands, Arguments* arguments) noexcept nogil:
        """All arguments; the number of items is set by each launch."""
        cdef Cell* cell
        cdef double value
        cdef int index, axis
        arguments.size, arguments.full = 0, False
        put_integer(arguments, 0)
        for index in range(self.n_operands):
            cell = operands[index]
            if self.passed[index].how == VIEW:
                put_address(arguments, cell)
                for axis in range(cell.ndim if cell.ndim else 1):
                    put_integer(arguments, cell.shape[axis] if cell.ndim else 1)
                for axis in range(cell.ndim if cell.ndim else 1):
                    put_integer(arguments, cell.strides[axis] if cell.ndim else 0)
            elif self.passed[index].how == NUMBER:
                value = number_at(cell)
                put(arguments, <const char*>&value, 8)
            elif self.passed[index].how == VECTOR:
                for axis in range(self.passed[index].count):
                    put_integer(arguments, integer_at(cell, axis))

    cdef int launch(self, Launch* launch, Cell** operands, Arguments* arguments) noexcept nogil:
        cdef Cell* cell = operands[launch.operand]
        cdef npy_intp rows, items = 1
        cdef unsigned long long mask = launch.mask
        cdef int axis, error = 0
        if launch.kind == KIND_COPY:
            return copy_elements(operands[launch.target], cell) if operands[launch.target].data != cell.data else 0
        elif launch.kind == KIND_CLEAR:
            error = fill_bytes(cell.data, 0, cell_size(cell) * cell.itemsize)
        else:
            if launch.along >= 0:
                axis = <int>number_at(operands[launch.along])
                mask ^= <unsigned long long>1 << (axis + cell.ndim if axis < 0 else axis)
            for axis in range(cell.ndim):
                if mask >> axis & 1:
                    items *= cell.shape[axis]
            if items == 0:
                return self.start(launch.otherwise, 1, launch.block, arguments) if launch.otherwise >= 0 else 0
            (<npy_intp*>arguments.bytes)[0] = items
            if launch.kind == KIND_BLOCKS:
                rows = (items + ROW_OF_BLOCKS - 1) // ROW_OF_BLOCKS
                return self.start_grid(launch.which, items if rows == 1 else ROW_OF_BLOCKS, rows, GROUP_OF_ITEM, 0,
                                       arguments)
            return self.start(launch.which, blocks_of(launch, items), launch.block, arguments)
        return set_failure(error, b"moving elements on the device") if error else 0
