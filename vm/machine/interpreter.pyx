"""The interpreter: frames, and the loop that runs bytecode over their cells.

A ``Code`` is a Program in C arrays. A ``Frame`` is everything one running call changes: cells, their shapes, free
lists, scratch memory. The loop has no Python object, no lock and no allocation per instruction of its own. It starts
with the GIL held; the first kernel whose ``prepare`` says that its work is long makes it leave the GIL, and it takes it
back where Python is needed: at CALL, PREPARE, RESULT and COMMIT. Between long kernels it looks at signals every 100 ms.
A commit whose kernels are long leaves the GIL too; its containers are marked as changing meanwhile.
"""
cimport cython
cimport numpy as cnp
from cpython.exc cimport PyErr_Occurred, PyErr_SetObject, PyErr_SetString
from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcpy
from numpy cimport npy_intp

from phintys.vm.abi cimport (
    CELL_ANY_LAYOUT, CELL_LENT, CELL_NUMBER, CELL_OBJECT, CELL_READONLY, RESULT_COPY_BYTES, Cell, Context, Kernel, Span,
    allocate, cell_borrow_array, cell_give_array, cell_hold_array, cell_init, cell_is_contiguous, cell_is_packed,
    cell_is_whole, cell_size, cell_to_array, cell_to_number, cell_to_result, cell_to_view, context_clear, context_init,
    drop, overlap, owner_is_alone, share, span_of_cell)
from phintys.vm.machine.claims cimport Claim, begin_change, end_change
from phintys.vm.machine.group cimport Group, leave_group, prepare_member, run_group
from phintys.vm.machine.container cimport Container, copy_object, is_held_by_another
from phintys.vm cimport pool
from phintys.vm.pool cimport (
    GIVEN, PLANNED, SMALL_CLASSES, Buffer, buffer_acquire_arena, buffer_references, buffer_release)

from phintys.vm.linking.inner_updates import lost_update, may_have_read
from phintys.vm.views import roots_of
from phintys.vm.linking.plan import Planner

include "opcodes.pxi"

cnp.import_array()

cdef extern from "Python.h" nogil:
    void* PyEval_SaveThread()
    void PyEval_RestoreThread(void*)
    int PyErr_CheckSignals()

cdef extern from *:
    """
    #include <time.h>
    static inline double phintys_seconds(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec + 1e-9 * now.tv_nsec;
    }
    """
    double phintys_seconds() noexcept nogil

cdef enum:
    CELL_SHOWN = 16                 # a result that may be a view of what others hold
    CELL_LATE = 32                  # a result that is read again behind COMMIT
    CELL_CONSTANT = 64              # belongs to the program
    KEPT = CELL_READONLY | CELL_LENT | CELL_LATE    # cells that RESULT does not empty
    WASTE = 4096                    # bytes that a value may hold in vain

cdef double SIGNAL_SECONDS = 0.1    # a call that works without the GIL looks at signals this often

cdef extern from *:
    """
    /* NumPy's own dtype of a number. NumPy keeps one for each for ever, so the references are borrowed; asking it each
     * time would cost 25 instructions a result. Only called with the GIL. */
    static inline PyArray_Descr* phintys_plain_dtype(int typenum) {
        static PyArray_Descr* known[NPY_NTYPES_LEGACY];
        if (known[typenum] == NULL) known[typenum] = PyArray_DescrFromType(typenum);
        return known[typenum];
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
    /* Nobody gave the array another type, shape, stride, base, flag or weak reference before dropping it. */
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
    """
    object PyArray_View(cnp.ndarray, void*, void*)
    bint phintys_is_untouched(PyObject*, int, int, const npy_intp*) noexcept
    bint phintys_is_view_of(PyObject*, char*, int, int, const npy_intp*, const npy_intp*) noexcept
    void* phintys_data(PyObject*) noexcept
    int Py_REFCNT(void*)

# What raises in Python answers -1 to the loop, which cleans up before anybody looks at the exception.
ctypedef int (*KernelStep)(PyObject* kernel, Context* context, Cell** operands) noexcept nogil
ctypedef int (*PythonStep)(Machine* machine, const Instruction* instruction) noexcept nogil


# ---- programs in C ---------------------------------------------------------------------------------------------------
cdef class Code:

    def __cinit__(self, program):
        cdef const unsigned char[:] code = program.code
        cdef int index
        self.program = program
        self.kept = [program.kernels, program.containers]
        self.n_instructions = len(program.code) // sizeof(Instruction)
        self.instructions = <Instruction*>malloc(max(1, len(program.code)))
        self.kernels = <PyObject**>malloc((len(program.kernels) + 1) * sizeof(PyObject*))
        self.containers = <PyObject**>malloc((len(program.containers) + 1) * sizeof(PyObject*))
        if self.instructions == NULL or self.kernels == NULL or self.containers == NULL:
            raise MemoryError()
        memcpy(self.instructions, &code[0], len(program.code))
        for index, kernel in enumerate(program.kernels):
            if not isinstance(kernel, Kernel):
                raise TypeError(f"{kernel!r} is not a Kernel")
            self.kernels[index] = <PyObject*>kernel
        for index, container in enumerate(program.containers):
            if not isinstance(container, Container):
                raise TypeError(f"{container!r} is not a Container")
            self.containers[index] = <PyObject*>container
        self.n_cells = len(program.cells)
        self.n_operands = len(program.pool)
        self.n_dimensions = sum([2 * layout.ndim for layout in program.cells])
        self.n_arguments = program.n_arguments
        self.planner = Planner(program) if program.allow_gc == "plan" else None
        self.lent = [index for index, layout in enumerate(program.result_cells()) if layout.access == "lent"]
        self._find_claims()
        self._find_watched()

    cdef int _find_claims(self) except -1:
        """The claims of all containers that are read, and that are updated."""
        cdef int index
        self.updated = <Claim**>malloc((self.n_instructions + 1) * sizeof(Claim*))
        self.loaded = <Claim**>malloc((self.n_instructions + 1) * sizeof(Claim*))
        if self.updated == NULL or self.loaded == NULL:
            raise MemoryError()
        for index in range(self.n_instructions):
            if self.instructions[index].op == OP_STORE:
                self.updated[self.n_updated] = &(<Container>self.containers[self.instructions[index].a]).claim
                self.n_updated += 1
            elif self.instructions[index].op == OP_BACK:
                self.n_blocks += 1
            elif self.instructions[index].op == OP_HALT:
                self.halt = index
            elif self.instructions[index].op == OP_RESULT:
                self.first_result = self.instructions[index].b
            elif self.instructions[index].op == OP_LOAD:
                self.loaded[self.n_loaded] = &(<Container>self.containers[self.instructions[index].b]).claim
                self.n_loaded += 1
        qsort(self.updated, self.n_updated, sizeof(Claim*), by_address)
        return 0

    cdef int _find_watched(self) except -1:
        """Containers whose old value is read and replaced; code inside the call must not replace it in between."""
        cdef int index
        cdef set stored = {instruction.a for instruction in self.program.instructions() if instruction.op == OP_STORE}
        self.watched = <PyObject**>malloc((self.n_loaded + 1) * sizeof(PyObject*))
        self.known_reads = {}
        self.watched_cells = <int*>malloc((self.n_loaded + 1) * sizeof(int))
        if self.watched == NULL or self.watched_cells == NULL:
            raise MemoryError()
        for index in range(self.n_instructions):
            if self.instructions[index].op == OP_LOAD and self.instructions[index].b in stored:
                self.watched[self.n_watched] = self.containers[self.instructions[index].b]
                self.watched_cells[self.n_watched] = self.instructions[index].a
                self.n_watched += 1
        return 0

    def __dealloc__(self):
        free(self.watched)
        free(self.watched_cells)
        free(self.updated)
        free(self.loaded)
        free(self.instructions)
        free(self.kernels)
        free(self.containers)


cdef int by_address(const void* first, const void* second) noexcept nogil:
    cdef Claim* left = (<Claim**>first)[0]
    cdef Claim* right = (<Claim**>second)[0]
    return (left > right) - (left < right)


@cython.no_gc_clear                 # what it frees at its end is found through `code`; no cycle needs a frame to end
cdef class Frame:

    def __cinit__(self, Code code):
        cdef int index
        cdef int[:] pool
        cdef npy_intp* dimensions
        self.code = code
        context_init(&self.machine.context)
        self.machine.context.keeps = code.program.allow_gc is False
        self.cells = <Cell*>calloc(code.n_cells + 1, sizeof(Cell))
        self.dimensions = <npy_intp*>calloc(code.n_dimensions + 1, sizeof(npy_intp))
        self.n_results = code.program.n_results
        self.results = <PyObject**>calloc(self.n_results + 1, sizeof(PyObject*))
        self.recycled = <PyObject**>calloc(self.n_results + 1, sizeof(PyObject*))
        self.given = <PyObject**>calloc(code.n_arguments + 1, sizeof(PyObject*))
        self.machine.operands = <Cell**>malloc((code.n_operands + 1) * sizeof(Cell*))
        self.machine.blocks = <Block*>calloc(code.n_blocks + 1, sizeof(Block))
        self.machine.seen = <long long*>calloc(code.n_watched + 1, sizeof(long long))
        if (self.cells == NULL or self.dimensions == NULL or self.machine.operands == NULL or self.results == NULL
                or self.recycled == NULL or self.given == NULL or self.machine.blocks == NULL
                or self.machine.seen == NULL):
            raise MemoryError()
        dimensions = self.dimensions
        for index, layout in enumerate(code.program.cells):
            self._add_cell(&self.cells[index], layout, dimensions)
            dimensions += 2 * <int>layout.ndim
        if code.n_operands:
            pool = code.program.pool
            for index in range(code.n_operands):
                self.machine.operands[index] = &self.cells[pool[index]]
        self.machine.code = code.instructions
        self.machine.cells = self.cells
        self.machine.kernels = code.kernels
        self.machine.containers = code.containers
        self.machine.claims = code.updated
        self.machine.n_claims = code.n_updated
        self.machine.watched = code.watched
        self.machine.n_watched = code.n_watched
        self.machine.frame = <PyObject*>self
        self._find_donors()
        self._find_heirs()
        if code.planner is not None:
            self._find_slots()

    cdef int _find_donors(self) except -1:
        """Cells that may take another's memory; loaded values know the container that they come from."""
        cdef int index
        for index, layout in enumerate(self.code.program.cells):
            if layout.donor is not None:
                self.cells[index].donor = &self.cells[<int>layout.donor]
        for index in range(self.code.n_instructions):
            if self.code.instructions[index].op == OP_LOAD:
                self.cells[self.code.instructions[index].a].donor = &(
                    <Container>self.code.containers[self.code.instructions[index].b]).cell
        return 0

    cdef int _find_heirs(self) except -1:
        """Where buffers stay between calls: they are lent, or small and kept. There the next call starts from."""
        cdef int index, last, view
        cdef list cells = self.code.program.cells
        cdef dict roots
        cdef set overwritten
        if self.code.program.allow_gc is not False and not self.code.lent:
            return 0
        roots = roots_of(self.code.program)
        overwritten = {layout.donor for layout in cells}
        for last in range(self.code.n_cells):
            if last in overwritten or not (self.code.program.allow_gc is False or cells[last].access == "lent"):
                continue
            index = last
            while cells[index].donor is not None and cells[<int>cells[index].donor].kind == "value":
                index = roots.get(cells[index].donor, cells[index].donor)
                self.cells[index].heir = &self.cells[last]
        for view, index in roots.items():
            self.cells[view].heir = self.cells[index].heir
        return 0

    cdef int _find_slots(self) except -1:
        """Room for a plan; there is none until the shapes of a call are known."""
        cdef int index, length = 0
        cdef list placed = self.code.planner.cells, leaves = self.code.planner.leaves
        self.n_slots = len(placed)
        self.machine.n_leaves = len(leaves)
        for index in leaves:
            length += self.cells[index].ndim
        self.slots = <Buffer*>calloc(self.n_slots + 1, sizeof(Buffer))
        self.placed = <Cell**>malloc((self.n_slots + 1) * sizeof(Cell*))
        self.machine.leaves = <Cell**>malloc((self.machine.n_leaves + 1) * sizeof(Cell*))
        self.machine.key = <npy_intp*>malloc((length + 1) * sizeof(npy_intp))
        if self.slots == NULL or self.placed == NULL or self.machine.leaves == NULL or self.machine.key == NULL:
            raise MemoryError()
        for index in range(self.machine.n_leaves):
            self.machine.leaves[index] = &self.cells[<int>leaves[index]]
        for index in range(self.n_slots):
            self.placed[index] = &self.cells[<int>placed[index]]
            self.placed[index].slot = &self.slots[index]
            self.slots[index].size_class = PLANNED
        return 0

    cdef int _add_cell(self, Cell* cell, layout, npy_intp* dimensions) except -1:
        if layout.typenum < 0:
            cell.flags = CELL_OBJECT
            if layout.kind == "constant":
                Py_INCREF(layout.value)
                cell.object = <PyObject*>layout.value
                cell.data = <char*>cell.value
                cell.flags |= CELL_READONLY | CELL_CONSTANT
            return 0
        cell_init(cell, layout.typenum, layout.ndim, dimensions)
        if layout.kind == "constant":
            cell_borrow_array(cell, layout.value)           # the program keeps the array alive
        elif cell.ndim:
            cell.shape[0] = -1                              # not computed yet
        if layout.kind != "value" and layout.access != "mutable":
            cell.flags = CELL_READONLY
        if layout.kind == "constant":
            cell.flags |= CELL_CONSTANT
        node = layout.variable.owner
        if layout.donor is not None and node is not None and node.op.writes_by_strides:
            cell.flags |= CELL_ANY_LAYOUT
        cell.flags |= {"lent": CELL_LENT, "shown": CELL_SHOWN, "late": CELL_LATE}.get(layout.access, 0)
        if layout.variable.type.is_number:
            cell.flags |= CELL_NUMBER
        return 0

    def __dealloc__(self):
        cdef int index
        if self.cells != NULL:
            for index in range(self.code.n_cells):
                drop(&self.machine.context, &self.cells[index])
        context_clear(&self.machine.context)
        if self.results != NULL and self.recycled != NULL:
            for index in range(self.n_results):
                Py_XDECREF(self.results[index])
                Py_XDECREF(self.recycled[index])
        if self.given != NULL:
            for index in range(self.code.n_arguments):
                Py_XDECREF(self.given[index])
        if self.arena != NULL:
            buffer_release(self.arena)
        free(self.slots)
        free(self.placed)
        free(self.machine.leaves)
        free(self.machine.key)
        free(self.results)
        free(self.recycled)
        free(self.given)
        free(self.cells)
        free(self.dimensions)
        free(self.machine.operands)
        free(self.machine.blocks)
        free(self.machine.seen)


cdef int reset(Frame frame) except -1:
    """After a failure: empty every cell that is not a constant. The frame is then as good as a new one."""
    cdef Cell* cell
    cdef int index
    for index in range(frame.code.n_cells):
        cell = &frame.cells[index]
        if not cell.flags & CELL_CONSTANT:
            drop(&frame.machine.context, cell)
            cell.flags &= ~CELL_LENT                # it moves along with the memory; see `adopt`
    for index in frame.code.lent:
        take_back(frame, index)
        frame.machine.operands[frame.code.first_result + index].flags |= CELL_LENT
    forget_results(frame)
    frame.machine.long_commit = False
    if frame.machine.planning == WATCHED:
        frame.machine.planning = UNKNOWN
    return 0


cdef void empty_after(Frame frame) noexcept:
    """Drop old values, and all else that HALT names; the call has given up its claims."""
    cdef const Instruction* halt = frame.code.instructions + frame.code.halt
    cdef int index
    for index in range(halt.c):
        drop(&frame.machine.context, frame.machine.operands[halt.b + index])


cdef int empty_frame(Frame frame) except -1:
    """Give up all memory that an idle frame keeps."""
    reset(frame)
    clear_slots(frame)
    if frame.arena != NULL:
        buffer_release(frame.arena)
        frame.arena = NULL
    frame.machine.planning = UNKNOWN
    context_clear(&frame.machine.context)
    return 0


cdef size_t bytes_kept_by(Frame frame) noexcept:
    """The memory that an idle frame keeps for the next call."""
    cdef size_t size = frame.machine.context.scratch_size
    cdef Buffer* buffer
    cdef int index
    if frame.arena != NULL:
        size += frame.arena.capacity
    for index in range(frame.code.n_cells):
        buffer = frame.cells[index].buffer
        if buffer != NULL and buffer.owner == NULL and buffer.size_class != PLANNED:
            size += buffer.capacity
    size += frame.machine.context.kept_bytes
    for index in range(SMALL_CLASSES + 1):
        buffer = frame.machine.context.free[index]
        while buffer != NULL:
            size += buffer.capacity
            buffer = buffer.next
    return size


cdef void forget_results(Frame frame) noexcept:
    """Drop results that nobody took."""
    cdef int index
    cdef PyObject* result
    for index in range(frame.n_results):
        result = frame.results[index]
        frame.results[index] = NULL
        Py_XDECREF(result)


# ---- plans -----------------------------------------------------------------------------------------------------------
cdef inline bint is_planned(Machine* machine) noexcept nogil:
    """Whether the slots are laid out for the shapes of this call."""
    cdef npy_intp* key = machine.key
    cdef Cell* leaf
    cdef int index, axis
    if machine.planning != INSTALLED:
        return False
    for index in range(machine.n_leaves):
        leaf = machine.leaves[index]
        for axis in range(leaf.ndim):
            if leaf.shape[axis] != key[axis]:
                return False
        key += leaf.ndim
    return True


cdef int choose_plan(Machine* machine, const Instruction* at) except -1 with gil:
    """Lay out the slots for the shapes of this call; when they are new, watch which sizes they lead to."""
    cdef Frame frame = <Frame>machine.frame
    planner = frame.code.planner
    if machine.planning == WATCHED:
        planner.watched(known_key(machine), shapes_of(frame))
    machine.planning = UNKNOWN
    clear_slots(frame)
    remember_key(machine)
    layout = planner.layout(known_key(machine))
    if layout is None:
        forget_shapes(frame)
        machine.planning = WATCHED
    else:
        install(frame, layout, planner.largest())
        machine.planning = INSTALLED
    return 0


cdef tuple known_key(Machine* machine):
    """The shapes in ``key`` as a tuple."""
    cdef int index, length = 0
    for index in range(machine.n_leaves):
        length += machine.leaves[index].ndim
    return tuple([machine.key[index] for index in range(length)])


cdef void remember_key(Machine* machine) noexcept:
    cdef npy_intp* key = machine.key
    cdef int index
    for index in range(machine.n_leaves):
        memcpy(key, machine.leaves[index].shape, machine.leaves[index].ndim * sizeof(npy_intp))
        key += machine.leaves[index].ndim


cdef list shapes_of(Frame frame):
    """The shapes that the cells had in the last call; None for objects, and for values that were not computed."""
    cdef list shapes = []
    cdef Cell* cell
    cdef int index, axis
    for index in range(frame.code.n_cells):
        cell = &frame.cells[index]
        if cell.flags & CELL_OBJECT or (cell.ndim and cell.shape[0] < 0):
            shapes.append(None)
        else:
            shapes.append(tuple([cell.shape[axis] for axis in range(cell.ndim)]))
    return shapes


cdef void forget_shapes(Frame frame) noexcept:
    """So that it shows which values the coming call computes."""
    cdef int index
    for index in range(frame.n_slots):
        frame.placed[index].shape[0] = -1


cdef void clear_slots(Frame frame) noexcept:
    cdef int index
    for index in range(frame.n_slots):
        drop(&frame.machine.context, frame.placed[index])
        frame.slots[index].data = NULL
        frame.slots[index].capacity = 0


cdef int install(Frame frame, layout, size_t largest) except -1:
    """Point the slots into the arena, which is at most as large as the largest plan needs."""
    cdef int index
    cdef Py_ssize_t offset
    cdef size_t total = layout.total
    if frame.arena != NULL and not total <= frame.arena.capacity <= largest + (largest >> 3) + WASTE:
        buffer_release(frame.arena)
        frame.arena = NULL
    if frame.arena == NULL and total:
        context_clear(&frame.machine.context)           # what it keeps served the values that are placed now
        frame.arena = buffer_acquire_arena(total)
        if frame.arena == NULL:
            raise MemoryError(f"no memory for the {total} bytes of a plan")
    for index in range(frame.n_slots):
        offset = layout.offsets[index]
        if offset >= 0:
            frame.slots[index].data = frame.arena.data + offset
            frame.slots[index].capacity = layout.sizes[index]
    return 0


# ---- the loop --------------------------------------------------------------------------------------------------------
cdef int prepare_kernel(PyObject* kernel, Context* context, Cell** operands) except -1 nogil:
    return (<Kernel>kernel).prepare(context, operands)


cdef KernelStep prepare = <KernelStep>prepare_kernel
cdef PythonStep call_step = <PythonStep>call_perform
cdef PythonStep copy_step = <PythonStep>copy_cell
cdef PythonStep own_step = <PythonStep>own_cell
cdef PythonStep result_step = <PythonStep>take_results
cdef PythonStep plan_step = <PythonStep>choose_plan


cdef inline void take_gil(Machine* machine) noexcept nogil:
    cdef void* released = machine.released
    if released != NULL:
        machine.released = NULL
        PyEval_RestoreThread(released)


cdef int leave_gil(Machine* machine) noexcept nogil:
    """Work without the GIL from here on; answers -1 when the handler of a signal raised."""
    cdef double now = phintys_seconds()
    if machine.released != NULL:
        if now - machine.looked < SIGNAL_SECONDS:
            return 0
        take_gil(machine)
        if PyErr_CheckSignals() < 0:
            return -1
    machine.looked = now
    machine.released = PyEval_SaveThread()
    return 0


cdef void start_change(Machine* machine) noexcept with gil:
    """Leave the GIL for a long commit. Signals wait: nothing may stop it half-way."""
    machine.long_commit = False
    machine.changing = True
    begin_change(machine.claims, machine.n_claims)


cdef void finish_change(Machine* machine) noexcept with gil:
    machine.changing = False
    end_change(machine.claims, machine.n_claims)


cdef inline bint is_zero(const Cell* cell) noexcept nogil:
    """Whether a number is zero, of whatever dtype; NaN is not."""
    cdef const char* data = cell.data
    if cell.typenum == cnp.NPY_DOUBLE:
        return (<const double*>data)[0] == 0
    if cell.typenum == cnp.NPY_FLOAT:
        return (<const float*>data)[0] == 0
    if cell.typenum == cnp.NPY_CFLOAT:
        return (<const float*>data)[0] == 0 and (<const float*>data)[1] == 0
    if cell.typenum == cnp.NPY_CDOUBLE:
        return (<const double*>data)[0] == 0 and (<const double*>data)[1] == 0
    if cell.typenum == cnp.NPY_FLOAT16:
        return ((<const unsigned short*>data)[0] & 0x7fff) == 0
    if cell.itemsize == 1:
        return data[0] == 0
    if cell.itemsize == 2:
        return (<const short*>data)[0] == 0
    if cell.itemsize == 4:
        return (<const int*>data)[0] == 0
    return (<const long long*>data)[0] == 0


cdef inline void alias(Context* context, Cell* target, Cell* source) noexcept nogil:
    """Let the target look at the source's memory; a number is copied."""
    cdef int axis
    if source.flags & CELL_OBJECT:
        copy_object(target, source)
        return
    if source.ndim == 0:
        memcpy(target.value, source.data, source.itemsize)
        target.data = <char*>target.value
        return
    for axis in range(source.ndim):
        target.shape[axis] = source.shape[axis]
        target.strides[axis] = source.strides[axis]
    share(context, target, source, source.data)


cdef inline void move(Context* context, Cell* target, Cell* source) noexcept nogil:
    """The same, and the source is empty; it takes the target's old buffer for its next value."""
    cdef Buffer* old
    if source.buffer == NULL or source.flags & CELL_OBJECT:
        alias(context, target, source)
        drop(context, source)
        return
    old = target.buffer
    target.buffer = NULL
    alias(context, target, source)
    buffer_release(source.buffer)                           # not the last reference: the target has one
    source.buffer, source.data = old, NULL


cdef inline bint has_changed(Machine* machine) noexcept nogil:
    """Whether code that ran inside the call has replaced a value that the call has loaded and is to replace."""
    cdef int index
    for index in range(machine.n_watched):
        if (<Container>machine.watched[index]).changes != machine.seen[index]:
            return True
    return False


cdef inline bint is_small(const Buffer* buffer) noexcept nogil:
    return buffer == NULL or 0 < buffer.size_class <= SMALL_CLASSES


cdef int execute(Machine* machine) noexcept nogil:
    """Run to HALT; answers 0, or -1 with a Python exception set and ``machine.at`` at the culprit. The GIL is held at
    the start and at the end."""
    cdef const Instruction* at = machine.code
    cdef Context* context = &machine.context
    cdef Cell** operands
    cdef Block* block
    cdef int index, worth
    machine.call += 1
    for index in range(machine.n_watched):
        machine.seen[index] = (<Container>machine.watched[index]).changes
    while True:
        if at.op == OP_KERNEL:
            operands = machine.operands + at.b
            worth = prepare(machine.kernels[at.a], context, operands)
            if worth:
                if worth < 0 or leave_gil(machine) < 0:
                    break
            if (<Kernel>machine.kernels[at.a]).run(context, operands) < 0:
                raise_failure(machine)
                break
        elif at.op == OP_DROP:
            operands = machine.operands + at.b
            for index in range(at.c):
                if not (at.flags & DROP_LARGE and is_small(operands[index].buffer)):
                    drop(context, operands[index])
        elif at.op == OP_LOAD:
            (<Container>machine.containers[at.b]).load(context, &machine.cells[at.a])
        elif at.op == OP_TOGETHER:
            if run_together(machine, &at) < 0:
                break
        elif at.op == OP_CALL:
            take_gil(machine)
            if call_step(machine, at) < 0:
                break
        elif at.op == OP_COPY:
            if copy_step(machine, at) < 0:
                break
        elif at.op == OP_OWN:
            if own_step(machine, at) < 0:
                break
        elif at.op == OP_RESULT:
            take_gil(machine)
            if result_step(machine, at) < 0:
                break
        elif at.op == OP_PREPARE:
            take_gil(machine)                               # who else refers to a value may not change from here on
            worth = prepare(machine.kernels[at.a], context, machine.operands + at.b)
            if worth < 0:
                break
            machine.long_commit |= worth
        elif at.op == OP_COMMIT:
            take_gil(machine)
            if machine.n_watched > 0 and has_changed(machine):
                refuse_late_change(machine)
                break
            if machine.long_commit:
                start_change(machine)
                machine.released = PyEval_SaveThread()
        elif at.op == OP_JUMP:
            at = machine.code + at.a
            continue
        elif at.op == OP_JUMPZ:
            if is_zero(&machine.cells[at.b]):
                at = machine.code + at.a
                continue
        elif at.op == OP_ALIAS:
            alias(context, &machine.cells[at.a], &machine.cells[at.b])
        elif at.op == OP_MOVE:
            move(context, &machine.cells[at.a], &machine.cells[at.b])
        elif at.op == OP_NEED:
            block = &machine.blocks[at.b]
            if block.call != machine.call:
                block.call = machine.call
                block.entered = at
                at = machine.code + at.a
                continue
        elif at.op == OP_BACK:
            at = machine.blocks[at.a].entered
        elif at.op == OP_RUN:
            (<Kernel>machine.kernels[at.a]).run(context, machine.operands + at.b)
        elif at.op == OP_STORE:
            take_gil(machine)
            (<Container>machine.containers[at.a]).store(context, &machine.cells[at.b])
        elif at.op == OP_PLAN:
            if not is_planned(machine) and plan_step(machine, at) < 0:
                break
        elif at.op == OP_FAIL:
            take_gil(machine)
            raise_injected()
            break
        else:                                               # OP_HALT
            take_gil(machine)
            if machine.changing:
                finish_change(machine)
            return 0
        at += 1
    take_gil(machine)
    machine.at = at
    return -1


# ---- instructions that need more than a line -------------------------------------------------------------------------
cdef int run_together(Machine* machine, const Instruction** place) noexcept nogil:
    """Run the group behind TOGETHER; ``place`` moves to its last instruction, or to the one that failed."""
    cdef Group group
    cdef int index, worth, count = place[0].a
    cdef bint is_long = False
    group.context, group.count = &machine.context, 0
    for index in range(count):
        place[0] += 1
        worth = prepare_member(&group, machine.kernels[place[0].a], machine.operands + place[0].b)
        if worth < 0:
            leave_group(&group)
            return -1
        is_long |= worth != 0
    if is_long and leave_gil(machine) < 0:
        leave_group(&group)
        return -1
    run_group(&group)
    leave_group(&group)
    return 0


cdef void raise_failure(Machine* machine) noexcept with gil:
    """Turn a ``may_fail`` kernel's reason into the exception, unless it has raised one itself."""
    cdef const char* reason = machine.context.failure
    machine.context.failure = NULL
    if reason == NULL:
        reason = b"the kernel failed"
    if PyErr_Occurred() == NULL:
        PyErr_SetString(ValueError, reason)


cdef inline void copy_line(char* write, const char* read, npy_intp stride, npy_intp count, int itemsize) noexcept nogil:
    cdef npy_intp index
    if itemsize == 8:                   # most elements; a memcpy of unknown size takes ten times as long
        for index in range(count):
            (<double*>write)[index] = (<const double*>(read + index * stride))[0]
    else:
        for index in range(count):
            memcpy(write + index * itemsize, read + index * stride, itemsize)


cdef void copy_elements(char* write, Cell* source) noexcept nogil:
    """The elements of a cell in C order."""
    cdef npy_intp index[64]
    cdef const char* read = source.data
    cdef int axis, last = source.ndim - 1
    cdef npy_intp size = cell_size(source), line
    if size == 0 or cell_is_contiguous(source):
        memcpy(write, read, size * source.itemsize)
        return
    line = source.shape[last]
    for axis in range(last):
        index[axis] = 0
    while True:
        copy_line(write, read, source.strides[last], line, source.itemsize)
        write += line * source.itemsize
        axis = last - 1
        while axis >= 0:
            index[axis] += 1
            read += source.strides[axis]
            if index[axis] < source.shape[axis]:
                break
            read -= source.strides[axis] * index[axis]
            index[axis] = 0
            axis -= 1
        if axis < 0:
            return


cdef void raise_injected() noexcept with gil:
    PyErr_SetString(RuntimeError, b"this instruction was asked to fail")


cdef int copy_memory(Context* context, Cell* target, Cell* source) except -1 nogil:
    """C order copy of any strided cell; ``target`` gets fresh memory."""
    allocate(context, target, source.shape)
    copy_elements(target.data, source)
    return 0


cdef int copy_cell(Machine* machine, const Instruction* at) except -1 nogil:
    cdef Cell* source = &machine.cells[at.b]
    if source.flags & CELL_OBJECT:
        copy_object(&machine.cells[at.a], source)
        return 0
    return copy_memory(&machine.context, &machine.cells[at.a], source)


cdef inline bint is_wasteful(const Cell* cell) noexcept nogil:
    """Whether the cell looks at less than half of its buffer, which is worth a copy that lets go of the rest."""
    return cell.buffer.capacity > 2 * <size_t>(cell_size(cell) * cell.itemsize) + WASTE


cdef inline bint is_own(const Cell* cell, const Cell* home) noexcept nogil:
    """Whether nobody else refers to the cell's memory, or only the container that it will be stored in, which the call
    has claimed: a value that was left alone."""
    cdef Buffer* buffer = cell.buffer
    if buffer.owner == NULL:
        return buffer.size_class != PLANNED and buffer_references(buffer) == (2 if home.buffer == buffer else 1)
    return buffer_references(buffer) == 1 and buffer.size_class != GIVEN and owner_is_alone(buffer)


cdef int own_cell(Machine* machine, const Instruction* at) except -1 nogil:
    """Copy the cell unless its memory is its own and holds only its value, without gaps."""
    cdef Cell* cell = &machine.cells[at.a]
    cdef const Cell* home = &(<Container>machine.containers[at.b]).cell
    cdef Cell fresh
    cdef npy_intp dimensions[2 * 64]
    cdef int axis
    if cell.flags & CELL_OBJECT or cell.data == <char*>cell.value:
        return 0
    if cell.buffer != NULL and is_own(cell, home) and cell_is_packed(cell) and not is_wasteful(cell):
        return 0
    fresh = cell[0]
    fresh.buffer, fresh.data = NULL, NULL
    fresh.donor, fresh.heir, fresh.slot = NULL, NULL, NULL
    fresh.shape, fresh.strides = dimensions, dimensions + cell.ndim
    copy_memory(&machine.context, &fresh, cell)
    drop(&machine.context, cell)
    for axis in range(cell.ndim):
        cell.shape[axis] = fresh.shape[axis]
        cell.strides[axis] = fresh.strides[axis]
    if fresh.buffer == NULL:
        memcpy(cell.value, fresh.value, sizeof(fresh.value))
        cell.data = <char*>cell.value
    else:
        cell.buffer, cell.data = fresh.buffer, fresh.data
    return 0


cdef object result_of(Cell* cell):
    """What the user gets: memory nobody else holds is handed over, everything else is copied unless it is borrowed."""
    if cell.flags & CELL_OBJECT:
        return <object>cell.object if cell.object != NULL else None
    if cell.buffer == NULL or cell.buffer.size_class == PLANNED:
        return cell_to_result(cell)
    if cell.flags & CELL_SHOWN:
        return cell_to_view(cell)
    if buffer_references(cell.buffer) != 1 or (cell.buffer.owner == NULL and is_wasteful(cell)):
        return cell_to_array(cell).copy()
    if cell.buffer.owner != NULL and owner_is_alone(cell.buffer) and cell_is_whole(cell, <object>cell.buffer.owner):
        return <object>cell.buffer.owner
    return cell_to_result(cell)


cdef object lent_result(Frame frame, int index, Cell* cell):
    """A result whose memory the next call may use again: the same array, if the memory is the same."""
    cdef PyObject* array = frame.recycled[index]
    cdef object fresh
    if array != NULL and phintys_is_view_of(array, cell.data, cell.typenum, cell.ndim, cell.shape,
                                             cell.strides):
        return <object>array
    fresh = cell_to_view(cell)
    Py_INCREF(fresh)
    frame.recycled[index] = <PyObject*>fresh
    Py_XDECREF(array)
    return fresh


cdef void take_back(Frame frame, int index) noexcept:
    """Leave a lent result to those who hold it: its memory is not used again."""
    cdef PyObject* array = frame.recycled[index]
    frame.recycled[index] = NULL
    Py_XDECREF(array)


cdef int check_lent(Frame frame) except -1:
    """Before a call: results lent by the last one, of which more than one user knows, are left to them."""
    cdef int index
    cdef PyObject* array
    for index in frame.code.lent:
        array = frame.recycled[index]
        if array != NULL and (Py_REFCNT(array) > 2 or overlaps_argument(frame, array) or is_in_container(array)):
            take_back(frame, index)
            drop(&frame.machine.context, frame.machine.operands[frame.code.first_result + index])
    return 0


cdef inline bint is_in_container(PyObject* lent) noexcept:
    """Whether the one user of a small lent result may be a container, which was to keep its value."""
    return (Py_REFCNT(lent) == 2 and cnp.PyArray_BASE(<cnp.ndarray>lent) is NULL
            and is_held_by_another(None, <cnp.ndarray>lent))


cdef bint overlaps_argument(Frame frame, PyObject* lent) noexcept:
    """Whether an argument of the coming call lies in the memory of a lent result."""
    cdef Cell* cell
    cdef Span span
    cdef int index
    span.low = <char*>phintys_data(lent)
    span.high = span.low + cnp.PyArray_NBYTES(<cnp.ndarray>lent)        # it has no gaps
    for index in range(frame.code.n_arguments):
        cell = &frame.cells[index]
        if not cell.flags & CELL_OBJECT and overlap(span, span_of_cell(cell)):
            return True
    return False


cdef inline bint is_unused(PyObject* array, Cell* cell) noexcept:
    """Whether an array of an earlier call is ours alone (or lent), as it was made, and of the cell's shape."""
    return (array != NULL and not pool.stress and Py_REFCNT(array) <= (2 if cell.flags & CELL_LENT else 1)
            and phintys_is_untouched(array, cell.typenum, cell.ndim, cell.shape) and not is_in_container(array))


cdef object small_result(Frame frame, int index, Cell* cell):
    """A small result. Making and freeing its array costs more than computing it does, so the array of an earlier call
    is taken again when the user has dropped it."""
    cdef PyObject* array = frame.recycled[index]
    cdef object fresh
    if is_unused(array, cell):
        copy_elements(<char*>phintys_data(array), cell)
        return <object>array
    fresh = cell_to_result(cell)
    Py_INCREF(fresh)
    frame.recycled[index] = <PyObject*>fresh
    Py_XDECREF(array)
    return fresh


cdef int take_results(Machine* machine, const Instruction* at) except -1 with gil:
    cdef Frame frame = <Frame>machine.frame
    cdef Cell** operands = machine.operands + at.b
    cdef Cell* cell
    cdef object result
    cdef npy_intp size
    cdef int index
    for index in range(at.c):
        cell = operands[index]
        size = RESULT_COPY_BYTES + 1 if cell.flags & CELL_OBJECT else cell_size(cell) * cell.itemsize
        if cell.flags & CELL_NUMBER:
            result = cell_to_number(cell)
            if cell.flags & CELL_LENT and cell.buffer != NULL:
                drop(&machine.context, cell)
        elif size <= RESULT_COPY_BYTES and not cell.flags & CELL_SHOWN and (
                cell.buffer == NULL or cell.buffer.size_class != GIVEN):
            result = small_result(frame, index, cell)
            if cell.flags & CELL_LENT and cell.buffer != NULL:
                drop(&machine.context, cell)        # a copy was lent: whoever else refers to this memory keeps it
        elif cell.flags & CELL_LENT and (cell.buffer == NULL or cell.buffer.owner == NULL):
            result = lent_result(frame, index, cell)
        else:
            result = result_of(cell)
        if at.flags & RESULT_EMPTIES and (cell.ndim or cell.buffer != NULL) and not cell.flags & KEPT:
            drop(&machine.context, cell)
        Py_INCREF(result)
        frame.results[index] = <PyObject*>result
    return 0


# ---- CALL: ops with only `perform` -----------------------------------------------------------------------------------
cdef object argument_of(Cell* cell, bint writeable):
    """A cell as an op's ``perform`` sees it; safe for it to keep."""
    cdef object array
    if cell.flags & CELL_OBJECT:
        return <object>cell.object if cell.object != NULL else None
    if cell.flags & CELL_NUMBER:
        return cell_to_number(cell)
    if cell.object == NULL:
        array = cell_to_array(cell)
    elif writeable or not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>cell.object):
        return <object>cell.object                  # the caller's own array
    else:
        array = PyArray_View(<cnp.ndarray>cell.object, NULL, NULL)
    if not writeable:
        cnp.PyArray_CLEARFLAGS(array, cnp.NPY_ARRAY_WRITEABLE)
    return array


cdef list inputs_of(dict destroy_map, Cell** operands, int count):
    """What ``perform`` gets: arrays that are read-only, unless the op declares that it overwrites them."""
    cdef int index
    if not destroy_map:
        return [argument_of(operands[index], False) for index in range(count)]
    destroyed = {position for positions in destroy_map.values() for position in positions}
    return [argument_of(operands[index], index in destroyed) for index in range(count)]


cdef int follow_changes(Machine* machine, const Instruction* at) except -1:
    """What ``perform`` calls has replaced values that this call has loaded: load them again, unless an instruction has
    already read the old ones, whose results would undo the change."""
    cdef Code code = (<Frame>machine.frame).code
    cdef Container container
    cdef int index, cell, position = <int>(at - machine.code)
    for index in range(machine.n_watched):
        container = <Container>machine.watched[index]
        if container.changes == machine.seen[index]:
            continue
        cell = code.watched_cells[index]
        if (cell, position) not in code.known_reads:
            code.known_reads[cell, position] = may_have_read(code.program, cell, position)
        if code.known_reads[cell, position]:
            raise lost_update(container, f"perform of {code.program.nodes[position].op}")
        machine.seen[index] = container.changes
        container.load(&machine.context, &machine.cells[cell])
    return 0


cdef void refuse_late_change(Machine* machine) noexcept with gil:
    """Set the exception for a value that was replaced inside the call when its old value had been read."""
    cdef int index
    for index in range(machine.n_watched):
        if (<Container>machine.watched[index]).changes != machine.seen[index]:
            error = lost_update(<Container>machine.watched[index], "a callback, a finalizer or the handler of a signal")
            PyErr_SetObject(RuntimeError, error)
            return


cdef inline bint is_of_cell(value, const Cell* cell) noexcept:
    """Whether an array, perhaps of a subclass, has the cell's dtype and rank and can be worked on as it is."""
    return (isinstance(value, cnp.ndarray) and cnp.PyArray_TYPE(value) == cell.typenum
            and cnp.PyArray_NDIM(value) == cell.ndim and cnp.PyArray_ISBEHAVED(value))


cdef int take_output(Machine* machine, Cell* cell, list storage, variable, bint may_alias, bint is_given) except -1:
    """Move what ``perform`` stored into the cell, checked against the declared type."""
    cdef cnp.ndarray array
    value = storage[0] if storage else None
    if value is None and not cell.flags & CELL_OBJECT:
        raise ValueError(f"perform stored no value for its output {variable} of type {variable.type}")
    if cell.flags & CELL_OBJECT:
        Py_INCREF(value)
        drop(&machine.context, cell)
        cell.object, cell.data = <PyObject*>value, <char*>cell.value
        return 0
    if is_given and is_of_cell(value, cell):
        check_broadcastable(value, variable)
        cell_give_array(&machine.context, cell, value)
        return 0
    if type(value) is not cnp.ndarray:
        value = cnp.PyArray_FROM_O(value)
    array = value
    if cnp.PyArray_TYPE(array) != cell.typenum and value.dtype != variable.type.numpy_dtype:
        raise TypeError(f"perform stored a value of dtype {value.dtype} for its output {variable}, "
                        f"declared as {variable.type}")
    if (type(value) is not cnp.ndarray or cnp.PyArray_TYPE(array) != cell.typenum
            or cnp.PyArray_NDIM(array) != cell.ndim or not cnp.PyArray_ISBEHAVED_RO(array)):
        array = cnp.PyArray_FROM_O(variable.type.filter(value, strict=False, allow_downcast=False))
    else:
        check_broadcastable(array, variable)
    storage[0] = None
    value = None
    # Somebody else may keep or change this memory: the op, or the owner of an input that was returned as it is.
    if not may_alias and (Py_REFCNT(<void*>array) > 1 or cnp.PyArray_BASE(array) is not NULL):
        array = array.copy()
    cell_hold_array(&machine.context, cell, array)
    return 0


cdef int check_broadcastable(cnp.ndarray array, variable) except -1:
    cdef int axis
    for axis, broadcastable in enumerate(variable.type.broadcastable):
        if broadcastable and cnp.PyArray_DIM(array, axis) != 1:
            raise ValueError(f"perform stored a value of shape {(<object>array).shape} for its output {variable}, "
                             f"declared as {variable.type}")
    return 0


cdef int call_perform(Machine* machine, const Instruction* at) except -1 with gil:
    cdef Frame frame = <Frame>machine.frame
    cdef Cell** operands = machine.operands + at.b
    cdef int index
    node = frame.code.program.nodes[at.a]
    cdef int n_inputs = len(node.inputs)
    cdef int n_outputs = at.c - n_inputs
    cdef list storage = [[None] for index in range(n_outputs)]
    op = node.op
    cdef list inputs = inputs_of(op.destroy_map, operands, n_inputs)
    op.perform(node, inputs, storage)
    del inputs
    if machine.n_watched > 0 and has_changed(machine):
        follow_changes(machine, at)
    if len(storage) < n_outputs:
        raise ValueError(f"perform took away some of the {n_outputs} cells for its outputs")
    for index in range(n_outputs):
        take_output(machine, operands[n_inputs + index], storage[index], node.outputs[index],
                    index in op.view_map or index in op.destroy_map, index in op.gives_memory)
    return 0
