"""A ``Code`` is a Program in C arrays, shared by all frames that run it, and what is found out about it once.

* Which kernels are prepared in each call, because values decide the layouts of their outputs (``_varies``), and which
  values are the same during an epoch and decide nothing anew (``_find_steady``).
* Before which kernels the loop looks at the clock (``_mark_sites``).
* Which containers a call claims, and which it both reads and updates.

Profiling and faults are other opcodes in the places of the usual ones (``_usual``), so other programs do not pay.
"""
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcpy
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer

from phintys.vm.abi cimport Kernel
from phintys.vm.containers.claims cimport Claim
from phintys.vm.containers.container cimport Container
from phintys.vm.python_api cimport PyBytes_FromStringAndSize, PyObject

from phintys.vm.linking.plan import Planner
from phintys.vm.program import MANY_INPUTS

include "opcodes.pxi"

cdef enum:
    UNMARKED = 32                   # kernels between marked sites

cdef bint has_own_memory(program) except -1:
    """Whether no caller, container or Python op gives memory to a program."""
    opcodes = program.opcodes()
    return (all([layout.access != "mutable" for layout in program.cells])
            and OP_LOAD not in opcodes and OP_CALL not in opcodes)


cdef class Code:

    def __cinit__(self, program, first_whole=None):
        cdef int index
        self.is_body = first_whole is not None or has_own_memory(program)
        self.first_whole = len(program.cells) if first_whole is None else first_whole
        self.program = program
        self.kept = [program.kernels, program.containers]
        self.n_instructions = len(program.code) // sizeof(Instruction)
        self.instructions = <Instruction*>malloc(max(1, len(program.code)))
        self.ops = <unsigned char*>malloc(self.n_instructions + 1)
        self.n_operands = len(program.pool)
        self.pool = <int*>malloc((self.n_operands + 1) * sizeof(int))
        self.kernels = <PyObject**>malloc((len(program.kernels) + 1) * sizeof(PyObject*))
        self.containers = <PyObject**>malloc((len(program.containers) + 1) * sizeof(PyObject*))
        if (self.instructions == NULL or self.ops == NULL or self.pool == NULL or self.kernels == NULL
                or self.containers == NULL):
            raise MemoryError()
        copy_content(program.code, self.instructions)
        copy_content(program.pool, self.pool)
        for index in range(self.n_instructions):
            self.ops[index] = self.instructions[index].op
        for index, kernel in enumerate(program.kernels):
            if not isinstance(kernel, Kernel):
                raise TypeError(f"{kernel!r} is not a Kernel")
            self.kernels[index] = <PyObject*>kernel
        for index, container in enumerate(program.containers):
            if not isinstance(container, Container):
                raise TypeError(f"{container!r} is not a Container")
            self.containers[index] = <PyObject*>container
        self.n_cells = len(program.cells)
        self.n_dimensions = sum([2 * layout.ndim for layout in program.cells])
        self.n_arguments = program.n_arguments
        self.planner = Planner(program) if program.allow_gc == "plan" else None
        self.lent = [index for index, layout in enumerate(program.result_cells()) if layout.access == "lent"]
        self._find_claims()
        self._find_watched()
        self._find_steady()
        self._find_outlines()
        self._mark_sites()

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
        cdef set stored = {self.instructions[index].a for index in range(self.n_instructions)
                           if self.instructions[index].op == OP_STORE}
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

    cdef int _find_steady(self) except -1:
        """Which cells have the same value during an epoch: constants, lengths, and what is computed from them alone; in
        the body of a loop wholes, too, and what is computed from these."""
        cdef Instruction* at
        cdef int position, index, inputs
        cdef list layouts = self.program.cells
        self.fixed = {index for index in range(self.n_cells) if layouts[index].kind == "constant"}
        self.steady = {*self.fixed, *range(self.first_whole, self.n_arguments)}
        for position in range(self.n_instructions):
            at = &self.instructions[position]
            if at.op != OP_KERNEL:
                continue
            inputs = self._inputs_of(position)
            read = [self.pool[at.b + index] for index in range(inputs)]
            written = [self.pool[at.b + index] for index in range(inputs, at.c)]
            if getattr(<Kernel>self.kernels[at.a], "follows_from_layouts", False):
                self.fixed.update(written)
                self.steady.update(written)
            elif read and self.steady.issuperset(read):
                self.steady.update(written)
                if self.fixed.issuperset(read):
                    self.fixed.update(written)
        return 0

    cdef int _find_outlines(self) except -1:
        """What the sites of all frames have in common."""
        cdef Instruction* at
        cdef Outline* outline
        cdef int position, index, numbers
        cdef dict prepared = {}
        cdef list layouts = self.program.cells
        self.outlines = <Outline*>calloc(self.n_instructions + 1, sizeof(Outline))
        if self.outlines == NULL:
            raise MemoryError()
        for position in range(self.n_instructions):
            at = &self.instructions[position]
            if at.op != OP_KERNEL and at.op != OP_PREPARE and at.op != OP_RUN and at.op != OP_CALL:
                continue
            outline = &self.outlines[position]
            outline.first = position
            outline.inputs = self._inputs_of(position)
            if at.op == OP_RUN:
                outline.first = prepared[at.a, self._operands_of(at)]
                continue
            numbers = 0
            for index in range(outline.inputs, at.c):
                numbers += 2 * <int>layouts[self.pool[at.b + index]].ndim
            self.most_layouts = max(self.most_layouts, numbers)
            outline.varies = self._varies(position)
            if at.op == OP_PREPARE:
                prepared[at.a, self._operands_of(at)] = position
            if at.op != OP_CALL:
                outline.private_at = self.private_bytes
                self.private_bytes += (<Kernel>self.kernels[at.a]).private_bytes + 15 & ~15
        return 0

    cdef int _mark_sites(self) except -1:
        """Mark kernels before which the loop looks at the clock, however short they are. A call runs each instruction
        at most once, so the kernels between two marks bound the time between two looks. Where paths part or meet, the
        next kernel is marked, so that no path leaves all marks out."""
        cdef Instruction* at
        cdef int position, passed = 0
        cdef set targets = set()
        for position in range(self.n_instructions):
            at = &self.instructions[position]
            if at.op == OP_JUMP or at.op == OP_JUMPZ or at.op == OP_NEED:
                targets.add(at.a)
        for position in range(self.n_instructions):
            at = &self.instructions[position]
            if at.op == OP_JUMPZ or at.op == OP_NEED or position in targets:
                passed = UNMARKED
            if at.op == OP_KERNEL:
                passed += 1
                if passed > UNMARKED:
                    self.outlines[position].looks = LOOKS
                    passed = 0
        return 0

    cdef bytes _operands_of(self, Instruction* at):
        """The cells of an instruction, to be compared with those of another one."""
        return PyBytes_FromStringAndSize(<char*>(self.pool + at.b), at.c * sizeof(int))

    cdef int _inputs_of(self, int position) except -1:
        """How many of an instruction's operands are inputs; the field has no room for very many."""
        cdef Instruction* at = &self.instructions[position]
        return at.n if at.n < MANY_INPUTS else self.program.counts[position]

    cdef bint _varies(self, int position) except -1:
        """Whether an instruction's outputs may have other layouts although those of its inputs are the same: `perform`
        decides as it likes, a kernel by the values that it examines, `allocate` by an array that may be overwritten.

        Values that follow from layouts and constants are the same during an epoch, and decide nothing anew.

        What a kernel has `checked` in `prepare` decides no layout, and its bound run checks it again; but one that is
        called after COMMIT must not fail. No caller gives memory to the body of a loop, and its wholes stay what
        they are until the next epoch."""
        cdef Instruction* at = &self.instructions[position]
        cdef Outline* outline = &self.outlines[position]
        cdef list layouts = self.program.cells
        cdef Kernel kernel
        cdef object examined, checked
        cdef int index, cell
        if at.op == OP_CALL or not at.c:
            return True
        for index in range(outline.inputs, at.c):
            layout = layouts[self.pool[at.b + index]]
            if layout.donor is not None and layout.any_layout and not self.is_body:
                return True
        kernel = <Kernel>self.kernels[at.a]
        examined = kernel.examined
        checked = getattr(kernel, "checked", ()) if at.op == OP_KERNEL else ()
        for index in range(outline.inputs) if examined is None else examined:
            cell = self.pool[at.b + index]
            if index in checked or cell in self.fixed:
                continue
            if cell not in self.steady:
                return True
            self.reads_wholes = True
        return examined is None and outline.inputs == 0

    cdef int measure(self, bint timed) except -1:
        """Count calls and, if ``timed``, put PROFILE in place of all instructions; there must be no frame yet."""
        self.profile = Profile(self.n_instructions)
        self.timed = timed
        return self.put_failure(-1, 0)

    cdef int put_failure(self, int position, long long spared) except -1:
        """Put FAIL in place of one instruction, and the usual ones in place of all others; -1: no FAIL."""
        cdef int index
        self.spared = spared
        for index in range(self.n_instructions):
            self.instructions[index].op = OP_FAIL if index == position else self._usual(index)
            if self.ops[index] == OP_TOGETHER and index != position and position >= 0:
                self.instructions[index].op = OP_DROP           # of nothing: the group runs one after the other
        return 0

    cdef unsigned char _usual(self, int position) noexcept:
        if not self.timed:
            return self.ops[position]
        return OP_DROP if self.ops[position] == OP_TOGETHER else OP_PROFILE     # each of a group is measured alone

    def __dealloc__(self):
        free(self.ops)
        free(self.pool)
        free(self.outlines)
        free(self.watched)
        free(self.watched_cells)
        free(self.updated)
        free(self.loaded)
        free(self.instructions)
        free(self.kernels)
        free(self.containers)


cdef int copy_content(object source, void* target) except -1:
    """Copy the bytes of an object that has a buffer. (Cython's memory views would be a third of the module.)"""
    cdef Py_buffer view
    PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
    memcpy(target, view.buf, view.len)
    PyBuffer_Release(&view)
    return 0


cdef int by_address(const void* first, const void* second) noexcept nogil:
    cdef Claim* left = (<Claim**>first)[0]
    cdef Claim* right = (<Claim**>second)[0]
    return (left > right) - (left < right)
