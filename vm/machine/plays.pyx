"""What the instructions of a call or a step do, noted and done again.

When all kernels are bound, KERNEL calls the same function on the same cells each time. Recorded calls
(``recorded_call.pyx``) and replayed steps of loops (``vm/loops/replay.pyx``) note these functions, and call one after
the other. They differ in what they do about values that are elsewhere next time.
"""
from phintys.vm cimport pool
from phintys.vm.abi cimport BOUND, BOUND_VIEW, Cell, Context, Kernel, drop, renew
from phintys.vm.machine.code cimport LOOKS, Instruction
from phintys.vm.machine.copies cimport copy_cell, copy_elements
from phintys.vm.machine.frame cimport Machine, Site
from phintys.vm.machine.interpreter cimport raise_failure
from phintys.vm.machine.quick_memory cimport is_small

include "opcodes.pxi"

ctypedef int (*MemoryStep)(Context* context, Cell* cell) noexcept nogil
ctypedef int (*CopyStep)(Machine* machine, const Instruction* at) noexcept nogil


cdef int renew_cell(Context* context, Cell* cell) except -1 nogil:
    return renew(context, cell)


# What raises returns -1, with the exception set.
cdef MemoryStep renew_step = <MemoryStep>renew_cell
cdef CopyStep copy_step = <CopyStep>copy_cell


cdef bint can_note(const Machine* machine) noexcept nogil:
    cdef const Instruction* at = machine.code
    cdef const Site* site
    if not machine.context.keeps or machine.context.poison or pool.stress:
        return False
    while at.op != OP_HALT and at.op != OP_RESULT:
        site = &machine.sites[at - machine.code]
        if at.op == OP_KERNEL:
            if site.bound != machine.epoch or site.worth & ~LOOKS or site.binding not in (BOUND, BOUND_VIEW):
                return False
        elif at.op == OP_TOGETHER:
            if site.bound != machine.epoch:
                return False
        elif at.op != OP_DROP and at.op != OP_COPY:
            return False
        at += 1
    return True


cdef int note_kernel(Machine* machine, const Instruction* at, Play* to) noexcept nogil:
    cdef const Site* site = &machine.sites[at - machine.code]
    cdef int index
    to.at, to.bound_run, to.kernel, to.private_memory = at, site.bound_run, machine.kernels[at.a], site.private_memory
    to.operands = machine.operands + at.b
    machine.context.private_memory = site.private_memory
    if site.binding == BOUND:
        for index in range(site.inputs, at.c):
            if renew_step(&machine.context, to.operands[index]) < 0:
                return -1
    if play_one(machine, to) < 0:
        raise_failure(machine)
        return -1
    return 0


cdef int note_copy(Machine* machine, const Instruction* at, Play* to) noexcept nogil:
    to.at = at
    return copy_step(machine, at)


cdef void drop_values(Machine* machine, const Instruction* at) noexcept nogil:
    cdef Cell** operands = machine.operands + at.b
    cdef int index
    for index in range(at.c):
        if not (at.flags & DROP_LARGE and is_small(operands[index].buffer)):
            drop(&machine.context, operands[index])


cdef inline int play_one(Machine* machine, const Play* at) noexcept nogil:
    if at.bound_run != NULL:
        return at.bound_run(&machine.context, at.operands)
    if at.kernel != NULL:
        return (<Kernel>at.kernel).run(&machine.context, at.operands)
    copy_elements(machine.cells[at.at.a].data, &machine.cells[at.at.b])
    return 0


cdef int play_all(Machine* machine, const Play* plays, int count) noexcept nogil:
    cdef const Play* at = plays
    cdef const Play* end = at + count
    while at != end:
        machine.context.private_memory = at.private_memory
        if play_one(machine, at) < 0:
            machine.at = at.at
            raise_failure(machine)
            return -1
        at += 1
    return 0
