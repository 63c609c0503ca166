"""Cells, contexts and kernels: the body of the contract in ``abi.pxd``.

Memory comes from ``pool.pyx``. Blocks up to 4096 bytes are kept by the frame that freed them, so that programs over
small arrays take no lock; a frame that ``keeps`` does so with all blocks, as long as they are not more than the pool
may keep. ``allocate`` looks in this order: the donor's memory, the cell's own of an earlier call, its heir's, the slot
that a plan gives it, the frame's blocks, the pool.
"""
cimport cython
cimport numpy as cnp
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

from phintys.vm cimport pool
from phintys.vm.guards cimport give_back_scratch, take_scratch
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.pool cimport (
    DEVICE, FOREIGN, FRESH, GIVEN, HOST, PLANNED, SMALL_LIMIT, allocation_fails, buffer_acquire, buffer_forsake,
    buffer_give_back, buffer_of_owner, buffer_references, buffer_release, buffer_retain, is_close, size_class_of,
    take_close)
from phintys.vm.python_api cimport Py_INCREF, Py_XDECREF, PyErr_Occurred, PyObject, PyTypeObject
from phintys.vm.workers cimport workers_run

from phintys.vm.kernel_spec import kernel_of, spec_of
from phintys.vm.places import WORK_AT_DEVICE, place_name

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    object PyArray_Scalar(void* data, cnp.dtype descr, object base)
    # Steals a reference to the descriptor, hence not an object here.
    object PyArray_NewFromDescr(PyTypeObject* subtype, void* descr, int nd, const npy_intp* dims,
                                const npy_intp* strides, void* data, int flags, PyObject* obj)
    void* PyArray_DescrFromType(int typenum)
    PyTypeObject* PyArray_Type_pointer "&PyArray_Type"
    int PyArray_SetBaseObject(cnp.ndarray array, object base) except -1
    int NPY_ARRAY_WRITEABLE
    int NPY_ARRAY_ALIGNED
    int NPY_ARRAY_OWNDATA

cdef extern from *:
    """
    #include "free_threads.h"
    /* An array that owns its writeable memory, and of which there is one reference: ours. Safe without the GIL, because
     * no other thread can get a reference. */
    static inline int phintys_is_alone(PyObject* owner) {
        const int flags = NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE;
        return phintys_references(owner) == 1 && PyArray_CheckExact(owner)
            && (PyArray_FLAGS((PyArrayObject*)owner) & flags) == flags;
    }
    /* Workers read what the thread that called writes; nothing else belongs to it, so in no order. */
    static inline int phintys_is_raised(const int* raised) { return __atomic_load_n(raised, __ATOMIC_RELAXED); }
    """
    bint phintys_is_alone(PyObject*) noexcept nogil
    bint phintys_is_raised(const bint*) noexcept nogil


# ---- contexts and cells ----------------------------------------------------------------------------------------------
cdef int context_init(Context* context) noexcept nogil:
    memset(context, 0, sizeof(Context))
    context.workers = 1
    return 0


cdef inline void clear_list(Buffer** first) noexcept nogil:
    cdef Buffer* buffer
    while first[0] != NULL:
        buffer = first[0]
        first[0] = buffer.next
        buffer_give_back(buffer)


cdef void context_clear(Context* context) noexcept nogil:
    cdef int size_class
    for size_class in range(SMALL_CLASSES + 1):
        clear_list(&context.free[size_class])
    for size_class in range(MEDIUM_CLASSES + 1):
        clear_list(&context.kept[size_class])
    context.kept_bytes = 0
    give_back_scratch(context.scratch, context.scratch_size)
    context.scratch, context.scratch_size = NULL, 0


cdef char* scratch(Context* context, size_t size) except NULL nogil:
    cdef char* block
    cdef size_t found = size
    if size > (context.scratch_size & ~<size_t>1) or context.scratch == NULL:
        give_back_scratch(context.scratch, context.scratch_size)
        context.scratch, context.scratch_size = NULL, 0
        block = NULL if allocation_fails() else take_scratch(&found)
        if block == NULL:
            with gil:
                raise MemoryError(f"no memory for {size} bytes of scratch")
        context.scratch, context.scratch_size = block, found
    if context.poison:
        memset(context.scratch, context.poison & 255, size)
    return context.scratch


cdef int cell_init(Cell* cell, int typenum, int ndim, npy_intp* dimensions) except -1:
    memset(cell, 0, sizeof(Cell))
    cell.ndim = ndim
    cell.typenum = typenum
    cell.itemsize = cnp.PyArray_DescrFromType(typenum).itemsize
    cell.shape = dimensions
    cell.strides = dimensions + ndim
    return 0


cdef inline Buffer* take_small(Context* context, size_t size) noexcept nogil:
    """A block from the frame's own lists, else from the pool."""
    cdef int size_class = <int>((size + 63) >> 6)
    cdef Buffer* buffer = context.free[size_class]
    if buffer == NULL:
        return buffer_acquire(size)
    context.free[size_class] = buffer.next
    buffer.next = NULL
    buffer.references = 1
    return buffer


cdef inline Buffer** kept_list(Context* context, int size_class) noexcept nogil:
    """The frame's list of medium blocks of a class, or of large ones."""
    return &context.kept[size_class - SMALL_CLASSES if size_class else 0]


cdef Buffer* take_of_capacity(Buffer** link, size_t capacity) noexcept nogil:
    """Take a block of just this capacity from a list; NULL: there is none."""
    cdef Buffer* found
    while link[0] != NULL and link[0].capacity != capacity:
        link = &link[0].next
    found = link[0]
    if found != NULL:
        link[0] = found.next
    return found


cdef Buffer* take_kept(Context* context, Cell* cell, size_t size) noexcept nogil:
    """A medium or large block of those that the frame keeps, else from the pool.

    If possible of the capacity that the cell had last: so every call finds the blocks of the call before.
    """
    cdef bint again = is_close(cell.kept_capacity, size)
    cdef size_t wanted = cell.kept_capacity if again else size
    cdef Buffer** first = kept_list(context, size_class_of(wanted))
    cdef Buffer* buffer = take_of_capacity(first, wanted) if again else take_close(first, wanted)
    if buffer != NULL:
        context.kept_bytes -= buffer.capacity
        buffer.next = NULL
        buffer.references = 1
    else:
        buffer = buffer_acquire(wanted)
    if buffer != NULL:
        cell.kept_capacity = buffer.capacity
    return buffer


cdef inline bint is_lent(const Cell* cell) noexcept nogil:
    """Whether the cell's memory becomes that of a lent result, and stays with it between calls."""
    return cell.flags & CELL_LENT or (cell.heir != NULL and cell.heir.flags & CELL_LENT)


cdef inline Buffer* take_larger(Context* context, Cell* cell, size_t size) noexcept nogil:
    """What is lent is none of the blocks that the next call's temporaries count on."""
    return take_kept(context, cell, size) if context.keeps and not is_lent(cell) else buffer_acquire(size)


cdef void keep_larger(Context* context, Buffer* buffer) noexcept nogil:
    """A medium or large block stays with the frame, if that may keep so much."""
    cdef Buffer** first = kept_list(context, buffer.size_class)
    if context.kept_bytes + buffer.capacity > pool.pool_limit:
        buffer_give_back(buffer)
        return
    context.kept_bytes += buffer.capacity
    buffer.next = first[0]
    first[0] = buffer


cdef inline void release_here(Context* context, Buffer* buffer) noexcept nogil:
    """As ``buffer_release``, but small blocks stay with the frame, and all do with one that keeps them."""
    if buffer_forsake(buffer):
        if 0 < buffer.size_class <= SMALL_CLASSES and not pool.stress:
            buffer.next = context.free[buffer.size_class]
            context.free[buffer.size_class] = buffer
        elif context.keeps and 0 <= buffer.size_class <= SMALL_CLASSES + MEDIUM_CLASSES and not pool.stress:
            keep_larger(context, buffer)
        else:
            buffer_give_back(buffer)


cdef int fail_allocation(Cell* cell, const npy_intp* shape, bint negative) except -1 with gil:
    dimensions = tuple([shape[axis] for axis in range(cell.ndim)])
    if negative:
        raise ValueError(f"negative dimensions are not allowed: shape {dimensions}")
    where = " on the device" if cell.flags & CELL_DEVICE else ""
    if where and device_refuses is not None:
        device_refuses()                            # raises, unless there is just no memory
    raise MemoryError(f"no memory{where} for an array of shape {dimensions} with {cell.itemsize} bytes an element")


cdef bint owner_is_alone(const Buffer* buffer) noexcept nogil:
    return buffer.size_class == GIVEN or phintys_is_alone(buffer.owner)


cdef inline bint is_planned_for(const Buffer* buffer, const Cell* cell) noexcept nogil:
    """Whether the plan gives the cell this piece of the arena; another cell's may be used again too early."""
    return cell.slot != NULL and cell.slot.data == buffer.data


cdef inline bint has_strides_of(const Cell* donor, const Cell* cell) noexcept nogil:
    """Whether a donor of the cell's shape has the strides that the cell is to have, where they matter."""
    cdef int axis
    for axis in range(cell.ndim):
        if donor.strides[axis] != cell.strides[axis] and cell.shape[axis] > 1:
            return cell_size(cell) == 0
    return True


cdef inline bint may_keep_layout(const Cell* cell, const Buffer* buffer) noexcept nogil:
    """Whether the cell may take memory of another layout: what a caller gave to be overwritten. Temporaries and shared
    values are kept in C order, which readers are quickest with."""
    return cell.flags & CELL_ANY_LAYOUT and buffer.size_class == GIVEN


cdef inline bint is_in_place_of(const Buffer* buffer, const Cell* cell) noexcept nogil:
    """Whether memory is where the cell's value is to be."""
    return (buffer.place != HOST) == (cell.flags & CELL_DEVICE != 0)


cdef bint adopt(Context* context, Cell* cell) noexcept nogil:
    """Let the cell take its donor's memory, if it fits, is at the cell's place, and no other cell refers to it.

    A temporary loses its buffer to the cell, and takes the cell's old one for its next value. So does a loaded shared
    value, whose buffer the container still holds, too; then cells pass it on along a chain, and two refer to it.
    """
    cdef Cell* donor = cell.donor
    cdef Cell* home = donor.donor                   # the container's cell
    cdef Buffer* buffer = donor.buffer
    cdef Buffer* old = cell.buffer
    cdef int axis, lent = donor.flags & CELL_LENT   # it holds the memory of a lent result, see `take_from_heir`
    cdef bint same_strides
    cdef bint passed = donor.flags & CELL_PASSED != 0
    cdef bint stored = not passed and home != NULL and home.buffer == buffer
    donor.flags &= ~(CELL_LENT | CELL_PASSED)
    cell.flags &= ~CELL_PASSED
    if donor.data == NULL or buffer_references(buffer) != (2 if passed or stored or lent else 1):
        return False
    if not is_in_place_of(buffer, cell):
        return False
    for axis in range(cell.ndim):
        if donor.shape[axis] != cell.shape[axis]:
            return False
    same_strides = has_strides_of(donor, cell)
    if not (same_strides or may_keep_layout(cell, buffer)) or (buffer.owner != NULL and not owner_is_alone(buffer)):
        return False
    if buffer.size_class == PLANNED and not is_planned_for(buffer, cell):
        return False
    if not same_strides:
        for axis in range(cell.ndim):
            cell.strides[axis] = donor.strides[axis]
    cell.flags |= lent
    cell.buffer = buffer
    cell.data = donor.data
    if passed or stored:
        cell.flags |= CELL_PASSED
    donor.buffer = old
    return True


cdef inline bint is_reusable(Cell* cell, size_t size) noexcept nogil:
    """Whether the buffer of an earlier call fits and has no other user, except a caller who borrowed it as a
    result: the last cell of a chain says so. It is at most an eighth too large, as the pool's are, so that no result
    holds more memory than it needs."""
    cdef Buffer* buffer = cell.buffer
    cdef bint lent = cell.flags & CELL_LENT and cell.heir == NULL
    return (buffer.owner == NULL and is_close(buffer.capacity, size) and not pool.stress
            and buffer_references(buffer) <= (2 if lent else 1))


cdef bint take_from_heir(Cell* cell, size_t size) noexcept nogil:
    """Start a chain of values that overwrite each other in the buffer that the last call left at its end."""
    cdef Cell* heir = cell.heir
    cell.flags &= ~CELL_LENT
    if heir.buffer == NULL or not is_reusable(heir, size):
        return False
    cell.buffer = heir.buffer
    cell.data = heir.buffer.data
    cell.flags |= heir.flags & CELL_LENT
    heir.buffer = NULL
    heir.data = NULL
    return True


cdef inline Buffer* take_slot(Cell* cell, size_t size) noexcept nogil:
    """The memory that the plan has for the cell, or NULL: the value is larger this time, or the memory is in use."""
    cdef Buffer* slot = cell.slot
    if size > slot.capacity or buffer_references(slot) != 0:
        return NULL
    slot.references = 1
    if pool.stress:
        memset(slot.data, FRESH, slot.capacity)
    return slot


cdef inline void set_packed_strides(Cell* cell, const int* axes) noexcept nogil:
    """Strides of an array without gaps, its dimensions in this order."""
    cdef npy_intp stride = cell.itemsize
    cdef int index
    for index in range(cell.ndim - 1, -1, -1):
        cell.strides[axes[index]] = stride
        stride *= cell.shape[axes[index]]


cdef int allocate(Context* context, Cell* cell, const npy_intp* shape) except -1 nogil:
    return allocate_packed(context, cell, shape, NULL)


cdef int allocate_in_order(Context* context, Cell* cell, const npy_intp* shape, const int* axes) except -1 nogil:
    return allocate_packed(context, cell, shape, axes)


cdef inline int allocate_packed(Context* context, Cell* cell, const npy_intp* shape, const int* axes) except -1 nogil:
    """``axes``: the dimensions, the outermost first; NULL: C order."""
    cdef size_t size = cell.itemsize
    cdef bint empty = False
    cdef int axis
    for axis in range(cell.ndim):
        if shape[axis] < 0:
            return fail_allocation(cell, shape, True)
        if shape[axis] == 0:
            empty = True
        elif size > (<size_t>1 << 62) // <size_t>shape[axis]:
            return fail_allocation(cell, shape, False)
        else:
            size *= shape[axis]
    if empty:
        size = 0
    if shape != cell.shape:
        for axis in range(cell.ndim):
            cell.shape[axis] = shape[axis]
    if axes == NULL:
        set_contiguous_strides(cell)
    else:
        set_packed_strides(cell, axes)
    cell.size = size
    return take_memory(context, cell)


cdef int renew(Context* context, Cell* cell) except -1 nogil:
    return take_memory(context, cell)


cdef inline int begin_to_write(Buffer* buffer) noexcept nogil:
    """What is known of the elements that a block of a device has does not hold any more."""
    buffer.next = NULL
    return 0


cdef int take_device_memory(Context* context, Cell* cell) except -1 nogil:
    """Memory for a cell on the device. What it had in an earlier call is as good as new: work is done in order."""
    cdef Buffer* buffer = cell.buffer
    if cell.size <= INLINE_BYTES:                   # who looks at the size must not take the cell's own memory
        cell.size = INLINE_BYTES + 1
    if buffer != NULL:
        if is_reusable(cell, cell.size):
            cell.data = buffer.data
            return begin_to_write(buffer)
        cell.buffer = NULL
        release_here(context, buffer)
    if cell.heir != NULL and take_from_heir(cell, cell.size):
        return begin_to_write(cell.buffer)
    buffer = NULL if allocation_fails() else device_memory.acquire(cell.size)
    if buffer == NULL:
        cell.data = NULL
        if device_memory.acquire == acquire_nothing:
            return no_device()
        return fail_allocation(cell, cell.shape, False)
    cell.buffer = buffer
    cell.data = buffer.data
    return 0


cdef inline int take_memory(Context* context, Cell* cell) except -1 nogil:
    """Memory for a cell whose shape, strides and size are set."""
    cdef size_t size = cell.size
    cdef Buffer* buffer
    if cell.donor != NULL and cell.donor.buffer != NULL and adopt(context, cell):
        return begin_to_write(cell.buffer) if cell.flags & CELL_DEVICE else 0
    if cell.flags & CELL_DEVICE:
        return take_device_memory(context, cell)
    buffer = cell.buffer
    if size <= INLINE_BYTES:
        if buffer != NULL:
            cell.buffer = NULL
            release_here(context, buffer)
        cell.data = <char*>cell.value
        if context.poison:
            memset(cell.value, context.poison & 255, INLINE_BYTES)
        return 0
    if buffer != NULL:
        if is_reusable(cell, size):
            cell.data = buffer.data
            return 0
        cell.buffer = NULL
        release_here(context, buffer)
    if cell.heir != NULL and take_from_heir(cell, size):
        return 0
    buffer = take_slot(cell, size) if cell.slot != NULL else NULL
    if buffer == NULL:
        buffer = take_small(context, size) if size <= SMALL_LIMIT else take_larger(context, cell, size)
    if buffer == NULL:
        cell.data = NULL
        return fail_allocation(cell, cell.shape, False)
    cell.buffer = buffer
    cell.data = buffer.data
    if context.poison:
        memset(cell.data, context.poison & 255, size)
    return 0


cdef void share(Context* context, Cell* view, Cell* source, char* data) noexcept nogil:
    cdef Buffer* old = view.buffer
    cdef char* inline = <char*>source.value
    if inline <= source.data < inline + INLINE_BYTES:       # a view of a view may start after the first byte
        memcpy(view.value, inline, INLINE_BYTES)
        view.data = <char*>view.value + (data - inline)
        view.buffer = NULL
    else:
        if source.buffer != NULL:
            buffer_retain(source.buffer)
        view.buffer = source.buffer
        view.data = data
        if source.heir != NULL and view.heir == source.heir:        # what takes the memory takes it from the view
            view.flags = (view.flags & ~CELL_LENT) | (source.flags & CELL_LENT)
            source.flags &= ~CELL_LENT
    if old != NULL:
        release_here(context, old)


cdef void release_object(Cell* cell) noexcept with gil:
    cdef PyObject* old = cell.object
    cell.object = NULL
    Py_XDECREF(old)


cdef void drop(Context* context, Cell* cell) noexcept nogil:
    cdef Buffer* buffer = cell.buffer
    if buffer != NULL:
        cell.buffer = NULL
        release_here(context, buffer)
    cell.data = NULL
    if cell.flags & CELL_OBJECT and cell.object != NULL:
        release_object(cell)


cdef void parallel(Context* context, Task task, void* argument, npy_intp total, npy_intp grain) noexcept nogil:
    workers_run(<void*>task, argument, total, grain, context.workers, <void*>interrupted, context)


cdef bint interrupted(Context* context) noexcept nogil:
    cdef Interrupts* interrupts = context.interrupts
    return interrupts != NULL and (phintys_is_raised(&interrupts.raised) or interrupts.look(interrupts))


# ---- arrays and cells ------------------------------------------------------------------------------------------------
# Who keeps memory alive that an array and a cell share:
#
# cell_borrow_array  the caller keeps the array; the cell has its address, and no buffer
# cell_hold_array    the cell's buffer: the pool's, with one reference more, if the array is over such memory; else a
#                    FOREIGN one, which has a reference to the array
# cell_give_array    the cell's buffer, GIVEN: the same, and kernels may overwrite the array. It is never the pool's
#                    buffer, whose other references would forbid that
# cell_to_view       the array's base, a BufferBase, which has a reference to the cell's buffer
# copy_of_cell       nobody: they share none
@cython.final
@cython.freelist(64)
cdef class BufferBase:
    """Base of an array over pool memory: gives the buffer back when the array dies."""
    cdef Buffer* buffer

    def __dealloc__(self):
        if self.buffer != NULL:
            buffer_release(self.buffer)


cdef object buffer_as_base(Buffer* buffer):
    cdef BufferBase base = BufferBase.__new__(BufferBase)
    buffer_retain(buffer)
    base.buffer = buffer
    return base


cdef int cell_borrow_array(Cell* cell, object array) except -1:
    # The cell's buffer is not touched: either it has none, or `take_buffer` sets it next.
    cdef cnp.ndarray source = array
    cdef int axis
    cell.data = <char*>cnp.PyArray_DATA(source)
    for axis in range(cell.ndim):
        cell.shape[axis] = cnp.PyArray_DIM(source, axis)
        cell.strides[axis] = cnp.PyArray_STRIDE(source, axis)
    return 0


cdef bint cell_is_whole(const Cell* cell, object array) noexcept:
    cdef cnp.ndarray owner = array
    cdef int axis
    if (<char*>cnp.PyArray_DATA(owner) != cell.data or cnp.PyArray_NDIM(owner) != cell.ndim
            or cnp.PyArray_TYPE(owner) != cell.typenum):
        return False
    for axis in range(cell.ndim):
        if (cnp.PyArray_DIM(owner, axis) != cell.shape[axis]
                or cnp.PyArray_STRIDE(owner, axis) != cell.strides[axis]):
            return False
    return True


cdef Buffer* buffer_behind(object array) noexcept:
    cdef PyObject* base = <PyObject*>array
    while base != NULL and isinstance(<object>base, cnp.ndarray):
        base = cnp.PyArray_BASE(<cnp.ndarray>base)
    return (<BufferBase>base).buffer if base != NULL and type(<object>base) is BufferBase else NULL


cdef int cell_hold_array(Context* context, Cell* cell, object array) except -1:
    cdef Buffer* buffer = buffer_behind(array)
    if buffer != NULL:
        buffer_retain(buffer)
    else:
        buffer = foreign_buffer(array, FOREIGN)
    return take_buffer(context, cell, array, buffer)


cdef int cell_give_array(Context* context, Cell* cell, object array) except -1:
    return take_buffer(context, cell, array, foreign_buffer(array, GIVEN))


cdef Buffer* foreign_buffer(cnp.ndarray array, int size_class) except NULL:
    cdef Buffer* buffer = buffer_of_owner(<PyObject*>array)
    buffer.size_class = size_class
    buffer.data = <char*>cnp.PyArray_DATA(array)
    buffer.capacity = cnp.PyArray_NBYTES(array)
    return buffer


cdef int take_buffer(Context* context, Cell* cell, cnp.ndarray array, Buffer* buffer) except -1:
    """Let the cell refer to the array; the caller's reference to the buffer becomes the cell's."""
    cdef Buffer* old = cell.buffer                  # released last: the array may be over this very memory
    cell_borrow_array(cell, array)
    cell.buffer = buffer
    if old != NULL:
        release_here(context, old)
    return 0


cdef inline object array_over(Cell* cell, int flags):
    """An array over the cell's memory, which nothing keeps alive yet."""
    return PyArray_NewFromDescr(PyArray_Type_pointer, PyArray_DescrFromType(cell.typenum), cell.ndim, cell.shape,
                                cell.strides, cell.data, flags, NULL)


cdef object cell_to_view(Cell* cell):
    cdef object array = array_over(cell, NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED)
    cdef object base = buffer_as_base(cell.buffer)
    Py_INCREF(base)                                 # PyArray_SetBaseObject steals a reference
    PyArray_SetBaseObject(array, base)
    return array


cdef object copy_of_cell(Cell* cell):
    """A new array of NumPy's own with the cell's value."""
    cdef cnp.ndarray result = cnp.PyArray_EMPTY(cell.ndim, cell.shape, cell.typenum, 0)
    if cell.ndim == 0:
        memcpy(cnp.PyArray_DATA(result), cell.data, cell.itemsize)
    elif cell_is_contiguous(cell):
        memcpy(cnp.PyArray_DATA(result), cell.data, cell_size(cell) * cell.itemsize)
    else:
        cnp.PyArray_CopyInto(result, array_over(cell, NPY_ARRAY_ALIGNED))
    return result


cdef object cell_to_result(Cell* cell):
    if cell.flags & CELL_DEVICE:
        return device_memory.value_of(cell)
    if (cell.buffer == NULL or cell.buffer.owner != NULL or cell.buffer.size_class == PLANNED
            or cell_size(cell) * cell.itemsize <= RESULT_COPY_BYTES):
        return copy_of_cell(cell)
    return cell_to_view(cell)


cdef object cell_to_array(Cell* cell):
    if cell.flags & CELL_DEVICE:
        return device_memory.value_of(cell)
    return copy_of_cell(cell) if cell.buffer == NULL or cell.buffer.size_class == PLANNED else cell_to_view(cell)


cdef object cell_to_number(Cell* cell):
    return PyArray_Scalar(cell.data, cnp.PyArray_DescrFromType(cell.typenum), None)


# ---- memory of a device: until a runtime sets it ---------------------------------------------------------------------
cdef Buffer* acquire_nothing(size_t size) noexcept nogil:
    return NULL


cdef int no_device() except -1 with gil:
    raise RuntimeError("the value is on a device, and no device is in use: see phintys.gpu.use")


cdef int copy_nothing(Cell* target, Cell* source) except -1 nogil:
    return no_device()


cdef object no_value(Cell* cell):
    no_device()


cdef int hold_nothing(Context* context, Cell* cell, object value) except -1:
    return no_device()


cdef int overwrite_nothing(Cell* cell, object value) except -1:
    return no_device()


device_memory.acquire, device_memory.copy, device_memory.value_of = acquire_nothing, copy_nothing, no_value
device_memory.hold, device_memory.overwrite = hold_nothing, overwrite_nothing
device_refuses = None           # the runtime of devices sets it: raises the error for which there is no memory any more


# ---- kernels ---------------------------------------------------------------------------------------------------------
cdef class Kernel:
    """What an op supplies for the CPU; see ``abi.pxd``."""

    def __cinit__(self, *arguments, **named):
        self.arguments = arguments
        self.named_arguments = named or None

    @property
    def spec(self):
        """The kernel as data, a ``KernelSpec``: its class and what its constructor was given, as plain values."""
        return spec_of(type(self), self.arguments, self.named_arguments)

    def __reduce__(self):
        return kernel_of, (self.spec,)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__} does not implement prepare")

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        return 0

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        return self.binding


cdef class _Operands:
    """Cells for one kernel call outside any program."""
    cdef Context context
    cdef Cell* cells
    cdef Cell** pointers
    cdef npy_intp* dimensions
    cdef int count, inputs

    def __cinit__(self, list layouts, Kernel kernel, int inputs):
        cdef int index, total = 0
        cdef npy_intp* dimensions
        self.count, self.inputs = len(layouts), inputs
        context_init(&self.context)
        self.context.private_memory = calloc(1, kernel.private_bytes + 1)
        for typenum, ndim, *place in layouts:
            if place not in ([], [HOST]) and type(kernel) not in WORK_AT_DEVICE:
                raise ValueError(f"a {type(kernel).__name__} runs on operands of the host, not of the "
                                 f"{place_name(place[0])}")
            total += 2 * ndim
        self.cells = <Cell*>malloc(max(1, self.count) * sizeof(Cell))
        self.pointers = <Cell**>malloc(max(1, self.count) * sizeof(Cell*))
        self.dimensions = <npy_intp*>malloc(max(1, total) * sizeof(npy_intp))
        if (self.cells == NULL or self.pointers == NULL or self.dimensions == NULL
                or self.context.private_memory == NULL):
            self.count = 0
            raise MemoryError()
        dimensions = self.dimensions
        for index in range(self.count):
            typenum, ndim, *place = layouts[index]
            cell_init(&self.cells[index], typenum, ndim, dimensions)
            if place not in ([], [HOST]):
                self.cells[index].flags = CELL_DEVICE
            self.pointers[index] = &self.cells[index]
            dimensions += 2 * <int>ndim

    def __dealloc__(self):
        cdef int index
        if self.cells != NULL:
            for index in range(self.count):
                drop(&self.context, &self.cells[index])
        context_clear(&self.context)
        free(self.context.private_memory)
        free(self.cells)
        free(self.pointers)
        free(self.dimensions)

    cdef int look_at(self, list arrays, donors=None) except -1:
        """Let the inputs refer to arrays, which the caller keeps alive; donors to copies that may be overwritten."""
        cdef int index
        for index in range(self.inputs):
            drop(&self.context, &self.cells[index])
            if self.cells[index].flags & CELL_DEVICE:
                device_memory.hold(&self.context, &self.cells[index], arrays[index])
            else:
                cell_borrow_array(&self.cells[index], arrays[index])
            self.cells[index].flags |= CELL_READONLY
        for output, donor in (donors or {}).items():
            cell_give_array(&self.context, &self.cells[donor], arrays[donor].copy())
            self.cells[donor].flags = 0
            self.cells[self.inputs + <int>output].donor = &self.cells[donor]
        return 0

    cdef int run(self, Kernel kernel, int donor_place=HOST) except -1:
        cdef int index
        try:
            self.put_buffers(donor_place)
            kernel.prepare(&self.context, self.pointers)
            if kernel.run(&self.context, self.pointers) < 0:
                raise_failure(kernel, self.context.failure)
        finally:                                        # the pool of the place must not get memory of the host
            self.put_buffers(HOST)
        return 0

    cdef void put_buffers(self, int place) noexcept:
        """Say that the memory of the host's cells is at this place: before the run, only donors have any."""
        cdef int index
        for index in range(self.count):
            if self.cells[index].buffer != NULL and not self.cells[index].flags & CELL_DEVICE:
                self.cells[index].buffer.place = place

    cdef int run_bound(self, Kernel kernel, Binding binding, BoundRun bound_run) except -1:
        """What the VM does in a call of the shapes and strides of the call before."""
        cdef int index
        for index in range(self.inputs, self.count):
            if binding == BOUND:
                renew(&self.context, &self.cells[index])
        if (bound_run(&self.context, self.pointers) if bound_run != NULL
                else kernel.run(&self.context, self.pointers)) < 0:
            raise_failure(kernel, self.context.failure)
        return 0


cdef bint is_at_device(value):
    """Whether a value describes its memory as arrays of a GPU do."""
    return not isinstance(value, cnp.ndarray) and hasattr(value, "__cuda_array_interface__")


cdef tuple layout_for(value):
    """(type number, rank, place) of an operand."""
    return value.dtype.num, value.ndim, DEVICE if is_at_device(value) else HOST


cdef list behaved(inputs):
    """The inputs of a kernel as aligned arrays in native byte order."""
    cdef list arrays = []
    for array in inputs:
        if is_at_device(array):
            arrays.append(array)
            continue
        array = cnp.PyArray_FROM_O(array)
        if not (array.flags.aligned and array.dtype.isnative):
            array = array.astype(array.dtype.newbyteorder("="))
        arrays.append(array)
    return arrays


cdef _Operands operands_for(Kernel kernel, list arrays, output_layouts, int workers, poison):
    cdef _Operands operands = _Operands([layout_for(array) for array in arrays] + list(output_layouts), kernel,
                                        len(arrays))
    operands.context.workers = workers
    if poison is not None:
        operands.context.poison = 256 | <int>poison
    return operands


def run_kernel(Kernel kernel, inputs, output_layouts, int workers=1, poison=None, donors=None, bint views=False,
               int donor_place=HOST, bound_by=None):
    """Run one kernel on arrays, outside any program.

    Parameters
    ----------
    kernel : Kernel
    inputs : sequence of numpy.ndarray
        Aligned arrays in native byte order, of the types the kernel was built for; or arrays on the device.
    output_layouts : sequence of (type number, rank) or (type number, rank, place)
        As `Type.layout`.
    workers : int
    poison : int, optional
        A byte; all memory the kernel gets is filled with it.
    donors : dict, optional
        Output to the input whose memory it takes, if their shapes agree; a copy of the input is overwritten.
    views : bool
        Return outputs that refer to memory of an input as views of it instead of copies.
    donor_place : int
        Where the memory of donors is said to be. For tests: memory of another place is not taken.
    bound_by : sequence of numpy.ndarray, optional
        Arrays of the shapes and strides of ``inputs``, with the same values where the kernel examines them. First the
        kernel runs on these and is bound; then ``inputs`` are computed as in a later call of a program.

    Returns
    -------
    list of numpy.ndarray
        New arrays; unless ``views``, they never share memory with the inputs.
    """
    cdef list others, arrays = behaved(inputs)
    cdef _Operands operands = operands_for(kernel, arrays, output_layouts, workers, poison)
    cdef int index, count = operands.inputs
    cdef BoundRun bound_run = NULL
    cdef Binding binding = UNBOUND
    if bound_by is not None:
        others = behaved(bound_by)
        if [layout_of(array) for array in others] != [layout_of(array) for array in arrays]:
            raise ValueError("the arrays of bound_by must have the shapes and strides of the inputs")
        operands.look_at(others, donors)
        operands.run(kernel, donor_place)
        binding = kernel.bind(&operands.context, operands.pointers, &bound_run)
    operands.look_at(arrays, donors)
    if binding == UNBOUND:
        operands.run(kernel, donor_place)
    else:
        operands.run_bound(kernel, binding, bound_run)
    return [view_into(&operands.cells[index], arrays) if views and looks_outside(&operands.cells[index])
            and not operands.cells[index].flags & CELL_DEVICE
            else cell_to_result(&operands.cells[index]) for index in range(count, operands.count)]


def prepare_kernel(Kernel kernel, inputs, output_layouts, int workers=1):
    """Prepare one kernel for arrays, without running it.

    Parameters
    ----------
    kernel, inputs, output_layouts, workers
        See `run_kernel`. Of inputs that the kernel does not examine only shapes and strides are looked at.

    Returns
    -------
    worth : int
        What ``prepare`` returned.
    layouts : list of (shape, strides)
        What it gave the outputs.
    """
    cdef list arrays = behaved(inputs)
    cdef _Operands operands = operands_for(kernel, arrays, output_layouts, workers, None)
    cdef Cell* cell
    cdef int index, axis, worth
    cdef list layouts = []
    operands.look_at(arrays)
    worth = kernel.prepare(&operands.context, operands.pointers)
    for index in range(operands.inputs, operands.count):
        cell = &operands.cells[index]
        layouts.append((tuple([cell.shape[axis] for axis in range(cell.ndim)]),
                        tuple([cell.strides[axis] for axis in range(cell.ndim)])))
    return worth, layouts


def scratch_of_kernel(Kernel kernel, inputs, output_layouts, int workers=1):
    """Return how many bytes of scratch memory a kernel asks for; parameters are those of `prepare_kernel`."""
    cdef list arrays = behaved(inputs)
    cdef _Operands operands = operands_for(kernel, arrays, output_layouts, workers, None)
    operands.look_at(arrays)
    kernel.prepare(&operands.context, operands.pointers)
    return operands.context.scratch_size


cdef tuple layout_of(array):
    return array.dtype.num, array.shape, array.strides


cdef int raise_failure(kernel, const char* reason) except -1:
    """Raise for a kernel whose run returned -1: its own exception, or one with the reason that it left."""
    if PyErr_Occurred() == NULL:
        raise ValueError(f"{type(kernel).__name__}: {reason.decode() if reason != NULL else 'failed'}")
    return -1


cdef inline bint looks_outside(Cell* cell) noexcept nogil:
    """Whether the cell's memory is neither a buffer's nor its own."""
    cdef char* inline = <char*>cell.value
    return cell.buffer == NULL and not inline <= cell.data < inline + INLINE_BYTES


cdef object view_into(Cell* cell, list owners):
    """An array over the cell's memory, which belongs to one of ``owners``."""
    cdef object array = array_over(cell, NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED)
    Py_INCREF(owners)
    PyArray_SetBaseObject(array, owners)
    return array


LARGEST_RANK = MAX_RANK             # for Python, which cannot cimport


def abi_version():
    """The version of the kernel contract this build implements."""
    return ABI_VERSION
