"""Groups: independent branches of kernels that workers run side by side.

All members are prepared first, one after the other, so memory is dealt out by one thread; each has scratch memory of
its own. Then the branches are shared among the workers, if at least two begin with a member whose ``prepare`` returned
``RUNS_ALONE``: each as far as its members did. The others use the workers from inside, or are too short; they follow.
So a group is never slower than its members in turn: a worker that the system does not schedule takes nothing.
"""
from numpy cimport npy_intp

from phintys.vm.abi cimport RUNS_ALONE, Cell, Context, Kernel, interrupted, parallel
from phintys.vm.guards cimport give_back_scratch
from phintys.vm.python_api cimport PyObject

cdef int prepare_kernel(PyObject* kernel, Context* context, Cell** operands) except -1 nogil:
    return (<Kernel>kernel).prepare(context, operands)


prepare = <Preparation>prepare_kernel


cdef int prepare_member(Group* group, PyObject* kernel, Cell** operands, void* private_memory,
                        bint continues) noexcept nogil:
    cdef Context* context = group.context
    cdef Member* member = &group.members[group.count]
    cdef char* scratch = context.scratch
    cdef size_t scratch_size = context.scratch_size
    cdef int worth
    context.scratch, context.scratch_size, context.private_memory = NULL, 0, private_memory
    worth = prepare(kernel, context, operands)
    member.private_memory, member.continues = private_memory, continues
    member.kernel, member.operands, member.alone = kernel, operands, worth == RUNS_ALONE
    member.scratch, member.scratch_size = context.scratch, context.scratch_size
    context.scratch, context.scratch_size = scratch, scratch_size
    group.count += 1
    return worth


cdef void run_member(Group* group, Member* member, int workers) noexcept nogil:
    cdef Context context = group.context[0]
    context.workers, context.private_memory = workers, member.private_memory
    context.scratch, context.scratch_size = member.scratch, member.scratch_size
    (<Kernel>member.kernel).run(&context, member.operands)


cdef inline bint is_alone(Group* group, int index) noexcept nogil:
    """Whether a member, and all before it in its branch, are alone."""
    while group.members[index].alone and group.members[index].continues:
        index -= 1
    return group.members[index].alone


cdef void run_alone(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """The branches [start, stop) of those that begin with a member that is alone."""
    cdef Group* group = <Group*>argument
    cdef int index, number = -1
    for index in range(group.count):
        if is_alone(group, index):
            number += not group.members[index].continues
            if start <= number < stop and not interrupted(group.context):
                run_member(group, &group.members[index], 1)


cdef void run_group(Group* group) noexcept nogil:
    cdef int index, branches = 0
    for index in range(group.count):
        branches += group.members[index].alone and not group.members[index].continues
    if branches > 1 and group.context.workers > 1:
        parallel(group.context, run_alone, group, branches, 1)
    else:
        branches = 0
    for index in range(group.count):
        if not (branches and is_alone(group, index)) and not interrupted(group.context):
            run_member(group, &group.members[index], group.context.workers)


cdef void leave_group(Group* group) noexcept nogil:
    cdef int index
    for index in range(group.count):
        give_back_scratch(group.members[index].scratch, group.members[index].scratch_size)
