"""CALL: ops that have only ``perform``; see ``perform.pyx``."""
from phintys.vm.containers.container cimport Container
from phintys.vm.machine.code cimport Instruction
from phintys.vm.machine.frame cimport Machine

cdef int call_perform(Machine* machine, const Instruction* at) except -1
cdef void refuse_late_change(Machine* machine) noexcept with gil

cdef inline bint has_changed(Machine* machine) noexcept nogil:
    """Whether code that ran inside the call has replaced a value that the call has loaded and is to replace."""
    cdef int index
    for index in range(machine.n_watched):
        if (<Container>machine.watched[index]).changes != machine.seen[index]:
            return True
    return False
