"""The contract between the virtual machine and every kernel: Cell, Buffer, Context, Kernel.

This file is all that an op with a kernel of its own needs to ``cimport``, inside the project or outside. It knows no
graph, no op and no program. What it fixes:

* A ``Cell`` describes one operand. ``data`` is NULL while the cell is empty. ``ndim``, ``typenum`` and ``itemsize`` are
  set once, when the program is linked; ``shape`` and ``strides`` (in bytes) point to arrays of ``ndim`` numbers.
* Values of at most ``INLINE_BYTES`` live inside the cell itself (``data == value``); never shared, only copied.
* A ``Buffer`` is reference-counted memory: 64-byte aligned pool memory, or foreign memory with an owning object.
* ``buffer == NULL`` with ``data != NULL``: an inline value, a constant, or an argument that its caller keeps alive.
* A kernel is built once and shared by all frames and threads: it holds no per-call state. Scratch memory, workers and
  the allocator come from the ``Context``; so does ``context.private_memory``, which one frame has for one instruction.
  What a kernel is follows from its class and the arguments of its constructor, which are plain values
  (``kernel_spec.py``); so it can be saved, and made again in another process.

How a kernel is called:

* ``prepare`` sees the operands, raises what can be raised, and gives the outputs their shapes and memory.
* ``run`` computes. It allocates nothing, and cannot fail unless the kernel says ``may_fail``.
* ``bind`` follows ``run`` when the shapes and strides of all operands were the same in two calls, and says what later
  calls of this layout need. BOUND: the VM gives the outputs memory (``renew``) and calls ``run``, but not ``prepare``.
  BOUND_VIEW: it calls ``run``, which makes the outputs refer to memory of others (``share``). UNBOUND: ``prepare`` and
  ``run``, as before. A kernel sets ``binding`` to what ``bind`` is to return, or overrides ``bind``: because the answer
  depends on the layout, or to choose a *bound run*, a function that is called instead of ``run`` and
  finds in ``context.private_memory`` what ``bind`` has worked out. Addresses and values change from call to call; a
  bound run reads them anew.

``examined`` makes this safe. It says of which inputs ``prepare`` or ``bind`` reads the values: lengths, an axis, labels
to be checked. All else that they do may follow only from shapes and strides (and from what the kernel was built with).
While an examined input is no constant of the program, the kernel is prepared in each call. What ``prepare`` derives for
``run`` it may leave in ``context.private_memory``: ``run`` and the bound run find it there, also in later calls of this
layout. Scratch memory has in later calls the size that ``prepare`` has asked for, and any content.

The VM compares layouts in few places. A frame counts *epochs*: during an epoch each cell has the same shape and strides
whenever it has a value. Whatever finds another layout begins the next epoch, in which all kernels are prepared again:
arguments, LOAD, ALIAS, MOVE, OWN, CALL, kernels whose outputs may vary with values, a new plan, a call that failed. So
a kernel that was bound in the present epoch needs no comparison of its own. DebugMode checks both claims: it prepares
each kernel for other values of what is not examined, and compares a bound kernel with one that is not.
"""
from numpy cimport npy_intp

from phintys.vm.pool cimport MEDIUM_CLASSES, SMALL_CLASSES, Buffer
from phintys.vm.python_api cimport PyObject

cdef enum:
    ABI_VERSION = 5            # raised whenever a struct or a signature below changes
    INLINE_BYTES = 16          # one complex128
    RUNS_ALONE = 2             # `prepare` returns: worth leaving the GIL, and worth a worker: `run` uses one thread
    RESULT_COPY_BYTES = 1024   # results up to here are copied into NumPy's own memory, which has less to set up

cdef enum CellFlag:
    CELL_READONLY = 1          # a constant or a protected argument: no kernel may write to its memory
    CELL_OBJECT = 2            # the value is `object`, not an array
    CELL_DEVICE = 4            # `data` is an address in a GPU's memory; never inline
    CELL_LENT = 8              # a borrowed result: its buffer stays, and is reused although the user sees it
    CELL_SHOWN = 16            # a result that may be a view of what others hold
    CELL_LATE = 32             # a result that is read again after COMMIT
    CELL_CONSTANT = 64         # belongs to the program
    CELL_ANY_LAYOUT = 128      # of a kernel that writes by strides: it takes a caller's memory in any layout
    CELL_NUMBER = 256          # of rank 0, and Python sees a NumPy number instead of an array
    CELL_PASSED = 512          # the memory was a loaded value's; its container still refers to it
    CELL_FITS = 1024           # an output of a bound kernel, with the shape and strides of its donor

cdef struct Cell:
    char* data
    npy_intp* shape
    npy_intp* strides
    int ndim
    int typenum
    int itemsize
    int flags
    Buffer* buffer
    PyObject* object           # an object cell's value (strong), or the array of an argument (borrowed)
    Cell* donor                # whose memory `allocate` may give to this cell; of a loaded value: its container's cell
    double value[2]            # the inline value
    Cell* heir                 # the last of those that take this cell's memory, where it stays between calls; or NULL
    Buffer* slot               # the memory that a plan has for the value; or NULL
    size_t size                # of the value, in bytes, as `allocate` found it
    size_t kept_capacity       # in a frame that keeps: of the larger block that the cell had last

cdef struct Interrupts:        # what tells the kernels of a call to end early
    bint raised                # the handler of a signal has raised: what kernels compute from now on is not used
    bint (*look)(Interrupts* interrupts) noexcept nogil   # looks at signals, if that is due; returns `raised`
    unsigned long thread       # that looks at signals: the one that called the function
    void* machine              # of the call

cdef struct Context:
    Buffer* free[SMALL_CLASSES + 1]   # this frame's own free lists, without a lock
    char* scratch
    size_t scratch_size
    int workers                # how many threads `parallel` may use, the caller included
    int flags
    void* private_memory       # `private_bytes` of the kernel that is being prepared, run or bound; or NULL
    const char* failure        # set by a `may_fail` kernel whose run returns -1
    int poison                 # 0, or 256 + the byte that fresh memory and scratch are filled with
    bint keeps                 # larger blocks stay with the frame too, in `kept`: by size class, [0] the large ones
    size_t kept_bytes          # what is there
    Buffer* kept[MEDIUM_CLASSES + 1]
    Interrupts* interrupts     # of the call; NULL: nothing ends it early

# A piece of a parallel loop: items [start, stop) done by worker number `worker` (0 is the caller).
ctypedef void (*Task)(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil

cdef enum Binding:              # what `bind` returns: what the VM does in a call of the same shapes and strides
    UNBOUND                    # prepare and run, as ever
    BOUND                      # the outputs get memory for the shapes they have; then the bound run, or `run`
    BOUND_VIEW                 # the outputs get no memory, as these let them refer to that of others

# Computes what `run` does, for operands of the shapes and strides that `bind` saw; addresses may be others.
ctypedef int (*BoundRun)(Context* context, Cell** operands) noexcept nogil

cdef class Kernel:
    cdef public bint may_fail  # `run` can return -1; such kernels stay out of commits
    cdef readonly int private_bytes         # what `prepare`, `run` and the bound run share: in each frame, for each
                                            # instruction
    cdef Binding binding       # what `bind` returns, unless it is overridden
    # Of which inputs `prepare` or `bind` reads the values, not only shapes and strides: their numbers; None: perhaps of
    # all. The kernel is bound only while these are constants.
    cdef readonly tuple examined
    cdef readonly tuple arguments           # what the constructor was given: `Kernel.spec`, pickles and copies need it
    cdef readonly dict named_arguments      # and what it was given by name; None: nothing
    # Validate shapes, allocate outputs and scratch. Operands are inputs, then outputs. May raise (take the GIL to do
    # so). Returns 1 when `run` is long enough to be worth leaving the GIL (about 20 microseconds), RUNS_ALONE when it
    # is and another kernel may use the other processors meanwhile, else 0.
    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil
    # Compute. Cannot fail (returns 0) unless `may_fail`; then -1 says that `context.failure` is set, or an exception.
    # Of scratch memory only the size is kept since `prepare`.
    cdef int run(self, Context* context, Cell** operands) noexcept nogil
    # After `run`, when the same shapes and strides came twice. May set `bound_run` and fill
    # `context.private_memory` for it.
    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil

# ---- memory -------------------------------------------------------------------------------------------------------
# Give `cell` memory for `shape` in C order (shape may be cell.shape itself) and set its shape and strides. A cell with
# CELL_ANY_LAYOUT may get the memory, and so the strides, of an array that the caller lets it overwrite. The content
# is undefined, or that of the donor when the cell takes its memory: the donor's `data` stays readable until `run` ends.
# Raises MemoryError, or ValueError for a negative or overflowing shape.
cdef int allocate(Context* context, Cell* cell, const npy_intp* shape) except -1 nogil
# The same for elements in another order without gaps: `axes` names the dimensions, the outermost first. A donor in this
# order is taken.
cdef int allocate_in_order(Context* context, Cell* cell, const npy_intp* shape, const int* axes) except -1 nogil
# The same for a cell that keeps the shape and strides of the last call.
cdef int renew(Context* context, Cell* cell) except -1 nogil
# Make `view` look at memory of `source` from address `data` on; the caller sets view.shape and view.strides. A view of
# an inline value becomes a copy of it inside `view`.
cdef void share(Context* context, Cell* view, Cell* source, char* data) noexcept nogil
# Empty the cell: its buffer loses a reference. Does nothing to an empty cell.
cdef void drop(Context* context, Cell* cell) noexcept nogil
# At least `size` bytes, 64-byte aligned, private to the running frame until its next kernel is prepared.
cdef char* scratch(Context* context, size_t size) except NULL nogil

# ---- memory of a device ----------------------------------------------------------------------------------------------
# What the VM asks of the runtime of devices (``phintys.gpu``), which sets it; without one, all of it raises.
# ``acquire`` returns a buffer ON_DEVICE with one reference, or NULL if there is no memory. ``copy`` copies elements to
# a cell that has memory for them in C order; either may be on the host. The other three need the GIL: the value of a
# cell for Python, over the same memory; a cell that holds a value's memory, or that of a copy if the value is at the
# host; and a cell whose elements become those of a value of the same shape.
cdef struct DeviceMemory:
    Buffer* (*acquire)(size_t size) noexcept nogil
    int (*copy)(Cell* target, Cell* source) except -1 nogil
    object (*value_of)(Cell* cell)
    int (*hold)(Context* context, Cell* cell, object value) except -1
    int (*overwrite)(Cell* cell, object value) except -1

cdef DeviceMemory device_memory

# ---- loops over workers ------------------------------------------------------------------------------------------
# Run task over [0, total) in pieces of at least `grain` items, on context.workers threads; returns when all is done.
# If the call is to end early, the items that no thread has begun are left out; so kernels whose long loops run here
# need not ask `interrupted` themselves, as long as an item takes at most some milliseconds.
cdef void parallel(Context* context, Task task, void* argument, npy_intp total, npy_intp grain) noexcept nogil
# Whether the call is to end early, because a signal's handler has raised an exception. A `run` without the GIL that may
# take longer than 50 ms asks this between blocks of work, on any thread, at most every 10 us (asking takes 30 ns). If
# so, it returns at once; what its outputs contain does not matter. Never true after COMMIT, or with the GIL held.
cdef bint interrupted(Context* context) noexcept nogil

# ---- facts about cells ---------------------------------------------------------------------------------------------
cdef inline npy_intp cell_size(const Cell* cell) noexcept nogil:
    """Number of elements."""
    cdef npy_intp size = 1
    cdef int axis
    for axis in range(cell.ndim):
        size *= cell.shape[axis]
    return size

cdef inline bint cell_is_contiguous(const Cell* cell) noexcept nogil:
    """Whether the elements stand in C order without gaps."""
    cdef npy_intp expected = cell.itemsize
    cdef int axis
    for axis in range(cell.ndim - 1, -1, -1):
        if cell.shape[axis] != 1:
            if cell.strides[axis] != expected and cell.shape[axis] != 0:
                return False
            expected *= cell.shape[axis]
    return True

cdef inline bint cell_is_packed(const Cell* cell) noexcept nogil:
    """Whether the elements stand without gaps in the order of some permutation of the dimensions, none reversed."""
    cdef npy_intp expected = cell.itemsize
    cdef unsigned long long seen = 0
    cdef int axis = 0
    while axis < cell.ndim:                     # from the innermost dimension outwards
        if cell.shape[axis] > 1 and not seen >> axis & 1 and cell.strides[axis] == expected:
            seen |= <unsigned long long>1 << axis
            expected *= cell.shape[axis]
            axis = 0
        else:
            axis += 1
    return expected == cell_size(cell) * cell.itemsize

cdef struct Span:
    char* low                  # the address of the first byte,
    char* high                 # and after the last

cdef inline Span span_of(char* data, int ndim, const npy_intp* shape, const npy_intp* strides,
                         int itemsize) noexcept nogil:
    """The addresses between which the elements lie; strides may be negative."""
    cdef Span span
    cdef npy_intp reach
    cdef int axis
    span.low, span.high = data, data + itemsize
    for axis in range(ndim):
        if shape[axis] == 0:
            span.high = span.low = data
            break
        reach = (shape[axis] - 1) * strides[axis]
        if reach < 0:
            span.low += reach
        else:
            span.high += reach
    return span

cdef inline Span span_of_cell(const Cell* cell) noexcept nogil:
    """Where the cell's elements lie."""
    return span_of(cell.data, cell.ndim, cell.shape, cell.strides, cell.itemsize)

cdef inline bint overlap(Span a, Span b) noexcept nogil:
    """Whether the two may share bytes."""
    return a.low < b.high and b.low < a.high

cdef inline void set_contiguous_strides(Cell* cell) noexcept nogil:
    """Strides of an array in C order with the cell's shape."""
    cdef npy_intp stride = cell.itemsize
    cdef int axis
    for axis in range(cell.ndim - 1, -1, -1):
        cell.strides[axis] = stride
        stride *= cell.shape[axis]

# ---- arrays and cells (all need the GIL) -----------------------------------------------------------------------------
cdef int context_init(Context* context) noexcept nogil
cdef void context_clear(Context* context) noexcept nogil
cdef int cell_init(Cell* cell, int typenum, int ndim, npy_intp* dimensions) except -1  # dimensions: memory for 2 * ndim
# The cell looks at the array's memory; the caller keeps the array alive.
cdef int cell_borrow_array(Cell* cell, object array) except -1
# The cell holds the array's memory: through the pool's buffer if it is the pool's, else through a foreign one.
cdef int cell_hold_array(Context* context, Cell* cell, object array) except -1
# The same; kernels that overwrite the cell may write to the array's memory. The array is not unwrapped.
cdef int cell_give_array(Context* context, Cell* cell, object array) except -1
# The pool's buffer whose memory the array looks at, or NULL.
cdef Buffer* buffer_behind(object array) noexcept
# Whether the cell looks at just what the array does.
cdef bint cell_is_whole(const Cell* cell, object array) noexcept
# Whether only one buffer refers to the array that owns the foreign memory, or it was given to be overwritten.
cdef bint owner_is_alone(const Buffer* buffer) noexcept nogil
# A new array with the cell's value: a copy when small or when the memory is not the cell's own, else the memory itself.
cdef object cell_to_result(Cell* cell)
# An array over the cell's memory, which must not be inline; it holds the buffer.
cdef object cell_to_view(Cell* cell)
# An array over the cell's memory, or a copy of an inline value; safe to keep.
cdef object cell_to_array(Cell* cell)
# The value of a cell of rank 0 as a NumPy number.
cdef object cell_to_number(Cell* cell)
