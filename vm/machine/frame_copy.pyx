"""Copies of frames that are made without the GIL.

Making a ``Frame`` runs Python code, which reads the program. Where C code calls a function, a new thread may need a
frame while it cannot take the GIL; so it gets a copy of one that has never run. A copy has no Python objects: who runs
it sets the cells of arguments and reads those of results. It keeps the memory of its values between calls, as with
``allow_gc=False``; so calls need no lock.
"""
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from numpy cimport npy_intp

from phintys.vm.abi cimport CELL_CONSTANT, CELL_LENT, Cell, context_clear, context_init, drop
from phintys.vm.machine.code cimport Code
from phintys.vm.machine.frame cimport UNATTENDED, Block, Frame, Machine, Site, bytes_kept_by_context
from phintys.vm.pool cimport Buffer, allocation_fails

cdef enum:
    LINE = 64                       # bytes of a line of the cache: each part begins with a new one


cdef void describe_frame(Frame frame, FrameModel* model) noexcept:
    cdef Code code = frame.code
    model.machine, model.cells, model.dimensions = &frame.machine, frame.cells, frame.dimensions
    model.private_memory = frame.private_memory
    model.n_cells, model.n_dimensions, model.n_operands = code.n_cells, code.n_dimensions, code.n_operands
    model.n_blocks, model.n_sites, model.n_layouts = code.n_blocks, code.n_instructions, code.most_layouts
    model.private_bytes = code.private_bytes


cdef inline char* part(char** next, size_t bytes) noexcept nogil:
    cdef char* first = next[0]
    next[0] += bytes + LINE & ~<size_t>(LINE - 1)          # never empty, so no two parts are at one address
    return first


cdef char* lay_out(FrameCopy* copy, const FrameModel* model) noexcept nogil:
    """Divide a block into the parts of a copy; returns its end. (A block at address 0 is only measured.)"""
    cdef char* next = <char*>copy
    cdef Machine parts
    part(&next, sizeof(FrameCopy))
    parts.cells = <Cell*>part(&next, model.n_cells * sizeof(Cell))
    parts.operands = <Cell**>part(&next, model.n_operands * sizeof(Cell*))
    parts.sites = <Site*>part(&next, model.n_sites * sizeof(Site))
    parts.blocks = <Block*>part(&next, model.n_blocks * sizeof(Block))
    parts.layouts = <npy_intp*>part(&next, model.n_layouts * sizeof(npy_intp))
    if copy != NULL:
        copy.machine = model.machine[0]
        copy.machine.cells, copy.machine.operands, copy.machine.sites = parts.cells, parts.operands, parts.sites
        copy.machine.blocks, copy.machine.layouts = parts.blocks, parts.layouts
    return next


cdef inline Cell* moved(const Cell* cell, const FrameModel* model, Cell* cells) noexcept nogil:
    """The copy of a cell of the frame; NULL for that of a container."""
    if cell == NULL or cell < model.cells or cell >= model.cells + model.n_cells:
        return NULL
    return cells + (cell - model.cells)


cdef FrameCopy* copy_frame(const FrameModel* model) noexcept nogil:
    cdef size_t head = <size_t>lay_out(NULL, model)
    cdef size_t dimensions = model.n_dimensions * sizeof(npy_intp)
    cdef char* block = NULL if allocation_fails() else <char*>calloc(
        1, head + dimensions + model.private_bytes + 4 * LINE)
    cdef FrameCopy* copy = <FrameCopy*>block
    cdef npy_intp* numbers
    cdef char* private_memory
    cdef Cell* cell
    cdef size_t index
    if block == NULL:
        return NULL
    lay_out(copy, model)
    copy.model = model
    numbers = <npy_intp*>(block + head)
    private_memory = block + (head + dimensions + LINE & ~<size_t>(LINE - 1))
    memcpy(numbers, model.dimensions, dimensions)
    memcpy(copy.machine.cells, model.cells, model.n_cells * sizeof(Cell))
    for index in range(model.n_cells):
        cell = &copy.machine.cells[index]
        cell.shape, cell.strides = numbers, numbers + cell.ndim
        numbers += 2 * cell.ndim
        cell.donor, cell.heir = moved(cell.donor, model, copy.machine.cells), moved(cell.heir, model,
                                                                                    copy.machine.cells)
        cell.slot, cell.object = NULL, NULL
        cell.flags &= ~CELL_LENT
    for index in range(model.n_operands):
        copy.machine.operands[index] = moved(model.machine.operands[index], model, copy.machine.cells)
    for index in range(model.n_sites):
        copy.machine.sites[index] = model.machine.sites[index]
        copy.machine.sites[index].private_memory = (
            private_memory + (<const char*>model.machine.sites[index].private_memory - model.private_memory))
        copy.machine.sites[index].first = copy.machine.sites + (model.machine.sites[index].first - model.machine.sites)
    context_init(&copy.machine.context)
    copy.machine.context.keeps, copy.machine.context.flags = True, UNATTENDED
    return copy


cdef void free_copy(FrameCopy* copy) noexcept nogil:
    cdef size_t index
    for index in range(copy.model.n_cells):
        drop(&copy.machine.context, &copy.machine.cells[index])
    context_clear(&copy.machine.context)
    free(copy)


cdef void reset_copy(FrameCopy* copy) noexcept nogil:
    cdef Cell* cell
    cdef size_t index
    for index in range(copy.model.n_cells):
        cell = &copy.machine.cells[index]
        if not cell.flags & CELL_CONSTANT:
            drop(&copy.machine.context, cell)
    copy.machine.epoch += 1


cdef size_t bytes_kept_by_copy(const FrameCopy* copy) noexcept nogil:
    cdef size_t size = bytes_kept_by_context(&copy.machine.context)
    cdef const Buffer* buffer
    cdef size_t index
    for index in range(copy.model.n_cells):
        buffer = copy.machine.cells[index].buffer
        if buffer != NULL and buffer.owner == NULL:
            size += buffer.capacity
    return size
