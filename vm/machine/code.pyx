"""A ``Code`` is a Program in C arrays, shared by all frames that run it."""
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcpy
from cpython.ref cimport PyObject

from phintys.vm.abi cimport Kernel
from phintys.vm.machine.claims cimport Claim
from phintys.vm.machine.container cimport Container

from phintys.vm.linking.plan import Planner

include "opcodes.pxi"


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
