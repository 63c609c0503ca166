"""The elementwise kernel: see ``elementwise_kernel.pyx``."""
from phintys.ops.elementwise.block_program cimport BlockProgram
from phintys.ops.elementwise.scalar_code cimport ScalarCode
from phintys.vm.abi cimport Kernel

cdef class ElementwiseKernel(Kernel):
    cdef readonly BlockProgram program
    cdef int leader                      # an input without broadcast dimensions, whose order the results get; or -1
    cdef readonly ScalarCode scalars     # the program for single numbers, if operands have one element each; or None
    cdef int set_scalars(self, list inputs) except -1
