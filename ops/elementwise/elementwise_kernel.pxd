"""The elementwise kernel: see ``elementwise_kernel.pyx``."""
from phintys.ops.elementwise.block_program cimport BlockProgram
from phintys.vm.abi cimport Kernel

cdef class ElementwiseKernel(Kernel):
    cdef readonly BlockProgram program
    cdef int leader                      # an input without broadcast dimensions, whose order the results get; or -1
